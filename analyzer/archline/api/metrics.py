"""One derived cost, as Python sees it: its bounds, its growth, its values at sizes, and at arrays of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from archline.algebra.polynomial import Poly
from archline.analysis.cache.lru.client import MAX_SECONDS, LruUnavailable, MissingExtraError, lru_counts
from archline.analysis.cache.lru.distribution import LruCounts, MissCurve
from archline.analysis.cost import Cost
from archline.costs import rules
from archline.costs.arrays import known_bounds, needed_names, upper_of
from archline.costs.sizes import Number, Point, merge_sizes
from archline.expr.intervals import EvaluationError
from archline.expr.text import format_expression
from archline.language import model
from archline.language import syntax as s
from archline.language.diagnostics import error
from archline.records import record, replace
from archline.report.cost_view import CostView, LruView, values_at

if TYPE_CHECKING:
    import sympy
    from numpy.typing import ArrayLike

    from archline.api.costs import CostReport


@record
class MetricRegime:
    """The bounds of a cost where a condition holds, given in the language's syntax."""

    when: str
    lower: sympy.Expr
    upper: sympy.Expr


class Metric:
    """One derived cost: flops, work, span or io."""

    def __init__(self, report: CostReport, cost: Cost) -> None:
        self._report = report
        self._cost = cost

    @property
    def name(self) -> str:
        """Which cost it is."""
        return self._cost.metric

    @property
    def status(self) -> str:
        """`exact`, `bounded`, `declared` (it depends on declared costs) or `unknown`."""
        return self._cost.status

    @property
    def reason(self) -> str | None:
        """Why it is unknown."""
        return self._cost.reason

    @property
    def place(self) -> str | None:
        """`file:line:column` of what makes it unknown."""
        return None if self._cost.span is None else str(self._cost.span)

    @property
    def declared(self) -> tuple[str, ...]:
        """The externs and `costs` statements that it takes on trust."""
        return self._cost.declared

    @cached_property
    def lower(self) -> sympy.Expr | None:
        """The lower bound; equal to `upper` where the status is exact, None where it is unknown."""
        return self._sympy(self._cost.lower)

    @cached_property
    def upper(self) -> sympy.Expr | None:
        """The upper bound."""
        return self._sympy(self._cost.upper)

    @cached_property
    def regimes(self) -> tuple[MetricRegime, ...]:
        """The bounds by conditions: on Z for io, each of which holds wherever its condition does; else by cases.

        Empty where one pair of bounds holds everywhere.
        """
        cost, to = self._cost, self._sympy
        cases = [(piece.when, piece.lower, piece.upper) for piece in cost.by_case]
        cases = cases or [(bound.where.when, cost.pieces[0].lower, bound.value) for bound in cost.by_cache]
        return tuple(MetricRegime(when, to(lower), to(upper)) for when, lower, upper in cases)

    @property
    def growth(self) -> str | None:
        """`Theta(n*m)`, or `O(...), Omega(...)` as far as they are proved; None where neither is."""
        return self._report.growth(self._cost)

    def _sympy(self, value: Poly | None) -> sympy.Expr | None:
        from archline.algebra.sympy_bridge import to_sympy

        return None if value is None else to_sympy(value, self._report.symbols)

    @property
    def text(self) -> str:
        """The cost in the language's syntax: `2*n*m*p`, `1 to n`, or `unknown`."""
        return " to ".join(map(format_expression, self._forms)) or "unknown"

    @property
    def _forms(self) -> list[s.Expr]:
        """The bounds, once where they are the same, none where they are unknown."""
        bounds = [value for value in (self._cost.lower, self._cost.upper) if value is not None]
        return [self._report.costs.tree(value) for value in dict.fromkeys(bounds)]

    def at(self, sizes: Mapping[str, Number] | str | None = None, /, **named: Number) -> Number | tuple[Number, Number]:
        """The exact value at sizes, or the pair of bounds where the cost is not exact.

        Raises ArchlineError for wrong, missing or unknown sizes (AL401 to AL407), and where there is no value: the
        cost is unknown (AL414) or irrational there (AL415).
        """
        cost = self._cost
        point = self._report.point_of_run(merge_sizes(sizes, named) or {}, needed_names(self._report, cost))
        if "K" in point:
            cost = self._report.with_longest.costs.metrics.get(self.name, cost)
            known_bounds(self._report, cost)
        try:
            values = values_at(cost, point)
        except EvaluationError as problem:
            raise error(rules.NO_VALUE, f"the {self.name} of `{self._report.name}`: {problem}") from None
        assert values is not None
        lower, upper = _whole(values.lower), _whole(values.upper)
        return lower if cost.exact else (lower, upper)

    def upper_at(self, sizes: Mapping[str, ArrayLike] | None = None, /, **named: ArrayLike) -> NDArray[Any]:
        """The upper bound at many sizes at once: integers or arrays of them, broadcast against each other.

        Exact: int64 where that holds all bounds, else integers of Python. For io it is the least bound of all regimes
        that hold at each point, which `at` may be below: that uses spare lines too, and follows recursion through the
        program's calls. Bounds on counts are rounded down, others up. Raises ArchlineError as `at` does, naming the
        first point that is wrong, and for arrays that cannot be broadcast (AL416).
        """
        return upper_of(self._report, self._cost, {**(sizes or {}), **named})

    def __repr__(self) -> str:
        return f"<{self.name}, {self.status}: {self.text}>"

    def _repr_latex_(self) -> str:
        from archline.report.latex import expression

        name = rf"\mathrm{{{self.name}}}"
        match self._forms:
            case []:
                return rf"$\text{{{self.name} is unknown}}$"
            case [form]:
                return f"${name} = {expression(form)}$"
            case [low, high]:
                return rf"${expression(low)} \le {name} \le {expression(high)}$"
            case _:
                raise AssertionError("a cost has two bounds at most")

    def _repr_html_(self) -> str:
        return f"<code>{escape(self.name)} = {escape(self.text)}</code> ({escape(self.status)})"


