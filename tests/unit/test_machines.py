"""Machines against the papers' tables, and machine files with mistakes."""

import re
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archline import energy
from archline.energy.machine_files import documents, machine, machine_names, machines, read_machine
from archline.energy.machines import KINDS, Machine, Quantity, read_parameters
from archline.energy.quantities import NAMES, QUANTITIES
from archline.energy.units import BASES, dimension, format_si, parse_unit
from archline.language.diagnostics import ArchlineError, Diagnostic
from archline.papers.recipes import INPUTS
from archline.papers.rows import read_paper
from effort import drawn

# Tran and Ha, Table 3, in nJ: eps_op, pi_op, eps_io, pi_io.
ICE_TABLE_3 = {
    "nehalem-i7-950": "0.670 2.455 50.88 408.80",
    "ivy-bridge-i3-3217u": "0.024 0.591 26.75 58.99",
    "bobcat-e2-1800": "0.199 3.980 27.84 387.47",
    "fermi-gtx-580": "0.213 0.622 32.83 45.66",
    "kepler-gtx-680": "0.263 0.452 27.97 26.90",
    "kepler-gtx-titan": "0.094 0.077 17.09 32.94",
    "xeon-phi-knc-5110p": "0.012 0.178 8.70 63.65",
    "cortex-a9-omap-4460": "0.302 1.152 25.92 87.00",
    "arndale-cortex-a15": "0.275 1.385 24.70 89.34",
    "xeon-e5-2650l-v3": "0.263 0.108 8.86 23.29",
    "xeon-phi-31s1p": "0.006 0.078 25.02 64.40",
}
ICE = ("eps_op J/op", "pi_op J/op", "eps_io J/line", "pi_io J/line")

# Choi et al., Tables II to IV, and what section IV-B says was reached.
ROOFLINE = {
    "i7-950@single": "106.56 99.4 25.6 18.7 371 795 122",
    "i7-950@double": "53.28 49.7 25.6 18.9 670 795 122",
    "gtx-580@single": "1581.06 1398 192.4 168 99.7 513 122",
    "gtx-580@double": "197.63 196 192.4 170 212 513 122",
}
ROOFLINE_QUANTITIES = {
    "peak": "Gflop/s",
    "peak_sustained": "Gflop/s",
    "bandwidth": "GB/s",
    "bandwidth_sustained": "GB/s",
    "eps_flop": "pJ/flop",
    "eps_mem": "pJ/B",
    "pi0": "W",
}

# Demmel et al., Table I.
SCALING_TABLE_1 = """
frequency 3.1 GHz
simd 8 1
word 4 B/word
cores 8 1
peak 396.8 Gflop/s
memory_max 17179869184 word
message_max 17179869184 word
power_rated 150 W
link_bandwidth 25.60 GB/s
link_power 2.15 W
dimms 8 1
dimm_power 3.1 W
gamma_e 3.78024e-10 J/flop
beta_e 3.78024e-10 J/word
alpha_e 0 J/message
delta_e 5.7742e-9 J/word/s
eps_e 0 W
gamma_t 2.5202e-12 s/flop
beta_t 1.56e-10 s/word
alpha_t 6.000e-8 s/message
"""

# Table II: clock in GHz, cores, SIMD width, TDP in W, peak in Gflop/s, gamma_t, gamma_e, Gflop/s/W.
SCALING_TABLE_2 = {
    "sandy-bridge-2687w": "3.1 8 8 150.0 396.80 2.52E-12 3.78E-10 2.645",
    "ivy-bridge-3770k": "3.5 4 8 77.0 307.20 3.26E-12 2.51E-10 3.990",
    "ivy-bridge-3770t": "2.5 4 8 45.0 243.20 4.11E-12 1.85E-10 5.404",
    "westmere-ex-e7-8870": "2.4 10 4 130.0 192.00 5.21E-12 6.77E-10 1.477",
    "beckton-x7560": "2.26 8 4 130.0 144.64 6.91E-12 8.99E-10 1.113",
    "atom-d2500": "1.86 2 4 10.0 29.76 3.36E-11 3.36E-10 2.976",
    "atom-n2800": "1.86 2 4 6.5 29.76 3.36E-11 2.18E-10 4.578",
    "gtx-480": "1.401 480 1 250.0 1344.96 7.44E-13 1.86E-10 5.380",
    "gtx-590": "1.215 1024 1 365.0 2488.32 4.02E-13 1.47E-10 6.817",
    "cortex-a9-2.0ghz": "2 2 2 1.9 8.00 1.25E-10 2.38E-10 4.211",
    "cortex-a9-0.8ghz": "0.8 2 2 0.5 3.20 3.13E-10 1.56E-10 6.400",
}
TABLE_2 = (
    "frequency GHz",
    "cores 1",
    "simd 1",
    "power_rated W",
    "peak Gflop/s",
    "gamma_t s/flop",
    "gamma_e J/flop",
    "efficiency Gflop/J",
)

# Czechowski et al., Table 1: value, years in which it doubles (below 0: halves), projection as printed.
BALANCE = {
    "peak": ("1.03", "Tflop/s", "1.7", 59),
    "bandwidth": ("144", "GB/s", "2.8", 1700),
    "latency": ("347.8", "ns", "-10.5", 179.7),
    "line": ("128", "B/line", "10.2", 256),
    "fast_memory": ("2.7", "MB", "2.0", 83),
    "cores": ("448", "1", "1.87", 18000),
}

