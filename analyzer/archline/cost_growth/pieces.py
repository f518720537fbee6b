"""Convert derived costs to expressions that the growth prover reads, by regimes and cases."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, cast

from archline.algebra.polynomial import Symbol
from archline.algebra.printing import to_tree
from archline.analysis.bounds import Region
from archline.analysis.cost import FEW_LINES
from archline.cost_growth import cases as growth_cases
from archline.cost_growth.forms import build_growth_bounds
from archline.expr import build as b
from archline.expr.text import format_fact
from archline.growth.growths import Growth, decide_growth
from archline.ir.conditions import with_facts
from archline.ir.layout import LINE, ONE_LINE_FITS, WORDS
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

POSITIVE_METRICS = ("work", "span")
"""Metrics that are at least 1, as the outermost call is counted."""


def build_growth_pieces(
    costs: Costs, cost: Cost, facts: tuple[s.Fact, ...], known: Facts, blocks: bool = False
) -> list[Growth]:
    """Convert a cost to growths for the prover, one for each case of its pieces; `known` are the declared facts.

    With `blocks` the upper bound keeps terms m*floor(e/m); otherwise they are replaced by e.
    """
    return [
        Growth(
            *build_growth_bounds(costs, (piece.lower, piece.upper), known if case is None else case, blocks),
            (*facts, *(() if case is None else list_case_facts(case))),
            piece.where.facts,
        )
        for piece, case in cost.facts_by_piece
    ]


def iterate_growth_pieces_by_cases(
    costs: Costs, cost: Cost, facts: tuple[s.Fact, ...], known: Facts
) -> Iterator[list[tuple[Growth, GrowthCase]]]:
    """Yield the growths of an exact cost in cases of its sizes: by its pieces, or else for each way to split it."""
    assert cost.lower is not None
    is_positive = cost.metric in POSITIVE_METRICS or known.positive(cost.lower)
    by_piece = [
        growth_cases.GrowthCase(piece.where.needs, case, piece.lower, piece.upper)
        for piece, case in cost.facts_by_piece
        if case is not None
    ]
    for cases in [by_piece] if by_piece else growth_cases.iterate_case_splits(cost.lower, known):
        result = []
        for case in cases:
            low = case.lower
            if is_positive and (less := low.constant_term) < 0:
                # A count that is never 0 is at least 1: (c + 1)*e >= c + e.
                low = (low - less) / (1 - less)
            ends = build_growth_bounds(costs, (low, case.upper), case.facts, True)
            growth = Growth(*ends, (*facts, *list_case_facts(case.facts)), growth_cases.build_union_condition([case]))
            result.append((growth, replace(case, lower=low)))
        yield result


def rewrite_bounds(cost: Cost, form: Callable[[Poly], Poly], known: Callable[[Facts], Facts]) -> Cost:
    """Map the bounds of a cost and of its pieces by `form`, and the facts of the pieces' cases by `known`.

    Bounds by cache and by loop are left out.
    """
    assert cost.lower is not None
    assert cost.upper is not None
    pieces = [(piece, Region((), tuple(map(known, piece.where.cases)), piece.where.written)) for piece in cost.by_case]
    bounds = tuple(replace(x, value=form(x.value), where=region) for piece, region in pieces for x in piece.bounds)
    return replace(cost, lower=form(cost.lower), upper=form(cost.upper), bounds=bounds)


def express_cost_over_range(
    indices: IndexRange | None, cost: Cost, facts: tuple[s.Fact, ...], known: Facts
) -> tuple[Cost, tuple[s.Fact, ...], Facts] | None:
    """Express a cost, its facts and `known` in the length of an index range.

    None if `indices` is None, or if the cost depends on where the range starts in another way.
    """
    if indices is None or cost.lower is None or cost.upper is None:
        return None
    # A range that ends at a size may cost what depends on that size too.
    for range_ in (indices, replace(indices, high_stays=True)):
        moved = rewrite_bounds(cost, range_.substitute_high, range_.substitute_high_in_facts)
        ends = (moved.lower, moved.upper, *(end for piece in moved.pieces for end in (piece.lower, piece.upper)))
        if not any(end is not None and range_.low in end.names for end in ends):
            return moved, range_.eliminate_high_in_facts(facts), range_.substitute_high_in_facts(known)
    return None


def build_time_growth_pieces(costs: Costs, processors: str, facts: tuple[s.Fact, ...], known: Facts) -> list[Growth]:
    """Build the growths of the time on `processors`, for each pair of a case of work and a case of span."""
    work, span = (build_growth_pieces(costs, costs[metric], facts, known) for metric in ("work", "span"))
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


def list_case_facts(case: Facts) -> tuple[s.Fact, ...]:
    """List the bounds on sizes that a case implies, as facts."""
    if list_case_facts not in case.found:
        # Several metrics have the same cases.
        case.found[list_case_facts] = _list_size_bounds(case)
    return cast(tuple[s.Fact, ...], case.found[list_case_facts])


def _list_size_bounds(facts: Facts) -> tuple[s.Fact, ...]:
    """List the bounds on sizes, as `n >= 17` or `n >= m`, that `facts` hold."""
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


def list_facts_without_disjunctions(growth: Growth) -> tuple[s.Fact, ...]:
    """List the conditions of a growth, except disjunctions."""
    return tuple(
        x for x in growth.where if not any(isinstance(y, s.Binary) and y.op == "or" for y in s.iterate_nodes(x))
    )


def all_arrays_fit(cost: Cost, known: Facts) -> bool:
    """Test whether the facts imply the condition of a plan in which all arrays fit in the cache."""
    return any(plan.where.needs != (ONE_LINE_FITS,) and plan.where.is_implied(known) for plan in cost.plans)


def find_recurrence_growths(cost: Cost, facts: tuple[s.Fact, ...]) -> tuple[Growth, ...] | str:
    """Return the upper growths of io by its recurrence, cut off where data fits in cache, or the reason for none."""
    orders = "" if cost.upper_growths is None else cost.upper_growths(facts)
    if isinstance(orders, str):
        return orders
    return tuple(
        replace(growth, lower=None, facts=(*facts, *list_facts_without_disjunctions(growth))) for growth in orders
    )


def is_valid_in_any_cache(costs: Costs, cost: Cost, growth: Growth, facts: tuple[s.Fact, ...], scope: Scope) -> bool:
    """Test whether a growth of io under a condition also holds in caches of few lines."""
    known = with_facts(scope.facts, list_facts_without_disjunctions(growth), scope)
    assert growth.upper is not None
    return all_arrays_fit(cost, known) or is_valid_in_small_caches(costs, growth.upper, facts, scope.facts)


def is_valid_in_small_caches(costs: Costs, bound: s.Expr, facts: tuple[s.Fact, ...], known: Facts) -> bool:
    """Test whether io is O of `bound` in tall caches of few lines, where Z and L are bounded by constants.

    In such caches io is at most a constant times the work, so the work is compared with the bound; if the work is
    unknown, the io bound for any cache is.
    """
    if known.nonnegative(WORDS - LINE.scaled(FEW_LINES)):
        return True
    limits = ((b.name("Z"), FEW_LINES**2), (b.name("L"), FEW_LINES))
    small = (*facts, *(b.binary("<=", name, b.number(most)) for name, most in limits))
    both = filter(None, (costs["work"], costs.metrics.get("io")))
    compared = next((cost for cost in both if cost.lower is not None and cost.upper is not None), None)
    if compared is None:
        return False
    return (
        decide_growth("O", build_growth_pieces(costs, compared, small, known), bound, lambda *_: None).outcome
        == "holds"
    )
