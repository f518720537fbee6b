"""Sums and maxima of amounts over a loop's range."""

from __future__ import annotations

from collections.abc import Callable

from archline.algebra import atoms as a
from archline.algebra.effort import OutOfBudgetError, TooComplexError
from archline.algebra.facts import Facts
from archline.algebra.maximise import max_over
from archline.algebra.polynomial import ZERO, Poly
from archline.algebra.relax import bounded_max, bounded_sum
from archline.algebra.sums.summation import UnresolvedError, sum_over
from archline.expr.tree import Span
from archline.ir.amounts import NOTHING, Amount, Known, Unknown, exactly, map_known
from archline.numbers import fmpq
from archline.records import field, record


@record
class Range:
    """lo <= variable < hi with lo <= hi; `value` is what the loop variable is, `facts` what holds around the loop."""

    variable: str
    lo: Poly
    hi: Poly
    value: Poly
    facts: Facts
    span: Span
    # Flops of several kinds, work and span often share their body's expression.
    _done: dict[tuple[str, Known], Amount] = field(default_factory=dict, compare=False, repr=False)

    @property
    def trips(self) -> Poly:
        """How many iterations there are."""
        return self.hi - self.lo

    @property
    def counter(self) -> tuple[str, Poly] | None:
        """Where iterations are counted: the variable's name, and their number in terms of what the program calls it."""
        now = Poly.symbol(self.variable)
        parts = self.value.coefficients(next(iter(now.atoms())))
        if self.value == now or set(parts) - {0, 1}:
            return None
        return self.variable, (now - parts.get(0, ZERO)) * parts[1] ** -1

    @property
    def inside(self) -> Facts:
        """What holds in the body: the range is not empty there."""
        facts = self._nonempty
        return facts.with_symbol(self.variable, (self.lo,), (facts.simplify(self.hi) - 1,))

    @property
    def _nonempty(self) -> Facts:
        """At least one iteration: of max(0, e) of them, or max(0, -e) + e, e is at least 1."""
        trips = self.trips
        for atom in self.trips.atoms():
            rest = self.trips - Poly.of_atom(atom)
            if isinstance(atom, a.PositivePart) and (not rest or rest == -atom.argument):
                trips = rest or atom.argument
        return self.facts.with_nonnegative(trips - 1)

    def sum(self, amount: Amount) -> Amount:
        """The amount summed over the iterations."""
        return self._over(amount, sum_over, bounded_sum, self.facts, "sum")

    def largest(self, amount: Amount) -> Amount:
        """The largest amount of any iteration, 0 where there is none."""
        found = self.largest_of_some(amount)
        if isinstance(found, Unknown) or self.facts.positive(self.trips):
            return found
        some = self.facts.positive_part(self.trips) - self.facts.positive_part(self.trips - 1)
        if found.exact:
            return exactly(found.lower * some)
        return Known(found.lower * some, found.upper * some)

    def largest_of_some(self, amount: Amount) -> Amount:
        """The largest amount of any iteration, where there is one; of no meaning elsewhere."""
        return self._over(amount, max_over, bounded_max, self._nonempty, "maximum")

    def _over(
        self,
        amount: Amount,
        exact: Callable[[Poly, str, Poly, Poly, Facts], Poly],
        bounded: Callable[[Poly, str, Poly, Poly, Facts, bool], Poly | None],
        facts: Facts,
        what: str,
    ) -> Amount:
        if amount is NOTHING or isinstance(amount, Unknown):
            return amount
        # Flops of one kind and of all are mostly multiples of each other, and so are their sums and maxima.
        scale = a.content(amount.lower) if amount.exact else fmpq(1)
        primitive = exactly(amount.lower.scaled(1 / scale)) if scale != 1 else amount
        known = self._done.get((what, primitive))
        if known is None:
            known = self._derive(primitive, exact, bounded, facts, what)
            self._done[what, primitive] = known
        return known if scale == 1 else map_known(known, lambda value: value.scaled(scale))

    def _derive(
        self,
        amount: Known,
        exact: Callable[[Poly, str, Poly, Poly, Facts], Poly],
        bounded: Callable[[Poly, str, Poly, Poly, Facts, bool], Poly | None],
        facts: Facts,
        what: str,
    ) -> Amount:
        def end(value: Poly, upper: bool) -> Poly | None:
            try:
                return exact(value, self.variable, self.lo, self.hi, facts)
            except UnresolvedError:
                found = bounded(value, self.variable, self.lo, self.hi, facts, upper)
                # What is at least 0 in each iteration comes to that much, whatever is said in its place.
                return found if upper or found is None else facts.positive_part(found)
            except TooComplexError as problem:
                if amount.exact or isinstance(problem, OutOfBudgetError):
                    raise
                return None

        try:
            lower, upper = end(amount.lower, False), end(amount.upper, True)
        except OutOfBudgetError:
            raise
        except TooComplexError as problem:
            return Unknown(str(problem), self.span)
        if upper is None:
            return Unknown(f"no closed form or bound was found for the {what} over `{self.variable}`", self.span)
        return Known(lower or ZERO, upper)


def fork_depth(iterations: Range) -> Amount:
    """ceil(log2 t): the levels of a binary tree of forks that starts the iterations of a parallel loop."""
    return exactly(iterations.facts.simplify(a.ceil_log2(iterations.trips)))
