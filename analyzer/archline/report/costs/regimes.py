"""What fits into the cache in a regime, in words: `3 lines`, `a row of A`, `a block of A, x`, `B fits`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import inf, prod
from operator import itemgetter

from archline.algebra.evaluate.exact import evaluate
from archline.algebra.polynomial import Poly
from archline.analysis.cost import ConditionalBound, Residency
from archline.expr.intervals import EvaluationError

CACHE = frozenset(("Z", "L"))
LINE = 8
LARGE, SMALL = (12000, 1512), (520, 40)
"""Where regimes are compared: the first extent of arrays and how far others are apart, and sizes that no array has."""
LENGTHS = (*range(1, 65), 2**20)
"""Lengths of lines at which numbers of lines that depend on them alone are looked at."""
LITTLE = 20
"""What is less than this part of the largest is not named."""
NEARLY, FEW = 0.04, 4
"""So near are lines to those of a part that they are the same."""
COUNTS = ("a {}", "two {}s", "three {}s", "four {}s")


def what_fits(regime: ConditionalBound) -> str:
    """The parts of arrays whose lines stay in the cache for reuse, the largest first; or how many lines there are."""
    if any(need == Poly.symbol("Z") - Poly.symbol("L") * regime.upper for need in regime.needs):
        return "all fits"
    if is_constant(regime):
        return _counted(regime)
    point = point_of((regime,))
    parts = [_part(lines, kept, point) for lines, kept in _together(regime, point)]
    if not parts:
        return "parts of arrays"
    *before, last = (template.format(array) for template, array in parts)
    if any(template != "{}" for template, _ in parts):
        return ", ".join((*before, last))
    return f"{', '.join(before)} and {last} fit" if before else f"{last} fits"


def is_constant(regime: ConditionalBound) -> bool:
    """Whether so many lines are needed at all sizes."""
    return all(need.names <= CACHE for need in regime.needs)


def point_of(regimes: Iterable[ConditionalBound]) -> dict[str, int]:
    """Sizes at which regimes are compared: arrays are large, blocks smaller, no two alike."""
    values = [value for each in regimes for value in (each.upper, *each.needs)]
    extents = {name for each in regimes for kept in each.kept for extent in kept.extents for name in extent.names}
    names = sorted({name for value in values for name in value.names} - CACHE)
    point = {name: _size(place, *(LARGE if name in extents else SMALL)) for place, name in enumerate(names)}
    return {**point, "L": LINE, "Z": 0}


def _size(place: int, first: int, apart: int) -> int:
    return first + apart * place


def words(regime: ConditionalBound, point: Mapping[str, int]) -> float:
    """The words that it needs at sizes."""
    return max(-_value(need, point) for need in regime.needs)


def bound(regime: ConditionalBound, point: Mapping[str, int]) -> float:
    """What it fetches at most there."""
    return _value(regime.upper, point)


def _value(value: Poly, point: Mapping[str, int]) -> float:
    try:
        return float(evaluate(value, point))
    except (EvaluationError, OverflowError):
        return inf


def _counted(regime: ConditionalBound) -> str:
    """Numbers of lines, for lines of all lengths."""
    found = {int(words(regime, {"L": length, "Z": 0})) // length for length in LENGTHS}
    least, most = min(found), max(found)
    return f"{least} to {most} lines" if least < most else f"{most} lines" if most > 1 else "a line"


def _together(regime: ConditionalBound, point: Mapping[str, int]) -> Iterator[tuple[float, Residency]]:
    """The lines of each array that a regime keeps resident, in descending order; the largest where units differ."""
    held: dict[str, list[tuple[float, Residency]]] = {}
    for each in regime.kept:
        if not each.held.names <= CACHE:
            held.setdefault(each.array, []).append((_value(each.held, point), each))
    left = most = words(regime, point) / LINE
    largest = {array: max(own, key=itemgetter(0)) for array, own in held.items()}
    of_all = {array: sum(lines for lines, _ in own) for array, own in held.items()}
    found = [(all_ if (all_ := of_all[array]) <= most else lines, kept) for array, (lines, kept) in largest.items()]
    for lines, kept in sorted(found, key=itemgetter(0), reverse=True):
        if left >= lines >= most / LITTLE:
            left -= lines
            yield lines, kept


def _part(lines: float, kept: Residency, point: Mapping[str, int]) -> tuple[str, str]:
    """What part of an array so many lines are, and the array."""
    units = {name: size for name, size in _parts(kept, point) if abs(lines - size) <= max(FEW, NEARLY * size)}
    return min(units, key=lambda name: abs(lines / units[name] - 1), default="part of {}"), kept.array


def _parts(kept: Residency, point: Mapping[str, int]) -> Iterator[tuple[str, float]]:
    """Parts of an array that have a name, with their lines."""
    extents = [_value(extent, point) for extent in kept.extents]
    row = -(-extents.pop(kept.along) // LINE)
    yield "{}", prod(extents) * row
    yield "half of {}", prod(extents) * row / 2
    # Of k*b rows, b may be those of a block.
    whole = {name for extent in kept.extents for name in extent.names if extent.names == {name}}
    blocks = sorted(kept.held.names - CACHE - whole)
    sides = [(name, point[name], -(-point[name] // LINE)) for name in blocks]
    if not extents:
        yield from (("a block of {}", wide) for _, _, wide in sides)
        return
    for number, text in enumerate(() if blocks else COUNTS, start=1):
        yield text.format("row") + " of {}", number * row
        for extent in extents:
            yield "a column and a row of {}", extent + row
            yield text.format("column") + " of {}", number * extent
            if len(extents) > 1:
                yield text.format("plane") + " of {}", number * extent * row
    for name, side, wide in sides:
        yield f"{name} rows of {{}}", side * row
        yield "a row of a block of {}", wide
        yield "a column of a block of {}", side
        yield from ((f"{name} columns of {{}}", extent * wide) for extent in extents)
        yield from (("a block of {}", other * wide) for _, other, _ in sides)
