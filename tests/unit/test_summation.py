"""Closed forms of sums and maxima against adding up and comparing the terms."""

from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, assume, given, settings

from algebra_strategies import FACTS, POINTS, expressions, linear, values
from archline.algebra import atoms as a
from archline.algebra.effort import TooComplexError
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.maximise import max_over
from archline.algebra.polynomial import ONE, ZERO, Poly
from archline.algebra.printing import to_text
from archline.algebra.relax import bound_nonnegative_maximum, bound_sum
from archline.algebra.sums.summation import UnresolvedError, sum_over
from effort import drawn

n, m, b, i = (Poly.symbol(name) for name in "nmbi")
slow = settings(max_examples=drawn(150), deadline=None, suppress_health_check=[HealthCheck.too_slow])


@slow
@given(expressions(("n", "m", "i")), linear(("m",)), linear())
def test_sums_are_exact(value: Poly, lo: Poly, end: Poly) -> None:
    hi = FACTS.maximum(lo, end)
    try:
        closed = sum_over(value, "i", lo, hi, FACTS)
    except (UnresolvedError, TooComplexError):
        assume(False)
    assert "i" not in closed.names
    for point in POINTS:
        assert evaluate(closed, point) == sum(values(value, "i", lo, hi, point))


@slow
@given(expressions(("n", "m", "i"), 1), linear(("m",)), linear())
def test_maxima_are_exact(value: Poly, lo: Poly, end: Poly) -> None:
    hi = FACTS.maximum(lo + 1, end)
    try:
        closed = max_over(value, "i", lo, hi, FACTS)
    except (UnresolvedError, TooComplexError):
        assume(False)
    for point in POINTS:
        assert evaluate(closed, point) == max(values(value, "i", lo, hi, point))


@slow
@given(expressions(("n", "m", "i")), linear(("m",)), linear())
def test_bounds_hold(value: Poly, lo: Poly, end: Poly) -> None:
    value = a.positive_part(value)
    hi = FACTS.maximum(lo + 1, end)
    for bounded, exact in ((bound_sum, sum), (bound_nonnegative_maximum, max)):
        lower = bounded(value, "i", lo, hi, FACTS, False)
        upper = bounded(value, "i", lo, hi, FACTS, True)
        for point in POINTS:
            reached = exact(values(value, "i", lo, hi, point))
            assert lower is None or evaluate(lower, point) <= reached
            assert upper is None or evaluate(upper, point) >= reached


