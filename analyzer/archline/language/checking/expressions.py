"""Types of expressions in bodies are checked here: which kinds mix, elements and views."""

from __future__ import annotations

from archline.expr.text import format_expression
from archline.language import call_rules
from archline.language import name_rules as names
from archline.language import syntax as s
from archline.language import type_rules as rules
from archline.language.checking.context import BodyContext
from archline.language.checking.extents import build_slice_length, combine_extents, format_short, require_agreement
from archline.language.checking.quotients import expect_integer, report_quotient
from archline.language.checking.scopes import Role, SymbolEntry, suggest_static_form
from archline.language.checking.signatures import parse_element_kind
from archline.language.collective_calls import COLLECTIVES, OPERATOR_WORDS, suggest_collective
from archline.language.diagnostics import Edit, Proposal, find_in_span, format_count, propose_text
from archline.language.mistakes import FOREIGN_FUNCTIONS, FOREIGN_METHODS, REDUCTIONS
from archline.language.model import ExprType, Kind, ViewType
from archline.language.proposals import find_library_module, propose_definition, propose_expression
from archline.language.rearranging import ARRAY_RESULT, suggest_array_result
from archline.language.words import BIT_FUNCTIONS, INTRINSICS
from archline.records import replace

COMPARISONS = frozenset(("==", "!=", "<", "<=", ">", ">="))
_INTEGER_HINT = "declare the data as integers: `int`, or `index[n] below m` for an array of subscripts"
_KIND_ORDER = {Kind.STATIC: 0, Kind.INT: 1, Kind.REAL: 2}
KIND_PHRASES = {
    Kind.STATIC: "an integer known to the analysis",
    Kind.INT: "int data",
    Kind.REAL: "a real",
    Kind.ANY: "an element of any type",
}


def infer_type(body: BodyContext, expr: s.Expr) -> ExprType | None:
    """Return and note the type of an expression; None if a mistake was reported."""
    type_ = _infer_type(body, expr)
    if type_ is not None:
        body.facts.types[expr] = type_
    return type_


def check_scalar(body: BodyContext, expr: s.Expr) -> Kind | None:
    """Return the kind of an expression that must be a number; None if a mistake was reported."""
    type_ = infer_type(body, expr)
    what = f"`{format_short(expr)}` is {{}}, where a number is expected"
    if isinstance(type_, ViewType) and isinstance(expr, s.Element) and (left_out := _count_left_out(expr)):
        _report_rank(body, expr, len(expr.subscripts) - left_out, len(expr.subscripts))
        return None
    if isinstance(type_, ViewType):
        body.report(rules.ARRAY_AS_NUMBER, what.format("an array"), expr.span, "write a loop over the elements")
        return None
    if type_ is Kind.BOOL:
        body.report(rules.CONDITION, what.format("a condition"), expr.span)
        return None
    if type_ is Kind.OPERATOR:
        hint = f"an update with it is written `x[i] {format_short(expr)}= y[i]`"
        body.report(rules.WRONG_KIND, what.format("an operator"), expr.span, hint)
        return None
    return type_


def check_number(body: BodyContext, expr: s.Expr) -> Kind | None:
    """Return the kind of a number to compute with; None if a mistake was reported, such as an element of `any[w]`."""
    kind = check_scalar(body, expr)
    if kind is not Kind.ANY:
        return kind
    message = f"`{format_short(expr)}` is an element of any type, which is copied, sent and updated by an operator only"
    body.report(rules.WRONG_KIND, message, expr.span)
    return None


def check_condition(body: BodyContext, expr: s.Expr) -> None:
    """Check an expression that must be a condition."""
    type_ = infer_type(body, expr)
    if type_ is None or type_ is Kind.BOOL or (type_ in (Kind.INT, Kind.STATIC) and is_logical(body, expr)):
        return
    hint: str = "compare it with something"
    message = f"`{format_short(expr)}` is not a condition"
    if type_ in (Kind.INT, Kind.STATIC):
        message = f"`{format_short(expr)}` is {KIND_PHRASES[type_]}, not a condition"
        hint = propose_text(expr.span, f"{expr.span.text} != 0")
    body.report(rules.CONDITION, message, expr.span, hint)


