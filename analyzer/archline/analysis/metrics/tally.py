"""A tally holds the costs of a stretch of code in several metrics, as amounts that add and as parallel paths."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from archline.algebra.facts import Facts
from archline.algebra.polynomial import ZERO, Poly
from archline.expr.tree import Span
from archline.ir import max_plus
from archline.ir.amounts import (
    ZERO_AMOUNT,
    Amount,
    KnownAmount,
    UnknownAmount,
    add_amounts,
    bound_either_amount,
    choose_by_indicator,
    exact_amount,
    intersect_amounts,
    map_bounds,
    scale_amount,
    widen_to_zero,
)
from archline.ir.max_plus import IDENTITY_MAP, MaxPlusMap
from archline.records import field, record, replace

T = TypeVar("T")
EXIT = "exit of the loop"
"""The name of the round of the branches that leave a loop; no iterations have such a name."""


@record
class Tally:
    """The cost of code: `sums` has additive metrics, `paths` those of the critical path.

    `declared` names the declared costs in it. A metric that is in neither is 0, or unknown if there is a `gap`, which
    gives the reason. A metric with kinds is counted in total (flops) and by kind (flops.add): for two branches, one
    with an addition and one with a multiplication, each kind is 0 or 1, and the total is 1.

    `rounds` maps the qualified name of the iterations of each loop without a bound to bounds on the cost of any one
    iteration; `sums` and `paths` do not include it. On the critical path its lower bound is 0 where iterations may run
    in parallel to other code.
    """

    sums: Mapping[str, Amount] = field(default_factory=dict)
    paths: Mapping[str, MaxPlusMap] = field(default_factory=dict)
    gap: UnknownAmount | None = None
    declared: frozenset[str] = frozenset()
    rounds: Mapping[str, Tally] = field(default_factory=dict)

    def amount(self, name: str) -> Amount:
        """Return the amount of a metric; for a path the time at which all code has ended, spawned calls too."""
        path = self.paths.get(name)
        amount = self.sums.get(name, ZERO_AMOUNT) if path is None else path.finish
        return amount if self.gap is None or isinstance(amount, UnknownAmount) else self.gap

    def total_amount(self, name: str) -> Amount:
        """Return the amount of a metric in total: the sum over its kinds if that is exact, else the total count."""
        kinds = [amount for kind, amount in self.sums.items() if kind.startswith(f"{name}.")]
        kinds_sum: Amount = ZERO_AMOUNT
        for amount in kinds:
            kinds_sum = add_amounts(kinds_sum, amount)
        total = self.amount(name)
        if not kinds or self.gap is not None:
            return total
        return (
            kinds_sum
            if isinstance(kinds_sum, UnknownAmount) or kinds_sum.exact or isinstance(total, UnknownAmount)
            else total
        )

    @property
    def names(self) -> frozenset[str]:
        """The names of the metrics that are counted, and of their kinds."""
        return frozenset(self.sums) | frozenset(self.paths)

    def then(self, following: Tally, facts: Facts) -> Tally:
        """Return the cost of this code followed by other code."""
        if following is FREE:
            return self
        if self is FREE:
            return following
        if self.has_pending_calls:
            following = following.with_parallel_iterations()
        total = self._combine(following, add_amounts, lambda first, second: max_plus.compose_maps(first, second, facts))
        return total.with_iterations(self.rounds, facts).with_iterations(following.rounds, facts)

    def _combine(
        self,
        second: Tally,
        of_sums: Callable[[Amount, Amount], Amount],
        of_paths: Callable[[MaxPlusMap, MaxPlusMap], MaxPlusMap],
    ) -> Tally:
        """Combine two tallies, without their rounds."""
        return Tally(
            _combine_mappings_by_name(self.sums, second.sums, ZERO_AMOUNT, of_sums),
            _combine_mappings_by_name(self.paths, second.paths, IDENTITY_MAP, of_paths),
            self.gap or second.gap,
            self.declared | second.declared,
        )

    def map(
        self,
        of_sums: Callable[[Amount], Amount],
        of_paths: Callable[[MaxPlusMap], MaxPlusMap],
        of_rounds: Callable[[Tally], Tally] | None = None,
    ) -> Tally:
        """Apply `of_sums` to every additive amount, and `of_paths` to every path.

        `of_rounds` maps the cost of an iteration of each loop without a bound; by default the two functions do.
        """
        return replace(
            self,
            sums={name: of_sums(amount) for name, amount in self.sums.items()},
            paths={name: of_paths(path) for name, path in self.paths.items()},
            rounds={
                name: once.map(of_sums, of_paths) if of_rounds is None else of_rounds(once)
                for name, once in self.rounds.items()
            },
        )

    # Loops without a bound
    @property
    def has_pending_calls(self) -> bool:
        """True if calls that the code has spawned may still run at its end."""
        return any(path.finish != path.advance for path in self.paths.values())

    def with_iterations(self, rounds: Mapping[str, Tally], facts: Facts) -> Tally:
        """Add costs of iterations by loop; if a loop has a cost already, it gets bounds that hold for both costs."""
        if not rounds:
            return self
        both = {
            name: bound_either_tally(self.rounds[name], once, facts) if name in self.rounds else once
            for name, once in rounds.items()
        }
        return replace(self, rounds={**self.rounds, **both})

    def with_parallel_iterations(self) -> Tally:
        """Return the tally with 0 as lower bound of the delay by an iteration, which may run parallel to other code."""
        return replace(self, rounds={name: _drop_minimum_delay(once) for name, once in self.rounds.items()})

    def fold_iterations(self, count_of: Callable[[str], KnownAmount | None]) -> Tally:
        """Return the cost at the end of an algorithm: the iterations of each loop times the cost of one.

        `count_of` returns their number by their qualified name; rounds stay where it returns None.
        """
        counts = {name: count for name in self.rounds if (count := count_of(name)) is not None}
        if not counts:
            return self
        rest = {name: once for name, once in self.rounds.items() if name not in counts}
        base = replace(self, rounds={}).map_amounts(lambda amount: amount)
        for name, count in counts.items():
            scaled = self.rounds[name].map_amounts(lambda amount, count=count: scale_amount(amount, count))  # type: ignore[misc]
            base = base._add_serially(scaled)
        return replace(base, rounds=rest)

    def _add_serially(self, following: Tally) -> Tally:
        """Add a tally of code that follows this one, if the paths of both are serial; without rounds."""
        return self._combine(
            following,
            add_amounts,
            lambda first, second: max_plus.serial_map(add_amounts(first.finish, second.finish)),
        )

    def defer_exit(self, otherwise: Tally, fixed: frozenset[str], facts: Facts) -> Tally:
        """Move the upper bounds of a branch that leaves a loop to a round, which the loop adds once.

        Bounds stay that are known not to exceed those of `otherwise`, the cost without the exit. The tally does not
        change unless its bounds are expressions in the `fixed` symbols, and nothing runs in parallel.
        """

        def split_amount(name: str, amount: Amount) -> tuple[Amount, Amount]:
            staying = otherwise.amount(name)
            if isinstance(amount, UnknownAmount) or (
                isinstance(staying, KnownAmount) and facts.nonnegative(staying.upper - amount.upper)
            ):
                return amount, ZERO_AMOUNT
            # The lower bound stays, for the minimum of both branches.
            return KnownAmount(amount.lower, ZERO), widen_to_zero(amount)

        amounts = [self.amount(name) for name in self.names]
        movable = all(isinstance(amount, KnownAmount) and amount.upper.names <= fixed for amount in amounts)
        if not movable or self.rounds or not all(path.serial for path in self.paths.values()):
            return self
        parts = {name: split_amount(name, self.amount(name)) for name in self.names}
        kept, once = (
            Tally(
                {name: parts[name][number] for name in self.sums},
                {name: max_plus.serial_map(parts[name][number]) for name in self.paths},
                declared=self.declared,
            )
            for number in (0, 1)
        )
        return replace(kept, rounds={EXIT: once}) if any(parts[name][1] is not ZERO_AMOUNT for name in parts) else self

    def add_exit(self, facts: Facts, bound: Callable[[Amount], Amount] = lambda amount: amount) -> Tally:
        """Return the tally with the cost of a branch that leaves the loop, mapped by `bound`, in place of its round."""
        if EXIT not in self.rounds:
            return self
        rest = {name: once for name, once in self.rounds.items() if name != EXIT}
        return replace(self, rounds=rest).then(self.rounds[EXIT].map_amounts(bound), facts)

    def resolve_rounds(self, bounds: Mapping[str, KnownAmount], together: KnownAmount | None, facts: Facts) -> Tally:
        """Return the cost with the iterations of some loops bounded, by their qualified names.

        `together` bounds the iterations of all these loops: all pay the least cost of an iteration, and those of each
        loop pay the difference to its own.
        """
        counted = {name: once for name, once in self.rounds.items() if name in bounds}
        if not counted or together is None or counted.keys() != bounds.keys():
            return self.fold_iterations(bounds.get)
        separate = Tally(rounds=counted).fold_iterations(bounds.get)

        def tighten_total(metric: str, total: Amount) -> Amount:
            amounts = {name: once.amount(metric) for name, once in counted.items()}
            shared = None if isinstance(total, UnknownAmount) else _count_together(amounts, bounds, together, facts)
            return total if shared is None else intersect_amounts(total, shared, facts)

        sums = {metric: tighten_total(metric, total) for metric, total in separate.sums.items()}
        paths = {
            metric: max_plus.serial_map(tighten_total(metric, path.finish)) for metric, path in separate.paths.items()
        }
        base = replace(self, rounds={}).map_amounts(lambda amount: amount)
        rest = {name: once for name, once in self.rounds.items() if name not in bounds}
        return replace(base._add_serially(replace(separate, sums=sums, paths=paths)), rounds=rest)

    def map_amounts(self, function: Callable[[Amount], Amount]) -> Tally:
        """Apply a function to every amount; a path becomes serial, with the time at which all code has ended."""
        return self.map(function, lambda path: max_plus.serial_map(function(path.finish)))

    @property
    def known(self) -> bool:
        """True if every amount is known."""
        known = self.gap is None and not any(isinstance(self.amount(name), UnknownAmount) for name in self.names)
        return known and all(once.known for once in self.rounds.values())

    @property
    def exact(self) -> bool:
        """True if every amount is exact rather than only bounded."""
        amounts = map(self.amount, self.names)
        exact = self.gap is None and all(isinstance(amount, KnownAmount) and amount.exact for amount in amounts)
        return exact and all(once.exact for once in self.rounds.values())

    @property
    def max_term_count(self) -> int:
        """The number of terms of the longest known upper bound."""
        amounts = map(self.amount, self.names)
        return max((len(amount.upper.terms) for amount in amounts if isinstance(amount, KnownAmount)), default=0)

    def replace_unknown(self, second: Tally) -> Tally:
        """Return this tally, with the amounts of another one of the same code where they are unknown."""
        if self.gap is not None or second.gap is not None:
            return self if self.gap is None else second
        both = self._combine(
            second,
            lambda amount, other: other if isinstance(amount, UnknownAmount) else amount,
            lambda path, other: other if isinstance(path.finish, UnknownAmount) else path,
        )
        return replace(both, rounds=second.rounds)

    def tighten(self, second: Tally, facts: Facts) -> Tally:
        """Combine two tallies of one piece of code to the tighter bounds; if neither is proved so, use `second`."""
        if self.rounds or second.rounds:
            inner = {
                name: self.rounds[name].tighten(once, facts) if name in self.rounds else once
                for name, once in second.rounds.items()
            }
            return replace(replace(self, rounds={}).tighten(replace(second, rounds={}), facts), rounds=inner)
        if self.gap is not None or second.gap is not None:
            # A tally with a gap lacks counts, so that the other one is used.
            return replace(self if second.gap is not None else second, declared=self.declared | second.declared)

        def tighter_path(first: MaxPlusMap, rough: MaxPlusMap) -> MaxPlusMap:
            if first.serial and rough.serial:
                return max_plus.serial_map(intersect_amounts(first.finish, rough.finish, facts))
            return rough if isinstance(first.finish, UnknownAmount) else first

        return self._combine(second, lambda one, rough: intersect_amounts(one, rough, facts), tighter_path)


FREE = Tally()


def _count_together(
    amounts: Mapping[str, Amount], bounds: Mapping[str, KnownAmount], together: KnownAmount, facts: Facts
) -> KnownAmount | None:
    """Bound the cost of the iterations of several loops by the number of all; None if one costs no number."""
    known_amounts = {name: amount for name, amount in amounts.items() if isinstance(amount, KnownAmount)}
    if len(known_amounts) < len(amounts):
        return None

    def sum_bounds(costs: Mapping[str, Poly], all_iterations: Poly, each: Mapping[str, Poly]) -> Poly | None:
        if not all(cost.is_constant for cost in costs.values()):
            return None
        least = min(cost.constant_term for cost in costs.values())
        return sum(
            (each[name].scaled(cost.constant_term - least) for name, cost in costs.items()),
            all_iterations.scaled(least),
        )

    lower = sum_bounds(
        {name: amount.lower for name, amount in known_amounts.items()},
        together.lower,
        {name: bounds[name].lower for name in known_amounts},
    )
    upper = sum_bounds(
        {name: amount.upper for name, amount in known_amounts.items()},
        together.upper,
        {name: bounds[name].upper for name in known_amounts},
    )
    return None if upper is None else KnownAmount(lower or ZERO, upper)


def _combine_mappings_by_name(
    left: Mapping[str, T], right: Mapping[str, T], nothing: T, function: Callable[[T, T], T]
) -> Mapping[str, T]:
    """Apply a function to the values of both mappings, by name."""
    return {name: function(left.get(name, nothing), right.get(name, nothing)) for name in {**left, **right}}


def make_unknown_tally(reason: str, span: Span | None) -> Tally:
    """Return the tally of code whose costs are unknown in all metrics, for a reason at `span`."""
    return Tally(gap=UnknownAmount(reason, span))


def choose_tally(indicator: KnownAmount, first: Tally, second: Tally, facts: Facts) -> Tally:
    """Return `first` where the indicator is 1, `second` where it is 0, and bounds of both where it is undecided."""
    if not indicator.exact:
        maybe = choose_tally(exact_amount(indicator.lower), first, bound_either_tally(first, second, facts), facts)
        return choose_tally(exact_amount(indicator.upper), maybe, second, facts)
    chosen = first._combine(
        second,
        lambda one, other: choose_by_indicator(indicator.lower, one, other),
        lambda one, other: max_plus.select_map(indicator.lower, one, other, facts),
    )
    return chosen.with_iterations(first.rounds, facts).with_iterations(second.rounds, facts)


def bound_either_tally(first: Tally, second: Tally, facts: Facts) -> Tally:
    """Return bounds that hold for both tallies, as data selects one or the other."""
    either = first._combine(
        second,
        lambda one, other: bound_either_amount(one, other, facts),
        lambda one, other: max_plus.bound_either_map(one, other, facts),
    )
    return either.with_iterations(first.rounds, facts).with_iterations(second.rounds, facts)


def repeat_tally(body: Tally, count: Amount) -> Tally:
    """Return the cost of a serial body that is executed a number of times."""
    times = body.with_parallel_iterations() if body.has_pending_calls else body
    return times.map(
        lambda amount: scale_amount(amount, count), lambda path: max_plus.repeat_map(path, count), lambda once: once
    )


def _drop_minimum_delay(once: Tally) -> Tally:
    return once.map(lambda amount: amount, lambda path: max_plus.serial_map(widen_to_zero(path.finish)))


def repeat_unbounded(body: Tally, name: str, facts: Facts) -> Tally:
    """Return the cost of a body that data repeats without a bound; `name` is the qualified name of its iterations."""
    inner = body.with_parallel_iterations() if body.has_pending_calls else body
    # Of an iteration that ends with calls in progress, only its own part delays what follows.
    once = replace(inner, rounds={}).map(lambda amount: amount, max_plus.bound_delay)
    # A body with a `sync` may wait for calls that were spawned before the loop, in its first iteration.
    waiting = {
        name: max_plus.bound_either_map(IDENTITY_MAP, max_plus.SYNC_MAP, facts)
        for name, path in body.paths.items()
        if path.joined is not None
    }
    entry = Tally(paths=waiting, declared=body.declared)
    return entry.with_iterations(inner.rounds, facts).with_iterations({name: once}, facts)


def bound_early_exit(whole: Tally, first: Tally) -> Tally:
    """Bound the cost of a loop that an exit may end from below by `first`, the cost of its first iteration.

    The upper bound is that of `whole`, the cost of all iterations. A `sync` in them may not be reached.
    """

    def bound_amount(amount: Amount, least: Amount) -> Amount:
        if isinstance(amount, UnknownAmount):
            return amount
        return KnownAmount(ZERO if isinstance(least, UnknownAmount) else least.lower, amount.upper)

    def bound_path(path: MaxPlusMap, least: MaxPlusMap) -> MaxPlusMap:
        if path.serial:
            return max_plus.serial_map(bound_amount(path.finish, least.finish))
        joined = None if path.joined is None else widen_to_zero(path.joined)
        late, kept = bound_amount(path.finish, least.finish), widen_to_zero(path.kept)
        return MaxPlusMap(widen_to_zero(path.advance), late, joined, kept, certain=joined is None)

    return replace(whole._combine(first, bound_amount, bound_path), rounds=whole.rounds)


@record
class DerivationStep:
    """One statement, its cost at each execution, and the steps inside it.

    `rule` describes how the cost is computed, `span_rule` how the span is if that differs. Inside a loop that does
    not ascend by one, the loop variable in tallies stands for the number of the iteration, from 0; `counter` has its
    name, and that number in terms of the variable's value.
    """

    span: Span
    rule: str
    tally: Tally
    children: tuple[DerivationStep, ...] = ()
    span_rule: str | None = None
    counter: tuple[str, Poly] | None = None

    def map_values(self, function: Callable[[Poly], Poly]) -> DerivationStep:
        """Apply a function to every expression of the steps."""
        return replace(
            self,
            tally=self.tally.map_amounts(lambda amount: map_bounds(amount, function)),
            children=tuple(child.map_values(function) for child in self.children),
            counter=None if self.counter is None else (self.counter[0], function(self.counter[1])),
        )
