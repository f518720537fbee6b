"""Proves expressions nonnegative as sums of products of facts, and searches for such expressions.

Where g, h, ... >= 0 are known, every product of them is at least 0, and so is every sum of products with coefficients
>= 0 (D. Handelman, Representing polynomials by positive linear functions on compact convex polyhedra, 1988). Whether
an expression is such a sum, and which expression of a family is the best such sum, are linear programs.
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
    NONNEGATIVE,
    Entries,
    LinearProgram,
    Matrix,
    Places,
    SolverError,
    VariableBounds,
    embed_dense,
    index_array,
    make_program,
)
from archline.algebra.polynomial import Atom, Monomial, Poly, Symbol, to_rational
from archline.algebra.prove.enumerate import prove_by_enumeration
from archline.algebra.prove.farkas import Situation
from archline.algebra.prove.logarithms import LogarithmOrder
from archline.algebra.prove.products import ProductLimits, Products
from archline.algebra.prove.prover import bounds_of_floor, find_first_true, prove_never_negative
from archline.numbers import fmpq
from archline.records import record

MAX_DEGREE = 3
MAXIMUM_BOUNDS = tuple(Poly.constant(2**k) for k in range(7))
"""Numbers that are tried as upper bounds of a max(0, e)."""
SHORTFALL_BOUNDS = tuple(Poly.constant(number) for number in range(16))
"""Numbers k for which max(0, e) <= e + k is tried."""
MAX_PRODUCTS = 2_000
WEIGHT_TOLERANCE = 1e-7
DENOMINATORS = (1, 2, 4, 12, 60, 1_000)
NEGLIGIBLE_COEFFICIENT = 1e-4
MAX_LOSS_OF_ADDED_TERM, MAX_LOSS_OF_SUBTRACTED_TERM = 1.1, 1.25
"""The ratio by which factors may grow if an added term is dropped, or a subtracted one, which is harder to prove."""
MEAN_WEIGHT = 0.1
"""The weight of the mean of the factors relative to the largest one."""


@record
class ProductCone:
    """The sums, with weights >= 0, of products of facts up to a `degree`; they prove expressions with the `terms`."""

    facts: tuple[Poly, ...]
    degree: int
    terms: frozenset[Monomial] = frozenset()
    major: int = 0
    """The number of the facts, which come first, on sizes alone."""

    @cached_property
    def products(self) -> Products:
        """The products up to the degree; of many, those with the fewest terms not in `terms`. Raises OverflowError."""
        # Products have at most as many factors on maxima or logarithms (and on logarithms alone) as the terms.
        minor = (sum(abs(power) for atom, power in term if not _is_size(atom)) for term in self.terms)
        rising = (sum(abs(power) for atom, power in term if _is_logarithmic(atom)) for term in self.terms)
        few = frozenset(place for place, fact in enumerate(self.facts) if any(map(_is_logarithmic, fact.atoms())))
        shape = ProductLimits(self.major, max((1, *minor)), few, max((1, *rising)))
        return Products(self.facts, self.degree, self.terms, shape, MAX_PRODUCTS)

    @cached_property
    def entries(self) -> Entries:
        """The terms of the products as a sparse matrix. Raises OverflowError."""
        return self.products.build_entries()

    def proves(self, value: Poly, likely: Array | None = None) -> bool:
        """Test whether the value is a sum of products: proposed in floating point, decided by an exact solution.

        `likely`: weights of the products for a value nearby, which are tried first.
        """
        if value.is_constant:
            return bool(value.constant_term >= 0)
        if _total_degree(value) > self.degree:
            return False
        if likely is not None and self._is_exact_combination(value, likely):
            return True
        weights = self._compute_weights(value)
        return weights is not None and self._is_exact_combination(value, weights)

    def _compute_weights(self, value: Poly) -> Array | None:
        """Return weights with which the products approximately add up to the value, or None."""
        try:
            rows, sums = self.entries.places, self._weight_program
            level = np.zeros(len(rows))
            for monomial, number in value.terms.items():
                if monomial not in rows:
                    return None
                level[rows[monomial]] = as_float(number)
        except (OverflowError, SolverError):
            return None
        sums.set_right_side(level)
        return sums.solve()

    @cached_property
    def _weight_program(self) -> LinearProgram:
        """The linear program of weighted sums of the products. Raises OverflowError."""
        matrix = self.entries.build_matrix(len(self.products))
        nothing = np.zeros(matrix.shape[0])
        count = len(self.products)
        return make_program(np.zeros(count), matrix, nothing, nothing, [NONNEGATIVE] * count)

    def _is_exact_combination(self, value: Poly, near: Array) -> bool:
        """Test whether the products with positive weights in `near`, times exact weights >= 0, add up to the value."""
        weights = self.products.solve_weights(np.flatnonzero(near > WEIGHT_TOLERANCE).tolist(), value)
        return weights is not None and all(weight >= 0 for weight in weights)


def build_cone(facts: Facts, values: Sequence[Poly]) -> ProductCone:
    """Build the cone of the facts on the atoms of some values, for expressions of their degree."""
    degree = min(max(1, *map(_total_degree, values)), MAX_DEGREE)
    atoms = dict.fromkeys(atom for value in values for atom in value.atoms())
    # The facts of atoms, cached.
    facts_of = cache(lambda atom: _facts_of_atom(atom, facts))
    # Sizes inside floors and maxima are added.
    atoms |= dict.fromkeys(inner for atom in atoms for part in atom.parts for inner in part.atoms())
    # Logarithms in bounds of other ones are added: that of n where that of n/2 occurs.
    for atom in list(atoms):
        if not _is_size(atom):
            atoms |= dict.fromkeys(inner for fact in facts_of(atom) for inner in fact.atoms() if not _is_size(inner))
    pool = dict.fromkeys((*(fact for atom in atoms for fact in facts_of(atom)), *_facts_of_powers(atoms, facts)))
    pool |= dict.fromkeys(_facts_of_inverses((*values, *pool), facts))
    sharp = _drop_implied_facts(
        fact for fact in pool if _total_degree(fact) <= degree and all(atom in atoms for atom in fact.atoms())
    )
    major = [fact for fact in sharp if all(map(_is_size, fact.atoms()))]
    ordered = dict.fromkeys((*major, *sharp))
    terms = frozenset(monomial for value in values for monomial in value.terms)
    return ProductCone(tuple(ordered), degree, terms, len(major))


def prove_by_products(value: Poly, facts: Facts) -> bool:
    """Prove a value as a sum of products of facts, with logarithms as symbols ordered as their sizes are."""
    order = LogarithmOrder(facts)
    ordered = order.replace_logarithms(value)
    ordered = order.facts.simplify(ordered)
    return build_cone(order.facts, [ordered]).proves(ordered)


def prove_by_bounds_of_powers(value: Poly, facts: Facts) -> bool:
    """Prove a value with powers b^ceil(log2(v)) replaced by symbols between their bounds."""
    order = LogarithmOrder(facts)
    powers = order.replace_powers(value)
    return powers != value and prove_never_negative(powers, order.facts, (prove_by_enumeration, prove_by_products))


def _facts_of_powers(atoms: Iterable[Atom], facts: Facts) -> Iterator[Poly]:
    """Yield facts of powers b^x and b^y where x >= y is known: b^x >= (x - y + 1)*b^y."""
    for great, small in permutations((atom for atom in atoms if isinstance(atom, a.Exponential)), 2):
        difference, lower = great.exponent - small.exponent, Poly.of_atom(small)
        if great.base == small.base and a.is_integral(difference) and facts.nonnegative(difference):
            yield from (Poly.of_atom(great) - lower, Poly.of_atom(great) - lower * (difference + 1))


def _facts_of_inverses(values: Iterable[Poly], facts: Facts) -> Iterator[Poly]:
    """Yield 0 <= 1/b^x <= 1 for such quotients in values where x >= 0 is known, else 1/b^x >= 0."""
    terms = (pair for value in values for monomial in value.terms for pair in monomial)
    for atom in dict.fromkeys(atom for atom, power in terms if power < 0 and isinstance(atom, a.Exponential)):
        inverse = Poly.of_atom(atom, -1)
        yield from (inverse, 1 - inverse) if facts.nonnegative(atom.exponent) else (inverse,)


def _facts_of_atom(atom: Atom, facts: Facts) -> list[Poly]:
    value = Poly.of_atom(atom)
    match atom:
        case Symbol():
            bounds = facts.bounds.get(atom.name)
            return [*(value - low for low in bounds.lower), *(high - value for high in bounds.upper)] if bounds else []
        case a.Floor():
            return list(bounds_of_floor(atom))
        case a.PositivePart():
            return [
                value,
                value - atom.argument,
                *(maximum - value for maximum in _upper_bounds_of_maximum(atom.argument, facts)),
            ]
        case a.Exponential():
            rises = a.is_integral(atom.exponent) and facts.nonnegative(atom.exponent)
            return [value, value - atom.exponent - 1] if rises else [value]
        case a.RealFunction(function="sqrt", argument=argument):
            return [value - 1, argument - value] if facts.nonnegative(argument - 1) else [value]
        case _:
            return []


def _upper_bounds_of_maximum(argument: Poly, facts: Facts) -> Iterator[Poly]:
    """Yield upper bounds of max(0, e): a number, e plus a number, the positive terms of e, a bound of e's symbol."""
    constant = find_first_true(len(MAXIMUM_BOUNDS), lambda index: facts.nonnegative(MAXIMUM_BOUNDS[index] - argument))
    if constant is not None:
        yield MAXIMUM_BOUNDS[constant]
    shortfall = find_first_true(
        len(SHORTFALL_BOUNDS), lambda index: facts.nonnegative(argument + SHORTFALL_BOUNDS[index])
    )
    if shortfall is not None:
        yield argument + SHORTFALL_BOUNDS[shortfall]
    positive = argument.positive_terms()
    if positive != argument and facts.nonnegative(positive) and facts.nonnegative(positive - argument):
        yield positive
    symbol = a.find_single_symbol_name(argument - argument.constant_term)
    bounds = facts.bounds.get(symbol) if symbol else None
    for high in bounds.upper if bounds else ():
        if not high.is_constant and facts.nonnegative(high + argument.constant_term):
            yield high + argument.constant_term
    yield from _bounds_by_logarithms(argument, facts)


