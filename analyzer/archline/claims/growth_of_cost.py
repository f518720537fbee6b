"""Derive how a cost grows: short expressions for Theta, O and Omega, each proved by the growth prover."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from contextlib import suppress
from functools import reduce
from itertools import islice, product, takewhile

from archline.algebra.atoms import Floor, PositivePart
from archline.algebra.effort import LazyList, OutOfBudgetError, search
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.facts import Facts
from archline.algebra.polynomial import Monomial, Poly
from archline.algebra.reals import OutOfReachError
from archline.analysis.analyse import derive_metric, derive_unguarded
from archline.analysis.communication.floors import without_rounded_powers
from archline.analysis.cost import Cost, Costs
from archline.analysis.sampling import assumed
from archline.claims.growth import (
    facts_of_case,
    growth_of_recurrence,
    growth_pieces,
    in_any_cache,
    over_range,
    pieces_by_cases,
    unconditional_facts,
)
from archline.claims.growth_cases import GrowthCase, union_conditions
from archline.claims.growth_forms import without_blocks, without_conditions
from archline.claims.growth_of_recursion import BySolving, by_solving
from archline.claims.io_growth import io_growth_lower_bound
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
from archline.ir.layout import LINE
from archline.ir.scope import Scope
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError
from archline.language.metrics import WORD
from archline.language.model import Module
from archline.language.substitution import express_facts_in_sizes
from archline.records import record, replace
from archline.recurrences.exact.base_cases import remove_caps


@record
class CostGrowth:
    """The growth of a cost: upper (O) and lower (Omega), each None if unknown.

    `under` has growths under conditions, if no single expression holds everywhere. `tight` is the Theta class from
    some sizes on, if the cost may vanish at smaller ones.
    """

    upper: s.Expr | None
    lower: s.Expr | None
    under: tuple[Growth, ...] = ()
    tight: Growth | None = None

    def ends(self, given: Set[str]) -> tuple[list[s.Expr], list[s.Expr]]:
        """List all upper and all lower growths that hold under the given facts, which are text."""
        cases = (*self.under, *((self.tight,) if self.tight is not None else ()))
        facts = [[format_fact(fact) for fact in unconditional_facts(each)] for each in cases]
        some = [each for each, needed in zip(cases, facts, strict=True) if needed and given >= set(needed)]
        uppers = (self.upper, *(each.upper for each in some))
        lowers = (self.lower, *(each.lower for each in some))
        return [each for each in uppers if each is not None], [each for each in lowers if each is not None]

    @property
    def known(self) -> bool:
        """True if one expression bounds the cost from both sides at all sizes."""
        return self.upper is not None and has_same_structure(self.upper, self.lower)

    @property
    def orders(self) -> tuple[Growth, ...]:
        """The growths to report: Theta, or O and Omega if they are known."""
        if self.under and None in (self.upper, self.lower):
            return self.under
        if self.known:
            return (Growth(self.upper, self.upper),)
        upper = None if self.tight is not None and has_same_structure(self.tight.upper, self.upper) else self.upper
        found = (upper and Growth(None, upper), self.lower and Growth(self.lower, None), self.tight)
        return tuple(each for each in found if each)

    @property
    def text(self) -> str | None:
        """The growths to report, as text."""
        return ", ".join(str(growth.text) for growth in self.orders) or None


def theta(order: s.Expr, *where: s.Fact) -> Growth:
    """Return the Theta growth by an expression, under conditions."""
    return Growth(order, order, where=where)


START_SIZES = (2, 3, 4)
"""Sizes from which on a cost is compared if it may vanish at smaller ones."""
ROUNDED = 16
"""The start size for forms with rounded quotients."""
MAX_COMPARED = 24
"""For lower bounds with more terms no start size is searched, which would take long."""
TALL_CACHE = b.binary(">=", b.name("Z"), b.power(b.name("L"), b.number(2)))
"""The assumption about a cache without facts: it has at least as many lines as a line has words."""


def growth_of_cost(module: Module, algorithm: s.Algorithm, costs: Costs, cost: Cost) -> CostGrowth:
    """Derive the growth of a cost at the allowed sizes, from its bounds and from related metrics."""
    return search(lambda: _searched(module, algorithm, costs, cost), CostGrowth(None, None))


def _searched(module: Module, algorithm: s.Algorithm, costs: Costs, cost: Cost) -> CostGrowth:
    found = _own_growth(module, algorithm, costs, cost)
    if found.under or found.known:
        return found
    found = _with_recursion(found, algorithm, costs, cost)
    if found.known:
        return found
    rough = _without_guards(module, algorithm, cost)
    more = (*cost.at_most, *rough, *_accesses(module, algorithm, cost))
    uppers = (growth_of_cost(module, algorithm, costs, each).upper for each in more)
    lowers = (growth_of_cost(module, algorithm, costs, each).lower for each in (*cost.at_least, *rough))
    if found.lower is None and found.upper is not None and found.tight is None and cost.lower is not None:
        known = declared_scope(module, algorithm).facts
        found = replace(found, lower=_growth_of_the_sure(module, algorithm, costs, cost.lower, known))
    domain = domain_of((*express_facts_in_sizes(algorithm), *assumed(algorithm)))
    return replace(
        found,
        upper=reduce(lambda one, other: _sharper_growth(one, other, domain, upper=True), uppers, found.upper),
        lower=reduce(lambda one, other: _sharper_growth(one, other, domain, upper=False), lowers, found.lower),
    )


def _without_guards(module: Module, algorithm: s.Algorithm, cost: Cost) -> tuple[Cost, ...]:
    """The simpler bounds of an exact form with maxima, derived without guards that the sizes decide."""
    if not cost.exact or cost.upper is None or not any(isinstance(atom, PositivePart) for atom in cost.upper.atoms()):
        return ()
    found = derive_unguarded(module, algorithm).get(cost.metric)
    return () if found is None or found.lower is None or found.exact else (found,)


def _accesses(module: Module, algorithm: s.Algorithm, cost: Cost) -> Iterable[Cost]:
    """The access count, as a bound for traffic with guards, which bounds on traffic ignore."""
    guards = cost.plans and any(isinstance(node, s.If) for node in s.nodes(algorithm.body))
    accesses = derive_metric(module, algorithm, "accesses").metrics.values() if guards else ()
    # An access moves one line at most in each direction: a line for io and write-backs, its words for bytes.
    words = 2 * WORD * LINE if cost.metric == "bytes" else Poly.constant(1)
    return (
        replace(x, upper=x.upper * words, bounds=tuple(bound.map_value(words.__mul__) for bound in x.bounds))
        for x in accesses
        if x.upper is not None
    )


def _growth_of_the_sure(
    module: Module, algorithm: s.Algorithm, costs: Costs, lower: Poly, known: Facts
) -> s.Expr | None:
    """Bound growth from below without terms that may be 0: p + max(0, n - p*m) grows at least as p.

    Returns 1 if the value is only known to be positive, None if not even that.
    """
    value = known.simplify(lower.substitute(known.rewrites))
    terms = {each: number for each, number in value.terms.items() if number < 0 or not _has_maximum(each)}
    sure = Poly(terms)
    if sure != value and known.positive(sure) and known.nonnegative(value - sure):
        return _own_growth(module, algorithm, costs, Cost("", "exact", sure, sure)).lower or b.ONE
    return b.ONE if known.positive(value) else None


def _has_maximum(monomial: Monomial) -> bool:
    return any(isinstance(atom, PositivePart) for atom, _ in monomial)


def _with_recursion(found: CostGrowth, algorithm: s.Algorithm, costs: Costs, cost: Cost) -> CostGrowth:
    """Sharpen a growth by the solution of the recurrence."""
    facts = (*express_facts_in_sizes(algorithm), *assumed(algorithm))
    solved = None if cost.upper is not None and not cost.upper else solved_recurrence(costs, cost, facts)
    if solved is not None and solved.pieces:
        last = solved.pieces[-1]
        if found.tight is None and last.tight:
            return replace(found, tight=last)
    if solved is None or solved.upper is None:
        return found
    size = b.name(solved.size)
    if cost.recursion is not None and cost.recursion.indices is not None:
        restored = cost.recursion.indices.restored
        upper, lower = (None if each is None else restored(each) for each in (solved.upper, solved.lower))
        solved, size = replace(solved, upper=upper, lower=lower), restored(size)
    domain = domain_of(facts)
    upper = _sharper_growth(found.upper, solved.upper, domain, upper=True)
    if solved.lower is None:
        return replace(found, upper=upper)
    if solved.least > 1:
        if found.tight is not None or not has_same_structure(solved.lower, solved.upper):
            return replace(found, upper=upper)
        return replace(found, upper=upper, tight=theta(solved.lower, b.binary(">=", size, b.number(solved.least))))
    return replace(found, upper=upper, lower=_sharper_growth(found.lower, solved.lower, domain, upper=False))


def solved_recurrence(costs: Costs, cost: Cost, facts: tuple[s.Fact, ...] = ()) -> BySolving | None:
    """Derive the growth of a cost from its recurrence; None without a terminating recurrence.

    For a recurrence over a range of indices, it is in terms of the range's length.
    """
    if cost.recursion is None:
        return None
    sizes = tuple(cost.recursion.most.least)

    def growth_outside_calls(value: Poly, known: Facts) -> tuple[s.Expr | None, s.Expr | None]:
        # Of a call that another one makes, the facts of the case are what is known.
        found = _growth(costs, Cost("", "exact", value, value), sizes, facts_of_case(known), known)
        return found.upper, found.lower

    return by_solving(cost.recursion, growth_outside_calls, facts)


def _sharper_growth(one: s.Expr | None, other: s.Expr | None, domain: Domain | None, *, upper: bool) -> s.Expr | None:
    """Return the sharper of two upper (or lower) growth bounds; the first if neither is proved to be."""
    if one is None or other is None or domain is None:
        return other if one is None else one
    small, large = (other, one) if upper else (one, other)
    return other if is_proved_big_o(small, large, domain) and not is_proved_big_o(large, small, domain) else one


def _own_growth(module: Module, algorithm: s.Algorithm, costs: Costs, cost: Cost) -> CostGrowth:
    """Derive the growth of a cost from its own bounds."""
    if cost.orders is not None:
        return _by_orders(module, algorithm, costs, cost)
    sizes, facts = module.signatures[algorithm].size_names, (*express_facts_in_sizes(algorithm), *assumed(algorithm))
    # The growth of a recursion that splits its processors is that of its recurrence.
    sizes = (*sizes, *(("P",) if algorithm.grid and cost.recursion is None else ()))
    known = declared_scope(module, algorithm).facts
    indices, moved = costs.index_range, over_range(costs.index_range, cost, facts, known)
    if indices is not None and moved is not None:
        found = _growth(costs, moved[0], (*sizes, indices.size), *moved[1:])
        upper, lower = (None if each is None else indices.restored(each) for each in (found.upper, found.lower))
        return CostGrowth(upper, lower)
    found = _growth(costs, cost, sizes, facts, known)
    settled = found.under or found.tight or found.upper is None or found.lower is not None
    if settled or not cost.lower or len(cost.lower.terms) > MAX_COMPARED:
        return found
    tight = _from_sizes(costs, cost, sizes, facts, declared_scope(module, algorithm))
    everywhere = tight is not None and not tight.where
    return CostGrowth(tight.upper, tight.upper) if tight is not None and everywhere else replace(found, tight=tight)


def _from_sizes(
    costs: Costs, cost: Cost, sizes: tuple[str, ...], facts: tuple[s.Fact, ...], scope: Scope
) -> Growth | None:
    """Find the Theta class of a cost that may vanish at small sizes: raise all sizes, then lower each again."""
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
        found = next((known for each in searches_from(raised, start) if (known := each.growth()).known), None)
        if found is None:
            continue
        for each in reversed(tuple(raised)):
            fewer = [other for other in raised if other != each]
            if any(less.proves(found.upper) for less in searches_from(fewer, start)):
                raised = fewer
        if cost.lower.names == {name for name, _ in bounds[:1]} and raised:
            # Of one size, those below are few: it grows so from where it is 0 for the last time.
            start = _after_zeros(cost.lower, bounds[0][0], start)
            raised = [bounds[0][0]] if start > 1 else []
        assert found.upper is not None
        return theta(found.upper, *b.lower_bound_facts(raised, start))
    return None


def _after_zeros(value: Poly, name: str, start: int) -> int:
    """The least size, up to `start`, from which on a value is positive."""
    positive = takewhile(lambda size: evaluate(value, {name: size}) > 0, range(start - 1, 0, -1))
    return min(positive, default=start)


def _start_sizes(value: Poly) -> tuple[int, ...]:
    """List start sizes to try: small ones, and one above all numbers that sizes are compared with."""
    numbers = [-int(atom.argument.constant_term) for atom in value.atoms() if isinstance(atom, PositivePart)]
    rounded = any(isinstance(atom, Floor) and atom.modulus.is_constant for atom in value.atoms_within())
    more = (each + 1 for each in (max(numbers, default=0),) if START_SIZES[-1] <= each)
    return (*START_SIZES, *more, *((ROUNDED,) if rounded else ()))


def _by_orders(module: Module, algorithm: s.Algorithm, costs: Costs, cost: Cost) -> CostGrowth:
    """Derive the growths of a recurrence with a cut-off, each with its condition."""
    said = "Z" in s.names(algorithm.where)
    facts = (*express_facts_in_sizes(algorithm), *(() if said else (TALL_CACHE,)))
    found = growth_of_recurrence(cost, facts)
    if isinstance(found, str):
        return CostGrowth(None, None)
    scope = assuming_facts(declared_scope(module, algorithm), *facts)
    below, tall, under = io_growth_lower_bound(costs, cost, scope.facts), () if said else (TALL_CACHE,), list[Growth]()
    for each in found:
        if not in_any_cache(costs, cost, each, facts, scope):
            return CostGrowth(None, None)
        assert each.upper is not None
        domain = None if below is None else domain_of(each.facts)
        tight = below is not None and domain is not None and is_proved_big_o(each.upper, below, domain)
        under.append(Growth(each.upper if tight else None, each.upper, where=(*each.where, *tall)))
    return CostGrowth(None, None, tuple(under))


def growth_of(
    costs: Costs, value: Poly, sizes: tuple[str, ...], facts: tuple[s.Fact, ...], known: Facts
) -> s.Expr | None:
    """Return the Theta class of an expression in sizes; None if it is not known."""
    found = _growth(costs, Cost("", "exact", value, value), sizes, facts, known)
    return found.upper if found.known else None


def _growth(costs: Costs, cost: Cost, sizes: tuple[str, ...], facts: tuple[s.Fact, ...], known: Facts) -> CostGrowth:
    """Return the first tight growth that is proved; else the best bounds, with growths by case."""
    upper, lower, under, domain = None, None, tuple[Growth, ...](), domain_of(facts)
    tight: Growth | None = None
    with suppress(OutOfBudgetError):
        for each in _searches(costs, cost, sizes, facts, known):
            found = each.growth()
            if found.known:
                return found
            upper, lower = _sharper_growth(upper, found.upper, domain, upper=True), lower or found.lower
            under, tight = under or found.under, tight or found.tight
    return CostGrowth(upper, lower, under, tight)


def _searches(
    costs: Costs, cost: Cost, sizes: tuple[str, ...], facts: tuple[s.Fact, ...], known: Facts
) -> Iterator[_Search]:
    """Yield growth searches: with blocks, without blocks, and by cases of an exact form.

    None for a closed form or facts without growth.
    """
    if cost.lower is None or cost.upper is None:
        return
    names = cost.lower.names | cost.upper.names
    sizes = (*(each for each in sizes if each != "P" or "P" in names), *(each for each in ("Z", "L") if each in names))
    if not names <= set(sizes):
        # Indices and the symbols of declared costs may be 0 or less, and growth is about what is 1 at least.
        return
    with suppress(ArchlineError):
        for blocks in (True, False):
            bounds = _bounds(_readable(cost, known, blocks))
            yield _Search(bounds, sizes, facts, growth_pieces(costs, cost, facts, known, blocks))
        if cost.exact and all(piece.by_sizes for piece in cost.by_case):
            for found in pieces_by_cases(costs, cost, facts, known):
                some = [each for each in found if domain_of(each[0].facts) is not None]
                yield _Search.of_cases(some, sizes, facts)


def _readable(cost: Cost, known: Facts, blocks: bool) -> Cost:
    """Simplify bounds within constant factors: 2^ceil(log2(p)) as Theta(p), a condition as at most 1."""
    if cost.by_case or cost.lower is None or cost.upper is None:
        return cost
    lower = -without_rounded_powers(-cost.lower, known)
    upper = without_rounded_powers(without_conditions(cost.upper, known), known)
    if not blocks:
        lower, upper = -without_blocks(-lower, known, floors=True), without_blocks(upper, known, floors=False)
    return replace(cost, lower=lower, upper=upper)


class _Search:
    """Searches the growth of a cost, from its bounds in each case as the prover reads these."""

    def __init__(
        self,
        bounds: Sequence[tuple[Poly, Poly]],
        sizes: Sequence[str],
        facts: tuple[s.Fact, ...],
        known: Sequence[Growth],
        cases: Sequence[tuple[Growth, GrowthCase]] = (),
    ) -> None:
        self._bounds, self._sizes, self._pieces, self._cases = bounds, sizes, known, cases
        self._facts = facts
        self._domains, self._everywhere = [domain_of(each.facts) for each in known], domain_of(facts)

    @staticmethod
    def of_cases(
        cases: Sequence[tuple[Growth, GrowthCase]], sizes: Sequence[str], facts: tuple[s.Fact, ...]
    ) -> _Search:
        """Build the search for an exact form in cases."""
        pieces = [piece for piece, _ in cases]
        return _Search([(case.lower, case.upper) for _, case in cases], sizes, facts, pieces, cases)

    def proves(self, found: s.Expr | None) -> bool:
        """Test whether the cost is Theta of an expression found under more facts."""
        return found is not None and self._above(found) and self._below(found)

    def growth(self) -> CostGrowth:
        """Search the upper and the lower growth of the cost."""
        uppers, lowers = ([ends[side] for ends in self._bounds] for side in (1, 0))
        upper: s.Expr | None = None
        proposed = LazyList(self._proposed(uppers))
        for each in proposed:
            if self._above(each):
                if self._below(each):
                    return CostGrowth(each, each)
                upper = _sharper_growth(upper, each, self._everywhere, upper=True)
        tried = [upper] if lowers != uppers else [upper, *proposed]
        others = (
            each for each in self._proposed(lowers) if not any(has_same_structure(each, other) for other in tried)
        )
        found = CostGrowth(upper, next(filter(self._below, others), None))
        return self._by_cases(found) if len(self._cases) > 1 else found

    def _by_cases(self, found: CostGrowth) -> CostGrowth:
        """Return the minimum of the growths in all cases, if it is tight; else the growth of each case."""
        if any(case.some_classes for _, case in self._cases):
            return found
        nowhere = [each for each in self._cases if not each[1].upper]
        others = [each for each in self._cases if each[1].upper]
        if not nowhere and len({name for ends in self._bounds for end in ends for name in end.names}) < 2:
            # Of one size all cases but the last are a few sizes.
            return found
        groups: dict[Factor, list[GrowthCase]] = {}
        for part in (others,) if nowhere else ([each] for each in others):
            growth = _Search.of_cases(part, self._sizes, self._facts).growth()
            if growth.upper is None or not growth.known:
                return found
            groups.setdefault(as_factor(growth.upper), []).extend(case for _, case in part)
        low = [each.expr for each in groups if not any(self._less(other.expr, each.expr) for other in groups)]
        smallest = b.call("min", *low) if len(low) > 1 else low[0]
        if len(groups) > 1 and self.proves(smallest):
            return CostGrowth(smallest, smallest)
        under = tuple(theta(each.expr, *union_conditions(part)) for each, part in groups.items())
        if nowhere and len(groups) == 1 and unconditional_facts(under[0]) == under[0].where:
            # It is 0 elsewhere.
            return replace(found, upper=smallest, tight=replace(under[0], lower=smallest, upper=smallest))
        return replace(found, under=under)

    def _less(self, one: s.Expr, other: s.Expr) -> bool:
        """Test whether the first expression grows strictly less than the second at all sizes."""
        known = self._everywhere
        return known is not None and is_proved_big_o(one, other, known) and not is_proved_big_o(other, one, known)

    def _proposed(self, values: Sequence[Poly]) -> Iterator[s.Expr]:
        """Yield candidates: the growth of the recursive cases, then that of all cases."""
        seen = set[str]()
        for minima, considered in product((False, True), dict.fromkeys((tuple(values[:1]), tuple(values)))):
            try:
                found = dict.fromkeys(
                    shape for value in considered for shape in find_shapes(value, self._sizes, minima)
                )
            except OutOfReachError:
                continue
            order = build_shape_sum(drop_covered_shapes(list(found), self._covered), self._sizes)
            if found and (text := format_expression(order)) not in seen:
                seen.add(text)
                yield order

    def _covered(self, shape: Shape, rest: Sequence[Shape]) -> bool:
        if not self._facts and not find_unbounded_sizes(shape) <= frozenset[str]().union(*map(names_in, rest)):
            # It grows with a size on which the others do not depend.
            return False
        if not is_logarithmic(shape) and all(map(is_logarithmic, rest)):
            return False
        return self._everywhere is not None and is_proved_big_o(
            build_shape_sum([shape], self._sizes), build_shape_sum(rest, self._sizes), self._everywhere
        )

    def _above(self, order: s.Expr) -> bool:
        """Test whether the cost is O of an expression."""
        return all(
            domain is None or piece.is_zero or (piece.upper is not None and is_proved_big_o(piece.upper, order, domain))
            for piece, domain in zip(self._pieces, self._domains, strict=True)
        )

    def _below(self, order: s.Expr) -> bool:
        """Test whether an expression is O of the cost."""
        return all(
            domain is None or (piece.lower is not None and is_proved_big_o(order, piece.lower, domain))
            for piece, domain in zip(self._pieces, self._domains, strict=True)
        )


def _bounds(cost: Cost) -> list[tuple[Poly, Poly]]:
    """List the bounds by piece, those of the recursive cases first."""
    return [_without_caps(piece.lower, piece.upper, piece.where.cases) for piece in reversed(cost.pieces)]


def _without_caps(lower: Poly, upper: Poly, cases: Sequence[Facts]) -> tuple[Poly, Poly]:
    """Remove caps of sizes by numbers from bounds, if the first case decides them."""
    if lower == upper or not cases:
        return lower, upper
    return remove_caps(lower, cases[0], False), remove_caps(upper, cases[0], True)
