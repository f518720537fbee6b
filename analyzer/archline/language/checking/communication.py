"""Distributed statements are checked here: exchanges, transfers, splits, calls along axes of the grid, collectives.

`broadcast x along i from r using tree` calls `broadcast_tree(x, r) along i`, so that later stages need only calls and
exchanges. An algorithm of the file itself, or of one that it uses, comes before one of the library.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from archline.language import call_rules as rules
from archline.language import name_rules, type_rules
from archline.language import syntax as s
from archline.language.checking.calls import check_along, check_buffer, check_call, check_writable
from archline.language.checking.context import BodyContext
from archline.language.checking.expressions import check_condition, check_static, find_base_symbol, infer_type
from archline.language.checking.extents import combine_extents, format_short, require_agreement
from archline.language.checking.points import OpaqueFrame
from archline.language.checking.scopes import Role, SymbolEntry
from archline.language.diagnostics import format_count
from archline.language.model import Collective, Kind, ViewType
from archline.records import record

MESSAGE_OPERATIONS = frozenset(("exchange", "send", "receive"))
"""The operations that are one step; all others are collectives."""
_NEEDED_CLAUSES = {"exchange": ("to", "from"), "send": ("to",), "receive": ("from",)}


def check_message(body: BodyContext, statement: s.Communicate) -> None:
    """Check that an exchange, send or receive is in an algorithm on a grid; check its buffers and partners."""
    operation = statement.operation
    check_on_grid(body, statement, f"`{operation}`")
    clauses = collect_clauses(body, statement, _NEEDED_CLAUSES[operation], ("into",) if operation == "exchange" else ())
    sent = None
    if statement.buffer is not None:
        sent = _check_buffer(body, statement.buffer, written=operation == "receive")
    elif operation != "exchange":
        body.report(rules.CLAUSE, f"`{operation}` needs a buffer", statement.span)
    _check_receive_buffer(body, statement, clauses.get("into"), sent)
    for keyword in ("to", "from"):
        if keyword in clauses:
            _check_partner(body, clauses[keyword])


def _check_receive_buffer(
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
    target = _check_buffer(body, into.values[0], written=True)
    if len(into.values) > 1:
        body.report(rules.CLAUSE, "an exchange receives into one buffer", into.span)
    if target is not None and sent is not None and get_buffer_kind(target) is not get_buffer_kind(sent):
        message = f"`{format_short(into.values[0])}` has a different element type than what is sent"
        body.report(type_rules.WRONG_KIND, message, into.span)


def _check_partner(body: BodyContext, clause: s.Clause) -> None:
    for value in clause.values:
        check_static(body, value, "a coordinate")
    if clause.when is not None:
        with body.expect_uncounted("`when`"):
            check_condition(body, clause.when)
    axes = len(body.algorithm.grid)
    if body.distributed and len(clause.values) != axes:
        message = f"the grid has {format_count(axes, 'coordinate')}, not {len(clause.values)}"
        body.report(rules.CLAUSE, message, clause.span)


def check_on_grid(body: BodyContext, at: s.Node, what: str) -> None:
    """Report a distributed statement in an algorithm that runs on one processor; the report calls it `what`."""
    if not body.distributed:
        hint = f"write `algorithm {body.algorithm.name}(...) on grid(r: P):`"
        body.report(rules.NOT_ON_GRID, f"{what} belongs to algorithms `on grid`", at.span, hint)


def collect_clauses(
    body: BodyContext, statement: s.Communicate, needed: tuple[str, ...], optional: tuple[str, ...]
) -> dict[str, s.Clause]:
    """Return a statement's clauses by keyword; report unknown and missing ones."""
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
        if clause.when is not None and statement.operation not in MESSAGE_OPERATIONS:
            body.report(rules.CLAUSE, "all processors of the group take part in a collective", clause.span)
    missing = [keyword for keyword in needed if keyword not in clauses]
    if missing:
        demanded = ", ".join(f"`{keyword} ...`" for keyword in missing)
        hint = "its clauses are " + ", ".join(needed + optional)
        body.report(rules.CLAUSE, f"`{statement.operation}` needs {demanded}", statement.span, hint)
    return clauses


