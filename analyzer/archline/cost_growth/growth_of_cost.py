"""Derive how a cost grows: short expressions for Theta, O and Omega, each proved by the growth prover."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from contextlib import suppress
from functools import reduce
from itertools import islice, product, takewhile
from typing import TYPE_CHECKING

from archline.algebra.atoms import Floor, PositivePart
from archline.algebra.effort import LazyList, OutOfBudgetError, search_within_time
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.facts import Facts
from archline.algebra.polynomial import Monomial, Poly
from archline.algebra.reals import OutOfReachError
from archline.analysis.analyse import derive_bounds_without_guards, derive_metric
from archline.analysis.cache import traffic
from archline.analysis.communication.floors import bound_rounded_powers_above
from archline.analysis.cost import Cost, Costs
from archline.analysis.sampling import list_assumed_facts
from archline.cost_growth import cases as growth_cases
from archline.cost_growth import growth_of_recursion
from archline.cost_growth.any_schedule import find_any_schedule_growth
from archline.cost_growth.forms import drop_conditions, relax_block_floors, relax_differences
from archline.cost_growth.pieces import (
    build_growth_pieces,
    express_cost_over_range,
    find_recurrence_growths,
    is_valid_in_any_cache,
    iterate_growth_pieces_by_cases,
    list_case_facts,
    list_facts_without_disjunctions,
)
from archline.expr import build as b
from archline.expr.text import format_expression, format_fact
from archline.expr.tree import has_same_structure
from archline.growth.candidates import (
    Shape,
    build_shape_sum,
    drop_covered_shapes,
    find_shapes,
    find_size_names,
    find_unbounded_sizes,
    is_logarithmic,
    make_factor,
)
from archline.growth.growths import Growth, is_proved_big_o, make_domain
from archline.growth.log_domain import Domain
from archline.growth.monomials import Factor
from archline.ir.conditions import assume_facts, with_facts
from archline.ir.declarations import declared_scope
from archline.ir.scope import Scope
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError
from archline.language.iterations import list_iterations
from archline.language.model import Module
from archline.language.substitution import express_facts_in_sizes
from archline.records import record, replace
from archline.recurrences.exact.base_cases import remove_caps

if TYPE_CHECKING:
    from archline.cost_growth.cases import GrowthCase
    from archline.cost_growth.growth_of_recursion import RecurrenceGrowth


@record
class CostGrowth:
    """The growth of a cost: upper (O) and lower (Omega), each None if unknown.

    `under` has growths under conditions, if no single expression holds for all sizes. `tight` is the Theta class of a
    cost that may be 0 at small sizes, with the condition that excludes these; `eventual` is a lower growth of one.
    """

    upper: s.Expr | None
    lower: s.Expr | None
    under: tuple[Growth, ...] = ()
    tight: Growth | None = None
    eventual: Growth | None = None

    def list_bounds(self, held: Set[str]) -> tuple[list[s.Expr], list[s.Expr]]:
        """List the upper growths, and the lower ones, that apply if the facts `held`, given as texts, are true."""
        cases = (*self.under, *filter(None, (self.tight, self.eventual)))
        facts = [[format_fact(fact) for fact in list_facts_without_disjunctions(case)] for case in cases]
        applicable = [case for case, needed in zip(cases, facts, strict=True) if needed and held >= set(needed)]
        uppers = (self.upper, *(case.upper for case in applicable))
        lowers = (self.lower, *(case.lower for case in applicable))
        return [growth for growth in uppers if growth is not None], [growth for growth in lowers if growth is not None]

    @property
    def is_theta(self) -> bool:
        """Whether one expression bounds the cost from both sides at all sizes."""
        return self.upper is not None and has_same_structure(self.upper, self.lower)

    @property
    def reported_growths(self) -> tuple[Growth, ...]:
        """The growths to report: Theta; otherwise those of O and Omega that are known, and Theta for large sizes."""
        if self.under and None in (self.upper, self.lower):
            return self.under
        if self.is_theta:
            return (Growth(self.upper, self.upper),)
        upper = None if self.tight is not None and has_same_structure(self.tight.upper, self.upper) else self.upper
        lower = self.eventual if self.lower is None else Growth(self.lower, None)
        growths = (upper and Growth(None, upper), lower, self.tight)
        return tuple(growth for growth in growths if growth)

    @property
    def text(self) -> str | None:
        """The growths to report, as text. None if there are none."""
        return ", ".join(str(growth.text) for growth in self.reported_growths) or None


def make_theta_growth(order: s.Expr, *where: s.Fact) -> Growth:
    """Return the growth Theta(order) under the conditions `where`."""
    return Growth(order, order, where=where)


START_SIZES = (2, 3, 4)
"""Minimum sizes to try for the growth of a cost that may be 0 at smaller sizes."""
START_SIZE_IF_ROUNDED = 16
"""The minimum size to try for forms with rounded quotients."""
MAX_COMPARED_TERMS = 24
"""For lower bounds with more terms, minimum sizes are not tried, as that takes too long."""
TALL_CACHE = b.binary(">=", b.name("Z"), b.power(b.name("L"), b.number(2)))
"""The assumption about a cache if no facts are given: it has at least as many lines as a line has words."""


def derive_cost_growth(module: Module, algorithm: s.Algorithm, costs: Costs, cost: Cost) -> CostGrowth:
    """Derive the growth of a cost from its bounds, its recurrence and related metrics; unknown if time runs out."""
    return search_within_time(lambda: _derive_cost_growth(module, algorithm, costs, cost), CostGrowth(None, None))


def _derive_cost_growth(module: Module, algorithm: s.Algorithm, costs: Costs, cost: Cost) -> CostGrowth:
    """Derive the growth of a cost from its own bounds; from further sources if that is not a Theta class."""
    growth = _derive_growth_from_own_bounds(module, algorithm, costs, cost)
    if growth.under or growth.is_theta:
        return growth
    growth = _sharpen_growth_by_recurrence(growth, algorithm, costs, cost)
    if growth.is_theta:
        return growth
    unguarded = _derive_costs_without_guards(module, algorithm, cost)
    above = (*cost.at_most, *unguarded, *_derive_access_bounds(module, algorithm, cost))
    uppers = (derive_cost_growth(module, algorithm, costs, related).upper for related in above)
    lowers = (derive_cost_growth(module, algorithm, costs, related).lower for related in (*cost.at_least, *unguarded))
    if growth.lower is None and growth.upper is not None and growth.tight is None and cost.lower is not None:
        facts = declared_scope(module, algorithm).facts
        growth = replace(growth, lower=_derive_growth_without_maxima(module, algorithm, costs, cost.lower, facts))
    domain = make_domain((*express_facts_in_sizes(algorithm), *list_assumed_facts(algorithm)))
    return replace(
        growth,
        upper=reduce(lambda best, new: _select_sharper_growth(best, new, domain, upper=True), uppers, growth.upper),
        lower=reduce(lambda best, new: _select_sharper_growth(best, new, domain, upper=False), lowers, growth.lower),
    )


def _derive_costs_without_guards(module: Module, algorithm: s.Algorithm, cost: Cost) -> tuple[Cost, ...]:
    """Derive simpler bounds for an exact cost with maxima, which do not evaluate branch conditions; may be empty."""
    if not cost.exact or cost.upper is None or not any(isinstance(atom, PositivePart) for atom in cost.upper.atoms()):
        return ()
    unguarded = derive_bounds_without_guards(module, algorithm).get(cost.metric)
    return () if unguarded is None or unguarded.lower is None or unguarded.exact else (unguarded,)


def _derive_access_bounds(module: Module, algorithm: s.Algorithm, cost: Cost) -> Iterable[Cost]:
    """Derive the accesses as an upper bound on traffic, if there are guards, which other bounds on traffic ignore."""
    guards = cost.plans and any(isinstance(node, s.If) for node in s.iterate_nodes(algorithm.body))
    accesses = derive_metric(module, algorithm, "accesses").metrics.values() if guards else ()
    # An access moves at most one line in each direction, a constant factor.
    return map(traffic.convert_lines_to_bytes, accesses) if cost.metric == "bytes" else accesses


def _derive_growth_without_maxima(
    module: Module, algorithm: s.Algorithm, costs: Costs, lower: Poly, facts: Facts
) -> s.Expr | None:
    """Derive a lower growth from the terms of `lower` that are not maxima: p + max(0, n - p*m) is Omega(p).

    The result is 1 if the value is only known to be positive, and None if it may be 0 or less.
    """
    value = facts.simplify(lower.substitute(facts.rewrites))
    terms = {monomial: number for monomial, number in value.terms.items() if number < 0 or not _has_maximum(monomial)}
    sure = Poly(terms)
    if sure != value and facts.positive(sure) and facts.nonnegative(value - sure):
        return _derive_growth_from_own_bounds(module, algorithm, costs, Cost("", "exact", sure, sure)).lower or b.ONE
    return b.ONE if facts.positive(value) else None


def _has_maximum(monomial: Monomial) -> bool:
    return any(isinstance(atom, PositivePart) for atom, _ in monomial)


def _sharpen_growth_by_recurrence(growth: CostGrowth, algorithm: s.Algorithm, costs: Costs, cost: Cost) -> CostGrowth:
    """Sharpen a growth by that of the cost's recurrence, if it has one that can be solved."""
    facts = (*express_facts_in_sizes(algorithm), *list_assumed_facts(algorithm))
    solved = None if cost.upper is not None and not cost.upper else derive_recurrence_growth(costs, cost, facts)
    if solved is not None and solved.pieces:
        last = solved.pieces[-1]
        if growth.tight is None and last.tight:
            return replace(growth, tight=last)
    if solved is None or solved.upper is None:
        return growth
    size = b.name(solved.size)
    if cost.recursion is not None and cost.recursion.indices is not None:
        restored = cost.recursion.indices.restore_difference
        upper, lower = (None if bound is None else restored(bound) for bound in (solved.upper, solved.lower))
        solved, size = replace(solved, upper=upper, lower=lower), restored(size)
    domain = make_domain(facts)
    upper = _select_sharper_growth(growth.upper, solved.upper, domain, upper=True)
    if solved.lower is None:
        return replace(growth, upper=upper)
    if solved.least > 1:
        if growth.tight is not None or not has_same_structure(solved.lower, solved.upper):
            return replace(growth, upper=upper)
        return replace(
            growth, upper=upper, tight=make_theta_growth(solved.lower, b.binary(">=", size, b.number(solved.least)))
        )
    return replace(growth, upper=upper, lower=_select_sharper_growth(growth.lower, solved.lower, domain, upper=False))


