"""`diff` and baselines decide by whole costs, as `cost --at` has them, at the sizes of `--at` and realistic ones."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

import archline as al
from archline.changes import results as r
from cli_support import cli

SOLVE = """algorithm f(T: real[n, n], x: inout real[n]):
    for i in 0..n:
        for j in 0..i:
            x[i] -= T[i, j]*x[j]
        x[i] /= T[i, i]
"""
BY_COLUMNS = SOLVE.replace("T: real[n, n]", "T: real[n, n] colmajor")
IJK = """algorithm f(A: real[n, n], B: real[n, n], C: inout real[n, n]):
    for i in 0..n:
        for j in 0..n:
            for k in 0..n:
                C[i, j] += A[i, k]*B[k, j]
"""
LOOPS = ["        for j in 0..n:\n            for k in 0..n:\n", "        for k in 0..n:\n            for j in 0..n:\n"]
IKJ = IJK.replace(*LOOPS)


def put(folder: Path, **texts: str) -> tuple[Path, ...]:
    """Each text as the file `f.algo` of a folder of its own."""
    for name, text in texts.items():
        (folder / name).mkdir(exist_ok=True)
        (folder / name / "f.algo").write_text(text, encoding="utf-8")
    return tuple(folder / name for name in texts)


@pytest.mark.parametrize(
    ("old", "new", "at", "values", "verdict"),
    [
        (SOLVE, BY_COLUMNS, {"n": 64, "Z": 128, "L": 8}, "288 to 296 -> 1453 to 1669", r.GREW),
        (BY_COLUMNS, SOLVE, {"n": 64, "Z": 128, "L": 8}, "1453 to 1669 -> 288 to 296", r.SHRANK),
        (SOLVE, BY_COLUMNS, {"n": 64, "Z": 64, "L": 8}, "288 to 341 -> 1878 to 2047", r.GREW),
        (IJK, IKJ, {"n": 64, "Z": 24, "L": 8}, "286723 to 295424 -> 57347 to 66048", r.SHRANK),
        (IKJ, IJK, {"n": 64, "Z": 24, "L": 8}, "57347 to 66048 -> 286723 to 295424", r.GREW),
    ],
)
def test_a_cost_whose_bounds_are_apart_grew_or_shrank(
    tmp_path: Path, old: str, new: str, at: dict[str, int], values: str, verdict: str
) -> None:
    found = al.diff(*put(tmp_path, old=old, new=new), at=[at], jobs=1, cached=False)
    assert found.summary == {verdict: 1, "equal": 3}
    (row,) = found.shown
    assert row.evidence == f"{values} at n=64,L=8,Z={at['Z']}"
    # The values are those of `cost --at`.
    ends = [al.loads(text)["f"].cost()["io"].at(**at) for text in (old, new)]
    assert row.values == {side: f"{low} to {high}" for side, (low, high) in zip(("old", "new"), ends, strict=True)}


def test_caches_are_tried_where_none_is_given(tmp_path: Path) -> None:
    ran = cli("diff", *map(str, put(tmp_path, old=SOLVE, new=BY_COLUMNS)), "--no-cache")
    assert ran.code == 1
    assert ran.out.startswith("1 cost grew, 3 are the same")
    assert "grew: 288 to 296 -> 1822 to 1997 at n=64,L=8,Z=72" in " ".join(ran.out.split())
    ran = cli("diff", *map(str, put(tmp_path, old=BY_COLUMNS, new=SOLVE)), "--no-cache")
    assert (ran.code, ran.out.startswith("1 cost shrank, 3 are the same")) == (0, True)


def test_no_bound_rose_where_values_show_that_the_cost_grew(tmp_path: Path) -> None:
    """In no row is the least that it is now above the most that it was, but where that is its verdict."""
    for old, new in ((SOLVE, BY_COLUMNS), (IKJ, IJK)):
        for row in al.diff(*put(tmp_path, old=old, new=new), jobs=1, cached=False).changes:
            assert row.values is not None
            ends = [[int(end) for end in row.values[side].split(" to ")] for side in ("old", "new")]
            assert (ends[1][0] > ends[0][-1]) == (row.verdict == r.GREW)


def test_a_tolerance_passes_no_growth_that_values_show(tmp_path: Path) -> None:
    both = put(tmp_path, old=SOLVE, new=BY_COLUMNS)
    found = al.diff(*both, tolerance="400%", jobs=1, cached=False)
    assert [each.reason for each in found.findings if each.when is None] == ["exceeds the tolerance of 400%"]
    assert cli("diff", *map(str, both), "--tolerance", "400%").code == 1


def test_a_baseline_finds_growth_of_io(tmp_path: Path) -> None:
    (folder,) = put(tmp_path, now=SOLVE)
    with contextlib.chdir(folder):
        assert cli("check", "f.algo", "--write-baseline", "costs").code == 0
        put(tmp_path, now=BY_COLUMNS)
        ran = cli("check", "f.algo", "--baseline", "costs", "--no-cache")
        assert ran.code == 1
        assert "f: io grew; 288 to 296 -> 1822 to 1997 at n=64,L=8,Z=72" in " ".join(ran.out.split())
        put(tmp_path, now=SOLVE.replace("x[j]", "x[j]*1.0"))
        assert "io" not in cli("check", "f.algo", "--baseline", "costs", "--no-cache").out


def test_a_bound_that_fell_is_no_lower_bound(tmp_path: Path) -> None:
    read = "algorithm f(x: real[n, n], y: inout real[n]):\n    for i in 0..n:\n        if y[i] > 0.0:\n"
    column, row = (f"{read}            y[i] = x[{place}]\n" for place in ("i, 0", "0, i"))
    ran = cli("diff", *map(str, put(tmp_path, old=column, new=row)), "--no-cache")
    assert (ran.code, ran.out.partition("\n")[0]) == (0, "1 cost has a bound that fell, 3 are the same")
    ran = cli("diff", *map(str, put(tmp_path, old=row, new=column)), "--no-cache")
    assert (ran.code, ran.out.partition("\n")[0]) == (0, "1 cost has a bound that rose, 3 are the same")
