"""Represent one derived cost in Python: its bounds, its growth, and its values at sizes and at arrays of sizes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from archline.algebra.polynomial import Poly
from archline.analysis.cache.lru import MAX_SECONDS
from archline.analysis.cache.lru.client import LruUnavailable, MissingExtraError, derive_lru_counts
from archline.analysis.cache.lru.distribution import LruCounts, MissCurve
from archline.analysis.cost import Cost
from archline.costs import rules
from archline.costs.arrays import evaluate_upper_bound, list_needed_names, require_bounds
from archline.costs.sizes import Point, merge_sizes
from archline.expr.intervals import EvaluationError, Number
from archline.expr.text import format_expression
from archline.language import model
from archline.language import syntax as s
from archline.language.diagnostics import error
from archline.records import record, replace
from archline.report.cost_view import CostView, LruView, evaluate_bounds

if TYPE_CHECKING:
    import sympy
    from numpy.typing import ArrayLike

    from archline.api.costs import CostReport


@record
class MetricRegime:
    """The bounds of a cost under the condition `when`, a text in the language's syntax."""

    when: str
    lower: sympy.Expr
    upper: sympy.Expr


class Metric:
    """One derived cost of an algorithm, such as its flops, work, span or io."""

    def __init__(self, report: CostReport, cost: Cost) -> None:
        self._report = report
        self._cost = cost

    @property
    def name(self) -> str:
        """The name of the metric."""
        return self._cost.metric

    @property
    def status(self) -> str:
        """The status: `exact`, `bounded`, `declared` (it depends on declared costs) or `unknown`."""
        return self._cost.status

    @property
    def reason(self) -> str | None:
        """The reason why the cost is unknown; None if it is known."""
        return self._cost.reason

    @property
    def place(self) -> str | None:
        """The position of what makes the cost unknown, `file:line:column`; None if it is known or there is none."""
        return None if self._cost.span is None else str(self._cost.span)

    @property
    def declared(self) -> tuple[str, ...]:
        """The externs and `costs` statements whose declared costs it uses."""
        return self._cost.declared

    @cached_property
    def lower(self) -> sympy.Expr | None:
        """The lower bound; equal to `upper` if the status is exact, None if it is unknown."""
        return self._convert_to_sympy(self._cost.lower)

    @cached_property
    def upper(self) -> sympy.Expr | None:
        """The upper bound; None if it is unknown."""
        return self._convert_to_sympy(self._cost.upper)

    @cached_property
    def regimes(self) -> tuple[MetricRegime, ...]:
        """The bounds with their conditions: for io on Z, and several may hold together; for other costs disjoint cases.

        Empty if one pair of bounds holds everywhere.
        """
        cost, to = self._cost, self._convert_to_sympy
        cases = [(piece.when, piece.lower, piece.upper) for piece in cost.by_case]
        cases = cases or [(bound.where.when, cost.pieces[0].lower, bound.value) for bound in cost.by_cache]
        return tuple(MetricRegime(when, to(lower), to(upper)) for when, lower, upper in cases)

    @property
    def growth(self) -> str | None:
        """The growth as `Theta(n*m)`, or `O(...), Omega(...)` if these are proved; None if neither is."""
        return self._report.growth(self._cost)

    def _convert_to_sympy(self, value: Poly | None) -> sympy.Expr | None:
        from archline.algebra.sympy_bridge import to_sympy

        return None if value is None else to_sympy(value, self._report.symbols)

    @property
    def text(self) -> str:
        """The cost in the language's syntax: `2*n*m*p`, `1 to n`, or `unknown`."""
        return " to ".join(map(format_expression, self._forms)) or "unknown"

    @property
    def _forms(self) -> list[s.Expr]:
        """The lower and upper bound as expressions: one if they are equal, none if they are unknown."""
        bounds = [value for value in (self._cost.lower, self._cost.upper) if value is not None]
        return [self._report.without_io.tree(value) for value in dict.fromkeys(bounds)]

    def at(self, sizes: Mapping[str, Number] | str | None = None, /, **named: Number) -> Number | tuple[Number, Number]:
        """Return the exact value at sizes, or the pair of bounds if the cost is not exact.

        Raises ArchlineError for wrong, missing or unknown sizes (AL401 to AL407), and without a value: if the cost is
        unknown (AL414) or irrational there (AL415).
        """
        cost = self._cost
        point = self._report.point_of_run(merge_sizes(sizes, named) or {}, list_needed_names(self._report, cost))
        if "K" in point:
            cost = self._report.with_longest.costs.metrics.get(self.name, cost)
            require_bounds(self._report, cost)
        try:
            values = evaluate_bounds(cost, point)
        except EvaluationError as problem:
            raise error(rules.NO_VALUE, f"the {self.name} of `{self._report.name}`: {problem}") from None
        assert values is not None
        lower, upper = _to_int_if_integral(values.lower), _to_int_if_integral(values.upper)
        return lower if cost.exact else (lower, upper)

    def upper_at(self, sizes: Mapping[str, ArrayLike] | None = None, /, **named: ArrayLike) -> NDArray[Any]:
        """Return the upper bound at many sizes: integers or arrays of integers, broadcast against each other.

        Values are exact: int64 if all fit, else integers of Python. For io it is the minimum of the bounds of all
        regimes that hold at each point; `at` may return less, as it also uses spare lines, and follows the calls of a
        recursion. Bounds on counts are rounded down, others up. Raises ArchlineError as `at` does, naming the first
        wrong point, and for arrays that cannot be broadcast (AL416).
        """
        return evaluate_upper_bound(self._report, self._cost, {**(sizes or {}), **named})

    def __repr__(self) -> str:
        return f"<{self.name}, {self.status}: {self.text}>"

    def _repr_latex_(self) -> str:
        from archline.report.latex import render_expression

        name = rf"\mathrm{{{self.name}}}"
        match self._forms:
            case []:
                return rf"$\text{{{self.name} is unknown}}$"
            case [form]:
                return f"${name} = {render_expression(form)}$"
            case [low, high]:
                return rf"${render_expression(low)} \le {name} \le {render_expression(high)}$"
            case _:
                raise AssertionError("a cost has at most two bounds")

    def _repr_html_(self) -> str:
        return f"<code>{escape(self.name)} = {escape(self.text)}</code> ({escape(self.status)})"


