"""Terms that stand in a proof for ones that are easier to read and to evaluate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from archline.algebra import atoms as a
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.polynomial import ONE, Poly, product, rational
from archline.algebra.prove.log_enclosures import above, below
from archline.numbers import fmpq
from archline.recurrences.exact.at_call import Caller, Logarithm


@dataclass(frozen=True)
class Inner:
    """A product that is never negative: of sizes, logarithms of values >= 1, real or rounded, and an indicator."""

    plain: Poly = ONE
    logs: tuple[Logarithm, ...] = ()
    indicator: Poly = ONE

    @property
    def value(self) -> Poly:
        """The product itself."""
        return self.plain * self.indicator * product(map(Poly.of_atom, self.logs))

    def __mul__(self, other: Inner) -> Inner:
        return Inner(self.plain * other.plain, (*self.logs, *other.logs), self.indicator * other.indicator)

    def here(self, caller: Caller) -> Poly:
        """The product in symbols of the caller, for its own sizes."""
        return self.plain * caller.indicator(self.indicator) * product(map(caller.falling, self.logs))

    def at_call(self, caller: Caller, given: Mapping[str, Poly]) -> Poly:
        """The product in symbols of the caller, for the sizes of a call. Raises NotComparableError."""
        logs = product(caller.falling_at(each, given) for each in self.logs)
        return caller.at(self.plain, given) * caller.indicator(self.indicator.substitute(given)) * logs

    def number(self, point: Mapping[str, int | Fraction], most: bool) -> fmpq:
        """At a point, a number that the product is at most, or at least."""
        found = rational(evaluate(self.plain * self.indicator, point))
        for log in self.logs:
            argument = rational(evaluate(log.argument, point))
            if isinstance(log, a.CeilLog2):
                found *= above(argument).ceil()
            else:
                found *= above(argument) if most else below(argument)
        return found