# What the documents of processors of today print, or its product: Gflop/s and GB/s, and the bytes of a word.
TODAY = {
    "a100-sxm4-40gb": "9700 1555 8",
    "a100-sxm4-40gb@single": "19500 1555 4",
    "a100-sxm4-40gb@half": "78000 1555 2",
    "a100-sxm4-40gb@half_tensor": "312000 1555 2",
    "a100-sxm4-80gb": "9700 2039 8",
    "a100-sxm4-80gb@half": "78000 2039 2",
    "a100-sxm4-80gb@half_tensor": "312000 2039 2",
    "a64fx": "3072 1024 8",
    "a64fx@scalar": "384 1024 8",
    "a64fx@single": "6144 1024 4",
    "apple-m1-cpu": "205.056 68.25 8",
    "apple-m1-cpu@scalar": "102.528 68.25 8",
    "apple-m1-cpu@single": "410.112 68.25 4",
    "apple-m1-gpu": "2617 68.25 4",
    "epyc-7763": "2508.8 204.8 8",
    "epyc-7763@scalar": "627.2 204.8 8",
    "epyc-7763@single": "5017.6 204.8 4",
    "epyc-9654": "3686.4 460.8 8",
    "epyc-9654@scalar": "921.6 460.8 8",
    "grace-superchip": "7100 1000 8",
    "h100-sxm": "33500 3350 8",
    "h100-sxm@half": "133800 3350 2",
    "h100-sxm@half_tensor": "989400 3350 2",
    "h200-sxm": "33500 4800 8",
    "h200-sxm@half": "133800 4800 2",
    "h200-sxm@half_tensor": "989400 4800 2",
    "mi250x-gcd": "23900 1600 8",
    "mi300x": "81700 5300 8",
    "mi300x@half_matrix": "1307400 5300 2",
    "xeon-8480": "3584 307.2 8",
    "xeon-8480@scalar": "448 307.2 8",
    "xeon-8480@single": "7168 307.2 4",
}

ROWS = re.compile(r"`archline papers (\w+) --place '([^']+)'`")

# Printed numbers that do not follow from the others, and what their formula gives instead: the notes say why.
DIFFERENT = {
    ("gtx-580@double", "eps_op"): ("0.212", "nJ/op", "212 pJ/flop"),
    ("gtx-580@double", "pi_io"): ("45.93", "nJ/line", "45.93 nJ/line"),
    ("i7-950@double", "pi_io"): ("413.1", "nJ/line", "413.1 nJ/line"),
    ("jaketown", "beta_e"): ("3.354e-10", "J/word", "3.354e-10 J/word"),
    ("jaketown", "delta_e"): ("1.44355e-9", "J/word/s", "1.44355e-9 J/word/s"),
}


def in_unit(found: Machine, name: str, unit: str) -> Fraction:
    read = parse_unit(unit)
    assert read.dimension == QUANTITIES[name].dimension
    return found.values[name] / read.factor


def half_a_digit(written: str) -> Fraction:
    exponent = Decimal(written).as_tuple().exponent
    assert isinstance(exponent, int)
    return Fraction(10) ** exponent / 2


def every_variant() -> list[str]:
    return [
        f"{name}@{variant}" if variant else name
        for name in machine_names()
        for variant in machine(name).variants or ("",)
    ]


# The papers' tables
@pytest.mark.parametrize("name", ICE_TABLE_3)
def test_ice_table_3(name: str) -> None:
    found = machine(name)
    for printed, entry in zip(ICE_TABLE_3[name].split(), ICE, strict=True):
        quantity, unit = entry.split()
        assert in_unit(found, quantity, unit) == Fraction(printed) / 10**9
        assert found.quantities[quantity].source.document == "tran2016"
        assert found.quantities[quantity].source.quote == printed
        assert "1605.08222" in str(found.quantities[quantity].source)
        fitted = name in ("xeon-e5-2650l-v3", "xeon-phi-31s1p")
        assert found.quantities[quantity].kind == ("fitted" if fitted else "inferred")


def test_ice_section_6_1() -> None:
    assert machine("xeon-e5-2650l-v3").values["cores"] == 24
    assert machine("xeon-e5-2650l-v3").values["frequency"] == 1_800_000_000
    assert machine("xeon-phi-31s1p").values["cores"] == 57
    assert machine("xeon-phi-31s1p").values["frequency"] == 1_100_000_000


@pytest.mark.parametrize(("ice", "roofline"), [("nehalem-i7-950", "i7-950"), ("fermi-gtx-580", "gtx-580")])
def test_what_two_papers_say_of_one_machine(ice: str, roofline: str) -> None:
    first, second = machine(ice), machine(roofline)
    for name in ("eps_op", "pi_op", "eps_io", "pi_io", "pi0", "line"):
        assert first.values[name] == second.values[name]
    ratio = first.values["eps_io"] / second.values["eps_mem"]
    assert abs(ratio - 64) < Fraction(1, 100)
    assert first.values["line"] == 64


@pytest.mark.parametrize("name", ROOFLINE)
def test_roofline_tables_3_and_4(name: str) -> None:
    found = machine(name)
    for printed, (quantity, unit) in zip(ROOFLINE[name].split(), ROOFLINE_QUANTITIES.items(), strict=True):
        assert in_unit(found, quantity, unit) == Fraction(printed)
    assert found.values["word"] == (4 if name.endswith("single") else 8)
    assert found.values["tau_flop"] == 1 / found.values["peak"]
    assert found.values["tau_mem"] == 1 / found.values["bandwidth"]
    # ICE's numbers are those of double precision.
    assert ("eps_op" in found.quantities) == name.endswith("double")


def test_roofline_figures_of_the_text() -> None:
    gpu = machine("gtx-580@single")
    assert in_unit(gpu, "power_limit", "W") == 244
    assert in_unit(gpu, "power_idle", "W") == Fraction("39.6")
    assert in_unit(gpu, "eps_cache", "pJ/B") == 187
    assert "power_rated" not in gpu.quantities
    assert machine("i7-950").values["power_rated"] == 130
    # Section V-B prints 387 W.
    most = gpu.values["eps_flop"] / gpu.values["tau_flop"] + gpu.values["eps_mem"] / gpu.values["tau_mem"]
    assert round(most + gpu.values["pi0"], 1) == Fraction("378.3")
    assert any("378.3 W" in note for note in gpu.notes)


def test_notes_refer_to_rows_of_papers() -> None:
    found = {ref for name in every_variant() for note in machine(name).notes for ref in ROWS.findall(note)}
    assert len(found) >= 6
    for paper, place in found:
        assert place in {row.place for row in read_paper(paper, INPUTS).rows}