def is_logical(body: BodyContext, expr: s.Expr) -> bool:
    """Whether an integer can be a condition: it is declared as `bool`, or is a literal 0 or 1."""
    match expr:
        case s.Integer(value=value):
            return value in (0, 1)
        case s.Name(id=name) | s.Element(array=name):
            symbol = body.scope.find(name)
            return symbol is not None and symbol.logical
        case s.Call():
            target = body.facts.targets.get(expr)
            return target is not None and target.result == "bool"
        case _:
            return False


def check_integral(body: BodyContext, expr: s.Expr, what: str) -> Kind | None:
    """Return the kind of an expression that must be an integer, static or data.

    None if a mistake was reported, in which `what` names the expression.
    """
    with body.expect_integers(integers=True):
        kind = check_number(body, expr)
    expect_integer(body, expr)
    if kind is Kind.REAL:
        body.report(
            rules.WRONG_KIND, f"{what} is an integer, and `{format_short(expr)}` is a real", expr.span, _INTEGER_HINT
        )
        return None
    return kind


def check_static(body: BodyContext, expr: s.Expr, what: str) -> bool:
    """Check an expression that must be an integer known to the analysis; `what` names it."""
    with body.expect_integers(integers=True):
        kind = check_number(body, expr)
    expect_integer(body, expr)
    if kind in (Kind.INT, Kind.REAL):
        data = "int data" if kind is Kind.INT else "a real"
        message = f"{what} is an integer known to the analysis, and `{format_short(expr)}` is {data}"
        hint = suggest_static_form(expr, body.algorithm, body.facts.types) if kind is Kind.INT else None
        body.report(rules.WRONG_KIND, message, expr.span, hint or "pass it as a parameter of type `size` or `index`")
    return kind is Kind.STATIC


def can_store(body: BodyContext, expr: s.Expr, kind: Kind, expected: Kind) -> bool:
    """Whether a number of a kind can be stored as another kind. A literal takes the expected kind."""
    if is_literal(expr) and expected is not Kind.ANY:
        record_literal_kind(body, expr, expected)
        return True
    if expected is Kind.REAL and kind in (Kind.STATIC, Kind.INT):
        convert_to_real(body, expr)
        return True
    return kind is expected or (kind is Kind.STATIC and expected is Kind.INT)


def convert_to_real(body: BodyContext, expr: s.Expr) -> None:
    """Convert an integer where a real is expected, which is free; quotients, roots and logarithms become real."""
    if is_literal(expr):
        record_literal_kind(body, expr, Kind.REAL)
    elif _has_division(expr):
        body.facts.types[expr] = Kind.REAL
        for part in _list_converted_operands(expr):
            convert_to_real(body, part)


def _has_division(expr: s.Expr) -> bool:
    """Whether an integer expression has a quotient, root or logarithm, whose real value need not be an integer."""
    match expr:
        case s.Binary(op="/") | s.Call(function="sqrt" | "log2"):
            return True
        case _:
            return any(map(_has_division, _list_converted_operands(expr)))


def _list_converted_operands(expr: s.Expr) -> tuple[s.Expr, ...]:
    """Return the operands that become real if the value does: neither exponents nor arguments of roundings."""
    match expr:
        case s.Unary(operand=operand):
            return (operand,)
        case s.Binary(op="^", left=base):
            return (base,)
        case s.Binary(op="+" | "-" | "*" | "/", left=left, right=right):
            return left, right
        case s.Call(function="sqrt" | "log2" | "min" | "max" | "abs", arguments=arguments):
            return arguments
        case _:
            return ()


def is_literal(expr: s.Expr) -> bool:
    """Whether an expression is an integer literal or `inf`, perhaps with a sign, whose kind its context decides."""
    match expr:
        case s.Integer() | s.Real(text="inf"):
            return True
        case s.Unary(op="-", operand=operand):
            return is_literal(operand)
        case _:
            return False


def record_literal_kind(body: BodyContext, expr: s.Expr, kind: Kind) -> None:
    """Record the kind of a literal, which is that of the other operands of its operation."""
    body.facts.types[expr] = kind
    if isinstance(expr, s.Unary):
        record_literal_kind(body, expr.operand, kind)


