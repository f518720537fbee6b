"""The costs of the paths through a program of many processors (docs/reference/cost-rules.md, "Communication").

After a step each metric is the larger of the processor's own value and the values that its senders had when they
began the step that sent to it, plus its own share of the step: the larger of what it sent and what it received.
So is the time, where prices are given: the sum of the metrics, each times its price, along one path.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from archline.records import record

METRICS = ("flops", "work", "words", "messages", "node_words", "node_messages")
"""The metrics of paths; the first two are computed between steps, the others are shares of steps."""
Values = tuple[int, ...]


@record(slots=True)
class Prices:
    """The time of a unit of each metric, in ticks, of which `scale` are a second; none where there are no `ticks`."""

    ticks: tuple[int, ...] = ()
    scale: int = 1

    @staticmethod
    def of(seconds: Sequence[Fraction]) -> Prices:
        """Exact prices in seconds."""
        scale = math.lcm(*(each.denominator for each in seconds))
        return Prices(tuple(int(each * scale) for each in seconds), scale)

    def seconds(self, values: Sequence[int]) -> Fraction:
        """What so much of each metric takes, one after the other."""
        return Fraction(sum(map(int.__mul__, self.ticks, values)), self.scale)


FREE = Prices()


@record(slots=True)
class Links:
    """Which processors share a node, and the words of the largest message (None: any)."""

    nodes: Sequence[int]
    largest: int | None = None

    def share(self, own: int, partner: int, words: int) -> Values:
        """What a message between two processors counts."""
        if own == partner or words == 0:
            return (0, 0, 0, 0)
        messages = 1 if self.largest is None or words < 0 else -(-words // self.largest)
        moved = (max(words, 0), messages)
        return (0, 0, *moved) if self.nodes[own] == self.nodes[partner] else (*moved, 0, 0)


NO_BUFFER = -1
"""The words of a message without a buffer, which counts as one message."""


@dataclass(eq=False)
class CriticalPath:
    """The costs of the longest paths to where one processor is, and what it did itself.

    Behind those of METRICS is the time of the path that takes longest.
    """

    prices: Prices = FREE
    values: list[int] = field(default_factory=lambda: [0] * (len(METRICS) + 1))
    own: list[int] = field(default_factory=lambda: [0] * len(METRICS))

    def reach(self, site: int, called: int | None, to: int | None, source: int | None) -> None:
        """A step begins, at a site, within the call of a number, to and from others; what is computed comes before."""

    def compute(self, flops: int, work: int) -> Values:
        """Bring the path up to the flops and the work that the processor has done by now: a step begins."""
        for place, done in enumerate((flops, work)):
            self._add(place, done - self.own[place])
        return tuple(self.values)

    def follow(self, sender: Values) -> None:
        """Follow a message: the path of its sender may be the longer one."""
        self.values = [max(own, other) for own, other in zip(self.values, sender, strict=True)]

    def share(self, sent: Values, received: Values) -> None:
        """Add what the step sent and received."""
        for place, (out, back) in enumerate(zip(sent, received, strict=True), 2):
            self._add(place, max(out, back))

    def _add(self, place: int, amount: int) -> None:
        self.values[place] += amount
        self.own[place] += amount
        if self.prices.ticks:
            self.values[-1] += self.prices.ticks[place] * amount


NOTHING: Values = (0, 0, 0, 0)
