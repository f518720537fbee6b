"""Project the inner loops of a window out of the region that they touch, one by one.

The region has an interval of fully touched subscripts for every dimension, or such an interval for every row.
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
    find_coefficient,
    find_nonnegativity_condition,
    unite_over_loop,
    with_loop_bounds,
)
from archline.ir.tree import Array, contiguous_dimension
from archline.records import record, replace

MAX_PERIOD = 16
"""The largest period of remainders in subscripts for which iterations are grouped by remainder."""


@record
class RowsAlongLoop:
    """Rows of an array, one for each lo <= `variable` < hi, at the subscript `place` of a dimension."""

    dimension: int
    variable: str
    lo: Poly
    hi: Poly
    place: Poly


@record(eq=False)
class TouchedBox:
    """A region that inner loops touch in full: a box, or one for each of `rows`, ordered from the innermost loop out.

    An interval of None is one unspecified subscript. The region is touched if all values of `needs` are
    nonnegative. If elements in a row are not consecutive, `spaced` is their number and their distance in words.
    """

    box: tuple[HalfOpenInterval | None, ...]
    needs: tuple[Poly, ...]
    rows: tuple[RowsAlongLoop, ...] = ()
    spaced: HalfOpenInterval | None = None

    @property
    def is_possible(self) -> bool:
        """True unless a constant need is negative."""
        return not any(need.is_constant and need.constant_term < 0 for need in self.needs)

    def find_occurrences(self, name: str) -> tuple[list[int], list[int], bool]:
        """Return the positions in `box` and `rows` at which a variable occurs, and whether it occurs in `spaced`."""
        dimensions = [
            dimension for dimension, interval in enumerate(self.box) if interval and _mentions_symbol(interval, name)
        ]
        rows = [number for number, row in enumerate(self.rows) if name in row.lo.names | row.hi.names | row.place.names]
        return dimensions, rows, self.spaced is not None and _mentions_symbol(self.spaced, name)

    def at(self, name: str, value: Poly) -> TouchedBox:
        """Return the region with the loop variable `name` fixed to a value."""
        return self.with_expressions(lambda expression: expression.substitute({name: value}))

    def with_expressions(self, change: Callable[[Poly], Poly]) -> TouchedBox:
        """Return the region with `change` applied to all expressions."""

        def map_interval(interval: HalfOpenInterval) -> HalfOpenInterval:
            return change(interval[0]), change(interval[1])

        return TouchedBox(
            tuple(interval and map_interval(interval) for interval in self.box),
            tuple(map(change, self.needs)),
            tuple(
                RowsAlongLoop(row.dimension, row.variable, *map_interval((row.lo, row.hi)), change(row.place))
                for row in self.rows
            ),
            self.spaced and map_interval(self.spaced),
        )

    def list_floors_with(self, name: str) -> list[a.Floor]:
        """List the floor quotients in which a variable occurs."""
        pairs = [*filter(None, self.box), *((row.lo, row.hi) for row in self.rows), *filter(None, (self.spaced,))]
        values = chain(self.needs, (row.place for row in self.rows), *pairs)
        atoms = dict.fromkeys(atom for value in values for atom in value.atoms_within())
        return [atom for atom in atoms if isinstance(atom, a.Floor) and name in atom.names]


def _mentions_symbol(interval: HalfOpenInterval, name: str) -> bool:
    return name in interval[0].names or name in interval[1].names


@record(eq=False)
class LoopProjection:
    """Projects loops out of regions of `array`; `variables` are the variables of all loops."""

    array: Array
    variables: frozenset[str]

    @property
    def contiguous_dimension(self) -> int | None:
        """The dimension along which elements share lines; None in Z-Morton order, where only elements count."""
        return None if self.array.layout == "zmorton" else contiguous_dimension(self.array)

    def project_out(self, region: TouchedBox, turn: WindowLoop, facts: Facts) -> Iterator[TouchedBox]:
        """Eliminate a loop: yield regions that all its iterations, those of one remainder, or a single one touches."""
        floors = region.list_floors_with(turn.variable)
        period = _compute_remainder_period(floors, turn.variable)
        for remainder in range(period) if 1 < period <= MAX_PERIOD else ():
            in_class = region.at(turn.variable, turn.lo + remainder + period * Poly.symbol(turn.variable))
            end = a.ceil_div(turn.hi - turn.lo - remainder, Poly.constant(period))
            if in_class.is_possible and not in_class.list_floors_with(turn.variable):
                yield from self.project_out(in_class, WindowLoop(turn.variable, ZERO, end), facts)
        if not period and (initial := _find_constant_quotients(floors, turn, facts)) is not None:
            part, quotients = initial
            without_floors = region.with_expressions(lambda expression: expression.map_atoms(quotients.get))
            if not without_floors.list_floors_with(turn.variable):
                yield from self.project_out(without_floors, part, facts)
        clipped = clip_loop(region.needs, turn, facts)
        if clipped is not None:
            turn, needs = clipped
            region = replace(region, needs=needs)
            nonempty = find_nonnegativity_condition(turn.hi - turn.lo - 1, facts)
            dimensions, rows, spaced = region.find_occurrences(turn.variable)
            if not dimensions and not rows and not spaced:
                yield replace(region, needs=(*needs, *nonempty))
                return
            if turn.variable not in self.array.within and not _is_alternating(region, turn):
                merged = () if spaced else tuple(self._merge_overlapping(region, turn, nonempty, facts))
                projected = None if merged else self._convert_to_rows(region, turn, facts)
                if not merged and not spaced:
                    projected = projected or self._convert_to_row_intervals(region, turn, facts)
                    projected = projected or (None if rows else self._convert_to_spaced_words(region, turn, facts))
                results = merged or ((projected,) if projected else ())
                if results:
                    yield from results
                    return
        for value, trips in self._iterate_candidates(region, turn, facts):
            fixed = region.at(turn.variable, value)
            yield replace(fixed, needs=(*fixed.needs, *find_nonnegativity_condition(turn.hi - turn.lo - trips, facts)))

    def _iterate_candidates(self, region: TouchedBox, turn: WindowLoop, facts: Facts) -> Iterator[tuple[Poly, int]]:
        """Yield single iterations that may touch most elements, each with the trip count from which on it exists.

        Candidates are the first, the last and the middle one, and neighbours of the ends if the region
        alternates.
        """
        dimensions, rows, spaced = region.find_occurrences(turn.variable)
        ends = [interval for dimension in dimensions if (interval := region.box[dimension])]
        ends += [(region.rows[number].lo, region.rows[number].hi) for number in rows]
        widths = [high - low for low, high in ends]
        widths += [region.spaced[0], -region.spaced[1]] if spaced and region.spaced else []
        inside = with_loop_bounds(turn, facts, 2)
        after = {turn.variable: Poly.symbol(turn.variable) + 1}
        steps = [inside.simplify(width.substitute(after) - width) for width in widths]
        shrinks, grows = (all(inside.nonnegative(step.scaled(sign)) for step in steps) for sign in (-1, 1))
        neighbours = int(_is_alternating(region, turn))
        if not grows or shrinks:
            yield from ((turn.lo + offset, offset + 1) for offset in range(1 + neighbours))
        if not shrinks:
            yield from ((turn.hi - offset, offset) for offset in range(1, 2 + neighbours))
        if not shrinks and not grows:
            yield turn.lo + a.floor_div(turn.hi - turn.lo, Poly.constant(2)), 1

    def _merge_overlapping(
        self, region: TouchedBox, turn: WindowLoop, nonempty: tuple[Poly, ...], facts: Facts
    ) -> Iterator[TouchedBox]:
        """Merge the intervals of consecutive iterations if they overlap or touch.

        If all of `nonempty` are nonnegative, the loop has an iteration.
        """
        dimensions, rows, _ = region.find_occurrences(turn.variable)
        if len(dimensions) + len(rows) != 1:
            return
        if dimensions:
            interval = region.box[dimensions[0]]
        elif turn.variable in region.rows[rows[0]].place.names:
            return
        else:
            interval = region.rows[rows[0]].lo, region.rows[rows[0]].hi
        assert interval is not None
        joint = unite_over_loop(interval, turn, _with_loop_and_row_bounds(facts, turn, region, interval))
        if joint is None:
            return
        low, high = joint
        surplus = high - low - turn.hi + turn.lo
        # An interval of one subscript for each iteration is empty if the loop is, so that it needs no condition.
        if not surplus or (any(self.variables & need.names for need in nonempty) and facts.nonnegative(surplus)):
            yield _replace_interval(region, dimensions, rows, (low, high - surplus), ())
        if surplus:
            yield _replace_interval(region, dimensions, rows, joint, nonempty)

    def _convert_to_rows(self, region: TouchedBox, turn: WindowLoop, facts: Facts) -> TouchedBox | None:
        """Represent the region as one row for each iteration; None if the loop does not select rows."""
        for dimension, interval in enumerate(region.box):
            if dimension == self.contiguous_dimension or interval is None or interval[1] - interval[0] != ONE:
                continue
            slope = find_coefficient(interval[0], turn.variable)
            row_variables = interval[0].names & {row.variable for row in region.rows}
            if slope is None or row_variables or not (facts.positive(slope) or facts.positive(-slope)):
                continue
            box = tuple(None if index == dimension else ends for index, ends in enumerate(region.box))
            row = RowsAlongLoop(dimension, turn.variable, turn.lo, facts.maximum(turn.lo, turn.hi), interval[0])
            return replace(region, box=box, rows=(*region.rows, row))
        return None

    def _convert_to_row_intervals(self, region: TouchedBox, turn: WindowLoop, facts: Facts) -> TouchedBox | None:
        """Convert parts of columns that end at different rows to intervals of each row; None if that is not possible.

        If iteration v touches the rows lo <= r < v + e of one column, then row r is touched by the iterations
        v > r - e, whose columns are neighbours.
        """
        dimensions, rows, _ = region.find_occurrences(turn.variable)
        row_dimensions = [dimension for dimension in dimensions if dimension != self.contiguous_dimension]
        if rows or len(dimensions) != 2 or len(row_dimensions) != 1:
            return None
        column, interval = region.box[self.contiguous_dimension or 0], region.box[row_dimensions[0]]
        if column is None or interval is None or column[1] - column[0] != ONE:
            return None
        if any(
            _mentions_symbol(interval, row.variable) or _mentions_symbol(column, row.variable) for row in region.rows
        ):
            return None
        name = f"{turn.variable} row"
        slope = find_coefficient(column[0], turn.variable)
        converted = _invert_moving_end(interval, turn, Poly.symbol(name))
        if slope not in (ONE, -ONE) or converted is None:
            return None
        (first, last), part = converted
        inside = facts.with_symbol(name, (first,), (last - 1,))
        lo, hi = inside.maximum(turn.lo, part[0] or turn.lo), inside.minimum(turn.hi, part[1] or turn.hi)
        ends = (lo, hi - 1) if slope == ONE else (hi - 1, lo)
        low, high = (column[0].substitute({turn.variable: end}) for end in ends)
        box = list(region.box)
        box[self.contiguous_dimension or 0], box[row_dimensions[0]] = (low, high + 1), None
        row = RowsAlongLoop(row_dimensions[0], name, first, facts.maximum(first, last), Poly.symbol(name))
        return replace(region, box=tuple(box), rows=(*region.rows, row))

    def _convert_to_spaced_words(self, region: TouchedBox, turn: WindowLoop, facts: Facts) -> TouchedBox | None:
        """Represent the region as elements of one row at a constant distance in words; None if that is impossible."""
        dimensions, _, _ = region.find_occurrences(turn.variable)
        interval = region.box[dimensions[0]]
        if dimensions != [self.contiguous_dimension] or interval is None or interval[1] - interval[0] != ONE:
            return None
        slope = find_coefficient(interval[0], turn.variable)
        if slope is None or interval[0].names & {row.variable for row in region.rows}:
            return None
        step = slope if facts.positive(slope) else -slope
        if not facts.positive(step):
            return None
        box = tuple(None if index == dimensions[0] else ends for index, ends in enumerate(region.box))
        return replace(region, box=box, spaced=(facts.positive_part(turn.hi - turn.lo), step))


def _compute_remainder_period(floors: Sequence[a.Floor], name: str) -> int:
    """Return the number of iterations after which all remainders of `floors` repeat; 0 if one is not periodic."""
    period = 1
    for floor in floors:
        slope = find_coefficient(floor.argument, name)
        if slope is None or not slope.is_constant or slope.constant_term.q != 1 or not floor.modulus.is_constant:
            return 0
        modulus = int(floor.modulus.constant_term.p)
        period = lcm(period, modulus // gcd(modulus, int(slope.constant_term.p)))
    return period


def _find_constant_quotients(
    floors: Sequence[a.Floor], turn: WindowLoop, facts: Facts
) -> tuple[WindowLoop, Mapping[Atom, Poly]] | None:
    """Return the initial part of a loop in which all quotients keep their first value, and these values.

    None unless the loop variable has coefficient 1 in all dividends, and the end of the part is an integer.
    """
    hi = turn.hi
    quotients: dict[Atom, Poly] = {}
    for floor in floors:
        if find_coefficient(floor.argument, turn.variable) != ONE or turn.variable in floor.modulus.names:
            return None
        first = floor.argument.substitute({turn.variable: turn.lo})
        quotients[floor] = facts.simplify(a.floor_div(first, floor.modulus))
        hi = facts.minimum(hi, turn.lo + floor.modulus * (quotients[floor] + 1) - first)
    return (WindowLoop(turn.variable, turn.lo, hi), quotients) if a.is_integral(hi) else None


def _is_alternating(region: TouchedBox, turn: WindowLoop) -> bool:
    """Test whether the start of an interval has a floor of the loop variable, and so may alternate, as i%2 does."""
    return any(
        isinstance(atom, a.Floor) and turn.variable in atom.names
        for interval in region.box
        if interval is not None
        for atom in interval[0].atoms()
    )


def _replace_interval(
    region: TouchedBox, dimensions: list[int], rows: list[int], interval: HalfOpenInterval, needs: tuple[Poly, ...]
) -> TouchedBox:
    """Return a region with the interval of one dimension or row replaced, and further `needs`."""
    needs = (*region.needs, *needs)
    if dimensions:
        box = tuple(interval if index == dimensions[0] else ends for index, ends in enumerate(region.box))
        return replace(region, box=box, needs=needs)
    ranges = list(region.rows)
    ranges[rows[0]] = replace(ranges[rows[0]], lo=interval[0], hi=interval[1])
    return replace(region, rows=tuple(ranges), needs=needs)


def _with_loop_and_row_bounds(facts: Facts, turn: WindowLoop, region: TouchedBox, interval: HalfOpenInterval) -> Facts:
    """Extend facts by the bounds of a loop variable in all iterations but the last, and of row variables."""
    facts = with_loop_bounds(turn, facts, 2)
    for row in reversed(region.rows):
        if _mentions_symbol(interval, row.variable):
            facts = facts.with_symbol(row.variable, (row.lo,), (row.hi - 1,))
    return facts


def _invert_moving_end(
    interval: HalfOpenInterval, turn: WindowLoop, row: Poly
) -> tuple[HalfOpenInterval, tuple[Poly | None, Poly | None]] | None:
    """Find the rows that a loop touches, and the iterations that touch `row`, from the rows of one iteration.

    None unless one end of this interval moves, by one row in each iteration. An end of the iterations that is None
    is the end of the loop.
    """
    moving = [side for side, end in enumerate(interval) if turn.variable in end.names]
    if len(moving) != 1:
        return None
    low, high = interval
    slope = find_coefficient(interval[moving[0]], turn.variable)
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
    """Restrict a loop to the iterations in which all `needs` are nonnegative; None if these are not a range.

    Returns the loop, and the needs that do not depend on its variable.
    """
    lo, hi = turn.lo, turn.hi
    remaining = []
    for need in needs:
        if turn.variable not in need.names:
            remaining.append(need)
            continue
        slope = find_coefficient(need, turn.variable)
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
    return WindowLoop(turn.variable, lo, hi, turn.around), tuple(remaining)
