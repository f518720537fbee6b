"""What an expression cannot hold in the core language is computed into registers by statements before it.

Sums, minima and maxima become registers in which a parallel loop combines values: `sum(e for i in r if c)`, `min` and
`max` have a range; `sum(x)`, `min(x)`, `max(x)`, `dot(x, y)` and `norm(x)` go over the elements of views, or of
expressions of them. `count(c for i in r)`, `all` and `any` count the iterations in which conditions hold, or do not.
Conditions that are compared, as in `(a > b) != (c > d)`, become registers of type `bool`.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, count
from typing import Any

from archline.expr.text import format_expression
from archline.expr.tree import Comprehension, Node
from archline.language import syntax as s
from archline.language.diagnostics import error
from archline.language.elaboration.declare import rewrite_block
from archline.language.elaboration.environment import SIZE, Environment, NameType, collect_header_types, combine_element
from archline.language.elaboration.rewriting import (
    build_short_circuit,
    make_name_maker,
    place_before_tests,
    rewrite_fields,
    rewrite_tree,
)
from archline.language.syntax_rules import UNEXPECTED
from archline.records import replace

_OPERATORS = {
    **dict.fromkeys(("sum", "dot", "norm", "count", "all", "any"), "+"),
    **dict.fromkeys(("min", "argmin"), "min"),
    **dict.fromkeys(("max", "argmax"), "max"),
}


def expand_reductions(algorithm: s.Algorithm, environment: Environment) -> s.Algorithm:
    """Return an algorithm in which loops compute its reductions, and registers hold the conditions that it compares."""
    environment = environment.with_names(collect_header_types(algorithm, environment.records))
    expander = _ReductionExpander(make_name_maker(algorithm))
    return replace(algorithm, body=rewrite_block(algorithm.body, environment, expander.expand))


class _ReductionExpander:
    """Puts the loops of reductions, and conditions that are compared, before the statements that use their values."""

    def __init__(self, make_name: Callable[[str], str]) -> None:
        self._make_name = make_name

    def expand(self, statement: Any, environment: Environment) -> tuple[Any, ...]:
        """Return the loops of a statement's reductions and the statement, whose inner blocks are expanded already."""
        match statement:
            case s.If(branches=branches):
                return self._expand_branches(statement, branches, environment)
            case s.While():
                return self._expand_while(statement, environment)
            case s.Assume() | s.Costs() | s.Communication():
                self._refuse_reduction((statement,), environment, "in a statement whose evaluation is free")
                return (statement,)
            case _:
                return self._expand_parts(statement, environment)

    def _expand_branches(
        self, statement: s.If, branches: tuple[s.Branch, ...], environment: Environment
    ) -> tuple[Any, ...]:
        """Expand the conditions of an `if`; an `elif` that needs loops becomes an `if` after them in an `else`."""
        first, *rest = branches
        before, condition = self._expand_value(first.condition, environment)
        for number, branch in enumerate(rest, 1):
            if branch.condition is not None and needs_statements(branch.condition, environment):
                later = statement.take_later_branches(number)
                nested = self._expand_branches(later, later.branches, environment)
                rest = [*rest[: number - 1], s.Branch(None, nested, span=later.span)]
                break
        return (*before, replace(statement, branches=(replace(first, condition=condition), *rest)))

    def _expand_while(self, loop: s.While, environment: Environment) -> tuple[Any, ...]:
        """Expand the condition of a `while`: its loops stand before the `while` and at the end of each iteration."""
        before, condition = self._expand_value(loop.condition, environment)
        return place_before_tests(loop, condition, before)

    def _expand_parts(self, statement: Any, environment: Environment) -> tuple[Any, ...]:
        before, change_node = self._make_rewriter(environment)

        def change_outside(node: Node) -> Any:
            # Blocks inside the statement have been expanded.
            return node if isinstance(node, s.Statement) else change_node(node)

        changed = rewrite_fields(statement, change_outside)
        return (*before, changed)

    def _expand_value(self, value: Any, environment: Environment) -> tuple[list[Any], Any]:
        before, change_node = self._make_rewriter(environment)
        return before, rewrite_tree(value, change_node)

    def _make_rewriter(self, environment: Environment) -> tuple[list[Any], Callable[[Node], Any]]:
        """Return an empty list, and a function that rewrites nodes and adds statements which they need to the list."""
        before: list[Any] = []

        def change_node(node: Node) -> Any:
            match node:
                case s.Binary(op="and" | "or") if needs_statements(node.right, environment):
                    register = s.Name(self._make_name("holds"), span=node.span)
                    left = rewrite_tree(node.left, change_node)
                    before.extend(
                        build_short_circuit(node, register, left, *self._expand_value(node.right, environment))
                    )
                    return register
                case s.Binary() if compares_conditions(node, environment):
                    return self._store_conditions(node, before, change_node)
                case s.Call() if (found := read_reduction(node, environment)) is not None:
                    statements, value = self._build_loop(node, found, environment)
                    before.extend(statements)
                    return value
                case _:
                    return None

        return before, change_node

    def _store_conditions(self, node: s.Binary, before: list[Any], change_node: Callable[[Node], Any]) -> s.Binary:
        """Return the comparison of two conditions as one of two registers, which statements added to `before` set."""
        sides = [rewrite_tree(side, change_node) for side in (node.left, node.right)]
        stored = [not isinstance(side, s.Name | s.Element | s.Integer) for side in sides]
        left, right = (
            self._make_register(side, before) if store else side for side, store in zip(sides, stored, strict=True)
        )
        return replace(node, left=left, right=right)

    def _make_register(self, condition: s.Expr, before: list[Any]) -> s.Name:
        name = self._make_name("test")
        type_ = s.ScalarType("bool", span=condition.span)
        before.append(s.Local(name, type_, condition, None, span=condition.span))
        return s.Name(name, span=condition.span)

    def _find_reduction(self, value: Any, environment: Environment) -> s.Call | None:
        calls = s.find_nodes(value, s.Call)
        return next((call for call in calls if read_reduction(call, environment) is not None), None)

    def _refuse_reduction(self, parts: tuple[Any, ...], environment: Environment, where: str) -> None:
        call = self._find_reduction(parts, environment)
        if call is not None:
            message = f"a `{call.function}` over a range or an array cannot stand {where}"
            hint = f"name it in a statement before, such as `value = {format_reduction(call)}`"
            raise error(UNEXPECTED, message, span=call.span, hint=hint)

    def _build_loop(
        self, call: s.Call, over: Comprehension, environment: Environment
    ) -> tuple[tuple[Any, ...], s.Expr]:
        """Return the statements that compute a reduction, and the expression of its value."""
        span, op = call.span, _OPERATORS[call.function]
        over = self._rename_variable(over, environment)
        inside = environment.with_names({over.variable: NameType(SIZE)})
        type_ = inside.infer(over.value) or NameType("real")
        element = combine_element(type_, over.value)
        name = s.Name(self._make_name("total" if op == "+" else op), span=span)
        value, condition = over.value, over.condition
        if call.function == "all":
            value = s.Unary("not", value, span=span)
        holds = call.function in ("all", "any", "count")
        if holds or (type_.element == "bool" and op == "+" and not isinstance(value, s.Name | s.Element | s.Call)):
            # A sum of conditions counts where they hold.
            value, condition = s.Integer(1, span=span), _join_conditions(condition, value)
            element = "int"
        start: s.Expr = s.Integer(0, span=span)
        if op != "+":
            start = s.Real("inf", span=span)
            start = s.Unary("-", start, span=span) if op == "max" else start
        if call.function != op and op in ("min", "max"):
            return self._build_position_loop(call, replace(over, value=value), element, start, environment)
        body = self.expand(s.Assign(name, f"{op}=", value, False, span=span), inside)
        if condition is not None:
            body = self.expand(s.If((s.Branch(condition, body, span=span),), span=span), inside)
        reduction = s.Reduction(op, name, span=span)
        register = s.Local(name.id, s.ScalarType(element, span=span), start, None, span=span)
        before, (lo, hi, step) = self._expand_value((over.lo, over.hi, over.step), environment)
        loop = s.Loop(over.variable, lo, hi, step, False, True, body, reduction, span=span)
        return (*before, register, loop), _read_result(call, name)

    def _build_position_loop(
        self, call: s.Call, over: Comprehension, element: str, start: s.Expr, environment: Environment
    ) -> tuple[tuple[Any, ...], s.Expr]:
        """Return the statements of an `argmin` or `argmax`, the first position of the extreme value, and its name."""
        span = call.span
        names = [self._make_name(_OPERATORS[call.function]), self._make_name("place"), self._make_name("value")]
        best, place, value = (s.Name(name, span=span) for name in names)
        type_, whole = s.ScalarType(element, span=span), s.ScalarType("int", span=span)
        better = s.Binary("<" if call.function == "argmin" else ">", value, best, span=span)
        variable = s.Name(over.variable, span=span)
        kept = (
            s.Assign(replace(best), "=", replace(value), False, span=span),
            s.Assign(place, "=", variable, False, span=span),
        )
        local = s.Local(value.id, type_, over.value, None, span=span)
        body: tuple[Any, ...] = (local, s.If((s.Branch(better, kept, span=span),), span=span))
        if over.condition is not None:
            body = (s.If((s.Branch(over.condition, body, span=span),), span=span),)
        before, (lo, hi, step) = self._expand_value((over.lo, over.hi, over.step), environment)
        loop = s.Loop(over.variable, lo, hi, step, False, False, body, span=span)
        registers = (
            s.Local(best.id, replace(type_), start, None, span=span),
            s.Local(place.id, whole, s.Integer(0, span=span), None, span=span),
        )
        inside = environment.with_names({best.id: NameType(element), place.id: NameType("int")})
        return (*before, *registers, *rewrite_block((loop,), inside, self.expand)), replace(place)

    def _rename_variable(self, over: Comprehension, environment: Environment) -> Comprehension:
        """Return a comprehension whose variable is renamed if its name is already in scope."""
        if over.variable not in environment.names:
            return over
        name = self._make_name(over.variable)

        def change_node(node: Node) -> Node | None:
            return s.Name(name, span=node.span) if isinstance(node, s.Name) and node.id == over.variable else None

        value, condition = rewrite_tree((over.value, over.condition), change_node)
        return replace(over, variable=name, value=value, condition=condition)


