"""io of recursion by indices: which part of arrays calls reach, and growth, against Frigo and Strumpen (ICS 2005)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import archline as al
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.polynomial import Poly
from archline.analysis.cost import FEW_LINES
from archline.cli.main import main
from archline.language.loader import load_text
from effort import drawn
from io_points import io_of
from io_programs import RANGE
from stdlib_cases import load

SLOPES = st.integers(-1, 1)


@cache
def reached(target: str) -> Mapping[str, Sequence[tuple[Poly, Poly]]]:
    """By array, the first and the last entry in each dimension that a call reaches."""
    known = io_of(*load(target)).reached
    assert known is not None
    (region,) = known()
    return dict(region.parts)


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
    first = min(x0 + dx0 * t for t in range(dt)) - 1
    last = max(x1 + dx1 * t for t in range(dt))
    found = reached("stencil.trapezoid::trapezoid")["u"]
    assert [(evaluate(low, at), evaluate(high, at)) for low, high in found] == [(0, 1), (first, last)]


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
    at = {"n": 10**6, "lo": 0, "hi": 10**6, "L": 8, "Z": 10**7}
    assert 17 <= io_of(module, module.algorithms["go"]).interval_at(at).upper <= 20


def test_a_long_rod_is_bounded_without_following_all_calls() -> None:
    """2*10^9 points: a trapezoid that fits is charged its lines at once, and four times the words halve them twice."""
    ends = io_of(*load("stencil.trapezoid::heat_1d")).interval_at
    for words in (2**12, 2**14):
        io = ends({"n": 10**6, "steps": 2_000, "L": 8, "Z": words}).upper
        assert 2 * 10**9 / (8 * words) < io < 32 * 2 * 10**9 / (8 * words)


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


def heat(*growths: str) -> str:
    return HEAT.format("\n".join(f"    ensures io is O({each}) when Z >= L^2" for each in growths))


def outcomes(text: str) -> list[str]:
    return [verdict.outcome for verdict in al.loads(text)["main"].cost().ensures]


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


def test_the_report_tells_what_is_reached_and_what_pays(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cost", "stencil.trapezoid::heat_1d", "--explain", "--metric", "io"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "a call of `trapezoid` accesses at most u[0..2, " in told
    assert f"where Z >= {FEW_LINES}*L: its io <= " in told
