"""Formulas of models and machines are expressions of the language over names, folded over several number domains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache
from typing import Generic, TypeVar

from archline.energy import rules
from archline.energy.quantities import FORMULA_NAMES
from archline.energy.quotients import bound_quotient
from archline.energy.units import DIMENSIONLESS, Dimension
from archline.expr import values as folding
from archline.expr.intervals import EvaluationError, Interval
from archline.expr.text import format_expression
from archline.expr.tree import rewrite_parts
from archline.expr.values import Domain, evaluate, parse_decimal
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError, error, suggest_closest
from archline.language.parser import parse_expression
from archline.records import record, replace

T = TypeVar("T")


def fold(expr: s.Expr, domain: Domain[T]) -> T:
    """Evaluate a formula in a domain, such as units or bounds. Raises ArchlineError (AL462) for other expressions."""
    _check_formula(expr)
    return folding.fold(expr, domain)


@lru_cache(maxsize=4096)
def _check_formula(expr: s.Expr) -> None:
    """Raise ArchlineError (AL462) if an expression is not a formula."""
    match expr:
        case s.Integer() | s.Name():
            return
        case s.Real(text=text):
            try:
                parse_decimal(text, expr)
            except EvaluationError as problem:
                raise error(rules.FORMULA, str(problem), span=expr.span) from None
            return
        case s.Unary(op="-", operand=operand):
            parts: Sequence[s.Expr] = (operand,)
        case s.Binary(op="+" | "-" | "*" | "/" | "^", left=left, right=right):
            parts = (left, right)
        case s.Call(function="min" | "max", arguments=[_, *_] as parts):
            pass
        case s.Call(function="sqrt" | "log2" | "floor" | "ceil", arguments=(_,) as parts):
            pass
        case _:
            hint = "a formula has numbers, names, + - * / ^, and min, max, sqrt, log2, floor, ceil"
            # The text of the source: names in it may denote something else.
            raise error(rules.FORMULA, f"`{expr.span.text}` does not belong in a formula", span=expr.span, hint=hint)
    for part in parts:
        _check_formula(part)


@lru_cache(maxsize=512)
def parse_formula(text: str) -> s.Expr:
    """Parse a formula that archline itself writes."""
    return parse_expression(text, "formula")


@lru_cache(maxsize=4096)
def names_in(expr: s.Expr) -> frozenset[str]:
    """Return the names that a formula contains."""
    return frozenset(s.find_names(expr))


# Units
def check_units(expr: s.Expr, expected: Dimension, units: Mapping[str, Dimension] | None = None) -> None:
    """Raise ArchlineError (AL461, AL462), with the place, unless the formula has the expected dimension.

    `units` are the dimensions of names that the registry does not have.
    """
    dimension = fold(expr, _UnitEvaluator(units or {}))
    if dimension is not None and dimension != expected:
        message = f"`{format_expression(expr)}` is in {dimension}, but {expected} is needed"
        raise error(rules.DIMENSION, message, span=expr.span)


def dimension_of(expr: s.Expr, units: Mapping[str, Dimension] | None = None) -> Dimension:
    """Return the dimension of a formula; 0 counts as dimensionless. Raises ArchlineError (AL461, AL462)."""
    return fold(expr, _UnitEvaluator(units or {})) or DIMENSIONLESS


def require_same_units(exprs: Sequence[s.Expr], units: Mapping[str, Dimension] | None = None) -> None:
    """Raise ArchlineError (AL461) unless all formulas have one dimension; `units` are as in `check_units`."""
    first = None
    for expr in exprs:
        dimension = fold(expr, _UnitEvaluator(units or {}))
        if first is not None and dimension is not None:
            check_units(expr, first, units)
        first = first or dimension


@record
class _UnitEvaluator:
    """Evaluates formulas to dimensions, and to None for 0, which fits any; `own` are names outside the registry."""

    own: Mapping[str, Dimension]

    def number(self, value: int | Fraction, expr: s.Expr) -> Dimension | None:
        return DIMENSIONLESS if value else None

    def name(self, name: s.Name) -> Dimension | None:
        if name.id in self.own:
            return self.own[name.id]
        if name.id not in FORMULA_NAMES:
            raise make_name_error(name, [*self.own, *FORMULA_NAMES])
        return FORMULA_NAMES[name.id].dimension

    def negated(self, value: Dimension | None, expr: s.Unary) -> Dimension | None:
        return value

    def binary(self, op: str, left: Dimension | None, right: Dimension | None, expr: s.Binary) -> Dimension | None:
        match op:
            case "+" | "-":
                return self._require_same([left, right], expr)
            case "*" | "/":
                if left is None or right is None:
                    return None
                return left.times(right, 1 if op == "*" else -1)
            case _:
                return self._compute_power(left, right, expr)

    def _compute_power(self, left: Dimension | None, right: Dimension | None, expr: s.Binary) -> Dimension | None:
        if right not in (None, DIMENSIONLESS):
            raise error(
                rules.DIMENSION, f"an exponent must be a number, and this one is in {right}", span=expr.right.span
            )
        if left in (None, DIMENSIONLESS):
            return left
        assert left is not None
        try:
            exponent = bound_value(expr.right, {})
        except (EvaluationError, ArchlineError):
            exponent = None
        if exponent is None or not exponent.exact:
            raise error(
                rules.DIMENSION, "a quantity with a unit can only be raised to a constant power", span=expr.right.span
            )
        return left.power(exponent.lower)

    def call(self, function: str, values: Sequence[Dimension | None], expr: s.Call) -> Dimension | None:
        match function:
            case "min" | "max":
                return self._require_same(values, expr)
            case "sqrt":
                return None if values[0] is None else values[0].power(Fraction(1, 2))
            case _:
                return self._require_same([values[0], DIMENSIONLESS], expr)

    def _require_same(self, values: Sequence[Dimension | None], expr: s.Expr) -> Dimension | None:
        distinct = list(dict.fromkeys(value for value in values if value is not None))
        if len(distinct) > 1:
            message = f"`{format_expression(expr)}` combines {distinct[0]} and {distinct[1]}"
            raise error(rules.DIMENSION, message, span=expr.span)
        return distinct[0] if distinct else None


def make_name_error(name: s.Name, known: Sequence[str]) -> ArchlineError:
    """Return the error about an undefined name in a formula."""
    hint = suggest_closest(name.id, known)
    return error(rules.FORMULA, f"the formula has the unknown name `{name.id}`", span=name.span, hint=hint)


# Values
def bound_value(expr: s.Expr, values: Mapping[str, Interval], shared: bool = True) -> Interval:
    """Return sound bounds on a formula whose names lie in intervals. Raises EvaluationError, ArchlineError (AL462).

    If amounts are `shared`, numerator and denominator of a quotient use the same amounts; else they are independent,
    as in optimisation, which compares bounds at many points together.
    """
    _check_formula(expr)
    if not names_in(expr) <= values.keys():
        name = next(node for node in s.iterate_nodes(expr) if isinstance(node, s.Name) and node.id not in values)
        raise make_name_error(name, list(values))
    wide, extended = {name for name in names_in(expr) if not values[name].exact}, dict(values)

    def divide_shared(part: s.Expr) -> s.Expr | None:
        if not isinstance(part, s.Binary) or part.op != "/" or not wide & names_in(part.left) & names_in(part.right):
            return None
        name = format_expression(part)
        with suppress(EvaluationError):
            extended[name] = bound_quotient(part.left, part.right, values)
        return s.Name(name, span=part.span) if name in extended else None

    return Interval.of(evaluate(rewrite_parts(expr, divide_shared) if wide and shared else expr, extended))


ELASTICITY_STEP = Fraction(1, 2**20)


def derive_elasticities(expr: s.Expr, values: Mapping[str, Fraction], parameters: Sequence[str]) -> dict[str, float]:
    """Return d log E/d log p of a formula E for each parameter p: by how many % E grows if p grows by 1 %.

    Symmetric differences in exact arithmetic have an error of about 10^-12; where two sides of a max are equal, the
    result is the mean of both. Parameters without an influence are left out.
    """

    def evaluate_scaled(name: str, factor: Fraction) -> Fraction:
        scaled = {parameter: value * (factor if parameter == name else 1) for parameter, value in values.items()}
        return bound_value(expr, {parameter: Interval.of(value) for parameter, value in scaled.items()}).middle

    middle = evaluate_scaled("", Fraction(1))
    changes = {
        name: evaluate_scaled(name, 1 + ELASTICITY_STEP) - evaluate_scaled(name, 1 - ELASTICITY_STEP)
        for name in parameters
    }
    return {
        name: float(change / (2 * ELASTICITY_STEP * middle)) for name, change in changes.items() if change and middle
    }


# Bounds as expressions
@record
class FormulaBounds(Generic[T]):
    """A lower and an upper bound of one type; the same object if they are equal."""

    lower: T
    upper: T


def bound_formula(expr: s.Expr, values: Mapping[str, FormulaBounds[s.Expr]]) -> FormulaBounds[s.Expr]:
    """Return lower and upper bounds on a formula, as expressions in sizes, for amounts >= 0."""
    return fold(expr, _BoundEvaluator(values))


@record
class _BoundEvaluator:
    values: Mapping[str, FormulaBounds[s.Expr]]

    def number(self, value: int | Fraction, expr: s.Expr) -> FormulaBounds[s.Expr]:
        return FormulaBounds(expr, expr)

    def name(self, name: s.Name) -> FormulaBounds[s.Expr]:
        return self.values.get(name.id, FormulaBounds(name, name))

    def negated(self, value: FormulaBounds[s.Expr], expr: s.Unary) -> FormulaBounds[s.Expr]:
        def minus(operand: s.Expr) -> s.Expr:
            return s.Unary("-", operand, span=operand.span)

        return _make_bounds(minus(value.upper), minus(value.lower), value.lower is value.upper)

    def binary(
        self, op: str, left: FormulaBounds[s.Expr], right: FormulaBounds[s.Expr], expr: s.Binary
    ) -> FormulaBounds[s.Expr]:
        def rebuild(a: s.Expr, b: s.Expr) -> s.Expr:
            return replace(expr, left=a, right=b)

        same = left.lower is left.upper and right.lower is right.upper
        if op in ("-", "/"):
            return _make_bounds(rebuild(left.lower, right.upper), rebuild(left.upper, right.lower), same)
        return _make_bounds(rebuild(left.lower, right.lower), rebuild(left.upper, right.upper), same)

    def call(self, function: str, values: Sequence[FormulaBounds[s.Expr]], expr: s.Call) -> FormulaBounds[s.Expr]:
        low = replace(expr, arguments=tuple(bound.lower for bound in values))
        high = replace(expr, arguments=tuple(bound.upper for bound in values))
        return _make_bounds(low, high, all(bound.lower is bound.upper for bound in values))


def _make_bounds(lower: s.Expr, upper: s.Expr, same: bool) -> FormulaBounds[s.Expr]:
    return FormulaBounds(lower, lower) if same else FormulaBounds(lower, upper)
