"""Machines against the table they are from, and machine files with mistakes."""

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archline.energy.machines import machine, machine_names, machines, read_machine
from archline.energy.units import format_si, parse_unit
from archline.language.diagnostics import ArchlineError

# Tran and Ha, arXiv 1605.08222, Table 3, in nJ: eps_op, pi_op, eps_io, pi_io.
TABLE_3 = {
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

GOOD = """
title = "Mine"
notes = ["a note"]

[quantity.eps_op]
value = "1.5e-1"
unit = "nJ"
source = "measured"
"""


@pytest.mark.parametrize("name", TABLE_3)
def test_the_parameters_are_those_of_table_3(name: str) -> None:
    found = machine(name)
    expected = [Fraction(number) / 10**9 for number in TABLE_3[name].split()]
    assert [found.value(key, "J") for key in ("eps_op", "pi_op", "eps_io", "pi_io")] == expected
    for quantity in found.quantities.values():
        assert "1605.08222" in quantity.source
        assert quantity.meaning


def test_the_collection_holds_these_eleven_and_no_other() -> None:
    assert set(machine_names()) >= {f"ice/{name}" for name in TABLE_3}
    assert {found.name for found in machines() if found.collection == "ice"} == set(TABLE_3)


def test_a_name_may_carry_its_collection() -> None:
    assert machine("ice/xeon-phi-31s1p") == machine("xeon-phi-31s1p")
    assert machine("xeon-phi-31s1p").value("cores", "1") == 57
    assert machine("xeon-e5-2650l-v3").value("frequency", "Hz") == 1_800_000_000


def test_the_line_size_is_the_ratio_of_the_two_papers() -> None:
    # Choi et al., IPDPS 2013, Table IV: energy of a byte, in pJ.
    for name, energy_of_a_byte in {"nehalem-i7-950": 795, "fermi-gtx-580": 513}.items():
        found = machine(name)
        ratio = found.value("eps_io", "J") / (Fraction(energy_of_a_byte) / 10**12)
        assert round(ratio) == found.value("line", "B")
        assert abs(ratio - 64) < Fraction(1, 100)


def codes(problem: pytest.ExceptionInfo[ArchlineError]) -> list[str]:
    return [diagnostic.rule.code for diagnostic in problem.value.diagnostics]


@pytest.mark.parametrize(
    ("name", "hint"),
    [("xeon-e5-2650", "xeon-e5-2650l-v3"), ("Fermi-GTX-580", "fermi-gtx-580"), ("zzz", "archline machines")],
)
def test_an_unknown_name_gets_a_suggestion(name: str, hint: str) -> None:
    with pytest.raises(ArchlineError) as problem:
        machine(name)
    assert codes(problem) == ["AL450"]
    assert hint in (problem.value.diagnostics[0].hint or "")


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(GOOD)
    found = machine(str(path))
    assert (found.name, found.collection, found.title, found.notes) == ("mine", "", "Mine", ("a note",))
    assert found.value("eps_op", "J") == Fraction(15, 10**11)
    assert found.provides({"eps_op": "J"})
    assert not found.provides({"eps_op": "s"})
    assert found.quantities["eps_op"].as_written == "1.5e-1 nJ"


@pytest.mark.parametrize(("name", "unit"), [("eps_opp", "J"), ("eps_op", "s")])
def test_a_quantity_that_is_missing_or_of_another_dimension(tmp_path: Path, name: str, unit: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(GOOD)
    with pytest.raises(ArchlineError) as problem:
        machine(str(path)).value(name, unit)
    assert codes(problem) == ["AL458"]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('title = "Mine"', "", ["AL453"]),
        ('title = "Mine"', "title = 3", ["AL453"]),
        ('title = "Mine"', 'title = "Mine"\nnote = "x"', ["AL453"]),
        ('["a note"]', '"a note"', ["AL453"]),
        ('["a note"]', "[1]", ["AL453"]),
        ('"nJ"', '"nJoule"', ["AL454"]),
        ('"nJ"', '"n J"', ["AL454"]),
        ('"nJ"', '"J/1"', ["AL454"]),
        ('"nJ"', "7", ["AL453", "AL454"]),
        ('unit = "nJ"', "", ["AL454"]),
        ('source = "measured"', "", ["AL455"]),
        ('"measured"', '"  "', ["AL455"]),
        ('"1.5e-1"', "0.15", ["AL456"]),
        ('"1.5e-1"', '"a lot"', ["AL456"]),
        ('"1.5e-1"', '"nan"', ["AL456"]),
        ('"1.5e-1"', '"1/3"', ["AL456"]),
        ('"1.5e-1"', '"1e999999999"', ["AL456"]),
        ('"1.5e-1"', '"١"', ["AL456"]),
        ('"1.5e-1"', '"' + "9" * 5000 + '"', ["AL456"]),
        ('value = "1.5e-1"', "", ["AL456"]),
        ('"1.5e-1"', '"-0.15"', ["AL457"]),
        ("value =", "valu =", ["AL453", "AL456"]),
        ("[quantity.eps_op]", "[quantities.eps_op]", ["AL453", "AL453"]),
        ("[quantity.eps_op]", "[quantity]", ["AL453", "AL453", "AL453"]),
        ("[quantity.eps_op]", "[quantity.eps_op", ["AL452"]),
        ('"1.5e-1"', "1" * 5000, ["AL452"]),
        ('"1.5e-1"', "[" * 20000, ["AL452"]),
    ],
)
def test_mistakes_in_a_file_are_named(tmp_path: Path, old: str, new: str, expected: list[str]) -> None:
    assert old in GOOD
    path = tmp_path / "mine.toml"
    path.write_text(GOOD.replace(old, new), encoding="utf-8")
    with pytest.raises(ArchlineError) as problem:
        read_machine(path)
    assert codes(problem) == expected
    assert all(diagnostic.path == str(path) for diagnostic in problem.value.diagnostics)


