"""The growth of derived costs: what textbooks say of the algorithms, and nothing where nothing is proved."""

from __future__ import annotations

import json
import re
from functools import reduce

import pytest

import archline as al
from archline.api.growth import order
from archline.expr import build as b
from archline.growth.growths import Growth, decide_growth
from archline.language.parser import parse_expression
from archline.report.costs.full import make_json_document as documented
from cli_support import cli
from effort import long, some
from stdlib_targets import TRIED, report

TEXTBOOK = [
    # Dense linear algebra: products, factorisations, solves.
    ("dense.matmul::matmul_parallel", "flops", "Theta(n*m*p)"),
    ("dense.matmul::matmul_parallel", "work", "Theta(n*m*p)"),
    ("dense.matmul::matmul_parallel", "span", "Theta(m + log2(n) + log2(p))"),
    ("dense.matmul::matmul_ijk", "span", "Theta(n*m*p)"),
    ("dense.gemv::gemv", "work", "Theta(n*m)"),
    ("dense.gemv::gemv", "span", "Theta(m + log2(n))"),
    ("dense.cholesky::cholesky", "work", "Theta(n^3)"),
    ("dense.lu::lu", "work", "Theta(n^3)"),
    ("dense.trisolv::trisolv", "flops", "Theta(n^2)"),
    ("dense.transpose::transpose", "work", "Theta(n*m)"),
    ("dense.floyd_warshall::floyd_warshall", "flops", "Theta(n^3)"),
    ("polybench.durbin::durbin", "work", "Theta(n^2)"),
    # A row without entries still costs; the longest row is the path.
    ("sparse.csr::spmv_csr", "flops", "Theta(nz)"),
    ("sparse.csr::spmv_csr", "work", "Theta(n + nz)"),
    ("sparse.csr::spmv_csr", "span", "Theta(nr + log2(n))"),
    ("scan.reduce::dot", "work", "Theta(n)"),
    ("nbody.direct::nbody_direct", "work", "Theta(n^2)"),
    ("stencil.jacobi_2d::jacobi_2d", "work", "Theta(n*m*steps)"),
    ("string.lcs::lcs", "work", "Theta(n*m)"),
    # The data decides between the best and the worst case.
    ("sort.insertion_sort::insertion_sort", "work", "O(n^2), Omega(n)"),
    ("sort.merge::merge", "flops", "O(n + m)"),
    ("sort.lower_bound::lower_bound", "work", "O(log2(n)), Omega(1)"),
    # Recursive algorithms.
    ("fft.fft::fft", "work", "Theta(n*log2(n))"),
    ("fft.fft::fft", "span", "Theta(log2(n)^2)"),
    ("scan.recursive::sum_tree", "work", "Theta(n)"),
    ("scan.recursive::sum_tree", "span", "Theta(log2(n))"),
    ("dense.transpose_recursive::transpose_co", "work", "Theta(n*m)"),
    ("fft.fft::fft_co", "work", "Theta(n*log2(n))"),
    ("fft.fft::fft_co", "span", "Theta(log2(log2(n))*log2(n))"),
    ("string.lcs::lcs_length", "work", "Theta(n*m)"),
    ("string.lcs::lcs_co", "span", "Theta(n*m*min(n, m)^(log2(3) - 2))"),
    ("sort.mergesort::mergesort", "flops", "O(n*log2(n))"),
]


PLACED = re.compile(r"\(assumed|\(lines? |^line |at each call")
"""Assumptions that are no facts of sizes alone."""


@pytest.mark.parametrize(("target", "metric", "expected"), some(TEXTBOOK))
def test_growth_is_what_textbooks_say(target: str, metric: str, expected: str) -> None:
    assert report(target)[metric].growth == expected


