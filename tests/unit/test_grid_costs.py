"""Costs on a grid by hand, and programs of which a bound was once wrong: runs are between the bounds."""

from __future__ import annotations

import numpy as np
import pytest

import archline as al
from archline.algebra.polynomial import Poly
from archline.analysis.analyse import derive
from archline.execution.data import generate_arguments
from archline.execution.run import execute
from archline.language.loader import load_target
from effort import long, some
from spmd_runs import assert_between, assert_holds, costs_of

PROCESSORS = [{"P": p} for p in (1, 2, 3, 4, 5, 8, 11)]
ANY_NUMBER = [*range(1, 18), 32, 61]
COLLECTIVES = load_target("distributed.collectives")[0]

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


SCALARS = """
algorithm filled(x: inout local real[w], a: real) on grid(r: P):
    x[0] = a
    shift x along r by 1

algorithm f() on grid(t: P):
    local s: real = 2
    local x: real[3] = 0
    filled(x, s*2.0 + 1.0)
"""
OFFSETS = """
algorithm f() on grid(t: P):
    local k: int = 2
    local x: real[9] = 0
    local y: real[3*P] = 0
    shift x[k + 1 ..+ 3] along t by 1
    allgather x[k*2 ..+ 3] along t into y
    reduce x[k*2 ..+ 3] along t onto 0 with + into x[k*2 ..+ 3]
"""


@pytest.mark.parametrize("text", [SCALARS, OFFSETS])
def test_arguments_are_evaluated(text: str) -> None:
    assert assert_between(text, PROCESSORS) == (len(PROCESSORS), 0)


def test_arguments_cost_what_they_say() -> None:
    """Two flops; the outermost call, those of `filled` and of the shift, the three elements of x, and the two flops."""
    costs = costs_of(SCALARS)
    assert costs["flops"].lower == costs["flops"].upper == Poly.constant(2)
    assert costs["work"].lower == costs["work"].upper == Poly.constant(1 + 1 + 1 + 3 + 2)


# No processor takes the branch where P <= w, where t - w + 1 iterations would be less than none.
GUARDED = """
algorithm f(w: size) on grid(t: P):
    local s: real = 0
    local x: real[w] = 0
    for u in 0..w:
        s += 1.0
    if t >= w:
        exchange x[0..1] to (t) into x[0..1] from (t)
        for k in 0..t-w+1:
            s += 1.0
"""


def test_branches_that_no_processor_takes_cost_nothing() -> None:
    points = [{"P": p, "w": w} for p in (1, 2, 3, 7) for w in (1, 2, 4, 9)]
    assert assert_between(GUARDED, points) == (len(points), 0)


DIVIDED_PRODUCT = """
use distributed.collectives
algorithm f(g: size, c: size, b: size) on grid(i: g, k: c):
    where c divides b*g
    local x: real[b*g] = 0
    local y: real[b*g*c]
    allreduce x along k with + using reduce_scatter_allgather
    allgather x along k into y
    for q in 0..b*g//c:
        x[q] = x[q] + 1
"""


@long
def test_pieces_are_equal_where_their_number_divides_a_product() -> None:
    """2*w*(c - 1)/c words for the one, w*(c - 1) for the other, w = b*g, though c divides neither b nor g."""
    cost = al.loads(DIVIDED_PRODUCT)["f"].cost()
    assert (cost.words.status, cost.messages.status) == ("exact", "exact")
    for g, c, b in ((1, 1, 1), (2, 4, 2), (3, 6, 2), (2, 6, 3), (4, 3, 3), (6, 4, 2), (5, 1, 7), (1, 5, 5), (3, 9, 6)):
        run = al.loads(DIVIDED_PRODUCT)["f"].run(g=g, c=c, b=b).counts
        words = (2 + c) * b * g * (c - 1) // c
        assert cost.words.at(g=g, c=c, b=b) == words == run.words
        assert cost.flops.at(g=g, c=c, b=b) == run.flops
        assert cost.messages.at(g=g, c=c, b=b) == run.messages


