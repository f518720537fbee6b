"""Find closed forms of functions at the sizes that their calls reach from the base: n0*b^k, n0^(b^k) or n0 + c*k.

At these sizes a function satisfies a linear recurrence in the counter k. Solutions are sums of c*k^i*r^k with rational
r, and of Fibonacci numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from math import comb
from typing import Any

from archline.algebra.evaluate.formulas import MAX_SIZE_BITS, exact_root
from archline.algebra.reals import ONE_CONSTANT, ZERO_CONSTANT, Constant
from archline.expr import build as b
from archline.expr import tree as s
from archline.growth.candidates import make_factor
from archline.growth.growths import is_integer_literal
from archline.growth.monomials import Factor
from archline.growth.monomials import make_size_factor as size_factor
from archline.growth.normal_form import evaluate_constant
from archline.numbers import fmpq, fmpq_mat, fmpq_poly, fmpz
from archline.records import record
from archline.recurrences.asymptotic.normal_form import CallSum, InitialValues
from archline.recurrences.asymptotic.terms import (
    GrowthTerm,
    Symbols,
    compute_exact_logarithm,
    compute_rational_power,
    split_perfect_power,
)
from archline.recurrences.asymptotic.text import Factors, build_sum_tree, make_symbol_factor
from archline.recurrences.asymptotic.theorems import (
    Strides,
    build_characteristic_polynomial,
    factor_polynomial,
    write_calls_in_strides,
)

MAX_SEQUENCE_UNKNOWNS = 40
FIBONACCI_POLYNOMIAL = fmpq_poly([-1, -1, 1])
"""x^2 - x - 1, the characteristic polynomial of the Fibonacci numbers."""


@record
class ClosedTerm:
    """A term coefficient*k^power*ratio^k, or coefficient*fibonacci(k + shift) if `ratio` is None."""

    coefficient: fmpq
    power: int
    ratio: fmpq | None
    shift: int = 0


Forcing = Mapping[fmpq, Sequence[fmpq]]
"""A sum over r of p(k)*r^k: maps each r to the coefficients of the polynomial p, the constant first."""


def solve_sequence(calls: Strides, initial: Callable[[int], fmpq], forcing: Forcing) -> tuple[ClosedTerm, ...] | None:
    """Solve T[k] = sum a*T[k - e] + f(k) for k >= 1, where T[k] is `initial(k)` for k <= 0.

    None if a characteristic root is neither rational nor one of a simple factor x^2 - x - 1, or if unknowns are
    missing or too many.

    The coefficients are found from as many values as there are unknowns. The solution and T then satisfy one linear
    recurrence of that order, so that they agree everywhere if they agree at that number of consecutive k.
    """
    roots = _find_characteristic_roots(calls)
    if roots is None:
        return None
    multiplicities, golden = roots
    basis: list[tuple[fmpq | None, int]] = [(None, 0), (None, 1)] if golden else []
    for ratio in {**multiplicities, **forcing}:
        count = multiplicities.get(ratio, 0) + len(forcing.get(ratio, ()))
        basis += [(ratio, power) for power in range(count)]
    if not basis or len(basis) > MAX_SEQUENCE_UNKNOWNS:
        return None
    values = _compute_values(calls, initial, forcing, len(basis))
    rows = [[_evaluate_basis_element(element, k) for element in basis] for k in range(len(basis))]
    solution = fmpq_mat(rows).solve(fmpq_mat([[value] for value in values]))
    coefficients = [solution[at, 0] for at in range(len(basis))]
    pieces = [
        ClosedTerm(coefficient, power, ratio)
        for coefficient, (ratio, power) in zip(coefficients, basis, strict=True)
        if coefficient and ratio is not None
    ]
    return (*(_combine_fibonacci_terms(coefficients[0], coefficients[1]) if golden else ()), *pieces)


def _find_characteristic_roots(calls: Strides) -> tuple[dict[fmpq, int], bool] | None:
    """Return the rational characteristic roots with multiplicities, and whether the golden ratio is a root.

    None if there are other roots, or if calls go back too many steps.
    """
    if max(step for _, step in calls) > MAX_SEQUENCE_UNKNOWNS:
        return None
    multiplicities: dict[fmpq, int] = {}
    golden = False
    for factor, multiplicity in factor_polynomial(build_characteristic_polynomial(calls)):
        if factor.degree() == 1:
            multiplicities[fmpq(-factor[0], factor[1])] = multiplicity
        elif fmpq_poly(factor) == FIBONACCI_POLYNOMIAL and multiplicity == 1:
            golden = True
        else:
            return None
    return multiplicities, golden


def _compute_values(calls: Strides, initial: Callable[[int], fmpq], forcing: Forcing, count: int) -> list[fmpq]:
    values = [initial(0)]
    for k in range(1, count):
        total = evaluate_forcing(forcing, k)
        for weight, step in calls:
            total += weight * (values[k - step] if k >= step else initial(k - step))
        values.append(total)
    return values


def evaluate_forcing(forcing: Forcing, k: int) -> fmpq:
    """Return the value of a forcing at k."""
    total = fmpq(0)
    for ratio, coefficients in forcing.items():
        total += ratio**k * sum((coefficient * k**power for power, coefficient in enumerate(coefficients)), fmpq(0))
    return total


def _evaluate_basis_element(basis: tuple[fmpq | None, int], k: int) -> fmpq:
    ratio, power = basis
    if ratio is None:
        return fmpq(compute_fibonacci(k + power))
    return fmpq(ratio**k * k**power)


def compute_fibonacci(k: int) -> int:
    """Return the k-th Fibonacci number; k may be negative."""
    value = int(fmpz.fib_ui(fmpz(abs(k))))
    return -value if k < 0 and k % 2 == 0 else value


def _combine_fibonacci_terms(first: fmpq, second: fmpq) -> tuple[ClosedTerm, ...]:
    """Return first*fibonacci(k) + second*fibonacci(k + 1) as terms, a multiple of one Fibonacci number if possible."""
    for shift in range(-2, 5):
        before, at = compute_fibonacci(shift - 1), compute_fibonacci(shift)
        # fibonacci(k + shift) = fibonacci(shift - 1)*fibonacci(k) + fibonacci(shift)*fibonacci(k + 1)
        factor = second / at if at else first / before if before else fmpq(0)
        if factor * before == first and factor * at == second:
            return (ClosedTerm(factor, 0, None, shift),) if factor else ()
    return tuple(ClosedTerm(c, 0, None, shift) for c, shift in ((first, 0), (second, 1)) if c)


WeightedProducts = list[tuple[fmpq, Factors]]
_TWO = fmpq(2)


@record
class SizeSequence:
    """The sizes start*factor^k, or start + stride*k if there is a `stride`, where k + `shift` = `log`/`bits`.

    `calls` are pairs (a, e) of calls a*T[k - e]. `log` is log2(size), or log2(size/start) if `relative`, or the size if
    there is a stride; `bits` is the log2 of the factor, or the stride.
    """

    size: s.Expr
    start: fmpq
    factor: fmpq
    calls: Strides
    log: s.Expr
    bits: s.Expr
    shift: fmpq
    relative: bool = False
    stride: fmpq | None = None

    def compute_size(self, k: int) -> fmpq:
        """Return the k-th size."""
        return self.start * self.factor**k if self.stride is None else self.start + self.stride * k

    def build_counter(self, more: fmpq) -> s.Expr:
        """Return the expression k + `more` in terms of the size."""
        counted = b.divide_products([self.log], [] if is_integer_literal(self.bits, 1) else [self.bits])
        more -= self.shift
        return b.binary("+" if more > 0 else "-", counted, b.number(abs(more))) if more else counted

    def express_power(self, ratio: fmpq) -> tuple[fmpq, Factors] | None:
        """Return ratio^k as a number times powers in the size; None if an irrational base would have exponent n."""
        if self.stride is not None:
            root = exact_root(abs(ratio), int(self.stride.p))
            if root is None or (ratio < 0 and self.stride != 1):
                return None
            base = root if ratio > 0 else -root
            power = b.binary("^", b.number(base), self.size)
            return base ** -int(self.start.p), [] if base == 1 else [(make_factor(power), ONE_CONSTANT)]
        exponent = compute_exact_logarithm(abs(ratio), self.factor)
        sign: Factors = (
            [(make_factor(b.binary("^", b.number(-1), self.build_counter(self.shift))), ONE_CONSTANT)]
            if ratio < 0
            else []
        )
        if self.relative and exponent.is_rational and exponent.rational.q == 1:
            return fmpq(1), [(make_factor(self.size), exponent), (make_factor(b.number(self.start)), -exponent), *sign]
        growing = b.binary("/", self.size, b.number(self.start)) if self.relative else self.size
        return ratio ** -int(self.shift.p), [(make_factor(growing), exponent), *sign]

    def write_term(self, piece: ClosedTerm, logs: int, named: Factors) -> WeightedProducts | None:
        """Return a term times bits^logs and the factors `named` as products in the size; k^i is expanded.

        None if that has no closed form in the size.
        """
        if piece.ratio is None:
            factor = (make_factor(b.call("fibonacci", self.build_counter(fmpq(piece.shift)))), ONE_CONSTANT)
            bits = (make_factor(self.bits), Constant.of(logs))
            whole = [_absorb_numbers((piece.coefficient, [*named, factor, bits]))]
            return whole if self.stride in (None, 1) else None
        power = self.express_power(piece.ratio)
        if power is None:
            return None
        number, factors = power
        sums: WeightedProducts = []
        for j in range(piece.power + 1):
            coefficient = piece.coefficient * number * comb(piece.power, j) * (-self.shift) ** (piece.power - j)
            bits = (make_factor(self.bits), Constant.of(logs - j))
            sums.append(
                _absorb_numbers((coefficient, [*named, *factors, (make_factor(self.log), Constant.of(j)), bits]))
            )
        return sums


def _absorb_numbers(term: tuple[fmpq, Factors]) -> tuple[fmpq, Factors]:
    """Multiply the coefficient by those factors that are integer powers of rational numbers."""
    coefficient, factors = term
    remaining: Factors = []
    for base, exponent in factors:
        number = evaluate_constant(base.expr) if isinstance(base.expr, s.Integer | s.Binary) else None
        if number is not None and number.is_rational and exponent.is_rational and exponent.rational.q == 1:
            coefficient *= number.rational ** int(exponent.rational.p)
        else:
            remaining.append((base, exponent))
    return coefficient, remaining


def merge_products(products: WeightedProducts, *first: s.Expr) -> WeightedProducts:
    """Add up products of equal factors; those with the highest powers of the expressions `first` come first."""
    bases = list(map(make_factor, first))
    return _sum_like_products(
        products, lambda powers: [-float(powers[x].enclosure()) if x in powers else 0.0 for x in bases]
    )


def _sum_like_products(
    products: WeightedProducts, rank: Callable[[Mapping[Factor, Constant]], Any]
) -> WeightedProducts:
    """Add up products of equal factors, and sort them by the `rank` of their powers."""
    sums: dict[tuple[tuple[Factor, Constant], ...], fmpq] = {}
    for coefficient, factors in products:
        key = tuple(pair for pair in factors if pair[1])
        sums[key] = sums.get(key, fmpq(0)) + coefficient
    return [(sums[key], list(key)) for key in sorted(sums, key=lambda key: rank(dict(key))) if sums[key]]


@record
class ClosedExpression:
    """A closed form `expr` and the sizes at which it holds (`domain`); `places` lists some such sizes."""

    expr: s.Expr
    domain: str
    places: tuple[Fraction, ...]


def _convert_to_fractions(sizes: Iterable[fmpq]) -> tuple[Fraction, ...]:
    return tuple(Fraction(int(size.p), int(size.q)) for size in sizes)


StartValues = Mapping[Symbols, Callable[[int], fmpq]]
"""The base value at k <= 0 as a sum: maps each product of symbols to its coefficient as a function of k."""
ForcingsBySymbols = dict[Symbols, dict[int, dict[fmpq, list[fmpq]]]]


def has_no_exact_sizes(branch: CallSum, bases: InitialValues) -> bool:
    """Test whether sizes or numbers of calls are known to leading order only, or sizes below the base are rounded."""
    return any(
        call.argument.rough
        or call.tail
        or not call.number.is_rational
        or (call.argument.rounded and len(bases.values) > 1)
        for call in branch.calls
    )


def find_closed_form_by_splits(branch: CallSum, bases: InitialValues, size: str) -> ClosedExpression | None:
    """Return the closed form of a function on the sizes n0*b^k, if calls are at shares that are powers of 1/b.

    None if they are not, or if no closed form is found.
    """
    if has_no_exact_sizes(branch, bases) or any(call.argument.offset != 0 for call in branch.calls):
        return None
    if any(len(term.powers) > 2 or term.steep for term in branch.terms):
        return None
    sequence = _build_size_sequence(
        b.name(size), bases.threshold, [(call.number.rational, call.argument.ratio) for call in branch.calls]
    )
    starts = None if sequence is None else _build_start_values(bases, sequence.compute_size)
    solution = (
        None if sequence is None or starts is None else _solve_recurrence_by_linearity(sequence, branch.terms, starts)
    )
    if sequence is None or solution is None:
        return None
    expr = build_sum_tree(merge_products(solution, sequence.size, sequence.log))
    factor = str(sequence.factor) if sequence.factor.q == 1 else f"({sequence.factor})"
    powers = f"{factor}^k" if sequence.start == 1 else f"{sequence.start}*{factor}^k"
    return ClosedExpression(expr, f"{size} = {powers}", _convert_to_fractions(map(sequence.compute_size, range(6))))


def find_closed_form_by_roots(
    branch: CallSum, bases: InitialValues, size: str, scale: Constant
) -> ClosedExpression | None:
    """Return the closed form on n0^(b^k): with mu = log2(n), T(n)/n^s is a function of mu on log2(n0)*b^k.

    None if the sizes of calls or the terms are of another form, or if no closed form is found.
    """
    if has_no_exact_sizes(branch, bases) or any(term.power != scale or term.steep for term in branch.terms):
        return None
    if len(bases.values) > 1:
        return None
    start, divisor = compute_exact_logarithm(bases.threshold, _TWO), compute_rational_power(bases.threshold, scale)
    if divisor is None or not scale.is_rational or not start.is_rational:
        return None
    n = b.name(size)
    mu = b.call("log2", n)
    sequence = _build_size_sequence(
        mu, start.rational, [(call.number.rational, call.argument.root) for call in branch.calls]
    )
    starts = _build_start_values(bases, lambda _: bases.threshold, divisor)
    if sequence is None or starts is None or sequence.factor.q != 1:
        return None
    solution = _solve_recurrence_by_linearity(
        sequence, [term.with_powers(term.powers[1:]) for term in branch.terms], starts
    )
    if solution is None:
        return None
    scaled: WeightedProducts = [(coefficient, [(make_factor(n), scale), *factors]) for coefficient, factors in solution]
    expr = build_sum_tree(merge_products(scaled, n, mu, sequence.log))
    places = _convert_to_fractions(
        bases.threshold ** int(sequence.factor**k) for k in range(6) if sequence.factor**k <= MAX_SIZE_BITS
    )
    return ClosedExpression(expr, f"{size} = {bases.threshold}^({sequence.factor}^k)", places)


def find_closed_form_by_steps(
    branch: CallSum, bases: InitialValues, size: str, stride: fmpq
) -> ClosedExpression | None:
    """Return the closed form on integers or n0 + c*k: with n = log2(m), powers of n are powers of a logarithm.

    `stride` is c. None if no closed form is found.
    """
    start = bases.threshold
    harmonic = [term for term in branch.terms if term.exact and term.kind == ((-ONE_CONSTANT,), (), ())]
    calls = write_calls_in_strides(branch.calls, stride)
    if start.q != 1 or stride.q != 1 or (harmonic and (calls != ((fmpq(1), 1),) or stride != 1 or start < 0)):
        return None
    n = b.name(size)
    sequence = SizeSequence(n, start, fmpq(1), calls, n, b.number(stride), start / stride, stride=stride)
    starts = _build_start_values(bases, sequence.compute_size)
    terms = [
        term.with_powers((ZERO_CONSTANT, *term.powers), term.steep) for term in branch.terms if term not in harmonic
    ]
    solution = (
        None
        if starts is None or any(len(term.powers) > 2 for term in terms)
        else _solve_recurrence_by_linearity(sequence, terms, starts)
    )
    if solution is None:
        return None
    for term in harmonic:
        solution.append((term.coefficient, [(make_factor(b.call("harmonic", n)), ONE_CONSTANT)]))
        if start > 0:
            solution.append((-term.coefficient, [(make_factor(b.call("harmonic", b.number(start))), ONE_CONSTANT)]))

    def rank_powers(powers: Mapping[Factor, Constant]) -> tuple[bool, float]:
        has_only_size = all(base == size_factor(size) for base in powers)
        return has_only_size, -float(powers[size_factor(size)].enclosure()) if size_factor(size) in powers else 0.0

    places = _convert_to_fractions(map(sequence.compute_size, (0, 1, 2, 5, 12, 31)))
    return ClosedExpression(
        build_sum_tree(_sum_like_products(solution, rank_powers)), _describe_domain(size, start, stride), places
    )


def _build_start_values(bases: InitialValues, at: Callable[[int], fmpq], divisor: fmpq | int = 1) -> StartValues | None:
    """Return the base values over `divisor` as functions of k; `at(k)` is a size. None if a value varies with it."""
    if any(not term.exact or term.depends_on_size for _, terms in bases.values for term in terms):
        return None

    def make_initial(symbols: Symbols) -> Callable[[int], fmpq]:
        values = [
            (threshold, sum((term.coefficient for term in terms if term.symbols == symbols), fmpq(0)) / divisor)
            for threshold, terms in bases.values
        ]
        return lambda k: next(value for threshold, value in values if at(k) <= threshold)

    return {key: make_initial(key) for key in {(), *(term.symbols for _, terms in bases.values for term in terms)}}


def _build_size_sequence(size: s.Expr, start: fmpq, parts: Sequence[tuple[fmpq, fmpq]]) -> SizeSequence | None:
    """Return the sequence of sizes that calls reach from `start`; None unless all shares are powers of one number."""
    bases = [split_perfect_power(1 / share) for _, share in parts]
    root, *rest = {base for base, _ in bases}
    if start <= 0 or rest:
        return None
    shared = math.gcd(*(power for _, power in bases))
    calls = tuple((weight, power // shared) for (weight, _), (_, power) in zip(parts, bases, strict=True))
    factor = root**shared
    shift, bits = compute_exact_logarithm(start, factor), compute_exact_logarithm(factor, _TWO)
    bits_tree = bits.tree if bits.is_rational else b.call("log2", b.number(factor))
    if shift.is_rational and shift.rational.q == 1:
        return SizeSequence(size, start, factor, calls, b.call("log2", size), bits_tree, shift.rational)
    relative = b.call("log2", b.binary("/", size, b.number(start)))
    return SizeSequence(size, start, factor, calls, relative, bits_tree, fmpq(0), relative=True)


def _solve_recurrence_by_linearity(
    sequence: SizeSequence, terms: Sequence[GrowthTerm], starts: StartValues
) -> WeightedProducts | None:
    """Solve the recurrence for each product of symbols and each power of `bits`, and add up the solutions.

    None if some part cannot be solved, or not be written in the size.
    """
    forcings: ForcingsBySymbols = {symbols: {0: {}} for symbols in starts}
    if not all(_add_forcing(sequence, term, forcings) for term in terms):
        return None
    solution: WeightedProducts = []
    for symbols, by_logs in forcings.items():
        named = [(make_symbol_factor(name), Constant.of(power)) for name, power in symbols]
        for logs, forcing in by_logs.items():
            initial = starts.get(symbols) if logs == 0 else None
            pieces = solve_sequence(sequence.calls, initial or (lambda _: fmpq(0)), forcing)
            if pieces is None:
                return None
            for piece in pieces:
                sums = sequence.write_term(piece, logs, named)
                if sums is None:
                    return None
                solution += sums
    return solution


def _add_forcing(sequence: SizeSequence, term: GrowthTerm, forcings: ForcingsBySymbols) -> bool:
    """Add a term c*n^a*log^m = c*n0^a*(b^a)^k*(shift + k)^m*bits^m to the forcings; return False for other terms."""
    ratio, at_start = (
        compute_rational_power(sequence.factor, term.power),
        compute_rational_power(sequence.start, term.power) if term.power else fmpq(1),
    )
    if ratio is None or at_start is None or not term.exact or not term.get_power(1).is_rational:
        return False
    if term.steep:
        if sequence.stride is None or term.steep[0]:
            return False
        steep = [term.steep[1].scaled(by).exp2() for by in (sequence.stride, sequence.start)]
        if steep[0] is None or steep[1] is None:
            return False
        ratio, at_start = ratio * steep[0], at_start * steep[1]
    degree = term.get_power(1).rational
    if degree.q != 1 or not 0 <= degree < MAX_SEQUENCE_UNKNOWNS or (degree > 0 and sequence.relative):
        return False
    power = int(degree.p)
    coefficients = forcings.setdefault(term.symbols, {0: {}}).setdefault(power, {}).setdefault(ratio, [])
    coefficients += [fmpq(0)] * (power + 1 - len(coefficients))
    for i in range(power + 1):
        coefficients[i] += term.coefficient * at_start * comb(power, i) * sequence.shift ** (power - i)
    return True


def _describe_domain(size: str, start: fmpq, stride: fmpq) -> str:
    if stride == 1:
        return f"{size} is an integer >= {start}"
    if stride == 2:
        return f"{size} is {'odd' if int(start.p) % 2 else 'even'}"
    return f"{size} = {int(start.p) % int(stride.p)} + {stride}*k"
