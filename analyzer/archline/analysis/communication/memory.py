"""Bound the peak of the local memory of a processor: the maximum words of local arrays that it holds at a time."""

from __future__ import annotations

from functools import reduce
from math import prod

from archline.algebra.atoms import split_extremum
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Poly
from archline.analysis.communication.floors import fold_ceilings, is_nonnegative, iterate_upper_bounds
from archline.analysis.communication.place import Position, position_in_callee, position_in_split
from archline.analysis.communication.recursion import GridRecursions, RecursionLevel, iteration_range
from archline.analysis.metrics.data import amount_at_sizes, express_in_sizes
from archline.ir.amounts import (
    ZERO_AMOUNT,
    Amount,
    KnownAmount,
    UnknownAmount,
    add_amounts,
    bound_either_amount,
    choose_by_indicator,
    exact_amount,
    maximum_amount,
    widen_to_zero,
)
from archline.ir.declarations import declared_scope
from archline.ir.places import read_array_type
from archline.ir.ranges import IterationRange
from archline.ir.scope import NotStaticError, static_value
from archline.language import syntax as s
from archline.language.call_graph import find_recursive_component, iterate_callees
from archline.language.model import Module
from archline.language.visitor import StatementVisitor
from archline.records import memoised, record, replace


def _max_over_iterations(amount: Amount, iterations: IterationRange) -> Amount:
    """Return the maximum of an amount over iterations; without a closed form, the maximum of a simpler upper bound."""
    largest = iterations.maximum(amount)
    if isinstance(amount, UnknownAmount) or isinstance(largest, KnownAmount):
        return largest
    for bound in iterate_upper_bounds(amount.upper, iterations.inside):
        most = iterations.maximum(exact_amount(bound))
        if isinstance(most, KnownAmount):
            return KnownAmount(ZERO, most.upper)
    return largest


MAX_COMPARED = 6
"""The maximum number of amounts whose maximum is written as one form."""

Excess = tuple[KnownAmount, ...]
"""The amounts by which peaks before a program point exceed the words that are held there."""
ProgramPoint = tuple[Position, Excess]
"""The position of a processor, and the excess of earlier peaks over the words that it holds."""


@record
class Peak:
    """The maximum of the words held so far, as the maximum of `candidates`.

    A candidate that is proved to be at most another one is left out.
    """

    candidates: tuple[Amount, ...] = (ZERO_AMOUNT,)

    def with_candidate(self, amount: Amount, facts: Facts) -> Peak:
        """Return the peak with an amount as a further candidate."""
        peak = self
        for alternative in _split_maximum(amount):
            if not any(_is_at_most(alternative, candidate, facts) for candidate in peak.candidates):
                rest = (candidate for candidate in peak.candidates if not _is_at_most(candidate, alternative, facts))
                peak = Peak((*rest, alternative))
        return peak

    def drop_candidate(self, amount: Amount) -> Peak:
        """Return the peak without a candidate, which is known to be at most the candidate that is added next."""
        return Peak(tuple(candidate for candidate in self.candidates if candidate != amount))

    def bound_maximum(self, facts: Facts) -> Amount:
        """Return the maximum of the candidates.

        The formula of a maximum doubles with each amount; for many candidates the result is an upper bound: one
        candidate, and the sum of the excess of all candidates over this one.
        """
        amounts = [candidate for candidate in self.candidates if isinstance(candidate, KnownAmount)]
        if len(self.candidates) <= MAX_COMPARED or len(amounts) < len(self.candidates):
            return reduce(lambda left, right: maximum_amount(left, right, facts), self.candidates)
        first = amounts[-1]
        exceeding = (facts.positive_part(amount.upper - first.upper) for amount in amounts)
        return KnownAmount(first.lower, sum(exceeding, start=first.upper))

    def find_excess(self, total: Amount, before: Excess) -> Excess:
        """Return the excess of earlier peaks over the words `total`; `before` is the excess at the block's start."""
        if isinstance(total, UnknownAmount):
            return ()
        more = (amount for amount in (*self.candidates, *before) if isinstance(amount, KnownAmount))
        return tuple(KnownAmount(amount.lower - total.lower, amount.upper - total.upper) for amount in more)


def _is_at_most(amount: Amount, limit: Amount, facts: Facts) -> bool:
    if isinstance(amount, UnknownAmount) or isinstance(limit, UnknownAmount):
        return amount == limit
    return facts.nonnegative(limit.lower - amount.lower) and facts.nonnegative(limit.upper - amount.upper)


