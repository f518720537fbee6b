"""All ways that the recursion can take, each with the region of root sizes from which it takes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from archline.algebra.asymptotic.constants import OutOfReachError
from archline.numbers import fmpq
from archline.recurrences.asymptotic.logspace.compare import prune, simplified
from archline.recurrences.asymptotic.logspace.cones import Cone, Vector, dot, orthant, plus, unit
from archline.recurrences.asymptotic.logspace.motion import Motion, RecursionState, SplitError
from archline.recurrences.asymptotic.logspace.numbers import ONE, ZERO, sign
from archline.recurrences.asymptotic.logspace.system import System
from archline.recurrences.asymptotic.logspace.terms import LogMonomial, at_state, logs_of

State = tuple[Vector, ...]
MAX_PATHS = 600
MAX_SEGMENTS = 40


@dataclass(frozen=True)
class Segment:
    """A stretch with one motion. States and nodes are at its start; `length` is its time, in logarithms of sizes."""

    motion: Motion
    state: State
    nodes: Vector
    length: Vector

    @property
    def end(self) -> State:
        """The state at its end."""
        return moved(self.state, self.motion, self.length)

    @property
    def end_nodes(self) -> Vector:
        """The logarithm of the number of nodes at its end."""
        return plus(self.nodes, self.length, self.motion.nodes)


@dataclass(frozen=True)
class Path:
    """From the roots in `region` down to the leaf case `leaf`, at `state` with exp(nodes) leaves."""

    region: Cone
    segments: tuple[Segment, ...]
    leaf: int
    state: State
    nodes: Vector


def moved(state: State, motion: Motion, time: Vector) -> State:
    """The state after a time."""
    return tuple(
        plus(each, time, -speed) if speed else each for each, speed in zip(state, motion.direction, strict=True)
    )


def regions(system: System) -> list[Cone]:
    """Where the facts hold, all names being at least 1: one cone for each choice between alternatives."""
    found = [orthant(len(system.names.all))]
    for fact in system.facts:
        pieces = []
        for region in found:
            for rows in fact:
                part = region
                for row in rows:
                    part = part.cut(row.form)
                if part.rays and part not in pieces:
                    pieces.append(part)
        found = pieces
    return found


def paths(system: System) -> list[Path]:
    """The ways from all roots. Raises OutOfReachError."""
    return [path for region in regions(system) for path in follow(system, region)]


def follow(system: System, region: Cone) -> list[Path]:
    """The ways from the roots in a region. Raises OutOfReachError."""
    count = len(system.names.all)
    start = tuple(unit(i, count) for i in range(count))
    result = []
    for path in _Explorer(system).explore(Path(region, (), -1, start, (ZERO,) * count)):
        result.append(path)
        if len(result) > MAX_PATHS:
            raise OutOfReachError("the recursion takes too many ways")
    return result


class _Explorer:
    """Follows the recursion from a region, splitting it where the roots part."""

    def __init__(self, system: System) -> None:
        self._system = system

    def explore(self, path: Path) -> Iterator[Path]:
        """The complete paths that begin so."""
        while True:
            try:
                path = self._advanced(path)
            except SplitError as split:
                for form in (split.form, tuple(-x for x in split.form)):
                    yield from self.explore(replace(path, region=path.region.cut(form)))
                return
            if path.leaf >= 0:
                yield path
                return
            if len(path.segments) > MAX_SEGMENTS:
                raise OutOfReachError("the recursion changes its course too often")

    def _advanced(self, path: Path) -> Path:
        """One motion further."""
        before = path.segments[-1].motion.direction if path.segments else (ZERO,) * len(path.state)
        place = RecursionState(self._system.rules, path.region, path.state)
        motion = place.motion(before)
        if motion.is_leaf:
            return replace(path, leaf=motion.cases[0])
        time = self._next_event(path, place, motion)
        segment = Segment(motion, path.state, path.nodes, time)
        segments = path.segments
        if segments and _same(segments[-1].motion, motion):
            last = segments[-1]
            segment = replace(last, length=plus(last.length, time))
            segments = segments[:-1]
        return replace(path, segments=(*segments, segment), state=segment.end, nodes=segment.end_nodes)

    def _next_event(self, path: Path, place: RecursionState, motion: Motion) -> Vector:
        """The time until a watched row changes its sign, the least of several. Raises SplitError."""
        times: dict[Vector, None] = {}
        for row in motion.watched:
            speed = dot(row.form, motion.direction)
            side = place.sign(row)
            if side and sign(speed) == side:
                form = at_state(row.form, path.state)
                times[tuple(x / speed for x in form)] = None
        if not times:
            raise OutOfReachError("the recursion does not end from some sizes: nothing cuts it off")
        least, *others = times
        for other in others:
            difference = plus(other, least, fmpq(-1))
            order = path.region.sign(difference)
            if order is None:
                raise SplitError(difference)
            if order < 0:
                least = other
        return least


def _same(a: Motion, b: Motion) -> bool:
    return a.cases == b.cases and a.shares == b.shares


@dataclass(frozen=True)
class Cost:
    """One term of a path's cost. `segment` is its number, None for the leaves; `source` the cost at one node.

    `place` says where on the segment it arises: "first" level, "last" level, every level ("each") or "leaves".
    """

    term: LogMonomial
    source: LogMonomial
    segment: int | None
    place: str


@dataclass(frozen=True)
class PathCosts:
    """A path on a part of its region with its costs: the function is the greatest of `terms` there.

    So it is of `exact`, where logarithms are as they arise; those of `terms` are plainer.
    """

    path: Path
    costs: tuple[Cost, ...]
    exact: tuple[LogMonomial, ...]
    terms: tuple[LogMonomial, ...]

    @property
    def region(self) -> Cone:
        """The region."""
        return self.path.region


def pieces(system: System, path: Path) -> Iterator[PathCosts]:
    """The path's costs. A region is split where a logarithm along the way changes its sign."""
    try:
        found = [
            *(cost for i, each in enumerate(path.segments) for cost in _of_segment(system, path, i, each)),
            *_of_leaves(system, path),
        ]
    except SplitError as split:
        for form in (split.form, tuple(-x for x in split.form)):
            yield from pieces(system, replace(path, region=path.region.cut(form)))
        return
    exact = prune([each.term for each in found], path.region)
    yield PathCosts(path, tuple(found), exact, simplified(exact, path.region))


