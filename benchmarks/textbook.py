"""The page docs/explanation/textbook.md: derived growth against the literature's, by algorithm.

    python benchmarks/textbook.py                  # derive all rows and write the page
    python benchmarks/textbook.py --only sorting   # print the tables of the topics with this in their name

A topic is a file textbook/TOPIC.toml with a `title` and rows `[[algorithm]]`; its sketches are in TOPIC.algo
beside it. Keys of a row: `name`, `target` (an algorithm of TOPIC.algo, or FILE::NAME), `upper` (the literature's O of
the worst case), `source` (sources.toml has the full names), and if they apply `lower` (the literature's Omega of the
best case; without it `upper` may be loose), `metric` (work if not given), `where` (facts of the literature's
statement), `data` (the quantity in the literature's bound that the data decides), `why` (why the derived growth is
weaker) and `run` (sizes of test runs, such as ["n=1, k=1", "n=7, k=3"]). Verdicts are computed. The exit code is 1, and
nothing is written, if a derived growth contradicts the literature, or if a `why` is missing or is not needed.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from common import ROOT, parsed

import archline as al
from archline.expr.text import format_expression, format_fact
from archline.growth.growths import Growth, make_domain
from archline.language import syntax as s
from archline.language.iterations import list_iterations
from archline.language.parser import parse_expression, parse_facts
from archline.language.substitution import express_facts_in_sizes

FOLDER = ROOT / "textbook"
SOURCES = FOLDER / "sources.toml"
PAGE = ROOT / "docs" / "explanation" / "textbook.md"
REQUIRED = ("name", "target", "upper", "source")
Kind = Literal["equal", "sharper", "weaker", "in T"]
INTRODUCTION = """\
# Textbook algorithms

The tables compare the growth that archline derives from a sketch with the growth in the literature: the derived O with
the O that the source states for the worst case, and the derived Omega with its Omega for the best case, if it states
one. Both comparisons are those of [`archline order`](../reference/command-order-recurrence.md), with proofs that an
independent program checks. The verdicts are:

- `equal`: both ends have the order that the source states.
- `sharper`: the derived O is of a lower order than the source's, which states no Omega.
- `weaker`: one end of the derived growth falls short, for the reason that is given.
- `in T`: the growth contains the number of iterations T of a loop, which archline leaves to the data; the loop is
  named. `the literature too` tells what that quantity is where the source's bound contains it as well.

`python benchmarks/textbook.py` writes this page from [`textbook`](../../textbook). It fails if a
derived growth contradicts the literature.
"""


class RowError(Exception):
    """A row of a topic is not well-formed, or its statement is refuted."""


@dataclass(frozen=True)
class Row:
    """An algorithm with the growth that the literature states."""

    topic: str
    name: str
    target: str
    upper: str
    source: str
    metric: str = "work"
    lower: str | None = None
    where: tuple[str, ...] = ()
    data: str | None = None
    why: str | None = None
    run: tuple[str, ...] = ()

    @staticmethod
    def read(topic: str, keys: dict[str, Any]) -> Row:
        """Read a row of a topic's file. Raises RowError for missing, unknown or empty keys."""
        known = {column.name for column in fields(Row)} - {"topic"}
        name = f"{topic}: {keys.get('name', '?')}"
        missing, unknown = set(REQUIRED) - keys.keys(), keys.keys() - known
        if missing or unknown:
            raise RowError(f"{name}: {', '.join(sorted(missing or unknown))} {'missing' if missing else 'unknown'}")
        lists = {key: tuple(value) for key, value in keys.items() if isinstance(value, list)}
        row = Row(topic, **{**keys, **lists})
        if any(not isinstance(value, str) or not value.strip() for value in keys.values() if type(value) is not list):
            raise RowError(f"{name}: a value is not a text, or empty")
        return row

    def make_error(self, message: str) -> RowError:
        """Make an error about the row."""
        return RowError(f"{self.topic}: {self.name}: {message}")

    @property
    def is_sketch(self) -> bool:
        """Whether the algorithm is in the file of the topic, and not in the library."""
        return "::" not in self.target

    @property
    def path(self) -> str:
        """The target, as the command line takes it."""
        return f"{FOLDER.relative_to(ROOT)}/{self.topic}.algo::{self.target}" if self.is_sketch else self.target

    @cached_property
    def algorithm(self) -> al.Algorithm:
        """The checked algorithm."""
        return al.algorithm(str(ROOT / self.path) if self.path.partition("::")[0].endswith(".algo") else self.path)

    def find_sources(self, names: Iterable[str]) -> list[str]:
        """The sources, of those with short names, that the row cites."""
        cited = [part.strip() for part in self.source.split(";")]
        return [name for name in names if any(part.startswith(name) for part in cited)]

    @property
    def literature(self) -> str:
        """The literature's growth as text."""
        if self.lower == self.upper:
            shown = f"Theta({self.upper})"
        else:
            shown = f"O({self.upper})" + (f", Omega({self.lower})" if self.lower is not None else "")
        return f"`{shown}{' where ' + ' and '.join(self.where) if self.where else ''}`"