def derive_recurrence_growth(costs: Costs, cost: Cost, facts: tuple[s.Fact, ...] = ()) -> RecurrenceGrowth | None:
    """Derive the growth of a cost from its recurrence under facts; None if it has none.

    For a recurrence over a range of indices, it is in terms of the range's length.
    """
    if cost.recursion is None:
        return None
    sizes = tuple(cost.recursion.most.least)

    def growth_outside_calls(value: Poly, known: Facts) -> tuple[s.Expr | None, s.Expr | None]:
        # In an inner call, only the facts of the case are known.
        growth = _search_growth(costs, Cost("", "exact", value, value), sizes, list_case_facts(known), known)
        return growth.upper, growth.lower

    return growth_of_recursion.solve_for_growth(cost.recursion, growth_outside_calls, facts)


def _select_sharper_growth(
    first: s.Expr | None, second: s.Expr | None, domain: Domain | None, *, upper: bool
) -> s.Expr | None:
    """Return the second of two upper (or lower) growths if it is proved to be sharper, else the first.

    If one is None, the other is returned; None if both are.
    """
    if first is None or second is None or domain is None:
        return second if first is None else first
    small, large = (second, first) if upper else (first, second)
    return second if is_proved_big_o(small, large, domain) and not is_proved_big_o(large, small, domain) else first


