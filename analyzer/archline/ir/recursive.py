"""Lower bodies of recursive algorithms, in which calls and conditions stay; and find facts that all calls
inherit.

`n is power of 2` is inherited if n is halved, `m >= n` if both are, and `n >= 64` is not. A fact that a call
does not inherit holds only in the outermost call. Each call is proved from the facts and from the conditions
of its path; if that fails, the fact is dropped, and so may be facts that depend on it.
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
from archline.algebra.prove.prover import never_negative
from archline.ir.conditions import (
    assuming_facts,
    comparison_difference,
    condition_indicator,
    equivalent_constraints,
    negate_condition,
)
from archline.ir.conditions import nonnegative_values as differences
from archline.ir.lower import Lowering, LoweringPolicy
from archline.ir.places import LoweringContext, bind_call, bind_data_sizes, static_value_or_none, whole_view
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
from archline.language.call_graph import find_component
from archline.language.checking.scopes import machine_symbols
from archline.language.extra_facts import add_where
from archline.language.model import Module
from archline.records import record

MAX_PATHS = 64
NodePath = tuple[tuple[Poly, ...] | None, tuple[Node, ...]]
"""Values that are nonnegative on a path (None if data or no values decide it), and the nodes on it."""
MAX_SHARES = 6
"""The maximum power of the base by which a call may divide a size."""


class TooManyPathsError(Exception):
    """The body has more than MAX_PATHS paths."""


@record(eq=False)
class RecursiveBody:
    """The body of a call in the sizes of the algorithm, with its array arguments and local arrays."""

    algorithm: s.Algorithm
    scope: Scope
    nodes: tuple[Node, ...]
    given: tuple[Array, ...]
    made: tuple[Array, ...]


def lower_recursive_body(module: Module, algorithm: s.Algorithm, policy: LoweringPolicy) -> RecursiveBody:
    """Lower the body of an algorithm. Raises UntracedError."""
    program = Lowering(module, policy)
    scope, views = program.given(algorithm)
    nodes = program.body_of(algorithm, scope, views)
    return RecursiveBody(algorithm, scope, nodes, tuple(view.array for view in views.values()), tuple(program.made))


@dataclass(eq=False)
class OneLevel(LoweringPolicy):
    """Lowers a recursive algorithm up to its calls, which stay calls; conditions around them stay too.

    The rows of array parameters in `aligned` begin with a line; entries of arrays in `strided` are not adjacent.
    """

    aligned: frozenset[str] = frozenset()
    strided: frozenset[str] = frozenset()

    def array(self, name: str, extents: tuple[Poly, ...], layout: str) -> Array:
        return Array(name, extents, layout, aligned=name in self.aligned, strided=name in self.strided)

    def call(self, program: Lowering, call: s.Call, target: s.Algorithm, place: LoweringContext) -> Iterator[Node]:
        """Keep a call of a recursive algorithm, and inline any other."""
        if not call_graph.find_component(program.module, target):
            yield from program.inline_call(call, target, place)
            return
        scope, given = bind_call(call, target, place, program.fresh)
        sizes = {name: scope.values[name] for name in program.module.bindings[call]}
        known = all(array.exact and not array.within and array.layout != "zmorton" for array in place.locals)
        base = place.stack if known else None
        yield from bind_data_sizes(
            given, (RecursiveCall(target, sizes, program.passed(call, target, place), call.span, base),)
        )

    def branches(self, program: Lowering, branches: tuple[s.Branch, ...], place: LoweringContext) -> Iterator[Node]:
        """Keep branches of the algorithm's own body separate, as certain as the branch itself."""
        if not place.algorithm_top and not any(
            call_graph.is_recursive(program.module, callee)
            for callee in call_graph.iterate_callees(program.module, branches)
        ):
            yield from program.branches(branches, place)
            return
        arms: list[ChoiceBranch] = []
        inner = place
        before: tuple[Poly, ...] | None = ()
        for branch in branches:
            if branch.condition is None:
                arms.append(ChoiceBranch(ONE, ONE, None, tuple(program.block(branch.body, inner)), before))
                break
            yield from program.reads(branch.condition, inner)
            holds = condition_indicator(branch.condition, inner.scope)
            held, left = inner, inner
            if holds is None or not place.algorithm_top:
                held = inner.under(equivalent_constraints(branch.condition, inner.scope))
                left = inner.under(equivalent_constraints(negate_condition(branch.condition), inner.scope))
            if holds is not None:
                # A branch is lowered under its condition, and the branches after it under the negation.
                held = replace(held, scope=assuming_facts(held.scope, branch.condition))
                left = replace(left, scope=assuming_facts(left.scope, negate_condition(branch.condition)))
            possible = _possibility_indicator(branch.condition, inner.scope)
            here = _conjoin_known(before, equivalent_constraints(branch.condition, inner.scope))
            arms.append(ChoiceBranch(holds, possible, branch.condition, tuple(program.block(branch.body, held)), here))
            before = _conjoin_known(before, equivalent_constraints(negate_condition(branch.condition), inner.scope))
            inner = left
        yield Choice(tuple(arms))


