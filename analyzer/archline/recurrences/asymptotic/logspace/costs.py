"""What a path costs: each level's cost is geometric along a segment, so that its greater end counts, times the number
of levels where it is flat."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from archline.algebra.asymptotic.constants import OutOfReachError
from archline.numbers import fmpq
from archline.recurrences.asymptotic.logspace.compare import prune, simplified
from archline.recurrences.asymptotic.logspace.cones import Cone, Vector, dot
from archline.recurrences.asymptotic.logspace.motion import SplitError
from archline.recurrences.asymptotic.logspace.numbers import ONE, sign
from archline.recurrences.asymptotic.logspace.paths import Path, Segment
from archline.recurrences.asymptotic.logspace.system import System
from archline.recurrences.asymptotic.logspace.terms import LogMonomial, at_state, logs_of


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
