"""Processors of a grid are ranks of MPI here: a process each, real messages, the results and counts of `simulated`.

A message carries its words, its tag and the path of its sender; the receiver keeps messages that arrive before it asks
for them. Ranks meet when all have ended, and when one has stopped or has waited for long: each shares its state and its
counts of messages sent and taken with all, so that all conclude the same: the run is over, failed, starts again, or
continues. Waiting is polling with short sleeps, so that many ranks share a core.
"""

from __future__ import annotations

import pickle
import time
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from archline.execution import run_rules as rules
from archline.execution.distributed import (
    PreparedGrid,
    ProcessorResult,
    collect_outcome,
    make_grid_result,
    plan_restart,
    prepare_processors,
    run_in_stack,
)
from archline.execution.engine import report
from archline.execution.grid import Step, Tag, Words, fetch_words, put_words
from archline.execution.launch import RunPlan
from archline.execution.memory import Room
from archline.execution.results import Run
from archline.execution.simulated import (
    Letter,
    Origin,
    Running,
    Stop,
    begin_step,
    end_step,
    find_stop,
    make_deadlock_error,
    make_lost_error,
)
from archline.execution.slots import MEM_INTS, SITE
from archline.execution.stops import StoppedError
from archline.language.diagnostics import ArchlineError, error, format_count
from archline.records import record

SHORTEST, LONGEST = 1e-5, 2e-3
"""Seconds between two polls for a message: at first, and after many without one."""


# Messages
State = Step | Stop | None
"""The state of a rank: the step whose message it waits for, the reason of its stop, or None at its end."""


@record
class Status:
    """A rank's state; the numbers of letters it has sent and taken; unused letters: (sender, origin)."""

    state: State
    sent: int
    taken: int
    unused: tuple[tuple[int, Origin], ...]


class _MetError(Exception):
    """The ranks met while one waits, and do not continue."""

    def __init__(self, statuses: Sequence[Status]) -> None:
        super().__init__()
        self.statuses = statuses


Key = tuple[int, Tag | int | str]
"""The key of a message of MPI: its attempt, and the tag of a letter, the number of a meeting, or a name at the end."""


@dataclass(eq=False)
class Mail:
    """The messages of a process, over all of its runs.

    Attempts, and the meetings of each, are numbered alike on all ranks; `called` are the meetings that another rank
    calls.
    """

    mpi: Any
    comm: Any
    sent: int = 0
    taken: int = 0
    attempt: int = 0
    meeting: int = 0
    called: set[Key] = field(default_factory=set)
    arrived: dict[tuple[Key, int], deque[Any]] = field(default_factory=dict)
    _leaving: list[Any] = field(default_factory=list)

    @property
    def rank(self) -> int:
        return int(self.comm.rank)

    @property
    def size(self) -> int:
        return int(self.comm.size)

    def begin_attempt(self) -> None:
        """Forget the letters of earlier attempts."""
        self.attempt += 1
        self.meeting = 1
        self.arrived = {key: letters for key, letters in self.arrived.items() if key[0][0] >= self.attempt}

    def post(self, tag: Tag, receiver: int, letter: Letter) -> None:
        """Send a letter without waiting; one to oneself stays here."""
        key = (self.attempt, tag)
        if receiver == self.rank:
            self._store_arrival(key, receiver, letter)
        else:
            self.sent += 1
            self.send(receiver, key, letter)

    def send(self, receiver: int, key: Key, thing: object) -> None:
        """Send without waiting; the message is kept until it has left."""
        self._leaving = [request for request in self._leaving if not request.Test()]
        self._leaving.append(self.comm.isend((key, thing), receiver))

    def share(self, key: Key, thing: object) -> None:
        for rank in range(self.size):
            if rank != self.rank:
                self.send(rank, key, thing)

    def _store_arrival(self, key: Key, sender: int, thing: object) -> None:
        self.arrived.setdefault((key, sender), deque()).append(thing)

    def take(self) -> bool:
        """Take in one message that has arrived; return whether there was one."""
        status = self.mpi.Status()
        message = self.comm.improbe(status=status)
        if message is None:
            return False
        key, thing = message.recv()
        self.taken += isinstance(key[1], tuple)
        if isinstance(thing, Status) and thing.state is not None:
            self.called.add(key)
        if key[0] >= self.attempt:
            self._store_arrival(key, int(status.Get_source()), thing)
        return True

    def wait(self, ready: Callable[[], Any], seconds: float = float("inf")) -> Any:
        """Wait until `ready` finds something, and return that; None after `seconds`."""
        delay, since = SHORTEST, time.monotonic()
        while (result := ready()) is None:
            if self.take():
                delay = SHORTEST
                continue
            if time.monotonic() - since > seconds:
                return None
            time.sleep(delay)
            delay = min(1.5 * delay, LONGEST)
        return result

    def find(self, key: Key, sender: int) -> Any:
        """Return the first message of a key from a rank, if it has arrived."""
        things = self.arrived.get((key, sender))
        if things is None:
            return None
        thing = things.popleft()
        if not things:
            del self.arrived[key, sender]
        return thing

    def await_all(self, key: Key, own: Any) -> list[Any]:
        """Return the things that all ranks share, with this rank's own."""
        return [own if rank == self.rank else self.wait(partial(self.find, key, rank)) for rank in range(self.size)]

    def meet(self, state: State) -> list[Status] | None:
        """Share a state, which calls running ranks unless it is the end; return all states if final, else None.

        States are final if no letter was under way: messages from a rank arrive in order, so all that it has sent has
        been taken when its status is. So all processors have gone to their last possible step, and failures are the
        same every time. States are also final if a rank wants to start again.
        """
        unused = [
            (sender, letter[2])
            for ((attempt, tag), sender), letters in self.arrived.items()
            for letter in letters
            if attempt == self.attempt and isinstance(tag, tuple)
        ]
        key = (self.attempt, self.meeting)
        self.meeting += 1
        status = Status(state, self.sent, self.taken, tuple(unused))
        self.share(key, status)
        statuses: list[Status] = self.await_all(key, status)
        anew = any(isinstance(shared.state, int) for shared in statuses)
        settled = sum(shared.sent for shared in statuses) == sum(shared.taken for shared in statuses)
        return statuses if anew or settled else None


