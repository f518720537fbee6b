"""Growth of functions of several sizes and machine symbols, against the literature and against proofs of Theta."""

from __future__ import annotations

import pytest

from archline.expr.text import format_expression
from archline.growth.is_big_o import Proved
from archline.recurrences.asymptotic.logspace.solve import solve_recurrence_in_log_space
from archline.recurrences.asymptotic.problem import Refused, SolvedGrowth
from archline.recurrences.asymptotic.read import parse_recurrence
from effort import some
from growth_questions import order_texts

FLPR = "Frigo, Leiserson, Prokop, Ramachandran, Cache-oblivious algorithms, FOCS 1999"
BGS = "Blelloch, Gibbons, Simhadri, Low depth cache-oblivious algorithms, SPAA 2010"
TALL = "Z >= L^2"

# Name and source, recurrence, its published growth, facts.
PUBLISHED = [
    (
        f"matrix multiplication, {FLPR} sec. 2",
        "Q(n, m, p) = 1 + n + m + p + (n*m + m*p + n*p)/L when n*m + m*p + n*p <= Z; "
        "2*Q(n/2, m, p) + 1 when n >= max(m, p); 2*Q(n, m/2, p) + 1 when m >= max(n, p); 2*Q(n, m, p/2) + 1",
        "n + m + p + (n*m + m*p + n*p)/L + n*m*p/(L*sqrt(Z))",
        TALL,
    ),
    (
        f"transpose, {FLPR} sec. 3",
        "Q(n, m) = 1 + n + m + n*m/L when n + m <= L; 2*Q(n/2, m) + 1 when n >= m; 2*Q(n, m/2) + 1",
        "n + m + n*m/L",
        TALL,
    ),
    (
        f"Strassen, {FLPR} sec. 2",
        "Q(n) = 1 + n + n^2/L when n^2 <= Z; 7*Q(n/2) + 1 + n + n^2/L",
        "n + n^2/L + n^log2(7)/(L*Z^(log2(7)/2 - 1))",
        TALL,
    ),
    (
        f"mergesort in two ways, {FLPR}",
        "Q(n) = 1 + n/L when n <= Z; 2*Q(n/2) + 1 + n/L",
        "n/L*log2(n/Z)",
        f"{TALL}, n >= Z",
    ),
    (f"prefix sums over a tree, {BGS}", "Q(n) = 1 when n <= L; 2*Q(n/2) + 1", "1 + n/L", ""),
    (
        "Karatsuba, De Stefani 2019",
        "Q(n) = 1 + n/L when n <= Z; 3*Q(n/2) + 1 + n/L",
        "1 + n/L + n^log2(3)/(L*Z^(log2(3) - 1))",
        TALL,
    ),
    (
        "longest common subsequence, Chowdhury and Ramachandran, SODA 2006",
        "Q(n) = 1 + n/L when n <= Z; 4*Q(n/2) + 1 + n/L",
        "1 + n/L + n^2/(L*Z)",
        TALL,
    ),
    (
        "trapezoid stencil, Frigo and Strumpen, ICS 2005",
        "Q(w, h) = 1 + w/L when w <= Z; 2*Q(w/2, h) + 1 when w >= h; 2*Q(w, h/2) + 1",
        "w/L + w*h/(L*Z)",
        f"{TALL}, w >= Z",
    ),
    (f"FFT in u = log n, {FLPR} sec. 3", "q(u) = 1/L when u <= z; 2*q(u/2) + 1/L", "1/L + u/(L*z)", ""),
    (f"funnelsort in u = log n, {FLPR} sec. 4", "q(u) = 1/L when u <= z; q(2*u/3) + u/(z*L)", "1/L + u/(L*z)", ""),
    (
        f"sparse matrix with separators of sqrt(n), {BGS}",
        "Q(n) = 1 + n/L when n <= Z; 2*Q(n/2) + 1 + sqrt(n)",
        "n/L + n/sqrt(Z)",
        f"{TALL}, n >= Z",
    ),
    (
        "Cholesky, Ahmed and Pingali 2000",
        "Q(n) = 1 + n + n^2/L when n^2 <= Z; 2*Q(n/2) + 1 + n + n^2/L + n^3/(L*sqrt(Z))",
        "n + n^2/L + n^3/(L*sqrt(Z))",
        f"{TALL}, n^2 >= Z",
    ),
    (
        "LU, Toledo 1997",
        "Q(n, m) = 1 + n/L when m <= 1; 2*Q(n, m/2) + 1 + n*m/L + n*m^2/(L*sqrt(Z))",
        "n*m/L*log2(m) + n*m^2/(L*sqrt(Z))",
        f"{TALL}, n >= m, n >= Z",
    ),
    (
        "CARMA's words, Demmel, Eliahu, Fox, Kamil, Lipshitz, Schwartz, Spillinger, IPDPS 2013",
        "W(m, n, k, P) = 1 when P <= 1; W(m/2, n, k, P/2) + n*k/P when m >= max(n, k); "
        "W(m, n/2, k, P/2) + m*k/P when n >= max(m, k); W(m, n, k/2, P/2) + m*n/P",
        "min(n*k, sqrt(m*n*k^2/P), (m*n*k/P)^(2/3))",
        "m >= n, n >= k, m*n*k >= P, P >= 2",
    ),
    (
        "CARMA's words in memory M, the same: steps down while the matrices do not fit, else steps across processors",
        "W(m, n, k, P) = (m*n + n*k + m*k)/P when P <= 1; "
        "2*W(m/2, n, k, P) when m >= max(n, k) and m*n + n*k + m*k >= M*P; "
        "2*W(m, n/2, k, P) when n >= max(m, k) and m*n + n*k + m*k >= M*P; "
        "2*W(m, n, k/2, P) when m*n + n*k + m*k >= M*P; W(m/2, n, k, P/2) + n*k/P when m >= max(n, k); "
        "W(m, n/2, k, P/2) + m*k/P when n >= max(m, k); W(m, n, k/2, P/2) + m*n/P",
        "(m*n + n*k + m*k)/P + (m*n*k/P)^(2/3) + m*n*k/(P*sqrt(M))",
        "P >= 2, m*n*k >= P",
    ),
    (
        "reduce-scatter by halving, Thakur, Rabenseifner, Gropp 2005",
        "W(P, n) = 1 when P <= 1; W(P/2, n/2) + n",
        "n",
        "n >= P, P >= 2",
    ),
    (
        "TSQR's words, Demmel, Grigori, Hoemmen, Langou 2012",
        "W(P) = 1 when P <= 1; W(P/2) + b^2",
        "b^2*log2(P)",
        "P >= 2",
    ),
    (
        "CAPS's words, Ballard, Demmel, Holtz, Lipshitz, Schwartz, SPAA 2012",
        "W(n, P) = 1 when P <= 1; 7*W(n/2, P) + n^2/P when n^2 >= M*P; W(n/2, P/7) + n^2/P",
        "n^log2(7)/(P*M^(log2(7)/2 - 1)) + n^2/P^(2/log2(7))",
        "P >= 2, n^2 >= P",
    ),
    ("search in van Emde Boas layout, Prokop 1999", "q(u) = 1 when u <= v; 2*q(u/2)", "1 + u/v", ""),
    (
        "a dynamic program over three indices, Chowdhury and Ramachandran",
        "Q(n) = 1 + n + n^2/L when n^2 <= Z; 8*Q(n/2) + 1 + n + n^2/L",
        "n + n^2/L + n^3/(L*sqrt(Z))",
        TALL,
    ),
    (
        "seven ways with a logarithm",
        "Q(n) = 1 + n + n^2/L when n^2 <= Z; 7*Q(n/2) + 1 + n + n^2/L*log2(n)",
        "n + n^2/L*log2(n) + n^log2(7)/(L*Z^(log2(7)/2 - 1))*log2(Z)",
        f"{TALL}, n^2 >= Z",
    ),
    (
        "four ways, all levels alike, with a logarithm",
        "Q(n) = 1 + n + n^2/L when n^2 <= Z; 4*Q(n/2) + 1 + n^2/L*log2(n)",
        "n^2/L*log2(n)*log2(n/sqrt(Z)) + n^2/sqrt(Z)",
        f"{TALL}, n^2 >= Z^2",
    ),
]

