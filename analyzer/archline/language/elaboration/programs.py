"""A program is elaborated in passes, each of which takes the whole program."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from functools import cache
from itertools import chain
from typing import Any

from archline.expr.tree import Node
from archline.language import surface
from archline.language import syntax as s
from archline.language.diagnostics import Diagnostic
from archline.language.elaboration.abbreviations import expand_abbreviations
from archline.language.elaboration.declare import declare_names
from archline.language.elaboration.environment import Environment
from archline.language.elaboration.exits import normalize_exits
from archline.language.elaboration.foreign_words import rename_foreign_words
from archline.language.elaboration.headers import convert_parameters_to_sizes, read_counts, rewrite_growth_bounds
from archline.language.elaboration.iterations import name_iterations
from archline.language.elaboration.loop_names import separate_loop_variables
from archline.language.elaboration.record_rules import (
    diagnose_definitions,
    diagnose_types,
    list_record_types,
    read_definitions,
)
from archline.language.elaboration.records import find_operation_type, name_operation, spread_records
from archline.language.elaboration.reductions import expand_reductions
from archline.language.elaboration.results import ResultTypes
from archline.language.elaboration.roundings import round_inside
from archline.language.elaboration.scalars import (
    Headers,
    lower_output_parameters,
    mark_constant_registers,
    restore_assigned_parameters,
    store_assigned_parameters,
)
from archline.language.elaboration.short_circuits import split_conditions
from archline.language.elaboration.statements import simplify_statements
from archline.language.elaboration.subscripts import complete_subscripts
from archline.language.elaboration.whole_arrays import expand_whole_arrays
from archline.language.incremental import CachedAlgorithms, get_load_cache
from archline.language.mistakes import FOREIGN_FUNCTIONS
from archline.language.model import Module
from archline.language.syntax_rules import UNEXPECTED
from archline.records import record, replace
from archline.resources import find_resource

_LIBRARY_OF_RECORDS = "structures"
"""The family of modules of the standard library whose types, and their operations, need no `use`."""
Load = Callable[[s.Use], Module | None]
"""Returns the module that a `use` names; None if there is none, or if it has mistakes."""
_SURFACE = (surface.Comprehension, surface.LoopOver, surface.Multiple, surface.RecordType)


@record(eq=False)
class Elaborated:
    """An elaborated program, the mistakes found in it, and the records and abbreviations that it defines.

    `headers` are those of the algorithms without mistakes, before scalar outputs are lowered; `cached` has those
    whose results are reused, if loads have a cache.
    """

    program: s.Program
    mistakes: tuple[Diagnostic, ...]
    records: Mapping[str, surface.RecordDefinition]
    abbreviations: Mapping[str, surface.Abbreviation]
    headers: Headers
    cached: CachedAlgorithms | None


@record(eq=False)
class _Names:
    """The definitions that a file can use: types of results, records, abbreviations; `defined` has all names."""

    results: ResultTypes
    own_records: Mapping[str, surface.RecordDefinition]
    visible_abbreviations: Mapping[str, surface.Abbreviation]
    defined: frozenset[str]

    @property
    def environment(self) -> Environment:
        return self.results.environment


def elaborate_program(program: s.Program, load: Load) -> Elaborated:
    """Return the program in the core language; `load` loads the files that it uses."""
    program = replace(program, items=(*program.items, *_list_implied_uses(program, load)))
    names = _collect_definitions(program, load)
    results, cached = get_load_cache(), None
    if results is not None:
        cached = CachedAlgorithms(results, program, tuple(map(load, _select_items(program, s.Use))))
        program = cached.reuse_algorithms(program)
    reused = {} if cached is None else cached.list_headers()
    program = _declare_items(program, names, reused)
    expanded, abbreviations = expand_abbreviations(program.items, names.visible_abbreviations, reused)
    mistakes = list(diagnose_definitions(_select_items(program, surface.RecordDefinition)))
    # What the checker finds in an algorithm that misuses records may be a consequence of that.
    broken = set(program.broken)
    items: list[s.Item] = []
    symbols = s.find_names(tuple(item.costs for item in expanded if isinstance(item, s.Extern)))
    spread: list[Any] = []
    for item in expanded:
        if item in reused:
            spread.append(item)
            continue
        records = names.environment.records
        findings = tuple(diagnose_types((item,), records, names.own_records, _list_library_types()))
        if isinstance(item, s.Algorithm):
            whole, misused = spread_records(item, names.environment, names.own_records)
            findings += misused
            spread.append(whole)
            if findings:
                broken.add(whole.name)
        elif not isinstance(item, surface.RecordDefinition):
            spread.append(item)
        mistakes += findings
    headers = {name: algorithm.header for name, algorithm in names.environment.algorithms.items()}
    spread_headers = {item.name: reused.get(item, item.header) for item in spread if isinstance(item, s.Algorithm)}
    headers |= spread_headers
    mistaken = set[str]()
    for item in spread:
        core: s.Item = item
        if isinstance(item, s.Algorithm) and item not in reused:
            core, findings = _elaborate_algorithm(read_counts(item), names, headers, symbols)
            # A record that is misused has consequences, which are not reported.
            mistakes += () if item.name in broken else findings
            if findings:
                mistaken.add(item.name)
        left = None if item in reused else next(s.find_nodes(core, *_SURFACE), None)
        if left is None:
            items.append(core)
        elif not mistakes:
            mistakes.append(_diagnose_left_over(core, left))
    core_program = replace(program, items=tuple(items), broken=frozenset(broken))
    sound = {name: header for name, header in spread_headers.items() if name not in mistaken}
    return Elaborated(core_program, tuple(mistakes), names.own_records, abbreviations, sound, cached)


def _diagnose_left_over(item: s.Item, left: Node) -> Diagnostic:
    """Return the finding about a surface form in an item that no pass has replaced."""
    call = next((call for call in s.find_nodes(item, s.Call) if left in call.arguments), None)
    if not isinstance(left, surface.Comprehension) or call is None:
        return Diagnostic(UNEXPECTED, "this form is not supported", left.span)
    message = f"`{call.function}` takes no range: `sum`, `min` and `max` do"
    return Diagnostic(UNEXPECTED, message, call.span, hint=FOREIGN_FUNCTIONS.get(call.function))


def _elaborate_algorithm(
    algorithm: s.Algorithm, names: _Names, headers: Headers, symbols: frozenset[str]
) -> tuple[s.Algorithm, tuple[Diagnostic, ...]]:
    """Return an algorithm of the core language and its mistakes.

    `headers` are those of the algorithms in scope, `symbols` are names in costs of externs.
    """
    whole = round_inside(separate_loop_variables(algorithm), names.environment)
    simplified = simplify_statements(whole, names.environment)
    for loop in s.find_nodes(simplified, surface.LoopOver):
        message = f"`{loop.over.span.text}` is neither a range nor an array of one dimension here"
        hint = "a loop goes over a range, `0..n`, or over the elements of an array"
        return algorithm, (Diagnostic(UNEXPECTED, message, loop.over.span, hint=hint),)
    split = split_conditions(simplified, names.environment)
    simple, mixed = expand_whole_arrays(split, names.environment)
    reduced = expand_reductions(simple, names.environment)
    # The loops of statements on slices by data have a number of iterations too.
    named, doubled = name_iterations(reduced, symbols)
    stored, wrong = lower_output_parameters(named, headers, names.environment.result_of)
    core, misplaced = normalize_exits(mark_constant_registers(stored))
    return core, (*doubled, *mixed, *wrong, *misplaced)


def declare_program(program: s.Program, load: Load) -> s.Program:
    """Return a program in which each name has a declaration and each algorithm its result, as `fmt` prints it."""
    implied = _list_implied_uses(program, load)
    names = _collect_definitions(replace(program, items=(*implied, *program.items)), load)
    items = _declare_items(program, names, ()).items
    return replace(
        program,
        items=tuple(restore_assigned_parameters(item) if isinstance(item, s.Algorithm) else item for item in items),
    )


def _declare_items(program: s.Program, names: _Names, done: Container[s.Item]) -> s.Program:
    """Return a program with declarations in the algorithms that are not done."""
    items = (item if item in done else _declare_item(item, names) for item in program.items)
    return replace(program, items=tuple(items))


def _list_implied_uses(program: s.Program, load: Load) -> list[s.Use]:
    """Return a `use` of the library for each of its record types that a file mentions without a definition."""
    defined = {item.name for item in _select_items(program, surface.RecordDefinition)}
    mentioned: dict[str, Node] = {type_.name: type_ for type_ in list_record_types(program.items)}
    for use in _select_items(program, s.Use):
        module = load(use)
        if module is not None:
            defined |= module.records.keys()
            # A record of another file may contain some of the library.
            mentioned |= {type_.name: use for type_ in list_record_types(module.records.values())}
    mentioned |= {call.function: call for call in s.find_nodes(program.items, s.Call)}
    uses = (
        s.Use((_LIBRARY_OF_RECORDS, name), span=node.span)
        for name, node in mentioned.items()
        if name not in defined and name in _list_library_types()
    )
    return [use for use in uses if load(use) is not None]


@cache
def _list_library_types() -> frozenset[str]:
    """Return the types of records that the standard library defines, each in a module of its name."""
    folder = find_resource("stdlib") / _LIBRARY_OF_RECORDS
    return frozenset(file.stem for file in folder.glob("*.algo"))


def _select_items(program: s.Program, kind: Any) -> list[Any]:
    return [item for item in program.items if isinstance(item, kind)]


def _collect_definitions(program: s.Program, load: Load) -> _Names:
    """Collect the records, abbreviations, externs and algorithms that a file defines or uses."""
    modules = [module for use in _select_items(program, s.Use) if (module := load(use)) is not None]
    definitions = read_definitions(_select_items(program, surface.RecordDefinition))
    records = {name: item for module in modules for name, item in module.records.items()} | definitions
    visible = dict(chain.from_iterable(module.abbreviations.items() for module in modules))
    abbreviations = visible | {item.name: item for item in _select_items(program, surface.Abbreviation)}
    algorithms = {name: algorithm for module in modules for name, algorithm in module.algorithms.items()}
    externs = {name: extern for module in modules for name, extern in module.externs.items()}
    externs |= {item.name: item for item in _select_items(program, s.Extern)}
    own = {algorithm.name for algorithm in program.algorithms}
    defined = frozenset({*abbreviations, *algorithms, *externs, *own})
    for algorithm in program.algorithms:
        kind = find_operation_type(algorithm, definitions)
        name = algorithm.name if kind is None else name_operation(kind, algorithm.name)
        algorithms[name] = rename_foreign_words(algorithm, records, defined)
    return _Names(ResultTypes(algorithms, abbreviations, records, externs), definitions, visible, defined)


def _declare_item(item: Any, names: _Names) -> Any:
    if not isinstance(item, s.Algorithm):
        return item
    environment = names.environment
    renamed = rename_foreign_words(rewrite_growth_bounds(item), environment.records, names.defined)
    stored = store_assigned_parameters(convert_parameters_to_sizes(renamed, environment), environment)
    declared, _ = declare_names(stored, environment)
    declared = complete_subscripts(declared, environment)
    if item.result is not None:
        return declared
    kind = find_operation_type(item, names.own_records)
    name = item.name if kind is None else name_operation(kind, item.name)
    return replace(declared, result=names.results.name_result(name))
