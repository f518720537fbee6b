"""A run that confirms a failure stops after some steps: loops before the failure may have billions of iterations."""

from __future__ import annotations

import pytest

import archline as al
from archline.execution.run import execute, try_run
from archline.language.diagnostics import ArchlineError
from archline.language.loader import load_text

LONG = """
algorithm main(x: inout real[n]):
    for i in 0..{count}:
        x[0] += 1.0
    x[n] = 1.0
"""


@pytest.mark.parametrize(
    ("count", "flops"), [("2^31", 2**31), ("10^9*n", "1000000000*n"), ("2^64", 2**64), ("n*2^40", "1099511627776*n")]
)
def test_costs_do_not_wait_for_a_run_that_is_long(count: str, flops: int | str, tmp_path) -> None:
    file = tmp_path / "long.algo"
    file.write_text(LONG.format(count=count))
    cost = al.algorithm(f"{file}::main").cost()["flops"]
    assert (str(cost.lower), str(cost.upper)) == (str(flops), str(flops))
    # Whether sizes are refused takes no run.
    with pytest.raises(ArchlineError, match="AL501"):
        cost.at({"n": 3})


def test_a_failure_after_a_short_loop_is_confirmed(tmp_path) -> None:
    file = tmp_path / "short.algo"
    file.write_text(LONG.format(count="1000"))
    with pytest.raises(ArchlineError, match="AL303"):
        al.algorithm(f"{file}::main").cost()


def test_a_run_on_one_processor_stops_after_its_steps() -> None:
    module = load_text(LONG.format(count="2^31"))
    main = module.algorithms["main"]
    assert try_run(module, main, {"n": 3}).rule.code == "AL528"
    with pytest.raises(ArchlineError, match="AL528"):
        execute(module, main, {"x": [0.0, 0.0]}, compiled=False, progress=False, steps=1000)
