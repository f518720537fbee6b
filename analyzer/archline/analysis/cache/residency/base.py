"""Define residencies: references that share lines of the cache, the lines held, and the lines fetched for them.

A residency holds, at any time, the lines that the current window of its loop has touched: lines that the
previous window touched too are not fetched again. Any choice of residencies whose lines fit together is a
schedule of the cache, and optimal replacement fetches no more lines than it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from typing import cast

from archline.algebra import atoms as a
from archline.algebra.effort import TooComplexError, limit_effort
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ZERO, Poly
from archline.analysis.cache.footprint.union import group_footprint
from archline.analysis.cache.footprint.upper import Reference
from archline.analysis.cache.footprint.windows import is_data_independent
from archline.analysis.metrics.data import bound_value_without_kinds
from archline.ir.factored import FactoredProduct, UnboundedError
from archline.ir.layout import LINE, ClosedInterval, bound_box_lines_above
from archline.ir.tree import Chain, Loop, contiguous_dimension
from archline.records import field, record, replace

MAX_RESIDENCY_PRODUCTS = 40_000
"""The maximum number of term products for one residency."""
MAX_CACHED_DEPTH = 16
"""The maximum depth of nests whose residencies are cached by shape, as shapes grow with its square."""
Measure = Callable[[tuple[Reference, ...]], tuple[FactoredProduct, FactoredProduct]]
"""A function that bounds the lines held and the misses for some references."""
_MeasureCache = dict[object, tuple[FactoredProduct, FactoredProduct]]
"""The lines and misses of a program's residencies, by content: equal calls have equal residencies."""
Classes = tuple[tuple[Poly, Poly, Poly], ...]
"""Partitions of lines in classes: the maximum lines of a class held at a time, the additional lines of all
classes held together, and the number of classes."""


def accepts_no_parts(_: tuple[Reference, ...]) -> bool:
    """Return False: the default of `Resident.fit`, for residencies that cannot hold parts of their references."""
    return False


@record(eq=False)
class Resident:
    """Holds `space` lines while `loop` runs (None: the whole run) and fetches `misses` lines in total.

    A `scratch` residency holds no line: it shares a single line with all other scratch residencies, and fetches at
    every access. `measure` counts lines and misses, `splitting` derives the `classes`, and `fit` tells whether parts
    of the references can be held likewise. In the loops `given_up` it holds nothing. Its properties raise
    UnboundedError without a closed form.
    """

    references: tuple[Reference, ...]
    loop: Loop | None
    measure: Measure = field(repr=False)
    scratch: bool = False
    splitting: Callable[[], Classes] = field(default=tuple, repr=False)
    fit: Callable[[tuple[Reference, ...]], bool] = field(default=accepts_no_parts, repr=False)
    given_up: Chain = ()

    @cached_property
    def classes(self) -> Classes:
        """Alternative partitions of the lines into classes that can be retained separately."""
        return self.splitting()

    @cached_property
    def _lines_and_misses(self) -> tuple[Poly, Poly]:
        space, misses = self._measure_cached(self.references)
        return space.value, misses.value

    def _measure_cached(self, references: tuple[Reference, ...]) -> tuple[FactoredProduct, FactoredProduct]:
        """Bound the lines and the misses for references or parts of references, in terms of sizes.

        Memoised: references that differ only in the names of loop variables share a result.
        """
        facts, content = references[0].facts, _make_measure_key(self.measure)
        if content is None or any(len(reference.chain) > MAX_CACHED_DEPTH for reference in references):
            return self._measure_in_sizes(references)
        cache, key = (
            cast(_MeasureCache, facts.found.setdefault(Resident, {})),
            (content, *_iterate_reference_keys(references)),
        )
        if key not in cache:
            measured = self._measure_in_sizes(references)
            if _collect_loop_variables(references) & (measured[0].value.names | measured[1].value.names):
                return measured
            cache[key] = measured
        return cache[key]

    def _measure_in_sizes(self, references: tuple[Reference, ...]) -> tuple[FactoredProduct, FactoredProduct]:
        space, misses = self.measure(references)
        facts = references[0].facts
        return bound_above_in_sizes(space, facts), bound_above_in_sizes(misses, facts)

    @property
    def space(self) -> Poly:
        """The lines that are held."""
        return self._lines_and_misses[0]

    @property
    def moves(self) -> int:
        """The number of transfers that each fetched line counts as: 2 if it is written back."""
        return max(reference.moves for reference in self.references)

    @property
    def fetched(self) -> Poly:
        """The lines that are fetched."""
        return self._lines_and_misses[1]

    @cached_property
    def misses(self) -> Poly:
        """The lines that are fetched, each counted `moves` times."""
        return self.fetched * self.moves

    @cached_property
    def unrounded_bounds(self) -> tuple[FactoredProduct, FactoredProduct]:
        """Upper bounds on the lines held and on the misses, without rounding up to whole lines."""
        unrounded = tuple(replace(reference, whole_lines=False) for reference in self.references)
        space, misses = self._measure_cached(unrounded)
        return space, misses.times(Poly.constant(self.moves)) if self.moves > 1 else misses

    @property
    def name(self) -> str:
        return self.references[0].name


