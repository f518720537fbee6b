"""Apply a function to tasks in parallel processes, and read results from the result cache if they are there."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import asdict, is_dataclass
from functools import partial
from multiprocessing import parent_process
from threading import Thread
from typing import Any, TypeVar

from archline.algebra.effort import set_time_limit
from archline.api import result_cache
from archline.costs.rules import DEFECT
from archline.language.diagnostics import ArchlineError, Diagnostic, describe_defect
from archline.language.source import record_reads
from archline.lazy_modules import load_module

T = TypeVar("T")
R = TypeVar("R")
Refused = tuple[Diagnostic, ...]
"""The diagnostics of a task that raised an ArchlineError."""


def kept(
    asked: Callable[[T], object],
    work: Callable[[T], R],
    tasks: Sequence[T],
    read: Callable[[Any], R],
    jobs: int | None = None,
) -> list[R | Refused]:
    """Return the result of `work` for each task, in order, or the diagnostics of an ArchlineError that it raises.

    Results, lists or records, are looked up in the user's cache under the key `asked(task)`, and written there; those
    with key None are not cached. `read` makes a result of cached JSON data. At most `jobs` processes are used.
    """
    keys = {task: asked(task) for task in tasks}
    outcomes: dict[T, R | Refused] = {}
    for task, key in keys.items():
        with suppress(LookupError, TypeError, AttributeError):
            if key is not None and (entry := result_cache.find(key)) is not None:
                outcomes[task] = read(entry)
    left = [(task, key) for task, key in keys.items() if task not in outcomes]
    answers = results(partial(_worked, work), left, jobs)
    outcomes |= {task: answer for (task, _), answer in zip(left, answers, strict=True)}
    return [outcomes[task] for task in tasks]


def _worked(work: Callable[[T], R], asked: tuple[T, object]) -> R | Refused:
    """Compute the result of a task, and store it under its key; return diagnostics for an exception."""
    task, key = asked
    try:
        with record_reads() as read:
            result = work(task)
        if key is not None and not getattr(result, "errors", ()):
            result_cache.store(key, read, _data(result))
        return result
    except ArchlineError as problem:
        return tuple(problem.diagnostics)
    except Exception as problem:
        return (Diagnostic(DEFECT, describe_defect(problem)),)
    finally:
        set_time_limit(0)


def _data(value: Any) -> Any:
    if isinstance(value, list):
        return [_data(item) for item in value]
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


def results(work: Callable[[T], R], tasks: Sequence[T], jobs: int | None = None) -> list[R]:
    """Return the result of `work` for each task, in order, by `jobs` processes (None: one per processor).

    Each task is given to the next idle process. All processes end if this one does.
    """
    jobs = min(jobs or _processors(), len(tasks))
    if jobs <= 1:
        return [work(task) for task in tasks]
    # Imported before processes are forked, which then need not import it again.
    load_module("archline.api.algorithms")

    pool = ProcessPoolExecutor(jobs, initializer=_end_with_parent)
    try:
        return list(pool.map(work, tasks))
    except BrokenProcessPool:
        raise RuntimeError("a process ended without an answer") from None
    finally:
        for process in list((pool._processes or {}).values()):
            process.terminate()
        pool.shutdown(cancel_futures=True)


def _processors() -> int:
    """Count the processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _end_with_parent() -> None:
    """Let this process end at an interrupt, and when its parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    Thread(target=_wait, daemon=True).start()


def _wait() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)
