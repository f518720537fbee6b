"""io of the written order from below: the run is cut into windows, and each fetches the lines that it does not find.

A window that touches D lines finds at most C of them in a cache of C lines. Windows that follow each other thus fetch
at least the sum of D - C, and C more, as the first one finds only what has been fetched before it. Windows are groups
of g iterations of a loop, in part of the iterations of the outermost loop; any g and any part give a bound. (Cf. the
segments of Hong and Kung, I/O complexity: the red-blue pebble game, STOC 1981.)

Lines that the iterations of a loop access in turn, k of them that are never the same, make windows of k - 1 accesses:
the line that was accessed last is in the cache, and is none of the next k - 1, so that these find C - 1 lines at most.
An iteration by itself finds C of its k lines, which bounds io k/(k - 1) times less: of one line in the cache, and two
arrays that are accessed in turn, it leaves half of all accesses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import cached_property
from math import ceil

from archline.algebra import atoms as a
from archline.algebra.effort import TooComplexError, late
from archline.algebra.evaluate.compiled import Compiler, Compute, Environment, Number
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
    is_known,
    union,
    with_loop_bounds,
)
from archline.analysis.cache.lower.hbl import HblBound, any_order
from archline.analysis.cache.samples import SampledAmounts
from archline.expr.intervals import EvaluationError
from archline.ir.layout import LINE, WORDS
from archline.ir.shape import Shape, of_nest
from archline.ir.tree import Access, Array, Chain, Loop, Node, contiguous_dimension, iter_accesses, writes_only
from archline.records import field, record, replace


def in_turn(found: Iterable[tuple[Access, Chain]], chain: Chain, facts: Facts) -> list[Access]:
    """Accesses of each iteration of the last loop: to other arrays, and to other rows as long as the loop runs.

    `facts` hold in each iteration.
    """
    chosen: list[Access] = []
    for access, around in found:
        always = around == chain and access.certain and not access.when and access.array.aligned
        if always and all(_never_same(access, each, chain[-1], facts) for each in chosen):
            chosen.append(access)
    return chosen


def _never_same(one: Access, other: Access, loop: Loop, facts: Facts) -> bool:
    array = one.array
    if array is not other.array:
        # Local arrays may lie in the same place, one after the other.
        return not (array.local and other.array.local)
    if array.layout == "zmorton" or array.within:
        return False
    for dimension, (first, second) in enumerate(zip(one.place, other.place, strict=True)):
        if first is None or second is None or dimension == contiguous_dimension(array):
            continue
        # Where one of the two stays as it is, what holds in each iteration holds of any two.
        if loop.variable in first.names & second.names or not is_known(first - second):
            continue
        if facts.nonnegative(first - second - 1) or facts.nonnegative(second - first - 1):
            return True
    return False


GROUP, FROM, TO = "group ", "from ", "to "
"""Symbols that no program has: iterations in a group, and the part of the outermost loop that counts."""
APART = 4
"""Every so many of the points will do to compare bounds: from small sizes and long lines to large and short ones."""
MAX_BITS = 128
"""Of longer numbers of iterations fewer groups are tried."""
LINES = a.floor_div(WORDS, LINE)
Accessed = tuple[Access, Chain]
Part = tuple[int, int]
"""From which iteration of the outermost loop, and up to which."""
Alternatives = tuple[Poly, ...]
"""Each is a lower bound of one amount."""


@record(eq=False)
class WindowFamily:
    """Windows of one kind: at most `count` of them touch, added up over all, the lines of `shared` and of `stacks`.

    `shared` has an amount for each array; of `stacks`, the amounts of local arrays that lie on each other, only one
    counts. `trips` is the number of iterations that groups divide (None: no groups), `part` the range of FROM and TO.
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
        """Each iteration a window, and all of them."""
        found = {GROUP: ONE} if self.trips is not None else {}
        if self.part is not None:
            found |= {FROM: self.part[0].substitute(found), TO: self.part[1].substitute(found)}
        return found

    @property
    def lower_bound(self) -> Poly:
        """A lower bound on io in sizes, Z and L: where there is no window it is that of no lines."""
        lines = sum((each[0] for each in self.shared), ZERO)
        if self.stacks:
            lines = lines + sum((each[0] for each in self.stacks[0]), ZERO)
        return (lines - LINES * a.positive_part(self.count - 1)).substitute(self.single_iteration_groups)


