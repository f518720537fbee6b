"""Expressions up to constant factors, simplified: sums of monomials without the terms that others dominate."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from typing import TypeAlias

from archline.algebra.product_text import power_text, quotient_text
from archline.expr.text import format_expression
from archline.expr.tree import rewritten, same
from archline.growth.is_big_o import proves
from archline.growth.log_domain import Domain
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError
from archline.language.parser import parse_expression

ONE, ZERO = parse_expression("1"), parse_expression("0")
MAX_TERMS = 12
Powers: TypeAlias = dict[str, Fraction]
"""A product of powers of names, and of logarithms by their text."""


def reduced_sum(expr: s.Expr, domain: Domain, share: s.Expr | None = None) -> s.Expr | None:
    """A sum of monomials multiplied out, without those of no higher order than another; None for other expressions.

    `share` is what stands for min(1, e): 1 for an upper bound, 0 for a lower one.
    """
    found = _terms(reduced(expr if share is None else rewritten(expr, lambda part: share if _is_share(part) else None)))
    texts = list(dict.fromkeys(of_powers(each) for each in found if each is not None))
    if None in found or not 0 < len(texts) <= MAX_TERMS:
        return None
    exprs = [parse_expression(text) for text in texts]
    kept = list(range(len(exprs)))
    for index in range(len(exprs)):
        others = [each for each in kept if each != index]
        if any(holds(exprs[index], exprs[each], domain) for each in others):
            kept = others
    return parse_expression(" + ".join(texts[each] for each in kept))


def _is_share(expr: s.Expr) -> bool:
    """Whether it is min(1, e)."""
    return (
        isinstance(expr, s.Call)
        and expr.function == "min"
        and len(expr.arguments) == 2
        and is_number(expr.arguments[0], 1)
    )


def _terms(expr: s.Expr) -> list[Powers | None]:
    """The monomials that are added in a sum, multiplied out, a max as good as one; None for all else."""
    match expr:
        case s.Binary(op="+", left=left, right=right):
            return [*_terms(left), *_terms(right)]
        case s.Binary(op="-", left=left):
            return [*_terms(left), None]
        case s.Call(function="max", arguments=arguments):
            return [term for each in arguments for term in _terms(each)]
        case s.Binary(op="*", left=left, right=right):
            return _products(_terms(left), _terms(right), 1)
        case s.Binary(op="/", left=left, right=right):
            return _products(_terms(left), [monomial(right)], -1)
        case _:
            return [monomial(expr)]


def _products(left: list[Powers | None], right: list[Powers | None], sign: int) -> list[Powers | None]:
    """Each times, or over, each, none twice; None where one of both is."""
    found: list[Powers | None] = []
    for a, b in product(left, right):
        each = None if a is None or b is None else _times(a, b, sign)
        if each not in found:
            found.append(each)
    return found


def added_terms(expr: s.Expr) -> list[Powers]:
    """The monomials that are added in a sum, multiplied out; what is subtracted, or is none, is left out."""
    return [each for each in _terms(expr) if each is not None]


def _times(one: Powers, other: Powers, sign: int) -> Powers:
    powers = {name: one.get(name, Fraction(0)) + sign * other.get(name, Fraction(0)) for name in {**one, **other}}
    return {name: power for name, power in powers.items() if power}


def quotient(f: s.Expr, g: s.Expr) -> str:
    """f/g as text; a product of powers where both are one."""
    if f == g:
        return "1"
    top, bottom = monomial(f), monomial(g)
    if top is None or bottom is None:
        return format_expression(s.Binary("/", f, g, span=f.span))
    return of_powers(_times(top, bottom, -1))


def of_powers(powers: Mapping[str, Fraction]) -> str:
    """A product of powers as text."""
    above = [power_text(name, str(each)) for name, each in powers.items() if each > 0]
    below = [power_text(name, str(-each)) for name, each in powers.items() if each < 0]
    return quotient_text(above, below)


def monomial(expr: s.Expr) -> Powers | None:
    """The powers of a product of names (and of logarithms, by their text); None for another expression."""
    match expr:
        case s.Integer(value=value) if value > 0:
            return {}
        case s.Name(id=name):
            return {name: Fraction(1)}
        case s.Call(function="log2"):
            return {format_expression(expr): Fraction(1)}
        case s.Call(function="ceil", arguments=(s.Call(function="log2") as level,)):
            # Rounded up it grows no faster.
            return {format_expression(level): Fraction(1)}
        case s.Call(function="sqrt", arguments=(argument,)):
            inner = monomial(argument)
            return None if inner is None else {name: power / 2 for name, power in inner.items()}
        case s.Binary(op="*" | "/" as op, left=left, right=right):
            first, second = monomial(left), monomial(right)
            if first is None or second is None:
                return None
            return _times(first, second, 1 if op == "*" else -1)
        case s.Binary(op="^", left=left, right=right):
            inner, power = monomial(left), _rational(right)
            return None if inner is None or power is None else {name: each * power for name, each in inner.items()}
        case _:
            return None


def _rational(expr: s.Expr) -> Fraction | None:
    match expr:
        case s.Integer(value=value):
            return Fraction(value)
        case s.Binary(op="/", left=s.Integer(value=above), right=s.Integer(value=below)) if below:
            return Fraction(above, below)
        case _:
            return None


def holds(f: s.Expr, g: s.Expr, domain: Domain) -> bool:
    """Whether f = O(g) is proved."""
    try:
        return same(f, g) or proves(f, g, domain)
    except ArchlineError:
        return False


def reduced(expr: s.Expr) -> s.Expr:
    """An expression without factors of 1 and terms of 0."""
    match expr:
        case s.Binary(op=op, left=left, right=right):
            a, b = reduced(left), reduced(right)
            match op:
                case "*" if is_number(a, 0) or is_number(b, 0):
                    return ZERO
                case "*" | "+" if is_number(a, 1 if op == "*" else 0):
                    return b
                case "*" | "/" if is_number(b, 1):
                    return a
                case "*" if isinstance(b, s.Binary) and b.op == "/" and same(a, b.right):
                    return b.left
                case "+" | "-" if is_number(b, 0):
                    return a
                case "-" if is_number(a, 1) and is_number(b, 1):
                    # Of quantities: a model that divides by it requires it to be positive.
                    return a
                case "/" if is_number(a, 0):
                    return a
                case _:
                    return s.Binary(op, a, b, span=expr.span)
        case s.Call(function="max", arguments=arguments):
            kept = tuple(each for each in map(reduced, arguments) if not is_number(each, 0))
            return kept[0] if len(kept) == 1 else s.Call("max", kept, span=expr.span) if kept else ZERO
        case s.Call(function=function, arguments=arguments):
            return s.Call(function, tuple(map(reduced, arguments)), span=expr.span)
        case _:
            return expr


def is_number(expr: s.Expr, value: int) -> bool:
    """Whether an expression is this number."""
    return isinstance(expr, s.Integer) and expr.value == value
