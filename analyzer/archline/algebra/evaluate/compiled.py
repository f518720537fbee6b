"""Compiles expressions to functions of numbers for many points: equal to `evaluate`, but faster.

Unlike in `evaluate`, a product with an irrational logarithm or root has no value, even if the product is rational.

An environment is a list: the numbers of the symbols in the compiler's order, then a place for each atom, which is
computed when it is first used, and likewise for powers of atoms. Numbers are Python integers wherever they are whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from math import ceil, floor, gcd, lcm

from archline.algebra import atoms as a
from archline.algebra.evaluate.exact import MAX_BITS, evaluate_function, evaluate_sequence
from archline.algebra.polynomial import ONE, Atom, Monomial, Poly, Symbol, to_rational
from archline.expr.intervals import EvaluationError, Number
from archline.numbers import fmpq

Environment = list[Number | None]
Compute = Callable[[Environment], Number]
Apply = Callable[[str, tuple[Number, ...]], Number]
"""The value of a function that expressions leave open, at its arguments."""

_Term = tuple[int, tuple[int, ...]]
"""A coefficient, and the places of its factors."""


class Compiler:
    """Compiles expressions in some symbols; their common parts are computed once in an environment."""

    def __init__(self, names: Iterable[str], apply: Apply | None = None) -> None:
        self._names = tuple(names)
        self._places: dict[tuple[Atom, int], int] = {(Symbol(name), 1): place for place, name in enumerate(self._names)}
        self._computed: list[Compute] = [_compile_missing_symbol(name) for name in self._names]
        self._apply = apply

    def make_environment(self, numbers: Sequence[Number]) -> Environment:
        """Return the environment at a point, for everything compiled so far."""
        return [*map(_to_int_if_whole, numbers), *[None] * (len(self._computed) - len(numbers))]

    def make_environment_at(self, point: Mapping[str, Number]) -> Environment:
        """Return the environment at a point; expressions in symbols that it lacks have no value."""
        numbers = [_to_int_if_whole(point[name]) if name in point else None for name in self._names]
        return numbers + [None] * (len(self._computed) - len(numbers))

    def extend_environment(self, environment: Environment) -> None:
        """Make room for expressions compiled since the environment was made."""
        environment += [None] * (len(self._computed) - len(environment))

    def compile_expression(self, value: Poly) -> Compute:
        """Return the function of an environment; it raises EvaluationError if the expression has no value."""
        scale = lcm(*(int(coefficient.q) for coefficient in value.terms.values()))
        terms = self._locate_terms(value.terms, scale, {})
        if scale == 1 and all(len(factors) <= 1 for _, factors in terms):
            return self._compile_linear(terms)
        below: dict[Atom, int] = {}
        for atom, power in (pair for monomial in value.terms for pair in monomial if pair[1] < 0):
            below[atom] = max(below.get(atom, 0), -power)
        plain = self._compile_sum(terms, scale)
        if not below:
            return plain
        # Integers up to one final division: fractions take ten times as long.
        whole = self._compile_sum(self._locate_terms(value.terms, scale, below), 1)
        return _compile_guarded_quotient(
            whole, self._compile_sum([(scale, tuple(map(self._get_factor_index, below.items())))], 1), plain
        )

    def _locate_terms(self, terms: Mapping[Monomial, fmpq], scale: int, above: Mapping[Atom, int]) -> list[_Term]:
        """Return terms times `scale` and the powers `above`, as coefficients and environment indices of the factors."""
        located = []
        for monomial, coefficient in terms.items():
            powers = dict(monomial)
            for atom, power in above.items():
                powers[atom] = powers.get(atom, 0) + power
            factors = tuple([self._get_factor_index(factor) for factor in powers.items() if factor[1]])
            located.append((int((coefficient * scale).p), factors))
        return located

    def _compile_linear(self, terms: Sequence[_Term]) -> Compute:
        computed = self._computed
        constant = sum(coefficient for coefficient, factors in terms if not factors)
        parts = [(coefficient, factors[0]) for coefficient, factors in terms if factors]
        if not parts:
            return lambda _: constant
        if not constant and len(parts) == 1 and parts[0][0] == 1 and parts[0][1] < len(self._names):
            return self._compile_symbol(parts[0][1])
        if len(parts) == 1 and parts[0][1] < len(self._names):
            return self._compile_affine(*parts[0], constant)

        def run(environment: Environment) -> Number:
            total: Number = constant
            for coefficient, place in parts:
                number = environment[place]
                if number is None:
                    number = environment[place] = computed[place](environment)
                total += coefficient * number
            return total if isinstance(total, int) else _to_int_if_whole(total)

        return run

    def _compile_symbol(self, place: int) -> Compute:
        missing = self._computed[place]

        def run(environment: Environment) -> Number:
            number = environment[place]
            return missing(environment) if number is None else number

        return run

    def _compile_affine(self, coefficient: int, place: int, constant: int) -> Compute:
        missing = self._computed[place]

        def run(environment: Environment) -> Number:
            number = environment[place]
            total = constant + coefficient * (missing(environment) if number is None else number)
            return total if isinstance(total, int) else _to_int_if_whole(total)

        return run

    def compile_indicator(self, indicator: Poly) -> Callable[[Environment], bool]:
        """Return a function that tests whether an indicator is 1; it raises EvaluationError at points without a value.

        max(0, e) - max(0, e - 1) is 1 where an integer e is at least 1.
        """
        matched = match_indicator(indicator)
        if matched is None:
            value = self.compile_expression(indicator)
            return lambda environment: value(environment) == 1
        argument, expected = self.compile_expression(matched[0]), matched[1]
        return lambda environment: (argument(environment) >= 1) is expected

    def _compile_sum(self, terms: Sequence[_Term], scale: int) -> Compute:
        """Compile a sum over `scale`; a factor 0 (a failed guard) makes its term 0 even if another has no value."""
        computed = self._computed

        def run(environment: Environment) -> Number:
            total: Number = 0
            failure: EvaluationError | None = None
            for coefficient, factors in terms:
                product: Number = coefficient
                for place in factors:
                    number = environment[place]
                    if number is None:
                        try:
                            number = environment[place] = computed[place](environment)
                        except EvaluationError as problem:
                            failure = failure or problem
                            continue
                    product *= number
                if failure is not None:
                    if product:
                        raise failure
                    failure = None
                total += product
            return _exact_ratio(total, scale)

        return run

    def _get_factor_index(self, factor: tuple[Atom, int]) -> int:
        """Return the index at which the value of a power of an atom is stored; it is compiled if it is new."""
        if factor not in self._places:
            atom, power = factor
            compute = (
                self._compile_atom(atom)
                if power == 1
                else self._compile_power(self._get_factor_index((atom, 1)), power)
            )
            self._places[factor] = len(self._computed)
            self._computed.append(compute)
        return self._places[factor]

    def _compile_power(self, place: int, power: int) -> Compute:
        def run(environment: Environment) -> Number:
            number = environment[place]
            if number is None:
                number = environment[place] = self._computed[place](environment)
            return _power_within_limit(number, power)

        return run

    def _compile_atom(self, atom: Atom) -> Compute:
        match atom:
            case Symbol():
                return _compile_missing_symbol(atom.name)
            case a.AppliedFunction() if (apply := self._apply) is not None:
                arguments = [self.compile_expression(argument) for argument in atom.arguments]
                return lambda environment: apply(atom.function, tuple(argument(environment) for argument in arguments))
            case a.PositivePart():
                inside = self.compile_expression(atom.argument)
                return lambda environment: value if (value := inside(environment)) > 0 else 0
            case a.Floor() | a.Quotient():
                top, bottom = map(self.compile_expression, atom.parts)
                if isinstance(atom, a.Floor) and atom.modulus.is_constant and atom.modulus.constant_term.q == 1:
                    return _compile_floor(top, int(atom.modulus.constant_term.p))
                return _compile_quotient(top, bottom, whole=isinstance(atom, a.Floor))
            case a.CommonDivisor():
                left, right = map(self.compile_expression, atom.parts)
                return lambda environment: gcd(int(left(environment)), int(right(environment)))
            case a.CeilLog2():
                inside = self.compile_expression(atom.argument)
                return lambda environment: max(0, ceil(inside(environment)) - 1).bit_length()
            case a.Exponential():
                return _compile_exponential(atom.base, self.compile_expression(atom.exponent))
            case a.Sequence():
                arguments = list(map(self.compile_expression, atom.parts))
                return lambda environment: evaluate_sequence(
                    atom.name, (to_rational(argument(environment)) for argument in arguments)
                )
            case a.RealFunction():
                return _compile_function(atom.function, self.compile_expression(atom.argument))
            case _:
                return _compile_data_atom(atom)


def match_indicator(indicator: Poly) -> tuple[Poly, bool] | None:
    """Return (e, True) for an indicator max(0, e) - max(0, e - 1) of e >= 1, (e, False) for 1 minus that; else None."""
    ends = {
        coefficient: monomial[0][0].argument
        for monomial, coefficient in indicator.terms.items()
        if len(monomial) == 1 and isinstance(monomial[0][0], a.PositivePart) and monomial[0][1] == 1
    }
    constant = indicator.constant_term
    if set(ends) != {1, -1} or len(indicator.terms) != 2 + bool(constant) or constant not in (0, 1):
        return None
    expected = not constant
    high, low = (ends[fmpq(sign)] for sign in ((1, -1) if expected else (-1, 1)))
    return (high, expected) if high - low == ONE and a.is_integral(high) else None


def _compile_missing_symbol(name: str) -> Compute:
    def run(_: Environment) -> Number:
        raise EvaluationError(f"`{name}` has no value")

    return run


def _compile_data_atom(atom: Atom) -> Compute:
    def run(_: Environment) -> Number:
        raise EvaluationError(f"`{atom.key}` depends on the data")

    return run


def _compile_guarded_quotient(top: Compute, bottom: Compute, otherwise: Compute) -> Compute:
    """Compile top/bottom; where the divisor is 0 or has no value, `otherwise` is evaluated, whose terms may be 0."""

    def run(environment: Environment) -> Number:
        try:
            divisor = bottom(environment)
        except EvaluationError:
            divisor = 0
        return _exact_ratio(top(environment), divisor) if divisor else otherwise(environment)

    return run


def _exact_ratio(top: Number, bottom: Number) -> Number:
    if isinstance(top, int) and isinstance(bottom, int):
        whole, rest = divmod(top, bottom)
        return Fraction(top, bottom) if rest else whole
    return _to_int_if_whole(Fraction(top) / bottom)


def _compile_floor(top: Compute, by: int) -> Compute:
    return lambda environment: top(environment) // by


def _compile_quotient(top: Compute, bottom: Compute, whole: bool) -> Compute:
    def run(environment: Environment) -> Number:
        value, by = top(environment), bottom(environment)
        if not by:
            raise EvaluationError("a division by 0")
        return floor(value // by) if whole else _to_int_if_whole(Fraction(value) / by)

    return run


def _compile_exponential(base: int, exponent: Compute) -> Compute:
    def run(environment: Environment) -> Number:
        power = exponent(environment)
        if not isinstance(power, int):
            raise EvaluationError("a power with a fraction as exponent")
        return _power_within_limit(base, power)

    return run


def _compile_function(name: str, argument: Compute) -> Compute:
    def run(environment: Environment) -> Number:
        value = argument(environment)
        result = evaluate_function(name, fmpq(value.numerator, value.denominator))
        return int(result.p)

    return run


def _power_within_limit(base: Number, exponent: int) -> Number:
    if base in (1, -1):
        return base if exponent % 2 else 1
    bits = max(base.numerator.bit_length(), base.denominator.bit_length())
    if bits * abs(exponent) > MAX_BITS:
        raise EvaluationError("the value has more than a million digits")
    if exponent >= 0:
        return base**exponent
    if not base:
        raise EvaluationError("a division by 0")
    return _to_int_if_whole(Fraction(base) ** exponent)


def _to_int_if_whole(value: Number) -> Number:
    return value if isinstance(value, int) or value.denominator > 1 else value.numerator
