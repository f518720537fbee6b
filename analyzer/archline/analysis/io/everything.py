"""All lines that a program may touch: those of the arrays that it accesses, and of its stack up to where it reaches.

Where they fit, each is fetched once at most. That is little where subscripts are followed row by row; it bounds what is
not, such as f[i*i] and y[i % m], local arrays whose places a counter decides, and squares in Z-Morton order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from archline.algebra import atoms as a
from archline.algebra.evaluation import evaluate
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ZERO, Poly, total
from archline.analysis.io.accesses import Access, Array, Chain
from archline.analysis.io.layout import LINE, stack_lines, whole
from archline.analysis.io.product import UnboundedError, most_in


@dataclass(frozen=True, eq=False)
class Everything:
    """The lines of each array that is given, and of the stack up to the end of each local array, at most."""

    given: tuple[Poly, ...]
    tops: tuple[Poly, ...]

    def at(self, point: Mapping[str, int]) -> int:
        """The lines at sizes and L. Raises EvaluationError."""
        given = sum(int(evaluate(each, point)) for each in self.given)
        return given + max((int(evaluate(each, point)) for each in self.tops), default=0)

    def lines(self, facts: Facts) -> Poly:
        """The lines, in sizes and L."""
        most = ZERO
        for each in self.tops:
            most = facts.maximum(most, each)
        return total(self.given) + most


def everything(found: Iterable[tuple[Access, Chain]], facts: Facts) -> Everything | None:
    """What accesses may touch; None where a loop decides how high the stack is, and no closed form is known."""
    chains: dict[Array, Chain] = {access.array: chain for access, chain in found}
    tops: dict[Poly, None] = {}
    for array, chain in chains.items():
        if array.local:
            try:
                tops[_top(array, chain)] = None
            except UnboundedError:
                return None
    given = (_lines(array) for array in chains if not array.local)
    restore = facts.restore
    return Everything(tuple(map(restore, given)), tuple(map(restore, tops)))


def _lines(array: Array) -> Poly:
    """The lines of an array; of a square in Z-Morton order no more than it has elements."""
    if array.layout != "zmorton":
        return whole(array)
    rows, columns = array.extents
    return a.minimum(whole(array), rows * columns)


def _top(array: Array, chain: Chain) -> Poly:
    top = stack_lines(array)
    for loop in reversed(chain):
        if loop.variable in top.names:
            top = most_in(_joined(top), loop, loop.facts)
    return top


def _joined(lines: Poly) -> Poly:
    """At least as many lines: those of several rows as one, floor(x/L) + floor(y/L) as floor((x + y)/L).

    Of rows of n - i and of i words this is the same for all i.
    """
    rest, words = ZERO, ZERO
    for monomial, number in lines.terms.items():
        match monomial:
            case ((a.Floor(argument=argument, modulus=modulus), 1),) if (
                modulus == LINE and number > 0 and number.q == 1
            ):
                words = words + argument.scaled(number)
            case _:
                rest = rest + Poly({monomial: number})
    return rest + a.floor_div(words, LINE) if words else lines
