"""Terms of calls that halve all sizes, with how often the smallest one is halved until it is at most T.

With all n' of calls from floor(n/2) to ceil(n/2), the least size v falls to floor(v/2) at least and ceil(v/2) at most.
So ceil(log2(ceil((v + 1)/(T + 1)))) falls by at most 1, and ceil(log2(ceil(v/T))) by at least 1 where v > T: as many
halvings as there are at least and at most. At leaves both are 0. Of two sizes, as in LCS by quadrants, 3 calls of half
of both reproduce n*m*(3/4)^k, n*(3/2)^k, m*(3/2)^k and 3^k, of which one is near whatever the leaves add.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations

from archline.algebra import atoms as a
from archline.algebra.polynomial import Poly, product
from archline.recurrences.exact.basis import Element
from archline.recurrences.exact.terms.master import Halved, counts, halved_sizes, power
from archline.recurrences.exact.transitions import Transition, least_of
from archline.recurrences.model import Function

MOST = 1 << 10


@dataclass(frozen=True)
class Levels:
    """How often the smallest size is halved: at least and at most, in all calls."""

    least: Poly
    most: Poly

    def share(self, count: int, sizes: Sequence[Halved], whole: bool) -> Element:
        """A product of sizes, of which each of the calls has at most (`whole`) or at least one part in `count`."""
        # What shrinks with each level needs levels that fall by no more than 1, and by no less what grows.
        shrinks = count < 1 << len(sizes)
        level = self.least if shrinks == whole else self.most
        value = product(each.base(whole) for each in sizes)
        return Element(value * power(count, len(sizes), level), sign=1 if whole else -1, parts=count)


def leveled(function: Function, steps: Sequence[Transition]) -> tuple[Element, ...]:
    """The terms, those of which a call has a part at most and those of which it has one at least."""
    sizes = halved_sizes(function, steps)
    levels = None if len(sizes) < 2 else levels_of(sizes, [step for step in steps if step.calls])
    if levels is None:
        return ()
    return tuple(
        levels.share(count, chosen, whole)
        for count in counts(steps)
        for chosen in _choices(sizes)
        if count != 1 << len(chosen)
        for whole in (True, False)
    )


def _choices(sizes: Sequence[Halved]) -> Iterator[tuple[Halved, ...]]:
    """All sizes, then some, then none."""
    for number in range(len(sizes), -1, -1):
        yield from combinations(sizes, number)


def levels_of(sizes: Sequence[Halved], calling: Sequence[Transition]) -> Levels | None:
    """Those of the steps with calls; None where one may have less than floor(n/2) or more than ceil(n/2) of a size."""
    least = min(least_of(each.size, step.facts) or 0 for each in sizes for step in calling)
    if not 1 < least <= MOST or any(each.above > 1 or each.below > 1 for each in sizes):
        return None
    end = Poly.constant(least)
    few, many = (reduce(a.minimum, (a.floor_div(each.size - less, end - less) for each in sizes)) for less in (0, 1))
    return Levels(a.ceil_log2(few + 1), a.ceil_log2(many + 1))
