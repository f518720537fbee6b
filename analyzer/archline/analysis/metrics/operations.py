"""Define what single steps cost in the requested metrics, and the cost of expressions: the operators' rows of the
table.

docs/reference/cost-rules.md has the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Protocol

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
from archline.algebra.polynomial import Poly
from archline.analysis.metrics.tally import FREE, Tally, choose_tally, make_unknown_tally
from archline.ir.amounts import UNIT_AMOUNT, Amount, exact_amount, map_bounds, scale_amount
from archline.ir.conditions import bound_indicator
from archline.ir.max_plus import SYNC_MAP, serial_map
from archline.ir.ranges import take_if_nonempty
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

_NO_CONTEXT = nullcontext()


class CostModel:
    """Counts events in some metrics of the registry; subclasses count other quantities.

    `asked` names the metrics that are derived; auxiliary ones may be counted too.
    """

    upper_only = False
    """True if lower bounds are needed only where they are exact."""

    def __init__(self, asked: Iterable[MetricDefinition], auxiliary: Iterable[MetricDefinition] = ()) -> None:
        """Create a model that counts the metrics `asked`, and `auxiliary` metrics that the derivation itself needs."""
        chosen = tuple(asked)
        self.asked = tuple(definition.name for definition in chosen)
        self._metrics = {definition.name: definition for definition in (*chosen, *auxiliary)}
        paths = [name for name, definition in self._metrics.items() if definition.composition is Composition.MAX_PLUS]
        self._paths = frozenset(paths)
        self.sync = Tally(paths=dict.fromkeys(paths, SYNC_MAP))

    @property
    def recurrence_metrics(self) -> tuple[str, ...]:
        """The metrics that count events, for which recursions have recurrences; metrics that count calls come first."""
        calls = frozenset(self._metrics_counting(CALL))
        counting = [name for name, metric in self._metrics.items() if metric.counts is not None]
        return tuple(sorted(counting, key=lambda name: name not in calls))

    def get_metric(self, name: str) -> MetricDefinition:
        """Return the definition of a metric by its name, or by that of one of its kinds, such as flops.add."""
        return self._metrics[name.partition(".")[0]]

    def build_tally(self, amounts: Mapping[str, Amount], declared: frozenset[str] = frozenset()) -> Tally:
        """Build the tally of code that neither spawns nor syncs from its amounts by name."""
        if not amounts:
            return FREE
        paths = {name: serial_map(amount) for name, amount in amounts.items() if name in self._paths}
        return Tally({name: amount for name, amount in amounts.items() if name not in paths}, paths, None, declared)

    @memoised
    def count_event(self, event: Event, times: int = 1) -> Tally:
        """Return the cost of an event that happens a number of times in sequence."""
        return self.build_tally(
            dict.fromkeys(
                self._metrics_counting(event), UNIT_AMOUNT if times == 1 else exact_amount(Poly.constant(times))
            )
        )

    def count_fork(self, depth: Amount) -> Tally:
        """Return the cost on the critical path of starting the iterations of a parallel loop."""
        return self.build_tally({name: depth for name in self._metrics_counting(FORK) if name in self._paths})

    def _metrics_counting(self, event: Event) -> Iterator[str]:
        for name, metric in self._metrics.items():
            if metric.counts is not None and metric.counts(event):
                yield name
                if metric.by_kind:
                    yield f"{name}.{event.kind}"

    def list_declared_metrics(self, metric: str) -> tuple[str, ...]:
        """Return the metrics, and their kinds, to which a declared amount of a metric is added."""
        added = {metric, *METRICS[metric].within}
        names = tuple(definition.name for definition in self._metrics.values() if definition.name in added)
        return (*names, f"{metric}.{DECLARED}") if METRICS[metric].by_kind and metric in names else names

    # Costs by statement
    effort_factor = 1
    """The effort of a derivation, as a multiple of that for the metrics that are always derived."""

    def attribute_to(self, block: tuple[s.Stmt, ...], index: int) -> AbstractContextManager[None]:
        """Return a context in which all costs are those of one statement of a block, where the model splits costs."""
        return _NO_CONTEXT

    def attribute_to_branch(self, branch: s.Branch) -> AbstractContextManager[None]:
        """Return a context in which all costs are those of a branch after the first, where the model splits costs."""
        return _NO_CONTEXT

    def attribute_call(self, tally: Tally) -> Tally:
        """Return the tally of a callee's body as a cost of the current statement, where the model splits costs."""
        return tally

    def needs_solution(self, name: str, called: bool) -> bool:
        """Test whether a recursive algorithm's costs include a metric or kind, or those of a call of it (`called`)."""
        return True

    # Costs other than events
    def count_statement(self, statement: s.Stmt, scope: Scope) -> Tally:
        """Return the cost of one execution of a statement, in addition to its events and inner blocks."""
        return FREE

    def count_branch(self, branch: s.Branch) -> Tally:
        """Return the cost of coming to a branch after the first, in addition to its events and its body."""
        return FREE

    def count_iteration(self, loop: s.Loop | s.While) -> Tally:
        """Return the cost of one iteration of a loop, in addition to its events and its body."""
        return FREE

    def count_call(self, call: s.Call) -> Tally | None:
        """Return the cost of a call, callee included, if the model defines it; None to derive it from the callee."""
        return None

    def count_fill(self, statement: s.Local | s.Assign, extents: Sequence[Amount], facts: Facts) -> Tally:
        """Return the cost of a whole-array fill or copy: a nest of parallel loops with an event for each iteration."""
        cost = FREE
        for extent in reversed(extents):
            cost = self._repeat_in_parallel(self.count_event(ITERATION).then(cost, facts), extent, facts)
        return cost

    def _repeat_in_parallel(self, once: Tally, trips: Amount, facts: Facts) -> Tally:
        """Return the cost of a parallel loop all of whose iterations cost the same."""

        def compute_depth(count: Poly) -> Poly:
            return facts.simplify(a.ceil_log2(count))

        side_by_side = once.map(
            lambda amount: scale_amount(amount, trips),
            lambda path: serial_map(take_if_nonempty(path.finish, trips, facts)),
        )
        return side_by_side.then(self.count_fork(map_bounds(trips, compute_depth)), facts)


