"""Pages of costs by cases of the sizes: each case is shown, with a growth that holds in it."""

from __future__ import annotations

import json
import re

import pytest

from archline.algebra.atoms import floor_div, positive_part
from archline.algebra.polynomial import Poly
from archline.algebra.printing import to_text
from archline.expr.text import format_expression
from archline.growth.growths import divide_expressions
from archline.language.parser import parse_expression
from archline.report.view import format_contract
from cli_support import cli
from effort import long, some
from printed_claims import verdicts

APART = {
    "a number": ("n != 5", "n*m"),
    "an odd half": ("n//2 != m", "m*n"),
    "another size": ("k != m", "m*m"),
    "another size, or a smaller one": ("k != m and n <= m", "m*m"),
    "two sizes": ("n != m", "m*m"),
    "a distance": ("n != m + 3", "m*m*m"),
    "a double": ("n != 2*m", "n*m"),
    "a half, rounded up": ("(n + 1)//2 != m", "m*m"),
    "two others": ("k != m and k != n", "n*n*m"),
    "far from a size": ("n > m + 2 or n + 2 < m", "m*m"),
}
"""Conditions under which n is added, and what is added else."""


def program(condition: str, otherwise: str) -> str:
    return f"""algorithm f(n: size, m: size, k: size, x: inout real[1]):
    if {condition}:
        for i in 0..n:
            x[0] += 1.0
    else:
        for i in 0..{otherwise}:
            x[0] += 1.0
"""


def check(text: str, path) -> None:
    file = path / "program.algo"
    file.write_text(text)
    others = [each for each in verdicts(f"{file}::f", ["flops"]) if each.outcome == "fails"]
    assert not [f"{format_contract(each.ensures)}: {each.reason}" for each in others]


@pytest.mark.parametrize("name", some([*APART]))
def test_growth_beside_an_equality_holds_on_each_side_of_it(name, tmp_path):
    check(program(*APART[name]), tmp_path)


FIVE = """algorithm f(n: size, m: size, x: inout real[1]):
    if n < m:
        for i in 0..n:
            x[0] += 1.0
    elif n < 2*m:
        for i in 0..n*m:
            x[0] += 1.0
    elif n < 3*m:
        x[0] += 1.0
    elif n < 4*m:
        for i in 0..n*n:
            x[0] += 1.0
    else:
        for i in 0..m*m*m:
            x[0] += 1.0
"""


@long
def test_a_page_shows_five_cases_with_the_growth_of_each(tmp_path):
    file = tmp_path / "five.algo"
    file.write_text(FIVE)
    rows = [re.split(r"\s{2,}", line.strip()) for line in cli("cost", str(file), "--metric", "flops").out.split("\n")]
    assert [row for row in rows if "Theta" in row[-1]] == [
        ["flops", "m^3", "where n >= 4*m", "Theta(m^3)"],
        ["n^2", "where n >= 3*m and n < 4*m", "Theta(n^2)"],
        ["1", "where n >= 2*m and n < 3*m", "Theta(1)"],
        ["n*m", "where m <= n and n < 2*m", "Theta(n*m)"],
        ["n", "otherwise", "Theta(n)"],
    ]
    check(FIVE, tmp_path)


def test_each_metric_of_the_cache_has_a_table_of_its_own():
    page = cli("cost", "dense.gemv::gemv", "--metric", "io,writebacks").out
    _, writebacks, io = re.split(r"^  (?=writebacks$|io \(cache misses\)$)", page, flags=re.M)
    assert "3 lines  n*ceil(m/L) - ceil(m/L) + ceil(n/L)  Z >= 3*L" in writebacks
    assert "lower bound: ceil(n/L), each line that is written, once" in writebacks
    assert "3 lines  2*n*ceil(m/L) + ceil(n/L) " in io


def test_logarithms_of_a_case_have_no_guard_against_what_it_excludes():
    page = cli("cost", "sort.mergesort::mergesort", "--metric", "flops,work", "--all").out
    assert "n*ceil(log2(n)) + n - 2^ceil(log2(n))" in page
    assert "max(1, n)" not in page.split("ensures")[0]


def test_a_run_shows_derived_bounds_of_accesses_writebacks_and_bytes():
    found = json.loads(cli("run", "dense.gemv::gemv", "--at", "n=9,m=7", "--cache", "Z=16,L=4", "--format", "json").out)
    for metric in ("accesses", "io", "writebacks", "bytes"):
        derived = found["derived"][metric]
        assert int(derived["lower"]) <= found["counts"][metric] <= int(derived["upper"])
    assert found["checked"]


PHI = "((1 + sqrt(5))/2)^n"


@pytest.mark.parametrize(
    ("above", "below", "ratio"),
    [
        (PHI, PHI, "1"),
        (f"n*{PHI}", PHI, "n"),
        (PHI, f"n*{PHI}", "1/n"),
        ("(n + m)*m", "(m + n)*m", "1"),
        ("(m + log2(n))*n", "m + log2(n)", "n"),
        ("n*m", "m + log2(n)", "n*m/(m + log2(n))"),
        ("2^n*n", "2^(n/2)", "2^(n/2)*n"),
        ("n^log2(7)", "n", "n^(log2(7) - 1)"),
    ],
)
def test_quotients_of_growths_have_no_common_factors(above, below, ratio):
    assert format_expression(divide_expressions(parse_expression(above), parse_expression(below))) == ratio


N, B, L = (Poly.symbol(name) for name in ("n", "b", "L"))
ABOVE_TWO = positive_part(N - 2)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (ABOVE_TWO * N * 5 - ABOVE_TWO * 10, "5*max(0, n - 2)*(n - 2)"),
        (ABOVE_TWO * N * 5 + ABOVE_TWO * 10, "5*n*max(0, n - 2) + 10*max(0, n - 2)"),
        (ABOVE_TWO * N / 2 - ABOVE_TWO, "1/2*max(0, n - 2)*(n - 2)"),
        (floor_div(N, L) * N - floor_div(N, L), "floor(n/L)*(n - 1)"),
        (-floor_div(-(N * 8 * B**-1), L) * N * B**-1, "n*ceil(8*n/(b*L))/b"),
    ],
)
def test_forms_have_shared_factors_and_bars_once(value, text):
    assert to_text(value, ("n", "b")) == text