def _infer_type(body: BodyContext, expr: s.Expr) -> ExprType | None:
    match expr:
        case s.Integer():
            return Kind.STATIC
        case s.Real(text=text):
            return Kind.INT if text == "inf" else Kind.REAL
        case s.Reached():
            return Kind.BOOL
        case s.Binary(op="@"):
            body.report(
                rules.SHAPE, "`@` multiplies arrays in statements that set one", expr.span, _suggest_product(body, expr)
            )
            return None
        case s.Name(id="pi"):
            return Kind.REAL
        case s.Name():
            return _check_name(body, expr)
        case s.Unary(op="not", operand=operand):
            check_condition(body, operand)
            return Kind.BOOL
        case s.Unary(operand=operand):
            return check_number(body, operand)
        case s.Binary(op="and" | "or", left=left, right=right):
            check_condition(body, left)
            check_condition(body, right)
            return Kind.BOOL
        case s.Binary():
            return _check_binary(body, expr)
        case s.Call():
            return _check_call(body, expr)
        case s.Element():
            return _check_element(body, expr)
        case s.Reshape():
            return _check_reshape(body, expr)


def _check_name(body: BodyContext, expr: s.Name) -> ExprType | None:
    symbol = body.lookup(expr.id, expr.span)
    if symbol is None:
        return None
    if isinstance(symbol.type, ViewType):
        _check_sharing(body, symbol, expr)
        body.facts.shapes[expr] = symbol.shape
    return symbol.type


def _check_sharing(body: BodyContext, symbol: SymbolEntry, expr: s.Expr) -> None:
    if symbol.shared and not body.sharing:
        message = f"a processor cannot use the global array `{symbol.name}` here"
        hint = "bring its part in with `local ... = ...` or `input`, and out with `output`"
        body.report(call_rules.SHARED_ARRAY, message, expr.span, hint)


def _check_binary(body: BodyContext, expr: s.Binary) -> Kind | None:
    left, right = check_number(body, expr.left), check_number(body, expr.right)
    if left is None or right is None:
        return Kind.BOOL if expr.op in COMPARISONS else None
    if expr.op == "^":
        return _check_power(body, expr, left, right)
    kind = unify_kinds(body, [expr.left, expr.right], [left, right])
    if kind is None:
        return Kind.BOOL if expr.op in COMPARISONS else None
    if expr.op in COMPARISONS:
        return Kind.BOOL
    if expr.op == "/" and kind is Kind.INT:
        report_quotient(body, expr)
        # The kind is that of the operation that rounds.
        return kind
    if expr.op in ("//", "%"):
        expect_integer(body, expr)
    if expr.op in ("//", "%") and kind is Kind.REAL:
        hint = "write `a - b*floor(a / b)`"
        if expr.op == "//":
            quotient = s.Call("floor", (replace(expr, op="/"),), span=expr.span)
            hint = propose_expression(expr, format_expression(quotient))
        body.report(rules.INTEGER_OPERATOR, f"`{expr.op}` on reals", expr.span, hint)
        return None
    return kind


def _check_power(body: BodyContext, expr: s.Binary, base: Kind, exponent: Kind) -> Kind | None:
    changes_nothing = base is Kind.INT and isinstance(expr.right, s.Integer) and expr.right.value == 1
    if exponent is Kind.STATIC and not changes_nothing:
        return base
    message = f"the exponent `{format_short(expr.right)}` is {KIND_PHRASES[exponent]}"
    hint: str = "an exponent is a literal or in sizes"
    words = f"{hint}; for the exclusive or write `{{}}`"
    if changes_nothing:
        message, words = "the power 1 changes nothing", "for the exclusive or write `{}`"
    if changes_nothing or (exponent is Kind.INT and base is not Kind.REAL):
        exclusive_or = f"xor({expr.left.span.text}, {expr.right.span.text})"
        hint = propose_text(expr.span, exclusive_or, words, safe=False)
    body.report(rules.EXPONENT, message, expr.right.span, hint)
    return None


def unify_kinds(body: BodyContext, operands: list[s.Expr], kinds: list[Kind]) -> Kind:
    """Return the kind of an operation on numbers; integer literals take the kind of the other operands."""
    fixed = [kind for operand, kind in zip(operands, kinds, strict=True) if not is_literal(operand)]
    common = max(fixed, key=_KIND_ORDER.__getitem__, default=Kind.STATIC)
    for operand, kind in zip(operands, kinds, strict=True):
        if is_literal(operand):
            record_literal_kind(body, operand, common)
        elif common is Kind.REAL and kind is not Kind.REAL:
            convert_to_real(body, operand)
    return common


