"""Sums of products of facts: expressions that are at least 0 wherever the facts hold, and the search for them.

Where g, h, ... >= 0 are known, every product of them is at least 0, and so is every sum of products with coefficients
>= 0 (D. Handelman, Representing polynomials by positive linear functions on compact convex polyhedra, 1988). Whether
an expression is such a sum, and which expression of a family is the best that is one, are linear programs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cache, cached_property
from itertools import permutations

import numpy as np

from archline.algebra import atoms as a
from archline.algebra.evaluate.vectors import Array, as_float
from archline.algebra.facts import Facts
from archline.algebra.lp.highs import (
    FREE,
    POSITIVE,
    Ends,
    Entries,
    LinearProgram,
    Matrix,
    Places,
    SolverError,
    dense,
    places,
    program,
)
from archline.algebra.polynomial import Atom, Monomial, Poly, Symbol, rational
from archline.algebra.prove.enumerate import by_enumeration
from archline.algebra.prove.farkas import Situation
from archline.algebra.prove.logarithms import LogarithmOrder
from archline.algebra.prove.products import Products, Shape
from archline.algebra.prove.prover import first, never_negative, of_floor
from archline.numbers import fmpq
from archline.records import record

MAX_DEGREE = 3
SMALL = tuple(Poly.constant(2**k) for k in range(7))
"""What a max(0, ...) is tried to be at most."""
BELOW = tuple(Poly.constant(each) for each in range(16))
"""What is tried to be enough in addition to e for max(0, e)."""
MAX_PRODUCTS = 2_000
NEAR = 1e-7
DENOMINATORS = (1, 2, 4, 12, 60, 1_000)
NEGLIGIBLE = 1e-4
LITTLE, MORE = 1.1, 1.25
"""How much larger a factor may get for fewer terms, and for fewer that are taken off: of those less is proved."""
MEAN = 0.1
"""How much the mean of the factors counts relative to the largest one."""


@record
class ProductCone:
    """What is known to be at least 0 and to matter for expressions of some degree with the terms in question."""

    facts: tuple[Poly, ...]
    degree: int
    terms: frozenset[Monomial] = frozenset()
    major: int = 0
    """How many of the facts, which come first, are on sizes alone."""

    @cached_property
    def products(self) -> Products:
        """Products of facts, 1 among them, up to the degree; of many those with the fewest other terms.

        Raises OverflowError.
        """
        # As many factors are on maxima or logarithms as these occur in one such term, and on logarithms alone.
        minor = (sum(abs(power) for atom, power in term if not _is_size(atom)) for term in self.terms)
        rising = (sum(abs(power) for atom, power in term if _is_logarithmic(atom)) for term in self.terms)
        few = frozenset(place for place, each in enumerate(self.facts) if any(map(_is_logarithmic, each.atoms())))
        shape = Shape(self.major, max((1, *minor)), few, max((1, *rising)))
        return Products(self.facts, self.degree, self.terms, shape, MAX_PRODUCTS)

    @cached_property
    def entries(self) -> Entries:
        """The terms of the products. Raises OverflowError."""
        return self.products.entries()

    def proves(self, value: Poly, likely: Array | None = None) -> bool:
        """Whether the value is a sum of products: proposed in floating point, decided by an exact solution.

        `likely`: weights of the products for a value nearby, which are tried first.
        """
        if value.is_constant:
            return bool(value.constant_term >= 0)
        if _degree(value) > self.degree:
            return False
        if likely is not None and self._adds_up(value, likely):
            return True
        found = self._weights(value)
        return found is not None and self._adds_up(value, found)

    def _weights(self, value: Poly) -> Array | None:
        """Weights with which the products about add up to the value."""
        try:
            rows, sums = self.entries.places, self._sums
            level = np.zeros(len(rows))
            for monomial, number in value.terms.items():
                if monomial not in rows:
                    return None
                level[rows[monomial]] = as_float(number)
        except (OverflowError, SolverError):
            return None
        sums.level(level)
        return sums.solve()

    @cached_property
    def _sums(self) -> LinearProgram:
        """Weighted sums of the products. Raises OverflowError."""
        matrix = self.entries.matrix(len(self.products))
        nothing = np.zeros(matrix.shape[0])
        count = len(self.products)
        return program(np.zeros(count), matrix, nothing, nothing, [POSITIVE] * count)

    def _adds_up(self, value: Poly, near: Array) -> bool:
        """Whether products with weights that are not 0 near those given add up to the value exactly."""
        weights = self.products.weights(np.flatnonzero(near > NEAR).tolist(), value)
        return weights is not None and all(each >= 0 for each in weights)


def cone(facts: Facts, values: Sequence[Poly]) -> ProductCone:
    """The facts on the atoms of some values, for expressions of their degree."""
    degree = min(max(1, *map(_degree, values)), MAX_DEGREE)
    atoms = dict.fromkeys(atom for value in values for atom in value.atoms())
    # What is known of atoms, each looked at once.
    known = cache(lambda atom: _of_atom(atom, facts))
    # The sizes that floors and maxima are of.
    atoms |= dict.fromkeys(inner for atom in atoms for part in atom.parts for inner in part.atoms())
    # Logarithms that others are bounded by, such as that of a size where that of its half occurs.
    for atom in list(atoms):
        if not _is_size(atom):
            atoms |= dict.fromkeys(other for each in known(atom) for other in each.atoms() if not _is_size(other))
    found = dict.fromkeys((*(each for atom in atoms for each in known(atom)), *_of_powers(atoms, facts)))
    found |= dict.fromkeys(_of_inverses((*values, *found), facts))
    kept = _sharp(each for each in found if _degree(each) <= degree and all(atom in atoms for atom in each.atoms()))
    major = [each for each in kept if all(map(_is_size, each.atoms()))]
    ordered = dict.fromkeys((*major, *kept))
    terms = frozenset(monomial for value in values for monomial in value.terms)
    return ProductCone(tuple(ordered), degree, terms, len(major))


def by_products(value: Poly, facts: Facts) -> bool:
    """As a sum of products of facts, its logarithms as symbols that are ordered as their sizes are."""
    order = LogarithmOrder(facts)
    ordered = order.ordered(value)
    ordered = order.facts.simplify(ordered)
    return cone(order.facts, [ordered]).proves(ordered)


def by_bounds_of_powers(value: Poly, facts: Facts) -> bool:
    """With b^ceil(log2(v)) as what that lies between."""
    order = LogarithmOrder(facts)
    powers = order.without_powers(value)
    return powers != value and never_negative(powers, order.facts, STRONG[:-1])


STRONG = by_enumeration, by_products, by_bounds_of_powers
"""The tactics of a long proof."""


def _of_powers(atoms: Iterable[Atom], facts: Facts) -> Iterator[Poly]:
    """What is known of powers b^x and b^y where x >= y is: b^x is at least (x - y + 1)*b^y."""
    for great, small in permutations((atom for atom in atoms if isinstance(atom, a.Exponential)), 2):
        more, least = great.exponent - small.exponent, Poly.of_atom(small)
        if great.base == small.base and a.is_integral(more) and facts.nonnegative(more):
            yield from (Poly.of_atom(great) - least, Poly.of_atom(great) - least * (more + 1))


def _of_inverses(values: Iterable[Poly], facts: Facts) -> Iterator[Poly]:
    """The quotients 1/b^x in values are between 0 and 1 where x is at least 0."""
    terms = (pair for value in values for monomial in value.terms for pair in monomial)
    for atom in dict.fromkeys(atom for atom, power in terms if power < 0 and isinstance(atom, a.Exponential)):
        inverse = Poly.of_atom(atom, -1)
        yield from (inverse, 1 - inverse) if facts.nonnegative(atom.exponent) else (inverse,)


def _of_atom(atom: Atom, facts: Facts) -> list[Poly]:
    """What is known of an atom, as expressions that are at least 0."""
    value = Poly.of_atom(atom)
    match atom:
        case Symbol():
            known = facts.bounds.get(atom.name)
            return [*(value - low for low in known.lower), *(high - value for high in known.upper)] if known else []
        case a.Floor():
            return list(of_floor(atom))
        case a.PositivePart():
            return [value, value - atom.argument, *(most - value for most in _most(atom.argument, facts))]
        case a.Exponential():
            rises = a.is_integral(atom.exponent) and facts.nonnegative(atom.exponent)
            return [value, value - atom.exponent - 1] if rises else [value]
        case a.RealFunction(function="sqrt", argument=argument):
            return [value - 1, argument - value] if facts.nonnegative(argument - 1) else [value]
        case _:
            return []


def _most(argument: Poly, facts: Facts) -> Iterator[Poly]:
    """What max(0, e) is at most: a number, e and a number, e without what is taken off it, or a bound of that."""
    constant = first(len(SMALL), lambda which: facts.nonnegative(SMALL[which] - argument))
    if constant is not None:
        yield SMALL[constant]
    least = first(len(BELOW), lambda which: facts.nonnegative(argument + BELOW[which]))
    if least is not None:
        yield argument + BELOW[least]
    added = argument.positive_terms()
    if added != argument and facts.nonnegative(added) and facts.nonnegative(added - argument):
        yield added
    symbol = a.symbol_of(argument - argument.constant_term)
    known = facts.bounds.get(symbol) if symbol else None
    for high in known.upper if known else ():
        if not high.is_constant and facts.nonnegative(high + argument.constant_term):
            yield high + argument.constant_term
    yield from _beside(argument, facts)


def _beside(argument: Poly, facts: Facts) -> Iterator[Poly]:
    """max(0, x - y) for logarithms x and y is at most z - y where another one, z, is at least both."""
    high = argument.positive_terms()
    low = high - argument
    both = a.symbol_of(high), a.symbol_of(low)
    if any(name is None or name.isidentifier() for name in both):
        return
    for name in facts.bounds:
        most = Poly.symbol(name)
        if not (name.isidentifier() or name in both) and all(map(facts.nonnegative, (most - high, most - low))):
            yield most - low


def _is_size(atom: Atom) -> bool:
    """Whether an atom is a size or made of sizes, and no maximum."""
    return not isinstance(atom, a.PositivePart) and not _is_logarithmic(atom)


def _is_logarithmic(atom: Atom) -> bool:
    """Whether the symbol of a logarithm, or of a power of one, is in an atom that is no power of two or the like."""
    return not isinstance(atom, a.Exponential) and not all(name.isidentifier() for name in atom.names)


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


@record
class ConeConstraint:
    """sum of c*gain + rest is to be in a cone; the c are the same in all parts."""

    cone: ProductCone
    gains: tuple[Poly, ...]
    rest: Poly


def constraints(situation: Situation, gains: Sequence[Poly], rest: Poly) -> Iterator[ConeConstraint]:
    """That an expression is a sum of multiples of facts, for each of the values that some indices may have."""
    for numbers in situation.choices():
        first, *values = (each.substitute(situation.pinned).substitute(numbers) for each in (rest, *gains))
        facts = [each.substitute(situation.pinned).substitute(numbers) for each in situation.facts]
        atoms = sorted({atom for each in (first, *values, *facts) for atom in each.atoms()}, key=str)
        facts += [each for atom in atoms if isinstance(atom, a.Floor) for each in of_floor(atom)]
        varied = tuple(dict.fromkeys(each for each in facts if not each.is_constant))
        yield ConeConstraint(ProductCone(varied, 1, frozenset(), len(varied)), tuple(values), first)


@record
class Proposal:
    """The coefficients, for each part the weight of each product, and the largest factor."""

    coefficients: Array
    weights: tuple[Array, ...]
    factor: Fraction


@record
class Goal:
    """mean.c is to be small, and far more so t where rows.c <= share*t for all rows and the share behind each."""

    mean: Array
    watched: Array

    def little_lost(self, before: Array, after: Array, most: float) -> bool:
        """Whether no factor is more than `most` times worse; those of lower bounds are below 0."""
        factors = self.watched[self.watched[:, -1] > 0.0, :-1]
        old, new = factors @ before, factors @ after
        return bool((new <= np.where(old > 0, old * most, old / most) + NEAR).all())


def propose(parts: Sequence[ConeConstraint], goal: Goal, signs: Sequence[int] = (), most: int = 0) -> Proposal | None:
    """The best c for which all parts are in their cones, in floating point, or None. `signs` are required of the c.

    Up to `most` of the c that can be 0 at little loss are: the last ones first. Without parts there is nothing to prove
    a bound by.
    """
    if not parts:
        return None
    count = len(goal.mean)
    ends = [(0.0 if sign > 0 else -np.inf, 0.0 if sign < 0 else np.inf) for sign in (signs or [0] * count)]
    try:
        search = _program(parts, goal, ends)
    except (OverflowError, SolverError):
        # Numbers beyond those of floating point.
        return None
    best = search.solve()
    if best is None or not len(goal.watched):
        return None if best is None else _proposal(best, parts, goal)
    start = best
    search.mark()
    for index in list(reversed(np.flatnonzero(np.abs(best[:count]) > NEAR)))[:most]:
        search.bound(index, (0.0, 0.0))
        found = search.solve()
        allowed = LITTLE if start[index] > 0 else MORE
        if found is not None and goal.little_lost(start[:count], found[:count], allowed):
            best = found
            search.mark()
        else:
            search.bound(index, ends[index])
            search.back()
    return _proposal(best, parts, goal)


def _program(parts: Sequence[ConeConstraint], goal: Goal, ends: Sequence[Ends]) -> LinearProgram:
    """Variables are the c, the largest factor, and the weights of each part's products."""
    matrix, right = _identities(parts, len(goal.mean))
    count = matrix.shape[1] - len(goal.mean) - 1
    aim = np.concatenate([MEAN * goal.mean, [1.0 if len(goal.watched) else 0.0], np.zeros(count)])
    ends = [*ends, FREE, *[POSITIVE] * count]
    low = high = right
    if len(goal.watched):
        watched = dense(_watching(goal), matrix.shape[1])
        matrix = matrix.above(watched)
        low, high = (np.concatenate([right, np.full(len(goal.watched), end)]) for end in (-np.inf, 0.0))
    return program(aim, matrix, low, high, ends, len(goal.mean) + 1)


