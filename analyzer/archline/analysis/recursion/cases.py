"""The equations of a function made ready for many points: which of them applies there, and what it asks of calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from archline.algebra.atoms import Applied
from archline.algebra.compiled import Apply, Compiler, Compute, Environment, Number
from archline.algebra.evaluation import EvaluationError, evaluate
from archline.analysis.recursion.system import Equation, Function, by_call, calls

Point = Mapping[str, int | Fraction]
Place = tuple[str, tuple[Number, ...]]
"""A function, and numbers for its parameters."""


class Frame(NamedTuple):
    """A place being evaluated: rest + sum of factor*call at a point; `nested` calls stand inside the rest."""

    rest: Compute
    environment: Environment
    linear: tuple[tuple[Number, Place], ...]
    nested: tuple[Place, ...]

    @property
    def needed(self) -> tuple[Place, ...]:
        """The places whose values it needs."""
        return (*[place for _, place in self.linear], *self.nested)

    def value(self, called: Apply) -> Number:
        """The value, where those of all needed places are known."""
        total = self.rest(self.environment)
        for factor, place in self.linear:
            total += factor * called(*place)
        return total


@dataclass(frozen=True)
class _Call:
    """The function that is called, and its arguments."""

    name: str
    arguments: tuple[Compute, ...]

    def place(self, environment: Environment) -> Place:
        return self.name, tuple([each(environment) for each in self.arguments])


@dataclass(frozen=True)
class _Case:
    """An equation: the decisions that lead to it, each with its number, and the parts of its value."""

    equation: Equation
    decisions: tuple[tuple[int, Callable[[Environment], bool], bool], ...]
    rest: Compute
    linear: tuple[tuple[Compute, _Call], ...]
    nested: tuple[_Call, ...]


class Cases:
    """The equations of one function; `called` gives the values of calls inside a max."""

    def __init__(self, function: Function, called: Apply | None = None) -> None:
        self._function = function
        self._compiler = Compiler((*function.parameters, *function.facts.quotients), called)
        self._decisions: dict[object, int] = {}
        self._cases = [self._case(equation) for equation in function.equations]

    def _case(self, equation: Equation) -> _Case:
        rest, factors = by_call(equation.value)
        linear = tuple((self._compiler.of(factor), self._call(call)) for call, factor in factors.items())
        nested = tuple(map(self._call, calls(rest)))
        return _Case(equation, tuple(self._outcomes(equation)), self._compiler.of(rest), linear, nested)

    def _outcomes(self, equation: Equation) -> Iterable[tuple[int, Callable[[Environment], bool], bool]]:
        for each in equation.decisions:
            number = self._decisions.setdefault((each.branch, each.indicator), len(self._decisions))
            yield number, self._compiler.holds(each.indicator), each.taken

    def _call(self, call: Applied) -> _Call:
        return _Call(call.function, tuple(map(self._compiler.of, call.arguments)))

    def at(self, arguments: tuple[Number, ...]) -> tuple[Equation, dict[str, int | Fraction]]:
        """The equation that applies, and the sizes by name with what stands for some. Raises EvaluationError."""
        point = coordinates(self._function, arguments)
        return self._applying(self._compiler.environment(tuple(point.values()))).equation, point

    def frame(self, arguments: tuple[Number, ...], valid: Callable[[Place], bool]) -> Frame:
        """What the function is there, in terms of others. Raises EvaluationError."""
        environment = self._compiler.environment(tuple(coordinates(self._function, arguments).values()))
        case = self._applying(environment)
        # A call whose factor is 0 stands under a guard that fails: its sizes may be none.
        linear = tuple(
            [(factor, call.place(environment)) for each, call in case.linear if (factor := each(environment))]
        )
        nested = tuple([place for call in case.nested if valid(place := call.place(environment))])
        return Frame(case.rest, environment, linear, nested)

    def _applying(self, environment: Environment) -> _Case:
        outcomes: dict[int, bool] = {}
        for case in self._cases:
            for number, holds, taken in case.decisions:
                if number not in outcomes:
                    outcomes[number] = holds(environment)
                if outcomes[number] != taken:
                    break
            else:
                return case
        raise EvaluationError("no case of the recurrence applies at these sizes")


def coordinates(function: Function, arguments: tuple[Number, ...]) -> dict[str, int | Fraction]:
    """The sizes by name, and the quotients and exponents that stand for some of them. Raises EvaluationError."""
    point: dict[str, int | Fraction] = {}
    for name, value in zip(function.parameters, arguments, strict=True):
        if value.denominator != 1 or (name in function.least and value < function.least[name]):
            raise EvaluationError(f"`{name}` is {value} in a call")
        point[name] = value.numerator
    for label, quotient in function.facts.quotients.items():
        point[label] = evaluate(quotient, point)
    return point
