"""One question as a linear program: may every monomial of one clause outgrow all monomials of another?

The unknowns are the logarithms of the atoms, which are not negative, along a direction in which sizes grow. An
irrational exponent such as log2(7) brings a second unknown for each atom, log2(7) times its logarithm, known to lie
between two rational multiples of it. So all numbers stay rational, and the multipliers of a proof become constants.

A proof is made of inequalities between monomials, up to constant factors. What is known of the sizes in one case of it
is a `Cone` of such; those about logarithms are derived here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import permutations
from typing import TypeAlias

from archline.algebra.lp.exact import Optimum, maximise
from archline.algebra.reals import ONE, UNITY, ZERO, Basis, Constant, basis_enclosure, exactly
from archline.growth.lattices import ONE as NO_GROWTH
from archline.growth.lattices import GrowthAtom, Powers, power_above
from archline.growth.monomials import single
from archline.numbers import ctx, fmpq, fmpz
from archline.records import field, record


@record(eq=False, slots=True)
class Inequality:
    """small <= C*large for some constant C, at all sizes in question.

    `because` says why: the rule and its particulars, for certificates. `uses` is the proof that the rule needs.
    """

    small: Powers
    large: Powers
    because: Mapping[str, object]
    uses: Product = ()
    gap: Powers = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "gap", self.large / self.small)


Product: TypeAlias = tuple[tuple[Inequality, Constant], ...]
"""Inequalities, each raised to a constant power that is not negative, and multiplied."""


def at_least_one(atom: GrowthAtom) -> Inequality:
    """1 <= atom."""
    power = "^" in atom.key and not atom.key.startswith("log2(")
    rule = "exponential" if power else "log" if atom.argument else "size"
    return Inequality(NO_GROWTH, single(atom), {"rule": rule})


def completed(gap: Powers, used: Iterable[tuple[Inequality, Constant]]) -> Product | None:
    """The product of `used` and powers of 1 <= atom that proves 1 <= C*gap; None where there is none."""
    pairs = [(each, times) for each, times in used if times]
    rest = gap
    for each, times in pairs:
        rest = rest / each.gap.power(times)
    if not rest.never_shrinks:
        return None
    return (*pairs, *((at_least_one(atom), power) for atom, power in rest.powers.items()))


ENCLOSURE_BITS = 96


Weights: TypeAlias = tuple[tuple[Powers, Constant], ...]


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


def at_a_glance(left: Sequence[Powers], right: Sequence[Powers]) -> Proof | None:
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
    left: Sequence[Powers], right: Sequence[Powers], rows: Sequence[Inequality], bits: int = ENCLOSURE_BITS
) -> Proof | Direction | None:
    """Decide whether the smallest of `left` is at most a constant times the largest of `right`, under the rows.

    Irrationals are enclosed with so many bits. None where the sign of a constant is not certain.
    """
    return _Program(left, right, rows, bits).solve()


def order_of_powers(small: Powers, large: Powers, rows: Sequence[Inequality]) -> tuple[fmpq, Product] | None:
    """A power k and a proof of small <= C*large^k from the rows, as far as their exponents are rational."""
    usable = [row for row in rows if row.gap.is_rational]
    if not (small.is_rational and large.is_rational):
        return None
    atoms = list(dict.fromkeys(atom for each in (small, large, *(row.gap for row in usable)) for atom in each.powers))
    table = [[-each.gap.rational(atom) for atom in atoms] for each in usable]
    solution = maximise(
        list(map(small.rational, atoms)), [*table, list(map(large.rational, atoms))], [*([ZERO] * len(table)), ONE]
    )
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

    def __init__(self, left: Sequence[Powers], right: Sequence[Powers], rows: Sequence[Inequality], bits: int) -> None:
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

    def row(self, monomial: Powers) -> list[fmpq]:
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
        gap = NO_GROWTH
        for monomial, weight in zip(self.right, right, strict=True):
            gap = gap * monomial.power(weight)
        for monomial, weight in zip(self.left, left, strict=True):
            gap = gap * monomial.power(-weight)
        uses = completed(gap, zip(self.rows, times[second:], strict=True))
        if uses is None:
            return None
        return Proof(_weighted(self.left, left), _weighted(self.right, right), uses)


def _irrationals(monomial: Powers) -> int:
    return sum(not power.is_rational for power in monomial.powers.values())


def _with_base(others: Sequence[Constant]) -> list[Constant]:
    """Weights with sum 1, the base's first."""
    return [UNITY - sum(others, Constant(ZERO)), *others]


def _weighted(clause: Sequence[Powers], weights: Sequence[Constant]) -> Weights:
    return tuple((each, weight) for each, weight in zip(clause, weights, strict=True) if weight)


@cache
def _ends(basis: Basis, bits: int) -> tuple[fmpq, fmpq]:
    """Rationals with a power of 2 below that enclose an irrational closely."""
    with ctx.workprec(2 * bits):
        value = basis_enclosure(basis)
    scale = fmpz(1) << bits
    low, high = exactly(value.lower()) * scale, exactly(value.upper()) * scale
    return fmpq(low.floor(), scale), fmpq(high.ceil(), scale)


