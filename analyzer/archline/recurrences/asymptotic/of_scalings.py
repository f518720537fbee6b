"""The recurrence over real sizes that grows as one does whose calls multiply sizes by constants.

Such a recurrence divides its sizes exactly: at the sizes of any run it is the one over real sizes, whose leaf at P = 1
is one at P <= 1. Only what a case adds is replaced, by what grows alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

from archline.algebra.asymptotic.constants import OutOfReachError
from archline.algebra.polynomial import Poly
from archline.language import syntax as s
from archline.language.source import Source, Span
from archline.language.substitution import defined_sizes
from archline.numbers import fmpq
from archline.recurrences.asymptotic.of_integers import Added, number, times
from archline.recurrences.asymptotic.problem import Definition, EquationCase, Recurrence
from archline.recurrences.closed.levels import maximum_of, step_of
from archline.recurrences.model import Decision, Equation, Function, by_call, calls

NAME = "T"
_HERE = Span(Source("<recurrence>", ""), 1, 1, 1, 1)


def over_reals(function: Function, upper: bool, added: Added, facts: Sequence[s.Fact]) -> Recurrence:
    """The recurrence of a function, from above or from below, at sizes where the facts hold. Raises OutOfReachError."""
    cases = tuple(_case(function, equation, upper, added) for equation in function.equations)
    names = frozenset(function.parameters)
    known = tuple(fact for fact in (*facts, *_least(function)) if s.names((fact,)) <= names)
    return Recurrence((Definition(NAME, function.parameters, cases),), known)


def _least(function: Function) -> Iterator[s.Fact]:
    """Sizes that others give are 1 at least."""
    for name, expr in defined_sizes(function.where):
        if name not in function.parameters:
            yield s.Binary(">=", expr, number(fmpq(1)), span=expr.span)


def _case(function: Function, equation: Equation, upper: bool, added: Added) -> EquationCase:
    conditions = [_condition(each, function) for each in equation.decisions if each.taken]
    condition = reduce(lambda x, y: s.Binary("and", x, y, span=_HERE), conditions) if conditions else None
    return EquationCase(_value(function, equation, upper, added), condition)


def _condition(decision: Decision, function: Function) -> s.Expr:
    condition = decision.condition
    if not s.names(condition) <= frozenset(function.parameters):
        raise OutOfReachError("a condition of it is on other values than its sizes")
    match condition:
        case s.Binary(op="==", left=s.Name(), right=s.Integer()):
            return s.Binary("<=", condition.left, condition.right, span=condition.span)
        case _:
            return condition


def _value(function: Function, equation: Equation, upper: bool, added: Added) -> s.Expr:
    """What a case adds, and its call: of a maximum both parts from above, that with the call from below."""
    value, least = maximum_of(equation.value)
    rest, _ = by_call(value)
    if calls(rest):
        raise OutOfReachError("the cost of a recursive call is inside another expression")
    parts: list[s.Expr] = []
    for amount in (rest, least):
        if amount and (upper or amount is rest):
            found = added(amount, equation.facts)[0 if upper else 1]
            if found is None:
                raise OutOfReachError("how fast what it adds to its calls grows is not known")
            parts.append(found)
    step = step_of(function, equation) if equation.recursive else None
    if equation.recursive and (step is None or step.counted):
        raise OutOfReachError("its calls do not multiply all sizes by constants")
    if step is not None:
        sizes = tuple(_size(name, step.factors.get(name), step.given.get(name)) for name in function.parameters)
        parts.append(times(step.weight, s.Call(NAME, sizes, span=_HERE)))
    return reduce(lambda x, y: s.Binary("+", x, y, span=_HERE), parts) if parts else number(fmpq(0))


def _size(name: str, factor: fmpq | None, given: Poly | None) -> s.Expr:
    if factor is not None:
        return times(factor, s.Name(name, span=_HERE))
    assert given is not None
    return number(given.constant_term)
