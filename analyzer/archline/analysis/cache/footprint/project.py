"""What the inner loops of a window touch, after they have been taken away one by one.

It is an interval of subscripts for every dimension, all of them taken, or for every row an interval of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from math import gcd, lcm

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Atom, Poly
from archline.analysis.cache.footprint.windows import (
    HalfOpenInterval,
    WindowLoop,
    at_least_zero,
    slope_of,
    union,
    with_loop_bounds,
)
from archline.ir.tree import Array, contiguous_dimension
from archline.records import record, replace

MAX_PERIOD = 16
"""Up to so many iterations on from each other are looked at together, where remainders decide."""


@record
class RowsAlongLoop:
    """Rows at the subscript `place` of a dimension, another for each lo <= variable < hi."""

    dimension: int
    variable: str
    lo: Poly
    hi: Poly
    place: Poly


@record(eq=False)
class TouchedBox:
    """What the inner loops touch: a box (None: one subscript, whatever it is) for each of `rows`, from the inside out.

    It holds where all of `needs` are at least 0. `spaced` are so many places in a row, so many words apart.
    """

    box: tuple[HalfOpenInterval | None, ...]
    needs: tuple[Poly, ...]
    rows: tuple[RowsAlongLoop, ...] = ()
    spaced: HalfOpenInterval | None = None

    @property
    def possible(self) -> bool:
        """Whether it holds anywhere, as far as that is seen at once."""
        return not any(each.is_constant and each.constant_term < 0 for each in self.needs)

    def uses(self, name: str) -> tuple[list[int], list[int], bool]:
        """The dimensions, the rows, and whether there are spaced places that mention a name."""
        dimensions = [place for place, interval in enumerate(self.box) if interval and _mentions_symbol(interval, name)]
        rows = [place for place, row in enumerate(self.rows) if name in row.lo.names | row.hi.names | row.place.names]
        return dimensions, rows, self.spaced is not None and _mentions_symbol(self.spaced, name)

    def at(self, name: str, value: Poly) -> TouchedBox:
        """With a loop in one iteration."""
        return self.with_expressions(lambda each: each.substitute({name: value}))

    def with_expressions(self, change: Callable[[Poly], Poly]) -> TouchedBox:
        """With other expressions."""

        def moved(interval: HalfOpenInterval) -> HalfOpenInterval:
            return change(interval[0]), change(interval[1])

        return TouchedBox(
            tuple(each and moved(each) for each in self.box),
            tuple(map(change, self.needs)),
            tuple(
                RowsAlongLoop(row.dimension, row.variable, *moved((row.lo, row.hi)), change(row.place))
                for row in self.rows
            ),
            self.spaced and moved(self.spaced),
        )

    def floors_of(self, name: str) -> list[a.Floor]:
        """The quotients rounded down that mention a name."""
        pairs = [*filter(None, self.box), *((row.lo, row.hi) for row in self.rows), *filter(None, (self.spaced,))]
        values = chain(self.needs, (row.place for row in self.rows), *pairs)
        atoms = dict.fromkeys(atom for value in values for atom in value.atoms_within())
        return [atom for atom in atoms if isinstance(atom, a.Floor) and name in atom.names]


def _mentions_symbol(interval: HalfOpenInterval, name: str) -> bool:
    return name in interval[0].names or name in interval[1].names


@record(eq=False)
class LoopProjection:
    """Takes away loops around places of an array; `variables` are those of all loops."""

    array: Array
    variables: frozenset[str]

    @property
    def contiguous_dimension(self) -> int | None:
        """The dimension along which places share lines; none in Z-Morton order, where only elements are counted."""
        return None if self.array.layout == "zmorton" else contiguous_dimension(self.array)

    def project_out(self, seen: TouchedBox, turn: WindowLoop, facts: Facts) -> Iterator[TouchedBox]:
        """What all iterations touch together, or every so many of them, or what one of them does."""
        floors = seen.floors_of(turn.variable)
        period = _remainder_period(floors, turn.variable)
        for first in range(period) if 1 < period <= MAX_PERIOD else ():
            every = seen.at(turn.variable, turn.lo + first + period * Poly.symbol(turn.variable))
            end = a.ceil_div(turn.hi - turn.lo - first, Poly.constant(period))
            if every.possible and not every.floors_of(turn.variable):
                yield from self.project_out(every, WindowLoop(turn.variable, ZERO, end), facts)
        if not period and (stretch := _constant_quotient_range(floors, turn, facts)) is not None:
            part, known = stretch
            alike = seen.with_expressions(lambda each: each.map_atoms(known.get))
            if not alike.floors_of(turn.variable):
                yield from self.project_out(alike, part, facts)
        kept = clip_loop(seen.needs, turn, facts)
        if kept is not None:
            turn, needs = kept
            seen = replace(seen, needs=needs)
            some = at_least_zero(turn.hi - turn.lo - 1, facts)
            dimensions, rows, spaced = seen.uses(turn.variable)
            if not dimensions and not rows and not spaced:
                yield replace(seen, needs=(*needs, *some))
                return
            if turn.variable not in self.array.within and not _is_alternating(seen, turn):
                joined = () if spaced else tuple(self._merge_overlapping(seen, turn, some, facts))
                way = None if joined else self._row_per_iteration(seen, turn, facts)
                if not joined and not spaced:
                    way = way or self._by_rows(seen, turn, facts)
                    way = way or (None if rows else self._spaced_words(seen, turn, facts))
                ways = joined or ((way,) if way else ())
                if ways:
                    yield from ways
                    return
        for value, trips in self._iterations(seen, turn, facts):
            fixed = seen.at(turn.variable, value)
            yield replace(fixed, needs=(*fixed.needs, *at_least_zero(turn.hi - turn.lo - trips, facts)))

    def _iterations(self, seen: TouchedBox, turn: WindowLoop, facts: Facts) -> Iterator[tuple[Poly, int]]:
        """The iterations that may touch most, each with how many there have to be for it to be one.

        That is the last one, the first, or one between them; where it alternates, the one beside it as well.
        """
        dimensions, rows, spaced = seen.uses(turn.variable)
        ends = [interval for place in dimensions if (interval := seen.box[place])]
        ends += [(seen.rows[place].lo, seen.rows[place].hi) for place in rows]
        widths = [high - low for low, high in ends]
        widths += [seen.spaced[0], -seen.spaced[1]] if spaced and seen.spaced else []
        inside = with_loop_bounds(turn, facts, 2)
        after = {turn.variable: Poly.symbol(turn.variable) + 1}
        steps = [inside.simplify(width.substitute(after) - width) for width in widths]
        shrinks, grows = (all(inside.nonnegative(each.scaled(sign)) for each in steps) for sign in (-1, 1))
        beside = int(_is_alternating(seen, turn))
        if not grows or shrinks:
            yield from ((turn.lo + place, place + 1) for place in range(1 + beside))
        if not shrinks:
            yield from ((turn.hi - place, place) for place in range(1, 2 + beside))
        if not shrinks and not grows:
            yield turn.lo + a.floor_div(turn.hi - turn.lo, Poly.constant(2)), 1

    def _merge_overlapping(
        self, seen: TouchedBox, turn: WindowLoop, some: tuple[Poly, ...], facts: Facts
    ) -> Iterator[TouchedBox]:
        """Intervals that overlap or touch, one behind the other, are one."""
        dimensions, rows, _ = seen.uses(turn.variable)
        if len(dimensions) + len(rows) != 1:
            return
        if dimensions:
            interval = seen.box[dimensions[0]]
        elif turn.variable in seen.rows[rows[0]].place.names:
            return
        else:
            interval = seen.rows[rows[0]].lo, seen.rows[rows[0]].hi
        assert interval is not None
        joint = union(interval, turn, _with_rows(facts, turn, seen, interval))
        if joint is None:
            return
        low, high = joint
        more = high - low - turn.hi + turn.lo
        # An empty loop gives an interval without places only where every iteration adds one: where loops around
        # decide, so many places come first.
        if not more or (any(self.variables & each.names for each in some) and facts.nonnegative(more)):
            yield _with_interval(seen, dimensions, rows, (low, high - more), ())
        if more:
            yield _with_interval(seen, dimensions, rows, joint, some)

    def _row_per_iteration(self, seen: TouchedBox, turn: WindowLoop, facts: Facts) -> TouchedBox | None:
        """Each iteration has a row of its own."""
        for dimension, interval in enumerate(seen.box):
            if dimension == self.contiguous_dimension or interval is None or interval[1] - interval[0] != ONE:
                continue
            slope = slope_of(interval[0], turn.variable)
            others = interval[0].names & {row.variable for row in seen.rows}
            if slope is None or others or not (facts.positive(slope) or facts.positive(-slope)):
                continue
            box = tuple(None if place == dimension else each for place, each in enumerate(seen.box))
            row = RowsAlongLoop(dimension, turn.variable, turn.lo, facts.maximum(turn.lo, turn.hi), interval[0])
            return replace(seen, box=box, rows=(*seen.rows, row))
        return None

    def _by_rows(self, seen: TouchedBox, turn: WindowLoop, facts: Facts) -> TouchedBox | None:
        """Iterations of which each goes down a column of its own, up to another row: seen row by row.

        Where a row r is touched for lo <= r < v + e, these are the iterations v > r - e, neighbours in the row.
        """
        dimensions, rows, _ = seen.uses(turn.variable)
        other = [dimension for dimension in dimensions if dimension != self.contiguous_dimension]
        if rows or len(dimensions) != 2 or len(other) != 1:
            return None
        column, interval = seen.box[self.contiguous_dimension or 0], seen.box[other[0]]
        if column is None or interval is None or column[1] - column[0] != ONE:
            return None
        if any(_mentions_symbol(interval, row.variable) or _mentions_symbol(column, row.variable) for row in seen.rows):
            return None
        name = f"{turn.variable} row"
        slope = slope_of(column[0], turn.variable)
        known = _rows_and_turns(interval, turn, Poly.symbol(name))
        if slope not in (ONE, -ONE) or known is None:
            return None
        (first, last), part = known
        inside = facts.with_symbol(name, (first,), (last - 1,))
        lo, hi = inside.maximum(turn.lo, part[0] or turn.lo), inside.minimum(turn.hi, part[1] or turn.hi)
        ends = (lo, hi - 1) if slope == ONE else (hi - 1, lo)
        low, high = (column[0].substitute({turn.variable: end}) for end in ends)
        box = list(seen.box)
        box[self.contiguous_dimension or 0], box[other[0]] = (low, high + 1), None
        row = RowsAlongLoop(other[0], name, first, facts.maximum(first, last), Poly.symbol(name))
        return replace(seen, box=tuple(box), rows=(*seen.rows, row))

    def _spaced_words(self, seen: TouchedBox, turn: WindowLoop, facts: Facts) -> TouchedBox | None:
        """Places of one row, so many words apart."""
        dimensions, _, _ = seen.uses(turn.variable)
        interval = seen.box[dimensions[0]]
        if dimensions != [self.contiguous_dimension] or interval is None or interval[1] - interval[0] != ONE:
            return None
        slope = slope_of(interval[0], turn.variable)
        if slope is None or interval[0].names & {row.variable for row in seen.rows}:
            return None
        step = slope if facts.positive(slope) else -slope
        if not facts.positive(step):
            return None
        box = tuple(None if place == dimensions[0] else each for place, each in enumerate(seen.box))
        return replace(seen, box=box, spaced=(facts.positive_part(turn.hi - turn.lo), step))


def _remainder_period(floors: Sequence[a.Floor], name: str) -> int:
    """After so many iterations all remainders are what they were; 0 where there is a remainder of another kind."""
    period = 1
    for each in floors:
        slope = slope_of(each.argument, name)
        if slope is None or not slope.is_constant or slope.constant_term.q != 1 or not each.modulus.is_constant:
            return 0
        modulus = int(each.modulus.constant_term.p)
        period = lcm(period, modulus // gcd(modulus, int(slope.constant_term.p)))
    return period


def _constant_quotient_range(
    floors: Sequence[a.Floor], turn: WindowLoop, facts: Facts
) -> tuple[WindowLoop, Mapping[Atom, Poly]] | None:
    """The first iterations, in which quotients are what they are in the first one."""
    hi = turn.hi
    known: dict[Atom, Poly] = {}
    for each in floors:
        if slope_of(each.argument, turn.variable) != ONE or turn.variable in each.modulus.names:
            return None
        first = each.argument.substitute({turn.variable: turn.lo})
        known[each] = facts.simplify(a.floor_div(first, each.modulus))
        hi = facts.minimum(hi, turn.lo + each.modulus * (known[each] + 1) - first)
    return (WindowLoop(turn.variable, turn.lo, hi), known) if a.is_integral(hi) else None


def _is_alternating(seen: TouchedBox, turn: WindowLoop) -> bool:
    """Whether what an iteration touches jumps to and fro."""
    return any(
        isinstance(atom, a.Floor) and turn.variable in atom.names
        for interval in seen.box
        if interval is not None
        for atom in interval[0].atoms()
    )


def _with_interval(
    seen: TouchedBox, dimensions: list[int], rows: list[int], interval: HalfOpenInterval, needs: tuple[Poly, ...]
) -> TouchedBox:
    """With an interval in place of that of the only dimension, or the only row."""
    needs = (*seen.needs, *needs)
    if dimensions:
        box = tuple(interval if place == dimensions[0] else each for place, each in enumerate(seen.box))
        return replace(seen, box=box, needs=needs)
    ranges = list(seen.rows)
    ranges[rows[0]] = replace(ranges[rows[0]], lo=interval[0], hi=interval[1])
    return replace(seen, rows=tuple(ranges), needs=needs)


def _with_rows(facts: Facts, turn: WindowLoop, seen: TouchedBox, interval: HalfOpenInterval) -> Facts:
    """What holds where both an iteration and the one after it are run, whatever the row."""
    facts = with_loop_bounds(turn, facts, 2)
    for row in reversed(seen.rows):
        if _mentions_symbol(interval, row.variable):
            facts = facts.with_symbol(row.variable, (row.lo,), (row.hi - 1,))
    return facts


def _rows_and_turns(
    interval: HalfOpenInterval, turn: WindowLoop, row: Poly
) -> tuple[HalfOpenInterval, tuple[Poly | None, Poly | None]] | None:
    """The rows of a growing or shrinking interval, and from and up to which iteration it holds a row."""
    moving = [place for place, end in enumerate(interval) if turn.variable in end.names]
    if len(moving) != 1:
        return None
    low, high = interval
    slope = slope_of(interval[moving[0]], turn.variable)
    if slope is None:
        return None
    rest, last = interval[moving[0]] - slope * Poly.symbol(turn.variable), turn.hi - 1
    match moving[0], slope:
        case 1, slope if slope == ONE:
            return (low, last + rest), (row - rest + 1, None)
        case 1, slope if slope == -ONE:
            return (low, rest - turn.lo), (None, rest - row)
        case 0, slope if slope == ONE:
            return (turn.lo + rest, high), (None, row - rest + 1)
        case 0, slope if slope == -ONE:
            return (rest - last, high), (rest - row, None)
        case _:
            return None


def clip_loop(needs: tuple[Poly, ...], turn: WindowLoop, facts: Facts) -> tuple[WindowLoop, tuple[Poly, ...]] | None:
    """The iterations in which all needs hold, and the needs that do not mention them; None where they are no range."""
    lo, hi = turn.lo, turn.hi
    left = []
    for need in needs:
        if turn.variable not in need.names:
            left.append(need)
            continue
        slope = slope_of(need, turn.variable)
        if slope is None:
            return None
        rest = need - slope * Poly.symbol(turn.variable)
        if slope == ONE:
            lo = facts.maximum(lo, -rest)
        elif slope == -ONE:
            hi = facts.minimum(hi, rest + 1)
        elif facts.positive(slope):
            lo = facts.maximum(lo, a.ceil_div(-rest, slope))
        elif facts.positive(-slope):
            hi = facts.minimum(hi, a.floor_div(rest, -slope) + 1)
        else:
            return None
    return WindowLoop(turn.variable, lo, hi, turn.around), tuple(left)
