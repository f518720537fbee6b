"""Simulate the processors of a grid in one process: in a fixed order, each runs until it waits for a message.

Sending never waits. Messages between two processors with the same tag arrive in the order in which they were sent.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from archline.execution import run_rules as rules
from archline.execution.codegen.program import GeneratedProgram
from archline.execution.engine import make_stop_error
from archline.execution.grid import FollowedLoop, Processor, Step, Tag, Words
from archline.execution.memory import Memory
from archline.execution.paths import NO_AMOUNTS, NO_BUFFER, CriticalPath, Links, Values
from archline.execution.slots import FIRST_SITE, SITE, SITE_FULL
from archline.execution.stops import StoppedError
from archline.expr.tree import Span
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError, Rule, error, format_count
from archline.records import record

Program = Generator[Step, "Words | None", Any]
Origin = tuple[int, int, int]
"""The origin of a message: the number of its place in the source, the call (-1: none), the number of its statement."""
Letter = tuple["Words | None", Values, Origin]
"""A message under way: its words, the values of its sender's path when the step began, its origin."""
Address = tuple[Tag, int, int]
"""A message's tag, sender and receiver."""
Stop = Exception | int
"""Why a processor stopped: an error, or the number of a limit (SITE_FULL and so on), which a new run may raise."""
MAX_LISTED = 4


@dataclass(eq=False)
class RunningProcessor:
    """A processor that runs: its program, memory, critical path, and at the end its return value.

    `amounts` are the declared costs as of `launch.fill_state`, `weights` the flops and the work of an execution of each
    block.
    """

    processor: Processor
    program: Program
    code: GeneratedProgram
    memory: Memory
    amounts: dict[str, int]
    weights: NDArray[np.int64]
    path: CriticalPath
    value: Any = None

    @property
    def rank(self) -> int:
        return self.processor.rank

    def update_path(self) -> Values:
        """Add the computation since the last step to the critical path, and return its values."""
        first = self.code.layout.first_counter
        counters = np.asarray(self.memory.state[first : first + len(self.weights)], np.int64)
        flops, work = counters @ self.weights
        return self.path.add_computation(int(flops), int(work) + 1)

    def record_end(self, value: Any) -> None:
        """Record the value that the program returned."""
        self.value = value
        self.path.begin_step(0, None, None, None)
        self.update_path()


@record(slots=True)
class Locations:
    """Spans of numbered places in the source, and coordinates of ranks, for errors about processors.

    `algorithm` is the outermost one, `calls` has its calls by number.
    """

    span: Callable[[int], Span]
    coordinates: Callable[[int], tuple[int, ...]]
    algorithm: s.Algorithm
    calls: Mapping[int, s.Node]

    def name_processor(self, rank: int) -> str:
        """Return the name of a rank in messages, such as `processor (1, 0)`."""
        position = self.coordinates(rank)
        return f"processor {position[0]}" if len(position) == 1 else f"processor ({', '.join(map(str, position))})"

    def locate_failure(self, span: Span, called: int | None) -> tuple[Span, str]:
        """Return the span to show for a failure at `span` in a call, and a text that names the call or the line.

        In a file other than that of the call, it is the span of the call that is shown.
        """
        call = self.calls.get(-1 if called is None else called)
        if call is None or any(node.head == span.head for node in s.iterate_nodes(self.algorithm.body)):
            return span, ""
        if span.source is call.span.source:
            return span, f", in the call on line {call.span.line}"
        return call.span, f", on line {span.line} of {PurePath(span.source.path).name}"

    def make_error(
        self, rule: Rule, message: str, span: Span, called: int | None, hint: str | None = None
    ) -> ArchlineError:
        """Return the error for a failure at a span, in the call with number `called`."""
        shown, where = self.locate_failure(span, called)
        return error(rule, message + where, span=shown, hint=hint)


