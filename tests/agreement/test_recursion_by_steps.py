"""Recursions whose calls reduce sizes by constants, of which there are several: powers, Fibonacci numbers, factorials.

The numbers that `KNOWN` has are counted by recursions of their own.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache
from math import comb, factorial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archline.analysis.analyse import derive
from archline.analysis.cost import Costs, enclose_cost
from archline.claims.growth_claims import select_shown_growths
from archline.execution.run import execute
from archline.language.loader import load_text
from archline.language.model import Module
from cli_support import cli
from effort import drawn
from io_points import arguments
from recursive_programs.agreement import disagreements, executed

COUNT = "t[0] += 1.0"


def program(name: str, header: str, *body: str, where: str = "n >= 0") -> str:
    return f"algorithm {name}({header}, t: inout real[1]):\n    where {where}\n" + "".join(f"    {x}\n" for x in body)


def steps(name: str, least: int, *calls: str) -> str:
    """A program that counts its calls, which it makes from a size on."""
    return program(name, "n: index", COUNT, f"if n >= {least}:", *(f"    {name}({call}, t)" for call in calls))


def in_two_sizes(name: str, *calls: str) -> str:
    """A program that counts its leaves."""
    recursive = (f"    {name}({call}, t)" for call in calls)
    leaf = "n >= 0, m >= 0"
    return program(name, "n: size, m: size", "if n == 0 or m == 0:", f"    {COUNT}", "else:", *recursive, where=leaf)


TEXT = "\n".join(
    [
        steps("fib", 2, "n - 1", "n - 2"),
        steps("three", 3, "n - 1", "n - 2", "n - 3"),
        steps("halves", 2, "n - 2", "n - 2"),
        steps("thrice", 3, "n - 3", "n - 3", "n - 3"),
        steps("signs", 2, "n - 1", "n - 2", "n - 2"),
        steps("less_and_half", 1, "n - 1", "n//2"),
        steps("twice_and_third", 2, "n - 1", "n//3", "n - 1"),
        steps("even", 1, "n - 1").replace("even(n - 1", "odd(n - 1"),
        steps("odd", 1, "n - 1", "n - 1").replace("odd(n - 1", "even(n - 1"),
        steps("male", 1, "n - 1").replace("        male(n - 1, t)", "        male(n - 1, t)\n        female(n - 1, t)"),
        steps("female", 1, "n - 1").replace("female(n - 1", "male(n - 1"),
        program(
            "permutations", "n: index", "if n == 0:", f"    {COUNT}", "for i in 0..n:", "    permutations(n - 1, t)"
        ),
        program("arrange", "n: index", COUNT, "for i in 0..n:", "    arrange(n - 1, t)"),
        program("doubled", "n: index", COUNT, "if n > 0:", "    for i in 0..2*n:", "        doubled(n - 1, t)"),
        program("shifted", "n: index", COUNT, "if n > 0:", "    for i in 0..n + 1:", "        shifted(n - 1, t)"),
        program(
            "from_place",
            "k: index, x: inout real[n]",
            "if k == n:",
            "    for i in 0..n:",
            f"        {COUNT}",
            "else:",
            "    for i in k..n:",
            "        from_place(k + 1, x, t)",
            where="0 <= k <= n",
        ),
        program(
            "chosen",
            "i: index, x: inout real[n]",
            "if i < n:",
            f"    {COUNT}",
            "    chosen(i + 1, x, t)",
            "    chosen(i + 1, x, t)",
            where="0 <= i <= n",
        ),
        program(
            "choose",
            "n: index, k: index",
            "if k == 0 or k == n:",
            f"    {COUNT}",
            "else:",
            "    choose(n - 1, k - 1, t)",
            "    choose(n - 1, k, t)",
            where="n >= 0, k >= 0, k <= n",
        ),
        in_two_sizes("edit", "n - 1, m", "n, m - 1", "n - 1, m - 1"),
        in_two_sizes("grid", "n - 1, m", "n, m - 1"),
        in_two_sizes("items", "n - 1, m", "n - 1, m//2"),
    ]
)


def calls_of(least: int, *less: int) -> Callable[[int], int]:
    @cache
    def count(n: int) -> int:
        return 1 + (sum(count(n - step) for step in less) if n >= least else 0)

    return count


@cache
def by_parts(n: int) -> int:
    return 1 + (by_parts(n - 1) + by_parts(n // 2) if n else 0)


@cache
def by_thirds(n: int) -> int:
    return 1 + (2 * by_thirds(n - 1) + by_thirds(n // 3) if n > 1 else 0)


@cache
def alternating(n: int, odd: bool = False) -> int:
    return 1 + ((1 + odd) * alternating(n - 1, not odd) if n else 0)


@cache
def rabbits(n: int, male: bool = True) -> int:
    return 1 + (rabbits(n - 1) + (rabbits(n - 1, False) if male else 0) if n else 0)


def arranged(n: int, first: int = 1, factor: int = 1) -> int:
    """The sum over i of the products of factor*(n - j + first - 1) over j < i: calls at depth i."""
    value = 1
    for size in range(1, n + 1):
        value = 1 + factor * (size + first - 1) * value
    return value


@cache
def delannoy(n: int, m: int, diagonal: bool = True) -> int:
    if not (n and m):
        return 1
    return delannoy(n - 1, m, diagonal) + delannoy(n, m - 1, diagonal) + diagonal * delannoy(n - 1, m - 1)


@cache
def packed(n: int, m: int) -> int:
    return packed(n - 1, m) + packed(n - 1, m // 2) if n and m else 1


GOLDEN = "((1 + sqrt(5))/2)^n"
KNOWN: dict[str, tuple[Callable[..., int], str, str]] = {
    "fib": (calls_of(2, 1, 2), f"Theta({GOLDEN})", "exact"),
    "three": (calls_of(3, 1, 2, 3), "O(1.83928677^n), Omega(1.83928675^n)", "bounded"),
    "halves": (calls_of(2, 2, 2), "Theta(2^(n/2))", "exact"),
    "thrice": (calls_of(3, 3, 3, 3), "Theta(3^(n/3))", "exact"),
    "signs": (calls_of(2, 1, 2, 2), "Theta(2^n)", "exact"),
    "less_and_half": (by_parts, "O(2^n), Omega(n)", "bounded"),
    "twice_and_third": (by_thirds, "O(3^n), Omega(2^n)", "bounded"),
    "even": (alternating, "Theta(2^(n/2))", "exact"),
    "odd": (lambda n: alternating(n, True), "Theta(2^(n/2))", "exact"),
    "male": (rabbits, f"Theta({GOLDEN})", "exact"),
    "female": (lambda n: rabbits(n, False), f"Theta({GOLDEN})", "exact"),
    "permutations": (lambda n: factorial(n), "Theta(factorial(n))", "exact"),
    "arrange": (arranged, "Theta(factorial(n))", "exact"),
    "doubled": (lambda n: arranged(n, 1, 2), "Theta(2^n*factorial(n))", "bounded"),
    "shifted": (lambda n: arranged(n, 2), "Theta(n*factorial(n))", "exact"),
    "from_place": (lambda n, k: n * factorial(n - k), "Theta(n*factorial(n - k))", "exact"),
    "chosen": (lambda n, i: 2 ** (n - i) - 1, "Theta(2^(n - i)) where i < n", "exact"),
    "choose": (lambda n, k: comb(n, k), "O(2^n), Omega(1)", "bounded"),
    "edit": (delannoy, "O(3^n*3^m)", "bounded"),
    "grid": (lambda n, m: comb(n + m, n) if n and m else 1, "O(2^n*2^m), Omega(1)", "bounded"),
    "items": (packed, "O(2^n), Omega(1)", "bounded"),
}
FIRST = {"from_place": "k", "chosen": "i", "choose": "k"}


@cache
def derived(name: str) -> tuple[Module, Costs]:
    module = load_text(TEXT)
    return module, derive(module, module.algorithms[name])


def points(name: str, most: int) -> st.SearchStrategy[dict[str, int]]:
    size = st.integers(1 if name in FIRST else 0, most)
    if name in FIRST:
        return size.flatmap(lambda n: st.integers(0, n).map(lambda first: {"n": n, FIRST[name]: first}))
    sizes = {"n": size, "m": size} if name in ("edit", "grid", "items") else {"n": size}
    return st.fixed_dictionaries(sizes)


@pytest.mark.parametrize("name", KNOWN)
def test_growth_is_that_of_the_recurrence(name: str) -> None:
    module, costs = derived(name)
    shown = select_shown_growths(module, module.algorithms[name], costs, costs["flops"])
    assert ", ".join(str(growth.text) for growth in shown) == KNOWN[name][1]
    assert costs["flops"].status == KNOWN[name][2]


@pytest.mark.parametrize("name", KNOWN)
def test_bounds_hold_runs(name: str) -> None:
    module, costs = derived(name)

    @settings(max_examples=drawn(20), deadline=None, database=None)
    @given(points(name, 4 if name in ("doubled", "shifted") else 5))
    def compare(sizes: dict[str, int]) -> None:
        data = arguments(module.algorithms[name], sizes, random.Random(0))
        counts = executed(execute(module, module.algorithms[name], data, compiled=False, races=False).counts)
        assert not list(disagreements(costs, counts, sizes))
        assert counts["flops"] == KNOWN[name][0](**sizes)

    compare()


@pytest.mark.parametrize("name", KNOWN)
def test_values_at_sizes_are_exact(name: str) -> None:
    cost = derived(name)[1]["flops"]

    @settings(max_examples=drawn(20), deadline=None, database=None)
    @given(points(name, 40))
    def compare(sizes: dict[str, int]) -> None:
        interval = enclose_cost(cost, sizes)
        assert interval.lower == interval.upper == KNOWN[name][0](**sizes)

    compare()


def test_large_sizes_have_values() -> None:
    assert enclose_cost(derived("three")[1]["flops"], {"n": 1000}).lower == calls_of(3, 1, 2, 3)(1000)
    assert enclose_cost(derived("less_and_half")[1]["flops"], {"n": 1000}).lower == by_parts(1000)


def test_sequences_can_be_claimed(tmp_path: Any) -> None:
    claims = ("flops == 2*fibonacci(n + 1) - 1", "flops is Theta(fibonacci(n))", "flops is O(2^n)")
    text = steps("fib", 2, "n - 1", "n - 2").replace(
        "n >= 0\n", "n >= 0\n" + "".join(f"    ensures {x}\n" for x in claims)
    )
    path = tmp_path / "fib.algo"
    path.write_text(text, encoding="utf-8")
    checked = cli("check", str(path))
    assert checked.code == 0
    assert "unknown" not in checked.out
    path.write_text(text.replace("fibonacci(n + 1) - 1", "fibonacci(n + 1)"), encoding="utf-8")
    assert cli("check", str(path)).code == 1


@pytest.mark.parametrize(
    ("small", "large", "holds"),
    [
        ("2^n", "factorial(n)", True),
        ("factorial(n)", "n^n", True),
        ("n^n", "factorial(n)", False),
        ("n*factorial(n)", "arrangements(n)", False),
        ("arrangements(n) - 1", "factorial(n)", True),
        ("fibonacci(n)", "1.7^n", True),
        ("1.7^n", "fibonacci(n)", False),
    ],
)
def test_sequences_have_an_order(small: str, large: str, holds: bool) -> None:
    shown = cli("order", small, large, "--verify").out
    assert shown.startswith("holds" if holds else "fails")
    assert "verified" in shown


def test_a_sequence_in_an_exponent_is_not_replaced() -> None:
    """Constant factors of exponents count."""
    assert cli("order", "2^factorial(n)", "2^(sqrt(n)*n^n/exp(1)^n)").out.startswith("fails")


def test_ackermann_says_what_is_missing(tmp_path: Any) -> None:
    path = tmp_path / "ack.algo"
    path.write_text(
        "algorithm ack(m: int, n: int) -> int:\n"
        "    if m == 0:\n        return n + 1\n"
        "    if n == 0:\n        return ack(m - 1, 1)\n"
        "    return ack(m - 1, ack(m, n - 1))\n",
        encoding="utf-8",
    )
    page = cli("cost", str(path)).out
    assert "`n` in its calls is computed from data" in " ".join(page.split())
    assert page.count("not proved to end") == 1


def test_data_that_could_be_a_size_is_named(tmp_path: Any) -> None:
    path = tmp_path / "fib.algo"
    text = "algorithm fib(n: int) -> int:\n    if n < 2:\n        return n\n    return fib(n - 1) + fib(n - 2)\n"
    path.write_text(text, encoding="utf-8")
    assert "`where n >= 0` in its header makes `n` a size" in " ".join(cli("cost", str(path)).out.split())
    path.write_text(text.replace("int:\n", "int:\n    where n >= 0\n", 1), encoding="utf-8")
    assert "5*fibonacci(n + 1) - 3" in cli("cost", str(path)).out


REMAINDERS = {
    "divided": ("a % b", "if b > 0:", 0),
    "ended_by_remainder": ("a % b", "if a % b > 0:", 1),
    "written_out": ("a - b*(a//b)", "if b >= 1:", 0),
}


@pytest.mark.parametrize("name", REMAINDERS)
def test_two_remainders_halve_a_size(name: str) -> None:
    """Euclid's algorithm calls itself at most 2*floor(log2(b)) + 2 times, for Fibonacci numbers most often."""
    remainder, test, least = REMAINDERS[name]
    head = f"algorithm {name}(a: size, b: size, t: inout real[1]):\n    where a >= 1, b >= {least}\n"
    text = f"{head}    {COUNT}\n    {test}\n        {name}(b, {remainder}, t)\n"
    module = load_text(text)
    algorithm = module.algorithms[name]
    costs = derive(module, algorithm)
    pairs = [(a, b) for a in range(1, 20) for b in range(1, 20)]
    fibonacci = [1, 2]
    while len(fibonacci) < 40:
        fibonacci.append(fibonacci[-1] + fibonacci[-2])
    for a, b in [*pairs, *zip(fibonacci[1:], fibonacci[:-1], strict=True), (10**9, 10**9 - 1)]:
        run = execute(module, algorithm, {"a": a, "b": b, "t": [0.0]}, compiled=False, races=False)
        lower, upper = enclose_cost(costs["flops"], {"a": a, "b": b}).ends
        assert lower <= run.counts.flops <= upper
        assert upper <= 2 * b.bit_length() + 1
    assert str(select_shown_growths(module, algorithm, costs, costs["flops"])[0].text) == "O(log2(b))"
