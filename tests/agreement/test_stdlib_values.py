"""The standard library computes what it says: the sparse products of real matrices against scipy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.io

from archline.execution.matrix_market import read_matrix
from archline.language.call_graph import recurses
from archline.language.loader import load_target, stdlib_modules
from stdlib_cases import execute_case, load
from stdlib_recursive_cases import HELPERS, RECURSIVE
from stdlib_targets import ALL

MATRICES = sorted((Path(__file__).parents[1] / "data" / "matrices").glob("*.mtx*"))


def test_every_algorithm_has_a_case() -> None:
    # What runs on grids has its cases in test_distributed_algorithms and test_collectives.
    names = [name for name in stdlib_modules() if not name.startswith("distributed.")]
    modules = {name: load_target(name)[0] for name in names}
    assert {*ALL} == {f"{name}::{each}" for name, module in modules.items() for each in module.algorithms}
    assert {each for each in ALL if recurses(*load(each))} == RECURSIVE.keys() - HELPERS


@pytest.mark.parametrize("path", MATRICES, ids=lambda path: path.name.partition(".")[0])
@pytest.mark.parametrize("form", ["csr", "csc", "block"])
def test_real_matrices(path: Path, form: str) -> None:
    read = read_matrix(path)
    reference = scipy.io.mmread(path, spmatrix=False).tocsr()
    x = np.random.default_rng(1).normal(size=read.m)
    b = 64
    if form == "csr":
        rowptr, col, val = read.csr()
        arguments = {"rowptr": rowptr, "col": col, "val": val, "x": x}
    elif form == "csc":
        colptr, row, val = read.csc()
        arguments = {"colptr": colptr, "row": row, "val": val, "x": x, "y": np.zeros(read.n)}
    else:
        cut = read.blocks(b, square=True)
        padded = {"x": np.zeros(cut.block_rows * b), "y": np.zeros(cut.block_rows * b)}
        padded["x"][: read.m] = x
        entries = {"blk": cut.offsets, "row": cut.row, "col": cut.col, "val": cut.val}
        arguments = {**entries, **padded, "nb": cut.block_rows, "b": b}
    ran = execute_case(f"sparse.{form}::spmv_{form}", arguments, {"y": np.zeros(read.n)})
    assert ran.counts.flops == 2 * reference.nnz
    # Sums of at most 1000 products in another order: each rounding is below 2^-53 of the sum of magnitudes.
    slack = 1e-12 * (abs(reference) @ abs(x))
    assert (abs(ran.results["y"][: read.n] - reference @ x) <= slack).all()
