"""`archline optimise` over real numbers: against refined grids, with bounds that hold and gradients that cancel."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from math import exp, log, sqrt
from typing import Any

import numpy as np
import pytest

import archline as al
from archline.energy.optimise.problem import Optimum
from effort import drawn
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


def answers(kind: str, at: Values, machine: Values, P: Any, M: Any) -> Values:
    """Equations (1) and (2), written down once more."""
    costs = KINDS[kind][1](at["n"], at["f"], at["m"], P, M)
    time = machine["gamma_t"] * costs["F"] + machine["beta_t"] * costs["W"] + machine["alpha_t"] * costs["S"]
    moved = machine["gamma_e"] * costs["F"] + machine["beta_e"] * costs["W"] + machine["alpha_e"] * costs["S"]
    energy = P * (moved + (machine["delta_e"] * M + machine["eps_e"]) * time)
    found = {"time": time, "energy": energy, "power": energy / time, "energy_delay": energy * time}
    return {**found, "power/P": found["power"] / P}


def least(
    kind: str, at: Values, machine: Values, by: str, limits: Mapping[str, float], box: Mapping[str, tuple[float, float]]
) -> float:
    """The least value on a grid that is refined around its best points; infinite where none is feasible."""
    best = np.inf
    (p0, p1), (m0, m1) = (tuple(map(log, box[name])) for name in ("P", "M"))
    for _ in range(12):
        P, M = (np.exp(each) for each in np.meshgrid(np.linspace(p0, p1, 61), np.linspace(m0, m1, 61)))
        found = answers(kind, at, machine, P, M)
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
    machine = {name: between(source, *ends) for name, ends in QUANTITIES.items()}
    box = {"P": (1.0, 10.0 ** source.randint(2, 6)), "M": (1.0, 10.0 ** source.randint(6, 12))}
    used = at if kind == NBODY else {name: at[name] for name in (("n", "m") if "m" in kind else ("n",))}
    over = ",".join(f"{name}={low:.0f}..{high:.0f}" for name, (low, high) in box.items())
    asked = {"over": over, "at": used, "where": KINDS[kind][0], "parameters": machine}
    return kind, at, machine, {"box": box, "asked": asked}


def value(at: Values, found: Optimum) -> tuple[float, float]:
    return float(found.at["P"]), float(found.at["M"])


def test_the_optimum_is_that_of_refined_grids() -> None:
    source = random.Random(35)
    solved = 0
    for _ in range(drawn(100, least=20)):
        kind, at, machine, more = problem(source)
        by = source.choice(["energy", "energy", "time", "power", "energy_delay"])
        limits: dict[str, float] = {}
        free = least(kind, at, machine, by, {}, more["box"])
        if source.random() < 0.7 and np.isfinite(free):
            name = source.choice([each for each in ("time", "energy", "power", "power/P") if each != by])
            limits[name] = float(f"{least(kind, at, machine, name, {}, more['box']) * between(source, 0.95, 3):.6e}")
        subject = [f"{name} <= {limit:.6e}" for name, limit in limits.items()]
        expected = least(kind, at, machine, by, limits, more["box"])
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
        own = answers(kind, at, machine, P, M)
        assert own[by] == pytest.approx(found.value, rel=1e-9)
        assert found.value <= expected * (1 + 1e-6), (kind, by, limits)
        assert found.bound <= expected * (1 + 1e-9)
        assert found.gap <= 1e-6
        assert all(own[name] <= limit * (1 + 1e-7) for name, limit in limits.items())
        assert all(LIMITS[text](at["n"], P, M) >= 1 - 1e-7 for text in KINDS[kind][0].split(", "))
        if found.method == "geometric program":
            assert found.gap <= 1e-9
    assert solved > 10


def test_what_cannot_be_satisfied_is_named_and_nothing_else() -> None:
    source, seen = random.Random(9), 0
    while seen < drawn(50, least=4):
        kind, at, machine, more = problem(source)
        fewest = {name: least(kind, at, machine, name, {}, more["box"]) for name in ("time", "energy", "power")}
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
