"""Represents real constants such as exponents by rational combinations of 1 and of irrationals like log2(3), sqrt(5).

    log2(6) = 1 + log2(3),  log2(5)/log2(4) = 1/2*log2(5),  sqrt(12) = 2*sqrt(3),  log2(5)/log2(3)

Equal combinations are equal constants. Signs are decided by rigorous enclosures at rising precision; if two constants
that are written differently cannot be compared, `OutOfReachError` is raised, never a guess made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import prod
from typing import TypeAlias

from archline.expr import build as b
from archline.expr import tree as s
from archline.expr.text import format_expression
from archline.numbers import arb, ctx, factor_into_primes, fmpq, fmpq_mpoly, fmpq_mpoly_ctx, fmpz
from archline.records import field, record

ZERO, ONE = fmpq(0), fmpq(1)
PRECISIONS = (64, 256, 1024)
MAX_FACTORED_BITS = 96
MAX_POWER = 4096
MAX_PRINTED_POWER = 256
"""The largest power of a prime in a number whose logarithm is printed."""


class OutOfReachError(Exception):
    """A method does not apply, or two constants cannot be compared; the message is for people."""


@record(eq=False, slots=True)
class IrrationalUnit:
    """An irrational that is multiplied and divided as a whole. `key` writes it in the language's syntax.

    `kind` is log2 (of the prime or constant `of`), sqrt (of the prime `of`), sum (the constant `of` itself), power, or
    enclosed, at flint's current precision, by `enclose`: then `key` is its leading digits, or the text of `expr`.
    """

    key: str
    kind: str
    of: Constant | int = 0
    exponent: Constant | None = None
    enclose: Callable[[], arb] | None = None
    expr: s.Expr | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IrrationalUnit) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def tree(self) -> s.Expr:
        inner = b.number(self.of) if isinstance(self.of, int) else self.of.tree
        match self.kind:
            case "log2" | "sqrt":
                return b.call(self.kind, inner)
            case "power":
                assert self.exponent is not None
                return b.power(inner, self.exponent.tree)
            case "sum":
                return self.expr or inner
            case _:
                return self.expr or (s.Real(self.key, span=b.DERIVED) if self.key[0].isdigit() else b.name(self.key))

    def enclosure(self) -> arb:
        if self.enclose is not None:
            return self.enclose()
        inner = arb(self.of) if isinstance(self.of, int) else self.of.enclosure()
        match self.kind:
            case "log2":
                return inner.log() / arb.const_log2()
            case "sqrt":
                return inner.sqrt()
            case "power":
                assert self.exponent is not None
                return (inner.log() * self.exponent.enclosure()).exp()
            case _:
                return inner


Basis: TypeAlias = tuple[tuple[IrrationalUnit, int], ...]
"""A product of units to integer powers, in the order of their keys."""


@record(eq=False, slots=True)
class Constant:
    """A real constant: `rational` plus `terms`, products of irrational units with nonzero rational coefficients."""

    rational: fmpq
    terms: Mapping[Basis, fmpq] = field(default_factory=dict)

    @staticmethod
    def of(value: int | fmpq) -> Constant:
        return Constant(fmpq(value))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constant) and self.rational == other.rational and self.terms == other.terms

    def __hash__(self) -> int:
        # The hash of flint's rationals is slow.
        return hash((int(self.rational.p), int(self.rational.q), frozenset(self.terms)))

    def __bool__(self) -> bool:
        return bool(self.terms) or bool(self.rational)

    def __add__(self, other: Constant) -> Constant:
        if not other.terms and not self.terms:
            return Constant(self.rational + other.rational)
        terms = dict(self.terms)
        for basis, coefficient in other.terms.items():
            total = terms.pop(basis, ZERO) + coefficient
            if total:
                terms[basis] = total
        return _reduce_to_lowest_terms(Constant(self.rational + other.rational, terms))

    def __neg__(self) -> Constant:
        if not self.terms:
            return Constant(-self.rational)
        return Constant(-self.rational, {basis: -coefficient for basis, coefficient in self.terms.items()})

    def __sub__(self, other: Constant) -> Constant:
        return self + -other

    def __mul__(self, other: Constant) -> Constant:
        if not self.terms and not other.terms:
            return Constant(self.rational * other.rational)
        total = ZERO_CONSTANT
        for left, factor in self._all_terms():
            for right, other_factor in other._all_terms():
                total = total + _multiply_bases(left, right, factor * other_factor)
        return _reduce_to_lowest_terms(total)

    def __truediv__(self, other: Constant) -> Constant:
        return self * other.inverse()

    def scaled(self, factor: fmpq | int) -> Constant:
        return self * Constant(fmpq(factor))

    @property
    def is_rational(self) -> bool:
        return not self.terms

    @property
    def has_no_positive_term(self) -> bool:
        """Whether no term of the combination is positive."""
        return self.rational <= 0 and all(coefficient < 0 for coefficient in self.terms.values())

    @property
    def logarithm_multiples(self) -> dict[int, fmpq] | None:
        """The coefficients by primes p if the constant is a sum of multiples of log2(p), log2(2) = 1 too; else None."""
        multiples = {2: self.rational} if self.rational else {}
        for basis, coefficient in self.terms.items():
            match basis:
                case ((IrrationalUnit(kind="log2", of=int(prime)), 1),):
                    multiples[prime] = coefficient
                case _:
                    return None
        return multiples

    def inverse(self) -> Constant:
        """Return the reciprocal. Raises OutOfReachError if the constant may be zero."""
        if not self.sign():
            raise OutOfReachError("division by zero")
        pairs = self._all_terms()
        if len(pairs) > 1:
            # A sum becomes one unit, scaled so that multiples of one sum share it.
            leading = pairs[-1][1]
            unit = _make_sum_unit(self.scaled(1 / leading))
            return _reduce_to_lowest_terms(Constant(ZERO, {((unit, -1),): 1 / leading}))
        ((basis, coefficient),) = pairs
        result = Constant(1 / coefficient)
        for unit, power in basis:
            if unit.kind == "sqrt":
                assert isinstance(unit.of, int)
                result = result * Constant(ZERO, {((unit, 1),): fmpq(1, unit.of)})
            else:
                result = result * Constant(ZERO, {((unit, -power),): ONE})
        return result

    def power(self, exponent: Constant) -> Constant:
        """Return a power of the positive constant. Raises OutOfReachError if it is too large or not real."""
        if self == ONE_CONSTANT:
            return self
        if exponent.is_rational and exponent.rational.q == 1:
            return self._integer_power(int(exponent.rational.p))
        if self.sign() <= 0:
            raise OutOfReachError("a power of a number that is not positive")
        if self.is_rational and exponent.is_rational and exponent.rational.q == 2:
            return square_root(self.rational)._integer_power(int(exponent.rational.p))
        if self.is_rational and self.rational == 2 and len(exponent.terms) == 1 and not exponent.rational:
            ((basis, coefficient),) = exponent.terms.items()
            if len(basis) == 1 and basis[0][0].kind == "log2" and basis[0][1] == 1:
                inner = basis[0][0].of
                return (Constant.of(inner) if isinstance(inner, int) else inner).power(Constant(coefficient))
        if exponent.enclosure().abs_upper() > MAX_POWER:
            raise OutOfReachError("the power of a constant is too large")
        unit = IrrationalUnit(f"({self})^({exponent})", "power", self, exponent)
        return Constant(ZERO, {((unit, 1),): ONE})

    def _integer_power(self, exponent: int) -> Constant:
        bits = max(int(self.rational.p).bit_length(), int(self.rational.q).bit_length(), 8 * len(self.terms))
        if abs(exponent) * bits > MAX_POWER:
            raise OutOfReachError("the power of a constant is too large")
        base = self if exponent >= 0 else self.inverse()
        result = ONE_CONSTANT
        for _ in range(abs(exponent)):
            result = result * base
        return result

    def log2(self) -> Constant:
        """Return the binary logarithm. Raises OutOfReachError unless the constant is positive."""
        if self.sign() <= 0:
            raise OutOfReachError("a logarithm of a number that is not positive")
        if self.is_rational:
            return _log2_of_integer(self.rational.p) - _log2_of_integer(self.rational.q)
        pairs = self._all_terms()
        if len(pairs) == 1 and all(unit.kind in ("sqrt", "power") for unit, _ in pairs[0][0]):
            basis, coefficient = pairs[0]
            total = Constant(abs(coefficient)).log2()
            for unit, power in basis:
                inner = Constant.of(unit.of) if isinstance(unit.of, int) else unit.of
                exponent = HALF if unit.exponent is None else unit.exponent
                total = total + inner.log2() * exponent.scaled(power)
            return total
        return Constant(ZERO, {((IrrationalUnit(f"log2({self})", "log2", self), 1),): ONE})

    def exp2(self) -> fmpq | None:
        """Return 2 to the power of the constant if it is a product of moderate integer powers of primes, else None."""
        powers = [(2, self.rational)]
        for basis, count in self.terms.items():
            (unit, power), *rest = basis
            if rest or power != 1 or unit.kind != "log2" or not isinstance(unit.of, int):
                return None
            powers.append((unit.of, count))
        if any(count.q != 1 or abs(count) > MAX_PRINTED_POWER for _, count in powers):
            return None
        return prod((fmpq(prime) ** int(count.p) for prime, count in powers), start=ONE)

    def sign(self) -> int:
        """Return -1, 0 or 1. Raises OutOfReachError if enclosures do not separate the constant from zero."""
        if not self.terms:
            return (self.rational > 0) - (self.rational < 0)
        sign = determine_sign(self.enclosure)
        if sign is None:
            raise OutOfReachError(f"the sign of {self} is not decided")
        return sign

    def enclose_at_precision(self, precision: int) -> arb:
        """Return a rigorous enclosure computed with this many bits."""
        with ctx.workprec(precision):
            return self.enclosure()

    def enclosure(self) -> arb:
        """Return a rigorous enclosure at flint's current precision."""
        total = arb(self.rational)
        for basis, coefficient in self.terms.items():
            total += coefficient * enclose_basis(basis)
        return total

    def _all_terms(self) -> list[tuple[Basis, fmpq]]:
        constant = [((), self.rational)] if self.rational else []
        return [*constant, *sorted(self.terms.items(), key=lambda pair: [(unit.key, power) for unit, power in pair[0]])]

    def factors(self) -> tuple[fmpq, list[s.Expr]]:
        """Return a rational factor of the nonzero constant, and the remaining factors as expressions."""
        match self._all_terms():
            case [(basis, coefficient)]:
                return coefficient, [_build_product_tree(basis, ONE)] if basis else []
            case _:
                return ONE, [self.tree]

    @property
    def tree(self) -> s.Expr:
        """The constant as an expression with subtracted terms last; 1 + log2(3) -> log2(6)."""
        if not self.terms:
            return b.number(self.rational)
        terms = sorted(self._all_terms(), key=lambda term: term[1] < 0)
        whole = b.sum_terms(
            (coefficient < 0, _build_product_tree(basis, abs(coefficient))) for basis, coefficient in terms
        )
        argument = self.exp2() if len(terms) > 1 else None
        if argument is None or (argument.q != 1 and len(self.terms) == 1):
            return whole
        return min(whole, b.call("log2", b.number(argument)), key=lambda candidate: len(format_expression(candidate)))

    def __str__(self) -> str:
        return format_expression(self.tree) if self.terms else str(self.rational)


