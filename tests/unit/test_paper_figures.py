"""Figures of papers drawn again: their numbers against the papers' formulas by hand, and how they are asked for."""

from __future__ import annotations

import json
from itertools import pairwise
from math import isclose, sqrt
from pathlib import Path

import pytest

import archline as al
from archline.papers.figures import figure
from archline.papers.recipes import INPUTS
from archline.papers.rows import expand_each, read_paper
from archline.resources import resource
from cli_support import cli
from effort import EFFORT, long, some

FIGURES = [
    (path.stem, number if isinstance(number, str) else number[0])
    for path in sorted(resource("papers").glob("*.toml"))
    for table in read_paper(path.stem, INPUTS).figures
    if EFFORT != "quick" or table["kind"] != "ratios"
    for each in expand_each(table)
    for number in [each["number"]]
]


def test_figure_7_is_the_reciprocal_of_equations_10_and_11() -> None:
    gamma_e, beta_e, delta_e, gamma_t, beta_t = 3.78024e-10, 3.78024e-10, 5.7742e-9, 2.5202e-12, 1.56e-10
    memory, n, p = 2.0**34, 35000, 2
    for each in figure("scaling", "7").points[::12]:
        scale = 2.0 ** each["h"]
        table = gamma_e + beta_e / sqrt(memory) + delta_e * (gamma_t * memory + beta_t * sqrt(memory))
        # Messages of m = 2^34 words: alpha_t/m is below every digit here.
        assert isclose(each["gamma_e, beta_e, delta_e, M of Table I"], scale / table / 1e9, rel_tol=1e-6)
        root = n / p ** (1 / 3)
        kept = delta_e * (gamma_t * root**2 + beta_t * root)
        outside = (gamma_e + beta_e / root) / scale
        assert isclose(each["gamma_e, beta_e, alpha_e, M of (11)"], 1 / (outside + kept) / 1e9, rel_tol=1e-5)


def test_figure_3_rises_from_where_the_paper_says() -> None:
    memory, n = 2.0**20, 35000
    for each in figure("scaling", "3").points:
        flat = n**3 / sqrt(memory)
        rising = n**2 * each["p"] ** (1 / 3)
        assert isclose(each["classical"], flat if each["p"] < n**3 / memory**1.5 else rising, rel_tol=1e-9)


def test_figure_4_has_the_regions_of_the_constraints() -> None:
    for each in figure("scaling", "4").points:
        p, low, high = each["p"], each["E at most 1.2 of the least, least"], each["E at most 1.2 of the least, most"]
        if low is None or not 2000 < p < 20000:
            continue
        # E/n^2 is 2 + 1000/M + 0.01*M with these parameters, least 2 + 2*sqrt(10).
        for end in (low, high):
            assert isclose(2 + 1000 / end + 0.01 * end, 1.2 * (2 + 2 * sqrt(10)), rel_tol=0.02)
        total = each["T at most 1e6, least"]
        if total is not None and total > 21:
            assert isclose((1e10 / p) * (1 + 100 / total), 1e6, rel_tol=0.02)


@pytest.mark.parametrize(("paper", "number"), some(FIGURES, 4))
def test_figures_are_pictures(paper: str, number: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="pictures need matplotlib (pip install 'archline[plots]')")
    target = tmp_path / "figure.svg"
    ran = cli("papers", paper, "--figure", number, "--out", str(target))
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"{target}: ")
    assert "<svg" in target.read_text(encoding="utf-8")


