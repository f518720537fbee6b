"""Puts the bodies of algorithms in place of their calls, so that registers and arrays are followed through calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from typing import Any

from archline.expr.tree import Change, Node, rewrite_fields, rewrite_tree, tree_node
from archline.language import syntax as s
from archline.language.call_graph import find_reachable
from archline.language.model import Module
from archline.records import record, replace

MAX_STATEMENTS = 60
"""The statements up to which a body takes the place of a call; calls inside it count with theirs."""
MAX_CALLS = 40

Block = tuple[s.Stmt, ...]


@tree_node
class CallBody(s.If):
    """The body of an algorithm in place of its call, as a branch that is always taken; `return` in it ends it."""


@record(eq=False)
class Inlined:
    """A body in which calls are replaced.

    `origins` maps the loops in it that are copies to the loops that they stand for; `uncovered` are the algorithms that
    are called in other ways too.
    """

    body: Block
    origins: Mapping[s.Loop | s.While, s.Loop | s.While]
    uncovered: frozenset[s.Algorithm]


def replace_calls(module: Module, algorithm: s.Algorithm) -> Inlined:
    """Return the body of an algorithm with the bodies of the algorithms that it calls in place of their calls."""
    builder = _Builder(module)
    body = builder.replace_in_block(algorithm.body, (algorithm,))
    uncovered = {*builder.left}.union(*(find_reachable(module, target) for target in builder.left))
    return Inlined(body, builder.origins, frozenset(uncovered))


def iterate_loops(body: Iterable[s.Stmt]) -> Iterator[s.Loop | s.While]:
    """Yield the loops of a body, in the order of the text."""
    for node in s.iterate_nodes(tuple(body)):
        if isinstance(node, s.Loop | s.While):
            yield node


class _Builder:
    def __init__(self, module: Module) -> None:
        self._module = module
        self._numbers = count(1)
        self._calls = 0
        self.origins: dict[s.Loop | s.While, s.Loop | s.While] = {}
        self.left: set[s.Algorithm] = set()

    def replace_in_block(self, block: Block, callers: tuple[s.Algorithm, ...]) -> Block:
        """Replace the calls in a block of the last of `callers`."""
        return tuple(part for statement in block for part in self._replace_in_statement(statement, callers))

    def _replace_in_statement(self, statement: s.Stmt, callers: tuple[s.Algorithm, ...]) -> Iterator[s.Stmt]:
        match statement:
            case s.Assign(value=s.Call() as call, outputs=outputs) if call in self._module.targets:
                yield from self._replace_call(statement, call, outputs, callers)
            case s.Local(value=s.Call() as call, when=None) if call in self._module.targets:
                yield from self._replace_call(statement, call, (), callers)
            case s.Assign(value=value) | s.Local(value=value, when=None) if (
                inner := self._find_call_with_loop(value)
            ) is not None:
                yield from self._replace_inner_call(statement, inner, callers)
            case s.Invoke(call=call, spawned=False, along=(), outputs=outputs):
                yield from self._replace_call(statement, call, outputs, callers)
            case _:
                # No other statement has a call with a loop.
                yield self._rewrite_statement(statement, callers)

    def _find_call_with_loop(self, expr: s.Expr | None) -> s.Call | None:
        """Return a call in an expression of an algorithm that has loops, and no effect but its value."""
        for call in () if expr is None else s.iterate_certain_calls(expr):
            target = self._module.targets.get(call)
            if not isinstance(target, s.Algorithm) or target.outputs or not any(iterate_loops(target.body)):
                continue
            if all(parameter.mode == "in" for parameter in target.parameters):
                return call
        return None

    def _replace_inner_call(
        self, statement: s.Assign | s.Local, call: s.Call, callers: tuple[s.Algorithm, ...]
    ) -> Iterator[s.Stmt]:
        """Yield a statement whose value contains a call, after a register that takes the value of the call."""
        target = self._module.targets[call]
        register = s.Name(self._make_name("value"), span=call.span)
        type_ = s.ScalarType(target.result or "real", span=call.span)
        first = s.Local(register.id, type_, call, None, span=call.span)
        yield from self._replace_call(first, call, (), callers)
        value = rewrite_tree(statement.value, lambda node: register if node is call else None)
        yield from self._replace_in_statement(replace(statement, value=value), callers)

    def _rewrite_statement(self, statement: s.Stmt, callers: tuple[s.Algorithm, ...]) -> s.Stmt:
        """Replace the calls in the expressions of a statement, and in the blocks inside it."""

        def change_node(node: Node) -> Any:
            if node is not statement and isinstance(node, s.Statement):
                return tuple(self._replace_in_statement(node, callers))  # type: ignore[arg-type]
            if isinstance(node, s.Call) and node in self._module.targets:
                return self._express_call(node, callers)
            return None

        changed: s.Stmt = rewrite_fields(statement, change_node)
        self._note_origin(changed, statement)
        return changed

    def _note_origin(self, copy: s.Stmt, statement: s.Stmt) -> None:
        if copy is not statement and isinstance(copy, s.Loop | s.While) and isinstance(statement, s.Loop | s.While):
            self.origins[copy] = self.origins.get(statement, statement)

    def _replace_call(
        self, statement: s.Stmt, call: s.Call, outputs: Iterable[s.Name | s.Element], callers: tuple[s.Algorithm, ...]
    ) -> Iterator[s.Stmt]:
        """Yield the body of a called algorithm, and the assignments of its outputs."""
        target = self._module.targets[call]
        outputs = tuple(outputs)
        if not self._is_replaceable(call, target, outputs, callers):
            self._leave_call(target)
            yield self._rewrite_statement(statement, callers)
            return
        assert isinstance(target, s.Algorithm)
        self._calls += 1
        body = self.replace_in_block(target.body, (*callers, target))
        values, names, before = self._bind_parameters(call, target)
        renamed = self._rename_in_block(body, values, names)
        span = call.span
        # An argument may be a call too.
        yield from self.replace_in_block(tuple(before), callers)
        *inner, last = renamed
        result: s.Expr | None = None
        if isinstance(last, s.Return):
            result = s.Name(self._make_name("result"), span=span)
            value = s.Local(result.id, s.ScalarType(target.result or "real", span=span), last.value, None, span=span)
        yield CallBody((s.Branch(None, tuple(inner) if result is not None else renamed, span=span),), span=span)
        if result is not None:
            yield value
        for place, output in zip(outputs, target.outputs, strict=True):
            yield s.Assign(place, "=", s.Name(names[output.register], span=span), False, span=span)
        if isinstance(statement, s.Assign | s.Local):
            assert result is not None
            stored = replace(statement, value=result)
            yield self._rewrite_statement(
                replace(stored, outputs=()) if isinstance(stored, s.Assign) else stored, callers
            )

    def _is_replaceable(
        self,
        call: s.Call,
        target: s.Algorithm | s.Extern,
        outputs: tuple[s.Name | s.Element, ...],
        callers: tuple[s.Algorithm, ...],
    ) -> bool:
        if isinstance(target, s.Extern) or target.grid or target in callers or self._calls >= MAX_CALLS:
            return False
        if len(target.parameters) != len(call.arguments) or len(outputs) != len(target.outputs):
            return False
        if sum(isinstance(node, s.Statement) for node in s.iterate_nodes(target.body)) > MAX_STATEMENTS:
            return False
        whole = all(
            isinstance(argument, s.Name)
            for parameter, argument in zip(target.parameters, call.arguments, strict=True)
            if not isinstance(parameter.type, _PLAIN_TYPES)
        )
        return whole and all(isinstance(place, s.Name) for place in outputs)

    def _leave_call(self, target: s.Algorithm | s.Extern) -> None:
        if isinstance(target, s.Algorithm):
            self.left.add(target)

    def _bind_parameters(
        self, call: s.Call, target: s.Algorithm
    ) -> tuple[Mapping[str, s.Expr], Mapping[str, str], list[s.Stmt]]:
        """Return the values and the names that stand for those of a callee, and declarations of further ones."""
        assigned = s.find_assigned_names(target.body)
        values: dict[str, s.Expr] = {}
        names: dict[str, str] = {}
        before: list[s.Stmt] = []
        for parameter, argument in zip(target.parameters, call.arguments, strict=True):
            if not isinstance(parameter.type, _PLAIN_TYPES):
                assert isinstance(argument, s.Name)
                names[parameter.name] = argument.id
            elif isinstance(argument, s.Name | s.Integer) and parameter.name not in assigned:
                values[parameter.name] = argument
            else:
                names[parameter.name] = self._make_name(parameter.name)
                type_ = (
                    parameter.type
                    if isinstance(parameter.type, s.ScalarType)
                    else s.ScalarType("int", span=argument.span)
                )
                before.append(s.Local(names[parameter.name], type_, argument, None, span=argument.span))
        for name, size in self._module.bindings.get(call, {}).items():
            if size is not None and name not in names:
                values.setdefault(name, size)
        for name in sorted(assigned | _list_local_names(target)):
            if name not in values and name not in names:
                names[name] = self._make_name(name)
        for name in self._module.signatures[target].size_names:
            if name not in values and name not in names:
                names[name] = self._make_name(name)
        return values, names, before

    def _make_name(self, name: str) -> str:
        return f"{name} {next(self._numbers)}"

    def _rename_in_block(self, block: Block, values: Mapping[str, s.Expr], names: Mapping[str, str]) -> Block:
        """Return a copy of a block with other names, and expressions in place of some."""

        def change_node(node: Node) -> Any:
            match node:
                case s.Name() | s.Element():
                    return _rename_value(node, values, names, change_node)
                case s.Let(name=name) | s.Local(name=name) if name in names:
                    return replace(rewrite_fields(node, change_node), name=names[name])
                case s.Loop(variable=name):
                    changed = replace(rewrite_fields(node, change_node), variable=names.get(name, name))
                    self._note_origin(changed, node)
                    return changed
                case s.While():
                    changed = replace(rewrite_fields(node, change_node))
                    self._note_origin(changed, node)
                    return changed
                case _:
                    return None

        renamed: Block = rewrite_tree(block, change_node)
        return renamed

    # Expressions
    def _express_call(self, call: s.Call, callers: tuple[s.Algorithm, ...]) -> s.Expr | None:
        """Return the value of a call as an expression of the caller; None if its body is more than an expression."""
        target = self._module.targets[call]
        if isinstance(target, s.Algorithm) and self._is_replaceable(call, target, (), callers):
            values, names, _ = self._bind_parameters(call, target)
            for parameter, argument in zip(target.parameters, call.arguments, strict=True):
                if isinstance(parameter.type, _PLAIN_TYPES):
                    values = {**values, parameter.name: self._evaluate(argument, {}, {}, callers)}
            for statement in target.body:
                match statement:
                    case s.Assume() | s.Local(value=None):
                        continue
                    case (
                        s.Local(name=name, value=value, when=None)
                        | s.Assign(target=s.Name(id=name), op="=", value=value, outputs=())
                    ) if value is not None:
                        values = {**values, name: self._evaluate(value, values, names, (*callers, target))}
                    case s.Return(value=value):
                        return self._evaluate(value, values, names, (*callers, target))
                    case _:
                        # The value behind any other statement is not known.
                        break
        self._leave_call(target)
        return None

    def _evaluate(
        self, expr: s.Expr, values: Mapping[str, s.Expr], names: Mapping[str, str], callers: tuple[s.Algorithm, ...]
    ) -> s.Expr:
        def change_node(node: Node) -> Any:
            match node:
                case s.Name() | s.Element():
                    return _rename_value(node, values, names, change_node)
                case s.Call() if node in self._module.targets:
                    inner = self._express_call(node, callers)
                    return None if inner is None else rewrite_tree(inner, change_node)
                case _:
                    return None

        result: s.Expr = rewrite_tree(expr, change_node)
        return result


_PLAIN_TYPES = (s.ScalarType, s.SizeType, s.IndexType)


def _rename_value(
    node: s.Name | s.Element, values: Mapping[str, s.Expr], names: Mapping[str, str], change: Change
) -> s.Expr | None:
    """Return what replaces a name or an element: a value, or the same under another name; None if it stays."""
    match node:
        case s.Name(id=name) if name in values:
            return values[name]
        case s.Name(id=name) if name in names:
            return replace(node, id=names[name])
        case s.Element(array=name) if name in names:
            renamed: s.Element = replace(rewrite_fields(node, change), array=names[name])
            return renamed
        case _:
            return None


def _list_local_names(algorithm: s.Algorithm) -> frozenset[str]:
    """Return the names of the registers, arrays and values that an algorithm declares."""
    nodes = s.iterate_nodes(algorithm.body)
    return frozenset(node.name for node in nodes if isinstance(node, s.Local | s.Let))
