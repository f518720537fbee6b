"""Subscripts are completed: dimensions that are left out are taken whole, and `x[-1]` counts from the end.

`center[i]` of an array of two dimensions is its row `center[i, :]`, and `H[:]` the whole of H. A literal negative
number `-k` stands for the extent less k, as a subscript and as an end of a slice.
"""

from __future__ import annotations

from typing import Any

from archline.expr.tree import Node
from archline.language import syntax as s
from archline.language.elaboration.declare import replace_blocks
from archline.language.elaboration.environment import Environment, collect_header_types, resolve_negative_subscripts
from archline.language.elaboration.rewriting import list_parts, rewrite_fields, rewrite_tree
from archline.records import replace


def complete_subscripts(algorithm: s.Algorithm, environment: Environment) -> s.Algorithm:
    """Return an algorithm in which each element and view has a subscript for each dimension, counted from 0."""
    environment = environment.with_names(collect_header_types(algorithm, environment.records))
    body = _complete_block(algorithm.body, environment)
    return algorithm if body is algorithm.body else replace(algorithm, body=body)


def _complete_block(block: tuple[Any, ...], environment: Environment) -> tuple[Any, ...]:
    statements: list[Any] = []
    for statement in block:
        inside = environment.enter_body(statement)
        changed = replace_blocks(statement, lambda inner, inside=inside: _complete_block(inner, inside))
        changed = _complete_header(changed, environment)
        same = all(new is old for new, old in zip(_list_parts(changed), _list_parts(statement), strict=True))
        statements.append(statement if same else changed)
        environment = environment.add_declared(statement)
    return block if all(new is old for new, old in zip(statements, block, strict=True)) else tuple(statements)


def _list_parts(statement: Any) -> tuple[Any, ...]:
    """Return the fields of a statement; for an `if`, the conditions and bodies of its branches."""
    if isinstance(statement, s.If):
        return tuple(part for branch in statement.branches for part in (branch.condition, branch.body))
    return list_parts(statement)


def _complete_header(statement: Any, environment: Environment) -> Any:
    """Complete the subscripts in a statement, without those in the blocks inside it."""

    def change_node(node: Node) -> Any:
        if isinstance(node, s.Statement) and node is not statement:
            return node
        if not isinstance(node, s.Element):
            return None
        type_ = environment.names.get(node.array)
        if type_ is None or type_.shape is None or len(node.subscripts) > len(type_.shape):
            return None
        inner: s.Element = rewrite_fields(node, change_node)
        counted = tuple(
            resolve_negative_subscripts(part, extent)
            for part, extent in zip(inner.subscripts, type_.shape, strict=False)
        )
        left_out = len(type_.shape) - len(counted)
        whole = tuple(s.Slice(None, None, None, False, span=node.span) for _ in range(left_out))
        same = not whole and all(new is old for new, old in zip(counted, inner.subscripts, strict=True))
        return inner if same else replace(inner, subscripts=(*counted, *whole))

    return rewrite_tree(statement, change_node)
