"""Directions in which logarithms are what they are: of a size like 2^T, log2 is like T, log2(log2) like log2(T).

The program that looks for a direction lets logarithms be anything small. Once it has proposed which sizes grow like
2^T, like T, like log2(T), all logarithms are settled, and a second program finds exponents that go with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from archline.algebra.asymptotic.constants import ONE, ZERO, Constant, exactly
from archline.algebra.asymptotic.direction_lp import Direction, Inequality
from archline.algebra.asymptotic.tropical import GrowthAtom, Monomial
from archline.algebra.lp.exact import Optimum, maximise
from archline.numbers import fmpq

DEEPEST = 3
SPREADS = (8, 1 << 16)
"""By how much the exponents of one level may differ; small numbers are tried first."""
PRECISION = 400
FROM_FACTS = ("fact", "cache", "case")


def settled(
    left: Sequence[Monomial],
    right: Sequence[Monomial],
    rows: Sequence[Inequality],
    guess: Direction,
    slow: fmpq,
    lowered: Monomial | None = None,
) -> Direction | None:
    """A direction with the levels of the guess, each `slow` times the one before, in which left exceeds right.

    `lowered` is to grow like T, whatever the guess says of it.
    """
    stated = [row for row in rows if row.because["rule"] in FROM_FACTS]
    for spread in SPREADS:
        found = _Levels(guess.values, slow, lowered, spread).solve(left, right, stated)
        if found is not None:
            return found
    return None


class _Levels:
    def __init__(self, values: Mapping[GrowthAtom, fmpq], slow: fmpq, lowered: Monomial | None, spread: int) -> None:
        self._values = values
        self._slow = slow
        self._lowered = lowered
        self._spread = spread
        self._top = max(values.values(), default=ZERO)
        # Sizes that stay constant in the guess may still grow a little; the next guess takes note of it.
        self._sizes = {atom: self._level_of(value) for atom, value in values.items() if atom.argument is None}
        if lowered is not None and len(lowered.powers) == 1:
            self._sizes[next(iter(lowered.powers))] = 1

    def solve(
        self, left: Sequence[Monomial], right: Sequence[Monomial], rows: Iterable[Inequality]
    ) -> Direction | None:
        if not self._top:
            return None
        base = right[0].inverse()
        table: list[list[fmpq]] = []
        limits: list[fmpq] = []

        def add(monomial: Monomial, sign: int, tail: tuple[int, int]) -> None:
            row, known = self._row(monomial)
            table.append([*(sign * each for each in row), fmpq(tail[0]), fmpq(tail[1])])
            limits.append(-sign * known)

        for each in left:
            add(each * base, -1, (1, 1))
        for each in right[1:]:
            add(each * base, 1, (-1, 0))
        for row in rows:
            add(row.gap, -1, (0, 0))
        if self._lowered is not None:
            add(self._lowered, -1, (0, 0))
            limits[-1] -= self._slow
            add(self._lowered, 1, (0, 0))
            limits[-1] += self._spread * self._slow
        count = len(self._sizes)
        for index, level in enumerate(self._sizes.values()):
            unit = [ONE if place == index else ZERO for place in range(count + 2)]
            table.append(unit)
            limits.append(self._spread * self._slow ** (1 if level is None else level))
            if level is not None:
                table.append([-each for each in unit])
                limits.append(-(self._slow**level))
        solution = maximise([*([ZERO] * (count + 1)), ONE], [*table, [*([ZERO] * (count + 1)), ONE]], [*limits, ONE])
        if not isinstance(solution, Optimum) or solution.value <= 0:
            return None
        return Direction(dict(zip(self._sizes, solution.point, strict=False)))

    def _row(self, monomial: Monomial) -> tuple[list[fmpq], fmpq]:
        """The logarithm of a monomial: coefficients of the growing sizes', and what its logarithms add."""
        row, known = dict.fromkeys(self._sizes, ZERO), ZERO
        for atom, power in monomial.powers.items():
            if atom in row:
                row[atom] += near(power)
            else:
                level = self._level(atom)
                known += near(power) * self._slow**level if level is not None else ZERO
        return list(row.values()), known

    def _level(self, atom: GrowthAtom) -> int | None:
        """The level of an atom's logarithm; None where it stays constant."""
        if atom.argument is None:
            return self._sizes.get(atom)
        inner: int | None
        if atom.argument == self._lowered:
            inner = 1
        elif len(atom.argument.powers) == 1:
            inner = self._level(next(iter(atom.argument.powers)))
        else:
            inner = self._level_of(value_of(atom.argument, self._values))
        return None if inner is None else inner + 1

    def _level_of(self, value: fmpq) -> int | None:
        """The level whose logarithms are near the value, by the square roots of the powers of `slow`."""
        if value <= 0:
            return None
        share = (value / self._top) ** 2
        return next((level for level in range(DEEPEST) if share >= self._slow ** (2 * level + 1)), None)


def value_of(monomial: Monomial, values: Mapping[GrowthAtom, fmpq]) -> fmpq:
    """The logarithm of a monomial in a direction, near enough for a proposal."""
    total = ZERO
    for atom, power in monomial.powers.items():
        total += near(power) * values.get(atom, ZERO)
    return total


def near(power: Constant) -> fmpq:
    """A rational close to a constant."""
    return power.rational if power.is_rational else exactly(power.enclosed(PRECISION).mid())