def make_sendable(problem: Exception) -> Exception:
    """Return the exception, or its text if it cannot be pickled."""
    try:
        pickle.loads(pickle.dumps(problem))
    except Exception:
        return RuntimeError(f"{type(problem).__name__}: {problem}")
    return problem


@cache
def open_mail() -> Mail:
    """Return the mail of this process; starts MPI. Raises ArchlineError (AL536) without MPI."""
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as problem:
        hint = "pip install 'archline[mpi]'"
        raise error(rules.NO_MPI, f"the engine `mpi` needs the extra mpi: {problem}", hint=hint) from None
    return Mail(MPI, MPI.COMM_WORLD.Dup())


# Runs
@record(eq=False)
class EndedProcessor:
    """A processor that ended: its result, the elements of the global arrays that it read, and those it wrote."""

    processor: ProcessorResult
    read: NDArray[np.int64]
    written: NDArray[np.int64]
    sites: NDArray[np.int64]
    words: Any
    seconds: float


def make_rank_attempt(
    shape: tuple[int, ...], timeout: float
) -> Callable[[RunPlan, Room | None, int | None], Run | Room | None]:
    """Return a function that attempts a run on the ranks of MPI; all return the result that rank 0 makes.

    After `timeout` seconds of waiting a rank calls the rest to see whether all wait. Raises ArchlineError (AL536,
    AL537) without MPI, or if the numbers of ranks and processors differ.
    """
    here = open_mail()
    count = int(np.prod(shape))
    if here.size != count:
        message = f"the grid has {format_count(count, 'processor')}, and MPI {format_count(here.size, 'rank')}"
        raise error(rules.RANKS, message, hint=f"start it by `mpiexec -n {count}`")

    def attempt(plan: RunPlan, room: Room | None, fuel: int | None) -> Run | Room | None:
        here.begin_attempt()
        ready: PreparedGrid | None = None
        outcome: EndedProcessor | Stop
        try:
            ready = prepare_processors(plan, shape, room, fuel, (here.rank,))
            outcome = _run(ready, here, plan, timeout)
        except _MetError as met:
            return _resolve_failure(met.statuses, ready, room)
        except Exception as problem:
            outcome = make_sendable(problem)
        statuses = None
        while statuses is None:
            statuses = here.meet(None if isinstance(outcome, EndedProcessor) else outcome)
        done = all(status.state is None and not status.unused for status in statuses)
        if ready is None or not isinstance(outcome, EndedProcessor) or not done:
            return _resolve_failure(statuses, ready, room)
        return _share_result(outcome, ready, plan, here)

    return attempt


