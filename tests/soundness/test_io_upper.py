"""Upper bounds on io: never below optimal replacement, and what one derives by hand where that is short."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from fractions import Fraction

import pytest

from archline.algebra.evaluate.exact import evaluate
from archline.algebra.polynomial import Poly
from archline.execution.cache import optimal
from archline.expr.intervals import EvaluationError
from archline.language.call_graph import recurses
from archline.language.loader import load_text
from effort import drawn
from io_cases import KINDS
from io_moving_cases import MOVING
from io_points import (
    Subject,
    arguments,
    arrays,
    capacities,
    io_of,
    kernel,
    loops,
    of_library,
    parities,
    recursion,
    stencils,
    strides,
    subject,
    tiles,
    triangles,
    walks,
)
from stdlib_cases import CASES, load
from stdlib_recursive_cases import RECURSIVE

Sizes = Mapping[str, int]
TARGETS = sorted({**CASES, **RECURSIVE})


def assert_sound(text: str, sizes: Sizes, source: random.Random) -> None:
    """At small capacities, where something begins to fit, and at others, with lines of three lengths."""
    given = subject(text)
    known = given.bounds
    assert not isinstance(known, str), known
    everywhere = None if recurses(given.module, given.algorithm) else io_of(given.module, given.algorithm).upper
    for line in (1, 4, 8):
        bound, trace = given.trace(arguments(given.algorithm, sizes, source), line)
        edges = known.edges({**bound, "Z": line, "L": line})
        for capacity in sorted({*range(2, 7), *capacities(trace.distinct, edges, source, 9)}):
            words = capacity * line + source.randrange(line)
            lower, upper = known.ends({**bound, "Z": words, "L": line})
            fetched = optimal(trace, capacity).io if trace.accesses else 0
            assert lower <= fetched <= upper, (
                f"{bound}, Z={words}, L={line}: {lower} <= {fetched} <= {upper} in\n{text}"
            )
            if everywhere is not None:
                assert fetched <= evaluate(everywhere, {**bound, "Z": words, "L": line})


@pytest.mark.parametrize("name", [*KINDS, *MOVING])
def test_every_kind_of_program(name: str) -> None:
    text, sizes = {**KINDS, **MOVING}[name]
    source = random.Random(name)
    for each in sizes:
        assert_sound(text, each, source)


# Three hundred points, the program's second witness for every change; benchmarks/soundness.py has thousands.
def assert_points(given: Subject, source: random.Random, count: int) -> int:
    found = list(given.points(given.draw(source), source, count))
    for point in found:
        assert point.holds, f"{given.name} at {point}\n{given.text}"
    return len(found)


@pytest.mark.parametrize("part", range(4))
def test_points_of_the_library(part: int) -> None:
    source = random.Random(part)
    assert sum(assert_points(kernel(each, {**CASES, **RECURSIVE}[each]), source, 4) for each in TARGETS[part::8]) >= 30


@pytest.mark.parametrize("part", range(4))
def test_points_of_generated_programs(part: int) -> None:
    source = random.Random(part)
    subjects = [
        *(arrays(number) for number in range(part, drawn(24), 4)),
        *(loops(number) for number in range(part, drawn(12), 4)),
        *(recursion(number) for number in range(part, drawn(12), 4)),
        *(walks(number) for number in range(part, drawn(32), 4)),
        *(strides(number) for number in range(part, drawn(12), 4)),
        *(stencils(number) for number in range(part, drawn(12), 4)),
        *(parities(number) for number in range(part, drawn(12), 4)),
        *(triangles(number) for number in range(part, drawn(12), 4)),
        *(tiles(number) for number in range(part, drawn(16), 4)),
    ]
    assert sum(assert_points(each, source, 6) for each in subjects) >= drawn(100) // 2


# Hand-checked values.
def rounded_up(words: int, line: int) -> int:
    """The lines of a row of so many words."""
    return -(-words // line)


Regime = tuple[Callable[[Sizes, int], int], Callable[[Sizes, int], int]]
"""The least lines that a way to use the cache needs, and what it fetches, by sizes and L."""


def _matmul() -> list[Regime]:
    """C[i, j] += A[i, k]*B[k, j] in the order i, j, k: A[i, k], B[k, j] and C[i, j] in turn.

    One line: each access fetches. A second keeps the line of C over k and j, for row i once: n*ceil(p/L). A third
    keeps that of A over k: a row for each i and j. With a row of A, ceil(m/L) lines, it is fetched once for each i.
    A line of each row of B, m of them, serves L columns: m*ceil(p/L) for each i; beside a line or a row of A. All of
    B, m*ceil(p/L) lines beside a row of A and a line of C, leaves what must be fetched.
    """

    def row(words: str) -> Callable[[Sizes, int], int]:
        return lambda at, line: rounded_up(at[words], line)

    a, c = row("m"), row("p")
    return [
        (lambda at, line: 1, lambda at, line: 3 * at["n"] * at["m"] * at["p"]),
        (lambda at, line: 2, lambda at, line: 2 * at["n"] * at["m"] * at["p"] + at["n"] * c(at, line)),
        (
            lambda at, line: 3,
            lambda at, line: at["n"] * at["m"] * at["p"] + at["n"] * at["p"] * a(at, line) + at["n"] * c(at, line),
        ),
        (
            lambda at, line: a(at, line) + 2,
            lambda at, line: at["n"] * at["m"] * at["p"] + at["n"] * a(at, line) + at["n"] * c(at, line),
        ),
        (
            lambda at, line: at["m"] + 2,
            lambda at, line: at["n"] * (at["m"] * c(at, line) + at["p"] * a(at, line) + c(at, line)),
        ),
        (
            lambda at, line: at["m"] + a(at, line) + 1,
            lambda at, line: at["n"] * (at["m"] * c(at, line) + a(at, line) + c(at, line)),
        ),
        (
            lambda at, line: at["m"] * c(at, line) + a(at, line) + 1,
            lambda at, line: at["m"] * c(at, line) + at["n"] * a(at, line) + at["n"] * c(at, line),
        ),
    ]


def _transpose() -> list[Regime]:
    """B[j, i] = A[i, j]: a line of A serves L accesses; one of each row of B, m in all, serves L rows of A."""
    return [
        (lambda at, line: 1, lambda at, line: 2 * at["n"] * at["m"]),
        (lambda at, line: 2, lambda at, line: at["n"] * at["m"] + at["n"] * rounded_up(at["m"], line)),
        (
            lambda at, line: at["m"] + 1,
            lambda at, line: at["m"] * rounded_up(at["n"], line) + at["n"] * rounded_up(at["m"], line),
        ),
    ]


def assert_regimes(target: str, expected: list[Regime]) -> None:
    """Those told are the expected ones, at every size and line tried."""
    module, algorithm = load(target)
    told = [each for each in io_of(module, algorithm).alternatives if each.shown]
    names = module.signatures[algorithm].size_names
    source = random.Random(target)
    for _ in range(40):
        at, line = {name: source.randint(1, 40) for name in names}, source.choice((1, 2, 4, 7, 16))
        point = {**at, "L": line, "Z": 0}
        found = [
            (max(-evaluate(room, point) / line for room in each.needs), evaluate(each.upper, point)) for each in told
        ]
        assert found == [(lines(at, line), misses(at, line)) for lines, misses in expected]


def test_regimes_of_matmul() -> None:
    assert_regimes("dense.matmul::matmul_basic", _matmul())


def test_regimes_of_transpose() -> None:
    assert_regimes("dense.transpose::transpose", _transpose())


def upper(text: str, sizes: Sizes, lines: int, line: int) -> Fraction:
    """The bound with so many lines of so many words."""
    module = load_text(text)
    cost = io_of(module, module.algorithms["main"])
    return cost.ends({**sizes, "Z": lines * line, "L": line})[1]


@pytest.mark.parametrize("line", [1, 2, 4, 8])
@pytest.mark.parametrize("n", [1, 2, 7, 8, 33])
def test_copy_of_a_vector(n: int, line: int) -> None:
    """One line at a time of each is enough: ceil(n/L) twice. A single line is fetched at each of 2*n accesses."""
    text = "algorithm main(x: real[n], y: inout real[n]):\n    for i in 0..n:\n        y[i] = x[i]\n"
    assert upper(text, {"n": n}, 2, line) == 2 * rounded_up(n, line)
    assert upper(text, {"n": n}, 1, line) == 2 * n


@pytest.mark.parametrize("line", [1, 2, 4, 8])
def test_a_slice_that_starts_in_a_line(line: int) -> None:
    """x[3..n] spans the lines of x but those that end before x[3], as x begins with a line."""
    text = "algorithm main(x: inout real[n]):\n    let a = x[3..n]\n    for i in 0..n - 3:\n        a[i] += 1.0\n"
    for n in (5, 8, 21):
        assert upper(text, {"n": n}, 1, line) == rounded_up(n, line) - 3 // line


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
        found = cost.ends({"n": n, "m": m, "nz": nz, "nr": nz, "Z": words, "L": line})[1]
        assert found == once


PARTS = """algorithm main(x: real[n*b], y: inout real[n*b], col: index[m] below b, n: size, b: size):
    for i in 0..n:
        let target = y[i*b ..+ b]
        for j in 0..n:
            let source = x[j*b ..+ b]
            for e in 0..m:
                target[col[e]] += source[col[e]]
