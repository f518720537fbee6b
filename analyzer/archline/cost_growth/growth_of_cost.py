"""Derive how a cost grows: short expressions for Theta, O and Omega, each proved by the growth prover."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from contextlib import suppress
from functools import reduce
from itertools import islice, product, takewhile
from typing import TYPE_CHECKING

from archline.algebra.atoms import Floor, PositivePart
from archline.algebra.effort import LazyList, OutOfBudgetError, search
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.facts import Facts
from archline.algebra.polynomial import Monomial, Poly
from archline.algebra.reals import OutOfReachError
from archline.analysis.analyse import derive_metric, derive_unguarded
from archline.analysis.cache import traffic
from archline.analysis.communication.floors import without_rounded_powers
from archline.analysis.cost import Cost, Costs
from archline.analysis.sampling import assumed
from archline.cost_growth import cases as growth_cases
from archline.cost_growth import growth_of_recursion
from archline.cost_growth.any_schedule import io_growth_lower_bound
from archline.cost_growth.forms import without_blocks, without_conditions
from archline.cost_growth.pieces import (
    facts_of_case,
    growth_of_recurrence,
    growth_pieces,
    in_any_cache,
    over_range,
    pieces_by_cases,
    unconditional_facts,
)
from archline.expr import build as b
from archline.expr.text import format_expression, format_fact
from archline.expr.tree import has_same_structure
from archline.growth.candidates import (
    Shape,
    as_factor,
    build_shape_sum,
    drop_covered_shapes,
    find_shapes,
    find_unbounded_sizes,
    is_logarithmic,
    names_in,
)
from archline.growth.growths import Growth, domain_of, is_proved_big_o
from archline.growth.log_domain import Domain
from archline.growth.monomials import Factor
from archline.ir.conditions import assuming_facts, with_all_facts
from archline.ir.declarations import declared_scope
from archline.ir.scope import Scope
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError
from archline.language.model import Module
from archline.language.substitution import express_facts_in_sizes
from archline.records import record, replace
from archline.recurrences.exact.base_cases import remove_caps

if TYPE_CHECKING:
    from archline.cost_growth.cases import GrowthCase
    from archline.cost_growth.growth_of_recursion import BySolving


@record
class CostGrowth:
    """The growth of a cost: upper (O) and lower (Omega), each None if unknown.

    `under` has growths under conditions, if no single expression holds for all sizes. `tight` is the Theta class of a
    cost that may be 0 at small sizes, with the condition that excludes these.
    """

    upper: s.Expr | None
    lower: s.Expr | None
    under: tuple[Growth, ...] = ()
    tight: Growth | None = None

    def ends(self, held: Set[str]) -> tuple[list[s.Expr], list[s.Expr]]:
        """List the upper growths, and the lower ones, that apply if the facts `held`, given as texts, are true."""
        cases = (*self.under, *((self.tight,) if self.tight is not None else ()))
        facts = [[format_fact(fact) for fact in unconditional_facts(case)] for case in cases]
        applicable = [case for case, needed in zip(cases, facts, strict=True) if needed and held >= set(needed)]
        uppers = (self.upper, *(case.upper for case in applicable))
        lowers = (self.lower, *(case.lower for case in applicable))
        return [growth for growth in uppers if growth is not None], [growth for growth in lowers if growth is not None]

    @property
    def known(self) -> bool:
        """Whether one expression bounds the cost from both sides at all sizes."""
        return self.upper is not None and has_same_structure(self.upper, self.lower)

    @property
    def orders(self) -> tuple[Growth, ...]:
        """The growths to report: Theta; otherwise those of O and Omega that are known, and Theta for large sizes."""
        if self.under and None in (self.upper, self.lower):
            return self.under
        if self.known:
            return (Growth(self.upper, self.upper),)
        upper = None if self.tight is not None and has_same_structure(self.tight.upper, self.upper) else self.upper
        growths = (upper and Growth(None, upper), self.lower and Growth(self.lower, None), self.tight)
        return tuple(growth for growth in growths if growth)

    @property
    def text(self) -> str | None:
        """The growths to report, as text."""
        return ", ".join(str(growth.text) for growth in self.orders) or None


def theta(order: s.Expr, *where: s.Fact) -> Growth:
    """Return the growth Theta(order) under the conditions `where`."""
    return Growth(order, order, where=where)


START_SIZES = (2, 3, 4)
"""Minimum sizes to try for the growth of a cost that may be 0 at smaller sizes."""
ROUNDED = 16
"""The minimum size to try for forms with rounded quotients."""
MAX_COMPARED = 24
"""For lower bounds with more terms, minimum sizes are not tried, as that takes too long."""
TALL_CACHE = b.binary(">=", b.name("Z"), b.power(b.name("L"), b.number(2)))
"""The assumption about a cache if no facts are given: it has at least as many lines as a line has words."""


def growth_of_cost(module: Module, algorithm: s.Algorithm, costs: Costs, cost: Cost) -> CostGrowth:
    """Derive the growth of a cost from its bounds, its recurrence and related metrics; unknown if time runs out."""
    return search(lambda: _searched(module, algorithm, costs, cost), CostGrowth(None, None))


def _searched(module: Module, algorithm: s.Algorithm, costs: Costs, cost: Cost) -> CostGrowth:
    """Derive the growth of a cost from its own bounds; from further sources if that is not a Theta class."""
    growth = _own_growth(module, algorithm, costs, cost)
    if growth.under or growth.known:
        return growth
    growth = _with_recursion(growth, algorithm, costs, cost)
    if growth.known:
        return growth
    unguarded = _without_guards(module, algorithm, cost)
    above = (*cost.at_most, *unguarded, *_accesses(module, algorithm, cost))
    uppers = (growth_of_cost(module, algorithm, costs, related).upper for related in above)
    lowers = (growth_of_cost(module, algorithm, costs, related).lower for related in (*cost.at_least, *unguarded))
    if growth.lower is None and growth.upper is not None and growth.tight is None and cost.lower is not None:
        facts = declared_scope(module, algorithm).facts
        growth = replace(growth, lower=_growth_of_the_sure(module, algorithm, costs, cost.lower, facts))
    domain = domain_of((*express_facts_in_sizes(algorithm), *assumed(algorithm)))
    return replace(
        growth,
        upper=reduce(lambda best, new: _sharper_growth(best, new, domain, upper=True), uppers, growth.upper),
        lower=reduce(lambda best, new: _sharper_growth(best, new, domain, upper=False), lowers, growth.lower),
    )


def _without_guards(module: Module, algorithm: s.Algorithm, cost: Cost) -> tuple[Cost, ...]:
    """Derive simpler bounds for an exact cost with maxima, without guards that sizes decide; empty without such."""
    if not cost.exact or cost.upper is None or not any(isinstance(atom, PositivePart) for atom in cost.upper.atoms()):
        return ()
    unguarded = derive_unguarded(module, algorithm).get(cost.metric)
    return () if unguarded is None or unguarded.lower is None or unguarded.exact else (unguarded,)


def _accesses(module: Module, algorithm: s.Algorithm, cost: Cost) -> Iterable[Cost]:
    """Derive the accesses as an upper bound on traffic, if there are guards, which other bounds on traffic ignore."""
    guards = cost.plans and any(isinstance(node, s.If) for node in s.nodes(algorithm.body))
    accesses = derive_metric(module, algorithm, "accesses").metrics.values() if guards else ()
    # An access moves at most one line in each direction, a constant factor.
    return map(traffic.convert_lines_to_bytes, accesses) if cost.metric == "bytes" else accesses


def _growth_of_the_sure(
    module: Module, algorithm: s.Algorithm, costs: Costs, lower: Poly, facts: Facts
) -> s.Expr | None:
    """Derive a lower growth from the terms of `lower` that are not maxima: p + max(0, n - p*m) is Omega(p).

    1 if the value is only known to be positive; None if it is not.
    """
    value = facts.simplify(lower.substitute(facts.rewrites))
    terms = {monomial: number for monomial, number in value.terms.items() if number < 0 or not _has_maximum(monomial)}
    sure = Poly(terms)
    if sure != value and facts.positive(sure) and facts.nonnegative(value - sure):
        return _own_growth(module, algorithm, costs, Cost("", "exact", sure, sure)).lower or b.ONE
    return b.ONE if facts.positive(value) else None


def _has_maximum(monomial: Monomial) -> bool:
    return any(isinstance(atom, PositivePart) for atom, _ in monomial)


def _with_recursion(growth: CostGrowth, algorithm: s.Algorithm, costs: Costs, cost: Cost) -> CostGrowth:
    """Sharpen a growth by that of the cost's recurrence, if it has one that can be solved."""
    facts = (*express_facts_in_sizes(algorithm), *assumed(algorithm))
    solved = None if cost.upper is not None and not cost.upper else solved_recurrence(costs, cost, facts)
    if solved is not None and solved.pieces:
        last = solved.pieces[-1]
        if growth.tight is None and last.tight:
            return replace(growth, tight=last)
    if solved is None or solved.upper is None:
        return growth
    size = b.name(solved.size)
    if cost.recursion is not None and cost.recursion.indices is not None:
        restored = cost.recursion.indices.restored
        upper, lower = (None if bound is None else restored(bound) for bound in (solved.upper, solved.lower))
        solved, size = replace(solved, upper=upper, lower=lower), restored(size)
    domain = domain_of(facts)
    upper = _sharper_growth(growth.upper, solved.upper, domain, upper=True)
    if solved.lower is None:
        return replace(growth, upper=upper)
    if solved.least > 1:
        if growth.tight is not None or not has_same_structure(solved.lower, solved.upper):
            return replace(growth, upper=upper)
        return replace(growth, upper=upper, tight=theta(solved.lower, b.binary(">=", size, b.number(solved.least))))
    return replace(growth, upper=upper, lower=_sharper_growth(growth.lower, solved.lower, domain, upper=False))


