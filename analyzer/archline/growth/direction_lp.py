"""Decide by a linear program whether every monomial of one clause may outgrow all monomials of another.

The unknowns are the logarithms of the atoms, which are not negative, along a direction in which sizes grow. An
irrational exponent such as log2(7) brings a second unknown for each atom, log2(7) times its logarithm, known to lie
between two rational multiples of it. So all numbers stay rational, and the multipliers of a proof become constants.

A proof consists of inequalities between monomials, up to constant factors. The known inequalities between sizes in
one case of a proof form an `InequalityCone`; inequalities of logarithms are derived here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import permutations
from typing import TypeAlias

from archline.algebra.lp.exact import Optimum, maximise
from archline.algebra.reals import ONE, ONE_CONSTANT, ZERO, Basis, Constant, enclose_basis, exact_midpoint
from archline.growth.lattices import ONE as NO_GROWTH
from archline.growth.lattices import GrowthAtom, Powers, find_dominating_exponent
from archline.growth.monomials import make_monomial
from archline.numbers import ctx, fmpq, fmpz
from archline.records import field, record


@record(eq=False, slots=True)
class Inequality:
    """The inequality small <= C*large for some constant C, at all sizes in question.

    `because` holds the rule and its particulars, for certificates. `uses` is the proof that the rule needs.
    """

    small: Powers
    large: Powers
    because: Mapping[str, object]
    uses: Product = ()
    gap: Powers = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "gap", self.large / self.small)


Product: TypeAlias = tuple[tuple[Inequality, Constant], ...]
"""Inequalities, each raised to a nonnegative constant power, and multiplied."""


def make_at_least_one_inequality(atom: GrowthAtom) -> Inequality:
    """Return the inequality 1 <= atom."""
    power = "^" in atom.key and not atom.key.startswith("log2(")
    rule = "exponential" if power else "log" if atom.argument else "size"
    return Inequality(NO_GROWTH, make_monomial(atom), {"rule": rule})


def complete_product(gap: Powers, used: Iterable[tuple[Inequality, Constant]]) -> Product | None:
    """Complete `used` by powers of 1 <= atom to a product that proves 1 <= C*gap; None if there is none."""
    pairs = [(inequality, times) for inequality, times in used if times]
    rest = gap
    for inequality, times in pairs:
        rest = rest / inequality.gap.power(times)
    if not rest.never_shrinks:
        return None
    return (*pairs, *((make_at_least_one_inequality(atom), power) for atom, power in rest.powers.items()))


ENCLOSURE_BITS = 96


Weights: TypeAlias = tuple[tuple[Powers, Constant], ...]


@record
class Proof:
    """A proof that a clause is O of another: `uses` bounds a weighted geometric mean of one by that of the other."""

    left: Weights
    right: Weights
    uses: Product


@record
class Direction:
    """Logarithms of atoms, in proportion, along which the left clause outgrows the right one in the linear program."""

    values: Mapping[GrowthAtom, fmpq]


def prove_dominance_by_quotient(left: Sequence[Powers], right: Sequence[Powers]) -> Proof | None:
    """Prove that a minimum is O of a maximum, from one monomial of each; small/large must have no growing factor.

    `left` are the monomials of the minimum, `right` those of the maximum. None if no pair is found.
    """
    for small in left:
        for large in right:
            gap = large / small
            if gap.never_shrinks:
                uses = complete_product(gap, ())
                assert uses is not None
                return Proof(((small, ONE_CONSTANT),), ((large, ONE_CONSTANT),), uses)
    return None


def compare_clauses(
    left: Sequence[Powers], right: Sequence[Powers], rows: Sequence[Inequality], bits: int = ENCLOSURE_BITS
) -> Proof | Direction | None:
    """Decide whether the smallest of `left` is at most a constant times the largest of `right`.

    `rows` are the inequalities that hold; `bits` is the precision of enclosures of irrationals. None if the sign of a
    constant is not determined.
    """
    return _DirectionProgram(left, right, rows, bits).solve()


def find_least_bounding_power(small: Powers, large: Powers, rows: Sequence[Inequality]) -> tuple[fmpq, Product] | None:
    """Return the least k and a proof of small <= C*large^k from the rows with rational exponents, or None."""
    usable = [row for row in rows if row.gap.is_rational]
    if not (small.is_rational and large.is_rational):
        return None
    atoms = list(dict.fromkeys(atom for term in (small, large, *(row.gap for row in usable)) for atom in term.powers))
    table = [[-row.gap.rational_power(atom) for atom in atoms] for row in usable]
    solution = maximise(
        list(map(small.rational_power, atoms)),
        [*table, list(map(large.rational_power, atoms))],
        [*([ZERO] * len(table)), ONE],
    )
    if not isinstance(solution, Optimum):
        return None
    *times, power = solution.multipliers
    gap = large.power(Constant(power)) / small
    uses = complete_product(gap, zip(usable, map(Constant, times), strict=True))
    return None if uses is None else (power, uses)


class _DirectionProgram:
    """The linear program that searches a direction in which the smallest of `left` exceeds the largest of `right`.

    Columns: the logarithms of atoms, t_above and t_below; the same again for each irrational; and the margin s. In
    logarithms, with the base a of the left and b of the right: s + t_above + t_below <= a/b, while t_above >= m/b for
    every other monomial m of the right and -t_below <= m/a for every other m of the left. So s > 0 if and only if left
    > right; with irrationals, which intervals enclose, a program without a solution s > 0 proves that no such
    direction exists.
    """

    def __init__(self, left: Sequence[Powers], right: Sequence[Powers], rows: Sequence[Inequality], bits: int) -> None:
        # A base without irrational powers lets weights be irrational.
        self.left, self.right = (sorted(side, key=_count_irrational_powers) for side in (left, right))
        self.rows = rows
        below, above = self.left[0].inverse(), self.right[0].inverse()
        self.main = self.left[0] * above
        self.under = [monomial * below for monomial in self.left[1:]]
        self.over = [monomial * above for monomial in self.right[1:]]
        monomials = [self.main, *self.under, *self.over, *(row.gap for row in rows)]
        self.atoms = list(dict.fromkeys(atom for monomial in monomials for atom in monomial.powers))
        powers = (power for monomial in monomials for power in monomial.powers.values() if power.terms)
        self.bases = list(dict.fromkeys(basis for power in powers for basis in power.terms))
        self.ends = [_enclose_basis(basis, bits) for basis in self.bases]
        self.place = {atom: index for index, atom in enumerate(self.atoms)}
        # One block of columns for the atoms and both t, one for each irrational: its excess over the lower end.
        self.count = len(self.atoms) + 2
        self.width = self.count * (1 + len(self.bases))
        self.block = {basis: index + 1 for index, basis in enumerate(self.bases)}
        self.table: list[list[fmpq]] = []
        # For each row of the table from an inequality: its index, and the constant to which it is raised.
        self.owners: list[tuple[int, Constant]] = []

    def solve(self) -> Proof | Direction | None:
        """Maximise the margin, at most 1: return a direction if it is positive, else a proof.

        None if a sign in the proof is not determined.
        """
        main = [-entry for entry in self.express_logarithm(self.main)]
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
        return self.read_proof(solution.multipliers)

    def express_logarithm(self, monomial: Powers) -> list[fmpq]:
        """Return the logarithm of a monomial in terms of the unknowns."""
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
        """Add a row for each monomial that t_above or t_below bounds, and for each inequality between logarithms."""
        signed = [
            *((smaller, self.count - 2) for smaller in self.under),
            *((larger.inverse(), self.count - 1) for larger in self.over),
            *((inequality.gap, None) for inequality in self.rows),
        ]
        for number, (monomial, t) in enumerate(signed):
            row = self.express_logarithm(monomial)
            if t is not None:
                row[t] = ONE
            self.add_row(row, number, Constant(ONE))
            if not monomial.is_rational:
                continue
            # A row stays true times (irrational - low), and times (high - irrational), which are both nonnegative.
            for block, (basis, (low, high)) in enumerate(zip(self.bases, self.ends, strict=True), 1):
                before, behind = block * self.count, self.width - (block + 1) * self.count
                excess = [*([ZERO] * before), *row[: self.count], *([ZERO] * behind)]
                self.add_row(excess, number, Constant(-low, {basis: ONE}))
                rest = [(high - low) * y - x for x, y in zip(excess, row, strict=True)]
                self.add_row(rest, number, Constant(high, {basis: -ONE}))

    def add_row(self, row: list[fmpq], owner: int, times: Constant) -> None:
        """Add the row of a quantity that is at least 0: the logarithm of inequality number `owner`, times `times`."""
        self.table.append([*(-entry for entry in row), ZERO])
        self.owners.append((owner, times))

    def add_enclosures(self) -> None:
        """Add for each unknown and irrational the row that bounds their product by the irrational's upper end."""
        for block, (low, high) in enumerate(self.ends, 1):
            for column in range(self.count):
                row = [ZERO] * (self.width + 1)
                row[block * self.count + column], row[column] = ONE, low - high
                self.table.append(row)

    def read_proof(self, multipliers: Sequence[fmpq]) -> Proof | None:
        """Return the proof that the dual solution (`multipliers`) gives; None if a sign is not determined."""
        total = multipliers[0]
        times = [Constant(ZERO)] * (len(self.under) + len(self.over) + len(self.rows))
        for multiplier, (number, constant) in zip(multipliers[1:], self.owners, strict=False):
            if multiplier:
                times[number] = times[number] + constant.scaled(multiplier / total)
        first, second = len(self.under), len(self.under) + len(self.over)
        left, right = _prepend_base_weight(times[:first]), _prepend_base_weight(times[first:second])
        if left[0].sign() < 0 or right[0].sign() < 0:
            return None
        gap = NO_GROWTH
        for monomial, weight in zip(self.right, right, strict=True):
            gap = gap * monomial.power(weight)
        for monomial, weight in zip(self.left, left, strict=True):
            gap = gap * monomial.power(-weight)
        uses = complete_product(gap, zip(self.rows, times[second:], strict=True))
        if uses is None:
            return None
        return Proof(_pair_weights(self.left, left), _pair_weights(self.right, right), uses)


