"""Find closed forms of recursions with one call a level, which multiplies each size by a constant factor.

Calls of T(x) = a(x) + rho*T(x') divide a size p by b until it is e, so that p = e*b^k with k the number of levels, or
count a size down to 0. So T is the sum of rho^i*a over the levels i < k, whose terms change by constant factors, plus
rho^k times the cost of the last call: geometric sums. A form is only a guess until it is proved by induction: for each
case of the recurrence, T(x) - a(x) - rho*T(x') is 0 (or is never negative, for an upper bound).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from archline.algebra import atoms as a
from archline.algebra.expand import expand_logarithms, log2_of_number
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Atom, Poly, Symbol, sum_polynomials
from archline.algebra.prove.prover import prove_never_negative
from archline.numbers import factor_into_primes, fmpq
from archline.records import record
from archline.recurrences.exact.transitions import may_leave
from archline.recurrences.model import BoundSide, Equation, SizeFunction, find_calls, split_value_by_call


def find_peak_upper_bound(function: SizeFunction) -> tuple[Poly, bool] | None:
    """Return an upper bound of T(x) = max(a(x), T(y), ...), and whether it is exact; None for other recursions.

    T is the memory that a call needs, which is free when it returns, so that levels do not add up. If a grows with all
    sizes, and no call has a larger size, T is at most a plus the values of the base cases.
    """
    amounts: dict[Poly, None] = {}
    for equation in function.equations:
        for option in a.split_extremum(equation.value, True):
            if not find_calls(option):
                amounts[option] = None
            elif not _is_smaller_call(option, equation, function):
                return None
    needed = [amount for amount in amounts if amount]
    terms = [term for value in needed for term in value.terms.items()]
    if any(number <= 0 or any(not isinstance(x, Symbol) or k <= 0 for x, k in monomial) for monomial, number in terms):
        # The terms are not products of sizes with positive coefficients.
        return None
    levels = [equation for equation in function.equations if equation.recursive]
    return sum_polynomials(needed), len(needed) == 1 and len(levels) == 1 and needed[0] in a.split_extremum(
        levels[0].value, True
    )


def _is_smaller_call(value: Poly, equation: Equation, function: SizeFunction) -> bool:
    """Test whether the value is a call of the function in which no size is larger than the caller's."""
    call = a.find_single_atom(value)
    return (
        isinstance(call, a.AppliedFunction)
        and call.function == function.name
        and all(
            equation.facts.nonnegative((Poly.symbol(name) - argument).substitute(equation.facts.rewrites))
            for name, argument in zip(function.parameters, call.arguments, strict=True)
        )
    )


LEVEL = "level"
"""The symbol for the number of remaining levels of the recursion."""


@record
class DividedSize:
    """A size that a call divides: size = `end`*`base`^k for the k that LEVEL represents."""

    size: str
    end: Poly
    base: int

    @property
    def size_in_levels(self) -> Poly:
        """The size in terms of the number of levels: end*base^k."""
        return self.end * self._power_of_base

    def restore_size(self, value: Poly) -> Poly:
        """Replace the number of levels in a value by the size."""
        depth = self._levels_in_size
        quotient = Poly.symbol(self.size) * self.end**-1

        def rewrite_terms(poly: Poly) -> Poly:
            total = ZERO
            for monomial, coefficient in poly.terms.items():
                term = Poly.constant(coefficient)
                for atom, power in monomial:
                    term = term * rewrite_power(atom, power)
                total = total + term
            return total

        def rewrite_power(atom: Atom, power: int) -> Poly:
            match atom:
                case Symbol(name=name) if name == LEVEL:
                    return depth**power
                case a.Exponential(base=base, exponent=exponent) if exponent == Poly.symbol(LEVEL):
                    ((((root, roots),), _),) = self._power_of_base.terms.items()
                    whole, remainder = divmod(power, roots) if atom == root else (0, power)
                    return quotient**whole * a.exponential(base, depth.scaled(remainder))
                case _ if LEVEL in atom.names:
                    return atom.rebuild(tuple(map(rewrite_terms, atom.parts))) ** power
                case _:
                    return Poly.of_atom(atom, power)

        return rewrite_terms(value)

    @property
    def _power_of_base(self) -> Poly:
        """The power base^k."""
        return a.exponential(self.base, Poly.symbol(LEVEL))

    @property
    def _levels_in_size(self) -> Poly:
        logs = a.log2(Poly.symbol(self.size))
        ((monomial, coefficient),) = self.end.terms.items()
        logs = logs - log2_of_number(coefficient)
        for atom, power in monomial:
            logs = logs - a.log2(Poly.of_atom(atom)).scaled(power)
        base = a.log2(Poly.constant(self.base))
        return logs.scaled(1 / base.constant_term) if base.is_constant else logs * base**-1


