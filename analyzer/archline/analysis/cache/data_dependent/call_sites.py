"""Algorithms that call recursive ones, once or in loops: how often, and what the sizes of all calls add up to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Atom, Poly, Symbol
from archline.algebra.relax import bound_away
from archline.analysis.cache.data_dependent.divided import UndividedError
from archline.analysis.metrics.accesses import METRIC, WordModel
from archline.analysis.metrics.data import at_sizes, holds
from archline.analysis.metrics.recursion import Derivation
from archline.analysis.metrics.tally import Tally
from archline.ir.amounts import Amount, Unknown, exactly
from archline.ir.scope import Scope
from archline.language import syntax as s
from archline.language.call_graph import recurses
from archline.language.model import Module
from archline.records import record

CALLS = "calls"
BY_DATA = a.Data | a.Offset | a.Gap


@record(eq=False)
class Site:
    """The calls that one place in the text makes, in sizes of the caller.

    `count`: how many there are at most. `same`: sizes that all of them have. `most`: what others are at most. `sums`:
    pairs of a total and a number >= 1; of each pair, the sizes of all calls add up to the one divided by the other at
    most.
    """

    target: s.Algorithm
    count: Poly
    same: Mapping[str, Poly]
    most: Mapping[str, Poly]
    sums: Mapping[str, tuple[tuple[Poly, Poly], ...]]


@record(eq=False)
class Caller:
    """What an algorithm costs but for the calls that it makes, at most, and those."""

    cost: Poly
    sites: tuple[Site, ...] = ()


def caller(module: Module, algorithm: s.Algorithm, model: WordModel) -> Caller:
    """What an algorithm that does not call itself does, with the costs of a model. Raises UndividedError."""
    gathering = _Gathering(module, model)
    tally, _ = gathering.algorithm(algorithm)
    if tally.gap is not None:
        raise UndividedError
    cost = _most(tally.sums, METRIC) if METRIC in tally.sums else ZERO
    return Caller(cost, tuple(each.site(tally.sums) for each in gathering.places.values()))


@record(eq=False)
class _Place:
    """A call as it is met: what its sizes are there."""

    label: str
    target: s.Algorithm
    same: Mapping[str, Poly]
    most: Mapping[str, Poly]
    others: tuple[str, ...]

    def amounts(self, call: s.Call, sizes: Mapping[str, Poly], facts: Facts) -> Iterator[tuple[str, Amount]]:
        """What each call adds to the totals, by their names."""
        yield f"{self.label} {CALLS}", exactly(ONE)
        for name in self.others:
            for factor in (None, *self.same):
                value = Poly.symbol(name) * (ONE if factor is None else Poly.symbol(factor))
                yield self._total(name, factor), at_sizes(exactly(value), sizes, facts, call)

    def site(self, amounts: Mapping[str, Amount]) -> Site:
        """The totals over all calls."""
        count = _most(amounts, f"{self.label} {CALLS}")
        sums = {name: tuple(self._sums(name, amounts)) for name in self.others}
        return Site(self.target, count, self.same, self.most, sums)

    def _sums(self, name: str, amounts: Mapping[str, Amount]) -> Iterator[tuple[Poly, Poly]]:
        for factor, number in ((None, ONE), *self.same.items()):
            amount = amounts.get(self._total(name, factor))
            if amount is not None and not isinstance(amount, Unknown):
                yield amount.upper, number

    def _total(self, name: str, factor: str | None) -> str:
        return f"{self.label} {name}" + ("" if factor is None else f" times {factor}")


class _Gathering(Derivation):
    """Counts calls that lead to recursion, and adds up their sizes, where others look into them."""

    def __init__(self, module: Module, model: WordModel) -> None:
        super().__init__(module, coarse=False, model=model)
        self.places: dict[s.Call, _Place] = {}

    def call(self, call: s.Call, scope: Scope) -> Tally:
        target = self.module.targets[call]
        if not isinstance(target, s.Algorithm) or not recurses(self.module, target):
            return super().call(call, scope)
        sizes = self.sizes(call, target, scope)
        place = self.places.setdefault(call, _place(f"call {len(self.places)}", target, sizes, scope))
        return Tally(dict(place.amounts(call, sizes, scope.facts)))


def _place(label: str, target: s.Algorithm, sizes: Mapping[str, Poly], scope: Scope) -> _Place:
    own = scope.fixed
    plain = {name: scope.facts.restore(value) for name, value in sizes.items()}
    same = {name: value for name, value in plain.items() if value.names <= own and not _by_data(value)}
    others = tuple(name for name in sizes if name not in same)
    ends = {name: _without(sizes[name], scope.facts, own) for name in others}
    most = {name: scope.facts.restore(end) for name, end in ends.items() if end is not None}
    return _Place(label, target, same, most, others)


def _by_data(value: Poly) -> bool:
    return any(holds(BY_DATA, atom) for atom in value.atoms())


def _without(value: Poly, facts: Facts, own: frozenset[str]) -> Poly | None:
    """The most that a value is, in symbols of the caller alone; None where that is not found."""

    def foreign(value: Poly) -> Atom | None:
        young = next((name for name in reversed(facts.bounds) if name in value.names - own), None)
        return next((each for each in value.atoms() if holds(BY_DATA, each)), None) if young is None else Symbol(young)

    most = bound_away(value, foreign, facts, upper=True)
    return most if most is not None and most.names <= own else None


def _most(amounts: Mapping[str, Amount], kind: str) -> Poly:
    amount = amounts.get(kind)
    if amount is None or isinstance(amount, Unknown):
        raise UndividedError
    return amount.upper
