"""What moves between slow and fast memory: bounds on bytes and write-backs against replacements that are executed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import chain
from statistics import median

import numpy as np
import pytest

from archline.analysis.cache.analyse import derive_io_cost
from archline.analysis.cache.traffic import derive_bytes_cost, derive_writebacks_cost
from archline.analysis.cost import enclose_cost
from archline.execution.cache import optimal
from archline.execution.run import execute
from effort import EFFORT, all_of, drawn, some
from io_generated import around, arrays, loops, stencils, strides, tiles, triangles, walks
from io_points import Arguments, Sizes, Subject, arguments, capacities, kernel, subject
from stdlib_cases import CASES
from stdlib_recursive_cases import RECURSIVE

WORD = 8
PLACES = 3 if EFFORT == "quick" else 9
TARGETS = sorted({**CASES, **RECURSIVE})
Ratios = tuple[Fraction, Fraction]
"""Of the upper bound over the lower one: of bytes, and of io."""
Held = frozenset[tuple[int, bool]]
"""The lines in a cache, and whether they are changed."""


def least_moved(lines: Sequence[int], writes: Sequence[bool], capacity: int) -> int:
    """The fewest lines that any replacement fetches and writes back: all of them are tried."""
    states: dict[Held, int] = {frozenset(): 0}
    for line, written in zip(lines, writes, strict=True):
        after: dict[Held, int] = {}
        for held, moved in states.items():
            for state, more in _steps(held, line, written, capacity):
                after[state] = min(after.get(state, moved + more), moved + more)
        states = after
    return min(moved + sum(dirty for _, dirty in held) for held, moved in states.items())


def _steps(held: Held, line: int, written: bool, capacity: int) -> Iterator[tuple[Held, int]]:
    found = next((each for each in held if each[0] == line), None)
    if found is not None:
        yield held - {found} | {(line, found[1] or written)}, 0
    elif len(held) < capacity:
        yield held | {(line, written)}, 1
    else:
        for victim in held:
            yield held - {victim} | {(line, written)}, 1 + victim[1]


def test_the_search_over_replacements() -> None:
    # A changed line that is used again is given up where that saves a fetch of two: worked out by hand.
    assert least_moved([0, 1, 0, 1], [True, False, False, False], 1) == 5
    assert least_moved([0, 1, 2, 0, 1], [True, False, False, False, False], 2) == 5
    assert least_moved([0, 1, 2, 1, 0], [False, True, False, False, False], 2) == 5
    assert least_moved([0] * 9, [False] * 8 + [True], 1) == 2


def traced(given: Subject, values: Arguments, line: int) -> tuple[Sizes, list[int], list[bool]]:
    """The sizes of a run, the lines that it accesses, and which of these it writes."""
    run = execute(given.module, given.algorithm, values, line=line, trace=True, races=False, compiled=False)
    return dict(run.sizes), run.trace.lines.tolist(), [bool(each) for each in run.trace.writes.tolist()]


def assert_moves(given: Subject, values: Arguments, source: random.Random, short: bool) -> list[Ratios]:
    """Bounds hold at several capacities, beside all replacements where the run is short; how far apart they are."""
    io, back, moved = (
        of(given.module, given.algorithm) for of in (derive_io_cost, derive_writebacks_cost, derive_bytes_cost)
    )
    if moved.status == "unknown":
        return []
    line = source.choice((1, 2, 4) if short else (1, 4, 8))
    sizes, lines, writes = traced(given, values, line)
    distinct = len(set(lines))
    ratios: list[Ratios] = []
    for capacity in capacities(distinct, set(), source, PLACES) if lines else ():
        point = {**sizes, "Z": capacity * line + source.randrange(line), "L": line}
        (least, most), written = enclose_cost(moved, point).ends, enclose_cost(back, point).ends
        ran = optimal(np.array(lines), capacity, np.array(writes))
        shown = f"{given.name} at {point}: {least} .. {most} B, {written}; {ran}\n{given.text}"
        assert least <= (ran.io + ran.writebacks) * line * WORD, shown
        assert written[0] <= ran.writebacks <= written[1], shown
        assert least <= most, shown
        if len(lines) <= 60 and (distinct <= 8 or capacity <= 2):
            fewest = least_moved(lines, writes, capacity) * line * WORD
            assert least <= fewest <= most, f"{fewest} B at least; {shown}"
        fetched = enclose_cost(io, point).ends
        if least and fetched[0]:
            ratios.append((most / least, fetched[1] / fetched[0]))
    return ratios


KINDS = (loops, loops, stencils, tiles, triangles, strides, walks, arrays, around)


@pytest.mark.parametrize("part", range(4))
def test_generated_programs(part: int) -> None:
    source = random.Random(part)
    for number in range(part, drawn(40, least=8), 4):
        given = KINDS[number % len(KINDS)](number)
        assert_moves(given, given.draw(source), source, False)


@pytest.mark.parametrize("part", range(4))
def test_the_library(part: int) -> None:
    source = random.Random(part)
    for target in some(TARGETS[part::4], every=12, full=3):
        given = kernel(target, {**CASES, **RECURSIVE}[target])
        assert_moves(given, given.draw(source), source, False)


SHORT = (
    "y[i] = x[i]", "y[i] += x[m - 1 - j]", "x[i] = x[j] + y[i]", "A[i, j] += x[j]", "A[j, i] = y[i]",
    "y[j] = A[i, j] + A[j, i]", "x[i] += 1.0\n            y[i] = x[j]",
)  # fmt: skip


def shorts(source: random.Random) -> tuple[Subject, Arguments]:
    """A program of one or two small nests, and arguments of which it accesses few lines."""
    nests = chain.from_iterable(
        (f"    for i in 0..{rows}:", "        for j in 0..m:", f"            {source.choice(SHORT)}")
        for rows in source.choices(("m", "m - 1", "2"), k=source.randint(1, 2))
    )
    text = "\n".join(
        ["algorithm main(x: inout real[m], y: inout real[m], A: inout real[m, m]):", "    where m >= 2", *nests]
    )
    given = subject(text + "\n")
    return given, arguments(given.algorithm, {"m": source.randint(2, 3)}, source)


@pytest.mark.parametrize("part", range(4))
def test_short_runs_under_every_replacement(part: int) -> None:
    source = random.Random(part)
    for _ in range(part, all_of(120, 48), 4):
        assert_moves(*shorts(source), source, True)


COPY = """
algorithm main(x: real[n], y: inout real[n]):
    for i in 0..n:
        y[i] = x[i]