def _bounds_by_logarithms(argument: Poly, facts: Facts) -> Iterator[Poly]:
    """Yield z - y as upper bounds of max(0, x - y) for logarithms x and y and a third one z >= x, y."""
    high = argument.positive_terms()
    low = high - argument
    both = a.find_single_symbol_name(high), a.find_single_symbol_name(low)
    if any(name is None or name.isidentifier() for name in both):
        return
    for name in facts.bounds:
        maximum = Poly.symbol(name)
        if not (name.isidentifier() or name in both) and all(map(facts.nonnegative, (maximum - high, maximum - low))):
            yield maximum - low


def _is_size(atom: Atom) -> bool:
    """Test whether an atom is a size or made of sizes, and not a maximum."""
    return not isinstance(atom, a.PositivePart) and not _is_logarithmic(atom)


def _is_logarithmic(atom: Atom) -> bool:
    """Test whether a symbol of a logarithm, or of a power of one, occurs in an atom other than a power."""
    return not isinstance(atom, a.Exponential) and not all(name.isidentifier() for name in atom.names)


def _drop_implied_facts(facts: Iterable[Poly]) -> tuple[Poly, ...]:
    """Return the facts without facts that a smaller constant with the same terms implies."""
    constants: dict[Poly, fmpq] = {}
    for fact in facts:
        rest = fact - fact.constant_term
        if rest.terms:
            constants[rest] = min(constants.get(rest, fact.constant_term), fact.constant_term)
    return tuple(rest + constant for rest, constant in constants.items())


