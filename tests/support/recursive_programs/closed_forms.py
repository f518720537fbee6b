"""What is derived of a generated program against its runs, and against its recurrence at sizes too large to run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from archline.analysis.analyse import derive
from archline.analysis.cost import Costs
from archline.execution.run import execute
from archline.language.loader import load_text
from archline.language.model import Module
from programs.choice import Chooser
from recursive_programs import RecursiveProgram
from recursive_programs.agreement import disagreements, executed, outside, value_or_none

RUNS = 3
FAR = (100, 257, 1024)
DEEP = ("decrease", "swap")
"""Kinds whose recursion is as deep as their sizes are large."""


def runs(
    program: RecursiveProgram, module: Module, choose: Chooser
) -> Iterator[tuple[Mapping[str, int], dict[str, int]]]:
    """Sizes and what runs at them count."""
    for number in range(RUNS):
        arguments = program.arguments(program.choose_sizes(choose), number)
        run = execute(module, module.algorithms[program.entry], arguments, compiled=False, races=number == 0)
        yield run.sizes, executed(run.counts)


def derived(program: RecursiveProgram) -> tuple[Module, Costs]:
    """The program as a module, and its costs."""
    module = load_text(program.text)
    return module, derive(module, module.algorithms[program.entry])


def wrong_costs(program: RecursiveProgram, module: Module, costs: Costs, choose: Chooser) -> Iterator[str]:
    """What is derived and runs contradict, or the recurrence at sizes too large to run."""
    for sizes, counts in runs(program, module, choose):
        yield from disagreements(costs, counts, sizes)
    if program.kind not in DEEP:
        for size in FAR:
            yield from _wrong_far(costs, program.far_sizes(size))


def _wrong_far(costs: Costs, sizes: Mapping[str, int]) -> Iterator[str]:
    for cost in (*costs, *costs.flops_by_kind.values()):
        value = value_or_none(cost, sizes)
        if value is not None and cost.lower is not None:
            yield from (f"{cost.metric}: {value} at {dict(sizes)}; {text}" for text in outside(cost, value, sizes))
