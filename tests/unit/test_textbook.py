"""The rows of textbook, the verdicts on them, the sketches in runs, and the page that has them all."""

from __future__ import annotations

import re
import sys
import tomllib
from functools import cache

import pytest

import archline as al
from archline.growth.growths import Growth
from archline.language.parser import parse_expression, parse_facts
from derived_counts import assert_agreement
from effort import long, some
from test_examples import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))
import textbook
from textbook import Derived, Row, RowError, judge

ROWS = [row for rows in textbook.read_topics().values() for row in rows]
SOURCES = tomllib.loads(textbook.SOURCES.read_text(encoding="utf-8"))
SKETCHES = list({row.path: row for row in ROWS if row.is_sketch}.values())


def named(row: Row) -> str:
    return f"{row.topic}-{row.target}"


def test_rows_name_algorithms_and_every_sketch_has_a_docstring() -> None:
    assert len({(row.topic, row.name) for row in ROWS}) == len(ROWS)
    for row in ROWS:
        assert parse_expression(row.upper, "growth")
        assert row.lower is None or parse_expression(row.lower, "growth")
        # A source has a short name that stands for a title and a year, or states these itself.
        assert row.find_sources(SOURCES) or re.search(r"\(.*\b\d{4}\)", row.source), row.source
        file = row.path.partition("::")[0]
        assert file.endswith(".algo") or (ROOT / "stdlib" / f"{file.replace('.', '/')}.algo").exists()
    for path in sorted(textbook.FOLDER.glob("*.algo")):
        assert path.with_suffix(".toml").exists()
        algorithms = al.load(str(path))
        assert all(algorithms[name].doc for name in algorithms)


def sizes_of_runs(row: Row) -> list[dict[str, int | float]]:
    """The sizes that a row states, else: all 1, sizes that differ, and larger ones."""
    if row.run:
        pairs = [[pair.split("=") for pair in run.split(",")] for run in row.run]
        return [{name.strip(): float(value) if "." in value else int(value) for name, value in run} for run in pairs]
    names = row.algorithm.sizes
    return [{name: size(place) for place, name in enumerate(names)} for size in (one, uneven, larger)]


def one(place: int) -> int:
    return 1


def uneven(place: int) -> int:
    return (7, 5, 11, 3)[place % 4]


def larger(place: int) -> int:
    return (24, 33, 20, 29)[place % 4]


@pytest.mark.parametrize("row", some(SKETCHES, 40, full=4), ids=named)
def test_sketches_pass_check_and_cost_what_is_derived(row: Row) -> None:
    algorithm = row.algorithm
    assert all(verdict.outcome != "fails" for verdict in algorithm.report().ensures)
    for sizes in sizes_of_runs(row):
        for seed in (0, 1):
            run = algorithm.run(sizes, seed=seed, compiled=False)
            assert run.outside == ()
            assert_agreement(algorithm.report().without_io, run.execution, row.path)


@cache
def derive_page() -> tuple[str, list[str]]:
    faults = list[str]()
    topics = {topic: textbook.derive_verdicts(rows, faults) for topic, rows in textbook.read_topics().items()}
    return textbook.render_page(topics), faults


@long
def test_the_page_is_what_the_command_writes() -> None:
    page, faults = derive_page()
    assert faults == []
    assert textbook.PAGE.read_text(encoding="utf-8") == page, "run benchmarks/textbook.py"


def growth(upper: str | None, lower: str | None = None, where: str = "") -> Growth:
    facts = tuple(parse_facts(where, "where")) if where else ()
    ends = [None if end is None else parse_expression(end, "growth") for end in (lower, upper)]
    return Growth(*ends, where=facts)


def derived(*growths: Growth, facts: tuple[str, ...] = (), loops: tuple[tuple[str, str], ...] = ()) -> Derived:
    return Derived(", ".join(str(each.text) for each in growths), growths, facts, loops)


def row(upper: str, lower: str | None = None, **keys: object) -> Row:
    stated = {"name": "A", "target": "a", "source": "a book", "upper": upper, "lower": lower, **keys}
    return Row.read("planted", {key: value for key, value in stated.items() if value is not None})


def kind(stated: Row, found: Derived) -> str:
    return judge(stated, found).kind


def test_both_ends_are_compared() -> None:
    theta = derived(growth("n^2", "n^2"))
    assert kind(row("n^2", "n^2"), theta) == "equal"
    assert kind(row("2*n^2 + n", "n^2"), theta) == "equal"
    assert kind(row("n^2"), theta) == "equal"
    apart = derived(growth("n^2"), growth(None, "n"))
    assert kind(row("n^2", "n"), apart) == "equal"
    assert kind(row("n^2", "n*log2(n)", why="so"), apart) == "weaker"
    assert kind(row("n*log2(n)", "n", why="so"), apart) == "weaker"
    assert kind(row("n^3"), theta) == "sharper"
    assert kind(row("n", why="so"), derived()) == "weaker"


