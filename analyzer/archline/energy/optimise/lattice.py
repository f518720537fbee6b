"""Points of sizes that facts allow are enumerated variable by variable: divisors, powers, quotients and products."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from math import ceil, floor, isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from archline.analysis.vectorised import broken_at
from archline.energy.optimise.problem import Variable
from archline.expr.intervals import EvaluationError
from archline.expr.values import evaluate, evaluate_static, holds
from archline.language import syntax as s
from archline.numbers import primes
from archline.records import record

LIMIT = 10**6
LARGEST = 2**60
Ints = NDArray[np.int64]
Points = Mapping[str, NDArray[Any]]


class UnlimitedSizeError(Exception):
    """A variable without a range that no fact limits."""


class TooManyError(Exception):
    """There are more points than LIMIT."""


@record
class _Source:
    """A fact that gives the values of a variable, and the names on which these depend."""

    kind: str
    fact: s.Fact
    names: tuple[str, ...]

    @property
    def rank(self) -> int:
        """Order sources: those with fewer values come first."""
        return {"equal": 0, "divisors": 1, "powers": 1}.get(self.kind, MANY)


MANY = 2
"""The rank of sources with as many values as a range."""
FROM, TO = " from", " to"
"""Suffixes of the names of range ends, which may differ from point to point."""


def lattice(
    start: Mapping[str, int | Ints],
    variables: Sequence[Variable],
    facts: Sequence[s.Fact],
    least: Mapping[str, int],
    wide: bool = False,
) -> Points:
    """Return all points at which no fact is false, as an array for each name.

    They extend the `start` by each value of the variables in their ranges, which may differ from point to point.
    If there are too many, variables get ranges in place of values if `wide`. Raises UnlimitedSizeError, TooManyError.
    """
    facts = [*facts, *_implied(facts, variables)]
    points = _kept({name: np.atleast_1d(np.asarray(value, np.int64)) for name, value in start.items()}, facts, ())
    waiting = list(variables)
    while waiting:
        pairs = [(variable, list(_sources(variable, facts, points.keys()))) for variable in waiting]
        pairs.sort(key=lambda pair: _order(pair[0], pair[1], points))
        decided = tuple(points)
        for chosen, sources in pairs:
            try:
                points = _extended(points, chosen, sources, least.get(chosen.name, 1))
                break
            except TooManyError:
                continue
            except UnlimitedSizeError:
                if chosen is pairs[0][0]:
                    raise
        else:
            chosen, sources = pairs[0]
            if not wide:
                raise TooManyError
            points = _ranged(points, chosen, sources, least.get(chosen.name, 1))
        waiting.remove(chosen)
        points = _kept(points, facts, decided)
    return points if wide else {name: values for name, values in points.items() if " " not in name}


def size(points: Points) -> int:
    """Return the number of points."""
    return len(next(iter(points.values()))) if points else 1


def free(variables: Sequence[Variable], facts: Sequence[s.Fact], names: Collection[str]) -> list[str]:
    """Return the variables whose values have to be enumerated: of the rest, facts give few values."""
    chosen_names, fixed, waiting = list[str](), set(names), list(variables)

    def determined(names: Collection[str]) -> list[Variable]:
        return [item for item in waiting if any(source.rank < MANY for source in _sources(item, facts, names))]

    while waiting:
        chosen = next(iter(determined(fixed)), None)
        if chosen is None:
            chosen = max(waiting, key=lambda variable: len(determined({*fixed, variable.name})))
            chosen_names.append(chosen.name)
        waiting.remove(chosen)
        fixed.add(chosen.name)
    return chosen_names


def _implied(facts: Sequence[s.Fact], variables: Sequence[Variable]) -> Iterator[s.Fact]:
    """Yield the facts that bound what equals a variable, or divides it, by the variable's largest value."""
    most = {variable.name: variable.high for variable in variables if variable.high is not None}
    for fact in facts:
        match fact:
            case s.Binary(op="==", left=s.Name(id=name), right=less) | s.Divides(divisor=less, value=s.Name(id=name)):
                if name in most and s.names(less):
                    yield s.Binary("<=", less, s.Integer(floor(most[name]), span=less.span), span=less.span)
            case _:
                # Other facts do not bound a divisor.
                pass