@record
class LevelStep:
    """A recursive case: the cost `added` plus `weight` times a call.

    In the call, sizes in `factors` are multiplied by their factor, those in `counted` are 1 less, and those in `given`
    are constants. The value of the case is at least `least`, if there is one, as that of a peak of memory.
    """

    equation: Equation
    added: Poly
    least: Poly | None
    weight: fmpq
    factors: Mapping[str, fmpq]
    counted: frozenset[str]
    given: Mapping[str, Poly]

    def compute_sizes_after(self, levels: Poly) -> dict[str, Poly]:
        """Return the values after a number of levels of the sizes that the call multiplies."""
        return {name: Poly.symbol(name) * expand_power(factor, levels) for name, factor in self.factors.items()}


@record
class BoundingForms:
    """Bounds of a function, None if not found; where the case `leaf` applies, if given, its value replaces them."""

    lower: Poly | None
    upper: Poly | None
    leaf: Equation | None = None


def bound_function_by_levels(function: SizeFunction) -> BoundingForms:
    """Return bounds of the function, which are equal if its closed form is found."""
    leaves = [equation for equation in function.equations if not equation.recursive]
    steps = [read_level_step(function, equation) for equation in function.equations if equation.recursive]
    level_steps = [step for step in steps if step is not None]
    depth = _find_divided_size(function, leaves, level_steps)
    if len(leaves) != 1 or depth is None or len(level_steps) < len(steps):
        return _bound_peak(function, leaves)
    return _FormSearch(function, leaves[0], level_steps, depth).search_bounds()


def _bound_peak(function: SizeFunction, leaves: Sequence[Equation]) -> BoundingForms:
    """Return bounds of a function that is a peak (see `find_peak_upper_bound`); bounds of None for other functions."""
    peak = find_peak_upper_bound(function)
    if peak is None:
        return BoundingForms(None, None)
    upper, exact = peak
    return BoundingForms(upper, upper, leaves[0]) if exact and len(leaves) == 1 else BoundingForms(None, upper)


def read_level_step(function: SizeFunction, equation: Equation) -> LevelStep | None:
    """Return the step of a recursive case with one call that multiplies or counts down sizes; None for other cases."""
    value, least = split_maximum(equation.value)
    rest, weights = split_value_by_call(value)
    if len(weights) != 1 or find_calls(rest):
        return None
    ((call, weight),) = weights.items()
    if equation.exits and may_leave(function, equation, call):
        return None
    if call.function != function.name or not weight.is_constant or weight.constant_term <= 0:
        return None
    factors: dict[str, fmpq] = {}
    counted: set[str] = set()
    constants: dict[str, Poly] = {}
    for name, value in zip(function.parameters, call.arguments, strict=True):
        ratio = value * Poly.symbol(name) ** -1
        if value.is_constant:
            constants[name] = value
        elif ratio.is_constant and ratio.constant_term > 0:
            factors[name] = ratio.constant_term
        elif value == Poly.symbol(name) - 1:
            counted.add(name)
        else:
            return None
    return LevelStep(equation, rest, least, weight.constant_term, factors, frozenset(counted), constants)


def split_maximum(value: Poly) -> tuple[Poly, Poly | None]:
    """Return the x and y of max(x, y), where x contains the call; else the value itself and None."""
    for atom in value.atoms():
        if isinstance(atom, a.PositivePart) and find_calls(atom.argument) and value.coefficients(atom).get(1) == ONE:
            left = value - Poly.of_atom(atom)
            right = left + atom.argument
            return (left, right) if find_calls(left) else (right, left)
    return value, None


