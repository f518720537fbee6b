"""Systems x(n) = M*x(r*n) + f(n) with a nonnegative matrix in which all functions lead to each other."""

from __future__ import annotations

from archline.algebra.asymptotic.constants import OutOfReachError, sign_of
from archline.numbers import arb, fmpq, fmpq_mat, fmpq_poly
from archline.recurrences.asymptotic.akra_bazzi import bisected, nine_digits
from archline.recurrences.asymptotic.arithmetic import EXACT, NoValueError
from archline.recurrences.asymptotic.exponents import Exponent, Root, log_ratio

_BITS = 48


class Spectrum:
    """The spectral radius of an irreducible nonnegative matrix, and the exponent log(radius)/log(1/r)."""

    def __init__(self, rows: list[list[fmpq]], share: fmpq) -> None:
        self._matrix = fmpq_mat(rows)
        self._factor = 1 / share
        self._polynomial: fmpq_poly = self._matrix.charpoly()
        self.exponent = self._exponent(max(sum(row, fmpq(0)) for row in rows))

    def _exponent(self, above: fmpq) -> Exponent:
        for factor, _ in (self._polynomial * self._polynomial.denom()).numer().factor()[1]:
            if factor.degree() == 1 and self._is_radius(fmpq(-factor[0], factor[1])):
                return log_ratio(fmpq(-factor[0], factor[1]), self._factor)
        # To the right of all roots the polynomial is positive; to its left, down to the next, negative: Perron's root
        # is simple.
        lo, hi = fmpq(0), above + 1
        for _ in range(_BITS + int(above.p).bit_length()):
            middle = (lo + hi) / 2
            lo, hi = (lo, middle) if self._is_above(middle) else (middle, hi)

        def enclose() -> arb:
            root = bisected(self._below, lo, hi)
            return root.log() / arb(self._factor).log()

        near = float(enclose().mid())
        return Exponent(fmpq(0), root=Root(nine_digits(near), enclose))

    def _below(self, x: arb) -> arb:
        """The characteristic polynomial with its sign changed."""
        total = arb(0)
        for coefficient in reversed(self._polynomial.coeffs()):
            total = total * x + arb(coefficient)
        return -total

    def _is_above(self, value: fmpq) -> bool:
        """Whether a number is above the radius: value*I - M is then a matrix with positive leading minors."""
        return all(minor > 0 for minor in self._minors(value))

    def _is_radius(self, value: fmpq) -> bool:
        *leading, last = self._minors(value)
        return last == 0 and all(minor > 0 for minor in leading)

    def _minors(self, value: fmpq) -> list[fmpq]:
        size = self._matrix.nrows()
        rows = [[(value if i == j else fmpq(0)) - self._matrix[i, j] for j in range(size)] for i in range(size)]
        return [fmpq_mat([row[:count] for row in rows[:count]]).det() for count in range(1, size + 1)]

    def excess(self, at: Exponent) -> int:
        """The sign of the exponent minus another. Raises OutOfReachError where it cannot be told."""
        try:
            value = fmpq(EXACT.power(self._factor, at.rational)) if at.is_rational else None
        except NoValueError:
            value = None
        if value is not None:
            return -1 if self._is_above(value) else 0 if self._is_radius(value) else 1
        sign = sign_of(lambda: self.exponent.ball() - at.ball())
        if sign is None:
            raise OutOfReachError(f"whether the exponent of the recurrence is {at.text()} is not decided")
        return sign