@pytest.mark.parametrize(
    ("stated", "found"),
    [
        (row("n^2", "n"), derived(growth("n"), growth(None, "n"))),
        (row("n^2", "n"), derived(growth("n^2", "n^2"))),
        (row("n"), derived(growth("n^2", "n*log2(n)"))),
        (row("n", why="so"), derived(growth(None, "n^2"))),
        (row("n^2", "n", why="so"), derived(growth("n^3"), growth(None, "n^2"))),
        (row("n*m", "n*m"), derived(growth("n + m", "n + m"))),
        (row("n^2", "n^2"), derived(growth("n^2"), growth("n", "n", where="n >= 2"))),
    ],
)
def test_growth_that_contradicts_the_literature_is_wrong(stated: Row, found: Derived) -> None:
    with pytest.raises(RowError, match="WRONG"):
        judge(stated, found)


def test_a_reason_is_needed_where_the_growth_is_weaker_and_only_there() -> None:
    with pytest.raises(RowError, match="say `why`"):
        judge(row("n"), derived(growth("n^2")))
    with pytest.raises(RowError, match="remove `why`"):
        judge(row("n^2", why="so"), derived(growth("n^2")))
    with pytest.raises(RowError, match="remove `why`"):
        judge(row("n^3", why="so"), derived(growth("n^2")))


def test_facts_of_the_statement_of_the_program_and_of_cases_count() -> None:
    both = derived(growth("n + m", "n + m"))
    assert kind(row("n", "n", where=["m <= n"]), both) == "equal"
    assert kind(row("n", "1", why="so"), derived(growth("n + m"), growth(None, "1"))) == "weaker"
    assert kind(row("n", "n"), derived(*both.growths, facts=("m <= n",))) == "equal"
    # From some sizes on a growth counts alone.
    late = derived(growth("n"), growth("n", "n", where="n >= 4"))
    assert kind(row("n", "n"), late) == "equal"
    # Cases count together, and those that the statement excludes do not count.
    cases = derived(growth("n", "n", where="n >= m"), growth("m", "m", where="n < m"))
    assert kind(row("n + m", "n + m"), cases) == "equal"
    assert kind(row("n", "n", where=["m <= n"]), cases) == "equal"
    with pytest.raises(RowError, match="WRONG"):
        judge(row("n", "n", why="so"), cases)


def test_iterations_are_reported_unless_the_literature_has_them_too() -> None:
    free = derived(growth("n*T", "n*T"), loops=(("T", "textbook/sorting.algo:3"),))
    verdict = judge(row("n^2"), free)
    assert (verdict.kind, "sorting.algo:3" in verdict.text) == ("in T", True)
    assert not verdict.shared
    both = judge(row("n*T", "n*T", data="T is the number of iterations"), free)
    assert (both.kind, both.shared) == ("in T", True)
    with pytest.raises(RowError, match="say in `data`"):
        judge(row("n*T", "n*T"), free)
    loose = derived(growth("n*T", "T"), loops=free.loops)
    assert kind(row("T", "T", data="T is the number of iterations", why="so"), loose) == "weaker"
    with pytest.raises(RowError, match="WRONG"):
        judge(row("T", data="T is the number of iterations", why="so"), free)


@pytest.mark.parametrize("changed", [{"source": None}, {"uper": "n"}, {"upper": ""}, {"why": " "}, {"metric": 3}])
def test_rows_that_are_not_well_formed_are_refused(changed: dict[str, object]) -> None:
    keys = {"name": "A", "target": "a", "source": "a book", "upper": "n", **changed}
    with pytest.raises(RowError):
        Row.read("planted", {key: value for key, value in keys.items() if value is not None})
    with pytest.raises(RowError):
        textbook.read_rows("planted", 'titel = "A"')


def test_faults_are_listed_and_no_page_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    planted = Row.read(
        "sorting", {"name": "A", "target": "odd_even_transposition_sort", "source": "a book", "upper": "n"}
    )
    monkeypatch.setattr(textbook, "read_topics", lambda only="": {"sorting": [planted]})
    monkeypatch.setattr(sys, "argv", ["textbook.py"])
    before = textbook.PAGE.read_text(encoding="utf-8")
    with pytest.raises(SystemExit, match="WRONG"):
        textbook.main()
    assert textbook.PAGE.read_text(encoding="utf-8") == before
