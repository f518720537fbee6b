"""Distributed statements: communication and its clauses, where data starts and ends, splits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from archline.language import call_rules as rules
from archline.language import name_rules, type_rules
from archline.language import syntax as s
from archline.language.checking.agreement import agree
from archline.language.checking.calls import check_writable
from archline.language.checking.context import Body, leaves
from archline.language.checking.expressions import base_symbol, condition, counted, static, type_of
from archline.language.checking.extents import shown
from archline.language.checking.points import Opaque
from archline.language.checking.scopes import Role, Symbol
from archline.language.model import Kind, ViewType


@dataclass(frozen=True)
class _Form:
    """The clauses of an operation, and whether it writes its buffer."""

    needed: tuple[str, ...]
    optional: tuple[str, ...]
    writes: bool


_FORMS = {
    "shift": _Form(("along", "by"), ("using",), True),
    "alltoall": _Form(("along", "into"), ("counts", "using"), False),
    "broadcast": _Form(("along", "from"), ("using",), True),
    "reduce": _Form(("along", "onto", "with"), ("into", "using"), True),
    "allreduce": _Form(("along", "with"), ("into", "using"), True),
    "gather": _Form(("along", "onto", "into"), ("counts", "using"), False),
    "scatter": _Form(("along", "from", "into"), ("counts", "using"), False),
    "allgather": _Form(("along", "into"), ("counts", "using"), False),
    "reduce_scatter": _Form(("along", "into", "with"), ("counts", "using"), False),
    "barrier": _Form((), ("along", "using"), False),
    "send": _Form(("to",), (), False),
    "receive": _Form(("from",), (), True),
}


def check_communication(body: Body, statement: s.Communicate) -> None:
    """Check an operation's place, buffer and clauses."""
    operation = statement.operation
    _check_place(body, statement, f"`{operation}`")
    form = _FORMS[operation]
    clauses = _check_clauses(body, statement, form)
    if (statement.buffer is None) != (operation == "barrier"):
        message = "`barrier` takes no buffer" if statement.buffer is not None else f"`{operation}` needs a buffer"
        body.report(rules.CLAUSE, message, statement.span)
    buffer = None
    if statement.buffer is not None:
        buffer = _buffer(body, statement.buffer, form.writes and "into" not in clauses)
    for keyword, clause in clauses.items():
        _check_clause(body, statement, keyword, clause, buffer)
    if operation == "shift" and "by" in clauses and "along" in clauses:
        _check_shift(body, clauses["along"].values[0], clauses["by"].values[0])


def _check_place(body: Body, at: s.Node, what: str) -> None:
    if not body.distributed:
        message = f"{what} belongs to algorithms `on grid`"
        body.report(
            rules.NOT_ON_GRID,
            message,
            at.span,
            f"write `algorithm {body.algorithm.name}(...) on grid(r: P):`",
        )


def _check_clauses(body: Body, statement: s.Communicate, form: _Form) -> dict[str, s.Clause]:
    clauses: dict[str, s.Clause] = {}
    allowed = form.needed + form.optional
    for clause in statement.clauses:
        if clause.keyword not in allowed:
            message = f"`{statement.operation}` has no clause `{clause.keyword}`"
            hint = "its clauses are " + ", ".join(allowed)
            body.report(rules.CLAUSE, message, clause.span, hint)
        elif clause.keyword in clauses:
            message = f"`{statement.operation}` has two clauses `{clause.keyword}`"
            body.report(rules.CLAUSE, message, clause.span)
        else:
            clauses[clause.keyword] = clause
    missing = [keyword for keyword in form.needed if keyword not in clauses]
    if missing:
        wanted = ", ".join(f"`{keyword} ...`" for keyword in missing)
        body.report(rules.CLAUSE, f"`{statement.operation}` needs {wanted}", statement.span)
    return clauses


def _buffer(body: Body, expr: s.Expr, written: bool) -> ViewType | Kind | None:
    """The type of a buffer: a view of a processor's own array, or a register."""
    found = type_of(body, expr)
    if found is None:
        return None
    symbol = base_symbol(body, expr)
    register = isinstance(expr, s.Name) and symbol is not None and symbol.role is Role.REGISTER
    if symbol is None or not (isinstance(found, ViewType) or register):
        body.report(rules.CLAUSE, f"`{shown(expr)}` is not a buffer: an array, a view or a register", expr.span)
        return None
    if written and not check_writable(body, symbol, expr):
        return None
    return found