def test_roofline_table_2() -> None:
    found = machine("fermi-keckler")
    assert in_unit(found, "eps_flop", "pJ/flop") == 25
    assert in_unit(found, "eps_mem", "pJ/B") == 360
    assert found.values["pi0"] == 0
    assert found.variants == ()
    assert round(in_unit(found, "tau_flop", "ps/flop"), 1) == Fraction("1.9")
    assert round(in_unit(found, "tau_mem", "ps/B"), 1) == Fraction("6.9")
    assert round(found.values["tau_mem"] / found.values["tau_flop"], 1) == Fraction("3.6")
    assert found.values["eps_mem"] / found.values["eps_flop"] == Fraction("14.4")


def test_scaling_table_1() -> None:
    found = machine("jaketown")
    for line in SCALING_TABLE_1.strip().splitlines():
        name, printed, unit = line.split()
        assert in_unit(found, name, unit) == Fraction(printed), name


@pytest.mark.parametrize("name", SCALING_TABLE_2)
def test_scaling_table_2(name: str) -> None:
    found = machine(name)
    for printed, entry in zip(SCALING_TABLE_2[name].split(), TABLE_2, strict=True):
        quantity, unit = entry.split()
        assert in_unit(found, quantity, unit) == Fraction(printed)
    one_flop_a_cycle = name.startswith("cortex")
    assert found.values["flop_per_cycle"] == (1 if one_flop_a_cycle else 2)


@pytest.mark.parametrize(("name", "ghz"), [("ivy-bridge-3770k", "3.5"), ("ivy-bridge-3770t", "2.5")])
def test_the_gpu_on_the_package_counts_one_flop_a_cycle(name: str, ghz: str) -> None:
    cpu, gpu = 4 * 8 * 2 * Fraction(ghz), 16 * 8 * Fraction("0.65")
    assert in_unit(machine(name), "peak", "Gflop/s") == cpu + gpu
    assert machine(name).quantities["peak"].check is None
    assert any("GPU on the package" in note for note in machine(name).notes)


def test_balance_table_1_and_its_projections() -> None:
    found = machine("fermi-c2050")
    assert found.year == 2010
    later = found.in_year(2020)
    assert later.year == 2020
    for name, (printed, unit, doubling, projected) in BALANCE.items():
        assert in_unit(found, name, unit) == Fraction(printed)
        assert found.quantities[name].doubling == Fraction(doubling)
        assert float(in_unit(later, name, unit)) == pytest.approx(projected, rel=0.05)
    expected = {"peak": 60.76, "bandwidth": 1711.9, "latency": 179.74, "line": 252.54, "fast_memory": 86.4}
    for name, value in expected.items():
        assert float(in_unit(later, name, BALANCE[name][1])) == pytest.approx(value, rel=1e-4)
    assert float(later.values["cores"]) == pytest.approx(18242, rel=1e-4)
    # What has no trend stays, what a formula gives follows.
    assert later.values["word"] == 4
    assert later.values["core_rate"] == later.values["peak"] / later.values["cores"]
    assert found.in_year(2010).values == found.values


def test_balance_last_rows_of_table_1() -> None:
    now = machine("fermi-c2050").values
    later = machine("fermi-c2050").in_year(2020).values
    # p*C0/beta in flop a byte, though beta is in words: printed 7.2 -> 34.9.
    assert [round(float(each["peak"] / each["bandwidth"]), 1) for each in (now, later)] == [7.2, 35.5]
    assert [round(float(4 * each["peak"] / each["bandwidth"]), 1) for each in (now, later)] == [28.6, 142.0]
    # sqrt(Z/p) in words: printed 38.6 -> 33.5.
    roots = [float(each["fast_memory"] / each["word"] / each["cores"]) ** 0.5 for each in (now, later)]
    assert [round(root, 1) for root in roots] == [38.8, 34.4]


def test_trends_need_a_year() -> None:
    with pytest.raises(ArchlineError) as problem:
        machine("jaketown").in_year(2020)
    assert codes(problem) == ["AL458"]
    for year in (10**6, 10**400):
        with pytest.raises(ArchlineError) as problem:
            machine("fermi-c2050").in_year(year)
        assert codes(problem) == ["AL458"]


# Every file
def test_every_machine_reads_in_every_variant() -> None:
    assert len(machine_names()) == 40
    assert [found.name.partition("@")[0] for found in machines()] == [
        name.partition("/")[2] for name in machine_names()
    ]
    for name in every_variant():
        found = machine(name)
        assert found.title
        assert found.collection == name.partition("/")[0]
        for each in found.quantities.values():
            assert each.kind in (*KINDS, "derived")
            assert (each.kind == "derived") == (each.formula is not None)
            assert each.formula is not None or str(each.source)
            assert each.meaning
            assert each.value >= 0


def test_every_printed_value_is_what_its_quote_says() -> None:
    for name in every_variant():
        for each in machine(name).quantities.values():
            if each.formula is None and each.source.quote.replace(".", "", 1).isdigit():
                assert Fraction(each.as_written.split()[0]) == Fraction(each.source.quote) or each.kind == "inferred"


@pytest.mark.parametrize("name", every_variant())
def test_printed_numbers_follow_from_the_others(name: str) -> None:
    found = machine(name)
    for quantity, value in found.checked().items():
        written, _, unit = found.quantities[quantity].as_written.partition(" ")
        different = DIFFERENT.get((found.name, quantity))
        got = in_unit(found, quantity, unit) * value / found.values[quantity]
        if different is None:
            assert abs(got - Fraction(written)) <= half_a_digit(written), quantity
        else:
            expected, own, noted = different
            assert own == unit
            assert abs(got - Fraction(written)) > half_a_digit(written)
            assert abs(got - Fraction(expected)) <= half_a_digit(expected)
            assert any(noted in note for note in found.notes)


def test_every_document_is_cited() -> None:
    cited = {each.source.document for name in every_variant() for each in machine(name).quantities.values()}
    assert cited - {""} == documents().keys() - {"keckler2011"}
    assert all("20" in citation for citation in documents().values())


def test_every_number_has_a_document_and_a_place() -> None:
    lacking = [
        f"{name}: {each.name}"
        for name in every_variant()
        for each in machine(name).quantities.values()
        if each.formula is None and not (each.source.document and each.source.place)
    ]
    assert lacking == []