ZERO_CONSTANT, ONE_CONSTANT, HALF = Constant(ZERO), Constant(ONE), Constant(fmpq(1, 2))


def enclosed_constant(text: str, enclose: Callable[[], arb], expr: s.Expr | None = None) -> Constant:
    """Return a constant written as `text`, such as its leading digits, that `enclose` encloses at flint's precision.

    If the text is neither digits nor a name, `expr` is its expression.
    """
    if text.startswith("-"):
        return -enclosed_constant(text[1:], lambda: -enclose())
    return Constant(ZERO, {((IrrationalUnit(text, "enclosed", enclose=enclose, expr=expr), 1),): ONE})


PI = enclosed_constant("pi", arb.pi)
LOG_2 = enclosed_constant("log(2)", arb.const_log2, b.call("log", b.number(2)))
"""The natural logarithm of 2."""


def determine_sign(enclose: Callable[[], arb], *, quick: bool = False) -> int | None:
    """Return the sign of a number from enclosures of rising precision (`quick`: the first); None if undecided."""
    for precision in PRECISIONS[:1] if quick else PRECISIONS:
        with ctx.workprec(precision):
            ball = enclose()
        if ball > 0 or ball < 0:
            return 1 if ball > 0 else -1
    return None


def exact_midpoint(value: arb) -> fmpq:
    """Return the value of an enclosure that is a point, such as the results of `lower()` and `upper()`."""
    mantissa, exponent = value.man_exp()
    return fmpq(mantissa) * fmpq(2) ** int(exponent)


