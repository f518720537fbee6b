"""Statements of a body are checked by their kinds."""

from __future__ import annotations

import re

from archline.expr.tree import MAX_DEPTH, Span
from archline.language import call_rules, type_rules
from archline.language import syntax as s
from archline.language.checking.calls import check_invocation, check_outputs, check_writable
from archline.language.checking.communication import (
    check_collective,
    check_message,
    check_split,
    check_transfer,
    define_split_group,
    is_collective,
)
from archline.language.checking.context import BodyContext
from archline.language.checking.contracts import check_metric, make_formula_checker
from archline.language.checking.expressions import (
    KIND_PHRASES,
    can_store,
    check_condition,
    check_integral,
    check_scalar,
    check_static,
    check_step,
    find_base_symbol,
    infer_type,
    is_literal,
)
from archline.language.checking.extents import format_short, require_agreement
from archline.language.checking.points import BoundedVariable, LetDefinition
from archline.language.checking.quotients import (
    expect_integer,
    is_place_of_integers,
    is_result_type_written,
    report_divided_place,
)
from archline.language.checking.scopes import Role, SymbolEntry
from archline.language.checking.signatures import make_array_type, parse_element_kind
from archline.language.diagnostics import Proposal, propose_text
from archline.language.metrics import DECLARABLE
from archline.language.model import ExprType, Kind, ViewType
from archline.language.syntax_rules import TOO_DEEP
from archline.records import replace

_RETURN_HINT = "end every path with `return` and a value"


def check_block(body: BodyContext, statements: tuple[s.Stmt, ...]) -> None:
    """Check the statements of a block, in the scope that the caller opened."""
    for statement in statements:
        check_statement_tree(body, statement)


def check_statement_tree(body: BodyContext, statement: s.Stmt) -> None:
    """Check one statement with the statements inside."""
    match statement:
        case s.Let():
            _check_let(body, statement)
        case s.Local():
            _check_local(body, statement)
        case s.Assign():
            _check_assign(body, statement)
        case s.Invoke():
            check_invocation(body, statement)
        case s.Assume(facts=facts):
            for fact in facts:
                with body.expect_uncounted("`assume`"):
                    _check_assumption(body, fact)
        case s.Costs(amounts=amounts):
            for amount, metric in amounts:
                make_formula_checker(body).check_quantity(amount)
                check_metric(body.findings, metric, DECLARABLE, amount.span)
        case s.Loop():
            _check_loop(body, statement)
        case s.While():
            _check_while(body, statement)
        case s.If():
            _check_if(body, statement)
        case s.Transfer():
            check_transfer(body, statement)
        case s.Communicate():
            if is_collective(statement):
                check_collective(body, statement)
            else:
                check_message(body, statement)
        case s.Split():
            check_split(body, statement)
            with body.block(), define_split_group(body, statement):
                check_block(body, statement.body)
        case s.Return() | s.Exit() | s.Sync() | s.Pass():
            pass


def _check_while(body: BodyContext, loop: s.While) -> None:
    if not loop.tests_last:
        check_condition(body, loop.condition)
    if loop.limit is not None:
        check_static(body, loop.limit, "the bound after `at most`")
    if loop.total is not None and check_static(body, loop.total, "the bound after `at most`"):
        _check_total(body, loop.total)
    with body.block():
        check_block(body, loop.body)
    if loop.tests_last:
        check_condition(body, loop.condition)


def _check_total(body: BodyContext, total: s.Expr) -> None:
    """Check that the bound of all iterations in a call has a value where the call begins."""
    for node in s.find_nodes(total, s.Name):
        symbol = body.scope.find(node.id)
        if symbol is not None and symbol.role not in (Role.SIZE, Role.MACHINE):
            message = f"`in total` counts from the beginning of `{body.algorithm.name}`, where `{node.id}` has no value"
            if symbol.role is not Role.LOOP:
                message = f"a bound `in total` is an expression in sizes, and `{node.id}` is {symbol.role.described}"
            hint = "write it in sizes, or without `in total` for the iterations at each entry"
            body.report(type_rules.WRONG_KIND, message, node.span, hint)
            return


