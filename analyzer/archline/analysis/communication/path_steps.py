"""Describe the contribution of each statement to the bounds of critical paths, for `archline cost --explain`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from archline.algebra.polynomial import Poly
from archline.expr.tree import Span
from archline.ir.amounts import UNIT_AMOUNT, ZERO_AMOUNT, Amount, KnownAmount
from archline.records import record, replace


@record
class InBranch:
    """The branch around a step as written (`elif p >= m`), with the executions and the costs of the step inside it."""

    text: str
    times: Amount
    amounts: Mapping[str, Amount]


@record
class PathStep:
    """A statement of a path, with its contribution to each metric.

    `once` is the cost of one execution, in the variables of the loops around it; `times` is the number of executions
    on the path, and `amounts` the total contribution. Upper bounds of all amounts are used. `callee` is the algorithm
    of a call or a collective operation, and `inside` are its statements. `branch` is the innermost branch around the
    statement whose condition depends on sizes alone.
    """

    span: Span
    once: Mapping[str, Amount]
    amounts: Mapping[str, Amount]
    times: Amount = UNIT_AMOUNT
    callee: str = ""
    inside: tuple[PathStep, ...] = ()
    branch: InBranch | None = None

    @property
    def source(self) -> str:
        """The source line of the statement as text, without indentation."""
        return self.span.source.written_lines[self.span.line - 1].strip()

    def upper(self, metric: str) -> Poly:
        """Return the upper bound of the contribution to a known metric."""
        return _known_upper(self.amounts.get(metric, ZERO_AMOUNT))

    def map_totals(self, function: Callable[[Amount], Amount]) -> PathStep:
        """Apply a function to the number of executions and the total contribution."""
        return replace(
            self,
            amounts=_map_amounts(self.amounts, function),
            times=function(self.times),
            inside=tuple(child.map_totals(function) for child in self.inside),
            branch=None
            if self.branch is None
            else InBranch(self.branch.text, function(self.branch.times), _map_amounts(self.branch.amounts, function)),
        )

    def in_branch(self, text: str, function: Callable[[Amount], Amount]) -> PathStep:
        """Return the step inside a branch whose condition is `text`; `function` multiplies amounts by its indicator."""
        return replace(self.map_totals(function), branch=self.branch or InBranch(text, self.times, self.amounts))

    def map_once(self, function: Callable[[Amount], Amount]) -> PathStep:
        """Apply a function to the cost of one execution."""
        inside = tuple(child.map_once(function) for child in self.inside)
        return replace(self, once=_map_amounts(self.once, function), inside=inside)


def make_step(span: Span, amounts: Mapping[str, Amount]) -> tuple[PathStep, ...]:
    """Make the step of a statement; empty if it costs nothing."""
    contributions = {name: amount for name, amount in amounts.items() if amount != ZERO_AMOUNT}
    return (PathStep(span, contributions, contributions),) if contributions else ()


def make_call_step(
    span: Span, callee: str, amounts: Mapping[str, Amount], inside: tuple[PathStep, ...]
) -> tuple[PathStep, ...]:
    """Make the step of a call, with the steps of the callee inside; empty if it costs nothing."""
    return tuple(replace(step, callee=callee, inside=inside) for step in make_step(span, amounts))


def _map_amounts(amounts: Mapping[str, Amount], function: Callable[[Amount], Amount]) -> Mapping[str, Amount]:
    return {name: function(amount) for name, amount in amounts.items()}


def _known_upper(amount: Amount) -> Poly:
    assert isinstance(amount, KnownAmount)
    return amount.upper
