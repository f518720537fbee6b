"""Enumerate the points of sizes that facts allow, variable by variable: divisors, powers, quotients and products."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from math import ceil, floor, isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from archline.analysis.vectorised import mark_false_points
from archline.energy.optimise.problem import Variable
from archline.expr.intervals import EvaluationError
from archline.expr.values import evaluate, evaluate_fact, evaluate_static
from archline.language import syntax as s
from archline.numbers import factor_into_primes
from archline.records import record

LIMIT = 10**6
MAX_VALUE = 2**60
Ints = NDArray[np.int64]
Points = Mapping[str, NDArray[Any]]


class UnlimitedSizeError(Exception):
    """A variable has no range, and no fact limits it."""


class TooManyError(Exception):
    """There are more points than LIMIT."""


@record
class _ValueSource:
    """A fact that gives the values of a variable, and the names on which these depend."""

    kind: str
    fact: s.Fact
    names: tuple[str, ...]

    @property
    def rank(self) -> int:
        """The position of a source in the order by which they are used: fewer values come first."""
        return {"equal": 0, "divisors": 1, "powers": 1}.get(self.kind, RANGE_RANK)


RANGE_RANK = 2
"""The rank of sources with as many values as a range."""
FROM, TO = " from", " to"
"""Suffixes of the names of range ends, which may differ from point to point."""


def enumerate_points(
    start: Mapping[str, int | Ints],
    variables: Sequence[Variable],
    facts: Sequence[s.Fact],
    least: Mapping[str, int],
    wide: bool = False,
) -> Points:
    """Return all points at which no fact is false, as an array for each name.

    The points extend those of `start` by all values of the variables in their ranges, which may differ between points.
    If there are too many and `wide`, variables get ranges instead of values. Raises UnlimitedSizeError, TooManyError.
    """
    facts = [*facts, *_iterate_implied_facts(facts, variables)]
    points = _filter_points(
        {name: np.atleast_1d(np.asarray(value, np.int64)) for name, value in start.items()}, facts, ()
    )
    waiting = list(variables)
    while waiting:
        pairs = [(variable, list(_iterate_value_sources(variable, facts, points.keys()))) for variable in waiting]
        pairs.sort(key=lambda pair: _rank_variable(pair[0], pair[1], points))
        decided = tuple(points)
        for chosen, sources in pairs:
            try:
                points = _extend_points(points, chosen, sources, least.get(chosen.name, 1))
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
            points = _with_ranges(points, chosen, sources, least.get(chosen.name, 1))
        waiting.remove(chosen)
        points = _filter_points(points, facts, decided)
    return points if wide else {name: values for name, values in points.items() if " " not in name}


def count_points(points: Points) -> int:
    """Return the number of points, which is the length of each array."""
    return len(next(iter(points.values()))) if points else 1


def find_free_variables(variables: Sequence[Variable], facts: Sequence[s.Fact], names: Collection[str]) -> list[str]:
    """Return variables to enumerate over their ranges: given these and `names`, facts leave few values of the rest."""
    chosen_names, fixed, waiting = list[str](), set(names), list(variables)

    def find_determined(names: Collection[str]) -> list[Variable]:
        return [
            item
            for item in waiting
            if any(source.rank < RANGE_RANK for source in _iterate_value_sources(item, facts, names))
        ]

    while waiting:
        chosen = next(iter(find_determined(fixed)), None)
        if chosen is None:
            chosen = max(waiting, key=lambda variable: len(find_determined({*fixed, variable.name})))
            chosen_names.append(chosen.name)
        waiting.remove(chosen)
        fixed.add(chosen.name)
    return chosen_names


def _iterate_implied_facts(facts: Sequence[s.Fact], variables: Sequence[Variable]) -> Iterator[s.Fact]:
    """Yield the facts that bound an expression that equals or divides a variable by the variable's largest value."""
    maxima = {variable.name: variable.high for variable in variables if variable.high is not None}
    for fact in facts:
        match fact:
            case (
                s.Binary(op="==", left=s.Name(id=name), right=bounded)
                | s.Divides(divisor=bounded, value=s.Name(id=name))
            ):
                if name in maxima and s.find_names(bounded):
                    yield s.Binary("<=", bounded, s.Integer(floor(maxima[name]), span=bounded.span), span=bounded.span)
            case _:
                # Other facts do not bound a divisor.
                pass


def _rank_variable(variable: Variable, sources: Sequence[_ValueSource], points: Points) -> tuple[int, float]:
    """Return a sort key that puts variables with few possible values first."""
    width = np.inf
    if variable.name + TO in points:
        width = float((points[variable.name + TO] - points[variable.name + FROM]).max(initial=0))
    elif variable.low is not None and variable.high is not None:
        width = float(variable.high - variable.low)
    return min((source.rank for source in sources), default=RANGE_RANK if width < np.inf else RANGE_RANK + 1), width