def _order(variable: Variable, sources: Sequence[_Source], points: Points) -> tuple[int, float]:
    width = np.inf
    if variable.name + TO in points:
        width = float((points[variable.name + TO] - points[variable.name + FROM]).max(initial=0))
    elif variable.low is not None and variable.high is not None:
        width = float(variable.high - variable.low)
    return min((source.rank for source in sources), default=MANY if width < np.inf else MANY + 1), width


def _kept(points: Points, facts: Sequence[s.Fact], before: Sequence[str]) -> Points:
    """Drop points at which a fact is false that was not decided `before`."""
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
    """Extend each point by each value that the variable may have. Raises UnlimitedSizeError, TooManyError."""
    length, few = size(points), [source for source in sources if source.rank < MANY]
    few = few or [source for source in sources if source.kind != "below"]
    bounded = variable.high is not None and (few or variable.high * length <= LIMIT)
    if bounded or any(source.kind in ("equal", "divisors") for source in few):
        # There are few values, which other facts filter afterwards.
        sources = few
    names, rows = _rows(points, variable, sources)
    values_of_row: dict[tuple[int, ...], Ints] = {}
    total = 0
    for row in dict.fromkeys(rows):
        values_of_row[row] = _values(variable, sources, dict(zip(names, row, strict=True)), least)
        total += len(values_of_row[row])
        if total > LIMIT:
            raise TooManyError
    counts = np.fromiter((len(values_of_row[row]) for row in rows), np.int64, length)
    if counts.sum() > LIMIT:
        raise TooManyError
    extended = {name: np.repeat(values, counts) for name, values in points.items() if name not in _ends(variable)}
    parts = [values_of_row[row] for row in rows]
    extended[variable.name] = np.concatenate(parts) if parts else np.zeros(0, np.int64)
    return extended


def _ranged(points: Points, variable: Variable, sources: Sequence[_Source], least: int) -> Points:
    """Extend each point by the range of the variable. Raises UnlimitedSizeError."""
    names, rows = _rows(points, variable, sources)
    ranges = [_range(variable, sources, dict(zip(names, row, strict=True)), least) for row in rows]
    if any(high is None for _, high in ranges):
        raise UnlimitedSizeError(variable.name)
    ends = np.array(ranges, np.int64).reshape(len(rows), 2)
    return {**points, variable.name + FROM: ends[:, 0], variable.name + TO: ends[:, 1]}


def _rows(
    points: Points, variable: Variable, sources: Sequence[_Source]
) -> tuple[tuple[str, ...], list[tuple[int, ...]]]:
    """Return the names on which the values of a variable depend, and their values at each point."""
    names = tuple(dict.fromkeys(name for source in sources for name in source.names))
    names += tuple(name for name in _ends(variable) if name in points)
    columns = [points[name].tolist() for name in names]
    return names, list(zip(*columns, strict=True)) if names else [()] * size(points)


def _ends(variable: Variable) -> set[str]:
    return {variable.name + FROM, variable.name + TO}


def _range(
    variable: Variable, sources: Sequence[_Source], point: Mapping[str, int], least: int
) -> tuple[int, int | None]:
    """Return the smallest and the largest value at a point, or None for the latter if unknown."""
    low = max(least if variable.low is None else max(least, ceil(variable.low)), point.get(variable.name + FROM, 0))
    fixed = None if variable.high is None else floor(variable.high)
    highs = [fixed, point.get(variable.name + TO)]
    highs += [_largest(source.fact, variable.name, point, low) for source in sources if source.kind == "below"]
    return low, min((end for end in highs if end is not None), default=None)


def _values(variable: Variable, sources: Sequence[_Source], point: Mapping[str, int], least: int) -> Ints:
    low, high = _range(variable, sources, point, least)
    allowed: Ints | None = None
    for source in sources:
        values = _of_fact(variable.name, source, point, low, high)
        if values is not None:
            allowed = values if allowed is None else np.intersect1d(allowed, values)
    if allowed is not None:
        return allowed[(allowed >= low) & (allowed <= (LARGEST if high is None else high))]
    if high is None:
        raise UnlimitedSizeError(variable.name)
    if high - low >= LIMIT:
        raise TooManyError
    return np.arange(low, high + 1, dtype=np.int64)