def _find_divided_size(
    function: SizeFunction, leaves: Sequence[Equation], steps: Sequence[LevelStep]
) -> DividedSize | None:
    """Return the size that calls divide until a base case determines it; None if there is none."""
    for leaf, step in product(leaves, steps):
        for name, factor in step.factors.items():
            end = _find_pinned_value(leaf, name)
            if end is None or len(end.terms) != 1 or factor.p != 1 or factor.q == 1:
                continue
            if all(other_step.factors.get(end_name) == 1 for other_step in steps for end_name in end.names):
                return DividedSize(name, end, int(factor.q))
    return None


def _find_pinned_value(equation: Equation, name: str) -> Poly | None:
    """Return the value of a size in a case if the case determines it, else None."""
    facts, atom = equation.facts, Symbol(name)
    bounds = facts.bounds.get(name)
    conditions = {facts.restore(condition) for condition in equation.known}
    if bounds is not None:
        conditions |= {Poly.symbol(name) - low for low in bounds.lower}
    for value in conditions:
        parts = value.coefficients(atom)
        if -value in conditions and set(parts) <= {0, 1} and parts.get(1) in (ONE, -ONE):
            return -parts.get(0, ZERO) * parts[1]
    return None if bounds is None else next((low for low in bounds.lower if low in bounds.upper), None)


