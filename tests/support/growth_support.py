"""An independent reading of growth for tests: logarithms of values far out, at many directions, by mpmath.

Nothing of the package is used but the parser and the syntax tree. A value is its binary logarithm, since sizes are as
large as 2^(2^60).
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence

from mpmath import mp, mpf

from archline.language import syntax as s

mp.prec = 1150
Logs = Mapping[str, mpf]


def log_of(expr: s.Expr, point: Logs) -> mpf:
    """log2 of a positive expression without subtraction, sizes given by their logarithms; log2(w) is log2(2 + w)."""
    match expr:
        case s.Integer(value=value):
            return mp.log(value, 2)
        case s.Real(text=text):
            return mp.log(mpf(text), 2)
        case s.Name(id=name):
            return point[name]
        case s.Binary(op="+", left=left, right=right):
            return log_sum(log_of(left, point), log_of(right, point))
        case s.Binary(op="*", left=left, right=right):
            return log_of(left, point) + log_of(right, point)
        case s.Binary(op="/", left=left, right=right):
            return log_of(left, point) - log_of(right, point)
        case s.Binary(op="^", left=left, right=right):
            return log_of(left, point) * number(right)
        case s.Call(function="sqrt", arguments=(inner,)):
            return log_of(inner, point) / 2
        case s.Call(function="log2", arguments=(inner,)):
            return mp.log(log_sum(mpf(1), log_of(inner, point)), 2)
        case s.Call(function="min" | "max" as function, arguments=arguments):
            values = [log_of(each, point) for each in arguments]
            return min(values) if function == "min" else max(values)
    raise AssertionError(f"{type(expr).__name__} is not generated")


def log_sum(a: mpf, b: mpf) -> mpf:
    """log2(2^a + 2^b)."""
    high, low = max(a, b), min(a, b)
    return high if high - low > 2000 else high + mp.log(1 + mpf(2) ** (low - high), 2)


def number(expr: s.Expr) -> mpf:
    """The value of a constant."""
    match expr:
        case s.Integer(value=value):
            return mpf(value)
        case s.Real(text=text):
            return mpf(text)
        case s.Unary(operand=operand):
            return -number(operand)
        case s.Binary(op=op, left=left, right=right):
            a, b = number(left), number(right)
            return {"+": a + b, "-": a - b, "*": a * b, "/": a / b if b else a}[op]
        case s.Call(function="log2", arguments=(inner,)):
            return mp.log(number(inner), 2)
        case s.Call(function="sqrt", arguments=(inner,)):
            return mp.sqrt(number(inner))
    raise AssertionError("not a constant")


def satisfied(facts: Sequence[s.Fact], point: Logs) -> bool:
    """Whether comparisons hold at a point, up to rounding."""
    slack = mpf(2) ** -1100
    for fact in facts:
        if isinstance(fact, s.IsPower):
            continue
        assert isinstance(fact, s.Binary)
        left, right = log_of(fact.left, point), log_of(fact.right, point)
        if fact.op == "==" and abs(left - right) > slack * max(1, abs(left)):
            return False
        small, large = (left, right) if fact.op == "<=" else (right, left)
        if small > large + slack * max(1, abs(large)):
            return False
    return True


def directions(names: Sequence[str]) -> Iterator[dict[str, object]]:
    """How sizes may grow: each constant, a power of log2(T), of T, or of 2^T, and a few mixtures."""
    half = mpf(1) / 2
    kinds = [(0, 0, 0), (1, 0, 0), (2, 0, 0), (half, 0, 0), (0, 8, 0), (0, 24, 0), (0, 0, 60), (1, 1, 0), (1, -1, 0)]
    yield from (dict(zip(names, chosen, strict=True)) for chosen in itertools.product(kinds, repeat=len(names)))


def point_at(direction: Mapping[str, Sequence[mpf]], time: mpf) -> dict[str, mpf]:
    """The logarithms of sizes 2^(aT) * T^b * log2(T)^c."""
    t, log, loglog = time, mp.log(time, 2), mp.log(mp.log(time, 2), 2)
    return {name: a * t + b * log + c * loglog for name, (a, b, c) in direction.items()}


TIMES = (mpf(2) ** 150, mpf(2) ** 400, mpf(2) ** 1000)


def rises(f: s.Expr, g: s.Expr, points: Sequence[Logs]) -> bool:
    """Whether f/g is clearly larger at the later points, by more than a bounded quotient that settles down."""
    gaps = [log_of(f, point) - log_of(g, point) for point in points]
    return gaps[2] - gaps[1] > mpf(1) / 4 and gaps[1] - gaps[0] > 0


def grows_somewhere(f: s.Expr, g: s.Expr, facts: Sequence[s.Fact], names: Sequence[str], most: int) -> bool:
    """Whether f/g rises along one of the directions that the facts allow."""
    chosen = list(directions(names))
    random.Random(1).shuffle(chosen)
    for direction in chosen[:most]:
        points = [point_at(direction, time) for time in TIMES]
        allowed = all(satisfied(facts, point) and min(point.values()) >= 0 for point in points)
        if allowed and rises(f, g, points):
            return True
    return False
