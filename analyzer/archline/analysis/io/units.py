"""Units: references that share lines of the cache, the lines that they need, and the lines that are fetched for them.

A unit keeps, at any time, the lines that the current window of its loop has touched: what the window before touched and
this one touches too is not fetched again. Any choice of units whose lines fit together is a way to run the program, and
optimal replacement fetches no more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import pairwise
from operator import itemgetter

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Poly, TooComplexError, budget
from archline.analysis.closing import eased
from archline.analysis.data_loops import rises
from archline.analysis.io.accesses import Chain, Loop, contiguous_dimension
from archline.analysis.io.footprint import Reference
from archline.analysis.io.layout import LINE, Interval, box_lines
from archline.analysis.io.product import Product, UnboundedError
from archline.analysis.io.unions import Union, Unions
from archline.analysis.io.windows import is_known, slope_of

MAX_UNIT = 40_000
"""Term products for one unit."""
Measure = Callable[[tuple[Reference, ...]], tuple[Product, Product]]
"""What a unit of references holds and fetches."""
Classes = tuple[tuple[Poly, Poly, Poly], ...]
"""Ways to split lines: at most so many of a class are held at a time, and so many more of all classes that are kept
together; there are so many classes."""


def never(_: tuple[Reference, ...]) -> bool:
    """Whether parts of references may be held: none."""
    return False


@dataclass(frozen=True, eq=False)
class Unit:
    """`space` lines are held while `loop` runs (None: throughout), and `misses` lines are fetched in all.

    A scratch unit has no line of its own: one that all such share is fetched at every access. `splitting` finds the
    `classes`; of parts of the references it may hold those that are `fit`. In the loop `passing` it passes lines one
    after the other, each once; in the loops `given_up` it holds nothing. Raises UnboundedError where no closed form is
    found.
    """

    references: tuple[Reference, ...]
    loop: Loop | None
    measure: Measure = field(repr=False)
    scratch: bool = False
    splitting: Callable[[], Classes] = field(default=tuple, repr=False)
    passing: Loop | None = None
    fit: Callable[[tuple[Reference, ...]], bool] = field(default=never, repr=False)
    given_up: Chain = ()

    @cached_property
    def classes(self) -> Classes:
        """Ways to split the lines."""
        return self.splitting()

    @cached_property
    def _measured(self) -> tuple[Poly, Poly]:
        space, misses = self._of_sizes(self.references)
        return space.value, misses.value

    def _of_sizes(self, references: tuple[Reference, ...]) -> tuple[Product, Product]:
        space, misses = self.measure(references)
        return of_sizes(space, references[0].facts), of_sizes(misses, references[0].facts)

    @property
    def space(self) -> Poly:
        """The lines that are held."""
        return self._measured[0]

    @property
    def misses(self) -> Poly:
        """The lines that are fetched."""
        return self._measured[1]

    @cached_property
    def smooth(self) -> tuple[Product, Product]:
        """What it holds and fetches, or more, without rounding to whole lines."""
        twins = tuple(replace(each, whole_lines=False, _lines={}) for each in self.references)
        return self._of_sizes(twins)

    @property
    def name(self) -> str:
        """The array's name."""
        return self.references[0].name


def of_sizes(amount: Product, facts: Facts) -> Product:
    """At least an amount, without entries of offsets: sums leave those where their ranges begin and end.

    Raises UnboundedError.
    """
    if is_known(amount.value):
        return amount
    found = eased(a.Offset | a.Gap, amount.value, facts, True)
    if found is None:
        raise UnboundedError
    return Product((found,))


