"""The time on P processors, between bounds: max(span, work/P) <= time(P) <= span + work/P.

The upper bound is Brent's theorem (Richard P. Brent, The Parallel Evaluation of General Arithmetic Expressions, Journal
of the ACM 21(2), 1974), for schedules that leave no processor idle while something is ready: while all are busy they do
P units of the work at a time, and while one is not, everything that is ready goes on, so that the longest path left
gets shorter. Starting the iterations of a parallel loop is on the path and in no processor's work; it always goes on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from archline.algebra import atoms as a
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.expand import as_fractions
from archline.algebra.polynomial import Poly
from archline.analysis.cost import Cost, Costs, Regime, ends_at
from archline.expr.intervals import EvaluationError
from archline.records import record, replace


def time_on(costs: Costs, processors: Poly, name: str) -> Cost:
    """The time of an algorithm on so many processors; `name` is how the number is written."""
    work, span = costs["work"], costs["span"]
    metric = f"time({name})"
    declared = tuple(sorted({*work.declared, *span.declared}))
    for each in (work, span):
        if each.status == "unknown":
            return replace(each, metric=metric, declared=declared)
    least, most = _together(_bounds(work), _bounds(span), processors)
    regimes = _regimes(work, span, processors)
    ends = _Ends(work, span, processors)
    return Cost(metric, "declared" if declared else "bounded", least, most, None, None, declared, regimes, ends=ends)


Bounds = tuple[Poly, Poly]


def _bounds(cost: Cost) -> Bounds:
    assert cost.lower is not None
    assert cost.upper is not None
    return cost.lower, cost.upper


def _together(work: Bounds, span: Bounds, processors: Poly) -> Bounds:
    share = processors**-1
    # What runs one after the other takes its time on any number of processors.
    least = span[0] if work[0] == span[0] else a.maximum(work[0] * share, span[0])
    return least, span[1] + work[1] * share


def _regimes(work: Cost, span: Cost, processors: Poly) -> tuple[Regime, ...]:
    """The regimes of the one that has more, where they begin with those of the other but its last."""
    few, many = sorted((work.regimes, span.regimes), key=len)
    if not few or any(each.when != other.when for each, other in zip(few[:-1], many, strict=False)):
        return ()
    ends = _extended(work.regimes, len(many)), _extended(span.regimes, len(many))
    return tuple(
        Regime(each.when, each.cases, *_together((w.lower, w.upper), (s.lower, s.upper), processors))
        for each, w, s in zip(many, *ends, strict=True)
    )


def _extended(regimes: tuple[Regime, ...], count: int) -> tuple[Regime, ...]:
    """So many regimes: the last one again."""
    return (*regimes, *regimes[-1:] * (count - len(regimes)))


def margins(costs: Costs, processors: Poly, claimed: Poly, relation: str) -> Iterator[tuple[Poly, ...]]:
    """What must be nonnegative for a claim about the time to hold, one of each group; times the processors."""
    work, span = _bounds(costs["work"]), _bounds(costs["span"])
    wanted = as_fractions(claimed) * processors
    if relation in ("==", "<="):
        yield (wanted - span[1] * processors - work[1],)
    if relation in ("==", ">="):
        yield span[0] * processors - wanted, work[0] - wanted


@record
class _Ends:
    """The bounds at a point, from those of work and span there."""

    work: Cost
    span: Cost
    processors: Poly

    def __call__(self, point: Mapping[str, int | Fraction]) -> tuple[Fraction, Fraction]:
        processors = evaluate(self.processors, point)
        if processors < 1:
            raise EvaluationError("there is no processor")
        work, span = ends_at(self.work, point), ends_at(self.span, point)
        return max(span[0], work[0] / processors), span[1] + work[1] / processors
