"""Upper bounds on io: never below optimal replacement, and what one derives by hand where that is short."""

from __future__ import annotations

import random
from collections.abc import Mapping
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
def test_merging_with_three_lines(line: int) -> None:
    """A line of each array where its integer points: all that is merged, and what it is merged into, once."""
    for n, m in ((1, 1), (7, 30), (40, 9)):
        once = rounded_up(n, line) + rounded_up(m, line) + rounded_up(n + m, line)
        assert of_library("sort.merge::merge", {"n": n, "m": m, "Z": 3 * line, "L": line}) == once


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
