"""The most words of local arrays that a processor has at once."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from archline.algebra.polynomial import ONE, ZERO, Poly
from archline.analysis.communication.floors import rounded_up, upper_bounds
from archline.analysis.communication.place import Position, in_callee, in_split
from archline.analysis.communication.recursion import GridRecursions, Level
from archline.analysis.communication.stretches import iterations_of
from archline.analysis.metrics.eliminate_data import at_sizes, closed_amount
from archline.ir.amounts import NOTHING, Amount, Known, Unknown, add, either, exactly, later, up_to, weigh
from archline.ir.indicators import indicator
from archline.ir.ranges import Range
from archline.ir.scope import NotStaticError, declared, static_value
from archline.language import syntax as s
from archline.language.call_graph import component
from archline.language.model import Module


def _largest(amount: Amount, iterations: Range) -> Amount:
    """The most of any iteration; of bounds that are easier to compare where it has no closed form."""
    found = iterations.largest(amount)
    if isinstance(amount, Unknown) or isinstance(found, Known):
        return found
    for bound in upper_bounds(amount.upper, iterations.inside):
        most = iterations.largest(exactly(bound))
        if isinstance(most, Known):
            return Known(ZERO, most.upper)
    return found


class Memory:
    """Follows a processor through its program, as `PathCosts` does."""

    def __init__(self, module: Module, recursions: GridRecursions, level: Level | None = None) -> None:
        self._module = module
        self._stretches = recursions.stretches
        self._recursions = recursions
        self._level = level
        # Conditions of callees are none of the level that is followed.
        self._outside = self if level is None else Memory(module, recursions)
        self._kernels: dict[s.Algorithm, Amount] = {}

    def algorithm(self, algorithm: s.Algorithm, place: Position) -> Amount:
        """What runs of the whole algorithm need, its own local parameters included."""
        return add(self.parameters(algorithm, place), self.body(algorithm, place))

    def parameters(self, algorithm: s.Algorithm, place: Position) -> Amount:
        """The words of an algorithm's local parameters."""
        own: Amount = NOTHING
        for parameter in algorithm.parameters:
            if parameter.local:
                own = add(own, self._words(parameter.type, parameter, place))
        return own

    def body(self, algorithm: s.Algorithm, place: Position) -> Amount:
        """What an algorithm needs in addition to its parameters."""
        return self._block(algorithm.body, place)

    def _words(self, type_: s.Type, at: s.Node, place: Position) -> Amount:
        match type_:
            case s.ArrayType(shape=shape) | s.IndexArrayType(shape=shape):
                extents = shape
            case s.OffsetsType(count=count):
                extents = (s.Binary("+", count, s.Integer(1, span=count.span), span=count.span),)
            case s.SizeType() | s.IndexType() | s.ScalarType() | s.OperatorType():
                return NOTHING
        try:
            words = prod((static_value(extent, place.scope) for extent in extents), start=ONE)
        except NotStaticError as problem:
            return Unknown(f"the data decides how long this array is: {problem.reason}", at.span)
        return place.bounded(exactly(rounded_up(place.scope.facts.simplify(words))), at.span)

    def _block(self, body: tuple[s.Stmt, ...], place: Position) -> Amount:
        total: Amount = NOTHING
        most: Amount = NOTHING
        for statement in body:
            facts = place.scope.facts
            during = self._statement(statement, place)
            if most == total and self._recurses(statement):
                # As much is alive in a call as before it, though closed forms of recursion do not show it.
                most = add(total, during)
            else:
                most = later(most, add(total, during), facts)
            if isinstance(statement, s.Local):
                total = add(total, self._words(statement.type, statement, place))
                most = later(most, total, facts)
            place = place.behind(statement, self._stretches.behind(statement, place.scope))
        return most

    def _recurses(self, statement: s.Stmt) -> bool:
        targets = (self._module.targets.get(node) for node in s.nodes(statement) if isinstance(node, s.Call))
        return any(isinstance(each, s.Algorithm) and bool(component(self._module, each)) for each in targets)

    def _statement(self, statement: s.Stmt, place: Position) -> Amount:
        match statement:
            case s.Loop():
                return self._loop(statement, place)
            case s.While(body=body):
                return up_to(self._block(body, place))
            case s.If(branches=branches):
                return self._if(branches, place)
            case s.Split():
                try:
                    return self._block(statement.body, in_split(statement, place))
                except NotStaticError as problem:
                    return Unknown(problem.reason, statement.span)
            case s.Communicate() if statement in self._module.collectives:
                invoke = self._module.collectives[statement].invoke
                return self._calls(invoke, place, invoke.along)
            case s.Invoke(along=along):
                return self._calls(statement, place, along)
            case (
                s.Communicate()
                | s.Let()
                | s.Local()
                | s.Assign()
                | s.Sync()
                | s.Pass()
                | s.Return()
                | s.Assume()
                | s.Costs()
                | s.Transfer()
            ):
                return self._calls(statement, place, ())

    def _calls(self, statement: s.Stmt, place: Position, along: tuple[s.Name, ...]) -> Amount:
        most: Amount = NOTHING
        for node in s.nodes(statement):
            target = self._module.targets.get(node) if isinstance(node, s.Call) else None
            if isinstance(node, s.Call) and isinstance(target, s.Algorithm):
                found = self._call(node, target, along, place)
                most = found if most is NOTHING else later(most, found, place.scope.facts)
        return most

    def _call(self, call: s.Call, callee: s.Algorithm, along: tuple[s.Name, ...], place: Position) -> Amount:
        recursive = bool(component(self._module, callee))
        if callee.grid:
            try:
                inside = in_callee(self._module, call, callee, along, place)
            except NotStaticError as problem:
                return Unknown(problem.reason, call.span)
            if recursive:
                return self._recursions.amounts(callee, inside, call, self._level)["memory"]
            return self._outside.body(callee, inside)
        sizes = self._stretches.sizes(call, callee, place.scope)
        if recursive:
            inside = replace(place, scope=replace(place.scope, values=sizes))
            return self._recursions.amounts(callee, inside, call, self._level)["memory"]
        return place.bounded(at_sizes(self._outside.kernel(callee), sizes, place.scope.facts, call), call.span)

    def kernel(self, algorithm: s.Algorithm) -> Amount:
        """What an algorithm on one processor needs in addition to its parameters, in its sizes."""
        if algorithm not in self._kernels:
            scope = declared(self._module, algorithm)
            self._kernels[algorithm] = closed_amount(
                self._block(algorithm.body, Position(scope, {})), scope.facts, algorithm
            )
        return self._kernels[algorithm]

    def _loop(self, loop: s.Loop, place: Position) -> Amount:
        try:
            iterations = iterations_of(loop, place.scope)
        except NotStaticError:
            scope = place.scope.without_value(loop.variable)
            return up_to(self._block(loop.body, place.with_scope(scope)))
        scope = place.scope.with_facts(iterations.inside).with_value(loop.variable, iterations.value)
        return place.bounded(_largest(self._block(loop.body, place.with_scope(scope)), iterations), loop.span)

    def _if(self, branches: tuple[s.Branch, ...], place: Position) -> Amount:
        first, *rest = branches
        if first.condition is None:
            return self._block(first.body, place)
        facts = place.scope.facts
        taken = indicator(first.condition, place.scope)
        taken = None if taken is None else facts.simplify(taken)
        if self._level is not None and taken is not None:
            decided = self._level.decided(first, taken, place)
            taken = taken if decided is None else Poly.constant(int(decided))
        opposite = s.Unary("not", first.condition, span=first.condition.span)
        if taken == ZERO:
            return self._if(tuple(rest), place.knowing(opposite)) if rest else NOTHING
        arm = self._block(first.body, place.knowing(first.condition))
        if taken == ONE:
            return arm
        other = self._if(tuple(rest), place.knowing(opposite)) if rest else NOTHING
        if taken is not None and not place.moves(taken):
            return weigh(taken, arm, other)
        found = either(arm, other, facts)
        return Known(ZERO, found.upper) if place.ranged and isinstance(found, Known) else found
