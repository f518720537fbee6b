"""A whole file is checked: its definitions and uses, then each algorithm and claim."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cache

from archline.expr.tree import Span
from archline.language import name_rules as rules
from archline.language import syntax as s
from archline.language.checking import contracts
from archline.language.checking.calls import check_call
from archline.language.checking.communication import COLLECTIVES_MODULE, define_grid, is_collective
from archline.language.checking.context import BodyContext, CheckedFacts, Findings, Library, find_needed_machine_symbols
from archline.language.checking.dependence import WholeFile, check_agreement
from archline.language.checking.expressions import check_static
from archline.language.checking.extents import make_integer
from archline.language.checking.points import BoundedVariable, FreeVariable, LetDefinition, Sampler
from archline.language.checking.scopes import Role, SymbolEntry
from archline.language.checking.signatures import define_parameters, list_type_expressions, make_signature
from archline.language.checking.statements import check_body
from archline.language.checking.zero_sizes import derive_zero_facts, iterate_shortfalls
from archline.language.diagnostics import ArchlineError, Diagnostic, Related
from archline.language.elaboration import elaborate_program
from archline.language.model import Kind, Module, Signature
from archline.language.proposals import join_safe_edits
from archline.language.substitution import build_processor_count
from archline.language.syntax_rules import NO_ALGORITHM
from archline.language.type_rules import INT_DIVISION
from archline.records import replace

Resolve = Callable[[s.Use], Module]
_HEADER = re.compile(r"^algorithm +([A-Za-z_][A-Za-z0-9_]*)", re.MULTILINE)


def check(program: s.Program, resolve: Resolve, syntax: tuple[Diagnostic, ...] = ()) -> Module:
    """Check a program and the files it uses; `resolve` finds the module a `use` names, or raises ArchlineError.

    `syntax` holds the parser's diagnostics. Raises ArchlineError with all findings, in the order of the text, at most
    MAX_FINDINGS. For sizes that recursive calls bring down to 0, facts `n >= 0` are added to the `where`.
    """
    resolve = cache(resolve)
    elaborated = elaborate_program(program, lambda use: load_if_valid(use, resolve))
    syntax = (*syntax, *elaborated.mistakes)
    module = check_elaborated(elaborated.program, resolve, syntax, bool(elaborated.records or elaborated.abbreviations))
    return replace(module, records=elaborated.records, abbreviations=elaborated.abbreviations)


def check_elaborated(
    program: s.Program, resolve: Resolve, syntax: tuple[Diagnostic, ...] = (), defines: bool = False
) -> Module:
    """Check an elaborated program as `check` does; with `defines`, it has records or abbreviations too."""
    resolve = cache(resolve)
    module, facts = _check_as_written(program, resolve, syntax, defines)
    while reached := derive_zero_facts(facts.sites, module.signatures):
        items = (
            replace(item, where=(*item.where, *reached[item]))
            if isinstance(item, s.Algorithm) and item in reached
            else item
            for item in module.program.items
        )
        module, facts = _check_as_written(replace(program, items=tuple(items)), resolve, syntax, defines)
    return module


def _check_as_written(
    program: s.Program, resolve: Resolve, syntax: tuple[Diagnostic, ...], defines: bool
) -> tuple[Module, CheckedFacts]:
    """Check a program without adding facts to it; unless it `defines` anything else, it needs an algorithm or claim."""
    findings = Findings(syntax)
    used = _load_used(program, resolve, findings)
    complete = used is not None
    modules = used or {}
    algorithms, externs = _collect_definitions(program, modules, findings)
    has_subject = defines or algorithms or any(isinstance(item, s.Claim) for item in program.items)
    if not has_subject and not syntax and not findings.diagnostics:
        span = Span(program.source, 1, 1, 1, 2)
        findings.add(NO_ALGORITHM, "the file has no algorithm", span, "write `algorithm name(...):`")
    shared = _load_collectives(program, resolve, modules)
    all_modules = [*modules.values(), *shared]
    facts = _merge_facts(all_modules)
    signatures: dict[s.Algorithm, Signature] = {}
    for module in all_modules:
        signatures.update(module.signatures)
    for algorithm in program.algorithms:
        quiet = Findings() if algorithm.name in program.broken else findings
        signatures[algorithm] = make_signature(algorithm, quiet)
    visible = {name: item for module in modules.values() for name, item in module.algorithms.items()} | algorithms
    reached = _list_externs(externs, facts)
    symbols, machine = contracts.find_cost_symbols(reached), find_needed_machine_symbols(signatures, reached)
    collectives = {name: candidate for module in shared for name, candidate in module.algorithms.items()}
    library = Library(
        visible,
        collectives,
        externs,
        signatures,
        symbols,
        machine,
        _find_unparsed_algorithms(program, visible),
        complete,
        program,
    )
    _check_items(program, library, findings, facts)
    whole = dict.fromkeys(candidate for candidate in program.algorithms if candidate.name not in program.broken)
    check_agreement(WholeFile(whole, signatures, facts, findings, Sampler()))
    if findings.diagnostics:
        found = join_safe_edits(findings.diagnostics, INT_DIVISION)
        raise ArchlineError(sorted(found, key=lambda diagnostic: _get_position_key(program, diagnostic)))
    facts.shortfalls.update(iterate_shortfalls(facts.sites, signatures, facts.bindings))
    module = Module(
        program,
        algorithms,
        visible,
        externs,
        signatures,
        facts.types,
        facts.targets,
        facts.shapes,
        facts.bindings,
        facts.collectives,
        facts.agreements,
        facts.shortfalls,
    )
    return module, facts


def load_if_valid(use: s.Use, resolve: Resolve) -> Module | None:
    """Return the module that a `use` names; None if it is missing or has mistakes, which are reported later."""
    with suppress(ArchlineError):
        return resolve(use)
    return None


def _get_position_key(program: s.Program, diagnostic: Diagnostic) -> tuple[bool, int, int]:
    span = diagnostic.span
    if span is None:
        return (True, 0, 0)
    return (span.source is not program.source, span.line, span.column)


def _load_used(program: s.Program, resolve: Resolve, findings: Findings) -> dict[tuple[str, ...], Module] | None:
    """Return the modules a file uses, by path; None if one could not be loaded."""
    modules: dict[tuple[str, ...], Module] = {}
    failed = False
    for item in program.items:
        if isinstance(item, s.Use) and item.path not in modules:
            try:
                modules[item.path] = resolve(item)
            except ArchlineError as problem:
                findings.extend(problem.diagnostics)
                failed = True
    return None if failed else modules


def _collect_definitions(
    program: s.Program, modules: Mapping[tuple[str, ...], Module], findings: Findings
) -> tuple[dict[str, s.Algorithm], dict[str, s.Extern]]:
    """Return the file's algorithms, and the externs in scope; report names defined twice."""
    origins: dict[str, tuple[str, Span]] = {}
    externs: dict[str, s.Extern] = {}
    for path, module in modules.items():
        use = next(item for item in program.items if isinstance(item, s.Use) and item.path == path)
        for definition in module.program.items:
            if isinstance(definition, s.Algorithm | s.Extern):
                if definition.name in origins:
                    origin, place = origins[definition.name]
                    message = f"`{'.'.join(path)}` and {origin} both define `{definition.name}`"
                    related = Related(place, f"`{definition.name}` is defined here")
                    findings.add(rules.DUPLICATE, message, use.span, related=(related,))
                origins.setdefault(definition.name, (f"`{'.'.join(path)}`", _find_name_span(definition)))
            if isinstance(definition, s.Extern):
                externs[definition.name] = definition
    algorithms: dict[str, s.Algorithm] = {}
    for item in program.items:
        if isinstance(item, s.Algorithm | s.Extern):
            span = _find_name_span(item)
            if item.name in origins:
                origin, place = origins[item.name]
                related = Related(place, f"`{item.name}` is defined here")
                findings.add(rules.DUPLICATE, f"`{item.name}` is already defined in {origin}", span, related=(related,))
                continue
            origins[item.name] = f"line {span.line}", span
            if isinstance(item, s.Extern):
                externs[item.name] = item
            else:
                algorithms[item.name] = item
    return algorithms, externs


