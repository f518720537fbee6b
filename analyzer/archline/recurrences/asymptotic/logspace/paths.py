"""Find all paths that the recursion can take, each with the region of root sizes that take it, and its cost.

The sizes move by the step of one case, or by steps of several cases in turn if guards hold them at a tie: if n is
halved where n >= m and m is halved otherwise, the sizes meet and then shrink together. The cases of such a tie are
found by simulating some steps near it; their exact shares then solve a linear system. The cost of a level is geometric
along a segment, so that its larger end dominates, or is constant and multiplied by the number of levels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from archline.algebra.reals import OutOfReachError
from archline.numbers import fmpq
from archline.records import memoised, record, replace
from archline.recurrences.asymptotic.logspace.compare import remove_covered, simplify_logarithms
from archline.recurrences.asymptotic.logspace.cones import (
    ONE,
    ZERO,
    LogMonomial,
    Number,
    RayCone,
    Vector,
    add_scaled,
    approximate,
    inner_product,
    make_logarithm_term,
    make_orthant,
    make_unit_vector,
    prove_sign,
    row_echelon_form,
    substitute_state,
)
from archline.recurrences.asymptotic.logspace.system import Alternatives, CaseRule, LogInequality, LogSystem

MAX_SIMULATED_STEPS = 240
_LOOKAHEAD_TIME = 2.3
_MAX_DEVIATION = 0.06
_TIE_TOLERANCE = 1e-7


class SplitError(Exception):
    """Raised if a region of root sizes must first be split by the sign of `form`, on which the path depends."""

    def __init__(self, form: Vector) -> None:
        super().__init__()
        self.form = form


@record
class Motion:
    """A straight movement of the sizes' logarithms, by cases that apply in turn, with their shares of the time.

    In a unit of time these fall by `direction`, and the logarithm of the number of nodes rises by `nodes`. A leaf
    has no shares. `watched` are the rows that decide that these cases apply; `first` is the case that applies first.
    """

    first: int
    cases: tuple[int, ...]
    shares: tuple[Number, ...]
    direction: Vector
    nodes: Number
    watched: tuple[LogInequality, ...]

    @property
    def is_leaf(self) -> bool:
        """Whether the recursion ends here."""
        return not self.shares


class RecursionState:
    """A state of the recursion from roots in a region; `state` has the sizes' logarithms as forms in the root's."""

    def __init__(self, rules: Sequence[CaseRule], region: RayCone, state: tuple[Vector, ...]) -> None:
        self._rules = rules
        self._region = region
        self._state = state
        self._floats: dict[LogInequality, tuple[float, ...]] = {}
        self._used: dict[LogInequality, None] = {}

    @memoised
    def compute_sign(self, row: LogInequality) -> int | None:
        """Return the sign of the row's form in this state, on the whole region; None if it has both signs."""
        return self._region.compute_sign(substitute_state(row.form, self._state))

    def derive_motion(self, before: Vector) -> Motion:
        """Return the motion from this state, which was reached in the direction `before`. Raises SplitError."""
        offset = [_LOOKAHEAD_TIME * approximate(x) for x in before]
        visits: list[tuple[int, tuple[LogInequality, ...]]] = []
        visited: dict[tuple[float, ...], int] = {}
        begin = MAX_SIMULATED_STEPS // 2
        for number in range(MAX_SIMULATED_STEPS):
            self._used = {}
            index = self._find_case(offset)
            step = self._rules[index].step
            if step is None:
                return Motion(index, (index,), (), (ZERO,) * len(before), ZERO, ())
            if number == 0 and all(self.compute_sign(row) for row in self._used):
                return self._make_single_motion(index)
            where = self._make_position_key(offset)
            if where in visited:
                begin = visited[where]
                break
            visited[where] = number
            visits.append((index, tuple(self._used)))
            offset = [x - d for x, d in zip(offset, step.log2_decreases, strict=True)]
        late = [index for index, _ in visits[begin:]]
        self._used = {row: None for _, used in visits[begin:] for row in used}
        cases = sorted(set(late))
        if len(cases) == 1:
            return self._make_single_motion(cases[0])
        return self._make_tied_motion(visits[0][0], cases, [late.count(case) for case in cases])

    def _make_position_key(self, offset: Sequence[float]) -> tuple[float, ...]:
        """Return the rounded position relative to the ties; steps that return to the same position form a cycle."""
        return tuple(
            round(sum(a * b for a, b in zip(form, offset, strict=True) if a), 6) for form in self._floats.values()
        )

    def _make_single_motion(self, index: int) -> Motion:
        step = self._rules[index].step
        assert step is not None
        return Motion(index, (index,), (ONE,), step.direction, step.nodes, tuple(self._used))

    def _find_case(self, offset: Sequence[float]) -> int:
        """Return the first case that applies at a small offset from this state. Raises OutOfReachError."""
        for index, rule in enumerate(self._rules):
            if self._evaluate_condition(rule.when, offset):
                return index
        raise OutOfReachError("no case covers some of the sizes")

    def _evaluate_condition(self, when: Alternatives, offset: Sequence[float]) -> bool:
        """Test whether a condition holds in this state, and record the rows that decide it; `offset`, a small shift of
        the logarithms, settles rows that are 0 here. Raises SplitError if rows change sign on the region.
        """
        witnesses = []
        undecided: list[LogInequality] = []
        for rows in when:
            truths = [self._evaluate_row(row, offset) for row in rows]
            if all(truths):
                self._used.update(dict.fromkeys(rows))
                return True
            failed = [row for row, truth in zip(rows, truths, strict=True) if truth is False]
            if failed:
                witnesses.append(self._find_most_violated(failed))
            else:
                undecided.extend(row for row, truth in zip(rows, truths, strict=True) if truth is None)
                break
        if undecided:
            raise SplitError(self._find_dividing_form(undecided))
        self._used.update(dict.fromkeys(witnesses))
        return False

    def _evaluate_row(self, row: LogInequality, offset: Sequence[float]) -> bool | None:
        sign = self.compute_sign(row)
        if sign:
            return sign > 0
        if sign is None:
            return None
        if row not in self._floats:
            self._floats[row] = tuple(approximate(x) for x in row.form)
        return (
            sum(a * b for a, b in zip(self._floats[row], offset, strict=True) if a) + row.constant_term
            >= -_TIE_TOLERANCE
        )

    def _find_most_violated(self, failed: list[LogInequality]) -> LogInequality:
        """Return the failed row that is farthest from holding, in floats; usually it is the last to change its sign."""
        if len(failed) == 1:
            return failed[0]
        inner = self._region.interior_point()
        return min(failed, key=lambda row: approximate(inner_product(substitute_state(row.form, self._state), inner)))

    def _find_dividing_form(self, rows: list[LogInequality]) -> Vector:
        """Return the form to split by: the smallest of the rows' forms, or a difference of two whose order varies."""
        first, *rest = [substitute_state(row.form, self._state) for row in rows]
        for form in rest:
            difference = add_scaled(first, form, fmpq(-1))
            order = self._region.compute_sign(difference)
            if order is None:
                return difference
            if order > 0:
                first = form
        return first

    def _make_tied_motion(self, first: int, cases: list[int], counts: list[int]) -> Motion:
        steps = [step for case in cases if (step := self._rules[case].step) is not None]
        weights = [count * step.length for count, step in zip(counts, steps, strict=True)]
        observed = [weight / sum(weights) for weight in weights]
        ties = [row for row in self._used if self.compute_sign(row) == 0]
        speeds = [[inner_product(row.form, step.direction) for step in steps] for row in ties]
        still_rows = [
            speed
            for speed in speeds
            if abs(sum(approximate(x) * share for x, share in zip(speed, observed, strict=True))) < _MAX_DEVIATION
        ]
        shares = _solve_shares(still_rows, len(cases))
        if any(abs(approximate(a) - b) > _MAX_DEVIATION for a, b in zip(shares, observed, strict=True)):
            raise OutOfReachError("a tie of guards at which the cases alternate in no fixed proportion")
        direction: Vector = (ZERO,) * len(self._state)
        nodes: Number = ZERO
        for share, step in zip(shares, steps, strict=True):
            direction = add_scaled(direction, step.direction, share)
            nodes = nodes + share * step.nodes
        return Motion(first, tuple(cases), shares, direction, nodes, tuple(self._used))