# Of each level of a processor: bytes of one cache, of a line, cores that share it, GB/s of all of them.
LEVELS_OF_TODAY = {
    "a100-sxm4-40gb": "L1 196608 128 64 - L2 41943040 128 6912 5434.7",
    "a100-sxm4-80gb": "L1 196608 128 64 - L2 41943040 128 6912 5434.7",
    "a64fx": "L1 65536 256 1 - L2 8388608 256 12 4096",
    "apple-m1-cpu": "L1 131072 128 1 - L2 12582912 128 4 -",
    "epyc-7763": "L1 32768 64 1 - L2 524288 64 1 - L3 33554432 64 8 -",
    "grace-superchip": "L1 65536 64 1 - L2 1048576 64 1 - L3 119537664 64 72 -",
    "h100-sxm": "L1 262144 128 128 - L2 52428800 128 16896 -",
    "h200-sxm": "L1 262144 128 128 - L2 52428800 128 16896 9716",
    "mi250x-gcd": "L1 16384 128 1 - L2 8388608 128 110 6960",
    "mi300x": "L1 32768 128 1 - L2 4194304 128 38 - L3 268435456 128 304 -",
    "xeon-8480": "L1 49152 64 1 - L2 2097152 64 1 - L3 110100480 64 56 -",
}


@pytest.mark.parametrize("name", LEVELS_OF_TODAY)
def test_levels_of_a_processor_of_today(name: str) -> None:
    known, words = machine(name).values, LEVELS_OF_TODAY[name].split()
    for level, capacity, line, shared, bandwidth in zip(*[iter(words)] * 5, strict=True):
        assert (known[f"{level}_capacity"], known["line"], known[f"{level}_shared"]) == (
            *(int(each) for each in (capacity, line, shared)),
        )
        assert known.get(f"{level}_bandwidth") == (None if bandwidth == "-" else Fraction(bandwidth) * 10**9)
        # The caches of a level are as many as its cores are in groups.
        assert (known["cores"] / known[f"{level}_shared"]).denominator == 1


# Processors of today
@pytest.mark.parametrize("name", TODAY)
def test_a_processor_of_today_has_a_roofline_time(name: str) -> None:
    peak, bandwidth, word = (Fraction(part) for part in TODAY[name].split())
    found = energy("dense.matmul::matmul_basic", machine=name, model="roofline", n=64, m=64, p=64)
    # Three matrices fit into every one of these caches: each is fetched once, and the product is written back.
    assert found.time == max(2 * 64**3 / peak, 4 * 64**2 * word / bandwidth) / 10**9


def test_every_processor_of_today_is_tried() -> None:
    shipped = {name.partition("/")[2] for name in machine_names() if name.startswith("vendors/")}
    assert shipped == {name.partition("@")[0] for name in TODAY}


def test_energies_of_today_are_published_ones() -> None:
    vendors = [name for name in every_variant() if name.startswith("vendors/")]
    energies = {
        (name.partition("/")[2], each.source.document, each.kind)
        for name in vendors
        for each in machine(name).quantities.values()
        if "J" in QUANTITIES[each.name].unit
    }
    cards = (*(f"a100-sxm4-40gb@{each}" for each in ("single", "double", "half", "half_tensor")), "mi250x-gcd")
    assert energies == {(card, "antepara2025", "fitted") for card in cards}
    # Table 3 is in pJ/bit.
    card = machine("a100-sxm4-40gb")
    assert in_unit(card, "eps_mem", "pJ/B") == 8 * Fraction("13.11")
    assert in_unit(card, "eps_cache", "pJ/B") == 8 * (Fraction("4.71") + Fraction("1.59"))
    assert [in_unit(card, f"L{level}_energy", "pJ/B") / 8 for level in (1, 2)] == [Fraction("1.59"), Fraction("4.71")]
    die = machine("mi250x-gcd")
    assert [in_unit(die, f"L{level}_energy", "pJ/B") / 8 for level in (1, 2)] == [Fraction("1.54"), Fraction("2.82")]
    assert in_unit(die, "eps_mem", "pJ/B") == 8 * Fraction("13.64")
    assert in_unit(die, "eps_cache", "pJ/B") == 8 * (Fraction("2.82") + Fraction("1.54"))
    assert "pi0" not in die.quantities


# Names
def test_a_name_may_carry_its_collection() -> None:
    assert machine("ice/xeon-phi-31s1p") == machine("xeon-phi-31s1p")
    assert {found.name for found in machines() if found.collection == "ice"} == set(ICE_TABLE_3)


def codes(problem: pytest.ExceptionInfo[ArchlineError]) -> list[str]:
    return [diagnostic.rule.code for diagnostic in problem.value.diagnostics]


@pytest.mark.parametrize(
    ("name", "code", "hint"),
    [
        ("xeon-e5-2650", "AL450", "xeon-e5-2650l-v3"),
        ("Fermi-GTX-580", "AL450", "fermi-gtx-580"),
        ("zzz", "AL450", "archline machines"),
        ("", "AL450", "archline machines"),
        ("gtx-580@half", "AL464", "gtx-580@single"),
        ("jaketown@single", "AL464", "none"),
    ],
)
def test_an_unknown_name_gets_a_suggestion(name: str, code: str, hint: str) -> None:
    with pytest.raises(ArchlineError) as problem:
        machine(name)
    assert codes(problem) == [code]
    assert hint in (problem.value.diagnostics[0].hint or "")


def test_variants() -> None:
    assert machine("gtx-580").name == "gtx-580@double"
    assert machine("gtx-580") == machine("roofline/gtx-580@double")
    assert machine("gtx-580").variants == ("single", "double")
    assert machine("gtx-580@single").values["peak"] > machine("gtx-580@double").values["peak"]
    assert machine("gtx-580@single").values["pi0"] == machine("gtx-580@double").values["pi0"]


