"""The picture of a roofline has, at an algorithm's intensity, the power and the shares that `energy` computes."""

import re
from typing import Any

import pytest

import archline as al
from archline.api import pictures
from archline.energy.estimates import Estimate
from archline.energy.machine_files import machine
from archline.energy.machines import read_parameter

A100 = "a100-sxm4-40gb"
KERNELS = {
    "dense.matmul::matmul_basic": {"n": 512, "m": 512, "p": 512},
    "dense.gemv::gemv": {"n": 4096, "m": 4096},
    "scan.reduce::sum": {"n": 2**20},
}
FIGURES = {"roofline": "of peak flop/s", "arch line": "of peak flop/J"}


def place(points: Any, name: str) -> list[dict[str, Any]]:
    """The rows at the intensity of an algorithm, or at its ends."""
    return [dict(each) for each in points if str(each["at"]) in (name, f"{name}, least", f"{name}, most")]


def estimate(target: str, at: dict[str, int]) -> Estimate:
    """What `energy` computes."""
    found = al.energy(target, machine=A100, model="roofline+levels", at=at).result.estimate
    assert found is not None
    return found


def within(value: float, low: Any, high: Any) -> bool:
    return float(low) * (1 - 1e-9) <= value <= float(high) * (1 + 1e-9)


@pytest.mark.parametrize("target", KERNELS)
def test_the_rows_of_an_algorithm_are_those_of_energy(target: str) -> None:
    at = KERNELS[target]
    found = estimate(target, at)
    picture = pictures.roofline(A100, target, at=at)
    assert "model roofline+levels" in str(picture)
    rows = place(picture.points, target.partition("::")[2])
    assert rows
    for row in rows:
        assert within(row["power"], found.power.lower, found.power.upper)
        for column, figure in FIGURES.items():
            assert within(row[column], found.figures[figure].lower, found.figures[figure].upper)
        parts = row["constant"] + row["memory"] + row["computation"] + row["caches"]
        assert parts == pytest.approx(row["power"])


def test_the_caches_of_a_matrix_vector_product_by_hand() -> None:
    """In 86.4 us of memory traffic: 3.415 mJ in level 1 and 5.061 mJ in level 2, of 28.18 mJ in all."""
    (row,) = place(pictures.roofline(A100, "dense.gemv::gemv", at=KERNELS["dense.gemv::gemv"]).points, "gemv")
    assert row["caches"] == pytest.approx((3.415e-3 + 5.061e-3) / 86.38e-6, rel=1e-3)
    assert row["power"] == pytest.approx(28.18e-3 / 86.38e-6, rel=1e-3)


def test_each_of_several_algorithms_has_lines_of_its_own() -> None:
    at = KERNELS["dense.matmul::matmul_basic"]
    names = ("matmul_basic", "matmul_ikj")
    targets = [f"dense.matmul::{name}" for name in names]
    picture = pictures.roofline(A100, *targets, at=at)
    assert "model roofline, of each algorithm roofline+levels" in " ".join(str(picture).split())
    for name, target in zip(names, targets, strict=True):
        found = estimate(target, at)
        for row in place(picture.points, name):
            assert within(row[f"power, {name}"], found.power.lower, found.power.upper)
            for column, figure in FIGURES.items():
                assert within(row[f"{column}, {name}"], found.figures[figure].lower, found.figures[figure].upper)


def test_without_levels_the_lines_are_as_they_were() -> None:
    alone = pictures.roofline(A100)
    assert "model roofline\n" in str(alone)
    assert "caches" not in alone.points[0]
    assert "y = 1/2" in {each["at"] for each in alone.points}


def test_power_above_the_thermal_design_power_is_said() -> None:
    """400 W of the card; its matrix product takes 588 W at least, its matrix-vector product 326 W."""
    at = KERNELS["dense.matmul::matmul_basic"]
    note = "the power is above the thermal design power, 400.0 W"
    assert note in str(al.energy("dense.matmul::matmul_basic", machine=A100, at=at))
    assert f"matmul_basic: {note}" in str(pictures.roofline(A100, "dense.matmul::matmul_basic", at=at))
    below = al.energy("dense.gemv::gemv", machine=A100, at=KERNELS["dense.gemv::gemv"])
    assert "thermal design power" not in str(below)
    between = machine(A100).with_parameters({"power_rated": read_parameter("power_rated", "600 W")})
    perhaps = al.energy("dense.matmul::matmul_basic", machine=between, at=at)
    assert "the power may be above the thermal design power, 600.0 W" in str(perhaps)


@pytest.mark.parametrize("target", KERNELS)
@pytest.mark.parametrize("bandwidth", [5 * 10**10, 5 * 10**11, 5 * 10**12, 5 * 10**13])
def test_the_page_names_the_side_that_binds_and_the_next_one(target: str, bandwidth: int) -> None:
    at = KERNELS[target]
    rates = {"bandwidth": f"{bandwidth} B/s", "L2_bandwidth": "3000 GB/s"}
    changed = machine(A100).with_parameters({name: read_parameter(name, rate) for name, rate in rates.items()})
    found = al.energy(target, machine=changed, model="roofline+levels", at=at)
    estimate = found.result.estimate
    assert estimate is not None
    named = re.search(r"bound by +(.*?), ([\d.]+)(?: \.\. [\d.]+)? times (.*)", str(found))
    assert named, str(found)
    times = sorted(((side.upper, name) for name, side in estimate.sides.items()), reverse=True)
    assert [named[1], named[3]] == [name for _, name in times[:2]]
    assert float(named[2]) <= float(times[0][0] / times[1][0]) * 1.01


def test_a_page_of_several_rooflines_fits_a_screen() -> None:
    targets = [*KERNELS][:2]
    text = str(pictures.roofline(A100, *targets, at={"n": 1024, "m": 1024, "p": 1024}))
    lines = text.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 120
    (row,) = [line.split() for line in lines if line.split()[1:2] == ["gemv"]]
    gemv = estimate(targets[1], {"n": 1024, "m": 1024})
    assert within(float(row[4]), float(gemv.power.lower) * 0.999, float(gemv.power.upper) * 1.001)
