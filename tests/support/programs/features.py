"""The features of a program, read off its tree: what the generator says it made is checked against this."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from archline.language import syntax as s


def features_of(program: s.Program, entry: str) -> set[str]:
    """The features of the algorithms that the entry reaches."""
    algorithms = {algorithm.name: algorithm for algorithm in program.algorithms}
    waiting, seen = [entry], set()
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        algorithm = algorithms[name]
        called = {node.function for node in _nodes(algorithm) if isinstance(node, s.Call)} & set(algorithms)
        waiting += sorted(called)
        found |= {"call"} if called else set()
        found |= _data(algorithm)
        registers = {node.name for node in _nodes(algorithm) if isinstance(node, s.Local)}
        registers |= {each.name for each in algorithm.parameters if isinstance(each.type, s.ScalarType)}
        _statements(algorithm.body, frozenset(), registers, found)
    return found


def _nodes(value: object) -> Iterator[s.Node]:
    if isinstance(value, s.Node):
        yield value
        for each in fields(value):  # type: ignore[arg-type]
            if each.name not in ("span", "name_span"):
                yield from _nodes(getattr(value, each.name))
    elif isinstance(value, tuple):
        for part in value:
            yield from _nodes(part)


def _names(value: object) -> set[str]:
    return {node.id for node in _nodes(value) if isinstance(node, s.Name)}


def _data(algorithm: s.Algorithm) -> set[str]:
    types = [each.type for each in algorithm.parameters]
    types += [node.type for node in _nodes(algorithm) if isinstance(node, s.Local)]
    scalars = (s.ScalarType, s.ArrayType)
    ints = any(isinstance(each, scalars) and each.element == "int" for each in types)
    return {"int_data"} if ints or any(isinstance(each, s.IndexArrayType) for each in types) else set()


def _statements(body: tuple[s.Stmt, ...], outer: frozenset[str], data: set[str], found: set[str]) -> None:
    for statement in body:
        match statement:
            case s.Loop():
                _loop(statement, outer, data, found)
            case s.While(body=inner):
                found.add("while")
                _statements(inner, outer, data, found)
            case s.If(branches=branches):
                for branch in branches:
                    _branch(branch, outer, data, found)
            case s.Local(type=s.ArrayType()):
                found.add("local_array")
            case s.Invoke(spawned=True):
                found.add("spawn")
        slices = [node for node in _nodes(statement) if isinstance(node, s.Slice)]
        if not isinstance(statement, s.Loop | s.While | s.If) and _names(tuple(slices)) & outer:
            found.add("triangular")


def _loop(loop: s.Loop, outer: frozenset[str], data: set[str], found: set[str]) -> None:
    if isinstance(loop.lo, s.Element):
        found.add("segment")
    elif _names((loop.lo, loop.hi)) & outer:
        found.add("triangular")
    if loop.step is not None:
        found.add("strided")
    if loop.parallel:
        found.add("parallel")
    _statements(loop.body, outer | {loop.variable}, data, found)


def _branch(branch: s.Branch, outer: frozenset[str], data: set[str], found: set[str]) -> None:
    if branch.condition is not None:
        reads = any(isinstance(node, s.Element) for node in _nodes(branch.condition))
        found.add("data_branch" if reads or _names(branch.condition) & data else "guard")
    _statements(branch.body, outer, data, found)
