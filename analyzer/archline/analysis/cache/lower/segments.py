"""Bound the io of the written order from below: cut the run into windows, and count their lines not in cache.

A window that touches D lines finds at most C lines in a cache of C lines. Consecutive windows thus fetch at
least the sum of D - C, and C more, as the cache is empty at the start. Windows are groups of g iterations of a
loop, in a part of the range of the outermost loop; any g and any part give a bound. (Cf. the segments of Hong
and Kung, I/O complexity: the red-blue pebble game, STOC 1981.)

If the iterations of a loop access k distinct lines in turn, windows have k - 1 accesses: the line that was
accessed last is in the cache, and is not among the next k - 1, so that these find C - 1 lines at most. A
window of a whole iteration finds C of its k lines, which makes the bound k/(k - 1) times weaker: with one line
in the cache, and two arrays that are accessed in turn, it counts half of all accesses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import cached_property
from math import ceil

from archline.algebra import atoms as a
from archline.algebra.effort import TooComplexError, is_out_of_time
from archline.algebra.evaluate.compiled import Compiler, Compute, Environment
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Poly
from archline.algebra.relax import bound_sum
from archline.algebra.sums.summation import UnresolvedError, sum_over
from archline.analysis.cache.footprint.lower import CertainRegion, FootprintLowerBound
from archline.analysis.cache.footprint.windows import (
    CertainAccess,
    WindowLoop,
    WindowSet,
    is_data_independent,
    merge_certain_accesses,
    unite_over_loop,
    with_loop_bounds,
)
from archline.analysis.cache.lower.hbl import HblBound, derive_hbl_bound
from archline.analysis.cache.samples import BoundComparison
from archline.expr.intervals import EvaluationError, Number
from archline.ir.layout import LINE, WORDS
from archline.ir.shape import Shape, nest_shape
from archline.ir.tree import Access, Array, Chain, Loop, Node, contiguous_dimension, iterate_accesses, remove_pure_reads
from archline.records import field, record, replace


def select_distinct_rows(found: Iterable[tuple[Access, Chain]], chain: Chain, facts: Facts) -> list[Access]:
    """Select accesses that each iteration of the last loop makes to different arrays or to distinct rows.

    `found` are accesses with the loops around them; `facts` hold in each iteration.
    """
    chosen: list[Access] = []
    for access, around in found:
        unconditional = around == chain and access.certain and not access.when and access.array.aligned
        if unconditional and all(_have_distinct_rows(access, other, chain[-1], facts) for other in chosen):
            chosen.append(access)
    return chosen


def _have_distinct_rows(access: Access, chosen: Access, loop: Loop, facts: Facts) -> bool:
    array = access.array
    if array is not chosen.array:
        # Local arrays may lie in the same place, one after the other.
        return not (array.local and chosen.array.local)
    if array.layout == "zmorton" or array.within:
        return False
    for dimension, (first, second) in enumerate(zip(access.place, chosen.place, strict=True)):
        if first is None or second is None or dimension == contiguous_dimension(array):
            continue
        # If one subscript does not move, a difference proved for one iteration holds for any two.
        if loop.variable in first.names & second.names or not is_data_independent(first - second):
            continue
        if facts.nonnegative(first - second - 1) or facts.nonnegative(second - first - 1):
            return True
    return False


GROUP_SIZE, PART_START, PART_END = "group ", "from ", "to "
"""Symbols that no program has: the iterations in a group, and the ends of the part of the outermost loop's range."""
POINT_STEP = 4
"""Bounds are compared at every fourth sample point, from small sizes to large ones."""
MAX_TRIP_COUNT_BITS = 128
"""For trip counts of more bits, fewer group sizes are tried."""
CACHE_LINES = a.floor_div(WORDS, LINE)
NestedAccess = tuple[Access, Chain]
RangePart = tuple[int, int]
"""A part of the outermost loop's range: its first value, and the value after its last one."""
LineBounds = tuple[Poly, ...]
"""Lower bounds of one number of lines; at each point the largest counts."""


