"""Sizes to try a recurrence at: small, odd, unequal and large ones that its declaration allows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import ceil, floor
from random import Random
from typing import Concatenate, ParamSpec, TypeVar

import numpy as np

from archline.algebra.evaluate.exact import evaluate
from archline.algebra.evaluate.vectors import Array, Points, values
from archline.algebra.facts import Facts
from archline.expr.intervals import EvaluationError
from archline.expr.values import holds
from archline.recurrences.evaluate import FunctionCases, Point
from archline.recurrences.exact.at_call import sizes_of_call
from archline.recurrences.exact.basis import BasisTerm
from archline.recurrences.exact.transitions import Transition
from archline.recurrences.model import Equation, SizeFunction

P = ParamSpec("P")
T = TypeVar("T")
SCALES = (8, 20, 70, 300, 1_000, 5_000)
FEW = 4
TRIES = 400
MAX_CORNER = 1_000
MAX_CHOSEN = 3
KEPT = 64
"""How many sets of points are kept."""


_Applying = tuple[Equation, dict[str, int | Fraction]]
_Numbered = tuple[int, dict[str, int | Fraction]]
"""A point, and which of the equations applies there."""


class _Shape:
    """What the points of a function depend on: all metrics of an algorithm have the same."""

    def __init__(self, function: SizeFunction) -> None:
        self.function = function
        self._parts: tuple[object, ...] = (
            function.algorithm,
            function.facts,
            *(part for each in function.equations for part in (each.decisions, each.facts)),
        )

    def __hash__(self) -> int:
        return hash(tuple(map(id, self._parts)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Shape) or len(self._parts) != len(other._parts):
            return False
        one, two = self.function, other.function
        same = one.parameters == two.parameters and one.least == two.least and one.where == two.where
        return same and all(x is y for x, y in zip(self._parts, other._parts, strict=True))


def _once(
    found: Callable[Concatenate[SizeFunction, P], Iterator[T]],
) -> Callable[Concatenate[SizeFunction, P], tuple[T, ...]]:
    """What is found for a function, kept for all functions of the same shape."""

    @lru_cache(maxsize=KEPT)
    def known(shape: _Shape, *others: P.args, **named: P.kwargs) -> tuple[T, ...]:
        return tuple(found(shape.function, *others, **named))

    def found_of(function: SizeFunction, /, *others: P.args, **named: P.kwargs) -> tuple[T, ...]:
        return known(_Shape(function), *others, **named)  # type: ignore[arg-type]

    return found_of


@lru_cache(maxsize=KEPT)
def _cases(shape: _Shape) -> FunctionCases:
    """What applies where; of another function of the same shape, it is the equation in the same place."""
    return FunctionCases(shape.function)


def points(function: SizeFunction, each: int, seed: int = 0) -> tuple[_Applying, ...]:
    """Up to `each` points for every equation, with the equation that applies there."""
    return tuple((function.equations[place], point) for place, point in _points(function, each, seed))


@_once
def _points(function: SizeFunction, each: int, seed: int) -> Iterator[_Numbered]:
    cases = _cases(_Shape(function))
    places = {equation: place for place, equation in enumerate(cases.function.equations)}
    found = [0] * len(places)
    tried: set[tuple[int, ...]] = set()
    for arguments in _arguments(function, seed):
        if arguments in tried:
            continue
        tried.add(arguments)
        try:
            equation, point = cases.at(arguments)
        except EvaluationError:
            continue
        place = places[equation]
        if found[place] < each and _allowed(function, arguments):
            found[place] += 1
            yield place, point
        if all(count >= each for count in found):
            return


@_once
def doubled(function: SizeFunction) -> Iterator[Point]:
    """Points with sizes about twice that of leaves of a fixed size, and with some of them the least.

    One less is halved to the largest leaves of all, one more is halved twice in part, to the smallest.
    """
    names = function.sizes
    leaf = max((_leaf(function, name) for name in names), default=0)
    if not leaf or len(names) not in range(2, MAX_CHOSEN + 1) or len(names) != len(function.parameters):
        return
    cases = _cases(_Shape(function))
    for size in (2 * leaf - 1, 2 * leaf + 1):
        for choice in product((True, False), repeat=len(names)):
            ends = zip(names, choice, strict=True)
            arguments = tuple(size if chosen else function.least.get(name, 1) for name, chosen in ends)
            if any(choice) and _allowed(function, arguments):
                # Some of the cases by themselves have none there.
                with suppress(EvaluationError):
                    yield cases.at(arguments)[1]


def _leaf(function: SizeFunction, name: str) -> int:
    """The greatest value of a size in cases without calls, 0 where there is none."""
    known = [each.facts.bounds[name].most for each in function.equations if not each.recursive]
    return 0 if None in known else max((each for each in known if each is not None), default=0)


def _allowed(function: SizeFunction, arguments: Sequence[int]) -> bool:
    """Whether the algorithm's facts hold at the sizes."""
    sizes = dict(zip(function.parameters, arguments, strict=True))
    return all(holds(fact, sizes) for fact in function.where)


