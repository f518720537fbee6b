"""Define windows of an execution, and the elements and rows that are certain to be accessed in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import product

from archline.algebra import atoms as a
from archline.algebra.effort import TooComplexError
from archline.algebra.facts import Facts
from archline.algebra.maximise import find_direction
from archline.algebra.polynomial import Poly, Symbol
from archline.algebra.sums.summation import UnresolvedError
from archline.ir.factored import FactoredProduct, bound_maximum
from archline.ir.layout import ClosedInterval
from archline.ir.tree import Access, Array, Chain, Loop
from archline.records import field, memoised, record

MAX_ELEMENT_BOXES = 6
"""The maximum number of boxes of neighbouring elements for the accesses of one loop body to an array."""
DATA_ATOM_TYPES = a.Offset, a.Gap, a.Data
HalfOpenInterval = tuple[Poly, Poly]
"""The first subscript, and the one after the last."""
ROW_PREFIX = "row "
"""The prefix of row symbols, which no name of a program has."""


@record(eq=False)
class CertainAccess:
    """Elements that every iteration of the nest `chain` accesses in which all values of `when` are nonnegative.

    They are a box of `array`: an interval of subscripts for each dimension, or None if the subscript depends on data.
    """

    array: Array
    box: tuple[HalfOpenInterval | None, ...]
    chain: Chain
    when: tuple[Poly, ...]


@record
class WindowLoop:
    """A loop with an iteration for each lo <= variable < hi.

    `around`, if known, is a range that contains that of every execution of the loop.
    """

    variable: str
    lo: Poly
    hi: Poly
    around: HalfOpenInterval | None = None


@record(eq=False)
class WindowSet:
    """Windows, one for each iteration of the loops `outer`: it runs the loops `first`, then those from `depth` on."""

    facts: Facts = field(repr=False)
    outer: tuple[WindowLoop, ...]
    first: tuple[WindowLoop, ...]
    depth: int

    @memoised
    def loop_facts(self, loops: tuple[WindowLoop, ...]) -> Facts:
        """Derive the facts in an iteration of nested loops, cached so that facts share their proofs."""
        return facts_in_iteration(loops[-1], self.loop_facts(loops[:-1])) if loops else self.facts


def merge_certain_accesses(found: Iterator[tuple[Access, Chain]]) -> list[CertainAccess]:
    """Select the accesses that are certain to be made, and merge those of one loop body to neighbouring elements."""
    groups: list[tuple[Array, Chain, tuple[Poly, ...], list[tuple[Poly | None, ...]]]] = []
    for access, chain in found:
        when = access.sufficient_conditions
        if when is None or not access.array.aligned:
            # Rows of an unaligned part of another array may share lines.
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
        for box in _find_neighbour_boxes(places)
    ]


def _find_neighbour_boxes(places: Sequence[tuple[Poly | None, ...]]) -> list[tuple[HalfOpenInterval | None, ...]]:
    """Find boxes of neighbouring elements along one dimension, the longest ones first, at most `MAX_ELEMENT_BOXES`.

    Subscripts in `places`, and intervals of boxes, are None if they depend on data.
    """
    result: dict[tuple[HalfOpenInterval | None, ...], int] = {}
    for place in places:
        for dimension in range(len(place)):
            low, high = place, place
            while (before := _shift_subscript(low, dimension, -1)) in places and before != low:
                low = before
            while (after := _shift_subscript(high, dimension, 1)) in places and after != high:
                high = after
            ends = zip(low, high, strict=True)
            box = tuple(None if x is None or y is None else (x, y + 1) for x, y in ends)
            first, last = low[dimension], high[dimension]
            width = 1 if first is None or last is None else int((last - first).constant_term.p) + 1
            result[box] = max(width, result.get(box, 0))
    order = sorted(result, key=lambda box: -result[box])
    widest = max(result.values())
    return order[:MAX_ELEMENT_BOXES] if widest == 1 else [box for box in order if result[box] > 1][:MAX_ELEMENT_BOXES]


def _shift_subscript(place: tuple[Poly | None, ...], dimension: int, step: int) -> tuple[Poly | None, ...]:
    moved = list(place)
    subscript = moved[dimension]
    moved[dimension] = None if subscript is None else subscript + step
    return tuple(moved)


def facts_in_iteration(turn: WindowLoop, facts: Facts) -> Facts:
    """Extend facts by those of an iteration of a loop: its range is not empty and contains the variable."""
    for need in find_nonnegativity_condition(turn.hi - turn.lo - 1, facts):
        facts = facts.with_nonnegative(need)
    return with_loop_bounds(turn, facts, 1)


def with_loop_bounds(turn: WindowLoop, facts: Facts, before: int) -> Facts:
    """Extend facts by the bounds of a loop's variable, which is at most the end of the range less `before`."""
    ends = [(turn.lo, facts.simplify(turn.hi)), *((turn.around,) if turn.around else ())]
    return facts.with_symbol(turn.variable, [lo for lo, _ in ends], [hi - before for _, hi in ends])


def unite_over_loop(interval: HalfOpenInterval, turn: WindowLoop, facts: Facts) -> HalfOpenInterval | None:
    """Unite an interval over the iterations of a loop; None unless each interval overlaps or touches the next.

    Operands of a maximum or minimum that do not depend on the loop clip the union as they clip each interval: tiles
    that are cut at the end of a row make up the row.
    """
    low, high = interval
    whole = _unite_moving_interval(low, high, turn, facts)
    if whole is not None:
        return whole
    (still, starts), (stops, ends) = _split_operands(low, turn, True), _split_operands(high, turn, False)
    if not starts or not ends or not (still or stops):
        return None
    whole = _unite_moving_interval(reduce(facts.maximum, starts), reduce(facts.minimum, ends), turn, facts)
    if whole is None:
        return None
    return reduce(facts.maximum, still, whole[0]), reduce(facts.minimum, stops, whole[1])


