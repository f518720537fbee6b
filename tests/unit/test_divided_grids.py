"""Divisions that every run on a grid makes are facts and assumptions of every result; P/c is a size like any other."""

from __future__ import annotations

import pytest

import archline as al
from archline.algebra.polynomial import Poly
from archline.language.diagnostics import ArchlineError
from effort import some
from spmd_runs import assert_between, costs_of

P = Poly.symbol("P")


HALVES = """
algorithm f(A: real[P], B: out real[P]) on grid(r: P/2, k: 2):
    local a: real = 0
    input a = A[r*2 + k]
    allreduce a along r with +
    output B[r*2 + k] = a
"""
PARTS = """
algorithm f(x: inout local real[n], c: size) on grid(r: P/c, k: c):
    allreduce x along r with +
"""
SQUARES = """
algorithm f(x: inout local real[n], c: size) on grid(r: P/c^2, k: c, l: c):
    allreduce x along r with +
    broadcast x along k from 0
"""
SPLIT = """
algorithm f(a: inout local real[n]) on grid(r: P):
    where 2 divides P
    split r by 2 as g:
        allreduce a with +
"""
PLAIN = """
algorithm f(x: inout local real[n]) on grid(r: P):
    allreduce x along r with +
"""
THIRDS = """
algorithm f(x: inout local real[n], c: size) on grid(r: P/c/3, k: c, l: 3):
    allreduce x along r with +
"""
ROUNDED = """
algorithm f(x: inout local real[n]) on grid(r: P):
    let h = ceil(n/P)
    local a: real[h] = 0
    shift a along r by 1
"""
ROWS = """
algorithm f(x: inout local real[n]) on grid(r: P):
    local a: real[n/P, n] = 0
    local b: real[n] = 0
    shift a along r by 1
"""


@pytest.mark.parametrize(
    ("text", "points"),
    some(
        [
            (ROUNDED, [{"P": p, "n": n} for p in (1, 2, 3, 5) for n in (1, 4, 6)]),
            (THIRDS, [{"P": 3 * c * p, "c": c, "n": 2} for c in (1, 2) for p in (1, 2, 3, 4)]),
            (ROWS, [{"P": p, "n": p * k} for p in (1, 2, 3, 5, 6) for k in (1, 2)]),
            (HALVES, [{"P": 2 * p} for p in (1, 2, 3, 4, 5, 8)]),
            (PARTS, [{"P": c * p, "c": c, "n": 3} for c in (1, 2, 3) for p in (1, 2, 3, 5, 7, 8)]),
            (SQUARES, [{"P": c * c * p, "c": c, "n": 2} for c in (1, 2) for p in (1, 2, 3, 5)]),
            (SPLIT, [{"P": 2 * p, "n": 3} for p in (1, 2, 3, 4, 5, 7, 8)]),
            (PLAIN, [{"P": p, "n": 2} for p in (1, 2, 3, 4, 5, 7, 8, 9, 13)]),
        ]
    ),
)
def test_runs_are_between_the_bounds(text: str, points: list[dict[str, int]]) -> None:
    assert assert_between(text, points) == (len(points), 0)


@pytest.mark.parametrize(
    ("text", "flops"),
    [
        (HALVES, "ceil(log2(P)) - 1"),
        (PARTS, "n*ceil(log2(max(1, P/c)))"),
        (THIRDS, "n*ceil(log2(max(1, 1/3*P/c)))"),
        (SPLIT, "n*ceil(log2(P)) - n"),
        (PLAIN, "n*ceil(log2(P))"),
    ],
)
def test_steps_of_an_allreduce_are_counted(text: str, flops: str) -> None:
    """2^k <= p < 2^(k + 1): k additions of each element, and one more unless p is 2^k."""
    costs = costs_of(text)
    assert costs["flops"].exact
    assert costs.text(costs["flops"].upper) == flops


@pytest.mark.parametrize(
    ("text", "assumed", "refused"),
    [
        (HALVES, "2 divides P", {"P": 1}),
        (HALVES, "2 divides P", {"P": 7}),
        (PARTS, "c divides P", {"P": 2, "c": 4, "n": 1}),
        (SQUARES, "c^2 divides P", {"P": 6, "c": 2, "n": 1}),
        (ROWS, "P divides n", {"P": 2, "n": 5}),
    ],
)
def test_the_division_is_assumed(text: str, assumed: str, refused: dict[str, int]) -> None:
    report = al.loads(text)["f"].cost()
    assert report.needed == (assumed,)
    with pytest.raises(ArchlineError, match="AL507"):
        report["flops"].at(refused)


def test_growth_of_a_part_of_the_processors() -> None:
    growths = {name: al.loads(PARTS)["f"].cost()[name].growth for name in ("flops", "work", "memory")}
    assert growths["flops"] == growths["work"] == "Theta(n*log2(P/c))"
    assert al.loads(PLAIN)["f"].cost()["memory"].growth == "Theta(n)"
    # n is P at least, and n^2/P is n at least.
    assert al.loads(ROWS)["f"].cost()["memory"].growth == "Theta(n^2/P)"
