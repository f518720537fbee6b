"""Whether parts make up a box, or half of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from archline.algebra.polynomial import Poly
from archline.analysis.cache.summaries.regions import Box, Half, Part

MAX_TRIES = 200
"""How often a box is looked at while it is cut where parts of it end."""
_OTHER: Mapping[Half, Half] = {"": "", "lower": "upper", "upper": "lower"}
"""What a half is where rows and columns change places."""


class SizeBounds(Protocol):
    """What is known of sizes."""

    def nonnegative(self, value: Poly) -> bool:
        """Whether a value is at least 0."""


@dataclass(eq=False)
class Covering:
    """Whether parts make up a box or half of it, which is cut at the end of a part that begins where it does."""

    way: SizeBounds
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
            if not part.half and self._begins(part.box, box) and self._cut(box, part.box, others):
                return True
        return False

    def half(self, box: Box, half: Half, parts: Sequence[Part]) -> bool:
        """Whether they make up a half of a box that is as wide as high."""
        if half == "upper":
            # Rows and columns change places.
            return self._lower(box[::-1], [Part(each.box[::-1], _OTHER[each.half]) for each in parts])
        return self._lower(box, parts)

    def _lower(self, box: Box, parts: Sequence[Part]) -> bool:
        self.tries += 1
        (top, bottom), (left, right) = box
        if self.way.nonnegative(top - bottom):
            return True
        for number, part in enumerate(parts):
            if self.tries > MAX_TRIES or not self._begins(part.box, box) or not self._reaches(part, top - left):
                continue
            # It has all of the rows before the middle.
            middle, across = part.box[0][1], left + part.box[0][1] - top
            others = (*parts[:number], *parts[number + 1 :])
            if not self.way.nonnegative(part.box[1][1] - across):
                middle, across = top + part.box[1][1] - left, part.box[1][1]
                if not self.way.nonnegative(part.box[0][1] - middle) or not self.way.nonnegative(middle - top - 1):
                    continue
                others = (*parts,)
            if self.way.nonnegative(middle - bottom):
                return True
            if self._lower(((middle, bottom), (across, right)), others) and self.covered(
                ((middle, bottom), (left, across)), others
            ):
                return True
        return False

    def _reaches(self, part: Part, diagonal: Poly) -> bool:
        """Whether a part has all below a diagonal, given by row less column, that lies in its box."""
        (top, _), (left, _) = part.box
        return not part.half or (part.half == "lower" and self.way.nonnegative(diagonal - (top - left)))

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
