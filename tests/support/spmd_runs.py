"""Costs of programs on a grid: what is derived compared with what simulated processors count."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from archline.algebra.evaluate.exact import evaluate
from archline.analysis.analyse import derive
from archline.analysis.cost import Costs, enclose_cost
from archline.execution.data import generate_arguments
from archline.execution.results import RunCounts
from archline.execution.run import execute
from archline.language.diagnostics import ArchlineError
from archline.language.loader import load_text

Point = Mapping[str, int]


def costs_of(text: str) -> Costs:
    """The derived costs of the last algorithm of a program."""
    module = load_text(text)
    return derive(module, list(module.algorithms.values())[-1])


def counted(counts: RunCounts, metric: str) -> int:
    """A metric of a run."""
    return counts.communication[metric] if metric in counts.communication else getattr(counts, metric)


def assert_holds(costs: Costs, counts: RunCounts, sizes: Point, text: str) -> tuple[int, int]:
    """Derived costs, in closed form and at sizes, hold what a run counts; how many do, and how many are unknown."""
    number = unknown = 0
    for cost in costs:
        if cost.lower is None or cost.upper is None:
            assert cost.reason
            unknown += 1
            continue
        lower, upper = evaluate(cost.lower, sizes), evaluate(cost.upper, sizes)
        count = counted(counts, cost.metric)
        message = f"{cost.metric}: {lower} <= {count} <= {upper} at {sizes} in\n{text}"
        assert 0 <= lower <= count <= upper, message
        assert not cost.exact or lower == upper, message
        least, most = enclose_cost(cost, sizes).ends
        assert least <= count <= most, f"{least}, {most}: {message}"
        number += 1
    return number, unknown


def assert_between(text: str, points: Iterable[Point]) -> tuple[int, int]:
    """Every derived cost holds what a run of the last algorithm counts; how many runs there were, and were refused."""
    module = load_text(text)
    algorithm = list(module.algorithms.values())[-1]
    costs = derive(module, algorithm)
    runs = refused = 0
    for point in points:
        try:
            ran = execute(module, algorithm, generate_arguments(module, algorithm, point, seed=1), compiled=False)
        except ArchlineError:
            refused += 1
            continue
        runs += 1
        assert_holds(costs, ran.counts, {**point, **ran.sizes}, text)
    return runs, refused
