"""Closed forms of functions whose sizes shrink by constants, on n = n0 + c*k."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

from archline.numbers import fmpq
from archline.recurrences.asymptotic.arithmetic import exact_root
from archline.recurrences.asymptotic.decrease import strides
from archline.recurrences.asymptotic.exponents import Exponent, rational
from archline.recurrences.asymptotic.initial_values import Bases
from archline.recurrences.asymptotic.normal_form import CallSum
from archline.recurrences.asymptotic.terms import Term
from archline.recurrences.asymptotic.text import Factors, sum_text
from archline.recurrences.closed.c_finite import ClosedTerm, Forcing, solve_sequence
from archline.recurrences.closed.text import Sums


def closed_by_steps(branch: CallSum, bases: Bases, size: str, stride: fmpq) -> tuple[str, str] | None:
    """The closed form and where it holds: integers, or n = n0 + c*k."""
    start = bases.threshold
    values = [(threshold, _number(terms)) for threshold, terms in bases.values]
    if any(value is None for _, value in values) or start.q != 1 or stride.q != 1:
        return None
    harmonic = [term for term in branch.terms if _is_inverse(term)]
    forcing = _forcing([term for term in branch.terms if not _is_inverse(term)], start, stride)
    calls = strides(branch, stride)
    if forcing is None or (harmonic and (calls != ((fmpq(1), 1),) or stride != 1 or start < 0)):
        return None

    def initial(k: int) -> fmpq:
        at = start + stride * k
        return next(value for threshold, value in values if value is not None and at <= threshold)

    pieces = solve_sequence(calls, initial, forcing)
    if pieces is None:
        return None
    found: Sums = []
    for piece in pieces:
        sums = _written(piece, size, start, stride)
        if sums is None:
            return None
        found += sums
    for term in harmonic:
        found.append((term.coefficient, [(f"harmonic({size})", rational(1))]))
        if start > 0:
            found.append((-term.coefficient, [(f"harmonic({start})", rational(1))]))
    return sum_text(_ranked(found, size)), _domain(size, start, stride)


def _number(terms: tuple[Term, ...]) -> fmpq | None:
    if any(not term.is_constant or not term.exact for term in terms):
        return None
    return terms[0].coefficient if terms else fmpq(0)


def _is_inverse(term: Term) -> bool:
    return term.exact and term.kind == Term(fmpq(1), rational(-1)).kind


def _forcing(terms: Sequence[Term], start: fmpq, stride: fmpq) -> Forcing | None:
    """A polynomial in n as one in k = (n - n0)/c."""
    coefficients: list[fmpq] = []
    for term in terms:
        plain = Term(fmpq(1), term.power).kind == term.kind and term.power.is_rational and term.exact
        if not plain or term.power.rational.q != 1 or not 0 <= term.power.rational.p <= 20:
            return None
        power = int(term.power.rational.p)
        coefficients += [fmpq(0)] * (power + 1 - len(coefficients))
        for i in range(power + 1):
            coefficients[i] += term.coefficient * comb(power, i) * stride**i * start ** (power - i)
    return {fmpq(1): coefficients} if coefficients else {}


def _written(piece: ClosedTerm, size: str, start: fmpq, stride: fmpq) -> Sums | None:
    """c*k^i*r^k in n; None where r^(1/c) is irrational."""
    if piece.ratio is None:
        if stride != 1:
            return None
        shift = piece.shift - int(start.p)
        text = size if shift == 0 else f"{size} {'+' if shift > 0 else '-'} {abs(shift)}"
        return [(piece.coefficient, [(f"fibonacci({text})", rational(1))])]
    root = exact_root(abs(piece.ratio), int(stride.p))
    if root is None or (piece.ratio < 0 and stride != 1):
        return None
    base = root if piece.ratio > 0 else -root
    scaled = piece.coefficient * base ** -int(start.p)
    power: Factors = []
    if base != 1:
        text = str(base) if base.q == 1 and base > 0 else f"({base})"
        power = [(f"{text}^{size}", rational(1))]
    found: Sums = []
    for j in range(piece.power + 1):
        coefficient = comb(piece.power, j) * (-start) ** (piece.power - j) / stride**piece.power
        if coefficient:
            found.append((scaled * coefficient, [*power, (size, rational(j))]))
    return found


def _ranked(found: Sums, size: str) -> Sums:
    """Like products added; powers of numbers first, then powers of n from the highest down."""
    sums: dict[tuple[tuple[str, Exponent], ...], fmpq] = {}
    for coefficient, factors in found:
        key = tuple(pair for pair in factors if not pair[1].is_zero)
        sums[key] = sums.get(key, fmpq(0)) + coefficient

    def rank(key: tuple[tuple[str, Exponent], ...]) -> tuple[bool, float]:
        powers = dict(key)
        degree = float(powers[size].ball()) if size in powers else 0.0
        return all(base == size for base in powers), -degree

    return [(sums[key], list(key)) for key in sorted(sums, key=rank) if sums[key]]


def _domain(size: str, start: fmpq, stride: fmpq) -> str:
    if stride == 1:
        return f"integers {size} >= {start}"
    if stride == 2:
        return f"{size} {'odd' if int(start.p) % 2 else 'even'}"
    return f"{size} = {int(start.p) % int(stride.p)} + {stride}*k"
