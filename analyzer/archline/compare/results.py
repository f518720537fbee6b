"""Results of a comparison."""

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
from archline.records import field, record

Pair = tuple[str, str]


@record
class ComparedPoint:
    """Two algorithms at sizes on a machine; `first` and `second` are their estimates, None where there is none."""

    at: Mapping[str, Number]
    machine: Machine
    pair: Pair
    verdict: PointVerdict
    first: Estimate | None = None
    second: Estimate | None = None

    @property
    def winner(self) -> str | None:
        """The name of the one that takes less."""
        return {"A": self.pair[0], "B": self.pair[1], None: None}[self.verdict.less]

    @property
    def processors(self) -> tuple[Fraction, ...]:
        """How many processors each has, where a grid or a formula says so; a program of shared memory has 1 here."""
        amounts = [each.amounts.get("P") for each in (self.first, self.second) if each is not None]
        return tuple(Fraction(1) if each is None else each.lower for each in amounts) if any(amounts) else ()

    def amounts(self, by: str) -> tuple[Interval | None, Interval | None]:
        """What is compared; None where it depends on a quantity that was assumed, as ratios do not depend on it."""
        first, second = (
            None
            if each is None
            or (by not in ("energy", "bytes") and not self.machine.quantities.keys() >= set(each.model.scale))
            else each.by(by)
            for each in (self.first, self.second)
        )
        return first, second


@record
class CostComparison:
    """Algorithms compared by a quantity under a model: growth of each pair, points, and where the lesser changes.

    Growth was derived under the assumptions and the facts `when`: at least two processors along each axis of a grid.
    `implied` are facts that follow from the assumptions, `processors` how many each of the grids has.
    `without` says why it is by time, where energy would be meant. With `shorten`, long growths are not shown.
    """

    algorithms: tuple[str, ...]
    model: Model
    by: str
    growth: Mapping[Pair, Mapping[str, GrowthRelation]]
    points: tuple[ComparedPoint, ...] = ()
    crossovers: tuple[Crossover, ...] = ()
    caches: Mapping[str, CacheUsed] = field(default_factory=dict)
    """The caches that numbers are of, by machine."""
    assumptions: tuple[str, ...] = ()
    when: tuple[str, ...] = ()
    implied: frozenset[str] = frozenset()
    processors: Mapping[str, str] = field(default_factory=dict)
    shorten: bool = False
    variable: str = ""
    data: str = ""
    without: str = ""
