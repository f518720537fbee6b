"""Lower an algorithm to a tree of its accesses in serial order: loops stay loops, calls are inlined."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Poly
from archline.expr.tree import Span
from archline.ir.conditions import equivalent_constraints, negate_condition, scope_after
from archline.ir.declarations import declared_scope
from archline.ir.factored import UnboundedError, factored_maximum
from archline.ir.layout import array_lines
from archline.ir.places import (
    LoweringContext,
    bind_call,
    bind_data_sizes,
    is_constant_in,
    is_exact,
    max_extent,
    monotone_stream,
    shape_of,
    static_value_or_none,
    view_of,
    whole_view,
)
from archline.ir.ranges import data_range, is_nondecreasing, static_range
from archline.ir.scope import NotStaticError, Scope, floor_of_bound, known_value, static_value
from archline.ir.tree import Access, Array, Loop, MonotoneWalk, Node, UntracedError, View, contiguous_dimension
from archline.language import syntax as s
from archline.language.call_graph import find_component
from archline.language.model import Module

MAX_ACCESSES = 400

CounterRange = tuple[Poly, Poly, Poly, Poly, Facts, bool]
"""The least counter, the greatest one plus 1, the maximum trip count, the loop variable's value, the facts inside,
and whether every counter of the range has its iteration."""

ElementPlace = tuple[Array, tuple[Poly | None, ...]]
"""An element of an array, determined by sizes and loop counters."""


class LoweringPolicy:
    """Decides how a lowering treats calls, branches and loops; by default all are followed and recursion is refused."""

    def array(self, name: str, extents: tuple[Poly, ...], layout: str) -> Array:
        """Build the array of a parameter."""
        return Array(name, extents, layout)

    def statement(
        self, program: Lowering, statement: s.Stmt, place: LoweringContext
    ) -> tuple[Iterable[Node], LoweringContext]:
        """Return the accesses of a statement, and the context after it."""
        after = program.after(statement, place)
        return program.statement(statement, place, after), after

    def reading(self, place: LoweringContext) -> Scope:
        """Return the scope in which the bounds of views are evaluated."""
        return place.scope

    def loop(self, place: LoweringContext, loop: s.Loop) -> LoweringContext:
        """Return the context at the beginning of a loop."""
        return place

    def branches(self, program: Lowering, branches: tuple[s.Branch, ...], place: LoweringContext) -> Iterator[Node]:
        """Return the accesses of an `if`."""
        return program.branches(branches, place)

    def call(self, program: Lowering, call: s.Call, target: s.Algorithm, place: LoweringContext) -> Iterator[Node]:
        """Return the accesses of a call of an algorithm."""
        if find_component(program.module, target):
            raise UntracedError(f"io of recursion (`{target.name}`) is not derived in this version", call.span)
        return program.inline_call(call, target, place)


@dataclass(eq=False)
class Lowering:
    """Lowers an algorithm; a policy decides about calls and branches.

    `names` counts the loops of each name; `made` are the local arrays found so far, with their largest extents.
    """

    module: Module
    policy: LoweringPolicy = field(default_factory=LoweringPolicy)
    names: dict[str, int] = field(default_factory=dict)
    made: list[Array] = field(default_factory=list)
    _count: int = 0
    _counters: dict[s.Stmt, str] = field(default_factory=dict)

    def trace(self, algorithm: s.Algorithm) -> tuple[Scope, tuple[Node, ...]]:
        """Return the scope of an algorithm's body and its accesses, after `require_accesses`. Raises UntracedError."""
        scope, views = self.given(algorithm)
        return scope, self.body_of(algorithm, scope, views)

    def given(self, algorithm: s.Algorithm) -> tuple[Scope, dict[str, View]]:
        """Return the scope of an algorithm's body, and views of its whole array parameters."""
        scope = declared_scope(self.module, algorithm)
        views: dict[str, View] = {}
        for parameter in algorithm.parameters:
            shape, layout = shape_of(parameter.type)
            if shape is not None:
                extents = tuple(max_extent(each, scope) for each in shape)
                views[parameter.name] = whole_view(self.policy.array(parameter.name, extents, layout))
        return scope, views

    def body_of(self, algorithm: s.Algorithm, scope: Scope, views: Mapping[str, View]) -> tuple[Node, ...]:
        """Return the accesses of an algorithm's body."""
        self.names = dict.fromkeys(scope.values, 1)
        return tuple(self.block(algorithm.body, LoweringContext(scope, views, algorithm=algorithm.name)))

    def fresh(self, name: str) -> str:
        """Return a name that no other loop has."""
        self.names[name] = self.names.get(name, 0) + 1
        return name if self.names[name] == 1 else f"{name}'{self.names[name]}"

    # Statements
    def block(self, body: tuple[s.Stmt, ...], place: LoweringContext) -> Iterator[Node]:
        """Yield the accesses of statements in order."""
        for statement in body:
            nodes, after = self.policy.statement(self, statement, place)
            yield from nodes
            place = after

    def statement(self, statement: s.Stmt, place: LoweringContext, after: LoweringContext) -> Iterator[Node]:
        """Yield the accesses of a statement, given the contexts before and after it."""
        match statement:
            case s.Local(name=name, type=s.ArrayType(), value=s.Node() as value):
                yield from self._lower_fill(after.views[name], value, place, statement)
            case s.Assign(target=target, value=value) if self.module.is_view(target):
                yield from self.reads(target, place)
                yield from self._lower_fill(self.view(target, place), value, place, statement)
            case s.Simple():
                yield from self._lower_simple(statement, place)
            case s.Loop():
                yield from self._lower_loop(statement, place)
            case s.While():
                yield from self._lower_while(statement, place)
            case s.If(branches=branches):
                yield from self.policy.branches(self, branches, place)
            case s.Split():
                pass

    def _lower_simple(self, statement: s.Simple, place: LoweringContext) -> Iterator[Node]:
        """Yield the accesses of the expressions, then those of the written elements, merged with reads just before."""
        again = statement.revisited
        for part in statement.reads:
            if part in again or part not in statement.writes:
                yield from self.reads(part, place)
        for target in statement.writes:
            if isinstance(target, s.Element):
                *before, access = self._lower_element(target, place)
                assert isinstance(access, Access)
                if target in again:
                    yield replace(access, written=True)
                else:
                    yield from before
                    yield replace(access, times=2 if target in statement.updates else 1, written=True)

    def after(self, statement: s.Stmt, place: LoweringContext) -> LoweringContext:
        """Return the context after a statement, with its names, declarations, assignments and assumptions."""
        before, place = place, place.after(statement)
        match statement:
            case s.Let(name=name, value=value) if self.module.is_view(value):
                return replace(place, views={**place.views, name: self.view(value, place)})
            case s.Local(name=name, type=s.ArrayType(shape=shape, layout=layout)):
                return self._declare_local(name, shape, layout, place)
            case s.Local(name=name, value=value, when=when):
                place = replace(place, scope=place.scope.without_value(name))
                plain = value is not None and when is None and statement.integer
                first = static_value_or_none(value, before.knowing) if value is not None and plain else None
                return place if first is None else replace(place, integers={**place.integers, name: first})
            case s.Assume() if not place.always:
                return place
            case s.Simple() | s.Loop() | s.While() | s.If() | s.Split():
                scope = scope_after(statement, place.scope)
                return place if scope is place.scope else replace(place, scope=scope)

    def _declare_local(
        self, name: str, shape: tuple[s.Expr, ...], layout: str, place: LoweringContext
    ) -> LoweringContext:
        """Return the context after the declaration of a local array."""
        extents = tuple(max_extent(extent, place.scope) for extent in shape)
        exact = all(is_exact(extent, place.scope) for extent in shape)
        loops = frozenset(place.loops)
        moves = _row_position_symbols(extents, place) & loops
        varies = any(extent.names & loops for extent in extents) or any(local.within for local in place.locals)
        within = loops if moves or varies or not exact else frozenset()
        array = Array(name, extents, layout, True, place.stack, moves, within=within, beneath=place.locals, exact=exact)
        self.made.append(array)
        views = {**place.views, name: replace(whole_view(array), exact=exact)}
        return replace(place, views=views, stack=place.stack + array_lines(array), locals=(*place.locals, array))

    def _lower_fill(self, target: View, value: s.Expr, place: LoweringContext, node: s.Node) -> Iterator[Node]:
        """Yield the loop nest over the elements of a view that is filled or copied to."""
        yield from self.reads(value, place)
        source = self.view(value, place) if self.module.is_view(value) else None
        facts = place.scope.facts
        opened: list[tuple[str, Poly]] = []
        for extent_ in target.extents:
            name = self.fresh("elements")
            opened.append((name, facts.positive_part(extent_)))
            facts = facts.with_symbol(name, (ZERO,), (extent_ - 1,))
        subscripts = tuple(Poly.symbol(name) for name, _ in opened)
        here, counters = replace(place, certain=place.certain and target.exact), frozenset(name for name, _ in opened)
        body: tuple[Node, ...] = ()
        for view in filter(None, (source, target)):
            access = self._build_access(view, subscripts, node.span, here)
            moves = any(access.place[dimension] is None for dimension, _ in view.axes)
            body += (replace(access, written=view is target, steady=frozenset[str]() if moves else counters),)
        around = place.scope.facts
        chain = []
        for name, count in opened:
            inner = around.with_symbol(name, (ZERO,), (count - 1,))
            chain.append((name, count, around, inner))
            around = inner
        for name, count, outer, inner in reversed(chain):
            body = (Loop(name, ZERO, count, count, outer, inner, body, node.span),)
        yield from body

    # Loops and branches
    def _lower_loop(self, loop: s.Loop, place: LoweringContext) -> Iterator[Node]:
        place = self.policy.loop(place, loop)
        for part in (loop.lo, loop.hi, loop.step):
            if part is not None:
                yield from self.reads(part, place)
        name = self._counters[loop] = self.fresh(loop.variable)
        scope = place.scope
        lo, hi, trips, value, inside, certain = self._counter_range(replace(loop, variable=name), scope)
        inner = replace(scope.with_facts(inside), values={**scope.values, loop.variable: value})
        body = tuple(self.block(loop.body, place.inside(inner, loop, name, certain)))
        try:
            self.made[:] = [_widest_in_loop(array, name, lo, hi, scope.facts) for array in self.made]
        except UnboundedError:
            raise UntracedError(f"how large local arrays get as `{loop.variable}` varies", loop.span) from None
        if body:
            yield Loop(name, lo, hi, trips, scope.facts, inside, body, loop.span)

    def _counter_range(self, loop: s.Loop, scope: Scope) -> CounterRange:
        """Return the range of the counter, the maximum trip count, the variable's value, and the facts inside."""
        try:
            range_ = static_range(loop, scope)
            return range_.lo, range_.hi, range_.trips, range_.value, range_.inside, True
        except NotStaticError as problem:
            segment = None if loop.down or loop.step is not None else self._segment_range(loop, scope)
            if segment is not None:
                return segment
            interval = data_range(loop, scope)
            if interval is None:
                raise UntracedError(f"the bounds of this loop: {problem.reason}", loop.span) from None
            lo, hi = interval.first, interval.last + 1
            inside = scope.facts.with_symbol(loop.variable, (lo,), (interval.last,))
            counter = Poly.symbol(loop.variable)
            return lo, hi, interval.trips.upper, lo + interval.last - counter if loop.down else counter, inside, False

    def _segment_range(self, loop: s.Loop, scope: Scope) -> CounterRange | None:
        """Return a range between two entries of an offsets array, the second no less than the first; else None."""
        reading = replace(scope, reads_offsets=True)
        lo, hi = known_value(loop.lo, reading), known_value(loop.hi, reading)
        if lo is None or hi is None:
            return None
        trips = a.as_gaps(hi - lo)
        if not is_nondecreasing(hi - lo, scope.facts) and not scope.facts.nonnegative(trips):
            return None
        inside = scope.facts.with_symbol(loop.variable, (lo,), (hi - 1,))
        return lo, hi, trips, Poly.symbol(loop.variable), inside, True

    def _lower_while(self, loop: s.While, place: LoweringContext) -> Iterator[Node]:
        try:
            limit = floor_of_bound(static_value(loop.limit, place.scope), place.scope.facts)
        except NotStaticError as problem:
            raise UntracedError(f"the bound of this while: {problem.reason}", loop.span) from None
        name = self._counters[loop] = self.fresh("while")
        # The condition is tested once more than the body runs.
        tested = int(next(self.reads(loop.condition, place), None) is not None)
        trips = place.scope.facts.positive_part(limit) + tested
        inside = place.scope.facts.with_symbol(name, (ZERO,), (trips - 1,))
        inner = place.inside(place.scope.with_facts(inside), loop, name, False)
        body = (*self.reads(loop.condition, inner), *self.block(loop.body, inner))
        if body:
            yield Loop(name, ZERO, trips, trips, place.scope.facts, inside, body, loop.span)

    def branches(self, branches: tuple[s.Branch, ...], place: LoweringContext) -> Iterator[Node]:
        """Yield the accesses of all branches, each under its condition."""
        # Conditions of a branch are not facts, as its loops are summed over all iterations, taken or not.
        around = place
        shared: frozenset[ElementPlace] | None = None
        for branch in branches:
            if branch.condition is None:
                body = tuple(self.block(branch.body, place))
                always = (
                    (shared or frozenset()) & _assigned_elements(branch.body, body, around)
                    if around.certain
                    else frozenset()
                )
                yield from _mark_shared_writes(body, always, around)
                return
            yield from self.reads(branch.condition, place)
            body = tuple(self.block(branch.body, place.under(equivalent_constraints(branch.condition, place.scope))))
            assigned = _assigned_elements(branch.body, body, around)
            shared = assigned if shared is None else shared & assigned
            yield from body
            place = place.under(equivalent_constraints(negate_condition(branch.condition), place.scope))

    # Expressions
    def view(self, expr: s.Expr, place: LoweringContext) -> View:
        """Return the view that an expression denotes. Raises UntracedError."""
        return view_of(self.module, expr, place.views, self.policy.reading(place))

    def reads(self, expr: s.Expr, place: LoweringContext) -> Iterator[Node]:
        """Yield the reads of evaluating an expression, including called algorithms; of a view, those of its bounds."""
        match expr:
            case s.Element() if self.module.is_view(expr):
                yield from self._bounds_of(expr, place)
            case s.Element():
                yield from self._lower_element(expr, place)
            case s.Unary(operand=operand):
                yield from self.reads(operand, place)
            case s.Binary(op=op, left=left, right=right):
                yield from self.reads(left, place)
                yield from self.reads(right, place.under(None) if op in ("and", "or") else place)
            case s.Call(arguments=arguments):
                for argument in arguments:
                    yield from self.reads(argument, place)
                target = self.module.targets.get(expr)
                if isinstance(target, s.Algorithm):
                    yield from self.policy.call(self, expr, target, place)
            case s.Reshape(base=base, shape=shape):
                for part in (base, *shape):
                    yield from self.reads(part, place)
            case s.Integer() | s.Real() | s.Name():
                pass

    def _bounds_of(self, view: s.Element, place: LoweringContext) -> Iterator[Node]:
        for subscript in view.subscripts:
            parts = (subscript.lo, subscript.hi, subscript.step) if isinstance(subscript, s.Slice) else (subscript,)
            for part in parts:
                if part is not None:
                    yield from self.reads(part, place)

    def _lower_element(self, expr: s.Element, place: LoweringContext) -> Iterator[Node]:
        subscripts: list[Poly | None] = []
        for subscript in expr.subscripts:
            assert not isinstance(subscript, s.Slice)
            yield from self.reads(subscript, place)
            subscripts.append(static_value_or_none(subscript, place.knowing))
        view = place.views[expr.array]
        access = self._build_access(view, tuple(subscripts), expr.span, place)
        yield replace(
            access, walk=self._find_walk(expr, subscripts, place), steady=self._find_steady(access, expr, place)
        )

    def _find_steady(self, access: Access, expr: s.Element, place: LoweringContext) -> frozenset[str]:
        """The innermost loops through which the data picks one place, as they change nothing that says which."""
        axes = zip(place.views[expr.array].axes, expr.subscripts, strict=True)
        picked = tuple(part for (dimension, _), part in axes if access.place[dimension] is None)
        # Indices and offsets are never written to.
        fixed, names = {*place.scope.below, *place.scope.segments}, s.names(picked) | {expr.array}
        if any(part.array not in fixed for part in s.find(picked, s.Element)):
            return frozenset()
        if None not in access.place or any(call in self.module.targets for call in s.find(picked, s.Call)):
            return frozenset()
        loops = takewhile(lambda around: is_constant_in(names, around.loop), reversed(place.around))
        return frozenset(around.variable for around in loops)

    def _find_walk(
        self, expr: s.Element, subscripts: Sequence[Poly | None], place: LoweringContext
    ) -> MonotoneWalk | None:
        """Describe the monotone walk of an element of a row that the data selects; None if there is none."""
        view = place.views[expr.array]
        (*rows, last) = range(len(subscripts))
        if view.array.layout == "colmajor" and rows:
            last, *rows = range(len(subscripts))
        free = [dimension for dimension in rows if subscripts[dimension] is None]
        along = contiguous_dimension(view.array)
        if subscripts[last] is not None or free or not view.axes or view.axes[last] != (along, ONE):
            return None
        subscript = expr.subscripts[last]
        assert not isinstance(subscript, s.Slice)
        fixed, values = place.scope.fixed, place.scope.values
        stream = monotone_stream(expr.array, subscript, place.around, fixed, values)
        rests = stream is None and place.rested is not None
        if place.rested is not None and rests:
            stream = monotone_stream(expr.array, subscript, (place.rested,), fixed, values)
        moved = {name for value in subscripts if value is not None for name in value.names}
        names = [outer.variable for outer in place.around]
        if stream is None or (not rests and moved & set(names[names.index(stream.around.variable) :])):
            return None
        bounds, start = None, view.starts[along]
        if start is not None:
            low, high = stream.within(view.extents[last])
            bounds = start + low, start + high
        begin = None if start is None or stream.first is None else start + stream.first
        loop = self._counters[stream.around.loop] if rests else stream.around.variable
        return MonotoneWalk(loop, (expr.array, stream.terms), stream.shift, bounds, begin, rests)

    def _build_access(
        self, view: View, subscripts: tuple[Poly | None, ...], span: Span, place: LoweringContext
    ) -> Access:
        self._count += 1
        if self._count > MAX_ACCESSES:
            raise UntracedError(f"more than {MAX_ACCESSES} places of the program access arrays", span)
        certain = place.certain and view.exact
        return Access(view.array, view.place(subscripts), span, view.parts, certain=certain, when=place.when)

    # Calls
    def passed(self, call: s.Call, target: s.Algorithm, place: LoweringContext) -> dict[str, View]:
        """Return the views that a call passes, by parameter. Raises UntracedError."""
        return {
            parameter.name: self.view(argument, place)
            for parameter, argument in zip(target.parameters, call.arguments, strict=True)
            if self.module.is_view(argument)
        }

    def inline_call(self, call: s.Call, target: s.Algorithm, place: LoweringContext) -> Iterator[Node]:
        """Yield the accesses of the body of a called algorithm."""
        views = self.passed(call, target, place)
        scope, size_loops = bind_call(call, target, place, self.fresh)
        loops = (*place.loops, *(loop.variable for loop in size_loops))
        # Values that are passed do not change in the callee's loops, and only these count there.
        inner = replace(
            place,
            scope=scope,
            views=views,
            loops=loops,
            algorithm=target.name,
            depth=place.depth + 1,
            around=(),
            certain=place.certain and not size_loops,
            integers={},
            rested=None,
        )
        body = tuple(self.block(target.body, inner))
        yield from bind_data_sizes(size_loops, body)


