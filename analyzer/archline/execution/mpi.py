"""Run the processors of a grid as ranks of MPI: one process each; results and counts are those of `simulated`.

A message carries its words, its tag and the path of its sender; the receiver keeps messages that arrive before it asks
for them. Ranks meet when all have ended, and when one has stopped or has waited for long: each shares its state and the
numbers of messages that it has sent and taken with all others, so that all draw the same conclusion: the run is over,
failed, starts again, or continues. Waiting is polling with short sleeps, so that many ranks can share a core.
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
    collect_processor_result,
    make_grid_result,
    plan_restart,
    prepare_processors,
    run_with_large_stack,
)
from archline.execution.engine import make_stop_error
from archline.execution.grid import FollowedLoop, Step, Tag, Words, fetch_words, put_words
from archline.execution.launch import RunPlan
from archline.execution.memory import Room
from archline.execution.results import Run
from archline.execution.simulated import (
    Followed,
    Letter,
    Origin,
    RunningProcessor,
    Stop,
    begin_step,
    end_step,
    find_disagreement,
    make_deadlock_error,
    make_lost_error,
    make_stop,
)
from archline.execution.slots import MEM_INTS, SITE
from archline.execution.stops import StoppedError
from archline.language.diagnostics import ArchlineError, error, format_count
from archline.records import record

MIN_POLL_SECONDS, MAX_POLL_SECONDS = 1e-5, 2e-3
"""Seconds between two polls for a message: at first, and at most after many in vain."""


# Messages
State = Step | Stop | None
"""The state of a rank: the step for whose message it waits, the reason why it stopped, or None if it has ended."""


@record
class Status:
    """The state of a rank, the numbers of letters sent and taken, and its unused letters: (sender, origin).

    `followed` has its loops as in `grid.Processor`.
    """

    state: State
    sent: int
    taken: int
    unused: tuple[tuple[int, Origin], ...]
    followed: Followed


class _MetError(Exception):
    """A meeting of all ranks, with the `statuses` that they shared, ended the run while this rank was waiting."""

    def __init__(self, statuses: Sequence[Status]) -> None:
        super().__init__()
        self.statuses = statuses


Key = tuple[int, Tag | int | str]
"""The key of a message: the attempt, and the tag of a letter, the number of a meeting, or the name of a result."""


@dataclass(eq=False)
class Mailbox:
    """Sends and receives the messages of this process, in all of its runs.

    Attempts, and the meetings in each, have the same numbers on all ranks. `called` are the meetings to which another
    rank has called; `arrived` has messages not yet asked for by key and sender.
    """

    mpi: Any
    comm: Any
    sent: int = 0
    taken: int = 0
    followed: dict[FollowedLoop, list[int]] = field(default_factory=dict)
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
        """Begin the next attempt of a run, and drop the letters of earlier ones."""
        self.attempt += 1
        self.meeting = 1
        self.followed = {}
        self.arrived = {key: letters for key, letters in self.arrived.items() if key[0][0] >= self.attempt}

    def send_letter(self, tag: Tag, receiver: int, letter: Letter) -> None:
        """Send a letter without waiting; one to this rank itself counts as arrived."""
        key = (self.attempt, tag)
        if receiver == self.rank:
            self._store_arrival(key, receiver, letter)
        else:
            self.sent += 1
            self.send(receiver, key, letter)

    def send(self, receiver: int, key: Key, thing: object) -> None:
        """Send without waiting; the request is stored until the message has left."""
        self._leaving = [request for request in self._leaving if not request.Test()]
        self._leaving.append(self.comm.isend((key, thing), receiver))

    def send_to_all(self, key: Key, thing: object) -> None:
        for rank in range(self.size):
            if rank != self.rank:
                self.send(rank, key, thing)

    def _store_arrival(self, key: Key, sender: int, thing: object) -> None:
        self.arrived.setdefault((key, sender), deque()).append(thing)

    def receive_message(self) -> bool:
        """Receive one message if any has arrived; return whether one had."""
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
        """Poll until `ready()` is not None, and return its value; None after `seconds`."""
        delay, since = MIN_POLL_SECONDS, time.monotonic()
        while (result := ready()) is None:
            if self.receive_message():
                delay = MIN_POLL_SECONDS
                continue
            if time.monotonic() - since > seconds:
                return None
            time.sleep(delay)
            delay = min(1.5 * delay, MAX_POLL_SECONDS)
        return result

    def remove_message(self, key: Key, sender: int) -> Any:
        """Remove the first message with a key from a rank, and return it; None if it has not arrived."""
        things = self.arrived.get((key, sender))
        if things is None:
            return None
        thing = things.popleft()
        if not things:
            del self.arrived[key, sender]
        return thing

    def gather(self, key: Key, own: Any) -> list[Any]:
        """Wait until all other ranks have sent an object under a key; return all by rank, with `own` for this rank."""
        return [
            own if rank == self.rank else self.wait(partial(self.remove_message, key, rank))
            for rank in range(self.size)
        ]

    def exchange_statuses(self, state: State) -> list[Status] | None:
        """Share a state with all ranks, and return their statuses if these are final, else None.

        A state other than the end calls running ranks to the meeting. Statuses are final if no letter is under way
        (messages from a rank arrive in order, so its letters have been taken before its status), as then no processor
        can go on, and failures are reproducible. They are also final if a rank wants to start again.
        """
        unused = [
            (sender, letter[2])
            for ((attempt, tag), sender), letters in self.arrived.items()
            for letter in letters
            if attempt == self.attempt and isinstance(tag, tuple)
        ]
        key = (self.attempt, self.meeting)
        self.meeting += 1
        status = Status(state, self.sent, self.taken, tuple(unused), self.followed)
        self.send_to_all(key, status)
        statuses: list[Status] = self.gather(key, status)
        restarts = any(isinstance(shared.state, int) for shared in statuses)
        settled = sum(shared.sent for shared in statuses) == sum(shared.taken for shared in statuses)
        return statuses if restarts or settled else None


def make_sendable(problem: Exception) -> Exception:
    """Return the exception, or a RuntimeError with its text if it cannot be pickled."""
    try:
        pickle.loads(pickle.dumps(problem))
    except Exception:
        return RuntimeError(f"{type(problem).__name__}: {problem}")
    return problem


@cache
def open_mailbox() -> Mailbox:
    """Return the mailbox of this process; starts MPI. Raises ArchlineError (AL536) without MPI."""
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as problem:
        hint = "pip install 'archline[mpi]'"
        raise error(rules.NO_MPI, f"the engine `mpi` needs the extra mpi: {problem}", hint=hint) from None
    return Mailbox(MPI, MPI.COMM_WORLD.Dup())


# Runs
@record(eq=False)
class EndedProcessor:
    """A processor that ended: its result, and the addresses of global elements that it read and wrote.

    `sites` and `words` have the site of the `output` and the value of each written element.
    """

    processor: ProcessorResult
    read: NDArray[np.int64]
    written: NDArray[np.int64]
    sites: NDArray[np.int64]
    words: Any
    seconds: float


def make_rank_attempt(
    shape: tuple[int, ...], timeout: float
) -> Callable[[RunPlan, Room | None, int | None], Run | Room | None]:
    """Return a function that attempts a run on the ranks of MPI; all ranks return the result that rank 0 makes.

    After `timeout` seconds of waiting a rank calls a meeting, to see whether all wait. Raises ArchlineError (AL536,
    AL537) without MPI, or if the numbers of ranks and processors differ.
    """
    here = open_mailbox()
    count = int(np.prod(shape))
    if here.size != count:
        message = f"the grid has {format_count(count, 'processor')}, but MPI has {format_count(here.size, 'rank')}"
        raise error(rules.RANKS, message, hint=f"start it with `mpiexec -n {count}`")

    def attempt(plan: RunPlan, room: Room | None, fuel: int | None) -> Run | Room | None:
        here.begin_attempt()
        ready: PreparedGrid | None = None
        outcome: EndedProcessor | Stop
        try:
            ready = prepare_processors(plan, shape, room, fuel, (here.rank,))
            here.followed = ready.running[0].processor.followed
            outcome = _run_processor(ready, here, plan, timeout)
        except _MetError as met:
            return _plan_restart_or_raise(met.statuses, ready, room)
        except Exception as problem:
            outcome = make_sendable(problem)
        statuses = None
        while statuses is None:
            statuses = here.exchange_statuses(None if isinstance(outcome, EndedProcessor) else outcome)
        done = all(status.state is None and not status.unused for status in statuses)
        done = done and (ready is None or _find_disagreement(statuses, ready) is None)
        if ready is None or not isinstance(outcome, EndedProcessor) or not done:
            return _plan_restart_or_raise(statuses, ready, room)
        return _share_result(outcome, ready, plan, here)

    return attempt


def _run_processor(ready: PreparedGrid, here: Mailbox, plan: RunPlan, timeout: float) -> EndedProcessor | Stop:
    """Run the processor of this rank until it ends or stops. Raises _MetError if a meeting ends the run.

    `timeout` is that of `_await_letter`.
    """
    running = ready.running[0]
    started = time.perf_counter()
    try:
        run_with_large_stack(plan, ready, lambda: _advance_processor(running, ready, here, timeout))
    except (StoppedError, ArchlineError) as problem:
        return make_stop(running, problem, ready.places)
    written = np.flatnonzero(ready.written)
    words = fetch_words(ready.shared.arrays[MEM_INTS], written.tolist())
    read = np.flatnonzero(ready.readers != -1)
    seconds = time.perf_counter() - started
    return EndedProcessor(
        collect_processor_result(plan, running), read, written, ready.written[written], words, seconds
    )


def _advance_processor(running: RunningProcessor, ready: PreparedGrid, here: Mailbox, timeout: float) -> None:
    """Advance the processor from step to step until it ends; `timeout` is that of `_await_letter`."""
    answer: Words | None = None
    while True:
        try:
            step = running.program.send(answer)
        except StopIteration as finished:
            running.record_end(finished.value)
            return
        letter, sent = begin_step(running, step, ready.links)
        if letter is not None and step.to is not None:
            here.send_letter(step.tag, step.to, letter)
        received = None if step.source is None else _await_letter(step, step.source, here, timeout)
        answer = end_step(running, step, received, sent, ready.links, ready.places)


def _await_letter(step: Step, source: int, here: Mailbox, timeout: float) -> Letter:
    """Wait for the letter that a step receives from rank `source`, and return it.

    After `timeout` seconds the ranks meet. Raises _MetError if a meeting ends the run.
    """
    key = (here.attempt, step.tag)

    def letter_or_call() -> Letter | bool | None:
        letter: Letter | None = here.remove_message(key, source)
        return letter if letter is not None or (here.attempt, here.meeting) not in here.called else True

    while True:
        answer = here.wait(letter_or_call, timeout)
        if isinstance(answer, tuple):
            return answer
        statuses = here.exchange_statuses(replace(step, payload=None))
        if statuses is not None:
            raise _MetError(statuses)


def _find_disagreement(statuses: Sequence[Status], ready: PreparedGrid) -> ArchlineError | None:
    return find_disagreement([status.followed for status in statuses], ready.places)


def _plan_restart_or_raise(statuses: Sequence[Status], ready: PreparedGrid | None, room: Room | None) -> Room | None:
    """Return the room of a new attempt (None: another limit), if ranks stopped for it; else raise the failure."""
    stops = [status.state for status in statuses if isinstance(status.state, Exception | int)]
    if stops:
        return plan_restart(stops, room)
    assert ready is not None
    disagreement = _find_disagreement(statuses, ready)
    if disagreement is not None:
        raise disagreement
    waiting = {rank: status.state for rank, status in enumerate(statuses) if isinstance(status.state, Step)}
    if waiting:
        raise make_deadlock_error(waiting, ready.places)
    unused = [(sender, rank, origin) for rank, status in enumerate(statuses) for sender, origin in status.unused]
    raise make_lost_error(*min(unused), ready.places)


def _share_result(outcome: EndedProcessor, ready: PreparedGrid, plan: RunPlan, here: Mailbox) -> Run:
    """Send the outcome to rank 0, which merges those of all ranks and sends the result to all; return the result."""
    ends, key = (here.attempt, "ended"), (here.attempt, "result")
    result: Run | Exception
    if here.rank > 0:
        here.send(0, ends, outcome)
        result = here.wait(partial(here.remove_message, key, 0))
    else:
        try:
            result = _merge_ranks(here.gather(ends, outcome), ready, plan)
        except Exception as problem:
            result = make_sendable(problem)
        here.send_to_all(key, result)
    if isinstance(result, Exception):
        raise result
    return result


def _merge_ranks(ranks: Sequence[EndedProcessor], ready: PreparedGrid, plan: RunPlan) -> Run:
    """Merge the outcomes of all ranks, and their words in the global arrays.

    Raises ArchlineError (AL535) if two ranks wrote one element.
    """
    written = np.zeros(plan.bound.words, np.bool_)
    reads = np.zeros(plan.bound.words, np.int64)
    for rank, ended_rank in enumerate(ranks):
        twice = written[ended_rank.written]
        if twice.any():
            state = defaultdict(int, {SITE: int(ended_rank.sites[twice][0])})
            raise make_stop_error(ready.running[0].code, state, ready.places.name_processor(rank))
        written[ended_rank.written] = True
        reads[ended_rank.read] += 1
        put_words(ready.shared.arrays[MEM_INTS], ended_rank.written.tolist(), ended_rank.words)
    seconds = max(ended_rank.seconds for ended_rank in ranks)
    return make_grid_result(
        plan, ready, [ended_rank.processor for ended_rank in ranks], bool((reads > 1).any()), seconds
    )
