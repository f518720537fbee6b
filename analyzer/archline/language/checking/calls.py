"""Calls of algorithms are checked here: arguments against parameters, and the callee's sizes in terms of the caller."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from archline.expr.tree import Span, substitute_names
from archline.language import call_rules as rules
from archline.language import syntax as s
from archline.language import type_rules
from archline.language.checking.context import BodyContext, CallSite
from archline.language.checking.expressions import (
    check_extern,
    check_scalar,
    check_scalar_argument,
    check_static,
    find_base_symbol,
    infer_type,
)
from archline.language.checking.extents import combine_extents, describe_disagreement, format_short, make_integer
from archline.language.checking.scopes import Role, SymbolEntry
from archline.language.checking.signatures import list_type_expressions, parse_element_kind
from archline.language.diagnostics import Proposal, format_count, make_insertion
from archline.language.model import BoundBy, Kind, Signature, SizeBinding, ViewType, is_buffer
from archline.language.proposals import propose_mode
from archline.records import record

Extents = tuple[s.Expr, ...]


@record(eq=False)
class _CallMatch:
    """A call whose arguments fit the parameters; `extents` has the extents of each array argument, by its number."""

    call: s.Call
    callee: s.Algorithm
    signature: Signature
    extents: dict[int, Extents]


def check_invocation(body: BodyContext, statement: s.Invoke) -> None:
    """Check a statement that calls an algorithm or an extern, or spawns the call."""
    call = statement.call
    algorithm = body.library.visible.get(call.function)
    extern = body.library.externs.get(call.function)
    if algorithm is not None:
        if algorithm.result is not None:
            message = f"the result of `{algorithm.name}` is not used"
            before = f"local t: {algorithm.result} = "
            edits = [] if body.scope.find("t") else [make_insertion(call.span, before)]
            hint: str = Proposal(f"write `{before}{algorithm.name}(...)`", edits, safe=False)
            if statement.spawned:
                message = f"`{algorithm.name}` has a result, so it cannot be spawned"
                hint = "hand the result back through an array of one element"
            body.report(rules.RESULT_PLACE, message, call.span, hint)
        if statement.along:
            check_along(body, statement.along)
        check_call(body, call, algorithm, statement.along)
        check_outputs(body, algorithm, statement.outputs)
    elif extern is not None:
        check_extern(body, call, extern)
        if statement.along:
            body.report(rules.CLAUSE, f"`{extern.name}` does not run on processors of a grid", call.span)
        if statement.spawned or extern.result is not None:
            message = (
                "an extern cannot be spawned" if statement.spawned else f"the value of `{extern.name}` is not used"
            )
            body.report(rules.RESULT_PLACE, message, call.span)
    else:
        infer_type(body, call)


def check_outputs(body: BodyContext, callee: s.Algorithm, places: tuple[s.Name | s.Element, ...]) -> None:
    """Check the registers and elements in which a call stores the callee's scalar `out` and `inout` parameters."""
    for output, place in zip(callee.outputs, places, strict=False):
        kind = check_scalar(body, place)
        symbol = find_base_symbol(body, place) or (body.scope.find(place.id) if isinstance(place, s.Name) else None)
        if kind is None or symbol is None or not check_writable(body, symbol, place):
            continue
        assert isinstance(output.parameter.type, s.ScalarType)
        needed = parse_element_kind(output.parameter.type.element)
        if kind is not needed:
            message = f"`{output.parameter.name}` of `{callee.name}` is {needed.value}, `{format_short(place)}` is not"
            body.report(rules.ARGUMENT_KIND, message, place.span, "pass a place of the same type")


def check_along(body: BodyContext, axes: tuple[s.Name, ...]) -> None:
    """Check the axes of the grid that a call or a collective joins."""
    names_of_axes: set[str] = set()
    for axis in axes:
        if axis.id not in body.axes and body.distributed:
            hint = body.findings.suggest_closest(axis.id, body.axes, axis.span) or "the axes are " + ", ".join(
                body.axes
            )
            body.report(rules.UNKNOWN_AXIS, f"`{axis.id}` is not an axis of the grid", axis.span, hint)
        elif axis.id in names_of_axes:
            body.report(rules.CLAUSE, f"the axis `{axis.id}` is named twice", axis.span)
        elif axis.id in body.axes:
            infer_type(body, axis)
        names_of_axes.add(axis.id)


