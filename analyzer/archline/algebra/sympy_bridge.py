"""Converts derived costs to sympy for further algebra, LaTeX and lambdify; sympy is imported when first needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from archline.algebra import atoms as a
from archline.algebra.polynomial import Atom, Poly, Symbol
from archline.expr.sequences import RECURSIVE_SEQUENCES
from archline.records import memoised

if TYPE_CHECKING:
    import sympy


def make_symbols(names: Mapping[str, int | None]) -> dict[str, sympy.Symbol]:
    """Return the sympy symbols of sizes, given each size's minimum (None for an index, of any sign)."""
    import sympy

    def assumptions_of(least: int | None) -> dict[str, bool]:
        if least is None:
            return {"integer": True}
        return {"integer": True, "positive": True} if least >= 1 else {"integer": True, "nonnegative": True}

    return {name: sympy.Symbol(name, **assumptions_of(least)) for name, least in names.items()}


def to_sympy(value: Poly, known: Mapping[str, sympy.Symbol] | None = None) -> sympy.Expr:
    """Return the expression in sympy: Max, floor, ceiling(log(x, 2)), exact rationals.

    Symbols that are not in `known` become positive integers. Raises ValueError if the expression contains an element
    of an array, which derived costs do not.
    """
    return _Translator(dict(known or {})).translate_expression(value)


class _Translator:
    """Translates one expression, every atom once."""

    def __init__(self, known: dict[str, sympy.Symbol]) -> None:
        self._known = known

    def translate_expression(self, value: Poly) -> sympy.Expr:
        import sympy

        terms = []
        for monomial, coefficient in value.terms.items():
            factors = [self._translate_atom(atom) ** power for atom, power in monomial]
            terms.append(sympy.Mul(sympy.Rational(int(coefficient.p), int(coefficient.q)), *factors))
        return sympy.Add(*terms)

    @memoised
    def _translate_atom(self, atom: Atom) -> sympy.Expr:
        import sympy

        match atom:
            case Symbol(name=name):
                if name not in self._known:
                    self._known.update(make_symbols({name: 1}))
                return self._known[name]
            case a.PositivePart():
                return sympy.Max(0, self.translate_expression(atom.argument))
            case a.Floor() | a.Quotient():
                top, bottom = (self.translate_expression(part) for part in atom.parts)
                return sympy.floor(top / bottom) if isinstance(atom, a.Floor) else top / bottom
            case a.CommonDivisor():
                return sympy.gcd(*(self.translate_expression(part) for part in atom.parts))
            case a.CeilLog2():
                # ceil(log2) is 0 below 1; a symbol that is positive needs no guard, and sympy drops it there.
                return sympy.ceiling(sympy.log(sympy.Max(1, self.translate_expression(atom.argument)), 2))
            case a.Exponential():
                return sympy.Integer(atom.base) ** self.translate_expression(atom.exponent)
            case a.Sequence(name="arrangements"):
                # It is n!*e rounded down; 1 at 0.
                return sympy.uppergamma(self.translate_expression(atom.argument) + 1, 1) * sympy.E
            case a.Sequence(name="ceil_log"):
                value, base = map(self.translate_expression, atom.parts)
                return sympy.ceiling(sympy.log(sympy.Max(1, value), base))
            case a.Sequence() if atom.name not in RECURSIVE_SEQUENCES:
                return sympy.Function(atom.name)(*map(self.translate_expression, atom.parts))
            case a.Sequence():
                return getattr(sympy, atom.name)(self.translate_expression(atom.argument))
            case a.RealFunction(function="log2"):
                return sympy.log(self.translate_expression(atom.argument), 2)
            case a.RealFunction():
                root = sympy.sqrt(self.translate_expression(atom.argument))
                return sympy.floor(root) if atom.function == "isqrt" else root
            case _:
                raise ValueError(f"`{atom.key}` depends on the data")
