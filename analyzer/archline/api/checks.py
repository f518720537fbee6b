"""Checks targets: several at a time, in processes of their own; what the cache has is not decided again."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import active_children
from typing import TYPE_CHECKING

from archline.api import check_cache
from archline.api.check_cache import Task
from archline.language.diagnostics import ArchlineError, Diagnostic
from archline.language.loader import Read
from archline.report.view import CheckView, Group, claims, contract

if TYPE_CHECKING:
    from archline.api.algorithms import Algorithm

Outcome = CheckView | tuple[Diagnostic, ...]
"""What a target ensures, or why it cannot be checked."""


def outcomes(tasks: Sequence[Task], jobs: int | None = None, *, cached: bool = True) -> list[Outcome]:
    """The outcome of each task, in order, by so many processes (None: one a processor).

    `cached`: outcomes are read from the user's cache where it has them, and written there.
    """
    known = {task: view for task in tasks if (view := check_cache.find(task)) is not None} if cached else {}
    left = [task for task in dict.fromkeys(tasks) if task not in known]
    jobs = min(jobs or _processors(), len(left))
    found = _by_processes(left, jobs, cached) if jobs > 1 else [_outcome(task, cached) for task in left]
    every: dict[Task, Outcome] = {**known, **dict(zip(left, found, strict=True))}
    return [every[task] for task in tasks]


def _processors() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _by_processes(tasks: Sequence[Task], jobs: int, cached: bool) -> list[Outcome]:
    """The outcomes, shared out among processes; an interrupt, a defect or a crash ends them all."""
    # Processes that are forked need not import it each.
    from archline.api import trials  # noqa: F401

    others = active_children()
    pool = ProcessPoolExecutor(jobs, initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_DFL))
    try:
        futures = [pool.submit(_outcome, task, cached) for task in tasks]
        return [future.result() for future in futures]
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in active_children():
            if process not in others:
                process.terminate()
        raise
    finally:
        pool.shutdown()


def _outcome(task: Task, cached: bool) -> Outcome:
    read: Read = {}
    try:
        view = _decided(task, read)
    except ArchlineError as problem:
        return tuple(problem.diagnostics)
    if cached:
        check_cache.store(task, read, view)
    return view


def _decided(task: Task, read: Read) -> CheckView:
    """What a target ensures; adds to `read` what files were looked for. Raises ArchlineError."""
    subjects = [each.assuming(task.where) for each in _algorithms(task, read)]
    found = tuple(_group(each, task.certificates) for each in subjects)
    whole = "::" not in task.target
    return CheckView(task.target, found, claims(subjects[0].module.program) if whole and subjects else ())


def _algorithms(task: Task, read: Read) -> Sequence[Algorithm]:
    from archline.api.algorithms import algorithms, loads
    from archline.language import input_rules
    from archline.language.diagnostics import error

    if task.source is not None:
        module = loads(task.source.text, task.source.path)
        return [module[name] for name in module]
    if os.path.isdir(task.target):
        raise error(input_rules.DIRECTORY, f"the folder `{task.target}` has no `.algo` file", path=task.target)
    return algorithms(task.target, read)


def _group(subject: Algorithm, certificates: bool) -> Group:
    """The contracts of an algorithm; where one holds, a run that stops is looked for."""
    from archline.api.trials import stop

    contracts = tuple(contract(each, certificates) for each in subject.cost().ensures)
    holds = any(each.outcome == "holds" for each in contracts)
    return Group(subject.name, contracts, stop(subject) if holds else None)
