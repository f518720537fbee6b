"""Expressions at points: each is compiled once, and computed once at a point, for all searches that look there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from archline.algebra.evaluate.compiled import Compiler, Compute, Environment, Number
from archline.algebra.polynomial import Poly
from archline.recurrences.evaluate.decisions import Point

MAX_SEEN = 5_000
"""Of how many points values are kept."""


class _Compiled(dict[Poly, Compute]):
    """Expressions in some symbols, each compiled once."""

    def __init__(self, compiler: Compiler) -> None:
        super().__init__()
        self.compiler = compiler

    def __missing__(self, value: Poly) -> Compute:
        self[value] = found = self.compiler.of(value)
        return found


class _Place:
    """A point, and the values of expressions there."""

    def __init__(self, compiled: _Compiled, environment: Environment) -> None:
        self.compiled, self._environment = compiled, environment
        self._numbers: dict[Compute, Number] = {}

    def numbers(self, computes: Sequence[Compute]) -> list[Number]:
        known = self._numbers
        self.compiled.compiler.extend(self._environment)
        for each in computes:
            if each not in known:
                known[each] = each(self._environment)
        return [known[each] for each in computes]


class Places:
    """Points, with what is known of expressions there."""

    def __init__(self) -> None:
        self._compilers: dict[tuple[str, ...], _Compiled] = {}
        self._places: dict[tuple[tuple[str, int | Fraction], ...], _Place] = {}
        self._seen: dict[int, tuple[Point, _Place]] = {}

    def number(self, value: Poly, point: Point) -> Number:
        """The value at a point, an integer of Python where it is whole."""
        there = self._at(point)
        return there.numbers([there.compiled[value]])[0]

    def table(self, values: Iterable[Poly], points: Sequence[Point]) -> list[list[Number]]:
        """Values at each of several points."""
        values, places = list(values), list(map(self._at, points))
        # Points are mostly in the same symbols.
        made = {id(each.compiled): each.compiled for each in places}
        computes = {name: list(map(each.__getitem__, values)) for name, each in made.items()}
        return [each.numbers(computes[id(each.compiled)]) for each in places]

    def _at(self, point: Point) -> _Place:
        # The same few points come again and again; kept, none of them makes way for another at its address.
        seen = self._seen.get(id(point))
        if seen is None:
            if len(self._seen) >= MAX_SEEN:
                self._seen.clear()
                self._places.clear()
            seen = self._seen[id(point)] = point, self._place(tuple(point.items()))
        return seen[1]

    def _place(self, point: tuple[tuple[str, int | Fraction], ...]) -> _Place:
        if point not in self._places:
            names = tuple([name for name, _ in point])
            if names not in self._compilers:
                self._compilers[names] = _Compiled(Compiler(names))
            compiled = self._compilers[names]
            self._places[point] = _Place(compiled, compiled.compiler.environment([number for _, number in point]))
        return self._places[point]
