"""Represent the processors of a grid as generated code sees them: coordinates, groups, buffers in a private memory.

A processor's program is a generator that yields a `Step` for each statement that communicates, and is sent the words
that the step received. The engine that runs it (`simulated`, `mpi`) transfers the words between processors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from archline.execution.placement import list_addresses
from archline.execution.slots import CAPACITY, NO_INT, SITE_FULL, UNSET_REAL
from archline.execution.stops import fail
from archline.records import record

Words = Any
"""The words of a message: a list with None for unset words in plain Python, an array of 64-bit patterns if compiled."""
Place = tuple[int, int, tuple[int, ...], tuple[int, ...]]
"""A buffer in memory: 1 for reals (0: ints), base, extents, strides as in `placement.list_addresses`."""
Tag = tuple[int, int, tuple[int, ...]]
"""Pairs messages: a hash of the call, the number of the statement, and the iteration of the loops around an exchange.
(For `send` and `receive`, which pair in order, the iteration does not count.)
"""

FollowedLoop = tuple[int, int, tuple[int, ...], int]
"""An execution of a loop that a group leaves together: a hash of the call, the number of the place in the source, the
iteration of the loops around, and the first rank of the group."""


@record(slots=True)
class Step:
    """One step of a processor: it sends `payload` to rank `to`, and receives `words` words from rank `source`.

    A rank is None if it does not send, or receive; it may be the processor's own. `words` is None for a message without
    a buffer. `called` is the number of the call in the outermost algorithm which the step is part of; None for steps of
    that algorithm itself.
    """

    tag: Tag
    to: int | None
    payload: Words | None
    source: int | None
    words: int | None
    site: int
    called: int | None = None


@dataclass(eq=False)
class Processor:
    """One processor: its rank, its memory, the global arrays, and which of their elements were written.

    `written` has the number of the `output` statement that wrote each element of the global arrays (0: none), `readers`
    the rank that read each (-1: none, -2: several); `called` is the number of the call in the outermost algorithm
    entered last. `followed` maps each loop that processors must leave in the same iteration to the iterations that this
    one has begun, 1 once it has left the loop, and the number of the call that the loop is part of (-1: none).
    """

    rank: int
    arrays: tuple[Any, ...]
    state: Any
    shared: Any
    written: NDArray[np.int64]
    readers: NDArray[np.int64]
    compiled: bool
    called: int | None = None
    followed: dict[FollowedLoop, list[int]] = field(default_factory=dict)

    @cached_property
    def reals(self) -> Any:
        """The memory as reals, fast to index from Python."""
        return memoryview(self.arrays[0]) if self.compiled else self.arrays[0]

    @cached_property
    def counts(self) -> Any:
        """The state array, fast to index from Python."""
        return memoryview(self.state) if self.compiled else self.state

    @cached_property
    def ints(self) -> Any:
        return memoryview(self.arrays[1]) if self.compiled else self.arrays[1]

    def unset(self, real: int) -> Any:
        """Return the mark of an unset word of an array of reals (`real` is 1) or of ints (0)."""
        if not self.compiled:
            return None
        return UNSET_REAL if real else NO_INT

    def has_unset(self, words: Words, real: int) -> bool:
        """Test whether any word is unset: None in plain Python, else a pattern that `real` chooses."""
        return bool((words == self.unset(real)).any()) if self.compiled else None in words

    def read(self, place: Place, site: int) -> Words:
        """Return the words of a buffer in row-major order. Stops the run if a word is unset.

        `site` is the number of the place in the source, for diagnostics.
        """
        words = fetch_words(self.arrays[1], compute_addresses(place))
        if self.has_unset(words, place[0]):
            fail(self.state, site)
        # A slice of compiled memory is not a copy yet.
        return np.array(words) if self.compiled else words

    def write(self, place: Place, words: Words) -> None:
        put_words(self.arrays[1], compute_addresses(place), words)

    def reserve(self, top: int, words: int) -> int:
        """Reserve words above `top` of the stack and return its new top. Stops the run if memory is full."""
        memory = self.arrays[1]
        if top + words > len(memory):
            if self.compiled or top + words > self.state[CAPACITY]:
                fail(self.state, SITE_FULL, 0, top + words)
            memory.extend([None] * (top + words - len(memory)))
        return top + words


def fetch_words(memory: Any, addresses: Any) -> Words:
    """Return the words at a slice or a list of addresses; for a numpy array this may be a view."""
    if isinstance(memory, list) and not isinstance(addresses, slice):
        return [memory[address] for address in addresses]
    return memory[addresses]


def put_words(memory: Any, addresses: Any, words: Words) -> None:
    """Write words to `addresses`, a slice or a list of the same length."""
    if isinstance(memory, list) and not isinstance(addresses, slice):
        for address, word in zip(addresses, words, strict=True):
            memory[address] = word
    else:
        memory[addresses] = words


def compute_addresses(place: Place) -> Any:
    """Return the addresses of a buffer in row-major order: a slice if possible, else a list."""
    _, base, extents, strides = place
    rank = len(extents)
    if 0 in extents:
        return slice(base, base)
    if len(strides) == rank and _is_contiguous(extents, strides):
        return slice(base, base + math.prod(extents))
    if len(strides) == rank == 1:
        return slice(base, base + extents[0] * strides[0], strides[0])
    return list_addresses(base, extents, strides).tolist()


def _is_contiguous(extents: Sequence[int], strides: Sequence[int]) -> bool:
    expected = 1
    for extent, stride in zip(reversed(extents), reversed(strides), strict=True):
        if stride != expected and extent != 1:
            return False
        expected *= extent
    return True


@dataclass(eq=False)
class ProcessorGroup:
    """The processors that take part in one call, as seen from one of its members.

    `ranks` holds their ranks in the shape of the grid, `coordinates` is the position of this processor in it, and
    `context` identifies this call: a hash of ints, which is the same on all processors.
    """

    processor: Processor
    ranks: NDArray[np.int64]
    coordinates: tuple[int, ...]
    context: int
    called: int | None = None
    _parts: dict[tuple[int, ...], tuple[NDArray[np.int64], tuple[int, ...]]] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return self.ranks.size

    def enter(self, number: int, iteration: tuple[int, ...], axes: tuple[int, ...], flat: int) -> ProcessorGroup:
        """Return the group of call `number`, along some axes; with `flat`, in row-major order on one axis."""
        ranks, coordinates = self._select_axes(axes)
        if flat:
            position = int(np.ravel_multi_index(coordinates, ranks.shape)) if axes else 0
            ranks, coordinates = ranks.reshape(-1), (position,)
        called = number if self.called is None else self.called
        self.processor.called = called
        return ProcessorGroup(self.processor, ranks, coordinates, _hash_call(self.context, number, iteration), called)

    def _select_axes(self, axes: tuple[int, ...]) -> tuple[NDArray[np.int64], tuple[int, ...]]:
        if axes not in self._parts:
            fixed = tuple(slice(None) if axis in axes else self.coordinates[axis] for axis in range(self.ranks.ndim))
            ordered = sorted(axes)
            part = np.asarray(self.ranks[fixed]).transpose([ordered.index(axis) for axis in axes])
            self._parts[axes] = (part, tuple(self.coordinates[axis] for axis in axes))
        return self._parts[axes]

    def split(self, axis: int, parts: int, site: int) -> ProcessorGroup:
        """Return the group with an axis of extent e split in two, of `parts` and e/parts.

        Stops the run if `parts` does not divide e; `site` is the number of the place in the source, for diagnostics.
        """
        extent = self.ranks.shape[axis]
        if parts < 1 or extent % parts:
            fail(self.processor.state, site, extent, parts)
        shape = (*self.ranks.shape[:axis], parts, extent // parts, *self.ranks.shape[axis + 1 :])
        position = divmod(self.coordinates[axis], extent // parts)
        coordinates = (*self.coordinates[:axis], *position, *self.coordinates[axis + 1 :])
        return ProcessorGroup(self.processor, self.ranks.reshape(shape), coordinates, self.context, self.called)

    def record_loop(self, site: int, iteration: tuple[int, ...], axes: tuple[int, ...]) -> list[int]:
        """Return the record of a loop that begins, which the processors along `axes` leave in the same iteration.

        `site` is the number of the place in the source, for diagnostics.
        """
        first = int(self._select_axes(axes)[0].flat[0])
        begun = [0, 0, -1 if self.called is None else self.called]
        self.processor.followed[self.context, site, iteration, first] = begun
        return begun

    def partner(self, coordinates: tuple[int, ...], axes: tuple[int, ...], site: int) -> int:
        """Return the rank at `coordinates` on `axes`, and at this processor's coordinates on the other axes.

        Stops the run if there is none; `site` is the number of the place in the source, for diagnostics.
        """
        position = list(self.coordinates)
        for axis, coordinate in zip(axes, coordinates, strict=True):
            if not 0 <= coordinate < self.ranks.shape[axis]:
                fail(self.processor.state, site, coordinate, self.ranks.shape[axis])
            position[axis] = coordinate
        return int(self.ranks[tuple(position)])

    def step(
        self,
        number: int,
        iteration: tuple[int, ...],
        to: int | None,
        sent: Place | None,
        source: int | None,
        words: int | None,
        site: int,
    ) -> Step:
        """Return the step of communication statement `number`, with a copy of the words that it sends.

        It sends to rank `to` and receives from rank `source`; `site` is the number of the place in the source, for
        diagnostics.
        """
        payload = None if to is None or sent is None else self.processor.read(sent, site)
        return Step((self.context, number, iteration), to, payload, source, words, site, self.called)

    # Buffers of calls
    def flat(self, place: Place, top: int) -> tuple[int, int, int]:
        """Return base and stride of a buffer as a vector, copied to the stack if it has gaps, and the new stack top."""
        _, base, extents, strides = place
        if len(strides) == len(extents) and _is_contiguous(extents, strides):
            return base, 1, top
        words = math.prod(extents)
        above = self.processor.reserve(top, words)
        memory = self.processor.arrays[1]
        memory[top:above] = fetch_words(memory, compute_addresses(place))
        return top, 1, above

    def copy_back(self, place: Place, base: int) -> None:
        """Copy the vector at `base` back to its buffer, if `flat` copied it."""
        if base != place[1]:
            memory = self.processor.arrays[1]
            self.processor.write(place, memory[base : base + math.prod(place[2])])

    # Global arrays
    def load(self, target: Place, source: Place, site: int) -> None:
        """Load part of a global array into memory. Stops the run if an element is unset.

        `site` is the number of the place in the source, for diagnostics.
        """
        processor = self.processor
        addresses = compute_addresses(source)
        words = fetch_words(processor.shared[1], addresses)
        if processor.has_unset(words, source[0]):
            fail(processor.state, site)
        self.note(addresses)
        processor.write(target, words)

    def note(self, addresses: Any) -> None:
        """Record this processor as a reader of elements of the global arrays."""
        processor = self.processor
        before = processor.readers[addresses]
        processor.readers[addresses] = np.where((before == -1) | (before == processor.rank), processor.rank, -2)

    def store(self, target: Place, source: Place, site: int, twice: int) -> None:
        """Store a buffer in a global array. Stops the run if an element is unset, or has been stored before.

        `site` and `twice` are the numbers of the place in the source for either, for diagnostics.
        """
        processor = self.processor
        words = processor.read(source, site)
        addresses = compute_addresses(target)
        if processor.written[addresses].any():
            fail(processor.state, twice)
        processor.written[addresses] = twice
        put_words(processor.shared[1], addresses, words)


def _hash_call(context: int, number: int, iteration: tuple[int, ...]) -> int:
    """Return a hash of a call that is equal on all processors; counters are made >= 0, as hash(-1) == hash(-2)."""
    return hash((context, number, tuple(2 * counter if counter >= 0 else -2 * counter - 1 for counter in iteration)))
