"""Energy models against their papers' equations, by hand, over intervals, and against each other."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archline.energy.estimates import BALANCED, estimate_amounts
from archline.energy.machine_files import machine
from archline.energy.machines import Machine
from archline.energy.model import Figure, Model
from archline.energy.models import find_model, load_models
from archline.energy.targets import read_target
from archline.expr.intervals import Interval
from effort import drawn, long
from energy_support import (
    VARIANTS,
    answers,
    exact,
    held,
    inputs_of,
    machines_of,
    made,
    positive,
    refusal,
    values,
    whole_machines,
)

F = Fraction

# Small whole numbers of base units, so that the values can be done in the head.
ICE = made(eps_op=2, pi_op=3, eps_io=5, pi_io=7)
ROOFLINE = made(tau_flop=1, tau_mem=2, eps_flop=3, eps_mem=5, pi0=7, word=2, eps_cache=11, power_limit=10)
LINEAR = made(gamma_t=1, beta_t=2, alpha_t=3, gamma_e=5, beta_e=7, alpha_e=11, delta_e="1/2", eps_e=13)
BALANCE = made(cores=4, core_rate=2, latency=3, bandwidth=8, word=2, power_max=10, power_idle=1, fast_memory=512)


def test_a_matrix_vector_product_on_the_xeon_by_hand() -> None:
    """CSR with nz = 10^6 and the growth terms of Table 5 taken as counts: work nz, io nz, span nr + log2 n = 100.

    Static 23.29 nJ * 100, computation 0.263 nJ * 10^6, memory 8.86 nJ * 10^6.
    """
    found = values("ice", machine("xeon-e5-2650l-v3"), work=10**6, span=100, io=10**6)
    assert found["terms static"] == F(2329, 10**9)
    assert found["terms computation"] == F(263, 10**6)
    assert found["terms memory"] == F(886, 10**5)
    assert found["binds"] == "memory"


def test_roofline_with_caches_by_hand() -> None:
    # 6 words of 2 bytes at 11 J.
    found = values("roofline+cache", ROOFLINE, flops=10, traffic=4, accesses=6)
    assert (found["terms cache"], found["energy"], found["time"]) == (132, 252, 10)


@pytest.mark.parametrize("name", ["roofline+cap+cache", "roofline+cache+cap"])
def test_the_cap_holds_with_caches_too(name: str) -> None:
    # E_dyn = 30 + 20 + 132 at 3 W.
    found = values(name, ROOFLINE, flops=10, traffic=4, accesses=6)
    assert (found["time"], found["power"]) == (F(182, 3), 10)


triples = st.tuples(st.integers(1, 60), st.integers(1, 60), st.integers(0, 60)).map(
    lambda t: {"work": max(t[:2]), "span": min(t[:2]), "io": t[2]}
)


@given(machines_of("eps_op", "pi_op", "eps_io", "pi_io"), triples, positive, positive)
def test_ice_follows_from_times_and_powers(
    on: Machine, point: dict[str, int], clock: Fraction, cycles: Fraction
) -> None:
    """Equation (6) with (7) to (10): any clock, F and static power that give these parameters give this energy."""
    q = on.values
    static_power = q["pi_op"] * clock / cycles
    line_cycles = q["pi_io"] * clock / static_power
    computing = point["span"] * cycles / clock
    transferring = F(point["io"]) / F(point["work"], point["span"]) * line_cycles / clock
    dynamic = q["eps_op"] * point["work"] + q["eps_io"] * point["io"]
    found = values("ice", made({**q, "pi0": static_power}), **point)
    assert found["energy"] == static_power * max(computing, transferring) + dynamic
    assert found["time"] == max(computing, transferring)
    relation = (transferring > computing) - (transferring < computing)
    assert found["binds"] == {1: "memory", 0: BALANCED, -1: "computation"}[relation]


# The energy roofline: Choi et al. 2013, (1) to (8).
ROOFLINE_NAMES = ("tau_flop", "tau_mem", "eps_flop", "eps_mem", "pi0")


@given(machines_of(*ROOFLINE_NAMES), positive, positive)
def test_the_roofline_equations_agree(on: Machine, w: Fraction, q: Fraction) -> None:
    found = values("roofline", on, flops=w, traffic=q)
    p = on.values
    i, b_tau, b_eps = w / q, p["tau_mem"] / p["tau_flop"], p["eps_mem"] / p["eps_flop"]
    # (1), (3)
    time = w * p["tau_flop"] * max(F(1), b_tau / i)
    assert found["time"] == max(w * p["tau_flop"], q * p["tau_mem"]) == time
    # (2), (4)
    energy = w * p["eps_flop"] + q * p["eps_mem"] + p["pi0"] * time
    assert energy == w * p["eps_flop"] * (1 + b_eps / i + p["pi0"] * time / (p["eps_flop"] * w))
    # (5), (6)
    eps_hat = p["eps_flop"] + p["pi0"] * p["tau_flop"]
    eta = p["eps_flop"] / eps_hat
    b_hat = eta * b_eps + (1 - eta) * max(F(0), b_tau - i)
    assert found["energy"] == energy == w * eps_hat * (1 + b_hat / i)
    # (7)
    pi_flop = p["eps_flop"] / p["tau_flop"]
    assert found["power"] == pi_flop / eta * (min(i, b_tau) / b_tau + b_hat / max(i, b_tau))
    # (8), which leaves out the constant power.
    assert found["power"] <= pi_flop * (1 + b_eps / b_tau) + p["pi0"]
    assert found["figures effective energy balance"] == b_hat
    assert found["figures of peak flop/s"] == w * p["tau_flop"] / time == min(F(1), i / b_tau)
    assert found["figures of peak flop/J"] == w * eps_hat / energy == 1 / (1 + b_hat / i)
    # With constant power the effective energy balance, where it is needed, is below the larger balance.
    assert b_hat <= max(b_eps, b_tau)


def test_the_gtx_580_in_single_precision() -> None:
    on = machine("gtx-580@single")
    q = on.values
    b_tau = q["tau_mem"] / q["tau_flop"]
    most = values("roofline", on, flops=b_tau, traffic=1)["power"]
    # 99.7 pJ * 1581.06 Gflop/s + 513 pJ * 192.4 GB/s + 122 W; section V-B prints 387 W.
    assert most == F("99.7e-12") * F("1581.06e9") + F("513e-12") * F("192.4e9") + 122
    assert round(most, 1) == F("378.3")
    # From 1.2 flop/B on more than 244 W would be drawn: 99.7 pJ*I + 513 pJ = 122 W * 1 B/(192.4 GB/s).
    start = (122 / F("192.4e9") - F("513e-12")) / F("99.7e-12")
    assert round(start, 1) == F("1.2")
    for i, binds in ((start * F(99, 100), "memory"), (start, BALANCED), (start * F(101, 100), "power cap")):
        assert values("roofline+cap", on, flops=i, traffic=1)["binds"] == binds
    assert values("roofline", on, flops=start, traffic=1)["power"] == 244
    # For ever larger intensities, (244 - 122) W / 99.7 pJ.
    found = values("roofline+cap", on, flops=10**9, traffic=1)
    assert found["power"] == 244
    assert round(10**9 / found["time"] / 10**9) == 1224
    # Less than the paper measured.
    assert q["peak_sustained"] == F("1398e9")
    # The double-precision device stays below its limit.
    double = machine("gtx-580@double").values
    most = values("roofline", machine("gtx-580@double"), flops=double["tau_mem"] / double["tau_flop"], traffic=1)[
        "power"
    ]
    assert 244 < most < 263


@pytest.mark.parametrize("limit", [7, 6, 0])
def test_a_cap_that_constant_power_alone_reaches_is_refused(limit: int) -> None:
    on = made({**ROOFLINE.values, "power_limit": limit})
    for name in ("roofline+cap", "roofline+cap+cache"):
        amounts = {"flops": 10, "traffic": 4, "accesses": 6}
        found = refusal(lambda name=name, amounts=amounts: estimate_amounts(find_model(name), on, amounts), "AL458")  # type: ignore[misc]
        assert "power_limit - pi0 is not above 0" in found.message
        assert "--parameter power_limit=" in (found.hint or "")
    assert values("roofline", on, flops=10, traffic=4)["energy"] == 120


PLAIN = replace(find_model("roofline"), figures={})


def energy_of(p: dict[str, Fraction], flops: Fraction, traffic: Fraction) -> Fraction:
    """The roofline's energy."""
    return exact(estimate_amounts(PLAIN, made(p), {"flops": flops, "traffic": traffic}).energy)


