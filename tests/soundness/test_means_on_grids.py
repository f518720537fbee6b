"""The mean over all processors from below: no run's longest path is shorter, and roots that move lose nothing."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest

from archline.algebra.evaluate.exact import evaluate
from archline.analysis.communication.derive import build_grid_recurrences
from archline.analysis.communication.place import ReachingProcessors, position_at_start
from archline.analysis.communication.recursion import StretchCosts
from archline.analysis.communication.walk import GridWalk
from archline.analysis.cost import enclose_cost
from archline.execution.data import generate_arguments
from archline.execution.run import execute
from archline.ir.amounts import KnownAmount
from archline.language.diagnostics import ArchlineError
from archline.language.loader import load_text
from effort import drawn
from programs.spmd import program_from_seed
from rotating_programs import rotating_program_from_seed
from spmd_runs import assert_between, costs_of, counted

SHIFTING = """
algorithm turning(T: size, w: size) on grid(r: P):
    local x: real[w] = 1
    for t in 0..T:
        {step}
"""
ROWS = """
algorithm lu_rows(A: real[n, n], F: out real[n, n]) on grid(r: P):
    where P divides n
    let h = n/P
    local a: real[h, n]
    local row: real[n]
    for u in 0..h:
        input a[u, :] = A[u*P + r, :]
    for k in 0..n:
        if r == k%P:
            row[:] = a[k//P, :]
        broadcast row along r from k%P using tree
        for u in 0..h:
            if u*P + r > k:
                a[u, k] = a[u, k]/row[k]
    for u in 0..h:
        output F[u*P + r, :] = a[u, :]
"""


def means_of(text: str) -> tuple[dict[str, KnownAmount], object]:
    """What the mean spends at least, by metric, and the module."""
    module = load_text(text)
    algorithm = list(module.algorithms.values())[-1]
    place = position_at_start(module, algorithm, None)
    walk = GridWalk(module, build_grid_recurrences(module, StretchCosts(module, False)))
    found = walk.derive_body_costs(algorithm, replace(place, average=ReachingProcessors()))
    restore = place.facts.restore
    amounts = {name: KnownAmount(restore(each.lower), restore(each.lower)) for name, each in found.amounts.items()}
    return amounts, module


@pytest.mark.parametrize("seed", range(drawn(160)))
def test_no_run_is_below_its_mean(seed: int) -> None:
    """The bound itself, also where the page tells a larger one."""
    program = program_from_seed(seed)
    means, module = means_of(program.text)
    algorithm = list(module.algorithms.values())[-1]
    for point in program.points[:3]:
        try:
            ran = execute(module, algorithm, generate_arguments(module, algorithm, point, seed=1), compiled=False)
        except ArchlineError:
            continue
        for metric, mean in means.items():
            count = counted(ran.counts, metric) if metric != "memory" else None
            if count is not None:
                assert evaluate(mean.lower, {**point, **ran.sizes}) <= count, (metric, point, program.text)


@pytest.mark.parametrize("seed", range(drawn(80)))
def test_runs_with_roots_that_move_are_between_the_bounds(seed: int) -> None:
    text, random = rotating_program_from_seed(seed), Random(seed)
    names = ("T", "w", "P") if "grid(r: P)" in text else ("T", "w", "g", "h")
    points = [{name: random.randint(1, 7 if name in "TP" else 3) for name in names} for _ in range(4)]
    assert assert_between(text, points) == (4, 0)


@pytest.mark.parametrize("processors", [1, 2, 3, 4, 6, 7, 8])
@pytest.mark.parametrize(
    ("step", "moved"),
    [
        ("broadcast x along r from t%P using tree", "all but the root"),
        ("broadcast x along r from t%P using naive", "all but the root"),
        ("broadcast x along r from P - 1 - t%P using tree", "all but the root"),
        ("shift x along r by t + 1", "all, if they move"),
    ],
)
def test_words_are_those_of_the_mean(step: str, moved: str, processors: int) -> None:
    """In a broadcast each processor but the root receives the words; in a shift all do, but for multiples of P."""
    costs = costs_of(SHIFTING.format(step=step))
    for steps, words in ((1, 3), (5, 2), (9, 1)):
        at = {"T": steps, "w": words, "P": processors}
        total = words * steps * (processors - 1)
        if moved != "all but the root":
            total = words * processors * sum((t + 1) % processors > 0 for t in range(steps))
        assert enclose_cost(costs["words"], at).lower >= Fraction(total, processors)
        assert enclose_cost(costs["messages"], at).lower >= Fraction(total, processors * words)


def test_rows_of_a_factorisation_come_to_all() -> None:
    costs = costs_of(ROWS)
    for n, processors in ((8, 4), (12, 6), (5, 5)):
        assert enclose_cost(costs["words"], {"n": n, "P": processors}).lower >= n * (n - Fraction(n, processors))


def test_panels_of_a_product_come_to_all() -> None:
    """SUMMA: each processor has 1/h of its row of A, and 1/g of its column of B."""
    from archline.analysis.analyse import derive
    from archline.language.loader import load_target

    module, algorithm = load_target("distributed.matmul::summa")
    assert algorithm is not None
    words = derive(module, algorithm)["words"]
    for g, h, m in ((2, 3, 12), (4, 2, 8), (1, 5, 10)):
        n, p = 2 * g, 3 * h
        found = enclose_cost(words, {"n": n, "m": m, "p": p, "g": g, "h": h, "w": 1}).lower
        assert found >= Fraction(n * m * (h - 1), g * h) + Fraction(m * p * (g - 1), g * h)