@pytest.mark.parametrize("where", some(["c divides b*g", "c divides w", "w >= 1"]))
def test_the_peak_of_memory_is_that_of_runs(where: str) -> None:
    """Buffers of one statement are larger than those of another, which one the sizes decide."""
    text = f"""
use distributed.collectives
algorithm f(w: size, g: size, c: size, b: size) on grid(k: c):
    where {where}, w == b*g
    local x: real[w] = 0
    local d: real[b, b] = 0
    allreduce x along k with + using reduce_scatter_allgather
    local e: real[g, g] = 0
    local u: real[c*b, b]
    allgather d along k into u
"""
    algorithm = al.loads(text)["f"]
    cost = algorithm.cost().memory
    for g, c, b in ((1, 1, 1), (1, 2, 2), (2, 2, 1), (2, 3, 3), (3, 5, 5), (4, 8, 2), (1, 4, 8), (6, 3, 1), (2, 9, 9)):
        if where == "c divides b*g" or b * g % c == 0:
            executed = algorithm.run(g=g, c=c, b=b, w=b * g).counts.memory
            found = cost.at(g=g, c=c, b=b, w=b * g)
            lower, upper = found if isinstance(found, tuple) else (found, found)
            assert lower <= executed <= upper
            assert where == "w >= 1" or lower == upper


UNEQUAL = """
algorithm f(B: out real[P, P*P]) on grid(r: P):
    local x: real[P*P] = real_of(r)
    local c: int[P]
    for q in 0..P:
        c[q] = q
    local y: real[P*P] = -1.0
    local got: int[P]
    alltoall x along r into INTO counts c
    output B[r, :] = y
"""


