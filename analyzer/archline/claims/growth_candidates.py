"""What a cost may grow like: its terms without constants, rounding and what is subtracted; proposals, not proofs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from math import log2

from archline.algebra import atoms as a
from archline.algebra.polynomial import ZERO, Atom, Poly, Symbol
from archline.algebra.printing import Shown, shortened
from archline.algebra.product_text import difference_text, multiple_text, power_text, quotient_text
from archline.numbers import fmpq
from archline.records import record

MAX_SHAPES = 16
MAX_POWER, MAX_PRODUCTS = 12, 64
EXPONENTIAL_DEGREE = 1000.0
_LOG, _TWO = "log2(", "2^"
_NAME = re.compile(r"[A-Za-z_]\w*")


class ShapelessError(Exception):
    """An expression that is not made of powers of sizes and logarithms, and of numbers to sizes."""


@record
class Exponent:
    """A sum of rationals times log2(b), by b; 1 itself is log2(2)."""

    parts: tuple[tuple[int, fmpq], ...]

    @staticmethod
    def of(parts: Mapping[int, fmpq]) -> Exponent:
        """The sum without what is 0."""
        return Exponent(tuple(sorted((base, part) for base, part in parts.items() if part)))

    def plus(self, other: Exponent) -> Exponent:
        """The sum of two."""
        parts = dict(self.parts)
        for base, part in other.parts:
            parts[base] = parts.get(base, fmpq(0)) + part
        return Exponent.of(parts)

    def times(self, factor: fmpq) -> Exponent:
        """A multiple."""
        return Exponent.of({base: part * factor for base, part in self.parts})

    def with_base(self, base: int) -> Exponent:
        """A rational times log2(base). Raises ShapelessError for others."""
        if base == 2 or not self.parts:
            return self
        match self.parts:
            case ((2, part),):
                return Exponent.of({base: part})
            case _:
                raise ShapelessError

    @property
    def nonnegative(self) -> bool:
        """Whether no part is below 0."""
        return all(part > 0 for _, part in self.parts)

    @property
    def text(self) -> str:
        """In the language's syntax."""
        return difference_text((part < 0, _part(base, abs(part))) for base, part in self.parts)


def _part(base: int, part: fmpq) -> str:
    return str(part) if base == 2 else multiple_text(part, f"log2({base})")


ONE = Exponent.of({2: fmpq(1)})


@record
class Shape:
    """A product of powers of sizes, of 2 to sizes, and of logarithms and roots of what is written there."""

    factors: tuple[tuple[str, Exponent], ...] = ()

    @staticmethod
    def of(factors: Mapping[str, Exponent]) -> Shape:
        """The product without powers of 0."""
        return Shape(tuple(sorted((base, power) for base, power in factors.items() if power.parts)))

    def product(self, other: Shape) -> Shape:
        """The product of two."""
        factors = dict(self.factors)
        for base, power in other.factors:
            factors[base] = factors[base].plus(power) if base in factors else power
        return Shape.of(factors)

    def raised(self, power: fmpq) -> Shape:
        """A power of it."""
        return Shape.of({base: each.times(power) for base, each in self.factors})

    def with_base(self, base: int) -> Shape:
        """base^log2(it)."""
        return Shape.of({factor: power.with_base(base) for factor, power in self.factors})

    def divides(self, other: Shape) -> bool:
        """Whether the other is it times powers that are never below 1."""
        return all(power.nonnegative for _, power in other.product(self.raised(fmpq(-1))).factors)

    @property
    def names(self) -> frozenset[str]:
        """The sizes in it."""
        return frozenset(name for base, _ in self.factors for name in _NAME.findall(base)) - {"log2", "min"}

    @property
    def rising(self) -> frozenset[str]:
        """The sizes with which it rises above all bounds where the others stay: not those in a least of two."""
        return Shape(tuple(each for each in self.factors if "min(" not in each[0])).names

    @property
    def logarithmic(self) -> bool:
        """Whether it has logarithms only."""
        return all(base.startswith(_LOG) for base, _ in self.factors)

    def text(self, order: Sequence[str]) -> str:
        """In the language's syntax, sizes in their order."""
        ranked = sorted(self.factors, key=lambda pair: _rank(pair[0], order))
        above = [_power(base, power) for base, power in ranked if not _below(power)]
        below = [_power(base, power.times(fmpq(-1))) for base, power in ranked if _below(power)]
        return quotient_text(above, below)


