"""Track the costs of the longest paths through a run on many processors.

The rules are in docs/reference/cost-rules.md, "Communication".

After a step each metric is the maximum of the processor's value and the values that its senders had when they began the
step that sent to it, plus its own share of the step: the larger of its sent and its received amount. The time, if
prices are given, follows the same rule: it is the sum of price times amount over the metrics along one path.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from archline.records import record

METRICS = ("flops", "work", "words", "messages", "node_words", "node_messages")
"""The metrics of paths: the first two grow by computation between steps, the others by the steps."""
Values = tuple[int, ...]


@record(slots=True)
class UnitTimes:
    """The time of a unit of each metric in ticks (a second has `scale` ticks); empty if prices are missing."""

    ticks: tuple[int, ...] = ()
    scale: int = 1

    @staticmethod
    def from_seconds(seconds: Sequence[Fraction]) -> UnitTimes:
        """Return prices that represent the given seconds for a unit of each metric exactly."""
        scale = math.lcm(*(price.denominator for price in seconds))
        return UnitTimes(tuple(int(price * scale) for price in seconds), scale)

    def compute_seconds(self, values: Sequence[int]) -> Fraction:
        """Return the sum of the times of amounts of each metric, in seconds."""
        return Fraction(sum(map(int.__mul__, self.ticks, values)), self.scale)


NO_UNIT_TIMES = UnitTimes()


@record(slots=True)
class Links:
    """The node of each processor, and the maximum words of a message (None: no limit)."""

    nodes: Sequence[int]
    largest: int | None = None

    def compute_share(self, own: int, partner: int, words: int) -> Values:
        """Return the words and messages between nodes, and those within a node, of one message to or from a partner."""
        if own == partner or words == 0:
            return (0, 0, 0, 0)
        messages = 1 if self.largest is None or words < 0 else -(-words // self.largest)
        moved = (max(words, 0), messages)
        return (0, 0, *moved) if self.nodes[own] == self.nodes[partner] else (*moved, 0, 0)


NO_BUFFER = -1
"""The words of a message without a buffer, which counts as one message."""


@dataclass(eq=False)
class CriticalPath:
    """The costs of the longest paths to the present step of one processor, and the amounts of the processor itself.

    `values` has the longest path in each of METRICS, then the time of the slowest path; `own` has the amounts.
    """

    prices: UnitTimes = NO_UNIT_TIMES
    values: list[int] = field(default_factory=lambda: [0] * (len(METRICS) + 1))
    own: list[int] = field(default_factory=lambda: [0] * len(METRICS))

    def begin_step(self, site: int, called: int | None, to: int | None, source: int | None) -> None:
        """Note the step that begins (its place in the source, its call, its partners), which `TracedPath` records.

        Called before `add_computation`.
        """

    def add_computation(self, flops: int, work: int) -> Values:
        """Add the computation since the last step; `flops` and `work` are totals. Return the values."""
        for index, done in enumerate((flops, work)):
            self._add_amount(index, done - self.own[index])
        return tuple(self.values)

    def follow_sender(self, sender: Values) -> None:
        """Take the maximum with the values of the sender of a message, in each metric."""
        self.values = [max(value, sent) for value, sent in zip(self.values, sender, strict=True)]

    def add_step(self, sent: Values, received: Values) -> None:
        """Add the larger of the sent and the received amount of a step, in each metric."""
        for index, (out, back) in enumerate(zip(sent, received, strict=True), 2):
            self._add_amount(index, max(out, back))

    def _add_amount(self, place: int, amount: int) -> None:
        self.values[place] += amount
        self.own[place] += amount
        if self.prices.ticks:
            self.values[-1] += self.prices.ticks[place] * amount


NO_AMOUNTS: Values = (0, 0, 0, 0)