def solved_recurrence(costs: Costs, cost: Cost, facts: tuple[s.Fact, ...] = ()) -> BySolving | None:
    """Derive the growth of a cost from its recurrence under facts; None without a recurrence.

    For a recurrence over a range of indices, it is in terms of the range's length.
    """
    if cost.recursion is None:
        return None
    sizes = tuple(cost.recursion.most.least)

    def growth_outside_calls(value: Poly, known: Facts) -> tuple[s.Expr | None, s.Expr | None]:
        # In an inner call, only the facts of the case are known.
        growth = _growth(costs, Cost("", "exact", value, value), sizes, facts_of_case(known), known)
        return growth.upper, growth.lower

    return growth_of_recursion.by_solving(cost.recursion, growth_outside_calls, facts)


def _sharper_growth(
    first: s.Expr | None, second: s.Expr | None, domain: Domain | None, *, upper: bool
) -> s.Expr | None:
    """Return the second of two upper (or lower) growths if it is proved to be sharper, else the first."""
    if first is None or second is None or domain is None:
        return second if first is None else first
    small, large = (second, first) if upper else (first, second)
    return second if is_proved_big_o(small, large, domain) and not is_proved_big_o(large, small, domain) else first


def _own_growth(module: Module, algorithm: s.Algorithm, costs: Costs, cost: Cost) -> CostGrowth:
    """Derive the growth of a cost from its lower and upper bound, without related metrics."""
    if cost.orders is not None:
        return _by_orders(module, algorithm, costs, cost)
    sizes, facts = module.signatures[algorithm].size_names, (*express_facts_in_sizes(algorithm), *assumed(algorithm))
    # The growth of a recursion that splits its processors is that of its recurrence.
    sizes = (*sizes, *(("P",) if algorithm.grid and cost.recursion is None else ()))
    declared = declared_scope(module, algorithm).facts
    indices, moved = costs.index_range, over_range(costs.index_range, cost, facts, declared)
    if indices is not None and moved is not None:
        growth = _growth(costs, moved[0], (*sizes, indices.size), *moved[1:])
        upper, lower = (None if bound is None else indices.restored(bound) for bound in (growth.upper, growth.lower))
        return CostGrowth(upper, lower)
    growth = _growth(costs, cost, sizes, facts, declared)
    settled = growth.under or growth.tight or growth.upper is None or growth.lower is not None
    if settled or not cost.lower or len(cost.lower.terms) > MAX_COMPARED:
        return growth
    tight = _from_sizes(costs, cost, sizes, facts, declared_scope(module, algorithm))
    everywhere = tight is not None and not tight.where
    return CostGrowth(tight.upper, tight.upper) if tight is not None and everywhere else replace(growth, tight=tight)


