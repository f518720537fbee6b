"""Write the code for processors of a grid: messages, collectives, calls along axes, input and output, splits.

The function of an algorithm on a grid is a generator: it yields each step, and is sent the words that the step
received. Its counters are up to date whenever it yields, as the costs of the critical path are computed from them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from archline.execution import run_rules as rules
from archline.execution.codegen.arrays import write_extent_checks, write_view
from archline.execution.codegen.conditions import write_condition
from archline.execution.codegen.expressions import make_atom, write_address, write_integer
from archline.execution.codegen.scope import AlgorithmWriter
from archline.execution.codegen.values import ArrayValue, IntegerValue, Linear
from archline.execution.slots import MAX_UNCHECKED_SIZE
from archline.expr.text import format_expression
from archline.language import syntax as s
from archline.language.model import Kind


def number_communications(algorithm: s.Algorithm) -> dict[s.Node, int]:
    """Number the communicating statements of an algorithm: calls and collectives in one sequence, messages in another.

    An exchange has an odd number; the k-th `send` and the k-th `receive` in the text have the number 2*k.
    """
    counts = {"exchange": 0, "send": 0, "receive": 0}
    numbers: dict[s.Node, int] = {}
    for node in s.iterate_nodes(algorithm.body):
        if isinstance(node, s.Communicate) and node.is_message:
            counts[node.operation] += 1
            numbers[node] = 2 * counts[node.operation] - (node.operation == "exchange")
        elif isinstance(node, s.Communicate | s.Invoke):
            numbers[node] = len(numbers)
    return numbers


def map_calls(algorithm: s.Algorithm) -> dict[int, s.Node]:
    """Return the calls and collective operations of an algorithm by their numbers from `number_communications`."""
    calls = number_communications(algorithm).items()
    return {number: node for node, number in calls if not (isinstance(node, s.Communicate) and node.is_message)}


def define_grid(fn: AlgorithmWriter, algorithm: s.Algorithm) -> None:
    """Write the definitions of P, the coordinates and the extents of the axes by the group passed to the function."""
    fn.emit("n_P = grid.size")
    fn.define("P", IntegerValue("n_P", MAX_UNCHECKED_SIZE, 1))
    for index, axis in enumerate(algorithm.grid):
        fn.axes[axis.name] = index
        fn.emit(f"g{index} = grid.coordinates[{index}]")
        fn.emit(f"e{index} = grid.ranks.shape[{index}]")
        fn.define(axis.name, IntegerValue(f"g{index}", MAX_UNCHECKED_SIZE, 0, f"e{index}"))


def write_grid_checks(fn: AlgorithmWriter, algorithm: s.Algorithm) -> None:
    """Write the checks that the axes have their declared extents; sizes must have been defined."""
    for index, axis in enumerate(algorithm.grid):
        extent = make_atom(fn, write_integer(fn, axis.extent))
        text = format_expression(axis.extent)
        message = f"the axis `{axis.name}` of `{algorithm.name}` has {{0}} processors, and `{text}` is {{1}}"
        site = fn.add_site(rules.GRID, axis.span, message)
        fn.check(f"e{index} != {extent}", site, f"e{index}", extent, "call=call")


def write_message(fn: AlgorithmWriter, node: s.Communicate) -> None:
    """Write an exchange, a send or a receive, as one step."""
    clauses = {clause.keyword: clause for clause in node.clauses}
    sent, received = node.sent_buffer, node.received
    _write_counter_updates(fn)
    before = fn.frame
    # Registers are copied to memory before the clauses, as their conditions must not change the top of the stack.
    registers = [item for item in (sent, received) if isinstance(item, s.Name) and not fn.module.is_view(item)]
    buffers: dict[s.Expr, tuple[ArrayValue, Callable[[], None]]]
    buffers = {item: _write_register_buffer(fn, item, item is received) for item in registers}

    def place_of(buffer: s.Expr) -> ArrayValue:
        return buffers[buffer][0] if buffer in buffers else write_view(fn, buffer)

    unset = fn.add_site(rules.UNSET, node.span, f"`{_format_optional(sent)}` is sent, but has words that are not set")
    to, source = fn.assign_name("None", "to"), fn.assign_name("None", "of")
    payload, words = fn.assign_name("None", "x"), fn.assign_name("None", "w")
    place = ""
    if "to" in clauses:
        with _write_guard(fn, clauses["to"]):
            fn.emit(f"{to} = {_write_partner(fn, clauses['to'])}")
            if sent is not None:
                fn.emit(f"{payload} = {format_buffer(place_of(sent))}")
    if "from" in clauses:
        with _write_guard(fn, clauses["from"]):
            fn.emit(f"{source} = {_write_partner(fn, clauses['from'])}")
            if received is not None:
                target = place_of(received)
                place = fn.assign_name(format_buffer(target), "z")
                fn.emit(f"{words} = {' * '.join(target.extents)}")
    number = fn.numbers[node]
    # Sends and receives of one processor pair in their order, exchanges within their iteration.
    iteration = format_tuple(fn.iteration if node.operation == "exchange" else ())
    step = f"grid.step({number}, {iteration}, {to}, {payload}, {source}, {words}, {unset})"
    answer = fn.assign_name(f"yield {step}", "y")
    if received is not None:
        with fn.indented(f"if {answer} is not None:", node.span):
            fn.emit(f"grid.processor.write({place}, {answer})")
            if received in buffers:
                buffers[received][1]()
    fn.frame = before


def _format_optional(expr: s.Expr | None) -> str:
    return format_expression(expr) if expr is not None else ""


def _write_counter_updates(fn: AlgorithmWriter) -> None:
    """Write updates of the span and all counters before a step, which reads them."""
    fn.update_span()
    fn.count_block_so_far()


@contextmanager
def _write_guard(fn: AlgorithmWriter, clause: s.Clause) -> Iterator[None]:
    """Indent lines under the test of a clause's `when`, if it has one; the test and the lines are not counted."""
    with fn.uncounted():
        if clause.when is None:
            yield
        else:
            test = write_condition(fn, clause.when)
            with fn.indented(f"if {test}:", clause.span):
                yield