# Files of one's own
GOOD = """\
title = "Mine"
notes = ["a note"]
[quantity.eps_op]
value = "1.5e-1"
unit = "nJ/op"
kind = "measured"
source = "RAPL"
[quantity.eps_mem]
value = "513"
unit = "pJ/B"
kind = "fitted"
source = { document = "choi2013", place = "Table IV" }
[quantity.beta_e]
value = "3"
unit = "nJ/word"
kind = "assumed"
source = { note = "a guess" }
[quantity.peak]
value = "100"
unit = "Gflop/s"
kind = "peak"
source = "data sheet"
[quantity.tau_flop]
from = "1/peak"
unit = "s/flop"
"""


def written(folder: Path, text: str, name: str = "mine.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    found = machine(str(written(tmp_path, GOOD)))
    assert (found.name, found.collection, found.title, found.notes) == ("mine", "", "Mine", ("a note",))
    assert found.values["eps_op"] == Fraction(15, 10**11)
    assert found.values["tau_flop"] == Fraction(1, 10**11)
    assert found.quantities["eps_op"].as_written == "1.5e-1 nJ/op"
    assert found.quantities["tau_flop"].kind == "derived"
    assert str(found.quantities["eps_mem"].source) == (
        "Choi, Bedard, Fowler and Vuduc, A roofline model of energy, IPDPS 2013, Table IV"
    )


def test_folders_with_an_at_sign(tmp_path: Path) -> None:
    folder = tmp_path / "me@home"
    folder.mkdir()
    path = written(folder, 'default_variant = "x"\n' + GOOD + "[variant.x]\n[variant.y]\n")
    assert machine(str(path)).name == "mine@x"
    assert machine(f"{path}@y").name == "mine@y"


def test_keys_of_inline_tables(tmp_path: Path) -> None:
    text = 'title = "T"\nquantity.pi0 = { value = "+5.", unit = "W", kind = "measured", source = "x", error = "0.5" }\n'
    found = read_machine(written(tmp_path, text))
    assert found.quantities["pi0"].value == 5
    assert found.quantities["pi0"].error == Fraction(1, 2)


@pytest.mark.parametrize(
    ("old", "new", "expected", "line"),
    [
        # Keys
        ('title = "Mine"', "", ["AL453"], 1),
        ('title = "Mine"', "title = 3", ["AL453"], 1),
        ('["a note"]', '["a note"]\nnote = "x"', ["AL453"], 3),
        ('["a note"]', '["a note"]\nyear = "2010"', ["AL453"], 3),
        ('["a note"]', '["a note"]\nyear = true', ["AL453"], 3),
        ('["a note"]', '["a note"]\nextends = 3', ["AL453"], 3),
        ('["a note"]', '"a note"', ["AL453"], 2),
        ('["a note"]', "[1]", ["AL453"], 2),
        ("[quantity.eps_op]", "[quantity.eps_opp]", ["AL453"], 3),
        ('value = "1.5e-1"', 'valu = "1.5e-1"', ["AL453", "AL456"], 4),
        ("[quantity.eps_op]", "[quantity.eps_op.x]", ["AL453", "AL454", "AL453", "AL455", "AL456"], 3),
        # Units
        ('unit = "nJ/op"\n', "", ["AL454"], 3),
        ('"nJ/op"', '"nJoule/op"', ["AL454"], 5),
        ('"nJ/op"', "7", ["AL453", "AL454"], 5),
        ('"nJ/op"', '"nJ"', ["AL461"], 5),
        ('"pJ/B"', '"pJ/word"', ["AL461"], 10),
        # Kinds and sources
        ('kind = "measured"\n', "", ["AL453"], 3),
        ('"measured"', '"guessed"', ["AL453"], 6),
        ('"measured"', '["measured"]', ["AL453", "AL453"], 6),
        ('source = "RAPL"\n', "", ["AL455"], 3),
        ('source = "RAPL"', "source = 3", ["AL453"], 7),
        ('"RAPL"', '"  "', ["AL455"], 3),
        ('"RAPL"', '{ document = "choi2012" }', ["AL453"], 7),
        ('"RAPL"', '{ page = "7" }', ["AL453", "AL455"], 7),
        # Numbers
        ('value = "1.5e-1"\n', "", ["AL456"], 3),
        ('"1.5e-1"', "0.15", ["AL456"], 4),
        ('"1.5e-1"', '"a lot"', ["AL456"], 4),
        ('"1.5e-1"', '"nan"', ["AL456"], 4),
        ('"1.5e-1"', "nan", ["AL456"], 4),
        ('"1.5e-1"', '"inf"', ["AL456"], 4),
        ('"1.5e-1"', "-inf", ["AL456"], 4),
        ('"1.5e-1"', '"1/3"', ["AL456"], 4),
        ('"1.5e-1"', '"1e999999999"', ["AL456"], 4),
        ('"1.5e-1"', '"١"', ["AL456"], 4),
        ('"1.5e-1"', '"' + "9" * 200_000 + '"', ["AL456"], 4),
        ('"1.5e-1"', '"-0.15"', ["AL457"], 4),
        ('"1.5e-1"', '"1.5"\ndoubling_years = "0"', ["AL456"], 5),
        ('"1.5e-1"', '"1.5"\nhalving_years = "x"', ["AL456"], 5),
        ('"1.5e-1"', '"1.5"\nerror = "-1"', ["AL457"], 5),
        # Formulas
        ('"1/peak"', '"1/(peak - peak)"', ["AL462"], 24),
        ('"1/peak"', '"1/peak - 2/peak"', ["AL457"], 24),
        ('"1/peak"', '"1/pea"', ["AL462"], 24),
        ('"1/peak"', '"1/bandwidth"', ["AL461"], 24),
        ('"1/peak"', '"tau_mem*eps_flop/eps_mem"', ["AL462"], 24),
        ('"1/peak"', '"tau_flop"', ["AL462"], 24),
        ('"1/peak"', '"peak"', ["AL461"], 24),
        ('"1/peak"', '"1/peak +"', ["AL101"], 24),
        ('"1/peak"', '"if peak then 1 else 2"', ["AL101"], 24),
        ('"1/peak"', '""', ["AL101"], 24),
        ('"1/peak"', "1", ["AL453"], 24),
        ('"1/peak"', '"' + "(" * 5000 + '"', ["AL101"], 24),
        ('"1/peak"', '"1/peak' + " + 1/peak" * 5000 + '"', ["AL105"], 24),
        ('"1/peak"', '"' + "9" * 5000 + '/peak"', ["AL106"], 24),
        ('"1/peak"', '"1/peak"\nvalue = "1"', ["AL453"], 24),
        ('"1/peak"', '"1/peak"\ndoubling_years = "1"', ["AL453"], 24),
        ('unit = "s/flop"', 'unit = "s/flop"\ncheck = "1/bandwidth"', ["AL461"], 26),
        ('unit = "s/flop"', 'unit = "s/flop"\ncheck = "tau_mem*eps_flop/eps_mem"', ["AL462"], 24),
        # Variants
        ('["a note"]', '["a note"]\ndefault_variant = "single"', ["AL464"], 3),
        ('unit = "s/flop"', 'unit = "s/flop"\n[variant.single]', ["AL453"], 26),
        ('["a note"]', '["a note"]\nvariant = 3', ["AL453"], 3),
        # TOML
        ("[quantity.eps_op]", "[quantity.eps_op", ["AL452"], 3),
        ("[quantity.eps_mem]", "[quantity.eps_op]", ["AL452"], 8),
        ('unit = "pJ/B"', 'unit = "pJ/B"\nunit = "pJ/B"', ["AL452"], 11),
        ('unit = "s/flop"\n', "unit = '''", ["AL452"], 25),
    ],
)
def test_mistakes_in_a_file_are_named(tmp_path: Path, old: str, new: str, expected: list[str], line: int) -> None:
    assert GOOD.count(old) == 1
    path = written(tmp_path, GOOD.replace(old, new))
    with pytest.raises(ArchlineError) as problem:
        read_machine(path)
    assert codes(problem) == expected
    for diagnostic in problem.value.diagnostics:
        assert_placed(diagnostic, path)
    assert problem.value.diagnostics[0].span.line == line


def assert_placed(diagnostic: Diagnostic, path: Path) -> None:
    assert diagnostic.span.source.path == str(path)
    assert diagnostic.hint
    assert diagnostic.place in diagnostic.render()


def test_a_sum_of_two_dimensions_is_shown_where_it_stands(tmp_path: Path) -> None:
    text = GOOD + '[quantity.eps_cache]\n  from = "2*(eps_mem + beta_e)"\nunit = "J/B"\n'
    with pytest.raises(ArchlineError) as problem:
        read_machine(written(tmp_path, text))
    assert codes(problem) == ["AL461"]
    span = problem.value.diagnostics[0].span
    assert span.line == 27
    assert span.source.lines[26][span.column - 1 : span.end_column - 1].strip("()") == "eps_mem + beta_e"
    assert "J/B" in problem.value.diagnostics[0].message
    assert "J/word" in problem.value.diagnostics[0].message


def test_formulas_that_go_round_in_a_circle(tmp_path: Path) -> None:
    text = GOOD.replace('value = "100"', 'from = "1/tau_flop"')
    with pytest.raises(ArchlineError) as problem:
        read_machine(written(tmp_path, text))
    assert codes(problem) == ["AL462"]
    assert "peak -> tau_flop -> peak" in problem.value.diagnostics[0].message
    assert_placed(problem.value.diagnostics[0], tmp_path / "mine.toml")


def test_a_check_without_a_value(tmp_path: Path) -> None:
    text = GOOD.replace('kind = "peak"', 'kind = "peak"\ncheck = "1/(tau_flop - tau_flop)"')
    found = read_machine(written(tmp_path, text))
    with pytest.raises(ArchlineError) as problem:
        found.checked()
    assert codes(problem) == ["AL462"]
    assert_placed(problem.value.diagnostics[0], tmp_path / "mine.toml")


def test_all_mistakes_are_reported_at_once(tmp_path: Path) -> None:
    text = '[quantity.pi0]\nvalue = "-1"\nunit = "x"\n[quantity.peak]\nvalue = 1.0\nunit = "s"\nsource = "x"\n'
    with pytest.raises(ArchlineError) as problem:
        read_machine(written(tmp_path, text))
    assert sorted(codes(problem)) == ["AL453", "AL453", "AL453", "AL454", "AL455", "AL456", "AL457", "AL461"]


@pytest.mark.parametrize("text", ["", "\n", "# nothing\n", "\ufeff", "title = 'x'", "[quantity]"])
def test_an_empty_file(tmp_path: Path, text: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(ArchlineError) as problem:
        read_machine(path)
    assert set(codes(problem)) == {"AL453"}
    for diagnostic in problem.value.diagnostics:
        assert_placed(diagnostic, path)


@pytest.mark.parametrize("number", ["1" * 5000, "[" * 20000])
def test_what_the_toml_reader_gives_up_on(tmp_path: Path, number: str) -> None:
    path = written(tmp_path, GOOD.replace('"1.5e-1"', number))
    with pytest.raises(ArchlineError) as problem:
        read_machine(path)
    assert codes(problem) == ["AL452"]
    assert problem.value.diagnostics[0].path == str(path)
    assert problem.value.diagnostics[0].hint


def test_what_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "folder.toml").mkdir()
    (tmp_path / "binary.toml").write_bytes(b'title = "\xff"')
    (tmp_path / "nul.toml").write_bytes(b"title = '\0'")
    written(tmp_path, f"title = {'1' * 1_000_000}", "million.toml")
    expected = {
        "folder.toml": "AL452",
        "binary.toml": "AL006",
        "nul.toml": "AL005",
        "million.toml": "AL004",
        "missing.toml": "AL001",
        "nul\0.toml": "AL003",
        "x" * 5000 + ".toml": "AL003",
    }
    for name, code in expected.items():
        with pytest.raises(ArchlineError) as problem:
            machine(str(tmp_path / name))
        assert codes(problem) == [code], name
        assert name in str(problem.value.diagnostics[0].path)
    with pytest.raises(ArchlineError) as problem:
        read_machine(Path("/dev/zero"))
    assert codes(problem) == ["AL452"]
    assert "regular file" in problem.value.diagnostics[0].message


MUTATIONS = st.lists(
    st.tuples(
        st.sampled_from(["delete", "duplicate", "replace", "drop line", "repeat line"]),
        st.integers(0, 10**6),
        st.sampled_from([*"\"[]={}.,#\n\\'+-/*^()09eax \0", "nan", "1e99", "peak", "eps_mem", "\u0660", "'''"]),
    ),
    min_size=1,
    max_size=6,
)


@settings(max_examples=drawn(400), deadline=None)
@given(MUTATIONS)
def test_a_damaged_file_reads_or_is_refused(tmp_path_factory: pytest.TempPathFactory, steps: list) -> None:
    text = GOOD
    for action, place, new in steps:
        lines = text.split("\n")
        at, line = place % (len(text) + 1), place % len(lines)
        match action:
            case "delete":
                text = text[:at] + text[at + 1 :]
            case "duplicate":
                text = text[:at] + text[at : at + 1] + text[at:]
            case "replace":
                text = text[:at] + new + text[at + 1 :]
            case "drop line":
                text = "\n".join(lines[:line] + lines[line + 1 :])
            case _:
                text = "\n".join(lines[: line + 1] + lines[line:])
    path = tmp_path_factory.getbasetemp() / "damaged.toml"
    path.write_text(text, encoding="utf-8")
    try:
        found = read_machine(path)
    except ArchlineError as refused:
        shown = [each.render() for each in refused.diagnostics]
        assert all(str(path) in each for each in shown), shown
    else:
        assert all(each.value >= 0 for each in found.quantities.values() if each.formula is None)


# Machines that extend others
def test_a_machine_extends_one_of_archlines_own(tmp_path: Path) -> None:
    text = (
        'title = "Mine"\nextends = "roofline/gtx-580@single"\nnotes = ["mine"]\n[quantity.bandwidth]\nvalue = "100"\n'
    )
    text += 'unit = "GB/s"\nkind = "measured"\nsource = "STREAM"\n'
    found, base = read_machine(written(tmp_path, text)), machine("gtx-580@single")
    assert (found.name, found.collection, found.title, found.variants) == ("mine", "", "Mine", ())
    assert found.notes == (*base.notes, "mine")
    assert found.values["peak"] == base.values["peak"]
    # What follows from the new value is computed anew.
    assert found.values["tau_mem"] == Fraction(1, 10**11)


def test_a_machine_extends_a_variant_of_a_file(tmp_path: Path) -> None:
    base = GOOD.replace('title = "Mine"', 'title = "Mine"\ndefault_variant = "slow"\nyear = 2010')
    for variant, value in (("slow", 10), ("fast", 20)):
        base += f'[variant.{variant}.quantity.pi0]\nvalue = "{value}"\nunit = "W"\nkind = "rated"\nsource = "x"\n'
    written(tmp_path, base, "base.toml")
    (tmp_path / "deep").mkdir()
    assert read_machine(tmp_path / "base.toml").values["pi0"] == 10
    assert read_machine(tmp_path / "base.toml", variant="fast").values["pi0"] == 20
    found = read_machine(written(tmp_path / "deep", 'extends = "../base.toml@fast"\n'))
    assert (found.values["pi0"], found.title, found.year) == (20, "Mine", 2010)
    assert read_machine(written(tmp_path / "deep", 'extends = "../base.toml"\n')).values["pi0"] == 10


@pytest.mark.parametrize(
    ("extends", "code"),
    [
        ("mine.toml", "AL463"),
        ("other.toml", "AL463"),
        ("missing.toml", "AL450"),
        ("folder.toml", "AL450"),
        ("nul\\u0000.toml", "AL450"),
        ("x" * 5000 + ".toml", "AL450"),
        ("gtx-581", "AL450"),
        ("", "AL450"),
    ],
)
def test_what_cannot_be_extended(tmp_path: Path, extends: str, code: str) -> None:
    (tmp_path / "folder.toml").mkdir()
    written(tmp_path, 'extends = "mine.toml"\n', "other.toml")
    path = written(tmp_path, f'title = "Mine"\nextends = "{extends}"\n')
    with pytest.raises(ArchlineError) as problem:
        read_machine(path)
    assert codes(problem) == [code]
    diagnostic = problem.value.diagnostics[0]
    assert_placed(diagnostic, tmp_path / "other.toml" if extends == "other.toml" else path)
    assert diagnostic.span.line == (1 if extends == "other.toml" else 2)


def test_an_unknown_variant_is_not_extended(tmp_path: Path) -> None:
    with pytest.raises(ArchlineError) as problem:
        read_machine(written(tmp_path, 'extends = "gtx-580@half"\n'))
    assert codes(problem) == ["AL464"]


# Parameters
def test_parameters_of_the_command_line() -> None:
    given_ = read_parameters(["peak=2e11", "eps_mem = 300 pJ/B", "pi0=0"])
    assert {name: each.value for name, each in given_.items()} == {
        "peak": 2 * 10**11,
        "eps_mem": Fraction(3, 10**10),
        "pi0": 0,
    }
    assert {each.kind for each in given_.values()} == {"given"}
    found = machine("gtx-580").with_parameters(given_)
    assert found.values["tau_flop"] == Fraction(1, 2 * 10**11)
    assert machine("gtx-580").with_parameters({}) == machine("gtx-580")
    # A parameter takes the place of a formula.
    assert machine("gtx-580").with_parameters(read_parameters(["tau_flop=1 ps/flop"])).values["tau_flop"] == Fraction(
        1, 10**12
    )


def test_a_parameter_that_takes_a_formulas_value_away(tmp_path: Path) -> None:
    text = GOOD.replace('value = "100"', 'from = "1/tau_flop"').replace('from = "1/peak"', 'value = "1"\nkind = "peak"')
    found = read_machine(written(tmp_path, text + 'source = "data sheet"\n'))
    with pytest.raises(ArchlineError) as problem:
        found.with_parameters(read_parameters(["tau_flop=0"]))
    assert codes(problem) == ["AL462"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "=",
        "peak",
        "peak=",
        "peek=1",
        "peak=x",
        "peak=-1",
        "peak=nan",
        "peak=inf",
        "peak=1/0",
        "peak=true",
        "peak=1 GB/s",
        "peak=1 furlong",
        "peak=2^100000000000",
        "peak=1e400000000",
        "peak=" + "9" * 1_000_000,
        "peak=" + "(" * 10_000,
        "eps_mem=1 pJ/word",
        "flops=1",
    ],
)
def test_wrong_parameters(text: str) -> None:
    with pytest.raises(ArchlineError) as problem:
        read_parameters([text])
    assert codes(problem) == ["AL465"]
    assert problem.value.diagnostics[0].hint
    assert len(problem.value.diagnostics[0].message) < 300