def _whole(value: Number) -> Number:
    return int(value) if value == int(value) else value


# Exact counts of LRU misses
MISSING = "exact LRU counts need the extra `isl`"


def counted(
    module: model.Module, node: s.Algorithm, line: int, point: Mapping[str, int], seconds: float = MAX_SECONDS
) -> LruCounts | LruUnavailable:
    """The stack distances of a call; sizes that the point lacks stay symbols. Raises ArchlineError (AL417)."""
    try:
        return lru_counts(module, node, {**point, "L": line}, seconds)
    except MissingExtraError:
        raise error(rules.NEEDS_EXTRA, MISSING, hint="pip install 'archline[isl]'") from None


def lru_view(
    module: model.Module, node: s.Algorithm, line: int, at: Point | None, seconds: float = MAX_SECONDS
) -> LruView:
    """What a report shows: in sizes, or at a point. Raises ArchlineError (AL411, AL417)."""
    point = {name: int(value) for name, value in (at or {}).items() if value == int(value)}
    if point.get("L", line) != line:
        raise error(rules.OPTIONS_CLASH, f"`--lru {line}` contradicts L = {point['L']}")
    found = counted(module, node, line, point, seconds)
    if isinstance(found, LruUnavailable):
        place = None if found.span is None else f"{found.span.source.path}:{found.span.line}"
        return LruView(line, reason=found.reason, place=place)
    if at is None:
        return LruView(line, found)
    curve = found.at(point)
    return _at(LruView(line, found, accesses=curve.accesses), curve, point)


def _at(view: LruView, curve: MissCurve, point: Mapping[str, int]) -> LruView:
    """LRU misses of caches of 1, 2, 4, ... lines, up to where all data fits, and the bounds at the given cache."""
    lines = {1 << step for step in range(curve.first.bit_length())} | {max(1, curve.first)}
    capacity = point["Z"] // point["L"] if "Z" in point and "L" in point else None
    if capacity is not None:
        lines |= {capacity}
    misses = [(each, curve.misses(each)) for each in sorted(lines)]
    known = tuple((each, count) for each, count in misses if count is not None)
    if curve.misses(0) != view.accesses:
        return LruView(view.line, reason="the counts reported by isl do not sum to the number of accesses")
    if len(known) < len(misses):
        return LruView(view.line, reason="some reuse distances are not polynomials")
    return replace(view, misses=known, bound=None if capacity is None else curve.bound(capacity))


def with_lru(view: CostView, lru: LruView) -> CostView:
    """A report with exact counts; the lower bound on io is the larger of both."""
    least = 0 if lru.bound is None else lru.bound.bound
    rows = tuple(replace(row, least=least) if row.metric == "io" else row for row in view.rows)
    return replace(view, rows=rows, lru=lru)