@record(eq=False)
class WindowFamily:
    """Windows of one kind: at most `count` windows, which touch the lines of `shared` and of one of `stacks`.

    `shared` has lower bounds on the lines of each array, summed over all windows; `stacks` are groups of local
    arrays that may overlap other groups, so that only the largest counts. `trips` is the trip count of the loop
    that is divided in groups (None: no groups), `part` the range of `PART_START` and `PART_END`.
    """

    name: str
    count: Poly
    shared: tuple[LineBounds, ...]
    stacks: tuple[tuple[LineBounds, ...], ...]
    trips: Poly | None = None
    part: tuple[Poly, Poly] | None = None
    beside: int = 0
    """Lines in the cache that a window does not touch: 1 if the line accessed just before it is certainly not in it."""

    @property
    def single_iteration_groups(self) -> dict[str, Poly]:
        """Values of the symbols that make each iteration a window, over the whole outermost loop."""
        values = {GROUP_SIZE: ONE} if self.trips is not None else {}
        if self.part is not None:
            values |= {PART_START: self.part[0].substitute(values), PART_END: self.part[1].substitute(values)}
        return values

    @property
    def lower_bound(self) -> Poly:
        """A lower bound on io in sizes, Z and L; without windows it is 0."""
        lines = sum((bounds[0] for bounds in self.shared), ZERO)
        if self.stacks:
            lines = lines + sum((bounds[0] for bounds in self.stacks[0]), ZERO)
        return (lines - CACHE_LINES * a.positive_part(self.count - 1)).substitute(self.single_iteration_groups)


@record(eq=False)
class WindowTree:
    """The windows of a loop or of the whole run, and of the loops inside, in program order."""

    families: tuple[WindowFamily, ...]
    branches: tuple[WindowTree, ...]

    def all_families(self) -> Iterator[WindowFamily]:
        """Yield the windows of the loop and of all loops inside."""
        yield from self.families
        for branch in self.branches:
            yield from branch.all_families()


def build_window_tree(
    nodes: tuple[Node, ...], facts: Facts, points: Sequence[Mapping[str, int]], writes: bool
) -> WindowTree:
    """Build the windows of a program, with the lower bounds on lines that are largest at some of `points`.

    With `writes`, only written elements count.
    """
    return _WindowTreeBuilder(facts, points[::POINT_STEP], list(iterate_accesses(nodes)), writes).build(nodes)