def _solve_shares(rows: list[list[Number]], count: int) -> tuple[Number, ...]:
    """Return the unique positive weights of sum 1 with rows*weights = 0. Raises OutOfReachError if there are none."""
    table: list[Vector] = [(*row, ZERO) for row in rows]
    echelon = row_echelon_form([*table, (ONE,) * (count + 1)])
    if len(echelon) != count or any(echelon[i][i] != 1 for i in range(count)):
        raise OutOfReachError("guards are equal along a path, and the order of the cases is ambiguous")
    shares = tuple(row[count] for row in echelon)
    if any(prove_sign(share) <= 0 for share in shares):
        raise OutOfReachError("a tie of guards at which the cases alternate in no fixed proportion")
    return shares


State = tuple[Vector, ...]
MAX_PATHS = 600
MAX_SEGMENTS = 40


@record
class PathSegment:
    """A part of a path: a motion for the time `length`, from sizes with logarithms `state` and exp(`nodes`) nodes."""

    motion: Motion
    state: State
    nodes: Vector
    length: Vector

    @property
    def end(self) -> State:
        """The state at the end of the segment."""
        return advance_state(self.state, self.motion, self.length)

    @property
    def end_nodes(self) -> Vector:
        """The logarithm of the number of nodes at the end of the segment."""
        return add_scaled(self.nodes, self.length, self.motion.nodes)