def _write_partner(fn: AlgorithmWriter, clause: s.Clause) -> str:
    coordinates = [make_atom(fn, write_integer(fn, value)) for value in clause.values]
    text = "a partner's coordinate is {0}, and the axis has {1} processors"
    site = fn.add_site(rules.PARTNER, clause.span, text)
    axes = ", ".join(str(place) for place in _list_grid_axes(fn))
    return f"{fn.group}.partner(({', '.join(coordinates)},), ({axes},), {site})"


def _list_grid_axes(fn: AlgorithmWriter) -> list[int]:
    """Return the numbers of the axes that the algorithm declares, without the groups of splits."""
    return [fn.axes[axis] for axis in fn.algorithm_axes]


def format_tuple(parts: Iterable[str]) -> str:
    """Format the source of a tuple."""
    return f"({''.join(f'{part}, ' for part in parts)})"


def format_buffer(array: ArrayValue) -> str:
    """Format a view as a `grid.Place`."""
    extents = ", ".join(array.extents)
    match array.place:
        case Linear(strides):
            strides_text = ", ".join(strides)
        case morton:
            strides_text = ", ".join((morton.row, morton.column, *morton.rows, *morton.columns))
    return f"({int(array.element is Kind.REAL)}, {array.base}, ({extents},), ({strides_text},))"


# Loops
def write_loop_record(fn: AlgorithmWriter, loop: s.Loop | s.While) -> str:
    """Write the beginning of a loop that all processors of a group must leave in the same iteration.

    Return the name of its record, in which iterations are counted; empty if processors may leave it at different times.
    """
    progress = fn.progress.get(loop)
    if progress is None or not (progress.speaks or (isinstance(loop, s.While) and loop.limit is None)):
        return ""
    axes = [fn.axes[axis] for axis in fn.algorithm_axes if axis not in progress.differs]
    if not axes:
        return ""
    site = fn.add_site(rules.DIFFERENT_TESTS, loop.span, "")
    places = format_tuple(map(str, axes))
    return fn.assign_name(f"{fn.group}.record_loop({site}, {format_tuple(fn.iteration)}, {places})", "w")


