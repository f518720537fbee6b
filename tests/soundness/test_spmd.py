"""Generated programs of many processors: every derived cost holds what the longest path through a run counts."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import archline as al
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.polynomial import ZERO
from archline.analysis.analyse import derive
from archline.cli.main import main
from archline.execution.data import generate_arguments
from archline.execution.run import execute
from archline.language.loader import load_text
from effort import drawn
from programs.spmd import program_from_seed
from programs.spmd_model import METHODS
from programs.spmd_recursion import Recursive, recursion_from_seed
from spmd_runs import assert_between, assert_holds, costs_of

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


@pytest.mark.parametrize("name", [name for name in WANDERING if name != "repeated"])
def test_paths_that_wander_are_unknown(name: str) -> None:
    costs = costs_of(WANDERING[name])
    for metric in ("flops", "work", "words", "messages"):
        assert (costs[metric].status, costs[metric].upper) == ("unknown", None)
        assert costs[metric].reason


def test_loops_that_data_ends_alike_on_all_processors_have_rounds() -> None:
    costs = costs_of(REPEATED)
    assert costs["flops"].upper == ZERO
    assert costs["messages"].upper is not None


@pytest.mark.parametrize("name", WANDERING)
def test_what_is_known_of_paths_that_wander(name: str) -> None:
    """Memory is, where nothing else is; the ring of one processor hands x on to itself."""
    points = [{"P": p, "n": n} for p in (1, 2, 3, 5) for n in (1, 2, 4)]
    assert assert_between(WANDERING[name], points) == (len(points), 0)


# Generated recursive programs on a grid: what is derived of them holds what runs count

RECURSIONS_DRAWN = drawn(240)
RECURSION_FEATURES = (
    "count", "all", "gather", "scatter", "shift", "reduce", "broadcast", "twice", "whole group", "rows",
)  # fmt: skip


def compared(program: Recursive) -> tuple[int, int]:
    """The number of counts that were compared with derived bounds, and of costs that were unknown."""
    module = load_text(program.text)
    derived = [derive(module, algorithm) for algorithm in module.algorithms.values()]
    algorithm = list(module.algorithms.values())[-1]
    number = unknown = 0
    for point in program.points:
        ran = execute(module, algorithm, generate_arguments(module, algorithm, point, seed=1), compiled=False)
        held, missing = assert_holds(derived[-1], ran.counts, {**point, **ran.sizes}, program.text)
        number, unknown = number + held, unknown + missing
    return number, unknown


@pytest.mark.parametrize("part", range(-(-RECURSIONS_DRAWN // PART)))
def test_recursive_runs_are_between_the_bounds(part: int) -> None:
    number = unknown = 0
    for seed in range(part * PART, min((part + 1) * PART, RECURSIONS_DRAWN)):
        held, missing = compared(recursion_from_seed(seed))
        number, unknown = number + held, unknown + missing
    assert 2 * number > unknown, f"{unknown} of {number + unknown} costs are unknown"


def test_recursive_programs_use_every_form() -> None:
    found: Counter[str] = Counter()
    for seed in range(200):
        found.update(recursion_from_seed(seed).features)
    assert {feature: found[feature] for feature in RECURSION_FEATURES if found[feature] < 8} == {}


# Messages of at most K words: the derived bounds hold what simulated processors count, for any K


SUBJECTS = {
    "distributed.matmul::cannon": [{"n": 6, "g": 1}, {"n": 6, "g": 2}, {"n": 6, "g": 3}],
    "distributed.matmul::matmul_25d": [{"n": 4, "g": 2, "c": 2}, {"n": 6, "g": 3, "c": 3}, {"n": 8, "g": 4, "c": 2}],
    "distributed.matmul::cannon_unequal": [{"n": 5, "m": 4, "p": 7, "g": 2}, {"n": 4, "m": 5, "p": 3, "g": 3}],
    "distributed.matmul::summa": [{"n": 4, "m": 12, "p": 6, "g": 2, "h": 3, "w": 2}],
    "distributed.matmul::matmul_two_level": [{"n": 8, "g": 2, "h": 2}, {"n": 6, "g": 1, "h": 3}],
    "distributed.stencil::jacobi_walls": [{"n": 6, "m": 4, "steps": 3, "g": 3, "h": 2}],
    "distributed.qr::tsqr": [{"n": 12, "m": 2, "P": 3}, {"n": 16, "m": 3, "P": 4}],
    "distributed.collectives::broadcast_scatter_allgather": [{"w": w, "P": p} for w, p in ((0, 3), (7, 3), (9, 5))],
    "distributed.collectives::allgather_bruck": [{"w": w, "P": p} for w, p in ((1, 2), (4, 3), (3, 6))],
    "distributed.collectives::barrier_dissemination": [{"P": p} for p in (1, 2, 5)],
}
CASES = [(target, number) for target, points in SUBJECTS.items() for number in range(len(points))]


@cache
def _report(target: str) -> al.CostReport:
    return al.algorithm(target).report().with_longest


@given(st.sampled_from(CASES), st.integers(1, 40))
@settings(max_examples=drawn(60), deadline=None)
def test_runs_are_between_the_bounds_in_bounded_messages(case: tuple[str, int], longest: int) -> None:
    target, number = case
    sizes = {**SUBJECTS[target][number], "K": longest}
    subject = al.algorithm(target)
    named = subject.signature.indices
    ran = subject.run({**sizes, **dict.fromkeys(named, 0)})
    assert not ran.outside
    for name in ("messages", "node_messages"):
        cost = _report(target).costs.metrics.get(name)
        if cost is None or cost.lower is None or cost.upper is None:
            continue
        point = {**ran.sizes, **sizes}
        assert evaluate(cost.lower, point) <= ran.counts.communication[name] <= evaluate(cost.upper, point)


def test_by_hand() -> None:
    """Cannon at n = 12, g = 3: eight shifts of 16 words, each ceil(16/5) = 4 messages of 5 words at most."""
    report = al.algorithm("distributed.matmul::cannon").report()
    assert report["messages"].at(n=12, g=3, K=5) == 8 * 4
    assert report["messages"].at(n=12, g=3, K=16) == 8
    assert report["messages"].at(n=12, g=3) == 8
    assert report["words"].at(n=12, g=3, K=5) == 8 * 16


def test_the_form(capsys: pytest.CaptureFixture[str]) -> None:
    """2*g + 2 shifts of n^2/g^2 words where g >= 2."""
    assert main(["cost", "distributed.matmul::cannon", "--where", "K >= 1", "--metric", "messages"]) == 0
    text = capsys.readouterr().out
    assert "2*g*ceil(n^2/(g^2*K))" in text
    assert "a message has K words at most" in text
