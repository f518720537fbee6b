"""What evaluating an expression costs: the operators' rows of the cost table (docs/reference/cost-rules.md)."""

from __future__ import annotations

from typing import Protocol

from archline.analysis.metrics.cost_model import CostModel
from archline.analysis.metrics.tally import FREE, Tally, chosen, unknown
from archline.ir.amounts import exactly
from archline.ir.conditions import holding
from archline.ir.scope import NotStaticError, Scope, static_value
from archline.language import syntax as s
from archline.language.metrics import INT_OPERATION, Event
from archline.language.model import Kind, ViewType

FLOP_KINDS = {
    "+": "add", "-": "sub", "*": "mul", "/": "div", "//": "div", "%": "mod", "^": "pow",
    "==": "compare", "!=": "compare", "<": "compare", "<=": "compare", ">": "compare", ">=": "compare",
    "+=": "add", "-=": "sub", "*=": "mul", "/=": "div", "min=": "min", "max=": "max",
}  # fmt: skip


class OperationCosts(Protocol):
    """What the steps of an expression cost."""

    @property
    def model(self) -> CostModel:
        """What operators cost."""

    def call(self, call: s.Call, scope: Scope) -> Tally:
        """What a call of an algorithm or an extern costs."""


def evaluation(expr: s.Expr, scope: Scope, costs: OperationCosts) -> Tally:
    """The cost of evaluating an expression once."""
    match expr:
        case s.Integer() | s.Real() | s.Name():
            return FREE
        case s.Unary(operand=operand):
            return evaluation(operand, scope, costs)
        case s.Binary(op="and" | "or"):
            return _short_circuit(expr, scope, costs)
        case s.Binary(op=op, left=left, right=right):
            operands = evaluations((left, right), scope, costs)
            return operands.then(_operator(FLOP_KINDS[op], (left, right), 1, scope, costs.model), scope.facts)
        case s.Call():
            return _call(expr, scope, costs)
        case s.Element(subscripts=subscripts):
            return _subscripts(subscripts, scope, costs)
        case s.Reshape(base=base, shape=shape):
            return evaluations((base, *shape), scope, costs)


def evaluations(parts: tuple[s.Expr, ...], scope: Scope, costs: OperationCosts) -> Tally:
    """The cost of evaluating several expressions, one after the other."""
    total = FREE
    for part in parts:
        total = total.then(evaluation(part, scope, costs), scope.facts)
    return total


def _subscripts(subscripts: tuple[s.Expr | s.Slice, ...], scope: Scope, costs: OperationCosts) -> Tally:
    total = FREE
    for subscript in subscripts:
        if isinstance(subscript, s.Slice):
            bounds = (subscript.lo, subscript.hi, subscript.step)
            cost = evaluations(tuple(part for part in bounds if part is not None), scope, costs)
        else:
            cost = evaluation(subscript, scope, costs)
        total = total.then(cost, scope.facts)
    return total


def kind_of(expr: s.Expr, scope: Scope) -> Kind:
    """Whether a scalar is static, int data or real."""
    found = scope.module.types.get(expr, Kind.STATIC)
    kind = found.element if isinstance(found, ViewType) else found
    return scope.element if kind is Kind.ANY else kind


def _operator(kind: str, operands: tuple[s.Expr, ...], uses: int, scope: Scope, model: CostModel) -> Tally:
    """One operator applied `uses` times: a flop on reals, 1 work on int data, nothing on sizes."""
    kinds = {kind_of(operand, scope) for operand in operands}
    if Kind.REAL in kinds:
        return model.event(Event(kind, real=True), uses)
    return model.event(INT_OPERATION, uses) if Kind.INT in kinds else FREE


def update(assign: s.Assign, scope: Scope, model: CostModel) -> Tally:
    """The operation in `+=` and its kin; nothing for `=`."""
    if assign.op == "=":
        return FREE
    # Only on a grid may a parameter hold the operator, and there flops are not split by kind.
    return _operator(FLOP_KINDS.get(assign.op, "add"), (assign.target, assign.value), 1, scope, model)


def _call(call: s.Call, scope: Scope, costs: OperationCosts) -> Tally:
    if call in scope.module.targets:
        return evaluations(call.arguments, scope, costs).then(costs.call(call, scope), scope.facts)
    operands = evaluations(call.arguments, scope, costs)
    if call.function == "real_of":
        return operands
    uses = len(call.arguments) - 1 if call.function in ("min", "max") else 1
    return operands.then(_operator(call.function, call.arguments, uses, scope, costs.model), scope.facts)


def _short_circuit(expr: s.Binary, scope: Scope, costs: OperationCosts) -> Tally:
    """`and`, `or`: the right side is evaluated where the left does not decide."""
    first = evaluation(expr.left, scope, costs)
    second = evaluation(expr.right, scope, costs)
    if second is FREE:
        return first
    needed = holding(expr.left if expr.op == "and" else s.Unary("not", expr.left, span=expr.left.span), scope)
    return first.then(chosen(needed, second, FREE, scope.facts), scope.facts)


def declared_amounts(amounts: tuple[tuple[s.Expr, str], ...], scope: Scope, source: str, model: CostModel) -> Tally:
    """`costs f flops`: adds to all metrics that count flops. Metrics that the model does not count are left out."""
    total = FREE
    for expr, metric in amounts:
        added = model.declared(metric)
        if not added:
            continue
        try:
            amount = exactly(static_value(expr, scope))
        except NotStaticError as problem:
            return unknown(f"declared cost: {problem.reason}", expr.span)
        if all(each < 0 for each in amount.lower.terms.values()) and scope.facts.positive(-amount.lower):
            return unknown("a declared cost below 0", expr.span)
        total = total.then(model.tally(dict.fromkeys(added, amount), frozenset((source,))), scope.facts)
    return total