"""
ADD = """
algorithm main(x: real[n], y: real[n], z: inout real[n]):
    for i in 0..n:
        z[i] = x[i] + y[i]
"""
SWEEP = """
algorithm main(A: real[n, n], B: inout real[n, n]):
    where n >= 2
    for i in 1..n-1:
        for j in 1..n-1:
            B[i, j] = A[i - 1, j] + A[i, j - 1] + A[i, j] + A[i, j + 1] + A[i + 1, j]
"""


@pytest.mark.parametrize(
    ("text", "size", "capacity", "times"),
    [
        pytest.param(COPY, 4096, 2, Fraction(3, 2), id="copy"),
        pytest.param(ADD, 4096, 3, Fraction(4, 3), id="add"),
        # Of two grids of 16 rows of two lines all of one is read, and of the other all rows but two are written.
        pytest.param(SWEEP, 16, 64, Fraction(16 + 2 * 14, 16 + 14), id="stencil"),
    ],
)
def test_bytes_of_kernels_by_hand(text: str, size: int, capacity: int, times: Fraction) -> None:
    """What moves is so many times what io says: 1.5, 1.33 and 1.47."""
    given = subject(text)
    point = {"n": size, "Z": capacity * 8, "L": 8}
    io, moved = (
        enclose_cost(of(given.module, given.algorithm), point).ends for of in (derive_io_cost, derive_bytes_cost)
    )
    _, lines, writes = traced(given, arguments(given.algorithm, {"n": size}, random.Random(1)), 8)
    ran = optimal(np.array(lines), capacity, np.array(writes))
    assert io == (ran.io, ran.io)
    assert moved == (times * ran.io * 8 * WORD,) * 2
    assert ran.io + ran.writebacks == times * ran.io


def test_bytes_are_bounded_about_as_nearly_as_misses() -> None:
    """Random programs access in ways that no plan keeps up with; what is written back makes that little worse."""
    source = random.Random(5)
    found = []
    for number in range(drawn(40, least=8)):
        given = loops(number)
        found += assert_moves(given, given.draw(source), source, False)
    assert median(moved / fetched for moved, fetched in found) <= Fraction(11, 10)