# Calls
def write_group(fn: AlgorithmWriter, node: s.Node, callee: s.Algorithm, along: tuple[s.Name, ...]) -> str:
    """Return the expression for the group of processors that take part in a call: along some axes, else all."""
    places = [fn.axes[axis.id] for axis in along] if along else _list_grid_axes(fn)
    flat = int(len(callee.grid) == 1)
    return (
        f"{fn.group}.enter({fn.numbers[node]}, {format_tuple(fn.iteration)}, {format_tuple(map(str, places))}, {flat})"
    )


def write_buffer(fn: AlgorithmWriter, argument: s.Expr, written: bool) -> tuple[ArrayValue, Callable[[], None]]:
    """Write an argument for a parameter `any[w]`; return it as a vector, and a function that writes it back.

    The function does nothing for an argument that is not `written` to by the callee.
    """
    array, after = _write_transfer_buffer(fn, argument, written)
    if len(array.extents) == 1 and isinstance(array.place, Linear):
        return array, after
    place = fn.assign_name(format_buffer(array), "z")
    base, stride, top = fn.make_name("b"), fn.make_name("s"), fn.make_name("top")
    fn.emit(f"{base}, {stride}, {top} = grid.flat({place}, {fn.frame.top})")
    fn.frame = replace(fn.frame, top=top)
    words = fn.assign_name(" * ".join(array.extents), "w")
    after = (lambda: fn.emit(f"grid.copy_back({place}, {base})")) if written else _do_nothing
    return ArrayValue(array.element, base, (words,), Linear((stride,))), after


def _write_transfer_buffer(fn: AlgorithmWriter, expr: s.Expr, written: bool) -> tuple[ArrayValue, Callable[[], None]]:
    """Write a view, an element or a register as a buffer; return it, and a function that writes a register back.

    The function does nothing unless the buffer is `written` to.
    """
    if fn.module.is_view(expr):
        return write_view(fn, expr), _do_nothing
    if isinstance(expr, s.Element):
        whole = fn.get_view(expr.array)
        unit_stride = Linear(("1",))
        return ArrayValue(
            whole.element, write_address(fn, expr, whole), ("1",), unit_stride, shared=whole.shared
        ), _do_nothing
    assert isinstance(expr, s.Name)
    return _write_register_buffer(fn, expr, written)


def _do_nothing() -> None:
    """Write nothing after a call, for a buffer that is not copied."""


def _write_register_buffer(
    fn: AlgorithmWriter, argument: s.Name, written: bool
) -> tuple[ArrayValue, Callable[[], None]]:
    """Write the copy of a register to a word on top of the stack; return it, and a function that writes it back.

    The function does nothing unless the word is `written` to.
    """
    register = fn.get_register(argument.id)
    real = int(register.kind is Kind.REAL)
    pool = "R" if real else "I"
    base = fn.frame.top
    top = fn.assign_name(f"grid.processor.reserve({base}, 1)", "top")
    fn.frame = replace(fn.frame, top=top)
    fn.emit(f"I[{base}] = grid.processor.unset({real})")
    if register.flag is None:
        fn.emit(f"{pool}[{base}] = {register.code}")
    else:
        fn.emit(f"if {register.flag}:")
        fn.emit(f" {pool}[{base}] = {register.code}")

    def after() -> None:
        if written:
            fn.emit(f"if I[{base}] != grid.processor.unset({real}):")
            fn.emit(f" {register.code} = {pool}[{base}]")
            if register.flag is not None:
                fn.emit(f" {register.flag} = 1")

    return ArrayValue(register.kind, base, ("1",), Linear(("1",))), after


def copy_buffer(fn: AlgorithmWriter, node: s.Communicate, target: s.Expr, source: s.Expr) -> None:
    """Write the copy of `source` to `target`, on which a collective then works; it has no cost.

    The subscripts of `target` are evaluated again, and counted, for the call of the collective.
    """
    _write_counter_updates(fn)
    before = fn.frame
    source_array, _ = _write_transfer_buffer(fn, source, written=False)
    unset = fn.add_site(rules.UNSET, node.span, f"`{_format_optional(source)}` is sent, but has words that are not set")
    words = fn.assign_name(f"grid.processor.read({format_buffer(source_array)}, {unset})", "x")
    with fn.uncounted():
        target_array, after = _write_transfer_buffer(fn, target, written=True)
    count = " * ".join(target_array.extents)
    size = "the buffer has {0} words, and the one for the result has {1}"
    fn.check(f"len({words}) != {count}", fn.add_site(rules.MESSAGE_SIZE, node.span, size), f"len({words})", count)
    fn.emit(f"grid.processor.write({format_buffer(target_array)}, {words})")
    after()
    fn.frame = before


