"""Clusters of references to one array, each kept as one or part by part, and the units that may keep them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from archline.analysis.cache.footprint.union import Unions
from archline.analysis.cache.footprint.upper import Reference
from archline.analysis.cache.residency.base import Resident, shared
from archline.analysis.cache.residency.group import Pin, as_one, by_turns, continued, interleaved, pins
from archline.analysis.cache.residency.single import course, walking
from archline.analysis.cache.residency.stencil import beside, sweeping, up_to
from archline.ir.tree import contiguous_dimension
from archline.records import record


@record(eq=False)
class Cluster:
    """References to one array: kept as one, by any of `units`, or part by part; one alone has no parts."""

    references: tuple[Reference, ...]
    units: tuple[Resident, ...]
    parts: tuple[Cluster, ...] = ()

    @cached_property
    def pins(self) -> tuple[Pin, ...]:
        """The windows in which lines may be pinned."""
        return tuple(pins(self.references))

    @property
    def all_parts(self) -> Iterator[Cluster]:
        """Itself, its parts, and theirs."""
        yield self
        for part in self.parts:
            yield from part.all_parts


def clusterings(
    references: Sequence[Reference], own: Mapping[Reference, tuple[Resident, ...]]
) -> Iterator[list[Cluster]]:
    """The ways to split references to one array into clusters; `own` are the units of each by itself."""
    known: dict[frozenset[Reference], Cluster] = {}
    seen: set[frozenset[frozenset[Reference]]] = set()
    for parts in partitions(references):
        key = frozenset(map(frozenset, parts))
        if key not in seen:
            seen.add(key)
            yield [_cluster(part, own, known) for part in parts]


def _cluster(
    references: Sequence[Reference],
    own: Mapping[Reference, tuple[Resident, ...]],
    known: dict[frozenset[Reference], Cluster],
) -> Cluster:
    """References as one cluster; those that access the same place are one part of it."""
    key = frozenset(references)
    if key not in known:
        if len(references) == 1:
            known[key] = Cluster(tuple(references), own[references[0]])
        else:
            alike = _grouped((each.place, each) for each in references)
            parts = alike if len(alike) > 1 else [[each] for each in references]
            clusters = tuple(_cluster(part, own, known) for part in parts)
            known[key] = Cluster(tuple(references), tuple(filter(None, joint(references))), clusters)
    return known[key]


def joint(references: Sequence[Reference]) -> Iterator[Resident | None]:
    """The ways to keep references to one array as one."""
    if len(references) > 1:
        unions = Unions(tuple(references))
        for depth in range(len(shared(references)) + 1):
            yield as_one(unions, depth)
        yield from sweeping(references)
        for way in (continued, walking, interleaved, by_turns, beside, up_to):
            yield way(references)


def by_array(references: Sequence[Reference]) -> list[list[Reference]]:
    """The references to each array."""
    found: dict[int, list[Reference]] = {}
    for reference in references:
        found.setdefault(id(reference.array), []).append(reference)
    return list(found.values())


def partitions(references: Sequence[Reference]) -> Iterator[list[list[Reference]]]:
    """References to one array each by itself, all as one, and at each depth those whose rows move alike as one."""
    yield [[each] for each in references]
    if len(references) == 1:
        return
    yield [list(references)]
    yield _grouped((course(each), each) for each in references)
    for depth in range(max(len(each.chain) for each in references) + 1):
        # In one iteration of a loop too: a row that is left and the element behind it move alike in the loop around.
        for like, inner in ((_moving, depth), (_row, depth), (_moving, max(0, depth - 1))):
            yield _grouped(
                ((*map(id, each.chain[:depth]), *like(each, inner)) if len(each.chain) >= depth else id(each), each)
                for each in references
            )


def _grouped(keyed: Iterable[tuple[object, Reference]]) -> list[list[Reference]]:
    """Those with one key together."""
    parts: dict[object, list[Reference]] = {}
    for key, reference in keyed:
        parts.setdefault(key, []).append(reference)
    return list(parts.values())


def _moving(reference: Reference, depth: int) -> tuple[object, ...]:
    """For each dimension whether loops inside a depth move along it."""
    inner = {loop.variable for loop in reference.chain[depth:]}
    return tuple(interval is None or bool(inner & interval[0].names) for interval in reference.place)


def _row(reference: Reference, depth: int) -> tuple[object, ...]:
    """For each dimension of rows whether loops inside a depth move along it, else where it is."""
    along = contiguous_dimension(reference.array)
    pairs = zip(reference.place, _moving(reference, depth), strict=True)
    return tuple(
        moving or (interval[0] if interval else None) for each, (interval, moving) in enumerate(pairs) if each != along
    )