# What hand calculation gives: the nodes at the end of a path are the product over sizes of (from/to)^log_b(a).
BY_HAND = [
    # Selection by medians of medians: 1/5 + 7/10 < 1, so that the levels' costs fall whatever the exponent is.
    ("Q(n) = 1 + n/L when n <= Z; Q(n/5) + Q(7*n/10) + 1 + n/L", "1 + n/L", ""),
    # Levels with n > m cost m each, those below it n, m at first: log2(n/m) of them count.
    ("T(n, m) = 1 when n <= 1; T(n/2, m) + min(n, m)", "min(n, m*log2(n/m))", "n >= 2"),
    # The last level with sizes above Z^2 costs Z^2 at each of n/Z^2 nodes, those below cost n together each.
    ("T(n) = n when n <= Z; 2*T(n/2) + min(n, Z^2)", "n*log2(min(n, Z^2)/Z)", "n >= 2*Z"),
    # Sizes cut by 2 and by 3 in one call: after k levels the product has fallen by 6^k.
    ("T(n, m) = 1 when n*m <= Z; 2*T(n/2, m/3)", "1 + (n*m/Z)^(1/log2(6))", ""),
    # Halves and thirds take turns at log 3 : log 2, and each keeps its own exponent.
    ("T(n, m) = 1 when n <= 1 and m <= 1; 3*T(n/2, m) when n >= m; 2*T(n, m/3)", "n^log2(3)*m^(log2(2)/log2(3))", ""),
    # Two irrational exponents, with a cut-off that both sizes have to reach.
    (
        "T(n, m) = 1 when max(n, m) <= Z; 3*T(n/2, m) when n >= m; 7*T(n, m/2)",
        "n^log2(3)*m^log2(7)/Z^(log2(3) + log2(7))",
        "n >= Z, m >= Z",
    ),
    # A guard that drives the sizes apart: the smaller one goes on falling, below 1 too.
    ("T(n, m) = 1 when n*m <= Z; 2*T(n/2, m) when n <= m; 2*T(n, m/2)", "1 + n*m/Z", ""),
    # A cut-off by a sum, of which the greater part decides.
    ("T(n, m) = 1 when n^2 + m <= Z; 2*T(n/2, m) when n^2 >= m; 2*T(n, m/2)", "n*m/Z^(3/2)", "n^2 >= Z, m >= Z"),
    # A cut-off by the lesser size alone.
    ("T(n, m) = 1 when min(n, m) <= 1; 2*T(n/2, m) when n >= m; 2*T(n, m/2)", "n*m", "n == m"),
    # Both sizes shrink in one call.
    ("T(n, m) = m when n <= 1; 4*T(n/2, m/4)", "m + n^2*m/n^2", ""),
    # Calls of unequal sizes, x + x^2 = 1 having no such root, but 1/3 + 2/3 = 1.
    ("T(n) = 1 when n <= Z; T(n/3) + T(2*n/3) + n", "n*log2(n/Z)", "n >= 2*Z"),
    # 2/4 + 1/2 = 1: levels alike.
    ("T(n) = 1 when n <= L; 2*T(n/4) + T(n/2) + n", "n*log2(n/L)", "n >= 2*L"),
    # Spans: the max of equal calls is one call. The greater size falls at the cost of the lesser, level by level.
    (
        "S(n, m) = 1 when n*m <= 1; max(S(n/2, m), S(n/2, m) + m) + 1 when n >= m; S(n, m/2) + n",
        "m*log2(n/m)",
        "n >= m",
    ),
    # Bases stand for cut-offs at constant sizes.
    ("T(n, m) = 2*T(n/2, m/2) + n, T(1, 1) = 1", "n*log2(n)", "n == m, n >= 2"),
    # A logarithm that falls to nothing on the way down: log(n/Z) + ... + 1.
    ("T(n) = 1 when n <= Z; T(n/2) + log2(n/Z)", "log2(n/Z)^2", "n >= 2*Z"),
    # One that vanishes halfway: only the levels above Z have it, the others cost 1.
    ("T(n) = 1 when n <= 1; T(n/2) + log2(n/Z)", "log2(n/Z)^2 + log2(n)", "n >= Z, n >= 2"),
    # Facts may bound sizes from above.
    ("T(n) = n when n <= Z; 2*T(n/2) + n", "n", "n <= Z^2, n <= Z"),
]


