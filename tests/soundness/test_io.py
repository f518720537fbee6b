"""Bounds on io hold what optimal replacement fetches: of the library, generated programs of every kind, and those by hand.

What a cost gives at sizes is the sharpest of all its bounds, and every closed form that it prints is compared as well: a
single one that does not hold shows. benchmarks/soundness.py compares at thousands of points.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archline.analysis.cost import enclose_cost
from archline.analysis.metrics.accesses import bound_accesses
from archline.execution.cache import optimal
from archline.execution.run import execute
from effort import drawn
from io_cases import KINDS
from io_generated import (
    around,
    arrays,
    divided,
    fillings,
    indices,
    loops,
    parities,
    recursion,
    remainders,
    split_boxes,
    stencils,
    strides,
    tiles,
    time_tiles,
    triangles,
    walks,
    whole_tiles,
)
from io_moving_cases import MOVING
from io_points import Arguments, Sizes, Subject, arguments, capacities, kernel, subject
from stdlib_cases import CASES
from stdlib_recursive_cases import RECURSIVE

LIBRARY = {**CASES, **RECURSIVE}
DECIDED_BY_DATA = (
    "sparse.csb::csb_row",
    "sparse.csb::spmv_csb",
    "sort.select::select",
    "sort.mergesort::mergesort_parallel",
)
GENERATED: dict[Callable[[int], Subject], int] = {
    loops: 40,
    arrays: 40,
    recursion: 24,
    walks: 32,
    strides: 20,
    stencils: 20,
    parities: 20,
    triangles: 20,
    tiles: 20,
    whole_tiles: 20,
    time_tiles: 16,
    remainders: 16,
    indices: 40,
    divided: 40,
    around: 30,
    fillings: 160,
    split_boxes: 60,
}
"""How many programs of each kind are drawn."""
PARTS = 4


def assert_points(given: Subject, source: random.Random, count: int, runs: int = 1) -> int:
    found = [point for _ in range(runs) for point in given.points(given.draw(source), source, count, closed=True)]
    for point in found:
        assert point.holds, f"{given.name} at {point}\n{given.text}"
    return len(found)


@pytest.mark.parametrize("target", sorted(LIBRARY))
def test_the_library(target: str) -> None:
    assert assert_points(
        kernel(target, LIBRARY[target]), random.Random(target), 8, 4 if target in DECIDED_BY_DATA else 2
    )


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("kind", GENERATED)
def test_generated_programs(kind: Callable[[int], Subject], part: int) -> None:
    source = random.Random(f"{kind.__name__} {part}")
    for number in range(part, drawn(GENERATED[kind], least=PARTS), PARTS):
        assert_points(kind(number), source, 6, 2)


def assert_sound(text: str, sizes: Sizes, source: random.Random) -> None:
    """At small capacities, where something begins to fit, and at others, with lines of three lengths."""
    given = subject(text)
    known = given.bounds
    assert not isinstance(known, str), known
    for line in (1, 4, 8):
        bound, trace = given.trace(arguments(given.algorithm, sizes, source), line)
        edges = known.edges({**bound, "Z": line, "L": line})
        for capacity in sorted({*range(2, 7), *capacities(trace.distinct, edges, source, 9)}):
            words = capacity * line + source.randrange(line)
            lower, upper = known.closed({**bound, "Z": words, "L": line})
            fetched = optimal(trace, capacity).io if trace.accesses else 0
            assert lower <= fetched <= upper, (
                f"{bound}, Z={words}, L={line}: {lower} <= {fetched} <= {upper} in\n{text}"
            )


@pytest.mark.parametrize("name", [*KINDS, *MOVING])
def test_every_kind_of_program(name: str) -> None:
    text, sizes = {**KINDS, **MOVING}[name]
    source = random.Random(name)
    for each in sizes:
        assert_sound(text, each, source)


NOTHING_IN_PLACE = {
    "copies": """algorithm main(x: real[n], y: inout real[m]):
    local t: real[m, n] = 0
    for i in 0..m:
        t[i, :] = x
        y[i] = t[i, n - 1]
