"""Derive the inequalities that a bound of a recursive function must satisfy, and the points at which to test it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property, partial

from archline.algebra import atoms as a
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ZERO, Poly, sum_polynomials, to_rational
from archline.algebra.prove.enumerate import prove_by_enumeration
from archline.algebra.prove.prover import prove_never_negative
from archline.expr.intervals import EvaluationError, Point
from archline.numbers import fmpq
from archline.records import record, replace
from archline.recurrences.evaluate import PointTable, ValueTable
from archline.recurrences.exact import samples
from archline.recurrences.exact.at_call import CallContext, NotComparableError, build_reference_arguments
from archline.recurrences.exact.basis import BasisTerm, iterate_signed_logarithms, multiply_terms, select_distinct_terms
from archline.recurrences.exact.halved_sizes import iterate_log_product_sets, iterate_master_terms
from archline.recurrences.exact.transitions import (
    CallRegion,
    ForeignBounds,
    Transition,
    add_call_facts,
    build_call_regions,
    build_steps,
    restrict_to_regions,
)
from archline.recurrences.model import Equation, Relation, SizeFunction, find_calls, split_value_by_call

MIN_INDUCTION_EXPONENT = 16
"""The exponent at which the induction begins; smaller ones are base cases."""
HINGE_OFFSETS = MIN_INDUCTION_EXPONENT // 4, MIN_INDUCTION_EXPONENT // 2

StepBuilder = Callable[[Equation], Sequence[Transition]]
ValueOfExponent = Callable[[int], Fraction | None]


def unroll_small_exponents(
    equation: Equation, function: SizeFunction, foreign: ForeignBounds, steps: StepBuilder, value: ValueOfExponent
) -> list[Transition]:
    """Return the steps of an equation, with one base case for each exponent below MIN_INDUCTION_EXPONENT.

    The costs of other functions can have a different form at small sizes: a transposition of 2^k elements, down to
    leaves of 16 by 16, costs about 2^k for k <= 8 and little more than that above. Bounds without maxima charge a whole
    leaf at every size; for k >= 16 the facts decide the maxima, and nothing is lost. Each smaller k is a base case of
    the induction, with the value of the recurrence. `value` evaluates the function where the exponent is a number; if
    it returns None (unknown), the steps are those of the whole equation.
    """
    exponent = _find_split_exponent(equation, function, foreign)
    low = None if exponent is None else equation.facts.bounds[exponent].minimum
    if exponent is None or low is None or low >= MIN_INDUCTION_EXPONENT:
        return list(steps(equation))
    symbol = Poly.symbol(exponent)
    transitions = []
    for number in range(low, MIN_INDUCTION_EXPONENT):
        cost = value(number)
        if cost is None:
            return list(steps(equation))
        facts = equation.facts.with_nonnegative(symbol - number).with_nonnegative(number - symbol)
        transitions.append(Transition(equation, facts, Poly.constant(to_rational(cost)), ()))
    above = replace(equation, facts=equation.facts.with_nonnegative(symbol - MIN_INDUCTION_EXPONENT))
    return [*transitions, *(replace(step, equation=equation) for step in steps(above))]


def _find_split_exponent(equation: Equation, function: SizeFunction, foreign: ForeignBounds) -> str | None:
    """Find the single exponent that calls split, if their number is constant and other functions are called too.

    None if there are several exponents or other parameters, or if a condition does not hold.
    """
    if len(function.shared_exponents) != 1 or len(function.parameters) != 1 or not equation.recursive:
        return None
    factors = {
        call: factor
        for call, factor in split_value_by_call(equation.value)[1].items()
        if call.function == function.name
    }
    if not factors or not sum_polynomials(factors.values()).is_constant:
        return None
    calls_foreign = any(call.function in foreign for call in find_calls(equation.value))
    return function.shared_exponents[0] if calls_foreign else None


def iterate_hinge_sets(function: SizeFunction, steps: Sequence[Transition]) -> Iterator[tuple[BasisTerm, ...]]:
    """Iterate over sets of terms with max(0, k - c), for functions of a single exponent k that calls split.

    max(0, k - c) is 0 at small k; if k >= 2*c, both parts of k are at least c, and their terms add up to k - 2*c.
    """
    exponents = function.shared_exponents
    inductive = [step for step in steps if step.calls]
    if len(exponents) != 1 or not inductive:
        return
    (exponent,) = exponents
    if any(step.facts.bounds[exponent].minimum != MIN_INDUCTION_EXPONENT for step in inductive):
        return
    size = BasisTerm(Poly.symbol(exponent))
    logs = list(iterate_signed_logarithms(function))
    bends = [BasisTerm(a.positive_part(size.value - bend)) for bend in HINGE_OFFSETS]
    yield select_distinct_terms(
        [BasisTerm(Poly.constant(1)), *logs, *(multiply_terms(size, log) for log in logs if log.sign), *bends]
    )


POINTS_PER_CASE = 16
LARGE_POINTS_PER_CASE = 4
MAX_EVALUATION_STEPS, MAX_FAR_EVALUATION_STEPS, MAX_VALUE_BITS = 1_500, 20_000, 400
FAR_EXPONENTS = 12, 48
"""The sizes of far points and of more distant ones, as exponents of 2."""
SHARED_FAR_EXPONENTS = 48, 1_536
"""The same where calls split the exponent of a size: log2(log2(n)) is visible only at such sizes."""
BOUND_COMPARISON_EXPONENT = 400
STEADY_RATIO = Fraction(3, 2)
SIMILAR_FACTOR_RATIO = Fraction(5, 4)
ACCEPTED_FACTOR = Fraction(32)
"""The ratio of a bound to the function at which a search ends, if the bound has the right growth."""
GOOD_FACTOR, FAIR_FACTOR = Fraction(2), Fraction(4)
"""Ratios of a bound to the function at which a search ends: GOOD for the first sets of terms, FAIR after more tries."""
MIN_FLOAT_RATIO = 1 - 1e-9
"""Factors of at least this share of the largest one, in floating point, are compared exactly."""
LEAF_FACTOR_ALLOWANCE = Fraction(3, 2)
"""The ratio by which the factor of a bound may be larger at leaves of fixed size, as their exact cost is shown."""

MAX_PROOF_EFFORT = 20_000

ValueAtPoint = tuple[Point, Fraction]
"""A point and the value of the function there."""
Coefficients = tuple[fmpq, ...]
Ratio = tuple[int, int]
"""A number as a fraction that need not be in lowest terms."""


class StepWriter:
    """Writes the gain of each basis term in each step, its value less those at the calls, in symbols; caches gains.

    `tangents`: whether a logarithm is also bounded by its tangent at the minimum size, not only at 1.
    """

    def __init__(self, function: SizeFunction, tangents: bool = False, places: PointTable | None = None) -> None:
        self._function, self._tangents = function, tangents
        self.places = PointTable() if places is None else places
        self._references = build_reference_arguments(function)
        self._callers: dict[Transition, CallContext] = {}
        self._gains: dict[tuple[Transition, BasisTerm], Poly | None] = {}
        self._forcing: dict[Transition, Poly] = {}

    def compute_gain(self, step: Transition, element: BasisTerm) -> Poly | None:
        """Return a basis term less the sum of its values at the calls of a case; None if these cannot be expressed.

        Memoised for each case and basis term. The values at calls are written in the caller's sizes.
        """
        key = step, element
        if key not in self._gains:
            try:
                self._gains[key] = (
                    self._compute_share_gain(step, element) if element.parts else self._compute_gain(step, element)
                )
            except NotComparableError:
                self._gains[key] = None
        return self._gains[key]

    def _compute_gain(self, step: Transition, element: BasisTerm) -> Poly:
        if element.leaf is not None:
            return ZERO if step.calls else element.leaf
        caller = self._get_context(step)
        gain = element.value if element.inner is None else element.inner.express_at_caller(caller)
        for factor, call in step.calls:
            gain = gain - factor * element.express_at_call(self._function, call, caller)
        return gain

    def _compute_share_gain(self, step: Transition, element: BasisTerm) -> Poly | None:
        """Return the gain of a basis term whose value at each call is at most (or at least) a known share of it.

        None if the value cannot be written in the caller's symbols.
        """
        caller, name = self._get_context(step), element.value.key
        if not step.calls:
            return caller.replace_powers(element.value)
        caller.facts = caller.facts.with_symbol(name, [ZERO])
        times = sum_polynomials(factor for factor, _ in step.calls) / element.parts
        return Poly.symbol(name) * (1 - times)

    def express_forcing(self, step: Transition) -> Poly:
        """Return the cost that the step adds to its calls, in the step's symbols."""
        if step not in self._forcing:
            self._forcing[step] = self._get_context(step).express_at_call(step.forcing, {})
        return self._forcing[step]

    def order_logarithms(self, step: Transition, value: Poly) -> Poly:
        """Replace logarithms of sizes by symbols that are ordered as the sizes are, and simplify the expression."""
        caller = self._get_context(step)
        ordered = caller.replace_logarithms(value)
        return caller.facts.simplify(ordered)

    def get_facts(self, step: Transition) -> Facts:
        """Return the facts about the step's symbols, including the symbols introduced for logarithms so far."""
        return self._get_context(step).facts

    def proves(self, step: Transition, margin: Poly) -> bool:
        """Test whether an expression in the step's symbols is proved to be at least 0."""
        caller = self._get_context(step)
        if prove_never_negative(margin, caller.facts, [prove_by_enumeration], MAX_PROOF_EFFORT):
            return True
        ordered = caller.replace_logarithms(margin)
        return ordered != margin and prove_never_negative(
            ordered, caller.facts, [prove_by_enumeration], MAX_PROOF_EFFORT
        )

    def _get_context(self, step: Transition) -> CallContext:
        if step not in self._callers:
            self._callers[step] = CallContext(step.facts, self._references, self._tangents)
        return self._callers[step]


