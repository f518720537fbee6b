"""`archline optimise` over real numbers: against refined grids, with bounds that hold and gradients that cancel."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from math import exp, log, sqrt
from typing import Any

import numpy as np
import pytest

import archline as al
from archline.energy.estimates import estimate_amounts
from archline.energy.machine_files import machine
from archline.energy.machines import read_parameter
from archline.energy.models import find_model
from archline.energy.optimise.problem import EnergyOptimum
from effort import all_of, drawn, long, some
from energy_support import refusal

Values = Mapping[str, Any]
W = 2.807354922057604
NBODY = "linear:F=f*n^2/P,W=n^2/(P*M),S=n^2/(P*M*m)"
MATMUL = "linear:F=n^3/P,W=n^3/(P*sqrt(M)),S=n^3/(P*sqrt(M)*m)"
STRASSEN = "linear:F=n^log2(7)/P,W=n^log2(7)/(P*M^(log2(7)/2-1)),S=n^log2(7)/(P*M^(log2(7)/2-1)*m)"
LU = "linear:F=n^3/P,W=n^3/(P*sqrt(M)),S=P*sqrt(M)/n"
KINDS: dict[str, tuple[str, Callable[..., Values]]] = {
    NBODY: (
        "P*M >= n, P*M^2 <= n^2",
        lambda n, f, m, P, M: {"F": f * n**2 / P, "W": n**2 / (P * M), "S": n**2 / (P * M * m)},
    ),
    MATMUL: (
        "P*M >= n^2, M*P^(2/3) <= n^2",
        lambda n, f, m, P, M: {"F": n**3 / P, "W": n**3 / (P * np.sqrt(M)), "S": n**3 / (P * np.sqrt(M) * m)},
    ),
    STRASSEN: (
        "P*M >= n^2, M*P^(2/log2(7)) <= n^2",
        lambda n, f, m, P, M: {"F": n**W / P, "W": n**W / (P * M ** (W / 2 - 1)), "S": n**W / (P * M ** (W / 2 - 1) * m)},
    ),
    LU: (
        "P*M >= n^2, M*P^(2/3) <= n^2",
        lambda n, f, m, P, M: {"F": n**3 / P, "W": n**3 / (P * np.sqrt(M)), "S": P * np.sqrt(M) / n},
    ),
}  # fmt: skip
LIMITS: dict[str, Callable[..., Any]] = {
    "P*M >= n": lambda n, P, M: P * M / n, "P*M^2 <= n^2": lambda n, P, M: n**2 / (P * M**2),
    "P*M >= n^2": lambda n, P, M: P * M / n**2, "M*P^(2/3) <= n^2": lambda n, P, M: n**2 / (M * P ** (2 / 3)),
    "M*P^(2/log2(7)) <= n^2": lambda n, P, M: n**2 / (M * P ** (2 / W)),
}  # fmt: skip
QUANTITIES = {
    "gamma_t": (1e-12, 1e-9), "beta_t": (1e-11, 1e-7), "alpha_t": (1e-9, 1e-5), "gamma_e": (1e-11, 1e-8),
    "beta_e": (1e-11, 1e-7), "alpha_e": (1e-10, 1e-5), "delta_e": (1e-9, 1e-3), "eps_e": (1e-3, 1e1),
}  # fmt: skip


def between(source: random.Random, low: float, high: float) -> float:
    return float(f"{exp(source.uniform(log(low), log(high))):.4e}")


def answers(kind: str, at: Values, quantities: Values, P: Any, M: Any) -> Values:
    """Equations (1) and (2), written down once more."""
    costs = KINDS[kind][1](at["n"], at["f"], at["m"], P, M)
    time = quantities["gamma_t"] * costs["F"] + quantities["beta_t"] * costs["W"] + quantities["alpha_t"] * costs["S"]
    moved = quantities["gamma_e"] * costs["F"] + quantities["beta_e"] * costs["W"] + quantities["alpha_e"] * costs["S"]
    energy = P * (moved + (quantities["delta_e"] * M + quantities["eps_e"]) * time)
    found = {"time": time, "energy": energy, "power": energy / time, "energy_delay": energy * time}
    return {**found, "power/P": found["power"] / P}


def least(
    kind: str,
    at: Values,
    quantities: Values,
    by: str,
    limits: Mapping[str, float],
    box: Mapping[str, tuple[float, float]],
) -> float:
    """The least value on a grid that is refined around its best points; infinite where none is feasible."""
    best = np.inf
    (p0, p1), (m0, m1) = (tuple(map(log, box[name])) for name in ("P", "M"))
    for _ in range(12):
        P, M = (np.exp(each) for each in np.meshgrid(np.linspace(p0, p1, 61), np.linspace(m0, m1, 61)))
        found = answers(kind, at, quantities, P, M)
        allowed = np.ones(P.shape, bool)
        for text in KINDS[kind][0].split(", "):
            allowed &= LIMITS[text](at["n"], P, M) >= 1 - 1e-12
        for name, limit in limits.items():
            allowed &= found[name] <= limit * (1 + 1e-12)
        values = np.where(allowed, found[by], np.inf)
        place = np.unravel_index(int(np.argmin(values)), values.shape)
        if not np.isfinite(values[place]):
            break
        best = min(best, float(values[place]))
        half_p, half_m = (p1 - p0) / 8, (m1 - m0) / 8
        p0, p1 = max(log(box["P"][0]), log(P[place]) - half_p), min(log(box["P"][1]), log(P[place]) + half_p)
        m0, m1 = max(log(box["M"][0]), log(M[place]) - half_m), min(log(box["M"][1]), log(M[place]) + half_m)
    return best


def problem(source: random.Random) -> tuple[str, dict[str, Any], dict[str, float], dict[str, Any]]:
    """A target, its sizes, a machine, and what varies."""
    kind = source.choice(list(KINDS))
    at = {"n": 10 ** source.randint(3, 6), "f": source.randint(1, 50), "m": source.choice([1, 10, 1000])}
    quantities = {name: between(source, *ends) for name, ends in QUANTITIES.items()}
    box = {"P": (1.0, 10.0 ** source.randint(2, 6)), "M": (1.0, 10.0 ** source.randint(6, 12))}
    used = at if kind == NBODY else {name: at[name] for name in (("n", "m") if "m" in kind else ("n",))}
    over = ",".join(f"{name}={low:.0f}..{high:.0f}" for name, (low, high) in box.items())
    asked = {"over": over, "at": used, "where": KINDS[kind][0], "parameters": quantities}
    return kind, at, quantities, {"box": box, "asked": asked}


def value(at: Values, found: EnergyOptimum) -> tuple[float, float]:
    return float(found.at["P"]), float(found.at["M"])


@long
def test_the_optimum_is_that_of_refined_grids() -> None:
    source = random.Random(35)
    solved = 0
    for _ in range(all_of(200, quick=16)):
        kind, at, quantities, more = problem(source)
        by = source.choice(["energy", "energy", "time", "power", "energy_delay"])
        limits: dict[str, float] = {}
        free = least(kind, at, quantities, by, {}, more["box"])
        if source.random() < 0.7 and np.isfinite(free):
            name = source.choice([each for each in ("time", "energy", "power", "power/P") if each != by])
            limits[name] = float(f"{least(kind, at, quantities, name, {}, more['box']) * between(source, 0.95, 3):.6e}")
        subject = [f"{name} <= {limit:.6e}" for name, limit in limits.items()]
        expected = least(kind, at, quantities, by, limits, more["box"])
        found = al.optimise(kind, minimise=by, subject=subject, **more["asked"]).found
        if found.status == "infeasible":
            assert not np.isfinite(expected), (kind, by, limits)
            continue
        assert found.status == "optimal"
        assert found.value is not None
        assert found.bound is not None
        assert found.gap is not None
        solved += 1
        P, M = value(at, found)
        own = answers(kind, at, quantities, P, M)
        assert own[by] == pytest.approx(found.value, rel=1e-9)
        assert found.value <= expected * (1 + 1e-6), (kind, by, limits)
        assert found.bound <= expected * (1 + 1e-9)
        assert found.gap <= 1e-6
        assert all(own[name] <= limit * (1 + 1e-7) for name, limit in limits.items())
        assert all(LIMITS[text](at["n"], P, M) >= 1 - 1e-7 for text in KINDS[kind][0].split(", "))
        if found.method == "geometric program":
            assert found.gap <= 1e-9
    assert solved > 10


@long
def test_what_cannot_be_satisfied_is_named_and_nothing_else() -> None:
    source, seen = random.Random(9), 0
    while seen < all_of(50, quick=4):
        kind, at, quantities, more = problem(source)
        fewest = {name: least(kind, at, quantities, name, {}, more["box"]) for name in ("time", "energy", "power")}
        if not np.isfinite(fewest["time"]):
            continue
        name = source.choice(list(fewest))
        limit = fewest[name] * source.choice([0.5, 0.9, 0.99])
        others = [f"{other} <= {fewest[other] * 1e3:.3e}" for other in fewest if other != name]
        subject = [*others, f"{name} <= {limit:.6e}"]
        source.shuffle(subject)
        found = al.optimise(kind, subject=subject, **more["asked"]).found
        assert found.status == "infeasible"
        assert found.conflict
        for text in found.conflict:
            rest = [each for each in found.conflict if each != text]
            where = ", ".join(each for each in rest if each not in subject)
            asked = {**more["asked"], "where": where or None, "subject": [each for each in rest if each in subject]}
            assert al.optimise(kind, minimise="time", **asked).found.status != "infeasible"
        seen += 1


def test_question_a_of_the_paper() -> None:
    """V.A and (18): the memory of least energy, and any number of processors between n/M and n^2/M^2."""
    source = random.Random(18)
    for _ in range(drawn(20)):
        q = {name: between(source, *ends) for name, ends in QUANTITIES.items()}
        n, f, m = 10**6, source.randint(1, 50), source.choice([1, 100])
        found = al.optimise(
            NBODY, over="P,M", at={"n": n, "f": f, "m": m}, where="P*M >= n, P*M^2 <= n^2", parameters=q
        ).found
        b = q["beta_e"] + q["beta_t"] * q["eps_e"] + (q["alpha_e"] + q["alpha_t"] * q["eps_e"]) / m
        memory = sqrt(b / (q["delta_e"] * q["gamma_t"] * f))
        if not 1 < memory < n:
            continue
        assert found.at["M"] == pytest.approx(memory, rel=1e-6)
        assert found.variables["P"] == pytest.approx((max(1, n / memory), n**2 / memory**2), rel=1e-6)
        fixed = f * (q["gamma_e"] + q["gamma_t"] * q["eps_e"]) + q["delta_e"] * (q["beta_t"] + q["alpha_t"] / m)
        assert found.value == pytest.approx(n**2 * (fixed + 2 * sqrt(q["delta_e"] * q["gamma_t"] * f * b)), rel=1e-12)
        assert found.binding == ()


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"over": "P,M", "minimise": "time"}, "AL491"), ({"over": "P,M", "where": "P divides n"}, "AL411"),
        ({"over": "P", "at": {"n": 10, "f": 1, "m": 1}}, "AL402"),
        ({"target": "linear:F=n*log2(P)/P,W=n/P,S=P", "over": "P=1..8", "at": {"n": 9}}, "AL492"),
        ({"target": "linear:F=floor(n/P),W=n/P,S=P", "over": "P=1..8", "at": {"n": 9}}, "AL492"),
    ],
)  # fmt: skip
def test_what_is_refused(options: dict[str, Any], code: str) -> None:
    asked = {"target": NBODY, "machine": "jaketown", "at": {"n": 1000, "f": 1, "m": 1}, **options}
    refusal(lambda: al.optimise(asked.pop("target"), **asked), code)


LINEAR = {
    "gamma_t": 2.5e-12, "beta_t": 1.5e-10, "alpha_t": 6e-8, "gamma_e": 3.8e-10, "beta_e": 3.8e-10, "alpha_e": 1e-8,
    "delta_e": 5.8e-6, "eps_e": 0.1,
}  # fmt: skip
PAPER: dict[str, Any] = {
    "over": "P,M",
    "at": {"n": 10**6, "f": 20, "m": 100},
    "where": KINDS[NBODY][0],
    "parameters": LINEAR,
}


def coefficients() -> tuple[float, float, float, float]:
    """A and B of V.C, the time of a word with its message, and the energy of storage beside computation."""
    q, f, m = LINEAR, 20, 100
    word = q["beta_t"] + q["alpha_t"] / m
    a = f * (q["gamma_e"] + q["gamma_t"] * q["eps_e"]) + q["delta_e"] * word
    b = q["beta_e"] + q["beta_t"] * q["eps_e"] + (q["alpha_e"] + q["alpha_t"] * q["eps_e"]) / m
    return a, b, word, q["delta_e"] * q["gamma_t"] * f


OF_MATMUL = {"at": {"n": 35000, "m": 1000}, "where": KINDS[MATMUL][0]}
CLOSED: list[tuple[str, str, dict[str, Any]]] = [
    ("M", NBODY, {}), ("P,M", NBODY, {"subject": "time <= 1e-5"}),
    ("P,M", NBODY, {"subject": "energy <= 7610", "minimise": "time"}), ("P,M", NBODY, {"subject": "power <= 2 kW"}),
    ("P", NBODY, {"subject": "power <= 2 MW", "minimise": "time"}), ("M", NBODY, {"subject": "power/P <= 148"}),
    ("P,M", NBODY, {"minimise": "power"}), ("M", MATMUL, {**OF_MATMUL, "subject": "power/P <= 50"}),
    ("P", MATMUL, {**OF_MATMUL, "subject": "energy <= 30 kJ", "minimise": "time"}),
    ("M", MATMUL, OF_MATMUL),
    ("gamma_e", NBODY, {
        "at": {"n": 10**6, "f": 20, "m": 100, "P": 64, "M": 10**5}, "where": None, "over": "gamma_e=1e-13..1e-9",
        "minimise": "energy", "subject": "energy >= 7000", "machine": "jaketown",
    }),
]  # fmt: skip


@pytest.mark.parametrize(("names", "target", "options"), some([*CLOSED], 3))
def test_closed_forms_of_the_questions_of_the_paper(names: str, target: str, options: dict[str, Any]) -> None:
    """Formulas in the names of the machine, the sizes and the variables after them give what was found."""
    found = al.optimise(target, **{**PAPER, **options}).found
    assert ",".join(found.closed_form) == names
    known = {**LINEAR, **options.get("parameters", {}), **{**PAPER, **options}["at"], **found.at, "sqrt": sqrt}
    for name, text in found.closed_form.items():
        assert eval(text.replace("^", "**"), dict(known)) == pytest.approx(found.at[name], rel=1e-6)


def test_question_b_of_the_paper() -> None:
    """The least energy within a time below what is needed at M0: on as few processors as that takes, at the 2D limit."""
    n, limit = 10**6, 1e-5
    found = al.optimise(NBODY, subject=f"time <= {limit}", **PAPER).found
    _, _, word, _ = coefficients()
    root = (word * n + sqrt(word**2 * n**2 + 4 * limit * LINEAR["gamma_t"] * 20 * n**2)) / (2 * limit)
    assert (found.at["P"], found.at["M"]) == pytest.approx((root**2, n / root), rel=1e-6)
    assert set(found.binding) == {f"time <= {limit}", "P*M^2 <= n^2"}


def test_question_c_of_the_paper() -> None:
    """The least time within an energy: a 2D run on as many processors as the energy allows."""
    n, limit = 10**6, 7610.0
    found = al.optimise(NBODY, minimise="time", subject=f"energy <= {limit}", **PAPER).found
    a, b, _, storage = coefficients()
    root = (limit - a * n**2 + sqrt((limit - a * n**2) ** 2 - 4 * b * storage * n**4)) / (2 * n * b)
    assert (found.at["P"], found.at["M"]) == pytest.approx((root**2, n / root), rel=1e-6)


def test_questions_d_and_e_of_the_paper() -> None:
    """(20): the least energy within a power a processor has the memory that this allows, if that is below M0."""
    limit, q = 148.0, LINEAR
    found = al.optimise(NBODY, subject=f"power/P <= {limit}", **PAPER).found
    _, b, word, storage = coefficients()
    c = q["gamma_t"] * 20 * limit - 20 * q["gamma_e"] - q["eps_e"] * q["gamma_t"] * 20 - q["delta_e"] * word
    d = q["beta_e"] + q["alpha_e"] / 100 - word * limit + q["eps_e"] * word
    # The paper prints - eps_e*(beta_t + alpha_t/m): (2) has the leakage of that time too, with the other sign.
    most = (c + sqrt(c**2 - 4 * storage * d)) / (2 * storage)
    assert most < sqrt(b / storage)
    assert found.at["M"] == pytest.approx(most, rel=1e-6)
    total = al.optimise(NBODY, minimise="time", subject="power <= 2 kW", **PAPER).found
    assert total.binding[0] == "power <= 2 kW"
    assert total.gap <= 1e-6


def test_whole_processors_beside_real_memory() -> None:
    asked = {**PAPER, "over": "P=10..15,M"}
    found = al.optimise(NBODY, integer=["P"], minimise="time", subject="power <= 2 kW", **asked).found
    values = {}
    for processors in range(10, 16):
        asked = {**PAPER, "over": f"P={processors}..{processors},M"}
        values[processors] = al.optimise(NBODY, minimise="time", subject="power <= 2 kW", **asked).found.value
    known = {processors: value for processors, value in values.items() if value is not None}
    assert found.value == pytest.approx(min(known.values()), rel=1e-6)
    assert known[int(found.at["P"])] == pytest.approx(min(known.values()), rel=1e-6)


@pytest.mark.parametrize(
    ("target", "over", "sizes", "value", "first"),
    [
        ("roofline:W=n^3,Q=n^3/b", "b=1..1000", {"n": 10}, 1000 / 197.63e9, 1.0170),
        ("roofline:W=n^3,Q=n^3/b", "b=1..1000", {"n": 100}, 1e6 / 197.63e9, 1.0170),
        ("linear:F=100,W=100/M,S=0", "M=1..1000", {}, 2.52e-10, 61.29),
    ],
)
def test_where_a_maximum_is_flat(target: str, over: str, sizes: dict[str, int], value: float, first: float) -> None:
    """Beyond where the other side binds, all have the least time, however small that is."""
    machine, model = ("gtx-580@double", None) if target[0] == "r" else ("jaketown", "linear+overlap")
    found = al.optimise(target, machine=machine, model=model, over=over, at=sizes, minimise="time").found
    assert found.status == "optimal"
    assert found.value == pytest.approx(value, rel=1e-3)
    (span,) = found.ranges.values()
    assert span == pytest.approx((first, 1000), rel=1e-3)


def test_overlapping_times_and_their_power() -> None:
    """A maximum in the time is one of its terms, also where a larger time helps."""
    source, terms = random.Random(3), NBODY.replace("linear", "linear+overlap")
    for _ in range(drawn(12, least=3)):
        limit = between(source, 500, 5000)
        found = al.optimise(terms, minimise="time", subject=f"power <= {limit}", **PAPER).found
        best = np.inf
        m0, m1, p0, p1 = 0.0, log(1e6), 0.0, log(1e9)
        for _ in range(10):
            P, M = (np.exp(each) for each in np.meshgrid(np.linspace(p0, p1, 81), np.linspace(m0, m1, 81)))
            flops, words = 20 * 1e12 / P, 1e12 / (P * M)
            parts = LINEAR["gamma_t"] * flops, LINEAR["beta_t"] * words, LINEAR["alpha_t"] * words / 100
            time = np.maximum(np.maximum(parts[0], parts[1]), parts[2])
            moved = LINEAR["gamma_e"] * flops + (LINEAR["beta_e"] + LINEAR["alpha_e"] / 100) * words
            power = P * (moved / time + LINEAR["delta_e"] * M + LINEAR["eps_e"])
            allowed = (P * M >= 1e6 * (1 - 1e-12)) & (P * M**2 <= 1e12 * (1 + 1e-12)) & (power <= limit)
            values = np.where(allowed, time, np.inf)
            place = np.unravel_index(int(np.argmin(values)), values.shape)
            best = min(best, float(values[place]))
            half_p, half_m = (p1 - p0) / 6, (m1 - m0) / 6
            p0, p1 = max(0.0, log(P[place]) - half_p), log(P[place]) + half_p
            m0, m1 = max(0.0, log(M[place]) - half_m), log(M[place]) + half_m
        assert found.value <= best * (1 + 1e-6)
        assert found.bound <= best * (1 + 1e-9)


@long
def test_parameters_for_a_target() -> None:
    """V.F for derived costs: energies are sums of products of parameters, so that the dearest that suffices is exact."""
    target, at = al.algorithm("distributed.matmul::cannon"), {"n": 64, "g": 4}
    subject = "flops_per_joule >= 20 Gflop/J"
    asked: dict[str, Any] = {"machine": "jaketown", "at": at, "subject": subject}
    halved = al.optimise(target, halve="gamma_e,beta_e=delta_e", **asked).found
    estimate = al.energy(target, machine="jaketown", at=at).result.estimate
    base, amounts, counts = machine("jaketown"), estimate.amounts, {}
    for gamma in range(8):
        for rest in range(8):
            times = {"gamma_e": gamma, "beta_e": rest, "delta_e": rest}
            parameters = {
                name: read_parameter(name, str(base.values[name] / 2**count)) for name, count in times.items()
            }
            single = estimate_amounts(find_model("linear"), base.with_parameters(parameters), amounts).flops_per_joule
            assert single is not None
            if single.lower >= 20 * 10**9:
                counts[gamma, rest] = gamma + rest
    assert halved.value == min(counts.values())
    assert counts[int(halved.at["gamma_e"]), int(halved.at["beta_e=delta_e"])] == halved.value
    real = al.optimise(target, over="gamma_e=1e-12..1e-9,beta_e=1e-12..1e-9", minimise="power", **asked).found
    assert real.status == "optimal"
    assert real.method == "geometric program"
    assert al.optimise(target, halve="beta_e", **asked).found.conflict == (subject,)


FORMULAS: list[tuple[str, str, str, float]] = [
    ("(x-2)^6+1", "x=1..8", "", 1), ("10^9*max(1,(x-5)^4)", "x=1..8", "", 10**9),
    ("10^6*max(x-7,7-x)+10^6", "x=1..40", "", 10**6), ("max(x-5,1-x)+10", "x=1..8", "", 8),
    ("x^3-9*x^2+24*x", "x=1..8", "", 16), ("100*x-x^2", "x=1..80", "", 99), ("(x-5)^2+1", "x", "", 1),
    ("(x-5)^2+(y-3)^2+(z-2)^2+1", "x=1..8,y=1..8,z=1..8", "", 1), ("x+y", "x=1..9,y=1..9", "x^2+y^2 >= 50", 8),
    ("100*(y-x^2)^2+(1-x)^2+1", "x=0.1..4,y=0.1..4", "", 1), ("1+x^2/y", "x=1..9,y=1..9", "x-y >= 2", 9),
    ("(x^2+y-11)^2+(x+y^2-7)^2+1", "x=0..6,y=0..6", "", 1), ("sqrt(x^2+1)-x/2+1", "x=0.1..9", "", 1 + sqrt(3) / 2),
    ("x/(y+1)+y/(x+1)+1", "x=0.1..9,y=0.1..9", "", 13 / 11), ("x^2-6*x+8", "x=0.1..9", "", 0), ("1-x", "x=0.1..9", "", 0),
]  # fmt: skip


@pytest.mark.parametrize(("flops", "over", "where", "least"), some([*FORMULAS], 3))
def test_optima_that_are_known_by_hand(flops: str, over: str, where: str, least: float) -> None:
    """A time of 1 s a flop shows them. Where parts are below 0 the sums are not, for they are amounts."""
    asked: dict[str, Any] = {"over": over, "where": where or None, "machine": "jaketown"}
    found = al.optimise(f"linear:F={flops},W=0,S=0", minimise="time", parameters={"gamma_t": "1 s/flop"}, **asked).found
    assert found.status == "optimal"
    assert found.value == pytest.approx(least, rel=1e-6, abs=1e-9)
    assert found.bound <= least * (1 + 1e-12)
