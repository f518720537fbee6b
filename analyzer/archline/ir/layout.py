"""Count the lines that arrays, intervals of rows and boxes of subscripts occupy, by layout."""

from __future__ import annotations

from collections.abc import Sequence

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, Poly
from archline.ir.factored import FactoredProduct
from archline.ir.tree import Array, contiguous_dimension

LINE, WORDS = Poly.symbol("L"), Poly.symbol("Z")
ONE_LINE_FITS = WORDS - LINE
"""Nonnegative exactly if at least one line fits in the cache."""
ClosedInterval = tuple[Poly, Poly]
"""The first and the last subscript."""


def count_array_lines(array: Array) -> Poly:
    """Count the lines of a whole array whose rows (or columns, if these are contiguous) begin with a line."""
    if array.layout == "zmorton":
        rows, columns = array.extents
        side = a.exponential(2, a.ceil_log2(a.maximum(rows, columns)))
        return a.ceil_div(side * side, LINE)
    lines = ONE
    for dimension, extent in enumerate(array.extents):
        lines = lines * (a.ceil_div(extent, LINE) if dimension == contiguous_dimension(array) else extent)
    return lines


def count_stack_lines(array: Array) -> Poly:
    """Count the lines of the stack up to the end of a local array."""
    return array.below + count_array_lines(array)


def bound_interval_lines_above(
    interval: ClosedInterval, facts: Facts, array: Array, whole: bool = True, counters: frozenset[str] | None = None
) -> Poly:
    """Bound the lines of an interval of w words of a row from above: ceil(w/L) at its start, else floor((w - 2)/L) + 2.

    If the interval begins at a multiple of b for all values of `counters`, it begins at most L - gcd(b, L) words
    after a line's start, which lowers the bound. If not `whole`, the bound is w/L plus 1 or 2, without rounding.
    """
    low, high = interval
    words = facts.positive_part(a.as_gaps(high - low + 1))
    if words == ONE or array.strided:
        return words
    at_start = array.aligned and not low
    if not whole:
        return words * LINE**-1 + (1 if at_start else 2)
    if at_start:
        return a.ceil_div(words, LINE)
    common = (
        a.common_divisor(_compute_common_divisor(low, counters), LINE)
        if array.aligned and counters is not None
        else ONE
    )
    return facts.simplify(a.floor_div(words - 1 - common, LINE)) + 2


def _compute_common_divisor(value: Poly, counters: frozenset[str]) -> Poly:
    """Return a divisor of a value that holds for all values of `counters`: the factors that all of its terms share."""
    if not a.is_integral(value) or any(power < 0 for term in value.terms for _, power in term):
        return ONE
    common, *rest = ({atom: power for atom, power in term if not atom.names & counters} for term in value.terms)
    for powers in rest:
        common = {atom: min(power, powers[atom]) for atom, power in common.items() if atom in powers}
    return Poly({tuple(sorted(common.items(), key=lambda pair: pair[0].key)): a.compute_content(value)})


def count_aligned_lines(interval: ClosedInterval, facts: Facts, array: Array) -> Poly | None:
    """Count the lines of an interval exactly, as floor(last/L) - floor(first/L) + 1; 0 or 1 if it is empty.

    None if its length may be negative, if rows do not begin with lines, if no two entries share a line, if the interval
    begins its row, or if its length is a constant, for which sums would be long.
    """
    low, high = interval
    words = a.as_gaps(high - low + 1)
    if array.strided or not array.aligned or not low or words.is_constant or not facts.nonnegative(words):
        return None
    return a.floor_div(high, LINE) - a.floor_div(low, LINE) + 1


def bound_box_lines_above(
    array: Array,
    box: Sequence[ClosedInterval],
    facts: Facts,
    whole: bool = True,
    counters: frozenset[str] | None = None,
) -> FactoredProduct:
    """Bound the lines of a box of subscripts from above; options are those of `bound_interval_lines_above`."""
    lines = FactoredProduct()
    for dimension, interval in enumerate(box):
        if dimension == contiguous_dimension(array):
            lines = lines.times(bound_interval_lines_above(interval, facts, array, whole, counters))
        else:
            lines = lines.times(facts.positive_part(a.as_gaps(interval[1] - interval[0] + 1)))
    return lines
