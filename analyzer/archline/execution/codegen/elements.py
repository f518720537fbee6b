"""Registers, array elements and externs: what an expression is made of beside arithmetic."""

from __future__ import annotations

from archline.execution import run_rules as rules
from archline.execution.codegen.integers import atom, integer
from archline.execution.codegen.scope import Function
from archline.execution.codegen.sites import EXTERN
from archline.execution.codegen.values import Linear, Register, Static, View
from archline.execution.slots import NO_INT, UNSET_REAL
from archline.language import syntax as s
from archline.language.format_expressions import format_expression
from archline.language.model import Kind

_CONVERSIONS = {"real": "float", "int": "int"}


def read_register(fn: Function, expr: s.Name, register: Register) -> str:
    """The variable of a register, after a check that it has a value where that is not certain."""
    if register.flag is not None:
        site = fn.site(rules.UNSET, expr.span, f"`{expr.id}` is read before it is given a value")
        fn.check(f"{register.flag} == 0", site)
    if register.shadow is not None and not fn.free:
        fn.touch(register.shadow, "read", expr.span, f"`{expr.id}` is read")
    return register.code


def read(fn: Function, expr: s.Element) -> str:
    """Read an element; the name that holds its value."""
    view = fn.view(expr.array)
    place = address(fn, expr, view)
    if view.shared:
        fn.emit(f"grid.note([{place}])")
    else:
        fn.access(place, "read", expr.span, f"`{format_expression(expr)}` is read")
    return load(fn, expr, view, place)


def load(fn: Function, expr: s.Expr, view: View, place: str) -> str:
    """The value at an address, after a check that it is set."""
    value = fn.temp(f"{_pool(view)}[{place}]", "v")
    site = fn.site(rules.UNSET, expr.span, f"`{format_expression(expr)}` is read before it is assigned")
    fn.check(unset(fn, view, place, value), site)
    return value


def unset(fn: Function, view: View, place: str, value: str) -> str:
    """The condition that the word at an address, whose value is at hand, is unset."""
    if not fn.options.compiled:
        return f"{value} is None"
    ints = "GI" if view.shared else "I"
    return f"{ints}[{place}] == {UNSET_REAL}" if view.element is Kind.REAL else f"{value} == {NO_INT}"


def store(fn: Function, view: View, place: str, value: str) -> None:
    """Write a value to an address."""
    fn.emit(f"{_pool(view)}[{place}] = {value}")


def _pool(view: View) -> str:
    pool = "R" if view.element is Kind.REAL else "I"
    return f"G{pool}" if view.shared else pool


def address(fn: Function, expr: s.Element, view: View) -> str:
    """Check the subscripts of an element, from left to right; the name that holds its address."""
    subscripts = []
    for dimension, subscript in enumerate(expr.subscripts):
        assert not isinstance(subscript, s.Slice)
        subscripts.append(_checked(fn, expr, subscript, view, dimension))
    return place_of(fn, view, subscripts)


def place_of(fn: Function, view: View, subscripts: list[str]) -> str:
    """The name that holds the address of an element whose subscripts, atoms, are in bounds."""
    match view.place:
        case Linear(strides):
            terms = [view.base]
            terms += [scaled(index, by) for index, by in zip(subscripts, strides, strict=True) if index != "0"]
            return fn.temp(" + ".join(terms), "a")
        case place:
            row = " + ".join([place.row, *map(scaled, subscripts, place.rows)])
            column = " + ".join([place.column, *map(scaled, subscripts, place.columns)])
            return fn.temp(f"{view.base} + 2 * spread({row}) + spread({column})", "a")


def scaled(index: str, stride: str) -> str:
    """Index * stride, without a needless factor."""
    if stride == "1":
        return index
    if stride == "0" or index == "0":
        return "0"
    return stride if index == "1" else f"{index} * {stride}"


def _checked(fn: Function, expr: s.Element, subscript: s.Expr, view: View, dimension: int) -> str:
    extent = view.extents[dimension]
    value = atom(fn, integer(fn, subscript), "i")
    limits = []
    known = fn.names[subscript.id] if isinstance(subscript, s.Name) else None
    least = known.least if isinstance(known, Static) else int(value) if value.isdigit() else None
    if least is None or least < 0:
        limits.append(f"{value} < 0")
    if not (isinstance(known, Static) and known.below == extent):
        limits.append(f"{value} >= {extent}")
    if limits:
        which = f"subscript {dimension + 1} of" if len(view.extents) > 1 else "the subscript of"
        message = f"{which} `{format_expression(expr)}` is {{0}}, and must be in 0..{{1}}"
        fn.check(" or ".join(limits), fn.site(rules.OUT_OF_BOUNDS, subscript.span, message), value, extent)
    return value


def call_extern(fn: Function, expr: s.Call) -> str:
    """Call an extern: its declared costs, then its value; the name that holds it."""
    from archline.execution.codegen.reals import real

    extern = fn.module.targets[expr]
    assert isinstance(extern, s.Extern)
    values = []
    for parameter, argument in zip(extern.parameters, expr.arguments, strict=True):
        is_real = isinstance(parameter.type, s.ScalarType) and parameter.type.element == "real"
        values.append(real(fn, argument).text if is_real else integer(fn, argument).text)
    if not fn.free:
        fn.block.cost[f"{EXTERN} {extern.name}"] += 1
        fn.emit(f"{fn.frame.span} += K[{fn.layout.extern(extern)}]")
    text = f"E_{extern.name}({', '.join(values)})"
    result = fn.temp(text if extern.result is None else f"{_CONVERSIONS[extern.result]}({text})", "v")
    if extern.result == "int":
        site = fn.site(rules.OVERFLOW, expr.span, f"the value of `{format_expression(expr)}` does not fit 64 bits")
        fn.check(f"{result} == {NO_INT}", site)
    return result
