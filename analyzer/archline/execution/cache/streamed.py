"""Simulate the LRU cache while a program runs: generated code reports each access, and no trace is kept.

`ring` holds the lines of the latest accesses in order. `latest` has 2*position + dirty for each line: the position in
the ring of its latest access, from 1 on, or 0 if it is not resident. The resident lines are those in the ring from
K[OLDEST_POSITION] on, at their latest access, with the least recently used first.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from archline.execution.cache.replacement import CacheResult
from archline.execution.jit import Buffer, helper
from archline.execution.slots import (
    CACHE_LINES,
    FETCHED_LINES,
    LINE_DIVISOR,
    MEM_INTS,
    MEM_LATEST,
    MEM_TRACE,
    OLDEST_POSITION,
    RESIDENT_LINES,
    TRACE,
    WRITTEN_BACK,
)  # fmt: skip

if TYPE_CHECKING:
    from archline.execution.memory import Memory
    from archline.execution.results import Cache

SPARE = 1 << 12
"""Entries of the ring in addition to four times the cache, so that a batch of accesses always fits."""
MAX_INT32 = 2**31 - 1


def choose_line_operator(line: int) -> str:
    """Return the operator for the line of an address by K[LINE_DIVISOR]: `>>` if `line` is a power of 2, else `//`."""
    return "//" if line & (line - 1) else ">>"


def with_lru_state(memory: Memory, cache: Cache) -> Memory:
    """Add the state of LRU to the memory of a run; its size does not grow with the number of accesses."""
    arrays, state = memory.arrays, memory.state
    line = int(cache.L)
    count = len(arrays[MEM_INTS]) // line + 1
    state[CACHE_LINES] = lines = min(int(cache.lines), count)
    state[LINE_DIVISOR] = line.bit_length() - 1 if choose_line_operator(line) == ">>" else line
    size = 4 * lines + SPARE
    number = np.int32 if 2 * size <= MAX_INT32 else np.int64
    ring, latest = np.empty(size, number), np.zeros(count, number)
    return replace(memory, arrays=(*arrays[:MEM_TRACE], ring, *arrays[MEM_TRACE + 1 :], latest))


@helper
def lru_miss(K: Any, latest: Buffer, ring: Buffer) -> None:  # noqa: N803
    """Count a line that is fetched; evict the least recently used one if the cache is full."""
    K[FETCHED_LINES] += 1
    if K[RESIDENT_LINES] < K[CACHE_LINES]:
        K[RESIDENT_LINES] += 1
        return
    oldest = K[OLDEST_POSITION]
    while latest[ring[oldest]] >> 1 != oldest + 1:
        oldest += 1
    victim = ring[oldest]
    K[OLDEST_POSITION] = oldest + 1
    K[WRITTEN_BACK] += latest[victim] & 1
    latest[victim] = 0


@helper
def lru_tidy(K: Any, latest: Buffer, ring: Buffer, now: int) -> int:  # noqa: N803
    """Move the entries of resident lines to the start of the ring; return their number."""
    entries = 0
    for position in range(K[OLDEST_POSITION], now):
        line = ring[position]
        if latest[line] >> 1 == position + 1:
            ring[entries] = line
            entries += 1
            latest[line] = 2 * entries + (latest[line] & 1)
    K[OLDEST_POSITION] = 0
    return entries


def make_result(memory: Memory) -> CacheResult:
    """Return the counts of the simulated LRU cache; lines that are dirty at the end count as written back."""
    state, ring, latest = memory.state, memory.arrays[MEM_TRACE], memory.arrays[MEM_LATEST]
    oldest, now = int(state[OLDEST_POSITION]), int(state[TRACE])
    entries = latest[ring[oldest:now]]
    dirty = (entries & 1)[entries >> 1 == np.arange(oldest + 1, now + 1)]
    return CacheResult(int(state[FETCHED_LINES]), int(state[WRITTEN_BACK]) + int(dirty.sum()))
