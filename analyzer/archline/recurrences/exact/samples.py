"""Select the sizes at which to test a recurrence: small, odd, unequal and large ones that its declaration allows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import ceil
from random import Random
from typing import Concatenate, ParamSpec, TypeVar

from archline.algebra.evaluate.exact import evaluate
from archline.algebra.facts import Facts
from archline.expr.intervals import EvaluationError, Point
from archline.expr.solutions import SizeSearch
from archline.records import field, record
from archline.recurrences.evaluate import FunctionCases
from archline.recurrences.model import Equation, SizeFunction

P = ParamSpec("P")
T = TypeVar("T")
MAGNITUDES = (8, 20, 70, 300, 1_000, 5_000)
NUM_MAGNITUDES_SEVERAL_SIZES = 4
NUM_RANDOM_DRAWS = 400
MAX_CORNER_SIZE = 1_000
MAX_VARIED_SIZES = 3
MAX_CACHED_SETS = 64
"""The maximum number of cached sets of points."""


_EquationAtPoint = tuple[Equation, dict[str, int | Fraction]]
_IndexedPoint = tuple[int, dict[str, int | Fraction]]
"""The index of the equation that applies at a point, and the point."""


@record
class _FunctionShape:
    """The parts of a function that determine its sample points, the same for all metrics of an algorithm."""

    key: tuple[object, ...]
    function: SizeFunction = field(compare=False)

    @classmethod
    def from_function(cls, function: SizeFunction) -> _FunctionShape:
        parts = (part for equation in function.equations for part in (equation.decisions, equation.facts))
        fixed = function.algorithm, function.facts, function.parameters, tuple(function.least.items()), function.where
        return cls((*fixed, *parts), function)


def _cache_by_shape(
    generate: Callable[Concatenate[SizeFunction, P], Iterator[T]],
) -> Callable[Concatenate[SizeFunction, P], tuple[T, ...]]:
    """Cache the results of a generator for all functions of the same shape."""

    @lru_cache(maxsize=MAX_CACHED_SETS)
    def compute_cached(shape: _FunctionShape, *positional: P.args, **named: P.kwargs) -> tuple[T, ...]:
        return tuple(generate(shape.function, *positional, **named))

    def cached_for(function: SizeFunction, /, *positional: P.args, **named: P.kwargs) -> tuple[T, ...]:
        return compute_cached(_FunctionShape.from_function(function), *positional, **named)  # type: ignore[arg-type]

    return cached_for


@lru_cache(maxsize=MAX_CACHED_SETS)
def _compile_cases(shape: _FunctionShape) -> FunctionCases:
    """Return the compiled equations of a shape; an equation has the same index in all functions of this shape."""
    return FunctionCases(shape.function)


def sample_points(function: SizeFunction, each: int, seed: int = 0) -> tuple[_EquationAtPoint, ...]:
    """Return up to `each` points for every equation, with the equation that applies there.

    `seed` is that of the random sizes.
    """
    return tuple((function.equations[place], point) for place, point in _iterate_points(function, each, seed))


@_cache_by_shape
def _iterate_points(function: SizeFunction, each: int, seed: int) -> Iterator[_IndexedPoint]:
    cases, search = _compile_cases(_FunctionShape.from_function(function)), _build_size_search(function)
    places = {equation: place for place, equation in enumerate(cases.function.equations)}
    counts = [0] * len(places)
    for sizes in search.iterate_solutions(_draw_sizes(function, seed)):
        try:
            equation, point = cases.find_equation_at(tuple(sizes.values()))
        except EvaluationError:
            continue
        place = places[equation]
        if counts[place] < each:
            counts[place] += 1
            yield place, point
        if all(count >= each for count in counts):
            return


def _build_size_search(function: SizeFunction) -> SizeSearch:
    return SizeSearch(function.parameters, function.where, function.least)


@_cache_by_shape
def iterate_points_near_leaves(function: SizeFunction) -> Iterator[Point]:
    """Iterate over points with sizes of about twice the largest leaf of fixed size, some sizes at their minimum.

    The size 2*leaf - 1 is halved to the largest leaves; one half of 2*leaf + 1 is halved again, to the smallest.
    """
    names = function.sizes
    leaf = max((_find_largest_leaf_size(function, name) for name in names), default=0)
    if not leaf or len(names) not in range(2, MAX_VARIED_SIZES + 1) or len(names) != len(function.parameters):
        return
    cases, search = _compile_cases(_FunctionShape.from_function(function)), _build_size_search(function)
    for size in (2 * leaf - 1, 2 * leaf + 1):
        for choice in product((True, False), repeat=len(names)):
            ends = zip(names, choice, strict=True)
            sizes = {name: size if chosen else function.least.get(name, 1) for name, chosen in ends}
            if any(choice) and search.is_allowed(sizes):
                # A function restricted to some cases may have no equation there.
                with suppress(EvaluationError):
                    yield cases.find_equation_at(tuple(sizes.values()))[1]


def _find_largest_leaf_size(function: SizeFunction, name: str) -> int:
    """Return the largest value of a size in base cases; 0 if a base case does not bound it."""
    limits = [equation.facts.bounds[name].maximum for equation in function.equations if not equation.recursive]
    return 0 if None in limits else max((limit for limit in limits if limit is not None), default=0)


@_cache_by_shape
def iterate_points_of_magnitude(
    function: SizeFunction, exponent: int, others: tuple[int | None, ...] = (None,)
) -> Iterator[Point | None]:
    """Iterate over points for each choice of sizes that are about 2^exponent; None for points that are not allowed.

    `others` are the exponents of the remaining sizes, None for the smallest value of a size.
    """
    names = function.parameters
    cases, search = _compile_cases(_FunctionShape.from_function(function)), _build_size_search(function)
    for choice in product((*others, exponent), repeat=len(names)):
        if len(names) > MAX_VARIED_SIZES or exponent not in choice:
            continue
        requested = {
            name: function.least.get(name, 1) if scale is None else 2**scale + 3
            for name, scale in zip(names, choice, strict=True)
        }
        sizes = search.find_nearest(requested)
        is_near = sizes is not None and all(value <= 4 * sizes[name] <= 16 * value for name, value in requested.items())
        try:
            yield (
                cases.find_equation_at(tuple(sizes[name] for name in names))[1]
                if sizes is not None and is_near
                else None
            )
        except EvaluationError:
            yield None


def _draw_sizes(function: SizeFunction, seed: int) -> Iterator[dict[str, int]]:
    names = function.parameters
    powers = {power.name: power.every for power in function.facts.powers}
    random = Random(seed)
    scales = MAGNITUDES if len(names) == 1 else MAGNITUDES[:NUM_MAGNITUDES_SEVERAL_SIZES]
    if not seed:
        ends = [_find_small_values(function, name, powers.get(name)) for name in names]
        corners = list(product(*ends))
        random.shuffle(corners)
        # If all sizes are just above those of leaves, bounds of leaves matter most.
        for values in (tuple(values_of_size[-1] for values_of_size in ends), *corners):
            yield dict(zip(names, values, strict=True))
    for index in range(NUM_RANDOM_DRAWS):
        same = random.randrange(3) == 0
        scale = scales[index % len(scales)]
        value = 1 + random.randrange(scale)
        limits = 3, 20, scale
        yield {
            name: _draw_value(
                random, value if same else 1 + random.randrange(limits[random.randrange(3)]), powers.get(name)
            )
            for name in names
        }


def _draw_value(random: Random, value: int, every: int | None) -> int:
    """Return the value; for a size that is a power of 2^every, such a power near it or of random magnitude."""
    if every is None:
        return value
    exponent = random.randint(0, max(1, 24 // every)) if random.random() < 0.5 else value.bit_length() // every
    return 1 << (every * exponent)


def _find_small_values(function: SizeFunction, name: str, every: int | None) -> tuple[int, ...]:
    """Return the smallest values of a size, and those at the constant bounds of cases.

    If the size is 2^(every*k) (`every` is not None), return its seven smallest values.
    """
    if every is not None:
        return tuple(2 ** (every * k) for k in range(7))
    minimum = function.least.get(name, -2)
    values = {minimum + offset for offset in (0, 1, 2)}
    for equation in function.equations:
        bounds = equation.facts.bounds.get(name)
        for bound in (*bounds.lower, *bounds.upper) if bounds else ():
            if bound.is_constant and bound.constant_term <= MAX_CORNER_SIZE:
                values |= {int(bound.constant_term.ceil()), int(bound.constant_term.ceil()) + 1}
    return tuple(sorted(value for value in values if value >= minimum))


def add_minimum_data(names: Sequence[str], facts: Facts, point: Point) -> Point:
    """Add the minimum values of data symbols (`names`) to a point; if one is unknown, return the point unchanged."""
    full = dict(point)
    for name in names:
        try:
            full[name] = max(ceil(evaluate(bound, full)) for bound in facts.bounds[name].lower)
        except (EvaluationError, ValueError):
            return point
    return full
