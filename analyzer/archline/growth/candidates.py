"""What a cost may grow like: its terms without constants, rounding and what is subtracted; proposals, not proofs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import TypeAlias

from archline.algebra import atoms as a
from archline.algebra.polynomial import ZERO, Atom, Poly, Symbol
from archline.algebra.printing import Shown, shortened
from archline.algebra.reals import HALF, Constant, OutOfReachError
from archline.expr import build as b
from archline.expr import tree as s
from archline.expr.text import format_expression
from archline.growth.monomials import Factor, Monomial, Term, factor, single
from archline.records import record

MAX_SHAPES = 16
MAX_POWER, MAX_PRODUCTS = 12, 64
EXPONENTIAL_DEGREE = 1000.0
SHAPELESS = "it is not made of powers of sizes and logarithms, and of numbers to sizes"

Shape: TypeAlias = Term
"""A product of powers of sizes, of 2 to sizes, and of logarithms and roots of what is written there."""
ONE: Shape = Monomial({})


def size(name: str) -> Shape:
    """A size."""
    return single(factor(name))


def names_in(shape: Shape) -> frozenset[str]:
    """The sizes in it."""
    return frozenset[str]().union(*(s.names(base.expr) for base in shape.powers))


def rising(shape: Shape) -> frozenset[str]:
    """The sizes with which it rises above all bounds where the others stay: not those in a least of two."""
    least = {base for base in shape.powers if any(is_call(part, "min") for part in s.nodes(base.expr))}
    return names_in(Monomial({base: power for base, power in shape.powers.items() if base not in least}))


def logarithmic(shape: Shape) -> bool:
    """Whether it has logarithms only."""
    return all(is_call(base.expr, "log2") for base in shape.powers)


def is_call(expr: s.Node, function: str) -> bool:
    """Whether an expression is a function of something."""
    return isinstance(expr, s.Call) and expr.function == function


Rank = tuple[bool, int, str]


def _rank(order: Sequence[str]) -> Callable[[Factor], Rank]:
    """Sizes as an algorithm has them, then logarithms and the least of them."""

    def rank(base: Factor) -> Rank:
        first = min((order.index(name) for name in s.names(base.expr) if name in order), default=len(order))
        return not isinstance(base.expr, s.Name), first, base.key

    return rank


def written(shapes: Iterable[Shape], order: Sequence[str]) -> s.Expr:
    """The sum of shapes, the highest powers first, then as their sizes come."""
    rank = _rank(order)

    def key(shape: Shape) -> tuple[bool, float, list[Rank]]:
        sizes = sorted(map(rank, shape.powers))
        return not sizes, -degree(shape), sizes

    return b.total((False, each.tree(sorted(each.powers, key=rank))) for each in sorted(shapes, key=key))


def degree(shape: Shape) -> float:
    """How fast a shape grows, roughly: logarithms hardly count."""
    total = 0.0
    for base, power in shape.powers.items():
        exponential = isinstance(base.expr, s.Binary) and base.expr.op == "^"
        weight = 0.01 if is_call(base.expr, "log2") else EXPONENTIAL_DEGREE if exponential else 1.0
        total += float(power.enclosure()) * weight
    return total


def shapes(value: Poly, order: Sequence[str], minima: bool = False) -> list[Shape]:
    """The terms that a value may grow like, without those that divide others. Raises OutOfReachError.

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
                product: tuple[Shape, ...] = (ONE,)
                for atom, power in monomial:
                    product = _products(product, self._raised(atom, power))
                found |= dict.fromkeys(product)
        if len(found) > MAX_SHAPES:
            raise OutOfReachError(SHAPELESS)
        return _largest(found)

    def _raised(self, atom: Atom, power: int) -> tuple[Shape, ...]:
        inner = self._atom(atom)
        if len(inner) == 1:
            return (inner[0].power(Constant.of(power)),)
        if not 0 < power <= MAX_POWER:
            raise OutOfReachError(SHAPELESS)
        return reduce(_products, [inner] * power)

    def _atom(self, atom: Atom) -> tuple[Shape, ...]:
        match atom:
            case Symbol():
                return (size(atom.name),)
            case a.PositivePart(argument=argument):
                return self.terms(argument)
            case a.CeilLog2(argument=argument) | a.RealFunction(function="log2", argument=argument):
                return (self._logarithm(argument),)
            case a.RealFunction(function="sqrt" | "isqrt", argument=argument):
                return (_only(self.terms(argument)).power(HALF),)
            case Shown(form="min", arguments=parts):
                return (self._min([_only(self.terms(part)) for part in parts]),)
            case Shown(form="max", arguments=parts):
                return _largest(shape for part in parts for shape in self.terms(part))
            case Shown(form="ceil", arguments=parts):
                return _largest((*self._quotient(*parts), ONE))
            case a.Floor() | a.Quotient():
                return self._quotient(*atom.parts)
            case a.Exponential(base=base, exponent=exponent):
                return (self._exponential(base, exponent),)
            case _:
                raise OutOfReachError(SHAPELESS)

    def _quotient(self, above: Poly, below: Poly) -> tuple[Shape, ...]:
        """A share; of a sum it is the least of the shares of its terms."""
        parts = [each.inverse() for each in self.terms(below)]
        if len(parts) == 1:
            return _products(self.terms(above), (parts[0],))
        return (self._min([_only(self.terms(above)) * part for part in parts]),)

    def _min(self, parts: Sequence[Shape]) -> Shape:
        """The least of several shapes; a constant is that, of sizes that are at least 1."""
        if not all(part.powers for part in parts):
            return ONE
        rank = _rank(self.order)
        written = (as_factor(part.tree(sorted(part.powers, key=rank))) for part in parts)
        found = sorted(dict.fromkeys(written), key=rank)
        if len(found) == 1:
            return parts[0]
        return single(as_factor(b.call("min", *(each.expr for each in found))))

    def _logarithm(self, argument: Poly) -> Shape:
        # Logarithms are read as log2(2 + w): a constant added to w adds nothing.
        inner = [each for each in self.terms(argument) if each.powers]
        if not inner:
            return ONE
        return single(as_factor(b.call("log2", written(inner, self.order))))

    def _exponential(self, base: int, exponent: Poly) -> Shape:
        """b^(c*log2(x)) or b^(c*n), rounded or not."""
        result, log_of_base = ONE, Constant.of(base).log2()
        for monomial, coefficient in exponent.terms.items():
            match monomial:
                case ():
                    continue
                case ((Symbol(name=name), 1),):
                    result *= single(as_factor(b.binary("^", b.number(2), b.name(name)))).power(
                        log_of_base.scaled(coefficient)
                    )
                case (((a.CeilLog2(argument=x) | a.RealFunction(function="log2", argument=x)), 1),):
                    result *= self._least(x).power(log_of_base.scaled(coefficient))
                case ((a.Floor(argument=whole, modulus=parts), 1),) if parts.is_constant:
                    share = self._exponential(base, whole.scaled(1 / parts.constant_term))
                    result *= share.power(Constant.of(coefficient))
                case _:
                    raise OutOfReachError(SHAPELESS)
        return result

    def _least(self, value: Poly) -> Shape:
        """The only shape of a value, or the least of two, one of them x, where the value is x - max(0, x - y)."""
        parts = [atom for atom in value.atoms() if isinstance(atom, a.PositivePart)]
        whole = value + sum(map(Poly.of_atom, parts), ZERO)
        if len(parts) != 1 or parts[0] in whole.atoms():
            return _only(self.terms(value))
        return self._min([_only(self.terms(each)) for each in (whole, whole - parts[0].argument)])


def as_factor(expr: s.Expr) -> Factor:
    """An expression as a base of powers."""
    return Factor(format_expression(expr), expr)


def _only(found: tuple[Shape, ...]) -> Shape:
    if len(found) != 1:
        raise OutOfReachError(SHAPELESS)
    return found[0]


def _products(left: tuple[Shape, ...], right: tuple[Shape, ...]) -> tuple[Shape, ...]:
    found = tuple(dict.fromkeys(x * y for x in left for y in right))
    if len(found) > MAX_PRODUCTS:
        raise OutOfReachError(SHAPELESS)
    return found


def _largest(found: Iterable[Shape]) -> tuple[Shape, ...]:
    """Without those that divide others."""
    found = tuple(found)
    return tuple(each for each in found if not any(each != other and (other / each).never_shrinks for other in found))


def without(found: Sequence[Shape], covered: Callable[[Shape, Sequence[Shape]], bool]) -> list[Shape]:
    """The shapes without those that the rest is known to cover, slow ones first."""
    kept = list(found)
    for each in sorted(found, key=degree):
        rest = [other for other in kept if other != each]
        if rest and covered(each, rest):
            kept = rest
    return kept
