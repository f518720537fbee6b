"""How many leaves a size has that is halved while it is above T: 2^k + max(0, v - T*2^k), with k halvings at least.

k = ceil(log2(floor(v/(T + 1)) + 1)), so that v lies from (T + 1)*2^(k - 1) to (T + 1)*2^k - 1: all parts have been
halved k - 1 times and are above T. Halved once more they are T + 1 at most, and v - T*2^k of them are that, if any.
At both halves of v > T the numbers add up to that of v; where v is at most T it is 1. With a*v + b times this number a
bound has a line through what leaves cost in place of a multiple, and so sees leaves of T/2 and of T apart.
"""

from __future__ import annotations

from collections.abc import Sequence

from archline.algebra import atoms as a
from archline.algebra.polynomial import ONE, Atom, Poly, Symbol, total
from archline.recurrences.exact.at_call import sizes_of_call
from archline.recurrences.exact.terms.halvings import counted, halvings
from archline.recurrences.exact.transitions import Transition
from archline.recurrences.model import Function


def pieces(size: Poly, most: Poly) -> Poly:
    """The number of leaves of at most `most`."""
    least = a.exponential(2, halvings(size, most + 1))
    return least + a.positive_part(size - most * least)


def shared(name: str, most: int, steps: Sequence[Transition], function: Function) -> bool:
    """Whether each call has all of a size, or two calls have the halves of one above `most`."""
    return all(_keeps(name, most, step, function) for step in steps if step.calls)


def _keeps(name: str, most: int, step: Transition, function: Function) -> bool:
    size, facts = Poly.symbol(name), step.facts
    given = [sizes_of_call(function, call.arguments)[name] for _, call in step.calls]
    if any(factor != ONE for factor, _ in step.calls) or total(given) != size:
        return False
    halves = [size + 1 - each.scaled(2) for each in given]
    return len(given) == 1 or all(facts.nonnegative(facts.simplify(each)) for each in (size - most - 1, *halves))


def without_pieces(value: Poly, upper: bool) -> Poly:
    """What a value is at most (upper) or at least, with max(v, T)/T or max(v, s)/s for a number of leaves.

    s = floor((T + 1)/2) is the size of the smallest leaf of those that are halved.
    """
    for atom in sorted(value.atoms(), key=lambda each: each.key):
        if isinstance(atom, a.PositivePart):
            value = _without(value, atom, upper)
    return value


def _without(value: Poly, part: a.PositivePart, upper: bool) -> Poly:
    """The value without the number of leaves that holds max(0, ...), where there is one."""
    floor = next(filter(None, map(_divided, part.argument.atoms())), None)
    if floor is None:
        return value
    size, most, number = floor.argument, floor.modulus - 1, Symbol("pieces")
    rest = pieces(size, most) - Poly.of_atom(part)
    counting = value.map_atoms(lambda atom: Poly.of_atom(number) - rest if atom == part else None)
    slope = counting.coefficients(number).get(1)
    left = any(_divided(each) is floor for each in counting.atoms())
    if part in rest.atoms() or left or slope is None or not slope.is_constant:
        return value
    end = a.floor_div(most + 1, Poly.constant(2)) if (slope.constant_term > 0) == upper else most
    return counting.substitute({number.name: a.maximum(size, end) / end.constant_term})


def _divided(power: Atom) -> a.Floor | None:
    """The floor(v/k) of 2^halvings."""
    if not isinstance(power, a.Exponential) or power.base != 2:
        return None
    return next((floor for each in power.exponent.atoms() if (floor := counted(each)) is not None), None)
