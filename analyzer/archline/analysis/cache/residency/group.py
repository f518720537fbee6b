"""Units of several references to one array: windows kept as one, a row and what follows it, lines that are pinned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from archline.algebra.polynomial import ONE, Poly
from archline.analysis.cache.footprint.union import Union, Unions
from archline.analysis.cache.footprint.upper import Reference
from archline.analysis.cache.footprint.windows import slope_of
from archline.analysis.cache.residency.base import Resident, all_lines, classes_of, known, of_its_own, of_sizes, shared
from archline.ir.factored import Product, UnboundedError
from archline.ir.tree import Loop, contiguous_dimension
from archline.records import record


def as_one(unions: Unions, depth: int) -> Resident | None:
    """References to one array kept as one through a loop that they share."""
    references = unions.references
    chain, array = references[0].chain[:depth], references[0].array
    if array.layout == "zmorton" or array.moves or array.strided:
        return None
    union = unions.at(depth)
    try:
        with of_its_own():
            slides = depth > 0 and union.slides(chain[-1])
    except UnboundedError:
        return None
    splitting = partial(classes_of, references, union.spread, chain)
    loop = chain[-1] if depth else None
    held, fit = partial(_held_together, depth, slides, unions=unions), partial(_slide_together, depth, slides)
    return known(Resident(references, loop, held, splitting=splitting, fit=fit))


def _held_together(
    depth: int, slides: bool, references: tuple[Reference, ...], unions: Unions
) -> tuple[Product, Product]:
    space = unions.at(depth, references).largest
    return space, unions.at(depth - 1 if slides else depth, references).total


def _slide_together(depth: int, slides: bool, references: tuple[Reference, ...]) -> bool:
    """Whether windows of several references slide where they are to."""
    return not slides or Union(references, depth).slides(references[0].chain[depth - 1])


def continued(references: Sequence[Reference]) -> Resident | None:
    """A row read by the innermost loop, and behind it the element that follows: the one line of the last access."""
    try:
        row, after = sorted(references, key=lambda each: -len(each.chain))
    except ValueError:
        return None
    array, chain = row.array, after.chain
    if row.chain[:-1] != chain or not chain or array.layout == "zmorton" or array.moves or array.strided:
        return None
    inner, along = row.chain[-1], contiguous_dimension(array)
    if row.order[-1] > after.order[0] or inner.trips != inner.hi - inner.lo:
        return None
    for dimension, (moving, still) in enumerate(zip(row.place, after.place, strict=True)):
        if moving is None or still is None or moving[0] != moving[1] or still[0] != still[1]:
            return None
        end = moving[0].substitute({inner.variable: inner.hi})
        behind = slope_of(moving[0], inner.variable) == ONE if dimension == along else end == moving[0]
        if not behind or end != still[0]:
            return None
    return known(Resident((row, after), chain[-1], partial(_in_a_row, len(chain)), fit=lambda _: True))


def _in_a_row(depth: int, references: tuple[Reference, ...]) -> tuple[Product, Product]:
    """Each line of the row, and of what follows, once every time."""
    return Product((ONE,)), Union(references, depth).total


@record(eq=False)
class Pin:
    """What spare lines do for the units of an array: of `lines` touched in each of `windows`, some stay for all of it.

    With f of them, those that are fetched most, the units fetch at most misses*(1 - f/lines) + f*windows.
    """

    loop: Loop | None
    lines: Poly
    windows: Poly


def pins(references: Sequence[Reference]) -> Iterator[Pin]:
    """The windows around all references to an array in which lines of it may be pinned."""
    chain = shared(references)
    for depth in range(len(chain) + 1):
        try:
            lines = of_sizes(all_lines(references, depth).at_most(chain[:depth]), references[0].facts).value
            windows = of_sizes(Product((ONE,)).over(chain[:depth]), references[0].facts).value
        except UnboundedError:
            continue
        yield Pin(chain[depth - 1] if depth else None, lines, windows)
