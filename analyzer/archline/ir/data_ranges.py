"""Loops and extents that the data gives: segments of offsets arrays, and integers whose range is declared."""

from __future__ import annotations

from itertools import permutations

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Poly, Symbol
from archline.algebra.relax import bound_atom
from archline.algebra.sums.summation import depends
from archline.expr.tree import structure
from archline.ir.amounts import Amount, Known, Unknown, exactly
from archline.ir.scope import NotStaticError, Scope, holds_data, known_value, static_value
from archline.language import syntax as s
from archline.records import record, replace


@record
class DataRange:
    """How many iterations a loop has, and the least and the last value its variable may take."""

    trips: Known
    first: Poly
    last: Poly


def data_range(loop: s.Loop, scope: Scope) -> DataRange | None:
    """The range of a loop whose bounds are read from arrays; None where declarations say too little."""
    low, high = (loop.hi, loop.lo) if loop.down else (loop.lo, loop.hi)
    step = _step(loop, scope)
    lows, highs = int_range(low, scope), int_range(high, scope)
    if step is None or lows is None or highs is None:
        return None
    # `downto` includes its end.
    more = ONE if loop.down else ZERO
    facts = scope.facts
    distance = _distance(low, high, more, scope)
    if distance is None:
        distance = Known(facts.positive_part(highs[0] - lows[1] + more), facts.positive_part(highs[1] - lows[0] + more))
    trips = Known(a.ceil_div(distance.lower, step), a.ceil_div(distance.upper, step))
    return DataRange(trips, lows[0], highs[1] - 1 + more)


def _step(loop: s.Loop, scope: Scope) -> Poly | None:
    if loop.step is None:
        return ONE
    step = known_value(loop.step, scope)
    return None if step is None or not scope.facts.positive(step) else step


def _distance(low: s.Expr, high: s.Expr, more: Poly, scope: Scope) -> Known | None:
    """max(0, high - low + more) between entries of offsets arrays; None where an index depends on the data."""
    try:
        found = _without_data(s.Binary("-", high, low, span=high.span), scope)
    except NotStaticError:
        segments = _segment(low, high, scope)
        return None if segments is None else Known(ZERO, segments.ceiling)
    found = a.as_gaps(found) + more
    return exactly(found if rises(found, scope.facts) else scope.facts.positive_part(found))


def _segment(low: s.Expr, high: s.Expr, scope: Scope) -> a.Segments | None:
    """The array of a segment `a[e]..a[e + 1]`, whatever e is."""
    match low, high:
        case (
            s.Element(array=array, subscripts=(start,)),
            s.Element(array=other, subscripts=(s.Binary(op="+", left=left, right=s.Integer(value=1)),)),
        ) if array == other and structure(left) == structure(start):
            return scope.segments.get(array)
        case _:
            return None


def rises(value: Poly, facts: Facts) -> bool:
    """Whether the value is `a[e + w] - a[e]` with w >= 0, plus what is not negative."""
    entries = [atom for atom in value.atoms() if isinstance(atom, a.Offset)]
    for high, low in permutations(entries, 2):
        rest = value - Poly.of_atom(high) + Poly.of_atom(low)
        apart = high.segments == low.segments and facts.nonnegative(high.index - low.index)
        if apart and not rest.atoms() & {high, low} and facts.nonnegative(rest):
            return True
    return False


def _without_data(difference: s.Expr, scope: Scope) -> Poly:
    """A difference of bounds, which may hold entries of offsets arrays; integers of the data may cancel out."""
    scope = replace(scope, reads_offsets=True)
    try:
        return static_value(difference, scope)
    except NotStaticError:
        value = static_value(difference, replace(scope, names_data=True))
        if holds_data(value):
            raise
        return value


def extent(expr: s.Expr, scope: Scope) -> Poly:
    """A size that may be a distance between entries of offsets arrays; raises NotStaticError."""
    value = a.as_gaps(_without_data(expr, scope))
    if not any(isinstance(atom, a.Offset | a.Gap) for atom in value.atoms()) or rises(value, scope.facts):
        return value
    return scope.facts.positive_part(value)


def extent_range(expr: s.Expr, scope: Scope) -> Known | None:
    """The least and the greatest value of an extent; the run stops where it is negative."""
    try:
        value = extent(expr, scope)
    except NotStaticError:
        known = int_range(expr, scope)
        return None if known is None else Known(*map(scope.facts.positive_part, known))
    return exactly(value if rises(value, scope.facts) else scope.facts.positive_part(scope.facts.simplify(value)))


def int_range(expr: s.Expr, scope: Scope) -> tuple[Poly, Poly] | None:
    """Between which values an integer lies, by the declarations of the arrays that it is read from."""
    value = known_value(expr, scope)
    if value is not None:
        return value, value
    match expr:
        case s.Element(array=array) if array in scope.below:
            return ZERO, scope.below[array] - 1
        case s.Element(array=array) if array in scope.segments:
            return ZERO, scope.segments[array].total
        case s.Binary(op="+" | "-" as op, left=left, right=right):
            first, second = int_range(left, scope), int_range(right, scope)
            if first is None or second is None:
                return None
            return (
                (first[0] + second[0], first[1] + second[1])
                if op == "+"
                else (first[0] - second[1], first[1] - second[0])
            )
        case _:
            return None


def anywhere(amount: Amount, loop: s.Loop, facts: Facts) -> Amount:
    """An amount whatever value the loop variable has, which must not decide a max, a floor or the like."""
    if isinstance(amount, Unknown) or loop.variable not in amount.lower.names | amount.upper.names:
        return amount
    lower, upper = _anywhere(amount.lower, loop, facts, False), _anywhere(amount.upper, loop, facts, True)
    if upper is None:
        return Unknown(f"the body depends on `{loop.variable}`, whose values the data gives", loop.span)
    return Known(ZERO if lower is None else lower, upper)


def _anywhere(value: Poly, loop: s.Loop, facts: Facts, upper: bool) -> Poly | None:
    if any(depends(atom, loop.variable) for atom in value.atoms()):
        return None
    return bound_atom(value, Symbol(loop.variable), facts, upper)


def fork_depth_by_data(trips: Amount) -> Amount:
    """ceil(log2 t) at most for a parallel loop whose number of iterations t the data gives."""
    return trips if isinstance(trips, Unknown) else Known(ZERO, a.ceil_log2(trips.upper))
