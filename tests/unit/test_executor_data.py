"""Arguments of runs: how they are checked and bound, generated, and made from sparse matrices."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from archline.execution import data, sparse_matrix
from archline.execution.data import bind_matrix, generate_arguments
from archline.execution.sparse_matrix import SparseMatrix
from archline.language.diagnostics import ArchlineError
from archline.language.loader import load_text
from executor_programs import codes, message, run


def entry(text: str):
    module = load_text(text)
    return module, next(iter(module.algorithms.values()))


# Binding
SCALARS = """
extern g(a: real) -> real costs c flops
algorithm f(y: out real[n], k: out int[m], i: index, t: real, d: int):
    y[0] = g(t)
    y[1] = t
    k[0] = i
    k[1] = d
"""
ZEROS = {"y": [0.0, 0.0], "k": [0, 0]}


@pytest.mark.parametrize(
    ("t", "expected"),
    [
        (2.5, 2.5), (3, 3.0), (np.float32(0.5), 0.5), (np.array(1.5), 1.5), (np.int16(4), 4.0),
        (10**400, np.inf), (-(10**400), -np.inf), (float("nan"), np.nan),
    ],
)  # fmt: skip
def test_reals_are_taken_from_any_number(t: Any, expected: float) -> None:
    found = run(SCALARS, {**ZEROS, "i": -4, "t": t, "d": np.int8(3), "c": 0})
    np.testing.assert_equal(found.outputs["y"][1], expected)
    assert found.outputs["k"].tolist() == [-4, 3]


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        ({"d": 2**63 - 1}, "", ""),
        ({"d": -(2**63) + 1}, "", ""),
        ({"d": 2**63}, "AL524", "`d` is 9223372036854775808, beyond 64 bits"),
        ({"d": -(2**63)}, "AL524", "beyond 64 bits"),
        ({"d": 1.0}, "AL522", "`d` is `int`, but was given 1.0"),
        ({"d": [1]}, "AL522", "was given a list"),
        ({"t": True}, "AL522", "`t` is `real`, but was given True"),
        ({"t": 1j}, "AL522", "was given 1j"),
        ({"t": None}, "AL522", "was given a NoneType"),
        ({"i": 1.5}, "AL524", "`i` is a whole number, but was given 1.5"),
        ({"i": False}, "AL524", "was given False"),
        ({"i": (1,)}, "AL524", "was given a tuple"),
        ({"y": [[1.0]]}, "AL523", "`y` has 1 dimension, but was given 2"),
        ({"y": [True, False]}, "AL522", "was given an array of bool"),
        ({"k": [2**63 - 1, 1 - 2**63]}, "", ""),
        ({"k": [-(2**63), 0]}, "AL522", "an integer beyond 64 bits"),
        ({"c": True}, "AL524", "the cost symbol `c` must be a number >= 0, not True"),
        ({"c": 0.5}, "AL524", "not 0.5"),
        ({"c": np.int64(-1)}, "AL524", "not -1"),
        ({"c": Fraction(1, 2)}, "AL529", "`g` declares 1/2 flops, which is not a whole number from 0 to 2^40 - 1"),
        ({"c": Fraction(4, 2)}, "", ""),
        ({"c": np.int64(3)}, "", ""),
        ({"c": 2**40 - 1}, "", ""),
        ({"c": 2**40}, "AL529", "which is not a whole number from 0 to 2^40 - 1"),
        ({"n": 2}, "AL521", "`n` is determined by the arrays"),
        ({"tt": 2}, "AL521", "did you mean"),
        ({"unheard": 2}, "AL521", "its parameters are y, k, i, t, d"),
    ],
)
def test_arguments_are_checked(change: dict[str, Any], code: str, words: str) -> None:
    arguments = {**ZEROS, "i": 0, "t": 1.0, "d": 0, "c": 2, **change}
    assert codes(SCALARS, arguments) == ([code] if code else [])
    assert words in message(SCALARS, arguments)


def test_missing_arguments_are_listed_with_their_types() -> None:
    found = message(SCALARS, {"i": 1, "t": 1.0, "k": [0]})
    assert "`f` needs `y: out real[n]`, `d: int`" in found
    assert "its parameters are y, k, i, t, d" in found


def test_cost_symbols_may_be_zero_and_scale_externs() -> None:
    for amount in (0, 5, Fraction(6, 2)):
        found = run(SCALARS, {**ZEROS, "i": 0, "t": 1.0, "d": 0, "c": amount}).counts
        assert (found.flops, found.work, found.span) == (amount, 1 + amount, 1 + amount)


INDEXED = "algorithm f(p: offsets[n] into nz, C: index[a, b] below m, m: size):\n    where nz >= 0, n >= 0\n    pass\n"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"p": [0, 2, 2, 5, 4, 3]}, "`p` decreases at entry 4: from 5 to 4"),
        ({"p": [1, 2]}, "`p` starts at 1, not at 0"),
        ({"p": []}, "`p` is empty; offsets have one entry more than there are segments"),
        ({"C": [[0, 1], [0, -2], [-1, 0]]}, "`C[1, 1]` is -2, below 0"),
        ({"m": 2}, "an entry of `C` is not below 2: the largest is 2"),
    ],
)
def test_offsets_and_indices_say_where_they_are_wrong(change: dict[str, Any], words: str) -> None:
    good = {"p": [0, 2, 2, 5], "C": [[0, 1, 2]], "m": 3}
    assert run(INDEXED, good).sizes == {"n": 3, "nz": 5, "a": 1, "b": 3, "m": 3}
    assert words in message(INDEXED, {**good, **change})


@pytest.mark.parametrize(
    ("text", "sizes", "words"),
    [
        ("algorithm f(x: real[side]):\n    pass\n", {"sied": 1}, "did you mean `side`"),
        ("algorithm f(x: real[n, m]):\n    pass\n", {"quux": 1}, "its sizes are n, m"),
        ("algorithm f(t: real):\n    pass\n", {"n": 1}, "it has no sizes"),
        ("algorithm f(x: real[n, m], i: index):\n    pass\n", {"m": 1}, "`f` needs a value for `n`, `i`"),
        ("algorithm f(x: real[n]):\n    pass\n", {"n": True}, "`n` must be a whole number, not True"),
        ("algorithm f(x: real[n]):\n    pass\n", {"n": 0}, "`n` is 0, and must be at least 1"),
        ("algorithm f(x: real[n - 2]):\n    where n >= 1\n    pass\n", {"n": 1}, "the extent `n - 2` is -1"),
        ("algorithm f(x: real[n/2]):\n    where n >= 1\n    pass\n", {"n": 3}, "`n/2` has no value at these sizes"),
    ],
)
def test_sizes_that_will_not_do(text: str, sizes: dict[str, Any], words: str) -> None:
    if "n - 2" in text or "n/2" in text:
        text = text.replace("(x:", "(n: size, x:")
    with pytest.raises(ArchlineError) as problem:
        generate_arguments(*entry(text), sizes)
    assert words in str(problem.value)


def test_sizes_may_be_whole_floats_and_the_least_allowed() -> None:
    module, algorithm = entry("algorithm f(x: real[n], i: index):\n    where n >= 0\n    pass\n")
    assert generate_arguments(module, algorithm, {"n": 0, "i": -9})["x"].shape == (0,)
    found = generate_arguments(module, algorithm, {"n": 3.0, "i": 0})
    assert (found["x"].shape, found["i"]) == ((3,), 0)


def test_arguments_beyond_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "algorithm f(A: real[n, m], p: offsets[n] into nz, c: index[nz] below m, t: real):\n    pass\n"
    sizes = {"n": 4, "m": 5, "nz": 6}
    # The arguments, and two copies of them that a run makes, of 8 bytes a word.
    words = 4 * 5 + (4 + 1) + 6
    monkeypatch.setattr(data, "available_bytes", lambda: 24 * words)
    assert generate_arguments(*entry(text), sizes)["A"].shape == (4, 5)
    monkeypatch.setattr(data, "available_bytes", lambda: 24 * words - 1)
    with pytest.raises(ArchlineError) as problem:
        generate_arguments(*entry(text), sizes)
    assert problem.value.diagnostics[0].rule.code == "AL519"


OFFSETS = "algorithm f(p: offsets[n] into nz{longest}, n: size, nz: size{more}):\n    where {facts}\n    pass\n"
FREE = OFFSETS.format(longest="", more="", facts="n >= 0, nz >= 0")
CAPPED = OFFSETS.format(longest=" longest q", more=", q: size", facts="n >= 0, nz >= 0, q >= 0")
EXACT = OFFSETS.format(longest=" longest q", more="", facts="n >= 0, nz >= 0, q >= 0")


@pytest.mark.parametrize(
    ("text", "sizes", "words"),
    [
        (FREE, {"n": 0, "nz": 0}, ""),
        (FREE, {"n": 0, "nz": 1}, "there are no offsets of 0 segments with total 1"),
        (CAPPED, {"n": 2, "nz": 6, "q": 3}, ""),
        (CAPPED, {"n": 2, "nz": 2, "q": 3}, ""),
        (CAPPED, {"n": 2, "nz": 7, "q": 3}, "with total 7 and no gap above 3"),
        (EXACT, {"n": 2, "nz": 3, "q": 3}, ""),
        (EXACT, {"n": 2, "nz": 6, "q": 3}, ""),
        (EXACT, {"n": 2, "nz": 0, "q": 0}, ""),
        (EXACT, {"n": 0, "nz": 0, "q": 0}, ""),
        (EXACT, {"n": 0, "nz": 0, "q": 1}, "and longest gap 1"),
        (EXACT, {"n": 2, "nz": 2, "q": 3}, "with total 2 and longest gap 3"),
    ],
)
def test_offsets_exist_or_do_not(text: str, sizes: dict[str, int], words: str) -> None:
    module, algorithm = entry(text)
    if words:
        with pytest.raises(ArchlineError) as problem:
            generate_arguments(module, algorithm, sizes)
        assert words in str(problem.value)
        return
    for seed in range(8):
        offsets = generate_arguments(module, algorithm, sizes, seed)["p"]
        gaps = np.diff(offsets)
        assert (len(offsets), offsets[0], offsets[-1]) == (sizes["n"] + 1, 0, sizes["nz"])
        assert gaps.min(initial=0) >= 0
        assert gaps.max(initial=0) <= sizes.get("q", sizes["nz"])
        if text is EXACT:
            assert gaps.max(initial=0) == sizes["q"]


# Sparse matrices
TRIPLES = scipy.sparse.random_array((7, 4), density=0.4, rng=np.random.default_rng(5), format="coo")
MATRIX = SparseMatrix.from_triples(
    7, 4, *(each.astype(np.int64) for each in TRIPLES.coords), values=np.asarray(TRIPLES.data)
)
LONG_ROW, LONG_COLUMN = (int(np.bincount(each).max()) for each in TRIPLES.coords)
BY_ROWS = ((7, 4, LONG_ROW), TRIPLES.tocsr())
BY_COLUMNS = ((4, 7, LONG_COLUMN), TRIPLES.tocsc())


@pytest.mark.parametrize(
    ("header", "wanted"),
    [
        ("{p}: offsets[n] into nz longest q, c: index[nz] below m, v: real[nz], x: real[m], y: out real[n]", BY_ROWS),
        ("{p}: offsets[n] into nz longest q, c: index[nz] below m, v: real[nz], x: real[n], y: out real[m]", BY_COLUMNS),
        ("{p}: offsets[n] into nz longest q, c: index[nz] below m, v: real[nz], y: inout real[2, m]", BY_COLUMNS),
        ("{p}: offsets[n] into nz longest q, c: index[nz] below m, y: out real[n], m: size", BY_ROWS),
        ("x: real[nz, 1], c: index[nz] below m, v: real[nz], w: real[nz], {p}: offsets[n] into nz longest q, m: size", BY_ROWS),
        ("{p}: offsets[n] into nz longest q, c: index[nz] below m, v: real[nz], Y: out real[n, m]", BY_ROWS),
        ("{p}: offsets[n] into nz longest q, c: index[nz] below m, v: real[nz], Y: out real[n, m], y: out real[m]",
         BY_COLUMNS),
    ],
)  # fmt: skip
def test_the_result_tells_rows_from_columns(header: str, wanted: Any) -> None:
    (n, m, longest), form = wanted
    form.sort_indices()
    module, algorithm = entry(f"algorithm f({header.format(p='p')}):\n    pass\n")
    found = bind_matrix(module, algorithm, MATRIX)
    np.testing.assert_array_equal(found["p"], form.indptr)
    np.testing.assert_array_equal(found["c"], form.indices)
    if "v: real" in header:
        np.testing.assert_array_equal(found["v"], form.data)
    sizes = run(f"algorithm f({header.format(p='p')}):\n    pass\n", found).sizes
    assert (sizes["n"], sizes["m"], sizes["q"], sizes["nz"]) == (n, m, longest, TRIPLES.nnz)
    assert all(not found[name].any() for name in ("y", "Y") if name in found)
    assert all(found[name].all() for name in ("x", "w") if name in found)


SQUARE = (
    "algorithm f({p}: offsets[n] into nz, c: index[nz] below n, v: real[nz], x: real[n], y: out real[n]):\n    pass\n"
)


@pytest.mark.parametrize(("name", "by_rows"), [("rowptr", True), ("p", True), ("colptr", False), ("ColStart", False)])
def test_a_square_kernel_is_told_by_a_name(name: str, by_rows: bool) -> None:
    rows, cols, values = np.array([0, 0, 2]), np.array([1, 2, 2]), np.array([5.0, 6.0, 7.0])
    found = bind_matrix(*entry(SQUARE.format(p=name)), SparseMatrix.from_triples(3, 3, rows, cols, values))
    assert found[name].tolist() == ([0, 2, 2, 3] if by_rows else [0, 0, 1, 3])
    assert found["c"].tolist() == ([1, 2, 2] if by_rows else [0, 0, 2])
    assert found["v"].tolist() == [5, 6, 7]


BLOCKED = (
    "algorithm f(blk: offsets[{count}] into nz longest q, {first}: index[nz] below b, {second}: index[nz] below b, "
    "val: real[nz], {sizes}, b: size):\n    where nz >= 0\n    pass\n"
)


@pytest.mark.parametrize(
    ("count", "sizes", "told", "square"),
    [
        ("nr*nc", "nr: size, nc: size", {"nr": 3, "nc": 2}, False),
        ("nb^2", "nb: size", {"nb": 3}, True),
        ("nb*nb", "nb: size", {"nb": 3}, True),
        ("cells", "cells: size", {"cells": 9}, True),
    ],
)
@pytest.mark.parametrize(("first", "second"), [("row", "col"), ("i", "j"), ("col", "row"), ("Column", "r")])
def test_blocks(count: str, sizes: str, told: dict[str, int], square: bool, first: str, second: str) -> None:
    text = BLOCKED.format(count=count, sizes=sizes, first=first, second=second)
    module, algorithm = entry(text)
    found = bind_matrix(module, algorithm, MATRIX, block=3)
    blocks = MATRIX.blocks(3, square=square)
    np.testing.assert_array_equal(found["blk"], blocks.offsets)
    swapped = first.lower().startswith("col")
    np.testing.assert_array_equal(found[first], blocks.col if swapped else blocks.row)
    np.testing.assert_array_equal(found[second], blocks.row if swapped else blocks.col)
    np.testing.assert_array_equal(found["val"], blocks.val)
    assert run(text, found).sizes == {**told, "b": 3, "nz": TRIPLES.nnz, "q": int(np.diff(blocks.offsets).max())}
    assert bind_matrix(module, algorithm, MATRIX, {"b": 3})["blk"].tolist() == found["blk"].tolist()


@pytest.mark.parametrize(
    ("header", "sizes", "code", "words"),
    [
        ("p: offsets[n] into nz, v: real[nz]", {}, "AL527", "takes no sparse matrix"),
        ("c: index[nz] below n, v: real[nz], n: size", {}, "AL527", "takes no sparse matrix"),
        ("p: offsets[n] into nz, c: index[nz] below k, d: index[nz] below m, k: size, m: size", {}, "AL527", ""),
        ("p: offsets[n] into nz, c: index[k] below m, v: real[nz], m: size", {}, "AL527", ""),
        ("p: offsets[n] into nz, c: index[nz] below m, m: size", {"n": 6}, "AL524", "the matrix has `n` = 7, but 6 was given"),
        ("p: offsets[n] into nz, c: index[nz] below m, m: size, x: real[k]", {}, "AL524", "a value for `k`"),
        ("p: offsets[n^2] into nz, c: index[nz] below b, d: index[nz] below b, n: size, b: size", {}, "AL524",
         "takes blocks of b x b; their size must be given"),
    ],
)  # fmt: skip
def test_matrices_that_do_not_fit(header: str, sizes: dict[str, int], code: str, words: str) -> None:
    with pytest.raises(ArchlineError) as problem:
        bind_matrix(*entry(f"algorithm f({header}):\n    pass\n"), MATRIX, sizes)
    assert problem.value.diagnostics[0].rule.code == code
    assert words in str(problem.value)


def test_the_sizes_of_a_matrix_may_be_given_too() -> None:
    text = "algorithm f(p: offsets[n] into nz, c: index[nz] below m, m: size, x: inout real[k]):\n    pass\n"
    found = bind_matrix(*entry(text), MATRIX, {"n": 7, "m": 4, "nz": TRIPLES.nnz, "k": 3})
    assert found["x"].tolist() == [0, 0, 0]


def test_blocks_are_asked_of_memory_before_they_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    needed = 8 * (3 * 2 + 1) + 80 * TRIPLES.nnz
    monkeypatch.setattr(sparse_matrix, "available_memory", lambda: needed)
    assert MATRIX.blocks(3).block_cols == 2
    monkeypatch.setattr(sparse_matrix, "available_memory", lambda: needed - 1)
    with pytest.raises(ArchlineError, match=f"3 x 2 blocks would need about {needed} bytes of memory"):
        MATRIX.blocks(3)
