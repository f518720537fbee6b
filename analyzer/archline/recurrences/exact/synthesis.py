"""Bounds together with their proofs: coefficients for which every inequality is a sum of products of facts.

The margin of each step is linear in the coefficients of the bound, and a sum of products of what is known there with
weights >= 0 is linear in the weights. So the best bound of a family that has such a proof is one linear program
(as in J. Hoffmann, K. Aehlig, M. Hofmann, Multivariate amortized resource analysis, TOPLAS 2012). It is solved in
floating point; short coefficients near the solution are then proved exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import chain, islice
from operator import mul

import numpy as np

from archline.algebra.effort import LazyList, OutOfBudgetError, budget
from archline.algebra.evaluate.compiled import Number
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.evaluate.vectors import Array, as_float
from archline.algebra.polynomial import Poly, Symbol, combination, rational
from archline.algebra.prove.enumerate import points
from archline.algebra.prove.handelman import (
    ConeConstraint,
    Goal,
    ProductCone,
    Proposal,
    cone,
    propose,
    shortened,
)
from archline.expr.intervals import EvaluationError
from archline.numbers import fmpq
from archline.recurrences.evaluate import Point
from archline.recurrences.exact import leaves
from archline.recurrences.exact.basis import BasisTerm, bases, distinct, families, logarithmic, shallow
from archline.recurrences.exact.constraints import (
    ALIKE,
    FAIR,
    FAR_EXPONENTS,
    GOOD,
    NEAR_ENOUGH,
    Coefficients,
    InductionProblem,
    ProvedBound,
    Ratio,
    hinge_bases,
)
from archline.recurrences.exact.halved_sizes import (
    depth_terms,
    log_product_terms,
    master_terms,
    on_a_path,
    uneven_split_terms,
)
from archline.recurrences.exact.transitions import Transition

ROUNDED = 1 + 1e-6
"""How much larger than it is a factor may be in floating point."""


def best_proved(
    short: Sequence[Coefficients],
    largest: Array,
    bound: Callable[[Coefficients], ProvedBound],
    proved: Callable[[Coefficients], bool],
    accepted: Callable[[ProvedBound], bool],
    most: Fraction,
) -> ProvedBound | None:
    """Which of several coefficients, the shortest first, make the best proved bound, with few proofs, which take long.

    The first ones that are near enough, `accepted` with a factor of `most` at most, are taken, unless shorter ones
    before them make a better bound; where none are near enough, the best of all. Bounds and proofs are looked for once.
    """
    # By their place: coefficients take long to hash.
    of, holds = cache(lambda index: bound(short[index])), cache(lambda index: proved(short[index]))

    def worse(index: int, other: ProvedBound) -> bool:
        """Whether one is far worse than a bound, whatever else is seen of it."""
        return other.steady and bool(largest[index] > float(ALIKE * other.factor) * ROUNDED)

    every, near = range(len(short)), largest <= float(most) * ROUNDED
    end = next((index for index in every if near[index] and accepted(of(index)) and holds(index)), None)
    if end is not None:
        last = of(end)
        if not any(not worse(index, last) and not last.better(of(index)) and holds(index) for index in range(end)):
            return last
    best: ProvedBound | None = None
    for index in every if end is None else range(end + 1):
        if best is not None and worse(index, best):
            continue
        if of(index).better(best) and holds(index):
            best = of(index)
    return best


MIN_SETS_TRIED = 4
MAX_LEFT_OUT, MAX_PRODUCTS_TO_SHORTEN = 8, 3_000
"""How many terms it is tried to do without, and the products up to which that takes little time."""
QUICK, MAX_PRODUCTS_FOR_FAIR = 200, 4_000
"""The products up to which a good bound is looked for, and one that is fair."""
MAX_SETS_OF_OTHER_GROWTH = 7
"""How many sets are tried where nothing grows as the function does."""
MAX_EFFORT = 2_000_000
SIMILAR, ROUGHLY = Fraction(3, 2), Fraction(3)
LOGARITHM = Fraction(FAR_EXPONENTS[1], FAR_EXPONENTS[0])
"""How a logarithm grows from far points to farther ones."""
STEADY = 1.4
"""How many times the factor at far points is aimed at farther ones; a little more counts as steady."""
ROOM = Fraction(21, 20)
"""How much larger the factor may get for shorter coefficients."""
LARGE_FACTOR, LITTLE_ROOM = Fraction(3), Fraction(101, 100)
"""Above this factor it may get no more than this much larger."""
PLAINLY = Fraction(5, 4)
"""The factor at far points at which a lower bound of products alone is near enough."""
MAX_POINTS = 40
"""Of a case without calls that leaves no more sizes, each is looked at by itself."""
NUMBERS = ProductCone((), 0)
LATE = 10
"""How much far points count relative to near ones for products of logarithms, which show late."""
LONGEST = 1_000_000
"""The largest denominator of what shorter coefficients are compared with."""


There = Sequence[Sequence[Number]]
"""For each point where bounds are watched, the elements there."""


class Synthesis:
    """The search for the bounds of one function."""

    def __init__(self, context: InductionProblem, capped: bool = True) -> None:
        self._context = context
        self._caps = capped and context.values is not None
        self._sign = 1 if context.upper else -1
        self._tried = 0
        # Several ways to choose among the sets begin with the same ones.
        self._leaf_sets, self._plain_sets = LazyList(self._capped()), LazyList(self._families())

    def by_families(self) -> ProvedBound | None:
        """The best proved bound of few logarithms: the first whose factor is good, else the one with the least."""
        others: list[tuple[BasisTerm, ...]] = []
        near = self._uncapped()
        return near or self._best(self._able_sets(others)) or self._best(map(self._context.written, others))

    def by_bases(self) -> ProvedBound | None:
        """The best proved bound of what exact forms are made of."""
        context = self._context
        # What grows with the depth of the calls alone, whatever the data makes of the sizes.
        depths = shallow(context.function) if context.upper and context.values is None else ()
        sets = chain((tuple(map(BasisTerm, each)) for each in depths), bases(context.function, *context.forcings()))
        return self._best(map(context.written, sets))

    def _best(self, sets: Iterable[tuple[BasisTerm, ...]]) -> ProvedBound | None:
        best: ProvedBound | None = None
        for turn, elements in enumerate(sets):
            found = self._within_limits(elements)
            if found is not None and found.better(best):
                best = found
            if best is not None and self._enough(best, turn):
                break
        return best

    def _able_sets(self, others: list[tuple[BasisTerm, ...]]) -> Iterator[tuple[BasisTerm, ...]]:
        """The sets in which something grows as the function does in all directions; of others the plain are kept.

        Each as far as it can be written at the sizes of calls, which takes long, and once.
        """
        seen: set[tuple[BasisTerm, ...]] = set()
        plain = 0
        for elements, tolerance in self._sets():
            plain += tolerance == SIMILAR
            if self._able(elements, tolerance):
                yield from self._new(elements, tolerance, seen)
            elif tolerance == SIMILAR and plain <= MAX_SETS_OF_OTHER_GROWTH:
                others.append(elements)

    def _sets(self) -> Iterator[tuple[tuple[BasisTerm, ...], Fraction]]:
        """All sets, each with how far its growth may be from that of the function."""
        context = self._context
        yield from ((each, SIMILAR) for each in self._special())
        yield from ((each, ROUGHLY) for each in hinge_bases(context.function, context.steps))
        several = [] if context.values is None else list(log_product_terms(context.function, context.steps))
        # Products of logarithms show late next to what is added to them, and levels above leaves grow faster.
        for elements in several:
            yield elements, ROUGHLY
            yield from ((each, ROUGHLY) for each in self._with_leaves(elements))
        if not several:
            yield from ((each, ROUGHLY) for each in self._leaf_sets)
        yield from ((each, SIMILAR) for each in self._plain_sets)

    def _new(
        self, elements: tuple[BasisTerm, ...], tolerance: Fraction, seen: set[tuple[BasisTerm, ...]]
    ) -> Iterator[tuple[BasisTerm, ...]]:
        """The set as far as it can be written, where that is able too and not seen before."""
        written = self._context.written(elements)
        if written not in seen and self._able(written, tolerance):
            seen.add(written)
            yield written

    def _enough(self, best: ProvedBound, turn: int) -> bool:
        if self._context.values is None:
            # Its factor is not known; an upper bound of plain terms is seldom improved by richer ones.
            return self._context.upper or turn >= MIN_SETS_TRIED
        if not best.steady:
            return False
        if not self._context.far:
            return best.factor <= (GOOD if turn < MIN_SETS_TRIED else FAIR)
        # One that grows as the function does is seldom improved much by richer sets, which take long.
        patience = (
            GOOD if self._tried <= QUICK else FAIR if self._tried <= MAX_PRODUCTS_FOR_FAIR else self._context.target
        )
        return best.factor <= min(patience, self._context.target)

    def _able(self, elements: Sequence[BasisTerm], tolerance: Fraction) -> bool:
        """Whether in every direction one of the elements grows about as the function does."""
        number = self._context.writer.places.number

        def alike(element: BasisTerm, far: Point, farther: Point, growth: Fraction) -> bool:
            before, after = number(element.value, far), number(element.value, farther)
            if before <= 0:
                return False
            # Integers compare many times as fast as fractions do.
            own = after.numerator * before.denominator, after.denominator * before.numerator
            return _has_similar_growth(own, growth.as_integer_ratio(), tolerance)

        return all(
            any(alike(element, far, farther, growth) for element in elements)
            for far, farther, growth in self._context.growths
        )

    def _special(self) -> Iterator[tuple[BasisTerm, ...]]:
        """Sets for calls that do not halve all sizes."""
        context = self._context
        yield from uneven_split_terms(context.function, context.steps, context.upper)
        if context.upper and context.values is None and on_a_path([step for step in context.steps if step.calls]):
            # Where the growth is not known, the first bound is taken.
            yield from logarithmic(context.function)

    def _capped(self) -> Iterator[tuple[BasisTerm, ...]]:
        """Sets with terms for leaves of a fixed size; of groups of cases by themselves plain bounds are near enough."""
        context = self._context
        if self._caps and context.target == NEAR_ENOUGH:
            yield from leaves.leaf_term_sets(context.function, context.steps, context.upper)

    def _with_leaves(self, elements: tuple[BasisTerm, ...]) -> Iterator[tuple[BasisTerm, ...]]:
        """A set with plain terms for leaves of a fixed size, where there are; from above with halvings down to them."""
        context = self._context
        # Beside logarithms, with the other sign, they would hide how a lower bound grows.
        counts = leaves.counts(context.function, context.steps) if context.upper else []
        for terms in islice(self._leaf_sets, 1):
            yield distinct([*elements, *terms, *counts])

    def _families(self) -> Iterator[tuple[BasisTerm, ...]]:
        """Sets of elements for any recursion, from the plain to the rich."""
        context = self._context
        powers = tuple(master_terms(context.function, context.steps, context.upper))
        near = depth_terms(context.function, context.steps)
        for turn, elements in enumerate(families(context.function, *context.forcings())):
            if near and not turn:
                yield (*elements, *near)
            yield elements
            if powers and not turn:
                yield (*elements, *powers)

    def _uncapped(self) -> ProvedBound | None:
        """A lower bound of products of sizes where that is near; it takes far less time than with terms for leaves.

        An upper one pays for more and larger leaves than there are, so that it seldom is.
        """
        if self._context.upper or next(iter(self._leaf_sets), None) is None:
            return None
        products = (
            each for each in self._plain_sets if all(isinstance(x, Symbol) for e in each for x in e.value.atoms())
        )
        able = next((each for each in products if self._able(each, SIMILAR)), None)
        found = None if able is None else self._within_limits(self._context.written(able))
        near = found is not None and found.steady and found.far <= PLAINLY and found.near <= GOOD
        return found if near else None

    def _within_limits(self, elements: Sequence[BasisTerm]) -> ProvedBound | None:
        try:
            with budget(MAX_EFFORT, own=True):
                return self._try(elements)
        except (OutOfBudgetError, OverflowError, EvaluationError):
            return None

    def _try(self, elements: Sequence[BasisTerm]) -> ProvedBound | None:
        parts = [part for step in self._context.steps for part in self._of_step(step, elements)]
        signs = [self._sign * each.sign for each in elements]
        products = sum(len(part.cone.products) for part in parts)
        self._tried += products
        there = self._context.writer.places.table(
            [each.value for each in elements], [point for (point, _), _ in self._context.evaluation_points]
        )
        goal = self._goal(elements, there)
        found = self._proposed(parts, there, (goal, signs), MAX_LEFT_OUT if products <= MAX_PRODUCTS_TO_SHORTEN else 0)
        if found is None:
            return None
        context = self._context
        near = self._near(elements, there, found)
        target = near * (ROOM if near <= LARGE_FACTOR else LITTLE_ROOM)
        known = list(zip(parts, found.weights, strict=True))
        short = tuple(shortened(found.coefficients.tolist(), self._sign))
        return best_proved(
            short,
            self._largest(goal, short),
            lambda coefficients: self._bound(elements, there, coefficients),
            lambda coefficients: self._proved(known, elements, coefficients),
            lambda bound: bound.factor <= target and (bound.steady or not context.far),
            target,
        )

    def _largest(self, goal: Goal, short: Sequence[Coefficients]) -> Array:
        """The largest factor of the bound with each of several coefficients, in floating point."""
        context = self._context
        if not len(goal.watched):
            return np.zeros(len(short))
        numbers = np.array([[as_float(each) for each in coefficients] for coefficients in short])
        ones = np.array([1 / float(value + 1) for (_, value), _ in context.evaluation_points])[:, None]
        shares = self._sign * goal.watched[:, :-1] @ numbers.T + ones
        factors = shares if context.upper else 1 / np.maximum(shares, ones / 4)
        largest: Array = (factors / np.array([float(share) for _, share in context.evaluation_points])[:, None]).max(
            axis=0
        )
        return largest

    def _near(self, elements: Sequence[BasisTerm], there: There, found: Proposal) -> Fraction:
        """The factor of what floating point proposes, measured as those of bounds are."""
        exact = tuple(rational(Fraction(each).limit_denominator(LONGEST)) for each in found.coefficients.tolist())
        return min(found.factor, self._seen(elements, there, exact).factor)

    def _proposed(
        self, parts: Sequence[ConeConstraint], there: There, asked: tuple[Goal, Sequence[int]], most: int
    ) -> Proposal | None:
        """The best bound that is steady, where one is about near enough, else the best of all."""
        goal, signs = asked
        if self._context.directions:
            steady = Goal(goal.mean, np.vstack([goal.watched, self._steadiness(there)]))
            found = propose(parts, steady, signs, most)
            if found is not None and found.factor <= NEAR_ENOUGH:
                return found
        return propose(parts, goal, signs, most)

    def _proved(
        self, parts: list[tuple[ConeConstraint, Array]], elements: Sequence[BasisTerm], coefficients: Coefficients
    ) -> bool:
        """Whether all parts, each with weights that are near, are in their cones; one that is not moves to the front.

        What fails with some coefficients mostly fails with others.
        """
        both = zip(elements, coefficients, strict=True)
        if any(each.inner is not None and self._sign * each.sign * number < 0 for each, number in both):
            # A term that another stands for needs a coefficient of its sign.
            return False
        for index, (part, weights) in enumerate(parts):
            if not part.cone.proves(combination(part.gains, coefficients, part.rest), weights):
                parts.insert(0, parts.pop(index))
                return False
        return True

    def _seen(self, elements: Sequence[BasisTerm], there: There, coefficients: Coefficients) -> ProvedBound:
        """The bound with some coefficients, from what its elements are where it is watched."""
        scale = math.lcm(*(int(each.q) for each in coefficients))
        whole = [int((each * scale).p) for each in coefficients]
        numbers = (sum(map(mul, whole, row)) for row in there)
        known = [(each.numerator, each.denominator * scale) for each in numbers]
        return self._context.bound(combination([each.value for each in elements], coefficients), known)

    def _bound(self, elements: Sequence[BasisTerm], there: There, coefficients: Coefficients) -> ProvedBound:
        bound = self._seen(elements, there, coefficients)
        if all(each.inner is None for each in elements):
            return bound
        proved = [each.value if each.inner is None else each.inner.value for each in elements]
        return replace(bound, proved=combination(proved, coefficients))

    def _of_step(self, step: Transition, elements: Sequence[BasisTerm]) -> Iterator[ConeConstraint]:
        writer, sign = self._context.writer, self._sign
        function = self._context.function
        sizes = frozenset(function.shared_exponents or function.least)
        few = None if step.calls or step.data else points(step.facts, sizes, MAX_POINTS)
        if few is not None:
            # Each by itself: what cannot be written in symbols can, and nothing is lost.
            for point in few:
                numbers = [Poly.constant(sign * self._number(each, point)) for each in elements]
                rest = Poly.constant(rational(-sign * evaluate(writer.forcing(step), point)))
                yield ConeConstraint(NUMBERS, tuple(numbers), rest)
            return
        known = [writer.gain(step, each) for each in elements]
        gains = tuple(writer.ordered(step, gain.scaled(sign)) for gain in known if gain is not None)
        rest = writer.ordered(step, writer.forcing(step).scaled(-sign))
        yield ConeConstraint(cone(writer.facts(step), (*gains, rest)), gains, rest)

    def _number(self, element: BasisTerm, point: Point) -> fmpq:
        """The element at a point, or what it is in proofs, rounded so that a proof holds of it."""
        if element.inner is not None:
            return element.inner.number(point, not self._context.upper)
        return rational(self._context.writer.places.number(element.value, point))

    def _goal(self, elements: Sequence[BasisTerm], there: There) -> Goal:
        """The bound at the samples and at far points, each relative to the function there."""
        context = self._context
        rows = [
            self._factors(row, value) for row, ((_, value), _) in zip(there, context.evaluation_points, strict=True)
        ]
        near, far = rows[: len(context.near)], rows[len(context.near) :]
        # Of a lower bound the entries are those of 1/factor.
        shares = [float(share if context.upper else 1 / share) for _, share in context.evaluation_points]
        watched = [[*each, share] for each, share in zip(rows, shares, strict=True)]
        mean = np.array(near[: len(context.weighed)]).mean(axis=0) if near else np.zeros(len(elements))
        if far and any(each.inner is not None for each in elements):
            # At the factor that leaves allow, nothing else determines the coefficients of products of logarithms.
            mean = mean + LATE * np.array(far).mean(axis=0)
        return Goal(mean, np.array(watched if context.values is not None else []))

    def _steadiness(self, there: There) -> Array:
        """Rows that are at most 0 where the bound is no farther off at farther points than at far ones."""
        context = self._context
        far = [
            np.array(self._factors(row, value))
            for row, (_, value) in zip(there[len(context.near) :], context.far, strict=True)
        ]
        pairs = zip(far[::2], far[1::2], strict=True)
        ends = ((beyond, near) if context.upper else (-near, -beyond) for near, beyond in pairs)
        return np.array([[*(more - less * STEADY), 0.0] for more, less in ends])

    def _factors(self, numbers: Sequence[Number], value: Fraction) -> list[float]:
        above, below = self._sign * value.denominator, value.numerator + value.denominator
        return [(n.numerator * above) / (n.denominator * below) for n in numbers]


def _has_similar_growth(one: Ratio, other: Ratio, tolerance: Fraction) -> bool:
    """Whether two growths are about the same; a constant added to a logarithm still counts at far points."""
    above, below = one[0] * other[1], other[0] * one[1]
    most, least = tolerance.as_integer_ratio()
    if above * least <= below * most and below * least <= above * most:
        return True
    return all(down < up and up * LOGARITHM.denominator <= LOGARITHM.numerator * down for up, down in (one, other))
