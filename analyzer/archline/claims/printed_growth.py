"""The growth that pages print: what `check` says of it as an `ensures` is that it holds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from archline.algebra.factors import extents
from archline.analysis.checks.sizes import at_least, guards
from archline.analysis.cost import Cost, Costs
from archline.claims.growth_of_cost import GrowthBound, growth
from archline.claims.small_sizes import may_vanish, zero_of_one_side
from archline.ir.declarations import declared
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError
from archline.language.model import Module
from archline.language.parser import parse_expression, parse_facts
from archline.records import replace


def printed_growth(module: Module, algorithm: s.Algorithm, costs: Costs, cost: Cost) -> str | None:
    """`Theta(...)`, or `O(...), Omega(...)` as far as they are known, each where neither side alone is 0."""
    scope = declared(module, algorithm)

    def agrees(order: GrowthBound) -> bool:
        with suppress(ArchlineError):
            bound, when = parse_expression(order.growth), parse_facts(order.condition) if order.condition else ()
            claim = s.Ensures(cost.metric, None, order.relation, bound, when, span=bound.span)
            if may_vanish(claim, costs, cost, scope, proved=True):
                return zero_of_one_side(claim, algorithm, costs, cost, scope, proved=True) is None
        return True

    def guarded(order: GrowthBound) -> Iterator[GrowthBound]:
        yield order
        sizes = [name for name in costs.parameters if cost.lower is not None and name in cost.lower.names]
        range_ = costs.index_range
        full = [] if range_ is None else [[f"{range_.low} < {range_.high}"]]
        for each in (*full, *(at_least(least, names) for least, names in guards(sizes) if names)):
            yield replace(order, condition=" and ".join((*filter(None, (order.condition,)), *each)))

    orders = growth(module, algorithm, costs, cost).orders
    form = cost.upper if cost.exact and not any(each.tight for each in orders) else None
    if form is not None and (product := extents(form)) is not None:
        # It is Theta of itself, also where it is 0.
        orders = (GrowthBound("Theta", costs.text(form.scaled(1 / product[0]))),)
    found = (next(filter(agrees, guarded(each)), None) for each in orders)
    return ", ".join(each.text for each in found if each is not None) or None
