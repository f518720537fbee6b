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

from archline.algebra.evaluation import EvaluationError, evaluate
from archline.algebra.polynomial import ZERO, OutOfBudgetError, Poly, budget, rational
from archline.analysis.recursion.bases import Element, families
from archline.analysis.recursion.cone import NEAR, Cone, Goal, Part, cone, propose
from archline.analysis.recursion.context import FAIR, GOOD, Bound, Context, Seen
from archline.analysis.recursion.finite import points
from archline.analysis.recursion.halving import reproduced
from archline.analysis.recursion.program import Coefficients, Point
from archline.analysis.recursion.steps import Step

ENOUGH = 4
MAX_LEFT_OUT, FEW = 8, 3_000
"""How many terms it is tried to do without, and the products up to which that takes little time."""
NEGLIGIBLE = 1e-4
PLAIN = 7
"""How many sets are tried where nothing grows as the function does."""
MAX_EFFORT = 2_000_000
ALIKE = Fraction(3, 2)
NEAR_ENOUGH = Fraction(32)
LENIENT = 2
"""How many times the largest factor at far points is allowed at samples."""
ROOM = Fraction(5, 4)
"""How much larger the factor may get for shorter coefficients."""
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
        best: Bound | None = None
        turn = 0
        for sets in self._promising():
            for elements in sets:
                found = self._within_limits(elements)
                if found is not None and found.better(best):
                    best = found
                if best is not None and self._enough(best, turn):
                    return best
                turn += 1
            if best is not None:
                break
        return best

    def _enough(self, best: Bound, turn: int) -> bool:
        if self._context.values is None:
            # Nothing tells how near it is; an upper bound of plain terms is seldom improved by richer ones.
            return self._context.upper or turn >= ENOUGH
        if not best.steady:
            return False
        # One that grows as the function does is seldom brought much nearer by richer sets.
        limit = NEAR_ENOUGH if self._context.far else GOOD if turn < ENOUGH else FAIR
        return best.factor <= limit

    def _promising(self) -> tuple[list[tuple[Element, ...]], ...]:
        """Sets of elements to try: those in which something grows as the function does in all directions; others."""
        context = self._context
        written = list(dict.fromkeys(context.written(elements) for elements in self._families()))
        able = [elements for elements in written if self._able(elements)]
        return able, [elements for elements in written[:PLAIN] if elements not in able]

    def _able(self, elements: Sequence[Element]) -> bool:
        """Whether in every direction one of the elements grows about as the function does."""
        number = self._context.writer.number

        def alike(element: Element, far: Seen, farther: Seen) -> bool:
            ends = number(element.value, far[0]), number(element.value, farther[0])
            growth = (farther[1] + 1) / (far[1] + 1)
            return ends[0] > 0 and growth / ALIKE <= ends[1] / ends[0] <= growth * ALIKE

        return all(
            any(alike(element, far, farther) for element in elements) for far, farther in self._context.directions
        )

    def _families(self) -> Iterator[tuple[Element, ...]]:
        """Sets of elements to try, from the plain to the rich."""
        context = self._context
        powers = tuple(reproduced(context.function, context.steps, context.upper))
        for turn, elements in enumerate(families(context.function, *context.forcings())):
            yield elements
            if powers and not turn:
                yield (*elements, *powers)

    def _within_limits(self, elements: Sequence[Element]) -> Bound | None:
        try:
            with budget(MAX_EFFORT, own=True):
                return self._try(elements)
        except (OutOfBudgetError, OverflowError, EvaluationError):
            return None

    def _try(self, elements: Sequence[Element]) -> Bound | None:
        parts = self._parts(elements)
        signs = [self._sign * each.sign for each in elements]
        products = sum(len(part.cone.products) for part in parts)
        found = propose(parts, self._goal(elements), signs, MAX_LEFT_OUT if products <= FEW else 0)
        if found is None:
            return None
        context = self._context
        best: Bound | None = None
        wanted = found.factor * ROOM
        for coefficients in _short(found.coefficients.tolist(), self._sign):
            if all(part.cone.proves(_margin(part, coefficients)) for part in parts):
                terms = (each.value.scaled(number) for each, number in zip(elements, coefficients, strict=True))
                bound = context.bound(sum(terms, ZERO))
                best = bound if bound.better(best) else best
                if bound.far <= wanted and bound.near <= LENIENT * wanted and (bound.steady or not context.far):
                    break
        return best

    def _parts(self, elements: Sequence[Element]) -> list[Part]:
        """For each step what must be at least 0."""
        return [part for step in self._context.steps for part in self._of_step(step, elements)]

    def _of_step(self, step: Step, elements: Sequence[Element]) -> Iterator[Part]:
        writer, sign = self._context.writer, self._sign
        sizes = frozenset(self._context.function.least)
        few = None if step.calls or step.data else points(step.facts, sizes, MAX_POINTS)
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
        near = [self._factors(elements, *each) for each in context.weighed]
        watched = [[*each, float(LENIENT)] for each in near] + [
            [*self._factors(elements, *each), 1.0] for each in context.far
        ]
        mean = np.array(near).reshape(len(near), len(elements)).mean(axis=0)
        return Goal(mean, np.array(watched if context.values is not None else []))

    def _factors(self, elements: Sequence[Element], point: Point, value: Fraction) -> list[float]:
        number = self._context.writer.number
        return [float(self._sign * number(each.value, point) / (value + 1)) for each in elements]


def _margin(part: Part, coefficients: Coefficients) -> Poly:
    return sum((gain.scaled(number) for gain, number in zip(part.gains, coefficients, strict=True)), part.rest)


def _short(numbers: Sequence[float], side: int) -> Iterator[Coefficients]:
    """Fractions near the numbers, the simplest first: the nearest, and the nearest on the safe side."""
    seen = set()
    # What is this small is mostly no more than rounding.
    numbers = [0.0 if abs(each) < NEGLIGIBLE else each for each in numbers]
    for most in DENOMINATORS:
        plain = [Fraction(round(each * most), most) for each in numbers]
        nearest = [Fraction(each).limit_denominator(most) or _least(each) for each in numbers]
        safe = [side * Fraction(math.ceil(side * each * most - NEAR), most) or _least(each) for each in numbers]
        for coefficients in (_exact(plain), _exact(nearest), _exact(safe)):
            if coefficients not in seen:
                seen.add(coefficients)
                yield coefficients


def _least(number: float) -> Fraction:
    """A unit fraction no farther from 0 than a number, so that no term is lost."""
    return Fraction(0) if abs(number) < NEAR else Fraction(1 if number > 0 else -1, math.ceil(1 / abs(number)))


def _exact(numbers: Sequence[Fraction]) -> Coefficients:
    return tuple(fmpq(each.numerator, each.denominator) for each in numbers)
