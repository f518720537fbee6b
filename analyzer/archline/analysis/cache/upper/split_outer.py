"""A program run as two: an outermost loop up to an iteration, and from there on, each bounded by itself.

Where iterations touch ever less, what the last ones need fits into caches that are too small for the first; where they
touch ever more, the other way round. Nothing is kept from one part to the other, so that io is at most the sum of both
bounds, wherever the program is parted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from operator import itemgetter

from archline.algebra.bounds import Bounds
from archline.algebra.effort import TooComplexError, budget
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.polynomial import Poly
from archline.analysis.cache.footprint.references import IndexSetSplitter, LoopSide
from archline.analysis.cache.footprint.upper import Reference
from archline.analysis.cache.upper.allocation import AllocationPlanner
from archline.analysis.cache.upper.evaluate import PlanUpperBound
from archline.expr.intervals import EvaluationError
from archline.ir.factored import UnboundedError
from archline.ir.tree import Chain, Loop
from archline.records import record

PHASE = "phase "
"""The first iteration of the second part; no program has such a name."""
MAX_PARTS = 400_000
"""Term products for the plans of both parts."""
TURNS, NEAREST = 8, 2
"""Before so many iterations, evenly spread, is the program parted; spare lines are used in so many of these ways."""
GAIN = 10, 9
"""Only where parts fetch so much less than all, before spare lines are used, is it found what these save."""
NEAR_RATIO = 5, 4
"""Bounds no farther apart than this are near: then nothing is parted."""
Sizes = Mapping[str, int]


@record(eq=False)
class SplitLoopBound:
    """Bounds by the parts of a program; `planner` and `whole` are of all of it."""

    planner: AllocationPlanner
    whole: PlanUpperBound

    def at(self, point: Sizes, least: int, most: int) -> int:
        """The bound at sizes, Z and L, where `least` lines are fetched at least, and `most` at most.

        Raises EvaluationError.
        """
        if most * NEAR_RATIO[1] <= least * NEAR_RATIO[0] or self.parts is None:
            return most
        first, last = self.iterations(point)
        enough = self.whole.at(point, spare=False) * GAIN[1] // GAIN[0]
        found = []
        for turn in sorted({first + (last + 1 - first) * step // (TURNS + 1) for step in range(1, TURNS + 1)}):
            with suppress(EvaluationError):
                if first < turn <= last and (bound := sum(self.misses_of_parts(point, turn, spare=False))) <= enough:
                    found.append((bound, turn))
        nearest = sorted(found, key=itemgetter(0))[:NEAREST]
        return min([most, *(sum(self.misses_of_parts(point, turn)) for _, turn in nearest)])

    def misses_of_parts(self, point: Sizes, turn: int, spare: bool = True) -> tuple[int, int]:
        """What is fetched at most before an iteration that is not the first, and from it on.

        Raises EvaluationError where no plan fits.
        """
        assert self.parts is not None
        there = {**point, PHASE: turn}
        one, other = self.parts
        return one.at(there, spare), other.at(there, spare)

    def iterations(self, point: Sizes) -> tuple[int, int]:
        """The first and the last iteration of the loop that is parted. Raises EvaluationError."""
        assert self.loop is not None
        restore = self.planner.facts.restore
        return int(evaluate(restore(self.loop.lo), point)), int(evaluate(restore(self.loop.hi - 1), point))

    @cached_property
    def loop(self) -> Loop | None:
        """The outermost loop that decides how far loops inside run, the one of the deepest nest."""
        found = [each.chain for each in self.planner.references if each.chain and _determines_inner_bounds(each.chain)]
        return max(found, key=len)[0] if found else None

    @cached_property
    def parts(self) -> tuple[PlanUpperBound, PlanUpperBound] | None:
        """The bounds of both parts; None where no loop is parted, or none are found."""
        if self.loop is None:
            return None
        try:
            with budget(MAX_PARTS, own=True):
                one, other = (self._part(self.loop, below) for below in (True, False))
        except (TooComplexError, UnboundedError):
            return None
        return (one, other) if one.plans and other.plans else None

    def _part(self, loop: Loop, below: bool) -> PlanUpperBound:
        cutter = IndexSetSplitter(PHASE, Bounds((loop.lo + 1,), (loop.hi - 1,)))
        rule = LoopSide(loop, Poly.symbol(PHASE), below)
        references = [cutter.cut(each, rule) for each in _on_side(self.planner.references, loop, below)]
        facts = cutter.facts(self.planner.facts, rule, None)
        points = list(self._points())
        return PlanUpperBound(AllocationPlanner(references, facts, points).plans() if points else (), facts)

    def _points(self) -> Iterator[Sizes]:
        """The samples, parted in the middle."""
        for point in self.planner.points:
            with suppress(EvaluationError):
                first, last = self.iterations(point)
                if first < last:
                    yield {**point, PHASE: (first + last + 1) // 2}


def _determines_inner_bounds(around: Chain) -> bool:
    """Whether the first loop moves one end of another: of a tile or a segment it moves both."""
    first, *inner = around
    moved = ([first.variable in end.names for end in (each.lo, each.hi)] for each in inner)
    return first.trips == first.hi - first.lo and any(lo != hi for lo, hi in moved)


def _on_side(references: Sequence[Reference], loop: Loop, before: bool) -> Iterator[Reference]:
    """References in the loop, and those before it in the text, or behind it; if they are both, all that they access."""
    inside = [number for each in references if loop in each.chain for number in each.order]
    for each in references:
        outside = min(each.order) < min(inside) if before else max(each.order) > max(inside)
        if loop in each.chain or outside:
            yield each