def test_greenups() -> None:
    """When (f*W, Q/m) takes less energy than (W, Q), by which side binds before and after, from (2)."""
    source = random.Random(1)
    seen: dict[tuple[bool, bool], set[bool]] = {}
    for _ in range(1000):
        p = {name: F(source.randint(1, 99), source.randint(1, 9)) for name in ROOFLINE_NAMES}
        i, f, m = (F(source.randint(1, 400), source.randint(1, 40)) for _ in range(3))
        f, m = 1 + f / 8, 1 + m / 8
        before, after = energy_of(p, i, F(1)), energy_of(p, f * i, 1 / m)
        b_tau = p["tau_mem"] / p["tau_flop"]
        eps_hat = p["eps_flop"] + p["pi0"] * p["tau_flop"]
        bound = i < b_tau, f * m * i < b_tau
        match bound:
            case True, True:
                green = f < 1 + (1 - 1 / m) * (p["eps_mem"] + p["pi0"] * p["tau_mem"]) / (i * p["eps_flop"])
            case False, False:
                green = f < 1 + (1 - 1 / m) * p["eps_mem"] / (eps_hat * i)
            case True, False:
                saved = (1 - 1 / m) * p["eps_mem"] + p["pi0"] * p["tau_mem"]
                green = f * eps_hat < p["eps_flop"] + saved / i
        assert green == (after < before)
        seen.setdefault(bound, set()).add(green)
    assert len(seen) == 3
    assert all(each == {True, False} for each in seen.values())


