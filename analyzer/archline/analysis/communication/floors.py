"""Pieces of a buffer: q*w//p..(q + d)*w//p has floor(d*w/p) words or one more, whatever q is."""

from __future__ import annotations

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ZERO, Poly
from archline.ir.amounts import Known


def between_floors(value: Poly, facts: Facts) -> Known:
    """Bounds with floor((x - y)/m) and ceil((x - y)/m) in place of floor(x/m) - floor(y/m)."""
    lower = upper = value
    pair = _opposite(value, facts)
    while pair is not None:
        plus, minus, factor = pair
        apart = facts.simplify(plus.argument - minus.argument)
        both = factor * (Poly.of_atom(plus) - Poly.of_atom(minus))
        lower = facts.simplify(lower - both + factor * _floor(apart, plus.modulus))
        upper = facts.simplify(upper - both + factor * _ceiling(apart, plus.modulus))
        value = value - both
        pair = _opposite(value, facts)
    return Known(lower, upper)


def _opposite(value: Poly, facts: Facts) -> tuple[a.Floor, a.Floor, Poly] | None:
    """Two floors by the same modulus with opposite factors, that of the first not negative."""
    floors = sorted((atom for atom in value.atoms() if isinstance(atom, a.Floor)), key=str)
    for plus in floors:
        parts = value.coefficients(plus)
        factor = parts.get(1, ZERO)
        if set(parts) - {0, 1} or not facts.nonnegative(factor):
            continue
        for minus in floors:
            if minus.modulus == plus.modulus and value.coefficients(minus).get(1) == -factor and factor:
                return plus, minus, factor
    return None


def _floor(value: Poly, modulus: Poly) -> Poly:
    found = a.floor_div(value, modulus)
    return (value - modulus + 1) * modulus**-1 if _is_rough(found, modulus) else found


def _ceiling(value: Poly, modulus: Poly) -> Poly:
    found = a.ceil_div(value, modulus)
    return (value + modulus - 1) * modulus**-1 if _is_rough(found, modulus) else found


def _is_rough(found: Poly, modulus: Poly) -> bool:
    """Whether a quotient is better bounded as a fraction: it is rounded, and has to be summed up."""
    rounded = any(isinstance(atom, a.Floor) for atom in found.atoms())
    return rounded and len(modulus.terms) == 1 and len(found.names) > 0
