"""Bound a program in two phases: an outermost loop is split at an iteration, and each phase is bounded by itself.

If iterations touch ever fewer lines, the last ones may fit into caches that are too small for the first ones,
and vice versa. No line is retained from one phase to the next, so that io is at most the sum of both bounds
for every split.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from operator import itemgetter

from archline.algebra.bounds import Bounds
from archline.algebra.effort import TooComplexError, limit_effort
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

SPLIT_ITERATION = "phase "
"""The symbol of the first iteration of the second phase, which no name of a program equals."""
MAX_PHASE_PRODUCTS = 400_000
"""The maximum number of term products for the plans of both phases."""
MAX_TRIED_SPLITS, MAX_REFINED_SPLITS = 8, 2
"""The number of iterations, evenly spaced, at which a split is tried, and the number evaluated with spare lines."""
MIN_GAIN_RATIO = 10, 9
"""Spare lines are evaluated only if the phases without them improve the bound by this ratio."""
NEAR_RATIO = 5, 4
"""If the upper bound is within this ratio of the lower bound, no split is tried."""
Sizes = Mapping[str, int]


@record(eq=False)
class SplitLoopBound:
    """An upper bound on io from splitting the outermost loop at an iteration, with an empty cache after the split.

    `planner` and `whole` have the allocation plans and the bound of the program without the split.
    """

    planner: AllocationPlanner
    whole: PlanUpperBound

    def at(self, point: Sizes, least: int, most: int) -> int:
        """Evaluate the bound at sizes, Z and L; `least` and `most` are a lower and an upper bound on io there.

        Raises EvaluationError.
        """
        if most * NEAR_RATIO[1] <= least * NEAR_RATIO[0] or self.parts is None:
            return most
        first, last = self.evaluate_loop_range(point)
        max_misses = self.whole.at(point, spare=False) * MIN_GAIN_RATIO[1] // MIN_GAIN_RATIO[0]
        bounds = []
        for iteration in sorted(
            {first + (last + 1 - first) * step // (MAX_TRIED_SPLITS + 1) for step in range(1, MAX_TRIED_SPLITS + 1)}
        ):
            with suppress(EvaluationError):
                if (
                    first < iteration <= last
                    and (bound := sum(self.bound_misses_of_parts(point, iteration, spare=False))) <= max_misses
                ):
                    bounds.append((bound, iteration))
        best = sorted(bounds, key=itemgetter(0))[:MAX_REFINED_SPLITS]
        return min([most, *(sum(self.bound_misses_of_parts(point, iteration)) for _, iteration in best)])

    def bound_misses_of_parts(self, point: Sizes, iteration: int, spare: bool = True) -> tuple[int, int]:
        """Bound the misses before `iteration` (not the first one) and from it on.

        With `spare`, lines that a plan does not need retain parts of arrays. Raises EvaluationError where no plan
        fits.
        """
        assert self.parts is not None
        split_point = {**point, SPLIT_ITERATION: iteration}
        before, after = self.parts
        return before.at(split_point, spare), after.at(split_point, spare)

    def evaluate_loop_range(self, point: Sizes) -> tuple[int, int]:
        """Evaluate the first and the last iteration of the loop that is split. Raises EvaluationError."""
        assert self.loop is not None
        restore = self.planner.facts.restore
        return int(evaluate(restore(self.loop.lo), point)), int(evaluate(restore(self.loop.hi - 1), point))

    @cached_property
    def loop(self) -> Loop | None:
        """The outermost loop of the deepest nest in which it determines the bounds of inner loops.

        None if no nest is of this kind.
        """
        chains = [
            reference.chain
            for reference in self.planner.references
            if reference.chain and _determines_inner_bounds(reference.chain)
        ]
        return max(chains, key=len)[0] if chains else None

    @cached_property
    def parts(self) -> tuple[PlanUpperBound, PlanUpperBound] | None:
        """The upper bounds of both phases; None if no loop can be split or a phase has no plan."""
        if self.loop is None:
            return None
        try:
            with limit_effort(MAX_PHASE_PRODUCTS, own=True):
                first, second = (self._derive_phase_bound(self.loop, below) for below in (True, False))
        except (TooComplexError, UnboundedError):
            return None
        return (first, second) if first.plans and second.plans else None

    def _derive_phase_bound(self, loop: Loop, below: bool) -> PlanUpperBound:
        """Derive the upper bound of the phase before the split (`below`) or after it."""
        splitter = IndexSetSplitter(SPLIT_ITERATION, Bounds((loop.lo + 1,), (loop.hi - 1,)))
        side = LoopSide(loop, Poly.symbol(SPLIT_ITERATION), below)
        references = [
            splitter.split(reference, side)
            for reference in _iterate_phase_references(self.planner.references, loop, below)
        ]
        facts = splitter.extend_facts(self.planner.facts, side, None)
        points = list(self._iterate_split_samples())
        return PlanUpperBound(AllocationPlanner(references, facts, points).derive_plans() if points else (), facts)

    def _iterate_split_samples(self) -> Iterator[Sizes]:
        """Yield the samples, each with a split in the middle of the loop."""
        for point in self.planner.points:
            with suppress(EvaluationError):
                first, last = self.evaluate_loop_range(point)
                if first < last:
                    yield {**point, SPLIT_ITERATION: (first + last + 1) // 2}


def _determines_inner_bounds(around: Chain) -> bool:
    """Test whether exactly one bound of an inner loop depends on the first loop, as in a triangle (both in a tile)."""
    first, *inner = around
    dependent = ([first.variable in end.names for end in (loop.lo, loop.hi)] for loop in inner)
    return first.trips == first.hi - first.lo and any(lo != hi for lo, hi in dependent)


def _iterate_phase_references(references: Sequence[Reference], loop: Loop, before: bool) -> Iterator[Reference]:
    """Yield the references inside the loop, and those before (or after) it in the text."""
    inside = [number for reference in references if loop in reference.chain for number in reference.order]
    for reference in references:
        outside = min(reference.order) < min(inside) if before else max(reference.order) > max(inside)
        if loop in reference.chain or outside:
            yield reference