@record(eq=False)
class _WindowTreeBuilder:
    """Builds the windows of a program from all its accesses (`every`); with `writes`, only written elements count."""

    facts: Facts = field(repr=False)
    points: Sequence[Mapping[str, int]]
    every: Sequence[NestedAccess] = ()
    writes: bool = False
    _trees: dict[Shape, WindowTree] = field(default_factory=dict, repr=False)

    def build(self, nodes: tuple[Node, ...]) -> WindowTree:
        certain = merge_certain_accesses(pair for pair in self.every if pair[0].written or not self.writes)
        whole = self._build_family(_WindowScheme("the run", (), (), 0), certain, False)
        return WindowTree(() if whole is None else (whole,), self._build_branches(nodes, (), certain))

    def _build_branches(
        self, nodes: tuple[Node, ...], chain: Chain, found: list[CertainAccess]
    ) -> tuple[WindowTree, ...]:
        loops = [node for node in nodes if isinstance(node, Loop)]
        branches = []
        for loop in loops:
            inside = (*chain, loop)
            accesses = [
                access for access in found if len(access.chain) >= len(inside) and access.chain[len(chain)] is loop
            ]
            if accesses:
                branches.append(self._build_tree(inside, accesses, len(nodes) > 1))
        return tuple(branches)

    def _build_tree(self, chain: Chain, found: list[CertainAccess], siblings: bool) -> WindowTree:
        """Build the windows of the last loop and of the loops inside.

        Memoised: if there are other nodes in the same body (`siblings`), loops of the same shape share a tree.
        """
        *around, loop = chain
        shape = (siblings, *nest_shape(loop, tuple(around), self.facts)) if siblings else (loop,)
        if shape not in self._trees:
            families = tuple(self._build_loop_families(chain, found, siblings))
            self._trees[shape] = WindowTree(families, self._build_branches(loop.body, chain, found))
        return self._trees[shape]

    def _build_loop_families(
        self, chain: Chain, accesses: list[CertainAccess], siblings: bool
    ) -> Iterator[WindowFamily]:
        """Yield windows of groups of iterations, of single iterations, and of whole executions of the last loop.

        Single iterations and whole executions are left out where groups include them, and whole executions also
        where the loop has no siblings.
        """
        *around, loop = chain
        outside = tuple(WindowLoop(outer_loop.variable, outer_loop.lo, outer_loop.hi) for outer_loop in around)
        steady = not (loop.lo.names | loop.hi.names) & {outer_loop.variable for outer_loop in around}
        uneven = _has_uneven_iterations(loop, accesses, len(chain))
        iteration, depth, name = WindowLoop(loop.variable, loop.lo, loop.hi), len(chain), loop.variable
        kinds = []
        if steady:
            number, size = Poly.symbol(f"{name} groups"), Poly.symbol(GROUP_SIZE)
            first = loop.lo + number * size
            groups = WindowLoop(f"{name} groups", ZERO, a.floor_div(loop.hi - loop.lo, size))
            inner = WindowLoop(name, first, first + size, (loop.lo, loop.hi))
            label, length = f"groups of iterations of {loop.name}", loop.hi - loop.lo
            kinds.append(_WindowScheme(label, (*outside, groups), (inner,), depth, length, uneven))
        if uneven or not steady:
            kinds.append(
                _WindowScheme(f"each iteration of {loop.name}", (*outside, iteration), (), depth, None, uneven)
            )
        if siblings and not steady:
            kinds.append(_WindowScheme(f"each run of {loop.name}", outside, (iteration,), depth, None, False))
        for kind in kinds if not is_out_of_time() else ():
            cut = kind.uneven if not outside else _has_uneven_iterations(chain[0], accesses, 1)
            family = self._build_family(kind, accesses, cut)
            if family is not None:
                yield family
        if not is_out_of_time():
            yield from self._build_alternating_family(chain, WindowSet(self.facts, (*outside, iteration), (), depth))

    def _build_alternating_family(self, chain: Chain, windows: WindowSet) -> Iterator[WindowFamily]:
        """Yield windows of k - 1 accesses, if the iterations of the last loop access k distinct rows in turn."""
        accesses = sorted(self.every, key=lambda pair: not pair[0].written)
        rows = select_distinct_rows(accesses, chain, windows.loop_facts(windows.outer))
        counted = sum(access.written or not self.writes for access in rows)
        if len(rows) < 2 or not counted:
            return
        any_element = CertainAccess(rows[0].array, (None,) * len(rows[0].place), chain, ())
        iteration_bounds = [value for part in FootprintLowerBound(any_element, windows).parts for value in part.lines]
        for iterations in BoundComparison(self.facts, self.points, {}).select_largest(iteration_bounds)[:1]:
            with suppress(UnresolvedError, TooComplexError):
                # The access before the first window of an execution may be to any line; the last window may be shorter.
                runs = self._count_windows(replace(windows, outer=windows.outer[:-1]))
                count = (len(rows) * iterations + (len(rows) - 2) * runs).scaled(Fraction(1, len(rows) - 1))
                lines, count = self.facts.restore(counted * iterations - runs), self.facts.restore(count)
                yield WindowFamily(f"accesses of {chain[-1].name} in turn", count, ((lines,),), (), beside=1)

    def _build_family(self, kind: _WindowScheme, found: list[CertainAccess], cut: bool) -> WindowFamily | None:
        """Build the windows of a scheme, in a part of the outermost loop if `cut`; None if no lower bound is found."""
        windows, part = self._build_window_set(kind, cut)
        try:
            count = self._count_windows(windows)
        except (UnresolvedError, TooComplexError):
            return None
        sampled = BoundComparison(
            self.facts, self.points, WindowFamily(kind.name, count, (), (), kind.trips, part).single_iteration_groups
        )
        amounts: dict[Array, LineBounds] = {}
        for array in dict.fromkeys(access.array for access in found):
            regions = [
                region
                for access in found
                if access.array is array
                for region in FootprintLowerBound(access, windows).parts
            ]
            # Regions without conditions are kept too: their bound holds at all sizes.
            unconditional = [region for region in regions if not region.seen.needs]
            best = tuple(
                dict.fromkeys(
                    (*_select_line_bounds(regions, sampled), *_select_line_bounds(unconditional, sampled)[:1])
                )
            )
            if best:
                amounts[array] = tuple(self.facts.restore(bound) for bound in best)
        if not amounts:
            return None
        shared = tuple(bounds for array, bounds in amounts.items() if not array.local)
        stacks = tuple(_stacked_line_bounds(array, amounts) for array in amounts if array.local)
        restore = self.facts.restore
        return WindowFamily(
            kind.name,
            restore(count),
            shared,
            stacks,
            None if kind.trips is None else restore(kind.trips),
            None if part is None else (restore(part[0]), restore(part[1])),
        )

    def _build_window_set(self, kind: _WindowScheme, cut: bool) -> tuple[WindowSet, tuple[Poly, Poly] | None]:
        """Build the windows, restricted to a part of the outermost loop's range if `cut`, and return the whole range.

        The range is None without the restriction.
        """
        facts = self.facts
        if kind.trips is not None:
            facts = facts.with_symbol(GROUP_SIZE, (ONE,), (kind.trips,))
        if not cut or not kind.outer:
            return WindowSet(facts, kind.outer, kind.first, kind.depth), None
        outermost, *others = kind.outer
        facts = facts.with_symbol(PART_START, (outermost.lo,)).with_symbol(
            PART_END, (Poly.symbol(PART_START),), (outermost.hi,)
        )
        part = WindowLoop(
            outermost.variable, Poly.symbol(PART_START), Poly.symbol(PART_END), (outermost.lo, outermost.hi)
        )
        return WindowSet(facts, (part, *others), kind.first, kind.depth), (outermost.lo, outermost.hi)

    def _count_windows(self, windows: WindowSet) -> Poly:
        """Bound the number of windows from above. Raises UnresolvedError."""
        total = ONE
        facts_around = [windows.facts]
        for loop in windows.outer:
            facts_around.append(facts_around[-1].with_symbol(loop.variable, (loop.lo,), (loop.hi - 1,)))
        for loop, facts in zip(reversed(windows.outer), reversed(facts_around[:-1]), strict=True):
            try:
                total = sum_over(a.as_gaps(total), loop.variable, loop.lo, loop.hi, facts)
            except UnresolvedError as problem:
                bound = bound_sum(a.as_gaps(total), loop.variable, loop.lo, loop.hi, facts, True)
                if bound is None or loop.variable in bound.names:
                    raise problem
                total = bound
        return total