def check_buffer(body: BodyContext, expr: s.Expr) -> ViewType | Kind | None:
    """Return the type of a buffer of a communication: an array, a view or a register of the processor.

    None if a mistake was reported.
    """
    type_ = infer_type(body, expr)
    if type_ is None or isinstance(type_, ViewType):
        return type_
    symbol = find_base_symbol(body, expr)
    if not isinstance(expr, s.Name) or symbol is None or symbol.role is not Role.REGISTER:
        message, hint = f"`{format_short(expr)}` is not a buffer: an array, a view or a register", None
        if isinstance(expr, s.Element):
            hint = f"a view of this one element is `{format_short(expr)[:-1]} ..+ 1]`"
        body.report(rules.CLAUSE, message, expr.span, hint)
        return None
    return type_


def _check_grid(body: BodyContext, call: s.Call, callee: s.Algorithm, along: tuple[s.Name, ...]) -> None:
    """Check that the callee can run on the caller's processors."""
    if not callee.grid and along:
        message = f"`{callee.name}` runs on one processor, not along axes of a grid"
        body.report(rules.CLAUSE, message, call.span)
    if not callee.grid:
        return
    if not body.distributed:
        message = f"`{callee.name}` runs on a grid of processors, `{body.algorithm.name}` does not"
        body.report(rules.NOT_ON_GRID, message, call.span, "add `on grid(...)` to the caller")
        return
    axes = len(along) or len(body.algorithm.grid)
    if len(callee.grid) not in (1, axes):
        message = f"`{callee.name}` runs on a grid of {len(callee.grid)} axes, not {axes}"
        body.report(rules.CLAUSE, message, call.span)


def check_call(body: BodyContext, call: s.Call, callee: s.Algorithm, along: tuple[s.Name, ...] = ()) -> None:
    """Check the arguments of a call, perhaps along some axes of the grid, and note its target and bindings."""
    signature = body.library.signatures[callee]
    body.facts.targets[call] = callee
    _check_grid(body, call, callee, along)
    if len(call.arguments) != len(signature.parameters):
        count = format_count(len(signature.parameters), "argument")
        message = f"`{callee.name}` takes {count}, not {len(call.arguments)}"
        names = ", ".join(parameter.name for parameter in signature.parameters)
        body.report(rules.ARGUMENT_COUNT, message, call.span, f"it is `{callee.name}({names})`")
        for argument in call.arguments:
            with body.allow_shared_arrays():
                infer_type(body, argument)
        return
    extents: dict[int, Extents] = {}
    fine = True
    for number, (parameter, argument) in enumerate(zip(signature.parameters, call.arguments, strict=True)):
        if not _check_argument(body, call, callee, parameter, argument):
            fine = False
        elif is_buffer(parameter):
            extents[number] = (_multiply_extents(body, body.facts.shapes.get(argument, ()), argument.span),)
        elif argument in body.facts.shapes:
            extents[number] = body.facts.shapes[argument]
    if not fine:
        return
    match = _CallMatch(call, callee, signature, extents)
    bindings = _bind_sizes(body, match)
    if along:
        bindings["P"] = _multiply_extents(
            body, [body.axes[axis.id] for axis in along if axis.id in body.axes], call.span
        )
    body.facts.bindings[call] = bindings
    _check_shapes(body, match, bindings)


def _check_argument(
    body: BodyContext, call: s.Call, callee: s.Algorithm, parameter: s.Parameter, argument: s.Expr
) -> bool:
    """Whether an argument fits its parameter, apart from shapes; report it if not."""
    match parameter.type:
        case s.SizeType() | s.IndexType():
            return check_static(body, argument, f"`{parameter.name}` of `{callee.name}`")
        case s.ScalarType():
            before = len(body.findings.diagnostics)
            kind = check_scalar(body, argument)
            if kind is not None:
                check_scalar_argument(body, call, parameter, argument, kind)
            return len(body.findings.diagnostics) == before and kind is not None
        case s.OperatorType():
            return _check_operator(body, callee, parameter, argument)
        case s.ArrayType() | s.OffsetsType() | s.IndexArrayType():
            pass
    if callee.grid and not parameter.local:
        with body.allow_shared_arrays():
            type_ = infer_type(body, argument)
    else:
        type_ = infer_type(body, argument)
    if type_ is None:
        return False
    declared = _make_parameter_view(parameter)
    if is_buffer(parameter):
        type_ = check_buffer(body, argument)
        if type_ is None:
            return False
        # A buffer is taken in row-major order, for any shape.
        type_ = ViewType(type_.element if isinstance(type_, ViewType) else type_, 1)
    if not isinstance(type_, ViewType):
        message = f"`{parameter.name}` of `{callee.name}` is an array, and `{format_short(argument)}` is a number"
        body.report(rules.ARGUMENT_KIND, message, argument.span, "pass a slice, such as `x[i ..+ 1]`")
        return False
    return _check_array_argument(body, callee, parameter, argument, type_, declared)


