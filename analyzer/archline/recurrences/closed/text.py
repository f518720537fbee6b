"""Exact solutions in a counter k written in the size that the counter stands for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

from archline.numbers import fmpq
from archline.recurrences.asymptotic.exponents import Exponent, log_ratio, rational
from archline.recurrences.asymptotic.text import Factors
from archline.recurrences.closed.c_finite import ClosedTerm

Sums = list[tuple[fmpq, Factors]]
_TWO = fmpq(2)


@dataclass(frozen=True)
class Clock:
    """Quantities start*factor^k, written `size`; calls are a*T[k - e]. `shift` is log(start)/log(factor) if integer."""

    size: str
    start: fmpq
    factor: fmpq
    calls: tuple[tuple[fmpq, int], ...]
    shift: int | None

    @property
    def relative(self) -> str:
        """What is factor^k, or factor^(k + shift)."""
        return self.size if self.shift is not None else f"({self.size}/{self.start})"

    @property
    def log(self) -> str:
        """Its logarithm."""
        return f"log2({self.size})" if self.shift is not None else f"log2({self.size}/{self.start})"

    @property
    def bits(self) -> Exponent:
        """log2(factor)."""
        return log_ratio(self.factor, _TWO)

    def counter(self, more: int) -> str:
        """The counter k plus a number."""
        bits = self.bits
        if bits.is_rational:
            text = self.log if bits.rational == 1 else f"{self.log}/{bits.rational}"
        else:
            text = f"{self.log}/log2({self.factor})"
        more -= self.shift or 0
        return f"{text} {'+' if more > 0 else '-'} {abs(more)}" if more else text


def written(clock: Clock, pieces: Sequence[ClosedTerm], logs: int, named: Factors) -> Sums:
    """The pieces times log2(factor)^logs and the named factors."""
    found: Sums = []
    for piece in pieces:
        if piece.ratio is None:
            factor = (f"fibonacci({clock.counter(piece.shift)})", rational(1))
            found.append((piece.coefficient, [*named, factor, *_bits(clock, logs)]))
        else:
            found += _powers(clock, piece, piece.ratio, logs, named)
    return found


def _powers(clock: Clock, piece: ClosedTerm, ratio: fmpq, logs: int, named: Factors) -> Sums:
    """c*k^i*r^k with k = l - s for l = log_b: c*r^-s*r^l * sum of binomial(i, j)*l^j*(-s)^(i - j)."""
    s = clock.shift or 0
    sign: Factors = [(f"(-1)^({clock.counter(s)})", rational(1))] if ratio < 0 else []
    found: Sums = []
    for j in range(piece.power + 1):
        coefficient = piece.coefficient * ratio**-s * comb(piece.power, j) * fmpq(-s) ** (piece.power - j)
        if coefficient:
            exponent = log_ratio(abs(ratio), clock.factor)
            factors = [*named, *_relative(clock, exponent), (clock.log, rational(j)), *sign]
            found.append((coefficient, [*factors, *_bits(clock, logs - j)]))
    return [_with_numbers(clock, each) for each in found]


def _relative(clock: Clock, exponent: Exponent) -> Factors:
    if clock.shift is None and exponent.is_rational and exponent.rational.q == 1:
        return [(clock.size, exponent), (str(clock.start), exponent.times(fmpq(-1)))]
    return [(clock.relative, exponent)]


def _bits(clock: Clock, power: int) -> Factors:
    bits = clock.bits
    base = str(bits.rational) if bits.is_rational else f"log2({clock.factor})"
    return [(base, rational(power))]


def _with_numbers(clock: Clock, term: tuple[fmpq, Factors]) -> tuple[fmpq, Factors]:
    """The factors that are integer powers of numbers taken into the coefficient."""
    coefficient, factors = term
    kept: Factors = []
    for base, exponent in factors:
        if base.replace("/", "").isdigit() and exponent.is_rational and exponent.rational.q == 1:
            top, _, bottom = base.partition("/")
            coefficient *= fmpq(int(top), int(bottom or "1")) ** int(exponent.rational.p)
        else:
            kept.append((base, exponent))
    return coefficient, kept


def merged(found: Sums, first: Sequence[str]) -> Sums:
    """Like products added, those with the highest powers of what is named `first` before the others."""
    sums: dict[tuple[tuple[str, Exponent], ...], fmpq] = {}
    for coefficient, factors in found:
        key = tuple(pair for pair in factors if not pair[1].is_zero)
        sums[key] = sums.get(key, fmpq(0)) + coefficient

    def rank(key: tuple[tuple[str, Exponent], ...]) -> list[float]:
        powers = dict(key)
        return [-float(powers[name].ball()) if name in powers else 0.0 for name in first]

    return [(sums[key], list(key)) for key in sorted(sums, key=rank) if sums[key]]