def _derive_growth_from_own_bounds(module: Module, algorithm: s.Algorithm, costs: Costs, cost: Cost) -> CostGrowth:
    """Derive the growth of a cost from its lower and upper bound, without related metrics."""
    if cost.upper_growths is not None:
        return _derive_recursive_io_growth(module, algorithm, costs, cost)
    sizes, facts = (
        (*module.signatures[algorithm].size_names, *(counted.name for counted in list_iterations(module, algorithm))),
        (*express_facts_in_sizes(algorithm), *list_assumed_facts(algorithm)),
    )
    # The growth of a recursion that splits its processors is that of its recurrence.
    sizes = (*sizes, *(("P",) if algorithm.grid and cost.recursion is None else ()))
    declared = declared_scope(module, algorithm).facts
    indices, moved = costs.index_range, express_cost_over_range(costs.index_range, cost, facts, declared)
    if indices is not None and moved is not None:
        growth = _search_growth(costs, moved[0], (*sizes, indices.size), *moved[1:])
        upper, lower = (
            None if bound is None else indices.restore_difference(bound) for bound in (growth.upper, growth.lower)
        )
        return CostGrowth(upper, lower)
    growth = _search_growth(costs, cost, sizes, facts, declared)
    settled = growth.under or growth.tight or growth.upper is None or growth.lower is not None
    if settled or not cost.lower or len(cost.lower.terms) > MAX_COMPARED_TERMS:
        return growth
    at_sizes = _derive_growth_from_sizes(costs, cost, sizes, facts, declared_scope(module, algorithm))
    if at_sizes is None or not at_sizes.tight:
        return replace(growth, eventual=at_sizes)
    return replace(growth, tight=at_sizes) if at_sizes.where else CostGrowth(at_sizes.upper, at_sizes.upper)


