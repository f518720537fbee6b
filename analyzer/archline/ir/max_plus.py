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
    ZERO_AMOUNT,
    Amount,
    KnownAmount,
    UnknownAmount,
    add_amounts,
    bound_either_amount,
    choose_by_indicator,
    maximum_amount,
    scale_amount,
    widen_to_zero,
)
from archline.records import record


@record
class MaxPlusMap:
    """The map of a piece of code from the times s (serial part) and p (pending spawned calls) before it to those after.

    It is s' = max(s + advance, p + joined), p' = max(s + finish, p + kept). `joined` is None without a sync; `certain`
    is False if a sync may not be reached, and `joined` then may or may not delay the serial part.
    """

    advance: Amount
    finish: Amount
    joined: Amount | None = None
    kept: Amount = ZERO_AMOUNT
    certain: bool = True

    @property
    def serial(self) -> bool:
        """True if the code neither spawns nor syncs."""
        return self.finish is self.advance and self.joined is None


def serial_map(amount: Amount) -> MaxPlusMap:
    """Return the map of code without spawn and sync."""
    return MaxPlusMap(amount, amount)


IDENTITY_MAP = serial_map(ZERO_AMOUNT)
SYNC_MAP = MaxPlusMap(ZERO_AMOUNT, ZERO_AMOUNT, ZERO_AMOUNT, ZERO_AMOUNT)


def spawn_map(start: Amount, whole: Amount) -> MaxPlusMap:
    """Return the map of `spawn`: the serial part advances by `start`, the cost before the fork.

    The spawned call runs in parallel with later code and ends after `whole`.
    """
    return MaxPlusMap(start, whole)


def compose_maps(first: MaxPlusMap, second: MaxPlusMap, facts: Facts) -> MaxPlusMap:
    """Return the map of `first` followed by `second`."""
    if second.serial and first.serial:
        return serial_map(add_amounts(first.advance, second.advance))
    advance = add_amounts(first.advance, second.advance)
    if first.finish == first.advance and first.joined is None:
        # `first` leaves no call pending: its time is only added.
        finish = advance if second.finish == second.advance else add_amounts(first.advance, second.finish)
        return MaxPlusMap(advance, finish, second.joined, second.kept, second.certain)
    finish = add_amounts(first.advance, second.finish)
    if first.finish != first.advance:
        finish = maximum_amount(finish, add_amounts(first.finish, second.kept), facts)
    carried = add_amounts(first.kept, second.kept)
    joined = None
    if first.joined is not None:
        joined = _delay_at_sync(first, add_amounts(first.joined, second.advance))
        carried = maximum_amount(carried, _delay_at_sync(first, add_amounts(first.joined, second.finish)), facts)
    if second.joined is not None:
        if first.finish != first.advance:
            advance = maximum_amount(advance, _delay_at_sync(second, add_amounts(first.finish, second.joined)), facts)
        through = _delay_at_sync(second, add_amounts(first.kept, second.joined))
        joined = through if joined is None else maximum_amount(joined, through, facts)
    if finish == advance:
        finish = advance
    return MaxPlusMap(
        advance, finish, joined, carried, any(part.certain for part in (first, second) if part.joined is not None)
    )


def _delay_at_sync(part: MaxPlusMap, waited: Amount) -> Amount:
    """Return the delay at the sync of a map: `waited`, or bounds from 0 to `waited` if the sync may not be reached."""
    return waited if part.certain else widen_to_zero(waited)


def repeat_map(body: MaxPlusMap, count: Amount) -> MaxPlusMap:
    """Return the map of a piece of code that is executed `count` times in sequence.

    It has only bounds if spawned calls are pending at the end of the piece.
    """
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
    return MaxPlusMap(advance, advance, widen_to_zero(advance), widen_to_zero(advance), certain=False)


def bound_delay(body: MaxPlusMap) -> MaxPlusMap:
    """Return a serial map that bounds the delay of the code after `body`, whose spawned calls may be pending or not."""
    if body.serial:
        return body
    if isinstance(body.advance, UnknownAmount) or isinstance(body.finish, UnknownAmount):
        return serial_map(body.advance if isinstance(body.advance, UnknownAmount) else body.finish)
    return serial_map(KnownAmount(body.advance.lower, body.finish.upper))


def select_map(indicator: Poly, first: MaxPlusMap, second: MaxPlusMap, facts: Facts) -> MaxPlusMap:
    """Return `first` where the indicator is 1, `second` where it is 0; delays at syncs are bounds for both."""
    if indicator.is_constant:
        return first if indicator else second
    advance = choose_by_indicator(indicator, first.advance, second.advance)
    if first.serial and second.serial:
        return serial_map(advance)
    finish = choose_by_indicator(indicator, first.finish, second.finish)
    return MaxPlusMap(advance, finish, *_merge_sync_delays(first, second, facts))


def bound_either_map(first: MaxPlusMap, second: MaxPlusMap, facts: Facts) -> MaxPlusMap:
    """Bound a map that is `first` or `second`, as data decides."""
    advance = bound_either_amount(first.advance, second.advance, facts)
    if first.serial and second.serial:
        return serial_map(advance)
    return MaxPlusMap(
        advance, bound_either_amount(first.finish, second.finish, facts), *_merge_sync_delays(first, second, facts)
    )


def _merge_sync_delays(first: MaxPlusMap, second: MaxPlusMap, facts: Facts) -> tuple[Amount | None, Amount, bool]:
    """Bound `joined`, `kept` and `certain` of one of two maps; a sync that only one has may not be reached."""
    waiting = [amount for amount in (first.joined, second.joined) if amount is not None]
    if not waiting:
        return None, ZERO_AMOUNT, True
    joined = reduce(lambda left, right: _bound_either_from_zero(left, right, facts), waiting)
    certain = len(waiting) == 2 and first.certain and second.certain
    return joined, _bound_either_from_zero(first.kept, second.kept, facts), certain


def _bound_either_from_zero(left: Amount, right: Amount, facts: Facts) -> Amount:
    return left if left == right else widen_to_zero(maximum_amount(left, right, facts))