def _split_maximum(amount: Amount) -> tuple[Amount, ...]:
    """Split an amount that is a maximum into its operands; any other amount is returned alone."""
    if isinstance(amount, UnknownAmount) or not amount.exact:
        return (amount,)
    return tuple(map(exact_amount, split_extremum(amount.lower, True)))


def _is_never_negative(value: Poly, facts: Facts) -> bool:
    """Test whether a value is proved nonnegative, after constants are substituted for sizes that equal them."""
    constants = {name: bound.minimum for name, bound in facts.bounds.items() if bound.minimum == bound.maximum}
    values = {name: Poly.constant(least) for name, least in constants.items() if least is not None}
    values |= {name: form for name, form in facts.rewrites.items() if form.is_constant}
    return is_nonnegative(facts.restore(value).substitute(values), facts)


def _bound_peak_of_loop(nonempty: KnownAmount, most: KnownAmount, excess: Excess, outside: Facts) -> KnownAmount:
    """Return the peak of a loop: the formula `nonempty`, valid if the loop has an iteration, or `most`, always valid.

    `nonempty` is used if an earlier peak, by its `excess`, is at least as large if the loop has no iteration; `outside`
    are the facts of a loop without iterations.
    """
    hidden = any(_is_never_negative(need.lower - nonempty.lower, outside) for need in excess)
    lower = nonempty.lower if hidden else most.lower
    if any(_is_never_negative(need.upper - nonempty.upper, outside) for need in excess):
        return KnownAmount(lower, nonempty.upper)
    # In an inexact bound a word more or less does not matter if there is no iteration.
    rounded = not nonempty.exact and any(need.upper for need in excess)
    return KnownAmount(lower, nonempty.upper if rounded else most.upper)


