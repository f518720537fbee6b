"""Distributed algorithms of the library on simulated processors: their results, what they count, what they ensure."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import archline as al
from archline.analysis.analyse import derive
from archline.execution.results import RunCounts
from archline.expr.intervals import Interval
from archline.expr.values import evaluate, evaluate_fact
from archline.language import syntax as s
from archline.language.call_graph import find_reachable
from archline.language.loader import load_target
from distributed_cases import FAMILIES, Example, Point
from effort import EFFORT
from spmd_runs import assert_holds

SAMPLE = 5 if EFFORT == "quick" else None
"""How many points of an algorithm are tried."""
COMMUNICATION = ("words", "messages", "node_words", "node_messages")
FACTOR = 20
"""How far a count may be from what it is Theta of: the constants of the formulas are smaller at all points."""
RUNS = [
    pytest.param(target, point, id=f"{target.partition('::')[2]}-{'-'.join(map(str, point.values()))}")
    for target, family in FAMILIES.items()
    for point in family.points[:SAMPLE]
]


@cache
def module(name: str) -> al.Module:
    """A module of the library."""
    return al.load(f"distributed.{name}")


def algorithm(target: str) -> al.Algorithm:
    """An algorithm of a module."""
    name, _, own = target.partition("::")
    return module(name)[own]


def example(target: str, point: Point) -> Example:
    """The run of an algorithm at sizes."""
    return FAMILIES[target].example(np.random.default_rng(1), **point)


def run(target: str, given: Example, compiled: bool = False) -> al.Run:
    """Run, and compare the results."""
    ran = algorithm(target).run(**given.arguments, compiled=compiled)
    outputs = given.seen(dict(ran.outputs))
    for name, expected in given.results.items():
        np.testing.assert_allclose(outputs[name], expected, rtol=1e-9, atol=1e-9, err_msg=name)
    return ran


def counted(counts: RunCounts, metric: str) -> int:
    """A metric of a run."""
    found: Any = counts.communication[metric] if metric in COMMUNICATION else getattr(counts, metric)
    return int(found)


@pytest.mark.parametrize(("target", "point"), RUNS)
def test_runs(target: str, point: Point) -> None:
    given = example(target, point)
    ran = run(target, given)
    counts = ran.counts
    symbols = {name: value for name, value in given.arguments.items() if isinstance(value, int)}
    sizes = {**symbols, **ran.execution.sizes, "P": FAMILIES[target].processors(point)}
    found, node = algorithm(target), algorithm(target).node
    assert_holds(derive(found.module, node), counts, sizes, target)
    assert all(evaluate_fact(fact, sizes) for fact in node.where)
    for each in node.ensures:
        if all(evaluate_fact(fact, sizes) for fact in each.when):
            assert ensured(each, counted(counts, each.metric), sizes), (each.metric, each.relation, counts)


def ensured(claim: s.Ensures, count: int, sizes: Point) -> bool:
    """Whether a count is what is claimed of it; a growth with a factor that is the same at all points."""
    value = evaluate(claim.bound, sizes)
    low, high = (value.lower, value.upper) if isinstance(value, Interval) else (value, value)
    match claim.relation:
        case "==":
            return low <= count <= high
        case "<=":
            return count <= high
        case ">=":
            return count >= low
        case "O":
            return count <= FACTOR * high
        case "Omega":
            return FACTOR * count >= low
        case _:
            return low <= FACTOR * count and count <= FACTOR * high


def test_every_algorithm_has_a_case() -> None:
    """What has none itself is called by one that has."""
    for name in {target.partition("::")[0] for target in FAMILIES}:
        loaded = load_target(f"distributed.{name}")[0]
        tried = {each for own, each in loaded.algorithms.items() if f"{name}::{own}" in FAMILIES}
        called = {each for root in tried for each in find_reachable(loaded, root)}
        assert set(loaded.algorithms.values()) <= tried | called


@pytest.mark.parametrize("target", FAMILIES)
def test_every_cost_is_ensured(target: str) -> None:
    node = algorithm(target).node
    assert node.doc
    assert {"flops", "words", "messages", "memory"} <= {each.metric for each in node.ensures}


# The recursive kernels of these take a quarter to half a minute to compile; Bruck's transform has those of the naive one.
SLOW = () if EFFORT == "deep" else ("lu::lu_25d", "matmul::caps_strassen", "fft::fft_naive")
COMPILED = ["matmul::cannon"] if EFFORT == "quick" else [each for each in FAMILIES if each not in SLOW]


@pytest.mark.parametrize("target", COMPILED)
def test_compiled_kernels_do_the_same(target: str) -> None:
    given = example(target, FAMILIES[target].points[4])
    assert run(target, given, compiled=True).counts == run(target, given).counts


@pytest.mark.parametrize("point", FAMILIES["sort::samplesort"].points[:SAMPLE], ids=lambda point: f"P{point['P']}")
def test_samplesort_exchanges_what_the_samples_say(point: Point) -> None:
    """The buckets by numpy: those of different keys have n/P + n/v keys at most, and each step moves the larger part."""
    n, v, P = point["n"], point["v"], point["P"]
    given = example("sort::samplesort", point)
    counts = run("sort::samplesort", given).counts
    parts = np.sort(given.arguments["A"].reshape(P, n // P), axis=1)
    splitters = np.sort(parts[:, :: n // P // v].ravel())[v::v]
    keys = np.array([np.bincount(np.searchsorted(splitters, part, "right"), minlength=P) for part in parts])
    assert keys.sum(axis=0).max() <= n // P + n // v
    own = []
    for r in range(P):
        steps = [max(keys[r, (r + d) % P], keys[(r - d) % P, r]) for d in range(1, P)]
        scan = sum(r + 2**e < P or r >= 2**e for e in range((P - 1).bit_length()))
        own.append((P - 1) * v + (P - 1) + sum(steps) + scan)
    assert counts.own["words"] == max(own)
    assert counts.total["words"] == sum(own)
