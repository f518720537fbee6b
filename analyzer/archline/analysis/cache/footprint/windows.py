"""Windows of a program: stretches of the run one behind the other, and the places and rows accessed in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import product

from archline.algebra import atoms as a
from archline.algebra.effort import TooComplexError
from archline.algebra.facts import Facts
from archline.algebra.maximise import direction
from archline.algebra.polynomial import Poly, Symbol
from archline.algebra.sums.summation import UnresolvedError
from archline.ir.factored import FactoredProduct, factored_maximum
from archline.ir.layout import ClosedInterval
from archline.ir.tree import Access, Array, Chain, Loop
from archline.records import field, memoised, record

MAX_SPOTS = 6
OF_DATA = a.Offset, a.Gap, a.Data
HalfOpenInterval = tuple[Poly, Poly]
"""The first subscript, and the one behind the last."""
ROW = "row "
"""How symbols of rows begin; no program has such a name."""


@record(eq=False)
class CertainAccess:
    """Places of one array that every iteration of `chain` accesses in which all of `when` are at least 0.

    They are a box of subscripts, one for each dimension; None where the data decides.
    """

    array: Array
    box: tuple[HalfOpenInterval | None, ...]
    chain: Chain
    when: tuple[Poly, ...]


@record
class WindowLoop:
    """An iteration of a loop for each lo <= variable < hi; `around` holds them all, where it is not None."""

    variable: str
    lo: Poly
    hi: Poly
    around: HalfOpenInterval | None = None


@record(eq=False)
class WindowSet:
    """One window for each iteration of `outer`; in it runs `first`, then what is in the loops `depth` and deeper."""

    facts: Facts = field(repr=False)
    outer: tuple[WindowLoop, ...]
    first: tuple[WindowLoop, ...]
    depth: int

    @memoised
    def loop_facts(self, loops: tuple[WindowLoop, ...]) -> Facts:
        """What holds in an iteration of loops: the same object for all spots, so that nothing is proved twice."""
        return facts_in_iteration(loops[-1], self.loop_facts(loops[:-1])) if loops else self.facts


def certain_accesses(found: Iterator[tuple[Access, Chain]]) -> list[CertainAccess]:
    """What is accessed for certain: places side by side, in one body, are one spot."""
    groups: list[tuple[Array, Chain, tuple[Poly, ...], list[tuple[Poly | None, ...]]]] = []
    for access, chain in found:
        when = access.wherever
        if when is None or not access.array.aligned:
            # Of an array that is part of another, rows may share lines.
            continue
        for array, loops, conditions, places in groups:
            if array is access.array and loops == chain and conditions == when:
                if access.place not in places:
                    places.append(access.place)
                break
        else:
            groups.append((access.array, chain, when, [access.place]))
    return [
        CertainAccess(array, box, chain, when)
        for array, chain, when, places in groups
        for box in _neighbour_boxes(places)
    ]


def _neighbour_boxes(places: Sequence[tuple[Poly | None, ...]]) -> list[tuple[HalfOpenInterval | None, ...]]:
    """The longest runs of neighbours in each dimension."""
    found: dict[tuple[HalfOpenInterval | None, ...], int] = {}
    for place in places:
        for dimension in range(len(place)):
            low, high = place, place
            while (before := _shifted_place(low, dimension, -1)) in places and before != low:
                low = before
            while (after := _shifted_place(high, dimension, 1)) in places and after != high:
                high = after
            ends = zip(low, high, strict=True)
            box = tuple(None if x is None or y is None else (x, y + 1) for x, y in ends)
            first, last = low[dimension], high[dimension]
            width = 1 if first is None or last is None else int((last - first).constant_term.p) + 1
            found[box] = max(width, found.get(box, 0))
    order = sorted(found, key=lambda box: -found[box])
    widest = max(found.values())
    return order[:MAX_SPOTS] if widest == 1 else [box for box in order if found[box] > 1][:MAX_SPOTS]


def _shifted_place(place: tuple[Poly | None, ...], dimension: int, step: int) -> tuple[Poly | None, ...]:
    moved = list(place)
    subscript = moved[dimension]
    moved[dimension] = None if subscript is None else subscript + step
    return tuple(moved)


def facts_in_iteration(turn: WindowLoop, facts: Facts) -> Facts:
    """What holds in an iteration."""
    for need in at_least_zero(turn.hi - turn.lo - 1, facts):
        facts = facts.with_nonnegative(need)
    return with_loop_bounds(turn, facts, 1)


def with_loop_bounds(turn: WindowLoop, facts: Facts, before: int) -> Facts:
    """The variable's bounds, so many places before the end."""
    ends = [(turn.lo, facts.simplify(turn.hi)), *((turn.around,) if turn.around else ())]
    return facts.with_symbol(turn.variable, [lo for lo, _ in ends], [hi - before for _, hi in ends])


