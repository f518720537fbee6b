"""What stands beside an answer: warnings, bounds beside what is not decided, and the formats of comparisons."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path

import pytest

import archline as al
from archline.energy.machine_files import machine
from archline.report.costs.page import make_page
from archline.report.documents import Table
from cli_support import ROOT, cli
from effort import long

F = Fraction
BASIC, CO = "dense.matmul::matmul_basic", "dense.matmul::matmul_co"
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


@long
@pytest.mark.parametrize("by", ["time", "power", "energy_delay", "energy"])
def test_comparisons_warn_of_times_beyond_the_peak(by: str) -> None:
    most = max(times_peak(name, "gtx-580") for name in (BASIC, CO))
    arguments = ("compare", BASIC, CO, "--machine", "gtx-580", "--model", "ice", *SIZES, "--by", by)
    expected = [] if by == "energy" else [("up to ", f"{float(most):.3g}")]
    assert WARNING.findall(cli(*arguments).out) == expected
    document = json.loads(cli(*arguments, "--format", "json").out)
    assert [WARNING.findall(each) for each in document["notes"]] == [expected][: len(expected)]


@long
def test_the_roofline_is_within_the_peak() -> None:
    for command in (["energy"], ["compare", "--by", "time"]):
        ran = cli(*command, BASIC, CO, "--machine", "gtx-580", *SIZES, "--model", "roofline")
        assert ran.code == 0
        assert not WARNING.search(ran.out)


@long
def test_a_time_that_is_not_known_is_not_warned_of(tmp_path: Path) -> None:
    """Without pi0, 1 W is put in its place, since the ratio of two times does not depend on it."""
    lacking = tmp_path / "lacking.toml"
    lacking.write_text(LACKING, encoding="utf-8")
    ran = cli("compare", BASIC, CO, "--machine", str(lacking), *SIZES, "--by", "time")
    assert (ran.code, WARNING.findall(ran.out)) == (0, [])
    ran = cli("compare", BASIC, CO, "--machine", str(lacking), *SIZES, "--by", "time", "--parameter", "pi0=1 W")
    assert len(WARNING.findall(ran.out)) == 1


# Formats of comparisons.
@long
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


@long
@pytest.mark.parametrize("form", ["latex", "markdown"])
def test_comparisons_show_growth_if_asked(form: str) -> None:
    arguments = ("compare", BASIC, CO, "--machine", "gtx-580", *SIZES, "--format", form)
    short, full = cli(*arguments).out, cli(*arguments, "--growth").out
    assert "higher order" in short
    assert "Theta" not in short
    assert re.search(r"n(\\,|\*)m(\\,|\*)p", full)
    assert short.count(r"\begin{array}") == full.count(r"\begin{array}") - (form == "latex")


# Claims.
BRANCH = """algorithm f(x: real[n], y: out real[n]):
    ensures flops == n
    ensures work <= n
    ensures flops is Theta(n)
    for i in 0..n:
        y[i] = 0
        if x[i] > 0:
            y[i] = 2*x[i] + 1
"""
"""A comparison in each iteration (a flop), and two more flops in none to all of them."""


def test_what_is_not_decided_has_the_bounds_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "branch.algo"
    path.write_text(BRANCH, encoding="utf-8")
    ran = cli("check", str(path))
    assert "unknown  flops == n  [AL602]\n    derived: at least n, at most 3*n\n" in ran.out
    assert ran.out.splitlines()[-1] == "1 claim holds, 1 fails, 1 is unknown"
    document = json.loads(cli("check", str(path), "--format", "json").out)
    unknown, failing, holding = document["targets"][0]["algorithms"][0]["ensures"]
    assert unknown["derived"] == "at least n, at most 3*n"
    assert (failing["outcome"], "derived" in holding) == ("fails", False)


def test_costs_say_where_a_claim_fails_and_what_decides_the_exit_code(tmp_path: Path) -> None:
    """Five operations an iteration at most, three at least, against one."""
    path = tmp_path / "branch.algo"
    path.write_text(BRANCH, encoding="utf-8")
    ran = cli("cost", str(path))
    assert ran.code == 0
    assert "fails: work <= n: at n = 1: derived" in ran.out
    assert "`archline check` shows more, and exits with 1 if a claim fails" in ran.out
    assert cli("check", str(path)).code == 1
    assert "exits with 1" not in cli("cost", "scan.reduce::sum").out


@pytest.mark.parametrize("target", ["dense.trisolv::trisolv", "polybench.heat_3d::heat_3d", BASIC])
def test_rows_that_are_shown_alike_are_shown_once(target: str) -> None:
    """A row and a column of A have one leading term in trisolv; all rows of the product differ."""
    _, regimes = (each for _, each in make_page(al.algorithm(target).cost().view()).items if isinstance(each, Table))
    rows = [form for _, form, _ in regimes.rows]
    assert len(set(rows)) == len(rows) > 1
    assert len(rows) == 4 or target != BASIC


# Documentation.
@long
def test_the_page_of_regimes_names_rows_that_are_printed() -> None:
    text = (ROOT / "docs" / "how-to" / "read-cache-regimes.md").read_text(encoding="utf-8")
    found = {
        re.split(r"  +", line.strip())[0]
        for line in (cli("cost", BASIC).out + cli("cost", CO).out).splitlines()
        if re.match(r"    \w.*  Z >=", line)
    }
    named = re.findall(r"`((?:a|all|B|C|A) [a-zA-Z, ]+)`", text)
    assert {"B fits", "a column of B, a row of A"} <= set(named) <= found
