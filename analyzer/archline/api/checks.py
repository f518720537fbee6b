"""Check targets in parallel processes, and read outcomes from the result cache if they are there."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from archline.algebra.effort import set_time_limit
from archline.api import processes
from archline.costs.rules import DEFECT
from archline.costs.sizes import diagnose_unknown_in_fact
from archline.expr.text import format_fact
from archline.expr.tree import Source
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError, Diagnostic, note_defects
from archline.language.iterations import list_iterations
from archline.language.parser import collect_sizes, parse_facts, parse_headers
from archline.language.source import is_path, read_source
from archline.language.suppressions import Suppression, list_suppressions
from archline.records import record
from archline.report.findings import CheckFinding, list_unset_and_unread
from archline.report.json import make_iterations_document
from archline.report.view import (
    CheckedAlgorithm,
    CheckView,
    Contract,
    PlacedEdit,
    RelatedPlace,
    SourcePlace,
    StoppedRun,
    make_contract,
    make_path_relative,
)

if TYPE_CHECKING:
    from archline.api.algorithms import Algorithm
    from archline.api.configuration import Configuration
    from archline.api.modules import Module

Outcome = CheckView | tuple[Diagnostic, ...]
"""The verdicts on the claims of a target, or the diagnostics why it cannot be checked."""


@record
class Task:
    """A target to check under further facts `where`, with or without certificates of growth claims that hold.

    Only facts about sizes of an algorithm apply to it. `source` is the program itself if it was read from standard
    input; its outcome is not cached. Each algorithm and each claim of the file takes at most `seconds` of processor
    time; 0 means unlimited.
    """

    target: str
    where: str | None = None
    certificates: bool = False
    source: Source | None = None
    seconds: int = 0

    @property
    def cache_key(self) -> object:
        """The key of the outcome in the result cache."""
        return "check", self.target, is_path(self.target.partition("::")[0]), self.where, self.certificates


def check_tasks(tasks: Sequence[Task], jobs: int | None = None, *, cached: bool = True) -> list[Outcome]:
    """Check the targets of tasks by `jobs` processes (None: one per processor), and return the outcomes in order.

    With `cached` outcomes are read from the user's cache if it has them, and written to it.
    """

    def make_cache_key(task: Task) -> object:
        return task.cache_key if cached and task.source is None else None

    return processes.find_or_compute(make_cache_key, _check_task, tasks, _read_view, jobs)


def require_sizes(tasks: Sequence[Task], views: Iterable[CheckView]) -> None:
    """Raise ArchlineError (AL201) if no algorithm and no claim of the targets has the sizes of a further fact."""
    assumed = [algorithm.assumptions for view in views for algorithm in view.algorithms]
    assumed += [claim.assumptions for view in views for claim in view.claims]
    assumptions, facts = set(chain(*assumed)), parse_facts(tasks[0].where, "where") if tasks[0].where else ()
    unused = tuple(fact for fact in facts if format_fact(fact) not in assumptions)
    for module in (_load_module(task)[0] for task in tasks):
        for name in module:
            module[name].assuming(unused)


def require_sizes_of_project(project: Configuration, targets: Iterable[str]) -> None:
    """Raise ArchlineError (AL401) if no program of a project and no target has a size that the project's facts name."""
    facts = parse_facts(project.facts, "where") if project.facts else ()
    # Z and L are meant for claims about `io` of any program; P and K only for programs on grids.
    spans, names = {name: fact.span for fact in facts for name in s.find_names(fact) - {"Z", "L"}}, set[str]()
    for path in chain(map(Path, targets), project.programs):
        if spans.keys() <= names:
            return
        try:
            algorithms = parse_headers(read_source(path))
        except ArchlineError:
            # The program may have the missing size.
            return
        names |= collect_sizes(algorithms)
    problems = [diagnose_unknown_in_fact(name, names, span) for name, span in spans.items() if name not in names]
    if problems:
        raise ArchlineError(problems)


def _check_task(task: Task) -> CheckView:
    """Check the target of a task; errors of single algorithms are part of the result.

    Raises ArchlineError if there are only errors.
    """
    return check_module(*_load_module(task), task)


def check_module(module: Module, name: str | None, task: Task) -> CheckView:
    """Check the algorithm `name` of a module as a task says, or the whole module; errors of algorithms are kept.

    Raises ArchlineError if there are only errors.
    """
    names = list(module) if name is None else [name]
    subjects = [module[name_of_algorithm].assuming(task.where, fitting=True) for name_of_algorithm in names]
    checked, defects, errors = list[CheckedAlgorithm](), list[str](), list[Diagnostic]()
    for subject in subjects:
        with note_defects(defects, f"`{subject.name}`"), _collect_errors(errors):
            checked.append(_check_algorithm(subject, task))
    program = module.module.program
    ignored = list_suppressions(program, set(names), whole=name is None)
    decided: tuple[Contract, ...] = ()
    if name is None:
        with _collect_errors(errors):
            decided = _decide_claims(module, task, defects)
    path = make_path_relative(program.source.path)
    errors += [Diagnostic(DEFECT, defect, path=path) for defect in defects]
    if errors and not checked and not decided:
        raise ArchlineError(errors)
    return CheckView(task.target, tuple(checked), decided, path, tuple(ignored), tuple(errors))


