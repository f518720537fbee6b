"""Levels of caches: in machine files, in the energy roofline, and in runs."""

import re
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archline.analysis.cost import enclose_count
from archline.api.energies import energy
from archline.api.modules import loads
from archline.api.pictures import roofline
from archline.api.running import run
from archline.energy.caches import Settings
from archline.energy.estimates import choose_default_model, estimate_amounts
from archline.energy.machine_files import machine
from archline.energy.machines import Machine, read_parameters
from archline.energy.models import find_model, load_models
from archline.execution.results import Cache
from archline.language.diagnostics import ArchlineError
from archline.records import replace
from archline.report.machines import render_machine_page
from cli_support import cli
from effort import drawn, long

SHEET = """\
title = "Two levels"
[quantity]
peak = { value = "100", unit = "Gflop/s", kind = "peak", source = "sheet" }
bandwidth = { value = "20", unit = "GB/s", kind = "peak", source = "sheet" }
line = { value = "64", unit = "B/line", kind = "rated", source = "sheet" }
word = { value = "8", unit = "B/word", kind = "definition", source = "sheet" }
[level.L1.quantity]
capacity = { value = "1", unit = "KiB", kind = "rated", source = "sheet, page 2" }
bandwidth = { value = "400", unit = "GB/s", kind = "peak", source = "sheet" }
shared = { value = "1", unit = "1", kind = "rated", source = "sheet" }
[level.L2.quantity.capacity]
value = "16"
unit = "KiB"
kind = "rated"
source = "sheet"
[level.L2.quantity.line]
from = "2*line"
unit = "B/line"
"""


def of_text(folder: Path, text: str, variant: str = "") -> Machine:
    path = folder / "two.toml"
    path.write_text(text, encoding="utf-8")
    return machine(f"{path}{variant}")


def test_levels_in_variants(tmp_path: Path) -> None:
    half = '[variant.half.level.L1.quantity.bandwidth]\nvalue = "200"\nunit = "GB/s"\nkind = "peak"\nsource = "x"\n'
    text = f'default_variant = "whole"\n{SHEET}[variant.whole]\n{half}'
    assert of_text(tmp_path, text).values["L1_bandwidth"] == 400 * 10**9
    found = of_text(tmp_path, text, "@half")
    assert found.values["L1_bandwidth"] == 200 * 10**9
    assert found.values["L1_capacity"] == 1024


# What is replaced by what, the line of the report, its code, and what message and hint say.
WRONG = [
    ("[level.L2.quantity.capacity]", "[level.l2.quantity.capacity]", 11, "AL453", "no level `l2`", "did you mean `L2`?"),
    ("[level.L2.quantity.capacity]", "[level.DRAM.quantity.capacity]", 11, "AL453", "no level `DRAM`", "L1, L2, L3, L4"),
    ("[level.L2.quantity.capacity]", "[level.L2.capacity]", 11, "AL453", "unknown key `capacity`", "[level.L2.quantity.capacity]"),
    ("[level.L2.quantity.capacity]", "[level.L2.quantity.size]", 11, "AL453", "no quantity `L2_size`", "a level has `capacity`"),
    ("[level.L2.quantity.capacity]", "[quantity.L2_capacity]", 11, "AL453", "belongs to a level of caches", "[level.L2.quantity.capacity]"),
    ("[level.L2.quantity.capacity]", "[level.L2.quantity.peak]", 11, "AL453", "no quantity `L2_peak`", "a level has `capacity`"),
    ("[level.L1.quantity]", "[level]\nL1 = 3\n[nothing]", 8, "AL453", "`L1` is not a table", "[level.L1.quantity.NAME]"),
    ('"1", unit = "KiB"', '"0", unit = "KiB"', 8, "AL457", "`L1_capacity` is 0", "a whole number of lines"),
    ('"1", unit = "KiB"', '"1000", unit = "B"', 8, "AL457", "not a whole number of lines of 64 B/line", "a whole number of lines"),
    ('"1", unit = "KiB"', '"64", unit = "KiB"', 12, "AL457", "`L2` of 16 KiB is smaller than level `L1` of 64 KiB", "next to the processor"),
    ('"400", unit = "GB/s"', '"400", unit = "GB"', 9, "AL461", "not a unit of that dimension", "write GB/s"),
    ('"400", unit = "GB/s"', '"0", unit = "GB/s"', 9, "AL457", "`L1_bandwidth` is 0", "next to the processor"),
    ('"1", unit = "1"', '"1.5", unit = "1"', 10, "AL457", "`L1_shared`, 1.5, is not a whole number", "next to the processor"),
    ('capacity = { value = "1"', 'energy = { value = "1"', 8, "AL461", "`L1_energy` is in J/B", "J/B"),
    ('capacity = { value = "1", unit = "KiB"', 'energy = { value = "1", unit = "J/B"', 7, "AL453", "`L1` has no `capacity`", "[level.L1.quantity.capacity]"),
    ('"2*line"', '"2.5*line"', 12, "AL457", "not a whole number of lines of 2.5*line", "a whole number of lines"),
    ('"2*line"', '"2*L1_bandwidth"', 17, "AL461", "but B/line is needed", "AL461"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "line", "code", "message", "hint"), WRONG)
