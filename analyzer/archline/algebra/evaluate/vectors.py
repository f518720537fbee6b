"""Evaluates expressions at many points at once: exactly, in 64-bit integers where these suffice, or in floating point.

Before each operation the bounds of its operands are combined as Python integers, which have no limit; if the result
could need more than 63 bits, the operation is done on Python integers too.
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

MAX_INT64 = 2**63 - 1
Integers: TypeAlias = NDArray[Any]
"""An array of int64, or of integers of Python."""
Marks: TypeAlias = NDArray[np.bool_]
_INT64, _OBJECT = np.dtype(np.int64), np.dtype(object)
_POWERS = 2 ** np.arange(63, dtype=np.int64)
_depth = np.frompyfunc(lambda value: max(0, value - 1).bit_length(), 1, 1)


@record(eq=False)
class Column:
    """An integer for each point, none of a magnitude above `bound`; `missing` marks points without a value."""

    values: Integers
    bound: int
    missing: Marks | None = None


def measure_column(values: Integers, missing: Marks | None = None) -> Column:
    """Return the column of some integers with its bound; missing values become 1, so that products continue."""
    if missing is not None:
        values = np.where(missing, 1, values)
    bound = max(abs(int(values.min())), abs(int(values.max()))) if values.size else 0
    return Column(_as_dtype(values, _dtype_for(bound)), bound, missing)


class TermCache:
    """Caches expressions as sums of terms with integer coefficients over a common denominator, for many `Vectors`."""

    @memoised
    def list_terms(self, value: Poly) -> tuple[list[tuple[int, Monomial]], int]:
        """Return the terms with integer coefficients, and the common denominator of the original coefficients."""
        scale = lcm(*(int(coefficient.q) for coefficient in value.terms.values()))
        return [(int((coefficient * scale).p), monomial) for monomial, coefficient in value.terms.items()], scale

    @memoised
    def clear_fractions(self, value: Poly) -> tuple[Poly | None, Poly, frozenset[str]]:
        """Return numerator, denominator and symbols that must be > 0; no numerator if integer arrays do not suffice."""
        divided: set[str] = set()
        above, below = to_single_quotient(extract_divisors(value, divided))
        divided |= below.names
        both_plain = self.fits_integer_arrays(above) and self.fits_integer_arrays(below)
        return (above if both_plain else None), below, frozenset(divided)

    @memoised
    def fits_integer_arrays(self, value: Poly) -> bool:
        return fits_integer_arrays(value)


class Vectors:
    """The values of expressions at points, given by an array of integers for each name, all of one length.

    Common parts of expressions are computed once.
    """

    def __init__(self, points: Mapping[str, Integers], length: int, sums: TermCache | None = None) -> None:
        self._length = length
        self._points = points
        self._sums = sums or TermCache()

    def has_values_for(self, value: Poly) -> bool:
        """Test whether all symbols of the expression have numbers."""
        return value.names <= self._points.keys()

    def evaluate_floor(self, value: Poly) -> Column:
        if self._sums.fits_integer_arrays(value):
            top, bottom = self._as_ratio(value)
            return top if bottom == 1 else measure_column(top.values // bottom, top.missing)
        above, below, divided = self._sums.clear_fractions(value)
        if above is not None and all((self._points[name] > 0).all() for name in divided):
            return self._floor_quotient(above, below)
        return self._evaluate_point_by_point(value)

    def _evaluate_point_by_point(self, value: Poly) -> Column:
        names = [name for name in self._points if name in value.names]
        compiler = Compiler(names)
        compute = compiler.compile_expression(value)
        rows: Iterable[tuple[int, ...]] = zip(*(self._points[name].tolist() for name in names), strict=True)
        floors, missing = np.ones(self._length, object), np.zeros(self._length, bool)
        for place, row in enumerate(rows if names else [()] * self._length):
            try:
                floors[place] = floor(compute(compiler.make_environment(row)))
            except EvaluationError:
                try:
                    # Products of powers and logarithms may be rational where their factors are not.
                    floors[place] = floor(evaluate(value, dict(zip(names, row, strict=True))))
                except EvaluationError:
                    missing[place] = True
        return measure_column(floors, missing if missing.any() else None)

    def _as_ratio(self, value: Poly) -> tuple[Column, int]:
        """Return the value as integers, one for each point, over a common denominator."""
        parts, scale = self._sums.list_terms(value)
        terms = [(coefficient, self._multiply_factors(monomial)) for coefficient, monomial in parts]
        if len(terms) == 1 and terms[0][0] == 1:
            return terms[0][1], scale
        bound = sum(abs(coefficient) * max(1, product.bound) for coefficient, product in terms)
        kind = _dtype_for(bound)
        total = np.zeros(self._length, kind)
        for coefficient, product in terms:
            if coefficient == 1:
                total += _as_dtype(product.values, kind)
            elif coefficient == -1:
                total -= _as_dtype(product.values, kind)
            else:
                total += coefficient * _as_dtype(product.values, kind)
        missing = _union_marks(*(product.missing for _, product in terms))
        return Column(total, bound, missing) if kind == _INT64 else measure_column(total, missing), scale

    @memoised
    def _multiply_factors(self, monomial: Monomial) -> Column:
        """Return the product; if a factor is 0 (a failed guard), it is 0 even if another factor has no value."""
        if not monomial:
            return Column(np.ones(self._length, np.int64), 1)
        *rest_factors, (atom, power) = monomial
        if power > 1:
            rest_factors.append((atom, power - 1))
        last = self._evaluate_atom(atom)
        if not rest_factors:
            return last
        rest = self._multiply_factors(tuple(rest_factors))
        kind = _dtype_for(max(1, rest.bound) * max(1, last.bound))
        values = _as_dtype(rest.values, kind) * _as_dtype(last.values, kind)
        missing = _union_marks(rest.missing, last.missing)
        return measure_column(values, None if missing is None else missing & (values != 0))

    @memoised
    def _evaluate_atom(self, atom: Atom) -> Column:
        match atom:
            case Symbol():
                return measure_column(self._points[atom.name])
            case a.PositivePart():
                inside, _ = self._as_ratio(atom.argument)
                return measure_column(np.maximum(inside.values, 0), inside.missing)
            case a.CeilLog2():
                inside, scale = self._as_ratio(atom.argument)
                whole = -(-inside.values // scale)
                depth = _depth(whole) if whole.dtype == object else np.searchsorted(_POWERS, whole)
                return measure_column(depth, inside.missing)
            case a.Exponential(base=base, exponent=exponent):
                power, _ = self._as_ratio(exponent)
                kind = _dtype_for(base**power.bound)
                raised = np.full(self._length, base, kind) ** _as_dtype(power.values, kind)
                return measure_column(raised, power.missing)
            case a.Floor():
                return self._floor_quotient(*atom.parts)
            case a.CommonDivisor():
                (left, _), (right, _) = map(self._as_ratio, atom.parts)
                kind = _dtype_for(max(left.bound, right.bound))
                divisors = np.gcd(_as_dtype(left.values, kind), _as_dtype(right.values, kind))
                return measure_column(divisors, _union_marks(left.missing, right.missing))
            case _:
                raise AssertionError(f"`{atom.key}` is not plain")

    def _floor_quotient(self, above: Poly, below: Poly) -> Column:
        (top, over), (bottom, under) = self._as_ratio(above), self._as_ratio(below)
        kind = _dtype_for(max(max(1, top.bound) * under, max(1, bottom.bound) * over))
        divisor = _as_dtype(bottom.values, kind) * over
        undefined = divisor == 0
        missing = _union_marks(top.missing, bottom.missing, undefined if undefined.any() else None)
        return measure_column(_as_dtype(top.values, kind) * under // np.where(undefined, 1, divisor), missing)


def to_single_quotient(value: Poly) -> tuple[Poly, Poly]:
    """Return an expression as a quotient of two without negative powers: n + m/L -> (n*L + m)/L."""
    lowest: dict[Atom, int] = {}
    for monomial in value.terms:
        for atom, power in monomial:
            lowest[atom] = min(lowest.get(atom, 0), power)
    below = {atom: -power for atom, power in lowest.items() if power < 0}
    terms = {}
    for monomial, coefficient in value.terms.items():
        powers = dict(monomial)
        raised = {atom: powers.get(atom, 0) + exponent for atom, exponent in below.items()}
        nonzero = ((atom, power) for atom, power in {**powers, **raised}.items() if power)
        terms[tuple(sorted(nonzero, key=lambda pair: pair[0].key))] = coefficient
    order = tuple(sorted(below.items(), key=lambda pair: pair[0].key))
    return Poly(terms), Poly({order: fmpq(1)})


def extract_divisors(value: Poly, divided: set[str]) -> Poly:
    """Take quotients out of max(0, e) and floors: max(0, e/d) -> max(0, e)/d.

    `divided` receives the symbols of divisors, which must be positive for that.
    """
    total = Poly({})
    for monomial, coefficient in value.terms.items():
        term = Poly({(): coefficient})
        for atom, power in monomial:
            replacement = _extract_atom_divisors(atom, divided)
            term *= Poly({((atom, power),): fmpq(1)}) if replacement is None or power < 0 else replacement**power
        total += term
    return total


def _extract_atom_divisors(atom: Atom, divided: set[str]) -> Poly | None:
    """Return the atom with quotients taken out, as in `extract_divisors`; None unless it is max(0, e) or a floor."""
    match atom:
        case a.PositivePart():
            above, below = to_single_quotient(extract_divisors(atom.argument, divided))
            divided |= below.names
            scale = lcm(*(int(coefficient.q) for coefficient in above.terms.values()))
            inside = a.PositivePart(above.scaled(fmpq(scale)))
            inverse = {tuple((base, -power) for base, power in key): 1 / number for key, number in below.terms.items()}
            return Poly({((inside, 1),): fmpq(1, scale)}) * Poly(inverse)
        case a.Floor():
            (top, over), (bottom, under) = (to_single_quotient(extract_divisors(part, divided)) for part in atom.parts)
            divided |= over.names | under.names
            return Poly({((a.Floor(top * under, bottom * over), 1),): fmpq(1)})
        case _:
            return None


def fits_integer_arrays(value: Poly) -> bool:
    """Test whether arrays of integers suffice: sums, products, max(0, e), floors, rounded binary logarithms."""
    return all(power > 0 and _atom_fits_integer_arrays(atom) for monomial in value.terms for atom, power in monomial)


def _atom_fits_integer_arrays(atom: Atom) -> bool:
    match atom:
        case Symbol():
            return True
        case a.PositivePart():
            has_integer_coefficients = all(coefficient.q == 1 for coefficient in atom.argument.terms.values())
            return has_integer_coefficients and fits_integer_arrays(atom.argument)
        case a.Floor() | a.CeilLog2():
            return all(map(fits_integer_arrays, atom.parts))
        case a.Exponential(exponent=exponent):
            # Powers of rounded logarithms, whose exponents are small and nonnegative.
            logarithms = all(
                len(term) < 2 and all(_is_rounded_logarithm(*factor) for factor in term) for term in exponent.terms
            )
            return logarithms and all(coefficient > 0 and coefficient.q == 1 for coefficient in exponent.terms.values())
        case a.CommonDivisor():
            has_integer_coefficients = all(
                coefficient.q == 1 for part in atom.parts for coefficient in part.terms.values()
            )
            return has_integer_coefficients and all(map(fits_integer_arrays, atom.parts))
        case _:
            return False


def _is_rounded_logarithm(atom: Atom, power: int) -> bool:
    return power == 1 and isinstance(atom, a.CeilLog2) and _atom_fits_integer_arrays(atom)


def _dtype_for(bound: int) -> np.dtype[Any]:
    return _INT64 if bound <= MAX_INT64 else _OBJECT


def _as_dtype(values: Integers, kind: np.dtype[Any]) -> Integers:
    return values if values.dtype == kind else values.astype(kind)


def _union_marks(*marks: Marks | None) -> Marks | None:
    union: Marks | None = None
    for mark in marks:
        if mark is not None:
            union = mark if union is None else union | mark
    return union


Array = npt.NDArray[np.float64]
Points = Mapping[str, Array]


def as_float(number: fmpq | int) -> float:
    """Return the nearest floating-point number. Raises OverflowError."""
    if isinstance(number, int):
        return float(number)
    return int(number.p) / int(number.q)


def evaluate_at_points(value: Poly, points: Points) -> Array:
    """Return the floating-point value at every point; NaN where there is none."""
    count = len(next(iter(points.values())))
    cache: dict[Atom, Array] = {}

    def evaluate_poly(poly: Poly) -> Array:
        total = np.zeros(count)
        for monomial, coefficient in poly.terms.items():
            term = np.full(count, as_float(coefficient))
            for atom, power in monomial:
                if atom not in cache:
                    cache[atom] = evaluate_atom(atom)
                term = term * cache[atom] ** float(power)
            total = total + term
        return total

    def evaluate_atom(atom: Atom) -> Array:
        match atom:
            case Symbol():
                return points[atom.name]
            case a.PositivePart():
                return np.maximum(evaluate_poly(atom.argument), 0.0)
            case a.Floor():
                return np.floor((evaluate_poly(atom.argument) + 1e-9) / evaluate_poly(atom.modulus))
            case a.Quotient():
                return evaluate_poly(atom.argument) / evaluate_poly(atom.divisor)
            case a.CeilLog2():
                return np.ceil(np.log2(np.maximum(evaluate_poly(atom.argument), 1.0)) - 1e-12)
            case a.Sequence(name="ceil_log", parts=(argument, base)):
                logarithm = np.log(np.maximum(evaluate_poly(argument), 1.0)) / np.log(evaluate_poly(base))
                return np.ceil(logarithm - 1e-12)
            case a.Exponential():
                return float(atom.base) ** evaluate_poly(atom.exponent)
            case a.RealFunction(function="log2"):
                return np.log2(evaluate_poly(atom.argument))
            case a.RealFunction(function="sqrt"):
                return np.sqrt(evaluate_poly(atom.argument))
            case a.RealFunction():
                return np.floor(np.sqrt(evaluate_poly(atom.argument)) + 1e-12)
            case _:
                return np.full(count, np.nan)

    with np.errstate(all="ignore"):
        return evaluate_poly(value)