def _check_buffer(body: BodyContext, expr: s.Expr, written: bool) -> ViewType | Kind | None:
    """Return the type of a buffer: a view of a processor's own array, or a register.

    With `written` it must not be read-only. None if a mistake was reported.
    """
    type_ = check_buffer(body, expr)
    symbol = find_base_symbol(body, expr)
    if type_ is None or symbol is None or (written and not check_writable(body, symbol, expr)):
        return None
    return type_


def get_buffer_kind(type_: ViewType | Kind) -> Kind:
    """Return the kind of a buffer's elements."""
    return type_.element if isinstance(type_, ViewType) else type_


def check_transfer(body: BodyContext, statement: s.Transfer) -> None:
    """Check `input local = global` and `output global = local`."""
    check_on_grid(body, statement, f"`{statement.direction}`")
    with body.allow_shared_arrays():
        target, value = infer_type(body, statement.target), infer_type(body, statement.value)
    if statement.when is not None:
        with body.expect_uncounted("`when`"):
            check_condition(body, statement.when)
    if not body.distributed or target is None or value is None:
        return
    sides = (statement.target, statement.value)
    symbols = [find_base_symbol(body, side) for side in sides]
    shared = (False, True) if statement.direction == "input" else (True, False)
    for side, symbol, needed in zip(sides, symbols, shared, strict=True):
        is_private = symbol is None or not symbol.shared
        if symbol is None or is_private is needed:
            kind = "a global array" if needed else "the processor's own"
            message = f"`{format_short(side)}` is not {kind}"
            hint = "write `input own = global[...]` or `output global[...] = own`"
            body.report(rules.SHARED_ARRAY, message, side.span, hint)
            return
    if symbols[0] is not None and check_writable(body, symbols[0], statement.target):
        _check_sides(body, statement, target, value)


def _check_sides(body: BodyContext, statement: s.Transfer, target: ViewType | Kind, value: ViewType | Kind) -> None:
    if get_buffer_kind(target) is not get_buffer_kind(value):
        body.report(type_rules.WRONG_KIND, "the two sides hold different kinds of numbers", statement.span)
    elif isinstance(target, ViewType) and isinstance(value, ViewType) and target.rank == value.rank:
        shapes = body.facts.shapes
        for left, right in zip(shapes[statement.target], shapes[statement.value], strict=True):
            require_agreement(body, left, right, statement.value, "the extent is {0} on the left and {1} on the right")
    elif isinstance(target, ViewType) or isinstance(value, ViewType):
        message = "the two sides have different numbers of dimensions"
        body.report(type_rules.SHAPE, message, statement.span)


def check_split(body: BodyContext, statement: s.Split) -> None:
    """Check the header of a `split`; its block and its group are left to `define_split_group`."""
    check_on_grid(body, statement, "`split`")
    check_along(body, (s.Name(statement.axis, span=statement.span),))
    check_static(body, statement.parts, "the number of parts")


@contextmanager
def define_split_group(body: BodyContext, statement: s.Split) -> Iterator[None]:
    """Define the group of a `split` in its block, where P and the split axis have other values than outside."""
    body.define(SymbolEntry(statement.group, Role.COORDINATE, Kind.STATIC, statement.span))
    before = dict(body.axes)
    if statement.axis in body.axes:
        whole = body.axes[statement.axis]
        body.axes[statement.axis] = combine_extents(body.facts, "//", whole, statement.parts, statement.span)
    body.axes[statement.group] = statement.parts
    body.path.append(OpaqueFrame())
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


