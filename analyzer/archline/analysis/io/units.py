"""Units: references that share lines of the cache, the lines that they need, and the lines that are fetched for them.

A unit keeps, at any time, the lines that the current window of its loop has touched: what the window before touched and
this one touches too is not fetched again. Any choice of units whose lines fit together is a way to run the program, and
optimal replacement fetches no more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from archline.algebra.polynomial import ONE, ZERO, Poly
from archline.analysis.io.accesses import Chain, Loop
from archline.analysis.io.footprint import Reference, box_lines, contiguous, slope
from archline.analysis.io.product import Product, UnboundedError
from archline.analysis.io.unions import Union


@dataclass(frozen=True, eq=False)
class Unit:
    """`space` lines are held while `loop` runs (None: throughout), and `misses` lines are fetched in all.

    A scratch unit has no line of its own: one that all such share is fetched at every access. `classes` are ways to
    split the lines: at most so many of a class are held at a time, and there are so many classes.
    """

    references: tuple[Reference, ...]
    loop: Loop | None
    space: Poly
    misses: Poly
    scratch: bool = False
    classes: tuple[tuple[Poly, Poly], ...] = field(default=(), repr=False)

    @property
    def name(self) -> str:
        """The array's name."""
        return self.references[0].name


def alone(reference: Reference) -> Iterator[Unit]:
    """The ways to keep one reference: through any loop around it, throughout, or not at all."""
    chain = reference.chain
    for depth in range(len(chain) + 1):
        try:
            lines = reference.lines(depth)
            space = lines.count.at_most(chain[:depth]).value
            classes = _classes([reference], lines.spread(), chain[:depth])
            for start, misses in _misses(reference, depth):
                yield Unit((reference,), chain[start] if depth else None, space, misses, classes=classes)
        except UnboundedError:
            continue
    try:
        yield from one_line(reference)
        accesses = Product((Poly.constant(len(reference.accesses)),)).over(chain)
    except UnboundedError:
        return
    yield Unit((reference,), None, ONE, accesses.value, scratch=True)


def _misses(reference: Reference, depth: int) -> Iterator[tuple[int, Poly]]:
    """Lines fetched where windows at a depth are kept, and the depth of the loop through which they are."""
    chain, lines = reference.chain, reference.lines(depth)
    if not depth or not lines.slides:
        yield max(0, depth - 1), lines.count.over(chain[:depth]).value
        return
    start = depth - 1
    yield start, reference.lines(start).count.over(chain[:start]).value
    while start and _stacked(reference, start):
        start -= 1
        yield start, reference.lines(start).count.over(chain[:start]).value


def one_line(reference: Reference) -> Iterator[Unit]:
    """A row's neighbours, read one after the other in the innermost loop, kept as the one line of the last access.

    Of w neighbours, from the first to the last in each iteration, w - 1 iterations reach across the end of a line;
    each fetches the next line, and all but the last of them the line before it again.
    """
    chain, along = reference.chain, contiguous(reference.array)
    if not chain or reference.array.layout == "zmorton" or reference.array.moves or None in reference.place:
        return
    offsets = [place[along] for place in reference.in_order]
    width = len(offsets)
    ascending = offsets == list(range(offsets[0], offsets[0] + width))
    rows = {(*place[:along], *place[along + 1 :]) for place in reference.in_order}
    inner = chain[-1]
    place = reference.place[along]
    lines = reference.lines(len(chain) - 1)
    assert place is not None
    if width < 2 or not ascending or len(rows) > 1 or lines.apart:
        return
    if slope(place[0], inner) != ONE:
        return
    depth = len(chain) - 1
    count = lines.count.value
    again = count.scaled(2 * width - 3)
    if inner.facts.positive(count):
        again = again - (2 * width - 4)
    fetched = Product((again,)).over(chain[:depth])
    yield Unit((reference,), inner, ONE, fetched.value)


def _stacked(reference: Reference, depth: int) -> bool:
    """Whether the windows at a depth are parts of one row, each behind the one before it."""
    array, loop = reference.array, reference.chain[depth - 1]
    if array.local and array.moves or array.layout == "zmorton" or None in reference.place:
        return False
    hull, along = reference.hull(depth), (0 if array.layout == "colmajor" else len(array.extents) - 1)
    inner = reference.chain[depth]
    moving = {loop.variable, inner.variable}
    rows = [interval for each, interval in enumerate(reference.hull(depth + 1)) if each != along]
    if any(moving & end.names for interval in rows for end in interval):
        return False
    ends = reference.hull(depth + 1)[along]
    facts = inner.facts.with_symbol(inner.variable, (inner.lo,), (inner.hi - 2,))
    after = {inner.variable: Poly.symbol(inner.variable) + 1}
    rises = all(facts.nonnegative(end.substitute(after) - end) for end in ends)
    low, high = hull[along]
    following = low.substitute({loop.variable: Poly.symbol(loop.variable) + 1})
    facts = loop.facts.with_symbol(loop.variable, (loop.lo,), (loop.hi - 2,))
    return rises and facts.nonnegative(following - high)


def together(references: Sequence[Reference], depth: int) -> Unit | None:
    """References to one array kept as one through a loop that they share."""
    chain = references[0].chain[:depth]
    array = references[0].array
    if array.layout == "zmorton" or array.moves:
        return None
    union = Union(references, depth)
    try:
        space = union.lines.at_most(chain)
        if depth and union.slides(chain[-1]):
            misses = Union(references, depth - 1).lines.over(chain[:-1])
        else:
            misses = union.lines.over(chain)
        classes = _classes(references, union.spread(), chain)
    except UnboundedError:
        return None
    return Unit(tuple(references), chain[-1] if depth else None, space.value, misses.value, classes=classes)


def _classes(
    references: Sequence[Reference], spread: tuple[Product, Product] | None, chain: Chain
) -> tuple[tuple[Poly, Poly], ...]:
    """The lines of windows by where in a row they are, and by row."""
    if spread is None:
        return ()
    array = references[0].array
    along = contiguous(array)
    try:
        rows, wide = (each.at_most(chain).value for each in spread)
    except UnboundedError:
        return ()
    everything = box_lines(array, Union(references, 0).box, references[0].facts)
    of_rows = Product((everything.factors[along],)) if len(everything.factors) == len(array.extents) else None
    if of_rows is None:
        return ()
    others = Product(tuple(each for place, each in enumerate(everything.factors) if place != along))
    return (rows, of_rows.value), (wide, others.value)


def shared(references: Sequence[Reference]) -> Chain:
    """The loops around all references."""
    chain = references[0].chain
    for other in references[1:]:
        depth = 0
        while depth < min(len(chain), len(other.chain)) and chain[depth] is other.chain[depth]:
            depth += 1
        chain = chain[:depth]
    return chain


def all_lines(references: Sequence[Reference], depth: int) -> Product:
    """The lines of one array that references touch in a window. Raises UnboundedError."""
    first = references[0]
    if len(references) == 1:
        return first.lines(depth).count
    if first.array.layout == "zmorton" or first.array.moves:
        total = ZERO
        for each in references:
            total = total + each.lines(depth).count.value
        return Product((total,))
    return Union(references, depth).lines


@dataclass(frozen=True, eq=False)
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
            lines = all_lines(references, depth).at_most(chain[:depth]).value
            windows = Product((ONE,)).over(chain[:depth]).value
        except UnboundedError:
            continue
        yield Pin(chain[depth - 1] if depth else None, lines, windows)