def _multiply_extents(body: BodyContext, factors: Iterable[s.Expr], span: Span) -> s.Expr:
    result = make_integer(body.facts, 1, span)
    for factor in factors:
        result = combine_extents(body.facts, "*", result, factor, span)
    return result


def _check_operator(body: BodyContext, callee: s.Algorithm, parameter: s.Parameter, argument: s.Expr) -> bool:
    """Whether an argument is an operator: a parameter that holds one, or the `with` of a collective."""
    type_ = body.facts.types.get(argument)
    if type_ is None and isinstance(argument, s.Name) and body.lookup(argument.id, argument.span) is not None:
        type_ = infer_type(body, argument)
    if type_ is Kind.OPERATOR:
        return True
    message = f"`{parameter.name}` of `{callee.name}` is an operator, `{format_short(argument)}` is not"
    body.report(type_rules.NOT_AN_OPERATOR, message, argument.span)
    return False


def _make_parameter_view(parameter: s.Parameter) -> ViewType:
    match parameter.type:
        case s.ArrayType(element=element, shape=shape, layout=layout):
            return ViewType(parse_element_kind(element), len(shape), layout)
        case s.IndexArrayType(shape=shape):
            return ViewType(Kind.INT, len(shape))
        case s.SizeType() | s.IndexType() | s.ScalarType() | s.OffsetsType() | s.OperatorType():
            return ViewType(Kind.INT, 1)


def _check_array_argument(
    body: BodyContext,
    callee: s.Algorithm,
    parameter: s.Parameter,
    argument: s.Expr,
    view: ViewType,
    declared: ViewType,
) -> bool:
    """Whether the element type, rank, layout and mode of an array argument fit its parameter; report it if not."""
    name = f"`{parameter.name}` of `{callee.name}`"
    if declared.element is not Kind.ANY and view.element is not declared.element:
        message = f"{name} is an array of {declared.element.value}, `{format_short(argument)}` of {view.element.value}"
        body.report(rules.ARGUMENT_KIND, message, argument.span)
        return False
    if view.rank != declared.rank:
        message = f"{name} has {format_count(declared.rank, 'dimension')}, `{format_short(argument)}` has {view.rank}"
        body.report(rules.ARGUMENT_KIND, message, argument.span)
        return False
    if view.rank > 1 and view.layout != declared.layout:
        message = f"{name} is {declared.layout}, `{format_short(argument)}` is {view.layout}"
        body.report(type_rules.LAYOUT, message, argument.span, "copy it to a local of that layout")
        return False
    symbol = find_base_symbol(body, argument)
    if parameter.mode != "in" and symbol is not None and not check_writable(body, symbol, argument):
        return False
    if callee.grid and symbol is not None and parameter.local and symbol.shared:
        return False
    if callee.grid and symbol is not None and not parameter.local and not symbol.shared:
        message = f"{name} is a global array, `{format_short(argument)}` is a processor's own"
        body.report(rules.ARGUMENT_KIND, message, argument.span)
        return False
    return True


def check_writable(body: BodyContext, symbol: SymbolEntry, at: s.Expr) -> bool:
    """Whether an array or register may be written; report it if not."""
    if symbol.writable:
        return True
    origin = symbol.origin or symbol.name
    if symbol.role in (Role.ARRAY, Role.LET) and isinstance(symbol.type, ViewType):
        view = f"`{symbol.name}` views `{origin}`, which" if origin != symbol.name else f"`{origin}`"
        parameter = next((item for item in body.algorithm.parameters if item.name == origin), None)
        hint = f"give it a mode: `{origin}: inout ...`" if symbol.offsets is None else None
        if hint is not None and parameter is not None:
            hint = propose_mode(parameter, "inout", "give it a mode: `{}`")
        body.report(type_rules.READ_ONLY, f"{view} is an `in` array and cannot be written", at.span, hint)
    else:
        message = f"`{symbol.name}` is {symbol.role.described} and keeps its value"
        body.report(type_rules.NOT_ASSIGNABLE, message, at.span, "use a `local` for what changes")
    return False