""",
    "branches on sizes": """algorithm main(x: real[n], y: inout real[n]):
    if n > 3:
        for i in 0..n:
            if i > 2:
                y[i] = x[i] + x[0]
            else:
                y[i] = x[i]
    else:
        y[0] = x[0]
""",
    "halves": """algorithm main(x: inout real[n]):
    if n > 1:
        main(x[0..n//2])
        main(x[n//2..n])
        x[0] = x[n - 1]*x[n//2]
""",
    "calls in loops": """algorithm row(x: real[m], y: inout real[m]):
    for j in 0..m:
        y[j] = x[j]

algorithm main(A: real[n, m], B: inout real[n, m]):
    for i in 0..n:
        row(A[i, :], B[i, :])
        row(B[i, :], B[n - 1 - i, :])
""",
}
"""Programs without updates in place, each of which the executor counts as two accesses."""


@pytest.mark.parametrize("name", NOTHING_IN_PLACE)
def test_accesses_are_those_that_are_executed(name: str) -> None:
    given = subject(NOTHING_IN_PLACE[name])
    for n, m in ((1, 2), (3, 1), (7, 5), (16, 4)):
        run = execute(given.module, given.algorithm, arguments(given.algorithm, {"n": n, "m": m}, random.Random(name)))
        assert enclose_cost(bound_accesses(given.module, given.algorithm), run.sizes).upper == run.counts.accesses


# Walks of integers that the data moves: what is accessed before and behind them
WALK = """
algorithm main(a: inout real[n], b: inout real[n]):
    for i in 1..(n - 1)//4 + 1:
        {before}
        local j: int = {start}
        while j > 0 and {access} > -1.0 at most 4*i times:
            j -= 1
            {move}
        {behind}
"""
OFF = {"before": "b[0] = 0.5", "start": "4*i", "access": "a[j - 1]", "move": "b[1] += 0.5", "behind": "b[0] = 0.25"}
UP = """
algorithm main(a: inout real[n]):
    for i in 0..(n - 2)//4:
        local j: int = 4*i
        while j < n and a[j] > -1.0 at most n times:
            j += 1
        {behind}
"""
WALKS = {
    "begins at its first place": {"before": "a[4*i] = 0.5"},
    "ends where it came to": {"behind": "a[j] = 0.5"},
    "its first place comes again": {"behind": "a[4*i] = 0.5"},
    "its first place is far from the walk": {"before": "a[n - i] = 0.5"},
    "moves on behind it": {"behind": "j = 4*i\n        a[j] = 0.5"},
    "begins in the middle": {"start": "2*i", "before": "a[4*i] = 0.5"},
    "the place before the first": {"before": "a[4*i - 1] = 0.5", "behind": "a[max(0, j - 1)] += 0.5"},
    "places far apart": {"before": "a[4*i] = 0.5", "access": "a[j//2]", "behind": "a[j] = 0.5"},
    "a second walk": {
        "behind": "while j < 4*i at most 4*i times:\n            a[j] = 0.25\n            j += 1\n        a[j] = 0.5"
    },
}
WALKING = {name: WALK.format(**{**OFF, **changes}) for name, changes in WALKS.items()} | {
    "upwards, its first place comes again": UP.format(behind="a[4*i] = 0.5"),
    "upwards, set to the first place": UP.format(
        behind="j = 4*i\n        a[j] = 0.5\n        a[j + 1] = 0.5\n        a[j + 2] = 0.5"
    ),
}


@pytest.mark.parametrize("name", sorted(WALKING))
def test_walks_that_begin_and_end(name: str) -> None:
    for n in (2, 6, 18, 42):
        assert_sound(WALKING[name], {"n": n}, random.Random(name))


# Lines that are given up while loops of the data run: segments, most of them empty or long
HEAD = """algorithm main(p: offsets[n] into m longest k, q: offsets[n] into w, v: real[m], u: real[w],
               y: inout real[n + 1], z: inout real[n + 1]):
    where m >= 0, w >= 0, k >= 0
    for i in 0..n:
        local s: real = 0
"""
STATEMENTS = (
    "y[i] = s",
    "s += y[i] + y[i + 1]",
    "z[i] += s",
    "z[n - i] = y[i]",
    "for j in p[i]..p[i + 1]:\n            s += v[j]",
    "for j in p[i]..p[i + 1]:\n            s += v[j]*y[i]",
    "for j in q[i]..q[i + 1]:\n            s += u[j]",
    "for j in q[i]..q[i + 1]:\n            for h in p[i]..p[i + 1]:\n                s += v[h] + u[j]",
    "for j in q[i]..q[i + 1]:\n            s += u[j]\n            for h in 0..3:\n                s += z[h]",
    "if s > 0:\n            for j in p[i]..p[i + 1]:\n                s += v[j]",
)
LENGTHS = st.integers(1, 12).flatmap(
    lambda n: st.tuples(*(st.lists(st.sampled_from([0, 0, 0, 1, 2, 7]), min_size=n, max_size=n) for _ in range(2)))
)


def segments(first: Sequence[int], second: Sequence[int]) -> Arguments:
    """Segments of such lengths of two vectors, and entries."""
    p, q = (np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64) for lengths in (first, second))
    n = len(first)
    return {"p": p, "q": q, "v": np.ones(p[-1]), "u": np.ones(q[-1]), "y": np.ones(n + 1), "z": np.ones(n + 1)}


@settings(max_examples=drawn(40), deadline=None)
@given(st.lists(st.sampled_from(STATEMENTS), min_size=2, max_size=4), LENGTHS, st.sampled_from([1, 2, 4, 16]))
def test_programs_over_segments(parts: list[str], lengths: tuple[list[int], list[int]], line: int) -> None:
    text = HEAD + "".join(f"        {part}\n" for part in parts)
    found = subject(text)
    known = found.bounds
    assert not isinstance(known, str), known
    sizes, trace = found.trace(segments(*lengths), line)
    for lines in range(1, 9):
        lower, upper = known.ends({**sizes, "Z": lines * line, "L": line})
        fetched = optimal(trace, lines).io if trace.accesses else 0
        assert lower <= fetched <= upper, f"{sizes}, {lines} lines of {line}: {lower}, {fetched}, {upper} in\n{text}"


# Recursion on parts of a matrix whose updates are those of one nest only where parts are at their places
HALVED = """algorithm main(A: inout real[n, n]):
    if n <= 2:
        for k in 0..n:
            for i in k+1..n:
                for j in k+1..n:
                    A[i, j] -= A[i, k]*A[k, j]
    else:
        let h = n//2
        main(A[0..h, 0..h])
        {}
        main(A[h..n, h..n])

algorithm g(B: real[a, b], C: real[b, c], D: inout real[a, c]):
    if max(a, b, c) <= 2:
        for i in 0..a:
            for j in 0..c:
                for k in 0..b:
                    D[i, j] -= B[i, k]*C[k, j]
    elif a >= max(b, c):
        g(B[0..a//2, :], C, D[0..a//2, :])
        g(B[a//2..a, :], C, D[a//2..a, :])
    elif b >= max(a, c):
        g(B[:, 0..b//2], C[0..b//2, :], D)
        g(B[:, b//2..b], C[b//2..b, :], D)
    else:
        g(B, C[:, 0..c//2], D[:, 0..c//2])
        g(B, C[:, c//2..c], D[:, c//2..c])
"""
UPDATES = {
    "all of them": "g(A[:, 0..h], A[0..h, :], A[:, :])",
    "the last quadrant only": "g(A[h..n, 0..h], A[0..h, h..n], A[h..n, h..n])",
    "at another place": "g(A[h..n, 0..h], A[0..h, h..n], A[0..n - h, h..n])",
    "rows of the wrong half": "g(A[0..n - h, 0..h], A[0..h, h..n], A[h..n, h..n])",
    "twice": "g(A[h..n, 0..h], A[0..h, h..n], A[h..n, h..n])\n        g(A[h..n, 0..h], A[0..h, h..n], A[h..n, h..n])",
}


@pytest.mark.parametrize("name", UPDATES)
def test_updates_at_their_places_and_elsewhere(name: str) -> None:
    text = HALVED.format(UPDATES[name])
    for n in (1, 2, 5, 8):
        assert_sound(text, {"n": n}, random.Random(name))
