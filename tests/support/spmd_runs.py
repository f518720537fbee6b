"""Costs of programs on a grid: what is derived compared with what simulated processors count."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from archline.algebra.evaluate.exact import evaluate
from archline.analysis.analyse import derive
from archline.analysis.cost import Costs
from archline.execution.data import generate
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


def assert_between(text: str, points: Iterable[Point]) -> tuple[int, int]:
    """Every derived cost holds what a run of the last algorithm counts; how many runs there were, and were refused."""
    module = load_text(text)
    algorithm = list(module.algorithms.values())[-1]
    costs = derive(module, algorithm)
    runs = refused = 0
    for point in points:
        try:
            ran = execute(module, algorithm, generate(module, algorithm, point, seed=1), compiled=False)
        except ArchlineError:
            refused += 1
            continue
        runs += 1
        sizes = {**point, **ran.sizes}
        for cost in costs:
            if cost.lower is None or cost.upper is None:
                assert cost.reason
                continue
            lower, upper = evaluate(cost.lower, sizes), evaluate(cost.upper, sizes)
            count = counted(ran.counts, cost.metric)
            message = f"{cost.metric}: {lower} <= {count} <= {upper} at {point} in\n{text}"
            assert 0 <= lower <= count <= upper, message
            assert not cost.exact or lower == upper, message
    return runs, refused