def enclose_basis(basis: Basis) -> arb:
    """Return a rigorous enclosure of a product of units at flint's current precision."""
    value = arb(1)
    for unit, power in basis:
        value *= unit.enclosure() ** power
    return value


def _build_product_tree(basis: Basis, coefficient: fmpq) -> s.Expr:
    above = [b.power(unit.tree, b.number(power)) for unit, power in basis if power > 0]
    below = [b.power(unit.tree, b.number(-power)) for unit, power in basis if power < 0]
    return b.rational_multiple(coefficient, above, below)


def square_root(value: fmpq) -> Constant:
    """Return the square root of a positive rational. Raises OutOfReachError if it is too large to be factored."""
    result = ONE_CONSTANT
    for number, power in ((value.p, 1), (value.q, -1)):
        for prime, count in _factor_integer(number):
            whole, odd = divmod(count, 2)
            result = result * Constant(fmpq(prime) ** (whole * power))
            if odd:
                single = Constant(ZERO, {((IrrationalUnit(f"sqrt({prime})", "sqrt", prime), 1),): ONE})
                result = result * (single if power > 0 else single.scaled(fmpq(1, prime)))
    return result


def _log2_of_integer(value: fmpz) -> Constant:
    total = ZERO_CONSTANT
    for prime, count in _factor_integer(value):
        unit = (
            ONE_CONSTANT
            if prime == 2
            else Constant(ZERO, {((IrrationalUnit(f"log2({prime})", "log2", prime), 1),): ONE})
        )
        total = total + unit.scaled(count)
    return total


