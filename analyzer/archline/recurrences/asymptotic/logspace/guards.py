"""Guards, cut-offs and facts: comparisons of sums, max and min as alternatives of linear rows in logarithms.

A sum is a max up to a constant factor: `n + m <= L` is two rows, `n*m <= Z + L` two alternatives. A constant in a
comparison moves it by a constant factor, which no growth sees; it is kept, to tell `P >= 2` from `P <= 1`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import log2
from typing import TypeAlias

from archline.algebra.asymptotic.constants import OutOfReachError
from archline.language import syntax as s
from archline.language.format_expressions import format_expression, format_fact
from archline.numbers import fmpq
from archline.recurrences.asymptotic.logspace.cones import Vector, plus
from archline.recurrences.asymptotic.logspace.numbers import Irrational, approximate
from archline.recurrences.asymptotic.logspace.terms import Names, constant


@dataclass(frozen=True, eq=False, slots=True)
class LogInequality:
    """form . y + log2(factor) >= 0; compared by identity, as it stands in one condition."""

    form: Vector
    factor: float

    @property
    def shift(self) -> float:
        """The constant beside the form."""
        return log2(self.factor)


Alternatives: TypeAlias = tuple[tuple[LogInequality, ...], ...]
MAX_ALTERNATIVES = 64
STRICT = 1e-6
"""How much a strict comparison asks for beyond equality, relatively: it matters where sizes are equal."""
_NEGATED = {"<=": ">", "<": ">=", ">=": "<", ">": "<=", "==": "!=", "!=": "=="}


def alternatives(fact: s.Fact, names: Names) -> Alternatives:
    """The fact holds where all rows of one of the alternatives hold. Raises OutOfReachError."""
    match fact:
        case s.Binary(op="and", left=left, right=right):
            return _both(alternatives(left, names), alternatives(right, names))
        case s.Binary(op="or", left=left, right=right):
            return alternatives(left, names) + alternatives(right, names)
        case s.Unary(op="not", operand=s.Binary(op=op, left=left, right=right, span=span)) if op in _NEGATED:
            return alternatives(s.Binary(_NEGATED[op], left, right, span=span), names)
        case s.Binary(op="<=" | "<" as op, left=left, right=right):
            return _compared(left, right, names, strict=op == "<")
        case s.Binary(op=">=" | ">" as op, left=left, right=right):
            return _compared(right, left, names, strict=op == ">")
        case s.Binary(op="==", left=left, right=right):
            return _both(_compared(left, right, names), _compared(right, left, names))
        case _:
            raise OutOfReachError(f"the condition {format_fact(fact)} compares no sizes")


def negated(fact: s.Fact) -> str:
    """The opposite condition, as text."""
    match fact:
        case s.Binary(op=op, left=left, right=right, span=span) if op in _NEGATED:
            return format_fact(s.Binary(_NEGATED[op], left, right, span=span))
        case _:
            return f"not ({format_fact(fact)})"


_Side: TypeAlias = tuple[tuple[tuple[Vector, float], ...], ...]


def _compared(small: s.Expr, great: s.Expr, names: Names, *, strict: bool = False) -> Alternatives:
    """Where small <= great: for each part of the small side some part of the great side is as large."""
    scale = 1 - STRICT if strict else 1.0
    result: Alternatives = ((),)
    upper = _side(great, names)
    for least in _side(small, names):
        reached = (
            tuple(LogInequality(plus(high, low, fmpq(-1)), scale * b / a) for high, b in most)
            for low, a in least
            for most in upper
        )
        result = _both(result, tuple(part for rows in reached if (part := _settled(rows)) is not None))
    return result


def _settled(rows: tuple[LogInequality, ...]) -> tuple[LogInequality, ...] | None:
    """The rows without those between constants; None where such a one fails."""
    if any(not any(row.form) and row.factor < 1 for row in rows):
        return None
    return tuple(row for row in rows if any(row.form))


def _side(expr: s.Expr, names: Names) -> _Side:
    """The expression as a max of mins of monomials, each with its constant factor."""
    match expr:
        case s.Binary(op="+", left=left, right=right):
            return _side(left, names) + _side(right, names)
        case s.Call(function="max", arguments=arguments):
            return tuple(part for each in arguments for part in _side(each, names))
        case s.Call(function="min", arguments=arguments):
            result: _Side = ((),)
            for each in arguments:
                result = tuple(a + b for a, b in product(result, _side(each, names)))
            return result
        case s.Binary(op="*", left=left, right=right):
            return tuple(
                tuple((plus(p, q), a * b) for (p, a), (q, b) in product(mine, theirs))
                for mine, theirs in product(_side(left, names), _side(right, names))
            )
        case _:
            return _monomials(expr, names)


def _monomials(expr: s.Expr, names: Names) -> _Side:
    terms = names.terms(expr)
    if any(each.logs for each in terms):
        raise OutOfReachError(f"the logarithm in the condition on {format_expression(expr)}")
    if not terms:
        raise OutOfReachError("a comparison with 0")
    if any(isinstance(x, Irrational) for each in terms for x in each.powers):
        raise OutOfReachError(f"the irrational power in the condition on {format_expression(expr)}")
    if not any(any(each.powers) for each in terms):
        return (((terms[0].powers, approximate(constant(expr))),),)
    factor = _factor(expr)
    return tuple(((each.powers, factor),) for each in terms)


def _factor(expr: s.Expr) -> float:
    """The constant factor of a product, 1 where it is not plain."""
    match expr:
        case s.Integer() | s.Real():
            return approximate(constant(expr))
        case s.Binary(op="*", left=left, right=right):
            return _factor(left) * _factor(right)
        case s.Binary(op="/", left=left, right=right):
            return _factor(left) / _factor(right)
        case _:
            return 1.0


def _both(first: Alternatives, second: Alternatives) -> Alternatives:
    result = tuple(tuple(dict.fromkeys(a + b)) for a, b in product(first, second))
    if len(result) > MAX_ALTERNATIVES:
        raise OutOfReachError("a condition of too many alternatives")
    return result
