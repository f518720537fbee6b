"""Hold the results of a model: its answer at sizes with the inputs, or formulas in symbols."""

from __future__ import annotations

from collections.abc import Mapping

from archline.energy.estimates import Estimate
from archline.energy.machines import Machine
from archline.energy.model import Model
from archline.expr import tree as s
from archline.expr.intervals import Interval, Number
from archline.records import field, record


@record
class Input:
    """An amount that a model takes: `origin` is derived, executed or declared; `status` is exact or bounded."""

    amount: Interval
    origin: str
    status: str = ""


@record
class CacheUsed:
    """The cache that io depends on: Z and L in words, and its policy; chosen by the user, the machine's, or assumed."""

    words: int
    line: int
    policy: str
    chosen: bool
    of_machine: bool = False

    @property
    def origin(self) -> str:
        """The origin of the cache; empty if a user gave it."""
        return "" if self.chosen else "the machine's" if self.of_machine else "assumed"


@record
class TextBounds:
    """Bounds as text in the language's syntax; the same text if they are equal."""

    lower: str
    upper: str


@record
class SymbolicMetric:
    """A metric in sizes: bounds that hold everywhere, upper bounds by conditions, growth; the reason if unknown.

    `chosen` are the regimes that a page shows, `short` are short forms of long bounds, `ends` the bounds as trees.
    """

    name: str
    status: str
    bounds: TextBounds | None
    regimes: tuple[tuple[str, str], ...] = ()
    chosen: tuple[tuple[str, str], ...] = ()
    growth: str | None = None
    reason: str = ""
    short: TextBounds | None = None
    ends: tuple[s.Expr, s.Expr] | None = None

    @property
    def shown(self) -> TextBounds | None:
        """The short forms of long bounds, such as `~ 2*n^2/g`, else the bounds; None if the metric is unknown."""
        return self.short or self.bounds


@record
class SymbolicEnergy:
    """An energy in symbols: metrics in sizes, its formula in metrics, time and terms in sizes, and growths.

    `coefficients` is the formula in metrics, with the machine's numbers. All of it is valid under the facts `when` and
    those of the algorithm, the `assumptions`.
    """

    metrics: tuple[SymbolicMetric, ...]
    coefficients: str
    time: TextBounds | None
    terms: Mapping[str, TextBounds] = field(hash=False)
    growth: Mapping[str, str] = field(hash=False)
    when: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()


@record
class EnergyFloor:
    """A lower bound on energy and time with the same memory and processors; `any` describes the algorithms it is for.

    `estimate` is the model's answer for lower bounds on flops, words and messages: the lower ends of its energy and
    time are valid. `assumptions` are those of the bounds on communication.
    """

    any: str
    estimate: Estimate
    assumptions: tuple[str, ...]


@record
class EnergyResult:
    """The energy of one target on one machine by one model: at sizes (`estimate`), or in symbols (`symbolic`).

    `floor` is a lower bound for any algorithm of the problem, if lower bounds on communication are known.
    """

    algorithm: str
    machine: Machine
    model: Model
    at: Mapping[str, Number] | None
    inputs: Mapping[str, Input]
    cache: CacheUsed | None
    data: str
    estimate: Estimate | None = None
    symbolic: SymbolicEnergy | None = None
    elasticities: Mapping[str, float] = field(default_factory=dict)
    processors: int | None = None
    converted: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    floor: EnergyFloor | None = None