class _FormSearch:
    """Guesses closed forms in the sizes and the number of levels, and proves them."""

    def __init__(self, function: SizeFunction, leaf: Equation, steps: Sequence[LevelStep], depth: DividedSize) -> None:
        self._function, self._leaf, self._depth = function, leaf, depth
        self._down = [step for step in steps if step.factors.get(depth.size) == fmpq(1, depth.base)]
        self._counted = [step for step in steps if step not in self._down]
        self._steps = steps

    def search_bounds(self) -> BoundingForms:
        """Return the sharpest bounds that are guessed and proved, from each side."""
        proved: dict[BoundSide, Poly] = {}
        for guess in map(expand_logarithms, self._iterate_guesses()):
            for side in (BoundSide.EXACT, BoundSide.UPPER, BoundSide.LOWER):
                if side not in proved and all(self._is_bound_in_step(guess, step, side) for step in self._steps):
                    proved[side] = guess
            if BoundSide.EXACT in proved:
                break
        sides = (BoundSide.LOWER, BoundSide.UPPER)
        lower, upper = bounds = [proved.get(BoundSide.EXACT, proved.get(side)) for side in sides]
        plain = all(
            bound is None or self._is_bound_at_leaf(bound, side) for bound, side in zip(bounds, sides, strict=True)
        )
        return BoundingForms(
            self._restore_divided_size(lower), self._restore_divided_size(upper), None if plain else self._leaf
        )

    def _restore_divided_size(self, value: Poly | None) -> Poly | None:
        return None if value is None else self._depth.restore_size(value)

    # Guesses
    def _iterate_guesses(self) -> Iterator[Poly]:
        for below in (
            *(guess for step in self._down for guess in self._guess_value_by_division(step)),
            self._guess_bound_by_potential(),
        ):
            if below is None:
                continue
            if not self._counted:
                yield below
            for step in self._counted:
                above = self._guess_value_by_count(step, below)
                if above is not None:
                    yield above

    def _guess_value_by_division(self, step: LevelStep) -> Iterator[Poly | None]:
        """Guess the value if this case applies at all levels: down to the leaf, or to the last `least` above it."""
        levels = Poly.symbol(LEVEL)
        added, rest = self._express_in_levels(step.added, levels), {LEVEL: levels - _PASSED}
        end = self._express_in_levels(self._leaf.value, ZERO).substitute(
            {**step.compute_sizes_after(levels), **step.given}
        )
        yield self._sum_levels(step, added, levels, end, rest)
        if step.least is not None:
            end = self._express_in_levels(step.least, ONE).substitute(step.compute_sizes_after(levels - 1))
            yield self._sum_levels(step, added, levels - 1, end, rest)

    def _guess_value_by_count(self, step: LevelStep, below: Poly) -> Poly | None:
        """Guess the value if this case applies until the size that it counts down is 0; `below` is the value there.

        None unless it counts down a single size.
        """
        if len(step.counted) != 1:
            return None
        (name,) = step.counted
        levels = Poly.symbol(name)
        end = below.substitute({**step.compute_sizes_after(levels), name: ZERO})
        return self._sum_levels(
            step, self._express_in_levels(step.added, Poly.symbol(LEVEL)), levels, end, {name: levels - _PASSED}
        )

    def _sum_levels(
        self, step: LevelStep, added: Poly, levels: Poly, end: Poly, passed: Mapping[str, Poly]
    ) -> Poly | None:
        """Return the costs `added` summed over the levels plus the cost `end` below them; None if not geometric."""
        if not added.names.isdisjoint(step.given):
            return None
        substitution = {
            name: value for name, value in step.compute_sizes_after(_PASSED).items() if name != self._depth.size
        }
        total = expand_power(step.weight, levels) * end
        for monomial, coefficient in added.substitute({**substitution, **passed}).terms.items():
            part = _sum_geometric(Poly({monomial: coefficient}), step.weight, levels)
            if part is None:
                return None
            total = total + part
        return total

    def _guess_bound_by_potential(self) -> Poly | None:
        """Guess an upper bound by a potential: products of sizes that calls increase by at least the cost of a case.

        At the leaf they are at most products that no case changes. Costs that no case changes are added once a level.
        None if a case has several calls, or if the ratio of a product at a call to that in the caller is 0 or no
        number.
        """
        levels = Poly.symbol(LEVEL)
        potential: dict[Poly, fmpq] = {}
        peaks = ZERO
        flat: dict[Poly, fmpq] = {}
        for step in self._down:
            peaks = peaks + (ZERO if step.least is None else self._express_in_levels(step.least, ONE))
            for monomial, coefficient in self._express_in_levels(step.added, levels).terms.items():
                term = Poly({monomial: fmpq(1)})
                growth = self._substitute_call(term, step) * term**-1
                if step.weight != 1 or not growth.is_constant or growth.constant_term == 0:
                    return None
                if growth.constant_term == 1:
                    flat[term] = max(coefficient, flat.get(term, coefficient))
                    continue
                share = coefficient / (growth.constant_term - 1)
                potential[term] = max(share, potential.get(term, share), key=abs)
        grown = sum((term.scaled(share) for term, share in potential.items()), ZERO)
        at_end = peaks + self._express_in_levels(self._leaf.value, ZERO) + grown.substitute({LEVEL: ZERO})
        shrinking = sorted({name for step in self._down for name, factor in step.factors.items() if factor < 1})
        shrinking = [name for name in shrinking if name != self._depth.size]
        unchanged = (
            self._bound_above_by_unchanged_sizes(Poly({m: c}), shrinking) for m, c in at_end.terms.items() if c > 0
        )
        preserved = sum((term.scaled(share) for term, share in flat.items()), ZERO)
        return sum(unchanged, ZERO) - grown + preserved * levels

    def _bound_above_by_unchanged_sizes(self, term: Poly, shrinking: Sequence[str]) -> Poly:
        """Return an upper bound of a term at the leaf: a product of all shrinking sizes, which no case changes."""
        ((monomial, _),) = term.terms.items()
        powers = {atom.name: exponent for atom, exponent in monomial if isinstance(atom, Symbol)}
        maximum_ = max((powers.get(name, 0) for name in shrinking), default=0)
        for name in shrinking:
            term = term * Poly.symbol(name) ** (maximum_ - powers.get(name, 0))
        return term * expand_power(fmpq(self._depth.base), Poly.symbol(LEVEL)) ** -maximum_

    # Proofs
    def _express_in_levels(self, value: Poly, levels: Poly) -> Poly:
        """Replace the size that calls divide by its value in terms of the number of levels."""
        return expand_logarithms(
            value.substitute({self._depth.size: self._depth.size_in_levels.substitute({LEVEL: levels})})
        )

    def _substitute_call(self, value: Poly, step: LevelStep) -> Poly:
        arguments = {name: Poly.symbol(name).scaled(factor) for name, factor in step.factors.items()}
        arguments |= {name: Poly.symbol(name) - 1 for name in step.counted}
        if step in self._down:
            arguments[LEVEL] = Poly.symbol(LEVEL) - 1
        return expand_logarithms(value.substitute({**arguments, **step.given}))

    def _is_bound_at_leaf(self, guess: Poly, side: BoundSide, given: Mapping[str, Poly] | None = None) -> bool:
        """Test whether a guess is a bound in the base case too, with the sizes that a call sets (`given`)."""
        difference = guess - self._express_in_levels(self._leaf.value, ZERO)
        return _has_sign_of_bound(
            side, difference.substitute({LEVEL: ZERO, **(given or {})}), self._build_facts(self._leaf, 0)
        )

    def _is_bound_in_step(self, guess: Poly, step: LevelStep, side: BoundSide) -> bool:
        """Test whether a guess is a bound in a case, whose call at the last level is to the leaf."""
        once = self._build_facts(step.equation, 1)
        if step not in self._down or self._is_bound_at_leaf(guess, side, step.given):
            return self._is_bound_at_call(guess, guess, step, {}, once, side)
        leaf, more = self._express_in_levels(self._leaf.value, ZERO), self._build_facts(step.equation, 2)
        return self._is_bound_at_call(guess, guess, step, {}, more, side) and self._is_bound_at_call(
            guess, leaf, step, {LEVEL: ONE}, once, side
        )

    def _is_bound_at_call(
        self, guess: Poly, called: Poly, step: LevelStep, known: Mapping[str, Poly], facts: Facts, side: BoundSide
    ) -> bool:
        """Test whether a guess is equal to, at least or at most the cost of a case, with `called` for its call."""
        pinned = {name: _find_pinned_value(step.equation, name) for name in self._function.parameters}
        ends = {name: end for name, end in pinned.items() if end is not None and end.is_constant}
        added = self._express_in_levels(step.added, Poly.symbol(LEVEL)) + self._substitute_call(called, step).scaled(
            step.weight
        )
        least = added if step.least is None else self._express_in_levels(step.least, Poly.symbol(LEVEL))
        differences = [(guess - value).substitute({**ends, **known}) for value in (added, least)]
        above = all(_has_sign_of_bound(BoundSide.UPPER, difference, facts) for difference in differences)
        below = any(_has_sign_of_bound(BoundSide.LOWER, difference, facts) for difference in differences)
        return {BoundSide.EXACT: above and below, BoundSide.UPPER: above, BoundSide.LOWER: below}[side]

    def _build_facts(self, equation: Equation, levels: int) -> Facts:
        """Return facts about the sizes in a case: their minima, and that at least `levels` levels are left."""
        facts = Facts()
        for name in self._function.parameters:
            bounds = equation.facts.bounds.get(name)
            case_minimum = None if bounds is None else bounds.minimum
            minima = [minimum for minimum in (case_minimum, self._function.least.get(name)) if minimum is not None]
            facts = facts.with_symbol(name, (Poly.constant(max(minima)),) if minima else ())
        return facts.with_symbol(LEVEL, (Poly.constant(levels),))