def _count_irrational_powers(monomial: Powers) -> int:
    return sum(not power.is_rational for power in monomial.powers.values())


def _prepend_base_weight(others: Sequence[Constant]) -> list[Constant]:
    """Return the weights of a clause with that of its base in front, which makes their sum 1."""
    return [ONE_CONSTANT - sum(others, Constant(ZERO)), *others]


def _pair_weights(clause: Sequence[Powers], weights: Sequence[Constant]) -> Weights:
    return tuple((monomial, weight) for monomial, weight in zip(clause, weights, strict=True) if weight)


@cache
def _enclose_basis(basis: Basis, bits: int) -> tuple[fmpq, fmpq]:
    """Enclose an irrational closely by rationals whose denominator is a power of 2."""
    with ctx.workprec(2 * bits):
        value = enclose_basis(basis)
    scale = fmpz(1) << bits
    low, high = exact_midpoint(value.lower()) * scale, exact_midpoint(value.upper()) * scale
    return fmpq(low.floor(), scale), fmpq(high.ceil(), scale)


@record
class RelevantInequalities:
    """The inequalities that matter for some monomials; their logarithms, and those of unknown growth."""

    inequalities: tuple[Inequality, ...]
    open_logs: tuple[GrowthAtom, ...]
    logs: tuple[GrowthAtom, ...]