def alone(reference: Reference) -> Iterator[Unit]:
    """The ways to keep one reference: through any loop around it, throughout, or not at all."""
    chain = reference.chain
    for depth in range(len(chain) + 1):
        splitting = partial(_classes, [reference], reference.lines(depth).spread, chain[:depth])
        with suppress(UnboundedError):
            for start in _starts(reference, depth):
                loop = chain[min(start, depth - 1)] if depth else None
                held, fit = partial(_held, depth, start), partial(_slide, depth, start)
                with suppress(UnboundedError):
                    yield known(Unit((reference,), loop, held, splitting=splitting, fit=fit))
    try:
        yield from one_line(reference)
        yield from _passing(reference)
        yield known(Unit((reference,), None, _each_access, scratch=True, fit=lambda _: True))
    except UnboundedError:
        return


def known(unit: Unit) -> Unit:
    """The unit; raises UnboundedError where it is not known what it holds or fetches."""
    counters = {loop.variable for reference in unit.references for loop in reference.chain}
    with of_its_own():
        names = unit.space.names | unit.misses.names
    if counters & names:
        raise UnboundedError
    return unit


@contextmanager
def of_its_own() -> Iterator[None]:
    """A limit for one unit: one whose closed form is too large is left out, and not all. Raises UnboundedError."""
    try:
        with budget(MAX_UNIT, counts=True):
            yield
    except TooComplexError:
        raise UnboundedError from None


def _starts(reference: Reference, depth: int) -> Iterator[int]:
    """Windows at a depth are kept from one to the next in the loops from these depths on; `depth`: in none."""
    if not depth or not reference.lines(depth).slides:
        yield depth
        return
    start = depth - 1
    yield start
    while start and _stacked(reference, start):
        start -= 1
        yield start


def _held(depth: int, start: int, references: tuple[Reference, ...]) -> tuple[Product, Product]:
    """Windows at a depth are held; what the loops from `start` on touch is fetched once in all of them."""
    (reference,) = references
    space = reference.lines(depth).largest
    if start < depth - 1:
        # A loop between is perhaps never entered: what holds inside says nothing then, and lines are not below 0.
        space = Product((reference.facts.positive_part(space.value),))
    return space, reference.lines(start).total


def _slide(depth: int, start: int, references: tuple[Reference, ...]) -> bool:
    """Whether windows at a depth may be kept from one to the next in the loops from `start` on."""
    (reference,) = references
    return start in _starts(reference, depth)


def _each_access(references: tuple[Reference, ...]) -> tuple[Product, Product]:
    """A line for each access but those that find the line of the access right before them."""
    (reference,) = references
    chain, (anew, steps) = reference.chain, _bursts(reference)
    if not steps:
        return Product((ONE,)), Product((Poly.constant(anew),)).over(chain)
    loop, facts = chain[-1], chain[-1].facts
    trips = facts.positive_part(loop.trips)
    ends = reference.lines(len(chain) - 1).count.value
    if facts.positive(ends):
        ends = ends - 1
    passing = facts.minimum(trips.scaled(len(steps)), ends.scaled(sum(steps)))
    return Product((ONE,)), Product((trips.scaled(anew) + passing,)).over(chain[:-1])


def _bursts(reference: Reference) -> tuple[int, tuple[int, ...]]:
    """How many accesses of an iteration count, and how far the others are from the one right before each.

    Through the innermost loop places in a row move by one, so that an end of a line lies between two that are so far
    apart in as many iterations at most. Those in one place count once.
    """
    along, moving = contiguous_dimension(reference.array), _moves_along(reference)
    anew, steps = 1, []
    for (before, here), (after, there) in pairwise(zip(reference.order, reference.in_order, strict=True)):
        step = abs(there[along] - here[along])
        if reference.is_free or after > before + 1 or (step and not moving):
            anew += 1
        elif step:
            steps.append(step)
    return anew, tuple(steps)


def _moves_along(reference: Reference) -> bool:
    """Whether the innermost loop moves the places along one row, by one each time."""
    if not reference.chain or not in_one_row([reference], reference.chain[-1]):
        return False
    entry = reference.place[contiguous_dimension(reference.array)]
    return entry is not None and slope_of(entry[0], reference.chain[-1].variable) in (ONE, -ONE)


