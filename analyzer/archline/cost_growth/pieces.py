"""Convert derived costs to expressions that the growth prover reads, by regimes and cases."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, cast

from archline.algebra.polynomial import Symbol
from archline.algebra.printing import to_tree
from archline.analysis.bounds import Region
from archline.analysis.cost import FEW_LINES
from archline.cost_growth import cases as growth_cases
from archline.cost_growth.forms import readable_bounds
from archline.expr import build as b
from archline.expr.text import format_fact
from archline.growth.growths import Growth, decide_growth
from archline.ir.conditions import with_all_facts
from archline.ir.layout import LINE, ONE_LINE, WORDS
from archline.language import syntax as s
from archline.records import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from archline.algebra.facts import Facts
    from archline.algebra.index_range import IndexRange
    from archline.algebra.polynomial import Poly
    from archline.analysis.cost import Cost, Costs
    from archline.cost_growth.cases import GrowthCase
    from archline.ir.scope import Scope

WHERE_SOME = ("work", "span")
"""Metrics that are positive, as the outermost call counts."""


def growth_pieces(
    costs: Costs, cost: Cost, facts: tuple[s.Fact, ...], known: Facts, blocks: bool = False
) -> list[Growth]:
    """Convert a cost for the growth prover, by regimes if it has them; `known` are declared facts.

    With `blocks` the upper bound keeps m*floor(e/m), which is at most e.
    """
    return [
        Growth(
            *readable_bounds(costs, (piece.lower, piece.upper), known if case is None else case, blocks),
            (*facts, *(() if case is None else facts_of_case(case))),
            piece.where.facts,
        )
        for piece, case in cost.facts_by_piece
    ]


def pieces_by_cases(
    costs: Costs, cost: Cost, facts: tuple[s.Fact, ...], known: Facts
) -> Iterator[list[tuple[Growth, GrowthCase]]]:
    """Convert an exact form for the growth prover in cases of its sizes, in one or several ways."""
    assert cost.lower is not None
    some = cost.metric in WHERE_SOME or known.positive(cost.lower)
    by_piece = [
        growth_cases.GrowthCase(piece.where.needs, case, piece.lower, piece.upper)
        for piece, case in cost.facts_by_piece
        if case is not None
    ]
    for cases in [by_piece] if by_piece else growth_cases.in_cases(cost.lower, known):
        result = []
        for case in cases:
            low = case.lower
            if some and (less := low.constant_term) < 0:
                # A count that is never 0 is 1 at least: (c + 1)*e >= c + e.
                low = (low - less) / (1 - less)
            ends = readable_bounds(costs, (low, case.upper), case.facts, True)
            growth = Growth(*ends, (*facts, *facts_of_case(case.facts)), growth_cases.union_conditions([case]))
            result.append((growth, replace(case, lower=low)))
        yield result


def in_other_forms(cost: Cost, form: Callable[[Poly], Poly], known: Callable[[Facts], Facts]) -> Cost:
    """Map the bounds of a cost and of its pieces, and the facts of their cases; without those by cache and by loop."""
    assert cost.lower is not None
    assert cost.upper is not None
    pieces = [(piece, Region((), tuple(map(known, piece.where.cases)), piece.where.written)) for piece in cost.by_case]
    bounds = tuple(replace(x, value=form(x.value), where=region) for piece, region in pieces for x in piece.bounds)
    return replace(cost, lower=form(cost.lower), upper=form(cost.upper), bounds=bounds)


def over_range(
    indices: IndexRange | None, cost: Cost, facts: tuple[s.Fact, ...], known: Facts
) -> tuple[Cost, tuple[s.Fact, ...], Facts] | None:
    """Express a cost and its facts in the length of an index range; None without one, or if the start matters."""
    if indices is None or cost.lower is None or cost.upper is None:
        return None
    moved = in_other_forms(cost, indices.moved, indices.facts)
    ends = (moved.lower, moved.upper, *(end for piece in moved.pieces for end in (piece.lower, piece.upper)))
    if any(end is not None and indices.low in end.names for end in ends):
        return None
    return moved, indices.written_facts(facts), indices.facts(known)


def pieces_of_time(costs: Costs, processors: str, facts: tuple[s.Fact, ...], known: Facts) -> list[Growth]:
    """Convert the time on a number of processors for the growth prover, by the regimes of work and span."""
    work, span = (growth_pieces(costs, costs[metric], facts, known) for metric in ("work", "span"))
    result = []
    for work_piece, span_piece in product(work, span):
        assert work_piece.lower is not None
        assert work_piece.upper is not None
        assert span_piece.lower is not None
        assert span_piece.upper is not None
        least, most = (b.binary("/", end, b.name(processors)) for end in (work_piece.lower, work_piece.upper))
        where = tuple({format_fact(fact): fact for fact in (*work_piece.where, *span_piece.where)}.values())
        together = tuple(dict.fromkeys((*work_piece.facts, *span_piece.facts)))
        result.append(
            Growth(b.call("max", span_piece.lower, least), b.binary("+", span_piece.upper, most), together, where)
        )
    return result


def facts_of_case(case: Facts) -> tuple[s.Fact, ...]:
    """List the bounds on sizes that a case implies, as facts."""
    if facts_of_case not in case.found:
        # All metrics ask about the same cases.
        case.found[facts_of_case] = _known(case)
    return cast(tuple[s.Fact, ...], case.found[facts_of_case])


def _known(facts: Facts) -> tuple[s.Fact, ...]:
    """List bounds on sizes as facts: n >= 17, n >= m."""
    result: list[s.Fact] = []
    for power in facts.powers:
        exponent_bounds = facts.bounds[power.exponent]
        for relation, values in ((">=", exponent_bounds.lower), ("<=", exponent_bounds.upper)):
            limits = [2 ** (int(value.constant_term.p) * power.every) for value in values if value.is_constant]
            result.extend(b.binary(relation, b.name(power.name), b.number(limit)) for limit in limits)
    for name, bounds in facts.bounds.items():
        if name in facts.quotients or not name.isidentifier():
            continue
        for relation, values in ((">=", bounds.lower), ("<=", bounds.upper)):
            for value in map(facts.restore, values):
                if all(isinstance(atom, Symbol) and atom.name.isidentifier() for atom in value.atoms()):
                    result.append(b.binary(relation, b.name(name), to_tree(value)))
    return tuple(result)


def unconditional_facts(growth: Growth) -> tuple[s.Fact, ...]:
    """The facts under which a growth holds, without disjunctions."""
    return tuple(x for x in growth.where if not any(isinstance(y, s.Binary) and y.op == "or" for y in s.nodes(x)))


def all_arrays_fit(cost: Cost, known: Facts) -> bool:
    """Test whether all arrays of a recursive algorithm fit in the cache, even if it has few lines."""
    return any(plan.where.needs != (ONE_LINE,) and plan.where.is_implied(known) for plan in cost.plans)


def growth_of_recurrence(cost: Cost, facts: tuple[s.Fact, ...]) -> tuple[Growth, ...] | str:
    """Return the growths of an io recurrence with a cut-off, or the reason why they are unknown."""
    orders = "" if cost.orders is None else cost.orders(facts)
    if isinstance(orders, str):
        return orders
    return tuple(replace(growth, lower=None, facts=(*facts, *unconditional_facts(growth))) for growth in orders)


def in_any_cache(costs: Costs, cost: Cost, growth: Growth, facts: tuple[s.Fact, ...], scope: Scope) -> bool:
    """Test whether a growth of io under a condition also holds in caches of few lines."""
    there = with_all_facts(scope.facts, unconditional_facts(growth), scope)
    assert growth.upper is not None
    return all_arrays_fit(cost, there) or in_small_caches(costs, growth.upper, facts, scope.facts)


def in_small_caches(costs: Costs, bound: s.Expr, facts: tuple[s.Fact, ...], known: Facts) -> bool:
    """Test whether io is O of a bound in tall caches of few lines, where Z and L are constants.

    There io is at most a constant multiple of work, and compared as work; if work is unknown, by its bound in any
    cache.
    """
    if known.nonnegative(WORDS - LINE.scaled(FEW_LINES)):
        return True
    small = ((b.name("Z"), FEW_LINES**2), (b.name("L"), FEW_LINES))
    few = (*facts, *(b.binary("<=", name, b.number(most)) for name, most in small))
    both = filter(None, (costs["work"], costs.metrics.get("io")))
    compared = next((cost for cost in both if cost.lower is not None and cost.upper is not None), None)
    if compared is None:
        return False
    return decide_growth("O", growth_pieces(costs, compared, few, known), bound, lambda *_: None).outcome == "holds"
