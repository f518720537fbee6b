"""Write the code for local arrays on the stack, for views, and for assignments of whole arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from archline.execution import run_rules as rules
from archline.execution.cache.strands import TraceEvent
from archline.execution.codegen.expressions import (
    make_atom,
    scale_index,
    write_element_address,
    write_integer,
    write_load,
    write_store,
)
from archline.execution.codegen.scope import AlgorithmWriter
from archline.execution.codegen.values import ArrayValue, Atom, Linear, Morton
from archline.execution.codegen.writer import READS, WORK, WRITES
from archline.execution.slots import LINE, MAX_UNCHECKED_SIZE
from archline.expr.text import format_expression
from archline.expr.tree import Span
from archline.language import syntax as s
from archline.language.metrics import ITERATION
from archline.language.model import Kind
from archline.records import record, replace


def write_view(fn: AlgorithmWriter, expr: s.Expr) -> ArrayValue:
    """Write the code that evaluates a view; its bounds are evaluated from left to right, and checked."""
    match expr:
        case s.Name(id=name):
            return fn.get_view(name)
        case s.Element(array=name):
            return _write_sliced_view(fn, expr, fn.get_view(name))
        case s.Reshape():
            return _write_reshaped_view(fn, expr)
        case s.Integer() | s.Real() | s.Unary() | s.Binary() | s.Call():
            raise AssertionError(f"not a view: {expr}")


def _write_sliced_view(fn: AlgorithmWriter, expr: s.Element, base: ArrayValue) -> ArrayValue:
    starts: list[Atom] = []
    steps: list[Atom] = []
    extents: list[Atom] = []
    dimensions: list[int] = []
    for dimension, subscript in enumerate(expr.subscripts):
        extent = base.extents[dimension]
        if not isinstance(subscript, s.Slice):
            starts.append(_write_index(fn, expr, subscript, extent, dimension))
            continue
        start, length, step = _write_slice(fn, expr, subscript, extent)
        starts.append(start)
        steps.append(step)
        extents.append(length)
        dimensions.append(dimension)
    if all(start == "0" for start in starts) and set(steps) <= {"1"} and len(dimensions) == len(starts):
        return replace(base, extents=tuple(extents), facts=())
    return _shift_view(fn, base, starts, dimensions, steps, tuple(extents))


def _shift_view(
    fn: AlgorithmWriter,
    base: ArrayValue,
    starts: list[Atom],
    dimensions: list[int],
    steps: list[Atom],
    extents: tuple[Atom, ...],
) -> ArrayValue:
    match base.place:
        case Linear(strides):
            terms = [base.base, *_list_start_offsets(starts, strides)]
            place = Linear(
                tuple(_scale_stride(fn, strides[d], step) for d, step in zip(dimensions, steps, strict=True))
            )
            return replace(base, base=_write_sum(fn, terms), extents=extents, place=place, facts=())
        case Morton(row, column, rows, columns):
            shifted = Morton(
                _write_sum(fn, [row, *_list_start_offsets(starts, rows)]),
                _write_sum(fn, [column, *_list_start_offsets(starts, columns)]),
                tuple(_scale_stride(fn, rows[d], step) for d, step in zip(dimensions, steps, strict=True)),
                tuple(_scale_stride(fn, columns[d], step) for d, step in zip(dimensions, steps, strict=True)),
            )
            return replace(base, extents=extents, place=shifted, facts=())


def _list_start_offsets(starts: list[Atom], strides: tuple[Atom, ...]) -> list[str]:
    offsets = [scale_index(start, stride) for start, stride in zip(starts, strides, strict=True)]
    return [offset for offset in offsets if offset != "0"]


def _write_sum(fn: AlgorithmWriter, terms: list[str]) -> Atom:
    return terms[0] if len(terms) == 1 else fn.assign_name(" + ".join(terms), "w")


def _scale_stride(fn: AlgorithmWriter, stride: Atom, step: Atom) -> Atom:
    text = scale_index(step, stride)
    return text if "*" not in text else fn.assign_name(text, "w")


def _write_index(fn: AlgorithmWriter, expr: s.Element, index: s.Expr, extent: Atom, dimension: int) -> Atom:
    value = make_atom(fn, write_integer(fn, index), "i")
    message = f"subscript {dimension + 1} of `{format_expression(expr)}` is {{0}}, and must be in 0..{{1}}"
    site = fn.add_site(rules.OUT_OF_BOUNDS, index.span, message)
    fn.check(f"{value} < 0 or {value} >= {extent}", site, value, extent)
    return value


def _write_slice(fn: AlgorithmWriter, expr: s.Element, piece: s.Slice, extent: Atom) -> tuple[Atom, Atom, Atom]:
    """Write the checks of a slice; return its start, number of entries and step."""
    lo = "0" if piece.lo is None else make_atom(fn, write_integer(fn, piece.lo), "w")
    hi = extent if piece.hi is None else make_atom(fn, write_integer(fn, piece.hi), "w")
    if piece.by_length:
        length = hi
        failed = f"{lo} < 0 or {length} < 0 or {length} > {extent} - {lo}"
        message = f"a slice of `{format_expression(expr)}` is {{0}} ..+ {{1}}, in an extent of {{2}}"
    else:
        length = hi if lo == "0" else fn.assign_name(f"{hi} - {lo}", "w")
        failed = f"{lo} < 0 or {hi} < {lo} or {hi} > {extent}"
        message = f"a slice of `{format_expression(expr)}` is {{0}}..{{1}}, in an extent of {{2}}"
    if piece.hi is not None:
        fn.check(failed, fn.add_site(rules.SLICE_OUT_OF_BOUNDS, piece.span, message), lo, hi, extent)
    if piece.step is None:
        return lo, length, "1"
    step = write_step(fn, piece.step)
    return lo, fn.assign_name(f"({length} + {step} - 1) // {step}", "w"), step


def write_step(fn: AlgorithmWriter, step: s.Expr) -> Atom:
    """Write a step, checked to be positive."""
    value = make_atom(fn, write_integer(fn, step), "w")
    if not value.isdigit() or value == "0":
        site = fn.add_site(rules.BAD_STEP, step.span, f"the step `{format_expression(step)}` is {{0}}")
        fn.check(f"{value} < 1", site, value)
        if fn.options.compiled:
            fn.leave_compiled_if(f"{value} > {MAX_UNCHECKED_SIZE}")
    return value


def _write_reshaped_view(fn: AlgorithmWriter, expr: s.Reshape) -> ArrayValue:
    base = write_view(fn, expr.base)
    shape = tuple(make_atom(fn, write_integer(fn, entry), "w") for entry in expr.shape)
    message = f"`{format_expression(expr)}` has {{0}} elements, but the vector has {{1}}"
    site = fn.add_site(rules.SHAPE, expr.span, message)
    negative = " or ".join(f"{entry} < 0" for entry in shape)
    count = shape[0]
    for entry in shape[1:]:
        count = fn.assign_name(f"mul_int({count}, {entry})", "w")
    fn.check(f"{negative} or {count} != {base.extents[0]}", site, count, base.extents[0])
    match base.place:
        case Linear((stride,)):
            return replace(base, extents=shape, place=Linear(_row_major_strides(fn, stride, shape)), facts=())
        case Morton(row, column, (by_row,), (by_column,)):
            rows, columns = _row_major_strides(fn, by_row, shape), _row_major_strides(fn, by_column, shape)
            return replace(base, extents=shape, place=Morton(row, column, rows, columns), facts=())
        case _:
            raise AssertionError("only a view of one dimension is reshaped")


def _row_major_strides(fn: AlgorithmWriter, stride: Atom, shape: tuple[Atom, ...]) -> tuple[Atom, ...]:
    strides = [stride]
    for entry in reversed(shape[1:]):
        strides.append(_scale_stride(fn, strides[-1], entry))
    return tuple(reversed(strides))


def has_spawns(statements: tuple[s.Stmt, ...]) -> bool:
    """Test whether statements spawn calls outside of parallel loops (whose iterations sync their own)."""
    for statement in statements:
        if isinstance(statement, s.Invoke) and statement.spawned:
            return True
        if not (isinstance(statement, s.Loop) and statement.parallel) and any(
            map(has_spawns, s.list_blocks(statement))
        ):
            return True
    return False


@contextmanager
def write_loop_nest(fn: AlgorithmWriter, extents: tuple[Atom, ...], span: Span) -> Iterator[list[Atom]]:
    """Write loops over all elements of a shape, in row-major order; yield the names of their indices."""
    fn.flush()
    indices: list[Atom] = []
    with ExitStack() as stack:
        for extent in extents:
            indices.append(fn.make_name("e"))
            stack.enter_context(fn.indented(f"for {indices[-1]} in range({extent}):", span, loop=True))
        yield indices


@record(slots=True)
class Allocation:
    """A local array: its view, the words that it occupies, and the number of its elements."""

    view: ArrayValue
    words: Atom
    elements: Atom


def write_allocation(fn: AlgorithmWriter, local: s.Local, type_: s.ArrayType) -> Allocation:
    """Write the allocation of a local array at the top of the stack."""
    shape = tuple(make_atom(fn, write_integer(fn, entry), "w") for entry in type_.shape)
    sizes = [extent for extent in shape if not extent.isdigit()]
    if sizes:
        site = fn.add_site(rules.SIZE_TOO_SMALL, local.span, f"an extent of `{local.name}` is negative")
        fn.check(" or ".join(f"{extent} < 0" for extent in sizes), site)
    element = fn.array_kind(type_.element)
    base, alive = fn.frame.top, fn.frame.alive
    place, words = _write_layout(fn, shape, type_.layout)
    elements = _write_product(fn, shape)
    # A product beyond 64 bits is negative, and no memory holds that much.
    fn.leave_compiled_if(f"{words} < 0 or {elements} < 0")
    fn.frame = replace(
        fn.frame, top=fn.assign_name(f"{base} + {words}", "top"), alive=fn.assign_name(f"{alive} + {elements}", "alive")
    )
    fn.emit(f"allocate(mem, {base}, {words}, {fn.frame.alive}, {int(element is Kind.REAL)})")
    fn.write_event(TraceEvent.ALLOCATE, f"{words} // K[{LINE}]")
    return Allocation(ArrayValue(element, base, shape, place), words, elements)


def _write_product(fn: AlgorithmWriter, factors: tuple[Atom, ...]) -> Atom:
    result = factors[0]
    for factor in factors[1:]:
        result = fn.assign_name(f"mul_int({result}, {factor})", "w")
    return result


def _round_to_lines(fn: AlgorithmWriter, words: Atom) -> Atom:
    """Round the words of a row up to whole lines."""
    return fn.assign_name(f"({words} + K[{LINE}] - 1) // K[{LINE}] * K[{LINE}]", "w")


def _write_layout(fn: AlgorithmWriter, shape: tuple[Atom, ...], layout: str) -> tuple[Linear | Morton, Atom]:
    if layout == "zmorton" and len(shape) == 2:
        words = _round_to_lines(fn, fn.assign_name(f"enclosing_square({shape[0]}, {shape[1]})", "w"))
        return Morton("0", "0", ("1", "0"), ("0", "1")), words
    # `order` begins with the contiguous dimension.
    order = shape if layout == "colmajor" else shape[::-1]
    words = _round_to_lines(fn, order[0])
    strides = ["1"]
    for extent in order[1:]:
        strides.append(words)
        words = _write_product(fn, (words, extent))
    return Linear(tuple(strides if layout == "colmajor" else strides[::-1])), words


def write_release(fn: AlgorithmWriter, allocations: list[Allocation]) -> None:
    """Write the events that release the local arrays of a block, the last one first."""
    for allocation in reversed(allocations):
        fn.write_event(TraceEvent.RELEASE, f"{allocation.words} // K[{LINE}]")


def write_fill(fn: AlgorithmWriter, target: ArrayValue, value: str, at: s.Node, name: str) -> None:
    """Write the loop nest that assigns one value to every element of a view."""
    atom_of_value = value if value.isidentifier() else fn.assign_name(value, "v")
    with write_loop_nest(fn, target.extents, at.span) as indices:
        place = write_element_address(fn, target, indices)
        write_store(fn, target, place, atom_of_value)
        fn.log_access(place, "write", at.span, f"`{name}` is filled")
        fn.flush()
    _count_loop_nest(fn, target.extents, (WRITES,))


def write_extent_checks(fn: AlgorithmWriter, target: ArrayValue, source: ArrayValue, at: s.Node) -> None:
    """Write the checks that two views have the same extents."""
    for dimension, (left, right) in enumerate(zip(target.extents, source.extents, strict=True)):
        if left != right:
            text = f"extent {dimension + 1} is {{0}} on the left and {{1}} on the right"
            fn.check(f"{left} != {right}", fn.add_site(rules.SHAPE, at.span, text), left, right)


def write_copy(
    fn: AlgorithmWriter, target: ArrayValue, source: ArrayValue, at: s.Node, value: s.Expr, name: str
) -> None:
    """Write the loop nest that copies one view to another of the same extents."""
    write_extent_checks(fn, target, source, at)
    with write_loop_nest(fn, target.extents, at.span) as indices:
        origin = write_element_address(fn, source, indices)
        fn.log_access(origin, "read", value.span, f"`{format_expression(value)}` is copied")
        loaded = write_load(fn, value, source, origin)
        place = write_element_address(fn, target, indices)
        write_store(fn, target, place, loaded)
        fn.log_access(place, "write", at.span, f"`{name}` is written by a copy")
        fn.flush()
    _count_loop_nest(fn, target.extents, (READS, WRITES))


def _count_loop_nest(fn: AlgorithmWriter, extents: tuple[Atom, ...], accesses: tuple[str, ...]) -> None:
    """Count an iteration for each iteration of each loop of a nest, and `accesses` for those of the innermost loop."""
    levels = [extents[0]]
    for extent in extents[1:]:
        levels.append(fn.assign_name(f"{levels[-1]} * {extent}", "w"))
    iterations = " + ".join(levels) if len(levels) == 1 else fn.assign_name(" + ".join(levels), "w")
    fn.count_steps(iterations)
    span = "0"
    for extent in reversed(extents):
        span = f"(ceil_log2({extent}) + 1 + {span} if {extent} > 0 else 0)"
    fn.emit(f"{fn.frame.span} += {span}")
    fn.count(Counter({WORK: 1, ITERATION.kind: 1}), iterations, fn.block.looped)
    fn.count(Counter(dict.fromkeys(accesses, 1)), levels[-1], fn.block.looped)
