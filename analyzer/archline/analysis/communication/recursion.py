"""Build recurrences for recursive algorithms on a grid, from the costs of each level by cases.

All processors of a group make a recursive call in the same iteration, with the same sizes. So a path goes through the
points of all levels in one order, and bounds of each level add up to a bound of the path: T(sizes, P) = the costs of
the level + T(sizes of the call, P of the call). Between communication steps, statements cost the same as on one
processor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

from archline.algebra import atoms as a
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.expand import expand_logarithms
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Atom, Poly
from archline.analysis.communication.floors import bound_floor_differences, is_nonnegative
from archline.analysis.communication.place import GridAxis, Position, position_at_start
from archline.analysis.cost import Cost
from archline.analysis.metrics.derivation import Derivation
from archline.analysis.metrics.extraction import (
    BodyCase,
    DecisionPath,
    TooManyCasesError,
    UndecidedError,
    enumerate_cases,
)
from archline.analysis.metrics.operations import STANDARD
from archline.analysis.metrics.statements import Outcome
from archline.analysis.metrics.tally import FREE, Tally, choose_tally
from archline.expr.intervals import EvaluationError, Interval, Point
from archline.expr.tree import iterate_defined_sizes
from archline.ir.amounts import UNIT_AMOUNT, ZERO_AMOUNT, Amount, KnownAmount, UnknownAmount, exact_amount
from archline.ir.declarations import declared_scope
from archline.ir.ranges import IterationRange, static_range
from archline.ir.scope import Scope, known_value, static_value
from archline.language import syntax as s
from archline.language.call_graph import find_recursive_component
from archline.language.model import Module
from archline.records import memoised, record, replace
from archline.recurrences.closed.levels import BoundingForms, bound_function_by_levels
from archline.recurrences.evaluate import ValueTable
from archline.recurrences.exact.base_cases import always_terminates
from archline.recurrences.model import IntegerRecurrence, SizeFunction


class StretchCosts(Derivation):
    """Derives the costs of stretches, the statements between communication steps.

    `free` are the statements that only distribute data, which cost nothing.
    """

    _counts_iterations = False

    def __init__(self, module: Module, coarse: bool) -> None:
        super().__init__(module, coarse, STANDARD)
        self.free: set[s.Stmt] = set()

    def find_iteration_range(self, loop: s.Loop, scope: Scope) -> IterationRange:
        return iteration_range(loop, scope)

    def statement(self, statement: s.Stmt, scope: Scope) -> Outcome:
        if statement in self.free:
            return FREE, "", ()
        tally, rule, steps = super().statement(statement, scope)
        if isinstance(statement, s.Local) and statement.when is not None:
            tally = choose_tally(self._indicator_bounds(statement.when, scope), tally, FREE, scope.facts)
        return tally, rule, steps


def iteration_range(loop: s.Loop, scope: Scope) -> IterationRange:
    """Return the iteration range of a loop, with an unused symbol for its variable. Raises NotStaticError."""
    range_ = _simplify_range_end(static_range(_make_ascending(loop, scope), scope), loop, scope)
    last = range_.value.substitute({range_.variable: range_.hi - 1}) + 1
    for atom in last.atoms():
        if isinstance(atom, a.CeilLog2) and last - Poly.of_atom(atom) in (ZERO, -ONE):
            return _HalvingRange(
                range_.variable, range_.lo, range_.hi, range_.value, range_.facts, range_.span, below=atom.argument
            )
    return range_


def _make_ascending(loop: s.Loop, scope: Scope) -> s.Loop:
    """Rename the loop variable, and reverse a loop that descends by one, which has the same sums and maxima."""
    fresh = replace(loop, variable=scope.facts.make_unused_name(loop.variable))
    if not loop.down or loop.step is not None:
        return fresh
    end = s.Binary("+", loop.lo, s.Integer(1, span=loop.lo.span), span=loop.lo.span)
    return replace(fresh, lo=loop.hi, hi=end, down=False)


def _simplify_range_end(range_: IterationRange, loop: s.Loop, scope: Scope) -> IterationRange:
    """Use the end of a loop as written, without a maximum with its start, if it is proved to be no smaller.

    An example is the range from q*w//p to (q + 1)*w//p.
    """
    if loop.down or loop.step is not None:
        return range_
    end = scope.facts.simplify(static_value(loop.hi, scope))
    if end != range_.hi and is_nonnegative(bound_floor_differences(end - range_.lo, scope.facts).lower, scope.facts):
        return replace(range_, hi=end, _done={})
    return range_


@record
class _HalvingRange(IterationRange):
    """The range of `for s in 0..ceil(log2(p))`, with p as `below`: in an iteration p is at least 2."""

    below: Poly = ZERO

    @property
    def inside(self) -> Facts:
        return super().inside.with_nonnegative(self.below - 2)


Corner = tuple[str, ...] | None
"""The processor whose costs are derived, "first" or "last" on each axis; None for the critical path."""
Follow = Callable[["RecursionLevel", Position], Tally]
"""A function that derives the costs of a level with its calls, from the position of a processor at its start."""


@record(eq=False)
class RecursionLevel:
    """One level of a recursion, in one case of its body: conditions on sizes have the outcomes of the path `way`."""

    algorithm: s.Algorithm
    way: DecisionPath

    def decide_indicator(self, branch: s.Branch, holding: KnownAmount, place: Position) -> KnownAmount:
        """Return the indicator of a condition: `holding`, but 0 or 1 by this case if it depends on sizes alone.

        Raises UndecidedError if the case has no outcome for it yet.
        """
        indicator = holding.lower
        if (
            place.algorithm is not self.algorithm
            or not holding.exact
            or indicator.is_constant
            or not indicator.names <= place.fixed
        ):
            return holding
        for decision in self.way.decisions:
            if decision.branch is branch:
                return UNIT_AMOUNT if decision.taken else ZERO_AMOUNT
        assert branch.condition is not None
        raise UndecidedError(branch, indicator, branch.condition, place)


class GridRecursions:
    """The recurrences of a module's recursive algorithms on grids, and their solutions, each derived once."""

    def __init__(
        self, module: Module, stretches: StretchCosts, metrics: Sequence[str], follow: Follow, longest: Poly | None
    ) -> None:
        """`follow` derives the costs of a level in all metrics, `stretches` those between communication steps.

        `longest` is the maximum words of a message; None for messages of any length.
        """
        self.stretches = stretches
        self.longest = longest
        self._module = module
        self._metrics = metrics
        self._follow = follow
        self.followed: dict[object, Any] = {}
        """The costs of callees that were followed before, by a key of their inputs."""

    # Calls
    def call_amounts(
        self, callee: s.Algorithm, inside: Position, at: s.Node, level: RecursionLevel | None
    ) -> Mapping[str, Amount]:
        """Return the costs of a call of a recursive algorithm by metric; `inside` is the position at its start.

        For a call within the recursion itself (`level`) they are unknown functions of the sizes, else closed forms.
        """
        facts, values = inside.facts, inside.values
        values = {
            name: expand_logarithms(facts.restore(facts.simplify(values[name])))
            for name in self._parameter_names(callee)
        }
        metrics = self._metrics if callee.grid else ("memory",)
        if any(map(inside.depends_on_coordinates, values.values())):
            return dict.fromkeys(
                metrics, UnknownAmount("the sizes of a recursive call differ between processors", at.span)
            )
        corner = None if inside.ranged or not callee.grid else _find_corner(callee, inside)
        if level is not None and level.algorithm is callee:
            arguments = tuple(values[name] for name in self._parameter_names(callee))
            return {metric: _unknown_call_amount(metric, corner, arguments) for metric in metrics}
        if len(find_recursive_component(self._module, callee)) > 1:
            reason = UnknownAmount("the costs of mutual recursion on a grid are not derived", at.span)
            return dict.fromkeys(metrics, reason)
        return {metric: self._bound_cost_at_call(callee, metric, corner, values, at) for metric in metrics}

    def _bound_cost_at_call(
        self, callee: s.Algorithm, metric: str, corner: Corner, values: Mapping[str, Poly], at: s.Node
    ) -> Amount:
        bound = self.find_closed_bound(callee, metric, None)
        if isinstance(bound, UnknownAmount):
            return replace(bound, span=at.span)
        upper = expand_logarithms(bound.substitute(values))
        if not callee.grid:
            form = self._closed_form(callee, metric, None)
            assert not isinstance(form, UnknownAmount)
            return exact_amount(upper) if form.lower == form.upper else KnownAmount(ZERO, upper)
        lower = self.find_closed_bound(callee, metric, corner) if corner else ZERO
        return KnownAmount(
            ZERO if isinstance(lower, UnknownAmount) else expand_logarithms(lower.substitute(values)), upper
        )

    def _parameter_names(self, algorithm: s.Algorithm) -> tuple[str, ...]:
        """List the sizes and indices of an algorithm, and P on a grid."""
        signature = self._module.signatures[algorithm]
        return (*signature.size_names, *signature.indices, *(("P",) if algorithm.grid else ()))

    def find_declared_costs(self, callee: s.Algorithm, level: RecursionLevel | None) -> frozenset[str]:
        """Return the names of the declared costs in a call; none within the recursion itself."""
        if level is not None and level.algorithm is callee:
            return frozenset()
        cases = self.derive_cases(callee, None) if len(find_recursive_component(self._module, callee)) == 1 else ()
        return (
            frozenset()
            if isinstance(cases, UnknownAmount)
            else frozenset().union(*(case.tally.declared for case in cases))
        )

    # Recurrences
    @memoised
    def derive_cases(self, algorithm: s.Algorithm, corner: Corner) -> tuple[BodyCase, ...] | UnknownAmount:
        """Derive the cases of the body, one for each path by conditions on sizes."""
        start = self._start_position(algorithm, corner)

        def derive_case(way: DecisionPath) -> BodyCase:
            place = start.with_facts(way.known.facts)
            return BodyCase(way, way.known.facts, self._follow(RecursionLevel(algorithm, way), place))

        try:
            return tuple(enumerate_cases(start.facts, derive_case))
        except TooManyCasesError:
            return UnknownAmount(f"`{algorithm.name}` has too many cases to follow", algorithm.span)

    def _start_position(self, algorithm: s.Algorithm, corner: Corner) -> Position:
        if not algorithm.grid:
            return Position.of(declared_scope(self._module, algorithm), algorithm)
        given = None if corner is None else dict(zip((axis.name for axis in algorithm.grid), corner, strict=True))
        start = position_at_start(self._module, algorithm, given)
        assert start is not None
        return start

    @memoised
    def build_recurrence(self, algorithm: s.Algorithm, metric: str, corner: Corner) -> SizeFunction | UnknownAmount:
        """Build the recurrence of a metric: for an upper bound of the path, or a lower bound of a corner's costs."""
        cases = self.derive_cases(algorithm, corner)
        if isinstance(cases, UnknownAmount):
            return cases
        defined = self._defined_sizes(algorithm)
        equations = []
        for case in cases:
            amount = case.tally.amount(metric)
            if isinstance(amount, UnknownAmount):
                return amount
            value = case.facts.restore(amount.upper if corner is None else amount.lower)
            # Indicators are written in the sizes of the algorithm too.
            decisions = tuple(
                replace(decision, indicator=case.facts.restore(decision.indicator)) for decision in case.decisions
            )
            in_sizes = replace(case, way=replace(case.way, decisions=decisions))
            equations.append(
                in_sizes.build_equation(_eliminate_defined_sizes(value, self._parameter_names(algorithm), defined))
            )
        parameters = tuple(name for name in self._parameter_names(algorithm) if name not in defined)
        least = {**self._module.signatures[algorithm].at_least, "P": 1}
        least = {name: low for name, low in least.items() if name in parameters}
        name = _function_name(metric, corner)
        function = SizeFunction(name, algorithm, parameters, least, Facts(), tuple(equations), algorithm.where)
        if not always_terminates(function, ()):
            return UnknownAmount(f"the recursion of `{algorithm.name}` is not proved to end", algorithm.span)
        return function

    def _defined_sizes(self, algorithm: s.Algorithm) -> dict[str, Poly]:
        """Map the sizes that `where` defines by other ones, as in s == n*m/P, to their definitions."""
        scope = declared_scope(self._module, algorithm)
        result: dict[str, Poly] = {}
        for name, expr in iterate_defined_sizes(algorithm.where):
            if name not in scope.values or name in result:
                continue
            form = known_value(expr, scope)
            if form is None:
                continue
            value = scope.facts.restore(form)
            if value.names.isdisjoint({name, *result}) and all(name not in prior.names for prior in result.values()):
                result[name] = value
        return result

    def find_closed_bound(self, algorithm: s.Algorithm, metric: str, corner: Corner) -> Poly | UnknownAmount:
        """Return a closed form in the sizes and P: an upper bound of the path, or for a corner a lower bound."""
        form = self._closed_form(algorithm, metric, corner)
        if isinstance(form, UnknownAmount):
            return form
        value = form.upper if corner is None else form.lower
        if value is None:
            return UnknownAmount(
                f"no closed form or bound of the recursion of `{algorithm.name}` was found", algorithm.span
            )
        if form.leaf is None:
            return value
        outcomes = (
            decision.indicator if decision.taken else ONE - decision.indicator for decision in form.leaf.decisions
        )
        return value + prod(outcomes, start=ONE) * (form.leaf.value - value)

    @memoised
    def _closed_form(self, algorithm: s.Algorithm, metric: str, corner: Corner) -> BoundingForms | UnknownAmount:
        function = self.build_recurrence(algorithm, metric, corner)
        return function if isinstance(function, UnknownAmount) else bound_function_by_levels(function)

    # Results
    def add_recurrence(self, cost: Cost, algorithm: s.Algorithm, more: Poly) -> Cost:
        """Add the recurrences of a recursive algorithm to a cost, for values at sizes and for growth.

        `more` is the cost that only the outermost call adds.
        """
        corners = [None, *product(("first", "last"), repeat=len(algorithm.grid))]
        functions = [self.build_recurrence(algorithm, cost.metric, corner) for corner in corners]
        upper, lowers = functions[0], [function for function in functions[1:] if isinstance(function, SizeFunction)]
        if isinstance(upper, UnknownAmount) or not lowers:
            return cost
        values = ValueTable({function.name: function for function in (upper, *lowers)})
        more = more.substitute(self._defined_sizes(algorithm))

        def enclose_metric(sizes: Point) -> Interval:
            point = {name: int(value) for name, value in sizes.items()}
            if not point.keys() >= set(upper.parameters):
                raise EvaluationError("some sizes have no value")
            least = max(values.evaluate_at(lower.name, point) for lower in lowers)
            return Interval(least, values.evaluate_at(upper.name, point)) + Interval.of(evaluate(more, point))

        return replace(
            cost,
            interval_at=enclose_metric,
            recursion=IntegerRecurrence(lowers[0], upper, None, lambda _: {}, scales=True, more=more),
        )


