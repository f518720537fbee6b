"""Machine files as a reader of data sheets types them: what is wrong is refused where it stands, with what to write."""

from fractions import Fraction
from pathlib import Path

import pytest

from archline.energy.machines import read_parameters
from archline.energy.quantities import correct_unit
from archline.energy.units import parse_unit
from archline.language.diagnostics import ArchlineError
from cli_support import cli

SHEET = """\
title = "A GPU"
[quantity.peak]
value = "9.7"
unit = "Tflop/s"
kind = "peak"
source = "data sheet, page 1"
[quantity.bandwidth]
value = "1.448"
unit = "TiB/s"
kind = "peak"
source = "data sheet, page 1"
[quantity.fast_memory]
value = "40"
unit = "MiB"
kind = "peak"
source = "data sheet, page 2"
[quantity.line]
value = "128"
unit = "B/line"
kind = "peak"
source = "data sheet, page 2"
[quantity.word]
value = "8"
unit = "B/word"
kind = "definition"
source = "IEEE 754"
"""

# What is replaced by what, the line and column of the report, its code, and what message and hint say.
WRONG = [
    ("[quantity.peak]", "[peak]", "2:2", "AL453", "unknown key `peak`", "write `[quantity.peak]` with"),
    ("[quantity.peak]", "[quantities.peak]", "2:2", "AL453", "`quantities`", "did you mean `quantity`?"),
    ("[quantity.peak]", "[quantity.peek]", "2:2", "AL453", "no quantity `peek`", "did you mean `peak`?"),
    ("[quantity.bandwidth]", "[quantity.memory_bandwidth]", "7:2", "AL453", "no quantity", "did you mean `bandwidth`?"),
    ("[quantity.bandwidth]", "[memory_bandwidth]", "7:2", "AL453", "unknown key", "write `[quantity.bandwidth]`"),
    ("[quantity.word]", "[quantity.tdp]", "22:2", "AL453", "no quantity `tdp`", "did you mean `power_rated`?"),
    ("[quantity.bandwidth]", "[quantity.peak]", "7:15", "AL452", "is not TOML", "may appear only once"),
    ('title = "A GPU"\n', "", "1:1", "AL453", "no `title`", "begin with a line `title ="),
    ('"9.7"', "9.7", "3:9", "AL456", "`value` of quantity `peak` is not a string", 'write it in quotes, so that it is read exactly: `value = "9.7"`'),
    ('"9.7"', "9.7 Tflop/s", "3:13", "AL452", "is not TOML", 'values are in quotes, as in `value = "9.7"`'),
    ('"9.7"', '"9.7 TFLOPS"', "3:9", "AL456", "not a decimal number", 'write value = "9.7" and unit = "Tflop/s"'),
    ('"9.7"', '"9,7"', "3:9", "AL456", "not a decimal number", 'write "9.7", with a decimal point'),
    ('"9.7"', '"9,700"', "3:9", "AL456", "not a decimal number", 'write "9700", with a decimal point and no separators'),
    ('"Tflop/s"', '"TFLOPS"', "4:8", "AL454", "unknown unit `TFLOPS`", "write Tflop/s"),
    ('"Tflop/s"', '"Tflop"', "4:8", "AL461", "not a unit of that dimension", "write Tflop/s"),
    ('unit = "Tflop/s"\n', "", "2:2", "AL454", "`peak` has no unit", "its unit is flop/s, or Gflop/s, ..."),
    ('"TiB/s"', '"Gflop/s"', "9:8", "AL461", "`bandwidth` is in B/s, and `Gflop/s`", "its unit is B/s, or GB/s"),
    ('"B/line"', '"B"', "19:8", "AL461", "`line` is in B/line, and `B`", "write B/line"),
    ('kind = "definition"\n', "", "22:2", "AL453", "`word` has no `kind`", "a number from a data sheet is `peak`"),
    ('"definition"', '"datasheet"', "25:8", "AL453", "unknown kind `datasheet`", "kinds are peak, measured"),
    ('source = "IEEE 754"\n', "", "22:2", "AL455", "`word` has no source", 'source = "data sheet, page 3"'),
    ('"9.7"', '"0"', "3:9", "AL457", "`peak` is 0", "leave out what is unknown"),
    ('"1.448"', '"0.0"', "8:9", "AL457", "`bandwidth` is 0", "leave out what is unknown"),
    ('"1.448"', '"-1"', "8:9", "AL457", "is negative", "0 or more"),
    ('"128"', '"0"', "18:9", "AL457", "`line` is 0", "leave out what is unknown"),
    ('"8"', '"7.5"', "23:9", "AL457", "`word`, 7.5 B/word, is not a whole number", "a word of 8 B"),
    ('"128"', '"100"', "18:9", "AL457", "a line of 100 B/line is not a whole number of words", "a line of 64 B"),
    ('"40"', '"0.00001"', "13:9", "AL457", "smaller than a line of 128 B/line", "sizes are above 0"),
    ('"TiB/s"', '"Gbit/s"', "9:8", "AL454", "unknown unit `Gbit/s`", "or GB/s, ...; 8 bits are 1 B"),
    ("[quantity.peak]", "[[quantity.peak]]", "2:3", "AL453", "`peak` is not a table", "write a table `[quantity.peak]`"),
    ("[quantity.peak]", 'extends = "gtx-580@half"\n[quantity.peak]', "2:11", "AL464", "no variant `half`", "@single"),
    ('"9.7"', '""', "3:9", "AL456", "not a decimal number", 'write a numeral such as "9.7"'),
    ('"8"', '"8"\nerorr = "1"', "24:9", "AL453", "unknown key `erorr`", "did you mean `error`?"),
    ("[quantity.peak]", 'extends = "gtx580"\n[quantity.peak]', "2:11", "AL450", "no machine `gtx580`", "gtx-580"),
]  # fmt: skip


