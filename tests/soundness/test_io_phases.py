"""Programs run as two, the last iterations of which fit into the cache: what one counts by hand."""

from __future__ import annotations

import pytest

from io_points import least_of_library, of_library, subject

SWEEPS = """
algorithm main(x: real[n], y: real[n], n: size) -> real:
    local s: real = 0
    for i in 0..n:
        for j in i..n:
            s += x[j]
        for j in i..n:
            s += y[j]
    return s
"""


@pytest.mark.parametrize(("n", "turn"), [(10, 6), (10, 9), (31, 16), (100, 90)])
def test_the_last_sweeps_fit(n: int, turn: int) -> None:
    """Before the turn each access fetches; from there on all that is left of both vectors is kept."""
    lines = 2 * (n - turn)
    point = {"n": n, "Z": lines, "L": 1}
    swept = sum(2 * (n - each) for each in range(turn))
    assert subject(SWEEPS).bounds.ends(point)[1] <= swept + lines


NEAR = {
    # The rest of the triangle fits from the fifth column on.
    "dense.cholesky::cholesky_parallel": ({"n": 12, "Z": 92, "L": 8}, 5),
    "dense.lu::lu": ({"n": 40, "Z": 776, "L": 8}, 2.6),
    # The first sweeps need one line of each vector, and the last ones another.
    "polybench.durbin::durbin": ({"n": 9, "Z": 26, "L": 8}, 2),
}


@pytest.mark.parametrize("target", sorted(NEAR))
def test_near_the_least(target: str) -> None:
    point, factor = NEAR[target]
    fetched = least_of_library(target, point)
    assert fetched <= of_library(target, point) <= factor * fetched
