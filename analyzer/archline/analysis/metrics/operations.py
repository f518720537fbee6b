"""What single steps cost in the metrics that are asked for, and expressions: the operators' rows of the cost table.

docs/reference/cost-rules.md has the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Protocol

from archline.algebra.facts import Facts
from archline.algebra.polynomial import Poly
from archline.analysis.metrics.tally import FREE, Tally, chosen, repeated, unknown
from archline.ir.amounts import UNIT, Amount, exact_amount
from archline.ir.conditions import indicator_bounds
from archline.ir.max_plus import SYNC, serial_map
from archline.ir.scope import NotStaticError, Scope, static_value
from archline.language import syntax as s
from archline.language.metrics import (
    CALL,
    DECLARED,
    FORK,
    INT_OPERATION,
    ITERATION,
    METRICS,
    Composition,
    Derived,
    Event,
    MetricDefinition,
)
from archline.language.model import Kind, ViewType
from archline.records import memoised


class CostModel:
    """Counts events in some metrics of the registry. Subclasses count other things.

    `asked` names the metrics that are derived; auxiliary ones may be counted too.
    """

    upper_only = False
    """Whether lower bounds are of use only where they are exact."""

    def __init__(self, asked: Iterable[MetricDefinition], auxiliary: Iterable[MetricDefinition] = ()) -> None:
        """`auxiliary`: metrics that the derivation itself needs."""
        chosen = tuple(asked)
        self.asked = tuple(each.name for each in chosen)
        self._metrics = {each.name: each for each in (*chosen, *auxiliary)}
        paths = [name for name, each in self._metrics.items() if each.composition is Composition.MAX_PLUS]
        self._paths = frozenset(paths)
        self.sync = Tally(paths=dict.fromkeys(paths, SYNC))

    @property
    def expected(self) -> tuple[str, ...]:
        """The metrics that every recursion is counted in; those that count its calls first."""
        calls = frozenset(self._counting(CALL))
        counting = [name for name, each in self._metrics.items() if each.counts is not None]
        return tuple(sorted(counting, key=lambda name: name not in calls))

    def metric(self, name: str) -> MetricDefinition:
        """The metric of a name, or the one that it is a kind of."""
        return self._metrics[name.partition(".")[0]]

    def tally(self, amounts: Mapping[str, Amount], declared: frozenset[str] = frozenset()) -> Tally:
        """Amounts by name, of a stretch that neither spawns nor syncs."""
        if not amounts:
            return FREE
        paths = {name: serial_map(each) for name, each in amounts.items() if name in self._paths}
        return Tally({name: each for name, each in amounts.items() if name not in paths}, paths, None, declared)

    @memoised
    def event(self, event: Event, times: int = 1) -> Tally:
        """What an event costs that happens a number of times, one after the other."""
        return self.tally(
            dict.fromkeys(self._counting(event), UNIT if times == 1 else exact_amount(Poly.constant(times)))
        )

    def fork(self, depth: Amount) -> Tally:
        """What starting the iterations of a parallel loop adds to paths."""
        return self.tally({name: depth for name in self._counting(FORK) if name in self._paths})

    def _counting(self, event: Event) -> Iterator[str]:
        for name, each in self._metrics.items():
            if each.counts is not None and each.counts(event):
                yield name
                if each.by_kind:
                    yield f"{name}.{event.kind}"

    def declared(self, metric: str) -> tuple[str, ...]:
        """The metrics, and their kinds, that a declared amount of a metric adds to."""
        added = {metric, *METRICS[metric].within}
        names = tuple(each.name for each in self._metrics.values() if each.name in added)
        return (*names, f"{metric}.{DECLARED}") if METRICS[metric].by_kind and metric in names else names

    # Costs other than events
    def statement(self, statement: s.Stmt, scope: Scope) -> Tally:
        """What each execution of a statement costs, apart from events and from the blocks inside it."""
        return FREE

    def iteration(self, loop: s.Loop | s.While) -> Tally:
        """What each iteration of a loop costs, apart from events and from its body."""
        return FREE

    def call(self, call: s.Call) -> Tally | None:
        """What a call costs including its body; None where that is to be derived."""
        return None

    def fill(self, statement: s.Local | s.Assign, extents: Sequence[Amount], facts: Facts) -> Tally:
        """A whole-array fill or copy: a loop nest over its elements, each of whose iterations is an event."""
        return nest(self.event(ITERATION), FREE, extents, facts)


def nest(each: Tally, inside: Tally, extents: Sequence[Amount], facts: Facts) -> Tally:
    """A loop nest: `each` is the cost of an iteration at every level, `inside` that of the innermost body."""
    cost = inside
    for extent in reversed(extents):
        cost = repeated(each.then(cost, facts), extent)
    return cost


@cache
def events_of(*names: str) -> CostModel:
    """The model of some metrics of the registry, which count events."""
    return CostModel(METRICS[name] for name in names)


STANDARD = CostModel(
    each for each in METRICS.values() if each.derived is Derived.ALWAYS and each.composition is not None
)
"""Flops, work and span."""


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
    needed = indicator_bounds(expr.left if expr.op == "and" else s.Unary("not", expr.left, span=expr.left.span), scope)
    return first.then(chosen(needed, second, FREE, scope.facts), scope.facts)


def declared_amounts(amounts: tuple[tuple[s.Expr, str], ...], scope: Scope, source: str, model: CostModel) -> Tally:
    """`costs f flops`: adds to all metrics that count flops. Metrics that the model does not count are left out."""
    total = FREE
    for expr, metric in amounts:
        added = model.declared(metric)
        if not added:
            continue
        try:
            amount = exact_amount(static_value(expr, scope))
        except NotStaticError as problem:
            return unknown(f"declared cost: {problem.reason}", expr.span)
        if all(each < 0 for each in amount.lower.terms.values()) and scope.facts.positive(-amount.lower):
            return unknown("a declared cost below 0", expr.span)
        total = total.then(model.tally(dict.fromkeys(added, amount), frozenset((source,))), scope.facts)
    return total
