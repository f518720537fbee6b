"""The view of derived costs: what a report shows of them, made from the costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from archline.algebra.evaluate.exact import EvaluationError
from archline.algebra.polynomial import ZERO
from archline.analysis.analyse import costs_symbols
from archline.analysis.cost import Cost, Costs, whole_ends_at
from archline.claims.optimality import Attained
from archline.claims.published import Published
from archline.claims.verdict import Verdict
from archline.language import syntax as s
from archline.report.view import AlternativeRow, CostView, Number, Point, RegimeRow, Row, Values, contract


def cost_view(
    algorithm: s.Algorithm,
    costs: Costs,
    verdicts: tuple[Verdict, ...] = (),
    at: Point | None = None,
    growth: Callable[[Cost], str | None] = lambda _: None,
    near: Callable[[Cost], tuple[Attained | None, Published | None]] = lambda _: (None, None),
    more: Sequence[Cost] = (),
) -> CostView:
    """The view of derived costs, evaluated at `at` where one is given; `growth` tells the order of each.

    `near` tells how near each is to the least of any order, and what is published of it. `more` are shown beside them,
    without growth.
    """
    return CostView(
        algorithm=costs.algorithm,
        place=f"{algorithm.name_span.source.path}:{algorithm.name_span.line}",
        doc=algorithm.doc,
        parameters=costs.parameters,
        text=costs.text,
        symbols=tuple(sorted(costs_symbols(costs))),
        assumptions=costs.assumptions,
        rows=(
            *(_row(cost, at, partial(growth, cost), partial(near, cost)) for cost in costs),
            *(_row(cost, at) for cost in more),
        ),
        kinds=tuple(_row(cost, at, partial(growth, cost)) for cost in costs.flops_by_kind.values()),
        contracts=tuple(map(contract, verdicts)),
        at=at,
        derivation=costs.derivation,
        on_grid=bool(algorithm.grid),
    )


def _row(
    cost: Cost,
    at: Point | None,
    order: Callable[[], str | None] = lambda: None,
    near: Callable[[], tuple[Attained | None, Published | None]] = lambda: (None, None),
) -> Row:
    place = f"{cost.span.source.path}:{cost.span.line}" if cost.span is not None else None
    metric = cost.metric.removeprefix("flops.")
    regimes = tuple(RegimeRow(each.when, each.lower, each.upper) for each in cost.regimes)
    alternatives = tuple(
        AlternativeRow(each.when, cost.lower or ZERO, each.upper, each.kept, each.needs)
        for each in cost.alternatives
        if each.told
    )
    return Row(
        metric,
        cost.status,
        cost.lower,
        cost.upper,
        cost.reason,
        place,
        cost.declared,
        regimes,
        alternatives,
        cost.lowers,
        cost.tell,
        cost.orderless,
        cost.reached,
        cost.touched,
        partial(_evaluated, cost, at),
        order,
        near,
    )


def _evaluated(cost: Cost, at: Point | None) -> tuple[Values | None, Number | None, str]:
    """The cost at a point, its bound for any order there, and why there is none."""
    if at is None:
        return None, None, ""
    values: Values | None = None
    try:
        values = values_at(cost, at)
        return values, None if cost.orderless is None else cost.orderless.at(at), ""
    except EvaluationError as problem:
        return values, None, str(problem)


def values_at(cost: Cost, at: Point) -> Values | None:
    """The bounds at a point, None where they are unknown. Raises EvaluationError where they have no rational value."""
    return Values(*whole_ends_at(cost, at)) if cost.valued else None
