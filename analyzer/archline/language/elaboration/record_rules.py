"""Mistakes in types of records, and in what is done with records, are found while records are still whole."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from typing import Any

from archline.expr.text import format_expression, format_list
from archline.expr.tree import Node
from archline.language import call_rules, name_rules, surface, type_rules
from archline.language import syntax as s
from archline.language.diagnostics import (
    Diagnostic,
    Proposal,
    Related,
    find_in_span,
    format_count,
    propose_text,
    suggest_closest,
)
from archline.language.elaboration.declare import iterate_written_names, replace_blocks
from archline.language.elaboration.environment import Environment, collect_header_types, group_parts
from archline.language.elaboration.rewriting import renew_nodes, rewrite_tree
from archline.language.foreign_headers import SEQUENCES, translate_scalar_type
from archline.language.mistakes import SAME_OPERATIONS
from archline.records import record, replace

Records = Mapping[str, surface.RecordDefinition]
_PLAIN_TYPES = ("real", "int", "bool", "char", "size", "index")
_TEXTS = ("str", "string", "String")


def list_record_types(items: Iterable[Any]) -> list[surface.RecordType]:
    """Return all mentions of types of records in items, in order."""
    return [node for item in items for node in s.iterate_nodes(item) if isinstance(node, surface.RecordType)]


def iterate_parts(name: str, type_: Any, records: Records) -> Iterator[tuple[str, Any]]:
    """Yield the parts of a record, such as `Q.head`, and their types; for a name of another type, only that."""
    if not isinstance(type_, surface.RecordType) or type_.name not in records:
        yield name, type_
        return
    definition = records[type_.name]
    sizes = {size.id: value for size, value in zip(definition.sizes, type_.sizes, strict=False)}

    def change_node(node: Node) -> Node | None:
        return sizes.get(node.id) if isinstance(node, s.Name) else None

    for part in definition.fields:
        # Each part of each record has nodes of its own, as facts are kept about nodes.
        type_of_part = renew_nodes(rewrite_tree(part.type, change_node))
        yield from iterate_parts(f"{name}.{part.name}", type_of_part, records)


# Definitions
def read_definitions(definitions: Iterable[surface.RecordDefinition]) -> dict[str, surface.RecordDefinition]:
    """Return the first definition of each type of records, without fields by which a type would contain itself."""
    first: dict[str, surface.RecordDefinition] = {}
    for definition in definitions:
        first.setdefault(definition.name, definition)
    return {name: replace(item, fields=tuple(_iterate_fields(item, first))) for name, item in first.items()}


def _iterate_fields(definition: surface.RecordDefinition, own: Records) -> Iterator[surface.Field]:
    names = set[str]()
    for part in definition.fields:
        if part.name not in names and definition.name not in _list_contained_types(part.type, own):
            yield part
        names.add(part.name)


def _list_contained_types(type_: Node, definitions: Records) -> set[str]:
    """Return the names of a field's type and of the types that it contains."""
    names = set[str]()
    waiting: list[Node] = [type_]
    while waiting:
        here = waiting.pop()
        if isinstance(here, surface.RecordType) and here.name not in names:
            names.add(here.name)
            waiting += [part.type for part in definitions[here.name].fields] if here.name in definitions else ()
    return names


def diagnose_definitions(definitions: Iterable[surface.RecordDefinition]) -> Iterator[Diagnostic]:
    """Yield the mistakes in definitions of types: names defined twice, unknown sizes, types that contain themselves."""
    first: dict[str, surface.RecordDefinition] = {}
    definitions = tuple(definitions)
    for definition in definitions:
        if definition.name in first:
            place = first[definition.name].head
            message = f"the type `{definition.name}` is already defined on line {place.line}"
            related = Related(place, f"`{definition.name}` is defined here")
            yield Diagnostic(name_rules.DUPLICATE, message, definition.span, related=(related,))
        first.setdefault(definition.name, definition)
    for definition in definitions:
        sizes = {size.id for size in definition.sizes}
        fields = set[str]()
        for part in definition.fields:
            if part.name in fields:
                message = f"`{definition.name}` has two fields called `{part.name}`"
                yield Diagnostic(name_rules.DUPLICATE, message, part.span)
            fields.add(part.name)
            for name in s.find_nodes(part.type, s.Name):
                if name.id not in sizes:
                    header = ", ".join((*(size.id for size in definition.sizes), name.id))
                    hint = f"a type names its sizes: `type {definition.name}[{header}]:`"
                    message = f"`{definition.name}` has no size `{name.id}`"
                    yield Diagnostic(name_rules.UNBOUND_SIZE, message, name.span, hint=hint)
            if definition.name in _list_contained_types(part.type, first):
                message = f"a `{definition.name}` cannot contain a `{definition.name}`"
                hint = "an array of integers holds the places of other elements: `next: int[n]`"
                yield Diagnostic(name_rules.RECORD, message, part.span, hint=hint)


