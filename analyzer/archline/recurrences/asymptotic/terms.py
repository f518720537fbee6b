"""Represent the terms c*n!^f*b^n*n^a*log2(n)^k*log2(log2(n))^j*... times powers of symbols; compare their growth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cmp_to_key
from itertools import zip_longest

from archline.algebra.evaluate.formulas import exact_root
from archline.algebra.reals import ONE_CONSTANT, ZERO_CONSTANT, Constant, OutOfReachError
from archline.numbers import arb, fmpq
from archline.records import record, replace

_ZERO = fmpq(0)
_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61)


def compute_exact_logarithm(value: fmpq, base: fmpq) -> Constant:
    """Return the logarithm of a positive rational to a positive rational base other than 1."""
    (value, up), (base, down) = split_perfect_power(value), split_perfect_power(base)
    if value == base:
        return Constant(fmpq(up, down))
    return (Constant(value).log2() / Constant(base).log2()).scaled(fmpq(up, down))


def split_perfect_power(value: fmpq) -> tuple[fmpq, int]:
    """Return (c, k) with value = c^k, where c >= 1 is not a perfect power."""
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


def compute_rational_power(base: fmpq, exponent: Constant) -> fmpq | None:
    """Return base^exponent for a positive base if it is rational, else None."""
    root, up = split_perfect_power(base)
    return (Constant(root).log2() * exponent.scaled(up)).exp2()


Powers = tuple[Constant, ...]
Symbols = tuple[tuple[str, fmpq], ...]


@record
class GrowthTerm:
    """A product of a coefficient, powers of n, log2(n), log2(log2(n)) and so on (`powers`), and powers of symbols.

    `steep` are the powers of n! and 2^n. The last entries of `powers` and `steep` are not 0. If `exact` is false, the
    term stands for any function of the same growth, and its coefficient for any number of the same sign.
    """

    coefficient: fmpq
    powers: Powers = ()
    symbols: Symbols = ()
    exact: bool = True
    steep: Powers = ()

    @property
    def kind(self) -> tuple[Powers, Symbols, Powers]:
        """The powers and symbols: the term without its coefficient."""
        return self.powers, self.symbols, self.steep

    @property
    def power(self) -> Constant:
        """The power of the size."""
        return self.get_power(0)

    def get_power(self, log_depth: int) -> Constant:
        """Return the power of the size (`log_depth` 0), of its logarithm (1), of log2(log2(n)) (2), and so on."""
        return self.powers[log_depth] if log_depth < len(self.powers) else ZERO_CONSTANT

    @property
    def is_constant(self) -> bool:
        """Whether the term is a number."""
        return not self.depends_on_size and not self.symbols

    @property
    def depends_on_size(self) -> bool:
        """Whether the term depends on the size."""
        return bool(self.powers) or bool(self.steep)

    @property
    def side(self) -> int:
        """1 if the term grows faster than every polynomial, -1 if it falls faster than every power, else 0."""
        return next((sign for power in self.steep if (sign := power.sign())), 0)

    def with_powers(self, powers: Iterable[Constant], steep: Iterable[Constant] = ()) -> GrowthTerm:
        """Return the term with these powers of the size, its logarithms, n! and 2^n in place of its own."""
        return replace(self, powers=trim_powers(powers), steep=trim_powers(steep))

    def multiply(self, right: GrowthTerm) -> GrowthTerm:
        """Return the product of two terms."""
        return GrowthTerm(
            self.coefficient * right.coefficient,
            add_powers(self.powers, right.powers),
            _multiply_symbols(self.symbols, right.symbols),
            self.exact and right.exact,
            add_powers(self.steep, right.steep),
        )

    def raise_to(self, exponent: fmpq) -> GrowthTerm:
        """Return a rational power of a term with a positive coefficient, or an integer power of any term."""
        coefficient, exact = _compute_coefficient_power(self.coefficient, exponent)
        return GrowthTerm(
            coefficient,
            trim_powers(own_exponent.scaled(exponent) for own_exponent in self.powers),
            tuple((name, power * exponent) for name, power in self.symbols) if exponent else (),
            self.exact and exact,
            trim_powers(own_exponent.scaled(exponent) for own_exponent in self.steep),
        )


def add_powers(left: Powers, right: Powers) -> Powers:
    """Return the powers of a product."""
    return trim_powers(a + b for a, b in zip_longest(left, right, fillvalue=ZERO_CONSTANT))


def trim_powers(powers: Iterable[Constant]) -> Powers:
    """Return powers without zeros at the end."""
    trimmed_powers = list(powers)
    while trimmed_powers and not trimmed_powers[-1]:
        trimmed_powers.pop()
    return tuple(trimmed_powers)


def make_powers(log_depth: int, exponent: Constant = ONE_CONSTANT) -> Powers:
    """Return the powers of a term that is a power of the size (`log_depth` 0), of its logarithm (1), and so on."""
    return trim_powers([ZERO_CONSTANT] * log_depth + [exponent])


def _multiply_symbols(left: Symbols, right: Symbols) -> Symbols:
    if not left or not right:
        return left or right
    powers = dict(left)
    for name, exponent in right:
        powers[name] = powers.get(name, _ZERO) + exponent
    return tuple(sorted((name, exponent) for name, exponent in powers.items() if exponent))


def _compute_coefficient_power(value: fmpq, exponent: fmpq) -> tuple[fmpq, bool]:
    """Return a power of a coefficient, and whether it is exact; 1 stands for any root. Raises OutOfReachError."""
    if exponent.q == 1 and abs(exponent.p) <= 1000:
        if value == 0 and exponent < 0:
            raise OutOfReachError("division by zero")
        return value ** int(exponent.p), True
    if value <= 0:
        raise OutOfReachError("a root of an expression that is not positive")
    return (fmpq(1), value == 1)


def collect_terms(terms: Iterable[GrowthTerm]) -> tuple[GrowthTerm, ...]:
    """Add up the terms of each kind; kinds are in the order of their first terms. Raises OutOfReachError."""
    merged: dict[object, GrowthTerm] = {}
    for term in terms:
        before = merged.get(term.kind)
        if before is None:
            merged[term.kind] = term
        elif (not term.exact or not before.exact) and (term.coefficient > 0) != (before.coefficient > 0):
            raise OutOfReachError("a difference of terms of the same growth")
        else:
            exact = before.exact and term.exact
            merged[term.kind] = replace(before, coefficient=before.coefficient + term.coefficient, exact=exact)
    return tuple(term for term in merged.values() if term.coefficient)


def multiply_terms(left: tuple[GrowthTerm, ...], right: tuple[GrowthTerm, ...]) -> tuple[GrowthTerm, ...]:
    """Return the product of two sums. Raises OutOfReachError if it has too many terms."""
    if len(left) * len(right) > 400:
        raise OutOfReachError("its products have too many terms")
    return collect_terms(a.multiply(b) for a in left for b in right)


def compare_growth(left: GrowthTerm, right: GrowthTerm) -> int:
    """Return 1, 0 or -1 if `left` grows faster in the size than `right`, equally or slower; symbols are ignored."""
    for own, other in ((left.steep, right.steep), (left.powers, right.powers)):
        for a, b in zip_longest(own, other, fillvalue=ZERO_CONSTANT):
            if sign := (a - b).sign():
                return sign
    return 0


def dominates(great: GrowthTerm, small: GrowthTerm) -> bool:
    """Test whether a constant times `great` is above `small` for all sizes and symbols from 1 on."""
    if compare_growth(great, small) < 0:
        return False
    if great.symbols == small.symbols:
        return True
    powers = dict(great.symbols)
    small_powers = dict(small.symbols)
    return all(powers.get(name, _ZERO) >= small_powers.get(name, _ZERO) for name in {*powers, *small_powers})


def find_leading_terms(terms: Iterable[GrowthTerm]) -> tuple[GrowthTerm, ...]:
    """Return the terms that no other term dominates, with coefficient 1, the fastest in the size first."""
    leading: list[GrowthTerm] = []
    for term in terms:
        if not any(dominates(leader, term) for leader in leading):
            leading = [leader for leader in leading if not dominates(term, leader)]
            leading.append(replace(term, coefficient=fmpq(1)))
    return tuple(sort_by_growth(leading))


def sort_by_growth(terms: Iterable[GrowthTerm]) -> list[GrowthTerm]:
    """Return the terms, the fastest in the size first."""
    return sorted(terms, key=cmp_to_key(compare_growth), reverse=True)


def is_nonnegative_from(terms: tuple[GrowthTerm, ...], least: fmpq) -> bool:
    """Test whether positive terms cover all negative ones of a sum, so that it is >= 0 for all sizes from `least` on.

    A positive term covers a negative one if it grows at least as fast and a share of its coefficient suffices at
    `least`. The shares of a positive term add up to at most its coefficient.
    """
    positive_terms = [term for term in terms if term.coefficient > 0 and term.exact]
    remaining = [term.coefficient for term in positive_terms]
    for term in terms:
        if term.coefficient > 0:
            continue
        if not term.exact or least <= 0:
            return False
        needed = -term.coefficient
        for index, positive_term in enumerate(positive_terms):
            ratio = _bound_falling_ratio_above(term, positive_term, least) if needed else None
            if ratio is not None:
                share = min(needed, remaining[index] / ratio)
                needed, remaining[index] = needed - share, remaining[index] - share * ratio
        if needed:
            return False
    return True


def _bound_falling_ratio_above(small: GrowthTerm, great: GrowthTerm, least: fmpq) -> fmpq | None:
    """Return an upper bound of small/great from `least` on, without coefficients; None unless the ratio falls."""
    if small.symbols != great.symbols or small.steep != great.steep:
        return None
    gaps = [a - b for a, b in zip_longest(small.powers, great.powers, fillvalue=ZERO_CONSTANT)]
    if any(gap.sign() > 0 for gap in gaps):
        return None
    if not any(gaps[1:]) and (least == 1 or not any(gaps)):
        return fmpq(1)
    ratio = arb(1)
    for gap, value in zip(gaps, _iterate_logarithms(arb(least)), strict=False):
        ratio *= value ** gap.enclosure()
    return fmpq(ratio.upper().fmpq())


def _iterate_logarithms(value: arb) -> Iterator[arb]:
    """Iterate over a size, its logarithm, the logarithm of that and so on, where log2(w) stands for log2(2 + w)."""
    while True:
        yield value
        value = (value + 2).log() / arb.const_log2()
