"""The growth of recurrences as people write them agrees with their values at sizes up to 2^20.

Each kind has a generator of texts, each with a function that computes log2 of a value from those at smaller sizes. The
values come from these functions alone: whole sizes, memoised or in order, with logarithms of values as numbers.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import pytest

import archline as al
from archline.algebra.evaluate.formulas import BALL_ARITHMETIC, value_at
from archline.language.parser import parse_expression

Call = tuple[float, int]
"""A weight and a size."""
CASES_OF_A_KIND = 40
_ALLOWED_DRIFT = 0.65
"""The logarithm of the quotient of a value by its growth may change by this much from 2^12 to 2^20.

A missing factor log2(n) would change it by 0.74.
"""


@dataclass
class Written:
    """A text, and the rule that it states: the calls and log2 of the terms (None for 0) at a whole size."""

    text: str
    calls: Callable[[int], list[Call]]
    terms: Callable[[int], float]
    base: int = 1
    sizes: tuple[int, ...] = (1 << 12, 1 << 16, 1 << 20)
    maximum: bool = False
    drift: float = _ALLOWED_DRIFT

    def compute_logs(self) -> list[float]:
        """Return log2 of the values at the sizes; T(n) = 1 for n <= base."""
        known: dict[int, float] = {}
        sys.setrecursionlimit(100_000)

        def compute(size: int) -> float:
            if size <= self.base:
                return 0.0
            stack = [size]
            while stack:
                at = stack[-1]
                if at in known:
                    stack.pop()
                    continue
                calls = self.calls(at)
                missing = [s for _, s in calls if s > self.base and s not in known]
                if missing:
                    assert all(s < at for s in missing), (self.text, at)
                    stack += missing
                    continue
                values = [math.log2(w) + (known[s] if s > self.base else 0.0) for w, s in calls if w]
                total = [max(values)] if self.maximum else values
                known[at] = add_logs([*total, self.terms(at)])
                stack.pop()
            return known[size]

        return [compute(size) for size in self.sizes]


def add_logs(logs: list[float]) -> float:
    """Return log2 of the sum of numbers with these logarithms."""
    top = max(logs)
    return top if top == -math.inf else top + math.log2(sum(2.0 ** (log - top) for log in logs))


def evaluate_log(growth: str, size: int) -> float:
    """Return log2 of an expression at a size."""
    value = value_at(parse_expression(growth), {"n": size}, BALL_ARITHMETIC)
    return float(value.log().mid()) / math.log(2)


@dataclass
class Term:
    """A term c*n^power*log2(n)^logs."""

    power: Fraction
    logs: int = 0
    times: int = 1

    @property
    def text(self) -> str:
        """The text of the term."""
        powers = {Fraction(0): "", Fraction(1): "n", Fraction(1, 2): "sqrt(n)"}
        parts = [powers.get(self.power, f"n^({self.power})"), {0: "", 1: "lg(n)"}.get(self.logs, f"lg(n)^{self.logs}")]
        named = "*".join(filter(None, parts))
        return f"{self.times}*{named}" if named and self.times > 1 else named or str(self.times)

    def log(self, n: int) -> float:
        """Log2 of the term at a size."""
        logs = self.logs * math.log2(math.log2(n)) if self.logs else 0.0
        return math.log2(self.times) + float(self.power) * math.log2(n) + logs


def choose_term(chance: random.Random, powers: tuple[str, ...] = ("0", "1/2", "1", "3/2", "2"), logs: int = 1) -> Term:
    return Term(Fraction(chance.choice(powers)), chance.randint(0, logs), chance.randint(1, 3))


def make_rounded(chance: random.Random) -> Written:
    b = chance.choice((2, 3, 4))
    a = chance.randint(1, 4)
    term = choose_term(chance)
    way, written = chance.choice(
        ((lambda n: n // b, f"floor(n/{b})"), (lambda n: -(-n // b), f"ceil(n/{b})"), (lambda n: n // b, f"n//{b}"))
    )
    return Written(f"T(n) = {a}*T({written}) + {term.text}", lambda n: [(a, way(n))], term.log, drift=1.1)


def make_two_halves(chance: random.Random) -> Written:
    term, b = choose_term(chance, ("0", "1/2", "1", "2")), chance.choice((2, 3))
    return Written(
        f"T(n) = T(floor(n/{b})) + T(ceil({b - 1}*n/{b})) + {term.text}",
        lambda n: [(1, n // b), (1, -(-(b - 1) * n // b))],
        term.log,
        base=b - 1,
        drift=0.9,
    )


def make_part_and_root(chance: random.Random) -> Written:
    b, c, a = chance.choice((2, 3, 4)), chance.randint(1, 2), chance.randint(1, 3)
    term = choose_term(chance, ("0", "1/2", "1", "2"))
    return Written(
        f"T(n) = {a}*T(n/{b} + {c}*sqrt(n)) + {term.text}",
        lambda n: [(a, n // b + c * math.isqrt(n))],
        term.log,
        base=max(n for n in range(1, 200) if n // b + c * math.isqrt(n) >= n) + 1,
        # The roots count up to large sizes.
        sizes=(b**40, b**60, b**80),
        drift=0.9,
    )


def make_slow(chance: random.Random) -> Written:
    gamma = chance.choice((Fraction(1, 2), Fraction(1, 3), Fraction(2, 3)))
    less = {Fraction(1, 2): "sqrt(n)"}.get(gamma, f"n^({gamma})")
    term = choose_term(chance)
    return Written(
        f"T(n) = T(n - {less}) + {term.text}",
        lambda n: [(1, n - max(1, int(n ** float(gamma) + 1e-9)))],
        term.log,
    )


def make_less_a_logarithm(chance: random.Random) -> Written:
    term, c = choose_term(chance), chance.randint(1, 2)
    return Written(
        f"T(n) = T(n - {c}*lg(n)) + {term.text}".replace("1*lg", "lg"),
        lambda n: [(1, n - max(1, int(c * math.log2(n))))],
        term.log,
        base=4,
        drift=0.8,
    )


def make_root_and_rest(chance: random.Random) -> Written:
    term, a = choose_term(chance, ("0", "1/2", "1", "3/2"), 0), chance.randint(1, 2)
    return Written(
        f"T(n) = {a}*T(sqrt(n)) + T(n - sqrt(n)) + {term.text}".replace("1*T", "T"),
        lambda n: [(a, math.isqrt(n)), (1, n - math.isqrt(n))],
        term.log,
    )


def make_step_and_root(chance: random.Random) -> Written:
    term, a = choose_term(chance, ("0", "1", "2"), 0), chance.randint(1, 3)
    return Written(
        f"T(n) = {a}*T(sqrt(n)) + T(n-1) + {term.text}",
        lambda n: [(a, math.isqrt(n)), (1, n - 1)],
        term.log,
        sizes=(1 << 10, 1 << 14),
    )


def make_at_numbers(chance: random.Random) -> Written:
    term, c, at = choose_term(chance), chance.randint(1, 2), chance.randint(0, 1)
    return Written(
        f"T(n) = T(n-{c}) + T({at}) + {term.text}", lambda n: [(1, n - c), (1, at)], term.log, sizes=(1 << 10, 1 << 14)
    )


def make_irrational(chance: random.Random) -> Written:
    a, b, term = chance.choice((2, 3, 5)), chance.choice((2, 3, 4)), choose_term(chance, ("0", "1/4", "1", "2"))
    return Written(
        f"T(n) = sqrt({a})*T(n/{b}) + {term.text}",
        lambda n: [(math.sqrt(a), n // b)],
        term.log,
        sizes=(b**6, b**9, b**12),
        drift=1.2,
    )


def make_varying(chance: random.Random) -> Written:
    a, b, term = chance.randint(-1, 3), chance.randint(0, 2), choose_term(chance, ("0", "1/2", "1", "2"))
    sign = "-" if a < 0 else "+"
    below = f"(n+{b})" if b else "n"
    return Written(
        f"T(n) = (n {sign} {abs(a)})/{below}*T(n-1) + {term.text}",
        lambda n: [((n + a) / (n + b), n - 1)],
        term.log,
        sizes=(1 << 10, 1 << 14),
        drift=0.3,
    )


def make_products(chance: random.Random) -> Written:
    step, shift, power = chance.randint(1, 2), chance.randint(-1, 2), chance.choice((1, 1, 2))
    term = choose_term(chance, ("0", "1"))
    weight = f"(n {'-' if shift < 0 else '+'} {abs(shift)})" + ("^2" if power == 2 else "")
    return Written(
        f"A(n) = {weight}*A(n-{step}) + {term.text}, A(1) = 1",
        lambda n: [((n + shift) ** power, n - step)],
        term.log,
        sizes=(1 << 9, 1 << 11, 1 << 13),
        drift=0.05,
    )


def make_exponential(chance: random.Random) -> Written:
    a, c, k = chance.randint(1, 3), chance.randint(2, 4), chance.randint(0, 2)
    text = f"{c}^n" if k == 0 else f"n^{k}*{c}^n"
    return Written(
        f"T(n) = {a}*T(n-1) + {text}",
        lambda n: [(a, n - 1)],
        lambda n: n * math.log2(c) + k * math.log2(n),
        sizes=(1 << 9, 1 << 11, 1 << 13),
        drift=0.05,
    )


def make_maximum(chance: random.Random) -> Written:
    b, term = chance.choice((2, 3)), choose_term(chance)
    other = chance.choice((f"T(n/{b})", f"T(floor(n/{b}))", "T(n-2)"))
    smaller = (lambda n: n - 2) if other == "T(n-2)" else lambda n: n // b
    return Written(
        f"T(n) = max(T(n-1), {other}) + {term.text}",
        lambda n: [(1, n - 1), (1, smaller(n))],
        term.log,
        sizes=(1 << 10, 1 << 14),
        maximum=True,
        drift=0.3,
    )


def make_selection(chance: random.Random) -> Written:
    a, (p, q), c = chance.choice((4, 5, 6)), chance.choice(((7, 10), (2, 3), (3, 5))), chance.randint(0, 8)
    base = chance.choice(("", ", S(60) = 1", ", S(1) = 1"))
    term = choose_term(chance, ("1", "2"), 0)
    return Written(
        f"S(n) = S(n/{a}) + S({p}*n/{q} + {c}) + {term.text}{base}",
        lambda n: [(1, n // a), (1, p * n // q + c)],
        term.log,
        base=60,
        drift=0.9,
    )


def make_sum(chance: random.Random) -> Written:
    term, start, c = choose_term(chance, ("0", "1", "2")), chance.randint(0, 1), chance.randint(1, 3)
    mean = chance.random() < 0.6
    written = "sum(T(i))" if start == 0 else "sum(T(i) for i in 1..n)"
    weight = f"{c}/n*" if mean else "" if c == 1 else f"{c}*"

    sums: list[float] = []

    def sum_below(n: int) -> float:
        """Log2 of T(start) + ... + T(n - 1), in order of n."""
        if not sums:
            sums.extend([-math.inf, *([0.0] * (1 - start)), add_logs([0.0, 0.0]) if start == 0 else 0.0])
        while len(sums) <= n:
            at = len(sums) - 1
            scale = math.log2(c) - (math.log2(at) if mean else 0.0)
            value = add_logs([sums[at] + scale, term.log(at)]) if at > 1 else 0.0
            sums.append(add_logs([sums[at], value]))
        return sums[n]

    def terms(n: int) -> float:
        scale = math.log2(c) - (math.log2(n) if mean else 0.0)
        return add_logs([sum_below(n) + scale, term.log(n)])

    sizes = (1 << 12, 1 << 16) if mean else (1 << 8, 1 << 10, 1 << 12)
    return Written(f"T(n) = {weight}{written} + {term.text}", lambda n: [(0, 0)], terms, sizes=sizes, drift=0.5)


def make_negative(chance: random.Random) -> Written:
    a, c, d = chance.randint(2, 4), chance.randint(1, 3), chance.randint(0, 4)
    start = 4 * chance.randint(2, 5)

    def logs(n: int) -> float:
        value = start
        for size in range(1, n + 1):
            value = a * value - c * size + d
        return math.log2(value)

    return Written(
        f"F(n) = {a}*F(n-1) - {c}*n + {d}, F(0) = {start}",
        lambda n: [(0, 0)],
        logs,
        base=0,
        sizes=(1 << 6, 1 << 8),
        drift=0.05,
    )


def make_theta(chance: random.Random) -> Written:
    b, a, term = chance.choice((2, 4)), chance.randint(1, 4), choose_term(chance, ("0", "1", "2"))
    return Written(
        f"T(n) = {a}*T(n/{b}) + Theta({term.text})",
        lambda n: [(a, n // b)],
        term.log,
        sizes=(1 << 12, 1 << 20),
        drift=1.1,
    )


KINDS = {name.removeprefix("make_"): make for name, make in list(globals().items()) if name.startswith("make_")}


def iterate_cases(kind: str) -> Iterator[Written]:
    chance = random.Random(kind)
    for _ in range(CASES_OF_A_KIND):
        yield KINDS[kind](chance)


@pytest.mark.parametrize("kind", KINDS)
def test_the_growth_agrees_with_values(kind: str) -> None:
    wrong = []
    for case in iterate_cases(kind):
        solution = al.recurrence(case.text)
        if solution.growth is None:
            wrong.append((case.text, solution.reason))
            continue
        ratios = [
            value - evaluate_log(solution.growth, size)
            for value, size in zip(case.compute_logs(), case.sizes, strict=True)
        ]
        if max(ratios) - min(ratios) > case.drift:
            wrong.append((case.text, solution.growth, ratios))
    assert not wrong


@pytest.mark.parametrize(
    ("text", "growth"),
    [
        ("Q(n) = 1 when n <= L; Q(n/L) + 1", "1 + log2(n)/log2(L)"),
        ("Q(n) = 2 when n < B; Q(ceil(n/B)) + 3", "1 + log2(n)/log2(B)"),
        ("Q(n) = Q(n/L) + n", "1 + n"),
        ("Q(n) = 1 when n <= L; Q(n/L) + log2(n)", "1 + log2(n)*log2(n)/log2(L)"),
        ("Q(n) = 1 when n <= M; Q(n/L) + 1", "1 + log2(n/M)/log2(L)"),
        ("Q(n) = 1 when n <= L; 2*Q(n/L) + 1", "n^(1/log2(L))"),
    ],
)
def test_sizes_divided_by_a_symbol(text: str, growth: str) -> None:
    solution = al.recurrence(text)
    assert solution.growth == growth
    assert any(fact.endswith(">= 2") for fact in solution.assumptions)


TEXTBOOK = [
    ("2*T(n/2) + n^4", "n^4"),
    ("T(7*n/10) + n", "n"),
    ("16*T(n/4) + n^2", "n^2*log2(n)"),
    ("7*T(n/3) + n^2", "n^2"),
    ("7*T(n/2) + n^2", "n^log2(7)"),
    ("2*T(n/4) + sqrt(n)", "sqrt(n)*log2(n)"),
    ("T(n-2) + n^2", "n^3"),
    ("4*T(n/3) + n*lg(n)", "n^(log2(4)/log2(3))"),
    ("3*T(n/3) + n/lg(n)", "n*log2(log2(n))"),
    ("4*T(n/2) + n^2*sqrt(n)", "n^(5/2)"),
    ("3*T(n/3 - 2) + n/2", "n*log2(n)"),
    ("2*T(n/2) + n/lg(n)", "n*log2(log2(n))"),
    ("T(n/2) + T(n/4) + T(n/8) + n", "n"),
    ("T(n-1) + 1/n", "log2(n)"),
    ("T(n-1) + lg(n)", "n*log2(n)"),
    ("T(n-2) + 1/lg(n)", "n/log2(n)"),
    ("sqrt(n)*T(sqrt(n)) + n", "n*log2(log2(n))"),
    ("2*T(floor(sqrt(n))) + lg(n)", "log2(n)*log2(log2(n))"),
    ("2*T(floor(n/2) + 17) + n", "n*log2(n)"),
]
"""Problems 4-1 and 4-3 of Cormen, Leiserson, Rivest and Stein, and examples of their section 4.3."""


@pytest.mark.parametrize(("rule", "growth"), TEXTBOOK, ids=[rule for rule, _ in TEXTBOOK])
def test_recurrences_of_a_textbook(rule: str, growth: str) -> None:
    found = al.recurrence(f"T(n) = {rule}").growth
    assert found is not None
    compared = al.order(found, growth, relation="Theta", verify=True)
    assert compared.holds is True
    assert compared.verified


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("F(n) = 2*F(n-1) - n + Theta(1), F(0) = 1", "difference next to a term in Theta"),
        ("T(n) = T(n/2) + T(sqrt(n)) + 1", "different ways"),
        ("T(n) = (1 + 1/log2(n))*T(n/2) + n", "neither constant nor close enough"),
        ("T(n) = (1 + 1/sqrt(n))*T(n-1) + n", "neither constant nor close enough"),
        ("T(n) = max(T(n-1), 5*T(n/2)) + n", "different ways in a maximum"),
        ("T(n) = 3*T(n-1) - 2^n", "may be negative"),
        ("T(n) = T(n/2) + T(5)", "give a base value, as in T(5) = 1"),
        ("Q(n) = 2*Q(n/L) + n^(1/2)", "depends on L"),
    ],
)
def test_what_stays_open_is_named(text: str, reason: str) -> None:
    solution = al.recurrence(text)
    assert solution.outcome == "refused"
    assert reason in solution.reason
