"""Units: references that share lines of the cache, the lines that they need, and the lines that are fetched for them.

A unit keeps, at any time, the lines that the current window of its loop has touched: what the window before touched and
this one touches too is not fetched again. Any choice of units whose lines fit together is a way to run the program, and
optimal replacement fetches no more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from archline.algebra.facts import Facts
from archline.algebra.polynomial import ZERO, Poly
from archline.analysis.io.accesses import Chain, Loop
from archline.analysis.io.footprint import Interval, Reference, box_lines, monotone
from archline.analysis.io.product import Product, UnboundedError


@dataclass(frozen=True, eq=False)
class Unit:
    """`space` lines are held while `loop` runs (None: throughout), and `misses` lines are fetched in all.

    A unit without lines of its own fetches at every access. `pinned` is what each spare line saves, up to so many.
    """

    references: tuple[Reference, ...]
    loop: Loop | None
    space: Poly
    misses: Poly
    pinned: tuple[Poly, Poly] | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """The array's name."""
        return self.references[0].name

    @property
    def scratch(self) -> bool:
        """Whether it has no lines of its own."""
        return not self.space


def alone(reference: Reference) -> Iterator[Unit]:
    """The ways to keep one reference: through any loop around it, throughout, or not at all."""
    chain = reference.chain
    for depth in range(len(chain) + 1):
        try:
            lines = reference.lines(depth)
            space = lines.count.at_most(chain[:depth])
            yield Unit((reference,), chain[depth - 1] if depth else None, space.value, _misses(reference, depth))
        except UnboundedError:
            continue
    try:
        accesses = Product((Poly.constant(len(reference.accesses)),)).over(chain)
    except UnboundedError:
        return
    yield Unit((reference,), None, ZERO, accesses.value)


def _misses(reference: Reference, depth: int) -> Poly:
    """Lines fetched where windows at a depth are kept."""
    chain, lines = reference.chain, reference.lines(depth)
    if not depth or not lines.slides:
        return lines.count.over(chain[:depth]).value
    start = depth - 1
    while start and _stacked(reference, start):
        start -= 1
    return reference.lines(start).count.over(chain[:start]).value


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
    """References to one array kept as one box through a loop that they share."""
    chain, facts = references[0].chain[:depth], references[0].around(depth)
    array = references[0].array
    if array.layout == "zmorton" or array.moves:
        return None
    try:
        box = _union(references, depth, facts)
        space = box_lines(array, box, facts).at_most(chain)
        if depth and _slide(box, chain[-1]):
            box = _union(references, depth - 1, references[0].around(depth - 1))
            misses = box_lines(array, box, references[0].around(depth - 1)).over(chain[:-1])
        else:
            misses = box_lines(array, box, facts).over(chain)
    except UnboundedError:
        return None
    return Unit(tuple(references), chain[-1] if depth else None, space.value, misses.value)


def _union(references: Sequence[Reference], depth: int, facts: Facts) -> list[Interval]:
    boxes = [each.hull(depth) for each in references]
    found = []
    for intervals in zip(*boxes, strict=True):
        low, high = intervals[0]
        for other in intervals[1:]:
            low, high = facts.minimum(low, other[0]), facts.maximum(high, other[1])
        found.append((low, high))
    return found


def _slide(box: Iterable[Interval], loop: Loop) -> bool:
    return all(monotone(end, loop, loop.facts) for interval in box for end in interval)



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
    facts = first.around(depth)
    return box_lines(first.array, _union(references, depth, facts), facts)
