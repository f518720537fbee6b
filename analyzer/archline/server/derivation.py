"""Questions about the costs of an algorithm are answered here, in a process of its own, by records of plain values."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from multiprocessing.connection import Connection

from archline.algebra.effort import set_time_limit
from archline.algebra.polynomial import ZERO
from archline.analysis.cost import Cost, Costs
from archline.api.modules import Module, loads
from archline.language.diagnostics import ArchlineError, describe_defect
from archline.records import record

SECONDS = 20
"""The processor time after which a derivation leaves out optional refinements."""


@record
class Question:
    """A question about an algorithm of a text: its `costs`, or the outcomes of its `claims`.

    The `key` is equal for questions that have the same answer.
    """

    path: str
    text: str
    overlay: tuple[tuple[str, str], ...]
    version: int
    algorithm: str
    subject: str
    key: int


@record
class DerivedCost:
    """A cost as text, its growth if known, and whether it is exact."""

    text: str
    growth: str | None
    exact: bool


@record
class Answer:
    """The costs of an algorithm, those of its lines, and how many of its claims have each outcome.

    Lines are counted from that of the header, which is 0. A `problem` explains why costs are missing; a `defect` is an
    internal error.
    """

    costs: Mapping[str, DerivedCost]
    lines: Mapping[int, Mapping[str, str]]
    outcomes: Mapping[str, int]
    problem: str = ""
    defect: str = ""


NO_ANSWER = Answer({}, {}, {})


def answer_questions(questions: Connection) -> None:
    """Answer the questions that a connection delivers, until it is closed."""
    import_module("archline.server.preload")
    try:
        while True:
            questions.send(derive_answer(questions.recv()))
    except (EOFError, OSError):
        return


def derive_answer(question: Question) -> Answer:
    """Return the answer to a question; errors in the program and defects are parts of it."""
    set_time_limit(SECONDS)
    try:
        module = _load_module(question.path, question.text, question.overlay)
        report = module[question.algorithm].cost()
        if question.subject == "claims":
            outcomes = [verdict.outcome for verdict in report.ensures]
            return Answer({}, {}, {outcome: outcomes.count(outcome) for outcome in dict.fromkeys(outcomes)})
        costs = report.without_io
        derived = {
            cost.metric: DerivedCost(_format_sum(costs, [cost]), report.growth(cost), cost.status == "exact")
            for cost in costs
        }
        first = report.node.span.line
        by_line: dict[int, dict[str, list[Cost]]] = defaultdict(lambda: defaultdict(list))
        for place, of_statement in report.statements.items():
            for metric, cost in of_statement.items():
                by_line[place.line - first][metric].append(cost)
        lines = {
            line: {metric: _format_sum(costs, parts) for metric, parts in of_line.items()}
            for line, of_line in by_line.items()
        }
        return Answer(derived, lines, {})
    except ArchlineError as problem:
        return Answer({}, {}, {}, problem.diagnostics[0].message)
    except Exception as problem:
        return Answer({}, {}, {}, defect=describe_defect(problem))


@lru_cache(maxsize=4)
def _load_module(path: str, text: str, overlay: tuple[tuple[str, str], ...]) -> Module:
    return loads(text, path=path, overlay=dict(overlay))


def _format_sum(costs: Costs, parts: Sequence[Cost]) -> str:
    """Return the sum of costs of one metric as text, which is unknown if one is."""
    if any(part.lower is None or part.upper is None for part in parts):
        return "unknown"
    lower = sum((part.lower for part in parts if part.lower is not None), ZERO)
    upper = sum((part.upper for part in parts if part.upper is not None), ZERO)
    return " to ".join(costs.text(bound) for bound in dict.fromkeys((lower, upper)))
