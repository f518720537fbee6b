"""Build references, split them at loop iterations, and relax them.

A reference is a set of accesses to nearby elements in one row of an array. It is split by dividing the range of a
loop at an iteration. Both parts are references by themselves (index-set splitting: M. Griebl, P. Feautrier,
C. Lengauer, Index set splitting, IJPP 2000): their residencies are counted as usual, in terms of a symbol for the
iteration.

    for i: for j in 1 + (i + color) % 2 .. m - 1 step 2: u[i, j] = ...    touches words 1 to m - 1 at most

If loops begin or end at a remainder of outer loop variables, columns differ from row to row, and few closed forms
are found. Relaxation gives a loop more iterations, or lets each touch more neighbours in its row: floor(x/m)
is at most x/m, and at least (x - m + 1)/m, so that loop variables cancel. A program that accesses a superset
fetches no less.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from archline.algebra import atoms as a
from archline.algebra.bounds import Bounds
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, Poly
from archline.algebra.relax import find_floor_by_number, replace_atoms_by_bounds
from archline.analysis.cache.footprint.upper import Reference
from archline.ir.layout import ClosedInterval
from archline.ir.tree import Access, Array, Chain, Loop, contiguous_dimension
from archline.records import record

MAX_SUBSCRIPT_DISTANCE = 8
"""Accesses to one row in one loop body form one reference if their subscripts differ by at most this number."""


def build_references(found: Iterator[tuple[Access, Chain]], facts: Facts, traffic: bool = False) -> list[Reference]:
    """Group accesses into references: of one array, in the same loops, with subscripts that differ by small constants.

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
            moves=2 if traffic and any(member.written for member in members) else 1,
        )
        for array, chain, members, orders in groups
    ]


def _is_same_row_neighbour(access: Access, members: Sequence[Access], along: int) -> bool:
    """Test whether an access is to the row of a group, at most `MAX_SUBSCRIPT_DISTANCE` words from the first access, or
    follows the same data-dependent walk along the row.
    """
    first = members[0]
    # Two data-dependent subscripts may be any elements, unless both follow one walk along a row.
    shares_walk = access.walk is not None and access.walk == first.walk
    for dimension, (subscript, base) in enumerate(zip(access.place, first.place, strict=True)):
        if subscript is None or base is None:
            if subscript is not base or dimension != along or not shares_walk:
                return False
            continue
        distance = subscript - base
        if not distance.is_constant or abs(distance.constant_term) > (
            MAX_SUBSCRIPT_DISTANCE if dimension == along else 0
        ):
            return False
    return True


def _joint_hull(array: Array, members: Sequence[Access]) -> tuple[ClosedInterval | None, ...]:
    """Return for each dimension the interval of subscripts that contains all accesses; for a subscript that depends on
    data, the interval of its possible values, None if unknown.
    """
    result: list[ClosedInterval | None] = []
    for dimension in range(len(array.extents)):
        places = [member.place[dimension] for member in members]
        subscripts = [place for place in places if place is not None]
        if len(subscripts) < len(places):
            walk, part = members[0].walk, members[0].parts[dimension]
            result.append(part if walk is None or dimension != contiguous_dimension(array) else walk.bounds)
            continue
        shifts = [(place - subscripts[0]).constant_term for place in subscripts]
        result.append((subscripts[0] + min(shifts), subscripts[0] + max(shifts)))
    return tuple(result)


@record(eq=False)
class LoopSide:
    """The iterations of a loop on one side of `end`: those `below` it, or those from it on."""

    loop: Loop
    end: Poly
    below: bool

    def compute_range(self, facts: Facts) -> tuple[Poly, Poly]:
        """Return the first iteration on this side, and the one after the last; they are equal if the side is empty."""
        lo, hi = self.loop.lo, self.loop.hi
        # An empty side begins and ends at the end, so that the hull of several ranges does not grow.
        if self.below:
            hi = facts.minimum(hi, self.end)
            return facts.minimum(lo, hi), hi
        lo = facts.maximum(lo, self.end)
        return lo, facts.maximum(hi, lo)

    def restrict_bounds(self, bounds: Bounds) -> Bounds:
        """Extend the bounds of the loop variable by the end of this side."""
        if self.below:
            return Bounds(bounds.lower, (*bounds.upper, self.end - 1))
        return Bounds((*bounds.lower, self.end), bounds.upper)


