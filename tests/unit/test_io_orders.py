"""Growth of io of recursion, against the textbooks: Frigo, Leiserson, Prokop, Ramachandran (FOCS 1999) and followers."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest

import archline as al
from archline.analysis.cache.recursive.asymptotic import UnsolvedRecursionError, io_growth_of_recursion
from archline.analysis.cache.recursive.evaluate import RecursiveMissBounds
from archline.growth.is_big_o import Proved, is_O
from archline.language.diagnostics import ArchlineError
from archline.language.parser import parse_expression, parse_facts
from effort import long, some
from stdlib_cases import load

TALL = parse_facts("Z >= L^2")
PRODUCT = "n + m + p + (n*m + m*p + n*p)/L + n*m*p/(L*sqrt(Z))"
SOLVE = "n + m + (n^2 + n*m)/L + n^2*m/(L*sqrt(Z))"
FACTOR = "n + n^2/L + n^3/(L*sqrt(Z))"
KNOWN = [
    # FOCS 1999, theorem 1, for rectangular products; its transposition is theorem 3.
    ("dense.matmul::matmul_co", PRODUCT),
    ("dense.matmul_recursive::matmul_subtract_transposed_co", PRODUCT),
    ("dense.transpose_recursive::transpose_co", "n + m + n*m/L"),
    ("dense.strassen::strassen", "n + n^2/L + n^log2(7)/(L*Z^(log2(7)/2 - 1))"),
    ("dense.trisolv_recursive::trisolv_right_co", SOLVE),
    # S. Toledo, Locality of Reference in LU Decomposition with Partial Pivoting (1997).
    ("dense.lu_recursive::lu_co", FACTOR),
    ("dense.cholesky_recursive::cholesky_co", FACTOR),
    ("sort.mergesort::mergesort", "1 + n*log2(2 + n/Z)/L"),
    ("arithmetic.karatsuba::karatsuba", "1 + n/L + n^log2(3)/(L*Z^(log2(3) - 1))"),
    ("scan.recursive::prefix_sum_pairs", "1 + n/L"),
]


@pytest.mark.parametrize(("target", "known"), some(KNOWN, 3))
def test_io_of_recursion_grows_as_is_known(target: str, known: str) -> None:
    module, algorithm = load(target)
    facts = (*algorithm.where, *TALL)
    for growth in io_growth_of_recursion(RecursiveMissBounds(module, algorithm), facts):
        assert not growth.where
        assert isinstance(is_O(growth.upper, parse_expression(known), facts), Proved)


def test_a_square_product_is_no_less() -> None:
    """The recurrence's own growth: no bound below the paper's for n = m = p."""
    module, algorithm = load("dense.matmul::matmul_co")
    (growth,) = io_growth_of_recursion(RecursiveMissBounds(module, algorithm), TALL)
    facts = (*TALL, *parse_facts("n == m, m == p"))
    assert isinstance(is_O(parse_expression(PRODUCT), growth.upper, facts), Proved)


SORT = """use sort.mergesort

algorithm sort(a: inout real[n]):
    ensures io is O(1 + n*log2(2 + n/Z)/L) when {}
    if n > 1:
        let h = n//2
        sort(a[0..h])
        sort(a[h..n])
        local t: real[n]
        merge_runs(a[0..h], a[h..n], t)
        a[:] = t
"""


@pytest.mark.parametrize(
    ("cache", "outcome"),
    [("Z >= L^2", "holds"), ("Z >= 64*L", "holds"), ("Z >= 2*L", "unknown"), ("Z >= L", "unknown")],
)
def test_a_cache_of_two_lines_merges_anew_at_every_access(cache: str, outcome: str) -> None:
    """Three streams through two lines, however long: n log n lines, not n log n / L."""
    (verdict,) = al.loads(SORT.format(cache))["sort"].cost().ensures
    assert verdict.outcome == outcome


UNEVEN = """algorithm f(x: inout real[n]):
    let h = n//2
    if n > 1:
        if x[0] < 0.0:
            x[0] = 1
            f(x[0..h])
            x[1] = 1
            x[n - 1] = 1
        else:
            f(x[0..h])
            f(x[h..n])
            f(x[0..h])
"""


def test_the_data_takes_the_branch_that_calls_most() -> None:
    """Three halves: n^log2(3), whatever the branch of the other calls holds beside its call."""
    module = al.loads(UNEVEN)
    (growth,) = io_growth_of_recursion(RecursiveMissBounds(module.module, module["f"].node), TALL)
    assert isinstance(is_O(parse_expression("n^log2(3)/(L*Z^(log2(3) - 1))"), growth.upper, TALL), Proved)


LEAF = """algorithm f(A: inout real[n, m]):
    ensures io is O(n + m + n*m/L) when Z >= L^2, Z >= 64*L
    if {}:
        for i in 0..n:
            for t in 0..{}:
                for j in 0..m:
                    A[i, j] += A[i, t]
    else:
        let h = n//2
        f(A[0..h, :])
        f(A[h..n, :])
"""

SPENT = """algorithm f(x: inout real[n], s: size):
    ensures io is O(s*n*log2(n) + s) when Z >= L^2, Z >= 64*L
    if n > 3:
        let h = n//2
        f(x[0..h], {0})
        f(x[h..n], {0})
        for t in 0..{1}:
            for i in 0..n:
                x[i] += 1.0
