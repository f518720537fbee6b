"""Solve recurrences whose sizes are divided by a symbol, such as the height of a B-tree: Q(n) = Q(n/L) + 1.

The symbol is at least 2, so that terms that grow as a power of the size fall from level to level at least as a
geometric series, and log2(n)/log2(L) levels lead from n to 1.
"""

from __future__ import annotations

from archline.algebra.evaluate.formulas import BALL_ARITHMETIC, CompiledFormula
from archline.algebra.reals import Constant, OutOfReachError
from archline.expr import build as b
from archline.expr import tree as s
from archline.expr.text import format_expression
from archline.expr.tree import has_same_structure
from archline.numbers import fmpq
from archline.recurrences.asymptotic.evaluate import Evaluator
from archline.recurrences.asymptotic.normal_form import TermReader, read_alternatives
from archline.recurrences.asymptotic.problem import RealRecurrence, SolvedGrowth
from archline.recurrences.asymptotic.terms import GrowthTerm
from archline.recurrences.asymptotic.text import build_growth_tree

_CHECKED_SYMBOL, _CHECKED_LEVELS, _MAX_RATIO = 16, (4, 12, 36), 4
"""An answer is compared with values at powers of this value of the symbol; their ratio changes by at most this much."""


def solve_recurrence_by_symbolic_share(problem: RealRecurrence) -> SolvedGrowth | None:
    """Solve T(n) = a*T(n/L) + f(n) with a constant up to L, to another symbol or to a number.

    None for other recurrences. Raises OutOfReachError if the growth depends on the symbol in another way.
    """
    definition = problem.asked
    if len(problem.definitions) > 1 or len(definition.parameters) > 1 or len(definition.cases) > 2:
        return None
    (size,), (*base_cases, case) = definition.parameters, definition.cases
    alternatives = read_alternatives(case.value, frozenset((definition.name,)))
    if len(alternatives) > 1 or len(alternatives[0].calls) != 1:
        return None
    ((weight, call),) = alternatives[0].calls
    symbol = _find_divisor(call.arguments[0], size)
    if symbol is None or (base_cases and base_cases[0].condition is None):
        return None
    limit: s.Expr = b.ONE
    if base_cases:
        match base_cases[0].condition:
            case s.Binary(op="<=" | "<", left=s.Name(id=left), right=s.Name() | s.Integer() as right) if left == size:
                limit = right
            case _:
                return None
    read = TermReader(size).read
    values = [first.value for first in base_cases] + [base.value for base in definition.bases]
    starts = [read(value) for value in values]
    if not all(len(terms) == 1 and terms[0].is_constant and terms[0].coefficient > 0 for terms in starts):
        return None
    number, *more = (GrowthTerm(fmpq(1)),) if weight is None else read(weight) or (GrowthTerm(fmpq(0)),)
    terms = [term for amount in alternatives[0].amounts for term in read(amount)]
    if more or not number.is_constant or not number.exact or number.coefficient < 1:
        raise OutOfReachError("a number of calls that is not a rational number of at least 1")
    if any(term.coefficient < 0 for term in terms):
        raise OutOfReachError("the terms without calls may be negative")
    growth = _build_growth(number.coefficient, terms, size, symbol, limit)
    _check_values(problem, growth, symbol)
    steps = (
        f"{definition.name}({size}) = {format_expression(case.value)}: the size is divided by {symbol} on every level",
        f"so {definition.name}({size}) is Theta({format_expression(growth)})",
    )
    return SolvedGrowth(growth, "levels of the recursion tree", steps, assumed=(f"{symbol} >= 2",))


def _find_divisor(argument: s.Expr, size: str) -> str | None:
    """Return the name L if the argument is size/L, rounded or not; else None."""
    if isinstance(argument, s.Call) and argument.function in ("floor", "ceil"):
        return _find_divisor(argument.arguments[0], size)
    match argument:
        case s.Binary(op="/" | "//", left=s.Name(id=left), right=s.Name(id=right)) if left == size != right:
            return right
        case _:
            return None


def _build_growth(number: fmpq, terms: list[GrowthTerm], size: str, symbol: str, limit: s.Expr) -> s.Expr:
    """Return the growth: the base values of all leaves, and the terms of all levels. Raises OutOfReachError."""
    above: s.Expr = b.name(size)
    if isinstance(limit, s.Name) and limit.id != symbol:
        above = b.binary("/", above, limit)
    radix = b.call("log2", b.name(symbol))
    leaves: s.Expr = b.ONE
    if number > 1:
        leaves = b.power(above, b.binary("/", Constant(number).log2().tree, radix))
    parts = [leaves]
    for term in terms:
        power, logs = term.power, term.powers[1:]
        if term.side > 0 or (power.sign() > 0 and (power - Constant(number).log2()).sign() > 0):
            parts.append(build_growth_tree([term], size))
        elif not power and number == 1 and all(log.sign() >= 0 for log in logs):
            amount = build_growth_tree([term], size)
            factors = [] if has_same_structure(amount, b.ONE) else [amount]
            parts.append(b.divide_products([*factors, b.call("log2", above)], [radix]))
        elif power or logs or term.symbols:
            raise OutOfReachError(f"whether calls or terms dominate depends on {symbol}")
    return b.sum_terms((False, part) for part in parts)


def _check_values(problem: RealRecurrence, growth: s.Expr, symbol: str) -> None:
    """Raise OutOfReachError unless the values of the recurrence agree with the growth at several scales."""
    (size,) = problem.asked.parameters
    parts = [part for case in problem.asked.cases for part in (case.value, case.condition) if part is not None]
    names = dict.fromkeys(s.find_names(tuple(parts)), _CHECKED_SYMBOL)
    evaluator = Evaluator(problem, names, BALL_ARITHMETIC)
    formula = CompiledFormula(growth, BALL_ARITHMETIC, exact_logs=False)
    ratios = []
    for level in _CHECKED_LEVELS:
        at = names[symbol] ** level
        ratios.append(float(evaluator.evaluate_call(problem.asked.name, at) / formula.at({**names, size: at})))
    if not 0 < max(ratios) <= _MAX_RATIO * min(ratios):
        raise OutOfReachError("the values of the recurrence at the sizes checked do not confirm the growth found")