class InequalityCone:
    """The inequalities of facts and assumptions; logarithms are at most `slow`, a small power, of their argument."""

    def __init__(self, base: Sequence[Inequality], slow: fmpq) -> None:
        self.base = tuple(base)
        self.slow = slow
        self._growth_of = cache(self._bound_log_growth)
        self._order: dict[tuple[GrowthAtom, GrowthAtom], Inequality | None] = {}

    def with_inequalities(self, more: Iterable[Inequality]) -> InequalityCone:
        return InequalityCone((*self.base, *more), self.slow)

    def find_relevant(self, monomials: Iterable[Powers]) -> RelevantInequalities:
        """Return the inequalities that may matter for a comparison of monomials."""
        atoms = dict.fromkeys(atom for monomial in monomials for atom in monomial.powers)
        touched = self._find_connected_facts(atoms)
        logs = sorted((atom for atom in atoms if atom.argument is not None), key=_make_log_depth_key)
        inequalities = list(touched)
        open_logs = []
        for log in logs:
            growth = self._growth_of(log)
            if growth is None:
                open_logs.append(log)
            else:
                inequalities.append(growth)
        inequalities += self._iterate_power_inequalities(list(atoms))
        # Logarithms of logarithms are ordered as the logarithms are.
        for small in logs:
            for large in logs:
                if small is not large:
                    order = self._find_cached_order(small, large, inequalities)
                    if order is not None:
                        inequalities.append(order)
        return RelevantInequalities(tuple(inequalities), tuple(open_logs), tuple(logs))

    def _iterate_power_inequalities(self, atoms: Sequence[GrowthAtom]) -> Iterator[Inequality]:
        for small, large in permutations(atoms, 2):
            power = find_dominating_exponent(small, large, self.slow)
            if power is not None:
                because = {"rule": "powers", "power": str(power)}
                yield Inequality(make_monomial(small), make_monomial(large).power(Constant(power)), because)

    def _find_connected_facts(self, atoms: dict[GrowthAtom, None]) -> list[Inequality]:
        """Return the facts connected with the atoms, and add their atoms."""
        waiting = list(self.base)
        facts: list[Inequality] = []
        growing = True
        while growing:
            _add_arguments(atoms)
            near = [fact for fact in waiting if any(atom in atoms for atom in fact.gap.powers)]
            for fact in near:
                atoms.update(dict.fromkeys(fact.gap.powers))
            facts += near
            waiting = [fact for fact in waiting if fact not in near]
            growing = bool(near)
        return facts

    def _bound_log_growth(self, atom: GrowthAtom) -> Inequality | None:
        """Bound log(w) by C*w^slow where w is at least a constant, and by C where w is at most one.

        None if neither is proved.
        """
        argument, log = atom.argument, make_monomial(atom)
        assert argument is not None
        large = self._prove_bounded_below(argument)
        if large is not None:
            power = argument.power(Constant(self.slow))
            return Inequality(log, power, {"rule": "log below power", "power": str(self.slow)}, large.uses)
        small = self._prove_bounded_below(argument.inverse())
        return None if small is None else Inequality(log, NO_GROWTH, {"rule": "log of bounded"}, small.uses)

    def _prove_bounded_below(self, monomial: Powers) -> Proof | None:
        answer = compare_clauses([NO_GROWTH], [monomial], self.base)
        return answer if isinstance(answer, Proof) else None

    def _find_cached_order(self, small: GrowthAtom, large: GrowthAtom, rows: Sequence[Inequality]) -> Inequality | None:
        if (small, large) not in self._order:
            self._order[small, large] = self._find_order(small, large, rows)
        return self._order[small, large]

    def _find_order(self, small: GrowthAtom, large: GrowthAtom, rows: Sequence[Inequality]) -> Inequality | None:
        """Return log(v) <= C*log(w) where v <= C*w^k. None if no such k is proved."""
        v, w = small.argument, large.argument
        assert v is not None
        assert w is not None
        if not self.base and v.never_shrinks and w.never_shrinks and not set(v.powers) <= set(w.powers):
            return None
        bound = find_least_bounding_power(v, w, [row for row in rows if row.because["rule"] != "log below power"])
        if bound is None:
            return None
        rule = {"rule": "order of logs", "power": str(bound[0])}
        return Inequality(make_monomial(small), make_monomial(large), rule, bound[1])


def _add_arguments(atoms: dict[GrowthAtom, None]) -> None:
    """Add the arguments of logarithms, and the logarithms in these."""
    waiting = [atom for atom in atoms if atom.argument is not None]
    while waiting:
        argument = waiting.pop().argument
        assert argument is not None
        new = [atom for atom in argument.powers if atom not in atoms]
        atoms.update(dict.fromkeys(new))
        waiting += [atom for atom in new if atom.argument is not None]


def _make_log_depth_key(atom: GrowthAtom) -> tuple[int, str]:
    depth, inner = 0, atom.argument
    while inner is not None:
        depth += 1
        inner = next((inner_atom.argument for inner_atom in inner.powers if inner_atom.argument is not None), None)
    return depth, atom.key
