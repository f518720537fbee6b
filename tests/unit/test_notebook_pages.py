"""Short pages of results in notebooks, LaTeX and Markdown: well formed, escaped, and of what they are about."""

from __future__ import annotations

import copy
import pickle
import re
from functools import cache
from xml.etree import ElementTree

import pytest

import archline as al
from archline.expr.build import call
from archline.expr.text import Formula, join_phrases
from archline.language.parser import parse_expression, parse_facts
from archline.report.latex import render_formula
from cli_support import cli
from effort import long, some
from stdlib_targets import TRIED, report

MACHINE = "xeon-e5-2650l-v3"
HOSTILE = 'algorithm f_1(x: inout real[n]):\n    "<b>a & b</b> | 50% of $x_1$ {y} ~ `z` #"\n    x[0] = 1\n'
COMMANDS = {
    *(
        "begin",
        "end",
        "text",
        "textbf",
        "texttt",
        "noindent",
        "frac",
        "sqrt",
        "left",
        "right",
        "lceil",
        "rceil",
        "lfloor",
    ),
    *("rfloor", "log", "min", "max", "gcd", "bmod", "mathit", "cdot", "Theta", "Omega", "le", "ge", "ne", "sim"),
    *("textbackslash", "textasciicircum", "textasciitilde"),
}
"""What LaTeX with amsmath knows."""


@cache
def results() -> dict[str, object]:
    """A result of each class."""
    one, other = (al.algorithm(f"dense.matmul::{name}") for name in ("matmul_basic", "matmul_ikj"))
    sizes = {"n": 8, "m": 8, "p": 8}
    return {
        "algorithm": one,
        "costs": one.cost(),
        "run": one.run(**sizes, cache=al.Cache(Z=64, L=8)),
        "energy": al.energy(one, machine=MACHINE, **sizes),
        "energy in symbols": al.energy(one, machine=MACHINE),
        "comparison": al.compare(one, other, machine=MACHINE, **sizes),
        "growth": al.compare(one, other),
        "hostile": al.loads(HOSTILE)["f_1"],
        "hostile costs": al.loads(HOSTILE)["f_1"].cost(),
    }


def check_html(text: str) -> ElementTree.Element:
    """Every element is closed, and rows have as many cells as the head."""
    root = ElementTree.fromstring(text)
    for table in root.iter("table"):
        widths = {len(row) for row in table.iter("tr")}
        assert len(widths) == 1
    return root


def check_latex(text: str) -> None:
    """Brackets, delimiters and environments close in order; rows have the columns declared; commands exist."""
    bare = re.sub(r"\\[{}$%&#_\\]", " ", text.replace("\\\\", " "))
    depth = 0
    for character in bare:
        depth += (character == "{") - (character == "}")
        assert depth >= 0
    assert not depth
    assert len(re.findall(r"(?<!\\)\$", bare)) % 2 == 0
    assert text.count(r"\left") == text.count(r"\right")
    assert text.count("\\[\n") == text.count("\n\\]")
    # The mark of a comment, which would swallow the rest of a line, is escaped.
    assert "%" not in bare
    assert set(re.findall(r"\\([A-Za-z]+)", text)) <= COMMANDS
    arrays = re.findall(r"\\begin\{array\}\{(l+)\}\n(.*?)\n\\end\{array\}", text, re.DOTALL)
    assert len(arrays) == text.count(r"\begin{") == text.count(r"\end{") > 0
    for columns, body in arrays:
        for row in body.split("\\\\\n"):
            assert len(re.findall(r"(?<!\\)&", row)) + 1 == len(columns)


def check_markdown(text: str) -> None:
    """Tables have the same number of cells in all rows."""
    tables = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    assert tables
    for table in tables:
        rows = table.splitlines()
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) == 1
        assert set(rows[1]) <= set("| -")


@long
def test_results_show_themselves() -> None:
    for kind, found in results().items():
        html, latex = found._repr_html_(), found._repr_latex_()  # type: ignore[attr-defined]
        check_html(html)
        check_latex(latex)
        assert len(latex.splitlines()) <= 60, kind


@pytest.mark.parametrize("target", some(TRIED[::6], 3))
def test_pages_of_the_standard_library(target: str) -> None:
    cost = report(target)
    check_latex(cost._repr_latex_())
    page = check_html(cost._repr_html_())
    assert {"flops", "work", "span", "io (cache misses)"} <= {"".join(each.itertext()) for each in page.iter("td")}


def test_text_of_a_program_stays_text() -> None:
    html = results()["hostile costs"]._repr_html_()  # type: ignore[attr-defined]
    assert "<b>a" not in html
    assert "<b>a & b</b> | 50% of $x_1$ {y} ~ `z` #" in "".join(check_html(html).itertext())


@long
def test_formats_of_the_command_show_the_page(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "f.algo"
    path.write_text(HOSTILE)
    for target in ("dense.matmul::matmul_basic", str(path)):
        check_latex(cli("cost", target, "--format", "latex").out)
        check_markdown(cli("cost", target, "--format", "markdown").out)
    shown = cli("cost", "dense.matmul::matmul_basic", "--format", "markdown").out
    assert "| a column of B | `n*m*ceil(p/L) + n*p*ceil(m/L) + n*ceil(p/L)` | `Z >= L*(m + 2)` |" in shown
    assert "parallelism" in shown
    assert "for any schedule: `Omega(n*m*p/(L*sqrt(Z)))`" in shown
    assert "| flops | `2*n*m*p` | exact | `Theta(n*m*p)` |" in shown
    assert "span" not in cli("cost", "dense.matmul::matmul_basic", "--format", "markdown", "--metric", "io").out
    tables = cli("cost", "dense.matmul::matmul_basic", "--format", "markdown", "--all").out
    assert "|  |  |  | where `Z >= L*(ceil(m/L) + 2)`: |" in tables
    check_markdown(tables)
    check_latex(cli("cost", "dense.matmul::matmul_basic", "--format", "latex", "--all").out)


@pytest.mark.parametrize(
    ("found", "text", "expected"),
    [
        (Formula(call("Theta", parse_expression("n*m"))), "Theta(n*m)", r"\Theta\left(n\,m\right)"),
        (Formula(*parse_facts("Z >= L*(m + 2)")), "Z >= L*(m + 2)", r"Z \ge L\,\left(m + 2\right)"),
        (Formula(parse_expression("n^2"), "<= ~"), "<= ~ n^2", r"\le {\sim}\,n^{2}"),
        (Formula(parse_expression("2*n"), "flops =="), "flops == 2*n", r"\mathit{flops} = 2\,n"),
        (Formula(call("O", parse_expression("sqrt(Z)"))), "O(sqrt(Z))", r"O\left(\sqrt{Z}\right)"),
        (Formula(*parse_facts("n is power of 2")), "n is power of 2", r"n \text{ is power of } 2"),
        (Formula(*parse_facts("b divides n")), "b divides n", r"b \text{ divides } n"),
        (Formula(*parse_facts("n == 1 or n >= 3")), "n == 1 or n >= 3", r"n = 1 \text{ or } n \ge 3"),
    ],
)
def test_formulas_in_latex(found: Formula, text: str, expected: str) -> None:
    assert found == text
    assert render_formula(found) == expected


def test_formulas_pass_between_processes_as_text() -> None:
    found = Formula(parse_expression("2*n"), "flops ==")
    whole = join_phrases("claim ", found, " holds")
    assert pickle.loads(pickle.dumps((found, whole))) == ("flops == 2*n", "claim flops == 2*n holds")
    assert copy.deepcopy(whole) == whole