@record(eq=False)
class WindowTree:
    """A loop, or the whole run: the windows in it, and the loops inside, one behind the other."""

    families: tuple[WindowFamily, ...]
    branches: tuple[WindowTree, ...]

    def all_families(self) -> Iterator[WindowFamily]:
        """Its windows and those of the loops inside."""
        yield from self.families
        for branch in self.branches:
            yield from branch.all_families()


def windows_of(nodes: tuple[Node, ...], facts: Facts, points: Sequence[Mapping[str, int]], writes: bool) -> WindowTree:
    """The windows of a program; of alternatives those stay that are best at some point."""
    return _WindowTreeBuilder(facts, points[::APART], list(iter_accesses(nodes)), writes).build(nodes)


@record(eq=False)
class _WindowTreeBuilder:
    facts: Facts = field(repr=False)
    points: Sequence[Mapping[str, int]]
    every: Sequence[Accessed] = ()
    writes: bool = False
    _trees: dict[Shape, WindowTree] = field(default_factory=dict, repr=False)

    def build(self, nodes: tuple[Node, ...]) -> WindowTree:
        found = certain_accesses(each for each in self.every if each[0].written or not self.writes)
        whole = self._family(_WindowKind("the run", (), (), 0), found, False)
        return WindowTree(() if whole is None else (whole,), self._branches(nodes, (), found))

    def _branches(self, nodes: tuple[Node, ...], chain: Chain, found: list[CertainAccess]) -> tuple[WindowTree, ...]:
        loops = [node for node in nodes if isinstance(node, Loop)]
        branches = []
        for loop in loops:
            inside = (*chain, loop)
            own = [spot for spot in found if len(spot.chain) >= len(inside) and spot.chain[len(chain)] is loop]
            if own:
                branches.append(self._tree(inside, own, len(nodes) > 1))
        return tuple(branches)

    def _tree(self, chain: Chain, found: list[CertainAccess], siblings: bool) -> WindowTree:
        """The windows of the last loop and those in it; equal calls one behind the other have the same."""
        *around, loop = chain
        shape = (siblings, *of_nest(loop, tuple(around), self.facts)) if siblings else (loop,)
        if shape not in self._trees:
            families = tuple(self._of_loop(chain, found, siblings))
            self._trees[shape] = WindowTree(families, self._branches(loop.body, chain, found))
        return self._trees[shape]

    def _of_loop(self, chain: Chain, found: list[CertainAccess], siblings: bool) -> Iterator[WindowFamily]:
        """Groups of iterations, single ones, and whole executions, as far as these differ."""
        *around, loop = chain
        outside = tuple(WindowLoop(each.variable, each.lo, each.hi) for each in around)
        steady = not (loop.lo.names | loop.hi.names) & {each.variable for each in around}
        uneven = _varies_between_iterations(loop, found, len(chain))
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
        for kind in kinds if not late() else ():
            cut = kind.uneven if not outside else _varies_between_iterations(chain[0], found, 1)
            family = self._family(kind, found, cut)
            if family is not None:
                yield family
        if not late():
            yield from self._in_turn(chain, WindowSet(self.facts, (*outside, turn), (), depth))

    def _in_turn(self, chain: Chain, windows: WindowSet) -> Iterator[WindowFamily]:
        """Windows of k - 1 accesses to k rows in turn, in each run of the loop."""
        found = sorted(self.every, key=lambda each: not each[0].written)
        rows = in_turn(found, chain, windows.loop_facts(windows.outer))
        counted = sum(access.written or not self.writes for access in rows)
        if len(rows) < 2 or not counted:
            return
        somewhere = CertainAccess(rows[0].array, (None,) * len(rows[0].place), chain, ())
        turns = [value for part in FootprintLowerBound(somewhere, windows).parts for value in part.lines]
        for each in SampledAmounts(self.facts, self.points, {}).best(turns)[:1]:
            with suppress(UnresolvedError, TooComplexError):
                # Before the first window of a run any line was accessed, and the last window has fewer accesses.
                runs = self._count(replace(windows, outer=windows.outer[:-1]))
                count = (len(rows) * each + (len(rows) - 2) * runs).scaled(Fraction(1, len(rows) - 1))
                lines, count = self.facts.restore(counted * each - runs), self.facts.restore(count)
                yield WindowFamily(f"accesses of {chain[-1].name} in turn", count, ((lines,),), (), beside=1)

    def _family(self, kind: _WindowKind, found: list[CertainAccess], cut: bool) -> WindowFamily | None:
        windows, part = self._windows(kind, cut)
        try:
            count = self._count(windows)
        except (UnresolvedError, TooComplexError):
            return None
        sampled = SampledAmounts(
            self.facts, self.points, WindowFamily(kind.name, count, (), (), kind.trips, part).single_iteration_groups
        )
        amounts: dict[Array, Alternatives] = {}
        for array in dict.fromkeys(spot.array for spot in found):
            parts = [part for spot in found if spot.array is array for part in FootprintLowerBound(spot, windows).parts]
            # What is touched at all sizes may be less than what is at most of them.
            always = [part for part in parts if not part.seen.needs]
            best = tuple(dict.fromkeys((*_most_of(parts, sampled), *_most_of(always, sampled)[:1])))
            if best:
                amounts[array] = tuple(self.facts.restore(each) for each in best)
        if not amounts:
            return None
        shared = tuple(each for array, each in amounts.items() if not array.local)
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

    def _windows(self, kind: _WindowKind, cut: bool) -> tuple[WindowSet, tuple[Poly, Poly] | None]:
        """The windows, those of a part of the outermost loop where they are not all alike."""
        facts = self.facts
        if kind.trips is not None:
            facts = facts.with_symbol(GROUP, (ONE,), (kind.trips,))
        if not cut or not kind.outer:
            return WindowSet(facts, kind.outer, kind.first, kind.depth), None
        turn, *others = kind.outer
        facts = facts.with_symbol(FROM, (turn.lo,)).with_symbol(TO, (Poly.symbol(FROM),), (turn.hi,))
        some = WindowLoop(turn.variable, Poly.symbol(FROM), Poly.symbol(TO), (turn.lo, turn.hi))
        return WindowSet(facts, (some, *others), kind.first, kind.depth), (turn.lo, turn.hi)

    def _count(self, windows: WindowSet) -> Poly:
        """At most so many windows."""
        total = ONE
        known = [windows.facts]
        for turn in windows.outer:
            known.append(known[-1].with_symbol(turn.variable, (turn.lo,), (turn.hi - 1,)))
        for turn, facts in zip(reversed(windows.outer), reversed(known[:-1]), strict=True):
            try:
                total = sum_over(a.as_gaps(total), turn.variable, turn.lo, turn.hi, facts)
            except UnresolvedError as problem:
                found = bounded_sum(a.as_gaps(total), turn.variable, turn.lo, turn.hi, facts, True)
                if found is None or turn.variable in found.names:
                    raise problem
                total = found
        return total


