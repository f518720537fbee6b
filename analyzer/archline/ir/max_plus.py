"""Compose the span of code with spawned calls as max-plus affine maps.

Within one frame (an algorithm's body, or one iteration of a parallel loop) let s be the time of the serial
part and p the time at which all pending calls would be joined, p >= s. A piece of code maps them to

    s' = max(s + advance, p + joined),    p' = max(s + finish, p + kept),

with `joined` None if it contains no sync (then `kept` is 0). The maps compose exactly.
"""

from __future__ import annotations

from functools import reduce

from archline.algebra.facts import Facts
from archline.algebra.polynomial import Poly
from archline.ir.amounts import (
    NOTHING,
    Amount,
    KnownAmount,
    UnknownAmount,
    add,
    amount_up_to,
    choose_by_indicator,
    either_amount,
    maximum_amount,
    scale_amount,
)
from archline.records import record


@record
class MaxPlusMap:
    """The map of s and p (see the module) for a piece of code.

    `certain` is False if its sync may not be reached; then `joined` delays the serial part or does not.
    """

    advance: Amount
    finish: Amount
    joined: Amount | None = None
    kept: Amount = NOTHING
    certain: bool = True

    @property
    def serial(self) -> bool:
        """True if the code neither spawns nor syncs."""
        return self.finish is self.advance and self.joined is None


def serial_map(amount: Amount) -> MaxPlusMap:
    """Return the map of code without spawn and sync."""
    return MaxPlusMap(amount, amount)


IDLE = serial_map(NOTHING)
SYNC = MaxPlusMap(NOTHING, NOTHING, NOTHING, NOTHING)


def spawned_map(start: Amount, whole: Amount) -> MaxPlusMap:
    """Return the map of `spawn`: the call's cost before the fork, then its body in parallel with later code."""
    return MaxPlusMap(start, whole)


def compose_maps(first: MaxPlusMap, second: MaxPlusMap, facts: Facts) -> MaxPlusMap:
    """Return the map of `first` followed by `second`."""
    if second.serial and first.serial:
        return serial_map(add(first.advance, second.advance))
    advance = add(first.advance, second.advance)
    if first.finish == first.advance and first.joined is None:
        # `first` leaves no call pending: its time is only added.
        finish = advance if second.finish == second.advance else add(first.advance, second.finish)
        return MaxPlusMap(advance, finish, second.joined, second.kept, second.certain)
    finish = add(first.advance, second.finish)
    if first.finish != first.advance:
        finish = maximum_amount(finish, add(first.finish, second.kept), facts)
    carried = add(first.kept, second.kept)
    joined = None
    if first.joined is not None:
        joined = _delay_at_sync(first, add(first.joined, second.advance))
        carried = maximum_amount(carried, _delay_at_sync(first, add(first.joined, second.finish)), facts)
    if second.joined is not None:
        if first.finish != first.advance:
            advance = maximum_amount(advance, _delay_at_sync(second, add(first.finish, second.joined)), facts)
        through = _delay_at_sync(second, add(first.kept, second.joined))
        joined = through if joined is None else maximum_amount(joined, through, facts)
    if finish == advance:
        finish = advance
    return MaxPlusMap(
        advance, finish, joined, carried, any(part.certain for part in (first, second) if part.joined is not None)
    )


def _delay_at_sync(part: MaxPlusMap, waited: Amount) -> Amount:
    """The delay at the sync of a map: `waited`, or bounds from 0 to that if the sync may not be reached."""
    return waited if part.certain else amount_up_to(waited)


def repeat_map(body: MaxPlusMap, count: Amount) -> MaxPlusMap:
    """Return the map of a piece of code that is executed `count` times in sequence."""
    advance = scale_amount(body.advance, count)
    if body.serial:
        return serial_map(advance)
    if body.finish != body.advance:
        # Calls spawned in one iteration may run in parallel with the next one, or be joined in it.
        late = scale_amount(body.finish, count)
        if isinstance(advance, UnknownAmount) or isinstance(late, UnknownAmount):
            return serial_map(advance if isinstance(advance, UnknownAmount) else late)
        late = KnownAmount(advance.lower, late.upper)
        if body.joined is None:
            return MaxPlusMap(advance, late)
        advance = late
    return MaxPlusMap(advance, advance, amount_up_to(advance), amount_up_to(advance), certain=False)


def choose_map(indicator: Poly, first: MaxPlusMap, second: MaxPlusMap, facts: Facts) -> MaxPlusMap:
    """Return `first` where the indicator is 1, `second` where it is 0; delays at syncs are bounds for both."""
    if indicator.is_constant:
        return first if indicator else second
    advance = choose_by_indicator(indicator, first.advance, second.advance)
    if first.serial and second.serial:
        return serial_map(advance)
    finish = choose_by_indicator(indicator, first.finish, second.finish)
    return MaxPlusMap(advance, finish, *_merge_uncertain(first, second, facts))


def either_map(first: MaxPlusMap, second: MaxPlusMap, facts: Facts) -> MaxPlusMap:
    """Bound a map that is `first` or `second`, as data decides."""
    advance = either_amount(first.advance, second.advance, facts)
    if first.serial and second.serial:
        return serial_map(advance)
    return MaxPlusMap(
        advance, either_amount(first.finish, second.finish, facts), *_merge_uncertain(first, second, facts)
    )


def _merge_uncertain(first: MaxPlusMap, second: MaxPlusMap, facts: Facts) -> tuple[Amount | None, Amount, bool]:
    """Bound `joined`, `kept` and `certain` of one of two maps; a sync that only one has may not be reached."""
    waiting = [amount for amount in (first.joined, second.joined) if amount is not None]
    if not waiting:
        return None, NOTHING, True
    joined = reduce(lambda left, right: _widen_amount(left, right, facts), waiting)
    certain = len(waiting) == 2 and first.certain and second.certain
    return joined, _widen_amount(first.kept, second.kept, facts), certain


def _widen_amount(left: Amount, right: Amount, facts: Facts) -> Amount:
    return left if left == right else amount_up_to(maximum_amount(left, right, facts))
