"""Terms for calls that halve the largest of several sizes.

Such a size v is halved until it has come down to another one, w, and from there on in turn with that one. Where each
halving of v adds log2(w), that is log2(w) at first, and from there on what is left of it: in all about
log2(v)*log2(min(v, w)) less half of the square of the latter, for each of the others by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from archline.algebra import atoms as a
from archline.algebra.polynomial import ONE, Atom, Poly
from archline.recurrences.exact.basis import Element
from archline.recurrences.exact.surrogate import Inner
from archline.recurrences.exact.terms.halvings import counted
from archline.recurrences.exact.transitions import Transition
from archline.recurrences.model import Function

SIZES = 2, 3


def limited(function: Function, steps: Sequence[Transition]) -> Iterator[tuple[Element, ...]]:
    """A set of such terms, with the logarithms of all sizes, where halving a size adds logarithms."""
    if len(function.sizes) not in SIZES or len(function.sizes) != len(function.parameters):
        return
    paid = [step for step in steps if any(map(_grows, step.forcing.atoms()))]
    halved = [name for name in function.sizes if any(_changes(function, step, name) for step in paid)]
    if not halved:
        return
    found = [Element(ONE), *(Element(a.ceil_log2(Poly.symbol(name))) for name in function.sizes)]
    for name in halved:
        found.extend(_limit(function, name))
    yield tuple({each.value: each for each in found}.values())


def _grows(atom: Atom) -> bool:
    """Whether it is the logarithm of a size, and no number of halvings down to leaves."""
    return isinstance(atom, a.CeilLog2) and counted(atom) is None


def _changes(function: Function, step: Transition, name: str) -> bool:
    """Whether calls have another value of the size."""
    place = function.parameters.index(name)
    return any(call.arguments[place] != Poly.symbol(name) for _, call in step.calls)


def _limit(function: Function, name: str) -> Iterator[Element]:
    """The products; in proofs, the logarithm of the lesser of two sizes is the lesser of the logarithms."""
    size = Poly.symbol(name)
    log = a.ceil_log2(size)
    for other in (Poly.symbol(each) for each in function.sizes if each != name):
        limit, compared = a.ceil_log2(a.minimum(size, other)), a.minimum(log, a.ceil_log2(other))
        yield Element(limit, inner=Inner(compared))
        yield Element(log * limit, inner=Inner(log * compared))
        yield Element(limit * limit, inner=Inner(compared * compared))
