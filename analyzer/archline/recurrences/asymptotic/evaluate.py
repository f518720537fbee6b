"""Evaluate recurrences by their equations, memoised and without recursion in Python, to check every solver's answers.

A function has its base value at sizes up to that of the base; if none is given and no case has a condition, it is 1 up
to size 1 (up to 2 if all calls are at roots of the size). To check growth, `log2(w)` and `log(w)` of an expression w
that varies are those of 2 + w; values at a point have ordinary logarithms (`exact_logs`). Numbers are rationals
(`EXACT_ARITHMETIC`), or balls of floats of any magnitude (`BALL_ARITHMETIC`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, TypeAlias

from archline.algebra.evaluate.formulas import (
    BALL_ARITHMETIC,
    EXACT_ARITHMETIC,
    Arithmetic,
    CompiledCode,
    CompiledFormula,
    EvaluationRefusedError,
    FormulaCompiler,
    NoValueError,
    Number,
)
from archline.expr import build
from archline.expr.text import format_expression
from archline.growth.normal_form import evaluate_constant
from archline.language import syntax as s
from archline.numbers import fmpq
from archline.records import record, replace
from archline.recurrences.asymptotic.problem import BaseValue, EquationCase, RealDefinition, RealRecurrence


@record
class CompiledCase:
    """A compiled case: its condition, the calls in its value, and the value in terms of the calls' values."""

    condition: Callable[[Mapping[str, Number]], bool] | None
    calls: tuple[tuple[str, tuple[CompiledCode, ...]], ...]
    value: CompiledCode


MAX_EVALUATED_SIZES = 100_000
"""The maximum number of sizes at which functions are evaluated for one value."""
CallKey: TypeAlias = tuple[Any, ...]


def evaluate(
    problem: RealRecurrence,
    point: Mapping[str, int | Fraction | float],
    *,
    limit: int = MAX_EVALUATED_SIZES,
) -> Fraction | float:
    """Return the value of the function to solve; `point` has values for its parameters and all symbols.

    It is exact if rationals suffice. A number too large for a float is infinite. Raises EvaluationRefusedError.
    """
    for arithmetic in (EXACT_ARITHMETIC, BALL_ARITHMETIC):
        try:
            value = Evaluator(problem, point, arithmetic, exact_logs=True, limit=limit).evaluate_at(point)
            return arithmetic.to_python_number(value)
        except NoValueError as error:
            reason = str(error)
    raise EvaluationRefusedError(reason)


@record
class _CompiledFunction:
    """A compiled definition: `bases` are pairs of thresholds and a value, those of the smallest thresholds first."""

    parameters: tuple[str, ...]
    bases: tuple[tuple[tuple[Number, ...], Number], ...]
    cases: tuple[CompiledCase, ...]


_PendingCase: TypeAlias = tuple[CompiledCase, Mapping[str, Number], list[CallKey]]
_StackEntry: TypeAlias = tuple[CallKey, str, tuple[Number, ...], _PendingCase | None]


CompiledBases: TypeAlias = list[tuple[tuple[CompiledCode, ...], CompiledCode]]


def _compile_definition(
    definition: RealDefinition, compiler: FormulaCompiler
) -> tuple[RealDefinition, CompiledBases, tuple[CompiledCase, ...]]:
    bases = [
        (tuple(compiler.compile(argument) for argument in base.arguments), compiler.compile(base.value))
        for base in definition.bases
    ]
    return definition, bases, tuple(_compile_case(case, compiler) for case in definition.cases)


def _compile_case(case: EquationCase, compiler: FormulaCompiler) -> CompiledCase:
    value, calls = compiler.compile(case.value), tuple(compiler.calls)
    return CompiledCase(None if case.condition is None else compiler.condition(case.condition), calls, value)