def union(interval: HalfOpenInterval, turn: WindowLoop, facts: Facts) -> HalfOpenInterval | None:
    """The places of a moving interval, where each touches the next.

    Ends that stand still cut the whole as they cut each part: tiles that end with the row make up the row.
    """
    low, high = interval
    whole = _chained_interval(low, high, turn, facts)
    if whole is not None:
        return whole
    (still, starts), (stops, ends) = _still_and_moving(low, turn, True), _still_and_moving(high, turn, False)
    if not starts or not ends or not (still or stops):
        return None
    whole = _chained_interval(reduce(facts.maximum, starts), reduce(facts.minimum, ends), turn, facts)
    if whole is None:
        return None
    return reduce(facts.maximum, still, whole[0]), reduce(facts.minimum, stops, whole[1])


def _still_and_moving(end: Poly, turn: WindowLoop, greatest: bool) -> tuple[list[Poly], list[Poly]]:
    """The values of which an end is the greatest or least: those that are the same in all iterations, and others."""
    values = a.options(end, greatest)
    moving = [each for each in values if turn.variable in each.names]
    return [each for each in values if each not in moving], moving


def _chained_interval(low: Poly, high: Poly, turn: WindowLoop, facts: Facts) -> HalfOpenInterval | None:
    """From the first start to the last end, where each interval touches the next.

    Of any place between, take the last iteration that starts no later: the place is in its interval, as the next one,
    which starts later, starts no later than this one ends.
    """
    ends = low, high
    after = {turn.variable: Poly.symbol(turn.variable) + 1}
    first, last = {turn.variable: turn.lo}, {turn.variable: turn.hi - 1}
    moving = low if turn.variable in low.names else high
    if facts.nonnegative(facts.simplify(moving - moving.substitute(after))):
        # The same, the other way round.
        low, high = low.substitute(after), high.substitute(after)
        first, last, after = last, first, {turn.variable: Poly.symbol(turn.variable) - 1}
    if facts.nonnegative(facts.simplify(high - low.substitute(after))):
        return ends[0].substitute(first), ends[1].substitute(last)
    return None


def slope_of(value: Poly, name: str) -> Poly | None:
    """The factor of a variable in a value that is linear in it."""
    symbol = Symbol(name)
    if any(atom != symbol and name in atom.names for atom in value.atoms()):
        return None
    parts = value.coefficients(symbol)
    return parts.get(1) if set(parts) <= {0, 1} else None


def at_least_zero(value: Poly, facts: Facts) -> tuple[Poly, ...]:
    """Amounts without a max or min that are at least 0 only where the value is; none where it always is."""
    return next(iter(ways_at_least_zero(value, facts)), (value,))


def ways_at_least_zero(value: Poly, facts: Facts) -> Iterator[tuple[Poly, ...]]:
    """Each way gives such amounts; where the value is at least 0, those of some way are."""
    if facts.nonnegative(value):
        yield ()
        return
    least = a.options(value, False)
    if len(least) > 1:
        yield from ways_all_at_least_zero(least, facts)
        return
    for each in reversed(a.options(value, True)):
        if each == value:
            yield (value,)
        elif not facts.positive(-each):
            yield from ways_at_least_zero(each, facts)


def ways_all_at_least_zero(values: Sequence[Poly], facts: Facts) -> Iterator[tuple[Poly, ...]]:
    """The same for several values."""
    for parts in product(*(tuple(ways_at_least_zero(each, facts)) for each in values)):
        yield tuple(dict.fromkeys(each for part in parts for each in part))


def is_known(value: Poly) -> bool:
    """Whether sizes give the value, and no entry of an array stands in it."""
    return all(not isinstance(atom, OF_DATA) and all(map(is_known, atom.parts)) for atom in value.atoms())


@record(eq=False)
class RowIntervals:
    """Rows of a matrix from the first to the last, and the interval that is touched in each, in terms of `ROW`."""

    rows: ClosedInterval
    entries: ClosedInterval


Ranges = Sequence[tuple[str, Poly, Poly, Facts]]
"""For each symbol that decides rows, from the outermost in: its range, and what holds around it."""


def sum_row_lines(lines: FactoredProduct, ranges: Ranges) -> FactoredProduct:
    """At least the lines of all rows."""
    for name, lo, hi, facts in reversed(ranges):
        lines = lines.summed(name, lo, hi, facts)
    return lines


def exact_row_lines(lines: FactoredProduct, ranges: Ranges) -> FactoredProduct | None:
    """The lines of all rows themselves; None where they cannot be added up."""
    try:
        for name, lo, hi, facts in reversed(ranges):
            lines = lines.added(name, lo, hi, facts)
    except (UnresolvedError, TooComplexError):
        return None
    return lines


def row_count_and_length(others: FactoredProduct, row: Poly, ranges: Ranges) -> tuple[FactoredProduct, FactoredProduct]:
    """How many rows there are at most, with the `others` that no range decides, and how many lines a row has."""
    for name, lo, hi, facts in reversed(ranges):
        row = factored_maximum(row, name, lo, hi, facts)
    return sum_row_lines(others, ranges), FactoredProduct((row,))


def is_monotone(value: Poly, loop: Loop, facts: Facts) -> bool:
    """Whether a value never falls, or never rises, in a loop."""
    if loop.variable not in value.names:
        return True
    inside = facts.with_symbol(loop.variable, (loop.lo,), (loop.hi - 1,))
    return direction(value, loop.variable, loop.hi, inside) is not None
