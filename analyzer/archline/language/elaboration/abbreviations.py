"""An abbreviation above the algorithms, `let parent(i) = (i - 1)//2`, is replaced by its value in the whole file."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import Any

from archline.expr.tree import Node
from archline.language import surface
from archline.language import syntax as s
from archline.language.elaboration.rewriting import renew_nodes, rewrite_fields, rewrite_tree


def expand_abbreviations(
    items: Iterable[Any], visible: Mapping[str, surface.Abbreviation], done: Container[Any]
) -> tuple[tuple[Any, ...], dict[str, surface.Abbreviation]]:
    """Return the items of a file without its abbreviations, each replaced by its value where it is used.

    `visible` are those of other files. The abbreviations of this file are the second result. Items that are `done` are
    left as they are.
    """
    abbreviations = dict(visible)
    defined: dict[str, surface.Abbreviation] = {}
    expanded: list[Any] = []
    for item in items:
        if isinstance(item, surface.Abbreviation):
            # An abbreviation may use those above it.
            value = _expand(item.value, abbreviations)
            defined[item.name] = surface.Abbreviation(item.name, item.parameters, value, span=item.span)
            abbreviations |= defined
        else:
            expanded.append(item)
    if abbreviations:
        expanded = [
            item if item in done else _expand(item, _leave_out_declared(item, abbreviations)) for item in expanded
        ]
    return tuple(expanded), defined


def _leave_out_declared(item: Node, known: dict[str, surface.Abbreviation]) -> dict[str, surface.Abbreviation]:
    """Return the abbreviations whose names an algorithm does not use for parameters or variables."""
    if not isinstance(item, s.Algorithm):
        return known
    own = {parameter.name for parameter in item.parameters} | s.find_assigned_names(item.body)
    return {name: abbreviation for name, abbreviation in known.items() if name not in own}


def _expand(value: Any, abbreviations: dict[str, surface.Abbreviation]) -> Any:
    """Replace the uses of abbreviations in a part of a program by their values."""

    def change_node(node: Node) -> Node | None:
        match node:
            case s.Name(id=name) if name in abbreviations and not abbreviations[name].parameters:
                value: Node = renew_nodes(abbreviations[name].value)
                return value
            case s.Call(function=name, arguments=arguments) if name in abbreviations and abbreviations[name].parameters:
                parameters = abbreviations[name].parameters
                if len(parameters) != len(arguments):
                    return None
                values = {
                    parameter.id: _expand(argument, abbreviations)
                    for parameter, argument in zip(parameters, arguments, strict=True)
                }
                expanded: Node = renew_nodes(_substitute(abbreviations[name].value, values))
                return expanded
            case _:
                return None

    return rewrite_tree(value, change_node)


def _rename_part(name: str, values: Mapping[str, Any]) -> str | None:
    """Return `p` or `p.field` with the parameter p replaced by its argument; None for another argument than a name."""
    base, dot, part = name.partition(".")
    value = values.get(base)
    return f"{value.id}{dot}{part}" if isinstance(value, s.Name) else None


def _substitute(value: Any, values: dict[str, Any]) -> Any:
    """Replace the parameters in the value of an abbreviation by the arguments `values`, also as names of arrays."""

    def change_node(node: Node) -> Node | None:
        match node:
            case s.Name(id=name) if _rename_part(name, values) is not None:
                return s.Name(str(_rename_part(name, values)), span=node.span)
            case s.Name(id=name) if name in values:
                value: Node = values[name]
                return value
            case s.Element(array=array) if (renamed := _rename_part(array, values)) is not None:
                inner = rewrite_fields(node, change_node)
                return s.Element(renamed, inner.subscripts, span=node.span)
            case _:
                return None

    return rewrite_tree(value, change_node)