def _check_call(body: BodyContext, expr: s.Call) -> ExprType | None:
    library = body.library
    if expr.function in INTRINSICS:
        return _check_intrinsic(body, expr)
    extern, algorithm = library.externs.get(expr.function), library.visible.get(expr.function)
    if extern is not None and (result := check_extern(body, expr, extern)) is not None:
        return result
    if extern is None and algorithm is not None:
        body.check_call(body, expr, algorithm)
        if algorithm.grid and algorithm.result is not None:
            message = f"`{algorithm.name}` runs on a grid, and hands no result back"
            body.report(
                call_rules.RESULT_PLACE, message, expr.span, "hand it back through a local array of one element"
            )
        if body.free:
            message = f"{body.free} costs nothing, so it cannot call the algorithm `{expr.function}`"
            body.report(call_rules.RESULT_PLACE, message, expr.span, "store the result in a `local` before it")
        if algorithm.result is not None:
            return parse_element_kind(algorithm.result)
    if extern is not None or algorithm is not None:
        body.report(call_rules.NO_RESULT, f"`{expr.function}` has no result", expr.span, "call it as a statement")
        return None
    # The operator of a collective is no value.
    operands = [
        argument
        for argument in expr.arguments
        if not (expr.function in COLLECTIVES and isinstance(argument, s.Name) and argument.id in OPERATOR_WORDS)
    ]
    types = [infer_type(body, argument) for argument in operands]
    if expr.function not in REDUCTIONS or None not in types:
        report_unknown_function(body, expr)
    return None


def report_unknown_function(body: BodyContext, call: s.Call) -> None:
    """Report a call of an undefined function, unless text that could not be read may define it."""
    library = body.library
    if call.function in library.lost or not library.complete or not body.is_first_report(f"{call.function}()"):
        return
    hint = FOREIGN_FUNCTIONS.get(call.function)
    if call.function in COLLECTIVES:
        hint = suggest_collective(call.span.source, call.span.line)
    if call.function == "print" and any(item.call is call for item in s.find_nodes(body.algorithm.body, s.Invoke)):
        hint = propose_text(call.span, "pass", f"{hint}: write `{{}}`")
    counts = {name: len(algorithm.header) for name, algorithm in library.visible.items()}
    counts |= {name: len(extern.parameters) for name, extern in library.externs.items()}
    # An array that an algorithm sets may be left out.
    passed = len(call.arguments)
    candidates = [name for name, number in counts.items() if number in (passed, passed + 1)]
    candidates += [name for name, arity in INTRINSICS.items() if arity == passed or (arity is None and passed > 1)]
    hint = hint or _suggest_sorting(body, call) or _suggest_operation(body, call)
    if find_library_module(call.function) is None:
        hint = hint or body.findings.suggest_closest(call.function, candidates, call.span)
    if hint is None and body.scope.find(call.function) is not None:
        hint = f"a product is written `*`, an element `{call.function}[...]`"
    hint = hint or _suggest_definition(body, call)
    body.report(names.UNKNOWN_FUNCTION, f"unknown function or algorithm `{call.function}`", call.span, hint)


def _suggest_operation(body: BodyContext, call: s.Call) -> str | None:
    """Return the hint for an operation on lists, such as `x.append(e)`, that arrays do not have; else None."""
    operation = FOREIGN_METHODS.get(call.function, call.function)
    if operation not in FOREIGN_METHODS.values():
        return None
    if operation in body.library.visible and (at := find_in_span(call.span, call.function)) is not None:
        return propose_text(at, operation)
    first = infer_type(body, call.arguments[0]) if call.arguments else None
    name = format_short(call.arguments[0]) if isinstance(first, ViewType) else "x"
    if operation == "push":
        return (
            f"an array does not grow: count its elements, `{name}[count] = ...` and `count += 1`, or take a `queue` "
            "or a `stack` of the library"
        )
    return f"an array has no operation `{call.function}`: take a `queue` or a `stack` of the library"


def _suggest_sorting(body: BodyContext, call: s.Call) -> str | None:
    """Propose the library's `sort`, which changes its argument, for `y = sorted(x)`; None for other calls."""
    if call.function != "sorted" or len(call.arguments) != 1:
        return None
    words = "the library's `sort` sorts an array in its place: `use sort.sort`, then `sort(x)` for x or a copy"
    program, (argument,) = body.library.program, call.arguments
    for store in s.find_nodes(body.algorithm.body, s.Assign):
        if store.value is not call or not isinstance(argument, s.Name) or store.op != "=":
            continue
        target = format_short(store.target).removesuffix("[:]")
        if not target.isidentifier():
            continue
        copy = "" if target == argument.id else f"{target}[:] = {argument.id}; "
        edits = [Edit(store.span, f"{copy}sort({target})")]
        if "sort" not in body.library.visible:
            edits = [*propose_definition(program, "use sort.sort", "").edits, *edits]
        type_ = infer_type(body, argument)
        return Proposal(words, edits, safe=isinstance(type_, ViewType) and type_.element is Kind.REAL)
    return words