@dataclass(frozen=True)
class Derived:
    """What is derived for a row: the growths, the facts under which they hold, and the places of the loops in T."""

    text: str
    growths: tuple[Growth, ...]
    facts: tuple[str, ...] = ()
    loops: tuple[tuple[str, str], ...] = ()

    @staticmethod
    def of(row: Row) -> Derived:
        """Derive the growth of a row's metric."""
        algorithm = row.algorithm
        report = algorithm.report()
        cost = report.cost(row.metric)
        growths = report.including(row.metric).growths(cost)
        places = {count.name: count.loop.span for count in list_iterations(algorithm.module, algorithm.node)}
        names = {name for growth in growths for end in (growth.lower, growth.upper) for name in _names(end)}
        loops = tuple(
            (name, f"{shown_path(str(span.source.path))}:{span.line}") for name, span in places.items() if name in names
        )
        text = report.including(row.metric).growth(cost)
        shown = f"unknown: {cost.reason or 'its growth is not known'}" if text is None else f"`{text}`"
        facts = map(format_fact, express_facts_in_sizes(algorithm.node))
        return Derived(shown, growths, tuple(dict.fromkeys(facts)), loops)


def _names(expr: s.Expr | None) -> set[str]:
    return set() if expr is None else {node.id for node in s.iterate_nodes(expr) if isinstance(node, s.Name)}


def shown_path(path: str) -> str:
    """A path from the top of the checkout."""
    absolute = Path(path).resolve()
    return str(absolute.relative_to(ROOT)) if absolute.is_relative_to(ROOT) else path


@dataclass(frozen=True)
class Verdict:
    """How the derived growth compares with the literature's; `shared` if both have the iterations of a loop."""

    kind: Kind
    text: str
    shared: bool = False


Relation = Literal["sharper", "equal", "weaker"]
"""How an end of the derived growth relates to the literature's; `weaker` too where it is not decided."""


def judge(row: Row, derived: Derived) -> Verdict:
    """Compare both ends. Raises RowError if they contradict the literature, or if `why` is missing or not needed."""
    verdict = _judge_ends(row, derived)
    if verdict.kind == "weaker" and row.why is None:
        raise row.make_error(f"{derived.text} is weaker than {row.literature}: say `why`")
    if verdict.kind in ("equal", "sharper") and row.why is not None:
        raise row.make_error(f"{derived.text} is {verdict.kind}: remove `why`")
    return verdict


def _judge_ends(row: Row, derived: Derived) -> Verdict:
    stated = set[str]().union(*(_names(parse_expression(end, "growth")) for end in (row.upper, row.lower) if end))
    loops = [(name, place) for name, place in derived.loops if name not in stated]
    if loops:
        return Verdict("in T", _describe_loops(loops) + (f"; {row.why}" if row.why else ""))
    above = _relate_upper(row, derived, row.upper)
    below = None if row.lower is None else _relate_lower(row, derived, row.lower)
    # A growth in one case contradicts the other end; of the same end all cases together are the worst or the best one.
    contradicts = "sharper" in _relate_lower(row, derived, row.upper).every
    if row.lower is not None and below is not None:
        contradicts |= (
            "sharper" in (above.overall, below.overall) or "sharper" in _relate_upper(row, derived, row.lower).every
        )
    if contradicts:
        raise row.make_error(f"WRONG: {derived.text} contradicts the literature's {row.literature}")
    if "weaker" in (above.overall, below and below.overall):
        return Verdict("weaker", f"weaker: {row.why}")
    if derived.loops:
        if row.data is None:
            raise row.make_error("say in `data` what the iterations are that the literature's growth has")
        return Verdict("in T", f"{_describe_loops(derived.loops)}; the literature too: {row.data}", shared=True)
    return Verdict("sharper", "sharper") if above.overall == "sharper" else Verdict("equal", "equal")