def format_reduction(call: s.Call) -> str:
    """Return the text of a reduction in one line."""
    text = call.span.text
    return text if call.span.line == call.span.end_line else format_expression(call)


def _read_result(call: s.Call, register: s.Name) -> s.Expr:
    """Return the value of a reduction from the register in which its loop has combined values: for `norm`, its root."""
    zero = s.Integer(0, span=call.span)
    match call.function:
        case "norm":
            return s.Call("sqrt", (register,), span=call.span)
        case "all":
            return s.Binary("==", register, zero, span=call.span)
        case "any":
            return s.Binary(">", register, zero, span=call.span)
        case _:
            return register


def needs_statements(expr: Any, environment: Environment) -> bool:
    """Whether an expression has a part that statements compute: a sum, an operation on arrays, compared conditions."""
    for node in s.iterate_nodes(expr):
        if isinstance(node, Comprehension) or (isinstance(node, s.Call) and read_reduction(node, environment)):
            return True
        if isinstance(node, s.Binary) and (node.op == "@" or compares_conditions(node, environment)):
            return True
        if isinstance(node, s.Binary | s.Unary | s.Call):
            type_ = environment.infer(node)
            if type_ is not None and type_.is_array:
                return True
    return False


def compares_conditions(node: s.Binary, environment: Environment) -> bool:
    """Whether `==` or `!=` compares two conditions, at least one more complex than a register, element or literal."""
    if node.op not in ("==", "!="):
        return False
    sides = (node.left, node.right)
    types = [environment.infer(side) for side in sides]
    conditions = [type_ is not None and type_.element == "bool" and not type_.is_array for type_ in types]
    literals = [isinstance(side, s.Integer) and side.value in (0, 1) for side in sides]
    if not any(conditions) or not all(map(any, zip(conditions, literals, strict=True))):
        return False
    return any(
        condition and not isinstance(side, s.Name | s.Element)
        for condition, side in zip(conditions, sides, strict=True)
    )


