"""The inequalities that a bound of a recursive function must satisfy, and where to look at them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property, partial

from archline.algebra import atoms as a
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ZERO, Poly, rational, total
from archline.algebra.prove.enumerate import by_enumeration
from archline.algebra.prove.prover import never_negative
from archline.expr.intervals import EvaluationError
from archline.numbers import fmpq
from archline.records import record, replace
from archline.recurrences.evaluate import Point, PointTable, ValueTable
from archline.recurrences.exact import samples
from archline.recurrences.exact.at_call import CallContext, NotComparableError, log_references
from archline.recurrences.exact.basis import BasisTerm, distinct, signed_logarithms, times
from archline.recurrences.exact.halved_sizes import log_product_terms, master_terms
from archline.recurrences.exact.transitions import (
    Foreign,
    Region,
    Transition,
    call_regions,
    reached_transitions,
    steps_of,
    with_call_facts,
)
from archline.recurrences.model import Equation, Relation, SizeFunction, by_call, calls

START = 16
"""The least exponent of the induction."""
BENDS = START // 4, START // 2

Steps = Callable[[Equation], Sequence[Transition]]
Value = Callable[[int], Fraction | None]


def unroll_small_exponents(
    equation: Equation, function: SizeFunction, foreign: Foreign, steps: Steps, value: Value
) -> list[Transition]:
    """The steps of an equation, with the exponents below START apart where others are called.

    What others cost has a form of its own at small sizes: a transposition of 2^k elements, down to leaves of 16 by 16,
    costs about 2^k for k <= 8 and little more than that from there on. Bounds without maxima charge a whole leaf at
    every size; where k is at least 16 the maxima are decided, and nothing is lost. Below that each k is a leaf of the
    induction, with the recurrence's own value.
    `value` is the function where the exponent is a number, None where that is not known.
    """
    exponent = _exponent(equation, function, foreign)
    low = None if exponent is None else equation.facts.bounds[exponent].least
    if exponent is None or low is None or low >= START:
        return list(steps(equation))
    symbol = Poly.symbol(exponent)
    found = []
    for number in range(low, START):
        known = value(number)
        if known is None:
            return list(steps(equation))
        facts = equation.facts.with_nonnegative(symbol - number).with_nonnegative(number - symbol)
        found.append(Transition(equation, facts, Poly.constant(rational(known)), ()))
    above = replace(equation, facts=equation.facts.with_nonnegative(symbol - START))
    return [*found, *(replace(step, equation=equation) for step in steps(above))]


def _exponent(equation: Equation, function: SizeFunction, foreign: Foreign) -> str | None:
    """The exponent that is shared out, where others are called and as many calls are made at all sizes."""
    if len(function.shared_exponents) != 1 or len(function.parameters) != 1 or not equation.recursive:
        return None
    factors = {call: factor for call, factor in by_call(equation.value)[1].items() if call.function == function.name}
    if not factors or not total(factors.values()).is_constant:
        return None
    others = any(call.function in foreign for call in calls(equation.value))
    return function.shared_exponents[0] if others else None


def hinge_bases(function: SizeFunction, steps: Sequence[Transition]) -> Iterator[tuple[BasisTerm, ...]]:
    """Sets of elements with max(0, k - c), where exponents k are taken apart; none for other functions.

    That is 0 at small k, and where all parts of k are at least c, as those of k >= 2*c, their sum is c less.
    """
    exponents = function.shared_exponents
    inductive = [step for step in steps if step.calls]
    if len(exponents) != 1 or not inductive:
        return
    (exponent,) = exponents
    if any(step.facts.bounds[exponent].least != START for step in inductive):
        return
    size = BasisTerm(Poly.symbol(exponent))
    logs = list(signed_logarithms(function))
    bends = [BasisTerm(a.positive_part(size.value - bend)) for bend in BENDS]
    yield distinct([BasisTerm(Poly.constant(1)), *logs, *(times(size, each) for each in logs if each.sign), *bends])


POINTS = 16
LARGE_POINTS_PER_CASE = 4
MAX_STEPS, MAX_FAR, MAX_BITS = 1_500, 20_000, 400
FAR_EXPONENTS = 12, 48
"""Far points have sizes about 2 to these powers."""
FARTHER = 48, 1_536
"""These where calls share out the exponent of a size: a logarithm of a logarithm shows there only."""
VERY_FAR = 400
STEADY_RATIO = Fraction(3, 2)
ALIKE = Fraction(5, 4)
NEAR_ENOUGH = Fraction(32)
"""The factor at which a search for a bound that grows as the function does ends, if no smaller one is required."""
GOOD, FAIR = Fraction(2), Fraction(4)
"""Factors to the function at which a search ends: at once, and after some more tries."""
ROUNDED = 1 - 1e-9
"""How much of the largest factor one may seem to be, in floating point, that is as large."""
AT_LEAVES = Fraction(3, 2)
"""How many times farther off bounds may be at leaves of a fixed size, where the cost itself is shown."""

MAX_PROOF = 20_000

Seen = tuple[Point, Fraction]
"""A point and the function there."""
Coefficients = tuple[fmpq, ...]
Ratio = tuple[int, int]
"""A number as a fraction that need not be in lowest terms."""


class StepWriter:
    """Steps in symbols: what elements gain in them, each written once for all programs.

    `tangents`: whether proofs know more of how large logarithms are.
    """

    def __init__(self, function: SizeFunction, tangents: bool = False, places: PointTable | None = None) -> None:
        self._function, self._tangents = function, tangents
        self.places = PointTable() if places is None else places
        self._references = log_references(function)
        self._callers: dict[Transition, CallContext] = {}
        self._gains: dict[tuple[Transition, BasisTerm], Poly | None] = {}
        self._forcing: dict[Transition, Poly] = {}

    def gain(self, step: Transition, element: BasisTerm) -> Poly | None:
        """An element less what it is at the calls; None where it cannot be written at their sizes."""
        key = step, element
        if key not in self._gains:
            try:
                self._gains[key] = self._share(step, element) if element.parts else self._gain(step, element)
            except NotComparableError:
                self._gains[key] = None
        return self._gains[key]

    def _gain(self, step: Transition, element: BasisTerm) -> Poly:
        if element.leaf is not None:
            return ZERO if step.calls else element.leaf
        caller = self._caller(step)
        gain = element.value if element.inner is None else element.inner.here(caller)
        for factor, call in step.calls:
            gain = gain - factor * element.at_call(self._function, call, caller)
        return gain

    def _share(self, step: Transition, element: BasisTerm) -> Poly | None:
        """What is left of an element of which each call has a share at most (or at least)."""
        caller, name = self._caller(step), element.value.key
        if not step.calls:
            return caller.without_powers(element.value)
        caller.facts = caller.facts.with_symbol(name, [ZERO])
        times = total(factor for factor, _ in step.calls) / element.parts
        return Poly.symbol(name) * (1 - times)

    def forcing(self, step: Transition) -> Poly:
        """What the step adds."""
        if step not in self._forcing:
            self._forcing[step] = self._caller(step).at(step.forcing, {})
        return self._forcing[step]

    def ordered(self, step: Transition, value: Poly) -> Poly:
        """An expression in the step's symbols with logarithms of its sizes as symbols, ordered as the sizes are."""
        caller = self._caller(step)
        ordered = caller.ordered(value)
        return caller.facts.simplify(ordered)

    def facts(self, step: Transition) -> Facts:
        """What is known of the step's symbols, those of logarithms that were written so far among them."""
        return self._caller(step).facts

    def proves(self, step: Transition, margin: Poly) -> bool:
        """Whether an expression in the step's symbols is proved to be at least 0."""
        caller = self._caller(step)
        if never_negative(margin, caller.facts, [by_enumeration], MAX_PROOF):
            return True
        ordered = caller.ordered(margin)
        return ordered != margin and never_negative(ordered, caller.facts, [by_enumeration], MAX_PROOF)

    def _caller(self, step: Transition) -> CallContext:
        if step not in self._callers:
            self._callers[step] = CallContext(step.facts, self._references, self._tangents)
        return self._callers[step]