"""

HELPED = """algorithm f(x: inout real[n]):
    ensures io is O(n/L + 1) when Z >= L^2, Z >= 64*L, n <= Z
    if n > 3:
        let h = n//2
        f(x[0..h])
        f(x[h..n])
        g(x)

algorithm g(x: inout real[n]):
    if n > 3:
        local W: real[n, n] = 0
        g(x[0..n//2])
"""

ODD = """algorithm f(x: inout real[n]):
    ensures io is O(n/L + 1) when Z >= L^2, Z >= 64*L
    if n > 3:
        let h = n//2
        f(x[0..h])
        f(x[h..n])
        for t in 0..{}:
            for i in 0..n:
                x[i] += 1.0
"""


@long
@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        # Rows that do not fit are walked m times at every leaf, m^2/Z words for any schedule; a row is passed once for
        # each i where n and m are 8.
        (LEAF.format("n <= 4", "m"), "fails"),
        (LEAF.format("n <= m", "n"), "unknown"),
        (LEAF.format("max(n, m) <= 8", "m").replace("    ensures", "    where m <= 8\n    ensures"), "holds"),
        # s doubles from level to level: s*n^2/(Z*L) lines.
        (SPENT.format("2*s", "s"), "unknown"),
        (SPENT.format("s", "s"), "holds"),
        # x fits, W does not: n^2/L lines.
        (HELPED, "unknown"),
        # About half of all sizes are odd, and pass over their part once more: n*log2(n)/L lines.
        (ODD.format("n - 2*h"), "unknown"),
        (ODD.format("0"), "holds"),
    ],
)
def test_nothing_that_a_call_fetches_is_left_out(text: str, outcome: str) -> None:
    (verdict,) = al.loads(text)["f"].cost().ensures
    assert verdict.outcome == outcome


def test_a_recursion_that_no_wide_array_ends_is_refused_unless_arrays_are_narrow() -> None:
    """One row of more than 8 columns is divided until a part has no row, which is divided again; up to 8 it ends."""
    found = al.loads(LEAF.format("max(n, m) <= 8", "m"))["f"]
    with pytest.raises(ArchlineError, match=r"AL504.* at n = 0, m = 9, where no run ends"):
        found.cost()
    with pytest.raises(ArchlineError, match=r"AL504.* at n = 0, m = 8, where no run ends"):
        al.loads(LEAF.format("max(n, m) <= 7", "m"))["f"].cost()
    narrow = LEAF.replace("    ensures", "    where m <= 8\n    ensures", 1).format("max(n, m) <= 8", "m")
    found = al.loads(narrow)["f"]
    report = found.cost()
    for n, m in ((16, 4), (9, 8), (40, 1), (8, 8)):
        report.require_runs({"n": n, "m": m})
        found.run(n=n, m=m)


def test_a_line_has_a_word_in_every_counterexample() -> None:
    """Z and L are in no formula of such a claim, and 0 words make no line."""
    text = """algorithm f(x: inout real[n], s: size):
    ensures io >= s*ceil(n/L) when n >= Z
    ensures io <= 0
    for t in 0..s:
        for i in 0..n:
            x[i] += 1.0
"""
    first, second = al.loads(text)["f"].cost().ensures
    assert first.outcome != "holds"
    assert second.outcome == "fails"
    assert second.point["L"] >= 1


@pytest.mark.parametrize(("words", "line"), [(2**12, 2**2), (2**12, 2**5), (2**16, 2**8), (2**20, 2**10)])
def test_the_six_step_fft_in_far_sizes(words: int, line: int) -> None:
    """The bound by its own recursion over the growth tends to a constant, where a power of log2(n) more would double."""
    module = al.load("fft.fft")
    recursions = RecursiveMissBounds(module.module, module["fft_co"].node)
    ratios = []
    for exponent in (52, 104, 208, 416):
        grown = 2**exponent * (Fraction(1, line) + Fraction(exponent, line * (words.bit_length() - 1)))
        ratios.append(recursions.at({"n": 2**exponent, "Z": words, "L": line}) / grown)
    assert all(later < earlier * Fraction(3, 2) for earlier, later in pairwise(ratios))
    assert ratios[-1] < ratios[-2] * Fraction(11, 10)


def test_halves_are_no_roots() -> None:
    """Of a recursion that makes another number of calls than sizes add up to, nothing is said."""
    module = al.loads(ROOTS.format("n/p"))
    with pytest.raises(UnsolvedRecursionError):
        io_growth_of_recursion(RecursiveMissBounds(module.module, module["f"].node), TALL)
    module = al.loads(ROOTS.format("p"))
    (growth,) = io_growth_of_recursion(RecursiveMissBounds(module.module, module["f"].node), TALL)
    assert isinstance(is_O(parse_expression("n*log2(n)/(L*log2(Z)) + n/L + 1"), growth.upper, TALL), Proved)


ROOTS = """algorithm f(x: inout real[n]):
    where n is power of 2
    if n > 2:
        let p = 2^(log2(n)//2)
        for i in 0..n/p:
            f(x[i*p ..+ {}])
        for j in 0..p:
            f(x[j*(n/p) ..+ n/p])
        for k in 0..n:
            x[k] += 1.0
"""
