"""`diff` and baselines decide by whole costs, as `cost --at` has them, at the sizes of `--at` and realistic ones."""

from __future__ import annotations

import contextlib
from fractions import Fraction
from pathlib import Path

import pytest

import archline as al
from archline.algebra import effort
from archline.changes import cost_changes
from archline.changes import results as r
from archline.energy.subjects import AlgorithmSubject
from cli_support import cli
from effort import long, some

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
    some(
        [
            (IJK, IKJ, {"n": 64, "Z": 24, "L": 8}, "286723 to 295424 -> 57347 to 66048", r.SHRANK),
            (SOLVE, BY_COLUMNS, {"n": 64, "Z": 128, "L": 8}, "288 to 296 -> 1453 to 1669", r.GREW),
            (BY_COLUMNS, SOLVE, {"n": 64, "Z": 128, "L": 8}, "1453 to 1669 -> 288 to 296", r.SHRANK),
            (SOLVE, BY_COLUMNS, {"n": 64, "Z": 64, "L": 8}, "288 to 341 -> 1878 to 2047", r.GREW),
            (IKJ, IJK, {"n": 64, "Z": 24, "L": 8}, "57347 to 66048 -> 286723 to 295424", r.GREW),
        ]
    ),
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


@long
def test_caches_are_tried_where_none_is_given(tmp_path: Path) -> None:
    ran = cli("diff", *map(str, put(tmp_path, old=SOLVE, new=BY_COLUMNS)), "--no-cache")
    assert ran.code == 1
    assert ran.out.startswith("1 cost grew, 3 are the same")
    assert "grew: 288 to 296 -> 1822 to 1997 at n=64,L=8,Z=72" in " ".join(ran.out.split())
    ran = cli("diff", *map(str, put(tmp_path, old=BY_COLUMNS, new=SOLVE)), "--no-cache")
    assert (ran.code, ran.out.startswith("1 cost shrank, 3 are the same")) == (0, True)


@long
def test_no_bound_rose_where_values_show_that_the_cost_grew(tmp_path: Path) -> None:
    """In no row is the least that it is now above the most that it was, but where that is its verdict."""
    for old, new in ((SOLVE, BY_COLUMNS), (IKJ, IJK)):
        for row in al.diff(*put(tmp_path, old=old, new=new), jobs=1, cached=False).changes:
            assert row.values is not None
            ends = [[int(end) for end in row.values[side].split(" to ")] for side in ("old", "new")]
            assert (ends[1][0] > ends[0][-1]) == (row.verdict == r.GREW)


@long
def test_a_tolerance_passes_no_growth_that_values_show(tmp_path: Path) -> None:
    both = put(tmp_path, old=SOLVE, new=BY_COLUMNS)
    found = al.diff(*both, tolerance="400%", jobs=1, cached=False)
    assert [each.reason for each in found.findings if each.when is None] == ["exceeds the tolerance of 400%"]
    assert cli("diff", *map(str, both), "--tolerance", "400%").code == 1


@long
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


# Costs that models of energy take besides
MOVES = "algorithm f(x: real[n], y: inout real[n], s: inout real[1]):\n    for i in 0..n:\n        "
COPY = "algorithm f(A: real[n, n], B: inout real[n, n]):\n    for i in 0..n:\n        for j in 0..n:\n            "


@pytest.mark.parametrize(
    ("old", "new"),
    some(
        [
            # The same lines are fetched, and those of y are written back, too.
            (MOVES + "s[0] += x[i] + y[i]\n", MOVES + "y[i] += x[i] + s[0]\n"),
            # Columns are written, not read: each of their lines is written back as often as it is fetched.
            (COPY + "B[i, j] = A[j, i]\n", COPY + "B[j, i] = A[i, j]\n"),
        ]
    ),
)
def test_write_backs_that_are_added_are_seen(tmp_path: Path, old: str, new: str) -> None:
    both = put(tmp_path, old=old, new=new)
    found = al.diff(*both, jobs=1, cached=False)
    assert found.summary == {r.GREW: 1, "equal": 4}
    (row,) = found.shown
    assert (row.metric, row.verdict) == ("bytes", r.GREW)
    assert row.at is not None
    assert row.values is not None
    at = {name: int(value) for name, value in row.at.items()}
    for text, side in ((old, "old"), (new, "new")):
        ends = [int(end) for end in row.values[side].split(" to ")]
        assert ends[0] <= al.loads(text)["f"].run(**at).counts.bytes <= ends[-1]
    assert al.diff(*both[::-1], jobs=1, cached=False).summary == {r.SHRANK: 1, "equal": 4}
    with contextlib.chdir(both[0]):
        assert cli("check", "f.algo", "--write-baseline", "costs").code == 0
        put(tmp_path, old=new)
        ran = cli("check", "f.algo", "--baseline", "costs")
        assert (ran.code, "f: bytes grew" in ran.out) == (1, True)


def test_divisions_are_compared_where_programs_have_some(tmp_path: Path) -> None:
    texts = (MOVES + f"y[i] += x[i]{operation}3.0\n" for operation in "*/")
    both = put(tmp_path, **dict(zip(("old", "new"), texts, strict=True)))
    (row,) = al.diff(*both, jobs=1, cached=False).changes
    assert (row.metric, row.verdict, row.extent, row.old, row.new) == ("divisions", r.GREW, r.EVERYWHERE, "0", "n")