COLLECTIVES_MODULE = ("distributed", "collectives")
WITHOUT_COUNTS_SUFFIX = "_into"
"""The suffix after `alltoallv` of algorithms that do not return the counts received: those for `into y` alone."""
REDUCTION_OPERATORS = frozenset(("+", "*", "min", "max"))


@record
class _CollectiveForm:
    """The clauses of a collective, its default algorithm, and the arguments of that.

    An argument is a clause's keyword, or `x` for the buffer. `in_place`: with `into`, the result is made there from a
    copy of the buffer. `unequal` is the algorithm for pieces with `counts`. Without `along` all axes take part.
    """

    needed: tuple[str, ...]
    optional: tuple[str, ...]
    using: str
    arguments: tuple[str, ...]
    in_place: bool = False
    unequal: str = "naive"


_FORMS = {
    "shift": _CollectiveForm(("along", "by"), (), "direct", ("x", "by")),
    "broadcast": _CollectiveForm(("from",), ("along",), "tree", ("x", "from")),
    "reduce": _CollectiveForm(("onto", "with"), ("along", "into"), "tree", ("x", "onto", "with"), True),
    "allreduce": _CollectiveForm(("with",), ("along", "into"), "recursive_doubling", ("x", "with"), True),
    "scan": _CollectiveForm(("with",), ("along", "into"), "recursive_doubling", ("x", "with"), True),
    "gather": _CollectiveForm(("onto", "into"), ("along", "counts"), "tree", ("x", "counts", "into", "onto")),
    "scatter": _CollectiveForm(("from", "into"), ("along", "counts"), "tree", ("x", "counts", "into", "from")),
    "allgather": _CollectiveForm(("into",), ("along", "counts"), "bruck", ("x", "counts", "into"), unequal="ring"),
    "reduce_scatter": _CollectiveForm(
        ("into", "with"), ("along", "counts"), "recursive_halving", ("x", "counts", "into", "with")
    ),
    "alltoall": _CollectiveForm(("into",), ("along", "counts"), "naive", ("x", "counts", "into")),
    "barrier": _CollectiveForm((), ("along",), "dissemination", ()),
}


def is_collective(node: s.Node) -> bool:
    """Whether a node is a collective operation."""
    return isinstance(node, s.Communicate) and node.operation not in MESSAGE_OPERATIONS


def check_collective(body: BodyContext, statement: s.Communicate) -> None:
    """Check a collective operation, and note the call of the algorithm that implements it."""
    operation = statement.operation
    check_on_grid(body, statement, f"`{operation}`")
    form = _FORMS[operation]
    before = len(body.findings.diagnostics)
    clauses = collect_clauses(body, statement, form.needed, (*form.optional, "using"))
    if (statement.buffer is None) != (operation == "barrier"):
        message = "`barrier` takes no buffer" if statement.buffer is not None else f"`{operation}` needs a buffer"
        body.report(rules.CLAUSE, message, statement.span)
    along = clauses["along"].values if "along" in clauses else ()
    names = tuple(axis for axis in along if isinstance(axis, s.Name))
    check_along(body, names)
    _check_clause_values(body, operation, clauses)
    if not body.distributed or len(body.findings.diagnostics) > before:
        return
    callee = _find_implementation(body, statement, form, clauses)
    if callee is None:
        return
    into = clauses["into"].values[0] if form.in_place and "into" in clauses else None
    if into is not None and statement.buffer is not None:
        _check_same_element_kind(body, statement.buffer, into)
    call = s.Call(callee.name, _collect_arguments(statement, form, clauses, into), span=statement.span)
    invoke = s.Invoke(call, False, names, span=statement.span)
    body.facts.collectives[statement] = Collective(invoke, into)
    check_call(body, call, callee, names)