@pytest.mark.parametrize("target", some(TRIED, 8))
def test_no_growth_is_refuted(target: str) -> None:
    """The question put to `archline order` with the reported bounds; what it refutes was wrong."""
    view = report(target).view()
    where = ", ".join(each for each in view.assumptions if not PLACED.search(each))
    for cost in documented(view)["costs"].values():
        if "where Z" in (cost["growth"] or ""):
            # The growth of io's recurrence under a condition on the cache, not of the bound that holds everywhere.
            continue
        for part in (cost["growth"] or "").replace("), ", ")|").split("|"):
            said, _, from_sizes = part.partition(" where ")
            relation, _, rest = said.partition("(")
            for side in {"Theta": ("upper", "lower"), "O": ("upper",), "Omega": ("lower",)}.get(relation, ()):
                asked = "O" if side == "upper" else "Omega"
                if "gcd(" in cost[side]:
                    # No function of the language; growth is proved of what is left without it.
                    continue
                facts = ", ".join(filter(None, (where, from_sizes)))
                assert order(cost[side], rest[:-1], facts, asked).holds is not False


# Small programs
def growth(text: str, metric: str = "work", where: str | None = None) -> str | None:
    module = al.loads(text)
    return module[list(module)[-1]].assuming(where).cost()[metric].growth


PAIRS = """algorithm pairs(x: inout real[n]):
    for i in 0..n:
        for j in i+1..n:
            x[i] += x[j]
"""


def test_a_cost_that_vanishes_somewhere_has_its_growth_from_there_on() -> None:
    """n(n - 1)/2 is 0 at n = 1, where n^2 is 1."""
    assert growth(PAIRS, "flops") == "Theta(n^2) where n >= 2"
    assert growth(PAIRS, "flops", "n >= 2") == "Theta(n^2)"


def test_growth_holds_from_the_least_sizes_on() -> None:
    """(n - 2)(m - 1) is 0 at n = 2 and at m = 1; (n - 1)*m at n = 1 alone."""
    text = "algorithm f(x: inout real[n, m]):\n    where n >= 2\n    for i in {}..n:\n        for j in {}..m:\n"
    text += "            x[i, j] += 1\n"
    assert growth(text.format(2, 1), "flops") == "Theta(n*m) where n >= 3 and m >= 3"
    assert growth(text.format(1, 0).replace(" n >= 2", " m >= 1"), "flops") == "Theta(n*m) where n >= 2"
    assert growth(text.format(1, 1), "flops") == "Theta(n*m) where m >= 2"
    assert growth(text.format(0, 9), "flops") == "Theta(n*m) where m >= 10"


def test_bytes_of_cases_of_the_sizes_grow_with_the_line() -> None:
    text = """
algorithm f(x: inout real[n, m]):
    if n <= m:
        for j in 0..m:
            for i in 0..n:
                x[i, j] += 1.0
    else:
        x[0, 0] += 1.0
"""
    # In a cache of one line each access fetches a line of L words.
    assert growth(text, "bytes") == "O(n*m*L)"


def test_a_larger_of_two() -> None:
    """Two branches at once: the longer is the span."""
    text = "algorithm one(x: inout real[n]):\n    for i in 0..n:\n        x[i] += 1\n"
    text += "algorithm both(x: inout real[n], y: inout real[m]):\n    spawn one(x)\n    one(y)\n    sync\n"
    assert growth(text, "span") == "Theta(n + m)"


def test_powers_of_sizes_are_no_polynomial() -> None:
    text = "algorithm f(x: inout real[n]):\n    for i in 0..{}:\n        x[0] += 1\n"
    assert growth(text.format("2^n")) == "Theta(2^n)"
    assert growth(text.format("n*3^n + 2^n")) == "Theta(n*3^n)"
    assert growth(text.format("2^(n^2)")) is None


def test_indices_may_be_negative_and_have_no_growth() -> None:
    loop = "    for k in i..j:\n        x[k] += 1\n"
    text = "algorithm f(x: inout real[n], i: index, j: index):\n    where i >= 0, j < n\n"
    assert growth(text + loop) is None


def test_what_ranges_of_indices_cost_grows_with_their_length() -> None:
    text = "algorithm f(x: inout real[n], i: index, j: index):\n    where i >= 0, i <= j, j < n\n"
    assert growth(text + "    for k in i..j:\n        x[k] += 1\n") == "Theta(j - i) where i < j"
    assert growth(text + "    for k in 0..j:\n        x[k] += 1\n") is None


