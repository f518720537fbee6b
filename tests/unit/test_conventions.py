"""No `match` of the package leaves a kind of node out by accident: mypy checks it, and these tests what mypy does not."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import get_args

import pytest

import archline
from archline.analysis.cost import Cost
from archline.api.texts import load_all_rules
from archline.cli.main import COMMANDS
from archline.language import syntax as s
from cli_support import cli
from effort import long, some

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


@long
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
    parts = {s.Node, s.Statement, s.Simple, s.Communication, s.Slice, s.Parameter}
    parts |= {s.Axis, s.Branch, s.Clause, s.Ensures, s.On, s.Output, s.Reached, s.Reduction}
    assert kinds == unions | parts
    assert not unions & parts


# Each test lies in the folder of its tier: unit and golden are quick, agreement and soundness take longer


TESTS = Path(__file__).parents[1]
TIERS = {"unit", "golden", "agreement", "soundness"}


def test_each_file_of_tests_lies_in_the_folder_of_a_tier() -> None:
    folders = {path.parent.relative_to(TESTS).as_posix() for path in TESTS.rglob("test_*.py")}
    assert folders == TIERS


# Exact numbers come from one module, so that another library can take the place of python-flint


FLINT = re.compile(r"^\s*(from|import) flint\b", re.MULTILINE)


def test_python_flint_is_named_in_one_module() -> None:
    package = Path(archline.__path__[0])
    found = [path for path in package.rglob("*.py") if FLINT.search(path.read_text(encoding="utf-8"))]
    assert found == [package / "numbers.py"]


# A public class name means one thing: at most two modules may use the same one


MOST = 2


def classes(text: str) -> list[str]:
    """The public classes of a module."""
    return re.findall(r"^class ([A-Za-z]\w*)", text, re.MULTILINE)


def shared(texts: list[str]) -> set[str]:
    """Names that more than two of the modules give to a class."""
    found = Counter(name for text in texts for name in set(classes(text)))
    return {name for name, times in found.items() if times > MOST}


QUOTED = re.compile(r"`_?[A-Za-z]\w*_\w+`|\b[A-Z]{2,}(?:_[A-Z]+)+\b")
EXAMPLES = {"memory_bandwidth", "NAME_work", "NAME_io", "reduce_scatter_ring"}


@long
def test_names_in_docstrings_are_those_of_the_code() -> None:
    names, quoted = set(EXAMPLES), dict[str, str]()
    for path in (ROOT / "analyzer" / "archline").rglob("*.py"):
        names.add(path.stem)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            attributes = (getattr(node, key, None) for key in ("name", "id", "arg", "attr"))
            names |= {name for name in attributes if isinstance(name, str)}
            match node:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    quoted |= dict.fromkeys((name.strip("`") for name in QUOTED.findall(text)), path.name)
                case ast.Constant(value=str(text)) if re.fullmatch(r"\w+", text):
                    names.add(text)
    assert {name: place for name, place in quoted.items() if name not in names} == {}


def test_bounds_of_a_cost_are_of_one_kind() -> None:
    """What said "at most" in other ways before `Cost.bounds` is gone, in the package too."""
    former = {"regimes", "alternatives", "lowers", "ends", "mapped", "orderless", "orders"}
    assert not former & {*Cost.__dataclass_fields__, *vars(Cost)}
    names = re.compile(
        r"\b(ConditionalBound|whole_ends_at|ends_at)\b|\bclass Regime\b|\bcost\.(regimes|alternatives|lowers|ends)\b"
    )
    package = (ROOT / "analyzer" / "archline").rglob("*.py")
    assert not [path for path in package if names.search(path.read_text(encoding="utf-8"))]


def test_no_class_name_is_in_three_modules() -> None:
    paths = Path(archline.__path__[0]).rglob("*.py")
    assert not shared([path.read_text(encoding="utf-8") for path in paths])


def test_a_third_class_of_a_name_is_noticed() -> None:
    assert not shared(["class Case: ...", "class Case: ...", "class _Case: ..."])
    assert shared(["class Case: ...", "class Case: ...", "def f(): ...\n\nclass Case: ..."]) == {"Case"}


# Plain words of the field in what users read: outputs, `--help` and docs


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PHRASES = [
    *(
        r"\b(is|are|was|were|be) told\b",
        r"\bonly the data tells\b",
        r"\btells? apart\b",
        r"\btells more\b",
        r"\bheld against\b",
    ),
    *(
        r"\bholds? (the one|one|the counts) against\b",
        r"\boff by\b",
        r"\bbeside (sympy|ours|those|what|its)\b",
        r"\beased\b",
    ),
    *(
        r"\bany order fetches\b",
        r"\bof any order\b",
        r"\bfor any order\b",
        r"\bstands on\b",
        r"\brests? on\b",
        r"\bresting on\b",
    ),
    *(r"\bwhen it is reached\b", r"\bpays for\b", r"\bspare lines\b", r"\b(is|are) wanted\b", r"\btake turns\b"),
    *(r"\band the lines touched\b", r"\bgrows? alike\b", r"\bby what they see\b", r"\bnearer\b", r"\bsights\b"),
]
"""The clear-cut ones among home-made words; others depend on what they are said of."""
FOUND = re.compile("|".join(PHRASES))
OUTPUTS = [
    ("cost", "dense.lu::lu", "--all", "--explain", "--metric", "io"),
    ("cost", "sparse.csr::spmv_csr", "--all", "--at", "n=4,m=4,nz=8,nr=2,nc=2"),
    ("cost", "sort.select::select", "--all", "--explain", "--metric", "io"),
    pytest.param(("cost", "stencil.trapezoid::trapezoid", "--explain", "--metric", "io"), marks=long, id="reached"),
    ("cost", "dense.trmm", "--explain", "--procs", "4"),
    ("run", "dense.gemv::gemv", "--at", "n=4,m=4"),
    ("check", "dense.gemv"),
    ("energy", "dense.gemv::gemv", "--machine", "xeon-e5-2650l-v3", "--at", "n=4,m=4"),
    ("energy", "dense.gemv::gemv", "--machine", "xeon-e5-2650l-v3"),
    ("compare", "dense.gemv::gemv", "dense.gemv::gemv_transposed", "--growth"),
    ("list",),
    ("machines",),
    ("machines", "xeon-e5-2650l-v3"),
    ("order", "n^2", "n", "--explain"),
    ("recurrence", "T(n) = 2*T(n/2) + n, T(1) = 1"),
    ("explain",),
]


def check(text: str) -> None:
    found = FOUND.search(" ".join(text.split()))
    assert found is None, f"`{found and found[0]}`"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_docs(path: Path) -> None:
    check(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    check(cli(*filter(None, [command]), "--help").out)


@pytest.mark.parametrize("arguments", some([*OUTPUTS], 3), ids=" ".join)
def test_outputs(arguments: tuple[str, ...]) -> None:
    check(cli(*arguments).out)


def test_explanations() -> None:
    """What `archline explain CODE` prints."""
    for rule in load_all_rules().values():
        check(rule.documentation)
