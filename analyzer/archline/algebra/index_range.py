"""Two indices that begin and end a range: what depends on their distance alone is written in terms of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from archline.algebra.bounds import Bounds
from archline.algebra.facts import Facts
from archline.algebra.polynomial import Poly
from archline.algebra.printing import to_tree
from archline.expr import build as b
from archline.expr.tree import substituted
from archline.language import syntax as s
from archline.records import record, replace


@record
class IndexRange:
    """`high` = `low` + `size`, a name that occurs nowhere else; the least size is known."""

    low: str
    high: str
    size: str
    least: int

    @property
    def distance(self) -> Poly:
        """The size in terms of the indices."""
        return Poly.symbol(self.high) - Poly.symbol(self.low)

    # To terms of the size
    def moved(self, value: Poly) -> Poly:
        """An expression without the higher index."""
        return value.substitute({self.high: Poly.symbol(self.low) + Poly.symbol(self.size)})

    def facts(self, facts: Facts) -> Facts:
        """What is known of the size and of all else; what speaks of the lower index itself is left out."""
        bounds: dict[str, Bounds] = {}
        for name, known in facts.bounds.items():
            if name == self.high:
                low = Poly.symbol(self.low)
                bounds[self.size] = Bounds(self._kept(known.lower, low), self._kept(known.upper, low))
            elif name != self.low:
                bounds[name] = Bounds(self._kept(known.lower), self._kept(known.upper))
        return facts.with_bounds(bounds)

    def _kept(self, values: Iterable[Poly], less: Poly | int = 0) -> tuple[Poly, ...]:
        return tuple(each for value in values if self.low not in (each := self.moved(value) - less).names)

    def written(self, expr: s.Expr) -> s.Expr:
        """An expression of the language without the higher index."""
        low, size = (s.Name(name, span=expr.span) for name in (self.low, self.size))
        return substituted(expr, {self.high: s.Binary("+", low, size, span=expr.span)})

    def written_facts(self, facts: Iterable[s.Fact]) -> tuple[s.Fact, ...]:
        """The same of facts; those that are no comparisons stay as they are."""
        return tuple(self.written(each) if isinstance(each, s.Binary) else each for each in facts)

    # Back
    def point(self, point: Mapping[str, int]) -> dict[str, int]:
        """Sizes and indices, with the higher one where the size is given."""
        if self.size not in point or self.low not in point:
            return dict(point)
        return {**point, self.high: point[self.low] + point[self.size]}

    def tree(self, value: Poly, order: tuple[str, ...], may_vanish: frozenset[str]) -> s.Expr:
        """An expression as a tree, in terms of `high - low` where that is all that it depends on."""
        moved = self.moved(value)
        if self.high not in value.names or self.low in moved.names:
            return to_tree(value, order, may_vanish)
        vanishing = may_vanish | {self.size} if self.least < 1 else may_vanish - {self.size}
        return self.restored(to_tree(moved, (*order, self.size), vanishing))

    def restored(self, expr: s.Expr) -> s.Expr:
        """An expression of the language with the indices' difference in place of the size."""
        return substituted(expr, {self.size: b.binary("-", b.name(self.high), b.name(self.low))})

    def restored_text(self, text: str) -> str:
        """The same of a text."""
        distance = f"({self.high} - {self.low})"
        shown = re.sub(rf"\b{self.size}\b", distance, text)
        return re.sub(rf"([(]|, ){re.escape(distance)}(?=[,)]| [-+] )", rf"\1{distance[1:-1]}", shown)


def index_range(indices: Sequence[str], facts: Facts, used: Iterable[str]) -> IndexRange | None:
    """The range of two indices of which one is known to be at most the other; none where there are more or fewer."""
    if len(indices) != 2:
        return None
    taken = {*used, *facts.bounds}
    size = next(name for name in ("d", "d_", "d__", "d___") if name not in taken)
    for low, high in (tuple(indices), tuple(reversed(indices))):
        if facts.nonnegative(Poly.symbol(high) - Poly.symbol(low)):
            plain = IndexRange(low, high, size, 0)
            return replace(plain, least=plain.facts(facts).bounds[size].least or 0)
    return None