def _describe_loops(loops: Sequence[tuple[str, str]]) -> str:
    return "in " + ", ".join(f"{name}: {_link(place)}" for name, place in loops)


def _link(place: str) -> str:
    path, _, line = place.rpartition(":")
    return f"[{Path(path).name}:{line}](../../{path})"


@dataclass(frozen=True)
class Relations:
    """How an end of each derived growth relates to a growth: those for all large sizes, and those under conditions."""

    eventual: frozenset[Relation]
    cases: frozenset[Relation]

    @property
    def every(self) -> frozenset[Relation]:
        """All of them."""
        return self.eventual | self.cases

    @property
    def overall(self) -> Relation:
        """The relation of the end: the best that holds for all large sizes; else all cases decide together."""
        if "sharper" in self.eventual:
            return "sharper"
        if "equal" in self.eventual:
            return "equal"
        if not self.cases or "weaker" in self.cases:
            return "weaker"
        return "equal" if "equal" in self.cases else "sharper"


def _relate_upper(row: Row, derived: Derived, known: str) -> Relations:
    """Relate the derived O to a growth of the literature: `sharper` if it is proved to be of a lower order."""
    return _relate(row, derived, [(growth, growth.upper) for growth in derived.growths], known, "smaller")


def _relate_lower(row: Row, derived: Derived, known: str) -> Relations:
    """Relate the derived Omega to a growth of the literature: `sharper` if it is proved to be of a higher order."""
    return _relate(row, derived, [(growth, growth.lower) for growth in derived.growths], known, "larger")


def _relate(
    row: Row, derived: Derived, ends: list[tuple[Growth, s.Expr | None]], known: str, sharper: str
) -> Relations:
    eventual, cases = set[Relation](), set[Relation]()
    for growth, end in ends:
        if end is not None and _is_possible(row, derived, growth):
            order = _compare_orders(row, derived, growth, end, known)
            found: Relation = "equal" if order == "equal" else "sharper" if order == sharper else "weaker"
            (eventual if _holds_eventually(growth) else cases).add(found)
    return Relations(frozenset(eventual), frozenset(cases))


def _compare_orders(row: Row, derived: Derived, growth: Growth, end: s.Expr, known: str) -> str | None:
    """Compare the orders of two expressions, as `archline order` does: equal, smaller, larger and so on."""
    text = format_expression(end)
    if text == format_expression(parse_expression(known, "growth")):
        return "equal"
    answer = al.order(text, known, ", ".join(_list_facts(row, derived, growth)), "compare", verify=True)
    if answer.order != "unknown" and not answer.verified:
        raise row.make_error(f"the proof of how {answer.f} compares with {answer.g} is not accepted")
    return answer.order


def _list_facts(row: Row, derived: Derived, growth: Growth) -> tuple[str, ...]:
    shown = map(format_fact, growth.where)
    return tuple(dict.fromkeys((*derived.facts, *row.where, *shown)))


def _is_possible(row: Row, derived: Derived, growth: Growth) -> bool:
    """Whether a growth applies to any sizes that the literature's statement is about."""
    facts = _list_facts(row, derived, growth)
    return make_domain(parse_facts(", ".join(facts), "facts") if facts else ()) is not None


def _holds_eventually(growth: Growth) -> bool:
    """Whether a growth holds wherever all sizes are large enough."""
    return all(
        isinstance(fact, s.Binary)
        and fact.op in (">=", ">")
        and isinstance(fact.left, s.Name)
        and isinstance(fact.right, s.Integer)
        for fact in growth.where
    )