Rank = tuple[bool, int, str]


def _rank(base: str, order: Sequence[str]) -> Rank:
    """Sizes as an algorithm has them, then logarithms and the least of them."""
    first = min((order.index(name) for name in _NAME.findall(base) if name in order), default=len(order))
    return not base.isidentifier(), first, base


def _below(power: Exponent) -> bool:
    return all(part < 0 for _, part in power.parts)


def _power(base: str, power: Exponent) -> str:
    if power != ONE and base.startswith(_TWO):
        return "*".join(_to_size(base.removeprefix(_TWO), number, part) for number, part in power.parts)
    return power_text(base, power.text)


def _to_size(size: str, base: int, part: fmpq) -> str:
    """A number to a multiple of a size."""
    return power_text(str(base), multiple_text(part, size))


def written(shapes: Iterable[Shape], order: Sequence[str]) -> str:
    """The sum of shapes, the highest powers first, then as their sizes come."""

    def key(shape: Shape) -> tuple[bool, float, list[Rank]]:
        sizes = sorted(_rank(base, order) for base, _ in shape.factors)
        return not sizes, -degree(shape), sizes

    return " + ".join(each.text(order) for each in sorted(shapes, key=key))


def degree(shape: Shape) -> float:
    """How fast a shape grows, roughly: logarithms hardly count."""
    total = 0.0
    for base, power in shape.factors:
        number = sum(float(int(part.p)) / int(part.q) * log2(logarithm) for logarithm, part in power.parts)
        total += number * (0.01 if base.startswith(_LOG) else EXPONENTIAL_DEGREE if base.startswith(_TWO) else 1.0)
    return total


def shapes(value: Poly, order: Sequence[str], minima: bool = False) -> list[Shape]:
    """The terms that a value may grow like, without those that divide others. Raises ShapelessError.

    With `minima` a factor may be the least of two sizes, as min(b, n) is for a last block that is shorter.
    """
    return list(_Reader(order).terms(shortened(value) if minima else value))


