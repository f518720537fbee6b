"""Represent the solution of a metric's recurrence: one form, or a piece for each case without calls."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from archline.algebra.evaluate.exact import evaluate
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Poly, Symbol
from archline.algebra.reduce import reduce_in_sizes
from archline.analysis.bounds import Bound, ConditionWriter, Piece, Region, build_piece
from archline.analysis.cost import IntervalAt
from archline.expr.intervals import Interval
from archline.ir.amounts import Amount, KnownAmount, UnknownAmount, map_bounds
from archline.records import field, record
from archline.recurrences.model import Decision, Equation, SizeFunction, list_case_conditions

if TYPE_CHECKING:
    from archline.recurrences.exact.constraints import InductionProof


@record(eq=False)
class MetricSolution:
    """The solution of a metric: bounds in one expression, and by pieces if that reads better.

    `interval_at` returns the minimum and the maximum count at given sizes, if both recurrences are functions of the
    sizes alone. `proofs` prove the closed form, or the bounds, in the recursive cases.
    """

    amount: Amount
    pieces: tuple[Piece, ...] = ()
    interval_at: IntervalAt | None = field(default=None, repr=False)
    proofs: tuple[InductionProof, ...] = field(default=(), repr=False)


def add_amount_to_solution(closed: MetricSolution, part: Amount) -> tuple[tuple[Bound, ...], IntervalAt | None]:
    """Return the bounds and the values at sizes of a solution plus `part`, such as the cost of iterations of loops.

    The bounds are empty and the values None if `part` is unknown.
    """
    if isinstance(part, UnknownAmount):
        return (), None
    lower, upper, interval_at = part.lower, part.upper, closed.interval_at
    bounds = tuple(
        bound.map_value(lambda value, more=lower if bound.side == "lower" else upper: value + more)  # type: ignore[misc]
        for piece in closed.pieces
        for bound in piece.bounds
    )
    if interval_at is None:
        return bounds, None
    return (
        bounds,
        lambda point: interval_at(point) + Interval(evaluate(lower, point), evaluate(upper, point)),
    )


def bound_over_recursive_calls(amount: Amount, function: SizeFunction, changing: Mapping[str, bool]) -> Amount:
    """Bound an amount of one call of a recursive function over all calls of a run, in the sizes of the first call.

    `changing` maps each size that recursive calls change to True if it never grows in a call.
    """
    if isinstance(amount, UnknownAmount):
        return amount

    def bound_value(value: Poly, upper: bool) -> Poly | None:
        total = ZERO
        for monomial, coefficient in value.terms.items():
            small = (coefficient < 0) == upper
            if any(
                name in changing
                and (
                    power < 0
                    or not isinstance(atom, Symbol)
                    or name not in function.least
                    or not (small or changing[name])
                )
                for atom, power in monomial
                for name in atom.names
            ):
                return None
            # Indices have no least value.
            least = {name: Poly.constant(function.least[name]) for name in changing.keys() & function.least.keys()}
            term = Poly({monomial: coefficient})
            total = total + (term.substitute(least) if small else term)
        return total

    sizes = set(function.parameters)
    lower, upper = bound_value(amount.lower, False), bound_value(amount.upper, True)
    if upper is None or not upper.names <= sizes:
        names = sorted((amount.upper.names & changing.keys()) | (amount.upper.names - sizes))
        what = " and ".join(f"`{name}`" for name in names)
        reason = (
            f"an iteration in the recursion of `{function.algorithm.name}` has costs in {what}, which its calls change"
        )
        return UnknownAmount(reason, function.algorithm.span)
    if lower is None or not lower.names <= sizes:
        lower = ZERO
    return KnownAmount(lower if lower == amount.lower else function.facts.positive_part(lower), upper)


def combine_recursive_and_base_cases(
    least: SizeFunction, most: SizeFunction, lower: Poly, upper: Poly
) -> MetricSolution:
    """Combine the bounds `lower` and `upper` of recursive cases with the base cases of `least` and `most`."""
    facts = least.facts
    both = tuple(zip(least.equations, most.equations, strict=True))
    ends = [(low, high) for low, high in both if not low.recursive and not high.recursive]
    same = all(facts.simplify(low.value) == lower and facts.simplify(high.value) == upper for low, high in ends)
    if same or (lower == upper and all(_equals_closed_form(pair, lower) for pair in ends)):
        return MetricSolution(amount_in_sizes(facts, lower, upper))
    indicators = [_multiply_indicators(low.decisions) for low, _ in ends]
    rest = ONE - sum(indicators, ZERO)
    low, high = rest * lower, rest * upper
    for indicator, (first, second) in zip(indicators, ends, strict=True):
        low, high = low + indicator * first.value, high + indicator * second.value
    recursive = [a for a, b in both if a.recursive or b.recursive]
    skipped = [equation.decisions for equation in recursive]

    def build_case_piece(
        indicator: Poly, cases: tuple[Facts, ...], low: Poly, high: Poly, written: ConditionWriter = tuple
    ) -> Piece:
        # An indicator is 1 in its case, and 0 elsewhere.
        region, values = Region((facts.restore(indicator - 1),), cases, written), amount_in_sizes(facts, low, high)
        return build_piece(region, values.lower, values.upper, "recurrence")

    pieces = [
        build_case_piece(indicator, (a.facts,), a.value, b.value, partial(list_case_conditions, a.decisions, skipped))
        for indicator, (a, b) in zip(indicators, ends, strict=True)
    ]
    pieces.append(build_case_piece(rest, tuple(equation.facts for equation in recursive), lower, upper))
    amount = map_bounds(KnownAmount(low, high), partial(reduce_in_sizes, facts=facts))
    return MetricSolution(amount, tuple(pieces))


def _equals_closed_form(ends: tuple[Equation, Equation], value: Poly) -> bool:
    """Test whether the values of a base case equal the closed form of the recursive cases there."""
    pinned = {name: low for name, bound in ends[0].facts.bounds.items() for low in bound.lower if low in bound.upper}
    differences = (case.facts.simplify(case.value - value) for case in ends)
    return not any(case.facts.simplify(d.substitute(pinned)) for case, d in zip(ends, differences, strict=True))


def amount_in_sizes(facts: Facts, lower: Poly, upper: Poly) -> KnownAmount:
    """Return the amount between two bounds, expressed in the sizes of the program instead of quotients such as n/2."""
    low = facts.restore(lower)
    return KnownAmount(low, low if upper == lower else facts.restore(upper))


def _multiply_indicators(decisions: tuple[Decision, ...]) -> Poly:
    product = ONE
    for decision in decisions:
        product = product * (decision.indicator if decision.taken else ONE - decision.indicator)
    return product
