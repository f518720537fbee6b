"""Formulas are represented as sums of products of powers, of variables and of other such sums."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from math import ceil, floor, log2
from typing import Any, TypeVar

from archline.energy import rules
from archline.expr.text import format_expression
from archline.language import syntax as s
from archline.language.diagnostics import error

T = TypeVar("T")
Monomial = tuple[tuple[int, float], ...]
"""Powers of variables, by their numbers."""
Sum = Mapping[Monomial, float]
ONE: Sum = {(): 1.0}
MAX_TERMS, MAX_POWER, MAX_SIGNED_POWER = 400, 3, 12
"""Sums are multiplied out up to MAX_TERMS terms, powers of positive sums up to MAX_POWER, of signed sums, which have
no other form, up to MAX_SIGNED_POWER."""
Choice = tuple[str, tuple[frozenset[Any], ...]]
"""A max or a min, by its arguments."""


def multiply_sums(first: Sum, second: Sum, exponent: float = 1.0) -> Sum:
    """Return `first` times `second`^`exponent`; unless `exponent` is 1, `second` is one term of coefficient 1."""
    product: dict[Monomial, float] = {}
    for left, a in first.items():
        for right, b in second.items():
            powers = dict(left)
            for variable, power in right:
                powers[variable] = powers.get(variable, 0.0) + power * exponent
            key = tuple(sorted((variable, power) for variable, power in powers.items() if power))
            product[key] = product.get(key, 0.0) + a * b
    return {key: value for key, value in product.items() if value}


def add_sums(first: Sum, second: Sum, sign: int = 1) -> Sum:
    """Return the sum, or the difference if `sign` is -1."""
    result = dict(first)
    for key, value in second.items():
        result[key] = result.get(key, 0.0) + sign * value
    return {key: value for key, value in result.items() if value}


def split_by_sign(terms: Sum) -> tuple[Sum, Sum]:
    """Return the positive terms, and the negative ones with their signs changed."""
    return {k: value for k, value in terms.items() if value > 0}, {k: -value for k, value in terms.items() if value < 0}


def get_constant(terms: Sum) -> float | None:
    """Return the value of a sum without variables; None for a sum with variables."""
    return terms.get((), 0.0) if terms.keys() <= {()} else None


class SignomialDomain:
    """Evaluates formulas to sums of monomials in the variables; other names have values.

    `sums` are sums that are raised to powers, numbered after the variables. `chosen` selects the argument that a max or
    a min equals; a call without an entry is stored as `undecided`, with the number of its arguments. `sides` are sums
    that must be at most 0 for the choices to be right.
    """

    def __init__(
        self, variables: Mapping[str, int], values: Mapping[str, float], chosen: Mapping[Choice, int] | None = None
    ) -> None:
        self._variables, self._values, self._chosen = variables, values, chosen or {}
        self.sums: list[Sum] = []
        self.sides: list[Sum] = []
        self.undecided: tuple[Choice, int] | None = None

    def number(self, value: int | Fraction, expr: s.Expr) -> Sum:
        return _make_constant(float(value))

    def name(self, name: s.Name) -> Sum:
        if name.id in self._variables:
            return {((self._variables[name.id], 1.0),): 1.0}
        return _make_constant(self._values[name.id])

    def negated(self, value: Sum, expr: s.Unary) -> Sum:
        return add_sums({}, value, -1)

    def binary(self, op: str, left: Sum, right: Sum, expr: s.Binary) -> Sum:
        match op:
            case "+" | "-":
                return add_sums(left, right, 1 if op == "+" else -1)
            case "*":
                return self._multiply(left, right, expr)
            case "/":
                return self._multiply(left, self._compute_power(right, -1.0, expr), expr)
            case _:
                exponent = get_constant(right)
                if exponent is None:
                    raise _make_form_error(expr, "its exponent varies")
                return self._compute_power(left, exponent, expr)

    def _multiply(self, first: Sum, second: Sum, expr: s.Expr) -> Sum:
        if len(first) * len(second) > MAX_TERMS:
            raise _make_form_error(expr, "it has too many terms")
        return multiply_sums(first, second)

    def _compute_power(self, base: Sum, exponent: float, expr: s.Expr) -> Sum:
        signed, is_integer = min(base.values(), default=0.0) < 0, exponent == int(exponent)
        if is_integer and 0 <= exponent <= (MAX_SIGNED_POWER if signed else MAX_POWER):
            return reduce(lambda first, second: self._multiply(first, second, expr), [base] * int(exponent), ONE)
        if not base and exponent > 0:
            return {}
        if not base or (signed and not (is_integer and len(base) == 1)):
            raise _make_form_error(expr, f"the base of the power {exponent:.12g} is not a sum of positive terms")
        indices = {index for key in base for index, _ in key}
        shared: Sum = {tuple((index, min(dict(key).get(index, 0.0) for key in base)) for index in sorted(indices)): 1.0}
        scale = base[next(iter(base))]
        rest = {key: value / scale for key, value in multiply_sums(base, shared, -1.0).items()}
        if rest != ONE:
            self.sums += [rest] if rest not in self.sums else []
            shared = multiply_sums(shared, {((len(self._variables) + self.sums.index(rest), 1.0),): 1.0})
        return multiply_sums({(): scale**exponent}, shared, exponent)

    def call(self, function: str, values: Sequence[Sum], expr: s.Call) -> Sum:
        constants = [value for value in map(get_constant, values) if value is not None]
        if len(constants) == len(values):
            return _make_constant(_FUNCTIONS[function](*constants))
        if function == "sqrt":
            return self._compute_power(values[0], 0.5, expr)
        if function not in ("max", "min"):
            raise _make_form_error(expr, f"it has `{function}` of a variable")
        every = {frozenset(item.items()): item for item in values}
        choice = function, tuple(every)
        if choice not in self._chosen:
            self.undecided = choice, len(every)
        selected = [*every.values()][self._chosen.get(choice, 0)]
        self.sides += [
            add_sums(*((item, selected) if function == "max" else (selected, item)), -1) for item in every.values()
        ]
        return selected


_FUNCTIONS: Mapping[str, Callable[..., float]] = {
    "sqrt": lambda value: value**0.5, "log2": log2, "floor": floor, "ceil": ceil,
    "max": lambda *values: max(values), "min": lambda *values: min(values),
}  # fmt: skip


def iterate_choices(
    variables: Mapping[str, int], values: Mapping[str, float], read: Callable[[SignomialDomain], T]
) -> Iterator[tuple[SignomialDomain, T]]:
    """Yield the domain, and the result of `read` in it, for each choice of the arguments of max and min."""
    waiting: list[Mapping[Choice, int]] = [{}]
    while waiting:
        chosen = waiting.pop()
        reader = SignomialDomain(variables, values, chosen)
        result = read(reader)
        if reader.undecided is None:
            yield reader, result
        else:
            key, count = reader.undecided
            waiting += [{**chosen, key: index} for index in range(count)]


def _make_constant(value: float) -> Sum:
    return {(): value} if value else {}


def _make_form_error(expr: s.Expr, reason: str) -> Exception:
    message = f"`{format_expression(expr)}` cannot be minimised over real numbers: {reason}"
    hint = "name the variables in --integer, with ranges"
    return error(rules.NOT_SIGNOMIAL, message, span=expr.span, hint=hint)
