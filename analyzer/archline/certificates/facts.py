"""What facts say: sums that are at most other sums."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from archline.certificates import terms as t
from archline.certificates.constants import constant, rational
from archline.certificates.places import RejectedError
from archline.language import syntax as s
from archline.language.parser import parse_facts


@dataclass(frozen=True)
class Comparison:
    """small <= large, terms brought to the side where they are positive; `sides` are as they were written."""

    small: t.Sum
    large: t.Sum
    sides: tuple[s.Expr, ...]
    positive: tuple[s.Expr, ...] = ()
    """What has to be positive for the comparison to hold."""


class Facts:
    """The facts of a certificate, read when they are used."""

    def __init__(self, texts: list[str]) -> None:
        self._texts = texts
        self._known: dict[int, list[Comparison]] = {}

    @cached_property
    def facts(self) -> list[s.Fact]:
        """Each as syntax."""
        parsed = [parse_facts(text) for text in self._texts]
        if any(len(each) != 1 for each in parsed):
            raise RejectedError("a fact is not one fact")
        return [each for (each,) in parsed]

    def comparisons(self, index: object) -> list[Comparison]:
        """What one of them says."""
        if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < len(self.facts):
            raise RejectedError(f"there is no fact {index}")
        if index not in self._known:
            self._known[index] = list(_comparisons(self.facts[index]))
        return self._known[index]


def _comparisons(fact: s.Fact) -> Iterator[Comparison]:
    match fact:
        case s.Binary(op="and", left=left, right=right):
            yield from _comparisons(left)
            yield from _comparisons(right)
        case s.Binary(op="==" | "<=" | "<" | ">=" | ">" as op, left=left, right=right):
            if op in ("==", "<=", "<"):
                yield _comparison(left, right)
            if op in ("==", ">=", ">"):
                yield _comparison(right, left)
        case s.Divides(divisor=divisor, value=value):
            yield _comparison(divisor, value, (divisor, value))
        case s.IsPower(value=value, base=base) if _at_least_one(base):
            yield _brought(t.plus(t.expand(value), {t.Term(): t.ONE}, -1), (value, base))
        case _:
            pass


def _comparison(small: s.Expr, large: s.Expr, positive: tuple[s.Expr, ...] = ()) -> Comparison:
    return _brought(t.plus(t.expand(large), t.expand(small), -1), (small, large), positive)


def _brought(gap: t.Sum, sides: tuple[s.Expr, ...], positive: tuple[s.Expr, ...] = ()) -> Comparison:
    """0 <= gap, each term on the side where it is positive."""
    return Comparison(
        {term: -value for term, value in gap.items() if value.sign < 0},
        {term: value for term, value in gap.items() if value.sign > 0},
        sides,
        positive,
    )


def _at_least_one(base: s.Expr) -> bool:
    return isinstance(base, s.Name) or (not t.names(base) and rational(1) <= constant(base))