def test_what_is_wrong_with_levels(
    tmp_path: Path, old: str, new: str, line: int, code: str, message: str, hint: str
) -> None:
    assert SHEET.count(old) == 1
    with pytest.raises(ArchlineError) as problem:
        of_text(tmp_path, SHEET.replace(old, new))
    first = next(each for each in problem.value.diagnostics if message in each.message)
    assert (first.rule.code, first.span and first.span.line) == (code, line)
    assert hint in str(first.hint)


def test_the_page_of_a_machine_has_a_row_for_each_level(tmp_path: Path) -> None:
    shown = render_machine_page(of_text(tmp_path, SHEET), load_models(), 200)
    rows = [line.split("  ") for line in shown.splitlines() if line.startswith(("  level", "  L"))]
    assert [[cell.strip() for cell in row if cell] for row in rows] == [
        ["level", "capacity", "line", "bandwidth", "energy", "shared by cores"],
        ["L1", "1 KiB (rated) [2]", "-", "400 GB/s (peak) [1]", "-", "1 (rated) [1]"],
        ["L2", "16 KiB (rated) [1]", "128.0 B/line = 2*line (derived)", "-", "-", "-"],
    ]


def test_parameters_of_levels(tmp_path: Path) -> None:
    of_text(tmp_path, SHEET)
    on = ("energy", "roofline:W=1e9,Q=1e6", "--machine", str(tmp_path / "two.toml"), "--model", "roofline")
    result = cli(*on, "--parameter", "L1_capacity=1000B")
    assert result.code == 2
    assert "not a whole number of lines" in result.err


F = Fraction


# In the energy roofline
AMOUNTS = {"flops": F(10**9), "accesses": F(3 * 10**8), "traffic": F(2 * 10**8)}


def with_values(on: str | Machine, *given: str) -> Machine:
    return (machine(on) if isinstance(on, str) else on).with_parameters(read_parameters(given))


@pytest.mark.parametrize("more", ["", "+cap"])
@pytest.mark.parametrize("scale", [F(1), F(1, 50), F(40)])
def test_one_level_is_the_papers_energy_of_caches(more: str, scale: F) -> None:
    """Choi et al. 2013, section V-C: 187 pJ/B on the GTX 580, beside eps_flop = 99.7 pJ and eps_mem = 513 pJ/B."""
    gpu = with_values("gtx-580@single", "eps_cache=187 pJ/B")
    amounts = {**AMOUNTS, "traffic": AMOUNTS["traffic"] * scale}
    paper = estimate_amounts(find_model(f"roofline{more}+cache"), gpu, amounts)
    ours = estimate_amounts(
        find_model(f"roofline{more}+levels"), with_values(gpu, "L1_capacity=1 MiB", "L1_energy=187 pJ/B"), amounts
    )
    assert ours.time == paper.time
    assert abs(float(ours.energy.lower / paper.energy.lower) - 1) < 1e-9
    assert ours.terms["L1"] == paper.terms["cache"]
    # The formula by hand: W eps_flop + Q eps_mem + 187 pJ/B of 4 B an access, and the constant power.
    known = gpu.values
    by_hand = sum((
        amounts["flops"] * known["eps_flop"], amounts["traffic"] * known["eps_mem"],
        amounts["accesses"] * 4 * F(187, 10**12), known["pi0"] * (ours.time.lower if ours.time else 0),
    ))  # fmt: skip
    assert abs(float(ours.energy.lower / by_hand) - 1) < 1e-9


