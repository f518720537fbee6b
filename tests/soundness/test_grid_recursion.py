"""Generated recursive programs on a grid: what is derived of them holds what runs count."""

from __future__ import annotations

from collections import Counter

import pytest

from archline.algebra.evaluate.exact import evaluate
from archline.analysis.analyse import derive
from archline.analysis.cost import ends_at
from archline.execution.data import generate
from archline.execution.run import execute
from archline.language.loader import load_text
from effort import drawn
from programs.spmd_recursion import Recursive, recursion_from_seed
from spmd_runs import counted

PROGRAMS_DRAWN = drawn(240)
PART = 6
"""So many programs are one test."""
FEATURES = ("count", "all", "gather", "scatter", "shift", "reduce", "broadcast", "twice", "whole group", "rows")


def compared(program: Recursive) -> tuple[int, int]:
    """The number of counts that were compared with derived bounds, and of costs that were unknown."""
    module = load_text(program.text)
    number = unknown = 0
    for algorithm in module.algorithms.values():
        costs = derive(module, algorithm)
        if algorithm is not list(module.algorithms.values())[-1]:
            continue
        for point in program.points:
            ran = execute(module, algorithm, generate(module, algorithm, point, seed=1), compiled=False)
            sizes = {**point, **ran.sizes}
            for cost in costs:
                if cost.lower is None or cost.upper is None:
                    assert cost.reason
                    unknown += 1
                    continue
                count = counted(ran.counts, cost.metric)
                message = f"{cost.metric}: {count} at {point} in\n{program.text}"
                lower, upper = evaluate(cost.lower, sizes), evaluate(cost.upper, sizes)
                assert 0 <= lower <= count <= upper, f"{lower}, {upper}: {message}"
                assert not cost.exact or lower == upper, message
                least, most = ends_at(cost, sizes)
                assert least <= count <= most, f"{least}, {most}: {message}"
                number += 1
    return number, unknown


@pytest.mark.parametrize("part", range(-(-PROGRAMS_DRAWN // PART)))
def test_runs_are_between_the_bounds(part: int) -> None:
    number = unknown = 0
    for seed in range(part * PART, min((part + 1) * PART, PROGRAMS_DRAWN)):
        held, missing = compared(recursion_from_seed(seed))
        number, unknown = number + held, unknown + missing
    assert 2 * number > unknown, f"{unknown} of {number + unknown} costs are unknown"


def test_programs_use_every_form() -> None:
    found: Counter[str] = Counter()
    for seed in range(200):
        found.update(recursion_from_seed(seed).features)
    assert {feature: found[feature] for feature in FEATURES if found[feature] < 8} == {}