class MustLowering(LoweringPolicy):
    """Lowers for lower bounds: all calls stay calls, and code that cannot be followed is omitted.

    On each path through the branches of the body, all nodes are as certain as the path. Data-dependent integers
    are symbols as long as no statement assigns them.
    """

    def reading(self, place: LoweringContext) -> Scope:
        return replace(place.knowing, reads_offsets=True)

    def statement(
        self, program: Lowering, statement: s.Stmt, place: LoweringContext
    ) -> tuple[Iterable[Node], LoweringContext]:
        after = self._context_after(program, statement, place)
        return _followed_nodes(program.statement(statement, place, after)), after

    def _context_after(self, program: Lowering, statement: s.Stmt, place: LoweringContext) -> LoweringContext:
        try:
            after = program.after(statement, place)
        except UntracedError:
            return _with_unknown_view(program, statement, place.after(statement))
        if not place.algorithm_top:
            return after
        named = {
            name: _assigned_value(program, statement, name, place)
            for name in _unknown_integers(statement, place, after)
        }
        return replace(after, integers={**after.integers, **named})

    def loop(self, place: LoweringContext, loop: s.Loop) -> LoweringContext:
        """Treat integers that the loop does not assign as constants in it."""
        values = {**place.after(loop).integers, **place.scope.values}
        return replace(place, scope=replace(place.scope, values=values))

    def branches(self, program: Lowering, branches: tuple[s.Branch, ...], place: LoweringContext) -> Iterator[Node]:
        if not place.algorithm_top:
            yield from program.branches(branches, place)
            return
        arms: list[ChoiceBranch] = []
        before: list[tuple[Poly, ...]] = [()]
        read: tuple[Node, ...] = ()
        for branch in branches:
            if branch.condition is None:
                body = (*read, *program.block(branch.body, place))
                arms += [ChoiceBranch(ONE, ONE, None, body, facts) for facts in before]
                break
            read = (*read, *program.reads(branch.condition, place))
            held = replace(place, scope=assuming_facts(place.scope, branch.condition))
            body = (*read, *program.block(branch.body, held))
            otherwise = negate_condition(branch.condition)
            taken, left = (_alternatives_of(each, place.scope) for each in (branch.condition, otherwise))
            arms += [ChoiceBranch(None, ONE, branch.condition, body, (*old, *new)) for old in before for new in taken]
            before = [(*old, *new) for old in before for new in left]
            place = replace(place, scope=assuming_facts(place.scope, otherwise))
        else:
            arms += [ChoiceBranch(ONE, ONE, None, read, facts) for facts in before]
        yield Choice(tuple(arms))

    def call(self, program: Lowering, call: s.Call, target: s.Algorithm, place: LoweringContext) -> Iterator[Node]:
        if not place.certain or place.when:
            return
        views = {}
        for parameter, argument in zip(target.parameters, call.arguments, strict=True):
            if program.module.is_view(argument):
                try:
                    views[parameter.name] = program.view(argument, place)
                except UntracedError:
                    views[parameter.name] = _unknown_view(program, parameter.name, len(program.module.shapes[argument]))
        sizes, signature = {}, program.module.signatures[target]
        for name in (*signature.size_names, *signature.indices):
            bound = program.module.bindings[call][name]
            size = None if bound is None else static_value_or_none(bound, place.knowing)
            sizes[name] = _fresh_symbol(program, name) if size is None else size
        yield RecursiveCall(target, sizes, views, call.span)