def _select_line_bounds(parts: Sequence[CertainRegion], sampled: BoundComparison) -> LineBounds:
    """Select the largest lower bounds on the lines of all `parts` together, at some sample points."""
    best = sampled.select_largest([bound for part in parts for bound in part.lines])
    return sampled.select_largest([*best, *_sum_disjoint_parts(parts, sampled)]) if len(parts) > 1 else best


def _sum_disjoint_parts(parts: Sequence[CertainRegion], sampled: BoundComparison) -> Iterator[Poly]:
    """Yield the summed lines of parts without a common row, and the summed words of disjoint parts divided by L."""
    without_common_row = _select_disjoint_parts(parts, sampled, True)
    disjoint = _select_disjoint_parts(parts, sampled, False)
    if len(without_common_row) > 1:
        yield sum((sampled.select_largest(part.lines)[0] for part in without_common_row), ZERO)
    if len(disjoint) > len(without_common_row):
        words = [sampled.select_largest(part.words)[:1] for part in disjoint]
        yield sum((value for bounds in words for value in bounds), ZERO)


def _select_disjoint_parts(parts: Sequence[CertainRegion], sampled: BoundComparison, rows: bool) -> list[CertainRegion]:
    """Select parts without a common row (if `rows`) or without a common element, those with most lines first."""
    lines = {part: best[0] for part in parts if (best := sampled.select_largest(part.lines))}
    order = sampled.select_largest(list(lines.values()), True)
    chosen: list[CertainRegion] = []
    for part in sorted(lines, key=lambda part: order.index(lines[part])):
        if all(part.is_disjoint_from(other, rows) for other in chosen):
            chosen.append(part)
    return chosen


@record(eq=False)
class _WindowScheme:
    """A division of the run into windows: one for each iteration of the loops `outer`.

    A window runs the loop `first`, and in it the loops of the program from `depth` on. `trips` is the trip count
    of the loop that is divided in groups. If `uneven`, the iterations of the last outer loop differ.
    """

    name: str
    outer: tuple[WindowLoop, ...]
    first: tuple[WindowLoop, ...]
    depth: int
    trips: Poly | None = None
    uneven: bool = False


def _stacked_line_bounds(array: Array, amounts: Mapping[Array, LineBounds]) -> tuple[LineBounds, ...]:
    """List the bounds of a local array, and of the arrays beneath it on the stack, which share no line with it."""
    beneath = [local_array for local_array in array.beneath if local_array in amounts and not local_array.within]
    return tuple(amounts[member] for member in (array, *beneath))


