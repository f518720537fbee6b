"""Recursion on a range from one index to another, whose cost depends on how far they are apart alone.

With hi = lo + d, f(lo, hi) is a function of d where lo drops out of every case: an ordinary recursion on one size.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from archline.algebra import atoms as a
from archline.algebra.facts import Bounds, Facts
from archline.algebra.polynomial import ZERO, Atom, Poly, total
from archline.analysis.recursion.bodies import Decision
from archline.analysis.recursion.system import Equation, Function
from archline.language import syntax as s


@dataclass(frozen=True, eq=False)
class Reduced:
    """A function of a distance in place of two indices, and what the distance is; without one a function as it is."""

    function: Function
    size: str = ""
    distance: Poly = ZERO

    def restored(self, value: Poly) -> Poly:
        """The value with the indices."""
        return value.substitute({self.size: self.distance}) if self.size else value


def by_distance(function: Function) -> Reduced | None:
    """The function in terms of the distance of its two indices, where these matter in no other way."""
    indices = [name for name in function.parameters if name not in function.least]
    if len(indices) != 2:
        return None
    for low, high in (indices, reversed(indices)):
        if function.facts.nonnegative(Poly.symbol(high) - Poly.symbol(low)):
            return _Reduction(function, low, high).reduced()
    return None


def _names(fact: s.Fact) -> set[str]:
    return {node.id for node in s.nodes(fact) if isinstance(node, s.Name)}


class _IndexMattersError(Exception):
    """Where the range lies matters, not only how long it is."""


class _Reduction:
    def __init__(self, function: Function, low: str, high: str) -> None:
        self._function, self._low, self._high = function, low, high
        used = {*function.parameters, *(name for each in function.equations for name in each.facts.bounds)}
        self._size = next(name for name in ("d", "d_", "d__") if name not in used)
        self._moved = {high: Poly.symbol(low) + Poly.symbol(self._size)}
        self._kept_sizes = self._that_matter()

    def _that_matter(self) -> tuple[str, ...]:
        """The sizes that are more than handed on, as that of an array is whose range is meant."""
        function = self._function

        def others(atom: Atom) -> Poly | None:
            if isinstance(atom, a.Applied) and atom.function == function.name:
                pairs = zip(function.parameters, atom.arguments, strict=True)
                changed = (value for name, value in pairs if value != Poly.symbol(name))
                return total(changed)
            return atom.rebuild(tuple(part.map_atoms(others) for part in atom.parts)) if atom.parts else None

        used = [each.value.map_atoms(others) for each in function.equations]
        used += [each.indicator for equation in function.equations for each in equation.decisions]
        names = frozenset().union(*(value.names for value in used))
        return tuple(name for name in function.parameters if name in function.least and name in names)

    def reduced(self) -> Reduced | None:
        """The whole function, None where an index stays in it."""
        function = self._function
        facts = self._facts(function.facts)
        least = facts.bounds[self._size].least
        if least is None:
            return None
        try:
            equations = tuple(map(self._equation, function.equations))
        except _IndexMattersError:
            return None
        distance = Poly.symbol(self._high) - Poly.symbol(self._low)
        changed = replace(
            function,
            parameters=(*self._kept_sizes, self._size),
            least={**{name: function.least[name] for name in self._kept_sizes}, self._size: least},
            facts=facts,
            equations=equations,
            where=tuple(fact for fact in function.where if _names(fact) <= set(self._kept_sizes)),
        )
        return Reduced(changed, self._size, distance)

    def _equation(self, equation: Equation) -> Equation:
        return replace(
            equation,
            decisions=tuple(self._decision(each) for each in equation.decisions),
            facts=self._facts(equation.facts),
            value=self._free(self._called(equation.value)),
            known=tuple(each for value in equation.known if self._low not in (each := self._at(value)).names),
        )

    def _decision(self, decision: Decision) -> Decision:
        return replace(decision, indicator=self._free(self._at(decision.indicator)))

    def _called(self, value: Poly) -> Poly:
        """A value in which calls of the function itself are given the distance of their indices."""

        def called(atom: Atom) -> Poly | None:
            if isinstance(atom, a.Applied) and atom.function == self._function.name:
                given = dict(zip(self._function.parameters, map(self._at, atom.arguments), strict=True))
                sizes = (given[name] for name in self._kept_sizes)
                return Poly.of_atom(a.Applied(atom.function, (*sizes, given[self._high] - given[self._low])))
            return atom.rebuild(tuple(part.map_atoms(called) for part in atom.parts)) if atom.parts else None

        return self._at(value.map_atoms(called))

    def _at(self, value: Poly) -> Poly:
        return value.substitute(self._moved)

    def _free(self, value: Poly) -> Poly:
        if self._low in value.names:
            raise _IndexMattersError
        return value

    def _facts(self, facts: Facts) -> Facts:
        """What is known of the distance and of all else; what speaks of the lower index itself is left out."""
        bounds: dict[str, Bounds] = {}
        for name, known in facts.bounds.items():
            if name == self._high:
                low = Poly.symbol(self._low)
                bounds[self._size] = Bounds(self._kept(known.lower, low), self._kept(known.upper, low))
            elif name != self._low:
                bounds[name] = Bounds(self._kept(known.lower), self._kept(known.upper))
        return facts.with_bounds(bounds)

    def _kept(self, values: Iterable[Poly], less: Poly | int = 0) -> tuple[Poly, ...]:
        return tuple(each for value in values if self._low not in (each := self._at(value) - less).names)