def _filter_points(points: Points, facts: Sequence[s.Fact], before: Sequence[str]) -> Points:
    """Drop points at which a fact is false; facts whose names are all in `before` have been checked."""
    length = count_points(points)
    for fact in facts:
        names = s.find_names(fact)
        if length and names <= points.keys() and not (before and names <= set(before)):
            wrong = mark_false_points(fact, {name: points[name] for name in names}, length)
            if wrong.any():
                points = {name: values[~wrong] for name, values in points.items()}
                length = count_points(points)
    return points


def _extend_points(points: Points, variable: Variable, sources: Sequence[_ValueSource], least: int) -> Points:
    """Extend each point by each value of at least `least` that the variable may have.

    Raises UnlimitedSizeError, TooManyError.
    """
    length, selected = count_points(points), [source for source in sources if source.rank < RANGE_RANK]
    selected = selected or [source for source in sources if source.kind != "below"]
    bounded = variable.high is not None and (selected or variable.high * length <= LIMIT)
    if bounded or any(source.kind in ("equal", "divisors") for source in selected):
        # There are selected values, which other facts filter afterwards.
        sources = selected
    names, rows = _collect_rows(points, variable, sources)
    values_of_row: dict[tuple[int, ...], Ints] = {}
    total = 0
    for row in dict.fromkeys(rows):
        values_of_row[row] = _compute_values(variable, sources, dict(zip(names, row, strict=True)), least)
        total += len(values_of_row[row])
        if total > LIMIT:
            raise TooManyError
    counts = np.fromiter((len(values_of_row[row]) for row in rows), np.int64, length)
    if counts.sum() > LIMIT:
        raise TooManyError
    extended = {
        name: np.repeat(values, counts) for name, values in points.items() if name not in _name_range_ends(variable)
    }
    parts = [values_of_row[row] for row in rows]
    extended[variable.name] = np.concatenate(parts) if parts else np.zeros(0, np.int64)
    return extended


def _with_ranges(points: Points, variable: Variable, sources: Sequence[_ValueSource], least: int) -> Points:
    """Extend each point by the range of the variable, from `least` or above. Raises UnlimitedSizeError."""
    names, rows = _collect_rows(points, variable, sources)
    ranges = [_compute_range(variable, sources, dict(zip(names, row, strict=True)), least) for row in rows]
    if any(high is None for _, high in ranges):
        raise UnlimitedSizeError(variable.name)
    ends = np.array(ranges, np.int64).reshape(len(rows), 2)
    return {**points, variable.name + FROM: ends[:, 0], variable.name + TO: ends[:, 1]}


def _collect_rows(
    points: Points, variable: Variable, sources: Sequence[_ValueSource]
) -> tuple[tuple[str, ...], list[tuple[int, ...]]]:
    """Return the names on which the values of a variable depend, and their values at each point."""
    names = tuple(dict.fromkeys(name for source in sources for name in source.names))
    names += tuple(name for name in _name_range_ends(variable) if name in points)
    columns = [points[name].tolist() for name in names]
    return names, list(zip(*columns, strict=True)) if names else [()] * count_points(points)


def _name_range_ends(variable: Variable) -> set[str]:
    return {variable.name + FROM, variable.name + TO}


def _compute_range(
    variable: Variable, sources: Sequence[_ValueSource], point: Mapping[str, int], least: int
) -> tuple[int, int | None]:
    """Return bounds on the values at a point, the lower one at least `least`; None for the upper one if unknown."""
    low = max(least if variable.low is None else max(least, ceil(variable.low)), point.get(variable.name + FROM, 0))
    fixed = None if variable.high is None else floor(variable.high)
    highs = [fixed, point.get(variable.name + TO)]
    highs += [
        _find_largest_valid_value(source.fact, variable.name, point, low)
        for source in sources
        if source.kind == "below"
    ]
    return low, min((end for end in highs if end is not None), default=None)


def _compute_values(variable: Variable, sources: Sequence[_ValueSource], point: Mapping[str, int], least: int) -> Ints:
    low, high = _compute_range(variable, sources, point, least)
    allowed: Ints | None = None
    for source in sources:
        values = _compute_fact_values(variable.name, source, point, low, high)
        if values is not None:
            allowed = values if allowed is None else np.intersect1d(allowed, values)
    if allowed is not None:
        return allowed[(allowed >= low) & (allowed <= (MAX_VALUE if high is None else high))]
    if high is None:
        raise UnlimitedSizeError(variable.name)
    if high - low >= LIMIT:
        raise TooManyError
    return np.arange(low, high + 1, dtype=np.int64)


