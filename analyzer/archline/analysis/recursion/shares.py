"""Terms of closed forms for recursions on a power of 2 and on other sizes, which are split while the power halves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from archline.algebra import atoms as a
from archline.algebra.polynomial import ONE, Poly
from archline.analysis.recursion.system import Function


def shares(function: Function, names: Sequence[str]) -> Iterator[Poly]:
    """Sizes over the power: r/d and r*log2(d)/d, where calls share r out and have half of d.

    r/d doubles with each level, and is still at most r: it pays for what a level adds while r is more than d.
    """
    for power in function.facts.powers:
        exponent = Poly.symbol(power.exponent)
        yield exponent
        inverse = a.exponential(2, -exponent)
        for name in names:
            share = Poly.symbol(name) * inverse
            yield share
            yield share * exponent


def alone(function: Function) -> tuple[Poly, ...]:
    """1, log2(d) and d for a power d beside other sizes: what there is where those may be split in any way."""
    if len(function.facts.powers) != 1 or len(function.least) < 2:
        return ()
    exponent = Poly.symbol(function.facts.powers[0].exponent)
    return ONE, exponent, a.exponential(2, exponent)
