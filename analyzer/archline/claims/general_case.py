"""The case of interest of an algorithm on a grid: several processors along every axis.

Where an axis has one processor nothing moves along it, which forms for all sizes say too: `min(g, 2) - 1` where g >= 2
leaves 1.
"""

from __future__ import annotations

from archline.algebra.polynomial import ZERO, Poly
from archline.analysis.analyse import derive, derive_with_longest, steps_on_grid
from archline.analysis.communication.path_steps import PathStep
from archline.analysis.cost import Cost, Costs
from archline.analysis.sampling import assumed
from archline.claims.by_cases import is_long
from archline.expr.text import format_expression
from archline.growth.log_domain import Domain
from archline.ir.declarations import declared
from archline.ir.recursive import inherited
from archline.ir.scope import known_value
from archline.language import model
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError
from archline.language.extra_facts import with_where
from archline.language.parser import parse_facts
from archline.language.substitution import facts_in_sizes
from archline.records import record, replace


@record(eq=False)
class GeneralCase:
    """An algorithm under the facts `when`, and its costs there; a message has `longest` words at most, if not any."""

    module: model.Module
    node: s.Algorithm
    when: tuple[str, ...]
    costs: Costs
    longest: Poly | None = None

    @property
    def steps(self) -> tuple[PathStep, ...]:
        """What each statement adds."""
        return steps_on_grid(self.module, self.node, self.longest)


def general_case(module: model.Module, node: s.Algorithm, costs: Costs, longest: Poly | None) -> GeneralCase:
    """Where every axis has two processors at least; all sizes, where that is so anyway, or cannot be."""
    when = _several(module, node)
    everywhere = GeneralCase(module, node, (), costs, longest)
    if not when or is_long(module, node):
        return everywhere
    try:
        facts = parse_facts(", ".join(when), "where")
        narrowed, own = with_where(module, node, facts)
        Domain((*facts_in_sizes(own), *assumed(own)))
    except ArchlineError:
        # There are no such sizes.
        return everywhere
    if inherited(module, node, facts) != facts:
        # The calls that it makes of itself may have axes of one processor.
        return everywhere
    found = derive(narrowed, own) if longest is None else derive_with_longest(narrowed, own)
    if any(each.upper is None and costs[each.metric].upper is not None for each in found):
        return everywhere
    metrics = {each.metric: _sharper(each, costs[each.metric]) for each in found}
    return GeneralCase(narrowed, own, when, replace(costs, metrics={**costs.metrics, **metrics}), longest)


def _several(module: model.Module, node: s.Algorithm) -> tuple[str, ...]:
    """That an axis has several processors, of the axes where that is neither known nor excluded."""
    scope = declared(module, node)
    found = []
    for axis in node.grid:
        extent = known_value(axis.extent, scope)
        if extent is None:
            return ()
        if not scope.facts.nonnegative(extent - 2) and not scope.facts.nonnegative(1 - extent):
            found.append(f"{format_expression(axis.extent)} >= 2")
    return tuple(dict.fromkeys(found))


def _sharper(found: Cost, everywhere: Cost) -> Cost:
    """The cost in the case, unless that for all sizes is exact and it is not."""
    return everywhere if everywhere.exact and not found.exact else found


def is_shorter(case: GeneralCase, costs: Costs) -> bool:
    """Whether the forms of the case are shorter than those for all sizes."""
    return sum(_length(case.costs, each) for each in case.costs) < sum(_length(costs, each) for each in costs)


def _length(costs: Costs, cost: Cost) -> int:
    return sum(len(costs.text(each)) for each in (cost.lower or ZERO, cost.upper or ZERO))
