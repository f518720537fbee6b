"""What is known of one symbol."""

from __future__ import annotations

from functools import cached_property

from archline.algebra.polynomial import Poly
from archline.numbers import fmpq
from archline.records import record


@record
class Bounds:
    """Polynomials that bound a symbol from below and from above."""

    lower: tuple[Poly, ...] = ()
    upper: tuple[Poly, ...] = ()

    @cached_property
    def least(self) -> int | None:
        """The largest number among the lower bounds, rounded up, as symbols are integers."""
        return max((int(each.constant_term.ceil()) for each in self.lower if each.is_constant), default=None)

    @cached_property
    def most(self) -> int | None:
        """The smallest number among the upper bounds, rounded down."""
        return min((int(each.constant_term.floor()) for each in self.upper if each.is_constant), default=None)

    def nearest(self, value: int) -> int:
        """The number between the least and the most that is nearest to a value."""
        found = value if self.least is None else max(value, self.least)
        return found if self.most is None else min(found, self.most)

    @cached_property
    def numbers(self) -> tuple[fmpq | None, fmpq | None]:
        """The largest number among the lower bounds, and the smallest among the upper ones, as they are."""
        low, high = ([each.constant_term for each in ends if each.is_constant] for ends in (self.lower, self.upper))
        return max(low, default=None), min(high, default=None)

    @cached_property
    def plain(self) -> tuple[bool, bool]:
        """Whether all lower bounds are numbers, and whether all upper ones are."""
        return all(each.is_constant for each in self.lower), all(each.is_constant for each in self.upper)


NO_BOUNDS = Bounds()
