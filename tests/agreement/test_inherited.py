"""Facts about the outermost call of a recursion: those that all calls inherit, and those that say nothing of others."""

from __future__ import annotations

import pytest

import archline as al
from archline.expr.text import format_fact
from archline.ir.recursive import inherited_facts
from archline.language.diagnostics import ArchlineError
from archline.language.parser import parse_facts
from stdlib_cases import load

HELD = {
    # n, m and p are halved one at a time.
    "dense.matmul::matmul_co": {
        "n is power of 2": True,
        "n <= 100": True,
        "n >= 64": False,
        "n == 64": False,
        "n == m": False,
        "n >= m": False,
        "m*p <= n": False,
        "Z >= L^2": True,
    },
    "sort.mergesort::mergesort": {"n >= 64": False, "n <= 64": True, "n is power of 2": True, "n is power of 3": False},
    # The leaf is told by another size.
    "dense.transpose_recursive::transpose_co": {"m <= 7, n <= 9": True, "n >= 2*m": False},
    "dense.matmul::matmul_basic": {"n >= 64": True, "n == m": True},
}


@pytest.mark.parametrize(("target", "text"), [(target, text) for target, each in HELD.items() for text in each])
def test_what_calls_inherit(target: str, text: str) -> None:
    found = inherited_facts(*load(target), parse_facts(text))
    assert (len(found) == len(parse_facts(text))) == HELD[target][text], [format_fact(each) for each in found]


@pytest.mark.parametrize("fact", ["n >= 64", "n == 64", "n >= m, n >= 20", "n is power of 2", "n <= 64"])
@pytest.mark.parametrize(
    "target", ["dense.matmul::matmul_co", "sort.mergesort::mergesort", "dense.lu_recursive::lu_co"]
)
def test_costs_under_facts_are_those_of_a_run(target: str, fact: str) -> None:
    """Whatever is known of the outermost call."""
    if " m" in fact and "matmul" not in target:
        fact = "n >= 20"
    algorithm = al.algorithm(target)
    at = {**dict.fromkeys(algorithm.sizes, 64), "Z": 64, "L": 8}
    told, plain = algorithm.cost(where=fact), algorithm.cost()
    for metric in ("flops", "work", "span", "io"):
        assert told[metric].at(**at) == plain[metric].at(**at)
    assert all(text in told.assumptions for text in map(format_fact, parse_facts(fact)))


def test_a_fact_of_the_outermost_call_is_checked_there_alone() -> None:
    from archline.api.running import run_at
    from archline.costs.sizes import convert_python_values

    narrowed = al.algorithm("sort.mergesort::mergesort").assuming("n >= 20")
    assert run_at(narrowed, convert_python_values({"n": 20}), al.Cache(Z=64, L=4)).counts.io
    with pytest.raises(ArchlineError, match="n >= 20"):
        narrowed.run(a=[2.0, 1.0])


@pytest.mark.parametrize("fact", ["n >= 64", "n == m", "n == 64", "m <= 3"])
def test_what_is_ensured_exactly_holds_under_facts(fact: str) -> None:
    """The flops of a product are 2*n*m*p whatever is known of the first call."""
    contracts = al.algorithm("dense.matmul::matmul_co").cost(where=fact).view().contracts
    assert [each.outcome for each in contracts if each.text == "flops == 2*n*m*p"] == ["holds"]


@pytest.mark.parametrize("facts", ["n >= 5, n <= 3", "n <= 0", "m == 4, m >= 5"])
def test_facts_that_no_sizes_satisfy_are_refused(facts: str) -> None:
    """Under them everything would hold."""
    with pytest.raises(ArchlineError) as caught:
        al.algorithm("dense.matmul::matmul_basic").cost(where=facts)
    assert [each.rule.code for each in caught.value.diagnostics] == ["AL483"]
