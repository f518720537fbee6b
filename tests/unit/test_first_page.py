"""The first page of costs: short, its leading terms right, its rows what is derived."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import archline as al
from archline.algebra import atoms as a
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.polynomial import Poly
from archline.growth.leading_terms import find_leading_terms
from archline.growth.short_forms import cut_terms
from cli_support import cli
from effort import drawn, long, some
from stdlib_targets import MODULES, TRIED, report

N, M, L = (Poly.symbol(name) for name in "nmL")
FACTORS = st.sampled_from(
    [N, M, N - 2, a.floor_div(N + L - 1, L), a.floor_div(M, L), a.ceil_log2(N), a.ceil_log2(M - 2), a.positive_part(N - M - 1),
     a.positive_part(N - 3), a.positive_part(5 - N), a.maximum(a.maximum(N, M), Poly.constant(16)) - a.maximum(N, M) + 2,
     a.exponential(7, a.ceil_log2(N)), a.exponential(2, a.ceil_log2(N - 1)), a.ceil_log2(a.floor_div(N + 16, Poly.constant(17))),
     a.ceil_log2(a.maximum(M - 1, Poly.constant(1))), a.floor_div(Poly.constant(1), L), Poly.constant(3), L]
)  # fmt: skip
TERMS = st.builds(
    lambda factors, coefficient: Poly.constant(coefficient) * _product(factors),
    st.lists(FACTORS, min_size=1, max_size=3),
    st.sampled_from([1, 2, Fraction(1, 3), -1]),
)


def _product(factors: list[Poly]) -> Poly:
    found = Poly.constant(1)
    for each in factors:
        found = found * each
    return found


@given(st.lists(TERMS, min_size=1, max_size=4).map(lambda terms: sum(terms, Poly.constant(0))))
def test_leading_terms_are_all_that_is_left_at_large_sizes(value: Poly) -> None:
    lead = find_leading_terms(value)
    if lead is None or not lead.terms:
        return
    for n, m in ((2**60000, 2**60000 + 12345), (2**90000, 2**50000), (3**30000, 2**70000)):
        for line in (2, 8, 7):
            point = {"n": n, "m": m, "L": line}
            whole, short = evaluate(value, point), evaluate(lead, point)
            assert abs(Fraction(whole) / Fraction(short) - 1) < Fraction(1, 50)


@pytest.mark.parametrize("target", some(TRIED, 8))
def test_a_page_fits_a_screen(target: str) -> None:
    text = str(report(target))
    assert len(text.splitlines()) <= 40
    assert all(len(line) <= 100 for line in text.splitlines())


@long
@pytest.mark.parametrize("module", MODULES[:6])
def test_numbers_at_sizes_are_those_of_the_metrics(module: str) -> None:
    for name in al.load(module):
        cost = al.algorithm(f"{module}::{name}").cost()
        sizes = dict.fromkeys(cost.names.needed, 8)
        try:
            expected = cost.work.at(sizes)
        except al.ArchlineError:
            continue
        at = ",".join(f"{each}=8" for each in sizes)
        ran = cli("cost", f"{module}::{name}", "--at", at)
        shown = next(line for line in ran.out.splitlines() if line.startswith("  work "))
        value = " .. ".join(map(str, expected)) if isinstance(expected, tuple) else str(expected)
        assert value in shown
        assert "Z = 32768, L = 8 (4096 lines)" in ran.out.replace("\n", " ") or "Z = " not in ran.out


def _regimes(target: str) -> dict[str, str]:
    """The bounds of a page's regimes by their names, as far as they are on the first line."""
    lines = (line for line in cli("cost", target).out.splitlines() if "  Z >= " in line[4:] and line.startswith("    "))
    rows = (line[4:].split("  ", 1) for line in lines)
    return {name: rest.split("  Z >= ")[0].strip() for name, rest in rows}


def test_regimes_are_named_by_what_fits() -> None:
    assert _regimes("dense.matmul::matmul_basic") == {
        "3 lines": "n*m*p + n*p*ceil(m/L) + n*ceil(p/L)",
        "a column of B": "n*m*ceil(p/L) + n*p*ceil(m/L)",
        "a column of B, a row of A": "n*m*ceil(p/L) + n*ceil(m/L) + n*ceil(p/L)",
        "B fits": "n*ceil(m/L) + n*ceil(p/L) + m*ceil(p/L)",
    }


@long
def test_regimes_are_named_by_shapes_and_parts() -> None:
    # Of a triangle half is held, of a stencil two rows or planes, of parts of arrays no more than fits together.
    assert list(_regimes("dense.lu::lu")) == ["3 lines", "a column of A", "half of A", "all fits"]
    assert list(_regimes("polybench.heat_3d")) == ["7 to 8 lines", "two planes of A", "B fits", "all fits"]
    assert list(_regimes("polybench.two_mm"))[2:] == ["C fits", "C and tmp fit"]


def test_regimes_that_are_no_better_with_more_cache_are_not_shown() -> None:
    """A row of C is 2*n*m/L with y or without; a column of B and all that fits have the same leading term."""
    assert len(_regimes("string.lcs::lcs")) == 3
    assert list(_regimes("dense.transpose::transpose_in_place")) == ["2 lines", "a column of A"]


@long
def test_options() -> None:
    whole = cli("cost", "dense.lu::lu", "--all").out
    assert "Z >= 2*L" in whole
    alone = cli("cost", "dense.lu::lu", "--metric", "flops").out
    assert "flops" in alone
    assert "io (cache misses)" not in alone

    assert "assumed" in cli("cost", "dense.matmul::matmul_basic", "--at", "n=4,m=4,p=4").out
    assert "assumed" not in cli("cost", "dense.matmul::matmul_basic", "--at", "n=4,m=4,p=4", "--cache", "Z=64,L=8").out


