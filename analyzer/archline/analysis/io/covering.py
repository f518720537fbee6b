"""Whether parts make up a box, or what lies on a diagonal or below it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from archline.algebra.polynomial import Poly
from archline.analysis.io.parts import Box, Part

MAX_TRIES = 200
"""How often a box is looked at while it is cut where parts of it end."""


class Known(Protocol):
    """What is known of sizes."""

    def nonnegative(self, value: Poly) -> bool:
        """Whether a value is at least 0."""


@dataclass(eq=False)
class Covering:
    """Whether parts make up a box or a triangle: it is cut at the end of one that begins where it does."""

    way: Known
    tries: int = 0

    def covered(self, box: Box, parts: Sequence[Part]) -> bool:
        """Whether they make up a box."""
        self.tries += 1
        if any(self.way.nonnegative(lo - hi) for lo, hi in box):
            return True
        for number, part in enumerate(parts):
            if self.tries > MAX_TRIES:
                return False
            others = (*parts[:number], *parts[number + 1 :])
            if not part.lower and self._begins(part.box, box) and self._cut(box, part.box, others):
                return True
        return False

    def lower(self, start: Poly, end: Poly, parts: Sequence[Part]) -> bool:
        """Whether they make up the triangle between two elements of the diagonal."""
        self.tries += 1
        if self.way.nonnegative(start - end):
            return True
        for number, part in enumerate(parts):
            middle = part.box[0][1]
            begins = self._begins(part.box, ((start, end), (start, end)))
            if self.tries > MAX_TRIES or not begins or not self.way.nonnegative(part.box[1][1] - middle):
                continue
            others = (*parts[:number], *parts[number + 1 :])
            if self.way.nonnegative(middle - end):
                return True
            if self.lower(middle, end, others) and self.covered(((middle, end), (start, middle)), others):
                return True
        return False

    def _begins(self, part: Box, box: Box) -> bool:
        return all(self.way.nonnegative(low - lo) for (low, _), (lo, _) in zip(box, part, strict=True))

    def _cut(self, box: Box, part: Box, others: Sequence[Part]) -> bool:
        """Whether a box is made up by a part of what lies at its beginning, and by others."""
        short = [place for place, (_, end) in enumerate(box) if not self.way.nonnegative(part[place][1] - end)]
        if not short:
            return True
        place, (start, end) = short[0], box[short[0]]
        middle = part[place][1]
        behind = (*box[:place], (middle, end), *box[place + 1 :])
        before = (*box[:place], (start, middle), *box[place + 1 :])
        return self.covered(behind, others) and self._cut(before, part, others)
