"""Which part of an array a recursion by indices reaches, against runs and against what is known."""

from __future__ import annotations

import random
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archline.algebra.evaluate.exact import evaluate
from archline.analysis.cache.recursive.evaluate import Recursions
from archline.analysis.cache.summaries.reach import Box, reach_of
from archline.ir.recursive import Body
from archline.ir.tree import Array
from archline.language.loader import load_text
from effort import drawn
from io_points import indices
from stdlib_cases import load

SLOPES = st.integers(-1, 1)


def body_of(text: str) -> Body:
    module = load_text(text)
    recursions = Recursions(module, module.algorithms["go"])
    recursions.solve()
    return recursions.solved(module.algorithms["go"]).body


def boxes(body: Body) -> dict[Array, Box]:
    reach = reach_of(body)
    return {} if reach is None else reach.boxes


def ends(body: Body, array: str, **at: int) -> list[tuple[int, int]] | None:
    known = {each.name: box for each, box in boxes(body).items()}
    box = known.get(array)
    return None if box is None else [(int(evaluate(low, at)), int(evaluate(high, at))) for low, high in box]


@settings(deadline=None, max_examples=drawn(100))
@given(
    t0=st.integers(-4, 4), dt=st.integers(1, 30), x0=st.integers(-9, 9), dx0=SLOPES, dx1=SLOPES, wide=st.integers(0, 40)
)
def test_a_trapezoid_reaches_one_point_beyond_its_sides(
    t0: int, dt: int, x0: int, dx0: int, dx1: int, wide: int
) -> None:
    """Both rows, and in them the least and the greatest x of all steps and a neighbour (Frigo, Strumpen, figure 2)."""
    x1 = x0 + wide + max(0, (dx0 - dx1) * dt)
    at = {"n": 1000, "t0": t0, "t1": t0 + dt, "x0": x0, "dx0": dx0, "x1": x1, "dx1": dx1}
    steps = range(dt)
    first = min(x0 + dx0 * t for t in steps) - 1
    last = max(x1 + dx1 * t for t in steps)
    assert [(evaluate(low, at), evaluate(high, at)) for low, high in _trapezoid()] == [(0, 1), (first, last)]


@cache
def _trapezoid() -> Box:
    module, algorithm = load("stencil.trapezoid::trapezoid")
    (box,) = boxes(Recursions(module, algorithm).solved(algorithm).body).values()
    return box


@pytest.mark.parametrize("seed", range(30))
def test_no_access_is_beyond_what_is_reached(seed: int) -> None:
    """The lines of a run of the outermost call are no more than those of the boxes."""
    subject, source = indices(seed), random.Random(seed)
    for _ in range(3):
        arguments = subject.draw(source)
        line = source.choice((1, 2, 4, 8))
        sizes, trace = subject.trace(arguments, line)
        recursions = Recursions(subject.module, subject.algorithm)
        recursions.solve()
        assert trace.distinct <= recursions.at({**sizes, "Z": 10**6 * line, "L": line})


@pytest.mark.parametrize("seed", range(40))
def test_bounds_of_recursion_by_indices_hold(seed: int) -> None:
    subject, source = indices(seed), random.Random(seed)
    points = [point for _ in range(2) for point in subject.points(subject.draw(source), source, 8)]
    assert points
    assert not [f"{point}\n{subject.text}" for point in points if not point.holds]


WALK = """
algorithm go(x: inout real[n], lo: index, hi: index):
    where hi > lo
    decreases hi - lo
    let m = (lo + hi)//2
    x[m] += 1
    if hi - lo > 1:
        go(x, lo, m)
"""


def test_what_is_seldom_accessed_is_counted_by_accesses() -> None:
    """A search looks at 20 of 10^6 entries: neither their lines nor what lies between its ends counts."""
    module = load_text(WALK)
    recursions = Recursions(module, module.algorithms["go"])
    at = {"n": 10**6, "lo": 0, "hi": 10**6, "P": 1, "K": 1, "L": 8, "Z": 10**7}
    assert 17 <= recursions.at(at) <= 20
    assert ends(body_of(WALK), "x", lo=5, hi=50, n=100) == [(5, 27)]


def test_a_long_rod_is_bounded_without_following_all_calls() -> None:
    """2*10^9 points: a trapezoid that fits is charged its lines at once, and four times the words halve them twice."""
    module, algorithm = load("stencil.trapezoid::heat_1d")
    recursions = Recursions(module, algorithm)
    sizes = {"n": 10**6, "steps": 2_000, "P": 1, "K": 1, "L": 8}
    small, large = (recursions.at({**sizes, "Z": words}) for words in (2**12, 2**14))
    points = sizes["n"] * sizes["steps"]
    for words, io in ((2**12, small), (2**14, large)):
        assert points / (8 * words) < io < 32 * points / (8 * words)
