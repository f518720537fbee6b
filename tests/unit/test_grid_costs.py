"""Costs on a grid by hand, and programs of which a bound was once wrong: runs are between the bounds."""

from __future__ import annotations

import pytest

from spmd_runs import assert_between

PROCESSORS = [{"P": p} for p in (1, 2, 3, 4, 5, 8, 11)]

# Processor t has the values 2*t, 2*t + 2 and 2*t + 4 of k: a path has P + 2 of them, one processor three.
UP = """
algorithm f() on grid(t: P):
    local x: real[3] = 0
    for k in 2*t..2*t+6 step 2:
        exchange x to (t + 1) when t + 1 < P and k >= 2*t + 2 into x from (t - 1) when t > 0 and k <= 2*t + 3
"""
DOWN = """
algorithm f() on grid(t: P):
    local x: real[3] = 0
    for k in t + 3 downto t:
        exchange x to (t - 1) when t > 0 and k <= t + 2 into x from (t + 1) when t + 1 < P and k >= t + 1
"""


@pytest.mark.parametrize("text", [UP, DOWN])
def test_a_path_goes_through_more_iterations_than_a_processor_has(text: str) -> None:
    assert assert_between(text, PROCESSORS) == (len(PROCESSORS), 0)
