"""Decide claims on recursions whose sizes are tied, as by `n == m` and `P is power of 8`, by unrolling the calls.

Under such facts one case applies at each level. After some levels, a period, the sizes are the initial ones times a
factor, and tied in the same way, so that a claimed cost is proved by induction over periods. CARMA on cubes halves
n, m and p in turn: they are equal again after three levels, when P is an eighth.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from archline.algebra import atoms as a
from archline.algebra.expand import expand_logarithms
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Poly
from archline.claims.verdicts import ClaimQuery, Verdict
from archline.expr.tree import iterate_defined_sizes
from archline.ir.scope import NotStaticError, Scope, static_value
from archline.language import syntax as s
from archline.records import record
from archline.recurrences.model import Equation, SizeFunction, find_calls, split_value_by_call

LEVELS = Poly.symbol("levels")
MAX_LEVELS = 8


@record
class TiedSizes:
    """Ties between sizes: P is base^(period*levels), and `same` maps each size to the symbol of its equals."""

    base: int
    period: int
    same: Mapping[str, str]

    def build_start_values(self, names: tuple[str, ...], levels: Poly) -> dict[str, Poly]:
        """Return the values of the sizes `names` in the outermost call of a recursion with `levels` periods."""
        processors = a.exponential(self.base, levels.scaled(self.period))
        return {name: processors if name == "P" else Poly.symbol(self.same.get(name, name)) for name in names}


def find_tied_sizes(facts: tuple[s.Fact, ...]) -> TiedSizes | None:
    """Find in facts the base b of `P is power of b`, and equations between sizes; None if no fact is of this form."""
    powers: list[int] = []
    same: dict[str, str] = {}
    for fact in facts:
        match fact:
            case s.IsPower(value=s.Name(id="P"), base=s.Integer(value=base)) if base >= 2:
                powers.append(base)
            case s.Binary(op="==", left=s.Name(id=left), right=s.Name(id=right)):
                representative, replaced = same.get(left, left), same.get(right, right)
                same = {name: representative if symbol == replaced else symbol for name, symbol in same.items()} | {
                    replaced: representative,
                    right: representative,
                }
            case _:
                # Other facts tie no sizes.
                pass
    if not powers:
        return None
    largest = max(powers)
    smallest = min(powers)
    period = next((k for k in range(1, MAX_LEVELS) if smallest**k == largest), 0)
    return TiedSizes(smallest, period, same) if period else None


def decide_by_unrolling(asked: ClaimQuery) -> Verdict | None:
    """Prove a comparison for all sizes by unrolling the recursive calls; None if that is not possible."""
    claim, recurrence = asked.claim, asked.cost.recursion
    if recurrence is None or not recurrence.scales or claim.processors is not None:
        return None
    ties = find_tied_sizes((*asked.algorithm.where, *claim.when))
    if ties is None:
        return None
    with suppress(NotStaticError, _UntiedCallError):
        unrolled = _UnrolledClaim(recurrence.most, ties, claim.bound, recurrence.more, asked.scope)
        above = claim.relation == ">=" or unrolled.is_proved(recurrence.most, 1)
        if above and (claim.relation == "<=" or unrolled.is_proved(recurrence.least, -1)):
            return asked.make_verdict("holds", "proved by unrolling the recursive calls")
    return None


class _UntiedCallError(Exception):
    """The sizes are not tied in the same way after a period, or the facts do not decide which case applies."""


@record
class _UnrolledClaim:
    """A claimed `bound` of a recurrence with tied sizes; `more` is the cost that only the outermost call adds."""

    function: SizeFunction
    ties: TiedSizes
    bound: s.Expr
    more: Poly
    scope: Scope

    def is_proved(self, function: SizeFunction, sign: int) -> bool:
        """Test whether sign*(bound - function) is never negative, by induction over the levels."""
        levels, facts = LEVELS, self._make_facts(1)
        state = self.ties.build_start_values(function.parameters, levels)
        total, weight = ZERO, ONE
        for _ in range(self.ties.period):
            equation = self._find_equation(function, state, facts)
            rest, factors = split_value_by_call(equation.value)
            if len(factors) != 1 or find_calls(rest):
                raise _UntiedCallError
            ((call, factor),) = factors.items()
            total = total + weight * expand_logarithms(rest.substitute(state))
            weight = weight * factor
            arguments = zip(function.parameters, call.arguments, strict=True)
            state = {name: facts.simplify(expand_logarithms(value.substitute(state))) for name, value in arguments}
            for name, value in state.items():
                facts = facts.with_nonnegative(value - function.least[name])
        smaller = self._match_sizes_of_call(function, state)
        step = (
            self._build_claimed_value(levels)
            - total
            - weight * self._build_claimed_value(levels - 1).substitute(smaller)
        )
        return self._has_sign(step, facts, sign) and self._is_proved_at_leaf(function, sign)

    def _is_proved_at_leaf(self, function: SizeFunction, sign: int) -> bool:
        """Test whether sign*(bound - function) is not negative in the base case, which has 0 levels."""
        facts = self._make_facts(0)
        state = self.ties.build_start_values(function.parameters, ZERO)
        leaf = self._find_equation(function, state, facts)
        if leaf.recursive:
            raise _UntiedCallError
        return self._has_sign(self._build_claimed_value(ZERO) - leaf.value.substitute(state), facts, sign)

    @staticmethod
    def _has_sign(difference: Poly, facts: Facts, sign: int) -> bool:
        return facts.nonnegative(facts.simplify(expand_logarithms(difference)).scaled(sign))

    def _build_claimed_value(self, levels: Poly) -> Poly:
        """Return the claimed bound in terms of `levels`, without the cost that only the outermost call adds."""
        # Under facts that hold for the outermost call alone, the recurrence is that of the algorithm without them.
        module, algorithm = self.scope.module, self.function.algorithm
        declared = algorithm if algorithm in module.signatures else module.algorithms[algorithm.name]
        names = (*module.signatures[declared].size_names, "P")
        start = self.ties.build_start_values(names, levels)
        for name, expr in iterate_defined_sizes(self.function.where):
            if name not in self.function.parameters:
                start[name] = static_value(expr, self._make_scope(start))
        return expand_logarithms(static_value(self.bound, self._make_scope(start)) - self.more.substitute(start))

    def _make_scope(self, values: Mapping[str, Poly]) -> Scope:
        return Scope(self.scope.module, self._make_facts(0), values, reads_decimals=True)

    def _match_sizes_of_call(self, function: SizeFunction, state: Mapping[str, Poly]) -> dict[str, Poly]:
        """Return the values of the size symbols in a call with the sizes `state`. Raises _UntiedCallError."""
        values: dict[str, Poly] = {}
        for name, start in self.ties.build_start_values(function.parameters, LEVELS).items():
            if name == "P":
                if expand_logarithms(state[name] - self.ties.build_start_values(("P",), LEVELS - 1)["P"]):
                    raise _UntiedCallError
                continue
            symbol = self.ties.same.get(name, name)
            if not (state[name] * start**-1).is_constant or values.get(symbol, state[name]) != state[name]:
                raise _UntiedCallError
            values[symbol] = state[name]
        return values

    def _find_equation(self, function: SizeFunction, state: Mapping[str, Poly], facts: Facts) -> Equation:
        """Return the equation whose conditions the sizes `state` satisfy. Raises _UntiedCallError if none is known."""
        for equation in function.equations:
            outcomes = [
                facts.simplify(expand_logarithms(decision.indicator.substitute(state)))
                == (ONE if decision.taken else ZERO)
                for decision in equation.decisions
            ]
            if all(outcomes):
                return equation
        raise _UntiedCallError

    def _make_facts(self, levels: int) -> Facts:
        """Build the facts about the size symbols, with at least `levels` levels."""
        facts = Facts()
        for name in self.function.parameters:
            symbol = self.ties.same.get(name, name)
            tied = [size for size in self.function.parameters if self.ties.same.get(size, size) == symbol]
            least = [self.function.least[size] for size in tied if size in self.function.least]
            facts = facts.with_symbol(symbol, (Poly.constant(max(least)),) if least else ())
        return facts.with_symbol("levels", (Poly.constant(levels),))
