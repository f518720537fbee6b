"""The papers re-derived: no verdict is typed in, and each is seen to depend on what is printed."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

import archline as al
from archline.papers.findings import DIFFERS, EQUAL, UNDECIDED, Finding
from archline.papers.page import entry
from archline.papers.recipes import INPUTS, derive
from archline.papers.report import derived
from archline.papers.rows import read_paper
from archline.resources import resource
from changed_forms import changes
from cli_support import cli
from effort import EFFORT, long, some

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "papers.md").read_text(encoding="utf-8")
NAMES = sorted(path.stem for path in resource("papers").glob("*.toml"))


SLOW = ("growth", "run")
"""Recipes that derive or execute whole algorithms: a quick run leaves them to others."""


@cache
def findings(name: str) -> list[Finding]:
    rows = read_paper(name, INPUTS).rows
    kept = [row for row in rows if EFFORT != "quick" or row.kind not in SLOW]
    return [each for row in some(kept, 9) for each in some(derived(row), 8)]


def found(name: str, verdict: str) -> list[Finding]:
    return [each for each in findings(name) if each.verdict == verdict]


def again(found: Finding, text: str) -> Finding:
    """The finding of the same row that prints another text."""
    return derive(found.row.printing(text))


@pytest.mark.parametrize("name", NAMES)
def test_what_holds_fails_once_the_printed_form_is_changed(name: str) -> None:
    for each in found(name, EQUAL):
        texts = list(changes(each.row))
        assert texts, each.row.place
        slow = each.row.kind in SLOW
        tried = texts[:2] if slow and EFFORT != "deep" else some(texts, 8)
        verdicts = {text: again(each, text).verdict for text in tried}
        assert EQUAL not in verdicts.values(), (each.row.place, each.row.subject, verdicts)
        # Which of two orders in several sizes is the larger one may stay open.
        enough = DIFFERS in verdicts.values() if slow else {*verdicts.values()} == {DIFFERS}
        assert enough, (each.row.place, each.row.subject, verdicts)


@pytest.mark.parametrize("name", NAMES)
def test_what_differs_holds_once_the_derived_form_is_printed(name: str) -> None:
    for each in found(name, DIFFERS):
        assert each.reason
        assert again(each, each.derived).verdict == EQUAL, (each.row.place, each.row.subject, each.derived)


@pytest.mark.parametrize("name", NAMES)
def test_what_differs_has_a_witness_that_another_evaluation_confirms(name: str) -> None:
    for each in found(name, DIFFERS):
        assert each.witness is not None, (each.row.place, each.row.subject)
        assert each.witness.holds(), (each.row.place, each.row.subject, str(each.witness))


@pytest.mark.parametrize("name", NAMES)
def test_few_rows_are_undecided_and_say_why(name: str) -> None:
    left = found(name, UNDECIDED)
    assert 10 * len(left) <= len(findings(name)) or EFFORT == "quick"
    assert all(each.reason for each in left)


@pytest.mark.parametrize("name", NAMES)
def test_the_page_has_what_does_not_hold(name: str) -> None:
    for each in found(name, DIFFERS):
        assert "\n".join(entry(each)) in PAGE, (each.row.place, "archline papers --format markdown >docs/papers.md")


@long
def test_the_page_is_what_the_command_prints() -> None:
    assert cli("papers", "--format", "markdown").out == PAGE


ROW = """[[row]]
place = "(1)"
kind = "limit"
printed = "a + b"
of = "b + a"
"""
WRONG = {
    "another recipe": (ROW.replace("limit", "limes"), 3, "there is no recipe `limes`", "did you mean `limit`?"),
    "an input lacks": (ROW.replace("limit", "optimum"), 3, "lacks the input `over`", ""),
    "an input too many": (ROW + 'off = "1"\n', 6, "has no input `off`", "did you mean `of`?"),
    "no origin": (ROW.replace("of =", "names =").replace("names", "with"), 1, "the row has no text `of`", ""),
    "no form": (ROW.replace("a + b", "a + "), 4, "`a + ` cannot be read", ""),
    "no TOML": (ROW + "with =\n", 6, "is not TOML", "texts are in quotes"),
    "no place": (ROW.replace("place", "# place"), 1, "the row has no text `place`", ""),
    "no metric": (
        ROW.replace('limit"', 'model"\nmodel = "linear"').replace('"b + a"', '"time"'),
        6,
        "lacks `flops`",
        "",
    ),
    "no model": (
        ROW.replace('limit"', 'model"\nmodel = "lineal"'),
        4,
        "no energy model `lineal`",
        "did you mean `linear`?",
    ),
    "no number": (ROW.replace("limit", "cell").replace("of =", "rule ="), 4, "`a + b` is no number with a unit", ""),
    "no machine": (ROW + '[numbers]\nmachine = "none"\n', 6, "there is no machine `none`", ""),
}


@pytest.mark.parametrize(("text", "line", "message", "hint"), WRONG.values(), ids=WRONG)
def test_a_wrong_row_is_an_error_with_its_place(tmp_path: Path, text: str, line: int, message: str, hint: str) -> None:
    path = tmp_path / "own.toml"
    path.write_text(text, encoding="utf-8")
    ran = cli("papers", str(path))
    assert ran.code == 2
    assert f"{path}:{line}:" in ran.err
    assert message in ran.err
    assert f"hint: {hint}" in ran.err


def test_what_is_asked_for_and_is_not_there() -> None:
    assert "did you mean `scaling`?" in cli("papers", "scalin").err
    assert "did you mean `(16)`?" in cli("papers", "scaling", "--place", "(166)").err


def test_formats(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(ROW + ROW.replace("a + b", "a - b").replace("(1)", "(2)"), encoding="utf-8")
    document = json.loads(cli("papers", str(path), "--format", "json").out)
    assert document["version"] == 1
    (differs, equal) = document["rows"]
    assert (differs["place"], differs["verdict"], differs["derived"]) == ("(2)", "differs", "a + b")
    assert differs["reason"] == "prints -b where b follows: -1 times"
    assert (equal["paper"], equal["kind"], equal["verdict"], equal["assumes"]) == ("own", "limit", "equal", [])
    assert [each.verdict for each in al.papers(str(path), only="equal").rows] == ["equal"]
    page = cli("papers", str(path), "--format", "markdown").out
    assert "Of 2 rows 1 hold, 1 do not, 0 are undecided." in page
    assert "**(2)**\n\n- printed: `a - b`\n- follows: `a + b`\n- because prints -b where b follows: -1 times\n" in page
    assert page.index("**(2)**") < page.index("### What holds\n\n- **(1)**: `a + b`\n")
    explained = cli("papers", str(path), "--explain", "--place", "(1)").out
    assert "the difference of printed and derived form is 0" in explained
