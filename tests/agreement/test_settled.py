"""Integers of the data that an `assume` bounds: loops and calls up to them, each term with the bound that suits it."""

from __future__ import annotations

import numpy as np
import pytest

from archline.algebra.evaluate.exact import evaluate
from archline.analysis.analyse import derive
from archline.analysis.cost import Costs
from archline.execution.run import execute
from archline.language.loader import load_text

PIECES = """
algorithm pieces(start: offsets[n] into nz, x: inout real[b], n: size, b: size):
    where nz >= 0, b is power of 2
    parallel for i in 0..n:
        local c: int = 1
        for k in start[i]..start[i+1]:
            c += 1
        c = (c - 1)//b
        assume c >= 0, c*b <= start[i+1] - start[i]
        for u in 0..c:
            for j in 0..b:
                atomic x[j] += 1.0
"""


def costs_of(text: str, name: str) -> Costs:
    module = load_text(text)
    return derive(module, module.algorithms[name])


def test_a_product_takes_the_bound_of_the_product() -> None:
    flops = costs_of(PIECES, "pieces")["flops"]
    for nz in (0, 7, 100):
        # c*b of the i-th row is at most its entries; those add up to nz.
        assert evaluate(flops.upper, {"n": 5, "b": 4, "nz": nz}) == nz
        assert evaluate(flops.lower, {"n": 5, "b": 4, "nz": nz}) == 0


@pytest.mark.parametrize("lengths", [[0, 9, 4, 3], [8, 8], [1], [0, 0, 31]])
def test_runs_lie_within(lengths: list[int]) -> None:
    module = load_text(PIECES)
    start = np.concatenate(([0], np.cumsum(lengths)))
    arguments = {"start": start, "x": np.zeros(4), "n": len(lengths), "b": 4}
    run = execute(module, module.algorithms["pieces"], arguments, compiled=False, progress=False)
    assert run.counts.flops == sum(length // 4 * 4 for length in lengths)
    for cost in costs_of(PIECES, "pieces"):
        count = getattr(run.counts, cost.metric)
        assert evaluate(cost.lower, run.sizes) <= count <= evaluate(cost.upper, run.sizes)


COUNTED = """
algorithm counted(a: int[n], x: inout real[n]):
    local c: int = 0
    for i in 0..n:
        c += a[i]
{assumed}    for k in 0..c:
        x[0] += 1.0
{behind}"""


def counted(assumed: str, behind: str = "") -> Costs:
    return costs_of(COUNTED.format(assumed=assumed, behind=behind), "counted")


def test_a_loop_up_to_an_assumed_bound() -> None:
    flops = counted("    assume c >= 2, 2*c <= n + 6\n")["flops"]
    assert (evaluate(flops.lower, {"n": 10}), evaluate(flops.upper, {"n": 10})) == (2, 8)
    assert "T1" in counted("")["flops"].upper.names


def test_an_integer_that_changes_later_bounds_the_loop_that_starts_before() -> None:
    # The range of a `for` is evaluated before its first iteration.
    assert counted("    assume c <= n\n", "    c += 1\n")["flops"].upper.names == {"n"}
    # The least of it is 0 where nothing is said.
    assert counted("    assume c <= n\n")["flops"].upper is not None
