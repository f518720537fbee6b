"""Questions about the costs of an algorithm are answered here, in a process of its own, by records of plain values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from multiprocessing.connection import Connection

from archline.algebra.effort import set_time_limit
from archline.algebra.polynomial import ZERO
from archline.analysis.cost import Cost, Costs
from archline.api.checks import Task, check_module
from archline.api.costs import CostReport
from archline.api.modules import Module, loads
from archline.language.diagnostics import ArchlineError, describe_defect
from archline.records import field, record, replace
from archline.report.findings import CheckFinding, CheckReport
from archline.report.view import make_path_relative

SECONDS = 20
"""The processor time after which a derivation leaves out optional refinements."""


@record
class Question:
    """A question about an algorithm of a text: its `costs`, those of its `lines`, or the outcomes of its `claims`.

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
    """The costs of an algorithm, those of its lines, or how many of its claims have each outcome, with its findings.

    Lines are counted from that of the header, which is 0, also those of findings. A `problem` explains why costs are
    missing; a `defect` is an internal error.
    """

    costs: Mapping[str, DerivedCost] = field(default_factory=dict)
    lines: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    outcomes: Mapping[str, int] = field(default_factory=dict)
    findings: tuple[CheckFinding, ...] = ()
    problem: str = ""
    defect: str = ""


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
        if question.subject == "claims":
            return _check_claims(module, question)
        report = module[question.algorithm].cost()
        match question.subject:
            case "lines":
                return Answer(lines=_derive_lines(report))
            case _:
                return Answer({cost.metric: _describe_cost(report, cost) for cost in report.without_io})
    except ArchlineError as problem:
        return Answer(problem=problem.diagnostics[0].message)
    except Exception as problem:
        return Answer(defect=describe_defect(problem))


def _check_claims(module: Module, question: Question) -> Answer:
    """Return the outcomes of the claims of an algorithm, and the findings of `archline check` in its lines."""
    outcomes: Counter[str] = Counter()
    try:
        view = check_module(module, question.algorithm, Task(question.path, seconds=SECONDS))
        outcomes.update(contract.outcome for algorithm in view.algorithms for contract in algorithm.contracts)
        report = CheckReport((view,), view.errors)
    except ArchlineError as problem:
        report = CheckReport((), problem.diagnostics)
    first, last = (span := module[question.algorithm].node.span).line, span.end_line
    path = make_path_relative(question.path)
    findings = tuple(
        replace(finding, place=replace(place, line=place.line - first, end_line=place.end_line - first))
        for finding in report.findings
        if (place := finding.place).path == path and first <= place.line <= last
    )
    reason = "" if outcomes or not report.problems else report.problems[0].message
    return Answer(outcomes=dict(outcomes), findings=findings, problem=reason)


def _describe_cost(report: CostReport, cost: Cost) -> DerivedCost:
    return DerivedCost(_format_sum(report.without_io, [cost]), report.growth(cost), cost.status == "exact")


def _derive_lines(report: CostReport) -> dict[int, dict[str, str]]:
    """Return the executions, flops and work of each line in one call."""
    first = report.node.span.line
    return {
        line - first: {metric: _format_sum(report.without_io, costs) for metric, costs in by_metric.items()}
        for line, by_metric in report.lines.items()
    }


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
