"""What follows from a data sheet without energies, or without the bytes of a word: bounds, and what is assumed."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import archline
from archline.energy.estimates import estimate_amounts
from archline.energy.machine_files import machine
from archline.energy.machines import Machine, read_parameter
from archline.energy.models import find_model
from archline.language.diagnostics import ArchlineError
from cli_support import cli
from effort import drawn

SHEET = """\
title = "A sheet"
[quantity.peak]
value = "2"
unit = "Tflop/s"
kind = "peak"
source = "page 1"
[quantity.bandwidth]
value = "200"
unit = "GB/s"
kind = "peak"
source = "page 1"
[quantity.fast_memory]
value = "1"
unit = "MiB"
kind = "rated"
source = "page 1"
[quantity.line]
value = "64"
unit = "B/line"
kind = "rated"
source = "page 1"
[quantity.power_rated]
value = "300"
unit = "W"
kind = "rated"
source = "page 1"
"""
GEMV = "dense.gemv::gemv"
ASSUMED = "words of 8 B, as"


@pytest.fixture
def sheet(tmp_path: Path) -> Path:
    path = tmp_path / "sheet.toml"
    path.write_text(SHEET)
    return path


def of(**quantities: str) -> Machine:
    """The EPYC 7763 with other numbers."""
    return machine("epyc-7763").with_parameters({name: read_parameter(name, text) for name, text in quantities.items()})


# The energy at most, by the thermal design power
@given(st.integers(1, 10**12), st.integers(1, 10**12), st.integers(0, 10**6), st.integers(1, 1000))
@settings(max_examples=drawn(60), deadline=None)
def test_the_bound_is_power_times_time(flops: int, traffic: int, more: int, watts: int) -> None:
    chosen = of(power_rated=f"{watts} W", peak="2.5 Tflop/s", bandwidth="200 GB/s")
    found = estimate_amounts(find_model("roofline+tdp"), chosen, {"flops": flops, "traffic": (traffic, traffic + more)})
    least, most = (max(Fraction(flops, 25 * 10**11), Fraction(each, 2 * 10**11)) for each in (traffic, traffic + more))
    assert (found.time.lower, found.time.upper) == (least, most)
    assert (found.energy.lower, found.energy.upper) == (0, watts * most)
    # No wider than what it is from, though the bounds of the time are apart.
    assert (found.power.lower, found.power.upper) == (0, watts)


@given(st.integers(1, 10**9), st.integers(1, 10**9), st.integers(1, 10**9), st.integers(1, 10**9))
@settings(max_examples=drawn(20), deadline=None)
def test_bounds_from_above_decide_nothing(w: int, q: int, v: int, r: int) -> None:
    targets = [f"roofline:W={w},Q={q}", f"roofline:W={v},Q={r}"]
    found = archline.compare(*targets, machine="epyc-7763", model="roofline+tdp", by="energy")
    assert [each.verdict.verdict for each in found.points] == ["open"]
    assert not any(name.startswith("energy") for name in found.growth)


def test_it_is_said_to_be_a_bound(sheet: Path) -> None:
    asked = ("energy", GEMV, "--machine", str(sheet), "--power", "tdp")
    at = cli(*asked, "--at", "n=100,m=100")
    assert "E <= power_rated*time" in at.out
    assert "not a measured maximum" in " ".join(at.out.split())
    symbols = json.loads(cli(*asked, "--format", "json").out)["results"][0]
    assert symbols["energy"]["lower"] == "0"
    assert not symbols["growth"]
    numbers = json.loads(cli(*asked, "--at", "n=100,m=100", "--format", "json").out)["results"][0]
    assert numbers["energy"]["lower"] == "0"
    assert Fraction(numbers["energy"]["upper"]) == 300 * Fraction(numbers["time"]["upper"])
    assert "not a measured maximum" in numbers["stated_error"]
    several = cli(*asked[:2], *asked[1:], "--at", "n=100,m=100")
    assert "not a measured maximum" in " ".join(several.out.split())
    assert r"E &\le" in cli(*asked, "--at", "n=100,m=100", "--format", "latex").out
    # By time it is the roofline.
    by_time = ("compare", GEMV, GEMV, "--at", "n=64,m=64", "--by", "time")
    with_bound, without = (
        cli(*by_time, "--machine", str(sheet), *more) for more in (["--power", "tdp"], ["--model", "roofline"])
    )
    assert with_bound.out.splitlines()[2:4] == without.out.splitlines()[2:4]


def test_a_machine_without_a_rated_power_is_refused() -> None:
    ran = cli("energy", "roofline:W=1e9,Q=1e9", "--machine", "a64fx", "--power", "tdp")
    assert ran.refused("AL458")
    assert "lacks quantities that model `roofline+tdp` needs: `power_rated` (W)" in ran.err
    assert "give --parameter power_rated=..." in ran.err


def test_a_model_without_such_a_bound_is_refused() -> None:
    ran = cli("energy", GEMV, "--machine", "epyc-7763", "--power", "tdp", "--model", "linear")
    assert ran.refused("AL459")


def test_a_bound_is_not_taken_for_the_energy(tmp_path: Path) -> None:
    asked = {"machine": "epyc-7763", "model": "roofline+tdp", "at": {"n": 64}, "over": "m=8..9"}
    for least in ("energy", "power", "energy_delay"):
        with pytest.raises(ArchlineError, match="gives only an upper bound on the energy"):
            archline.optimise(GEMV, minimise=least, **asked)
    assert archline.optimise(GEMV, minimise="time", **asked).value


# A word that the sheet does not mention
def test_a_sheet_without_a_word_has_one_of_8_bytes_which_is_said(sheet: Path) -> None:
    at = ("--machine", str(sheet), "--model", "roofline", "--at", "n=64,m=64")
    with_word = SHEET + '[quantity.word]\nvalue = "{}"\nunit = "B/word"\nkind = "definition"\nsource = "page 2"\n'
    other = sheet.with_name("other.toml")
    for command in (
        ("energy", GEMV, *at),
        ("energy", GEMV, *at, "--format", "markdown"),
        ("energy", GEMV, *at, "--format", "json"),
        ("compare", GEMV, GEMV, *at),
        ("optimise", GEMV, *at[:4], "--at", "n=64", "--minimise", "time", "--over", "m=8..9"),
    ):
        assumed = cli(*command)
        assert (assumed.code, ASSUMED in " ".join(assumed.out.split())) == (0, True), command
        single = cli(*command, "--parameter", "word=4")
        assert (single.code, ASSUMED in " ".join(single.out.split())) == (0, False), command
    plotted = cli("plot", GEMV, "--kind", "roofline", *at[:2], *at[4:])
    assert ASSUMED in " ".join(plotted.out.split())
    for size in (4, 8):
        other.write_text(with_word.format(size))
        asked = ("energy", GEMV, *at[2:], "--format", "csv", "--machine")
        stated = cli(*asked, str(other)).out.replace("other", "sheet")
        assert cli(*asked, str(sheet), "--parameter", f"word={size}").out == stated
        assert ASSUMED not in stated
        if size == 8:
            assert cli(*asked, str(sheet)).out == stated


def test_what_does_not_rest_on_the_word_says_nothing(sheet: Path) -> None:
    ran = cli("energy", "roofline:W=1e9,Q=1e9", "--machine", str(sheet))
    assert ran.code == 0
    assert ASSUMED not in " ".join(ran.out.split())
    assert "assumed" in next(line for line in cli("machines", str(sheet)).out.splitlines() if line.startswith("  word"))


# What depends on no energy, or on no machine
@pytest.mark.parametrize(
    ("name", "feeds"),
    [
        ("epyc-7763", "roofline   time; energy lacks eps_flop, eps_mem, pi0"),
        ("bobcat-e2-1800", "ice        energy; time lacks pi0"),
        ("fermi-c2050", "balance    time; energy lacks power_idle, power_max"),
        ("gtx-580", "roofline   has all required quantities"),
    ],
)
def test_machines_say_which_answers_they_allow(name: str, feeds: str) -> None:
    assert f"    {feeds}\n" in cli("machines", name).out


def test_bytes_need_no_machine(tmp_path: Path) -> None:
    found = archline.compare(
        GEMV, "dense.gemv::gemv_transposed", by="bytes", n=12, m=20, cache=archline.Cache(Z=64, L=4)
    )
    on = archline.compare(
        GEMV, "dense.gemv::gemv_transposed", by="bytes", n=12, m=20, cache=archline.Cache(Z=64, L=4), machine="gtx-580"
    )
    assert [each.verdict for each in found.points] == [each.verdict for each in on.points]
    ran = cli("compare", GEMV, GEMV, "--by", "bytes", "--at", "n=12,m=20", "--cache", "Z=64,L=4")
    assert ran.out.startswith("bytes(gemv (1))/bytes(gemv (2)); Z = 64, L = 4\n")
    assert cli("compare", GEMV, GEMV, "--by", "time", "--at", "n=12,m=20").refused("AL411")
    picture = tmp_path / "bytes.svg"
    pytest.importorskip("matplotlib")
    assert cli("compare", GEMV, GEMV, "--by", "bytes", "--sweep", "n=m=8..16", "--out", str(picture)).code == 0
    assert picture.exists()


def test_bytes_are_minimised() -> None:
    asked = {"machine": "gtx-580", "cache": archline.Cache(Z=64, L=4), "over": "m=8..12", "at": {"n": 12}}
    found = archline.optimise(GEMV, minimise="bytes", **asked)
    costs = {m: archline.compare(GEMV, GEMV, by="bytes", n=12, m=m, cache=asked["cache"]) for m in range(8, 13)}
    uppers = {m: each.points[0].first.amounts["bytes"].upper for m, each in costs.items()}
    assert (found.variables["m"], found.value) == (min(uppers, key=uppers.__getitem__), min(uppers.values()))
    # A bound on them is kept too, whatever the model takes.
    most = sorted(uppers.values())[2]
    under = archline.optimise(GEMV, minimise="time", model="ice", subject=f"bytes <= {most} B", **asked)
    assert uppers[under.variables["m"]] <= most


def test_the_line_of_the_machine_is_that_of_its_cache() -> None:
    asked = ("energy", GEMV, "--machine", "epyc-7763", "--model", "roofline", "--parameter", "line=128")
    assert "L = 16 (the machine's)" in " ".join(cli(*asked, "--at", "n=64,m=64").out.split())
    for more in (["--at", "n=64,m=64", "--cache", "Z=1024,L=8"], []):
        assert cli(*asked, *more).refused("AL465")
    assert cli("energy", "roofline:W=1,Q=1", *asked[2:]).refused("AL465")