def _assigned_elements(
    statements: Sequence[s.Stmt], nodes: Sequence[Node], place: LoweringContext
) -> frozenset[ElementPlace]:
    """The elements that statements of a branch assign whenever it is taken."""
    written = (target for statement in statements if isinstance(statement, s.Simple) for target in statement.writes)
    targets = {
        target.span
        for target in written
        if isinstance(target, s.Element) and target.array in place.views and place.views[target.array].exact
    }
    found = (node for node in nodes if isinstance(node, Access) and node.span in targets)
    return frozenset((node.array, node.place) for node in found if None not in node.place)


def _mark_shared_writes(
    nodes: Sequence[Node], elements: frozenset[ElementPlace], place: LoweringContext
) -> Iterator[Node]:
    """Mark accesses in the last branch whose elements all branches assign, so that one always does."""
    for node in nodes:
        if isinstance(node, Access) and (node.array, node.place) in elements:
            yield replace(node, shared=place.when)
        else:
            yield node


def _row_position_symbols(extents: tuple[Poly, ...], place: LoweringContext) -> frozenset[str]:
    """The symbols that determine the rows of a local array: those of the stack below and of row lengths."""
    names = place.stack.names
    if len(extents) > 1:
        names = names.union(*(extent.names for extent in extents))
    return names


def _widest_in_loop(array: Array, variable: str, lo: Poly, hi: Poly, facts: Facts) -> Array:
    """Return the array with its largest extents over a loop. Raises UnboundedError."""
    if not any(variable in extent.names for extent in array.extents):
        return array
    # The extent in a loop that is never entered may be negative.
    extents = (facts.positive_part(factored_maximum(extent, variable, lo, hi, facts)) for extent in array.extents)
    return replace(array, extents=tuple(extents))