"""


@pytest.mark.parametrize("line", [1, 2, 4, 8])
def test_parts_in_which_the_data_picks_entries(line: int) -> None:
    """Where a part of x and one of y fit, each part of y is fetched once and x once for each of them, part by part."""
    for n, b, m in ((1, 1, 1), (5, 3, 4), (4, 16, 30)):
        part = 1 if b == 1 else (b - 2) // line + 2
        lines = 2 * part + rounded_up(m, line)
        most = (n + 1) * rounded_up(n * b, line) + rounded_up(m, line)
        assert upper(PARTS, {"n": n, "b": b, "m": m}, lines, line) <= most


@pytest.mark.parametrize("line", [1, 2, 4, 8])
def test_segments_row_by_row(line: int) -> None:
    """The segments of a row follow those of the one before: three lines fetch all entries and all ends once."""
    text = (
        "algorithm main(seg: offsets[n^2] into nz, x: inout real[nz], n: size):\n    where nz >= 0\n    for i in 0..n:\n"
        "        for j in 0..n:\n            for e in seg[i*n + j]..seg[i*n + j + 1]:\n                x[e] += 1.0\n"
    )
    for n, nz in ((1, 1), (3, 20), (5, 40)):
        assert upper(text, {"n": n, "nz": nz}, 3, line) == rounded_up(n * n + 1, line) + rounded_up(nz, line)


@pytest.mark.parametrize("line", [1, 2, 4, 8])
def test_segments_from_the_second_on(line: int) -> None:
    """How many entries the first has is no size: where all fits, all entries count."""
    text, _ = KINDS["segments from the second on"]
    for n, nz in ((2, 1), (3, 20), (5, 40)):
        once = rounded_up(n + 1, line) + rounded_up(nz, line) + n * rounded_up(n, line)
        assert upper(text, {"n": n, "nz": nz}, once, line) <= once


@pytest.mark.parametrize("line", [1, 2, 4, 8])
def test_rows_of_segments_that_the_data_picks(line: int) -> None:
    """A row and a line for the rest: q rows for each of m segments, however many there are. Where all fit, all once."""
    text = (
        "algorithm main(seg: offsets[s] into n longest q, pick: index[m] below s, A: inout real[n, 3]):\n"
        "    where n >= 0, q >= 0\n    for u in 0..m:\n        for j in seg[pick[u]]..seg[pick[u] + 1]:\n"
        "            A[j, 0] += A[j, 1]*A[j, 2]\n"
    )
    row = rounded_up(3, line)
    for s, n, q, m in ((40, 1000, 3, 5), (4, 50, 20, 7), (2, 9, 9, 30)):
        sizes = {"s": s, "n": n, "q": q, "m": m}
        found = rounded_up(m, line) + 2 * m
        assert upper(text, sizes, row + 1, line) <= found + m * q * row
        assert upper(text, sizes, n * row + 3, line) <= found + n * row


@pytest.mark.parametrize("line", [1, 2, 4, 8])
def test_a_search_with_one_line(line: int) -> None:
    """The body runs as often as `at most` says; its condition, which is tested once more, reads nothing."""
    for n in (9, 20, 100):
        found = of_library("sort.lower_bound::lower_bound", {"n": n, "Z": line, "L": line})
        assert found == n.bit_length()


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
        assert upper(FIVE_POINTS, {"n": n, "m": m}, lines, line) <= once


@pytest.mark.parametrize("line", [1, 2, 4, 8])
def test_a_stencil_with_two_rows_and_a_line(line: int) -> None:
    """Between A[i + 1, j], which the sweep comes to, and A[i - 1, j], which it leaves, lie two rows and a line."""
    for n, m in ((5, 9), (12, 30), (7, 8)):
        row = rounded_up(m, line)
        once = n * row + (n - 2) * ((m - 4) // line + 2)
        assert upper(FIVE_POINTS, {"n": n, "m": m}, 2 * row + 2, line) <= once
        assert upper(FIVE_POINTS, {"n": n, "m": m}, 2 * row - 1, line) > once


COLUMNS = (
    "algorithm main(A: real[n, n], B: inout real[1]):\n    for i in 0..n:\n        for j in 0..i:\n"
    "            for k in 0..j:\n                B[0] += A[k, j]\n"
)


@pytest.mark.parametrize("line", [1, 2, 4])
@pytest.mark.parametrize("rows", [0, 3, 7])
def test_some_rows_of_a_triangle_stay(line: int, rows: int) -> None:
    """Of columns above the diagonal the first rows are kept while j passes their lines, the others fetched each time.

    They take a line a row, and two more are for B and for what is fetched each time.
    """
    for n in (9, 14):
        triangle = [(i, j, k) for i in range(n) for j in range(i) for k in range(j)]
        kept = {(i, k, j // line) for i, j, k in triangle if k < rows}
        fetched = 1 + len(kept) + sum(k >= rows for _, _, k in triangle)
        assert upper(COLUMNS, {"n": n}, rows + 2, line) <= fetched


TO_THE_ENTRY = (
    "algorithm main(A: inout real[n, n]):\n    for i in 0..n:\n        for j in 0..i:\n"
    "            for k in 0..j:\n                A[i, j] -= A[i, k]\n            A[i, j] = A[i, j]/2\n"
)


@pytest.mark.parametrize("line", [1, 2, 4, 8])
def test_a_row_that_is_passed_up_to_an_entry(line: int) -> None:
    """The line of A[i, j] stays while j passes it, so that of the row before it only whole lines come each time."""
    for n in (2, 9, 23):
        entries = [(i, j) for i in range(n) for j in range(i)]
        fetched = sum(j // line for _, j in entries) + len({(i, j // line) for i, j in entries})
        assert upper(TO_THE_ENTRY, {"n": n}, 2, line) <= fetched
        assert n <= 2 * line or upper(TO_THE_ENTRY, {"n": n}, 1, line) > fetched


FROM_THE_LAST_ROW = (
    "algorithm main(A: inout real[n, n]):\n    for i in n - 1 downto 0:\n        for j in i + 1..n:\n"
    "            for k in i + 1..j:\n                A[i, j] += A[i, k] + A[k, j]\n"
)


@pytest.mark.parametrize("line", [1, 2, 4, 8])
def test_a_triangle_from_its_last_row(line: int) -> None:
    """What lies above the diagonal is fetched once where it fits, whichever way the rows are passed.

    The last row, which has nothing there, counts for a line at most.
    """
    for n in (3, 10, 21):
        lines = 1 + sum((n - 1) // line - (row + 1) // line + 1 for row in range(n - 1))
        assert upper(FROM_THE_LAST_ROW, {"n": n}, lines, line) <= lines


TILES = (
    "algorithm main(A: real[n, n], B: inout real[1], b: size):\n    for jj in 0..n step b:\n        for t in 0..9:\n"
    "            for i in 0..n:\n                for j in jj..min(jj + b, n):\n                    B[0] += A[i, j]\n"
)


@pytest.mark.parametrize(
    ("line", "width", "lines"), [(8, 16, 2), (8, 8, 1), (8, 4, 1), (8, 12, 2), (8, 11, 3), (1, 3, 3)]
)
def test_tiles_begin_where_lines_may(line: int, width: int, lines: int) -> None:
    """Rows of tiles begin at multiples of the width: what that has in common with L decides how many lines they touch.

    12 words from a multiple of 4 on are in 2 lines at most, 11 words from anywhere on in 3.
    """
    for n in (20, 33):
        fits, tiles = n * lines + 1, rounded_up(n, width)
        assert upper(TILES, {"n": n, "b": width}, fits, line) <= min(tiles * lines, rounded_up(n, line)) * n + 1


IN_ROWS = (
    "algorithm main(A: real[n, n], B: inout real[n, n]):\n    for i in 1..n - 1:\n        for j in 1..n - 1:\n"
    "            B[i, j] = A[i, j - 1] + A[i, j] + A[i, j + 1] + A[i - 1, j] + A[i + 1, j] + A[i, j]\n"
)


@pytest.mark.parametrize("line", [1, 2, 4, 8])
def test_one_line_serves_accesses_that_follow_each_other(line: int) -> None:
    """With one line, an access that finds the line of the one right before it fetches nothing."""
    for n in (3, 9, 14):
        passed = min(n - 2, rounded_up(n, line) - 1)
        assert upper(IN_ROWS, {"n": n}, 1, line) <= (n - 2) * (5 * (n - 2) + 2 * passed)


@pytest.mark.parametrize("line", [1, 2, 4, 8])
def test_merging_with_three_lines(line: int) -> None:
    """A line of each array where its integer points: all that is merged, and what it is merged into, once."""
    for n, m in ((1, 1), (7, 30), (40, 9)):
        once = rounded_up(n, line) + rounded_up(m, line) + rounded_up(n + m, line)
        assert of_library("sort.merge::merge", {"n": n, "m": m, "Z": 3 * line, "L": line}) == once


@pytest.mark.parametrize("line", [1, 2, 4, 8])
def test_insertion_with_two_lines_and_more(line: int) -> None:
    """For each i the lines from a[i] down to a[0] once; what a third line saves pays for itself."""
    for n in (1, 2, 9, 40):
        walks = sum(rounded_up(i + 1, line) for i in range(1, n))
        for words in (2 * line, 3 * line):
            assert of_library("sort.insertion_sort::insertion_sort", {"n": n, "Z": words, "L": line}) <= walks


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


@pytest.mark.parametrize("name", sorted(WALKS))
def test_walks_that_begin_and_end(name: str) -> None:
    """Never below optimal replacement, whatever is accessed before and behind them."""
    text = WALK.format(**{**OFF, **WALKS[name]})
    for n in (2, 5, 18, 42):
        assert_sound(text, {"n": n}, random.Random(name))


UP = """
algorithm main(a: inout real[n]):
    for i in 0..(n - 2)//4:
        local j: int = 4*i
        while j < n and a[j] > -1.0 at most n times:
            j += 1
        {behind}
