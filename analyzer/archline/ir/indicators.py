"""Conditions on sizes and indices as expressions: 1 where they hold, 0 elsewhere."""

from __future__ import annotations

from collections.abc import Callable

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Poly
from archline.ir.scope import OPPOSITE, NotStaticError, Scope, has_function, static_value
from archline.language import syntax as s

_MIRRORED = {">=": "<=", ">": "<", "<=": ">=", "<": ">", "!=": "!=", "==": "=="}


def indicator(condition: s.Expr, scope: Scope) -> Poly | None:
    """1 where a condition on sizes and indices holds, 0 elsewhere; None where the data decides."""
    facts = scope.facts
    match condition:
        case s.Unary(op="not", operand=operand):
            inner = indicator(operand, scope)
            return None if inner is None else 1 - inner
        case s.Binary(op="and" | "or" as op, left=left, right=right):
            first, second = indicator(left, scope), indicator(right, scope)
            if first is None or second is None:
                return None
            return first * second if op == "and" else first + second - first * second
        case s.Binary(op=op, left=left, right=right) if op in OPPOSITE:
            try:
                difference = static_value(left, scope) - static_value(right, scope)
            except NotStaticError:
                return None
            # Indicators are built for integers; a logarithm or root may lie between them.
            return None if has_function(difference) else _comparison(op, difference, facts)
        case _:
            return None


def _comparison(op: str, difference: Poly, facts: Facts) -> Poly:
    """1 where an integer difference compares with 0 as said, else 0."""
    found = _remainder(difference, facts)
    if found is not None:
        below, mirrored, limit = found
        return _by_thresholds(_MIRRORED[op] if mirrored else op, below, limit)

    def negative(limit: Poly) -> Poly:
        value = limit - 1 - difference
        return facts.positive_part(value + 1) - facts.positive_part(value)

    return _by_thresholds(op, negative, ZERO)


def _by_thresholds(op: str, below: Callable[[Poly], Poly], limit: Poly) -> Poly:
    """A comparison with a limit, from what tells whether the value is below an integer."""
    match op:
        case "<":
            return below(limit)
        case "<=":
            return below(limit + 1)
        case ">=":
            return 1 - below(limit)
        case ">":
            return 1 - below(limit + 1)
        case _:
            pass
    equal = below(limit + 1) - below(limit)
    return equal if op == "==" else 1 - equal


def _remainder(difference: Poly, facts: Facts) -> tuple[Callable[[Poly], Poly], bool, Poly] | None:
    """Where the difference is e mod m - limit: what tells whether e mod m is below an integer; and the limit.

    The flag says that it is limit - e mod m instead. e mod m is e - m*floor(e/m), and below t, 0 <= t <= m, exactly
    where floor(e/m) - floor((e - t)/m) is 1 and not 0. Where e is itself a floor, of u/d, one of u/(d*m) stands for
    both.
    """
    for atom in sorted(difference.atoms(), key=str):
        parts = difference.coefficients(atom)
        if not isinstance(atom, a.Floor) or set(parts) - {0, 1}:
            continue
        for mirrored in (False, True):
            modulus = parts[1] if mirrored else -parts[1]
            split = a.divide_terms(atom.modulus, modulus, exact=True) if facts.positive(modulus) else None
            if split is None or split[1] or not facts.integral(split[0]) or not facts.positive(split[0]):
                continue
            unit = split[0]
            value = atom.argument if unit == ONE else a.floor_div(atom.argument, unit)
            remainder = value - modulus * Poly.of_atom(atom)
            rest = difference + remainder if mirrored else difference - remainder
            if len(rest.terms) >= len(difference.terms) or not facts.integral(rest) or not facts.integral(modulus):
                continue
            return _below(atom, modulus, unit, facts), mirrored, rest if mirrored else -rest
    return None


def _below(atom: a.Floor, modulus: Poly, unit: Poly, facts: Facts) -> Callable[[Poly], Poly]:
    def below(limit: Poly) -> Poly:
        inside = facts.minimum(facts.maximum(limit, ZERO), modulus)
        return Poly.of_atom(atom) - a.floor_div(atom.argument - inside * unit, atom.modulus)

    return below