def _from_sizes(
    costs: Costs, cost: Cost, sizes: tuple[str, ...], facts: tuple[s.Fact, ...], scope: Scope
) -> Growth | None:
    """Find the Theta class of a cost that may be 0 at small sizes, from some minimum sizes on; None if that fails.

    First all sizes get a minimum, then each minimum that the proof does not need is removed.
    """
    assert cost.lower is not None
    bounds = [(name, scope.values[name]) for name in sizes if name in cost.lower.names]
    never_negative = scope.facts.nonnegative

    def searches_from(raised: Sequence[str], start: int) -> Iterator[_Search]:
        added = b.lower_bound_facts(raised, start)
        where = (*facts, *added)
        if added and domain_of(where) is not None:
            yield from islice(_searches(costs, cost, sizes, where, with_all_facts(scope.facts, added, scope)), 1, None)

    for start in _start_sizes(cost.lower):
        raised = [
            name
            for name, value in bounds
            if not never_negative(value - start) and not never_negative(start - 1 - value)
        ]
        settled = next((growth for query in searches_from(raised, start) if (growth := query.growth()).known), None)
        if settled is None:
            continue
        for removed in reversed(tuple(raised)):
            fewer = [name for name in raised if name != removed]
            if any(query.proves(settled.upper) for query in searches_from(fewer, start)):
                raised = fewer
        if cost.lower.names == {name for name, _ in bounds[:1]} and raised:
            # Only a few values of a single size are below `start`: the class holds from the first on that are positive.
            start = _after_zeros(cost.lower, bounds[0][0], start)
            raised = [bounds[0][0]] if start > 1 else []
        assert settled.upper is not None
        return theta(settled.upper, *b.lower_bound_facts(raised, start))
    return None


