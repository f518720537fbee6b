"""Writes expressions in the two indices of a range in terms of its size, if they depend on their difference alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import permutations, product

from archline.algebra.bounds import Bounds
from archline.algebra.facts import Facts
from archline.algebra.polynomial import Poly
from archline.algebra.printing import to_tree
from archline.expr import build as b
from archline.expr.tree import rewrite_parts, substitute_names
from archline.language import syntax as s
from archline.records import record, replace


@record
class IndexRange:
    """Two indices with high + offset = low + size, for a new name `size`; `least` is the known minimum of the size.

    A range that contains `high` has an `offset` of 1. If `high_stays`, low is eliminated instead of high, a size that
    calls pass on.
    """

    low: str
    high: str
    size: str
    least: int
    high_stays: bool = False
    offset: int = 0

    @property
    def distance(self) -> Poly:
        """The size in terms of the indices."""
        return Poly.symbol(self.high) - Poly.symbol(self.low) + self.offset

    # To terms of the size
    def substitute_high(self, value: Poly) -> Poly:
        """Eliminate the higher index from a value, or the lower one if the higher one stays."""
        low, high, size = map(Poly.symbol, (self.low, self.high, self.size))
        size = size - self.offset
        return value.substitute({self.low: high - size} if self.high_stays else {self.high: low + size})

    def substitute_high_in_facts(self, facts: Facts) -> Facts:
        """Replace both indices by the size in facts; bounds that mention the lower index are dropped."""
        bounds: dict[str, Bounds] = {}
        for name, bound in facts.bounds.items():
            if name == self.high and not self.high_stays:
                low = Poly.symbol(self.low) - self.offset
                bounds[self.size] = Bounds(self._move_bounds(bound.lower, low), self._move_bounds(bound.upper, low))
            elif name != self.low:
                bounds[name] = Bounds(self._move_bounds(bound.lower), self._move_bounds(bound.upper))
        size, low_bounds = bounds.get(self.size, Bounds()), facts.bounds.get(self.low, Bounds())
        # i <= n - 1 is d >= 1 for n = i + d.
        above, below = self._express_size(low_bounds.upper), self._express_size(low_bounds.lower)
        minimum = () if any(value.is_constant for value in (*size.lower, *above)) else (Poly.constant(self.least),)
        bounds[self.size] = Bounds((*size.lower, *above, *minimum), (*size.upper, *below))
        return facts.with_bounds(bounds)

    def _express_size(self, values: Iterable[Poly]) -> tuple[Poly, ...]:
        """Return the values of the size at which the lower index equals each of `values`, if it is not in them."""
        size = Poly.symbol(self.size)
        moved = (size - self.substitute_high(value - Poly.symbol(self.low)) for value in values)
        if self.high_stays:
            moved = (Poly.symbol(self.high) - value + self.offset for value in values)
        return tuple(value for value in moved if value.names.isdisjoint((self.low, self.size)))

    def _move_bounds(self, values: Iterable[Poly], less: Poly | int = 0) -> tuple[Poly, ...]:
        return tuple(moved for value in values if self.low not in (moved := self.substitute_high(value) - less).names)

    def eliminate_high(self, expr: s.Expr) -> s.Expr:
        """Eliminate the higher index from an expression of the language."""
        name, other = (self.low, self.high) if self.high_stays else (self.high, self.low)
        value: s.Expr = s.Name(other, span=expr.span)
        terms: list[tuple[bool, s.Expr]] = [(not self.high_stays, s.Name(self.size, span=expr.span))]
        if self.offset:
            terms.append((self.high_stays, s.Integer(self.offset, span=expr.span)))
        for added, term in terms:
            value = s.Binary("+" if added else "-", value, term, span=expr.span)
        return substitute_names(expr, {name: value})

    def eliminate_high_in_facts(self, facts: Iterable[s.Fact]) -> tuple[s.Fact, ...]:
        """Eliminate the higher index from comparisons; facts of other kinds are unchanged."""
        return tuple(self.eliminate_high(fact) if isinstance(fact, s.Binary) else fact for fact in facts)

    # Back
    def add_high_to_point(self, point: Mapping[str, int]) -> dict[str, int]:
        """Add the value of the eliminated index to a point that has the other index and the size."""
        if self.high_stays and self.size in point and self.high in point:
            return {**point, self.low: point[self.high] - point[self.size] + self.offset}
        if self.size not in point or self.low not in point:
            return dict(point)
        return {**point, self.high: point[self.low] + point[self.size] - self.offset}

    def write_tree(self, value: Poly, order: tuple[str, ...], may_vanish: frozenset[str]) -> s.Expr:
        """Write an expression as a tree, in terms of `high - low` if it depends on the indices only through that."""
        moved = self.substitute_high(value)
        if self.high not in value.names or self.low in moved.names:
            return to_tree(value, order, may_vanish)
        vanishing = may_vanish | {self.size} if self.least < 1 else may_vanish - {self.size}
        return self.restore_difference(to_tree(moved, (*order, self.size), vanishing))

    def restore_difference(self, expr: s.Expr) -> s.Expr:
        """Replace the size by the difference of the indices in an expression of the language."""
        distance = to_tree(self.distance, (self.high, self.low))

        def restore(node: s.Expr) -> s.Expr | None:
            match node:
                case s.Name(id=name) if name == self.size:
                    return distance
                case s.Binary(op="+" | "-" as op, left=s.Name(id=name), right=s.Integer(value=value)) if (
                    name == self.size
                ):
                    return to_tree(self.distance + (value if op == "+" else -value), (self.high, self.low))
                case _:
                    return None

        return rewrite_parts(expr, restore)

    def restore_difference_in_text(self, text: str) -> str:
        distance = f"({self.high} - {self.low}{f' + {self.offset}' if self.offset else ''})"
        shown = re.sub(rf"\b{self.size}\b", distance, text)
        return re.sub(rf"([(]|, ){re.escape(distance)}(?=[,)]| [-+] )", rf"\1{distance[1:-1]}", shown)


def find_index_range(
    indices: Sequence[str], facts: Facts, used: Iterable[str], ends: Iterable[str] = ()
) -> IndexRange | None:
    """Return the range of two indices if one is known to be at most the other, or 1 more; else None.

    A single index may begin a range that ends at one of the sizes `ends`.
    """
    if len(indices) not in (1, 2):
        return None
    used_names = {*used, *facts.bounds}
    size = next(name for name in ("d", "d_", "d__", "d___") if name not in used_names)
    pairs = [(indices[0], end) for end in ends] if len(indices) == 1 else list(permutations(indices))
    for (low, high), offset in product(pairs, (0, 1)):
        if facts.nonnegative(Poly.symbol(high) - Poly.symbol(low) + offset):
            unbounded = IndexRange(low, high, size, 0, offset=offset)
            return replace(unbounded, least=unbounded.substitute_high_in_facts(facts).bounds[size].minimum or 0)
    return None
