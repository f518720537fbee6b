"""Distributed statements: exchanges, where data starts and ends, splits, and calls along axes of the grid."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from archline.language import call_rules as rules
from archline.language import name_rules, type_rules
from archline.language import syntax as s
from archline.language.checking.calls import buffer_of, check_along, check_writable
from archline.language.checking.context import BodyContext
from archline.language.checking.expressions import base_symbol, condition, static, type_of
from archline.language.checking.extents import agree, combine, shown
from archline.language.checking.points import Opaque
from archline.language.checking.scopes import Role, SymbolEntry
from archline.language.diagnostics import counted
from archline.language.model import Kind, ViewType

MESSAGES = frozenset(("exchange", "send", "receive"))
"""The operations that are one step; all others are collectives."""
_NEEDED = {"exchange": ("to", "from"), "send": ("to",), "receive": ("from",)}


def check_messages(body: BodyContext, statement: s.Communicate) -> None:
    """Check an exchange, a send or a receive: its place, its buffers, its partners."""
    operation = statement.operation
    check_place(body, statement, f"`{operation}`")
    clauses = clauses_of(body, statement, _NEEDED[operation], ("into",) if operation == "exchange" else ())
    sent = None
    if statement.buffer is not None:
        sent = _buffer(body, statement.buffer, written=operation == "receive")
    elif operation != "exchange":
        body.report(rules.CLAUSE, f"`{operation}` needs a buffer", statement.span)
    _check_received(body, statement, clauses.get("into"), sent)
    for keyword in ("to", "from"):
        if keyword in clauses:
            _check_partner(body, clauses[keyword])


def _check_received(
    body: BodyContext, statement: s.Communicate, into: s.Clause | None, sent: ViewType | Kind | None
) -> None:
    if statement.operation != "exchange":
        return
    if (into is None) != (statement.buffer is None):
        message = "an exchange has a buffer to send and one to receive `into`, or neither"
        hint = "write `exchange x to (e) into y from (f)`, or `exchange to (e) from (f)`"
        body.report(rules.CLAUSE, message, statement.span, hint)
    if into is None:
        return
    target = _buffer(body, into.values[0], written=True)
    if len(into.values) > 1:
        body.report(rules.CLAUSE, "an exchange receives into one buffer", into.span)
    if target is not None and sent is not None and element_of(target) is not element_of(sent):
        message = f"`{shown(into.values[0])}` holds another kind of number than what is sent"
        body.report(type_rules.WRONG_KIND, message, into.span)


def _check_partner(body: BodyContext, clause: s.Clause) -> None:
    for value in clause.values:
        static(body, value, "a coordinate")
    if clause.when is not None:
        condition(body, clause.when)
    axes = len(body.algorithm.grid)
    if body.distributed and len(clause.values) != axes:
        message = f"the grid has {counted(axes, 'coordinate')}, not {len(clause.values)}"
        body.report(rules.CLAUSE, message, clause.span)


def check_place(body: BodyContext, at: s.Node, what: str) -> None:
    """Report a distributed statement in an algorithm that runs on one processor."""
    if not body.distributed:
        hint = f"write `algorithm {body.algorithm.name}(...) on grid(r: P):`"
        body.report(rules.NOT_ON_GRID, f"{what} belongs to algorithms `on grid`", at.span, hint)


def clauses_of(
    body: BodyContext, statement: s.Communicate, needed: tuple[str, ...], optional: tuple[str, ...]
) -> dict[str, s.Clause]:
    """A statement's clauses by keyword, reporting those that it does not take, and those that it lacks."""
    clauses: dict[str, s.Clause] = {}
    for clause in statement.clauses:
        if clause.keyword not in needed + optional:
            message = f"`{statement.operation}` has no clause `{clause.keyword}`"
            hint = "its clauses are " + ", ".join(needed + optional)
            body.report(rules.CLAUSE, message, clause.span, hint)
        elif clause.keyword in clauses:
            message = f"`{statement.operation}` has two clauses `{clause.keyword}`"
            body.report(rules.CLAUSE, message, clause.span)
        else:
            clauses[clause.keyword] = clause
        if clause.when is not None and statement.operation not in MESSAGES:
            body.report(rules.CLAUSE, "all processors of the group take part in a collective", clause.span)
    missing = [keyword for keyword in needed if keyword not in clauses]
    if missing:
        wanted = ", ".join(f"`{keyword} ...`" for keyword in missing)
        hint = "its clauses are " + ", ".join(needed + optional)
        body.report(rules.CLAUSE, f"`{statement.operation}` needs {wanted}", statement.span, hint)
    return clauses


