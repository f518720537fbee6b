"""Write the code for calls and spawns of algorithms: arguments, the facts on index data, span and tasks."""

from __future__ import annotations

from dataclasses import replace

from archline.execution import run_rules as rules
from archline.execution.cache.strands import TraceEvent
from archline.execution.codegen.arrays import has_spawns, write_loop_nest, write_view
from archline.execution.codegen.expressions import (
    make_atom,
    write_address,
    write_element_address,
    write_integer,
    write_real,
    write_store,
    write_unset_test,
)
from archline.execution.codegen.messages import write_buffer, write_group
from archline.execution.codegen.scope import AlgorithmWriter
from archline.execution.codegen.values import ArrayValue, Atom, Linear
from archline.execution.slots import CALL, NO_INT, SPAN
from archline.expr.text import format_expression
from archline.language import syntax as s
from archline.language.diagnostics import error
from archline.language.metrics import CALL as CALL_EVENT
from archline.language.model import is_buffer

Places = tuple[s.Name | s.Element, ...]
"""The places in which a call stores the outputs of an algorithm."""


def write_call(fn: AlgorithmWriter, expr: s.Call, places: Places = (), spawned: bool = False) -> str:
    """Write a call of an algorithm; return the name that holds its result, empty if it has none or is `spawned`."""
    callee = fn.module.targets[expr]
    assert isinstance(callee, s.Algorithm)
    forms: list[str] = []
    arguments: list[str] = []
    for parameter, argument in zip(callee.parameters, expr.arguments, strict=True):
        _pass_argument(fn, parameter, argument, forms, arguments)
    return _write_algorithm_call(fn, expr, callee, forms, arguments, places, spawned)


def write_call_on_grid(
    fn: AlgorithmWriter,
    node: s.Invoke | s.Communicate,
    expr: s.Call,
    along: tuple[s.Name, ...],
    places: Places = (),
) -> None:
    """Write a call of an algorithm by the processors of a grid; buffers may be copied for it, at no cost."""
    callee = fn.module.targets[expr]
    assert isinstance(callee, s.Algorithm)
    forms: list[str] = []
    arguments: list[str] = []
    before = fn.frame
    write_ends = []
    for parameter, argument in zip(callee.parameters, expr.arguments, strict=True):
        if is_buffer(parameter):
            array, write_end = write_buffer(fn, argument, parameter.mode != "in")
            forms.append(f"{array.element.name[0]}:{array.form}")
            arguments += array.atoms
            write_ends.append(write_end)
        else:
            _pass_argument(fn, parameter, argument, forms, arguments)
    fn.count_event(CALL_EVENT)
    fn.update_span()
    fn.count_block_so_far()
    group = write_group(fn, node, callee, along)
    function = fn.instance(callee, tuple(forms))
    site = fn.add_site(rules.WHERE, expr.span, f"the call of `{callee.name}`")
    fn.emit(f"K[{CALL}] = {site}")
    task = [fn.frame.task] if fn.options.races else []
    passed = ", ".join(["mem", fn.frame.top, fn.frame.alive, *task, group, *arguments])
    handed = [(fn.make_name("v"), fn.make_name("v")) for _ in callee.outputs]
    names = ", ".join(name for pair in handed for name in pair)
    fn.emit(f"{names} = yield from {function}({passed})" if names else f"yield from {function}({passed})")
    fn.emit(f"{fn.frame.span} += K[{SPAN}]")
    for write_end in write_ends:
        write_end()
    for place, (value, flag) in zip(places, handed, strict=True):
        _store_output(fn, place, value, flag)
    fn.frame = replace(fn.frame, top=before.top)


def _write_algorithm_call(
    fn: AlgorithmWriter,
    expr: s.Call,
    callee: s.Algorithm,
    forms: list[str],
    arguments: list[str],
    places: Places,
    spawned: bool,
) -> str:
    fn.count_event(CALL_EVENT)
    function = fn.instance(callee, tuple(forms))
    site = fn.add_site(rules.WHERE, expr.span, f"the call of `{callee.name}`")
    if spawned:
        _write_spawn(fn, function, site, arguments)
        return ""
    framed = has_spawns(callee.body)
    if framed:
        fn.write_event(TraceEvent.CALL)
    fn.save_trace_position()
    text = _write_call_text(fn, function, site, arguments, fn.frame.task)
    result = "" if callee.result is None else fn.make_name("v")
    handed = [(fn.make_name("v"), fn.make_name("v")) for _ in callee.outputs]
    names = [result] * bool(result) + [name for pair in handed for name in pair]
    fn.emit(f"{', '.join(names)} = {text}" if names else text)
    fn.load_trace_position()
    fn.emit(f"{fn.frame.span} += K[{SPAN}]")
    if framed:
        fn.write_event(TraceEvent.RETURN)
    for place, (value, flag) in zip(places, handed, strict=True):
        _store_output(fn, place, value, flag)
    return result


def _store_output(fn: AlgorithmWriter, place: s.Name | s.Element, value: str, flag: str) -> None:
    """Write the store of an output, which keeps its value where the callee has set none (`flag` is 0)."""
    text = f"`{format_expression(place)}` is handed back"
    if isinstance(place, s.Element):
        view = fn.get_view(place.array)
        address = write_address(fn, place, view)
        with fn.indented(f"if {flag}:", place.span):
            write_store(fn, view, address, value)
        fn.count_access(address, "write", place.span, text)
        return
    register = fn.get_register(place.id)
    if register.shadow is not None:
        fn.check_register_race(register.shadow, "write", place.span, text)
    with fn.indented(f"if {flag}:", place.span):
        fn.emit(f"{register.code} = {value}")
        if register.flag is not None:
            fn.emit(f"{register.flag} = 1")


