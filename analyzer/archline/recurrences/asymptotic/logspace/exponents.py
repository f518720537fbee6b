"""How fast the nodes of calls at several sizes multiply: the p at which the sum of count*factor^-p is 1."""

from __future__ import annotations

from typing import TypeAlias

from flint import arb, ctx, fmpq, fmpq_poly, fmpz_poly

from archline.algebra.asymptotic.constants import OutOfReachError
from archline.recurrences.asymptotic.logspace.numbers import ONE, ZERO, Number, logarithm, power_of, primitive

Branches: TypeAlias = dict[fmpq, fmpq]
"""The factors by which calls shrink a size, above 1, each with the number of such calls."""
RESOLUTION = fmpq(1, 1 << 30)


def bounds(branches: Branches) -> tuple[Number, Number]:
    """Two numbers between which p lies: p itself, twice, where it has a closed form. Raises OutOfReachError."""
    if len(branches) == 1:
        ((factor, count),) = branches.items()
        exact: Number | None = logarithm(count, factor)
    else:
        exact = _small(branches) or _of_levels(branches)
    return _enclosed(branches) if exact is None else (exact, exact)


def _small(branches: Branches) -> fmpq | None:
    """The p where it is a small whole number other than 0."""
    for power in (1, 2, 3, 4):
        if sum((count / factor**power for factor, count in branches.items()), ZERO) == 1:
            return fmpq(power)
    return None


def _of_levels(branches: Branches) -> Number | None:
    """The p where all factors are powers of one, and the polynomial in its inverse power has a rational root."""
    root, _ = primitive(min(branches))
    levels = {power_of(factor, root): count for factor, count in branches.items()}
    if any(level is None or not 0 < level <= 64 for level in levels):
        return ZERO if sum(branches.values(), ZERO) == 1 else None
    coefficients = [-ONE] + [ZERO] * max(level for level in levels if level)
    for level, count in levels.items():
        coefficients[level or 0] = count
    for factor, _ in fmpz_poly(fmpq_poly(coefficients).numer().coeffs()).factor()[1]:
        if factor.degree() == 1 and -factor[0] * factor[1] > 0:
            return -logarithm(fmpq(-factor[0], factor[1]), root)
    return None


def _enclosed(branches: Branches) -> tuple[fmpq, fmpq]:
    """Rationals close below and above p, proved by enclosures."""
    low, high = fmpq(-64), fmpq(64)
    while high - low > RESOLUTION:
        middle = (low + high) / 2
        if _excess(branches, middle) > 0:
            low = middle
        else:
            high = middle
    if not _excess(branches, low) > 0 or not _excess(branches, high) < 0:
        raise OutOfReachError("calls of several sizes whose exponent could not be enclosed")
    return low, high


def _excess(branches: Branches, power: fmpq) -> arb:
    """The sum of count*factor^-power less 1, which falls with the power."""
    before = ctx.prec
    try:
        ctx.prec = 128
        total = arb(-1)
        for factor, count in branches.items():
            total += arb(count) * (-arb(power) * arb(factor).log()).exp()
        return total
    finally:
        ctx.prec = before
