"""What pays for the io of recursion by indices, against evaluation, runs and Frigo and Strumpen (ICS 2005)."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import archline as al
from archline.algebra.evaluate.exact import evaluate
from archline.analysis.analyse import derive
from archline.analysis.cache.analyse import io_cost
from archline.analysis.cache.recursive.evaluate import Recursions
from archline.analysis.cache.recursive.potential import Charges
from archline.analysis.cache.summaries.reach import reach_of
from archline.analysis.cost import FEW_LINES, Cost
from archline.claims.decide import decide
from archline.cli.main import main
from archline.language import syntax as s
from archline.language.loader import load_text
from archline.language.model import Module
from effort import drawn
from io_programs import RANGE
from stdlib_cases import load

SLOPES = st.integers(-1, 1)
RANGES = f"""{RANGE}
algorithm main(x: real[n], s: inout real[1], m: size):
    where 2*m < n
    ensures io is O(n/L + 1) when Z >= L^2
    ensures io is O(m/L + 1) when Z >= L^2
    ensures io is O(m/(L*Z) + 1) when Z >= L^2
    go(x, s, m, 2*m)
"""
HEAT = """use stencil.trapezoid

algorithm main(u: inout real[2, n], steps: size):
    where n >= 3
{}
    trapezoid(u, 0, steps, 1, 0, n - 1, 0)
"""


def charges(module: Module, algorithm: s.Algorithm) -> Charges:
    recursions = Recursions(module, algorithm)
    recursions.solve()
    body = recursions.solved(algorithm).body
    reach = reach_of(body)
    assert reach is not None
    return Charges(reach)


@cache
def trapezoid() -> Charges:
    return charges(*load("stencil.trapezoid::trapezoid"))


@cache
def recursions() -> Recursions:
    return Recursions(*load("stencil.trapezoid::trapezoid"))


def heat(*growths: str) -> str:
    return HEAT.format("\n".join(f"    ensures io is O({each}) when Z >= L^2" for each in growths))


def outcomes(text: str) -> list[str]:
    return [verdict.outcome for verdict in al.loads(text)["main"].cost().ensures]


@st.composite
def trapezoids(draw: st.DrawFn, high: int, wide: int) -> dict[str, int]:
    t0, x0 = draw(st.integers(-5, 5)), draw(st.integers(-5, 5))
    dt, dx0, dx1 = draw(st.integers(1, high)), draw(SLOPES), draw(SLOPES)
    x1 = x0 + draw(st.integers(0, wide)) + max(0, (dx0 - dx1) * dt)
    return {"t0": t0, "t1": t0 + dt, "x0": x0, "dx0": dx0, "x1": x1, "dx1": dx1}


@settings(deadline=None, max_examples=drawn(60))
@given(at=trapezoids(50, 50), machine=st.sampled_from([(64, 1), (200, 2), (1024, 16), (4096, 8)]))
def test_a_trapezoid_pays_by_its_points_its_height_and_its_width(at: dict[str, int], machine: tuple[int, int]) -> None:
    """Twice its points over Z*L, height and width over L, and 1: the theorem's nt/(ZL) and what starts it."""
    words, line = machine
    height, width = at["t1"] - at["t0"], at["x1"] - at["x0"]
    # As areas: the sum of the widths of all steps is less by (dx1 - dx0)*height/2.
    points = width * height + (at["dx1"] - at["dx0"]) * height**2 / 2
    found = [float(evaluate(form, {**at, "Z": words, "L": line})) for form in trapezoid().paid.forms]
    wanted = [2 * points / (words * line), height / line, width / line, 1]
    assert sorted(found) == pytest.approx(sorted(wanted))


@settings(deadline=None, max_examples=drawn(60))
@given(
    at=trapezoids(120, 200),
    line=st.sampled_from([1, 2, 8]),
    lines=st.integers(FEW_LINES, 4 * FEW_LINES),
    more=st.integers(0, 7),
)
def test_what_pays_is_no_less_than_io_at_sizes(at: dict[str, int], line: int, lines: int, more: int) -> None:
    point = {"n": 10_000, **at, "Z": lines * line + more % line, "L": line, "P": 1, "K": 1}
    assert recursions().at(point) <= evaluate(trapezoid().paid.most, point)


def test_heat_grows_as_is_known() -> None:
    claims = {
        "n*steps/(L*Z) + n/L + 1": "holds",
        "n*steps/(L*sqrt(Z)) + n/L + 1": "holds",
        # A line is fetched where n/L is less than one, and both rows where there are few steps.
        "n*steps/(L*Z) + n/L": "fails",
        "n*steps/(L*Z) + 1": "fails",
        "n*steps/(L*Z^2) + n/L + 1": "unknown",
        "steps/L + n/L + 1": "unknown",
    }
    assert dict(zip(claims, outcomes(heat(*claims)), strict=True)) == claims


def test_halves_of_a_range_are_read_once() -> None:
    assert outcomes(RANGES.format("lo, m", "m, hi")) == ["holds", "holds", "fails"]


def test_sizes_that_may_be_negative_have_no_growth() -> None:
    text = heat("n*steps/(L*Z) + n/L + 1").replace("steps: size", "steps: size, x: index")
    text = text.replace("1, 0, n - 1", "x, 0, n - 1").replace("n >= 3", "n >= 3, x >= 1, n > x + 1")
    assert outcomes(text) == ["unknown"]


def test_the_library_claims_it() -> None:
    verdicts = al.load("stencil.trapezoid")["heat_1d"].cost().ensures
    assert [each.outcome for each in verdicts if each.ensures.metric == "io"] == ["holds"]


def test_growth_is_decided_where_work_is_unknown() -> None:
    """In caches of few lines io is compared with what it is at most in any cache, here 4*n*steps accesses."""
    module = load_text(heat("n*steps/(L*Z) + n/L + 1"))
    algorithm = module.algorithms["main"]
    costs, unknown = derive(module, algorithm), Cost("work", "unknown", None, None, "not looked for")
    metrics = {**costs.metrics, "work": unknown, "io": io_cost(module, algorithm)}
    (verdict,) = decide(module, algorithm, replace(costs, metrics=metrics))
    assert verdict.outcome == "holds"
    metrics["io"] = replace(metrics["io"], lower=None, upper=None)
    (verdict,) = decide(module, algorithm, replace(costs, metrics=metrics))
    assert verdict.outcome == "unknown"


def test_the_report_tells_what_is_reached_and_what_pays(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cost", "stencil.trapezoid::heat_1d", "--explain", "--metric", "io"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "a call of `trapezoid` accesses u[0..2, " in told
    assert f"where Z >= {FEW_LINES}*L: its io <= " in told