def check_body(body: BodyContext) -> None:
    """Check an algorithm's body: its statements, and the `return` at its end."""
    *rest, last = body.algorithm.body
    result, first = body.algorithm.result, next(s.find_nodes(body.algorithm.body, s.Return), None)
    check_block(body, tuple(rest))
    if not isinstance(last, s.Return):
        check_statement_tree(body, last)
    if result is not None and first is None:
        message = f"`{body.algorithm.name}` has a result of type {result}, but does not end with `return`"
        body.report(call_rules.RETURN, message, body.algorithm.name_span, _RETURN_HINT)
    if not isinstance(last, s.Return):
        # Elaboration has reported another place of a `return`, unless it knows no type for it.
        if result is None and first is not None:
            body.report(call_rules.RETURN, f"the result of `{body.algorithm.name}` is no number", first.span)
        return
    if result is None:
        if check_scalar(body, last.value) is None:
            return
        message = f"`{body.algorithm.name}` has no result to return"
        hint = f"write `algorithm {body.algorithm.name}(...) -> int` or `-> real`"
        body.report(call_rules.RETURN, message, last.span, hint)
    else:
        _check_stored_value(body, last.value, result, f"the result of `{body.algorithm.name}`", _suggest_result(body))
        if result == "int" and is_result_type_written(body.algorithm):
            expect_integer(body, last.value)


def _suggest_result(body: BodyContext) -> Proposal | None:
    """Propose the result type `-> real` in place of `-> int`; None if the header has no such text."""
    name = body.algorithm.name_span
    match = re.search(r"(?<=->)\s*int\b", name.source.lines[name.line - 1])
    if match is None:
        return None
    at = Span(name.source, name.line, match.start() + 1, name.line, match.end() + 1)
    return propose_text(at, " real", "write `-> real`", safe=False)


def _check_stored_value(body: BodyContext, value: s.Expr, element: str, what: str, hint: str | None = None) -> None:
    """Check a value that is stored in a place of an element type; a condition can be stored as a `bool`."""
    if element == "bool" and infer_type(body, value) is Kind.BOOL:
        return
    kind = check_scalar(body, value)
    if kind is not None:
        _check_store(body, value, kind, parse_element_kind(element), what, hint)


def _check_store(
    body: BodyContext, value: s.Expr, kind: Kind, stored: Kind, what: str, hint: str | None = None
) -> None:
    """Check that a number can be stored in a place of a kind."""
    if can_store(body, value, kind, stored):
        return
    kind_text = "an integer" if kind is Kind.STATIC else KIND_PHRASES[kind]
    needed = "an int" if stored is Kind.INT else KIND_PHRASES[stored]
    message = f"{what} is {needed}, and `{format_short(value)}` is {kind_text}"
    body.report(type_rules.WRONG_KIND, message, value.span, hint)


def _suggest_local(statement: s.Let, declared: str) -> str:
    """Propose a declaration in place of `let name`, without an edit if that is not in the source."""
    match, span = re.match(r"let\s+\w+(?=\s*=)", statement.span.text), statement.span
    words = f"write `{declared} = ...`"
    if match is None:
        return words
    return propose_text(
        Span(span.source, span.line, span.column, span.line, span.column + match.end()), declared, words
    )


def _check_let(body: BodyContext, statement: s.Let) -> None:
    with body.expect_integers(integers=True):
        type_ = infer_type(body, statement.value)
    name, span, value = statement.name, statement.span, statement.value
    if isinstance(type_, ViewType):
        base = find_base_symbol(body, value)
        writable = base is not None and base.writable
        shared = base is not None and base.shared
        origin = (base.origin or base.name) if base is not None else None
        shape = _limit_extent_depth(body, value, body.facts.shapes.get(value, ()))
        logical = base is not None and base.logical
        body.define(SymbolEntry(name, Role.LET, type_, span, shape, writable, shared, origin=origin, logical=logical))
        return
    if type_ not in (None, Kind.STATIC):
        message = f"`let` names a size or a view, and `{format_short(value)}` is neither"
        kind = "real" if type_ is Kind.REAL else "int"
        hint = _suggest_local(statement, f"local {name}: {kind}") if type_ is not Kind.BOOL else None
        body.report(type_rules.WRONG_KIND, message, value.span, hint)
    body.define(SymbolEntry(name, Role.LET, Kind.STATIC, span, value=value if type_ is Kind.STATIC else None))
    if type_ is Kind.STATIC:
        body.path.append(LetDefinition(name, value))