def _to_int_if_integral(value: Number) -> Number:
    return int(value) if value == int(value) else value


# Exact counts of LRU misses
MISSING_EXTRA_MESSAGE = "exact LRU counts need the extra `isl`"


def count_stack_distances(
    module: model.Module, node: s.Algorithm, line: int, point: Mapping[str, int], seconds: float = MAX_SECONDS
) -> LruCounts | LruUnavailable:
    """Count the reuse distances of a call; sizes that are not in `point` stay symbols. Raises ArchlineError (AL417).

    Lines have `line` words; counting takes at most about `seconds`.
    """
    try:
        return derive_lru_counts(module, node, {**point, "L": line}, seconds)
    except MissingExtraError:
        raise error(rules.NEEDS_EXTRA, MISSING_EXTRA_MESSAGE, hint="pip install 'archline[isl]'") from None


def build_lru_view(
    module: model.Module, node: s.Algorithm, line: int, at: Point | None, seconds: float = MAX_SECONDS
) -> LruView:
    """Return the LRU counts for a report: as formulas, or at a point. Raises ArchlineError (AL411, AL417).

    Lines have `line` words; counting takes at most about `seconds`.
    """
    point = {name: int(value) for name, value in (at or {}).items() if value == int(value)}
    if point.get("L", line) != line:
        raise error(rules.OPTIONS_CLASH, f"`--lru {line}` contradicts L = {point['L']}")
    counts = count_stack_distances(module, node, line, point, seconds)
    if isinstance(counts, LruUnavailable):
        place = None if counts.span is None else f"{counts.span.source.path}:{counts.span.line}"
        return LruView(line, reason=counts.reason, place=place)
    if at is None:
        return LruView(line, counts)
    curve = counts.at(point)
    return _evaluate_misses(LruView(line, counts, accesses=curve.accesses), curve, point)


def _evaluate_misses(view: LruView, curve: MissCurve, point: Mapping[str, int]) -> LruView:
    """Add to a view the LRU misses in caches of 1, 2, 4, ... lines until all data fits, and the bound at Z and L."""
    lines = {1 << step for step in range(curve.first.bit_length())} | {max(1, curve.first)}
    capacity = point["Z"] // point["L"] if "Z" in point and "L" in point else None
    if capacity is not None:
        lines |= {capacity}
    misses = [(line_count, curve.misses(line_count)) for line_count in sorted(lines)]
    decided = tuple((line_count, count) for line_count, count in misses if count is not None)
    if curve.misses(0) != view.accesses:
        return LruView(view.line, reason="the counts reported by isl do not sum to the number of accesses")
    if len(decided) < len(misses):
        return LruView(view.line, reason="some reuse distances are not polynomials")
    return replace(view, misses=decided, bound=None if capacity is None else curve.bound(capacity))


def add_lru_counts(view: CostView, lru: LruView) -> CostView:
    """Return a view with exact LRU counts, which may raise the lower bound on io."""
    least = 0 if lru.bound is None else lru.bound.bound
    rows = tuple(replace(row, least=least) if row.metric == "io" else row for row in view.rows)
    return replace(view, rows=rows, lru=lru)