def _followed_nodes(nodes: Iterable[Node]) -> Iterator[Node]:
    """Yield the nodes up to the first that cannot be followed."""
    with suppress(UntracedError):
        yield from nodes


def _unknown_integers(statement: s.Stmt, place: LoweringContext, after: LoweringContext) -> set[str]:
    """The integers to which a statement assigns data-dependent values."""
    names = place.integers.keys() - after.integers.keys()
    if statement.named and not place.scope.module.is_view(statement.named[1]):
        names.add(statement.named[0])
    if statement.integer and s.list_evaluated(statement):
        names.add(statement.integer)
    return names - after.knowing.values.keys()


def _assigned_value(program: Lowering, statement: s.Stmt, name: str, place: LoweringContext) -> Poly:
    if isinstance(statement, s.Assign) and statement.op in ("=", "+="):
        value = static_value_or_none(statement.value, place.knowing)
        if value is not None:
            return value + place.integers[name] if statement.op == "+=" else value
    return _fresh_symbol(program, name)


def _with_unknown_view(program: Lowering, statement: s.Stmt, place: LoweringContext) -> LoweringContext:
    """Bind the name of a view, or of a local array, to an unknown view."""
    if statement.named:
        shape = program.module.shapes[statement.named[1]]
    elif statement.array:
        shape = statement.array.shape
    else:
        return place
    views = {name: _unknown_view(program, name, len(shape)) for name in s.find_set_names(statement)}
    return replace(place, views={**place.views, **views})


def _unknown_view(program: Lowering, name: str, dimensions: int) -> View:
    extents = tuple(_fresh_symbol(program, name) for _ in range(dimensions))
    return replace(whole_view(Array(name, extents, "rowmajor", local=True, exact=False)), exact=False)


def _fresh_symbol(program: Lowering, name: str) -> Poly:
    return Poly.symbol(program.fresh(f"some {name}"))


def _alternatives_of(condition: s.Expr, scope: Scope) -> list[tuple[Poly, ...]]:
    """List alternative constraints of a condition: several if two sizes differ in either direction."""
    return [
        tuple(each)
        for each in product(*(a.split_extremum(need, True) for need in equivalent_constraints(condition, scope) or ()))
    ]


def _conjoin_known(one: tuple[Poly, ...] | None, other: tuple[Poly, ...] | None) -> tuple[Poly, ...] | None:
    return None if one is None or other is None else (*one, *other)


def _possibility_indicator(condition: s.Expr, scope: Scope) -> Poly:
    """An indicator that is 0 only where a condition cannot hold."""
    exact = condition_indicator(condition, scope)
    if exact is not None:
        return exact
    match condition:
        case s.Binary(op="and", left=left, right=right):
            return _possibility_indicator(left, scope) * _possibility_indicator(right, scope)
        case _:
            return ONE


def enumerate_paths(nodes: Sequence[Node]) -> list[NodePath]:
    """List every path through choices. Raises TooManyPathsError."""
    result: list[NodePath] = [((), ())]
    for node in nodes:
        inner = _paths_through(node) if isinstance(node, Choice) else [((), (node,))]
        result = [(_conjoin_known(known, more), (*before, *way)) for known, before in result for more, way in inner]
        if len(result) > MAX_PATHS:
            raise TooManyPathsError
    return result


def _paths_through(choice: Choice) -> list[NodePath]:
    """List the paths through each branch, and the one on which none is taken, without facts."""
    paths = [
        (_conjoin_known(branch.known, known), way)
        for branch in choice.branches
        for known, way in enumerate_paths(branch.body)
    ]
    return paths if choice.branches[-1].condition is None else [*paths, ((), ())]


def contains_recursive_call(node: Node) -> bool:
    """Test whether a node contains a recursive call."""
    return any(True for _ in recursive_calls((node,)))


def recursive_calls(nodes: Iterable[Node]) -> Iterator[RecursiveCall]:
    """Yield the recursive calls among nodes and in them."""
    for node in nodes:
        match node:
            case RecursiveCall():
                yield node
            case Loop(body=body):
                yield from recursive_calls(body)
            case Choice(branches=branches):
                for branch in branches:
                    yield from recursive_calls(branch.body)
            case Access():
                pass


