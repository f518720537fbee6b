"""The body of an algorithm as far as it can be followed: all calls stay calls, and what is not followed is left out.

For what is touched at least. On each way through the branches of the body, all that stands there is as certain as the
way is. Integers of the data are symbols for as long as no statement sets them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

from archline.algebra import atoms as a
from archline.algebra.polynomial import ONE, Poly
from archline.ir.conditions import knowing, negated, required
from archline.ir.lower import Program
from archline.ir.places import Place, static, whole_view
from archline.ir.recursive import Bodies
from archline.ir.scope import Scope
from archline.ir.tree import Array, Branch, Choice, Node, Recursion, View
from archline.ir.unsupported import UntracedError
from archline.language import syntax as s


@dataclass(eq=False)
class Followed(Bodies):
    """Follows an algorithm's own body."""

    def view(self, expr: s.Expr, place: Place) -> View:
        return super().view(expr, replace(place, scope=replace(place.knowing, reads_offsets=True)))

    def _statement(self, statement: s.Stmt, place: Place, after: Place) -> Iterator[Node]:
        try:
            yield from super()._statement(statement, place, after)
        except UntracedError:
            return

    def _after(self, statement: s.Stmt, place: Place) -> Place:
        try:
            after = super()._after(statement, place)
        except UntracedError:
            return self._without(statement, place.after(statement))
        if not place.algorithm_top:
            return after
        named = {name: self._value(statement, name, place) for name in self._unknown(statement, place, after)}
        return replace(after, integers={**after.integers, **named})

    def _unknown(self, statement: s.Stmt, place: Place, after: Place) -> set[str]:
        """The integers that a statement gives values of the data."""
        found = place.integers.keys() - after.integers.keys()
        if (isinstance(statement, s.Let) and not self.module.is_view(statement.value)) or (
            isinstance(statement, s.Local) and statement.is_integer and statement.value is not None
        ):
            found |= {statement.name}
        return found - after.knowing.values.keys()

    def _value(self, statement: s.Stmt, name: str, place: Place) -> Poly:
        if isinstance(statement, s.Assign) and statement.op in ("=", "+="):
            found = static(statement.value, place.knowing)
            if found is not None:
                return found + place.integers[name] if statement.op == "+=" else found
        return self._symbol(name)

    def _without(self, statement: s.Stmt, place: Place) -> Place:
        """The name of a view, or of a local array, of which nothing is known."""
        match statement:
            case s.Let(name=name, value=value):
                dimensions = len(self.module.shapes[value])
            case s.Local(name=name, type=s.ArrayType(shape=shape)):
                dimensions = len(shape)
            case _:
                # Only the two above name arrays.
                return place
        return replace(place, views={**place.views, name: self._anything(name, dimensions)})

    def _anything(self, name: str, dimensions: int) -> View:
        """A view of what is not known, in so many dimensions."""
        extents = tuple(self._symbol(name) for _ in range(dimensions))
        return replace(whole_view(Array(name, extents, "rowmajor", local=True, exact=False)), exact=False)

    def _symbol(self, name: str) -> Poly:
        """A number of which nothing is known but that it is one."""
        return Poly.symbol(self.fresh(f"some {name}"))

    def _loop(self, loop: s.Loop, place: Place) -> Iterator[Node]:
        # What the loop does not set is the same in all iterations.
        values = {**place.after(loop).integers, **place.scope.values}
        yield from super()._loop(loop, replace(place, scope=replace(place.scope, values=values)))

    def _if(self, branches: tuple[s.Branch, ...], place: Place) -> Iterator[Node]:
        if not place.algorithm_top:
            yield from Program._if(self, branches, place)
            return
        found: list[Branch] = []
        before: list[tuple[Poly, ...]] = [()]
        read: tuple[Node, ...] = ()
        for branch in branches:
            if branch.condition is None:
                body = (*read, *self.block(branch.body, place))
                found += [Branch(ONE, ONE, None, body, known) for known in before]
                break
            read = (*read, *self.reads(branch.condition, place))
            held = replace(place, scope=knowing(place.scope, branch.condition))
            body = (*read, *self.block(branch.body, held))
            otherwise = negated(branch.condition)
            taken, left = (_ways_of(each, place.scope) for each in (branch.condition, otherwise))
            found += [Branch(None, ONE, branch.condition, body, (*old, *new)) for old in before for new in taken]
            before = [(*old, *new) for old in before for new in left]
            place = replace(place, scope=knowing(place.scope, otherwise))
        else:
            found += [Branch(ONE, ONE, None, read, known) for known in before]
        yield Choice(tuple(found))

    def call(self, call: s.Call, target: s.Algorithm, place: Place) -> Iterator[Node]:
        if not place.certain or place.when:
            return
        views = {}
        for parameter, argument in zip(target.parameters, call.arguments, strict=True):
            if self.module.is_view(argument):
                try:
                    views[parameter.name] = self.view(argument, place)
                except UntracedError:
                    views[parameter.name] = self._anything(parameter.name, len(self.module.shapes[argument]))
        sizes, signature = {}, self.module.signatures[target]
        for name in (*signature.size_names, *signature.indices):
            bound = self.module.bindings[call][name]
            found = None if bound is None else static(bound, place.knowing)
            sizes[name] = self._symbol(name) if found is None else found
        yield Recursion(target, sizes, views, call.span)


def _ways_of(condition: s.Expr, scope: Scope) -> list[tuple[Poly, ...]]:
    """What is at least 0 where a condition holds: more ways than one where two sizes differ either way."""
    return [tuple(each) for each in product(*(a.options(need, True) for need in required(condition, scope) or ()))]
