"""Generated programs of many processors: every derived cost holds what the longest path through a run counts."""

from __future__ import annotations

from collections import Counter

import pytest

from effort import drawn
from programs.spmd import METHODS, program_from_seed
from spmd_runs import assert_between, costs_of

PROGRAMS_DRAWN = drawn(500)
PART = 6
"""So many programs are one test."""
FEATURES = (
    "1 axes", "2 axes", "3 axes", "within", "loop", "loop by coordinate", "if coordinate", "if size", "if data",
    "if variable", "shift", "exchange", "when", "words by coordinate", "transposed", "wandering", "call on a grid",
    "along two axes", "barrier", *METHODS,
)  # fmt: skip


@pytest.mark.parametrize("part", range(-(-PROGRAMS_DRAWN // PART)))
def test_runs_are_between_the_bounds(part: int) -> None:
    runs = refused = 0
    for seed in range(part * PART, min((part + 1) * PART, PROGRAMS_DRAWN)):
        program = program_from_seed(seed)
        ran, not_run = assert_between(program.text, program.points)
        runs, refused = runs + ran, refused + not_run
    assert refused <= runs // 10, f"{refused} of {runs + refused} runs were refused"


def test_programs_use_every_statement() -> None:
    found: Counter[str] = Counter()
    for seed in range(200):
        found.update(program_from_seed(seed).features)
    assert {feature: found[feature] for feature in FEATURES if found[feature] < 4} == {}


# A send may be received in a later iteration: of 2*P messages each, the last may wait for all before it.
LATER = """
algorithm f(n: size) on grid(t: P):
    local x: real = 0
    local y: real = 0
    for k in 0..n:
        if t + 1 < P:
            send x to (t + 1)
        x += 1.0
    for k in 0..n:
        if t > 0:
            receive y from (t - 1)
"""
RING = """
algorithm f(n: size) on grid(t: P):
    local x: real[n] = 0
    for k in 0..n:
        if t == k%P:
            send x to ((t + 1)%P)
        if t == (k + 1)%P:
            receive x from ((t - 1)%P)
            x[0] += 1.0
"""
CALLED = """
algorithm handed(x: inout local real[w]) on grid(r: P):
    if r > 0:
        receive x from (r - 1)
    x[0] += 1.0
    if r + 1 < P:
        send x to (r + 1)

algorithm f(n: size) on grid(t: P):
    local x: real[n] = 0
    for k in 0..3:
        handed(x)
"""
REPEATED = """
algorithm f(n: size) on grid(t: P):
    local x: real[n] = 0
    local k: int = 0
    while k < 3 at most 3 times:
        shift x along t by 1
        k += 1
"""
PIPELINE = """
algorithm f(n: size) on grid(t: P):
    local x: real[n] = 1
    for u in 0..n:
        local before: real = 0
        if t > 0:
            receive before from (t - 1)
        x[u] += before
        if t + 1 < P:
            send x[u..u+1] to (t + 1)
"""
WANDERING = {"later": LATER, "ring": RING, "called": CALLED, "repeated": REPEATED, "pipeline": PIPELINE}


@pytest.mark.parametrize("name", WANDERING)
def test_paths_that_wander_are_unknown(name: str) -> None:
    costs = costs_of(WANDERING[name])
    for metric in ("flops", "work", "words", "messages"):
        assert (costs[metric].status, costs[metric].upper) == ("unknown", None)
        assert costs[metric].reason


@pytest.mark.parametrize("name", WANDERING)
def test_what_is_known_of_paths_that_wander(name: str) -> None:
    """Memory is, where nothing else is; the ring of one processor hands x on to itself."""
    points = [{"P": p, "n": n} for p in (1, 2, 3, 5) for n in (1, 2, 4)]
    assert assert_between(WANDERING[name], points) == (len(points), 0)
