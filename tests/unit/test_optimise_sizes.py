"""`archline optimise` over sizes of algorithms: against all points, one by one, as `energy` evaluates them."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import pytest

import archline as al
from archline.costs.sizes import convert_python_values
from archline.energy.answers import derive_energies
from archline.energy.caches import Settings
from archline.energy.estimates import Estimate, estimate_amounts
from archline.energy.machine_files import machine
from archline.energy.machines import read_parameter
from archline.energy.models import find_model
from archline.energy.subjects import make_subject
from archline.expr.values import evaluate_fact
from cli_support import cli
from effort import drawn, long
from energy_support import refusal

Point = dict[str, int]
MATMUL, CAPS = "distributed.matmul::matmul_25d", "distributed.matmul::caps_strassen"
CANNON = "distributed.matmul::cannon"
NBODY, LU = "distributed.nbody::nbody_replicated", "distributed.lu::lu_25d"
GRIDS = {
    MATMUL: ({"n": (8, 12, 24)}, ("g", "c"), {"g": 24, "c": 24}),
    NBODY: ({"n": (24, 36), "f": (0, 20)}, ("P", "c"), {"P": 48, "c": 7}),
    CAPS: ({"n": (14, 28, 56)}, ("P", "m", "d"), {"P": 49, "m": 56, "d": 3}),
    LU: ({"n": (4, 12, 16)}, ("g", "c", "b"), {"g": 6, "c": 8, "b": 9}),
}  # fmt: skip
MACHINE = {
    "gamma_t": ("1e-9", "1e-8"), "beta_t": ("1e-8", "1e-6"), "alpha_t": ("1e-7", "1e-4"), "gamma_e": ("1e-9", "1e-8"),
    "beta_e": ("1e-9", "1e-6"), "alpha_e": ("1e-8", "1e-4"), "delta_e": ("1e-6", "1e-1"), "eps_e": ("1e-3", "1"),
}  # fmt: skip


def drawn_parameters(source: random.Random) -> dict[str, str]:
    """Parameters of which no term of time and energy is always negligible."""
    return {name: f"{source.uniform(float(low), float(high)):.3e}" for name, (low, high) in MACHINE.items()}


def ends(value: Any) -> tuple[Fraction, Fraction]:
    return value if isinstance(value, tuple) else (value, value)


@cache
def amounts(target: str, fixed: tuple[tuple[str, int], ...], point: tuple[tuple[str, int], ...]) -> Any:
    """The inputs of the linear model at a point; None where the algorithm has no run."""
    chosen, at = subject_of(target), {**dict(fixed), **dict(point)}
    if any(evaluate_fact(fact, at) is False for fact in chosen.where):
        return None
    try:
        (found,) = derive_energies([chosen], [machine("jaketown")], None, convert_python_values(at), Settings())
    except al.ArchlineError:
        return None
    known = found.estimate.amounts
    # Facts may be about the number of processors, which follows from the axes.
    at = {"P": int(known["P"].lower), **at}
    return None if any(evaluate_fact(fact, at) is False for fact in chosen.where) else known


subject_of = cache(make_subject)


def every_point(
    target: str, fixed: Point, most: Mapping[str, int], parameters: Mapping[str, str]
) -> Iterator[tuple[Point, Estimate]]:
    """The energy at all points of a box at which the algorithm has a run."""
    on = machine("jaketown").with_parameters({name: read_parameter(name, value) for name, value in parameters.items()})
    for values in product(*(range(1 if name != "d" else 0, high + 1) for name, high in most.items())):
        point = dict(zip(most, values, strict=True))
        found = amounts(target, tuple(fixed.items()), tuple(point.items()))
        if found is not None:
            yield point, estimate_amounts(find_model("linear"), on, found)


@pytest.mark.parametrize("target", [NBODY, *(pytest.param(each, marks=long) for each in (MATMUL, CAPS, LU))])
def test_the_optimum_is_that_of_all_points(target: str) -> None:
    source = random.Random(target)
    choices, over, most = GRIDS[target]
    algorithm = al.algorithm(target)
    for _ in range(drawn(25, least=3)):
        fixed = {name: source.choice(values) for name, values in choices.items()}
        parameters = drawn_parameters(source)
        by = source.choice(["energy", "time", "power", "energy_delay"])
        upper = source.random() < 0.7
        asked: dict[str, Any] = {
            "over": [f"{name}={0 if name == 'd' else 1}..{high}" for name, high in most.items()],
            "at": fixed, "machine": "jaketown", "parameters": parameters, "minimise": by, "bound": "upper" if upper else "lower",
        }  # fmt: skip
        points = list(every_point(target, fixed, most, parameters))

        def end(estimate: Estimate, name: str, upper: bool = upper) -> Fraction:
            found = estimate.by(name)
            return found.upper if upper else found.lower

        assert points
        allowed = points
        if source.random() < 0.6:
            other = source.choice([name for name in ("time", "power", "energy") if name != by])
            limits = sorted(end(each, other) for _, each in points)
            limit = limits[source.randrange(len(limits))] * source.choice([Fraction(9, 10), 1, Fraction(11, 10)])
            limit = Fraction(f"{float(limit):.5e}")
            asked["subject"] = f"{other} <= {float(limit):.5e}"
            allowed = [(point, each) for point, each in points if end(each, other) <= limit]
        found = al.optimise(algorithm, **asked).found
        if not allowed:
            assert found.status == "infeasible"
            assert found.conflict == (asked["subject"],)
            continue
        least = min(float(end(each, by)) for _, each in allowed)
        value = found.value if upper else found.lower
        assert found.status == "optimal"
        assert abs(value - least) <= 1e-9 * least
        assert found.gap == 0
        at = next(each for point, each in allowed if point == dict(found.at)).by(by)
        assert (found.lower, found.value) == pytest.approx((float(at.lower), float(at.upper)), rel=1e-12)
        near = [point for point, each in allowed if float(end(each, by)) <= 1.01 * least]
        for name in over:
            low, high = found.ranges[name]
            assert (low, high) == (min(point[name] for point in near), max(point[name] for point in near))


PAPER = [pytest.param(each, marks=long) for each in (NBODY, MATMUL, CAPS, LU)]
"""Derived costs for the questions of the paper; each answer is compared with all points."""


def drawn_instance(target: str, source: random.Random) -> tuple[dict[str, Any], list[tuple[Point, Estimate]]]:
    """An instance, and its values at all points."""
    choices, over, most = GRIDS[target]
    fixed = {name: source.choice(values) for name, values in choices.items()}
    parameters = drawn_parameters(source)
    asked = {
        "over": [f"{name}={0 if name == 'd' else 1}..{most[name]}" for name in over],
        "at": fixed, "machine": "jaketown", "parameters": parameters,
    }  # fmt: skip
    return asked, list(every_point(target, fixed, most, parameters))


def most(estimate: Estimate, name: str) -> Fraction:
    """The upper end of an answer, or of the power of a processor."""
    name, _, shared = name.partition("/")
    # Optimisation compares quotients of ends.
    found = estimate.energy / estimate.time if name == "power" else estimate.by(name)
    return found.upper / estimate.amounts["P"].lower if shared else found.upper


def hold_against_all_points(target: str, by: str, limited: str = "") -> None:
    """Compare the least by some answer, where another one is limited to what half of the points need."""
    source = random.Random(f"{target} {by} {limited}")
    for _ in range(drawn(8, least=1)):
        asked, points = drawn_instance(target, source)
        allowed = points
        if limited:
            limit = sorted(most(each, limited) for _, each in points)[len(points) // 2]
            asked["subject"] = f"{limited} <= {float(limit * Fraction(1001, 1000)):.6e}"
            allowed = [pair for pair in points if float(most(pair[1], limited)) <= float(limit) * 1.001]
        found = al.optimise(al.algorithm(target), minimise=by, **asked).found
        least = min(float(most(each, by)) for _, each in allowed)
        assert (found.status, found.gap) == ("optimal", 0)
        assert found.value == pytest.approx(least, rel=1e-9)
        at = next(each for point, each in allowed if point == dict(found.at))
        assert float(most(at, by)) == pytest.approx(least, rel=1e-9)


@pytest.mark.parametrize("target", PAPER)
def test_question_a_least_energy(target: str) -> None:
    hold_against_all_points(target, "energy")


@pytest.mark.parametrize("target", PAPER)
def test_question_b_least_energy_within_a_time(target: str) -> None:
    hold_against_all_points(target, "energy", "time")


@pytest.mark.parametrize("target", PAPER)
def test_question_c_least_time_within_an_energy(target: str) -> None:
    hold_against_all_points(target, "time", "energy")


@pytest.mark.parametrize("target", PAPER)
def test_question_d_least_energy_and_time_within_a_power(target: str) -> None:
    """The paper leaves least time within a power open for products of matrices."""
    hold_against_all_points(target, "energy", "power")
    hold_against_all_points(target, "time", "power")


@pytest.mark.parametrize("target", PAPER)
def test_question_e_least_energy_and_time_within_the_power_of_a_processor(target: str) -> None:
    hold_against_all_points(target, "energy", "power/P")
    hold_against_all_points(target, "time", "power/P")


@pytest.mark.parametrize("target", PAPER)
def test_an_open_problem_least_average_power(target: str) -> None:
    hold_against_all_points(target, "power")


@pytest.mark.parametrize("target", PAPER)
def test_question_f_what_machine_does_so_many_flops_per_joule(target: str) -> None:
    """Fewest halvings, as the values at all numbers of halvings say; and the least time of sizes that some gamma_e allows."""
    source = random.Random(f"{target} halved")
    asked, points = drawn_instance(target, source)
    point, _ = source.choice(points)
    base = machine("jaketown").with_parameters(
        {name: read_parameter(name, value) for name, value in asked["parameters"].items()}
    )
    held = amounts(target, tuple(asked["at"].items()), tuple(point.items()))
    halved: dict[tuple[int, int], Fraction] = {}
    for first, second in product(range(12), repeat=2):
        times = {"gamma_e": first, "beta_e": second, "delta_e": second}
        moved = {name: read_parameter(name, str(base.values[name] / 2**count)) for name, count in times.items()}
        rate = estimate_amounts(find_model("linear"), base.with_parameters(moved), held).flops_per_joule
        halved[first, second] = rate.lower
    wanted = Fraction(f"{float(halved[0, 0] + (halved[11, 11] - halved[0, 0]) / 3):.5e}")
    if halved[0, 0] < wanted:
        fixed = {**asked, "at": {**asked["at"], **point}, "over": ()}
        subject = f"flops_per_joule >= {float(wanted):.5e}"
        found = al.optimise(target, halve="gamma_e,beta_e=delta_e", subject=subject, **fixed).found
        assert found.value == min(sum(count) for count, rate in halved.items() if rate >= wanted)
    cheap = base.with_parameters({"gamma_e": read_parameter("gamma_e", "1e-12")})
    rates = {}
    for place, estimate in points:
        rate = estimate_amounts(
            find_model("linear"), cheap, amounts(target, tuple(asked["at"].items()), tuple(place.items()))
        ).flops_per_joule
        if rate is not None:
            rates[tuple(place.items())] = rate.lower, most(estimate, "time")
    limit = sorted(rate for rate, _ in rates.values())[len(rates) // 2] * Fraction(999, 1000)
    over = [*asked["over"], "gamma_e=1e-12..1e-8"]
    subject = f"flops_per_joule >= {float(limit):.6e}"
    found = al.optimise(target, minimise="time", subject=subject, **{**asked, "over": over}).found
    assert found.status == "optimal"
    assert found.value == pytest.approx(float(min(time for rate, time in rates.values() if rate >= limit)), rel=1e-6)


@long
def test_an_open_problem_the_latency_of_lu() -> None:
    """Where messages are dear, the least time is that of the fewest."""
    source = random.Random("latency")
    for _ in range(drawn(6, least=1)):
        asked, points = drawn_instance(LU, source)
        slow = {**asked["parameters"], "alpha_t": "1"}
        found = al.optimise(LU, minimise="time", **{**asked, "parameters": slow}).found
        messages = {tuple(point.items()): each.amounts["messages"].upper for point, each in points}
        assert messages[tuple((name, int(found.at[name])) for name in GRIDS[LU][1])] == min(messages.values())


@long
def test_tiles_for_a_cache() -> None:
    """Bounds at arrays of points are not those at single points: the best is found by exact values all the same."""
    asked = {"machine": "xeon-e5-2650l-v3", "at": {"n": 16, "m": 16, "p": 16, "Z": 64, "L": 4}}
    found = al.optimise("dense.matmul::matmul_blocked", over="b=1..16", **asked).found
    algorithm, energies = al.algorithm("dense.matmul::matmul_blocked"), {}
    for b in range(1, 17):
        single = al.energy(algorithm, machine=asked["machine"], at={**asked["at"], "b": b})
        energies[b] = float(ends(single.total)[1])
    assert found.status == "optimal"
    assert found.value == pytest.approx(min(energies.values()), rel=1e-12)
    assert energies[int(found.at["b"])] == min(energies.values())


def test_what_excludes_each_other_is_named() -> None:
    asked = ("optimise", CANNON, "--machine", "jaketown", "--at", "n=512", "--format", "json")
    ran = cli(*asked, "--over", "g", "--subject", "time <= 100 us", "--subject", "P <= 8", "--subject", "memory >= 1")
    document = json.loads(ran.out)
    assert (ran.code, document["status"], document["objective"]["value"]) == (1, "infeasible", None)
    assert document["conflict"] == ["time <= 100 us", "P <= 8"]
    alone = cli(*asked, "--over", "g=3..3")
    assert json.loads(alone.out)["conflict"] == ["g divides n", "g = 3 .. 3"]
    text = cli(*asked[:-2], "--over", "g=3..3")
    assert text.code == 1
    assert "infeasible: g divides n and g = 3 .. 3 exclude each other" in text.out


def test_what_binds_and_what_is_free() -> None:
    target = "linear:F=f*n^2/P,W=n^2/(P*M),S=n^2/(P*M*m)"
    asked: dict[str, Any] = {"at": {"n": 1000, "f": 10, "m": 10}, "machine": "jaketown", "integer": ["P", "M"]}
    found = al.optimise(target, over="P=1..1000,M=1..100", where="P*M >= n", **asked).found
    assert found.variables == {"P": (10, 1000), "M": 100}
    assert found.binding == ("M <= 100",)
    assert found.ranges["P"] == (10, 1000)
    timed = al.optimise(target, over="P=1..1000,M=1..100", minimise="time", subject="P*M <= 5000", **asked).found
    assert timed.binding == ("P*M <= 5000", "P <= 1000")
    whole = al.optimise(target, over="P=1..1000,M=1..100", where="P*M >= n", **asked)
    assert whole.variables == found.variables
    assert "P                10 .. 1000 (any of these)" in str(whole)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"over": "q"}, "AL401"), ({"over": "P"}, "AL411"), ({"over": "n"}, "AL403"), ({"over": "g,n=5..2"}, "AL411"), ({"over": "g n"}, "AL411"),
        ({"over": "g", "subject": "time <= 1 J"}, "AL461"), ({"over": "g", "subject": "time <= wrods"}, "AL462"),
        ({"over": "g", "subject": "time"}, "AL490"), ({"over": "g", "minimise": "joy"}, "AL411"),
        ({"over": "g", "subject": "time <= memory"}, "AL461"), ({"over": "g", "where": "x >= 2"}, "AL401"),
        ({"over": "gamma_t=1..2", "at": {"n": 64}}, "AL402"), ({"over": "g,n", "at": {}}, "AL491"),
    ],
)  # fmt: skip
def test_what_is_refused(options: dict[str, Any], code: str) -> None:
    asked = {"machine": "jaketown", "at": {"n": 64}, **options}
    refusal(lambda: al.optimise(CANNON, **asked), code)