def _suggest_definition(body: BodyContext, call: s.Call) -> str:
    """Propose to use the library's algorithm of this name, or to declare an `extern` for a call."""
    module = find_library_module(call.function)
    if module is not None:
        return propose_definition(body.library.program, f"use {module}", "write `{}`")
    parameters, extents = [], iter("nmpqrs")
    for letter, argument in zip("abcdefgh", call.arguments, strict=False):
        type_ = infer_type(body, argument)
        name = argument.id if isinstance(argument, s.Name) and argument.id.isidentifier() else letter
        if isinstance(type_, ViewType):
            shape = ", ".join(next(extents, "n") for _ in range(type_.rank))
            parameters.append(f"{name}: {type_.element.value}[{shape}]")
        else:
            parameters.append(f"{name}: {'real' if type_ is Kind.REAL else 'int'}")
    called = any(statement.call is call for statement in s.find_nodes(body.algorithm.body, s.Invoke))
    if any("[" in parameter for parameter in parameters):
        # An extern is a function of numbers.
        header = f"algorithm {call.function}({', '.join(parameters)})"
        return f"write `{header}`"
    result = "" if called else f" -> {'int' if _is_used_as_integer(body, call) else 'real'}"
    declared = f"extern {call.function}({', '.join(parameters)}){result} costs 1 work"
    return propose_definition(body.library.program, declared, "write an algorithm of this name, or declare `{}`")


def _is_used_as_integer(body: BodyContext, call: s.Call) -> bool:
    """Whether the value of a call is used as an integer: in a subscript, by `%`, or stored in an integer."""

    def is_integer(place: s.Node) -> bool:
        symbol = find_base_symbol(body, place)  # type: ignore[arg-type]
        kind = (
            symbol.type.element if symbol is not None and isinstance(symbol.type, ViewType) else symbol and symbol.type
        )
        return kind is Kind.INT

    for node in s.iterate_nodes(body.algorithm.body):
        match node:
            case s.Element(subscripts=subscripts) if any(part is call for part in s.iterate_nodes(subscripts)):
                return True
            case s.Binary(op="//" | "%", left=left, right=right) if call in (left, right):
                return True
            case s.Binary(op=op, left=left, right=right) if op in COMPARISONS and call in (left, right):
                return is_integer(right if left is call else left)
            case s.Assign(target=target, value=value) if any(part is call for part in s.iterate_nodes(value)):
                return is_integer(target)
            case s.Local(type=s.ScalarType(element="int"), value=value) if any(
                part is call for part in s.iterate_nodes(value)
            ):
                return True
            case _:
                # Other nodes tell nothing of the call's type.
                pass
    return False


def check_extern(body: BodyContext, call: s.Call, extern: s.Extern) -> Kind | None:
    """Check a call of an extern; return its result's kind, None if it has no result."""
    body.facts.targets[call] = extern
    if len(call.arguments) != len(extern.parameters):
        message = f"`{extern.name}` takes {format_count(len(extern.parameters), 'argument')}, not {len(call.arguments)}"
        body.report(call_rules.ARGUMENT_COUNT, message, call.span)
    for parameter, argument in zip(extern.parameters, call.arguments, strict=False):
        kind = check_scalar(body, argument)
        if kind is not None and isinstance(parameter.type, s.ScalarType):
            check_scalar_argument(body, call, parameter, argument, kind)
    if extern.result is None:
        return None
    return Kind.REAL if extern.result == "real" else Kind.INT


def check_scalar_argument(
    body: BodyContext, call: s.Call, parameter: s.Parameter, argument: s.Expr, kind: Kind
) -> None:
    """Check a number passed to a parameter of type `real` or `int`."""
    expected = Kind.REAL if isinstance(parameter.type, s.ScalarType) and parameter.type.element == "real" else Kind.INT
    if expected is Kind.INT:
        expect_integer(body, argument)
    if can_store(body, argument, kind, expected):
        return
    what = f"`{parameter.name}` of `{call.function}`"
    message = f"{what} is {KIND_PHRASES[expected]}, and `{format_short(argument)}` is {KIND_PHRASES[kind]}"
    body.report(call_rules.ARGUMENT_KIND, message, argument.span)