@pytest.mark.parametrize("processors", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("into", ["y", "y, got"])
def test_an_all_to_all_of_unequal_pieces_moves_counts_whether_they_are_named_or_not(into: str, processors: int) -> None:
    """P - 1 counts, then q words to processor q from each: the last receives P - 1 words a step, the most there are."""
    run = al.loads(UNEQUAL.replace("INTO", into))["f"].run(P=processors)
    steps = processors - 1
    assert run.counts.words == steps + steps**2
    assert run.counts.messages == 2 * steps
    for rank, row in enumerate(run.outputs["B"]):
        wanted = np.repeat(np.arange(processors), rank)
        np.testing.assert_array_equal(row, np.concatenate([wanted, np.full(processors**2 - wanted.size, -1)]))


ALL_AXES = """
use distributed.collectives
algorithm f(w: size, g: size, h: size) on grid(i: g, j: h):
    local x: real[w] = 0
    local p: real[w*g*h] = 0
    reduce_scatter p into x with +
"""


def test_a_collective_along_all_axes_joins_as_many_processors_as_the_grid_has() -> None:
    """The extent w*g*h of a buffer is P*w there, on every grid."""
    found = al.loads(ALL_AXES)["f"]
    for g, h in ((1, 1), (2, 3), (4, 1)):
        assert found.run(w=5, g=g, h=h).counts.words == found.cost().words.at(w=5, g=g, h=h) == 5 * (g * h - 1)


QUOTIENTS = """
algorithm f(X: real[1], n: size, b: size, g: size, c: size) on grid(i: g):
    where c divides b*g, g divides n, n >= 0
    local x: real[b*g/c//g] = 0
    local y: real[b*g/c%g] = 0
    local z: real[n/g] = 0
    local t: real[max(n/g, 1)] = 0
    for e in 0..b*g/c//g:
        x[e] = x[e] + 1
    if n/g == 0:
        t[0] = t[0] + 1
    shift z along i by 1
"""


def test_quotients_of_quotients_are_rounded_and_may_be_0() -> None:
    """c divides b*g and need divide neither; g divides n = 0 as well."""
    found = al.loads(QUOTIENTS)["f"]
    cost = found.cost()
    for n, b, g, c in (
        (0, 1, 2, 2),
        (0, 3, 1, 3),
        (4, 1, 2, 2),
        (6, 5, 3, 5),
        (2, 3, 2, 6),
        (0, 7, 3, 21),
        (3, 4, 3, 6),
    ):
        run = found.run(n=n, b=b, g=g, c=c).counts
        for metric in ("flops", "work", "words", "messages", "memory"):
            value = cost[metric].at(n=n, b=b, g=g, c=c)
            lower, upper = value if isinstance(value, tuple) else (value, value)
            assert lower <= getattr(run, metric) <= upper
    assert cost.memory.status == "exact"


@pytest.mark.parametrize(
    ("name", "metrics"),
    [
        ("allgather_bruck", "words messages work"),
        ("allreduce_recursive_doubling", "flops words messages work"),
        ("broadcast_chain", "words messages work"),
        ("reduce_scatter_recursive_halving", "flops words messages work"),
        ("reduce_tree", "flops words messages work"),
        ("scan_chain", "flops words messages"),
        ("scan_recursive_doubling", "flops words messages work"),
    ],
)
def test_collectives_are_exact_for_any_number_of_processors(name: str, metrics: str) -> None:
    algorithm = COLLECTIVES.algorithms[name]
    costs = {cost.metric: cost for cost in derive(COLLECTIVES, algorithm)}
    assert all(costs[metric].exact for metric in metrics.split())
    indices = COLLECTIVES.signatures[algorithm].indices
    for processors in some(ANY_NUMBER, 4):
        for words in (0, 1, 7):
            sizes = {"P": processors, "w": words, **dict.fromkeys(indices, 3 * words % processors)}
            arguments = generate_arguments(COLLECTIVES, algorithm, sizes, seed=1)
            counts = execute(COLLECTIVES, algorithm, arguments, compiled=False).counts
            assert_holds(tuple(costs.values()), counts, sizes, name)


MESH = """
algorithm f(X: real[g, g], Y: out real[g, g], g: size) on grid(i: g, j: g):
    local a: real = 0.0
    input a = X[i, j]
    scan a along j with + using chain
    let t = i + j
    local z: real = 0.0
    for k in 0..t:
        z += 1.0
    a += z
    {}
    scan a along i with + using chain
    for k in 0..i:
        a += 1.0
    output Y[i, j] = a
"""
LINE = """
algorithm f(n: size) on grid(r: P):
    local a: real = 1.0
    let t = P - r
    scan a along r with + using chain
    for k in 0..t:
        a += 1.0
    {}
    broadcast a along r from 0 using chain
    for k in 0..r:
        a += 1.0
"""
BETWEEN = ("pass", "broadcast a along {0} from 0 using chain", "allreduce a along {0} with +", "shift a along {0} by 1")


@pytest.mark.parametrize("between", some(BETWEEN, 2))
def test_a_path_moves_along_with_the_messages_of_chains(between: str) -> None:
    meshes = [{"g": g} for g in (1, 2, 3, 4)]
    assert assert_between(MESH.format(between.format("j")), meshes) == (len(meshes), 0)
    lines = [{**each, "n": 2} for each in PROCESSORS]
    looped = f"for q in 0..n:\n        {between.format('r')}"
    for text in (between.format("r"), looped):
        assert assert_between(LINE.format(text), lines) == (len(lines), 0)


EMPTY = """
algorithm f(w: size) on grid(r: P):
    where w >= 0
    local x: real[w] = 0
    local a: real = 1.0
    scan x along r with + using chain
    for k in 0..r:
        a += 1.0
"""


def test_a_message_without_words_takes_no_path_along() -> None:
    points = [{"P": p, "w": w} for p in (1, 2, 5) for w in (0, 1, 3)]
    assert assert_between(EMPTY, points) == (len(points), 0)