def _of_leaves(system: System, path: Path) -> Iterator[Cost]:
    for source in system.rules[path.leaf].terms:
        yield Cost(source.at(path.state).times(LogMonomial(path.nodes)).normal(), source, None, "leaves")


def _of_segment(system: System, path: Path, index: int, segment: Segment) -> Iterator[Cost]:
    motion = segment.motion
    sources = dict.fromkeys(term for case in motion.cases for term in system.rules[case].terms)
    for source in sources:
        slope = motion.nodes - dot(source.powers, motion.direction)
        rising = sign(slope)
        if rising:
            state, nodes = (segment.end, segment.end_nodes) if rising > 0 else (segment.state, segment.nodes)
            term = source.at(state).times(LogMonomial(nodes)).normal()
            yield Cost(term, source, index, "last" if rising > 0 else "first")
        else:
            base = LogMonomial(source.powers).at(segment.state).times(LogMonomial(segment.nodes))
            for logs in _flat_logs(source, segment, path.region):
                yield Cost(base.times(logs).normal(), source, index, "each")


def _flat_logs(source: LogMonomial, segment: Segment, region: Cone) -> list[LogMonomial]:
    """The sum of a product of logarithms over the levels of a segment, each linear along it."""
    factors: list[LogMonomial] = []
    crossing: list[tuple[Vector, Vector, fmpq]] = []
    for form, power in source.logs:
        begin, end = at_state(form, segment.state), at_state(form, segment.end)
        speed = dot(form, segment.motion.direction)
        if power < 0 and speed:
            raise OutOfReachError("a sum of reciprocals of logarithms over the levels")
        high, low = (begin, end) if sign(speed) >= 0 else (end, begin)
        signs = region.sign(high), region.sign(low)
        if None in signs:
            raise SplitError(high if signs[0] is None else low)
        if signs[0] == 1 and signs[1] == -1:
            crossing.append((high, tuple(x / (speed if sign(speed) > 0 else -speed) for x in high), power))
        elif signs[0] == 1:
            factors.append(logs_of(high, power))
    nothing = LogMonomial(tuple(ONE - ONE for _ in segment.length))
    for each in factors:
        nothing = nothing.times(each)
    whole = nothing.times(logs_of(segment.length, ONE))
    if not crossing:
        return [whole]
    if len(crossing) > 1 or factors:
        raise OutOfReachError("several logarithms that vanish along the way")
    ((high, reach, power),) = crossing
    return [whole, logs_of(high, power).times(logs_of(reach, ONE))]
