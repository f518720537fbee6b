"""Paths that a message takes out of a branch or a loop: what was done before it, and what is done after, by hand."""

from __future__ import annotations

import pytest

import archline as al

CHAIN = """
algorithm chain(x: inout local real[n]) on grid(r: P):
    "Each adds 1 to what it is handed, and hands it on."
    if r > 0:
        receive x from (r - 1)
    x[0] += 1.0
    if r + 1 < P:
        send x to (r + 1)
"""
PIPELINE = """
algorithm pipeline(X: real[n], Y: out real[P]) on grid(r: P):
    "Each of n numbers passes through all processors."
    local a: real = 0.0
    local sum: real = 0.0
    for t in 0..n:
        if r > 0:
            receive a from (r - 1)
        else:
            input a = X[t]
        sum += a
        if r + 1 < P:
            send a to (r + 1)
    output Y[r] = sum
"""
NESTED = """
algorithm nested(x: inout local real[n]) on grid(r: P):
    "The same in a loop around, and in a branch."
    for t in 0..2:
        x[0] += 1.0
        if n >= 1:
            x[0] += 1.0
            if r > 0:
                receive x from (r - 1)
            x[0] += 1.0
            if r + 1 < P:
                send x to (r + 1)
"""


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("processors", [1, 2, 4, 7])
def test_what_each_adds_to_a_chain_is_one_path(processors: int, compiled: bool) -> None:
    found = al.loads(CHAIN)["chain"].run(n=3, P=processors, compiled=compiled).counts
    # One call; then on each processor two tests and the addition, of which the last test is behind the message.
    assert found.flops == processors
    assert found.work == 1 + 2 * processors + 1
    assert found.words == 3 * (processors - 1)


@pytest.mark.parametrize(("n", "processors"), [(3, 4), (5, 3), (1, 5), (4, 1)])
def test_a_pipeline_is_as_long_as_all_numbers_and_processors(n: int, processors: int) -> None:
    found = al.loads(PIPELINE)["pipeline"].run(n=n, P=processors).counts
    assert found.flops == n + processors - 1


@pytest.mark.parametrize("processors", [1, 2, 5])
def test_paths_leave_nested_branches(processors: int) -> None:
    """Two iterations of three additions on one processor; each further one adds what follows the second message."""
    found = al.loads(NESTED)["nested"].run(n=1, P=processors).counts
    assert found.flops == 6 + (processors - 1)
