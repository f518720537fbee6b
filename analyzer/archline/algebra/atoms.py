"""Defines the atoms other than symbols, each with the constructor that normalises it.

Everything piecewise is built from `positive_part(e)` = max(0, e): max(a, b) = b + max(0, a - b), and for an integer e
the indicator of e >= 0 is max(0, e + 1) - max(0, e). With max(0, -e) = max(0, e) - e and max(0, e)^2 = e*max(0, e) the
usual identities between min, max and indicators hold by normal form alone.
"""

from __future__ import annotations

from math import gcd, isqrt, lcm

from archline.algebra.effort import TooComplexError
from archline.algebra.factors import divide_exactly, divide_terms, monomial_key
from archline.algebra.offsets import Data as Data
from archline.algebra.offsets import Gap as Gap
from archline.algebra.offsets import Offset as Offset
from archline.algebra.offsets import Segments as Segments
from archline.algebra.offsets import as_gaps as as_gaps
from archline.algebra.offsets import offset as offset
from archline.algebra.polynomial import ONE, ZERO, Atom, Poly, Symbol
from archline.expr.sequences import RECURSIVE_SEQUENCES, compute_sequence
from archline.numbers import fmpq, fmpz

MAX_CONSTANT_EXPONENT = 100_000


class PositivePart(Atom):
    """The atom max(0, e), where e has coprime integer coefficients and a positive first term."""

    __slots__ = ("argument", "integral", "square")

    def __init__(self, argument: Poly) -> None:
        super().__init__(f"pos({argument.key})", argument)
        self.argument = self.square = argument
        # Computed once: nested maxima are queried repeatedly.
        self.integral = is_integral(argument)

    def rebuild(self, parts: tuple[Poly, ...]) -> Poly:
        return positive_part(*parts)


class Floor(Atom):
    """floor(e / m), m a positive integer or a polynomial that is positive."""

    __slots__ = ("argument", "modulus")

    def __init__(self, argument: Poly, modulus: Poly) -> None:
        super().__init__(f"floor({argument.key}|{modulus.key})", argument, modulus)
        self.argument, self.modulus = argument, modulus

    def rebuild(self, parts: tuple[Poly, ...]) -> Poly:
        return floor_div(*parts)


class Quotient(Atom):
    """e / d, known to be an integer because the program divides sizes exactly."""

    __slots__ = ("argument", "divisor")

    def __init__(self, argument: Poly, divisor: Poly) -> None:
        super().__init__(f"quotient({argument.key}|{divisor.key})", argument, divisor)
        self.argument, self.divisor = argument, divisor

    def rebuild(self, parts: tuple[Poly, ...]) -> Poly:
        return exact_quotient(*parts)


class CommonDivisor(Atom):
    """The greatest common divisor of two nonnegative integers that are not both 0."""

    __slots__ = ("left", "right")

    def __init__(self, left: Poly, right: Poly) -> None:
        super().__init__(f"gcd({left.key}|{right.key})", left, right)
        self.left, self.right = left, right

    def rebuild(self, parts: tuple[Poly, ...]) -> Poly:
        return common_divisor(*parts)


class CeilLog2(Atom):
    """ceil(log2(e)) for integers e >= 1, and 0 below: the depth of a binary tree with e leaves."""

    __slots__ = ("argument",)

    def __init__(self, argument: Poly) -> None:
        super().__init__(f"clog2({argument.key})", argument)
        self.argument = argument

    def rebuild(self, parts: tuple[Poly, ...]) -> Poly:
        return ceil_log2(*parts)


class RealFunction(Atom):
    """log2(e) or sqrt(e), a real number in general; or isqrt(e), the floor of the root, -1 for e < 0."""

    __slots__ = ("argument", "function")

    def __init__(self, function: str, argument: Poly) -> None:
        super().__init__(f"{function}({argument.key})", argument)
        self.function, self.argument = function, argument

    def rebuild(self, parts: tuple[Poly, ...]) -> Poly:
        match self.function:
            case "log2":
                return log2(*parts)
            case "sqrt":
                return sqrt(*parts)
            case _:
                return floor_sqrt(*parts)


