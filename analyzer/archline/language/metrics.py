"""The registry of metrics has their units and events, how they add up over a program, and their uses.

All lists of metrics elsewhere are read from here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum, auto
from functools import partial

from archline.records import record

BYTES_PER_WORD = 8
"""Bytes of a word."""


class Composition(Enum):
    """The rule that combines the amounts of a metric in two parts of a program to that of the whole."""

    SUM = auto()
    """The sum, in sequence and in parallel."""
    MAX_PLUS = auto()
    """The sum in sequence, the maximum in parallel: the length of a path."""


class Derived(Enum):
    """The occasions on which the analysis derives a metric."""

    ALWAYS = auto()
    """With every cost of an algorithm."""
    ON_REQUEST = auto()
    """If asked for."""
    NEVER = auto()
    """It is declared, executed, or computed from others."""


@record(slots=True)
class Event:
    """One event that a run makes and metrics count: an operation of a kind, on reals or not, or a step of control."""

    kind: str
    real: bool = False


INT_OPERATION = Event("int")
ITERATION, TEST, CALL = Event("iteration"), Event("test"), Event("call")
CONTROL_EVENTS = (INT_OPERATION, ITERATION, TEST, CALL)
"""Events that count as work but are not operations on reals."""
FORK = Event("fork")
"""A level of the tree of forks that starts a parallel loop, which lengthens paths but is not work."""
DECLARED = "declared"
"""The kind of the flops that `costs` statements and externs declare."""


@record(slots=True)
class MetricDefinition:
    """The properties of a metric.

    `composition` and `counts` (the events that count 1 each) are given if a walk over the statements derives it,
    `composition` alone if it counts other things than events. `by_kind`: it is split into kinds of events. A declared
    amount of it counts in the metrics `within` too. `at_most` names a metric that it never exceeds, unless it is
    declared and that metric is not among `within`. `letter` is its symbol in recurrences.

    `declared`: `costs` and `ensures` may name it, `claimed`: claims may. `executed`: runs count it. `taken`: models of
    energy may take it. `whole`: it counts things, so that bounds at sizes are integers too, unless it is declared.
    `on_grid`: it is derived with every cost of an algorithm on a grid, and of no other. `of_cache`: it depends on the
    cache, Z words in lines of L.
    """

    name: str
    unit: str
    doc: str
    derived: Derived = Derived.NEVER
    composition: Composition | None = None
    counts: Callable[[Event], bool] | None = None
    by_kind: bool = False
    within: tuple[str, ...] = ()
    at_most: str | None = None
    letter: str = ""
    declared: bool = False
    claimed: bool = False
    executed: bool = False
    taken: bool = False
    whole: bool = False
    on_grid: bool = False
    of_cache: bool = False


def _is_real(event: Event) -> bool:
    return event.real


def _is_any(event: Event) -> bool:
    return True


_KINDS = {"additions": ("add", "sub"), "multiplications": ("mul",), "divisions": ("div",)}
"""Flops that a machine may price separately."""


def _is_of_kind(event: Event, name: str) -> bool:
    return event.real and event.kind in _KINDS[name]


def _make_registry(*metrics: MetricDefinition) -> Mapping[str, MetricDefinition]:
    return {metric.name: metric for metric in metrics}


METRICS = _make_registry(
    MetricDefinition(
        "flops", "flop", "operations on reals; on a grid, of the longest path",
        Derived.ALWAYS, Composition.SUM, _is_real, by_kind=True, within=("work", "span", "other_flops"), at_most="work",
        letter="F",
        declared=True, claimed=True, executed=True, taken=True, whole=True,
    ),
    MetricDefinition(
        "work", "op", "flops, iterations, tests and calls",
        Derived.ALWAYS, Composition.SUM, _is_any, letter="W",
        declared=True, claimed=True, executed=True, taken=True, whole=True,
    ),
    MetricDefinition(
        "span", "op", "the critical path of the work",
        Derived.ALWAYS, Composition.MAX_PLUS, _is_any, at_most="work", letter="S",
        declared=True, claimed=True, executed=True, taken=True, whole=True,
    ),
    MetricDefinition(
        "comparisons", "op", "comparisons of reals",
        Derived.ON_REQUEST, Composition.SUM, lambda event: event == Event("compare", real=True),
        within=("flops", "work", "span"), at_most="flops", letter="C", whole=True,
    ),
    *(
        MetricDefinition(
            name, "flop", f"{name} of reals" + ", and subtractions" * (name == "additions"),
            Derived.ON_REQUEST, Composition.SUM, partial(_is_of_kind, name=name),
            within=("flops", "work", "span"), at_most="flops", letter=name[0].upper(), taken=True, whole=True,
        )
        for name in _KINDS
    ),
    MetricDefinition(
        "other_flops", "flop", "flops other than additions, subtractions, multiplications and divisions",
        Derived.ON_REQUEST, Composition.SUM,
        lambda event: event.real and not any(_is_of_kind(event, name) for name in _KINDS),
        within=("flops", "work", "span"), at_most="flops", letter="O", taken=True, whole=True,
    ),
    MetricDefinition(
        "calls", "call", "calls of algorithms",
        Derived.ON_REQUEST, Composition.SUM, lambda event: event == CALL, at_most="work", letter="K", whole=True,
    ),
    MetricDefinition(
        "accesses", "word", "elements of arrays read and written",
        Derived.ON_REQUEST, Composition.SUM, letter="A", executed=True, taken=True, whole=True,
    ),
    MetricDefinition(
        "io", "line", "cache misses: lines moved between slow and fast memory",
        Derived.ALWAYS, letter="Q", declared=True, claimed=True, executed=True, taken=True, of_cache=True, whole=True,
    ),
    MetricDefinition(
        "writebacks", "line", "lines written back to slow memory by a replacement policy with the fewest misses",
        Derived.ON_REQUEST, executed=True, of_cache=True, whole=True,
    ),
    MetricDefinition(
        "bytes", "B", "bytes fetched and written back, in words of 8 B, by a replacement policy that moves the fewest",
        Derived.ON_REQUEST, executed=True, taken=True, of_cache=True, whole=True,
    ),
    MetricDefinition("traffic", "B", "bytes moved between slow and fast memory", taken=True),
    MetricDefinition(
        "words", "word", "words moved between nodes along the critical path",
        declared=True, claimed=True, executed=True, taken=True, whole=True, on_grid=True,
    ),
    MetricDefinition(
        "messages", "message", "messages between nodes along the critical path",
        declared=True, claimed=True, executed=True, taken=True, whole=True, on_grid=True,
    ),
    MetricDefinition(
        "memory", "word", "words of memory used on one processor",
        declared=True, claimed=True, executed=True, taken=True, whole=True, on_grid=True,
    ),
    MetricDefinition(
        "node_words", "word", "words moved between processors of a node",
        declared=True, claimed=True, executed=True, taken=True, whole=True, on_grid=True,
    ),
    MetricDefinition(
        "node_messages", "message", "messages between processors of a node",
        declared=True, claimed=True, executed=True, taken=True, whole=True, on_grid=True,
    ),
    MetricDefinition(
        "node_memory", "word", "words of memory used on one node",
        declared=True, claimed=True, executed=True, taken=True, whole=True,
    ),
    MetricDefinition("energy", "J", "energy", claimed=True),
    MetricDefinition("time", "s", "time", claimed=True),
    MetricDefinition("power", "W", "average power: energy over time", claimed=True),
    MetricDefinition("energy_delay", "J*s", "energy times time", claimed=True),
)  # fmt: skip


def select_metrics(choice: Callable[[MetricDefinition], bool]) -> tuple[str, ...]:
    """Return the names of the metrics that satisfy a predicate, in order."""
    return tuple(name for name, metric in METRICS.items() if choice(metric))


DECLARABLE = select_metrics(lambda metric: metric.declared)
CLAIMABLE = select_metrics(lambda metric: metric.claimed or metric.derived is not Derived.NEVER)
ON_MACHINE = select_metrics(lambda metric: metric.claimed and not metric.declared)
"""Metrics that are claimed of an algorithm on a machine, by a model."""
EXECUTED = select_metrics(lambda metric: metric.executed)
DERIVABLE = select_metrics(lambda metric: metric.derived is not Derived.NEVER)
ON_REQUEST = select_metrics(lambda metric: metric.derived is Derived.ON_REQUEST)
WHOLE_METRICS = select_metrics(lambda metric: metric.whole)
OF_CACHE = select_metrics(lambda metric: metric.of_cache)
ON_GRID = select_metrics(lambda metric: metric.on_grid)
SEPARATE_METRICS = select_metrics(lambda metric: metric.declared and metric.composition is None)
"""Metrics whose declared amounts are added up separately."""
