"""Show the progress of runs that take longer than two seconds, and run compiled code with a large stack."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from archline.execution.slots import FUEL, ITERATION_LIMIT, MAX_LATE_ITERATIONS, STEPS

Result = TypeVar("Result")

DELAY = 2.0
_PERIOD = 0.5
_SMALL_STACK = 64 << 20
_LARGE_STACK = 1 << 30


def is_progress_shown(progress: bool | None) -> bool:
    """Test whether to show progress: as `progress` says, or for None if standard error is a terminal."""
    return sys.stderr.isatty() if progress is None else progress


@contextmanager
def show_progress(name: str, state: Any, progress: bool | None) -> Iterator[None]:
    """Show the steps of a run on standard error once it takes longer than two seconds.

    It is shown as `progress` says, or for None if standard error is a terminal.
    """
    if not is_progress_shown(progress):
        yield
        return
    done = threading.Event()
    watcher = threading.Thread(target=_watch_steps, args=(name, state, done), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def _watch_steps(name: str, state: Any, done: threading.Event) -> None:
    started = time.perf_counter()
    wrote = False
    while not done.wait(_PERIOD if wrote else DELAY):
        seconds = time.perf_counter() - started
        sys.stderr.write(f"\rrunning {name}: {seconds:.0f} s, {int(state[STEPS]):,} steps")
        sys.stderr.flush()
        wrote = True
    if wrote:
        sys.stderr.write("\n")


DEFAULT_SECONDS = 10.0
_PATIENCE = 5
"""After so many times its seconds a run stops in any loop without a bound, however few its iterations are."""


def read_time_limit() -> float:
    """Return the seconds that loops without a bound may take by default; 0 for no limit."""
    with suppress(ValueError):
        return max(float(os.environ.get("ARCHLINE_TIME_LIMIT", "")), 0.0)
    return DEFAULT_SECONDS


@contextmanager
def limit_endless_loops(states: Sequence[Any], seconds: float) -> Iterator[None]:
    """Lower the number of iterations of loops without a bound after some seconds (0: never), so that a run ends.

    `states` are those of the processors. Loops of few iterations get more time: an outer loop may be endless.
    """
    if not seconds:
        yield
        return

    def lower(limit: int) -> None:
        for state in states:
            state[ITERATION_LIMIT] = min(limit, state[ITERATION_LIMIT])

    steps = ((seconds, MAX_LATE_ITERATIONS), (_PATIENCE * seconds, 0))
    timers = [threading.Timer(delay, lower, (limit,)) for delay, limit in steps]
    for timer in timers:
        timer.daemon = True
        timer.start()
    try:
        yield
    finally:
        for timer in timers:
            timer.cancel()


def run_in_large_stack(work: Callable[[], Result], state: Any, recursive: bool) -> Result:
    """Run work in a thread, with a large stack if it is `recursive`.

    An interrupt sets the limits in `state` so that the work stops, waits for it, and is raised.
    """
    outcome: list[Result] = []
    failure: list[BaseException] = []

    def target() -> None:
        try:
            outcome.append(work())
        except BaseException as problem:
            failure.append(problem)

    before = threading.stack_size(_LARGE_STACK if recursive else _SMALL_STACK)
    try:
        thread = threading.Thread(target=target)
        thread.start()
    finally:
        threading.stack_size(before)
    while thread.is_alive():
        try:
            thread.join()
        except BaseException:
            state[FUEL] = state[ITERATION_LIMIT] = -1
            thread.join()
            raise
    if failure:
        raise failure[0]
    return outcome[0]
