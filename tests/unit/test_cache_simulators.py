"""The simulators of one cache against references written for clarity, and against what is known of caches."""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archline.execution.cache import CacheResult, StackDistances, compact, lru, optimal, stack_distances
from archline.execution.jit import run_interpreted
from effort import long

Mode = Callable[[], AbstractContextManager[None]]
# The first example of a test may compile a kernel.
untimed = settings(deadline=None)
both_modes = pytest.mark.parametrize("mode", [nullcontext, run_interpreted], ids=["compiled", "plain"])
simulators = pytest.mark.parametrize("simulate", [optimal, lru])

traces = st.lists(st.tuples(st.integers(0, 9), st.booleans()), max_size=60)
capacities = st.integers(1, 12)


def arrays(trace: Sequence[tuple[int, bool]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([line for line, _ in trace], np.int64), np.array([write for _, write in trace], bool)


def reference_lru(trace: Sequence[tuple[int, bool]], capacity: int) -> CacheResult:
    cache: OrderedDict[int, bool] = OrderedDict()
    io = writebacks = 0
    for line, write in trace:
        if line not in cache:
            io += 1
            if len(cache) == capacity:
                writebacks += cache.popitem(last=False)[1]
            cache[line] = False
        cache.move_to_end(line)
        cache[line] |= write
    return CacheResult(io, writebacks + sum(cache.values()))


def reference_optimal(trace: Sequence[tuple[int, bool]], capacity: int) -> CacheResult:
    cache: dict[int, bool] = {}
    io = writebacks = 0
    lines = [line for line, _ in trace]
    for access, (line, write) in enumerate(trace):
        if line not in cache:
            io += 1
            if len(cache) == capacity:
                rest = lines[access:]
                victim = max(cache, key=lambda held: rest.index(held) if held in rest else len(lines))
                writebacks += cache.pop(victim)
            cache[line] = False
        cache[line] |= write
    return CacheResult(io, writebacks + sum(cache.values()))


def least_fetched(lines: Sequence[int], capacity: int) -> int:
    """The best of all eviction choices: a search through every reachable content of the cache."""
    costs: dict[frozenset[int], int] = {frozenset(): 0}
    for line in lines:
        following: dict[frozenset[int], int] = {}
        for content, cost in costs.items():
            if line in content:
                choices = [(content, cost)]
            elif len(content) < capacity:
                choices = [(content | {line}, cost + 1)]
            else:
                choices = [((content - {victim}) | {line}, cost + 1) for victim in content]
            for chosen, total in choices:
                following[chosen] = min(total, following.get(chosen, total))
        costs = following
    return min(costs.values())


def fetched_by_heap(lines: Sequence[int], capacity: int) -> int:
    """Belady's replacement with a heap of next uses, for traces too long for the other reference."""
    upcoming: dict[int, int] = {}
    following = [0] * len(lines)
    for access in range(len(lines) - 1, -1, -1):
        following[access] = upcoming.get(lines[access], len(lines))
        upcoming[lines[access]] = access
    held: dict[int, int] = {}
    heap: list[tuple[int, int]] = []
    io = 0
    for access, line in enumerate(lines):
        if line not in held:
            io += 1
            while len(held) == capacity:
                use, victim = heapq.heappop(heap)
                if held.get(victim) == -use:
                    del held[victim]
        held[line] = following[access]
        heapq.heappush(heap, (-following[access], line))
    return io


def reference_distances(lines: Sequence[int]) -> tuple[dict[int, int], int]:
    """Distances as numbers of lines whose latest access is not older, from the sorted latest accesses."""
    latest: dict[int, int] = {}
    times: list[int] = []
    counts: dict[int, int] = {}
    for access, line in enumerate(lines):
        if line in latest:
            distance = len(times) - bisect_right(times, latest[line]) + 1
            counts[distance] = counts.get(distance, 0) + 1
            times.remove(latest[line])
        latest[line] = access
        times.append(access)
    return counts, len(latest)


def counted(distances: StackDistances) -> tuple[dict[int, int], int]:
    return {int(d): int(distances.histogram[d]) for d in np.flatnonzero(distances.histogram)}, distances.cold


@both_modes
@untimed
@given(trace=traces, capacity=capacities)
def test_both_policies_count_as_their_references(mode: Mode, trace: list[tuple[int, bool]], capacity: int) -> None:
    lines, writes = arrays(trace)
    with mode():
        assert lru(lines, capacity, writes) == reference_lru(trace, capacity)
        assert optimal(lines, capacity, writes) == reference_optimal(trace, capacity)


@both_modes
@untimed
@given(lines=st.lists(st.integers(0, 4), max_size=11), capacity=st.integers(1, 4))
def test_optimal_fetches_as_few_lines_as_the_best_of_all_choices(mode: Mode, lines: list[int], capacity: int) -> None:
    with mode():
        assert optimal(np.array(lines, np.int32), capacity).io == least_fetched(lines, capacity)


@both_modes
@untimed
@given(trace=traces)
def test_stack_distances_count_as_their_reference_and_give_lru_at_every_size(
    mode: Mode, trace: list[tuple[int, bool]]
) -> None:
    lines, _ = arrays(trace)
    with mode():
        distances = stack_distances(lines)
        assert counted(distances) == reference_distances(lines.tolist())
        assert distances.accesses == len(trace)
        sizes = np.arange(1, 13)
        assert distances.misses(sizes).tolist() == [lru(lines, int(size)).io for size in sizes]
        assert [distances.misses(int(size)) for size in sizes] == distances.misses(sizes).tolist()


@untimed
@given(trace=traces, capacity=capacities)
def test_inclusion_and_the_competitive_ratio(trace: list[tuple[int, bool]], capacity: int) -> None:
    lines, _ = arrays(trace)
    distances = stack_distances(lines)
    best = optimal(lines, capacity).io
    assert optimal(lines, capacity + 1).io <= best <= distances.misses(capacity)
    for larger in range(capacity, capacity + 4):
        # Sleator and Tarjan, Communications of the ACM 28(2), 1985, theorem 6.
        assert best * larger >= (distances.misses(larger) - capacity) * (larger - capacity + 1)


@long
@both_modes
@pytest.mark.parametrize(("span", "skew"), [(3000, 1.0), (3000, 3.0), (700, 1.5)])
def test_long_traces_reach_every_level_of_the_structures(mode: Mode, span: int, skew: float) -> None:
    lines = (np.random.default_rng(span).random(20_000) ** skew * span).astype(np.int32)
    with mode():
        assert counted(stack_distances(lines)) == reference_distances(lines.tolist())
        for capacity in (1, 2, 60, 500, 2500):
            assert optimal(lines, capacity).io == fetched_by_heap(lines.tolist(), capacity)


@both_modes
@simulators
def test_write_backs_of_evicted_and_of_flushed_lines(mode: Mode, simulate: Callable[..., CacheResult]) -> None:
    sweep = np.repeat(np.arange(5), 2)
    written = np.arange(10) % 2 == 1
    with mode():
        assert simulate(sweep, 2, written) == CacheResult(5, 5)
        assert simulate(sweep, 5, written.astype(np.uint8)) == CacheResult(5, 5)
        assert simulate(sweep, 2, np.zeros(10, bool)) == CacheResult(5, 0)
        assert simulate(sweep, 2) == CacheResult(5, 0)
        # Line 0 is written, evicted by 1, written again, and flushed at the end: two write-backs of one line.
        assert simulate(np.array([0, 1, 0]), 1, np.array([True, False, True])) == CacheResult(3, 2)


@both_modes
def test_the_empty_trace(mode: Mode) -> None:
    nothing = np.array([], np.int64)
    with mode():
        assert optimal(nothing, 3) == lru(nothing, 3) == CacheResult(0, 0)
        distances = stack_distances(nothing)
        assert (distances.cold, distances.accesses, distances.misses(1)) == (0, 0, 0)
        assert distances.misses(np.array([1, 2])).tolist() == [0, 0]


@both_modes
@untimed
@given(trace=traces, data=st.data())
def test_line_numbers_are_only_names(mode: Mode, trace: list[tuple[int, bool]], data: st.DataObject) -> None:
    names = data.draw(st.lists(st.integers(0, 2**63 - 1), min_size=10, max_size=10, unique=True))
    lines, writes = arrays(trace)
    with mode():
        for dtype in (np.int64, np.uint64):
            renamed = np.array([names[line] for line in lines], dtype)
            assert optimal(renamed, 3, writes) == optimal(lines, 3, writes)
            assert counted(stack_distances(renamed)) == counted(stack_distances(lines))


@both_modes
def test_many_sparse_lines_outgrow_the_first_hash_table(mode: Mode) -> None:
    lines = np.tile(np.arange(40_000) * 2**40, 2)
    with mode():
        trace = compact(lines)
        assert trace.distinct == 40_000
        assert trace.lines.tolist() == 2 * list(range(40_000))


@pytest.mark.parametrize(
    ("lines", "writes", "message"),
    [
        (np.array([1, -1]), None, "at least 0"),
        (np.array([2**63], np.uint64), None, "below 2\\^63"),
        (np.array([1.0]), None, "integers"),
        (np.array([[1]]), None, "1-D"),
        (np.array([1, 2]), np.array([True]), "array of 2"),
        (np.array([1]), np.array([1]), "uint8"),
    ],
)
def test_malformed_traces_are_refused(lines: np.ndarray, writes: np.ndarray | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        compact(lines, writes)


def test_a_cache_of_no_line_is_refused() -> None:
    lines = np.array([1, 2])
    for refused in (
        lambda: optimal(lines, 0),
        lambda: lru(lines, 0),
        lambda: stack_distances(lines).misses(0),
        lambda: stack_distances(lines).misses(np.array([1, 0])),
    ):
        with pytest.raises(ValueError, match="at least one line"):
            refused()
