"""The linear program for the coefficients of a bound, and the proof that they bound the function everywhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from archline.algebra.effort import OutOfBudgetError, budget
from archline.algebra.evaluate.compiled import Number
from archline.algebra.facts import Facts
from archline.algebra.lp.highs import corner, solution
from archline.algebra.polynomial import ZERO, Poly, combination, rational, total
from archline.algebra.prove.enumerate import holds_everywhere
from archline.numbers import fmpq
from archline.recurrences.evaluate import Point, PointTable, coordinates
from archline.recurrences.exact.at_call import CallContext, NotComparableError, references
from archline.recurrences.exact.basis import BasisTerm
from archline.recurrences.exact.transitions import Transition
from archline.recurrences.model import SizeFunction

MAX_PROOF = 20_000
MAX_SOLVED = 30
BEYOND = 4
"""How many values more than coefficients tell first whether a sum takes them all."""
SLACK = fmpq(1, 4)
Coefficients = tuple[fmpq, ...]


class StepWriter:
    """Steps in symbols: what elements gain in them, each written once for all programs.

    `tangents`: whether proofs know more of how large logarithms are.
    """

    def __init__(self, function: SizeFunction, tangents: bool = False, places: PointTable | None = None) -> None:
        self._function, self._tangents = function, tangents
        self.places = PointTable() if places is None else places
        self.solved = 0
        self._references = references(function)
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
        try:
            with budget(MAX_PROOF):
                if holds_everywhere(margin, caller.facts):
                    return True
                ordered = caller.ordered(margin)
                return ordered != margin and holds_everywhere(ordered, caller.facts)
        except OutOfBudgetError:
            return False

    def _caller(self, step: Transition) -> CallContext:
        if step not in self._callers:
            self._callers[step] = CallContext(step.facts, self._references, self._tangents)
        return self._callers[step]


class CoefficientProgram:
    """Coefficients c such that sum of c*element bounds a function with the given steps."""

    def __init__(self, writer: StepWriter, function: SizeFunction, elements: Iterable[BasisTerm], upper: bool) -> None:
        self._writer, self._function, self._upper = writer, function, upper
        self.elements = tuple(elements)
        self._values = [each.value for each in self.elements]
        self._rows: list[list[fmpq]] = []
        self._limits: list[fmpq] = []
        self._goal = [fmpq(0)] * len(self.elements)
        self._used = list(range(len(self.elements)))
        for index, element in enumerate(self.elements):
            if element.sign:
                sign = element.sign if upper else -element.sign
                self._rows.append([fmpq(-sign * (each == index)) for each in range(len(self.elements))])
                self._limits.append(fmpq(0))

    # Fitting
    def fitted(self, points: Sequence[tuple[Point, Fraction]]) -> tuple[fmpq, ...] | None:
        """The coefficients for which the sum takes all given values, where they exist; the simplest of several."""
        count = len(self.elements)
        # What does not fit a few values does not fit all, and mostly nothing does.
        if len(points) > count + BEYOND and solution(self._equations(points[: count + BEYOND]), count) is None:
            return None
        return solution(self._equations(points), count)

    def _equations(self, points: Sequence[tuple[Point, Fraction]]) -> list[list[fmpq]]:
        """That the sum takes the given values: the elements there, then the value."""
        table = self._writer.places.table(self._values, [point for point, _ in points])
        return [[*map(rational, row), rational(value)] for row, (_, value) in zip(table, points, strict=True)]

    # The program
    def require(self, step: Transition, point: Point) -> None:
        """The inductive inequality of a step at a point."""
        sign, number = 1 if self._upper else -1, self._writer.places.number
        gains = self._numbers(point)
        for factor, call in step.calls:
            times = number(factor, point)
            if not times:
                continue
            there = coordinates(self._function, tuple([number(each, point) for each in call.arguments]))
            gains = [gain - times * value for gain, value in zip(gains, self._numbers(there), strict=True)]
        # What has no value at the point leaves the program as it is.
        limit = rational(-sign * number(step.forcing, point))
        self._rows.append([rational(-sign * gain) for gain in gains])
        self._limits.append(limit)

    def limit(self, point: Point, value: Fraction) -> None:
        """The bound is one at a point where the function is known."""
        sign = 1 if self._upper else -1
        self._rows.append([rational(-sign * number) for number in self._numbers(point)])
        self._limits.append(rational(-sign * value))

    def prefer(self, point: Point, weight: Fraction) -> None:
        """Make the bound tight at a point."""
        sign = -1 if self._upper else 1
        numbers = self._numbers(point)
        self._goal = [goal + rational(sign * weight * number) for goal, number in zip(self._goal, numbers, strict=True)]

    def _numbers(self, point: Point) -> list[Number]:
        return self._writer.places.table(self._values, (point,))[0]

    def solve(self) -> tuple[fmpq, ...] | None:
        """The coefficients that are best at the preferred points; None where the points do not determine any."""
        self._writer.solved += 1
        return self._solved(self._used) if self._writer.solved <= MAX_SOLVED else None

    def _solved(self, used: Sequence[int]) -> tuple[fmpq, ...] | None:
        rows = [[row[index] for index in used] for row in self._rows]
        found = corner([self._goal[index] for index in used], rows, self._limits)
        if found is None:
            return None
        full = [fmpq(0)] * len(self.elements)
        for index, value in zip(used, found, strict=True):
            full[index] = value
        return tuple(full)

    @property
    def linear(self) -> bool:
        """Whether no element in use grows faster than a size."""
        return all(self.elements[index].degree <= 1 for index in self._used)

    def drop_needless(self, best: Sequence[fmpq]) -> None:
        """Do without products of sizes that hardly help, the highest first."""
        target = self._worth(best)
        for index in reversed([each for each in self._used if self.elements[each].degree]):
            fewer = [each for each in self._used if each != index]
            found = self._solved(fewer) if fewer else None
            if found is not None and self._worth(found) >= target - abs(target) * SLACK:
                self._used = fewer

    def _worth(self, coefficients: Sequence[fmpq]) -> fmpq:
        return sum((goal * each for goal, each in zip(self._goal, coefficients, strict=True)), fmpq(0))

    def value(self, coefficients: Sequence[fmpq]) -> Poly:
        """The bound with these coefficients."""
        return combination(self._values, coefficients)

    # The proof
    def proves(self, step: Transition, coefficients: Sequence[fmpq]) -> bool:
        """Whether the inductive inequality of a step is proved for all sizes."""
        margin = self._margin(step, coefficients)
        return margin is not None and self._writer.proves(step, margin)

    def proves_equal(self, step: Transition, coefficients: Sequence[fmpq]) -> bool:
        """Whether the step holds with equality for all sizes."""
        margin = self._margin(step, coefficients)
        return margin is not None and self._writer.proves(step, margin) and self._writer.proves(step, -margin)

    def _margin(self, step: Transition, coefficients: Sequence[fmpq]) -> Poly | None:
        """What must be at least 0; None where an element with a coefficient cannot be written."""
        gain = ZERO
        for element, coefficient in zip(self.elements, coefficients, strict=True):
            if coefficient:
                each = self._writer.gain(step, element)
                if each is None:
                    return None
                gain = gain + each.scaled(coefficient)
        forcing = self._writer.forcing(step)
        return gain - forcing if self._upper else forcing - gain
