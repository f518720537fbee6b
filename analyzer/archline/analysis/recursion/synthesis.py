"""Bounds together with their proofs: coefficients for which every inequality is a sum of products of facts.

The margin of each step is linear in the coefficients of the bound, and a sum of products of what is known there with
weights >= 0 is linear in the weights. So the best bound of a family that has such a proof is one linear program
(as in J. Hoffmann, K. Aehlig, M. Hofmann, Multivariate amortized resource analysis, TOPLAS 2012). It is solved in
floating point; short coefficients near the solution are then proved exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
from flint import fmpq

from archline.algebra.evaluation import evaluate
from archline.algebra.polynomial import ZERO, Poly, rational
from archline.analysis.recursion.bases import Element, families
from archline.analysis.recursion.cone import NEAR, Cone, Goal, Part, cone, propose
from archline.analysis.recursion.context import Bound, Context
from archline.analysis.recursion.finite import points
from archline.analysis.recursion.program import Coefficients
from archline.analysis.recursion.shares import shares
from archline.analysis.recursion.steps import Step

GOOD, FAIR, ENOUGH = Fraction(2), Fraction(4), 4
NEAR_ENOUGH = Fraction(32)
MAX_POINTS = 40
"""Of a case without calls that leaves no more sizes, each is looked at by itself."""
NUMBERS = Cone((), 0)
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
        for turn, elements in enumerate(self._families()):
            written = context.written(elements)
            if written in tried:
                continue
            tried.add(written)
            found = self._try(written)
            if found is not None and found.better(best):
                best = found
            if best is not None and best.steady and best.factor <= (GOOD if turn < ENOUGH else FAIR):
                break
            # One that grows as the function does is seldom brought much nearer by richer sets.
            if best is not None and best.steady and context.far and best.factor <= NEAR_ENOUGH:
                break
        return best

    def _families(self) -> Iterator[tuple[Element, ...]]:
        """Sets of elements to try, from the plain to the rich."""
        context = self._context
        plain: tuple[Element, ...] = ()
        for elements in families(context.function, *context.forcings()):
            yield elements
            plain = plain or elements
        degree = max((each.degree for each in plain), default=0)
        powers = tuple(shares(context.function, context.steps, degree + 1, context.upper))
        if powers:
            yield (*plain, *powers)

    def _try(self, elements: Sequence[Element]) -> Bound | None:
        parts = self._parts(elements)
        signs = [self._sign * each.sign for each in elements]
        found = propose(parts, self._goal(elements), signs)
        if found is None:
            return None
        rounding = [self._sign * bool(each.parts) for each in elements]
        for coefficients in _short(found.coefficients.tolist(), rounding):
            if all(part.cone.proves(_margin(part, coefficients)) for part in parts):
                terms = (each.value.scaled(number) for each, number in zip(elements, coefficients, strict=True))
                return self._context.bound(sum(terms, ZERO))
        return None

    def _parts(self, elements: Sequence[Element]) -> list[Part]:
        """For each step what must be at least 0."""
        return [part for step in self._context.steps for part in self._of_step(step, elements)]

    def _of_step(self, step: Step, elements: Sequence[Element]) -> Iterator[Part]:
        writer, sign = self._context.writer, self._sign
        few = None if step.calls else points(step.facts, frozenset(self._context.function.least), MAX_POINTS)
        if few is not None:
            # Each by itself: what cannot be written in symbols can, and nothing is lost.
            for point in few:
                numbers = [Poly.constant(rational(sign * writer.number(each.value, point))) for each in elements]
                rest = Poly.constant(rational(-sign * evaluate(writer.forcing(step), point)))
                yield Part(NUMBERS, tuple(numbers), rest)
            return
        known = [writer.gain(step, each) for each in elements]
        gains = tuple(writer.ordered(step, gain.scaled(sign)) for gain in known if gain is not None)
        rest = writer.ordered(step, writer.forcing(step).scaled(-sign))
        yield Part(cone(writer.facts(step), (*gains, rest)), gains, rest)

    def _goal(self, elements: Sequence[Element]) -> Goal:
        """The bound at the samples and at far points, each beside the function there."""
        context = self._context
        points = [*context.weighed, *context.far]
        factors = [
            [float(self._sign * context.writer.number(each.value, point) / (value + 1)) for each in elements]
            for point, value in points
        ]
        watched = np.array(factors).reshape(len(points), len(elements))
        return Goal(watched.mean(axis=0), watched if context.values is not None else watched[:0])


def _margin(part: Part, coefficients: Coefficients) -> Poly:
    return sum((gain.scaled(number) for gain, number in zip(part.gains, coefficients, strict=True)), part.rest)


def _short(numbers: Sequence[float], sides: Sequence[int]) -> Iterator[Coefficients]:
    """Fractions near the numbers, the simplest first; none below its number where the side is 1, or above with -1."""
    seen = set()
    for most in DENOMINATORS:
        near = [Fraction(each).limit_denominator(most) for each in numbers]
        near = [
            side * Fraction(math.ceil(side * number * most - NEAR), most) if side else each
            for each, number, side in zip(near, numbers, sides, strict=True)
        ]
        coefficients = tuple(fmpq(each.numerator, each.denominator) for each in near)
        if coefficients not in seen:
            seen.add(coefficients)
            yield coefficients