def _derive_growth_from_sizes(
    costs: Costs, cost: Cost, sizes: tuple[str, ...], facts: tuple[s.Fact, ...], scope: Scope
) -> Growth | None:
    """Find the growth of a cost that may be 0 at small sizes, from some minimum sizes on: Theta, or else Omega.

    None if neither is found. First all sizes get a minimum, then each minimum that the proof does not need is removed.
    """
    assert cost.lower is not None
    bounds = [(name, scope.values.get(name, Poly.symbol(name))) for name in sizes if name in cost.lower.names]
    never_negative = scope.facts.nonnegative

    def iterate_searches_from(raised: Sequence[str], start: int) -> Iterator[_GrowthSearch]:
        added = b.lower_bound_facts(raised, start)
        where = (*facts, *added)
        if added and make_domain(where) is not None:
            yield from islice(
                _iterate_searches(costs, cost, sizes, where, with_facts(scope.facts, added, scope)), 1, None
            )

    below: Growth | None = None
    for start in _list_start_sizes(cost.lower):
        raised = [
            name
            for name, value in bounds
            if not never_negative(value - start) and not never_negative(start - 1 - value)
        ]
        growths = list(_search_until_theta(iterate_searches_from(raised, start)))
        lower = next((growth.lower for growth in reversed(growths) if growth.lower is not None), None)
        settled = bool(growths) and growths[-1].is_theta
        if lower is None or not (settled or below is None):
            continue
        for removed in reversed(tuple(raised)):
            fewer = [name for name in raised if name != removed]
            if any(query.proves(lower, settled) for query in iterate_searches_from(fewer, start)):
                raised = fewer
        if cost.lower.names == {name for name, _ in bounds[:1]} and raised:
            # Only a few values of a single size are below `start`: the class holds from the first on that are positive.
            start = _find_positive_start(cost.lower, bounds[0][0], start)
            raised = [bounds[0][0]] if start > 1 else []
        where = b.lower_bound_facts(raised, start)
        if settled:
            return make_theta_growth(lower, *where)
        below = Growth(lower, None, where=where)
    return below


def _search_until_theta(searches: Iterable[_GrowthSearch]) -> Iterator[CostGrowth]:
    """Yield the growths that searches find, up to the first Theta class."""
    for search in searches:
        growth = search.search()
        yield growth
        if growth.is_theta:
            return


def _find_positive_start(value: Poly, name: str, start: int) -> int:
    """Find the smallest size such that a value is positive from there up to `start`; `start` if there is none."""
    positive = takewhile(lambda size: evaluate(value, {name: size}) > 0, range(start - 1, 0, -1))
    return min(positive, default=start)


