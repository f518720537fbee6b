"""Integer expressions: sizes and indices, whose arithmetic is free, and `int` data, whose arithmetic is counted.

Plain Python computes in unbounded integers and checks what must fit 64 bits. Compiled code computes in 64 bits: an
expression of sizes whose value cannot be bounded below 2^63 is checked as it is computed, and where the check fails
the run starts again as plain Python.
"""

from __future__ import annotations

from archline.execution import run_rules as rules
from archline.execution.codegen.scope import Function, is_extern
from archline.execution.codegen.values import Code, Register, Static, named
from archline.execution.slots import INT_LIMIT, NO_INT
from archline.language import syntax as s
from archline.language.format_expressions import format_expression
from archline.language.model import Kind

MAX_BRACKETS = 30
_MAX_EXPONENT_BITS = 4096
_CHECKED = {"+": "add_int", "-": "sub_int", "*": "mul_int", "^": "pow_int"}


def integer(fn: Function, expr: s.Expr) -> Code:
    """The value of an expression of kind STATIC or INT, in an integer position."""
    match expr:
        case s.Integer(value=value):
            return literal(fn, value, expr)
        case s.Name(id=name):
            return _name(fn, expr, name)
        case s.Unary(op="-", operand=operand):
            inner = integer(fn, operand)
            return bracket(fn, f"-{inner.text}", inner, bound=inner.bound)
        case s.Binary(op=op, left=left, right=right):
            return _binary(fn, expr, op, integer(fn, left), integer(fn, right))
        case s.Call(function="floor" | "ceil" as function, arguments=(inner,)) if not is_extern(fn, expr):
            return _rounded(fn, expr, function, inner)
        case s.Call(function=function):
            return _call(fn, expr, function)
        case s.Element():
            from archline.execution.codegen.elements import read

            return named(read(fn, expr), INT_LIMIT)
        case _:
            raise AssertionError(f"not an integer expression: {expr}")


def atom(fn: Function, code: Code, stem: str = "t") -> str:
    """A name or literal for a value, computed now."""
    return code.text if code.atom else fn.temp(code.text, stem)


def literal(fn: Function, value: int, expr: s.Expr) -> Code:
    """A literal, which compiled code holds in 64 bits."""
    if fn.options.compiled and abs(value) > INT_LIMIT:
        fn.wide("True")
        value = 0
    text = str(value) if value >= 0 else f"({value})"
    return named(text, abs(value))


def bracket(fn: Function, text: str, *parts: Code, bound: int | None = None) -> Code:
    """An expression in brackets, or a name for it where brackets would nest too deep for Python's parser."""
    depth = 1 + max((part.depth for part in parts), default=0)
    if depth > MAX_BRACKETS:
        return named(fn.temp(text), bound)
    return Code(f"({text})", bound, depth)


def _name(fn: Function, expr: s.Name, name: str) -> Code:
    meaning = fn.names.get(name)
    match meaning:
        case Static(code=code, bound=bound):
            return named(code, bound)
        case Register():
            from archline.execution.codegen.elements import read_register

            # A register that may change is no atom: a view keeps its bounds, a loop its range.
            return Code(read_register(fn, expr, meaning), INT_LIMIT, atom=meaning.fixed)
        case _:
            # Declared costs also speak of the machine and of the cost symbols of externs.
            return Code(f"K[{fn.layout.symbol(name)}]", INT_LIMIT)


def _binary(fn: Function, expr: s.Binary, op: str, left: Code, right: Code) -> Code:
    data = fn.kind(expr) is Kind.INT
    if data:
        fn.operation(op, real=False)
    if op in ("//", "%", "/"):
        return _division(fn, expr, op, left, right, data)
    if op == "^":
        right = named(_exponent(fn, expr, right), right.bound)
    bound = _bound(op, left, right)
    if data or (fn.options.compiled and bound > INT_LIMIT):
        return _checked(fn, expr, op, left, right, data)
    if op == "^":
        if not fn.options.compiled:
            return _plain_power(fn, expr, left, right)
        return bracket(fn, f"pow_int({left.text}, {right.text})", left, bound=bound)
    return bracket(fn, f"{left.text} {op} {right.text}", left, right, bound=bound)


def _bound(op: str, left: Code, right: Code) -> int:
    """What the result's absolute value cannot exceed."""
    a = INT_LIMIT if left.bound is None else left.bound
    b = INT_LIMIT if right.bound is None else right.bound
    match op:
        case "+" | "-":
            return min(a + b, INT_LIMIT + 1)
        case "*":
            return min(a * b, INT_LIMIT + 1)
        case _:
            if right.text.isdigit() and a.bit_length() * b <= 64:
                return max(int(a**b), 1)
            return INT_LIMIT + 1