def _write_call_text(fn: AlgorithmWriter, function: str, site: int, arguments: list[str], task: str) -> str:
    fn.emit(f"K[{CALL}] = {site}")
    common = ["mem", fn.frame.top, fn.frame.alive, *([task] if fn.options.races else [])]
    return f"{function}({', '.join([*common, *(_cast_literal(fn, argument) for argument in arguments)])})"


def _cast_literal(fn: AlgorithmWriter, argument: str) -> str:
    """Cast a literal to int64: numba has a type for each literal, and would compile the callee again for it."""
    literal = argument.strip("()-").isdigit()
    return f"int64({argument})" if fn.options.compiled and literal else argument


def _write_spawn(fn: AlgorithmWriter, function: str, site: int, arguments: list[str]) -> None:
    fn.update_span()
    fn.write_event(TraceEvent.SPAWN)
    fn.save_trace_position()
    task = fn.assign_name("new_task(mem)", "task") if fn.options.races else ""
    fn.emit(_write_call_text(fn, function, site, arguments, task))
    fn.load_trace_position()
    frame = fn.frame
    fn.emit(f"{frame.pending} = max({frame.pending}, {frame.span} + K[{SPAN}])")
    if fn.options.races:
        fn.emit(f"{frame.bag} = into_parallel(mem, {frame.bag}, {task})")
    fn.write_event(TraceEvent.SPAWN_END)


def write_sync(fn: AlgorithmWriter) -> None:
    """Write the wait for the calls that the current strand has spawned, if any."""
    frame = fn.frame
    if not frame.pending:
        return
    fn.update_span()
    fn.flush()
    fn.emit(f"{frame.span} = max({frame.span}, {frame.pending})")
    if fn.options.races:
        fn.emit(f"{frame.bag} = into_serial(mem, {frame.bag}, {frame.task})")
    fn.write_event(TraceEvent.SYNC)


def _pass_argument(
    fn: AlgorithmWriter, parameter: s.Parameter, argument: s.Expr, forms: list[str], arguments: list[str]
) -> None:
    match parameter.type:
        case s.SizeType() | s.IndexType():
            arguments.append(make_atom(fn, write_integer(fn, argument)))
        case s.ScalarType(element="real"):
            arguments.append(write_real(fn, argument).text)
        case s.ScalarType():
            arguments.append(write_integer(fn, argument).text)
        case s.OperatorType():
            forms.append(_resolve_operator(fn, argument))
        case s.OffsetsType():
            array = write_view(fn, argument)
            facts = array.facts if len(array.facts) == 2 else _write_offsets_facts(fn, array, argument)
            forms.append(array.form)
            arguments += [*_list_atoms_without_facts(array), *facts]
        case s.IndexArrayType():
            array = write_view(fn, argument)
            bound = array.facts[0] if len(array.facts) == 1 else _write_index_bound(fn, array, argument)
            forms.append(array.form)
            arguments += [*_list_atoms_without_facts(array), bound]
        case s.ArrayType(element=element):
            array = write_view(fn, argument)
            forms.append(f"{array.element.name[0]}:{array.form}" if element == "any" else array.form)
            arguments += _list_atoms_without_facts(array)


def _resolve_operator(fn: AlgorithmWriter, argument: s.Expr) -> str:
    assert isinstance(argument, s.Name)
    return fn.resolve_operator(f"{argument.id}=")


def _list_atoms_without_facts(array: ArrayValue) -> tuple[Atom, ...]:
    return array.atoms[: len(array.atoms) - len(array.facts)]


OFFSETS_VARIANTS = (
    "entry {1} of the offsets is unset",
    "the offsets start at {1}, not at 0",
    "the offsets decrease at entry {1}: from {2} to {3}",
    "the offsets are empty; they need one entry more than there are segments",
)
INDEX_VARIANTS = ("entry {1} of the index array is unset", "entry {1} of the index array is {2}, below 0")


def _write_offsets_facts(fn: AlgorithmWriter, array: ArrayValue, argument: s.Expr) -> tuple[Atom, Atom]:
    if not isinstance(array.place, Linear):
        message = f"`{format_expression(argument)}` is in Z-Morton order, and cannot be passed as offsets"
        raise error(rules.OFFSETS, message, span=argument.span, hint="copy it into a one-dimensional array")
    site = fn.add_site(rules.OFFSETS, argument.span, "", OFFSETS_VARIANTS)
    entries, stride = array.extents[0], array.place.strides[0]
    mark = "None" if not fn.options.compiled else str(NO_INT)
    total = fn.assign_name(f"offsets_total(I, K, {site}, {array.base}, {entries}, {stride}, {mark})")
    return total, fn.assign_name(f"longest_gap(I, {array.base}, {entries}, {stride})")


def _write_index_bound(fn: AlgorithmWriter, array: ArrayValue, argument: s.Expr) -> Atom:
    site = fn.add_site(rules.INDICES, argument.span, "", INDEX_VARIANTS)
    bound = fn.assign_name("0")
    with write_loop_nest(fn, array.extents, argument.span) as indices:
        place = write_element_address(fn, array, indices)
        value = fn.assign_name(f"I[{place}]", "v")
        fn.check(write_unset_test(fn, array, place, value), site, "0", indices[-1])
        fn.check(f"{value} < 0", site, "1", indices[-1], value)
        fn.emit(f"{bound} = max({bound}, {value} + 1)")
    return bound
