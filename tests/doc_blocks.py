"""Programs shown in documentation, and what the text under each says of them.

A fenced block ```` ```archline ```` holds a program that parses and checks. A line under it may hold expectations in
backquotes about its last algorithm: `flops = 2*n`, or `n <= work <= 3*n` where the data decides. Flops, work and span
are held against the derivation and an execution; accesses and memory against an execution. ```` ```archline AL301 ````
holds a program that one rule refuses, when it is read, analysed or run.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from archline.algebra.evaluation import evaluate as derived_at
from archline.api.algorithms import Algorithm, loads
from archline.execution.data import generate
from archline.execution.run import execute
from archline.language.diagnostics import ArchlineError
from archline.language.evaluate import evaluate as value_at
from archline.language.parser import parse_expression

BLOCK = re.compile(r"^```archline(?: (AL\d+))?\n(.*?)^```\n\n?(?=(`(?!`)[^\n]*)?)", re.MULTILINE | re.DOTALL)
CLAIM = re.compile(r"`([^`]*)`")
METRIC = r"(flops(?:\.\w+)?|work|span|accesses|memory)"
EXACT = re.compile(rf"^{METRIC} = (.+)$")
BETWEEN = re.compile(rf"^(.+) <= {METRIC} <= (.+)$")
VALUES = (1, 2, 3, 5, 8)


@dataclass(frozen=True)
class Expectation:
    """A metric between two expressions in the sizes; exactly the one where both are the same text."""

    metric: str
    lower: str
    upper: str

    @property
    def exact(self) -> bool:
        return self.lower == self.upper


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
        for sizes, arguments in points(subject):
            execute(subject.module, subject.node, {**arguments, **symbols(subject, sizes)}, compiled=False)
    except ArchlineError as problem:
        return problem.diagnostics[0].rule.code
    return None


def last(text: str) -> Algorithm:
    """The last algorithm of a program."""
    module = loads(text)
    return module[list(module)[-1]]


def symbols(subject: Algorithm, point: dict[str, int]) -> dict[str, int]:
    """What a point gives beside the sizes of the algorithm: the symbols of declared costs."""
    return {name: value for name, value in point.items() if name in subject.cost().names.amounts}


def points(subject: Algorithm) -> Iterator[tuple[dict[str, int], dict[str, object]]]:
    """Values for sizes, indices and cost symbols, and data for them; what the `where` excludes is left out."""
    names = subject.cost().names.for_a_run
    for values in itertools.product(VALUES, repeat=len(names)):
        point = dict(zip(names, values, strict=True))
        own = {name: value for name, value in point.items() if name in {*subject.sizes, *subject.signature.indices}}
        try:
            arguments = generate(subject.module, subject.node, own, seed=sum(values))
        except ArchlineError:
            continue
        yield point, arguments


def disagreements(block: Block) -> Iterator[str]:
    """Where the expectations under a program differ from its derivation or from executions."""
    subject = last(block.text)
    costs = subject.cost().costs
    tried = list(itertools.islice(points(subject), 40))
    if len(tried) < 3:
        yield f"{len(tried)} points are too few"
    for point, arguments in tried:
        run = execute(subject.module, subject.node, {**arguments, **symbols(subject, point)}, compiled=False)
        for each in block.expectations:
            shown = tuple(value_at(parse_expression(text), point) for text in (each.lower, each.upper))
            kind = each.metric.partition(".")[2]
            count = run.counts.flops_by_kind.get(kind, 0) if kind else getattr(run.counts, each.metric)
            if not shown[0] <= count <= shown[1]:
                yield f"{each.metric} is executed {count}, shown {shown} at {point}"
            cost = costs.flops_by_kind.get(kind) if kind else costs.metrics.get(each.metric)
            if cost is None:
                continue
            if cost.lower is None or cost.upper is None:
                yield f"{each.metric} is not derived: {cost.reason}"
            elif (derived := (derived_at(cost.lower, point), derived_at(cost.upper, point))) != shown:
                yield f"{each.metric} is derived {derived}, shown {shown} at {point}"