def _proposal(found: Array, parts: Sequence[ConeConstraint], goal: Goal) -> Proposal:
    places = np.cumsum([len(goal.mean) + 1, *(len(part.cone.products) for part in parts)])
    pieces = np.split(found, places[:-1])
    # A lower bound's entries are those of 1/factor, with a minus.
    largest = float(pieces[0][-1])
    factor = Fraction(largest if largest > 0 else 1 / max(-largest, NEAR)) if len(goal.watched) else Fraction(0)
    return Proposal(pieces[0][:-1], tuple(pieces[1:]), factor)


def _identities(parts: Sequence[ConeConstraint], coefficients: int) -> tuple[Matrix, Array]:
    """For each part and term an equation: gains and rest add up to the weighted products."""
    blocks: list[tuple[Places, Places, Array]] = []
    right: list[Array] = []
    # One column more for the largest factor.
    height, width = 0, coefficients + 1
    for part in parts:
        products = part.cone.entries
        own = Entries(products.places)
        for column, value in enumerate(part.gains):
            own.add(column, value)
        rest = {own.place(monomial): -as_float(number) for monomial, number in part.rest.terms.items()}
        numbers = -np.array(products.numbers, dtype=float)
        blocks.append((places(products.rows, height), places(products.columns, width), numbers))
        blocks.append((places(own.rows, height), places(own.columns), np.array(own.numbers)))
        right.append(np.array([rest.get(row, 0.0) for row in range(len(own.places))]))
        height, width = height + len(own.places), width + len(part.cone.products)
    rows, columns, numbers = (np.concatenate([block[index] for block in blocks]) for index in range(3))
    return Matrix(rows, columns, numbers, (height, width)), np.concatenate(right)