def _checked(fn: Function, expr: s.Binary, op: str, left: Code, right: Code, data: bool) -> Code:
    if fn.options.compiled or op == "^":
        result = fn.temp(f"{_CHECKED[op]}({left.text}, {right.text})")
        failed = f"{result} == {NO_INT}"
    else:
        result = fn.temp(f"{left.text} {op} {right.text}")
        failed = f"not -{INT_LIMIT} <= {result} <= {INT_LIMIT}"
    if data:
        message = f"the value of `{format_expression(expr)}` does not fit 64 bits"
        fn.check(failed, fn.site(rules.OVERFLOW, expr.span, message))
    else:
        fn.wide(failed)
    return named(result, INT_LIMIT)


def _plain_power(fn: Function, expr: s.Binary, left: Code, right: Code) -> Code:
    base = atom(fn, left)
    message = f"the value of `{format_expression(expr)}` is too large to be computed"
    site = fn.site(rules.OVERFLOW, expr.span, message)
    fn.check(f"({base}).bit_length() * {right.text} > {_MAX_EXPONENT_BITS}", site)
    return bracket(fn, f"{base} ** {right.text}")


def _exponent(fn: Function, expr: s.Binary, exponent: Code) -> str:
    if exponent.text.isdigit():
        return exponent.text
    text = atom(fn, exponent)
    site = fn.site(rules.NOT_EXACT, expr.span, f"the exponent of `{format_expression(expr)}` is negative: {{0}}")
    fn.check(f"{text} < 0", site, text)
    return text


def _division(fn: Function, expr: s.Binary, op: str, left: Code, right: Code, data: bool) -> Code:
    divisor = atom(fn, right)
    _check_divisor(fn, expr.right, divisor)
    if op == "/":
        dividend = atom(fn, left)
        message = f"`{format_expression(expr)}` must divide, and {{0}}/{{1}} does not"
        site = fn.site(rules.NOT_EXACT, expr.span, message)
        fn.check(f"{dividend} % {divisor} != 0", site, dividend, divisor)
        return bracket(fn, f"{dividend} // {divisor}", bound=left.bound)
    bound = left.bound if op == "//" else right.bound
    return bracket(fn, f"{left.text} {op} {divisor}", left, bound=bound)


def _check_divisor(fn: Function, expr: s.Expr, divisor: str) -> None:
    if not divisor.isdigit() or divisor == "0":
        site = fn.site(rules.NOT_EXACT, expr.span, f"division by zero: `{format_expression(expr)}` is 0")
        fn.check(f"{divisor} == 0", site)


def _call(fn: Function, expr: s.Call, function: str) -> Code:
    from archline.execution.codegen.elements import call_extern

    if is_extern(fn, expr):
        return named(call_extern(fn, expr), INT_LIMIT)
    data = fn.kind(expr) is Kind.INT
    values = [integer(fn, argument) for argument in expr.arguments]
    for _ in range(max(1, len(values) - 1) if data else 0):
        fn.operation(function, real=False)
    match function:
        case "min" | "max":
            bound = max(INT_LIMIT if value.bound is None else value.bound for value in values)
            text = f"{function}({', '.join(value.text for value in values)})"
            return bracket(fn, text, *values, bound=bound)
        case "abs":
            return bracket(fn, f"abs({values[0].text})", values[0], bound=values[0].bound)
        case "log2" | "sqrt":
            argument = atom(fn, values[0])
            result = fn.temp(f"exact_{function}({argument})")
            message = f"`{format_expression(expr)}` must be an integer, and {function} of {{0}} is not"
            fn.check(f"{result} < 0", fn.site(rules.NOT_EXACT, expr.span, message), argument)
            return named(result, 64 if function == "log2" else values[0].bound)
        case _:
            raise AssertionError(f"not a function of integers: {function}")


def _rounded(fn: Function, expr: s.Call, function: str, inner: s.Expr) -> Code:
    """A quotient, root or logarithm of sizes rounded; of any other integer, the integer itself."""
    up = function == "ceil"
    match inner:
        case s.Binary(op="/", left=left, right=right):
            dividend, divisor = integer(fn, left), atom(fn, integer(fn, right))
            _check_divisor(fn, right, divisor)
            text = f"-(-{dividend.text} // {divisor})" if up else f"{dividend.text} // {divisor}"
            return bracket(fn, text, dividend, bound=dividend.bound)
        case s.Call(function="log2" | "sqrt" as inside, arguments=(argument,)):
            value = atom(fn, integer(fn, argument))
            message = f"`{format_expression(inner)}` is not a number: {inside} of {{0}}"
            fn.check(f"{value} < {1 if inside == 'log2' else 0}", fn.site(rules.NOT_EXACT, inner.span, message), value)
            return bracket(fn, _ROUNDED[inside, up].format(value), bound=INT_LIMIT)
        case _:
            pass
    if fn.kind(expr) is Kind.INT:
        fn.operation(function, real=False)
    return integer(fn, inner)


_ROUNDED = {
    ("log2", False): "ceil_log2({0} + 1) - 1",
    ("log2", True): "ceil_log2({0})",
    ("sqrt", False): "floor_sqrt({0})",
    ("sqrt", True): "floor_sqrt({0} - 1) + 1 if {0} else 0",
}