def test_symbols_of_declared_costs_may_vanish_and_have_no_growth() -> None:
    text = "extern g(x: real) -> real costs f flops\n"
    text += "algorithm a(x: inout real[n]):\n    for i in 0..n:\n        x[i] = g(x[i])\n"
    assert growth(text, "flops") is None


@pytest.mark.parametrize(
    ("claim", "outcome"),
    [
        ("Theta(c*n)", "fails"),  # 0 against n at c = 0
        ("O(c*n)", "fails"),
        ("Omega(c*n)", "holds"),
        ("Theta(c*n + n)", "holds"),
        ("Theta(c*n) when c >= 1", "holds"),
    ],
)
def test_growth_claims_see_that_a_declared_cost_may_be_zero(claim: str, outcome: str) -> None:
    text = f"""
extern g(a: real) -> real costs c flops

algorithm f(x: inout real[n]):
    ensures flops is {claim}
    for i in 0..n:
        x[i] += g(x[i])
"""
    (verdict,) = al.loads(text)["f"].cost().ensures
    assert verdict.outcome == outcome


def test_unknown_costs_have_no_growth() -> None:
    text = "algorithm f(x: inout real[n]):\n    while x[0] < 1.0 at most n^n times:\n        x[0] += 1.0\n"
    assert growth(text) is None


def test_without_a_growth_nothing_is_proved() -> None:
    assert decide_growth("Omega", [], parse_expression("2^n"), lambda *_: True).outcome == "unknown"


def test_bounds_that_are_nested_too_deeply_leave_claims_open() -> None:
    """What the analysis derives is no mistake of the program, however long it is."""
    deep = reduce(lambda inner, _: b.call("max", b.ONE, inner), range(400), b.name("n"))
    found = decide_growth("O", [Growth(deep, deep)], parse_expression("n"), lambda *_: True)
    assert (found.outcome, found.reason) == (
        "unknown",
        "the derived bounds have too many terms, or are nested too deeply, to compare",
    )


# Reports
def test_reports_show_growth() -> None:
    shown = cli("cost", "dense.gemv::gemv").out
    assert re.search(r"span .* Theta\(m \+ log2\(n\)\)", shown)
    costs = json.loads(cli("cost", "dense.gemv::gemv", "--format", "json").out)
    assert costs["costs"]["work"]["growth"] == "Theta(n*m)"
    assert costs["flops_by_kind"]["add"]["growth"] == "Theta(n*m)"
    assert cli("cost", "fft.fft::fft", "--explain").out.endswith("W(n) is Theta(n*log2(n))\n")