def _bind_sizes(body: BodyContext, match: _CallMatch) -> dict[str, s.Expr | None]:
    """Return the callee's sizes and indices as expressions of the caller (None if data decides); note the call."""
    bindings: dict[str, s.Expr | None] = {}
    passed: dict[str, s.Expr] = {}
    for binding in match.signature.sizes:
        value = _get_binding_value(body, match, binding)
        if value is not None:
            passed[binding.name] = value
        if value is None or body.facts.types.get(value) is not Kind.STATIC:
            value = _find_other_extent(body, match, binding.name)
        bindings[binding.name] = value
    for number, parameter in enumerate(match.signature.parameters):
        if isinstance(parameter.type, s.IndexType):
            bindings[parameter.name] = match.call.arguments[number]
    integers = frozenset(body.scope.names(lambda symbol: symbol.type in (Kind.INT, Kind.STATIC)))
    path = (*body.path, *body.on_data)
    body.facts.sites.append(CallSite(body.algorithm, match.callee, match.call, path, passed, integers))
    return bindings


def _get_binding_value(body: BodyContext, match: _CallMatch, binding: SizeBinding) -> s.Expr | None:
    """Return the expression of the caller that a binding gives to a size; None for offsets without declared sizes."""
    argument = match.call.arguments[binding.parameter]
    if binding.by is BoundBy.VALUE:
        return argument
    if binding.by is BoundBy.EXTENT:
        extent = match.extents[binding.parameter][binding.dimension]
        if not binding.offset:
            return extent
        op = "-" if binding.offset > 0 else "+"
        return combine_extents(
            body.facts, op, extent, make_integer(body.facts, abs(binding.offset), argument.span), argument.span
        )
    symbol = find_base_symbol(body, argument) if isinstance(argument, s.Name) else None
    offsets = symbol.offsets if symbol is not None else None
    if binding.by is BoundBy.COUNT:
        if offsets is not None:
            return offsets.count
        extent = match.extents[binding.parameter][0]
        return combine_extents(body.facts, "-", extent, make_integer(body.facts, 1, argument.span), argument.span)
    if offsets is None:
        return None
    return offsets.into if binding.by is BoundBy.TOTAL else offsets.longest


def _find_other_extent(body: BodyContext, match: _CallMatch, name: str) -> s.Expr | None:
    """Return a static extent of another argument that must equal the size `name`; None if there is none."""
    for number, extents in match.extents.items():
        entries = _get_declared_extents(match.signature.parameters[number])
        for entry, extent in zip(entries, extents, strict=False):
            if isinstance(entry, s.Name) and entry.id == name and body.facts.types.get(extent) is Kind.STATIC:
                return extent
    return None


def _get_declared_extents(parameter: s.Parameter) -> Extents:
    type_ = parameter.type
    return type_.shape if isinstance(type_, s.IndexArrayType | s.ArrayType) else ()


def _check_shapes(body: BodyContext, match: _CallMatch, bindings: Mapping[str, s.Expr | None]) -> None:
    """Report extents of arguments, and counts and totals of offsets, that differ from those of the parameters."""
    for number, parameter in enumerate(match.signature.parameters):
        argument = match.call.arguments[number]
        for expected, actual, what in _pair_extents(body, match, number):
            difference = describe_disagreement(body, expected, actual, bindings)
            if difference is not None:
                place = f"{what} of `{parameter.name}` of `{match.callee.name}`"
                declared = substitute_names(
                    expected, {name: value for name, value in bindings.items() if value is not None}
                )
                message = (
                    f"{place} is `{format_short(declared)}`; the argument's is `{format_short(actual)}`: {difference}"
                )
                body.report(type_rules.SHAPE, message, argument.span)


def _pair_extents(body: BodyContext, match: _CallMatch, number: int) -> list[tuple[s.Expr, s.Expr, str]]:
    """Return expected and actual extents of one argument, with their names for messages."""
    parameter = match.signature.parameters[number]
    if number not in match.extents:
        return []
    extents = match.extents[number]
    if isinstance(parameter.type, s.OffsetsType):
        argument = match.call.arguments[number]
        symbol = find_base_symbol(body, argument) if isinstance(argument, s.Name) else None
        if symbol is None or symbol.offsets is None:
            return []
        stated = s.Parameter(parameter.name, parameter.mode, parameter.local, symbol.offsets, span=parameter.span)
        pairs = zip(list_type_expressions(parameter), list_type_expressions(stated), strict=False)
        return [(a, b, what) for (a, b), what in zip(pairs, ("the count", "the total"), strict=False)]
    entries = _get_declared_extents(parameter)
    names = ("the extent",) if len(entries) == 1 else tuple(f"extent {k + 1}" for k in range(len(entries)))
    return list(zip(entries, extents, names, strict=True))
