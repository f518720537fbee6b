"""Represent what is known about a count: its exact value, a lower and an upper bound, or why it is unknown."""

from __future__ import annotations

from collections.abc import Callable

from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Poly
from archline.expr.tree import Span
from archline.records import record

MAX_ATOMS, MAX_TERMS = 12, 150
"""Upper bounds with more atoms are not put in a minimum; those with more terms are not proved to be less."""


@record
class KnownAmount:
    """A count between two bounds, exact if they are equal."""

    lower: Poly
    upper: Poly

    @property
    def exact(self) -> bool:
        """True if the bounds are equal."""
        return self.lower == self.upper


@record
class UnknownAmount:
    """A count that cannot be derived, with a reason and a source span."""

    reason: str
    span: Span | None = None


Amount = KnownAmount | UnknownAmount


def exact_amount(value: Poly) -> KnownAmount:
    """Return an amount whose lower and upper bound are this value."""
    return KnownAmount(value, value)


ZERO_AMOUNT = exact_amount(ZERO)
UNIT_AMOUNT = exact_amount(ONE)


def map_bounds(amount: Amount, function: Callable[[Poly], Poly]) -> Amount:
    """Apply a nondecreasing function to both bounds."""
    if isinstance(amount, UnknownAmount):
        return amount
    lower = function(amount.lower)
    return exact_amount(lower) if amount.exact else KnownAmount(lower, function(amount.upper))


def combine_amounts(left: Amount, right: Amount, function: Callable[[Poly, Poly], Poly]) -> Amount:
    """Apply a function that is nondecreasing in both arguments to both bounds."""
    if isinstance(left, UnknownAmount):
        return left
    if isinstance(right, UnknownAmount):
        return right
    lower = function(left.lower, right.lower)
    if left.exact and right.exact:
        return exact_amount(lower)
    return KnownAmount(lower, function(left.upper, right.upper))


def add_amounts(left: Amount, right: Amount) -> Amount:
    """Add the lower and the upper bounds of two amounts."""
    if left is ZERO_AMOUNT:
        return right
    if right is ZERO_AMOUNT:
        return left
    return combine_amounts(left, right, lambda x, y: x + y)


def scale_amount(amount: Amount, factor: Amount) -> Amount:
    """Return the product with a nonnegative factor."""
    if amount is ZERO_AMOUNT or factor is ZERO_AMOUNT:
        return ZERO_AMOUNT
    return combine_amounts(amount, factor, lambda x, y: x * y)


def maximum_amount(left: Amount, right: Amount, facts: Facts) -> Amount:
    """Return the maximum of two amounts, as the maxima of their lower and of their upper bounds."""
    if left == right:
        return left
    return combine_amounts(left, right, facts.maximum)


def bound_either_amount(left: Amount, right: Amount, facts: Facts) -> Amount:
    """Bound a count that is `left` or `right`, as data decides: from the lesser of the two to the greater."""
    if left == right:
        return left
    if isinstance(left, UnknownAmount):
        return left
    if isinstance(right, UnknownAmount):
        return right
    return KnownAmount(facts.minimum(left.lower, right.lower), facts.maximum(left.upper, right.upper))


def widen_to_zero(amount: Amount) -> Amount:
    """Bound a count that lies anywhere between 0 and an amount."""
    return amount if isinstance(amount, UnknownAmount) else KnownAmount(ZERO, amount.upper)


def intersect_amounts(first: Amount, second: Amount, facts: Facts) -> Amount:
    """Intersect the bounds `first` and `second` of one count.

    The upper bound is the minimum of both, or that of `second` if the expression of `first` has too many atoms.
    """
    if first == second or isinstance(second, UnknownAmount) or (isinstance(first, KnownAmount) and first.exact):
        return first
    if isinstance(first, UnknownAmount):
        return second
    short = len(first.upper.terms) <= max(MAX_TERMS, len(second.upper.terms))
    upper = first.upper if short and facts.nonnegative(second.upper - first.upper) else second.upper
    if upper is not first.upper and not first.upper.has_more_atoms_than(MAX_ATOMS):
        upper = facts.minimum(upper, first.upper)
    return KnownAmount(facts.maximum(first.lower, second.lower), upper)


def choose_by_indicator(taken: Poly, first: Amount, second: Amount) -> Amount:
    """Return `first` where the indicator `taken` is 1, `second` where it is 0."""
    if first == second:
        return first
    return combine_amounts(first, second, lambda x, y: x * taken + y * (1 - taken))
