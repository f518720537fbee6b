"""One question as a linear program: may every monomial of one clause outgrow all monomials of another?

The unknowns are the logarithms of the atoms, which are not negative, along a direction in which sizes grow. An
irrational exponent such as log2(7) brings a second unknown for each atom, log2(7) times its logarithm, known to lie
between two rational multiples of it. So all numbers stay rational, and the multipliers of a proof become constants.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TypeAlias

from archline.algebra.asymptotic.constants import ONE, UNITY, ZERO, Basis, Constant, basis_enclosure, exactly
from archline.algebra.asymptotic.inequalities import Inequality, Product, completed
from archline.algebra.asymptotic.tropical import GrowthAtom, Monomial
from archline.algebra.lp.exact import Optimum, maximise
from archline.numbers import ctx, fmpq, fmpz
from archline.records import record

ENCLOSURE_BITS = 96


Weights: TypeAlias = tuple[tuple[Monomial, Constant], ...]


@record
class Proof:
    """Weights with sum 1 on both clauses: the product of the left is at most that of the right, by `uses`."""

    left: Weights
    right: Weights
    uses: Product


@record
class Direction:
    """Logarithms of atoms, in proportion, for which the program finds the left clause larger."""

    values: Mapping[GrowthAtom, fmpq]


def at_a_glance(left: Sequence[Monomial], right: Sequence[Monomial]) -> Proof | None:
    """A proof for one monomial of each side whose quotient has no growing factor."""
    for small in left:
        for large in right:
            gap = large / small
            if gap.never_shrinks:
                uses = completed(gap, ())
                assert uses is not None
                return Proof(((small, UNITY),), ((large, UNITY),), uses)
    return None


def solve(
    left: Sequence[Monomial], right: Sequence[Monomial], rows: Sequence[Inequality], bits: int = ENCLOSURE_BITS
) -> Proof | Direction | None:
    """Decide whether the smallest of `left` is at most a constant times the largest of `right`, under the rows.

    Irrationals are enclosed with so many bits. None where the sign of a constant is not certain.
    """
    return _Program(left, right, rows, bits).solve()


def order_of_powers(small: Monomial, large: Monomial, rows: Sequence[Inequality]) -> tuple[fmpq, Product] | None:
    """A power k and a proof of small <= C*large^k from the rows, as far as their exponents are rational."""
    usable = [row for row in rows if row.gap.is_rational]
    if not (small.is_rational and large.is_rational):
        return None
    atoms = list(dict.fromkeys(atom for each in (small, large, *(row.gap for row in usable)) for atom in each.powers))
    table = [[-x for x in each.gap.rational_row(atoms)] for each in usable]
    solution = maximise(small.rational_row(atoms), [*table, large.rational_row(atoms)], [*([ZERO] * len(table)), ONE])
    if not isinstance(solution, Optimum):
        return None
    *times, power = solution.multipliers
    gap = large.power(Constant(power)) / small
    uses = completed(gap, zip(usable, map(Constant, times), strict=True))
    return None if uses is None else (power, uses)


class _Program:
    """Columns are the logarithms of atoms, t above the right side's base, t below the left side's, and the margin s.

    With the base a of the left and b of the right: s + t_above + t_below <= a/b, while t_above >= each/b for the other
    monomials of the right and -t_below <= each/a for those of the left. So s > 0 if and only if left exceeds right.
    """

    def __init__(
        self, left: Sequence[Monomial], right: Sequence[Monomial], rows: Sequence[Inequality], bits: int
    ) -> None:
        # A base without irrational powers lets weights be irrational.
        self.left, self.right = (sorted(side, key=_irrationals) for side in (left, right))
        self.rows = rows
        below, above = self.left[0].inverse(), self.right[0].inverse()
        self.main = self.left[0] * above
        self.under = [each * below for each in self.left[1:]]
        self.over = [each * above for each in self.right[1:]]
        monomials = [self.main, *self.under, *self.over, *(row.gap for row in rows)]
        self.atoms = list(dict.fromkeys(atom for each in monomials for atom in each.powers))
        powers = (power for each in monomials for power in each.powers.values() if power.terms)
        self.bases = list(dict.fromkeys(basis for power in powers for basis in power.terms))
        self.ends = [_ends(basis, bits) for basis in self.bases]
        self.place = {atom: index for index, atom in enumerate(self.atoms)}
        # One block of columns for the atoms and both t, one for each irrational: its excess over the lower end.
        self.count = len(self.atoms) + 2
        self.width = self.count * (1 + len(self.bases))
        self.block = {basis: index + 1 for index, basis in enumerate(self.bases)}
        self.table: list[list[fmpq]] = []
        # Of each row of the table that is one of an inequality: which, and the constant it is raised to.
        self.owners: list[tuple[int, Constant]] = []

    def solve(self) -> Proof | Direction | None:
        """Maximise the margin, at most 1."""
        main = [-each for each in self.row(self.main)]
        main[self.count - 2], main[self.count - 1] = ONE, ONE
        self.table.append([*main, ONE])
        self.add_inequalities()
        self.add_enclosures()
        limits = [ZERO] * len(self.table)
        margin = [*([ZERO] * self.width), ONE]
        solution = maximise(margin, [*self.table, margin], [*limits, ONE])
        assert isinstance(solution, Optimum)
        if solution.value:
            return Direction({atom: solution.point[index] for index, atom in enumerate(self.atoms)})
        return self.proof(solution.multipliers)

    def row(self, monomial: Monomial) -> list[fmpq]:
        """The logarithm of a monomial in the unknowns."""
        result = [ZERO] * self.width
        for atom, power in monomial.powers.items():
            column = self.place[atom]
            result[column] += power.rational
            for basis, coefficient in power.terms.items():
                block = self.block[basis]
                result[column] += coefficient * self.ends[block - 1][0]
                result[block * self.count + column] += coefficient
        return result

    def add_inequalities(self) -> None:
        """Rows that say of a sum of logarithms, and of t, that it is not negative."""
        signed = [
            *((each, self.count - 2) for each in self.under),
            *((each.inverse(), self.count - 1) for each in self.over),
            *((each.gap, None) for each in self.rows),
        ]
        for number, (monomial, t) in enumerate(signed):
            row = self.row(monomial)
            if t is not None:
                row[t] = ONE
            self.add(row, number, Constant(ONE))
            if not monomial.is_rational:
                continue
            # It stays true when it is multiplied by how far an irrational is above its lower end, or below its upper.
            for block, (basis, (low, high)) in enumerate(zip(self.bases, self.ends, strict=True), 1):
                before, behind = block * self.count, self.width - (block + 1) * self.count
                excess = [*([ZERO] * before), *row[: self.count], *([ZERO] * behind)]
                self.add(excess, number, Constant(-low, {basis: ONE}))
                rest = [(high - low) * y - x for x, y in zip(excess, row, strict=True)]
                self.add(rest, number, Constant(high, {basis: -ONE}))

    def add(self, row: list[fmpq], owner: int, times: Constant) -> None:
        """A row that is at least 0."""
        self.table.append([*(-each for each in row), ZERO])
        self.owners.append((owner, times))

    def add_enclosures(self) -> None:
        """No unknown's irrational multiple is beyond the upper end."""
        for block, (low, high) in enumerate(self.ends, 1):
            for column in range(self.count):
                row = [ZERO] * (self.width + 1)
                row[block * self.count + column], row[column] = ONE, low - high
                self.table.append(row)

    def proof(self, multipliers: Sequence[fmpq]) -> Proof | None:
        """The weights and powers that the multipliers stand for; None where a sign is not certain."""
        total = multipliers[0]
        times = [Constant(ZERO)] * (len(self.under) + len(self.over) + len(self.rows))
        for multiplier, (number, constant) in zip(multipliers[1:], self.owners, strict=False):
            if multiplier:
                times[number] = times[number] + constant.scaled(multiplier / total)
        first, second = len(self.under), len(self.under) + len(self.over)
        left, right = _with_base(times[:first]), _with_base(times[first:second])
        if left[0].sign() < 0 or right[0].sign() < 0:
            return None
        gap = Monomial({})
        for monomial, weight in zip(self.right, right, strict=True):
            gap = gap * monomial.power(weight)
        for monomial, weight in zip(self.left, left, strict=True):
            gap = gap * monomial.power(-weight)
        uses = completed(gap, zip(self.rows, times[second:], strict=True))
        if uses is None:
            return None
        return Proof(_weighted(self.left, left), _weighted(self.right, right), uses)


def _irrationals(monomial: Monomial) -> int:
    return sum(not power.is_rational for power in monomial.powers.values())


def _with_base(others: Sequence[Constant]) -> list[Constant]:
    """Weights with sum 1, the base's first."""
    return [UNITY - sum(others, Constant(ZERO)), *others]


def _weighted(clause: Sequence[Monomial], weights: Sequence[Constant]) -> Weights:
    return tuple((each, weight) for each, weight in zip(clause, weights, strict=True) if weight)


@cache
def _ends(basis: Basis, bits: int) -> tuple[fmpq, fmpq]:
    """Rationals with a power of 2 below that enclose an irrational closely."""
    with ctx.workprec(2 * bits):
        value = basis_enclosure(basis)
    scale = fmpz(1) << bits
    low, high = exactly(value.lower()) * scale, exactly(value.upper()) * scale
    return fmpq(low.floor(), scale), fmpq(high.ceil(), scale)