def _limit_extent_depth(body: BodyContext, value: s.Expr, shape: tuple[s.Expr, ...]) -> tuple[s.Expr, ...]:
    """Return the extents of a view that a `let` names; report and replace them if nested too deep."""
    if max((body.facts.depth.get(extent, 0) for extent in shape), default=0) <= MAX_DEPTH:
        return shape
    message = f"the extents of this view, in the names of the views it is taken from, nest over {MAX_DEPTH} levels"
    body.report(TOO_DEEP, message, value.span, "take it from an array instead")
    return tuple(s.Name("...", span=extent.span) for extent in shape)


def _check_local(body: BodyContext, statement: s.Local) -> None:
    if statement.when is not None:
        if not body.distributed:
            message = "`local ... when` belongs to algorithms `on grid`"
            body.report(call_rules.NOT_ON_GRID, message, statement.span)
        with body.expect_uncounted("`when`"):
            check_condition(body, statement.when)
    match statement.type:
        case s.ScalarType(element=element):
            stored = parse_element_kind(element)
            if statement.value is not None:
                # A register may start from an element of a global array.
                with body.allow_shared_arrays(), body.expect_integers(integers=stored is Kind.INT):
                    _check_stored_value(body, statement.value, element, f"`{statement.name}`")
            logical = element == "bool"
            symbol = SymbolEntry(statement.name, Role.REGISTER, stored, statement.span, writable=True, logical=logical)
            if stored is Kind.INT and statement.value is not None and is_place_of_integers(body, symbol):
                expect_integer(body, statement.value)
            body.define(symbol)
        case s.ArrayType() as type_:
            _check_local_array(body, statement, type_)
        case _:
            message = f"`{statement.name}` has a type that locals cannot have"
            hint = "a local is a `real`, an `int` or an array of them; `let` names a size"
            body.report(type_rules.WRONG_LOCAL, message, statement.span, hint)
            body.define(SymbolEntry(statement.name, Role.LET, Kind.STATIC, statement.span))


def _check_local_array(body: BodyContext, statement: s.Local, type_: s.ArrayType) -> None:
    for entry in type_.shape:
        check_static(body, entry, "an extent")
    view = make_array_type(body, type_)
    logical = type_.element == "bool"
    symbol = SymbolEntry(statement.name, Role.ARRAY, view, statement.span, type_.shape, writable=True, logical=logical)
    if statement.value is not None:
        with body.allow_shared_arrays():
            value_type = infer_type(body, statement.value)
        _check_copy(body, symbol, view, type_.shape, statement.value, value_type)
    body.define(symbol)


def _check_copy(
    body: BodyContext,
    symbol: SymbolEntry,
    target: ViewType,
    extents: tuple[s.Expr, ...],
    value: s.Expr,
    value_type: ExprType | None,
) -> None:
    """Check an assignment to a whole array or view: a fill with a number, or a copy of another view."""
    if value_type is None:
        return
    if isinstance(value_type, Kind):
        if value_type is Kind.BOOL:
            _check_stored_condition(body, symbol, value)
        else:
            _check_store(body, value, value_type, target.element, f"an element of `{symbol.name}`")
        return
    if value_type.element is not target.element:
        message = (
            f"`{symbol.name}` holds {target.element.value}, `{format_short(value)}` holds {value_type.element.value}"
        )
        body.report(type_rules.WRONG_KIND, message, value.span)
    elif value_type.rank != target.rank:
        message = f"an array of {value_type.rank} dimensions cannot be copied to one of {target.rank}"
        body.report(type_rules.SHAPE, message, value.span)
    else:
        for expected, actual in zip(extents, body.facts.shapes.get(value, ()), strict=False):
            require_agreement(body, expected, actual, value, "the extent is {0} on the left and {1} on the right")


