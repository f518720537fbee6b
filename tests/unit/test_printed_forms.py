"""What commands print of forms: no needless signs, and nothing that is always 0."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import archline as al
from archline.algebra.atoms import floor_div
from archline.algebra.polynomial import Poly
from archline.algebra.printing import to_text
from archline.costs.sizes import diagnose_broken_facts
from archline.expr.intervals import EvaluationError
from archline.expr.text import format_expression
from archline.expr.values import evaluate, evaluate_static
from archline.language import syntax as s
from archline.language.parser import parse_expression
from archline.report import derivation, documents
from archline.report.cost_view import CostView
from archline.report.costs import full
from archline.report.costs.page import render_first_page
from archline.report.json import render
from effort import drawn, some
from stdlib_targets import ALL, QUICK

TARGETS = [
    *("dense.lu::lu", "dense.cholesky::cholesky_parallel", "dense.matmul::matmul_blocked", "polybench.durbin::durbin"),
    *("stencil.jacobi_1d::jacobi_1d", "scan.prefix_sum::prefix_sum_tree", "sparse.csr::spmv_csr", "sort.merge::merge"),
    *("scan.reduce::maximum", *QUICK[:2]),
]
"""Of each kind of form one: triangles, tiles, stencils, reductions, sparse rows, recursion."""
FORBIDDEN = {
    r"\+ -": "a sum of something negative",
    r"- -": "a difference of something negative",
    r"max\(0, -": "a positive part that begins with a sign",
    r"floor\(1/[A-Za-z]\w*\)": "1 where lines have one word",
    r"log2\(max\(1, [LZ]\)\)": "sizes of caches are at least 1",
    r"\b0\*|\*0\b": "a factor of 0",
    r"[>=<]= -": "a bound that begins with a sign",
    r"'\d": "a loop by a name that no program has",
    r"L\*\([^() +%-]*\)": "needless brackets",
}


@cache
def view_of(target: str) -> CostView:
    return al.algorithm(target).cost().view()


def outputs(view: CostView) -> Iterator[str]:
    yield render_first_page(view, 100)
    yield documents.text(full.make_page(view), 1000)
    for metric in ("flops", "work", "span", "io"):
        yield derivation.render_derivation(view, metric, 1000)


@pytest.mark.parametrize("target", some(TARGETS))
def test_forms_are_printed_without_needless_signs(target: str) -> None:
    assert target in ALL
    for shown in outputs(view_of(target)):
        for pattern, meaning in FORBIDDEN.items():
            found = re.search(rf".*{pattern}.*", shown)
            assert found is None, f"{meaning}: {found and found[0].strip()}"


def points(view: CostView, names: set[str]) -> list[dict[str, int]]:
    """Sizes, Z and L that the assumptions allow."""
    generator = random.Random(1)
    facts = [fact for each in view.assumptions for fact in al_facts(each)]
    found: list[dict[str, int]] = []
    for _ in range(4000):
        scale = generator.choice([1, 2, 4, 8])
        point = {name: scale * generator.choice([0, 1, 2, 3, 4, 8, 16]) + generator.choice([0, 0, 1]) for name in names}
        point |= {name: max(1, point[name]) for name in names - vanishing(view)}
        point["L"] = generator.choice([1, 2, 3, 8])
        point["Z"] = point["L"] * generator.choice([1, 2, 3, 5, 40])
        if not diagnose_broken_facts(point, tuple(facts)):
            found.append(point)
    return found[:300]


def vanishing(view: CostView) -> set[str]:
    """Sizes that may be 0."""
    return {each.removesuffix(" >= 0") for each in view.assumptions if each.endswith(" >= 0")}


def al_facts(assumption: str) -> tuple[s.Fact, ...]:
    from archline.language.parser import parse_facts

    if re.search(r"\(lines? |^line |at each call", assumption):
        # It is said of places of the program, not of sizes alone.
        return ()
    return parse_facts(re.sub(r" \(assumed.*", "", assumption), "where")


def calls(node: object) -> Iterator[s.Call]:
    if isinstance(node, s.Call):
        yield node
    if is_dataclass(node):
        for each in fields(node):
            value = getattr(node, each.name)
            for part in value if isinstance(value, tuple) else (value,):
                yield from calls(part)


def forms(view: CostView) -> Iterator[str]:
    document = json.loads(render(full.make_json_document(view)))
    for cost in document["costs"].values():
        yield from filter(None, (cost["lower"], cost["upper"]))
        for each in cost["regimes"]:
            yield from (each["lower"], each["upper"])
        yield from (each["lower"] for each in cost["lowers"])


@pytest.mark.parametrize("target", some([each for each in TARGETS if each not in QUICK]))
def test_nothing_that_is_printed_is_always_nothing(target: str) -> None:
    """Every maximum, minimum and rounded quotient is different from 0 somewhere."""
    view = view_of(target)
    for shown in set(forms(view)):
        expression = parse_expression(shown)
        names = set(s.find_names((expression,))) | set(view.parameters)
        found = points(view, names)
        for call in {format_expression(each): each for each in calls(expression)}.values():
            values = set()
            for point in found:
                try:
                    values.add(evaluate(call, point))
                except EvaluationError:
                    continue
            assert values - {0}, f"{format_expression(call)} is always 0 in {shown}"


SIZE = st.sampled_from("nmk")


@given(st.lists(st.tuples(SIZE, SIZE, st.integers(-1, 2), st.integers(1, 2)), min_size=1, max_size=3), SIZE)
@settings(max_examples=drawn(40, 10), deadline=None)
def test_products_of_extents_are_written_as_products(parts: list[tuple[str, str, int, int]], first: str) -> None:
    """The text has the values of what it was multiplied from, by an evaluation of its own."""
    value = Poly.symbol(first) * 2
    for high, low, more, power in parts:
        value = value * (Poly.symbol(high) - Poly.symbol(low) + more) ** power
    text = to_text(value, ("n", "m", "k"))
    for n, m, k in product((1, 2, 7), repeat=3):
        sizes = {"n": n, "m": m, "k": k}
        expected = 2 * sizes[first]
        for high, low, more, power in parts:
            expected *= (sizes[high] - sizes[low] + more) ** power
        assert evaluate_static(parse_expression(text), sizes) == expected


def test_windows_are_counted_by_a_product() -> None:
    text = """algorithm windows(x: real[n], w: real[k], y: inout real[n - k + 1]):
    where n >= k
    ensures flops is Theta(k*(n - k + 1))
    for i in 0..n - k + 1:
        for j in 0..k:
            y[i] += x[i + j]*w[j]
"""
    costs = al.loads(text)["windows"].cost()
    assert (str(costs.flops.text), costs.flops.growth) == ("2*k*(n - k + 1)", "Theta(k*(n - k + 1))")
    assert [each.outcome for each in costs.ensures] == ["holds"]


def test_numbers_of_lines_are_written_as_ceilings() -> None:
    """1 for L >= 2 and 2 for L = 1, however it comes about."""
    s, line, one = Poly.symbol("s"), Poly.symbol("L"), floor_div(Poly.constant(1), Poly.symbol("L"))
    assert to_text(s + s * one) == "s*ceil(2/L)"
    assert to_text(-floor_div(Poly.constant(-2), line)) == "ceil(2/L)"
    assert to_text((one + 2) * line) == "2*L + ceil(2/L) - 1"


def test_logarithms_of_powers_of_2_in_exponents_are_numbers() -> None:
    text = "algorithm f(x: real[n]):\n    if n > 2:\n        f(x[0..n//3])\n        f(x[n - n//3..n])\n"
    # Two calls at a third: T(n) = 2*T(n/3) + 1.
    assert al.loads(text)["f"].cost().work.growth == "Theta(n^(1/log2(3)))"
