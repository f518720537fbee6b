"""Terms of calls that halve all sizes down to leaves of a fixed size, and the bounds of LCS by quadrants."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from archline.algebra.evaluate.exact import evaluate
from archline.algebra.polynomial import Poly
from archline.algebra.printing import to_text
from archline.analysis.analyse import derive
from archline.analysis.metrics.recursion import Derivation
from archline.growth.candidates import shapes, written
from archline.language.loader import load_path, load_text
from archline.recurrences.exact.halved_sizes import halved_sizes, leveled, levels_of
from archline.recurrences.exact.transitions import Transition, steps_of
from archline.recurrences.model import Function

STDLIB = Path(__file__).parents[2] / "stdlib"
HALVES = {"n//2": (0, 0), "n - n//2": (1, 0), "m//2": (0, 0), "m - m//2": (1, 0), "n//2 + 1": (0, 1)}
"""What is added before and after a size is halved."""


def main(rows: str, columns: str, calls: int, leaf: int) -> tuple[Function, list[Transition]]:
    """A recursion on two sizes, both above the leaf's, and its steps."""
    text = f"algorithm main(n: size, m: size):\n    if n > {leaf} and m > {leaf}:\n"
    module = load_text(text + f"        main({rows}, {columns})\n" * calls, "main.algo")
    function = Derivation(module, False).recursions.extracted(module.algorithms["main"]).function("work", True)
    assert function is not None
    return function, [step for equation in function.equations for step in steps_of(equation, True)]


def half(size: int, given: str) -> int:
    before, after = HALVES[given]
    return (size + before) // 2 + after


@pytest.mark.parametrize("calls", [3, 5, 7])
@pytest.mark.parametrize(("rows", "columns"), [("n//2", "m//2"), ("n - n//2", "m//2"), ("n - n//2", "m - m//2")])
@pytest.mark.parametrize("leaf", [1, 5, 16])
def test_calls_have_their_part_of_each_term(calls: int, rows: str, columns: str, leaf: int) -> None:
    found = leveled(*main(rows, columns, calls, leaf))
    # Of both sizes, of either and of none, each from both sides; one calls have at most a part of, one at least.
    assert [each.sign for each in found] == [1, -1] * 4
    for element, n, m in product(found, (17, 18, 31, 32, 33, 34, 127, 1000), (17, 22, 32, 35, 63, 65, 4095)):
        whole = evaluate(element.value, {"n": n, "m": m})
        part = evaluate(element.value, {"n": half(n, rows), "m": half(m, columns)})
        assert calls * part <= whole if element.sign == 1 else calls * part >= whole


@pytest.mark.parametrize("leaf", [1, 5, 16])
def test_levels_are_the_least_and_greatest_numbers_of_halvings(leaf: int) -> None:
    function, steps = main("n//2", "m - m//2", 3, leaf)
    levels = levels_of(halved_sizes(function, steps), [step for step in steps if step.calls])
    assert levels is not None
    for n in range(1, 40 * leaf):
        least, most, small, large = 0, 0, n, n
        while small > leaf:
            small, least = small // 2, least + 1
        while large > leaf:
            large, most = (large + 1) // 2, most + 1
        at = {"n": n, "m": n + 7}
        assert (evaluate(levels.least, at), evaluate(levels.most, at)) == (least, most)


def test_no_terms_where_a_call_has_more_than_half() -> None:
    assert leveled(*main("n//2 + 1", "m//2", 3, 9)) == ()


def test_bounds_of_lcs_by_quadrants_are_near() -> None:
    module = load_path(STDLIB / "string/lcs.algo")
    cost = derive(module, module.algorithms["lcs_co"])["span"]
    assert cost.lower is not None
    assert cost.upper is not None
    assert cost.ends is not None
    for n, m in product((17, 31, 32, 33, 64, 65, 129, 1000, 1024, 1025), repeat=2):
        at = {"n": n, "m": m}
        low, high = evaluate(cost.lower, at), evaluate(cost.upper, at)
        least, most = cost.ends(at)
        assert low <= least
        assert most <= high
        assert high <= 3 * low


def test_the_least_of_two_sizes_is_read_and_shown() -> None:
    levels = levels_of(halved_sizes(*(known := main("n//2", "m//2", 3, 16))), [s for s in known[1] if s.calls])
    assert levels is not None
    assert to_text(levels.most) == "ceil(log2(max(1, min(ceil(m/16), ceil(n/16)))))"
    assert to_text(levels.least) == "ceil(log2(max(1, min(floor(m/17), floor(n/17)) + 1)))"
    n, m = Poly.symbol("n"), Poly.symbol("m")
    both = next(each.value for each in leveled(*known) if {"n", "m"} <= each.value.names)
    assert written(shapes(both, ("n", "m")), ("n", "m")) == "n*m*min(n, m)^(log2(3) - 2)"
    assert written(shapes(n * m + m, ("n", "m")), ("n", "m")) == "n*m"