def test_a_slower_algorithm_may_become_memory_bound() -> None:
    """The fourth case, f*m < 1: compute-bound before, memory-bound after."""
    source = random.Random(2)
    seen = set()
    for _ in range(drawn(1000)):
        p = {name: F(source.randint(1, 99), source.randint(1, 9)) for name in ROOFLINE_NAMES}
        b_tau = p["tau_mem"] / p["tau_flop"]
        i = b_tau * F(source.randint(10, 30), 10)
        m = F(source.randint(1, 30), 20)
        f = b_tau / (i * m) * F(source.randint(1, 99), 100)
        before, after = energy_of(p, i, F(1)), energy_of(p, f * i, 1 / m)
        eps_hat = p["eps_flop"] + p["pi0"] * p["tau_flop"]
        lost = (p["eps_mem"] + p["pi0"] * p["tau_mem"]) / m - p["eps_mem"]
        green = f * p["eps_flop"] < eps_hat - lost / i
        assert green == (after < before)
        seen.add(green)
    assert seen == {True, False}


# Perfect strong scaling: Demmel et al. 2013.
LINEAR_NAMES = ("gamma_t", "beta_t", "alpha_t", "gamma_e", "beta_e", "alpha_e", "delta_e", "eps_e")


numbers = st.integers(1, 30)


# Balance: Czechowski et al. 2011.
BALANCE_NAMES = ("cores", "core_rate", "latency", "bandwidth", "word", "power_max", "power_idle", "fast_memory")


@given(machines_of(*BALANCE_NAMES), *[positive] * 3, st.integers(1, 16))
def test_balance_is_equations_1_to_4(on: Machine, one: Fraction, other: Fraction, io: Fraction, line: int) -> None:
    q = on.values
    work, span = max(one, other), min(one, other)
    found = values("balance", on, work=work, span=span, io=io, L=line)
    p, c0, alpha, beta = q["cores"], q["core_rate"], q["latency"], q["bandwidth"] / q["word"]
    computing, transferring = (span + work / p) / c0, alpha * span + io * line / beta
    assert (found["sides computation"], found["sides memory"]) == (computing, transferring)
    assert found["time"] == max(computing, transferring)
    left = p * c0 / beta * (1 + alpha * beta / line / (io / span))
    right = work / (io * line) * (1 + p / (work / span))
    assert (found["figures left side of (3)"], found["figures right side of (3)"]) == (left, right)
    # (3) says neither more nor less than T_mem <= T_comp.
    assert (transferring <= computing) == (left <= right)
    assert transferring / computing == left / right
    idle = max(F(0), transferring - computing)
    assert found["energy"] == q["power_max"] * computing + q["power_idle"] * idle
    # Idling takes more than computing iff T_mem/T_comp > 1 + P_max/P_idle.
    more = transferring / computing > 1 + q["power_max"] / q["power_idle"]
    assert (found["terms idling"] > found["terms computing"]) == more