# Types
def diagnose_types(
    items: Iterable[Any], records: Records, own: Iterable[str] = (), more: Iterable[str] = ()
) -> Iterator[Diagnostic]:
    """Yield a finding for each unknown type, and for each record with a wrong number of sizes.

    Hints propose the types `records`, among them the file's `own`, and `more` of the library.
    """
    items = tuple(items)
    for algorithm in s.find_nodes(items, s.Algorithm):
        for parameter in algorithm.parameters:
            yield from _diagnose_sizes(parameter.type, records, bare=True)
        for local in s.find_nodes(algorithm.body, s.Local):
            yield from _diagnose_local(algorithm, local, records)
    for part in s.find_nodes(items, surface.Field):
        yield from _diagnose_sizes(part.type, records)
    for type_ in list_record_types(items):
        if type_.name not in records:
            names = [*_PLAIN_TYPES, *records, *more]
            hint = _suggest_array_type(type_) or suggest_closest(type_.name, names, type_.span)
            yield Diagnostic(name_rules.UNKNOWN_NAME, f"unknown type `{type_.name}`", type_.span, hint=hint)
            continue
        missing = sorted(name for name in _list_contained_types(type_, records) if name not in records)
        if missing and type_.name not in own:
            message = f"a `{type_.name}` contains a `{missing[0]}`, which is not known here"
            hint = f"`use` the file that defines `{missing[0]}` too"
            yield Diagnostic(name_rules.UNKNOWN_NAME, message, type_.span, hint=hint)


def _suggest_array_type(type_: surface.RecordType) -> Proposal | None:
    """Propose an array for a type of another language such as `list[float]` and `vector[n]`; None for other types."""
    if type_.name in _TEXTS:
        return propose_text(type_.span, "char[n]", "a text is an array of characters: write `{}`", safe=False)
    if (foreign := translate_scalar_type(type_.name)) is not None:
        return propose_text(type_.span, foreign, "numbers are `real` or `int`: write `{}`", safe=False)
    if type_.name not in SEQUENCES:
        return None
    elements = [translate_scalar_type(size.id) for size in type_.sizes if isinstance(size, s.Name)]
    element = next(filter(None, elements), "real")
    extents = [
        format_expression(size) for size in type_.sizes if translate_scalar_type(getattr(size, "id", "")) is None
    ]
    text = f"{element}[{', '.join(extents) or ('n, m' if 'atrix' in type_.name else 'n')}]"
    return propose_text(
        type_.span, text, "an array is declared with its elements and its extents: write `{}`", safe=False
    )


def _diagnose_local(algorithm: s.Algorithm, local: s.Local, records: Records) -> Iterator[Diagnostic]:
    type_: Any = local.type
    if not isinstance(type_, surface.RecordType) or type_.name not in records:
        return
    sizes = records[type_.name].sizes
    if len(type_.sizes) >= len(sizes):
        yield from _diagnose_sizes(type_, records)
        return
    near = next((name for name in collect_header_types(algorithm, records) if "." not in name), "n")
    text = f"{local.name} = {type_.name}({near})"
    advice = propose_text(local.span, text, safe=False) if [size.id for size in sizes] == ["cap"] else None
    listed = ", ".join(size.id for size in sizes)
    yield Diagnostic(name_rules.UNBOUND_SIZE, f"`{type_.name}` needs its sizes: {listed}", local.span, hint=advice)


