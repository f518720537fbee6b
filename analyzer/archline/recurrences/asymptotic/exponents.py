"""Exponents of growth: rationals, q + r*log(a)/log(b) for rationals, and enclosed roots; all compared exactly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from archline.algebra.asymptotic.constants import OutOfReachError, sign_of
from archline.numbers import arb, fmpq
from archline.recurrences.asymptotic.arithmetic import exact_root

_NOUGHT, _UNIT, _TWO = fmpq(0), fmpq(1), fmpq(2)
_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61)


@dataclass(frozen=True)
class Root:
    """A number known by enclosures: `text` has its leading digits, `enclose` a ball of the current precision."""

    text: str
    enclose: Callable[[], arb] = field(compare=False)


@dataclass(frozen=True)
class Exponent:
    """`rational + factor*log(of)/log(to)`, or a root. `of` and `to` are above 1, no perfect powers, and not equal."""

    rational: fmpq
    factor: fmpq = _NOUGHT
    of: fmpq = _UNIT
    to: fmpq = _TWO
    root: Root | None = None

    @property
    def is_rational(self) -> bool:
        """Whether nothing irrational is in it."""
        return self.root is None and self.factor == 0

    def ball(self) -> arb:
        """An enclosure at flint's current precision."""
        if self.root is not None:
            return self.root.enclose()
        if self.factor == 0:
            return arb(self.rational)
        return arb(self.rational) + arb(self.factor) * arb(self.of).log() / arb(self.to).log()

    def plus(self, other: Exponent) -> Exponent:
        """The sum. Raises OutOfReachError where it has no such form."""
        if self.is_zero or other.is_zero:
            return other if self.is_zero else self
        if self.root is not None or other.root is not None:
            raise OutOfReachError("two irrational exponents meet in a product")
        if self.factor and other.factor:
            if (self.of, self.to) != (other.of, other.to):
                raise OutOfReachError("two irrational exponents meet in a product")
            return _tidy(self.rational + other.rational, self.factor + other.factor, self.of, self.to)
        ratio = self if self.factor else other
        return _tidy(self.rational + other.rational, ratio.factor, ratio.of, ratio.to)

    def times(self, factor: fmpq) -> Exponent:
        """The multiple by a rational. Raises OutOfReachError where it has no such form."""
        if factor == 1:
            return self
        if self.root is not None:
            if factor == 0:
                return ZERO
            raise OutOfReachError("a power of an irrational power")
        return _tidy(self.rational * factor, self.factor * factor, self.of, self.to)

    @property
    def is_zero(self) -> bool:
        """Whether it is 0."""
        return self.is_rational and self.rational == 0

    def text(self) -> str:
        """The exponent as an expression, with all its digits or nine of them."""
        if self.root is not None:
            return self.root.text
        if self.factor == 0:
            return str(self.rational)
        ratio = self._ratio_text()
        if self.rational == 0:
            return ratio
        if ratio.startswith("-"):
            return f"{self.rational} - {ratio[1:]}"
        return f"{ratio} {'-' if self.rational < 0 else '+'} {abs(self.rational)}"

    def _ratio_text(self) -> str:
        factor, of = abs(self.factor), self.of
        if factor.p > 1 and (of.q == 1 or factor.q > 1) and factor.p <= 64:
            # 2*log2(3)/log2(5) reads better as log2(9)/log2(5).
            of, factor = of ** int(factor.p), fmpq(1, factor.q)
        parts = f"log2({of})" if factor.p == 1 else f"{factor.p}*log2({of})"
        below = [str(factor.q)] if factor.q != 1 else []
        if self.to != 2:
            below.append(f"log2({self.to})")
        divisor = "" if not below else f"/{below[0]}" if len(below) == 1 else f"/({'*'.join(below)})"
        return ("-" if self.factor < 0 else "") + parts + divisor


def _tidy(rational: fmpq, factor: fmpq, of: fmpq, to: fmpq) -> Exponent:
    return Exponent(rational, factor, of, to) if factor else Exponent(rational)


ZERO = Exponent(fmpq(0))
ONE = Exponent(fmpq(1))


def rational(value: fmpq | int) -> Exponent:
    """An exponent that is rational."""
    return Exponent(fmpq(value))


def log_ratio(of: fmpq, to: fmpq) -> Exponent:
    """log(of)/log(to) for positive rationals, to not 1."""
    (of, up), (to, down) = primitive(of), primitive(to)
    if of == 1:
        return ZERO
    if of == to:
        return Exponent(fmpq(up, down))
    return Exponent(fmpq(0), fmpq(up, down), of, to)


def primitive(value: fmpq) -> tuple[fmpq, int]:
    """(c, k) with value = c^k, c >= 1 no perfect power."""
    power = 1
    if value < 1:
        value, power = 1 / value, -1
    if value == 1:
        return value, 1
    bits = int(value.p).bit_length()
    for prime in _PRIMES:
        if prime > bits:
            break
        while (root := exact_root(value, prime)) is not None:
            value, power = root, power * prime
    return value, power


def compare(left: Exponent, right: Exponent) -> int:
    """The sign of left - right. Raises OutOfReachError where it cannot be told."""
    if left == right:
        return 0
    if left.is_rational and right.is_rational:
        return 1 if left.rational > right.rational else -1
    sign = sign_of(lambda: left.ball() - right.ball())
    if sign is None:
        raise OutOfReachError(f"whether {left.text()} and {right.text()} are equal is not decided")
    return sign
