"""Define the results of a run (counts, outputs, trace) and the cache that is simulated in it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from archline.language.metrics import BYTES_PER_WORD, Composition, Event, MetricDefinition
from archline.records import field, record, replace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from archline.execution.cache import StrandLog
    from archline.execution.traced_paths import PathPiece


TIMEOUT = 5.0
"""The seconds for which a rank of MPI waits before it checks whether all ranks wait."""


@record(slots=True)
class Cache:
    """A fully associative cache of Z words in lines of L words; `policy` is "optimal" or "lru"."""

    Z: int
    L: int = 1
    policy: str = "optimal"

    @property
    def lines(self) -> int:
        """The number C of lines of the cache."""
        return self.Z // self.L


@record(slots=True)
class RunCounts:
    """The counts of one run, by the rules of docs/reference/cost-rules.md.

    `flops_by_kind` has the kinds add, sub, mul, div, pow, compare, min, max, the names of intrinsics, and declared.
    `io` and `writebacks` are numbers of lines, `bytes` the size of all these lines; None if a cache is missing.
    `memory` is the maximum number of words in arrays that are alive together. `steps` is the other work by kind:
    iterations, tests, calls, and operations on ints. `declared` has the declared costs in metrics other than flops,
    work and span.

    On a grid flops, work and each metric of `communication` (words, messages, node_words, node_messages) are those of
    its longest path through the processors; the span is the work; accesses and memory are the maximum over processors.
    `own` has the maximum of what one processor did itself, `total` the sum over all. `time`, if prices are given, is
    that of the slowest path in seconds, and the sum of the times of the longest path in each metric.
    """

    flops: int
    flops_by_kind: Mapping[str, int]
    work: int
    span: int
    accesses: int
    reads: int
    writes: int
    memory: int
    io: int | None = None
    writebacks: int | None = None
    bytes: int | None = None
    steps: Mapping[str, int] = field(default_factory=dict)
    declared: Mapping[str, float] = field(default_factory=dict)
    communication: Mapping[str, int] = field(default_factory=dict)
    node_memory: int | None = None
    own: Mapping[str, int] = field(default_factory=dict)
    total: Mapping[str, int] = field(default_factory=dict)
    time: tuple[Fraction, Fraction] | None = None

    def with_cache(self, io: int, writebacks: int, line: int) -> RunCounts:
        return replace(self, io=io, writebacks=writebacks, bytes=(io + writebacks) * line * BYTES_PER_WORD)

    @property
    def words(self) -> int | None:
        """Words moved between nodes along the critical path; None for one processor."""
        return self.communication.get("words")

    @property
    def messages(self) -> int | None:
        """Messages between nodes along the critical path; None if the run was not on a grid."""
        return self.communication.get("messages")

    @property
    def node_words(self) -> int | None:
        """Words moved within a node along the critical path; None if each processor is a node."""
        return self.communication.get("node_words")

    @property
    def node_messages(self) -> int | None:
        """Messages within a node along the critical path; None if the grid has no axis within nodes."""
        return self.communication.get("node_messages")

    def counted(self, metric: MetricDefinition) -> int:
        """Return the count of a metric that is a sum over events, without costs that are declared in it."""
        assert metric.counts is not None
        assert metric.composition is Composition.SUM
        events = [(Event(kind, real=True), count) for kind, count in self.flops_by_kind.items()]
        events += [(Event(kind), count) for kind, count in self.steps.items()]
        return sum(count for event, count in events if metric.counts(event))


@record(eq=False, slots=True)
class Trace:
    """The accesses of a run in order: their lines, and 1 for each that writes."""

    lines: NDArray[np.integer[Any]]
    writes: NDArray[np.uint8]


@record(eq=False, slots=True)
class Run:
    """The result of one run: `outputs` are the `out` and `inout` parameters after it, `value` its return value.

    An element of an `out` array that was never assigned is nan, or -2^63 in an int array; so is an `out` number.
    `sizes` are the sizes and indices that the arguments bound. `trace` and `events` are None if not asked for.
    `seconds` is the time of the run itself, `compile_seconds` and `cache_seconds` that of compiling it and of
    simulating the cache. `replicated` is True if several processors of a grid read one element of a global array.
    `path` is the longest path on a grid in the metric that was asked for. `iterations` are those of each loop
    without a bound, by the names of their sizes. `nonfinite` has the outputs with NaN, or infinities that the program
    does not set as `inf`, where all inputs are finite.
    """

    counts: RunCounts
    outputs: Mapping[str, NDArray[Any]]
    value: int | float | None
    sizes: Mapping[str, int]
    trace: Trace | None
    events: StrandLog | None
    compiled: bool
    seconds: float
    compile_seconds: float
    cache_seconds: float
    replicated: bool = False
    path: tuple[PathPiece, ...] = ()
    iterations: Mapping[str, int] = field(default_factory=dict)
    nonfinite: tuple[NonfiniteOutput, ...] = ()


@record
class NonfiniteOutput:
    """The first NaN or infinity of an output, at `place` of an array; `name` is None for the value that is returned."""

    name: str | None
    value: float
    place: tuple[int, ...] = ()

    def __str__(self) -> str:
        kind = "NaN" if math.isnan(self.value) else "infinities"
        if self.place:
            return f"{self.name} holds {kind} (first at {self.name}[{', '.join(map(str, self.place))}])"
        return f"{self.name or 'the result'} is {'NaN' if math.isnan(self.value) else 'infinite'}"


@record
class MatrixView:
    """The matrix of a run: rows, columns, nonzeros, their maxima in a row and in a column; the block size, if any."""

    path: str
    n: int
    m: int
    nz: int
    nr: int
    nc: int
    block: int | None = None
