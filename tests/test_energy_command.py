"""`archline energy` and `run`: what is derived needs no run, and Z and L may be given as sizes."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest

import archline as al
from archline.cli.main import main

MACHINE = "xeon-e5-2650l-v3"


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main([*arguments, "--format", "json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_sizes_may_be_of_any_magnitude(capsys: pytest.CaptureFixture[str]) -> None:
    """A matrix of 10^18 entries is not made: its rows are read once, and three times as many operations done."""
    at = "n=10^9,m=10^9"
    document = printed(capsys, "energy", "dense.gemv::gemv", "--machine", MACHINE, "--at", at)
    assert document["data"].startswith("nothing was run")
    cost = al.algorithm("dense.gemv::gemv").cost()
    work, io = cost.work.at(n=10**9, m=10**9), cost.io.at(n=10**9, m=10**9, Z=32768, L=8)
    assert isinstance(io, tuple)
    assert 10**18 / 8 <= io[0] <= io[1] <= 1.1 * 2 * 10**18 / 8
    energy = al.energy(al.algorithm("dense.gemv::gemv"), machine=MACHINE, at={"n": 10**9, "m": 10**9})
    # Table 3 of the paper: 0.263 nJ an operation, 8.86 nJ a line.
    assert energy.parts["computation"] == work * Fraction("0.263e-9")
    assert energy.parts["memory"] == (io[0] * Fraction("8.86e-9"), io[1] * Fraction("8.86e-9"))


@pytest.mark.parametrize("more", [["--measured"], ["--policy", "lru"]])
def test_what_is_counted_is_run(more: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    document = printed(capsys, "energy", "dense.gemv::gemv", "--machine", MACHINE, "--at", "n=20,m=20", *more)
    assert document["data"] == "the data was generated (seed 0)"


@pytest.mark.parametrize(
    "command", [["run"], ["energy", "--machine", MACHINE], ["energy", "--machine", MACHINE, "--measured"]]
)
def test_the_cache_may_be_given_among_the_sizes(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    name, *options = command
    target = "dense.matmul::matmul_basic"
    one = printed(capsys, name, target, *options, "--at", "n=20,m=20,p=20,Z=64,L=8")
    other = printed(capsys, name, target, *options, "--at", "n=20,m=20,p=20", "--cache", "Z=64,L=8")
    assert one["cache"] == other["cache"]
    assert one["cache"]["Z"] == 64
    for key in ("counts", "total", "inputs"):
        assert one.get(key) == other.get(key)


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "scan.reduce::sum", "--at", "n=9,Z=64"],
        ["run", "scan.reduce::sum", "--at", "n=9,Z=4,L=8"],
        ["run", "scan.reduce::sum", "--at", "n=9,Z=64,L=8", "--cache", "Z=64,L=8"],
        ["cost", "scan.reduce::sum", "--at", "n=9,Z=4,L=8"],
        ["energy", "scan.reduce::sum", "--machine", MACHINE, "--at", "n=9,L=8"],
    ],
)
def test_a_cache_that_cannot_be_is_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert "AL408" in capsys.readouterr().err


# Several processors
@pytest.mark.parametrize("schedule", ["static", "chunked:2"])
def test_io_of_several_caches_is_held_against_its_bound(schedule: str, capsys: pytest.CaptureFixture[str]) -> None:
    at = ["--at", "n=24,m=24,p=24", "--cache", "Z=128,L=8", "--procs", "3", "--schedule", schedule]
    document = printed(capsys, "run", "dense.matmul::matmul_basic", *at)
    derived = document["derived"]["io"]
    assert int(derived["lower"]) <= document["counts"]["io"] <= int(derived["upper"])
    one = al.algorithm("dense.matmul::matmul_basic").cost().io.at(n=24, m=24, p=24, Z=128, L=8)
    assert isinstance(one, tuple)
    assert int(derived["upper"]) == 3 * one[1]


@pytest.mark.parametrize("more", [["--procs", "3", "--schedule", "stealing"], ["--policy", "lru"]])
def test_what_is_not_derived_says_why(more: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    at = ["--at", "n=24,m=24,p=24", "--cache", "Z=128,L=8"]
    document = printed(capsys, "run", "dense.matmul::matmul_basic", *at, *more)
    assert "io" not in document["derived"]
    assert document["unchecked"]["io"].startswith("what is derived is of")


def test_latex_tells_closed_forms_from_values(capsys: pytest.CaptureFixture[str]) -> None:
    """At sizes bounds are nearer than their closed forms: none is set equal to a value."""
    at = ["--at", "n=64,m=64,p=64", "--cache", "Z=1024,L=8"]
    assert main(["cost", "dense.matmul::matmul_basic", *at, "--format", "latex"]) == 0
    io = capsys.readouterr().out.partition("mathrm{io}")[2]
    assert r"\quad \text{where } Z \ge L\,\left(m + 2\right)" in io
    assert "= " not in io
    lower, upper = al.algorithm("dense.matmul::matmul_basic").cost().io.at(n=64, m=64, p=64, Z=1024, L=8)  # type: ignore[misc]
    assert rf"&\ge {lower} \quad \text{{at these sizes}}" in io
    assert rf"&\le {upper} \quad \text{{at these sizes}}" in io
