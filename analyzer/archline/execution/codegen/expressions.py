"""Write the code for expressions: registers, array elements, externs and arithmetic.

Arithmetic on sizes and indices is free, arithmetic on `int` data is counted; every operation on reals is one flop,
except that negation, literals and `real_of` are free. Plain Python computes with unbounded integers, and checks values
that must fit 64 bits. Compiled code computes with 64 bits: an expression of sizes that is not known to stay below 2^63
is checked as it is computed, and if the check fails the run starts again as plain Python.
"""

from __future__ import annotations

import math

from archline.execution import run_rules as rules
from archline.execution.arithmetic import to_nearest_real
from archline.execution.codegen.scope import AlgorithmWriter, is_extern
from archline.execution.codegen.values import ArrayValue, Code, IntegerValue, Linear, Register, make_primary_code
from archline.execution.codegen.writer import EXTERN
from archline.execution.slots import INT_LIMIT, NO_INT, UNSET_REAL
from archline.expr.text import format_expression
from archline.language import syntax as s
from archline.language.model import Kind
from archline.language.proposals import propose_real_start, suggest_division


def write_register(fn: AlgorithmWriter, expr: s.Name, register: Register) -> str:
    """Write the read of a register, with a check that it has a value if that is uncertain; return its variable."""
    if register.flag is not None:
        site = fn.add_site(rules.UNSET, expr.span, f"`{expr.id}` is read before it is given a value")
        fn.check(f"{register.flag} == 0", site)
    if register.shadow is not None and not fn.free:
        fn.check_register_race(register.shadow, "read", expr.span, f"`{expr.id}` is read")
    return register.code


def write_element_read(fn: AlgorithmWriter, expr: s.Element) -> str:
    """Write the read of an element; return the name that holds its value."""
    view = fn.get_view(expr.array)
    place = write_address(fn, expr, view)
    if view.shared:
        fn.emit(f"grid.note([{place}])")
    else:
        fn.count_access(place, "read", expr.span, f"`{format_expression(expr)}` is read")
    return write_load(fn, expr, view, place)


def write_load(fn: AlgorithmWriter, expr: s.Expr, view: ArrayValue, place: str) -> str:
    """Write the load from an address, and a check that it is set; return the name of the value."""
    value = fn.assign_name(f"{_select_pool(view)}[{place}]", "v")
    site = fn.add_site(rules.UNSET, expr.span, f"`{format_expression(expr)}` is read before it is assigned")
    fn.check(write_unset_test(fn, view, place, value), site)
    return value


def write_unset_test(fn: AlgorithmWriter, view: ArrayValue, place: str, value: str) -> str:
    """Write the condition that the word at an address, whose value is already loaded, is unset."""
    if not fn.options.compiled:
        return f"{value} is None"
    ints = "GI" if view.shared else "I"
    return f"{ints}[{place}] == {UNSET_REAL}" if view.element is Kind.REAL else f"{value} == {NO_INT}"


def write_store(fn: AlgorithmWriter, view: ArrayValue, place: str, value: str) -> None:
    """Write the store of a value to an address."""
    fn.emit(f"{_select_pool(view)}[{place}] = {value}")


def _select_pool(view: ArrayValue) -> str:
    pool = "R" if view.element is Kind.REAL else "I"
    return f"G{pool}" if view.shared else pool


def write_address(fn: AlgorithmWriter, expr: s.Element, view: ArrayValue) -> str:
    """Write the checks of an element's subscripts, from left to right; return the name that holds its address."""
    subscripts = []
    for dimension, subscript in enumerate(expr.subscripts):
        assert not isinstance(subscript, s.Slice)
        subscripts.append(_write_subscript(fn, expr, subscript, view, dimension))
    return write_element_address(fn, view, subscripts)


def write_element_address(fn: AlgorithmWriter, view: ArrayValue, subscripts: list[str]) -> str:
    """Return the name that holds the address of an element whose subscripts, atoms, are in bounds."""
    match view.place:
        case Linear(strides):
            terms = [view.base]
            terms += [
                scale_index(index, stride) for index, stride in zip(subscripts, strides, strict=True) if index != "0"
            ]
            return fn.assign_name(" + ".join(terms), "a")
        case place:
            row = " + ".join([place.row, *map(scale_index, subscripts, place.rows)])
            column = " + ".join([place.column, *map(scale_index, subscripts, place.columns)])
            return fn.assign_name(f"{view.base} + 2 * spread({row}) + spread({column})", "a")


def scale_index(index: str, stride: str) -> str:
    """Return the text of index * stride, simplified if one is 0 or 1."""
    if stride == "1":
        return index
    if stride == "0" or index == "0":
        return "0"
    return stride if index == "1" else f"{index} * {stride}"


