"""Windows that hold ever more, or ever less: what lines save that stay from each iteration of a loop to the next.

Where an iteration touches all that the one before touched, or the other way round, lines that stay are chosen once:
those of one iteration, the one of `TURN`. Every iteration behind the first then finds those that it shares with the
one before, which it would have to fetch if nothing stayed: as many as the rows have, or so many words/L at least.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import combinations, permutations

from archline.algebra import atoms as a
from archline.algebra.effort import TooComplexError
from archline.algebra.facts import Facts
from archline.algebra.maximise import direction
from archline.algebra.polynomial import ONE, ZERO, Poly
from archline.algebra.sums.summation import UnresolvedError, sum_over
from archline.analysis.cache.footprint.union import Union
from archline.analysis.cache.footprint.upper import ROW, Reference
from archline.analysis.cache.footprint.windows import is_known, slope_of
from archline.analysis.cache.residency.base import rows_of
from archline.analysis.cache.residency.stream import walked
from archline.ir.factored import UnboundedError, most_in
from archline.ir.layout import LINE, ClosedInterval
from archline.ir.tree import Access, Array, Chain, Loop, Walk, contiguous_dimension
from archline.records import field, record, replace

TURN = "turn "
"""No program has such a name."""
Sweep = tuple[tuple[Loop, Poly], ...]
"""Loops, and the subscript that each moves."""
Windows = tuple[Poly, bool]
"""The lines that an iteration holds, and whether they become more."""


@record(eq=False)
class Growing:
    """With so many `lines` that stay while `loop` runs, each of `groups` saves `saved`; both in terms of `TURN`.

    `TURN` is any counter from `first` to `last`, where there is one, from where a run of the loop begins if runs begin
    in different places. It is saved beside units that keep nothing of the references of a group from one iteration of
    the loop to the next; if they are `passing`, beside those that count all lines that an iteration may pass.
    """

    groups: tuple[tuple[Reference, ...], ...] = field(repr=False)
    loop: Loop
    lines: Poly
    saved: Poly
    first: Poly
    last: Poly
    passing: bool = False


def growing(references: Sequence[Reference]) -> Iterator[Growing]:
    """What may stay of the one array of some references, for each loop around whose windows hold ever more or less."""
    alike: dict[object, Growing] = {}
    subjects = _subjects(references)
    for subject in subjects:
        for depth in range(1, len(subject[0].chain)):
            found = _found(_alone, [subject], depth)
            if found is not None:
                key = _place(subject[0], depth, found)
                groups = (*alike[key].groups, *found.groups) if key in alike else found.groups
                alike[key] = replace(found, groups=groups)
    yield from alike.values()
    for one, other in combinations(subjects, 2):
        for depth in range(1, len(one[0].chain)):
            if one[0].chain[:depth] == other[0].chain[:depth]:
                found = _found(_side_by_side, [one, other], depth)
                if found is not None:
                    yield found
    yield from _passed(references)


def _passed(references: Sequence[Reference]) -> Iterator[Growing]:
    """Lines that a walk of the data may pass, from the beginning of a row on, in each iteration of the loop around."""
    for reference in references:
        walk, depth, array = reference.walk, walked(reference), reference.array
        if walk is None or not depth or array.moves or array.strided or array.layout == "zmorton":
            continue
        with suppress(UnresolvedError, UnboundedError, TooComplexError):
            passed = _passing(reference, walk, depth)
            if passed is not None:
                yield replace(passed, passing=True)


def _passing(reference: Reference, walk: Walk, depth: int) -> Growing | None:
    """Those from the same place in all iterations, up to one that does not become less."""
    if walk.bounds is None:
        return None
    low, high = walk.bounds
    chain, loop = reference.chain[:depth], reference.chain[depth - 1]
    steady = not any(loop.variable in end.names for rows in rows_of(reference) if rows for end in rows)
    if low or not steady or any(each.trips != each.hi - each.lo for each in chain):
        return None
    rises = _senses([(high, 1)], loop, loop.facts) == {1} and loop.inside.nonnegative(high + 1)
    return _staying((reference,), chain, a.ceil_div(high + 1, LINE), True) if rises else None


def _place(reference: Reference, depth: int, found: Growing) -> object:
    """The same for references that touch the same places of a vector in each iteration: as many from end to end."""
    whole = len(reference.array.extents) == 1
    return id(found.loop), tuple(reference.lines(depth).box) if whole else id(reference), found.lines


def _subjects(references: Sequence[Reference]) -> list[tuple[Reference, Access]]:
    """References with an access that every iteration makes, whose lines are those of rows that stay where they are."""
    found = []
    for reference in references:
        array = reference.array
        access = next((each for each in reference.accesses if each.certain and not each.when), None)
        if access is None or array.moves or array.layout == "zmorton" or array.strided or None in access.place:
            continue
        found.append((reference, access))
    return found


def _found(
    way: Callable[[Sequence[tuple[Reference, Sweep]], Loop], Windows | None],
    subjects: Sequence[tuple[Reference, Access]],
    depth: int,
) -> Growing | None:
    """What stays from one iteration of the innermost of so many loops to the next."""
    chain = subjects[0][0].chain[:depth]
    parts = []
    for reference, access in subjects:
        sweep = _swept(access, reference.chain, depth)
        if sweep is None or any(each.trips != each.hi - each.lo for each in (*chain, *(each for each, _ in sweep))):
            return None
        parts.append((reference, sweep))
    try:
        known = way(parts, chain[-1])
        return None if known is None else _staying(tuple(reference for reference, _ in parts), chain, *known)
    except (UnresolvedError, UnboundedError, TooComplexError):
        return None


def _staying(references: tuple[Reference, ...], chain: Chain, lines: Poly, rises: bool) -> Growing | None:
    """The sum over all iterations, for windows of so many lines."""
    loop, outer = chain[-1], {each.variable for each in chain[:-1]}
    # Where each run of the loop begins elsewhere, iterations are counted from there.
    base = loop.lo if rises and outer & loop.lo.names else ZERO
    turn = base + Poly.symbol(TURN)
    chosen = lines.substitute({loop.variable: turn})
    if outer & (chosen.names | (loop.lo - base if rises else loop.hi).names):
        return None
    first, last = -_greatest(base - loop.lo, chain[:-1]), _greatest(loop.hi - 1 - base, chain[:-1])
    saved = (_growth if rises else _decline)(lines, loop, turn, loop.facts.with_symbol(TURN, (first,), (last,)))
    for each in reversed(chain[:-1]):
        saved = sum_over(saved, each.variable, each.lo, each.hi, each.facts.with_symbol(TURN, (first,), (last,)))
    if not all(map(is_known, (chosen, saved, first, last))):
        return None
    return Growing((references,), loop, chosen, saved, first, last)


def _alone(parts: Sequence[tuple[Reference, Sweep]], loop: Loop) -> Windows | None:
    """The lines of one reference."""
    ((reference, sweep),) = parts
    rises = _rises(sweep, loop)
    if rises is None:
        return None
    window, words = reference.lines(reference.chain.index(loop) + 1), _words(sweep)
    entries = window.box[contiguous_dimension(reference.array)]
    rows = [(loop.variable, first, end, around) for loop, first, end, around in window.ranges]
    lines = _of_rows(reference.array, entries, rows, window.facts, words)
    return words * LINE**-1 if lines is None else lines, rises


def _of_rows(
    array: Array, entries: ClosedInterval, rows: Sequence[tuple[str, Poly, Poly, Facts]], facts: Facts, words: Poly
) -> Poly | None:
    """The lines of so many words, where they fill rows from where they begin to their ends."""
    low, high = entries
    wide = high - low + 1
    if not array.aligned or not (facts.positive(wide) if low else facts.nonnegative(wide)):
        return None
    lines = a.floor_div(high, LINE) - a.floor_div(low, LINE) + 1
    try:
        for name, first, end, around in reversed(rows):
            lines, wide = (sum_over(each, name, first, end, around) for each in (lines, wide))
            facts = around
    except (UnresolvedError, TooComplexError):
        return None
    # As many words as the rows have between their ends: then they are those.
    return None if facts.simplify(wide - words) else lines


def _words(sweep: Sweep) -> Poly:
    words = ONE
    for each, _ in reversed(sweep):
        words = sum_over(words, each.variable, each.lo, each.hi, each.facts)
    return words


def _side_by_side(parts: Sequence[tuple[Reference, Sweep]], loop: Loop) -> Windows | None:
    """The lines of two references that fill rows from end to end, one behind the other, as LU's triangle."""
    references = [reference for reference, _ in parts]
    depth = references[0].chain.index(loop) + 1
    union = Union(references, depth)
    if union.by_row is None:
        return None
    (first, last), (low, high) = union.by_row.rows, union.by_row.entries
    facts = union.facts.with_symbol(ROW, (first,), (last,))
    if not facts.nonnegative(high - low + 1):
        return None
    end = union.facts.maximum(first, last + 1)
    words = sum_over(high - low + 1, ROW, first, end, union.facts)
    # Apart from each other, and as many as the rows have: then they are those of the rows.
    if union.facts.simplify(words - sum((_words(sweep) for _, sweep in parts), ZERO)):
        return None
    ends = [rows.entries for rows in union.parts if rows is not None]
    if not any(facts.nonnegative(after[0] - before[1] - 1) for before, after in permutations(ends)):
        return None
    senses = _senses(((first, -1), (last, 1)), loop, loop.facts) | _senses(((low, -1), (high, 1)), loop, facts)
    if len(senses) != 1 or None in senses:
        return None
    lines = _of_rows(references[0].array, (low, high), [(ROW, first, end, union.facts)], facts, words)
    return words * LINE**-1 if lines is None else lines, senses == {1}


