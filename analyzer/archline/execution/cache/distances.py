"""LRU stack distances give the misses of LRU caches of every size in one pass over a trace.

Mattson, Gecsei, Slutz and Traiger (IBM Systems Journal 9(2), 1970): an access hits in an LRU cache of C lines iff at
most C distinct lines, its own among them, were accessed since (and including) its previous access. Each line has a mark
at the time of its latest access, and marks after a time are counted (Bennett and Kruskal, IBM Journal of Research and
Development 19(4), 1975): in 64-bit words, with a Fenwick tree (Software: Practice and Experience 24(3), 1994) of the
words' population counts.
"""

from __future__ import annotations

from functools import cached_property
from typing import overload

import numpy as np
from numpy.typing import NDArray

from archline.execution.cache.trace import CompactTrace, Lines, prepare_trace
from archline.execution.jit import Buffer, helper, kernel, make_buffer, popcount, to_array
from archline.records import record

_WORD = 64
_SPARE = 4
_NEAR = 8
_NONE = -1  # no line, no time
_IN_TOP_FOUR = -2


@record(eq=False)
class StackDistances:
    """The LRU stack distances of a trace.

    `histogram[d]` counts the accesses at distance d, 1 for an immediate repetition; its length is the number
    of distinct lines plus 1 and `histogram[0]` is 0. `cold` counts first accesses, which have no distance.
    """

    histogram: NDArray[np.int64]
    cold: int

    @property
    def accesses(self) -> int:
        return self.cold + int(self._hits[-1])

    @cached_property
    def _hits(self) -> NDArray[np.int64]:
        return np.cumsum(self.histogram)

    @overload
    def misses(self, capacity: int) -> int: ...
    @overload
    def misses(self, capacity: NDArray[np.integer]) -> NDArray[np.int64]: ...
    def misses(self, capacity: int | NDArray[np.integer]) -> int | NDArray[np.int64]:
        """Return the misses (lines fetched) of an LRU cache of `capacity` lines, or for each capacity in an array.

        ValueError if a capacity is below 1.
        """
        largest = len(self._hits) - 1
        capacities = np.asarray(min(capacity, largest + 1) if isinstance(capacity, int) else capacity)
        if (capacities < 1).any():
            raise ValueError("a cache holds at least one line")
        misses = self.accesses - self._hits[np.minimum(capacities, largest)]
        return int(misses) if capacities.ndim == 0 else misses


def stack_distances(lines: Lines | CompactTrace) -> StackDistances:
    """Return the histogram of LRU stack distances of a trace. ValueError if it is malformed (see `compact`)."""
    source = prepare_trace(lines)
    accesses = lines.accesses if isinstance(lines, CompactTrace) else len(lines)
    words = -(-min(len(source.lines) + 1, _SPARE * (source.bound + _WORD)) // _WORD)
    histogram = make_buffer(source.bound + 2, 0, np.int64)
    cold = _fill_histogram(
        source.lines,
        make_buffer(source.bound, _NONE, source.numbers),
        make_buffer(words * _WORD, 0, source.numbers),
        make_buffer(words, 0, np.int64),
        make_buffer(words + 1, 0, source.numbers),
        histogram,
    )
    counts = to_array(histogram, np.int64)[: int(cold) + 1].copy()
    if cold:
        counts[1] = accesses - cold - counts[2:].sum()
    return StackDistances(counts, int(cold))


@helper
def _count_marks_after(words: Buffer, tree: Buffer, live: int, time: int, now: int) -> int:
    """Count the marks at times after `time`: in the words up to `now` if these are few, else by the tree."""
    word = time >> 6
    last = now >> 6
    through = words[word] & ((2 << (time & 63)) - 1)
    if last - word <= _NEAR:
        marks = popcount(words[word]) - popcount(through)
        for between in range(word + 1, last + 1):
            marks += popcount(words[between])
    else:
        marks = live - popcount(through)
        while word > 0:
            marks -= tree[word]
            word &= word - 1
    return marks


@helper
def _move_mark(words: Buffer, tree: Buffer, old: int, new: int) -> None:
    """Move a mark from time `old` to the later time `new`; in the tree only nodes on one of the two paths change."""
    words[old >> 6] ^= 1 << (old & 63)
    words[new >> 6] |= 1 << (new & 63)
    behind = (old >> 6) + 1
    ahead = (new >> 6) + 1
    while behind < ahead:
        tree[behind] -= 1
        behind += behind & -behind
    # A node on the path from `behind` that is not before `ahead` is on the path from `ahead` too.
    meeting = min(behind, len(tree))
    while ahead < meeting:
        tree[ahead] += 1
        ahead += ahead & -ahead


@helper
def _renumber_marks(latest: Buffer, owners: Buffer, words: Buffer, tree: Buffer, times: int) -> int:
    """Renumber the times of the marks to 0, 1, ... in their order; return the number of marks."""
    live = 0
    for time in range(times):
        line = owners[time]
        if latest[line] == time:
            latest[line] = live
            owners[live] = line
            live += 1
    for word in range(len(words)):
        marks = min(max(live - (word << 6), 0), 64)
        words[word] = (2 << (marks - 1)) - 1 if marks else 0
        tree[word + 1] = marks
    for node in range(1, len(tree)):
        above = node + (node & -node)
        if above < len(tree):
            tree[above] += tree[node]
    return live


@helper
def _append_mark(words: Buffer, tree: Buffer, time: int) -> None:
    words[time >> 6] |= 1 << (time & 63)
    node = (time >> 6) + 1
    while node < len(tree):
        tree[node] += 1
        node += node & -node


@kernel
def _fill_histogram(
    lines: Buffer, latest: Buffer, owners: Buffer, words: Buffer, tree: Buffer, histogram: Buffer
) -> int:
    """Fill the histogram, and return the number of distinct lines; immediate repetitions are skipped.

    The top four lines of the LRU stack are variables; each other line has a mark at the time when it left these.
    `latest` has the time of each line, _IN_TOP_FOUR or _NONE (before the first access); `owners` has the line of each
    time. When times reach the end of `words`, a few times the number of lines, the marks are renumbered.
    """
    times = len(owners)
    now = 0
    live = 0
    first = second = third = fourth = _NONE
    distinct = 0
    for line in lines:
        if line == first:
            continue
        if line == second:
            histogram[2] += 1
        elif line == third:
            histogram[3] += 1
            third = second
        else:
            sinking = fourth
            fourth = third
            third = second
            if line == sinking:
                histogram[4] += 1
            else:
                if now == times:
                    now = _renumber_marks(latest, owners, words, tree, times)
                before = latest[line]
                if before == _NONE:
                    distinct += 1
                if before >= 0:
                    histogram[_count_marks_after(words, tree, live, before, now) + 5] += 1
                    _move_mark(words, tree, before, now)
                elif sinking >= 0:
                    _append_mark(words, tree, now)
                    live += 1
                latest[line] = _IN_TOP_FOUR
                if sinking >= 0:
                    latest[sinking] = now
                    owners[now] = sinking
                    now += 1
        second = first
        first = line
    return distinct
