"""Terms that c calls of half the size reproduce exactly: v^i * (c/2^i)^log2(w), with v and w near the size.

A call leaves at most a c-th of such a term (for an upper bound) where 0 <= v' <= v/2 for v = n - s, and w' >= w/2 for
w = n + s with the logarithm rounded down, as c/2^i is below 1. For a lower bound it is the other way round; a logarithm
that is rounded up falls by 1 only from sizes of 2 on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
from archline.algebra.polynomial import Poly, total
from archline.analysis.recursion.bases import Element
from archline.analysis.recursion.steps import Step
from archline.analysis.recursion.system import Function

MAX_SHIFT = 6
MAX_COUNT = 64


def reproduced(function: Function, steps: Sequence[Step], upper: bool) -> Iterator[Element]:
    """The terms, for functions of one size all of whose calls are of about its half."""
    calling = [step for step in steps if step.calls]
    if len(function.sizes) != 1 or len(function.parameters) != 1 or not calling:
        return
    size = Poly.symbol(function.sizes[0])
    above, below = (_shift(size, calling, sign) for sign in (1, -1))
    counts = sorted({count for step in calling if (count := _count(step)) is not None})
    if above is None or below is None:
        return
    # The logarithm of n itself falls by 1 at both halves of it, rounded up or down.
    whole = size if above <= 1 else size - above
    ceiling, floor = a.ceil_log2(whole), a.ceil_log2(size + below + 1) - 1
    if not all(_allowed(step, whole, above, upper) for step in calling):
        return
    base, sign = (size - above, 1) if upper else (size + below, -1)
    for count in counts:
        # The power of w nearest to the term itself: what rounding the logarithm changes is least.
        power = (count - 1).bit_length()
        if count != 1 << power:
            yield Element(base**power * _power(count, power, floor if upper else ceiling), sign=sign, parts=count)


def _allowed(step: Step, whole: Poly, above: int, upper: bool) -> bool:
    """Whether what a share rests on is known of a step."""
    if not upper:
        return _at_least(whole - 2, step.facts)
    return all(_at_least(each - above, step.facts) for _, call in step.calls for each in call.arguments)


def _power(count: int, power: int, logarithm: Poly) -> Poly:
    return a.exponential(count, logarithm) * a.exponential(2, logarithm) ** -power


def _count(step: Step) -> int | None:
    """How many calls a step makes."""
    made = total(factor for factor, _ in step.calls)
    if not made.is_constant or made.constant_term.q != 1:
        return None
    count = int(made.constant_term.p)
    return count if 2 <= count <= MAX_COUNT else None


def _shift(size: Poly, steps: Sequence[Step], sign: int) -> int | None:
    """The least s >= 0 with n' - s <= (n - s)/2 for every call's n' (`sign` 1), or n' + s >= (n + s)/2 (-1)."""
    for shift in range(MAX_SHIFT + 1):
        if all(
            _at_least(size.scaled(sign) + shift - argument.scaled(2 * sign), step.facts)
            for step in steps
            for _, call in step.calls
            for argument in call.arguments
        ):
            return shift
    return None


def _at_least(value: Poly, facts: Facts) -> bool:
    return facts.nonnegative(facts.simplify(value))