def _unknown_call_amount(metric: str, corner: Corner, arguments: tuple[Poly, ...]) -> Amount:
    """Return the cost of a recursive call as an unknown function; an empty corner has only the path's upper bound."""
    if corner == ():
        return KnownAmount(ZERO, Poly.of_atom(a.AppliedFunction(_function_name(metric, None), arguments)))
    return exact_amount(Poly.of_atom(a.AppliedFunction(_function_name(metric, corner), arguments)))


def _eliminate_defined_sizes(value: Poly, names: Sequence[str], defined: Mapping[str, Poly]) -> Poly:
    """Replace sizes by their definitions in a value, and drop them from the arguments of recursive calls."""
    if not defined:
        return value

    def rewrite_call(atom: Atom) -> Poly | None:
        if not isinstance(atom, a.AppliedFunction):
            return None
        named = zip(names, atom.arguments, strict=True)
        arguments = tuple(argument.substitute(defined) for name, argument in named if name not in defined)
        return Poly.of_atom(a.AppliedFunction(atom.function, arguments))

    return value.map_within(rewrite_call).substitute(defined)


def _function_name(metric: str, corner: Corner) -> str:
    return metric if corner is None else f"{metric} of {', '.join(corner)}"


def _find_corner(callee: s.Algorithm, inside: Position) -> tuple[str, ...]:
    """Return the corner that a processor is at; empty if it is at none."""
    ends = [_find_axis_end(inside.axes[axis.name], inside.facts) for axis in callee.grid]
    return () if None in ends else tuple(end for end in ends if end is not None)


def _find_axis_end(axis: GridAxis, facts: Facts) -> str | None:
    if not facts.simplify(axis.coordinate):
        return "first"
    return "last" if not facts.simplify(axis.extent - axis.coordinate - 1) else None
