"""Growth orders that are known from mathematics, both ways, and the language of questions and answers."""

from __future__ import annotations

import pytest

from archline.growth.growths import Growth, decide_dominance, simplify_growth
from archline.growth.is_big_o import Proved, Refuted, Undecided, is_O
from archline.growth.log_domain import Domain
from archline.language.diagnostics import ArchlineError
from archline.language.parser import parse_expression, parse_facts
from growth_questions import order_texts

CARMA = "min(n*k, sqrt(m*n*k^2/P), (m*n*k/P)^(2/3))"
CARMA_FACTS = "m >= n, n >= k, m*n*k >= P, P >= 2"
STRASSEN = "n^log2(7)/(L*Z^(log2(7)/2 - 1))"

HOLDS = [
    # Powers, and the inequality of arithmetic and geometric means.
    ("n", "n^2", ""),
    ("(n*m*p)^(2/3)", "n*m + m*p + n*p", ""),
    ("n*m", "n^3 + m^(3/2)", ""),
    ("sqrt(n*m)", "n + m", ""),
    # Terms that a proof does without.
    ("min(a*b, sqrt(m*k))", "m + k", ""),
    ("sqrt(m*k)", "1/a + m + k", ""),
    ("min(a/b, sqrt(m*k))", "b/a + m + k", ""),
    ("(n + m)^5", "n^5 + m^5", ""),
    ("1/(n + m)", "1/n", ""),
    ("n^2/(n + m)", "n", ""),
    ("n^2*m/(n + m)", "n*min(n, m)", ""),
    ("n*min(n, m)", "n^2*m/(n + m)", ""),
    # Products of maxima and minima, which are not multiplied out.
    ("n^2*m/((n + m)*(n + p))", "min(n, m)", ""),
    ("(p + n)*(p + m)/((p + m)/(m + p))", "p^2 + p*n + p*m + n*m", ""),
    ("log2((n + m)*min(n, p))", "log2(n) + log2(m)", ""),
    ("((n + m)*min(n, p))^(1/2)", "n + m", ""),
    ("n + m + p + n*m", "(n + m + p + n*m)*max(n, m)/min(n, m)", ""),
    # Irrational exponents.
    ("n^log2(7)", "n^2.81", ""),
    ("n^2.8", "n^log2(7)", ""),
    ("n^log2(6)", "n*n^log2(3)", ""),
    ("n^(log2(5)/log2(4))", "n^(log2(5)/2)", ""),
    ("n^(log2(4)/log2(3))", "n^1.27", ""),
    ("n^sqrt(12)", "(n^2)^sqrt(3)", ""),
    ("n^((3^log2(5))^2/100)", "n^(3^log2(5)/7)", ""),
    ("n^0.694241913", "n^log2((1 + sqrt(5))/2)", ""),
    (STRASSEN, "n^2/L + n^3/(L*sqrt(Z))", "Z >= L^2"),
    ("n^2/L", STRASSEN, "n^2 >= Z"),
    # Logarithms.
    ("n*log2(n)", "n^1.001", ""),
    ("log2(n)^100", "n^0.01", ""),
    ("log2(log2(n))^5", "log2(n)^0.1", ""),
    ("log2(n^3*m)", "log2(n) + log2(m)", ""),
    ("log2(n + m)", "log2(n) + log2(m)", ""),
    ("log2(n) + log2(m)", "log2(n*m)", ""),
    ("2^(3*log2(n))", "n^3", ""),
    ("log2(n)", "log2(m)", "n <= m^3"),
    ("log2(log2(n))", "log2(log2(m))", "n <= m^3"),
    ("n*log2(n)", "n*log2(m) + n^2/m", ""),
    ("1", "log2(n)/log2(1 + n)", ""),
    # Quotients in logarithms.
    ("log2(n/Z)", "log2(n)", ""),
    ("log2(n)", "log2(n/Z) + log2(Z)", ""),
    ("log2(n)", "log2(n/Z)", "n >= Z^2"),
    ("log2(n/m)", "1", "n <= m"),
    ("n/L*log2(n/Z)", "n/L*log2(n)/log2(Z)*log2(n)", "n >= Z, Z >= L^2"),
    # Facts.
    ("L", "Z", ""),
    ("L^2", "Z", "Z >= L^2"),
    ("L*sqrt(Z)", "Z", "Z >= L^2"),
    ("nz + n", "nz", "nz >= n"),
    ("c^2", "P", "c^3 <= P"),
    ("c", "P^(1/3)", "c^3 <= P"),
    ("n*m", "n", "m <= 100"),
    ("p", "max(n, m)", "p <= n + m"),
    ("p", "n*m", "p <= n + m"),
    ("n + m + p", "nz", "nz >= n + m + p"),
    ("n", "k*log2(n)", "k*log2(n) >= n"),
    ("b", "n", "b divides n"),
    ("n", "m", "n == m"),
    ("m", "n", "n/m is power of 2"),
    ("m", "n", "n/m is power of 1"),
    ("m", "n", "n/m is power of 3/2"),
    ("m", "n", "n/m is power of p"),
    ("m", "p", "p - m is power of 2"),
    ("n^2", "m", "m == n^2 + p"),
    ("m", "n^2 + p", "m == n^2 + p"),
    ("n*m", "p^2", "n <= p and m <= p"),
    (CARMA, "n*k", CARMA_FACTS),
    (CARMA, "(m*n*k/P)^(2/3)", ""),
    ("(n*k)^(1/3)*((m*n*k/P)^(2/3))^(2/3)", "n*k + (m*n*k/P)^(2/3)", ""),
    # Subtraction and rounding, constants taken into account.
    # Differences of the words of recursive matrix products on P processors.
    ("n^2/P^(2/3)", "3*(n^2/P^(2/3) - n^2/P)", "P >= 2"),
    ("3*(n^2/P^(2/3) - n^2/P)", "n^2/P^(2/3)", ""),
    ("n^2/P^(2/log2(7))", "n^2/P^(2/log2(7)) - n^2/P", "P >= 7"),
    ("6*(n^2/P^(2/log2(7)) - n^2/P)*(7/4)^d", "(7/4)^d*n^2/P^(2/log2(7))", "P >= 7"),
    ("(7/4)^d*n^2/P^(2/log2(7))", "6*(n^2/P^(2/log2(7)) - n^2/P)*(7/4)^d + 3*n^2/P*((7/4)^d - 1)", "P >= 7, d >= 1"),
    ("n^2/P + n^2/(4^d*P^(2/log2(7)))", "3*n^2/P + 2*n^2/(4^d*P^(2/log2(7))) - n^2/(4^d*P)", "P >= 7"),
    ("(n/m)^log2(7)*m^3/P", "(n/m)^log2(7)*m^3/P + 18/4*n^2/P*((n/m)^(log2(7) - 2) - 1)", "n >= m"),
    ("(n/m)^(log2(7) - 2)", "(n/m)^(log2(7) - 2) - 1", "n >= 2*m"),
    ("n^2", "n^2 - n/2", ""),
    ("n^2", "n^2 - n", "n >= 2"),
    ("n^2 - n", "n^2", ""),
    ("n - m", "n", ""),
    ("n*(n - 1)/2 + n", "n^2", ""),
    ("n^2", "n*(n - 1)/2 + n", ""),
    ("n", "2*n - log2(n)", ""),
    ("n*log2(n)", "n*log2(n) - n", ""),
    ("n^log2(3)", "3*n^log2(3) - 2*n", ""),
    ("n", "n - m", "n >= 2*m"),
    ("ceil(n/m)", "n/m + 1", ""),
    ("n/m + 1", "ceil(n/m)", ""),
    ("n//2", "n", ""),
    ("n", "floor(n/2)", "n >= 2"),
    ("n % m", "min(n, m)", ""),
    ("(n - m)^2", "n^2 + m^2", ""),
    ("abs(n - m)", "n + m", ""),
    ("n", "n + m - m", ""),
    ("m", "n - (n - m)^1", ""),
    ("n + min(n, m)", "n + min(n, m) - 1/2", ""),
    ("max(n, m)", "2*max(n, m) - n", ""),
    ("m", "m - n//m + 2*n/m", ""),
    # In n - 1, or n - 2 and m - 2, no coefficient is negative.
    ("n^2", "n^2 - n + 1", ""),
    ("n*m", "n*m - n - m + 1", "n >= 2, m >= 2"),
    ("n^2*m^2", "(n^2 - n + 1)*(m^2 - m + 1)", ""),
    ("n*m", "n*m - n - m/2 + 1/2", "n >= 2, m >= 3"),
    ("n*log2(m)", "(n - 1)*(log2(m) - 1)", "n >= 2"),
    ("1", "(n - 1)*(m - 1) + 1", ""),
    # Exponentials.
    ("n^3", "2^n", ""),
    ("2^n", "3^n", ""),
    ("2^(n + m)", "2^n*2^m", ""),
    ("2^n*m", "m^2 + 4^n", ""),
    ("sqrt(4^n)", "2^(n - 3)", ""),
    ("log2(2^n*m)", "n + log2(m)", ""),
    ("n", "log2(2^n/log2(n))", ""),
    ("n", "log2(m)", "2^n <= m"),
    ("2^n", "2^n - 1", ""),
    ("2^n", "2^n - n", ""),
    ("2^n", "5*2^n - 2*n - 6", ""),
    ("2^n", "3/2*2^n - n - 2", "n >= 2"),
    ("4^n", "4^n - 2^n - n^2/2", ""),
    ("n*3^n", "n*3^n - 2^n", ""),
]  # fmt: skip