def _write_subscript(fn: AlgorithmWriter, expr: s.Element, subscript: s.Expr, view: ArrayValue, dimension: int) -> str:
    extent = view.extents[dimension]
    value = make_atom(fn, write_integer(fn, subscript), "i")
    limits = []
    meaning = fn.names[subscript.id] if isinstance(subscript, s.Name) else None
    minimum = meaning.least if isinstance(meaning, IntegerValue) else int(value) if value.isdigit() else None
    if minimum is None or minimum < 0:
        limits.append(f"{value} < 0")
    if not (isinstance(meaning, IntegerValue) and meaning.below == extent):
        limits.append(f"{value} >= {extent}")
    if limits:
        which = f"subscript {dimension + 1} of" if len(view.extents) > 1 else "the subscript of"
        message = f"{which} `{format_expression(expr)}` is {{0}}, and must be in 0..{{1}}"
        fn.check(" or ".join(limits), fn.add_site(rules.OUT_OF_BOUNDS, subscript.span, message), value, extent)
    return value


def write_result(fn: AlgorithmWriter, expr: s.Call) -> str:
    """Write the call of an extern or of an algorithm with a result; return the name that holds its value."""
    return write_extern_call(fn, expr) if is_extern(fn, expr) else fn.write_call(fn, expr)


def write_extern_call(fn: AlgorithmWriter, expr: s.Call) -> str:
    """Write the call of an extern: its declared costs, then its value; return the name that holds it."""
    extern = fn.module.targets[expr]
    assert isinstance(extern, s.Extern)
    values = []
    for parameter, argument in zip(extern.parameters, expr.arguments, strict=True):
        is_real = isinstance(parameter.type, s.ScalarType) and parameter.type.element == "real"
        values.append(write_real(fn, argument).text if is_real else write_integer(fn, argument).text)
    if not fn.free:
        fn.block.cost[f"{EXTERN} {extern.name}"] += 1
        fn.emit(f"{fn.frame.span} += K[{fn.layout.use_extern(extern)}]")
    text = f"E_{extern.name}({', '.join(values)})"
    whole = extern.result not in (None, "real")
    if extern.result is not None:
        text = f"{'int' if whole else 'float'}({text})"
    result = fn.assign_name(text, "v")
    if whole:
        site = fn.add_site(rules.OVERFLOW, expr.span, f"the value of `{format_expression(expr)}` does not fit 64 bits")
        fn.check(f"{result} == {NO_INT}", site)
    return result


MAX_BRACKETS = 30
_MAX_EXPONENT_BITS = 4096
_BIT_OPERATORS = {"bit_and": "&", "bit_or": "|", "xor": "^"}
_CHECKED_FUNCTIONS = {"+": "add_int", "-": "sub_int", "*": "mul_int", "^": "pow_int"}


def write_integer(fn: AlgorithmWriter, expr: s.Expr) -> Code:
    """Write the value of an expression of kind STATIC or INT, where an integer is expected."""
    match expr:
        case s.Integer(value=value):
            return write_literal(fn, value, expr)
        case s.Real():
            # The literal `inf` among integers is the greatest one.
            return write_literal(fn, INT_LIMIT, expr)
        case s.Name(id=name):
            return _write_name(fn, expr, name)
        case s.Unary(op="-", operand=operand):
            inner = write_integer(fn, operand)
            return put_brackets(fn, f"-{inner.text}", inner, bound=inner.bound)
        case s.Binary(op=op, left=left, right=right):
            return _write_binary(fn, expr, op, write_integer(fn, left), write_integer(fn, right))
        case s.Call() if expr in fn.module.targets:
            return make_primary_code(write_result(fn, expr), INT_LIMIT)
        case s.Call(function="floor" | "ceil" as function, arguments=(inner,)):
            return _write_rounding(fn, expr, function, inner)
        case s.Call(function=function):
            return _write_function(fn, expr, function)
        case s.Element():
            return make_primary_code(write_element_read(fn, expr), INT_LIMIT)
        case _:
            raise AssertionError(f"not an integer expression: {expr}")


def make_atom(fn: AlgorithmWriter, code: Code, stem: str = "t") -> str:
    """Return a name or a literal for a value; an expression is assigned to a name."""
    return code.text if code.atom else fn.assign_name(code.text, stem)


