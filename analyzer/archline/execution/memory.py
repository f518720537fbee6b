"""Make and fill the arrays on which a program runs, for one run."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from archline.execution import run_rules as rules
from archline.execution import slots
from archline.execution.binding import BoundArguments
from archline.execution.codegen.program import GeneratedProgram
from archline.execution.placement import read_array, write_array
from archline.execution.races import SERIAL
from archline.execution.results import NonfiniteOutput
from archline.execution.slots import CAPACITY, FUEL, ITERATION_LIMIT, MEM_INTS, MEM_REALS, NO_INT, SHADOW, UNSET_REAL
from archline.execution.sparse_matrix import available_memory
from archline.language import syntax as s
from archline.language.diagnostics import error
from archline.language.metrics import SEPARATE_METRICS
from archline.numbers import format_short
from archline.records import record


def available_bytes() -> int:
    """Return the bytes of memory that are available now."""
    return available_memory()


def format_bytes(count: int) -> str:
    """Format a number of bytes: `3.2 GB` and so on."""
    amount = Fraction(count)
    for unit in ("bytes", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{float(amount):.3g} {unit}"
        amount /= 1000
    return f"{float(amount):.3g} TB" if amount < 10**6 else f"{format_short(amount)} TB"


_PLAIN_WORD_BYTES = 64
_UNLIMITED_FUEL = 2**62
_START = 1 << 20
# Trace entries, of up to twice the words, fit 32 bits up to this.
MAX_INT32 = 2**31 - 1


@record(eq=False, slots=True)
class Memory:
    """The memory of a run: `arrays` is the tuple `mem` of generated code, `state` the array `K` in it (see `slots`)."""

    arrays: tuple[Any, ...]
    state: Any


@record(slots=True)
class Room:
    """The sizes of the buffers of compiled code: words of arrays, tasks, and entries of the event log."""

    words: int
    tasks: int = _START
    events: int = _START

    def enlarge(self, tasks: bool) -> Room:
        """Return a room with eight times the tasks, or else with eight times the words."""
        if tasks:
            return Room(self.words, self.tasks * 8, self.events)
        return Room(self.words * 8, self.tasks, self.events)


def make_plain_memory(
    algorithm: s.Algorithm, bound: BoundArguments, program: GeneratedProgram, fuel: int | None, rank: int | None = None
) -> Memory:
    """Return a memory of lists, which grow with the run; `None` is an unset word. `rank` selects a processor's."""
    free = available_bytes()
    size = bound.words if rank is None else bound.own_words
    shadow_factor = SHADOW + 1 if program.options.races else 1
    require_free_memory(size * _PLAIN_WORD_BYTES * shadow_factor, free)
    words: list[Any] = [None] * size
    state = [0] * (program.layout.first_counter + len(program.tables.blocks))
    state[FUEL] = _UNLIMITED_FUEL if fuel is None else fuel
    state[ITERATION_LIMIT] = slots.MAX_ITERATIONS
    state[CAPACITY] = free // (_PLAIN_WORD_BYTES * shadow_factor)
    shadow = [0] * (SHADOW * size) if program.options.races else None
    _load_arguments(algorithm, bound, words, words, rank)
    arrays: tuple[Any, ...] = (words, words, state, [], [], [0], [SERIAL], shadow, [0.0] * len(SEPARATE_METRICS))
    return Memory(arrays, state)


