"""Loops whose variable a factor moves: what is derived for `for`, and for the same loop as a `while`, holds in runs."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import archline as al
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.facts import Facts
from archline.algebra.polynomial import Poly
from archline.analysis.analyse import derive
from archline.api.algorithms import Algorithm
from archline.ir.factors import count_divisions, count_multiplications
from archline.language import syntax as s
from derived_counts import assert_agreement
from effort import drawn

UP = ("1..n", "1..n + 1", "1..m*n", "m..n", "3..n", "2*m..3*n", "n..m")
DOWN = ("n downto 1", "n downto m", "m downto 2", "2*n - 1 downto 3", "n*m downto n", "n - 3 downto 1")
FACTORS = (2, 3, 4, 5, 7, 8, 10, 16, 100)
BODIES = (
    "x[0] += 1.0",
    "x[min(s, 0)] += x[s % 4]",
    "for j in 0..s:\n    x[0] += 1.0",
    "for j in s..2*n*m:\n    x[0] += 1.0",
    "if s > 4:\n    x[1] = x[0]*2.0",
    "if x[0] < 3.0:\n    x[0] += 1.0\nelse:\n    for j in 0..m:\n        x[2] *= 1.5",
    "if x[0] > 5.0:\n    break\nx[0] += 1.0",
    "if x[1] > 0.5:\n    continue\nx[0] += 1.0",
    "for r in s downto 1 step /2:\n    x[1] += 1.0",
    "for r in 1..s step *3:\n    x[1] += 1.0\n    x[2] += 1.0",
    "parallel for r in 1..s step *2:\n    atomic x[0] += 1.0",
    "x[s] += x[s - 1]",
    "for j in 0..s:\n    x[j] += 1.0",
    "for j in 0..n - s step 2*s:\n    x[j] += x[j + s]",
    "for j in 0..n:\n    x[j] += x[s]",
    "for r in s downto 1 step /2:\n    x[r] += x[s]",
    "for r in 1..s step *3:\n    x[r] += x[s + r]",
)
AROUND = ("", "for r0 in 1..m + 1:\n    {}", "for r0 in 0..m:\n    if x[r0 % 4] > 0.5:\n        {}")


def indented(text: str, depth: int) -> str:
    return text.replace("\n", "\n" + "    " * depth)


@cache
def load(range_: str, step: str, body: str, around: str, as_while: bool) -> Algorithm:
    loop = f"for s in {range_} step {step}:\n    {indented(body, 1)}"
    if as_while:
        start, end = re.split(r"\.\.| downto ", range_)
        test, move = (f"s < {end}", f"s *= {step[1:]}") if step[0] == "*" else (f"s >= {end}", f"s = s//{step[1:]}")
        loop = f"local s: int = {start}\nwhile {test}:\n    {indented(body, 1)}\n    {move}"
    whole = around.format(indented(loop, 1 + around.count("if"))) if around else loop
    return al.loads(f"algorithm f(n: size, m: size, x: inout real[4*n*m + 4]):\n    {indented(whole, 1)}\n")["f"]


@st.composite
def sizes_beside_powers(draw: st.DrawFn, factor: int) -> int:
    power = factor ** draw(st.integers(0, 5 if factor < 6 else 2))
    return max(1, min(power, 700) + draw(st.integers(-1, 1)))


@settings(max_examples=drawn(1000, 40))
@given(data=st.data())
def test_costs_hold_in_runs(data: st.DataObject) -> None:
    factor = data.draw(st.sampled_from(FACTORS), "factor")
    sign = data.draw(st.sampled_from("*/"), "sign")
    range_ = data.draw(st.sampled_from(UP if sign == "*" else DOWN), "range")
    body, around = data.draw(st.sampled_from(BODIES), "body"), data.draw(st.sampled_from(AROUND), "around")
    as_while = "continue" not in body and data.draw(st.booleans(), "while")
    algorithm = load(range_, f"{sign}{factor}", body, around, as_while)
    n, m = data.draw(sizes_beside_powers(factor), "n"), data.draw(st.integers(1, 6), "m")
    values = [data.draw(st.sampled_from((0.0, 1.0, 9.0)), f"x[{place}]") for place in range(4)]
    size, line = data.draw(st.sampled_from(((2, 1), (8, 2), (64, 4), (4096, 8))), "Z, L")
    cache = al.Cache(Z=size, L=line)
    run = algorithm.run(n=n, m=m, x=np.resize(values, 4 * n * m + 4), cache=cache, compiled=False)
    costs = derive(algorithm.module, algorithm.node)
    assert all(cost.upper is not None for cost in costs) or as_while
    assert_agreement(costs, run.execution, f"{range_} step {sign}{factor}: {body} in {around}")
    io = algorithm.cost().io
    if io.status == "unknown":
        assert "2*s" in body or as_while
        return
    found = io.at(n=n, m=m, Z=size, L=line, **run.execution.iterations)
    lower, upper = found if isinstance(found, tuple) else (found, found)
    assert lower <= run.counts.io <= upper


@given(lo=st.integers(1, 300), hi=st.integers(1, 3000), factor=st.integers(2, 40), down=st.booleans())
@settings(max_examples=drawn(3000, 300))
def test_counts_of_steps(lo: int, hi: int, factor: int, down: bool) -> None:
    start, end = (hi, lo) if down else (lo, hi)
    steps = (count_divisions if down else count_multiplications)(
        Poly.symbol("a"), Poly.symbol("b"), factor, Facts().with_symbol("a", (Poly.constant(1),), ())
    )

    number = len(s.list_loop_values(start, end, factor, down, True))
    assert evaluate(steps, {"a": start, "b": end}) == number


@pytest.mark.parametrize("as_while", [False, True])
def test_sums_over_powers_that_are_no_powers_of_2(as_while: bool) -> None:
    """The sum of all powers below the end is half of the first one that is not."""
    algorithm = load("1..n", "*3", "for j in 0..s:\n    x[0] += 1.0", "", as_while)
    cost = algorithm.cost().flops
    assert (str(cost.upper), cost.growth) == ("3**ceiling(log(n)/log(3))/2 - 1/2", "Theta(n) where n >= 2")


def test_a_body_without_a_sum_has_a_maximum() -> None:
    algorithm = load("n//2 downto 1", "/2", "parallel for j in 0..s:\n    atomic x[0] += 1.0", "", False)
    assert algorithm.cost().flops.growth == "Theta(n) where n >= 2"
    assert algorithm.cost().span.status == "bounded"
