"""Processors of a grid as ranks of MPI: a process each, real messages, the results and counts of `simulated`.

A message carries its words, its tag and the path of its sender; the receiver keeps what comes before it is wanted.
Ranks meet where one has ended, has stopped, or has waited for long: each tells rank 0 its state, and how many messages
it has sent and taken. Rank 0 decides: the run is over, failed, or starts anew; all processors wait; or it goes on.
Waiting is polling with short sleeps, so that many ranks share a core.
"""

from __future__ import annotations

import pickle
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from archline.execution import run_rules as rules
from archline.execution.distributed import OnGrid, Prepared, Result, Stop, in_stack, prepare, restart, why
from archline.execution.failures import report
from archline.execution.grid import Step, Tag, Words
from archline.execution.launch import Finished, Plan
from archline.execution.memory import Memory, Room
from archline.execution.paths import CriticalPath
from archline.execution.simulated import Letter, Running, begin, deadlock, end, lost
from archline.execution.slots import MEM_DECLARED, MEM_INTS, SITE
from archline.execution.stops import StoppedError
from archline.language.diagnostics import ArchlineError, error

SHORTEST, LONGEST = 1e-5, 2e-3
"""Seconds between looks for a message: at first, and after many in vain."""
MESSAGE, STATUS, VERDICT = 1, 2, 3
"""Tags of MPI: messages between processors and calls to meet, what ranks tell rank 0, what it answers."""


# The state of a rank when ranks meet
@dataclass(frozen=True)
class Waiting:
    """It waits for the message of a step."""

    step: Step


@dataclass(frozen=True)
class Stopped:
    """It stopped."""

    why: Stop


@dataclass(frozen=True, eq=False)
class Ended:
    """It ended: what its program returned, its memory and path, and what it did to the global arrays."""

    value: Any
    own: Any
    state: Any
    declared: Any
    amounts: dict[str, int]
    path: CriticalPath
    read: NDArray[np.int64]
    written: NDArray[np.int64]
    sites: NDArray[np.int64]
    words: Any
    seconds: float


State = Waiting | Stopped | Ended


@dataclass(frozen=True)
class Status:
    """A rank's state; the letters it has sent, by receiver, and taken; those it has not used: (sender, site)."""

    state: State
    sent: Counter[int]
    taken: int
    unused: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Judgement:
    """What rank 0 decided: to go on (None), or a pickled outcome; the letters sent to this rank until now."""

    outcome: bytes | None
    due: int


class _DecidedError(Exception):
    """The ranks met, and do not go on."""

    def __init__(self, outcome: Any) -> None:
        super().__init__()
        self.outcome = outcome


