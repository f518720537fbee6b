"""Extents of arrays and loops: polynomials in sizes with coefficients >= 0, so that comparing them is easy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod

Monomial = tuple[str, ...]


@dataclass(frozen=True)
class Extent:
    """A sum of products of sizes, as (product, coefficient) pairs in order; the empty product is 1."""

    terms: tuple[tuple[Monomial, int], ...]

    @staticmethod
    def of(terms: Mapping[Monomial, int]) -> Extent:
        # Longer products first and the constant last, as one would write it.
        ordered = sorted(((k, v) for k, v in terms.items() if v), key=lambda term: (-len(term[0]), term[0]))
        return Extent(tuple(ordered))

    @staticmethod
    def size(name: str) -> Extent:
        return Extent((((name,), 1),))

    @staticmethod
    def constant(value: int) -> Extent:
        return Extent.of({(): value})

    def __add__(self, other: Extent | int) -> Extent:
        right = Extent.constant(other) if isinstance(other, int) else other
        return Extent.of(Counter(dict(self.terms)) + Counter(dict(right.terms)))

    def __mul__(self, other: Extent | int) -> Extent:
        right = Extent.constant(other) if isinstance(other, int) else other
        total: Counter[Monomial] = Counter()
        for left_names, left_factor in self.terms:
            for right_names, right_factor in right.terms:
                total[tuple(sorted(left_names + right_names))] += left_factor * right_factor
        return Extent.of(total)

    def minus(self, other: Extent) -> Extent | None:
        """The difference, where no coefficient of it is negative; then self >= other at all sizes >= 0."""
        total = Counter(dict(self.terms))
        total.subtract(dict(other.terms))
        return Extent.of(total) if min(total.values(), default=0) >= 0 else None

    def value(self, sizes: Mapping[str, int]) -> int:
        return sum(factor * prod(sizes[name] for name in names) for names, factor in self.terms)

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(name for names, _ in self.terms for name in names)

    @property
    def plain(self) -> str | None:
        """The size's name, where the extent is one size."""
        if len(self.terms) == 1 and self.terms[0][1] == 1 and len(self.terms[0][0]) == 1:
            return self.terms[0][0][0]
        return None

    @property
    def offset(self) -> int:
        """The constant term."""
        return dict(self.terms).get((), 0)

    @cached_property
    def text(self) -> str:
        return " + ".join(_term(names, factor) for names, factor in self.terms) or "0"

    @property
    def atom(self) -> str:
        """The text, in brackets where it is a sum or a product: to stand beside `//`, `%` or `-`."""
        return self.text if self.plain or not self.names else f"({self.text})"


def _term(names: Monomial, factor: int) -> str:
    if not names:
        return str(factor)
    product = f"{names[0]}^2" if len(names) == 2 and names[0] == names[1] else "*".join(names)
    return product if factor == 1 else f"{factor}*{product}"