# Input and output
def write_transfer(fn: AlgorithmWriter, node: s.Transfer) -> None:
    """Write an `input` or `output`, which has no cost."""
    clause = s.Clause("", (), node.when, span=node.span)
    _write_counter_updates(fn)
    before = fn.frame
    with _write_guard(fn, clause):
        target, after = _write_transfer_buffer(fn, node.target, written=True)
        source, _ = _write_transfer_buffer(fn, node.value, written=False)
        if node.direction == "input":
            write_shared_load(fn, target, source, node, node.value)
        else:
            text = f"an element of `{format_expression(node.target)}` is output twice"
            hint = "let only one of the processors that hold it output it, with a guard such as `when k == 0`"
            twice = fn.add_site(rules.OUTPUT_TWICE, node.span, text, hint=hint)
            fn.emit(f"grid.store({_format_transfer(fn, target, source, node, node.value)}, {twice})")
        after()
    fn.frame = before


def write_shared_load(fn: AlgorithmWriter, target: ArrayValue, source: ArrayValue, node: s.Stmt, value: s.Expr) -> None:
    """Write the load of a part of a global array to an array of the processor."""
    fn.emit(f"grid.load({_format_transfer(fn, target, source, node, value)})")


def _format_transfer(fn: AlgorithmWriter, target: ArrayValue, source: ArrayValue, node: s.Stmt, value: s.Expr) -> str:
    write_extent_checks(fn, target, source, node)
    text = f"`{format_expression(value)}` is read before it is assigned"
    return f"{format_buffer(target)}, {format_buffer(source)}, {fn.add_site(rules.UNSET, value.span, text)}"


def is_only_transfer(statements: tuple[s.Stmt, ...]) -> bool:
    """Test whether statements only transfer input and output, so that loops around them have no cost."""
    return all(
        isinstance(node, s.Transfer | s.Let | s.Pass) or (isinstance(node, s.Loop) and is_only_transfer(node.body))
        for node in statements
    ) and any(isinstance(node, s.Transfer | s.Loop) for node in statements)


# Splits
def write_split(
    fn: AlgorithmWriter, node: s.Split, block: Callable[[AlgorithmWriter, tuple[s.Stmt, ...]], None]
) -> None:
    """Write the block of a split: its axis becomes two, that of the groups and that in a group.

    P is the number of processors in a group there.
    """
    parts = make_atom(fn, write_integer(fn, node.parts))
    text = f"`{node.axis}` has {{0}} processors, which cannot be split in {{1}} equal groups"
    site = fn.add_site(rules.GRID, node.span, text)
    axis = fn.axes[node.axis]
    group = fn.assign_name(f"{fn.group}.split({axis}, {parts}, {site})", "grid")
    with fn.scope():
        before = (fn.group, dict(fn.axes))
        fn.group = group
        fn.axes = {name: number + (number > axis) for name, number in fn.axes.items()} | {node.axis: axis + 1}
        fn.axes[node.group] = axis
        extents = " * ".join(f"{group}.ranks.shape[{number}]" for number in _list_grid_axes(fn))
        fn.define("P", IntegerValue(fn.assign_name(extents, "n_P"), MAX_UNCHECKED_SIZE, 1))
        for name in (node.axis, node.group):
            code = fn.assign_name(f"{group}.coordinates[{fn.axes[name]}]", "g")
            extent = fn.assign_name(f"{group}.ranks.shape[{fn.axes[name]}]", "e")
            fn.names[name] = IntegerValue(code, MAX_UNCHECKED_SIZE, 0, extent)
        block(fn, node.body)
        fn.group, fn.axes = before
