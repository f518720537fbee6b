"""Applies a function to several tasks at a time, in processes of their own; what the cache has is not done again."""

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

T = TypeVar("T")
R = TypeVar("R")
Refused = tuple[Diagnostic, ...]
"""What is wrong with what a task is about."""


def kept(
    asked: Callable[[T], object],
    work: Callable[[T], R],
    tasks: Sequence[T],
    read: Callable[[Any], R],
    jobs: int | None = None,
) -> list[R | Refused]:
    """What a function gives for each task, in order, or what is wrong with it where it raises an ArchlineError.

    Results, lists or records, are looked for in the user's cache by what is `asked`, and written there; None is not.
    What is there is `read` from JSON.
    """
    keys = {each: asked(each) for each in tasks}
    known: dict[T, R | Refused] = {}
    for task, key in keys.items():
        with suppress(LookupError, TypeError, AttributeError):
            if key is not None and (found := result_cache.find(key)) is not None:
                known[task] = read(found)
    left = [(task, key) for task, key in keys.items() if task not in known]
    answers = results(partial(_worked, work), left, jobs)
    known |= {task: answer for (task, _), answer in zip(left, answers, strict=True)}
    return [known[each] for each in tasks]


def _worked(work: Callable[[T], R], asked: tuple[T, object]) -> R | Refused:
    task, key = asked
    try:
        with record_reads() as read:
            found = work(task)
        if key is not None and not getattr(found, "errors", ()):
            result_cache.store(key, read, _data(found))
        return found
    except ArchlineError as problem:
        return tuple(problem.diagnostics)
    except Exception as problem:
        return (Diagnostic(DEFECT, describe_defect(problem)),)
    finally:
        set_time_limit(0)


def _data(found: Any) -> Any:
    if isinstance(found, list):
        return [_data(each) for each in found]
    return asdict(found) if is_dataclass(found) and not isinstance(found, type) else found


def results(work: Callable[[T], R], tasks: Sequence[T], jobs: int | None = None) -> list[R]:
    """What a function gives for each task, in order, by so many processes (None: one a processor).

    Each task is given to the next process that is idle; whatever ends this one early ends all.
    """
    jobs = min(jobs or _processors(), len(tasks))
    if jobs <= 1:
        return [work(task) for task in tasks]
    # Processes that are forked need not import it each.
    from archline.api import algorithms  # noqa: F401

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
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _end_with_parent() -> None:
    """Let this process end at an interrupt, and whatever ends its parent."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    Thread(target=_wait, daemon=True).start()


def _wait() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)
