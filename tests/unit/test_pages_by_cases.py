"""Pages of costs by cases of the sizes: each case is shown, with a growth that holds in it."""

from __future__ import annotations

import pytest

from archline.report.view import contract_text
from printed_claims import verdicts

APART = {
    "an odd half": ("n//2 != m", "m*n"),
    "another size": ("k != m", "m*m"),
    "another size, or a smaller one": ("k != m and n <= m", "m*m"),
    "two sizes": ("n != m", "m*m"),
    "a distance": ("n != m + 3", "m*m*m"),
    "a double": ("n != 2*m", "n*m"),
    "a half, rounded up": ("(n + 1)//2 != m", "m*m"),
    "two others": ("k != m and k != n", "n*n*m"),
    "far from a size": ("n > m + 2 or n + 2 < m", "m*m"),
    "a number": ("n != 5", "n*m"),
}
"""Conditions under which n is added, and what is added else."""


def program(condition: str, otherwise: str) -> str:
    return f"""algorithm f(n: size, m: size, k: size, x: inout real[1]):
    if {condition}:
        for i in 0..n:
            x[0] += 1.0
    else:
        for i in 0..{otherwise}:
            x[0] += 1.0
"""


def check(text: str, path) -> None:
    file = path / "program.algo"
    file.write_text(text)
    others = [each for each in verdicts(f"{file}::f", ["flops"]) if each.outcome == "fails"]
    assert not [f"{contract_text(each.ensures)}: {each.reason}" for each in others]


@pytest.mark.parametrize("name", APART)
def test_growth_beside_an_equality_holds_on_each_side_of_it(name, tmp_path):
    check(program(*APART[name]), tmp_path)
