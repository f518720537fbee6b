"""How a cost grows: a short expression that it is Theta of, or O and Omega, each shown by the growth prover."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from contextlib import suppress
from functools import reduce
from itertools import islice, product, takewhile
from typing import Literal

from archline.algebra.atoms import Floor, PositivePart
from archline.algebra.effort import OutOfBudgetError, search
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.facts import Facts
from archline.algebra.polynomial import Monomial, Poly
from archline.algebra.reals import OutOfReachError
from archline.analysis.analyse import derive_metric, derive_unguarded
from archline.analysis.communication.floors import without_rounded_powers
from archline.analysis.cost import Cost, Costs
from archline.analysis.sampling import assumed
from archline.claims.any_order_growth import least
from archline.claims.growth import (
    ConditionalCost,
    domain_of,
    facts_of,
    facts_of_case,
    in_any_cache,
    over_range,
    pieces,
    pieces_by_cases,
    without_blocks,
    without_conditions,
)
from archline.claims.growth_cases import GrowthCase, shown
from archline.claims.growth_of_recursion import BySolving, by_solving
from archline.expr import build as b
from archline.expr.text import format_fact
from archline.growth.candidates import Shape, logarithmic, names_in, rising, shapes, without, written
from archline.growth.log_domain import Domain
from archline.growth.simplify import holds
from archline.ir.conditions import knowing, with_all
from archline.ir.declarations import declared
from archline.ir.scope import Scope
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError
from archline.language.model import Module
from archline.language.parser import parse_expression
from archline.language.substitution import facts_in_sizes
from archline.records import record, replace
from archline.recurrences.exact.base_cases import uncapped


@record
class GrowthBound:
    """Where a condition holds, at all sizes if there is none, a cost is O, Omega or Theta of an expression."""

    relation: Literal["O", "Omega", "Theta"]
    growth: str
    condition: str = ""

    @property
    def tight(self) -> bool:
        """Whether it bounds the cost from both sides."""
        return self.relation == "Theta"

    @property
    def text(self) -> str:
        """`Theta(...) where ...`, or `O(...) where ...`."""
        where = f" where {self.condition}" if self.condition else ""
        return f"{self.relation}({self.growth}){where}"


@record
class Growth:
    """What a cost is O of and Omega of, each None where it is not known.

    `under` holds what it is O or Theta of under conditions, where one expression does not serve
    everywhere. `tight` is what it is Theta of from some sizes on, where at smaller ones it may vanish.
    """

    upper: str | None
    lower: str | None
    under: tuple[GrowthBound, ...] = ()
    tight: GrowthBound | None = None

    def ends(self, given: Set[str]) -> tuple[list[str], list[str]]:
        """All that a cost is O of, and Omega of, where the given facts, as text, hold."""
        cases = (*self.under, *((self.tight,) if self.tight is not None else ()))
        facts = [[format_fact(fact) for fact in facts_of(each.condition)] for each in cases]
        some = [each for each, needed in zip(cases, facts, strict=True) if needed and given >= set(needed)]
        uppers = (self.upper, *(each.growth for each in some))
        lowers = (self.lower, *(each.growth for each in some if each.tight))
        return [each for each in uppers if each is not None], [each for each in lowers if each is not None]

    @property
    def known(self) -> bool:
        """Whether one expression bounds it from both sides, at all sizes."""
        return self.upper is not None and self.upper == self.lower

    @property
    def orders(self) -> tuple[GrowthBound, ...]:
        """`Theta(...)`, or `O(...), Omega(...)` as far as they are known."""
        if self.under and self.upper is None:
            return self.under
        if self.known:
            return (GrowthBound("Theta", str(self.upper)),)
        upper = None if self.tight is not None and self.tight.growth == self.upper else self.upper
        above, below = upper and GrowthBound("O", upper), self.lower and GrowthBound("Omega", self.lower)
        return tuple(each for each in (above, below, self.tight) if each)

    @property
    def text(self) -> str | None:
        """All of these."""
        return ", ".join(each.text for each in self.orders) or None


LEAST = (2, 3, 4)
"""From which sizes on a cost is compared that may vanish at smaller ones."""
ROUNDED = 16
"""The same of forms with quotients that are rounded."""
MAX_COMPARED = 24
"""Of lower bounds with more terms it is not tried from which sizes on they suffice, which takes long."""
TALL = b.binary(">=", b.name("Z"), b.power(b.name("L"), b.number(2)))
"""What is taken of a cache of which nothing is said: it has more lines than a line has words."""


def growth(module: Module, algorithm: s.Algorithm, costs: Costs, cost: Cost) -> Growth:
    """How a cost grows at the sizes that the algorithm allows, by its own bounds and those of related metrics."""
    return search(lambda: _searched(module, algorithm, costs, cost), Growth(None, None))


def _searched(module: Module, algorithm: s.Algorithm, costs: Costs, cost: Cost) -> Growth:
    found = _own_growth(module, algorithm, costs, cost)
    if found.under or found.known:
        return found
    found = _with_recursion(found, algorithm, costs, cost)
    if found.known:
        return found
    rough = _unguarded(module, algorithm, cost)
    more = (*cost.at_most, *rough, *_accesses(module, algorithm, cost))
    uppers = (growth(module, algorithm, costs, each).upper for each in more)
    lowers = (growth(module, algorithm, costs, each).lower for each in (*cost.at_least, *rough))
    if found.lower is None and found.upper is not None and found.tight is None and cost.lower is not None:
        known = declared(module, algorithm).facts
        found = replace(found, lower=_growth_of_the_sure(module, algorithm, costs, cost.lower, known))
    domain = domain_of((*facts_in_sizes(algorithm), *assumed(algorithm)))
    return replace(
        found,
        upper=reduce(lambda one, other: _sharper(one, other, domain, upper=True), uppers, found.upper),
        lower=reduce(lambda one, other: _sharper(one, other, domain, upper=False), lowers, found.lower),
    )


def _unguarded(module: Module, algorithm: s.Algorithm, cost: Cost) -> tuple[Cost, ...]:
    """The plainer bounds of an exact form with maxima, where guards that the sizes decide are not counted."""
    if not cost.exact or cost.upper is None or not any(isinstance(each, PositivePart) for each in cost.upper.atoms()):
        return ()
    found = derive_unguarded(module, algorithm).get(cost.metric)
    return () if found is None or found.lower is None or found.exact else (found,)


def _accesses(module: Module, algorithm: s.Algorithm, cost: Cost) -> Iterable[Cost]:
    """The accesses beside io with guards, which bounds of io count as if they held."""
    guards = cost.alternatives and any(isinstance(each, s.If) for each in s.nodes(algorithm.body))
    return derive_metric(module, algorithm, "accesses").metrics.values() if guards else ()


def _growth_of_the_sure(module: Module, algorithm: s.Algorithm, costs: Costs, lower: Poly, known: Facts) -> str | None:
    """A growth from below, without what may be 0: of p + max(0, n - p*m) that of p; 1 where no more is known."""
    value = known.simplify(lower.substitute(known.rewrites))
    terms = {each: number for each, number in value.terms.items() if number < 0 or not _has_maximum(each)}
    sure = Poly(terms)
    if sure != value and known.positive(sure) and known.nonnegative(value - sure):
        return _own_growth(module, algorithm, costs, Cost("", "exact", sure, sure)).lower or "1"
    return "1" if known.positive(value) else None


def _has_maximum(monomial: Monomial) -> bool:
    return any(isinstance(atom, PositivePart) for atom, _ in monomial)


def _with_recursion(found: Growth, algorithm: s.Algorithm, costs: Costs, cost: Cost) -> Growth:
    """The growth with what the recurrence tells, where that is sharper than what the bounds do."""
    facts = (*facts_in_sizes(algorithm), *assumed(algorithm))
    solved = None if cost.upper is not None and not cost.upper else solved_recurrence(costs, cost, facts)
    if solved is not None and solved.pieces:
        last = solved.pieces[-1]
        if found.tight is None and last.upper == last.lower:
            return replace(found, tight=GrowthBound("Theta", last.upper, last.condition))
    if solved is None or solved.upper is None:
        return found
    if cost.recursion is not None and cost.recursion.indices is not None:
        solved = solved.mapped(cost.recursion.indices.restored)
    domain = domain_of(facts)
    upper = _sharper(found.upper, solved.upper, domain, upper=True)
    if solved.lower is None:
        return replace(found, upper=upper)
    if solved.least > 1:
        if found.tight is not None or solved.lower != solved.upper:
            return replace(found, upper=upper)
        return replace(found, upper=upper, tight=GrowthBound("Theta", solved.lower, f"{solved.size} >= {solved.least}"))
    return replace(found, upper=upper, lower=_sharper(found.lower, solved.lower, domain, upper=False))


def solved_recurrence(costs: Costs, cost: Cost, facts: tuple[s.Fact, ...] = ()) -> BySolving | None:
    """What the recurrence of a cost tells of its growth; None where there is no recurrence, or none that ends.

    It is in the length of a range where the recurrence is.
    """
    if cost.recursion is None:
        return None
    sizes = tuple(cost.recursion.most.least)

    def added(value: Poly, known: Facts) -> tuple[s.Expr | None, s.Expr | None]:
        # Of a call that another one makes, the facts of the case are what is known.
        found = _growth(costs, Cost("", "exact", value, value), sizes, facts_of_case(known), known)
        upper, lower = (None if each is None else parse_expression(each) for each in (found.upper, found.lower))
        return upper, lower

    return by_solving(cost.recursion, added, facts)


def _sharper(one: str | None, other: str | None, domain: Domain | None, *, upper: bool) -> str | None:
    """The sharper one of two upper bounds on growth, or of two lower ones; the first where neither is proved so."""
    if one is None or other is None or domain is None:
        return other if one is None else one
    small, large = (other, one) if upper else (one, other)
    return other if follows(small, large, domain) and not follows(large, small, domain) else one


def _own_growth(module: Module, algorithm: s.Algorithm, costs: Costs, cost: Cost) -> Growth:
    """How a cost grows by its own bounds, as an `ensures` on it is decided."""
    if cost.orders is not None:
        return _by_orders(module, algorithm, costs, cost)
    sizes, facts = module.signatures[algorithm].size_names, (*facts_in_sizes(algorithm), *assumed(algorithm))
    # The growth of a recursion that splits its processors is that of its recurrence.
    sizes = (*sizes, *(("P",) if algorithm.grid and cost.recursion is None else ()))
    known = declared(module, algorithm).facts
    indices, moved = costs.index_range, over_range(costs.index_range, cost, facts, known)
    if indices is not None and moved is not None:
        found = _growth(costs, moved[0], (*sizes, indices.size), *moved[1:])
        upper, lower = (None if each is None else indices.restored(each) for each in (found.upper, found.lower))
        return Growth(upper, lower)
    found = _growth(costs, cost, sizes, facts, known)
    settled = found.under or found.tight or found.upper is None or found.lower is not None
    if settled or not cost.lower or len(cost.lower.terms) > MAX_COMPARED:
        return found
    tight = _from_sizes(costs, cost, sizes, facts, declared(module, algorithm))
    everywhere = tight is not None and not tight.condition
    return Growth(tight.growth, tight.growth) if tight is not None and everywhere else replace(found, tight=tight)


def _from_sizes(
    costs: Costs, cost: Cost, sizes: tuple[str, ...], facts: tuple[s.Fact, ...], scope: Scope
) -> GrowthBound | None:
    """Theta of a cost that may vanish at the least sizes: all are raised, then each is let go that need not be."""
    assert cost.lower is not None
    bounds = [(name, scope.values[name]) for name in sizes if name in cost.lower.names]
    never_negative = scope.facts.nonnegative

    def growths(raised: Sequence[str], start: int) -> Iterator[_Search]:
        added = b.least(raised, start)
        where = (*facts, *added)
        if added and domain_of(where) is not None:
            yield from islice(_searches(costs, cost, sizes, where, with_all(scope.facts, added, scope)), 1, None)

    for start in _starts(cost.lower):
        raised = [
            name
            for name, value in bounds
            if not never_negative(value - start) and not never_negative(start - 1 - value)
        ]
        found = next((known for each in growths(raised, start) if (known := each.growth()).known), None)
        if found is None:
            continue
        for each in reversed(tuple(raised)):
            fewer = [other for other in raised if other != each]
            if any(less.proves(found) for less in growths(fewer, start)):
                raised = fewer
        if cost.lower.names == {name for name, _ in bounds[:1]} and raised:
            # Of one size, those below are few: it grows so from where it is 0 for the last time.
            start = _after_zeros(cost.lower, bounds[0][0], start)
            raised = [bounds[0][0]] if start > 1 else []
        return GrowthBound("Theta", str(found.upper), " and ".join(f"{name} >= {start}" for name in raised))
    return None


def _after_zeros(value: Poly, name: str, start: int) -> int:
    """The least size from which on up to a start a value is above 0."""
    positive = takewhile(lambda size: evaluate(value, {name: size}) > 0, range(start - 1, 0, -1))
    return min(positive, default=start)


def _starts(value: Poly) -> tuple[int, ...]:
    """The sizes to try: small ones, and the first one behind all numbers that a size is compared with."""
    numbers = [-int(atom.argument.constant_term) for atom in value.atoms() if isinstance(atom, PositivePart)]
    rounded = any(isinstance(atom, Floor) and atom.modulus.is_constant for atom in value.atoms_within())
    more = (each + 1 for each in (max(numbers, default=0),) if LEAST[-1] <= each)
    return (*LEAST, *more, *((ROUNDED,) if rounded else ()))


def _by_orders(module: Module, algorithm: s.Algorithm, costs: Costs, cost: Cost) -> Growth:
    """What a recurrence with a cut-off is O of, each growth with its condition."""
    assert cost.orders is not None
    said = "Z" in s.names(algorithm.where)
    facts = (*facts_in_sizes(algorithm), *(() if said else (TALL,)))
    found = cost.orders(facts)
    if isinstance(found, str):
        return Growth(None, None)
    scope = declared(module, algorithm)
    scope = knowing(scope, *facts)
    below, tall, under = least(costs, cost, scope.facts), () if said else (format_fact(TALL),), list[GrowthBound]()
    for condition, each in found:
        if not in_any_cache(costs, cost, (condition, each), facts, scope):
            return Growth(None, None)
        domain = None if below is None else domain_of((*facts, *facts_of(condition)))
        tight = below is not None and domain is not None and follows(each, below, domain)
        under.append(GrowthBound("Theta" if tight else "O", each, " and ".join((*filter(None, (condition,)), *tall))))
    return Growth(None, None, tuple(under))


def growth_of(costs: Costs, value: Poly, sizes: tuple[str, ...], facts: tuple[s.Fact, ...], known: Facts) -> str | None:
    """What an expression in sizes is Theta of, in short; None where that is not known."""
    found = _growth(costs, Cost("", "exact", value, value), sizes, facts, known)
    return found.upper if found.upper == found.lower else None


def _growth(costs: Costs, cost: Cost, sizes: tuple[str, ...], facts: tuple[s.Fact, ...], known: Facts) -> Growth:
    """Theta as soon as it is proved; else the first bounds found, and what it is in each of its cases."""
    upper, lower, under, domain = None, None, tuple[GrowthBound, ...](), domain_of(facts)
    tight: GrowthBound | None = None
    with suppress(OutOfBudgetError):
        for each in _searches(costs, cost, sizes, facts, known):
            found = each.growth()
            if found.known:
                return found
            upper, lower = _sharper(upper, found.upper, domain, upper=True), lower or found.lower
            under, tight = under or found.under, tight or found.tight
    return Growth(upper, lower, under, tight)


def _searches(
    costs: Costs, cost: Cost, sizes: tuple[str, ...], facts: tuple[s.Fact, ...], known: Facts
) -> Iterator[_Search]:
    """What finds the growth: of the blocks as they are, of what they divide, and of an exact form in cases.

    None for a closed form or facts that have no growth.
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
            yield _Search(bounds, sizes, facts, pieces(costs, cost, facts, known, blocks))
        if cost.exact and not cost.regimes:
            for found in pieces_by_cases(costs, cost, facts, known):
                some = [each for each in found if domain_of(each[0].facts) is not None]
                yield _Search.of_cases(some, sizes, facts)


