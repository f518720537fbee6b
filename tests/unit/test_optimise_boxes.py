"""`archline optimise` beyond what can be evaluated point by point: bounds over boxes, and the search that they allow."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from itertools import product
from math import gcd
from typing import Any

import numpy as np
import pytest

import archline as al
from archline.algebra import atoms as a
from archline.algebra.evaluate.boxes import Boxes
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.polynomial import Poly
from archline.energy.optimise import boxes, lattice
from archline.expr.intervals import EvaluationError
from cli_support import cli
from effort import drawn, long

X, Y = Poly.symbol("x"), Poly.symbol("y")
CANNON = "distributed.matmul::cannon"
MATMUL, NBODY, LU = "distributed.matmul::matmul_25d", "distributed.nbody::nbody_replicated", "distributed.lu::lu_25d"


def integral(*values: Poly) -> bool:
    return all(map(a.is_integral, values))


def drawn_expression(source: random.Random, depth: int) -> Poly:
    if depth == 0:
        return source.choice([X, Y, Poly.constant(source.randint(-5, 9))])
    one, other = (drawn_expression(source, depth - 1) for _ in range(2))
    match source.randrange(9):
        case 0:
            return one + other
        case 1:
            return one * other
        case 2:
            return one - other
        case 3:
            return a.positive_part(one)
        case 4:
            return a.floor_div(one, source.choice([X, Y, X * Y, Poly.constant(source.randint(1, 9))]))
        case 5:
            return a.ceil_log2(one)
        case 6:
            return a.common_divisor(a.positive_part(one), a.positive_part(other)) if integral(one, other) else one
        case 7:
            return one * source.choice([X, Y]) ** -source.randint(1, 2)
        case _:
            return a.floor_sqrt(one)


@pytest.mark.parametrize("ends", [(0, 3), (0, 0), (1, 3), (5, 9)])
def test_common_divisors_where_a_part_may_be_0(ends: tuple[int, int]) -> None:
    value = Poly.constant(3) - a.common_divisor(X, Poly.constant(7))
    low, high = Boxes(*({"x": np.array([float(end)])} for end in ends), ["x"]).bound_formula(
        lambda boxes: boxes.bound_expression(value)
    )
    values = [3 - gcd(x, 7) for x in range(ends[0], ends[1] + 1)]
    assert low[0] <= min(values)
    assert max(values) <= high[0]


def test_no_point_of_a_box_is_outside_its_bounds() -> None:
    source, seen, sharp = random.Random(3), 0, 0
    while seen < drawn(2000, least=80):
        value = drawn_expression(source, source.randint(1, 4))
        if len(value.terms) > 40:
            continue
        lows = [source.choice([1, 2, 5, 30, 1000]) for _ in "xy"]
        highs = [low + source.choice([0, 1, 3, 20]) for low in lows]
        ends = [{name: np.array([float(end)]) for name, end in zip("xy", side, strict=True)} for side in (lows, highs)]
        low, high = Boxes(ends[0], ends[1], ["x", "y"]).bound_formula(
            lambda each, value=value: each.bound_expression(value)
        )
        values = []
        for point in product(*(range(first, last + 1) for first, last in zip(lows, highs, strict=True))):
            try:
                values.append(evaluate(value, dict(zip("xy", point, strict=True))))
            except EvaluationError:
                continue
        if not values:
            continue
        seen += 1
        assert low[0] == -np.inf or Fraction(float(low[0])) <= min(values), (value, lows, highs)
        assert high[0] == np.inf or Fraction(float(high[0])) >= max(values), (value, lows, highs)
        sharp += bool(min(values) - abs(min(values)) / 10**6 <= low[0])
    assert sharp > seen / 3


def test_bounds_over_a_box_are_values_at_its_corners_where_an_expression_rises_and_falls() -> None:
    value = X**2 * Y**-1 + X * 3 - Y
    ends = {"x": np.array([10.0])}, {"x": np.array([20.0])}
    low, _ = Boxes({**ends[0], "y": np.array([2.0])}, {**ends[1], "y": np.array([5.0])}, ["x", "y"]).bound_formula(
        lambda each: each.bound_expression(value)
    )
    assert low[0] == pytest.approx(100 / 5 + 30 - 5, rel=1e-12)


INSTANCES: list[tuple[str, dict[str, Any]]] = [
    (MATMUL, {"over": "n=1..20,g=1..9,c=1..3", "subject": ["flops >= 1000", "memory <= 300"]}),
    (MATMUL, {"over": "n=1..60,g=1..30,c=1..9", "subject": ["flops >= 1000", "memory <= 300"]}),
    (NBODY, {"at": {"f": 20}, "over": "n=50..400,P=1..60,c=1..5", "subject": ["time <= 50 us"]}),
    (NBODY, {"at": {"f": 20}, "over": "n=50..400,P=1..60,c=1..5", "subject": ["power/P >= 160 W"]}),
    (LU, {"over": "n=4..60,g=1..6,c=1..4,b=1..9", "subject": ["flops >= 100", "P >= 4"]}),
]  # fmt: skip


@long
@pytest.mark.parametrize(("target", "asked"), INSTANCES)
def test_boxes_find_what_all_points_do(monkeypatch: pytest.MonkeyPatch, target: str, asked: dict[str, Any]) -> None:
    for by in ("energy", "time", "power", "energy_delay")[: drawn(4, least=1)]:
        every = al.optimise(target, machine="jaketown", minimise=by, **asked).found
        with monkeypatch.context() as patch:
            patch.setattr(lattice, "LIMIT", 30)
            patch.setattr(boxes, "MAX_EVALUATED", 8)
            patch.setattr(boxes, "BATCH", 64)
            found = al.optimise(target, machine="jaketown", minimise=by, **asked).found
        assert (found.status, found.method) == (every.status, "branch and bound" if every.value else found.method)
        if every.value is None:
            continue
        assert every.value * (1 - 1e-12) <= found.value <= every.value * (1 + 1e-6)
        assert every.value * (1 - 1.1e-6) <= found.bound <= every.value * (1 + 1e-12)
        assert found.at.keys() == every.at.keys()
        # What binds does so at all points too; of other optima with the same value other constraints may.
        assert found.at != every.at or set(found.binding) <= set(every.binding)
        assert bool(found.binding) == bool(every.binding)


def test_a_lattice_of_many_raw_points_whose_facts_leave_few_is_enumerated(tmp_path: Any) -> None:
    """10^18 points of P, c and g, of which c*g^2 = P, and that c is a power of 2, leave few."""
    asked: dict[str, Any] = {"machine": "jaketown", "at": {"n": 1000}, "integer": ["P", "c", "g"]}
    target = "linear:F=n^3/P + c,W=n^2/g,S=g + c"
    over, facts = "P=1..10^6,c=1..10^6,g=1..10^6", "P == c*g^2, c is power of 2"
    found = al.optimise(target, over=over, where=facts, minimise="time", **asked).found
    gamma, beta, alpha = (float(al.machine("jaketown").values[name]) for name in ("gamma_t", "beta_t", "alpha_t"))
    times = {
        (c * g * g, c, g): gamma * (10**9 / (c * g * g) + c) + beta * 10**6 / g + alpha * (g + c)
        for c in (2**power for power in range(20)) for g in range(1, 1001) if c * g * g <= 10**6
    }  # fmt: skip
    assert (found.status, found.method, found.points) == ("optimal", "lattice", len(times))
    assert found.value == pytest.approx(min(times.values()), rel=1e-12)


@long
def test_sizes_beyond_all_points() -> None:
    found = al.optimise(
        NBODY, machine="jaketown", at={"f": 20}, over="n=1000..10^7,P=1..10^7,c=1..100", subject="P >= 900"
    ).found
    assert (found.status, found.method) == ("optimal", "branch and bound")
    assert found.value is not None
    single = al.energy(NBODY, machine="jaketown", at={"f": 20, **{name: int(each) for name, each in found.at.items()}})
    assert float(np.max(single.total)) == pytest.approx(found.value, rel=1e-12)
    at = {"f": 20, "n": 1000, "P": 1000, "c": 1}
    other = al.energy(NBODY, machine="jaketown", at=at).total
    assert found.value <= float(np.max(other)) * (1 + 1e-6)


@long
def test_sizes_with_parameters_of_the_machine() -> None:
    """Of each size the dearest parameters that suffice: least power is that of the least point at its least gamma_e."""
    asked: dict[str, Any] = {"machine": "jaketown", "at": {"n": 24}, "minimise": "power"}
    found = al.optimise(MATMUL, over="g,c,gamma_e=1e-12..1e-9", subject="time <= 40 us", **asked).found
    low = al.optimise(MATMUL, over="g,c", subject="time <= 40 us", parameters={"gamma_e": 1e-12}, **asked).found
    assert found.status == low.status == "optimal"
    assert found.value == pytest.approx(low.value, rel=1e-6)
    assert found.at["gamma_e"] == pytest.approx(1e-12, rel=1e-6)
    assert {name: found.at[name] for name in low.at} == low.at
    time = al.optimise(
        MATMUL, over="g,c,gamma_e=1e-12..1e-9", subject="flops_per_joule >= 2 Gflop/J", **{**asked, "minimise": "time"}
    ).found
    cheapest = al.optimise(
        MATMUL, over="g,c", subject="flops_per_joule >= 2 Gflop/J", parameters={"gamma_e": 1e-12}, **{**asked, "minimise": "time"}
    ).found  # fmt: skip
    assert time.value == pytest.approx(cheapest.value, rel=1e-6)
    assert "AL491" in cli("optimise", MATMUL, "--machine", "jaketown", "--at", "n=24", "--over", "g,c,gamma_e").err


@long
def test_what_is_attainable_is_told_and_kept_with_the_exit_code() -> None:
    asked = ("optimise", CANNON, "--machine", "jaketown", "--at", "n=24", "--over", "g", "--subject", "time <= 1 ns")
    divisors = (1, 2, 3, 4, 6, 8, 12, 24)
    times = [float(np.max(al.energy(CANNON, machine="jaketown", at={"n": 24, "g": g}).time)) for g in divisors]
    ran = cli(*asked)
    assert ran.code == 1
    assert f"attainable: time >= {min(times) * 1e9:.2f} ns" in ran.out
    again = cli(*asked)
    assert (again.code, again.out) == (1, ran.out)
    both = json.loads(cli(*asked[:-1], "time <= 75 ns", "--subject", "P >= 4", "--format", "json").out)
    assert both["conflict"] == ["time <= 75 ns", "P >= 4"]
    assert both["attainable"][1].startswith("P <= 1")
