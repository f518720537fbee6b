"""Bounds the terms of sequences by expressions without them, for proofs, bounds of sums and growth."""

from __future__ import annotations

from collections.abc import Callable

from archline.algebra import atoms as a
from archline.algebra.polynomial import ONE, ZERO, Poly
from archline.numbers import fmpq

Ends = tuple[tuple[Poly, ...], tuple[Poly, ...]]
MAX_LEVEL = 4
LOG2_RATIOS = 64
"""The denominator of the rational numbers that enclose logarithms of numbers to the base 2."""


def enclose_sequence(atom: a.Sequence, nonnegative: Callable[[Poly], bool]) -> Ends:
    """Return lower and upper bounds of a term of a sequence; `nonnegative` tests for a sign that is known.

    The first bounds have the same order of growth as the sequence, if there is one.
    """
    match atom.name, atom.parts:
        case "fibonacci", (argument,):
            # fibonacci(5) = 5, but fibonacci(4) = 3.
            return (ZERO, argument - 1), ()
        case "factorial" | "arrangements", (argument,):
            return (ONE, argument), ()
        case "ceil_log", (argument, base):
            return _enclose_logarithm(argument, int(base.constant_term.p), nonnegative)
        case "digit_sum", (argument, base) if nonnegative(argument):
            digits = a.make_sequence_term("ceil_log", argument + 1, base)
            return (ONE if nonnegative(argument - 1) else ZERO,), (digits * (base - 1), argument)
        case "floor_sum", (count, modulus, slope, start) if all(map(nonnegative, (count, slope, start, modulus - 1))):
            unrounded = slope * count * (count - 1) / 2 + start * count
            if len(modulus.terms) > 1:
                return (ZERO,), (unrounded,)
            most = unrounded * modulus**-1
            return (most - count * (modulus - 1) * modulus**-1, ZERO), (most,)
        case "floor_sum", _:
            return (), ()
        case "quotient_sum" | "quotient_powers", (argument, last, *powers):
            weight, power = (int(part.constant_term.p) for part in powers or (ZERO, ONE))
            return _enclose_quotients(argument, last, weight, power, nonnegative)
        case _:
            return (ZERO,), ()


def _enclose_logarithm(argument: Poly, base: int, nonnegative: Callable[[Poly], bool]) -> Ends:
    """Bound ceil(log_b(e)) by ceil(log2(e)), with p/q <= log2(b) < (p + 1)/q."""
    binary = a.ceil_log2(argument)
    ratio = fmpq((base**LOG2_RATIOS).bit_length() - 1, LOG2_RATIOS)
    level = 0
    while level < MAX_LEVEL and nonnegative(argument - base**level - 1):
        level += 1
    lower = binary / (base - 1).bit_length(), (binary - 1) / (ratio + fmpq(1, LOG2_RATIOS)), Poly.constant(level)
    return lower, (binary, binary / ratio + 1)


def _enclose_quotients(
    argument: Poly, last: Poly, weight: int, power: int, nonnegative: Callable[[Poly], bool]
) -> Ends:
    """Bound the sum of i^w*floor(n/i)^p over 1 <= i <= k by those of the harmonic numbers and of zeta(2).

    A quotient that is at least 1 is more than half of n/i, as those up to i = n are.
    """
    if not nonnegative(argument) or not nonnegative(last):
        return (ZERO,), ()
    most = last if nonnegative(argument - last) else argument if nonnegative(last - argument) else None
    least = most or a.minimum(argument, last)
    most, excess = most or last, power - weight
    whole = argument**power
    share = whole.scaled(fmpq(1, 2**power))
    first = (whole,) if nonnegative(least - 1) else (ZERO,)
    if excess == 1:
        # ceil(log2(k + 1))/2 <= H(k) <= 1 + 7/10*log2(k)
        below, above = a.ceil_log2(least + 1) / 2, a.ceil_log2(most).scaled(fmpq(7, 10)) + 1
        return (share * below, *first), (whole * above,)
    if excess > 1:
        return first, (whole.scaled(fmpq(5, 3)),)
    degree = 1 - excess
    return (share * least**degree / degree, *first), (whole * most**degree,)
