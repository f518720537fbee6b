"""The costs of paths through a program of many processors are followed here (docs/reference/cost-rules.md,
"Communication").

After a step each metric is the larger of the processor's own value and the values that its senders had when they began
the step that sent to it, plus its own share of the step: the larger of its sent and its received amount. So is the
time, if prices are given: the sum of the metrics, each times its price, along one path.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from archline.records import record

METRICS = ("flops", "work", "words", "messages", "node_words", "node_messages")
"""The metrics of paths; the first two are computed between steps, the rest are shares of steps."""
Values = tuple[int, ...]


@record(slots=True)
class Prices:
    """The time of a unit of each metric, in ticks (`scale` are a second); empty without prices."""

    ticks: tuple[int, ...] = ()
    scale: int = 1

    @staticmethod
    def of(seconds: Sequence[Fraction]) -> Prices:
        """Return exact prices in seconds."""
        scale = math.lcm(*(price.denominator for price in seconds))
        return Prices(tuple(int(price * scale) for price in seconds), scale)

    def seconds(self, values: Sequence[int]) -> Fraction:
        """Return the time of amounts of each metric, in sequence."""
        return Fraction(sum(map(int.__mul__, self.ticks, values)), self.scale)


FREE = Prices()


@record(slots=True)
class Links:
    """The node of each processor, and the words of the largest message (None: any)."""

    nodes: Sequence[int]
    largest: int | None = None

    def share(self, own: int, partner: int, words: int) -> Values:
        if own == partner or words == 0:
            return (0, 0, 0, 0)
        messages = 1 if self.largest is None or words < 0 else -(-words // self.largest)
        moved = (max(words, 0), messages)
        return (0, 0, *moved) if self.nodes[own] == self.nodes[partner] else (*moved, 0, 0)


NO_BUFFER = -1
"""The words of a message without a buffer, which counts as one message."""


@dataclass(eq=False)
class CriticalPath:
    """The costs of the longest paths to the position of one processor, and its own amounts.

    The last of the `values`, after those of METRICS, is the time of the path that takes longest.
    """

    prices: Prices = FREE
    values: list[int] = field(default_factory=lambda: [0] * (len(METRICS) + 1))
    own: list[int] = field(default_factory=lambda: [0] * len(METRICS))

    def reach(self, site: int, called: int | None, to: int | None, source: int | None) -> None:
        """Begin a step at a site, within the call of a number, to and from partners; computation comes before."""

    def compute(self, flops: int, work: int) -> Values:
        """Bring the path up to the flops and the work that the processor has done by now: a step begins."""
        for place, done in enumerate((flops, work)):
            self._add(place, done - self.own[place])
        return tuple(self.values)

    def follow(self, sender: Values) -> None:
        """Follow a message: the path of its sender may be the longer one."""
        self.values = [max(value, sent) for value, sent in zip(self.values, sender, strict=True)]

    def share(self, sent: Values, received: Values) -> None:
        """Add the sent and received amounts of the step."""
        for place, (out, back) in enumerate(zip(sent, received, strict=True), 2):
            self._add(place, max(out, back))

    def _add(self, place: int, amount: int) -> None:
        self.values[place] += amount
        self.own[place] += amount
        if self.prices.ticks:
            self.values[-1] += self.prices.ticks[place] * amount


NOTHING: Values = (0, 0, 0, 0)
