"""`archline fit`: planted parameters come back, with intervals that cover; what runs do not determine is refused."""

from __future__ import annotations

import json
import re
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import archline as al
from archline.energy.counters import Nvml, Rapl, measured
from archline.energy.estimates import apply_model
from archline.energy.models import load_models
from cli_support import ROOT, cli
from effort import drawn

# Table IV of Choi et al. 2013, GTX 580; 2013's achieved rates.
ROOFLINE = {"eps_flop@single": 99.7e-12, "eps_flop@double": 212e-12, "eps_mem": 513e-12, "pi0": 122.0}
PEAKS = {"single": 1398e9, "double": 196e9}
BANDWIDTH = 170e9
ICE = {"eps_op": 0.263e-9, "eps_io": 20e-9, "pi_op": 0.4e-9, "pi_io": 25e-9}
Columns = dict[str, list[Any]]


def roofline_runs(
    seed: int, noise: float, count: int = 60, intensity: tuple[float, float] = (-4, 8), spread: float = 0.02
) -> Columns:
    """Runs whose flops per byte are 2 to a power between two; times vary by `spread`, energies by `noise`."""
    random = np.random.default_rng(seed)
    precision = ["single", "double"] * (count // 2)
    flops = 1e11 * random.uniform(0.5, 2, count)
    moved = flops / 2 ** random.uniform(*intensity, count)
    computing = flops / np.array([PEAKS[each] for each in precision])
    seconds = np.maximum(computing, moved / BANDWIDTH) * (1 + spread * random.standard_normal(count))
    joules = np.array([ROOFLINE[f"eps_flop@{each}"] for each in precision]) * flops
    joules += ROOFLINE["eps_mem"] * moved + ROOFLINE["pi0"] * seconds
    joules *= 1 + noise * random.standard_normal(count)
    columns = {"flops": flops, "bytes": moved, "seconds": seconds, "joules": joules}
    return {**{name: each.tolist() for name, each in columns.items()}, "precision": precision}


def ice_runs(
    seed: int, noise: float, count: int = 60, line: tuple[float, float] = (0, 9), parallel: tuple[float, float] = (0, 3)
) -> Columns:
    """Runs whose operations per line are 2 to a power between two, and work/span 10 to one."""
    random = np.random.default_rng(seed)
    work = 10 ** random.uniform(9, 11, count)
    span, io = work / 10 ** random.uniform(*parallel, count), work / 2 ** random.uniform(*line, count)
    joules = ICE["eps_op"] * work + ICE["eps_io"] * io
    joules += np.maximum(ICE["pi_op"] * span, ICE["pi_io"] * io * span / work)
    joules *= 1 + noise * random.standard_normal(count)
    return {"work": work.tolist(), "span": span.tolist(), "io": io.tolist(), "joules": joules.tolist()}


def write(path: Path, runs: Columns) -> str:
    """A file of CSV."""
    lines = [",".join(runs), *(",".join(map(str, row)) for row in zip(*runs.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return str(path)


# Planted parameters
@pytest.mark.parametrize("noise", [0.01, 0.05])
@pytest.mark.parametrize(("model", "planted"), [("roofline", ROOFLINE), ("ice", ICE)])
def test_intervals_cover_what_was_planted(model: str, planted: dict[str, float], noise: float) -> None:
    hits: Counter[str] = Counter()
    # 500 in CI.
    draws = drawn(1250)
    for seed in range(draws):
        fit = al.fit(roofline_runs(seed, noise) if model == "roofline" else ice_runs(seed, noise, 200), model)
        assert fit.parameters.keys() == planted.keys()
        for name, value in planted.items():
            each = fit.parameters[name]
            hits[name] += abs(each.value - value) <= 1.96 * each.standard_error
    for name in planted:
        # 95 % in truth; 200 draws are within 4 % of that, but for one test in a hundred.
        assert 0.90 <= hits[name] / draws <= 0.99, name


@pytest.mark.parametrize("model", ["roofline", "ice"])
def test_without_noise_the_fit_is_exact(model: str) -> None:
    fit = al.fit(roofline_runs(1, 0) if model == "roofline" else ice_runs(1, 0), model)
    for name, value in (ROOFLINE if model == "roofline" else ICE).items():
        assert fit.parameters[name].value == pytest.approx(value, rel=1e-8)
    assert fit.residuals["largest"] < 1e-8


def test_standard_errors_are_those_of_the_definition() -> None:
    runs = roofline_runs(3, 0.03, 24)
    del runs["precision"]
    fit = al.fit(runs)
    flops, moved, seconds, joules = (np.array(runs[name]) for name in ("flops", "bytes", "seconds", "joules"))
    values = np.array([each.value for each in fit.parameters.values()])
    columns = np.column_stack([flops, moved, seconds])
    rows = columns / (columns @ values)[:, None]
    inverse = np.linalg.inv(rows.T @ rows)
    middle = np.zeros((3, 3))
    for row, energy, predicted in zip(rows, joules, columns @ values, strict=True):
        error = (energy / predicted - row @ values) / (1 - row @ inverse @ row)
        middle += error**2 * np.outer(row, row)
    expected = np.sqrt(np.diag(inverse @ middle @ inverse))
    assert [each.standard_error for each in fit.parameters.values()] == pytest.approx(list(expected), rel=1e-6)


# What is not determined
@pytest.mark.parametrize(
    ("intensity", "pair"), [((4, 8), ("eps_flop", "pi0")), ((-6, -1), ("eps_mem", "pi0"))]
)  # fmt: skip
def test_runs_on_one_side_of_the_balance_are_refused(intensity: tuple[float, float], pair: tuple[str, str]) -> None:
    for seed in range(drawn(200)):
        runs = roofline_runs(seed, 0.02, 40, intensity, (0, 0.001, 0.01, 0.03, 0.05)[seed % 5])
        with pytest.raises(al.ArchlineError) as refused:
            al.fit(runs)
        (found,) = refused.value.diagnostics
        assert found.code == "AL468"
        assert f"`{pair[0]}" in found.message
        assert f"`{pair[1]}` cannot be distinguished" in found.message
        assert found.hint is not None
        assert "add memory-bound runs" in found.hint or "add compute-bound runs" in found.hint


@pytest.mark.parametrize("ranges", [{"line": (7, 10)}, {"line": (0, 4)}, {"parallel": (3, 5)}])
def test_ice_needs_both_sides_of_its_maximum(ranges: dict[str, tuple[float, float]]) -> None:
    for seed in range(drawn(60)):
        with pytest.raises(al.ArchlineError, match="AL468"):
            al.fit(ice_runs(seed, 0.02, **ranges), "ice")


def test_too_few_runs_and_a_part_that_no_run_has_are_refused() -> None:
    with pytest.raises(al.ArchlineError, match="4 runs cannot determine 4 parameters"):
        al.fit(roofline_runs(1, 0.01, 4))
    runs = roofline_runs(1, 0.01)
    runs["bytes"] = [0.0] * 60
    with pytest.raises(al.ArchlineError, match="`eps_mem` cannot be determined: it does not contribute"):
        al.fit(runs)


# The command
def test_the_command_prints_and_writes_a_machine_that_the_model_can_use(tmp_path: Path) -> None:
    file = write(tmp_path / "runs.csv", roofline_runs(5, 0.02))
    machine = tmp_path / "mine \N{ROCKET}.toml"
    result = cli("fit", file, "--format", "json", "--out", str(machine))
    document = json.loads(result.out)
    assert result.code == 0
    assert document["version"] == 1
    assert document["parameters"]["pi0"]["unit"] == "W"
    assert document["condition"] <= 30
    read = al.machine(f"{machine}@single")
    (roofline,) = (each for each in load_models() if each.name == "roofline")
    assert not apply_model(roofline, read).missing
    for name, key in (("eps_flop", "eps_flop@single"), ("eps_mem", "eps_mem"), ("pi0", "pi0")):
        quantity = read.quantities[name]
        fitted = document["parameters"][key]
        assert float(quantity.value) == pytest.approx(fitted["value"], rel=1e-8)
        assert float(quantity.error or 0) == pytest.approx(fitted["standard_error"], rel=1e-2)
        assert (quantity.kind, "runs.csv" in str(quantity.source)) == ("fitted", True)
    runs = roofline_runs(5, 0.02)
    rates = [f / s for f, s, p in zip(runs["flops"], runs["seconds"], runs["precision"], strict=True) if p == "single"]
    assert float(read.quantities["peak_sustained"].value) == pytest.approx(max(rates), rel=1e-8)
    assert read.quantities["tau_flop"].value == 1 / read.quantities["peak_sustained"].value
    energy = cli("energy", "scan.reduce::dot", "--machine", str(machine), "--model", "roofline", "--at", "n=1000")
    assert energy.code == 0
    drawn_at = ("--machine", str(machine), "--at", "n=1000")
    assert cli("plot", "scan.reduce::dot", "--kind", "roofline", *drawn_at).code == 0
    # A file that is there is not lost.
    before = machine.read_text("utf-8")
    assert cli("fit", file, "--out", str(machine)).refused("AL413")
    assert machine.read_text("utf-8") == before
    assert cli("fit", file, "--out", str(tmp_path / "no" / "mine.toml")).refused("AL413")


def test_ice_with_one_run_on_a_side() -> None:
    """Then any split that leaves three runs on each side has a run on the wrong one."""
    work, span, io = (
        [1e9] * 9,
        [1e6, 2e6, 5e6, 1e7, 2e7, 4e7, 7e7, 1e8, 3e7],
        [1e5, 2e5, 4e5, 1e6, 3e6, 2e5, 5e5, 8e5, 9e9],
    )
    joules = [
        ICE["eps_op"] * w + ICE["eps_io"] * q + max(ICE["pi_op"] * s, ICE["pi_io"] * q * s / w)
        for w, s, q in zip(work, span, io, strict=True)
    ]
    with pytest.raises(al.ArchlineError) as refused:
        al.fit({"work": work, "span": span, "io": io, "joules": joules}, "ice")
    assert refused.value.diagnostics[0].rule.code == "AL468"


def test_a_machine_of_ice_can_be_used(tmp_path: Path) -> None:
    file = write(tmp_path / "runs.csv", ice_runs(5, 0.02, 100))
    assert cli("fit", file, "--model", "ice", "--out", str(tmp_path / "m.toml")).code == 0
    (ice,) = (each for each in load_models() if each.name == "ice")
    assert not apply_model(ice, al.machine(str(tmp_path / "m.toml"))).missing


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("", "", "has no measurements"),
        ("flops,bytes,seconds\n1,2,3\n", ":1:1", "there is no column `joules`"),
        ("flops,bytes,seconds,joules\n1,2,3,4\n1,2,x,4\n", ":3:5", "`x` is not a number"),
        ("flops,bytes,seconds,joules\n1,2,3\n", ":2:1", "3 entries where the header has 4"),
        ("# from a lab\nflops,bytes,seconds,joules\n\n1,2,0,4\n", ":4:5", "`seconds` is 0, which no run has"),
        ("flops,bytes,seconds,joules\n-1,2,3,4\n", ":2:1", "`flops` is -1"),
        ("flops,bytes,seconds,joules\n1,2,nan,4\n", ":2:5", "`seconds` is not finite"),
        ("flops,bytes,seconds,joules,precision\n1,2,3,4,quad\n", ":2:9", "`quad` is not a precision"),
        ("flops,bytes,seconds,joules\n11,1,1,-1\n", ":2:8", "`joules` is -1"),
        ("flops,bytes,seconds,joules\n1,2,,4\n", ":2:5", "`seconds` is empty"),
        ("flops,bytes,seconds,joules\n1,2,3,1e-300\n", ":2:7", "`joules` is 1e-300, which no run has"),
        ('flops,bytes,seconds,joules\n"1,5",2,"3,000",4\n', ":2:2", "`1,5` is not a number"),
        ("flops;bytes;seconds;joules\n1;2;3,5;4\n", ":2:5", "`3,5` is not a number"),
        ("flops,bytes,flops,seconds,joules\n1,2,3,4,5\n", ":1:1", "there are several columns `flops`"),
    ],
)
def test_what_is_not_measurements_is_refused_at_its_place(tmp_path: Path, text: str, place: str, said: str) -> None:
    file = tmp_path / "runs.csv"
    file.write_text(text, "utf-8")
    result = cli("fit", str(file))
    assert result.refused("AL467")
    assert said in result.err
    assert f"runs.csv{place}" in result.err


def test_files_and_models_that_are_not_there(tmp_path: Path) -> None:
    assert cli("fit", str(tmp_path / "no.csv")).refused("AL467")
    (tmp_path / "bad.csv").write_bytes(b"\xff\xfe\x00")
    assert cli("fit", str(tmp_path / "bad.csv")).refused("AL467")
    assert cli("fit", str(tmp_path / "no.csv"), "--model", "rofline").refused("AL459")
    with pytest.raises(al.ArchlineError, match="there is no column `joules`"):
        al.fit({"flops": [1], "bytes": [1], "seconds": [1]})
    with pytest.raises(al.ArchlineError, match="differ in length"):
        al.fit({"flops": [1], "bytes": [1, 2], "seconds": [1], "joules": [1]})


@pytest.mark.parametrize("written", [
    lambda text: text.replace("\n", "\r\n"), lambda text: "\ufeff" + text, lambda text: text.replace(",", ";"),
    lambda text: text.replace(",", "\t"), lambda text: text.replace(",", " , ").upper(),
])  # fmt: skip
def test_files_of_other_programs_are_read(tmp_path: Path, written: Callable[[str], str]) -> None:
    runs = roofline_runs(2, 0.02)
    file = Path(write(tmp_path / "runs.csv", runs))
    file.write_bytes(written(file.read_text("utf-8")).encode())
    assert al.fit(file).parameters == al.fit(runs).parameters


@pytest.mark.parametrize("kind", [str, float])
def test_the_same_run_twice_is_one(tmp_path: Path, kind: Callable[[Any], Any]) -> None:
    """Else the errors would be those of twice as many runs."""
    runs = roofline_runs(2, 0.02)
    once = al.fit(runs)
    twice = {name: [*column, *(column if name == "precision" else map(kind, column))] for name, column in runs.items()}
    assert al.fit(twice).parameters == once.parameters
    assert "60 runs (60 repeated ones left out)" in cli("fit", write(tmp_path / "runs.csv", twice)).out


def test_what_is_wrong_in_columns_of_python_is_at_its_place() -> None:
    runs = roofline_runs(2, 0.02)
    for name, value, said in (
        ("bytes", -1.0, "`bytes` is -1"), ("joules", None, "`None` is not a number"), ("precision", "quad", "not a precision"),
    ):  # fmt: skip
        with pytest.raises(al.ArchlineError, match=said) as refused:
            al.fit({**runs, name: [*runs[name][:7], value, *runs[name][8:]]})
        assert refused.value.diagnostics[0].place == f"{name}[7]"
    with pytest.raises(al.ArchlineError, match="has no measurements"):
        al.fit({name: [] for name in runs})


def test_other_columns_and_their_order_do_not_matter(tmp_path: Path) -> None:
    runs = roofline_runs(2, 0.02)
    expected = al.fit(runs)
    turned = {name: runs[name] for name in ("precision", "joules", "bytes", "flops", "seconds")}
    file = write(tmp_path / "runs.csv", {"kernel": ["a b"] * 60, **turned})
    assert al.fit(file).parameters == expected.parameters


# Counters, on files that are made up
def zone(folder: Path, number: str, name: str, microjoules: int, most: int = 262143328850) -> Path:
    """A zone of powercap."""
    place = folder / f"intel-rapl:{number}"
    place.mkdir(parents=True)
    for file, text in (("name", name), ("energy_uj", str(microjoules)), ("max_energy_range_uj", str(most))):
        (place / file).write_text(f"{text}\n", "ascii")
    return place


def test_packages_and_memory_are_added_and_counters_wrap_around(tmp_path: Path) -> None:
    first = zone(tmp_path, "0", "package-0", 900, 999)
    zone(tmp_path, "0:0", "core", 5)
    memory = zone(tmp_path, "0:1", "dram", 100)
    second = zone(tmp_path, "1", "package-1", 0)
    zone(tmp_path, "2", "psys", 1)
    rapl = Rapl(tmp_path)
    assert rapl.joules() == 0
    # 900 to 999 and on to 0 are 100 microjoules, and 50 more follow.
    (first / "energy_uj").write_text("50\n", "ascii")
    (memory / "energy_uj").write_text("130\n", "ascii")
    (second / "energy_uj").write_text("7\n", "ascii")
    assert rapl.joules() == pytest.approx((150 + 30 + 7) / 1e6)
    assert rapl.joules() == pytest.approx((150 + 30 + 7) / 1e6)


def test_a_run_is_measured_with_readings_in_between(tmp_path: Path) -> None:
    place = zone(tmp_path, "0", "package-0", 0, 999)
    readings = []

    class Seen(Rapl):
        def joules(self) -> float:
            readings.append(1)
            return super().joules()

    def count(microjoules: int) -> None:
        (place / "next").write_text(str(microjoules), "ascii")
        (place / "next").replace(place / "energy_uj")

    def run() -> None:
        count(600)
        before = len(readings)
        while len(readings) < before + 2:
            time.sleep(0.001)
        # One round more: without a reading in between this would look like 400 less.
        count(200)

    seconds, joules = measured(run, Seen(tmp_path), 0.001)
    assert joules == pytest.approx((600 + 600) / 1e6)
    assert seconds > 0


def test_the_program_of_the_documentation_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = zone(tmp_path, "0", "package-0", 10)
    page = (ROOT / "docs" / "how-to" / "fit-a-machine.md").read_text("utf-8")
    (code,) = re.findall(r"^```py\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    monkeypatch.setattr("archline.energy.counters.Rapl.__init__.__defaults__", (tmp_path,))
    names: dict[str, Any] = {"kernel": lambda x, y: (place / "energy_uj").write_text("2500010"), "x": 1, "y": 2}
    exec(code, names)
    assert names["joules"] == 2.5


def test_counters_that_are_missing_or_not_readable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(al.ArchlineError, match="AL469: there are no energy counters"):
        Rapl(tmp_path)
    zone(tmp_path, "0", "package-0", 1)

    def forbidden(self: Path, **named: Any) -> str:
        if self.name == "energy_uj":
            raise PermissionError
        return "package-0"

    monkeypatch.setattr(Path, "read_text", forbidden)
    with pytest.raises(al.ArchlineError, match="only root may read"):
        Rapl(tmp_path)


def test_nvml_counts_from_when_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = iter([5000, 7500])
    library = SimpleNamespace(
        nvmlInit=lambda: None,
        nvmlDeviceGetHandleByIndex=lambda index: index,
        nvmlDeviceGetTotalEnergyConsumption=lambda device: next(counts),
    )
    monkeypatch.setitem(sys.modules, "pynvml", library)
    assert Nvml(0).joules() == 2.5
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.raises(al.ArchlineError, match="AL469"):
        Nvml(0)


def test_a_parameter_below_zero_is_no_lack_of_runs() -> None:
    """Without noise the bytes take less than nothing: no other runs change that."""
    runs = roofline_runs(1, 0)
    runs["joules"] = [
        each - 2 * ROOFLINE["eps_mem"] * moved for each, moved in zip(runs["joules"], runs["bytes"], strict=True)
    ]
    with pytest.raises(al.ArchlineError) as problem:
        al.fit(runs)
    (found,) = problem.value.diagnostics
    assert found.message.startswith("`eps_mem` is fitted as -5.13e-10")
    assert found.message.endswith("below 0, which no machine has")
    assert "units" in str(found.hint)


@pytest.mark.parametrize(
    ("header", "hint"),
    [
        ("flops,byte,seconds,joules", "if it is `byte`, rename that column"),
        ("flops,bytes,seconds,energy (mJ)", "the columns are flops, bytes, seconds, joules, and optionally"),
        ("flops,bytes,seconds,joules (mJ)", "if it is `joules (mJ)`, rename that column, with its numbers in SI units"),
        ("flops,q,seconds,joules", "the columns are flops, bytes, seconds, joules"),
    ],
)
def test_hints_for_columns(tmp_path: Path, header: str, hint: str) -> None:
    file = tmp_path / "runs.csv"
    file.write_text(f"{header}\n1,2,3,4\n", "utf-8")
    assert f"hint: {hint}" in cli("fit", str(file)).err


def test_errors_of_machines_are_in_the_unit_of_their_numbers(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    al.fit(roofline_runs(1, 0.02)).write(file)
    shown = " ".join(cli("machines", str(file)).out.split())
    assert re.search(r"pi0 [\d.]+ W \+- [\d.]+ W fitted", shown)
    assert "standard error" in shown
    assert re.search(r"eps_mem [\d.]+ pJ/B \+- [\d.]+ pJ/B fitted", shown)
