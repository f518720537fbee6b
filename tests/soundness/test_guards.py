"""Generated programs with guards: what is derived holds what runs count, and is no wider than without the guard."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from archline.algebra.evaluate.exact import evaluate
from archline.analysis.analyse import derive
from archline.analysis.cost import Costs
from archline.execution.data import generate_arguments
from archline.execution.run import execute
from archline.language import syntax as s
from archline.language.loader import load_text
from archline.language.model import Module
from effort import all_of
from guard_programs import ALWAYS, NEVER, GuardedProgram, guarded_program_from_seed

POINTS = ((1, 1, 1), (2, 1, 2), (3, 2, 1), (4, 3, 2), (5, 5, 1), (6, 2, 3), (8, 7, 2), (7, 8, 2))


def _derived(text: str) -> tuple[Module, s.Algorithm, Costs]:
    module = load_text(text)
    (algorithm,) = module.algorithms.values()
    return module, algorithm, derive(module, algorithm)


def check_guards(program: GuardedProgram) -> int:
    """The number of counts that were compared."""
    module, algorithm, costs = _derived(program.guarded)
    with_all, without = _derived(program.taken(ALWAYS))[2], _derived(program.taken(NEVER))[2]
    metrics = ("flops", "work", "words", "messages") if program.on_grid else ("flops", "work", "span")
    compared = 0
    for values in POINTS:
        at = dict(zip(program.sizes, values, strict=False))
        run = execute(module, algorithm, generate_arguments(module, algorithm, at, seed=1), compiled=False)
        for metric in metrics:
            cost, ends = costs[metric], [with_all[metric], without[metric]]
            assert cost.lower is not None, (metric, cost.reason, program.guarded)
            lower, upper = evaluate(cost.lower, run.sizes), evaluate(cost.upper, run.sizes)
            where = (metric, at, lower, upper, program.guarded)
            assert lower <= getattr(run.counts, metric) <= upper, where
            # With an `else` branch the program that never takes the other one may be the dearer.
            assert upper <= max(evaluate(each.upper, run.sizes) for each in ends if each.upper is not None), where
            assert lower >= min(evaluate(each.lower, run.sizes) for each in ends if each.lower is not None), where
            compared += 1
    return compared


@settings(max_examples=all_of(300, 75), deadline=None)
@given(st.integers(0, 1_000_000))
def test_guards_make_no_bound_worse(seed):
    assert check_guards(guarded_program_from_seed(seed))


# Programs that an earlier analysis bounded worse than without their guards, or not at all
FOUND = (5, 119, 800, 1016, 2038, 2118)


def test_seeds_that_were_wider():
    for seed in FOUND:
        assert check_guards(guarded_program_from_seed(seed))