def _greatest(value: Poly, chain: Chain) -> Poly:
    for loop in reversed(chain):
        value = most_in(value, loop, loop.facts)
    return value


def _growth(lines: Poly, loop: Loop, turn: Poly, facts: Facts) -> Poly:
    """What iterations share with the one before, the chosen one at most; without any it is no more than nothing."""
    middle = facts.maximum(loop.lo, facts.minimum(loop.hi - 1, turn))
    small = sum_over(lines, loop.variable, loop.lo, middle, facts)
    return small + (loop.hi - 1 - middle) * lines.substitute({loop.variable: turn})


def _decline(lines: Poly, loop: Loop, turn: Poly, facts: Facts) -> Poly:
    """The same where ever less is touched: before the chosen one what that one touches, then each itself."""
    last = loop.hi - 1
    middle = facts.minimum(last, facts.maximum(loop.lo, turn))
    small = sum_over(lines, loop.variable, middle + 1, loop.hi, facts)
    return small + (middle - loop.lo) * lines.substitute({loop.variable: turn})


def _rises(sweep: Sweep, loop: Loop) -> bool | None:
    """Whether each iteration sweeps over what the one before does (True), or the other way round; None: neither."""
    senses: set[int | None] = set()
    for each, subscript in sweep:
        ends = each.lo, each.hi
        if loop.variable in subscript.names:
            # It begins elsewhere in each iteration: what counts is from where to where it goes.
            if not _is_apart(each, sweep):
                return None
            turned = slope_of(subscript, each.variable) == -ONE
            first, last = (subscript.substitute({each.variable: end}) for end in (each.lo, each.hi - 1))
            ends = (last, first) if turned else (first, last)
        senses |= _senses(((ends[0], -1), (ends[1], 1)), loop, each.facts)
    return None if len(senses) != 1 or None in senses else senses == {1}


