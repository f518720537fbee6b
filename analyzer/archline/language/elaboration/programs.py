"""The passes of the elaboration run over a whole program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from archline.language import surface
from archline.language import syntax as s
from archline.language.diagnostics import Diagnostic
from archline.language.elaboration.abbreviations import expand_abbreviations
from archline.language.elaboration.declare import declare_names
from archline.language.elaboration.environment import Environment
from archline.language.elaboration.headers import read_sizes
from archline.language.elaboration.results import ResultTypes
from archline.language.elaboration.statements import simplify_statements
from archline.language.elaboration.whole_arrays import expand_whole_arrays
from archline.language.syntax_rules import UNEXPECTED
from archline.records import replace

_SURFACE = (
    surface.Abbreviation,
    surface.Comprehension,
    surface.LoopOver,
    surface.Multiple,
    surface.RecordDefinition,
    surface.RecordType,
)


def elaborate(program: s.Program, visible: Mapping[str, s.Algorithm]) -> tuple[s.Program, tuple[Diagnostic, ...]]:
    """Return the program in the core language and the mistakes found on the way.

    `visible` has the algorithms of the files that it uses.
    """
    program = declare_program(program, visible)
    program = replace(program, items=expand_abbreviations(program.items))
    environment, _ = _read_program(program, visible)
    items: list[s.Item] = []
    diagnostics: list[Diagnostic] = []
    for item in program.items:
        core = item
        if isinstance(core, s.Algorithm):
            core, mistakes = expand_whole_arrays(simplify_statements(core, environment), environment)
            diagnostics += mistakes
        left = next((node for node in s.nodes(core) if isinstance(node, _SURFACE)), None)
        if left is None:
            items.append(core)
        else:
            diagnostics.append(Diagnostic(UNEXPECTED, "this form is not supported", left.span))
    return replace(program, items=tuple(items)), tuple(diagnostics)


def declare_program(program: s.Program, visible: Mapping[str, s.Algorithm]) -> s.Program:
    """Return a program in which each name has a declaration and each algorithm its result, as `fmt` prints it."""
    environment, results = _read_program(program, visible)
    return replace(program, items=tuple(_declare_item(item, environment, results) for item in program.items))


def _read_program(program: s.Program, visible: Mapping[str, s.Algorithm]) -> tuple[Environment, ResultTypes]:
    """Return what the names of a file stand for, and the results of its algorithms."""
    algorithms = {**visible, **{algorithm.name: algorithm for algorithm in program.algorithms}}
    known: tuple[Any, ...] = program.items
    abbreviations = {item.name: item for item in known if isinstance(item, surface.Abbreviation)}
    results = ResultTypes(algorithms, abbreviations)
    return Environment({}, algorithms, results.find, abbreviations), results


def _declare_item(item: Any, environment: Environment, results: ResultTypes) -> Any:
    if not isinstance(item, s.Algorithm):
        return item
    declared, _ = declare_names(read_sizes(item, environment), environment)
    return declared if item.result is not None else replace(declared, result=results.name_result(item.name))
