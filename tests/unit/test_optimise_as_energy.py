"""`optimise` answers by what `energy` says at each point: its levels of caches, its remarks, and which values will do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import archline as al
from archline.api.pictures import roofline
from cli_support import cli
from effort import long
from energy_support import refusal

A100 = "a100-sxm4-40gb"
BLOCKED = "dense.matmul::matmul_blocked"
AT = {"n": 12, "m": 12, "p": 12}
LEVELS = """
title = "Two levels"
[quantity]
peak = { value = "100", unit = "Gflop/s", kind = "assumed", source = "a test" }
bandwidth = { value = "1", unit = "GB/s", kind = "assumed", source = "a test" }
word = { value = "8", unit = "B/word", kind = "assumed", source = "a test" }
line = { value = "32", unit = "B/line", kind = "assumed", source = "a test" }
[level.L1.quantity]
capacity = { value = "1", unit = "KiB", kind = "assumed", source = "a test" }
bandwidth = { value = "400", unit = "GB/s", kind = "assumed", source = "a test" }
[level.L2.quantity]
capacity = { value = "4", unit = "KiB", kind = "assumed", source = "a test" }
bandwidth = { value = "1", unit = "GB/s", kind = "assumed", source = "a test" }
"""
GEMM = """
algorithm gemm(A: real[m, k], B: real[k, n], C: inout real[m, n]):
    for i in 0..m:
        for j in 0..n:
            for p in 0..k:
                C[i, j] += A[i, p]*B[p, j]

algorithm gemm_blocked(A: real[m, k], B: real[k, n], C: inout real[m, n], b: size):
    where b divides m, b divides n, b divides k
    for i in 0..m step b:
        for j in 0..n step b:
            for p in 0..k step b:
                gemm(A[i ..+ b, p ..+ b], B[p ..+ b, j ..+ b], C[i ..+ b, j ..+ b])
