"""Loops with guards: where a bound is found in two ways, both hold, and neither is dropped for the other."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import archline as al
from effort import all_of

ENDS = ("i*i + 1", "n + 1", "i + n", "2*i + 1", "n*i + 1")
GUARDS = (
    "(j + n) % i == 0",
    "(j + 1) % i == 0",
    "j % (2*i) == 0",
    "(2*j) % i == 0",
    "(j + n) % (i + 1) == 0",
    "j % i < 2",
)
BODIES = ("x[0] += 1.0", "for k in 0..j:\n                    x[0] += 1.0")


def text(end: str, guard: str, body: str) -> str:
    return f"""algorithm f(x: inout real[1], n: size):
    for i in 1..n + 1:
        for j in 1..{end}:
            if {guard}:
                {body}
"""


@cache
def program(end: str, guard: str, body: str) -> al.Algorithm:
    return al.loads(text(end, guard, body))["f"]


@settings(max_examples=all_of(25, 6), deadline=None)
@given(end=st.sampled_from(ENDS), guard=st.sampled_from(GUARDS), body=st.sampled_from(BODIES), n=st.integers(1, 9))
def test_bounds_hold_in_runs(end: str, guard: str, body: str, n: int) -> None:
    assert not program(end, guard, body).run({"n": n}, compiled=False).outside


@pytest.mark.parametrize(
    ("guard", "executed"), [("j % (2*i) == 0", 1694), ("(j + n) % i == 0", 3232), ("(j + i) % i == 0", 3367)]
)
def test_growth_is_that_of_the_sharper_bound(guard: str, executed: int) -> None:
    """About i of the numbers up to i^2 are multiples, of i^2/2 on average: n^4/8, or half of that, and no n^5."""
    algorithm = program("i*i + 1", guard, BODIES[1])
    run, flops = algorithm.run({"n": 12}, compiled=False), algorithm.cost().flops
    assert run.counts.flops == executed
    assert not run.outside
    assert flops.growth is not None
    assert str(flops.growth).startswith("Theta(n^4)")


def test_multiples_of_a_product_are_counted() -> None:
    """Of 1..i^2 every 2*i-th is one: floor(i/2), and over i floor(n^2/4)."""
    flops = program("i*i + 1", "j % (2*i) == 0", BODIES[0]).cost().flops
    assert [flops.at(n=n) for n in (1, 2, 7, 30)] == [0, 1, 12, 225]
