"""What is tried to claim of an array that calls are given: that they touch all of it, or what their leaves touch.

A recursion by indices is given its arrays whole, and says by indices what a call works on. A leaf that touches
u[t1%2, x0..x1] where t1 - t0 is 1 may be the last of calls that all touch u[(t0 + 1)%2, x0..x1].
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations
from math import gcd

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ZERO, Poly
from archline.analysis.cache.footprint.windows import slope_of
from archline.analysis.cache.summaries.regions import Box, Half, MustTouchRegion
from archline.ir.tree import Array, contiguous_dimension

MAX_BOXES = 12
"""Of so many parts that leaves touch each is tried."""


def of_whole(array: Array) -> list[MustTouchRegion]:
    """Claims of all of an array, one to be tried after the other."""
    dimensions = len(array.extents)
    none, ones, twos = (0,) * dimensions, (1,) * dimensions, (2,) * dimensions
    single = [(*ones[:place], 2, *ones[place + 1 :]) for place in range(dimensions)]
    found = [MustTouchRegion(each) for each in dict.fromkeys((none, ones, *single, twos))]
    if dimensions == 2 and array.extents[0] == array.extents[1]:
        halves: tuple[Half, ...] = ("lower", "upper")
        found += [MustTouchRegion(none, half=half, beside=beside) for beside in (False, True) for half in halves]
    return [*found, *(MustTouchRegion(none, *margins) for margins in ((1, 0), (0, 1), (1, 1)))]


def of_boxes(boxes: Iterable[Box], known: Sequence[Poly], names: Iterable[str], facts: Facts) -> list[MustTouchRegion]:
    """Claims of boxes that a leaf touches, also as they are by other indices where `known`, at least 0, says so."""
    largest = _largest(dict.fromkeys(boxes), facts.nonnegative)
    equal = list(_equal(known))
    found: dict[Box, None] = {}
    for box in largest[:MAX_BOXES]:
        for name, value in (("", ZERO), *equal):
            own = tuple((lo.substitute({name: value}), hi.substitute({name: value})) for lo, hi in box)
            if all(end.names.issubset(names) and facts.restore(end) == end for ends in own for end in ends):
                found[own] = None
    return [MustTouchRegion((0,) * len(own), own=own) for own in found]


def _largest(boxes: Iterable[Box], nonnegative: Callable[[Poly], bool]) -> list[Box]:
    """Those that lie in no other one."""
    found: list[Box] = []
    for box in boxes:
        if not any(_within(box, other, nonnegative) for other in found):
            found = [*(other for other in found if not _within(other, box, nonnegative)), box]
    return found


def _within(one: Box, other: Box, nonnegative: Callable[[Poly], bool]) -> bool:
    pairs = zip(one, other, strict=True)
    return all(nonnegative(lo - low) and nonnegative(high - hi) for (lo, hi), (low, high) in pairs)


def _equal(known: Sequence[Poly]) -> Iterator[tuple[str, Poly]]:
    """Indices that are a sum of others, where all of `known` are at least 0."""
    for one, other in combinations(known, 2):
        if one + other == ZERO:
            for name in sorted(one.names):
                slope = slope_of(one, name)
                if slope is not None and slope * slope == Poly.constant(1):
                    yield name, Poly.symbol(name) - one * slope


# Claims that count together
def in_rows_apart(array: Array, claims: Iterable[MustTouchRegion], facts: Facts) -> list[MustTouchRegion]:
    """Some claims no two of which are of the same line, the first one among them."""
    found: list[MustTouchRegion] = []
    for claim in claims:
        if all(_rows_apart(array, claim, other, facts) for other in found):
            found.append(claim)
    return found


def _rows_apart(array: Array, one: MustTouchRegion, other: MustTouchRegion, facts: Facts) -> bool:
    if one.own is None or other.own is None or array.layout == "zmorton":
        return False
    for dimension, ((lo, hi), (low, high)) in enumerate(zip(one.own, other.own, strict=True)):
        single = hi - lo == high - low == Poly.constant(1)
        apart = facts.nonnegative(low - hi) or facts.nonnegative(lo - high) or (single and _differ(lo, low))
        if apart and dimension != contiguous_dimension(array):
            return True
    return False


def _differ(one: Poly, other: Poly) -> bool:
    """Whether two integers are never equal, as their difference has a remainder: t%2 and (t + 1)%2."""
    difference = one - other
    rest = difference - difference.constant_term
    if not a.is_integral(rest):
        return False
    divisor, remainder = gcd(*(int(factor.p) for factor in rest.terms.values())), difference.constant_term
    return remainder != 0 if divisor == 0 else remainder.q == 1 and int(remainder.p) % divisor != 0
