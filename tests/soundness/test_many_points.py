"""Upper bounds at arrays of points against exact evaluation of the regimes, one by one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import archline as al
from archline.algebra.evaluate.exact import evaluate
from archline.analysis import vectorised as many

KERNELS = (
    "dense.matmul::matmul_basic",
    "dense.lu::lu",
    "dense.transpose_recursive::transpose_co",
    "stencil.jacobi_2d::jacobi_2d",
    "sparse.csr::spmv_csr",
    "sparse.block::spmv_block",
    "fft.fft::fft",
    "scan.prefix_sum::prefix_sum_tree",
    "nbody.direct::nbody_direct",
    "sort.merge::merge",
)
COUNT = 40
MATMUL = {"n": 3, "m": 4, "p": 5, "Z": 64, "L": 4}


def least_of_regimes(report: al.CostReport, point: Mapping[str, int]) -> int:
    """The regimes evaluated in rationals."""
    cost = report.costs["io"]
    assert cost.plans
    return min(evaluate(plan.value, point) for plan in cost.plans if plan.where.contains(point)).__floor__()


def random_points(report: al.CostReport, largest: int, seed: int) -> dict[str, Any]:
    """Sizes from their least to 10^`largest`, a few words a line, Z from one line to all and more."""
    generator = np.random.default_rng(seed)
    least = report.names.sizes
    points = {name: least[name] + magnitudes(generator, largest) for name in least}
    if report.name in ("fft", "prefix_sum_tree"):
        points["n"] = 2 ** generator.integers(0, min(60, 3 * largest), COUNT)
    points["L"] = generator.choice([1, 2, 3, 8, 16], COUNT)
    # A third has Z below two lines, among them Z = L.
    extra = np.where(generator.random(COUNT) < 0.3, 0, magnitudes(generator, min(18, 2 * largest)))
    points["Z"] = points["L"] + np.minimum(extra, 10**18) + generator.integers(0, 2, COUNT)
    return points


def with_offsets(points: dict[str, Any]) -> dict[str, Any]:
    """The points with sizes that arrays of offsets can have: longest <= total <= segments*longest."""
    total = points.get("nz")
    if total is None:
        return points
    longest, segments = ("nr", "n") if "nr" in points else ("nmax", "nb")
    most = np.clip(points[longest], np.minimum(total, 1), total)
    least = -(-total // np.maximum(most, 1))
    # Blocks have nb^2 segments.
    least = least if segments == "n" else np.ceil(np.sqrt(least)).astype(np.int64)
    return {**points, longest: most, segments: np.maximum(points[segments], least)}


def magnitudes(generator: np.random.Generator, largest: int) -> np.ndarray:
    """0, 1 and numbers of all magnitudes."""
    return np.floor(10 ** (generator.random(COUNT) * largest)).astype(np.int64) - 1


@pytest.mark.parametrize("largest", [2, 12])
@pytest.mark.parametrize("target", KERNELS)
def test_the_least_regime_at_every_point(target: str, largest: int) -> None:
    report = al.algorithm(target).cost()
    points = random_points(report, largest, len(target))
    found = report.io.upper_at(points)
    assert found.shape == (COUNT,)
    for place, bound in enumerate(found.tolist()):
        point = {name: int(values[place]) for name, values in points.items()}
        assert bound == least_of_regimes(report, point), point
        assert type(bound) is int


@pytest.mark.parametrize("target", KERNELS)
def test_one_point_by_at_is_never_above(target: str) -> None:
    report = al.algorithm(target).cost()
    points = with_offsets({name: values[:8] for name, values in random_points(report, 1, 7).items()})
    for place, bound in enumerate(report.io.upper_at(points)):
        value = report.io.at({name: int(values[place]) for name, values in points.items()})
        assert isinstance(value, tuple)
        assert value[1] <= bound


def test_chunks_of_mixed_magnitudes_come_back_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    report = al.algorithm("dense.matmul::matmul_basic").cost()
    points = random_points(report, 9, 3)
    whole = report.io.upper_at(points)
    assert whole.dtype == object
    monkeypatch.setattr(many, "CHUNK", 7)
    assert report.io.upper_at(points).tolist() == whole.tolist()
    small = {name: values % 1000 + 1 for name, values in points.items()} | {"Z": 4096, "L": 8}
    assert report.io.upper_at(small).dtype == np.int64


def test_sizes_beyond_64_bits() -> None:
    report = al.algorithm("dense.matmul::matmul_basic").cost()
    point = {"n": 10**30, "m": 3, "p": 10**25, "Z": 2**80, "L": 8}
    assert report.io.upper_at(point).item() == least_of_regimes(report, point)
    assert report.io.upper_at(n=np.array([2**63], np.uint64), m=1, p=1, Z=1, L=1).tolist() == [3 * 2**63]


def test_arrays_are_broadcast() -> None:
    report = al.algorithm("dense.matmul::matmul_basic").cost()
    n, words = np.array([4, 60]), [8, 64, 10**6]
    found = report.io.upper_at(n=n[:, None], m=9, p=10, Z=np.array(words)[None, :], L=8)
    expected = [
        [least_of_regimes(report, {"n": int(each), "m": 9, "p": 10, "Z": z, "L": 8}) for z in words] for each in n
    ]
    assert found.tolist() == expected
    assert report.io.upper_at(MATMUL).shape == ()
    assert report.io.upper_at({**MATMUL, "n": []}).shape == (0,)


def test_other_metrics() -> None:
    report = al.algorithm("dense.matmul::matmul_basic").cost()
    sizes = {"n": [1, 2, 300], "m": 7, "p": [1, 5, 900]}
    assert report.flops.upper_at(sizes).tolist() == [14, 140, 2 * 300 * 7 * 900]
    assert report.span.upper_at(n=5, m=1, p=1).item() == report.span.at(n=5, m=1, p=1)
    # The time is a number of steps.
    text = "algorithm half(x: inout real[n]):\n    x[0] += 1.0"
    timed = al.loads(text)["half"].cost().time(4)
    value = timed.at(n=1)
    assert isinstance(value, tuple)
    assert value[1] == int(value[1]) <= timed.upper_at(n=1).item() <= value[1] + 1


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"n": 2.0}, "AL404"),
        ({"n": np.array([1.5, 2])}, "AL404"),
        ({"n": [1, True]}, "AL404"),
        ({"n": ["x"]}, "AL404"),
        ({"n": [3, 0]}, "AL406"),
        ({"Z": 0}, "AL406"),
        ({"k": 1}, "AL401"),
        ({"n": None}, "AL402"),
        ({"Z": [64, 3]}, "AL408"),
        ({"n": [1, 2], "m": [1, 2, 3]}, "AL416"),
    ],
    ids=str,
)
def test_wrong_points_are_refused(change: dict[str, Any], code: str) -> None:
    report = al.algorithm("dense.matmul::matmul_basic").cost()
    given = {name: value for name, value in {**MATMUL, **change}.items() if value is not None}
    with pytest.raises(al.ArchlineError) as caught:
        report.io.upper_at(given)
    assert {each.rule.code for each in caught.value.diagnostics} == {code}


@pytest.mark.parametrize(
    ("where", "name", "values", "wrong"),
    [
        ("n >= 2*m", "n", [20, 7, 6], "n = 7"),
        ("n*m < 40, n != m + 3", "n", [9, 7], "n = 7"),
        ("m divides n", "n", [8, 12, 10], "n = 10"),
        ("n is power of 2", "n", [8, 12], "n = 12"),
        ("Z >= L^2", "Z", [16, 15], "Z = 15"),
        ("Z >= L*L + 1", "Z", [17, 16], "Z = 16"),
    ],
)
def test_facts_hold_at_every_point(where: str, name: str, values: list[int], wrong: str) -> None:
    report = al.algorithm("dense.matmul::matmul_basic").cost(where=where)
    given: dict[str, Any] = {**MATMUL, "n": 8, name: values}
    with pytest.raises(al.ArchlineError, match=wrong):
        report.io.upper_at(given)
    assert report.io.upper_at({**given, name: values[:1]}).shape == (1,)


def test_unknown_io_is_refused_with_its_reason() -> None:
    text = "algorithm main(m: size, y: inout real[n]):\n    for i in 0..n:\n        for k in 0..m^n:\n"
    report = al.loads(text + "            y[i] += 1.0\n")["main"].cost()
    with pytest.raises(al.ArchlineError, match="a power with a symbolic base and exponent"):
        report.io.upper_at(n=5, m=2, Z=8, L=1)


def test_programs_without_arrays_fetch_nothing() -> None:
    report = al.loads("algorithm none(n: size):\n    for i in 0..n:\n        local s: real = 1.0")["none"].cost()
    assert report.io.status == "exact"
    assert report.io.upper_at(n=[1, 2]).tolist() == [0, 0]
