"""The standard library costs what it ensures: executed counts against each `ensures` at the sizes of a run."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archline.language import syntax as s
from archline.language.evaluate import holds
from stdlib_cases import CASES, execute_case, load

METRICS = ("flops", "work", "span")
COMPARISONS = ("==", "<=", ">=")

BOUNDED = {
    "sort.lower_bound::lower_bound": {"flops", "work", "span"},
    "sort.insertion_sort::insertion_sort": {"flops", "work", "span"},
    "sort.merge::merge": {"flops", "work", "span"},
    "nbody.fmm_u::fmm_u": {"flops", "work", "span"},
    "sparse.block::spmv_block": {"span"},
}
"""What depends on the data; everything else is ensured exactly."""


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


@pytest.mark.parametrize("target", CASES)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_counts(target: str, data: st.DataObject) -> None:
    arguments = data.draw(CASES[target].arguments)
    ran = execute_case(target, arguments, CASES[target].results(arguments))
    assert all(holds(fact, ran.sizes) for fact in load(target)[1].where)
    for each in compared(target):
        count = s.Integer(value=getattr(ran.counts, each.metric), span=each.span)
        claim = s.Binary(op=each.relation, left=count, right=each.bound, span=each.span)
        assert holds(claim, ran.sizes), (each.metric, each.relation, count.value, ran.sizes)