def _sources(variable: Variable, facts: Sequence[s.Fact], given: Collection[str]) -> Iterator[_Source]:
    """Yield the facts that restrict a variable if all other names in them are known."""
    name, fixed = variable.name, set(given)
    for fact in facts:
        if name not in s.names(fact):
            continue
        other_names = tuple(sorted(s.names(fact) - {name}))
        for divisor, value in _divisions(fact):
            held = s.names(value)
            if name not in held and name in s.names(divisor) and held <= fixed and _product(divisor):
                yield _Source("divisors", s.Divides(divisor, value, span=divisor.span), tuple(sorted(held)))
            if isinstance(value, s.Name) and value.id == name and s.names(divisor) <= fixed:
                yield _Source(
                    "multiples", s.Divides(divisor, value, span=divisor.span), tuple(sorted(s.names(divisor)))
                )
        match fact:
            case s.Binary(op="==", left=s.Name(id=left), right=right) if left == name and name not in s.names(right):
                if set(other_names) <= fixed:
                    yield _Source("equal", fact, other_names)
            case s.Binary(op="<=" | "<", left=low, right=high) | s.Binary(op=">=" | ">", left=high, right=low):
                if set(other_names) <= fixed and name not in s.names(high) and _rises(low, name):
                    yield _Source("below", fact, other_names)
            case s.IsPower(value=s.Name(id=power), base=base) if power == name and s.names(base) <= fixed:
                yield _Source("powers", fact, tuple(sorted(s.names(base))))
            case s.IsSquare(value=s.Name(id=square)) if square == name:
                yield _Source("squares", fact, ())
            case _:
                # Other facts do not bound a variable.
                pass


def _divisions(fact: s.Fact) -> Iterator[tuple[s.Expr, s.Expr]]:
    """Yield each divisor in a fact with its dividend: of `d divides v`, and of v/d, which is an integer."""
    match fact:
        case s.Divides(divisor=divisor, value=value):
            yield divisor, value
        case s.IsPower(value=s.Binary(op="/", left=left, right=right)):
            yield right, left
        case s.Binary(op="==", left=left, right=right):
            yield right, left
        case _:
            # No other fact divides a size.
            pass


def _product(expr: s.Expr) -> bool:
    """Whether an expression is a product of names, numbers and powers: each factor divides its multiples."""
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
    """Whether an expression of nonnegative numbers increases with a name, by its form."""
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
            return all(_rises(argument, name) for argument in arguments)
        case _:
            return False


def _of_fact(name: str, source: _Source, point: Mapping[str, int], low: int, high: int | None) -> Ints | None:
    """Return the values that a fact allows, at least those in a range; None if they cannot be listed."""
    fact = source.fact
    try:
        match fact:
            case s.Divides(value=value) if source.kind == "divisors":
                number = evaluate(value, point)
                if not isinstance(number, int) or not 0 < number <= LARGEST:
                    return None if number else np.zeros(0, np.int64)
                return divisors(number)
            case s.Binary(op="==", right=right):
                return np.array([evaluate_static(right, point)], np.int64)
            case s.IsPower(base=base) if high is not None:
                number, powers = evaluate_static(base, point), [1]
                while number > 1 and powers[-1] * number <= high:
                    powers.append(powers[-1] * number)
                return np.array(powers, np.int64) if number > 1 else None
            case s.IsSquare() if high is not None and isqrt(high) - isqrt(low) < LIMIT:
                return np.arange(isqrt(low), isqrt(high) + 1, dtype=np.int64) ** 2
            case s.Divides(divisor=divisor) if source.kind == "multiples" and high is not None:
                step = evaluate_static(divisor, point)
                if step < 1 or (high - low) // step > LIMIT:
                    return None
                return np.arange(-(-low // step) * step, high + 1, step, dtype=np.int64)
            case _:
                return None
    except EvaluationError:
        return np.zeros(0, np.int64) if source.kind == "equal" else None


def _largest(fact: s.Fact, name: str, point: Mapping[str, int], low: int) -> int | None:
    """Return the largest value before a fact becomes false; below `low` if there is none, None if it is not limited."""

    def is_false(value: int) -> bool:
        return holds(fact, {**point, name: value}) is False

    if is_false(low):
        return low - 1
    step = 1
    while not is_false(low + step):
        step *= 2
        if step > LARGEST:
            return None
    fine, wrong = low + step // 2, low + step
    while wrong - fine > 1:
        middle = (fine + wrong) // 2
        fine, wrong = (fine, middle) if is_false(middle) else (middle, wrong)
    return fine


@lru_cache(maxsize=4096)
def divisors(number: int) -> Ints:
    """Return the divisors of a number, in ascending order."""
    products = np.ones(1, np.int64)
    for prime, count in primes(number):
        products = np.outer(products, prime ** np.arange(count + 1)).ravel()
    return np.sort(products)
