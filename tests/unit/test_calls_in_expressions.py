"""Calls of algorithms inside expressions cost 1 plus their body, where and when the expression is evaluated."""

from __future__ import annotations

import pytest

from archline.analysis.analyse import derive
from archline.language.diagnostics import ArchlineError
from archline.language.loader import load_text
from derived_counts import assert_agreement
from effort import TRIED_MODES
from executor_programs import run

SQUARE = """algorithm square(x: real) -> real:
    return x*x

algorithm count(x: real[n], least: real) -> int:
    local c: int = 0
    for i in 0..n:
        if x[i] > least:
            c += 1
    return c

algorithm f(x: inout real[n], k: int) -> real:
    local s: real = 0
"""


def work(lines: str, n: int = 4, k: int = 2) -> int:
    """The executed work of lines of a program, less that of the call around them; derived counts enclose all counts."""
    text = SQUARE + "".join(f"    {line}\n" for line in lines.split("\n")) + "    return s\n"
    module = load_text(text)
    algorithm = module.algorithms["f"]
    costs = derive(module, algorithm)
    for compiled in TRIED_MODES:
        result = run(text, {"x": [float(i) for i in range(n)], "k": k}, compiled=compiled)
        assert_agreement(costs, result, text)
    return result.counts.work - 1


@pytest.mark.parametrize(
    ("lines", "counted"),
    [
        ("s = square(2.0) + 1.0", 3),
        ("s += square(x[1])", 3),
        ("s = square(square(2.0))*square(3.0)", 7),
        ("x[count(x, 1.5)] = 1.0", 1 + 4*2 + 4 + 2),
        ("if count(x, 1.5) == 2:\n    s = 1.0", 15 + 1 + 1),
        ("if k > 5 and count(x, 1.5) == 2:\n    s = 1.0", 2),
        ("if k > 1 and count(x, 1.5) == 2:\n    s = 1.0", 2 + 15 + 1),
        ("if k > 1 or square(1.0) > 0.0:\n    s = 1.0", 2),
        ("if not (k > 3 or square(1.0) > 4.0):\n    s = 1.0", 2 + 2 + 1),
        ("for i in 0..count(x, 0.5):\n    s += 1.0", 1 + 4*2 + 4 + 3 + 3*2),
        ("x[:] = square(2.0)", 2 + 4),
    ],
)  # fmt: skip
def test_a_call_counts_where_it_is_evaluated(lines: str, counted: int) -> None:
    assert work(lines) == counted


def test_a_while_evaluates_its_calls_before_each_iteration() -> None:
    lines = "local m: int = 0\nwhile count(x, 0.5) > m at most n times:\n    m += 1"
    assert work(lines) == 4*(1 + 1 + 1 + 4*2 + 4 + 3) + 3*2  # fmt: skip


def test_calls_of_the_algorithm_itself() -> None:
    text = """algorithm fib(n: size) -> int:
    local r: int = n
    if n >= 2:
        r = fib(n - 1) + fib(n - 2)
    return r
"""
    module = load_text(text)
    costs = derive(module, module.algorithms["fib"])
    for n in range(9):
        result = run(text, {"n": n})
        assert result.value == [0, 1, 1, 2, 3, 5, 8, 13, 21][n]
        assert_agreement(costs, result, text)


@pytest.mark.parametrize("line", ["assume square(2.0) > 1.0", "square(2.0)", "spawn square(2.0)"])
def test_calls_that_are_refused(line: str) -> None:
    with pytest.raises(ArchlineError) as problem:
        load_text(SQUARE + f"    {line}\n    return s\n")
    assert [diagnostic.rule.code for diagnostic in problem.value.diagnostics] == ["AL253"]


def test_an_algorithm_on_a_grid_hands_no_result_back() -> None:
    text = """algorithm g(x: local real[s]) -> real on grid(r: P):
    return x[0]

algorithm f(X: real[n]) on grid(r: P):
    local x: real[1] = 0
    x[0] = 1 + g(x)
"""
    with pytest.raises(ArchlineError, match=r"AL253.*hands no result back"):
        load_text(text)
