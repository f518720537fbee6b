"""What isl counted, as expressions. Only the process that counts imports it, and isl with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import islpy as isl

from archline.algebra import atoms as a
from archline.algebra.polynomial import ZERO, Poly, product
from archline.analysis.cache.lru.wire import Condition, Piece, Piecewise
from archline.numbers import fmpq

PARAMETER, COLUMN, FLOOR = isl.dim_type.param, isl.dim_type.in_, isl.dim_type.div


def number(value: isl.Val) -> fmpq:
    """A rational."""
    return fmpq(*map(int, str(value).split("/")))


def parameters(space: isl.Space) -> list[str]:
    """The names of sizes."""
    return [str(space.get_dim_name(PARAMETER, place)) for place in range(space.dim(PARAMETER))]


def symbols(space: isl.Space, kind: isl.dim_type) -> list[Poly]:
    """Parameters by their names; the columns of a time are x0, x1 and so on."""
    if kind == PARAMETER:
        return list(map(Poly.symbol, parameters(space)))
    return [Poly.symbol(f"x{place}") for place in range(space.dim(kind))]


def polynomial(value: isl.QPolynomial) -> Poly:
    """A quasi-polynomial: floors are atoms."""
    space = value.get_domain_space()
    names = {PARAMETER: symbols(space, PARAMETER), isl.dim_type.set: symbols(space, isl.dim_type.set)}
    found = ZERO
    for term in value.get_terms():
        factors = [
            symbol ** term.get_exp(kind, place) for kind, all_ in names.items() for place, symbol in enumerate(all_)
        ]
        for place in range(term.dim(FLOOR)):
            power = term.get_exp(FLOOR, place)
            if power:
                factors.append(floor(term.get_div(place)) ** power)
        found = found + product(factors, number(term.get_coefficient_val()))
    return found


def floor(value: isl.Aff) -> Poly:
    """The floor of an affine expression."""
    scale = int(str(value.get_denominator_val()))
    return a.floor_div(affine(value) * scale, Poly.constant(scale))


def affine(value: isl.Aff) -> Poly:
    """An affine expression, perhaps of floors."""
    space = value.get_domain_space()
    found = Poly.constant(number(value.get_constant_val()))
    for kind, all_ in ((PARAMETER, symbols(space, PARAMETER)), (COLUMN, symbols(space, isl.dim_type.set))):
        for place, symbol in enumerate(all_):
            found = found + symbol * number(value.get_coefficient_val(kind, place))
    for place in range(value.dim(FLOOR)):
        factor = number(value.get_coefficient_val(FLOOR, place))
        if factor:
            found = found + floor(value.get_div(place)) * factor
    return found


def piecewise(value: isl.PwQPolynomial) -> Piecewise:
    """A count by sizes; pieces that are 0 are left out."""
    return tuple(_pieces(value))


def _pieces(value: isl.PwQPolynomial) -> Iterator[Piece]:
    for domain, each in value.get_pieces():
        found = polynomial(each)
        if found:
            yield Piece(cases(domain), found)


def cases(domain: isl.Set) -> tuple[tuple[Condition, ...], ...]:
    """The parts of a set, as conditions."""
    return tuple(tuple(_conditions(part.get_constraints())) for part in domain.compute_divs().get_basic_sets())


def _conditions(constraints: Sequence[isl.Constraint]) -> Iterator[Condition]:
    for each in constraints:
        if not each.is_div_constraint():
            yield Condition(affine(each.get_aff()), each.is_equality())