def _split_operands(end: Poly, turn: WindowLoop, greatest: bool) -> tuple[list[Poly], list[Poly]]:
    """Split the operands of a maximum (if `greatest`) or minimum into those constant in the loop and others."""
    values = a.split_extremum(end, greatest)
    moving = [value for value in values if turn.variable in value.names]
    return [value for value in values if value not in moving], moving


def _unite_moving_interval(low: Poly, high: Poly, turn: WindowLoop, facts: Facts) -> HalfOpenInterval | None:
    """Unite moving intervals from the first start to the last end; None unless each overlaps or touches the next.

    Proof: of the iterations whose intervals start at or before an element, take the last one. The next interval
    starts after the element, and no later than this one ends, so the element is in this interval.
    """
    ends = low, high
    after = {turn.variable: Poly.symbol(turn.variable) + 1}
    first, last = {turn.variable: turn.lo}, {turn.variable: turn.hi - 1}
    moving = low if turn.variable in low.names else high
    if facts.nonnegative(facts.simplify(moving - moving.substitute(after))):
        # The interval moves down: the loop is reversed.
        low, high = low.substitute(after), high.substitute(after)
        first, last, after = last, first, {turn.variable: Poly.symbol(turn.variable) - 1}
    if facts.nonnegative(facts.simplify(high - low.substitute(after))):
        return ends[0].substitute(first), ends[1].substitute(last)
    return None


def find_coefficient(value: Poly, name: str) -> Poly | None:
    """Return the coefficient of a variable in a value; None if the value is not linear in it."""
    symbol = Symbol(name)
    if any(atom != symbol and name in atom.names for atom in value.atoms()):
        return None
    coefficients = value.coefficients(symbol)
    return coefficients.get(1) if set(coefficients) <= {0, 1} else None


def find_nonnegativity_condition(value: Poly, facts: Facts) -> tuple[Poly, ...]:
    """Find values without max or min whose nonnegativity implies that of `value`; empty if that is proved.

    If there are several such sets it takes the first, and if there are none, `value` itself.
    """
    return next(iter(iterate_nonnegativity_conditions(value, facts)), (value,))


def iterate_nonnegativity_conditions(value: Poly, facts: Facts) -> Iterator[tuple[Poly, ...]]:
    """Yield sets of values without max or min: `value` is nonnegative if and only if all of some set are."""
    if facts.nonnegative(value):
        yield ()
        return
    operands = a.split_extremum(value, False)
    if len(operands) > 1:
        yield from iterate_joint_conditions(operands, facts)
        return
    for option in reversed(a.split_extremum(value, True)):
        if option == value:
            yield (value,)
        elif not facts.positive(-option):
            yield from iterate_nonnegativity_conditions(option, facts)


def iterate_joint_conditions(values: Sequence[Poly], facts: Facts) -> Iterator[tuple[Poly, ...]]:
    """Yield sets of values without max or min: all of `values` are nonnegative if and only if all of some set are."""
    for sets in product(*(tuple(iterate_nonnegativity_conditions(value, facts)) for value in values)):
        yield tuple(dict.fromkeys(condition for conditions in sets for condition in conditions))


def is_data_independent(value: Poly) -> bool:
    """Test whether a value depends on sizes and loop variables alone, and not on entries of an array."""
    return all(
        not isinstance(atom, DATA_ATOM_TYPES) and all(map(is_data_independent, atom.parts)) for atom in value.atoms()
    )


@record(eq=False)
class IntervalByRow:
    """A range of matrix rows, and the interval of entries that is touched in each, in the symbol `ROW_PREFIX`."""

    rows: ClosedInterval
    entries: ClosedInterval


RowRanges = Sequence[tuple[str, Poly, Poly, Facts]]
"""For each variable that determines rows, from the outermost in: its name, its range, and the facts around it."""


def bound_line_sum_above(lines: FactoredProduct, ranges: RowRanges) -> FactoredProduct:
    """Bound the sum of the lines of a row over all rows from above."""
    for name, lo, hi, facts in reversed(ranges):
        lines = lines.bound_sum(name, lo, hi, facts)
    return lines


def sum_lines_exactly(lines: FactoredProduct, ranges: RowRanges) -> FactoredProduct | None:
    """Sum the lines of a row over all rows exactly; None if the sum has no closed form."""
    try:
        for name, lo, hi, facts in reversed(ranges):
            lines = lines.sum_exactly(name, lo, hi, facts)
    except (UnresolvedError, TooComplexError):
        return None
    return lines


def bound_rows_and_lines_above(
    others: FactoredProduct, row: Poly, ranges: RowRanges
) -> tuple[FactoredProduct, FactoredProduct]:
    """Bound the number of rows and the lines of any row from above.

    `others` is the number of rows for each value of the variables in `ranges`, and `row` the lines of a row.
    """
    for name, lo, hi, facts in reversed(ranges):
        row = bound_maximum(row, name, lo, hi, facts)
    return bound_line_sum_above(others, ranges), FactoredProduct((row,))


def is_monotone(value: Poly, loop: Loop, facts: Facts) -> bool:
    """Test whether a value is monotone in the variable of a loop."""
    if loop.variable not in value.names:
        return True
    inside = facts.with_symbol(loop.variable, (loop.lo,), (loop.hi - 1,))
    return find_direction(value, loop.variable, loop.hi, inside) is not None