# Relations of models.
@given(machines_of(*ROOFLINE_NAMES, "word"), positive, positive, st.integers(1, 16))
def test_ice_is_roofline_where_nothing_is_parallel(on: Machine, work: Fraction, io: Fraction, line: int) -> None:
    """With converted parameters, and the machine's line of L words: span = work = flops."""
    on = made({**on.values, "line": line * on.values["word"]})
    roofline = values("roofline", on, flops=work, io=io, L=line)
    ice = values("ice", on, work=work, span=work, io=io)
    assert ice["energy"] == roofline["energy"]
    assert ice["time"] == roofline["time"]
    assert ice["terms static"] == roofline["terms constant"]
    assert ice["binds"] == roofline["binds"]
    # Of a parallel program ICE has less static energy: that of unlimited cores.
    parallel = values("ice", on, work=work, span=work / 2, io=io)
    assert parallel["terms static"] == roofline["terms constant"] / 2
    assert parallel["energy"] < roofline["energy"]


# Bounds.
@st.composite
def questions(draw: st.DrawFn, chosen: Model) -> tuple[dict[str, Interval], dict[str, Fraction]]:
    """Intervals of what a model takes, and a point in them."""
    intervals, point = {}, {}
    for name in inputs_of(chosen):
        ends = sorted(draw(st.tuples(positive, positive)))
        if name == "P":
            ends = [1 + each for each in ends]
        if draw(st.booleans()):
            ends[0] = ends[1]
        if name in ("io", "words", "traffic", "flops") and draw(st.integers(0, 5)) == 0:
            ends[0] = F(0)
        share = draw(st.sampled_from([F(0), F(1), F(1, 3), F(1, 2), F(9, 10)]))
        intervals[name] = Interval(*ends)
        point[name] = ends[0] + share * (ends[1] - ends[0])
    if "span" in point and point["span"] > point["work"]:
        # The same numbers for the other.
        for known in (intervals, point):
            known["span"], known["work"] = known["work"], known["span"]  # type: ignore[index]
    return intervals, point


@long
@pytest.mark.parametrize("chosen", VARIANTS, ids=lambda each: str(each.name))
@given(st.data())
def test_what_holds_at_a_point_lies_within_the_bounds(chosen: Model, data: st.DataObject) -> None:
    on = data.draw(whole_machines())
    chosen = chosen.with_machine_formulas(on)
    intervals, point = data.draw(questions(chosen))
    wide, narrow = estimate_amounts(chosen, on, intervals), estimate_amounts(chosen, on, point)
    within = answers(narrow)
    for name, each in answers(wide).items():
        assert held(each, within.get(name)), name
    if narrow.binds:
        assert set(_sides(narrow.binds, chosen)) <= set(_sides(wide.binds, chosen))
    if wide.margin is not None and narrow.margin is not None:
        assert held(wide.margin, narrow.margin)
    sides = [each.middle for each in narrow.sides.values()]
    if len(_sides(narrow.binds, chosen)) == 1:
        assert narrow.sides[narrow.binds].middle == max(sides)
    # Bounds of no width leave none, but for the square roots and logarithms of figures, and energies that are at most it.
    assert narrow.time is None or narrow.time.exact
    energies = [each for each in (narrow.energy, *narrow.terms.values()) if each is not None]
    assert all(each.lower == 0 if chosen.at_most else each.exact for each in energies)
    if all(each.exact for each in intervals.values()):
        assert answers(wide) == answers(narrow)


def _sides(binds: str, chosen: Model) -> list[str]:
    return list(chosen.sides) if binds == BALANCED else binds.split(" or ")


@given(whole_machines(), st.data())
def test_the_bounds_of_ice_are_reached(on: Machine, data: st.DataObject) -> None:
    """Each term is as tight as it can be where span and work do not depend on each other."""
    works = sorted(data.draw(st.tuples(st.integers(20, 40), st.integers(20, 40))))
    spans = sorted(data.draw(st.tuples(st.integers(1, 20), st.integers(1, 20))))
    ios = sorted(data.draw(st.tuples(st.integers(0, 40), st.integers(0, 40))))
    wide = estimate_amounts(find_model("ice"), on, {"work": tuple(works), "span": tuple(spans), "io": tuple(ios)})
    points = [values("ice", on, work=work, span=span, io=io) for work in works for span in spans for io in ios]
    for name, each in wide.terms.items():
        found = [point[f"terms {name}"] for point in points]
        assert each == Interval(min(found), max(found)), name
    energies = [point["energy"] for point in points]
    assert wide.energy.lower <= min(energies)
    assert max(energies) <= wide.energy.upper


