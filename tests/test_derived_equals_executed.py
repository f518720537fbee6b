"""The two witnesses: what the analysis derives is what the execution counts, over generated programs and sizes."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from archline.algebra.evaluate.exact import evaluate
from archline.analysis.analyse import derive
from archline.analysis.cost import Costs
from archline.execution.results import Run
from archline.execution.run import execute
from archline.language.loader import load_text
from programs import GeneratedProgram, program_from_seed, programs

PROGRAMS = 500
"""Programs a test draws; there are four such tests, so that they run side by side."""


def assert_agreement(costs: Costs, run: Run, text: str) -> None:
    """Every derived count, flops by kind too, is met exactly or holds the executed one between its bounds."""
    executed = {metric: getattr(run.counts, metric) for metric in ("flops", "work", "span")}
    executed |= {f"flops.{kind}": count for kind, count in run.counts.flops_by_kind.items()}
    derived = {cost.metric: cost for cost in (*costs, *costs.flops_by_kind.values())}
    for metric, count in executed.items():
        cost = derived.get(metric)
        if cost is None:
            assert costs["flops"].status == "unknown", f"{metric} is executed but not derived in\n{text}"
            continue
        if cost.lower is None or cost.upper is None:
            assert cost.reason
            continue
        lower, upper = evaluate(cost.lower, run.sizes), evaluate(cost.upper, run.sizes)
        assert 0 <= lower <= count <= upper, f"{metric}: {lower} <= {count} <= {upper} at {run.sizes} in\n{text}"
        assert not cost.exact or lower == count == upper


def check(program: GeneratedProgram, data: st.DataObject) -> None:
    module = load_text(program.text)
    algorithm = module.algorithms[program.entry]
    costs = derive(module, algorithm)
    for number in range(2):
        sizes = data.draw(program.sizes())
        run = execute(module, algorithm, program.arguments(sizes, number), compiled=False, races=number == 0)
        assert_agreement(costs, run, program.text)


@pytest.mark.parametrize("stream", range(4))
def test_generated_programs(stream: int) -> None:
    """2,000 in all; `test_generator.py` counts how many hold each feature."""

    @seed(stream)
    @settings(
        max_examples=PROGRAMS,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(programs(), st.data())
    def agree(program: GeneratedProgram, data: st.DataObject) -> None:
        check(program, data)

    agree()


def test_nine_in_ten_without_data_branches_are_exact() -> None:
    exact = []
    for number in range(600):
        program = program_from_seed(number)
        if not program.has_data_branch:
            module = load_text(program.text)
            exact.append(all(cost.exact for cost in derive(module, module.algorithms[program.entry])))
    print(f"{sum(exact)} of {len(exact)} programs without data branches are exact")
    assert sum(exact) >= 0.9 * len(exact)
