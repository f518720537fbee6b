"""`Energy.upper_at`: the same answers at many sizes and parameters at once."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import archline as al
from effort import long, some
from energy_support import refusal

BASIC, CO, GEMV = "dense.matmul::matmul_basic", "dense.matmul::matmul_co", "dense.gemv::gemv"


def upper(value: Any) -> float:
    return float(value[1] if isinstance(value, tuple) else value)


def close(one: Any, other: Any) -> bool:
    return bool(np.allclose(one, other, rtol=1e-12, atol=0))


CASES = [
    (BASIC, "gtx-580", "ice"), (BASIC, "gtx-580", "roofline"), (GEMV, "gtx-580", "roofline+cache"),
    (GEMV, "gtx-580", "linear"), ("dense.matmul::matmul_ijk", "i7-950", "linear+overlap"),
    ("dense.transpose::transpose", "xeon-e5-2650l-v3", "ice"), ("scan.reduce::sum", "i7-950@single", "roofline"),
    ("dense.matmul::matmul_blocked", "gtx-580", "roofline+cap"),
]  # fmt: skip


@long
@pytest.mark.parametrize(("target", "machine", "name"), CASES, ids=[f"{t} {m} {o}" for t, m, o in CASES])
def test_algorithms_agree_with_single_answers(target: str, machine: str, name: str) -> None:
    """Upper bounds at points; a single answer may be lower where io has a sharper bound at sizes, never higher."""
    source = random.Random(target)
    given = {"power_limit": "300 W"} if "cap" in name else {}
    energy = al.energy(target, machine=machine, model=name, parameters=given)
    names = sorted(al.algorithm(target).cost().names.sizes)
    points = [{each: source.randint(1, 60) for each in names} for _ in range(6)]
    arrays = {each: np.array([point[each] for point in points]) for each in names}
    words, line = source.choice([(64, 4), (512, 8), (32768, 8)])
    found = energy.upper_at({**arrays, "Z": words, "L": line})
    cost = al.algorithm(target).cost()
    expected: dict[str, Any] = {}
    for place, point in enumerate(points):
        single = al.energy(target, machine=machine, model=name, parameters=given, at=point, cache=al.Cache(words, line))
        expected = {"energy": single.total, "time": single.time, **single.parts}
        same_io = upper(cost.io.at({**point, "Z": words, "L": line})) == float(
            cost.io.upper_at({**point, "Z": words, "L": line})
        )
        for key, value in expected.items():
            if value is None:
                assert key not in found
            elif same_io:
                assert close(found[key][place], upper(value)), key
            else:
                assert found[key][place] >= upper(value) * (1 - 1e-12), key
    assert set(found) == {key for key, value in expected.items() if value is not None}


@pytest.mark.parametrize(
    "target",
    some(["sort.insertion_sort::insertion_sort", "sort.mergesort::mergesort", CO]),
)
@pytest.mark.parametrize("name", some(["ice", "roofline", "linear"]))
def test_bounds_hold_where_amounts_are_only_bounded(target: str, name: str) -> None:
    """ICE divides by work: of a bounded one the lower end is taken."""
    energy = al.energy(target, machine="gtx-580", model=name)
    sizes = {each: np.array([2, 9, 24]) for each in al.algorithm(target).cost().names.sizes}
    found = energy.upper_at(sizes)
    for place, size in enumerate((2, 9, 24)):
        single = al.energy(target, machine="gtx-580", model=name, at=dict.fromkeys(sizes, size))
        for key, value in {"energy": single.total, "time": single.time, **single.parts}.items():
            assert found[key][place] >= upper(value) * (1 - 1e-12), key


FORMULAS = [
    ("linear:F=n^3/P,W=n^3/(P*sqrt(M)),S=n^3/(P*sqrt(M)*m)", "jaketown", ("n", "P", "M", "m")),
    ("ice:work=3*n^3,span=n + log2(n),io=n^3/(L*sqrt(Z))", "xeon-e5-2650l-v3", ("n",)),
    ("ice:work=3*n*m,span=max(n, m)^(3/2)/sqrt(n*m),io=n", "gtx-580", ("n", "m")),
    ("roofline:W=2*n^2,Q=ceil(n/8)*64 + floor(n/3)", "gtx-580@single", ("n",)),
    ("roofline+cap:W=n^w,Q=8*n^2", "gtx-580@single", ("n", "w")),
    ("linear+overlap:F=n*log2(n)/P,W=n*log2(P)/P,S=log2(P),memory=n/P", "jaketown", ("n", "P")),
]


@pytest.mark.parametrize(("target", "machine", "names"), FORMULAS, ids=[f[0] for f in FORMULAS])
def test_formulas_agree_with_single_answers(target: str, machine: str, names: tuple[str, ...]) -> None:
    source = random.Random(target)
    energy = al.energy(target, machine=machine)
    points = [{each: source.randint(2, 60) for each in names} for _ in range(12)]
    for point in points:
        if "w" in point:
            point["w"] = source.randint(2, 3)
    found = energy.upper_at({each: np.array([point[each] for point in points]) for each in names})
    for place, point in enumerate(points):
        single = al.energy(target, machine=machine, at=point)
        for key, value in {"energy": single.total, "time": single.time, **single.parts}.items():
            if value is None:
                assert key not in found
            else:
                # Irrational numbers are known between bounds.
                low, high = (float(each) for each in (value if isinstance(value, tuple) else (value, value)))
                assert low * (1 - 1e-12) <= found[key][place] <= high * (1 + 1e-12), (key, point)
                assert high - low <= 1e-9 * high
    assert close(found["energy"], sum(found[key] for key in energy.result.model.energy))


def test_a_size_may_be_named_like_a_quantity() -> None:
    target = "linear:F=gamma_t*n,W=word,S=1,M=1,P=1"
    at = {"gamma_t": 5, "n": 7, "word": 3}
    single = al.energy(target, machine="jaketown", at=at)
    assert close(al.energy(target, machine="jaketown").upper_at(at)["energy"], upper(single.total))
    # 35 flops at 2.5202 ps, 3 words at 156 ps, one message of 60 ns.
    assert close(upper(single.time), 35 * 2.5202e-12 + 3 * 1.56e-10 + 6e-8)


def test_a_parameter_that_the_machine_lacks() -> None:
    """The time of ICE needs the static power, which the Xeon's table does not give."""
    energy = al.energy(BASIC, machine="xeon-e5-2650l-v3")
    sizes = {"n": 30, "m": 20, "p": 10}
    assert "time" not in energy.upper_at(sizes)
    found = energy.upper_at(sizes, parameters={"pi0": np.array([10.0, 20.0])})
    np.testing.assert_allclose(found["time"] * [10, 20], [found["static"][0]] * 2, rtol=1e-12)


