"""References of loops that begin or end at a remainder of counters around them, as those of a program that does more.

    for i: for j in 1 + (i + color) % 2 .. m - 1 step 2: u[i, j] = ...        touches words 1 to m - 1 of row i at most

Where the columns of a row depend on a remainder they are others in each row, and few closed forms are found. A loop may
as well have more iterations, and each of them touch more neighbours in its row: floor(x/m) is x/m at most, and
(x - m + 1)/m at least, so that counters cancel. What does all that the program does and more fetches no less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, Poly
from archline.algebra.relax import bound_away, floor_by_number
from archline.analysis.cache.footprint.upper import Reference
from archline.ir.tree import Chain, Loop, contiguous_dimension

Counters = frozenset[str]


def without_remainders(references: Sequence[Reference]) -> list[Reference] | None:
    """The references with simpler loops and places; None where nothing is simpler."""
    chains: dict[Chain, Chain] = {(): ()}
    found = [_reference(each, _chain(each.chain, each.facts, chains)) for each in references]
    same = all(one.place == other.place for one, other in zip(found, references, strict=True))
    ends = [[(loop.lo, loop.hi, loop.trips) for loop in each.chain] for each in (*found, *references)]
    return None if same and ends[: len(found)] == ends[len(found) :] else found


def _chain(chain: Chain, facts: Facts, known: dict[Chain, Chain]) -> Chain:
    """Loops with simpler ends; in the body nothing is known but these."""
    if chain not in known:
        *outer, loop = chain
        before = _chain(tuple(outer), facts, known)
        known[chain] = (*before, _loop(loop, before[-1].inside if before else facts, _counters(before)))
    return known[chain]


def _loop(loop: Loop, around: Facts, counters: Counters) -> Loop:
    lo = _bound(loop.lo, counters, False)
    hi, trips = (_bound(each, counters, True) for each in (loop.hi, loop.trips))
    inside = around.with_symbol(loop.variable, (lo,), (hi - 1,))
    return replace(loop, lo=lo, hi=hi, trips=trips, facts=around, inside=inside, holds=())


def _reference(reference: Reference, chain: Chain) -> Reference:
    """Nothing that it accesses is certain. Along the innermost loop places move as before."""
    around, along = _counters(chain[:-1]), contiguous_dimension(reference.array)
    place = list(reference.place)
    interval = place[along]
    if interval is not None:
        place[along] = _bound(interval[0], around, False), _bound(interval[1], around, True)
    accesses = tuple(replace(each, certain=False, shared=None) for each in reference.accesses)
    return replace(reference, place=tuple(place), chain=chain, accesses=accesses, _lines={}, _hulls={})


def _counters(chain: Chain) -> Counters:
    return frozenset(loop.variable for loop in chain)


def _bound(value: Poly, counters: Counters, upper: bool) -> Poly:
    """An integer that is at most (`upper`) or at least a value, without floors of counters; the value if none is."""
    found = bound_away(value, lambda each: floor_by_number(each, counters), Facts(), upper)
    if found is None or found == value:
        return value
    if a.is_integral(found):
        return found
    if not counters.isdisjoint(found.names):
        return value
    return a.floor_div(found, ONE) if upper else -a.floor_div(-found, ONE)
