"""The mean over all processors from below: some processor spends no less, whichever that is."""

from __future__ import annotations

from collections.abc import Iterator, KeysView
from math import prod

from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Poly
from archline.algebra.relax import bounded_sum
from archline.algebra.sums.summation import UnresolvedError, sum_over
from archline.ir.conditions import indicator, negated, with_fact
from archline.ir.scope import Scope, known_value
from archline.language import syntax as s
from archline.language.printer import format_fact
from archline.records import record, replace

Told = tuple[s.Fact, Scope]
"""A condition, and what names mean in it."""


@record(eq=False)
class Average:
    """Which processors come to a place: those for which all of `needs` hold.

    All of `given` hold of those that do: that is no fact of a sum over all.
    """

    needs: tuple[Told, ...] = ()
    given: tuple[Told, ...] = ()

    def under(self, condition: s.Fact, scope: Scope) -> Average:
        """Those of these for which a condition holds."""
        return Average((*self.needs, (condition, scope)), (*self.given, (condition, scope)))

    def knowing(self, fact: s.Fact, scope: Scope) -> Average:
        """The same, of whom something else is known."""
        return replace(self, given=(*self.given, (fact, scope)))

    def inside(self, facts: Facts) -> Facts:
        """What holds of those that come here."""
        for fact, scope in self.given:
            facts = with_fact(facts, fact, scope)
        return facts

    def only(self, name: str) -> Poly | None:
        """What a symbol is of those that come here: `when r == q`."""
        for condition, scope in (part for told in self.given for part in _conjuncts(*told)):
            match condition:
                case s.Binary(op="==", left=left, right=right):
                    ends = known_value(left, scope), known_value(right, scope)
                    for one, other in (ends, ends[::-1]):
                        if one == Poly.symbol(name) and other is not None and name not in other.names:
                            return other
                case _:
                    pass
        return None

    @property
    def weight(self) -> Poly:
        """1 of those that come here, 0 of the others; 0 of all where that is not known."""
        told = {_key(*part): part for condition, scope in self.needs for part in _conjuncts(condition, scope)}
        # Of a, and of a or b, the second says nothing more.
        weights = [_indicator(*part) for part in told.values() if not _implied(*part, told.keys())]
        return ZERO if None in weights else prod((each for each in weights if each is not None), start=ONE)


def _indicator(condition: s.Fact, scope: Scope) -> Poly | None:
    if isinstance(condition, s.IsPower | s.IsSquare | s.Divides):
        return None
    found = indicator(condition, scope)
    return None if found is None else scope.facts.simplify(found)


def _conjuncts(condition: s.Fact, scope: Scope) -> Iterator[Told]:
    match condition:
        case s.Binary(op="and", left=left, right=right):
            yield from _conjuncts(left, scope)
            yield from _conjuncts(right, scope)
        case s.Unary(op="not", operand=s.Binary() | s.Unary() as inner) if negated(inner) != condition:
            yield from _conjuncts(negated(inner), scope)
        case _:
            yield condition, scope


def _implied(condition: s.Fact, scope: Scope, known: KeysView[object]) -> bool:
    """Whether one side of an `or` is known."""
    match condition:
        case s.Binary(op="or", left=left, right=right):
            return any(
                _implied(side, scope, known) or {_key(*part) for part in _conjuncts(side, scope)} <= known
                for side in (left, right)
            )
        case _:
            return False


def _key(condition: s.Fact, scope: Scope) -> object:
    return format_fact(condition), tuple((name, scope.values.get(name)) for name in sorted(s.names(condition)))


def sum_below(value: Poly, name: str, extent: Poly, facts: Facts) -> Poly | None:
    """At most the sum over a coordinate; None where none is found."""
    try:
        return sum_over(value, name, ZERO, extent, facts)
    except UnresolvedError:
        found = bounded_sum(value, name, ZERO, extent, facts, False)
        return None if found is None or name in found.names else found