def _total_degree(value: Poly) -> int:
    return max((sum(abs(power) for _, power in monomial) for monomial in value.terms), default=0)


@record
class ConeConstraint:
    """The requirement that c_1*gain_1 + c_2*gain_2 + ... + rest is in the cone; all constraints share the unknown c."""

    cone: ProductCone
    gains: tuple[Poly, ...]
    rest: Poly


def iterate_cone_constraints(situation: Situation, gains: Sequence[Poly], rest: Poly) -> Iterator[ConeConstraint]:
    """Yield for each choice of values of indices the constraint that c*gains + rest is a sum of multiples of facts."""
    for numbers in situation.iterate_choices():
        first, *values = (expression.substitute(situation.pinned).substitute(numbers) for expression in (rest, *gains))
        facts = [fact.substitute(situation.pinned).substitute(numbers) for fact in situation.facts]
        atoms = sorted({atom for expression in (first, *values, *facts) for atom in expression.atoms()}, key=str)
        facts += [bound for atom in atoms if isinstance(atom, a.Floor) for bound in bounds_of_floor(atom)]
        varied = tuple(dict.fromkeys(fact for fact in facts if not fact.is_constant))
        yield ConeConstraint(ProductCone(varied, 1, frozenset(), len(varied)), tuple(values), first)


