"""Programs shown in documentation, and what the text under each says of them.

A fenced block ```` ```archline ```` holds a program that parses and checks. The line right under it may hold
expectations in backquotes about its last algorithm: `flops = 2*n`, or `n <= work <= 3*n` where the data decides.
Accesses, and memory on one processor, are compared with executions, the others with the derivation too. On a grid costs
are those of the longest path, and P has values where its axes are of P processors.
```` ```archline AL301 ```` holds a program that one rule refuses, when it is read, analysed or run.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from archline.algebra.evaluate.exact import evaluate as derived_at
from archline.api.algorithms import Algorithm
from archline.api.modules import loads
from archline.execution.data import generate_arguments
from archline.execution.results import RunCounts
from archline.execution.run import execute
from archline.expr.values import evaluate as value_at
from archline.language import syntax
from archline.language.diagnostics import ArchlineError
from archline.language.parser import parse_expression

BLOCK = re.compile(r"^```archline(?: (AL\d+))?\n(.*?)^```\n(?=(`(?!`)[^\n]*)?)", re.MULTILINE | re.DOTALL)
CLAIM = re.compile(r"`([^`]*)`")
METRIC = r"(flops(?:\.\w+)?|work|span|accesses|memory|(?:node_)?(?:words|messages))"
EXACT = re.compile(rf"^{METRIC} = (.+)$")
BETWEEN = re.compile(rf"^(.+) <= {METRIC} <= (.+)$")
VALUES = (1, 2, 3, 5, 8)
MOST, LEAST = 16, 3


@dataclass(frozen=True)
class Expectation:
    """A metric between two expressions in the sizes, which are the same where it is exact."""

    metric: str
    lower: str
    upper: str


@dataclass(frozen=True)
class Block:
    """A program of a page, the line it starts on, the rule that refuses it, if any, and what is expected."""

    line: int
    text: str
    refused: str | None
    expectations: tuple[Expectation, ...]


def blocks(path: Path) -> Iterator[Block]:
    """The programs of a page."""
    page = path.read_text(encoding="utf-8")
    for found in BLOCK.finditer(page):
        line = page.count("\n", 0, found.start()) + 1
        expected = tuple(expectation(each) for each in CLAIM.findall(found[3] or ""))
        yield Block(line, found[2], found[1], expected)


def expectation(text: str) -> Expectation:
    """Read `work = 1 + n` or `1 <= work <= n`."""
    exact, between = EXACT.match(text), BETWEEN.match(text)
    if exact is not None:
        return Expectation(exact[1], exact[2], exact[2])
    assert between is not None, f"`{text}` under a program is no expectation"
    return Expectation(between[2], between[1], between[3])


def refusal(text: str) -> str | None:
    """The code of the rule that refuses a program when it is read, analysed or run at small sizes."""
    try:
        subject = last(text)
        subject.cost()
        for point in points(subject):
            executed(subject, point)
    except ArchlineError as problem:
        return problem.diagnostics[0].rule.code
    return None


def last(text: str) -> Algorithm:
    """The last algorithm of a program."""
    module = loads(text)
    return module[list(module)[-1]]


@dataclass(frozen=True)
class Point:
    """Values for sizes, indices and symbols of declared costs, and the arguments of a run at them."""

    values: dict[str, int]
    arguments: dict[str, object]


def points(subject: Algorithm) -> list[Point]:
    """Small values with data for them, as many as a test looks at; what the `where` excludes is left out."""
    names = subject.cost().names
    given = {name for axis in subject.node.grid for name in syntax.find_names(axis.extent)}
    wanted = (*names.data_names, *(["P"] if "P" in given else []))
    found: list[Point] = []
    for drawn in itertools.product(VALUES, repeat=len(wanted)):
        values = dict(zip(wanted, drawn, strict=True))
        sizes = {name: value for name, value in values.items() if name not in names.amounts}
        try:
            arguments = generate_arguments(subject.module, subject.node, sizes, seed=sum(drawn))
        except ArchlineError:
            continue
        found.append(Point(values, {**arguments, **{name: values[name] for name in values.keys() - sizes.keys()}}))
    return found[:: max(1, len(found) // MOST)]


def executed(subject: Algorithm, point: Point) -> tuple[RunCounts, dict[str, int]]:
    """What a plain execution at a point counts, and the values of all sizes, also of iterations."""
    run = execute(subject.module, subject.node, point.arguments, compiled=False)
    return run.counts, {**point.values, **run.iterations}


def disagreements(block: Block) -> Iterator[str]:
    """Where the expectations under a program differ from its derivation or from executions."""
    subject = last(block.text)
    costs = subject.cost().costs
    tried = points(subject)
    if len(tried) < LEAST:
        yield f"{len(tried)} points are too few"
    for point in tried:
        counts, values = executed(subject, point)
        for each in block.expectations:
            shown = tuple(value_at(parse_expression(text), values) for text in (each.lower, each.upper))
            kind = each.metric.partition(".")[2]
            count = counts.flops_by_kind.get(kind, 0) if kind else getattr(counts, each.metric)
            if not shown[0] <= count <= shown[1]:
                yield f"{each.metric} is executed {count}, shown {shown} at {values}"
            cost = costs.flops_by_kind.get(kind) if kind else costs.metrics.get(each.metric)
            if cost is None:
                continue
            if cost.lower is None or cost.upper is None:
                yield f"{each.metric} is not derived: {cost.reason}"
                continue
            derived = derived_at(cost.lower, values), derived_at(cost.upper, values)
            if derived != shown:
                yield f"{each.metric} is derived {derived}, shown {shown} at {values}"
