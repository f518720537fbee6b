"""Expressions as texts of isl, where they are affine: sums of symbols, floors of such, and max with 0."""

from __future__ import annotations

from collections.abc import Mapping
from math import lcm

from archline.algebra import atoms as a
from archline.algebra.polynomial import Atom, Poly, Symbol
from archline.algebra.printing import to_text

Names = Mapping[str, str]
"""What isl calls a symbol."""


class NotAffineError(Exception):
    """isl cannot express it."""

    def __init__(self, value: Poly) -> None:
        super().__init__(f"{to_text(value)} is not affine")


def scaled_text(value: Poly, names: Names) -> tuple[str, int]:
    """A text of integer coefficients and the number that it is too large by. Raises NotAffineError."""
    scale = lcm(*(int(each.q) for each in value.terms.values())) if value.terms else 1
    parts = []
    for monomial, coefficient in value.terms.items():
        factor = int((coefficient * scale).p)
        match monomial:
            case ():
                parts.append(str(factor))
            case ((atom, 1),):
                parts.append(f"{factor}*{_atom(atom, names)}")
            case _:
                raise NotAffineError(value)
    return "(" + (" + ".join(parts) or "0") + ")", scale


def floor_text(value: Poly, by: int, names: Names) -> str:
    """floor(value / by). Raises NotAffineError."""
    text, scale = scaled_text(value, names)
    return text if scale * by == 1 else f"floor({text}/{scale * by})"


def _atom(atom: Atom, names: Names) -> str:
    match atom:
        case Symbol(name=name) if name in names:
            return names[name]
        case a.Floor(argument=argument, modulus=modulus) if modulus.is_constant and modulus.constant_term.q == 1:
            return floor_text(argument, int(modulus.constant_term.p), names)
        case a.PositivePart(argument=argument):
            text, scale = scaled_text(argument, names)
            if scale == 1:
                return f"max(0, {text})"
        case _:
            pass
    raise NotAffineError(Poly.of_atom(atom))
