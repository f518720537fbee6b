"""What recursions by indices touch for certain: the lines that one counts by hand, and never more than a run does."""

from __future__ import annotations

import random

import numpy as np
import pytest

from archline.algebra.evaluate.exact import evaluate
from archline.analysis.cache.analyse import io_cost
from archline.analysis.cache.lower.recursive_segments import Below
from archline.analysis.cache.summaries.must_access import filled
from archline.execution.cache import compact, optimal
from archline.execution.run import execute
from archline.language.loader import load_text
from io_points import LINES, indices
from stdlib_cases import load

HALVES = """
algorithm go(x: real[n], y: inout real[n], lo: index, hi: index):
    where hi >= lo
    decreases hi - lo
    if hi - lo <= 3:
        {leaf}
    else:
        let m = (lo + hi)//2
        go(x, y, {left})
        go(x, y, {right})
algorithm main(x: real[n], y: inout real[n]):
    where n >= 4
    {call}
"""
PARTS = {"left": "lo, m", "right": "m, hi", "call": "go(x, y, 0, n)"}
LEAF = "for i in lo..hi: y[i] += x[i]"
CASES = {
    # Of x and y, the words in a row that are touched, from which one on.
    "halves": ({"leaf": LEAF}, 0, 0),
    "one beside": ({"leaf": "for i in lo..hi: y[i] += x[i + 1]", "call": "go(x, y, 0, n - 1)"}, 1, 1),
    "a part of the arrays": ({"leaf": LEAF, "call": "go(x[1..n], y[1..n], 0, n - 1)"}, 1, 1),
    "a part of the range": ({"leaf": LEAF, "call": "go(x, y, 2, n - 1)"}, 3, 3),
    "the end is left out by each leaf": ({"leaf": "for i in lo..hi - 1: y[i] += x[i]"}, None, None),
    "the middle is left out": ({"leaf": LEAF, "right": "m + 1, hi"}, None, None),
    "halves that overlap": ({"leaf": LEAF, "left": "lo, m + 1"}, 0, 0),
    "one entry": ({"leaf": "for i in lo..hi: y[i] += x[lo]"}, None, 0),
}


@pytest.mark.parametrize("name", sorted(CASES))
def test_what_one_counts(name: str) -> None:
    changed, *missing = CASES[name]
    module = load_text(HALVES.format(**{**PARTS, **changed}).replace(": y[", ":\n            y["))
    algorithm = module.algorithms["main"]
    least = filled(module, algorithm).lines(algorithm)
    for n in (4, 7, 8, 30, 65):
        for line in LINES:
            data = {"x": np.ones(n), "y": np.ones(n)}
            run = execute(module, algorithm, data, line=line, trace=True, races=False, compiled=False)
            wanted = sum(-(-(n - each) // line) for each in missing if each is not None)
            found = evaluate(least, {"n": n, "L": line})
            assert found == wanted <= compact(run.trace.lines).distinct


@pytest.mark.parametrize("steps", [1, 2, 3, 8, 9])
def test_both_rows_of_the_rod_are_touched_in_full(steps: int) -> None:
    module, algorithm = load("stencil.trapezoid::heat_1d")
    least = filled(module, algorithm).lines(algorithm)
    assert io_cost(module, algorithm).lower == least
    for n in (3, 4, 9, 17, 40):
        for line in LINES:
            assert evaluate(least, {"n": n, "steps": steps, "L": line}) == 2 * -(-n // line)


def test_a_trapezoid_touches_two_rows_of_its_base() -> None:
    module, algorithm = load("stencil.trapezoid::trapezoid")
    least = filled(module, algorithm).lines(algorithm)
    for width in (0, 1, 5, 24):
        at = {"n": 40, "t0": 3, "t1": 9, "x0": 7, "x1": 7 + width, "dx0": 0, "dx1": 0, "L": 4}
        assert evaluate(least, at) == 2 * -(-width // 4)


def test_most_rectangles_are_known_in_full() -> None:
    found = 0
    for seed in range(80):
        subject = indices(seed)
        if "i0: index" not in subject.text:
            continue
        least = filled(subject.module, subject.algorithm).lines(subject.algorithm)
        sizes, trace = subject.trace(subject.draw(random.Random(seed)), 1)
        found += evaluate(least, {**sizes, "L": 1}) == trace.distinct
    assert found >= 25


# Calls as windows
def heat(**point: int) -> int:
    module, algorithm = load("stencil.trapezoid::heat_1d")
    return Below(filled(module, algorithm), algorithm).at(point)


def test_twice_the_steps_or_the_points_fetch_twice_as_much() -> None:
    """Points over L*Z: each trapezoid that is twice as wide as the cache fetches as many lines as that has."""
    base = heat(n=16000, steps=4000, Z=512, L=8)
    assert base > 10 * 2 * 16000 // 8
    assert 1.8 < heat(n=16000, steps=8000, Z=512, L=8) / base < 2.2
    assert 1.6 < heat(n=32000, steps=4000, Z=512, L=8) / base < 2.4
    assert 1.8 < base / heat(n=16000, steps=4000, Z=1024, L=8) < 2.2


def test_windows_of_trapezoids_never_fetch_more_than_the_optimum() -> None:
    module, algorithm = load("stencil.trapezoid::heat_1d")
    bound = Below(filled(module, algorithm), algorithm)
    for n, steps, line in ((20, 9, 1), (33, 20, 2), (70, 31, 4)):
        data = {"u": np.random.default_rng(0).uniform(0, 1, (2, n))}
        run = execute(module, algorithm, {**data, "steps": steps}, line=line, trace=True, races=False, compiled=False)
        trace = compact(run.trace.lines)
        for capacity in range(1, trace.distinct + 1):
            found = bound.at({"n": n, "steps": steps, "Z": capacity * line, "L": line})
            assert found <= optimal(trace, capacity).io


def test_many_calls_are_looked_at_as_wholes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are too many, the bound is less, but still one that holds, and no less than what is touched."""
    sizes = {"n": 3000, "steps": 500, "Z": 128, "L": 4}
    all_ = heat(**sizes)
    monkeypatch.setattr("archline.analysis.cache.lower.recursive_segments.MAX_STATES", 40)
    assert 2 * 3000 // 4 <= heat(**sizes) < all_