def _join_conditions(first: s.Expr | None, second: s.Expr) -> s.Expr:
    return second if first is None else s.Binary("and", first, second, span=second.span)


def read_reduction(call: s.Call, environment: Environment) -> Comprehension | None:
    """Return the range and the values that a call combines; None if it is not a reduction."""
    if call.function not in _OPERATORS or call.function in environment.algorithms:
        return None
    match call.function, call.arguments:
        case "sum" | "min" | "max" | "count" | "all" | "any" | "argmin" | "argmax", (Comprehension() as over,):
            return over
        case "argmin" | "argmax", (values,):
            type_ = environment.infer(values)
            one = type_ is not None and type_.shape is not None and len(type_.shape) == 1
            return _range_over_elements(call, values, environment) if one else None
        case "sum" | "min" | "max" | "count" | "all" | "any", (values,):
            return _range_over_elements(call, values, environment)
        case "dot", (left, right):
            return _range_over_elements(call, s.Binary("*", left, right, span=call.span), environment)
        case "norm", (values,):
            return _range_over_elements(call, s.Binary("*", values, values, span=call.span), environment)
        case _:
            return None


def _range_over_elements(call: s.Call, values: s.Expr, environment: Environment) -> Comprehension | None:
    """Return nested comprehensions over the elements of an array expression, one a dimension; None for a number."""
    type_ = environment.infer(values)
    if type_ is None or type_.shape is None:
        return None
    span = call.span
    names = chain(("i", "j", "k", "l"), map("position{}".format, count()))
    free = (name for name in names if name not in environment.names)
    positions = [s.Name(next(free), span=span) for _ in type_.shape]

    def change_node(node: Node) -> Node | None:
        inner = environment.infer(node) if isinstance(node, s.Name | s.Element) else None
        return None if inner is None or inner.shape is None else locate_element(node, *positions)

    value: Any = rewrite_tree(values, change_node)
    combined = call.function if call.function in ("min", "max") else "sum"
    for position, extent in reversed(list(zip(positions, type_.shape, strict=True))):
        if isinstance(value, Comprehension):
            value = s.Call(combined, (value,), span=span)  # type: ignore[arg-type]
        value = Comprehension(value, position.id, s.Integer(0, span=span), extent, None, None, span=span)
    assert isinstance(value, Comprehension)
    return value


def locate_element(view: Node, *positions: s.Expr) -> s.Element | None:
    """Return the element of a view at a position in each dimension; None for another expression."""
    match view:
        case s.Name(id=array):
            return s.Element(array, positions, span=view.span)
        case s.Element(array=array, subscripts=subscripts):
            if sum(isinstance(part, s.Slice) for part in subscripts) > len(positions):
                # The checker reports an array with too few subscripts elsewhere.
                return None
            waiting = iter(positions)
            parts = [
                _locate_in_slice(part, next(waiting)) if isinstance(part, s.Slice) else part for part in subscripts
            ]
            return s.Element(array, (*parts, *waiting), span=view.span)
        case _:
            return None


def _locate_in_slice(part: s.Slice, position: s.Expr) -> s.Expr:
    place = position if part.step is None else s.Binary("*", part.step, position, span=part.span)
    return place if part.lo is None else s.Binary("+", part.lo, place, span=part.span)
