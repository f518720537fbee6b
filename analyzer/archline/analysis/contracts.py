"""Decides `ensures`: whether a derived cost equals, stays below or stays above what its author wrote."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from archline.algebra import atoms as a
from archline.algebra.evaluation import EvaluationError, evaluate
from archline.algebra.facts import Facts
from archline.algebra.polynomial import Poly, Symbol, TooComplexError, budget
from archline.analysis.costs import Cost, Costs
from archline.analysis.points import points
from archline.analysis.scope import NotStaticError, Scope, declared, static_value, with_fact
from archline.language import syntax as s
from archline.language.model import Module

Outcome = Literal["holds", "fails", "unknown", "not decided yet"]
MAX_RESIDUES = 8
MAX_RESOLVED = 2
MAX_TERM_PRODUCTS = 500_000


@dataclass(frozen=True)
class Verdict:
    """What became of one `ensures`. `point` holds the sizes at which it fails, if it does."""

    ensures: s.Ensures
    outcome: Outcome
    reason: str
    point: Mapping[str, int] | None = None


def decide(module: Module, algorithm: s.Algorithm, costs: Costs) -> tuple[Verdict, ...]:
    """The verdict on every `ensures` of the algorithm, in order."""
    scope = declared(module, algorithm)
    return tuple(_decide(ensures, algorithm, costs, scope) for ensures in algorithm.ensures)


def _decide(ensures: s.Ensures, algorithm: s.Algorithm, costs: Costs, scope: Scope) -> Verdict:
    if ensures.relation not in ("==", "<=", ">="):
        return Verdict(ensures, "not decided yet", "growth is not decided in this version")
    if ensures.metric not in costs.metrics:
        return Verdict(ensures, "not decided yet", f"`{ensures.metric}` is not derived in this version")
    cost = costs[ensures.metric]
    if cost.lower is None or cost.upper is None:
        return Verdict(ensures, "unknown", cost.reason or "the cost is unknown")
    facts = scope.facts
    for fact in ensures.when:
        facts = with_fact(facts, fact, scope)
    try:
        with budget(MAX_TERM_PRODUCTS):
            claimed = static_value(ensures.bound, scope.with_facts(facts))
            claim = _Claim(ensures, cost, cost.lower, cost.upper, claimed, facts)
            return claim.verdict(points(algorithm, scope, costs, ensures))
    except NotStaticError as problem:
        return Verdict(ensures, "unknown", f"the claim: {problem.reason}")
    except TooComplexError as problem:
        return Verdict(ensures, "unknown", str(problem))


@dataclass(frozen=True)
class _Claim:
    ensures: s.Ensures
    cost: Cost
    lower: Poly
    upper: Poly
    claimed: Poly
    facts: Facts

    def verdict(self, points: Iterator[Mapping[str, int]]) -> Verdict:
        if all(_nonnegative(margin, self.facts) for margin in self._margins()):
            trust = f", given what {', '.join(self.cost.declared)} declares" if self.cost.declared else ""
            return Verdict(self.ensures, "holds", "proved for all sizes" + trust)
        for point in points:
            reason = self._contradiction(point)
            if reason is not None:
                return Verdict(self.ensures, "fails", reason, point)
        if not self.cost.exact:
            return Verdict(self.ensures, "unknown", "the derived cost is only bounded, and its bounds do not decide it")
        return Verdict(self.ensures, "unknown", "no counterexample at the sizes tried, and no proof")

    def _margins(self) -> list[Poly]:
        """What must be nonnegative for the claim to hold."""
        rewrites = self.facts.rewrites
        above = self.claimed - self.upper.substitute(rewrites)
        below = self.lower.substitute(rewrites) - self.claimed
        match self.ensures.relation:
            case "==":
                return [above, below]
            case "<=":
                return [above]
        return [below]

    def _contradiction(self, point: Mapping[str, int]) -> str | None:
        try:
            lower, upper = evaluate(self.lower, point), evaluate(self.upper, point)
            claimed = evaluate(self.facts.restore(self.claimed), point)
        except EvaluationError:
            return None
        relation = self.ensures.relation
        too_much = relation in ("==", "<=") and lower > claimed
        too_little = relation in ("==", ">=") and upper < claimed
        # A count is a whole number at all sizes that run: elsewhere a `/` of sizes does not divide.
        if not (too_much or too_little) or lower.denominator != 1 or upper.denominator != 1:
            return None
        derived = str(lower) if lower == upper else f"between {lower} and {upper}"
        return f"derived {derived}, claimed {relation} {claimed}"


def _nonnegative(value: Poly, facts: Facts) -> bool:
    """A proof that the value is never negative, by residues where floors stand in the way."""
    value = facts.simplify(value)
    return facts.nonnegative(value) or _by_residues(value, facts, MAX_RESOLVED)


def _by_residues(value: Poly, facts: Facts, depth: int) -> bool:
    """Write a size as m*k + r for each r in 0..m, which resolves floors by m."""
    found = _floor_by_constant(value)
    if found is None or not depth:
        return False
    name, modulus = found
    if name not in facts.bounds:
        return False
    low = next((b.constant_term for b in facts.bounds[name].lower if b.is_constant), None)
    for residue in range(modulus):
        index = f"{name} // {modulus}"
        least = () if low is None else (Poly.constant(int(((low - residue) / modulus).ceil())),)
        inner = facts.with_symbol(index, least)
        case = value.substitute({name: Poly.symbol(index).scaled(modulus) + residue})
        case = inner.simplify(case)
        if not (inner.nonnegative(case) or _by_residues(case, inner, depth - 1)):
            return False
    return True


def _floor_by_constant(value: Poly) -> tuple[str, int] | None:
    for atom in sorted(value.atoms(), key=str):
        if isinstance(atom, a.Floor) and atom.modulus.is_constant:
            modulus = int(atom.modulus.constant_term.p)
            for symbol in atom.argument.atoms():
                if isinstance(symbol, Symbol) and modulus <= MAX_RESIDUES:
                    return symbol.name, modulus
        for part in atom.parts:
            found = _floor_by_constant(part)
            if found is not None:
                return found
    return None


def verdict_text(verdict: Verdict) -> str:
    """One line: the outcome, why, and at which sizes it fails."""
    place = ""
    if verdict.point:
        place = " at " + ", ".join(f"{name}={value}" for name, value in verdict.point.items())
    return f"{verdict.outcome}{place}: {verdict.reason}"
