"""Loops that are never entered around local arrays of two dimensions, and programs that have no place to be split."""

from __future__ import annotations

import numpy as np
import pytest

import archline as al

ROWS = """
algorithm main(x: inout real[n], m: size):
    for i in 1..m:
        local W: real[i, m - i] = 0
        x[0] = W[i - 1, 0]
"""
BLOCKS = """
algorithm main(A: inout real[n, n], b: size):
    where b divides n
    for I in 0..n/b:
        for J in I..n/b:
            for i in 0..b:
                for j in i..b:
                    A[I*b + i, J*b + j] += 1.0
                    if I == J and i != j:
                        A[J*b + j, I*b + i] = 1.0
"""


@pytest.mark.parametrize("m", [1, 2, 3, 5, 8])
@pytest.mark.parametrize(("words", "line"), [(1, 1), (16, 4), (64, 2), (400, 1)])
def test_rows_of_a_local_array_that_is_never_made(m: int, words: int, line: int) -> None:
    algorithm = al.loads(ROWS)["main"]
    lower, upper = algorithm.cost().io.at(n=1, m=m, Z=words, L=line)  # type: ignore[misc]
    run = algorithm.run(x=np.zeros(1), m=m, cache=al.Cache(Z=words, L=line))
    assert 0 <= lower <= run.counts.io <= upper


@pytest.mark.parametrize(("n", "b"), [(1, 1), (2, 1), (2, 2), (4, 2), (6, 3)])
def test_blocks_that_are_nowhere_split(n: int, b: int) -> None:
    algorithm = al.loads(BLOCKS)["main"]
    lower, upper = algorithm.cost().io.at(n=n, b=b, Z=8, L=2)  # type: ignore[misc]
    run = algorithm.run(A=np.zeros((n, n)), b=b, cache=al.Cache(Z=8, L=2))
    assert lower <= run.counts.io <= upper
