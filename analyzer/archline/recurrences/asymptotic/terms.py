"""Terms c*n^a*log2(n)^k*log2(log2(n))^j*... times powers of symbols, and how they are ordered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cmp_to_key
from itertools import zip_longest

from archline.algebra.evaluate.formulas import exact_root
from archline.algebra.reals import NOTHING, UNITY, Constant, OutOfReachError
from archline.numbers import arb, fmpq
from archline.records import record, replace

_NOUGHT = fmpq(0)
_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61)


def log_ratio(of: fmpq, to: fmpq) -> Constant:
    """log(of)/log(to) for positive rationals, to not 1."""
    (of, up), (to, down) = primitive(of), primitive(to)
    if of == to:
        return Constant(fmpq(up, down))
    return (Constant(of).log2() / Constant(to).log2()).scaled(fmpq(up, down))


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


def power_of(base: fmpq, exponent: Constant) -> fmpq | None:
    """base^exponent for a positive base, where it is rational."""
    root, up = primitive(base)
    return (Constant(root).log2() * exponent.scaled(up)).exp2()


Powers = tuple[Constant, ...]
Symbols = tuple[tuple[str, fmpq], ...]


@record
class GrowthTerm:
    """One term: `powers` are those of the size n, of log2(n), of log2(log2(n)) and so on, the last of them not 0.

    `exact` is False where it stands for a function of the same growth, its coefficient for any other.
    """

    coefficient: fmpq
    powers: Powers = ()
    symbols: Symbols = ()
    exact: bool = True

    @property
    def kind(self) -> tuple[Powers, Symbols]:
        """The term without its coefficient."""
        return self.powers, self.symbols

    @property
    def power(self) -> Constant:
        """That of the size."""
        return self.at(0)

    def at(self, place: int) -> Constant:
        """The power of the size, of its logarithm, and so on."""
        return self.powers[place] if place < len(self.powers) else NOTHING

    @property
    def is_constant(self) -> bool:
        """Whether it is a number."""
        return not self.varies and not self.symbols

    @property
    def varies(self) -> bool:
        """Whether the size is in it."""
        return bool(self.powers)

    def with_powers(self, powers: Iterable[Constant]) -> GrowthTerm:
        """The term with other powers."""
        return replace(self, powers=trimmed(powers))

    def times(self, other: GrowthTerm) -> GrowthTerm:
        """The product."""
        return GrowthTerm(
            self.coefficient * other.coefficient,
            trimmed(a + b for a, b in zip_longest(self.powers, other.powers, fillvalue=NOTHING)),
            _product(self.symbols, other.symbols),
            self.exact and other.exact,
        )

    def to_the(self, exponent: fmpq) -> GrowthTerm:
        """A rational power of a term with a positive coefficient, or an integer one of any."""
        coefficient, exact = _coefficient_power(self.coefficient, exponent)
        return GrowthTerm(
            coefficient,
            trimmed(each.scaled(exponent) for each in self.powers),
            tuple((name, power * exponent) for name, power in self.symbols) if exponent else (),
            self.exact and exact,
        )


def trimmed(powers: Iterable[Constant]) -> Powers:
    """Powers without those at the end that are 0."""
    found = list(powers)
    while found and not found[-1]:
        found.pop()
    return tuple(found)


def power(place: int, exponent: Constant = UNITY) -> Powers:
    """A power of the size (place 0), of its logarithm (1), and so on."""
    return trimmed([NOTHING] * place + [exponent])


def _product(left: Symbols, right: Symbols) -> Symbols:
    if not left or not right:
        return left or right
    powers = dict(left)
    for name, each in right:
        powers[name] = powers.get(name, _NOUGHT) + each
    return tuple(sorted((name, each) for name, each in powers.items() if each))


def _coefficient_power(value: fmpq, exponent: fmpq) -> tuple[fmpq, bool]:
    """The power, and whether it is that number rather than another one of the same sign."""
    if exponent.q == 1 and abs(exponent.p) <= 1000:
        if value == 0 and exponent < 0:
            raise OutOfReachError("division by zero")
        return value ** int(exponent.p), True
    if value <= 0:
        raise OutOfReachError("a root of something that is not positive")
    return (fmpq(1), value == 1)


def collect_terms(terms: Iterable[GrowthTerm]) -> tuple[GrowthTerm, ...]:
    """The terms with those of a kind added, in the order of their first."""
    found: dict[object, GrowthTerm] = {}
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


def multiply_terms(left: tuple[GrowthTerm, ...], right: tuple[GrowthTerm, ...]) -> tuple[GrowthTerm, ...]:
    """The product of two sums."""
    if len(left) * len(right) > 400:
        raise OutOfReachError("the products in it have too many terms")
    return collect_terms(a.times(b) for a in left for b in right)


def compare_growth(left: GrowthTerm, right: GrowthTerm) -> int:
    """1, 0 or -1 as left grows faster than right in the size, alike, or slower; their symbols do not count."""
    pairs = zip_longest(left.powers, right.powers, fillvalue=NOTHING)
    return next((sign for a, b in pairs if (sign := (a - b).sign())), 0)


def dominates(great: GrowthTerm, small: GrowthTerm) -> bool:
    """Whether a constant times `great` is above `small` for all sizes and symbols from 1 on."""
    if compare_growth(great, small) < 0:
        return False
    if great.symbols == small.symbols:
        return True
    powers = dict(great.symbols)
    lesser = dict(small.symbols)
    return all(powers.get(name, _NOUGHT) >= lesser.get(name, _NOUGHT) for name in {*powers, *lesser})


def leading_terms(terms: Iterable[GrowthTerm]) -> tuple[GrowthTerm, ...]:
    """The terms that no other one dominates, with coefficient 1, the fastest in the size first."""
    kept: list[GrowthTerm] = []
    for term in terms:
        if not any(dominates(each, term) for each in kept):
            kept = [each for each in kept if not dominates(term, each)]
            kept.append(replace(term, coefficient=fmpq(1)))
    return tuple(sorted(kept, key=cmp_to_key(compare_growth), reverse=True))


def nonnegative_from(terms: tuple[GrowthTerm, ...], least: fmpq) -> bool:
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
            ratio = _ratio_bound(term, each, least) if needed else None
            if ratio is not None:
                share = min(needed, room[at] / ratio)
                needed, room[at] = needed - share, room[at] - share * ratio
        if needed:
            return False
    return True


def _ratio_bound(small: GrowthTerm, great: GrowthTerm, least: fmpq) -> fmpq | None:
    """A number that small/great without coefficients does not pass from `least` on, where it falls."""
    if small.symbols != great.symbols:
        return None
    gaps = [a - b for a, b in zip_longest(small.powers, great.powers, fillvalue=NOTHING)]
    if any(gap.sign() > 0 for gap in gaps):
        return None
    if not any(gaps[1:]) and (least == 1 or not any(gaps)):
        return fmpq(1)
    ratio = arb(1)
    for gap, value in zip(gaps, _logarithms(arb(least)), strict=False):
        ratio *= value ** gap.enclosure()
    return fmpq(ratio.upper().fmpq())


def _logarithms(value: arb) -> Iterator[arb]:
    """A size, its logarithm, and so on, with log2(w) as log2(2 + w)."""
    while True:
        yield value
        value = (value + 2).log() / arb.const_log2()