def _list_start_sizes(value: Poly) -> tuple[int, ...]:
    """List the minimum sizes to try: small ones, and one above all numbers that sizes are compared with."""
    numbers = [-int(atom.argument.constant_term) for atom in value.atoms() if isinstance(atom, PositivePart)]
    rounded = any(isinstance(atom, Floor) and atom.modulus.is_constant for atom in value.atoms_within())
    more = (number + 1 for number in (max(numbers, default=0),) if START_SIZES[-1] <= number)
    return (*START_SIZES, *more, *((START_SIZE_IF_ROUNDED,) if rounded else ()))


def _derive_recursive_io_growth(module: Module, algorithm: s.Algorithm, costs: Costs, cost: Cost) -> CostGrowth:
    """Derive the growths of io by its recurrence, each with its condition; unknown if one fails in some cache."""
    is_given = "Z" in s.find_names(algorithm.where)
    facts = (*express_facts_in_sizes(algorithm), *(() if is_given else (TALL_CACHE,)))
    growths = find_recurrence_growths(cost, facts)
    if isinstance(growths, str):
        return CostGrowth(None, None)
    scope = assume_facts(declared_scope(module, algorithm), *facts)
    below, tall, under = (
        find_any_schedule_growth(costs, cost, scope.facts),
        () if is_given else (TALL_CACHE,),
        list[Growth](),
    )
    for growth in growths:
        if not is_valid_in_any_cache(costs, cost, growth, facts, scope):
            return CostGrowth(None, None)
        assert growth.upper is not None
        domain = None if below is None else make_domain(growth.facts)
        tight = below is not None and domain is not None and is_proved_big_o(growth.upper, below, domain)
        under.append(Growth(growth.upper if tight else None, growth.upper, where=(*growth.where, *tall)))
    return CostGrowth(None, None, tuple(under))


def derive_theta(
    costs: Costs, value: Poly, sizes: tuple[str, ...], facts: tuple[s.Fact, ...], known: Facts
) -> s.Expr | None:
    """Return the Theta class of an expression in sizes; None if it is not known."""
    growth = _search_growth(costs, Cost("", "exact", value, value), sizes, facts, known)
    return growth.upper if growth.is_theta else None


def _search_growth(
    costs: Costs, cost: Cost, sizes: tuple[str, ...], facts: tuple[s.Fact, ...], known: Facts
) -> CostGrowth:
    """Return the first Theta class that is proved; else the sharpest bounds, with growths by cases."""
    upper, lower, under, domain = None, None, tuple[Growth, ...](), make_domain(facts)
    tight: Growth | None = None
    with suppress(OutOfBudgetError):
        for growth_search in _iterate_searches(costs, cost, sizes, facts, known):
            growth = growth_search.search()
            if growth.is_theta:
                return growth
            upper, lower = _select_sharper_growth(upper, growth.upper, domain, upper=True), lower or growth.lower
            under, tight = under or growth.under, tight or growth.tight
    return CostGrowth(upper, lower, under, tight)


def _iterate_searches(
    costs: Costs, cost: Cost, sizes: tuple[str, ...], facts: tuple[s.Fact, ...], declared: Facts
) -> Iterator[_GrowthSearch]:
    """Yield growth searches: on bounds with floors by blocks, without these, and by cases of an exact form.

    Empty if a bound is missing, or depends on names that are not sizes, or if the facts cannot be read.
    """
    if cost.lower is None or cost.upper is None:
        return
    names = cost.lower.names | cost.upper.names
    sizes = (*(name for name in sizes if name != "P" or "P" in names), *(name for name in ("Z", "L") if name in names))
    if not names <= set(sizes):
        # Indices and the symbols of declared costs may be 0 or less, and growth is about sizes of at least 1.
        return
    with suppress(ArchlineError):
        for blocks in (True, False):
            bounds = [
                (relax_differences(lower, False, declared), relax_differences(upper, True, declared))
                for lower, upper in _list_bounds_by_piece(_simplify_bounds(cost, declared, blocks))
            ]
            yield _GrowthSearch(bounds, sizes, facts, build_growth_pieces(costs, cost, facts, declared, blocks))
        if cost.exact and all(piece.is_split_by_sizes for piece in cost.by_case):
            for cases in iterate_growth_pieces_by_cases(costs, cost, facts, declared):
                possible = [case for case in cases if make_domain(case[0].facts) is not None]
                yield _GrowthSearch.from_cases(possible, sizes, facts)


