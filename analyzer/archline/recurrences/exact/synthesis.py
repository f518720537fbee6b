"""Find bounds together with proofs: coefficients for which the margin of every step is a sum of products of facts.

The margin of a step is linear in the coefficients of the bound, and a sum of products of the step's facts with weights
>= 0 is linear in the weights. So one linear program gives the best bound with the basis terms of a set that has such a
proof (as in J. Hoffmann, K. Aehlig, M. Hofmann, Multivariate amortized resource analysis, TOPLAS 2012). It is solved
in floating point; short coefficients near the solution are then proved exactly.
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

from archline.algebra.effort import LazyList, OutOfBudgetError, limit_effort
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.evaluate.vectors import Array, as_float
from archline.algebra.polynomial import Poly, Symbol, linear_combination, to_rational
from archline.algebra.prove.enumerate import list_allowed_points
from archline.algebra.prove.handelman import (
    ConeConstraint,
    Goal,
    ProductCone,
    Proposal,
    build_cone,
    propose_coefficients,
    round_to_fractions,
)
from archline.expr.intervals import EvaluationError, Number, Point
from archline.numbers import fmpq
from archline.recurrences.exact import leaves
from archline.recurrences.exact.basis import (
    BasisTerm,
    iterate_basis_sets,
    iterate_logarithm_sets,
    iterate_path_cost_sets,
    iterate_signed_sets,
    select_distinct_terms,
)
from archline.recurrences.exact.constraints import (
    ACCEPTED_FACTOR,
    FAIR_FACTOR,
    FAR_EXPONENTS,
    GOOD_FACTOR,
    SIMILAR_FACTOR_RATIO,
    Coefficients,
    InductionProblem,
    ProvedBound,
    Ratio,
    iterate_hinge_sets,
)
from archline.recurrences.exact.halved_sizes import (
    build_depth_terms,
    has_single_calls,
    iterate_log_product_sets,
    iterate_master_terms,
    iterate_uneven_split_sets,
)
from archline.recurrences.exact.transitions import Transition

FLOAT_TOLERANCE = 1 + 1e-6
"""The ratio by which a floating-point factor may exceed the exact one."""


def find_best_proved(
    short: Sequence[Coefficients],
    largest: Array,
    bound: Callable[[Coefficients], ProvedBound],
    proved: Callable[[Coefficients], bool],
    accepted: Callable[[ProvedBound], bool],
    most: Fraction,
) -> ProvedBound | None:
    """Return the best proved bound among several vectors of coefficients (`short`, the shortest ones first).

    It is that of the first coefficients that are near enough (`accepted`, with a factor of at most `most`) and proved,
    unless shorter ones before them make a better bound; if none are near enough, the best of all. `largest` are the
    factors in floating point, by which few proofs are needed, as these take long; none is computed twice. None if none
    is proved.
    """
    # The caches are by index: coefficients take long to hash.
    bound_at, is_proved = cache(lambda index: bound(short[index])), cache(lambda index: proved(short[index]))

    def is_worse(index: int, other: ProvedBound) -> bool:
        """Test whether the bound with this index is certainly far worse than `other`."""
        return other.steady and bool(largest[index] > float(SIMILAR_FACTOR_RATIO * other.factor) * FLOAT_TOLERANCE)

    indices, near = range(len(short)), largest <= float(most) * FLOAT_TOLERANCE
    first = next((index for index in indices if near[index] and accepted(bound_at(index)) and is_proved(index)), None)
    if first is not None:
        last = bound_at(first)
        if not any(not is_worse(i, last) and not last.is_better(bound_at(i)) and is_proved(i) for i in range(first)):
            return last
    best: ProvedBound | None = None
    for index in indices if first is None else range(first + 1):
        if best is not None and is_worse(index, best):
            continue
        if bound_at(index).is_better(best) and is_proved(index):
            best = bound_at(index)
    return best


MIN_SETS_TRIED = 4
MAX_TERMS_LEFT_OUT, MAX_PRODUCTS_TO_SHORTEN = 8, 3_000
"""The maximum number of terms to leave out of a bound, and of products of facts for which this takes little time."""
MAX_PRODUCTS_FOR_GOOD, MAX_PRODUCTS_FOR_FAIR = 200, 4_000
"""The numbers of products of facts tried up to which the search goes on for a good bound, and for a fair one."""
MAX_SETS_OF_OTHER_GROWTH = 7
"""The maximum number of sets to try whose terms all grow differently from the function."""
MAX_EFFORT = 2_000_000
SIMILAR_GROWTH_RATIO, ROUGH_GROWTH_RATIO = Fraction(3, 2), Fraction(3)
LOGARITHM_GROWTH = Fraction(FAR_EXPONENTS[1], FAR_EXPONENTS[0])
"""The growth of a logarithm from far points to farther ones."""
MAX_STEADY_RATIO = 1.4
"""The ratio of the factors at farther and far points that linear programs require; a little more counts as steady."""
FACTOR_SLACK = Fraction(21, 20)
"""The ratio by which the factor may be larger with shorter coefficients."""
LARGE_FACTOR, LARGE_FACTOR_SLACK = Fraction(3), Fraction(101, 100)
"""If the factor is above the first number, it may be larger by the second, smaller ratio only."""
MAX_FAR_FACTOR_OF_PRODUCTS = Fraction(5, 4)
"""The factor at far points at which a lower bound of products of sizes alone is near enough."""
MAX_CONSTRAINED_POINTS = 40
"""The number of points of a base case up to which each point has a constraint."""
CONSTANT_CONE = ProductCone((), 0)
FAR_POINT_WEIGHT = 10
"""The weight of far points relative to near ones for products of logarithms, which grow slowly."""
MAX_DENOMINATOR = 1_000_000
"""The largest denominator of coefficients of the linear program, with which shorter ones are compared."""


ElementValues = Sequence[Sequence[Number]]
"""The values of the basis terms: a row for each point of measurement."""


class Synthesis:
    """Searches for bounds of one function with proofs, by one linear program for each set of basis terms."""

    def __init__(self, context: InductionProblem, capped: bool = True) -> None:
        self._context = context
        self._caps = capped and context.values is not None
        self._sign = 1 if context.upper else -1
        self._tried = 0
        # Several searches begin with the same sets.
        self._leaf_sets, self._plain_sets = LazyList(self._iterate_leaf_sets()), LazyList(self._iterate_general_sets())

    def search_signed_sets(self) -> ProvedBound | None:
        """Return a proved bound from sets with few logarithms: the first with a good factor, else the best of all.

        None if none is proved.
        """
        other_sets: list[tuple[BasisTerm, ...]] = []
        bound = self._try_size_products()
        return (
            bound
            or self._search_best(self._iterate_matching_sets(other_sets))
            or self._search_best(map(self._context.select_expressible, other_sets))
        )

    def search_basis_sets(self) -> ProvedBound | None:
        """Return the best proved bound with the basis terms of exact forms. None if none is proved."""
        context = self._context
        # For sizes that the data selects there are terms of the depth of the calls alone.
        depths = iterate_path_cost_sets(context.function) if context.upper and context.values is None else ()
        sets = chain(
            (tuple(map(BasisTerm, values)) for values in depths),
            iterate_basis_sets(context.function, *context.list_forcings()),
        )
        return self._search_best(map(context.select_expressible, sets))

    def _search_best(self, sets: Iterable[tuple[BasisTerm, ...]]) -> ProvedBound | None:
        best: ProvedBound | None = None
        for index, elements in enumerate(sets):
            bound = self._search_within_effort(elements)
            if bound is not None and bound.is_better(best):
                best = bound
            if best is not None and self._is_good_enough(best, index):
                break
        return best

    def _iterate_matching_sets(self, others: list[tuple[BasisTerm, ...]]) -> Iterator[tuple[BasisTerm, ...]]:
        """Iterate over distinct sets in which, for each direction, some term grows as the function does.

        Terms that cannot be expressed at the sizes of calls are dropped. The first general sets without such terms are
        added to `others`.
        """
        tried: set[tuple[BasisTerm, ...]] = set()
        plain = 0
        for elements, tolerance in self._iterate_sets():
            plain += tolerance == SIMILAR_GROWTH_RATIO
            if self._can_match_growth(elements, tolerance):
                yield from self._iterate_new_expressible(elements, tolerance, tried)
            elif tolerance == SIMILAR_GROWTH_RATIO and plain <= MAX_SETS_OF_OTHER_GROWTH:
                others.append(elements)

    def _iterate_sets(self) -> Iterator[tuple[tuple[BasisTerm, ...], Fraction]]:
        """Iterate over all sets, each with the ratio by which its growth may differ from that of the function."""
        context = self._context
        yield from ((elements, SIMILAR_GROWTH_RATIO) for elements in self._iterate_special_sets())
        yield from ((elements, ROUGH_GROWTH_RATIO) for elements in iterate_hinge_sets(context.function, context.steps))
        product_sets = [] if context.values is None else list(iterate_log_product_sets(context.function, context.steps))
        # Products of logarithms dominate other terms only at large sizes, and terms of levels above leaves grow faster.
        for elements in product_sets:
            yield elements, ROUGH_GROWTH_RATIO
            yield from ((richer, ROUGH_GROWTH_RATIO) for richer in self._extend_with_leaf_terms(elements))
        if not product_sets:
            yield from ((elements, ROUGH_GROWTH_RATIO) for elements in self._leaf_sets)
        yield from ((elements, SIMILAR_GROWTH_RATIO) for elements in self._plain_sets)

    def _iterate_new_expressible(
        self, elements: tuple[BasisTerm, ...], tolerance: Fraction, seen: set[tuple[BasisTerm, ...]]
    ) -> Iterator[tuple[BasisTerm, ...]]:
        """Yield, as a tuple, the terms of `elements` that can be written in the caller's sizes at each recursive call.

        Nothing if that tuple is in `seen`, to which it is added, or if it cannot grow as the function does up to a
        ratio of `tolerance`.
        """
        written = self._context.select_expressible(elements)
        if written not in seen and self._can_match_growth(written, tolerance):
            seen.add(written)
            yield written

    def _is_good_enough(self, best: ProvedBound, index: int) -> bool:
        if self._context.values is None:
            # The factor is unknown; richer terms seldom improve an upper bound of simple ones.
            return self._context.upper or index >= MIN_SETS_TRIED
        if not best.steady:
            return False
        if not self._context.far_values:
            return best.factor <= (GOOD_FACTOR if index < MIN_SETS_TRIED else FAIR_FACTOR)
        # Richer sets take long and seldom improve a bound of the right growth much.
        patience = (
            GOOD_FACTOR
            if self._tried <= MAX_PRODUCTS_FOR_GOOD
            else FAIR_FACTOR
            if self._tried <= MAX_PRODUCTS_FOR_FAIR
            else self._context.target
        )
        return best.factor <= min(patience, self._context.target)

    def _can_match_growth(self, elements: Sequence[BasisTerm], tolerance: Fraction) -> bool:
        """Test whether in every direction a basis term grows as the function does, up to a ratio of `tolerance`."""
        number = self._context.writer.places.evaluate

        def is_similar(element: BasisTerm, far: Point, farther: Point, growth: Fraction) -> bool:
            before, after = number(element.value, far), number(element.value, farther)
            if before <= 0:
                return False
            # Comparing integers is much faster than comparing fractions.
            ratio = after.numerator * before.denominator, after.denominator * before.numerator
            return _has_similar_growth(ratio, growth.as_integer_ratio(), tolerance)

        return all(
            any(is_similar(element, far, farther, growth) for element in elements)
            for far, farther, growth in self._context.far_growths
        )

    def _iterate_special_sets(self) -> Iterator[tuple[BasisTerm, ...]]:
        """Iterate over sets for calls that do not halve all sizes, and for single calls."""
        context = self._context
        yield from iterate_uneven_split_sets(context.function, context.steps, context.upper)
        if (
            context.upper
            and context.values is None
            and has_single_calls([step for step in context.steps if step.calls])
        ):
            # As the growth is unknown, the first bound is taken.
            yield from iterate_logarithm_sets(context.function)

    def _iterate_leaf_sets(self) -> Iterator[tuple[BasisTerm, ...]]:
        """Iterate over sets with terms for leaves of fixed size; none for groups of cases: simple bounds suffice."""
        context = self._context
        if self._caps and context.target == ACCEPTED_FACTOR:
            yield from leaves.iterate_leaf_term_sets(context.function, context.steps, context.upper)

    def _extend_with_leaf_terms(self, elements: tuple[BasisTerm, ...]) -> Iterator[tuple[BasisTerm, ...]]:
        """Yield the set with the first terms for leaves of fixed size, if any; in upper bounds also halving counts."""
        context = self._context
        # In a lower bound, halvings of the opposite sign would hide the growth of logarithms.
        counts = leaves.build_halving_terms(context.function, context.steps) if context.upper else []
        for terms in islice(self._leaf_sets, 1):
            yield select_distinct_terms([*elements, *terms, *counts])

    def _iterate_general_sets(self) -> Iterator[tuple[BasisTerm, ...]]:
        """Iterate over sets of basis terms for any recursion, simple ones first."""
        context = self._context
        powers = tuple(iterate_master_terms(context.function, context.steps, context.upper))
        depths = build_depth_terms(context.function, context.steps)
        for index, elements in enumerate(iterate_signed_sets(context.function, *context.list_forcings())):
            if depths and not index:
                yield (*elements, *depths)
            yield elements
            if powers and not index:
                yield (*elements, *powers)

    def _try_size_products(self) -> ProvedBound | None:
        """Return a lower bound of products of sizes if it is near the function; it takes less time than leaf terms.

        None for upper bounds: these count more and larger leaves than there are, so that they are seldom near.
        """
        if self._context.upper or next(iter(self._leaf_sets), None) is None:
            return None
        products = (
            terms
            for terms in self._plain_sets
            if all(isinstance(x, Symbol) for term in terms for x in term.value.atoms())
        )
        matching = next(
            (elements for elements in products if self._can_match_growth(elements, SIMILAR_GROWTH_RATIO)), None
        )
        bound = None if matching is None else self._search_within_effort(self._context.select_expressible(matching))
        near = (
            bound is not None and bound.steady and bound.far <= MAX_FAR_FACTOR_OF_PRODUCTS and bound.near <= GOOD_FACTOR
        )
        return bound if near else None

    def _search_within_effort(self, elements: Sequence[BasisTerm]) -> ProvedBound | None:
        try:
            with limit_effort(MAX_EFFORT, own=True):
                return self._search_coefficients(elements)
        except (OutOfBudgetError, OverflowError, EvaluationError):
            return None

    def _search_coefficients(self, elements: Sequence[BasisTerm]) -> ProvedBound | None:
        parts = [part for step in self._context.steps for part in self._iterate_constraints(step, elements)]
        signs = [self._sign * element.sign for element in elements]
        products = sum(len(part.cone.products) for part in parts)
        self._tried += products
        values = self._context.writer.places.evaluate_at_points(
            [element.value for element in elements], [point for (point, _), _ in self._context.evaluation_points]
        )
        goal = self._build_goal(elements, values)
        proposal = self._propose_coefficients(
            parts, values, (goal, signs), MAX_TERMS_LEFT_OUT if products <= MAX_PRODUCTS_TO_SHORTEN else 0
        )
        if proposal is None:
            return None
        context = self._context
        near = self._measure_proposal(elements, values, proposal)
        target = near * (FACTOR_SLACK if near <= LARGE_FACTOR else LARGE_FACTOR_SLACK)
        weighted_parts = list(zip(parts, proposal.weights, strict=True))
        short = tuple(round_to_fractions(proposal.coefficients.tolist(), self._sign))
        return find_best_proved(
            short,
            self._compute_largest_factors(goal, short),
            lambda coefficients: self._build_bound(elements, values, coefficients),
            lambda coefficients: self._is_proved(weighted_parts, elements, coefficients),
            lambda bound: bound.factor <= target and (bound.steady or not context.far_values),
            target,
        )

    def _compute_largest_factors(self, goal: Goal, short: Sequence[Coefficients]) -> Array:
        """Return the largest factor of the bound for each vector of coefficients in `short`, in floating point."""
        context = self._context
        if not len(goal.watched):
            return np.zeros(len(short))
        numbers = np.array([[as_float(coefficient) for coefficient in coefficients] for coefficients in short])
        inverses = np.array([1 / float(value + 1) for (_, value), _ in context.evaluation_points])[:, None]
        shares = self._sign * goal.watched[:, :-1] @ numbers.T + inverses
        factors = shares if context.upper else 1 / np.maximum(shares, inverses / 4)
        largest: Array = (factors / np.array([float(share) for _, share in context.evaluation_points])[:, None]).max(
            axis=0
        )
        return largest

    def _measure_proposal(
        self, elements: Sequence[BasisTerm], element_values: ElementValues, proposal: Proposal
    ) -> Fraction:
        """Return the factor of the proposed coefficients, measured exactly if that is smaller."""
        exact = tuple(
            to_rational(Fraction(real).limit_denominator(MAX_DENOMINATOR)) for real in proposal.coefficients.tolist()
        )
        return min(proposal.factor, self._measure_bound(elements, element_values, exact).factor)

    def _propose_coefficients(
        self,
        parts: Sequence[ConeConstraint],
        element_values: ElementValues,
        goal_and_signs: tuple[Goal, Sequence[int]],
        max_left_out: int,
    ) -> Proposal | None:
        """Propose coefficients of the best steady bound if its factor is accepted, else those of the best bound.

        None if no bound exists.
        """
        goal, signs = goal_and_signs
        if self._context.far_point_pairs:
            steady = Goal(goal.mean, np.vstack([goal.watched, self._build_steadiness_rows(element_values)]))
            proposal = propose_coefficients(parts, steady, signs, max_left_out)
            if proposal is not None and proposal.factor <= ACCEPTED_FACTOR:
                return proposal
        return propose_coefficients(parts, goal, signs, max_left_out)

    def _is_proved(
        self, parts: list[tuple[ConeConstraint, Array]], elements: Sequence[BasisTerm], coefficients: Coefficients
    ) -> bool:
        """Test whether all constraints are proved, with weights near those given; a failed one moves to the front.

        A constraint that fails with some coefficients mostly fails with others.
        """
        pairs = zip(elements, coefficients, strict=True)
        if any(element.inner is not None and self._sign * element.sign * number < 0 for element, number in pairs):
            # A proof term that replaces its element needs a coefficient of its sign.
            return False
        for index, (part, weights) in enumerate(parts):
            if not part.cone.proves(linear_combination(part.gains, coefficients, part.rest), weights):
                parts.insert(0, parts.pop(index))
                return False
        return True

    def _measure_bound(
        self, elements: Sequence[BasisTerm], element_values: ElementValues, coefficients: Coefficients
    ) -> ProvedBound:
        """Return the bound with these coefficients and its factors, computed from the values of its basis terms."""
        scale = math.lcm(*(int(coefficient.q) for coefficient in coefficients))
        whole = [int((coefficient * scale).p) for coefficient in coefficients]
        numbers = (sum(map(mul, whole, row)) for row in element_values)
        ratios = [(number.numerator, number.denominator * scale) for number in numbers]
        return self._context.measure_bound(
            linear_combination([element.value for element in elements], coefficients), ratios
        )

    def _build_bound(
        self, elements: Sequence[BasisTerm], element_values: ElementValues, coefficients: Coefficients
    ) -> ProvedBound:
        bound = self._measure_bound(elements, element_values, coefficients)
        if all(element.inner is None for element in elements):
            return bound
        proved = [element.value if element.inner is None else element.inner.value for element in elements]
        return replace(bound, proved=linear_combination(proved, coefficients))

    def _iterate_constraints(self, step: Transition, elements: Sequence[BasisTerm]) -> Iterator[ConeConstraint]:
        writer, sign = self._context.writer, self._sign
        function = self._context.function
        sizes = frozenset(function.shared_exponents or function.least)
        small_points = (
            None if step.calls or step.data else list_allowed_points(step.facts, sizes, MAX_CONSTRAINED_POINTS)
        )
        if small_points is not None:
            # One constraint for each point: all terms have exact values there.
            for point in small_points:
                numbers = [Poly.constant(sign * self._evaluate_for_proof(element, point)) for element in elements]
                rest = Poly.constant(to_rational(-sign * evaluate(writer.express_forcing(step), point)))
                yield ConeConstraint(CONSTANT_CONE, tuple(numbers), rest)
            return
        element_gains = [writer.compute_gain(step, element) for element in elements]
        gains = tuple(writer.order_logarithms(step, gain.scaled(sign)) for gain in element_gains if gain is not None)
        rest = writer.order_logarithms(step, writer.express_forcing(step).scaled(-sign))
        yield ConeConstraint(build_cone(writer.get_facts(step), (*gains, rest)), gains, rest)

    def _evaluate_for_proof(self, element: BasisTerm, point: Point) -> fmpq:
        """Return the value of a basis term's proof term at a point, rounded to the safe side."""
        if element.inner is not None:
            return element.inner.bound_value(point, not self._context.upper)
        return to_rational(self._context.writer.places.evaluate(element.value, point))

    def _build_goal(self, elements: Sequence[BasisTerm], element_values: ElementValues) -> Goal:
        """Return the goal: rows that give the ratio of the bound to the function at samples and at far points."""
        context = self._context
        rows = [
            self._build_factor_row(row, value)
            for row, ((_, value), _) in zip(element_values, context.evaluation_points, strict=True)
        ]
        near, far = rows[: len(context.near)], rows[len(context.near) :]
        # For a lower bound the entries are those of 1/factor.
        shares = [float(share if context.upper else 1 / share) for _, share in context.evaluation_points]
        watched = [[*row, share] for row, share in zip(rows, shares, strict=True)]
        mean = np.array(near[: len(context.weighed)]).mean(axis=0) if near else np.zeros(len(elements))
        if far and any(element.inner is not None for element in elements):
            # At leaves larger factors are allowed, so that only far points determine products of logarithms.
            mean = mean + FAR_POINT_WEIGHT * np.array(far).mean(axis=0)
        return Goal(mean, np.array(watched if context.values is not None else []))

    def _build_steadiness_rows(self, element_values: ElementValues) -> Array:
        """Return rows that are at most 0 if the bound is about as tight at more distant points as at far ones."""
        context = self._context
        far = [
            np.array(self._build_factor_row(row, value))
            for row, (_, value) in zip(element_values[len(context.near) :], context.far_values, strict=True)
        ]
        pairs = zip(far[::2], far[1::2], strict=True)
        ends = ((farther_row, far_row) if context.upper else (-far_row, -farther_row) for far_row, farther_row in pairs)
        return np.array([[*(larger - smaller * MAX_STEADY_RATIO), 0.0] for larger, smaller in ends])

    def _build_factor_row(self, numbers: Sequence[Number], value: Fraction) -> list[float]:
        above, below = self._sign * value.denominator, value.numerator + value.denominator
        return [(n.numerator * above) / (n.denominator * below) for n in numbers]


def _has_similar_growth(growth: Ratio, expected: Ratio, tolerance: Fraction) -> bool:
    """Test whether two growths are equal up to a ratio of `tolerance`, or both those of a logarithm plus a constant."""
    above, below = growth[0] * expected[1], expected[0] * growth[1]
    most, least = tolerance.as_integer_ratio()
    if above * least <= below * most and below * least <= above * most:
        return True
    return all(
        y < x and x * LOGARITHM_GROWTH.denominator <= LOGARITHM_GROWTH.numerator * y for x, y in (growth, expected)
    )