# Units.
@pytest.mark.parametrize("chosen", VARIANTS, ids=lambda each: str(each.name))
def test_every_model_has_right_units(chosen: Model) -> None:
    assert chosen.require_units() is chosen


PLANTED: list[tuple[str, str, dict[str, Any], str]] = [
    ("roofline", "flop/B against flop/word", {"figures": {"x": Figure("min(1, (flops/words)/(tau_mem/tau_flop))", "1", "")}}, "min(1, (flops/words)/(tau_mem/tau_flop))"),
    ("roofline", "J/B as J/word", {"energy": {"x": "2*(eps_flop*flops + eps_mem*words)"}}, "eps_flop*flops + eps_mem*words"),
    ("roofline", "inside a max", {"energy": {"x": "traffic*max(eps_mem, eps_cache*word)"}}, "max(eps_mem, eps_cache*word)"),
    ("roofline", "a time that is an energy", {"time": "flops*eps_flop"}, "flops*eps_flop"),
    ("ice", "lines for operations", {"energy": {"x": "eps_op*io"}}, "eps_op*io"),
    ("ice", "a coarser term", {"coarser": {"computation": "eps_op*flops"}}, "eps_op*flops"),
    ("ice", "a conversion", {"conversions": {"eps_io": "eps_mem"}}, "eps_mem"),
    ("linear", "sides of two units", {"sides": {"a": "gamma_t*flops", "b": "gamma_e*flops"}}, "gamma_e*flops"),
    ("linear", "an exponent with a unit", {"energy": {"x": "gamma_e*flops*2^words"}}, "words"),
    ("balance", "a difference", {"time": "latency - 1/bandwidth"}, "latency - 1/bandwidth"),
    ("balance", "a logarithm of words", {"figures": {"x": Figure("log2(fast_memory)", "1", "")}}, "log2(fast_memory)"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "changes", "culprit"), [(n, c, k) for n, _, c, k in PLANTED], ids=[p[1] for p in PLANTED]
)
def test_a_wrong_unit_is_found_at_its_place(name: str, changes: dict[str, Any], culprit: str) -> None:
    planted = replace(find_model(name), **{"coarser": {}, "figures": {}, "conversions": {}, **changes})
    found = refusal(planted.require_units, "AL461")
    assert found.span.source.lines[0][found.span.column - 1 : found.span.end_column - 1] == culprit


# What is missing or cannot be.
@pytest.mark.parametrize(
    ("name", "lacking", "amounts"),
    [
        ("ice", ("eps_op", "pi_io"), {"work": 3, "span": 2, "io": 1}),
        ("roofline+cap", ("power_limit",), {"flops": 3, "traffic": 2}),
        ("linear", ("gamma_e",), {"flops": 3, "words": 2, "messages": 1, "memory": 1, "P": 1}),
        ("balance", ("core_rate", "latency"), {"work": 3, "span": 2, "io": 1, "L": 1}),
    ],
)
def test_missing_quantities_are_asked_for(name: str, lacking: tuple[str, ...], amounts: dict[str, int]) -> None:
    whole = {**ICE.values, **ROOFLINE.values, **LINEAR.values, **BALANCE.values}
    for each in ("tau_flop", "eps_flop", "tau_mem") if name in ("ice", "linear") else ():
        del whole[each]
    on = made({each: value for each, value in whole.items() if each not in lacking and "per" not in each})
    found = refusal(lambda: estimate_amounts(find_model(name), on, amounts), "AL458")
    needed = (
        lacking
        if name not in ("ice", "linear")
        else [w for w in (*lacking, "eps_flop", "tau_mem") if w in found.message]
    )
    assert needed
    assert all(f"--parameter {each}=..." in (found.hint or "") for each in needed)


