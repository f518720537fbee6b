"""Tally: what a stretch of code costs. Flops by kind, work, and the path its span is read from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from archline.algebra.facts import Facts
from archline.algebra.polynomial import Poly
from archline.ir import max_plus as paths
from archline.ir.amounts import NOTHING, UNIT, Amount, Unknown, add, either, exactly, weigh
from archline.ir.max_plus import IDLE, Path
from archline.language.source import Span

TOTAL, UNKNOWN = "total", "unknown"
"""Keys of `Tally.flops` beside the kinds: all kinds together, and what cannot be derived."""


@dataclass(frozen=True)
class Tally:
    """`flops` by kind (add, mul, ...), `work`, and `path`; `declared` names what it takes on trust.

    All kinds together are counted beside the kinds: of two branches with one addition and one multiplication each
    kind is 0 or 1, and their sum is 1.
    """

    flops: Mapping[str, Amount] = field(default_factory=dict)
    work: Amount = NOTHING
    path: Path = IDLE
    declared: frozenset[str] = frozenset()

    def then(self, other: Tally, facts: Facts) -> Tally:
        """The two, one after the other."""
        if other is FREE:
            return self
        if self is FREE:
            return other
        return Tally(
            _together(self.flops, other.flops),
            add(self.work, other.work),
            paths.then(self.path, other.path, facts),
            self.declared | other.declared,
        )

    def map(self, function: Callable[[Amount], Amount], path: Path) -> Tally:
        """Apply a function to every count; the path is given."""
        flops = {kind: function(amount) for kind, amount in self.flops.items()}
        return Tally(flops, function(self.work), path, self.declared)

    @property
    def known(self) -> bool:
        """Whether every count and the span can be derived."""
        return not any(isinstance(each, Unknown) for each in (*self.flops.values(), self.work, self.path.finish))

    def or_else(self, other: Tally) -> Tally:
        """The same stretch, with what is known of it elsewhere where it is unknown here."""

        def first(amount: Amount, instead: Amount) -> Amount:
            return instead if isinstance(amount, Unknown) else amount

        flops = {kind: first(amount, other.flops.get(kind, NOTHING)) for kind, amount in self.flops.items()}
        if UNKNOWN in flops:
            flops = dict(other.flops)
        path = other.path if isinstance(self.path.finish, Unknown) else self.path
        return Tally(flops, first(self.work, other.work), path, self.declared | other.declared)

    @property
    def span(self) -> Amount:
        """The time at which everything, pending calls too, has ended."""
        return self.path.finish


FREE = Tally()


def _together(left: Mapping[str, Amount], right: Mapping[str, Amount]) -> Mapping[str, Amount]:
    if not right:
        return left
    return {kind: add(left.get(kind, NOTHING), right.get(kind, NOTHING)) for kind in {**left, **right}}


def operation(kind: str | None, times: int = 1) -> Tally:
    """Operations on reals, counted as flops of a kind, or on ints (kind None): 1 work and 1 span each."""
    count = UNIT if times == 1 else exactly(Poly.constant(times))
    return Tally({} if kind is None else {kind: count, TOTAL: count}, count, paths.serial(count))


STEP = operation(None)
"""1 work and 1 span: a loop's iteration, a test, a call."""


def unknown(reason: str, span: Span | None) -> Tally:
    """A cost that cannot be derived."""
    amount = Unknown(reason, span)
    return Tally({UNKNOWN: amount}, amount, paths.serial(amount))


def chosen(taken: Poly, first: Tally, second: Tally, facts: Facts) -> Tally:
    """`first` where the indicator is 1, else `second`."""
    kinds = {**first.flops, **second.flops}
    flops = {kind: weigh(taken, first.flops.get(kind, NOTHING), second.flops.get(kind, NOTHING)) for kind in kinds}
    return Tally(
        flops,
        weigh(taken, first.work, second.work),
        paths.choose(taken, first.path, second.path, facts),
        first.declared | second.declared,
    )


def one_of(first: Tally, second: Tally, facts: Facts) -> Tally:
    """One of the two; the data decides which."""
    kinds = {**first.flops, **second.flops}
    flops = {kind: either(first.flops.get(kind, NOTHING), second.flops.get(kind, NOTHING), facts) for kind in kinds}
    return Tally(
        flops,
        either(first.work, second.work, facts),
        paths.either_path(first.path, second.path, facts),
        first.declared | second.declared,
    )


def flops_total(tally: Tally) -> Amount:
    """All flops, whatever their kind."""
    kinds: Amount = NOTHING
    for kind, amount in tally.flops.items():
        if kind != TOTAL:
            kinds = add(kinds, amount)
    total = tally.flops.get(TOTAL, NOTHING)
    return kinds if isinstance(kinds, Unknown) or kinds.exact or isinstance(total, Unknown) else total
