"""Compare io with the lower bound for any schedule: asymptotically optimal, or within a factor.

    asymptotically optimal      io is O(bound)
    within a factor O(sqrt(Z))  io is O(sqrt(Z)*bound); no smaller candidate factor is proved

Candidates are tried in increasing order, that of tall caches, Z >= L^2: 1 <= L <= sqrt(Z) <= L*sqrt(Z) <= Z;
logarithms of sizes and sizes come last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain, islice, product

from archline.algebra.effort import OUT_OF_TIME, is_out_of_time
from archline.algebra.facts import Facts
from archline.algebra.printing import to_tree
from archline.analysis.bounds import Bound
from archline.analysis.cost import AnyScheduleBound, Cost, Costs
from archline.analysis.sampling import list_assumed_facts
from archline.cost_growth.any_schedule import (
    build_hbl_growth,
    find_any_schedule_growth,
    list_cache_power_factors,
    list_facts_above_one,
    sum_hbl_iterations,
)
from archline.cost_growth.forms import build_upper_growth
from archline.cost_growth.growth_of_cost import TALL_CACHE, derive_theta
from archline.cost_growth.pieces import find_recurrence_growths, is_valid_in_any_cache
from archline.expr import build as b
from archline.expr.text import Formula, join_phrases
from archline.growth.growths import is_integer_literal, make_order_formula
from archline.growth.is_big_o import can_prove_big_o
from archline.growth.log_domain import Domain
from archline.ir.conditions import assume_facts
from archline.ir.declarations import declared_scope
from archline.ir.scope import Scope
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError
from archline.language.model import Module
from archline.records import record
from archline.recurrences.exact.base_cases import remove_divisors

OPTIMAL_FACTOR = "1"
MAX_TRIALS = 250
MAX_ATOMS = 1_000
"""The maximum number of atoms, nested ones included, of expressions that are compared."""


@record
class OptimalityRegime:
    """A condition `when` under which io is O(factor*bound), with the bound for any schedule.

    If no factor is known it is None, and `reason` says why.
    """

    when: str
    factor: Formula | None
    reason: str = ""

    @property
    def text(self) -> str:
        """The result as text: asymptotically optimal, within a factor, or the reason why it is unknown."""
        if self.factor is None:
            return f"unknown: {self.reason}"
        if self.factor == OPTIMAL_FACTOR:
            return "asymptotically optimal"
        return join_phrases("within a factor ", make_order_formula("O", self.factor.expr))


@record
class OptimalityResult:
    """The regimes, from small caches to large ones, and the conditions `under` which all regimes hold.

    `hbl_terms` are lower bounds on growth for any schedule, other than the compulsory misses.
    """

    under: tuple[Formula, ...]
    regimes: tuple[OptimalityRegime, ...]
    hbl_terms: tuple[Formula, ...] = ()


def optimality_regimes(module: Module, algorithm: s.Algorithm, costs: Costs, cost: Cost) -> OptimalityResult | None:
    """Compare the io of an algorithm with its lower bound for any schedule, by regimes of Z.

    None if a bound is missing. Sizes are at least 1, or at least 2 if a run of size 1 may touch no line.
    """
    if cost.upper is None or cost.any_schedule_bound is None:
        return None
    is_given = "Z" in s.find_names(algorithm.where)
    under = () if is_given else (TALL_CACHE,)
    sizes = module.signatures[algorithm].size_names
    scope = declared_scope(module, algorithm)
    under = (*under, *list_facts_above_one(cost.any_schedule_bound, sizes, scope.facts))
    facts = (*algorithm.where, *list_assumed_facts(algorithm), *under)
    try:
        scope = assume_facts(scope, *facts)
        declared = scope.facts
        search = _FactorSearch(
            costs,
            cost,
            scope,
            facts,
            find_any_schedule_growth(costs, cost, declared),
            _list_candidate_factors(cost.any_schedule_bound, sizes),
        )
        regimes = tuple(search.iterate_regimes())
        floors = tuple(_iterate_hbl_formulas(costs, cost.any_schedule_bound, sizes, facts, declared))
    except ArchlineError:
        # The diagnostic is about the printed form, which is not in the source.
        regimes, floors = (OptimalityRegime("", None, UNDERIVED_GROWTH),), ()
    return OptimalityResult(tuple(map(Formula, under)), regimes, floors)


def _iterate_hbl_formulas(
    costs: Costs, bound: AnyScheduleBound, sizes: tuple[str, ...], facts: tuple[s.Fact, ...], known: Facts
) -> Iterator[Formula]:
    """Yield the HBL bounds as formulas, one for each power of Z except 0, which only counts compulsory misses."""
    for power, count in sum_hbl_iterations(bound).items():
        yield Formula(build_hbl_growth(derive_theta(costs, count, sizes, facts, known) or costs.tree(count), power))


UNDERIVED_GROWTH = "its growth cannot be derived from its closed form"


@dataclass(eq=False)
class _FactorSearch:
    """Searches the smallest factor in each regime; `least` is the growth of the bound for any schedule.

    `factors` are the candidates in increasing order, each with the largest one of its kind, which is tried first.
    """

    costs: Costs
    cost: Cost
    scope: Scope
    facts: tuple[s.Fact, ...]
    least: s.Expr | None
    factors: Mapping[Formula, tuple[s.Expr, Formula]]
    _trials: int = field(default=0)

    def iterate_regimes(self) -> Iterator[OptimalityRegime]:
        """Yield the regimes from small caches to large ones, with decreasing factors."""
        assert self.cost.any_schedule_bound is not None
        if self.least is None or is_integer_literal(self.least, 1):
            yield OptimalityRegime(
                "", None, self.cost.any_schedule_bound.reason or "no lower bound for all schedules is known"
            )
        elif self.cost.upper_growths is not None:
            yield from self._iterate_recurrence_regimes()
        else:
            yield from self._iterate_cache_regimes()

    def _iterate_recurrence_regimes(self) -> Iterator[OptimalityRegime]:
        growths = find_recurrence_growths(self.cost, self.facts)
        if isinstance(growths, str):
            yield OptimalityRegime("", None, growths)
            return
        for growth in growths:
            if not is_valid_in_any_cache(self.costs, self.cost, growth, self.facts, self.scope):
                yield OptimalityRegime(growth.when, None, "its growth is unknown for caches with few lines")
                continue
            assert growth.upper is not None
            yield self._find_smallest_factor(growth.when, growth.upper, growth.facts)

    def _iterate_cache_regimes(self) -> Iterator[OptimalityRegime]:
        """Yield a regime for each upper bound by cache size, unless its factor is not smaller than the one before."""
        alternatives = self.cost.by_cache
        factors, rank = list(self.factors), len(self.factors) + 1
        # The largest caches are tried first, as the number of trials is limited; then only smaller factors than before.
        largest = [self._decide_regime_of_bound(alternative, len(factors)) for alternative in alternatives[-1:]]
        for regime in chain(
            (self._decide_regime_of_bound(alternative, rank) for alternative in alternatives[:-1]), largest
        ):
            rank_of_factor = min(rank, len(factors)) if regime.factor is None else factors.index(regime.factor)
            if rank_of_factor < rank:
                rank = rank_of_factor
                yield regime

    def _decide_regime_of_bound(self, alternative: Bound, most: int) -> OptimalityRegime:
        """Find the regime of a bound by cache, with one of the first `most` factors."""
        when = "" if alternative.where.when == "Z >= L" else alternative.where.when
        if sum(1 for value in (alternative.value, *alternative.where.needs) for _ in value.atoms_within()) > MAX_ATOMS:
            return OptimalityRegime(when, None, "its closed form is too long to compare")
        try:
            return self._find_smallest_factor(
                when, self._build_upper_growth(alternative), (*self.facts, *self._list_conditions(alternative)), most
            )
        except ArchlineError:
            return OptimalityRegime(when, None, UNDERIVED_GROWTH)

    def _list_conditions(self, alternative: Bound) -> tuple[s.Fact, ...]:
        """List the conditions of a bound by cache as facts, multiplied out if they have divisors."""
        needs = [remove_divisors(need, self.scope.facts, upper=True) for need in alternative.where.needs]
        if needs == list(alternative.where.needs):
            return alternative.where.facts
        return tuple(b.binary(">=", to_tree(need), b.ZERO) for need in needs)

    def _build_upper_growth(self, alternative: Bound) -> s.Expr:
        smooth = alternative.smooth()
        facts = self.scope.facts
        return build_upper_growth(self.costs, alternative.value if smooth is None else facts.simplify(smooth[1]), facts)

    def _find_smallest_factor(
        self, when: str, upper: s.Expr, facts: Sequence[s.Fact], most: int | None = None
    ) -> OptimalityRegime:
        """Find the smallest factor that is proved for the growth `upper`, among all factors or the first `most`."""
        assert self.least is not None
        domain = Domain(facts)
        is_within: dict[str, bool] = {}
        for factor, (_, largest) in islice(self.factors.items(), most):
            # If the largest factor of a kind is not proved, no smaller one is.
            for candidate in (largest, factor) if factor != OPTIMAL_FACTOR else (factor,):
                if is_out_of_time():
                    return OptimalityRegime(when, None, OUT_OF_TIME)
                if candidate not in is_within:
                    self._trials += 1
                    if self._trials > MAX_TRIALS:
                        return OptimalityRegime(when, None, "there are too many candidate factors")
                    is_within[candidate] = can_prove_big_o(upper, self.least, domain, self.factors[candidate][0])
                if not is_within[candidate]:
                    break
            else:
                return OptimalityRegime(when, factor)
        return OptimalityRegime(when, None, "none of the candidate factors could be proved")


def _list_candidate_factors(bound: AnyScheduleBound, sizes: Sequence[str]) -> dict[Formula, tuple[s.Expr, Formula]]:
    """List the candidate factors: 1 or L times powers of Z, then times logarithms of sizes and sizes.

    Each has the largest factor of its kind.
    """
    powers = {Fraction(0), Fraction(1, 2), Fraction(1), *(term.power for term in bound.hbl_terms)}
    ordered = sorted((power + Fraction(lines, 2), power, lines) for power in powers for lines in (0, 1))
    line = b.name("L")
    of_cache = [b.product([*[line] * lines, *list_cache_power_factors(power)]) for _, power, lines in ordered]
    kinds = [(factor, of_cache[-1]) for factor in of_cache]
    for logarithm, lines in product((True, False), (0, 1)):
        for size in map(b.name, sizes):
            whole = b.call("log2", size) if logarithm else size
            kinds.append((b.product([*[line] * lines, whole]), b.product([line, size])))
    return {Formula(factor): (factor, Formula(largest)) for factor, largest in kinds}