def test_the_cache_may_be_an_array() -> None:
    energy = al.energy(BASIC, machine="xeon-e5-2650l-v3")
    words = np.array([64, 512, 4096])
    found = energy.upper_at(n=30, m=20, p=10, Z=words, L=8)
    cost = al.algorithm(BASIC).cost()
    for place, each in enumerate(words):
        lines = cost.io.upper_at(n=30, m=20, p=10, Z=int(each), L=8)
        assert close(found["memory"][place], 8.86e-9 * float(lines))
    assert list(found["memory"]) == sorted(found["memory"], reverse=True)
    plain = energy.upper_at(n=30, m=20, p=10)
    assert close(plain["energy"], energy.upper_at(n=30, m=20, p=10, Z=32768, L=8)["energy"])


def test_many_points() -> None:
    energy = al.energy(BASIC, machine="xeon-e5-2650l-v3")
    n = np.arange(1, 20001)
    found = energy.upper_at(n=n, m=3, p=3)
    assert found["energy"].shape == (20000,)
    assert close(found["computation"], 0.263e-9 * (27 * n + 3 * n + n + 1))
    assert close(found["energy"], found["computation"] + found["memory"] + found["static"])


def test_wrong_sizes_and_parameters() -> None:
    energy = al.energy(BASIC, machine="gtx-580", model="roofline")
    refusal(lambda: energy.upper_at(n=3, m=3), "AL402")
    refusal(lambda: energy.upper_at(n=3, m=3, p=3, k=3), "AL401")
    refusal(lambda: energy.upper_at(n=0, m=3, p=3), "AL406")
    refusal(lambda: energy.upper_at(n=2.5, m=3, p=3), "AL404")
    refusal(lambda: energy.upper_at(n=np.array([1, 2]), m=np.array([1, 2, 3]), p=3), "AL416")
    assert "eps_flop" in (
        refusal(lambda: energy.upper_at(n=3, m=3, p=3, parameters={"eps_flip": 1.0}), "AL401").hint or ""
    )
    formulas = al.energy("roofline:W=n,Q=1", machine="gtx-580")
    refusal(formulas.upper_at, "AL402")
    refusal(lambda: formulas.upper_at(n=3, k=3), "AL401")