def _run(ready: PreparedGrid, here: Mail, plan: RunPlan, timeout: float) -> EndedProcessor | Stop:
    """Run the processor of this rank until it ends or stops. Raises _MetError if all ranks stop at a meeting."""
    running = ready.running[0]
    started = time.perf_counter()
    try:
        run_in_stack(ready, lambda: _advance_processor(running, ready, here, timeout))
    except (StoppedError, ArchlineError) as problem:
        return find_stop(running, problem, ready.places)
    written = np.flatnonzero(ready.written)
    words = fetch_words(ready.shared.arrays[MEM_INTS], written.tolist())
    read = np.flatnonzero(ready.readers != -1)
    seconds = time.perf_counter() - started
    return EndedProcessor(collect_outcome(plan, running), read, written, ready.written[written], words, seconds)


def _advance_processor(running: Running, ready: PreparedGrid, here: Mail, timeout: float) -> None:
    """Advance from step to step to the end."""
    answer: Words | None = None
    while True:
        try:
            step = running.program.send(answer)
        except StopIteration as finished:
            running.end(finished.value)
            return
        letter, sent = begin_step(running, step, ready.links)
        if letter is not None and step.to is not None:
            here.post(step.tag, step.to, letter)
        received = None if step.source is None else _await_letter(step, step.source, here, timeout)
        answer = end_step(running, step, received, sent, ready.links, ready.places)


def _await_letter(step: Step, source: int, here: Mail, timeout: float) -> Letter:
    """Return the letter that a step waits for. Raises _MetError if the ranks meet meanwhile and do not continue."""
    key = (here.attempt, step.tag)

    def letter_or_call() -> Letter | bool | None:
        letter: Letter | None = here.find(key, source)
        return letter if letter is not None or (here.attempt, here.meeting) not in here.called else True

    while True:
        answer = here.wait(letter_or_call, timeout)
        if isinstance(answer, tuple):
            return answer
        statuses = here.meet(replace(step, payload=None))
        if statuses is not None:
            raise _MetError(statuses)


def _resolve_failure(statuses: Sequence[Status], ready: PreparedGrid | None, room: Room | None) -> Room | None:
    """Return the room in which stopped ranks start again. Raises the failure if they do not."""
    stops = [status.state for status in statuses if isinstance(status.state, Exception | int)]
    if stops:
        return plan_restart(stops, room)
    assert ready is not None
    waiting = {rank: status.state for rank, status in enumerate(statuses) if isinstance(status.state, Step)}
    if waiting:
        raise make_deadlock_error(waiting, ready.places)
    unused = [(sender, rank, origin) for rank, status in enumerate(statuses) for sender, origin in status.unused]
    raise make_lost_error(*min(unused), ready.places)


def _share_result(outcome: EndedProcessor, ready: PreparedGrid, plan: RunPlan, here: Mail) -> Run:
    """Return the result that rank 0 makes from all ends."""
    ends, key = (here.attempt, "ended"), (here.attempt, "result")
    result: Run | Exception
    if here.rank > 0:
        here.send(0, ends, outcome)
        result = here.wait(partial(here.find, key, 0))
    else:
        try:
            result = _merge_ranks(here.await_all(ends, outcome), ready, plan)
        except Exception as problem:
            result = make_sendable(problem)
        here.share(key, result)
    if isinstance(result, Exception):
        raise result
    return result


def _merge_ranks(ranks: Sequence[EndedProcessor], ready: PreparedGrid, plan: RunPlan) -> Run:
    """Merge a run: the global arrays with the words of each rank. Raises ArchlineError (AL535) for elements twice."""
    written = np.zeros(plan.bound.words, np.bool_)
    reads = np.zeros(plan.bound.words, np.int64)
    for rank, ended_rank in enumerate(ranks):
        twice = written[ended_rank.written]
        if twice.any():
            state = defaultdict(int, {SITE: int(ended_rank.sites[twice][0])})
            raise report(ready.running[0].code, state, ready.places.named(rank))
        written[ended_rank.written] = True
        reads[ended_rank.read] += 1
        put_words(ready.shared.arrays[MEM_INTS], ended_rank.written.tolist(), ended_rank.words)
    seconds = max(ended_rank.seconds for ended_rank in ranks)
    return make_grid_result(
        plan, ready, [ended_rank.processor for ended_rank in ranks], bool((reads > 1).any()), seconds
    )