def _after_zeros(value: Poly, name: str, start: int) -> int:
    """Find the minimum size, at most `start`, from which on to `start` a value is positive."""
    positive = takewhile(lambda size: evaluate(value, {name: size}) > 0, range(start - 1, 0, -1))
    return min(positive, default=start)


def _start_sizes(value: Poly) -> tuple[int, ...]:
    """List the minimum sizes to try: small ones, and one above all numbers that sizes are compared with."""
    numbers = [-int(atom.argument.constant_term) for atom in value.atoms() if isinstance(atom, PositivePart)]
    rounded = any(isinstance(atom, Floor) and atom.modulus.is_constant for atom in value.atoms_within())
    more = (number + 1 for number in (max(numbers, default=0),) if START_SIZES[-1] <= number)
    return (*START_SIZES, *more, *((ROUNDED,) if rounded else ()))


def _by_orders(module: Module, algorithm: s.Algorithm, costs: Costs, cost: Cost) -> CostGrowth:
    """Derive the growths of io by its recurrence, each with its condition; unknown if one fails in some cache."""
    is_given = "Z" in s.names(algorithm.where)
    facts = (*express_facts_in_sizes(algorithm), *(() if is_given else (TALL_CACHE,)))
    growths = growth_of_recurrence(cost, facts)
    if isinstance(growths, str):
        return CostGrowth(None, None)
    scope = assuming_facts(declared_scope(module, algorithm), *facts)
    below, tall, under = (
        io_growth_lower_bound(costs, cost, scope.facts),
        () if is_given else (TALL_CACHE,),
        list[Growth](),
    )
    for growth in growths:
        if not in_any_cache(costs, cost, growth, facts, scope):
            return CostGrowth(None, None)
        assert growth.upper is not None
        domain = None if below is None else domain_of(growth.facts)
        tight = below is not None and domain is not None and is_proved_big_o(growth.upper, below, domain)
        under.append(Growth(growth.upper if tight else None, growth.upper, where=(*growth.where, *tall)))
    return CostGrowth(None, None, tuple(under))