def begin_step(running: RunningProcessor, step: Step, links: Links) -> tuple[Letter | None, Values]:
    """Return the letter that a step sends (None: none), and its amounts in the metrics of `paths.METRICS`."""
    running.path.begin_step(step.site, step.called, step.to, step.source)
    values = running.update_path()
    if step.to is None:
        return None, NO_AMOUNTS
    words = NO_BUFFER if step.payload is None else len(step.payload)
    origin = step.site, -1 if step.called is None else step.called, step.tag[1]
    return (step.payload, values, origin), links.compute_share(running.rank, step.to, words)


def end_step(
    running: RunningProcessor, step: Step, letter: Letter | None, sent: Values, links: Links, places: Locations
) -> Words | None:
    """Return the words that a step received; None if it received none, or a message without a buffer.

    Raises ArchlineError (AL532) if the buffer has another size.
    """
    if letter is None or step.source is None:
        running.path.add_step(sent, NO_AMOUNTS)
        return None
    payload, values, (site, called, number) = letter
    words = None if payload is None else len(payload)
    if words != step.words:
        here, there = places.name_processor(running.rank), places.name_processor(step.source)
        message = f"{here} receives {_describe_words(step.words)}, and {there} sends {_describe_words(words)}"
        raise places.make_error(rules.MESSAGE_SIZE, message, places.span(site), called, _explain_pairing(number))
    received = links.compute_share(running.rank, step.source, NO_BUFFER if words is None else words)
    if step.source != running.rank and words != 0:
        running.path.follow_sender(values)
    running.path.add_step(sent, received)
    return payload


def _describe_words(count: int | None) -> str:
    return "a message without a buffer" if count is None else format_count(count, "word")


def make_stop(running: RunningProcessor, problem: StoppedError | ArchlineError, places: Locations) -> Stop:
    """Return why a processor stopped: the error to report, or the number of the limit that it reached."""
    if isinstance(problem, ArchlineError):
        return problem
    state, where = running.memory.state, places.name_processor(running.rank)
    if state[SITE] >= FIRST_SITE:
        (cause,) = make_stop_error(running.code, state, where).diagnostics
        assert cause.span is not None
        return places.make_error(cause.rule, cause.message, cause.span, running.processor.called, cause.hint)
    if state[SITE] == SITE_FULL and not running.code.options.compiled:
        return error(rules.NO_MEMORY, f"the arrays of {where} do not fit the memory")
    return int(state[SITE])


def make_deadlock_error(waiting: Mapping[int, Step], places: Locations) -> Exception:
    """Return the error (AL533) about processors that all wait; `waiting` maps their ranks to their steps."""
    listed = []
    for rank, step in sorted(waiting.items())[:MAX_LISTED]:
        assert step.source is not None
        line = places.locate_failure(places.span(step.site), step.called)[0].line
        listed.append(f"{places.name_processor(rank)} on line {line} for {places.name_processor(step.source)}")
    more = f", and {len(waiting) - len(listed)} more" if len(waiting) > len(listed) else ""
    first = waiting[min(waiting)]
    message = f"every processor waits: {', '.join(listed)}{more}"
    return places.make_error(
        rules.DEADLOCK, message, places.span(first.site), first.called, _explain_pairing(first.tag[1])
    )


Followed = Mapping[FollowedLoop, Sequence[int]]


def find_disagreement(followed: Sequence[Followed], places: Locations) -> ArchlineError | None:
    """Return the error (AL540) about processors that left a loop after different iterations; None if none did.

    `followed` has the loops of each rank; some may still be in progress.
    """
    first: dict[FollowedLoop, tuple[int, Sequence[int]]] = {}
    for rank, loops in enumerate(followed):
        for loop, begun in loops.items():
            other, before = first.setdefault(loop, (rank, begun))
            (short, least), (long, most) = sorted(((other, before), (rank, begun)), key=lambda item: item[1][0])
            if least[0] < most[0] and least[1]:
                here, there = places.name_processor(short), places.name_processor(long)
                goes_on = f"leaves it after {most[0]}" if most[1] else "goes on"
                message = f"{here} leaves the loop after {format_count(least[0], 'iteration')}, and {there} {goes_on}"
                called = None if least[2] < 0 else least[2]
                return places.make_error(rules.DIFFERENT_TESTS, message, places.span(loop[1]), called)
    return None