@_once
def far(function: SizeFunction, exponent: int, others: tuple[int | None, ...] = (None,)) -> Iterator[Point | None]:
    """Points with every choice of sizes about 2^exponent, to tell how a bound grows; None where one is not allowed.

    `others` are exponents of the other sizes, None for the least.
    """
    names = function.parameters
    powers = {power.name: power.every for power in function.facts.powers}
    cases = _cases(_Shape(function))
    for choice in product((*others, exponent), repeat=len(names)):
        if len(names) > MAX_CHOSEN or exponent not in choice:
            continue
        arguments = tuple(
            (2 ** (powers[name] * (scale // powers[name])) if name in powers and scale else 2**scale + 3)
            if scale is not None
            else function.least.get(name, 1)
            for name, scale in zip(names, choice, strict=True)
        )
        try:
            _, point = cases.at(arguments)
        except EvaluationError:
            yield None
            continue
        yield point if _allowed(function, arguments) else None


def _arguments(function: SizeFunction, seed: int) -> Iterator[tuple[int, ...]]:
    names = function.parameters
    powers = {power.name: power.every for power in function.facts.powers}
    random = Random(seed)
    scales = SCALES if len(names) == 1 else SCALES[:FEW]
    if not seed:
        ends = [_start(function, name, powers.get(name)) for name in names]
        corners = list(product(*ends))
        random.shuffle(corners)
        # Where all sizes are just above those of leaves, bounds of leaves matter most.
        yield tuple(each[-1] for each in ends)
        yield from corners
    for turn in range(TRIES):
        same = _below(random, 3) == 0
        scale = scales[turn % len(scales)]
        value = 1 + _below(random, scale)
        most = 3, 20, scale
        yield tuple(
            _drawn(random, value if same else 1 + _below(random, most[_below(random, 3)]), powers.get(name))
            for name in names
        )


def _below(random: Random, end: int) -> int:
    """One of 0 to end - 1, each as likely, from few random bits: many are drawn."""
    bits = end.bit_length()
    while (number := random.getrandbits(bits)) >= end:
        pass
    return number


def _start(function: SizeFunction, name: str, every: int | None) -> tuple[int, ...]:
    """Small values, and those where a case begins or ends."""
    if every is not None:
        return tuple(2 ** (every * k) for k in range(7))
    least = function.least.get(name, -2)
    values = {least + more for more in (0, 1, 2)}
    for equation in function.equations:
        known = equation.facts.bounds.get(name)
        for bound in (*known.lower, *known.upper) if known else ():
            if bound.is_constant and bound.constant_term <= MAX_CORNER:
                values |= {int(bound.constant_term.ceil()), int(bound.constant_term.ceil()) + 1}
    return tuple(sorted(value for value in values if value >= least))


def _drawn(random: Random, value: int, every: int | None) -> int:
    if every is None:
        return value
    exponent = random.randint(0, max(1, 24 // every)) if random.random() < 0.5 else value.bit_length() // every
    return 1 << (every * exponent)


def data_values(
    names: Sequence[str], facts: Facts, point: Point, random: Random
) -> Iterator[dict[str, int | Fraction]]:
    """The point with values for what only the data gives: both ends of what is known, and between."""
    if not names:
        yield dict(point)
        return
    for choice in range(4):
        full = dict(point)
        for name in names:
            ends = _ends(facts, name, full)
            if ends is None or ends[0] > ends[1]:
                break
            full[name] = ends[choice] if choice < 2 else random.randint(*ends)
        else:
            yield full


def _ends(facts: Facts, name: str, point: Point) -> tuple[int, int] | None:
    bounds = facts.bounds[name]
    try:
        low = max((ceil(evaluate(each, point)) for each in bounds.lower), default=None)
        high = min((floor(evaluate(each, point)) for each in bounds.upper), default=None)
    except EvaluationError:
        return None
    return None if low is None or high is None else (low, high)


SIZE = 1_500
POOL_SCALES = (4.0, 12.0, 40.0, 150.0, 1e3, 3e4)
FAR = (4.0, 40.0, 1e3, 1e9, 1e30, 1e60)
MAX_EXPONENT = 20
MAX_LIMIT = 200


class Pool:
    """Points of one step: what every element gains there less what it does at the calls, and what is added."""

    def __init__(
        self, function: SizeFunction, step: Transition, elements: Sequence[BasisTerm], far: bool = False
    ) -> None:
        """`far`: sizes so large that logarithms outgrow constants; of use where nothing grows faster than a size."""
        points = _grid(function, step, np.random.default_rng(1), FAR if far else POOL_SCALES)
        self._points = points
        # Powers overflow at large sizes, where they are then not watched.
        with np.errstate(all="ignore"):
            self._gains = np.stack([_gain(function, step, element, points) for element in elements], axis=1)
        self._forcing = values(step.forcing, points)

    def worst(self, coefficients: Array, upper: bool, count: int) -> list[dict[str, int]]:
        """Up to `count` points at which the inequality fails most."""
        if not len(self._forcing):
            return []
        with np.errstate(all="ignore"):
            gain = self._gains @ coefficients
            missing = (self._forcing - gain) if upper else (gain - self._forcing)
            scale = np.abs(self._forcing) + np.abs(self._gains * coefficients).max(axis=1) * 1e-3 + 1
            relative = np.nan_to_num(missing / scale, nan=0.0)
        order = [index for index in np.argsort(-relative)[:count] if relative[index] > 1e-9]
        return [{name: int(array[index]) for name, array in self._points.items()} for index in order]


def _gain(function: SizeFunction, step: Transition, element: BasisTerm, points: Points) -> Array:
    gain = values(element.value, points)
    for factor, call in step.calls:
        given = {name: values(value, points) for name, value in sizes_of_call(function, call.arguments).items()}
        gain = gain - values(factor, points) * values(element.value, {**points, **given})
    return gain


def _grid(function: SizeFunction, step: Transition, random: np.random.Generator, scales: tuple[float, ...]) -> Points:
    """Points at which the step's facts hold, each symbol between what its bounds say of it."""
    names = list(step.facts.bounds)
    limits = {name: (step.facts.bounds[name].least, step.facts.bounds[name].most) for name in names}
    wanted = [name for name in names if name in _used(function, step)]
    finite = [name for name in wanted if None not in limits[name]]
    total = 1
    for name in finite:
        total *= max(0, limits[name][1] - limits[name][0] + 1)  # type: ignore[operator]
    if len(finite) == len(wanted) and total <= MAX_LIMIT * MAX_LIMIT:
        grid = list(product(*(range(limits[name][0], limits[name][1] + 1) for name in wanted)))  # type: ignore[arg-type, operator]
        columns = np.array(grid, dtype=float).reshape(len(grid), len(wanted))
        points = {name: columns[:, index] for index, name in enumerate(wanted)}
    else:
        points = {}
        for name in wanted:
            points[name] = _at_ends(step, name, _spread(name, limits[name], random, function, scales), points, random)
    keep = np.ones(len(next(iter(points.values()))), dtype=bool)
    for name in wanted:
        for low in step.facts.bounds[name].lower:
            keep &= points[name] >= values(low, points) - 1e-9
        for high in step.facts.bounds[name].upper:
            keep &= points[name] <= values(high, points) + 1e-9
    for array in points.values():
        keep &= np.isfinite(array)
    return {name: array[keep] for name, array in points.items()}


def _at_ends(step: Transition, name: str, drawn: Array, points: Points, random: np.random.Generator) -> Array:
    """The drawn values, a third of them moved to the least and a third to the greatest that older symbols allow."""
    known = step.facts.bounds[name]
    choice = random.integers(0, 3, len(drawn))
    for which, bounds, rounded, inner in (
        (1, known.lower, np.ceil, np.maximum),
        (2, known.upper, np.floor, np.minimum),
    ):
        ends = [
            rounded(values(each, points) if points else np.full(len(drawn), np.nan))
            for each in bounds
            if each.names and each.names <= set(points)
        ]
        if ends:
            end = ends[0]
            for each in ends[1:]:
                end = inner(end, each)
            drawn = np.where(choice == which, end, drawn)
    return drawn


def _used(function: SizeFunction, step: Transition) -> frozenset[str]:
    sizes = {name for name in function.parameters if name not in function.facts.rewrites}
    return frozenset(sizes | set(function.facts.quotients) | set(step.data) | step.forcing.names)


def _spread(
    name: str,
    limits: tuple[int | None, int | None],
    random: np.random.Generator,
    function: SizeFunction,
    scales: tuple[float, ...],
) -> Array:
    low = limits[0] if limits[0] is not None else -8
    if name in {power.exponent for power in function.facts.powers}:
        high = limits[1] if limits[1] is not None else low + MAX_EXPONENT
        return random.integers(low, high + 1, SIZE * 4).astype(float)
    spread = random.choice(np.array(scales), SIZE * 4)
    drawn = low + np.floor(random.random(SIZE * 4) ** 2 * spread)
    return drawn if limits[1] is None else np.asarray(np.minimum(drawn, limits[1]))