FAR = [
    # They hold with constants so large that no value shows it.
    ("n^100", "2^n", ""),
    ("1", "2^n/n^20", ""),
    ("n*2^n", "2.001^n", ""),
    ("n*log2(n)", "2^(n/1000)", ""),
]

FAILS = [
    ("n^2/P^(2/3)", "n^2/P^(2/3) - n^2/P", ""),
    ("n^2/P^(2/log2(7))", "n^2/P", "P >= 7"),
    ("n^2/P^(2/log2(7)) - n^2/P", "n^2/P", "P >= 7"),
    ("(7/4)^d*n^2/P^(2/log2(7))", "6*(n^2/P^(2/log2(7)) - n^2/P)*(3/2)^d", "P >= 7"),
    ("(n/m)^(log2(7) - 2)", "(n/m)^(log2(7) - 2) - 1", "n >= m"),
    ("n^2", "n", ""),
    ("n", "m", ""),
    ("n*m", "n", ""),
    ("n*m + m*p + n*p", "(n*m*p)^(2/3)", ""),
    ("n*m", "n^3 + m^(4/3)", ""),
    ("n + m", "sqrt(n*m)", ""),
    ("1/n", "1/(n + m)", ""),
    ("1", "1/n", ""),
    ("((n + m)*min(n, p))^(1/2)", "n + p", ""),
    ("n + m", "(n + m)/max(n, m)^0.1", "m + p <= n"),
    ("n^log2(7)", "n^2.8", ""),
    ("n^2.81", "n^log2(7)", ""),
    ("n^log2(3)", "n^(log2(5)/log2(3))", ""),
    ("n^0.694241914", "n^log2((1 + sqrt(5))/2)", ""),
    ("n^1.001", "n*log2(n)", ""),
    ("n^0.01", "log2(n)^100", ""),
    ("n*log2(n)", "n", ""),
    ("log2(n)", "log2(log2(n))^9", ""),
    ("log2(n)", "log2(m)", ""),
    ("log2(log2(n))", "1", ""),
    ("log2(n)", "log2(n/Z)", "n >= Z"),
    ("log2(n/m)", "1", ""),
    ("n*log2(n)", "n*log2(log2(n)) + n^2/m", ""),
    ("m", "log2(n)", "n >= 16*m"),
    ("L^2", "Z", ""),
    ("L^3", "Z", "Z >= L^2"),
    ("Z", "L^2", "Z >= L^2"),
    ("nz + n", "nz", ""),
    ("nz", "n", "nz >= n"),
    ("c^4", "P", "c^3 <= P"),
    ("p", "n", "p <= n + m"),
    ("nz", "n + m", "nz >= n + m"),
    ("n", "m", "n is power of 2"),
    ("n", "sqrt(n*b)", "b divides n, n is square"),
    ("n", "m", "n >= 2*m"),
    ("n", "m*log2(m)", "n >= m*log2(m)"),
    ("n*log2(p)/log2(n)", "n*log2(n/m)", "n >= log2(m), n/m <= p, p^3 <= n*m"),
    # Powers of 2^T and of T that no linear program proposes, as logarithms tie them.
    ("p", "p*log2(p)/log2(n) + log2(n)", "n >= m, m >= p"),
    ("min(m, n)^2", "min(m, n)^2*log2(n)/log2(p)^2 + max(n, m)*sqrt(log2(m))", "n >= m*log2(m)"),
    ("n", "max(n, m) - m", ""),
    ("n*k", CARMA, CARMA_FACTS),
    ("(m*n*k/P)^(2/3)", CARMA, CARMA_FACTS),
    ("n", "n + m - n", ""),
    ("n^2", "n^2 - n", ""),
    ("n", "n//2", ""),
    ("n", "n - m", ""),
    ("n", "log2(n) - 1", ""),
    ("1", "ceil(n/m) - n/m", ""),
    ("n", "n % m", ""),
    ("n*m", "n*m - n - m + 1", ""),
    ("n*m", "n*m - n - m + 1", "n >= 2"),
    ("2^n", "n^100", ""),
    ("3^n", "2^n*n^7", ""),
    ("2^n", "2^m", ""),
    ("2^n", "2^(n/2)*n", ""),
    ("n", "log2(2^n/m)", ""),
    ("4^n", "2^n + m", ""),
    ("2^n", "3/2*2^n - n - 2", ""),
]  # fmt: skip