def _most_of(parts: Sequence[CertainRegion], sampled: SampledAmounts) -> Alternatives:
    """The best bounds on what is touched in all of the parts."""
    best = sampled.best([each for part in parts for each in part.lines])
    return sampled.best([*best, *_joint_line_bounds(parts, sampled)]) if len(parts) > 1 else best


def _joint_line_bounds(parts: Sequence[CertainRegion], sampled: SampledAmounts) -> Iterator[Poly]:
    """The lines of parts that share no row, and the words over L of those that share no place."""
    rows = _disjoint_parts(parts, sampled, True)
    places = _disjoint_parts(parts, sampled, False)
    if len(rows) > 1:
        yield sum((sampled.best(each.lines)[0] for each in rows), ZERO)
    if len(places) > len(rows):
        words = [sampled.best(each.words)[:1] for each in places]
        yield sum((value for each in words for value in each), ZERO)


def _disjoint_parts(parts: Sequence[CertainRegion], sampled: SampledAmounts, rows: bool) -> list[CertainRegion]:
    """Parts that share no row, or no place: those with the most lines first."""
    most = {each: best[0] for each in parts if (best := sampled.best(each.lines))}
    order = sampled.best(list(most.values()), True)
    chosen: list[CertainRegion] = []
    for each in sorted(most, key=lambda one: order.index(most[one])):
        if all(each.apart_from(other, rows) for other in chosen):
            chosen.append(each)
    return chosen


