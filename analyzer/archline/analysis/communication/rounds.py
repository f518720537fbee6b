"""Count the iterations of loops without a bound on a grid, whose size is the largest number on a processor.

A processor makes at most that many iterations, and one makes as many. If the text of the program proves that all make
the same ones, so does every path. Otherwise a path that comes to the loop once makes at most as many; one that comes
to it several times may do so on different processors, with at most as many iterations on each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce

from archline.algebra.facts import Facts
from archline.algebra.polynomial import ZERO, Poly
from archline.analysis.communication.walk import PathCosts
from archline.ir.amounts import (
    ZERO_AMOUNT,
    Amount,
    KnownAmount,
    UnknownAmount,
    add_amounts,
    bound_either_amount,
    exact_amount,
    scale_amount,
)
from archline.language import syntax as s
from archline.language.iterations import name_unbounded_loops, relative_name
from archline.language.lockstep import find_progress
from archline.language.model import Module
from archline.records import record


@record(eq=False)
class Iterations:
    """The costs of the iterations of loops without a bound, to be added to those of all else.

    `upper` has the costs of any path, `corners` those of single processors, and `anyone` what any processor costs at
    least. `processors` is the size of the grid.
    """

    module: Module
    algorithm: s.Algorithm
    facts: Facts
    upper: PathCosts
    corners: Sequence[PathCosts]
    anyone: Callable[[], PathCosts]
    processors: Poly

    def add_to(self, metric: str, rest: Amount) -> Amount:
        """Return bounds of a metric, given those of all code outside of the iterations."""
        names = dict.fromkeys(part.name for part in self.upper.rounds)
        if isinstance(rest, UnknownAmount) or not names:
            return rest
        aligned = frozenset(self._iterate_aligned_loops())
        total: Amount = rest
        for name in names:
            total = add_amounts(total, self._bound_iterations(name, metric, name in aligned))
        apart = [self._bound_most_iterations(name, metric) for name in names if name not in aligned]
        largest = [least for least in apart if least]
        if isinstance(total, UnknownAmount) or not largest:
            return total
        anyone = add_amounts(
            self._find_least(self.anyone().of(metric)), exact_amount(Poly.constant(1 if metric == "work" else 0))
        )
        for name in names:
            if name in aligned:
                anyone = add_amounts(
                    anyone, self._scale_by_count(name, self._find_least(self._join(self.anyone(), name, metric)))
                )
        assert isinstance(anyone, KnownAmount)
        return KnownAmount(anyone.lower + reduce(self.facts.maximum, largest), total.upper)

    def _iterate_aligned_loops(self) -> Iterator[str]:
        """Yield the names of the loops in which all processors make the same iterations."""
        names = name_unbounded_loops(self.module)
        for part, progress in find_progress(self.module, self.algorithm).items():
            if progress.aligned and isinstance(part, s.While | s.Loop) and part in names:
                yield names[part]

    def _bound_iterations(self, name: str, metric: str, aligned: bool) -> Amount:
        """Bound the costs of all iterations of a loop on a path."""
        once = self._join(self.upper, name, metric)
        if isinstance(once, UnknownAmount):
            return once
        least = ZERO
        if aligned:
            ends = {self._find_least(self._join(corner, name, metric)).lower for corner in self.corners}
            least = reduce(self.facts.minimum, ends) if ends else ZERO
        elif any(part.repeated for part in self.upper.rounds if part.name == name):
            once = scale_amount(once, exact_amount(self.processors))
        most = once.upper if isinstance(once, KnownAmount) else ZERO
        return self._scale_by_count(name, KnownAmount(least, most))

    def _bound_most_iterations(self, name: str, metric: str) -> Poly:
        """Bound a loop's costs from below on the processor with the most iterations."""
        return self._scale_by_count(name, self._find_least(self._join(self.anyone(), name, metric))).lower

    def _scale_by_count(self, name: str, once: KnownAmount) -> KnownAmount:
        count = Poly.symbol(relative_name(name, self.algorithm))
        return KnownAmount(count * once.lower, count * once.upper)

    def _find_least(self, amount: Amount) -> KnownAmount:
        """Return the lower bound of an amount, or 0, as an exact one."""
        return KnownAmount(ZERO, ZERO) if isinstance(amount, UnknownAmount) else exact_amount(amount.lower)

    def _join(self, spent: PathCosts, name: str, metric: str) -> Amount:
        """Bound the costs of an iteration, over all paths to the loop."""

        def join_amounts(first: Amount, second: Amount) -> Amount:
            return bound_either_amount(first, second, self.facts)

        amounts = [part.amounts.get(metric, ZERO_AMOUNT) for part in spent.rounds if part.name == name]
        return reduce(join_amounts, amounts) if amounts else ZERO_AMOUNT
