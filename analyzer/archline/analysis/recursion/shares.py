"""Terms that c calls of half the size reproduce exactly: w^i * (c/2^i)^log2(w), with w near the size.

A call of size n' leaves at most a c-th of such a term where w' <= w/2 for w = n - s (an upper bound, s such that all
calls obey it), at least a c-th where w' >= w/2 for w = n + s. A power of a number above 1 takes the logarithm of that
w, rounded up or down; of one below 1 that of the other w, rounded the other way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flint import fmpq

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, Poly
from archline.analysis.recursion.bases import Element
from archline.analysis.recursion.steps import Step
from archline.analysis.recursion.system import Function

MAX_SHIFT = 6
MAX_COUNT = 64


def shares(function: Function, steps: Sequence[Step], degree: int, upper: bool) -> Iterator[Element]:
    """The terms, up to a degree, for functions of one size all of whose calls are of about its half."""
    names = [name for name in function.least if name not in function.facts.rewrites]
    calling = [step for step in steps if step.calls]
    if len(names) != 1 or len(function.parameters) != 1 or not calling:
        return
    size = Poly.symbol(names[0])
    above, below = (_shift(size, calling, sign) for sign in (1, -1))
    counts = sorted({count for step in calling if (count := _count(step)) is not None})
    if above is None or below is None:
        return
    ceiling, floor = a.ceil_log2(size - above), a.ceil_log2(size + below + 1) - 1
    base = size - above if upper else size + below
    for count in counts:
        for power in range(degree + 1):
            ratio = fmpq(count, 1 << power)
            if ratio != 1:
                logarithm = ceiling if (ratio > 1) == upper else floor
                share = a.exponential(count, logarithm) * (a.exponential(2, logarithm) ** -power if power else ONE)
                yield Element(base**power * share, sign=1 if upper else -1, parts=count)


def _count(step: Step) -> int | None:
    """How many calls a step makes."""
    total = sum((factor for factor, _ in step.calls), Poly.constant(0))
    if not total.is_constant or total.constant_term.q != 1:
        return None
    count = int(total.constant_term.p)
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
