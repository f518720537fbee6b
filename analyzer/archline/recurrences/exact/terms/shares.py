"""Terms of closed forms for recursions on a power of 2 and on other sizes.

A power that calls halve divides the sizes that they share out; one that they keep is multiplied with sizes.
"""

from __future__ import annotations

from collections.abc import Iterator

from archline.algebra import atoms as a
from archline.algebra.facts import Power
from archline.algebra.polynomial import ONE, Poly
from archline.recurrences.model import Function, calls


def products(function: Function) -> tuple[Poly, ...]:
    """A power that all calls keep, times sizes: q pieces of b each."""
    return tuple(size * power for power in _kept(function) for size in _sure(function))


def shares(function: Function) -> Iterator[Poly]:
    """Sizes over a power that calls halve: r/d and r*log2(d)/d, where calls share r out.

    r/d doubles with each level, and is still at most r: it pays for what a level adds while r is more than d.
    """
    for power in function.facts.powers:
        if _stays(function, power):
            continue
        exponent = Poly.symbol(power.exponent)
        yield exponent
        for name in function.sizes:
            share = Poly.symbol(name) * a.exponential(2, -exponent)
            yield share
            yield share * exponent


def shallow(function: Function) -> Iterator[tuple[Poly, ...]]:
    """What a path through the calls costs where the data may split sizes in any way, in sets to try before others.

    1, log2(d) and d of a power d that halves; of one that stays also its product with the depth that the sizes give.
    """
    if len(function.facts.powers) != 1 or not function.sizes:
        return
    (power,) = function.facts.powers
    size = _of(power)
    if not _stays(function, power):
        yield ONE, Poly.symbol(power.exponent), size
    elif sure := _sure(function):
        others = (each for each in map(Poly.symbol, function.sizes) if each not in sure)
        logs = tuple(map(a.ceil_log2, sure))
        yield ONE, size, *others, *logs, *(log * size for log in logs)


def _kept(function: Function) -> list[Poly]:
    return [_of(power) for power in function.facts.powers if _stays(function, power)]


def _of(power: Power) -> Poly:
    return a.exponential(2, Poly.symbol(power.exponent))


def _stays(function: Function, power: Power) -> bool:
    """Whether every call of the function by itself has the power that its caller has."""
    size = function.facts.rewritten(power.name)
    return all(each == size for each in _given(function, power.name))


def _sure(function: Function) -> list[Poly]:
    """The sizes of which the calls' are known without the data."""
    data = {each for equation in function.equations for each in equation.data}
    return [
        Poly.symbol(name)
        for name in function.sizes
        if all(each.names.isdisjoint(data) for each in _given(function, name))
    ]


def _given(function: Function, name: str) -> Iterator[Poly]:
    """What the calls of the function by itself give for a parameter."""
    place = function.parameters.index(name)
    for equation in function.equations:
        for call in calls(equation.value):
            if call.function == function.name:
                yield call.arguments[place]
