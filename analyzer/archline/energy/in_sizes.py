"""Give the costs of an algorithm in sizes to models, as forms and growths: at all sizes or under more facts."""

from __future__ import annotations

from functools import cached_property

from archline.analysis.cache.chosen_regimes import select_regimes
from archline.analysis.cost import Cost, Costs
from archline.claims.growth_claims import format_growths, select_shown_growths
from archline.cost_growth.any_schedule import (
    build_hbl_growth,
    find_any_schedule_growth,
    list_facts_above_one,
    sum_hbl_iterations,
)
from archline.cost_growth.forms import is_at_least
from archline.cost_growth.growth_of_cost import derive_cost_growth as growth_of
from archline.cost_growth.growth_of_cost import derive_theta as growth_in_sizes
from archline.costs.derived import DerivedCosts
from archline.energy.quantities import PER_LEVEL
from archline.energy.results import SymbolicMetric, TextBounds
from archline.expr import build as b
from archline.expr.build import ZERO
from archline.growth.growths import Growth
from archline.growth.short_forms import shorten_form, shorten_growth
from archline.ir.declarations import declared_scope
from archline.language import syntax as s
from archline.language.metrics import OF_CACHE, ON_REQUEST
from archline.language.substitution import express_facts_in_sizes
from archline.records import record

SAME_GROWTH_FACTOR = 16
"""Two exact costs have the same growth if each is at most this factor times the other at all sizes."""


@record(eq=False)
class CostsInSizes:
    """An algorithm and its costs as functions of the sizes, valid under its own facts and the facts `when`.

    With `shorten`, long forms are shown by their leading terms.
    """

    derived: DerivedCosts
    when: tuple[s.Fact, ...] = ()
    shorten: bool = False

    @property
    def costs(self) -> Costs:
        """The costs that growths are derived from; without io if facts are added, as no model on a grid needs io."""
        return self.derived.without_io if self.when else self.derived.costs

    @cached_property
    def where(self) -> tuple[s.Fact, ...]:
        """All facts about the sizes; facts of a grid are without P if the sizes determine the number of processors."""
        return express_facts_in_sizes(self.derived.node)

    def prove_ratio(self, other: CostsInSizes, metric: str) -> str | None:
        """Return "1" if a metric is proved equal for both algorithms, "Theta(1)" if up to a constant factor, else None.

        The proof holds for all sizes that both algorithms allow.
        """
        first, second = self.derived.cost(metric), other.derived.cost(metric)
        if not first.exact or not second.exact or first.upper is None or second.upper is None:
            return None
        facts, form, other_form = (
            declared_scope(self.derived.module, self.derived.node).facts,
            first.upper,
            second.upper,
        )
        for times, relation in ((1, "1"), (SAME_GROWTH_FACTOR, "Theta(1)")):
            if is_at_least(other_form * times, form, facts) and is_at_least(form * times, other_form, facts):
                return relation
        return None

    def growth(self, metric: str) -> Growth:
        """Return bounds on the growth of a metric, with the facts under which they hold."""
        if metric in PER_LEVEL:
            # The misses of a level are those of a cache of one size, and have no form in sizes.
            return Growth(None, None)
        cost = self.derived.cost(metric)
        if cost.upper is not None and not cost.upper:
            return Growth(ZERO, ZERO, self.where)
        form = growth_of(self.derived.module, self.derived.node, self.costs, cost)
        if self.derived.node.grid and form.tight is not None and form.tight.tight:
            return Growth(form.tight.upper, form.tight.upper, (*self.where, *form.tight.where))
        if not form.under:
            return Growth(
                form.lower if form.is_theta else self._bound_growth_from_below(cost, form.lower), form.upper, self.where
            )
        if len(form.under) > 1:
            return Growth(None, None, self.where)
        (only,) = form.under
        return Growth(
            only.upper if only.tight else self._bound_growth_from_below(cost, None),
            only.upper,
            (*self.where, *only.where),
        )

    def _bound_growth_from_below(self, cost: Cost, lower: s.Expr | None) -> s.Expr | None:
        """Return a lower bound on the growth of a cost: `lower` plus, for io, the lower bound for any schedule.

        None if neither is known, or if `lower` is None and the bound for any schedule needs sizes of at least 2.
        """
        lower_bound = cost.any_schedule_bound
        if lower_bound is None:
            return lower
        facts = declared_scope(self.derived.module, self.derived.node).facts
        sizes = self.derived.module.signatures[self.derived.node].size_names
        if lower is None:
            # A bound that holds only from sizes of 2 on is not one for all sizes.
            return (
                find_any_schedule_growth(self.costs, cost, facts)
                if not list_facts_above_one(lower_bound, sizes, facts)
                else None
            )
        counts = (
            (growth_in_sizes(self.costs, iterations, sizes, self.where, facts), power)
            for power, iterations in sum_hbl_iterations(lower_bound).items()
        )
        return b.sum_terms(
            (False, term) for term in (lower, *(build_hbl_growth(count, power) for count, power in counts if count))
        )

    def make_symbolic_metric(self, metric: str) -> SymbolicMetric:
        if metric in ("Z", "L"):
            return SymbolicMetric(metric, "given", TextBounds(metric, metric), ends=(b.name(metric),) * 2)
        cost, write = self.derived.cost(metric), self.derived.write
        counted = metric in ON_REQUEST and metric not in OF_CACHE
        orders = () if counted else select_shown_growths(self.derived.module, self.derived.node, self.costs, cost)
        growth = format_growths(orders)
        if cost.lower is None or cost.upper is None:
            return SymbolicMetric(metric, "unknown", None, growth=growth, reason=cost.reason or "")
        regimes, selected = (
            tuple((bound.where.when, write(bound.value)) for bound in bounds)
            for bounds in (cost.by_cache, select_regimes(cost.by_cache))
        )
        growth = shorten_growth(growth) if growth is not None and self.shorten else growth
        bounds = TextBounds(write(cost.lower), write(cost.upper))
        short = TextBounds(shorten_form(cost.lower, write), shorten_form(cost.upper, write)) if self.shorten else None
        lower = self.derived.costs.tree(cost.lower)
        ends = lower, lower if cost.exact else self.derived.costs.tree(cost.upper)
        return SymbolicMetric(metric, cost.status, bounds, regimes, selected, growth, short=short, ends=ends)