def _factor_integer(value: fmpz) -> list[tuple[int, int]]:
    if int(value).bit_length() > MAX_FACTORED_BITS:
        raise OutOfReachError("a constant is too large to be factored")
    return factor_into_primes(value)


def _multiply_bases(left: Basis, right: Basis, coefficient: fmpq) -> Constant:
    powers = dict(left)
    for unit, power in right:
        powers[unit] = powers.get(unit, 0) + power
    basis = []
    for unit, power in powers.items():
        if unit.kind == "sqrt" and abs(power) > 1:
            assert isinstance(unit.of, int)
            coefficient, power = coefficient * unit.of, 0
        if power:
            basis.append((unit, power))
    if not basis:
        return Constant(coefficient)
    return Constant(ZERO, {tuple(sorted(basis, key=lambda pair: pair[0].key)): coefficient})


def _make_sum_unit(whole: Constant) -> IrrationalUnit:
    """Return a unit that stands for a sum of several terms, so that constants can be divided by it."""
    of = whole.exp2()
    logarithm = None if of is None else b.call("log2", b.number(of))
    return IrrationalUnit(f"({whole})" if of is None else f"log2({of})", "sum", whole, expr=logarithm)


Quotient: TypeAlias = tuple[fmpq_mpoly, fmpq_mpoly]
"""Numerator and denominator, polynomials in the units that are not sums."""


def _reduce_to_lowest_terms(value: Constant) -> Constant:
    """Write a constant with reciprocals of sums as one quotient of polynomials in the other units, in lowest terms.

    1/(x + x*y) + y/(x + x*y) -> 1/x
    """
    units = dict.fromkeys(_iterate_units(value))
    kinds = {unit.kind for unit in units}
    if "sum" not in kinds or "sqrt" in kinds:
        # Square roots cannot be variables, because their squares are rational.
        return value
    basic_units = sorted((unit for unit in units if unit.kind != "sum"), key=lambda unit: unit.key)
    names = [f"x{index}" for index in range(len(basic_units))]
    variables = dict(zip(basic_units, fmpq_mpoly_ctx.get(names, "lex").gens(), strict=True))
    top, bottom = _to_quotient(value, variables)
    common = top.gcd(bottom)
    scale = (bottom / common).leading_coefficient()
    above, below = (list((polynomial / common / scale).terms()) for polynomial in (top, bottom))
    minimum = [min(powers[index] for powers, _ in below) for index in range(len(basic_units))]

    def sum_of(terms: Iterable[tuple[tuple[int, ...], fmpq]], lower: Sequence[int]) -> Constant:
        coefficients: dict[Basis, fmpq] = {}
        for powers, coefficient in terms:
            pairs = zip(basic_units, powers, lower, strict=True)
            basis = tuple((unit, int(power - shift)) for unit, power, shift in pairs if power != shift)
            coefficients[basis] = coefficient
        return Constant(coefficients.pop((), ZERO), coefficients)

    result = sum_of(above, minimum)
    if len(below) == 1:
        return result
    unit = _make_sum_unit(sum_of(below, minimum))
    terms = {
        tuple(sorted((*basis, (unit, -1)), key=lambda pair: pair[0].key)): coefficient
        for basis, coefficient in (*result.terms.items(), *([((), result.rational)] if result.rational else []))
    }
    return Constant(ZERO, terms)


def _iterate_units(value: Constant) -> Iterator[IrrationalUnit]:
    """Yield the units in the constant, and in the sums that it divides by."""
    for basis in value.terms:
        for unit, _ in basis:
            yield unit
            if unit.kind == "sum" and isinstance(unit.of, Constant):
                yield from _iterate_units(unit.of)


def _to_quotient(value: Constant, variables: Mapping[IrrationalUnit, fmpq_mpoly]) -> Quotient:
    unity = next(iter(variables.values())) ** 0
    top, bottom = unity * value.rational, unity
    for basis, coefficient in value.terms.items():
        above, below = unity * coefficient, unity
        for unit, power in basis:
            whole = unit.of if unit.kind == "sum" else None
            inner = _to_quotient(whole, variables) if isinstance(whole, Constant) else (variables[unit], unity)
            high, low = inner if power > 0 else inner[::-1]
            above, below = above * high ** abs(power), below * low ** abs(power)
        top, bottom = top * below + above * bottom, bottom * below
    return top, bottom
