"""Convert a recurrence to logarithms: each case is a leaf with a cost, or a step that divides sizes and adds nodes.

Sizes are real numbers and have no minimum: if the guards allow a size below 1, it continues to fall, as n/2 does.
Guards, cut-offs and facts become alternatives, each a conjunction of linear rows. A sum is a max up to a constant
factor: `n + m <= L` is two rows, `n*m <= Z + L` two alternatives. Constants in comparisons do not affect growth, but
are kept, to distinguish `P >= 2` from `P <= 1`.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property, partial, reduce
from itertools import product
from math import log2
from typing import TypeAlias

from archline.algebra.reals import ONE_CONSTANT, Constant, OutOfReachError
from archline.expr import build
from archline.expr.text import format_expression, format_fact
from archline.expr.tree import rewrite_parts
from archline.growth.normal_form import expand
from archline.ir.conditions import NEGATED_OPERATORS, negate_condition
from archline.language import syntax as s
from archline.numbers import fmpq
from archline.records import record
from archline.recurrences.asymptotic.evaluate import choose_default_base
from archline.recurrences.asymptotic.logspace.cones import (
    ONE,
    ZERO,
    Irrational,
    LogMonomial,
    LogNames,
    Number,
    Vector,
    add_scaled,
    approximate,
    compute_logarithm,
    convert_to_number,
    evaluate_constant,
)
from archline.recurrences.asymptotic.normal_form import Alternative, read_alternatives, read_argument
from archline.recurrences.asymptotic.problem import EquationCase, RealRecurrence
from archline.recurrences.asymptotic.theorems import find_exponent


@record(eq=False, slots=True)
class LogInequality:
    """The inequality form . y + log2(factor) >= 0 of the names' logarithms y; compared by identity."""

    form: Vector
    factor: float

    @property
    def constant_term(self) -> float:
        """The constant term of the form."""
        return log2(self.factor)


Alternatives: TypeAlias = tuple[tuple[LogInequality, ...], ...]
MAX_ALTERNATIVES = 64
STRICT_COMPARISON_MARGIN = 1e-6
"""The relative margin by which a strict comparison exceeds equality; it decides where sizes are equal."""


def read_condition(fact: s.Fact, names: LogNames) -> Alternatives:
    """Convert a fact to alternatives: it holds where all rows of an alternative hold. Raises OutOfReachError."""
    match fact:
        case s.Binary(op="and", left=left, right=right):
            return _join_alternatives(read_condition(left, names), read_condition(right, names))
        case s.Binary(op="or", left=left, right=right):
            return read_condition(left, names) + read_condition(right, names)
        case s.Unary(op="not", operand=s.Binary(op=op) as operand) if op in NEGATED_OPERATORS:
            return read_condition(negate_condition(operand), names)
        case s.Binary(op="<=" | "<" as op, left=left, right=right):
            return _read_comparison(left, right, names, strict=op == "<")
        case s.Binary(op=">=" | ">" as op, left=left, right=right):
            return _read_comparison(right, left, names, strict=op == ">")
        case s.Binary(op="==", left=left, right=right):
            return _join_alternatives(_read_comparison(left, right, names), _read_comparison(right, left, names))
        case _:
            raise OutOfReachError(f"the condition {format_fact(fact)} does not compare sizes")


_MaxOfMins: TypeAlias = tuple[tuple[tuple[Vector, float], ...], ...]


def _read_comparison(small: s.Expr, great: s.Expr, names: LogNames, *, strict: bool = False) -> Alternatives:
    """Convert small <= great to alternatives: each part of `small` is at most some part of `great`.

    If `strict`, convert small < great instead, as <= with a slightly smaller constant.
    """
    scale = 1 - STRICT_COMPARISON_MARGIN if strict else 1.0
    result: Alternatives = ((),)
    upper = _read_side(great, names)
    for small_part in _read_side(small, names):
        reached = (
            tuple(LogInequality(add_scaled(high, low, fmpq(-1)), scale * b / a) for high, b in great_part)
            for low, a in small_part
            for great_part in upper
        )
        result = _join_alternatives(
            result, tuple(part for rows in reached if (part := _remove_constant_rows(rows)) is not None)
        )
    return result


