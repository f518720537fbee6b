"""Bounds on io against what one counts by hand: tight where that is short, near the least elsewhere, and what is reported."""

from __future__ import annotations

import random
from functools import partial
from math import ceil

import numpy as np
import pytest

import archline as al
from archline.algebra.evaluate.exact import evaluate
from archline.analysis.cost import enclose_cost
from archline.execution.cache import CompactTrace, compact, optimal
from archline.execution.run import execute
from io_points import Sizes, Subject, arguments, io_of, least_of_library, of_library, subject
from stdlib_cases import load


# Closed forms by hand: both bounds at once, the lower one also in a cache for all
def ends(text: str, sizes: Sizes, lines: int, line: int) -> tuple[int, int]:
    """The bounds with so many lines of so many words."""
    known = subject(text).bounds
    assert not isinstance(known, str), known
    return known.ends({**sizes, "Z": lines * line, "L": line})


def rounded_up(words: int, line: int) -> int:
    """The lines of a row of so many words."""
    return -(-words // line)


@pytest.mark.parametrize("line", [1, 2, 4, 8])
@pytest.mark.parametrize("n", [1, 2, 7, 8, 33])
def test_copy_of_a_vector(n: int, line: int) -> None:
    """One line at a time of each is enough: ceil(n/L) twice. A single line is fetched at each of 2*n accesses."""
    text = "algorithm main(x: real[n], y: inout real[n]):\n    for i in 0..n:\n        y[i] = x[i]\n"
    for lines in (2, 3, 50):
        assert ends(text, {"n": n}, lines, line) == (2 * rounded_up(n, line),) * 2
    assert ends(text, {"n": n}, 1, line)[1] == 2 * n


@pytest.mark.parametrize("line", [1, 2, 4, 8])
def test_spmv_where_x_fits(line: int) -> None:
    """All is fetched once with all of x, a line of rowptr, whose ends of a row are neighbours, of val, col and y.

    Rows follow each other in val and col: the line in which one ends stays for the next.
    """
    module, algorithm = load("sparse.csr::spmv_csr")
    cost = io_of(module, algorithm)
    for n, m, nz in ((1, 1, 1), (7, 30, 40), (40, 9, 12)):
        words = (rounded_up(m, line) + 4) * line
        once = rounded_up(n + 1, line) + 2 * rounded_up(nz, line) + rounded_up(m, line) + rounded_up(n, line)
        found = cost.interval_at({"n": n, "m": m, "nz": nz, "nr": nz, "Z": words, "L": line}).upper
        assert found == once


FIVE_POINTS = (
    "algorithm main(A: real[n, m], B: inout real[n, m]):\n    for i in 1..n - 1:\n        for j in 1..m - 1:\n"
    "            B[i, j] = A[i - 1, j] + A[i, j - 1] + A[i, j] + A[i, j + 1] + A[i + 1, j]\n"
)


@pytest.mark.parametrize("line", [1, 2, 4, 8])
def test_a_stencil_with_three_rows(line: int) -> None:
    """Three rows of A and a line of B: A is fetched once; rows 1 to n - 2 of B, from their second word, once."""
    for n, m in ((3, 3), (5, 9), (12, 30)):
        lines = 3 * ((m - 1) // line + 1) + 1
        once = n * rounded_up(m, line) + (n - 2) * ((m - 4) // line + 2)
        assert ends(FIVE_POINTS, {"n": n, "m": m}, lines, line)[1] <= once


@pytest.mark.parametrize("line", [1, 2, 4, 8])
def test_merging_with_three_lines(line: int) -> None:
    """A line of each array where its integer points: all that is merged, and what it is merged into, once."""
    for n, m in ((1, 1), (7, 30), (40, 9)):
        once = rounded_up(n, line) + rounded_up(m, line) + rounded_up(n + m, line)
        assert of_library("sort.merge::merge", {"n": n, "m": m, "Z": 3 * line, "L": line}) == once


@pytest.mark.parametrize("line", [1, 2, 4, 8])
def test_mergesort_fits_beside_the_array_that_it_merges_into(line: int) -> None:
    """That is made where the calls before it had theirs: n words more, not 2*n."""
    n = 64
    lines = 2 * n // line
    assert of_library("sort.mergesort::mergesort", {"n": n, "Z": lines * line, "L": line}) == lines
    assert of_library("sort.mergesort::mergesort", {"n": n, "Z": (lines - 1) * line, "L": line}) > lines


@pytest.mark.parametrize("line", [1, 4, 16, 64])
@pytest.mark.parametrize("written", ["a[20*i] = a[20*i + 9]", "a[20*i + 9] = a[20*i] + a[20*i + 18]"])
@pytest.mark.parametrize("order", ["0..n", "n-1 downto 0"])
def test_places_in_turn_with_one_line(written: str, order: str, line: int) -> None:
    """No less than what one line fetches, and less than a line an access where several iterations share one."""
    text = f"algorithm main(a: inout real[20*n], n: size):\n    for i in {order}:\n        {written}\n"
    given = subject(text)
    known = given.bounds
    assert not isinstance(known, str)
    for n in (1, 2, 13):
        sizes, trace = given.trace(arguments(given.algorithm, {"n": n}, random.Random(n)), line)
        found = known.ends({**sizes, "Z": line, "L": line})[1]
        assert found >= optimal(trace, 1).io
        assert found < trace.accesses or line < 64 or n < 13


@pytest.mark.parametrize("capacity", [1, 2, 5, 12, 30, 80, 200, 1000])
def test_product_by_inner_products(capacity: int) -> None:
    """By rows of the result, by its elements, and all at once: what each window touches beyond the cache."""
    n, m, p, line = 12, 10, 8, 2
    of_a, of_b, of_c = ceil(m / line), ceil(p / line), ceil(p / line)
    by_rows = n * (of_a + m * of_b + of_c - capacity) + capacity
    by_elements = n * p * (of_a + m + 1 - capacity) + capacity
    compulsory = n * of_a + m * of_b + n * of_c
    point = {"n": n, "m": m, "p": p, "L": line, "Z": capacity * line}
    assert io_of(*load("dense.matmul::matmul_ijk")).interval_at(point).lower >= max(by_rows, by_elements, compulsory)


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("for i in 0..n:\n        for j in 0..n:\n            if (i + j) % 2 == 1:\n                y[i, j] = 1", 60),
        ("for i in 0..n:\n        for j in (i + 1) % 2..n step 2:\n            y[i, j] = 1", 60),
        ("for c in 0..2:\n        for i in 0..n:\n            for j in (i + c) % 2..n step 2:\n                y[i, j] = 1", 60),
        ("for i in 0..3*n:\n        y[0, i % n] = 1", 3),
        ("for i in 0..3*n:\n        y[i % n, 0] = 1", 20),
        ("for i in 0..n step 3:\n        y[0, i] = 1", 3),
        ("for i in 0..n step 9:\n        y[0, i] = 1", 3),
        ("for t in 0..5:\n        for i in 0..n:\n            y[t % 2, i] = 1", 6),
    ],
)  # fmt: skip
def test_remainders_leave_no_line_out(body: str, lines: int) -> None:
    """In a cache for all, each line that is touched; n = 20 words are 3 lines of 8."""
    text = f"algorithm main(y: inout real[n, n]):\n    where n >= 3\n    {body}\n"
    assert ends(text, {"n": 20}, 10**6, 8)[0] == lines


@pytest.mark.parametrize(("n", "line"), [(1, 1), (2, 4), (9, 1), (9, 4)])
def test_the_guards_of_shortest_paths(n: int, line: int) -> None:
    """In the first step alone all is written but its row and its column, and the row is read."""
    text = (
        "algorithm main(d: inout real[n, n]):\n    for k in 0..n:\n        for i in 0..n:\n            for j in 0..n:\n"
        "                if i != k and j != k:\n                    d[i, j] += d[i, k]*d[k, j]\n"
    )
    assert ends(text, {"n": n}, 10**6, line)[0] >= (n - 1) * ceil((n - 1) / line)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("for k in 0..2:\n        local t: real[n] = 0\n    for k in 0..2:\n        local u: real[n] = 0", 12),
        ("local t: real[n] = 0\n    for k in 0..2:\n        local u: real[n] = 0", 24),
    ],
)
def test_local_arrays_lie_on_each_other(body: str, words: int) -> None:
    """The second array takes the lines of the first; one inside the other does not."""
    assert ends(f"algorithm main(n: size):\n    {body}\n", {"n": 12}, 100, 1)[0] == words


