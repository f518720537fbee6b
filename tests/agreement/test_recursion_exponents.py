"""Recursions that share out the exponent of a power of 2, as the six-step Fourier transform does: log2(log2(n))."""

from __future__ import annotations

import random
from functools import cache

import pytest

from archline.analysis.analyse import derive
from archline.analysis.cost import Costs
from archline.claims.decide import decide
from archline.execution.run import execute
from archline.language.loader import load_text
from archline.language.model import Module
from effort import drawn
from recursive_programs.agreement import disagreements, executed, outside, value_or_none

# n = 2^k in two parts of about half the exponent, p = 2^floor(k/2) and q = n/p.
PARTS = """
algorithm main(x: inout real[n]):
    where n is power of 2
{ensures}
    if n > 2:
        let p = 2^(log2(n)//2)
        let q = n/p
{body}
"""
BODIES = {
    # T(k) = T(floor(k/2)) + 1
    "one": ("main(x[0..p])", "log2(log2(n))", "log2(n)"),
    # T(k) = T(floor(k/2)) + T(ceil(k/2)) + 1
    "both": ("main(x[0..p])\nmain(x[0..q])", "log2(n)", "log2(n)*log2(log2(n))"),
    # T(k) = T(floor(k/2)) + T(ceil(k/2)) + k
    "level": (
        "main(x[0..p])\nmain(x[0..q])\nfor i in 0..log2(n):\n    x[0] += 1.0",
        "log2(n)*log2(log2(n))",
        "log2(n)",
    ),
}


@cache
def derived(name: str) -> tuple[Module, Costs]:
    body, right, wrong = BODIES[name]
    indented = "\n".join(f"        {line}" for line in body.splitlines())
    ensures = f"    ensures work is Theta({right})\n    ensures work is Theta({wrong})"
    module = load_text(PARTS.format(ensures=ensures, body=indented))
    return module, derive(module, module.algorithms["main"])


@pytest.mark.parametrize("name", BODIES)
def test_growth(name: str) -> None:
    module, costs = derived(name)
    right, wrong = decide(module, module.algorithms["main"], costs)
    assert right.outcome == "holds", right.reason
    assert wrong.outcome != "holds"


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("k", range(13))
def test_bounds_hold_what_runs_count(name: str, k: int) -> None:
    module, costs = derived(name)
    ran = execute(module, module.algorithms["main"], {"x": [0.0] * 2**k}, compiled=False, races=False)
    assert not list(disagreements(costs, executed(ran.counts), ran.sizes))


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("k", [16, 31, 32, 33, 100, 255, 1000])
def test_bounds_hold_the_recurrence_at_far_sizes(name: str, k: int) -> None:
    _, costs = derived(name)
    for cost in costs:
        value = value_or_none(cost, {"n": 2**k})
        assert value is not None
        assert not list(outside(cost, value, {"n": 2**k}))


@pytest.mark.parametrize("seed", range(drawn(24)))
def test_loops_of_a_few_iterations_more_or_less_than_a_power(seed: int) -> None:
    """Each level of a recursion by halves has parallel loops of a*n/b + c iterations: the span is of order log2(n)^2."""
    source = random.Random(seed)
    loops = [
        f"parallel for i in {source.randint(0, 2)}..{source.choice((1, 1, 2, 3))}*n//{source.choice((1, 2, 4))}"
        f" {source.choice('+-')} {source.randint(0, 2)}:\n            pass"
        for _ in range(source.randint(1, 3))
    ]
    loops.insert(source.randrange(len(loops) + 1), "main(x[0..n//2])")
    body = "\n        ".join(loops)
    text = "algorithm main(x: inout real[n]):\n    where n is power of 2\n    ensures span is O(log2(n)^2)\n"
    module = load_text(
        f"{text}    ensures span is O(log2(n))\n    if n > {source.choice((4, 8, 11))}:\n        {body}\n"
    )
    algorithm = module.algorithms["main"]
    costs = derive(module, algorithm)
    right, wrong = decide(module, algorithm, costs)
    assert right.outcome == "holds", body
    assert wrong.outcome != "holds", body
    for k in range(9):
        ran = execute(module, algorithm, {"x": [0.0] * 2**k}, compiled=False, races=False)
        assert not list(disagreements(costs, executed(ran.counts), ran.sizes)), body
