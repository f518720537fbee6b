"""A recurrence over real sizes and its solution: what was found of it, as text and for JSON."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from archline.records import record
from archline.recurrences.asymptotic.evaluate import evaluate
from archline.recurrences.asymptotic.problem import Answer, Exponential, Recurrence, Refused, Solved
from archline.report.layout import indented, table, wrap


@record
class Solution:
    """A recurrence and what was found of it; `growth` is Theta of the function in the language's syntax."""

    recurrence: str
    problem: Recurrence
    answer: Answer

    @property
    def outcome(self) -> str:
        """`solved`, `exponential` or `refused`."""
        match self.answer:
            case Solved():
                return "solved"
            case Exponential():
                return "exponential"
            case Refused():
                return "refused"

    @property
    def growth(self) -> str | None:
        """The growth, where it is found and has a name."""
        return None if isinstance(self.answer, Refused) else self.answer.growth

    @property
    def exact(self) -> str | None:
        """The closed form, which holds on `domain`."""
        return None if isinstance(self.answer, Refused) else self.answer.exact

    @property
    def domain(self) -> str | None:
        """Where the closed form holds."""
        return None if isinstance(self.answer, Refused) else self.answer.domain

    @property
    def method(self) -> str | None:
        """The theorem or method."""
        return None if isinstance(self.answer, Refused) else self.answer.method

    @property
    def steps(self) -> tuple[str, ...]:
        """The lines of the solution."""
        return () if isinstance(self.answer, Refused) else self.answer.steps

    @property
    def regimes(self) -> tuple[tuple[str, str], ...]:
        """Conditions and the growth under each, where no one formula serves everywhere."""
        return self.answer.regimes if isinstance(self.answer, Solved) else ()

    @property
    def reason(self) -> str | None:
        """Why there is no answer, or what kind of growth it is beyond polynomials."""
        return None if isinstance(self.answer, Solved) else self.answer.reason

    def at(self, *, exact_logs: bool = False, **values: int | Fraction | float) -> Fraction | float:
        """The recurrence itself at sizes and symbols, followed down to its base; exact where rationals suffice.

        Logarithms are read as log2(2 + w) unless `exact_logs`. Raises EvaluationRefusedError.
        """
        return evaluate(self.problem, values, exact_logs=exact_logs)

    @property
    def document(self) -> dict[str, Any]:
        """The solution as JSON has it."""
        regimes = [{"when": when, "growth": growth} for when, growth in self.regimes]
        names = ("recurrence", "growth", "exact", "domain", "method", "regimes", "steps", "outcome", "reason")
        return {"version": 1, **{name: getattr(self, name) for name in names}, "regimes": regimes}

    def text(self, width: int, *, explain: bool = False) -> str:
        """The recurrence, its growth and closed form; with `explain` the lines of the solution."""
        rows = [["growth", f"Theta({self.growth})"]] if self.growth is not None else []
        rows += [["", f"Theta({growth}) when {when}"] for when, growth in self.regimes]
        exact = f"{self.exact} where {self.domain}" if self.domain else self.exact
        because = "refused" if self.outcome == "refused" else "because"
        known = {"exact": exact, "method": self.method, because: self.reason}
        rows += [[name, each] for name, each in known.items() if each is not None]
        lines = [*wrap(self.recurrence, width), "", *indented(table(rows, width - 2))]
        if explain and self.steps:
            lines += ["", "solution", "", *indented([line for step in self.steps for line in wrap(step, width - 2)])]
        return "\n".join(lines) + "\n"
