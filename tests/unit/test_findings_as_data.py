"""Diagnostics as data: severities, related places, sections of the documentation, and edits, in each format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import archline as al
from archline.expr.tree import Span
from archline.language.edits import apply_edits
from archline.report.findings import RULES
from cli_support import cli

HEAD = "algorithm f(x: inout real[n], k: int[n]):\n"
TWICE = HEAD + "    x[0] = 1.0\n\nalgorithm f(m: size):\n    pass\n"


def derive_all(text: str) -> None:
    """Derive the costs of all algorithms of a program."""
    module = al.loads(text)
    for name in module:
        module[name].cost()


def find_problem(text: str) -> al.Diagnostic:
    """Return the only mistake in a program."""
    with pytest.raises(al.ArchlineError) as refused:
        derive_all(text)
    (problem,) = refused.value.diagnostics
    return problem


def list_ends(span: Span) -> tuple[int, int, int, int]:
    return span.line, span.column, span.end_line, span.end_column


# A program, the code of its mistake, and the related places.
RELATED: list[tuple[str, str, list[tuple[tuple[int, int, int, int], str]]]] = [
    (HEAD + "    for n in 0..3:\n        x[0] = 1.0\n", "AL203", [((1, 27, 1, 28), "`n` is defined here")]),
    (
        HEAD + "    for i in 0..n:\n        for i in 0..n:\n            x[i] = 1.0\n",
        "AL203",
        [((2, 5, 2, 19), "`i` is defined here")],
    ),
    (TWICE, "AL204", [((1, 11, 1, 12), "`f` is defined here")]),
    ("type a: x: int\ntype a: y: int\n", "AL204", [((1, 1, 1, 15), "`a` is defined here")]),
    (
        "algorithm f(x: int[n]) -> int:\n    if x[0] == 3:\n        return 1\n",
        "AL255",
        [((3, 9, 3, 17), "a value is returned here")],
    ),
    (
        "algorithm f(x: int[n]) -> int:\n    parallel for i in 0..n:\n        if x[i] == 3:\n            return i\n    return 0\n",
        "AL255",
        [((2, 5, 2, 28), "the parallel loop")],
    ),
    (
        "algorithm f(x: int[n]) -> int:\n    return x[0]\n    pass\n",
        "AL255",
        [((2, 5, 2, 16), "the exit")],
    ),
    (
        HEAD + "    parallel for i in 0..n-1:\n        x[i] = x[i + 1]\n",
        "AL301",
        [((3, 16, 3, 24), "the other access")],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "code", "related"), RELATED)
def test_messages_have_the_places_that_they_mention(
    text: str, code: str, related: list[tuple[tuple[int, int, int, int], str]]
) -> None:
    problem = find_problem(text)
    assert problem.code == code
    assert [(list_ends(place.span), place.message) for place in problem.related] == related


def test_both_accesses_of_a_race_of_calls_are_related() -> None:
    text = "algorithm g(y: inout real[n]):\n    y[0] = 2.0\n\n" + HEAD + "    spawn g(x)\n    x[0] = 1.0\n    sync\n"
    problem = find_problem(text)
    assert (problem.code, problem.severity) == ("AL304", "error")
    assert [(place.span.line, place.message) for place in problem.related] == [
        (2, "the call writes it"),
        (6, "this writes it"),
    ]


def test_severities_are_those_of_rules() -> None:
    assert {code: rule.severity for code, rule in RULES.items()} == {
        "AL601": "error", "AL602": "warning", "AL603": "error", "AL604": "error",
        "AL605": "warning", "AL606": "warning", "AL607": "warning", "AL608": "warning",
    }  # fmt: skip
    problem = find_problem(TWICE)
    assert (problem.severity, problem.url) == ("error", "docs/reference/rules.md#al204")


def test_explanations_are_data_too() -> None:
    (rule,) = json.loads(cli("explain", "AL607", "--format", "json").out)["rules"]
    assert rule.pop("documentation") == cli("explain", "AL607").out
    assert rule == {
        "code": "AL607",
        "title": "name that is not read",
        "severity": "warning",
        "url": "docs/reference/rules.md#al607",
    }
    every = json.loads(cli("explain", "--format", "json").out)["rules"]
    assert [f"{rule['code']}  {rule['title']}" for rule in every] == cli("explain").out.splitlines()


def test_json_and_sarif_have_related_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("f.algo").write_text(TWICE + "\nalgorithm g(y: out real[n]):\n    y[0] = 1.0//2.0\n")
    first, _ = json.loads(cli("check", "f.algo", "--format", "json").out)["findings"]
    assert (first["level"], first["url"]) == ("error", "docs/reference/rules.md#al204")
    assert first["related"] == [
        {"path": "f.algo", "line": 1, "column": 11, "end_line": 1, "end_column": 12, "message": "`f` is defined here"}
    ]
    (run,) = json.loads(cli("check", "f.algo", "--format", "sarif").out)["runs"]
    assert [rule["helpUri"] for rule in run["tool"]["driver"]["rules"]] == [
        "docs/reference/rules.md#al204",
        "docs/reference/rules.md#al223",
    ]
    (place,) = run["results"][0]["relatedLocations"]
    assert place == {
        "physicalLocation": {
            "artifactLocation": {"uri": "f.algo", "uriBaseId": "%SRCROOT%"},
            "region": {"startLine": 1, "startColumn": 11, "endColumn": 12},
        },
        "message": {"text": "`f` is defined here"},
    }


def apply_fix(text: str, fix: dict[str, Any]) -> str:
    """Apply a fix of SARIF to the text of the only file that it changes."""
    (change,) = fix["artifactChanges"]
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    for replacement in sorted(
        change["replacements"],
        key=lambda part: -starts[part["deletedRegion"]["startLine"] - 1] - part["deletedRegion"]["startColumn"],
    ):
        region, new = replacement["deletedRegion"], replacement["insertedContent"]["text"]
        start = starts[region["startLine"] - 1] + region["startColumn"] - 1
        end = starts[region["endLine"] - 1] + region["endColumn"] - 1
        text = text[:start] + new + text[end:]
    return text  # fmt: skip


FIXED = [
    (HEAD + "    x[0] = x[1]//x[2]\n", HEAD + "    x[0] = floor(x[1]/x[2])\n"),
    (HEAD + "    x[0]\t= 1.0\n", HEAD + "    x[0] = 1.0\n"),
    (HEAD + "    x[0] = |x[1] - x[2]|  # äöü\n", HEAD + "    x[0] = abs(x[1] - x[2])  # äöü\n"),
    (
        "algorithm f(a: real[n]):\n    print(a)\n    for i in 0..n:\n        a[i] = 1.0\n",
        "algorithm f(a: inout real[n]):\n    pass\n    for i in 0..n:\n        a[i] = 1.0\n",
    ),
]


@pytest.mark.parametrize(("text", "fixed"), FIXED)
def test_fixes_of_sarif_make_what_fix_writes(
    text: str, fixed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = Path("f.algo")
    file.write_text(text, encoding="utf-8")
    edited = text
    # A fix can uncover a finding, as `--fix` does in rounds.
    for _ in range(4):
        file.write_text(edited, encoding="utf-8")
        results = json.loads(cli("check", "--format", "sarif", "f.algo").out)["runs"][0]["results"]
        fixes = [result["fixes"][0] for result in results if "fixes" in result]
        edited = apply_fix(edited, fixes[0]) if fixes else edited
    file.write_text(text, encoding="utf-8")
    cli("check", "--fix", "f.algo")
    assert file.read_text(encoding="utf-8") == edited == fixed


# A program with a mistake, the text that the hint's edit makes of it, and whether the edit is safe.
PROPOSED = [
    (HEAD + "    x[0] = x[1]//x[0]\n", HEAD + "    x[0] = floor(x[1]/x[0])\n", True),
    (HEAD + "    x[0]\t= 1.0\n", HEAD + "    x[0] = 1.0\n", True),
    (
        HEAD + "    if 0 <= k[0] < 3:\n        x[0] = 1.0\n",
        HEAD + "    if 0 <= k[0] and k[0] < 3:\n        x[0] = 1.0\n",
        False,
    ),
    (
        HEAD + "    if 0 <= (k[0] + 1) < 3:\n        x[0] = 1.0\n",
        HEAD + "    if 0 <= (k[0] + 1) and k[0] + 1 < 3:\n        x[0] = 1.0\n",
        False,
    ),
    (
        HEAD + "    local s: real = 0\n    for i in 0..n with + on s:\n        s += x[i]\n    x[0] = s\n",
        HEAD + "    local s: real = 0\n    parallel for i in 0..n with + on s:\n        s += x[i]\n    x[0] = s\n",
        False,
    ),
    (
        "algorithm g(b: int) -> int:\n    return b\n\n" + HEAD + "    x[0] = 1.0\n    g(k[0])\n",
        "algorithm g(b: int) -> int:\n    return b\n\n" + HEAD + "    x[0] = 1.0\n    local t: int = g(k[0])\n",
        False,
    ),
    (
        "algorithm f(x: int[n]) -> int:\n    parallel for i in 0..n:\n        if x[i] == 3:\n            return i\n    return 0\n",
        "algorithm f(x: int[n]) -> int:\n    for i in 0..n:\n        if x[i] == 3:\n            return i\n    return 0\n",
        False,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "proposed", "safe"), PROPOSED)
def test_hints_that_name_a_replacement_have_its_edit(text: str, proposed: str, safe: bool) -> None:
    problem = find_problem(text)
    assert (apply_edits(text, problem.edits), problem.safe) == (proposed, safe)
    al.loads(proposed)


def test_no_name_is_proposed_that_is_taken() -> None:
    text = "algorithm g(b: int) -> int:\n    return b\n\nalgorithm f(t: int):\n    g(t)\n"
    problem = find_problem(text)
    assert problem.hint == "write `local t: int = g(...)`"
    assert problem.edits == ()
