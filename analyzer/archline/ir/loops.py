"""The ranges of loops, and what iterations that spawn calls cost together."""

from __future__ import annotations

from archline.algebra import atoms as a
from archline.algebra.polynomial import ZERO, Poly
from archline.ir import max_plus
from archline.ir.amounts import Amount, Known, Unknown, add, later, map_known, up_to
from archline.ir.max_plus import Path
from archline.ir.ranges import Range
from archline.ir.scope import NotStaticError, Scope, static_value
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
        return max_plus.serial(advance)
    if each.joined is None:
        return Path(advance, _staggered(each, iterations, advance))
    certain = each.certain and iterations.facts.positive(iterations.trips)
    if each.finish == each.advance:
        return Path(advance, advance, up_to(advance), up_to(advance), certain)
    if isinstance(advance, Unknown):
        return max_plus.serial(advance)
    late = iterations.sum(each.finish)
    upper = late if isinstance(late, Unknown) else Known(advance.lower, late.upper)
    return Path(upper, upper, up_to(upper), up_to(upper), certain)


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