@pytest.mark.parametrize(("f", "g", "where"), [*HOLDS, *FAR])
def test_holds(f: str, g: str, where: str) -> None:
    assert isinstance(order_texts(f, g, where), Proved)


@pytest.mark.parametrize(("f", "g", "where"), FAILS)
def test_fails(f: str, g: str, where: str) -> None:
    assert isinstance(order_texts(f, g, where), Refuted)


@pytest.mark.parametrize(
    ("f", "g", "reason"),
    [
        ("2^(n/m)", "n", "is not known to grow"),
        ("n", "2^(m*n^2 + ceil(n/2))", "is not a sum of products"),
        ("(n + 1)^m", "n", "a sum is raised to the power `m`"),
        ("n", "n^(10^9*10^9)/n^(2^(10^9))", "too large"),
        ("n/(n - m)", "n", "may be negative"),
        ("log2(n - m)", "n", "may be negative"),
        ("sqrt(n - m)", "n", "may be negative"),
        ("(n - m)^9", "n", "may be negative"),
        ("sqrt(floor(n - m))", "n", "may be negative"),
        ("sqrt((n - m)//2)", "n", "may be negative"),
        ("n*(floor(n - m) + 1)", "n", "may be negative"),
        ("log2(ceil(n - m))", "n", "may be negative"),
        ("sqrt(min(n - m, n))", "n", "may be negative"),
        ("log2((n - m) % p - n)", "n", "may be negative"),
        ("n/floor(n/2)", "n", "may be zero"),
        ("1/(n % m)", "n", "may be zero"),
    ],
)
def test_out_of_reach(f: str, g: str, reason: str) -> None:
    answer = order_texts(f, g)
    assert isinstance(answer, Undecided)
    assert reason in answer.reason


