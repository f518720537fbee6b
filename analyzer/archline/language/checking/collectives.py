"""Collective operations: each is a call of the algorithm of `distributed.collectives` that it is written `using`.

`broadcast x along i from r using tree` calls `broadcast_tree(x, r) along i`, so that no later stage knows more than
calls and exchanges. An algorithm of the file itself, or of one that it uses, comes before one of the library.
"""

from __future__ import annotations

from archline.language import call_rules as rules
from archline.language import name_rules, type_rules
from archline.language import syntax as s
from archline.language.checking.calls import buffer_of, check_along, check_call
from archline.language.checking.communication import MESSAGES, check_place, clauses_of, element_of
from archline.language.checking.context import BodyContext
from archline.language.checking.expressions import static
from archline.language.checking.extents import shown
from archline.language.model import Collective, Kind
from archline.records import record

MODULE = ("distributed", "collectives")
UNASKED = "_into"
"""What the names of all-to-alls have behind `alltoallv` that do not give the counts that arrive: `into y` alone."""
OPERATORS = frozenset(("+", "*", "min", "max"))


@record
class _Form:
    """The clauses of an operation, its algorithm where none is named, and the arguments that it is given.

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
    "shift": _Form(("along", "by"), (), "direct", ("x", "by")),
    "broadcast": _Form(("from",), ("along",), "tree", ("x", "from")),
    "reduce": _Form(("onto", "with"), ("along", "into"), "tree", ("x", "onto", "with"), True),
    "allreduce": _Form(("with",), ("along", "into"), "recursive_doubling", ("x", "with"), True),
    "scan": _Form(("with",), ("along", "into"), "recursive_doubling", ("x", "with"), True),
    "gather": _Form(("onto", "into"), ("along", "counts"), "tree", ("x", "counts", "into", "onto")),
    "scatter": _Form(("from", "into"), ("along", "counts"), "tree", ("x", "counts", "into", "from")),
    "allgather": _Form(("into",), ("along", "counts"), "bruck", ("x", "counts", "into"), unequal="ring"),
    "reduce_scatter": _Form(
        ("into", "with"), ("along", "counts"), "recursive_halving", ("x", "counts", "into", "with")
    ),
    "alltoall": _Form(("into",), ("along", "counts"), "naive", ("x", "counts", "into")),
    "barrier": _Form((), ("along",), "dissemination", ()),
}


def needs_collectives(node: s.Node) -> bool:
    """Whether a node is a collective operation."""
    return isinstance(node, s.Communicate) and node.operation not in MESSAGES


def check_collective(body: BodyContext, statement: s.Communicate) -> None:
    """Check a collective operation, and note the call that it stands for."""
    operation = statement.operation
    check_place(body, statement, f"`{operation}`")
    form = _FORMS[operation]
    before = len(body.findings.diagnostics)
    clauses = clauses_of(body, statement, form.needed, (*form.optional, "using"))
    if (statement.buffer is None) != (operation == "barrier"):
        message = "`barrier` takes no buffer" if statement.buffer is not None else f"`{operation}` needs a buffer"
        body.report(rules.CLAUSE, message, statement.span)
    along = clauses["along"].values if "along" in clauses else ()
    names = tuple(each for each in along if isinstance(each, s.Name))
    check_along(body, names)
    _check_values(body, operation, clauses)
    if not body.distributed or len(body.findings.diagnostics) > before:
        return
    callee = _callee(body, statement, form, clauses)
    if callee is None:
        return
    into = clauses["into"].values[0] if form.in_place and "into" in clauses else None
    if into is not None and statement.buffer is not None:
        _check_copied(body, statement.buffer, into)
    call = s.Call(callee.name, _arguments(statement, form, clauses, into), span=statement.span)
    invoke = s.Invoke(call, False, names, span=statement.span)
    body.facts.collectives[statement] = Collective(invoke, into)
    check_call(body, call, callee, names)


def _check_values(body: BodyContext, operation: str, clauses: dict[str, s.Clause]) -> None:
    """Check what a later check of the call would not: one value where one is meant, an operator."""
    for keyword, clause in clauses.items():
        most = 2 if keyword == "into" and "counts" in clauses and operation == "alltoall" else 1
        if keyword != "along" and len(clause.values) > most:
            what = {"by": "the amount of a shift", "from": "a root", "onto": "a root"}.get(keyword, f"`{keyword}`")
            where = " along the axis" if keyword in ("by", "from", "onto") else ""
            body.report(rules.CLAUSE, f"{what} is one value{where}", clause.span)
        elif keyword in ("by", "from", "onto"):
            static(body, clause.values[0], "the amount of a shift" if keyword == "by" else "a root")
        elif keyword == "with":
            _check_operator(body, clause.values[0])


def _check_operator(body: BodyContext, operator: s.Expr) -> None:
    assert isinstance(operator, s.Name)
    if operator.id in OPERATORS:
        body.facts.types[operator] = Kind.OPERATOR
        return
    symbol = body.lookup(operator.id, operator.span, "an operator is `+`, `*`, `min` or `max`, as in `with +`")
    if symbol is not None and symbol.type is not Kind.OPERATOR:
        message = f"`{operator.id}` is {symbol.role.described}, not an operator"
        body.report(type_rules.NOT_AN_OPERATOR, message, operator.span)


def _callee(
    body: BodyContext, statement: s.Communicate, form: _Form, clauses: dict[str, s.Clause]
) -> s.Algorithm | None:
    using = clauses.get("using")
    named = using.values[0] if using is not None else None
    stem, usual = statement.operation, form.using
    if "counts" in clauses:
        alone = statement.operation == "alltoall" and len(clauses["into"].values) == 1
        stem, usual = f"{stem}v{UNASKED * alone}", form.unequal
    name = f"{stem}_{named.id if isinstance(named, s.Name) else usual}"
    library = body.library
    # `reduce_scatter_ring` is no algorithm of `reduce`.
    stems = (f"{each}{v}_" for each in _FORMS for v in ("", "v", f"v{UNASKED}"))
    longer = tuple(each for each in stems if each.startswith(f"{stem}_") and each != f"{stem}_")
    known = {**library.collectives, **library.visible}
    known = {each: known[each] for each in known if each.startswith(f"{stem}_") and not each.startswith(longer)}
    found = known.get(name)
    if found is None and library.complete:
        methods = ", ".join(f"`using {each.removeprefix(f'{stem}_')}`" for each in known)
        message = f"`{statement.operation}` has no algorithm `{name}`"
        span = named.span if named is not None else statement.span
        body.report(name_rules.UNKNOWN_FUNCTION, message, span, f"it has {methods}" if methods else None)
    return found


def _check_copied(body: BodyContext, source: s.Expr, into: s.Expr) -> None:
    """Check that the buffer can be copied to where the result is made."""
    given, made = buffer_of(body, source), buffer_of(body, into)
    if given is not None and made is not None and element_of(given) is not element_of(made):
        message = f"`{shown(into)}` holds another kind of number than `{shown(source)}`"
        body.report(type_rules.WRONG_KIND, message, into.span)


def _arguments(
    statement: s.Communicate, form: _Form, clauses: dict[str, s.Clause], into: s.Expr | None
) -> tuple[s.Expr, ...]:
    found: list[s.Expr] = []
    for keyword in form.arguments:
        if keyword == "x":
            buffer = into if into is not None else statement.buffer
            assert buffer is not None
            found.append(buffer)
        elif keyword in clauses:
            found.append(clauses[keyword].values[0])
    if statement.operation == "alltoall" and "counts" in clauses:
        found += clauses["into"].values[1:]
    return tuple(found)
