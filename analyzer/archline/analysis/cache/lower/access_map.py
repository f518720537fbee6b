"""Iterations that are told apart by what they see, and where those of a call lie among those of its caller.

    for i, j, k: B[i, j] -= A[i, k]*B[k, j]        a family of iterations (i, j, k), and what each of them sees
    product(A[h..n, 0..h], B[0..h, :], B[h..n, :])    of a family C[i, j] -= A[i, k]*B[k, j]: those at (h + i, j, k)

A call lies in a family where each element that the family's iterations see by some coordinates is seen by the call's
own, moved by as much in all elements that tell a coordinate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations

from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, Poly
from archline.analysis.cache.lower.hbl import IterationSpace
from archline.ir.layout import ClosedInterval
from archline.ir.tree import Access, Array, Chain, Recursion, View
from archline.records import record, replace

Place = tuple[Array, int]
"""A dimension of an array."""


@record(eq=False)
class Sight:
    """An element that each iteration sees: in which dimensions a coordinate stands, and how much is added to it."""

    array: Array
    told: Mapping[int, tuple[int, Poly]]

    def same(self, other: Sight) -> bool:
        """Whether both see the same element."""
        return self.array is other.array and self.told == other.told


@record(eq=False)
class Family:
    """Iterations that each call of an algorithm runs, no two of them with the same coordinates: how many, in its sizes.

    Its exponents are those of its sights.
    """

    body: IterationSpace
    sights: tuple[Sight, ...]
    coordinates: int

    def alike(self, other: Family) -> bool:
        """Whether iterations of both see the same elements by the same coordinates."""
        pairs = zip(self.sights, other.sights, strict=False)
        return len(self.sights) == len(other.sights) and all(one.same(two) for one, two in pairs)

    def with_(self, other: Family) -> Family:
        """These iterations and others that see the same, none of which have the same coordinates."""
        return replace(self, body=replace(self.body, iterations=self.body.iterations + other.body.iterations))

    def telling(self, coordinate: int) -> Iterator[Place]:
        """The dimensions of arrays in which a coordinate stands."""
        for sight in self.sights:
            yield from ((sight.array, place) for place, (each, _) in sight.told.items() if each == coordinate)


@record(eq=False)
class Placed:
    """The iterations of a call in a family of its caller, and for each coordinate intervals that it lies in."""

    call: Recursion
    iterations: Poly
    ends: tuple[tuple[ClosedInterval, ...], ...]

    def apart_from(self, other: Placed, facts: Facts) -> bool:
        """Whether some coordinate is never the same in both."""
        return any(
            facts.nonnegative(low - hi) or facts.nonnegative(lo - high)
            for ours, theirs in zip(self.ends, other.ends, strict=True)
            for lo, hi in ours
            for low, high in theirs
        )


def seen_by(access: Access, chain: Chain, coordinates: Mapping[int, int]) -> Sight:
    """What an access tells: `coordinates` gives that of a loop, by its place in the chain."""
    told = {}
    for dimension, subscript in enumerate(access.place):
        if subscript is None:
            continue
        inside = [place for place, loop in enumerate(chain) if loop.variable in subscript.names]
        if len(inside) == 1 and inside[0] in coordinates:
            rest = subscript - Poly.symbol(chain[inside[0]].variable)
            if rest.is_constant:
                told[dimension] = coordinates[inside[0]], rest
    return Sight(access.array, told)


@record(eq=False)
class _Shift:
    """By how much a coordinate is moved, and in which interval it lies then."""

    by: Poly
    ends: ClosedInterval


def placed(own: Family, call: Recursion, other: Family, facts: Facts) -> Placed | None:
    """Where the iterations of a call lie among those of its caller; None where that is not known."""
    if own.coordinates != other.coordinates:
        return None
    for order in permutations(range(own.coordinates)):
        found = _shifted(own.sights, call, other, order, facts)
        if found is not None:
            ends = tuple(tuple(each.ends for each in found[coordinate]) for coordinate in range(own.coordinates))
            values = {name: facts.restore(size) for name, size in call.sizes.items()}
            return Placed(call, other.body.iterations.substitute(values), ends)
    return None


def _shifted(
    sights: Sequence[Sight], call: Recursion, other: Family, order: Sequence[int], facts: Facts
) -> dict[int, list[_Shift]] | None:
    """How each coordinate is moved, one shift for each time that it stands somewhere; all are by as much."""
    if not sights:
        return {}
    found = _shifted(sights[1:], call, other, order, facts)
    if found is None:
        return None
    for seen in other.sights:
        own = _shifts(sights[0], call, seen, order, facts)
        if own is not None:
            joint = {key: [*own.get(key, ()), *found.get(key, ())] for key in (*own, *found)}
            if all(each.by == shifts[0].by for shifts in joint.values() for each in shifts):
                return joint
    return None


def _shifts(
    sight: Sight, call: Recursion, seen: Sight, order: Sequence[int], facts: Facts
) -> dict[int, list[_Shift]] | None:
    """How the coordinates of an element are moved, if it is that element which the call sees."""
    view = call.views.get(seen.array.name)
    if view is None or not in_its_place(view, sight.array):
        return None
    found: dict[int, list[_Shift]] = {}
    for dimension, (coordinate, off) in sight.told.items():
        start, told = view.starts[dimension], seen.told.get(dimension)
        if start is None or told is None or order[told[0]] != coordinate:
            return None
        ends = start - off, start - off + view.extents[dimension]
        found.setdefault(coordinate, []).append(_Shift(facts.simplify(start - off + told[1]), ends))
    return found


def in_its_place(view: View, array: Array) -> bool:
    """Whether a view is a part of an array, and not of a transposed one or of some of its rows only."""
    return view.array is array and view.exact and view.axes == straight(array)


def straight(array: Array) -> tuple[tuple[int, Poly], ...]:
    """The axes of an array as it is."""
    return tuple((dimension, ONE) for dimension in range(len(array.extents)))
