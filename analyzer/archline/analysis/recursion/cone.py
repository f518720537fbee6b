"""Sums of products of facts: expressions that are at least 0 wherever the facts hold, and the search for them.

Where g, h, ... >= 0 are known, every product of them is at least 0, and so is every sum of products with coefficients
>= 0 (D. Handelman, Representing polynomials by positive linear functions on compact convex polyhedra, 1988). Whether
an expression is such a sum, and which expression of a family is the best that is one, are linear programs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement

import numpy as np
from flint import fmpq, fmpq_mat

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, Atom, Monomial, Poly, Symbol
from archline.analysis.recursion.arrays import Array
from archline.analysis.recursion.proposal import silence

MAX_DEGREE = 3
SMALL = tuple(Poly.constant(2**k) for k in range(7))
"""What a max(0, ...) is tried to be at most."""
MAX_PRODUCTS = 1_200
NEAR = 1e-9


@dataclass(frozen=True)
class Cone:
    """What is known to be at least 0 and to matter for expressions of some degree."""

    facts: tuple[Poly, ...]
    degree: int

    @cached_property
    def products(self) -> tuple[Poly, ...]:
        """Products of facts, 1 among them, up to the degree."""
        found: dict[Poly, None] = {ONE: None}
        for count in range(1, self.degree + 1):
            for factors in combinations_with_replacement(self.facts, count):
                value = ONE
                for each in factors:
                    value = value * each
                if _degree(value) <= self.degree and value.terms:
                    found[value] = None
                if len(found) > MAX_PRODUCTS:
                    return tuple(found)
        return tuple(found)

    def proves(self, value: Poly) -> bool:
        """Whether the value is a sum of products: proposed in floating point, decided by an exact solution."""
        if value.is_constant:
            return bool(value.constant_term >= 0)
        if _degree(value) > self.degree:
            return False
        found = propose([Part(self, (), value)], ())
        if found is None:
            return False
        used = [each for each, weight in zip(self.products, found.weights[0], strict=True) if weight > NEAR]
        weights = _exact_weights(used, value)
        return weights is not None and all(each >= 0 for each in weights)


def cone(facts: Facts, values: Iterable[Poly]) -> Cone:
    """The facts on the atoms of some values, for expressions of their degree."""
    degree = 1
    pending: list[Atom] = []
    for value in values:
        degree = max(degree, _degree(value))
        pending.extend(value.atoms())
    seen: dict[Atom, None] = {}
    found: dict[Poly, None] = {}
    while pending:
        atom = pending.pop()
        if atom in seen:
            continue
        seen[atom] = None
        for each in _of_atom(atom, facts):
            # Logarithms of sizes are symbols here, and so are those in what is known of them.
            if not any(isinstance(inner, a.CeilLog2) for inner in each.atoms()):
                found[each] = None
                pending.extend(each.atoms())
    return Cone(_sharp(found), min(degree, MAX_DEGREE))


def _of_atom(atom: Atom, facts: Facts) -> list[Poly]:
    """What is known of an atom, as expressions that are at least 0."""
    value = Poly.of_atom(atom)
    match atom:
        case Symbol():
            known = facts.bounds.get(atom.name)
            return [*(value - low for low in known.lower), *(high - value for high in known.upper)] if known else []
        case a.Floor() if atom.modulus.is_constant and a.is_integral(atom.argument):
            times = value.scaled(atom.modulus.constant_term)
            return [atom.argument - times, times + atom.modulus - 1 - atom.argument]
        case a.PositivePart():
            most = next((each for each in SMALL if facts.nonnegative(each - atom.argument)), None)
            return [value, value - atom.argument, *([] if most is None else [most - value])]
        case a.Exponential():
            return [value]
    return []


def _sharp(found: Iterable[Poly]) -> tuple[Poly, ...]:
    """Without those that others with the same terms make needless."""
    least: dict[Poly, fmpq] = {}
    for each in found:
        rest = each - each.constant_term
        if rest.terms:
            least[rest] = min(least.get(rest, each.constant_term), each.constant_term)
    return tuple(rest + constant for rest, constant in least.items())


def _degree(value: Poly) -> int:
    return max((sum(abs(power) for _, power in monomial) for monomial in value.terms), default=0)


@dataclass(frozen=True)
class Part:
    """sum of c*gain + rest is to be in a cone; the c are the same in all parts."""

    cone: Cone
    gains: tuple[Poly, ...]
    rest: Poly


@dataclass(frozen=True)
class Proposal:
    """The coefficients, and for each part the weight of each product."""

    coefficients: Array
    weights: tuple[Array, ...]


def propose(parts: Sequence[Part], goal: Sequence[float], signs: Sequence[int] = ()) -> Proposal | None:
    """The c for which all parts are in their cones and goal.c is least, in floating point, or None."""
    from scipy.optimize import linprog  # It takes long to import, and few programs need it.
    from scipy.sparse import csr_matrix

    rows: list[int] = []
    columns: list[int] = []
    entries: list[float] = []
    right: list[float] = []
    count = len(goal)
    for part in parts:
        places: dict[Monomial, int] = {}

        def place(monomial: Monomial, places: dict[Monomial, int] = places) -> int:
            if monomial not in places:
                places[monomial] = len(right)
                right.append(0.0)
            return places[monomial]

        for index, gain in enumerate(part.gains):
            for monomial, number in gain.terms.items():
                rows.append(place(monomial))
                columns.append(index)
                entries.append(_float(number))
        for index, product in enumerate(part.cone.products):
            for monomial, number in product.terms.items():
                rows.append(place(monomial))
                columns.append(count + index)
                entries.append(-_float(number))
        for monomial, number in part.rest.terms.items():
            right[place(monomial)] -= _float(number)
        count += len(part.cone.products)
    matrix = csr_matrix((entries, (rows, columns)), shape=(len(right), count))
    bounds = [(0.0 if sign > 0 else None, 0.0 if sign < 0 else None) for sign in (signs or [0] * len(goal))]
    bounds += [(0.0, None)] * (count - len(goal))
    aim = np.concatenate([np.array(goal, dtype=float), np.zeros(count - len(goal))])
    with silence():
        found = linprog(aim, A_eq=matrix, b_eq=np.array(right), bounds=bounds, method="highs-ds")  # type: ignore[call-overload]
    if found.status != 0:
        return None
    ends = np.cumsum([len(goal), *(len(part.cone.products) for part in parts)])
    pieces = np.split(np.asarray(found.x), ends[:-1])
    return Proposal(pieces[0], tuple(pieces[1:]))


def _exact_weights(products: Sequence[Poly], value: Poly) -> tuple[fmpq, ...] | None:
    """Weights with which the products add up to the value exactly; None where there are none."""
    monomials = list(dict.fromkeys(m for each in (*products, value) for m in each.terms))
    zero = fmpq(0)
    rows = [[each.terms.get(m, zero) for each in (*products, value)] for m in monomials]
    reduced, rank = fmpq_mat(rows).rref()
    weights = [zero] * len(products)
    for row in range(rank):
        lead = next(column for column in range(len(products) + 1) if reduced[row, column])
        if lead == len(products):
            return None
        weights[lead] = reduced[row, len(products)]
    return tuple(weights)


def _float(number: fmpq) -> float:
    return int(number.p) / int(number.q)
