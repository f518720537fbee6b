"""A name that is set without a declaration and never read is probably misspelt."""

from __future__ import annotations

from collections.abc import Iterator

from archline.expr.tree import Span
from archline.language import syntax as s
from archline.language.conditions import NEVER_READ
from archline.language.diagnostics import Diagnostic, find_closest, propose_text

_LEAST_SIMILARITY = 0.75


def iterate_unread_names(algorithm: s.Algorithm) -> Iterator[tuple[str, Diagnostic]]:
    """Yield the names that an algorithm sets, without a `let` or `local`, and never reads, each with a warning."""
    declared = [
        node
        for node in s.iterate_nodes(algorithm.body)
        # Elaboration gives the place of the first use to the declarations that it adds.
        if isinstance(node, s.Let | s.Local) and node.span.text.startswith(node.name)
    ]
    if not declared:
        return
    # The caller reads the outputs.
    read = {*_iterate_read_names(algorithm.body), *(output.register for output in algorithm.outputs)}
    known = [*read, *s.find_names(algorithm.parameters), *(parameter.name for parameter in algorithm.parameters)]
    for node in declared:
        if node.name in read:
            continue
        match = find_closest(node.name, (name for name in known if name != node.name), _LEAST_SIMILARITY)
        hint = "read it somewhere, or leave it out"
        if match is not None:
            hint = propose_text(_cut_name(node), match, "did you mean `{}`?", safe=False)
        yield node.name, Diagnostic(NEVER_READ, f"`{node.name}` is set and never read", node.span, hint=hint)


def _cut_name(node: s.Let | s.Local) -> Span:
    """Return the span of the name at the beginning of a statement."""
    span = node.span
    return Span(span.source, span.line, span.column, span.line, span.column + len(node.name))


def _iterate_read_names(body: tuple[s.Stmt, ...]) -> Iterator[str]:
    """Yield the names, of arrays too, that statements read."""
    for node in s.iterate_nodes(body):
        match node:
            case s.Assign(target=s.Name(), value=value):
                yield from _iterate_names(value)
            case s.Simple():
                yield from _iterate_names(node)
            case s.While(condition=condition, tests_last=True):
                yield from _iterate_names(condition)
            case s.Statement():
                yield from _iterate_names(s.list_evaluated(node))  # type: ignore[arg-type]
            case _:
                pass


def _iterate_names(value: object) -> Iterator[str]:
    yield from s.find_names(value)
    yield from (element.array for element in s.find_nodes(value, s.Element))
