"""Lower an algorithm to the loop tree of its accesses in serial order; calls are inlined."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Poly
from archline.expr.tree import Span
from archline.ir.conditions import equivalent_constraints, negate_condition, scope_after
from archline.ir.counters import count_while
from archline.ir.declarations import bound_declared_iterations, declared_scope
from archline.ir.factored import UnboundedError, bound_maximum
from archline.ir.iteration_bounds import bound_iterations, find_owner
from archline.ir.layout import count_array_lines
from archline.ir.places import (
    LoweringContext,
    bind_call,
    find_monotone_subscript,
    has_exact_extent,
    is_constant_in,
    make_whole_view,
    max_extent,
    read_array_type,
    resolve_view,
    static_value_or_none,
    wrap_in_size_loops,
)
from archline.ir.ranges import bound_data_range, read_segment_ends, static_range
from archline.ir.scope import NotStaticError, Scope, floor_while_bound, static_value
from archline.ir.tree import (
    Access,
    Array,
    InlinedCall,
    Loop,
    MonotoneWalk,
    Node,
    UntracedError,
    View,
    contiguous_dimension,
)
from archline.language import syntax as s
from archline.language.call_graph import find_recursive_component, has_recursion
from archline.language.iterations import name_unbounded_loops, relative_name
from archline.language.model import Module

MAX_ACCESSES = 400

CounterRange = tuple[Poly, Poly, Poly, Poly, Facts, bool]
"""The least counter, the greatest one plus 1, the maximum trip count, the loop variable in terms of the counter,
the facts inside, and whether an iteration is executed for every counter of the range."""


ElementPlace = tuple[Array, tuple[Poly | None, ...]]
"""An array and the subscripts of an element in it, None where they depend on data."""


class LoweringPolicy:
    """Decides how a lowering treats calls, branches and loops: by default it follows all, and recursion is an error."""

    def build_parameter_array(self, name: str, extents: tuple[Poly, ...], layout: str) -> Array:
        """Build the array of a parameter, with its extents and layout."""
        return Array(name, extents, layout)

    def lower_statement(
        self, program: Lowering, statement: s.Stmt, context: LoweringContext
    ) -> tuple[Iterable[Node], LoweringContext]:
        """Return the loop-tree nodes of a statement, and the context after it."""
        after = program.derive_context_after(statement, context)
        return program.lower_statement(statement, context, after), after

    def scope_for_view_bounds(self, context: LoweringContext) -> Scope:
        """Return the scope in which the bounds of views are evaluated."""
        return context.scope

    def derive_loop_context(self, context: LoweringContext, loop: s.Loop) -> LoweringContext:
        """Return the context in which a loop is lowered."""
        return context

    def lower_branches(
        self, program: Lowering, branches: tuple[s.Branch, ...], context: LoweringContext
    ) -> Iterator[Node]:
        """Return the loop-tree nodes of an `if`."""
        return program.lower_branches(branches, context)

    def lower_call(
        self, program: Lowering, call: s.Call, target: s.Algorithm, context: LoweringContext
    ) -> Iterator[Node]:
        """Return the loop-tree nodes of a call of an algorithm. Raises UntracedError for a recursive one."""
        if find_recursive_component(program.module, target):
            raise UntracedError(f"io of recursion (`{target.name}`) is not derived in this version", call.span)
        return program.inline_call(call, target, context)


@dataclass(eq=False)
class Lowering:
    """Lowers an algorithm; a policy decides about calls and branches.

    `traced` is the algorithm itself, `names` counts the loops with each variable name; `made` lists the local arrays
    declared so far, with their maximum extents.
    """

    module: Module
    policy: LoweringPolicy = field(default_factory=LoweringPolicy)
    names: dict[str, int] = field(default_factory=dict)
    made: list[Array] = field(default_factory=list)
    traced: s.Algorithm | None = None
    _count: int = 0
    _counters: dict[s.Stmt, str] = field(default_factory=dict)

    def trace(self, algorithm: s.Algorithm) -> tuple[Scope, tuple[Node, ...]]:
        """Return the scope of an algorithm's body and the nodes of its loop tree. Raises UntracedError.

        `require_traceable` must have accepted the algorithm.
        """
        scope, views = self.bind_parameters(algorithm)
        return scope, self.lower_body(algorithm, scope, views)

    def bind_parameters(self, algorithm: s.Algorithm) -> tuple[Scope, dict[str, View]]:
        """Return the scope of an algorithm's body, and for each array parameter a view of the entire array.

        Extents that have no exact value are replaced by upper bounds.
        """
        scope = declared_scope(self.module, algorithm)
        views: dict[str, View] = {}
        for parameter in algorithm.parameters:
            shape, layout = read_array_type(parameter.type)
            if shape is not None:
                extents = tuple(max_extent(extent, scope) for extent in shape)
                views[parameter.name] = make_whole_view(
                    self.policy.build_parameter_array(parameter.name, extents, layout)
                )
        return scope, views

    def lower_body(self, algorithm: s.Algorithm, scope: Scope, views: Mapping[str, View]) -> tuple[Node, ...]:
        """Return the loop-tree nodes of an algorithm's body."""
        self.traced, self.names = algorithm, dict.fromkeys(scope.values, 1)
        return tuple(self.lower_block(algorithm.body, LoweringContext(scope, views)))

    def make_loop_name(self, name: str) -> str:
        """Return `name`, with a number if another loop has it already."""
        self.names[name] = self.names.get(name, 0) + 1
        return name if self.names[name] == 1 else f"{name}'{self.names[name]}"

    # Statements
    def lower_block(self, body: tuple[s.Stmt, ...], context: LoweringContext) -> Iterator[Node]:
        """Yield the loop-tree nodes of statements in order."""
        for statement in body:
            nodes, after = self.policy.lower_statement(self, statement, context)
            yield from nodes
            context = after

    def lower_statement(self, statement: s.Stmt, context: LoweringContext, after: LoweringContext) -> Iterator[Node]:
        """Yield the loop-tree nodes of a statement, given the contexts before and after it."""
        match statement:
            case s.Local(name=name, type=s.ArrayType(), value=s.Node() as value):
                yield from self._lower_array_assignment(after.views[name], value, context, statement)
            case s.Assign(target=target, value=value) if self.module.is_view(target):
                yield from self.lower_reads(target, context)
                yield from self._lower_array_assignment(self.resolve_view(target, context), value, context, statement)
            case s.Simple():
                yield from self._lower_simple(statement, context)
            case s.Loop():
                yield from self._lower_loop(statement, context)
            case s.While():
                yield from self._lower_while(statement, context)
            case s.If(branches=branches):
                yield from self.policy.lower_branches(self, branches, context)
            case s.Split():
                pass

    def _lower_simple(self, statement: s.Simple, context: LoweringContext) -> Iterator[Node]:
        """Yield the reads of a statement, then its writes; a read of an element that is then written is one access."""
        revisited = statement.interrupted_updates
        for part in statement.reads:
            if part in revisited or part not in statement.writes:
                yield from self.lower_reads(part, context)
        for target in statement.writes:
            if isinstance(target, s.Element):
                *reads, access = self._lower_element(target, context)
                assert isinstance(access, Access)
                if target in revisited:
                    yield replace(access, written=True)
                else:
                    yield from reads
                    yield replace(access, times=2 if target in statement.updates else 1, written=True)

    def derive_context_after(self, statement: s.Stmt, context: LoweringContext) -> LoweringContext:
        """Return the context after a statement, with its declarations, assignments and assumptions."""
        before, context = context, context.after(statement)
        match statement:
            case s.Let(name=name, value=value) if self.module.is_view(value):
                return replace(context, views={**context.views, name: self.resolve_view(value, context)})
            case s.Local(name=name, type=s.ArrayType(shape=shape, layout=layout)):
                return self._declare_local(name, shape, layout, context)
            case s.Local(name=name, value=value, when=when):
                context = replace(context, scope=context.scope.without_value(name))
                unconditional = value is not None and when is None and statement.integer_register
                first = static_value_or_none(value, before.known_scope) if value is not None and unconditional else None
                if first is None:
                    return context
                if statement.constant:
                    context = replace(context, scope=context.scope.with_value(name, first))
                return replace(context, integers={**context.integers, name: first})
            case s.Assume() if not context.is_unconditional:
                return context
            case s.Simple() | s.Loop() | s.While() | s.If() | s.Split():
                scope = scope_after(statement, context.scope)
                return context if scope is context.scope else replace(context, scope=scope)

    def _declare_local(
        self, name: str, shape: tuple[s.Expr, ...], layout: str, context: LoweringContext
    ) -> LoweringContext:
        """Return the context after the declaration of a local array; extents without exact values get upper bounds."""
        extents = tuple(max_extent(extent, context.scope) for extent in shape)
        exact = all(has_exact_extent(extent, context.scope) for extent in shape)
        loops = frozenset(context.loops)
        moving = _find_row_position_symbols(extents, context) & loops
        varies = any(extent.names & loops for extent in extents) or any(local.within for local in context.locals)
        within = loops if moving or varies or not exact else frozenset()
        array = Array(
            name, extents, layout, True, context.stack, moving, within=within, beneath=context.locals, exact=exact
        )
        self.made.append(array)
        views = {**context.views, name: replace(make_whole_view(array), exact=exact)}
        return replace(
            context, views=views, stack=context.stack + count_array_lines(array), locals=(*context.locals, array)
        )

    def _lower_array_assignment(
        self, target: View, value: s.Expr, context: LoweringContext, node: s.Node
    ) -> Iterator[Node]:
        """Yield the loop nest over the elements of a view to which a number or another view is assigned."""
        yield from self.lower_reads(value, context)
        source = self.resolve_view(value, context) if self.module.is_view(value) else None
        facts = context.scope.facts
        counts: list[tuple[str, Poly]] = []
        for extent in target.extents:
            name = self.make_loop_name("elements")
            counts.append((name, facts.positive_part(extent)))
            facts = facts.with_symbol(name, (ZERO,), (extent - 1,))
        subscripts = tuple(Poly.symbol(name) for name, _ in counts)
        inner_context = context.with_sure_conditions(() if target.exact else None)
        counters = frozenset(name for name, _ in counts)
        body: tuple[Node, ...] = ()
        for view in filter(None, (source, target)):
            access = self._build_access(view, subscripts, node.span, inner_context)
            data_dependent = any(access.place[dimension] is None for dimension, _ in view.axes)
            body += (replace(access, written=view is target, steady=frozenset[str]() if data_dependent else counters),)
        around = context.scope.facts
        chain = []
        for name, count in counts:
            inner = around.with_symbol(name, (ZERO,), (count - 1,))
            chain.append((name, count, around, inner))
            around = inner
        for name, count, outer, inner in reversed(chain):
            body = (Loop(name, ZERO, count, count, outer, inner, body, node.span, called=context.called),)
        yield from body

    # Loops and branches
    def _lower_loop(self, loop: s.Loop, context: LoweringContext) -> Iterator[Node]:
        context = self.policy.derive_loop_context(context, loop)
        for part in (loop.lo, loop.hi, loop.step):
            if part is not None:
                yield from self.lower_reads(part, context)
        name = self._counters[loop] = self.make_loop_name(loop.variable)
        scope = context.scope
        try:
            lo, hi, trips, value, inside, certain = self._find_counter_range(replace(loop, variable=name), scope)
            inner = replace(scope.with_facts(inside), values={**scope.values, loop.variable: value})
        except UntracedError:
            if loop.iterations is None:
                raise
            # The values of the variable are data, and its number is that of the whole run.
            lo, hi, certain = ZERO, self._bound_while_iterations(loop, context), False
            trips, inside = hi, scope.facts.with_symbol(name, (ZERO,), (hi - 1,))
            inner = scope.with_facts(inside).without_value(loop.variable)
        sure: tuple[Poly, ...] | None = () if certain else None
        if certain and s.may_end_early(loop):
            # Of a loop that an exit may end only the first iteration is certain.
            sure = (lo - Poly.symbol(name),)
        body = tuple(self.lower_block(loop.body, context.inside_loop(inner, loop, name, sure)))
        try:
            self.made[:] = [_maximize_extents(array, name, lo, hi, scope.facts) for array in self.made]
        except UnboundedError:
            raise UntracedError(
                f"no upper bound was found on local arrays whose size varies with `{loop.variable}`", loop.span
            ) from None
        if body:
            yield Loop(name, lo, hi, trips, scope.facts, inside, body, loop.span, called=context.called)

    def _find_counter_range(self, loop: s.Loop, scope: Scope) -> CounterRange:
        """Return the range of a loop's counter: exact, between offsets, or bounded. Raises UntracedError."""
        try:
            exact = static_range(loop, scope)
            return exact.lo, exact.hi, exact.trips, exact.value, exact.inside, True
        except NotStaticError as problem:
            segment = read_segment_ends(loop, scope)
            if segment is not None:
                lo, hi = segment
                inside = scope.facts.with_symbol(loop.variable, (lo,), (hi - 1,))
                return lo, hi, a.as_gaps(hi - lo), Poly.symbol(loop.variable), inside, True
            interval = bound_data_range(loop, scope)
            if interval is None:
                raise UntracedError(f"the bounds of this loop: {problem.reason}", loop.span) from None
            lo, hi = interval.first, interval.last + 1
            inside = scope.facts.with_symbol(loop.variable, (lo,), (interval.last,))
            counter = Poly.symbol(loop.variable)
            return lo, hi, interval.trips.upper, lo + interval.last - counter if loop.down else counter, inside, False

    def _lower_while(self, loop: s.While, context: LoweringContext) -> Iterator[Node]:
        counted = count_while(loop, context.scope)
        limit = self._bound_while_iterations(loop, context) if counted is None else counted.range.trips
        name = self._counters[loop] = self.make_loop_name("while")
        reads = next(self.lower_reads(loop.condition, context), None) is not None
        # The condition of a `while` is evaluated once more than the body.
        extra = int(reads and not loop.tests_last and (counted is None or counted.guard is None))
        trips = context.scope.facts.positive_part(limit) + extra
        inside = context.scope.facts.with_symbol(name, (ZERO,), (trips - 1,))
        # Where data ends the loop, a register that moves one way is a stream of lines rather than a range.
        scope, certain = context.scope, False
        if counted is not None and counted.exact:
            scope, certain = counted.set_registers(scope, Poly.symbol(name)), not reads
        # The first test is certain, and of a `repeat` the first iteration; or all are.
        sure = () if certain else (-Poly.symbol(name),)
        first = context.inside_loop(scope.with_facts(inside), loop, name, sure)
        if certain:
            body = tuple(self.lower_block(loop.body, first))
        elif loop.tests_last:
            tested = first.with_sure_conditions(None) if s.list_exit_kinds(loop.body) else first
            body = (*self.lower_block(loop.body, first), *self.lower_reads(loop.condition, tested))
        else:
            body = (
                *self.lower_reads(loop.condition, first),
                *self.lower_block(loop.body, first.with_sure_conditions(None)),
            )
        if body:
            yield Loop(name, ZERO, trips, trips, context.scope.facts, inside, body, loop.span, called=context.called)

    def _bound_while_iterations(self, loop: s.While | s.Loop, context: LoweringContext) -> Poly:
        """Bound the iterations of a loop at each entry: without a bound, by those of the whole run."""
        if isinstance(loop, s.Loop) or loop.limit is None:
            assert self.traced is not None
            owner = find_owner(self.module, loop)
            assert owner is not None
            # Costs in the iterations of the algorithm itself are sharper; these are bounded at the end.
            bounds = bound_declared_iterations if owner is self.traced else bound_iterations
            total = bounds(self.module, owner).get(loop)
            if total is not None:
                return total.upper.substitute(context.scope.values)
            if has_recursion(self.module, self.traced):
                reason = "io of a recursion with a loop whose iterations data decides is not derived in this version"
                raise UntracedError(reason, loop.span)
            return Poly.symbol(relative_name(name_unbounded_loops(self.module)[loop], self.traced))
        try:
            return floor_while_bound(static_value(loop.limit, context.scope), context.scope.facts)
        except NotStaticError as problem:
            raise UntracedError(f"the bound of this while: {problem.reason}", loop.span) from None

    def lower_branches(self, branches: tuple[s.Branch, ...], context: LoweringContext) -> Iterator[Node]:
        """Yield the loop-tree nodes of all branches, each under its condition."""
        # Conditions are not facts in a branch, as its loops are summed over all iterations, also those that skip it.
        before = context
        shared: frozenset[ElementPlace] | None = None
        for branch in branches:
            if branch.condition is None:
                body = tuple(self.lower_block(branch.body, context))
                always = (
                    (shared or frozenset()) & _find_assigned_elements(branch.body, body, before)
                    if before.certain
                    else frozenset()
                )
                yield from _mark_shared_writes(body, always, before)
                return
            yield from self.lower_reads(branch.condition, context)
            body = tuple(
                self.lower_block(
                    branch.body, context.with_conditions(equivalent_constraints(branch.condition, context.scope))
                )
            )
            assigned = _find_assigned_elements(branch.body, body, before)
            shared = assigned if shared is None else shared & assigned
            yield from body
            context = context.with_conditions(equivalent_constraints(negate_condition(branch.condition), context.scope))

    # Expressions
    def resolve_view(self, expr: s.Expr, context: LoweringContext) -> View:
        """Return the view that an expression denotes. Raises UntracedError."""
        return resolve_view(self.module, expr, context.views, self.policy.scope_for_view_bounds(context))

    def lower_reads(self, expr: s.Expr, context: LoweringContext) -> Iterator[Node]:
        """Yield the nodes of reads that evaluate an expression, and of calls in it; for a view those of its bounds."""
        match expr:
            case s.Element() if self.module.is_view(expr):
                yield from self._lower_view_bounds(expr, context)
            case s.Element():
                yield from self._lower_element(expr, context)
            case s.Unary(operand=operand):
                yield from self.lower_reads(operand, context)
            case s.Binary(op=op, left=left, right=right):
                yield from self.lower_reads(left, context)
                yield from self.lower_reads(right, context.with_conditions(None) if op in ("and", "or") else context)
            case s.Call(arguments=arguments):
                for argument in arguments:
                    yield from self.lower_reads(argument, context)
                target = self.module.targets.get(expr)
                if isinstance(target, s.Algorithm):
                    yield from self.policy.lower_call(self, expr, target, context)
            case s.Reshape(base=base, shape=shape):
                for part in (base, *shape):
                    yield from self.lower_reads(part, context)
            case s.Integer() | s.Real() | s.Name():
                pass

    def _lower_view_bounds(self, view: s.Element, context: LoweringContext) -> Iterator[Node]:
        for subscript in view.subscripts:
            parts = (subscript.lo, subscript.hi, subscript.step) if isinstance(subscript, s.Slice) else (subscript,)
            for part in parts:
                if part is not None:
                    yield from self.lower_reads(part, context)

    def _lower_element(self, expr: s.Element, context: LoweringContext) -> Iterator[Node]:
        subscripts: list[Poly | None] = []
        for subscript in expr.subscripts:
            assert not isinstance(subscript, s.Slice)
            yield from self.lower_reads(subscript, context)
            subscripts.append(static_value_or_none(subscript, context.known_scope))
        view = context.views[expr.array]
        access = self._build_access(view, tuple(subscripts), expr.span, context)
        yield replace(
            access,
            walk=self._find_walk(expr, subscripts, context),
            steady=self._find_steady_loops(access, expr, context),
        )

    def _find_steady_loops(self, access: Access, expr: s.Element, context: LoweringContext) -> frozenset[str]:
        """Find the innermost loops that change no name on which a data-dependent element depends."""
        axes = zip(context.views[expr.array].axes, expr.subscripts, strict=True)
        dependent = tuple(part for (dimension, _), part in axes if access.place[dimension] is None)
        # Indices and offsets are never written to.
        fixed, names = {*context.scope.below, *context.scope.segments}, s.find_names(dependent) | {expr.array}
        if any(part.array not in fixed for part in s.find_nodes(dependent, s.Element)):
            return frozenset()
        if None not in access.place or any(call in self.module.targets for call in s.find_nodes(dependent, s.Call)):
            return frozenset()
        loops = takewhile(lambda around: is_constant_in(names, around.loop), reversed(context.around))
        return frozenset(around.variable for around in loops)

    def _find_walk(
        self, expr: s.Element, subscripts: Sequence[Poly | None], context: LoweringContext
    ) -> MonotoneWalk | None:
        """Describe the movement of an element in a row if its subscript depends on data but is monotone; else None."""
        view = context.views[expr.array]
        (*rows, last) = range(len(subscripts))
        if view.array.layout == "colmajor" and rows:
            last, *rows = range(len(subscripts))
        free = [dimension for dimension in rows if subscripts[dimension] is None]
        along = contiguous_dimension(view.array)
        if subscripts[last] is not None or free or not view.axes or view.axes[last] != (along, ONE):
            return None
        subscript = expr.subscripts[last]
        assert not isinstance(subscript, s.Slice)
        fixed, values = context.scope.fixed, context.scope.values
        stream = find_monotone_subscript(expr.array, subscript, context.around, fixed, values)
        rests = stream is None and context.rested is not None
        if context.rested is not None and rests:
            stream = find_monotone_subscript(expr.array, subscript, (context.rested,), fixed, values)
        moved = {name for value in subscripts if value is not None for name in value.names}
        names = [outer.variable for outer in context.around]
        if stream is None or (not rests and moved & set(names[names.index(stream.around.variable) :])):
            return None
        bounds, start = None, view.starts[along]
        if start is not None:
            low, high = stream.bound_subscript(view.extents[last])
            bounds = start + low, start + high
        begin = None if start is None or stream.first is None else start + stream.first
        loop = self._counters[stream.around.loop] if rests else stream.around.variable
        return MonotoneWalk(loop, (expr.array, stream.terms), stream.shift, bounds, begin, rests)

    def _build_access(
        self, view: View, subscripts: tuple[Poly | None, ...], span: Span, context: LoweringContext
    ) -> Access:
        self._count += 1
        if self._count > MAX_ACCESSES:
            raise UntracedError(f"the program has more than {MAX_ACCESSES} accesses of arrays", span)
        certain = context.certain and view.exact
        access = Access(
            view.array,
            view.map_subscripts(subscripts),
            span,
            view.subscript_intervals,
            certain=certain,
            when=context.when,
            called=context.called,
        )
        if not context.sure or not view.exact:
            return access
        return replace(access, shared=(*context.when, *context.sure))

    # Calls
    def build_passed_views(self, call: s.Call, target: s.Algorithm, context: LoweringContext) -> dict[str, View]:
        """Return the views that a call passes, by parameter. Raises UntracedError."""
        return {
            parameter.name: self.resolve_view(argument, context)
            for parameter, argument in zip(target.parameters, call.arguments, strict=True)
            if self.module.is_view(argument)
        }

    def inline_call(self, call: s.Call, target: s.Algorithm, context: LoweringContext) -> Iterator[Node]:
        """Yield the loop-tree nodes of the body of a called algorithm."""
        views = self.build_passed_views(call, target, context)
        scope, size_loops = bind_call(call, target, context, self.make_loop_name)
        loops = (*context.loops, *(loop.variable for loop in size_loops))
        # Loops of the caller do not change the callee's parameters while it runs, so `around` has its own loops alone.
        inner = replace(
            context.with_sure_conditions(None if size_loops else ()),
            scope=scope,
            views=views,
            loops=loops,
            called=InlinedCall(target.name, call.span.line if context.called is None else context.called.line),
            around=(),
            integers={},
            rested=None,
        )
        body = tuple(self.lower_block(target.body, inner))
        yield from wrap_in_size_loops(size_loops, body)


