"""Points of sizes that facts allow: divisors, powers, quotients and products, one variable after the other."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from math import ceil, floor, isqrt

import numpy as np
from numpy.typing import NDArray

from archline.analysis.vectorised import broken_at
from archline.energy.optimise.problem import Variable
from archline.language import syntax as s
from archline.language.evaluate import EvaluationError, evaluate, evaluate_static, holds
from archline.records import record

LIMIT = 10**6
LARGEST_DIVIDED = 10**12
"""The largest number whose divisors are looked for."""
LARGEST = 2**60
Ints = NDArray[np.int64]
Points = dict[str, Ints]


class UnboundedError(Exception):
    """A variable has no range, and no fact limits it."""


class TooManyError(Exception):
    """There are more points than LIMIT."""


@record
class _Source:
    """Where the values of a variable are from: a fact, of names that are known."""

    kind: str
    fact: s.Fact
    names: tuple[str, ...]

    @property
    def rank(self) -> int:
        """Sources with fewer values come first."""
        return ("equal", "divisors", "below").index(self.kind)


def lattice(
    fixed: Mapping[str, int], variables: Sequence[Variable], facts: Sequence[s.Fact], least: Mapping[str, int]
) -> Points:
    """All points at which no fact is false, as an array for each name. Raises UnboundedError, TooManyError."""
    points = {name: np.array([value], np.int64) for name, value in fixed.items()}
    points = _kept(points, facts, ())
    waiting = list(variables)
    while waiting:
        chosen, sources = min(
            ((each, list(_sources(each, facts, points.keys()))) for each in waiting),
            key=lambda pair: _order(*pair),
        )
        if any(each.rank < 2 for each in sources) or chosen.high is not None:
            # There are few values, of which the facts are asked afterwards.
            sources = [each for each in sources if each.rank < 2]
        waiting.remove(chosen)
        known = tuple(points)
        points = _extended(points, chosen, sources, least.get(chosen.name, 1))
        points = _kept(points, facts, known)
    return points


def size(points: Points) -> int:
    """How many points there are."""
    return len(next(iter(points.values()))) if points else 1


def _order(variable: Variable, sources: Sequence[_Source]) -> tuple[int, float]:
    width = float(variable.high - variable.low) if variable.low is not None and variable.high is not None else np.inf
    return min((each.rank for each in sources), default=2 if width < np.inf else 3), width


def _kept(points: Points, facts: Sequence[s.Fact], before: Sequence[str]) -> Points:
    """The points without those at which a fact is false that was not decided before."""
    length = size(points)
    for fact in facts:
        names = s.names(fact)
        if length and names <= points.keys() and not (before and names <= set(before)):
            wrong = broken_at(fact, {name: points[name] for name in names}, length)
            if wrong.any():
                points = {name: values[~wrong] for name, values in points.items()}
                length = size(points)
    return points


def _extended(points: Points, variable: Variable, sources: Sequence[_Source], least: int) -> Points:
    """Each point with each value that the variable may have there."""
    length = size(points)
    names = tuple(dict.fromkeys(name for each in sources for name in each.names))
    columns = [points[name].tolist() for name in names]
    rows = list(zip(*columns, strict=True)) if names else [()] * length
    known: dict[tuple[int, ...], Ints] = {}
    for row in dict.fromkeys(rows):
        known[row] = _values(variable, sources, dict(zip(names, row, strict=True)), least)
    counts = np.fromiter((len(known[row]) for row in rows), np.int64, length)
    if counts.sum() > LIMIT:
        raise TooManyError
    found = {name: np.repeat(values, counts) for name, values in points.items()}
    parts = [known[row] for row in rows]
    found[variable.name] = np.concatenate(parts) if parts else np.zeros(0, np.int64)
    return found


def _values(variable: Variable, sources: Sequence[_Source], point: Mapping[str, int], least: int) -> Ints:
    low = least if variable.low is None else max(least, ceil(variable.low))
    high = None if variable.high is None else floor(variable.high)
    found: Ints | None = None
    for each in sources:
        values = _of_fact(variable.name, each, point, low)
        if isinstance(values, int):
            high = values if high is None else min(high, values)
        elif values is not None:
            found = values if found is None else np.intersect1d(found, values)
    if found is not None:
        return found[(found >= low) & (found <= (LARGEST if high is None else high))]
    if high is None:
        raise UnboundedError(variable.name)
    if high - low >= LIMIT:
        raise TooManyError
    return np.arange(low, high + 1, dtype=np.int64)


def _sources(variable: Variable, facts: Sequence[s.Fact], known: Collection[str]) -> Iterator[_Source]:
    """What facts say of a variable if all other names in them are known."""
    name = variable.name
    for fact in facts:
        if name not in s.names(fact):
            continue
        others = tuple(sorted(s.names(fact) - {name}))
        for divisor, value in _divisions(fact):
            held = s.names(value)
            if name in held or name not in s.names(divisor) or not held <= set(known) or not _product(divisor):
                continue
            yield _Source("divisors", s.Divides(divisor, value, span=divisor.span), tuple(sorted(held)))
        match fact:
            case s.Binary(op="==", left=s.Name(id=left), right=right) if left == name and name not in s.names(right):
                if set(others) <= set(known):
                    yield _Source("equal", fact, others)
            case s.Binary(op="<=" | "<", left=low, right=high) | s.Binary(op=">=" | ">", left=high, right=low):
                if set(others) <= set(known) and name not in s.names(high) and _rises(low, name):
                    yield _Source("below", fact, others)
            case _:
                # Others bound nothing.
                pass


def _divisions(fact: s.Fact) -> Iterator[tuple[s.Expr, s.Expr]]:
    """The divisors in a fact with what they divide: `d divides v`, and v/d, which is a whole number."""
    match fact:
        case s.Divides(divisor=divisor, value=value):
            yield divisor, value
        case s.IsPower(value=s.Binary(op="/", left=left, right=right)):
            yield right, left
        case _:
            # No other fact divides a size.
            pass


def _product(expr: s.Expr) -> bool:
    """Whether an expression is a product of names, numbers and powers: each factor divides what it divides."""
    match expr:
        case s.Name() | s.Integer():
            return True
        case s.Binary(op="*", left=left, right=right):
            return _product(left) and _product(right)
        case s.Binary(op="^", left=left, right=s.Integer()):
            return _product(left)
        case _:
            return False


def _rises(expr: s.Expr, name: str) -> bool:
    """Whether an expression of numbers >= 0 grows with a name, by its form."""
    if name not in s.names(expr):
        return True
    match expr:
        case s.Name():
            return True
        case s.Binary(op="+" | "*" | "^", left=left, right=right):
            return _rises(left, name) and _rises(right, name)
        case s.Binary(op="-" | "/", left=left, right=right):
            return name not in s.names(right) and _rises(left, name)
        case s.Call(function="min" | "max" | "sqrt" | "log2", arguments=arguments):
            return all(_rises(each, name) for each in arguments)
        case _:
            return False


def _of_fact(name: str, source: _Source, point: Mapping[str, int], low: int) -> Ints | int | None:
    """The values that a fact allows, or the largest one; None where that is not found."""
    fact = source.fact
    try:
        match fact:
            case s.Divides(value=value):
                number = evaluate(value, point)
                if not isinstance(number, int) or not 0 < number <= LARGEST_DIVIDED:
                    return None if number else np.zeros(0, np.int64)
                return divisors(number)
            case s.Binary(op="==", right=right):
                return np.array([evaluate_static(right, point)], np.int64)
            case _:
                return _largest(fact, name, point, low)
    except EvaluationError:
        return np.zeros(0, np.int64) if source.kind == "equal" else None


def _largest(fact: s.Fact, name: str, point: Mapping[str, int], low: int) -> int | None:
    """The largest value at which a fact is not false that is false beyond it; below `low` where there is none."""

    def false(value: int) -> bool:
        return holds(fact, {**point, name: value}) is False

    if false(low):
        return low - 1
    step = 1
    while not false(low + step):
        step *= 2
        if step > LARGEST:
            return None
    fine, wrong = low + step // 2, low + step
    while wrong - fine > 1:
        middle = (fine + wrong) // 2
        fine, wrong = (fine, middle) if false(middle) else (middle, wrong)
    return fine


@lru_cache(maxsize=4096)
def divisors(number: int) -> Ints:
    """The divisors of a number, in order."""
    low = np.arange(1, isqrt(number) + 1, dtype=np.int64)
    low = low[number % low == 0]
    return np.unique(np.concatenate([low, number // low]))
