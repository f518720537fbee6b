"""The result of the analysis is, for each metric, a `Cost` with bounds, a status, and its assumptions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import cached_property, partial
from math import ceil, floor
from typing import TYPE_CHECKING, Literal

from archline.algebra.evaluate.exact import evaluate
from archline.algebra.facts import Facts
from archline.algebra.index_range import IndexRange
from archline.algebra.polynomial import Poly
from archline.algebra.printing import to_tree
from archline.analysis.bounds import Bound, Piece, Region, partition_sizes
from archline.analysis.metrics.tally import DerivationStep
from archline.expr.intervals import EvaluationError, Interval, Point
from archline.expr.text import Formula
from archline.expr.tree import Span
from archline.growth.growths import Growth
from archline.ir.amounts import Amount, UnknownAmount
from archline.language import syntax as s
from archline.language.metrics import WHOLE_METRICS
from archline.records import field, record, replace

if TYPE_CHECKING:
    from archline.recurrences.model import IntegerRecurrence, Recurrence

Status = Literal["exact", "bounded", "declared", "unknown"]


IntervalAt = Callable[[Point], Interval]
"""A function from sizes to an interval that encloses the count."""
MinimumAtSizes = Callable[[Point], Fraction]
"""A function from sizes to a lower bound on the count."""
Explanation = Callable[[], "Recurrence | None"]
"""A function that returns the recurrence with its solution and proofs; None if there is none."""


FEW_LINES = 64
"""The lines that a recurrence for the growth of io assumes; a tall cache with fewer lines has Z < FEW_LINES^2."""
GrowthsUnderFacts = Callable[[Sequence[s.Fact]], "tuple[Growth, ...] | str"]
"""A function from facts to the upper growths of a cost, one for each condition, or the reason why none is known."""


@record
class HblTerm:
    """A bound for any schedule: io is Omega(iterations/(L*Z^power)), at all sizes with Z >= L >= 1."""

    iterations: Poly
    power: Fraction


@record(eq=False)
class AnyScheduleBound:
    """A lower bound on io for any schedule: the number of lines `touched`, and the HBL bounds `hbl_terms`.

    `evaluate` returns its value at sizes, Z and L. With `touches_a_line` a run touches at least one line at all sizes.
    `reason` says why `hbl_terms` is empty; `simple_touched`, which comparisons use, is at most `touched`.
    """

    touched: Poly
    hbl_terms: tuple[HblTerm, ...]
    touches_a_line: bool
    evaluate: Callable[[Point], Fraction] = field(repr=False)
    reason: str = ""
    simple_touched: Poly | None = None


@record(eq=False)
class TouchedRegion:
    """A part of an array that each call touches in full, if each extent in `large` is at least the number with it.

    `box` has the first and the last entry in each dimension. If `half` is "lower" or "upper", the part is that half of
    the box, with the diagonal.
    """

    array: str
    box: tuple[tuple[Poly, Poly], ...]
    large: tuple[tuple[Poly, int], ...]
    half: str


@record(eq=False)
class ReachedRegion:
    """The parts of arrays that a call can touch, in a recursion by indices.

    `parts` has arrays with the first and the last entry in each dimension. `most` is an upper bound on the io of the
    call in its indices, if the cache has FEW_LINES lines; None if no bound is known.
    """

    algorithm: str
    parts: tuple[tuple[str, tuple[tuple[Poly, Poly], ...]], ...]
    most: Poly | None


@record
class Cost:
    """One metric of one algorithm: lower <= count <= upper at every size that satisfies its `where`.

    `lower` and `upper` are None exactly if the status is "unknown"; then `reason` and `span` give the cause.
    A "declared" cost assumes the costs of `declared` (externs, `costs` statements); it is as exact as they are.
    `bounds` are all other bounds: lower and upper ones by cases of the sizes, if that reads better; upper ones under
    conditions on the cache, large caches first, where several may hold; and lower ones by loops.
    `upper_growths` returns upper growths under facts. `any_schedule_bound` is a lower bound for all schedules of the
    same iterations.
    `interval_at` encloses the count at given sizes, from recurrences or other metrics, which are sharper than `lower`
    and `upper`; `least_at` returns the minimum alone, much faster. For a recursive algorithm `explain` returns the
    recurrence of the bounds, `reached` the parts of arrays that its calls can touch, by indices;
    `touched` are the parts that each call touches in full, and `recursion` is the recurrence that the cost satisfies.
    `at_most` holds costs that it never exceeds, `at_least` costs that never exceed it: `enclose_cost` uses them.
    """

    metric: str
    status: Status
    lower: Poly | None
    upper: Poly | None
    reason: str | None = None
    span: Span | None = None
    declared: tuple[str, ...] = ()
    bounds: tuple[Bound, ...] = ()
    upper_growths: GrowthsUnderFacts | None = field(default=None, repr=False, compare=False)
    any_schedule_bound: AnyScheduleBound | None = field(default=None, repr=False, compare=False)
    interval_at: IntervalAt | None = field(default=None, repr=False, compare=False)
    least_at: MinimumAtSizes | None = field(default=None, repr=False, compare=False)
    explain: Explanation | None = field(default=None, repr=False, compare=False)
    reached: Callable[[], tuple[ReachedRegion, ...]] | None = field(default=None, repr=False, compare=False)
    touched: tuple[TouchedRegion, ...] = field(default=(), repr=False, compare=False)
    recursion: IntegerRecurrence | None = field(default=None, repr=False, compare=False)
    at_most: tuple[Cost, ...] = field(default=(), repr=False, compare=False)
    at_least: tuple[Cost, ...] = field(default=(), repr=False, compare=False)

    @property
    def exact(self) -> bool:
        """Whether both bounds are the same expression."""
        return self.lower is not None and self.lower == self.upper

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """The parts of the sizes with the bounds in each; empty if the cost is unknown."""
        return () if self.lower is None or self.upper is None else partition_sizes(self.bounds, self.lower, self.upper)

    @property
    def by_case(self) -> tuple[Piece, ...]:
        """The pieces of a cost that has several; empty if one has all sizes."""
        return tuple(piece for piece in self.pieces if piece.where.cases)

    @property
    def facts_by_piece(self) -> Iterator[tuple[Piece, Facts | None]]:
        """Pairs of a piece and the facts of one of its cases; the facts are None for a piece that has all sizes."""
        return ((piece, case) for piece in self.pieces for case in piece.where.cases or (None,))

    @cached_property
    def plans(self) -> tuple[Bound, ...]:
        """The upper bounds under conditions on the cache, small caches first."""
        return tuple(bound for bound in reversed(self.bounds) if bound.side == "upper" and not bound.where.cases)

    @cached_property
    def by_cache(self) -> tuple[Bound, ...]:
        """The upper bounds under conditions on the cache that pages show, small caches first."""
        return tuple(bound for bound in self.plans if bound.shown == "page")

    @cached_property
    def by_loop(self) -> tuple[Bound, ...]:
        """The lower bounds from the footprints of loops; like `lower`, they hold at all sizes."""
        return tuple(bound for bound in self.bounds if bound.by)

    @property
    def has_values(self) -> bool:
        """Whether the cost has values at given sizes: a recurrence has values even if it has no closed form."""
        return self.interval_at is not None or (self.lower is not None and self.upper is not None)

    @property
    def recurrence(self) -> Recurrence | None:
        """The recurrence of the bounds of a recursive algorithm; None if there is none."""
        return None if self.explain is None else self.explain()


def build_cost(metric: str, amount: Amount, declared: frozenset[str], algorithm: s.Algorithm) -> Cost:
    """Build the cost of an algorithm from the amount of a metric; `declared` names the declared costs in it."""
    trusted = tuple(sorted(declared))
    if isinstance(amount, UnknownAmount):
        return Cost(metric, "unknown", None, None, amount.reason, amount.span or algorithm.span, trusted)
    status: Status = "declared" if trusted else "exact" if amount.exact else "bounded"
    return Cost(metric, status, amount.lower, amount.upper, declared=trusted)


def enclose_cost(cost: Cost, point: Point) -> Interval:
    """Evaluate the sharpest bounds at a point: of formulas, recurrences and related metrics. Raises EvaluationError."""
    forms = partial(evaluate_formulas, cost)
    # A recurrence may take too many steps, or have a call without sizes; then formulas remain. An exact one suffices.
    functions = (forms,) if cost.exact or cost.interval_at is None else (cost.interval_at, forms)
    intervals = list(_evaluate_defined(functions, point)) or [forms(point)]
    below, above = ([partial(enclose_cost, limit) for limit in limits] for limits in (cost.at_least, cost.at_most))
    lower = max(interval.lower for interval in (*intervals, *_evaluate_defined(below, point)))
    return Interval(lower, min(interval.upper for interval in (*intervals, *_evaluate_defined(above, point))))


def _evaluate_defined(functions: Iterable[IntervalAt], point: Point) -> Iterator[Interval]:
    """Yield the values of functions at a point; functions without a value there are skipped."""
    for function in functions:
        with suppress(EvaluationError):
            yield function(point)


def evaluate_formulas(cost: Cost, point: Point) -> Interval:
    """Evaluate the sharpest of the formulas that pages show and that hold at a point. Raises EvaluationError."""
    if cost.lower is None or cost.upper is None:
        raise EvaluationError(cost.reason or "the cost is unknown")
    lower = upper = evaluate(cost.lower, point)
    if not cost.exact:
        upper = evaluate(cost.upper, point)
    for bound in cost.by_cache:
        # Without Z no condition on the cache has a value. Bounds by loops are never sharper than values.
        with suppress(EvaluationError):
            upper = min(upper, evaluate(bound.value, point)) if bound.where.contains(point) else upper
    return Interval(lower, upper)


def enclose_count(cost: Cost, point: Point) -> Interval:
    """Evaluate the sharpest bounds at a point; bounds on an integer count are rounded inwards if one lies between them.

    Raises EvaluationError also if the bounds contradict each other: then no run of the program at these sizes ends.
    """
    interval = enclose_cost(cost, point)
    lower, upper = interval.ends
    counted = cost.status == "bounded" and cost.metric.partition("(")[0] in (*WHOLE_METRICS, "time")
    none_between = counted and ceil(lower) > floor(upper)
    if lower > upper or (none_between and cost.interval_at is not None):
        raise EvaluationError(f"no run of these sizes ends: its cost would be at least {lower} and at most {upper}")
    return Interval(Fraction(ceil(lower)), Fraction(floor(upper))) if counted and not none_between else interval


def map_cost(
    cost: Cost,
    lower: Callable[[Poly], Poly],
    upper: Callable[[Poly], Poly],
    interval: Callable[[Point, Interval], Interval],
) -> Cost:
    """Derive a cost from another one by nondecreasing functions; `interval` maps the enclosing interval at a point.

    The regions of bounds and the assumptions are kept; growths, recurrences and related costs are dropped.
    """
    interval_at, least_at = cost.interval_at, cost.least_at
    return replace(
        cost,
        lower=None if cost.lower is None else lower(cost.lower),
        upper=None if cost.upper is None else upper(cost.upper),
        bounds=tuple(bound.map_value(lower if bound.side == "lower" else upper) for bound in cost.bounds),
        interval_at=None if interval_at is None else lambda point: interval(point, interval_at(point)),
        least_at=None if least_at is None else lambda point: interval(point, Interval.of(least_at(point))).lower,
        upper_growths=None,
        any_schedule_bound=None,
        explain=None,
        recursion=None,
        at_most=(),
        at_least=(),
    )


@record(eq=False)
class Costs:
    """The derived costs of an algorithm; metrics that count calls include the outermost call.

    `parameters` are the symbols that costs may contain, in the order of the algorithm, `may_vanish` the symbols that
    may be 0; `assumptions` are the assumed facts (`where` and `assume`) as text; `flops_by_kind` splits flops by add,
    mul and other kinds; `derivation` has the cost of each statement; `index_range` has two indices that begin and end a
    range.
    """

    algorithm: str
    parameters: tuple[str, ...]
    assumptions: tuple[str, ...]
    metrics: Mapping[str, Cost]
    flops_by_kind: Mapping[str, Cost]
    derivation: tuple[DerivationStep, ...] = field(repr=False, default=())
    may_vanish: frozenset[str] = frozenset()
    index_range: IndexRange | None = None

    def tree(self, value: Poly) -> s.Expr:
        """Convert a value to an expression in the algorithm's sizes."""
        if self.index_range is not None:
            return self.index_range.write_tree(value, self.parameters, self.may_vanish)
        return to_tree(value, self.parameters, self.may_vanish)

    def text(self, value: Poly) -> Formula:
        """Format a value in the algorithm's sizes, in the language's syntax."""
        return Formula(self.tree(value))

    def restrict_to(self, region: Region) -> Costs:
        """Restrict the costs to a region: symbols that are positive there are removed from `may_vanish`."""
        if not region.cases or not self.may_vanish:
            return self

        def is_positive(value: Poly) -> bool:
            return all(case.positive(value.substitute(case.rewrites)) for case in region.cases)

        indices = self.index_range
        if indices is not None and is_positive(indices.distance):
            indices = replace(indices, least=max(1, indices.least))
        may_vanish = frozenset(name for name in self.may_vanish if not is_positive(Poly.symbol(name)))
        return replace(self, may_vanish=may_vanish, index_range=indices)

    def __getitem__(self, metric: str) -> Cost:
        return self.metrics[metric]

    def __iter__(self) -> Iterator[Cost]:
        return iter(self.metrics.values())


def format_cost(costs: Costs, cost: Cost) -> str:
    """Format a known cost in one line, by its pieces."""
    return "; ".join(
        f"{piece.where.head}{_format_piece(costs.restrict_to(piece.where), piece)}" for piece in cost.pieces
    )


def _format_piece(costs: Costs, piece: Piece) -> str:
    lower = costs.text(piece.lower)
    return lower if piece.exact else f"at least {lower}, at most {costs.text(piece.upper)}"