def growth_of(
    costs: Costs, value: Poly, sizes: tuple[str, ...], facts: tuple[s.Fact, ...], known: Facts
) -> s.Expr | None:
    """Return the Theta class of an expression in sizes; None if it is not known."""
    growth = _growth(costs, Cost("", "exact", value, value), sizes, facts, known)
    return growth.upper if growth.known else None


def _growth(costs: Costs, cost: Cost, sizes: tuple[str, ...], facts: tuple[s.Fact, ...], known: Facts) -> CostGrowth:
    """Return the first Theta class that is proved; else the sharpest bounds, with growths by cases."""
    upper, lower, under, domain = None, None, tuple[Growth, ...](), domain_of(facts)
    tight: Growth | None = None
    with suppress(OutOfBudgetError):
        for growth_search in _searches(costs, cost, sizes, facts, known):
            growth = growth_search.growth()
            if growth.known:
                return growth
            upper, lower = _sharper_growth(upper, growth.upper, domain, upper=True), lower or growth.lower
            under, tight = under or growth.under, tight or growth.tight
    return CostGrowth(upper, lower, under, tight)


def _searches(
    costs: Costs, cost: Cost, sizes: tuple[str, ...], facts: tuple[s.Fact, ...], declared: Facts
) -> Iterator[_Search]:
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
            bounds = _bounds(_readable(cost, declared, blocks))
            yield _Search(bounds, sizes, facts, growth_pieces(costs, cost, facts, declared, blocks))
        if cost.exact and all(piece.by_sizes for piece in cost.by_case):
            for cases in pieces_by_cases(costs, cost, facts, declared):
                possible = [case for case in cases if domain_of(case[0].facts) is not None]
                yield _Search.of_cases(possible, sizes, facts)


def _readable(cost: Cost, facts: Facts, blocks: bool) -> Cost:
    """Simplify bounds within constant factors: 2^ceil(log2(p)) to p, a condition in the upper bound to 1.

    Without `blocks`, floors by block sizes are replaced too.
    """
    if cost.by_case or cost.lower is None or cost.upper is None:
        return cost
    lower = -without_rounded_powers(-cost.lower, facts)
    upper = without_rounded_powers(without_conditions(cost.upper, facts), facts)
    if not blocks:
        lower, upper = -without_blocks(-lower, facts, floors=True), without_blocks(upper, facts, floors=False)
    return replace(cost, lower=lower, upper=upper)