def test_the_slowest_level_binds(tmp_path: Path) -> None:
    two = of_text(tmp_path, SHEET)
    # 24 GB of accesses at 400 GB/s; L2 has no bandwidth; 1 GB at 20 GB/s; 10^9 flops at 100 Gflop/s.
    found = estimate_amounts(
        find_model("roofline+levels"),
        two,
        {"flops": 10**9, "accesses": 3 * 10**9, "L1_bytes": 5 * 10**9, "bytes": 10**9},
    )
    assert {name: each.lower for name, each in found.sides.items()} == {
        "computation": F(1, 100), "L1": F(24, 400), "memory": F(1, 20),
    }  # fmt: skip
    assert (found.binds, found.time and found.time.lower) == ("L1", F(24, 400))
    faster = estimate_amounts(
        find_model("roofline+levels"),
        with_values(two, "L2_bandwidth=50 GB/s"),
        {"flops": 10**9, "accesses": 3 * 10**9, "L1_bytes": 5 * 10**9, "bytes": 1},
    )
    assert (faster.binds, faster.time and faster.time.lower) == ("L2", F(1, 10))
    assert found.reasons["energy"] == (
        "machine `two` lacks `L1_energy` (J/B), `L2_energy` (J/B), `eps_flop` (J/flop), `eps_mem` (J/B), `pi0` (W)"
    )


@pytest.mark.parametrize(
    ("named", "said"),
    [("roofline+levels+cache", "cannot have the option `cache` too"), ("roofline+cache+levels", "`levels` too")],
)
def test_two_energies_of_the_caches_are_refused(named: str, said: str) -> None:
    with pytest.raises(ArchlineError, match="AL459") as problem:
        find_model(named)
    assert said in str(problem.value)


def test_machines_without_levels_are_refused() -> None:
    for given_, missing in ((), "L1_capacity"), (("L1_capacity=1MiB", "L3_bandwidth=1TB/s"), "L3_capacity"):
        with pytest.raises(ArchlineError, match=f"AL458.*lacks `{missing}`"):
            estimate_amounts(find_model("roofline+levels"), with_values("gtx-580", *given_), AMOUNTS)


TRIPLE = "dense.matmul::matmul_basic"
SIZES = {"n": 24, "m": 24, "p": 24}


def test_each_level_is_a_cache_by_itself(tmp_path: Path) -> None:
    two = of_text(tmp_path, SHEET)
    found = energy(TRIPLE, machine=two, model="roofline+levels", **SIZES)
    first, second, memory = found.levels
    assert (first.served.lower, first.served.upper) == (8 * 4 * 24**3, 8 * 4 * 24**3)
    assert second.served == first.bytes
    assert memory.served == second.bytes
    for each, cache in ((first, Cache(128, 8)), (second, Cache(2048, 16))):
        alone = energy(TRIPLE, machine=two, model="roofline", cache=cache, **SIZES).result.inputs["bytes"].amount
        assert each.bytes == alone
    shown = cli("energy", TRIPLE, "--machine", str(tmp_path / "two.toml"), "--at", "n=24,m=24,p=24")
    assert "model roofline+levels" in shown.out
    assert [line.split()[0] for line in shown.out.splitlines() if line.startswith(("  L1", "  L2", "  memory"))] == [
        "L1", "L2", "memory",
    ]  # fmt: skip
    assert "no model is given" in " ".join(shown.out.split())


SLOW = '[level.L2.quantity.bandwidth]\nvalue = "1"\nunit = "GB/s"\nkind = "peak"\nsource = "sheet"\n'


