"""Lower bodies of recursive algorithms to trees that keep recursive calls and branches; find their inherited facts.

Inherited facts hold in every call: `n is power of 2` if n is halved, `m >= n` if both are; `n >= 64` does not and
holds only in the outermost call. A fact is kept if it is proved for each call from all facts and from the
conditions of the call's path; as dropping one may invalidate others, this is repeated until none is dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import reduce
from itertools import product

from archline.algebra import atoms as a
from archline.algebra.effort import TooComplexError
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Poly
from archline.algebra.prove.prover import prove_never_negative
from archline.ir.conditions import (
    assume_facts,
    comparison_constraints,
    condition_indicator,
    equivalent_constraints,
    negate_condition,
    subtract_sides,
)
from archline.ir.lower import Lowering, LoweringPolicy
from archline.ir.places import LoweringContext, bind_call, make_whole_view, static_value_or_none, wrap_in_size_loops
from archline.ir.scope import Scope
from archline.ir.tree import (
    Access,
    Array,
    Choice,
    ChoiceBranch,
    Loop,
    Node,
    RecursiveCall,
    UntracedError,
    View,
    contiguous_dimension,
)
from archline.language import call_graph
from archline.language import syntax as s
from archline.language.call_graph import find_recursive_component
from archline.language.checking.scopes import list_machine_symbols
from archline.language.extra_facts import add_where_facts
from archline.language.model import Module
from archline.records import record

MAX_PATHS = 64
NodePath = tuple[tuple[Poly, ...] | None, tuple[Node, ...]]
"""Expressions that are all nonnegative where a path is taken (None if none are known), and the nodes on it."""
NUM_DIVISOR_POWERS = 6
"""The number of powers of the base, from 0 on, that are tried as divisors of a size."""


class TooManyPathsError(Exception):
    """The body has more than MAX_PATHS paths."""


@record(eq=False)
class RecursiveBody:
    """A lowered body in the sizes of its algorithm; `given` are its array arguments, `made` its local arrays."""

    algorithm: s.Algorithm
    scope: Scope
    nodes: tuple[Node, ...]
    given: tuple[Array, ...]
    made: tuple[Array, ...]


def lower_recursive_body(module: Module, algorithm: s.Algorithm, policy: LoweringPolicy) -> RecursiveBody:
    """Lower the body of an algorithm. Raises UntracedError."""
    program = Lowering(module, policy)
    scope, views = program.bind_parameters(algorithm)
    nodes = program.lower_body(algorithm, scope, views)
    return RecursiveBody(algorithm, scope, nodes, tuple(view.array for view in views.values()), tuple(program.made))


@dataclass(eq=False)
class OneLevelLowering(LoweringPolicy):
    """Lowers one level of a recursion: recursive calls become RecursiveCall nodes, and branches Choice nodes.

    The rows of array parameters in `aligned` begin with a line; entries of arrays in `strided` are not adjacent.
    """

    aligned: frozenset[str] = frozenset()
    strided: frozenset[str] = frozenset()

    def build_parameter_array(self, name: str, extents: tuple[Poly, ...], layout: str) -> Array:
        return Array(name, extents, layout, aligned=name in self.aligned, strided=name in self.strided)

    def lower_call(
        self, program: Lowering, call: s.Call, target: s.Algorithm, context: LoweringContext
    ) -> Iterator[Node]:
        """Yield a RecursiveCall for a call of a recursive algorithm; inline any other call."""
        if not call_graph.find_recursive_component(program.module, target):
            yield from program.inline_call(call, target, context)
            return
        scope, size_loops = bind_call(call, target, context, program.make_loop_name)
        sizes = {name: scope.values[name] for name in program.module.bindings[call]}
        fixed = all(array.exact and not array.within and array.layout != "zmorton" for array in context.locals)
        base = context.stack if fixed else None
        yield from wrap_in_size_loops(
            size_loops,
            (RecursiveCall(target, sizes, program.build_passed_views(call, target, context), call.span, base),),
        )

    def lower_branches(
        self, program: Lowering, branches: tuple[s.Branch, ...], context: LoweringContext
    ) -> Iterator[Node]:
        """Yield a Choice for branches of the algorithm itself, or with recursive calls; lower others as usual."""
        if not context.is_top_level and not any(
            call_graph.has_recursion(program.module, callee)
            for callee in call_graph.iterate_callees(program.module, branches)
        ):
            yield from program.lower_branches(branches, context)
            return
        arms: list[ChoiceBranch] = []
        current = context
        before: tuple[Poly, ...] | None = ()
        for branch in branches:
            if branch.condition is None:
                arms.append(ChoiceBranch(ONE, ONE, None, tuple(program.lower_block(branch.body, current)), before))
                break
            yield from program.lower_reads(branch.condition, current)
            indicator = condition_indicator(branch.condition, current.scope)
            branch_context, next_context = current, current
            if indicator is None or not context.is_top_level:
                branch_context = current.with_conditions(equivalent_constraints(branch.condition, current.scope))
                next_context = current.with_conditions(
                    equivalent_constraints(negate_condition(branch.condition), current.scope)
                )
            if indicator is not None:
                # A branch is lowered under its condition, and the branches after it under the negation.
                branch_context = replace(branch_context, scope=assume_facts(branch_context.scope, branch.condition))
                next_context = replace(
                    next_context, scope=assume_facts(next_context.scope, negate_condition(branch.condition))
                )
            possible = _possibility_indicator(branch.condition, current.scope)
            known = _conjoin_known(before, equivalent_constraints(branch.condition, current.scope))
            arms.append(
                ChoiceBranch(
                    indicator,
                    possible,
                    branch.condition,
                    tuple(program.lower_block(branch.body, branch_context)),
                    known,
                )
            )
            before = _conjoin_known(before, equivalent_constraints(negate_condition(branch.condition), current.scope))
            current = next_context
        yield Choice(tuple(arms))


class MustLowering(LoweringPolicy):
    """Lowers for lower bounds: all calls become RecursiveCall nodes, and code that cannot be followed is omitted.

    A node of a branch is certain on the paths that take the branch. Outside of loops each data-dependent value that is
    assigned to an integer is a fresh symbol; a loop keeps those of integers that it does not assign.
    """

    def scope_for_view_bounds(self, context: LoweringContext) -> Scope:
        return replace(context.known_scope, reads_offsets=True)

    def lower_statement(
        self, program: Lowering, statement: s.Stmt, context: LoweringContext
    ) -> tuple[Iterable[Node], LoweringContext]:
        after = self._context_after(program, statement, context)
        return _take_traceable_nodes(program.lower_statement(statement, context, after)), after

    def _context_after(self, program: Lowering, statement: s.Stmt, context: LoweringContext) -> LoweringContext:
        try:
            after = program.derive_context_after(statement, context)
        except UntracedError:
            return _bind_unknown_view(program, statement, context.after(statement))
        if not context.is_top_level:
            return after
        assigned = {
            name: _evaluate_assigned_value(program, statement, name, context)
            for name in _find_unknown_integers(statement, context, after)
        }
        return replace(after, integers={**after.integers, **assigned})

    def derive_loop_context(self, context: LoweringContext, loop: s.Loop) -> LoweringContext:
        """Treat integers that the loop does not assign as constants in it."""
        values = {**context.after(loop).integers, **context.scope.values}
        return replace(context, scope=replace(context.scope, values=values))

    def lower_branches(
        self, program: Lowering, branches: tuple[s.Branch, ...], context: LoweringContext
    ) -> Iterator[Node]:
        if not context.is_top_level:
            yield from program.lower_branches(branches, context)
            return
        arms: list[ChoiceBranch] = []
        before: list[tuple[Poly, ...]] = [()]
        reads: tuple[Node, ...] = ()
        for branch in branches:
            if branch.condition is None:
                body = (*reads, *program.lower_block(branch.body, context))
                arms += [ChoiceBranch(ONE, ONE, None, body, facts) for facts in before]
                break
            reads = (*reads, *program.lower_reads(branch.condition, context))
            branch_context = replace(context, scope=assume_facts(context.scope, branch.condition))
            body = (*reads, *program.lower_block(branch.body, branch_context))
            otherwise = negate_condition(branch.condition)
            taken, skipped = (_list_alternatives(side, context.scope) for side in (branch.condition, otherwise))
            arms += [ChoiceBranch(None, ONE, branch.condition, body, (*old, *new)) for old in before for new in taken]
            before = [(*old, *new) for old in before for new in skipped]
            context = replace(context, scope=assume_facts(context.scope, otherwise))
        else:
            arms += [ChoiceBranch(ONE, ONE, None, reads, facts) for facts in before]
        yield Choice(tuple(arms))

    def lower_call(
        self, program: Lowering, call: s.Call, target: s.Algorithm, context: LoweringContext
    ) -> Iterator[Node]:
        if not context.certain or context.when:
            return
        views = {}
        for parameter, argument in zip(target.parameters, call.arguments, strict=True):
            if program.module.is_view(argument):
                try:
                    views[parameter.name] = program.resolve_view(argument, context)
                except UntracedError:
                    views[parameter.name] = _make_unknown_view(
                        program, parameter.name, len(program.module.shapes[argument])
                    )
        sizes, signature = {}, program.module.signatures[target]
        for name in (*signature.size_names, *signature.indices):
            bound = program.module.bindings[call][name]
            size = None if bound is None else static_value_or_none(bound, context.known_scope)
            sizes[name] = _make_fresh_symbol(program, name) if size is None else size
        yield RecursiveCall(target, sizes, views, call.span)


def _take_traceable_nodes(nodes: Iterable[Node]) -> Iterator[Node]:
    """Yield the nodes before the first that cannot be followed."""
    with suppress(UntracedError):
        yield from nodes


def _find_unknown_integers(statement: s.Stmt, context: LoweringContext, after: LoweringContext) -> set[str]:
    """Find the integers to which a statement assigns values that are not known."""
    names = context.integers.keys() - after.integers.keys()
    if statement.named_value and not context.scope.module.is_view(statement.named_value[1]):
        names.add(statement.named_value[0])
    if statement.integer_register and s.list_evaluated(statement):
        names.add(statement.integer_register)
    return names - after.known_scope.values.keys()


def _evaluate_assigned_value(program: Lowering, statement: s.Stmt, name: str, context: LoweringContext) -> Poly:
    if isinstance(statement, s.Assign) and statement.op in ("=", "+="):
        value = static_value_or_none(statement.value, context.known_scope)
        if value is not None:
            return value + context.integers[name] if statement.op == "+=" else value
    return _make_fresh_symbol(program, name)


def _bind_unknown_view(program: Lowering, statement: s.Stmt, context: LoweringContext) -> LoweringContext:
    """Return the context in which the view or the local array that a statement declares is unknown."""
    if statement.named_value:
        shape = program.module.shapes[statement.named_value[1]]
    elif statement.array:
        shape = statement.array.shape
    else:
        return context
    views = {name: _make_unknown_view(program, name, len(shape)) for name in s.find_assigned_names(statement)}
    return replace(context, views={**context.views, **views})


def _make_unknown_view(program: Lowering, name: str, dimensions: int) -> View:
    extents = tuple(_make_fresh_symbol(program, name) for _ in range(dimensions))
    return replace(make_whole_view(Array(name, extents, "rowmajor", local=True, exact=False)), exact=False)


def _make_fresh_symbol(program: Lowering, name: str) -> Poly:
    return Poly.symbol(program.make_loop_name(f"some {name}"))


def _list_alternatives(condition: s.Expr, scope: Scope) -> list[tuple[Poly, ...]]:
    """List the conjunctions of constraints that are alternatives of a condition: two for n != m, by their order."""
    return [
        tuple(constraints)
        for constraints in product(
            *(a.split_extremum(need, True) for need in equivalent_constraints(condition, scope) or ())
        )
    ]


def _conjoin_known(first: tuple[Poly, ...] | None, second: tuple[Poly, ...] | None) -> tuple[Poly, ...] | None:
    return None if first is None or second is None else (*first, *second)


def _possibility_indicator(condition: s.Expr, scope: Scope) -> Poly:
    """Return an indicator that is 0 only where a condition cannot hold, whatever the data."""
    exact = condition_indicator(condition, scope)
    if exact is not None:
        return exact
    match condition:
        case s.Binary(op="and", left=left, right=right):
            return _possibility_indicator(left, scope) * _possibility_indicator(right, scope)
        case _:
            return ONE


def enumerate_paths(nodes: Sequence[Node]) -> list[NodePath]:
    """List every path through the choices among nodes, with its conditions. Raises TooManyPathsError."""
    result: list[NodePath] = [((), ())]
    for node in nodes:
        inner = _list_choice_paths(node) if isinstance(node, Choice) else [((), (node,))]
        result = [(_conjoin_known(known, more), (*before, *after)) for known, before in result for more, after in inner]
        if len(result) > MAX_PATHS:
            raise TooManyPathsError
    return result


def _list_choice_paths(choice: Choice) -> list[NodePath]:
    """List the paths through each branch; without an `else` also the empty path, which has no constraints."""
    paths = [
        (_conjoin_known(branch.known, known), nodes)
        for branch in choice.branches
        for known, nodes in enumerate_paths(branch.body)
    ]
    return paths if choice.branches[-1].condition is None else [*paths, ((), ())]


def contains_recursive_call(node: Node) -> bool:
    """Test whether a node contains a recursive call."""
    return any(True for _ in find_recursive_calls((node,)))


def find_recursive_calls(nodes: Iterable[Node]) -> Iterator[RecursiveCall]:
    """Yield the recursive calls among nodes and in them."""
    for node in nodes:
        match node:
            case RecursiveCall():
                yield node
            case Loop(body=body):
                yield from find_recursive_calls(body)
            case Choice(branches=branches):
                for branch in branches:
                    yield from find_recursive_calls(branch.body)
            case Access():
                pass


def has_contiguous_rows(view: View) -> bool:
    """Test whether neighbours in a view's rows are adjacent in memory, or the view is a matrix in Z-Morton order."""
    array = view.array
    if array.strided:
        return False
    if not view.axes:
        return True
    if array.layout == "zmorton":
        return len(view.axes) == 2
    along_row = view.axes[0] if array.layout == "colmajor" and len(view.axes) > 1 else view.axes[-1]
    return along_row == (contiguous_dimension(array), ONE)