def _diagnose_sizes(type_: Node, records: Records, bare: bool = False) -> Iterator[Diagnostic]:
    """Yield a finding if a record has a wrong number of sizes; with `bare` it may omit all sizes."""
    if not isinstance(type_, surface.RecordType) or type_.name not in records:
        return
    expected, sizes = records[type_.name].sizes, type_.sizes
    if len(sizes) == len(expected) or (bare and not sizes):
        return
    if expected:
        listed = ", ".join(size.id for size in expected)
        message = f"`{type_.name}` has {format_count(len(expected), 'size')}, not {len(sizes)}"
        hint = f"it is `{type_.name}[{listed}]`"
    else:
        message = f"`{type_.name}` has no sizes, and there are no arrays of records"
        hint = f"give the fields extents: `type {type_.name}[n]:`, with `real[n]` for `real`"
    yield Diagnostic(name_rules.UNBOUND_SIZE, message, type_.span, hint=hint)


# Uses
def diagnose_written_parameters(algorithm: s.Algorithm, environment: Environment) -> Iterator[Diagnostic]:
    """Yield a finding for each record of mode `in` whose numbers an algorithm sets: its caller would keep the old ones.

    The checker reports elements of arrays that are written.
    """
    records: dict[str, Any] = {
        parameter.name: parameter
        for parameter in algorithm.parameters
        if parameter.mode == "in" and _find_record(parameter.name, environment) is not None
    }
    for statement in s.find_nodes(algorithm.body, s.Simple):
        for name in iterate_written_names((statement,), environment):
            parameter = records.pop(name.partition(".")[0], None)
            if parameter is not None:
                sizes = f"[{format_list(parameter.type.sizes)}]" if parameter.type.sizes else ""
                hint = f"give it a mode: `{parameter.name}: inout {parameter.type.name}{sizes}`"
                message = f"`{parameter.name}` is an `in` record, whose fields cannot be written"
                yield Diagnostic(type_rules.READ_ONLY, message, statement.span, hint=hint)


def diagnose_uses(statement: Any, environment: Environment) -> Iterator[Diagnostic]:
    """Yield the misuses of records in a statement without its inner blocks, such as assignments and returns."""
    match statement:
        case s.Local(name=name, type=surface.RecordType(name=kind), value=value) if value is not None:
            if environment.find_record(value) is not None:
                message = f"`{name}` cannot be a copy of a record"
                hint = "pass on the record itself, or copy its fields"
            else:
                message = f"a record has no value of its own: `{name}` begins as every `{kind}` does"
                hint = "leave out the value, and set fields then"
            yield Diagnostic(name_rules.RECORD, message, statement.span, hint=hint)
            return
        case s.Assign(target=s.Name() as target) if environment.find_record(target) is not None:
            message, hint = f"`{target.id}` is a record, which cannot be assigned", "assign its fields, one by one"
            yield Diagnostic(name_rules.RECORD, message, target.span, hint=hint)
            return
        case s.Return(value=s.Name() as value) if environment.find_record(value) is not None:
            kind = getattr(environment.find_record(value), "name", "")
            message = f"`{value.id}` is a record, which cannot be returned"
            hint = f"make it a parameter, `{value.id}: out {kind}[...]`"
            yield Diagnostic(name_rules.RECORD, message, value.span, hint=hint)
            return
        case _:
            # No other statement can store a record; a call may pass one.
            pass
    passed = set[int]()
    for node in s.iterate_nodes(replace_blocks(statement, lambda _: ())):
        match node:
            case s.Call():
                passed |= {id(argument) for argument in node.arguments if environment.find_record(argument)}
                yield from _diagnose_call(node, environment)
            case s.Name(id=name) if _find_record(name, environment) is not None:
                if id(node) not in passed:
                    message = f"`{name}` is a record, where a number or an array is expected"
                    hint = _suggest_test(node, statement, environment) or _list_fields(name, environment)
                    yield Diagnostic(name_rules.RECORD, message, node.span, hint=hint)
            case s.Name(id=name):
                yield from _diagnose_field(name, node, environment)
            case s.Element(array=name) if _find_record(name, environment) is not None:
                message = f"`{name}` is a record, which has no elements"
                yield Diagnostic(name_rules.RECORD, message, node.span, hint=_list_fields(name, environment))
            case s.Element(array=name):
                yield from _diagnose_field(name, node, environment)
            case _:
                # Literals, slices and operators name nothing themselves.
                pass


