"""Build references, split them at loop iterations, and relax them.

A reference is a set of accesses to nearby elements in one row of an array. A part of it lets a loop run
through part of its range, before an end or from it on. Both parts are references by themselves (index-set
splitting: M. Griebl, P. Feautrier, C. Lengauer, Index set splitting, IJPP 2000): their residencies are counted
as usual, in terms of a symbol for the end.

    for i: for j in 1 + (i + color) % 2 .. m - 1 step 2: u[i, j] = ...    touches words 1 to m - 1 at most

If loops begin or end at a remainder of outer counters, columns differ from row to row, and few closed forms
are found. Relaxation gives a loop more iterations, or lets each touch more neighbours in its row: floor(x/m)
is x/m at most, and (x - m + 1)/m at least, so that counters cancel. A program that accesses a superset fetches
no less.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from archline.algebra import atoms as a
from archline.algebra.bounds import Bounds
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, Poly
from archline.algebra.relax import bound_away, floor_by_number
from archline.analysis.cache.footprint.upper import Reference
from archline.ir.layout import ClosedInterval
from archline.ir.tree import Access, Array, Chain, Loop, contiguous_dimension
from archline.records import record

MAX_APART = 8
"""Accesses to one row in one loop body form one reference if their subscripts differ by at most this constant."""


def build_references(found: Iterator[tuple[Access, Chain]], facts: Facts, traffic: bool = False) -> list[Reference]:
    """Group accesses by array and loops: those whose subscripts differ by small constants are one reference.

    With `traffic`, lines of written references move twice: they are fetched and written back.
    """
    groups: list[tuple[Array, Chain, list[Access], list[int]]] = []
    for order, (access, chain) in enumerate(found):
        for array, loops, members, orders in groups:
            if (
                array is access.array
                and loops == chain
                and _is_same_row_neighbour(access, members, contiguous_dimension(array))
            ):
                members.append(access)
                orders.append(order)
                break
        else:
            groups.append((access.array, chain, [access], [order]))
    return [
        Reference(
            array,
            _joint_hull(array, members),
            chain,
            facts,
            tuple(members),
            tuple(orders),
            moves=2 if traffic and any(each.written for each in members) else 1,
        )
        for array, chain, members, orders in groups
    ]


def _is_same_row_neighbour(access: Access, members: Sequence[Access], along: int) -> bool:
    """Test whether an access is to the same row as a group of accesses, and near them."""
    first = members[0]
    # What the data decides twice are two places, but for one that moves along a row.
    same = access.walk is not None and access.walk == first.walk
    for dimension, (own, other) in enumerate(zip(access.place, first.place, strict=True)):
        if own is None or other is None:
            if own is not other or dimension != along or not same:
                return False
            continue
        apart = own - other
        if not apart.is_constant or abs(apart.constant_term) > (MAX_APART if dimension == along else 0):
            return False
    return True


def _joint_hull(array: Array, members: Sequence[Access]) -> tuple[ClosedInterval | None, ...]:
    """The interval of subscripts in each dimension that contains all accesses; None if the data selects it."""
    result: list[ClosedInterval | None] = []
    for dimension in range(len(array.extents)):
        places = [member.place[dimension] for member in members]
        known = [place for place in places if place is not None]
        if len(known) < len(places):
            walk, part = members[0].walk, members[0].parts[dimension]
            result.append(part if walk is None or dimension != contiguous_dimension(array) else walk.bounds)
            continue
        shifts = [(place - known[0]).constant_term for place in known]
        result.append((known[0] + min(shifts), known[0] + max(shifts)))
    return tuple(result)


@record(eq=False)
class LoopSide:
    """The iterations of a loop on one side of an end: those `below` it, or those from it on."""

    loop: Loop
    end: Poly
    below: bool

    def range(self, facts: Facts) -> tuple[Poly, Poly]:
        """Return the range of the loop on this side."""
        lo, hi = self.loop.lo, self.loop.hi
        # Where nothing is left, both are at the end: then the smallest range around several is not larger.
        if self.below:
            hi = facts.minimum(hi, self.end)
            return facts.minimum(lo, hi), hi
        lo = facts.maximum(lo, self.end)
        return lo, facts.maximum(hi, lo)

    def bounds(self, bounds: Bounds) -> Bounds:
        """Extend the bounds of the loop variable by the end."""
        if self.below:
            return Bounds(bounds.lower, (*bounds.upper, self.end - 1))
        return Bounds((*bounds.lower, self.end), bounds.upper)


@dataclass(eq=False)
class IndexSetSplitter:
    """Splits references at ends in terms of a `symbol` within bounds; parts share loops as before."""

    symbol: str
    within: Bounds
    _loops: dict[tuple[Loop, LoopSide | None], Loop] = field(default_factory=dict)
    _facts: dict[tuple[int, LoopSide | None], tuple[Facts, Facts]] = field(default_factory=dict)

    def clip(self, reference: Reference, dimension: int, below: bool) -> Reference | None:
        """Restrict a reference to subscripts below the symbol in a dimension, or from it on.

        None if the subscript is unknown.
        """
        twin, entry = self.cut(reference, None), reference.place[dimension]
        if entry is None:
            return None
        (low, high), end = entry, Poly.symbol(self.symbol)
        # Of places that are all on the other side none is left.
        if below:
            high = twin.facts.minimum(high, end - 1)
        else:
            low, high = twin.facts.maximum(low, end), twin.facts.maximum(high, end - 1)
        place = (*reference.place[:dimension], (low, high), *reference.place[dimension + 1 :])
        return replace(twin, place=place)

    def cut(self, reference: Reference, rule: LoopSide | None) -> Reference:
        """Restrict a reference to a side of a loop; without a rule, only add the bounds of the symbol."""
        first = reference.chain[0].variable if reference.chain else None
        chain = tuple(self._loop(loop, rule, first) for loop in reference.chain)
        facts = self.facts(reference.facts, rule, first)
        return replace(reference, chain=chain, facts=facts)

    def facts(self, facts: Facts, rule: LoopSide | None, first: str | None) -> Facts:
        """Add the bounds of the symbol, older than the `first` counter, and those of the rule's loop."""
        within = rule if rule is not None and rule.loop.variable in facts.bounds else None
        key = id(facts), within
        if key not in self._facts:
            found: dict[str, Bounds] = {}
            for name, bounds in facts.bounds.items():
                if name == first:
                    # Bounds of all counters may be in terms of the symbol.
                    found[self.symbol] = self.within
                found[name] = within.bounds(bounds) if within and name == within.loop.variable else bounds
            found.setdefault(self.symbol, self.within)
            # The facts are kept with what was found: another object may not have their identity.
            self._facts[key] = facts, facts.with_bounds(found)
        return self._facts[key][1]

    def _loop(self, loop: Loop, rule: LoopSide | None, first: str | None) -> Loop:
        """Restrict a loop to a side, cached so that references share the result."""
        key = loop, rule if rule is not None and rule.loop.variable in loop.inside.bounds else None
        if key not in self._loops:
            facts, within = (self.facts(each, rule, first) for each in (loop.facts, loop.inside))
            twin = replace(loop, facts=facts, inside=within)
            if rule is not None and loop is rule.loop:
                lo, hi = rule.range(facts)
                counter = Poly.symbol(loop.variable)
                ends = counter - loop.lo, loop.hi - 1 - counter
                twin = replace(twin, lo=lo, hi=hi, trips=hi - lo, holds=ends)
            self._loops[key] = twin
        return self._loops[key]


