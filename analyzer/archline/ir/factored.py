"""Represent numbers of lines as products, whose factors are summed and maximised over loops separately."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress

from archline.algebra import atoms as a
from archline.algebra import effort, polynomial
from archline.algebra.effort import TooComplexError
from archline.algebra.facts import Facts
from archline.algebra.maximise import find_direction
from archline.algebra.polynomial import ZERO, Atom, Poly
from archline.algebra.relax import bound_nonnegative_maximum, bound_signed_maximum, bound_sum
from archline.algebra.sums.summation import UnresolvedError, sum_over
from archline.ir.tree import Chain, Loop
from archline.numbers import fmpq
from archline.records import record

MAX_PEAK_PRODUCTS = 8_000
"""Products of terms that bounding a maximum over a loop may take: larger results grow with every further loop."""
_LINE = Poly.symbol("L")
_GEOMETRIC_RATIOS = tuple(fmpq(factor) ** sign for factor in (2, 4, 8) for sign in (1, -1))


class UnboundedError(Exception):
    """No upper bound in closed form was found."""


@record
class FactoredProduct:
    """A product of nonnegative amounts."""

    factors: tuple[Poly, ...] = ()

    @property
    def value(self) -> Poly:
        """The product as one expression."""
        return polynomial.product(self.factors)

    @property
    def uncapped(self) -> Poly:
        """An upper bound on the product: in each factor the subtracted terms with max(0, e) are dropped."""
        return polynomial.product(map(_drop_caps, self.factors))

    def times(self, *more: Poly) -> FactoredProduct:
        return FactoredProduct((*self.factors, *more))

    def minimum(self, other: FactoredProduct, facts: Facts) -> FactoredProduct:
        """Return the minimum of two products, in which common factors stay separate."""
        common = list((Counter(self.factors) & Counter(other.factors)).elements())
        left, right = (Counter(side.factors) - Counter(common) for side in (self, other))
        lesser = facts.minimum(*(polynomial.product(side.elements()) for side in (left, right)))
        return FactoredProduct((*common, lesser))

    def _split_factors(self, variable: str) -> tuple[tuple[Poly, ...], tuple[Poly, ...]]:
        """Split the factors: first all that do not contain a variable, then all that do."""
        free = tuple(factor for factor in self.factors if variable not in factor.names)
        return free, tuple(factor for factor in self.factors if variable in factor.names)

    def bound_sum(self, variable: str, lo: Poly, hi: Poly, facts: Facts) -> FactoredProduct:
        """Bound the sum over lo <= variable < hi from above."""
        free, bound = self._split_factors(variable)
        if not bound:
            return FactoredProduct(free).times(hi - lo)
        try:
            total = bound_sum(_relax_segment_floors(polynomial.product(bound), variable), variable, lo, hi, facts, True)
        except (UnresolvedError, TooComplexError):
            total = None
        if total is None or variable in total.names:
            total = _geometric_sum_bound(polynomial.product(bound), variable, lo, hi, facts)
        if total is None or variable in total.names:
            return FactoredProduct(
                (*free, *(bound_maximum(factor, variable, lo, hi, facts) for factor in bound))
            ).times(hi - lo)
        return FactoredProduct((*free, total))

    def sum_exactly(self, variable: str, lo: Poly, hi: Poly, facts: Facts) -> FactoredProduct:
        """Sum exactly over lo <= variable < hi. Raises UnresolvedError, TooComplexError."""
        free, bound = self._split_factors(variable)
        if not bound:
            return FactoredProduct(free).times(hi - lo)
        return FactoredProduct((*free, sum_over(polynomial.product(bound), variable, lo, hi, facts)))

    def sum_exactly_over_chain(self, chain: Chain) -> FactoredProduct | None:
        """Sum exactly over all iterations of loops; None if no closed form exists, or if a range depends on data."""
        if any(loop.trips != loop.hi - loop.lo for loop in chain):
            return None
        result = self
        try:
            for loop in reversed(chain):
                result = result.sum_exactly(loop.variable, loop.lo, loop.hi, loop.facts)
        except (UnresolvedError, TooComplexError):
            return None
        return result

    def bound_max_in_loop(self, loop: Loop, facts: Facts) -> FactoredProduct:
        """Bound the maximum over a loop from above."""
        free, bound = self._split_factors(loop.variable)
        return FactoredProduct((*free, *(bound_max_in_loop(factor, loop, facts) for factor in bound)))

    def bound_max_over_chain(self, chain: Chain) -> FactoredProduct:
        """Bound the maximum over all loops from above."""
        result = self
        for loop in reversed(chain):
            result = result.bound_max_in_loop(loop, loop.facts)
        return result

    def bound_sum_over_chain(self, chain: Chain) -> FactoredProduct:
        """Bound the sum over all iterations of loops from above."""
        result = self
        for loop in reversed(chain):
            if loop.trips == loop.hi - loop.lo:
                result = result.bound_sum(loop.variable, loop.lo, loop.hi, loop.facts)
            else:
                # The range depends on data, so that only bounds on its ends are known.
                result = result.bound_max_in_loop(loop, loop.facts).times(loop.trips)
        return result


def bound_max_over_loops(
    exact: FactoredProduct | None, count: Callable[[], FactoredProduct], chain: Chain
) -> FactoredProduct:
    """Bound the maximum of a number of lines over loops from above. Raises UnboundedError.

    The number is `exact` if its maximum has a bound, else `count()`, an upper bound on the number.
    """
    try:
        largest = None if exact is None else exact.bound_max_over_chain(chain)
    except UnboundedError:
        largest = None
    if exact is None or largest is None:
        return count().bound_max_over_chain(chain)
    if _grows_with_line(exact.value) and not _grows_with_line(largest.value):
        # The bound of `exact` counts words, as that of floor(x/L) - floor(y/L) loses the division by L.
        with suppress(UnboundedError):
            return count().bound_max_over_chain(chain)
    return largest


def bound_sum_over_loops(
    exact: FactoredProduct | None, count: Callable[[], FactoredProduct], chain: Chain
) -> FactoredProduct:
    """Sum a number of lines over loops, given `exact` or else the upper bound `count()`. Raises UnboundedError.

    If `exact` is None or its sum has no closed form, the sum of `count()` is bounded from above.
    """
    total = None if exact is None else exact.sum_exactly_over_chain(chain)
    return count().bound_sum_over_chain(chain) if total is None else total


def _grows_with_line(value: Poly) -> bool:
    """Test whether longer lines increase the value, as in floor((n + b)/L) - floor(n/L)."""
    rising = (term for term, coefficient in value.terms.items() if coefficient > 0)
    return any(_LINE.names <= atom.names for term in rising for atom, _ in term)


def _drop_caps(value: Poly) -> Poly:
    """Drop subtracted terms with max(0, e), such as that of b - max(0, b - n) = min(b, n)."""
    return Poly(
        {
            monomial: coefficient
            for monomial, coefficient in value.terms.items()
            if coefficient > 0 or not any(isinstance(atom, a.PositivePart) for atom, _ in monomial)
        }
    )


def _geometric_sum_bound(value: Poly, variable: str, lo: Poly, hi: Poly, facts: Facts) -> Poly | None:
    """Bound the sum of min(x, y) from above if y grows or shrinks geometrically; None for other values.

    It is the sum of all y, or x for the ceil(log2(L)) iterations with the largest y plus 1/L of the sum of all y.
    """
    for atom in value.atoms():
        if not isinstance(atom, a.PositivePart) or variable not in atom.names:
            continue
        parts = value.coefficients(atom)
        if set(parts) - {0, 1} or not parts[1].is_constant or parts[1].constant_term >= 0:
            continue
        first = parts.get(0, ZERO)
        second = first + parts[1] * atom.argument
        for flat, steep in ((first, second), (second, first)):
            factor = _geometric_ratio(steep, variable)
            if factor is not None:
                greatest = steep.substitute({variable: lo if factor < 1 else hi - 1})
                rest = greatest / (1 - min(factor, 1 / factor))
                few = a.ceil_log2(_LINE) * facts.positive_part(bound_maximum(flat, variable, lo, hi, facts))
                return facts.minimum(rest, few + rest * _LINE**-1)
    return None


def _geometric_ratio(value: Poly, variable: str) -> fmpq | None:
    """The ratio of the values in successive iterations, if it is one of 2, 4, 8 and their reciprocals; else None."""
    after = value.substitute({variable: Poly.symbol(variable) + 1})
    return next((factor for factor in _GEOMETRIC_RATIOS if value and after == value.scaled(factor)), None)


def bound_maximum(value: Poly, variable: str, lo: Poly, hi: Poly, facts: Facts) -> Poly:
    """Bound the maximum for lo <= variable < hi from above. Raises UnboundedError."""
    if variable not in value.names:
        return value
    value = _maximize_segment_lengths(value, variable, facts)
    if variable not in value.names:
        return value
    try:
        with effort.limit_effort(MAX_PEAK_PRODUCTS):
            peak = bound_signed_maximum(value, variable, lo, hi, facts, True)
            if peak is None and facts.with_symbol(variable, (lo,), (hi - 1,)).nonnegative(value):
                peak = bound_nonnegative_maximum(value, variable, lo, hi, facts, True)
    except (UnresolvedError, TooComplexError):
        peak = None
    if peak is None or variable in peak.names:
        raise UnboundedError
    return peak


def _maximize_segment_lengths(value: Poly, variable: str, facts: Facts) -> Poly:
    """Replace lengths of segments that `variable` selects by their maximum, if the value increases with them."""
    for gap in dict.fromkeys(_find_segment_lengths(value, variable)):
        name = f"{gap.key} "
        free = value.replace_atom(gap, Poly.symbol(name))
        ceiling = gap.segments.ceiling
        inside = facts.with_symbol(name, (ZERO,), (ceiling,))
        if find_direction(free, name, ceiling + 1, inside) == 1:
            value = facts.simplify(free.substitute({name: ceiling}))
    return value


def _relax_segment_floors(value: Poly, variable: str) -> Poly:
    """Replace floor(e/m) by e/m where e holds the length of a segment and the value does not decrease by that."""

    def relax_floor(atom: Atom) -> Poly | None:
        alone = all(coefficient > 0 for term, coefficient in value.terms.items() if atom in dict(term))
        if not isinstance(atom, a.Floor) or next(_find_segment_lengths(atom.argument, variable), None) is None:
            return None
        return atom.argument * atom.modulus**-1 if alone and len(atom.modulus.terms) == 1 else None

    return value.map_atoms(relax_floor)


def _find_segment_lengths(value: Poly, variable: str) -> Iterator[a.Gap]:
    """Yield the lengths of segments (differences of offsets) that a variable selects, anywhere in a value."""
    return (atom for atom in value.atoms_within() if isinstance(atom, a.Gap) and variable in atom.names)


def bound_max_in_loop(value: Poly, loop: Loop, facts: Facts) -> Poly:
    """Bound the maximum over a loop from above. Raises UnboundedError."""
    return bound_maximum(value, loop.variable, loop.lo, loop.hi, facts)
