"""Expand the expressions of growth into sums of terms with signed coefficients, so that equal terms cancel."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

from archline.algebra.reals import (
    HALF,
    LOG_2,
    ONE_CONSTANT,
    PI,
    ZERO_CONSTANT,
    Constant,
    OutOfReachError,
    enclosed_constant,
)
from archline.expr import build as b
from archline.expr.sequences import SEQUENCES, compute_sequence
from archline.expr.text import Formula, format_expression
from archline.expr.tree import has_same_structure, rewrite_parts
from archline.growth import rules
from archline.growth.monomials import Factor, Monomial, Term, make_monomial
from archline.language import syntax as s
from archline.language.diagnostics import error
from archline.numbers import fmpq

MAX_TERMS = 300
MAX_WHOLE_POWER = 8
MAX_EXPONENT_DIGITS = 4
ARITHMETIC = frozenset(("+", "-", "*", "/", "//", "%", "^"))
FUNCTIONS = frozenset(("min", "max", "sqrt", "rsqrt", "log2", "log", "floor", "ceil", "abs", "log_star", *SEQUENCES))


Sum: TypeAlias = Mapping[Term, Constant]
"""The coefficient of each term; none is zero."""
UNIT_TERM: Term = Monomial({})


def evaluate_constant(expr: s.Expr) -> Constant | None:
    """Evaluate an expression without names, else None. Raises OutOfReachError, ArchlineError (AL480)."""
    match expr:
        case s.Integer(value=value):
            return Constant(fmpq(value))
        case s.Real(text=text):
            return _read_decimal(expr, text)
        case s.Name(id=name):
            return PI if name == "pi" else None
        case s.Unary(op="-", operand=operand):
            inner = evaluate_constant(operand)
            return None if inner is None else -inner
        case s.Binary(op=op, left=left, right=right) if op in ARITHMETIC:
            first = evaluate_constant(left)
            second = None if first is None else evaluate_constant(right)
            return None if first is None or second is None else _apply_operator(op, first, second)
        case s.Call(function=function, arguments=arguments) if function in FUNCTIONS and arguments:
            values = [evaluate_constant(argument) for argument in arguments]
            return (
                None
                if None in values
                else _apply_function(function, [number for number in values if number is not None])
            )
        case s.Call(function="exp", arguments=(inner,)):
            power = evaluate_constant(inner)
            return None if power is None else _exponentiate_constant(power, expr)
        case s.Unary() | s.Binary() | s.Call() | s.Element() | s.Reshape():
            raise error(rules.NOT_A_SIZE_EXPRESSION, "this is not an expression in sizes", span=expr.span)


def _exponentiate_constant(power: Constant, expr: s.Expr) -> Constant:
    return enclosed_constant(f"exp({power})", lambda: power.enclosure().exp(), expr) if power else ONE_CONSTANT


def _read_decimal(expr: s.Expr, text: str) -> Constant:
    if len(text) > 400 or len(text.lower().partition("e")[2]) > MAX_EXPONENT_DIGITS:
        raise error(rules.NOT_A_SIZE_EXPRESSION, "the number is too large or too small", span=expr.span)
    value = Fraction(text)
    return Constant(fmpq(value.numerator, value.denominator))


_OPERATIONS: dict[str, Callable[[Constant, Constant], Constant]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "^": Constant.power,
}  # fmt: skip


def _apply_operator(op: str, left: Constant, right: Constant) -> Constant:
    if op in _OPERATIONS:
        return _OPERATIONS[op](left, right)
    whole = _floor_constant(left / right)
    return whole if op == "//" else left - right * whole


def _apply_function(function: str, values: list[Constant]) -> Constant:
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
            return _floor_constant(first)
        case "ceil":
            return -_floor_constant(-first)
        case "abs":
            return -first if first.sign() < 0 else first
        case _ if function in SEQUENCES and all(value.is_rational and value.rational.q == 1 for value in values):
            term = compute_sequence(function, *(int(value.rational.p) for value in values))
            if term is None:
                raise OutOfReachError(f"`{function}` of a number that is negative or large")
            return Constant.of(term)
        case _:
            raise OutOfReachError(f"`{function}` of a constant")


def _floor_constant(value: Constant) -> Constant:
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
def _make_factor(key: str, expr: s.Expr) -> Term:
    return make_monomial(Factor(key, expr))


def find_single_factor(term: Term) -> s.Expr | None:
    """Return the expression of the factor that a term consists of; None for other terms."""
    if len(term.powers) == 1:
        ((factor, power),) = term.powers.items()
        if power == ONE_CONSTANT:
            return factor.expr
    return None


@lru_cache(maxsize=4096)
def find_exponent_sizes(expr: s.Expr) -> frozenset[str]:
    """Return the sizes in exponents, except in logarithms."""
    powers = (node.right for node in s.iterate_nodes(expr) if isinstance(node, s.Binary) and node.op == "^")
    return frozenset(name for exponent in powers for name in _find_arithmetic_names(exponent))


def has_steep_power(expr: s.Expr) -> bool:
    """Whether a power with sizes in its exponent has sizes in its base, or the exponent is not linear: n^n, 2^(n^2)."""
    powers = [
        node
        for node in s.iterate_nodes(expr)
        if isinstance(node, s.Binary) and node.op == "^" and s.find_names(node.right)
    ]
    return any(s.find_names(power_.left) or not _is_linear_exponent(power_.right) for power_ in powers)


def _is_linear_exponent(expr: s.Expr) -> bool:
    factors = (find_single_factor(term) for term in expand(expr) if term.powers)
    return all(isinstance(base, s.Name) or (isinstance(base, s.Call) and base.function == "log2") for base in factors)


def _find_arithmetic_names(expr: s.Expr) -> frozenset[str]:
    """Return the names in an expression that are not in a call."""
    match expr:
        case s.Name(id=name):
            return frozenset((name,))
        case s.Unary(operand=operand):
            return _find_arithmetic_names(operand)
        case s.Binary(left=left, right=right):
            return _find_arithmetic_names(left) | _find_arithmetic_names(right)
        case _:
            return frozenset()


def expand(expr: s.Expr) -> Sum:
    """Return the expression as a sum of terms."""
    value = evaluate_constant(expr)
    if value is not None:
        return {UNIT_TERM: value} if value else {}
    match expr:
        case s.Name(id=name):
            return {_make_factor(name, expr): ONE_CONSTANT}
        case s.Unary(op="-", operand=operand):
            return multiply_sum_by_constant(expand(operand), Constant(fmpq(-1)))
        case s.Binary(op="+", left=left, right=right):
            return add_sums(expand(left), expand(right))
        case s.Binary(op="-", left=left, right=right):
            return add_sums(expand(left), multiply_sum_by_constant(expand(right), Constant(fmpq(-1))))
        case s.Binary(op="*", left=left, right=right):
            return _multiply_sums(expand(left), expand(right))
        case s.Binary(op="/", left=left, right=right):
            return _multiply_sums(expand(left), _expand_power(right, Constant(fmpq(-1))))
        case s.Binary(op="^", left=left, right=right):
            exponent, base = evaluate_constant(right), evaluate_constant(left)
            if exponent is not None:
                return _expand_power(left, exponent)
            if base is not None and base.sign() > 0:
                return _expand_exponential(base, expand(right), expr)
        case s.Call(function="sqrt" | "rsqrt" as function, arguments=(inner,)):
            return _expand_power(inner, HALF if function == "sqrt" else -HALF)
        case _:
            pass
    return {_make_factor(format_expression(expr), expr): ONE_CONSTANT}


def expand_with_equal_extrema(expr: s.Expr) -> Sum:
    """Return the expression as a sum of terms; max(a, a) and min(a, a) are a."""
    return expand(rewrite_parts(expr, _drop_equal_arguments))


def _drop_equal_arguments(expr: s.Expr) -> s.Expr | None:
    match expr:
        case s.Call(function="max" | "min", arguments=(first, *rest)) if all(
            has_same_structure(first, arg) for arg in rest
        ):
            return rewrite_parts(first, _drop_equal_arguments)
        case _:
            return None


def _expand_exponential(base: Constant, exponent: Sum, expr: s.Expr) -> Sum:
    """Expand b^(c*n + d) to b^d times the power c*log2(b) of 2^n; a single factor for other exponents."""
    coefficient, term = ONE_CONSTANT, UNIT_TERM
    for monomial, times in exponent.items():
        name = find_single_factor(monomial)
        if not monomial.powers:
            coefficient = base.power(times)
        elif isinstance(name, s.Name):
            two = s.Binary("^", s.Integer(2, span=expr.span), name, span=expr.span)
            power = times * base.log2()
            term = term * make_monomial(Factor(format_expression(two), two)).power(power)
        else:
            return {_make_factor(format_expression(expr), expr): ONE_CONSTANT}
    return {term: coefficient}


def _expand_power(base: s.Expr, exponent: Constant) -> Sum:
    """Expand base^exponent to a power of a term, a product of sums, or a single factor."""
    if not exponent:
        return {UNIT_TERM: ONE_CONSTANT}
    terms = expand(base)
    if len(terms) == 1:
        ((term, coefficient),) = terms.items()
        is_integer_power = exponent.is_rational and exponent.rational.q == 1
        # sqrt(x^2) is not x where x may be negative.
        if is_integer_power or (
            coefficient.sign() > 0 and all(is_surely_positive(factor.expr) for factor in term.powers)
        ):
            return {term.power(exponent): coefficient.power(exponent)}
    if exponent.is_rational and exponent.rational.q == 1 and 1 <= exponent.rational.p <= MAX_WHOLE_POWER:
        result = terms
        for _ in range(int(exponent.rational.p) - 1):
            result = _multiply_sums(result, terms)
        return result
    return {make_monomial(Factor(format_expression(base), base)).power(exponent): ONE_CONSTANT}


def is_surely_positive(expr: s.Expr) -> bool:
    """Whether an expression is positive by its form: a size, a logarithm, or 2^n."""
    named = isinstance(expr, s.Name) or (isinstance(expr, s.Call) and expr.function in ("log2", "log"))
    return named or is_exponential(expr)


def is_exponential(expr: s.Expr) -> bool:
    """Whether an expression is 2^n for a size n."""
    match expr:
        case s.Binary(op="^", left=s.Integer(value=2), right=s.Name()):
            return True
        case _:
            return False


def add_sums(left: Sum, right: Sum) -> Sum:
    """Return the sum of two sums."""
    result = dict(left)
    for term, coefficient in right.items():
        _add_term(result, term, coefficient)
    return result


def _add_term(terms: dict[Term, Constant], term: Term, coefficient: Constant) -> None:
    total = terms.get(term, ZERO_CONSTANT) + coefficient
    if total:
        terms[term] = total
    else:
        del terms[term]


def format_sum(terms: Sum) -> Formula:
    """Format a sum in the language's syntax, subtracted terms last: `2*n^3/(P*sqrt(M)) - 3*n^2/P`."""
    signs = {term: c.sign() for term, c in terms.items()}
    ordered = sorted(terms.items(), key=lambda pair: signs[pair[0]] < 0)
    return Formula(b.sum_terms((signs[x] < 0, x.tree(coefficient=c.scaled(signs[x]))) for x, c in ordered))


def multiply_sum_by_constant(value: Sum, factor: Constant) -> Sum:
    """Return a sum times a constant."""
    return {term: coefficient * factor for term, coefficient in value.items()}


def _multiply_sums(left: Sum, right: Sum) -> Sum:
    if len(left) * len(right) > MAX_TERMS:
        raise OutOfReachError("the expression has too many terms")
    result: dict[Term, Constant] = {}
    for first, first_coefficient in left.items():
        for second, second_coefficient in right.items():
            _add_term(result, first * second, first_coefficient * second_coefficient)
    return result


def find_constant_multiple(f: s.Expr, g: s.Expr) -> Constant | None:
    """Return the positive constant c with f = c*g, term by term; None if there is none. Raises OutOfReachError."""
    left, right = expand(f), expand(g)
    if not right or left.keys() != right.keys():
        return None
    term = next(iter(right))
    times = left[term] * right[term].power(Constant(fmpq(-1)))
    return times if times.sign() > 0 and left == multiply_sum_by_constant(right, times) else None