def one_line(reference: Reference) -> Iterator[Unit]:
    """A row's neighbours, read one after the other in the innermost loop, kept as the one line of the last access."""
    chain, along = reference.chain, contiguous_dimension(reference.array)
    if not chain or reference.array.layout == "zmorton" or reference.array.moves or reference.is_free:
        return
    place = reference.place[along]
    assert place is not None
    rows = reference.lines(len(chain) - 1).apart
    if len(reference.accesses) > 1 and not rows and slope_of(place[0], chain[-1].variable) == ONE:
        yield known(Unit((reference,), chain[-1], _last_line))


def _last_line(references: tuple[Reference, ...]) -> tuple[Product, Product]:
    """One line is fetched first, and one each time that the end of a line is passed."""
    (reference,) = references
    inner, along = reference.chain[-1], contiguous_dimension(reference.array)
    count = reference.lines(len(reference.chain) - 1).count.value
    passes = crossings([place[along] for place in reference.in_order])
    fetched = count.scaled(passes)
    if inner.facts.positive(count):
        fetched = fetched - (passes - 1)
    return Product((ONE,)), Product((fetched,)).over(reference.chain[:-1])


def continued(references: Sequence[Reference]) -> Unit | None:
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
    try:
        return known(Unit((row, after), chain[-1], partial(_in_a_row, len(chain)), fit=lambda _: True))
    except UnboundedError:
        return None


def _in_a_row(depth: int, references: tuple[Reference, ...]) -> tuple[Product, Product]:
    """Each line of the row, and of what follows, once every time."""
    return Product((ONE,)), Union(references, depth).total


def _passing(reference: Reference) -> Iterator[Unit]:
    """The line at which an integer of the data points that moves one way through a row."""
    depth = walked(reference)
    if depth is not None:
        loop = reference.chain[depth]
        yield known(Unit((reference,), loop, partial(_passed, depth), passing=loop))


def walked(reference: Reference) -> int | None:
    """The depth of the loop through which the places of a reference move one way, where it is around them."""
    walk, variables = reference.walk, [loop.variable for loop in reference.chain]
    return variables.index(walk.loop) if walk is not None and walk.loop in variables else None


def _passed(depth: int, references: tuple[Reference, ...]) -> tuple[Product, Product]:
    """Each line of the row once every time that the loop runs."""
    (reference,) = references
    return Product((ONE,)), reference.lines(depth).total


def walking(references: Sequence[Reference]) -> Unit | None:
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
    try:
        return known(Unit(tuple(references), around, partial(_passed_together, depth, words), passing=loop))
    except UnboundedError:
        return None


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


def course(reference: Reference) -> object:
    """What places that move along a row together have in common."""
    walk = reference.walk
    return id(reference) if walk is None else (walk.loop, walk.course, rows_of(reference), *map(id, reference.chain))


def _passed_together(depth: int, words: int, references: tuple[Reference, ...]) -> tuple[Product, Product]:
    return Product((a.ceil_div(Poly.constant(words), LINE) + 1,)), Union(references, depth).total


def interleaved(references: Sequence[Reference]) -> Unit | None:
    """Places in one row that take turns, no farther apart than one iteration is from the next: their own lines do.

    Of the lines that an iteration needs the one before has touched one at most, as all its places lie on one side.
    """
    if _way_of_turns(references) is None:
        return None
    try:
        return known(Unit(tuple(references), references[0].chain[-1], _in_turn))
    except UnboundedError:
        return None


def by_turns(references: Sequence[Reference]) -> Unit | None:
    """The same places kept as the one line of the last access."""
    way = _way_of_turns(references)
    changes = None if way is None else _changes(references, way)
    if changes is None:
        return None
    try:
        return known(Unit(tuple(references), references[0].chain[-1], partial(_one_by_one, *changes)))
    except UnboundedError:
        return None


