"""Terms of sequences: their values and bounds against the definitions, sums that they close, and what is printed."""

from __future__ import annotations

import time
from collections.abc import Callable
from math import floor, isqrt, log2

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import archline as al
from archline.algebra import atoms as a
from archline.algebra.enclosures import enclose_sequence
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Poly
from archline.algebra.sums.summation import sum_over
from archline.claims.decide import decide_claims
from archline.expr.sequences import compute_sequence
from derived_counts import assert_agreement
from effort import drawn

n, m, k, i = (Poly.symbol(name) for name in "nmki")
FACTS = Facts().with_symbol("n", (ONE,)).with_symbol("m", (ONE,)).with_symbol("k", (ONE,))
BIG = st.one_of(st.integers(0, 200), st.integers(0, 10**5))
BASES = st.integers(2, 12)


def digits(number: int, base: int) -> list[int]:
    found = []
    while number:
        number, digit = divmod(number, base)
        found.append(digit)
    return found


def add_quotients(number: int, last: int, weight: int = 0, power: int = 1) -> int:
    return sum(j**weight * (number // j) ** power for j in range(1, min(last, number) + 1))


def enclose(name: str, *arguments: int) -> tuple[list[float], list[float]]:
    """The bounds of a term, where the signs of the arguments are known."""
    names = [f"x{place}" for place in range(len(arguments))]
    # Numbers stay numbers, as in programs: bases and powers.
    fixed = {"ceil_log": 1, "digit_sum": 1, "quotient_powers": 2}.get(name, len(names))
    parts = [
        Poly.symbol(symbol) if place < fixed else Poly.constant(number)
        for place, (symbol, number) in enumerate(zip(names, arguments, strict=True))
    ]
    point = dict(zip(names, arguments, strict=True))
    ends = enclose_sequence(a.Sequence(name, *parts), lambda value: evaluate(value, point) >= 0)
    return tuple([evaluate(end, point) for end in side] for side in ends)  # type: ignore[return-value]


def assert_enclosed(value: int, name: str, *arguments: int) -> None:
    assert compute_sequence(name, *arguments) == value
    lower, upper = enclose(name, *arguments)
    assert all(end <= value for end in lower), (name, arguments, value, lower)
    assert all(end >= value for end in upper), (name, arguments, value, upper)


@pytest.mark.parametrize("number", range(201))
def test_values_and_bounds_of_small_numbers(number: int) -> None:
    for base in (2, 3, 10):
        assert_enclosed(sum(digits(number, base)), "digit_sum", number, base)
        assert_enclosed(len(digits(number - 1, base)) if number else 0, "ceil_log", number, base)
    for last in {0, 1, 2, isqrt(number), number // 2, number, number + 3}:
        assert_enclosed(add_quotients(number, last), "quotient_sum", number, last)
    for modulus in (1, 2, 7, 30):
        line = (3 * j + 5 for j in range(number))
        assert_enclosed(sum(each // modulus for each in line), "floor_sum", number, modulus, 3, 5)


@settings(max_examples=drawn(500, 60), deadline=None)
@given(number=BIG, base=BASES, last=BIG, weight=st.integers(0, 4), power=st.integers(1, 4))
def test_values_and_bounds_of_large_numbers(number: int, base: int, last: int, weight: int, power: int) -> None:
    assert_enclosed(sum(digits(number, base)), "digit_sum", number, base)
    assert_enclosed(len(digits(number - 1, base)) if number else 0, "ceil_log", number, base)
    assert_enclosed(add_quotients(number, last, weight, power), "quotient_powers", number, last, weight, power)
    slope, start, modulus = last % 1000, weight * base, power * base
    count = number % 3000
    value = sum((slope * j + start) // modulus for j in range(count))
    assert_enclosed(value, "floor_sum", count, modulus, slope, start)
    # Slopes and starts below 0 have values too.
    down = sum((-slope * j - start) // modulus for j in range(count))
    assert compute_sequence("floor_sum", count, modulus, -slope, -start) == down


def test_a_sum_of_a_million_quotients_takes_milliseconds() -> None:
    start = time.process_time()
    assert compute_sequence("quotient_sum", 10**6, 10**6) == 13970034
    assert time.process_time() - start < 0.02


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("digit_sum", (-1, 2)),
        ("digit_sum", (5, 1)),
        ("ceil_log", (5, 1)),
        ("quotient_sum", (-1, 3)),
        ("quotient_powers", (5, 3, 1, 0)),
        ("quotient_sum", (10**30, 10**30)),
        ("floor_sum", (5, 0, 1, 1)),
    ],
)
def test_numbers_without_a_value(name: str, arguments: tuple[int, ...]) -> None:
    assert compute_sequence(name, *arguments) is None


def clog(value: Poly, base: int) -> Poly:
    return a.make_sequence_term("ceil_log", value, Poly.constant(base))


SUMMED: dict[str, Poly] = {
    "quotients": a.floor_div(n, i),
    "weighted": i**2 * a.floor_div(n, i) - i,
    "squares": i * a.floor_div(n, i) ** 2 + 3 * a.floor_div(n, i),
    "shifted": a.floor_div(n + m, i + 2),
    "multiples": a.floor_div(n, i * 3),
    "rounded up": a.ceil_div(n, i),
    "both": m * a.floor_div(n, i) + a.floor_div(m, i),
    "from the square on": a.positive_part(a.floor_div(n, i) - i + 1),
    "halves": a.floor_div(n, a.exponential(2, i)),
    "parts of thirds": m * a.floor_div(n, 5 * a.exponential(3, i - 1)),
    "line": a.floor_div(3 * i + 5, m),
    "steep line": a.floor_div((n + 2) * i + 5, m),
    "logarithms of quotients": a.ceil_log2(a.floor_div(n, i) + 1),
    "to the base 3": clog(a.floor_div(n, i) + 1, 3),
    "logarithms": i * clog(i, 3) + clog(i + 4, 5),
}


@pytest.mark.parametrize("value", SUMMED.values(), ids=SUMMED)
@pytest.mark.parametrize("end", [n + 1, m + 1, a.floor_sqrt(n) + 1, m * 3 + 1], ids=str)
@pytest.mark.parametrize("start", [1, 2])
def test_sums_are_closed(value: Poly, end: Poly, start: int) -> None:
    lo = Poly.constant(start)
    closed = sum_over(value, "i", lo, FACTS.maximum(lo, end), FACTS)
    for point in ({"n": x, "m": y} for x in (*range(1, 20), 50, 97, 200) for y in (1, 2, 3, 7, 30)):
        last = int(evaluate(end, point))
        expected = sum(evaluate(value, {**point, "i": j}) for j in range(start, last))
        assert evaluate(closed, point) == expected, (str(closed), point)


def test_an_empty_sum_is_zero() -> None:
    assert sum_over(a.floor_div(n, i), "i", ONE, ONE, FACTS) == ZERO
    assert a.make_sequence_term("quotient_sum", n, ZERO) == ZERO


# Programs
OUTER = (
    "for i in 1..n + 1",
    "for i in 1..n",
    "for i in 2..m + 2",
    "for i in 1..floor(sqrt(n)) + 1",
    "for i in n downto 1",
)
INNER = (
    "for j in 0..n//i:\n{}",
    "for j in i..n + 1 step i:\n{}",
    "for j in i*i..n + 1 step i:\n{}",
    "local j: int = 0\nwhile j < n:\n    j += i\n{}",
    "local j: int = i\nwhile 2*j <= n:\n    j *= 2\n{}",
    "local j: int = i\nwhile j > 0:\n    j //= 3\n{}",
    "for j in 0..floor(log2((n + i)/i)):\n{}",
    "for j in 0..ceil(log2((n + i)/i)):\n{}",
    "for j in 0..floor(i*sqrt(i)):\n{}",
    "for j in 0..floor(sqrt(n/i)):\n{}",
    "for j in 0..(3*i + 5)//m:\n{}",
    "for j in 0..(m*i + 5)//7:\n{}",
    "for j in 0..n//2^(i % 5):\n{}",
    "for j in 0..n//(2*i + 1):\n{}",
    "for j in 0..n//3^i:\n{}",
    "for j in 1..n//i + 1 step *3:\n{}",
    "if x[i % 4] > 0.5:\n    for j in i..n + 1 step i:\n    {}",
)
BODY = (
    "x[0] += 1.0",
    "for l in 0..i:\n    x[0] += 1.0",
    "for l in 0..n//i:\n    x[1] += 1.0",
    "for l in 0..j:\n    x[2] += 1.0",
)


def indent(text: str, depth: int = 1) -> str:
    return "\n".join("    " * depth + line for line in text.split("\n"))


@settings(max_examples=drawn(400, 40), deadline=None)
@given(data=st.data())
def test_costs_of_nests_hold_in_runs(data: st.DataObject) -> None:
    outer, inner = data.draw(st.sampled_from(OUTER), "outer"), data.draw(st.sampled_from(INNER), "inner")
    body = data.draw(st.sampled_from(BODY), "body")
    text = "algorithm f(n: size, m: size, x: inout real[4]):\n"
    text += (
        indent(
            f"{outer}:\n{indent(inner.replace('{}', indent(body).replace(chr(10), chr(10) + '    ' * inner.startswith('if'))))}"
        )
        + "\n"
    )
    algorithm = al.loads(text)["f"]
    costs = algorithm.report().costs
    for _ in range(3):
        sizes = {"n": data.draw(st.integers(1, 24), "n"), "m": data.draw(st.integers(1, 9), "m")}
        values = [data.draw(st.sampled_from((0.0, 1.0)), f"x[{place}]") for place in range(4)]
        run = algorithm.run(**sizes, x=values, compiled=False)
        assert_agreement(costs, run.execution, text)


GROWTHS: dict[str, tuple[str, str]] = {
    "for i in 1..n + 1:\n    for j in 0..n//i:\n        x[0] += 1.0": ("exact", "Theta(n*log2(n))"),
    "for i in 1..n + 1:\n    for j in i..n + 1 step i:\n        x[0] += 1.0": ("exact", "Theta(n*log2(n))"),
    "for i in 1..n:\n    local j: int = 0\n    while j < n:\n        j += i\n        x[0] += 1.0": (
        "exact",
        "Theta(n*log2(n)) where n >= 2",
    ),
    "for i in 1..n + 1:\n    for j in 0..floor(log2(n/i)):\n        x[0] += 1.0": ("exact", "Theta(n) where n >= 2"),
    "for e in 0..floor(log2(n)) + 1:\n    for j in 0..n//2^e:\n        x[0] += 1.0": ("exact", "Theta(n)"),
    "for i in 1..n + 1:\n    for k in 0..floor(i*sqrt(i)):\n        x[0] += 1.0": ("bounded", "Theta(n^(5/2))"),
    "for i in 2..n + 1:\n    if x[0] == 0.0:\n        for j in i*i..n + 1 step i:\n            x[1] += 1.0": (
        "bounded",
        "O(n*log2(n)), Omega(n) where n >= 2",
    ),
    "local j: int = n\nwhile j > 0:\n    j //= 3\n    x[0] += 1.0": ("exact", "Theta(log2(n))"),
    "for i in 1..n + 1:\n    if n % i == 0:\n        x[0] += 1.0": ("exact", "O(n)"),
}


@pytest.mark.parametrize("text", GROWTHS)
def test_growth(text: str) -> None:
    flops = al.loads(f"algorithm f(n: size, x: inout real[2]):\n{indent(text)}\n")["f"].cost().flops
    assert (flops.status, flops.growth) == GROWTHS[text]


def test_a_tree_with_the_data_of_a_heap_is_linear() -> None:
    """What `heapify` does at most: a vertex moves down to a leaf."""
    text = "for i in n downto 1:\n    local j: int = i\n    while 2*j <= n and x[0] > 0.0:\n        j *= 2\n        x[1] += 1.0"
    flops = al.loads(f"algorithm f(n: size, x: inout real[2]):\n{indent(text)}\n")["f"].cost().flops
    assert flops.growth == "O(n)"


@pytest.mark.parametrize("make", [floor, lambda value: -floor(-value)], ids=["floor", "ceil"])
def test_roundings_of_quotients_and_products(make: Callable[[float], int]) -> None:
    """The rounded value is that of the real number, whether or not quotients and roots are integers."""
    word = "floor" if make is floor else "ceil"
    text = (
        f"algorithm f(n: size, m: size, x: inout real[1]):\n"
        f"    for i in 0..{word}(log2((n + m)/m)):\n        x[0] += 1.0\n"
        f"    for i in 0..{word}(2*m*sqrt(n)):\n        x[0] += 1.0\n"
        f"    for i in 0..{word}(sqrt(n/m)):\n        x[0] += 1.0\n"
    )
    algorithm = al.loads(text)["f"]
    for x in range(1, 20):
        for y in (1, 2, 3, 5):
            expected = make(log2((x + y) / y) + 0.0) + make(2 * y * x**0.5) + make((x / y) ** 0.5)
            assert algorithm.run(n=x, m=y, x=[0.0], compiled=False).counts.flops == expected
            assert algorithm.cost().flops.at(n=x, m=y) == expected


def test_a_sum_of_negative_terms_is_not_taken_as_positive() -> None:
    text = (
        "algorithm f(n: size, m: size, x: inout real[1]):\n"
        "    ensures flops >= n - floor_sum(n, m, 0 - 1, 0)\n"
        "    ensures flops >= 0 - floor_sum(n, m, 1, 0)\n"
        "    ensures flops >= ceil_log(n, 3)\n"
        "    ensures flops >= digit_sum(n, 10)\n"
        "    ensures flops >= ceil_log(n, 1)\n"
        "    for i in 0..n:\n        x[0] += 1.0\n"
    )
    algorithm = al.loads(text)["f"]
    found = decide_claims(algorithm.module, algorithm.node, algorithm.report().costs)
    assert [verdict.outcome for verdict in found] == ["fails", "holds", "holds", "holds", "unknown"]