@long
@pytest.mark.parametrize(("number", "machine", "cores"), [("7", "xeon-e5-2650l-v3", 24), ("8", "xeon-phi-31s1p", 57)])
def test_ratios_are_those_of_printed_forms_and_of_runs(number: str, machine: str, cores: int) -> None:
    values = {name: float(each) for name, each in al.machine(machine).values.items()}
    own = {"7": 30 * 2**20 // 8, "8": 57 * 512 * 2**10 // 8}[number]
    for each in figure("ice", number).points:
        n, words = int(each["case"].split(",")[0]), 1024 if "executed" in each["case"] else own
        flops = 2 * n**3 * (values["eps_op"] + values["pi_op"] / cores)
        basic = 3 * n**2 / 8
        other = basic + 3 * n + n**3 / (8 * sqrt(words))
        ratio = (flops + values["eps_io"] * basic) / (flops + values["eps_io"] * other)
        assert isclose(each["as printed"], ratio, rel_tol=1e-9)
        if each["as executed"] is not None:
            energies = []
            for name in ("basic", "co"):
                target = al.algorithm(f"dense.matmul::matmul_{name}")
                counts = target.run(n=n, m=n, p=n, cache=al.Cache(Z=1024, L=8)).counts
                work, span, io = counts.work, counts.span, counts.io
                still = max(values["pi_op"] * span, values["pi_io"] * io * span / work)
                energies.append(values["eps_op"] * work + values["eps_io"] * io + still)
            assert isclose(each["as executed"], energies[0] / energies[1], rel_tol=1e-9)
            assert each["as derived, least"] <= each["as executed"] <= each["as derived, most"]


def test_marks_are_as_printed() -> None:
    printed = figure("roofline", "4b").view.marks  # type: ignore[attr-defined]
    assert [(each.label, each.y) for each in printed][-1] == ("printed: 387 W needed", 387)
    printed, follows = (each.x for each in figure("balance", "2").view.marks)  # type: ignore[attr-defined]
    assert printed == 2020
    assert isclose(follows, 2013.8, abs_tol=0.05)


def test_figure_3_has_linear_axes_on_which_its_right_part_is_concave() -> None:
    points = figure("scaling", "3").points
    assert isclose(points[0]["p"], 35000**2 / 2**20, rel_tol=1e-4)
    rising = [each["classical"] for each in points if each["p"] > 35000**3 / 2**30]
    steps = [after - before for before, after in pairwise(rising)]
    assert all(0 < later < earlier for earlier, later in pairwise(steps))


def test_figure_4_draws_isochrones_up_to_the_limits_of_the_algorithm() -> None:
    """M = 100/(T*p/n^2 - 1) reaches n/sqrt(p) where p is about 1295 for T = 8e6."""
    line = [each for each in figure("scaling", "4").points if each["T = 8e6"] is not None]
    assert isclose(line[0]["p"], 1295, rel_tol=0.02)
    assert line[-1]["T = 8e6"] < 1.1


def test_figure_2_of_the_roofline_is_relative_to_the_power_of_flops() -> None:
    """The power is 1 + B_eps/B_tau = 5.0 times that at B_tau, 4.0 times that below, and once that above."""
    powers = [each["power line"] for each in figure("roofline", "2").points]
    assert isclose(max(powers), 5.02, abs_tol=0.05)
    assert isclose(powers[0], 4.17, abs_tol=0.05)
    assert 1 < powers[-1] < 1.05


def test_figure_6_marks_the_panel_where_gamma_e_saturates() -> None:
    (mark,) = figure("scaling", "6").view.marks  # type: ignore[attr-defined]
    points = {each["h"]: each for each in figure("scaling", "6").points}
    assert mark.panel == 0
    assert points[10]["gamma_e, by (10)"] < 1.06 * points[5]["gamma_e, by (10)"]
    assert points[10]["gamma_e, by (11)"] > 1.5 * points[5]["gamma_e, by (11)"]


def test_how_figures_are_asked_for() -> None:
    document = json.loads(cli("papers", "scaling", "--figure", "7", "--format", "json").out)
    assert (document["version"], document["kind"], document["points"][0]["h"]) == (1, "figure", 0)
    assert "its figures are 3, 4, 6, 7" in cli("papers", "scaling", "--figure", "5").err
    assert "`--figure` takes one paper" in cli("papers", "--figure", "7").err
    for others in (("--only", "differs"), ("--format", "markdown"), ("--explain",)):
        assert cli("papers", "scaling", "--figure", "7", *others).code == 2


PAPER = """title = "A paper"

[[row]]
place = "(1)"
kind = "limit"
printed = "n^2/p"
of = "n^2/p"

[[figure]]
place = "Figure 1"
number = "1"
kind = "lines"
title = "A figure"
over = ["p", "M"]
between = ["1", "100"]
inside = ["1", "100"]
axes = ["processors", "memory"]
at = { n = "10" }
rows = { first = "(1)" }
lines = [{ label = "line", value = "first", panel = 0 }]
regions = [{ label = "region", holds = "M <= first" }]
marks = [{ label = "mark", x = "n" }]
"""


@pytest.mark.parametrize(
    ("written", "wrong", "message"),
    [
        ('["p", "M"]', '"p"', "`regions` need two names in `over`"),
        ('["p", "M"]', "[]", "`over` takes one name, or two for a plane"),
        ('["p", "M"]', "[1, 2]", "`over` is not a list of texts"),
        ('["processors", "memory"]', '"processors"', "`axes` takes the title of the x axis and one for each panel"),
        ('inside = ["1", "100"]', "", "`inside` takes two numbers, the smaller first"),
        ('label = "line", ', "", "the row has no text `label`"),
        ('value = "first"', "value = 1", "`value` is not a text"),
        (', holds = "M <= first"', "", "the row has no text `holds`"),
        ("panel = 0", "panel = 1", "`panel` is not a number from 0 to 0"),
        ('[{ label = "line", value = "first", panel = 0 }]', "[1]", "`lines` is not a list of tables"),
        ('{ label = "mark", x = "n" }', '{ x = "n" }', "the row has no text `label`"),
        ('x = "n"', 'x = "n/0"', "`n/0` has no value"),
        ('x = "n"', 'x = "q"', "`q` has no value"),
        ('kind = "lines"', 'kind = "roofline"\nmachines = []', "a figure needs one machine"),
        ("[[figure]]", "[figure]", "`figure` is not a list"),
    ],
)
def test_what_is_wrong_in_a_figure_is_an_error(tmp_path: Path, written: str, wrong: str, message: str) -> None:
    paper = tmp_path / "paper.toml"
    paper.write_text(PAPER, "utf-8")
    assert figure(str(paper), "1").points
    text = PAPER.replace(written, wrong, 1)
    if "roofline" in wrong:
        # Only the keys that figures of a machine have.
        text = "\n".join(line for line in text.split("\n") if not line.startswith(OF_LINES))
    paper.write_text(text, "utf-8")
    with pytest.raises(al.ArchlineError) as caught:
        figure(str(paper), "1")
    (found,) = caught.value.diagnostics
    assert found.rule.code == "AL612"
    assert message in found.message
    assert found.span is not None


OF_LINES = ("title = ", "over", "between", "inside", "axes", "at =", "lines", "regions", "rows", "marks")