class Exponential(Atom):
    """base^e for an exponent e of one term and an integer base >= 2 that is not a power of a number up to 64."""

    __slots__ = ("base", "exponent")
    divides = True

    def __init__(self, base: int, exponent: Poly) -> None:
        super().__init__(f"exp{base}({exponent.key})", exponent)
        self.base, self.exponent = base, exponent

    def rebuild(self, parts: tuple[Poly, ...]) -> Poly:
        return exponential(self.base, *parts)


class AppliedFunction(Atom):
    """The value >= 0, at given arguments, of a function not solved yet, such as the cost of a recursive call."""

    __slots__ = ("arguments", "function")

    def __init__(self, function: str, arguments: tuple[Poly, ...]) -> None:
        super().__init__(f"apply({function}|{'|'.join(argument.key for argument in arguments)})", *arguments)
        self.function, self.arguments = function, arguments

    def rebuild(self, parts: tuple[Poly, ...]) -> Poly:
        return Poly.of_atom(AppliedFunction(self.function, parts))


class Sequence(Atom):
    """A term, at integers, of one of the sequences that `archline.expr.sequences` defines; `argument` is the first.

    The terms that costs contain are at least 0; only `floor_sum` has others.
    """

    __slots__ = ("argument", "name")

    def __init__(self, name: str, *arguments: Poly) -> None:
        super().__init__(f"{name}({','.join(argument.key for argument in arguments)})", *arguments)
        self.name, self.argument = name, arguments[0]

    def rebuild(self, parts: tuple[Poly, ...]) -> Poly:
        return make_sequence_term(self.name, *parts)


# Constructors
def compute_content(poly: Poly) -> fmpq:
    """Return the positive rational c such that poly / c has coprime integer coefficients."""
    numerator, denominator = 0, 1
    for coefficient in poly.terms.values():
        numerator = gcd(numerator, int(coefficient.p))
        denominator = lcm(denominator, int(coefficient.q))
    return fmpq(numerator or 1, denominator)


def positive_part(value: Poly) -> Poly:
    """Return max(0, value)."""
    if value.is_constant:
        return value if value.constant_term > 0 else ZERO
    # max(0, 2*n - 4) -> 2*max(0, n - 2)
    scale = compute_content(value)
    primitive = value.scaled(1 / scale)
    first = min((monomial for monomial in primitive.terms if monomial), key=monomial_key)
    if primitive.terms[first] < 0:
        # max(0, -e) = max(0, e) - e
        return (Poly.of_atom(PositivePart(-primitive)) + primitive).scaled(scale)
    if len(primitive.terms) == 2 and primitive.constant_term < 0 and len(first) == 1:
        ((atom, power),) = first
        if isinstance(atom, PositivePart) and power == 1:
            # max(0, max(0, e) - c) = max(0, e - c)
            return positive_part(atom.argument.scaled(primitive.terms[first]) + primitive.constant_term).scaled(scale)
    return Poly.of_atom(PositivePart(primitive)).scaled(scale)


def maximum(left: Poly, right: Poly) -> Poly:
    """Return max(left, right)."""
    return right + positive_part(left - right)


def minimum(left: Poly, right: Poly) -> Poly:
    """Return min(left, right)."""
    return left - positive_part(left - right)


def split_extremum(value: Poly, greatest: bool) -> tuple[Poly, ...]:
    """Return the operands of a maximum (minimum if not `greatest`), nested ones flattened; else the value alone."""
    # Atoms inside other atoms come after them, since they may cancel.
    for atom in sorted(value.atoms(), key=lambda candidate: -len(candidate.key)):
        if not isinstance(atom, PositivePart):
            continue
        parts = value.coefficients(atom)
        factor = parts.get(1, ZERO)
        if set(parts) <= {0, 1} and factor.is_constant and (factor.constant_term > 0) == greatest:
            rest = parts.get(0, ZERO)
            ends = rest, rest + factor * atom.argument
            return tuple(dict.fromkeys(option for end in ends for option in split_extremum(end, greatest)))
    return (value,)


def nonnegative_indicator(value: Poly) -> Poly:
    """Return 1 where the integer `value` is >= 0, else 0."""
    return positive_part(value + 1) - positive_part(value)


