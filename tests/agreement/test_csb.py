"""Compressed sparse blocks: real matrices against scipy, the order within blocks, and what the run checks of it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from archline.claims.decide import decide_claims
from archline.execution.data import bind_matrix
from archline.execution.matrix_market import read_matrix
from archline.execution.run import execute
from archline.execution.sparse_matrix import SparseMatrix
from archline.language.diagnostics import ArchlineError
from archline.language.loader import load_text
from recursive_programs.agreement import disagreements, executed
from stdlib_cases import derived, execute_case, load
from stdlib_csb_cases import by_quadrants
from stdlib_recursive_cases import RECURSIVE

TARGET = "sparse.csb::spmv_csb"
MATRICES = sorted((Path(__file__).parents[1] / "data" / "matrices").glob("*.mtx*"))
SMALL = [path for path in MATRICES if path.suffix == ".mtx"]


def full(side: int) -> SparseMatrix:
    """A square matrix without zeros, whose values are all different."""
    rows, cols = np.divmod(np.arange(side * side), side)
    return SparseMatrix.from_triples(side, side, rows, cols, np.arange(1.0, side * side + 1))


# The largest takes seconds: at one size of blocks.
@pytest.mark.parametrize(("path", "b"), [(path, 64) for path in MATRICES] + [(path, 8) for path in SMALL])
def test_real_matrices(path: Path, b: int) -> None:
    matrix = read_matrix(path)
    reference = scipy.io.mmread(path, spmatrix=False).tocsr()
    arguments = bind_matrix(*load(TARGET), matrix, block=b, seed=b)
    run = execute(*load(TARGET), arguments, compiled=False, progress=False)
    x = arguments["x"][: matrix.m]
    slack = 1e-12 * (abs(reference) @ abs(x))
    assert (abs(run.outputs["y"][: matrix.n] - reference @ x) <= slack).all()
    assert not run.outputs["y"][matrix.n :].any()
    nb, nz = run.sizes["nb"], matrix.nz
    assert nz == reference.nnz
    # 2 a nonzero; of c chunks in a row of blocks, c - 1 bring b additions, and (c - 1)*b is at most twice its entries.
    assert 2 * nz <= run.counts.flops <= 4 * nz
    assert not list(disagreements(derived(TARGET), executed(run.counts), run.sizes))
    # The bounds of the paper, with room for the constant of a binary search at each of few entries.
    assert run.counts.work <= 40 * (nb**2 + nz)
    assert run.counts.span <= 80 * (b * math.log2(2 + nb) + nb)


@pytest.mark.parametrize("b", [1, 2, 16])
def test_dense_matrices(b: int) -> None:
    run = execute(*load(TARGET), bind_matrix(*load(TARGET), full(32), block=b), progress=False)
    nb = 32 // b
    # Every block is a chunk: nb - 1 temporaries of b words a row, unless one entry fills a block and none passes b.
    assert run.counts.flops == 2 * 32**2 + nb * (nb - 1) * b


def quadrant_order(row: int, col: int, side: int) -> tuple[int, ...]:
    """The quadrant that holds an entry, then the one within it, and so on."""
    if side == 1:
        return ()
    half = side // 2
    return (2 * (row // half) + col // half, *quadrant_order(row % half, col % half, half))


@pytest.mark.parametrize("seed", range(3))
def test_kernels_of_powers_of_2_take_quadrants(seed: int) -> None:
    a = scipy.sparse.random_array((21, 30), density=0.4, rng=np.random.default_rng(seed), format="coo")
    rows, cols = (each.astype(np.int64) for each in a.coords)
    matrix = SparseMatrix.from_triples(21, 30, rows, cols, a.data)
    found = bind_matrix(*load(TARGET), matrix, block=8)
    for start, end in zip(found["blk"], found["blk"][1:], strict=False):
        pairs = zip(found["row"][start:end].tolist(), found["col"][start:end].tolist(), strict=True)
        order = [quadrant_order(*pair, 8) for pair in pairs]
        assert order == sorted(order)
    by_rows = bind_matrix(*load("sparse.block::spmv_block"), matrix, block=8)
    assert found["blk"].tolist() == by_rows["blk"].tolist()
    assert (found["row"] != by_rows["row"]).any()


FORM = """
algorithm f(blk: offsets[{count}] into nz, row: index[nz] below b, col: index[nz] below b, {sizes}, b: size):
    where nz >= 0{fact}
    pass
