"""Convert a recurrence over integers to one over real sizes of the same growth, without floors, ceilings and base case.

One of two theorems applies. If a call has the size r*n + h(n) with 0 < r < 1 and h(n) bounded, as floor(n/2), n - n//2
or 2*n//3 + 1, it is that of Akra and Bazzi in Leighton's form: T(n) = sum a*T(r*n + h(n)) + g(n) is Theta(n^p*(1 + the
integral of g(u)/u^(p + 1))) with sum a*r^p = 1, for any h that is O(n/log(n)^2), and for any positive values of T up to
a constant (T. Leighton, Notes on better master theorems for divide-and-conquer recurrences, 1996). If the size is
n - c, nothing is rounded, and the characteristic equation gives the growth. Both results are monotone in g and in the
base values, so that functions of the same growth may replace these, and an inequality an equation. In sizes that the
calls do not change, the function is a sum of terms, and this applies to each.

Both require that the recursion ends: an `IntegerRecurrence` is proved to end.

Calls that multiply sizes by constants divide them exactly: at the sizes of any run the recurrence equals the one over
real sizes, in which a leaf at P = 1 becomes one at P <= 1 (`build_real_recurrence`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property, reduce

from archline.algebra import atoms as a
from archline.algebra.effort import TooComplexError
from archline.algebra.facts import Facts
from archline.algebra.polynomial import Poly, Symbol
from archline.algebra.prove.prover import prove_never_negative
from archline.algebra.reals import OutOfReachError
from archline.expr import build
from archline.expr.tree import iterate_defined_sizes, substitute_names
from archline.language import syntax as s
from archline.numbers import fmpq
from archline.records import record
from archline.recurrences.asymptotic.normal_form import CallArgument
from archline.recurrences.asymptotic.problem import BaseValue, EquationCase, RealDefinition, RealRecurrence
from archline.recurrences.closed.levels import read_level_step, split_maximum
from archline.recurrences.exact.transitions import Transition, build_steps
from archline.recurrences.model import (
    Decision,
    Equation,
    IntegerRecurrence,
    SizeFunction,
    find_calls,
    split_value_by_call,
)

ForcingGrowth = Callable[[Poly, Facts], tuple[s.Expr | None, s.Expr | None]]
"""Returns the O and the Omega of a cost under facts, as expressions; None for one that is unknown."""
FUNCTION_NAME = "T"


@record
class BoundingSum:
    """A sum that bounds a case: its recursive calls, each with their number, and the non-recursive cost, None for 0."""

    calls: tuple[tuple[CallArgument, fmpq], ...]
    added: s.Expr | None

    def build_expression(self, size: str) -> s.Expr:
        """Return the sum as the right-hand side of a recurrence in `size`."""
        sizes = (
            build.binary("-", build.name(size), build.number(-argument.offset))
            if argument.ratio == 1
            else build_multiple(argument.ratio, build.name(size))
            for argument, _ in self.calls
        )
        parts = [
            build_multiple(weight, build.call(FUNCTION_NAME, value))
            for (_, weight), value in zip(self.calls, sizes, strict=True)
        ]
        return _build_sum([*parts, *([] if self.added is None else [self.added])])

    def is_at_most(self, rival: BoundingSum) -> bool:
        """Test whether the sum is at most `rival`, by comparing the weights of calls and the non-recursive costs."""
        weights = dict(rival.calls)
        fewer = all(weight <= weights.get(called, fmpq(0)) for called, weight in self.calls)
        return fewer and (self.added is None or self.added == rival.added)


@record(eq=False)
class OneSidedRecurrence:
    """A recurrence over real sizes for an upper or a lower bound of a recursive function, in the single size `size`.

    Its methods raise OutOfReachError, with the reason, if the function has no such recurrence.
    """

    recurrence: IntegerRecurrence
    upper: bool
    added: ForcingGrowth

    @property
    def _function(self) -> SizeFunction:
        """The function that bounds the cost from this side."""
        return self.recurrence.most if self.upper else self.recurrence.least

    @cached_property
    def size(self) -> str:
        """The size that calls reduce; they pass all other parameters unchanged."""
        function = self.recurrence.most
        if function.facts.rewrites:
            raise OutOfReachError("its sizes are powers or multiples of others")
        arguments_of_calls = (pair for _, arguments in function.own_calls for pair in arguments.items())
        changed = {name for name, value in arguments_of_calls if value != Poly.symbol(name)}
        if len(changed) != 1:
            raise OutOfReachError(
                f"its calls change several parameters: {', '.join(f'`{name}`' for name in sorted(changed))}"
            )
        (size,) = changed
        if size not in function.least:
            raise OutOfReachError(f"its calls change the index `{size}`")
        return size

    def build_recurrence(self) -> RealRecurrence:
        """Return the recurrence over real sizes."""
        size, other_sizes = self.size, [name for name in self._function.least if name != self.size]
        steps = self._steps
        beyond = [step for step in steps if step.facts.bounds[size].maximum is None]
        branches = list(dict.fromkeys(map(self._build_branch, beyond)))
        value = self._build_maximum(branches) if self.upper else self._select_smallest(branches).build_expression(size)
        base = BaseValue((build.ONE,), self._build_base_value(steps) if other_sizes else build.ONE)
        return RealRecurrence((RealDefinition(FUNCTION_NAME, (size,), (EquationCase(value),), (base,)),))

    @cached_property
    def _steps(self) -> list[Transition]:
        """The alternatives of all cases, with and without calls, that together bound the function."""
        function = self._function
        foreign = self.recurrence.foreign(self.upper)
        try:
            return [
                step
                for equation in function.equations
                for step in build_steps(function, equation, self.upper, self._rank_sum, foreign)
            ]
        except TooComplexError as problem:
            raise OutOfReachError(str(problem)) from None

    def _rank_sum(self, value: Poly) -> tuple[Fraction, str]:
        """Rank a sum, to choose one of several, by the sum of the shares of the size in its calls, then by text."""
        total = Fraction(0)
        for call in find_calls(value):
            linear = _read_linear(call.arguments[self._function.parameters.index(self.size)], self.size)
            total += Fraction(0) if linear is None else Fraction(int(linear[0].p), int(linear[0].q))
        return total, value.key

    def _build_branch(self, step: Transition) -> BoundingSum:
        if step.data:
            raise OutOfReachError("its calls or costs depend on data")
        weights: dict[CallArgument, fmpq] = {}
        for factor, call in step.calls:
            if not factor.is_constant:
                raise OutOfReachError("the number of recursive calls depends on its sizes")
            argument = self._read_argument(call)
            weights[argument] = weights.get(argument, fmpq(0)) + factor.constant_term
        ordered = sorted(weights.items(), key=lambda pair: (pair[0].ratio, pair[0].offset))
        return BoundingSum(
            tuple((argument, weight) for argument, weight in ordered if weight), self._bound_forcing(step)
        )

    def _read_argument(self, call: a.AppliedFunction) -> CallArgument:
        """Read the size of a call as r*n, its bounded offset dropped, or as n - c. Raises OutOfReachError."""
        (size_of_call,) = (
            value for name, value in zip(self._function.parameters, call.arguments, strict=True) if name == self.size
        )
        linear = _read_linear(size_of_call, self.size)
        if linear is not None:
            ratio, offset = linear
            if 0 < ratio < 1:
                # Leighton's theorem: a bounded offset has no effect on the growth.
                return CallArgument(ratio, fmpq(0))
            if ratio == 1 and offset is not None and offset < 0 and offset.q == 1:
                return CallArgument(ratio, offset)
        raise OutOfReachError(
            f"the size of a call is neither a part of `{self.size}` nor `{self.size}` less a constant"
        )

    def _bound_forcing(self, step: Transition) -> s.Expr | None:
        if not step.forcing:
            return None
        above, below = self.added(step.forcing, step.facts)
        growth = above if self.upper else below
        if growth is None and not self.upper and step.facts.nonnegative(step.forcing):
            return None
        if growth is None:
            raise OutOfReachError("the growth of its non-recursive cost is unknown")
        return growth

    def _build_maximum(self, branches: Sequence[BoundingSum]) -> s.Expr:
        needed = [x for x in branches if not any(x != y and x.is_at_most(y) for y in branches)]
        values = [x.build_expression(self.size) for x in needed]
        return values[0] if len(values) == 1 else build.call("max", *values)

    @staticmethod
    def _select_smallest(branches: Sequence[BoundingSum]) -> BoundingSum:
        smallest = next((branch for branch in branches if all(map(branch.is_at_most, branches))), None)
        if smallest is None:
            raise OutOfReachError("its cases have different recursive calls and costs")
        return smallest

    def _build_base_value(self, steps: Iterable[Transition]) -> s.Expr:
        """Return the growth in the other sizes of the function where `size` is at most a constant."""
        bounded = [step for step in steps if step.facts.bounds[self.size].maximum is not None]
        if not self.upper:
            bounded = [step for step in bounded if not step.calls]
        growths = [self._bound_forcing(step) for step in bounded]
        # A bounded size grows as the constant 1.
        unit_size = {self.size: build.ONE}
        plain = list(dict.fromkeys(substitute_names(growth, unit_size) for growth in growths if growth is not None))
        if not plain or (not self.upper and (len(plain) > 1 or None in growths)):
            return build.ONE
        return _build_sum(plain)

    def find_positive_start(self) -> int | None:
        """Return a size from which on induction proves the function to be at least 1; None if no proof is found.

        Each case must cost at least 1 itself or make a call at such a size, to which the induction applies.
        """
        size = self.size
        unproved_steps = [step for step in self._steps if not step.facts.nonnegative(step.forcing - 1)]
        leaves = [step.facts.bounds[size].maximum for step in unproved_steps if not step.calls]
        if None in leaves:
            return None
        start = max([self._function.least[size], 1, *(limit + 1 for limit in leaves if limit is not None)])
        return start if all(self._calls_at_size_from(step, start) for step in unproved_steps if step.calls) else None

    def _calls_at_size_from(self, step: Transition, least: int) -> bool:
        """Test whether a step at a size of at least `least` costs >= 0 and makes a call at such a size."""
        place = self._function.parameters.index(self.size)
        facts = step.facts.with_nonnegative(Poly.symbol(self.size) - least)
        return facts.nonnegative(step.forcing) and any(
            facts.nonnegative(factor - 1) and prove_never_negative(call.arguments[place] - least, facts)
            for factor, call in step.calls
        )


def _read_linear(value: Poly, size: str) -> tuple[fmpq, fmpq | None] | None:
    """Return r and c of a value r*n + c, with None for c if it is rounded; None if the value has another form."""
    ratio, offset, rounded = fmpq(0), fmpq(0), False
    for monomial, coefficient in value.terms.items():
        match monomial:
            case ():
                offset += coefficient
            case ((Symbol(name=name), 1),) if name == size:
                ratio += coefficient
            case ((a.Floor(argument=argument, modulus=modulus), 1),) if modulus.is_constant:
                inner = _read_linear(argument, size)
                if inner is None:
                    return None
                ratio, rounded = ratio + coefficient * inner[0] / modulus.constant_term, True
            case _:
                return None
    return ratio, None if rounded else offset


def _build_sum(parts: Sequence[s.Expr]) -> s.Expr:
    return reduce(lambda left, right: build.binary("+", left, right), parts) if parts else build.ZERO


def build_multiple(weight: fmpq, value: s.Expr) -> s.Expr:
    """Return a multiple of an expression. The factor 1 is omitted."""
    return value if weight == 1 else build.binary("*", build.number(weight), value)


def build_real_recurrence(
    function: SizeFunction, upper: bool, added: ForcingGrowth, facts: Sequence[s.Fact]
) -> RealRecurrence:
    """Return the recurrence of a bound if calls multiply sizes by constants. Raises OutOfReachError."""
    cases = tuple(_build_case(function, equation, upper, added) for equation in function.equations)
    names = frozenset(function.parameters)
    domain = tuple(fact for fact in (*facts, *_iterate_defined_size_minima(function)) if s.find_names((fact,)) <= names)
    return RealRecurrence((RealDefinition(FUNCTION_NAME, function.parameters, cases),), domain)


def _iterate_defined_size_minima(function: SizeFunction) -> Iterator[s.Fact]:
    """Iterate over the facts that sizes defined by an expression in other sizes are at least 1."""
    for name, expr in iterate_defined_sizes(function.where):
        if name not in function.parameters:
            yield build.binary(">=", expr, build.ONE)


def _build_case(function: SizeFunction, equation: Equation, upper: bool, added: ForcingGrowth) -> EquationCase:
    """Build a case over real sizes; conditions of branches that are not taken are left out."""
    conditions = [_read_condition(decision, function) for decision in equation.decisions if decision.taken]
    condition = reduce(lambda x, y: build.binary("and", x, y), conditions) if conditions else None
    return EquationCase(_build_value(function, equation, upper, added), condition)


def _read_condition(decision: Decision, function: SizeFunction) -> s.Expr:
    """Return the condition of a branch that is taken, `n == c` as `n <= c`. Raises OutOfReachError if it has data."""
    condition = decision.condition
    if not s.find_names(condition) <= frozenset(function.parameters):
        raise OutOfReachError("one of its conditions depends on data, not only on sizes")
    match condition:
        case s.Binary(op="==", left=s.Name(), right=s.Integer()):
            return build.binary("<=", condition.left, condition.right)
        case _:
            return condition


def _build_value(function: SizeFunction, equation: Equation, upper: bool, added: ForcingGrowth) -> s.Expr:
    """Bound the value of a case: max(call + x, y) by call + x + y from above, by call + x from below."""
    value, alternative = split_maximum(equation.value)
    rest, _ = split_value_by_call(value)
    if find_calls(rest):
        raise OutOfReachError("the cost of a recursive call is inside another expression")
    parts: list[s.Expr] = []
    for amount in (rest, alternative):
        if amount and (upper or amount is rest):
            growth = added(amount, equation.facts)[0 if upper else 1]
            if growth is None:
                raise OutOfReachError("the growth of its non-recursive cost is unknown")
            parts.append(growth)
    step = read_level_step(function, equation) if equation.recursive else None
    if equation.recursive and (step is None or step.counted):
        raise OutOfReachError("its calls do not multiply all sizes by constants")
    if step is not None:
        arguments = {name: build.number(value.constant_term) for name, value in step.given.items()}
        arguments |= {name: build_multiple(factor, build.name(name)) for name, factor in step.factors.items()}
        sizes = (arguments[name] for name in function.parameters)
        parts.append(build_multiple(step.weight, build.call(FUNCTION_NAME, *sizes)))
    return _build_sum(parts)