@pytest.mark.parametrize("start", range(4))
def test_sums_of_floors_from_a_constant_on(start: int) -> None:
    """Up to the end of the first block all floors are 0, so that floor(1/m), 1 for m = 1 only, does not come in."""
    closed = sum_over(a.floor_div(i, m), "i", Poly.constant(start), n + start, FACTS)
    assert "floor(1/m)" not in to_text(closed)
    for point in POINTS:
        assert evaluate(closed, point) == sum(v // point["m"] for v in range(start, point["n"] + start))


def test_faulhaber() -> None:
    # Sums of squares and cubes, as every textbook has them.
    assert sum_over(i**2, "i", ZERO, n, FACTS) == (n - 1) * n * (n * 2 - 1) / 6
    assert sum_over(i**3, "i", ONE, n + 1, FACTS) == (n * (n + 1) / 2) ** 2


def test_tiles_cut_off_at_the_edge_cover_the_whole() -> None:
    facts = FACTS.with_symbol("b", (ONE,))
    tiles = a.ceil_div(n, b)
    size = a.minimum(b * i + b, n) - b * i
    assert sum_over(size, "i", ZERO, tiles, facts) == n


def test_sum_of_logarithms() -> None:
    # Sum of ceil(log2 t) for t = 1..n is n*c - 2^c + 1 with c = ceil(log2 n).
    closed = sum_over(a.ceil_log2(i), "i", ONE, n + 1, FACTS)
    depth = a.ceil_log2(n)
    assert closed == n * depth - a.exponential(2, depth) + 1


def test_gaps_sum_to_the_total_and_the_largest_is_the_longest() -> None:
    total, longest = Poly.symbol("nz"), Poly.symbol("nr")
    facts = FACTS.with_symbol("nz", (ZERO,)).with_symbol("nr", (ZERO,), (total,))
    rows = a.Segments("rowptr", n, total, longest, attained=True)
    gap = Poly.of_atom(a.Gap(rows, i))
    assert sum_over(gap * 3 + 1, "i", ZERO, n, facts) == total * 3 + n
    assert max_over(gap * 3 + 1, "i", ZERO, n, facts) == longest * 3 + 1
    squares = bound_sum(gap * gap, "i", ZERO, n, facts, True)
    assert squares == longest * total
    assert bound_sum(gap * gap, "i", ZERO, n, facts, False) == total
    # A product of two is summed over either one.
    most, widest = Poly.symbol("nz"), Poly.symbol("nc")
    columns = Poly.of_atom(a.Gap(a.Segments("colptr", n, m, widest, attained=True), i))
    wide = facts.with_symbol("nc", (ZERO,), (m,))
    assert bound_sum(gap * columns, "i", ZERO, n, wide, True) == wide.minimum(longest * m, widest * most)
    assert bound_sum(gap * columns, "i", ZERO, n, wide, False) == ZERO
    for value in (gap * widest - gap * columns, -(gap * columns) + gap * widest):
        assert bound_sum(value, "i", ZERO, n, wide, True) == widest * most
    # A promise without the data's own largest gap bounds the maximum, but does not give it.
    promised = Poly.of_atom(a.Gap(a.Segments("rowptr", n, total, longest, attained=False), i))
    assert bound_nonnegative_maximum(promised, "i", ZERO, n, facts, True) == longest


def test_powers_sum_geometrically() -> None:
    facts = FACTS.with_symbol("k", (ZERO,))
    k = Poly.symbol("k")
    assert sum_over(a.exponential(2, i), "i", ZERO, k, facts) == a.exponential(2, k) - 1
    weighted = sum_over(i * a.exponential(2, i), "i", ZERO, k, facts)
    for count in range(1, 8):
        assert evaluate(weighted, {"k": count}) == sum(j * 2**j for j in range(count))


def brute(
    value: Poly, lo: Poly, hi: Poly, point: dict[str, int], total: Callable[[list[Fraction]], Fraction]
) -> Fraction:
    return total(values(value, "i", lo, hi, point))


part = a.positive_part
BENT = [
    # Highest just before a bend, at it, just behind it, and at an end; bends between integers, and falling ones.
    i * 2 - part(i * 2 - 5) * 3, i * 2 - part(i - 3) * 5, i - part(i * 3 - 7) * 4, part(Poly.constant(7) - i * 2) * 3 + i, -part(i * 2 - 7) - part(5 - i * 2),
    n - part(i * 3 - n) - part(n - i * 3) * 2, part(i - 2) * part(Poly.constant(8) - i), i * (n - i), i * (n * 2 - i * 3), a.floor_div(i, Poly.constant(3)) * 4 - i,
    i - a.floor_div(i, Poly.constant(3)) * 4, a.floor_div(n - i, Poly.constant(2)) * 3 + i, a.floor_div(i, Poly.constant(2)) - a.floor_div(i, Poly.constant(3)),
    a.modulo(i, Poly.constant(4)), a.modulo(i + n, Poly.constant(3)) * 2 - i, a.nonnegative_indicator(i - m) * 5 - i, a.nonnegative_indicator(m - i) * 5 + i, -i, i * -i + i * 6,
]  # fmt: skip


# What changes only between the last two of a range, or the first two.
LATE = [
    # i*(i - 2) is 0, -1, 0, 3: it rises by twos.
    i * (i - 2), a.floor_sqrt(i * (i - 2) + 4), a.floor_div(i * (i - 2), Poly.constant(2)), a.ceil_log2(i * (i - 2) + 9) * m, a.floor_sqrt(i * (i - 2) + 4) - i,
    i - part(i - n + 2) * 5, i + part(1 - i) * 5, i * (n * 2 - 4 - i), i * (n * 2 - 4 - i) + part(i - 3) * 2, i * (n * 2 - 6 - i) + part(i - 3) * 3,
    a.floor_div(n * 2, i + 1), a.floor_div(n * 2, i + 1) * m, a.floor_div(m * 9, i + 3) - m, i * (n - 1 - i) + a.floor_div(i, Poly.constant(2)) * m, -part(i - n + 2), part(1 - i) - part(i - n + 2),
]  # fmt: skip


@pytest.mark.parametrize("value", [*BENT, *LATE], ids=to_text)
def test_maxima_next_to_bends(value: Poly) -> None:
    for lo, hi in ((ZERO, n), (ZERO, n + m), (m, n + m * 2), (ONE * -2, n * 2)):
        try:
            closed = max_over(value, "i", lo, hi, FACTS)
        except UnresolvedError:
            continue
        assert "i" not in closed.names
        for size in range(1, 13):
            point = {"n": size, "m": 3}
            assert evaluate(closed, point) == brute(value, lo, hi, point, max)


total, longest = Poly.symbol("nz"), Poly.symbol("nr")
WITH_ROWS = FACTS.with_symbol("nz", (ZERO,)).with_symbol("nr", (ZERO,), (total,))
segments = a.Segments("rowptr", n, total, longest, attained=True)
entry, next_entry = a.offset(segments, i), a.offset(segments, i + 2)


def test_the_largest_is_at_most_the_sum() -> None:
    """Where the sign of q is not known, the sum has a bound and the largest has none of its own."""
    q = Poly.symbol("q")
    value = i * (n - i) * q + a.exact_quotient(i * 9, m)
    upper = bound_nonnegative_maximum(value, "i", ZERO, n, FACTS, True)
    for size in range(1, 9):
        for factor in (0, 1, 5):
            point = {"n": size, "m": 2, "q": factor}
            assert evaluate(upper, point) >= brute(value, ZERO, n, point, max)


def test_entries_of_rows_lie_as_far_apart_as_their_gaps() -> None:
    apart = next_entry - entry
    assert bound_nonnegative_maximum(apart, "i", ZERO, n - 1, WITH_ROWS, True) == WITH_ROWS.minimum(total, longest * 2)
    assert (
        bound_nonnegative_maximum(apart * m + 3, "i", ZERO, n - 1, WITH_ROWS, True)
        == m * WITH_ROWS.minimum(total, longest * 2) + 3
    )
    assert sum_over(a.offset(segments, i + 1) - entry, "i", ZERO, n, WITH_ROWS) == total
    assert sum_over((entry - a.offset(segments, i + 1)) * m + 1, "i", ZERO, n, WITH_ROWS) == n - m * total
    backwards = Poly.of_atom(a.Gap(segments, n - i - 1))
    assert sum_over(backwards, "i", ZERO, n, WITH_ROWS) == total
    assert sum_over(backwards, "i", ONE, n, WITH_ROWS) == a.offset(segments, n - 1)


def test_a_maximum_of_a_rounded_quotient_changes_at_its_own_point() -> None:
    """max(i, floor((n - i)/m)): where both are equal, the next i is none that could as well be the first."""
    found = sum_over(a.maximum(i, a.floor_div(n - i, m)), "i", ZERO, n, FACTS)
    for size in range(1, 9):
        for parts in range(1, 6):
            at_point = evaluate(found, {"n": size, "m": parts})
            assert at_point == sum(max(each, (size - each) // parts) for each in range(size))


@pytest.mark.parametrize(
    ("value", "lo", "hi"),
    [
        (a.floor_sqrt(i) * i, ZERO, n), (a.floor_sqrt(i + 2), ZERO, n), (a.floor_sqrt(n - i), ZERO, n), (a.ceil_log2(i + 3) * i, ZERO, n), (a.ceil_log2(n - i), ZERO, n),
        (a.exponential(2, i), ZERO, n), (a.exponential(3, i) * i**2, ZERO, n), (a.exponential(2, -i), ZERO, n), (a.exponential(2, n - i) * i, ZERO, n),
        (a.exponential(2, i * 2 + 1) + a.exponential(2, i), ONE, n + 1), (a.floor_div(i, m), ZERO, n), (a.floor_div(i + 1, m) * i, ZERO, n), (a.floor_div(i, m) ** 2, ZERO, n),
        (a.modulo(i, m), ZERO, n), (a.modulo(i, m) * i, ZERO, n), (a.floor_div(n - i, m), ZERO, n), (a.floor_div(i, Poly.constant(2)) * m, ZERO, n),
        (a.floor_div(i, Poly.constant(3)) * a.floor_div(i, Poly.constant(2)), ZERO, n), (part(i * 2 - n), ZERO, n), (part(n - i * 3) * i, ZERO, n),
        (part(i - m) * part(n - m - i), ZERO, n), (a.nonnegative_indicator(i - m) * i**2, ZERO, n), (a.minimum(i, m), ZERO, n), (a.minimum(i * m, n), ZERO, n),
        (a.floor_div(a.maximum(i, m), Poly.constant(2)), ZERO, n), (a.floor_div(i * 2 + 1, Poly.constant(6)) * i, ONE, n + 1), (i**5 - i**4 * n, ZERO, n),
        # Conditions whose width or weight varies.
        (a.floor_div(i + m, n) - a.floor_div(m, n), ZERO, n), ((a.floor_div(i + m, Poly.constant(5)) - a.floor_div(i + m - 2, Poly.constant(5))) * i, ZERO, n),
        ((a.floor_div(i + n, m) - a.floor_div(i + n - 1, m)) * i, ZERO, n), (a.floor_div(i + n, m * 2) - a.floor_div(i + n - m, m * 2), ZERO, n + m),
        # Of the last term alone, of the first, and of those on one side of m.
        (part(i - n + 2), ZERO, n), (part(1 - i), ZERO, n), (part(i - m) * part(i - n + 2), ZERO, n), (part(m - i) * part(i - m + 2), ZERO, n),
        (part(m - i) * part(1 - i), ZERO, n), (part(i - m) * part(m + 2 - i), ZERO, n),
    ],
    ids=str,
)  # fmt: skip
def test_closed_forms_of_sums(value: Poly, lo: Poly, hi: Poly) -> None:
    closed = sum_over(value, "i", lo, hi, FACTS)
    assert "i" not in closed.names
    for size in range(1, 14):
        for step in (1, 2, 3, 5):
            point = {"n": size, "m": step}
            assert evaluate(closed, point) == brute(value, lo, hi, point, sum)  # type: ignore[arg-type]