def test_a_data_sheet_gives_a_time(tmp_path: Path) -> None:
    (tmp_path / "gpu.toml").write_text(SHEET)
    ran = cli("energy", "roofline:W=9.7e9,Q=1e6", "--machine", str(tmp_path / "gpu.toml"), "--format", "csv")
    head, row = (line.split(",") for line in ran.out.replace('"roofline:W=9.7e9,Q=1e6"', "it").splitlines()[:2])
    assert (ran.code, row[head.index("time_lower")], row[head.index("energy_lower")]) == (0, "0.001", "")


@pytest.mark.parametrize(("old", "new", "place", "code", "cause", "hint"), WRONG)
def test_a_wrong_file_is_refused(
    tmp_path: Path, old: str, new: str, place: str, code: str, cause: str, hint: str
) -> None:
    assert SHEET.count(old) == 1
    path = tmp_path / "gpu.toml"
    path.write_text(SHEET.replace(old, new))
    ran = cli("energy", "roofline:W=1e9,Q=1e6", "--machine", str(path))
    first, *rest = ran.err.splitlines()
    assert (ran.code, ran.out) == (2, "")
    assert first.startswith(f"{path}:{place}: {code}: ")
    assert cause in first
    assert any(line.startswith("  hint: ") and hint in line for line in rest)
    assert "Traceback" not in ran.err


def test_a_number_that_a_formula_gives_is_looked_at_too(tmp_path: Path) -> None:
    path = tmp_path / "gpu.toml"
    size = '[quantity.memory_max]\nvalue = "3"\nunit = "Mword"\nkind = "peak"\nsource = "data sheet"\n'
    path.write_text(SHEET.replace('value = "8"', 'from = "fast_memory/memory_max"') + size)
    ran = cli("energy", "roofline:W=1e9,Q=1e6", "--machine", str(path))
    assert ran.err.startswith(f"{path}:23:8: AL457: `word`, fast_memory/memory_max, is not a whole number")


@pytest.mark.parametrize(
    ("typed", "unit"),
    [
        *[(text, "Gflop/s") for text in ("GFLOPS", "GFLOP/s", "Gflops", "GFlops/s", "gflop/s", "GFLOP per sec")],
        *[(text, "GB/s") for text in ("GB/sec", "GBytes/s", "GB per second", "GB / s")],
        *[("KB", "kB"), ("MHZ", "MHz"), ("GFLOPS/W", "Gflop/s/W"), ("pJ/FLOP", "pJ/flop"), ("Watts", "W")],
        # Bits are no bytes.
        *[("Gb/s", "Gb/s"), ("Gbit/s", "Gbit/s"), ("furlong", "furlong")],
    ],
)
def test_units_as_others_write_them(typed: str, unit: str) -> None:
    assert correct_unit(typed) == unit
    assert (parse_unit(unit) is None) == (unit == typed)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("eps_flop=10pJ/flop", Fraction(1, 10**11)),
        ("peak=9.7Tflop/s", 97 * 10**11),
        ("bandwidth=1e3GB/s", 10**12),
        ("fast_memory=2^20", 2**20),
        ("fast_memory=1TiB", 2**40),
        ("pi0 = 1.5e1 W", 15),
    ],
)
def test_parameters_with_a_unit(text: str, value: Fraction) -> None:
    (found,) = read_parameters([text]).values()
    assert found.value == value


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("peak=9.7TFLOPS", "write Tflop/s"),
        ("line=64 B", "write B/line"),
        ("memory_bandwidth=1 GB/s", "did you mean `bandwidth`?"),
        ("bandwidth=1,555 GB/s", "with a decimal point and no separators"),
    ],
)
def test_wrong_parameters_have_a_hint(text: str, hint: str) -> None:
    with pytest.raises(ArchlineError) as problem:
        read_parameters([text])
    assert [each.rule.code for each in problem.value.diagnostics] == ["AL465"]
    assert hint in (problem.value.diagnostics[0].hint or "")


def test_parameters_that_do_not_fit_the_machine(tmp_path: Path) -> None:
    (tmp_path / "gpu.toml").write_text(SHEET)
    for given in ("line=100", "word=3", "word=7.5", "fast_memory=100", "peak=0"):
        ran = cli("energy", "roofline:W=1e9,Q=1e6", "--machine", str(tmp_path / "gpu.toml"), "--parameter", given)
        assert (ran.code, "AL457" in ran.err, "Traceback" in ran.err) == (2, True, False)


def test_an_optimisation_over_real_numbers_may_try_half_a_core() -> None:
    formulas = "balance:W=n^3,D=n,Q=n^3/1000"
    ran = cli(
        "optimise",
        formulas,
        "--machine",
        "fermi-c2050",
        "--at",
        "n=1000",
        "--over",
        "cores=1.5..64",
        "--minimise",
        "time",
    )
    assert (ran.code, ran.err) == (0, "")
