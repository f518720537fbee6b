"""The ranges of loops, and what iterations that spawn calls cost together."""

from __future__ import annotations

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ZERO, Poly
from archline.algebra.relaxation import bound_atom
from archline.analysis import paths
from archline.analysis.amounts import Amount, Known, Unknown, add, exactly, later, map_known, up_to
from archline.analysis.paths import Path
from archline.analysis.ranges import Range
from archline.analysis.scope import NotStaticError, Scope, int_range, static_value
from archline.language import syntax as s


def static_range(loop: s.Loop, scope: Scope) -> Range:
    """The range of a loop between sizes, counted from 0 unless it ascends in ones; raises NotStaticError."""
    facts = scope.facts
    lo = facts.simplify(static_value(loop.lo, scope))
    hi = facts.simplify(static_value(loop.hi, scope))
    step = Poly.constant(1) if loop.step is None else static_value(loop.step, scope)
    variable = Poly.symbol(loop.variable)
    if not loop.down and step == Poly.constant(1):
        return Range(loop.variable, lo, facts.maximum(lo, hi), variable, facts, loop.span)
    if not facts.positive(step):
        raise NotStaticError("its step is not known to be positive", loop.hi)
    if loop.down:
        count, value = a.floor_div(lo - hi, step) + 1, lo - step * variable
    else:
        count, value = a.ceil_div(hi - lo, step), lo + step * variable
    return Range(loop.variable, ZERO, facts.positive_part(facts.simplify(count)), value, facts, loop.span)


def serial_path(each: Path, iterations: Range, loop: s.Loop) -> Path:
    """Iterations one after the other; calls spawned in them may run on until a sync behind the loop."""
    advance = iterations.sum(each.advance)
    if each.serial:
        return paths.serial(advance)
    if each.joined is None:
        return Path(advance, _staggered(each, iterations, advance))
    if each.finish == each.advance and iterations.facts.positive(iterations.trips):
        return Path(advance, advance, up_to(advance), up_to(advance), each.certain)
    if each.finish == each.advance:
        return Path(advance, advance, up_to(advance), up_to(advance), certain=False)
    if isinstance(advance, Unknown):
        return paths.serial(advance)
    late = iterations.sum(each.finish)
    upper = late if isinstance(late, Unknown) else Known(advance.lower, late.upper)
    return Path(upper, upper, up_to(upper), up_to(upper), certain=False)


def _staggered(each: Path, iterations: Range, advance: Amount) -> Amount:
    """The latest end of what iteration v spawned: what the iterations before v took, and its own."""
    before = Range(
        iterations.variable + "'",
        iterations.lo,
        Poly.symbol(iterations.variable),
        iterations.value,
        iterations.inside,
        iterations.span,
    )

    def renamed(amount: Amount) -> Amount:
        shift = {iterations.variable: Poly.symbol(before.variable)}
        return map_known(amount, lambda value: value.substitute(shift))

    ends = add(before.sum(renamed(each.advance)), each.finish)
    return later(advance, iterations.largest(ends), iterations.facts)


def segment_trips(loop: s.Loop, scope: Scope) -> tuple[Amount, Poly, Poly] | None:
    """`for k in a[e]..a[e + 1]` over an offsets array a: the gap, and the least and the last value k may take."""
    match loop:
        case s.Loop(
            lo=s.Element(array=array, subscripts=(s.Name() | s.Binary() | s.Element() | s.Integer() as start,)),
            hi=s.Element(array=other, subscripts=(s.Name() | s.Binary() | s.Element() | s.Integer() as end,)),
            step=None,
            down=False,
        ) if array == other and array in scope.segments:
            known = scope.segments[array]
        case _:
            return None
    last = known.total - 1
    try:
        first, behind = static_value(start, scope), static_value(end, scope)
    except NotStaticError:
        if not _follows(start, end):
            return Known(ZERO, known.total), ZERO, last
        return Known(ZERO, known.ceiling), ZERO, last
    if behind == first + 1:
        return exactly(Poly.of_atom(a.Gap(known, first))), ZERO, last
    if scope.facts.nonnegative(behind - first):
        return exactly(a.offset(known, behind) - a.offset(known, first)), ZERO, last
    return Known(ZERO, known.total), ZERO, last


def _follows(start: s.Expr, end: s.Expr) -> bool:
    """Whether `end` is written `start + 1`."""
    match end:
        case s.Binary(op="+", left=left, right=s.Integer(value=1)):
            return s.structure(left) == s.structure(start)
    return False


def bounded_trips(loop: s.Loop, scope: Scope) -> tuple[Amount, Poly, Poly] | None:
    """A loop between values of which declarations give the range."""
    ends = []
    for expr in (loop.lo, loop.hi):
        try:
            value = static_value(expr, scope)
            ends.append((value, value))
        except NotStaticError:
            known = int_range(expr, scope)
            if known is None:
                return None
            ends.append(known)
    if loop.step is not None:
        return None
    (lo_low, lo_high), (hi_low, hi_high) = ends
    if loop.down:
        most, least, first, last = lo_high - hi_low + 1, lo_low - hi_high + 1, hi_low, lo_high
    else:
        most, least, first, last = hi_high - lo_low, hi_low - lo_high, lo_low, hi_high - 1
    facts = scope.facts
    return Known(facts.positive_part(least), facts.positive_part(most)), first, last


def anywhere(amount: Amount, loop: s.Loop, facts: Facts) -> Amount:
    """An amount whatever value the loop variable has."""
    if isinstance(amount, Unknown):
        return amount
    if loop.variable not in amount.lower.names | amount.upper.names:
        return amount
    symbol = next(iter(Poly.symbol(loop.variable).atoms()))
    lower = bound_atom(amount.lower, symbol, facts, upper=False)
    upper = bound_atom(amount.upper, symbol, facts, upper=True)
    if upper is None:
        return Unknown(f"the body depends on `{loop.variable}`, whose values the data gives", loop.span)
    return Known(ZERO if lower is None else lower, upper)


def parallel_by_data(trips: Amount, body: Amount) -> Amount:
    """Span of a parallel loop whose number of iterations the data gives."""
    if isinstance(trips, Unknown):
        return trips
    if isinstance(body, Unknown):
        return body
    return Known(ZERO, a.ceil_log2(trips.upper) + body.upper)