def _simplify_bounds(cost: Cost, facts: Facts, blocks: bool) -> Cost:
    """Simplify bounds within constant factors: 2^ceil(log2(p)) to p, a condition in the upper bound to 1.

    Without `blocks`, floors by block sizes are replaced too.
    """
    if cost.by_case or cost.lower is None or cost.upper is None:
        return cost
    lower = -bound_rounded_powers_above(-cost.lower, facts)
    upper = bound_rounded_powers_above(drop_conditions(cost.upper, facts), facts)
    if not blocks:
        lower, upper = -relax_block_floors(-lower, facts, floors=True), relax_block_floors(upper, facts, floors=False)
    return replace(cost, lower=lower, upper=upper)


class _GrowthSearch:
    """Searches the growth of a cost: proposes expressions from its bounds, and proves them on its `pieces`."""

    def __init__(
        self,
        bounds: Sequence[tuple[Poly, Poly]],
        sizes: Sequence[str],
        facts: tuple[s.Fact, ...],
        pieces: Sequence[Growth],
        cases: Sequence[tuple[Growth, GrowthCase]] = (),
    ) -> None:
        self._bounds, self._sizes, self._pieces, self._cases = bounds, sizes, pieces, cases
        self._facts = facts
        self._domains, self._everywhere = [make_domain(piece.facts) for piece in pieces], make_domain(facts)

    @staticmethod
    def from_cases(
        cases: Sequence[tuple[Growth, GrowthCase]], sizes: Sequence[str], facts: tuple[s.Fact, ...]
    ) -> _GrowthSearch:
        """Build the search for an exact form that is split in cases."""
        pieces = [piece for piece, _ in cases]
        return _GrowthSearch([(case.lower, case.upper) for _, case in cases], sizes, facts, pieces, cases)

    def proves(self, order: s.Expr, above: bool = True) -> bool:
        """Test whether the cost is proved to be Omega of `order`, and O of it if `above`."""
        return (not above or self._is_upper_growth(order)) and self._is_lower_growth(order)

    def search(self) -> CostGrowth:
        """Search the Theta class of the cost; if none is proved, its upper and lower growth, and growths by cases."""
        uppers, lowers = ([ends[side] for ends in self._bounds] for side in (1, 0))
        upper: s.Expr | None = None
        proposed = LazyList(self._iterate_candidates(uppers))
        for candidate in proposed:
            if self._is_upper_growth(candidate):
                if self._is_lower_growth(candidate):
                    return CostGrowth(candidate, candidate)
                upper = _select_sharper_growth(upper, candidate, self._everywhere, upper=True)
        tried = [upper] if lowers != uppers else [upper, *proposed]
        remaining = (
            order
            for order in self._iterate_candidates(lowers)
            if not any(has_same_structure(order, old) for old in tried)
        )
        result = CostGrowth(upper, next(filter(self._is_lower_growth, remaining), None))
        return self._search_growth_by_cases(result) if len(self._cases) > 1 else result

    def _search_growth_by_cases(self, result: CostGrowth) -> CostGrowth:
        """Return the minimum of the growths of the cases if it is Theta of the cost; else the growths under conditions,
        those of equal growth together.

        If the cost is 0 in all other cases, its growth elsewhere is returned as the upper one, and as `tight` with its
        condition. `result`, the bounds of all cases together, is returned if a case has no Theta class, or if cases do
        not help.
        """
        if any(case.some_classes for _, case in self._cases):
            return result
        zero = [case for case in self._cases if not case[1].upper]
        nonzero = [case for case in self._cases if case[1].upper]
        if not zero and len({name for ends in self._bounds for end in ends for name in end.names}) < 2:
            # With a single size, all cases but the last have only a few sizes.
            return result
        groups: dict[Factor, list[GrowthCase]] = {}
        for part in (nonzero,) if zero else ([case] for case in nonzero):
            growth = _GrowthSearch.from_cases(part, self._sizes, self._facts).search()
            if growth.upper is None or not growth.is_theta:
                return result
            groups.setdefault(make_factor(growth.upper), []).extend(case for _, case in part)
        low = [order.expr for order in groups if not any(self._is_slower(rival.expr, order.expr) for rival in groups)]
        smallest = b.call("min", *low) if len(low) > 1 else low[0]
        if len(groups) > 1 and self.proves(smallest):
            return CostGrowth(smallest, smallest)
        under = tuple(
            make_theta_growth(order.expr, *growth_cases.build_union_condition(part)) for order, part in groups.items()
        )
        if zero and len(groups) == 1 and list_facts_without_disjunctions(under[0]) == under[0].where:
            # The cost is 0 in the other cases.
            return replace(result, upper=smallest, tight=replace(under[0], lower=smallest, upper=smallest))
        return replace(result, under=under)

    def _is_slower(self, low: s.Expr, high: s.Expr) -> bool:
        """Test whether the first expression grows strictly less than the second at all sizes."""
        domain = self._everywhere
        return domain is not None and is_proved_big_o(low, high, domain) and not is_proved_big_o(high, low, domain)

    def _iterate_candidates(self, values: Sequence[Poly]) -> Iterator[s.Expr]:
        """Yield candidates for the growth: from the bounds of the first case, then from those of all cases."""
        yielded = set[str]()
        for minima, considered in product((False, True), dict.fromkeys((tuple(values[:1]), tuple(values)))):
            try:
                shapes = dict.fromkeys(
                    shape for value in considered for shape in find_shapes(value, self._sizes, minima)
                )
            except OutOfReachError:
                continue
            order = build_shape_sum(drop_covered_shapes(list(shapes), self._is_covered), self._sizes)
            if shapes and (text := format_expression(order)) not in yielded:
                yielded.add(text)
                yield order

    def _is_covered(self, shape: Shape, rest: Sequence[Shape]) -> bool:
        """Test whether a term is proved to be O of the sum of the rest, and need not be shown."""
        if not self._facts and not find_unbounded_sizes(shape) <= frozenset[str]().union(*map(find_size_names, rest)):
            # The shape grows with a size that does not occur in the rest.
            return False
        if not is_logarithmic(shape) and all(map(is_logarithmic, rest)):
            return False
        return self._everywhere is not None and is_proved_big_o(
            build_shape_sum([shape], self._sizes), build_shape_sum(rest, self._sizes), self._everywhere
        )

    def _is_upper_growth(self, order: s.Expr) -> bool:
        """Test whether the cost is proved to be O of an expression, in all of its pieces."""
        return all(
            domain is None or piece.is_zero or (piece.upper is not None and is_proved_big_o(piece.upper, order, domain))
            for piece, domain in zip(self._pieces, self._domains, strict=True)
        )

    def _is_lower_growth(self, order: s.Expr) -> bool:
        """Test whether an expression is proved to be O of the cost, in all of its pieces."""
        return all(
            domain is None or (piece.lower is not None and is_proved_big_o(order, piece.lower, domain))
            for piece, domain in zip(self._pieces, self._domains, strict=True)
        )


def _list_bounds_by_piece(cost: Cost) -> list[tuple[Poly, Poly]]:
    """List the lower and upper bound of each piece, those of recursive cases first."""
    return [_remove_caps(piece.lower, piece.upper, piece.where.cases) for piece in reversed(cost.pieces)]


def _remove_caps(lower: Poly, upper: Poly, cases: Sequence[Facts]) -> tuple[Poly, Poly]:
    """Remove caps of sizes by numbers from two bounds, if the facts of the first case decide which caps apply."""
    if lower == upper or not cases:
        return lower, upper
    return remove_caps(lower, cases[0], False), remove_caps(upper, cases[0], True)