def _iterate_value_sources(
    variable: Variable, facts: Sequence[s.Fact], given: Collection[str]
) -> Iterator[_ValueSource]:
    """Yield the facts that restrict a variable if all other names in them are known."""
    name, fixed = variable.name, set(given)
    for fact in facts:
        if name not in s.find_names(fact):
            continue
        other_names = tuple(sorted(s.find_names(fact) - {name}))
        for divisor, value in _iterate_divisions(fact):
            value_names = s.find_names(value)
            if (
                name not in value_names
                and name in s.find_names(divisor)
                and value_names <= fixed
                and _is_product(divisor)
            ):
                yield _ValueSource("divisors", s.Divides(divisor, value, span=divisor.span), tuple(sorted(value_names)))
            if isinstance(value, s.Name) and value.id == name and s.find_names(divisor) <= fixed:
                yield _ValueSource(
                    "multiples", s.Divides(divisor, value, span=divisor.span), tuple(sorted(s.find_names(divisor)))
                )
        match fact:
            case s.Binary(op="==", left=s.Name(id=left), right=right) if left == name and name not in s.find_names(
                right
            ):
                if set(other_names) <= fixed:
                    yield _ValueSource("equal", fact, other_names)
            case s.Binary(op="<=" | "<", left=low, right=high) | s.Binary(op=">=" | ">", left=high, right=low):
                if set(other_names) <= fixed and name not in s.find_names(high) and _is_increasing(low, name):
                    yield _ValueSource("below", fact, other_names)
            case s.IsPower(value=s.Name(id=power), base=base) if power == name and s.find_names(base) <= fixed:
                yield _ValueSource("powers", fact, tuple(sorted(s.find_names(base))))
            case s.IsSquare(value=s.Name(id=square)) if square == name:
                yield _ValueSource("squares", fact, ())
            case _:
                # Other facts do not bound a variable.
                pass


def _iterate_divisions(fact: s.Fact) -> Iterator[tuple[s.Expr, s.Expr]]:
    """Yield the pairs of divisor and dividend that a fact such as `d divides v` implies, as v/d is an integer."""
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


def _is_product(expr: s.Expr) -> bool:
    """Whether an expression is a product of names, integers and powers, so that its factors divide its multiples."""
    match expr:
        case s.Name() | s.Integer():
            return True
        case s.Binary(op="*", left=left, right=right):
            return _is_product(left) and _is_product(right)
        case s.Binary(op="^", left=left, right=s.Integer()):
            return _is_product(left)
        case _:
            return False


def _is_increasing(expr: s.Expr, name: str) -> bool:
    """Whether the form of an expression shows that it does not decrease in a name, for nonnegative numbers."""
    if name not in s.find_names(expr):
        return True
    match expr:
        case s.Name():
            return True
        case s.Binary(op="+" | "*" | "^", left=left, right=right):
            return _is_increasing(left, name) and _is_increasing(right, name)
        case s.Binary(op="-" | "/", left=left, right=right):
            return name not in s.find_names(right) and _is_increasing(left, name)
        case s.Call(function="min" | "max" | "sqrt" | "log2", arguments=arguments):
            return all(_is_increasing(argument, name) for argument in arguments)
        case _:
            return False


def _compute_fact_values(
    name: str, source: _ValueSource, point: Mapping[str, int], low: int, high: int | None
) -> Ints | None:
    """Return the values that a fact allows, at least all between `low` and `high`; None if they cannot be listed.

    `name` is not used.
    """
    fact = source.fact
    try:
        match fact:
            case s.Divides(value=value) if source.kind == "divisors":
                number = evaluate(value, point)
                if not isinstance(number, int) or not 0 < number <= MAX_VALUE:
                    return None if number else np.zeros(0, np.int64)
                return list_divisors(number)
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


def _find_largest_valid_value(fact: s.Fact, name: str, point: Mapping[str, int], low: int) -> int | None:
    """Return the largest value before a fact becomes false; below `low` if there is none, None if it is not limited."""

    def is_false(value: int) -> bool:
        return evaluate_fact(fact, {**point, name: value}) is False

    if is_false(low):
        return low - 1
    step = 1
    while not is_false(low + step):
        step *= 2
        if step > MAX_VALUE:
            return None
    valid, invalid = low + step // 2, low + step
    while invalid - valid > 1:
        middle = (valid + invalid) // 2
        valid, invalid = (valid, middle) if is_false(middle) else (middle, invalid)
    return valid


@lru_cache(maxsize=4096)
def list_divisors(number: int) -> Ints:
    """Return the divisors of a number, in ascending order."""
    products = np.ones(1, np.int64)
    for prime, count in factor_into_primes(number):
        products = np.outer(products, prime ** np.arange(count + 1)).ravel()
    return np.sort(products)