class _Search:
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
        self._domains, self._everywhere = [domain_of(piece.facts) for piece in pieces], domain_of(facts)

    @staticmethod
    def of_cases(
        cases: Sequence[tuple[Growth, GrowthCase]], sizes: Sequence[str], facts: tuple[s.Fact, ...]
    ) -> _Search:
        """Build the search for an exact form that is split in cases."""
        pieces = [piece for piece, _ in cases]
        return _Search([(case.lower, case.upper) for _, case in cases], sizes, facts, pieces, cases)

    def proves(self, order: s.Expr | None) -> bool:
        """Test whether the cost is proved to be Theta of `order`."""
        return order is not None and self._above(order) and self._below(order)

    def growth(self) -> CostGrowth:
        """Search the upper and the lower growth of the cost; growths by cases if they have none in common."""
        uppers, lowers = ([ends[side] for ends in self._bounds] for side in (1, 0))
        upper: s.Expr | None = None
        proposed = LazyList(self._proposed(uppers))
        for candidate in proposed:
            if self._above(candidate):
                if self._below(candidate):
                    return CostGrowth(candidate, candidate)
                upper = _sharper_growth(upper, candidate, self._everywhere, upper=True)
        tried = [upper] if lowers != uppers else [upper, *proposed]
        remaining = (
            order for order in self._proposed(lowers) if not any(has_same_structure(order, old) for old in tried)
        )
        result = CostGrowth(upper, next(filter(self._below, remaining), None))
        return self._by_cases(result) if len(self._cases) > 1 else result

    def _by_cases(self, result: CostGrowth) -> CostGrowth:
        """Return the minimum of the growths in all cases, if it is tight; else the growth of each case."""
        if any(case.some_classes for _, case in self._cases):
            return result
        zero = [case for case in self._cases if not case[1].upper]
        nonzero = [case for case in self._cases if case[1].upper]
        if not zero and len({name for ends in self._bounds for end in ends for name in end.names}) < 2:
            # With a single size, all cases but the last have only a few sizes.
            return result
        groups: dict[Factor, list[GrowthCase]] = {}
        for part in (nonzero,) if zero else ([case] for case in nonzero):
            growth = _Search.of_cases(part, self._sizes, self._facts).growth()
            if growth.upper is None or not growth.known:
                return result
            groups.setdefault(as_factor(growth.upper), []).extend(case for _, case in part)
        low = [order.expr for order in groups if not any(self._less(rival.expr, order.expr) for rival in groups)]
        smallest = b.call("min", *low) if len(low) > 1 else low[0]
        if len(groups) > 1 and self.proves(smallest):
            return CostGrowth(smallest, smallest)
        under = tuple(theta(order.expr, *growth_cases.union_conditions(part)) for order, part in groups.items())
        if zero and len(groups) == 1 and unconditional_facts(under[0]) == under[0].where:
            # The cost is 0 in the other cases.
            return replace(result, upper=smallest, tight=replace(under[0], lower=smallest, upper=smallest))
        return replace(result, under=under)

    def _less(self, low: s.Expr, high: s.Expr) -> bool:
        """Test whether the first expression grows strictly less than the second at all sizes."""
        domain = self._everywhere
        return domain is not None and is_proved_big_o(low, high, domain) and not is_proved_big_o(high, low, domain)

    def _proposed(self, values: Sequence[Poly]) -> Iterator[s.Expr]:
        """Yield candidates for the growth: from the bounds of the first case, then from those of all cases."""
        yielded = set[str]()
        for minima, considered in product((False, True), dict.fromkeys((tuple(values[:1]), tuple(values)))):
            try:
                shapes = dict.fromkeys(
                    shape for value in considered for shape in find_shapes(value, self._sizes, minima)
                )
            except OutOfReachError:
                continue
            order = build_shape_sum(drop_covered_shapes(list(shapes), self._covered), self._sizes)
            if shapes and (text := format_expression(order)) not in yielded:
                yielded.add(text)
                yield order

    def _covered(self, shape: Shape, rest: Sequence[Shape]) -> bool:
        """Test whether a term is proved to be O of the sum of the rest, and need not be shown."""
        if not self._facts and not find_unbounded_sizes(shape) <= frozenset[str]().union(*map(names_in, rest)):
            # The shape grows with a size that does not occur in the rest.
            return False
        if not is_logarithmic(shape) and all(map(is_logarithmic, rest)):
            return False
        return self._everywhere is not None and is_proved_big_o(
            build_shape_sum([shape], self._sizes), build_shape_sum(rest, self._sizes), self._everywhere
        )

    def _above(self, order: s.Expr) -> bool:
        """Test whether the cost is proved to be O of an expression, in all of its pieces."""
        return all(
            domain is None or piece.is_zero or (piece.upper is not None and is_proved_big_o(piece.upper, order, domain))
            for piece, domain in zip(self._pieces, self._domains, strict=True)
        )

    def _below(self, order: s.Expr) -> bool:
        """Test whether an expression is proved to be O of the cost, in all of its pieces."""
        return all(
            domain is None or (piece.lower is not None and is_proved_big_o(order, piece.lower, domain))
            for piece, domain in zip(self._pieces, self._domains, strict=True)
        )


def _bounds(cost: Cost) -> list[tuple[Poly, Poly]]:
    """List the lower and upper bound of each piece, those of recursive cases first."""
    return [_without_caps(piece.lower, piece.upper, piece.where.cases) for piece in reversed(cost.pieces)]


def _without_caps(lower: Poly, upper: Poly, cases: Sequence[Facts]) -> tuple[Poly, Poly]:
    """Remove caps of sizes by numbers from two bounds, if the facts of the first case decide which caps apply."""
    if lower == upper or not cases:
        return lower, upper
    return remove_caps(lower, cases[0], False), remove_caps(upper, cases[0], True)