@record
class RecursionPath:
    """A path from the roots in `region` to exp(nodes) leaves of the case `leaf` at `state`; -1 for an open path."""

    region: RayCone
    segments: tuple[PathSegment, ...]
    leaf: int
    state: State
    nodes: Vector


def advance_state(state: State, motion: Motion, time: Vector) -> State:
    """Return the logarithms of the sizes after a motion that takes the given time."""
    return tuple(
        add_scaled(size, time, -speed) if speed else size for size, speed in zip(state, motion.direction, strict=True)
    )


def build_regions(system: LogSystem) -> list[RayCone]:
    """Return cones where the facts hold and all names are at least 1: one for each choice of alternatives."""
    cones = [make_orthant(len(system.names.all))]
    for fact in system.facts:
        pieces = []
        for region in cones:
            for rows in fact:
                part = region
                for row in rows:
                    part = part.cut(row.form)
                if part.rays and part not in pieces:
                    pieces.append(part)
        cones = pieces
    return cones


def list_all_paths(system: LogSystem) -> list[RecursionPath]:
    """Return the paths from all roots. Raises OutOfReachError."""
    return [path for region in build_regions(system) for path in follow_paths(system, region)]


def follow_paths(system: LogSystem, region: RayCone) -> list[RecursionPath]:
    """Return the paths from the roots in a region. Raises OutOfReachError."""
    count = len(system.names.all)
    start = tuple(make_unit_vector(i, count) for i in range(count))
    result = []
    for path in _iterate_completed_paths(system, RecursionPath(region, (), -1, start, (ZERO,) * count)):
        result.append(path)
        if len(result) > MAX_PATHS:
            raise OutOfReachError("the recursion has too many paths")
    return result


def _iterate_completed_paths(system: LogSystem, path: RecursionPath) -> Iterator[RecursionPath]:
    """Iterate over the complete paths with a given beginning; the region is split where paths of its roots differ."""
    while True:
        try:
            path = _advance_path(system, path)
        except SplitError as split:
            for form in (split.form, tuple(-x for x in split.form)):
                yield from _iterate_completed_paths(system, replace(path, region=path.region.cut(form)))
            return
        if path.leaf >= 0:
            yield path
            return
        if len(path.segments) > MAX_SEGMENTS:
            raise OutOfReachError("the recursion changes direction too often")


def _advance_path(system: LogSystem, path: RecursionPath) -> RecursionPath:
    """Extend the path by a segment up to the next change of a guard, or end it at a leaf. Raises SplitError."""
    before = path.segments[-1].motion.direction if path.segments else (ZERO,) * len(path.state)
    place = RecursionState(system.rules, path.region, path.state)
    motion = place.derive_motion(before)
    if motion.is_leaf:
        return replace(path, leaf=motion.cases[0])
    time = _find_next_event(path, place, motion)
    segment = PathSegment(motion, path.state, path.nodes, time)
    segments = path.segments
    if segments and segments[-1].motion.cases == motion.cases and segments[-1].motion.shares == motion.shares:
        last = segments[-1]
        segment = replace(last, length=add_scaled(last.length, time))
        segments = segments[:-1]
    return replace(path, segments=(*segments, segment), state=segment.end, nodes=segment.end_nodes)


def _find_next_event(path: RecursionPath, place: RecursionState, motion: Motion) -> Vector:
    """Return the time at which the first watched row becomes 0. Raises SplitError if that row depends on the sizes."""
    times: dict[Vector, None] = {}
    for row in motion.watched:
        speed = inner_product(row.form, motion.direction)
        side = place.compute_sign(row)
        if side and prove_sign(speed) == side:
            form = substitute_state(row.form, path.state)
            times[tuple(x / speed for x in form)] = None
    if not times:
        raise OutOfReachError("the recursion does not end from some sizes: no base case is reached")
    earliest, *rest = times
    for time in rest:
        difference = add_scaled(time, earliest, fmpq(-1))
        order = path.region.compute_sign(difference)
        if order is None:
            raise SplitError(difference)
        if order < 0:
            earliest = time
    return earliest