@record(eq=False)
class _WindowKind:
    """The loops that separate windows, what runs first in a window, and the depth from which loops run as they are.

    Where `uneven`, the iterations of the last loop outside are not all alike.
    """

    name: str
    outer: tuple[WindowLoop, ...]
    first: tuple[WindowLoop, ...]
    depth: int
    trips: Poly | None = None
    uneven: bool = False


def _stacked_arrays(array: Array, amounts: Mapping[Array, Alternatives]) -> tuple[Alternatives, ...]:
    """A local array with those beneath it that are always in the same place: they share no line."""
    beneath = [each for each in array.beneath if each in amounts and not each.within]
    return tuple(amounts[each] for each in (array, *beneath))


def _varies_between_iterations(loop: Loop, found: Sequence[CertainAccess], depth: int) -> bool:
    """Whether what the loops from a depth on do varies from iteration to iteration, other than from tile to tile."""
    inner = {each: None for spot in found for each in spot.chain[depth:]}
    if any(loop.variable in need.names for spot in found for need in spot.when):
        return True
    return any(loop.variable in each.lo.names | each.hi.names and not _is_tiled_by(each, loop) for each in inner)


def _is_tiled_by(inner: Loop, loop: Loop) -> bool:
    """Whether iterations of a loop give another one ranges that lie one behind the other."""
    if loop.variable not in inner.lo.names & inner.hi.names:
        return False
    turn = WindowLoop(loop.variable, loop.lo, loop.hi)
    return union((inner.lo, inner.hi), turn, with_loop_bounds(turn, loop.facts, 2)) is not None


def lower_bound(
    nodes: tuple[Node, ...], facts: Facts, points: Sequence[Mapping[str, int]], written: bool = False
) -> SegmentBound:
    """The lower bound of the accesses of a whole program; `points` are sizes at which alternatives are compared.

    With `written`, of its write-backs: any replacement writes back as many lines as the writes alone would fetch. Seen
    backwards, a run fetches the lines that it writes back, and has them at each write; the cache has what is read too.
    """
    counted = tuple(writes_only(nodes)) if written else nodes
    return SegmentBound(windows_of(nodes, facts, points, written), any_order(counted, facts))


def compulsory_misses(
    found: Iterator[tuple[Access, Chain]], facts: Facts, points: Sequence[Mapping[str, int]]
) -> SegmentBound:
    """The lines that some accesses of a program surely touch: each of them moves once at least."""
    family = _WindowTreeBuilder(facts, points[::APART])._family(
        _WindowKind("the run", (), (), 0), certain_accesses(found), False
    )
    return SegmentBound(WindowTree(() if family is None else (family,), ()), HblBound(()))


@record(eq=False)
class SegmentBound:
    """io >= `at(point)` under optimal replacement; `orders` bounds it for any order of the iterations of a loop body.

    `run` has the windows of the written serial order.
    """

    run: WindowTree
    orders: HblBound

    @cached_property
    def _counters(self) -> dict[WindowFamily, _WindowEvaluator]:
        return {family: _WindowEvaluator(family) for family in self.run.all_families()}

    def at(self, point: Mapping[str, int]) -> int:
        """The bound at sizes, Z and L; Z >= L. Raises EvaluationError."""
        return max(self._in_written_order(point), self.orders.at(point))

    @property
    def first_touch_bound(self) -> Poly:
        """The bound of the first windows: where it is known what the whole run touches, each line of that once."""
        return next((value for _, value in self.bounds_by_loop), ZERO)

    def _in_written_order(self, point: Mapping[str, int]) -> int:
        capacity = point["Z"] // point["L"]
        best = {family: counter.best(point, capacity) for family, counter in self._counters.items()}
        every = _misses_of_tree(self.run, best)
        if every > 0:
            return ceil(every + capacity)
        return max(0, ceil(capacity + max((each for each in best.values() if each is not None), default=-capacity)))

    @property
    def bounds_by_loop(self) -> list[tuple[str, Poly]]:
        """The bounds that windows of one kind give by themselves."""
        return [(family.name, family.lower_bound) for family in self.run.all_families() if not family.beside]