def write_literal(fn: AlgorithmWriter, value: int, expr: s.Expr) -> Code:
    """Return an integer literal; one beyond 64 bits makes compiled code give up. `expr` has no effect."""
    if fn.options.compiled and abs(value) > INT_LIMIT:
        fn.leave_compiled_if("True")
        value = 0
    text = str(value) if value >= 0 else f"({value})"
    return make_primary_code(text, abs(value))


def put_brackets(fn: AlgorithmWriter, text: str, *parts: Code, bound: int | None = None) -> Code:
    """Put an expression in brackets, or assign it to a name if brackets would nest too deep for Python's parser."""
    depth = 1 + max((part.depth for part in parts), default=0)
    if depth > MAX_BRACKETS:
        return make_primary_code(fn.assign_name(text), bound)
    return Code(f"({text})", bound, depth)


def _write_name(fn: AlgorithmWriter, expr: s.Name, name: str) -> Code:
    meaning = fn.names.get(name)
    match meaning:
        case IntegerValue(code=code, bound=bound):
            return make_primary_code(code, bound)
        case Register():
            # A register that may change is no atom, as the bounds of views and loops keep their first values.
            return Code(write_register(fn, expr, meaning), INT_LIMIT, atom=meaning.fixed)
        case _:
            # In declared costs, names may also be symbols of the machine and cost symbols of externs.
            return Code(f"K[{fn.layout.use_symbol(name)}]", INT_LIMIT)


def _write_binary(fn: AlgorithmWriter, expr: s.Binary, op: str, left: Code, right: Code) -> Code:
    data = fn.get_expression_kind(expr) is Kind.INT
    if data:
        fn.count_operation(op, real=False)
    if op in ("//", "%", "/"):
        return _write_division(fn, expr, op, left, right, data)
    if op == "^":
        right = make_primary_code(_write_exponent(fn, expr, right), right.bound)
    bound = _bound_result_from_above(op, left, right)
    if data or (fn.options.compiled and bound > INT_LIMIT):
        return _write_checked(fn, expr, op, left, right, data)
    if op == "^":
        if not fn.options.compiled:
            return _write_plain_power(fn, expr, left, right)
        return put_brackets(fn, f"pow_int({left.text}, {right.text})", left, bound=bound)
    return put_brackets(fn, f"{left.text} {op} {right.text}", left, right, bound=bound)


def _bound_result_from_above(op: str, left: Code, right: Code) -> int:
    """Bound the absolute value of the result from above; INT_LIMIT + 1 stands for any larger value."""
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


def _write_checked(fn: AlgorithmWriter, expr: s.Binary, op: str, left: Code, right: Code, data: bool) -> Code:
    if fn.infinite and op in ("+", "-"):
        result = write_infinite_sum(fn, op, left.text, right.text)
        failed = f"{result} == {NO_INT}"
    elif fn.options.compiled or op == "^":
        result = fn.assign_name(f"{_CHECKED_FUNCTIONS[op]}({left.text}, {right.text})")
        failed = f"{result} == {NO_INT}"
    else:
        result = fn.assign_name(f"{left.text} {op} {right.text}")
        failed = f"not -{INT_LIMIT} <= {result} <= {INT_LIMIT}"
    if data:
        message = f"the value of `{format_expression(expr)}` does not fit 64 bits"
        fn.check(failed, fn.add_site(rules.OVERFLOW, expr.span, message))
    else:
        fn.leave_compiled_if(failed)
    return make_primary_code(result, INT_LIMIT)


def write_infinite_sum(fn: AlgorithmWriter, op: str, left: str, right: str) -> str:
    """Write a sum or difference of integers that may be infinite; return the name of the value."""
    return fn.assign_name(f"add_infinite({left}, {'' if op == '+' else '-'}({right}))")


def _write_plain_power(fn: AlgorithmWriter, expr: s.Binary, left: Code, right: Code) -> Code:
    base = make_atom(fn, left)
    message = f"the value of `{format_expression(expr)}` is too large to be computed"
    site = fn.add_site(rules.OVERFLOW, expr.span, message)
    fn.check(f"({base}).bit_length() * {right.text} > {_MAX_EXPONENT_BITS}", site)
    return put_brackets(fn, f"{base} ** {right.text}")


def _write_exponent(fn: AlgorithmWriter, expr: s.Binary, exponent: Code) -> str:
    if exponent.text.isdigit():
        return exponent.text
    text = make_atom(fn, exponent)
    site = fn.add_site(rules.NOT_EXACT, expr.span, f"the exponent of `{format_expression(expr)}` is negative: {{0}}")
    fn.check(f"{text} < 0", site, text)
    return text