"""


@pytest.mark.parametrize(
    ("fact", "quadrants"),
    [("", False), (", b is power of 2", True), (", b is power of 3", False), (", nz is power of 2", False)],
)
@pytest.mark.parametrize(("count", "sizes"), [("nb^2", "nb: size"), ("nr*nc", "nr: size, nc: size")])
def test_the_side_tells_the_order(fact: str, quadrants: bool, count: str, sizes: str) -> None:
    module = load_text(FORM.format(count=count, sizes=sizes, fact=fact))
    b = 3 if "3" in fact else 4
    matrix = full(8 if b == 4 else 9)
    found: dict[str, Any] = bind_matrix(module, module.algorithms["f"], matrix, block=b)
    expected = matrix.blocks(b, zmorton=quadrants)
    assert found["row"].tolist() == expected.row.tolist()
    assert found["col"].tolist() == expected.col.tolist()
    assert found["row"][:4].tolist() == ([0, 0, 1, 1] if quadrants else [0, 0, 0, 0] if b == 4 else [0, 0, 0, 1])


@pytest.mark.parametrize(("b", "code"), [(3, "AL434"), (0, "AL434"), (None, "AL524")])
def test_block_sizes_that_do_not_halve(b: int | None, code: str) -> None:
    with pytest.raises(ArchlineError) as problem:
        bind_matrix(*load(TARGET), full(8), block=b)
    assert [each.rule.code for each in problem.value.diagnostics] == [code]


def refusal(target: str, arguments: dict[str, Any]) -> list[str]:
    expected = RECURSIVE[target].results(arguments)
    with pytest.raises(ArchlineError) as problem:
        execute_case(target, arguments, expected)
    return [each.rule.code for each in problem.value.diagnostics]


def test_entries_by_rows_are_noticed() -> None:
    by_rows = full(8).blocks(8)
    entries = {"row": by_rows.row, "col": by_rows.col, "val": by_rows.val}
    arguments = {**entries, "x": np.ones(8), "y": np.zeros(8)}
    # The quadrants that the searches find are too full.
    assert refusal("sparse.csb::csb_block", arguments) == ["AL506"]


def test_chunks_of_several_blocks_hold_few_entries() -> None:
    blocks = full(8).blocks(4)
    entries = {"blk": blocks.offsets[:3], "row": blocks.row[:32], "col": blocks.col[:32], "val": blocks.val[:32]}
    arguments = {**entries, "x": np.ones((2, 4)), "y": np.zeros(4), "chunk": np.array([0])}
    assert refusal("sparse.csb::csb_row", arguments) == ["AL509"]


# What is derived of compressed sparse blocks: everything that is ensured holds, and runs lie within the bounds


BLOCK = "sparse.csb::csb_block"


@pytest.mark.parametrize("target", [target for target in RECURSIVE if target.startswith("sparse.csb::")])
def test_all_that_is_ensured_holds(target: str) -> None:
    verdicts = decide_claims(*load(target), derived(target))
    assert verdicts
    assert {each.outcome for each in verdicts} == {"holds"}


def places(side: int, shape: str) -> Any:
    """Entries of a block by their places: where quadrants fill as far as they can, or all but one stay empty."""
    everything = np.arange(side * side)
    row, col = everything // side, everything % side
    match shape:
        case "full":
            return everything
        case "corner":
            return everything[(row < max(2, side // 4)) & (col < max(2, side // 4))]
        case "row":
            return everything[row < 2]
        case "diagonals":
            return everything[(row == col) | (row == side - 1 - col)]
    return everything[: side + 1]


@pytest.mark.parametrize("side", [2, 4, 8, 32, 64])
@pytest.mark.parametrize("shape", ["full", "corner", "row", "diagonals", "one more than the side"])
def test_blocks_at_their_dearest(side: int, shape: str) -> None:
    chosen = by_quadrants(places(side, shape), side)
    entries = {"row": chosen // side, "col": chosen % side, "val": np.ones(len(chosen))}
    arguments = {**entries, "x": np.ones(side), "y": np.zeros(side)}
    ran = execute_case(BLOCK, arguments, RECURSIVE[BLOCK].results(arguments), compiled=False)
    assert not list(disagreements(derived(BLOCK), executed(ran.counts), ran.sizes))


def test_the_product_rests_on_what_is_assumed_of_chunks_and_in_them() -> None:
    assumed = [each.split(" (assumed")[0] for each in derived("sparse.csb::spmv_csb").assumptions if "assumed" in each]
    assert assumed == ["c >= 1", "c <= nb", "(c - 1)*b <= 2*(blk[i*nb + nb] - blk[i*nb])", "r <= b"]
