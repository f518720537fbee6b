"""Proof search for f = O(g): a linear program for each pair of clauses, and cases where one program does not decide.

f is the largest of several clauses, each the smallest of its monomials, g the smallest of several, each the largest of
its monomials. So f = O(g) if and only if every clause of f is bounded by every clause of g.

The program that looks for a direction lets logarithms be anything small. Once it has proposed which sizes grow like
2^T, like T, like log2(T), all logarithms are `settled`: of a size like 2^T, log2 is like T, log2(log2) like log2(T). A
second program finds exponents that go with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from archline.algebra.asymptotic.constants import ONE, UNITY, ZERO, Constant, exactly
from archline.algebra.asymptotic.counterexample import Divergence, Refuter
from archline.algebra.asymptotic.direction_lp import (
    ENCLOSURE_BITS,
    Cone,
    Direction,
    Inequality,
    Proof,
    Rows,
    at_a_glance,
    solve,
)
from archline.algebra.asymptotic.log_domain import Alternatives, Domain
from archline.algebra.asymptotic.tropical import ONE as NO_GROWTH
from archline.algebra.asymptotic.tropical import Clause, GrowthAtom, Monomial, log_of
from archline.algebra.lp.exact import Optimum, maximise
from archline.numbers import fmpq
from archline.records import record

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


MAX_DEPTH = 6
MAX_PROGRAMS = 160
MAX_GUESSES = 4
FEW_TRIALS = 12
MAX_POWER = 1 << 16
SLOW = fmpq(1, 1 << 48)


@record
class ProofCase:
    """One case of a split: what it assumes, and the proof under it."""

    assumed: tuple[Inequality, ...]
    proof: Tree


@record
class Cases:
    """A split into cases of which one holds at each point; `document` says why."""

    document: Mapping[str, object]
    cases: tuple[ProofCase, ...]


Tree: TypeAlias = Proof | Cases
_Split: TypeAlias = tuple[Mapping[str, object], tuple[tuple[Inequality, ...], ...]]


class Search:
    """One question; `divergence` is set as soon as a counterexample is verified."""

    def __init__(
        self,
        domain: Domain,
        names: frozenset[str],
        refuter: Refuter | None,
        slow: fmpq = SLOW,
        bits: int = ENCLOSURE_BITS,
    ) -> None:
        self._domain = domain
        self._refuter = refuter
        self._cone = domain.cone(names, slow)
        self._bits = bits
        self._left = MAX_PROGRAMS
        self.divergence: Divergence | None = None

    def prove(self, left: Sequence[Clause], right: Sequence[Clause]) -> list[Tree] | None:
        """A proof for every pair of clauses; None where one was not found."""
        pairs = [(_ordered(small), _ordered(large)) for small in left for large in right]
        proofs: list[Tree | None] = []
        # Without cases first: a counterexample for one pair makes proofs for the others needless.
        for small, large in pairs:
            proof: Tree | None = at_a_glance(small, large)
            if proof is None:
                proof = self._decide(small, large, self._cone, MAX_DEPTH)
            if self.divergence is not None:
                return None
            proofs.append(proof)
        # Cases take long; what simple curves show need not wait for them.
        if None in proofs and self._refuter is not None:
            self.divergence = self._refuter.by_trial(FEW_TRIALS)
            if self.divergence is not None:
                return None
        for index, (small, large) in enumerate(pairs):
            if proofs[index] is None:
                proof = self._decide(small, large, self._cone, 0)
                if proof is None:
                    return None
                proofs[index] = proof
        return [proof for proof in proofs if proof is not None]

    def _decide(self, left: Sequence[Monomial], right: Sequence[Monomial], cone: Cone, depth: int) -> Tree | None:
        """A proof in a case, or a counterexample, or neither."""
        self._left -= 1
        if self._left < 0:
            return None
        base = right[0].inverse()
        rows = cone.rows([each * base for each in (*left, *right[1:])])
        answer = solve(left, right, rows.inequalities, self._bits)
        if isinstance(answer, Proof):
            return answer
        if answer is None:
            return None
        if self._refuter is not None:
            self._follow(self._refuter, left, right, rows, answer, cone.slow)
        if self.divergence is not None or depth == MAX_DEPTH:
            return None
        for document, branches in self._splits(answer, rows, depth):
            return self._by_cases(left, right, cone, depth, document, branches)
        return None

    def _follow(
        self,
        refuter: Refuter,
        left: Sequence[Monomial],
        right: Sequence[Monomial],
        rows: Rows,
        answer: Direction,
        slow: fmpq,
    ) -> None:
        """Try the direction as a counterexample, then with its logarithms settled, each time from the last.

        Where it has v <= w^k and yet log(v) above log(w), w may in truth be far below v: like T beside 2^T.
        """
        lowered = [None, *(large for _, _, large in _disordered(rows, answer.values))]
        for monomial in lowered[:MAX_GUESSES]:
            guess: Direction | None = answer
            for _ in range(MAX_GUESSES):
                if guess is None:
                    break
                self.divergence = refuter.by_direction(guess.values, slow)
                if self.divergence is not None:
                    return
                guess = settled(left, right, rows.inequalities, guess, slow, monomial)

    def _by_cases(
        self,
        left: Sequence[Monomial],
        right: Sequence[Monomial],
        cone: Cone,
        depth: int,
        document: Mapping[str, object],
        branches: Sequence[tuple[Inequality, ...]],
    ) -> Tree | None:
        cases = []
        for assumed in branches:
            proof = self._decide(left, right, cone.assuming(assumed), depth + 1)
            if self.divergence is not None:
                return None
            cases.append(None if proof is None else ProofCase(assumed, proof))
        found = tuple(each for each in cases if each is not None)
        return Cases(document, found) if len(found) == len(cases) else None

    def _splits(self, answer: Direction, rows: Rows, depth: int) -> Iterator[_Split]:
        """Cases that the direction does not fall into as a whole, the most telling first."""
        values = answer.values
        for atom in rows.open_logs:
            assert atom.argument is not None
            yield _comparison(atom.argument, NO_GROWTH, depth)
        for each in self._domain.alternatives:
            if not any(all(value_of(row.gap, values) >= 0 for row in branch) for branch in each.branches):
                yield _alternatives(each, depth)
        yield from _log_quotients(rows, values, depth)
        yield from _log_orders(rows, values, depth)


def bounds_logs(tree: Tree) -> bool:
    """Whether a proof uses that a logarithm is below a power."""
    if isinstance(tree, Cases):
        return any(bounds_logs(case.proof) for case in tree.cases)
    return any(inequality.because["rule"] == "log below power" for inequality, _ in tree.uses)


def _ordered(clause: Clause) -> list[Monomial]:
    return sorted(clause, key=str) if len(clause) > 1 else list(clause)


def _assumed(small: Monomial, large: Monomial, depth: int) -> Inequality:
    return Inequality(small, large, {"rule": "case", "depth": depth})


def _comparison(left: Monomial, right: Monomial, depth: int) -> _Split:
    """Left <= right, or right <= left."""
    document = {"rule": "compare", "left": left.document(), "right": right.document()}
    return document, ((_assumed(left, right, depth),), (_assumed(right, left, depth),))


def _alternatives(fact: Alternatives, depth: int) -> _Split:
    branches = tuple(tuple(_assumed(row.small, row.large, depth) for row in branch) for branch in fact.branches)
    return fact.document, branches


def _log_quotients(rows: Rows, values: Mapping[GrowthAtom, fmpq], depth: int) -> Iterator[_Split]:
    """log(P/N) <= C*max of log(p), and log(p) <= C*max(log(P/N), max of log(q)), for the sizes p of P and q of N."""
    logs = set(rows.logs)
    for atom in rows.logs:
        assert atom.argument is not None
        above = [log_of(each) for each, power in atom.argument.powers.items() if power.sign() > 0]
        below = [log_of(each) for each, power in atom.argument.powers.items() if power.sign() < 0]
        if not below:
            continue
        own = Monomial({atom: UNITY})
        known = [each for each in above if each in logs]
        if len(known) == len(above) and all(values.get(each, 0) < values.get(atom, 0) for each in above):
            document = {"rule": "log of quotient, above", "log": atom.key}
            yield document, tuple((_assumed(own, Monomial({each: UNITY}), depth),) for each in above)
        for each in known:
            if all(values.get(other, 0) < values.get(each, 0) for other in (atom, *below)):
                document = {"rule": "log of quotient, below", "log": atom.key, "of": each.key}
                larger = [Monomial({other: UNITY}) for other in (atom, *below)]
                yield document, tuple((_assumed(Monomial({each: UNITY}), other, depth),) for other in larger)


def _log_orders(rows: Rows, values: Mapping[GrowthAtom, fmpq], depth: int) -> Iterator[_Split]:
    """V <= w^k or w^k <= v, where the direction has the first and yet log(v) above log(w)."""
    for power, small, large in _disordered(rows, values):
        yield _comparison(small, large.power(Constant(power)), depth)


def _disordered(rows: Rows, values: Mapping[GrowthAtom, fmpq]) -> list[tuple[fmpq, Monomial, Monomial]]:
    """Powers k and monomials v <= w^k in the direction, that has log(v) above log(w)."""
    found = []
    for small in rows.logs:
        for large in rows.logs:
            assert small.argument is not None
            assert large.argument is not None
            v, w = value_of(small.argument, values), value_of(large.argument, values)
            if values.get(small, 0) > values.get(large, 0) and w > 0:
                power = max(fmpq(1), fmpq((2 * v / w).ceil()))
                if power < MAX_POWER:
                    found.append((power, small.argument, large.argument))
    return sorted(found, key=lambda each: (each[0], str(each[1]), str(each[2])))