def test_checks_do_without_growth(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise AssertionError("growth was derived")

    monkeypatch.setattr("archline.costs.derived.select_shown_growths", refused)
    assert cli("check", "dense.gemv::gemv").code == 0
    with pytest.raises(AssertionError, match="growth was derived"):
        assert al.algorithm("dense.gemv::gemv").cost()["work"].growth


PADDED = """
algorithm padded(x: real[n, m], w: real[r, r], y: inout real[n, m]):
    ensures work is Theta(n*m*r^2)
    ensures flops is O(n*m*r^2)
    for i in 0..n:
        for j in 0..m:
            for a in 0..r:
                for b in 0..r:
                    if i + a >= 1 and i + a - 1 < n and j + b >= 1 and j + b - 1 < m:
                        y[i, j] += x[i + a - 1, j + b - 1]*w[a, b]
"""


@long
def test_what_is_guarded_grows_no_faster_than_what_is_around_it() -> None:
    """The innermost body runs at most n*m*r^2 times, and its guard is tested so often, however r compares with n."""
    assert growth(PADDED) == "Theta(n*m*r^2)"
    assert growth(PADDED, "flops") == "O(n*m*r^2)"
    assert [each.outcome for each in al.loads(PADDED)["padded"].cost().ensures] == ["holds", "holds"]


def test_io_grows_no_faster_than_the_accesses() -> None:
    text = """algorithm band(x: inout real[n]):
    ensures io is O(n)
    for i in 0..n:
        for j in 0..n:
            if j >= i and j < i + 2:
                x[i] += x[j]
"""
    # 2*n - 1 updates, each of two elements.
    assert (growth(text, "io") or "").startswith("O(n)")
    assert al.loads(text)["band"].cost().ensures[0].outcome == "holds"


AT_ONE = """
algorithm steps(x: inout real[n], k: size):
    for j in 0..ceil(log2(n)):
        for i in 0..k:
            x[i % n] += 1.0

algorithm halved(x: inout real[n], k: size):
    if n > 1:
        halved(x[0..n//2], k)
        for i in 0..k:
            x[i % n] += 1.0

algorithm columns(A: inout real[m, n]):
    if n > 1:
        columns(A[:, 0..n-1])
        for j in 0..m:
            A[j, n-1] += A[j, n-2]

algorithm rows(A: inout real[n, m]):
    if n > 1:
        rows(A[0..n-1, :])
        for j in 0..m:
            A[n-1, j] += A[n-2, j]
"""


@pytest.mark.parametrize(
    ("name", "claim", "outcome"),
    [
        # At n = 1 there are no steps, whatever k is.
        ("steps", "work is Omega(k)", "fails"),
        ("steps", "work is Omega(k) when n >= 2", "holds"),
        ("steps", "work is Theta(k*log2(n))", "holds"),
        ("steps", "span is Omega(k + log2(n))", "fails"),
        ("halved", "work is Omega(k)", "fails"),
        ("halved", "work is Theta(k*log2(n))", "holds"),
        ("columns", "work is Theta(m*n)", "fails"),
        ("columns", "work is Theta(m*n) when n >= 2", "holds"),
    ],
)
def test_growth_from_below_where_the_least_sizes_do_nothing(name: str, claim: str, outcome: str) -> None:
    text = re.sub(rf"(algorithm {name}.*\n)", rf"\1    ensures {claim}\n", AT_ONE)
    assert al.loads(text)[name].cost().ensures[0].outcome == outcome


@pytest.mark.parametrize(
    ("name", "metric", "growth"),
    [
        ("columns", "work", "Theta(m*n) where n >= 2"),
        ("rows", "work", "Theta(n*m) where n >= 2"),
        ("halved", "flops", "Theta(k*log2(n)) where n >= 2"),
    ],
)
def test_printed_growth_holds_where_the_base_case_is_reached(name: str, metric: str, growth: str) -> None:
    assert getattr(al.loads(AT_ONE)[name].cost(), metric).growth == growth


@pytest.mark.parametrize(
    ("claim", "outcome"),
    [
        ("flops <= n*log2(n)", "fails"),  # 6 > 4.75 at n = 3
        ("flops >= n*log2(n)", "holds"),
        ("flops <= n*log2(n) + n", "holds"),
        ("flops <= n*log2(n) + n/2", "fails"),  # 15 > 14.1 at n = 5
        ("flops >= 2*n*log2(n)", "fails"),  # 2 < 4 at n = 2
    ],
)
def test_values_of_claims_at_sizes_without_a_whole_logarithm(claim: str, outcome: str) -> None:
    loops = "for j in 0..ceil(log2(n)):\n        for i in 0..n:\n            x[i] += 1.0\n"
    text = f"algorithm f(x: inout real[n]):\n    ensures {claim}\n    {loops}"
    (found,) = al.loads(text)["f"].cost().ensures
    assert found.outcome == outcome
    assert outcome != "fails" or found.point is not None


def test_values_of_claims_that_no_float_holds() -> None:
    text = "algorithm f(x: inout real[n]):\n    ensures flops >= 2^(n^2)*log2(n) when n >= 100\n    x[0] += 1.0\n"
    (found,) = al.loads(text)["f"].cost().ensures
    assert found.outcome == "fails"
    assert found.reason.endswith("claimed >= 1.32549124e+3011")
