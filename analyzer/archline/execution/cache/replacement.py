"""Simulate a fully associative cache of C lines, empty at the start, with optimal or LRU replacement.

Every access brings its line in, a write as well as a read (no bypassing, write-allocate). A line written since it was
fetched is dirty; it is written back when it is evicted, or in the final flush.
"""

from __future__ import annotations

import numpy as np

from archline.execution.cache.trace import CompactTrace, Lines, Writes, prepare_trace
from archline.execution.jit import Buffer, helper, highest_bit, kernel, make_buffer, to_buffer
from archline.records import record

_NONE = -1  # no line, no time, no use


@record(slots=True)
class CacheResult:
    """The result of one cache: `io` lines fetched, and `writebacks` dirty lines written back, with the final flush."""

    io: int
    writebacks: int


def optimal(lines: Lines | CompactTrace, capacity: int, writes: Writes | None = None) -> CacheResult:
    """Simulate optimal replacement (Belady 1966; Mattson et al. 1970): evict the line used furthest in the future.

    `io` is the minimum over all replacement policies. `writebacks` are those of this policy and not the minimum: other
    policies with the same `io` may write back fewer. Lines that are never used again are evicted first; which one does
    not affect the counts. ValueError if `capacity` < 1 or the trace is malformed (see
    `compact`).
    """
    _require_lines(capacity)
    source = prepare_trace(lines, writes)
    accesses = len(source.lines)
    following = make_buffer(accesses, 0, source.numbers)
    marks = make_buffer(accesses if len(source.writes) else 0, 0, np.uint8)
    entries = int(
        _link_entries(source.lines, source.writes, make_buffer(source.bound, _NONE, source.numbers), following, marks)
    )
    starts = _compute_level_starts(entries)
    words = make_buffer(starts[-1], 0, np.int64)
    levels = to_buffer(np.array(starts, np.int64))
    # Kernels use 64-bit integers, but a capacity can be larger.
    io, written = _run_optimal(following, marks, entries, words, levels, min(capacity, source.bound))
    return CacheResult(int(io), int(written))


def lru(lines: Lines | CompactTrace, capacity: int, writes: Writes | None = None) -> CacheResult:
    """Simulate least recently used replacement. ValueError if `capacity` < 1 or the trace is malformed (`compact`)."""
    _require_lines(capacity)
    source = prepare_trace(lines, writes)
    latest = make_buffer(source.bound, _NONE, source.numbers)
    dirty = make_buffer(source.bound, 0, np.uint8)
    io, written = _run_lru(source.lines, source.writes, latest, dirty, min(capacity, source.bound))
    return CacheResult(int(io), int(written))


def _require_lines(capacity: int) -> None:
    if capacity < 1:
        raise ValueError(f"a cache holds at least one line, not {capacity}")


def _compute_level_starts(bits: int) -> list[int]:
    """Return where the levels of a hierarchical bitset of `bits` bits start in one array of words, and its length.

    A set bit of level k + 1 means that a word of level k is not zero; the last level is one word.
    """
    starts = [0]
    while True:
        bits = (bits + 63) // 64
        starts.append(starts[-1] + bits)
        if bits <= 1:
            return starts


@helper
def _insert_bit(words: Buffer, starts: Buffer, bit: int) -> None:
    for level in range(len(starts) - 1):
        word = starts[level] + (bit >> 6)
        before = words[word]
        words[word] = before | (1 << (bit & 63))
        if before != 0:
            break
        bit >>= 6


@helper
def _find_maximum_bit(words: Buffer, starts: Buffer) -> int:
    """Return the largest set bit, _NONE if none is set."""
    if words[len(words) - 1] == 0:
        return _NONE
    bit = 0
    for level in range(len(starts) - 2, -1, -1):
        bit = (bit << 6) + highest_bit(words[starts[level] + bit])
    return bit


@helper
def _remove_bit(words: Buffer, starts: Buffer, bit: int) -> None:
    for level in range(len(starts) - 1):
        word = starts[level] + (bit >> 6)
        words[word] ^= 1 << (bit & 63)
        if words[word] != 0:
            break
        bit >>= 6


@kernel
def _link_entries(lines: Buffer, writes: Buffer, latest: Buffer, following: Buffer, marks: Buffer) -> int:
    """Merge runs of accesses to one line into entries; return their number.

    `following` is set to the next entry of the same line (0: none), `marks` to 1 for entries that write.
    """
    marked = len(writes) > 0
    entries = 0
    previous = _NONE
    for access in range(len(lines)):
        line = lines[access]
        if line != previous:
            previous = line
            before = latest[line]
            if before >= 0:
                following[before] = entries
            latest[line] = entries
            entries += 1
        if marked and writes[access]:
            marks[entries - 1] = 1
    return entries


@kernel
def _run_optimal(
    following: Buffer, marks: Buffer, entries: int, words: Buffer, starts: Buffer, capacity: int
) -> tuple[int, int]:
    """Simulate optimal replacement; return the lines fetched and written back.

    A resident line is a bit in a bitset over entries, at its next use, so an entry hits if its bit is set. Bits of past
    entries are not cleared, as an eviction takes the maximum, which is in the future. Lines without a next use are only
    counted (`dead`), and written back at their last use. Any other dirty line has a 2 in the mark of its next use.

    The latest next use is held in `pending` instead of the bitset; while it is above `bound`, an upper bound of all
    bits, it is the maximum. Lines of a stream are mostly evicted from there, without a search in the bitset.
    """
    marked = len(marks) > 0
    io = 0
    written = 0
    held = 0
    dead = 0
    pending = _NONE
    bound = _NONE
    for entry in range(entries):
        if entry == pending:
            pending = _NONE
        elif (words[entry >> 6] >> (entry & 63)) & 1 == 0:
            io += 1
            if held < capacity:
                held += 1
            elif dead > 0:
                dead -= 1
            else:
                victim = pending
                if pending <= bound:
                    bound = _find_maximum_bit(words, starts)
                    victim = max(pending, bound)
                if victim == pending:
                    pending = _NONE
                else:
                    _remove_bit(words, starts, victim)
                if marked:
                    written += marks[victim] >> 1
                    marks[victim] &= 1
        use = following[entry]
        if use == 0:
            dead += 1
            if marked and marks[entry]:
                written += 1
            continue
        if marked and marks[entry]:
            marks[use] |= 2
        if use > pending:
            use, pending = pending, use
        if use >= 0:
            _insert_bit(words, starts, use)
            bound = max(bound, use)
    return io, written


@kernel
def _run_lru(lines: Buffer, writes: Buffer, latest: Buffer, dirty: Buffer, capacity: int) -> tuple[int, int]:
    """Simulate LRU; return the lines fetched and written back. Resident lines are those accessed since `oldest`."""
    marked = len(writes) > 0
    io = 0
    written = 0
    held = 0
    oldest = 0
    previous = _NONE
    for access in range(len(lines)):
        line = lines[access]
        if line != previous:
            previous = line
            if latest[line] < oldest:
                io += 1
                if held < capacity:
                    held += 1
                else:
                    while latest[lines[oldest]] != oldest:
                        oldest += 1
                    victim = lines[oldest]
                    oldest += 1
                    written += dirty[victim]
                    dirty[victim] = 0
            latest[line] = access
        if marked and writes[access]:
            dirty[line] = 1
    if marked:
        for flag in dirty:
            written += flag
    return io, written