def test_a_data_sheet_has_a_time_and_no_energy() -> None:
    sheet = made({name: ROOFLINE.values[name] for name in ("tau_flop", "tau_mem")})
    found = estimate_amounts(find_model("roofline+cache"), sheet, {"flops": 3, "traffic": 2, "accesses": 1})
    assert found.time == Interval.of(max(3 * sheet.values["tau_flop"], 2 * sheet.values["tau_mem"]))
    assert found.energy is None
    lacking = ("`eps_cache` (J/B)", "`eps_flop` (J/flop)", "`eps_mem` (J/B)", "`pi0` (W)", "`word` (B/word)")
    assert found.reasons["energy"] == f"machine `{sheet.name}` lacks {', '.join(lacking)}"
    half = made({"tau_flop": ROOFLINE.values["tau_flop"]})
    asked = refusal(lambda: estimate_amounts(find_model("roofline"), half, {"flops": 3, "traffic": 2}), "AL458")
    assert asked.hint == "give --parameter bandwidth=..."


def test_missing_amounts_are_named() -> None:
    assert "`io`" in refusal(lambda: estimate_amounts(find_model("ice"), ICE, {"work": 1, "span": 1}), "AL460").message
    found = refusal(lambda: estimate_amounts(find_model("roofline"), ROOFLINE, {"flops": 1, "tarffic": 1}), "AL460")
    assert "needs `" in found.message


@pytest.mark.parametrize(
    ("work", "span", "io"),
    [(0, 0, 0), (1, 0, 1), (1, 2, 1), (1, 1, -1), (-1, -1, 1), ((1, 3), (4, 5), 1), (9, (0, 3), 1), (9, 1, (-1, 1))],
)
def test_amounts_that_no_execution_has(work: Any, span: Any, io: Any) -> None:
    refusal(lambda: estimate_amounts(find_model("ice"), ICE, {"work": work, "span": span, "io": io}), "AL460")


def test_there_is_a_processor() -> None:
    refusal(
        lambda: estimate_amounts(
            find_model("linear"), LINEAR, {"flops": 1, "words": 1, "messages": 1, "memory": 1, "P": 0}
        ),
        "AL460",
    )


def test_ends_in_the_wrong_order() -> None:
    refusal(lambda: estimate_amounts(find_model("roofline"), ROOFLINE, {"flops": (3, 2), "traffic": 0}), "AL460")


def test_an_amount_of_no_value_has_a_reason() -> None:
    """Without traffic there is no intensity, and no flops take no power."""
    found = estimate_amounts(find_model("roofline"), ROOFLINE, {"flops": 10, "traffic": 0})
    assert exact(found.energy) == 100
    assert "intensity" not in found.figures
    assert "zero" in found.reasons["intensity"]
    nothing = estimate_amounts(find_model("roofline"), ROOFLINE, {"flops": 0, "traffic": 0})
    assert (exact(nothing.energy), nothing.power, nothing.flops_per_joule) == (0, None, None)


def test_unknown_models_and_options() -> None:
    assert "did you mean `ice`" in (refusal(lambda: find_model("icy"), "AL459").hint or "")
    assert "`balance`, `ice`, `linear`, `roofline`" in (refusal(lambda: find_model("quantum"), "AL459").hint or "")
    assert "did you mean `cap`" in (refusal(lambda: find_model("roofline+cup"), "AL459").hint or "")
    assert "it has no options" in (refusal(lambda: find_model("ice+cap"), "AL459").hint or "")
    refusal(lambda: find_model(""), "AL459")
    refusal(lambda: find_model("roofline+"), "AL459")


def test_models_say_what_they_leave_out() -> None:
    assert [each.name for each in load_models()] == ["balance", "ice", "linear", "roofline", "two_level"]
    for each in VARIANTS:
        assert each.error
        assert each.leaves_out
        assert each.convention
        assert set(each.energy) == {name for name in each.energy if each.formula(name)}
        assert each.accuracy is None or str(float(100 * each.accuracy)).removesuffix(".0") in each.error
    # Section V-C: 4.1 % in place of 33 %.
    assert (find_model("roofline").accuracy, find_model("roofline+cache").accuracy) == (F("0.33"), F("0.041"))


def test_letters_are_the_papers() -> None:
    assert set(read_target("linear:F=1,W=2,S=3,M=4,P=5").formulas) == {"flops", "words", "messages", "memory", "P"}
    assert set(read_target("roofline:W=1,Q=2").formulas) == {"flops", "traffic"}
    assert set(read_target("balance:W=1,D=2,Q=3").formulas) == {"work", "span", "io"}
