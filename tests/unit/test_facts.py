"""What facts prove holds at every point that satisfies them, and what mathematics proves at once is proved."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from algebra_strategies import expressions
from archline.algebra import atoms as a
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Poly
from archline.algebra.printing import to_text
from archline.expr.intervals import EvaluationError
from archline.expr.values import evaluate_fact
from archline.ir.conditions import equivalent_constraints, negate_condition
from archline.ir.declarations import declared_scope
from archline.language.loader import load_text
from archline.language.parser import parse_expression
from effort import drawn

n, m, k, d = (Poly.symbol(name) for name in "nmkd")
slow = settings(max_examples=drawn(120), suppress_health_check=[HealthCheck.too_slow])
PLAIN = Facts().with_symbol("n", (ONE,)).with_symbol("m", (ONE,))
RANGE = [(x, y) for x in range(10) for y in range(10)]
Point = dict[str, int]


def at(*points: tuple[int, int]) -> list[Point]:
    return [{"n": x, "m": y} for x, y in points]


# Facts, and points that satisfy them.
KNOWN: list[tuple[Facts, list[Point]]] = [
    (PLAIN, at(*((x, y) for x, y in RANGE if x and y))),
    (PLAIN.with_nonnegative(n - m), at(*((x, y) for x, y in RANGE if x >= y > 0))),
    (PLAIN.with_nonnegative(m - n * 2), at(*((x, y) for x, y in RANGE if 0 < 2 * x <= y))),
    (PLAIN.with_nonnegative(n - m * 2 - 1), at(*((x, y) for x, y in RANGE if x > 2 * y > 0))),
    (PLAIN.with_nonnegative(n * m - n - 3), at(*((x, y) for x, y in RANGE if x * y >= x + 3 and x))),
    (PLAIN.with_nonnegative(n * 7 - n * m), at(*((x, y) for x, y in RANGE if x * y <= 7 * x and x and y))),
    (PLAIN.with_nonnegative(m * 2 - 5).with_nonnegative(-m * 3 + 20),
     at(*((x, y) for x, y in RANGE if 2 * y >= 5 and 3 * y <= 20 and x))),
    (Facts().with_symbol("n", (ONE,), (Poly.constant(6),)).with_symbol("m", (ONE,), (n,)),
     at(*((x, y) for x in range(1, 7) for y in range(1, x + 1)))),
]  # fmt: skip


@slow
@given(expressions(("n", "m")), st.sampled_from(KNOWN))
def test_what_is_proved_holds(value: Poly, known: tuple[Facts, list[Point]]) -> None:
    facts, points = known
    values = [evaluate(value, point) for point in points]
    assert not facts.nonnegative(value) or min(values) >= 0
    assert not facts.positive(value) or min(values) >= 1
    assert not facts.integral(value / 2) or all(each % 2 == 0 for each in values)
    simpler = facts.simplify(value)
    assert [evaluate(simpler, point) for point in points] == values


POWERS = (
    Facts().with_symbol("n", (ONE,)).with_power_of_two("n", 1, 0).with_symbol("d", (ZERO,), (Poly.symbol("log2(n)"),))
)
SQUARES = Facts().with_symbol("n", (ONE,)).with_power_of_two("n", 2, 1)
log = Poly.symbol("log2(n)")
power, part = a.exponential(2, log), a.exponential(2, d)
segments = a.Segments("row", n, m, d, attained=True)
gap = Poly.of_atom(a.Gap(segments, k))
data = Poly.of_atom(a.Data("x", ONE, m))
open_data = Poly.of_atom(a.Data("y", None, None))
call = Poly.of_atom(a.AppliedFunction("f", (n,)))
halves = a.floor_div(n, Poly.constant(2))

PROVED: list[tuple[Facts, Poly]] = [
    (PLAIN, n + m - 2), (PLAIN, n * m - 1), (PLAIN, n * m - n), (PLAIN, n * m - n - m + 1), (PLAIN, n**2 - n), (PLAIN, n**2 - n * 2 + 1), (PLAIN, n**2 - n * 2 + 2),
    (PLAIN, n - halves), (PLAIN, n - halves * 2), (PLAIN, 3 - a.positive_part(m * a.floor_div(n - 1, m) - n + 3)),
    # (n + m)/2 - 1/2 - n/2 - m/2 is above -1, and the whole is an integer.
    (PLAIN, a.floor_div(n + m, Poly.constant(2)) - halves - a.floor_div(m, Poly.constant(2))),
    (PLAIN, halves * 2 - n + 1),
    (PLAIN, a.maximum(n, m) - n), (PLAIN, n - a.minimum(n, m)), (PLAIN, a.maximum(n, m) * 2 - n - m), (PLAIN, a.minimum(n, m) - 1),
    (PLAIN, n + m - a.maximum(n, m) - 1), (PLAIN, a.floor_div(n, m) * -m + n), (PLAIN, a.modulo(n, m)),
    (PLAIN, m - 1 - a.modulo(n, m)), (PLAIN, n - 1 - a.ceil_log2(n)), (PLAIN, a.ceil_log2(n + 1) - 1),
    (PLAIN, a.floor_sqrt(n)), (PLAIN, a.floor_sqrt(n - 9) + 1), (PLAIN, a.sqrt(n)), (PLAIN, a.log2(n)), (PLAIN, n - 1 - a.log2(n)),
    (PLAIN, a.common_divisor(n, m) - 1), (PLAIN, n - a.common_divisor(n, m)), (PLAIN, m * 2 - a.common_divisor(n, m) * 2),
    (PLAIN, a.exact_quotient(n, m)), (PLAIN, n - a.exact_quotient(n, m)), (PLAIN, a.exact_quotient(n, m) * m - n), (PLAIN, call), (PLAIN, call * n),
    (PLAIN, a.positive_part(n - 3) * 2 - n * 2 + 6), (PLAIN, a.exponential(2, n) - n - 1), (PLAIN, a.exponential(2, n) - 2),
    (PLAIN.with_nonnegative(n * 2 - 5), n - 3), (PLAIN.with_nonnegative(-n * 2 + 5), -n + 2),
    (PLAIN.with_nonnegative(n * m - n * 3), m - 3), (PLAIN.with_nonnegative(n * 3 - n * m), -m + 3),
    (PLAIN.with_symbol("d", (ZERO,), (m,)), gap), (PLAIN.with_symbol("d", (ZERO,), (m,)), d - gap),
    (PLAIN.with_symbol("d", (ZERO,), (m,)), m - Poly.of_atom(a.Offset(segments, k))), (PLAIN, data - 1),
    (PLAIN, data * n), (POWERS, power - 1), (POWERS, power - part), (POWERS, power * 2 - part * 2), (POWERS, power - log - 1),
    (POWERS, power**2 - power), (POWERS, power * part - part), (POWERS, power - part + log), (SQUARES, a.exponential(4, log) - 4),
    (SQUARES, a.exponential(4, log) - a.exponential(2, log)),
]  # fmt: skip

third = a.floor_div(n * a.exponential(2, -d), Poly.constant(3))
OPEN: list[tuple[Facts, Poly]] = [
    # n/2^d may be 5/2, which is no whole number: 3*floor(5/6) is more than 2 below it.
    (PLAIN.with_symbol("d", (ZERO,)), third * 3 - n * a.exponential(2, -d) + 2),
    # Each is negative somewhere, next to one of the above.
    (PLAIN, n + m - 3), (PLAIN, n * m - 2), (PLAIN, n * m - n - 1), (PLAIN, n * m - n - m), (PLAIN, n**2 - n - 1),
    (PLAIN, n - halves - 2), (PLAIN, halves * 2 - n), (PLAIN, a.maximum(n, m) - n - 1), (PLAIN, a.minimum(n, m) - 2),
    (PLAIN, n + m - a.maximum(n, m) - 2), (PLAIN, m - 2 - a.modulo(n, m)), (PLAIN, n - 2 - a.ceil_log2(n)), (PLAIN, -a.modulo(n, m)),
    (PLAIN, a.ceil_log2(n + 1) - 2), (PLAIN, n**-1 - 1), (PLAIN, 1 - n**-1 * 2), (PLAIN, m * n**-1 - 1), (PLAIN, a.floor_div(n, m) ** -1 - 1), (PLAIN, a.ceil_log2(n) - 1), (PLAIN, n - 3 - a.ceil_log2(n + 1)), (PLAIN, a.floor_sqrt(n - 9)), (PLAIN, n - 2 - a.log2(n)), (PLAIN, -call), (PLAIN, call - 1),
    (PLAIN, a.common_divisor(n, m) - 2), (PLAIN, n - 1 - a.common_divisor(n - 1, m)), (PLAIN, n - 1 - a.common_divisor(n, m)), (PLAIN, a.exact_quotient(n, m) - 1), (PLAIN, a.exponential(2, n) - n - 2), (PLAIN, a.exponential(2, n - 2) - 1),
    (PLAIN.with_nonnegative(n - m), n**2 - m**2 - 1), (PLAIN.with_nonnegative(n * 2 - 5), n - 4), (PLAIN, Poly.symbol("q")),
    (PLAIN.with_nonnegative(-n * 2 + 5), -n + 1), (PLAIN.with_nonnegative(n * m - n * 3), m - 4),
    (PLAIN, gap - 1), (PLAIN, data - 2), (PLAIN, m - 1 - data), (PLAIN, open_data), (PLAIN, -open_data), (POWERS, power - 2),
    (POWERS, power - part - 1), (POWERS, power - part * 2), (POWERS, power - log - 2), (POWERS, part * 2 - power),
    (SQUARES, a.exponential(4, log) - 5), (PLAIN, a.log2(n - 1)), (PLAIN, Poly.of_atom(a.Offset(segments, k)) - 1),
]  # fmt: skip


@pytest.mark.parametrize(("facts", "value"), PROVED, ids=[to_text(value) for _, value in PROVED])
def test_what_is_proved_at_once(facts: Facts, value: Poly) -> None:
    assert facts.nonnegative(value)
    assert not facts.refutes(value)


@pytest.mark.parametrize(("facts", "value"), OPEN, ids=[to_text(value) for _, value in OPEN])
def test_what_is_false_is_not_proved(facts: Facts, value: Poly) -> None:
    assert not facts.nonnegative(value)


@slow
@given(expressions(("n", "m")), st.sampled_from(KNOWN))
def test_what_is_refuted_is_not_proved(value: Poly, known: tuple[Facts, list[Point]]) -> None:
    facts, points = known
    assert not (facts.refutes(value) and facts.nonnegative(value))
    # Some of the points that refute are at the least sizes.
    low = min(points, key=lambda point: (point["n"], point["m"]))
    if len(facts.bounds["n"].lower) == len(facts.bounds["m"].lower) == 1 and facts.bounds["m"].lower[0] == ONE:
        assert facts.refutes(value) or evaluate(value, low) >= 0


# Values.
@pytest.mark.parametrize(
    ("value", "point", "expected"),
    [
        (n**-2, {"n": 3}, Fraction(1, 9)), (n ** (10**7), {"n": -1}, 1), (n ** (10**7 + 1), {"n": -1}, -1), (n**-3, {"n": -1}, -1),
        (a.floor_div(n, m), {"n": -7, "m": 2}, -4), (a.floor_div(n, m), {"n": 7, "m": -2}, -4), (a.exact_quotient(n, m), {"n": 6, "m": 4}, Fraction(3, 2)),
        (a.ceil_log2(n), {"n": 1}, 0), (a.ceil_log2(n), {"n": 2}, 1), (a.ceil_log2(n), {"n": 3}, 2), (a.ceil_log2(n), {"n": 4}, 2),
        (a.ceil_log2(n), {"n": 5}, 3), (a.ceil_log2(n), {"n": -9}, 0), (a.ceil_log2(n), {"n": Fraction(17, 4)}, 3), (a.log2(n), {"n": 64}, 6),
        (a.log2(n), {"n": 1}, 0), (a.sqrt(n), {"n": 49}, 7), (a.sqrt(n), {"n": 0}, 0), (a.floor_sqrt(n), {"n": 48}, 6), (a.floor_sqrt(n), {"n": 49}, 7),
        (a.floor_sqrt(n), {"n": -1}, -1), (a.floor_sqrt(n), {"n": 0}, 0), (a.exponential(3, n), {"n": 4}, 81), (a.exponential(2, -n), {"n": 3}, Fraction(1, 8)),
        (a.positive_part(n - m), {"n": 3, "m": 5}, 0), (n * a.log2(m), {"n": 0, "m": 3}, 0), (a.log2(m) * n, {"n": 0, "m": 0}, 0),
    ],
)  # fmt: skip
def test_values(value: Poly, point: dict[str, int | Fraction], expected: int | Fraction) -> None:
    assert evaluate(value, point) == expected


@pytest.mark.parametrize(
    ("value", "point", "reason"),
    [
        (n, {}, "no value"), (n**-1, {"n": 0}, "division by 0"), (a.floor_div(n, m), {"n": 1, "m": 0}, "division by 0"),
        (a.exact_quotient(n, m), {"n": 1, "m": 0}, "division by 0"), (a.log2(n), {"n": 3}, "not rational"), (a.log2(n), {"n": 0}, "not rational"),
        (a.log2(n), {"n": Fraction(1, 3)}, "not rational"), (a.sqrt(n), {"n": 2}, "not rational"), (a.sqrt(n), {"n": -4}, "not rational"),
        (a.exponential(2, n / 2), {"n": 3}, "fraction as exponent"), (n ** (10**7), {"n": 2}, "million digits"), (call, {"n": 1}, "depends on the data"),
        (data, {"m": 3}, "depends on the data"), (n * a.log2(m), {"n": 1, "m": 3}, "not rational"),
    ],
)  # fmt: skip
def test_what_has_no_value(value: Poly, point: dict[str, int | Fraction], reason: str) -> None:
    with pytest.raises(EvaluationError, match=reason):
        evaluate(value, point)


def test_functions_that_are_open_are_given() -> None:
    squares: Callable[..., object] = lambda name, arguments: arguments[0] ** 2 if name == "f" else 0  # noqa: E731
    assert evaluate(call * 2 + Poly.of_atom(a.AppliedFunction("g", (n,))), {"n": 5}, squares) == 50  # type: ignore[arg-type]


@given(st.lists(st.integers(-4, 4), max_size=2), st.lists(st.integers(-4, 4), max_size=2), st.data())
def test_numbers_that_bound_a_symbol(lower: list[int], upper: list[int], data: st.DataObject) -> None:
    facts = Facts().with_symbol("n", map(Poly.constant, lower), map(Poly.constant, upper))
    factor, rest = data.draw(st.integers(-3, 3)), data.draw(st.integers(-12, 12))
    ends = lower if factor > 0 else upper if factor else [0]
    assert facts.nonnegative(n * factor + rest) == any(factor * end + rest >= 0 for end in ends)


# Conditions as amounts that are at least 0 where they hold: against their evaluation at all small values


PROGRAM = "algorithm f(i: size, j: size, k: size):\n    pass\n"
PLACES = [dict(zip("ijk", values, strict=True)) for values in product(range(1, 5), repeat=3)]


def _condition(source: Random, depth: int) -> str:
    if not depth or source.random() < 0.2:
        left, right = source.choice(("i", "j", "i + k", "2*i", "j - k")), source.choice(("k", "j", "1", "2", "k + 1"))
        return f"{left} {source.choice(('==', '!=', '!=', '<', '<=', '>', '>='))} {right}"
    if source.random() < 0.3:
        return f"not ({_condition(source, depth - 1)})"
    return f"({_condition(source, depth - 1)}) {source.choice(('and', 'or'))} ({_condition(source, depth - 1)})"


@pytest.mark.parametrize("seed", range(drawn(80)))
def test_amounts_are_at_least_zero_where_a_condition_holds(seed: int) -> None:
    module = load_text(PROGRAM)
    scope = declared_scope(module, module.algorithms["f"])
    text = _condition(Random(seed), 3)
    condition = parse_expression(text)
    for expression, right in ((condition, True), (negate_condition(condition), False)):
        needs = equivalent_constraints(expression, scope)
        assert needs is not None, text
        for place in PLACES:
            found = all(evaluate(scope.facts.restore(each), place) >= 0 for each in needs)
            assert found == (evaluate_fact(condition, place) is right), (text, place)


def test_the_values_of_which_one_is_the_greatest() -> None:
    x, y, z = map(Poly.symbol, "xyz")
    value = a.maximum(a.maximum(x, y.scaled(2)), z + 1)
    for place in product(range(4), repeat=3):
        at = dict(zip("xyz", place, strict=True))
        assert evaluate(value, at) == max(evaluate(each, at) for each in a.split_extremum(value, True))
        least = a.minimum(a.minimum(x, y - 3), z.scaled(3))
        assert evaluate(least, at) == min(evaluate(each, at) for each in a.split_extremum(least, False))
    assert a.split_extremum(value, False) == (value,)


def test_sizes_that_are_divided_or_powers() -> None:
    facts = Facts().with_symbol("m", (ONE,)).with_symbol("n", (ONE,)).with_quotient("n", m, 2)
    count = Poly.symbol("n/m")
    assert facts.rewrite_symbol("n") == m * count
    assert facts.rewrite_symbol("m") == m
    assert facts.nonnegative(count - 2)
    assert not facts.nonnegative(count - 3)
    assert facts.restore(count * m + count) == n + n * m**-1
    # The exponents of n = 2^k, n = 4^k and n = 8^k have one name, and each its own value.
    assert POWERS.restore(a.exponential(2, log) * 3 + log) == n * 3 + a.log2(n)
    assert POWERS.restore(a.floor_div(a.exponential(2, log) + 1, m)) == a.floor_div(n + 1, m)
    assert SQUARES.restore(a.exponential(2, log * 5)) == n**2 * a.sqrt(n)
    assert SQUARES.restore(log) == a.log2(n) / 2
    cubes = Facts().with_symbol("n", (ONE,)).with_power_of_two("n", 3, 0)
    assert cubes.restore(a.exponential(2, log * 6)) == n**2
    assert cubes.restore(a.exponential(2, log)) == a.exponential(2, a.log2(n) / 3)


def test_facts_with_other_bounds_share_the_symbols_before_the_first_that_differs() -> None:
    n = Poly.symbol("n")
    outer = Facts().with_symbol("n", (ONE,))
    facts = outer.with_symbol("i", (ZERO,), (n - 1,)).with_symbol("j", (ZERO,), (n - 1,))
    later = Facts().with_symbol("i", (ONE,), (n - 1,)).bounds["i"]
    changed = facts.with_bounds({**facts.bounds, "i": later})
    assert changed.without_younger_symbols(frozenset({"n"})) is outer
    assert changed.positive(Poly.symbol("i"))
    assert not facts.positive(Poly.symbol("i"))
    assert not changed.positive(Poly.symbol("j"))
    without = facts.with_bounds({"n": later, "j": facts.bounds["j"]})
    assert without.bounds == {"n": later, "j": facts.bounds["j"]}