@record(eq=False)
class ProvedBound:
    """A proved bound of a function in its recursive cases, and the largest factors to the function that were seen.

    `near` is that at samples, `far` that at far points; `steady`: it is no larger at farther points than at far ones.
    `steps` are those of the proof, with equality in those of `equal` at least. `proved`: what the steps prove, where
    the value is that rounded to the safe side.
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
        """The largest of all."""
        return max(self.near, self.far)

    def better(self, other: ProvedBound | None) -> bool:
        """Whether it is sharper than another one; of two about as near at worst, closer at far points."""
        if other is None or self.steady != other.steady:
            return other is None or self.steady
        alike = self.factor <= ALIKE * other.factor and other.factor <= ALIKE * self.factor
        return (self.far, self.near) < (other.far, other.near) if alike else self.factor < other.factor


class InductionProblem:
    """The inequalities that bound one function from one side, and points to try bounds at.

    A bound U must satisfy U(x) >= f(x) + sum of factor*U over the calls (<= for a lower one) in every step. Steps of
    cases without calls need it only at the sizes that calls reach: at others the function is what the case says.
    Raises NotComparableError.
    """

    def __init__(
        self,
        function: SizeFunction,
        upper: bool,
        foreign: Foreign,
        values: ValueTable | None,
        everywhere: bool = False,
        target: Fraction = NEAR_ENOUGH,
        places: PointTable | None = None,
    ) -> None:
        self.function, self.upper, self.target = function, upper, target
        self.values = values
        self._everywhere = everywhere
        inside: dict[Equation, Point] = {}
        for equation, point in samples.sample_points(function, LARGE_POINTS_PER_CASE, 1):
            inside.setdefault(equation, point)
        sizes = {equation: self._size(equation, inside.get(equation)) for equation in function.equations}
        steps = [
            step
            for equation, size in sizes.items()
            for step in unroll_small_exponents(
                equation,
                function,
                foreign,
                partial(steps_of, upper=upper, prefer=size, foreign=foreign),
                self._at_exponent,
            )
        ]
        steps = [with_call_facts(step, function) for step in steps]
        self.regions = call_regions(function, steps)
        if everywhere:
            self.regions = (Region({}),)
        self.steps = [transition for step in steps for transition in reached_transitions(step, self.regions)]
        # Logarithms that others add are paid for by other terms; where no values are known, the plain ones are taken.
        self.writer = StepWriter(function, upper and values is not None, places)
        self.weighed: list[Seen] = []
        self.near: list[tuple[Seen, Fraction]] = []
        """Where bounds are to be near, and how far off they may be there relative to elsewhere."""
        self._sample()

    def _size(self, equation: Equation, point: Point | None) -> Callable[[Poly], tuple[Fraction, str]]:
        """How large a value of the equation is, estimated by its calls' sizes at one large point."""

        def size(value: Poly) -> tuple[Fraction, str]:
            if point is None:
                return Fraction(0), value.key
            there = samples.with_least_data(equation.data, equation.facts, point)
            try:
                return evaluate(value, there, lambda _, arguments: sum(arguments, fmpq(0))), value.key
            except EvaluationError:
                return Fraction(0), value.key

        return size

    def forcings(self) -> tuple[list[Poly], list[Poly]]:
        """What is added where calls are made, and what elsewhere."""
        inner = [step.forcing for step in self.steps if step.calls]
        return inner, [step.forcing for step in self.steps if not step.calls]

    def written(self, elements: Sequence[BasisTerm]) -> tuple[BasisTerm, ...]:
        """The elements that can be written at the sizes of every call."""
        return tuple(each for each in elements if all(self.writer.gain(s, each) is not None for s in self.steps))

    def _sample(self) -> None:
        shares = {equation: self._share(equation) for equation in self.function.equations}
        for equation, point in samples.sample_points(self.function, POINTS):
            value = self._value(point)
            if value is None or not (equation.recursive or any(each.holds(point) for each in self.regions)):
                continue
            self.weighed.append((point, value))
            self.near.append(((point, value), shares[equation]))
        for place in samples.points_near_leaves(self.function):
            if (value := self._value(place)) is not None:
                self.near.append(((place, value), Fraction(1)))

    def _share(self, equation: Equation) -> Fraction:
        """How far off a bound may be where the equation applies, relative to elsewhere."""
        known = equation.facts.bounds
        fixed = all(name in known and known[name].most is not None for name in self.function.parameters)
        # What is lost in one group of cases is lost again in those that call it.
        apart = fixed and not (self._everywhere or equation.recursive or self.target < NEAR_ENOUGH)
        return AT_LEAVES if apart else Fraction(1)

    @cached_property
    def directions(self) -> list[tuple[Seen, Seen]]:
        """Far points and farther ones in the same directions, with the function there; none where it is not known."""
        if self.values is None:
            return []
        found = []
        # Of n^a*m^b with a fraction a, equal sizes give a + b only, and sizes that one case bounds are no directions;
        # of log2(n)*log2(min(n, m)), those at which m is least show what halving n adds.
        more = len(self.function.sizes) > 1 and (
            self.target < NEAR_ENOUGH
            or any(master_terms(self.function, self.steps, self.upper))
            or any(log_product_terms(self.function, self.steps))
        )
        for exponents in (FAR_EXPONENTS, FARTHER) if self.function.shared_exponents else (FAR_EXPONENTS,):
            ways = (
                samples.points_of_magnitude(self.function, exponent, (None, 0, exponent // 2) if more else (None,))
                for exponent in exponents
            )
            for ends in zip(*ways, strict=True):
                # Where there is no value, following the equations takes long, and no less farther away.
                if (far := self._seen(ends[0])) is not None and (farther := self._seen(ends[1])) is not None:
                    found.append((far, farther))
        return found

    def _seen(self, point: Point | None) -> Seen | None:
        """A far point with the function there; None where it is not known."""
        value = None if point is None else self._value(point, MAX_FAR)
        return None if point is None or value is None else (point, value)

    @cached_property
    def growths(self) -> list[tuple[Point, Point, Fraction]]:
        """How much larger the function is at farther points, one added to it."""
        return [(far, farther, (after + 1) / (before + 1)) for (far, before), (farther, after) in self.directions]

    def _value(self, point: Point, most: int = MAX_STEPS) -> Fraction | None:
        """The function there; 1 where it is no function of the sizes alone; None where it has no value."""
        if self.values is None:
            return Fraction(1)
        sizes = {name: int(point[name]) for name in self.function.parameters}
        try:
            value = self.values.at(self.function.name, sizes, most)
        except EvaluationError:
            return None
        return value if value.numerator.bit_length() <= MAX_BITS else None

    def _at_exponent(self, number: int) -> Fraction | None:
        """The function where the one exponent that it is written in has a value; None where it is not known."""
        if self.values is None:
            return None
        return self._value(self.symbol_point(dict.fromkeys(self.function.shared_exponents, number)))

    def symbol_point(self, point: dict[str, int]) -> Point:
        """A point of the symbols that sizes are written in, with the sizes themselves."""
        facts = self.function.facts
        sizes = {name: evaluate(facts.rewritten(name), point) for name in self.function.parameters}
        return {**point, **{name: int(value) for name, value in sizes.items()}}

    @cached_property
    def evaluation_points(self) -> list[tuple[Seen, Fraction]]:
        """Where bounds are seen, near points, then far ones, and how far off they may be relative to elsewhere."""
        return [*self.near, *((each, Fraction(1)) for each in self.far)]

    def bound(self, value: Poly, known: Sequence[Ratio] | None = None) -> ProvedBound:
        """A proved bound with what is seen of it; where the function is not known, steadiness is not asked for.

        `known`: its values at what is watched.
        """
        if self.values is None:
            return ProvedBound(value, Fraction(0), self._size_at_far(value), False, tuple(self.steps))
        if known is None:
            there = (self.writer.places.number(value, point) for (point, _), _ in self.evaluation_points)
            known = [(each.numerator, each.denominator) for each in there]
        ratios = [self._ratio(each, real) for each, ((_, real), _) in zip(known, self.evaluation_points, strict=True)]
        near, far = ratios[: len(self.near)], ratios[len(self.near) :]
        steady = all(map(_is_steady, far[::2], far[1::2]))
        shared = [
            (above * share.denominator, below * share.numerator)
            for (above, below), (_, share) in zip(near, self.near, strict=True)
        ]
        return ProvedBound(value, _largest(shared), _largest(far), steady, tuple(self.steps))

    @cached_property
    def very_far(self) -> list[Point]:
        """Where bounds of a function that is not known are compared: without any, none is better than another."""
        return [point for point in samples.points_of_magnitude(self.function, VERY_FAR, (0,)) if point is not None]

    def _size_at_far(self, value: Poly) -> Fraction:
        """Where the function is not known: how large an upper bound is where sizes are very large, 1/that for lower."""
        sizes = [max(evaluate(value, point), Fraction(1, 1 << VERY_FAR)) for point in self.very_far]
        return max((each if self.upper else 1 / each for each in sizes), default=Fraction(1))

    @property
    def far(self) -> list[Seen]:
        """All far points with the function there; none where it is not known."""
        return [each for pair in self.directions for each in pair]

    def _ratio(self, there: Ratio, real: Fraction) -> Ratio:
        """How many times the function a bound is, or the other way round, each with one added."""
        number, below = there
        unit = real.denominator
        above, own = number + below, real.numerator + unit
        if self.upper:
            return above * unit, below * own
        if 4 * above < below:
            above, below = 1, 4
        return own * below, unit * above


def _is_steady(far: Ratio, farther: Ratio) -> bool:
    """Whether a factor is about no larger at a farther point."""
    least, most = (max(each) for each in (far, farther))
    return most * far[1] * STEADY_RATIO.denominator <= STEADY_RATIO.numerator * least * farther[1]


def _largest(ratios: Sequence[Ratio]) -> Fraction:
    """The largest of the factors, 1 at least; candidates are chosen in floating point."""
    try:
        rough = [above / below for above, below in ratios]
    except OverflowError:
        rough = [0.0] * len(ratios)
    most = max(rough, default=0.0)
    largest = (Fraction(*each) for each, about in zip(ratios, rough, strict=True) if about >= most * ROUNDED)
    return max((Fraction(1), *largest))


@record(eq=False)
class InductionProof:
    """That a function is at least, at most or equal to a value: by induction through `steps`, else for the `reason`.

    `equal` are the steps that hold with equality where the function is the value. `where` restricts it to some
    cases.
    """

    relation: Relation
    value: Poly
    steps: tuple[Transition, ...] = ()
    equal: frozenset[Transition] = frozenset()
    reason: str = ""
    where: str = ""

    @staticmethod
    def of(relation: Relation, found: ProvedBound, where: str = "") -> InductionProof:
        """The proof that a search found."""
        value = found.value if found.proved is None else found.proved
        return InductionProof(relation, value, found.steps, found.equal, where=where)
