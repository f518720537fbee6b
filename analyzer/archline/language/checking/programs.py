"""A whole file is checked: its definitions and uses, then each algorithm and claim."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
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
from archline.language.elaboration import Elaborated, elaborate_program
from archline.language.incremental import HEADER, CheckedAlgorithm
from archline.language.model import Kind, Module, Signature
from archline.language.proposals import join_safe_edits
from archline.language.substitution import build_processor_count
from archline.language.syntax_rules import NO_ALGORITHM
from archline.language.type_rules import INT_DIVISION
from archline.records import replace

Resolve = Callable[[s.Use], Module]


def check(program: s.Program, resolve: Resolve, syntax: tuple[Diagnostic, ...] = ()) -> Module:
    """Check a program and the files it uses; `resolve` finds the module a `use` names, or raises ArchlineError.

    `syntax` holds the parser's diagnostics. Raises ArchlineError with all findings, in the order of the text, at most
    MAX_FINDINGS. For sizes that recursive calls bring down to 0, facts `n >= 0` are added to the `where`.
    """
    resolve = cache(resolve)
    elaborated = elaborate_program(program, lambda use: load_if_valid(use, resolve))
    syntax = (*syntax, *elaborated.mistakes)
    defines = bool(elaborated.records or elaborated.abbreviations)
    module = _check_with_zero_facts(elaborated.program, resolve, syntax, defines, elaborated)
    return replace(module, records=elaborated.records, abbreviations=elaborated.abbreviations)


def check_elaborated(program: s.Program, resolve: Resolve) -> Module:
    """Check an elaborated program as `check` does."""
    return _check_with_zero_facts(program, cache(resolve), (), False, None)


def _check_with_zero_facts(
    program: s.Program, resolve: Resolve, syntax: tuple[Diagnostic, ...], defines: bool, elaborated: Elaborated | None
) -> Module:
    cached = elaborated and elaborated.cached
    module, facts = _check_as_written(program, resolve, syntax, defines, elaborated)
    while reached := derive_zero_facts(facts.sites, module.signatures):
        items = (
            replace(item, where=(*item.where, *reached[item]))
            if isinstance(item, s.Algorithm) and item in reached
            else item
            for item in module.program.items
        )
        program = replace(program, items=tuple(items))
        if cached:
            cached.add_facts(reached)
            program = cached.reuse_algorithms(program)
        module, facts = _check_as_written(program, resolve, syntax, defines, elaborated)
    return module


def _check_as_written(
    program: s.Program, resolve: Resolve, syntax: tuple[Diagnostic, ...], defines: bool, elaborated: Elaborated | None
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
    facts = CheckedFacts()
    signatures: dict[s.Algorithm, Signature] = {}
    for module in all_modules:
        facts.add_facts(module)
        signatures.update(module.signatures)
    reached = _list_externs(externs, facts)
    symbols = contracts.find_cost_symbols(reached)
    machine = find_needed_machine_symbols((*signatures, *program.algorithms), reached)
    surroundings = machine, tuple(shared)
    reused: dict[s.Algorithm, CheckedAlgorithm] = {}
    if elaborated and elaborated.cached:
        results = elaborated.cached.read_results({**externs, **algorithms})
        reused = {result.algorithm: result for result in results if result.surroundings == surroundings}
    for algorithm in program.algorithms:
        findings.subject = algorithm
        quiet = Findings() if algorithm.name in program.broken else findings
        signatures[algorithm] = reused[algorithm].signature if algorithm in reused else make_signature(algorithm, quiet)
    visible = {name: item for module in modules.values() for name, item in module.algorithms.items()} | algorithms
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
    sampler, second_sampler = Sampler(), Sampler()
    own_facts = _check_items(program, library, findings, facts, sampler, reused)
    whole = dict.fromkeys(candidate for candidate in program.algorithms if candidate.name not in program.broken)
    second_sampler.effort = sum(result.efforts[1] for result in reused.values())
    settled = {algorithm for algorithm, result in reused.items() if result.settled}
    file = WholeFile(whole, signatures, facts, findings, second_sampler, settled)
    check_agreement(file)
    if not findings.diagnostics:
        new_sites = (site for site in facts.sites if site.call not in facts.shortfalls)
        facts.shortfalls.update(iterate_shortfalls(new_sites, signatures, facts.bindings))
    strained = sampler.is_strained or second_sampler.is_strained
    if reused and strained:
        # Without reuse, no effort may be left for some samples.
        return _check_as_written(program, resolve, syntax, defines, None)
    if elaborated and elaborated.cached and not strained:
        for result in _iterate_new_results(file, reused, own_facts, elaborated.headers, surroundings):
            elaborated.cached.add_result(result, facts.types)
    if findings.diagnostics:
        found = join_safe_edits(findings.diagnostics, INT_DIVISION)
        raise ArchlineError(sorted(found, key=lambda diagnostic: _get_position_key(program, diagnostic)))
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


def _iterate_new_results(
    file: WholeFile,
    reused: Mapping[s.Algorithm, CheckedAlgorithm],
    own_facts: Mapping[s.Algorithm, tuple[CheckedFacts, int]],
    headers: Mapping[str, tuple[s.Parameter, ...]],
    surroundings: object,
) -> Iterator[CheckedAlgorithm]:
    """Yield the results of algorithms without mistakes, if they are new."""
    is_settled = not file.findings.diagnostics
    done = file.settled if is_settled else reused.keys()
    for algorithm in file.algorithms:
        header = headers.get(algorithm.name)
        if header is None or algorithm in file.findings.mistaken or algorithm in done:
            continue
        facts, effort = own_facts[algorithm]
        facts.agreements[algorithm] = file.facts.agreements[algorithm]
        if is_settled:
            facts.shortfalls.update((site.call, file.facts.shortfalls[site.call]) for site in facts.sites)
        second = reused[algorithm].efforts[1] if algorithm in reused else file.efforts.get(algorithm, 0)
        signature = file.signatures[algorithm]
        yield CheckedAlgorithm(algorithm, header, facts, signature, surroundings, (effort, second), is_settled)


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


def _list_externs(externs: Mapping[str, s.Extern], facts: CheckedFacts) -> list[s.Extern]:
    """Return every extern that the file's algorithms may reach."""
    return [*externs.values(), *(target for target in facts.targets.values() if isinstance(target, s.Extern))]


