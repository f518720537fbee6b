"""Bound the io of recursion in the written order from below, at given sizes, with calls as windows of the run.

A window that touches D lines finds at most C lines in a cache of C lines, so that consecutive windows fetch
the sum of D - C, and C more, as the cache is empty at the start. A call is a window, or is cut into windows: the
calls that it makes and the loops between them, whichever gives more. The lines that a call is certain to touch
follow from its must-access regions (`MustAccess`).

Lines are counted row by row if the arrays of a call lie in rows that share no line. If they may share lines,
but not words, w words are at least w/L lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, starmap
from math import prod

from archline.algebra.effort import TooComplexError
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.facts import Facts
from archline.algebra.polynomial import Poly
from archline.analysis.cache.footprint.windows import WindowLoop, with_loop_bounds
from archline.analysis.cache.summaries.must_access import FollowedBody, MustAccess
from archline.analysis.cache.summaries.regions import MustTouchRegion, RegionCollector, iterate_claimed_part
from archline.expr.intervals import EvaluationError
from archline.ir.recursive import contains_recursive_call
from archline.ir.tree import Array, Loop, Node, RecursiveCall, View, contiguous_dimension, iterate_accesses
from archline.language import syntax as s
from archline.records import memoised, record

MAX_CUT_CALLS = 20_000
"""The maximum number of calls (an algorithm with sizes) that are cut into windows; further ones are one window."""
MAX_EVALUATED_ITERATIONS = 64
"""The maximum number of iterations of a loop that are evaluated one by one, if they differ; others count 0."""
Sizes = Mapping[str, int]


@record
class CountedBox:
    """A box of elements of an array, or `half` of it, touched if all of `needs` are nonnegative."""

    array: Array
    extents: tuple[Poly, ...]
    half: bool
    needs: tuple[Poly, ...]

    def at(self, point: Sizes, line: int) -> tuple[int, int]:
        """Count the lines and the words of the box. Raises EvaluationError."""
        if any(evaluate(need, point) < 0 for need in self.needs):
            return 0, 0
        extents = [max(0, int(evaluate(extent, point))) for extent in self.extents]
        words = extents[0] * (extents[0] + 1) // 2 if self.half else prod(extents)
        if self.half or self.array.layout == "zmorton":
            return -(-words // line), words
        row = extents.pop(contiguous_dimension(self.array))
        return prod(extents) * -(-row // line), words


AlternativeBoxes = tuple[CountedBox, ...]
"""The amounts of one array."""


@record(eq=False)
class StraightLineStep:
    """The accesses between calls: for each array alternative boxes that they touch, where only the largest counts.

    `amounts` are of arrays that are not local; `stacks` are groups of local arrays that may overlap other groups,
    so that only one counts.
    """

    amounts: tuple[AlternativeBoxes, ...]
    stacks: tuple[tuple[AlternativeBoxes, ...], ...]

    @property
    def array_choices(self) -> Iterator[tuple[AlternativeBoxes, ...]]:
        """The choices of arrays whose amounts may be added: without local arrays, and with each stack."""
        yield self.amounts
        for stack in self.stacks:
            yield (*self.amounts, *stack)


@record(eq=False)
class CallStep:
    """A call of `target` with `sizes`; if `apart`, its arrays share no line, otherwise they share no word."""

    target: s.Algorithm
    sizes: Mapping[str, Poly]
    apart: bool


@record(eq=False)
class LoopStep:
    """A loop that contains calls; if `alike`, no step depends on the loop variable."""

    variable: str
    lo: Poly
    hi: Poly
    steps: tuple[Step, ...]
    alike: bool


Step = StraightLineStep | CallStep | LoopStep


def _depends_on(step: Step, name: str) -> bool:
    match step:
        case StraightLineStep(array_choices=ways):
            amounts = [amount for way in ways for group in way for amount in group]
            return any(name in value.names for amount in amounts for value in (*amount.extents, *amount.needs))
        case CallStep(sizes=sizes):
            return any(name in size.names for size in sizes.values())
        case LoopStep(lo=lo, hi=hi, steps=steps):
            return name in lo.names | hi.names or any(_depends_on(inner, name) for inner in steps)


@dataclass(eq=False)
class RecursiveSegmentBound:
    """A lower bound on the io of a recursion in written order, with calls and loops between them as windows."""

    filled: MustAccess
    algorithm: s.Algorithm

    def at(self, point: Mapping[str, int]) -> int:
        """Bound io from below at sizes, Z and L; 0 if no bound is found."""
        if self.algorithm not in self.filled.bodies:
            return 0
        evaluator = _SegmentEvaluator(self, point["L"], point["Z"] // point["L"])
        try:
            sizes = {name: point[name] for name in self.compiled_body(self.algorithm).names if name in point}
            misses = evaluator.bound_extra_misses_below(self.algorithm, sizes, True)
        except (EvaluationError, TooComplexError, RecursionError):
            # Calls are nested too deeply for Python, or a size depends on data.
            return 0
        return misses + evaluator.lines if misses else 0

    @memoised
    def compiled_body(self, algorithm: s.Algorithm) -> _CompiledBody:
        """Return the steps of an algorithm, prepared for evaluation."""
        return _CompiledBody(self.filled, algorithm, self.filled.bodies[algorithm])


@dataclass(eq=False)
class _SegmentEvaluator:
    """Evaluates the bound `below` for lines of `line` words and a cache of `lines` lines."""

    below: RecursiveSegmentBound
    line: int
    lines: int
    _known: dict[tuple[s.Algorithm, tuple[tuple[str, int], ...], bool], int] = field(default_factory=dict)

    def bound_extra_misses_below(self, algorithm: s.Algorithm, sizes: Sizes, apart: bool) -> int:
        """Bound from below the lines that a call fetches beyond the number of lines of the cache.

        `apart` states that the arrays of the call share no line.
        """
        key = algorithm, tuple(sizes.items()), apart
        if key not in self._known:
            ready = self.below.compiled_body(algorithm)
            if len(self._known) > MAX_CUT_CALLS:
                # Each further call is one window.
                return self._count_uncached_lines(ready.amounts_by_array, sizes, apart)
            # A call inside a call of the same sizes does not occur in a run that ends.
            self._known[key] = 0
            self._known[key] = self._evaluate_call(ready, sizes, apart)
        return self._known[key]

    def _evaluate_call(self, ready: _CompiledBody, sizes: Sizes, apart: bool) -> int:
        uncached = self._count_uncached_lines(ready.amounts_by_array, sizes, apart)
        if ready.touched and not uncached:
            # The regions of the call fit in the cache: windows inside it gain little.
            return 0
        possible_steps = [
            steps
            for conditions, steps in ready.paths
            if all(_may_be_nonnegative(condition, sizes) for condition in conditions)
        ]
        return max(uncached, min((self._sum_steps(steps, sizes, apart) for steps in possible_steps), default=0))

    def _count_uncached_lines(self, amounts: Sequence[Sequence[CountedBox]], point: Sizes, apart: bool) -> int:
        """Bound the misses of a window from below: the lines that it touches beyond the lines of the cache.

        `amounts` has for each array alternative boxes; only the largest counts. Lines are counted for each array if the
        arrays share no line (`apart`), otherwise from the words of all arrays.
        """
        counts = [
            max(self._count_box(amount, point) for amount in alternatives) for alternatives in amounts if alternatives
        ]
        lines, words = sum(lines for lines, _ in counts), sum(words for _, words in counts)
        return max(0, (lines if apart else -(-words // self.line)) - self.lines)

    def _count_box(self, amount: CountedBox, point: Sizes) -> tuple[int, int]:
        try:
            return amount.at(point, self.line)
        except EvaluationError:
            return 0, 0

    def _sum_steps(self, steps: Sequence[Step], point: Sizes, apart: bool) -> int:
        return sum(self._evaluate_step(step, point, apart) for step in steps)

    def _evaluate_step(self, step: Step, point: Sizes, apart: bool) -> int:
        match step:
            case StraightLineStep(array_choices=ways):
                return max(self._count_uncached_lines(way, point, apart) for way in ways)
            case CallStep(target=target, sizes=sizes, apart=disjoint):
                try:
                    values = {name: int(evaluate(size, point)) for name, size in sizes.items()}
                except EvaluationError:
                    return 0
                return self.bound_extra_misses_below(target, values, disjoint and apart)
            case LoopStep():
                return self._evaluate_loop(step, point, apart)

    def _evaluate_loop(self, step: LoopStep, point: Sizes, apart: bool) -> int:
        try:
            lo, hi = int(evaluate(step.lo, point)), int(evaluate(step.hi, point))
        except EvaluationError:
            return 0
        if step.alike:
            return max(0, hi - lo) * self._sum_steps(step.steps, point, apart)
        iterations = range(lo, min(hi, lo + MAX_EVALUATED_ITERATIONS))
        return sum(self._sum_steps(step.steps, {**point, step.variable: value}, apart) for value in iterations)


def _may_be_nonnegative(value: Poly, point: Sizes) -> bool:
    """Test whether a value is nonnegative, or depends on data."""
    try:
        return evaluate(value, point) >= 0
    except EvaluationError:
        return True


@record(eq=False)
class _CompiledBody:
    """The must-access regions of a call, and the steps of each path through its branches."""

    filled: MustAccess
    algorithm: s.Algorithm
    body: FollowedBody

    @property
    def names(self) -> tuple[str, ...]:
        """The names of sizes and indices."""
        return (*self.body.sizes, *self.body.indices)

    @cached_property
    def touched(self) -> tuple[CountedBox, ...]:
        """The boxes that every call touches in full, which share no line."""
        return tuple(starmap(self._make_claimed_box, self.filled.list_separate_regions(self.algorithm)))

    @cached_property
    def amounts_by_array(self) -> tuple[AlternativeBoxes, ...]:
        """The boxes `touched`, each in a group of its own: they share no line, so all count."""
        return tuple((amount,) for amount in self.touched)

    def _make_claimed_box(self, array: Array, claim: MustTouchRegion) -> CountedBox:
        restore = self.body.facts.restore
        needs = tuple(extent - least for extent, least in zip(array.extents, claim.least, strict=True))
        extents = tuple(restore(hi - lo) for lo, hi in claim.box_in_array(array))
        return CountedBox(array, extents, bool(claim.half), tuple(map(restore, needs)))

    @cached_property
    def paths(self) -> list[tuple[tuple[Poly, ...], tuple[Step, ...]]]:
        """The conditions (nonnegative values) and the steps of each path."""
        restore = self.body.facts.restore
        return [
            (
                tuple(map(restore, conditions)),
                tuple(self._compile_steps(nodes, self.body.path_facts(conditions).refined)),
            )
            for conditions, nodes in self.body.ways
        ]

    def _compile_steps(self, nodes: Sequence[Node], facts: Facts) -> Iterator[Step]:
        restore, between = self.body.facts.restore, list[Node]()
        for node in nodes:
            if not contains_recursive_call(node):
                between.append(node)
                continue
            yield from self._compile_straight_line(between, facts)
            between = []
            match node:
                case RecursiveCall(target=target, sizes=sizes):
                    apart = _do_views_share_no_line(list(node.views.values()), facts)
                    if target in self.filled.bodies and apart is not None:
                        restored = {name: restore(size) for name, size in sizes.items()}
                        yield CallStep(target, restored, apart)
                case Loop(variable=variable, lo=lo, hi=hi, trips=trips, body=body) if trips == hi - lo:
                    inside = with_loop_bounds(WindowLoop(variable, lo, hi), facts, 1)
                    steps = tuple(self._compile_steps(body, inside))
                    alike = not any(_depends_on(step, variable) for step in steps)
                    yield LoopStep(variable, restore(lo), restore(hi), steps, alike)
                case _:
                    pass
        yield from self._compile_straight_line(between, facts)

    def _compile_straight_line(self, nodes: Sequence[Node], facts: Facts) -> Iterator[StraightLineStep]:
        restore = self.body.facts.restore
        collected: dict[Array, AlternativeBoxes] = {}
        for array in dict.fromkeys(access.array for access, _ in iterate_accesses(tuple(nodes))):
            parts = RegionCollector(array, {}).collect(nodes, facts)
            amounts = (
                CountedBox(
                    array,
                    tuple(restore(hi - lo) for lo, hi in region.part.box),
                    bool(region.part.half),
                    tuple(map(restore, region.needs)),
                )
                for region in parts
            )
            collected[array] = tuple(dict.fromkeys(amounts))
        groups = {array: group for array, group in collected.items() if group}
        stacks = (
            tuple(groups[part] for part in (array, *array.beneath) if part in groups) for array in groups if array.local
        )
        if groups:
            yield StraightLineStep(tuple(group for array, group in groups.items() if not array.local), tuple(stacks))


def _do_views_share_no_line(views: Sequence[View], facts: Facts) -> bool | None:
    """Test whether neither views nor rows of one view share a line; None if views may share words."""
    if not all(view.array.exact for view in views):
        # An inexact array may be part of another one.
        return None
    separate = all(len({dimension for dimension, _ in view.axes}) == len(view.axes) for view in views)
    for left, right in combinations(views, 2):
        if left.array is right.array:
            rows = _do_parts_share_no_row(left, right, facts)
            if rows is None:
                return None
            separate = separate and rows
    return separate


def _do_parts_share_no_row(left: View, right: View, facts: Facts) -> bool | None:
    """Test whether two parts of an array share no row; False if they share no word, None if they may share words."""
    whole_parts = MustTouchRegion((0,) * len(left.axes)), MustTouchRegion((0,) * len(right.axes))
    boxes = [
        part.box
        for view, claim in zip((left, right), whole_parts, strict=True)
        for part in iterate_claimed_part(view, claim)
    ]
    if len(boxes) < 2:
        return None
    disjoint_dimensions = [
        dimension
        for dimension, ((first, after), (second, beyond)) in enumerate(zip(*boxes, strict=True))
        if facts.nonnegative(second - after) or facts.nonnegative(first - beyond)
    ]
    if not disjoint_dimensions:
        return None
    return left.array.layout != "zmorton" and disjoint_dimensions != [contiguous_dimension(left.array)]