def _remove_constant_rows(rows: tuple[LogInequality, ...]) -> tuple[LogInequality, ...] | None:
    """Remove the rows that compare constants; return None if such a comparison fails."""
    if any(not any(row.form) and row.factor < 1 for row in rows):
        return None
    return tuple(row for row in rows if any(row.form))


def _read_side(expr: s.Expr, names: LogNames) -> _MaxOfMins:
    """Convert an expression to a max of mins of monomials, each with a constant factor. Raises OutOfReachError."""
    parts: list[tuple[tuple[Vector, float], ...]] = []
    for factors, coefficient in expand(expr).items():
        if coefficient.sign() < 0:
            raise OutOfReachError(f"a condition subtracts in {format_expression(expr)}")
        side: _MaxOfMins = (((names.unit_term.powers, approximate(convert_to_number(coefficient))),),)
        for factor, exponent in factors.powers.items():
            part = _read_extremum(factor.expr, names) if exponent == ONE_CONSTANT else None
            raised = _read_monomials(factor.expr, convert_to_number(exponent), names) if part is None else part
            side = tuple(
                tuple((add_scaled(p, q), a * b) for (p, a), (q, b) in product(side_part, factor_part))
                for side_part, factor_part in product(side, raised)
            )
        parts += side
    if not parts:
        raise OutOfReachError("a comparison with 0")
    return tuple(parts)


def _read_extremum(expr: s.Expr, names: LogNames) -> _MaxOfMins | None:
    match expr:
        case s.Call(function="max", arguments=arguments):
            return tuple(part for operand in arguments for part in _read_side(operand, names))
        case s.Call(function="min", arguments=arguments):
            mins: _MaxOfMins = ((),)
            for operand in arguments:
                mins = tuple(a + b for a, b in product(mins, _read_side(operand, names)))
            return mins
        case _:
            return None


def _read_monomials(expr: s.Expr, exponent: Number, names: LogNames) -> _MaxOfMins:
    terms = names.read_power(expr, exponent)
    if any(term.logs for term in terms):
        raise OutOfReachError(f"a condition has the logarithm {format_expression(expr)}")
    if any(isinstance(x, Irrational) for term in terms for x in term.powers):
        raise OutOfReachError(f"a condition has an irrational power of {format_expression(expr)}")
    return tuple(((term.powers, 1.0),) for term in terms)


def _join_alternatives(first: Alternatives, second: Alternatives) -> Alternatives:
    result = tuple(tuple(dict.fromkeys(a + b)) for a, b in product(first, second))
    if len(result) > MAX_ALTERNATIVES:
        raise OutOfReachError("a condition has too many alternatives")
    return result


MAX_SPLIT_CASES = 32


def split_minima(cases: tuple[EquationCase, ...]) -> list[EquationCase]:
    """Return the cases without min: `min(a, b) when c` is `a when c and a <= b; b when c`. Raises OutOfReachError."""
    result: list[EquationCase] = []
    pending = list(reversed(cases))
    while pending:
        case = pending.pop()
        calls = (node for node in s.iterate_nodes(case.value) if isinstance(node, s.Call))
        least = next((call for call in calls if call.function == "min"), None)
        if least is None:
            result.append(case)
        else:
            pending.extend(reversed(_split_minimum(case, least)))
        if len(result) + len(pending) > MAX_SPLIT_CASES:
            raise OutOfReachError("too many minima in the costs")
    return result


def _split_minimum(case: EquationCase, least: s.Call) -> list[EquationCase]:
    """Return a case for each argument of the min `least`, where it is the minimum; the last has no such condition."""
    branches = []
    for number, chosen in enumerate(least.arguments):
        condition = case.condition
        rest = [argument for argument in least.arguments if argument is not chosen]
        for argument in rest if number < len(rest) else ():
            condition = _add_condition(condition, build.binary("<=", chosen, argument))
        value = rewrite_parts(case.value, lambda part, chosen=chosen: chosen if part is least else None)  # type: ignore[misc]
        branches.append(EquationCase(value, condition))
    return branches


