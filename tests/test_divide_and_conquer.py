"""Generated divide-and-conquer programs: what is derived of a recursion holds what its runs count."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from archline.analysis.analyse import derive
from archline.analysis.costs import Costs
from archline.execution.run import execute
from archline.language.loader import load_text
from programs.choice import Chooser, Drawn, Seeded
from recursive_programs import KINDS, RecursiveProgram, recursive_program_from_seed, recursive_programs
from recursive_programs.agreement import disagreements, executed, outside, value_or_none

PROGRAMS = 500
STREAMS = 20
RUNS = 3
FAR = (100, 257, 1024)
DEEP = ("decrease", "swap")
"""Kinds whose recursion is as deep as their sizes are large."""


def derived(program: RecursiveProgram) -> Costs:
    module = load_text(program.text)
    return derive(module, module.algorithms[program.entry])


def wrong(program: RecursiveProgram, costs: Costs, choose: Chooser) -> Iterator[str]:
    """What runs contradict, and the closed bounds that the recurrence is outside of at sizes too large to run."""
    module = load_text(program.text)
    for number in range(RUNS):
        sizes = program.choose_sizes(choose)
        arguments = program.arguments(sizes, number)
        run = execute(module, module.algorithms[program.entry], arguments, compiled=False, races=number == 0)
        yield from disagreements(costs, executed(run.counts), sizes)
    if program.kind not in DEEP:
        for size in FAR:
            yield from _wrong_far(costs, program.far_sizes(size))


def _wrong_far(costs: Costs, sizes: Mapping[str, int]) -> Iterator[str]:
    for cost in (*costs, *costs.flops_by_kind.values()):
        value = value_or_none(cost, sizes)
        if value is not None and cost.lower is not None:
            yield from (f"{cost.metric}: {value} at {dict(sizes)}; {text}" for text in outside(cost, value, sizes))


@pytest.mark.parametrize("stream", range(STREAMS))
def test_generated_programs(stream: int) -> None:
    for number in range(stream, PROGRAMS, STREAMS):
        program = recursive_program_from_seed(number)
        assert not list(wrong(program, derived(program), Seeded(number))), f"program {number}\n{program.text}"


@seed(0)
@settings(
    max_examples=20,
    deadline=None,
    database=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)
@given(recursive_programs(), st.data())
def test_drawn_programs(program: RecursiveProgram, data: st.DataObject) -> None:
    """The same with programs and sizes that Hypothesis draws, so that a failing one shrinks."""
    assert not list(wrong(program, derived(program), Drawn(data.draw))), program.text


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_checks_and_runs(kind: str) -> None:
    """Programs of each kind pass the checker, end, and touch nothing at once that another strand writes."""
    for number in range(12):
        program = recursive_program_from_seed(number, kind)
        module = load_text(program.text)
        assert module.algorithms.keys() >= {program.entry}
        sizes = program.choose_sizes(Seeded(number))
        run = execute(module, module.algorithms[program.entry], program.arguments(sizes), compiled=False)
        assert run.counts.work >= run.counts.span >= 1
