"""Trees of programs are rewritten node by node, and names get replacements that no program can hold already."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache
from itertools import count
from typing import Any, Protocol

from archline.expr.tree import Change as Change
from archline.expr.tree import Node, list_compared_fields
from archline.expr.tree import rewrite_fields as rewrite_fields
from archline.expr.tree import rewrite_tree as rewrite_tree
from archline.language import syntax as s
from archline.records import replace


def list_parts(node: Node) -> tuple[Any, ...]:
    """Return the values of the fields of a node, in their order, without spans."""
    return tuple(getattr(node, name) for name in list_compared_fields(type(node)))  # type: ignore[arg-type]


def renew_nodes(value: Any) -> Any:
    """Return a copy of a part of a program, with new nodes throughout."""
    if isinstance(value, tuple):
        return tuple(map(renew_nodes, value))
    if not isinstance(value, Node):
        return value
    parts = {name: renew_nodes(getattr(value, name)) for name in list_compared_fields(type(value))}  # type: ignore[arg-type]
    return replace(value, **parts)


def place_before_tests(loop: s.While, condition: s.Expr, before: Sequence[Any]) -> tuple[Any, ...]:
    """Return a loop with another condition; `before` computes values for it, before the loop and after iterations."""
    again = tuple(_copy_for_repetition(statement) for statement in before if not _is_unset(statement))

    def change_node(node: Node) -> Any:
        match node:
            case s.Exit(kind="continue"):
                return (*renew_nodes(again), node)
            case s.Loop() | s.While():
                return node
            case _:
                # Other nodes are rewritten part by part.
                return None

    body = (*rewrite_tree(loop.body, change_node), *again) if again else loop.body
    declared = [replace(statement, value=None) for statement in before if isinstance(statement, s.Local)]
    return (*(declared if loop.tests_last else before), replace(loop, condition=condition, body=body))


def build_short_circuit(
    node: s.Binary, register: s.Name, left: s.Expr, before_right: Sequence[Any], right: s.Expr
) -> tuple[s.Local, s.If]:
    """Return statements that set a register to an `and` or `or`, with `before_right` before its right side."""
    reached = register if node.op == "and" else s.Unary("not", register, span=node.span)
    stored = s.Assign(replace(register), "=", right, False, span=right.span)
    branch = s.Branch(renew_nodes(reached), (*before_right, stored), span=right.span)
    type_ = s.ScalarType("bool", span=node.span)
    return s.Local(register.id, type_, left, None, span=node.span), s.If((branch,), span=right.span)


def _is_unset(statement: Any) -> bool:
    return isinstance(statement, s.Local) and statement.value is None


def _copy_for_repetition(statement: Any) -> Any:
    """Copy a statement for a second execution inside a loop: a declaration becomes an assignment."""
    if isinstance(statement, s.Local):
        target = s.Name(statement.name, span=statement.span)
        return s.Assign(target, "=", renew_nodes(statement.value), False, span=statement.span)
    return renew_nodes(statement)


class NameMaker(Protocol):
    """Makes unused names `value1`, `value2`, ... from a start `value`, which comes first if not `numbered`."""

    def __call__(self, start: str, *, numbered: bool = True) -> str: ...


def make_name_maker(algorithm: s.Algorithm) -> NameMaker:
    """Return a function that makes names which occur nowhere in an algorithm."""
    # Most passes need no name, and collecting the words takes longer than these passes.
    list_taken = cache(lambda: collect_words(algorithm))

    def make_name(start: str, *, numbered: bool = True) -> str:
        names = (f"{start}{number or ''}" for number in count(int(numbered)))
        name = next(candidate for candidate in names if candidate not in list_taken())
        list_taken().add(name)
        return name

    return make_name


def collect_words(value: object) -> set[str]:
    """Collect all strings in the nodes of a part of a program, which include all names."""
    return {
        text
        for node in s.iterate_nodes(value)
        for name in list_compared_fields(type(node))  # type: ignore[arg-type]
        for text in _list_texts(getattr(node, name))
    }


def _list_texts(value: object) -> Collection[str]:
    if isinstance(value, str):
        return (value,)
    if isinstance(value, tuple):
        return [text for part in value for text in _list_texts(part)]
    return ()