@record(eq=False)
class ProvedBound:
    """A proved bound of a function in its recursive cases, with the largest factors between the two that were measured.

    `near` is the largest factor at samples, `far` at far points; `steady`: it is not larger at more distant points.
    `steps` are the steps of the proof; those in `equal` hold with equality. `proved`: the expression that the steps
    prove, if the value is that expression rounded to the safe side.
    """

    value: Poly
    near: Fraction
    far: Fraction
    steady: bool
    steps: tuple[Transition, ...] = ()
    equal: frozenset[Transition] = frozenset()
    proved: Poly | None = None

    @property
    def factor(self) -> Fraction:
        """The larger of the two factors."""
        return max(self.near, self.far)

    def is_better(self, rival: ProvedBound | None) -> bool:
        """Test whether the bound is sharper than `rival`: at all points, or at far ones if the factors are similar."""
        if rival is None or self.steady != rival.steady:
            return rival is None or self.steady
        is_similar = (
            self.factor <= SIMILAR_FACTOR_RATIO * rival.factor and rival.factor <= SIMILAR_FACTOR_RATIO * self.factor
        )
        return (self.far, self.near) < (rival.far, rival.near) if is_similar else self.factor < rival.factor


class InductionProblem:
    """The inequalities for an upper or a lower bound of one function, and the points at which bounds are measured.

    A bound U must satisfy U(x) >= f(x) + sum of factor*U over the calls (<= for a lower one) in every step. Base cases
    need it only at sizes that calls reach, unless `everywhere`: at other sizes the function has the value of the case.
    Raises NotComparableError.
    """

    def __init__(
        self,
        function: SizeFunction,
        upper: bool,
        foreign: ForeignBounds,
        values: ValueTable | None,
        everywhere: bool = False,
        target: Fraction = ACCEPTED_FACTOR,
        places: PointTable | None = None,
    ) -> None:
        self.function, self.upper, self.target = function, upper, target
        self.values = values
        self._everywhere = everywhere
        inside: dict[Equation, Point] = {}
        for equation, point in samples.sample_points(function, LARGE_POINTS_PER_CASE, 1):
            inside.setdefault(equation, point)
        sizes = {
            equation: self._make_magnitude_ranker(equation, inside.get(equation)) for equation in function.equations
        }
        steps = [
            step
            for equation, size in sizes.items()
            for step in unroll_small_exponents(
                equation,
                function,
                foreign,
                partial(build_steps, function, upper=upper, prefer=size, foreign=foreign),
                self._evaluate_at_exponent,
            )
        ]
        steps = [add_call_facts(step, function) for step in steps]
        self.regions = build_call_regions(function, steps)
        if everywhere:
            self.regions = (CallRegion({}),)
        self.steps = [transition for step in steps for transition in restrict_to_regions(step, self.regions)]
        # Proofs with logarithms in the costs of other functions need tangents; without values, simple terms are tried.
        self.writer = StepWriter(function, upper and values is not None, places)
        self.weighed: list[ValueAtPoint] = []
        self.near: list[tuple[ValueAtPoint, Fraction]] = []
        """The near points at which bounds are measured, each with the factor allowed there relative to other points."""
        self._evaluate_samples()

    def _make_magnitude_ranker(self, equation: Equation, point: Point | None) -> Callable[[Poly], tuple[Fraction, str]]:
        """Return a function that ranks values by magnitude at a large point; a call counts as the sum of its sizes."""

        def estimate_size(value: Poly) -> tuple[Fraction, str]:
            if point is None:
                return Fraction(0), value.key
            full_point = samples.add_minimum_data(equation.data, equation.facts, point)
            try:
                return evaluate(value, full_point, lambda _, arguments: sum(arguments, fmpq(0))), value.key
            except EvaluationError:
                return Fraction(0), value.key

        return estimate_size

    def list_forcings(self) -> tuple[list[Poly], list[Poly]]:
        """Return the forcings of recursive steps, and those of base cases."""
        inner = [step.forcing for step in self.steps if step.calls]
        return inner, [step.forcing for step in self.steps if not step.calls]

    def select_expressible(self, elements: Sequence[BasisTerm]) -> tuple[BasisTerm, ...]:
        """Return the basis terms that can be written in the caller's sizes at each recursive call."""
        return tuple(
            term for term in elements if all(self.writer.compute_gain(s, term) is not None for s in self.steps)
        )

    def _evaluate_samples(self) -> None:
        shares = {equation: self._allowed_factor(equation) for equation in self.function.equations}
        for equation, point in samples.sample_points(self.function, POINTS_PER_CASE):
            value = self._evaluate_function(point)
            if value is None or not (equation.recursive or any(region.contains(point) for region in self.regions)):
                continue
            self.weighed.append((point, value))
            self.near.append(((point, value), shares[equation]))
        for place in samples.iterate_points_near_leaves(self.function):
            if (value := self._evaluate_function(place)) is not None:
                self.near.append(((place, value), Fraction(1)))

    def _allowed_factor(self, equation: Equation) -> Fraction:
        """Return the ratio by which a bound's factor may be larger than elsewhere where the equation applies."""
        bounds = equation.facts.bounds
        fixed = all(name in bounds and bounds[name].maximum is not None for name in self.function.parameters)
        # The error of the bound of one group of cases recurs in the bounds of cases that call it.
        is_leaf = fixed and not (self._everywhere or equation.recursive or self.target < ACCEPTED_FACTOR)
        return LEAF_FACTOR_ALLOWANCE if is_leaf else Fraction(1)

    @cached_property
    def far_point_pairs(self) -> list[tuple[ValueAtPoint, ValueAtPoint]]:
        """Pairs of far points in the same direction, the second more distant, with the function's values if known."""
        if self.values is None:
            return []
        pairs = []
        # For n^a*m^b equal sizes determine only a + b, and sizes that one case bounds are not directions; for
        # log2(n)*log2(min(n, m)), points with the smallest m determine what halving n adds.
        is_uneven = len(self.function.sizes) > 1 and (
            self.target < ACCEPTED_FACTOR
            or any(iterate_master_terms(self.function, self.steps, self.upper))
            or any(iterate_log_product_sets(self.function, self.steps))
        )
        for exponents in (FAR_EXPONENTS, SHARED_FAR_EXPONENTS) if self.function.shared_exponents else (FAR_EXPONENTS,):
            far_points = (
                samples.iterate_points_of_magnitude(
                    self.function, exponent, (None, 0, exponent // 2) if is_uneven else (None,)
                )
                for exponent in exponents
            )
            for ends in zip(*far_points, strict=True):
                # If the near end has no value, evaluation took long there, and would at the other end.
                if (far := self._pair_with_value(ends[0])) is not None and (
                    farther := self._pair_with_value(ends[1])
                ) is not None:
                    pairs.append((far, farther))
        return pairs

    def _pair_with_value(self, point: Point | None) -> ValueAtPoint | None:
        """Return a far point with the value of the function; None if either is missing."""
        value = None if point is None else self._evaluate_function(point, MAX_FAR_EVALUATION_STEPS)
        return None if point is None or value is None else (point, value)

    @cached_property
    def far_growths(self) -> list[tuple[Point, Point, Fraction]]:
        """The growth factor of the function from each far point to the more distant one, with 1 added to values."""
        return [(far, farther, (after + 1) / (before + 1)) for (far, before), (farther, after) in self.far_point_pairs]

    def _evaluate_function(self, point: Point, most: int = MAX_EVALUATION_STEPS) -> Fraction | None:
        """Evaluate the function at a point; 1 if values are unavailable, None if it has none or a huge one there.

        `most` limits the steps of the evaluation.
        """
        if self.values is None:
            return Fraction(1)
        sizes = {name: int(point[name]) for name in self.function.parameters}
        try:
            value = self.values.evaluate_at(self.function.name, sizes, most)
        except EvaluationError:
            return None
        return value if value.numerator.bit_length() <= MAX_VALUE_BITS else None

    def _evaluate_at_exponent(self, number: int) -> Fraction | None:
        """Evaluate the function where its exponent is `number`; None if the value is unknown."""
        if self.values is None:
            return None
        return self._evaluate_function(self.add_sizes_to_point(dict.fromkeys(self.function.shared_exponents, number)))

    def add_sizes_to_point(self, point: dict[str, int]) -> Point:
        """Add the values of the sizes to a point that has those of the symbols in which they are expressed."""
        facts = self.function.facts
        sizes = {name: evaluate(facts.rewrite_symbol(name), point) for name in self.function.parameters}
        return {**point, **{name: int(value) for name, value in sizes.items()}}

    @cached_property
    def evaluation_points(self) -> list[tuple[ValueAtPoint, Fraction]]:
        """The points at which bounds are measured, near ones first, each with the factor allowed there."""
        return [*self.near, *((value_at_point, Fraction(1)) for value_at_point in self.far_values)]

    def measure_bound(self, value: Poly, values: Sequence[Ratio] | None = None) -> ProvedBound:
        """Return a proved bound with its measured factors; if the function's values are unknown, it is not steady.

        `values` are those of the bound at the points of measurement, computed if not given.
        """
        if self.values is None:
            return ProvedBound(value, Fraction(0), self._measure_very_far_magnitude(value), False, tuple(self.steps))
        if values is None:
            numbers = (self.writer.places.evaluate(value, point) for (point, _), _ in self.evaluation_points)
            values = [(number.numerator, number.denominator) for number in numbers]
        ratios = [
            self._compute_factor(ratio, real)
            for ratio, ((_, real), _) in zip(values, self.evaluation_points, strict=True)
        ]
        near, far = ratios[: len(self.near)], ratios[len(self.near) :]
        steady = all(map(_is_steady, far[::2], far[1::2]))
        shared = [
            (above * share.denominator, below * share.numerator)
            for (above, below), (_, share) in zip(near, self.near, strict=True)
        ]
        return ProvedBound(
            value, _compute_largest_factor(shared), _compute_largest_factor(far), steady, tuple(self.steps)
        )

    @cached_property
    def very_far_points(self) -> list[Point]:
        """The points with very large sizes at which bounds are compared if values of the function are unknown."""
        return [
            point
            for point in samples.iterate_points_of_magnitude(self.function, BOUND_COMPARISON_EXPONENT, (0,))
            if point is not None
        ]

    def _measure_very_far_magnitude(self, value: Poly) -> Fraction:
        """Return the largest value of an upper bound at very large sizes, or the largest 1/value of a lower bound."""
        sizes = [
            max(evaluate(value, point), Fraction(1, 1 << BOUND_COMPARISON_EXPONENT)) for point in self.very_far_points
        ]
        return max((size if self.upper else 1 / size for size in sizes), default=Fraction(1))

    @property
    def far_values(self) -> list[ValueAtPoint]:
        """All far points with the value of the function; none if values are unknown."""
        return [value_at_point for pair in self.far_point_pairs for value_at_point in pair]

    def _compute_factor(self, bound_ratio: Ratio, value: Fraction) -> Ratio:
        """Return the factor between the value of a bound and that of the function, 1 added to both: at least 1."""
        number, below = bound_ratio
        denominator = value.denominator
        above, function_above = number + below, value.numerator + denominator
        if self.upper:
            return above * denominator, below * function_above
        if 4 * above < below:
            above, below = 1, 4
        return function_above * below, denominator * above


def _is_steady(far: Ratio, farther: Ratio) -> bool:
    """Test whether the factor at a more distant point is about that at the far point, or smaller."""
    low, high = (max(ratio) for ratio in (far, farther))
    return high * far[1] * STEADY_RATIO.denominator <= STEADY_RATIO.numerator * low * farther[1]


def _compute_largest_factor(ratios: Sequence[Ratio]) -> Fraction:
    """Return the largest of the factors and 1; candidates are selected in floating point."""
    try:
        rough = [above / below for above, below in ratios]
    except OverflowError:
        rough = [0.0] * len(ratios)
    most = max(rough, default=0.0)
    largest = (Fraction(*ratio) for ratio, about in zip(ratios, rough, strict=True) if about >= most * MIN_FLOAT_RATIO)
    return max((Fraction(1), *largest))


@record(eq=False)
class InductionProof:
    """A proof that a function equals or is bounded by `value`: by induction with `steps`, or for the `reason`.

    The steps in `equal` hold with equality if the function has the value. `where` restricts the proof to some cases.
    """

    relation: Relation
    value: Poly
    steps: tuple[Transition, ...] = ()
    equal: frozenset[Transition] = frozenset()
    reason: str = ""
    where: str = ""

    @staticmethod
    def from_bound(relation: Relation, bound: ProvedBound, where: str = "") -> InductionProof:
        """Convert the bound that a search found to a proof. `where` is the condition under which it holds, as text."""
        value = bound.value if bound.proved is None else bound.proved
        return InductionProof(relation, value, bound.steps, bound.equal, where=where)
