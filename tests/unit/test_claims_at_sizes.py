"""Claims at fixed sizes agree with the values that `cost --at` tells there."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from itertools import permutations, product
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import archline as al
from archline.numbers import format_ratio
from cli_support import cli
from effort import drawn, long, some
from nest_programs import WHOLE, product_by_whole_tiles

PROGRAM = """
algorithm ikj(A: real[n, m], B: real[m, p], C: inout real[n, p]):
{claims}    for i in 0..n:
        for k in 0..m:
            for j in 0..p:
                C[i, j] += A[i, k]*B[k, j]

algorithm half(x: real[n], y: inout real[n]):
{claims}    for i in 0..n:
        if x[i] > 0.5:
            y[i] += x[i]
"""


@pytest.mark.parametrize("seed", some([*range(4)]))
@pytest.mark.parametrize(("name", "metric"), [("ikj", "io"), ("half", "io"), ("half", "work"), ("ikj", "flops")])
def test_a_claim_at_sizes_is_decided_by_the_values_there(name: str, metric: str, seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    sizes = {each: random.randint(2, 70) for each in ("nmp" if name == "ikj" else "n")}
    at = {**sizes, "L": random.choice((1, 4, 8)), "Z": random.choice((64, 300, 5000))}
    file = tmp_path / "sizes.algo"
    file.write_text(PROGRAM.format(claims=""))
    given = ",".join(f"{each}={value}" for each, value in at.items())
    value = json.loads(cli("cost", f"{file}::{name}", "--at", given, "--format", "json").out)["costs"][metric]["value"]
    lower, upper = Fraction(value["lower"]), Fraction(value["upper"])
    assert lower.denominator == upper.denominator == 1
    when = ", ".join(f"{each} == {size}" for each, size in (at if metric == "io" else sizes).items())
    claimed = {f"<= {upper}": "holds", f">= {lower}": "holds", f"<= {lower - 1}": "fails", f">= {upper + 1}": "fails"}
    claimed[f"== {lower}"] = "holds" if lower == upper else "unknown"
    claims = "".join(f"    ensures {metric} {claim} when {when}\n" for claim in claimed)
    head, _, body = PROGRAM.partition(f"algorithm {name}")
    file.write_text(
        head.format(claims="") + f"algorithm {name}" + body.replace("{claims}", claims, 1).format(claims="")
    )
    checked = cli("check", f"{file}::{name}", "--no-cache")
    for claim, outcome in claimed.items():
        assert re.search(rf"{outcome}\s+{metric} {claim}\s+when", checked.out), (claim, checked.out)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((Fraction(1), "1.00"), (Fraction(1003, 1000), "1.003"), (Fraction(100001, 10**5), "1.00001")),
        *(
            (Fraction(118, 100), "1.18"),
            (Fraction(4, 3), "1.34"),
            (Fraction(1, 2), "0.50"),
            (Fraction(2 * 10**6), "2e+06"),
        ),
    ],
)
def test_ratios_have_the_digits_that_tell_them_from_1(value: Fraction, text: str) -> None:
    assert format_ratio(value) == text


TILES = """
algorithm tiles(x: inout real[n], n: size, b: size):
    ensures work == {work} when b divides n
    ensures work == {work} + 1 when b divides n
    for i in 0..n step b:
        for j in i..min(n, i + b):
            if n % b == 0:
                x[j] += {amount}
"""


@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 5))
@settings(max_examples=drawn(4), deadline=None)
def test_the_facts_of_a_claim_are_facts_of_the_derivation(terms: int, tiles: int, b: int) -> None:
    """A test, an addition and an iteration for each element, and the iterations of tiles, where b divides n."""
    amount = "1" + " + x[j]" * (terms - 1)
    work = f"{terms + 2}*n + n/b + 1"
    program = al.loads(TILES.format(amount=amount, work=work))["tiles"]
    assert [each.outcome for each in program.cost().ensures] == ["holds", "fails"]
    n = tiles * b
    assert program.run(x=[0.0] * n, n=n, b=b).counts.work == (terms + 2) * n + tiles + 1


EUCLID = """
algorithm euclid(x: inout real[1], a: index, b: index):
    where a >= b, b >= 0
    decreases b
    ensures flops == {steps} when a == {a}, b == {b}
    ensures work <= {steps} when a == {a}, b == {b}
    if b > 0:
        x[0] += 1.0
        euclid(x, b, a % b)