@record
class Proposal:
    """A solution in floating point: the unknown c, weights of each constraint's products, and the largest factor."""

    coefficients: Array
    weights: tuple[Array, ...]
    factor: Fraction


@record
class Goal:
    """The goal to minimise mean.c and, with more weight, t, where row.c <= share*t for (*row, share) in `watched`."""

    mean: Array
    watched: Array

    def is_loss_small(self, before: Array, after: Array, most: float) -> bool:
        """Test whether row.c gets at most `most` times worse in each watched row; in lower bounds row.c is negative."""
        factors = self.watched[self.watched[:, -1] > 0.0, :-1]
        old, new = factors @ before, factors @ after
        return bool((new <= np.where(old > 0, old * most, old / most) + WEIGHT_TOLERANCE).all())


def propose_coefficients(
    parts: Sequence[ConeConstraint], goal: Goal, signs: Sequence[int] = (), most: int = 0
) -> Proposal | None:
    """Return the c that satisfy all `parts` and are best for the goal, in floating point; None without such c.

    `signs` are required of the c. Up to `most` of the c, last ones first, are set to 0 if the loss is small.
    """
    if not parts:
        return None
    count = len(goal.mean)
    ends = [(0.0 if sign > 0 else -np.inf, 0.0 if sign < 0 else np.inf) for sign in (signs or [0] * count)]
    try:
        search = _build_program(parts, goal, ends)
    except (OverflowError, SolverError):
        # A number is beyond floating point, or the solver does not work.
        return None
    best = search.solve()
    if best is None or not len(goal.watched):
        return None if best is None else _read_proposal(best, parts, goal)
    start = best
    search.save_basis()
    for index in list(reversed(np.flatnonzero(np.abs(best[:count]) > WEIGHT_TOLERANCE)))[:most]:
        search.set_variable_bounds(index, (0.0, 0.0))
        solution = search.solve()
        allowed = MAX_LOSS_OF_ADDED_TERM if start[index] > 0 else MAX_LOSS_OF_SUBTRACTED_TERM
        if solution is not None and goal.is_loss_small(start[:count], solution[:count], allowed):
            best = solution
            search.save_basis()
        else:
            search.set_variable_bounds(index, ends[index])
            search.restore_basis()
    return _read_proposal(best, parts, goal)


def _build_program(parts: Sequence[ConeConstraint], goal: Goal, ends: Sequence[VariableBounds]) -> LinearProgram:
    """Build the linear program in the variables c, the largest factor, and the weights of each part's products."""
    matrix, right = _equate_terms(parts, len(goal.mean))
    count = matrix.shape[1] - len(goal.mean) - 1
    aim = np.concatenate([MEAN_WEIGHT * goal.mean, [1.0 if len(goal.watched) else 0.0], np.zeros(count)])
    ends = [*ends, FREE, *[NONNEGATIVE] * count]
    low = high = right
    if len(goal.watched):
        watched = embed_dense(_build_factor_limit_rows(goal), matrix.shape[1])
        matrix = matrix.with_rows(watched)
        low, high = (np.concatenate([right, np.full(len(goal.watched), end)]) for end in (-np.inf, 0.0))
    return make_program(aim, matrix, low, high, ends, len(goal.mean) + 1)


