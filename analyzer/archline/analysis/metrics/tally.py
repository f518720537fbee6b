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


@record
class Tally:
    """The cost of code: `sums` has additive metrics, `paths` those of the critical path.

    `declared` names the declared costs in it. A metric that is in neither is 0, or unknown if there is a `gap`, which
    gives the reason. A metric with kinds is counted in total (flops) and by kind (flops.add): for two branches, one
    with an addition and one with a multiplication, each kind is 0 or 1, and the total is 1.
    """

    sums: Mapping[str, Amount] = field(default_factory=dict)
    paths: Mapping[str, MaxPlusMap] = field(default_factory=dict)
    gap: UnknownAmount | None = None
    declared: frozenset[str] = frozenset()

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
        return self._combine(following, add_amounts, lambda first, second: max_plus.compose_maps(first, second, facts))

    def _combine(
        self,
        second: Tally,
        of_sums: Callable[[Amount, Amount], Amount],
        of_paths: Callable[[MaxPlusMap, MaxPlusMap], MaxPlusMap],
    ) -> Tally:
        return Tally(
            _combine_mappings_by_name(self.sums, second.sums, ZERO_AMOUNT, of_sums),
            _combine_mappings_by_name(self.paths, second.paths, IDENTITY_MAP, of_paths),
            self.gap or second.gap,
            self.declared | second.declared,
        )

    def map(self, of_sums: Callable[[Amount], Amount], of_paths: Callable[[MaxPlusMap], MaxPlusMap]) -> Tally:
        """Apply a function to every additive amount, and another one to every path."""
        return replace(
            self,
            sums={name: of_sums(amount) for name, amount in self.sums.items()},
            paths={name: of_paths(path) for name, path in self.paths.items()},
        )

    def map_amounts(self, function: Callable[[Amount], Amount]) -> Tally:
        """Apply a function to every amount; a path becomes serial, with the time at which all code has ended."""
        return self.map(function, lambda path: max_plus.serial_map(function(path.finish)))

    @property
    def known(self) -> bool:
        """True if every amount is known."""
        return self.gap is None and not any(isinstance(self.amount(name), UnknownAmount) for name in self.names)

    @property
    def exact(self) -> bool:
        """True if every amount is exact rather than only bounded."""
        amounts = map(self.amount, self.names)
        return self.gap is None and all(isinstance(amount, KnownAmount) and amount.exact for amount in amounts)

    @property
    def length(self) -> int:
        """The number of terms of the longest known upper bound."""
        amounts = map(self.amount, self.names)
        return max((len(amount.upper.terms) for amount in amounts if isinstance(amount, KnownAmount)), default=0)

    def tighten(self, second: Tally, facts: Facts) -> Tally:
        """Combine two tallies of the same code to the tighter bounds; if neither is proved tighter, use `second`."""
        if self.gap is not None or second.gap is not None:
            # A tally with a gap lacks counts, so that the other one is used.
            return replace(self if second.gap is not None else second, declared=self.declared | second.declared)

        def tighter_path(first: MaxPlusMap, rough: MaxPlusMap) -> MaxPlusMap:
            if first.serial and rough.serial:
                return max_plus.serial_map(intersect_amounts(first.finish, rough.finish, facts))
            return rough if isinstance(first.finish, UnknownAmount) else first

        return self._combine(second, lambda one, rough: intersect_amounts(one, rough, facts), tighter_path)


FREE = Tally()


def _combine_mappings_by_name(
    left: Mapping[str, T], right: Mapping[str, T], nothing: T, function: Callable[[T, T], T]
) -> Mapping[str, T]:
    """Apply a function to the values of both mappings, by name."""
    return {name: function(left.get(name, nothing), right.get(name, nothing)) for name in {**left, **right}}


def unknown_cost(reason: str, span: Span | None) -> Tally:
    """Return the tally of code whose costs are unknown in all metrics, for a reason at `span`."""
    return Tally(gap=UnknownAmount(reason, span))


def choose_tally(indicator: KnownAmount, first: Tally, second: Tally, facts: Facts) -> Tally:
    """Return `first` where the indicator is 1, `second` where it is 0, and bounds of both where it is undecided."""
    if not indicator.exact:
        maybe = choose_tally(exact_amount(indicator.lower), first, either_tally(first, second, facts), facts)
        return choose_tally(exact_amount(indicator.upper), maybe, second, facts)
    return first._combine(
        second,
        lambda one, other: choose_by_indicator(indicator.lower, one, other),
        lambda one, other: max_plus.select_map(indicator.lower, one, other, facts),
    )


def either_tally(first: Tally, second: Tally, facts: Facts) -> Tally:
    """Return bounds that hold for both tallies, as data selects one or the other."""
    return first._combine(
        second,
        lambda one, other: bound_either_amount(one, other, facts),
        lambda one, other: max_plus.bound_either_map(one, other, facts),
    )


def repeat_tally(body: Tally, count: Amount) -> Tally:
    """Return the cost of a serial body that is executed a number of times."""
    return body.map(lambda amount: scale_amount(amount, count), lambda path: max_plus.repeat_map(path, count))


def leave_early(whole: Tally, first: Tally) -> Tally:
    """Bound the cost of a loop that an exit may end: from below by that of its first iteration.

    `whole` is the cost of all iterations. A `sync` in them may not be reached.
    """

    def bound_amount(amount: Amount, least: Amount) -> Amount:
        if isinstance(amount, UnknownAmount):
            return amount
        return KnownAmount(ZERO if isinstance(least, UnknownAmount) else least.lower, amount.upper)

    def bound_path(path: MaxPlusMap, least: MaxPlusMap) -> MaxPlusMap:
        if path.serial:
            return max_plus.serial_map(bound_amount(path.finish, least.finish))
        joined = None if path.joined is None else widen_to_zero(path.joined)
        late, kept = widen_to_zero(path.finish), widen_to_zero(path.kept)
        return MaxPlusMap(widen_to_zero(path.advance), late, joined, kept, certain=joined is None)

    return whole._combine(first, bound_amount, bound_path)


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