def _buffer(body: BodyContext, expr: s.Expr, written: bool) -> ViewType | Kind | None:
    """The type of a buffer: a view of a processor's own array, or a register."""
    found = buffer_of(body, expr)
    symbol = base_symbol(body, expr)
    if found is None or symbol is None or (written and not check_writable(body, symbol, expr)):
        return None
    return found


def element_of(type_: ViewType | Kind) -> Kind:
    """The kind of a buffer's elements."""
    return type_.element if isinstance(type_, ViewType) else type_


def check_transfer(body: BodyContext, statement: s.Transfer) -> None:
    """Check `input local = global` and `output global = local`."""
    check_place(body, statement, f"`{statement.direction}`")
    with body.shared_arrays():
        target, value = type_of(body, statement.target), type_of(body, statement.value)
    if statement.when is not None:
        condition(body, statement.when)
    if not body.distributed or target is None or value is None:
        return
    sides = (statement.target, statement.value)
    symbols = [base_symbol(body, side) for side in sides]
    shared = (False, True) if statement.direction == "input" else (True, False)
    for side, symbol, wanted in zip(sides, symbols, shared, strict=True):
        own = symbol is None or not symbol.shared
        if symbol is None or own is wanted:
            kind = "a global array" if wanted else "the processor's own"
            message = f"`{shown(side)}` is not {kind}"
            hint = "write `input own = global[...]` or `output global[...] = own`"
            body.report(rules.SHARED_ARRAY, message, side.span, hint)
            return
    if symbols[0] is not None and check_writable(body, symbols[0], statement.target):
        _check_sides(body, statement, target, value)


def _check_sides(body: BodyContext, statement: s.Transfer, target: ViewType | Kind, value: ViewType | Kind) -> None:
    if element_of(target) is not element_of(value):
        body.report(type_rules.WRONG_KIND, "the two sides hold different kinds of numbers", statement.span)
    elif isinstance(target, ViewType) and isinstance(value, ViewType) and target.rank == value.rank:
        shapes = body.facts.shapes
        for left, right in zip(shapes[statement.target], shapes[statement.value], strict=True):
            agree(body, left, right, statement.value, "the extent is {0} on the left and {1} on the right")
    elif isinstance(target, ViewType) or isinstance(value, ViewType):
        message = "the two sides have different numbers of dimensions"
        body.report(type_rules.SHAPE, message, statement.span)


def check_split(body: BodyContext, statement: s.Split) -> None:
    """Check the header of a split; the caller opens its block and defines the group there."""
    check_place(body, statement, "`split`")
    check_along(body, (s.Name(statement.axis, span=statement.span),))
    static(body, statement.parts, "the number of parts")


@contextmanager
def split_group(body: BodyContext, statement: s.Split) -> Iterator[None]:
    """Define the group of a split for its block, where P and the axis have other values than outside."""
    body.define(SymbolEntry(statement.group, Role.COORDINATE, Kind.STATIC, statement.span))
    before = dict(body.axes)
    if statement.axis in body.axes:
        whole = body.axes[statement.axis]
        body.axes[statement.axis] = combine(body.facts, "//", whole, statement.parts, statement.span)
    body.axes[statement.group] = statement.parts
    body.path.append(Opaque())
    try:
        yield
    finally:
        body.axes = before


def define_grid(body: BodyContext) -> None:
    """Put the coordinates of an algorithm's grid in scope."""
    for axis in body.algorithm.grid:
        if axis.name in body.axes:
            body.report(name_rules.DUPLICATE, f"the grid has two axes called `{axis.name}`", axis.span)
            continue
        body.axes[axis.name] = axis.extent
        body.define(SymbolEntry(axis.name, Role.COORDINATE, Kind.STATIC, axis.span))