class Evaluator:
    """Evaluates a recurrence for fixed values of its symbols, and caches the values of all calls."""

    def __init__(
        self,
        problem: RealRecurrence,
        symbols: Mapping[str, int | Fraction | float],
        arithmetic: Arithmetic,
        *,
        exact_logs: bool = False,
        limit: int = MAX_EVALUATED_SIZES,
    ) -> None:
        self._arithmetic = arithmetic
        self._limit = limit
        self._asked = problem.asked
        self._names = frozenset(definition.name for definition in problem.definitions)
        compiler = FormulaCompiler(arithmetic, self._names, exact_logs)
        self._compiled = [_compile_definition(definition, compiler) for definition in problem.definitions]
        self._count = 0
        self.set_symbols(symbols)

    def set_symbols(self, symbols: Mapping[str, int | Fraction | float]) -> None:
        """Set the values of the symbols, and discard all cached values."""
        self._symbols = {name: self._arithmetic.number(value) for name, value in symbols.items()}
        self._functions = {d.name: self._build_function(d, bases, cases) for d, bases, cases in self._compiled}
        self._known: dict[CallKey, Number] = {}

    def evaluate_at(self, point: Mapping[str, int | Fraction | float]) -> Number:
        """Return the value of the function to solve at `point`. Raises EvaluationRefusedError and NoValueError."""
        missing = [name for name in self._asked.parameters if name not in point]
        if missing:
            raise EvaluationRefusedError(f"`{missing[0]}` has no value")
        return self.evaluate_call(self._asked.name, *(point[name] for name in self._asked.parameters))

    def evaluate_call(self, function: str, *sizes: int | Fraction | float) -> Number:
        """Return the value of `function` at sizes. Raises EvaluationRefusedError and NoValueError."""
        self._count = 0
        return self._compute_value(function, tuple(self._arithmetic.number(size) for size in sizes))

    def _build_function(
        self, definition: RealDefinition, compiled: CompiledBases, cases: tuple[CompiledCase, ...]
    ) -> _CompiledFunction:
        bases = [(tuple(x(self._symbols, []) for x in sizes), value(self._symbols, [])) for sizes, value in compiled]
        bases.sort(key=lambda pair: [float(threshold) for threshold in pair[0]])
        if not bases and all(case.condition is None for case in definition.cases):
            number = self._arithmetic.number
            size = number(choose_default_base(definition, self._names))
            bases = [((size,) * len(definition.parameters), number(1))]
        return _CompiledFunction(definition.parameters, tuple(bases), cases)

    def _compute_value(self, function: str, sizes: tuple[Number, ...]) -> Number:
        values = self._known
        first = self._make_key(function, sizes)
        # An entry with a case waits for the values of its calls, which are above it on the stack.
        stack: list[_StackEntry] = [(first, function, sizes, None)]
        open_: set[CallKey] = set()
        while stack:
            key, name, at, waiting = stack.pop()
            if waiting is not None:
                case, environment, calls = waiting
                values[key] = case.value(environment, [values[call] for call in calls])
                open_.discard(key)
            elif key not in values:
                if key in open_:
                    raise EvaluationRefusedError(f"`{name}` calls itself at the same size")
                entries = self._schedule_calls(key, name, at)
                open_.add(key)
                stack.extend(entries)
        return values[first]

    def _make_key(self, function: str, sizes: tuple[Number, ...]) -> CallKey:
        key_of = self._arithmetic.key
        return (function, key_of(sizes[0])) if len(sizes) == 1 else (function, *map(key_of, sizes))

    def _schedule_calls(self, key: CallKey, name: str, at: tuple[Number, ...]) -> list[_StackEntry]:
        """Store a base value and return nothing, or return entries for the stack: the call itself, then its calls."""
        self._count += 1
        if self._count > self._limit:
            raise EvaluationRefusedError(f"more than {self._limit} sizes are needed for one value")
        function = self._functions[name]
        for thresholds, value in function.bases:
            for size, threshold in zip(at, thresholds, strict=True):
                if not size <= threshold:
                    break
            else:
                self._known[key] = value
                return []
        environment = self._symbols | dict(zip(function.parameters, at, strict=True))
        # The last case has no condition.
        for case in function.cases:
            if case.condition is None or case.condition(environment):
                break
        size_of = self._arithmetic.normalise_size
        calls: list[_StackEntry] = []
        for callee, arguments in case.calls:
            sizes = tuple([size_of(argument(environment, [])) for argument in arguments])
            calls.append((self._make_key(callee, sizes), callee, sizes, None))
        return [(key, name, at, (case, environment, [entry[0] for entry in calls])), *calls]