@cache
def make_event_model(*names: str) -> CostModel:
    """Return the model of some metrics of the registry, which count events."""
    return CostModel(METRICS[name] for name in names)


STANDARD = CostModel(
    metric for metric in METRICS.values() if metric.derived is Derived.ALWAYS and metric.composition is not None
)
"""The model of flops, work and span."""


FLOP_KINDS = {
    "+": "add", "-": "sub", "*": "mul", "/": "div", "//": "div", "%": "mod", "^": "pow",
    "==": "compare", "!=": "compare", "<": "compare", "<=": "compare", ">": "compare", ">=": "compare",
    "+=": "add", "-=": "sub", "*=": "mul", "/=": "div", "min=": "min", "max=": "max",
}  # fmt: skip


class OperationCosts(Protocol):
    """The interface that the cost of an expression needs: a cost model, and the costs of calls."""

    @property
    def model(self) -> CostModel:
        """The model of the costs of operators."""

    def derive_call(self, call: s.Call, scope: Scope) -> Tally:
        """Return the cost of a call of an algorithm or an extern."""


def evaluation_cost(expr: s.Expr, scope: Scope, costs: OperationCosts) -> Tally:
    """Return the cost of evaluating an expression once."""
    match expr:
        case s.Integer() | s.Real() | s.Name():
            return FREE
        case s.Unary(operand=operand):
            return evaluation_cost(operand, scope, costs)
        case s.Binary(op="and" | "or"):
            return _short_circuit_cost(expr, scope, costs)
        case s.Binary(op=op, left=left, right=right):
            operands = total_evaluation_cost((left, right), scope, costs)
            return operands.then(
                _operator_cost(FLOP_KINDS[op], (expr, left, right), 1, scope, costs.model), scope.facts
            )
        case s.Call():
            return _call_cost(expr, scope, costs)
        case s.Element(subscripts=subscripts):
            return _subscript_cost(subscripts, scope, costs)
        case s.Reshape(base=base, shape=shape):
            return total_evaluation_cost((base, *shape), scope, costs)


