"""Count the steps by which a value reaches another one if each multiplies it, or divides it, by a number."""

from __future__ import annotations

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, Poly
from archline.ir.amounts import KnownAmount, exact_amount
from archline.records import record

LOG2_RATIOS = 64
"""The denominator of the rational numbers that enclose the logarithms of factors to the base 2."""


@record
class StepCount:
    """Bounds of a number K of steps, and of `factor`^K if that is known better."""

    amount: KnownAmount
    factor: int = 1
    power: KnownAmount | None = None


def count_multiplications(start: Poly, end: Poly, factor: int, facts: Facts) -> StepCount:
    """Count the k from 0 on with start*factor^k < end, for whole numbers, start at least 1."""
    quotient = a.ceil_div(end, start)
    amount = ceil_log(factor, quotient, facts)
    if amount.exact:
        return StepCount(amount)
    # The last value is below the end, and start*factor^K is not.
    most = facts.positive_part(facts.simplify(a.floor_div(end - 1, start)))
    power = KnownAmount(facts.maximum(ONE, facts.simplify(quotient)), most * factor + 1)
    return StepCount(amount, factor, power)


def count_divisions(start: Poly, least: Poly, factor: int, facts: Facts) -> StepCount:
    """Count the k from 0 on with floor(start/factor^k) >= least, for whole numbers, least at least 1."""
    return StepCount(ceil_log(factor, a.floor_div(start, least) + 1, facts))


def ceil_log(base: int, value: Poly, facts: Facts) -> KnownAmount:
    """Return ceil(log(value)) to a base from 2 on, and 0 for values below 1: exact for the bases 2, 4, 8, ...

    For others, with p/q <= log2(base) < (p + 1)/q and c = ceil(log2(value)), it is at most c*q/p; and more than
    (c - 1)*q/(p + 1), as log2(value) is more than c - 1.
    """
    binary = a.ceil_log2(facts.simplify(value))
    if base.bit_count() == 1:
        return exact_amount(facts.simplify(a.ceil_div(binary, Poly.constant(base.bit_length() - 1))))
    numerator = (base**LOG2_RATIOS).bit_length() - 1
    scaled = binary.scaled(LOG2_RATIOS)
    lower = a.floor_div(scaled - LOG2_RATIOS, Poly.constant(numerator + 1)) + 1
    return KnownAmount(
        facts.positive_part(facts.simplify(lower)), facts.simplify(a.ceil_div(scaled, Poly.constant(numerator)))
    )
