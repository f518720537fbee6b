"""Views of arrays: whole, sliced, reshaped, and those that a call passes on."""

from __future__ import annotations

from dataclasses import replace

from archline.execution import run_rules as rules
from archline.execution.codegen.elements import scaled
from archline.execution.codegen.integers import atom, integer
from archline.execution.codegen.scope import Function
from archline.execution.codegen.values import Atom, Linear, Morton, View
from archline.execution.slots import NAME_LIMIT
from archline.language import syntax as s
from archline.language.format_expressions import format_expression


def view(fn: Function, expr: s.Expr) -> View:
    """The view an expression is; its bounds are evaluated, from left to right, and checked."""
    match expr:
        case s.Name(id=name):
            return fn.view(name)
        case s.Element(array=name):
            return _sliced(fn, expr, fn.view(name))
        case s.Reshape():
            return _reshaped(fn, expr)
        case s.Integer() | s.Real() | s.Unary() | s.Binary() | s.Call():
            raise AssertionError(f"not a view: {expr}")


def _sliced(fn: Function, expr: s.Element, base: View) -> View:
    starts: list[Atom] = []
    steps: list[Atom] = []
    extents: list[Atom] = []
    kept: list[int] = []
    for dimension, piece in enumerate(expr.subscripts):
        extent = base.extents[dimension]
        if not isinstance(piece, s.Slice):
            starts.append(_index(fn, expr, piece, extent, dimension))
            continue
        start, length, step = _slice(fn, expr, piece, extent)
        starts.append(start)
        steps.append(step)
        extents.append(length)
        kept.append(dimension)
    if all(start == "0" for start in starts) and set(steps) <= {"1"} and len(kept) == len(starts):
        return replace(base, extents=tuple(extents), facts=())
    return _move(fn, base, starts, kept, steps, tuple(extents))


def _move(
    fn: Function, base: View, starts: list[Atom], kept: list[int], steps: list[Atom], extents: tuple[Atom, ...]
) -> View:
    match base.place:
        case Linear(strides):
            terms = [base.base, *_offsets(starts, strides)]
            place = Linear(tuple(_product(fn, strides[d], step) for d, step in zip(kept, steps, strict=True)))
            return replace(base, base=_sum(fn, terms), extents=extents, place=place, facts=())
        case Morton(row, column, rows, columns):
            moved = Morton(
                _sum(fn, [row, *_offsets(starts, rows)]),
                _sum(fn, [column, *_offsets(starts, columns)]),
                tuple(_product(fn, rows[d], step) for d, step in zip(kept, steps, strict=True)),
                tuple(_product(fn, columns[d], step) for d, step in zip(kept, steps, strict=True)),
            )
            return replace(base, extents=extents, place=moved, facts=())


def _offsets(starts: list[Atom], strides: tuple[Atom, ...]) -> list[str]:
    offsets = [scaled(start, stride) for start, stride in zip(starts, strides, strict=True)]
    return [offset for offset in offsets if offset != "0"]


def _sum(fn: Function, terms: list[str]) -> Atom:
    return terms[0] if len(terms) == 1 else fn.temp(" + ".join(terms), "w")


def _product(fn: Function, stride: Atom, step: Atom) -> Atom:
    text = scaled(step, stride)
    return text if "*" not in text else fn.temp(text, "w")


def _index(fn: Function, expr: s.Element, index: s.Expr, extent: Atom, dimension: int) -> Atom:
    value = atom(fn, integer(fn, index), "i")
    message = f"subscript {dimension + 1} of `{format_expression(expr)}` is {{0}}, and must be in 0..{{1}}"
    site = fn.site(rules.OUT_OF_BOUNDS, index.span, message)
    fn.check(f"{value} < 0 or {value} >= {extent}", site, value, extent)
    return value


def _slice(fn: Function, expr: s.Element, piece: s.Slice, extent: Atom) -> tuple[Atom, Atom, Atom]:
    """Start, number of entries and step of one slice."""
    lo = "0" if piece.lo is None else atom(fn, integer(fn, piece.lo), "w")
    hi = extent if piece.hi is None else atom(fn, integer(fn, piece.hi), "w")
    if piece.by_length:
        length = hi
        failed = f"{lo} < 0 or {length} < 0 or {length} > {extent} - {lo}"
        message = f"a slice of `{format_expression(expr)}` is {{0}} ..+ {{1}}, in an extent of {{2}}"
    else:
        length = hi if lo == "0" else fn.temp(f"{hi} - {lo}", "w")
        failed = f"{lo} < 0 or {hi} < {lo} or {hi} > {extent}"
        message = f"a slice of `{format_expression(expr)}` is {{0}}..{{1}}, in an extent of {{2}}"
    if piece.hi is not None:
        fn.check(failed, fn.site(rules.SLICE_OUT_OF_BOUNDS, piece.span, message), lo, hi, extent)
    if piece.step is None:
        return lo, length, "1"
    step = positive(fn, piece.step)
    return lo, fn.temp(f"({length} + {step} - 1) // {step}", "w"), step


def positive(fn: Function, step: s.Expr) -> Atom:
    """A step, checked to be positive."""
    value = atom(fn, integer(fn, step), "w")
    if not value.isdigit() or value == "0":
        site = fn.site(rules.BAD_STEP, step.span, f"the step `{format_expression(step)}` is {{0}}")
        fn.check(f"{value} < 1", site, value)
        if fn.options.compiled:
            fn.wide(f"{value} > {NAME_LIMIT}")
    return value


def _reshaped(fn: Function, expr: s.Reshape) -> View:
    base = view(fn, expr.base)
    shape = tuple(atom(fn, integer(fn, entry), "w") for entry in expr.shape)
    message = f"`{format_expression(expr)}` shows {{0}} elements of {{1}}"
    site = fn.site(rules.SHAPE, expr.span, message)
    negative = " or ".join(f"{entry} < 0" for entry in shape)
    count = shape[0]
    for entry in shape[1:]:
        count = fn.temp(f"mul_int({count}, {entry})", "w")
    fn.check(f"{negative} or {count} != {base.extents[0]}", site, count, base.extents[0])
    match base.place:
        case Linear((stride,)):
            return replace(base, extents=shape, place=Linear(_row_major(fn, stride, shape)), facts=())
        case Morton(row, column, (by_row,), (by_column,)):
            rows, columns = _row_major(fn, by_row, shape), _row_major(fn, by_column, shape)
            return replace(base, extents=shape, place=Morton(row, column, rows, columns), facts=())
        case _:
            raise AssertionError("only a view of one dimension is reshaped")


def _row_major(fn: Function, stride: Atom, shape: tuple[Atom, ...]) -> tuple[Atom, ...]:
    strides = [stride]
    for entry in reversed(shape[1:]):
        strides.append(_product(fn, strides[-1], entry))
    return tuple(reversed(strides))