def _make_measure_key(measure: Measure) -> Hashable:
    """Make a cache key of a measure; None if an argument is not an integer, as the cache would keep it alive.

    Keyword arguments are left out, as they follow from the integers and the references.
    """
    if not isinstance(measure, partial):
        return measure
    return (measure.func, measure.args) if all(isinstance(argument, int) for argument in measure.args) else None


def _iterate_reference_keys(references: tuple[Reference, ...]) -> Iterator[Hashable]:
    """Yield keys of references without the names of loop variables: shape, shared loops and text positions."""
    loops: dict[Loop, int] = {}
    first = min(references[0].order)
    for reference in references:
        shared = tuple(loops.setdefault(loop, len(loops)) for loop in reference.chain)
        yield reference.shape, shared, tuple(number - first for number in reference.order)


def _collect_loop_variables(references: tuple[Reference, ...]) -> frozenset[str]:
    return frozenset().union(*(reference.counters for reference in references))


def keep_if_closed_form(unit: Resident) -> Resident | None:
    """Return the residency if its lines and misses have closed forms without loop variables; otherwise None."""
    try:
        with limit_residency_effort():
            names = unit.space.names | unit.misses.names
    except UnboundedError:
        return None
    return None if _collect_loop_variables(unit.references) & names else unit


@contextmanager
def limit_residency_effort() -> Iterator[None]:
    """Limit the effort for one residency, so that a closed form that is too large omits only this residency.

    Raises UnboundedError.
    """
    try:
        with limit_effort(MAX_RESIDENCY_PRODUCTS, counts=True):
            yield
    except TooComplexError:
        raise UnboundedError from None


def bound_above_in_sizes(amount: FactoredProduct, facts: Facts) -> FactoredProduct:
    """Bound an amount from above by one without entries of offset arrays, as sums over their segments have.

    Raises UnboundedError.
    """
    if is_data_independent(amount.value):
        return amount
    bound = bound_value_without_kinds(a.Offset | a.Gap, amount.value, facts, True)
    if bound is None:
        raise UnboundedError
    return FactoredProduct((bound,))


def derive_classes(references: Sequence[Reference], depth: int) -> Classes:
    """Partition the lines of windows into classes by position in a row, and into classes by row; empty if unknown.

    Windows are iterations of the outer `depth` loops.
    """
    array, first = references[0].array, references[0]
    along = contiguous_dimension(array)
    try:
        spread = group_footprint(references, depth).bound_rows_and_lines_above()
        if spread is None:
            return ()
        rows, row_lines = (
            bound_above_in_sizes(amount.bound_max_over_chain(first.chain[:depth]), first.facts).value
            for amount in spread
        )
        extents = bound_box_lines_above(array, group_footprint(references, 0).hull, first.facts).factors
        if len(extents) < len(array.extents):
            return ()
        positions = bound_above_in_sizes(FactoredProduct((extents[along],)), first.facts)
        all_rows = bound_above_in_sizes(FactoredProduct((*extents[:along], *extents[along + 1 :])), first.facts)
    except UnboundedError:
        return ()
    return (rows, ZERO, positions.value), (row_lines, ZERO, all_rows.value)


def find_common_loops(references: Sequence[Reference]) -> Chain:
    """Find the outer loops that all references share."""
    chain = references[0].chain
    for reference in references[1:]:
        depth = 0
        while depth < min(len(chain), len(reference.chain)) and chain[depth] is reference.chain[depth]:
            depth += 1
        chain = chain[:depth]
    return chain


def measure_single_pass(
    depth: int, words: int, references: tuple[Reference, ...]
) -> tuple[FactoredProduct, FactoredProduct]:
    """Measure a residency that fetches each line of a window at `depth` once, and holds one line and `words` words."""
    return FactoredProduct((a.ceil_div(Poly.constant(words), LINE) + 1,)), group_footprint(references, depth).total


def is_in_one_innermost_row(references: Sequence[Reference]) -> bool:
    """Test whether all references are in the same loops and access one row throughout the innermost loop."""
    chain = references[0].chain
    return (
        bool(chain)
        and all(reference.chain == chain for reference in references)
        and is_in_one_row(references, chain[-1])
    )


def is_in_one_row(references: Sequence[Reference], loop: Loop) -> bool:
    """Test whether all references are known to access one row throughout a loop; false for other layouts than rows and
    for subscripts that depend on data.
    """
    array, rows = references[0].array, get_row_subscripts(references[0])
    if array.layout == "zmorton" or array.moves or array.strided:
        return False
    if any(reference.is_data_dependent or get_row_subscripts(reference) != rows for reference in references):
        return False
    return not any(loop.variable in end.names for interval in rows if interval for end in interval)


def get_row_subscripts(reference: Reference) -> tuple[ClosedInterval | None, ...]:
    """Return the intervals of subscripts in all dimensions but the contiguous one; None for unspecified ones."""
    along = contiguous_dimension(reference.array)
    return tuple(interval for dimension, interval in enumerate(reference.place) if dimension != along)