def choose_default_base(definition: RealDefinition, functions: frozenset[str]) -> int:
    """Return the size up to which a function without base values is 1.

    It is 2 if all calls are at roots of sizes, or the least above which sizes shrink, and at least 1.
    """
    arguments = _list_arguments(definition, functions)
    least = 2 if arguments and all(_is_root_of_size(argument) for argument in arguments) else 1
    return max(least, find_least_base(definition, functions))


def _list_arguments(definition: RealDefinition, functions: frozenset[str]) -> list[s.Expr]:
    return [
        argument
        for case in definition.cases
        for node in s.iterate_nodes(case.value)
        if isinstance(node, s.Call) and node.function in functions
        for argument in node.arguments
    ]


def find_least_base(definition: RealDefinition, functions: frozenset[str]) -> int:
    """Return the smallest whole size from which on the sizes of all calls are smaller; 0 if none is found.

    A size is compared with those of its calls at powers of 2, and between two powers by bisection. Sizes that are
    rounded are whole, so that a call may be at the base itself.
    """
    if len(definition.parameters) != 1 or any(case.condition is not None for case in definition.cases):
        return 0
    (size,) = definition.parameters
    least = 0
    for argument in _list_arguments(definition, functions):
        if s.find_names(argument) != {size}:
            continue
        if _is_root_of_size(argument):
            least = max(least, 2)
            continue
        rounded = any(
            (isinstance(x, s.Call) and x.function in ("floor", "ceil")) or (isinstance(x, s.Binary) and x.op == "//")
            for x in s.iterate_nodes(argument)
        )
        shrinks = _compile_shrinking(argument, size)
        last = next((bits for bits in range(_MAX_BASE_BITS, -1, -1) if not shrinks(1 << bits)), None)
        if last is None:
            # Rounded sizes reach 0, and steps negative sizes.
            least = max(least, 0 if rounded or shrinks(-1) else 1)
            continue
        if last == _MAX_BASE_BITS:
            return 0
        low, high = 1 << last, 2 << last
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if shrinks(middle) else (middle, high)
        # Rounded sizes may be as large as the size again at a few sizes above the first that shrinks.
        low = next((low + more for more in range(8, 0, -1) if not shrinks(low + more)), low)
        least = max(least, low if rounded and shrinks(low + 1) else low + 1)
    return least


def raise_base(definition: RealDefinition, functions: frozenset[str]) -> tuple[RealDefinition, str | None]:
    """Let the last base value hold up to the size from which on sizes shrink; also return a text that says so."""
    sizes = [evaluate_constant(base.arguments[0]) for base in definition.bases]
    least = find_least_base(definition, functions) if sizes else 0
    rational = [fmpq(least) if size is None else size.rational for size in sizes]
    if not least or max(rational) >= least:
        return definition, None
    value, name = definition.bases[rational.index(max(rational))].value, definition.parameters[0]
    text = f"{definition.name}({name}) = {format_expression(value)} for {name} <= {least}, as sizes shrink only above"
    return replace(definition, bases=(*definition.bases, BaseValue((build.number(least),), value))), text


_MAX_BASE_BITS = 40


def _compile_shrinking(argument: s.Expr, size: str) -> Callable[[int], bool]:
    """Return a test whether the argument of a call is below the size; arguments without a value are not."""
    formula = CompiledFormula(argument, BALL_ARITHMETIC, exact_logs=False)

    def is_below_size(at: int) -> bool:
        try:
            return bool(formula.at({size: at}) < at)
        except (NoValueError, EvaluationRefusedError, OverflowError):
            return False

    return is_below_size


def _is_root_of_size(argument: s.Expr) -> bool:
    match argument:
        case s.Call(function="sqrt", arguments=(s.Name() | s.Call(function="sqrt") as inner,)):
            return isinstance(inner, s.Name) or _is_root_of_size(inner)
        case s.Binary(op="^", left=s.Name()):
            return True
        case _:
            return False