@dataclass(eq=False)
class IndexSetSplitter:
    """Splits references at `symbol`, which has the bounds `within`; references that share loops share split loops."""

    symbol: str
    within: Bounds
    _loops: dict[tuple[Loop, LoopSide | None], Loop] = field(default_factory=dict)
    _facts: dict[tuple[int, LoopSide | None], tuple[Facts, Facts]] = field(default_factory=dict)

    def clip(self, reference: Reference, dimension: int, below: bool) -> Reference | None:
        """Restrict a reference to subscripts `below` the symbol in a dimension, or to those from it on.

        None if the subscript is unknown.
        """
        twin, entry = self.split(reference, None), reference.place[dimension]
        if entry is None:
            return None
        (low, high), end = entry, Poly.symbol(self.symbol)
        # A reference that lies on the other side becomes empty.
        if below:
            high = twin.facts.minimum(high, end - 1)
        else:
            low, high = twin.facts.maximum(low, end), twin.facts.maximum(high, end - 1)
        place = (*reference.place[:dimension], (low, high), *reference.place[dimension + 1 :])
        return replace(twin, place=place)

    def split(self, reference: Reference, rule: LoopSide | None) -> Reference:
        """Restrict a reference to one side of a loop (`rule`); without it, only add the bounds of the symbol."""
        first = reference.chain[0].variable if reference.chain else None
        chain = tuple(self._split_loop(loop, rule, first) for loop in reference.chain)
        facts = self.extend_facts(reference.facts, rule, first)
        return replace(reference, chain=chain, facts=facts)

    def extend_facts(self, facts: Facts, rule: LoopSide | None, first: str | None) -> Facts:
        """Add to facts the bounds of the symbol, before those of the loop variable `first`, and the side `rule`."""
        within = rule if rule is not None and rule.loop.variable in facts.bounds else None
        key = id(facts), within
        if key not in self._facts:
            extended: dict[str, Bounds] = {}
            for name, bounds in facts.bounds.items():
                if name == first:
                    # Bounds of all loop variables may be in terms of the symbol, so that it precedes them.
                    extended[self.symbol] = self.within
                extended[name] = within.restrict_bounds(bounds) if within and name == within.loop.variable else bounds
            extended.setdefault(self.symbol, self.within)
            # The facts are stored as well, so that no other object gets their id while it is a key.
            self._facts[key] = facts, facts.with_bounds(extended)
        return self._facts[key][1]

    def _split_loop(self, loop: Loop, rule: LoopSide | None, first: str | None) -> Loop:
        """Add the facts of one side to a loop, and restrict it to the side if it is the loop of `rule`. Memoised, so
        that references share the result.
        """
        key = loop, rule if rule is not None and rule.loop.variable in loop.inside.bounds else None
        if key not in self._loops:
            facts, within = (self.extend_facts(facts_, rule, first) for facts_ in (loop.facts, loop.inside))
            twin = replace(loop, facts=facts, inside=within)
            if rule is not None and loop is rule.loop:
                lo, hi = rule.compute_range(facts)
                counter = Poly.symbol(loop.variable)
                ends = counter - loop.lo, loop.hi - 1 - counter
                twin = replace(twin, lo=lo, hi=hi, trips=hi - lo, holds=ends)
            self._loops[key] = twin
        return self._loops[key]


Counters = frozenset[str]


def relax_remainders(references: Sequence[Reference]) -> list[Reference] | None:
    """Relax loops and subscripts to bounds without remainders of outer loop variables; None if nothing changes."""
    chains: dict[Chain, Chain] = {(): ()}
    relaxed = [_relax_reference(ref, _relax_chain(ref.chain, ref.facts, chains)) for ref in references]
    has_same_places = all(new.place == ref.place for new, ref in zip(relaxed, references, strict=True))
    ends = [[(loop.lo, loop.hi, loop.trips) for loop in ref.chain] for ref in (*relaxed, *references)]
    return None if has_same_places and ends[: len(relaxed)] == ends[len(relaxed) :] else relaxed


def _relax_chain(chain: Chain, facts: Facts, chains: dict[Chain, Chain]) -> Chain:
    """Relax the bounds of nested loops to ones without floors of outer loop variables; memoised in `chains`."""
    if chain not in chains:
        *outer, loop = chain
        before = _relax_chain(tuple(outer), facts, chains)
        chains[chain] = (*before, _relax_loop(loop, before[-1].inside if before else facts, _loop_variables(before)))
    return chains[chain]


def _relax_loop(loop: Loop, around: Facts, counters: Counters) -> Loop:
    """Replace the bounds and the trip count of a loop by ones without floors of outer loop variables."""
    lo = _bound_value_by_integer(loop.lo, counters, False)
    hi, trips = (_bound_value_by_integer(amount, counters, True) for amount in (loop.hi, loop.trips))
    inside = around.with_symbol(loop.variable, (lo,), (hi - 1,))
    return replace(loop, lo=lo, hi=hi, trips=trips, facts=around, inside=inside, holds=())


def _relax_reference(reference: Reference, chain: Chain) -> Reference:
    """Relax the subscripts along the row in the variables of all loops but the innermost; accesses become uncertain."""
    around, along = _loop_variables(chain[:-1]), contiguous_dimension(reference.array)
    place = list(reference.place)
    interval = place[along]
    if interval is not None:
        place[along] = (
            _bound_value_by_integer(interval[0], around, False),
            _bound_value_by_integer(interval[1], around, True),
        )
    accesses = tuple(replace(access, certain=False, shared=None) for access in reference.accesses)
    return replace(reference, place=tuple(place), chain=chain, accesses=accesses)


def _loop_variables(chain: Chain) -> Counters:
    return frozenset(loop.variable for loop in chain)


def _bound_value_by_integer(value: Poly, counters: Counters, upper: bool) -> Poly:
    """Bound a value by an integer without floors of `counters`, from above if `upper`, else from below; return the
    value itself if no bound is found.
    """
    bound = replace_atoms_by_bounds(value, lambda atom: find_floor_by_number(atom, counters), Facts(), upper)
    if bound is None or bound == value:
        return value
    if a.is_integral(bound):
        return bound
    if not counters.isdisjoint(bound.names):
        return value
    return a.floor_div(bound, ONE) if upper else -a.floor_div(-bound, ONE)
