"""Recursion on a range from one index to another, whose cost depends on how far they are apart alone.

With hi = lo + d, f(lo, hi) is a function of d where lo drops out of every case: an ordinary recursion on one size.
"""

from __future__ import annotations

from collections.abc import Callable

from archline.algebra import atoms as a
from archline.algebra.index_range import IndexRange, index_range
from archline.algebra.polynomial import Poly, total
from archline.language import syntax as s
from archline.records import record, replace
from archline.recurrences.model import Equation, SizeFunction, with_calls


@record(eq=False)
class Reduced:
    """A function of the length of a range in place of its two indices; without a range a function as it is."""

    function: SizeFunction
    indices: IndexRange | None = None

    def restored(self, value: Poly) -> Poly:
        """The value with the indices."""
        return value if self.indices is None else value.substitute({self.indices.size: self.indices.distance})


def by_distance(function: SizeFunction) -> Reduced:
    """The function in terms of the distance of its two indices, where it has such and they matter in no other way."""
    indices = [name for name in function.parameters if name not in function.least]
    used = {*function.parameters, *(name for each in function.equations for name in each.facts.bounds)}
    found = index_range(indices, function.facts, used)
    try:
        return Reduced(function) if found is None else Reduced(_Reduction(function, found).reduced(), found)
    except _IndexMattersError:
        return Reduced(function)


class _IndexMattersError(Exception):
    """Where the range lies matters, not only how long it is."""


class _Reduction:
    def __init__(self, function: SizeFunction, indices: IndexRange) -> None:
        self._function, self._indices = function, indices
        self._sizes = self._that_matter()

    def _that_matter(self) -> tuple[str, ...]:
        """The sizes that are more than handed on, as that of an array is whose range is meant."""
        function = self._function

        def changed(call: a.Applied) -> Poly:
            pairs = zip(function.parameters, call.arguments, strict=True)
            return total(value for name, value in pairs if value != Poly.symbol(name))

        used = [self._mapped(each.value, changed) for each in function.equations]
        used += [each.indicator for equation in function.equations for each in equation.decisions]
        names = frozenset().union(*(value.names for value in used))
        return tuple(name for name in function.parameters if name in function.least and name in names)

    def reduced(self) -> SizeFunction:
        """The whole function. Raises _IndexMattersError."""
        function, indices = self._function, self._indices
        return replace(
            function,
            parameters=(*self._sizes, indices.size),
            least={**{name: function.least[name] for name in self._sizes}, indices.size: indices.least},
            facts=indices.facts(function.facts),
            equations=tuple(map(self._equation, function.equations)),
            where=tuple(fact for fact in function.where if s.names(fact) <= set(self._sizes)),
        )

    def _equation(self, equation: Equation) -> Equation:
        moved = map(self._indices.moved, equation.known)
        return replace(
            equation,
            decisions=tuple(replace(each, indicator=self._free(each.indicator)) for each in equation.decisions),
            facts=self._indices.facts(equation.facts),
            value=self._free(self._mapped(equation.value, self._called)),
            known=tuple(each for each in moved if self._indices.low not in each.names),
        )

    def _called(self, call: a.Applied) -> Poly:
        """A call of the function itself, given the distance of its indices."""
        given = dict(zip(self._function.parameters, map(self._indices.moved, call.arguments), strict=True))
        apart = given[self._indices.high] - given[self._indices.low]
        return Poly.of_atom(a.Applied(call.function, (*(given[name] for name in self._sizes), apart)))

    def _mapped(self, value: Poly, change: Callable[[a.Applied], Poly]) -> Poly:
        """The value with its calls of the function itself changed."""
        return with_calls(value, lambda call: change(call) if call.function == self._function.name else None)

    def _free(self, value: Poly) -> Poly:
        """The value in terms of the distance."""
        moved = self._indices.moved(value)
        if self._indices.low in moved.names:
            raise _IndexMattersError
        return moved