@record
class _Reader:
    order: Sequence[str]

    def terms(self, value: Poly) -> tuple[Shape, ...]:
        found: dict[Shape, None] = {}
        for monomial, coefficient in value.terms.items():
            if coefficient > 0:
                product: tuple[Shape, ...] = (Shape(),)
                for atom, power in monomial:
                    product = _products(product, self._raised(atom, power))
                found |= dict.fromkeys(product)
        if len(found) > MAX_SHAPES:
            raise ShapelessError
        return _largest(found)

    def _raised(self, atom: Atom, power: int) -> tuple[Shape, ...]:
        inner = self._atom(atom)
        if len(inner) == 1:
            return (inner[0].raised(fmpq(power)),)
        if not 0 < power <= MAX_POWER:
            raise ShapelessError
        return reduce(_products, [inner] * power)

    def _atom(self, atom: Atom) -> tuple[Shape, ...]:
        match atom:
            case Symbol():
                return (Shape.of({atom.name: ONE}),)
            case a.PositivePart(argument=argument):
                return self.terms(argument)
            case a.CeilLog2(argument=argument) | a.RealFunction(function="log2", argument=argument):
                return (self._logarithm(argument),)
            case a.RealFunction(function="sqrt" | "isqrt", argument=argument):
                return (_only(self.terms(argument)).raised(fmpq(1, 2)),)
            case Shown(form="min", arguments=parts):
                return (self._min([_only(self.terms(part)) for part in parts]),)
            case Shown(form="max", arguments=parts):
                return _largest(shape for part in parts for shape in self.terms(part))
            case Shown(form="ceil", arguments=parts):
                return _largest((*self._quotient(*parts), Shape()))
            case a.Floor() | a.Quotient():
                return self._quotient(*atom.parts)
            case a.Exponential(base=base, exponent=exponent):
                return (self._exponential(base, exponent),)
            case _:
                raise ShapelessError

    def _quotient(self, above: Poly, below: Poly) -> tuple[Shape, ...]:
        """A share; of a sum it is the least of the shares of its terms."""
        parts = [each.raised(fmpq(-1)) for each in self.terms(below)]
        if len(parts) == 1:
            return _products(self.terms(above), (parts[0],))
        return (self._min([_only(self.terms(above)).product(part) for part in parts]),)

    def _min(self, parts: Sequence[Shape]) -> Shape:
        """The least of several shapes; a constant is that, of sizes that are at least 1."""
        if not all(part.factors for part in parts):
            return Shape()
        texts = sorted((part.text(self.order) for part in parts), key=lambda text: _rank(text, self.order))
        return Shape.of({f"min({', '.join(texts)})": ONE})

    def _logarithm(self, argument: Poly) -> Shape:
        # Logarithms are read as log2(2 + w): a constant beside w adds nothing.
        inner = [each for each in self.terms(argument) if each.factors]
        if not inner:
            return Shape()
        return Shape.of({f"{_LOG}{written(inner, self.order)})": ONE})

    def _exponential(self, base: int, exponent: Poly) -> Shape:
        """b^(c*log2(x)) or b^(c*n), rounded or not."""
        result = Shape()
        for monomial, coefficient in exponent.terms.items():
            match monomial:
                case ():
                    continue
                case ((Symbol(name=name), 1),):
                    result = result.product(Shape.of({f"{_TWO}{name}": Exponent.of({base: coefficient})}))
                case (((a.CeilLog2(argument=x) | a.RealFunction(function="log2", argument=x)), 1),):
                    result = result.product(self._least(x).with_base(base).raised(coefficient))
                case ((a.Floor(argument=whole, modulus=parts), 1),) if parts.is_constant:
                    share = self._exponential(base, whole.scaled(1 / parts.constant_term))
                    result = result.product(share.raised(coefficient))
                case _:
                    raise ShapelessError
        return result

    def _least(self, value: Poly) -> Shape:
        """The only shape of a value, or the least of two, one of them x, where the value is x - max(0, x - y)."""
        parts = [atom for atom in value.atoms() if isinstance(atom, a.PositivePart)]
        whole = value + sum(map(Poly.of_atom, parts), ZERO)
        if len(parts) != 1 or parts[0] in whole.atoms():
            return _only(self.terms(value))
        return self._min([_only(self.terms(each)) for each in (whole, whole - parts[0].argument)])


def _only(found: tuple[Shape, ...]) -> Shape:
    if len(found) != 1:
        raise ShapelessError
    return found[0]


def _products(left: tuple[Shape, ...], right: tuple[Shape, ...]) -> tuple[Shape, ...]:
    found = tuple(dict.fromkeys(x.product(y) for x in left for y in right))
    if len(found) > MAX_PRODUCTS:
        raise ShapelessError
    return found


def _largest(found: Iterable[Shape]) -> tuple[Shape, ...]:
    """Without those that divide others."""
    found = tuple(found)
    return tuple(each for each in found if not any(each != other and each.divides(other) for other in found))


def without(found: Sequence[Shape], covered: Callable[[Shape, Sequence[Shape]], bool]) -> list[Shape]:
    """The shapes without those that the rest is known to cover, slow ones first."""
    kept = list(found)
    for each in sorted(found, key=degree):
        rest = [other for other in kept if other != each]
        if rest and covered(each, rest):
            kept = rest
    return kept
