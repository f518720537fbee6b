"""The steps of a derivation, as `--explain` prints them."""

from __future__ import annotations

from collections.abc import Callable

from archline.algebra.polynomial import Poly
from archline.analysis.metrics.tally import Tally
from archline.expr.tree import Span
from archline.ir.amounts import map_known
from archline.records import record, replace


@record
class Step:
    """One statement, what it costs each time it is reached, and the steps inside it.

    `rule` says how its counts come about, `span_rule` how its span does where that differs. Inside a loop that does not
    ascend in ones, tallies hold the number of the iteration, from 0, under the loop variable's name: `counter` gives
    that number in terms of the variable itself.
    """

    span: Span
    rule: str
    tally: Tally
    children: tuple[Step, ...] = ()
    span_rule: str | None = None
    counter: tuple[str, Poly] | None = None

    def mapped(self, function: Callable[[Poly], Poly]) -> Step:
        """The same steps with a function applied to every expression."""
        return replace(
            self,
            tally=self.tally.ended(lambda amount: map_known(amount, function)),
            children=tuple(child.mapped(function) for child in self.children),
            counter=None if self.counter is None else (self.counter[0], function(self.counter[1])),
        )