def _add_condition(condition: s.Fact | None, other: s.Expr) -> s.Fact:
    if condition is None:
        return other
    if isinstance(condition, s.IsPower | s.IsSquare | s.Divides):
        raise OutOfReachError(f"the condition {format_fact(condition)} does not compare sizes")
    return build.binary("and", condition, other)


@record
class SelfCalls:
    """The calls of a case to its own function, as a motion of the logarithms of sizes.

    In a unit of time these fall by `direction`, and the logarithm of the number of nodes rises by `nodes`, which is
    log_b(a) for a calls of sizes divided by b. A level takes the time `length`, in binary logarithms.
    """

    direction: Vector
    nodes: Number
    length: float
    text: str

    @cached_property
    def log2_decreases(self) -> tuple[float, ...]:
        """The decrease of the binary logarithm of each name in one level, in floating point."""
        return tuple(approximate(speed) * self.length for speed in self.direction)


@record
class CaseRule:
    """A case, which applies if an alternative of `when` holds and no earlier case applies; without `step` it is a leaf.

    `terms` are the summands of its cost.
    """

    when: Alternatives
    condition: s.Fact | None
    terms: tuple[LogMonomial, ...]
    step: SelfCalls | None


@record
class LogSystem:
    """A recurrence in logarithms: its names, its cases in order and the facts about the names."""

    names: LogNames
    rules: tuple[CaseRule, ...]
    facts: tuple[Alternatives, ...]


ALWAYS: Alternatives = ((),)


def read_system(problem: RealRecurrence) -> LogSystem:
    """Convert a recurrence to logarithms. Raises OutOfReachError."""
    if len(problem.definitions) > 1:
        raise OutOfReachError("several functions of several sizes that call each other")
    asked = problem.asked
    values = [case.value for case in asked.cases] + [base.value for base in asked.bases]
    conditions = [case.condition for case in asked.cases if case.condition is not None]
    identifiers = dict.fromkeys(
        node.id
        for part in (*asked.parameters, *values, *conditions, *problem.facts)
        for node in s.iterate_nodes(part)
        if isinstance(node, s.Name) and node.id != "pi"
    )
    symbols = [name for name in identifiers if name not in asked.parameters]
    names = LogNames((*asked.parameters, *symbols), len(asked.parameters))
    rules = [_build_base_rule(base.arguments, base.value, names) for base in asked.bases]
    if not asked.bases and not conditions:
        threshold = build.number(choose_default_base(asked, frozenset((asked.name,))))
        rules.append(_build_base_rule((threshold,) * len(asked.parameters), build.ONE, names))
    reader = _CaseReader(asked.name, names)
    rules.extend(reader.build_rule(case.value, case.condition) for case in split_minima(asked.cases))
    if all(rule.step is None for rule in rules):
        raise OutOfReachError("no case is recursive")
    return LogSystem(names, tuple(rules), _read_facts(problem.facts, names))


def _build_base_rule(at: tuple[s.Expr, ...], value: s.Expr, names: LogNames) -> CaseRule:
    """Return the rule of a base value, which applies if all sizes are at most those of `at`."""
    parts = [build.binary("<=", build.name(name), bound) for name, bound in zip(names.all, at, strict=False)]
    condition = reduce(partial(build.binary, "and"), parts)
    return CaseRule(read_condition(condition, names), condition, names.read_terms(value), None)


def _read_facts(facts: tuple[s.Fact, ...], names: LogNames) -> tuple[Alternatives, ...]:
    """Convert facts; a fact that cannot be converted is omitted, so that the answer has to hold at more sizes."""
    usable: list[Alternatives] = []
    for fact in facts:
        try:
            usable.append(read_condition(fact, names))
        except OutOfReachError:
            continue
    if "Z" in names.all and "L" in names.all:
        form = tuple(fmpq((name == "Z") - (name == "L")) for name in names.all)
        usable.append(((LogInequality(form, 1.0),),))
    return tuple(usable)


