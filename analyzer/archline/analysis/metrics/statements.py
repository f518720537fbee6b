"""Derive the costs of statements: one method for each row of the cost table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Protocol, Self

from archline.algebra import atoms as a
from archline.algebra.effort import OutOfBudgetError, TooComplexError, limit_effort
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Poly
from archline.algebra.prove.prover import prove_never_negative
from archline.algebra.prove.strong import STRONG_TACTICS
from archline.algebra.reduce import reduce_in_sizes
from archline.analysis.metrics.data import (
    amount_at_sizes,
    bind_assumed_integers,
    bound_settled_integers,
    express_in_sizes,
)
from archline.analysis.metrics.operations import (
    STANDARD,
    CostModel,
    count_declared_costs,
    evaluation_cost,
    total_evaluation_cost,
    update_cost,
)
from archline.analysis.metrics.tally import (
    FREE,
    DerivationStep,
    Tally,
    bound_early_exit,
    bound_either_tally,
    choose_tally,
    make_unknown_tally,
    repeat_tally,
    repeat_unbounded,
)
from archline.expr.tree import Span
from archline.ir import max_plus
from archline.ir.amounts import (
    ZERO_AMOUNT,
    Amount,
    KnownAmount,
    UnknownAmount,
    exact_amount,
    map_bounds,
    scale_amount,
    widen_to_zero,
)
from archline.ir.conditions import assume_facts, bound_indicator, is_summable, negate_condition, scope_after
from archline.ir.counters import CountedWhile, count_while
from archline.ir.declarations import declared_scope
from archline.ir.iteration_bounds import (
    derive_iteration_bounds,
    find_owner,
    has_declared_total,
    is_bounded_in_calls,
)
from archline.ir.max_plus import MaxPlusMap
from archline.ir.ranges import (
    IterationRange,
    bound_amount_over_loop,
    bound_data_range,
    bound_extent,
    bound_fork_depth,
    bound_integer,
    compose_iterations,
    evaluate_extent,
    fork_depth,
    has_row_length_bound,
    segment_range,
    static_range,
    take_if_nonempty,
)
from archline.ir.scope import NotStaticError, Scope, floor_while_bound, static_value
from archline.language import syntax as s
from archline.language.call_graph import find_recursive_component
from archline.language.iterations import name_unbounded_loops, relative_name
from archline.language.metrics import CALL, ITERATION, TEST
from archline.language.model import BoundBy, Module, Signature
from archline.language.visitor import StatementVisitor

Result = tuple[Tally, tuple[DerivationStep, ...]]
Outcome = tuple[Tally, str, tuple[DerivationStep, ...]]
"""The cost of a statement, the rule that gives it, and the steps inside it."""


MAX_SECOND_BOUND_PRODUCTS = 40_000
"""The effort, besides that of the exact count, for a second bound of a loop that counts fewer guards."""
MAX_SIGN_PRODUCTS = 2_000
"""The effort for a proof that a cost is not negative."""
MIN_INTERCHANGE_TERMS, MAX_INTERCHANGED_LOOPS = 8, 4
"""The number of terms above which a loop is interchanged with inner loops, and the maximum number of these."""
GUARD_FILTERS: tuple[Callable[[Poly, Scope], bool], ...] = (
    lambda taken, scope: True,
    is_summable,
    lambda taken, scope: False,
)
"""Tests of which guards are counted exactly, by their indicators; if one gives no closed form, the next is used."""


class RecursionCosts(Protocol):
    """Solves recursive algorithms."""

    def derive_tally(self, algorithm: s.Algorithm, called: bool = False) -> Tally:
        """Return the costs of the body of a recursive algorithm, to which the call itself adds 1.

        Only what a call needs, if it is `called` from outside of the recursion.
        """

    def derive_iteration_costs(self, algorithm: s.Algorithm) -> Mapping[str, Tally]:
        """Return the cost of an iteration of each loop without a bound in any call, in the sizes of the first call."""

    def single_expression_tally(self, algorithm: s.Algorithm) -> Tally:
        """Return the costs of a recursive algorithm with each bound in a single expression, not split into regimes."""


class Statements(StatementVisitor[Scope, Outcome]):
    """Derives the costs of the algorithms of a module, each once; subclasses solve recursion."""

    def __init__(self, module: Module, coarse: bool, model: CostModel = STANDARD) -> None:
        """Create a derivation; `coarse` bounds every guard that the sizes do not decide, instead of counting it.

        `model` selects the metrics, and the costs of steps in them.
        """
        self.module = module
        self.model = model
        self._counts: tuple[Callable[[Poly, Scope], bool], ...] = GUARD_FILTERS[-1:] if coarse else GUARD_FILTERS
        self._done: dict[s.Algorithm, Result] = {}
        self._open: dict[s.Algorithm, None] = {}
        self._unresolved: dict[s.Algorithm, Tally] = {}
        self._guards: list[s.Node] = []
        self._rough: Self | None = None
        self._sunk: frozenset[Span] = frozenset()
        self._untested: frozenset[Span] = frozenset()
        self._exits: set[s.Exit] = set()

    _solves = True
    """False in a derivation of recurrences, where costs of recursive calls stay unknown functions."""
    _counts_iterations = True
    """False on a grid, whose processors may disagree on the iterations of a loop over data."""

    @property
    def recursions(self) -> RecursionCosts:
        """The solutions of recursive algorithms."""
        raise NotImplementedError

    # Algorithms and calls
    def derive_algorithm(self, algorithm: s.Algorithm) -> Result:
        """Derive the cost of the body of an algorithm in its sizes, to which the call itself adds 1."""
        if algorithm in self._done:
            return self._done[algorithm]
        if algorithm in self._open:
            reason = f"`{algorithm.name}` is part of a mutual recursion that is not analysed"
            return make_unknown_tally(reason, algorithm.span), ()
        if self._solves and find_recursive_component(self.module, algorithm):
            result: Result = self.recursions.derive_tally(algorithm), ()
        else:
            self._open[algorithm] = None
            try:
                result = self._derive_body(algorithm)
            finally:
                del self._open[algorithm]
        self._done[algorithm] = result
        return result

    def derive_total(self, algorithm: s.Algorithm) -> Result:
        """Derive the cost of the body, with the iteration counts of loops without a bound as symbols in it."""
        tally, steps = self.derive_algorithm(algorithm)
        return tally.fold_iterations(self.iteration_symbols(algorithm)), steps

    @staticmethod
    def iteration_symbols(algorithm: s.Algorithm) -> Callable[[str], KnownAmount]:
        """Return a function from the qualified name of iterations to their size in the costs of an algorithm."""
        return lambda name: exact_amount(Poly.symbol(relative_name(name, algorithm)))

    def _derive_body(self, algorithm: s.Algorithm) -> Result:
        try:
            scope = declared_scope(self.module, algorithm)
            tally, steps = self.derive_block(algorithm.body, scope)
        except OutOfBudgetError:
            raise
        except TooComplexError as problem:
            return make_unknown_tally(str(problem), algorithm.span), ()
        closed = tally.then(self.model.sync, scope.facts)
        shortest = partial(reduce_in_sizes, facts=scope.facts)
        return self._resolve_iterations(
            algorithm,
            closed.map_amounts(lambda amount: map_bounds(express_in_sizes(amount, scope.facts, algorithm), shortest)),
            scope.facts,
        ), steps

    def _resolve_iterations(self, algorithm: s.Algorithm, tally: Tally, facts: Facts) -> Tally:
        """Bound the iterations of loops that the algorithm's registers bound over a whole call."""
        names = name_unbounded_loops(self.module)
        if not tally.rounds:
            return tally
        derived = derive_iteration_bounds(self.module, algorithm)
        bounds = {names[loop]: amount for loop, amount in derived.loops.items()}
        self._unresolved[algorithm] = tally
        return tally.resolve_rounds(bounds, derived.together, facts)

    def _derive_callee(self, target: s.Algorithm) -> Tally:
        """Return the cost of an algorithm for a call in the body that is derived.

        Iterations that are bounded over the whole call of the caller are left to it: the calls may share them.
        """
        if self._solves and find_recursive_component(self.module, target):
            return self.recursions.derive_tally(target, called=True)
        resolved, _ = self.derive_algorithm(target)
        caller = next(reversed(self._open), None)
        unresolved = self._unresolved.get(target)
        if caller is None or unresolved is None or not unresolved.rounds.keys() - resolved.rounds.keys():
            return resolved
        names = name_unbounded_loops(self.module)
        shared = {names[loop] for loop in derive_iteration_bounds(self.module, caller).loops}
        return unresolved if unresolved.rounds.keys() - resolved.rounds.keys() <= shared else resolved

    def derive_call(self, call: s.Call, scope: Scope) -> Tally:
        """Return the cost of a call of an algorithm (1 plus its cost at the arguments' sizes) or of an extern."""
        target = self.module.targets[call]
        if isinstance(target, s.Extern):
            return count_declared_costs(
                target.costs, _bind_extern_symbols(target, scope), f"extern {target.name}", self.model
            )
        if (known := self.model.count_call(call)) is not None:
            return known
        body = self._derive_callee(target)
        sizes = self.evaluate_callee_sizes(call, target, scope)
        facts = scope.facts
        varies = any(not value.names <= scope.fixed for value in sizes.values())
        if self._solves and varies and find_recursive_component(self.module, target):
            body = self.recursions.single_expression_tally(target)

        def express_at_call(amount: Amount) -> Amount:
            return amount_at_sizes(amount, sizes, facts, call)

        return self.model.count_event(CALL).then(self._attribute_call(target, body.map_amounts(express_at_call)), facts)

    def _attribute_call(self, target: s.Algorithm, body: Tally) -> Tally:
        """Return the cost of a callee's body as a cost of the call, where the model splits costs by statement."""
        return self.model.attribute_call(body)

    def evaluate_callee_sizes(self, call: s.Call, target: s.Algorithm, scope: Scope) -> Mapping[str, Poly]:
        """Return the sizes and indices of a callee at a call, in the sizes of the caller.

        A size that depends on data is a `Data` atom, with bounds if they are known.
        """
        signature = self.module.signatures[target]
        sizes: dict[str, Poly] = {}
        for name, bound in self.module.bindings[call].items():
            expr = bound or self._find_view_extent(call, name, signature)
            try:
                if expr is None:
                    raise NotStaticError("it depends on the data", call)
                sizes[name] = evaluate_extent(expr, scope)
            except NotStaticError:
                least = ZERO if name in signature.at_least else None
                ends = None if expr is None else bound_integer(expr, scope)
                sizes[name] = Poly.of_atom(a.Data(f"{name} at {call.span}", least, None if ends is None else ends[1]))
        return sizes

    def _find_view_extent(self, call: s.Call, name: str, signature: Signature) -> s.Expr | None:
        """Return the extent, of an argument of a call, that gives the callee's size `name`; None if no extent does."""
        for binding in signature.sizes:
            if binding.name == name and binding.by is BoundBy.EXTENT and not binding.offset:
                return self.module.shapes[call.arguments[binding.parameter]][binding.dimension]
        return None

    # Blocks
    def derive_block(self, body: tuple[s.Stmt, ...], scope: Scope) -> Result:
        """Derive statements in sequence; a block with a local array waits for its spawned calls before it ends."""
        total = FREE
        steps: list[DerivationStep] = []
        holds_array = False
        for number, statement in enumerate(body, 1):
            with self.model.attribute_to(body, number - 1):
                tally, rule, children = self._derive_statement(statement, scope)
                tally = self.model.count_statement(statement, scope).then(tally, scope.facts)
            if scope.settled:
                tally = bound_settled_integers(tally, scope)
            total = total.then(tally, scope.facts)
            if tally is not FREE or children:
                span_rule = None
                if statement.parallel_variable is not None:
                    depth = f"{'2*' if getattr(statement, 'reduction', None) else ''}ceil(log2(iterations))"
                    span_rule = f"{depth} + maximum over {statement.parallel_variable} of (1 + body)"
                steps.append(DerivationStep(statement.span, rule, tally.add_exit(scope.facts), children, span_rule))
            if statement.assumed and self._solves:
                scope = bind_assumed_integers(statement.assumed, body[: number - 1], body[number - 1 :], scope)
            scope = self.scope_after(statement, scope, body[number:])
            holds_array = holds_array or statement.array is not None
        if holds_array:
            total = total.then(self.model.sync, scope.facts)
        return total, tuple(steps)

    def _derive_statement(self, statement: s.Stmt, scope: Scope) -> Outcome:
        """Derive a statement; of the branches that leave a loop, one is executed, once, or none."""
        exits = set(s.find_nodes(statement.body, s.Exit)) if isinstance(statement, s.Loop | s.While) else set()
        added = exits - self._exits
        self._exits |= added
        try:
            tally, rule, children = self.statement(statement, scope)
        finally:
            self._exits -= added
        return tally.add_exit(scope.facts) if exits else tally, rule, children

    def scope_after(self, statement: s.Stmt, scope: Scope, following: tuple[s.Stmt, ...] = ()) -> Scope:
        """Return the scope after a statement, given the statements that follow it in its block."""
        return scope_after(statement, scope)

    def let(self, let: s.Let, scope: Scope) -> Outcome:
        return evaluation_cost(let.value, scope, self), "let", ()

    def local(self, local: s.Local, scope: Scope) -> Outcome:
        return self._storing_cost(local, scope), "operators of the right side", ()

    def assign(self, assign: s.Assign, scope: Scope) -> Outcome:
        return (
            self._storing_cost(assign, scope).then(update_cost(assign, scope, self.model), scope.facts),
            "operators",
            (),
        )

    def sync(self, sync: s.Sync, scope: Scope) -> Outcome:
        return self.model.sync, "sync", ()

    def costs(self, costs: s.Costs, scope: Scope) -> Outcome:
        source = f"costs at line {costs.span.line}"
        return count_declared_costs(costs.amounts, scope, source, self.model), "declared", ()

    def transfer(self, transfer: s.Transfer, scope: Scope) -> Outcome:
        return FREE, "", ()

    def communicate(self, statement: s.Communicate, scope: Scope) -> Outcome:
        return make_unknown_tally("messages need a grid of processors", statement.span), "", ()

    def split(self, split: s.Split, scope: Scope) -> Outcome:
        return make_unknown_tally("messages need a grid of processors", split.span), "", ()

    def simple(self, statement: s.SimpleStmt, scope: Scope) -> Outcome:
        return total_evaluation_cost(s.list_evaluated(statement), scope, self), "operators", ()

    def invoke(self, invoke: s.Invoke, scope: Scope) -> Outcome:
        call = invoke.call
        cost = total_evaluation_cost(s.list_evaluated(invoke), scope, self)
        rule = f"{'spawn' if invoke.spawned else 'call'}: 1 + {call.function}"
        if not invoke.spawned:
            return cost, rule, ()
        # Only the call itself runs in parallel with what follows; its arguments are evaluated before the fork.
        arguments = total_evaluation_cost(call.arguments, scope, self)
        before = {name: path.finish for name, path in self.model.count_event(CALL).paths.items()}
        body = self.derive_call(call, scope)
        forked = {
            name: max_plus.spawn_map(before.get(name, ZERO_AMOUNT), path.finish) for name, path in body.paths.items()
        }
        run = replace(body.with_parallel_iterations(), paths=forked)
        return arguments.then(run, scope.facts), rule, ()

    def _storing_cost(self, statement: s.Local | s.Assign, scope: Scope) -> Tally:
        """Return the cost of evaluating a value once and storing it, for a filled array in every element."""
        cost = total_evaluation_cost(s.list_evaluated(statement), scope, self)
        shape = self.module.find_filled_extents(statement)
        if shape is None:
            return cost
        extents = []
        for extent in shape:
            amount = bound_extent(extent, scope)
            if amount is None:
                return make_unknown_tally("the extent of this assignment is no expression in the sizes", extent.span)
            extents.append(amount)
        return cost.then(self.model.count_fill(statement, extents, scope.facts), scope.facts)

    # Loops
    def loop(self, loop: s.Loop, scope: Scope) -> Outcome:
        bounds = FREE
        for part in (loop.lo, loop.hi, loop.step):
            if part is not None:
                bounds = bounds.then(evaluation_cost(part, scope, self), scope.facts)
        try:
            total, children = self._derive_loop(loop, scope)
            if loop.scales and not total.known:
                # A body that has no sum over powers may have a maximum.
                rough, _ = self._derive_data_loop(loop, NotStaticError("its sum", loop.lo), scope)
                total = total.replace_unknown(rough)
            rule = f"sum over {loop.variable} of (1 + body)"
            if s.may_end_early(loop):
                rule = f"from the first iteration to the {rule}, as an exit may end it"
        except NotStaticError as problem:
            total, children = self._derive_data_loop(loop, problem, scope)
            rule = f"data-dependent number of iterations over {loop.variable} of (1 + body)"
        return bounds.then(total, scope.facts), rule, children

    def _derive_loop(self, loop: s.Loop, scope: Scope) -> Result:
        """Derive the cost of a loop; if guards make it inexact, combine it with bounds that count fewer guards."""
        before = len(self._guards)
        total, children = self._count_loop(loop, scope)
        if not total.exact and len(self._guards) > before and self.counts_guards:
            if not total.known:
                return total.tighten(self._with_fewer_guards()._derive_loop(loop, scope)[0], scope.facts), children
            with suppress(OutOfBudgetError), limit_effort(MAX_SECOND_BOUND_PRODUCTS):
                total = total.tighten(self._with_fewer_guards()._derive_loop(loop, scope)[0], scope.facts)
        return total, children

    def _with_fewer_guards(self) -> Self:
        """Return a derivation that counts fewer guards, and bounds the rest as never or always true."""
        if self._rough is None:
            self._rough = copy(self)
            self._rough._counts, self._rough._done, self._rough._guards = self._counts[1:], {}, []
        return self._rough

    @property
    def counts_guards(self) -> bool:
        """True if some guards are counted where they hold; False if all are bounded as never or always true."""
        return len(self._counts) > 1

    @property
    def without_guard_counts(self) -> Self:
        """A derivation that counts no guards: guarded code is bounded as never or always executed."""
        return self._with_fewer_guards().without_guard_counts if self.counts_guards else self

    def _count_loop(self, loop: s.Loop, scope: Scope) -> Result:
        return self._count_iterations(loop, self.find_iteration_range(loop, scope), scope)

    def _count_iterations(self, loop: s.Loop, iterations: IterationRange, scope: Scope) -> Result:
        inner = scope.with_facts(iterations.inside).with_value(loop.variable, iterations.value)
        body, steps = self.derive_block(loop.body, inner)
        children = tuple(replace(step, counter=iterations.counter_substitution) for step in steps)
        test = self._iteration_cost(loop, inner)
        once = test.then(body, inner.facts)

        def any_iteration(round_: Tally) -> Tally:
            return round_.map(
                iterations.bound_amount, lambda path: max_plus.serial_map(iterations.bound_amount(path.finish))
            )

        if loop.parallel or once.has_pending_calls:
            once = once.with_parallel_iterations()
        if loop.parallel:
            side_by_side = once.map(
                iterations.sum, lambda path: max_plus.serial_map(iterations.maximum(path.finish)), any_iteration
            )
            return side_by_side.then(self._fork_cost(loop, fork_depth(iterations), scope), scope.facts), children

        def sum_over_iterations(tally: Tally) -> Tally:
            return tally.map(iterations.sum, lambda path: compose_iterations(path, iterations), any_iteration)

        total = sum_over_iterations(once)
        if s.may_end_early(loop):
            some = exact_amount(iterations.trips)
            total = total.add_exit(scope.facts, lambda amount: take_if_nonempty(amount, some, scope.facts))
            return bound_early_exit(total, self._bound_first_iteration(once, loop, iterations, scope)), children
        if total.known and not total.exact and all(path.serial for path in body.paths.values()):
            # Summed apart, the tests stay exact even if the body has only bounds.
            total = sum_over_iterations(test).then(sum_over_iterations(body), scope.facts)
        if total.known and total.max_term_count > MIN_INTERCHANGE_TERMS:
            with suppress(OutOfBudgetError, NotStaticError), limit_effort(MAX_SECOND_BOUND_PRODUCTS):
                swapped = self._interchanged_cost(loop, scope)
                if swapped is not None and swapped.max_term_count < total.max_term_count:
                    total = swapped
        return total, children

    def _fork_cost(self, loop: s.Loop, depth: Amount, scope: Scope) -> Tally:
        """Return the cost of the tree that starts parallel iterations, and of the tree that reduces their values."""
        start = self.model.count_fork(depth)
        return start if loop.reduction is None else start.then(start, scope.facts)

    def _bound_first_iteration(self, once: Tally, loop: s.Loop, iterations: IterationRange, scope: Scope) -> Tally:
        """Return the cost of the first iteration, given the cost `once` of any; 0 where the loop may be empty."""
        facts, first = scope.facts, {iterations.variable: iterations.lo}
        if iterations.value.substitute(first) != facts.simplify(static_value(loop.lo, scope)):
            return FREE
        nonempty = facts.simplify(facts.positive_part(iterations.trips) - facts.positive_part(iterations.trips - 1))
        return once.map_amounts(
            lambda amount: map_bounds(amount, lambda value: facts.positive_part(value.substitute(first)) * nonempty)
        )

    def _interchanged_cost(self, loop: s.Loop, scope: Scope) -> Tally | None:
        """Return the exact cost of a perfect nest after its outer loop is interchanged with independent inner loops.

        None if the nest has no such loops, if no range inside them depends on the outer loop, or if the cost is not
        exact in that order. For skewed tiles, sums over all tiles of a step have short forms, sums over the steps of a
        tile do not.
        """
        passed: list[s.Loop] = []
        body = loop.body
        while len(body) == 1 and isinstance(nested := body[0], s.Loop) and not nested.parallel:
            ends = nested.lo, nested.hi, nested.step
            if loop.variable in s.find_names(ends) or any(
                call in self.module.targets for call in s.find_nodes(ends, s.Call)
            ):
                break
            passed.append(nested)
            body = nested.body
        if (
            not 0 < len(passed) <= MAX_INTERCHANGED_LOOPS
            or loop.span in self._sunk
            or any(map(s.may_end_early, passed))
            or not any(loop.variable in s.find_names((inner.lo, inner.hi)) for inner in s.find_nodes(body, s.Loop))
            or any(self.model.count_iteration(outer).names for outer in (loop, *passed))
        ):
            return None
        # The moved loop is tested as often as the last loop that it passed was; the tests of the rest stay the same.
        order, tests = (replace(loop, body=body),), tuple[s.Stmt, ...]()
        for level in reversed(passed):
            order = (replace(level, body=order),)
        for level in reversed(passed[:-1]):
            tests = (replace(level, body=tests),)
        inside = copy(self)
        inside._sunk |= {loop.span}
        inside._untested = self._untested.union(level.span for level in passed).difference((loop.span,))
        total = self._count_loop(replace(loop, body=tests), scope)[0].then(
            inside._count_loop(*order, scope)[0], scope.facts
        )
        return total if total.exact else None

    def find_iteration_range(self, loop: s.Loop, scope: Scope) -> IterationRange:
        """Return the range of a loop between sizes. Raises NotStaticError."""
        return static_range(loop, scope)

    def _iteration_cost(self, loop: s.Loop | s.While, scope: Scope) -> Tally:
        if loop.span in self._untested:
            return FREE
        return self.model.count_event(ITERATION).then(self.model.count_iteration(loop), scope.facts)

    def _derive_data_loop(self, loop: s.Loop, problem: NotStaticError, scope: Scope) -> Result:
        """Derive a loop over a segment of an offsets array, or up to a declared bound of data."""
        range_ = bound_data_range(loop, scope)
        counted = self._counts_iterations and loop.iterations is not None
        if counted and (range_ is None or not (loop.parallel or has_row_length_bound(loop, scope))):
            body, children = self.derive_block(loop.body, scope.without_value(loop.variable))
            once = self._iteration_cost(loop, scope).then(body, scope.facts)
            if loop.reduction is not None:
                # The tree that combines t values has at most t - 1 levels, as that which starts t iterations has.
                once = once.then(self.model.count_fork(exact_amount(ONE)), scope.facts)
            if loop.parallel:
                once = once.map(
                    lambda amount: amount, lambda path: max_plus.serial_map(widen_to_zero(path.finish))
                ).with_parallel_iterations()
            return repeat_unbounded(once, name_unbounded_loops(self.module)[loop], scope.facts), children
        if range_ is None:
            return make_unknown_tally(f"the bounds of this loop: {problem.reason}", loop.span), ()
        trips = range_.trips
        facts = scope.facts.with_symbol(loop.variable, (range_.first,), (range_.last,))
        with_variable = scope.with_facts(facts).with_value(loop.variable, Poly.symbol(loop.variable))
        values = None
        if any(inner.scales for inner in s.find_nodes((loop,), s.Loop)):
            # Logarithms of the variable have maxima only over its range.
            variable = Poly.symbol(loop.variable)
            values = IterationRange(loop.variable, range_.first, range_.last + 1, variable, scope.facts, loop.span)
        total, children = self._bound_loop_by_trip_count(loop, trips, with_variable, values)
        # The iterations of inner loops that begin or end at this one's variable add up to half of a square.
        ends = [end for inner in s.find_nodes(loop.body, s.Loop) for end in (inner.lo, inner.hi)]
        halved = any(isinstance(end, s.Name) and end.id == loop.variable for end in ends)
        segment = segment_range(loop, scope) if halved and not total.exact else None
        if segment is not None:
            with suppress(NotStaticError):
                total = self._count_iterations(loop, segment, scope)[0].tighten(total, scope.facts)
        if not total.known:
            # Without a value for the loop variable, guards on it depend on data, and so are bounded.
            bounded, children = self._bound_loop_by_trip_count(loop, trips, scope.without_value(loop.variable))
            total = total.tighten(bounded, scope.facts)
        return total, children

    def _bound_loop_by_trip_count(
        self, loop: s.Loop, trips: Amount, scope: Scope, values: IterationRange | None = None
    ) -> Result:
        """Bound the cost of a loop by its trip count and bounds of one iteration that hold for all `values`."""
        body, children = self.derive_block(loop.body, scope)

        def without_variable(amount: Amount) -> Amount:
            return bound_amount_over_loop(amount, loop, scope.facts, values)

        def bound_path(path: MaxPlusMap) -> MaxPlusMap:
            finish = without_variable(path.finish)
            return (
                max_plus.serial_map(finish)
                if path.serial
                else replace(path, advance=without_variable(path.advance), finish=finish)
            )

        once = self._iteration_cost(loop, scope).then(body, scope.facts).map(without_variable, bound_path)
        if loop.parallel:
            side_by_side = once.with_parallel_iterations().map(
                lambda amount: scale_amount(amount, trips),
                lambda path: max_plus.serial_map(widen_to_zero(path.finish)),
                lambda round_: round_,
            )
            return side_by_side.then(self._fork_cost(loop, bound_fork_depth(trips), scope), scope.facts), children
        total = repeat_tally(once, trips)
        if s.may_end_early(loop):
            some = exact_amount(ZERO) if isinstance(trips, UnknownAmount) else exact_amount(
                scope.facts.minimum(trips.lower, ONE)
            )  # fmt: skip
            return bound_early_exit(total, repeat_tally(once, some)), children
        return total, children

    def while_loop(self, loop: s.While, scope: Scope) -> Outcome:
        test = self._test_cost(loop.condition, scope)
        if (counted := count_while(loop, scope)) is not None:
            outcome = self._derive_counted_while(loop, counted, test, scope)
            if outcome[0].known:
                return outcome
        body, children = self.derive_block(loop.body, scope)
        # No test follows an iteration that an exit ends: there is one less than else.
        entry = bound_either_tally(test, FREE, scope.facts) if s.may_end_early(loop) else test
        if loop.limit is None:
            last = entry if loop.tests_last else test
            once = self._iteration_cost(loop, scope).then(body, scope.facts).then(last, scope.facts)
            total = repeat_unbounded(once, name_unbounded_loops(self.module)[loop], scope.facts)
            number = "all" if is_bounded_in_calls(self.module, loop) else loop.iterations
            rounds = f"{number} iterations of (1 + body + test) in the whole call"
            if loop.tests_last:
                return total, rounds, children
            return entry.then(total, scope.facts), f"test at each entry + {rounds}", children
        try:
            limit = floor_while_bound(static_value(loop.limit, scope), scope.facts)
        except NotStaticError as problem:
            return make_unknown_tally(f"the bound of this while: {problem.reason}", loop.span), "", children
        trips = KnownAmount(ZERO, scope.facts.positive_part(limit))
        once = self._iteration_cost(loop, scope).then(body, scope.facts).then(test, scope.facts)
        return (
            entry.then(repeat_tally(once, trips), scope.facts),
            "test + at most the declared number of (1 + body + test)",
            children,
        )

    def _derive_counted_while(self, loop: s.While, counted: CountedWhile, test: Tally, scope: Scope) -> Outcome:
        """Derive the cost of a loop whose counters count its iterations, or bound their number."""
        iterations, inner = counted.range, counted.enter(scope)
        body, steps = self.derive_block(loop.body, inner)
        once = self._iteration_cost(loop, inner).then(body, inner.facts).then(test, inner.facts)
        if once.has_pending_calls:
            once = once.with_parallel_iterations()

        def bound_round(round_: Tally, range_: IterationRange) -> Tally:
            return round_.map(range_.bound_amount, lambda path: max_plus.serial_map(range_.bound_amount(path.finish)))

        def sum_over_iterations(range_: IterationRange) -> Tally:
            return once.map(
                range_.sum,
                lambda path: compose_iterations(path, range_),
                lambda round_: bound_round(round_, range_),
            )

        serial = all(path.serial for path in once.paths.values())
        alike = iterations.variable not in _names_in(once)
        if not counted.exact and (
            (has_declared_total(self.module, loop) and serial) or (alike and self._is_bounded_in_total(loop))
        ):
            # The iterations of all executions have a bound: each costs the same, or at most the dearest.
            rounds = {name: bound_round(round_, iterations) for name, round_ in once.rounds.items()}
            most = (
                replace(once, rounds={})
                if alike
                else once.map_amounts(lambda amount: widen_to_zero(iterations.maximum(amount)))
            )
            total = repeat_unbounded(replace(most, rounds=rounds), name_unbounded_loops(self.module)[loop], scope.facts)
            entry = bound_either_tally(test, FREE, scope.facts) if s.may_end_early(loop) else test
            return (
                entry.then(total, scope.facts),
                "test at each entry + all iterations of (1 + body + test) in the whole call",
                steps,
            )
        total = sum_over_iterations(iterations)
        if not counted.exact:
            total = bound_early_exit(total, sum_over_iterations(counted.certain) if counted.least else FREE)
        rule = f"test + sum over the {'' if counted.exact else 'possible '}iterations of (1 + body + test)"
        # Behind a guard that fails at the end nothing else is evaluated; if another test fails, some iteration lacks.
        entry = test if counted.guard is None else self._test_cost(counted.guard, scope)
        return entry.then(total, scope.facts), rule, steps

    def _is_bounded_in_total(self, loop: s.While) -> bool:
        """Test whether a loop in another one has a bound on its iterations over one call of its algorithm."""
        owner = find_owner(self.module, loop)
        return (
            owner is not None
            and any(
                isinstance(outer, s.Loop | s.While) and loop is not outer and loop in s.iterate_nodes(outer.body)
                for outer in s.iterate_nodes(owner.body)
            )
            and is_bounded_in_calls(self.module, loop)
        )

    # Branches
    def branches(self, branches: tuple[s.Branch, ...], scope: Scope) -> Outcome:
        first, *rest = branches
        if first.condition is None:
            tally, children = self.derive_block(first.body, scope)
            return tally, "else", children
        facts = scope.facts
        if isinstance(first.condition, s.Reached):
            tally, children = self.derive_block(first.body, scope)
            self._learn_sign(tally, first.body, facts)
            return bound_either_tally(tally, FREE, facts), "none or all, as an exit before it may be taken", children
        test = self._test_cost(first.condition, scope)
        indicator = self._indicator_bounds(first.condition, scope)
        if not (indicator.lower.is_constant and indicator.upper.is_constant):
            self._guards.append(first)
        inside, outside = self._scope_of_data_branch(first.condition, scope), scope
        if indicator.exact:
            inside = assume_facts(scope, first.condition)
            outside = assume_facts(scope, negate_condition(first.condition))
        body, children = self.derive_block(first.body, inside) if indicator.upper else (FREE, ())
        otherwise, _, more = (
            self._derive_remaining_branches(rest, outside) if indicator.lower != ONE else (FREE, "", ())
        )
        if not indicator.exact:
            if inside.facts is facts:
                self._learn_sign(body, first.body, facts)
            self._learn_sign(otherwise, tuple(rest), facts)
            last = first.body[-1]
            if isinstance(last, s.Exit) and last.kind != "continue" and last in self._exits:
                body = body.defer_exit(otherwise, scope.fixed, facts)
        rule = "test + the branch that the sizes choose" if indicator.exact else "test + one of the branches"
        return test.then(choose_tally(indicator, body, otherwise, facts), facts), rule, (*children, *more)

    def _learn_sign(self, tally: Tally, code: tuple[s.Node, ...], facts: Facts) -> None:
        """Let the facts around code that data may skip know that its costs are never negative.

        The maximum of a cost and 0 is then the cost, which has a sum over a loop where the maximum may have only
        bounds. An `assume`, a declared cost and a call may need more than the facts around the code, as n - m flops
        need n >= m: costs with one take a proof.
        """
        certain = not any(
            isinstance(node, s.Assume | s.Costs | s.Communication | s.Split)
            or (isinstance(node, s.Call) and node in self.module.targets)
            for node in s.iterate_nodes(code)
        )
        for amount in map(tally.amount, tally.names):
            if isinstance(amount, KnownAmount) and (
                certain
                or facts.nonnegative(amount.upper)
                or prove_never_negative(amount.upper, facts, STRONG_TACTICS, MAX_SIGN_PRODUCTS)
            ):
                facts.learn_nonnegative(amount.upper)

    def _indicator_bounds(self, condition: s.Expr, scope: Scope) -> KnownAmount:
        """Bound the indicator of a condition: from 0 to 1 if it depends on data or is not counted."""
        return bound_indicator(condition, scope, lambda taken: self._counts[0](taken, scope))

    def _scope_of_data_branch(self, condition: s.Expr, scope: Scope) -> Scope:
        """Return the scope in a branch whose condition depends on data."""
        return scope

    def _test_cost(self, condition: s.Expr, scope: Scope) -> Tally:
        return self.model.count_event(TEST).then(evaluation_cost(condition, scope, self), scope.facts)

    def _derive_remaining_branches(self, rest: list[s.Branch], scope: Scope) -> Outcome:
        if not rest:
            return FREE, "", ()
        with self.model.attribute_to_branch(rest[0]):
            tally, rule, children = self.branches(tuple(rest), scope)
            return self.model.count_branch(rest[0]).then(tally, scope.facts), rule, children


def _names_in(tally: Tally) -> frozenset[str]:
    """Return the symbols in the amounts of a tally, outside of iterations that have their own sizes."""
    amounts = (tally.amount(name) for name in tally.names)
    return frozenset[str]().union(
        *(amount.lower.names | amount.upper.names for amount in amounts if isinstance(amount, KnownAmount))
    )


def _bind_extern_symbols(extern: s.Extern, scope: Scope) -> Scope:
    """Bind unbound names in the declared cost of an extern to new symbols, whose values `--at` sets."""
    for name in sorted(s.find_names(extern.costs) - scope.values.keys()):
        scope = scope.with_value(name, Poly.symbol(name))
    return scope
