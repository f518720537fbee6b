"""Records are passed as their parts: later stages see only arrays and registers, named `Q.items` and `Q.head`.

An algorithm whose first parameter is a record of a type that its own file defines is an operation of the type, named
`queue.push`; a call finds it by the type of its first argument.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from archline.expr.tree import Node
from archline.language import surface
from archline.language import syntax as s
from archline.language.diagnostics import Diagnostic
from archline.language.elaboration.declare import list_surface_blocks, rewrite_block
from archline.language.elaboration.environment import Environment, collect_header_types
from archline.language.elaboration.record_rules import diagnose_uses, diagnose_written_parameters, iterate_parts
from archline.language.elaboration.rewriting import rewrite_fields, rewrite_tree
from archline.records import replace

_START = "start"
"""The operation of a type that sets a new record."""


def name_operation(record: str, function: str) -> str:
    """Return the name of an operation on records of a type, such as `queue.push`."""
    return f"{record}.{function}"


def find_operation_type(algorithm: s.Algorithm, records: Iterable[str]) -> str | None:
    """Return the type, one of `records`, of an algorithm's first parameter; None if it has another."""
    first: Any = algorithm.parameters[0].type if algorithm.parameters else None
    return first.name if isinstance(first, surface.RecordType) and first.name in records else None


def spread_records(
    algorithm: s.Algorithm, environment: Environment, own: Iterable[str]
) -> tuple[s.Algorithm, tuple[Diagnostic, ...]]:
    """Return an algorithm with records replaced by their parts, and its mistakes with records.

    `own` are the types that its file defines.
    """
    records = environment.records
    parameters = tuple(part for parameter in algorithm.parameters for part in _spread_parameter(parameter, records))
    inner = environment.with_names(collect_header_types(algorithm, records))
    mistakes = (*diagnose_written_parameters(algorithm, inner), *_diagnose_block(algorithm.body, inner))
    body = algorithm.body if mistakes else rewrite_block(algorithm.body, inner, _spread_statement)
    kind = find_operation_type(algorithm, own)
    name = algorithm.name if kind is None else name_operation(kind, algorithm.name)
    return replace(algorithm, name=name, parameters=parameters, body=body), mistakes


def _diagnose_block(block: tuple[Any, ...], environment: Environment) -> Iterator[Diagnostic]:
    for statement in block:
        yield from diagnose_uses(statement, environment)
        for inner in list_surface_blocks(statement):
            yield from _diagnose_block(inner, environment.enter_body(statement))
        environment = environment.add_declared(statement)


def _spread_parameter(parameter: s.Parameter, records: Mapping[str, surface.RecordDefinition]) -> Iterator[s.Parameter]:
    for name, type_ in iterate_parts(parameter.name, parameter.type, records):
        yield replace(parameter, name=name, type=type_)


def _spread_statement(statement: Any, environment: Environment) -> tuple[Any, ...]:
    match statement:
        case s.Local(type=surface.RecordType()):
            return tuple(_declare_record_parts(statement, environment))
        case _:
            # Other statements may pass records in calls.
            return (_spread_calls(statement, environment),)


def _declare_record_parts(statement: s.Local, environment: Environment) -> list[Any]:
    """Return the declarations of a record's parts, with numbers set to 0, and the call of its `start` operation."""
    span, records = statement.span, environment.records
    type_: Any = statement.type
    statements: list[Any] = []
    parts: list[s.Expr] = []
    for name, part in iterate_parts(statement.name, type_, records):
        value: s.Expr | None = None
        if isinstance(part, s.ScalarType):
            value = s.Real("0.0", span=span) if part.element == "real" else s.Integer(0, span=span)
        statements.append(s.Local(name, part, value, None, span=span))
        parts.append(s.Name(name, span=span))
    start = name_operation(type_.name, _START)
    if start in environment.algorithms:
        statements.append(s.Invoke(s.Call(start, tuple(parts), span=span), False, span=span))
    return statements


def _spread_calls(statement: Any, environment: Environment) -> Any:
    """Return a statement whose calls pass the parts of records, and name operations such as `queue.push` in full."""

    def change_node(node: Node) -> Node | None:
        if isinstance(node, s.Branch):
            # Its body has been spread already.
            return replace(node, condition=rewrite_tree(node.condition, change_node))
        if node is not statement and isinstance(node, s.Statement):
            return node
        if not isinstance(node, s.Call):
            return None
        changed: s.Call = rewrite_fields(node, change_node)
        arguments = tuple(part for argument in changed.arguments for part in _spread_argument(argument, environment))
        name = environment.find_called_name(node)
        return replace(changed, function=name, arguments=arguments, as_method=False)

    return rewrite_tree(statement, change_node)


def _spread_argument(argument: s.Expr, environment: Environment) -> Iterator[s.Expr]:
    type_ = environment.find_record(argument)
    if type_ is None:
        yield argument
        return
    assert isinstance(argument, s.Name)
    for name, _ in iterate_parts(argument.id, type_, environment.records):
        yield s.Name(name, span=argument.span)
