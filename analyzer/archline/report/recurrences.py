"""Render a recurrence over real sizes and its solution as text and for JSON."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from archline.expr import build as b
from archline.expr.text import format_conjunction, format_expression
from archline.records import record
from archline.recurrences.asymptotic.evaluate import choose_default_base, evaluate
from archline.recurrences.asymptotic.problem import Answer, RealRecurrence, Refused, SolvedGrowth
from archline.report.json import pick
from archline.report.layout import align_table, indent_lines, wrap


@record
class Solution:
    """A recurrence and its solution, by its `outcome`: `solved`, `exponential` or `refused`.

    `growth` is Theta of the function in the language's syntax, `exact` a closed form, which holds on `domain`; `steps`
    are the lines of the solution. `regimes` are conditions with the growth under each, if no one formula holds
    everywhere. `reason` names the obstacle to an answer, or the kind of growth beyond polynomials.
    """

    recurrence: str
    problem: RealRecurrence
    outcome: str
    growth: str | None = None
    exact: str | None = None
    domain: str | None = None
    method: str | None = None
    steps: tuple[str, ...] = ()
    regimes: tuple[tuple[str, str], ...] = ()
    reason: str | None = None
    assumed: tuple[str, ...] = ()

    @staticmethod
    def of(recurrence: str, problem: RealRecurrence, answer: Answer) -> Solution:
        """Return the solution of a recurrence from the solver's answer."""
        fields = {name: value for name, value in vars(answer).items() if name != "between"}
        fields |= {
            name: format_expression(fields[name]) for name in ("growth", "exact") if fields.get(name) is not None
        }
        if isinstance(answer, SolvedGrowth):
            fields["regimes"] = tuple(
                (regime.when, format_expression(regime.upper)) for regime in answer.regimes if regime.upper
            )
        outcomes = {SolvedGrowth: "solved", Refused: "refused"}
        return Solution(recurrence, problem, outcomes.get(type(answer), "exponential"), **fields)

    def at(self, **values: int | Fraction | float) -> Fraction | float:
        """Evaluate the recurrence by unrolling it at sizes and symbols, down to its base; exact if rationals suffice.

        `log2` is the ordinary logarithm, as in `exact`. Raises EvaluationRefusedError if the recurrence has no value.
        """
        return evaluate(self.problem, values)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """The base values that are assumed if none are given."""
        if self.outcome == "refused":
            return ()
        functions = frozenset(definition.name for definition in self.problem.definitions)
        assumed = [*self.problem.assumed, *self.assumed]
        for definition in self.problem.definitions:
            if not definition.bases and all(case.condition is None for case in definition.cases):
                most = b.number(choose_default_base(definition, functions))
                small = format_conjunction(b.binary("<=", b.name(size), most) for size in definition.parameters)
                assumed.append(f"{definition.name}({', '.join(definition.parameters)}) = 1 for {small}")
        return tuple(assumed)

    @property
    def document(self) -> dict[str, Any]:
        """The JSON document of the solution."""
        regimes = [{"when": when, "growth": growth} for when, growth in self.regimes]
        names = ("recurrence", "growth", "exact", "domain", "method", "regimes", "steps", "outcome", "reason")
        return {"version": 1, **pick(self, *names), "regimes": regimes, "assumptions": self.assumptions}

    def text(self, width: int, *, explain: bool = False) -> str:
        """Return the recurrence, its growth and closed form; with `explain` the lines of the solution."""
        rows = [["growth", f"Theta({self.growth})"]] if self.growth is not None else []
        rows += [["", f"Theta({growth}) when {when}"] for when, growth in self.regimes]
        exact = f"{self.exact} where {self.domain}" if self.domain else self.exact
        because = "refused" if self.outcome == "refused" else "because"
        assumed = ", ".join(self.assumptions) or None
        facts = {"exact": exact, "method": self.method, because: self.reason, "assuming": assumed}
        rows += [[name, fact] for name, fact in facts.items() if fact is not None]
        lines = [*wrap(self.recurrence, width), "", *indent_lines(align_table(rows, width - 2))]
        if explain and self.steps:
            lines += [
                "",
                "solution",
                "",
                *indent_lines([line for step in self.steps for line in wrap(step, width - 2)]),
            ]
        return "\n".join(lines) + "\n"