def _readable(cost: Cost, known: Facts, blocks: bool) -> Cost:
    """The cost with bounds from which growths are read: 2^ceil(log2(p)) is Theta(p), a condition 1 at most."""
    if cost.regimes or cost.lower is None or cost.upper is None:
        return cost
    lower = -without_rounded_powers(-cost.lower, known)
    upper = without_rounded_powers(without_conditions(cost.upper, known), known)
    if not blocks:
        lower, upper = -without_blocks(-lower, known, floors=True), without_blocks(upper, known, floors=False)
    return replace(cost, lower=lower, upper=upper)


class _Search:
    """The search for what a cost grows like, from its bounds in each case and as the growth prover reads them."""

    def __init__(
        self,
        bounds: Sequence[tuple[Poly, Poly]],
        sizes: Sequence[str],
        facts: tuple[s.Fact, ...],
        known: Sequence[ConditionalCost],
        cases: Sequence[tuple[ConditionalCost, GrowthCase]] = (),
    ) -> None:
        self._bounds, self._sizes, self._pieces, self._cases = bounds, sizes, known, cases
        self._facts = facts
        self._domains, self._everywhere = [domain_of(each.facts) for each in known], domain_of(facts)

    @staticmethod
    def of_cases(
        cases: Sequence[tuple[ConditionalCost, GrowthCase]], sizes: Sequence[str], facts: tuple[s.Fact, ...]
    ) -> _Search:
        """What finds the growth of an exact form in cases."""
        pieces = [piece for piece, _ in cases]
        return _Search([(case.lower, case.upper) for _, case in cases], sizes, facts, pieces, cases)

    def proves(self, found: Growth) -> bool:
        """Whether the cost is Theta of what was found where more is known."""
        return found.upper is not None and self._above(found.upper) and self._below(found.upper)

    def growth(self) -> Growth:
        """What the cost is O of and Omega of."""
        uppers = [upper for _, upper in self._bounds]
        upper: str | None = None
        for each in dict.fromkeys(self._proposed(uppers)):
            if self._above(each):
                if self._below(each):
                    return Growth(each, each)
                upper = _sharper(upper, each, self._everywhere, upper=True)
        lowers = [lower for lower, _ in self._bounds]
        tried = {upper} if lowers != uppers else {upper, *self._proposed(uppers)}
        lower = next((each for each in self._proposed(lowers) if each not in tried and self._below(each)), None)
        return self._by_cases(Growth(upper, lower)) if len(self._cases) > 1 else Growth(upper, lower)

    def _by_cases(self, found: Growth) -> Growth:
        """The least of what the cost is Theta of in each case, if it is that; else each with its cases."""
        nowhere = [each for each in self._cases if not each[1].upper]
        others = [each for each in self._cases if each[1].upper]
        if not nowhere and len({name for ends in self._bounds for end in ends for name in end.names}) < 2:
            # Of one size all cases but the last are a few sizes.
            return found
        groups: dict[str, list[GrowthCase]] = {}
        for part in (others,) if nowhere else ([each] for each in others):
            growth = _Search.of_cases(part, self._sizes, self._facts).growth()
            if growth.upper is None or not growth.known:
                return found
            groups.setdefault(growth.upper, []).extend(case for _, case in part)
        low = [each for each in groups if not any(self._less(other, each) for other in groups)]
        smallest = f"min({', '.join(low)})" if len(low) > 1 else low[0]
        if len(groups) > 1 and self.proves(Growth(smallest, smallest)):
            return Growth(smallest, smallest)
        if nowhere and len(groups) == 1 and " or " not in (where := shown(groups[smallest])):
            # It is 0 elsewhere.
            return replace(found, upper=smallest, tight=GrowthBound("Theta", smallest, where))
        return replace(found, under=tuple(GrowthBound("Theta", each, shown(part)) for each, part in groups.items()))

    def _less(self, one: str, other: str) -> bool:
        """Whether the first grows less than the second at all sizes, and not the other way round."""
        known = self._everywhere
        return known is not None and follows(one, other, known) and not follows(other, one, known)

    def _proposed(self, values: Sequence[Poly]) -> Iterable[str]:
        """What to try: what the recursive cases grow like, then together with the others."""
        for minima, considered in product((False, True), dict.fromkeys((tuple(values[:1]), tuple(values)))):
            try:
                found = dict.fromkeys(each for value in considered for each in shapes(value, self._sizes, minima))
            except OutOfReachError:
                continue
            if found:
                yield written(without(list(found), self._covered), self._sizes)

    def _covered(self, shape: Shape, rest: Sequence[Shape]) -> bool:
        if not self._facts and not rising(shape) <= frozenset[str]().union(*map(names_in, rest)):
            # It grows with a size on which the others do not depend.
            return False
        if not logarithmic(shape) and all(map(logarithmic, rest)):
            return False
        return self._everywhere is not None and follows(
            written([shape], self._sizes), written(rest, self._sizes), self._everywhere
        )

    def _above(self, text: str) -> bool:
        """Whether the cost is O of it."""
        return all(
            domain is None or piece.upper == "0" or follows(piece.upper, text, domain)
            for piece, domain in zip(self._pieces, self._domains, strict=True)
        )

    def _below(self, text: str) -> bool:
        """Whether it is O of the cost."""
        return all(
            domain is None or follows(text, piece.lower, domain)
            for piece, domain in zip(self._pieces, self._domains, strict=True)
        )


def _bounds(cost: Cost) -> list[tuple[Poly, Poly]]:
    """The bounds by regimes, that of the recursive cases first."""
    if cost.regimes:
        return [_plain(each.lower, each.upper, each.cases) for each in reversed(cost.regimes)]
    assert cost.lower is not None
    assert cost.upper is not None
    return [(cost.lower, cost.upper)]


def _plain(lower: Poly, upper: Poly, cases: Sequence[Facts]) -> tuple[Poly, Poly]:
    """Bounds without sizes that are cut off at numbers, as far as the first case tells."""
    if lower == upper or not cases:
        return lower, upper
    return uncapped(lower, cases[0], False), uncapped(upper, cases[0], True)


def follows(f: str, g: str, domain: Domain) -> bool:
    """Whether f = O(g) is proved in a domain."""
    try:
        return holds(parse_expression(f), parse_expression(g), domain)
    except ArchlineError:
        # One of the two is too long, or nested too deeply.
        return False