@record
class Rows:
    """The inequalities that bear on some monomials, and the logarithms whose argument is not known to be large."""

    inequalities: tuple[Inequality, ...]
    open_logs: tuple[GrowthAtom, ...]
    logs: tuple[GrowthAtom, ...]


class Cone:
    """Facts and assumptions. Logarithms are at most `slow`, a small power, of what they are of."""

    def __init__(self, base: Sequence[Inequality], slow: fmpq) -> None:
        self.base = tuple(base)
        self.slow = slow
        self._growth_of = cache(self._find_growth)
        self._order: dict[tuple[GrowthAtom, GrowthAtom], Inequality | None] = {}

    def assuming(self, more: Iterable[Inequality]) -> Cone:
        """With the inequalities of a case added."""
        return Cone((*self.base, *more), self.slow)

    def rows(self, monomials: Iterable[Powers]) -> Rows:
        """The inequalities that may matter for a comparison of monomials."""
        atoms = dict.fromkeys(atom for each in monomials for atom in each.powers)
        touched = self._reach(atoms)
        logs = sorted((atom for atom in atoms if atom.argument is not None), key=_depth)
        found = list(touched)
        open_logs = []
        for each in logs:
            growth = self._growth_of(each)
            if growth is None:
                open_logs.append(each)
            else:
                found.append(growth)
        found += self._between_powers(list(atoms))
        # Logarithms of logarithms are ordered as the logarithms are.
        for small in logs:
            for large in logs:
                if small is not large:
                    order = self._order_of(small, large, found)
                    if order is not None:
                        found.append(order)
        return Rows(tuple(found), tuple(open_logs), tuple(logs))

    def _between_powers(self, atoms: Sequence[GrowthAtom]) -> Iterator[Inequality]:
        for small, large in permutations(atoms, 2):
            power = power_above(small, large, self.slow)
            if power is not None:
                because = {"rule": "powers", "power": str(power)}
                yield Inequality(single(small), single(large).power(Constant(power)), because)

    def _reach(self, atoms: dict[GrowthAtom, None]) -> list[Inequality]:
        """The facts connected with the atoms, to which theirs are added."""
        waiting = list(self.base)
        found: list[Inequality] = []
        grown = True
        while grown:
            _add_arguments(atoms)
            near = [each for each in waiting if any(atom in atoms for atom in each.gap.powers)]
            for each in near:
                atoms.update(dict.fromkeys(each.gap.powers))
            found += near
            waiting = [each for each in waiting if each not in near]
            grown = bool(near)
        return found

    def _find_growth(self, atom: GrowthAtom) -> Inequality | None:
        """log(w) <= C*w^slow where w is at least a constant, log(w) <= C where it is at most one."""
        argument, own = atom.argument, single(atom)
        assert argument is not None
        large = self._bounded_below(argument)
        if large is not None:
            power = argument.power(Constant(self.slow))
            return Inequality(own, power, {"rule": "log below power", "power": str(self.slow)}, large.uses)
        small = self._bounded_below(argument.inverse())
        return None if small is None else Inequality(own, NO_GROWTH, {"rule": "log of bounded"}, small.uses)

    def _bounded_below(self, monomial: Powers) -> Proof | None:
        answer = solve([NO_GROWTH], [monomial], self.base)
        return answer if isinstance(answer, Proof) else None

    def _order_of(self, small: GrowthAtom, large: GrowthAtom, rows: Sequence[Inequality]) -> Inequality | None:
        if (small, large) not in self._order:
            self._order[small, large] = self._find_order(small, large, rows)
        return self._order[small, large]

    def _find_order(self, small: GrowthAtom, large: GrowthAtom, rows: Sequence[Inequality]) -> Inequality | None:
        """log(v) <= C*log(w) where v <= C*w^k."""
        v, w = small.argument, large.argument
        assert v is not None
        assert w is not None
        if not self.base and v.never_shrinks and w.never_shrinks and not set(v.powers) <= set(w.powers):
            return None
        known = order_of_powers(v, w, [row for row in rows if row.because["rule"] != "log below power"])
        if known is None:
            return None
        rule = {"rule": "order of logs", "power": str(known[0])}
        return Inequality(single(small), single(large), rule, known[1])


def _add_arguments(atoms: dict[GrowthAtom, None]) -> None:
    """Add what the logarithms are of, and the logarithms in that."""
    waiting = [atom for atom in atoms if atom.argument is not None]
    while waiting:
        argument = waiting.pop().argument
        assert argument is not None
        new = [atom for atom in argument.powers if atom not in atoms]
        atoms.update(dict.fromkeys(new))
        waiting += [atom for atom in new if atom.argument is not None]


def _depth(atom: GrowthAtom) -> tuple[int, str]:
    depth, inner = 0, atom.argument
    while inner is not None:
        depth += 1
        inner = next((each.argument for each in inner.powers if each.argument is not None), None)
    return depth, atom.key
