"""Records are passed as their parts: later stages see only arrays and registers, named `Q.items` and `Q.head`.

An algorithm whose first parameter is a record of a type that its own file defines is an operation of the type, named
`queue.push`; a call finds it by the type of its first argument.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from archline.expr.tree import Node
from archline.language import name_rules, surface
from archline.language import syntax as s
from archline.language.diagnostics import Diagnostic, propose, suggest_closest
from archline.language.elaboration.declare import replace_blocks
from archline.language.elaboration.environment import Environment, read_header
from archline.language.elaboration.rewriting import rewrite_fields, rewrite_tree
from archline.records import replace

_FOREIGN_TYPES = {
    **dict.fromkeys(("float", "double", "float32", "float64", "number", "complex"), "real"),
    **dict.fromkeys(("integer", "int32", "int64", "long", "unsigned"), "int"),
    **dict.fromkeys(("boolean",), "bool"),
}
_START = "start"
"""The operation of a type that sets a new record."""


def name_operation(record: str, function: str) -> str:
    """Return the name of an operation of a type of records."""
    return f"{record}.{function}"


def find_operation_type(algorithm: s.Algorithm, records: Iterable[str]) -> str | None:
    """Return the type, one of `records`, of an algorithm's first parameter; None if it has another."""
    first: Any = algorithm.parameters[0].type if algorithm.parameters else None
    return first.name if isinstance(first, surface.RecordType) and first.name in records else None


def list_record_types(items: Iterable[Any]) -> list[surface.RecordType]:
    """Return the types of records that a file mentions, the calls that make new records among them."""
    return [node for item in items for node in s.nodes(item) if isinstance(node, surface.RecordType)]


_PLAIN_TYPES = ("real", "int", "bool", "char", "size", "index")


def diagnose_types(
    items: Iterable[Any], records: Mapping[str, surface.RecordDefinition], more: Iterable[str] = ()
) -> Iterator[Diagnostic]:
    """Yield a finding for each type that is none, and for each new record without its sizes.

    Types that may be meant are `records`, and `more` of the library.
    """
    items = tuple(items)
    for algorithm in s.find_nodes(items, s.Algorithm):
        for local in s.find_nodes(algorithm.body, s.Local):
            made: Any = local.type
            if isinstance(made, surface.RecordType) and len(made.sizes) < len(_list_sizes(made, records)):
                near = next((name for name in read_header(algorithm, records) if "." not in name), "n")
                sizes = ", ".join(size.id for size in _list_sizes(made, records))
                text = f"{local.name} = {made.name}({near})"
                advice = propose(local.span, text, safe=False) if sizes == "cap" else None
                message = f"`{made.name}` needs its sizes: {sizes}"
                yield Diagnostic(name_rules.UNBOUND_SIZE, message, local.span, hint=advice)
    for type_ in list_record_types(items):
        if type_.name not in records:
            foreign = _FOREIGN_TYPES.get(type_.name)
            hint = (
                f"numbers are `real` or `int`: write `{foreign}`"
                if foreign
                else suggest_closest(
                    type_.name, ["real", "int", "bool", "char", "size", "index", *records, *more], type_.span
                )
            )
            yield Diagnostic(name_rules.UNKNOWN_NAME, f"unknown type `{type_.name}`", type_.span, hint=hint)


def _list_sizes(type_: surface.RecordType, records: Mapping[str, surface.RecordDefinition]) -> tuple[s.Name, ...]:
    return records[type_.name].sizes if type_.name in records else ()


def spread_records(algorithm: s.Algorithm, environment: Environment, own: Iterable[str]) -> s.Algorithm:
    """Return an algorithm with the parts of records in their places; `own` are the types that its file defines."""
    records = environment.records
    parameters = tuple(part for parameter in algorithm.parameters for part in _spread_parameter(parameter, records))
    inner = environment.with_names(read_header(algorithm, records))
    body = _spread_block(algorithm.body, inner)
    kind = find_operation_type(algorithm, own)
    name = algorithm.name if kind is None else name_operation(kind, algorithm.name)
    return replace(algorithm, name=name, parameters=parameters, body=body)


def iterate_parts(name: str, type_: Any, records: Mapping[str, surface.RecordDefinition]) -> Iterator[tuple[str, Any]]:
    """Yield the parts of a record and their types, or a name and its type if it is no record."""
    if not isinstance(type_, surface.RecordType) or type_.name not in records:
        yield name, type_
        return
    definition = records[type_.name]
    sizes = {size.id: value for size, value in zip(definition.sizes, type_.sizes, strict=False)}

    def change(node: Node) -> Node | None:
        return sizes.get(node.id) if isinstance(node, s.Name) else None

    for part in definition.fields:
        yield from iterate_parts(f"{name}.{part.name}", rewrite_tree(part.type, change), records)


def _spread_parameter(parameter: s.Parameter, records: Mapping[str, surface.RecordDefinition]) -> Iterator[s.Parameter]:
    for name, type_ in iterate_parts(parameter.name, parameter.type, records):
        yield replace(parameter, name=name, type=type_)


def _spread_block(block: tuple[Any, ...], environment: Environment) -> tuple[Any, ...]:
    statements: list[Any] = []
    for statement in block:
        inside = environment.inside(statement)
        changed = replace_blocks(statement, lambda inner, inside=inside: _spread_block(inner, inside))
        match changed:
            case s.Local(type=surface.RecordType()):
                statements += _make_record(changed, environment)
            case _:
                # Other statements may pass records in calls.
                statements.append(_spread_calls(changed, environment))
        environment = environment.after(statement)
    return tuple(statements)


def _make_record(statement: s.Local, environment: Environment) -> list[Any]:
    """Return the declarations of a record's parts, whose numbers are 0, and the call that starts it."""
    span, records = statement.span, environment.records
    type_: Any = statement.type
    made: list[Any] = []
    parts: list[s.Expr] = []
    for name, part in iterate_parts(statement.name, type_, records):
        value: s.Expr | None = None
        if isinstance(part, s.ScalarType):
            value = s.Real("0.0", span=span) if part.element == "real" else s.Integer(0, span=span)
        made.append(s.Local(name, part, value, None, span=span))
        parts.append(s.Name(name, span=span))
    start = name_operation(type_.name, _START)
    if start in environment.algorithms:
        made.append(s.Invoke(s.Call(start, tuple(parts), span=span), False, span=span))
    return made


def _spread_calls(statement: Any, environment: Environment) -> Any:
    """Return a statement whose calls pass the parts of records, to the operations of their types."""

    def change(node: Node) -> Node | None:
        if isinstance(node, s.Branch):
            # Its body has been spread already.
            return replace(node, condition=rewrite_tree(node.condition, change))
        if node is not statement and isinstance(node, s.Statement):
            return node
        if not isinstance(node, s.Call):
            return None
        changed: s.Call = rewrite_fields(node, change)
        arguments = tuple(part for argument in changed.arguments for part in _spread_argument(argument, environment))
        name = environment.find_called_name(node)
        return replace(changed, function=name, arguments=arguments, as_method=False)

    return rewrite_tree(statement, change)


def _spread_argument(argument: s.Expr, environment: Environment) -> Iterator[s.Expr]:
    type_ = environment.find_record(argument)
    if type_ is None:
        yield argument
        return
    assert isinstance(argument, s.Name)
    for name, _ in iterate_parts(argument.id, type_, environment.records):
        yield s.Name(name, span=argument.span)