@pytest.mark.parametrize(("sheet", "binds"), [(SHEET.replace('"400"', '"1"'), "L1"), (SHEET + SLOW, "L2")])
def test_claims_take_the_bytes_of_each_level(sheet: str, binds: str, tmp_path: Path) -> None:
    two = of_text(tmp_path, sheet)
    found = energy(TRIPLE, machine=two, model="roofline+levels", **SIZES)
    assert found.binds == binds
    lower, upper = found.time if isinstance(found.time, tuple) else (found.time, found.time)
    on = f'on "{tmp_path / "two.toml"}" with roofline+levels at n = 24, m = 24, p = 24'
    claims = [
        (f"<= {upper}", "holds"),
        (f"< {upper}", "unknown" if binds == "L2" else "fails"),
        (f"< {lower}", "fails"),
    ]
    text = "use dense.matmul\n" + "".join(f"claim time(matmul_basic) {claim} {on}\n" for claim, _ in claims)
    assert [each.outcome for each in loads(text).claims()] == [outcome for _, outcome in claims]


def test_runs_by_level_say_what_they_do_not_count(tmp_path: Path) -> None:
    of_text(tmp_path, SHEET)
    base = ("run", TRIPLE, "--at", "n=4,m=4,p=4", "--machine")
    two = str(tmp_path / "two.toml")
    assert "byte counts assume words of 8 B, but the machine's words have 4 B" in " ".join(
        cli(*base, two, "--parameter", "word=4").out.split()
    )
    assert cli(*base, two, "--procs", "2").refused("AL411")
    assert cli(*base, "epyc-9654").refused("AL411")
    wide = ("energy", TRIPLE, "--at", "n=4,m=4,p=4", "--machine", two, "--parameter", "fast_memory=1MiB")
    assert cli(*wide, "--model", "roofline+levels").refused("AL465")
    assert cli(*wide, "--model", "roofline").code == 0


CACHES = (("L1", Cache(4, 2)), ("L2", Cache(8, 2)), ("L3", Cache(32, 4)))


def assert_levels(text: str, name: str, arguments: Mapping[str, Any]) -> None:
    """A run with three caches is three runs, each of which lies where the bounds at its cache allow."""
    algorithm = loads(text)[name]
    together = run(algorithm, arguments, CACHES[-1][1], Settings(levels=CACHES, compiled=False))
    report = algorithm.cost()
    for level, cache in CACHES:
        alone = run(algorithm, arguments, cache, Settings(compiled=False)).counts
        counts = together.levels[level][1]
        assert (counts.io, counts.writebacks, counts.bytes) == (alone.io, alone.writebacks, alone.bytes)
        for metric in ("io", "bytes"):
            cost = report.including(metric).costs[metric]
            if cost.lower is not None:
                lower, upper = enclose_count(cost, {**together.sizes, "Z": cache.Z, "L": cache.L}).ends
                assert lower <= getattr(counts, metric), (metric, text)
                # Of the bytes of a run that misses least the bounds say nothing from above.
                assert metric == "bytes" or alone.io is None or alone.io <= upper, (metric, text)
    # Where lines are the same, a larger cache holds what a smaller one does.
    assert (together.levels["L1"][1].io or 0) >= (together.levels["L2"][1].io or 0)


ELEMENTS = st.sampled_from(("x[i]", "x[j]", "y[j]", "A[i, j]", "A[j, i]", "y[n - 1 - i]"))
LOOP = "    for i in 0..n:\n        for j in 0..{}:\n            {} {} {}\n"
NESTS = st.builds(LOOP.format, st.sampled_from(("n", "i", "n - 1")), ELEMENTS, st.sampled_from(("=", "+=")), ELEMENTS)