Counters = frozenset[str]


def without_remainders(references: Sequence[Reference]) -> list[Reference] | None:
    """Relax the loops and subscripts of references; None if nothing changes."""
    chains: dict[Chain, Chain] = {(): ()}
    found = [_relaxed_reference(each, _relaxed_chain(each.chain, each.facts, chains)) for each in references]
    same = all(one.place == other.place for one, other in zip(found, references, strict=True))
    ends = [[(loop.lo, loop.hi, loop.trips) for loop in each.chain] for each in (*found, *references)]
    return None if same and ends[: len(found)] == ends[len(found) :] else found


def _relaxed_chain(chain: Chain, facts: Facts, known: dict[Chain, Chain]) -> Chain:
    """Relax loop bounds; the facts inside a loop are those of the relaxed bounds alone."""
    if chain not in known:
        *outer, loop = chain
        before = _relaxed_chain(tuple(outer), facts, known)
        known[chain] = (*before, _relaxed_loop(loop, before[-1].inside if before else facts, _counters(before)))
    return known[chain]


def _relaxed_loop(loop: Loop, around: Facts, counters: Counters) -> Loop:
    """Replace the bounds and trip count of a loop by ones without floors of outer counters."""
    lo = _integer_bound(loop.lo, counters, False)
    hi, trips = (_integer_bound(each, counters, True) for each in (loop.hi, loop.trips))
    inside = around.with_symbol(loop.variable, (lo,), (hi - 1,))
    return replace(loop, lo=lo, hi=hi, trips=trips, facts=around, inside=inside, holds=())


def _relaxed_reference(reference: Reference, chain: Chain) -> Reference:
    """Relax the subscripts along the row, except for the innermost loop; accesses become uncertain."""
    around, along = _counters(chain[:-1]), contiguous_dimension(reference.array)
    place = list(reference.place)
    interval = place[along]
    if interval is not None:
        place[along] = _integer_bound(interval[0], around, False), _integer_bound(interval[1], around, True)
    accesses = tuple(replace(access, certain=False, shared=None) for access in reference.accesses)
    return replace(reference, place=tuple(place), chain=chain, accesses=accesses)


def _counters(chain: Chain) -> Counters:
    return frozenset(loop.variable for loop in chain)


def _integer_bound(value: Poly, counters: Counters, upper: bool) -> Poly:
    """Bound a value by an integer without floors of counters, from above if `upper`; else keep the value."""
    found = bound_away(value, lambda each: floor_by_number(each, counters), Facts(), upper)
    if found is None or found == value:
        return value
    if a.is_integral(found):
        return found
    if not counters.isdisjoint(found.names):
        return value
    return a.floor_div(found, ONE) if upper else -a.floor_div(-found, ONE)