def floor_div(value: Poly, modulus: Poly) -> Poly:
    """Return floor(value / modulus) for an integer `value` and a positive integer `modulus`."""
    inner = find_single_atom(value)
    if isinstance(inner, Floor) and is_integral(modulus):
        # floor(floor(n/a)/b) -> floor(n/(a*b))
        return floor_div(inner.argument, inner.modulus * modulus)
    if modulus.is_constant:
        return _floor_by_constant(value, modulus.constant_term)
    exact = divide_terms(value, modulus)
    if len(modulus.terms) == 1:
        # floor(i^2/(2*i)) -> floor(i/2)
        ((monomial, number),) = modulus.terms.items()
        reduced = value * Poly({monomial: fmpq(1)}) ** -1
        if value and is_integral(reduced):
            return _floor_by_constant(reduced, number)
    if exact is None:
        return _make_floor_atom(value, modulus)
    whole, rest = exact
    if (rest and _has_fractional_terms(whole)) or _has_size_divisor(whole):
        return _make_floor_atom(value, modulus)
    if not rest:
        # A quotient of polynomials may still be a fraction.
        return _floor_by_constant(whole, fmpq(1))
    if rest == -ONE:
        # m divides n: floor((n - 1)/m) -> n/m - 1, as in ceil(n/m)
        return whole - 1
    # floor((b*n + c)/b) -> n + floor(c/b)
    return whole + _make_floor_atom(rest, modulus)


def _make_floor_atom(value: Poly, modulus: Poly) -> Poly:
    """Return floor(value/modulus) as an atom. For integers floor(-n/m) is written as -floor((n - 1)/m) - 1 if all
    terms of the value except the constant are negative, and the line length `L` is not in the modulus.
    """
    negative = "L" not in modulus.names and all(number < 0 for monomial, number in value.terms.items() if monomial)
    if negative and not value.is_constant and is_integral(value) and is_integral(modulus):
        return -Poly.of_atom(Floor(-value - 1, modulus)) - 1
    return Poly.of_atom(Floor(value, modulus))


