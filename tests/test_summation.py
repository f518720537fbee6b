"""Closed forms of sums and maxima against adding up and comparing the terms."""

from hypothesis import HealthCheck, assume, given, settings

from algebra_strategies import FACTS, POINTS, expressions, linear, values
from archline.algebra import atoms as a
from archline.algebra.evaluation import evaluate
from archline.algebra.maximum import max_over
from archline.algebra.polynomial import ONE, ZERO, Poly, TooComplexError
from archline.algebra.relaxation import bounded_max, bounded_sum
from archline.algebra.summation import UnresolvedError, sum_over

n, m, b, i = (Poly.symbol(name) for name in "nmbi")
slow = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


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
    for bounded, exact in ((bounded_sum, sum), (bounded_max, max)):
        lower = bounded(value, "i", lo, hi, FACTS, False)
        upper = bounded(value, "i", lo, hi, FACTS, True)
        for point in POINTS:
            reached = exact(values(value, "i", lo, hi, point))
            assert lower is None or evaluate(lower, point) <= reached
            assert upper is None or evaluate(upper, point) >= reached


def test_faulhaber() -> None:
    # Sums of squares and cubes, as every textbook has them.
    assert sum_over(i**2, "i", ZERO, n, FACTS) == (n - 1) * n * (n * 2 - 1) / 6
    assert sum_over(i**3, "i", ONE, n + 1, FACTS) == (n * (n + 1) / 2) ** 2


def test_triangular_nest() -> None:
    inside = FACTS.with_symbol("i", (ZERO,), (n - 1,))
    pairs = sum_over(ONE, "j", i + 1, n, inside)
    assert sum_over(pairs, "i", ZERO, n, FACTS) == n * (n - 1) / 2


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
    squares = bounded_sum(gap * gap, "i", ZERO, n, facts, True)
    assert squares == longest * total
    assert bounded_sum(gap * gap, "i", ZERO, n, facts, False) == total
    # A promise without the data's own largest gap bounds the maximum, but does not give it.
    promised = Poly.of_atom(a.Gap(a.Segments("rowptr", n, total, longest, attained=False), i))
    assert bounded_max(promised, "i", ZERO, n, facts, True) == longest


def test_powers_sum_geometrically() -> None:
    facts = FACTS.with_symbol("k", (ZERO,))
    k = Poly.symbol("k")
    assert sum_over(a.exponential(2, i), "i", ZERO, k, facts) == a.exponential(2, k) - 1
    weighted = sum_over(i * a.exponential(2, i), "i", ZERO, k, facts)
    for count in range(1, 8):
        assert evaluate(weighted, {"k": count}) == sum(j * 2**j for j in range(count))
