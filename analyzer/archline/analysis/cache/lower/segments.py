"""Bound the io of the written order from below: cut the run into windows, and count lines that are not in cache.

A window that touches D lines finds at most C lines in a cache of C lines. Consecutive windows thus fetch at
least the sum of D - C, and C more, as the first one finds only lines that were fetched before it. Windows are
groups of g iterations of a loop, in part of the iterations of the outermost loop; any g and any part give a
bound. (Cf. the segments of Hong and Kung, I/O complexity: the red-blue pebble game, STOC 1981.)

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
from archline.algebra.relax import bounded_sum
from archline.algebra.sums.summation import UnresolvedError, sum_over
from archline.analysis.cache.footprint.lower import CertainRegion, FootprintLowerBound
from archline.analysis.cache.footprint.windows import (
    CertainAccess,
    WindowLoop,
    WindowSet,
    certain_accesses,
    is_data_independent,
    union,
    with_loop_bounds,
)
from archline.analysis.cache.lower.hbl import HblBound, any_schedule_bound
from archline.analysis.cache.samples import SampledAmounts
from archline.expr.intervals import EvaluationError, Number
from archline.ir.layout import LINE, WORDS
from archline.ir.shape import Shape, nest_shape
from archline.ir.tree import Access, Array, Chain, Loop, Node, contiguous_dimension, iter_accesses, writes_only
from archline.records import field, record, replace


def distinct_row_accesses(found: Iterable[tuple[Access, Chain]], chain: Chain, facts: Facts) -> list[Access]:
    """Select accesses of each iteration of the last loop to different arrays, or to rows that never coincide.

    `facts` hold in each iteration.
    """
    chosen: list[Access] = []
    for access, around in found:
        always = around == chain and access.certain and not access.when and access.array.aligned
        if always and all(_never_coincide(access, each, chain[-1], facts) for each in chosen):
            chosen.append(access)
    return chosen


def _never_coincide(access: Access, chosen: Access, loop: Loop, facts: Facts) -> bool:
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


GROUP, FROM, TO = "group ", "from ", "to "
"""Symbols that no program has: iterations in a group, and the part of the outermost loop that counts."""
POINT_STEP = 4
"""Bounds are compared at each point with a multiple of this number, from small sizes to large ones."""
MAX_BITS = 128
"""For trip counts of more bits fewer group sizes are tried."""
LINES = a.floor_div(WORDS, LINE)
Accessed = tuple[Access, Chain]
Part = tuple[int, int]
"""The first and the last iteration of the outermost loop that count."""
Alternatives = tuple[Poly, ...]
"""Lower bounds of one amount."""


@record(eq=False)
class WindowFamily:
    """Windows of one kind: at most `count` windows, which touch the lines of `shared` and of one of `stacks`.

    `shared` has alternative bounds for each array, summed over all windows; `stacks` are groups of local arrays
    that may overlap other groups, so that only one counts. `trips` is the number of iterations that groups divide
    (None: no groups), `part` the range of FROM and TO.
    """

    name: str
    count: Poly
    shared: tuple[Alternatives, ...]
    stacks: tuple[tuple[Alternatives, ...], ...]
    trips: Poly | None = None
    part: tuple[Poly, Poly] | None = None
    beside: int = 0

    @property
    def single_iteration_groups(self) -> dict[str, Poly]:
        """Values of the symbols that make each iteration a window, over the whole outermost loop."""
        values = {GROUP: ONE} if self.trips is not None else {}
        if self.part is not None:
            values |= {FROM: self.part[0].substitute(values), TO: self.part[1].substitute(values)}
        return values

    @property
    def lower_bound(self) -> Poly:
        """A lower bound on io in sizes, Z and L; windows that do not exist count 0 lines."""
        lines = sum((bounds[0] for bounds in self.shared), ZERO)
        if self.stacks:
            lines = lines + sum((bounds[0] for bounds in self.stacks[0]), ZERO)
        return (lines - LINES * a.positive_part(self.count - 1)).substitute(self.single_iteration_groups)


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
    """Build the windows of a program, with the bounds that are best at some point."""
    return _WindowTreeBuilder(facts, points[::POINT_STEP], list(iter_accesses(nodes)), writes).build(nodes)


@record(eq=False)
class _WindowTreeBuilder:
    facts: Facts = field(repr=False)
    points: Sequence[Mapping[str, int]]
    every: Sequence[Accessed] = ()
    writes: bool = False
    _trees: dict[Shape, WindowTree] = field(default_factory=dict, repr=False)

    def build(self, nodes: tuple[Node, ...]) -> WindowTree:
        certain = certain_accesses(pair for pair in self.every if pair[0].written or not self.writes)
        whole = self._build_family(_WindowKind("the run", (), (), 0), certain, False)
        return WindowTree(() if whole is None else (whole,), self._build_branches(nodes, (), certain))

    def _build_branches(
        self, nodes: tuple[Node, ...], chain: Chain, found: list[CertainAccess]
    ) -> tuple[WindowTree, ...]:
        loops = [node for node in nodes if isinstance(node, Loop)]
        branches = []
        for loop in loops:
            inside = (*chain, loop)
            accesses = [spot for spot in found if len(spot.chain) >= len(inside) and spot.chain[len(chain)] is loop]
            if accesses:
                branches.append(self._build_tree(inside, accesses, len(nodes) > 1))
        return tuple(branches)

    def _build_tree(self, chain: Chain, found: list[CertainAccess], siblings: bool) -> WindowTree:
        """Build the windows of the last loop and those in it, once for equal calls in sequence."""
        *around, loop = chain
        shape = (siblings, *nest_shape(loop, tuple(around), self.facts)) if siblings else (loop,)
        if shape not in self._trees:
            families = tuple(self._loop_families(chain, found, siblings))
            self._trees[shape] = WindowTree(families, self._build_branches(loop.body, chain, found))
        return self._trees[shape]

    def _loop_families(self, chain: Chain, accesses: list[CertainAccess], siblings: bool) -> Iterator[WindowFamily]:
        """Yield groups of iterations, single iterations, and whole executions, if these differ."""
        *around, loop = chain
        outside = tuple(WindowLoop(outer_loop.variable, outer_loop.lo, outer_loop.hi) for outer_loop in around)
        steady = not (loop.lo.names | loop.hi.names) & {outer_loop.variable for outer_loop in around}
        uneven = _varies_between_iterations(loop, accesses, len(chain))
        turn, depth, name = WindowLoop(loop.variable, loop.lo, loop.hi), len(chain), loop.variable
        kinds = []
        if steady:
            number, size = Poly.symbol(f"{name} groups"), Poly.symbol(GROUP)
            first = loop.lo + number * size
            groups = WindowLoop(f"{name} groups", ZERO, a.floor_div(loop.hi - loop.lo, size))
            inner = WindowLoop(name, first, first + size, (loop.lo, loop.hi))
            label, length = f"groups of iterations of {loop.name}", loop.hi - loop.lo
            kinds.append(_WindowKind(label, (*outside, groups), (inner,), depth, length, uneven))
        if uneven or not steady:
            kinds.append(_WindowKind(f"each iteration of {loop.name}", (*outside, turn), (), depth, None, uneven))
        if siblings and not steady:
            kinds.append(_WindowKind(f"each run of {loop.name}", outside, (turn,), depth, None, False))
        for kind in kinds if not is_out_of_time() else ():
            cut = kind.uneven if not outside else _varies_between_iterations(chain[0], accesses, 1)
            family = self._build_family(kind, accesses, cut)
            if family is not None:
                yield family
        if not is_out_of_time():
            yield from self._alternating_families(chain, WindowSet(self.facts, (*outside, turn), (), depth))

    def _alternating_families(self, chain: Chain, windows: WindowSet) -> Iterator[WindowFamily]:
        """Yield windows of k - 1 accesses to k rows in turn, in each execution of the loop."""
        accesses = sorted(self.every, key=lambda pair: not pair[0].written)
        rows = distinct_row_accesses(accesses, chain, windows.loop_facts(windows.outer))
        counted = sum(access.written or not self.writes for access in rows)
        if len(rows) < 2 or not counted:
            return
        somewhere = CertainAccess(rows[0].array, (None,) * len(rows[0].place), chain, ())
        turns = [value for part in FootprintLowerBound(somewhere, windows).parts for value in part.lines]
        for iterations in SampledAmounts(self.facts, self.points, {}).best(turns)[:1]:
            with suppress(UnresolvedError, TooComplexError):
                # Before the first window of a run any line was accessed, and the last window has fewer accesses.
                runs = self._count_windows(replace(windows, outer=windows.outer[:-1]))
                count = (len(rows) * iterations + (len(rows) - 2) * runs).scaled(Fraction(1, len(rows) - 1))
                lines, count = self.facts.restore(counted * iterations - runs), self.facts.restore(count)
                yield WindowFamily(f"accesses of {chain[-1].name} in turn", count, ((lines,),), (), beside=1)

    def _build_family(self, kind: _WindowKind, found: list[CertainAccess], cut: bool) -> WindowFamily | None:
        windows, part = self._window_set(kind, cut)
        try:
            count = self._count_windows(windows)
        except (UnresolvedError, TooComplexError):
            return None
        sampled = SampledAmounts(
            self.facts, self.points, WindowFamily(kind.name, count, (), (), kind.trips, part).single_iteration_groups
        )
        amounts: dict[Array, Alternatives] = {}
        for array in dict.fromkeys(spot.array for spot in found):
            parts = [part for spot in found if spot.array is array for part in FootprintLowerBound(spot, windows).parts]
            # Regions without conditions count at all sizes, even if others are larger at most sizes.
            always = [part for part in parts if not part.seen.needs]
            best = tuple(dict.fromkeys((*_best_bounds(parts, sampled), *_best_bounds(always, sampled)[:1])))
            if best:
                amounts[array] = tuple(self.facts.restore(bound) for bound in best)
        if not amounts:
            return None
        shared = tuple(bounds for array, bounds in amounts.items() if not array.local)
        stacks = tuple(_stacked_arrays(array, amounts) for array in amounts if array.local)
        restore = self.facts.restore
        return WindowFamily(
            kind.name,
            restore(count),
            shared,
            stacks,
            None if kind.trips is None else restore(kind.trips),
            None if part is None else (restore(part[0]), restore(part[1])),
        )

    def _window_set(self, kind: _WindowKind, cut: bool) -> tuple[WindowSet, tuple[Poly, Poly] | None]:
        """Return the windows, restricted to a part of the outermost loop if its iterations differ."""
        facts = self.facts
        if kind.trips is not None:
            facts = facts.with_symbol(GROUP, (ONE,), (kind.trips,))
        if not cut or not kind.outer:
            return WindowSet(facts, kind.outer, kind.first, kind.depth), None
        turn, *others = kind.outer
        facts = facts.with_symbol(FROM, (turn.lo,)).with_symbol(TO, (Poly.symbol(FROM),), (turn.hi,))
        some = WindowLoop(turn.variable, Poly.symbol(FROM), Poly.symbol(TO), (turn.lo, turn.hi))
        return WindowSet(facts, (some, *others), kind.first, kind.depth), (turn.lo, turn.hi)

    def _count_windows(self, windows: WindowSet) -> Poly:
        """Bound the number of windows from above. Raises UnresolvedError."""
        total = ONE
        facts_around = [windows.facts]
        for turn in windows.outer:
            facts_around.append(facts_around[-1].with_symbol(turn.variable, (turn.lo,), (turn.hi - 1,)))
        for turn, facts in zip(reversed(windows.outer), reversed(facts_around[:-1]), strict=True):
            try:
                total = sum_over(a.as_gaps(total), turn.variable, turn.lo, turn.hi, facts)
            except UnresolvedError as problem:
                bound = bounded_sum(a.as_gaps(total), turn.variable, turn.lo, turn.hi, facts, True)
                if bound is None or turn.variable in bound.names:
                    raise problem
                total = bound
        return total


def _best_bounds(parts: Sequence[CertainRegion], sampled: SampledAmounts) -> Alternatives:
    """Select the best bounds on the lines of all parts together."""
    best = sampled.best([bound for part in parts for bound in part.lines])
    return sampled.best([*best, *_joint_line_bounds(parts, sampled)]) if len(parts) > 1 else best


def _joint_line_bounds(parts: Sequence[CertainRegion], sampled: SampledAmounts) -> Iterator[Poly]:
    """Sum the lines of parts without a common row, and the words over L of parts without a common element."""
    rows = _disjoint_parts(parts, sampled, True)
    places = _disjoint_parts(parts, sampled, False)
    if len(rows) > 1:
        yield sum((sampled.best(part.lines)[0] for part in rows), ZERO)
    if len(places) > len(rows):
        words = [sampled.best(part.words)[:1] for part in places]
        yield sum((value for bounds in words for value in bounds), ZERO)


def _disjoint_parts(parts: Sequence[CertainRegion], sampled: SampledAmounts, rows: bool) -> list[CertainRegion]:
    """Select pairwise disjoint parts, by rows or by elements, preferring those with most lines."""
    most = {part: best[0] for part in parts if (best := sampled.best(part.lines))}
    order = sampled.best(list(most.values()), True)
    chosen: list[CertainRegion] = []
    for part in sorted(most, key=lambda one: order.index(most[one])):
        if all(part.apart_from(other, rows) for other in chosen):
            chosen.append(part)
    return chosen


@record(eq=False)
class _WindowKind:
    """The loops that separate windows, the loop that runs first in a window, and the depth of unchanged loops.

    If `uneven`, the iterations of the last outer loop differ.
    """

    name: str
    outer: tuple[WindowLoop, ...]
    first: tuple[WindowLoop, ...]
    depth: int
    trips: Poly | None = None
    uneven: bool = False


def _stacked_arrays(array: Array, amounts: Mapping[Array, Alternatives]) -> tuple[Alternatives, ...]:
    """A local array with those below it at fixed addresses, which share no line with it."""
    beneath = [local_array for local_array in array.beneath if local_array in amounts and not local_array.within]
    return tuple(amounts[member] for member in (array, *beneath))


def _varies_between_iterations(loop: Loop, found: Sequence[CertainAccess], depth: int) -> bool:
    """Test whether loops from a depth on vary between iterations, other than by tiles."""
    inner = {inner_loop: None for spot in found for inner_loop in spot.chain[depth:]}
    if any(loop.variable in need.names for spot in found for need in spot.when):
        return True
    return any(loop.variable in child.lo.names | child.hi.names and not _is_tiled_by(child, loop) for child in inner)


def _is_tiled_by(inner: Loop, loop: Loop) -> bool:
    """Test whether the iterations of a loop give an inner one consecutive ranges."""
    if loop.variable not in inner.lo.names & inner.hi.names:
        return False
    turn = WindowLoop(loop.variable, loop.lo, loop.hi)
    return union((inner.lo, inner.hi), turn, with_loop_bounds(turn, loop.facts, 2)) is not None


def segment_lower_bound(
    nodes: tuple[Node, ...], facts: Facts, points: Sequence[Mapping[str, int]], written: bool = False
) -> SegmentBound:
    """Derive the lower bound of a program; `points` are sizes at which alternatives are compared.

    With `written`, bounds write-backs: any replacement writes back at least as many lines as the writes alone
    would fetch. Seen backwards, a run fetches the lines that it writes back, and has them at each write; reads
    occupy the cache too.
    """
    counted = tuple(writes_only(nodes)) if written else nodes
    return SegmentBound(build_window_tree(nodes, facts, points, written), any_schedule_bound(counted, facts))


def compulsory_misses(
    found: Iterator[tuple[Access, Chain]], facts: Facts, points: Sequence[Mapping[str, int]]
) -> SegmentBound:
    """Bound the compulsory misses: the lines that the accesses are certain to touch each move at least once."""
    family = _WindowTreeBuilder(facts, points[::POINT_STEP])._build_family(
        _WindowKind("the run", (), (), 0), certain_accesses(found), False
    )
    return SegmentBound(WindowTree(() if family is None else (family,), ()), HblBound(()))


@record(eq=False)
class SegmentBound:
    """A lower bound on io under optimal replacement: windows of the written order, or any schedule.

    `run` has the windows of the written order; `orders` bounds every schedule of a loop body's iterations.
    """

    run: WindowTree
    orders: HblBound

    @cached_property
    def _evaluators(self) -> dict[WindowFamily, _WindowEvaluator]:
        return {family: _WindowEvaluator(family) for family in self.run.all_families()}

    def at(self, point: Mapping[str, int]) -> int:
        """Evaluate the bound at sizes, Z and L; Z >= L. Raises EvaluationError."""
        return max(self._written_order_misses(point), self.orders.at(point))

    @property
    def first_touch_bound(self) -> Poly:
        """The bound of the first windows: if the footprint of the run is known, its lines counted once."""
        return next((value for _, value in self.bounds_by_loop), ZERO)

    def _written_order_misses(self, point: Mapping[str, int]) -> int:
        capacity = point["Z"] // point["L"]
        best = {family: counter.best(point, capacity) for family, counter in self._evaluators.items()}
        every = _misses_of_tree(self.run, best)
        if every > 0:
            return ceil(every + capacity)
        return max(0, ceil(capacity + max((value for value in best.values() if value is not None), default=-capacity)))

    @property
    def bounds_by_loop(self) -> list[tuple[str, Poly]]:
        """The bounds of each kind of windows by itself."""
        return [(family.name, family.lower_bound) for family in self.run.all_families() if not family.beside]


def _misses_of_tree(branch: WindowTree, best: Mapping[WindowFamily, Number | None]) -> Number:
    """Sum the misses of windows that are not in cache, over consecutive loops."""
    own = max((found for family in branch.families if (found := best[family]) is not None), default=0)
    return max(0, own, sum(_misses_of_tree(inner, best) for inner in branch.branches))


class _WindowEvaluator:
    """Evaluates a family of windows at points."""

    def __init__(self, family: WindowFamily) -> None:
        amounts = [*family.shared, *(bounds for stack in family.stacks for bounds in stack)]
        ends = [value for value in (family.trips, *(family.part or ())) if value is not None]
        values = [family.count, *ends, *(value for bounds in amounts for value in bounds)]
        self._compiler = Compiler(sorted({GROUP, FROM, TO}.union(*(value.names for value in values))))
        of = self._compiler.of
        self._count, self._beside = of(family.count), family.beside
        self._trips = None if family.trips is None else of(family.trips)
        self._part = None if family.part is None else (of(family.part[0]), of(family.part[1]))
        self._shared = [[of(value) for value in bounds] for bounds in family.shared]
        self._stacks = [[[of(value) for value in bounds] for bounds in stack] for stack in family.stacks]

    def best(self, point: Mapping[str, int], capacity: int) -> Number | None:
        """Maximise the lines not in cache over group sizes and parts; None without windows."""
        trips = None if self._trips is None else int(self._trips(self._environment_at(point, 1, (0, 0))))
        tried = [
            (value, group, part)
            for group in ([1] if trips is None else _group_sizes(trips))
            for part in self._loop_parts(point, group)
            for value in self._window_misses(point, group, part, capacity)
        ]
        if not tried:
            return None
        value, group, part = max(tried)
        return value if self._part is None else self._hill_climb(value, point, group, part, capacity)

    def _environment_at(self, sizes: Mapping[str, int], group: int, part: Part) -> Environment:
        return self._compiler.at({**sizes, GROUP: group, FROM: part[0], TO: part[1]})

    def _loop_parts(self, sizes: Mapping[str, int], group: int) -> list[Part]:
        """The whole range of the outermost loop, and its halves."""
        if self._part is None:
            return [(0, 0)]
        environment = self._environment_at(sizes, group, (0, 0))
        first, last = (int(end(environment)) for end in self._part)
        middle = (first + last) // 2
        return [(first, last), (first, middle), (middle, last)]

    def _hill_climb(self, value: Number, sizes: Mapping[str, int], group: int, part: Part, capacity: int) -> Number:
        """Improve the bounds of a part by steps of decreasing size."""
        first, last = self._loop_parts(sizes, group)[0]
        step = max(1, (last - first) // 4)
        while step:
            x, y = part
            near = [(x + step, y), (x - step, y), (x, y - step), (x, y + step)]
            improved = [
                (result, neighbour)
                for neighbour in near
                if first <= neighbour[0] <= neighbour[1] <= last
                for result in self._window_misses(sizes, group, neighbour, capacity)
            ]
            if improved and max(improved)[0] > value:
                value, part = max(improved)
            else:
                step //= 2
        return value

    def _window_misses(self, sizes: Mapping[str, int], group: int, part: Part, capacity: int) -> Iterator[Number]:
        environment = self._environment_at(sizes, group, part)
        try:
            count = self._count(environment)
            if count < 1:
                return
            lines = sum(_largest_value(bounds, environment) for bounds in self._shared)
            lines += max(
                (sum(_largest_value(bounds, environment) for bounds in stack) for stack in self._stacks), default=0
            )
            yield lines - (capacity - self._beside) * count
        except EvaluationError:
            return


def _largest_value(values: list[Compute], environment: list[Number | None]) -> Number:
    return max(value(environment) for value in values)


def _group_sizes(trips: int) -> list[int]:
    """List group sizes: the trip count divided by numbers near powers of 2, and small sizes.

    For more than 2^128 iterations only small sizes and small divisors are tried, as large numbers are slow.
    """
    if not trips:
        return []
    shares, power = {1, 2, 3}, 4
    huge = bool(trips >> MAX_BITS)
    most = 1 << MAX_BITS // 2 if huge else trips
    while power < most:
        shares |= {power, power * 3 // 2}
        power *= 2
    small = shares if huge else {1}
    return sorted({*small, *(trips // share for share in shares if trips // share)})
