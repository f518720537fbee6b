"""What the single steps of a program cost, in the metrics that are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache

from archline.algebra.facts import Facts
from archline.algebra.polynomial import Poly
from archline.analysis.metrics.tally import FREE, Tally, repeated
from archline.ir.amounts import UNIT, Amount, exactly
from archline.ir.max_plus import SYNC, serial
from archline.ir.scope import Scope
from archline.language import syntax as s
from archline.language.metrics import (
    CALL,
    DECLARED,
    FORK,
    ITERATION,
    METRICS,
    Composition,
    Derived,
    Event,
    MetricDefinition,
)


class CostModel:
    """Counts events in some metrics of the registry. Subclasses count other things.

    `asked` names the metrics that are derived; auxiliary ones may be counted too.
    """

    upper_only = False
    """Whether lower bounds are of use only where they are exact."""

    def __init__(self, asked: Iterable[MetricDefinition], auxiliary: Iterable[MetricDefinition] = ()) -> None:
        """`auxiliary`: metrics that the derivation itself needs."""
        chosen = tuple(asked)
        self.asked = tuple(each.name for each in chosen)
        self._metrics = {each.name: each for each in (*chosen, *auxiliary)}
        paths = [name for name, each in self._metrics.items() if each.composition is Composition.MAX_PLUS]
        self._paths = frozenset(paths)
        self.sync = Tally(paths=dict.fromkeys(paths, SYNC))
        self._events: dict[tuple[Event, int], Tally] = {}

    @property
    def expected(self) -> tuple[str, ...]:
        """The metrics that every recursion is counted in; those that count its calls first."""
        calls = frozenset(self._counting(CALL))
        counting = [name for name, each in self._metrics.items() if each.counts is not None]
        return tuple(sorted(counting, key=lambda name: name not in calls))

    def metric(self, name: str) -> MetricDefinition:
        """The metric of a name, or the one that it is a kind of."""
        return self._metrics[name.partition(".")[0]]

    def tally(self, amounts: Mapping[str, Amount], declared: frozenset[str] = frozenset()) -> Tally:
        """Amounts by name, of a stretch that neither spawns nor syncs."""
        if not amounts:
            return FREE
        paths = {name: serial(each) for name, each in amounts.items() if name in self._paths}
        return Tally({name: each for name, each in amounts.items() if name not in paths}, paths, None, declared)

    def event(self, event: Event, times: int = 1) -> Tally:
        """What an event costs that happens a number of times, one after the other."""
        key = event, times
        if key not in self._events:
            count = UNIT if times == 1 else exactly(Poly.constant(times))
            self._events[key] = self.tally(dict.fromkeys(self._counting(event), count))
        return self._events[key]

    def fork(self, depth: Amount) -> Tally:
        """What starting the iterations of a parallel loop adds to paths."""
        return self.tally({name: depth for name in self._counting(FORK) if name in self._paths})

    def _counting(self, event: Event) -> Iterator[str]:
        for name, each in self._metrics.items():
            if each.counts is not None and each.counts(event):
                yield name
                if each.by_kind:
                    yield f"{name}.{event.kind}"

    def declared(self, metric: str) -> tuple[str, ...]:
        """The metrics, and their kinds, that a declared amount of a metric adds to."""
        added = {metric, *METRICS[metric].within}
        names = tuple(each.name for each in self._metrics.values() if each.name in added)
        return (*names, f"{metric}.{DECLARED}") if METRICS[metric].by_kind and metric in names else names

    # Costs other than events
    def statement(self, statement: s.Stmt, scope: Scope) -> Tally:
        """What each execution of a statement costs, apart from events and from the blocks inside it."""
        return FREE

    def iteration(self, loop: s.Loop | s.While) -> Tally:
        """What each iteration of a loop costs, apart from events and from its body."""
        return FREE

    def call(self, call: s.Call) -> Tally | None:
        """What a call costs including its body; None where that is to be derived."""
        return None

    def fill(self, statement: s.Local | s.Assign, extents: Sequence[Amount], facts: Facts) -> Tally:
        """A whole-array fill or copy: a loop nest over its elements, each of whose iterations is an event."""
        return nest(self.event(ITERATION), FREE, extents, facts)


def nest(each: Tally, inside: Tally, extents: Sequence[Amount], facts: Facts) -> Tally:
    """A loop nest: `each` is the cost of an iteration at every level, `inside` that of the innermost body."""
    cost = inside
    for extent in reversed(extents):
        cost = repeated(each.then(cost, facts), extent)
    return cost


@cache
def events_of(*names: str) -> CostModel:
    """The model of some metrics of the registry, which count events."""
    return CostModel(METRICS[name] for name in names)


STANDARD = CostModel(
    each for each in METRICS.values() if each.derived is Derived.ALWAYS and each.composition is not None
)
"""Flops, work and span."""
