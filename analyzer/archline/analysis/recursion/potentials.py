"""Closed forms and bounds of recurrences, proposed from samples and proved by induction.

A closed form is a sum of elements with unknown coefficients. An exact one is fitted to the function's values at
samples, and holds where it satisfies the equation of every case identically. A bound U must satisfy

    U(x) >= f(x) + sum of factor*U over the calls      (an upper bound; <= for a lower one)

in every case, which is linear in the coefficients at each x: a linear program over samples proposes them. Each case is
then proved for all sizes, with floors resolved by remainders and logarithms of halves in terms of those of the whole.
Cases without calls need it only at the sizes that calls reach: at others the function is what the case says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random

import numpy as np
from flint import fmpq

from archline.algebra.evaluation import EvaluationError, evaluate
from archline.algebra.polynomial import Poly
from archline.analysis.recursion import samples
from archline.analysis.recursion.bases import Element, bases
from archline.analysis.recursion.calls import NotComparableError
from archline.analysis.recursion.monotone import rounded
from archline.analysis.recursion.pool import Pool
from archline.analysis.recursion.program import Point, Program, Writer
from archline.analysis.recursion.steps import Foreign, Region, Step, reached, regions, steps_of, valid
from archline.analysis.recursion.system import Equation, Function, System
from archline.analysis.recursion.values import Values

POINTS = 16
ROUNDS = 6
MAX_FAILED = 2
ROOM = (fmpq(1, 8), fmpq(1, 3))
MAX_STEPS, MAX_BITS = 1_500, 160
WORST = 4
UNITS = (fmpq(1), fmpq(2), fmpq(4), fmpq(16), fmpq(64))
GOOD, FAIR, ENOUGH = Fraction(2), Fraction(4), 2


Coefficients = tuple[fmpq, ...]


@dataclass(frozen=True, eq=False)
class Bound:
    """A proved bound of a function in its recursive cases, and the largest factor to the function at the samples.

    `steps` are those of the proof, with equality in those of `equal` at least; `rounded` tells that they are of the
    function whose calls all round their sizes to one side.
    """

    value: Poly
    factor: Fraction
    steps: tuple[Step, ...] = ()
    equal: frozenset[Step] = frozenset()
    rounded: bool = False


class Search:
    """Looks for closed forms of one function of a system that calls only itself. Raises NotComparableError."""

    def __init__(
        self,
        system: System,
        function: Function,
        upper: bool,
        foreign: Foreign,
        values: Values | None,
        everywhere: bool = False,
    ) -> None:
        self._system, self._function, self._upper = system, function, upper
        self._values = values
        self._random = Random(0)
        steps = [
            step for equation in function.equations for step in steps_of(equation, upper, self._size(equation), foreign)
        ]
        steps = [valid(step, function) for step in steps]
        self._regions = regions(function, steps)
        if everywhere:
            self._regions = (Region({}),)
        self._steps = [each for step in steps for each in reached(step, self._regions)]
        self._writer = Writer(function)
        self._points: list[tuple[Step, Point]] = []
        self._weighed: list[tuple[Point, Fraction]] = []
        self._sample(0)
        self._far = [
            (point, value) for point in samples.far(function) if values and (value := self._value(point)) is not None
        ]

    def _size(self, equation: Equation) -> Callable[[Poly], tuple[Fraction, str]]:
        """How large a value of the equation is, as far as its calls' sizes tell: at one large point."""
        point = next((p for e, p in samples.points(self._function, 4, 1) if e is equation), None)

        def size(value: Poly) -> tuple[Fraction, str]:
            if point is None:
                return Fraction(0), value.key
            there = next(samples.data_values(equation.data, equation.facts, point, Random(0)), point)
            try:
                return evaluate(value, there, lambda _, arguments: sum(arguments, fmpq(0))), value.key
            except EvaluationError:
                return Fraction(0), value.key

        return size

    def _sample(self, seed: int) -> list[tuple[Step, Point]]:
        new: list[tuple[Step, Point]] = []
        for equation, point in samples.points(self._function, POINTS, seed):
            value = self._value(point)
            if value is None or not (equation.recursive or any(each.holds(point) for each in self._regions)):
                continue
            self._weighed.append((point, value))
            for step in self._steps:
                if step.equation is equation:
                    new.extend((step, full) for full in samples.data_values(step.data, step.facts, point, self._random))
        self._points.extend(new)
        return new

    def _value(self, point: Point) -> Fraction | None:
        """The function there; 1 where it is no function of the sizes alone; None where it has no value."""
        if self._values is None:
            return Fraction(1)
        sizes = {name: int(point[name]) for name in self._function.parameters}
        try:
            value = self._values.at(self._function.name, sizes, MAX_STEPS)
        except EvaluationError:
            return None
        return value if value.numerator.bit_length() <= MAX_BITS else None

    def exact(self) -> Bound | None:
        """The function itself as a closed form, for all sizes at which it calls itself, and those calls' sizes."""
        for elements in self._bases():
            program = self._program(elements, all_=True)
            coefficients = program.fitted(self._weighed)
            if coefficients is None:
                continue
            equal = self._satisfied(program, coefficients)
            if equal is not None:
                return Bound(program.value(coefficients), Fraction(1), tuple(self._steps), equal)
        return None

    def _bases(self) -> Iterator[tuple[Element, ...]]:
        inner = [step.forcing for step in self._steps if step.calls]
        return bases(self._function, inner, [step.forcing for step in self._steps if not step.calls])

    def _satisfied(self, program: Program, coefficients: Coefficients) -> frozenset[Step] | None:
        """Every case holds: with equality in one of the steps that it is the largest of, and none is larger.

        The steps that hold with equality; None where a case does not hold.
        """
        equal: dict[Equation, bool] = {}
        same_in: set[Step] = set()
        for step in self._steps:
            same = program.proves_equal(step, coefficients)
            if not same and not program.proves(step, coefficients):
                return None
            equal[step.equation] = equal.get(step.equation, not step.calls) or same
            if same:
                same_in.add(step)
            elif not step.calls:
                return None
        return frozenset(same_in) if all(equal.values()) else None

    def bound(self) -> Bound | None:
        """The best proved bound: the first whose factor is good, else the one with the least."""
        best: Bound | None = None
        for turn, elements in enumerate(self._bases()):
            found = self._try(elements)
            if found is not None and (best is None or found.factor < best.factor):
                best = found
            if best is not None and best.factor <= (GOOD if turn < ENOUGH else FAIR):
                break
        return best

    def _program(self, elements: tuple[Element, ...], all_: bool = False) -> Program:
        """The program over the elements, or over those that can be written at the sizes of every call."""
        if not all_:
            elements = tuple(
                each for each in elements if all(self._writer.gain(s, each) is not None for s in self._steps)
            )
        return Program(self._writer, self._function, elements, self._upper)

    def _try(self, elements: tuple[Element, ...]) -> Bound | None:
        program = self._program(elements)
        try:
            for step, point in self._points:
                program.require(step, point)
        except EvaluationError:
            # A call under a guard inside has no sizes there; such programs are left to other means.
            return None
        for point, value in self._weighed:
            program.prefer(point, Fraction(1, 1 << int(value).bit_length()))
            if self._values is not None:
                program.limit(point, value)
        pools = [(step, Pool(self._function, step, program.elements)) for step in self._steps]
        simple = False
        for _ in range(ROUNDS):
            coefficients = program.solve()
            if coefficients is None:
                return None
            broken = self._broken(pools, coefficients)
            if not broken:
                found = self._proved(program, pools, coefficients)
                if found is not None:
                    return found
                broken = [(step, point) for step in self._steps for point in program.failures(step, coefficients)]
                if not broken and simple:
                    return None
                if not broken:
                    simple = True
                    program.drop_needless(coefficients)
                    if program.linear:
                        pools.extend(
                            (step, Pool(self._function, step, program.elements, far=True)) for step in self._steps
                        )
            for step, point in broken:
                program.require(step, self._placed(point))
        return None

    def _broken(self, pools: list[tuple[Step, Pool]], coefficients: Coefficients) -> list[tuple[Step, dict[str, int]]]:
        near = np.array([int(each.p) / int(each.q) for each in coefficients])
        return [(step, point) for step, pool in pools for point in pool.worst(near, self._upper, WORST)]

    def _proved(self, program: Program, pools: list[tuple[Step, Pool]], best: Coefficients) -> Bound | None:
        """The bound with short coefficients near the best ones, or with those themselves."""
        order = list(self._steps)
        failed = 0
        tried = [*((each, True) for each in _rounded(best, self._upper)), (best, False)]
        for coefficients, short in (*tried, *((each, False) for each in _eased(best, self._upper))):
            if (short and failed >= MAX_FAILED) or self._broken(pools, coefficients):
                continue
            open_ = next((step for step in order if not program.proves(step, coefficients)), None)
            if open_ is None:
                value = program.value(coefficients)
                return Bound(value, self.factor(value), tuple(self._steps))
            # What fails with some coefficients mostly fails with others.
            failed += 1
            order = [open_, *(step for step in order if step is not open_)]
        return None

    def _placed(self, point: dict[str, int]) -> Point:
        """A point of the symbols that sizes are written in, with the sizes themselves."""
        facts = self._function.facts
        sizes = {name: evaluate(facts.rewritten(name), point) for name in self._function.parameters}
        return {**point, **{name: int(value) for name, value in sizes.items()}}

    def factor(self, value: Poly) -> Fraction:
        """The largest factor between a bound and the function, at the samples."""
        worst = Fraction(1)
        for point, real in (*self._weighed, *self._far):
            there = evaluate(value, point)
            worst = max(worst, (there + 1) / (real + 1) if self._upper else (real + 1) / max(there + 1, Fraction(1, 4)))
        return worst


