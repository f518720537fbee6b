"""Span of a stretch of code with spawned calls still running: max-plus affine maps.

Within one frame (an algorithm's body, or one iteration of a parallel loop) let s be the time the serial part has
reached and p the time at which all that is pending would be joined, p >= s. A stretch of code maps

    s' = max(s + advance, p + joined),    p' = max(s + finish, p + kept),

with `joined` None where no sync stands in it (then `kept` is 0). The maps compose exactly.
"""

from __future__ import annotations

from functools import reduce

from archline.algebra.facts import Facts
from archline.algebra.polynomial import Poly
from archline.ir.amounts import NOTHING, Amount, Known, Unknown, add, either, later, times, up_to, weigh
from archline.records import record


@record
class MaxPlusMap:
    """See the module. `certain`: whether a sync is always reached; where none is, what `joined` says may not happen."""

    advance: Amount
    finish: Amount
    joined: Amount | None = None
    kept: Amount = NOTHING
    certain: bool = True

    @property
    def serial(self) -> bool:
        """Whether it neither spawns nor syncs."""
        return self.finish is self.advance and self.joined is None


def serial(amount: Amount) -> MaxPlusMap:
    """A stretch without spawn and sync."""
    return MaxPlusMap(amount, amount)


IDLE = serial(NOTHING)
SYNC = MaxPlusMap(NOTHING, NOTHING, NOTHING, NOTHING)


def spawned(start: Amount, whole: Amount) -> MaxPlusMap:
    """`spawn`: what the call itself costs before the fork, then the rest of it runs in parallel with what follows."""
    return MaxPlusMap(start, whole)


def then(first: MaxPlusMap, second: MaxPlusMap, facts: Facts) -> MaxPlusMap:
    """One stretch after the other."""
    if second.serial and first.serial:
        return serial(add(first.advance, second.advance))
    advance = add(first.advance, second.advance)
    if first.finish == first.advance and first.joined is None:
        # Nothing is pending: a sync has nothing to wait for, and what came before only shifts the rest.
        finish = advance if second.finish == second.advance else add(first.advance, second.finish)
        return MaxPlusMap(advance, finish, second.joined, second.kept, second.certain)
    finish = add(first.advance, second.finish)
    if first.finish != first.advance:
        finish = later(finish, add(first.finish, second.kept), facts)
    kept = add(first.kept, second.kept)
    joined = None
    if first.joined is not None:
        joined = _if_reached(first, add(first.joined, second.advance))
        kept = later(kept, _if_reached(first, add(first.joined, second.finish)), facts)
    if second.joined is not None:
        if first.finish != first.advance:
            advance = later(advance, _if_reached(second, add(first.finish, second.joined)), facts)
        through = _if_reached(second, add(first.kept, second.joined))
        joined = through if joined is None else later(joined, through, facts)
    if finish == advance:
        finish = advance
    return MaxPlusMap(
        advance, finish, joined, kept, any(each.certain for each in (first, second) if each.joined is not None)
    )


def _if_reached(path: MaxPlusMap, waited: Amount) -> Amount:
    """What waiting at the path's sync takes; one that may not be reached waits for nothing at least."""
    return waited if path.certain else up_to(waited)


def repeated(each: MaxPlusMap, count: Amount) -> MaxPlusMap:
    """The same stretch a number of times, one after the other."""
    advance = times(each.advance, count)
    if each.serial:
        return serial(advance)
    if each.finish != each.advance:
        # What one round spawned may run in parallel with the next, or be waited for in it.
        late = times(each.finish, count)
        if isinstance(advance, Unknown) or isinstance(late, Unknown):
            return serial(advance if isinstance(advance, Unknown) else late)
        late = Known(advance.lower, late.upper)
        if each.joined is None:
            return MaxPlusMap(advance, late)
        advance = late
    return MaxPlusMap(advance, advance, up_to(advance), up_to(advance), certain=False)


def choose(taken: Poly, first: MaxPlusMap, second: MaxPlusMap, facts: Facts) -> MaxPlusMap:
    """`first` where the indicator `taken` is 1, `second` where it is 0."""
    if taken.is_constant:
        return first if taken else second
    advance = weigh(taken, first.advance, second.advance)
    if first.serial and second.serial:
        return serial(advance)
    finish = weigh(taken, first.finish, second.finish)
    return MaxPlusMap(advance, finish, *_uncertain(first, second, facts))


def either_path(first: MaxPlusMap, second: MaxPlusMap, facts: Facts) -> MaxPlusMap:
    """One of the two, the data decides which."""
    advance = either(first.advance, second.advance, facts)
    if first.serial and second.serial:
        return serial(advance)
    return MaxPlusMap(advance, either(first.finish, second.finish, facts), *_uncertain(first, second, facts))


def _uncertain(first: MaxPlusMap, second: MaxPlusMap, facts: Facts) -> tuple[Amount | None, Amount, bool]:
    """joined, kept and certain of an alternative: a sync in one arm only may not be reached."""
    waiting = [each for each in (first.joined, second.joined) if each is not None]
    if not waiting:
        return None, NOTHING, True
    joined = reduce(lambda left, right: _widen(left, right, facts), waiting)
    certain = len(waiting) == 2 and first.certain and second.certain
    return joined, _widen(first.kept, second.kept, facts), certain


def _widen(left: Amount, right: Amount, facts: Facts) -> Amount:
    return left if left == right else up_to(later(left, right, facts))
