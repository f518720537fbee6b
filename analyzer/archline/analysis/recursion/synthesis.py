"""Bounds together with their proofs: coefficients for which every inequality is a sum of products of facts.

The margin of each step is linear in the coefficients of the bound, and a sum of products of what is known there with
weights >= 0 is linear in the weights. So the best bound of a family that has such a proof is one linear program
(as in J. Hoffmann, K. Aehlig, M. Hofmann, Multivariate amortized resource analysis, TOPLAS 2012). It is solved in
floating point; short coefficients near the solution are then proved exactly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from flint import fmpq

from archline.algebra.polynomial import ZERO, Poly
from archline.analysis.recursion.bases import Element, families
from archline.analysis.recursion.cone import Part, cone, propose
from archline.analysis.recursion.context import Bound, Context
from archline.analysis.recursion.program import Coefficients

GOOD, FAIR, ENOUGH = Fraction(2), Fraction(4), 4
MORE = 1
"""How many richer families are tried for a bound that grows as the function does."""
FAR = 8
"""How much more a far point counts than a sample."""
DENOMINATORS = (1, 2, 4, 12, 60, 1_000)


class Synthesis:
    """One search."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._sign = 1 if context.upper else -1

    def bound(self) -> Bound | None:
        """The best proved bound: the first whose factor is good, else the one with the least."""
        context = self._context
        best: Bound | None = None
        tried: set[tuple[Element, ...]] = set()
        steady = 0
        for turn, elements in enumerate(families(context.function, *context.forcings())):
            written = context.written(elements)
            if written in tried:
                continue
            tried.add(written)
            found = self._try(written)
            if found is not None and found.better(best):
                best = found
            if best is not None and best.steady and best.factor <= (GOOD if turn < ENOUGH else FAIR):
                break
            steady += best is not None and best.steady and bool(context.far)
            if steady > MORE:
                break
        return best

    def _try(self, elements: Sequence[Element]) -> Bound | None:
        parts = self._parts(elements)
        signs = [self._sign * each.sign for each in elements]
        found = propose(parts, self._goal(elements), signs)
        if found is None:
            return None
        for coefficients in _short(found.coefficients.tolist()):
            if all(part.cone.proves(_margin(part, coefficients)) for part in parts):
                terms = (each.value.scaled(number) for each, number in zip(elements, coefficients, strict=True))
                return self._context.bound(sum(terms, ZERO))
        return None

    def _parts(self, elements: Sequence[Element]) -> list[Part]:
        """For each step what must be at least 0."""
        writer = self._context.writer
        parts = []
        for step in self._context.steps:
            known = [writer.gain(step, each) for each in elements]
            gains = tuple(writer.ordered(step, gain.scaled(self._sign)) for gain in known if gain is not None)
            rest = writer.ordered(step, writer.forcing(step).scaled(-self._sign))
            parts.append(Part(cone(writer.facts(step), (*gains, rest)), gains, rest))
        return parts

    def _goal(self, elements: Sequence[Element]) -> list[float]:
        """How much the elements add to the bound at the samples, each beside the function there."""
        context = self._context
        points = [(point, _weight(value)) for point, value in context.weighed]
        points += [(point, FAR * _weight(value)) for point, value in context.far]
        total = [
            sum((weight * context.writer.number(each.value, point) for point, weight in points), Fraction(0))
            for each in elements
        ]
        scale = max(map(abs, total), default=Fraction(0)) or Fraction(1)
        return [float(self._sign * each / scale) for each in total]


def _weight(value: Fraction) -> Fraction:
    return Fraction(1, 1 << int(value).bit_length())


def _margin(part: Part, coefficients: Coefficients) -> Poly:
    return sum((gain.scaled(number) for gain, number in zip(part.gains, coefficients, strict=True)), part.rest)


def _short(numbers: Sequence[float]) -> Iterator[Coefficients]:
    """Fractions near the numbers, the simplest first."""
    seen = set()
    for most in DENOMINATORS:
        near = (Fraction(each).limit_denominator(most) for each in numbers)
        coefficients = tuple(fmpq(each.numerator, each.denominator) for each in near)
        if coefficients not in seen:
            seen.add(coefficients)
            yield coefficients
