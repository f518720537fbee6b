"""Loops without a bound: their iterations are a size of the costs, which a run binds; two witnesses agree."""

from __future__ import annotations

import pytest

from archline.api.algorithms import Algorithm
from archline.language import loader


def subject(text: str, name: str | None = None) -> Algorithm:
    module = loader.load_text(text)
    return Algorithm(module, module.algorithms[name] if name else list(module.algorithms.values())[-1])


def formulas(of: Algorithm, *metrics: str) -> list[str]:
    report = of.report()
    return [str(report.write(bound)) for metric in metrics for bound in bounds(report.cost(metric))]


def bounds(cost):
    assert cost.lower is not None, cost.reason
    return (cost.upper,) if cost.exact else (cost.lower, cost.upper)


def check_run(of: Algorithm, arguments, cache: str | None = "Z=64,L=4", compiled: bool | None = None):
    """Run, and check that every count lies in its derived bounds at the iterations of the run; return the run."""
    run = of.run(arguments, cache=cache, compiled=compiled)
    counts = run.view.counts
    assert counts.outside == (), str(run)
    for metric, values in counts.derived.items():
        if counts.statuses[metric] == "exact":
            assert values.lower == values.upper
    assert not {"flops", "work", "span"} & run.view.unchecked.keys()
    return run


GCD = """
algorithm gcd(x: int, y: int) -> int:
    local a: int = x
    local b: int = y
    while b != 0:
        local r: int = a % b
        a = b
        b = r
    return a
"""
COLLATZ = """
algorithm collatz(n: size, A: out int[n]):
    for i in 0..n:
        local a: int = i + 1
        local c: int = 0
        while a != 1 iterations S:
            if a % 2 == 0:
                a = a // 2
            else:
                a = 3*a + 1
            c += 1
        A[i] = c
"""
HALVE = """
algorithm halve(x: int) -> int:
    local a: int = x
    repeat iterations T:
        a = a // 2
    until a <= 0
    return a
"""


def test_the_iterations_of_a_loop_are_a_size_of_the_costs() -> None:
    gcd = subject(GCD)
    assert formulas(gcd, "work", "span") == ["4*T1 + 3", "4*T1 + 3"]
    for x, y in ((1, 1), (12, 18), (89, 55), (7, 0), (2**40, 3**20)):
        run = check_run(gcd, {"x": x, "y": y})
        assert run.at == {"T1": run.execution.iterations["T1"]}
    assert run.counts.work == 4 * run.at["T1"] + 3


def test_iterations_that_cost_differently_have_bounds() -> None:
    collatz = subject(COLLATZ)
    assert formulas(collatz, "work") == ["3*n + 8*S + 1", "3*n + 9*S + 1"]
    for n in range(1, 12):
        check_run(collatz, {"n": n})


@pytest.mark.parametrize("compiled", [False, True])
def test_the_test_of_a_repeat_follows_each_iteration(compiled: bool) -> None:
    halve = subject(HALVE)
    assert formulas(halve, "work") == ["4*T + 1"]
    for x in (0, 1, 5, 1000):
        run = check_run(halve, {"x": x}, compiled=compiled)
        assert run.at["T"] == max(1, x.bit_length())
