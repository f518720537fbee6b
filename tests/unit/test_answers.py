"""What stands beside an answer: warnings, bounds beside what is not decided, and the formats of comparisons."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path

import pytest

import archline as al
from archline.energy.machines import machine
from archline.energy.models import model
from cli_support import ROOT, cli

F = Fraction
BASIC, CO = "dense.matmul::matmul_basic", "dense.matmul::matmul_co"
MACHINES = ("gtx-580", "i7-950")
SIZES = ("--at", "n=100,m=100,p=100")
WARNING = re.compile(r"(up to )?([\d.]+) times\s+the machine's peak flop/s")
LACKING = 'title = "A test"\n\n' + "".join(
    f'[quantity.{name}]\nvalue = "{value}"\nunit = "{unit}"\nkind = "fitted"\nsource = {{ note = "a test" }}\n\n'
    for name, value, unit in (
        ("eps_op", 1, "J/op"), ("pi_op", 1, "J/op"), ("eps_io", 1, "J/line"), ("pi_io", 1, "J/line"), ("peak", 1, "flop/s"),
    )
)  # fmt: skip


def times_peak(name: str, on: str) -> Fraction:
    """By hand: flops over time over peak, of counts that are exact for these algorithms at these sizes."""
    found = al.energy(name, machine=on, n=100, m=100, p=100)
    assert isinstance(found.time, Fraction)
    return 2 * 100**3 / found.time / machine(on).values["peak"]


# A time that no device reaches.
def test_tables_warn_of_times_beyond_the_peak() -> None:
    most = max(times_peak(name, on) for name in (BASIC, CO) for on in MACHINES)
    ran = cli("energy", BASIC, CO, *(part for each in MACHINES for part in ("--machine", each)), *SIZES)
    assert WARNING.findall(ran.out) == [("up to ", f"{float(most):.3g}")]
    assert most > 100


@pytest.mark.parametrize("by", ["time", "power", "energy_delay", "energy"])
def test_comparisons_warn_of_times_beyond_the_peak(by: str) -> None:
    most = max(times_peak(name, "gtx-580") for name in (BASIC, CO))
    arguments = ("compare", BASIC, CO, "--machine", "gtx-580", *SIZES, "--by", by)
    expected = [] if by == "energy" else [("up to ", f"{float(most):.3g}")]
    assert WARNING.findall(cli(*arguments).out) == expected
    document = json.loads(cli(*arguments, "--format", "json").out)
    assert [WARNING.findall(each) for each in document["notes"]] == [expected][: len(expected)]


def test_the_roofline_is_within_the_peak() -> None:
    for command in (["energy"], ["compare", "--by", "time"]):
        ran = cli(*command, BASIC, CO, "--machine", "gtx-580", *SIZES, "--model", "roofline")
        assert ran.code == 0
        assert not WARNING.search(ran.out)


def test_a_time_that_is_not_known_is_not_warned_of(tmp_path: Path) -> None:
    """Without pi0, 1 W is put in its place, since the ratio of two times does not depend on it."""
    lacking = tmp_path / "lacking.toml"
    lacking.write_text(LACKING, encoding="utf-8")
    ran = cli("compare", BASIC, CO, "--machine", str(lacking), *SIZES, "--by", "time")
    assert (ran.code, WARNING.findall(ran.out)) == (0, [])
    ran = cli("compare", BASIC, CO, "--machine", str(lacking), *SIZES, "--by", "time", "--parameter", "pi0=1 W")
    assert len(WARNING.findall(ran.out)) == 1


# Formats of comparisons.
def test_comparisons_as_markdown_have_all_points() -> None:
    arguments = ("compare", BASIC, CO, "--machine", "gtx-580", "--sweep", "n=m=p=2..40 step 2")
    ran = cli(*arguments, "--format", "markdown")
    rows = [line.strip("| ").split(" | ") for line in ran.out.splitlines() if line.startswith("|")]
    points = json.loads(cli(*arguments, "--format", "json").out)["points"]
    assert [row[0] for row in rows] == ["n = m = p", "---", *(each["at"]["n"] for each in points)]
    assert len(points) == 20
    assert len({len(row) for row in rows}) == 1
    for row, each in zip(rows[2:], points, strict=True):
        assert F(row[1].split()[0]) == pytest.approx(F(each["ratio"]["lower"]), rel=1e-3)
    assert "all inputs derived" in ran.out


@pytest.mark.parametrize("form", ["latex", "markdown"])
def test_comparisons_show_growth_if_asked(form: str) -> None:
    arguments = ("compare", BASIC, CO, "--machine", "gtx-580", *SIZES, "--format", form)
    short, full = cli(*arguments).out, cli(*arguments, "--growth").out
    assert "higher order" in short
    assert "Theta" not in short
    assert re.search(r"n(\\,|\*)m(\\,|\*)p", full)
    assert short.count(r"\begin{array}") == full.count(r"\begin{array}") - (form == "latex")


# Documentation.
def test_the_page_of_models_has_the_formula_of_ice() -> None:
    """What is computed; the paper's (14) is span/work, and the span is at most the work (checked by the model)."""
    page = (ROOT / "docs" / "reference" / "models.md").read_text(encoding="utf-8")
    (row,) = [line for line in page.splitlines() if line.startswith("| `ice` |")]
    assert f"E = {model('ice').expression};" in row
