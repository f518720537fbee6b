"""Machines against the papers' tables, and machine files with mistakes."""

import re
from decimal import Decimal
from fractions import Fraction

import pytest

from archline import energy
from archline.energy.machine_files import load_documents, machine, machine_names, machines
from archline.energy.machines import KINDS, Machine
from archline.energy.quantities import QUANTITIES
from archline.energy.units import parse_unit
from archline.language.diagnostics import ArchlineError
from archline.papers.recipes import RECIPE_INPUTS
from archline.papers.rows import read_paper
from effort import some
from energy_support import codes

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
        assert place in {row.place for row in read_paper(paper, RECIPE_INPUTS).rows}


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
    assert cited - {""} == load_documents().keys() - {"keckler2011"}
    assert all("20" in citation for citation in load_documents().values())


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
@pytest.mark.parametrize("name", some([*TODAY]))
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
