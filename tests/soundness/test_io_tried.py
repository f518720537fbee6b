"""What recursions by indices touch for certain: the lines that one counts by hand, and never more than a run does."""

from __future__ import annotations

import numpy as np
import pytest

from archline.analysis.cache.lower.recursive_segments import Below
from archline.analysis.cache.summaries.must_access import filled
from archline.execution.cache import compact, optimal
from archline.execution.run import execute
from stdlib_cases import load


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