# Messages
@dataclass(eq=False)
class Mail:
    """The messages of a process, over all of its runs. Attempts and meetings are numbered alike on all ranks."""

    mpi: Any
    comm: Any
    sent: Counter[int] = field(default_factory=Counter)
    taken: int = 0
    attempt: int = 0
    meeting: int = 1
    called: int = 0
    arrived: dict[tuple[int, Tag, int], deque[Letter]] = field(default_factory=dict)
    _leaving: list[tuple[Any, bytes]] = field(default_factory=list)

    @property
    def rank(self) -> int:
        """The rank of the process."""
        return int(self.comm.rank)

    @property
    def size(self) -> int:
        """The number of ranks."""
        return int(self.comm.size)

    def begin_attempt(self) -> None:
        """Forget the letters of earlier attempts."""
        self.attempt += 1
        self.arrived = {key: letters for key, letters in self.arrived.items() if key[0] >= self.attempt}

    def post(self, tag: Tag, receiver: int, letter: Letter) -> None:
        """Send a letter without waiting; one to oneself stays here."""
        if receiver == self.rank:
            self.arrived.setdefault((self.attempt, tag, receiver), deque()).append(letter)
        else:
            self.sent[receiver] += 1
            self.send(receiver, MESSAGE, (self.attempt, tag, letter))

    def call(self) -> None:
        """Call all ranks to the meeting that is next."""
        self.called = self.meeting
        for other in range(self.size):
            if other != self.rank:
                self.send(other, MESSAGE, self.meeting)

    def send(self, receiver: int, kind: int, thing: object) -> None:
        """Send without waiting; the words are kept until they have left."""
        data = pickle.dumps(thing, pickle.HIGHEST_PROTOCOL)
        self._leaving = [each for each in self._leaving if not each[0].Test()]
        self._leaving.append((self.comm.Isend([data, self.mpi.BYTE], receiver, kind), data))

    def receive(self, kind: int) -> tuple[int, Any] | None:
        """The next thing of a kind and who sent it, if one is there."""
        status = self.mpi.Status()
        found = self.comm.Improbe(self.mpi.ANY_SOURCE, kind, status)
        if found is None:
            return None
        data = bytearray(status.Get_count(self.mpi.BYTE))
        found.Recv([data, self.mpi.BYTE])
        return int(status.Get_source()), pickle.loads(data)

    def take(self) -> bool:
        """Take in a message or a call, if one is there."""
        found = self.receive(MESSAGE)
        if found is None:
            return False
        sender, thing = found
        if isinstance(thing, int):
            self.called = max(self.called, thing)
            return True
        self.taken += 1
        attempt, tag, letter = thing
        if attempt >= self.attempt:
            self.arrived.setdefault((attempt, tag, sender), deque()).append(letter)
        return True

    def wait(self, ready: Callable[[], Any], seconds: float = float("inf")) -> Any:
        """What `ready` finds, which looks until it is not None; None after so many seconds."""
        delay, since = SHORTEST, time.monotonic()
        while (found := ready()) is None:
            if self.take():
                delay = SHORTEST
                continue
            if time.monotonic() - since > seconds:
                return None
            time.sleep(delay)
            delay = min(1.5 * delay, LONGEST)
        return found

    def letter(self, step: Step) -> Letter | None:
        """The letter that a step waits for, if it is here."""
        assert step.source is not None
        key = (self.attempt, step.tag, step.source)
        letters = self.arrived.get(key)
        if letters is None:
            return None
        found = letters.popleft()
        if not letters:
            del self.arrived[key]
        return found

    def meet(self, state: State, decide: Callable[[Sequence[Status]], Any]) -> None:
        """Tell a state; `decide` makes the outcome of all on rank 0. Raises _DecidedError unless that is None.

        What was sent to here before the others met has arrived afterwards.
        """
        letters = [(key[2], each[2]) for key, found in self.arrived.items() for each in found if key[0] == self.attempt]
        status = Status(state, self.sent.copy(), self.taken, tuple(letters))
        self.meeting += 1
        verdict = self._chair(status, decide) if self.rank == 0 else self._attend(status)
        self.wait(lambda: True if self.taken >= verdict.due else None)
        if verdict.outcome is not None:
            raise _DecidedError(pickle.loads(verdict.outcome))

    def _attend(self, status: Status) -> Judgement:
        self.send(0, STATUS, status)
        _, verdict = self.wait(lambda: self.receive(VERDICT))
        assert isinstance(verdict, Judgement)
        return verdict

    def _chair(self, status: Status, decide: Callable[[Sequence[Status]], Any]) -> Judgement:
        found = {0: status}
        while len(found) < self.size:
            sender, found[sender] = self._next_status()
        due: Counter[int] = Counter()
        for each in found.values():
            due.update(each.sent)
        statuses = [found[rank] for rank in range(self.size)]
        outcome = portable(decide(statuses)) if _decisive(statuses, due) else None
        for other in range(1, self.size):
            self.send(other, VERDICT, Judgement(outcome, due[other]))
        return Judgement(outcome, due[0])

    def _next_status(self) -> tuple[int, Status]:
        sender, status = self.wait(lambda: self.receive(STATUS))
        assert isinstance(status, Status)
        return sender, status