def _check_intrinsic(body: BodyContext, expr: s.Call) -> Kind | None:
    kinds = [check_number(body, argument) for argument in expr.arguments]
    expected = INTRINSICS[expr.function]
    if len(kinds) != expected if expected is not None else len(kinds) < 2:
        count = "2 arguments or more" if expected is None else format_count(expected, "argument")
        body.report(rules.INTRINSIC, f"`{expr.function}` takes {count}, not {len(kinds)}", expr.span)
        return None
    numbers = [kind for kind in kinds if kind is not None]
    if len(numbers) < len(kinds):
        return None
    function, first, kind = expr.function, expr.arguments[0], numbers[0]
    if function in ("min", "max"):
        return unify_kinds(body, list(expr.arguments), numbers)
    if function in BIT_FUNCTIONS:
        for argument, of in zip(expr.arguments, numbers, strict=True):
            if of is Kind.REAL:
                message = f"`{function}` takes integers, and `{format_short(argument)}` is a real"
                body.report(rules.INTRINSIC, message, argument.span)
                return None
            if is_literal(argument):
                record_literal_kind(body, argument, Kind.INT)
            expect_integer(body, argument)
        return Kind.INT
    if function in ("floor", "ceil"):
        return Kind.INT if kind is Kind.REAL else kind
    if function == "abs" or (function in ("sqrt", "log2") and kind is not Kind.INT):
        return kind
    if function == "real_of":
        if kind is Kind.REAL:
            body.report(rules.INTRINSIC, f"`{format_short(first)}` is a real already", expr.span)
            return None
        return Kind.REAL
    if kind is not Kind.REAL and body.integers:
        message = f"`{function}` takes a real, and `{format_short(first)}` is {KIND_PHRASES[kind]}"
        hint = suggest_static_form(first, body.algorithm, body.facts.types)
        body.report(rules.INTRINSIC, message, first.span, hint)
        return None
    if kind is not Kind.REAL:
        convert_to_real(body, first)
    return Kind.REAL


def _check_element(body: BodyContext, expr: s.Element) -> ExprType | None:
    array = f"{expr.array}: real[{', '.join(('n', 'm', 'p', 'q', 'r', 's')[: len(expr.subscripts)])}]"
    advice = f"declare the array: a parameter `{array}` (`out` or `inout` if it is written), or `local {array}`"
    if expr.array.endswith((".shape", ".size")):
        advice = _suggest_extent(body, expr)
    symbol = body.lookup(expr.array, expr.span, advice)
    for subscript in expr.subscripts:
        if isinstance(subscript, s.Slice):
            _check_slice(body, subscript)
        else:
            check_integral(body, subscript, "a subscript")
    if symbol is None:
        return None
    if not isinstance(symbol.type, ViewType):
        message = f"`{expr.array}` is {symbol.role.described}, not an array"
        body.report(rules.NOT_AN_ARRAY, message, expr.span, _suggest_array(body, expr))
        return None
    _check_sharing(body, symbol, expr)
    rank = symbol.type.rank
    if len(expr.subscripts) != rank:
        _report_rank(body, expr, len(expr.subscripts), rank)
        return None
    extents = [
        build_slice_length(body.facts, piece, extent)
        for piece, extent in zip(expr.subscripts, symbol.shape, strict=True)
        if isinstance(piece, s.Slice)
    ]
    if not extents:
        return symbol.type.element
    body.facts.shapes[expr] = tuple(extents)
    return ViewType(symbol.type.element, len(extents), symbol.type.layout if len(extents) > 1 else "rowmajor")


def _suggest_product(body: BodyContext, product: s.Binary) -> str | None:
    """Propose an `out` parameter for a returned product of arrays, or advise one if a factor is unnamed; else None."""
    returned = any(statement.value is product for statement in s.find_nodes(body.algorithm.body, s.Return))
    symbols = [body.scope.find(side.id) for side in (product.left, product.right) if isinstance(side, s.Name)]
    shapes = [symbol.shape for symbol in symbols if symbol is not None and isinstance(symbol.type, ViewType)]
    if not returned:
        return None
    if len(shapes) < 2 or not all(shapes):
        return ARRAY_RESULT
    extents = ", ".join(format_short(extent) for extent in (*shapes[0][:-1], *shapes[1][1:]))
    return suggest_array_result(product.span.source, product.span.line, f"real[{extents}]" if extents else "")


