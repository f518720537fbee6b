"""Claims on the growth of io: where small caches leave one open, it is told in which it holds."""

from __future__ import annotations

from itertools import permutations, product

import pytest

import archline as al
from effort import some
from tile_programs import WHOLE, product_by_whole_tiles

ROWS = """
algorithm f(A: real[n, m], B: real[m, p], C: inout real[n, p]):
    ensures {}
    for i in 0..n:
        for k in 0..m:
            for j in 0..p:
                C[i, j] += A[i, k]*B[k, j]
"""
COLUMNS = ROWS.replace("real[m, p], C", "real[p, m], C").replace("B[k, j]", "B[j, k]")


def decided(program: str, claim: str) -> tuple[str, str]:
    (verdict,) = al.loads(program.format(claim))["f"].cost().ensures
    return verdict.outcome, verdict.reason


@pytest.mark.parametrize(
    ("program", "growth"),
    [
        # A line of B and of C each stays in the inner loop.
        (ROWS, "n*m*p/L + n*m"),
        # All of B stays.
        (ROWS, "n*m + m*p + n*p"),
        (COLUMNS, "n*m + m*p + n*p"),
        # A line of each row of B stays while its columns are passed.
        (COLUMNS, "n*m*p/L + n*m + n*p + p"),
    ],
)
def test_where_it_would_hold_is_told(program: str, growth: str) -> None:
    claim = f"io is O({growth})"
    outcome, reason = decided(program, claim)
    before, _, condition = reason.partition("; it is known to be O of this when ")
    assert outcome == "unknown"
    assert condition, before
    assert decided(program, f"{claim} when {condition}")[0] == "holds"


def test_no_cache_is_named_where_it_holds_in_none() -> None:
    """All of the arrays are touched."""
    outcome, _ = decided(ROWS, "io is O(n + m + p)")
    assert outcome == "fails"


def test_quotients_by_sizes_are_compared_as_numbers() -> None:
    # x has ceil(n/L) lines, each of which misses once.
    text = """algorithm scale(x: inout real[n]):
    ensures io >= n/L
    ensures io <= n/L + 2
    ensures io <= n/L
    for i in 0..n:
        x[i] = 2.0*x[i]
"""
    assert [each.outcome for each in al.loads(text)["scale"].cost().ensures] == ["holds", "holds", "fails"]


@pytest.mark.parametrize(("inner", "way"), some([*product(map("".join, permutations("ijq")), sorted(WHOLE))]))
def test_a_block_stays_in_cache_however_whole_tiles_are_written(inner: str, way: str) -> None:
    """A block of each matrix has b*(ceil(b/L) + 1) lines at most; all three are fetched once for each of (n/b)^3."""
    least = {"Z >= 10*b^2, b >= L": True, "Z >= 3*b, b >= L": False}
    for cache, holds in least.items():
        text = product_by_whole_tiles(way, inner, ensures=f"io is O(n^3/(b*L) + n^2/L) when {cache}").text
        (verdict,) = al.loads(text)["main"].cost().ensures
        assert (verdict.outcome == "holds") is holds, text
