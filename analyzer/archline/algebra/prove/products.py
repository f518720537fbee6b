"""Multiplies facts for linear programs; a monomial is packed into an integer, so that a product is a sum."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import reduce
from operator import or_

from archline.algebra.effort import spend_effort
from archline.algebra.evaluate.vectors import as_float
from archline.algebra.lp.highs import Entries, solve_equations
from archline.algebra.polynomial import ONE, RATIONAL_ZERO, Atom, Monomial, Poly, has_reducible_powers
from archline.numbers import fmpq
from archline.records import memoised, record

BITS = 8
HALF_RANGE, DIGIT_RANGE = 1 << (BITS - 1), 1 << BITS
MAX_POWER = 16
"""The largest power in a fact; in a product of two, reduced squares included, no power reaches `HALF_RANGE`."""
Packed = dict[int, int | fmpq]
"""Coefficients by monomials, integers as Python ints; a monomial sums the powers of the k-th atoms times 2^(8*k)."""


class _MonomialCache(dict[int, int]):
    """A function of monomials whose values are computed once."""

    def __init__(self, compute: Callable[[int], int]) -> None:
        super().__init__()
        self._compute = compute

    def __missing__(self, code: int) -> int:
        self[code] = value = self._compute(code)
        return value


class Packing:
    """Packs the monomials of expressions into integers, with a group of bits for each atom."""

    def __init__(self) -> None:
        self._atoms: dict[Atom, int] = {}
        self._reducing: dict[int, Poly] = {}
        self._monomials: dict[int, Monomial] = {}
        self._degrees = _MonomialCache(lambda code: sum(abs(power) for _, power in _iterate_powers(code)))
        self._masks = _MonomialCache(
            lambda code: sum(1 << place for place, _ in _iterate_powers(code) if place in self._reducing)
        )
        self._squared = _MonomialCache(
            lambda code: next((p for p, power in _iterate_powers(code) if power > 1 and p in self._reducing), -1)
        )

    def pack_terms(self, value: Poly) -> Packed:
        return {
            self.pack_monomial(monomial): int(number.p) if number.q == 1 else number
            for monomial, number in value.terms.items()
        }

    def pack_monomial(self, monomial: Monomial) -> int:
        """Pack a monomial; its new atoms get places. Raises OverflowError for powers above MAX_POWER."""
        if not _has_small_powers(monomial):
            raise OverflowError
        return sum(power << (BITS * self._get_atom_index(atom)) for atom, power in monomial)

    def _get_atom_index(self, atom: Atom) -> int:
        place = self._atoms.get(atom)
        if place is None:
            place = self._atoms[atom] = len(self._atoms)
            if has_reducible_powers(atom):
                self._reducing[place] = atom.square  # type: ignore[attr-defined]
        return place

    def unpack_monomial(self, code: int) -> Monomial:
        monomial = self._monomials.get(code)
        if monomial is None:
            atoms = list(self._atoms)
            factors = ((atoms[place], power) for place, power in _iterate_powers(code))
            monomial = self._monomials[code] = tuple(sorted(factors, key=lambda factor: factor[0].key))
        return monomial

    def compute_degree(self, terms: Iterable[int]) -> int:
        """Return the maximum degree of the monomials, with negative powers counted by magnitude."""
        return max(map(self._degrees.__getitem__, terms), default=0)

    def has_only_positive_powers(self, terms: Iterable[int]) -> bool:
        """Test whether all powers in the monomials are positive."""
        return all(power > 0 for code in terms for _, power in _iterate_powers(code))

    def build_reducible_mask(self, terms: Iterable[int]) -> int:
        """Return the places of atoms in the monomials whose squares are rewritten, as bits."""
        return reduce(or_, map(self._masks.__getitem__, terms), 0) if self._reducing else 0

    def build_atom_mask(self, terms: Iterable[int]) -> int:
        """Return the places of all atoms in the monomials, as bits."""
        return reduce(or_, (1 << place for code in terms for place, _ in _iterate_powers(code)), 0)

    def multiply(self, left: Packed, right: Packed, shared: int) -> Packed:
        """Return the product; `shared` are the places, as bits, of atoms in both whose squares are rewritten."""
        spend_effort(len(left) * len(right))
        (first, a), *remaining = right.items()
        # Products with the first term are distinct.
        terms = {code + first: number * a for code, number in left.items()}
        for monomial, b in remaining:
            for code, number in left.items():
                place = code + monomial
                terms[place] = terms[place] + number * b if place in terms else number * b
        if remaining and not all(terms.values()):
            terms = {code: number for code, number in terms.items() if number}
        return self._reduce_squares(terms) if shared else terms

    def _reduce_squares(self, terms: Packed) -> Packed:
        """Rewrite squares: atom^2 -> square*atom."""
        pending, done = dict(terms), Packed()
        while pending:
            code, number = pending.popitem()
            place = self._squared[code]
            if place < 0:
                number = done.get(code, 0) + number
                if number:
                    done[code] = number
                else:
                    del done[code]
                continue
            for replacement, factor in self._pack_square(place).items():
                _add_term(pending, code - (1 << (BITS * place)) + replacement, number * factor)
        return done

    @memoised
    def _pack_square(self, place: int) -> Packed:
        return self.pack_terms(self._reducing[place])


def _iterate_powers(code: int) -> Iterator[tuple[int, int]]:
    """Yield the places of the atoms of a monomial, each with its power."""
    place = 0
    while code:
        power = (code + HALF_RANGE) % DIGIT_RANGE - HALF_RANGE
        if power:
            yield place, power
        code = (code - power) >> BITS
        place += 1


def _add_term(terms: Packed, code: int, number: int | fmpq) -> None:
    total = terms.get(code, 0) + number
    if total:
        terms[code] = total
    else:
        del terms[code]


class AtomGroups:
    """Groups of atoms that facts connect, as bits of their places, for terms with at most one factor of each group.

    Expressions that are linear in each group need only products that are linear in each group: these prove everything
    for bounds of intervals, and nearly everything with maxima. No groups are used if a term has two factors of a group.
    """

    def __init__(self, packing: Packing, facts: Sequence[Packed], terms: Collection[int]) -> None:
        self._groups: list[int] = []
        for fact in facts:
            atoms = packing.build_atom_mask(fact)
            disjoint = [group for group in self._groups if not group & atoms]
            self._groups = [*disjoint, self.unite_groups_of(atoms) | atoms]
        self._crowded = _MonomialCache(self._is_crowded)
        if not terms or self.has_crowded_term(terms):
            self._groups = []

    def unite_groups_of(self, atoms: int) -> int:
        """Return the union of the groups that some atoms belong to."""
        return reduce(or_, (group for group in self._groups if group & atoms), 0)

    def has_crowded_term(self, terms: Iterable[int]) -> bool:
        """Test whether a term is nonlinear in a group of atoms that facts connect."""
        return bool(self._groups) and any(map(self._crowded.__getitem__, terms))

    def _is_crowded(self, code: int) -> int:
        used = 0
        for place, power in _iterate_powers(code):
            group = self.unite_groups_of(1 << place)
            if group & used or abs(power) > 1:
                return True
            used |= group
        return False


@record
class ProductLimits:
    """Limits on the factors of a product of facts.

    The first `major` facts are on sizes alone; at most `most` factors are other facts, and at most `fewest` factors are
    among the facts at the indices `few`.
    """

    major: int
    most: int
    few: frozenset[int] = frozenset()
    fewest: int = 0


class Products:
    """Products of facts, including 1, up to a degree; of more than `limit`, those with the fewest terms not in `terms`.

    Raises OverflowError for powers beyond any degree in use.
    """

    def __init__(
        self, facts: Sequence[Poly], degree: int, terms: Iterable[Monomial], shape: ProductLimits, limit: int
    ) -> None:
        self._packing = packing = Packing()
        packed = [packing.pack_terms(fact) for fact in facts]
        codes = {packing.pack_monomial(monomial) for monomial in terms if _has_small_powers(monomial)}
        groups = AtomGroups(packing, packed, codes)
        distinct = _drop_duplicates(_iterate_products(packing, groups, packed, degree, shape))
        ranked = sorted(distinct, key=lambda terms: len(terms.keys() - codes))
        self._columns = ranked[:limit]

    def __len__(self) -> int:
        return len(self._columns)

    def __getitem__(self, index: int) -> Poly:
        return Poly(
            {self._packing.unpack_monomial(code): fmpq(number) for code, number in self._columns[index].items()}
        )

    def solve_weights(self, chosen: Sequence[int], value: Poly) -> tuple[fmpq, ...] | None:
        """Return weights with which the chosen products add up to a value exactly, or None."""
        try:
            columns = [*(self._columns[index] for index in chosen), self._packing.pack_terms(value)]
        except OverflowError:
            # The powers exceed those of all products.
            return None
        rows = {code: [RATIONAL_ZERO] * len(columns) for terms in columns for code in terms}
        for column, terms in enumerate(columns):
            for code, number in terms.items():
                rows[code][column] = fmpq(number)
        return solve_equations(list(rows.values()), len(chosen))

    def build_entries(self) -> Entries:
        """Return a sparse matrix with a column for each product. Raises OverflowError for too large numbers."""
        # Monomials are numbered in order of occurrence.
        rows = _MonomialCache(lambda _: len(rows))
        entries = Entries()
        for column, terms in enumerate(self._columns):
            entries.columns += [column] * len(terms)
            entries.rows += [rows[code] for code in terms]
            # Most are integers, which numpy converts.
            entries.numbers += [number if type(number) is int else as_float(number) for number in terms.values()]
        entries.places = {self._packing.unpack_monomial(code): row for code, row in rows.items()}
        return entries


def _has_small_powers(monomial: Monomial) -> bool:
    return all(abs(power) <= MAX_POWER for _, power in monomial)


def _iterate_products(
    packing: Packing, groups: AtomGroups, facts: Sequence[Packed], degree: int, shape: ProductLimits
) -> Iterator[Packed]:
    """Yield 1 and the products of facts up to a degree and within the limits, those with fewer factors first."""
    masks = [packing.build_reducible_mask(fact) for fact in facts]
    degrees = [packing.compute_degree(fact) for fact in facts]
    neighbours = [groups.unite_groups_of(packing.build_atom_mask(fact)) for fact in facts]
    # Degrees add up unless negative powers or reduced squares occur.
    adding = all(map(packing.has_only_positive_powers, facts))
    unit = packing.pack_terms(ONE)
    yield unit
    layer = [(0, 0, 0, 0, 0, unit)]
    for _ in range(degree):
        above = layer
        layer = []
        for start, minor, scarce, degree_so_far, used, terms in above:
            mask = packing.build_reducible_mask(terms)
            for index in range(start, shape.major if minor == shape.most else len(facts)):
                if scarce == shape.fewest and index in shape.few:
                    continue
                shared = mask & masks[index]
                exact = adding and not shared
                if exact and (degree_so_far + degrees[index] > degree or used & neighbours[index]):
                    continue
                value = packing.multiply(terms, facts[index], shared) if terms is not unit else facts[index]
                reached = degree_so_far + degrees[index] if exact else packing.compute_degree(value)
                if reached <= degree and (exact or not groups.has_crowded_term(value)):
                    minor_next, scarce_next = minor + (index >= shape.major), scarce + (index in shape.few)
                    layer.append((index, minor_next, scarce_next, reached, used | neighbours[index], value))
        yield from (value for *_, value in layer if value)


def _drop_duplicates(found: Iterable[Packed]) -> Iterator[Packed]:
    """Yield each product once; grouped by monomials, since numbers hash slowly and rarely distinguish products."""
    groups: dict[frozenset[int], list[Packed]] = {}
    for product in found:
        equal_monomials = groups.setdefault(frozenset(product), [])
        if product not in equal_monomials:
            equal_monomials.append(product)
            yield product
