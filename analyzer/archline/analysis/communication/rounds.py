"""Count the iterations of loops without a bound on a grid; their number T is the maximum over processors.

Some processor makes T iterations. If the text of the program proves that all processors make the same iterations, so
does every path. Otherwise a path that reaches the loop once makes at most T iterations; a path that reaches it several
times may do so on different processors, with at most T iterations on each.
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
from archline.ir.iteration_bounds import make_iteration_counts
from archline.language import syntax as s
from archline.language.iterations import name_unbounded_loops, relative_name
from archline.language.lockstep import find_progress
from archline.language.model import Module
from archline.records import record


@record(eq=False)
class IterationCosts:
    """The costs of the iterations of loops without a bound, to be added to the costs of the remaining code.

    `upper` has upper bounds for any path, `corners` the costs of single processors, and `anyone` returns lower bounds
    that hold on every processor. `processors` is the size of the grid.
    """

    module: Module
    algorithm: s.Algorithm
    facts: Facts
    upper: PathCosts
    corners: Sequence[PathCosts]
    anyone: Callable[[], PathCosts]
    processors: Poly

    def add_to(self, metric: str, rest: Amount) -> Amount:
        """Return the bounds of a metric: `rest`, the bounds of code outside of the iterations, plus the iterations."""
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
            self._take_lower_bound(self.anyone().of(metric)), exact_amount(Poly.constant(1 if metric == "work" else 0))
        )
        for name in names:
            if name in aligned:
                anyone = add_amounts(
                    anyone,
                    self._scale_by_count(
                        name, self._take_lower_bound(self._bound_one_iteration(self.anyone(), name, metric))
                    ),
                )
        assert isinstance(anyone, KnownAmount)
        return KnownAmount(anyone.lower + reduce(self.facts.maximum, largest), total.upper)

    def _iterate_aligned_loops(self) -> Iterator[str]:
        """Yield the names of the loops in which all processors make the same iterations."""
        names = name_unbounded_loops(self.module)
        for part, progress in find_progress(self.module, self.algorithm).items():
            if progress.is_aligned and isinstance(part, s.While | s.Loop) and part in names:
                yield names[part]

    def _bound_iterations(self, name: str, metric: str, aligned: bool) -> Amount:
        """Bound the costs of all iterations of a loop on a path."""
        once = self._bound_one_iteration(self.upper, name, metric)
        if isinstance(once, UnknownAmount):
            return once
        least = ZERO
        if aligned:
            ends = {
                self._take_lower_bound(self._bound_one_iteration(corner, name, metric)).lower for corner in self.corners
            }
            least = reduce(self.facts.minimum, ends) if ends else ZERO
        elif any(part.repeated for part in self.upper.rounds if part.name == name):
            once = scale_amount(once, exact_amount(self.processors))
        most = once.upper if isinstance(once, KnownAmount) else ZERO
        return self._scale_by_count(name, KnownAmount(least, most))

    def _bound_most_iterations(self, name: str, metric: str) -> Poly:
        """Bound a loop's costs from below on the processor with the most iterations."""
        return self._scale_by_count(
            name, self._take_lower_bound(self._bound_one_iteration(self.anyone(), name, metric))
        ).lower

    def _scale_by_count(self, name: str, once: KnownAmount) -> KnownAmount:
        count = make_iteration_counts(self.module, self.algorithm)(name)
        if count is None:
            count = exact_amount(Poly.symbol(relative_name(name, self.algorithm)))
        return KnownAmount(count.lower * once.lower, count.upper * once.upper)

    def _take_lower_bound(self, amount: Amount) -> KnownAmount:
        """Return the lower bound of an amount, as an exact amount; 0 if the amount is unknown."""
        return KnownAmount(ZERO, ZERO) if isinstance(amount, UnknownAmount) else exact_amount(amount.lower)

    def _bound_one_iteration(self, spent: PathCosts, name: str, metric: str) -> Amount:
        """Bound the cost of one iteration of the loop `name` for all paths that reach it."""

        def join_amounts(first: Amount, second: Amount) -> Amount:
            return bound_either_amount(first, second, self.facts)

        amounts = [part.amounts.get(metric, ZERO_AMOUNT) for part in spent.rounds if part.name == name]
        return reduce(join_amounts, amounts) if amounts else ZERO_AMOUNT
