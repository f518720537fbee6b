"""Expressions up to constant factors, simplified: sums of monomials without the terms that others dominate."""

from __future__ import annotations

from functools import reduce

from archline.algebra.reals import OutOfReachError
from archline.expr.build import ZERO, total
from archline.expr.text import format_expression
from archline.expr.tree import rewritten, same
from archline.growth import normal_form as e
from archline.growth.candidates import Shape, is_call
from archline.growth.is_big_o import proves
from archline.growth.log_domain import Domain
from archline.growth.monomials import Term
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError

MAX_TERMS = 12


def reduced_sum(expr: s.Expr, domain: Domain, share: s.Expr | None = None) -> s.Expr | None:
    """A sum of monomials multiplied out, without those of no higher order than another; None for other expressions.

    `share` is what stands for min(1, e): 1 for an upper bound, 0 for a lower one.
    """
    found = _terms(reduced(expr if share is None else rewritten(expr, lambda part: share if _is_share(part) else None)))
    exprs = [each.tree() for each in dict.fromkeys(found) if each is not None]
    if None in found or not 0 < len(exprs) <= MAX_TERMS:
        return None
    kept = list(range(len(exprs)))
    for index in range(len(exprs)):
        others = [each for each in kept if each != index]
        if any(holds(exprs[index], exprs[each], domain) for each in others):
            kept = others
    return total((False, exprs[each]) for each in kept)


def _is_share(expr: s.Expr) -> bool:
    """Whether it is min(1, e)."""
    return (
        isinstance(expr, s.Call)
        and expr.function == "min"
        and len(expr.arguments) == 2
        and is_number(expr.arguments[0], 1)
    )


def _terms(expr: s.Expr) -> list[Shape | None]:
    """The monomials that are added in a sum, multiplied out, a max as good as one; None for all else."""
    try:
        found = e.expand(rewritten(expr, _summed))
    except OutOfReachError:
        return [None]
    return [_shape(term) if coefficient.sign() > 0 else None for term, coefficient in found.items()]


def _summed(expr: s.Expr) -> s.Expr | None:
    """A sum for a max, and a logarithm for one that is rounded up, which grows no faster."""
    match expr:
        case s.Call(function="max", arguments=arguments):
            return reduce(plus, [rewritten(each, _summed) for each in arguments])
        case s.Call(function="ceil", arguments=(s.Call(function="log2") as level,)):
            return level
        case s.Call(function="log2"):
            return expr
        case _:
            return None


def _shape(term: Term) -> Shape | None:
    """A term in names and logarithms; None for one with other factors."""
    return term if all(isinstance(each.expr, s.Name) or is_call(each.expr, "log2") for each in term.powers) else None


def plus(left: s.Expr, right: s.Expr) -> s.Expr:
    """Left + right."""
    return s.Binary("+", left, right, span=left.span)


def added_terms(expr: s.Expr) -> list[Shape]:
    """The monomials that are added in a sum, multiplied out; what is subtracted, or is none, is left out."""
    return [each for each in _terms(expr) if each is not None]


def monomial(expr: s.Expr) -> Shape | None:
    """A product of powers of names and logarithms, without its coefficient; None for another expression."""
    found = _terms(expr)
    return found[0] if len(found) == 1 else None


def quotient(f: s.Expr, g: s.Expr) -> str:
    """f/g as text; a product of powers where both are one."""
    if f == g:
        return "1"
    top, bottom = monomial(f), monomial(g)
    if top is None or bottom is None:
        return format_expression(s.Binary("/", f, g, span=f.span))
    return (top / bottom).text()


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