def _read_proposal(found: Array, parts: Sequence[ConeConstraint], goal: Goal) -> Proposal:
    places = np.cumsum([len(goal.mean) + 1, *(len(part.cone.products) for part in parts)])
    pieces = np.split(found, places[:-1])
    # For a lower bound the variable is -1/factor.
    largest = float(pieces[0][-1])
    factor = (
        Fraction(largest if largest > 0 else 1 / max(-largest, WEIGHT_TOLERANCE)) if len(goal.watched) else Fraction(0)
    )
    return Proposal(pieces[0][:-1], tuple(pieces[1:]), factor)


def _equate_terms(parts: Sequence[ConeConstraint], coefficients: int) -> tuple[Matrix, Array]:
    """Build an equation for each part and term: gains and rest add up to the weighted products."""
    blocks: list[tuple[Places, Places, Array]] = []
    right: list[Array] = []
    # One more column is for the largest factor.
    height, width = 0, coefficients + 1
    for part in parts:
        products = part.cone.entries
        entries = Entries(products.places)
        for column, value in enumerate(part.gains):
            entries.add_column(column, value)
        rest = {entries.get_row_index(monomial): -as_float(number) for monomial, number in part.rest.terms.items()}
        numbers = -np.array(products.numbers, dtype=float)
        blocks.append((index_array(products.rows, height), index_array(products.columns, width), numbers))
        blocks.append((index_array(entries.rows, height), index_array(entries.columns), np.array(entries.numbers)))
        right.append(np.array([rest.get(row, 0.0) for row in range(len(entries.places))]))
        height, width = height + len(entries.places), width + len(part.cone.products)
    rows, columns, numbers = (np.concatenate([block[index] for block in blocks]) for index in range(3))
    return Matrix(rows, columns, numbers, (height, width)), np.concatenate(right)


def _build_factor_limit_rows(goal: Goal) -> Array:
    """Return the rows of row.c - share*t <= 0 for each watched row, scaled to a largest entry of 1."""
    rows = goal.watched * np.append(np.ones(goal.watched.shape[1] - 1), -1.0)
    scaled: Array = rows / np.abs(rows).max(axis=1, keepdims=True)
    return scaled


def iterate_proposals(parts: Sequence[ConeConstraint], mean: Array, side: int = 1) -> Iterator[tuple[fmpq, ...]]:
    """Yield simple fractions near the coefficients c of minimum mean that satisfy all `parts`, best first."""
    proposal = propose_coefficients(parts, Goal(mean, np.array([])))
    candidates = () if proposal is None else round_to_fractions(proposal.coefficients.tolist(), side)
    yield from sorted(candidates, key=lambda coefficients: float(mean @ np.array(list(map(as_float, coefficients)))))


def round_to_fractions(numbers: Sequence[float], side: int) -> Iterator[tuple[fmpq, ...]]:
    """Yield fractions near the numbers, simplest first: rounded, nearest, and rounded up (`side` 1) or down (-1)."""
    yielded = set()
    # Numbers this small are mostly rounding errors.
    numbers = [0.0 if abs(value) < NEGLIGIBLE_COEFFICIENT else value for value in numbers]
    # Of two equally near fractions the safe one is chosen, however the solver rounds.
    leaning = [value + side * WEIGHT_TOLERANCE if value else value for value in numbers]
    for scale in DENOMINATORS:
        rounded = [Fraction(round(value * scale), scale) for value in leaning]
        nearest = [
            Fraction(lean).limit_denominator(scale) or _unit_fraction(value)
            for lean, value in zip(leaning, numbers, strict=True)
        ]
        safe = [
            side * Fraction(math.ceil(side * value * scale - WEIGHT_TOLERANCE), scale) or _unit_fraction(value)
            for value in numbers
        ]
        for chosen in (rounded, nearest, safe):
            # Pairs of integers hash faster than rationals.
            ratios = tuple([fraction.as_integer_ratio() for fraction in chosen])
            if ratios not in yielded:
                yielded.add(ratios)
                yield tuple(map(to_rational, chosen))


def _unit_fraction(number: float) -> Fraction:
    """Return a unit fraction at most as far from 0 as a number, so that no term is lost."""
    return (
        Fraction(0) if abs(number) < WEIGHT_TOLERANCE else Fraction(1 if number > 0 else -1, math.ceil(1 / abs(number)))
    )
