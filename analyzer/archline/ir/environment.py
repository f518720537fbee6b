"""A place in a program that is followed: what names mean there, and what lies around it."""

from __future__ import annotations

from collections.abc import Mapping

from archline.algebra.polynomial import ZERO, Poly
from archline.ir.monotone import Around, assigned
from archline.ir.scope import Scope
from archline.ir.tree import Array, View
from archline.language import syntax as s
from archline.records import field, record, replace


@record(eq=False)
class Place:
    """Where in the program we are: what names mean, the loops around, and the lines of local arrays below.

    Where `certain`, every iteration of the loops comes here in which all of `when` are at least 0. `integers` are those
    of the data, which statements may set, whose values are known here. Behind the loop `rested` no integer was set.
    """

    scope: Scope
    views: Mapping[str, View]
    loops: tuple[str, ...] = ()
    stack: Poly = ZERO
    algorithm: str = ""
    depth: int = 0
    around: tuple[Around, ...] = ()
    locals: tuple[Array, ...] = ()
    certain: bool = True
    when: tuple[Poly, ...] = ()
    integers: Mapping[str, Poly] = field(default_factory=dict)
    rested: Around | None = None

    @property
    def algorithm_top(self) -> bool:
        """Whether no loop or call lies between here and the algorithm that is followed."""
        return not self.loops and not self.depth

    @property
    def always(self) -> bool:
        """Whether every run comes here, whatever the sizes are."""
        return self.certain and not self.when and not self.loops

    @property
    def knowing(self) -> Scope:
        """What names mean, integers of the data that are known here among them."""
        return replace(self.scope, values={**self.integers, **self.scope.values}) if self.integers else self.scope

    def inside(self, scope: Scope, loop: s.Loop | s.While, variable: str, certain: bool) -> Place:
        """In the body of a loop."""
        around = (*self.around, Around(loop, variable, self.scope.facts, self.integers))
        loops, certain = (*self.loops, variable), self.certain and certain
        inner = replace(self, scope=scope, loops=loops, around=around, certain=certain)
        return replace(inner.after(loop), rested=None)

    def after(self, statement: s.Stmt) -> Place:
        """Behind a statement, or in a loop: integers that it sets are not known."""
        changed, rested = set(assigned(statement)), self.rested
        if isinstance(statement, s.Loop | s.While):
            rested = Around(statement, "", self.scope.facts, self.integers)
        elif changed:
            rested = None
        if rested is self.rested and not self.integers.keys() & changed:
            return self
        integers = {name: value for name, value in self.integers.items() if name not in changed}
        return replace(self, integers=integers, rested=rested)

    def under(self, conditions: tuple[Poly, ...] | None) -> Place:
        """Where conditions hold; None where more than sizes and loop variables decide."""
        if conditions is None:
            return replace(self, certain=False)
        return replace(self, when=(*self.when, *conditions))