def has_contiguous_rows(view: View) -> bool:
    """Test whether neighbours in a view's rows are neighbours in memory."""
    array = view.array
    if array.strided:
        return False
    if not view.axes:
        return True
    if array.layout == "zmorton":
        return len(view.axes) == 2
    own = view.axes[0] if array.layout == "colmajor" and len(view.axes) > 1 else view.axes[-1]
    return own == (contiguous_dimension(array), ONE)


def is_line_aligned(view: View) -> bool:
    """Test whether a view's rows begin with lines, if those of its array do.

    In Z-Morton order only a whole array does; rows of a vector viewed as a matrix need not.
    """
    array, along = view.array, contiguous_dimension(view.array)
    if array.layout == "zmorton":
        return array.aligned and view.extents == array.extents and view.axes == ((0, ONE), (1, ONE))
    return array.aligned and view.starts[along] == ZERO and sum(axis == along for axis, _ in view.axes) < 2


def inherited_facts(module: Module, algorithm: s.Algorithm, facts: Sequence[s.Fact]) -> tuple[s.Fact, ...]:
    """Select the facts that all calls inherit from the outermost one; all facts without recursion."""
    circle = find_component(module, algorithm)
    if not circle:
        return tuple(facts)
    symbols = set(machine_symbols(module.signatures[algorithm]))
    if any(s.find(algorithm.body, s.Split)):
        # The loop tree omits calls by a part of the processors, where P is their number: nothing is proved.
        return tuple(fact for fact in facts if s.names(fact) <= symbols - {"P"})
    machine = [fact for fact in facts if s.names(fact) <= symbols]
    left = [fact for fact in facts if fact not in machine]
    if circle != (algorithm,):
        # Other algorithms in the circle have sizes of their own.
        return tuple(machine)
    while left:
        holding = _inductive_facts(*add_where(module, algorithm, tuple(left)), left)
        if len(holding) == len(left):
            break
        left = holding
    return tuple(fact for fact in facts if fact in machine or fact in left)


def _inductive_facts(module: Module, algorithm: s.Algorithm, facts: Sequence[s.Fact]) -> list[s.Fact]:
    """Select the facts that hold in each call if all of the facts hold in the caller."""
    try:
        level = lower_recursive_body(module, algorithm, OneLevel())
        every = [(path or (), call) for path, nodes in enumerate_paths(level.nodes) for call in recursive_calls(nodes)]
    except (UntracedError, TooManyPathsError, TooComplexError, RecursionError):
        return []
    own = [(path, call) for path, call in every if call.target is algorithm]
    places = [
        _CallFacts(level.scope, reduce(Facts.with_nonnegative, path, level.scope.facts), call) for path, call in own
    ]
    return [fact for fact in facts if all(place.holds(fact) for place in places)]


class _CallFacts:
    """A call with the facts at its place."""

    def __init__(self, scope: Scope, facts: Facts, call: RecursiveCall) -> None:
        self._scope, self._facts, self._sizes = scope, facts, call.sizes

    def holds(self, fact: s.Fact) -> bool:
        """Test whether a fact holds for the sizes of the call."""
        if all(self._is_unchanged(name) for name in s.names(fact)):
            return True
        there = replace(self._scope, facts=self._facts, values={**self._scope.values, **self._sizes})
        match fact:
            case s.IsPower(value=s.Name(id=name), base=s.Integer(value=base)):
                return self._is_share(name, base)
            case s.Binary(op="and", left=left, right=right):
                return self.holds(left) and self.holds(right)
            case s.Binary(op="<" | "<=" | ">" | ">=" | "==" as op) if (
                apart := comparison_difference(fact, there)
            ) is not None:
                return all(never_negative(value, self._facts) for value in differences(op, apart))
            case _:
                return False

    def _is_unchanged(self, name: str) -> bool:
        return name not in self._sizes or self._facts.simplify(self._sizes[name] - self._scope.values[name]) == ZERO

    def _is_share(self, name: str, base: int) -> bool:
        """Test whether a size is that of the caller, possibly divided by a power of the base."""
        whole, size = self._scope.values[name], self._sizes[name]
        larger = self._facts.with_nonnegative(whole - base)
        shares = (larger.simplify(size.scaled(base**power) - whole) for power in range(MAX_SHARES))
        # A call of a size below 1 stops the run.
        single = self._facts.restore(size).substitute({name: ONE})
        return ZERO in shares and single.is_constant and single.constant_term <= 1
