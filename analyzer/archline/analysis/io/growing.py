"""Windows that hold ever more, or ever less: what lines save that stay from each iteration of a loop to the next.

Where an iteration touches all that the one before touched, or the other way round, lines that stay are chosen once:
those of one iteration, the one of `TURN`. Every iteration behind the first then finds those that it shares with the
one before, so many words/L at least, which it would have to fetch if nothing stayed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from archline.algebra.facts import Facts
from archline.algebra.maximum import direction
from archline.algebra.polynomial import ONE, Poly
from archline.algebra.summation import UnresolvedError, sum_over
from archline.analysis.io.accesses import Access, Chain, Loop
from archline.analysis.io.footprint import Reference
from archline.analysis.io.product import UnboundedError, most_in
from archline.analysis.io.windows import slope_of

TURN = "turn "
"""No program has such a name."""


@dataclass(frozen=True, eq=False)
class Growing:
    """With words/L lines that stay while `loop` runs, saved/L are not fetched; both in terms of `TURN`.

    `TURN` is any counter from `first` to `last`, where there is one. This holds beside any unit that keeps nothing of
    the reference from one iteration of the loop to the next.
    """

    reference: Reference = field(repr=False)
    loop: Loop
    words: Poly
    saved: Poly
    first: Poly
    last: Poly


def growing(reference: Reference) -> Iterator[Growing]:
    """For each loop around a reference whose windows hold ever more or less what lines save that stay."""
    array, chain = reference.array, reference.chain
    access = next((each for each in reference.accesses if each.certain and not each.when), None)
    if access is None or array.moves or array.layout == "zmorton" or array.strided or None in access.place:
        return
    for depth in range(1, len(chain)):
        try:
            found = _through(reference, access, depth)
        except (UnresolvedError, UnboundedError):
            continue
        if found is not None:
            yield found


def _through(reference: Reference, access: Access, depth: int) -> Growing | None:
    """Lines that stay from one iteration of the innermost of so many loops to the next."""
    chain = reference.chain[:depth]
    loop, sweep = chain[-1], _swept(access, reference.chain, depth)
    if sweep is None or any(each.trips != each.hi - each.lo for each in (*chain, *sweep)):
        return None
    rises = _rises(sweep, loop)
    if rises is None:
        return None
    words = ONE
    for each in reversed(sweep):
        words = sum_over(words, each.variable, each.lo, each.hi, each.facts)
    outer = {each.variable for each in chain[:-1]}
    if outer & (words.names | (loop.lo if rises else loop.hi).names):
        return None
    first, last = -_greatest(-loop.lo, chain[:-1]), _greatest(loop.hi - 1, chain[:-1])
    saved = (_growth if rises else _decline)(words, loop, loop.facts.with_symbol(TURN, (first,), (last,)))
    for each in reversed(chain[:-1]):
        saved = sum_over(saved, each.variable, each.lo, each.hi, each.facts.with_symbol(TURN, (first,), (last,)))
    return Growing(reference, loop, words.substitute({loop.variable: Poly.symbol(TURN)}), saved, first, last)


def _greatest(value: Poly, chain: Chain) -> Poly:
    for loop in reversed(chain):
        value = most_in(value, loop, loop.facts)
    return value


def _growth(words: Poly, loop: Loop, facts: Facts) -> Poly:
    """What iterations share with the one before, `TURN` at most; without iterations it is no more than nothing."""
    turn, lo = Poly.symbol(TURN), loop.lo
    middle = facts.maximum(lo, facts.minimum(loop.hi - 1, turn))
    small = sum_over(words, loop.variable, lo, middle, facts)
    return small + (loop.hi - 1 - middle) * words.substitute({loop.variable: turn})


def _decline(words: Poly, loop: Loop, facts: Facts) -> Poly:
    """The same where ever less is touched: before `TURN` what that one touches, then each itself."""
    turn, last = Poly.symbol(TURN), loop.hi - 1
    middle = facts.minimum(last, facts.maximum(loop.lo, turn))
    small = sum_over(words, loop.variable, middle + 1, loop.hi, facts)
    return small + (middle - loop.lo) * words.substitute({loop.variable: turn})


def _rises(sweep: Chain, loop: Loop) -> bool | None:
    """Whether each iteration sweeps over what the one before does (True), or the other way round; None: neither."""
    signs = set()
    for each in sweep:
        for end, sense in ((each.lo, -1), (each.hi, 1)):
            if loop.variable in end.names:
                facts = each.facts.with_symbol(loop.variable, (loop.lo,), (loop.hi - 1,))
                sign = direction(end, loop.variable, loop.hi, each.facts, facts)
                signs.add(None if sign is None else sign * sense)
    return None if len(signs) != 1 or None in signs else signs == {1}


def _swept(access: Access, chain: Chain, depth: int) -> Chain | None:
    """The loops that an iteration runs through, each of which moves another subscript: so many places are touched.

    None where they are fewer, or not known to be touched.
    """
    inner, moving = chain[depth:], []
    for subscript in access.place:
        assert subscript is not None
        if chain[depth - 1].variable in subscript.names:
            return None
        movers = [loop for loop in inner if loop.variable in subscript.names]
        slopes = [slope_of(subscript, loop.variable) for loop in movers]
        if len(movers) > 1 or any(slope is None or not slope.is_constant for slope in slopes):
            return None
        moving += movers
    if len(set(map(id, moving))) < len(moving):
        return None
    for loop in inner:
        if loop not in moving and not loop.facts.positive(loop.hi - loop.lo):
            return None
    others = {loop.variable for loop in inner if loop not in moving}
    swept = tuple(loop for loop in inner if loop in moving)
    return None if any(others & (loop.lo.names | loop.hi.names) for loop in swept) else swept
