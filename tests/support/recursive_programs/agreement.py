"""What is derived of a recursive algorithm against what a run of it counts: the ways in which they disagree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from archline.algebra.evaluate.exact import evaluate
from archline.analysis.bounds import OTHERWISE, Piece
from archline.analysis.cost import Cost, Costs
from archline.execution.results import RunCounts
from archline.expr.intervals import EvaluationError
from archline.expr.values import evaluate_fact
from archline.language.parser import parse_expression

Sizes = Mapping[str, int]


def executed(counts: RunCounts) -> dict[str, int]:
    """The counts by metric, flops by kind too."""
    return {metric: getattr(counts, metric) for metric in ("flops", "work", "span")} | {
        f"flops.{kind}": count for kind, count in counts.flops_by_kind.items()
    }


def disagreements(costs: Costs, counts: Mapping[str, int], sizes: Sizes) -> Iterator[str]:
    """Everything derived that an execution at these sizes contradicts, as text."""
    known = {cost.metric: cost for cost in (*costs, *costs.flops_by_kind.values())}
    for metric in counts.keys() - known.keys():
        if costs["flops"].status != "unknown" and counts[metric]:
            yield f"{metric}: {counts[metric]} executed, nothing derived"
    for metric, cost in known.items():
        count = counts.get(metric, 0)
        yield from (
            f"{metric}: {count} executed at {dict(sizes)}; {text}" for text in _contradicted(cost, count, sizes)
        )


def _contradicted(cost: Cost, count: int, sizes: Sizes) -> Iterator[str]:
    ends = _ends_or_none(cost, sizes)
    if ends is not None and not ends[0] <= count <= ends[1]:
        yield f"the recurrence gives {ends[0]} to {ends[1]}"
    if cost.lower is None or cost.upper is None:
        if not cost.reason:
            yield "unknown without a reason"
        return
    yield from outside(cost, Fraction(count), sizes)


def outside(cost: Cost, count: Fraction, sizes: Sizes) -> Iterator[str]:
    """Closed bounds, over all and of the regime, that do not hold a count."""
    lower, upper = evaluate(cost.lower, sizes), evaluate(cost.upper, sizes)
    if lower < 0:
        yield f"negative: the bounds are {lower} and {upper}"
    if not lower <= count <= upper:
        yield f"the bounds are {lower} and {upper}"
    if (cost.status == "exact") != cost.exact:
        yield f"{cost.status}, and the bounds are {'' if cost.exact else 'not '}the same"
    if not cost.by_case:
        return
    piece = next((piece for piece in cost.by_case if _applies(piece, sizes)), None)
    if piece is None:
        yield "no piece applies"
        return
    lower, upper = evaluate(piece.lower, sizes), evaluate(piece.upper, sizes)
    if not lower <= count <= upper:
        yield f"the bounds where {piece.when} are {lower} and {upper}"


def _applies(piece: Piece, sizes: Sizes) -> bool:
    """Whether sizes are ones that the text of a piece speaks of, if none before it is."""
    return piece.when == OTHERWISE or bool(evaluate_fact(parse_expression(piece.when), sizes))


def value_or_none(cost: Cost, sizes: Sizes) -> Fraction | None:
    """What the recurrence gives, where there is one of the sizes alone and it is short enough."""
    ends = _ends_or_none(cost, sizes)
    return None if ends is None or ends[0] != ends[1] else ends[0]


def _ends_or_none(cost: Cost, sizes: Sizes) -> tuple[Fraction, Fraction] | None:
    """What the recurrence gives; None without one, or where it is refused."""
    if cost.interval_at is None:
        return None
    try:
        return cost.interval_at(sizes).ends
    except EvaluationError:
        # Too long, or a guarded call of an inlined body inside a max, whose sizes are none where the guard fails.
        return None
