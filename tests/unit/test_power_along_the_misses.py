"""Power and other quotients lie between their values along the same misses, not between quotients of ends."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import archline as al
from archline.energy.estimates import Estimate, ModelOnMachine
from archline.energy.formulas import bound_value, parse_formula
from archline.energy.machine_files import machine
from archline.energy.models import find_model
from archline.expr.intervals import Interval
from cli_support import cli

Box = Mapping[str, tuple[int, int]]
MODELS = {
    "roofline": ("flops", "bytes"),
    "roofline+levels": ("flops", "accesses", "L1_bytes", "bytes"),
    "roofline+cap": ("flops", "bytes"),
    "ice": ("flops", "work", "span", "io"),
    "linear": ("flops", "words", "messages", "memory"),
    "linear+overlap": ("flops", "words", "messages", "memory"),
}
MACHINES = {"roofline+cap": ("gtx-580",), "linear": ("jaketown",), "linear+overlap": ("jaketown",)}
KNOWN = {"linear": {"P": 16}, "linear+overlap": {"P": 16}}


@lru_cache
def applied(name: str, on: str) -> ModelOnMachine:
    known = machine(on)
    return ModelOnMachine(
        find_model(name).with_machine_formulas(known), known, frozenset({*MODELS[name], *KNOWN.get(name, {})})
    )


def at(name: str, on: str, amounts: Mapping[str, int | Fraction | tuple[int, int]]) -> Estimate:
    given = {**amounts, **KNOWN.get(name, {})}
    return applied(name, on).estimate({each: Interval.of(value) for each, value in given.items()})


def middle(box: Box, shares: Mapping[str, float]) -> dict[str, int]:
    return {name: low + int((high - low) * shares[name]) for name, (low, high) in box.items()}


@st.composite
def boxes(draw: st.DrawFn, names: tuple[str, ...]) -> Box:
    found: dict[str, tuple[int, int]] = {}
    for name in names:
        low = draw(st.integers(1, 10**7))
        found[name] = low, draw(st.one_of(st.just(low), st.integers(low, 100 * low)))
    if "span" in found:
        found["span"] = 1, draw(st.integers(1, found["work"][0]))
    return found


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_power_is_of_points_of_the_box(name: str, data: st.DataObject) -> None:
    """Quotients hold every point of the box, and are not wider than those of ends."""
    on = data.draw(st.sampled_from(MACHINES.get(name, ("a100-sxm4-40gb",))))
    box = data.draw(boxes(MODELS[name]))
    found = at(name, on, box)
    assert found.power is not None
    assert found.energy is not None
    assert found.time is not None
    assert found.energy.lower / found.time.upper <= found.power.lower
    assert found.power.upper <= found.energy.upper / found.time.lower
    corners = [dict(zip(box, ends, strict=True)) for ends in product(*box.values())]
    shares = st.fixed_dictionaries({each: st.floats(0, 1) for each in box})
    for point in [*corners, *(middle(box, data.draw(shares)) for _ in range(3))]:
        one = at(name, on, point)
        for inner, outer in ((one.power, found.power), (one.flops_per_joule, found.flops_per_joule)):
            assert inner is not None
            assert outer is not None
            assert outer.lower <= inner.lower <= inner.upper <= outer.upper
        for figure, value in one.figures.items():
            assert found.figures[figure].lower <= value.lower <= value.upper <= found.figures[figure].upper


@pytest.mark.parametrize(
    ("name", "on"),
    [(n, m) for n in ("roofline", "roofline+levels") for m in ("a100-sxm4-40gb",)] + [("roofline", "i7-950")],
)
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_power_is_taken(name: str, on: str, data: st.DataObject) -> None:
    """Where the time is the largest of times of one amount each, both ends of the power are those of points.

    The least is at a corner, as E/max(t) is the least of E/t. What is below the least time T may rise up to it without
    any cost in time, and beyond that E/T falls: the most is where each time is the smaller of its most and T.
    """
    box = data.draw(boxes(MODELS[name]))
    found = at(name, on, box)
    corners = [at(name, on, dict(zip(box, ends, strict=True))) for ends in product(*box.values())]
    assert found.power is not None
    assert found.time is not None
    assert found.power.lower == min(each.power.lower for each in corners if each.power)
    sides = {"flops": "computation", "L1_bytes": "L2", "bytes": "memory"}
    highest: dict[str, int | Fraction] = {each: high for each, (_, high) in box.items()}
    for amount, side in sides.items():
        time = found.sides.get(side)
        if amount in box and time is not None:
            highest[amount] = min(Fraction(box[amount][1]), found.time.lower / time.upper * box[amount][1])
    most = at(name, on, highest).power
    assert most is not None
    assert found.power.upper == most.upper


def test_memory_alone_has_one_power() -> None:
    """Without flops the energy and the time are multiples of the misses."""
    found = at("roofline", "a100-sxm4-40gb", {"flops": 0, "bytes": (10**3, 10**8)})
    assert found.power is not None
    assert found.power.exact
    assert found.power == at("roofline", "a100-sxm4-40gb", {"flops": 0, "bytes": 10**5}).power


def test_power_has_its_most_where_the_sides_meet() -> None:
    """By hand: T = max(2, q), E = 3 + q + T for q in 1..4: 3 at q = 1, 7/2 at q = 2, 11/4 at q = 4."""
    ends = {"q": Interval.of((1, 4))}
    assert bound_value(parse_formula("(3 + q + max(2, q))/max(2, q)"), ends) == Interval.of(
        (Fraction(11, 4), Fraction(7, 2))
    )


CHOSEN = """
algorithm chosen(x: real[n], idx: index[n] below n, y: inout real[1]):
    for i in 0..n:
        y[0] += x[idx[i]]

claim power(chosen) <= 225 on "a100-sxm4-40gb" with roofline at n = 4096, Z = 256, L = 16
claim power(chosen) >= 217 on "a100-sxm4-40gb" with roofline at n = 4096, Z = 256, L = 16
"""


def test_pages_comparisons_and_claims_have_the_power_of_the_same_misses(tmp_path: Path) -> None:
    """The misses are known within a factor of 9, and so are energy and time; the power within 3 %."""
    file = tmp_path / "chosen.algo"
    file.write_text(CHOSEN)
    sizes: dict[str, Any] = {"machine": "a100-sxm4-40gb", "model": "roofline", "at": {"n": 4096, "Z": 256, "L": 16}}
    result = al.energy(str(file), **sizes)
    estimate = result.result.estimate
    assert estimate is not None
    assert estimate.power is not None
    assert estimate.energy is not None
    assert estimate.energy.upper > 5 * estimate.energy.lower
    assert result.power == (estimate.power.lower, estimate.power.upper)
    assert estimate.power.upper < Fraction("1.03") * estimate.power.lower
    assert "2 claims hold" in cli("check", str(file)).out