def test_bounds_at_sizes_ask_for_the_sizes_that_calls_take() -> None:
    with pytest.raises(al.ArchlineError, match="AL40"):
        al.algorithm("dense.transpose_recursive::transpose_co").cost().io.at(m=4, Z=64, L=8)


def test_a_size_whose_name_ends_in_z_is_no_cache(tmp_path: Path) -> None:
    path = tmp_path / "rows.algo"
    path.write_text("algorithm f(x: inout real[nZ]):\n    for i in 0..nZ:\n        x[i] += 1\n")
    assert "Z and L are assumed" in cli("cost", str(path), "--at", "nZ=4").out


@long
def test_the_title_says_where_an_algorithm_is(tmp_path: Path) -> None:
    first = cli("cost", "dense.lu::lu").out.splitlines()[0]
    assert first.startswith("lu              LU row by row")
    assert first.endswith("  stdlib/dense/lu.algo:3")
    assert len(first) == 100
    path = tmp_path / "f.algo"
    path.write_text("\nalgorithm f(x: inout real[n]):\n    x[0] = 1\n")
    assert f"{path}:2" in "".join(cli("cost", str(path)).out.splitlines()[:2])
    assert ".algo" not in cli("cost", "dense.lu::lu", "--at", "n=4").out


@long
def test_json_says_whether_the_cache_is_assumed() -> None:
    target = ("cost", "dense.lu::lu", "--format", "json", "--at")
    assert '"cache_assumed": true' in cli(*target, "n=4").out
    assert '"cache_assumed": false' in cli(*target, "n=4", "--cache", "Z=64,L=8").out
    assert '"cache_assumed": false' in cli(*target, "n=4,Z=64,L=8").out


@pytest.mark.parametrize(("body", "shown"), [("for", "1"), ("parallel for", " .. ")])
def test_what_runs_nothing_in_parallel_has_no_parallelism(tmp_path: Path, body: str, shown: str) -> None:
    """The data decides how much the guards cost, work and span alike."""
    path = tmp_path / "guard.algo"
    path.write_text(
        f"algorithm f(x: inout real[n]):\n    {body} i in 0..n:\n        if x[i] > 0:\n            x[i] += 1\n"
    )
    line = next(each for each in cli("cost", str(path), "--at", "n=10").out.splitlines() if "parallelism" in each)
    assert line.split(maxsplit=1)[1] == shown if shown == "1" else shown in line
    assert ("Theta(1)" in cli("cost", str(path)).out) == (shown == "1")


@given(st.lists(st.tuples(st.sampled_from("+-"), st.integers(1, 10**6)), min_size=2, max_size=30), st.integers(14, 90))
@settings(max_examples=drawn(50), deadline=None)
def test_what_is_cut_off_a_form_is_told_by_its_signs(terms: list[tuple[str, int]], most: int) -> None:
    """A lower bound is no lower bound without what it subtracts; arguments in parentheses have signs of their own."""
    parts = [f"{sign} {number}*f(n + 1)" for sign, number in terms]
    text = " ".join(["max(0, n - 1)", *parts])
    shown = cut_terms(text, most)
    if len(text) <= most:
        assert shown == text
        return
    rest = max(range(len(parts)), key=lambda each: len(" ".join(["max(0, n - 1)", *parts[:each]])) < most and each)
    signs = {sign for sign, _ in terms[rest:]}
    mark = "+-..." if len(signs) == 2 else f"{signs.pop()} ..."
    assert shown == " ".join(["max(0, n - 1)", *parts[:rest], mark])


@long
def test_a_regime_that_growth_cannot_read_spoils_no_other(tmp_path: Path) -> None:
    """The greatest common divisor of b and L stands in one condition; where fewer lines fit, a factor is proved."""
    file = tmp_path / "tiles.algo"
    file.write_text(
        "algorithm f(A: real[n, n], B: real[n, m], C: inout real[n, m], b: size):\n"
        "    for ii in 0..n step b:\n"
        "        for jj in 0..m step b:\n"
        "            for kk in 0..n step b:\n"
        "                for i in ii..min(ii + b, n):\n"
        "                    for j in jj..min(jj + b, m):\n"
        "                        for k in kk..min(kk + b, n):\n"
        "                            if k <= i:\n"
        "                                C[i, j] += A[i, k]*B[k, j]\n"
        "                            else:\n"
        "                                C[i, j] += A[k, i]*B[k, j]\n",
        encoding="utf-8",
    )
    page = " ".join(cli("cost", str(file), "--metric", "io").out.split())
    assert "asymptotically optimal" in page or "within a factor" in page
    assert "not an expression" not in page


def test_of_factors_under_one_shown_condition_the_sharper_one_is_said(tmp_path: Path) -> None:
    path = tmp_path / "mm.algo"
    path.write_text("""
algorithm mm(A: real[n, m], B: real[m, p], C: inout real[n, p], b: size):
    parallel for ii in 0..n step b:
        for k in 0..m:
            for i in ii..min(n, ii + b):
                for j in 0..p:
                    C[i, j] += A[i, k]*B[k, j]
""")
    page = " ".join(cli("cost", str(path)).out.split())
    (sentence,) = re.findall(r"asymptotically optimal[^.]*?L\^2", page)
    conditions = re.findall(r"where (.*?)(?:;|, if)", sentence)
    assert len(conditions) == len(set(conditions)) == 2
