"""Recursions that move indices about: against points counted one by one, executions, and recurrences by hand."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import archline as al
from archline.algebra.evaluate.exact import evaluate
from archline.analysis.analyse import derive
from archline.analysis.cost import Costs
from archline.claims.decide import decide_claims
from effort import drawn
from stdlib_cases import load

SLOPES = st.integers(-1, 1)


@cache
def trapezoid() -> Costs:
    return derive(*load("stencil.trapezoid::trapezoid"))


@pytest.fixture(autouse=True, scope="module")
def _derived_first() -> None:
    """Deriving changes Python's recursion limit, which hypothesis does not like during a test."""
    trapezoid()


def work_of(t0: int, t1: int, x0: int, dx0: int, x1: int, dx1: int) -> int:
    """The work of a call, its own 1 included, as docs/reference/cost-rules.md counts the program's lines."""
    pending, total = [(t0, t1, x0, dx0, x1, dx1)], 0
    while pending:
        t0, t1, x0, dx0, x1, dx1 = pending.pop()
        dt = t1 - t0
        if dt == 1:
            # The call, the first test; an iteration, two additions and two multiplications a point.
            total += 2 + 5 * (x1 - x0)
            continue
        # The call and both tests.
        total += 3
        if 2 * (x1 - x0) + (dx1 - dx0) * dt >= 4 * dt:
            xm = (2 * (x0 + x1) + (2 + dx0 + dx1) * dt) // 4
            pending += [(t0, t1, x0, dx0, xm, -1), (t0, t1, xm, -1, x1, dx1)]
        else:
            s = dt // 2
            pending += [(t0, t0 + s, x0, dx0, x1, dx1), (t0 + s, t1, x0 + dx0 * s, dx0, x1 + dx1 * s, dx1)]
    return total


@st.composite
def trapezoids(draw: st.DrawFn, high: int, wide: int) -> dict[str, int]:
    t0, x0 = draw(st.integers(-5, 5)), draw(st.integers(-5, 5))
    dt, dx0, dx1 = draw(st.integers(1, high)), draw(SLOPES), draw(SLOPES)
    x1 = x0 + draw(st.integers(max(0, (dx0 - dx1) * dt), wide + 2 * dt))
    return {"t0": t0, "t1": t0 + dt, "x0": x0, "dx0": dx0, "x1": x1, "dx1": dx1}


@settings(deadline=None, max_examples=drawn(200))
@given(at=trapezoids(40, 60))
def test_a_trapezoid_has_four_flops_a_point(at: dict[str, int]) -> None:
    rows = [at["x1"] - at["x0"] + (at["dx1"] - at["dx0"]) * t for t in range(at["t1"] - at["t0"])]
    assert min(rows) >= 0
    flops = trapezoid()["flops"]
    assert flops.exact
    assert evaluate(flops.lower, {"n": 1, **at}) == 4 * sum(rows)


@settings(deadline=None, max_examples=drawn(200))
@given(at=trapezoids(60, 200))
def test_the_work_of_a_trapezoid_is_within_its_bounds(at: dict[str, int]) -> None:
    work = work_of(**at)
    for metric in ("work", "span"):
        cost = trapezoid()[metric]
        assert evaluate(cost.lower, {"n": 1, **at}) <= work <= evaluate(cost.upper, {"n": 1, **at})


@settings(deadline=None, max_examples=drawn(25))
@given(at=trapezoids(9, 20))
def test_trapezoids_that_run(at: dict[str, int]) -> None:
    # Every point and its neighbours are in the array.
    shift = 1 - min(at["x0"], at["x0"] + at["dx0"] * (at["t1"] - at["t0"]))
    at = at | {"x0": at["x0"] + shift, "x1": at["x1"] + shift}
    width = max(at["x1"], at["x1"] + at["dx1"] * (at["t1"] - at["t0"])) + 1
    counts = al.load("stencil.trapezoid")["trapezoid"].run(u=np.zeros((2, width)), compiled=False, **at).counts
    assert counts.flops == evaluate(trapezoid()["flops"].lower, {"n": width, **at})
    assert counts.work == counts.span == work_of(**at)


def test_crossed_sides_are_refused() -> None:
    with pytest.raises(al.ArchlineError) as caught:
        al.load("stencil.trapezoid")["trapezoid"].run(
            u=np.zeros((2, 9)), t0=0, t1=3, x0=2, dx0=1, x1=6, dx1=-1, compiled=False
        )
    assert "x1 - x0 + (dx1 - dx0)*(t1 - t0) >= 0" in str(caught.value)


def test_heat_is_decided() -> None:
    module, algorithm = load("stencil.trapezoid::heat_1d")
    costs = derive(module, algorithm)
    # That on io is decided with the bounds on io, in test_recursion_by_indices_io.
    verdicts = [each for each in decide_claims(module, algorithm, costs) if each.ensures.metric != "io"]
    assert [each.outcome for each in verdicts] == ["holds"] * 3
    for n, steps in ((3, 1), (3, 50), (500, 1), (37, 41), (200, 64)):
        work = 1 + work_of(0, steps, 1, 0, n - 1, 0)
        assert evaluate(costs["work"].lower, {"n": n, "steps": steps}) <= work
        assert work <= evaluate(costs["work"].upper, {"n": n, "steps": steps})