def _find_name_span(item: s.Algorithm | s.Extern) -> Span:
    """Return the span of the name of an algorithm, or that of an extern."""
    return item.name_span if isinstance(item, s.Algorithm) else item.span


def _load_collectives(program: s.Program, resolve: Resolve, modules: Mapping[tuple[str, ...], Module]) -> list[Module]:
    """Return the module whose algorithms are the collective operations, if the file has any."""
    first = next((node for node in s.iterate_nodes(program.items) if is_collective(node)), None)
    if first is None:
        return []
    return [
        modules[COLLECTIVES_MODULE]
        if COLLECTIVES_MODULE in modules
        else resolve(s.Use(COLLECTIVES_MODULE, span=first.span))
    ]


def _merge_facts(modules: Iterable[Module]) -> CheckedFacts:
    facts = CheckedFacts()
    for module in modules:
        facts.types.update(module.types)
        facts.targets.update(module.targets)
        facts.shapes.update(module.shapes)
        facts.bindings.update(module.bindings)
        facts.collectives.update(module.collectives)
        facts.agreements.update(module.agreements)
        facts.shortfalls.update(module.shortfalls)
    return facts


def _list_externs(externs: Mapping[str, s.Extern], facts: CheckedFacts) -> list[s.Extern]:
    """Return every extern that the file's algorithms may reach."""
    return [*externs.values(), *(target for target in facts.targets.values() if isinstance(target, s.Extern))]


def _find_unparsed_algorithms(program: s.Program, visible: Mapping[str, s.Algorithm]) -> frozenset[str]:
    """Return the algorithms in the text that are not in the program, since their headers could not be read."""
    return frozenset(name for name in _HEADER.findall(program.source.text) if name not in visible)


def _check_items(program: s.Program, library: Library, findings: Findings, facts: CheckedFacts) -> None:
    sampler = Sampler()
    for item in program.items:
        match item:
            case s.Extern():
                contracts.check_extern(findings, facts, item)
            case s.Claim():
                contracts.check_claim(findings, facts, library, item)
            case s.Algorithm() if item.name not in program.broken:
                _check_algorithm(BodyContext(item, library, findings, facts, sampler, check_call))
            case s.Use() | s.Algorithm():
                pass


def _check_algorithm(body: BodyContext) -> None:
    algorithm = body.algorithm
    processors = build_processor_count(algorithm)
    if body.distributed:
        body.scope.define(SymbolEntry("P", Role.MACHINE, Kind.STATIC, algorithm.name_span))
    if body.distributed and processors is None:
        body.path.append(FreeVariable("P", 1))
    define_parameters(body, body.library.signatures[algorithm])
    if processors is not None:
        body.path.append(LetDefinition("P", processors))
    for parameter in algorithm.parameters:
        for entry in list_type_expressions(parameter):
            check_static(body, entry, "an extent")
    for axis in algorithm.grid:
        check_static(body, axis.extent, "the extent of an axis")
    contracts.check_contract(body)
    for measure in algorithm.decreases:
        check_static(body, measure, "a measure that decreases")
    define_grid(body)
    for axis in algorithm.grid:
        body.path.append(BoundedVariable(axis.name, make_integer(body.facts, 0, axis.span), axis.extent))
    check_body(body)