# Segments of data
CSR, CSC = "sparse.csr::spmv_csr", "sparse.csc::spmv_csc"


@pytest.mark.parametrize("line", [1, 4, 16])
@pytest.mark.parametrize("n", [1, 7, 48, 200])
def test_without_entries_two_lines_are_enough(n: int, line: int) -> None:
    # The offsets and y, one after the other.
    assert of_library(CSR, {"n": n, "nz": 0, "nr": 0, "m": 9, "Z": 2 * line, "L": line}) == -(-(n + 1) // line) + -(
        -n // line
    )


@pytest.mark.parametrize("entries", [1, 3])
def test_few_entries_cost_a_line_of_y_each(entries: int) -> None:
    # The line of y behind each row with an entry, or the next offset instead; and the three accesses to an entry.
    most = -(-49 // 16) + -(-48 // 16) + (1 + 3) * entries
    assert of_library(CSR, {"n": 48, "nz": entries, "nr": entries, "m": 9, "Z": 32, "L": 16}) == most


def test_long_columns_leave_their_lines_to_the_entries() -> None:
    # Four lines: of values, rows, x and y in the loop of entries; the offsets are fetched once or twice per column.
    n, nz, line = 8, 1000, 16
    streams = 2 * -(-nz // line) + -(-n // line)
    found = of_library(CSC, {"m": n, "nz": nz, "nc": 200, "n": 32, "Z": 4 * line, "L": line})
    assert streams + nz < found <= streams + nz + 2 * n


def test_reports_name_the_reuse_that_is_given_up() -> None:
    module, algorithm = load("sparse.block::spmv_block")
    partial = [
        resident for each in io_of(module, algorithm).plans for resident in each.residencies if resident.given_up
    ]
    assert ("blk", "`for j` (line 17)", ("`for k` (line 19)",)) in {
        (resident.array, resident.loop, resident.given_up) for resident in partial
    }
    for resident in partial:
        # No more than a line for each access.
        assert (
            evaluate(resident.fetched, {"nb": 5, "nz": 10**6, "nmax": 10**5, "b": 9, "L": 4, "Z": 64}) <= 2 * 5**2 + 5
        )


@pytest.mark.parametrize("line", [4, 8, 16])
def test_block_vectors_of_compressed_sparse_blocks(line: int) -> None:
    """Each of 8*8 blocks of L^2 has L entries, all in other lines of x and y: ICE's n^2/b^2 + nz/L is 128 at every L."""
    blocks, side = 8, line**2
    count = blocks**2 * line
    places = np.tile(np.arange(line) * line, blocks**2)
    module, algorithm = load("sparse.csb::spmv_csb")
    run = execute(
        module,
        algorithm,
        {
            "blk": np.arange(0, count + 1, line),
            "row": places,
            "col": places,
            "val": np.ones(count),
            "x": np.ones(blocks * side),
            "y": np.zeros(blocks * side),
            "nb": blocks,
            "b": side,
        },
        line=line,
        trace=True,
    )
    # The lines of a block's part of x and of y fit, all of x does not.
    fetched = optimal(compact(run.trace.lines), 2 * line + 8).io
    sizes = {"nb": blocks, "b": side, "nz": count, "nmax": line, "Z": (2 * line + 8) * line, "L": line}
    assert count * 3 // 4 <= fetched <= enclose_cost(io_of(module, algorithm), sizes).upper


# Recursion
def least(target: str, **point: int) -> int:
    """The lower bound of an algorithm of the library."""
    return io_of(*load(target)).interval_at(point).lower


@pytest.mark.parametrize("n", [2**12, 2**15])
@pytest.mark.parametrize("lines", [16, 128])
def test_mergesort_fetches_all_at_each_level_that_does_not_fit(n: int, lines: int) -> None:
    """A merge of m keys writes m/L lines anew and copies them back: of 2*m/L lines no more than C are found."""
    line = 8
    merges = [(m, n // m) for m in (n >> level for level in range(20)) if m > 1]
    levels = sum(times * max(0, 2 * m // line - lines) for m, times in merges if 2 * m > 2 * lines * line)
    assert least("sort.mergesort::mergesort", n=n, Z=lines * line, L=line) >= levels // 2 > n // line


def test_products_grow_as_their_calls_do() -> None:
    """At one Z, twice the size takes so many times the lines."""
    for target, names, factor in (("dense.strassen::strassen", "n", 7), ("dense.lu_recursive::lu_co", "n", 8)):
        small, large = (least(target, **dict.fromkeys(names, n), Z=1024, L=8) for n in (512, 1024))
        assert 0.95 * factor <= large / small <= 1.1 * factor


def test_twice_the_steps_or_the_points_fetch_twice_as_much() -> None:
    """Points over L*Z: each trapezoid that is twice as wide as the cache fetches as many lines as that has."""
    heat = partial(least, "stencil.trapezoid::heat_1d", L=8)
    base = heat(n=16000, steps=4000, Z=512)
    assert base > 10 * 2 * 16000 // 8
    assert 1.8 < heat(n=16000, steps=8000, Z=512) / base < 2.2
    assert 1.6 < heat(n=32000, steps=4000, Z=512) / base < 2.4
    assert 1.8 < base / heat(n=16000, steps=4000, Z=1024) < 2.2


# What fits, and loops that an index divides or that are never entered
DIVIDED = {
    "a step": "for j in 0..n step i:\n            x[j] += 1.0",
    "from the index on": "for j in i..n step i:\n            x[j - i] += 1.0",
    "a quotient": "for j in 0..n//i:\n            x[j] += y[i]",
    "downwards": "for j in n - 1 downto i step i:\n            y[j] += x[j - i]",
}


FITTING = {
    "squares": ("for i in 0..n:\n        if i*i < n:\n            x[i*i] += 1.0", ()),
    "remainders": ("for i in 0..5*n:\n        x[i % n] += y[i % n]", ()),
    "a local array of another size each time": (
        "for i in 0..n:\n        local W: real[n - i] = 0.5\n        local V: real[i + 1] = 1.0\n"
        "        for j in 0..i + 1:\n            x[j] += V[j]\n        x[i] += W[0]",
        (),
    ),
    "squares in Z-Morton order": ("for i in 0..n:\n        for j in 0..n:\n            A[i, j] += A[j, i]", ("A",)),
}


def traced(text: str, sizes: Sizes, line: int) -> tuple[Subject, CompactTrace]:
    given = subject(text)
    return given, given.trace(arguments(given.algorithm, sizes, random.Random(0)), line)[1]


@pytest.mark.parametrize("name", sorted(DIVIDED))
def test_loops_that_an_index_divides(name: str) -> None:
    text = f"algorithm main(x: inout real[n], y: inout real[n]):\n    for i in 1..n:\n        {DIVIDED[name]}\n"
    for n in (1, 2, 7, 20):
        trace = traced(text, {"n": n}, 2)[1]
        for capacity in (1, 2, 5, 40):
            lower, upper = ends(text, {"n": n}, capacity, 2)
            assert lower <= optimal(trace, capacity).io <= upper


@pytest.mark.parametrize("name", sorted(FITTING))
def test_what_fits_is_fetched_once(name: str) -> None:
    body, squares = FITTING[name]
    given = "".join(f", {each}: inout real[n, n] zmorton" for each in squares)
    text = f"algorithm main(x: inout real[n], y: inout real[n]{given}):\n    {body}\n"
    for n, line in ((8, 1), (40, 8), (33, 4)):
        trace = traced(text, {"n": n}, line)[1]
        # A square has up to four times its elements; a stack of two arrays two lines more than its words take.
        capacity = 4 * n * n if squares else 2 * (-(-n // line)) + (-(-(n + 1) // line)) + 2
        most = min(64 * 64, n * n) if squares else 3 * (-(-n // line)) + 2
        assert optimal(trace, capacity).io <= ends(text, {"n": n}, capacity, line)[1] <= most


SHIFTED = """
algorithm main(x: inout real[n], y: inout real[n]):
    for i in 1..n:
        x[i] += y[i]
"""


def test_a_loop_without_iterations_fetches_nothing() -> None:
    ensured = SHIFTED.replace(":\n", ":\n    ensures io >= 2*n - 2 - (n - 2)*floor(Z/L)\n", 1)
    (contract,) = al.loads(ensured)["main"].cost().view().contracts
    assert contract.outcome != "holds"


@pytest.mark.parametrize(("n", "m", "line"), [(3, 9, 8), (3, 4, 1), (5, 4, 1), (4, 17, 8), (9, 9, 4)])
def test_the_corners_of_a_grid_are_not_fetched(n: int, m: int, line: int) -> None:
    """Of A and of B all points but the corners are accessed, in a cache of just so many lines."""
    places = {(i, j) for i in range(n) for j in range(m)} - {(i, j) for i in (0, n - 1) for j in (0, m - 1)}
    lines = 2 * len({(i, j // line) for i, j in places})
    ends = al.algorithm("stencil.jacobi_2d::jacobi_2d").cost().io.at(n=n, m=m, steps=9, Z=lines * line, L=line)
    assert isinstance(ends, tuple)
    assert ends[1] == lines


# Near the least
SWEEPS = """
algorithm main(x: real[n], y: real[n], n: size) -> real:
    local s: real = 0
    for i in 0..n:
        for j in i..n:
            s += x[j]
        for j in i..n:
            s += y[j]
    return s
"""


@pytest.mark.parametrize(("n", "turn"), [(10, 6), (10, 9), (31, 16), (100, 90)])
def test_the_last_sweeps_fit(n: int, turn: int) -> None:
    """Before the turn each access fetches; from there on all that is left of both vectors is kept."""
    lines = 2 * (n - turn)
    point = {"n": n, "Z": lines, "L": 1}
    swept = sum(2 * (n - each) for each in range(turn))
    assert subject(SWEEPS).bounds.ends(point)[1] <= swept + lines


NEAR = {
    # Phases: the last iterations fit.
    # The rest of the triangle fits from the fifth column on.
    "dense.cholesky::cholesky_parallel": ({"n": 12, "Z": 92, "L": 8}, 5),
    "dense.lu::lu": ({"n": 40, "Z": 776, "L": 8}, 2.6),
    # The first sweeps need one line of each vector, and the last ones another.
    "polybench.durbin::durbin": ({"n": 9, "Z": 26, "L": 8}, 2),
    # A fits with a line of R and one column of Q, but for one line.
    "polybench.gramschmidt::gramschmidt": ({"m": 40, "n": 32, "Z": 1932, "L": 16}, 2),
    # The rows above the diagonal stay but for the last; a column below them is held, and the diagonal beside it.
    "polybench.ludcmp::ludcmp": ({"n": 48, "Z": 1347, "L": 8}, 3),
    # B is kept but for some rows, which leave the lines that their columns had.
    "dense.matmul::matmul_basic": ({"n": 24, "m": 24, "p": 24, "Z": 600, "L": 8}, 2),
}


@pytest.mark.parametrize("target", sorted(NEAR))
def test_near_the_least(target: str) -> None:
    point, factor = NEAR[target]
    fetched = least_of_library(target, point)
    assert fetched <= of_library(target, point) <= factor * fetched


# Rows of an array that are kept in two ways: what that fetches by hand, and near what is least where nearly all fits


ALIKE = """
algorithm main(A: real[m, n], turns: size) -> real:
    local s: real = 0
    for t in 0..turns:
        for j in 0..n:
            for i in 0..m:
                s += A[i, j]
    return s
"""


@pytest.mark.parametrize("line", [2, 4, 8])
@pytest.mark.parametrize("lines", [12, 14, 18, 24, 30, 34, 36])
def test_rows_that_are_alike(line: int, lines: int) -> None:
    # Rows of three lines each: column by column one line of each, or all three of some rows and one of the others.
    m, turns, each = 12, 5, 3
    given = subject(ALIKE)
    cost = io_of(given.module, given.algorithm)
    point = {"m": m, "n": each * line, "turns": turns, "Z": lines * line, "L": line}
    whole = (lines - m) // (each - 1)
    assert cost.interval_at(point).upper == each * whole + turns * each * (m - whole)
    drawn = arguments(given.algorithm, {"m": m, "n": each * line, "turns": turns}, random.Random(line))
    assert optimal(given.trace(drawn, line)[1], lines).io <= cost.interval_at(point).upper


# Rows that begin at a remainder of counters keep what others keep


RED_BLACK = """
algorithm main(u: inout real[n, m], f: real[n, m], steps: size):
    where n >= 3, m >= 3
    for t in 0..steps:
        for color in 0..2:
            parallel for i in 1..n-1:
                for j in 1 + (i + color) % 2..m-1 step 2:
                    u[i, j] = 0.25*(u[i-1, j] + u[i+1, j] + u[i, j-1] + u[i, j+1] - f[i, j])
"""


def test_red_and_black_points_keep_three_rows() -> None:
    """Each row of u and of f is fetched once for each colour in each step: 4 times the words of a grid over L."""
    cost = al.loads(RED_BLACK)["main"].cost()
    n, m, steps, line = 60, 801, 5, 8
    rows = 3 * (m // line + 2) + 6
    lower, upper = cost.io.at(n=n, m=m, steps=steps, Z=rows * line, L=line)  # type: ignore[misc]
    assert upper <= 1.1 * 4 * n * m * steps / line
    assert lower >= 2 * (n - 2) * (m - 2) / line / 2