@pytest.mark.parametrize(
    ("f", "g", "where", "code"),
    [
        ("x[i]", "n", "", "AL480"),
        ("n", "sin(n)", "", "AL480"),
        ("n < m", "n", "", "AL480"),
        ("0", "n", "", "AL481"),
        ("n", "n - 2*n", "", "AL481"),
        ("n", "-n", "", "AL481"),
        ("n", "m", "n + m", "AL482"),
        ("n", "m", "n <= 0", "AL483"),
        ("n", "m", "n <= 1 and m >= 3 and 2 <= n", "AL483"),
        ("n +", "m", "", "AL101"),
    ],
)
def test_refused(f: str, g: str, where: str, code: str) -> None:
    with pytest.raises(ArchlineError) as refusal:
        order_texts(f, g, where)
    assert refusal.value.diagnostics[0].rule.code == code


def test_a_domain_serves_many_questions() -> None:
    domain = Domain(parse_facts("Z >= L^2, n >= Z"))
    texts = ["n/L*log2(n/Z)", "n/L", "n/L + n/sqrt(Z)", "n"]
    for f in texts:
        for g in texts:
            shared = is_O(parse_expression(f), parse_expression(g), domain)
            assert type(shared) is type(order_texts(f, g, "Z >= L^2, n >= Z"))


