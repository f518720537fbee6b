"""The bounds on io of a program without recursion at sizes, Z and L: the nearest of several."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from fractions import Fraction
from functools import cached_property

from archline.analysis.cache.lower.segments import Lower
from archline.analysis.cache.upper.cold import Everything
from archline.analysis.cache.upper.evaluate import Upper
from archline.analysis.cache.upper.split_outer import Phases
from archline.analysis.cost import Cost, ends_at
from archline.expr.intervals import EvaluationError
from archline.records import record

FAR = 2
"""Where bounds are farther apart than this, accesses are counted as well."""
Ends = tuple[Fraction, Fraction]
Sizes = Mapping[str, int]
MAX_BITS = 256
"""Of longer sizes the use of spare lines is not searched for: that takes as many steps as they have bits."""


@record(eq=False)
class MissBounds:
    """The lines of all that is accessed bound io where they fit, and the number of accesses always.

    From below the bounds of `lower` are added up.
    """

    lower: tuple[Lower, ...]
    upper: Upper
    phases: Phases
    everything: Everything | None
    count: Callable[[], Cost]

    def at(self, sizes: Sizes) -> Ends:
        """Both bounds. Raises EvaluationError."""
        try:
            return self._nearest(sizes)
        except EvaluationError:
            # In a branch that is not taken, log2(n) need not be a number.
            return Fraction(0), self._accessed(sizes)

    def _nearest(self, sizes: Sizes) -> Ends:
        least = sum(each.at(sizes) for each in self.lower)
        if any(value >> MAX_BITS for value in sizes.values()):
            most = Fraction(self.upper.at(sizes, spare=False))
        else:
            most = Fraction(self.phases.at(sizes, least, self.upper.at(sizes)))
        if self.everything is not None and most > least:
            lines, moved = self.everything.at(sizes)
            most = min(most, Fraction(moved)) if lines <= sizes["Z"] // sizes["L"] else most
        if most > FAR * least:
            # Of what stands under conditions, fewer may be accessed than plans count.
            with suppress(EvaluationError):
                most = min(most, self._accessed(sizes))
        # Where no loop is entered, what holds in all iterations may come to less than nothing.
        return Fraction(least), max(most, Fraction(0))

    def _accessed(self, sizes: Sizes) -> Fraction:
        found = self._accesses
        if found.upper is None:
            raise EvaluationError(found.reason or "accesses are not counted")
        return ends_at(found, sizes)[1]

    @cached_property
    def _accesses(self) -> Cost:
        return self.count()
