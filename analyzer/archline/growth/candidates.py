"""Propose what a cost may grow like: its terms without constants, rounding and subtracted parts; no proofs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import TypeAlias

from archline.algebra import atoms as a
from archline.algebra.enclosures import enclose_sequence
from archline.algebra.polynomial import ZERO, Atom, Poly, Symbol
from archline.algebra.printing import DisplayAtom, shorten_expression
from archline.algebra.reals import HALF, Constant, OutOfReachError
from archline.expr import build as b
from archline.expr import tree as s
from archline.expr.sequences import RECURSIVE_SEQUENCES
from archline.expr.text import format_expression
from archline.growth.monomials import Factor, Monomial, Term, make_monomial, make_size_factor
from archline.growth.sequences import replace_sequences
from archline.records import record

MAX_SHAPES = 16
MAX_POWER, MAX_PRODUCTS = 12, 64
EXPONENTIAL_DEGREE = 1000.0
SHAPELESS = "it is not a sum of products of powers of sizes, of logarithms, and of powers such as 2^n"

Shape: TypeAlias = Term
"""A product of powers of sizes, of 2 to sizes, and of logarithms and roots of the expressions in the value."""
ONE: Shape = Monomial({})


def make_size_shape(name: str) -> Shape:
    """Return the shape that is one size."""
    return make_monomial(make_size_factor(name))


def find_size_names(shape: Shape) -> frozenset[str]:
    """Return the sizes that occur in a shape."""
    return frozenset[str]().union(*(s.find_names(base.expr) for base in shape.powers))


def find_unbounded_sizes(shape: Shape) -> frozenset[str]:
    """Return the sizes in which a shape is unbounded while all other sizes are fixed: those outside of minima."""
    least = {base for base in shape.powers if any(is_call(node, "min") for node in s.iterate_nodes(base.expr))}
    return find_size_names(Monomial({base: power for base, power in shape.powers.items() if base not in least}))


def is_logarithmic(shape: Shape) -> bool:
    """Whether a shape has only logarithms as factors."""
    return all(is_call(base.expr, "log2") for base in shape.powers)


def is_call(expr: s.Node, function: str) -> bool:
    """Whether an expression is a call of the given function."""
    return isinstance(expr, s.Call) and expr.function == function


Rank = tuple[bool, int, str]


def _make_factor_ranking(order: Sequence[str]) -> Callable[[Factor], Rank]:
    """Make a key that sorts sizes in the order of the algorithm, then logarithms and minima."""

    def rank_factor(base: Factor) -> Rank:
        first = min((order.index(name) for name in s.find_names(base.expr) if name in order), default=len(order))
        return not isinstance(base.expr, s.Name), first, base.key

    return rank_factor


def build_shape_sum(shapes: Iterable[Shape], order: Sequence[str]) -> s.Expr:
    """Build the sum of shapes, highest degrees first, then in the order of their sizes."""
    rank = _make_factor_ranking(order)

    def rank_shape(shape: Shape) -> tuple[bool, float, list[Rank]]:
        sizes = sorted(map(rank, shape.powers))
        return not sizes, -estimate_degree(shape), sizes

    return b.sum_terms((False, shape.tree(sorted(shape.powers, key=rank))) for shape in sorted(shapes, key=rank_shape))


def estimate_degree(shape: Shape) -> float:
    """Estimate the degree of growth of a shape; logarithms count as 0.01, exponentials as 1000."""
    total = 0.0
    for base, power in shape.powers.items():
        exponential = isinstance(base.expr, s.Binary) and base.expr.op == "^"
        weight = 0.01 if is_call(base.expr, "log2") else EXPONENTIAL_DEGREE if exponential else 1.0
        total += float(power.enclosure()) * weight
    return total


def find_shapes(value: Poly, order: Sequence[str], minima: bool = False) -> list[Shape]:
    """Return the terms that a value may grow like, without divisors of other terms. Raises OutOfReachError.

    With `minima` a factor may be the minimum of two sizes, such as min(b, n) of a last block that is shorter.
    """
    return list(_ShapeReader(order).read_terms(shorten_expression(value) if minima else value))


@record
class _ShapeReader:
    order: Sequence[str]

    def read_terms(self, value: Poly) -> tuple[Shape, ...]:
        result: dict[Shape, None] = {}
        for monomial, coefficient in value.terms.items():
            if coefficient > 0:
                product: tuple[Shape, ...] = (ONE,)
                for atom, power in monomial:
                    product = _multiply_shapes(product, self._read_power(atom, power))
                result |= dict.fromkeys(product)
        if len(result) > MAX_SHAPES:
            raise OutOfReachError(SHAPELESS)
        return _drop_divisors(result)

    def _read_power(self, atom: Atom, power: int) -> tuple[Shape, ...]:
        inner = self._read_atom(atom)
        if len(inner) == 1:
            return (inner[0].power(Constant.of(power)),)
        if not 0 < power <= MAX_POWER:
            raise OutOfReachError(SHAPELESS)
        return reduce(_multiply_shapes, [inner] * power)

    def _read_atom(self, atom: Atom) -> tuple[Shape, ...]:
        match atom:
            case Symbol():
                return (make_size_shape(atom.name),)
            case a.PositivePart(argument=argument):
                return self.read_terms(argument)
            case a.CeilLog2(argument=argument) | a.RealFunction(function="log2", argument=argument):
                return (self._read_logarithm(argument),)
            case a.RealFunction(function="sqrt" | "isqrt", argument=argument):
                return (_require_single_shape(self.read_terms(argument)).power(HALF),)
            case DisplayAtom(form="min", arguments=parts):
                return (self._make_minimum([_require_single_shape(self.read_terms(part)) for part in parts]),)
            case DisplayAtom(form="max", arguments=parts):
                return _drop_divisors(shape for part in parts for shape in self.read_terms(part))
            case DisplayAtom(form="ceil", arguments=parts):
                return _drop_divisors((*self._read_quotient(*parts), ONE))
            case a.Floor() | a.Quotient():
                return self._read_quotient(*atom.parts)
            case a.Sequence() if atom.name not in RECURSIVE_SEQUENCES:
                upper = enclose_sequence(atom, lambda value: True)[1]
                if not upper:
                    raise OutOfReachError(SHAPELESS)
                return self.read_terms(upper[0])
            case a.Sequence(argument=argument) if isinstance(
                size := a.find_single_atom(argument - argument.constant_term), Symbol
            ):
                term = b.call("fibonacci" if atom.name == "fibonacci" else "factorial", b.name(size.name))
                order = replace_sequences(term) if atom.name == "fibonacci" else term
                return (make_monomial(make_factor(order)),)
            case a.Exponential(base=base, exponent=exponent):
                return (self._read_exponential(base, exponent),)
            case _:
                raise OutOfReachError(SHAPELESS)

    def _read_quotient(self, above: Poly, below: Poly) -> tuple[Shape, ...]:
        """Read a quotient; one by a sum is the minimum over its terms: n/(a + b) -> min(n/a, n/b)."""
        parts = [shape.inverse() for shape in self.read_terms(below)]
        if len(parts) == 1:
            return _multiply_shapes(self.read_terms(above), (parts[0],))
        return (self._make_minimum([_require_single_shape(self.read_terms(above)) * part for part in parts]),)

    def _make_minimum(self, parts: Sequence[Shape]) -> Shape:
        """Build the minimum of several shapes; it is ONE if any is constant, since sizes are at least 1."""
        if not all(part.powers for part in parts):
            return ONE
        rank = _make_factor_ranking(self.order)
        factors = (make_factor(part.tree(sorted(part.powers, key=rank))) for part in parts)
        distinct = sorted(dict.fromkeys(factors), key=rank)
        if len(distinct) == 1:
            return parts[0]
        return make_monomial(make_factor(b.call("min", *(operand.expr for operand in distinct))))

    def _read_logarithm(self, argument: Poly) -> Shape:
        # Logarithms are read as log2(2 + w): a constant added to w adds nothing.
        inner = [shape for shape in self.read_terms(argument) if shape.powers]
        if not inner:
            return ONE
        if len(inner) == 1 and len(inner[0].powers) == 1:
            # log2(sqrt(n)) is half of log2(n).
            inner = [make_monomial(factor) for factor in inner[0].powers]
        return make_monomial(make_factor(b.call("log2", build_shape_sum(inner, self.order))))

    def _read_exponential(self, base: int, exponent: Poly) -> Shape:
        """Read b^(c*log2(x)) or b^(c*n), rounded or not."""
        result, log_of_base = ONE, Constant.of(base).log2()
        for monomial, coefficient in exponent.terms.items():
            match monomial:
                case ():
                    continue
                case ((Symbol(name=name), 1),):
                    result *= make_monomial(make_factor(b.binary("^", b.number(2), b.name(name)))).power(
                        log_of_base.scaled(coefficient)
                    )
                case (((a.CeilLog2(argument=x) | a.RealFunction(function="log2", argument=x)), 1),):
                    result *= self._read_minimum(x).power(log_of_base.scaled(coefficient))
                case ((a.Sequence(name="ceil_log", parts=(x, divisor)), 1),):
                    rate = log_of_base / Constant(divisor.constant_term).log2()
                    result *= self._read_minimum(x).power(rate.scaled(coefficient))
                case ((a.Floor(argument=whole, modulus=parts), 1),) if parts.is_constant:
                    share = self._read_exponential(base, whole.scaled(1 / parts.constant_term))
                    result *= share.power(Constant.of(coefficient))
                case _:
                    raise OutOfReachError(SHAPELESS)
        return result

    def _read_minimum(self, value: Poly) -> Shape:
        """Read a value of one shape, or the minimum of x and y from x - max(0, x - y)."""
        parts = [atom for atom in value.atoms() if isinstance(atom, a.PositivePart)]
        whole = value + sum(map(Poly.of_atom, parts), ZERO)
        if len(parts) != 1 or parts[0] in whole.atoms():
            return _require_single_shape(self.read_terms(value))
        return self._make_minimum(
            [_require_single_shape(self.read_terms(operand)) for operand in (whole, whole - parts[0].argument)]
        )


def make_factor(expr: s.Expr) -> Factor:
    """Return an expression as a base of powers."""
    return Factor(format_expression(expr), expr)


def _require_single_shape(found: tuple[Shape, ...]) -> Shape:
    if len(found) != 1:
        raise OutOfReachError(SHAPELESS)
    return found[0]


def _multiply_shapes(left: tuple[Shape, ...], right: tuple[Shape, ...]) -> tuple[Shape, ...]:
    products = tuple(dict.fromkeys(x * y for x in left for y in right))
    if len(products) > MAX_PRODUCTS:
        raise OutOfReachError(SHAPELESS)
    return products


def _drop_divisors(parts: Iterable[Shape]) -> tuple[Shape, ...]:
    parts = tuple(parts)
    return tuple(x for x in parts if not any(x != y and (y / x).never_shrinks for y in parts))


def drop_covered_shapes(found: Sequence[Shape], covered: Callable[[Shape, Sequence[Shape]], bool]) -> list[Shape]:
    """Drop shapes that the rest is proved to cover, slowly growing shapes first."""
    remaining = list(found)
    for shape in sorted(found, key=estimate_degree):
        rest = [another for another in remaining if another != shape]
        if rest and covered(shape, rest):
            remaining = rest
    return remaining
