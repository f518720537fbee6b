"""Sizes at which an algorithm can be run: what `where` allows, and arrays of offsets can be filled for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from itertools import islice, product

from archline.algebra.evaluation import EvaluationError, evaluate
from archline.algebra.polynomial import Poly
from archline.analysis.costs import Costs
from archline.analysis.scope import Scope
from archline.language import syntax as s
from archline.language.evaluate import EvaluationError as UndefinedError
from archline.language.evaluate import evaluate_static, holds
from archline.language.model import Module

MACHINE = ("P", "Z", "L", "K")
MAX_WIDTH = 12
MAX_CANDIDATES = 20_000


def small_points(algorithm: s.Algorithm, scope: Scope, costs: Costs, ensures: s.Ensures) -> Iterator[Mapping[str, int]]:
    """Small sizes that satisfy the `where`, the `when`, and what offsets imply, smallest sums first."""
    signature = scope.module.signatures[algorithm]
    free = sorted(set().union(*(value.names for cost in costs for value in (cost.lower, cost.upper) if value)))
    facts = (*algorithm.where, *ensures.when, *_assumed(algorithm))
    machine = [name for name in MACHINE if any(name in _names(fact) for fact in facts)]
    names = list(dict.fromkeys((*costs.parameters, *free, *machine)))
    if not names:
        yield {}
        return
    width = max(2, min(MAX_WIDTH, int(MAX_CANDIDATES ** (1 / len(names)))))
    least = {**signature.at_least, **dict.fromkeys(machine, 1)}
    starts = [least.get(name, 0) for name in names]
    ranges = [range(start, start + width) for start in starts]
    candidates = sorted(islice(product(*ranges), MAX_CANDIDATES), key=lambda values: (max(values), sum(values)))
    implied = offsets_rules(scope)
    quotients = [each for each in s.nodes(algorithm.body) if isinstance(each, s.Binary) and each.op == "/"]
    calls = [each for each in s.nodes(algorithm.body) if isinstance(each, s.Call) and each in scope.module.bindings]

    # What follows stops a run, or sits in a branch that these sizes may not take.
    def divides(point: Mapping[str, int]) -> bool:
        return all(holds(s.Divides(each.right, each.left, span=each.span), point) is not False for each in quotients)

    def accepted(point: Mapping[str, int]) -> bool:
        return all(_accepts(scope.module, each, point) for each in calls)

    for values in candidates:
        point = dict(zip(names, values, strict=True))
        if all(holds(fact, point) is not False for fact in facts) and all(
            rule(point) for rule in (*implied, divides, accepted)
        ):
            yield point


def _assumed(algorithm: s.Algorithm) -> list[s.Fact]:
    """What every run must satisfy beside the `where`: the body's own `assume`, not those under a branch or loop."""
    return [fact for statement in algorithm.body if isinstance(statement, s.Assume) for fact in statement.facts]


def _accepts(module: Module, call: s.Call, point: Mapping[str, int]) -> bool:
    """Whether the sizes of a call, as far as the caller's decide them, satisfy the callee's `where`."""
    target = module.targets[call]
    assert isinstance(target, s.Algorithm)
    least = module.signatures[target].at_least
    sizes: dict[str, int] = {}
    for name, expr in module.bindings[call].items():
        try:
            sizes |= {} if expr is None else {name: evaluate_static(expr, point)}
        except UndefinedError:
            continue
    return all(size >= least.get(name, size) for name, size in sizes.items()) and all(
        holds(fact, sizes) is not False for fact in target.where
    )


def _names(node: object) -> set[str]:
    """Every name in a fact."""
    return {each.id for each in s.nodes(node) if isinstance(each, s.Name)}


def offsets_rules(scope: Scope) -> list[Callable[[Mapping[str, int]], bool]]:
    """Longest <= total <= count*longest for every offsets array, and no entries without segments to hold them."""

    def rule(low: Poly, high: Poly) -> Callable[[Mapping[str, int]], bool]:
        def check(point: Mapping[str, int]) -> bool:
            values: dict[str, int | Fraction] = dict(point)
            try:
                return evaluate(scope.facts.restore(low), values) <= evaluate(scope.facts.restore(high), values)
            except EvaluationError:
                return True

        return check

    rules = []
    for known in scope.segments.values():
        if known.longest is not None:
            rules.append(rule(known.total, known.count * known.longest))
            if known.attained:
                rules.append(rule(known.longest, known.total))
        else:
            rules.append(rule(known.total, known.count * known.total))
    return rules
