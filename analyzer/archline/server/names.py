"""The declarations of the names of an algorithm are found here, with their types."""

from __future__ import annotations

from collections.abc import Iterator

from archline.expr.text import format_expression
from archline.expr.tree import Span
from archline.language import syntax as s
from archline.language.format_statements import format_parameter, format_type
from archline.language.model import Module
from archline.records import record


@record
class Declaration:
    """The declaration of a name: its kind, such as `size`, its text, and its place."""

    kind: str
    text: str
    span: Span


def list_declarations(module: Module, algorithm: s.Algorithm | None) -> dict[str, Declaration]:
    """Return the declarations of the names of an algorithm, by name; of several of one name the first."""
    declarations: dict[str, Declaration] = {}
    for name, declaration in () if algorithm is None else _iterate_declarations(module, algorithm):
        declarations.setdefault(name, declaration)
    return declarations


def _iterate_declarations(module: Module, algorithm: s.Algorithm) -> Iterator[tuple[str, Declaration]]:
    for parameter in algorithm.header:
        yield parameter.name, Declaration("parameter", format_parameter(parameter), parameter.span)
    signature = module.signatures[algorithm]
    for binding in signature.sizes:
        text = f"{binding.name}: size, at least {signature.at_least.get(binding.name, 1)}"
        yield binding.name, Declaration("size", text, signature.parameters[binding.parameter].span)
    for axis in algorithm.grid:
        yield axis.name, Declaration("axis", f"{axis.name}: {format_expression(axis.extent)}", axis.span)
    for node in s.iterate_nodes(algorithm.body):
        match node:
            case s.Local(name=name, type=type_):
                kind = "array" if node.array else "register"
                yield name, Declaration(kind, f"{name}: {format_type(type_)}", node.head)
            case s.Let(name=name, value=value):
                yield name, Declaration("definition", f"let {name} = {format_expression(value)}", node.head)
            case s.Loop(variable=variable):
                yield variable, Declaration("variable of a loop", node.head.text.rstrip(), node.head)
            case _:
                # Other nodes declare no name.
                pass


def list_callees(module: Module) -> dict[str, s.Algorithm | s.Extern]:
    """Return the algorithms and externs that a module can call, by name."""
    return {**module.externs, **module.visible}


def format_signature(node: s.Algorithm | s.Extern) -> str:
    """Return the name, the parameters and the result of an algorithm or an extern."""
    parameters = node.header if isinstance(node, s.Algorithm) else node.parameters
    result = f" -> {node.result}" if node.result else ""
    return f"{node.name}({', '.join(map(format_parameter, parameters))}){result}"
