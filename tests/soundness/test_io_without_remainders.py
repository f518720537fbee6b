"""Easier references do all that the program does, and more: every iteration and every place, and nothing for certain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import archline as al
from archline.algebra.evaluate.exact import evaluate
from archline.analysis.cache.footprint.grouping import references
from archline.analysis.cache.footprint.upper import Reference
from archline.analysis.cache.upper.relax_modulo import without_remainders
from archline.ir.lower import Lowering
from archline.ir.tree import Chain, accesses
from archline.language.loader import load_text
from parity_programs import parity_program_from_seed

Point = Mapping[str, int]
RED_BLACK = """
algorithm main(u: inout real[n, m], f: real[n, m], steps: size):
    where n >= 3, m >= 3
    for t in 0..steps:
        for color in 0..2:
            parallel for i in 1..n-1:
                for j in 1 + (i + color) % 2..m-1 step 2:
                    u[i, j] = 0.25*(u[i-1, j] + u[i+1, j] + u[i, j-1] + u[i, j+1] - f[i, j])
"""


def iterations(chain: Chain, point: Point) -> Iterator[Point]:
    """The counters of loops, as they are run."""
    if not chain:
        yield point
        return
    loop, *inside = chain
    for value in range(int(evaluate(loop.lo, point)), int(evaluate(loop.hi, point))):
        yield from iterations(tuple(inside), {**point, loop.variable: value})


def test_what_is_done_is_done_in_the_easier_form() -> None:
    found = 0
    for seed in range(40):
        module = load_text(parity_program_from_seed(seed).text)
        scope, nodes = Lowering(module).trace(module.algorithms["main"])
        plain = references(accesses(nodes), scope.facts)
        easier = without_remainders(plain)
        if easier is not None:
            found += 1
            assert_no_less(plain, easier)
    assert found >= 35


def assert_no_less(plain: Sequence[Reference], easier: Sequence[Reference]) -> None:
    for n, m, steps in ((7, 14, 1), (9, 17, 2), (10, 20, 3)):
        for one, other in zip(plain, easier, strict=True):
            assert not any(access.certain for access in other.accesses)
            for point in iterations(one.chain, {"n": n, "m": m, "steps": steps}):
                for loop in other.chain:
                    assert evaluate(loop.lo, point) <= point[loop.variable] < evaluate(loop.hi, point)
                    assert evaluate(loop.trips, point) >= evaluate(loop.hi, point) - evaluate(loop.lo, point)
                for before, after in zip(one.place, other.place, strict=True):
                    assert before is not None
                    assert after is not None
                    assert evaluate(after[0], point) <= evaluate(before[0], point)
                    assert evaluate(before[1], point) <= evaluate(after[1], point)


def test_a_program_without_remainders_is_as_easy_as_it_gets() -> None:
    module = al.algorithm("stencil.jacobi_2d::jacobi_2d").module
    scope, nodes = Lowering(module).trace(module.algorithms["jacobi_2d"])
    assert without_remainders(references(accesses(nodes), scope.facts)) is None


def test_red_and_black_points_keep_three_rows() -> None:
    """Each row of u and of f is fetched once for each colour in each step: 4 times the words of a grid over L."""
    cost = al.loads(RED_BLACK)["main"].cost()
    n, m, steps, line = 60, 801, 5, 8
    rows = 3 * (m // line + 2) + 6
    lower, upper = cost.io.at(n=n, m=m, steps=steps, Z=rows * line, L=line)  # type: ignore[misc]
    assert upper <= 1.1 * 4 * n * m * steps / line
    assert lower >= 2 * (n - 2) * (m - 2) / line / 2
