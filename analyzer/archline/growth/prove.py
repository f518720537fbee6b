"""Search a proof of f = O(g): a linear program for each pair of clauses, and cases where one program does not decide.

f is the largest of several clauses, each the smallest of its monomials, g the smallest of several, each the largest of
its monomials. So f = O(g) if and only if every clause of f is bounded by every clause of g.

The program that looks for a direction lets logarithms be anything small. Its proposal is tried as a counterexample;
where its logarithms are inconsistent, simple curves are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from archline.algebra.reals import ZERO, Constant, exact_midpoint
from archline.growth.counterexample import Divergence, Refuter
from archline.growth.direction_lp import (
    ENCLOSURE_BITS,
    Direction,
    Inequality,
    InequalityCone,
    Proof,
    RelevantInequalities,
    compare_clauses,
    prove_dominance_by_quotient,
)
from archline.growth.lattices import ONE as NO_GROWTH
from archline.growth.lattices import Clause, GrowthAtom, Powers
from archline.growth.log_domain import Alternatives, Domain
from archline.numbers import fmpq
from archline.records import record

PRECISION = 400


def evaluate_in_direction(monomial: Powers, values: Mapping[GrowthAtom, fmpq]) -> fmpq:
    """Return the approximate logarithm of a monomial, given the logarithms of its atoms in a direction."""
    total = ZERO
    for atom, power in monomial.powers.items():
        total += approximate_power(power) * values.get(atom, ZERO)
    return total


def approximate_power(power: Constant) -> fmpq:
    """Return a rational close to a constant."""
    return power.rational if power.is_rational else exact_midpoint(power.enclose_at_precision(PRECISION).mid())


MAX_DEPTH = 6
MAX_PROGRAMS = 160
FEW_TRIALS = 18
MAX_POWER = 1 << 16
SLOW = fmpq(1, 1 << 48)


@record
class ProofCase:
    """One case of a split: the inequalities that it assumes, and the proof under them."""

    assumed: tuple[Inequality, ...]
    proof: Tree


@record
class ProofByCases:
    """A split into cases that cover all points; `document` gives the reason."""

    document: Mapping[str, object]
    cases: tuple[ProofCase, ...]


Tree: TypeAlias = Proof | ProofByCases
_Split: TypeAlias = tuple[Mapping[str, object], tuple[tuple[Inequality, ...], ...]]


class ProofSearch:
    """Searches for a proof that f = O(g); sets `divergence` when a counterexample is verified."""

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
        self._cone = domain.get_shared_cone(names, slow)
        self._bits = bits
        self._left = MAX_PROGRAMS
        self.divergence: Divergence | None = None

    def prove(self, left: Sequence[Clause], right: Sequence[Clause]) -> list[Tree] | None:
        """Prove for every pair that the left clause grows at most as the right one; None if one pair has no proof."""
        pairs = [(_sort_clause(small), _sort_clause(large)) for small in left for large in right]
        proofs: list[Tree | None] = []
        # Without cases first: a counterexample for one pair makes the remaining proofs needless.
        for small, large in pairs:
            proof: Tree | None = prove_dominance_by_quotient(small, large)
            if proof is None:
                proof = self._prove_pair(small, large, self._cone, MAX_DEPTH)
            if self.divergence is not None:
                return None
            proofs.append(proof)
        # Cases take long; simple curves are tried before them.
        if None in proofs and self._refuter is not None:
            self.divergence = self._refuter.refute_by_trials(FEW_TRIALS)
            if self.divergence is not None:
                return None
        for index, (small, large) in enumerate(pairs):
            if proofs[index] is None:
                proof = self._prove_pair(small, large, self._cone, 0)
                if proof is None:
                    return None
                proofs[index] = proof
        return [proof for proof in proofs if proof is not None]

    def _prove_pair(
        self, left: Sequence[Powers], right: Sequence[Powers], cone: InequalityCone, depth: int
    ) -> Tree | None:
        """Prove that clause `left` is O of clause `right` under the inequalities of a cone; None if no proof is found.

        Sets `divergence` if a counterexample is found.
        """
        self._left -= 1
        if self._left < 0:
            return None
        base = right[0].inverse()
        rows = cone.find_relevant([monomial * base for monomial in (*left, *right[1:])])
        answer = compare_clauses(left, right, rows.inequalities, self._bits)
        if isinstance(answer, Proof):
            return answer
        if answer is None:
            return None
        if self._refuter is not None:
            self.divergence = self._refuter.refute_along_direction(answer.values, cone.slow)
        if self.divergence is not None or depth == MAX_DEPTH:
            return None
        for document, branches in self._propose_splits(answer, rows, depth):
            return self._prove_by_cases(left, right, cone, depth, document, branches)
        return None

    def _prove_by_cases(
        self,
        left: Sequence[Powers],
        right: Sequence[Powers],
        cone: InequalityCone,
        depth: int,
        document: Mapping[str, object],
        branches: Sequence[tuple[Inequality, ...]],
    ) -> Tree | None:
        cases = []
        for assumed in branches:
            proof = self._prove_pair(left, right, cone.with_inequalities(assumed), depth + 1)
            if self.divergence is not None:
                return None
            cases.append(None if proof is None else ProofCase(assumed, proof))
        proved = tuple(case for case in cases if case is not None)
        return ProofByCases(document, proved) if len(proved) == len(cases) else None

    def _propose_splits(self, answer: Direction, rows: RelevantInequalities, depth: int) -> Iterator[_Split]:
        """Yield splits whose cases all exclude the direction, the most informative first."""
        values = answer.values
        for atom in rows.open_logs:
            assert atom.argument is not None
            yield _split_by_comparison(atom.argument, NO_GROWTH, depth)
        for fact in self._domain.alternatives:
            if not any(all(evaluate_in_direction(row.gap, values) >= 0 for row in branch) for branch in fact.branches):
                yield _split_by_fact(fact, depth)
        yield from _split_by_log_order(rows, values, depth)


def uses_log_bounds(tree: Tree) -> bool:
    """Whether a proof uses that a logarithm is below a power."""
    if isinstance(tree, ProofByCases):
        return any(uses_log_bounds(case.proof) for case in tree.cases)
    return any(inequality.because["rule"] == "log below power" for inequality, _ in tree.uses)


def _sort_clause(clause: Clause) -> list[Powers]:
    return sorted(clause, key=str) if len(clause) > 1 else list(clause)


def _assume_inequality(small: Powers, large: Powers, depth: int) -> Inequality:
    return Inequality(small, large, {"rule": "case", "depth": depth})


def _split_by_comparison(left: Powers, right: Powers, depth: int) -> _Split:
    """Split into the cases left <= right and right <= left."""
    document = {"rule": "compare", "left": left.encode_powers(), "right": right.encode_powers()}
    return document, ((_assume_inequality(left, right, depth),), (_assume_inequality(right, left, depth),))


def _split_by_fact(fact: Alternatives, depth: int) -> _Split:
    branches = tuple(
        tuple(_assume_inequality(row.small, row.large, depth) for row in branch) for branch in fact.branches
    )
    return fact.document, branches


def _split_by_log_order(rows: RelevantInequalities, values: Mapping[GrowthAtom, fmpq], depth: int) -> Iterator[_Split]:
    """Split into v <= w^k and w^k <= v, if a direction satisfies the first and yet has log(v) above log(w)."""
    for power, small, large in _find_disordered_logs(rows, values):
        yield _split_by_comparison(small, large.power(Constant(power)), depth)


def _find_disordered_logs(
    rows: RelevantInequalities, values: Mapping[GrowthAtom, fmpq]
) -> list[tuple[fmpq, Powers, Powers]]:
    """Find powers k and monomials v <= w^k in a direction that has log(v) above log(w)."""
    result = []
    for small in rows.logs:
        for large in rows.logs:
            assert small.argument is not None
            assert large.argument is not None
            v, w = evaluate_in_direction(small.argument, values), evaluate_in_direction(large.argument, values)
            if values.get(small, 0) > values.get(large, 0) and w > 0:
                power = max(fmpq(1), fmpq((2 * v / w).ceil()))
                if power < MAX_POWER:
                    result.append((power, small.argument, large.argument))
    return sorted(result, key=lambda triple: (triple[0], str(triple[1]), str(triple[2])))
