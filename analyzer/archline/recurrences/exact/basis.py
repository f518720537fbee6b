"""Build the basis terms of closed forms: products of sizes, logarithms, and powers that calls multiply by constants."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations_with_replacement
from itertools import product as pairs

from archline.algebra import atoms as a
from archline.algebra.bounds import PowerOfTwoSize
from archline.algebra.effort import TooComplexError
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.polynomial import ONE, Monomial, Poly, Symbol, product, sum_polynomials, to_rational
from archline.algebra.prove.logarithms import Logarithm
from archline.expr.intervals import Point
from archline.numbers import fmpq
from archline.records import record
from archline.recurrences.asymptotic.theorems import Strides, build_characteristic_polynomial, factor_polynomial
from archline.recurrences.exact.at_call import (
    CallContext,
    NotComparableError,
    bound_log2_above,
    bound_log2_below,
    compute_symbol_values_in_call,
)
from archline.recurrences.model import SizeFunction, find_calls, split_value_by_call


@record
class ProofTerm:
    """A basis term in proofs, never negative: sizes (`plain`) times logarithms of values >= 1 and an indicator."""

    plain: Poly = ONE
    logs: tuple[Logarithm, ...] = ()
    indicator: Poly = ONE

    @property
    def value(self) -> Poly:
        """The product itself."""
        return self.plain * self.indicator * product(map(Poly.of_atom, self.logs))

    def __mul__(self, other: ProofTerm) -> ProofTerm:
        return ProofTerm(self.plain * other.plain, (*self.logs, *other.logs), self.indicator * other.indicator)

    def express_at_caller(self, caller: CallContext) -> Poly:
        """Return the product at the sizes of the caller, in symbols of the caller."""
        return self.plain * caller.write_indicator(self.indicator) * product(map(caller.write_logarithm, self.logs))

    def express_at_call(self, caller: CallContext, sizes: Mapping[str, Poly]) -> Poly:
        """Return the product at the sizes of a call, in symbols of the caller. Raises NotComparableError."""
        logs = product(caller.write_logarithm_at_call(log, sizes) for log in self.logs)
        return (
            caller.express_at_call(self.plain, sizes) * caller.write_indicator(self.indicator.substitute(sizes)) * logs
        )

    def bound_value(self, point: Point, most: bool) -> fmpq:
        """Return an upper bound (`most`) or a lower bound of the value of the product at a point."""
        value = to_rational(evaluate(self.plain * self.indicator, point))
        for log in self.logs:
            argument = to_rational(evaluate(log.argument, point))
            if isinstance(log, a.CeilLog2):
                value *= bound_log2_above(argument).ceil()
            else:
                value *= bound_log2_above(argument) if most else bound_log2_below(argument)
        return value


MAX_BASIS_TERMS = 40
MAX_CALL_COUNT = 64
MAX_MULTIPLIED_SIZES = 3
MAX_LOGARITHM_POWER = 3
"""The largest power of a logarithm in a basis."""


@record
class BasisTerm:
    """A basis term of a closed form; `sign` is the sign of its coefficient in an upper bound, 0 if both are allowed.

    `parts`: the term at the sizes of a call is proved to be at most (in a lower bound at least) 1/parts of the term at
    the caller's sizes; 0 if nothing is proved. `leaf`: the value of the term in base cases, if in recursive cases its
    values in the sizes of the calls add up to its value in the caller's. `inner` replaces the term in proofs: it is an
    upper bound of the term in an upper bound and a lower bound in a lower one, if the coefficient has the sign.
    `smooth` names the size v of the term v*ceil(log2(v)) - 2^ceil(log2(v)), which is a continuous, piecewise linear
    function of v: it is v*l - 2^l for 2^(l - 1) <= v <= 2^l, both ends included. So its value at either half of v,
    rounded up or down, is half*(l - 1) - 2^(l - 1) with l = ceil(log2(v)).
    """

    value: Poly
    smooth: str | None = None
    sign: int = 0
    parts: int = 0
    leaf: Poly | None = None
    inner: ProofTerm | None = None

    @property
    def degree(self) -> int:
        """The degree of the term in the sizes; logarithms count as 0, each power of a number as 2."""
        return max(map(_compute_monomial_degree, self.value.terms), default=0)

    @property
    def proof_term(self) -> ProofTerm:
        """The product that stands for the term in proofs: `inner` if there is one, else the term itself."""
        return ProofTerm(self.value) if self.inner is None else self.inner

    def express_at_call(self, function: SizeFunction, call: a.AppliedFunction, caller: CallContext) -> Poly:
        """Return the term at the sizes of a call. Raises NotComparableError."""
        sizes = compute_symbol_values_in_call(function, call.arguments)
        if self.inner is not None:
            return self.inner.express_at_call(caller, sizes)
        if self.smooth is None:
            return caller.express_at_call(self.value, sizes)
        size, argument = Poly.symbol(self.smooth), sizes[self.smooth]
        half = a.floor_div(size, Poly.constant(2))
        facts = caller.facts
        if not (
            facts.nonnegative(size - 2)
            and facts.nonnegative(argument - half)
            and facts.nonnegative(size - half - argument)
        ):
            if argument == size:
                return self.value
            raise NotComparableError
        level = a.ceil_log2(size) - 1
        return argument * level - a.exponential(2, level)


def iterate_basis_sets(
    function: SizeFunction, inner: Sequence[Poly], outer: Sequence[Poly]
) -> Iterator[tuple[BasisTerm, ...]]:
    """Iterate over sets of basis terms to try; `inner` are the forcings of recursive cases, `outer` of base cases."""
    inner_monomials = sorted(_collect_monomials(function, inner), key=monomial_sort_key)
    monomials = sorted(_collect_monomials(function, [*inner, *outer, _multiply_sizes(function)]), key=monomial_sort_key)
    plain, inner_terms = list(map(_make_monomial_term, monomials)), list(map(_make_monomial_term, inner_monomials))
    names = function.sizes
    logs = list(_iterate_logarithm_terms(function))
    multiplied = [BasisTerm(value) for value in build_preserved_products(function)]
    if multiplied:
        yield select_distinct_terms([*inner_terms, *multiplied])
    if len(inner_monomials) < len(monomials):
        yield select_distinct_terms(inner_terms)
        yield select_distinct_terms([*inner_terms, *logs])
    richer = [*plain, *map(_build_linearithmic_term, names), *logs]
    powers = [
        BasisTerm(value)
        for value in _build_call_count_powers(function, max(sum(power for _, power in m) for m in monomials))
    ]
    yield select_distinct_terms(plain)
    shared = [BasisTerm(value) for value in iterate_shared_size_terms(function)]
    if shared:
        yield select_distinct_terms([*inner_terms, *shared])
    yield select_distinct_terms([*plain, *logs] if len(names) > 1 else richer)
    exponentials = list(_iterate_solutions_by_steps(function))
    if len(names) > 1:
        if exponentials:
            # Costs of a call in sizes that calls pass on are added as often as there are calls.
            (changed,) = find_changed_parameters(function)
            fixed = [term.value for term in plain if changed not in term.value.names]
            yield select_distinct_terms([*plain, *(BasisTerm(x * y) for x in exponentials for y in fixed)])
        return
    if powers:
        yield select_distinct_terms([*plain, *logs, *powers])
    yield select_distinct_terms(
        [*plain, *logs, *(BasisTerm(x.value * y.value) for i, x in enumerate(logs) for y in logs[i:])]
    )
    yield select_distinct_terms(
        [*richer, *(BasisTerm(x.value * y.value) for x in plain for y in logs if x.value != ONE)]
    )
    if exponentials:
        yield select_distinct_terms([*plain, *map(BasisTerm, exponentials)])
    if names:
        # Where a size shrinks by a constant, as in T(n) = T(n - 1) + n, the forcing is added up to n times.
        yield select_distinct_terms([*plain, *(BasisTerm(x.value * Poly.symbol(names[0])) for x in plain)])


def iterate_logarithm_sets(function: SizeFunction) -> Iterator[tuple[BasisTerm, ...]]:
    """Iterate over sets of powers of logarithms, for recursions of one call each, which halves a size."""
    terms = layer = [BasisTerm(ONE)]
    logs = list(iterate_signed_logarithms(function))
    for _ in range(MAX_LOGARITHM_POWER if logs else 0):
        layer = [multiply_terms(x, y) for x in layer for y in logs if x.sign in (0, y.sign)]
        terms = [*terms, *layer]
        yield select_distinct_terms(terms)


def iterate_signed_sets(
    function: SizeFunction, inner: Sequence[Poly], outer: Sequence[Poly]
) -> Iterator[tuple[BasisTerm, ...]]:
    """Iterate over sets of basis terms with few logarithms, the sign of whose coefficients is fixed; simple ones first.

    `inner` are the forcings of recursive cases, `outer` those of base cases.
    """
    inner_terms, all_terms = (
        list(map(_make_monomial_term, sorted(_collect_monomials(function, forcing), key=monomial_sort_key)))
        for forcing in (inner, [*inner, *outer, _multiply_sizes(function)])
    )
    logs = list(iterate_signed_logarithms(function))
    linear_terms = [term for term in inner_terms if term.degree <= 1]
    sizes = [BasisTerm(Poly.symbol(name)) for name in function.sizes]
    if function.shared_exponents:
        # log2(log2(n)) changes values so little that a set that lacks it may seem good enough.
        yield select_distinct_terms(
            [*linear_terms, *logs, *(multiply_terms(x, y) for x in linear_terms for y in logs if x.degree)]
        )
    yield select_distinct_terms(inner_terms)
    yield select_distinct_terms([*inner_terms, *logs])
    # Most searches end before there are products of logarithms.
    squares = [multiply_terms(x, y) for x, y in combinations_with_replacement(logs, 2) if x.sign == y.sign]
    yield select_distinct_terms([*linear_terms, *logs, *squares])
    yield select_distinct_terms(
        [*linear_terms, *logs, *(multiply_terms(x, y) for x in inner_terms for y in logs if x.degree)]
    )
    yield select_distinct_terms(all_terms)
    # For a path of n calls, each of which adds the forcing.
    yield select_distinct_terms([*all_terms, *(multiply_terms(x, size) for x in inner_terms for size in sizes)])
    # For n leaves.
    yield select_distinct_terms(
        [*all_terms, *(multiply_terms(x, size) for x in all_terms for size in sizes if x not in inner_terms)]
    )
    yield select_distinct_terms([*all_terms, *logs])
    cubes = [multiply_terms(x, y) for x, y in pairs(logs, squares) if x.sign == y.sign]
    yield select_distinct_terms([*linear_terms, *logs, *squares, *cubes])
    yield select_distinct_terms(
        [
            *linear_terms,
            *logs,
            *squares,
            *(multiply_terms(x, y) for x in inner_terms for y in (*logs, *squares) if x.degree),
        ]
    )


def iterate_signed_logarithms(function: SizeFunction) -> Iterator[BasisTerm]:
    """Iterate over logarithms of the sizes, and of their sum if data splits them, with the signs of their coefficients.

    In an upper bound ceil(log2(v)) has a positive coefficient, as it falls by at least 1 from v to ceil(v/2), and so
    to both halves; ceil(log2(v + 1)) has a negative one, as it falls by at most 1 from v to floor(v/2).
    """
    yield from (BasisTerm(Poly.symbol(power.exponent)) for power in function.facts.powers)
    sizes = [Poly.symbol(name) for name in function.sizes or function.shared_exponents]
    if len(sizes) > 1 and has_data_dependent_values(function):
        sizes.append(sum_polynomials(sizes))
    yield from (BasisTerm(a.ceil_log2(size + shift), sign=1 - 2 * shift) for size in sizes for shift in (0, 1))


def has_data_dependent_values(function: SizeFunction) -> bool:
    """Test whether an equation contains an integer whose value only the data determines."""
    return any(equation.data for equation in function.equations)


def _make_monomial_term(monomial: Monomial) -> BasisTerm:
    return BasisTerm(Poly({monomial: fmpq(1)}))


def multiply_terms(left: BasisTerm, right: BasisTerm) -> BasisTerm:
    """Multiply two basis terms and their proof terms; the sign is that of `left`, or of `right` where that is 0."""
    inner = None if left.inner is right.inner is None else left.proof_term * right.proof_term
    return BasisTerm(left.value * right.value, sign=left.sign or right.sign, inner=inner)


def _multiply_sizes(function: SizeFunction) -> Poly:
    """Return the product of all sizes if there are two or three, else 1: splitting each size multiplies the leaves."""
    return product(map(Poly.symbol, function.sizes)) if 2 <= len(function.sizes) <= MAX_MULTIPLIED_SIZES else ONE


def select_distinct_terms(elements: list[BasisTerm]) -> tuple[BasisTerm, ...]:
    """Return the first term of each value, at most MAX_BASIS_TERMS terms."""
    terms: dict[Poly, BasisTerm] = {}
    for element in elements:
        terms.setdefault(element.value, element)
    return tuple(terms.values())[:MAX_BASIS_TERMS]


def monomial_sort_key(monomial: Monomial) -> tuple[int, str]:
    """Return the key by which products of sizes are sorted: their degree, then their text."""
    return sum(power for _, power in monomial), str(monomial)


def _collect_monomials(function: SizeFunction, forcing: Iterable[Poly]) -> set[Monomial]:
    """Collect the products of sizes in the forcing terms with all their divisors, the sizes and the powers of 2."""
    monomials: set[Monomial] = {()}
    for value in forcing:
        for monomial in replace_atoms_by_sizes(value, function).terms:
            monomials |= set(iterate_divisors(monomial))
    steps = [next(iter(a.exponential(2, Poly.symbol(power.exponent)).atoms())) for power in function.facts.powers]
    return monomials | {((atom, 1),) for atom in (*map(Symbol, function.sizes), *steps)}


def iterate_divisors(monomial: Monomial) -> Iterator[Monomial]:
    """Iterate over the products that divide a monomial, itself included."""
    if not monomial:
        yield ()
        return
    (atom, power), *rest = monomial
    for divisor in iterate_divisors(tuple(rest)):
        for exponent in range(max(power, 0) + 1):
            yield ((atom, exponent), *divisor) if exponent else divisor


def replace_atoms_by_sizes(value: Poly, function: SizeFunction) -> Poly:
    """Replace each call, logarithm and quotient by 1, and each floor and maximum by its argument plus 1.

    Only the monomials of the result are meaningful: the products of sizes in `value`.
    """

    def replace_atom(atom: object) -> Poly | None:
        match atom:
            case a.AppliedFunction() | a.CeilLog2() | a.RealFunction() | a.Quotient():
                return ONE
            case a.Floor():
                return replace_atoms_by_sizes(atom.argument, function) + 1
            case a.PositivePart():
                return replace_atoms_by_sizes(make_coefficients_positive(atom.argument), function) + 1
            case Symbol() if atom.name not in function.parameters and atom.name not in function.facts.quotients:
                return ONE
            case _:
                return None

    return value.map_atoms(replace_atom)


def make_coefficients_positive(value: Poly) -> Poly:
    """Replace coefficients by their absolute values, so that no monomial cancels another."""
    return Poly({monomial: abs(coefficient) for monomial, coefficient in value.terms.items()})


def _iterate_logarithm_terms(function: SizeFunction) -> Iterator[BasisTerm]:
    """Iterate over logarithms of the sizes: of n, n + 1, n + 2 for one size, of n + 1 for several that data splits."""
    sizes = [Poly.symbol(name) for name in function.sizes]
    if len(sizes) > 1 and not has_data_dependent_values(function):
        yield from iterate_signed_logarithms(function)
        return
    yield from (BasisTerm(Poly.symbol(power.exponent)) for power in function.facts.powers)
    if len(sizes) == 1:
        yield from (BasisTerm(a.ceil_log2(sizes[0] + shift)) for shift in range(3))
    elif sizes:
        yield from (BasisTerm(a.ceil_log2(size + 1)) for size in (*sizes, sum_polynomials(sizes)))


def _build_linearithmic_term(name: str) -> BasisTerm:
    size = Poly.symbol(name)
    level = a.ceil_log2(size)
    return BasisTerm(size * level - a.exponential(2, level), name)


def _build_call_count_powers(function: SizeFunction, degree: int) -> list[Poly]:
    """Build the powers p(n) with p(n) = c*p(n/2), for cases that make c calls of half the size.

    These are c^k for n = 2^k, else v^i*(c/2^i)^log2(n) where v is n - 1, n or n + 1: ceil(n/2) - 1 <= (n - 1)/2 and
    floor(n/2) + 1 >= (n + 1)/2, so that rounding is safe.
    """
    counts = sorted(_find_constant_call_counts(function))
    powers = [a.exponential(count, Poly.symbol(power.exponent)) for power in function.facts.powers for count in counts]
    if len(function.sizes) == 1:
        size = Poly.symbol(function.sizes[0])
        for count in counts:
            for offset in (0, 1):
                level = a.ceil_log2(size + offset)
                for i in range(degree + 1):
                    shifts = (offset - 1, offset) if i else (0,)
                    powers.extend((size + shift) ** i * build_ratio_power(count, i, level) for shift in shifts)
    return powers


def build_ratio_power(count: int, exponent: int, logarithm: Poly) -> Poly:
    """Return (count/2^exponent)^logarithm."""
    return a.exponential(count, logarithm) * a.exponential(2, logarithm) ** -exponent


def _iterate_solutions_by_steps(function: SizeFunction) -> Iterator[Poly]:
    """Iterate over solutions of the recurrences of cases without forcing, if all calls reduce a single size n by steps.

    They are the powers c^n for cases of c calls, those of the roots of the characteristic polynomial and Fibonacci
    numbers if its roots are so, and factorials for as many calls of n - 1 as the size.
    """
    changed = find_changed_parameters(function)
    if len(changed) != 1 or changed[0] not in function.sizes:
        return
    place, size = function.parameters.index(changed[0]), Poly.symbol(changed[0])
    calls_made = [call for equation in function.equations for call in find_calls(equation.value)]
    if not all(call.function == function.name and (size - call.arguments[place]).is_constant for call in calls_made):
        return
    yield from (a.exponential(count, size) for count in sorted(_find_constant_call_counts(function)))
    for equation in function.equations:
        try:
            _, factors = split_value_by_call(equation.value)
        except TooComplexError:
            continue
        steps = [(factor, (size - call.arguments[place]).constant_term) for call, factor in factors.items()]
        if not all(step.q == 1 and 0 < step <= MAX_CALL_COUNT for _, step in steps):
            continue
        if steps and all(factor.is_constant for factor, _ in steps):
            calls = tuple((factor.constant_term, int(step.p)) for factor, step in steps)
            yield from _iterate_characteristic_solutions(calls, size)
        elif len(steps) == 1 and steps[0][1] == 1:
            yield from _iterate_factorials(steps[0][0], size)


def find_changed_parameters(function: SizeFunction) -> list[str]:
    """Return the parameters that differ in some call of the function by itself."""
    return [name for name in function.parameters if any(at[name] != Poly.symbol(name) for _, at in function.own_calls)]


def _iterate_characteristic_solutions(calls: Strides, size: Poly) -> Iterator[Poly]:
    """Iterate over real solutions of T(n) = sum of a*T(n - e) that are powers, Fibonacci numbers, or powers by parts.

    The factor x^d - c of the characteristic polynomial has the solutions c^floor((n + i)/d), x + 1 has n modulo 2.
    """
    for factor, multiplicity in factor_polynomial(build_characteristic_polynomial(calls)):
        last, *inner, first = (int(factor[place]) for place in range(factor.degree() + 1))
        solutions: list[Poly] = []
        if list(map(int, factor.coeffs())) == [-1, -1, 1]:
            solutions = [a.make_sequence_term("fibonacci", size + more) for more in (0, 1)]
        elif first == 1 and not any(inner) and last < -1:
            degree = factor.degree()
            parts = (a.floor_div(size + more, Poly.constant(degree)) for more in range(degree))
            solutions = [a.exponential(-last, part) for part in parts]
        elif (first, last, inner) == (1, 1, []):
            solutions = [a.floor_div(size, Poly.constant(2))]
        yield from (solution * size**power for power in range(multiplicity) for solution in solutions)


def _iterate_factorials(count: Poly, size: Poly) -> Iterator[Poly]:
    """Iterate over the solution c^n*(n + d)! of T(n) = c*(n + d)*T(n - 1), and that of forcing 1 if c is 1."""
    scale = count.terms.get(((Symbol(next(iter(size.names))), 1),), fmpq(0))
    shift = count.scaled(1 / scale) - size if scale > 0 and scale.q == 1 else size
    if shift.is_constant and shift.constant_term >= -1:
        yield a.exponential(int(scale.p), size) * a.make_sequence_term("factorial", size + shift)
        if scale == 1:
            yield a.make_sequence_term("arrangements", size + shift)


def _find_constant_call_counts(function: SizeFunction) -> set[int]:
    """Find the numbers of calls, from 2 to MAX_CALL_COUNT, of the cases in which it does not depend on the sizes."""
    counts: set[int] = set()
    for equation in function.equations:
        terms = equation.value.terms.items()
        coefficients = [c for m, c in terms if len(m) == 1 and isinstance(m[0][0], a.AppliedFunction)]
        count = sum(coefficients, fmpq(0))
        if count.q == 1 and 2 <= count <= MAX_CALL_COUNT:
            counts.add(int(count.p))
    return counts


def _compute_monomial_degree(monomial: Monomial) -> int:
    return sum(
        power if isinstance(atom, Symbol) else 2 * abs(power) if isinstance(atom, a.Exponential) else 0
        for atom, power in monomial
    )


def build_preserved_products(function: SizeFunction) -> tuple[Poly, ...]:
    """Build the products of a power of 2 that all calls preserve and a size whose value in calls no data decides."""
    powers = [
        _write_as_power_of_two(power) for power in function.facts.powers if _is_preserved_by_calls(function, power)
    ]
    return tuple(size * power for power in powers for size in _find_data_independent_sizes(function))


def iterate_shared_size_terms(function: SizeFunction) -> Iterator[Poly]:
    """Iterate over log2(d), r/d and r*log2(d)/d for each power of 2 d that calls halve and each size r that they share.

    r/d doubles from level to level and is at most r, so that it bounds what a level adds while r is more than d.
    """
    for power in function.facts.powers:
        if _is_preserved_by_calls(function, power):
            continue
        exponent = Poly.symbol(power.exponent)
        yield exponent
        for name in function.sizes:
            share = Poly.symbol(name) * a.exponential(2, -exponent)
            yield share
            yield share * exponent


def iterate_path_cost_sets(function: SizeFunction) -> Iterator[tuple[Poly, ...]]:
    """Iterate over sets of terms for the cost of a path of calls, where the data may split sizes arbitrarily.

    For a power of 2 d that calls halve the set is 1, log2(d) and d; for one that they preserve it is 1, d, the sizes
    that depend on data, log2(n) and d*log2(n) for the sizes n that do not.
    """
    if len(function.facts.powers) != 1 or not function.sizes:
        return
    (power,) = function.facts.powers
    size = _write_as_power_of_two(power)
    if not _is_preserved_by_calls(function, power):
        yield ONE, Poly.symbol(power.exponent), size
    elif independent := _find_data_independent_sizes(function):
        dependent = (size for size in map(Poly.symbol, function.sizes) if size not in independent)
        logs = tuple(map(a.ceil_log2, independent))
        yield ONE, size, *dependent, *logs, *(log * size for log in logs)


def _write_as_power_of_two(power: PowerOfTwoSize) -> Poly:
    return a.exponential(2, Poly.symbol(power.exponent))


def _is_preserved_by_calls(function: SizeFunction, power: PowerOfTwoSize) -> bool:
    """Test whether every recursive call has the same power of 2 as its caller."""
    size = function.facts.rewrite_symbol(power.name)
    return all(arguments[power.name] == size for _, arguments in function.own_calls)


def _find_data_independent_sizes(function: SizeFunction) -> list[Poly]:
    """Return the sizes whose values in calls do not depend on the data."""
    data = {name for equation in function.equations for name in equation.data}
    return [
        Poly.symbol(name)
        for name in function.sizes
        if all(arguments[name].names.isdisjoint(data) for _, arguments in function.own_calls)
    ]
