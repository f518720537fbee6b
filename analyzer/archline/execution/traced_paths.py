"""Record the longest path in one metric as pieces: the steps and computations of processors along it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from archline.execution.paths import METRICS, NO_AMOUNTS, CriticalPath, UnitTimes, Values
from archline.execution.simulated import Locations
from archline.execution.slots import FIRST_SITE
from archline.expr.tree import Span
from archline.language import syntax as s
from archline.records import record

TIME_METRIC = "time"
METRIC_POSITIONS: Mapping[str, int] = {**{name: place for place, name in enumerate(METRICS)}, TIME_METRIC: len(METRICS)}
"""The position of each metric among the values of a path; the time is after them."""
Partners = tuple[int | None, int | None]
"""The receiver and the sender of a step; None where the amount in that direction is not the larger one."""
Piece = tuple[Any, int, int, "int | None", "Partners | None", int]
"""The piece before, the rank, the number of the step's place in the source, its call, its partners (None: a computation
before it), and the amount."""


@record(slots=True)
class PathPiece:
    """A part that one processor contributes to the longest path: a step, or the computation before it.

    `span` is the statement of the step; if it is in a called algorithm, `called` is the call in the outermost one. Both
    are None for the computation after the last step. `to` and `source` are the partners of a step, if their messages
    determine its amount. `amount` is in the unit of the metric, seconds for the time.
    """

    coordinates: tuple[int, ...]
    span: Span | None
    called: Span | None
    computed: bool
    to: tuple[int, ...] | None
    source: tuple[int, ...] | None
    amount: int | Fraction


class _TracedValues(tuple[int, ...]):
    """The values of a path with its last piece."""

    last: Piece | None


class TracedPath(CriticalPath):
    """A critical path that records the pieces of the longest path in one metric, or in the time."""

    def __init__(self, prices: UnitTimes, rank: int, metric: str) -> None:
        super().__init__(prices)
        self.last: Piece | None = None
        self._rank = rank
        self._place = METRIC_POSITIONS[metric]
        self._site = 0
        self._called: int | None = None
        self._partners: Partners = (None, None)

    def begin_step(self, site: int, called: int | None, to: int | None, source: int | None) -> None:
        self._site, self._called, self._partners = site, called, (to, source)

    def add_computation(self, flops: int, work: int) -> Values:
        before = self.values[self._place]
        traced = _TracedValues(super().add_computation(flops, work))
        self._note_piece(None, before)
        traced.last = self.last
        return traced

    def follow_sender(self, sender: Values) -> None:
        if sender[self._place] > self.values[self._place]:
            assert isinstance(sender, _TracedValues)
            self.last = sender.last
        super().follow_sender(sender)

    def add_step(self, sent: Values, received: Values) -> None:
        before = self.values[self._place]
        super().add_step(sent, received)
        to, source = self._partners
        # The time depends on several metrics, so both partners are kept for it.
        out, back = (values[self._place - 2 : self._place - 1] if self._place < len(METRICS) else NO_AMOUNTS
                     for values in (sent, received))  # fmt: skip
        self._note_piece((to if out >= back else None, source if back >= out else None), before)

    def _note_piece(self, partners: Partners | None, before: int) -> None:
        amount = self.values[self._place] - before
        if amount:
            self.last = (self.last, self._rank, self._site, self._called, partners, amount)


def list_pieces(
    paths: Sequence[CriticalPath], metric: str, places: Locations, calls: Mapping[int, s.Node]
) -> tuple[PathPiece, ...]:
    """Return the pieces of the longest path in a metric, from its beginning; `calls` are by number."""
    place = METRIC_POSITIONS[metric]
    longest = max(paths, key=lambda path: path.values[place])
    assert isinstance(longest, TracedPath)
    scale = longest.prices.scale if metric == TIME_METRIC else 1
    result: list[PathPiece] = []
    piece = longest.last
    while piece is not None:
        piece, rank, site, call, partners, amount = piece
        size = Fraction(amount, scale) if metric == TIME_METRIC else amount
        to, source = (None if partner is None else places.coordinates(partner) for partner in partners or (None, None))
        span = places.span(site) if site >= FIRST_SITE else None
        called = None if call is None else calls[call].span
        result.append(PathPiece(places.coordinates(rank), span, called, partners is None, to, source, size))
    return tuple(reversed(result))
