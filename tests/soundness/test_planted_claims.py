"""Claims that hold at the ends of a range and at sampled sizes, and fail between: none is said to hold."""

from __future__ import annotations

import random
from fractions import Fraction

import archline as al
from archline.api.claims import decide_file_claims
from archline.language.loader import load_text
from archline.report.view import Contract

PROGRAM = """
algorithm line(x: inout real[n]):
    for i in 0..n:
        x[i] += 1

algorithm table(A: inout real[n, n]):
    for i in 0..n:
        for j in 0..n:
            A[i, j] += 1

algorithm pairs(A: inout real[n, m]):
    for i in 0..n:
        for j in 0..m:
            A[i, j] += 1

algorithm some(x: inout real[n]):
    for i in 0..n:
        if x[i] > 0:
            x[i] *= 2
"""
MACHINE = 'on "gtx-580@double" with roofline'
SAMPLES = 10


def _verdicts(lines: list[str]) -> list[Contract]:
    return list(decide_file_claims(load_text(f"{PROGRAM}\n" + "\n".join(lines) + "\n")))


def _planted(random: random.Random) -> tuple[str, int, int]:
    """A claim that fails between two sizes alone, and these."""
    low = random.choice((random.randint(5, 50), random.randint(1000, 9000), random.randint(10**5, 10**6)))
    high = low + random.randint(2, 4)
    few = random.random() < 0.4
    most = random.randint(high + 1, 9000) if high < 8000 and few else high + random.randint(10, 10**7)
    where = random.choice((f"n <= {most}", f"n <= {most}, n >= {max(1, low // 2)}", "n >= 1"))
    kind = random.randrange(6)
    linear, constant = low + high, low * high
    match kind:
        case 0:
            text = f"{linear}*flops(line) <= flops(table) + {constant}"
        case 1:
            text = f"flops(table) + {constant} >= {linear}*n"
        case 2:
            text = f"{linear}*flops(pairs, m = k) <= flops(table)*k + {constant}*k"
        case 3:
            text = f"0 <= (flops(line) - {low})*(flops(line) - {high})"
        case 4:
            # On a machine: the same, times the time of a flop and of the traffic, which is at least that of n/L lines.
            text = f"{linear}*flops(line, n = n)/2 <= (flops(table) + {constant})/2"
        case _:
            # At most two flops an element.
            text = f"{linear}*flops(some) <= 2*flops(table) + {2 * constant}"
    return f"claim {text} where {where}", low, high


def test_no_claim_that_fails_between_samples_is_said_to_hold() -> None:
    source = random.Random(20)
    planted = [_planted(source) for _ in range(60)]
    outcomes = []
    for (text, low, high), found in zip(planted, _verdicts([text for text, _, _ in planted]), strict=True):
        assert found.outcome in ("fails", "unknown"), (text, found)
        outcomes.append(found.outcome)
        if found.outcome == "fails":
            assert low < found.point["n"] < high, (text, found)
    assert outcomes.count("fails") >= 30


def test_what_fails_is_evaluated_exactly_at_its_point() -> None:
    source, module = random.Random(21), al.loads(PROGRAM)
    factors = [(source.randint(1, 9), source.randint(1, 9), source.randint(0, 40)) for _ in range(40)]
    lines = [f"claim {a}*work(line) + {c} <= {b}*work(table)" for a, b, c in factors]
    for (a, b, c), found in zip(factors, _verdicts(lines), strict=True):
        fails = [n for n in range(1, 200) if a * (2 * n + 1) + c > b * (1 + n * (1 + 2 * n))]
        assert (found.outcome == "fails") == bool(fails), (a, b, c, found)
        if found.outcome != "fails":
            assert found.outcome == "holds"
            continue
        n = found.point["n"]
        left, right = (module[name].run(n=n).counts.work for name in ("line", "table"))
        assert a * left + c > b * right
        assert found.reason == f"the left side is {a * left + c}, the right side {b * right}"


def test_coefficients_of_machines_are_exact() -> None:
    """Of 2*n flops, time falls short of a claim by less than doubles can tell."""
    peak = Fraction(al.energy("roofline:flops=n,traffic=0", machine="gtx-580@double", n=1).time or 0)  # type: ignore[arg-type]
    assert peak > 0
    (less, equal, more) = _verdicts(
        [
            f"claim time(line) {relation} {peak.numerator}*flops(line)/{peak.denominator} {MACHINE} where n >= 1"
            for relation in (">=", "==", "<")
        ]
    )
    assert (less.outcome, equal.outcome, more.outcome) == ("holds", "fails", "fails")