def _is_apart(loop: Loop, sweep: Sweep) -> bool:
    """Whether the ends of a loop have nothing to do with the other loops of a sweep."""
    others = {each.variable for each, _ in sweep} - {loop.variable}
    named = {name for each, _ in sweep if each is not loop for end in (each.lo, each.hi) for name in end.names}
    return not others & (loop.lo.names | loop.hi.names) and loop.variable not in named


def _senses(ends: Sequence[tuple[Poly, int]], loop: Loop, facts: Facts) -> set[int | None]:
    """Which way ends move in a loop, times a sign; None where it is not known."""
    found: set[int | None] = set()
    for end, sense in ends:
        if loop.variable in end.names:
            inside = facts.with_symbol(loop.variable, (loop.lo,), (loop.hi - 1,))
            sign = direction(end, loop.variable, loop.hi, facts, inside)
            found.add(None if sign is None else sign * sense)
    return found


def _swept(access: Access, chain: Chain, depth: int) -> Sweep | None:
    """The loops that an iteration runs through, each of which moves another subscript: so many places are touched.

    None where they are fewer, or not known to be touched.
    """
    now, inner = chain[depth - 1].variable, chain[depth:]
    moving: dict[int, Poly] = {}
    for subscript in access.place:
        assert subscript is not None
        movers = [loop for loop in inner if loop.variable in subscript.names]
        if not movers and now not in subscript.names:
            continue
        if len(movers) != 1 or id(movers[0]) in moving:
            return None
        slope = slope_of(subscript, movers[0].variable)
        if slope is None or not slope.is_constant or (now in subscript.names and slope not in (ONE, -ONE)):
            return None
        moving[id(movers[0])] = subscript
    others = [loop for loop in inner if id(loop) not in moving]
    if not all(loop.facts.positive(loop.hi - loop.lo) for loop in others):
        return None
    sweep = tuple((loop, moving[id(loop)]) for loop in inner if id(loop) in moving)
    fixed = {loop.variable for loop in others}
    return None if any(fixed & (loop.lo.names | loop.hi.names) for loop, _ in sweep) else sweep