@contextmanager
def _collect_errors(errors: list[Diagnostic]) -> Iterator[None]:
    """Add the diagnostics of an ArchlineError in the block to `errors`, so that other algorithms are still checked."""
    try:
        yield
    except ArchlineError as problem:
        errors.extend(problem.diagnostics)


def _load_module(task: Task) -> tuple[Module, str | None]:
    """Load the module of a task, and return it with the name of the algorithm that the target names, or None."""
    from archline.api.modules import Module, loads
    from archline.language import syntax_rules
    from archline.language.diagnostics import error
    from archline.language.loader import load_target

    if task.source is not None:
        return loads(task.source.text, task.source.path), None
    if os.path.isdir(task.target):
        raise error(syntax_rules.DIRECTORY, f"the folder `{task.target}` has no `.algo` file", path=task.target)
    module, node = load_target(task.target)
    return Module(module), None if node is None else node.name


def _decide_claims(module: Module, task: Task, defects: list[str]) -> tuple[Contract, ...]:
    """Decide the claims of a file; the modules for that are imported only if there are claims."""
    if not any(isinstance(item, s.Claim) for item in module.module.program.items):
        return ()
    from archline.api.claims import decide_file_claims

    return decide_file_claims(module.module, task.where, defects, certificates=task.certificates, seconds=task.seconds)


def _check_algorithm(subject: Algorithm, task: Task) -> CheckedAlgorithm:
    """Decide the claims of an algorithm; if one holds, search for a run that stops at a fault of the program.

    Raises ArchlineError for certain failures, as `cost` does, on grids of up to `LARGEST_GRID` processors.
    """
    from archline.costs.trials import LARGEST_GRID, find_stopping_run

    set_time_limit(task.seconds)
    messages = subject.messages(LARGEST_GRID)
    if messages is not None and messages.failure is not None:
        raise ArchlineError([messages.failure])
    report = subject.report()
    contracts = tuple(make_contract(verdict, task.certificates) for verdict in report.ensures)
    holds = any(claim.outcome == "holds" for claim in contracts)
    stop = find_stopping_run(*subject.executed, report.without_io["work"]) if holds else None
    stopped = None if stop is None else StoppedRun.of(*stop)
    assumptions = (*map(format_fact, subject.further_facts), *report.needed)
    warnings = list_unset_and_unread(*subject.executed)
    counted = tuple(map(make_iterations_document, list_iterations(*subject.executed)))
    return CheckedAlgorithm(
        subject.name, contracts, stopped, messages.text if messages else "", assumptions, warnings, counted
    )


def _read_view(data: Any) -> CheckView:
    """Read a view from JSON. Raises LookupError, TypeError or AttributeError for other data."""
    ignored = (
        Suppression(**{**suppression, "codes": tuple(suppression["codes"]), "claims": tuple(suppression["claims"])})
        for suppression in data["suppressions"]
    )
    return CheckView(
        data["target"],
        tuple(map(_read_algorithm, data["algorithms"])),
        tuple(map(_read_contract, data["claims"])),
        data["path"],
        tuple(ignored),
    )


def _read_algorithm(data: Any) -> CheckedAlgorithm:
    stop = data["stop"]
    stopped = None if stop is None else StoppedRun(**{**stop, "place": SourcePlace(**stop["place"])})
    warnings = tuple(map(_read_finding, data["warnings"]))
    contracts, assumptions = tuple(map(_read_contract, data["contracts"])), tuple(data["assumptions"])
    counted = tuple(data["iterations"])
    return CheckedAlgorithm(data["name"], contracts, stopped, data["messages"], assumptions, warnings, counted)


def _read_finding(data: Any) -> CheckFinding:
    edits = tuple(PlacedEdit(SourcePlace(**edit["place"]), edit["text"]) for edit in data["edits"])
    related = tuple(RelatedPlace(SourcePlace(**entry["place"]), entry["message"]) for entry in data["related"])
    return CheckFinding(**{**data, "place": SourcePlace(**data["place"]), "edits": edits, "related": related})


def _read_contract(data: Any) -> Contract:
    tuples = {name: tuple(data[name]) for name in ("certificates", "assumptions")}
    return Contract(**{**data, **tuples, "place": SourcePlace(**data["place"])})
