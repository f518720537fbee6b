"""The growth that pages print: what `check` says of it as an `ensures` is that it holds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from archline.algebra.factors import extents
from archline.analysis.checks.sizes import at_least, guards
from archline.analysis.cost import Cost, Costs
from archline.claims.growth_of_cost import growth, theta
from archline.claims.small_sizes import may_vanish, zero_of_one_side
from archline.growth.growths import Growth
from archline.ir.declarations import declared
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError
from archline.language.model import Module
from archline.language.parser import parse_facts
from archline.records import replace


def printed_growth(module: Module, algorithm: s.Algorithm, costs: Costs, cost: Cost) -> str | None:
    """`Theta(...)`, or `O(...), Omega(...)` as far as they are known, each where neither side alone is 0."""
    scope = declared(module, algorithm)

    def agrees(order: Growth) -> bool:
        relation = "Theta" if order.tight else "Omega" if order.upper is None else "O"
        bound = order.upper or order.lower
        assert bound is not None
        with suppress(ArchlineError):
            when = parse_facts(order.when) if order.when else ()
            claim = s.Ensures(cost.metric, None, relation, bound, when, span=bound.span)
            if may_vanish(claim, costs, cost, scope, proved=True):
                return zero_of_one_side(claim, algorithm, costs, cost, scope, proved=True) is None
        return True

    def guarded(order: Growth) -> Iterator[Growth]:
        yield order
        sizes = [name for name in costs.parameters if cost.lower is not None and name in cost.lower.names]
        range_ = costs.index_range
        full = [] if range_ is None else [[f"{range_.low} < {range_.high}"]]
        for each in (*full, *(at_least(least, names) for least, names in guards(sizes) if names)):
            yield replace(order, when=" and ".join((*filter(None, (order.when,)), *each)))

    orders = growth(module, algorithm, costs, cost).orders
    form = cost.upper if cost.exact and not any(each.tight for each in orders) else None
    if form is not None and (product := extents(form)) is not None:
        # It is Theta of itself, also where it is 0.
        orders = (theta(costs.tree(form.scaled(1 / product[0]))),)
    found = (next(filter(agrees, guarded(each)), None) for each in orders)
    return ", ".join(str(each.text) for each in found if each is not None) or None
