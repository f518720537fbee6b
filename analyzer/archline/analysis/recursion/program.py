"""The linear program for the coefficients of a bound, and the proof that they bound the function everywhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice

from flint import fmpq, fmpq_mat

from archline.algebra.evaluation import evaluate
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ZERO, Poly, rational
from archline.analysis.recursion.bases import Element
from archline.analysis.recursion.calls import Caller, NotComparableError, references
from archline.analysis.recursion.finite import counterexamples, holds_everywhere
from archline.analysis.recursion.proposal import corner
from archline.analysis.recursion.steps import Step
from archline.analysis.recursion.system import Function
from archline.analysis.recursion.values import coordinates

MAX_FAILURES = 4
Point = Mapping[str, int | Fraction]


@dataclass(frozen=True, eq=False)
class _Written:
    """A step in symbols: for each element, its value less those at the calls, and the facts that they are under."""

    facts: Facts
    gains: tuple[Poly, ...]
    forcing: Poly


class Program:
    """Coefficients c such that sum of c*element bounds a function with the given steps.

    Elements that cannot be written at the sizes of some call are left out; `elements` are the others.
    """

    def __init__(
        self,
        functions: Mapping[str, Function],
        function: Function,
        steps: Sequence[Step],
        elements: Iterable[Element],
        upper: bool,
    ) -> None:
        self._functions, self._function, self._upper = functions, function, upper
        self._references = references(function)
        self._steps = steps
        self.elements = tuple(each for each in elements if all(self._writable(each, step) for step in steps))
        self._written: dict[Step, _Written] = {}
        self._rows: list[list[fmpq]] = []
        self._limits: list[fmpq] = []
        self._goal = [fmpq(0)] * len(self.elements)

    # Fitting
    def fitted(self, points: Sequence[tuple[Point, Fraction]]) -> tuple[fmpq, ...] | None:
        """The coefficients for which the sum takes all given values, where they exist; the simplest of several."""
        rows = [[*map(rational, self._numbers(point)), rational(value)] for point, value in points]
        return _solution(rows, len(self.elements))

    # The program
    def require(self, step: Step, point: Point) -> None:
        """The inductive inequality of a step at a point."""
        sign = 1 if self._upper else -1
        gains = self._numbers(point)
        for factor, call in step.calls:
            times = evaluate(factor, point)
            if not times:
                continue
            there = coordinates(self._function, tuple(rational(evaluate(each, point)) for each in call.arguments))
            gains = [gain - times * value for gain, value in zip(gains, self._numbers(there), strict=True)]
        self._rows.append([rational(-sign * gain) for gain in gains])
        self._limits.append(rational(-sign * evaluate(step.forcing, point)))

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

    def _numbers(self, point: Point) -> list[Fraction]:
        return [evaluate(each.value, point) for each in self.elements]

    def solve(self) -> tuple[fmpq, ...] | None:
        """The coefficients that are best at the preferred points; None where the points do not determine any."""
        return corner(self._goal, self._rows, self._limits)

    def value(self, coefficients: Sequence[fmpq]) -> Poly:
        """The bound with these coefficients."""
        return _sum(
            element.value.scaled(coefficient) for element, coefficient in zip(self.elements, coefficients, strict=True)
        )

    # The proof
    def proves(self, step: Step, coefficients: Sequence[fmpq]) -> bool:
        """Whether the inductive inequality of a step is proved for all sizes."""
        return holds_everywhere(self._margin(step, coefficients), self._write(step).facts)

    def failures(self, step: Step, coefficients: Sequence[fmpq]) -> list[dict[str, int]]:
        """Sizes at which a step of few sizes fails."""
        return list(islice(counterexamples(self._margin(step, coefficients), self._write(step).facts), MAX_FAILURES))

    def _margin(self, step: Step, coefficients: Sequence[fmpq]) -> Poly:
        written = self._write(step)
        gain = _sum(each.scaled(coefficient) for each, coefficient in zip(written.gains, coefficients, strict=True))
        return gain - written.forcing if self._upper else written.forcing - gain

    def proves_equal(self, step: Step, coefficients: Sequence[fmpq]) -> bool:
        """Whether the step holds with equality for all sizes."""
        written, margin = self._write(step), self._margin(step, coefficients)
        return holds_everywhere(margin, written.facts) and holds_everywhere(-margin, written.facts)

    def _writable(self, element: Element, step: Step) -> bool:
        try:
            caller = Caller(step.facts, self._references)
            for _, call in step.calls:
                element.at_call(self._function, call, caller)
        except NotComparableError:
            return False
        return True

    def _write(self, step: Step) -> _Written:
        if step not in self._written:
            caller = Caller(step.facts, self._references)
            gains = []
            for element in self.elements:
                gain = element.value
                for factor, call in step.calls:
                    gain = gain - factor * element.at_call(self._function, call, caller)
                gains.append(gain)
            forcing = caller.at(step.forcing, {})
            self._written[step] = _Written(caller.facts, tuple(gains), forcing)
        return self._written[step]


def _solution(rows: list[list[fmpq]], count: int) -> tuple[fmpq, ...] | None:
    """A solution of linear equations (coefficients, then the right side); unknowns that are free are 0."""
    reduced, rank = fmpq_mat(rows).rref()
    solution = [fmpq(0)] * count
    for row in range(rank):
        lead = next(column for column in range(count + 1) if reduced[row, column])
        if lead == count:
            return None
        solution[lead] = reduced[row, count]
    return tuple(solution)


def _sum(values: Iterable[Poly]) -> Poly:
    total = ZERO
    for value in values:
        total = total + value
    return total
