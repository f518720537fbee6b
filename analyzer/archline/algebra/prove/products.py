"""Products of facts, as many as a linear program takes: a monomial is an integer, so that a product is a sum."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import reduce
from operator import or_

from archline.algebra.effort import spend
from archline.algebra.evaluate.vectors import as_float
from archline.algebra.lp.highs import Entries, solution
from archline.algebra.polynomial import NOTHING, ONE, Atom, Monomial, Poly, reduces
from archline.numbers import fmpq
from archline.records import memoised, record

BITS = 8
HALF, FULL = 1 << (BITS - 1), 1 << BITS
MAX_POWER = 16
"""Of a product of two facts with such powers, squares that are written without included, none comes near HALF."""
Packed = dict[int, int | fmpq]
"""Coefficients, whole ones as integers of Python, by monomials: the power of the k-th atom is times 2^(8*k)."""


class _Kept(dict[int, int]):
    """A function of monomials, each value of which is computed once."""

    def __init__(self, compute: Callable[[int], int]) -> None:
        super().__init__()
        self._compute = compute

    def __missing__(self, code: int) -> int:
        self[code] = value = self._compute(code)
        return value


class Packing:
    """The atoms of some expressions and their monomials as integers."""

    def __init__(self) -> None:
        self._atoms: dict[Atom, int] = {}
        self._reducing: dict[int, Poly] = {}
        self._monomials: dict[int, Monomial] = {}
        self._degrees = _Kept(lambda code: sum(abs(power) for _, power in _powers(code)))
        self._masks = _Kept(lambda code: sum(1 << place for place, _ in _powers(code) if place in self._reducing))
        self._squared = _Kept(
            lambda code: next((p for p, power in _powers(code) if power > 1 and p in self._reducing), -1)
        )

    def packed(self, value: Poly) -> Packed:
        """An expression."""
        return {
            self.code(monomial): int(number.p) if number.q == 1 else number for monomial, number in value.terms.items()
        }

    def code(self, monomial: Monomial) -> int:
        """A monomial, whose atoms get places if they have none. Raises OverflowError for powers that have no room."""
        if not _small(monomial):
            raise OverflowError
        return sum(power << (BITS * self._place(atom)) for atom, power in monomial)

    def _place(self, atom: Atom) -> int:
        place = self._atoms.get(atom)
        if place is None:
            place = self._atoms[atom] = len(self._atoms)
            if reduces(atom):
                self._reducing[place] = atom.square  # type: ignore[attr-defined]
        return place

    def monomial(self, code: int) -> Monomial:
        """The monomial of an integer."""
        found = self._monomials.get(code)
        if found is None:
            atoms = list(self._atoms)
            factors = ((atoms[place], power) for place, power in _powers(code))
            found = self._monomials[code] = tuple(sorted(factors, key=lambda each: each[0].key))
        return found

    def degree(self, terms: Iterable[int]) -> int:
        """The most factors, those of negative powers too, of the monomials."""
        return max(map(self._degrees.__getitem__, terms), default=0)

    def whole(self, terms: Iterable[int]) -> bool:
        """Whether no power in the monomials is below the line."""
        return all(power > 0 for code in terms for _, power in _powers(code))

    def reducible(self, terms: Iterable[int]) -> int:
        """The places of atoms in it whose squares are written without, as bits."""
        return reduce(or_, map(self._masks.__getitem__, terms), 0) if self._reducing else 0

    def atoms(self, terms: Iterable[int]) -> int:
        """The places of all atoms in it, as bits."""
        return reduce(or_, (1 << place for code in terms for place, _ in _powers(code)), 0)

    def product(self, left: Packed, right: Packed, shared: int) -> Packed:
        """The product; `shared` are the places, as bits, of atoms in both whose squares are written without."""
        spend(len(left) * len(right))
        (first, a), *others = right.items()
        # No two terms fall together before a second one is multiplied in.
        found = {code + first: number * a for code, number in left.items()}
        for other, b in others:
            for code, number in left.items():
                place = code + other
                found[place] = found[place] + number * b if place in found else number * b
        if others and not all(found.values()):
            found = {code: number for code, number in found.items() if number}
        return self._reduced(found) if shared else found

    def _reduced(self, terms: Packed) -> Packed:
        """With atom^2 = square*atom."""
        todo, done = dict(terms), Packed()
        while todo:
            code, number = todo.popitem()
            place = self._squared[code]
            if place < 0:
                number = done.get(code, 0) + number
                if number:
                    done[code] = number
                else:
                    del done[code]
                continue
            for other, factor in self._square(place).items():
                _add(todo, code - (1 << (BITS * place)) + other, number * factor)
        return done

    @memoised
    def _square(self, place: int) -> Packed:
        return self.packed(self._reducing[place])


def _powers(code: int) -> Iterator[tuple[int, int]]:
    """The places of the atoms of a monomial, each with its power."""
    place = 0
    while code:
        power = (code + HALF) % FULL - HALF
        if power:
            yield place, power
        code = (code - power) >> BITS
        place += 1


def _add(terms: Packed, code: int, number: int | fmpq) -> None:
    total = terms.get(code, 0) + number
    if total:
        terms[code] = total
    else:
        del terms[code]


class Groups:
    """Groups of atoms that facts connect, as bits of their places, for terms with one factor of each group at most.

    What is linear in every group by itself needs only products that are so too: between ends of intervals they prove
    all, and with maxima hardly less. Where a term in question has two factors of a group there are no groups.
    """

    def __init__(self, packing: Packing, facts: Sequence[Packed], terms: Collection[int]) -> None:
        self._groups: list[int] = []
        for fact in facts:
            atoms = packing.atoms(fact)
            apart = [each for each in self._groups if not each & atoms]
            self._groups = [*apart, self.of(atoms) | atoms]
        self._crowded = _Kept(self._is_crowded)
        if not terms or self.crowded(terms):
            self._groups = []

    def of(self, atoms: int) -> int:
        """All of the groups that some atoms belong to."""
        return reduce(or_, (each for each in self._groups if each & atoms), 0)

    def crowded(self, terms: Iterable[int]) -> bool:
        """Whether a term has two factors of a group."""
        return bool(self._groups) and any(map(self._crowded.__getitem__, terms))

    def _is_crowded(self, code: int) -> int:
        taken = 0
        for place, power in _powers(code):
            group = self.of(1 << place)
            if group & taken or abs(power) > 1:
                return True
            taken |= group
        return False


@record
class Shape:
    """The factors of products: the first `major` facts are on sizes alone, and `most` factors at most are other ones.

    `few` are the facts of which there are `fewest` at most.
    """

    major: int
    most: int
    few: frozenset[int] = frozenset()
    fewest: int = 0


class Products:
    """Products of facts, 1 among them, up to a degree: of many those with the fewest other terms.

    `limit`: of how many. Raises OverflowError for powers beyond any degree that is asked for.
    """

    def __init__(self, facts: Sequence[Poly], degree: int, terms: Iterable[Monomial], shape: Shape, limit: int) -> None:
        self._packing = packing = Packing()
        packed = [packing.packed(each) for each in facts]
        codes = {packing.code(monomial) for monomial in terms if _small(monomial)}
        groups = Groups(packing, packed, codes)
        found = _distinct(_products(packing, groups, packed, degree, shape))
        ranked = sorted(found, key=lambda terms: len(terms.keys() - codes))
        self._columns = ranked[:limit]

    def __len__(self) -> int:
        return len(self._columns)

    def __getitem__(self, index: int) -> Poly:
        return Poly({self._packing.monomial(code): fmpq(number) for code, number in self._columns[index].items()})

    def weights(self, chosen: Sequence[int], value: Poly) -> tuple[fmpq, ...] | None:
        """Weights with which some of the products add up to a value exactly; None where there are none."""
        try:
            columns = [*(self._columns[index] for index in chosen), self._packing.packed(value)]
        except OverflowError:
            # No product has such powers.
            return None
        rows = {code: [NOTHING] * len(columns) for each in columns for code in each}
        for column, terms in enumerate(columns):
            for code, number in terms.items():
                rows[code][column] = fmpq(number)
        return solution(list(rows.values()), len(chosen))

    def entries(self) -> Entries:
        """All columns. Raises OverflowError for numbers beyond those of floating point."""
        # Monomials are numbered as they come.
        rows = _Kept(lambda _: len(rows))
        found = Entries()
        for column, terms in enumerate(self._columns):
            found.columns += [column] * len(terms)
            found.rows += [rows[code] for code in terms]
            # Most are integers, of which arrays make floating point themselves.
            found.numbers += [each if type(each) is int else as_float(each) for each in terms.values()]
        found.places = {self._packing.monomial(code): row for code, row in rows.items()}
        return found


def _small(monomial: Monomial) -> bool:
    return all(abs(power) <= MAX_POWER for _, power in monomial)


def _products(packing: Packing, groups: Groups, facts: Sequence[Packed], degree: int, shape: Shape) -> Iterator[Packed]:
    masks = [packing.reducible(each) for each in facts]
    own = [packing.degree(each) for each in facts]
    near = [groups.of(packing.atoms(each)) for each in facts]
    # Degrees add up, but where powers below the line or squares that are written without come in.
    adding = all(map(packing.whole, facts))
    one = packing.packed(ONE)
    yield one
    layer = [(0, 0, 0, 0, 0, one)]
    for _ in range(degree):
        above = layer
        layer = []
        for least, others, scarce, known, taken, terms in above:
            mask = packing.reducible(terms)
            for index in range(least, shape.major if others == shape.most else len(facts)):
                if scarce == shape.fewest and index in shape.few:
                    continue
                shared = mask & masks[index]
                exact = adding and not shared
                if exact and (known + own[index] > degree or taken & near[index]):
                    continue
                value = packing.product(terms, facts[index], shared) if terms is not one else facts[index]
                reached = known + own[index] if exact else packing.degree(value)
                if reached <= degree and (exact or not groups.crowded(value)):
                    more, rare = others + (index >= shape.major), scarce + (index in shape.few)
                    layer.append((index, more, rare, reached, taken | near[index], value))
        yield from (value for *_, value in layer if value)


def _distinct(found: Iterable[Packed]) -> Iterator[Packed]:
    """Each once; numbers take long to hash, and few differ in them alone."""
    seen: dict[frozenset[int], list[Packed]] = {}
    for each in found:
        alike = seen.setdefault(frozenset(each), [])
        if each not in alike:
            alike.append(each)
            yield each