def _has_uneven_iterations(loop: Loop, found: Sequence[CertainAccess], depth: int) -> bool:
    """Test whether conditions or loops from `depth` on depend on the variable of `loop`, other than tiles of it."""
    inner = {inner_loop: None for access in found for inner_loop in access.chain[depth:]}
    if any(loop.variable in need.names for access in found for need in access.when):
        return True
    return any(loop.variable in child.lo.names | child.hi.names and not _is_tiled_by(child, loop) for child in inner)


def _is_tiled_by(inner: Loop, loop: Loop) -> bool:
    """Test whether `inner` runs over consecutive ranges in consecutive iterations of `loop`."""
    if loop.variable not in inner.lo.names & inner.hi.names:
        return False
    iteration = WindowLoop(loop.variable, loop.lo, loop.hi)
    return unite_over_loop((inner.lo, inner.hi), iteration, with_loop_bounds(iteration, loop.facts, 2)) is not None


def derive_segment_bound(
    nodes: tuple[Node, ...], facts: Facts, points: Sequence[Mapping[str, int]], written: bool = False
) -> SegmentBound:
    """Derive the lower bound of a program; `points` are sizes at which alternative bounds are compared.

    With `written`, it bounds write-backs: any replacement writes back at least as many lines as the writes alone
    would fetch. In reverse order, a run fetches the lines that it writes back, and has them at each write, while
    reads occupy the cache too.
    """
    counted = tuple(remove_pure_reads(nodes)) if written else nodes
    return SegmentBound(build_window_tree(nodes, facts, points, written), derive_hbl_bound(counted, facts))


def bound_compulsory_misses_below(
    found: Iterator[tuple[Access, Chain]], facts: Facts, points: Sequence[Mapping[str, int]]
) -> SegmentBound:
    """Bound the compulsory misses from below by the lines that the accesses are certain to touch."""
    family = _WindowTreeBuilder(facts, points[::POINT_STEP])._build_family(
        _WindowScheme("the run", (), (), 0), merge_certain_accesses(found), False
    )
    return SegmentBound(WindowTree(() if family is None else (family,), ()), HblBound(()))


@record(eq=False)
class SegmentBound:
    """A lower bound on io under optimal replacement: the larger of two bounds.

    `run` has the windows of the written order; `hbl_bound` is a bound for any schedule.
    """

    run: WindowTree
    hbl_bound: HblBound

    @cached_property
    def _family_evaluators(self) -> dict[WindowFamily, _WindowEvaluator]:
        return {family: _WindowEvaluator(family) for family in self.run.all_families()}

    def at(self, point: Mapping[str, int]) -> int:
        """Evaluate the bound at sizes, Z and L; Z >= L. Raises EvaluationError."""
        return max(self._evaluate_written_order(point), self.hbl_bound.at(point))

    @property
    def first_touch_bound(self) -> Poly:
        """The bound of the first family of windows; 0 without one.

        If that family is the whole run as one window, this is a lower bound on the lines that the run touches.
        """
        return next((value for _, value in self.bounds_by_loop), ZERO)

    def _evaluate_written_order(self, point: Mapping[str, int]) -> int:
        capacity = point["Z"] // point["L"]
        best = {
            family: counter.maximise_uncached_lines(point, capacity)
            for family, counter in self._family_evaluators.items()
        }
        beyond_capacity = _bound_misses_beyond_capacity(self.run, best)
        if beyond_capacity > 0:
            return ceil(beyond_capacity + capacity)
        return max(0, ceil(capacity + max((value for value in best.values() if value is not None), default=-capacity)))

    @property
    def bounds_by_loop(self) -> list[tuple[str, Poly]]:
        """The name and the bound of each family of windows, except families of accesses in turn."""
        return [(family.name, family.lower_bound) for family in self.run.all_families() if not family.beside]


def _bound_misses_beyond_capacity(branch: WindowTree, best: Mapping[WindowFamily, Number | None]) -> Number:
    """Bound the misses beyond the lines of the cache: the best family's, or the sum over the inner loops."""
    of_families = max((value for family in branch.families if (value := best[family]) is not None), default=0)
    return max(0, of_families, sum(_bound_misses_beyond_capacity(inner, best) for inner in branch.branches))


