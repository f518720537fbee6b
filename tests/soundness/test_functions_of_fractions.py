"""Logarithms, roots and powers of fractions in claims: what is said to hold does so at each size, by floats."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import ceil, floor, isqrt, log2, sqrt

import pytest

from archline.algebra import atoms as a
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.facts import Facts
from archline.algebra.polynomial import Poly
from archline.compare.claims import ClaimedAlgorithms, ClaimOfCosts
from archline.language import syntax as s
from archline.language.loader import load_text
from effort import drawn

FUNCTIONS: dict[str, Callable[[float], float]] = {
    "log2({})": log2,
    "ceil(log2({}))": lambda x: ceil(log2(x)),
    "floor(log2({}))": lambda x: floor(log2(x)),
    "2^ceil(log2({}))": lambda x: 2 ** ceil(log2(x)),
    "sqrt({})": sqrt,
    "ceil(sqrt({}))": lambda x: isqrt(ceil(x) - 1) + 1,
    "floor(sqrt({}))": lambda x: isqrt(floor(x)),
    "2^({})": lambda x: 2.0**x,
}
ARGUMENTS: dict[str, Callable[[int], float]] = {
    "n": lambda n: n,
    "n/2": lambda n: n / 2,
    "(n + 1)/2": lambda n: (n + 1) / 2,
    "n/3": lambda n: n / 3,
    "(2*n + 1)/3": lambda n: (2 * n + 1) / 3,
    "n/4": lambda n: n / 4,
}
LARGEST, ROUNDED = 300, 1e-9
LINE = """algorithm line(x: inout real[n]):
    for i in 0..n:
        x[i] += 1.0

"""


def _value(function: str, argument: str, n: int) -> float | None:
    """The value at a size; None where floats do not have it."""
    try:
        return FUNCTIONS[function](ARGUMENTS[argument](n))
    except OverflowError:
        return None


@pytest.mark.parametrize("seed", range(6))
def test_claims_that_hold_do_so_at_each_size(seed: int) -> None:
    source, claims = random.Random(seed), []
    for _ in range(drawn(225, 45)):
        function, argument = source.choice(list(FUNCTIONS)), source.choice(list(ARGUMENTS))
        first = source.randint(1, 4)
        where: tuple[str, Callable[[int], bool]] = (f"n >= {first}", lambda n, first=first: n >= first)
        if source.random() < 0.3:
            within, bound = source.choice(list(FUNCTIONS)), source.randint(1, 3)
            operator, least = source.choice(((">=", True), ("<=", False)))

            def lies_within(
                n: int, within: str = within, argument: str = argument, bound: int = bound, least: bool = least
            ) -> bool:
                value = _value(within, argument, n)
                return value is not None and (value >= bound if least else value <= bound)

            where = f"{within.format(argument)} {operator} {bound}", lies_within
        factor, times, added = source.choice(("1", "2", "1/2")), source.randint(1, 3), source.randint(-3, 3)
        text = f"{factor}*flops(line) {{}} {times}*{function.format(argument)} + {added} where {where[0]}"
        relation = source.choice(("<=", ">="))
        numbers = {"1": 1.0, "2": 2.0, "1/2": 0.5}[factor], times, added
        claims.append((f"claim {text.format(relation)}", function, argument, relation, numbers, where[1]))
    module = load_text(LINE + "\n".join(claim[0] for claim in claims) + "\n")
    known, held = ClaimedAlgorithms(module), 0
    written = [item for item in module.program.items if isinstance(item, s.Claim)]
    for claim, (text, function, argument, relation, (factor, times, added), applies) in zip(
        written, claims, strict=True
    ):
        if ClaimOfCosts(claim, known).decide().outcome != "holds":
            continue
        held += 1
        for n in filter(applies, range(1, LARGEST)):
            value = _value(function, argument, n)
            if value is not None:
                left, right = factor * n, times * value + added
                assert left <= right + ROUNDED if relation == "<=" else left >= right - ROUNDED, (text, n, left, right)
    assert held >= 3


@pytest.mark.parametrize(
    "claim",
    [
        "2*log2(n/2) + 2 <= flops(line) where n >= 2",  # 3.17 > 3 at n = 3
        "flops(line) + 2 <= 2*2^(n/2) where n >= 1",  # 3 > 2.83 at n = 1
        "flops(line) >= 4 where ceil(log2(n/2)) >= 1",  # n = 3 is such a size
        "flops(line) <= n + ceil(log2(n/2)) where n >= 1",  # 1 > 0 at n = 1
        "flops(line) >= 3*ceil(sqrt(n/3)) where n >= 3",  # 4 < 6 at n = 4
        "2*flops(line) >= 3*ceil(log2((2*n + 1)/3)) + 1 where n >= 2",  # 6 < 7 at n = 3
    ],
)
def test_what_holds_at_integers_alone_is_refuted_at_fractions(claim: str) -> None:
    module = load_text(f"{LINE}claim {claim}\n")
    (item,) = (item for item in module.program.items if isinstance(item, s.Claim))
    assert ClaimOfCosts(item, ClaimedAlgorithms(module)).decide().outcome == "fails"


@pytest.mark.parametrize("denominator", [1, 2, 3])
@pytest.mark.parametrize("power", [False, True])
def test_proofs_about_logarithms_of_fractions_hold_at_each_size(denominator: int, power: bool) -> None:
    n, proved = Poly.symbol("n"), 0
    for added, first, slope, number in product((0, 1), (1, 2, 3), (1, 2, 3), range(-4, 5)):
        facts = Facts().with_symbol("n", (Poly.constant(first),))
        logarithm = a.ceil_log2((n + added) / denominator)
        rounded = a.exponential(2, logarithm) if power else logarithm
        line = (n * slope).scaled(Fraction(1, denominator)) + Fraction(number, 2)
        for value in (line - rounded, rounded - line):
            if facts.nonnegative(value):
                proved += 1
                assert all(evaluate(value, {"n": size}) >= 0 for size in range(first, 100)), (str(value), first)
            if number > 0 and facts.with_nonnegative(rounded - number).nonnegative(value):
                sizes = [size for size in range(first, 100) if evaluate(rounded, {"n": size}) >= number]
                assert all(evaluate(value, {"n": size}) >= 0 for size in sizes), (str(value), number, first)
    assert proved >= 10
