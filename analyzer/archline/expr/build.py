"""Builds trees in derivations: numbers, products, powers, sums and comparisons without a place in any source."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import reduce

from archline.expr import tree as s
from archline.numbers import fmpq
from archline.records import replace

DERIVED = s.Span(s.Source("<derived>", ""), 1, 1, 1, 1)
"""The place of nodes that are in no source."""
ZERO, ONE = s.Integer(0, span=DERIVED), s.Integer(1, span=DERIVED)


def join_conditions(op: str, parts: Iterable[s.Expr]) -> s.Expr:
    """Join at least one condition by the operator `and` or `or`."""
    return reduce(lambda left, right: binary(op, left, right), parts)


def number(value: int | Fraction | fmpq) -> s.Expr:
    """Make a rational number: an integer, or a quotient of two."""
    if isinstance(value, int):
        return negate_expression(number(-value)) if value < 0 else s.Integer(value, span=DERIVED)
    above, below = value.as_integer_ratio() if isinstance(value, Fraction) else (int(value.p), int(value.q))
    return number(above) if below == 1 else binary("/", number(above), number(below))


def name(text: str) -> s.Expr:
    """Make a name."""
    return s.Name(text, span=DERIVED)


def call(function: str, *arguments: s.Expr) -> s.Call:
    """Make a call of a function."""
    return s.Call(function, arguments, span=DERIVED)


def binary(op: str, left: s.Expr, right: s.Expr) -> s.Binary:
    """Make an operation or a comparison."""
    return s.Binary(op, left, right, span=DERIVED)


def lower_bound_facts(names: Iterable[str], value: int) -> tuple[s.Binary, ...]:
    """Return the facts that names are at least a number."""
    return tuple(binary(">=", name(size), number(value)) for size in names)


def negate_expression(expr: s.Expr) -> s.Expr:
    """Return the negative of an expression, with the sign before its first factor."""
    match expr:
        case s.Unary(op="-", operand=operand):
            return operand
        case s.Binary(op="*" | "/", left=left):
            return replace(expr, left=negate_expression(left))
        case _:
            return s.Unary("-", expr, span=DERIVED)


def product(factors: Sequence[s.Expr]) -> s.Expr:
    """Return the product of the factors, 1 without factors."""
    return reduce(lambda left, right: binary("*", left, right), factors) if factors else ONE


def divide_products(above: Sequence[s.Expr], below: Sequence[s.Expr]) -> s.Expr:
    """Return a product of factors divided by another one."""
    return binary("/", product(above), product(below)) if below else product(above)


def rational_multiple(times: fmpq, above: Sequence[s.Expr], below: Sequence[s.Expr]) -> s.Expr:
    """Return a positive rational times a quotient of products: `3*n^2/(2*m)`."""
    top = [number(int(times.p))] if times.p != 1 else []
    bottom = [number(int(times.q))] if times.q != 1 else []
    return divide_products([*top, *above], [*bottom, *below])


def power(base: s.Expr, exponent: s.Expr) -> s.Expr:
    """Return base^exponent; a square root if the exponent is 1/2."""
    match exponent:
        case s.Integer(value=1):
            return base
        case s.Binary(op="/", left=s.Integer(value=1), right=s.Integer(value=2)):
            return call("sqrt", base)
        case _:
            return binary("^", base, exponent)


def sum_terms(terms: Iterable[tuple[bool, s.Expr]]) -> s.Expr:
    """Return the sum of terms, each with a flag that it is subtracted; 0 without terms."""
    result: s.Expr | None = None
    for minus, term in terms:
        signed = negate_expression(term) if minus else term
        result = signed if result is None else binary("-" if minus else "+", result, term)
    return result or ZERO
