"""What the two witnesses say of a run: every derived count is the executed one, or holds it between its bounds."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from archline.algebra.evaluate.exact import evaluate
from archline.analysis.bounds import Piece
from archline.analysis.cost import Cost, Costs
from archline.execution.results import Run
from archline.expr.values import evaluate_fact


def assert_agreement(costs: Costs, run: Run, text: str) -> None:
    """Every derived count, flops by kind too, is met exactly or holds the executed one between its bounds."""
    executed = {metric: getattr(run.counts, metric) for metric in ("flops", "work", "span")}
    sizes = {**run.sizes, **run.iterations}
    executed |= {f"flops.{kind}": count for kind, count in run.counts.flops_by_kind.items()}
    derived = {cost.metric: cost for cost in (*costs, *costs.flops_by_kind.values())}
    for metric, count in executed.items():
        cost = derived.get(metric)
        if cost is None:
            assert costs["flops"].status == "unknown", f"{metric} is executed but not derived in\n{text}"
            continue
        if cost.lower is None or cost.upper is None:
            assert cost.reason
            continue
        lower, upper = evaluate(cost.lower, sizes), evaluate(cost.upper, sizes)
        assert 0 <= lower <= count <= upper, f"{metric}: {lower} <= {count} <= {upper} at {sizes} in\n{text}"
        assert not cost.exact or lower == count == upper
        if cost.by_case:
            piece = piece_at(cost, sizes)
            assert piece is not None, f"no piece of {metric} applies at {sizes} in\n{text}"
            lower, upper = evaluate(piece.lower, sizes), evaluate(piece.upper, sizes)
            assert lower <= count <= upper, f"{metric} where {piece.when}: {lower}, {count}, {upper} in\n{text}"
            assert not cost.exact or lower == upper


def piece_at(cost: Cost, sizes: Mapping[str, int | Fraction]) -> Piece | None:
    """The first piece whose written condition holds; None where there is none."""
    return next(
        (piece for piece in cost.by_case if all(evaluate_fact(fact, sizes) for fact in piece.where.facts)), None
    )