def make_compiled_memory(
    algorithm: s.Algorithm, bound: BoundArguments, program: GeneratedProgram, room: Room, rank: int | None = None
) -> Memory:
    """Return a memory of numpy arrays of fixed length; untouched pages take none. `rank` selects a processor's."""
    free = available_bytes()
    options = program.options
    size = bound.words if rank is None else bound.own_words
    require_free_memory(8 * size + (4 * SHADOW * size if options.races else 0), free)
    ints = _make_empty(room.words, np.int64, free)
    reals = ints.view(np.float64)
    # Padding is never read; words that are not loaded below are unset.
    state = np.zeros(program.layout.first_counter + len(program.tables.blocks), np.int64)
    state[FUEL] = _UNLIMITED_FUEL
    state[ITERATION_LIMIT] = slots.MAX_ITERATIONS
    wide = 2 * room.words > MAX_INT32
    trace = (
        _allocate_largest(free // 2, np.int64 if wide else np.int32)
        if options.trace and not options.lru
        else np.empty(0, np.int32)
    )
    events = np.empty(3 * room.events if options.events else 0, np.int64)
    tasks = room.tasks if options.races else 1
    parents, bags = np.zeros(tasks, np.int32), np.zeros(tasks, np.uint8)
    shadow = _make_zeros(SHADOW * room.words if options.races else 0, np.int32, free)
    _load_arguments(algorithm, bound, reals, ints, rank)
    arrays = (reals, ints, state, trace, events, parents, bags, shadow, np.zeros(len(SEPARATE_METRICS)))
    return Memory(arrays, state)


def require_free_memory(needed: int, free: int) -> None:
    """Refuse a run that needs more bytes than are free. Raises ArchlineError (AL519)."""
    if needed > free:
        message = f"the run needs about {format_bytes(needed)} of memory, but only {format_bytes(free)} is free"
        raise error(rules.NO_MEMORY, message, hint="choose smaller sizes")


def _load_arguments(algorithm: s.Algorithm, bound: BoundArguments, reals: Any, ints: Any, rank: int | None) -> None:
    arrays = bound.select_arrays(rank)
    for parameter in algorithm.parameters:
        array = arrays.get(parameter.name)
        if array is None:
            continue
        placement = bound.placements[parameter.name]
        real = array.dtype == np.float64
        if parameter.mode != "out":
            write_array(reals if real else ints, placement, array)
        elif not isinstance(ints, list):
            ints[placement.base : placement.base + placement.words] = UNSET_REAL if real else NO_INT


def fetch_array(bound: BoundArguments, name: str, memory: Memory) -> NDArray[Any]:
    """Return the array of a parameter after a run; an element left unset is nan, or -2^63 if it is an integer."""
    return _read_parameter(bound, name, memory, math.nan)


def find_nonfinite(bound: BoundArguments, name: str, memory: Memory, infinite: bool) -> NonfiniteOutput | None:
    """Find the first element of a parameter that is set to NaN, or with `infinite` to an infinity; None without one."""
    array = _read_parameter(bound, name, memory, 0.0)
    wrong = ~np.isfinite(array) if infinite else np.isnan(array)
    if not wrong.any():
        return None
    place = np.unravel_index(wrong.argmax(), wrong.shape)
    return NonfiniteOutput(name, float(array[place]), tuple(map(int, place)))


def _read_parameter(bound: BoundArguments, name: str, memory: Memory, unset: float) -> NDArray[Any]:
    real = bound.arrays[name].dtype == np.float64
    return read_array(memory.arrays[MEM_REALS if real else MEM_INTS], bound.placements[name], real, unset)


def _make_empty(length: int, dtype: Any, free: int) -> Any:
    return _allocate_or_refuse(lambda: np.empty(length, dtype), length * np.dtype(dtype).itemsize, free)


def _make_zeros(length: int, dtype: Any, free: int) -> Any:
    return _allocate_or_refuse(lambda: np.zeros(length, dtype), length * np.dtype(dtype).itemsize, free)


def _allocate_or_refuse(make: Callable[[], Any], size: int, free: int) -> Any:
    try:
        return make()
    except MemoryError:
        require_free_memory(max(size, free + 1), free)
        raise


def _allocate_largest(size: int, dtype: Any) -> Any:
    """Return an array of about `size` bytes, a number that is halved until the system can allocate it."""
    length = size // np.dtype(dtype).itemsize
    while True:
        try:
            return np.empty(length, dtype)
        except MemoryError:
            length //= 2