def test_bytes_that_move_with_the_misses_are_not_said_again(tmp_path: Path) -> None:
    """Of each miss more than before as many bytes more; those of the misses that were are written back besides."""
    one, other = MOVES + "y[i] = x[i]\n", MOVES + "y[i] = x[i] + s[0]\n"
    assert "bytes" not in {each.metric for each in al.diff(*put(tmp_path, old=one, new=other), cached=False).changes}


# Growth
FROM_1 = "algorithm g(x: inout real[n]):\n    where n >= 2\n    for i in 1..n:\n        x[i] += 1.0\n"
ALL = FROM_1.replace("    for", "    x[0] += 1.0\n    for")


def test_growth_that_is_known_less_sharply_is_no_change_of_growth(tmp_path: Path) -> None:
    """Of the misses of the new one, a bound from below is the same but for a term that it is above: both are linear."""
    both = put(tmp_path, old=FROM_1, new=ALL)
    assert al.loads(ALL)["g"].run(n=1000, Z=64, L=8).counts.io == 125
    ran = cli("diff", *map(str, both), "--only", "growth", "--no-cache")
    assert (ran.code, ran.out) == (0, "4 costs are the same\n")
    ran = cli("diff", *map(str, both), "--at", "n=1000,Z=64,L=8", "--no-cache")
    assert "growth" not in ran.out
    # What shows the change comes before sizes at which there is none.
    assert "grew: 1 -> 2 at n=2,L=1,Z=1; 125 as before at n=1000,L=8,Z=64" in " ".join(ran.out.split())


@pytest.mark.parametrize(
    ("old", "new", "order"),
    [("n^2", "n^2", None), ("n*m", "n*m^2", r.GREW), ("n*m^2", "n^2*m", r.DIFFERS), ("n^2", "n", r.SHRANK)],
)
def test_orders_of_growth_are_compared_as_orders(tmp_path: Path, old: str, new: str, order: str | None) -> None:
    loop = "algorithm f(x: inout real[n, m]):\n    for i in 0..{}:\n        x[0, 0] += 1.0\n"
    changes = al.diff(*put(tmp_path, old=loop.format(old), new=loop.format(new)), jobs=1, cached=False).changes
    assert {each.order for each in changes if each.metric == "flops"} == ({order} if order else set())


# What is shown first
LU = """algorithm lu(A: inout real[n, n]):
    for k in 0..n:
        for i in k+1..n:
            A[i, k] = A[i, k]/A[k, k]
            for j in k+1..n:
                A[i, j] -= A[i, k]*A[k, j]
"""
HOISTED = LU.replace("..n:\n        for i", "..n:\n        local r: real = 1.0/A[k, k]\n        for i").replace(
    "/A[k, k]\n            for", "*r\n            for"
)


@long
def test_realistic_sizes_come_first(tmp_path: Path) -> None:
    """At n = 1 the hoisted division reads an element where there was nothing to do; a bound at n = 64 fell."""
    assert [al.loads(text)["lu"].run(n=1, Z=8, L=1).counts.io for text in (LU, HOISTED)] == [0, 1]
    ran = cli("diff", *map(str, put(tmp_path, old=LU, new=HOISTED)), "--no-cache", "--time-limit", "0")
    text = " ".join(ran.out.split())
    assert "io grew at some sizes, bound fell at others: bound fell where" in text
    assert text.index("15306 at n=64,L=8,Z=72") < text.index("0 -> 1 at n=1,L=1")


def test_what_is_proved_is_not_cut_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effort.Clock, "late", True)
    one, other = al.loads(FROM_1)["g"], al.loads(ALL.replace(" g(", " h("))["h"]
    found = cost_changes.compare_versions(AlgorithmSubject(one), AlgorithmSubject(other), Fraction(0), ())
    assert {each.metric for each in found if each.extent == r.EVERYWHERE} == {"flops", "work", "span", "accesses"}
    assert {each.metric for each in found if each.reason} == {"io"}
    # Nor is what was compared later than something else.
    found = al.diff(*put(tmp_path, old=FROM_1, new=ALL), jobs=1, cached=False, seconds=600)
    assert not any(each.reason for each in found.changes)


# Sizes in other places
def test_sizes_that_change_places_are_said_to(tmp_path: Path) -> None:
    """A call of two(2, 3) had 2*3^2 additions; now it has 2^2*3."""
    body = (
        "(n: size, m: size, x: inout real[1]):\n    for i in 0..n:\n        for j in 0..m*m:\n            x[0] += 1.0\n"
    )
    other = body.replace("n: size, m: size", "m: size, n: size")
    both = put(tmp_path, old=f"algorithm two{body}", new=f"algorithm two{other}")
    found = al.diff(*both, at=[{"m": 2, "n": 3}], jobs=1, cached=False)
    rows = [each for each in found.changes if each.metric == "flops"]
    assert {"old": "18", "new": "12"} in [each.values for each in rows]
    said = "the sizes were reordered and are compared by position: m was n, n was m"
    assert all(each.reason == said for each in rows)
    renamed = body.replace("n:", "k:").replace("..n", "..k")
    renamed = renamed.replace("1.0", "1.0 + 1.0")
    found = al.diff(*put(tmp_path, old=f"algorithm two{body}", new=f"algorithm two{renamed}"), jobs=1, cached=False)
    assert not any("reordered" in (each.reason or "") for each in found.changes)
