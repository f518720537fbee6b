"""References: accesses to places in one row of an array that are near each other, parts of them, and simpler ones.

Of a part, a loop runs through part of its range: the iterations before an end, or those from it on. Both parts are
references by themselves (index set splitting: M. Griebl, P. Feautrier, C. Lengauer, Index set splitting, IJPP 2000):
what units hold and fetch of them is counted as of any other, in terms of a symbol for the end.

    for i: for j in 1 + (i + color) % 2 .. m - 1 step 2: u[i, j] = ...        touches words 1 to m - 1 of row i at most

Where loops begin or end at a remainder of counters around them, columns are others in each row, and few closed forms
are found. A loop may as well have more iterations, and each of them touch more neighbours in its row: floor(x/m) is x/m
at most, and (x - m + 1)/m at least, so that counters cancel. What does all that the program does and more fetches no
less.
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
"""References to one row in one loop body are one where their places differ by constants no larger than this."""


def build_references(found: Iterator[tuple[Access, Chain]], facts: Facts, traffic: bool = False) -> list[Reference]:
    """Accesses by array and loops; those whose places differ by small constants are one reference.

    Of `traffic`, lines that are written move twice: they are fetched and written back.
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
    """Whether a place is in the row of others, and near."""
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
    found: list[ClosedInterval | None] = []
    for dimension in range(len(array.extents)):
        places = [member.place[dimension] for member in members]
        known = [place for place in places if place is not None]
        if len(known) < len(places):
            walk, part = members[0].walk, members[0].parts[dimension]
            found.append(part if walk is None or dimension != contiguous_dimension(array) else walk.bounds)
            continue
        shifts = [(place - known[0]).constant_term for place in known]
        found.append((known[0] + min(shifts), known[0] + max(shifts)))
    return tuple(found)


@record(eq=False)
class LoopSide:
    """Iterations of a loop on one side: those `below` an end, or those from it on."""

    loop: Loop
    end: Poly
    below: bool

    def range(self, facts: Facts) -> tuple[Poly, Poly]:
        """From where to where the loop runs."""
        lo, hi = self.loop.lo, self.loop.hi
        # Where nothing is left, both are at the end: then the smallest range around several is not larger.
        if self.below:
            hi = facts.minimum(hi, self.end)
            return facts.minimum(lo, hi), hi
        lo = facts.maximum(lo, self.end)
        return lo, facts.maximum(hi, lo)

    def bounds(self, bounds: Bounds) -> Bounds:
        """What is known of the counter inside."""
        if self.below:
            return Bounds(bounds.lower, (*bounds.upper, self.end - 1))
        return Bounds((*bounds.lower, self.end), bounds.upper)


@dataclass(eq=False)
class IndexSetSplitter:
    """Parts of references by rules whose ends are in terms of a `symbol` within bounds; they share loops as before."""

    symbol: str
    within: Bounds
    _loops: dict[tuple[Loop, LoopSide | None], Loop] = field(default_factory=dict)
    _facts: dict[tuple[int, LoopSide | None], tuple[Facts, Facts]] = field(default_factory=dict)

    def clip(self, reference: Reference, dimension: int, below: bool) -> Reference | None:
        """What a reference may access before the symbol in a dimension, or from there on; None where that is all."""
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
        """What a reference accesses on the rule's side; all of it without a rule, with what is known of the symbol."""
        first = reference.chain[0].variable if reference.chain else None
        chain = tuple(self._loop(loop, rule, first) for loop in reference.chain)
        facts = self.facts(reference.facts, rule, first)
        return replace(reference, chain=chain, facts=facts)

    def facts(self, facts: Facts, rule: LoopSide | None, first: str | None) -> Facts:
        """Facts with what is known of the symbol, which is older than the `first` counter, and of the rule's loop."""
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
    """The references with simpler loops and places; None where nothing is simpler."""
    chains: dict[Chain, Chain] = {(): ()}
    found = [_relaxed_reference(each, _relaxed_chain(each.chain, each.facts, chains)) for each in references]
    same = all(one.place == other.place for one, other in zip(found, references, strict=True))
    ends = [[(loop.lo, loop.hi, loop.trips) for loop in each.chain] for each in (*found, *references)]
    return None if same and ends[: len(found)] == ends[len(found) :] else found


def _relaxed_chain(chain: Chain, facts: Facts, known: dict[Chain, Chain]) -> Chain:
    """Loops with simpler ends; in the body nothing is known but these."""
    if chain not in known:
        *outer, loop = chain
        before = _relaxed_chain(tuple(outer), facts, known)
        known[chain] = (*before, _relaxed_loop(loop, before[-1].inside if before else facts, _counters(before)))
    return known[chain]


def _relaxed_loop(loop: Loop, around: Facts, counters: Counters) -> Loop:
    lo = _integer_bound(loop.lo, counters, False)
    hi, trips = (_integer_bound(each, counters, True) for each in (loop.hi, loop.trips))
    inside = around.with_symbol(loop.variable, (lo,), (hi - 1,))
    return replace(loop, lo=lo, hi=hi, trips=trips, facts=around, inside=inside, holds=())


def _relaxed_reference(reference: Reference, chain: Chain) -> Reference:
    """Nothing that it accesses is certain. Along the innermost loop places move as before."""
    around, along = _counters(chain[:-1]), contiguous_dimension(reference.array)
    place = list(reference.place)
    interval = place[along]
    if interval is not None:
        place[along] = _integer_bound(interval[0], around, False), _integer_bound(interval[1], around, True)
    accesses = tuple(replace(each, certain=False, shared=None) for each in reference.accesses)
    return replace(reference, place=tuple(place), chain=chain, accesses=accesses)


def _counters(chain: Chain) -> Counters:
    return frozenset(loop.variable for loop in chain)


def _integer_bound(value: Poly, counters: Counters, upper: bool) -> Poly:
    """An integer that is at most (`upper`) or at least a value, without floors of counters; the value if none is."""
    found = bound_away(value, lambda each: floor_by_number(each, counters), Facts(), upper)
    if found is None or found == value:
        return value
    if a.is_integral(found):
        return found
    if not counters.isdisjoint(found.names):
        return value
    return a.floor_div(found, ONE) if upper else -a.floor_div(-found, ONE)
