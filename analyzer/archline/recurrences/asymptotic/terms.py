"""Log-exp-power terms c*n^a*log2(n)^k*log2(log2(n))^j times powers of symbols, and how they are ordered.

Exponents are rationals, q + r*log(a)/log(b) for rationals, and enclosed roots; all are compared exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cmp_to_key

from archline.algebra.reals import OutOfReachError, sign_of
from archline.numbers import arb, fmpq
from archline.records import field, record, replace
from archline.recurrences.asymptotic.arithmetic import EXACT, NoValueError, exact_root

_NOUGHT, _UNIT, _TWO = fmpq(0), fmpq(1), fmpq(2)
_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61)


@record
class Root:
    """A number known by enclosures: `text` has its leading digits, `enclose` a ball of the current precision."""

    text: str
    enclose: Callable[[], arb] = field(compare=False)


@record
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

    def power_of(self, base: fmpq) -> fmpq | None:
        """base^self for a positive base, where it is rational."""
        if self.root is not None:
            return None
        root, up = primitive(base)
        try:
            plain = fmpq(EXACT.power(base, self.rational))
            if self.factor == 0 or base == 1:
                return plain
            # base = root^u, so that base^(r*log(of)/log(root)) = of^(r*u).
            return fmpq(plain * EXACT.power(self.of, self.factor * up)) if root == self.to else None
        except NoValueError:
            return None

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
        whole = int(of.p).bit_length() - 1
        if of == 2**whole:
            parts = str(factor.p * whole)
        else:
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


Symbols = tuple[tuple[str, fmpq], ...]


@record
class Term:
    """One term. `exact` is False where it stands for a function of the same growth, its coefficient for any other."""

    coefficient: fmpq
    power: Exponent = ZERO
    log: Exponent = ZERO
    loglog: fmpq = _NOUGHT
    symbols: Symbols = ()
    exact: bool = True

    @property
    def kind(self) -> tuple[Exponent, Exponent, fmpq, Symbols]:
        """The term without its coefficient."""
        return self.power, self.log, self.loglog, self.symbols

    @property
    def is_constant(self) -> bool:
        """Whether it is a number."""
        return not self.varies and not self.symbols

    @property
    def varies(self) -> bool:
        """Whether the size is in it."""
        return not self.power.is_zero or not self.log.is_zero or self.loglog != 0

    def times(self, other: Term) -> Term:
        """The product."""
        return Term(
            self.coefficient * other.coefficient,
            self.power.plus(other.power),
            self.log.plus(other.log),
            self.loglog + other.loglog,
            _product(self.symbols, other.symbols),
            self.exact and other.exact,
        )

    def to_the(self, exponent: fmpq) -> Term:
        """A rational power of a term with a positive coefficient, or an integer one of any."""
        coefficient, exact = _coefficient_power(self.coefficient, exponent)
        return Term(
            coefficient,
            self.power.times(exponent),
            self.log.times(exponent),
            self.loglog * exponent,
            tuple((name, power * exponent) for name, power in self.symbols) if exponent else (),
            self.exact and exact,
        )


def _product(left: Symbols, right: Symbols) -> Symbols:
    if not left or not right:
        return left or right
    powers = dict(left)
    for name, power in right:
        powers[name] = powers.get(name, _NOUGHT) + power
    return tuple(sorted((name, power) for name, power in powers.items() if power))


def _coefficient_power(value: fmpq, exponent: fmpq) -> tuple[fmpq, bool]:
    """The power, and whether it is that number rather than another one of the same sign."""
    if exponent.q == 1 and abs(exponent.p) <= 1000:
        if value == 0 and exponent < 0:
            raise OutOfReachError("division by zero")
        return value ** int(exponent.p), True
    if value <= 0:
        raise OutOfReachError("a root of something that is not positive")
    return (fmpq(1), value == 1)


def summed(terms: Iterable[Term]) -> tuple[Term, ...]:
    """The terms with those of a kind added, in the order of their first."""
    found: dict[object, Term] = {}
    for term in terms:
        before = found.get(term.kind)
        if before is None:
            found[term.kind] = term
        elif (not term.exact or not before.exact) and (term.coefficient > 0) != (before.coefficient > 0):
            raise OutOfReachError("a difference of terms that grow alike")
        else:
            exact = before.exact and term.exact
            found[term.kind] = replace(before, coefficient=before.coefficient + term.coefficient, exact=exact)
    return tuple(term for term in found.values() if term.coefficient)


def multiplied(left: tuple[Term, ...], right: tuple[Term, ...]) -> tuple[Term, ...]:
    """The product of two sums."""
    if len(left) * len(right) > 400:
        raise OutOfReachError("the products in it have too many terms")
    return summed(a.times(b) for a in left for b in right)


def order(left: Term, right: Term) -> int:
    """1, 0 or -1 as left grows faster than right in the size, alike, or slower; their symbols do not count."""
    sign = compare(left.power, right.power) or compare(left.log, right.log)
    if sign or left.loglog == right.loglog:
        return sign
    return 1 if left.loglog > right.loglog else -1


def dominates(great: Term, small: Term) -> bool:
    """Whether a constant times `great` is above `small` for all sizes and symbols from 1 on."""
    if order(great, small) < 0:
        return False
    if great.symbols == small.symbols:
        return True
    powers = dict(great.symbols)
    lesser = dict(small.symbols)
    return all(powers.get(name, _NOUGHT) >= lesser.get(name, _NOUGHT) for name in {*powers, *lesser})


def leading(terms: Iterable[Term]) -> tuple[Term, ...]:
    """The terms that no other one dominates, with coefficient 1, the fastest in the size first."""
    kept: list[Term] = []
    for term in terms:
        if not any(dominates(each, term) for each in kept):
            kept = [each for each in kept if not dominates(term, each)]
            kept.append(replace(term, coefficient=fmpq(1)))
    return tuple(sorted(kept, key=cmp_to_key(order), reverse=True))


def nonnegative_from(terms: tuple[Term, ...], least: fmpq) -> bool:
    """Whether the sum is seen to be at least 0 for all sizes from `least` on, each minus covered by a plus.

    A term that grows at least as fast, and a share of whose coefficient suffices at `least`, suffices beyond.
    """
    great = [term for term in terms if term.coefficient > 0 and term.exact]
    room = [term.coefficient for term in great]
    for term in terms:
        if term.coefficient > 0:
            continue
        if not term.exact or least <= 0:
            return False
        needed = -term.coefficient
        for at, each in enumerate(great):
            ratio = _ratio(term, each, least) if needed else None
            if ratio is not None:
                share = min(needed, room[at] / ratio)
                needed, room[at] = needed - share, room[at] - share * ratio
        if needed:
            return False
    return True


def _ratio(small: Term, great: Term, least: fmpq) -> fmpq | None:
    """A number that small/great without coefficients does not pass from `least` on, where it falls."""
    if small.symbols != great.symbols:
        return None
    if compare(small.power, great.power) > 0 or compare(small.log, great.log) > 0 or small.loglog > great.loglog:
        return None
    same_logs = small.log == great.log and small.loglog == great.loglog
    if same_logs and (least == 1 or small.power == great.power):
        return fmpq(1)
    size = arb(least)
    log = (size + 2).log() / arb.const_log2()
    loglog = (log + 2).log() / arb.const_log2()
    ratio = size ** (small.power.ball() - great.power.ball()) * log ** (small.log.ball() - great.log.ball())
    ratio *= loglog ** arb(small.loglog - great.loglog)
    return fmpq(ratio.upper().fmpq())
