"""How many accesses are at which stack distance, by counting the times at which a polynomial is large enough.

A distance that is the same all through a set of times is a row of the distribution. One that is affine in the time
gives the number of times at which it reaches T, with T a symbol. Of any other, a column of the time takes its
values one after the other, at given sizes, until the rest is affine (as in Gysi et al., section 3.3).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeVar

import islpy as isl

from archline.algebra.polynomial import ONE, ZERO, Poly, Symbol
from archline.analysis.cache.lru.affine import NotAffineError, scaled_text
from archline.analysis.cache.lru.from_isl import affine, parameters, piecewise, polynomial
from archline.analysis.cache.lru.stack_distance import Distances, Reused
from archline.analysis.cache.lru.wire import Piecewise, Reference

THRESHOLD = "T"
Key = TypeVar("Key")


@dataclass(eq=False)
class Tally:
    """Numbers of accesses: all, first ones, at each distance in sizes, and those whose distance changes.

    `ranged` has the accesses whose distance is at least a + T/b, by a and b; `open` those whose distance is a
    polynomial of the time of a reference. `context` is what sizes may be.
    """

    context: isl.Set
    accesses: isl.PwQPolynomial = field(init=False)
    first: isl.PwQPolynomial = field(init=False)
    settled: dict[Poly, isl.PwQPolynomial] = field(default_factory=dict)
    ranged: dict[tuple[Poly, int], isl.PwQPolynomial] = field(default_factory=dict)
    open: list[tuple[Poly, Reference, isl.PwQPolynomial]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.accesses = self.first = isl.PwQPolynomial(
            f"[{', '.join(parameters(self.context.get_space()))}] -> {{ 0 }}"
        )

    def add(self, found: Distances) -> None:
        """Count."""
        for reference, times in found.all:
            count = times.card()
            self.accesses = self.accesses.add(_times(count, reference.times))
            if reference.times > 1:
                _add(self.settled, ONE, _times(count, reference.times - 1))
        for _, times in found.first:
            self.first = self.first.add(times.card())
        for each in found.reused:
            self._add_reused(each)

    def _add_reused(self, each: Reused) -> None:
        fixed, moving = _split(_without_fixed(polynomial(each.distance), each.times))
        if not moving:
            _add(self.settled, fixed, each.times.card())
            return
        for times, distance in self._affine_parts(each.times, moving):
            constant, rest = _split(distance)
            if not rest:
                _add(self.settled, fixed + constant, times.card())
                continue
            try:
                scale, count = _at_least(times, rest)
                _add(self.ranged, (fixed + constant, scale), count)
            except NotAffineError:
                self.open.append((fixed + distance, each.reference, times.card()))

    def _affine_parts(self, times: isl.Set, distance: Poly) -> Iterator[tuple[isl.Set, Poly]]:
        """The times, at given sizes cut where a column has one value so that the distance is affine."""
        column = _to_fix(distance) if times.dim(isl.dim_type.param) == 0 else None
        if column is None:
            yield times, distance
            return
        place = int(column[1:])
        least, most = (int(str(end)) for end in (times.dim_min_val(place), times.dim_max_val(place)))
        for value in range(least, most + 1):
            part = times.fix_val(isl.dim_type.set, place, isl.Val(value))
            if not part.is_empty():
                yield from self._affine_parts(part, distance.substitute({column: Poly.constant(value)}))

    def pieces(self, value: isl.PwQPolynomial) -> Piecewise:
        """A count where sizes are what they may be, as short as isl can write it."""
        return piecewise(value.coalesce().gist(self.context))


def _without_fixed(value: Poly, times: isl.Set) -> Poly:
    """The value without the columns of the time that sizes decide."""
    equalities = [affine(each.get_aff()) for each in times.affine_hull().get_constraints() if each.is_equality()]
    for equality in equalities:
        for name in set(_columns(equality)) & set(_columns(value)):
            factor = equality.coefficients(Symbol(name)).get(1, ZERO)
            rest = equality - factor * Poly.symbol(name)
            if not _columns(rest) and abs(factor.constant_term) == 1:
                value = value.substitute({name: rest * -factor})
    return value


def _add(found: dict[Key, isl.PwQPolynomial], key: Key, count: isl.PwQPolynomial) -> None:
    found[key] = found[key].add(count) if key in found else count


def _times(count: isl.PwQPolynomial, factor: int) -> isl.PwQPolynomial:
    return count.scale_val(isl.Val(factor))


def _columns(value: Poly) -> list[str]:
    return sorted(name for name in value.names if name.startswith("x"))


def _split(value: Poly) -> tuple[Poly, Poly]:
    """What sizes alone decide, and the rest."""
    fixed = Poly({monomial: each for monomial, each in value.terms.items() if not _columns(Poly({monomial: each}))})
    return fixed, value - fixed


def _to_fix(value: Poly) -> str | None:
    """The column that stands in most of the products; None where there is no product."""
    products = [Poly({monomial: each}) for monomial, each in value.terms.items() if sum(p for _, p in monomial) > 1]
    found = [name for each in products for name in _columns(each)]
    return max(sorted(set(found)), key=found.count, default=None)


def _at_least(times: isl.Set, distance: Poly) -> tuple[int, isl.PwQPolynomial]:
    """The number of times at which b times an affine distance is T or more, and that b. Raises NotAffineError."""
    space = times.get_space()
    sizes = parameters(space)
    columns = [f"x{place}" for place in range(space.dim(isl.dim_type.set))]
    names = {name: name for name in (*sizes, *columns)}
    text, scale = scaled_text(distance, names)
    axes = ", ".join(columns)
    held = isl.Set(f"[{', '.join([*sizes, THRESHOLD])}] -> {{ [{axes}] : {text} >= {THRESHOLD} }}")
    return scale, times.align_params(held.get_space()).intersect(held).card()
