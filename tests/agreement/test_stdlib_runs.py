"""Runs of the standard library: results are those of numpy and scipy, counts those that are derived and ensured."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archline.expr.values import holds
from archline.language import syntax as s
from effort import drawn
from recursive_programs.agreement import disagreements, executed
from stdlib_cases import CASES, Ran, derived, execute_case, load
from stdlib_recursive_cases import RECURSIVE
from stdlib_targets import ALL, BOUNDED

METRICS = ("flops", "work", "span")
COMPARISONS = ("==", "<=", ">=")


def compared(target: str) -> list[s.Ensures]:
    """The `ensures` that compare a counted metric with an expression."""
    return [each for each in load(target)[1].ensures if each.metric in METRICS and each.relation in COMPARISONS]


@pytest.mark.parametrize("target", CASES)
def test_every_cost_is_ensured(target: str) -> None:
    assert load(target)[1].doc
    relations = {metric: {e.relation for e in compared(target) if e.metric == metric} for metric in METRICS}
    bounded = BOUNDED.get(target, set())
    for metric, found in relations.items():
        assert ("<=" in found and "==" not in found) if metric in bounded else found == {"=="}, metric


@pytest.mark.parametrize("target", ALL)
@settings(max_examples=drawn(15), deadline=None)
@given(data=st.data())
def test_runs(target: str, data: st.DataObject) -> None:
    case = {**CASES, **RECURSIVE}[target]
    arguments = data.draw(case.arguments)
    expected = case.results(arguments)
    ran = execute_case(target, arguments, expected)
    assert set(ran.results) == set(expected)
    for name, value in expected.items():
        np.testing.assert_allclose(ran.results[name], value, rtol=1e-9, atol=1e-9, err_msg=name)
    assert_ensured(target, ran)
    assert not list(disagreements(derived(target), executed(ran.counts), ran.sizes))


def assert_ensured(target: str, ran: Ran) -> None:
    """What the algorithm requires of its sizes and ensures of its costs is so in this run."""
    assert all(holds(fact, ran.sizes) for fact in load(target)[1].where)
    for each in compared(target):
        count = s.Integer(value=getattr(ran.counts, each.metric), span=each.span)
        claim = s.Binary(op=each.relation, left=count, right=each.bound, span=each.span)
        assert holds(claim, ran.sizes), (each.metric, each.relation, count.value, ran.sizes)
