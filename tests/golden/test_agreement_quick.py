"""A share of the generated programs that runs in seconds: derived counts are the executed ones."""

import pytest

from archline.analysis.analyse import derive
from archline.execution.run import execute
from archline.language.loader import load_text
from derived_counts import assert_agreement
from programs import program_from_seed
from programs.choice import Seeded

PROGRAMS = 60


@pytest.mark.parametrize("first", range(0, PROGRAMS, 10))
def test_agreement(first: int) -> None:
    for number in range(first, first + 10):
        program = program_from_seed(number)
        module = load_text(program.text)
        algorithm = module.algorithms[program.entry]
        costs = derive(module, algorithm)
        for each in range(2):
            sizes = program.choose_sizes(Seeded(number + PROGRAMS * each))
            arguments = program.arguments(sizes, each)
            assert_agreement(costs, execute(module, algorithm, arguments, compiled=False), program.text)
