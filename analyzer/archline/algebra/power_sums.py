"""Sums of products of rational powers, as closed bounds of the literature are written: `2*n^3/(P*sqrt(M)) - 3*n^2/P`.

Whatever is no product of powers is a factor by its text: `max(n, m)`, `log2(7)`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from archline.expr.text import format_expression
from archline.expr.tree import same
from archline.expr.values import Enclosure, EvaluationError, evaluate
from archline.language import syntax as s
from archline.language.parser import parse_expression
from archline.records import field, record

MAX_TERMS = 24
MAX_PRIME = 1_000
"""Numbers below roots are split into primes below this one."""


@record
class PowerProduct:
    """A coefficient times powers of names, of numbers below roots, and of other expressions by their text."""

    coefficient: Fraction
    powers: Mapping[str, Fraction] = field(default_factory=dict, hash=False)

    def __mul__(self, other: PowerProduct) -> PowerProduct:
        powers = dict(self.powers)
        for name, power in other.powers.items():
            powers[name] = powers.get(name, Fraction(0)) + power
        return _tidied(self.coefficient * other.coefficient, powers)

    def power(self, exponent: Fraction) -> PowerProduct:
        """A power; of a positive product where the exponent is no integer."""
        powers = {name: each * exponent for name, each in self.powers.items()}
        if exponent.denominator == 1:
            return _tidied(self.coefficient**exponent.numerator, powers)
        assert self.coefficient > 0
        for number, sign in ((self.coefficient.numerator, 1), (self.coefficient.denominator, -1)):
            for prime, count in _primes(number).items():
                powers[str(prime)] = powers.get(str(prime), Fraction(0)) + sign * count * exponent
        return _tidied(Fraction(1), powers)

    @property
    def names(self) -> dict[str, Fraction]:
        """The powers but those of numbers."""
        return {name: power for name, power in self.powers.items() if not name.isdigit()}

    @property
    def number(self) -> float:
        """The coefficient with the roots of numbers."""
        found = float(self.coefficient)
        for name, power in self.powers.items():
            found *= float(int(name)) ** float(power) if name.isdigit() else 1.0
        return found


def _tidied(coefficient: Fraction, powers: Mapping[str, Fraction]) -> PowerProduct:
    """Whole powers of numbers belong to the coefficient."""
    kept: dict[str, Fraction] = {}
    for name, power in powers.items():
        rest = power
        if name.isdigit():
            whole = int(power)
            coefficient *= Fraction(int(name)) ** whole
            rest = power - whole
        if rest:
            kept[name] = rest
    return PowerProduct(coefficient, kept)


def _primes(number: int) -> dict[int, int]:
    found: dict[int, int] = {}
    for prime in range(2, MAX_PRIME):
        while number % prime == 0:
            number //= prime
            found[prime] = found.get(prime, 0) + 1
    return found if number == 1 else {**found, number: 1}


Sum = tuple[PowerProduct, ...]


def power_sum(expr: s.Expr) -> Sum:
    """The terms of an expression, multiplied out and with like terms together; none for 0."""
    match expr:
        case s.Integer(value=value):
            return (PowerProduct(Fraction(value)),) if value else ()
        case s.Unary(op="-", operand=operand):
            return _scaled(power_sum(operand), -1)
        case s.Binary(op="+", left=left, right=right):
            return _sum((*power_sum(left), *power_sum(right)))
        case s.Binary(op="-", left=left, right=right):
            return _sum((*power_sum(left), *_scaled(power_sum(right), -1)))
        case s.Binary(op="*", left=left, right=right):
            first, second = power_sum(left), power_sum(right)
            if len(first) * len(second) <= MAX_TERMS:
                return _sum([a * b for a in first for b in second])
        case s.Binary(op="/", left=left, right=right):
            below = power_sum(right)
            divisor = below[0] if len(below) == 1 else _opaque(right)
            return _sum([each * divisor.power(Fraction(-1)) for each in power_sum(left)])
        case s.Binary(op="^", left=left, right=right):
            exponent = _number(right)
            if exponent is not None:
                return (_base(left, exponent).power(exponent),)
        case s.Call(function="sqrt", arguments=(argument,)):
            return (_base(argument, Fraction(1, 2)).power(Fraction(1, 2)),)
        case s.Call(function="max" | "min", arguments=(first_, *rest)) if all(same(first_, each) for each in rest):
            return power_sum(first_)
        case _:
            pass
    return (_opaque(expr),)


def _number(expr: s.Expr) -> Fraction | None:
    try:
        value = evaluate(expr, {})
    except EvaluationError:
        return None
    return None if isinstance(value, Enclosure) else Fraction(value)


def _base(expr: s.Expr, exponent: Fraction) -> PowerProduct:
    found = power_sum(expr)
    whole = exponent.denominator == 1
    return found[0] if len(found) == 1 and (whole or found[0].coefficient > 0) else _opaque(expr)


def _opaque(expr: s.Expr) -> PowerProduct:
    text = format_expression(expr)
    bare = isinstance(expr, s.Name | s.Call)
    return PowerProduct(Fraction(1), {text if bare else f"({text})": Fraction(1)})


def _scaled(terms: Sum, factor: int) -> Sum:
    return tuple(PowerProduct(each.coefficient * factor, each.powers) for each in terms)


def _sum(terms: Sequence[PowerProduct]) -> Sum:
    found: dict[frozenset[tuple[str, Fraction]], PowerProduct] = {}
    for each in terms:
        key = frozenset(each.powers.items())
        before = found.get(key)
        found[key] = each if before is None else PowerProduct(before.coefficient + each.coefficient, each.powers)
    return tuple(each for each in found.values() if each.coefficient)


def sum_text(terms: Sum) -> str:
    """The sum in the language's syntax."""
    if not terms:
        return "0"
    first, *rest = terms
    parts = [f"{'-' if first.coefficient < 0 else ''}{product_text(first)}"]
    parts += [f" {'-' if each.coefficient < 0 else '+'} {product_text(each)}" for each in rest]
    return "".join(parts)


def product_text(term: PowerProduct) -> str:
    """A product without its sign, as `2*n^3/(P*sqrt(M))`."""
    size = abs(term.coefficient)
    above = [_power(name, each) for name, each in term.powers.items() if each > 0]
    below = [_power(name, -each) for name, each in term.powers.items() if each < 0]
    if size.numerator != 1 or not above:
        above.insert(0, str(size.numerator))
    if size.denominator != 1:
        below.insert(0, str(size.denominator))
    text = "*".join(above)
    if not below:
        return text
    return f"{text}/{below[0]}" if len(below) == 1 else f"{text}/({'*'.join(below)})"


def _power(name: str, power: Fraction) -> str:
    if power == 1:
        return name
    if power == Fraction(1, 2):
        return f"sqrt({name[1:-1] if name.startswith('(') else name})"
    return f"{name}^{power}" if power.denominator == 1 else f"{name}^({power})"


def simplified(expr: s.Expr) -> s.Expr:
    """The expression as a sum of products of powers."""
    return parse_expression(sum_text(power_sum(expr)))
