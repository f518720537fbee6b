"""Count the words and messages of an exchange: the share of a given processor, or the maximum over processors."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from archline.algebra import atoms as a
from archline.algebra.factors import divide_terms
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Poly
from archline.analysis.communication.floors import (
    bound_floor_differences,
    fold_ceilings,
    is_positive,
    iterate_lower_bounds,
    readable_upper_bound,
)
from archline.analysis.communication.place import GridAxis, Position
from archline.ir.amounts import (
    UNIT_AMOUNT,
    ZERO_AMOUNT,
    Amount,
    KnownAmount,
    UnknownAmount,
    exact_amount,
    map_bounds,
    maximum_amount,
    scale_amount,
    widen_to_zero,
)
from archline.ir.scope import NotStaticError, known_value, static_value
from archline.language import syntax as s
from archline.language.model import Module
from archline.records import record

METRICS = ("words", "messages", "node_words", "node_messages")
AmountByMetric = Mapping[str, Amount]


@record(slots=True)
class _ExchangeSide:
    """One direction of an exchange, to or from a partner: its clause (partner and condition) and its buffer."""

    clause: s.Clause
    buffer: s.Expr | None
    place: Position

    @property
    def position_with_facts(self) -> Position:
        """The position on processors where the condition holds, with the condition as a fact."""
        return self.participating_position.with_conditions_as_facts

    @property
    def participating_position(self) -> Position:
        """The position on processors where the condition holds, for sums over all processors."""
        return self.place if self.clause.when is None else self.place.assuming(self.clause.when)


def count_exchange(
    module: Module, exchange: s.Communicate, place: Position, longest: Poly | None = None
) -> AmountByMetric:
    """Count the words and messages of an exchange, between nodes and within a node: the larger of sent and received.

    w words are one message, or ceil(w/K) messages if K is the length of the `longest` one.
    """
    clauses = {clause.keyword: clause for clause in exchange.clauses}
    sides = [
        _ExchangeSide(clauses["to"], exchange.sent_buffer, place),
        _ExchangeSide(clauses["from"], exchange.received, place),
    ]
    shares = [_count_side(module, side, longest) for side in sides]
    return {name: _larger_amount(shares[0][name], shares[1][name], place) for name in shares[0]}


def sends_everywhere(module: Module, exchange: s.Communicate, place: Position) -> bool:
    """Test whether each processor of an exchange without conditions is known to send something."""
    return _count_messages(_count_buffer_words(module, exchange.buffer, place), place, None) == UNIT_AMOUNT


def _larger_amount(left: Amount, right: Amount, place: Position) -> Amount:
    """Return the maximum of two amounts; if neither is proved larger, the shorter of both lower bounds may be used."""
    facts = place.facts
    larger = _simplify_amount(maximum_amount(left, right, facts), facts)
    if place.average is not None and isinstance(left, KnownAmount) and isinstance(right, KnownAmount):
        # If no mean is known to be larger, the shorter formula that is not 0 is used.
        short = min((left.lower, right.lower), key=lambda value: (not value, len(value.terms)))
        return (
            exact_amount(short)
            if isinstance(larger, KnownAmount) and len(larger.lower.terms) > len(short.terms)
            else larger
        )
    if (
        isinstance(left, UnknownAmount)
        or isinstance(right, UnknownAmount)
        or isinstance(larger, UnknownAmount)
        or place.ranged
    ):
        return larger
    if left.lower != right.lower and any(isinstance(atom, a.Floor) for atom in larger.lower.atoms_within()):
        return KnownAmount(min(left.lower, right.lower, key=lambda value: len(value.terms)), larger.upper)
    return larger


def _count_side(module: Module, side: _ExchangeSide, longest: Poly | None) -> AmountByMetric:
    when = _condition_bounds(side.clause.when, side.place)
    if when.upper == ZERO:
        return dict.fromkeys(METRICS, ZERO_AMOUNT)
    words = _count_buffer_words(module, side.buffer, side.position_with_facts)
    if not when.exact:
        words = _clamp_words(words, side.position_with_facts.facts)
    messages = UNIT_AMOUNT if side.buffer is None else _count_messages(words, side.position_with_facts, longest)
    result: dict[str, Amount] = {}
    for prefix, moved in zip(("", "node_"), _movement_indicators(side), strict=True):
        sent = ZERO_AMOUNT if side.buffer is None else scale_amount(words, moved)
        # The indicator of the condition is multiplied last, as facts under the condition would simplify it to 1.
        result[f"{prefix}words"] = scale_amount(when, _bound_amount_over_processors(sent, side))
        result[f"{prefix}messages"] = scale_amount(
            when, _bound_amount_over_processors(scale_amount(messages, moved), side)
        )
    return result


def _bound_amount_over_processors(amount: Amount, side: _ExchangeSide) -> Amount:
    """Bound the words or messages that processors send, or receive, where the condition holds, over all processors."""
    inside, span = side.position_with_facts, side.clause.span
    if inside.average is not None:
        return side.participating_position.bound_amount_over_processors(amount, span)
    return inside.bound_amount_over_processors(
        _simplify_amount(amount, inside.facts), span, "the words of this exchange"
    )


def _simplify_amount(amount: Amount, facts: Facts) -> Amount:
    return map_bounds(amount, facts.simplify)


def _count_buffer_words(module: Module, buffer: s.Expr | None, place: Position) -> Amount:
    if buffer is None or not module.is_view(buffer):
        return UNIT_AMOUNT
    try:
        extents = [static_value(extent, place) for extent in module.shapes[buffer]]
    except NotStaticError as problem:
        return UnknownAmount(f"the number of words sent: {problem.reason}", buffer.span)
    facts = place.facts
    words = fold_ceilings(facts.simplify(prod(extents, start=ONE)))
    moves = place.depends_on_coordinates(words) and place.average is None
    return bound_floor_differences(words, facts, place.fixed) if moves else exact_amount(words)


def _count_messages(words: Amount, place: Position, longest: Poly | None) -> Amount:
    """Count the messages for a number of words w: 1 if w > 0, or ceil(w/K) if K (`longest`) is not None.

    K is the maximum number of words of a message.
    """
    if isinstance(words, UnknownAmount):
        # A step has at most one message, even if the number of words depends on data.
        return KnownAmount(ZERO, ONE)
    if longest is not None:
        return map_bounds(words, lambda value: _divide_into_messages(value, longest, place.facts))
    facts = place.facts
    # The number of words is an integer: words > 0 -> words >= 1
    if facts.positive(words.lower) or any(
        is_positive(bound, facts) for bound in iterate_lower_bounds(words.lower, facts)
    ):
        return UNIT_AMOUNT
    # w*(P - 2^(ceil(log2(P)) - 1)) lies between w/2 and w*P/2.
    least, most = -readable_upper_bound(-words.lower, facts), readable_upper_bound(words.upper, facts)
    return KnownAmount(_nonzero_indicator(least, ZERO, place), _nonzero_indicator(most, ONE, place))


def _divide_into_messages(words: Poly, longest: Poly, facts: Facts) -> Poly:
    """Return ceil(w/K), also for bounds w that are fractions."""
    return a.ceil_div(words, longest) if facts.integral(words) else -a.floor_div(-words, longest)


def _nonzero_indicator(words: Poly, otherwise: Poly, place: Position) -> Poly:
    """Return the indicator that a number of words is not 0, or `otherwise` if it has no short form in the sizes."""
    if len(words.terms) == 1:
        ((monomial, coefficient),) = words.terms.items()
        rest = [factor for factor in monomial if not place.facts.positive(Poly({(factor,): coefficient}))]
        words = Poly({tuple(rest): ONE.constant_term})
    rough = any(isinstance(atom, a.Floor | a.CeilLog2 | a.Exponential) for atom in words.atoms_within())
    if rough or not words.names <= place.fixed:
        return otherwise
    facts = place.facts
    return facts.simplify(facts.positive_part(words) - facts.positive_part(words - 1))


def _movement_indicators(side: _ExchangeSide) -> tuple[Amount, Amount]:
    """Return the indicators that words move to another node, and that they move to a processor of the same node."""
    inside = side.position_with_facts
    away, near = ZERO_AMOUNT, ZERO_AMOUNT
    # The axes that `split` created come last; an exchange does not move along them.
    for axis, value in zip(inside.axes.values(), side.clause.values, strict=False):
        differs = _difference_indicator(value, axis, inside)
        if axis.within is not True:
            away = _either_indicator(away, differs)
        if axis.within is not False:
            near = _either_indicator(near, differs)
        if axis.within is None:
            away = widen_to_zero(away)  # type: ignore[assignment]
    within = (
        scale_amount(near, KnownAmount(ONE - away.upper, ONE - away.lower)) if near is not ZERO_AMOUNT else ZERO_AMOUNT
    )
    return away, within


def _either_indicator(left: KnownAmount, right: KnownAmount) -> KnownAmount:
    if left is ZERO_AMOUNT:
        return right
    return KnownAmount(
        left.lower + right.lower - left.lower * right.lower, left.upper + right.upper - left.upper * right.upper
    )


def _condition_bounds(condition: s.Expr | None, place: Position) -> KnownAmount:
    """Bound the indicator of a condition over all processors; from 0 to 1 if it depends on data or coordinates."""
    if condition is None:
        return UNIT_AMOUNT
    if place.average is not None and not place.has_common_indicator(condition):
        # For an average, the weight of the processors includes the condition.
        return UNIT_AMOUNT
    indicator = place.bound_indicator(condition)
    if not place.depends_on_coordinates(indicator.upper):
        return indicator if not place.depends_on_coordinates(indicator.lower) else KnownAmount(ZERO, indicator.upper)
    most = place.bound_indicator_anywhere_above(indicator.upper, condition.span)
    match condition:
        case s.Binary(op="and", left=left, right=right) if most == ONE:
            parts = (_condition_bounds(part, place).upper for part in (left, right))
            most = next((part for part in parts if part != ONE), ONE)
        case _:
            pass
    return KnownAmount(ZERO, most)


def _clamp_words(words: Amount, facts: Facts) -> Amount:
    """Bound words from below by 0, as the length of a buffer may be negative where its condition does not hold."""
    # The number of words is an integer: words > -1 -> words >= 0
    if isinstance(words, KnownAmount) and any(
        is_positive(bound + 1, facts) for bound in iterate_lower_bounds(words.lower, facts)
    ):
        return words
    return map_bounds(words, facts.positive_part)


def _difference_indicator(value: s.Expr, axis: GridAxis, place: Position) -> KnownAmount:
    """Bound the indicator that the coordinate `value` of a partner on an axis differs from that of the processor."""
    facts = place.facts
    most = _extent_indicator(axis.extent, facts)
    match value:
        case s.Binary(op="%", left=left, right=right):
            partner, around = known_value(left, place), known_value(right, place)
            if partner is None or around is None:
                return KnownAmount(ZERO, most)
            if facts.simplify(around - axis.extent) == ZERO:
                distance = _substitute_fixed(facts.simplify(partner - axis.coordinate), place)
                return _rotation_indicator(distance, axis.extent, facts, place, most)
        case _:
            pass
    partner = known_value(value, place)
    if partner is None:
        return KnownAmount(ZERO, most)
    distance = facts.simplify(partner - axis.coordinate)
    if distance == ZERO:
        return ZERO_AMOUNT
    if facts.positive(distance) or facts.positive(-distance):
        return UNIT_AMOUNT
    # A distance that is not a multiple of the extent is not 0: q = (root + d) % p is not the root's coordinate.
    if _rotation_indicator(distance, axis.extent, facts, place, most) is UNIT_AMOUNT:
        return UNIT_AMOUNT
    settled = _substitute_fixed(distance, place)
    if place.average is not None:
        return exact_amount(_inequality_indicator(settled, facts))
    return (
        KnownAmount(ZERO, most)
        if place.depends_on_coordinates(settled) or settled == distance
        else exact_amount(_inequality_indicator(settled, facts))
    )


def _substitute_fixed(value: Poly, place: Position) -> Poly:
    """Substitute coordinates that have a single value under the conditions, such as r = q under `when r == q`."""
    bounds = place.facts.bounds
    for name, _ in place.ranged:
        only = [
            bound
            for bound in bounds[name].lower
            if bound in bounds[name].upper and not place.depends_on_coordinates(bound)
        ]
        # A symbol introduced later, such as a loop variable, may be bounded by the coordinate on both sides.
        coordinate = Poly.symbol(name)
        same = [
            Poly.symbol(other)
            for other, bound in bounds.items()
            if coordinate in bound.lower and coordinate in bound.upper
        ]
        average = None if place.average is None else place.average.find_single_value(name)
        values = [average] if average is not None and not place.depends_on_coordinates(average) else only or same
        if values:
            value = value.substitute({name: values[0]})
    return place.facts.simplify(value)


def _inequality_indicator(difference: Poly, facts: Facts) -> Poly:
    """Return the indicator that an integer is not 0."""
    above, at, below = (facts.positive_part(difference + by) for by in (1, 0, -1))
    return facts.simplify(1 - (above - at.scaled(2) + below))


def _extent_indicator(extent: Poly, facts: Facts) -> Poly:
    """Return the indicator that an axis has more than one processor."""
    return facts.simplify(facts.minimum(ONE, extent - 1))


def _rotation_indicator(distance: Poly, extent: Poly, facts: Facts, place: Position, most: Poly) -> KnownAmount:
    """Bound the indicator that a distance around an axis is not a multiple of its extent; it is at most `most`."""
    if most == ZERO:
        return ZERO_AMOUNT
    split = divide_terms(distance, extent, exact=True)
    rest = distance
    if split is not None and facts.integral(split[0]):
        rest = split[1]
    if rest == ZERO:
        return ZERO_AMOUNT
    if rest == ONE or rest == -ONE:
        return exact_amount(most)
    if any(facts.positive(offset) and facts.positive(extent - offset) for offset in (rest, -rest)):
        return UNIT_AMOUNT
    # A distance and its negative are multiples of the extent together.
    offset = rest if next(iter(rest.terms.values())) > 0 else -rest
    if not rest.names <= place.fixed:
        # In a form that can be summed up: floor(offset/extent) has a step at each multiple.
        moved = 1 - a.floor_div(offset, extent) + a.floor_div(offset - 1, extent)
        return KnownAmount(ZERO, most) if place.average is None else exact_amount(moved)
    return exact_amount(facts.simplify(facts.minimum(ONE, a.modulo(offset, extent))))