@long
@settings(max_examples=drawn(32, least=8), deadline=None)
@given(nests=st.lists(NESTS, min_size=1, max_size=2), n=st.integers(3, 7))
def test_levels_are_what_the_bounds_are_at_each_cache(nests: list[str], n: int) -> None:
    text = "algorithm main(x: inout real[n], y: inout real[n], A: inout real[n, n]):\n    where n >= 3\n" + "".join(
        nests
    )
    assert_levels(text, "main", {"x": np.ones(n), "y": np.ones(n), "A": np.ones((n, n))})
    on = replace(machine("gtx-580"), quantities={})
    sheet = ["peak=1Gflop/s", "bandwidth=1GB/s", "word=8B/word", "L1_capacity=32B", "L1_line=16B/line"]
    on = with_values(on, *sheet, "L3_capacity=256B", "L3_line=32B/line", "L1_bandwidth=1GB/s")
    algorithm = loads(text)["main"]
    found = energy(algorithm, machine=on, model="roofline+levels", n=n)
    assert [(each.name, each.bytes) for each in found.levels if each.bytes] == [
        (name, enclose_count(algorithm.cost().including("bytes").costs["bytes"], {"n": n, "Z": Z, "L": L}))
        for name, Z, L in (("L1", 4, 2), ("L3", 32, 4))
    ]


def test_a_run_shows_the_levels_of_a_machine(tmp_path: Path) -> None:
    of_text(tmp_path, SHEET)
    shown = cli("run", TRIPLE, "--machine", str(tmp_path / "two.toml"), "--at", "n=9,m=9,p=9")
    assert shown.code == 0
    assert [line.split()[0] for line in shown.out.splitlines() if line.startswith("  L")] == [
        "L1_io", "L1_bytes", "L2_io", "L2_bytes",
    ]  # fmt: skip
    measured = energy(TRIPLE, machine=machine(str(tmp_path / "two.toml")), measured=True, **SIZES)
    assert measured.result.inputs["L1_io"].origin == "executed"
    bounds = energy(TRIPLE, machine=machine(str(tmp_path / "two.toml")), **SIZES)
    for name in ("L1_io", "L2_io"):
        low, high = (getattr(bounds.result.inputs[name].amount, end) for end in ("lower", "upper"))
        assert low <= measured.result.inputs[name].amount.lower <= high


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (("energy", TRIPLE, "--model", "roofline+levels"), "AL414"),
        (("energy", TRIPLE, "--model", "roofline+levels", "--at", "n=9,m=9,p=9", "--cache", "Z=64,L=8"), "AL408"),
        (("energy", TRIPLE, "--model", "roofline+levels", "--at", "n=9,m=9,p=9,Z=64,L=8"), "AL408"),
        (
            (
                "optimise",
                TRIPLE,
                "--over",
                "n=1..9",
                "--at",
                "m=9,p=9",
                "--minimise",
                "time",
                "--model",
                "roofline+levels",
                "--cache",
                "Z=64,L=8",
            ),
            "AL408",
        ),
        (("run", TRIPLE, "--at", "n=9,m=9,p=9", "--cache", "Z=64,L=8"), "AL408"),
    ],
)
def test_what_takes_one_cache_refuses_levels(tmp_path: Path, command: tuple[str, ...], code: str) -> None:
    of_text(tmp_path, SHEET)
    assert cli(*command, "--machine", str(tmp_path / "two.toml")).refused(code)


def test_comparisons_take_levels(tmp_path: Path) -> None:
    """By time at a level: in a copy L1 binds, its misses decide nothing."""
    of_text(tmp_path, SHEET)
    on = ("--machine", str(tmp_path / "two.toml"), "--at", "n=24,m=24,p=24")
    shown = cli("compare", TRIPLE, "dense.matmul::matmul_ijk", *on, "--by", "time")
    assert "model roofline+levels" in shown.out
    assert "energy: open" in " ".join(shown.out.split())


