"""Units, parameters of the command line, and numbers as they are printed."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archline.energy.machine_files import machine
from archline.energy.machines import read_parameters
from archline.energy.quantities import FORMULA_NAMES
from archline.energy.units import BASE_UNITS, format_si, parse_dimension, parse_unit
from archline.language.diagnostics import ArchlineError
from energy_support import codes


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


WRONG = (
    "", "=", "peak", "peak=", "peek=1", "peak=x", "peak=-1", "peak=nan", "peak=inf", "peak=1/0", "peak=true", "peak=1 GB/s",
    "peak=1 furlong", "peak=2^100000000000", "peak=1e400000000", "peak=" + "9" * 1_000_000, "peak=" + "(" * 10_000,
    "eps_mem=1 pJ/word", "flops=1",
)  # fmt: skip


@pytest.mark.parametrize("text", WRONG)
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
POWERS = (-15, -12, -9, -6, -3, 3, 6, 9, 12, 15)


@pytest.mark.parametrize(
    ("text", "factor", "base"),
    [
        ("J", 1, "J"),
        ("nJ", Fraction(1, 10**9), "J"),
        ("uJ", Fraction(1, 10**6), "J"),
        ("µJ", Fraction(1, 10**6), "J"),
        ("μJ", Fraction(1, 10**6), "J"),
        ("pJ/B", Fraction(1, 10**12), "J/B"),
        *((f"{prefix}J", Fraction(10) ** power, "J") for prefix, power in zip("fpnumkMGTP", POWERS, strict=True)),
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
    assert (unit.factor, unit.dimension) == (factor, parse_dimension(base))


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
    assert str(parse_dimension(unit)) == shown


DIMENSIONS = st.dictionaries(st.sampled_from(BASE_UNITS), st.integers(-3, 3), max_size=4)


@given(DIMENSIONS)
def test_a_written_dimension_is_read_again(powers: dict[str, int]) -> None:
    written_ = "1"
    for base, power in powers.items():
        written_ += f"*{base}" * power if power > 0 else f"/{base}" * -power
    found = parse_dimension(written_)
    assert dict(found.powers) == {base: power for base, power in powers.items() if power}
    if all("^" not in part for part in str(found).split("/")):
        assert parse_dimension(str(found)) == found
    assert found.times(found, -1) == parse_dimension("1")
    assert found.power(Fraction(1, 2)).power(2) == found


def test_every_name_has_a_unit_and_a_meaning() -> None:
    for name, each in FORMULA_NAMES.items():
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
