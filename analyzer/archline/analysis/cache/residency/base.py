"""Units: references that share lines of the cache, the lines that they need, and the lines that are fetched for them.

A unit keeps, at any time, the lines that the current window of its loop has touched: what the window before touched and
this one touches too is not fetched again. Any choice of units whose lines fit together is a way to run the program, and
optimal replacement fetches no more.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from typing import cast

from archline.algebra import atoms as a
from archline.algebra.effort import TooComplexError, budget
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ZERO, Poly
from archline.analysis.cache.footprint.union import group_footprint
from archline.analysis.cache.footprint.upper import Reference
from archline.analysis.cache.footprint.windows import is_known
from archline.analysis.metrics.data import bound_without
from archline.ir.factored import FactoredProduct, UnboundedError
from archline.ir.layout import LINE, ClosedInterval, box_lines
from archline.ir.tree import Chain, Loop, contiguous_dimension
from archline.records import field, record, replace

MAX_UNIT = 40_000
"""Term products for one unit."""
MAX_DEPTH = 16
"""Shapes of nests grow with the square of their depth: units of deeper ones are measured one by one."""
Measure = Callable[[tuple[Reference, ...]], tuple[FactoredProduct, FactoredProduct]]
"""What a unit of references holds and fetches."""
_Measured = dict[object, tuple[FactoredProduct, FactoredProduct]]
"""What units of a program hold and fetch, by content: equal calls have equal units."""
Classes = tuple[tuple[Poly, Poly, Poly], ...]
"""Ways to split lines: at most so many of a class are held at a time, and so many more of all classes that are kept
together; there are so many classes."""


def accepts_no_parts(_: tuple[Reference, ...]) -> bool:
    """Whether parts of references may be held: none."""
    return False


@record(eq=False)
class Resident:
    """`space` lines are held while `loop` runs (None: throughout), and `misses` lines are fetched in all.

    A scratch unit has no line of its own: one that all such share is fetched at every access. `splitting` finds the
    `classes`; of parts of the references it may hold those that are `fit`. In the loops `given_up` it holds nothing.
    Raises UnboundedError where no closed form is found.
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
        """Ways to split the lines."""
        return self.splitting()

    @cached_property
    def _measured(self) -> tuple[Poly, Poly]:
        space, misses = self._of_sizes(self.references)
        return space.value, misses.value

    def _of_sizes(self, references: tuple[Reference, ...]) -> tuple[FactoredProduct, FactoredProduct]:
        facts, content = references[0].facts, _by_content(self.measure)
        if content is None or any(len(each.chain) > MAX_DEPTH for each in references):
            return self._sized(references)
        known, key = cast(_Measured, facts.found.setdefault(Resident, {})), (content, *_reference_shapes(references))
        if key not in known:
            found = self._sized(references)
            if _loop_counters(references) & (found[0].value.names | found[1].value.names):
                return found
            known[key] = found
        return known[key]

    def _sized(self, references: tuple[Reference, ...]) -> tuple[FactoredProduct, FactoredProduct]:
        space, misses = self.measure(references)
        facts = references[0].facts
        return of_sizes(space, facts), of_sizes(misses, facts)

    @property
    def space(self) -> Poly:
        """The lines that are held."""
        return self._measured[0]

    @property
    def moves(self) -> int:
        """How often each line that it fetches counts."""
        return max(each.moves for each in self.references)

    @property
    def fetched(self) -> Poly:
        """The lines that are fetched."""
        return self._measured[1]

    @cached_property
    def misses(self) -> Poly:
        """The same, each line as often as it counts."""
        return self.fetched * self.moves

    @cached_property
    def smooth(self) -> tuple[FactoredProduct, FactoredProduct]:
        """What it holds and fetches, or more, without rounding to whole lines."""
        twins = tuple(replace(each, whole_lines=False) for each in self.references)
        space, misses = self._of_sizes(twins)
        return space, misses.times(Poly.constant(self.moves)) if self.moves > 1 else misses

    @property
    def name(self) -> str:
        """The array's name."""
        return self.references[0].name


def _by_content(measure: Measure) -> Hashable:
    """A measure by the numbers that it is made of, None if it is made of others, which would keep their facts alive.

    Keywords only hold what follows from these and the references.
    """
    if not isinstance(measure, partial):
        return measure
    return (measure.func, measure.args) if all(isinstance(each, int) for each in measure.args) else None


def _reference_shapes(references: tuple[Reference, ...]) -> Iterator[Hashable]:
    """References but for the names of counters: each with the loops that it shares and its place in the text."""
    loops: dict[Loop, int] = {}
    first = min(references[0].order)
    for each in references:
        shared = tuple(loops.setdefault(loop, len(loops)) for loop in each.chain)
        yield each.shape, shared, tuple(number - first for number in each.order)


def _loop_counters(references: tuple[Reference, ...]) -> frozenset[str]:
    return frozenset().union(*(each.counters for each in references))


def with_known_bounds(unit: Resident) -> Resident | None:
    """The unit; None where it is not known what it holds or fetches."""
    try:
        with of_its_own():
            names = unit.space.names | unit.misses.names
    except UnboundedError:
        return None
    return None if _loop_counters(unit.references) & names else unit


@contextmanager
def of_its_own() -> Iterator[None]:
    """A limit for one unit: one whose closed form is too large is left out, and not all. Raises UnboundedError."""
    try:
        with budget(MAX_UNIT, counts=True):
            yield
    except TooComplexError:
        raise UnboundedError from None


def of_sizes(amount: FactoredProduct, facts: Facts) -> FactoredProduct:
    """At least an amount, without entries of offsets: sums leave those where their ranges begin and end.

    Raises UnboundedError.
    """
    if is_known(amount.value):
        return amount
    found = bound_without(a.Offset | a.Gap, amount.value, facts, True)
    if found is None:
        raise UnboundedError
    return FactoredProduct((found,))


def classes_of(references: Sequence[Reference], depth: int) -> Classes:
    """The lines of windows by where in a row they are, and by row."""
    array, first = references[0].array, references[0]
    along = contiguous_dimension(array)
    try:
        found = group_footprint(references, depth).spread()
        if found is None:
            return ()
        rows, wide = (of_sizes(each.at_most(first.chain[:depth]), first.facts).value for each in found)
        everything = box_lines(array, group_footprint(references, 0).hull, first.facts).factors
        if len(everything) < len(array.extents):
            return ()
        of_rows = of_sizes(FactoredProduct((everything[along],)), first.facts)
        others = of_sizes(FactoredProduct((*everything[:along], *everything[along + 1 :])), first.facts)
    except UnboundedError:
        return ()
    return (rows, ZERO, of_rows.value), (wide, ZERO, others.value)


def common_loops(references: Sequence[Reference]) -> Chain:
    """The loops around all references."""
    chain = references[0].chain
    for other in references[1:]:
        depth = 0
        while depth < min(len(chain), len(other.chain)) and chain[depth] is other.chain[depth]:
            depth += 1
        chain = chain[:depth]
    return chain


def pass_once(depth: int, words: int, references: tuple[Reference, ...]) -> tuple[FactoredProduct, FactoredProduct]:
    """The lines of so many words more than one are held; each line of a window at a depth is fetched once in it."""
    return FactoredProduct((a.ceil_div(Poly.constant(words), LINE) + 1,)), group_footprint(references, depth).total


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


def rows_of(reference: Reference) -> tuple[ClosedInterval | None, ...]:
    """Where the places are in all dimensions but that of rows."""
    along = contiguous_dimension(reference.array)
    return tuple(interval for dimension, interval in enumerate(reference.place) if dimension != along)