_PASSED = Poly.symbol("passed")


def _has_sign_of_bound(side: BoundSide, difference: Poly, facts: Facts) -> bool:
    """Test whether a difference is 0 (for an exact form), never negative (upper) or never positive (lower)."""
    difference = facts.simplify(difference)
    match side:
        case BoundSide.EXACT:
            return not difference
        case BoundSide.UPPER:
            return prove_never_negative(difference, facts)
        case BoundSide.LOWER:
            return prove_never_negative(-difference, facts)


def expand_power(factor: fmpq, levels: Poly) -> Poly:
    """Return factor^levels as a product of powers of primes."""
    result = ONE
    for number, sign in ((factor.p, 1), (factor.q, -1)):
        for prime, count in factor_into_primes(number):
            result = result * a.exponential(prime, levels) ** (sign * count)
    return result


def _sum_geometric(term: Poly, weight: fmpq, levels: Poly) -> Poly | None:
    """Return the sum of weight^i*term over i < levels; None unless i, the symbol _PASSED, is in exponents only."""
    ((monomial, coefficient),) = term.terms.items()
    ratio, rest = weight, Poly.constant(coefficient)
    for atom, exponent in monomial:
        if isinstance(atom, a.Exponential) and atom.exponent == _PASSED:
            ratio = ratio * fmpq(atom.base) ** exponent
        elif _PASSED.names.isdisjoint(atom.names):
            rest = rest * Poly.of_atom(atom, exponent)
        else:
            return None
    if ratio == 1:
        return rest * levels
    return rest * (expand_power(ratio, levels) - 1).scaled(1 / (ratio - 1))
