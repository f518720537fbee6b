"""Comparing parts of programs by what is written, since nodes themselves are compared by identity."""

from __future__ import annotations

from dataclasses import fields
from functools import cache

from archline.language.syntax import Node, Program


@cache
def _parts(kind: type[Node]) -> tuple[str, ...]:
    """The fields of a kind of node, places in the source apart."""
    return tuple(each.name for each in fields(kind) if each.name not in ("span", "name_span"))


def structure(value: object) -> object:
    """The tree as nested tuples without spans: equal for two programs of the same meaning."""
    if isinstance(value, Node):
        parts = (getattr(value, name) for name in _parts(type(value)))  # type: ignore[arg-type]
        return (type(value).__name__, *(structure(part) for part in parts))
    if isinstance(value, Program):
        return tuple(structure(item) for item in value.items)
    if isinstance(value, tuple):
        return tuple(structure(part) for part in value)
    return value


def same(one: Node | None, other: Node | None) -> bool:
    """Whether two parts of programs are written the same."""
    return one is other or (one is not None and other is not None and structure(one) == structure(other))