def test_all_mistakes_are_reported_at_once(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('[quantity.a]\nvalue = "-1"\nunit = "x"\n[quantity.b]\nvalue = 1.0\nunit = "s"\nsource = "x"\n')
    with pytest.raises(ArchlineError) as problem:
        read_machine(path)
    assert sorted(codes(problem)) == ["AL453", "AL454", "AL455", "AL456", "AL457"]


def test_what_cannot_be_read(tmp_path: Path) -> None:
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b'title = "\xff"')
    (tmp_path / "folder.toml").mkdir()
    for name in ("missing.toml", "folder.toml", "binary.toml", "nul\0.toml"):
        with pytest.raises(ArchlineError):
            machine(str(tmp_path / name))
    with pytest.raises(ArchlineError) as problem:
        read_machine(Path("/dev/zero"))
    assert codes(problem) == ["AL452"]


@pytest.mark.parametrize(
    ("text", "factor", "base"),
    [
        ("J", 1, "J"),
        ("nJ", Fraction(1, 10**9), "J"),
        ("uJ", Fraction(1, 10**6), "J"),
        ("µJ", Fraction(1, 10**6), "J"),
        ("pJ/B", Fraction(1, 10**12), "J/B"),
        ("Gflop/s", 10**9, "flop/s"),
        ("GB/s", 10**9, "B/s"),
        ("MiB", 1024**2, "B"),
        ("nJ/ms", Fraction(1, 10**6), "J/s"),
        ("J/word/s", 1, "J/s/word"),
        ("J/s/word", 1, "J/s/word"),
        ("message", 1, "message"),
        ("1/s", 1, "1/s"),
        ("1", 1, "1"),
    ],
)
def test_units(text: str, factor: Fraction, base: str) -> None:
    unit = parse_unit(text)
    assert unit is not None
    assert (unit.factor, unit.base) == (factor, base)


@pytest.mark.parametrize("text", ["", "/", "J/", "/s", "nn", "QJ", "j", "J s", "J*s", "n1", "J//s"])
def test_what_is_not_a_unit(text: str) -> None:
    assert parse_unit(text) is None


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
    assert read is not None
    assert abs(Fraction(number) * read.factor - value) <= value / 2 / Fraction(10) ** (digits - 1)
