"""Growth of io of recursion by square roots, as of the six-step FFT: calls whose sizes are about the root of n.

Where a call of size n > Z makes calls of two sizes whose product is n, as many of each that their sizes add up to n,
and fetches O(n/L) lines beside, each level fetches twice what the one above it does. Levels halve log2(n) until it is
log2(Z), so that there are log2(n)/log2(Z) times the lines of the first. Calls that fit fetch what they are given: their
own arrays lie in the same lines of the stack, which stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, Poly
from archline.algebra.printing import to_text
from archline.algebra.relax_real import real
from archline.analysis.cache.recursive.evaluate import Called, Chosen, Part, Repeated, StraightLinePart, all_parts
from archline.expr import build as b
from archline.growth.is_big_o import Proved, is_O
from archline.ir.tree import Recursion
from archline.language import syntax as s
from archline.language.parser import parse_expression
from archline.records import record

KINDS = 2


@record(eq=False)
class Rooted:
    """The parts of a call with recursive calls, its size n, and what is known of it.

    `piece` and `other` give what a part without recursive calls and a call of another algorithm fetch, `given` and
    `made` the lines of the arrays that a call is given and makes.
    """

    algorithm: s.Algorithm
    size: str
    parts: Sequence[Part]
    facts: Facts
    piece: Callable[[StraightLinePart], Poly]
    other: Callable[[Called], str]
    given: Poly
    made: Poly
    called: int
    """How many calls of the algorithm itself there are."""

    def growth(self, known: Sequence[s.Fact]) -> str | None:
        """What io is O of where the facts hold, which are about the cache; None for another recursion."""
        calls = list(self._calls())
        if _chooses(self.parts) or len(calls) != KINDS or self.called != KINDS:
            return None
        if not all(self._is_root(*each) for each in calls):
            return None
        lines, n = f"{self.size}/L", self.size
        large = (*known, b.binary(">=", b.name(n), b.name("Z")))
        beside = [*self._beside(self.parts), to_text(self.made + ONE)]
        if not all(_is_below(each, lines, large) for each in beside):
            return None
        if not _is_below(to_text(self.given), f"1 + {lines}", known):
            return None
        return f"{to_text(self._plain(self.given + self.made))} + {n}*log2({n})/(L*log2(Z))"

    def _plain(self, lines: Poly) -> Poly:
        """The terms by themselves, n/sqrt(n) as sqrt(n)."""
        n = Poly.symbol(self.size)
        ((inverse, _),) = (n * a.sqrt(n) ** -1).terms.items()
        terms = (a.sqrt(n) if term == inverse else Poly({term: ONE.constant_term}) for term in lines.terms)
        return Poly({term: ONE.constant_term for each in terms for term in each.terms})

    def _calls(self) -> Iterator[tuple[Poly, Recursion]]:
        """Each call of the algorithm itself, and how often it is made."""
        for part in self.parts:
            match part:
                case Called(call=call) if call.target is self.algorithm:
                    yield ONE, call
                case Repeated(loop=loop, parts=inner):
                    for each in inner:
                        if isinstance(each, Called) and each.call.target is self.algorithm:
                            yield loop.trips, each.call
                case _:
                    pass

    def _is_root(self, times: Poly, call: Recursion) -> bool:
        """Whether the sizes of calls add up to n, are about its root, and their arrays lie where those of others do."""
        restore, n = self.facts.restore, Poly.symbol(self.size)
        size, times = restore(call.sizes[self.size]), restore(times)
        root = real(size) in (a.sqrt(n), n * a.sqrt(n) ** -1)
        return root and call.base is not None and restore(times * size) == n

    def _beside(self, parts: Iterable[Part], times: str = "1") -> Iterator[str]:
        """What is fetched beside the calls of the algorithm itself. Raises OutOfReachError."""
        for part in parts:
            match part:
                case StraightLinePart():
                    yield f"({times})*({to_text(self.piece(part))})"
                case Called(call=call) if call.target is not self.algorithm:
                    yield f"({times})*({self.other(part)})"
                case Repeated(loop=loop, parts=inner):
                    trips = to_text(real(self.facts.restore(loop.trips)))
                    yield from self._beside(inner, f"{times}*({trips})")
                case _:
                    pass


def _chooses(parts: Iterable[Part]) -> bool:
    """Whether branches stand among parts."""
    return any(isinstance(part, Chosen) for part in all_parts(parts))


def _is_below(left: str, right: str, facts: Sequence[s.Fact]) -> bool:
    return isinstance(is_O(parse_expression(left), parse_expression(right), facts), Proved)
