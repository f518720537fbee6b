"""Stack distances: the lines that are accessed since a line was accessed last, itself among them, as polynomials."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import islpy as isl

from archline.analysis.cache.lru.wire import Reference
from archline.records import record


@record
class Reused:
    """The accesses of a reference in part of its times, and how many lines lie between them and the last access."""

    reference: Reference
    times: isl.Set
    distance: isl.QPolynomial


@record
class Distances:
    """Of each reference its times and its first accesses; the others with their distances."""

    all: tuple[tuple[Reference, isl.Set], ...]
    first: tuple[tuple[Reference, isl.Set], ...]
    reused: tuple[Reused, ...]


def distances(references: Sequence[Reference], context: isl.Set) -> Distances:
    """The distances of all accesses; those that follow an access of the same reference at once are left out."""
    relations = [isl.Map(each.relation).intersect_params(context) for each in references]
    arrays: dict[str, isl.Map] = {}
    for reference, relation in zip(references, relations, strict=True):
        known = arrays.get(reference.array)
        arrays[reference.array] = relation if known is None else known.union(relation)
    arrays = {name: relation.coalesce() for name, relation in arrays.items()}
    first, reused = [], []
    for reference, relation in zip(references, relations, strict=True):
        last = _last_before(relation, arrays[reference.array])
        first.append((reference, relation.domain().subtract(last.domain()).coalesce()))
        reused += [Reused(reference, *each) for each in _between(last, arrays)]
    times = [(reference, relation.domain()) for reference, relation in zip(references, relations, strict=True)]
    return Distances(tuple(times), tuple(first), tuple(reused))


def _last_before(relation: isl.Map, accesses: isl.Map) -> isl.Map:
    """From each time to the last one before it at which the same line was accessed."""
    earlier = isl.Map.lex_gt(relation.get_space().domain())
    return relation.apply_range(accesses.reverse()).intersect(earlier).lexmax().coalesce()


def _between(last: isl.Map, arrays: dict[str, isl.Map]) -> Iterator[tuple[isl.Set, isl.QPolynomial]]:
    """The lines of all arrays that are accessed after the last time, up to now.

    Each part of the map is taken by itself: what isl has to keep disjoint is small then.
    """
    for part in last.make_disjoint().get_basic_maps():
        times = _interval(isl.Map.from_basic_map(part))
        counts = [times.apply_range(relation).coalesce().card() for relation in arrays.values()]
        found = counts[0]
        for count in counts[1:]:
            found = found.add(count)
        for domain, distance in found.get_pieces():
            for each in domain.make_disjoint().get_basic_sets():
                # On a part, isl writes the polynomial without what the part's equalities give.
                yield from isl.PwQPolynomial.alloc(each.to_set(), distance).get_pieces()


def _interval(last: isl.Map) -> isl.Map:
    """From each time to those after the last one, up to itself."""
    space = last.get_space().domain()
    return last.apply_range(isl.Map.lex_lt(space)).intersect(isl.Map.lex_ge(space))
