"""`ensures … is O, Omega, Theta`: what mathematics says holds, and what fails comes with sizes that one can check."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import archline as al
from archline.algebra import atoms as a
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.polynomial import Poly
from archline.analysis.analyse import derive
from archline.analysis.cost import enclose_count
from archline.claims.decide import decide_claims
from archline.claims.verdicts import Verdict
from archline.cost_growth.forms import _merge_logarithms
from archline.language.loader import load_text
from archline.numbers import significant

N = Poly.symbol("n")
TRIANGLE = "for i in 0..n-1:\n    for j in 0..i:\n        x[j] += 1.0"
HALVES = """
if n > 1:
    for i in 0..n:
        x[i] += 1.0
    spawn f(x[0..n//2])
    spawn f(x[n//2..n])
    sync"""
# T(n) = T(n//2) + T(n - n//2) + (n//2)*(n - n//2): n*(n - 1)/2.
HALVES_OF_PAIRS = """
if n > 1:
    f(x[0..n//2])
    f(x[n//2..n])
    for i in 0..n//2:
        for j in n//2..n:
            x[j] += 1.0"""
# Regimes n <= 3, where it is 0, and n > 3: T(n) = 2*T(n//2) + n.
COARSE = """
if n > 3:
    for i in 0..n:
        x[i] += 1.0
    f(x[0..n//2])
    f(x[n//2..n//2 + n//2])"""
# The span adds ceil(log2(n - 1 - i)) for every i: n*log2(n) less what is linear.
SHRINKING = "for i in 0..n:\n    parallel for j in i+1..n:\n        x[j] += 1.0"
QUARTERS = "if n > 3:\n    for i in 0..n:\n        x[i] += 1.0\n    f(x[0..n//4])\n    f(x[n//4..n//4 + n//4])"


def decided(claim: str, body: str, where: str = "") -> Verdict:
    contract = f"    where {where}\n" if where else ""
    indented = "\n".join(f"    {line}" for line in body.strip().splitlines())
    module = load_text(f"algorithm f(x: inout real[n]):\n{contract}    ensures {claim}\n{indented}\n")
    algorithm = module.algorithms["f"]
    (found,) = decide_claims(module, algorithm, derive(module, algorithm))
    return found


@pytest.mark.parametrize(
    ("claim", "body"),
    [
        ("work is Theta(n^2)", TRIANGLE),
        ("work is O(n^3)", TRIANGLE),
        ("work is Omega(n*log2(n))", TRIANGLE),
        # T(n) = T(n//2) + T(n - n//2) + n
        ("work is Theta(n*log2(n))", HALVES),
        ("work is O(n^2)", HALVES),
        ("flops is O(n*log2(n))", HALVES),
        # Both are 0 at n = 1.
        ("flops is Theta(n*log2(n))", HALVES),
        ("flops is Theta(n^2 - n)", HALVES_OF_PAIRS),
        ("flops is Theta(n^2) when n >= 2", HALVES_OF_PAIRS),
        ("span is Theta(n)", HALVES),
        ("span is Theta(n*log2(n))", SHRINKING),
        ("work is Theta(n^2)", SHRINKING),
        # T(n) = 2*T(n//4) + n: the root dominates.
        ("work is Theta(n)", QUARTERS),
        ("flops is O(n)", QUARTERS),
    ],
)
def test_holds(claim: str, body: str) -> None:
    found = decided(claim, body)
    assert found.outcome == "holds", found.reason


@pytest.mark.parametrize(
    ("claim", "body", "told"),
    [
        ("work is Theta(n)", TRIANGLE, "cost/claim is unbounded along"),
        ("work is O(n*log2(n))", TRIANGLE, "cost/claim is unbounded along"),
        ("work is Omega(n^3)", TRIANGLE, "claim/cost is unbounded along"),
        ("work is Theta(n)", HALVES, "cost/claim is unbounded along"),
        ("work is Omega(n^2)", HALVES, "claim/cost is unbounded along"),
        ("span is O(log2(n))", HALVES, "cost/claim is unbounded along"),
        ("span is O(n)", SHRINKING, "cost/claim is unbounded along"),
        ("span is Omega(n*log2(n)^2)", SHRINKING, "claim/cost is unbounded along"),
        ("work is Omega(n*log2(n))", QUARTERS, "claim/cost is unbounded along"),
        # At n = 1 there are no flops at all.
        ("flops is Theta(n^2)", TRIANGLE, "at n = 1 the claim is 1 and the cost 0"),
    ],
)
def test_fails_with_sizes_to_check(claim: str, body: str, told: str) -> None:
    found = decided(claim, body)
    assert found.outcome == "fails", found.reason
    assert told in found.reason
    assert "n = " in found.reason


def test_a_counterexample_shows_the_ratio_of_the_cost_itself_at_sizes_that_matter() -> None:
    module = load_text(
        "algorithm f(x: inout real[n]):\n" + "\n".join(f"    {each}" for each in HALVES.splitlines()[1:])
    )
    lower, _ = enclose_count(derive(module, module.algorithms["f"])["work"], {"n": 16}).ends
    found = decided("work is O(n)", HALVES)
    assert f"cost/claim is unbounded along n = 2^T: {significant(float(lower / 16), 3)} at n = 16, " in found.reason
    assert not {"Z", "L", "P", "K"} & set(found.reason.split())


def test_a_counterexample_lists_its_sizes_by_name_in_every_process() -> None:
    # Names come from sets, whose order differs from one process to the next.
    loop = "    for i in 0..a*b*c*d:\n        x[0] += 1.0\n"
    module = load_text(
        f"algorithm f(c: size, a: size, d: size, b: size, x: inout real[1]):\n    ensures flops is O(1)\n{loop}"
    )
    algorithm = module.algorithms["f"]
    (verdict,) = decide_claims(module, algorithm, derive(module, algorithm))
    assert re.findall("([abcd]) = ", verdict.reason) == [*"abcd"] * 4, verdict.reason


@settings(deadline=None)
@given(
    powers=st.lists(st.tuples(st.integers(-9, 9), st.integers(1, 2)), min_size=1, max_size=3),
    sign=st.sampled_from([1, -1]),
    size=st.integers(1, 200),
)
def test_merged_logarithms_bound_a_term(powers: list[tuple[int, int]], sign: int, size: int) -> None:
    term = N.scaled(sign)
    for more, power in powers:
        term = term * a.ceil_log2(N + more) ** power
    exact = evaluate(term, {"n": size})
    assert (
        evaluate(_merge_logarithms(term, False), {"n": size})
        <= exact
        <= evaluate(_merge_logarithms(term, True), {"n": size})
    )


@pytest.mark.parametrize(
    ("claim", "body", "place"),
    [
        ("flops is Theta(n^2)", HALVES_OF_PAIRS, "n = 1"),
        ("flops is Omega(n)", COARSE, "n = 1"),
        ("flops is Theta(n*log2(n))", COARSE, "n = 2"),
    ],
)
def test_a_cost_of_0_is_no_share_of_what_is_claimed(claim: str, body: str, place: str) -> None:
    found = decided(claim, body)
    assert found.outcome == "fails", found.reason
    told = ", ".join(f"{name} = {value}" for name, value in (found.point or {}).items())
    assert place in told + found.reason


def test_regimes_that_a_condition_leaves_out() -> None:
    found = decided("flops is Omega(n) when n >= 4", COARSE)
    assert found.outcome == "holds", found.reason


def test_a_fact_decides() -> None:
    assert decided("flops is Theta(n^2)", TRIANGLE, where="n >= 3").outcome == "holds"


def test_declared_costs_are_named() -> None:
    found = decided("work is Theta(n^2)", "for i in 0..n:\n    costs n work")
    assert found.outcome == "holds"
    assert "given what costs at line" in found.reason


def test_an_empty_range_of_indices_is_one_of_its_sizes() -> None:
    text = (
        "algorithm f(lo: index, hi: index, x: inout real[1]):\n"
        "    where lo <= hi\n"
        "    ensures work is O(hi - lo)\n"
        "    ensures work is O(hi - lo) when lo < hi\n"
        "    ensures work is O(hi - lo + 1)\n"
        "    x[0] = 1.0\n"
    )
    assert [verdict.outcome for verdict in al.loads(text)["f"].cost().ensures] == ["fails", "holds", "holds"]


def test_a_lower_bound_that_is_0_somewhere_proves_nothing_there() -> None:
    text = (
        "algorithm f(x: inout real[n]):\n"
        "    where n is power of 2\n"
        "    ensures io is Omega(1)\n"
        "    ensures io is Omega(1) when n >= 2\n"
        "    for d in 0..log2(n):\n"
        "        x[0] += 1.0\n"
    )
    assert [verdict.outcome for verdict in al.loads(text)["f"].cost().ensures] == ["fails", "holds"]