def solved(text: str, where: str = "") -> SolvedGrowth:
    answer = solve_recurrence_in_log_space(parse_recurrence(text, where))
    assert isinstance(answer, SolvedGrowth), answer
    return answer


def refused(text: str, where: str = "") -> str:
    answer = solve_recurrence_in_log_space(parse_recurrence(text, where))
    assert isinstance(answer, Refused), answer
    return answer.reason


def assert_theta(found: str, wanted: str, where: str) -> None:
    for left, right in ((found, wanted), (wanted, found)):
        assert isinstance(order_texts(left, right, where), Proved), f"{left} is not shown to be O({right})"


@pytest.mark.parametrize(
    ("text", "growth", "where"), [row[1:] for row in some(PUBLISHED, 3)], ids=[row[0] for row in some(PUBLISHED, 3)]
)
def test_the_published_growth(text: str, growth: str, where: str) -> None:
    assert_theta(format_expression(solved(text, where).growth), growth, where)


@pytest.mark.parametrize(("text", "growth", "where"), BY_HAND)
def test_the_growth_by_hand(text: str, growth: str, where: str) -> None:
    assert_theta(format_expression(solved(text, where).growth), growth, where)


def test_a_leaf_that_costs_less_than_what_is_beside_it_has_a_regime_of_its_own() -> None:
    answer = solved("Q(n) = 1 when n <= Z; 2*Q(n/2) + n^2")
    assert [each.when for each in answer.regimes] == ["n <= Z", "n > Z"]
    assert_theta(format_expression(answer.regimes[0].upper), "1", "n <= Z")
    assert_theta(format_expression(answer.regimes[1].upper), "n^2", "n >= Z")