def make_lost_error(sender: int, receiver: int, origin: Origin, places: Locations) -> Exception:
    """Return the error (AL534) for a message that its receiver never received."""
    site, called, number = origin
    message = f"{places.name_processor(sender)} sends to {places.name_processor(receiver)}, which never receives"
    return places.make_error(rules.LOST_MESSAGE, message, places.span(site), called, _explain_pairing(number))


def _explain_pairing(number: int) -> str | None:
    """Return a hint on which `send` and `receive` pair; None for the number of an exchange."""
    k = number // 2
    return None if number % 2 else f"in the text, `send` {k} of an algorithm pairs with its `receive` {k}"


def simulate(processors: Sequence[RunningProcessor], links: Links, places: Locations) -> list[Stop]:
    """Run all processors until none can continue; return why processors stopped, in the order of ranks.

    Raises ArchlineError if none stopped, but all wait (AL533), a message was not received (AL534) or processors left a
    loop after different numbers of iterations (AL540).
    """
    return _GridSimulation(processors, links, places).run()


class _GridSimulation:
    def __init__(self, processors: Sequence[RunningProcessor], links: Links, places: Locations) -> None:
        self._processors = processors
        self._links = links
        self._places = places
        self._mail: dict[Address, deque[Letter]] = {}
        self._expected: set[Address] = set()
        self._waiting: dict[int, tuple[Step, Values]] = {}
        self._ready: deque[int] = deque(range(len(processors)))
        self._stops: dict[int, Stop] = {}

    def run(self) -> list[Stop]:
        while self._ready:
            running = self._processors[self._ready.popleft()]
            try:
                self._advance_processor(running)
            except (StoppedError, ArchlineError) as problem:
                stop = self._stops[running.rank] = make_stop(running, problem, self._places)
                if not isinstance(stop, Exception):
                    break
        if self._stops:
            return [self._stops[rank] for rank in sorted(self._stops)]
        disagreement = find_disagreement([running.processor.followed for running in self._processors], self._places)
        if disagreement is not None:
            raise disagreement
        if self._waiting:
            raise make_deadlock_error({rank: step for rank, (step, _) in self._waiting.items()}, self._places)
        for (_, sender, receiver), letters in self._mail.items():
            raise make_lost_error(sender, receiver, letters[0][2], self._places)
        return []

    def _advance_processor(self, running: RunningProcessor) -> None:
        """Advance a processor until it waits or ends."""
        rank = running.rank
        answer = self._receive_answer(running) if rank in self._waiting else None
        try:
            while True:
                step = running.program.send(answer)
                letter, sent = begin_step(running, step, self._links)
                if letter is not None and step.to is not None:
                    self._post_letter((step.tag, rank, step.to), letter)
                self._waiting[rank] = (step, sent)
                if step.source is not None and (step.tag, step.source, rank) not in self._mail:
                    self._expected.add((step.tag, step.source, rank))
                    return
                answer = self._receive_answer(running)
        except StopIteration as finished:
            running.record_end(finished.value)

    def _post_letter(self, address: Address, letter: Letter) -> None:
        self._mail.setdefault(address, deque()).append(letter)
        if address in self._expected:
            self._expected.remove(address)
            self._ready.append(address[2])

    def _receive_answer(self, running: RunningProcessor) -> Words | None:
        """Return the words that the waiting step of a processor received; None if it receives no buffer."""
        step, sent = self._waiting.pop(running.rank)
        letter = None
        if step.source is not None:
            address = (step.tag, step.source, running.rank)
            letter = self._mail[address].popleft()
            if not self._mail[address]:
                del self._mail[address]
        return end_step(running, step, letter, sent, self._links, self._places)
