"""Drafts that compose the features of the language mean, and cost, what a second reading of the rules says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import archline as al
from archline.api.texts import format_source
from archline.expr.tree import Source
from draft_interpreter import Interpreter
from draft_programs import arguments_of, draft_from_seed
from effort import long, some

METRICS = ("flops", "work", "span", "accesses")


SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 11, 16)


def same(left: Any, right: Any) -> bool:
    """Test whether two results, numbers or arrays, are equal."""
    if left is None or right is None:
        return left is right
    return np.allclose(np.array(left, dtype=float), np.array(right, dtype=float), rtol=1e-9, equal_nan=True)


def check_run(text: str, algorithm: al.Algorithm, arguments: Mapping[str, Any], cache: str | None = None) -> None:
    """Check that a run lies in its derived bounds, and gives and counts what the interpreter does."""
    interpreter = Interpreter(text)
    value = interpreter.run(algorithm.name, arguments)
    run = algorithm.run(dict(arguments), cache=cache)
    assert run.outside == (), f"{text}\n{run}"
    executed = run.view.counts.executed
    counted = {metric: getattr(interpreter, metric) for metric in METRICS}
    assert {metric: executed[metric] for metric in METRICS} == counted, text
    assert same(value, run.value), text
    for name, output in run.outputs.items():
        assert same(interpreter.left[name], output), text


def check_text(text: str, arguments: dict[str, Any]) -> None:
    """Check a run of the last algorithm of a text, and of its canonical form."""
    for written in (text, format_source(Source("draft.algo", text))):
        module = al.loads(written)
        check_run(written, module[list(module)[-1]], arguments)


def check_program(seed: int, depth: int | None = None) -> None:
    """Check a random program at all sizes, with io at the small ones, and the costs of its canonical form."""
    text = draft_from_seed(seed, depth)
    module = al.loads(text)
    canonical = format_source(Source("draft.algo", text))
    assert format_source(Source("draft.algo", canonical)) == canonical, text
    formatted = al.loads(canonical)
    for name in module:
        before, after = module[name].cost(), formatted[name].cost()
        for metric in ("flops", "work", "span"):
            assert before[metric].text == after[metric].text, text
    for n in SIZES:
        check_run(text, module["f"], arguments_of(text, seed, n), cache="Z=16,L=2" if n < 6 else None)


@pytest.mark.parametrize("seed", some(range(25), 6))
def test_a_small_draft_costs_what_the_rules_say(seed: int) -> None:
    check_program(seed, 1 + seed % 2)


@long
@pytest.mark.parametrize("seed", range(1000, 1200))
def test_a_draft_costs_what_the_rules_say(seed: int) -> None:
    check_program(seed)


def test_a_size_that_is_assigned_stays_the_extent_of_its_arrays() -> None:
    """Loops over whole arrays take all elements, whatever the name of the size holds by then."""
    text = """
algorithm f(a: real[n], y: inout real[n]) -> real:
    n = n//2
    h = n + 1
    z = a + y
    z[1:] = h
    while n > 0:
        n = n - 1
        r = 3*a
        y += r
    y += z
    return sum(a) + len(a)
"""
    check_text(text, {"a": [1.0, 2.0, 3.0], "y": [0.0, 0.0, 0.0]})
    assert al.loads(text)["f"].run(a=[1.0, 2.0, 3.0], y=np.zeros(3)).value == 9.0


def test_a_name_that_only_a_block_inside_sets_is_data() -> None:
    text = """
algorithm f(a: real[n]):
    for i in 0..n:
        if a[i] > 1.5:
            last = i
    after = last + 1
    return after*2
"""
    check_text(text, {"a": [1.0, 2.0]})


def test_a_name_that_calls_in_expressions_set_is_data() -> None:
    text = """
def g(u: inout int) -> int:
    u += 1
    return u*2

def f(a: real[n]) -> int:
    c = 0
    d = g(c) + g(c)*10
    if g(c) > 3 and n > 1: d += 1
    return d + c
"""
    check_text(text, {"a": [1.0, 2.0]})
    assert al.loads(text)["f"].run(a=[1.0, 2.0]).value == 46


def test_a_place_that_a_call_sets_is_found_before_the_call() -> None:
    """Its subscripts are evaluated once, whatever else the call sets."""
    text = """
def h(u: inout int, v: inout int)
    u += 1
    v = 9

def f(c: inout int[n], q: int):
    h(c[0], c[c[0]])
    h(q, c[(c[2] + q) % n])
"""
    check_text(text, {"c": [1, 2, 3], "q": 2})
    assert al.loads(text)["f"].run(c=[1, 2, 3], q=2).outputs["c"].tolist() == [2, 9, 9]


def test_a_sum_and_a_reduction_go_over_a_range_of_python() -> None:
    text = """
def f(a: real[n]) -> real:
    s = 0
    parallel for i in range(1, n) with + on s: s += a[i]*a[i]
    return s + sum(a[i]*2 for i in range(n) if a[i] > 1)
"""
    check_text(text, {"a": [1.0, 2.0, 3.0]})
    with pytest.raises(al.ArchlineError, match="a sum goes over a range"):
        al.loads("def f(a: real[n]) -> real:\n    return sum(v*v for v in a)\n")


def test_increments_may_share_a_line() -> None:
    text = """
def f(k: inout int[n]) -> int:
    i, j = 0, 0
    while i < n:
        k[i]++; i++; j--;
    return i + j
"""
    check_text(text, {"k": [1, 2, 3]})


def test_overlapping_rows_and_outputs_in_loops_count_as_the_rules_say() -> None:
    text = """
def g(x: real, y: out real, z: out int):
    y = x
    z = 0
    while y > 1.0 and z < 5:
        y /= 2; z += 1
    if z > 2: y, z = y*2, z - 1

def f(A: inout real[n, m], c: real[m]) -> real:
    for j in range(m): A[:, j] -= c[j]
    A[1:, :] = A[0..n-1, :]*0.5
    t = 0
    for v in c:
        g(v*4, p, q)
        t += p*q
    return t + max(A) + norm(A[:, 0]*2)
"""
    check_text(text, {"A": np.arange(6.0).reshape(3, 2), "c": [1.0, 2.5]})
