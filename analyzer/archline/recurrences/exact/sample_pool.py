"""Many points at which a step's inequality is watched, so that few of them need stand in the linear program."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from archline.algebra.evaluate.floats import Array, Points, values
from archline.recurrences.exact.at_call import sizes_of_call
from archline.recurrences.exact.basis import Element
from archline.recurrences.exact.transitions import Transition
from archline.recurrences.model import Function

SIZE = 1_500
SCALES = (4.0, 12.0, 40.0, 150.0, 1e3, 3e4)
FAR = (4.0, 40.0, 1e3, 1e9, 1e30, 1e60)
MAX_EXPONENT = 20
MAX_LIMIT = 200


class Pool:
    """Points of one step: what every element gains there less what it does at the calls, and what is added."""

    def __init__(self, function: Function, step: Transition, elements: Sequence[Element], far: bool = False) -> None:
        """`far`: sizes so large that logarithms outgrow constants; of use where nothing grows faster than a size."""
        points = _points(function, step, np.random.default_rng(1), FAR if far else SCALES)
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


def _gain(function: Function, step: Transition, element: Element, points: Points) -> Array:
    gain = values(element.value, points)
    for factor, call in step.calls:
        given = {name: values(value, points) for name, value in sizes_of_call(function, call.arguments).items()}
        gain = gain - values(factor, points) * values(element.value, {**points, **given})
    return gain


def _points(function: Function, step: Transition, random: np.random.Generator, scales: tuple[float, ...]) -> Points:
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
            points[name] = _at_ends(step, name, _drawn(name, limits[name], random, function, scales), points, random)
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


def _used(function: Function, step: Transition) -> frozenset[str]:
    sizes = {name for name in function.parameters if name not in function.facts.rewrites}
    return frozenset(sizes | set(function.facts.quotients) | set(step.data) | step.forcing.names)


def _drawn(
    name: str,
    limits: tuple[int | None, int | None],
    random: np.random.Generator,
    function: Function,
    scales: tuple[float, ...],
) -> Array:
    low = limits[0] if limits[0] is not None else -8
    if name in {power.exponent for power in function.facts.powers}:
        high = limits[1] if limits[1] is not None else low + MAX_EXPONENT
        return random.integers(low, high + 1, SIZE * 4).astype(float)
    spread = random.choice(np.array(scales), SIZE * 4)
    drawn = low + np.floor(random.random(SIZE * 4) ** 2 * spread)
    return drawn if limits[1] is None else np.asarray(np.minimum(drawn, limits[1]))
