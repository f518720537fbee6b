"""What evaluating an expression costs: the operators' rows of the cost table (docs/reference/cost-rules.md)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from archline.analysis.metrics.tally import FREE, STEP, TOTAL, Tally, chosen, one_of, operation, unknown
from archline.ir import max_plus as paths
from archline.ir.amounts import Amount, exactly, times
from archline.ir.indicators import indicator
from archline.ir.scope import NotStaticError, Scope, static_value
from archline.language import syntax as s
from archline.language.model import Kind, ViewType

FLOP_KINDS = {
    "+": "add", "-": "sub", "*": "mul", "/": "div", "//": "div", "%": "mod", "^": "pow",
    "==": "compare", "!=": "compare", "<": "compare", "<=": "compare", ">": "compare", ">=": "compare",
    "+=": "add", "-=": "sub", "*=": "mul", "/=": "div", "min=": "min", "max=": "max",
}  # fmt: skip
CallCost = Callable[[s.Call, Scope], Tally]


def evaluation(expr: s.Expr, scope: Scope, call_cost: CallCost) -> Tally:
    """The cost of evaluating an expression once; `call_cost` prices calls of algorithms and externs."""
    match expr:
        case s.Integer() | s.Real() | s.Name():
            return FREE
        case s.Unary(operand=operand):
            return evaluation(operand, scope, call_cost)
        case s.Binary(op="and" | "or"):
            return _short_circuit(expr, scope, call_cost)
        case s.Binary(op=op, left=left, right=right):
            operands = evaluations((left, right), scope, call_cost)
            return operands.then(_operator(FLOP_KINDS[op], (left, right), 1, scope), scope.facts)
        case s.Call():
            return _call(expr, scope, call_cost)
        case s.Element(subscripts=subscripts):
            return _subscripts(subscripts, scope, call_cost)
        case s.Reshape(base=base, shape=shape):
            return evaluations((base, *shape), scope, call_cost)


def evaluations(parts: tuple[s.Expr, ...], scope: Scope, call_cost: CallCost) -> Tally:
    """The cost of evaluating several expressions, one after the other."""
    total = FREE
    for part in parts:
        total = total.then(evaluation(part, scope, call_cost), scope.facts)
    return total


def _subscripts(subscripts: tuple[s.Expr | s.Slice, ...], scope: Scope, call_cost: CallCost) -> Tally:
    total = FREE
    for subscript in subscripts:
        if isinstance(subscript, s.Slice):
            bounds = (subscript.lo, subscript.hi, subscript.step)
            cost = evaluations(tuple(part for part in bounds if part is not None), scope, call_cost)
        else:
            cost = evaluation(subscript, scope, call_cost)
        total = total.then(cost, scope.facts)
    return total


def kind_of(expr: s.Expr, scope: Scope) -> Kind:
    """Whether a scalar is static, int data or real."""
    found = scope.module.types.get(expr, Kind.STATIC)
    return found.element if isinstance(found, ViewType) else found


def _operator(kind: str, operands: tuple[s.Expr, ...], uses: int, scope: Scope) -> Tally:
    """One operator applied `uses` times: a flop on reals, 1 work on int data, nothing on sizes."""
    kinds = {kind_of(operand, scope) for operand in operands}
    if Kind.REAL in kinds:
        return operation(kind, uses)
    return operation(None, uses) if Kind.INT in kinds else FREE


def update(op: str, target: s.Expr, value: s.Expr, scope: Scope) -> Tally:
    """The operation in `+=` and its kin; nothing for `=`."""
    return FREE if op == "=" else _operator(FLOP_KINDS[op], (target, value), 1, scope)


def _call(call: s.Call, scope: Scope, call_cost: CallCost) -> Tally:
    if call in scope.module.targets:
        return evaluations(call.arguments, scope, call_cost).then(call_cost(call, scope), scope.facts)
    operands = evaluations(call.arguments, scope, call_cost)
    if call.function == "real_of":
        return operands
    uses = len(call.arguments) - 1 if call.function in ("min", "max") else 1
    return operands.then(_operator(call.function, call.arguments, uses, scope), scope.facts)


def _short_circuit(expr: s.Binary, scope: Scope, call_cost: CallCost) -> Tally:
    """`and`, `or`: the right side is evaluated where the left does not decide."""
    first = evaluation(expr.left, scope, call_cost)
    second = evaluation(expr.right, scope, call_cost)
    if second is FREE:
        return first
    needed = indicator(expr.left, scope)
    if needed is None:
        return first.then(one_of(second, FREE, scope.facts), scope.facts)
    taken = needed if expr.op == "and" else 1 - needed
    return first.then(chosen(taken, second, FREE, scope.facts), scope.facts)


def declared_amounts(amounts: tuple[tuple[s.Expr, str], ...], scope: Scope, source: str) -> Tally:
    """`costs f flops`: adds to flops, work and span. Other metrics have no derivation yet and are left to it."""
    total = FREE
    for expr, metric in amounts:
        if metric not in ("flops", "work", "span"):
            continue
        try:
            amount = exactly(static_value(expr, scope))
        except NotStaticError as problem:
            return unknown(f"declared cost: {problem.reason}", expr.span)
        if all(each < 0 for each in amount.lower.terms.values()) and scope.facts.positive(-amount.lower):
            return unknown("a declared cost below 0", expr.span)
        trusted = frozenset((source,))
        match metric:
            case "flops":
                cost = Tally({"declared": amount, TOTAL: amount}, amount, paths.serial(amount), trusted)
            case "work":
                cost = Tally({}, amount, declared=trusted)
            case _:
                cost = Tally({}, path=paths.serial(amount), declared=trusted)
        total = total.then(cost, scope.facts)
    return total


def fill(extents: Sequence[Amount], scope: Scope) -> Tally:
    """A whole-array fill or copy: the loop nest over its elements, 1 for each iteration of each loop."""
    cost = FREE
    for extent in reversed(extents):
        cost = repeated(STEP.then(cost, scope.facts), extent)
    return cost


def repeated(body: Tally, count: Amount) -> Tally:
    """A serial body a number of times."""
    return body.map(lambda amount: times(amount, count), paths.repeated(body.path, count))
