"""Solve a system of recurrences, callees first, each by how its sizes shrink, and check the answer by values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction

from archline.algebra.evaluate.formulas import (
    BALL_ARITHMETIC,
    EXACT_ARITHMETIC,
    WHOLE_SIZE_ARITHMETIC,
    CompiledFormula,
    EvaluationRefusedError,
    NoValueError,
    value_at,
)
from archline.algebra.reals import OutOfReachError
from archline.expr.text import format_expression
from archline.expr.tree import has_same_structure
from archline.language import syntax as s
from archline.numbers import arb, fmpq
from archline.recurrences.asymptotic.evaluate import Evaluator, raise_base
from archline.recurrences.asymptotic.logspace.solve import solve_recurrence_in_log_space
from archline.recurrences.asymptotic.normal_form import (
    CallSum,
    InitialValues,
    check_nonnegative_terms,
    find_callees,
    find_recursive_components,
    inline_functions,
    read_alternatives,
    read_branches,
    read_initial_values,
    substitute_argument,
)
from archline.recurrences.asymptotic.problem import (
    Answer,
    BaseValue,
    RealDefinition,
    RealRecurrence,
    Refused,
    SolvedGrowth,
    Superpolynomial,
)
from archline.recurrences.asymptotic.symbolic_share import solve_recurrence_by_symbolic_share
from archline.recurrences.asymptotic.terms import collect_terms
from archline.recurrences.asymptotic.text import build_growth_tree, format_growth, format_statement
from archline.recurrences.asymptotic.theorems import round_powers
from archline.recurrences.asymptotic.univariate import (
    ROOTS,
    SLOW,
    SPLITS,
    STEPS,
    SUPERPOLYNOMIAL,
    SolvedFunction,
    solve_function,
    solve_recurrences_by_matrix,
)
from archline.recurrences.closed.geometric import ClosedExpression

SYMBOL_VALUES = (3, 17, 101)
"""The values of the symbols at which an answer is checked, by the order of their names."""
_MAX_RATIO_CHANGE = 2.3
_MAX_EVALUATIONS = 20_000
_MAX_SIZE_BITS = (64, 16, 12, 8)
"""Logarithms of the largest size, relative to the base, at which a recurrence is evaluated; the first possible one."""
_MAX_ROUGH_BITS = 512
_MAX_SLOW_BITS = (20, 16, 12, 8, 6)
"""The same for sizes that shrink by a term that varies."""
_MAX_CHECKED_SIZES = 5
_RELATIVE_TOLERANCE = 1e-9
Symbols = Mapping[str, int]


def check_answer(problem: RealRecurrence, answer: SolvedFunction) -> None:
    """Raise OutOfReachError unless the recurrence, evaluated at several scales, agrees with the answer."""
    symbols = choose_symbol_values(problem)
    sizes, values = _evaluate_at_sizes(problem, answer, symbols)
    points = [
        (math.log2(size.numerator) - math.log2(size.denominator), value)
        for size, value in zip(sizes, values, strict=True)
    ]
    if answer.growth is None:
        _check_superpolynomial(points)
    else:
        growth, size = CompiledFormula(answer.growth, BALL_ARITHMETIC, exact_logs=False), problem.asked.parameters[0]
        logs = [_log2_of_ball(growth.at({size: size_, **symbols})) for size_ in sizes]
        _check_constant_ratio([value - log for value, log in zip(values, logs, strict=True)], answer, points)
    if answer.closed is not None:
        _check_closed_form(problem, answer.closed, symbols)


def _evaluate_at_sizes(
    problem: RealRecurrence, answer: SolvedFunction, symbols: Symbols
) -> tuple[list[int | Fraction], list[float]]:
    """Return sizes with log2 of the function there; smaller ones if the larger need too many evaluations."""
    # Terms of smaller order in the sizes of calls count up to large sizes.
    splits = (_MAX_ROUGH_BITS, *_MAX_SIZE_BITS) if answer.rough else _MAX_SIZE_BITS
    bits_by_shrinking = {SPLITS: splits, SLOW: _MAX_SLOW_BITS}
    # Where sizes are known to leading order only, rounding does not change the growth.
    whole = answer.rough or answer.shrinking == SLOW
    attempts = [(bits, whole) for bits in bits_by_shrinking.get(answer.shrinking, _MAX_SIZE_BITS[:1])]
    if answer.shrinking == SPLITS and not whole:
        # Rounding lets calls share sizes, and constants added to sizes keep them apart.
        attempts += [(bits, True) for bits in _MAX_SIZE_BITS[1:]]
    for bits, rounds in attempts[:-1]:
        sizes = _select_sizes(problem, answer, bits)
        with suppress(OutOfReachError):
            return sizes, evaluate_log2(problem, sizes, symbols, rounds)
    bits, rounds = attempts[-1]
    sizes = _select_sizes(problem, answer, bits)
    return sizes, evaluate_log2(problem, sizes, symbols, rounds)


def _check_constant_ratio(ratios: list[float], answer: SolvedFunction, points: list[tuple[float, float]]) -> None:
    """Raise OutOfReachError unless the ratio of the function to its growth changes little between the last two sizes.

    `ratios` and `points` are logarithms. If two exponents are close, the slower term still counts, and the ratio may
    change more.
    """
    allowed = _MAX_RATIO_CHANGE
    scale = points[-2][0]
    if answer.shrinking == ROOTS:
        allowed *= 2 if answer.gap * math.log2(scale) < 5 else 1
    elif answer.gap * scale < 16:
        allowed *= 8 if answer.gap * scale < 5 else 4
    if answer.shrinking == SPLITS and (answer.factor is None or answer.rough):
        allowed *= 2
    if abs(ratios[-1] - ratios[-2]) > math.log2(allowed):
        raise OutOfReachError("the values of the recurrence at the sizes checked do not confirm the growth found")


def _check_superpolynomial(points: list[tuple[float, float]]) -> None:
    """Raise OutOfReachError unless log(function) is convex and rising in log(size), as beyond polynomials."""
    (a, x), (b, y), (c, z) = points[-3:]
    if not (z - y) / (c - b) > (y - x) / (b - a) > 0:
        raise OutOfReachError("the values of the recurrence at the sizes checked do not confirm the growth found")


def _select_sizes(problem: RealRecurrence, answer: SolvedFunction, bits: int) -> list[int | Fraction]:
    """Return three sizes, as far apart as the number of sizes between them and the base allows.

    They are whole numbers of steps or divisions from the base, as values at other sizes may differ by a factor.
    """
    smallest = max(Fraction(1), Fraction(int(answer.start.p), int(answer.start.q)))
    if answer.shrinking == STEPS:
        stride = Fraction(int(answer.stride.p), int(answer.stride.q))
        return [smallest + stride * count for count in (40, 120, 360)]
    if answer.shrinking == SLOW:
        return [smallest * 2 ** (bits * share // 4) for share in (2, 3, 4)]
    factor = Fraction(2) if answer.factor is None else Fraction(int(answer.factor.p), int(answer.factor.q))
    if bits > _MAX_EVALUATIONS * math.log2(factor):
        raise OutOfReachError(f"more than {_MAX_EVALUATIONS} sizes are needed to check the answer")
    if answer.shrinking == ROOTS:
        start = math.ceil(smallest) if smallest > 1 else 2
        depths = [round(bits / math.log2(factor)) for bits in (4, 8, 11)]
        return [start ** round(factor**depth) for depth in depths]
    if answer.factor is None or answer.rough:
        shares = _find_log_shares(problem)
        # The number of sizes to evaluate is that of products of shares above the base.
        while bits > 24 and math.prod(bits / share for share in shares) / math.factorial(len(shares)) > 800:
            bits -= 8
    depth = round(bits / math.log2(factor))
    return [smallest * factor ** (depth >> 2), smallest * factor ** (depth >> 1), smallest * factor**depth]


def _find_log_shares(problem: RealRecurrence) -> list[float]:
    """Return the distinct values of log2(1/r) of calls at r*n whose argument has a value at a large n, sorted."""
    logs = set()
    for node in s.iterate_nodes(tuple(case.value for definition in problem.definitions for case in definition.cases)):
        if isinstance(node, s.Call) and node.function in {definition.name for definition in problem.definitions}:
            try:
                ratio = float(value_at(node.arguments[0], {problem.asked.parameters[0]: 1 << 40}, BALL_ARITHMETIC)) / (
                    1 << 40
                )
            except (NoValueError, EvaluationRefusedError):
                continue
            if 0 < ratio < 1 - 1e-6:
                logs.add(round(-math.log2(ratio), 9))
    return sorted(logs)


def evaluate_log2(
    problem: RealRecurrence, sizes: list[int | Fraction], symbols: Symbols, whole: bool = False
) -> list[float]:
    """Return log2 of the function at the sizes; if `whole`, those of calls are rounded. Raises OutOfReachError."""
    try:
        arithmetic = WHOLE_SIZE_ARITHMETIC if whole else BALL_ARITHMETIC
        evaluator = Evaluator(problem, symbols, arithmetic, limit=_MAX_EVALUATIONS)
        values = [evaluator.evaluate_call(problem.asked.name, size) for size in sizes]
    except EvaluationRefusedError as reason:
        raise OutOfReachError(f"the recurrence could not be evaluated to check the answer: {reason}") from None
    except (NoValueError, OverflowError):
        values = []
    if not values or not all(value.is_finite() for value in values):
        raise OutOfReachError("the recurrence has no value at the sizes checked")
    if not all(value > 0 for value in values):
        raise OutOfReachError("the function is not positive at the sizes checked")
    return [_log2_of_ball(value) for value in values]


def _log2_of_ball(value: arb) -> float:
    return float(value.log().mid()) / math.log(2)


def choose_symbol_values(problem: RealRecurrence) -> dict[str, int]:
    """Choose values for the names that are not sizes."""
    sizes = {name for definition in problem.definitions for name in definition.parameters}
    parts = [case.value for definition in problem.definitions for case in definition.cases]
    parts += [base.value for definition in problem.definitions for base in definition.bases]
    names = s.find_names(tuple(parts)) - sizes - {"pi"}
    return {name: SYMBOL_VALUES[at % len(SYMBOL_VALUES)] for at, name in enumerate(sorted(names))}


def _check_closed_form(problem: RealRecurrence, closed: ClosedExpression, symbols: Symbols) -> None:
    """Raise OutOfReachError unless the closed form has the values of the recurrence, exactly if both are rational."""
    size = problem.asked.parameters[0]
    for arithmetic in (EXACT_ARITHMETIC, BALL_ARITHMETIC):
        try:
            evaluator = Evaluator(problem, symbols, arithmetic, exact_logs=True, limit=_MAX_EVALUATIONS)
            formula = CompiledFormula(closed.expr, arithmetic)
            for point in closed.places[:_MAX_CHECKED_SIZES]:
                left = evaluator.evaluate_call(problem.asked.name, point)
                right = formula.at({size: point, **symbols})
                if not _is_equal(left, right):
                    raise OutOfReachError("the closed form found does not agree with the recurrence")
        except NoValueError:
            continue
        return
    raise OutOfReachError("the closed form found could not be checked")


def _is_equal(left: fmpq | arb, right: fmpq | arb) -> bool:
    """Test whether two rationals are equal; for balls, whether they overlap or nearly do."""
    if isinstance(left, fmpq):
        return bool(left == right)
    difference = left - right
    return bool(difference.contains(0)) or bool(abs(difference) < _RELATIVE_TOLERANCE * abs(left))


def solve(problem: RealRecurrence) -> Answer:
    """Return the growth of the function to solve, and its closed form if there is one, or the reason for a refusal.

    Answers have been compared with values of the recurrence.
    """
    try:
        by_symbol = solve_recurrence_by_symbolic_share(problem)
    except (OutOfReachError, EvaluationRefusedError, NoValueError) as reason:
        return Refused(str(reason))
    if by_symbol is not None:
        return by_symbol
    if any(not _is_univariate(definition) for definition in problem.definitions):
        solved = solve_recurrence_in_log_space(problem)
        with_bases = _read_cases_as_bases(problem) if isinstance(solved, Refused) else None
        if with_bases is None:
            return solved
        by_bases = solve(with_bases)
        return replace(by_bases, assumed=with_bases.assumed) if isinstance(by_bases, SolvedGrowth) else by_bases
    try:
        answer = _SystemSolver(problem).solve(problem.asked.name)
        if problem.inexact or problem.raised:
            answer = replace(answer, closed=None)
        check_answer(problem, answer)
    except OutOfReachError as reason:
        return Refused(str(reason))
    return _build_answer(answer, problem.asked)


def _read_cases_as_bases(problem: RealRecurrence) -> RealRecurrence | None:
    """Return the recurrence with cases up to a number as base values; None if there are other cases, or several sizes.

    Sums, roundings and sizes that shrink in other ways than by a factor have no solution in log space.
    """
    raised = []
    for definition in problem.definitions:
        *cases, last = definition.cases
        bases = list(definition.bases)
        for case in cases:
            match case.condition:
                case s.Binary(op="<=" | "==", left=s.Name(id=name), right=s.Integer() as limit) if (
                    name,
                ) == definition.parameters and not s.find_names(case.value) - {"pi"}:
                    bases.append(BaseValue((limit,), case.value))
                case _:
                    return None
        if len(definition.parameters) > 1 or (cases and definition.bases):
            return None
        names = frozenset(d.name for d in problem.definitions)
        raised.append(raise_base(RealDefinition(definition.name, definition.parameters, (last,), tuple(bases)), names))
    texts = tuple(text for _, text in raised if text)
    definitions = tuple(definition for definition, _ in raised)
    return replace(problem, definitions=definitions, assumed=texts, raised=problem.raised or bool(texts))


def _has_difference(definition: RealDefinition, functions: frozenset[str]) -> bool:
    """Test whether terms without calls are subtracted."""
    alternatives = read_alternatives(definition.cases[-1].value, functions, amounts=True)
    parts = s.iterate_nodes(tuple(amount for alternative in alternatives for amount in alternative.amounts))
    return any(isinstance(part, s.Unary) or (isinstance(part, s.Binary) and part.op == "-") for part in parts)


def _is_univariate(definition: RealDefinition) -> bool:
    """Test whether a function has one size and no conditions, so that it needs no regions of sizes."""
    return len(definition.parameters) == 1 and all(case.condition is None for case in definition.cases)


def _build_answer(solved: SolvedFunction, asked: RealDefinition) -> Answer:
    (size,) = asked.parameters
    growth = solved.growth
    steps = list(solved.steps)
    if growth is not None:
        steps.append(f"so {asked.name}({size}) is Theta({format_expression(growth)})")
    exact, domain = (None, None) if solved.closed is None else (solved.closed.expr, solved.closed.domain)
    if exact is not None:
        steps.append(f"exactly {asked.name}({size}) = {format_expression(exact)} where {domain}")
    if solved.beyond is not None:
        return Superpolynomial(growth, solved.beyond, tuple(steps), exact, domain, solved.method, solved.between)
    assert growth is not None
    lower, upper = (build_growth_tree([round_powers(term, up) for term in solved.terms], size) for up in (False, True))
    between = None if has_same_structure(lower, upper) else (lower, upper)
    return SolvedGrowth(growth, solved.method, tuple(steps), exact, domain, between=between)


class _SystemSolver:
    """Solves the functions of a problem that call each other, and holds the solutions found so far."""

    def __init__(self, problem: RealRecurrence) -> None:
        self._definitions = {definition.name: definition for definition in problem.definitions}
        names = frozenset(self._definitions)
        if problem.inexact and any(_has_difference(definition, names) for definition in problem.definitions):
            raise OutOfReachError("a difference next to a term in Theta, which may be any multiple of it")
        self._bases = {name: read_initial_values(definition, names) for name, definition in self._definitions.items()}
        self._branches = {
            name: read_branches(definition, self._bases) for name, definition in self._definitions.items()
        }
        self._known: dict[str, SolvedFunction] = {}

    def solve(self, asked: str) -> SolvedFunction:
        """Solve the functions that `asked` calls, directly or not, callees first, and return its solution."""
        groups = find_recursive_components(self._branches, asked)
        needed = {asked}.union(*(find_callees(self._branches[name]) for group in groups for name in group))
        for group in groups:
            for name in sorted(group):
                called = any(name in find_callees(self._branches[caller]) for g in groups for caller in g - group)
                if name == asked or (name in needed and called):
                    self._known[name] = self._solve_function(name, group)
        solved = self._known[asked]
        if any(function.shrinking == STEPS for function in self._known.values()):
            # If any function shrinks by steps, sizes must be checked that few steps reach.
            solved = replace(solved, shrinking=STEPS)
        if solved.growth is None and solved.terms:
            solved = replace(solved, growth=build_growth_tree(solved.terms, self._definitions[asked].parameters[0]))
        return replace(solved, start=max(base.threshold for base in self._bases.values()))

    def _solve_function(self, name: str, group: frozenset[str]) -> SolvedFunction:
        size = self._definitions[name].parameters[0]
        beyond = self._explain_superpolynomial(group)
        if beyond is not None:
            stated = format_statement(name, size, self._branches[name], self._bases[name])
            return SolvedFunction("growth beyond polynomials", (*stated, beyond), beyond=beyond)
        system = {f: tuple(self._replace_foreign_calls(branch, group) for branch in self._branches[f]) for f in group}
        if len(group) == 1:
            return self._prepend_callee_solutions(name, solve_function(name, size, system[name], self._bases[name]))
        for function in group:
            check_nonnegative_terms(self._branches[function], max(self._bases[function].threshold, fmpq(1)))
        remaining = inline_functions(system, group, name)
        if len(remaining) == 2 and name not in find_callees(remaining[name]):
            # The other function is solved alone, with this one substituted, and then replaced by its growth.
            (callee,) = group - {name}
            alone = inline_functions(system, group, callee)[callee]
            callee_size = self._definitions[callee].parameters[0]
            self._known[callee] = solve_function(callee, callee_size, alone, self._find_bases_of_callee(callee, name))
            own = tuple(self._replace_foreign_calls(branch, frozenset((name,))) for branch in self._branches[name])
            method = f"solution of {callee}, with {name} substituted"
            return self._prepend_callee_solutions(name, solve_function(name, size, own, self._bases[name], method))
        if len(remaining) > 1:
            return solve_recurrences_by_matrix(
                remaining,
                self._find_group_bases(name, group),
                [line for f in remaining for line in self._format_statement(f)],
            )
        solved = solve_function(name, size, remaining[name], self._find_group_bases(name, group))
        stated = tuple(line for function in sorted(group) for line in self._format_statement(function))
        return replace(solved, steps=(*stated, "substituted into each other:", *solved.steps), closed=None)

    def _explain_superpolynomial(self, group: frozenset[str]) -> str | None:
        for name in sorted(group):
            for callee in sorted(find_callees(self._branches[name]) - group):
                if self._known[callee].beyond is not None and not self._known[callee].terms:
                    return f"{name} calls {callee}, which grows faster than every polynomial"
        return None

    def _format_statement(self, name: str) -> tuple[str, ...]:
        size = self._definitions[name].parameters[0]
        return format_statement(name, size, self._branches[name], self._bases[name])

    def _prepend_callee_solutions(self, name: str, solved: SolvedFunction) -> SolvedFunction:
        """Prepend the solutions of the called functions to the lines of the solution."""
        notes = []
        for callee in sorted(find_callees(self._branches[name]) - {name}):
            notes += [*self._known[callee].steps]
            size = self._definitions[callee].parameters[0]
            notes.append(f"so {callee}({size}) is Theta({format_growth(self._known[callee].terms, size)})")
        if not notes:
            return solved
        if any("." in str(power) for term in solved.terms for power in term.steep):
            # A rounded power of 2^n would leave the growth open by an exponential factor.
            solved = replace(solved, terms=(), beyond=SUPERPOLYNOMIAL)
        stated = f"{self._format_statement(name)[0]}, where {self._definitions[name].parameters[0]} is large:"
        return replace(solved, steps=(*notes, stated, *solved.steps), closed=None)

    def _replace_foreign_calls(self, branch: CallSum, group: frozenset[str]) -> CallSum:
        own_calls = tuple(call for call in branch.calls if call.function in group)
        terms = list(branch.terms)
        for call in branch.calls:
            if call.function not in group:
                if call.weight.coefficient < 0:
                    raise OutOfReachError("a recursive call is subtracted")
                grown = substitute_argument(self._known[call.function].terms, call.argument)
                terms += [replace(call.weight.multiply(term), exact=False) for term in grown]
        return CallSum(own_calls, collect_terms(terms))

    def _find_group_bases(self, name: str, group: frozenset[str]) -> InitialValues:
        """Return the base values of a function of a group: they contribute to growth only if those of all do."""
        bases = self._bases[name]
        if len({frozenset(term.kind for term in self._bases[f].growing) for f in group}) > 1 and any(
            term.symbols for f in group for term in self._bases[f].growing
        ):
            raise OutOfReachError("functions that call each other, with different symbols in their base values")
        if all(self._bases[function].growing for function in group):
            return bases
        return replace(bases, growing=(), positive=any(self._bases[function].positive for function in group))

    def _find_bases_of_callee(self, callee: str, caller: str) -> InitialValues:
        """Return the base values of a function into which its caller is substituted.

        That holds above those of the caller: up to a step beyond them, a base value of the caller is added.
        """
        bases, outer = self._bases[callee], self._bases[caller]
        calls = [x for branch in self._branches[callee] for x in branch.calls if x.argument.is_step]
        steps = [-call.argument.offset for call in calls if call.function == callee]
        added = [-call.argument.offset for call in calls if call.function == caller and not call.weight.depends_on_size]
        if bases.growing or not steps or not added or len(self._branches[callee]) > 1 or not outer.growing:
            return replace(bases, positive=bases.positive or outer.positive)
        return replace(bases, growing=outer.growing if 0 < min(steps) <= max(added) else (), positive=True)
