"""Evaluate a recurrence exactly at given sizes by its equations, if the sizes determine the cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from math import inf
from typing import NamedTuple

from archline.algebra.atoms import AppliedFunction
from archline.algebra.evaluate.compiled import Apply, Compiler, Compute, Environment
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.polynomial import Poly
from archline.expr.intervals import EvaluationError, Number, Point
from archline.records import record
from archline.recurrences.model import Equation, SizeFunction, find_calls, split_value_by_call

NumericCall = tuple[str, tuple[Number, ...]]
"""A call with numbers: the name of the function, and the values of its parameters."""


class PendingCall(NamedTuple):
    """A call being evaluated: its value is rest + sum of factor*call (`linear`); `nested` calls are inside the rest.

    Calls of the list `omitted` have sizes that are not allowed, before which a run ends.
    """

    rest: Compute
    environment: Environment
    linear: Sequence[tuple[Number, NumericCall]]
    nested: tuple[NumericCall, ...]
    omitted: tuple[NumericCall, ...] = ()

    def find_missing_calls(self, known: Mapping[NumericCall, Number]) -> list[NumericCall]:
        """Return the calls whose values are needed and not in `known`."""
        return [place for place in (*[place for _, place in self.linear], *self.nested) if place not in known]

    def compute_value(self, known: Mapping[NumericCall, Number]) -> Number:
        """Return the value; `known` must have the values of all needed calls."""
        total = self.rest(self.environment)
        for factor, place in self.linear:
            total += factor * known[place]
        return total


_CompiledCall = tuple[str, tuple[Compute, ...]]
"""The name of the function that is called, and its compiled arguments."""


def _evaluate_arguments(call: _CompiledCall, environment: Environment) -> NumericCall:
    return call[0], tuple([compute(environment) for compute in call[1]])


DecisionTest = Callable[[Environment], bool]


@record
class _CompiledCase:
    """A compiled equation: its decisions (number, test, outcome), and the parts of its value as in `PendingCall`."""

    equation: Equation
    decisions: tuple[tuple[int, DecisionTest, bool], ...]
    rest: Compute
    linear: tuple[tuple[Compute, _CompiledCall], ...]
    nested: tuple[_CompiledCall, ...]


class FunctionCases:
    """The compiled equations of one function; `called` returns the values of calls inside a max."""

    def __init__(self, function: SizeFunction, called: Apply | None = None) -> None:
        self.function = function
        self._compiler = Compiler((*function.parameters, *function.facts.quotients), called)
        self._decisions: dict[object, int] = {}
        self._has_exits = any(equation.exits for equation in function.equations)
        self._cases = [self._compile_case(equation) for equation in function.equations]
        self._least = [function.least.get(name, -inf) for name in function.parameters]
        tested = function.promised if len(function.least) < len(function.parameters) or self._has_exits else ()
        plain = [value for value in tested if value.names <= {*function.parameters}]
        self._promised = list(map(self._compiler.compile_expression, plain))
        self._blank = self._compiler.make_environment(())[len(self._least) :]

    def _compile_case(self, equation: Equation) -> _CompiledCase:
        rest, factors = split_value_by_call(equation.value)
        linear = tuple(
            (self._compiler.compile_expression(factor), self._compile_call(call)) for call, factor in factors.items()
        )
        nested = tuple(map(self._compile_call, find_calls(rest)))
        return _CompiledCase(
            equation, tuple(self._compile_decisions(equation)), self._compiler.compile_expression(rest), linear, nested
        )

    def _compile_decisions(self, equation: Equation) -> Iterable[tuple[int, DecisionTest, bool]]:
        for decision in equation.decisions:
            number = self._decisions.setdefault((decision.branch, decision.indicator), len(self._decisions))
            yield number, self._compiler.compile_indicator(decision.indicator), decision.taken

    def _compile_call(self, call: AppliedFunction) -> _CompiledCall:
        return call.function, tuple(map(self._compiler.compile_expression, call.arguments))

    def find_equation_at(self, arguments: tuple[Number, ...]) -> tuple[Equation, dict[str, int | Fraction]]:
        """Return the equation that applies and the values of sizes, quotients, exponents. Raises EvaluationError."""
        point = evaluate_symbols(self.function, arguments)
        return self._find_case(self._compiler.make_environment(tuple(point.values()))).equation, point

    def reduce_to_calls(self, arguments: tuple[Number, ...], valid: Callable[[NumericCall], bool]) -> PendingCall:
        """Return the value in terms of calls; calls inside a max must be `valid`. Raises EvaluationError."""
        if not self._keeps_promises(arguments):
            raise EvaluationError("the sizes of a call are not allowed")
        if self._are_allowed_sizes(arguments):
            environment = [*arguments, *self._blank]
        else:
            environment = self._compiler.make_environment(tuple(evaluate_symbols(self.function, arguments).values()))
        case = self._find_case(environment)
        # A call whose factor is 0 is under a guard that fails: its arguments may be invalid sizes.
        linear = tuple(
            [
                (factor, _evaluate_arguments(call, environment))
                for compute, call in case.linear
                if (factor := compute(environment))
            ]
        )
        nested = tuple([_evaluate_arguments(call, environment) for call in case.nested])
        omitted: tuple[NumericCall, ...] = ()
        if case.equation.exits:
            places = [*[place for _, place in linear], *nested]
            omitted = tuple([place for place in places if not valid(place)])
            linear = tuple([pair for pair in linear if pair[1] not in omitted])
        kept = tuple([place for place in nested if place not in omitted and valid(place)])
        return PendingCall(case.rest, environment, linear, kept, omitted)

    def _are_allowed_sizes(self, arguments: tuple[Number, ...]) -> bool:
        """Test whether the arguments are allowed sizes, and need no quotients or exponents to be computed."""
        if self.function.facts.quotients:
            return False
        for number, least in zip(arguments, self._least, strict=True):
            if type(number) is not int or number < least:
                return False
        return True

    def _keeps_promises(self, arguments: tuple[Number, ...]) -> bool:
        """Test whether the arguments are such as the header promises, where calls may be omitted or have indices.

        Only this ends a recursion that moves indices without testing them.
        """
        return all(compute([*arguments, *self._blank]) >= 0 for compute in self._promised)

    def is_valid(self, arguments: tuple[Number, ...]) -> bool:
        """Test whether the arguments are valid sizes: a call in a max may be under a guard that fails."""
        if not self._keeps_promises(arguments):
            return False
        if not self._are_allowed_sizes(arguments):
            try:
                evaluate_symbols(self.function, arguments)
            except EvaluationError:
                return False
        return True

    def _find_case(self, environment: Environment) -> _CompiledCase:
        """Return the first case whose decisions all have the outcomes of the case; each decision is evaluated once."""
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


def evaluate_symbols(function: SizeFunction, arguments: tuple[Number, ...]) -> dict[str, int | Fraction]:
    """Return the values of sizes, quotients and exponents by name. Raises EvaluationError for arguments not allowed."""
    point: dict[str, int | Fraction] = {}
    for name, value in zip(function.parameters, arguments, strict=True):
        if value.denominator != 1 or (name in function.least and value < function.least[name]):
            raise EvaluationError(f"`{name}` is {value} in a call")
        point[name] = value.numerator
    for label, quotient in function.facts.quotients.items():
        point[label] = evaluate(quotient, point)
    return point


TOO_MANY_STEPS = "the recurrence takes too many steps at these sizes"
MAX_EVALUATED_CALLS = 200_000
BITS_OF_STEP = 9
"""The logarithm of the number of bits of a value that count as one step more."""


class ValueTable:
    """Evaluates functions whose values the sizes determine, each call once, without recursion in Python."""

    def __init__(self, functions: Mapping[str, SizeFunction]) -> None:
        self._functions = dict(functions)
        self._cases: dict[str, FunctionCases] = {}
        self._known: dict[NumericCall, Number] = {}
        self._too_deep: dict[str, Number] = {}
        """The smallest single arguments that take too many steps, by the name of the function."""

    def add_functions(self, functions: Mapping[str, SizeFunction]) -> None:
        """Add functions, or replace those of the same names."""
        self._functions |= functions

    def evaluate_at(self, name: str, sizes: Mapping[str, int], most: int = MAX_EVALUATED_CALLS) -> Fraction:
        """Return the value of a function. Raises EvaluationError if it has none or needs more than `most` steps."""
        parameters = self._functions[name].parameters
        if not sizes.keys() >= {*parameters}:
            raise EvaluationError("a size has no value")
        outermost = name, tuple(sizes[parameter] for parameter in parameters)
        if len(parameters) == 1 and outermost[1][0] >= self._too_deep.get(name, inf):
            raise EvaluationError(TOO_MANY_STEPS)
        pending: list[tuple[NumericCall, PendingCall | None]] = [(outermost, None)]
        open_: set[NumericCall] = set()
        values, steps = self._known, 0
        while pending:
            place, frame = pending.pop()
            if place in values:
                continue
            if frame is None:
                if place in open_:
                    raise EvaluationError("the recursion does not end at these sizes")
                steps += 1
                if steps > most:
                    if len(parameters) == 1:
                        self._too_deep[name] = outermost[1][0]
                    raise EvaluationError(TOO_MANY_STEPS)
                frame = self._get_cases(place[0]).reduce_to_calls(
                    place[1], lambda called: self._get_cases(called[0]).is_valid(called[1])
                )
                values.update(dict.fromkeys(frame.omitted, 0))
                missing = frame.find_missing_calls(values)
                if missing:
                    open_.add(place)
                    pending.append((place, frame))
                    pending.extend([(needed, None) for needed in missing])
                    continue
            open_.discard(place)
            values[place] = number = frame.compute_value(values)
            # Large numbers take longer.
            steps += number.numerator.bit_length() >> BITS_OF_STEP
        return Fraction(self._known[outermost])

    def _get_cases(self, name: str) -> FunctionCases:
        if name not in self._cases:
            self._cases[name] = FunctionCases(self._functions[name], self._look_up_call)
        return self._cases[name]

    def _look_up_call(self, name: str, arguments: tuple[Number, ...]) -> Number:
        value = self._known.get((name, arguments))
        if value is None:
            raise EvaluationError(f"`{name}` has no value at the sizes of a call")
        return value


MAX_CACHED_POINTS = 5_000
"""The maximum number of points whose values are cached."""


class _CompiledExpressions(dict[Poly, Compute]):
    """Compiled expressions in the symbols of one compiler, compiled when first requested."""

    def __init__(self, compiler: Compiler) -> None:
        super().__init__()
        self.compiler = compiler

    def __missing__(self, value: Poly) -> Compute:
        self[value] = compiled = self.compiler.compile_expression(value)
        return compiled


class _PointValues:
    """A point, and the cached values of expressions there."""

    def __init__(self, compiled: _CompiledExpressions, environment: Environment) -> None:
        self.compiled, self._environment = compiled, environment
        self._numbers: dict[Compute, Number] = {}

    def evaluate_all(self, computes: Sequence[Compute]) -> list[Number]:
        values = self._numbers
        self.compiled.compiler.extend_environment(self._environment)
        for compute in computes:
            if compute not in values:
                values[compute] = compute(self._environment)
        return [values[compute] for compute in computes]


class PointTable:
    """A cache of the values of expressions at points."""

    def __init__(self) -> None:
        self._compilers: dict[tuple[str, ...], _CompiledExpressions] = {}
        self._places: dict[tuple[tuple[str, int | Fraction], ...], _PointValues] = {}
        self._seen: dict[int, tuple[Point, _PointValues]] = {}

    def evaluate(self, value: Poly, point: Point) -> Number:
        """Return the value of an expression at a point, a Python integer if it is an integer."""
        place = self._get_point_values(point)
        return place.evaluate_all([place.compiled[value]])[0]

    def evaluate_at_points(self, values: Iterable[Poly], points: Sequence[Point]) -> list[list[Number]]:
        """Return the values of expressions at points: a row for each point."""
        values, places = list(values), list(map(self._get_point_values, points))
        # Most points have the same symbols, and so the same compiled expressions.
        compiled_by_id = {id(place.compiled): place.compiled for place in places}
        computes = {name: list(map(compiled.__getitem__, values)) for name, compiled in compiled_by_id.items()}
        return [place.evaluate_all(computes[id(place.compiled)]) for place in places]

    def _get_point_values(self, point: Point) -> _PointValues:
        # The same few points are requested often; as they are cached, no other point can have the address of one.
        cached = self._seen.get(id(point))
        if cached is None:
            if len(self._seen) >= MAX_CACHED_POINTS:
                self._seen.clear()
                self._places.clear()
            cached = self._seen[id(point)] = point, self._build_point_values(tuple(point.items()))
        return cached[1]

    def _build_point_values(self, point: tuple[tuple[str, int | Fraction], ...]) -> _PointValues:
        if point not in self._places:
            names = tuple([name for name, _ in point])
            if names not in self._compilers:
                self._compilers[names] = _CompiledExpressions(Compiler(names))
            compiled = self._compilers[names]
            self._places[point] = _PointValues(
                compiled, compiled.compiler.make_environment([number for _, number in point])
            )
        return self._places[point]
