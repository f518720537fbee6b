"""What is derived of an algorithm in sizes, for models: forms and growth, at all sizes or where more facts hold."""

from __future__ import annotations

from functools import cached_property

from archline.analysis.cache.chosen_regimes import select_regimes
from archline.analysis.cost import Cost, Costs
from archline.claims.growth_claims import growth_text, shown_growth
from archline.claims.growth_forms import is_at_least
from archline.claims.growth_of_cost import growth_of as growth_in_sizes
from archline.claims.growth_of_cost import growth_of_cost as growth_of
from archline.claims.io_growth import above_one, io_growth_lower_bound, per_line
from archline.costs.derived import DerivedCosts
from archline.energy.quantities import PER_LEVEL
from archline.energy.results import Ends, SymbolicMetric
from archline.expr import build as b
from archline.expr.build import ZERO
from archline.growth.growths import Growth
from archline.growth.short_forms import short_form, short_growth
from archline.ir.declarations import declared_scope
from archline.language import syntax as s
from archline.language.metrics import OF_CACHE, ON_REQUEST
from archline.language.substitution import facts_in_sizes
from archline.records import record

FACTOR = 16
"""Exact costs of the same order are within this factor of each other, or compared by their growths."""


@record(eq=False)
class InSizes:
    """An algorithm and its costs as functions of the sizes, valid under its own facts and the facts `when`.

    With `shorten`, long forms are shown by their leading terms.
    """

    derived: DerivedCosts
    when: tuple[s.Fact, ...] = ()
    shorten: bool = False

    @property
    def costs(self) -> Costs:
        """What its growth is found by; on a grid several processors wide without io, which no model takes."""
        return self.derived.without_io if self.when else self.derived.costs

    @cached_property
    def where(self) -> tuple[s.Fact, ...]:
        """All facts of the sizes; on a grid in sizes alone, where these say how many processors it has."""
        return facts_in_sizes(self.derived.node)

    def ratio(self, other: InSizes, metric: str) -> str | None:
        """That a metric is proved to be that of another algorithm ("1"), or that up to a constant factor ("Theta(1)").

        At all sizes that both allow.
        """
        one, two = self.derived.cost(metric), other.derived.cost(metric)
        if not one.exact or not two.exact or one.upper is None or two.upper is None:
            return None
        facts, mine, its = declared_scope(self.derived.module, self.derived.node).facts, one.upper, two.upper
        for times, known in ((1, "1"), (FACTOR, "Theta(1)")):
            if is_at_least(its * times, mine, facts) and is_at_least(mine * times, its, facts):
                return known
        return None

    def growth(self, metric: str) -> Growth:
        """How a metric grows, under the facts of the sizes and those that its growth depends on."""
        if metric in PER_LEVEL:
            # Of a cache of one size, which nothing is said of in sizes.
            return Growth(None, None)
        cost = self.derived.cost(metric)
        if cost.upper is not None and not cost.upper:
            return Growth(ZERO, ZERO, self.where)
        found = growth_of(self.derived.module, self.derived.node, self.costs, cost)
        if self.derived.node.grid and found.tight is not None and found.tight.tight:
            return Growth(found.tight.upper, found.tight.upper, (*self.where, *found.tight.where))
        if not found.under:
            return Growth(found.lower if found.known else self._lower(cost, found.lower), found.upper, self.where)
        if len(found.under) > 1:
            return Growth(None, None, self.where)
        (only,) = found.under
        return Growth(only.upper if only.tight else self._lower(cost, None), only.upper, (*self.where, *only.where))

    def _lower(self, cost: Cost, lower: s.Expr | None) -> s.Expr | None:
        """What a cost is Omega of; io also by the lower bound for any schedule."""
        found = cost.orderless
        if found is None:
            return lower
        known = declared_scope(self.derived.module, self.derived.node).facts
        sizes = self.derived.module.signatures[self.derived.node].size_names
        if lower is None:
            # A bound that holds from sizes of 2 on is no claim about all sizes.
            return io_growth_lower_bound(self.costs, cost, known) if not above_one(found, sizes, known) else None
        floors = {each.power: each.iterations for each in found.floors if each.power}
        counts = (
            (growth_in_sizes(self.costs, each, sizes, self.where, known), power) for power, each in floors.items()
        )
        return b.total((False, each) for each in (lower, *(per_line(count, power) for count, power in counts if count)))

    def symbolic(self, metric: str) -> SymbolicMetric:
        """A metric in sizes."""
        if metric in ("Z", "L"):
            return SymbolicMetric(metric, "given", Ends(metric, metric), ends=(b.name(metric),) * 2)
        cost, write = self.derived.cost(metric), self.derived.write
        counted = metric in ON_REQUEST and metric not in OF_CACHE
        orders = () if counted else shown_growth(self.derived.module, self.derived.node, self.costs, cost)
        growth = growth_text(orders)
        if cost.lower is None or cost.upper is None:
            return SymbolicMetric(metric, "unknown", None, growth=growth, reason=cost.reason or "")
        regimes, few = (
            tuple((bound.where.when, write(bound.value)) for bound in bounds)
            for bounds in (cost.by_cache, select_regimes(cost.by_cache))
        )
        growth = short_growth(growth) if growth is not None and self.shorten else growth
        bounds = Ends(write(cost.lower), write(cost.upper))
        short = Ends(short_form(cost.lower, write), short_form(cost.upper, write)) if self.shorten else None
        lower = self.derived.costs.tree(cost.lower)
        ends = lower, lower if cost.exact else self.derived.costs.tree(cost.upper)
        return SymbolicMetric(metric, cost.status, bounds, regimes, few, growth, short=short, ends=ends)