def _find_assigned_elements(
    statements: Sequence[s.Stmt], nodes: Sequence[Node], context: LoweringContext
) -> frozenset[ElementPlace]:
    """Find the elements that the statements of a branch itself, outside of loops and branches, assign."""
    written = (target for statement in statements if isinstance(statement, s.Simple) for target in statement.writes)
    targets = {
        target.span
        for target in written
        if isinstance(target, s.Element) and target.array in context.views and context.views[target.array].exact
    }
    writes = (node for node in nodes if isinstance(node, Access) and node.span in targets)
    return frozenset((node.array, node.place) for node in writes if None not in node.place)


def _mark_shared_writes(
    nodes: Sequence[Node], elements: frozenset[ElementPlace], context: LoweringContext
) -> Iterator[Node]:
    """Mark accesses of the last branch to `elements`, which every branch assigns: one access is certain."""
    for node in nodes:
        if isinstance(node, Access) and (node.array, node.place) in elements:
            yield replace(node, shared=context.when)
        else:
            yield node


def _find_row_position_symbols(extents: tuple[Poly, ...], context: LoweringContext) -> frozenset[str]:
    """Find the symbols on which the positions of a local array's rows depend: in the stack below and in extents."""
    names = context.stack.names
    if len(extents) > 1:
        names = names.union(*(extent.names for extent in extents))
    return names


def _maximize_extents(array: Array, variable: str, lo: Poly, hi: Poly, facts: Facts) -> Array:
    """Return the array with the maximum of each extent over a loop. Raises UnboundedError."""
    if not any(variable in extent.names for extent in array.extents):
        return array
    # The extent in a loop that is never entered may be negative.
    extents = (facts.positive_part(bound_maximum(extent, variable, lo, hi, facts)) for extent in array.extents)
    return replace(array, extents=tuple(extents))
