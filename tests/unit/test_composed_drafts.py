"""Drafts that compose the features of the language mean, and cost, what a second reading of the rules says."""

from __future__ import annotations

import numpy as np

import archline as al
from archline.api.texts import format_source
from archline.expr.tree import Source
from draft_interpreter import Interpreter

METRICS = ("flops", "work", "span", "accesses")


def check_text(text: str, arguments: dict[str, object]) -> None:
    """Check that a run of the last algorithm counts what the interpreter counts, as its canonical form does."""
    for written in (text, format_source(Source("draft.algo", text))):
        module = al.loads(written)
        name = list(module)[-1]
        interpreter = Interpreter(written)
        interpreter.run(name, arguments)
        run = module[name].run(dict(arguments))
        assert run.outside == ()
        assert {metric: run.view.counts.executed[metric] for metric in METRICS} == {
            metric: getattr(interpreter, metric) for metric in METRICS
        }


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
