"""The two witnesses: what the analysis derives is what the execution counts, over generated programs and sizes."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from archline.analysis.analyse import derive
from archline.execution.run import execute
from archline.language.loader import load_text
from derived_counts import assert_agreement
from effort import drawn
from programs import GeneratedProgram, program_from_seed, programs

PROGRAMS = drawn(150)
"""Programs a test draws; there are four such tests, so that they run side by side."""


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
    """Programs that Hypothesis draws; `test_generator.py` counts how many hold each feature."""

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
    for number in range(drawn(200)):
        program = program_from_seed(number)
        if not program.has_data_branch:
            module = load_text(program.text)
            exact.append(all(cost.exact for cost in derive(module, module.algorithms[program.entry])))
    print(f"{sum(exact)} of {len(exact)} programs without data branches are exact")
    assert sum(exact) >= 0.9 * len(exact)
