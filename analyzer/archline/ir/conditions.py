"""Convert the conditions on sizes and loop variables to constraints (expressions >= 0) and to 0/1 indicators."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from itertools import pairwise
from math import comb, lcm
from typing import TypeVar

from archline.algebra import atoms as a
from archline.algebra.factors import divide_terms
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Atom, Poly, Symbol
from archline.algebra.sums.summation import clear_single_floor
from archline.ir.amounts import KnownAmount, exact_amount
from archline.ir.ranges import bound_integer
from archline.ir.scope import Scope, has_log_or_root, known_value
from archline.language import syntax as s
from archline.records import replace

Names = TypeVar("Names", bound=Scope)
NEGATED_OPERATORS = {">=": "<", ">": "<=", "<=": ">", "<": ">=", "!=": "==", "==": "!="}
UNDECIDED_INDICATOR = KnownAmount(ZERO, ONE)
IndicatorFilter = Callable[[Poly], bool]
"""Tests whether an indicator is to be used; one that it rejects is bounded by 0 and 1 instead."""

MAX_DEGREE = 16
MIRRORED_OPERATORS = {">=": "<=", ">": "<", "<=": ">=", "<": ">", "!=": "!=", "==": "=="}


# Constraints
def negate_condition(condition: s.Expr) -> s.Expr:
    """Return the negation of a condition, without `not` where an opposite operator exists."""
    match condition:
        case s.Unary(op="not", operand=operand):
            return operand
        case s.Binary(op="and" | "or" as op, left=left, right=right):
            return s.Binary(
                "or" if op == "and" else "and", negate_condition(left), negate_condition(right), span=condition.span
            )
        case s.Binary(op=op, left=left, right=right) if op in NEGATED_OPERATORS:
            return s.Binary(NEGATED_OPERATORS[op], left, right, span=condition.span)
        case _:
            return s.Unary("not", condition, span=condition.span)


def subtract_sides(comparison: s.Binary, scope: Scope) -> Poly | None:
    """Return the left side minus the right side; None if it depends on data."""
    left, right = known_value(comparison.left, scope), known_value(comparison.right, scope)
    return None if left is None or right is None else left - right


def comparison_constraints(op: str, difference: Poly) -> tuple[Poly, ...]:
    """Return expressions that are all nonnegative if `difference op 0` holds; none for `!=`."""
    match op:
        case ">=":
            return (difference,)
        case ">":
            return (difference - _smallest_step(difference),)
        case "<=":
            return (-difference,)
        case "<":
            return (-difference - _smallest_step(difference),)
        case "==":
            return difference, -difference
        case _:
            return ()


def _smallest_step(difference: Poly) -> Poly:
    """The smallest positive value that a difference with rational coefficients can take; 0 if there may be none."""
    denominator = lcm(*(int(coefficient.q) for coefficient in difference.terms.values()))
    return (ONE / denominator) if a.is_integral(difference.scaled(denominator)) else ZERO


def disjunctive_form(condition: s.Fact, scope: Scope) -> list[tuple[Poly, ...]]:
    """Return alternatives, each a conjunction of expressions: if the condition holds, those of one are nonnegative.

    A condition on data, or one that cannot be written like this, gives one alternative without expressions.
    """
    match condition:
        case s.Unary(op="not", operand=s.Unary() | s.Binary() as operand):
            return disjunctive_form(negate_condition(operand), scope)
        case s.Binary(op="and", left=left, right=right):
            return [(*x, *y) for x in disjunctive_form(left, scope) for y in disjunctive_form(right, scope)]
        case s.Binary(op="or", left=left, right=right):
            return [*disjunctive_form(left, scope), *disjunctive_form(right, scope)]
        case s.Binary(op=op) if (
            op in NEGATED_OPERATORS and (difference := subtract_sides(condition, scope)) is not None
        ):
            return [comparison_constraints(sign, difference) for sign in (("<", ">") if op == "!=" else (op,))]
        case _:
            return [()]


def implied_constraints(condition: s.Fact, scope: Scope) -> tuple[Poly, ...]:
    """Return expressions that are nonnegative whenever a condition holds."""
    first, *others = disjunctive_form(condition, scope)
    return tuple(value for value in first if all(value in alternative for alternative in others))


def equivalent_constraints(condition: s.Fact, scope: Scope) -> tuple[Poly, ...] | None:
    """Return integer expressions that are all nonnegative exactly if a condition holds; None if none are known."""
    match condition:
        case s.Unary(op="not", operand=s.Unary() | s.Binary() as operand):
            return equivalent_constraints(negate_condition(operand), scope)
        case s.Binary(op="and" | "or" as op, left=left, right=right):
            first, second = equivalent_constraints(left, scope), equivalent_constraints(right, scope)
            if first is None or second is None:
                return None
            if op == "and":
                return (*first, *second)
            return tuple(scope.facts.maximum(x, y) for x in first for y in second)
        case s.Binary(op=op) if (
            op in NEGATED_OPERATORS and (difference := subtract_sides(condition, scope)) is not None
        ):
            if not a.is_integral(difference):
                return None
            return (
                (scope.facts.maximum(difference, -difference) - 1,)
                if op == "!="
                else comparison_constraints(op, difference)
            )
        case _:
            return None


def with_fact(facts: Facts, fact: s.Fact, scope: Scope) -> Facts:
    """Extend facts by the constraints that `fact` implies: a `where`, an `assume` or a condition that holds."""
    for value in implied_constraints(fact, scope):
        facts = facts.with_nonnegative_in_any_order(value) if scope.on_grid else facts.with_nonnegative(value)
    return facts


def with_facts(facts: Facts, more: Iterable[s.Fact], scope: Scope) -> Facts:
    """Extend facts by several facts in one scope."""
    return reduce(lambda known, fact: with_fact(known, fact, scope), more, facts)


def assume_facts(scope: Names, *facts: s.Fact) -> Names:
    """Return the scope in which facts hold."""
    return scope.with_facts(with_facts(scope.facts, facts, scope))


def scope_after(statement: s.Stmt, scope: Names) -> Names:
    """Return the scope after a statement.

    A `let`, or a register that is never reassigned, binds a name to a value, and an assignment to a register with a
    known value binds it to another one; an `assume` adds facts.
    """
    if statement.named_value and not scope.module.is_view(statement.named_value[1]):
        return _scope_after_definition(*statement.named_value, scope.without_value(statement.named_value[0]))
    if isinstance(statement, s.Local) and statement.constant and statement.value is not None:
        return _scope_after_definition(statement.name, statement.value, scope)
    if isinstance(statement, s.Assign) and isinstance(statement.target, s.Name) and statement.target.id in scope.values:
        return _scope_after_assignment(statement, statement.target.id, scope)
    return assume_facts(scope, *statement.assumed) if statement.assumed else scope


def _scope_after_definition(name: str, value: s.Expr, scope: Names) -> Names:
    """Return the scope in which a name that nothing sets again has a value, or lies in its interval."""
    number = known_value(value, scope)
    if number is not None:
        return scope.with_value(name, scope.facts.simplify(number))
    interval = bound_integer(value, scope)
    if interval is None and name not in scope.intervals:
        return scope
    intervals = {key: ends for key, ends in scope.intervals.items() if key != name}
    return replace(scope, intervals=intervals if interval is None else {**intervals, name: interval})


def _scope_after_assignment(statement: s.Assign, name: str, scope: Names) -> Names:
    """Return the scope after an assignment to a register whose value was known."""
    value = statement.value
    if statement.op in ("+=", "-=", "*="):
        value = s.Binary(statement.op[0], s.Name(name, span=value.span), value, span=value.span)
    elif statement.op != "=":
        return scope.without_value(name)
    number = None if statement.outputs else known_value(value, scope)
    return scope.without_value(name) if number is None else scope.with_value(name, scope.facts.simplify(number))


# Indicators
def condition_indicator(condition: s.Expr, scope: Scope, counted: IndicatorFilter = lambda _: True) -> Poly | None:
    """Return an expression that is 1 where a condition holds and 0 elsewhere.

    None if it depends on data, or if the filter `counted` rejects an indicator in it.
    """
    bounds = bound_indicator(condition, scope, counted)
    return bounds.lower if bounds.exact else None


def has_false_fact(facts: Iterable[s.Fact], scope: Scope) -> bool:
    """Test whether one of several facts is known to be false everywhere."""
    conditions = [fact for fact in facts if not isinstance(fact, s.IsPower | s.IsSquare | s.Divides)]
    known = (condition_indicator(condition, scope) for condition in conditions)
    return any(value is not None and scope.facts.nonnegative(-scope.facts.simplify(value)) for value in known)


def is_refuted(fact: s.Fact, scope: Scope) -> bool:
    """Test whether a fact is known to be false everywhere, in a scope that may contain it."""
    return any(scope.facts.positive(scope.facts.simplify(-bound)) for bound in implied_constraints(fact, scope))


def bound_indicator(condition: s.Expr, scope: Scope, counted: IndicatorFilter = lambda _: True) -> KnownAmount:
    """Bound the indicator of a condition; comparisons that depend on data or that `counted` rejects lie in 0 to 1."""
    match condition:
        case s.Unary(op="not", operand=operand):
            return _complement_amount(bound_indicator(operand, scope, counted))
        case s.Binary(op="and", left=left, right=right):
            return _bound_conjunction(left, right, scope, counted)
        case s.Binary(op="or", left=left, right=right):
            neither = [s.Unary("not", side, span=side.span) for side in (left, right)]
            return _complement_amount(_bound_conjunction(neither[0], neither[1], scope, counted))
        case s.Binary(op=op) if op in NEGATED_OPERATORS:
            difference = subtract_sides(condition, scope)
            # Indicators are built for integers; a logarithm or root may lie between them.
            if difference is None or has_log_or_root(difference):
                return UNDECIDED_INDICATOR
            value = scope.facts.simplify(_comparison_indicator(op, difference, scope.facts))
            return exact_amount(value) if value.is_constant or counted(value) else UNDECIDED_INDICATOR
        case s.Integer(value=truth):
            return exact_amount(ONE if truth else ZERO)
        case _:
            return UNDECIDED_INDICATOR


def _complement_amount(indicator: KnownAmount) -> KnownAmount:
    return KnownAmount(1 - indicator.upper, 1 - indicator.lower)


def _bound_conjunction(left: s.Expr, right: s.Expr, scope: Scope, counted: IndicatorFilter) -> KnownAmount:
    """Bound the indicator of `left and right`; a side that is constant where the other one holds is that constant."""
    first, second = bound_indicator(left, scope, counted), bound_indicator(right, scope, counted)
    for outer, inner, condition in ((first, second, left), (second, first, right)):
        facts = with_fact(scope.facts, condition, scope)
        ends = facts.simplify(inner.lower), facts.simplify(inner.upper)
        if ends[0] == ends[1] and ends[0].is_constant:
            return KnownAmount(outer.lower * ends[0], outer.upper * ends[0])
    return KnownAmount(first.lower * second.lower, first.upper * second.upper)


def is_summable(indicator: Poly, scope: Scope) -> bool:
    """Test whether an indicator can be summed over variables, which are the symbols not in `scope.fixed`.

    Each variable must occur as a symbol, or linearly in the e of max(0, e) or of floor(e/m).
    """
    return all(
        isinstance(atom, Symbol) or atom.names <= scope.fixed or _is_threshold(atom, scope)
        for atom in indicator.atoms()
    )


def _is_threshold(atom: Atom, scope: Scope) -> bool:
    """Test whether an atom is max(0, e) or floor(e/m), m without variables, e linear in variables or summable atoms."""
    argument, *others = atom.parts
    if not isinstance(atom, a.PositivePart | a.Floor) or not all(part.names <= scope.fixed for part in others):
        return False
    moving = [[(factor, power) for factor, power in m if not factor.names <= scope.fixed] for m in argument.terms]
    return all(
        not factors or (len(factors) == 1 and factors[0][1] == 1 and is_summable(Poly.of_atom(factors[0][0]), scope))
        for factors in moving
    )


def _comparison_indicator(op: str, difference: Poly, facts: Facts) -> Poly:
    """Return the indicator of `difference op 0`, for an integer difference."""
    test = _match_remainder_comparison(difference, facts)
    if test is not None:
        below, mirrored, limit = test
        return _indicator_by_thresholds(MIRRORED_OPERATORS[op] if mirrored else op, below, limit)

    return _indicator_by_thresholds(op, lambda limit: _nonnegativity_indicator(limit - 1 - difference, facts), ZERO)


def _nonnegativity_indicator(value: Poly, facts: Facts) -> Poly:
    """Return the indicator of `value >= 0`; a polynomial in one integer is split at its sign changes.

    floor(e/m) >= c compares e with c*m, and floor(e/m) <= c with (c + 1)*m.
    """
    value = clear_single_floor(value, facts)
    symbols = [atom for atom in value.atoms() if isinstance(atom, Symbol)]
    parts = value.coefficients(symbols[0]) if len(value.atoms()) == len(symbols) == 1 else {}
    if not 2 <= max(parts, default=0) <= MAX_DEGREE or min(parts) < 0:
        return facts.positive_part(value + 1) - facts.positive_part(value)
    number = Poly.of_atom(symbols[0])
    scale = lcm(*(int(part.constant_term.q) for part in parts.values()))
    coefficients = [int((parts.get(power, ZERO).constant_term * scale).p) for power in range(max(parts) + 1)]
    changes, everywhere = _find_sign_changes(coefficients)
    total = ONE if everywhere else ZERO
    for change in changes:
        reached = facts.positive_part(number - change + 1) - facts.positive_part(number - change)
        total, everywhere = (total - reached if everywhere else total + reached), not everywhere
    return total


def _find_sign_changes(coefficients: list[int]) -> tuple[list[int], bool]:
    """List the integers x where p(x) >= 0 is true and p(x - 1) >= 0 false, or the reverse; p = c0 + c1*x + ...

    The second value is the truth of p >= 0 below the first change. Between the sign changes of p(x + 1) - p(x),
    which are found first, p is monotone.
    """

    def evaluate_at(x: int) -> int:
        return reduce(lambda total, coefficient: total * x + coefficient, reversed(coefficients), 0)

    if not any(coefficients[1:]):
        return [], evaluate_at(0) >= 0
    # All real zeros lie between -far and far.
    far = 2 + sum(map(abs, coefficients))
    degree = len(coefficients)
    steps = [sum(comb(k, j) * coefficients[k] for k in range(j + 1, degree)) for j in range(degree - 1)]
    ends = [-far, *(change for change in _find_sign_changes(steps)[0] if -far < change < far), far]
    changes = []
    for low, high in pairwise(ends):
        held = evaluate_at(low) >= 0
        if (evaluate_at(high) >= 0) == held:
            continue
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if (evaluate_at(middle) >= 0) == held else (low, middle)
        changes.append(high)
    return changes, evaluate_at(-far) >= 0


def _indicator_by_thresholds(op: str, below: Callable[[Poly], Poly], limit: Poly) -> Poly:
    """Return the indicator of `x op limit`, given the function `below(t)`, the indicator of x < t for an integer t."""
    match op:
        case "<":
            return below(limit)
        case "<=":
            return below(limit + 1)
        case ">=":
            return 1 - below(limit)
        case ">":
            return 1 - below(limit + 1)
        case _:
            pass
    equal = below(limit + 1) - below(limit)
    return equal if op == "==" else 1 - equal


def _match_remainder_comparison(difference: Poly, facts: Facts) -> tuple[Callable[[Poly], Poly], bool, Poly] | None:
    """Match `difference` with e mod m - limit: return the indicator of e mod m < t as a function of t, and the limit.

    The flag between them is True if the difference is limit - e mod m instead. e mod m is e - m*floor(e/m); for 0 <= t
    <= m it is below t exactly if floor(e/m) - floor((e - t)/m) is 1, else that is 0. If e is floor(u/d), floor(e/m)
    occurs as floor(u/(d*m)). None if `difference` has another form.
    """
    for atom in sorted(difference.atoms(), key=str):
        parts = difference.coefficients(atom)
        if not isinstance(atom, a.Floor) or set(parts) - {0, 1}:
            continue
        for mirrored in (False, True):
            modulus = parts[1] if mirrored else -parts[1]
            split = divide_terms(atom.modulus, modulus, exact=True) if facts.positive(modulus) else None
            if split is None or split[1] or not facts.integral(split[0]) or not facts.positive(split[0]):
                continue
            unit = split[0]
            value = atom.argument if unit == ONE else a.floor_div(atom.argument, unit)
            remainder = value - modulus * Poly.of_atom(atom)
            rest = difference + remainder if mirrored else difference - remainder
            if len(rest.terms) >= len(difference.terms) or not facts.integral(rest) or not facts.integral(modulus):
                continue
            return _make_remainder_indicator(atom, modulus, unit, facts), mirrored, rest if mirrored else -rest
    return None


def _make_remainder_indicator(atom: a.Floor, modulus: Poly, unit: Poly, facts: Facts) -> Callable[[Poly], Poly]:
    def indicator_below(limit: Poly) -> Poly:
        inside = facts.minimum(facts.maximum(limit, ZERO), modulus)
        return Poly.of_atom(atom) - a.floor_div(atom.argument - inside * unit, atom.modulus)

    return indicator_below
