"""Closed forms of functions on the sizes that their calls reach from the base: n = n0*b^k, n0^(b^k) or n0 + c*k.

They are linear recurrences in the counter k, whose solutions are sums of c*k^i*r^k with rational r, and Fibonacci
numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from math import comb
from typing import Any

from archline.algebra.reals import UNITY, Constant
from archline.numbers import fmpq, fmpq_mat, fmpq_poly
from archline.records import record
from archline.recurrences.asymptotic.arithmetic import exact_root
from archline.recurrences.asymptotic.normal_form import Bases, CallSum
from archline.recurrences.asymptotic.terms import Symbols, Term, log_ratio, power_of, primitive
from archline.recurrences.asymptotic.text import Factors, sum_text
from archline.recurrences.asymptotic.theorems import Strides, factored, polynomial, strides

MAX_UNKNOWNS = 40
FIBONACCI = fmpq_poly([-1, -1, 1])
"""x^2 - x - 1, whose roots give the Fibonacci numbers."""


@record
class ClosedTerm:
    """c*k^power*ratio^k; or c*fibonacci(k + shift), where `ratio` is None."""

    coefficient: fmpq
    power: int
    ratio: fmpq | None
    shift: int = 0


Forcing = Mapping[fmpq, Sequence[fmpq]]
"""By r, the coefficients of the polynomial in k that multiplies r^k."""


def solve_sequence(calls: Strides, initial: Callable[[int], fmpq], forcing: Forcing) -> tuple[ClosedTerm, ...] | None:
    """T[k] = sum a*T[k - e] + f(k) for k >= 1, where T[k] is `initial(k)` for k <= 0; None where roots are irrational.

    The unknown coefficients are found from as many values as there are: both sides then satisfy one linear recurrence
    of that order, and agree wherever they agree so often in a row.
    """
    roots = _roots(calls)
    if roots is None:
        return None
    multiplicities, golden = roots
    basis: list[tuple[fmpq | None, int]] = [(None, 0), (None, 1)] if golden else []
    for ratio in {**multiplicities, **forcing}:
        count = multiplicities.get(ratio, 0) + len(forcing.get(ratio, ()))
        basis += [(ratio, power) for power in range(count)]
    if not basis or len(basis) > MAX_UNKNOWNS:
        return None
    values = _values(calls, initial, forcing, len(basis))
    rows = [[_basis_value(each, k) for each in basis] for k in range(len(basis))]
    solution = fmpq_mat(rows).solve(fmpq_mat([[value] for value in values]))
    coefficients = [solution[at, 0] for at in range(len(basis))]
    pieces = [
        ClosedTerm(coefficient, power, ratio)
        for coefficient, (ratio, power) in zip(coefficients, basis, strict=True)
        if coefficient and ratio is not None
    ]
    return (*(_fibonacci(coefficients[0], coefficients[1]) if golden else ()), *pieces)


def _roots(calls: Strides) -> tuple[dict[fmpq, int], bool] | None:
    """The rational roots of the characteristic polynomial with multiplicities, and whether the golden ratio is one."""
    if max(step for _, step in calls) > MAX_UNKNOWNS:
        return None
    found: dict[fmpq, int] = {}
    golden = False
    for factor, multiplicity in factored(polynomial(calls)):
        if factor.degree() == 1:
            found[fmpq(-factor[0], factor[1])] = multiplicity
        elif fmpq_poly(factor) == FIBONACCI and multiplicity == 1:
            golden = True
        else:
            return None
    return found, golden


def _values(calls: Strides, initial: Callable[[int], fmpq], forcing: Forcing, count: int) -> list[fmpq]:
    values = [initial(0)]
    for k in range(1, count):
        total = forcing_at(forcing, k)
        for weight, step in calls:
            total += weight * (values[k - step] if k >= step else initial(k - step))
        values.append(total)
    return values


def forcing_at(forcing: Forcing, k: int) -> fmpq:
    """f(k)."""
    total = fmpq(0)
    for ratio, coefficients in forcing.items():
        total += ratio**k * sum((each * k**power for power, each in enumerate(coefficients)), fmpq(0))
    return total


def _basis_value(basis: tuple[fmpq | None, int], k: int) -> fmpq:
    ratio, power = basis
    if ratio is None:
        return fmpq(fibonacci(k + power))
    return fmpq(ratio**k * k**power)


def fibonacci(k: int) -> int:
    """The Fibonacci number, for negative k too."""
    if k < 0:
        return (1 if k % 2 else -1) * fibonacci(-k)
    a, b = 0, 1
    for _ in range(k):
        a, b = b, a + b
    return a


def _fibonacci(first: fmpq, second: fmpq) -> tuple[ClosedTerm, ...]:
    """first*fibonacci(k) + second*fibonacci(k + 1), as one Fibonacci number where it is one."""
    for shift in range(-2, 5):
        before, at = fibonacci(shift - 1), fibonacci(shift)
        # fibonacci(k + shift) = fibonacci(shift - 1)*fibonacci(k) + fibonacci(shift)*fibonacci(k + 1)
        factor = second / at if at else first / before if before else fmpq(0)
        if factor * before == first and factor * at == second:
            return (ClosedTerm(factor, 0, None, shift),) if factor else ()
    return tuple(ClosedTerm(c, 0, None, shift) for c, shift in ((first, 0), (second, 1)) if c)


Sums = list[tuple[fmpq, Factors]]
_TWO = fmpq(2)


@record
class Clock:
    """Quantities start*factor^k, written `size`; calls are a*T[k - e]. `shift` is log(start)/log(factor) if integer."""

    size: str
    start: fmpq
    factor: fmpq
    calls: tuple[tuple[fmpq, int], ...]
    shift: int | None

    @property
    def relative(self) -> str:
        """What is factor^k, or factor^(k + shift)."""
        return self.size if self.shift is not None else f"({self.size}/{self.start})"

    @property
    def log(self) -> str:
        """Its logarithm."""
        return f"log2({self.size})" if self.shift is not None else f"log2({self.size}/{self.start})"

    @property
    def bits(self) -> Constant:
        """log2(factor)."""
        return log_ratio(self.factor, _TWO)

    def counter(self, more: int) -> str:
        """The counter k plus a number."""
        bits = self.bits
        if bits.is_rational:
            text = self.log if bits.rational == 1 else f"{self.log}/{bits.rational}"
        else:
            text = f"{self.log}/log2({self.factor})"
        more -= self.shift or 0
        return f"{text} {'+' if more > 0 else '-'} {abs(more)}" if more else text


def written(clock: Clock, pieces: Sequence[ClosedTerm], logs: int, named: Factors) -> Sums:
    """The pieces times log2(factor)^logs and the named factors."""
    found: Sums = []
    for piece in pieces:
        if piece.ratio is None:
            factor = (f"fibonacci({clock.counter(piece.shift)})", UNITY)
            found.append((piece.coefficient, [*named, factor, *_bits(clock, logs)]))
        else:
            found += _powers(clock, piece, piece.ratio, logs, named)
    return found


def _powers(clock: Clock, piece: ClosedTerm, ratio: fmpq, logs: int, named: Factors) -> Sums:
    """c*k^i*r^k with k = l - s for l = log_b: c*r^-s*r^l * sum of binomial(i, j)*l^j*(-s)^(i - j)."""
    s = clock.shift or 0
    sign: Factors = [(f"(-1)^({clock.counter(s)})", UNITY)] if ratio < 0 else []
    found: Sums = []
    for j in range(piece.power + 1):
        coefficient = piece.coefficient * ratio**-s * comb(piece.power, j) * fmpq(-s) ** (piece.power - j)
        if coefficient:
            exponent = log_ratio(abs(ratio), clock.factor)
            factors = [*named, *_relative(clock, exponent), (clock.log, Constant.of(j)), *sign]
            found.append((coefficient, [*factors, *_bits(clock, logs - j)]))
    return [_with_numbers(clock, each) for each in found]


def _relative(clock: Clock, exponent: Constant) -> Factors:
    if clock.shift is None and exponent.is_rational and exponent.rational.q == 1:
        return [(clock.size, exponent), (str(clock.start), exponent.scaled(-1))]
    return [(clock.relative, exponent)]


def _bits(clock: Clock, power: int) -> Factors:
    bits = clock.bits
    base = str(bits.rational) if bits.is_rational else f"log2({clock.factor})"
    return [(base, Constant.of(power))]


def _with_numbers(clock: Clock, term: tuple[fmpq, Factors]) -> tuple[fmpq, Factors]:
    """The factors that are integer powers of numbers taken into the coefficient."""
    coefficient, factors = term
    kept: Factors = []
    for base, exponent in factors:
        if base.replace("/", "").isdigit() and exponent.is_rational and exponent.rational.q == 1:
            top, _, bottom = base.partition("/")
            coefficient *= fmpq(int(top), int(bottom or "1")) ** int(exponent.rational.p)
        else:
            kept.append((base, exponent))
    return coefficient, kept


def merged(found: Sums, first: Sequence[str]) -> Sums:
    """Like products added, those with the highest powers of what is named `first` before the others."""
    return _added(found, lambda powers: [-float(powers[name].enclosure()) if name in powers else 0.0 for name in first])


def _added(found: Sums, rank: Callable[[Mapping[str, Constant]], Any]) -> Sums:
    """Like products added, by the rank of their powers."""
    sums: dict[tuple[tuple[str, Constant], ...], fmpq] = {}
    for coefficient, factors in found:
        key = tuple(pair for pair in factors if pair[1])
        sums[key] = sums.get(key, fmpq(0)) + coefficient
    return [(sums[key], list(key)) for key in sorted(sums, key=lambda key: rank(dict(key))) if sums[key]]


@record
class Closed:
    """An expression and where it holds; `places` are some sizes of that kind."""

    text: str
    domain: str
    places: tuple[Fraction, ...]


def _places(sizes: Iterable[fmpq]) -> tuple[Fraction, ...]:
    return tuple(Fraction(int(size.p), int(size.q)) for size in sizes)


Starts = dict[Symbols, fmpq]
Forcings = dict[Symbols, dict[int, dict[fmpq, list[fmpq]]]]


def closed_by_splits(branch: CallSum, bases: Bases, size: str) -> Closed | None:
    """T on n0*b^k, where all shares are powers of 1/b."""
    if any(call.argument.offset != 0 for call in branch.calls) or any(len(term.powers) > 2 for term in branch.terms):
        return None
    parts = [(call.weight.coefficient, call.argument.ratio) for call in branch.calls]
    clock = _clock(size, bases.threshold, parts)
    starts = _starts(bases, fmpq(1))
    if clock is None or starts is None:
        return None
    found = _solved(clock, branch.terms, starts)
    if found is None:
        return None
    text = sum_text(merged(found, (size, clock.log)))
    return Closed(text, f"{size} = {_powers_of(clock)}", _places(clock.start * clock.factor**k for k in range(6)))


def _powers_of(clock: Clock) -> str:
    factor = str(clock.factor) if clock.factor.q == 1 else f"({clock.factor})"
    return f"{factor}^k" if clock.start == 1 else f"{clock.start}*{factor}^k"


def closed_by_roots(branch: CallSum, bases: Bases, size: str, scale: Constant) -> Closed | None:
    """T on n0^(b^k): with mu = log2(n), T/n^s is a function of mu on log2(n0)*b^k."""
    if any(term.power != scale for term in branch.terms):
        return None
    start, divisor = log_ratio(bases.threshold, _TWO), power_of(bases.threshold, scale)
    starts = None if divisor is None or not scale.is_rational else _starts(bases, divisor)
    if not start.is_rational:
        return None
    mu = f"log2({size})"
    clock = _clock(mu, start.rational, [(call.weight.coefficient, call.argument.root) for call in branch.calls])
    if clock is None or starts is None or clock.factor.q != 1:
        return None
    terms = [each.with_powers(each.powers[1:]) for each in branch.terms]
    found = _solved(clock, terms, starts)
    if found is None:
        return None
    scaled: Sums = [(coefficient, [(size, scale), *factors]) for coefficient, factors in found]
    text = sum_text(merged(scaled, (size, mu, clock.log)))
    places = _places(bases.threshold ** int(clock.factor**k) for k in range(6))
    return Closed(text, f"{size} = {bases.threshold}^({clock.factor}^k)", places)


def _starts(bases: Bases, divisor: fmpq) -> Starts | None:
    """The base value by products of symbols."""
    (_, terms), *others = bases.values
    if others or any(not term.exact or term.varies for term in terms):
        return None
    return {term.symbols: term.coefficient / divisor for term in terms}


def _clock(size: str, start: fmpq, parts: Sequence[tuple[fmpq, fmpq]]) -> Clock | None:
    """The clock on which all calls are, where their shares are powers of one number."""
    bases = [primitive(1 / share) for _, share in parts]
    root, *others = {base for base, _ in bases}
    if start <= 0 or others:
        return None
    shared = math.gcd(*(power for _, power in bases))
    calls = tuple((weight, power // shared) for (weight, _), (_, power) in zip(parts, bases, strict=True))
    factor = root**shared
    shift = log_ratio(start, factor)
    integer = shift.is_rational and shift.rational.q == 1
    return Clock(size, start, factor, calls, int(shift.rational.p) if integer else None)


def _solved(clock: Clock, terms: Sequence[Term], starts: Starts) -> Sums | None:
    """The solution: by linearity, that of each product of symbols and each power of log2(b) by itself."""
    forcings: Forcings = {symbols: {0: {}} for symbols in starts}
    if not all(_force(clock, term, forcings) for term in terms):
        return None
    found: Sums = []
    for symbols, by_logs in forcings.items():
        named = [(name, Constant.of(power)) for name, power in symbols]
        for logs, forcing in by_logs.items():
            start = starts.get(symbols, fmpq(0)) if logs == 0 else fmpq(0)
            pieces = solve_sequence(clock.calls, lambda _, start=start: start, forcing)  # type: ignore[misc]
            if pieces is None:
                return None
            found += written(clock, pieces, logs, named)
    return found


def _force(clock: Clock, term: Term, forcings: Forcings) -> bool:
    """Add c*n^a*log2(n)^m = c*n0^a*(b^a)^k * (s + k)^m*log2(b)^m; False where that is no such sum."""
    ratio, at_start = power_of(clock.factor, term.power), power_of(clock.start, term.power)
    if ratio is None or at_start is None or not term.exact or not term.at(1).is_rational:
        return False
    degree = term.at(1).rational
    if degree.q != 1 or degree < 0 or (degree > 0 and clock.shift is None):
        return False
    power, shift = int(degree.p), fmpq(clock.shift or 0)
    place = forcings.setdefault(term.symbols, {0: {}}).setdefault(power, {}).setdefault(ratio, [])
    place += [fmpq(0)] * (power + 1 - len(place))
    for i in range(power + 1):
        place[i] += term.coefficient * at_start * comb(power, i) * shift ** (power - i)
    return True


def closed_by_steps(branch: CallSum, bases: Bases, size: str, stride: fmpq) -> Closed | None:
    """T on integers, or on n0 + c*k."""
    start = bases.threshold
    values = [(threshold, _number(terms)) for threshold, terms in bases.values]
    if any(value is None for _, value in values) or start.q != 1 or stride.q != 1:
        return None
    harmonic = [term for term in branch.terms if _is_inverse(term)]
    forcing = _forcing([term for term in branch.terms if not _is_inverse(term)], start, stride)
    calls = strides(branch.calls, stride)
    if forcing is None or (harmonic and (calls != ((fmpq(1), 1),) or stride != 1 or start < 0)):
        return None

    def initial(k: int) -> fmpq:
        at = start + stride * k
        return next(value for threshold, value in values if value is not None and at <= threshold)

    pieces = solve_sequence(calls, initial, forcing)
    if pieces is None:
        return None
    found: Sums = []
    for piece in pieces:
        sums = _written(piece, size, start, stride)
        if sums is None:
            return None
        found += sums
    for term in harmonic:
        found.append((term.coefficient, [(f"harmonic({size})", UNITY)]))
        if start > 0:
            found.append((-term.coefficient, [(f"harmonic({start})", UNITY)]))
    places = _places(start + stride * k for k in (0, 1, 2, 5, 12, 31))
    return Closed(sum_text(_ranked(found, size)), _domain(size, start, stride), places)


def _number(terms: tuple[Term, ...]) -> fmpq | None:
    if any(not term.is_constant or not term.exact for term in terms):
        return None
    return terms[0].coefficient if terms else fmpq(0)


def _is_inverse(term: Term) -> bool:
    return term.exact and term.kind == ((-UNITY,), ())


def _forcing(terms: Sequence[Term], start: fmpq, stride: fmpq) -> Forcing | None:
    """A polynomial in n as one in k = (n - n0)/c."""
    coefficients: list[fmpq] = []
    for term in terms:
        plain = len(term.powers) <= 1 and not term.symbols and term.power.is_rational and term.exact
        if not plain or term.power.rational.q != 1 or not 0 <= term.power.rational.p <= 20:
            return None
        power = int(term.power.rational.p)
        coefficients += [fmpq(0)] * (power + 1 - len(coefficients))
        for i in range(power + 1):
            coefficients[i] += term.coefficient * comb(power, i) * stride**i * start ** (power - i)
    return {fmpq(1): coefficients} if coefficients else {}


def _written(piece: ClosedTerm, size: str, start: fmpq, stride: fmpq) -> Sums | None:
    """c*k^i*r^k in n; None where r^(1/c) is irrational."""
    if piece.ratio is None:
        if stride != 1:
            return None
        shift = piece.shift - int(start.p)
        text = size if shift == 0 else f"{size} {'+' if shift > 0 else '-'} {abs(shift)}"
        return [(piece.coefficient, [(f"fibonacci({text})", UNITY)])]
    root = exact_root(abs(piece.ratio), int(stride.p))
    if root is None or (piece.ratio < 0 and stride != 1):
        return None
    base = root if piece.ratio > 0 else -root
    scaled = piece.coefficient * base ** -int(start.p)
    power: Factors = []
    if base != 1:
        text = str(base) if base.q == 1 and base > 0 else f"({base})"
        power = [(f"{text}^{size}", UNITY)]
    found: Sums = []
    for j in range(piece.power + 1):
        coefficient = comb(piece.power, j) * (-start) ** (piece.power - j) / stride**piece.power
        if coefficient:
            found.append((scaled * coefficient, [*power, (size, Constant.of(j))]))
    return found


def _ranked(found: Sums, size: str) -> Sums:
    """Like products added; powers of numbers first, then powers of n from the highest down."""

    def rank(powers: Mapping[str, Constant]) -> tuple[bool, float]:
        return all(base == size for base in powers), -float(powers[size].enclosure()) if size in powers else 0.0

    return _added(found, rank)


def _domain(size: str, start: fmpq, stride: fmpq) -> str:
    if stride == 1:
        return f"integers {size} >= {start}"
    if stride == 2:
        return f"{size} {'odd' if int(start.p) % 2 else 'even'}"
    return f"{size} = {int(start.p) % int(stride.p)} + {stride}*k"
