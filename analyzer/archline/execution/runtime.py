"""Define the functions that generated code calls: memory, events, facts about integers and integer arrays.

Most functions serve both plain Python and, through numba, compiled code; where the two must differ, each has a function
of its own, and generated code calls it by the same name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, MutableSequence
from typing import Any

import numpy as np

from archline.execution import arithmetic, races
from archline.execution.cache import streamed
from archline.execution.jit import helper, read_now
from archline.execution.slots import CAPACITY, EVENTS, NO_INT, PEAK, SHADOW, SITE_FULL, UNSET_REAL
from archline.execution.stops import StoppedError, fail

Words = MutableSequence[Any]


@helper
def ceil_log2(count: int) -> int:
    """Return the smallest k with 2^k >= count, for count >= 1."""
    power = 0
    while (1 << power) < count:
        power += 1
    return power


@helper
def count_digits(value: int, base: int) -> int:
    """Return the number of powers of a base from 1 on that are at most a value; 0 for values below 1."""
    count = 0
    while value > 0:
        value = value // base
        count += 1
    return count


@helper
def spread(index: int) -> int:
    """Move bit k of the index (below 2^31) to bit 2*k."""
    index = (index | (index << 16)) & 0x0000FFFF0000FFFF
    index = (index | (index << 8)) & 0x00FF00FF00FF00FF
    index = (index | (index << 4)) & 0x0F0F0F0F0F0F0F0F
    index = (index | (index << 2)) & 0x3333333333333333
    return (index | (index << 1)) & 0x5555555555555555


@helper
def enclosing_square(rows: int, columns: int) -> int:
    """Return s^2 for the least power of 2 with s >= rows and s >= columns; 0 if either is 0."""
    if rows == 0 or columns == 0:
        return 0
    side = 1
    while side < rows or side < columns:
        side *= 2
    return side * side


# Facts
@helper
def is_power(value: int, base: int) -> bool:
    """Test whether value = base^k for an integer k >= 0."""
    if base < 2 or value < 1:
        return value == 1
    while value % base == 0:
        value = value // base
    return value == 1


@helper
def compiled_floor_sqrt(value: int) -> int:
    """Return floor(sqrt(value)) for value >= 0 in 64 bits."""
    root = int(math.sqrt(float(value)))
    while root * root > value:
        root -= 1
    # The square of root + 1 may leave 64 bits.
    while root + 1 <= value // (root + 1):
        root += 1
    return root


def plain_exact_sqrt(value: int) -> int:
    """Return the square root of a square number; -1 for other numbers."""
    root = math.isqrt(value) if value >= 0 else 0
    return root if root * root == value else -1


@helper
def compiled_exact_sqrt(value: int) -> int:
    """Return the square root of a square number in 64 bits; -1 for other numbers."""
    if value < 0:
        return -1
    root = compiled_floor_sqrt(value)
    return root if root * root == value else -1


@helper
def exact_log2(value: int) -> int:
    """Return log2 of a power of 2; -1 for other numbers."""
    if value < 1 or value & (value - 1) != 0:
        return -1
    return ceil_log2(value)


@helper
def common_divisor(left: int, right: int) -> int:
    """Return the greatest common divisor; gcd(0, n) = |n|."""
    left, right = abs(left), abs(right)
    while right != 0:
        left, right = right, left % right
    return left


# Facts about arrays of integers: if one breaks a rule, the run stops with the position and the value in the state.
@helper
def offsets_total(ints: Words, state: Words, site: int, base: int, entries: int, stride: int, unset: Any) -> int:
    """Return the last of `entries` offsets; stop the run unless they start at 0 and do not decrease.

    `site` is the number of the place in the source, for diagnostics.
    """
    before = 0
    for k in range(entries):
        value = ints[base + k * stride]
        if value == unset:
            fail(state, site, 0, k)
        if k == 0 and value != 0:
            fail(state, site, 1, value)
        if value < before:
            fail(state, site, 2, k, before, value)
        before = value
    if entries < 1:
        fail(state, site, 3)
    return before


@helper
def longest_gap(ints: Words, base: int, entries: int, stride: int) -> int:
    """Return the largest difference of neighbouring offsets; 0 if there are fewer than two."""
    longest = 0
    for k in range(1, entries):
        gap = ints[base + k * stride] - ints[base + (k - 1) * stride]
        if gap > longest:
            longest = gap
    return longest


@helper
def index_bound(ints: Words, state: Words, site: int, base: int, entries: int, stride: int, unset: Any) -> int:
    """Return the smallest number above every index; stop the run if one is unset or negative.

    `site` is the number of the place in the source, for diagnostics.
    """
    bound = 0
    for k in range(entries):
        value = ints[base + k * stride]
        if value == unset:
            fail(state, site, 0, k)
        if value < 0:
            fail(state, site, 1, k, value)
        if value >= bound:
            bound = value + 1
    return bound


# Memory
def plain_allocate(mem: Any, base: int, words: int, alive: int, real: int) -> None:
    """Make words of memory from `base` on unset, for a local array; lists grow as needed.

    `alive` is the number of words in arrays that are alive then, for the peak. `real` has no effect.
    """
    memory, state = mem[0], mem[2]
    if base + words > state[CAPACITY]:
        fail(state, SITE_FULL, 0, base + words)
    if base + words > len(memory):
        memory.extend([None] * (base + words - len(memory)))
    memory[base : base + words] = [None] * words
    if alive > state[PEAK]:
        state[PEAK] = alive
    shadow = mem[7]
    if shadow is not None:
        if SHADOW * (base + words) > len(shadow):
            shadow.extend([0] * (SHADOW * (base + words) - len(shadow)))
        shadow[SHADOW * base : SHADOW * (base + words)] = [0] * (SHADOW * words)


@helper
def compiled_allocate(mem: Any, base: int, words: int, alive: int, real: int) -> None:
    """Allocate like `plain_allocate`, in a memory of fixed length."""
    ints, state, shadow = mem[1], mem[2], mem[7]
    if base + words > len(ints):
        fail(state, SITE_FULL, 0, base + words)
    mark = NO_INT
    if real == 1:
        mark = UNSET_REAL
    for address in range(base, base + words):
        ints[address] = mark
    if alive > state[PEAK]:
        state[PEAK] = alive
    if len(shadow) > 0:
        for index in range(SHADOW * base, SHADOW * (base + words)):
            shadow[index] = 0


def grid_allocate(mem: Any, base: int, words: int, alive: int, real: int) -> None:
    """Allocate like `compiled_allocate`, for a processor of a grid, which runs as plain Python."""
    ints, state = mem[1], mem[2]
    if base + words > len(ints):
        fail(state, SITE_FULL, 0, base + words)
    ints[base : base + words] = UNSET_REAL if real else NO_INT
    if alive > state[PEAK]:
        state[PEAK] = alive


def append_plain_event(mem: Any, kind: int, position: int, value: int) -> None:
    """Append an event to the log: its kind, the number of accesses before it, its value."""
    mem[4].extend((kind, position, value))


@helper
def append_compiled_event(mem: Any, kind: int, position: int, value: int) -> None:
    """Append an event to a log of fixed length; events are still counted when it is full."""
    log, state = mem[4], mem[2]
    at = 3 * state[EVENTS]
    if at + 3 <= len(log):
        log[at] = kind
        log[at + 1] = position
        log[at + 2] = value
    state[EVENTS] += 1


SHARED_FUNCTIONS: tuple[Callable[..., Any], ...] = (
    fail,
    ceil_log2,
    count_digits,
    spread,
    enclosing_square,
    is_power,
    exact_log2,
    common_divisor,
    offsets_total,
    longest_gap,
    index_bound,
    arithmetic.real_min,
    arithmetic.real_max,
    arithmetic.add_int,
    arithmetic.add_infinite,
    arithmetic.sub_int,
    arithmetic.to_int,
    arithmetic.mul_int,
    arithmetic.pow_int,
    races.into_parallel,
    races.into_serial,
    races.race_read,
    races.race_write,
    races.race_atomic,
    streamed.lru_miss,
    streamed.lru_tidy,
)


_PLAIN_FUNCTIONS = {
    **arithmetic.PLAIN_FUNCTIONS,
    "exact_sqrt": plain_exact_sqrt,
    "floor_sqrt": math.isqrt,
    "allocate": plain_allocate,
    "event": append_plain_event,
    "new_task": races.make_plain_task,
    "new_shadow": races.make_plain_shadow,
}
_COMPILED_FUNCTIONS = {
    **arithmetic.COMPILED_FUNCTIONS,
    "exact_sqrt": compiled_exact_sqrt,
    "floor_sqrt": compiled_floor_sqrt,
    "allocate": compiled_allocate,
    "event": append_compiled_event,
    "new_task": races.make_compiled_task,
    "new_shadow": races.make_compiled_shadow,
}


GRID_FUNCTIONS: dict[str, Callable[..., Any]] = {**arithmetic.PLAIN_FUNCTIONS, "allocate": grid_allocate}
"""Functions that processors of a grid, which are plain Python, call instead of compiled ones."""


def make_namespace(compiled: bool) -> dict[str, Any]:
    """Return the global names of generated code: with `compiled` the functions on arrays, else those on lists."""
    names: dict[str, Any] = {function.__name__: function for function in SHARED_FUNCTIONS}
    names["StoppedError"] = StoppedError
    names["read_now"] = read_now
    names["infinity"] = math.inf
    names["int64"] = np.int64
    return {**names, **(_COMPILED_FUNCTIONS if compiled else _PLAIN_FUNCTIONS)}
