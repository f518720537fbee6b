"""The papers re-derived: no verdict is typed in, and each is seen to depend on what is printed."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

import archline as al
from archline.papers.findings import DIFFERS, EQUAL, UNDECIDED, Finding
from archline.papers.recipes import derive
from archline.papers.report import Rederived
from archline.resources import resource
from changed_forms import changes
from cli_support import cli
from effort import some

NAMES = sorted(path.stem for path in resource("papers").glob("*.toml"))


@cache
def rederived(name: str) -> Rederived:
    found = al.papers(name)
    assert isinstance(found, Rederived)
    return found


def rows(name: str, verdict: str) -> list[Finding]:
    return [each for each in rederived(name).rows if each.verdict == verdict]


def again(found: Finding, text: str) -> Finding:
    """The finding of the same row that prints another text."""
    return derive(found.row.printing(text))


@pytest.mark.parametrize("name", NAMES)
def test_what_holds_fails_once_the_printed_form_is_changed(name: str) -> None:
    for found in some(rows(name, EQUAL)):
        texts = list(changes(found.row))
        assert texts
        for text in some(texts):
            assert again(found, text).verdict == DIFFERS, (found.row.place, text)


@pytest.mark.parametrize("name", NAMES)
def test_what_differs_holds_once_the_derived_form_is_printed(name: str) -> None:
    for found in some(rows(name, DIFFERS)):
        assert found.reason
        assert again(found, found.derived).verdict == EQUAL, (found.row.place, found.derived)


@pytest.mark.parametrize("name", NAMES)
def test_what_differs_has_a_witness_that_another_evaluation_confirms(name: str) -> None:
    for found in rows(name, DIFFERS):
        assert found.witness is not None, found.row.place
        assert found.witness.holds(), (found.row.place, str(found.witness))


@pytest.mark.parametrize("name", NAMES)
def test_few_rows_are_undecided_and_say_why(name: str) -> None:
    left = rows(name, UNDECIDED)
    assert 10 * len(left) <= len(rederived(name).rows)
    assert all(each.reason for each in left)


ROW = """[[row]]
place = "(1)"
kind = "limit"
printed = "a + b"
of = "b + a"
"""
WRONG = {
    "another recipe": (ROW.replace("limit", "limes"), 3, "there is no recipe `limes`", "did you mean `limit`?"),
    "an input lacks": (ROW.replace("of = ", "from = "), 3, "lacks the input `of`", ""),
    "an input too many": (ROW + 'off = "1"\n', 6, "has no input `off`", "did you mean `of`?"),
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
    assert differs["reason"] == "printed less derived is -2*b"
    assert (equal["paper"], equal["kind"], equal["verdict"], equal["assumes"]) == ("own", "limit", "equal", [])
    assert [each.verdict for each in al.papers(str(path), only="equal").rows] == ["equal"]
    assert "| (2) | differs | `a - b` | `a + b` |" in cli("papers", str(path), "--format", "markdown").out
    explained = cli("papers", str(path), "--explain", "--place", "(1)").out
    assert "the difference of printed and derived form is 0" in explained
