"""The body of a recursive algorithm: calls of recursive algorithms stay calls, and conditions around them stay."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from archline.algebra.polynomial import ONE, ZERO, Poly
from archline.analysis.indicators import indicator
from archline.analysis.io.accesses import Array, Branch, Choice, Loop, Node, Recursion, View, contiguous_dimension
from archline.analysis.io.conditions import negated, wanted
from archline.analysis.io.program import Place, Program, shape_of, whole_view
from archline.analysis.recursion.graph import component
from archline.analysis.scope import Scope, declared, with_fact, without_condition
from archline.language import syntax as s


@dataclass(frozen=True, eq=False)
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
        scope = declared(self.module, algorithm)
        views: dict[str, View] = {}
        for parameter in algorithm.parameters:
            shape, layout = shape_of(parameter.type)
            if shape is not None:
                extents = tuple(self.extent(each, scope) for each in shape)
                name = parameter.name
                array = Array(name, extents, layout, aligned=name in self.aligned, strided=name in self.strided)
                views[name] = whole_view(array)
        self.names = dict.fromkeys(scope.values, 1)
        place = Place(scope, views, algorithm=algorithm.name)
        nodes = tuple(self.block(algorithm.body, place))
        return Body(algorithm, scope, nodes, tuple(view.array for view in views.values()), tuple(self._made))

    def made(self, array: Array) -> None:
        """Note a local array."""
        self._made.append(array)

    def call(self, call: s.Call, target: s.Algorithm, place: Place) -> Iterator[Node]:
        """A call of a recursive algorithm stays one."""
        if not component(self.module, target):
            yield from super().call(call, target, place)
            return
        scope, given = self.callee(call, target, place)
        views = {
            parameter.name: self.view(argument, place)
            for parameter, argument in zip(target.parameters, call.arguments, strict=True)
            if self.is_view(argument)
        }
        sizes = {name: scope.values[name] for name in self.module.bindings[call]}
        yield from self.sized(given, (Recursion(target, sizes, views, call.span),))

    def _if(self, branches: tuple[s.Branch, ...], place: Place) -> Iterator[Node]:
        found: list[Branch] = []
        tests: list[Node] = []
        inner = place
        for branch in branches:
            scope = inner.scope
            taken: Poly | None = ONE
            if branch.condition is not None:
                tests += self.reads(branch.condition, inner)
                taken = indicator(branch.condition, scope)
                here = scope.with_facts(with_fact(scope.facts, branch.condition, scope))
                held = inner.under(wanted(branch.condition, scope))
                nodes = tuple(self.block(branch.body, replace(held, scope=here)))
                left = scope.with_facts(without_condition(scope.facts, branch.condition, scope))
                inner = replace(inner.under(wanted(negated(branch.condition), scope)), scope=left)
            else:
                nodes = tuple(self.block(branch.body, inner))
            found.append(Branch(taken, branch.condition, nodes))
        yield from tests
        if place.algorithm_top or any(recurses(node) for each in found for node in each.body):
            yield Choice(tuple(found))
        else:
            yield from (node for each in found for node in each.body)


def recurses(node: Node) -> bool:
    """Whether a recursive call stands in it."""
    match node:
        case Recursion():
            return True
        case Choice(branches=branches):
            return any(recurses(node) for each in branches for node in each.body)
        case Loop(body=body):
            return any(map(recurses, body))
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