def _way_of_turns(references: Sequence[Reference]) -> int | None:
    """Which way the innermost loop moves places of which none gets past those of the next iteration; else None."""
    if not share_a_row(references):
        return None
    loop, along = references[0].chain[-1], contiguous_dimension(references[0].array)
    entries = [interval for each in references if (interval := each.place[along])]
    strides = {slope_of(end, loop.variable) for interval in entries for end in interval}
    stride = strides.pop() if len(strides) == 1 else None
    if stride is None:
        return None
    way = 1 if loop.inside.positive(stride) else -1
    room = stride.scaled(way)
    fits = all(loop.inside.nonnegative(room - (one[1] - other[0])) for one in entries for other in entries)
    return way if fits else None


def _changes(references: Sequence[Reference], way: int) -> tuple[int, int] | None:
    """How often at most the accesses pass the end of any one line, and other places follow each other in an iteration.

    The end of a line parts the places of one iteration at most: all before are on one side, all behind on the other.
    """
    facts, along = references[0].chain[-1].inside, contiguous_dimension(references[0].array)
    numbered = [pair for each in references for pair in zip(each.order, each.accesses, strict=True)]
    turns = [access.place[along] for _, access in sorted(numbered, key=itemgetter(0))]
    places = [place for place in dict.fromkeys(turns) if place is not None]
    behind = {place: [facts.nonnegative((place - other).scaled(way)) for other in places] for place in places}
    if not all(behind[one][y] or behind[other][x] for x, one in enumerate(places) for y, other in enumerate(places)):
        return None
    ranks = [sum(behind[place]) for place in turns if place is not None]
    cuts = ([False, *(rank >= cut for rank in ranks), True] for cut in ranks)
    passes = max(sum(x != y for x, y in pairwise(sides)) for sides in cuts)
    return passes, 1 + sum(x != y for x, y in pairwise(turns))


def _one_by_one(passes: int, others: int, references: tuple[Reference, ...]) -> tuple[Product, Product]:
    """The lines between the first place and the last as often as their ends are passed, or one for each other place."""
    *outer, loop = references[0].chain
    between = Union(references, len(outer)).lines.value.scaled(passes)
    if loop.facts.positive(loop.trips):
        between = between - (passes - 1)
    each = loop.facts.positive_part(loop.trips).scaled(others)
    return Product((ONE,)), Product((loop.facts.minimum(between, each),)).over(tuple(outer))


def share_a_row(references: Sequence[Reference]) -> bool:
    """Whether references are to one row, the same one in all iterations of the innermost loop around them."""
    chain = references[0].chain
    return bool(chain) and all(each.chain == chain for each in references) and in_one_row(references, chain[-1])


def in_one_row(references: Sequence[Reference], loop: Loop) -> bool:
    """Whether references are to one row, the same one in all iterations of a loop."""
    array, rows = references[0].array, rows_of(references[0])
    if array.layout == "zmorton" or array.moves or array.strided:
        return False
    if any(each.is_free or rows_of(each) != rows for each in references):
        return False
    return not any(loop.variable in end.names for interval in rows if interval for end in interval)


def rows_of(reference: Reference) -> tuple[Interval | None, ...]:
    """Where the places are in all dimensions but that of rows."""
    along = contiguous_dimension(reference.array)
    return tuple(interval for dimension, interval in enumerate(reference.place) if dimension != along)


def _in_turn(references: tuple[Reference, ...]) -> tuple[Product, Product]:
    """The lines between the first place and the last, or those of each place."""
    chain = references[0].chain
    depth, loop = len(chain), chain[-1]
    space = sum((each.lines(depth).largest.value for each in references), ZERO)
    each = sum((each.lines(depth).count.value for each in references), ZERO) * loop.facts.positive_part(loop.trips)
    between = Union(references, depth - 1).lines.value
    return Product((space,)), Product((loop.facts.minimum(between, each),)).over(chain[:-1])


def crossings(offsets: Sequence[int]) -> int:
    """How often accesses at v + each offset, for v one after the other, pass the end of any one line, 1 at least."""
    first, last = min(offsets), max(offsets)
    sides = [v + offset > 0 for v in range(-last, 2 - first) for offset in offsets]
    return max(1, sum(x != y for x, y in pairwise(sides)))


