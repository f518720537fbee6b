"""Represent the results of a comparison: points, crossovers and growth of each pair."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from archline.compare.growth import GrowthRelation
from archline.compare.verdicts import Crossover, PointVerdict
from archline.energy.estimates import Estimate
from archline.energy.machines import Machine
from archline.energy.model import Model
from archline.energy.results import CacheUsed
from archline.expr.intervals import Interval, Number
from archline.language.iterations import NamedLoop
from archline.records import field, record

Pair = tuple[str, str]


@record
class ComparedPoint:
    """Two algorithms at sizes on a machine; `first` and `second` are their estimates, or None."""

    at: Mapping[str, Number]
    machine: Machine
    pair: Pair
    verdict: PointVerdict
    first: Estimate | None = None
    second: Estimate | None = None

    @property
    def winner(self) -> str | None:
        """The name of the algorithm that takes less; None if that is not decided."""
        return {"A": self.pair[0], "B": self.pair[1], None: None}[self.verdict.less]

    @property
    def processors(self) -> tuple[Fraction, ...]:
        """The numbers of processors of both algorithms, 1 for shared memory; empty if neither has a grid or P."""
        amounts = [estimate.amounts.get("P") for estimate in (self.first, self.second) if estimate is not None]
        return tuple(Fraction(1) if amount is None else amount.lower for amount in amounts) if any(amounts) else ()

    def amounts(self, by: str) -> tuple[Interval | None, Interval | None]:
        """Return the quantity `by` of both algorithms; None if unknown, or if it depends on an assumed quantity."""
        first, second = (
            None
            if estimate is None
            or (by not in ("energy", "bytes") and not self.machine.quantities.keys() >= set(estimate.model.scale))
            else estimate.by(by)
            for estimate in (self.first, self.second)
        )
        return first, second


@record
class CostComparison:
    """Algorithms compared by a quantity under a model: growth of each pair, points, and crossovers.

    Growth was derived under the assumptions and the facts `when`: at least two processors along each axis of a grid.
    `implied` are facts that follow from the assumptions, `processors` the number of processors of each grid.
    `without` is the reason why times are compared by default, not energies. With `shorten`, long growths are not shown.
    """

    algorithms: tuple[str, ...]
    model: Model
    by: str
    growth: Mapping[Pair, Mapping[str, GrowthRelation]]
    points: tuple[ComparedPoint, ...] = ()
    crossovers: tuple[Crossover, ...] = ()
    caches: Mapping[str, CacheUsed] = field(default_factory=dict)
    """The caches to which the numbers apply, by machine."""
    assumptions: tuple[str, ...] = ()
    iterations: tuple[NamedLoop, ...] = ()
    when: tuple[str, ...] = ()
    implied: frozenset[str] = frozenset()
    processors: Mapping[str, str] = field(default_factory=dict)
    shorten: bool = False
    variable: str = ""
    data: str = ""
    without: str = ""