def test_the_usual_model_is_the_first_that_a_machine_feeds(tmp_path: Path) -> None:
    two = of_text(tmp_path, SHEET)
    plain = of_text(tmp_path, SHEET.split("[level")[0])
    assert choose_default_model([two], at_sizes=True).name == "roofline+levels"
    assert choose_default_model([two], at_sizes=False).name == "roofline"
    assert choose_default_model([plain], at_sizes=True).name == "roofline"
    assert choose_default_model([two, plain], at_sizes=True).name == "roofline"
    for fed in ("gtx-580", "xeon-e5-2650l-v3"):
        assert choose_default_model([machine(fed)], at_sizes=True).name == "ice"
    # Of none that can be fed, the one that lacks the least: a bandwidth.
    assert choose_default_model([machine("jaketown")], at_sizes=True).name == "roofline"
    # Levels are the first where they are known; the time of unlimited cores is the last.
    a100 = machine("a100-sxm4-40gb")
    found = [
        choose_default_model([a100], at_sizes=sizes, asked=each).name
        for sizes in (True, False)
        for each in ("energy", "time")
    ]
    assert found == ["roofline+levels", "roofline+levels", "ice", "roofline"]
    for asked in ("time", "power", "energy_delay"):
        assert choose_default_model([machine("gtx-580")], at_sizes=True, asked=asked).name == "roofline"
        assert choose_default_model([machine("ice/fermi-gtx-580")], at_sizes=True, asked=asked).name == "ice"


def test_a_draft_is_told_what_a_time_needs(tmp_path: Path) -> None:
    word = '[quantity.word]\nvalue = "8"\nunit = "B/word"\nkind = "definition"\nsource = "double precision"\n'
    (tmp_path / "draft.toml").write_text(f'title = "Draft"\n{word}', encoding="utf-8")
    shown = cli("energy", "scan.reduce::sum", "--machine", str(tmp_path / "draft.toml"), "--at", "n=8")
    assert "lacks quantities that model `roofline` needs: `bandwidth` (B/s), `peak` (flop/s)\n" in shown.err


BY_KIND = """algorithm always(x: inout real[n]):
    for i in 0..n:
        x[i] = x[i]/3.0 + 1.0 - x[i]
        x[i] *= 0.5

algorithm perhaps(x: inout real[n]):
    for i in 0..n:
        if x[i]*2.0 > 0.5:
            x[i] = x[i] + 1.0
"""


def test_energies_by_kind_of_operation() -> None:
    gpu = with_values(
        "gtx-580@double", "eps_add=1 J/flop", "eps_mul=10 J/flop", "eps_div=100 J/flop", "eps_flop=1000 J/flop"
    )
    for measured in (False, True):
        found = energy(loads(BY_KIND)["always"], machine=gpu, model="roofline+kinds", n=7, measured=measured)
        assert found.parts["computation"] == 7 * (1 + 1 + 10 + 100)
    # A comparison is one of the others, and the data decides whether one is added.
    found = energy(loads(BY_KIND)["perhaps"], machine=gpu, model="roofline+kinds", n=7)
    assert found.parts["computation"] == (7 * 1010, 7 * 1011)


SCALAR = 'peak_scalar = { value = "10", unit = "Gflop/s", kind = "peak", source = "sheet" }\n'


@long
def test_what_a_picture_of_levels_says(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    two = of_text(tmp_path, SHEET.replace("[quantity]\n", "[quantity]\n" + SCALAR))
    roofline(two, TRIPLE, "dense.gemv::gemv", at=SIZES).save(tmp_path / "levels.svg")
    drawn = (tmp_path / "levels.svg").read_text(encoding="utf-8")
    for said in ("memory 20.00 GB/s", "L1 400.0 GB/s", "L2, of no known bandwidth", "without vectors 10.00 Gflop/s"):
        assert f">{said}<" in drawn or f"<!-- {said} -->" in drawn, said
    for said in ("100 Gflop/s", "10 Gflop/s", "matmul_basic", "gemv"):
        assert f">{said}<" in drawn or f"<!-- {said} -->" in drawn, said


def test_axes_are_in_the_unit_of_the_text(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    compared = ("compare", TRIPLE, "dense.matmul::matmul_ijk", "--machine", "gtx-580", "--by")
    for by, tick in (("energy", "mJ"), ("time", "us")):
        path = tmp_path / f"{by}.svg"
        assert cli(*compared, by, "--at", "n=99,m=99,p=99", "--model", "roofline", "--out", str(path)).code == 0
        assert re.search(rf"(>|<!-- )[\d.]+ {tick}(<| -->)", path.read_text(encoding="utf-8")), by