"""


@pytest.fixture
def levels(tmp_path: Path) -> str:
    (tmp_path / "levels.toml").write_text(LEVELS)
    return str(tmp_path / "levels.toml")


def time_of(target: str, machine: str, **sizes: int) -> float:
    """The time that `energy` says."""
    estimate = al.energy(target, machine=machine, at=sizes).result.estimate
    assert estimate is not None
    return float(estimate.time.upper)


@long
def test_the_levels_of_a_machine_count(levels: str) -> None:
    times = {b: time_of(BLOCKED, levels, b=b, **AT) for b in range(1, 13)}
    found = al.optimise(BLOCKED, machine=levels, over="b=1..12", at=AT, minimise="time")
    assert found.answer.model == "roofline+levels"
    assert "no model is given, and the machine has levels of caches: roofline+levels is used" in found.notes
    assert found.value == pytest.approx(min(times.values()))
    assert found.at["b"] == min(times, key=lambda b: times[b])
    near = [b for b, time in times.items() if time <= 1.01 * found.value]
    assert found.ranges["b"] == (near[0], near[-1])


@long
def test_levels_beside_a_quantity_that_varies(levels: str) -> None:
    """Up to 0.2 GB/s the second level takes longest at each b, so that its bandwidth is as large as it may be."""
    over = "b=4..12,L2_bandwidth=1e8..2e8"
    found = al.optimise(BLOCKED, machine=levels, over=over, at=AT, minimise="time")
    assert found.at["L2_bandwidth"] == pytest.approx(2e8)
    times = {
        b: al.energy(BLOCKED, machine=levels, at={**AT, "b": b}, parameters={"L2_bandwidth": 2e8}).result.estimate.time
        for b in range(4, 13)
    }
    assert found.value == pytest.approx(min(float(time.upper) for time in times.values()), rel=1e-6)


@long
def test_bounds_over_boxes_are_below_the_times_of_levels(levels: str) -> None:
    target = "dense.gemv::gemv"
    asked = ("--over", "n=1..1500,m=1..1500", "--minimise", "time", "--subject", "flops >= 10^6", "--time-limit", "3")
    found = json.loads(cli("optimise", target, "--machine", levels, *asked, "--format", "json").out)
    assert found["model"] == "roofline+levels"
    for n, m in ((1000, 500), (500, 1000), (1500, 334), (1414, 354)):
        assert found["bound"] <= time_of(target, levels, n=n, m=m)
    at = found["at"]
    assert found["objective"]["value"] == pytest.approx(time_of(target, levels, n=at["n"], m=at["m"]))


@pytest.mark.parametrize("wrong", [{"over": "b,Z=8..64"}, {"over": "b,L1_capacity=512..1024"}, {"cache": "Z=64,L=4"}])
def test_a_cache_of_its_own_and_levels_exclude_each_other(levels: str, wrong: dict[str, str]) -> None:
    asked = {"over": "b=1..4", "machine": levels, "model": "roofline+levels", "at": AT, **wrong}
    refusal(lambda: al.optimise(BLOCKED, **asked), "AL408")


def test_a_cache_of_its_own_leaves_the_levels_out(levels: str) -> None:
    found = al.optimise(BLOCKED, machine=levels, over="b=1..4", at=AT, minimise="time", cache="Z=64,L=4")
    assert found.answer.model == "roofline"


def test_a_cache_that_is_given_is_the_only_one_on_the_page(levels: str) -> None:
    at = "n=12,m=12,p=12,Z=128,L=4"
    text = cli("optimise", BLOCKED, "--machine", levels, "--at", at, "--over", "b=1..4", "--minimise", "time").out
    assert text.count("Z = ") == 1


def test_quantities_of_a_machine_with_levels_vary(levels: str) -> None:
    over = "L2_bandwidth=1e8..2e8"
    found = al.optimise(BLOCKED, machine=levels, over=over, at={**AT, "b": 4}, minimise="time")
    at_best = al.energy(BLOCKED, machine=levels, at={**AT, "b": 4}, parameters={"L2_bandwidth": 2e8})
    assert found.value == pytest.approx(float(at_best.result.estimate.time.upper))


def gemm(tmp_path: Path, *, at: str, machine: str = "") -> tuple[str, ...]:
    (tmp_path / "gemm.algo").write_text(GEMM)
    peaks = "peak=3379.2e9", "bandwidth=1024e9", "word=8"
    given = ("--machine", machine) if machine else tuple(x for each in peaks for x in ("--parameter", each))
    return ("optimise", f"{tmp_path}/gemm.algo::gemm_blocked", *given, "--model", "roofline", "--at", at,
            "--cache", "Z=8192,L=32", "--over", "b", "--minimise", "time")  # fmt: skip


@long
def test_values_are_listed_where_one_between_them_is_worse(tmp_path: Path) -> None:
    """A row of 60 words is in three lines of 32, as one of 80 is: tiles of 60 load a line more for each row."""
    asked = gemm(tmp_path, at="m=960,n=960,k=960")
    text = cli(*asked).out
    assert "b        32, 40, 48, 64, 80 (any of these)  32, 40, 48, 64, 80 within 1 %" in text
    known = json.loads(cli(*asked, "--format", "json").out)
    assert known["variables"]["b"] == {"from": 32, "to": 80, "values": [32, 40, 48, 64, 80]}
    assert known["ranges"]["b"]["values"] == [32, 40, 48, 64, 80]
    times = {b: gemm_time(tmp_path, b) for b in (32, 40, 48, 60, 64, 80)}
    assert {b for b, time in times.items() if time == min(times.values())} == {32, 40, 48, 64, 80}
    assert times[60] > 1.13 * times[64]


def gemm_time(tmp_path: Path, b: int) -> float:
    parameters = {"peak": 3379.2e9, "bandwidth": 1024e9, "word": 8}
    on = al.energy(
        f"{tmp_path}/gemm.algo::gemm_blocked", machine="xeon-e5-2650l-v3", model="roofline", parameters=parameters,
        cache=al.Cache(Z=8192, L=32), at={"m": 960, "n": 960, "k": 960, "b": b},
    )  # fmt: skip
    assert on.result.estimate is not None
    return float(on.result.estimate.time.upper)


def test_values_that_are_all_that_facts_allow_are_a_range(tmp_path: Path) -> None:
    """Of the divisors of 64 there is none but 32 between 16 and 64."""
    known = json.loads(cli(*gemm(tmp_path, at="m=64,n=64,k=64"), "--format", "json").out)
    assert "values" not in known["variables"]["b"]


def test_of_many_values_the_number_is_said() -> None:
    formula = "linear:F=(b - 2*floor(b/2)) + 1,W=0,S=0"
    asked = ("optimise", formula, "--machine", "jaketown", "--over", "b=1..40", "--integer", "b", "--minimise", "time")
    assert "20 of the values 2 .. 40 (any of these)" in cli(*asked).out


@pytest.mark.parametrize("machine", ["i7-950@double", "i7-950@single"])
def test_remarks_are_those_of_energy(machine: str) -> None:
    on = ("--machine", machine, "--cache", "Z=256,L=8", "--format", "json")
    (best,) = [json.loads(cli("optimise", BLOCKED, *on, "--at", "n=24,m=24,p=24", "--over", "b=1..24").out)]
    at = f"n=24,m=24,p=24,b={best['at']['b']}"
    (same,) = json.loads(cli("energy", BLOCKED, *on, "--at", at).out)["results"]
    assert any("thermal design power" in note for note in same["notes"])
    assert best["notes"] == same["notes"]
    assert [best[key] for key in ("convention", "stated_error", "leaves_out", "cache")] == [
        same[key] for key in ("convention", "stated_error", "leaves_out", "cache")
    ]
    text = cli("optimise", BLOCKED, *on[:-2], "--at", "n=24,m=24,p=24", "--over", "b=1..24").out
    for words in ("convention", "stated error", "above the thermal design power", "times the machine's peak flop/s"):
        assert words in text


@pytest.mark.parametrize("name", ["optimise", "energy", "compare", "run", "roofline"])
def test_a_cache_is_taken_as_text_everywhere(name: str) -> None:
    basic, at = al.algorithm("dense.matmul::matmul_basic"), {"n": 8, "m": 8, "p": 8}
    asked = {
        "optimise": lambda cache: al.optimise(BLOCKED, machine=A100, over="b=1..8", at=at, cache=cache),
        "energy": lambda cache: al.energy(basic, machine=A100, at="n=m=p=8", cache=cache),
        "compare": lambda cache: al.compare(basic, BLOCKED, machine=A100, at="n=m=p=8,b=4", cache=cache),
        "run": lambda cache: basic.run(at, cache=cache).counts.io,
        "roofline": lambda cache: roofline(A100, basic, at="n=m=p=8", cache=cache),
    }[name]
    assert str(asked("Z=512,L=8")) == str(asked(al.Cache(Z=512, L=8)))
    for wrong in ("Z=512", "512", 512, ("Z", 8)):
        with pytest.raises(al.ArchlineError):
            asked(wrong)


@long
def test_sizes_are_taken_as_text_everywhere() -> None:
    basic, text, at = al.algorithm("dense.matmul::matmul_basic"), "n=m=p=8", {"n": 8, "m": 8, "p": 8}
    assert basic.cost().flops.at(text) == basic.cost().flops.at(at)
    assert al.plot_io(basic, text).points == al.plot_io(basic, at).points
    grid = al.algorithm("distributed.fft::fft_naive").cost()
    assert grid.lower_bounds("n=64,P=8").best == grid.lower_bounds(n=64, P=8).best
    scaled = [
        al.scale("distributed.matmul::matmul_25d", machine="jaketown", vary="c=1..4", at=each)
        for each in ("n=64,g=4", {"n": 64, "g": 4})
    ]
    assert len({str(each) for each in scaled}) == 1