def is_line_aligned(view: View) -> bool:
    """Test whether the rows of a view are known to begin at the start of a cache line.

    It is not known for a part of an array in Z-Morton order, or for a vector viewed as a matrix.
    """
    array, along = view.array, contiguous_dimension(view.array)
    if array.layout == "zmorton":
        return array.aligned and view.extents == array.extents and view.axes == ((0, ONE), (1, ONE))
    return array.aligned and view.starts[along] == ZERO and sum(axis == along for axis, _ in view.axes) < 2


def inherited_facts(module: Module, algorithm: s.Algorithm, facts: Sequence[s.Fact]) -> tuple[s.Fact, ...]:
    """Select the facts that hold in every call if they hold in the outermost one; all facts without recursion."""
    component = find_recursive_component(module, algorithm)
    if not component:
        return tuple(facts)
    symbols = set(list_machine_symbols(module.signatures[algorithm]))
    if any(s.find_nodes(algorithm.body, s.Split)):
        # The loop tree omits calls by a part of the processors, in which P is less: no fact on P is inherited.
        return tuple(fact for fact in facts if s.find_names(fact) <= symbols - {"P"})
    machine = [fact for fact in facts if s.find_names(fact) <= symbols]
    candidates = [fact for fact in facts if fact not in machine]
    if component != (algorithm,):
        # Other algorithms of a mutual recursion have sizes of their own.
        return tuple(machine)
    while candidates:
        inductive = _select_inductive_facts(*add_where_facts(module, algorithm, tuple(candidates)), candidates)
        if len(inductive) == len(candidates):
            break
        candidates = inductive
    return tuple(fact for fact in facts if fact in machine or fact in candidates)