@record
class CostTerm:
    """A term of a path's cost, in the segment with index `segment` (None: the leaves); `source` is the cost of a node.

    `place` is the part of the segment that dominates: the "first" level, the "last", "each" level, or the "leaves".
    """

    term: LogMonomial
    source: LogMonomial
    segment: int | None
    place: str


@record
class PathCosts:
    """A path and its costs on a region; the function is Theta of the greatest of `terms` there."""

    path: RecursionPath
    costs: tuple[CostTerm, ...]
    terms: tuple[LogMonomial, ...]

    @property
    def region(self) -> RayCone:
        """The region of root sizes from which the path starts."""
        return self.path.region


def iterate_path_costs(system: LogSystem, path: RecursionPath) -> Iterator[PathCosts]:
    """Iterate over the costs of a path; its region is split where a logarithm along the path may change its sign."""
    try:
        costs = [
            *(
                cost
                for i, segment in enumerate(path.segments)
                for cost in _iterate_segment_costs(system, path, i, segment)
            ),
            *_iterate_leaf_costs(system, path),
        ]
    except SplitError as split:
        for form in (split.form, tuple(-x for x in split.form)):
            yield from iterate_path_costs(system, replace(path, region=path.region.cut(form)))
        return
    yield PathCosts(
        path, tuple(costs), simplify_logarithms(remove_covered([cost.term for cost in costs], path.region), path.region)
    )


def _iterate_leaf_costs(system: LogSystem, path: RecursionPath) -> Iterator[CostTerm]:
    for source in system.rules[path.leaf].terms:
        yield CostTerm(
            source.express_in_root_sizes(path.state).multiply(LogMonomial(path.nodes)).normalize(),
            source,
            None,
            "leaves",
        )


def _iterate_segment_costs(
    system: LogSystem, path: RecursionPath, index: int, segment: PathSegment
) -> Iterator[CostTerm]:
    motion = segment.motion
    sources = dict.fromkeys(term for case in motion.cases for term in system.rules[case].terms)
    for source in sources:
        slope = motion.nodes - inner_product(source.powers, motion.direction)
        rising = prove_sign(slope)
        if rising:
            state, nodes = (segment.end, segment.end_nodes) if rising > 0 else (segment.state, segment.nodes)
            term = source.express_in_root_sizes(state).multiply(LogMonomial(nodes)).normalize()
            yield CostTerm(term, source, index, "last" if rising > 0 else "first")
        else:
            base = LogMonomial(source.powers).express_in_root_sizes(segment.state).multiply(LogMonomial(segment.nodes))
            for logs in _sum_flat_logs(source, segment, path.region):
                yield CostTerm(base.multiply(logs).normalize(), source, index, "each")


def _sum_flat_logs(source: LogMonomial, segment: PathSegment, region: RayCone) -> list[LogMonomial]:
    """Return the sum over a segment's levels of a product of logarithms, each linear along it. Raises SplitError."""
    factors: list[LogMonomial] = []
    crossing: list[tuple[Vector, Vector, fmpq]] = []
    for form, power in source.logs:
        begin, end = substitute_state(form, segment.state), substitute_state(form, segment.end)
        speed = inner_product(form, segment.motion.direction)
        if power < 0 and speed:
            raise OutOfReachError("a sum of reciprocals of logarithms over the levels")
        high, low = (begin, end) if prove_sign(speed) >= 0 else (end, begin)
        signs = region.compute_sign(high), region.compute_sign(low)
        if None in signs:
            raise SplitError(high if signs[0] is None else low)
        if signs[0] == 1 and signs[1] == -1:
            crossing.append((high, tuple(x / (speed if prove_sign(speed) > 0 else -speed) for x in high), power))
        elif signs[0] == 1:
            factors.append(make_logarithm_term(high, power))
    flat = LogMonomial(tuple(ONE - ONE for _ in segment.length))
    for factor in factors:
        flat = flat.multiply(factor)
    whole = flat.multiply(make_logarithm_term(segment.length, ONE))
    if not crossing:
        return [whole]
    if len(crossing) > 1 or factors:
        raise OutOfReachError("several logarithms become 0 along a path")
    ((high, reach, power),) = crossing
    return [whole, make_logarithm_term(high, power).multiply(make_logarithm_term(reach, ONE))]
