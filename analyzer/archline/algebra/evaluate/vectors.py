"""Expressions at many points at once: exact, in integers of 64 bits where these are enough, or in floating point.

Before each operation the largest numbers that go into it are multiplied or added up as Python's integers, which have no
limit; where the result could need more than 63 bits, the operation is done on Python's integers too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import floor, lcm
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from archline.algebra import atoms as a
from archline.algebra.evaluate.compiled import Compiler
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.polynomial import Atom, Monomial, Poly, Symbol
from archline.expr.intervals import EvaluationError
from archline.numbers import fmpq
from archline.records import memoised, record

LARGEST = 2**63 - 1
Integers: TypeAlias = NDArray[Any]
"""An array of int64, or of integers of Python."""
Marks: TypeAlias = NDArray[np.bool_]
_SHORT, _LONG = np.dtype(np.int64), np.dtype(object)
_POWERS = 2 ** np.arange(63, dtype=np.int64)
_depth = np.frompyfunc(lambda value: max(0, value - 1).bit_length(), 1, 1)


@record(eq=False)
class Column:
    """An integer for each point, none of a magnitude above `bound`; `missing` marks those that have no value."""

    values: Integers
    bound: int
    missing: Marks | None = None


def column(values: Integers, missing: Marks | None = None) -> Column:
    """The column of some integers, measured; those that are missing become 1, so that products go on."""
    if missing is not None:
        values = np.where(missing, 1, values)
    bound = max(abs(int(values.min())), abs(int(values.max()))) if values.size else 0
    return Column(_wide(values, _kind(bound)), bound, missing)


class Sums:
    """Expressions as sums of products with whole coefficients, divided by a number: read once, for all points."""

    @memoised
    def of(self, value: Poly) -> tuple[list[tuple[int, Monomial]], int]:
        """The terms, and the number."""
        scale = lcm(*(int(each.q) for each in value.terms.values()))
        return [(int((each * scale).p), monomial) for monomial, each in value.terms.items()], scale

    @memoised
    def cleared(self, value: Poly) -> tuple[Poly | None, Poly, frozenset[str]]:
        """The expression as a quotient of plain ones where the symbols named are above 0; None where it is not one."""
        divided: set[str] = set()
        above, below = over_one_line(without_fractions(value, divided))
        divided |= below.names
        plain = self.plain(above) and self.plain(below)
        return (above if plain else None), below, frozenset(divided)

    @memoised
    def plain(self, value: Poly) -> bool:
        """Whether the expression is plain."""
        return is_plain(value)


class Vectors:
    """The values of expressions at points, given by an array of integers for each name, all of one length.

    What expressions have in common is computed once.
    """

    def __init__(self, points: Mapping[str, Integers], length: int, sums: Sums | None = None) -> None:
        self._length = length
        self._points = points
        self._sums = sums or Sums()

    def gives(self, value: Poly) -> bool:
        """Whether there are numbers for all symbols of the expression."""
        return value.names <= self._points.keys()

    def floor(self, value: Poly) -> Column:
        """The greatest integers that are not above the expression."""
        if self._sums.plain(value):
            top, bottom = self._ratio(value)
            return top if bottom == 1 else column(top.values // bottom, top.missing)
        above, below, divided = self._sums.cleared(value)
        if above is not None and all((self._points[name] > 0).all() for name in divided):
            return self._divided(above, below)
        return self._one_by_one(value)

    def _one_by_one(self, value: Poly) -> Column:
        names = [name for name in self._points if name in value.names]
        compiler = Compiler(names)
        compute = compiler.of(value)
        rows: Iterable[tuple[int, ...]] = zip(*(self._points[name].tolist() for name in names), strict=True)
        found, missing = np.ones(self._length, object), np.zeros(self._length, bool)
        for place, row in enumerate(rows if names else [()] * self._length):
            try:
                found[place] = floor(compute(compiler.environment(row)))
            except EvaluationError:
                try:
                    # Products of powers and logarithms may be rational where their factors are not.
                    found[place] = floor(evaluate(value, dict(zip(names, row, strict=True))))
                except EvaluationError:
                    missing[place] = True
        return column(found, missing if missing.any() else None)

    def _ratio(self, value: Poly) -> tuple[Column, int]:
        """Integers, and what they are to be divided by."""
        parts, scale = self._sums.of(value)
        terms = [(coefficient, self._product(monomial)) for coefficient, monomial in parts]
        if len(terms) == 1 and terms[0][0] == 1:
            return terms[0][1], scale
        bound = sum(abs(coefficient) * max(1, each.bound) for coefficient, each in terms)
        kind = _kind(bound)
        total = np.zeros(self._length, kind)
        for coefficient, each in terms:
            if coefficient == 1:
                total += _wide(each.values, kind)
            elif coefficient == -1:
                total -= _wide(each.values, kind)
            else:
                total += coefficient * _wide(each.values, kind)
        missing = _either(*(each.missing for _, each in terms))
        return Column(total, bound, missing) if kind == _SHORT else column(total, missing), scale

    @memoised
    def _product(self, monomial: Monomial) -> Column:
        """The product. A factor that is 0 (a guard that fails) rules out one without a value."""
        if not monomial:
            return Column(np.ones(self._length, np.int64), 1)
        *others, (atom, power) = monomial
        if power > 1:
            others.append((atom, power - 1))
        last = self._atom(atom)
        if not others:
            return last
        rest = self._product(tuple(others))
        kind = _kind(max(1, rest.bound) * max(1, last.bound))
        values = _wide(rest.values, kind) * _wide(last.values, kind)
        missing = _either(rest.missing, last.missing)
        return column(values, None if missing is None else missing & (values != 0))

    @memoised
    def _atom(self, atom: Atom) -> Column:
        match atom:
            case Symbol():
                return column(self._points[atom.name])
            case a.PositivePart():
                inside, _ = self._ratio(atom.argument)
                return column(np.maximum(inside.values, 0), inside.missing)
            case a.CeilLog2():
                inside, scale = self._ratio(atom.argument)
                whole = -(-inside.values // scale)
                depth = _depth(whole) if whole.dtype == object else np.searchsorted(_POWERS, whole)
                return column(depth, inside.missing)
            case a.Exponential(base=base, exponent=exponent):
                power, _ = self._ratio(exponent)
                kind = _kind(base**power.bound)
                raised = np.full(self._length, base, kind) ** _wide(power.values, kind)
                return column(raised, power.missing)
            case a.Floor():
                return self._divided(*atom.parts)
            case a.CommonDivisor():
                (left, _), (right, _) = map(self._ratio, atom.parts)
                kind = _kind(max(left.bound, right.bound))
                divisors = np.gcd(_wide(left.values, kind), _wide(right.values, kind))
                return column(divisors, _either(left.missing, right.missing))
            case _:
                raise AssertionError(f"`{atom.key}` is not plain")

    def _divided(self, above: Poly, below: Poly) -> Column:
        """The floor of a quotient."""
        (top, over), (bottom, under) = self._ratio(above), self._ratio(below)
        kind = _kind(max(max(1, top.bound) * under, max(1, bottom.bound) * over))
        divisor = _wide(bottom.values, kind) * over
        none = divisor == 0
        missing = _either(top.missing, bottom.missing, none if none.any() else None)
        return column(_wide(top.values, kind) * under // np.where(none, 1, divisor), missing)


def over_one_line(value: Poly) -> tuple[Poly, Poly]:
    """An expression as a quotient of two without negative powers, as n + m/L is (n*L + m)/L."""
    lowest: dict[Atom, int] = {}
    for monomial in value.terms:
        for atom, power in monomial:
            lowest[atom] = min(lowest.get(atom, 0), power)
    below = {atom: -power for atom, power in lowest.items() if power < 0}
    terms = {}
    for monomial, coefficient in value.terms.items():
        powers = dict(monomial)
        raised = {atom: powers.get(atom, 0) + more for atom, more in below.items()}
        left = ((atom, power) for atom, power in {**powers, **raised}.items() if power)
        terms[tuple(sorted(left, key=lambda pair: pair[0].key))] = coefficient
    order = tuple(sorted(below.items(), key=lambda pair: pair[0].key))
    return Poly(terms), Poly({order: fmpq(1)})


def without_fractions(value: Poly, divided: set[str]) -> Poly:
    """The expression with quotients inside max(0, e) and floors taken out: max(0, e/d) is max(0, e)/d.

    `divided` receives the symbols that are divided by, which have to be above 0 for that.
    """
    total = Poly({})
    for monomial, coefficient in value.terms.items():
        term = Poly({(): coefficient})
        for atom, power in monomial:
            other = _without_fractions(atom, divided)
            term *= Poly({((atom, power),): fmpq(1)}) if other is None or power < 0 else other**power
        total += term
    return total


def _without_fractions(atom: Atom, divided: set[str]) -> Poly | None:
    """An equal expression; None where it is the atom itself."""
    match atom:
        case a.PositivePart():
            above, below = over_one_line(without_fractions(atom.argument, divided))
            divided |= below.names
            scale = lcm(*(int(each.q) for each in above.terms.values()))
            inside = a.PositivePart(above.scaled(fmpq(scale)))
            inverse = {tuple((each, -power) for each, power in key): 1 / number for key, number in below.terms.items()}
            return Poly({((inside, 1),): fmpq(1, scale)}) * Poly(inverse)
        case a.Floor():
            (top, over), (bottom, under) = (over_one_line(without_fractions(each, divided)) for each in atom.parts)
            divided |= over.names | under.names
            return Poly({((a.Floor(top * under, bottom * over), 1),): fmpq(1)})
        case _:
            return None


def is_plain(value: Poly) -> bool:
    """Whether an expression is made of integers by what arrays do: sums, products, max(0, e), floors, binary logs."""
    return all(power > 0 and _is_plain(atom) for monomial in value.terms for atom, power in monomial)


def _is_plain(atom: Atom) -> bool:
    match atom:
        case Symbol():
            return True
        case a.PositivePart():
            whole = all(each.q == 1 for each in atom.argument.terms.values())
            return whole and is_plain(atom.argument)
        case a.Floor() | a.CeilLog2():
            return all(map(is_plain, atom.parts))
        case a.Exponential(exponent=exponent):
            # Powers of rounded logarithms, whose exponents are small and not below 0.
            logarithms = all(len(each) < 2 and all(_is_log(*factor) for factor in each) for each in exponent.terms)
            return logarithms and all(each > 0 and each.q == 1 for each in exponent.terms.values())
        case a.CommonDivisor():
            whole = all(each.q == 1 for part in atom.parts for each in part.terms.values())
            return whole and all(map(is_plain, atom.parts))
        case _:
            return False


def _is_log(atom: Atom, power: int) -> bool:
    return power == 1 and isinstance(atom, a.CeilLog2) and _is_plain(atom)


def _kind(bound: int) -> np.dtype[Any]:
    """The kind of numbers that hold a magnitude."""
    return _SHORT if bound <= LARGEST else _LONG


def _wide(values: Integers, kind: np.dtype[Any]) -> Integers:
    """The values as numbers of a kind."""
    return values if values.dtype == kind else values.astype(kind)


def _either(*marks: Marks | None) -> Marks | None:
    """The points that any of them marks."""
    found: Marks | None = None
    for each in marks:
        if each is not None:
            found = each if found is None else found | each
    return found


Array = npt.NDArray[np.float64]
Points = Mapping[str, Array]


def as_float(number: fmpq | int) -> float:
    """The nearest number in floating point. Raises OverflowError."""
    if isinstance(number, int):
        return float(number)
    return int(number.p) / int(number.q)


def values(value: Poly, points: Points) -> Array:
    """The value at every point; NaN where it has none."""
    count = len(next(iter(points.values())))
    cache: dict[Atom, Array] = {}

    def evaluated(poly: Poly) -> Array:
        total = np.zeros(count)
        for monomial, coefficient in poly.terms.items():
            term = np.full(count, as_float(coefficient))
            for each, power in monomial:
                if each not in cache:
                    cache[each] = atom(each)
                term = term * cache[each] ** float(power)
            total = total + term
        return total

    def atom(each: Atom) -> Array:
        match each:
            case Symbol():
                return points[each.name]
            case a.PositivePart():
                return np.maximum(evaluated(each.argument), 0.0)
            case a.Floor():
                return np.floor((evaluated(each.argument) + 1e-9) / evaluated(each.modulus))
            case a.Quotient():
                return evaluated(each.argument) / evaluated(each.divisor)
            case a.CeilLog2():
                return np.ceil(np.log2(np.maximum(evaluated(each.argument), 1.0)) - 1e-12)
            case a.Exponential():
                return float(each.base) ** evaluated(each.exponent)
            case a.RealFunction(function="log2"):
                return np.log2(evaluated(each.argument))
            case a.RealFunction(function="sqrt"):
                return np.sqrt(evaluated(each.argument))
            case a.RealFunction():
                return np.floor(np.sqrt(evaluated(each.argument)) + 1e-12)
            case _:
                return np.full(count, np.nan)

    with np.errstate(all="ignore"):
        return evaluated(value)