class _WindowEvaluator:
    """Evaluates a family of windows at points."""

    def __init__(self, family: WindowFamily) -> None:
        amounts = [*family.shared, *(bounds for stack in family.stacks for bounds in stack)]
        ends = [value for value in (family.trips, *(family.part or ())) if value is not None]
        values = [family.count, *ends, *(value for bounds in amounts for value in bounds)]
        self._compiler = Compiler(sorted({GROUP_SIZE, PART_START, PART_END}.union(*(value.names for value in values))))
        of = self._compiler.compile_expression
        self._count, self._beside = of(family.count), family.beside
        self._trips = None if family.trips is None else of(family.trips)
        self._part = None if family.part is None else (of(family.part[0]), of(family.part[1]))
        self._shared = [[of(value) for value in bounds] for bounds in family.shared]
        self._stacks = [[[of(value) for value in bounds] for bounds in stack] for stack in family.stacks]

    def maximise_uncached_lines(self, point: Mapping[str, int], capacity: int) -> Number | None:
        """Maximise the touched lines not in cache, over group sizes and parts of the range; None without windows."""
        trips = None if self._trips is None else int(self._trips(self._make_environment(point, 1, (0, 0))))
        tried = [
            (value, group, part)
            for group in ([1] if trips is None else _list_group_sizes(trips))
            for part in self._list_range_parts(point, group)
            for value in self._count_uncached_lines(point, group, part, capacity)
        ]
        if not tried:
            return None
        value, group, part = max(tried)
        return value if self._part is None else self._climb_over_parts(value, point, group, part, capacity)

    def _make_environment(self, sizes: Mapping[str, int], group: int, part: RangePart) -> Environment:
        return self._compiler.make_environment_at({**sizes, GROUP_SIZE: group, PART_START: part[0], PART_END: part[1]})

    def _list_range_parts(self, sizes: Mapping[str, int], group: int) -> list[RangePart]:
        """List the whole range of the outermost loop, and its halves, for windows of `group` iterations."""
        if self._part is None:
            return [(0, 0)]
        environment = self._make_environment(sizes, group, (0, 0))
        lo, hi = (int(end(environment)) for end in self._part)
        middle = (lo + hi) // 2
        return [(lo, hi), (lo, middle), (middle, hi)]

    def _climb_over_parts(
        self, value: Number, sizes: Mapping[str, int], group: int, part: RangePart, capacity: int
    ) -> Number:
        """Increase `value` by moving the ends of `part` in steps of decreasing size."""
        lo, hi = self._list_range_parts(sizes, group)[0]
        step = max(1, (hi - lo) // 4)
        while step:
            start, end = part
            near = [(start + step, end), (start - step, end), (start, end - step), (start, end + step)]
            improved = [
                (result, neighbour)
                for neighbour in near
                if lo <= neighbour[0] <= neighbour[1] <= hi
                for result in self._count_uncached_lines(sizes, group, neighbour, capacity)
            ]
            if improved and max(improved)[0] > value:
                value, part = max(improved)
            else:
                step //= 2
        return value

    def _count_uncached_lines(
        self, sizes: Mapping[str, int], group: int, part: RangePart, capacity: int
    ) -> Iterator[Number]:
        environment = self._make_environment(sizes, group, part)
        try:
            count = self._count(environment)
            if count < 1:
                return
            lines = sum(_evaluate_largest(bounds, environment) for bounds in self._shared)
            lines += max(
                (sum(_evaluate_largest(bounds, environment) for bounds in stack) for stack in self._stacks), default=0
            )
            yield lines - (capacity - self._beside) * count
        except EvaluationError:
            return


def _evaluate_largest(values: list[Compute], environment: list[Number | None]) -> Number:
    return max(value(environment) for value in values)


def _list_group_sizes(trips: int) -> list[int]:
    """List the group sizes to try: 1, and the trip count divided by powers of 2 and by 3/2 times these.

    For more than 2^128 iterations the divisors are group sizes too, and stop at 2^64, as large numbers are slow.
    """
    if not trips:
        return []
    divisors, power = {1, 2, 3}, 4
    huge = bool(trips >> MAX_TRIP_COUNT_BITS)
    limit = 1 << MAX_TRIP_COUNT_BITS // 2 if huge else trips
    while power < limit:
        divisors |= {power, power * 3 // 2}
        power *= 2
    small = divisors if huge else {1}
    return sorted({*small, *(trips // divisor for divisor in divisors if trips // divisor)})
