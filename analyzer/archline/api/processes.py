"""Applies a function to several tasks at a time, in processes of their own; what the cache has is not done again."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from multiprocessing import Pipe, Process
from multiprocessing.connection import Connection, wait
from typing import Any, TypeVar

from archline.algebra.effort import allow
from archline.api import result_cache
from archline.language.diagnostics import ArchlineError, Diagnostic
from archline.language.source import recorded

T = TypeVar("T")
R = TypeVar("R")
Refused = tuple[Diagnostic, ...]
PATIENCE = 2.0
"""Seconds after which an idle process looks whether its parent is still there."""


def kept(
    name: str,
    work: Callable[[T], R],
    tasks: Sequence[T],
    codec: tuple[Callable[[R], object], Callable[[Any], R]],
    jobs: int | None = None,
    cached: bool = True,
) -> list[R | Refused]:
    """What a function gives for each task, in order, or what is wrong with it where it raises an ArchlineError.

    Where it is `cached`, results are read from the user's cache by the name and the task, and written there as what the
    codec makes of them; the codec's other half reads that back.
    """
    known: dict[T, R | Refused] = {}
    for each in dict.fromkeys(tasks if cached else ()):
        with suppress(LookupError, TypeError, AttributeError):
            if (found := result_cache.find((name, each))) is not None:
                known[each] = codec[1](found)
    left = [each for each in dict.fromkeys(tasks) if each not in known]
    known |= zip(left, results(partial(_worked, name, work, codec[0] if cached else None), left, jobs), strict=True)
    return [known[each] for each in tasks]


def _worked(name: str, work: Callable[[T], R], data: Callable[[R], object] | None, task: T) -> R | Refused:
    try:
        with recorded() as read:
            found = work(task)
        if data is not None:
            result_cache.store((name, task), read, data(found))
        return found
    except ArchlineError as problem:
        return tuple(problem.diagnostics)
    finally:
        allow(0)


def results(work: Callable[[T], R], tasks: Sequence[T], jobs: int | None = None) -> list[R]:
    """What a function gives for each task, in order, by so many processes (None: one a processor).

    Each task is given to the next process that is idle; whatever ends this one early ends all.
    """
    jobs = min(jobs or _processors(), len(tasks))
    if jobs <= 1:
        return [work(task) for task in tasks]
    # Processes that are forked need not import it each.
    from archline.api import trials  # noqa: F401

    found: dict[int, R] = {}
    waiting, busy = iter(enumerate(tasks)), dict[Connection, tuple[int, T]]()
    processes: list[Process] = []
    try:
        for number, task in islice(waiting, jobs):
            ours, theirs = Pipe()
            processes.append(Process(target=_serve, args=(work, theirs, os.getpid()), daemon=True))
            processes[-1].start()
            theirs.close()
            ours.send(task)
            busy[ours] = number, task
        while busy:
            for each in wait(list(busy)):
                assert isinstance(each, Connection)
                number, task = busy.pop(each)
                found[number] = _answer(each, task)
                following = next(waiting, None)
                if following is not None:
                    each.send(following[1])
                    busy[each] = following
    finally:
        for process in processes:
            if process.pid is not None:
                process.terminate()
                process.join()
    return [found[number] for number in range(len(tasks))]


def _processors() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _answer(connection: Connection, task: T) -> R:  # type: ignore[type-var]
    """What a process found. Raises its exception, and RuntimeError where it ended without an answer."""
    try:
        answer = connection.recv()
    except (EOFError, ConnectionError):
        raise RuntimeError(f"the process that worked on {task!s:.120} ended without an answer") from None
    if isinstance(answer, Exception):
        raise answer
    found: R = answer
    return found


def _serve(work: Callable[[T], R], connection: Connection, parent: int) -> None:
    """Answer one task after the other for as long as the parent lives."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    while True:
        while not connection.poll(PATIENCE):
            if os.getppid() != parent:
                return
        try:
            answer: R | Exception = work(connection.recv())
        except Exception as problem:
            answer = problem
        connection.send(answer)
