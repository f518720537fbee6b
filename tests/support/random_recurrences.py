"""Random recurrences of one size, and whether following them agrees with a claimed growth."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from itertools import pairwise

from archline.algebra.evaluate.formulas import BALL_ARITHMETIC, CompiledFormula, EvaluationRefusedError, NoValueError
from archline.language.parser import parse_expression
from archline.recurrences.asymptotic.evaluate import Evaluator
from archline.recurrences.asymptotic.problem import RealRecurrence

SYMBOLS = {"b": 3, "L": 17, "d": 5}
POWERS = ["1/n", "1/sqrt(n)", "1", "1", "sqrt(n)", "n", "n", "n^(3/2)", "n^2", "n^2", "n^3", "n^log2(3)", "n^0.4"]
LOGS = ["1", "1", "1", "1", "log2(n)", "log2(n)", "log2(n)^2", "1/log2(n)", "1/log2(n)^2", "sqrt(log2(n))", "log2(n^2)"]
LOGLOGS = ["1"] * 8 + ["log2(log2(n))", "1/log2(log2(n))"]
SHARES = ["n/2", "n/3", "n/4", "n/5", "n/8", "2*n/3", "3*n/4", "7*n/10", "n/10", "2*n/5", "4*n/9"]


def forcing(pick: random.Random) -> str:
    parts = []
    for _ in range(pick.choice([1, 1, 1, 2])):
        factors = [pick.choice(POWERS), pick.choice(LOGS), pick.choice(LOGLOGS)]
        factors.append(pick.choice(["1"] * 8 + ["b", "1/L"]))
        coefficient = pick.choice(["", "", "3*", "1/2*", "12/5*"])
        parts.append(coefficient + "*".join(f"({each})" for each in factors if each != "1") or "1")
    return " + ".join(part.rstrip("*") or "1" for part in parts)


def weight(pick: random.Random) -> str:
    return pick.choice(["", "", "2*", "3*", "4*", "7*", "8*", "1/2*", "3/2*", "1/3*", "2/3*", "9*"])


def by_one_share(pick: random.Random) -> str:
    return f"T(n) = {weight(pick)}T({pick.choice(SHARES[:5])}) + {forcing(pick)}{base(pick)}"


def base(pick: random.Random) -> str:
    return pick.choice(["", ", T(1) = 1", ", T(1) = 3", ", T(2) = 0", ", T(4) = 5", ", T(1) = d"])


def by_shares(pick: random.Random) -> str:
    shares = pick.sample(SHARES, pick.choice([2, 2, 3]))
    calls = " + ".join(f"{weight(pick)}T({share})" for share in shares)
    return f"T(n) = {calls} + {forcing(pick)}{base(pick)}"


def balanced(pick: random.Random) -> str:
    """Shares that make the exponent an integer, where every level counts alike."""
    a, b = pick.choice([(1, 2), (1, 3), (1, 4), (2, 5), (3, 10)])
    exponent = pick.choice([0, 1])
    weights = ("", "") if exponent == 1 else (f"{a}/{b}*", f"{b - a}/{b}*")
    power = ["1", "n"][exponent]
    log = pick.choice(LOGS)
    calls = f"{weights[0]}T({a}*n/{b}) + {weights[1]}T({b - a}*n/{b})"
    return f"T(n) = {calls} + {power}*({log}){base(pick)}"


def by_maximum(pick: random.Random) -> str:
    shares = pick.sample(SHARES, 2)
    return f"T(n) = max({weight(pick)}T({shares[0]}), {weight(pick)}T({shares[1]})) + {forcing(pick)}"


def shifted(pick: random.Random) -> str:
    share = pick.choice(SHARES[:6])
    offset = pick.choice(["- 1", "- 3", "+ 2", "+ 5"])
    return f"T(n) = {weight(pick)}T({share} {offset}) + {forcing(pick)}, T(40) = 1"


def by_steps(pick: random.Random) -> str:
    step = pick.choice([1, 1, 1, 2, 3])
    head = pick.choice(["", "", "", "1/2*"])
    return f"T(n) = {head}T(n - {step}) + {forcing(pick)}{pick.choice(['', ', T(0) = 0', ', T(0) = 2', ', T(1) = 1'])}"


def exponential(pick: random.Random) -> str:
    steps = pick.sample([1, 2, 3, 4], pick.choice([1, 2, 2, 3]))
    calls = " + ".join(f"{pick.choice(['', '', '2*', '3*', '3/2*'])}T(n - {step})" for step in steps)
    return f"T(n) = {calls} + {pick.choice(['1', 'n', 'n^2', '3*n + 1'])}"


def by_roots(pick: random.Random) -> str:
    root = pick.choice(["sqrt(n)", "sqrt(n)", "n^(1/3)", "n^(2/3)"])
    scale = {"sqrt(n)": "sqrt(n)", "n^(1/3)": "n^(2/3)", "n^(2/3)": "n^(1/3)"}[root]
    calls = f"{weight(pick)}{pick.choice(['', scale + '*'])}T({root})"
    amount = pick.choice(["1", "log2(n)", "log2(n)^2", "log2(log2(n))", "n", "sqrt(n)", "n*log2(n)", "1/log2(n)"])
    return f"T(n) = {calls} + {amount}, T(2) = {pick.choice([1, 1, 3])}"


def system(pick: random.Random) -> str:
    share = pick.choice(["n/2", "n/3", "n/4"])
    first = pick.choice([f"{weight(pick)}T({share}) + {weight(pick)}B({share})", f"{weight(pick)}B({share})"])
    second = pick.choice(
        [
            f"{weight(pick)}B({share})",
            f"{weight(pick)}T({share})",
            f"{weight(pick)}T({share}) + {weight(pick)}B({share})",
        ]
    )
    return f"T(n) = {first} + {forcing(pick)}; B(n) = {second} + {forcing(pick)}"


KINDS: list[Callable[[random.Random], str]] = [
    by_one_share,
    by_one_share,
    by_one_share,
    by_shares,
    by_shares,
    balanced,
    by_maximum,
    shifted,
    by_steps,
    exponential,
    by_roots,
    system,
]


def draw(seed: int) -> str:
    pick = random.Random(seed)
    return KINDS[seed % len(KINDS)](pick)


def scales(problem: RealRecurrence) -> list[list[int]]:
    """Five scales, each twice as far out as the one before it where logarithms are concerned, with several sizes each.

    Between its divisions a function may jump by a constant; the sizes of one scale cover the stretch between them.
    """
    arguments = _arguments(problem)
    if any("op='-'" in each and "op='/'" not in each for each in arguments):
        return [[60 * count] for count in (1, 3, 9, 27, 81)]
    if any("sqrt" in each or "op='^'" in each for each in arguments):
        return [[1 << round(bits * 2 ** (0.2 * part)) for part in range(8)] for bits in (64, 256, 1024, 4096, 16384)]
    top, count = {1: (288, 4), 2: (96, 3)}.get(len(arguments), (32, 2))
    return [[1 << (top >> down) + part for part in range(count)] for down in (4, 3, 2, 1, 0)]


def _arguments(problem: RealRecurrence) -> set[str]:
    from archline.language import syntax as s

    return {
        str(node.arguments[0])
        for definition in problem.definitions
        for case in definition.cases
        for node in s.iterate_nodes(case.value)
        if isinstance(node, s.Call) and node.function in ("T", "B")
    }


def disagreement(problem: RealRecurrence, growth: str) -> str | None:
    """Why the growth is not that of the recurrence, as far as five scales tell.

    The logarithm of the ratio, on average at a scale, settles or swings: what it changes by, for each doubling of
    log(n), shrinks, is small, or has both signs. A wrong power of n or of log(n) makes it stay as it is, or grow.
    """
    claim = parse_expression(growth)
    evaluator = Evaluator(problem, SYMBOLS, BALL_ARITHMETIC, limit=15_000)
    averages: list[float] = []
    doublings: list[float] = []
    for sizes in scales(problem):
        ratios = []
        for size in sizes:
            value = evaluator.evaluate_call("T", size)
            ratio = value / CompiledFormula(claim, BALL_ARITHMETIC, exact_logs=False).at({"n": size, **SYMBOLS})
            if not ratio > 0:
                return f"the ratio at {size} is {ratio}"
            ratios.append(float(ratio.log().mid()) / math.log(2))
        averages.append(sum(ratios) / len(ratios))
        doublings.append(math.log2(math.log2(sizes[0])))
    pairs = list(zip(averages, doublings, strict=True))
    slopes = [(b - a) / (y - x) for (a, x), (b, y) in pairwise(pairs)]
    last, before = slopes[-1], slopes[-2]
    if abs(last) < 0.3 or abs(last) < 0.9 * abs(before) or min(slopes[-3:]) < 0 < max(slopes[-3:]):
        return None
    return f"changes of log2 of the ratio: {slopes}"


__all__ = ["EvaluationRefusedError", "NoValueError", "disagreement", "draw"]