def _rounded(coefficients: Coefficients, upper: bool) -> Iterator[Coefficients]:
    """Coefficients as multiples of a unit, to the nearest or to the safe side."""
    for unit in UNITS:
        yield tuple((each * unit + fmpq(1, 2)).floor() / unit for each in coefficients)
        yield tuple((-(-each * unit).floor() if upper else (each * unit).floor()) / unit for each in coefficients)


def _eased(coefficients: Coefficients, upper: bool) -> Iterator[Coefficients]:
    """Coefficients with some room, for proofs that bound integers by fractions."""
    for room in ROOM:
        factor = 1 + room if upper else 1 - room
        yield tuple(each * factor if each > 0 else each for each in coefficients)


@dataclass(frozen=True)
class Given:
    """What a search starts from: closed bounds of other functions by side, and the values of all, where exact."""

    lower: Foreign
    upper: Foreign
    values: Values | None

    def foreign(self, upper: bool) -> Foreign:
        """The bounds of one side."""
        return self.upper if upper else self.lower


def exact_form(system: System, function: Function, given: Given) -> Bound | None:
    """A closed form of an exact function, or None where none is found."""
    try:
        return Search(system, function, True, given.upper, given.values).exact()
    except NotComparableError:
        return None


def bound(system: System, function: Function, upper: bool, given: Given, everywhere: bool = False) -> Bound | None:
    """The better of what is found for the function, and for it with the sizes of all calls rounded to one side.

    `everywhere`: for all sizes, those that only an outermost call has included.
    """
    try:
        own = Search(system, function, upper, given.foreign(upper), given.values, everywhere)
        best = own.bound()
        if best is not None and best.factor <= GOOD:
            return best
        other = rounded(system, function, upper)
        found = None if other is None else Search(*other, upper, {}, Values(other[0].functions), everywhere).bound()
    except NotComparableError:
        return None
    if found is not None:
        found = replace(found, factor=own.factor(found.value), rounded=True)
    known = [each for each in (best, found) if each is not None]
    return min(known, key=lambda each: each.factor, default=None)
