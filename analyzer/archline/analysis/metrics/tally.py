"""Tally: what a stretch of code costs, in any metrics: amounts that add up, and paths through what runs in parallel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from archline.algebra.facts import Facts
from archline.algebra.polynomial import Poly
from archline.expr.tree import Span
from archline.ir import max_plus
from archline.ir.amounts import (
    NOTHING,
    Amount,
    KnownAmount,
    UnknownAmount,
    add,
    choose_by_indicator,
    either_amount,
    exact_amount,
    map_known,
    scale_amount,
    tighter_amount,
)
from archline.ir.max_plus import IDLE, MaxPlusMap
from archline.records import field, record, replace

T = TypeVar("T")


@record
class Tally:
    """`sums` holds the metrics that add up, `paths` those of the critical path; `declared` names what it trusts.

    What is not named is 0, or unknown where there is a `gap`. A metric that is split by kinds is counted in all (flops)
    and by kind (flops.add): of two branches with one addition and one multiplication each kind is 0 or 1, their sum 1.
    """

    sums: Mapping[str, Amount] = field(default_factory=dict)
    paths: Mapping[str, MaxPlusMap] = field(default_factory=dict)
    gap: UnknownAmount | None = None
    declared: frozenset[str] = frozenset()

    def amount(self, name: str) -> Amount:
        """A metric; of a path the time at which everything, pending calls too, has ended."""
        path = self.paths.get(name)
        found = self.sums.get(name, NOTHING) if path is None else path.finish
        return found if self.gap is None or isinstance(found, UnknownAmount) else self.gap

    def whole(self, name: str) -> Amount:
        """A metric of all kinds: the sum of the kinds where that is exact, which it is more often."""
        kinds = [each for kind, each in self.sums.items() if kind.startswith(f"{name}.")]
        together: Amount = NOTHING
        for each in kinds:
            together = add(together, each)
        found = self.amount(name)
        if not kinds or self.gap is not None:
            return found
        return (
            together
            if isinstance(together, UnknownAmount) or together.exact or isinstance(found, UnknownAmount)
            else found
        )

    @property
    def names(self) -> frozenset[str]:
        """The metrics that are counted, and their kinds."""
        return frozenset(self.sums) | frozenset(self.paths)

    def then(self, other: Tally, facts: Facts) -> Tally:
        """The two, one after the other."""
        if other is FREE:
            return self
        if self is FREE:
            return other
        return self._with(other, add, lambda first, second: max_plus.compose(first, second, facts))

    def _with(
        self,
        other: Tally,
        of_sums: Callable[[Amount, Amount], Amount],
        of_paths: Callable[[MaxPlusMap, MaxPlusMap], MaxPlusMap],
    ) -> Tally:
        return Tally(
            _each(self.sums, other.sums, NOTHING, of_sums),
            _each(self.paths, other.paths, IDLE, of_paths),
            self.gap or other.gap,
            self.declared | other.declared,
        )

    def map(self, of_sums: Callable[[Amount], Amount], of_paths: Callable[[MaxPlusMap], MaxPlusMap]) -> Tally:
        """Apply a function to every amount that adds up, and one to every path."""
        return replace(
            self,
            sums={name: of_sums(each) for name, each in self.sums.items()},
            paths={name: of_paths(each) for name, each in self.paths.items()},
        )

    def ended(self, function: Callable[[Amount], Amount]) -> Tally:
        """Apply a function to every amount, those of paths when everything has ended."""
        return self.map(function, lambda path: max_plus.serial_map(function(path.finish)))

    @property
    def known(self) -> bool:
        """Whether all can be derived."""
        return self.gap is None and not any(isinstance(self.amount(name), UnknownAmount) for name in self.names)

    @property
    def exact(self) -> bool:
        """Whether all is known, and exactly."""
        found = map(self.amount, self.names)
        return self.gap is None and all(isinstance(each, KnownAmount) and each.exact for each in found)

    @property
    def length(self) -> int:
        """The terms of the longest upper bound; 0 of what is not known."""
        found = map(self.amount, self.names)
        return max((len(each.upper.terms) for each in found if isinstance(each, KnownAmount)), default=0)

    def within(self, other: Tally, facts: Facts) -> Tally:
        """The same stretch by both of two bounds."""
        if self.gap is not None or other.gap is not None:
            # What is counted next to a gap is not all.
            return replace(self if other.gap is not None else other, declared=self.declared | other.declared)

        def path(one: MaxPlusMap, rough: MaxPlusMap) -> MaxPlusMap:
            if one.serial and rough.serial:
                return max_plus.serial_map(tighter_amount(one.finish, rough.finish, facts))
            return rough if isinstance(one.finish, UnknownAmount) else one

        return self._with(other, lambda one, rough: tighter_amount(one, rough, facts), path)


FREE = Tally()


def _each(left: Mapping[str, T], right: Mapping[str, T], nothing: T, function: Callable[[T, T], T]) -> Mapping[str, T]:
    """A function of both, by name."""
    return {name: function(left.get(name, nothing), right.get(name, nothing)) for name in {**left, **right}}


def unknown(reason: str, span: Span | None) -> Tally:
    """A cost that cannot be derived."""
    return Tally(gap=UnknownAmount(reason, span))


def chosen(taken: KnownAmount, first: Tally, second: Tally, facts: Facts) -> Tally:
    """`first` where the indicator is 1, `second` where it is 0, one of the two where it is between."""
    if not taken.exact:
        maybe = chosen(exact_amount(taken.lower), first, one_of(first, second, facts), facts)
        return chosen(exact_amount(taken.upper), maybe, second, facts)
    return first._with(
        second,
        lambda one, other: choose_by_indicator(taken.lower, one, other),
        lambda one, other: max_plus.choose_map(taken.lower, one, other, facts),
    )


def one_of(first: Tally, second: Tally, facts: Facts) -> Tally:
    """One of the two; the data decides which."""
    return first._with(
        second,
        lambda one, other: either_amount(one, other, facts),
        lambda one, other: max_plus.either_path(one, other, facts),
    )


def repeated(body: Tally, count: Amount) -> Tally:
    """A serial body a number of times."""
    return body.map(lambda amount: scale_amount(amount, count), lambda path: max_plus.repeat_map(path, count))


@record
class DerivationStep:
    """One statement, what it costs each time it is reached, and the steps inside it.

    `rule` says how its counts come about, `span_rule` how its span does where that differs. Inside a loop that does not
    ascend in ones, tallies hold the number of the iteration, from 0, under the loop variable's name: `counter` gives
    that number in terms of the variable itself.
    """

    span: Span
    rule: str
    tally: Tally
    children: tuple[DerivationStep, ...] = ()
    span_rule: str | None = None
    counter: tuple[str, Poly] | None = None

    def mapped(self, function: Callable[[Poly], Poly]) -> DerivationStep:
        """The same steps with a function applied to every expression."""
        return replace(
            self,
            tally=self.tally.ended(lambda amount: map_known(amount, function)),
            children=tuple(child.mapped(function) for child in self.children),
            counter=None if self.counter is None else (self.counter[0], function(self.counter[1])),
        )