def _suggest_array(body: BodyContext, expr: s.Element) -> str | None:
    """Propose to declare a scalar that is used with subscripts as an array; None if no declaration is written."""
    declared: list[s.Parameter | s.Local] = list(body.algorithm.parameters)
    declared += s.find_nodes(body.algorithm.body, s.Local)
    place = next((item for item in declared if item.name == expr.array), None)
    if place is None or not isinstance(place.type, s.ScalarType) or place.type.span.text != place.type.element:
        return None
    shape = ", ".join("nmpqrs"[: len(expr.subscripts)])
    text = f"{place.type.element}[{shape}]"
    return propose_text(place.type.span, text, f"declare `{place.name}: {{}}`", safe=False)


def _count_left_out(expr: s.Element) -> int:
    """Return the number of subscripts `:` that elaboration has added for dimensions that the author left out."""
    return sum(isinstance(part, s.Slice) and part.span == expr.span for part in expr.subscripts)


def _report_rank(body: BodyContext, expr: s.Element, given: int, rank: int) -> None:
    subscripts = format_count(given, "subscript")
    message = f"`{expr.array}` has {format_count(rank, 'dimension')}, and {subscripts} here"
    body.report(rules.RANK, message, expr.span)


def _suggest_extent(body: BodyContext, expr: s.Element) -> str:
    """Propose the extent for `x.shape[0]`; a hint without an edit if the array has no such axis."""
    symbol, (axis, *_) = body.scope.find(expr.array.partition(".")[0]), expr.subscripts
    if symbol is None or not isinstance(axis, s.Integer) or axis.value >= len(symbol.shape):
        return FOREIGN_FUNCTIONS["len"]
    return propose_expression(expr, format_short(symbol.shape[axis.value]), FOREIGN_FUNCTIONS["len"])


def _check_slice(body: BodyContext, piece: s.Slice) -> None:
    for bound in (piece.lo, piece.hi):
        if bound is not None:
            check_integral(body, bound, "a slice's bound")
    if piece.step is not None:
        check_step(body, piece.step)


def check_step(body: BodyContext, step: s.Expr, kind: Kind | None = None) -> None:
    """Check that a literal step is positive and that of a slice static; `kind` is given for the step of a loop."""
    if kind is not Kind.STATIC and (kind is not None or not check_static(body, step, "a step")):
        return
    if is_literal(step) and (isinstance(step, s.Unary) or (isinstance(step, s.Integer) and step.value < 1)):
        hint = "to count down write `n-1 downto 0`"
        body.report(rules.STEP, f"the step `{format_short(step)}` is not positive", step.span, hint)


def _check_reshape(body: BodyContext, expr: s.Reshape) -> ExprType | None:
    base = infer_type(body, expr.base)
    fine = [check_static(body, entry, "an extent") for entry in expr.shape]
    if base is None:
        return None
    if not isinstance(base, ViewType):
        body.report(rules.ARRAY_AS_NUMBER, f"`{format_short(expr.base)}` is not an array", expr.base.span)
        return None
    if base.rank != 1:
        message = f"`{format_short(expr.base)}` has {base.rank} dimensions; `as` views an array of one"
        body.report(rules.RESHAPE, message, expr.span, "declare the array with one dimension, and view it with `as`")
        return None
    body.facts.shapes[expr] = expr.shape
    if all(fine) and expr.base in body.facts.shapes:
        count = expr.shape[0]
        for entry in expr.shape[1:]:
            count = combine_extents(body.facts, "*", count, entry, expr.span)
        require_agreement(body, count, body.facts.shapes[expr.base][0], expr, "`as` shows {0} elements of {1}")
    return ViewType(base.element, len(expr.shape))


def find_base_symbol(body: BodyContext, expr: s.Expr) -> SymbolEntry | None:
    """Return the array of a view, or the register that a name denotes; None for anything else."""
    match expr:
        case s.Name(id=name) | s.Element(array=name):
            symbol = body.scope.find(name)
            is_base = symbol is not None and (isinstance(symbol.type, ViewType) or symbol.role is Role.REGISTER)
            return symbol if is_base else None
        case s.Reshape(base=base):
            return find_base_symbol(body, base)
        case s.Integer() | s.Real() | s.Unary() | s.Binary() | s.Call():
            return None
