"""Lower bounds on io under optimal replacement: the greatest of those of the written order and of any order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from archline.algebra.facts import Facts
from archline.algebra.polynomial import Poly
from archline.analysis.cache.lower.hbl import AnyOrder, any_order
from archline.analysis.cache.lower.segments import WrittenOrder, windows_of
from archline.ir.tree import Node
from archline.records import record


@record(eq=False)
class Lower:
    """io >= `at(point)`; `orders` bounds it for any order of the iterations of a loop body."""

    written: WrittenOrder
    orders: AnyOrder

    def at(self, point: Mapping[str, int]) -> int:
        """The bound at sizes, Z and L; Z >= L. Raises EvaluationError."""
        return max(self.written.at(point), self.orders.at(point))

    @property
    def levels(self) -> list[tuple[str, Poly]]:
        """What windows of each kind give by themselves."""
        return self.written.levels


def lower_bound(nodes: tuple[Node, ...], facts: Facts, points: Sequence[Mapping[str, int]]) -> Lower:
    """The lower bound of the accesses of a whole program; `points` are sizes at which alternatives are compared."""
    return Lower(WrittenOrder(windows_of(nodes, facts, points)), any_order(nodes, facts))