"""
AGAIN = {
    "its first place comes again": ("a[4*i] = 0.5",),
    "the integer is set to the first place": ("j = 4*i", "a[j] = 0.5", "a[j + 1] = 0.5", "a[j + 2] = 0.5"),
}


@pytest.mark.parametrize("name", sorted(AGAIN))
def test_what_comes_again_behind_a_walk_is_not_on_its_way(name: str) -> None:
    """A walk to the end of a row keeps a line or two: the first places are fetched again, and not passed by the next."""
    for n in (6, 18, 42):
        assert_sound(UP.format(behind="\n        ".join(AGAIN[name])), {"n": n}, random.Random(name))


@pytest.mark.parametrize("line", [2, 4, 8])
def test_pieces_of_a_row_with_one_line(line: int) -> None:
    pieces, words = 5, 6 * line
    fetched = of_library("scan.reduce::sum_blocked", {"n": pieces * words, "b": words, "Z": line, "L": line})
    # A piece of six lines, counted wherever it begins, and its sum; then the sums.
    assert fetched <= pieces * (6 + 1) + pieces + rounded_up(pieces, line)


@pytest.mark.parametrize("line", [1, 2, 4, 8])
def test_mergesort_fits_beside_the_array_that_it_merges_into(line: int) -> None:
    """That is made where the calls before it had theirs: n words more, not 2*n."""
    n = 64
    lines = 2 * n // line
    assert of_library("sort.mergesort::mergesort", {"n": n, "Z": lines * line, "L": line}) == lines
    assert of_library("sort.mergesort::mergesort", {"n": n, "Z": (lines - 1) * line, "L": line}) > lines


@pytest.mark.parametrize("line", [1, 2, 4, 8])
def test_scan_over_strides_that_double_with_two_lines(line: int) -> None:
    """Both places of a stride of 2^(d + 1) pass n/2^d lines, and no more than the row has."""
    for level in (4, 7, 10):
        n = 1 << level
        sweep = sum(min(n >> d, rounded_up(n, line) + 1) for d in range(level))
        found = of_library("scan.prefix_sum::prefix_sum_tree", {"n": n, "Z": 2 * line, "L": line})
        assert found <= 2 * sweep + 2 * rounded_up(n, line) + 1


@pytest.mark.parametrize("line", [1, 2, 4, 8])
def test_scan_over_strides_that_double_with_one_line(line: int) -> None:
    """Upwards both places are passed in turn, downwards to and fro: the end of a line three times at most.

    Strides are shorter than a line in log2(L) levels; the others have 2*n/L iterations in all.
    """
    for level in (4, 7, 10):
        n = 1 << level
        lines, short = rounded_up(n, line) + 1, line.bit_length() - 1
        up, down = short * lines + 2 * n // line, short * (3 * lines) + 4 * n // line
        found = of_library("scan.prefix_sum::prefix_sum_tree", {"n": n, "Z": line, "L": line})
        assert found <= up + down + 2 * rounded_up(n, line) + 1


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


@pytest.mark.parametrize(
    ("text", "reason", "line"),
    [
        (
            "algorithm main(x: int[n], y: inout real[n]):\n    for i in 0..n:\n        for k in 0..x[i]:\n            y[i] += 1.0\n",
            "the bounds of this loop",
            3,
        ),
        ("algorithm main(x: local real[n]) on grid(r: P):\n    pass\n", "grid", 1),
    ],
)
def test_what_is_unknown_says_why_and_where(text: str, reason: str, line: int) -> None:
    module = load_text(text)
    cost = io_of(module, module.algorithms["main"])
    assert cost.status == "unknown"
    assert cost.reason is not None
    assert reason in cost.reason
    assert cost.span.line == line


def test_accesses_that_cannot_be_followed_count_a_line_each() -> None:
    module = load_text(
        "algorithm part(R: offsets[g] into r, x: real[r], y: inout real[1]):\n    for k in R[1]..R[1] + 1:\n"
        "        y[0] += x[k]\n\nalgorithm main(x: real[q], y: inout real[1]):\n    for c in 0..q:\n"
        "        local e: int[3]\n        e[0] = 0\n        e[1] = c\n        e[2] = q\n        part(e, x, y)\n"
    )
    cost = io_of(module, module.algorithms["main"])
    assert cost.status == "bounded"
    assert cost.upper == Poly.symbol("q") * 7
    assert cost.reason is not None
    assert "offsets" in cost.reason
    assert cost.span.line == 11


def test_nothing_is_fetched_without_arrays() -> None:
    module = load_text("algorithm main(n: size):\n    for i in 0..n:\n        pass\n")
    cost = io_of(module, module.algorithms["main"])
    assert cost.exact
    assert cost.ends({"n": 5, "Z": 1, "L": 1}) == (0, 0)


ENDLESS = """algorithm main(x: inout real[n]):
    where n >= 0
    {}:
        main(x[{}..n])
        x[0] += 1.0
"""


@pytest.mark.parametrize(
    ("condition", "first", "n"), [("if n > 0", "1", 20_000), ("if n > 0 or x[0] > 0.5", "n//2", 9)]
)
def test_a_recursion_that_is_too_deep_is_refused(condition: str, first: str, n: int) -> None:
    known = subject(ENDLESS.format(condition, first)).bounds
    assert not isinstance(known, str)
    with pytest.raises(EvaluationError):
        known.ends({"n": n, "Z": 8, "L": 2})
