"""Rows that begin at a remainder of counters keep what others keep."""

from __future__ import annotations

import archline as al

RED_BLACK = """
algorithm main(u: inout real[n, m], f: real[n, m], steps: size):
    where n >= 3, m >= 3
    for t in 0..steps:
        for color in 0..2:
            parallel for i in 1..n-1:
                for j in 1 + (i + color) % 2..m-1 step 2:
                    u[i, j] = 0.25*(u[i-1, j] + u[i+1, j] + u[i, j-1] + u[i, j+1] - f[i, j])
"""


def test_red_and_black_points_keep_three_rows() -> None:
    """Each row of u and of f is fetched once for each colour in each step: 4 times the words of a grid over L."""
    cost = al.loads(RED_BLACK)["main"].cost()
    n, m, steps, line = 60, 801, 5, 8
    rows = 3 * (m // line + 2) + 6
    lower, upper = cost.io.at(n=n, m=m, steps=steps, Z=rows * line, L=line)  # type: ignore[misc]
    assert upper <= 1.1 * 4 * n * m * steps / line
    assert lower >= 2 * (n - 2) * (m - 2) / line / 2
