"""Terms that c calls of half the sizes reproduce exactly: u*v*... * (c/2^i)^log2(w), with i sizes u, v, ... and w one.

With s the least number for which calls have v' - s <= (v - s)/2, or for a lower bound v' + s >= (v + s)/2, a call
leaves at most (at least) a 2^i-th of the product of all v - s (v + s), and so at most (at least) a c-th of such a term:
for an upper bound w' >= w/2 for w = n + s with the logarithm rounded down, as c/2^i is below 1. For a lower bound it is
the other way round; a logarithm that is rounded up falls by 1 only from sizes of 2 on.
Of two sizes, as in LCS by quadrants, m*n*(3/4)^log2(n) is m*n^(log2(3) - 1).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
from archline.algebra.polynomial import Poly, product, total
from archline.algebra.prove.residues import first
from archline.recurrences.exact.basis import Element
from archline.recurrences.exact.transitions import Transition
from archline.recurrences.model import Function

MAX_SHIFT = 6
MAX_COUNT = 64


@dataclass(frozen=True)
class Halved:
    """A size that all calls halve: of size - above they have at most, of size + below at least half."""

    place: int
    size: Poly
    above: int
    below: int

    @property
    def whole(self) -> Poly:
        """Its logarithm, rounded up, falls by 1 at each call: that of n itself does at both halves, however rounded."""
        return self.size if self.above <= 1 else self.size - self.above

    def base(self, upper: bool) -> Poly:
        """What is at most (at least) half of itself at a call."""
        return self.size - self.above if upper else self.size + self.below

    def level(self, upper: bool) -> Poly:
        """The logarithm that falls by at most (at least) 1 at a call."""
        return a.ceil_log2(self.size + self.below + 1) - 1 if upper else a.ceil_log2(self.whole)

    def allowed(self, step: Transition, upper: bool) -> bool:
        """Whether what a share rests on is known of a step."""
        if not upper:
            return _at_least(self.whole - 2, step.facts)
        return all(_at_least(call.arguments[self.place] - self.above, step.facts) for _, call in step.calls)


def reproduced(function: Function, steps: Sequence[Transition], upper: bool) -> Iterator[Element]:
    """The terms, for functions of sizes all of which are about halved by all calls."""
    halved = halved_sizes(function, steps)
    if not all(each.allowed(step, upper) for each in halved for step in steps if step.calls):
        return
    whole = product(each.base(upper) for each in halved)
    for count in counts(steps) if halved else ():
        # The power of w nearest to the term itself: what rounding the logarithm changes is least.
        exponent = (count - 1).bit_length()
        if count == 1 << exponent or exponent < len(halved):
            continue
        for each in halved:
            rest = each.base(upper) ** (exponent - len(halved))
            value = whole * rest * power(count, exponent, each.level(upper))
            yield Element(value, sign=1 if upper else -1, parts=count)


def halved_sizes(function: Function, steps: Sequence[Transition]) -> list[Halved]:
    """The sizes, where all calls about halve all of them; else none."""
    calling = [step for step in steps if step.calls]
    if not function.sizes or len(function.sizes) != len(function.parameters) or not calling:
        return []
    found = [each for place, _ in enumerate(function.parameters) if (each := _halved(function, place, calling))]
    return found if len(found) == len(function.parameters) else []


def counts(steps: Sequence[Transition]) -> list[int]:
    """How many calls the steps make that make several."""
    return sorted({count for step in steps if (count := _count(step)) is not None})


def _halved(function: Function, place: int, steps: Sequence[Transition]) -> Halved | None:
    size = Poly.symbol(function.parameters[place])
    above, below = (_shift(size, place, steps, sign) for sign in (1, -1))
    return None if above is None or below is None else Halved(place, size, above, below)


def power(count: int, exponent: int, logarithm: Poly) -> Poly:
    """(count/2^exponent)^logarithm."""
    return a.exponential(count, logarithm) * a.exponential(2, logarithm) ** -exponent


def _count(step: Transition) -> int | None:
    """How many calls a step makes."""
    made = total(factor for factor, _ in step.calls)
    if not made.is_constant or made.constant_term.q != 1:
        return None
    count = int(made.constant_term.p)
    return count if 2 <= count <= MAX_COUNT else None


def _shift(size: Poly, place: int, steps: Sequence[Transition], sign: int) -> int | None:
    """The least s >= 0 with n' - s <= (n - s)/2 for every call's n' (`sign` 1), or n' + s >= (n + s)/2 (-1)."""
    apart = [(size - call.arguments[place].scaled(2), step.facts) for step in steps for _, call in step.calls]
    return first(MAX_SHIFT + 1, lambda s: all(_at_least(each.scaled(sign) + s, facts) for each, facts in apart))


def _at_least(value: Poly, facts: Facts) -> bool:
    return facts.nonnegative(facts.simplify(value))
