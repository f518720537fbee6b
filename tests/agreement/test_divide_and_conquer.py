"""Generated divide-and-conquer programs: what is derived of a recursion holds what its runs count."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from archline.analysis.metrics.derivation import Derivation
from archline.execution.run import execute
from archline.expr.intervals import EvaluationError
from archline.language import syntax as s
from archline.language.call_graph import find_recursive_component
from archline.language.loader import load_text
from archline.language.model import Module
from archline.recurrences.evaluate import ValueTable
from archline.recurrences.model import RecurrenceSystem, SizeFunction
from effort import drawn
from programs.choice import Chooser, Drawn, Seeded
from recursive_programs import KINDS, RecursiveProgram, recursive_program_from_seed, recursive_programs
from recursive_programs.closed_forms import derived, runs, wrong_costs

PROGRAMS, STREAMS = drawn(200), 4
CLOSED = 1
"""Programs of each kind whose closed forms are derived, which takes longer."""


Recurrence = Callable[[Mapping[str, int]], Fraction]


def recurrences(module: Module, algorithm: s.Algorithm) -> dict[str, Recurrence]:
    """By metric, the count that the extracted equations give; none of what the data decides."""
    recursions = Derivation(module, coarse=False).recursions
    extracted = {
        each: recursions.extract_systems(each)
        for each in module.algorithms.values()
        if find_recursive_component(module, each)
    }
    found: dict[str, Recurrence] = {}
    for metric, system in extracted[algorithm].systems.items():
        if isinstance(system, RecurrenceSystem) and system.exact:
            functions: dict[str, SizeFunction] = {}
            for each in extracted.values():
                other = each.systems.get(metric)
                functions |= other.functions if isinstance(other, RecurrenceSystem) else {}
            (name,) = system.functions
            found[metric] = _recurrence(ValueTable(functions), name, 0 if metric.startswith("flops") else 1)
    return found


def _recurrence(values: ValueTable, name: str, more: int) -> Recurrence:
    return lambda sizes: values.evaluate_at(name, sizes) + more


def wrong_recurrences(program: RecursiveProgram, choose: Chooser) -> Iterator[str]:
    """What equations give and runs contradict."""
    module = load_text(program.text)
    found = recurrences(module, module.algorithms[program.entry])
    for sizes, counts in runs(program, module, choose):
        for metric, recurrence in found.items():
            try:
                value, count = recurrence(sizes), counts.get(metric, 0)
            except EvaluationError:
                # Refused: a guarded call of an inlined body inside a max, whose sizes are none where the guard fails.
                continue
            if value != count:
                yield f"{metric}: {count} executed at {dict(sizes)}, the recurrence gives {value}"


@pytest.mark.parametrize("stream", range(STREAMS))
def test_recurrences_give_what_runs_count(stream: int) -> None:
    for number in range(stream, PROGRAMS, STREAMS):
        program = recursive_program_from_seed(number)
        assert not list(wrong_recurrences(program, Seeded(number))), f"program {number}\n{program.text}"


@seed(0)
@settings(
    max_examples=drawn(50),
    deadline=None,
    database=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)
@given(recursive_programs(), st.data())
def test_recurrences_of_drawn_programs(program: RecursiveProgram, data: st.DataObject) -> None:
    """The same with programs and sizes that Hypothesis draws, so that a failing one shrinks."""
    assert not list(wrong_recurrences(program, Drawn(data.draw))), program.text


@pytest.mark.parametrize("kind", KINDS)
def test_closed_forms_hold_what_runs_count(kind: str) -> None:
    for number in range(CLOSED):
        program = recursive_program_from_seed(number, kind)
        wrong = wrong_costs(program, *derived(program), Seeded(number))
        assert not list(wrong), f"program {number}\n{program.text}"


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_checks_and_runs(kind: str) -> None:
    """Programs of each kind pass the checker, end, and touch nothing at once that another strand writes."""
    for number in range(6):
        program = recursive_program_from_seed(number, kind)
        module = load_text(program.text)
        run = execute(
            module,
            module.algorithms[program.entry],
            program.arguments(program.choose_sizes(Seeded(number))),
            compiled=False,
        )
        assert run.counts.work >= run.counts.span >= 1