def read_topics(only: str = "") -> dict[str, list[Row]]:
    """Read the rows of all topics, in the order of the names of their files. Raises RowError."""
    paths = sorted(path for path in FOLDER.glob("*.toml") if only in path.stem and path != SOURCES)
    return {path.stem: read_rows(path.stem, path.read_text(encoding="utf-8")) for path in paths}


def read_rows(topic: str, text: str) -> list[Row]:
    """Read the rows of a topic's file. Raises RowError."""
    document = tomllib.loads(text)
    if document.keys() - {"title", "algorithm"}:
        raise RowError(f"{topic}: {', '.join(sorted(document.keys() - {'title', 'algorithm'}))} unknown")
    return [Row.read(topic, keys) for keys in document.get("algorithm", [])]


def read_title(topic: str) -> str:
    """The heading of a topic: the title in its file, else the name of the file."""
    title = tomllib.loads((FOLDER / f"{topic}.toml").read_text(encoding="utf-8")).get("title")
    return title or topic.replace("_", " ").capitalize()


def derive_verdicts(rows: Iterable[Row], faults: list[str]) -> list[tuple[Row, Derived, Verdict]]:
    """Derive and compare rows; those that fail are added to `faults`."""
    found = []
    for row in rows:
        try:
            derived = Derived.of(row)
            found.append((row, derived, judge(row, derived)))
        except (RowError, al.ArchlineError) as problem:
            faults.append(str(problem) if isinstance(problem, RowError) else f"{row.topic}: {row.name}: {problem}")
    return found


def render_table(found: Iterable[tuple[Row, Derived, Verdict]]) -> str:
    """The table of a topic."""
    lines = ["| algorithm | derived | literature | verdict |", "| --- | --- | --- | --- |"]
    for row, derived, verdict in found:
        metric = "" if row.metric == "work" else f", {row.metric}"
        path = shown_path(str(row.algorithm.node.span.source.path))
        source = f"{row.literature} ({row.source})" + (f"; {row.data}" if row.data and not derived.loops else "")
        lines.append(f"| [{row.name}](../../{path}){metric} | {derived.text} | {source} | {verdict.text} |")
    return "\n".join(lines) + "\n"


def summarise(found: Sequence[tuple[Row, Derived, Verdict]]) -> str:
    """The sentence with the counts of all verdicts."""
    counts = Counter(verdict.kind for _, _, verdict in found)
    shared = sum(verdict.shared for _, _, verdict in found)
    return (
        f"Of {len(found)} rows, {counts['equal']} are equal, {counts['sharper']} sharper, {counts['weaker']} weaker "
        f"and {counts['in T']} in T, {shared} of these with a source whose bound contains that quantity too.\n"
    )


def render_page(topics: dict[str, list[tuple[Row, Derived, Verdict]]]) -> str:
    """The page."""
    rows = [row for found in topics.values() for row, *_ in found]
    full = tomllib.loads(SOURCES.read_text(encoding="utf-8"))
    used = sorted({name for row in rows for name in row.find_sources(full)})
    sources = "## Sources\n\n" + "".join(f"- {name}: {full[name]}\n" for name in used)
    tables = [f"## {read_title(topic)}\n\n{render_table(found)}" for topic, found in topics.items()]
    summary = summarise([row for found in topics.values() for row in found])
    return "\n".join((INTRODUCTION, summary, *tables, sources))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--only", default="", metavar="TOPIC", help="print the topics with this in their name")
    parser.add_argument("--row", default="", metavar="NAME", help="print the rows with this in their name")
    options = parsed(parser, only="sorting", row="Odd-even")
    # No answer depends on how fast the machine is.
    os.environ.setdefault("ARCHLINE_TIME_LIMIT", "0")
    faults = list[str]()
    topics = {
        topic: derive_verdicts((row for row in rows if options.row in row.name), faults)
        for topic, rows in read_topics(options.only).items()
    }
    page = render_page(topics)
    if options.only or options.row:
        print(re.sub(r"\A.*?(?=^Of )", "", page, flags=re.DOTALL | re.MULTILINE))
    elif not faults:
        PAGE.write_text(page, encoding="utf-8")
    if faults:
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main()
