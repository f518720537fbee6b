"""Expand the sizes of a cost into sums of terms with signed coefficients, so that equal terms cancel."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

from archline.algebra.reals import HALF, LOG_2, NOTHING, PI, UNITY, Constant, OutOfReachError, enclosed
from archline.expr import build as b
from archline.expr.text import Formula, format_expression
from archline.expr.tree import rewritten, same
from archline.growth import rules
from archline.growth.monomials import Factor, Monomial, Term, single
from archline.language import syntax as s
from archline.language.diagnostics import error
from archline.numbers import fmpq

MAX_TERMS = 300
MAX_WHOLE_POWER = 8
MAX_EXPONENT_DIGITS = 4
ARITHMETIC = frozenset(("+", "-", "*", "/", "//", "%", "^"))
FUNCTIONS = frozenset(("min", "max", "sqrt", "rsqrt", "log2", "log", "floor", "ceil", "abs"))


Sum: TypeAlias = Mapping[Term, Constant]
"""The coefficient of each term; none is zero."""
UNIT_TERM: Term = Monomial({})


def constant(expr: s.Expr) -> Constant | None:
    """Evaluate an expression without names, else None. Raises OutOfReachError, ArchlineError (AL480)."""
    match expr:
        case s.Integer(value=value):
            return Constant(fmpq(value))
        case s.Real(text=text):
            return _decimal(expr, text)
        case s.Name(id=name):
            return PI if name == "pi" else None
        case s.Unary(op="-", operand=operand):
            inner = constant(operand)
            return None if inner is None else -inner
        case s.Binary(op=op, left=left, right=right) if op in ARITHMETIC:
            first = constant(left)
            second = None if first is None else constant(right)
            return None if first is None or second is None else _binary(op, first, second)
        case s.Call(function=function, arguments=arguments) if function in FUNCTIONS and arguments:
            values = [constant(argument) for argument in arguments]
            return None if None in values else _call(function, [number for number in values if number is not None])
        case s.Call(function="exp", arguments=(inner,)) if (power := constant(inner)) is not None:
            return enclosed(f"exp({power})", lambda: power.enclosure().exp(), expr) if power else UNITY
        case s.Unary() | s.Binary() | s.Call() | s.Element() | s.Reshape():
            raise error(rules.NOT_A_SIZE_EXPRESSION, "this is not an expression in sizes", span=expr.span)


def _decimal(expr: s.Expr, text: str) -> Constant:
    if len(text) > 400 or len(text.lower().partition("e")[2]) > MAX_EXPONENT_DIGITS:
        raise error(rules.NOT_A_SIZE_EXPRESSION, "the number is too large or too small", span=expr.span)
    value = Fraction(text)
    return Constant(fmpq(value.numerator, value.denominator))


_OPERATIONS: dict[str, Callable[[Constant, Constant], Constant]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "^": Constant.power,
}  # fmt: skip


def _binary(op: str, left: Constant, right: Constant) -> Constant:
    if op in _OPERATIONS:
        return _OPERATIONS[op](left, right)
    whole = _floor(left / right)
    return whole if op == "//" else left - right * whole


def _call(function: str, values: list[Constant]) -> Constant:
    first, *rest = values
    match function:
        case "min" | "max":
            for candidate in rest:
                sign = (candidate - first).sign()
                first = candidate if sign == (1 if function == "max" else -1) else first
            return first
        case "sqrt":
            return first.power(HALF) if first else first
        case "rsqrt":
            return first.power(-HALF)
        case "log2":
            return first.log2()
        case "log":
            return first.log2() * LOG_2
        case "floor":
            return _floor(first)
        case "ceil":
            return -_floor(-first)
        case "abs":
            return -first if first.sign() < 0 else first
        case _:
            raise OutOfReachError(f"`{function}` of a constant")


def _floor(value: Constant) -> Constant:
    if not value.is_rational:
        raise OutOfReachError("a rounded irrational constant")
    return Constant(fmpq(value.rational.floor()))


def has_minus(expr: s.Expr) -> bool:
    """Whether anything is subtracted in an expression, exponents aside."""
    match expr:
        case s.Unary():
            return True
        case s.Binary(op="-"):
            return True
        case s.Binary(op="^", left=left):
            return has_minus(left)
        case s.Binary(left=left, right=right):
            return has_minus(left) or has_minus(right)
        case s.Call(arguments=arguments):
            return any(has_minus(argument) for argument in arguments)
        case s.Integer() | s.Real() | s.Name() | s.Element() | s.Reshape():
            return False


@lru_cache(maxsize=4096)
def _factor(key: str, expr: s.Expr) -> Term:
    return single(Factor(key, expr))


def alone(term: Term) -> s.Expr | None:
    """Return the expression of a factor that is the whole term."""
    if len(term.powers) == 1:
        ((factor, power),) = term.powers.items()
        if power == UNITY:
            return factor.expr
    return None


@lru_cache(maxsize=4096)
def exponents(expr: s.Expr) -> frozenset[str]:
    """Return the sizes in exponents, except in logarithms."""
    powers = (node.right for node in s.nodes(expr) if isinstance(node, s.Binary) and node.op == "^")
    return frozenset(name for exponent in powers for name in _in_arithmetic(exponent))


def has_steep_power(expr: s.Expr) -> bool:
    """Whether a power is none of a number to a sum of multiples of sizes and logarithms, such as n^n or 2^(n^2)."""
    powers = [node for node in s.nodes(expr) if isinstance(node, s.Binary) and node.op == "^" and s.names(node.right)]
    return any(s.names(power_.left) or not _is_linear(power_.right) for power_ in powers)


def _is_linear(expr: s.Expr) -> bool:
    factors = (alone(term) for term in expand(expr) if term.powers)
    return all(isinstance(base, s.Name) or (isinstance(base, s.Call) and base.function == "log2") for base in factors)


def _in_arithmetic(expr: s.Expr) -> frozenset[str]:
    match expr:
        case s.Name(id=name):
            return frozenset((name,))
        case s.Unary(operand=operand):
            return _in_arithmetic(operand)
        case s.Binary(left=left, right=right):
            return _in_arithmetic(left) | _in_arithmetic(right)
        case _:
            return frozenset()


def expand(expr: s.Expr) -> Sum:
    """Return the expression as a sum of terms."""
    value = constant(expr)
    if value is not None:
        return {UNIT_TERM: value} if value else {}
    match expr:
        case s.Name(id=name):
            return {_factor(name, expr): UNITY}
        case s.Unary(op="-", operand=operand):
            return scaled(expand(operand), Constant(fmpq(-1)))
        case s.Binary(op="+", left=left, right=right):
            return added(expand(left), expand(right))
        case s.Binary(op="-", left=left, right=right):
            return added(expand(left), scaled(expand(right), Constant(fmpq(-1))))
        case s.Binary(op="*", left=left, right=right):
            return _multiplied(expand(left), expand(right))
        case s.Binary(op="/", left=left, right=right):
            return _multiplied(expand(left), _raised(right, Constant(fmpq(-1))))
        case s.Binary(op="^", left=left, right=right):
            exponent, base = constant(right), constant(left)
            if exponent is not None:
                return _raised(left, exponent)
            if base is not None and base.sign() > 0:
                return _exponential(base, expand(right), expr)
        case s.Call(function="sqrt" | "rsqrt" as function, arguments=(inner,)):
            return _raised(inner, HALF if function == "sqrt" else -HALF)
        case _:
            pass
    return {_factor(format_expression(expr), expr): UNITY}


def multiplied_out(expr: s.Expr) -> Sum:
    """Return the expression as a sum of terms; max(a, a) and min(a, a) are a."""
    return expand(rewritten(expr, _of_equal))


def _of_equal(expr: s.Expr) -> s.Expr | None:
    match expr:
        case s.Call(function="max" | "min", arguments=(first, *rest)) if all(same(first, arg) for arg in rest):
            return rewritten(first, _of_equal)
        case _:
            return None


def _exponential(base: Constant, exponent: Sum, expr: s.Expr) -> Sum:
    """Expand b^(c*n + d) to b^d times the power c*log2(b) of 2^n; a single factor for other exponents."""
    coefficient, term = UNITY, UNIT_TERM
    for monomial, times in exponent.items():
        name = alone(monomial)
        if not monomial.powers:
            coefficient = base.power(times)
        elif isinstance(name, s.Name):
            two = s.Binary("^", s.Integer(2, span=expr.span), name, span=expr.span)
            power = times * base.log2()
            term = term * single(Factor(format_expression(two), two)).power(power)
        else:
            return {_factor(format_expression(expr), expr): UNITY}
    return {term: coefficient}


def _raised(base: s.Expr, exponent: Constant) -> Sum:
    """Expand base^exponent to a power of a term, a product of sums, or a single factor."""
    if not exponent:
        return {UNIT_TERM: UNITY}
    terms = expand(base)
    if len(terms) == 1:
        ((term, coefficient),) = terms.items()
        whole = exponent.is_rational and exponent.rational.q == 1
        # sqrt(x^2) is not x where x may be negative.
        if whole or (coefficient.sign() > 0 and all(_surely_positive(factor.expr) for factor in term.powers)):
            return {term.power(exponent): coefficient.power(exponent)}
    if exponent.is_rational and exponent.rational.q == 1 and 1 <= exponent.rational.p <= MAX_WHOLE_POWER:
        result = terms
        for _ in range(int(exponent.rational.p) - 1):
            result = _multiplied(result, terms)
        return result
    return {single(Factor(format_expression(base), base)).power(exponent): UNITY}


def _surely_positive(expr: s.Expr) -> bool:
    named = isinstance(expr, s.Name) or (isinstance(expr, s.Call) and expr.function in ("log2", "log"))
    return named or is_exponential(expr)


def is_exponential(expr: s.Expr) -> bool:
    """Whether an expression is 2^n for a size n."""
    match expr:
        case s.Binary(op="^", left=s.Integer(value=2), right=s.Name()):
            return True
        case _:
            return False


def added(left: Sum, right: Sum) -> Sum:
    """Return the sum of two sums."""
    result = dict(left)
    for term, coefficient in right.items():
        _add(result, term, coefficient)
    return result


def _add(terms: dict[Term, Constant], term: Term, coefficient: Constant) -> None:
    total = terms.get(term, NOTHING) + coefficient
    if total:
        terms[term] = total
    else:
        del terms[term]


def sum_text(terms: Sum) -> Formula:
    """Format a sum in the language's syntax, subtracted terms last: `2*n^3/(P*sqrt(M)) - 3*n^2/P`."""
    signs = {term: c.sign() for term, c in terms.items()}
    ordered = sorted(terms.items(), key=lambda pair: signs[pair[0]] < 0)
    return Formula(b.total((signs[x] < 0, x.tree(coefficient=c.scaled(signs[x]))) for x, c in ordered))


def scaled(value: Sum, factor: Constant) -> Sum:
    """Return a sum times a constant."""
    return {term: coefficient * factor for term, coefficient in value.items()}


def _multiplied(left: Sum, right: Sum) -> Sum:
    if len(left) * len(right) > MAX_TERMS:
        raise OutOfReachError("the expression has too many terms")
    result: dict[Term, Constant] = {}
    for first, first_coefficient in left.items():
        for second, second_coefficient in right.items():
            _add(result, first * second, first_coefficient * second_coefficient)
    return result


def multiple(f: s.Expr, g: s.Expr) -> Constant | None:
    """Return the positive constant c with f = c*g, term by term; None if there is none. Raises OutOfReachError."""
    left, right = expand(f), expand(g)
    if not right or left.keys() != right.keys():
        return None
    term = next(iter(right))
    times = left[term] * right[term].power(Constant(fmpq(-1)))
    return times if times.sign() > 0 and left == scaled(right, times) else None
