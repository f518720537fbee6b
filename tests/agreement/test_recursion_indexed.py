"""Recursions that move indices about: against points counted one by one, executions, and recurrences by hand."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import archline as al
from archline.algebra import atoms as a
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.polynomial import Poly
from archline.algebra.prove.farkas import Situation
from archline.analysis.analyse import derive
from archline.analysis.cost import Costs
from archline.claims.decide import decide
from archline.language.loader import load_text
from effort import drawn
from stdlib_cases import load

SLOPES = st.integers(-1, 1)
X, Y = Poly.symbol("x"), Poly.symbol("y")


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
    # That on io is decided with the bounds on io, in test_charges.
    verdicts = [each for each in decide(module, algorithm, costs) if each.ensures.metric != "io"]
    assert [each.outcome for each in verdicts] == ["holds"] * 3
    for n, steps in ((3, 1), (3, 50), (500, 1), (37, 41), (200, 64)):
        work = 1 + work_of(0, steps, 1, 0, n - 1, 0)
        assert evaluate(costs["work"].lower, {"n": n, "steps": steps}) <= work
        assert work <= evaluate(costs["work"].upper, {"n": n, "steps": steps})


# Other recursions by indices
RANGE = """
algorithm f(x: inout real[n], lo: index, hi: index):
    where hi > lo
    if hi - lo == 1:
        x[lo] += 1.0
    else:
        let mid = (lo + hi)//2
        f(x, lo, mid)
        f(x, mid, hi)
"""
RECTANGLE = """
algorithm f(x: inout real[n, n], lo: index, hi: index, left: index, right: index):
    where hi > lo, right > left
    if hi - lo == 1 and right - left == 1:
        x[lo, left] += 1.0
    elif hi - lo >= right - left:
        f(x, lo, (lo + hi)//2, left, right)
        f(x, (lo + hi)//2, hi, left, right)
    else:
        f(x, lo, hi, left, (left + right)//2)
        f(x, lo, hi, (left + right)//2, right)
"""
STAIRS = """
algorithm f(x: inout real[n], lo: index, hi: index):
    where hi >= lo
    if hi > lo:
        for i in lo..hi:
            x[i] += 1.0
        f(x, lo + 1, hi)
"""


def costs_of(text: str) -> Costs:
    module = load_text(text)
    return derive(module, module.algorithms["f"])


def places() -> Iterator[dict[str, int]]:
    for lo in (-3, 0, 4):
        for more in (1, 2, 3, 7, 20):
            yield {"lo": lo, "hi": lo + more, "left": 2, "right": 2 + more // 2 + 1, "n": 1}


@pytest.mark.parametrize(
    ("text", "flops", "work"),
    [
        # A binary tree with m leaves has m - 1 inner nodes: the call and a test, and an iteration's addition.
        (RANGE, lambda p: p["hi"] - p["lo"], lambda p: 5 * (p["hi"] - p["lo"]) - 2),
        # Two tests at an inner node.
        (
            RECTANGLE,
            lambda p: (p["hi"] - p["lo"]) * (p["right"] - p["left"]),
            lambda p: 6 * (p["hi"] - p["lo"]) * (p["right"] - p["left"]) - 3,
        ),
        (
            STAIRS,
            lambda p: sum(range(p["hi"] - p["lo"] + 1)),
            lambda p: 2 + sum(2 + 2 * k for k in range(1, p["hi"] - p["lo"] + 1)),
        ),
    ],
)
def test_exact_forms(text: str, flops: object, work: object) -> None:
    costs = costs_of(text)
    for place in places():
        assert costs["flops"].exact
        assert costs["work"].exact
        assert evaluate(costs["flops"].lower, place) == flops(place)  # type: ignore[operator]
        assert evaluate(costs["work"].lower, place) == work(place)  # type: ignore[operator]


@pytest.mark.parametrize("text", [RANGE, RECTANGLE, STAIRS])
def test_they_run_without_a_measure(text: str) -> None:
    """An index that changes may decrease by a measure that no header declares: here the distance of two."""
    costs, program = costs_of(text), al.loads(text)["f"]
    names = {"lo", "hi", *(("left", "right") if "left" in text else ())}
    for place in places():
        if place["lo"] >= 0:
            sizes = {"n": place["hi"] + 3, **{name: place[name] for name in names}}
            counts = program.run(**sizes).counts
            assert counts.flops == evaluate(costs["flops"].lower, sizes)
            assert counts.work == evaluate(costs["work"].lower, sizes)


@pytest.mark.parametrize(
    "body",
    [
        # hi - lo halves that are all walked through: n*log2(n).
        "for i in lo..hi:\n            x[i] += 1.0\n        f(x, lo, (lo + hi)//2, k + 1)\n        f(x, (lo + hi)//2, hi, k)",
        # 2^(hi - lo) calls.
        "x[lo] += 1.0\n        f(x, lo, hi - 1, k + 1)\n        f(x, lo, hi - 1, k)",
    ],
)
def test_what_is_no_polynomial_of_three_indices_stays_unknown(body: str) -> None:
    header = "algorithm f(x: inout real[n], lo: index, hi: index, k: index)"
    costs = costs_of(f"{header}:\n    where hi > lo\n    if hi - lo >= 2:\n        {body}\n")
    for metric in ("flops", "work", "span"):
        assert costs[metric].status == "unknown"
        assert "no closed form or bound" in (costs[metric].reason or "")


# Proofs by adding up
COEFFICIENTS = st.integers(-3, 3)


@st.composite
def lines(draw: st.DrawFn) -> Poly:
    first, second, third, divisor = (draw(COEFFICIENTS) for _ in range(4))
    floor = a.floor_div(X + Y, Poly.constant(abs(divisor) + 1)) if divisor else X
    return X.scaled(first) + Y.scaled(second) + floor.scaled(draw(COEFFICIENTS)) + third


@settings(deadline=None, max_examples=drawn(300))
@given(value=lines(), facts=st.lists(lines(), max_size=3), slopes=st.booleans())
def test_what_is_proved_holds(value: Poly, facts: list[Poly], slopes: bool) -> None:
    ranges = {"y": range(-1, 2)} if slopes else {}
    situation = Situation(tuple(facts), ranges, {})
    proved = next((value + more for more in (-4, -1, 0, 1, 2, 5, 20) if situation.proves(value + more)), None)
    if proved is None:
        return
    for x in range(-8, 9):
        for y in ranges.get("y", range(-8, 9)):
            point = {"x": x, "y": y}
            if all(evaluate(fact, point) >= 0 for fact in facts):
                assert evaluate(proved, point) >= 0