def total_evaluation_cost(parts: tuple[s.Expr, ...], scope: Scope, costs: OperationCosts) -> Tally:
    """Return the cost of evaluating several expressions in sequence."""
    total = FREE
    for part in parts:
        total = total.then(evaluation_cost(part, scope, costs), scope.facts)
    return total


def _subscript_cost(subscripts: tuple[s.Expr | s.Slice, ...], scope: Scope, costs: OperationCosts) -> Tally:
    total = FREE
    for subscript in subscripts:
        if isinstance(subscript, s.Slice):
            bounds = (subscript.lo, subscript.hi, subscript.step)
            cost = total_evaluation_cost(tuple(part for part in bounds if part is not None), scope, costs)
        else:
            cost = evaluation_cost(subscript, scope, costs)
        total = total.then(cost, scope.facts)
    return total


def find_scalar_kind(expr: s.Expr, scope: Scope) -> Kind:
    """Return the kind of a scalar: static, int data or real."""
    type_ = scope.module.types.get(expr, Kind.STATIC)
    kind = type_.element if isinstance(type_, ViewType) else type_
    return scope.element if kind is Kind.ANY else kind


def _operator_cost(kind: str, parts: tuple[s.Expr, ...], uses: int, scope: Scope, model: CostModel) -> Tally:
    """Return the cost of `uses` applications of an operator: flops on reals, work on int data, 0 on sizes.

    `parts` are its operands, and its result, which may be real where they are integers.
    """
    kinds = {find_scalar_kind(part, scope) for part in parts}
    if Kind.REAL in kinds:
        return model.count_event(Event(kind, real=True), uses)
    return model.count_event(INT_OPERATION, uses) if Kind.INT in kinds else FREE


def update_cost(assign: s.Assign, scope: Scope, model: CostModel) -> Tally:
    """Return the cost of the operation in `+=` and similar assignments; 0 for `=`."""
    if assign.op == "=":
        return FREE
    # Only on a grid may a parameter hold the operator, and there flops are not split by kind.
    return _operator_cost(FLOP_KINDS.get(assign.op, "add"), (assign.target, assign.value), 1, scope, model)


def _call_cost(call: s.Call, scope: Scope, costs: OperationCosts) -> Tally:
    if call in scope.module.targets:
        return total_evaluation_cost(call.arguments, scope, costs).then(costs.derive_call(call, scope), scope.facts)
    operands = total_evaluation_cost(call.arguments, scope, costs)
    if call.function == "real_of":
        return operands
    uses = len(call.arguments) - 1 if call.function in ("min", "max") else 1
    return operands.then(_operator_cost(call.function, (call, *call.arguments), uses, scope, costs.model), scope.facts)


def _short_circuit_cost(expr: s.Binary, scope: Scope, costs: OperationCosts) -> Tally:
    """Return the cost of `and` or `or`: the right side is evaluated unless the left side decides."""
    first = evaluation_cost(expr.left, scope, costs)
    second = evaluation_cost(expr.right, scope, costs)
    if second is FREE:
        return first
    needed = bound_indicator(expr.left if expr.op == "and" else s.Unary("not", expr.left, span=expr.left.span), scope)
    return first.then(choose_tally(needed, second, FREE, scope.facts), scope.facts)


def count_declared_costs(amounts: tuple[tuple[s.Expr, str], ...], scope: Scope, source: str, model: CostModel) -> Tally:
    """Return the cost of declared amounts, such as f and flops in `costs f flops`, in all metrics that include them.

    Metrics that the model does not count are omitted; `source` names the declaration.
    """
    total = FREE
    for expr, metric in amounts:
        added = model.list_declared_metrics(metric)
        if not added:
            continue
        try:
            amount = exact_amount(static_value(expr, scope))
        except NotStaticError as problem:
            return make_unknown_tally(f"declared cost: {problem.reason}", expr.span)
        if all(coefficient < 0 for coefficient in amount.lower.terms.values()) and scope.facts.positive(-amount.lower):
            return make_unknown_tally("a declared cost is below 0", expr.span)
        total = total.then(model.build_tally(dict.fromkeys(added, amount), frozenset((source,))), scope.facts)
    return total
