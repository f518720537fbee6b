"""No `match` of the package leaves a kind of node out by accident: mypy checks it, and these tests what mypy does not."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import get_args

from archline.language import syntax as s

ROOT = Path(__file__).parents[2]
STATEMENTS = {kind.__name__ for kind in get_args(s.Stmt)}


@cache
def matches() -> list[tuple[str, list[str], ast.Match]]:
    """Every `match` with its place, and the lines of its file."""
    return [
        (f"{path.relative_to(ROOT)}:{node.lineno}", text.splitlines(), node)
        for path in sorted((ROOT / "analyzer" / "archline").rglob("*.py"))
        if " match " in (text := path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Match)
    ]


def heads(pattern: ast.pattern) -> Iterator[str]:
    """The classes that a pattern distinguishes at its top."""
    match pattern:
        case ast.MatchClass(cls=ast.Attribute(attr=name) | ast.Name(id=name)):
            yield name
        case ast.MatchAs(pattern=ast.pattern() as inner):
            yield from heads(inner)
        case ast.MatchOr(patterns=patterns):
            for each in patterns:
                yield from heads(each)


def catches_all(case: ast.match_case) -> bool:
    return case.guard is None and isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None


def test_mypy_checks_that_matches_are_exhaustive() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mypy"]
    assert settings["strict"]
    assert "exhaustive-match" in settings["enable_error_code"]
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "analyzer").rglob("*.py")]
    assert not any("ignore[exhaustive-match" in text for text in texts)


def test_the_last_case_has_no_guard() -> None:
    """mypy takes a `match` for exhaustive whose last case has one."""
    assert [place for place, _, node in matches() if node.cases[-1].guard is not None] == []


def test_defaults_for_statements_raise_or_say_why() -> None:
    """A `case _` of a match on statements hides new kinds of them: it raises, or a comment gives the reason."""
    silent = []
    for place, lines, node in matches():
        kinds = {name for case in node.cases for name in heads(case.pattern)}
        *_, last = node.cases
        if kinds and kinds <= STATEMENTS and catches_all(last):
            start = last.pattern.lineno - 1
            explained = any("#" in line for line in lines[start : last.body[-1].end_lineno])
            if not explained and not isinstance(last.body[0], ast.Raise):
                silent.append(place)
    assert silent == []


def test_the_unions_hold_every_node() -> None:
    """A class that no union holds is a part of another node, or a base: mypy sees the members of unions only."""
    unions = {kind for union in (s.Expr, s.Fact, s.Type, s.Stmt, s.Item) for kind in get_args(union)}
    kinds = {kind for kind in vars(s).values() if isinstance(kind, type) and issubclass(kind, s.Node)}
    parts = {s.Node, s.Simple, s.Communication, s.Slice, s.Parameter, s.Axis, s.Branch, s.Clause, s.Ensures, s.On}
    assert kinds == unions | parts
    assert not unions & parts
