"""Bound the io of recursive algorithms from above at given sizes, by following their calls.

The rule of M. Frigo, C. E. Leiserson, H. Prokop, S. Ramachandran, Cache-Oblivious Algorithms (FOCS 1999): a
call whose arrays fit into the cache fetches at most their lines, any other call at most what its parts fetch, each
from an empty cache.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil

from archline.algebra.effort import OUT_OF_TIME, OutOfBudgetError, TooComplexError, is_out_of_time
from archline.algebra.evaluate.compiled import Compiler, Compute
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Poly
from archline.analysis.cache.footprint.references import build_references
from archline.analysis.cache.recursive.potential import NoPotentialError, Potential, PotentialSearch
from archline.analysis.cache.samples import choose_sample_points
from archline.analysis.cache.summaries.reach import ClosedBox, ReachedBoxes, count_box_lines, derive_reached_boxes
from archline.analysis.cache.upper.allocation import AllocationPlanner
from archline.analysis.cache.upper.evaluate import PlanUpperBound
from archline.analysis.cost import ReachedRegion
from archline.expr.intervals import EvaluationError, Number
from archline.ir.factored import UnboundedError
from archline.ir.layout import bound_box_lines_above, count_array_lines
from archline.ir.places import read_array_type
from archline.ir.recursive import (
    OneLevelLowering,
    RecursiveBody,
    contains_recursive_call,
    find_recursive_calls,
    has_contiguous_rows,
    is_line_aligned,
    lower_recursive_body,
)
from archline.ir.tree import Access, Array, Choice, ChoiceBranch, Loop, Node, RecursiveCall, iterate_accesses
from archline.language import syntax as s
from archline.language.model import Module
from archline.records import memoised, record

MAX_FOLLOWED_CALLS = 200_000
"""The maximum number of calls of different sizes that are followed."""
MAX_FOLLOWED_ITERATIONS = 20_000
"""The maximum number of iterations of a loop that are evaluated one by one."""
MAX_FITTING_CALLS = 200
"""The maximum number of calls by indices that are followed although they fit, to count fewer lines than their boxes."""
Point = Mapping[str, int]


@record(eq=False)
class StraightLinePart:
    """A part of a body without recursive calls, with the plans that bound its misses."""

    upper: PlanUpperBound
    planner: AllocationPlanner


@record(eq=False)
class CallPart:
    """A recursive call among the parts of a body."""

    call: RecursiveCall


@record(eq=False)
class LoopPart:
    """A loop with recursive calls; if `alike`, its parts do not depend on the loop variable."""

    loop: Loop
    parts: tuple[BodyPart, ...]
    alike: bool

    def combine_iterations(self, amounts: Iterable[int]) -> int:
        """Sum the amounts of iterations, or return their maximum if data selects a single iteration."""
        return max(amounts, default=0) if self.loop.trips == ONE else sum(amounts)


@record(eq=False)
class BranchPart:
    """Alternative branches in a body, each as a list of parts."""

    branches: tuple[tuple[ChoiceBranch, tuple[BodyPart, ...]], ...]


BodyPart = StraightLinePart | CallPart | LoopPart | BranchPart


def iterate_all_parts(parts: Iterable[BodyPart]) -> Iterator[BodyPart]:
    """Yield parts and, recursively, the parts in them."""
    for part in parts:
        yield part
        match part:
            case LoopPart(parts=inner):
                yield from iterate_all_parts(inner)
            case BranchPart(branches=branches):
                yield from iterate_all_parts(part for _, inner in branches for part in inner)
            case StraightLinePart() | CallPart():
                pass


@dataclass(eq=False)
class AnalysedBody:
    """The parts of an algorithm's body, the lines of its arguments (`given`) and of its local arrays (`made`).

    `moves` has for each argument how many times a fetched line is transferred: 2 if it may be written back.
    """

    body: RecursiveBody
    parts: tuple[BodyPart, ...]
    given: Poly
    made: Poly
    moves: Mapping[Array, int]

    @cached_property
    def boxes(self) -> dict[Array, ClosedBox]:
        """The boxes that accesses reach in array arguments, for recursions by indices."""
        return {} if self._reach is None else self._reach.boxes

    @cached_property
    def _reach(self) -> ReachedBoxes | None:
        return derive_reached_boxes(self.body)

    @cached_property
    def potential(self) -> Potential | None:
        """A potential for the calls of a recursion by indices; None if the search fails, and for other recursions."""
        if self._reach is None:
            return None
        try:
            return PotentialSearch(self._reach).potential
        except (NoPotentialError, EvaluationError, TooComplexError, OverflowError):
            return None

    def count_argument_lines(self, point: Point) -> tuple[int, int]:
        """Count the lines that a call can reach in its arguments, and these lines times their moves.

        Raises EvaluationError.
        """
        if not self.boxes and all(moves == 1 for moves in self.moves.values()):
            lines = self.evaluate_rounded_up(self.given, point)
            return lines, lines
        counts = [(self._count_array_lines(array, point), self.moves[array]) for array in self.body.given]
        return sum(lines for lines, _ in counts), sum(lines * moves for lines, moves in counts)

    def _count_array_lines(self, array: Array, point: Point) -> int:
        if array not in self.boxes:
            return self.evaluate_rounded_up(_bound_view_lines_above(array, self.body.scope.facts), point)
        box = [
            (self.evaluate_rounded_up(low, point), self.evaluate_rounded_up(high, point))
            for low, high in self.boxes[array]
        ]
        return count_box_lines(
            array, box, [self.evaluate_rounded_up(extent, point) for extent in array.extents], point["L"]
        )

    def evaluate_rounded_up(self, expression: Poly, point: Point) -> int:
        """Evaluate an expression of the body at a point, rounded up. Raises EvaluationError."""
        return ceil(self._evaluate_exactly(expression, point))

    def evaluate_call_size(self, name: str, expression: Poly, point: Point) -> int:
        """Evaluate a size of a call. Raises EvaluationError if it is not an integer, as a run stops there."""
        value = self._evaluate_exactly(expression, point)
        if value.denominator != 1:
            raise EvaluationError(f"`{name}` is {value} in a call")
        return int(value)

    @memoised
    def _compile_expression(self, expression: Poly) -> tuple[Compiler, Compute]:
        restored = self.body.scope.facts.restore(expression)
        compiler = Compiler(sorted(restored.names))
        return compiler, compiler.compile_expression(restored)

    def _evaluate_exactly(self, expression: Poly, point: Point) -> Number:
        compiler, compute = self._compile_expression(expression)
        return compute(compiler.make_environment_at(point))


@dataclass(eq=False)
class RecursiveMissBounds:
    """Upper bounds on the io of a recursive algorithm and its callees; with `traffic`, on the lines moved.

    Methods raise UntracedError if accesses cannot be followed, and UnboundedError if a part has no bound.
    """

    module: Module
    algorithm: s.Algorithm
    traffic: bool = False
    _solved: dict[s.Algorithm, AnalysedBody] = field(default_factory=dict)

    @cached_property
    def _bodies(self) -> dict[s.Algorithm, RecursiveBody]:
        """The body of each algorithm, lowered with the array parameters whose rows are aligned or strided.

        All arrays of the outermost call are aligned to lines; a parameter is not if some call passes an unaligned
        view.
        """
        alignments: dict[s.Algorithm, tuple[frozenset[str], frozenset[str]]] = {}
        bodies: dict[s.Algorithm, RecursiveBody] = {}
        pending = [(self.algorithm, _list_array_parameters(self.algorithm), frozenset[str]())]
        while pending:
            algorithm, aligned, strided = pending.pop()
            previous = alignments.get(algorithm)
            if previous is not None:
                aligned, strided = aligned & previous[0], strided | previous[1]
            if (aligned, strided) == previous:
                continue
            alignments[algorithm] = aligned, strided
            bodies[algorithm] = lower_recursive_body(self.module, algorithm, OneLevelLowering(aligned, strided))
            for call in find_recursive_calls(bodies[algorithm].nodes):
                aligned_views = frozenset(name for name, view in call.views.items() if is_line_aligned(view))
                strided_views = frozenset(name for name, view in call.views.items() if not has_contiguous_rows(view))
                pending.append((call.target, aligned_views - strided_views, strided_views))
        return bodies

    def body_of(self, algorithm: s.Algorithm) -> AnalysedBody:
        if algorithm not in self._solved:
            body = self._bodies[algorithm]
            facts = body.scope.facts
            parts = tuple(self._split_parts(body, body.nodes, facts))
            given = sum((_bound_view_lines_above(array, facts) for array in body.given), ZERO)
            made = sum((count_array_lines(array) for array in body.made), ZERO)
            constant = {parameter.name for parameter in algorithm.parameters if parameter.mode == "in"}
            moves = {array: self.moves_per_written_line if array.name not in constant else 1 for array in body.given}
            self._solved[algorithm] = AnalysedBody(body, parts, given, made, moves)
        return self._solved[algorithm]

    def list_reached_regions(self) -> tuple[ReachedRegion, ...]:
        """List the regions that calls by indices reach, with upper bounds on their io."""
        return tuple(
            ReachedRegion(
                algorithm.name,
                tuple((array.name, box) for array, box in solved.boxes.items()),
                None if solved.potential is None else solved.potential.most,
            )
            for algorithm, solved in self._solved.items()
            if solved.boxes
        )

    def prepare_bodies(self) -> None:
        """Analyse the bodies of the algorithm and of all its callees."""
        for algorithm in self._bodies:
            self.body_of(algorithm)

    @cached_property
    def has_local_arrays(self) -> bool:
        return any(self.body_of(body).made for body in self._bodies)

    @property
    def moves_per_written_line(self) -> int:
        """The number of transfers of a written line: 2 with traffic, else 1."""
        return 2 if self.traffic else 1

    def at(self, point: Point) -> int:
        """Bound the lines moved at sizes, Z and L. Raises EvaluationError; OutOfBudgetError after the time limit."""
        solved, evaluation = self.body_of(self.algorithm), _MissEvaluator(self, point["Z"], point["L"])
        try:
            most = evaluation.bound_call_misses_above(solved, point)
            # Arrays of the outermost call are aligned to lines, even if those of other calls are not.
            lines = {array: solved.evaluate_rounded_up(count_array_lines(array), point) for array in solved.body.given}
            local = evaluation.count_stack_lines(solved, evaluation.add_cache_parameters(point))
        except RecursionError:
            raise EvaluationError("the calls of the recursion are nested too deeply to follow") from None
        moved = sum(count * solved.moves[array] for array, count in lines.items()) + local * self.moves_per_written_line
        return min(most, moved) if sum(lines.values()) + local <= evaluation.capacity else most

    def _split_parts(self, body: RecursiveBody, nodes: Iterable[Node], facts: Facts) -> Iterator[BodyPart]:
        straight_line: list[Node] = []
        for node in nodes:
            if isinstance(node, Choice) or contains_recursive_call(node):
                yield from self._build_straight_line_part(body, straight_line, facts)
                straight_line = []
                yield self._build_part(body, node, facts)
            else:
                straight_line.append(node)
        yield from self._build_straight_line_part(body, straight_line, facts)

    def _build_part(self, body: RecursiveBody, node: Node, facts: Facts) -> BodyPart:
        match node:
            case RecursiveCall():
                return CallPart(node)
            case Loop():
                parts = tuple(self._split_parts(body, node.body, node.inside))
                return LoopPart(node, parts, node.variable not in _collect_mentioned_names(parts, body.scope.facts))
            case Choice(branches=branches):
                return BranchPart(
                    tuple((branch, tuple(self._split_parts(body, branch.body, facts))) for branch in branches)
                )
            case Access():
                raise AssertionError("an access is not a part by itself")

    def _build_straight_line_part(
        self, body: RecursiveBody, nodes: Sequence[Node], facts: Facts
    ) -> Iterator[StraightLinePart]:
        references = build_references(iterate_accesses(tuple(nodes)), facts, self.traffic)
        if not references:
            return
        planner = AllocationPlanner(references, facts, choose_sample_points(body.algorithm, body.scope))
        plans = planner.derive_plans()
        if not plans:
            raise UnboundedError
        yield StraightLinePart(PlanUpperBound(plans, facts), planner)


@dataclass(eq=False)
class _MissEvaluator:
    """Evaluates upper bounds on the misses of calls, for a cache of `words` words in lines of `line` words."""

    recursions: RecursiveMissBounds
    words: int
    line: int
    _uppers: dict[tuple[AnalysedBody, tuple[tuple[str, int], ...]], int] = field(default_factory=dict)
    _made: dict[tuple[AnalysedBody, tuple[tuple[str, int], ...]], int] = field(default_factory=dict)
    _straight: dict[tuple[PlanUpperBound, int, tuple[int | None, ...]], int] = field(default_factory=dict)
    _spare: int = MAX_FITTING_CALLS

    @cached_property
    def capacity(self) -> int:
        """The number of lines of the cache."""
        return self.words // self.line

    def add_cache_parameters(self, sizes: Point) -> dict[str, int]:
        """Add the values of Z and L to sizes."""
        return {**sizes, "Z": self.words, "L": self.line}

    def bound_call_misses_above(self, solved: AnalysedBody, point: Point) -> int:
        """Bound the lines that a call moves, from an empty cache."""
        point = self.add_cache_parameters(point)
        key = solved, tuple(sorted(point.items()))
        if key not in self._uppers:
            if len(self._uppers) > MAX_FOLLOWED_CALLS:
                raise EvaluationError("the recursion has too many calls of different sizes to follow")
            if is_out_of_time():
                raise OutOfBudgetError(OUT_OF_TIME)
            local, (given, moved) = self.count_stack_lines(solved, point), solved.count_argument_lines(point)
            fits = given + local <= self.capacity
            touched = moved + local * self.recursions.moves_per_written_line
            # Calls by indices all differ: too many that fit would be followed.
            by_indices = fits and bool(solved.boxes)
            self._spare -= by_indices
            is_cut_off = by_indices and self._spare < 0
            total = touched if is_cut_off else self._bound_sequence_misses_above(solved, solved.parts, point)
            self._uppers[key] = min(total, touched) if fits else total
        return self._uppers[key]

    def _bound_sequence_misses_above(
        self, solved: AnalysedBody, parts: tuple[BodyPart, ...], point: Point, _: bool = False
    ) -> int:
        return self._pin_stack_lines(solved, parts, point, self._sum_misses(solved, parts, point))

    def _pin_stack_lines(self, solved: AnalysedBody, parts: tuple[BodyPart, ...], point: Point, most: int) -> int:
        """Lower the bound `most` by pinning the stack lines that all calls in the parts use for local arrays.

        Applies if all calls fit together with those lines and place their local arrays at the same address.
        """
        places = [index for index, part in enumerate(parts) if not isinstance(part, StraightLinePart)]
        if not places or not self.recursions.has_local_arrays:
            return most
        first, end = places[0], places[-1] + 1
        local = self._count_shared_stack_lines(solved, parts[first:end], point)
        if not local or local >= self.capacity:
            return most
        try:
            inside = {**point, "Z": (self.capacity - local) * self.line}
            with_stack = self._sum_misses(solved, parts[first:end], inside, stack=True)
        except EvaluationError:
            return most
        return min(
            most,
            local * self.recursions.moves_per_written_line
            + with_stack
            + self._sum_misses(solved, (*parts[:first], *parts[end:]), point),
        )

    def _count_shared_stack_lines(self, solved: AnalysedBody, parts: tuple[BodyPart, ...], point: Point) -> int | None:
        """Return the maximum stack lines of the calls; None unless all stacks begin at the same line."""
        most, bases = 0, set[int]()
        for call, sizes in self._iterate_calls(solved, parts, point):
            if call.base is None:
                return None
            bases.add(solved.evaluate_rounded_up(call.base, sizes))
            most = max(most, self.count_stack_lines(*self._resolve_call(solved, call, sizes)))
        return most if len(bases) == 1 else None

    def count_stack_lines(self, solved: AnalysedBody, point: Point) -> int:
        """Count the stack lines of a call and its callees; one callee is active at a time.

        Local arrays of a callee lie above those made before it.
        """
        if not self.recursions.has_local_arrays:
            return 0
        key = solved, tuple(sorted(point.items()))
        if key not in self._made:
            own_lines = solved.evaluate_rounded_up(solved.made, point)
            ends = [own_lines]
            for call, sizes in self._iterate_calls(solved, solved.parts, point):
                below = own_lines if call.base is None else solved.evaluate_rounded_up(call.base, sizes)
                ends.append(below + self.count_stack_lines(*self._resolve_call(solved, call, sizes)))
            self._made[key] = max(ends)
        return self._made[key]

    def _sum_misses(self, solved: AnalysedBody, parts: Iterable[BodyPart], point: Point, stack: bool = False) -> int:
        """Sum the misses of parts, each from an empty cache; with `stack`, the stack is held in addition to Z words.

        With `stack`, raises EvaluationError if the arrays of a call do not fit, or no bound is known for so small a
        cache.
        """
        return sum(self._bound_part_misses_above(solved, part, point, stack) for part in parts)

    def _bound_part_misses_above(self, solved: AnalysedBody, part: BodyPart, point: Point, stack: bool) -> int:
        match part:
            case StraightLinePart(upper=upper):
                key = upper, point["Z"], tuple(map(point.get, upper.names))
                if key not in self._straight:
                    self._straight[key] = upper.at(point)
                return self._straight[key]
            case CallPart(call=call):
                target, sizes = self._resolve_call(solved, call, point)
                if not stack:
                    return self.bound_call_misses_above(target, sizes)
                given, moved = target.count_argument_lines(sizes)
                if given > point["Z"] // self.line:
                    raise EvaluationError("the arrays of a call and the stack do not fit together")
                return moved
            case LoopPart(parts=inner):
                iterations = self._iterate_loop(solved, part, point)
                most = part.combine_iterations(
                    times * self._sum_misses(solved, inner, inside, stack) for inside, times in iterations
                )
                return most if stack else self._pin_stack_lines(solved, (part,), point, most)
            case BranchPart(branches=branches):
                measure = self._sum_misses if stack else self._bound_sequence_misses_above
                taken = self._iterate_possible_branches(solved, branches, point)
                return max((measure(solved, inner, point, stack) for inner in taken), default=0)

    def _iterate_possible_branches(
        self, solved: AnalysedBody, branches: Sequence[tuple[ChoiceBranch, tuple[BodyPart, ...]]], point: Point
    ) -> Iterator[tuple[BodyPart, ...]]:
        for branch, parts in branches:
            holds = solved.evaluate_rounded_up(branch.possible, point)
            if holds:
                yield parts
            if holds and branch.taken is not None:
                return

    def _iterate_loop(self, solved: AnalysedBody, part: LoopPart, point: Point) -> Iterator[tuple[Point, int]]:
        """Yield points of a loop's iterations with their multiplicities; one point if all iterations are alike."""
        loop = part.loop
        first, end = solved.evaluate_rounded_up(loop.lo, point), solved.evaluate_rounded_up(loop.hi, point)
        if part.alike and end > first:
            yield {**point, loop.variable: first}, 1 if loop.trips == ONE else end - first
            return
        if end - first > MAX_FOLLOWED_ITERATIONS:
            raise EvaluationError("a loop around recursive calls has too many iterations to follow")
        for number in range(first, end):
            yield {**point, loop.variable: number}, 1

    def _resolve_call(self, solved: AnalysedBody, call: RecursiveCall, point: Point) -> tuple[AnalysedBody, Point]:
        """Return the body of the called algorithm, and the sizes of the call with Z and L."""
        sizes = {name: solved.evaluate_call_size(name, value, point) for name, value in call.sizes.items()}
        return self.recursions.body_of(call.target), self.add_cache_parameters(sizes)

    def _iterate_calls(
        self, solved: AnalysedBody, parts: Iterable[BodyPart], point: Point
    ) -> Iterator[tuple[RecursiveCall, Point]]:
        """Yield the calls of a body, with the points at which they are made."""
        for part in parts:
            match part:
                case CallPart(call=call):
                    yield call, point
                case LoopPart(parts=inner):
                    for inside, _ in self._iterate_loop(solved, part, point):
                        yield from self._iterate_calls(solved, inner, inside)
                case BranchPart(branches=branches):
                    for branch in self._iterate_possible_branches(solved, branches, point):
                        yield from self._iterate_calls(solved, branch, point)
                case StraightLinePart():
                    pass


def _collect_mentioned_names(parts: Iterable[BodyPart], facts: Facts) -> frozenset[str]:
    result: set[str] = set()
    for part in iterate_all_parts(parts):
        values: list[Poly] = []
        match part:
            case StraightLinePart(upper=upper):
                result |= set(upper.names)
            case CallPart(call=call):
                values = [*call.sizes.values(), ZERO if call.base is None else call.base]
            case LoopPart(loop=loop):
                values = [loop.lo, loop.hi]
            case BranchPart(branches=branches):
                for branch, _ in branches:
                    values += [branch.possible, ZERO if branch.taken is None else branch.taken]
        result |= {name for value in values for name in facts.restore(value).names}
    return frozenset(result)


def _bound_view_lines_above(array: Array, facts: Facts) -> Poly:
    """Bound the lines of an array that may be a part of another array."""
    if array.layout == "zmorton":
        rows, columns = array.extents
        return rows * columns
    return bound_box_lines_above(array, [(ZERO, extent - 1) for extent in array.extents], facts).value


def _list_array_parameters(algorithm: s.Algorithm) -> frozenset[str]:
    return frozenset(
        parameter.name for parameter in algorithm.parameters if read_array_type(parameter.type)[0] is not None
    )