def _decisive(statuses: Sequence[Status], due: Counter[int]) -> bool:
    """Whether a run cannot go on: a rank wants to start anew, or no letter is under way.

    So all processors have gone as far as they could, and failures are the same every time.
    """
    anew = any(isinstance(each.state, Stopped) and not isinstance(each.state.why, Exception) for each in statuses)
    return anew or all(each.taken == due[rank] for rank, each in enumerate(statuses))


def portable(outcome: Any) -> bytes:
    """An outcome for other processes."""
    return pickle.dumps(_sendable(outcome) if isinstance(outcome, Exception) else outcome, pickle.HIGHEST_PROTOCOL)


def _sendable(problem: Exception) -> Exception:
    """The exception, or its text where it cannot be pickled."""
    try:
        pickle.loads(pickle.dumps(problem))
    except Exception:
        return RuntimeError(f"{type(problem).__name__}: {problem}")
    return problem


@cache
def mail() -> Mail:
    """The mail of this process; starts MPI. Raises ArchlineError (AL536) where there is none."""
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as problem:
        hint = "pip install 'archline[mpi]'"
        raise error(rules.NO_MPI, f"the engine `mpi` needs the extra mpi: {problem}", hint=hint) from None
    return Mail(MPI, MPI.COMM_WORLD.Dup())


# Runs
def on_ranks(
    shape: tuple[int, ...], timeout: float, finish: Callable[[OnGrid], Result]
) -> Callable[[Plan, Room | None, int | None], Result | Room | None]:
    """Attempts on the ranks of MPI, of which this process is one; all return what `finish` makes on rank 0.

    After `timeout` seconds of waiting a rank calls the others to see whether all wait. Raises ArchlineError (AL536,
    AL537) where there is no MPI, or another number of ranks than of processors.
    """
    here = mail()
    count = int(np.prod(shape))
    if here.size != count:
        message = f"the grid has {_counted(count, 'processor')}, and MPI {_counted(here.size, 'rank')}"
        raise error(rules.RANKS, message, hint=f"start it by `mpiexec -n {count}`")

    def attempt(plan: Plan, room: Room | None, fuel: int | None) -> Result | Room | None:
        try:
            _attempt(plan, shape, room, fuel, timeout, here, finish)
        except _DecidedError as decided:
            outcome: Result | Room | Exception | None = decided.outcome
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    return attempt


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"


def _attempt(
    plan: Plan,
    shape: tuple[int, ...],
    room: Room | None,
    fuel: int | None,
    timeout: float,
    here: Mail,
    finish: Callable[[OnGrid], Any],
) -> NoReturn:
    """Run the processor of this rank, and meet the others until the outcome is decided: raises _DecidedError."""
    here.begin_attempt()
    ready: Prepared | None = None
    state: State
    try:
        ready = prepare(plan, shape, room, fuel, (here.rank,))
        state = _run(ready, here, plan, room, timeout)
    except _DecidedError:
        raise
    except Exception as problem:
        state = Stopped(_sendable(problem))
    while True:
        if isinstance(state, Stopped) and here.called < here.meeting:
            here.call()
        here.meet(state, lambda statuses: _decide(statuses, ready, plan, finish))


def _run(ready: Prepared, here: Mail, plan: Plan, room: Room | None, timeout: float) -> State:
    """Run the processor of this rank until it ends or stops."""
    running, finished = ready.running[0], ready.processors[0]
    started = time.perf_counter()
    try:
        value = in_stack(ready, lambda: _advance(running, ready, here, timeout))
    except (StoppedError, ArchlineError) as problem:
        return Stopped(why(ready, running, room, problem))
    ints, written = finished.memory.arrays[MEM_INTS], np.flatnonzero(ready.written)
    shared = ready.shared.arrays[MEM_INTS]
    words = [shared[at] for at in written.tolist()] if isinstance(shared, list) else shared[written]
    return Ended(
        value,
        ints[: plan.bound.own_words],
        finished.memory.state,
        finished.memory.arrays[MEM_DECLARED],
        finished.amounts,
        running.path,
        np.flatnonzero(ready.readers != -1),
        written,
        ready.written[written],
        words,
        time.perf_counter() - started,
    )