def _check_stored_condition(body: BodyContext, symbol: SymbolEntry, value: s.Expr) -> None:
    """Report a condition that is stored in a name which is not declared as `bool`."""
    if not symbol.logical:
        hint = f"declare `{symbol.name}` as `bool`, or write 1 and 0 in the branches of an `if`"
        body.report(type_rules.CONDITION, f"`{format_short(value)}` is a condition, not a value", value.span, hint)


def _check_assign(body: BodyContext, statement: s.Assign) -> None:
    target, value = statement.target, statement.value
    if isinstance(value, s.Call) and value.function in body.library.visible:
        check_outputs(body, body.library.visible[value.function], statement.outputs)
    value_type = check_scalar(body, value) if statement.op != "=" else infer_type(body, value)
    if isinstance(target, s.Name):
        if value_type is None and body.scope.find(target.id) is None and body.findings.diagnostics:
            # A name without a type is a consequence of the mistake in its value.
            body.is_first_report(target.id)
            return
        body.lookup(target.id, target.span, _advise_integer(body, statement, value_type))
    place = infer_type(body, target)
    if place is None:
        return
    symbol = find_base_symbol(body, target)
    if symbol is None and isinstance(target, s.Name):
        symbol = body.scope.find(target.id)
    if symbol is None:
        body.report(type_rules.NOT_ASSIGNABLE, f"`{format_short(target)}` cannot be assigned", target.span)
        return
    if not check_writable(body, symbol, target) or value_type is None:
        return
    _check_atomic(body, statement, place)
    _check_operator(body, statement)
    if isinstance(place, ViewType):
        if statement.op != "=":
            message = f"`{statement.op}` updates a number; `{format_short(target)}` is an array"
            body.report(type_rules.ARRAY_AS_NUMBER, message, statement.span, "write a loop over the elements")
            return
        _check_copy(body, symbol, place, body.facts.shapes.get(target, ()), value, value_type)
        return
    _check_assigned_number(body, symbol, statement, place, value_type)


def _advise_integer(body: BodyContext, statement: s.Assign, kind: ExprType | None) -> str:
    """Advise how to define an unknown name that is assigned an integer; empty if the value may be a real."""
    value, kinds = statement.value, {kind}
    if isinstance(value, s.Binary) and value.op == "/" and kind is not Kind.REAL:
        kinds = {body.facts.types.get(value.left), body.facts.types.get(value.right)}
        value = replace(value, op="//")
    first = format_short(value) if statement.op == "=" else "0"
    advice = f"define it first, such as `local {format_short(statement.target)}: int = {first}`, or make it a parameter"
    return advice if kinds <= {Kind.INT, Kind.STATIC} else ""


def _check_operator(body: BodyContext, statement: s.Assign) -> None:
    """Check that the `f` of an update `x f= y` is a parameter of type `operator`."""
    name = statement.op[:-1]
    if not name.isidentifier() or name in ("min", "max"):
        return
    symbol = body.lookup(name, statement.span)
    if symbol is not None and symbol.type is not Kind.OPERATOR:
        message = f"`{name}` is {symbol.role.described}, not an operator"
        body.report(type_rules.NOT_AN_OPERATOR, message, statement.span, f"declare it, `{name}: operator`")


def _check_atomic(body: BodyContext, statement: s.Assign, place: ExprType) -> None:
    element = isinstance(statement.target, s.Element) and isinstance(place, Kind)
    if statement.atomic and (statement.op == "=" or not element):
        message = "`atomic` goes with an update, such as `+=`, of one array element"
        hint = "a register takes no `atomic`: a sum over iterations goes to an array, `atomic s[0] += ...`"
        if element:
            hint = (
                f"it reads, modifies and writes, as `{format_short(statement.target)} += ...` does; plain stores race"
            )
        body.report(type_rules.ATOMIC, message, statement.span, hint)


