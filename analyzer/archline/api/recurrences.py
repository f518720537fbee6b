"""Recurrences over real sizes, as a notebook or a test uses them: a text in, growth and closed form out."""

from __future__ import annotations

from fractions import Fraction

from archline.records import record
from archline.recurrences.asymptotic.evaluate import EvaluationRefusedError, evaluate
from archline.recurrences.asymptotic.problem import Answer, Exponential, Recurrence, Refused, Solved
from archline.recurrences.asymptotic.read import parse_recurrence
from archline.recurrences.asymptotic.solve import solve

__all__ = ["EvaluationRefusedError", "Solution", "recurrence"]


@record
class Solution:
    """A recurrence and what was found of it; `growth` is Theta of the function in the language's syntax."""

    text: str
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


def recurrence(text: str, where: str | None = None) -> Solution:
    """Solve a recurrence such as `T(n) = 7*T(n/2) + n^2, T(1) = 1`. Raises ArchlineError for text that is none."""
    problem = parse_recurrence(text, where or "")
    return Solution(text, problem, solve(problem))