def _floor_by_constant(value: Poly, modulus: fmpq) -> Poly:
    """Return floor(value / modulus) with whole multiples taken out: floor((7*n + 9)/3) -> 2*n + 3 + floor(n/3)."""
    denominator = lcm(*(int(c.q) for c in value.terms.values())) if value.terms else 1
    scaled = modulus * denominator
    m = int(scaled.p)
    if scaled.q != 1 or not m:
        # A divisor is 0 only in loops that are never entered.
        return Poly.of_atom(Floor(value, Poly.constant(modulus)))
    value = value.scaled(denominator)
    whole: dict[tuple[tuple[Atom, int], ...], fmpq] = {}
    rest: dict[tuple[tuple[Atom, int], ...], fmpq] = {}
    fractional = m != 1 and _has_fractional_terms(value)
    for monomial, coefficient in value.terms.items():
        if fractional and not all(_is_integral_power(atom, power) for atom, power in monomial):
            # Only integer terms may be taken out of a floor one by one.
            rest[monomial] = coefficient
            continue
        quotient_, remainder = divmod(int(coefficient.p), m)
        if quotient_:
            whole[monomial] = fmpq(quotient_)
        if remainder:
            rest[monomial] = fmpq(remainder)
    inner = Poly(rest)
    if inner.is_constant:
        return Poly(whole)
    if fractional:
        return Poly(whole) + Poly.of_atom(Floor(inner, Poly.constant(m)))
    common = gcd(m, *(int(c.p) for monomial, c in rest.items() if monomial))
    if common > 1:
        # floor((c*x + r)/(c*m)) -> floor((x + floor(r/c))/m) for an integer x
        shift = int(inner.constant_term.p) // common
        inner = (inner - inner.constant_term).scaled(fmpq(1, common)) + shift
        return Poly(whole) + _floor_by_constant(inner, fmpq(m // common))
    if m == 2 and inner.constant_term == 1:
        # floor((x + 1)/2) -> x - floor(x/2), so that both roundings share one atom
        inner = inner - 1
        return Poly(whole) + inner - Poly.of_atom(Floor(inner, Poly.constant(2)))
    return Poly(whole) + Poly.of_atom(Floor(inner, Poly.constant(m)))


def ceil_div(value: Poly, modulus: Poly) -> Poly:
    """Return ceil(value / modulus) for an integer `value`."""
    return floor_div(value + modulus - 1, modulus)


def modulo(value: Poly, modulus: Poly) -> Poly:
    """Return value - modulus*floor(value / modulus)."""
    return value - modulus * floor_div(value, modulus)


def exact_quotient(value: Poly, divisor: Poly) -> Poly:
    """Return value / divisor, which the program promises to be an integer."""
    if divisor.is_constant and divisor:
        return value.scaled(1 / divisor.constant_term)
    parts = divide_terms(value, divisor, exact=True)
    if parts is not None and not parts[1]:
        # (m*n)/m -> n
        return parts[0]
    return Poly.of_atom(Quotient(value, divisor))


def common_divisor(left: Poly, right: Poly) -> Poly:
    """Return gcd(left, right) of two nonnegative integers that are not both 0."""
    if not left or not right:
        return left + right
    if left.is_constant and right.is_constant:
        return Poly.constant(gcd(int(left.constant_term.p), int(right.constant_term.p)))
    for divisor, multiple in ((left, right), (right, left)):
        factor = divide_exactly(multiple, divisor)
        if factor is not None and is_integral(factor):
            # gcd(b, b*n) -> b
            return divisor
    return Poly.of_atom(CommonDivisor(*sorted((left, right), key=lambda part: part.key, reverse=True)))


def ceil_log2(value: Poly) -> Poly:
    """Return ceil(log2(value)), 0 for values up to 1."""
    if value.is_constant:
        return Poly.constant(max(0, int(value.constant_term.ceil()) - 1).bit_length())
    exponent = find_exponent_of_two(value)
    if exponent is not None:
        # ceil(log2(2^k)) -> max(0, k)
        return positive_part(exponent)
    value = _drop_maximum_with_one(value)
    rounded = find_single_atom(value - value.constant_term)
    if isinstance(rounded, Floor) and not rounded.modulus.is_constant and is_integral(value):
        exponent = find_exponent_of_two(rounded.modulus)
        if exponent is not None:
            # ceil(log2(ceil(e/2^k))) -> max(0, ceil(log2(e)) - k): k halvings take k levels off a tree.
            leaves = rounded.argument + 1 + (value.constant_term - 1) * rounded.modulus
            return positive_part(ceil_log2(leaves) - exponent)
    return Poly.of_atom(CeilLog2(value))


def _drop_maximum_with_one(value: Poly) -> Poly:
    """Replace max(1, e) by e, which has the same rounded logarithm, as ceil(log2(e)) counts as 0 for e < 1."""
    for monomial, coefficient in value.terms.items():
        if coefficient == 1 and len(monomial) == 1 and isinstance(monomial[0][0], PositivePart):
            argument = monomial[0][0].argument
            rest = value - Poly({monomial: coefficient})
            if rest == ONE:
                return argument + 1
            if argument == 1 - rest:
                return rest
    return value


def log2(value: Poly) -> Poly:
    """Return the binary logarithm of the value, simplified to e for 2^e."""
    exponent = find_exponent_of_two(value)
    return Poly.of_atom(RealFunction("log2", value)) if exponent is None else exponent


def tangent_of_log2(value: Poly) -> Poly:
    """Return a linear form that log2(value) does not exceed: e - 1 at integers, e - 9/10 at fractions e > 0.

    The maximum of log2(e) - e is -0.914, at e = 1/ln(2).
    """
    return value - (1 if is_integral(value) else fmpq(9, 10))


def sqrt(value: Poly) -> Poly:
    """Return the square root, exact for squares of rationals and even powers of 2: 4/9 -> 2/3, 2^(2*n) -> 2^n."""
    if value.is_constant and value.constant_term >= 0:
        number = value.constant_term
        root = fmpq(int(number.p.isqrt()), int(number.q.isqrt()))
        if root * root == number:
            return Poly.constant(root)
    exponent = find_exponent_of_two(value)
    if exponent is not None and is_integral(exponent.scaled(fmpq(1, 2))):
        return exponential(2, exponent.scaled(fmpq(1, 2)))
    return Poly.of_atom(RealFunction("sqrt", value))


def floor_sqrt(value: Poly) -> Poly:
    """Return floor(sqrt(value)), -1 below 0, so that ceil(sqrt(e)) is isqrt(e - 1) + 1 for every e >= 0."""
    if value.is_constant and value.constant_term.q == 1:
        number = int(value.constant_term.p)
        return Poly.constant(isqrt(number) if number >= 0 else -1)
    return Poly.of_atom(RealFunction("isqrt", value))


def is_integral(value: Poly) -> bool:
    """Test whether the form shows that the value is an integer; exact quotients, integers by promise, do not count."""
    return all(
        coefficient.q == 1 and all(_is_integral_power(atom, power) for atom, power in monomial)
        for monomial, coefficient in value.terms.items()
    )


def _is_integral_power(atom: Atom, power: int) -> bool:
    if isinstance(atom, Exponential):
        # 2^d promises an integer wherever a program writes it; its inverse does not.
        return power > 0
    if isinstance(atom, PositivePart):
        return power > 0 and atom.integral
    return power > 0 and not isinstance(atom, Quotient) and getattr(atom, "function", "isqrt") == "isqrt"


def _has_size_divisor(whole: Poly) -> bool:
    """Test whether a term has a size to a negative power; such a quotient may be a fraction, so that it must stay
    inside a floor.
    """
    return any(power < 0 and isinstance(atom, Symbol) for monomial in whole.terms for atom, power in monomial)


def _has_fractional_terms(value: Poly) -> bool:
    """Test whether single terms may be fractions, even if the sum is an integer as in (n + m)/2^d."""
    return not all(_is_integral_power(atom, power) for monomial in value.terms for atom, power in monomial)


def exponential(base: int, exponent: Poly) -> Poly:
    """Return base^exponent for an integer base >= 1; a sum in the exponent becomes a product.

    Raises TooComplexError if the constant part of the exponent exceeds MAX_CONSTANT_EXPONENT.
    """
    if base == 1:
        return ONE
    # 8^n -> (2^n)^3
    base, root = _split_perfect_power(base)
    exponent = exponent.scaled(root)
    shift = exponent.constant_term
    if abs(shift) > MAX_CONSTANT_EXPONENT:
        raise TooComplexError("a constant power is too large")
    if shift.q != 1:
        return Poly.of_atom(Exponential(base, exponent))
    # 2^(n + 3) -> 8*2^n
    result = Poly.constant(fmpq(base) ** int(shift.p))
    for monomial, coefficient in exponent.terms.items():
        if not monomial:
            continue
        power = int(coefficient.p)
        inner = Poly({monomial: 1 / fmpq(coefficient.q)})
        atom = find_single_atom(inner)
        if base == 2 and isinstance(atom, RealFunction) and atom.function == "log2" and len(atom.argument.terms) == 1:
            # 2^(3*log2(n)) -> n^3
            result = result * atom.argument**power
        else:
            result = result * Poly.of_atom(Exponential(base, inner), power)
    return result


def _split_perfect_power(base: int) -> tuple[int, int]:
    """Return the smallest r and the k with base = r^k."""
    for exponent in range(base.bit_length() - 1, 1, -1):
        root = int(fmpz(base).root(exponent))
        if root**exponent == base:
            return root, exponent
    return base, 1


MAX_FACTORS = 8
"""The maximum difference of two factorials that is written as a product."""


def make_sequence_term(name: str, *arguments: Poly) -> Poly:
    """Return a term of a sequence, in a shorter form where there is one."""
    if all(argument.is_constant and argument.constant_term.q == 1 for argument in arguments):
        value = compute_sequence(name, *(int(argument.constant_term.p) for argument in arguments))
        return Poly.of_atom(Sequence(name, *arguments)) if value is None else Poly.constant(value)
    match name, arguments:
        case "ceil_log", (argument, base):
            return _ceil_log(argument, int(base.constant_term.p))
        case ("quotient_sum" | "quotient_powers", (_, last, *_)) | ("floor_sum", (last, *_)) if not last:
            return ZERO
        case "quotient_powers", (argument, last, weight, power) if last == ONE or (weight, power) == (ZERO, ONE):
            whole = argument ** int(power.constant_term.p)
            return whole if last == ONE else make_sequence_term("quotient_sum", argument, last)
        case "quotient_sum", (argument, last) if last == ONE:
            return argument
        case "floor_sum", (count, modulus, _, start) if count == ONE:
            return floor_div(start, modulus)
        case "floor_sum", (count, modulus, slope, start) if modulus == ONE:
            return slope * count * (count - 1) / 2 + start * count
        case "digit_sum", (argument, base) if (
            isinstance(floor := find_single_atom(argument), Floor)
            and floor.modulus == base
            and is_integral(floor.argument)
        ):
            # The last digit of a number is its remainder.
            return make_sequence_term(name, floor.argument, base) - floor.argument + base * argument
        case _, (argument,) if name in RECURSIVE_SEQUENCES:
            return _make_recursive_term(name, argument)
        case _:
            pass
    return Poly.of_atom(Sequence(name, *arguments))


def _ceil_log(value: Poly, base: int) -> Poly:
    """Return the least k >= 0 with base^k >= value."""
    root, power = _split_perfect_power(base)
    if power > 1:
        return ceil_div(_ceil_log(value, root), Poly.constant(power))
    if base == 2:
        return ceil_log2(value)
    atom = find_single_atom(value)
    if isinstance(atom, Exponential) and atom.base == base and is_integral(atom.exponent):
        return positive_part(atom.exponent)
    return Poly.of_atom(Sequence("ceil_log", value, Poly.constant(base)))


def read_logarithm(atom: Atom) -> tuple[Poly, int] | None:
    """Return e and b of a logarithm of e to the base b that is rounded up; None for other atoms."""
    match atom:
        case CeilLog2(argument=argument):
            return argument, 2
        case Sequence(name="ceil_log", parts=(argument, base)):
            return argument, int(base.constant_term.p)
        case _:
            return None


def _make_recursive_term(name: str, argument: Poly) -> Poly:
    """Return a term of a sequence; constants in the argument are taken out where the sequence's recurrence allows."""
    shift = argument.constant_term
    core = argument - shift
    if shift.q == 1 and abs(shift) <= MAX_CONSTANT_EXPONENT:
        steps = int(shift.p)
        if name == "fibonacci" and core and steps not in (0, 1):
            # fibonacci(n + s) = fibonacci(s - 1)*fibonacci(n) + fibonacci(s)*fibonacci(n + 1)
            first, second = (Poly.of_atom(Sequence(name, core + more)) for more in (0, 1))
            before, at = (compute_sequence(name, place) or 0 for place in (steps - 1, steps))
            return first.scaled(before) + second.scaled(at)
        if name != "fibonacci" and core and (0 < steps <= MAX_FACTORS or (steps == -1 and len(core.terms) == 1)):
            added = 1 if name == "arrangements" else 0
            result = Poly.of_atom(Sequence(name, core))
            if steps < 0:
                # (n - 1)! = n!/n
                return (result - added) * core**-1
            for more in range(1, steps + 1):
                result = result * (core + more) + added
            return result
    return Poly.of_atom(Sequence(name, argument))


def find_exponent_of_two(value: Poly) -> Poly | None:
    """Return e if the polynomial is a product 2^e of powers of two, else None."""
    if len(value.terms) != 1:
        return None
    ((monomial, coefficient),) = value.terms.items()
    number = coefficient.p if coefficient.q == 1 else coefficient.q
    if coefficient <= 0 or (coefficient.p != 1 and coefficient.q != 1) or int(number) & (int(number) - 1):
        return None
    shift = int(number).bit_length() - 1
    result = Poly.constant(shift if coefficient.q == 1 else -shift)
    for atom, power in monomial:
        if not isinstance(atom, Exponential) or atom.base != 2:
            return None
        result = result + atom.exponent.scaled(power)
    return result


def find_single_atom(value: Poly) -> Atom | None:
    """Return the atom if the polynomial is a single atom with coefficient and exponent 1, else None."""
    if len(value.terms) == 1:
        ((monomial, coefficient),) = value.terms.items()
        if len(monomial) == 1 and monomial[0][1] == 1 and coefficient == 1:
            return monomial[0][0]
    return None


SPELLINGS: dict[str, Poly] = {}
"""The values of symbols that facts introduce for quotients and logarithms of sizes, such as `n/b`, by their names.

A name is written as the same value under all facts, although the symbol may stand for another one: the exponent k of
n = 4^k is called `log2(n)` too. The `quotients` of the facts have the values that symbols stand for.
"""


def record_spelling(name: str, value: Poly) -> str:
    """Record the expression that is printed for the symbol `name`, and return the name."""
    SPELLINGS[name] = value
    return name


def find_single_symbol_name(value: Poly) -> str | None:
    """Return the name of the symbol if the polynomial is a single symbol, else None."""
    atom = find_single_atom(value)
    return atom.name if isinstance(atom, Symbol) else None


Atom.quotient = staticmethod(exact_quotient)