def _watching(goal: Goal) -> Array:
    """No factor above its share of the variable behind the c, each row in a unit in which its largest entry is 1."""
    rows = goal.watched * np.append(np.ones(goal.watched.shape[1] - 1), -1.0)
    scaled: Array = rows / np.abs(rows).max(axis=1, keepdims=True)
    return scaled


def proposals(parts: Sequence[ConeConstraint], mean: Array, side: int = 1) -> Iterator[tuple[fmpq, ...]]:
    """Short coefficients near those of least mean for which all parts are in their cones, the least mean first."""
    found = propose(parts, Goal(mean, np.array([])))
    near = () if found is None else shortened(found.coefficients.tolist(), side)
    yield from sorted(near, key=lambda each: float(mean @ np.array(list(map(as_float, each)))))


def shortened(numbers: Sequence[float], side: int) -> Iterator[tuple[fmpq, ...]]:
    """Fractions near the numbers, the simplest first: the nearest, and the nearest on the safe side."""
    seen = set()
    # What is this small is mostly no more than rounding.
    numbers = [0.0 if abs(each) < NEGLIGIBLE else each for each in numbers]
    # Of two fractions that are as near, the safe one, whichever way the solver rounds.
    leaning = [each + side * NEAR if each else each for each in numbers]
    for most in DENOMINATORS:
        plain = [Fraction(round(each * most), most) for each in leaning]
        nearest = [
            Fraction(lean).limit_denominator(most) or _least(each) for lean, each in zip(leaning, numbers, strict=True)
        ]
        safe = [side * Fraction(math.ceil(side * each * most - NEAR), most) or _least(each) for each in numbers]
        for chosen in (plain, nearest, safe):
            # Pairs of integers hash far faster than rationals.
            ratios = tuple([each.as_integer_ratio() for each in chosen])
            if ratios not in seen:
                seen.add(ratios)
                yield tuple(map(rational, chosen))


def _least(number: float) -> Fraction:
    """A unit fraction no farther from 0 than a number, so that no term is lost."""
    return Fraction(0) if abs(number) < NEAR else Fraction(1 if number > 0 else -1, math.ceil(1 / abs(number)))