def test_all_wrong_parameters_are_reported_at_once() -> None:
    with pytest.raises(ArchlineError) as problem:
        read_parameters(["peak=1", "peak=2", "x=1", "pi0=W"])
    assert codes(problem) == ["AL465"] * 3


# Units
@pytest.mark.parametrize(
    ("text", "factor", "base"),
    [
        ("J", 1, "J"),
        ("nJ", Fraction(1, 10**9), "J"),
        ("uJ", Fraction(1, 10**6), "J"),
        ("µJ", Fraction(1, 10**6), "J"),
        ("μJ", Fraction(1, 10**6), "J"),
        ("pJ/B", Fraction(1, 10**12), "J/B"),
        *(
            (f"{prefix}J", Fraction(10) ** power, "J")
            for prefix, power in (
                ("f", -15),
                ("p", -12),
                ("n", -9),
                ("u", -6),
                ("m", -3),
                ("k", 3),
                ("M", 6),
                ("G", 9),
                ("T", 12),
                ("P", 15),
            )
        ),
        ("Gflop/s", 10**9, "flop/s"),
        ("Gflop/s/W", 10**9, "flop/J"),
        ("GHz", 10**9, "1/s"),
        ("MiB", 1024**2, "B"),
        ("nJ/ms", Fraction(1, 10**6), "W"),
        ("W*s", 1, "J"),
        ("J*s", 1, "J*s"),
        ("J/word/s", 1, "W/word"),
        ("s*B/B", 1, "s"),
        ("1/s", 1, "Hz"),
        ("1", 1, "1"),
        (" nJ/op ", Fraction(1, 10**9), "J/op"),
    ],
)
def test_units(text: str, factor: Fraction, base: str) -> None:
    unit = parse_unit(text)
    assert (unit.factor, unit.dimension) == (factor, dimension(base))


