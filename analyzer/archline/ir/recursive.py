"""The body of a recursive algorithm: calls of recursive algorithms stay calls, and conditions around them stay."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from archline.algebra.polynomial import ONE, ZERO, Poly
from archline.ir.conditions import indicator, knowing, negated, required
from archline.ir.lower import Program
from archline.ir.places import Place
from archline.ir.scope import Scope
from archline.ir.tree import Access, Array, Branch, Choice, Loop, Node, Recursion, View, contiguous_dimension
from archline.language import call_graph
from archline.language import syntax as s
from archline.records import record

MAX_WAYS = 64
Way = tuple[tuple[Poly, ...] | None, tuple[Node, ...]]
"""What is at least 0 where it is taken, None where the data decides or no amounts tell, and what is done on it."""


class TooManyWaysError(Exception):
    """There are more than MAX_WAYS."""


@record(eq=False)
class Body:
    """What one call does, in the sizes of the algorithm; `given` are its arrays, `made` those that it makes."""

    algorithm: s.Algorithm
    scope: Scope
    nodes: tuple[Node, ...]
    given: tuple[Array, ...]
    made: tuple[Array, ...]


@dataclass(eq=False)
class Bodies(Program):
    """Follows a recursive algorithm as far as its calls.

    Of its array parameters, rows of those in `aligned` begin with a line, and entries of those in `strided` lie apart.
    """

    aligned: frozenset[str] = frozenset()
    strided: frozenset[str] = frozenset()
    _made: list[Array] = field(default_factory=list)

    def body(self, algorithm: s.Algorithm) -> Body:
        """The body of an algorithm. Raises UntracedError."""
        scope, views = self.given(algorithm)
        nodes = self.body_of(algorithm, scope, views)
        return Body(algorithm, scope, nodes, tuple(view.array for view in views.values()), tuple(self._made))

    def parameter(self, name: str, extents: tuple[Poly, ...], layout: str) -> Array:
        return Array(name, extents, layout, aligned=name in self.aligned, strided=name in self.strided)

    def made(self, array: Array) -> None:
        """Note a local array."""
        self._made.append(array)

    def call(self, call: s.Call, target: s.Algorithm, place: Place) -> Iterator[Node]:
        """A call of a recursive algorithm stays one."""
        if not call_graph.component(self.module, target):
            yield from super().call(call, target, place)
            return
        scope, given = self.callee(call, target, place)
        views = {
            parameter.name: self.view(argument, place)
            for parameter, argument in zip(target.parameters, call.arguments, strict=True)
            if self.module.is_view(argument)
        }
        sizes = {name: scope.values[name] for name in self.module.bindings[call]}
        known = all(array.exact and not array.within and array.layout != "zmorton" for array in place.locals)
        base = place.stack if known else None
        yield from self.sized(given, (Recursion(target, sizes, views, call.span, base),))

    def _if(self, branches: tuple[s.Branch, ...], place: Place) -> Iterator[Node]:
        """Branches of the algorithm's own body stay apart: what stands in one is as certain as the branch is."""
        if not place.algorithm_top and not any(map(self._recurses, branches)):
            yield from super()._if(branches, place)
            return
        found: list[Branch] = []
        inner = place
        before: tuple[Poly, ...] | None = ()
        for branch in branches:
            if branch.condition is None:
                found.append(Branch(ONE, ONE, None, tuple(self.block(branch.body, inner)), before))
                break
            yield from self.reads(branch.condition, inner)
            taken = indicator(branch.condition, inner.scope)
            held, left = inner, inner
            if taken is None or not place.algorithm_top:
                held = inner.under(required(branch.condition, inner.scope))
                left = inner.under(required(negated(branch.condition), inner.scope))
            if taken is not None:
                # Only where the condition holds is the branch looked at, and only elsewhere those behind it.
                held = replace(held, scope=knowing(held.scope, branch.condition))
                left = replace(left, scope=knowing(left.scope, negated(branch.condition)))
            possible = _possible(branch.condition, inner.scope)
            here = _both(before, required(branch.condition, inner.scope))
            found.append(Branch(taken, possible, branch.condition, tuple(self.block(branch.body, held)), here))
            before = _both(before, required(negated(branch.condition), inner.scope))
            inner = left
        yield Choice(tuple(found))

    def _recurses(self, branch: s.Branch) -> bool:
        """Whether a recursive algorithm may be called in a branch."""
        called = (self.module.targets.get(node) for node in s.nodes(branch.body) if isinstance(node, s.Call))
        return any(isinstance(target, s.Algorithm) and call_graph.recurses(self.module, target) for target in called)


def _both(one: tuple[Poly, ...] | None, other: tuple[Poly, ...] | None) -> tuple[Poly, ...] | None:
    return None if one is None or other is None else (*one, *other)


def _possible(condition: s.Expr, scope: Scope) -> Poly:
    """0 where a condition cannot hold, 1 elsewhere."""
    found = indicator(condition, scope)
    if found is not None:
        return found
    match condition:
        case s.Binary(op="and", left=left, right=right):
            return _possible(left, scope) * _possible(right, scope)
        case _:
            return ONE


def ways(nodes: Sequence[Node]) -> list[Way]:
    """Every way through the branches that stay apart. Raises TooManyWaysError."""
    found: list[Way] = [((), ())]
    for node in nodes:
        inner = _through(node) if isinstance(node, Choice) else [((), (node,))]
        found = [(_both(known, more), (*before, *way)) for known, before in found for more, way in inner]
        if len(found) > MAX_WAYS:
            raise TooManyWaysError
    return found


def _through(choice: Choice) -> list[Way]:
    """The ways through each branch, and that on which none is taken, of which nothing is told."""
    found = [(_both(each.known, known), way) for each in choice.branches for known, way in ways(each.body)]
    return found if choice.branches[-1].condition is None else [*found, ((), ())]


def recurses(node: Node) -> bool:
    """Whether a recursive call stands in it."""
    match node:
        case Recursion():
            return True
        case Choice(branches=branches):
            return any(recurses(node) for each in branches for node in each.body)
        case Loop(body=body):
            return any(map(recurses, body))
        case Access():
            return False


def calls(nodes: Iterable[Node]) -> Iterator[Recursion]:
    """The recursive calls among nodes and in them."""
    for node in nodes:
        match node:
            case Recursion():
                yield node
            case Loop(body=body):
                yield from calls(body)
            case Choice(branches=branches):
                for each in branches:
                    yield from calls(each.body)
            case Access():
                pass


def in_rows(view: View) -> bool:
    """Whether neighbours in the view's rows are neighbours in memory."""
    array = view.array
    if array.strided:
        return False
    if not view.axes:
        return True
    if array.layout == "zmorton":
        return len(view.axes) == 2
    own = view.axes[0] if array.layout == "colmajor" and len(view.axes) > 1 else view.axes[-1]
    return own == (contiguous_dimension(array), ONE)


def at_lines(view: View) -> bool:
    """Whether the view's rows begin with lines: they begin where those of an array do that begin so.

    A view in Z-Morton order does where it is all of an array; those of a vector that is seen as a matrix need not.
    """
    array, along = view.array, contiguous_dimension(view.array)
    if array.layout == "zmorton":
        return array.aligned and view.extents == array.extents and view.axes == ((0, ONE), (1, ONE))
    return array.aligned and view.starts[along] == ZERO and sum(axis == along for axis, _ in view.axes) < 2