def _suggest_test(node: s.Name, statement: Node, environment: Environment) -> str | None:
    """Propose `not Q.empty()` for a record used as a condition; None for other uses, or a type without `empty`."""
    type_ = _find_record(node.id, environment)
    if type_ is None or f"{type_.name}.empty" not in environment.algorithms:
        return None
    match statement:
        case s.If(branches=branches):
            waiting: list[s.Expr | None] = [branch.condition for branch in branches]
        case s.While(condition=condition):
            waiting = [condition]
        case _:
            # Other statements test nothing.
            return None
    while waiting:
        match waiting.pop():
            case s.Binary(op="and" | "or", left=left, right=right):
                waiting += (left, right)
            case s.Unary(op="not", operand=operand) as negation if operand is node:
                return propose_text(negation.span, f"{node.id}.empty()")
            case s.Unary(op="not", operand=operand):
                waiting.append(operand)
            case part if part is node:
                return propose_text(node.span, f"not {node.id}.empty()")
            case _:
                # A record in an operation is no condition.
                pass
    return None


def _find_record(name: str, environment: Environment) -> surface.RecordType | None:
    type_ = environment.names.get(name)
    record = None if type_ is None else type_.record
    return record if record is not None and record.name in environment.records else None


def _list_fields(name: str, environment: Environment) -> str:
    type_ = _find_record(name, environment)
    fields = environment.records[type_.name].fields if type_ is not None and type_.name in environment.records else ()
    listed = ", ".join(f"`{name}.{part.name}`" for part in fields)
    return f"it has the fields {listed}"


def _diagnose_field(name: str, node: Node, environment: Environment) -> Iterator[Diagnostic]:
    """Yield a finding for a field that a record does not have."""
    base, dot, last = name.rpartition(".")
    record = _find_record(base, environment) if dot else None
    if record is None or name in environment.names or record.name not in environment.records:
        return
    fields = [f"{base}.{part.name}" for part in environment.records[record.name].fields]
    hint: str = suggest_closest(name, fields, node.span) or _list_fields(base, environment)
    if f"{record.name}.{last}" in environment.algorithms:
        hint = propose_text(node.span, f"{name}()")
    yield Diagnostic(name_rules.UNKNOWN_NAME, f"`{record.name}` has no field `{last}`", node.span, hint=hint)


def _diagnose_call(call: s.Call, environment: Environment) -> Iterator[Diagnostic]:
    """Yield the mistakes in a call that passes or expects records."""
    called = environment.algorithms.get(environment.find_called_name(call))
    first = environment.find_record(call.arguments[0]) if call.arguments else None
    if called is None:
        if first is not None:
            assert isinstance(call.arguments[0], s.Name)
            yield _diagnose_operation(call, first.name, call.arguments[0].id, environment)
        return
    slots = _list_slots(called, environment)
    if not any(slot.fields for slot in slots) and not any(map(environment.find_record, call.arguments)):
        return
    if len(slots) != len(call.arguments):
        names = ", ".join(slot.name for slot in slots)
        message = f"`{call.function}` takes {format_count(len(slots), 'argument')}, not {len(call.arguments)}"
        hint = f"it is `{call.function}({names})`"
        if call.as_method and len(slots) == 1 and re.fullmatch(r"[\w.]+\([-\w]*\)", call.span.text):
            # Lists of other languages take the place of what they give: `Q.pop(0)`.
            hint = propose_text(call.span, call.span.text.partition("(")[0] + "()")
        yield Diagnostic(call_rules.ARGUMENT_COUNT, message, call.span, hint=hint)
        return
    for slot, argument in zip(slots, call.arguments, strict=True):
        passed = environment.find_record(argument)
        if slot.fields != _list_part_names(passed, environment.records):
            expected = f"a {slot.kind}" if slot.fields else "no record"
            found = "no record" if passed is None else f"a `{passed.name}`"
            message = f"`{slot.name}` of `{call.function}` is {expected}, and this is {found}"
            yield Diagnostic(call_rules.ARGUMENT_KIND, message, argument.span)
    yield from _diagnose_repeated(call, slots)


@record
class _Slot:
    """A parameter as callers see it; `fields` are the names of the parts of a record, empty for other parameters."""

    name: str
    kind: str
    fields: tuple[str, ...]
    is_set: bool
    is_copied: bool
    """Whether it is a number that is only read."""