def _check_clause(
    body: Body, statement: s.Communicate, keyword: str, clause: s.Clause, buffer: ViewType | Kind | None
) -> None:
    match keyword:
        case "along":
            check_axis(body, clause.values[0])
        case "into":
            target = _buffer(body, clause.values[0], written=True)
            if target is not None and buffer is not None and _element(target) is not _element(buffer):
                message = f"`{shown(clause.values[0])}` holds another kind of number than the buffer"
                body.report(type_rules.WRONG_KIND, message, clause.span)
        case "counts":
            found = type_of(body, clause.values[0])
            if found is not None and found != ViewType(Kind.INT, 1):
                message = f"`{shown(clause.values[0])}` is not an array of int with one dimension"
                body.report(type_rules.WRONG_KIND, message, clause.span)
        case "with" | "using":
            return
        case "to" | "from" if statement.operation in ("send", "receive"):
            for value in clause.values:
                static(body, value, "a coordinate")
            axes = len(body.algorithm.grid)
            if body.distributed and len(clause.values) != axes:
                message = f"the grid has {counted(axes, 'coordinate')}, not {len(clause.values)}"
                body.report(rules.CLAUSE, message, clause.span)
        case _:
            what = "the amount of a shift" if keyword == "by" else "a root"
            if len(clause.values) > 1:
                body.report(rules.CLAUSE, f"{what} is one coordinate along the axis", clause.span)
            for value in clause.values:
                static(body, value, what)


def _element(type_: ViewType | Kind) -> Kind:
    return type_.element if isinstance(type_, ViewType) else type_


def check_axis(body: Body, expr: s.Expr) -> None:
    """Check the axis of `along`."""
    if isinstance(expr, s.Name):
        _known_axis(body, expr.id, expr)
        if body.scope.find(expr.id) is not None:
            type_of(body, expr)


def _known_axis(body: Body, name: str, at: s.Node) -> None:
    axes = [axis.name for axis in body.algorithm.grid] + body.groups
    if name not in axes and body.distributed:
        hint = body.findings.closest(name, axes) or "the axes are " + ", ".join(axes)
        body.report(rules.UNKNOWN_AXIS, f"`{name}` is not an axis of the grid", at.span, hint)


def _check_shift(body: Body, axis: s.Expr, by: s.Expr) -> None:
    if isinstance(axis, s.Name) and _depends(body, by, axis.id):
        message = f"a shift along `{axis.id}` cannot be by an amount that depends on `{axis.id}`"
        body.report(rules.SHIFT_BY, message, by.span)


def _depends(body: Body, expr: s.Expr, axis: str) -> bool:
    """Whether an expression mentions the axis, itself or through `let` names."""
    seen: set[str] = set()
    open_ = [expr]
    while open_:
        names = {leaf.id for leaf in leaves(open_.pop()) if isinstance(leaf, s.Name)} - seen
        seen |= names
        symbols = (body.scope.find(name) for name in names)
        open_.extend(symbol.value for symbol in symbols if symbol is not None and symbol.value is not None)
    return axis in seen


def check_transfer(body: Body, statement: s.Transfer) -> None:
    """Check `input local = global` and `output global = local`."""
    _check_place(body, statement, f"`{statement.direction}`")
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


def _check_sides(body: Body, statement: s.Transfer, target: ViewType | Kind, value: ViewType | Kind) -> None:
    if _element(target) is not _element(value):
        body.report(type_rules.WRONG_KIND, "the two sides hold different kinds of numbers", statement.span)
    elif isinstance(target, ViewType) and isinstance(value, ViewType) and target.rank == value.rank:
        shapes = body.facts.shapes
        for left, right in zip(shapes[statement.target], shapes[statement.value], strict=True):
            agree(body, left, right, statement.value, "the extent is {0} on the left and {1} on the right")
    elif isinstance(target, ViewType) or isinstance(value, ViewType):
        message = "the two sides have different numbers of dimensions"
        body.report(type_rules.SHAPE, message, statement.span)


def check_split(body: Body, statement: s.Split) -> None:
    """Check the header of a split; the caller opens its block and defines the group there."""
    _check_place(body, statement, "`split`")
    _known_axis(body, statement.axis, statement)
    static(body, statement.parts, "the number of parts")


@contextmanager
def split_group(body: Body, statement: s.Split) -> Iterator[None]:
    """Define the group of a split for its block, where P and the axis have other values than outside."""
    body.define(Symbol(statement.group, Role.COORDINATE, Kind.STATIC, statement.span))
    body.groups.append(statement.group)
    body.path.append(Opaque())
    try:
        yield
    finally:
        body.groups.pop()


def define_grid(body: Body) -> None:
    """Put the coordinates of an algorithm's grid in scope."""
    seen: set[str] = set()
    for axis in body.algorithm.grid:
        if axis.name in seen:
            body.report(name_rules.DUPLICATE, f"the grid has two axes called `{axis.name}`", axis.span)
            continue
        seen.add(axis.name)
        body.define(Symbol(axis.name, Role.COORDINATE, Kind.STATIC, axis.span))
