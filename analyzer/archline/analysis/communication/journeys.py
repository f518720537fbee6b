"""Follow a path that moves from processor to processor with the messages of chains; the longest is no shorter.

In iteration k of a chain, the processor at distance k from the first sends to its neighbour, and the path continues
there. It goes through all iterations of the loop, of which a single processor takes part in two, and is then as many
processors further as there are iterations.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from archline.algebra import atoms as a
from archline.algebra.polynomial import ONE, ZERO, Poly
from archline.analysis.communication.place import GridAxis, Position, position_in_callee
from archline.analysis.communication.recursion import iteration_range
from archline.analysis.communication.steps import count_exchange
from archline.analysis.communication.walk import (
    FREE,
    METRICS,
    UNIT_COSTS,
    GridWalk,
    PathCosts,
    excludes_single_processor,
)
from archline.ir.amounts import UNIT_AMOUNT, ZERO_AMOUNT, Amount, UnknownAmount, exact_amount
from archline.ir.scope import known_value
from archline.language import syntax as s
from archline.language.model import Module
from archline.records import record, replace


@record
class Journey:
    """The costs of a path through a chain, at least, and by how many processors it moves.

    A message without words does not take the path along. If they are not `certain` to have words, nothing is said of
    the place behind the chain, and a cost stands only if it vanishes where they have none.
    """

    costs: PathCosts
    hops: Poly
    certain: bool


def follow_journey(module: Module, algorithm: s.Algorithm, walk: GridWalk, place: Position) -> PathCosts | None:
    """Derive the costs of a path that starts at a given processor and moves with chains; None if there are none."""
    walk.derive_body_costs(replace(algorithm, body=()), place)
    guide = _Guide(module, walk)
    chain = guide.follow_chain(algorithm.body, place) if len(algorithm.grid) == 1 else None
    if chain is not None:
        return chain.costs
    total, moved, pending, start = FREE, False, list[s.Stmt](), place
    # Values that may depend on the processor are not valid on the next one.
    valid, own = {*place.values}, {axis.name for axis in algorithm.grid}
    for statement in algorithm.body:
        arrival = guide.follow_call(statement, place)
        if arrival is None:
            pending.append(statement)
            place = place.position_after(statement)
            if isinstance(statement, s.Let) and s.find_names(statement.value) <= valid - own:
                valid.add(statement.name)
            continue
        costs, after = arrival
        total = total.then(walk.block_costs(tuple(pending), start)).then(costs)
        values = {name: value for name, value in after.values.items() if name in valid}
        place = replace(after, values=values, below={}, segments={}, settled=frozenset())
        moved, pending, start = True, [], place
    return total.then(walk.block_costs(tuple(pending), start)) if moved else None


@record(eq=False)
class _Guide:
    module: Module
    walk: GridWalk

    def follow_call(self, statement: s.Stmt, place: Position) -> tuple[PathCosts, Position] | None:
        """Return the costs of a call of a chain, or of a collective by one, and the place after them; else None."""
        collective = self.module.collectives.get(statement) if isinstance(statement, s.Communicate) else None
        invoke = statement if collective is None else collective.invoke
        if not isinstance(invoke, s.Invoke) or (callee := self.walk.grid_callee(invoke.call)) is None:
            return None
        joined = [name.id for name in invoke.along] or list(place.axes)
        if len(joined) != 1 or len(callee.grid) != 1:
            return None
        inside = position_in_callee(self.module, invoke.call, callee, invoke.along, place)
        journey = self.follow_chain(callee.body, inside)
        if journey is None or not journey.certain:
            return None
        more: tuple[s.Expr, ...] = invoke.outputs
        if isinstance(statement, s.Communicate) and collective is not None:
            more = () if collective.into is None or statement.buffer is None else (statement.buffer,)
        before = self.walk.evaluate_arguments(invoke, place, more)
        axis = place.axes[joined[0]]
        end = place.facts.simplify(a.modulo(axis.coordinate + journey.hops, axis.extent))
        return before.then(journey.costs), _move_place(place.position_after(statement), joined[0], end)

    def follow_chain(self, body: Sequence[s.Stmt], place: Position) -> Journey | None:
        """Follow a chain that begins at this processor; None for other code."""
        before, distances = FREE, list[str]()
        for statement in body:
            after = place.position_after(statement)
            match statement:
                case s.Let(name=name, value=value) if not s.find_names(value) & {*place.axes, *distances}:
                    before = before.then(self.walk.block_costs((statement,), place))
                case s.Let(name=name, value=s.Binary(op="%", right=s.Name(id="P"))) if after.values.get(name) == ZERO:
                    before = before.then(self.walk.block_costs((statement,), place))
                    distances.append(name)
                case s.If(branches=(branch, *_)) if statement is body[-1] and excludes_single_processor(statement):
                    rest = self._follow_loop(branch.body[0], place, distances) if len(branch.body) == 1 else None
                    return _prepend_costs(before.then(self._test_costs(branch, place)), rest)
                case s.Loop() if statement is body[-1]:
                    return _prepend_costs(before, self._follow_loop(statement, place, distances))
                case s.Invoke(call=call, along=along) if statement is body[-1]:
                    callee = self.walk.grid_callee(call)
                    if callee is None or len(callee.grid) != 1:
                        return None
                    before = before.then(self.walk.evaluate_arguments(statement, place, statement.outputs))
                    inside = position_in_callee(self.module, call, callee, along, place)
                    return _prepend_costs(before, self.follow_chain(callee.body, inside))
                case _:
                    # A chain is a loop, or a call of an algorithm with one.
                    return None
            place = after
        return None

    def _test_costs(self, branch: s.Branch, place: Position) -> PathCosts:
        """Derive the costs of the test of a branch."""
        return self.walk.branches((replace(branch, body=()),), place)

    def _follow_loop(self, loop: s.Stmt, place: Position, distances: Sequence[str]) -> Journey | None:
        """Follow the iterations of a chain; `distances` are names of the distance from its first processor."""
        if not isinstance(loop, s.Loop) or loop.step is not None or loop.down or loop.parallel:
            return None
        iterations = iteration_range(loop, place)
        ((name, axis),) = place.axes.items()
        index = Poly.symbol(iterations.variable) - iterations.lo
        inside = place.with_facts(iterations.inside).with_value(loop.variable, iterations.value)
        if not inside.facts.nonnegative(axis.extent - 2 - index - (ZERO if distances else axis.coordinate)):
            return None
        ends = (index, index + 1)
        if distances:
            # A chain that wraps around the end of its axis fixes only the distances between its processors.
            free = inside.facts.make_unused_name(name)
            inside = inside.with_facts(inside.facts.with_symbol(free, (ZERO,), (axis.extent - 1,)))
            inside = _move_place(inside, name, Poly.symbol(free))
            known = (dict.fromkeys(distances, at) for at in ends)
            sender, receiver = (replace(inside, values={**inside.values, **values}) for values in known)
        else:
            sender, receiver = (_move_place(inside, name, axis.coordinate + at) for at in ends)
        once = self._follow_iteration(loop.body, sender, receiver)
        if once is None:
            return None
        once = UNIT_COSTS.then(once)
        least = {metric: iterations.sum(_take_lower_bound(once.of(metric))) for metric in METRICS}
        costs = PathCosts(least).map(_take_lower_bound)
        certain = UNIT_AMOUNT in (once.of("messages"), once.of("node_messages")) and not once.declared
        costs = costs if certain else costs.map(partial(_require_words, once.of("words")))
        return Journey(costs, iterations.trips, certain)

    def _follow_iteration(self, body: Sequence[s.Stmt], sender: Position, receiver: Position) -> PathCosts | None:
        """Derive the costs of an iteration: of the sender up to its message, then of the receiver; None without one."""
        total, sent = FREE, False
        for statement in body:
            if not any(s.find_nodes(statement, s.Communicate)):
                total = total.then(self.walk.block_costs((statement,), receiver if sent else sender))
            elif sent:
                return None
            else:
                hop = self._follow_message(statement, sender, receiver)
                if hop is None:
                    return None
                total, sent = total.then(hop), True
            sender, receiver = sender.position_after(statement), receiver.position_after(statement)
        return total if sent else None

    def _follow_message(self, statement: s.Stmt, sender: Position, receiver: Position) -> PathCosts | None:
        """Derive the costs of an exchange in which the sender sends to the receiver, or of an `if` around it."""
        match statement:
            case s.Communicate(operation="exchange") if self._sends_on(statement, sender):
                return PathCosts(count_exchange(self.module, statement, sender, self.walk.longest))
            case s.If(branches=(s.Branch(condition=condition, body=body) as branch,)) if condition is not None:
                if not (_is_certain(condition, sender) and _is_certain(condition, receiver)):
                    return None
                inner = self._follow_iteration(body, sender.assuming(condition), receiver.assuming(condition))
                return None if inner is None else self._test_costs(branch, sender).then(inner)
            case _:
                # A message is not followed through other statements.
                return None

    def _sends_on(self, exchange: s.Communicate, place: Position) -> bool:
        """Test whether the processor sends a message to its neighbour, the next one on the axis."""
        to = next(clause for clause in exchange.clauses if clause.keyword == "to")
        if len(to.values) != 1 or (to.when is not None and not _is_certain(to.when, place)):
            return False
        ((_, axis),) = place.axes.items()
        match to.values[0]:
            case s.Binary(op="%", left=left, right=s.Name(id="P")):
                partner = known_value(left, place)
            case value:
                partner = known_value(value, place)
        return partner is not None and place.facts.simplify(partner - axis.coordinate) == ONE


def _prepend_costs(before: PathCosts, journey: Journey | None) -> Journey | None:
    return None if journey is None else replace(journey, costs=before.then(journey.costs))


def _is_certain(condition: s.Expr, place: Position) -> bool:
    return place.bound_indicator(condition).lower == ONE


def _move_place(place: Position, name: str, coordinate: Poly) -> Position:
    axis = place.axes[name]
    axes = {**place.axes, name: GridAxis(coordinate, axis.extent, axis.within)}
    return replace(place, axes=axes, values={**place.values, name: coordinate})


def _require_words(words: Amount, amount: Amount) -> Amount:
    """Return an amount if it is 0 where a message has no words, as words of a single size are 0 at size 0; else 0."""
    if isinstance(words, UnknownAmount) or isinstance(amount, UnknownAmount) or len(words.upper.names) != 1:
        return ZERO_AMOUNT
    none = dict.fromkeys(words.upper.names, ZERO)
    vanishes = words.upper.substitute(none) == ZERO == amount.lower.substitute(none)
    return amount if vanishes and len(words.upper.terms) == 1 else ZERO_AMOUNT


def _take_lower_bound(amount: Amount) -> Amount:
    return ZERO_AMOUNT if isinstance(amount, UnknownAmount) else exact_amount(amount.lower)
