"""Applies a function to several tasks at a time, in processes of their own."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from itertools import islice
from multiprocessing import Pipe, Process
from multiprocessing.connection import Connection, wait
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")
PATIENCE = 2.0
"""Seconds after which an idle process looks whether its parent is still there."""


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
