"""Expressions at many points at once, in floating point: to propose, never to decide."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from archline.algebra import atoms as a
from archline.algebra.polynomial import Atom, Poly, Symbol
from archline.numbers import fmpq

Array = npt.NDArray[np.float64]
Points = Mapping[str, Array]


def as_float(number: fmpq | int) -> float:
    """The nearest number in floating point. Raises OverflowError."""
    if isinstance(number, int):
        return float(number)
    return int(number.p) / int(number.q)


def values(value: Poly, points: Points) -> Array:
    """The value at every point; NaN where it has none."""
    count = len(next(iter(points.values())))
    cache: dict[Atom, Array] = {}

    def evaluated(poly: Poly) -> Array:
        total = np.zeros(count)
        for monomial, coefficient in poly.terms.items():
            term = np.full(count, as_float(coefficient))
            for each, power in monomial:
                if each not in cache:
                    cache[each] = atom(each)
                term = term * cache[each] ** float(power)
            total = total + term
        return total

    def atom(each: Atom) -> Array:
        match each:
            case Symbol():
                return points[each.name]
            case a.PositivePart():
                return np.maximum(evaluated(each.argument), 0.0)
            case a.Floor():
                return np.floor((evaluated(each.argument) + 1e-9) / evaluated(each.modulus))
            case a.Quotient():
                return evaluated(each.argument) / evaluated(each.divisor)
            case a.CeilLog2():
                return np.ceil(np.log2(np.maximum(evaluated(each.argument), 1.0)) - 1e-12)
            case a.Exponential():
                return float(each.base) ** evaluated(each.exponent)
            case a.RealFunction(function="log2"):
                return np.log2(evaluated(each.argument))
            case a.RealFunction(function="sqrt"):
                return np.sqrt(evaluated(each.argument))
            case a.RealFunction():
                return np.floor(np.sqrt(evaluated(each.argument)) + 1e-12)
            case _:
                return np.full(count, np.nan)

    with np.errstate(all="ignore"):
        return evaluated(value)