def _stacked(reference: Reference, depth: int) -> bool:
    """Whether the windows at a depth are parts of one row, each behind the one before it."""
    array, loop = reference.array, reference.chain[depth - 1]
    if (array.local and array.moves) or array.layout == "zmorton" or None in reference.place:
        return False
    hull, along = reference.hull(depth), contiguous_dimension(array)
    inner = reference.chain[depth]
    moving = {loop.variable, inner.variable}
    rows = [interval for each, interval in enumerate(reference.hull(depth + 1)) if each != along]
    if any(moving & end.names for interval in rows for end in interval):
        return False
    ends = reference.hull(depth + 1)[along]
    facts = inner.facts.with_symbol(inner.variable, (inner.lo,), (inner.hi - 2,))
    after = {inner.variable: Poly.symbol(inner.variable) + 1}
    if not all(_no_less(end.substitute(after) - end, facts) for end in ends):
        return False
    low, high = hull[along]
    following = low.substitute({loop.variable: Poly.symbol(loop.variable) + 1})
    facts = loop.facts.with_symbol(loop.variable, (loop.lo,), (loop.hi - 2,))
    # Where a part is empty, the one behind it must not begin before it.
    return all(_no_less(following - end, facts) for end in (high, low))


def _no_less(apart: Poly, facts: Facts) -> bool:
    """Whether it is at least 0; entries of offsets do not become less."""
    return rises(apart, facts) or facts.nonnegative(a.as_gaps(apart))


def as_one(unions: Unions, depth: int) -> Unit | None:
    """References to one array kept as one through a loop that they share."""
    references = unions.references
    chain, array = references[0].chain[:depth], references[0].array
    if array.layout == "zmorton" or array.moves or array.strided:
        return None
    union = unions.at(depth)
    try:
        with of_its_own():
            slides = depth > 0 and union.slides(chain[-1])
        splitting = partial(_classes, references, union.spread, chain)
        loop = chain[-1] if depth else None
        held, fit = partial(_held_together, unions, depth, slides), partial(_slide_together, depth, slides)
        return known(Unit(references, loop, held, splitting=splitting, fit=fit))
    except UnboundedError:
        return None


def _held_together(
    unions: Unions, depth: int, slides: bool, references: tuple[Reference, ...]
) -> tuple[Product, Product]:
    space = unions.at(depth, references).largest
    return space, unions.at(depth - 1 if slides else depth, references).total


def _slide_together(depth: int, slides: bool, references: tuple[Reference, ...]) -> bool:
    """Whether windows of several references slide where they are to."""
    return not slides or Union(references, depth).slides(references[0].chain[depth - 1])


def _classes(
    references: Sequence[Reference], spread: Callable[[], tuple[Product, Product] | None], chain: Chain
) -> Classes:
    """The lines of windows by where in a row they are, and by row."""
    array = references[0].array
    along = contiguous_dimension(array)
    try:
        found = spread()
        if found is None:
            return ()
        rows, wide = (of_sizes(each.at_most(chain), references[0].facts).value for each in found)
        everything = box_lines(array, Union(references, 0).box, references[0].facts).factors
        if len(everything) < len(array.extents):
            return ()
        of_rows = of_sizes(Product((everything[along],)), references[0].facts)
        others = of_sizes(Product((*everything[:along], *everything[along + 1 :])), references[0].facts)
    except UnboundedError:
        return ()
    return (rows, ZERO, of_rows.value), (wide, ZERO, others.value)


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
            lines = of_sizes(all_lines(references, depth).at_most(chain[:depth]), references[0].facts).value
            windows = of_sizes(Product((ONE,)).over(chain[:depth]), references[0].facts).value
        except UnboundedError:
            continue
        yield Pin(chain[depth - 1] if depth else None, lines, windows)
