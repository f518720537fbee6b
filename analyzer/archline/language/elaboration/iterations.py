"""Each loop without a bound has a name for the number of its iterations: that of its author, or a new one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from archline.language import name_rules as rules
from archline.language import syntax as s
from archline.language.checking.scopes import MACHINE_SYMBOLS
from archline.language.diagnostics import Diagnostic
from archline.language.iterations import UNNAMED, iterate_unbounded_loops
from archline.records import replace


def name_iterations(algorithm: s.Algorithm, cost_symbols: frozenset[str]) -> tuple[s.Algorithm, tuple[Diagnostic, ...]]:
    """Name the iterations of unbounded loops T1, T2, ...; report names of the author's that are in use already."""
    unknown = {*iterate_unbounded_loops(algorithm), *_iterate_loops_over_data(algorithm)}
    loops = [loop for loop in s.iterate_nodes(algorithm.body) if isinstance(loop, s.While | s.Loop) and loop in unknown]
    named = [
        loop
        for loop in s.iterate_nodes(algorithm.body)
        if isinstance(loop, s.While | s.Loop) and loop.iterations is not None
    ]
    if not loops and not named:
        return algorithm, ()
    used = _find_defined_names(algorithm) | cost_symbols | set(MACHINE_SYMBOLS)
    diagnostics: list[Diagnostic] = []
    for loop in named:
        assert loop.iterations is not None
        if isinstance(loop, s.While) and loop.limit is not None:
            message = f"`iterations {loop.iterations}` names a number that `at most` bounds already"
            hint = "leave out one of the two"
            diagnostics.append(Diagnostic(rules.SHADOWING, message, loop.span, hint=hint))
        elif loop.iterations in used:
            message = f"`{loop.iterations}` has a meaning in `{algorithm.name}` already"
            if loop.iterations in MACHINE_SYMBOLS:
                message = f"`{loop.iterations}` is a machine symbol ({', '.join(MACHINE_SYMBOLS)}) in every formula"
            hint = "choose another name for the number of iterations"
            diagnostics.append(Diagnostic(rules.SHADOWING, message, loop.span, hint=hint))
        used.add(loop.iterations)
    free = (name for number in count(1) if (name := f"T{number}") not in used)
    names = {loop: next(free) for loop in loops if loop.iterations is None}
    names |= {loop: name for loop in named if (name := loop.iterations or "").endswith(UNNAMED)}
    return replace(algorithm, body=_set_iteration_names(algorithm.body, names)) if names else algorithm, tuple(
        diagnostics
    )


def _iterate_loops_over_data(algorithm: s.Algorithm) -> Iterator[s.Loop]:
    """Yield the loops of an algorithm, not on a grid, whose bounds depend on data."""
    if algorithm.grid:
        return
    data = {parameter.name for parameter in algorithm.parameters if isinstance(parameter.type, s.ScalarType)}
    data |= {local.name for local in s.find_nodes(algorithm.body, s.Local)}
    stores = (statement for statement in s.find_nodes(algorithm.body, s.Simple) if not isinstance(statement, s.Let))
    data |= {name for statement in stores for name in statement.sets}
    arrays = {parameter.name for parameter in algorithm.parameters if isinstance(parameter.type, s.ArrayType)} | data
    yield from _iterate_loops_with(algorithm.body, frozenset(data), frozenset(arrays))


def _iterate_loops_with(block: tuple[s.Stmt, ...], data: frozenset[str], arrays: frozenset[str]) -> Iterator[s.Loop]:
    """Yield the loops whose bounds have a name of `data`, or read an array; loop variables hide data of their name."""
    for statement in block:
        inside = data
        if isinstance(statement, s.Loop):
            bounds = (statement.lo, statement.hi, statement.step)
            read = {element.array for element in s.find_nodes(bounds, s.Element)}
            if s.find_names(bounds) & data or read & arrays:
                yield statement
            inside -= {statement.variable}
        for inner in s.list_blocks(statement):
            yield from _iterate_loops_with(inner, inside, arrays)


def _set_iteration_names(body: tuple[s.Stmt, ...], names: dict[s.While | s.Loop, str]) -> tuple[s.Stmt, ...]:
    def name_loop(statement: s.Stmt) -> s.Stmt:
        match statement:
            case s.While(body=inner) | s.Loop(body=inner):
                name = names.get(statement)
                chosen = statement if name is None else replace(statement, iterations=name, chosen=True)
                return replace(chosen, body=_set_iteration_names(inner, names))
            case s.Split(body=inner):
                return replace(statement, body=_set_iteration_names(inner, names))
            case s.If(branches=branches):
                return replace(
                    statement,
                    branches=tuple(
                        replace(branch, body=_set_iteration_names(branch.body, names)) for branch in branches
                    ),
                )
            case s.Simple():
                return statement

    if not any(True for _ in s.find_nodes(body, s.While, s.Loop)):
        return body
    return tuple(map(name_loop, body))


def _find_defined_names(algorithm: s.Algorithm) -> set[str]:
    return {
        *(parameter.name for parameter in algorithm.parameters),
        *(axis.name for axis in algorithm.grid),
        *s.find_names((algorithm.parameters, algorithm.grid, algorithm.body)),
        *s.find_assigned_names(algorithm.body),
        *_iterate_declarations(algorithm),
    }


def _iterate_declarations(algorithm: s.Algorithm) -> Iterator[str]:
    for node in s.iterate_nodes(algorithm.body):
        match node:
            case s.Let(name=name) | s.Local(name=name) | s.Element(array=name):
                yield name
            case _:
                pass