def test_one_formula_serves_where_the_leaf_meets_the_rest() -> None:
    answer = solved("Q(n) = n^2 when n <= Z; 2*Q(n/2) + n^2")
    assert answer.regimes == ()
    assert_theta(format_expression(answer.growth), "n^2", "")


def test_a_leaf_on_the_edge_of_the_sizes_is_a_regime_unless_a_fact_excludes_it() -> None:
    text = "W(P) = 1 when P <= 1; W(P/2) + b^2"
    assert [each.when for each in solved(text).regimes] == ["P <= 1", "P > 1"]
    assert solved(text, "P >= 2").regimes == ()


def test_a_fact_that_touches_the_leaves_leaves_them_a_regime() -> None:
    answer = solved("Q(w, h) = w when w <= Z; 2*Q(w/2, h) when w >= h; 2*Q(w, h/2)", "w >= Z")
    assert answer.regimes[0].text == "Theta(w) where w <= Z"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Q(n) = 1 when n <= Z; 2*Q(n/2) + n - 1", "1 is subtracted"),
        ("Q(n) = 1 when n <= Z; Q(n - 1) + n", "the size n becomes n - 1"),
        ("Q(n, m) = 1 when n*m <= Z; 2*Q(m, n/2) + 1", "the size n becomes m"),
        ("Q(n, m) = 1 when n*m <= Z; Q(n/2, m) + Q(n, m/2) + 1", "divide the sizes in different proportions"),
        ("Q(n, m) = 2*Q(n/2, m) + 1 when n >= m; 2*Q(n, m/2)", "no base case is reached"),
        ("Q(n, m) = 1 when n <= Z; 2*Q(n, m/2)", "no base case is reached"),
        ("Q(n) = 1 when n <= Z; n*Q(n/2) + 1", "the number of calls n depends on the sizes"),
        ("Q(n) = 1 when n <= Z; max(Q(n/2), Q(n/3)) + 1", "a maximum of calls"),
        ("Q(n) = 1 when n <= log2(Z); 2*Q(n/2) + 1", "a condition has the logarithm"),
        ("Q(n) = 1 when n <= Z; 2*Q(n/2) + n/log2(n)", "reciprocals of logarithms"),
        ("Q(n) = 1 when n <= Z; 2*Q(n/2) + log2(log2(n))", "the logarithm of a logarithm"),
        ("Q(n) = 1 when n <= Z; 2*Q(n/2) + n/(n + Z)", "a division by the sum"),
        ("Q(n) = 1 when n <= Z; 2*Q(n/2) + 2^n", "the exponent n"),
        ("Q(n) = 1 when n <= Z; 2*Q(n/2) + floor(n)", "floor(n)"),
        ("Q(n) = 1 when n <= Z; 2*Q(n) + n", "at the same sizes"),
        ("W(P) = 1 when P <= 1; W(P/2) + W(P/4) + b^2", "a power without closed form"),
        ("Q(n) = 1 when n <= Z; 2*R(n/2); R(n) = Q(n/2)", "several functions"),
        ("Q(n) = n", "no case is recursive"),
    ],
)
def test_what_is_out_of_reach_is_named(text: str, reason: str) -> None:
    assert reason in refused(text)


def test_powers_without_closed_form_are_known_between_bounds() -> None:
    answer = solved("Q(n) = 1 when n <= Z; Q(n/2) + Q(n/4) + 1")
    # The golden ratio's logarithm is 0.6942419136306...
    assert format_expression(answer.growth) == "1 + n^0.694241914/Z^0.694241914"
    assert tuple(map(format_expression, answer.between)) == (
        "1 + n^0.694241913/Z^0.694241913",
        "1 + n^0.694241915/Z^0.694241915",
    )
    # Below any power that calls alone have, nothing of them is left.
    assert solved("Q(n) = n when n <= Z; Q(n/2) + Q(n/4) + n").between is None


def test_growth_that_jumps_inside_the_recursion_is_refused() -> None:
    # Halving m costs 1 and halving n costs n^2, which is paid only if m falls to n before n*m falls to Z: at roots
    # with n^2 = Z the value is near m/n or near n^2, as the sizes' remainders will have it.
    reason = refused("Q(n, m) = 1 when n*m <= Z; Q(n/2, m) + n^2 when n >= m; Q(n, m/2) + 1")
    assert reason.startswith("the growth is discontinuous at n^2 = Z")


def test_facts_that_nothing_satisfies_leave_a_point() -> None:
    assert isinstance(
        solve_recurrence_in_log_space(parse_recurrence("Q(n) = 1 when n <= Z; 2*Q(n/2)", "n <= 1, Z <= 1")),
        Refused | SolvedGrowth,
    )
