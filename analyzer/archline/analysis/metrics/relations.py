"""Relate metrics: flops and span never exceed work; max(span, work/P) <= time(P) <= span + work/P.

Every flop counts as work. A parallel loop of t iterations adds ceil(log2 t) to the span, but t to the work,
and ceil(log2 t) + max(1 + body) is at most the sum of all 1 + body. Only a declared span may exceed the work.

The upper bound on the time is Brent's theorem (Richard P. Brent, The Parallel Evaluation of General Arithmetic
Expressions, Journal of the ACM 21(2), 1974), for schedules that leave no processor idle while something is
ready: while all are busy they do P units of the work at a time, and while one is not, everything that is ready
proceeds, so that the longest remaining path gets shorter. Starting the iterations of a parallel loop is on the
path but on no processor; it always proceeds.
"""

from __future__ import annotations

from collections.abc import Iterator

from archline.algebra import atoms as a
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.expand import write_quotients_as_fractions
from archline.algebra.facts import Facts
from archline.algebra.polynomial import Poly
from archline.algebra.prove.prover import prove_never_negative
from archline.analysis.bounds import Bound, Piece, build_piece
from archline.analysis.cost import Cost, Costs, enclose_cost
from archline.expr.intervals import EvaluationError, Interval, Point
from archline.language import syntax as s
from archline.language.call_graph import find_reachable, iterate_declared_costs
from archline.language.metrics import METRICS
from archline.language.model import Module
from archline.records import record, replace


def relate_costs(costs: Costs, module: Module, algorithm: s.Algorithm, facts: Facts) -> Costs:
    """Bound flops and span from above by the upper bound of the work, and the work from below by their lower bounds."""
    metrics = dict(costs.metrics)
    for name, cost in costs.metrics.items():
        limit = METRICS[name].at_most
        if limit is not None and limit in costs.metrics and not may_exceed(name, module, algorithm):
            metrics[name] = _bound_cost_above(cost, costs[limit], facts)
            metrics[limit] = _bound_cost_below(metrics[limit], cost, facts)
    kinds = {kind: _bound_cost_above(cost, metrics["flops"], facts) for kind, cost in costs.flops_by_kind.items()}
    return replace(costs, metrics=metrics, flops_by_kind=kinds)


def may_exceed(metric: str, module: Module, algorithm: s.Algorithm) -> bool:
    """Test whether a metric may exceed the metric that usually limits it, because its costs are declared."""
    definition = METRICS.get(metric)
    if definition is None or definition.at_most in definition.within:
        return False
    bodies = tuple(called.body for called in (algorithm, *find_reachable(module, algorithm)))
    return any(declared == metric for _, _, declared in iterate_declared_costs(module, bodies))


def _bound_cost_above(cost: Cost, limit: Cost, facts: Facts) -> Cost:
    """Bound a cost from above by `limit`, which it never exceeds: at sizes, and in its form if proved smaller."""
    if cost.exact or cost.upper is None or limit.upper is None:
        return cost
    upper = limit.upper if not cost.by_case and _is_proved_nonnegative(cost.upper - limit.upper, facts) else cost.upper
    return _mark_exact(replace(cost, upper=upper, at_most=(*cost.at_most, limit)))


def _bound_cost_below(cost: Cost, limit: Cost, facts: Facts) -> Cost:
    """Bound a cost from below by `limit`, which never exceeds it: at sizes, and in its form if proved larger."""
    if cost.exact or cost.lower is None or limit.lower is None:
        return cost
    lower = limit.lower if not cost.by_case and _is_proved_nonnegative(limit.lower - cost.lower, facts) else cost.lower
    return _mark_exact(replace(cost, lower=lower, at_least=(*cost.at_least, limit)))


def _mark_exact(cost: Cost) -> Cost:
    """Mark a cost as exact if its bounds have become equal."""
    return replace(cost, status="exact") if cost.exact and cost.status == "bounded" else cost


def _is_proved_nonnegative(difference: Poly, facts: Facts) -> bool:
    return prove_never_negative(difference.substitute(facts.rewrites), facts)


def time_cost(costs: Costs, processors: Poly, name: str) -> Cost:
    """Bound the time of an algorithm on a number of processors, which is written as `name`."""
    work, span = costs["work"], costs["span"]
    metric = f"time({name})"
    declared = tuple(sorted({*work.declared, *span.declared}))
    for cost in (work, span):
        if cost.status == "unknown":
            return replace(cost, metric=metric, declared=declared)
    least, most = _bound_time(_require_bounds(work), _require_bounds(span), processors)
    bounds = _bounds_by_case(work.by_case, span.by_case, processors)
    interval_at = _TimeAtPoint(work, span, processors)
    return Cost(
        metric,
        "declared" if declared else "bounded",
        least,
        most,
        None,
        None,
        declared,
        bounds,
        interval_at=interval_at,
    )


BoundPair = tuple[Poly, Poly]


def _require_bounds(cost: Cost) -> BoundPair:
    assert cost.lower is not None
    assert cost.upper is not None
    return cost.lower, cost.upper


def _bound_time(work: BoundPair, span: BoundPair, processors: Poly) -> BoundPair:
    share = processors**-1
    # Serial code takes its time on any number of processors.
    least = span[0] if work[0] == span[0] else a.maximum(work[0] * share, span[0])
    return least, span[1] + work[1] * share


def _bounds_by_case(work: tuple[Piece, ...], span: tuple[Piece, ...], processors: Poly) -> tuple[Bound, ...]:
    """Bound the time by cases, if the longer list of pieces refines the last piece of the shorter one; else none."""
    few, many = sorted((work, span), key=len)
    if not few or any(left.when != right.when for left, right in zip(few[:-1], many, strict=False)):
        return ()
    # The last piece of the shorter list has the sizes of all others of the longer one.
    work, span = ((*pieces, *pieces[-1:] * (len(many) - len(pieces))) for pieces in (work, span))
    ends = (_bound_time((w.lower, w.upper), (s.lower, s.upper), processors) for w, s in zip(work, span, strict=True))
    pieces = (build_piece(piece.where, *pair, "metric") for piece, pair in zip(many, ends, strict=True))
    return tuple(bound for piece in pieces for bound in piece.bounds)


def claim_margins(costs: Costs, processors: Poly, claimed: Poly, relation: str) -> Iterator[tuple[Poly, ...]]:
    """Yield groups of values; the claim `time relation claimed` holds if in each group a value is at least 0.

    The relation is `==`, `<=` or `>=`. The values are margins in time multiplied by the number of processors.
    """
    work, span = _require_bounds(costs["work"]), _require_bounds(costs["span"])
    target = write_quotients_as_fractions(claimed) * processors
    if relation in ("==", "<="):
        yield (target - span[1] * processors - work[1],)
    if relation in ("==", ">="):
        yield span[0] * processors - target, work[0] - target


@record
class _TimeAtPoint:
    """A function from a point to bounds on the time, computed from those of work and span."""

    work: Cost
    span: Cost
    processors: Poly

    def __call__(self, point: Point) -> Interval:
        processors = evaluate(self.processors, point)
        if processors < 1:
            raise EvaluationError("the number of processors is below 1")
        work, span = enclose_cost(self.work, point), enclose_cost(self.span, point)
        return Interval(max(span.lower, work.lower / processors), span.upper + work.upper / processors)