def _select_inductive_facts(module: Module, algorithm: s.Algorithm, facts: Sequence[s.Fact]) -> list[s.Fact]:
    """Select the facts that hold in each call if all of the facts hold in the caller."""
    try:
        level = lower_recursive_body(module, algorithm, OneLevelLowering())
        calls = [
            (path or (), call) for path, nodes in enumerate_paths(level.nodes) for call in find_recursive_calls(nodes)
        ]
    except (UntracedError, TooManyPathsError, TooComplexError, RecursionError):
        return []
    sites = [
        _CallSite(level.scope, reduce(Facts.with_nonnegative, path, level.scope.facts), call)
        for path, call in calls
        if call.target is algorithm
    ]
    return [fact for fact in facts if all(site.holds(fact) for site in sites)]


class _CallSite:
    """A recursive call with the facts that hold where it is made."""

    def __init__(self, scope: Scope, facts: Facts, call: RecursiveCall) -> None:
        self._scope, self._facts, self._sizes = scope, facts, call.sizes

    def holds(self, fact: s.Fact) -> bool:
        """Test whether a fact holds for the sizes of the call."""
        if all(self._is_unchanged(name) for name in s.find_names(fact)):
            return True
        callee_scope = replace(self._scope, facts=self._facts, values={**self._scope.values, **self._sizes})
        match fact:
            case s.IsPower(value=s.Name(id=name), base=s.Integer(value=base)):
                return self._is_caller_size_divided(name, base)
            case s.Binary(op="and", left=left, right=right):
                return self.holds(left) and self.holds(right)
            case s.Binary(op="<" | "<=" | ">" | ">=" | "==" as op) if (
                difference := subtract_sides(fact, callee_scope)
            ) is not None:
                return all(prove_never_negative(value, self._facts) for value in comparison_constraints(op, difference))
            case _:
                return False

    def _is_unchanged(self, name: str) -> bool:
        return name not in self._sizes or self._facts.simplify(self._sizes[name] - self._scope.values[name]) == ZERO

    def _is_caller_size_divided(self, name: str, base: int) -> bool:
        """Test whether a size is that of the caller divided by a power of the base, which may be 1."""
        caller, size = self._scope.values[name], self._sizes[name]
        larger = self._facts.with_nonnegative(caller - base)
        remainders = (larger.simplify(size.scaled(base**power) - caller) for power in range(NUM_DIVISOR_POWERS))
        # For a caller of size 1 the size must not exceed 1; a call of a size below 1 stops the run.
        single = self._facts.restore(size).substitute({name: ONE})
        return ZERO in remainders and single.is_constant and single.constant_term <= 1
