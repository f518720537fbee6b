"""Writes expressions in the two indices of a range in terms of its size, if they depend on their difference alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import permutations

from archline.algebra.bounds import Bounds
from archline.algebra.facts import Facts
from archline.algebra.polynomial import Poly
from archline.algebra.printing import to_tree
from archline.expr.tree import rewrite_parts, substitute_names
from archline.language import syntax as s
from archline.records import record, replace


@record
class IndexRange:
    """Two indices with high = low + size - shift, for a new name `size`; `least` is the known minimum of the size.

    If `high_stays`, low is eliminated instead of high, a size that calls pass on. The `shift` is 0 unless calls reach
    ranges whose end is before their begin.
    """

    low: str
    high: str
    size: str
    least: int
    high_stays: bool = False
    shift: int = 0

    @property
    def distance(self) -> Poly:
        return Poly.symbol(self.high) - Poly.symbol(self.low) + self.shift

    # To terms of the size
    def substitute_high(self, value: Poly) -> Poly:
        """Eliminate the higher index from a value, or the lower one if the higher one stays."""
        low, high, size = map(Poly.symbol, (self.low, self.high, self.size))
        moved = size - self.shift
        return value.substitute({self.low: high - moved} if self.high_stays else {self.high: low + moved})

    def substitute_high_in_facts(self, facts: Facts) -> Facts:
        """Replace both indices by the size in facts; bounds that mention the lower index are dropped."""
        bounds: dict[str, Bounds] = {}
        for name, bound in facts.bounds.items():
            if name == self.high and not self.high_stays:
                low = Poly.symbol(self.low) - self.shift
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
            moved = (Poly.symbol(self.high) - value + self.shift for value in values)
        return tuple(value for value in moved if value.names.isdisjoint((self.low, self.size)))

    def _move_bounds(self, values: Iterable[Poly], less: Poly | int = 0) -> tuple[Poly, ...]:
        return tuple(moved for value in values if self.low not in (moved := self.substitute_high(value) - less).names)

    def eliminate_high(self, expr: s.Expr) -> s.Expr:
        """Eliminate the higher index from an expression of the language."""
        low, high, size = (s.Name(name, span=expr.span) for name in (self.low, self.high, self.size))
        moved = s.Binary("-", size, s.Integer(self.shift, span=expr.span), span=expr.span) if self.shift else size
        if self.high_stays:
            return substitute_names(expr, {self.low: s.Binary("-", high, moved, span=expr.span)})
        return substitute_names(expr, {self.high: s.Binary("+", low, moved, span=expr.span)})

    def eliminate_high_in_facts(self, facts: Iterable[s.Fact]) -> tuple[s.Fact, ...]:
        """Eliminate the higher index from comparisons; facts of other kinds are unchanged."""
        return tuple(self.eliminate_high(fact) if isinstance(fact, s.Binary) else fact for fact in facts)

    # Back
    def add_high_to_point(self, point: Mapping[str, int]) -> dict[str, int]:
        """Add the value of the eliminated index to a point that has the other index and the size."""
        if self.high_stays and self.size in point and self.high in point:
            return {**point, self.low: point[self.high] - point[self.size] + self.shift}
        if self.size not in point or self.low not in point:
            return dict(point)
        return {**point, self.high: point[self.low] + point[self.size] - self.shift}

    def write_tree(self, value: Poly, order: tuple[str, ...], may_vanish: frozenset[str]) -> s.Expr:
        """Write an expression as a tree, in terms of `high - low` if it depends on the indices only through that."""
        moved = self.substitute_high(value)
        if self.high not in value.names or self.low in moved.names:
            return to_tree(value, order, may_vanish)
        vanishing = may_vanish | {self.size} if self.least < 1 else may_vanish - {self.size}
        return self.restore_difference(to_tree(moved, (*order, self.size), vanishing))

    def restore_difference(self, expr: s.Expr) -> s.Expr:
        """Replace the size by the difference of the indices in an expression of the language."""
        order = self.high, self.low

        def restore_node(node: s.Expr) -> s.Expr | None:
            match node:
                case s.Name(id=self.size):
                    return to_tree(self.distance, order)
                case s.Binary(op="+", left=s.Name(id=self.size), right=s.Integer(value=more)):
                    return to_tree(self.distance + more, order)
                case _:
                    return None

        return rewrite_parts(expr, restore_node)

    def restore_difference_in_text(self, text: str) -> str:
        distance = f"({self.high} - {self.low}{f' + {self.shift}' if self.shift else ''})"
        shown = re.sub(rf"\b{self.size}\b", distance, text)
        return re.sub(rf"([(]|, ){re.escape(distance)}(?=[,)]| [-+] )", rf"\1{distance[1:-1]}", shown)


def find_index_range(
    indices: Sequence[str], facts: Facts, used: Iterable[str], ends: Iterable[str] = (), shift: int = 0
) -> IndexRange | None:
    """Return the range of two indices if one is known to be at most the other plus `shift`; else None.

    A single index may begin a range that ends at one of the sizes `ends`.
    """
    if len(indices) not in (1, 2):
        return None
    used_names = {*used, *facts.bounds}
    size = next(name for name in ("d", "d_", "d__", "d___") if name not in used_names)
    pairs = [(indices[0], end) for end in ends] if len(indices) == 1 else list(permutations(indices))
    for low, high in pairs:
        unbounded = IndexRange(low, high, size, 0, shift=shift)
        if facts.nonnegative(unbounded.distance):
            return replace(unbounded, least=unbounded.substitute_high_in_facts(facts).bounds[size].minimum or 0)
    return None