def _write_division(fn: AlgorithmWriter, expr: s.Binary, op: str, left: Code, right: Code, data: bool) -> Code:
    divisor = make_atom(fn, right)
    _write_divisor_check(fn, expr.right, divisor)
    if op == "/":
        dividend = make_atom(fn, left)
        message = f"`{format_expression(expr)}` must be an integer, and {{0}}/{{1}} is not"
        hint = propose_real_start(fn.module.algorithms.values(), expr) or suggest_division(expr)
        site = fn.add_site(rules.NOT_EXACT, expr.span, message, hint=hint)
        fn.check(f"{dividend} % {divisor} != 0", site, dividend, divisor)
        return put_brackets(fn, f"{dividend} // {divisor}", bound=left.bound)
    bound = left.bound if op == "//" else right.bound
    return put_brackets(fn, f"{left.text} {op} {divisor}", left, bound=bound)


def _write_divisor_check(fn: AlgorithmWriter, expr: s.Expr, divisor: str) -> None:
    if not divisor.isdigit() or divisor == "0":
        site = fn.add_site(rules.NOT_EXACT, expr.span, f"division by zero: `{format_expression(expr)}` is 0")
        fn.check(f"{divisor} == 0", site)


def _write_function(fn: AlgorithmWriter, expr: s.Call, function: str) -> Code:
    data = fn.get_expression_kind(expr) is Kind.INT
    values = [write_integer(fn, argument) for argument in expr.arguments]
    for _ in range(max(1, len(values) - 1) if data else 0):
        fn.count_operation(function, real=False)
    match function:
        case "min" | "max":
            bound = max(INT_LIMIT if value.bound is None else value.bound for value in values)
            text = f"{function}({', '.join(value.text for value in values)})"
            return put_brackets(fn, text, *values, bound=bound)
        case "gcd":
            text = f"common_divisor({values[0].text}, {values[1].text})"
            return put_brackets(fn, text, *values, bound=max(INT_LIMIT if x.bound is None else x.bound for x in values))
        case "bit_and" | "bit_or" | "xor":
            text = f" {_BIT_OPERATORS[function]} ".join(value.text for value in values)
            result = fn.assign_name(text)
            message = f"the value of `{format_expression(expr)}` does not fit 64 bits"
            fn.check(f"{result} == {NO_INT}", fn.add_site(rules.OVERFLOW, expr.span, message))
            return make_primary_code(result, INT_LIMIT)
        case "abs":
            return put_brackets(fn, f"abs({values[0].text})", values[0], bound=values[0].bound)
        case "log2" | "sqrt":
            argument = make_atom(fn, values[0])
            result = fn.assign_name(f"exact_{function}({argument})")
            message = f"`{format_expression(expr)}` must be an integer, and {function} of {{0}} is not"
            fn.check(f"{result} < 0", fn.add_site(rules.NOT_EXACT, expr.span, message), argument)
            return make_primary_code(result, 64 if function == "log2" else values[0].bound)
        case _:
            raise AssertionError(f"not a function of integers: {function}")


def _write_rounding(fn: AlgorithmWriter, expr: s.Call, function: str, inner: s.Expr) -> Code:
    """Write floor or ceil of a quotient, root or logarithm of integers, or of a real; of an integer, that itself."""
    up = function == "ceil"
    match inner:
        case s.Binary(op="/", left=left, right=right) if fn.get_expression_kind(inner) is not Kind.REAL:
            dividend, divisor = write_integer(fn, left), make_atom(fn, write_integer(fn, right))
            _write_divisor_check(fn, right, divisor)
            text = f"-(-{dividend.text} // {divisor})" if up else f"{dividend.text} // {divisor}"
            return put_brackets(fn, text, dividend, bound=dividend.bound)
        case s.Call(function="log2" | "sqrt" as inside, arguments=(argument,)) if (
            fn.get_expression_kind(argument) is not Kind.REAL
        ):
            value = make_atom(fn, write_integer(fn, argument))
            for operation in (inside, function) if fn.get_expression_kind(inner) is Kind.REAL else ():
                fn.count_operation(operation, real=True)
            message = f"`{format_expression(inner)}` is undefined: {inside} of {{0}}"
            fn.check(
                f"{value} < {1 if inside == 'log2' else 0}", fn.add_site(rules.NOT_EXACT, inner.span, message), value
            )
            return put_brackets(fn, _ROUNDED_FORMULAS[inside, up].format(value), bound=INT_LIMIT)
        case _ if fn.get_expression_kind(inner) is Kind.REAL:
            rounded = fn.assign_name(f"to_int({_write_real_call(fn, expr).text})")
            message = f"the value of `{format_expression(expr)}` does not fit 64 bits"
            fn.check(f"{rounded} == {NO_INT}", fn.add_site(rules.OVERFLOW, expr.span, message))
            return make_primary_code(rounded, INT_LIMIT)
        case _:
            pass
    if fn.get_expression_kind(expr) is Kind.INT:
        fn.count_operation(function, real=False)
    return write_integer(fn, inner)


