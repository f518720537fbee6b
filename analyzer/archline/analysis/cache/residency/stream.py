"""Units of places that the data moves one way along a row: the line where they are, or those between them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from archline.algebra import atoms as a
from archline.algebra.polynomial import ONE, Poly
from archline.analysis.cache.footprint.union import Union
from archline.analysis.cache.footprint.upper import Reference
from archline.analysis.cache.residency.base import Resident, known, rows_of
from archline.ir.factored import Product
from archline.ir.layout import LINE
from archline.ir.tree import contiguous_dimension


def passing(reference: Reference) -> Resident | None:
    """The line at which an integer of the data points that moves one way through a row."""
    depth = walked(reference)
    if depth is None:
        return None
    return known(Resident((reference,), reference.chain[depth], partial(_passed, depth), fit=lambda _: True))


def walking(references: Sequence[Reference]) -> Resident | None:
    """Places that move along a row together, and where they begin and end: the lines from the first to the last."""
    moving = [each for each in references if walked(each) is not None]
    array, depths = references[0].array, {walked(each) for each in moving}
    if len(depths) != 1 or len({course(each) for each in moving}) > 1 or array.layout == "zmorton" or array.moves:
        return None
    (depth,) = depths
    if depth is None:
        return None
    shifts = [_shift(each, moving, depth) for each in references]
    known_shifts = [each for each in shifts if each is not None]
    if len(known_shifts) < len(shifts):
        return None
    loop, words = moving[0].chain[depth], max(known_shifts) - min(known_shifts)
    # Lines are held from before the loop to behind it, if something is accessed there.
    around = loop if len(moving) == len(references) else moving[0].chain[depth - 1] if depth else None
    return known(Resident(tuple(references), around, partial(_passed_together, depth, words), fit=lambda _: True))


def walked(reference: Reference) -> int | None:
    """The depth of the loop through which the places of a reference move one way, where it is around them."""
    walk, variables = reference.walk, [loop.variable for loop in reference.chain]
    return variables.index(walk.loop) if walk is not None and walk.loop in variables else None


def course(reference: Reference) -> object:
    """What places that move along a row together have in common."""
    walk = reference.walk
    return id(reference) if walk is None else (walk.loop, walk.course, rows_of(reference), *map(id, reference.chain))


def _shift(reference: Reference, moving: Sequence[Reference], depth: int) -> int | None:
    """How far a place is from others that move, as they begin or end or all the time; None where that is not known."""
    walk, first = reference.walk, moving[0].walk
    if reference in moving:
        return None if walk is None else walk.shift
    if first is None or reference.chain != moving[0].chain[:depth] or rows_of(reference) != rows_of(moving[0]):
        return None
    if walk is not None and walk.rests and (walk.loop, walk.course) == (first.loop, first.course):
        return walk.shift
    place = reference.place[contiguous_dimension(reference.array)]
    if (
        place is None
        or place[0] != place[1]
        or first.first is None
        or max(reference.order) > min(number for each in moving for number in each.order)
    ):
        return None
    apart = place[0] - first.first
    return first.shift + int(apart.constant_term) if apart.is_constant and apart.constant_term.q == 1 else None


def _passed(depth: int, references: tuple[Reference, ...]) -> tuple[Product, Product]:
    """Each line of the row once every time that the loop runs."""
    (reference,) = references
    return Product((ONE,)), reference.lines(depth).total


def _passed_together(depth: int, words: int, references: tuple[Reference, ...]) -> tuple[Product, Product]:
    return Product((a.ceil_div(Poly.constant(words), LINE) + 1,)), Union(references, depth).total