def _misses_of_tree(branch: WindowTree, best: Mapping[WindowFamily, Number | None]) -> Number:
    """What windows fetch that they do not find, those of loops one behind the other together."""
    own = max((found for family in branch.families if (found := best[family]) is not None), default=0)
    return max(0, own, sum(_misses_of_tree(each, best) for each in branch.branches))


class _WindowEvaluator:
    """A family of windows at points."""

    def __init__(self, family: WindowFamily) -> None:
        amounts = [*family.shared, *(each for stack in family.stacks for each in stack)]
        ends = [value for value in (family.trips, *(family.part or ())) if value is not None]
        values = [family.count, *ends, *(value for each in amounts for value in each)]
        self._compiler = Compiler(sorted({GROUP, FROM, TO}.union(*(value.names for value in values))))
        of = self._compiler.of
        self._count, self._beside = of(family.count), family.beside
        self._trips = None if family.trips is None else of(family.trips)
        self._part = None if family.part is None else (of(family.part[0]), of(family.part[1]))
        self._shared = [[of(value) for value in each] for each in family.shared]
        self._stacks = [[[of(value) for value in each] for each in stack] for stack in family.stacks]

    def best(self, point: Mapping[str, int], capacity: int) -> Number | None:
        """The most lines that windows do not find, over the groups and parts that are tried; None without windows."""
        trips = None if self._trips is None else int(self._trips(self._environment(point, 1, (0, 0))))
        tried = [
            (value, group, part)
            for group in ([1] if trips is None else _group_sizes(trips))
            for part in self._parts(point, group)
            for value in self._value(point, group, part, capacity)
        ]
        if not tried:
            return None
        value, group, part = max(tried)
        return value if self._part is None else self._hill_climb(value, point, group, part, capacity)

    def _environment(self, sizes: Mapping[str, int], group: int, part: Part) -> Environment:
        return self._compiler.at({**sizes, GROUP: group, FROM: part[0], TO: part[1]})

    def _parts(self, sizes: Mapping[str, int], group: int) -> list[Part]:
        """The whole of the outermost loop, and its halves."""
        if self._part is None:
            return [(0, 0)]
        environment = self._environment(sizes, group, (0, 0))
        first, last = (int(end(environment)) for end in self._part)
        middle = (first + last) // 2
        return [(first, last), (first, middle), (middle, last)]

    def _hill_climb(self, value: Number, sizes: Mapping[str, int], group: int, part: Part, capacity: int) -> Number:
        """The best that is found by moving the ends of a part by steps that get smaller and smaller."""
        first, last = self._parts(sizes, group)[0]
        step = max(1, (last - first) // 4)
        while step:
            x, y = part
            near = [(x + step, y), (x - step, y), (x, y - step), (x, y + step)]
            found = [
                (each, other)
                for other in near
                if first <= other[0] <= other[1] <= last
                for each in self._value(sizes, group, other, capacity)
            ]
            if found and max(found)[0] > value:
                value, part = max(found)
            else:
                step //= 2
        return value

    def _value(self, sizes: Mapping[str, int], group: int, part: Part, capacity: int) -> Iterator[Number]:
        environment = self._environment(sizes, group, part)
        try:
            count = self._count(environment)
            if count < 1:
                return
            lines = sum(_largest_value(each, environment) for each in self._shared)
            lines += max(
                (sum(_largest_value(each, environment) for each in stack) for stack in self._stacks), default=0
            )
            yield lines - (capacity - self._beside) * count
        except EvaluationError:
            return


def _largest_value(values: list[Compute], environment: list[Number | None]) -> Number:
    return max(value(environment) for value in values)


def _group_sizes(trips: int) -> list[int]:
    """Sizes of groups: a number of iterations divided by numbers near each power of 2, and small ones.

    Of more iterations than 2^128 the small groups and the small divisors are tried: each number takes long there.
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
