"""The value of a recurrence at given sizes, by following its equations: exact wherever the sizes decide the cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from flint import fmpq

from archline.algebra.atoms import Applied
from archline.algebra.evaluation import Apply, EvaluationError, evaluate
from archline.algebra.polynomial import Poly, rational
from archline.analysis.recursion.system import Equation, Function, by_call, calls

MAX_CALLS = 200_000
Place = tuple[str, tuple[fmpq, ...]]


class Values:
    """Evaluates functions that are exact, each place once, without recursion of its own."""

    def __init__(self, functions: Mapping[str, Function]) -> None:
        self._functions = dict(functions)
        self._known: dict[Place, fmpq] = {}

    def learn(self, functions: Mapping[str, Function]) -> None:
        """Add functions."""
        self._functions |= functions

    def at(self, name: str, sizes: Mapping[str, int], most: int = MAX_CALLS) -> Fraction:
        """The function at sizes. Raises EvaluationError where it has no value or takes more than `most` steps."""
        before = len(self._known)
        function = self._functions[name]
        wanted = name, tuple(fmpq(sizes[each]) for each in function.parameters)
        pending: list[tuple[Place, _Frame | None]] = [(wanted, None)]
        open_: set[Place] = set()
        while pending:
            place, frame = pending.pop()
            if place in self._known:
                continue
            if frame is not None:
                open_.discard(place)
                self._known[place] = frame.value(self._called)
                continue
            if place in open_:
                raise EvaluationError("the recursion does not end at these sizes")
            if len(self._known) - before + len(pending) > most:
                raise EvaluationError("the recurrence takes too many steps at these sizes")
            open_.add(place)
            frame = self._frame(*place)
            pending.append((place, frame))
            pending.extend((each, None) for each in frame.needed if each not in self._known)
        found = self._known[wanted]
        return Fraction(int(found.p), int(found.q))

    def _frame(self, name: str, arguments: tuple[fmpq, ...]) -> _Frame:
        function = self._functions[name]
        point = coordinates(function, arguments)
        rest, factors = _split(case_at(function, point))
        # A call whose factor is 0 stands under a guard that fails: its sizes may be none.
        linear = tuple((factor, _place(call, point)) for call, each in factors if (factor := evaluate(each, point)))
        nested = tuple(each for call in calls(rest) if self._valid(*(each := _place(call, point))))
        return _Frame(rest, point, linear, nested)

    def _valid(self, name: str, arguments: tuple[fmpq, ...]) -> bool:
        """Whether the sizes are ones: a call in a max may stand under a guard that fails."""
        try:
            coordinates(self._functions[name], arguments)
        except EvaluationError:
            return False
        return True

    def _called(self, name: str, arguments: tuple[fmpq, ...]) -> fmpq:
        if (name, arguments) not in self._known:
            raise EvaluationError(f"`{name}` has no value at the sizes of a call")
        return self._known[name, arguments]


@dataclass(frozen=True)
class _Frame:
    """A place being evaluated: rest + sum of factor*call at a point; `nested` calls stand inside the rest."""

    rest: Poly
    point: Mapping[str, int | Fraction]
    linear: tuple[tuple[Fraction, Place], ...]
    nested: tuple[Place, ...]

    @property
    def needed(self) -> tuple[Place, ...]:
        """The places whose values it needs."""
        return (*(place for _, place in self.linear), *self.nested)

    def value(self, called: Apply) -> fmpq:
        """The value, where those of all needed places are known."""
        total = rational(evaluate(self.rest, self.point, called))
        return sum((rational(factor) * called(*place) for factor, place in self.linear), total)


def _place(call: Applied, point: Mapping[str, int | Fraction]) -> Place:
    return call.function, tuple(rational(evaluate(each, point)) for each in call.arguments)


@cache
def _split(equation: Equation) -> tuple[Poly, tuple[tuple[Applied, Poly], ...]]:
    """An equation without its calls, and those with their factors."""
    rest, factors = by_call(equation.value)
    return rest, tuple(factors.items())


def coordinates(function: Function, arguments: tuple[fmpq, ...]) -> dict[str, int | Fraction]:
    """The sizes by name, and the quotients and exponents that stand for some of them. Raises EvaluationError."""
    point: dict[str, int | Fraction] = {}
    for name, value in zip(function.parameters, arguments, strict=True):
        if value.q != 1 or (name in function.least and value < function.least[name]):
            raise EvaluationError(f"`{name}` is {value} in a call")
        point[name] = int(value.p)
    return point | {label: evaluate(value, point) for label, value in function.facts.quotients.items()}


def case_at(function: Function, point: Mapping[str, int | Fraction]) -> Equation:
    """The equation that applies at a point. Raises EvaluationError."""
    outcomes: dict[tuple[object, Poly], bool] = {}
    for equation in function.equations:
        for each in equation.decisions:
            key = each.branch, each.indicator
            if key not in outcomes:
                outcomes[key] = evaluate(each.indicator, point) == 1
            if outcomes[key] != each.taken:
                break
        else:
            return equation
    raise EvaluationError("no case of the recurrence applies at these sizes")