@pytest.mark.parametrize(
    "text", ["", "/", "J/", "/s", "nn", "QJ", "j", "J s", "n1", "J//s", "J/1", "J^2", "kk", "nKiB", "J*", "n J"]
)
def test_what_is_not_a_unit(text: str) -> None:
    assert parse_unit(text) is None


@pytest.mark.parametrize(
    ("unit", "shown"),
    [
        ("J/s", "W"),
        ("J/word/s", "W/word"),
        ("W*s", "J"),
        ("flop/B", "flop/B"),
        ("s/s", "1"),
        ("Hz", "1/s"),
        ("J*J/s", "J^2/s"),
        ("J*flop/word/word", "J*flop/word^2"),
    ],
)
def test_dimensions_are_written(unit: str, shown: str) -> None:
    assert str(dimension(unit)) == shown


DIMENSIONS = st.dictionaries(st.sampled_from(BASES), st.integers(-3, 3), max_size=4)


@given(DIMENSIONS)
def test_a_written_dimension_is_read_again(powers: dict[str, int]) -> None:
    written_ = "1"
    for base, power in powers.items():
        written_ += f"*{base}" * power if power > 0 else f"/{base}" * -power
    found = dimension(written_)
    assert dict(found.powers) == {base: power for base, power in powers.items() if power}
    if all("^" not in part for part in str(found).split("/")):
        assert dimension(str(found)) == found
    assert found.times(found, -1) == dimension("1")
    assert found.power(Fraction(1, 2)).power(2) == found


