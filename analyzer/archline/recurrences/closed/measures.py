"""Bound recursions by a measure that shrinks in every call: with K calls each, by about K^measure.

Calls need not reduce the sizes in the same way, as in T(n - 1) + T(floor(n/2)) and T(n - 1, m) + T(n, m - 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import reduce
from math import comb

from archline.algebra import atoms as a
from archline.algebra.effort import TooComplexError
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ZERO, Poly, Symbol, product, sum_polynomials
from archline.numbers import fmpq
from archline.recurrences.exact.basis import find_changed_parameters
from archline.recurrences.exact.constraints import InductionProof
from archline.recurrences.exact.transitions import ForeignBounds, Transition, build_steps
from archline.recurrences.model import SizeFunction

MAX_CALLS, MAX_DECREASE, MAX_LEAF = 64, 8, 4
LEVEL = "level of the measure"
"""The symbol of the number of calls that may still follow each other; no program has such a name."""


def bound_by_measure(function: SizeFunction, upper: bool, foreign: ForeignBounds) -> InductionProof | None:
    """Return an upper (or a lower) bound of a function at all sizes; None if none is found."""
    steps = _list_steps(function, upper, foreign)
    if steps is None:
        return None
    return _bound_above(function, steps) if upper else _bound_below(function, steps)


def _list_steps(function: SizeFunction, upper: bool, foreign: ForeignBounds) -> list[Transition] | None:
    """List the steps of all cases of a function; None if its sizes have other forms, or the cases too many."""
    if function.facts.rewrites:
        return None
    try:
        return [step for case in function.equations for step in build_steps(function, case, upper, foreign=foreign)]
    except TooComplexError:
        return None


def _bound_above(function: SizeFunction, steps: Sequence[Transition]) -> InductionProof | None:
    """Return an upper bound by a size, or the sum of all sizes, that shrinks in all calls.

    With s levels left a call costs at most S(s) = K*S(s - 1) + f(s), where f bounds what calls add; S never decreases.
    """
    count = max((_count_calls(step, [factor for factor, _ in step.calls], True) for step in steps), default=0)
    if not 2 <= count <= MAX_CALLS:
        return None
    changing = tuple(name for name in find_changed_parameters(function) if name in function.sizes)
    # A single size is less than the sum of all.
    for names in dict.fromkeys((*((name,) for name in changing), changing)):
        decrease = _find_decrease(function, steps, names)
        forcing = _bound_forcing(function, steps, names, decrease) if decrease else None
        if forcing is not None:
            rest = sum_polynomials(Poly.symbol(name) - function.least[name] for name in names)
            value = _solve_levels(forcing, count, a.floor_div(rest, Poly.constant(decrease)))
            sizes = " + ".join(names)
            reason = f"`{sizes}` shrinks by at least {decrease} in each of at most {count} calls"
            return InductionProof("<=", value, reason=reason)
    return None


def bound_by_halves(function: SizeFunction, foreign: ForeignBounds) -> InductionProof | None:
    """Return an upper bound of a function that calls itself once, where every second call has half a size, as in gcd.

    With s the size in the first call, there are at most 2*(floor(log2(s)) + 1) calls, as a caller's size is at least 1.
    """
    steps = _list_steps(function, True, foreign)
    if steps is None:
        return None
    calling = [step for step in steps if step.calls]
    single = all(len(step.calls) == 1 and step.facts.nonnegative(1 - step.calls[0][0]) for step in calling)
    if not calling or not single or not all(step.forcing.is_constant for step in steps):
        return None
    added, last = (max(step.forcing.constant_term for step in some) for some in (calling, steps))
    for name in find_changed_parameters(function):
        size = Poly.symbol(name)
        known = name in function.sizes and all(step.facts.positive(size) for step in calling)
        if known and all(_is_halved(function, name, first, second) for first in calling for second in calling):
            value = a.ceil_log2(size + 1).scaled(2 * added) + last
            return InductionProof("<=", value, reason=f"`{name}` is at most half as large in every second call")
    return None


def _is_halved(function: SizeFunction, name: str, first: Transition, second: Transition) -> bool:
    """Test whether a size is at most half as large after two calls, those of two steps.

    A remainder of x by y is at most (x - 1)/2 for 0 < y <= x, being less than y, and at most x - y.
    """
    arguments = dict(zip(function.parameters, first.calls[0][1].arguments, strict=True))
    after = dict(zip(function.parameters, second.calls[0][1].arguments, strict=True))[name]
    size = Poly.symbol(name)
    if first.facts.nonnegative(size - after.substitute(arguments).scaled(2)):
        return True
    for floor in (atom for atom in after.atoms() if isinstance(atom, a.Floor)):
        divisor, dividend = floor.modulus, floor.argument
        if after == dividend - divisor * Poly.of_atom(floor) and second.facts.positive(divisor):
            least, value = divisor.substitute(arguments), dividend.substitute(arguments)
            return first.facts.nonnegative(size - value) and first.facts.nonnegative(value - least)
    return False


def _bound_below(function: SizeFunction, steps: Sequence[Transition]) -> InductionProof | None:
    """Return a lower bound by a size, or the minimum of all sizes, that K calls in all recursive cases shrink slowly.

    Base cases have a measure of at most some number.
    """
    calling, leaves = [step for step in steps if step.calls], [step for step in steps if not step.calls]
    if not leaves or not calling or not all(step.facts.nonnegative(step.forcing) for step in steps):
        return None
    first, added = (min(map(_find_least_forcing, some)) for some in (leaves, calling))
    for names in (*((name,) for name in function.sizes), function.sizes):
        slow = [_select_slow_calls(function, step, names) for step in calling]
        pairs = zip(calling, slow, strict=True)
        count = min(_count_calls(step, [factor for factor, _ in calls], False) for step, calls in pairs)
        limits = (limit for limit in range(MAX_LEAF + 1) if _are_leaves_within(function, leaves, names, limit))
        limit = next(limits, None)
        if not count or limit is None:
            continue
        decrease = max(less for calls in slow for _, less in calls)
        level = a.ceil_div(reduce(a.minimum, map(Poly.symbol, names)) - limit, Poly.constant(decrease))
        value = level.scaled(added) + first
        if count > 1:
            value = _solve_levels(Poly.constant(added), count, level, first)
        if not function.facts.nonnegative(level):
            # Below its least level the form is less than the bound, and may be negative.
            value = a.positive_part(value)
        sizes = names[0] if len(names) == 1 else f"min({', '.join(names)})"
        reason = f"`{sizes}` shrinks by at most {decrease} in each of at least {count} calls"
        return InductionProof(">=", value, reason=reason)
    calls = all(_count_calls(step, [factor for factor, _ in step.calls], False) for step in calling)
    value = Poly.constant(first if calls else min(first, added))
    return InductionProof(">=", value, reason="every run reaches a base case")


def _count_calls(step: Transition, factors: Sequence[Poly], upper: bool) -> int:
    """Return a bound of the number of some calls of a step; MAX_CALLS + 1 and 0 are the bounds if none is known."""
    number = sum_polynomials(factors)
    if number.is_constant:
        constant = fmpq(number.constant_term)
        return int(constant.ceil() if upper else constant.floor())
    counts = range(2, 9) if upper else range(8, 0, -1)
    known = (count for count in counts if step.facts.nonnegative(count - number if upper else number - count))
    return next(known, MAX_CALLS + 1 if upper else 0)


def _select_slow_calls(function: SizeFunction, step: Transition, names: Sequence[str]) -> list[tuple[Poly, int]]:
    """Return the calls that reduce none of the sizes by much: of each the number and the greatest decrease."""
    slow = []
    for factor, call in step.calls:
        arguments = dict(zip(function.parameters, call.arguments, strict=True))
        less = [Poly.symbol(name) - arguments[name] for name in names]
        limits = range(1, MAX_DECREASE + 1)
        decrease = next((limit for limit in limits if all(step.facts.nonnegative(limit - x) for x in less)), None)
        if decrease is not None:
            slow.append((factor, decrease))
    return slow


def _are_leaves_within(function: SizeFunction, leaves: Sequence[Transition], names: Sequence[str], limit: int) -> bool:
    """Test whether in each base case one of the sizes is at most `limit`, as its conditions exclude larger ones."""
    facts = function.facts
    for name in names:
        facts = facts.with_nonnegative(Poly.symbol(name) - limit - 1)

    def is_excluded(leaf: Transition) -> bool:
        tests = ((facts.simplify(test.indicator), test.taken) for test in leaf.equation.decisions)
        return any(value.is_constant and bool(value) != taken for value, taken in tests)

    return all(map(is_excluded, leaves))


def _find_least_forcing(step: Transition) -> fmpq:
    if step.forcing.is_constant:
        return step.forcing.constant_term
    return fmpq(1 if step.facts.nonnegative(step.forcing - 1) else 0)


def has_several_calls_by_steps(function: SizeFunction) -> bool:
    """Test whether a case makes two calls or more at large sizes, and one reduces sizes by constants.

    Such a function grows faster than every polynomial. Calls whose size is a number do not count.
    """
    for equation in function.equations:
        if all(equation.facts.bounds[name].maximum is not None for name in function.sizes):
            continue
        with suppress(TooComplexError):
            for step in build_steps(function, equation, True):
                lasting = [
                    (factor, x) for factor, x in step.calls if not any(value.is_constant for value in x.arguments)
                ]
                stepping = (_reduces_by_steps(function, call) for factor, call in lasting if factor)
                if any(stepping) and sum_polynomials(factor for factor, _ in lasting).constant_term >= 2:
                    return True
    return False


def _reduces_by_steps(function: SizeFunction, call: a.AppliedFunction) -> bool:
    # Calls of other functions may have other parameters.
    same = len(function.parameters) == len(call.arguments)
    pairs = zip(function.parameters, call.arguments, strict=False)
    return same and all((Poly.symbol(name) - value).is_constant for name, value in pairs)


def _find_decrease(function: SizeFunction, steps: Sequence[Transition], names: Sequence[str]) -> int:
    """Return a number by which the sum of sizes shrinks in all calls; 0 if there is none, or if others may grow."""
    measure = sum_polynomials(map(Poly.symbol, names))
    least = MAX_DECREASE
    for step in steps:
        for _, call in step.calls:
            arguments = dict(zip(function.parameters, call.arguments, strict=True))
            others = (Poly.symbol(name) - value for name, value in arguments.items() if name not in names)
            difference = measure - measure.substitute(arguments)
            if not all(map(step.facts.nonnegative, others)):
                return 0
            while least and not step.facts.nonnegative(difference - least):
                least -= 1
    return least


def _bound_forcing(
    function: SizeFunction, steps: Sequence[Transition], names: Sequence[str], decrease: int
) -> Poly | None:
    """Return a polynomial in LEVEL, and in sizes that do not grow, that bounds what every step adds."""
    largest = Poly.symbol(LEVEL).scaled(decrease) + (decrease - 1)
    at_level = {name: largest + function.least[name] for name in names}
    terms: dict[tuple[tuple[object, int], ...], fmpq] = {}
    for step in steps:
        value = _make_increasing(step.forcing, function, step.facts)
        if value is None:
            return None
        for monomial, coefficient in value.substitute(at_level).terms.items():
            terms[monomial] = max(terms.get(monomial, fmpq(0)), coefficient)
    return Poly(terms)  # type: ignore[arg-type]


def _make_increasing(value: Poly, function: SizeFunction, facts: Facts) -> Poly | None:
    """Return an upper bound of a value that is a polynomial of sizes without negative terms; None if none is found."""
    result = ZERO
    for monomial, coefficient in value.terms.items():
        factors = []
        for atom, power in monomial:
            whole = isinstance(atom, a.Floor) and facts.nonnegative(atom.argument) and atom.modulus.is_constant
            factor = None
            if isinstance(atom, a.PositivePart | a.CeilLog2) or whole:
                factor = _make_increasing(atom.parts[0], function, facts)
            elif isinstance(atom, Symbol) and atom.name in function.least:
                factor = Poly.of_atom(atom)
            if factor is None or power < 0:
                return None
            factors.append(factor**power)
        if coefficient > 0:
            result = result + product(factors).scaled(coefficient)
    return result


def _solve_levels(forcing: Poly, count: int, level: Poly, first: fmpq | None = None) -> Poly:
    """Solve S(s) = count*S(s - 1) + f(s), where S(0) is f(0) or `first`, at s = `level`: a*count^s - a polynomial."""
    parts = {power: part for power, part in forcing.coefficients(Symbol(LEVEL)).items() if part}
    rest: dict[int, Poly] = {}
    for power in range(max(parts, default=0), -1, -1):
        # The coefficient of s^power in r(s) = count*r(s - 1) + f(s).
        shifted = sum_polynomials(rest[j].scaled(comb(j, power) * (-1) ** (j - power)) for j in rest)
        rest[power] = (shifted.scaled(count) + parts.get(power, ZERO)).scaled(fmpq(1, 1 - count))
    scale = (parts.get(0, ZERO) if first is None else Poly.constant(first)) - rest[0]
    return scale * a.exponential(count, level) + sum_polynomials(part * level**i for i, part in rest.items())
