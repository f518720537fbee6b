"""Which accesses are one reference: those to places in one row of an array that are near each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from archline.algebra.facts import Facts
from archline.analysis.cache.footprint.upper import Reference
from archline.ir.layout import ClosedInterval
from archline.ir.tree import Access, Array, Chain, contiguous_dimension

MAX_APART = 8
"""References to one row in one loop body are one where their places differ by constants no larger than this."""


def references(found: Iterator[tuple[Access, Chain]], facts: Facts, traffic: bool = False) -> list[Reference]:
    """Accesses by array and loops; those whose places differ by small constants are one reference.

    Of `traffic`, lines that are written move twice: they are fetched and written back.
    """
    groups: list[tuple[Array, Chain, list[Access], list[int]]] = []
    for order, (access, chain) in enumerate(found):
        for array, loops, members, orders in groups:
            if array is access.array and loops == chain and _near(access, members, contiguous_dimension(array)):
                members.append(access)
                orders.append(order)
                break
        else:
            groups.append((access.array, chain, [access], [order]))
    return [
        Reference(
            array,
            _joint(array, members),
            chain,
            facts,
            tuple(members),
            tuple(orders),
            moves=2 if traffic and any(each.written for each in members) else 1,
        )
        for array, chain, members, orders in groups
    ]


def _near(access: Access, members: Sequence[Access], along: int) -> bool:
    """Whether a place is in the row of others, and near."""
    first = members[0]
    # What the data decides twice are two places, but for one that moves along a row.
    same = access.walk is not None and access.walk == first.walk
    for dimension, (own, other) in enumerate(zip(access.place, first.place, strict=True)):
        if own is None or other is None:
            if own is not other or dimension != along or not same:
                return False
            continue
        apart = own - other
        if not apart.is_constant or abs(apart.constant_term) > (MAX_APART if dimension == along else 0):
            return False
    return True


def _joint(array: Array, members: Sequence[Access]) -> tuple[ClosedInterval | None, ...]:
    found: list[ClosedInterval | None] = []
    for dimension in range(len(array.extents)):
        places = [member.place[dimension] for member in members]
        known = [place for place in places if place is not None]
        if len(known) < len(places):
            walk, part = members[0].walk, members[0].parts[dimension]
            found.append(part if walk is None or dimension != contiguous_dimension(array) else walk.bounds)
            continue
        shifts = [(place - known[0]).constant_term for place in known]
        found.append((known[0] + min(shifts), known[0] + max(shifts)))
    return tuple(found)
