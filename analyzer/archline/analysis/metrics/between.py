"""Relations between metrics that the cost rules imply: flops and span never exceed work.

What counts as a flop counts as work. A parallel loop of t iterations adds ceil(log2 t) to the span, but t to the work,
and ceil(log2 t) + max(1 + body) is at most the sum of all 1 + body. Only a declared span escapes this.
"""

from __future__ import annotations

from dataclasses import replace

from archline.algebra.facts import Facts
from archline.algebra.polynomial import Poly
from archline.algebra.prove.residues import never_negative
from archline.analysis.cost import Cost, Costs
from archline.language import syntax as s
from archline.language.call_graph import declared_costs, reachable
from archline.language.metrics import METRICS
from archline.language.model import Module


def related(costs: Costs, module: Module, algorithm: s.Algorithm, facts: Facts) -> Costs:
    """The costs, each bounded by the others: work from below, flops and span from above."""
    metrics = dict(costs.metrics)
    for name, cost in costs.metrics.items():
        limit = METRICS[name].at_most
        if limit is not None and limit in costs.metrics and not may_exceed(name, module, algorithm):
            metrics[name] = _at_most(cost, costs[limit], facts)
            metrics[limit] = _at_least(metrics[limit], cost, facts)
    kinds = {kind: _at_most(each, metrics["flops"], facts) for kind, each in costs.flops_by_kind.items()}
    return replace(costs, metrics=metrics, flops_by_kind=kinds)


def may_exceed(metric: str, module: Module, algorithm: s.Algorithm) -> bool:
    """Whether `costs` of the algorithm, or of what it calls, declare a metric apart from the one that limits it."""
    known = METRICS.get(metric)
    if known is None or known.at_most in known.within:
        return False
    bodies = tuple(each.body for each in (algorithm, *reachable(module, algorithm)))
    return any(each == metric for _, _, each in declared_costs(module, bodies))


def _at_most(cost: Cost, limit: Cost, facts: Facts) -> Cost:
    """The cost with the upper bound of one it never exceeds: as an expression where proved smaller, and at sizes."""
    if cost.exact or cost.upper is None or limit.upper is None:
        return cost
    upper = limit.upper if not cost.regimes and _proved(cost.upper - limit.upper, facts) else cost.upper
    return _settled(replace(cost, upper=upper, at_most=(*cost.at_most, limit)))


def _at_least(cost: Cost, limit: Cost, facts: Facts) -> Cost:
    """The cost with the lower bound of one that never exceeds it, likewise."""
    if cost.exact or cost.lower is None or limit.lower is None:
        return cost
    lower = limit.lower if not cost.regimes and _proved(limit.lower - cost.lower, facts) else cost.lower
    return _settled(replace(cost, lower=lower, at_least=(*cost.at_least, limit)))


def _settled(cost: Cost) -> Cost:
    """The cost, exact where its bounds have become the same."""
    return replace(cost, status="exact") if cost.exact and cost.status == "bounded" else cost


def _proved(difference: Poly, facts: Facts) -> bool:
    return never_negative(difference.substitute(facts.rewrites), facts)