class _CaseReader:
    """Converts the cases of one function to rules."""

    def __init__(self, function: str, names: LogNames) -> None:
        self._function = function
        self._names = names

    def build_rule(self, value: s.Expr, condition: s.Fact | None) -> CaseRule:
        """Return the rule of one case. Raises OutOfReachError."""
        when = ALWAYS if condition is None else read_condition(condition, self._names)
        alternatives = read_alternatives(value, frozenset((self._function,)))
        amounts = (amount for alternative in alternatives for amount in alternative.amounts)
        terms = tuple(dict.fromkeys(term for amount in amounts for term in self._names.read_terms(amount)))
        calls = self._select_covering_calls([self._count_calls(alternative) for alternative in alternatives])
        return CaseRule(when, condition, terms, self._build_motion(calls) if calls else None)

    def _count_calls(self, alternative: Alternative) -> dict[str, tuple[fmpq, s.Call]]:
        """Return the number of each call of an alternative, and the call, by its text."""
        counts: dict[str, tuple[fmpq, s.Call]] = {}
        for weight, call in alternative.calls:
            before, _ = counts.get(text := format_expression(call), (ZERO, call))
            counts[text] = before + (ONE if weight is None else self._read_call_number(weight)), call
        return counts

    def _select_covering_calls(self, parts: list[dict[str, tuple[fmpq, s.Call]]]) -> list[tuple[fmpq, s.Call]]:
        """Return the calls of a maximum if one part makes all calls of all parts. Raises OutOfReachError."""
        most = max(parts, key=lambda counts: sum((count for count, _ in counts.values()), ZERO))
        if any(text not in most or count > most[text][0] for counts in parts for text, (count, _) in counts.items()):
            raise OutOfReachError("a maximum of calls at different sizes")
        return list(most.values())

    def _read_call_number(self, expr: s.Expr) -> fmpq:
        try:
            value = evaluate_constant(expr)
        except OutOfReachError:
            raise OutOfReachError(f"the number of calls {format_expression(expr)} depends on the sizes") from None
        if isinstance(value, Irrational) or value <= 0:
            raise OutOfReachError(f"the number of calls {format_expression(expr)} is not a positive rational")
        return value

    def _build_motion(self, calls: list[tuple[fmpq, s.Call]]) -> SelfCalls:
        """Return the calls of a case as one motion. Raises OutOfReachError unless all have the same direction."""
        branches: dict[fmpq, fmpq] = {}
        direction: Vector | None = None
        for count, call in calls:
            towards, factor = self._compute_log_decreases(call)
            if direction is not None and towards != direction:
                raise OutOfReachError("calls of one case that divide the sizes in different proportions")
            direction = towards
            branches[factor] = branches.get(factor, ZERO) + count
        assert direction is not None
        text = " + ".join((f"{count}*" if count != 1 else "") + format_expression(call) for count, call in calls)
        parts = tuple((Constant(count), ONE / factor) for factor, count in branches.items())
        nodes = convert_to_number(find_exponent(parts))
        return SelfCalls(direction, nodes, approximate(compute_logarithm(min(branches), fmpq(2))), text)

    def _compute_log_decreases(self, call: s.Call) -> tuple[Vector, fmpq]:
        """Return the decrease of each name's logarithm in a call, and its base: a factor that divides one size."""
        ratios = [self._compute_ratio(i, argument) for i, argument in enumerate(call.arguments)]
        moved = next((ratio for ratio in ratios if ratio != 1), None)
        if moved is None:
            raise OutOfReachError(f"{format_expression(call)} is a call at the same sizes")
        factor = max(moved, ONE / moved)
        parts = [compute_logarithm(ratio, factor) for ratio in ratios]
        return (*parts, *[ZERO] * (len(self._names.all) - len(ratios))), factor

    def _compute_ratio(self, index: int, argument: s.Expr) -> fmpq:
        """Return size/argument. Raises OutOfReachError if it is not constant.

        The size is the one with number `index`, the argument its value in a call.
        """
        name = self._names.all[index]
        parsed = None
        with suppress(OutOfReachError):
            parsed = read_argument(argument, name)
        if parsed is None or not parsed.is_plain:
            raise OutOfReachError(f"the size {name} becomes {format_expression(argument)}, not a fixed fraction of it")
        return ONE / parsed.ratio
