"""Evaluate the expressions at a point of an algorithm to polynomials in sizes, by `Scope` and the facts in it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Self

from archline.algebra import atoms as a
from archline.algebra.effort import OutOfBudgetError, TooComplexError
from archline.algebra.facts import Facts
from archline.algebra.polynomial import RATIONAL_ONE, ZERO, Atom, Poly
from archline.expr.intervals import EvaluationError
from archline.expr.sequences import PARAMETERS, SEQUENCES, compute_sequence
from archline.expr.text import format_expression
from archline.expr.values import parse_decimal
from archline.language import syntax as s
from archline.language.checking.scopes import suggest_static_form
from archline.language.model import Kind, Module
from archline.records import field, record, replace


@record(eq=False)
class Scope:
    """Names with static values, arrays with their declared properties, and facts.

    `values` maps sizes, indices, loop variables and `let` integers to expressions; `below` maps index arrays to the
    bound that all entries are below; `segments` describes offsets arrays, whose entries have values if
    `reads_offsets`. `settled` names data-dependent integers that are symbols because an `assume` bounds them. `fixed`
    are the symbols with one value throughout the body, so no loop variables. If `names_data`, every other
    data-dependent integer is a symbol too, named by its text, which is valid only while its value does not change.
    `intervals` has the least and the greatest value of registers whose value is data, and that nothing sets again.
    `element` is the kind of elements of `any` arrays, `on_grid` whether the algorithm has a grid of processors. If
    `reads_decimals`, as in claims, decimal numerals are exact fractions; programs use floating point for them.
    """

    module: Module
    facts: Facts
    values: Mapping[str, Poly] = field(default_factory=dict)
    below: Mapping[str, Poly] = field(default_factory=dict)
    segments: Mapping[str, a.Segments] = field(default_factory=dict)
    reads_offsets: bool = False
    settled: frozenset[str] = frozenset()
    fixed: frozenset[str] = frozenset()
    names_data: bool = False
    element: Kind = Kind.REAL
    on_grid: bool = False
    reads_decimals: bool = False
    intervals: Mapping[str, tuple[Poly, Poly]] = field(default_factory=dict)

    def with_value(self, name: str, value: Poly) -> Self:
        """Bind a name to an expression."""
        return replace(self, values={**self.values, name: value})

    def without_value(self, name: str) -> Self:
        """Remove the value of a name, which then depends on data."""
        return replace(self, values={key: value for key, value in self.values.items() if key != name})

    def with_facts(self, facts: Facts) -> Self:
        return replace(self, facts=facts)


class NotStaticError(Exception):
    """The expression depends on data, or has a form without an exact expression."""

    def __init__(self, reason: str, expr: s.Expr, module: Module | None = None) -> None:
        super().__init__(reason)
        self.expr = expr
        self._module = module

    @property
    def reason(self) -> str:
        """The message, with a hint on how to write a data-dependent integer so that its value is known statically."""
        owners = self._module.signatures if self._module else ()
        types = self._module.types if self._module else {}
        bodies = (owner for owner in owners if self.expr in {*s.find_nodes(owner.body, s.Name)})
        hints = (suggest_static_form(self.expr, body, types) for body in bodies)
        return ": ".join(filter(None, (str(self), next(hints, None))))


def static_value(expr: s.Expr, scope: Scope) -> Poly:
    """Evaluate a size or index expression to a polynomial. Raises NotStaticError."""
    match expr:
        case s.Integer(value=value):
            return Poly.constant(value)
        case s.Name(id=name):
            if name not in scope.values:
                if scope.names_data:
                    return make_data_symbol(expr)
                raise NotStaticError(f"`{name}` is known only from the data", expr, scope.module)
            return scope.values[name]
        case s.Unary(op="-", operand=operand):
            return -static_value(operand, scope)
        case s.Binary(op=op, left=left, right=right):
            return _evaluate_binary(op, left, right, expr, scope)
        case s.Call(function=function, arguments=arguments):
            return _evaluate_call(function, arguments, expr, scope)
        case s.Element(array=array, subscripts=(index,)) if scope.reads_offsets and array in scope.segments:
            assert not isinstance(index, s.Slice)
            return a.offset(scope.segments[array], static_value(index, scope))
        case s.Element() if scope.names_data:
            return make_data_symbol(expr)
        case s.Real(text=text) if scope.reads_decimals:
            try:
                return Poly.constant(parse_decimal(text, expr))
            except EvaluationError as problem:
                raise NotStaticError(str(problem), expr) from None
        case s.Real():
            raise NotStaticError("a number with a decimal point is not an integer or fraction", expr)
        case s.Unary() | s.Element() | s.Reshape():
            raise NotStaticError("it depends on the data", expr)


def known_value(expr: s.Expr, scope: Scope) -> Poly | None:
    """Evaluate a size or index expression; None if it depends on data."""
    try:
        return static_value(expr, scope)
    except NotStaticError:
        return None


_DATA_PREFIX = "data "


def make_data_symbol(expr: s.Expr) -> Poly:
    """Return the symbol of a data-dependent integer; its name has a space, so that it is not the name of a size."""
    return Poly.symbol(_DATA_PREFIX + format_expression(expr))


def has_data_symbol(value: Poly) -> bool:
    """Test whether a value contains the symbol of a data-dependent integer."""
    return any(name.startswith(_DATA_PREFIX) for name in value.names)


def _evaluate_binary(op: str, left: s.Expr, right: s.Expr, expr: s.Expr, scope: Scope) -> Poly:
    x, y = static_value(left, scope), static_value(right, scope)
    try:
        return _apply_operation(op, x, y, expr, scope)
    except OutOfBudgetError:
        raise
    except TooComplexError as problem:
        raise NotStaticError(str(problem), expr) from None


def _apply_operation(op: str, x: Poly, y: Poly, expr: s.Expr, scope: Scope) -> Poly:
    match op:
        case "+":
            return x + y
        case "-":
            return x - y
        case "*":
            return x * y
        case "/":
            exact = a.exact_quotient(x, y)
            whole, rest = (
                scope.facts.split_known_multiples(x, y)
                if isinstance(a.find_single_atom(exact), a.Quotient)
                else (ZERO, x)
            )
            return exact if rest else whole
        case "//" | "%":
            if not scope.facts.positive(y):
                raise NotStaticError("a division by an expression not known to be positive", expr)
            whole, rest = scope.facts.split_known_multiples(x, y)
            return whole + a.floor_div(rest, y) if op == "//" else a.modulo(rest, y)
        case "^":
            return _evaluate_power(x, y, expr, scope.facts)
        case _:
            raise NotStaticError(f"`{op}` is not an arithmetic operator on sizes", expr)


def _evaluate_power(base: Poly, exponent: Poly, expr: s.Expr, facts: Facts) -> Poly:
    if exponent.is_constant:
        power = exponent.constant_term
        if power.q == 1 and power >= 0:
            return base ** int(power.p)
        if power.q == 2 and power > 0 and facts.nonnegative(base):
            return _square_root(base, facts) ** int(power.p)
        level = a.find_exponent_of_two(base)
        if level is not None:
            # (8^k)^(1/3) -> 2^k
            return a.exponential(2, level.scaled(power))
    elif base.is_constant and base.constant_term > 0:
        numerator, denominator = (
            a.exponential(int(part), exponent) for part in (base.constant_term.p, base.constant_term.q)
        )
        return numerator * denominator**-1
    match a.find_single_atom(exponent):
        case a.RealFunction(function="log2", argument=number) if number.is_constant and facts.positive(base):
            # n^log2(7) -> 7^log2(n)
            return _evaluate_power(number, a.log2(base), expr, facts)
        case _:
            pass
    if exponent.is_constant:
        raise NotStaticError(
            "a power whose exponent is negative or not a multiple of 1/2, or a root of a base that may be negative",
            expr,
        )
    raise NotStaticError("a power with a symbolic base and exponent", expr)


def _evaluate_call(function: str, arguments: tuple[s.Expr, ...], expr: s.Expr, scope: Scope) -> Poly:
    facts = scope.facts
    if function in ("floor", "ceil"):
        rounded = _evaluate_floor_or_ceil(function, arguments, scope)
        if rounded is not None:
            return rounded
    match function, [static_value(argument, scope) for argument in arguments]:
        case "min", values:
            return reduce(facts.minimum, values)
        case "max", values:
            return reduce(facts.maximum, values)
        case "abs", [value]:
            return facts.positive_part(value).scaled(2) - value
        case "gcd", [x, y] if all(a.is_integral(number) and facts.positive(number) for number in (x, y)):
            return a.common_divisor(x, y)
        case "log2", [value]:
            return a.log2(value)
        case "sqrt", [value]:
            return _square_root(value, facts)
        case "floor" | "ceil", [value]:
            return value
        case _, values if function in SEQUENCES:
            if not _are_parameters(function, values[PARAMETERS.get(function, len(values)) :]):
                raise NotStaticError(f"a base below 2 in `{function}`, or a power that is not a small number", expr)
            return a.make_sequence_term(function, *values)
        case _:
            raise NotStaticError(f"`{function}` of sizes has no exact expression", expr)


def _are_parameters(function: str, numbers: list[Poly]) -> bool:
    """Test whether the sequence of a function is defined for these last arguments, which must be numbers."""
    whole = [int(number.constant_term.p) for number in numbers if number.is_constant and number.constant_term.q == 1]
    if not numbers:
        return True
    first = (1,) * PARAMETERS[function]
    return len(whole) == len(numbers) and compute_sequence(function, *first, *whole) is not None


def _square_root(value: Poly, facts: Facts) -> Poly:
    """Return the square root, and g for g^2 if g is never negative."""
    match list(value.terms.items()):
        case [(monomial, coefficient)] if monomial and all(power % 2 == 0 for _, power in monomial):
            root = Poly({tuple((atom, power // 2) for atom, power in monomial): RATIONAL_ONE}) * a.sqrt(
                Poly.constant(coefficient)
            )
            return root if facts.nonnegative(root) else a.sqrt(value)
        case _:
            return a.sqrt(value)


def _evaluate_floor_or_ceil(function: str, arguments: tuple[s.Expr, ...], scope: Scope) -> Poly | None:
    """Evaluate floor or ceil of a quotient, a log2 or a square root; None for other arguments."""
    match arguments:
        case (s.Binary(op="/", left=left, right=right) as inner,):
            top, bottom = static_value(left, scope), static_value(right, scope)
            if not scope.facts.positive(bottom):
                raise NotStaticError("a division by an expression not known to be positive", inner)
            return a.floor_div(top, bottom) if function == "floor" else a.ceil_div(top, bottom)
        case (s.Call(function="log2", arguments=(argument,)),):
            value = static_value(argument, scope)
            exact = a.log2(value)
            if exact.is_constant:
                return exact
            return _round_log2(function, value, argument, scope)
        case (s.Call(function="sqrt", arguments=(argument,)),):
            value = static_value(argument, scope)
            exact = a.sqrt(value)
            if exact.is_constant:
                return exact
            value = _round_fraction(function, value)
            return a.floor_sqrt(value) if function == "floor" else a.floor_sqrt(value - 1) + 1
        case _:
            return None


def _round_log2(function: str, value: Poly, argument: s.Expr, scope: Scope) -> Poly:
    """Evaluate floor(log2(e)) or ceil(log2(e)); for e = v/2^k with an integer v it is that of log2(v), minus k.

    In claims, other fractions must be above 1/2, as `ceil_log2` is 0 below 1; in programs quotients are integers.
    """
    denominator = int(a.compute_content(value).q)
    whole, halvings = value.scaled(denominator), denominator.bit_length() - 1
    if denominator != 1 << halvings or not a.is_integral(whole):
        if scope.reads_decimals and not scope.facts.positive(value.scaled(2) - 1):
            raise NotStaticError("a rounded logarithm of a value that may be 1/2 or less", argument)
        whole, halvings = _round_fraction(function, value), 0
    return (a.ceil_log2(whole) if function == "ceil" else a.ceil_log2(whole + 1) - 1) - halvings


def _round_fraction(function: str, value: Poly) -> Poly:
    """Round an integer expression divided by a number; return other values unchanged, as they count as integers."""
    denominator = Poly.constant(int(a.compute_content(value).q))
    whole = value * denominator
    if not a.is_integral(whole):
        return value
    return a.floor_div(whole, denominator) if function == "floor" else a.ceil_div(whole, denominator)


def floor_while_bound(value: Poly, facts: Facts) -> Poly:
    """Evaluate the floor of the bound of a `while`: exactly for c + log2(e) and c + sqrt(e) with integers c and e.

    In other values each logarithm or root that is the only factor of its term is replaced by an integer bound, so
    that the result is an upper bound.
    """
    for monomial, coefficient in value.terms.items():
        match monomial:
            case ((a.RealFunction(function=function, argument=argument) as atom, 1),) if coefficient == 1:
                rest = value - Poly.of_atom(atom)
                if function == "log2" and a.is_integral(rest) and facts.positive(argument):
                    return facts.simplify(a.ceil_log2(argument + 1) - 1 + rest)
                if function == "sqrt" and a.is_integral(rest) and facts.nonnegative(argument):
                    return rest + a.floor_sqrt(argument)
            case _:
                pass
    return value.map_atoms(lambda atom: _round_log_or_root_by_sign(atom, value))


def _round_log_or_root_by_sign(atom: Atom, value: Poly) -> Poly | None:
    """Round a log or root up where its term is added, down where it is subtracted; None if it has other factors."""
    terms = [(m, c) for m, c in value.terms.items() if any(factor == atom for factor, _ in m)]
    match atom, terms:
        case a.RealFunction(function="log2", argument=argument), [(((_, 1),), coefficient)]:
            return a.ceil_log2(argument) if coefficient > 0 else a.ceil_log2(argument + 1) - 1
        case a.RealFunction(function="sqrt", argument=argument), [(((_, 1),), coefficient)]:
            return a.floor_sqrt(argument - 1) + 1 if coefficient > 0 else a.floor_sqrt(argument)
        case _:
            return None


def has_log_or_root(value: Poly) -> bool:
    """Test whether a value contains a logarithm or an unrounded root, so that it may not be an integer."""
    return any(isinstance(atom, a.RealFunction) and atom.function != "isqrt" for atom in value.atoms())