def test_a_fact_with_a_negative_term_bounds_nothing() -> None:
    """n + min(0, m - n) is min(n, m), so that n may be far above k: k - n/2 may be negative."""
    fact = "n + min(0, m - n) <= k"
    assert not isinstance(order_texts("k", "k - n/2", fact), Proved)
    assert not isinstance(order_texts("n", "k", fact), Proved)


@pytest.mark.parametrize("base", ["1/2", "0.999", "1/p", "p/n", "2/3", "-2", "1 - p", "log2(3/2)", "n/m"])
def test_powers_of_what_may_be_below_one_bound_nothing(base: str) -> None:
    """n/m = (1/2)^k: m = 2^k*n is no O(n)."""
    assert not isinstance(order_texts("m", "n", f"n/m is power of {base}"), Proved)


@pytest.mark.parametrize(
    ("f", "g"),
    [
        # m % p is zero where p divides m, and floor(p/m) where m is above p.
        ("min(m, p)", "n + m % p"), ("min(m, p)", "m % p + n"), ("n*min(m, p)", "n*(1 + m % p)"), ("n*min(m, p)", "(1 + m % p)*n"), ("p/m", "1 + m % p"),
        ("m + n", "max(n, m % p)"), ("min(m, n)", "min(n, 1 + m % p)"), ("p", "n + floor(p/m)"), ("p*n", "n*(1 + floor(p/m))"), ("m", "abs(m - n) + 1"),
        ("1/(1 + m % p)", "1/(1 + m)"), ("log2(m)", "log2(m % p + 2)"), ("sqrt(min(m, p))", "sqrt(n + m % p)"),
        # log2(2 + 1) is 1.58 at n = 1, so that what is left is below 0 there.
        ("log2(n)", "log2(n) - 2"), ("log2(n)", "log2(n) - 8/5"), ("n", "n - 2/3*log2(n)"), ("n", "2*n - 4/3*log2(n)"),
        ("m", "n + max(m - n, 1)/m"),
    ],
)  # fmt: skip
def test_what_may_vanish_is_not_relied_upon(f: str, g: str) -> None:
    assert not isinstance(order_texts(f, g), Proved)


def test_facts_that_cannot_be_used_are_left_out() -> None:
    """A weaker set of facts proves less; it never proves more."""
    assert isinstance(order_texts("n", "m", "2^n <= m, n <= m"), Proved)
    assert not isinstance(order_texts("n", "m", "2^n <= m"), Refuted)
    assert isinstance(order_texts("n", "m^2", "n <= m or n <= m^2, n <= m^2"), Proved)


# Growth between bounds: a proof needs the ends that face each other, a refutation the others


ORDERS = {"n": 1.0, "n*log2(n)": 1.5, "n^2": 2.0, "n^3": 3.0}


def between(lower: str, upper: str) -> Growth:
    return Growth(parse_expression(lower), parse_expression(upper))


@pytest.mark.parametrize("lower", ORDERS)
@pytest.mark.parametrize("upper", ORDERS)
@pytest.mark.parametrize("bound", ORDERS)
def test_bounds_prove_and_refute_what_all_between_them_do(lower: str, upper: str, bound: str) -> None:
    """The orders of growth are ranked by hand; of what lies between two of them all ranks between are possible."""
    if ORDERS[lower] > ORDERS[upper]:
        return
    within = [ORDERS[lower] <= ORDERS[bound], ORDERS[upper] <= ORDERS[bound]]
    expected = Proved if all(within) else Undecided if any(within) else Refuted
    assert isinstance(decide_dominance(between(lower, upper), between(bound, bound), Domain()), expected)
    beyond = [ORDERS[bound] <= ORDERS[lower], ORDERS[bound] <= ORDERS[upper]]
    expected = Proved if all(beyond) else Undecided if any(beyond) else Refuted
    assert isinstance(decide_dominance(between(bound, bound), between(lower, upper), Domain()), expected)


def test_the_first_candidate_of_the_same_order_is_taken() -> None:
    known = between("n^2 + n", "n^2 + n*log2(n)")
    assert simplify_growth(known, map(parse_expression, ("n^3", "n^2", "n")), Domain()).text == "Theta(n^2)"
    open_ends = simplify_growth(between("n + 1", "n^2 + n"), map(parse_expression, ("n^3", "n^2", "n")), Domain())
    assert open_ends.text == "O(n^2), Omega(n)"
