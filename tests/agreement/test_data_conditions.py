"""Recursion on parts that the data cuts, under a condition on where it cuts: derived costs against runs on random data."""

from __future__ import annotations

import numpy as np
import pytest

import archline as al

DIVIDED = """
algorithm main(a: inout real[n]):
    where n >= 0
    if n >= 2:
        local q: int = 0
        for i in 0..n:
            if a[i] < {share}:
                q += 1
        if {condition}:
            main(a[0..q])
            main(a[q..n])
"""
PEELED = """
algorithm main(a: inout real[n]):
    where n >= 0
    if n >= 2:
        local q: int = 0
        for i in 0..n:
            if a[i] < 0.5:
                q += 1
        if q >= 1 and q < n:
            main(a[0..q])
        else:
            main(a[1..n])
"""
PROGRAMS = [
    DIVIDED.format(share=0.4, condition="q > 0 and q < n"),
    DIVIDED.format(share=0.5, condition="q >= 1 and n - q >= 1"),
    DIVIDED.format(share=0.7, condition="1 <= q and q <= n - 1"),
    PEELED,
]


@pytest.mark.parametrize("text", PROGRAMS)
@pytest.mark.parametrize("n", [0, 1, 2, 5, 23, 60])
def test_what_is_derived_holds_in_runs(text: str, n: int) -> None:
    algorithm = al.loads(text)["main"]
    cost = algorithm.cost()
    assert cost.flops.status != "unknown"
    for seed in range(4):
        run = algorithm.run(a=np.random.default_rng(seed).uniform(0, 1, n), cache=al.Cache(Z=32, L=4))
        for metric in ("flops", "work", "span", "io"):
            if cost[metric].status == "unknown":
                continue
            found = cost[metric].at(n=n, Z=32, L=4)
            lower, upper = found if isinstance(found, tuple) else (found, found)
            assert lower <= getattr(run.counts, metric) <= upper, metric