"""


@long
@given(st.integers(0, 300), st.integers(0, 300))
@settings(max_examples=drawn(12, 3), deadline=None)
def test_a_recursion_without_a_form_has_values_at_sizes(one: int, other: int) -> None:
    """The number of divisions of Euclid's algorithm, for which no closed form is known, by the algorithm itself."""
    a, b = max(one, other), min(one, other)
    steps, rest = 0, (a, b)
    while rest[1]:
        steps, rest = steps + 1, (rest[1], rest[0] % rest[1])
    costs = al.loads(EUCLID.format(steps=steps, a=a, b=b))["euclid"].cost()
    assert costs.flops.status == "unknown"
    assert costs.flops.at(a=a, b=b) == (steps, steps)
    # A call, a test, and in each step but the last an update.
    assert costs.work.at(a=a, b=b) == (2 + 3 * steps, 2 + 3 * steps)
    assert [each.outcome for each in costs.ensures] == ["holds", "fails"]


# Claims on the growth of io: where small caches leave one undecided, the caches in which it holds are named


ROWS = """
algorithm f(A: real[n, m], B: real[m, p], C: inout real[n, p]):
    ensures {}
    for i in 0..n:
        for k in 0..m:
            for j in 0..p:
                C[i, j] += A[i, k]*B[k, j]
"""
COLUMNS = ROWS.replace("real[m, p], C", "real[p, m], C").replace("B[k, j]", "B[j, k]")


def decided(program: str, claim: str) -> tuple[str, str]:
    (verdict,) = al.loads(program.format(claim))["f"].cost().ensures
    return verdict.outcome, verdict.reason


@pytest.mark.parametrize(
    ("program", "growth"),
    [
        # A line of B and of C each stays in the inner loop.
        (ROWS, "n*m*p/L + n*m"),
        # All of B stays.
        (ROWS, "n*m + m*p + n*p"),
        (COLUMNS, "n*m + m*p + n*p"),
        # A line of each row of B stays while its columns are passed.
        (COLUMNS, "n*m*p/L + n*m + n*p + p"),
    ],
)
def test_where_it_would_hold_is_told(program: str, growth: str) -> None:
    claim = f"io is O({growth})"
    outcome, reason = decided(program, claim)
    before, _, condition = reason.partition("; proved to be O of this when ")
    assert outcome == "unknown"
    assert condition, before
    assert decided(program, f"{claim} when {condition}")[0] == "holds"


def test_no_cache_is_named_where_it_holds_in_none() -> None:
    """All of the arrays are touched."""
    outcome, _ = decided(ROWS, "io is O(n + m + p)")
    assert outcome == "fails"


def test_quotients_by_sizes_are_compared_as_numbers() -> None:
    # x has ceil(n/L) lines, each of which misses once.
    text = """algorithm scale(x: inout real[n]):
    ensures io >= n/L
    ensures io <= n/L + 2
    ensures io <= n/L
    for i in 0..n:
        x[i] = 2.0*x[i]
"""
    assert [each.outcome for each in al.loads(text)["scale"].cost().ensures] == ["holds", "holds", "fails"]


@pytest.mark.parametrize(("inner", "way"), some([*product(map("".join, permutations("ijq")), sorted(WHOLE))], 8))
def test_a_block_stays_in_cache_however_whole_tiles_are_written(inner: str, way: str) -> None:
    """A block of each matrix has b*(ceil(b/L) + 1) lines at most; all three are fetched once for each of (n/b)^3."""
    least = {"Z >= 10*b^2, b >= L": True, "Z >= 3*b, b >= L": False}
    for cache, holds in least.items():
        text = product_by_whole_tiles(way, inner, ensures=f"io is O(n^3/(b*L) + n^2/L) when {cache}").text
        (verdict,) = al.loads(text)["main"].cost().ensures
        assert (verdict.outcome == "holds") is holds, text
