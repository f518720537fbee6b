"""Bounds of a cost: each holds in a region of the sizes and caches, on one side.

A cost is a partition of its sizes into pieces. In each piece bounds of both sides hold, some of them under further
conditions on the cache. Values, forms by cases and growth of a cost follow from its pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Literal

from archline.algebra.evaluate.exact import evaluate
from archline.algebra.facts import Facts
from archline.algebra.polynomial import Poly
from archline.expr.intervals import Point
from archline.expr.text import format_conjunction, join_phrases
from archline.language import syntax as s
from archline.records import field, record, replace

Side = Literal["lower", "upper"]
Source = Literal["cases", "recurrence", "metric", "plan", "footprint"]
"""The origin of a bound: guards on sizes, a recurrence, other metrics, an allocation plan, the footprint of a loop."""
BoundUse = Literal["page", "values", "growth"]
"""The use of a bound: pages show it; it only sharpens values and proofs; or only claims on growth read it."""
OTHERWISE = "otherwise"
ConditionWriter = Callable[[], tuple[s.Fact, ...]]
"""A function that returns conditions as facts."""


@record(eq=False)
class Region:
    """The sizes and caches for which every expression of `needs` is at least 0.

    A region with `cases` is one part of a partition of the sizes; `cases` are the facts of each of its cases, in the
    symbols of the derivation. A region without `cases` is a condition on the cache. `written` returns the conditions
    as facts; it returns none for the last part of a partition, which has all remaining sizes.
    """

    needs: tuple[Poly, ...] = ()
    cases: tuple[Facts, ...] = field(default=(), repr=False)
    written: ConditionWriter = field(default=tuple, repr=False)

    @cached_property
    def facts(self) -> tuple[s.Fact, ...]:
        """The conditions as facts."""
        return self.written()

    @cached_property
    def when(self) -> str:
        """The conditions as text; empty for all sizes and caches."""
        return format_conjunction(self.facts) or (OTHERWISE if self.cases else "")

    @property
    def label(self) -> str:
        """The conditions as text with `where` in front."""
        return join_phrases("where ", self.when) if self.facts else self.when

    @property
    def head(self) -> str:
        """The label and a colon, to print in front of a formula; empty without conditions."""
        return f"{self.label}: " if self.when else ""

    def is_implied(self, facts: Facts) -> bool:
        """Test whether facts imply the conditions."""
        return all(map(facts.nonnegative, self.needs))

    def contains(self, point: Point) -> bool:
        """Test whether a point satisfies the conditions. Raises EvaluationError."""
        return all(evaluate(need, point) >= 0 for need in self.needs)


EVERYWHERE = Region()


@record(eq=False)
class Residency:
    """A decision to hold lines of an array for some references; `held` and `fetched` are numbers of lines.

    Lines are held from one iteration of `loop` to the next, or all through the run if it is None, except in the inner
    loops for which they are `given_up`; `held` is 0 if a line is fetched at every access. Lines lie `along` a dimension
    of the array; `places` are the source lines of the references.
    """

    array: str
    extents: tuple[Poly, ...]
    along: int
    places: tuple[int, ...]
    loop: str | None
    held: Poly
    fetched: Poly
    given_up: tuple[str, ...] = ()


UnroundedBound = Callable[[], tuple[list[list[Poly]], Poly] | None]
"""A function that returns lists of needs, one of which suffices, and an upper bound without rounding, or None."""


@record(eq=False)
class Bound:
    """A lower or an upper bound on a cost: its `value` in the region `where`.

    `by` names the loop whose footprint gives a lower bound, and is empty for any other bound. `smooth` returns a larger
    upper bound without rounding; `keeping` returns the residencies of the allocation plan that gives an upper bound.
    """

    side: Side
    value: Poly
    where: Region = EVERYWHERE
    source: Source = "plan"
    shown: BoundUse = "page"
    by: str = ""
    smooth: UnroundedBound = field(default=lambda: None, repr=False)
    keeping: Callable[[], tuple[Residency, ...]] = field(default=tuple, repr=False)

    @cached_property
    def residencies(self) -> tuple[Residency, ...]:
        """The residencies of the allocation plan that gives the bound."""
        return self.keeping()

    def map_value(self, form: Callable[[Poly], Poly]) -> Bound:
        """Return the bound of a nondecreasing function of the cost: `form` is applied to the value."""
        return replace(self, value=form(self.value), smooth=partial(_map_unrounded_bound, self.smooth, form))


def _map_unrounded_bound(smooth: UnroundedBound, form: Callable[[Poly], Poly]) -> tuple[list[list[Poly]], Poly] | None:
    unrounded = smooth()
    return None if unrounded is None else (unrounded[0], form(unrounded[1]))


@record(eq=False)
class Piece:
    """A part of the sizes with its bounds: `uppers` for large caches first, the one that holds for all caches last."""

    where: Region
    lowers: tuple[Bound, ...]
    uppers: tuple[Bound, ...]

    @property
    def when(self) -> str:
        """The conditions on the sizes as text."""
        return self.where.when

    @property
    def lower(self) -> Poly:
        """The lower bound in all of the piece."""
        return self.lowers[0].value

    @property
    def upper(self) -> Poly:
        """The upper bound in all of the piece."""
        return self.uppers[-1].value

    @property
    def exact(self) -> bool:
        """Whether both bounds are the same expression."""
        return self.lower == self.upper

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """The bounds of both sides."""
        return (*self.lowers, *self.uppers)

    @property
    def is_split_by_sizes(self) -> bool:
        """Whether guards on sizes make the piece, and not the cases of a recurrence."""
        return self.uppers[-1].source == "cases" and bool(self.where.needs)


def build_piece(where: Region, lower: Poly, upper: Poly, source: Source = "cases") -> Piece:
    """Make the piece of a region with one bound on each side."""
    return Piece(where, (Bound("lower", lower, where, source),), (Bound("upper", upper, where, source),))


def partition_sizes(bounds: Sequence[Bound], lower: Poly, upper: Poly) -> tuple[Piece, ...]:
    """Make a piece for each region of the bounds by cases; without any, one of all sizes with `lower` and `upper`.

    The remaining bounds are added to every piece.
    """
    by_cases = [bound for bound in bounds if bound.where.cases] or build_piece(EVERYWHERE, lower, upper).bounds
    further = [bound for bound in bounds if not bound.where.cases]

    def list_side(side: Side, candidates: Sequence[Bound], region: Region | None = None) -> list[Bound]:
        return [bound for bound in candidates if bound.side == side and region in (None, bound.where)]

    return tuple(
        Piece(
            region,
            (*list_side("lower", by_cases, region), *list_side("lower", further)),
            (*list_side("upper", further), *list_side("upper", by_cases, region)),
        )
        for region in dict.fromkeys(bound.where for bound in by_cases)
    )