def _check_assigned_number(
    body: BodyContext, symbol: SymbolEntry, statement: s.Assign, place: Kind, value_type: ExprType
) -> None:
    value = statement.value
    if isinstance(value_type, ViewType):
        message = f"`{format_short(statement.target)}` is a number, and `{format_short(value)}` is an array"
        body.report(type_rules.ARRAY_AS_NUMBER, message, value.span)
        return
    if value_type is Kind.BOOL:
        _check_stored_condition(body, symbol, value)
        return
    if statement.op == "/=" and place is Kind.INT and (value_type is not Kind.REAL or is_literal(value)):
        report_divided_place(body, symbol, statement)
        return
    if place is Kind.INT and is_place_of_integers(body, symbol):
        expect_integer(body, value)
    if statement.target.span == value.span:
        # Elaboration stores the values of early returns in a register, which is not written in the program.
        what = f"the result of `{body.algorithm.name}`"
        _check_store(body, value, value_type, place, what, _suggest_result(body))
    else:
        _check_store(body, value, value_type, place, f"`{format_short(statement.target)}`")


def _check_assumption(body: BodyContext, fact: s.Fact) -> None:
    match fact:
        case s.IsPower(value=a, base=b) | s.Divides(divisor=a, value=b):
            check_integral(body, a, "a part of this fact")
            check_integral(body, b, "a part of this fact")
        case s.IsSquare(value=a):
            check_integral(body, a, "a part of this fact")
        case _:
            type_ = infer_type(body, fact)
            if type_ is not None and type_ is not Kind.BOOL:
                message = f"`{format_short(fact)}` is not a fact"
                body.report(call_rules.BAD_FACT, message, fact.span, "compare it with something")
    body.assume(fact)


def _check_loop(body: BodyContext, loop: s.Loop) -> None:
    kinds = [check_integral(body, bound, "a loop's bound") for bound in (loop.lo, loop.hi)]
    if loop.step is not None:
        kinds.append(check_integral(body, loop.step, "a loop's step"))
        check_step(body, loop.step, kinds[-1])
    if loop.reduction is not None:
        _check_reduction(body, loop, loop.reduction)
    with body.block():
        body.define(SymbolEntry(loop.variable, Role.LOOP, Kind.STATIC, loop.span))
        if set(kinds) == {Kind.STATIC}:
            body.path.append(BoundedVariable.of_loop(loop))
        check_block(body, loop.body)


def _check_reduction(body: BodyContext, loop: s.Loop, reduction: s.Reduction) -> None:
    """Check that the body of a loop `with op on register` uses the register only in updates by `op`."""
    name, op = reduction.register.id, reduction.op
    symbol = body.lookup(name, reduction.register.span)
    if symbol is None:
        return
    if symbol.role is not Role.REGISTER or symbol.logical:
        hint = f"declare it before the loop, such as `local {name}: real = 0`"
        body.report(call_rules.CLAUSE, f"`{name}` is not a register for numbers", reduction.register.span, hint)
        return
    updates = [node for node in s.find_nodes(loop.body, s.Assign) if node.op == f"{op}="]
    targets = {node.target for node in updates}
    inner = {node.reduction.register for node in s.find_nodes(loop.body, s.Loop) if node.reduction is not None}
    for node in s.find_nodes(loop.body, s.Name):
        if node.id == name and node not in targets and node not in inner:
            message = f"the iterations only update `{name}`, by `{op}=`: its value is known after the loop"
            body.report(call_rules.CLAUSE, message, node.span, f"write `{name} {op}= ...`, and read it behind the loop")
            return


def _check_if(body: BodyContext, statement: s.If) -> None:
    with body.block():
        for branch in statement.branches:
            if branch.condition is not None:
                check_condition(body, branch.condition)
            with body.block(branch.condition):
                check_block(body, branch.body)
            if branch.condition is not None:
                body.assume(branch.condition, truth=False)