def _find_unparsed_algorithms(program: s.Program, visible: Mapping[str, s.Algorithm]) -> frozenset[str]:
    """Return the algorithms in the text that are not in the program, since their headers could not be read."""
    return frozenset(name for name in HEADER.findall(program.source.text) if name not in visible)


def _check_items(
    program: s.Program,
    library: Library,
    findings: Findings,
    facts: CheckedFacts,
    sampler: Sampler,
    reused: Mapping[s.Algorithm, CheckedAlgorithm],
) -> dict[s.Algorithm, tuple[CheckedFacts, int]]:
    """Check the items that are not reused; return the facts about each algorithm with the effort of its samples."""
    by_algorithm = {algorithm: (result.facts, result.efforts[0]) for algorithm, result in reused.items()}
    for item in program.items:
        findings.subject = item if isinstance(item, s.Algorithm) else None
        match item:
            case s.Algorithm() if item in reused:
                facts.add_facts(reused[item].facts)
                sampler.effort += reused[item].efforts[0]
            case s.Extern():
                contracts.check_extern(findings, facts, item)
            case s.Claim():
                contracts.check_claim(findings, facts, library, item)
            case s.Algorithm() if item.name not in program.broken:
                counts, effort = facts.count_facts(), sampler.effort
                body = BodyContext(item, library, findings, facts, sampler.start_algorithm(), check_call)
                _check_algorithm(body)
                by_algorithm[item] = facts.select_new(counts), sampler.effort - effort
            case s.Use() | s.Algorithm():
                pass
    return by_algorithm


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