_ROUNDED_FORMULAS = {
    ("log2", False): "ceil_log2({0} + 1) - 1",
    ("log2", True): "ceil_log2({0})",
    ("sqrt", False): "floor_sqrt({0})",
    ("sqrt", True): "floor_sqrt({0} - 1) + 1 if {0} else 0",
}


OPERATION_KINDS = {"+": "add", "-": "sub", "*": "mul", "/": "div", "^": "pow"}
COMPARISON_KIND = "compare"
_REAL_FUNCTIONS = {
    "sqrt": "real_sqrt",
    "rsqrt": "real_rsqrt",
    "exp": "real_exp",
    "log": "real_log",
    "log2": "real_log2",
    "sin": "real_sin",
    "cos": "real_cos",
    "abs": "abs",
    "floor": "real_floor",
    "ceil": "real_ceil",
}


def write_real(fn: AlgorithmWriter, expr: s.Expr) -> Code:
    """Write the value of an expression of kind REAL, or of an integer where a real is expected."""
    match expr:
        case s.Integer(value=value):
            return Code(_format_real(to_nearest_real(value)))
        case s.Real(text=text):
            return Code(_format_real(float(text)))
        case s.Name(id="pi"):
            return Code(repr(math.pi))
        case s.Unary(op="-", operand=operand):
            inner = write_real(fn, operand)
            return put_brackets(fn, f"-{inner.text}", inner)
        case s.Call(function="floor" | "ceil", arguments=(inner,)) if fn.get_expression_kind(inner) is Kind.REAL:
            # A real that is too large for an int is rounded too.
            return _write_real_call(fn, expr)
        case _ if fn.get_expression_kind(expr) is not Kind.REAL:
            whole = write_integer(fn, expr)
            return put_brackets(fn, f"float({whole.text})", whole)
        case s.Name(id=name):
            register = fn.names[name]
            assert isinstance(register, Register)
            return Code(write_register(fn, expr, register))
        case s.Binary(op=op, left=left, right=right):
            return _write_real_binary(fn, op, left, right)
        case s.Call():
            return _write_real_call(fn, expr)
        case s.Element():
            return make_primary_code(write_element_read(fn, expr))
        case s.Unary() | s.Reshape():
            raise AssertionError(f"not a real expression: {expr}")


def _format_real(value: float) -> str:
    if math.isinf(value):
        return "infinity" if value > 0 else "(-infinity)"
    return repr(value) if value >= 0 else f"({value!r})"


def combine_reals(fn: AlgorithmWriter, op: str, left: Code, right: Code) -> Code:
    """Return the code of `left op right` on reals; the caller counts it."""
    if op == "/":
        return put_brackets(fn, f"divide({left.text}, {right.text})", left, right)
    return put_brackets(fn, f"{left.text} {op} {right.text}", left, right)


def _write_real_binary(fn: AlgorithmWriter, op: str, left: s.Expr, right: s.Expr) -> Code:
    base = write_real(fn, left)
    if op == "^":
        exponent = write_integer(fn, right)
        fn.count_operation(OPERATION_KINDS[op], real=True)
        return put_brackets(fn, f"power({base.text}, float({exponent.text}))", base, exponent)
    second = write_real(fn, right)
    fn.count_operation(OPERATION_KINDS[op], real=True)
    return combine_reals(fn, op, base, second)


def write_extreme(fn: AlgorithmWriter, function: str, left: Code, right: Code) -> Code:
    """Return the code of `min` or `max` of two reals; the caller counts it."""
    return put_brackets(fn, f"real_{function}({left.text}, {right.text})", left, right)


def _write_real_call(fn: AlgorithmWriter, expr: s.Call) -> Code:
    if expr in fn.module.targets:
        return make_primary_code(write_result(fn, expr))
    function = expr.function
    if function == "real_of":
        whole = write_integer(fn, expr.arguments[0])
        return put_brackets(fn, f"float({whole.text})", whole)
    values = [write_real(fn, argument) for argument in expr.arguments]
    if function in ("min", "max"):
        result = values[0]
        for value in values[1:]:
            fn.count_operation(function, real=True)
            result = write_extreme(fn, function, result, value)
        return result
    fn.count_operation(function, real=True)
    return put_brackets(fn, f"{_REAL_FUNCTIONS[function]}({values[0].text})", values[0])
