"""Write the whole program: a Python function (contract, body, exit) for each algorithm and form of its arguments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from archline.execution import run_rules as rules
from archline.execution.codegen.arrays import Allocation, has_spawns, write_release
from archline.execution.codegen.calls import write_call, write_sync
from archline.execution.codegen.conditions import write_fact
from archline.execution.codegen.expressions import make_atom, write_integer
from archline.execution.codegen.messages import define_grid, number_communications, write_grid_checks
from archline.execution.codegen.scope import AlgorithmWriter, Layout, list_names_in_fact, plan_layout
from archline.execution.codegen.statements import (
    write_block,
    write_leavable,
    write_scalar,
    write_statement,
    write_totals,
)
from archline.execution.codegen.values import ArrayValue, IntegerValue, Operator, Register, make_view_parameter
from archline.execution.codegen.writer import CheckSite, Options, Tables
from archline.execution.slots import (
    CALL,
    DEPTH,
    FIRST_SITE,
    LINE_DIVISOR,
    MAX_DEPTH,
    MAX_UNCHECKED_SIZE,
    MEM_BAGS,
    MEM_INTS,
    MEM_LATEST,
    MEM_PARENTS,
    MEM_REALS,
    MEM_SHADOW,
    MEM_STATE,
    MEM_TRACE,
    SPAN,
    SYMBOLS,
    TRACE,
)
from archline.expr.text import format_expression, format_fact, format_list
from archline.language import syntax as s
from archline.language.call_graph import find_reachable, find_recursive_component, has_forks
from archline.language.lockstep import find_progress
from archline.language.model import BoundBy, Kind, Module
from archline.records import record, replace


def write_algorithm(fn: AlgorithmWriter, name: str, algorithm: s.Algorithm, forms: tuple[str, ...]) -> str:
    """Return the source of the function that runs an algorithm on arguments of given forms."""
    fn.grid = bool(algorithm.grid)
    fn.algorithm_axes = tuple(axis.name for axis in algorithm.grid)
    parameters = _define_parameters(fn, algorithm, forms)
    forks = has_spawns(algorithm.body)
    fn.frame = replace(fn.frame, pending="q" if forks else "", bag="bag" if forks and fn.options.races else "")
    fn.count_steps("1")
    with fn.uncounted():
        if fn.grid:
            fn.numbers.update(number_communications(algorithm))
            fn.progress = find_progress(fn.module, algorithm)
            define_grid(fn, algorithm)
        _bind_sizes(fn, algorithm)
        write_grid_checks(fn, algorithm)
        _write_parameter_checks(fn, algorithm)
        _write_where_checks(fn, algorithm)
        measure = _write_entry(fn, algorithm)
    write_totals(fn, algorithm)
    results = _write_body(fn, algorithm)
    fn.finish()
    _write_exit(fn, algorithm, measure)
    common = ["mem", "top", "alive", *(["task"] if fn.options.races else []), *(["grid"] if fn.grid else [])]
    header = f"def {name}({', '.join([*common, *parameters])}):"
    tail = [f" K[{counter}] += x{counter}" for counter in fn.counters]
    tail.append(f" K[{SPAN}] = s")
    if fn.options.trace and fn.options.compiled:
        tail.append(f" K[{TRACE}] = now")
    if results:
        tail.append(f" return {', '.join(results)}")
    return "\n".join([header, *_iterate_opening_lines(fn), *fn.lines, *tail, ""])


def _iterate_opening_lines(fn: AlgorithmWriter) -> Iterator[str]:
    if fn.grid:
        # The `yield` makes a generator of any function. Python indexes `reals` and `ints` faster than numpy arrays.
        yield " if False: yield"
        yield " R = grid.processor.reals"
        yield " I = grid.processor.ints"
        yield f" GR = grid.processor.shared[{MEM_REALS}]"
        yield f" GI = grid.processor.shared[{MEM_INTS}]"
        yield " K = grid.processor.counts"
    else:
        yield f" R = mem[{MEM_REALS}]"
        yield f" I = mem[{MEM_INTS}]"
        yield f" K = mem[{MEM_STATE}]"
    yield f" call = K[{CALL}]"
    if fn.options.trace:
        yield f" T = mem[{MEM_TRACE}]"
        if fn.options.compiled:
            yield f" now = K[{TRACE}]"
    if fn.options.streams:
        yield f" Q = mem[{MEM_LATEST}]"
        yield f" by = K[{LINE_DIVISOR}]"
        yield " last = -1"
    if fn.options.races:
        yield f" S = mem[{MEM_SHADOW}]"
        yield f" U = mem[{MEM_PARENTS}]"
        yield f" B = mem[{MEM_BAGS}]"
    yield " s = 0"
    if fn.leaves:
        yield " left = 0"
    if fn.frame.pending:
        yield " q = 0"
    if fn.frame.bag:
        yield " bag = -1"
    for counter in fn.counters:
        yield f" x{counter} = 0"


def _define_parameters(fn: AlgorithmWriter, algorithm: s.Algorithm, forms: tuple[str, ...]) -> list[str]:
    """Define the parameters of the algorithm; return the parameter names of the Python function."""
    names: list[str] = []
    shapes = iter(forms)
    fn.element = next(
        (Kind.REAL if form[0] == "R" else Kind.INT for form in forms if ":" in form and form[0] in "RI"), Kind.REAL
    )
    for number, parameter in enumerate(algorithm.parameters):
        stem = f"p{number}"
        match parameter.type:
            case s.SizeType() | s.IndexType():
                fn.define(parameter.name, IntegerValue(stem))
                names.append(stem)
                continue
            case s.ScalarType(element=element):
                fn.define(parameter.name, Register(stem, Kind.REAL if element == "real" else Kind.INT, fixed=True))
                names.append(stem)
                continue
            case s.OperatorType():
                fn.define(parameter.name, Operator(next(shapes)))
                continue
            case s.ArrayType(element=element):
                array = make_view_parameter(stem, fn.array_kind(element), next(shapes).rpartition(":")[2], 0)
            case s.OffsetsType():
                array = make_view_parameter(stem, Kind.INT, next(shapes), 2)
            case s.IndexArrayType():
                array = make_view_parameter(stem, Kind.INT, next(shapes), 1)
        fn.define(parameter.name, replace(array, shared=fn.grid and not parameter.local))
        names += array.atoms
    return names


def _bind_sizes(fn: AlgorithmWriter, algorithm: s.Algorithm) -> None:
    signature = fn.module.signatures[algorithm]
    for binding in signature.sizes:
        parameter = algorithm.parameters[binding.parameter]
        minimum = signature.at_least[binding.name]
        if binding.by is BoundBy.VALUE:
            code = fn.get_integer(binding.name).code
        else:
            code = _write_size(fn, fn.get_view(parameter.name), binding.by, binding.dimension)
            if binding.offset:
                code = fn.assign_name(f"{code} - {binding.offset}", "w")
        fn.define(binding.name, IntegerValue(code, MAX_UNCHECKED_SIZE, max(minimum, 0)))
        message = f"the size `{binding.name}` of `{algorithm.name}` is {{0}}, and must be at least {minimum}"
        _write_contract_check(
            fn, f"{code} < {minimum}", fn.add_site(rules.SIZE_TOO_SMALL, parameter.span, message), code
        )
    if fn.options.compiled:
        for name in (*signature.size_names, *signature.indices):
            code = fn.get_integer(name).code
            fn.leave_compiled_if(f"{code} > {MAX_UNCHECKED_SIZE} or {code} < -{MAX_UNCHECKED_SIZE}")


def _write_size(fn: AlgorithmWriter, array: ArrayValue, by: BoundBy, dimension: int) -> str:
    match by:
        case BoundBy.COUNT:
            return fn.assign_name(f"{array.extents[0]} - 1", "w")
        case BoundBy.TOTAL:
            return array.facts[0]
        case BoundBy.LONGEST:
            return array.facts[1]
        case _:
            return array.extents[dimension]


def _write_contract_check(fn: AlgorithmWriter, failed: str, site: int, *values: str) -> None:
    """Write a check of a contract: if `failed` is true, the error shows the call of the algorithm.

    `site` is the number of the place in the source, for diagnostics.
    """
    fn.check(failed, site, *values, "call=call")


def _write_parameter_checks(fn: AlgorithmWriter, algorithm: s.Algorithm) -> None:
    for parameter in algorithm.parameters:
        match parameter.type:
            case s.ArrayType(shape=shape):
                _write_shape_checks(fn, parameter, shape)
            case s.IndexArrayType(shape=shape, below=below):
                _write_shape_checks(fn, parameter, shape)
                bound, limit = fn.get_view(parameter.name).facts[0], make_atom(fn, write_integer(fn, below))
                message = f"an entry of `{parameter.name}` is not below {{1}}: the largest is {{0}}"
                site = fn.add_site(rules.INDICES, parameter.span, message)
                _write_contract_check(fn, f"{bound} > {limit}", site, f"{bound} - 1", limit)
            case s.OffsetsType() as type_:
                _write_offsets_checks(fn, parameter, type_)
            case s.SizeType() | s.IndexType() | s.ScalarType() | s.OperatorType():
                pass


def _write_shape_checks(fn: AlgorithmWriter, parameter: s.Parameter, shape: tuple[s.Expr, ...]) -> None:
    array = fn.get_view(parameter.name)
    extents = []
    for dimension, entry in enumerate(shape):
        extent, needed = array.extents[dimension], make_atom(fn, write_integer(fn, entry))
        if needed != extent:
            message = (
                f"extent {dimension + 1} of `{parameter.name}` is {{0}}, and `{format_expression(entry)}` is {{1}}"
            )
            site = fn.add_site(rules.SHAPE, parameter.span, message)
            _write_contract_check(fn, f"{extent} != {needed}", site, extent, needed)
        # The two are equal from here on; with `needed` as the extent, loops up to it need no bounds checks.
        extents.append(needed)
    fn.define(parameter.name, replace(array, extents=tuple(extents)))


def _write_offsets_checks(fn: AlgorithmWriter, parameter: s.Parameter, type_: s.OffsetsType) -> None:
    array = fn.get_view(parameter.name)
    name = parameter.name
    count, total, longest = fn.assign_name(f"{array.extents[0]} - 1", "w"), *array.facts
    parts = [
        (type_.count, count, "!=", f"`{name}` has {{0}} segments, and `{{expr}}` is {{1}}"),
        (type_.into, total, "!=", f"`{name}` ends at {{0}}, and `{{expr}}` is {{1}}"),
    ]
    if type_.longest is not None:
        text = f"the longest gap of `{name}` is {{0}}, and `{{expr}}` is {{1}}"
        parts.append((type_.longest, longest, ">", text))
    for expr, actual, relation, text in parts:
        needed = make_atom(fn, write_integer(fn, expr))
        if needed != actual:
            site = fn.add_site(rules.OFFSETS, parameter.span, text.replace("{expr}", format_expression(expr)))
            _write_contract_check(fn, f"{actual} {relation} {needed}", site, actual, needed)


def _write_where_checks(fn: AlgorithmWriter, algorithm: s.Algorithm) -> None:
    machine = SYMBOLS.keys() - fn.names.keys()
    for fact_node in algorithm.where:
        # Facts about the machine are not checked in a run.
        if machine.isdisjoint(list_names_in_fact(fact_node)):
            message = f"`where {format_fact(fact_node)}` of `{algorithm.name}` is false"
            _write_contract_check(
                fn, f"not {write_fact(fn, fact_node)}", fn.add_site(rules.WHERE, fact_node.span, message)
            )


def _write_entry(fn: AlgorithmWriter, algorithm: s.Algorithm) -> list[tuple[str, int]]:
    """Write the checks of depth and decrease on entry; return the names to restore at the exit, with their slots."""
    slot = fn.layout.measures.get(algorithm)
    if slot is None:
        return []
    fn.emit(f"K[{DEPTH}] += 1")
    message = f"`{algorithm.name}` is {MAX_DEPTH} calls deep"
    site = fn.add_site(rules.TOO_DEEP_RECURSION, algorithm.name_span, message)
    _write_contract_check(fn, f"K[{DEPTH}] > {MAX_DEPTH}", site)
    values = _write_measure(fn, algorithm)
    before = [fn.assign_name(f"K[{slot + index}]", "o") for index in range(len(values) + 1)]
    _write_decrease_check(fn, algorithm, values, before)
    for index, value in enumerate(["1", *values]):
        fn.emit(f"K[{slot + index}] = {value}")
    return [(name, slot + index) for index, name in enumerate(before)]


def _write_measure(fn: AlgorithmWriter, algorithm: s.Algorithm) -> list[str]:
    """Write the values that must decrease or change in recursive calls; return their names in generated code."""
    if not algorithm.decreases:
        return [fn.get_integer(name).code for name in list_measured_names(fn.module, algorithm)]
    values = []
    for expr in algorithm.decreases:
        value = make_atom(fn, write_integer(fn, expr))
        message = f"`decreases {format_expression(expr)}` of `{algorithm.name}` is {{0}}, below 0"
        _write_contract_check(fn, f"{value} < 0", fn.add_site(rules.NOT_DECREASING, expr.span, message), value)
        values.append(value)
    return values


def _write_decrease_check(fn: AlgorithmWriter, algorithm: s.Algorithm, values: list[str], before: list[str]) -> None:
    if not algorithm.decreases and _has_conditions_on_data(algorithm):
        # Its depth is limited all the same.
        return
    active, *old = before
    pairs = list(zip(values, old, strict=True))
    if algorithm.decreases:
        smaller = "False"
        for value, last in reversed(pairs):
            smaller = f"({value} < {last} or {value} == {last} and {smaller})"
        span, what = algorithm.decreases[0].span, f"`decreases {format_list(algorithm.decreases)}`"
        message = f"{what} of `{algorithm.name}` does not decrease: it is {{0}} in a call made where it is {{1}}"
    else:
        indices = len(fn.module.signatures[algorithm].indices)
        signs = ["<"] * (len(pairs) - indices) + ["!="] * indices
        smaller = " or ".join(f"{new} {sign} {old}" for sign, (new, old) in zip(signs, pairs, strict=True)) or "False"
        span = algorithm.name_span
        message = f"no size of `{algorithm.name}` is smaller in a recursive call, and no index is different"
    shown = [values[0], old[0]] if values else []
    _write_contract_check(
        fn, f"{active} == 1 and not ({smaller})", fn.add_site(rules.NOT_DECREASING, span, message), *shown
    )


def _has_conditions_on_data(algorithm: s.Algorithm) -> bool:
    """Test whether an algorithm has conditions on data, which may end a recursion although its sizes stay the same."""
    scalars = {item.name for item in algorithm.parameters if isinstance(item.type, s.ScalarType)}
    scalars |= {local.name for local in s.find_nodes(algorithm.body, s.Local)}
    branches = (branch.condition for branch in s.find_nodes(algorithm.body, s.Branch))
    loops = (loop.condition for loop in s.find_nodes(algorithm.body, s.While))
    return any(
        s.find_names(condition) & scalars or any(s.find_nodes(condition, s.Element))
        for condition in (*branches, *loops)
    )


def list_measured_names(module: Module, algorithm: s.Algorithm) -> tuple[str, ...]:
    """Return the names compared in calls without `decreases`: a size or P must decrease, or an index change."""
    signature = module.signatures[algorithm]
    return (*signature.size_names, *(("P",) if algorithm.grid else ()), *signature.indices)


def _write_body(fn: AlgorithmWriter, algorithm: s.Algorithm) -> list[str]:
    """Write the statements of the body; return the names of its result, which is evaluated before the last sync.

    The values of outputs follow, each with the flag that tells whether it is set.
    """
    *statements, last = algorithm.body
    if not isinstance(last, s.Return):
        statements.append(last)
    results: list[str] = []
    if "return" in s.list_exit_kinds(tuple(statements)):
        while isinstance(statements[0], s.Local) and statements[0].array is None:
            # An exit leads to the end of the body, which returns the value of such a register.
            write_statement(fn, statements.pop(0), [])
        write_leavable(fn, tuple(statements), "return", write_block)
        statements = []
    if not isinstance(last, s.Return) and not algorithm.outputs:
        write_block(fn, tuple(statements))
    else:
        allocations: list[Allocation] = []
        for node in statements:
            write_statement(fn, node, allocations)
        if isinstance(last, s.Return):
            kind = Kind.REAL if algorithm.result == "real" else Kind.INT
            results.append(fn.assign_name(write_scalar(fn, last.value, kind).text, "v"))
            fn.flush()
        for output in algorithm.outputs:
            register = fn.get_register(output.register)
            # A literal has a type of its own in compiled code, so that types of recursive calls would differ.
            flag = register.flag or "1"
            results += [register.code, f"int64({flag})" if fn.options.compiled and not fn.grid else flag]
        if allocations:
            write_sync(fn)
        write_release(fn, allocations)
    write_sync(fn)
    return results


def _write_exit(fn: AlgorithmWriter, algorithm: s.Algorithm, measure: list[tuple[str, int]]) -> None:
    for name, slot in measure:
        fn.emit(f"K[{slot}] = {name}")
    if algorithm in fn.layout.measures:
        fn.emit(f"K[{DEPTH}] -= 1")


@record(eq=False)
class GeneratedProgram:
    """Python functions by name, the entry function, and the layout of the state.

    `generators` are functions that run on processors of a grid, which stay plain Python.
    """

    functions: Mapping[str, str]
    generators: frozenset[str]
    entry: str
    layout: Layout
    tables: Tables
    options: Options

    def get_site(self, number: int) -> CheckSite:
        return self.tables.sites[number - FIRST_SITE]


def generate_program(
    module: Module, algorithm: s.Algorithm, forms: tuple[str, ...], options: Options
) -> GeneratedProgram:
    """Generate the program that runs an algorithm on arguments of given forms.

    Raises ArchlineError (AL517) if blocks are nested too deeply.
    """
    called = tuple(dict.fromkeys((algorithm, *find_reachable(module, algorithm))))
    recursive = tuple(callee for callee in called if find_recursive_component(module, callee))
    measured = {callee: len(callee.decreases) or len(list_measured_names(module, callee)) for callee in recursive}
    layout = plan_layout(module, recursive, measured)
    tables = Tables()
    instances: dict[tuple[s.Algorithm, tuple[str, ...]], str] = {}
    waiting: list[tuple[s.Algorithm, tuple[str, ...]]] = []

    def instance(callee: s.Algorithm, callee_forms: tuple[str, ...]) -> str:
        key = (callee, callee_forms)
        if key not in instances:
            instances[key] = f"f{len(instances)}_{callee.name.replace('.', '_')}"
            waiting.append(key)
        return instances[key]

    # If no function on the grid forks, nothing runs in parallel to it on its processor.
    alone = not has_forks([callee for callee in called if callee.grid])
    literals = (literal for callee in called for literal in s.find_nodes(callee.body, s.Real))
    infinite = any(literal.text == "inf" and module.types.get(literal) is Kind.INT for literal in literals)
    entry = instance(algorithm, forms)
    functions: dict[str, str] = {}
    generators: set[str] = set()
    while waiting:
        key = waiting.pop()
        fn = AlgorithmWriter(module, options, tables, layout.first_counter)
        fn.attach(layout, instance, write_call)
        fn.infinite = infinite
        fn.alone = alone and bool(key[0].grid)
        name = instances[key]
        functions[name] = write_algorithm(fn, name, *key)
        if key[0].grid:
            generators.add(name)
    return GeneratedProgram(functions, frozenset(generators), entry, layout, tables, options)
