"""Follow a program on a grid: derive the costs of a given processor, or of the critical paths through all.

A step is a communication in which processors take part in the same iteration, so that a path visits the points of the
program in the order of the text and of the iterations. Its flops, words and messages are therefore at most the sum,
over steps and the stretches between them in which nothing is sent, of the maximum over processors. The costs of any
single processor are at most those of the critical path. If one processor attains every maximum, both are equal.

Some collectives bring the critical path to every processor. In step s of a dissemination (Hensgen, Finkel,
Manber 1988; Bruck et al. 1997) each processor sends to the one at distance 2^s. In each of the ceil(log2(P)) steps, in
any order, a path moves by this distance or stays, so that it can end at any distance from 0 to P - 1. If each step
costs the same on all processors, all paths through the steps cost the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from itertools import groupby

from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Poly
from archline.analysis.communication.floors import iterate_lower_bounds, iterate_upper_bounds
from archline.analysis.communication.path_steps import PathStep, make_call_step, make_step
from archline.analysis.communication.place import Position, find_free_statements, position_in_callee, position_in_split
from archline.analysis.communication.recursion import GridRecursions, RecursionLevel, iteration_range
from archline.analysis.communication.steps import METRICS as MOVED
from archline.analysis.communication.steps import count_exchange, sends_everywhere
from archline.analysis.metrics.operations import evaluation_cost, total_evaluation_cost
from archline.analysis.metrics.tally import Tally
from archline.expr import build as b
from archline.expr.text import format_expression
from archline.expr.tree import has_same_structure, substitute_names
from archline.ir.amounts import (
    MAX_TERMS,
    UNIT_AMOUNT,
    ZERO_AMOUNT,
    Amount,
    KnownAmount,
    UnknownAmount,
    add_amounts,
    bound_either_amount,
    choose_by_indicator,
    exact_amount,
    intersect_amounts,
    scale_amount,
    widen_to_zero,
)
from archline.ir.conditions import is_summable
from archline.ir.ranges import IterationRange
from archline.ir.scope import NotStaticError, floor_while_bound, static_value
from archline.language import syntax as s
from archline.language.call_graph import (
    find_reachable,
    find_recursive_component,
    iterate_callees,
    iterate_declared_costs,
)
from archline.language.iterations import name_unbounded_loops
from archline.language.metrics import TEST
from archline.language.model import Module
from archline.language.visitor import StatementVisitor
from archline.records import field, record, replace

PROCESSORS = b.name("P")
LEVEL_COUNT, LAST_DISTANCE = "ceil(log2(P))", "2^(ceil(log2(P)) - 1)"
DISTANCES_BY_LOOP = {
    ("0", LEVEL_COUNT, False): "whole",
    ("0", f"{LEVEL_COUNT} - 1", False): "but last",
    (f"{LEVEL_COUNT} - 1", "0", True): "whole",
    (f"{LEVEL_COUNT} - 2", "0", True): "but last",
}
"""The part of the distances 1, 2, 4, ... that a loop over their logarithms visits, by its bounds and direction."""


def is_dissemination(algorithm: s.Algorithm) -> bool:
    """Test whether the steps of an algorithm on a line of P processors are exactly those of a dissemination."""
    body = algorithm.body
    if len(algorithm.grid) != 1 or not has_same_structure(algorithm.grid[0].extent, PROCESSORS):
        return False
    guards = (guard for guard in s.find_nodes(body, s.If) if any(s.find_nodes(guard, s.Communicate)))
    if any(s.find_nodes(body, s.Split, s.While, s.Invoke)) or not all(map(excludes_single_processor, guards)):
        return False
    steps = [
        _recognise_dissemination_step(exchange, body, algorithm.grid[0].name)
        for exchange in s.find_nodes(body, s.Communicate)
    ]
    distances = sorted(distance for distance, _ in steps)
    return distances in (["whole"], ["but last", "last"]) and len({direction for _, direction in steps}) == 1


def excludes_single_processor(guard: s.If) -> bool:
    """Test whether an `if` tests P > 1 alone, which excludes only a group of one processor without partners."""
    conditions = [branch.condition for branch in guard.branches]
    return [None if condition is None else format_expression(condition) for condition in conditions] == ["P > 1"]


def _recognise_dissemination_step(
    exchange: s.Communicate, body: tuple[s.Stmt, ...], coordinate: str
) -> tuple[str, str]:
    """Return the part of the distances by which all processors send in a step, and the direction, as "+" or "-".

    Empty strings for a step of any other form.
    """
    clauses = {clause.keyword: clause for clause in exchange.clauses}
    to, origin = clauses.get("to"), clauses.get("from")
    if exchange.operation != "exchange" or to is None or origin is None or to.when or origin.when:
        return "", ""
    blocks = (
        body,
        *(node.body for node in s.find_nodes(body, s.Loop)),
        *(node.body for node in s.find_nodes(body, s.Branch)),
    )
    block_of_exchange = next(block for block in blocks if exchange in block)
    lets = {let.name: let.value for let in s.find_nodes(block_of_exchange, s.Let)}
    ends = [_recognise_partner_distance(clause.values[0], coordinate, lets) for clause in (to, origin)]
    (distance, direction), (back, opposite) = ends
    if distance != back or {direction, opposite} != {"+", "-"}:
        return "", ""
    match [node for node in s.find_nodes(body, s.Loop) if exchange in s.find_nodes(node, s.Communicate)]:
        case [] if distance == LAST_DISTANCE:
            return "last", direction
        case [loop] if loop.step is None and not loop.parallel and distance == f"2^{loop.variable}":
            return DISTANCES_BY_LOOP.get(
                (format_expression(loop.lo), format_expression(loop.hi), loop.down), ""
            ), direction
        case _:
            return "", ""


def _recognise_partner_distance(value: s.Expr, coordinate: str, lets: Mapping[str, s.Expr]) -> tuple[str, str]:
    match value:
        case s.Binary(
            op="%",
            left=s.Binary(op="+" | "-" as direction, left=s.Name(id=start), right=distance),
            right=s.Name(id="P"),
        ) if start == coordinate:
            return format_expression(substitute_names(distance, lets)), direction
        case _:
            return "", ""


COMPUTED = ("flops", "work")
METRICS = (*COMPUTED, *MOVED)


@record
class DisseminationStage:
    """A part of a program that ends with the call of a dissemination, with the costs `before` it and of its `steps`.

    The processors along `axes` take part. `even` is true if all participants send something in each step.
    """

    call: s.Call
    axes: tuple[str, ...]
    before: Mapping[str, Amount]
    steps: Mapping[str, Amount]
    even: bool


@record
class PathIteration:
    """The costs of one iteration of a loop without a bound, by metric; `name` is the name of its iteration count.

    If `repeated`, a path may reach the loop several times, each time on another processor.
    """

    name: str
    amounts: Mapping[str, Amount]
    repeated: bool = False


@record
class PathCosts:
    """The costs of a part of a program by metric, with the names of the declared costs in them.

    `stages` are its consecutive stages, which all processors go through, and `rest` the costs after the last one.
    `steps` are the costs of each statement, if requested. `rounds` has, for each path to a loop without a bound, the
    costs of one iteration, which `amounts` does not include.
    """

    amounts: Mapping[str, Amount] = field(default_factory=dict)
    declared: frozenset[str] = frozenset()
    stages: tuple[DisseminationStage, ...] = ()
    rest: Mapping[str, Amount] = field(default_factory=dict)
    steps: tuple[PathStep, ...] = ()
    rounds: tuple[PathIteration, ...] = ()

    def of(self, metric: str) -> Amount:
        return self.amounts.get(metric, ZERO_AMOUNT)

    def then(self, following: PathCosts) -> PathCosts:
        """Return the costs of this part followed by another one."""
        amounts, declared = _sum_amounts(self.amounts, following.amounts), self.declared | following.declared
        steps, rounds = self.steps + following.steps, self.rounds + following.rounds
        if len({part.name for part in rounds}) < len(rounds):
            rounds = _mark_iterations_repeated(rounds)
        if not (self.stages or following.stages):
            return PathCosts(amounts, declared, steps=steps, rounds=rounds)
        tail = self.rest if self.stages else self.amounts
        if not following.stages:
            return PathCosts(amounts, declared, self.stages, _sum_amounts(tail, following.amounts), steps, rounds)
        first, *more = following.stages
        stages = (*self.stages, replace(first, before=_sum_amounts(tail, first.before)), *more)
        return PathCosts(amounts, declared, stages, following.rest, steps, rounds)

    def map(
        self, function: Callable[[Amount], Amount], of_rounds: Callable[[Amount], Amount] | None = None
    ) -> PathCosts:
        """Apply `function` to every amount; stages are dropped. `of_rounds`, if given, maps the costs of iterations."""
        amounts = {name: function(self.of(name)) for name in METRICS}
        rounds = tuple(
            replace(part, amounts={name: (of_rounds or function)(amount) for name, amount in part.amounts.items()})
            for part in self.rounds
        )
        steps = tuple(step.map_totals(function) for step in self.steps)
        return PathCosts(amounts, self.declared, steps=steps, rounds=rounds)

    def repeat_iterations(self) -> PathCosts:
        """Return the costs of a part of a program that a path may reach several times.

        Iterations of a loop without a bound are counted once for the whole path; steps that contain them are dropped.
        """
        counts = {part.name for part in self.rounds}
        steps = tuple(
            step
            for step in self.steps
            if not any(
                isinstance(amount, KnownAmount) and counts & amount.upper.names for amount in step.amounts.values()
            )
        )
        return replace(self, steps=steps, rounds=_mark_iterations_repeated(self.rounds))

    def tighten(self, other: PathCosts, facts: Facts) -> PathCosts:
        """Combine two bounds of one part of a program to the tighter one for each metric; the stages stay unchanged."""
        return replace(
            self, amounts={name: intersect_amounts(self.of(name), other.of(name), facts) for name in METRICS}
        )


def _count_by_symbol(name: str) -> KnownAmount:
    return exact_amount(Poly.symbol(name))


def _mark_iterations_repeated(rounds: tuple[PathIteration, ...]) -> tuple[PathIteration, ...]:
    return tuple(replace(part, repeated=True) for part in rounds)


def keep_amount(amount: Amount) -> Amount:
    """Return an amount unchanged."""
    return amount


def _sum_amounts(one: Mapping[str, Amount], other: Mapping[str, Amount]) -> Mapping[str, Amount]:
    return {name: add_amounts(one.get(name, ZERO_AMOUNT), other.get(name, ZERO_AMOUNT)) for name in METRICS}


FREE, UNIT_COSTS = PathCosts(), PathCosts({"work": UNIT_AMOUNT})


def unknown_path_costs(reason: str, node: s.Node) -> PathCosts:
    """Return costs that are unknown in all metrics, for a reason."""
    return PathCosts(dict.fromkeys(METRICS, UnknownAmount(reason, node.span)))


def _flops_and_work(tally: Tally) -> PathCosts:
    return PathCosts({"flops": tally.total_amount("flops"), "work": tally.amount("work")}, tally.declared)


class GridWalk(StatementVisitor[Position, PathCosts]):
    """Follows one processor, or all processors together, through a program, and derives its costs by metric."""

    def __init__(
        self, module: Module, recursions: GridRecursions, level: RecursionLevel | None = None, *, stepwise: bool = False
    ) -> None:
        """Start a follower of processors; `recursions` has the costs of recursive calls.

        `level` is the case of a recursion that is followed, if any. With `stepwise` the costs of each statement are
        derived too.
        """
        self._module = module
        self._recursions = recursions
        self._stretches = recursions.stretches
        self.longest = recursions.longest
        self._level = level
        self._stepwise = stepwise
        self._uneven = False

    @property
    def without_guard_counts(self) -> GridWalk:
        """A follower that counts no guards: guarded code is bounded as never or always executed."""
        unguarded = copy(self)
        unguarded._stretches = self._stretches.without_guard_counts
        return unguarded

    def derive_body_costs(self, algorithm: s.Algorithm, place: Position) -> PathCosts:
        """Derive the costs of the body of an algorithm on a grid."""
        self._stretches.free.update(find_free_statements(self._module, algorithm))
        return self.block_costs(algorithm.body, place)

    def block_costs(self, body: tuple[s.Stmt, ...], place: Position) -> PathCosts:
        """Derive the costs of statements that follow each other."""
        total = FREE
        for speaks, group in groupby(body, self._may_communicate):
            statements = tuple(group)
            if not speaks:
                total = total.then(self._stretch_costs(statements, place))
            for statement in statements:
                if speaks:
                    spent = self.statement(statement, place)
                    total = total.then(spent if place.average is None else spent.map(_lower_amount))
                place = place.position_after(statement)
        return total

    def _communication_of_stretch(self, amount: Amount, statements: tuple[s.Stmt, ...]) -> Amount:
        """Return the words or messages `amount` of a stretch; 0 if it is unknown and no statement declares costs."""
        return amount if isinstance(amount, KnownAmount) or self._declares_costs(statements) else ZERO_AMOUNT

    def _declares_costs(self, statements: tuple[s.Stmt, ...]) -> bool:
        """Test whether statements, or their callees, declare costs."""
        module = self._module
        callees = {
            inner
            for callee in iterate_callees(module, statements)
            for inner in (callee, *find_reachable(module, callee))
        }
        return any(True for _ in iterate_declared_costs(module, (statements, *(callee.body for callee in callees))))

    def _stretch_amounts(self, tally: Tally, statements: tuple[s.Stmt, ...]) -> dict[str, Amount]:
        """Return the costs of a stretch by metric, from its tally."""
        moved = {name: self._communication_of_stretch(tally.amount(name), statements) for name in MOVED}
        return {"flops": tally.total_amount("flops"), "work": tally.amount("work"), **moved}

    def _stretch_costs(self, statements: tuple[s.Stmt, ...], place: Position) -> PathCosts:
        """Derive the costs of a stretch, which are statements without communication."""
        tally, parts = self._stretches.derive_block(statements, place)
        rounds = tuple(
            PathIteration(name, self._stretch_amounts(once, statements)) for name, once in tally.rounds.items()
        )
        spent = self._max_over_processors(
            PathCosts(self._stretch_amounts(tally, statements), tally.declared, rounds=rounds), statements[0], place
        )
        if any(
            isinstance(value, KnownAmount) and place.depends_on_coordinates(value.upper)
            for value in map(tally.amount, tally.names)
        ):
            # Costs without guards counted are an upper bound for every processor.
            unguarded, _ = self._stretches.without_guard_counts.derive_block(statements, place)
            rough = self._max_over_processors(
                PathCosts(self._stretch_amounts(unguarded, statements)), statements[0], place
            )
            spent = spent.tighten(rough, place.facts)
        if not self._stepwise:
            return spent
        costs = [
            self._max_over_processors(PathCosts(self._stretch_amounts(part, statements)), statements[0], place)
            for part in (part.tally.fold_iterations(_count_by_symbol) for part in parts)
        ]
        steps = [step for part, most in zip(parts, costs, strict=True) for step in make_step(part.span, most.amounts)]
        return replace(spent, steps=tuple(steps))

    def _merge_steps(self, spent: PathCosts, statement: s.Stmt, callee: str = "") -> PathCosts:
        """Replace the steps in the costs of a statement, if derived, by one step that has them inside, for `callee`."""
        return (
            replace(spent, steps=make_call_step(statement.span, callee, spent.amounts, spent.steps))
            if self._stepwise
            else spent
        )

    def _max_over_processors(self, spent: PathCosts, at: s.Node, place: Position) -> PathCosts:
        return spent.map(lambda amount: place.bound_amount_over_processors(amount, at.span))

    def _may_communicate(self, statement: s.Stmt) -> bool:
        invoked = (self.grid_callee(invoke.call) for invoke in s.find_nodes(statement, s.Invoke))
        return any(s.find_nodes(statement, s.Communicate, s.Split)) or any(callee is not None for callee in invoked)

    def grid_callee(self, call: s.Call) -> s.Algorithm | None:
        """Return the algorithm on a grid that a call runs, or None."""
        target = self._module.targets.get(call)
        return target if isinstance(target, s.Algorithm) and target.grid else None

    def communicate(self, statement: s.Communicate, place: Position) -> PathCosts:
        if statement in self._module.collectives:
            collective = self._module.collectives[statement]
            copied = statement.buffer if collective.into is not None else None
            spent = self._call_costs(collective.invoke, place, () if copied is None else (copied,))
            return self._merge_steps(spent, statement, collective.invoke.call.function)
        if statement.operation == "exchange":
            self._uneven = self._uneven or not sends_everywhere(self._module, statement, place)
            return self._merge_steps(PathCosts(count_exchange(self._module, statement, place, self.longest)), statement)
        reason = "a `send` may be received in a later iteration, so that paths are not bounded: use `exchange`"
        return unknown_path_costs(reason, statement)

    def invoke(self, invoke: s.Invoke, place: Position) -> PathCosts:
        return self._merge_steps(self._call_costs(invoke, place, invoke.outputs), invoke, invoke.call.function)

    def while_loop(self, loop: s.While, place: Position) -> PathCosts:
        test = evaluation_cost(loop.condition, place, self._stretches).then(
            self._stretches.model.count_event(TEST), place.facts
        )
        tested = self._max_over_processors(_flops_and_work(test), loop, place)
        # No test follows an iteration that an exit ends.
        entry = tested.map(widen_to_zero) if s.may_end_early(loop) else tested
        body = self._max_over_processors(UNIT_COSTS, loop, place).then(self.block_costs(loop.body, place))
        start = FREE if loop.tests_last else entry
        once = body.then(entry if loop.tests_last and loop.limit is None else tested).repeat_iterations()
        if loop.limit is None:
            iteration = PathIteration(name_unbounded_loops(self._module)[loop], once.amounts)
            count = exact_amount(Poly.symbol(iteration.name))
            steps = tuple(step.map_totals(lambda amount: scale_amount(amount, count)) for step in once.steps)
            declared = start.declared | once.declared
            return replace(start, declared=declared, steps=start.steps + steps, rounds=(iteration, *once.rounds))
        try:
            limit = place.find_upper_bound(
                floor_while_bound(static_value(loop.limit, place), place.facts), loop.limit.span
            )
        except NotStaticError as problem:
            return unknown_path_costs(f"the bound of this while: {problem.reason}", loop)
        if limit is None:
            return unknown_path_costs("no bound of this while holds for all processors", loop)
        trips = KnownAmount(ZERO, place.facts.positive_part(limit))
        return start.then(once.map(lambda amount: scale_amount(amount, trips), keep_amount))

    def simple(self, statement: s.SimpleStmt, place: Position) -> PathCosts:
        raise AssertionError("statements without communication are derived as stretches")

    def _call_costs(self, invoke: s.Invoke, place: Position, more: tuple[s.Expr, ...] = ()) -> PathCosts:
        """Derive the costs of a call: evaluating its arguments and the expressions `more`, then running the callee."""
        callee = self.grid_callee(invoke.call)
        assert callee is not None
        try:
            inside = position_in_callee(self._module, invoke.call, callee, invoke.along, place)
        except NotStaticError as problem:
            return unknown_path_costs(problem.reason, invoke)
        before = self.evaluate_arguments(invoke, place, more)
        if find_recursive_component(self._module, callee):
            if place.average is not None:
                return before
            amounts = self._recursions.call_amounts(callee, inside, invoke, self._level)
            return before.then(PathCosts(amounts, self._recursions.find_declared_costs(callee, self._level)))
        joined = [name.id for name in invoke.along] or list(place.axes)
        if is_dissemination(callee):
            self._uneven = False
            steps = self.derive_body_costs(callee, inside)
            stage = DisseminationStage(invoke.call, tuple(joined), before.amounts, steps.amounts, not self._uneven)
            return replace(before.then(replace(steps, stages=())), stages=(stage,), rest={})
        spent = self._callee_costs(callee, inside)
        return before.then(replace(spent, stages=tuple(_rename_axes(part, callee, joined) for part in spent.stages)))

    def evaluate_arguments(self, invoke: s.Invoke, place: Position, more: tuple[s.Expr, ...] = ()) -> PathCosts:
        """Derive the costs of a call without those of the callee: of its arguments, the expressions `more`, and one."""
        arguments = _flops_and_work(total_evaluation_cost((*invoke.call.arguments, *more), place, self._stretches))
        return self._max_over_processors(arguments, invoke, place).then(
            self._max_over_processors(UNIT_COSTS, invoke, place)
        )

    def _callee_costs(self, callee: s.Algorithm, place: Position) -> PathCosts:
        """Derive the costs of the body of a callee. Memoised: positions with equal `cost_key` share a result."""
        key = callee, self._level, self._stepwise, place.cost_key
        if key not in self._recursions.followed:
            uneven, self._uneven = self._uneven, False
            self._recursions.followed[key] = self.derive_body_costs(callee, place), self._uneven
            self._uneven = uneven
        spent: PathCosts
        spent, uneven = self._recursions.followed[key]
        self._uneven = self._uneven or uneven
        return spent

    def split(self, split: s.Split, place: Position) -> PathCosts:
        try:
            inside = position_in_split(split, place)
        except NotStaticError as problem:
            return unknown_path_costs(problem.reason, split)
        parts = _flops_and_work(evaluation_cost(split.parts, place, self._stretches))
        body = self.block_costs(split.body, inside)
        # Stages name axes, and the axes inside the split are not those of the grid.
        return self._max_over_processors(parts, split, place).then(replace(body, stages=()))

    def loop(self, loop: s.Loop, place: Position) -> PathCosts:
        try:
            iterations = self._range_over_processors(loop, place)
        except NotStaticError as problem:
            return unknown_path_costs(f"the bounds of this loop: {problem.reason}", loop)
        inside, mean = place.with_facts(iterations.inside), place.average is not None
        inside = inside.with_value(loop.variable, iterations.value)
        body = self._max_over_processors(UNIT_COSTS, loop, inside).then(self.block_costs(loop.body, inside))
        spent = body.map(
            lambda amount: _sum_over_iterations(amount, iterations, bool(place.ranged) and not mean, mean),
            iterations.bound_amount,
        ).repeat_iterations()
        ends = [
            end for cost in map(body.of, METRICS) if isinstance(cost, KnownAmount) for end in (cost.lower, cost.upper)
        ]
        long = any(
            isinstance(cost, UnknownAmount) or len(cost.upper.terms) > MAX_TERMS for cost in map(spent.of, METRICS)
        )
        # A lower bound whose sum has no closed form became 0; without guards it may be larger.
        unsummed = [name for name in METRICS if spent.of(name) == ZERO_AMOUNT != body.of(name)]
        if not mean and place.counts_guards and (long or unsummed or not all(is_summable(end, inside) for end in ends)):
            rough = self.without_guard_counts.loop(loop, replace(place, counts_guards=False))
            spent = spent.tighten(rough, place.facts)
            improved = {name: rough.of(name) for name in unsummed if isinstance(rough.of(name), KnownAmount)}
            spent = replace(spent, amounts={**spent.amounts, **improved})
        return self._bound_early_exit(spent, body, loop, iterations, place) if s.may_end_early(loop) else spent

    def _bound_early_exit(
        self, spent: PathCosts, body: PathCosts, loop: s.Loop, iterations: IterationRange, place: Position
    ) -> PathCosts:
        """Bound the costs of a loop that an exit may end: from below by those of its first iteration, if it has one."""
        facts, first = place.facts, {iterations.variable: iterations.lo}
        ascends = iterations.value.substitute(first) == facts.simplify(static_value(loop.lo, place))
        nonempty = facts.positive_part(iterations.trips) - facts.positive_part(iterations.trips - 1)

        def bound_amount(name: str) -> Amount:
            amount, iteration = spent.of(name), body.of(name)
            if isinstance(amount, UnknownAmount):
                return amount
            if not ascends or isinstance(iteration, UnknownAmount):
                return widen_to_zero(amount)
            return KnownAmount(facts.positive_part(iteration.lower.substitute(first)) * nonempty, amount.upper)

        return replace(spent, amounts={name: bound_amount(name) for name in METRICS})

    def _range_over_processors(self, loop: s.Loop, place: Position) -> IterationRange:
        """Return the range of the loop variable over all processors.

        Processors communicate in iterations with the same value of the variable. If their ranges differ, a path may go
        through more iterations than any single processor: through each value of the variable.
        """
        iterations = iteration_range(loop, place)
        if place.depends_on_coordinates(iterations.value):
            iterations = iteration_range(replace(loop, step=None), place)
        if not place.depends_on_coordinates(iterations.lo) and not place.depends_on_coordinates(iterations.hi):
            return iterations
        if place.average is not None:
            raise NotStaticError("they differ between processors", loop.lo)
        most = place.find_upper_bound(iterations.hi, loop.span)
        least = place.find_upper_bound(-iterations.lo, loop.span)
        if most is None or least is None:
            raise NotStaticError("they differ between processors", loop.lo)
        return replace(iterations, lo=-least, hi=place.facts.maximum(-least, most), _done={})

    def branches(self, branches: tuple[s.Branch, ...], place: Position, keyword: str = "if") -> PathCosts:
        first, *rest = branches
        if first.condition is None:
            return self.block_costs(first.body, place)
        if isinstance(first.condition, s.Reached):
            # The code behind an exit is executed or not.
            return self.block_costs(first.body, place).map(widen_to_zero, keep_amount)
        facts = place.facts
        test = evaluation_cost(first.condition, place, self._stretches).then(
            self._stretches.model.count_event(TEST), facts
        )
        cost = self._max_over_processors(_flops_and_work(test), first, place)
        holding = place.bound_indicator(first.condition)
        holding = holding if self._level is None else self._level.decide_indicator(first, holding, place)
        if holding.lower == ONE:
            return cost.then(self.block_costs(first.body, place.assuming(first.condition)))
        opposite = s.Unary("not", first.condition, span=first.condition.span)
        second = self.branches(tuple(rest), place.assuming(opposite), "elif") if rest else FREE
        if holding.upper == ZERO:
            return cost.then(second)
        arm = self.block_costs(first.body, place.assuming(first.condition))
        by_sizes = s.find_names(first.condition) <= {*place.sizes, "P"}
        shown = f"{keyword} {format_expression(first.condition)}" if by_sizes else None
        return cost.then(self._combine_branches(holding, arm, second, place, shown, first))

    def _combine_branches(
        self, holding: KnownAmount, arm: PathCosts, second: PathCosts, place: Position, shown: str | None, at: s.Node
    ) -> PathCosts:
        """Combine two branches: by the indicator if sizes decide; else by the sum, as a path may go through both.

        `shown` is the condition as text, for steps; None if it is not shown.
        """
        declared, rounds = arm.declared | second.declared, arm.then(second).rounds
        facts = place.facts
        if (held := holding.lower) == holding.upper and not place.depends_on_coordinates(held):
            amounts = {name: choose_by_indicator(held, arm.of(name), second.of(name)) for name in METRICS}
            first, rest = (
                (lambda amount: choose_by_indicator(held, amount, ZERO_AMOUNT)),
                (lambda amount: choose_by_indicator(held, ZERO_AMOUNT, amount)),
            )
            if shown is None:
                steps = [
                    *(step.map_totals(first) for step in arm.steps),
                    *(step.map_totals(rest) for step in second.steps),
                ]
            else:
                steps = [step.in_branch(shown, first) for step in arm.steps]
                steps += [step.in_branch("else", rest) for step in second.steps]
            return PathCosts(amounts, declared, steps=tuple(steps), rounds=rounds)
        if place.average is not None:
            return arm.then(second)
        if place.ranged:
            possible = KnownAmount(ZERO, place.bound_indicator_anywhere_above(holding.upper, at.span))
            elsewhere = KnownAmount(ZERO, place.bound_indicator_anywhere_above(1 - holding.lower, at.span))
            arm = arm.map(lambda amount: scale_amount(_upper_amount(amount, facts), possible), keep_amount)
            second = second.map(lambda amount: scale_amount(_upper_amount(amount, facts), elsewhere), keep_amount)
            return arm.then(second)

        def combined_amount(name: str) -> Amount:
            left, right = arm.of(name), second.of(name)
            return choose_by_indicator(
                holding.upper, choose_by_indicator(holding.lower, left, bound_either_amount(left, right, facts)), right
            )

        return PathCosts({name: combined_amount(name) for name in METRICS}, declared, rounds=rounds)


def _rename_axes(stage: DisseminationStage, callee: s.Algorithm, joined: list[str]) -> DisseminationStage:
    """Replace the axes of a stage in a callee by the axes of the caller that it has `joined`."""
    if len(callee.grid) == 1:
        return replace(stage, axes=tuple(joined))
    names = {axis.name: name for axis, name in zip(callee.grid, joined, strict=True)}
    return replace(stage, axes=tuple(names[axis] for axis in stage.axes))


def _sum_over_iterations(amount: Amount, iterations: IterationRange, above: bool, mean: bool) -> Amount:
    """Sum an amount over iterations; if the sum has no closed form, sum simpler upper (`above`) or lower bounds of it.

    If these have none either, the upper bound is the trip count times the maximum, and the lower bound is 0. For a
    `mean`, lower bounds that are not 0 are preferred.
    """
    total = iterations.sum(amount)
    if isinstance(amount, UnknownAmount) or (
        isinstance(total, KnownAmount) and (not mean or total.lower or not amount.lower)
    ):
        return total
    facts = iterations.inside
    for bound in iterate_upper_bounds(amount.upper, facts) if above else iterate_lower_bounds(amount.lower, facts):
        summed = iterations.sum(exact_amount(bound))
        if isinstance(summed, KnownAmount) and (not mean or summed.lower):
            return KnownAmount(ZERO, summed.upper) if above else summed
    if not above:
        return total if isinstance(total, KnownAmount) else ZERO_AMOUNT
    most = iterations.maximum(amount)
    return total if isinstance(most, UnknownAmount) else KnownAmount(ZERO, most.upper * iterations.trips)


def _lower_amount(amount: Amount) -> Amount:
    """Return the lower bound of an amount as an exact amount; 0 if the amount is unknown."""
    return ZERO_AMOUNT if isinstance(amount, UnknownAmount) else exact_amount(amount.lower)


def _upper_amount(amount: Amount, facts: Facts) -> Amount:
    """Bound an amount between 0 and its upper bound, which may be negative in a branch that no processor takes."""
    return KnownAmount(ZERO, facts.positive_part(amount.upper)) if isinstance(amount, KnownAmount) else amount