def _list_part_names(type_: Node | None, records: Records) -> tuple[str, ...]:
    """Return the names of the parts of a record, `.head` for example; none for another type."""
    if not isinstance(type_, surface.RecordType) or type_.name not in records:
        return ()
    return tuple(name for name, _ in iterate_parts("", type_, records))


def _list_slots(called: s.Algorithm, environment: Environment) -> list[_Slot]:
    """Return the parameters of an algorithm as callers see them: the parts of a record are one parameter."""
    slots: list[_Slot] = []
    for parameters in group_parts(called.header):
        first = parameters[0]
        name = first.name.partition(".")[0]
        fields = _list_part_names(first.type, environment.records)
        kind = f"`{first.type.name}`" if isinstance(first.type, surface.RecordType) else "record"
        if first.name != name:
            fields = tuple(parameter.name.removeprefix(name) for parameter in parameters)
            operation = called.name.partition(".")
            if operation[1] and not slots:
                kind = f"`{operation[0]}`"
        is_set = any(parameter.mode != "in" for parameter in parameters)
        is_copied = not is_set and not fields and isinstance(first.type, s.ScalarType)
        slots.append(_Slot(name, kind, fields, is_set, is_copied))
    return slots


def _diagnose_repeated(call: s.Call, slots: Iterable[_Slot]) -> Iterator[Diagnostic]:
    """Yield a finding if a call sets a record that is also passed, or with a field passed, as another argument."""
    named = [
        (slot, argument)
        for slot, argument in zip(slots, call.arguments, strict=True)
        if isinstance(argument, s.Name) and not slot.is_copied
    ]
    for (first, left), (second, right) in combinations(named, 2):
        shorter, longer = sorted((f"{left.id}.", f"{right.id}."), key=len)
        if longer.startswith(shorter) and (first.fields or second.fields) and (first.is_set or second.is_set):
            both = f"`{left.id}` is passed twice" if left.id == right.id else f"`{left.id}` and `{right.id}` overlap"
            name = first.name if first.is_set else second.name
            message = f"{both}, and `{call.function}` sets `{name}`"
            yield Diagnostic(name_rules.RECORD, message, right.span, hint="pass two different records")


def _diagnose_operation(call: s.Call, kind: str, name: str, environment: Environment) -> Diagnostic:
    """Return the finding about an operation that a type does not have."""
    start = f"{kind}."
    operations = [full.removeprefix(start) for full in environment.algorithms if full.startswith(start)]
    fields = [part.name for part in environment.records[kind].fields] if kind in environment.records else []
    at = find_in_span(call.span, call.function)
    hint: str | Proposal | None = None
    groups = [group for group in SAME_OPERATIONS if call.function in group]
    foreign = next((word for word in operations if any(word in group for group in groups)), None)
    if foreign is not None and at is not None:
        slots = [
            f"{parameters[0].name}: {getattr(parameters[0].type, 'element', 'int')}"
            for parameters in group_parts(environment.algorithms[start + foreign].header)
        ][1:]
        if len(slots) < 2 and len(slots) == len(call.arguments) - 1:
            hint = propose_text(at, foreign)
        else:
            # Others order the values of an operation in other ways, such as the key before the item.
            order = f"write `{{}}` with its values in this order: `{name}.{foreign}({', '.join(slots)})`"
            fits = len(slots) == len(call.arguments) - 1
            hint = propose_text(at, foreign, order, safe=False) if fits else order.replace("{}", foreign)
    elif call.function in fields and len(call.arguments) == 1:
        hint = propose_text(call.span, f"{name}.{call.function}")
    else:
        hint = suggest_closest(call.function, operations, call.span)
    if hint is None and operations:
        hint = f"it has {', '.join(operations)}"
    elif hint is None and fields:
        listed = ", ".join(f"`{name}.{field}`" for field in fields)
        hint = f"it has no operations, but fields: {listed}"
        rows = [part.name for part in environment.records[kind].fields if isinstance(part.type, s.OffsetsType)]
        if rows:
            first = f"{name}.{rows[0]}"
            hint += f"; what belongs to i is at the places `{first}[i]..{first}[i + 1]`"
    message = f"`{kind}` has no operation `{call.function}`"
    return Diagnostic(name_rules.UNKNOWN_FUNCTION, message, call.span, hint=hint)