def _advance(running: Running, ready: Prepared, here: Mail, timeout: float) -> Any:
    """Go from step to step; what the program returns."""
    answer: Words | None = None
    while True:
        try:
            step = running.program.send(answer)
        except StopIteration as finished:
            running.path.compute(*running.done())
            return finished.value
        letter, sent = begin(running, step, ready.links)
        if letter is not None and step.to is not None:
            here.post(step.tag, step.to, letter)
        received = None if step.source is None else _awaited(step, ready, here, timeout)
        answer = end(running, step, received, sent, ready.links, ready.places)


def _awaited(step: Step, ready: Prepared, here: Mail, timeout: float) -> Letter:
    """The letter that a step waits for. Raises _DecidedError where the ranks meet meanwhile and do not go on."""

    def ready_or_called() -> Letter | bool | None:
        found = here.letter(step)
        return found if found is not None or here.called < here.meeting else True

    while True:
        found = here.wait(ready_or_called, timeout)
        if isinstance(found, tuple):
            return found
        if found is None:
            here.call()
        waiting = Waiting(Step(step.tag, step.to, None, step.source, step.words, step.site))
        here.meet(waiting, lambda statuses: _failure(statuses, ready))


# What rank 0 decides
def _decide(statuses: Sequence[Status], ready: Prepared | None, plan: Plan, finish: Callable[[OnGrid], Any]) -> Any:
    """The outcome of ranks that do not go on: an error, how to start anew, or the result."""
    ended = [each.state for each in statuses if isinstance(each.state, Ended)]
    if ready is None or len(ended) < len(statuses) or any(each.unused for each in statuses):
        return _failure(statuses, ready)
    try:
        return finish(_merged(ended, ready, plan))
    except Exception as problem:
        return problem


def _failure(statuses: Sequence[Status], ready: Prepared | None) -> Exception | Room | None:
    stopped = [each.state.why for each in statuses if isinstance(each.state, Stopped)]
    if stopped:
        try:
            return restart(stopped)
        except Exception as problem:
            return problem
    assert ready is not None
    waiting = {rank: each.state.step for rank, each in enumerate(statuses) if isinstance(each.state, Waiting)}
    if waiting:
        return deadlock(waiting, ready.places)
    unused = [(sender, rank, site) for rank, each in enumerate(statuses) for sender, site in each.unused]
    return lost(*min(unused), ready.places)


def _merged(ended: Sequence[Ended], ready: Prepared, plan: Plan) -> OnGrid:
    """The run as one: the global arrays with what each rank wrote. Raises ArchlineError (AL535) for elements twice."""
    shared = ready.shared.arrays[MEM_INTS]
    written = np.zeros(plan.bound.words, np.bool_)
    reads = np.zeros(plan.bound.words, np.int64)
    processors = []
    for rank, each in enumerate(ended):
        twice = written[each.written]
        if twice.any():
            state = list(each.state)
            state[SITE] = int(each.sites[twice][0])
            raise report(ready.built.program, state, ready.places.named(rank))
        written[each.written] = True
        reads[each.read] += 1
        if isinstance(shared, list):
            for at, word in zip(each.written.tolist(), each.words, strict=True):
                shared[at] = word
        else:
            shared[each.written] = each.words
        reals = each.own if isinstance(each.own, list) else each.own.view(np.float64)
        memory = Memory((reals, each.own, each.state, (), (), (), (), (), each.declared), each.state)
        processors.append(Finished(ready.built, memory, each.value, each.amounts, each.seconds, 0.0))
    paths = tuple(each.path for each in ended)
    seconds = max(each.seconds for each in ended)
    return OnGrid(tuple(processors), paths, ready.shared, ready.links.nodes, bool((reads > 1).any()), seconds)