def _check_clause_values(body: BodyContext, operation: str, clauses: dict[str, s.Clause]) -> None:
    """Check that each clause of a collective has one value, that amounts and roots are static, and the operator."""
    for keyword, clause in clauses.items():
        most = 2 if keyword == "into" and "counts" in clauses and operation == "alltoall" else 1
        if keyword != "along" and len(clause.values) > most:
            what = {"by": "the amount of a shift", "from": "a root", "onto": "a root"}.get(keyword, f"`{keyword}`")
            where = " along the axis" if keyword in ("by", "from", "onto") else ""
            body.report(rules.CLAUSE, f"{what} is one value{where}", clause.span)
        elif keyword in ("by", "from", "onto"):
            check_static(body, clause.values[0], "the amount of a shift" if keyword == "by" else "a root")
        elif keyword == "with":
            _check_operator(body, clause.values[0])


def _check_operator(body: BodyContext, operator: s.Expr) -> None:
    assert isinstance(operator, s.Name)
    if operator.id in REDUCTION_OPERATORS:
        body.facts.types[operator] = Kind.OPERATOR
        return
    symbol = body.lookup(operator.id, operator.span, "an operator is `+`, `*`, `min` or `max`, as in `with +`")
    if symbol is not None and symbol.type is not Kind.OPERATOR:
        message = f"`{operator.id}` is {symbol.role.described}, not an operator"
        body.report(type_rules.NOT_AN_OPERATOR, message, operator.span)


def _find_implementation(
    body: BodyContext, statement: s.Communicate, form: _CollectiveForm, clauses: dict[str, s.Clause]
) -> s.Algorithm | None:
    """Find the algorithm that implements a collective, by its `using` clause or the default; report a missing one."""
    using = clauses.get("using")
    named = using.values[0] if using is not None else None
    stem, usual = statement.operation, form.using
    if "counts" in clauses:
        alone = statement.operation == "alltoall" and len(clauses["into"].values) == 1
        stem, usual = f"{stem}v{WITHOUT_COUNTS_SUFFIX * alone}", form.unequal
    name = f"{stem}_{named.id if isinstance(named, s.Name) else usual}"
    library = body.library
    # `reduce_scatter_ring` is not an algorithm of `reduce`.
    stems = (f"{operation}{v}_" for operation in _FORMS for v in ("", "v", f"v{WITHOUT_COUNTS_SUFFIX}"))
    longer = tuple(item for item in stems if item.startswith(f"{stem}_") and item != f"{stem}_")
    callees = {**library.collectives, **library.visible}
    callees = {item: callees[item] for item in callees if item.startswith(f"{stem}_") and not item.startswith(longer)}
    callee = callees.get(name)
    if callee is None and library.complete:
        methods = ", ".join(f"`using {algorithm.removeprefix(f'{stem}_')}`" for algorithm in callees)
        message = f"`{statement.operation}` has no algorithm `{name}`"
        span = named.span if named is not None else statement.span
        body.report(name_rules.UNKNOWN_FUNCTION, message, span, f"it has {methods}" if methods else None)
    return callee


def _check_same_element_kind(body: BodyContext, source: s.Expr, into: s.Expr) -> None:
    """Check that the buffer and the array of the result hold the same kind of number, for a copy between them."""
    source_type, result_type = check_buffer(body, source), check_buffer(body, into)
    if (
        source_type is not None
        and result_type is not None
        and get_buffer_kind(source_type) is not get_buffer_kind(result_type)
    ):
        message = f"`{format_short(into)}` holds another kind of number than `{format_short(source)}`"
        body.report(type_rules.WRONG_KIND, message, into.span)


def _collect_arguments(
    statement: s.Communicate, form: _CollectiveForm, clauses: dict[str, s.Clause], into: s.Expr | None
) -> tuple[s.Expr, ...]:
    arguments: list[s.Expr] = []
    for keyword in form.arguments:
        if keyword == "x":
            buffer = into if into is not None else statement.buffer
            assert buffer is not None
            arguments.append(buffer)
        elif keyword in clauses:
            arguments.append(clauses[keyword].values[0])
    if statement.operation == "alltoall" and "counts" in clauses:
        arguments += clauses["into"].values[1:]
    return tuple(arguments)