class LocalMemory(StatementVisitor[ProgramPoint, Amount]):
    """Follows a processor through its program, as `GridWalk` does, and bounds the words of its local arrays."""

    def __init__(self, module: Module, recursions: GridRecursions, level: RecursionLevel | None = None) -> None:
        self._module = module
        self._stretches = recursions.stretches
        self._recursions = recursions
        self._level = level

    def bound_peak(self, algorithm: s.Algorithm, place: Position) -> Amount:
        """Return the peak of an algorithm, its local parameters included."""
        return add_amounts(self.count_parameter_words(algorithm, place), self.bound_body_peak(algorithm, place))

    def count_parameter_words(self, algorithm: s.Algorithm, place: Position) -> Amount:
        """Return the words of an algorithm's local parameters."""
        words: Amount = ZERO_AMOUNT
        for parameter in algorithm.parameters:
            if parameter.local:
                words = add_amounts(words, self._array_words(parameter.type, parameter, place))
        return words

    def bound_body_peak(self, algorithm: s.Algorithm, place: Position) -> Amount:
        """Return the peak of an algorithm without its parameters."""
        return self._block_words(algorithm.body, place)

    def _array_words(self, type_: s.Type, at: s.Node, place: Position) -> Amount:
        shape, _ = read_array_type(type_)
        if shape is None:
            return ZERO_AMOUNT
        try:
            words = prod((static_value(extent, place) for extent in shape), start=ONE)
        except NotStaticError as problem:
            return UnknownAmount(f"the extent of this array: {problem.reason}", at.span)
        return place.bound_amount_over_processors(exact_amount(fold_ceilings(place.facts.simplify(words))), at.span)

    def _block_words(self, body: tuple[s.Stmt, ...], place: Position, excess: Excess = ()) -> Amount:
        total: Amount = ZERO_AMOUNT
        peak = Peak()
        for statement in body:
            facts = place.facts
            during = self.statement(statement, (place, peak.find_excess(total, excess)))
            if self._calls_recursion(statement):
                # The peak during the call includes the words held before, which closed forms of recursion do not show.
                peak = peak.drop_candidate(total)
            peak = peak.with_candidate(add_amounts(total, during), facts)
            if isinstance(statement, s.Local):
                total = add_amounts(total, self._array_words(statement.type, statement, place))
                peak = peak.with_candidate(total, facts)
            place = place.position_after(statement)
        return peak.bound_maximum(place.facts)

    def _calls_recursion(self, statement: s.Stmt) -> bool:
        return any(
            find_recursive_component(self._module, callee) for callee in iterate_callees(self._module, statement)
        )

    def while_loop(self, loop: s.While, at: ProgramPoint) -> Amount:
        return widen_to_zero(self._block_words(loop.body, at[0]))

    def split(self, split: s.Split, at: ProgramPoint) -> Amount:
        try:
            return self._block_words(split.body, position_in_split(split, at[0]))
        except NotStaticError as problem:
            return UnknownAmount(problem.reason, split.span)

    def communicate(self, statement: s.Communicate, at: ProgramPoint) -> Amount:
        collective = self._module.collectives.get(statement)
        return self.simple(statement, at) if collective is None else self.invoke(collective.invoke, at)

    def invoke(self, invoke: s.Invoke, at: ProgramPoint) -> Amount:
        return self._call_words(invoke, at[0], invoke.along)

    def simple(self, statement: s.SimpleStmt, at: ProgramPoint) -> Amount:
        return self._call_words(statement, at[0], ())

    def _call_words(self, statement: s.Stmt, place: Position, along: tuple[s.Name, ...]) -> Amount:
        most: Amount = ZERO_AMOUNT
        for node in s.iterate_nodes(statement):
            target = self._module.targets.get(node) if isinstance(node, s.Call) else None
            if isinstance(node, s.Call) and isinstance(target, s.Algorithm):
                words = self._callee_words(node, target, along, place)
                most = words if most is ZERO_AMOUNT else maximum_amount(most, words, place.facts)
        return most

    def _callee_words(self, call: s.Call, callee: s.Algorithm, along: tuple[s.Name, ...], place: Position) -> Amount:
        recursive = bool(find_recursive_component(self._module, callee))
        if callee.grid:
            try:
                inside = position_in_callee(self._module, call, callee, along, place)
            except NotStaticError as problem:
                return UnknownAmount(problem.reason, call.span)
            if recursive:
                return self._recursions.call_amounts(callee, inside, call, self._level)["memory"]
            key = "memory", callee, self._level, inside.cost_key
            if key not in self._recursions.followed:
                self._recursions.followed[key] = self.bound_body_peak(callee, inside)
            return self._recursions.followed[key]  # type: ignore[no-any-return]
        sizes = self._stretches.evaluate_callee_sizes(call, callee, place)
        if recursive:
            inside = replace(place, values=sizes)
            return self._recursions.call_amounts(callee, inside, call, self._level)["memory"]
        return place.bound_amount_over_processors(
            amount_at_sizes(self.bound_serial_peak(callee), sizes, place.facts, call), call.span
        )

    @memoised
    def bound_serial_peak(self, algorithm: s.Algorithm) -> Amount:
        """Return the peak of an algorithm on one processor without its parameters, in its sizes."""
        scope = declared_scope(self._module, algorithm)
        return express_in_sizes(
            self._block_words(algorithm.body, Position.of(scope, algorithm)), scope.facts, algorithm
        )

    def loop(self, loop: s.Loop, at: ProgramPoint) -> Amount:
        place, excess = at
        try:
            iterations = iteration_range(loop, place)
        except NotStaticError:
            return widen_to_zero(self._block_words(loop.body, place.without_value(loop.variable)))
        inside = place.with_facts(iterations.inside).with_value(loop.variable, iterations.value)
        body = self._block_words(loop.body, inside)
        if s.may_end_early(loop):
            body = widen_to_zero(body)
        nonempty = iterations.maximum_if_nonempty(body)
        most = _max_over_iterations(body, iterations)
        if isinstance(nonempty, KnownAmount) and isinstance(most, KnownAmount):
            outside = iterations.facts.with_nonnegative(-iterations.trips)
            most = _bound_peak_of_loop(nonempty, most, excess, outside)
        return place.bound_amount_over_processors(most, loop.span)

    def branches(self, branches: tuple[s.Branch, ...], at: ProgramPoint) -> Amount:
        (first, *rest), (place, excess) = branches, at
        if first.condition is None:
            return self._block_words(first.body, place, excess)
        facts = place.facts
        held = place.bound_indicator(first.condition)
        held = held if self._level is None else self._level.decide_indicator(first, held, place)
        indicator = held.lower if held.exact else None
        opposite = s.Unary("not", first.condition, span=first.condition.span)
        if indicator == ZERO:
            return self.branches(tuple(rest), (place.assuming(opposite), excess)) if rest else ZERO_AMOUNT
        arm = self._block_words(first.body, place.assuming(first.condition), excess)
        if indicator == ONE:
            return arm
        otherwise = self.branches(tuple(rest), (place.assuming(opposite), excess)) if rest else ZERO_AMOUNT
        if indicator is not None and not (place.ranged and not indicator.names <= place.fixed):
            return choose_by_indicator(indicator, arm, otherwise)
        # The peak over all iterations or processors is at most the maximum over both branches.
        either = bound_either_amount(arm, otherwise, facts)
        return KnownAmount(ZERO, either.upper) if place.ranged and isinstance(either, KnownAmount) else either
