"""Runs of the library's records and algorithms of graphs: results are Python's, counts those that are derived."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archline.claims.decide import decide_claims
from archline.expr.values import evaluate_fact
from archline.language import syntax as s
from effort import drawn
from recursive_programs.agreement import disagreements, executed
from stdlib_cases import derived, execute_case, load
from stdlib_structures_cases import STRUCTURES

METRICS = ("flops", "work", "span")


@pytest.mark.parametrize("target", STRUCTURES)
@settings(max_examples=drawn(20), deadline=None)
@given(data=st.data())
def test_runs(target: str, data: st.DataObject) -> None:
    case = STRUCTURES[target]
    arguments = data.draw(case.arguments)
    expected = case.results(arguments)
    ran = execute_case(target, arguments, expected)
    assert set(ran.results) == set(expected)
    for name, value in expected.items():
        np.testing.assert_allclose(ran.results[name], value, rtol=1e-9, atol=1e-9, err_msg=name)
    assert not list(disagreements(derived(target), executed(ran.counts), ran.sizes))
    for each in load(target)[1].ensures:
        if each.metric in METRICS and each.relation in ("==", "<=", ">="):
            count = s.Integer(getattr(ran.counts, each.metric), span=each.span)
            claim = s.Binary(each.relation, count, each.bound, span=each.span)
            assert evaluate_fact(claim, ran.sizes), (each.metric, each.relation, count.value, ran.sizes)


@pytest.mark.parametrize("target", STRUCTURES)
def test_costs_are_ensured(target: str) -> None:
    module, algorithm = load(target)
    assert algorithm.doc
    assert {each.metric for each in algorithm.ensures} == set(METRICS)
    exact = {cost.metric for cost in derived(target) if cost.exact and cost.metric in METRICS}
    assert exact == {each.metric for each in algorithm.ensures if each.relation == "=="}
    assert {verdict.outcome for verdict in decide_claims(module, algorithm, derived(target))} == {"holds"}