def test_every_name_has_a_unit_and_a_meaning() -> None:
    for name, each in NAMES.items():
        assert parse_unit(each.unit) is not None
        assert each.name == name
        assert each.meaning


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(0), "0 J"),
        (Fraction(1), "1.000 J"),
        (Fraction(42125, 10**7), "4.212 mJ"),
        (Fraction(42135, 10**7), "4.214 mJ"),
        (Fraction(99999, 10**8), "1.000 mJ"),
        (Fraction(99994, 10**8), "999.9 uJ"),
        (Fraction(-3, 2), "-1.500 J"),
        (Fraction(12345), "12.34 kJ"),
        (Fraction(1, 3 * 10**15), "3.333e-16 J"),
        (Fraction(10) ** 30, "1.000e+30 J"),
        (Fraction(1, 10**40), "1.000e-40 J"),
    ],
)
def test_numbers_with_prefixes(value: Fraction, text: str) -> None:
    assert format_si(value, "J") == text


@given(st.fractions(min_value=Fraction(1, 10**20), max_value=10**20), st.integers(1, 8))
def test_what_is_written_is_near_what_was_given(value: Fraction, digits: int) -> None:
    number, _, unit = format_si(value, "J", digits).partition(" ")
    read = parse_unit(unit)
    assert abs(Fraction(number) * read.factor - value) <= value / 2 / Fraction(10) ** (digits - 1)


@given(st.decimals(0, 10**30, allow_nan=False, allow_infinity=False))
def test_a_numeral_is_read_exactly(tmp_path_factory: pytest.TempPathFactory, value: Decimal) -> None:
    path = tmp_path_factory.getbasetemp() / "numeral.toml"
    path.write_text(GOOD.replace('"1.5e-1"', f'"{value:f}"'), encoding="utf-8")
    try:
        found: Quantity = read_machine(path).quantities["eps_op"]
    except ArchlineError:
        # Beyond 40 digits.
        assert len(f"{value:f}") > 40
    else:
        assert found.value == Fraction(value) / 10**9
