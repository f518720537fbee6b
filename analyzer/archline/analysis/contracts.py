"""Decides `ensures`: whether a derived cost equals, stays below or stays above what its author wrote."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from itertools import islice, product
from typing import Literal

from archline.algebra import atoms as a
from archline.algebra.evaluation import EvaluationError, evaluate
from archline.algebra.facts import Facts
from archline.algebra.polynomial import Poly, Symbol, TooComplexError, budget
from archline.analysis.costs import Cost, Costs
from archline.analysis.scope import NotStaticError, Scope, declared, static_value, with_fact
from archline.language import syntax as s
from archline.language.evaluate import holds
from archline.language.model import Module

Outcome = Literal["holds", "fails", "unknown", "not decided yet"]
MACHINE = ("P", "Z", "L", "K")
MAX_POINTS = 400
MAX_RESIDUES = 8
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
            return claim.verdict(_points(algorithm, scope, costs, ensures))
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
        return Verdict(self.ensures, "unknown", "no counterexample at small sizes, and no proof")

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
    return facts.nonnegative(value) or _by_residues(value, facts, 2)


def _by_residues(value: Poly, facts: Facts, depth: int) -> bool:
    """Write a size as m*k + r for each r in 0..m, which resolves floors by m."""
    found = _floor_by_constant(value)
    if found is None or depth == 0:
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


# Small sizes
def _points(algorithm: s.Algorithm, scope: Scope, costs: Costs, ensures: s.Ensures) -> Iterator[Mapping[str, int]]:
    """Small sizes that satisfy the `where`, the `when`, and what offsets imply, smallest sums first."""
    signature = scope.module.signatures[algorithm]
    free = sorted(set().union(*(value.names for cost in costs for value in (cost.lower, cost.upper) if value)))
    facts = (*algorithm.where, *ensures.when, *_assumed(algorithm))
    machine = [name for name in MACHINE if any(name in _names(fact) for fact in facts)]
    names = list(dict.fromkeys((*costs.parameters, *free, *machine)))
    if not names:
        yield {}
        return
    width = max(2, min(12, int(20000 ** (1 / len(names)))))
    ranges = [range(signature.at_least.get(name, 0), signature.at_least.get(name, 0) + width) for name in names]
    candidates = sorted(islice(product(*ranges), 20000), key=lambda values: (max(values), sum(values)))
    implied = _offsets_rules(scope)
    quotients = list(_quotients(algorithm.body))

    def divides(point: Mapping[str, int]) -> bool:
        """A `/` of sizes that leaves a remainder stops the run, or sits in a branch that these sizes may not take."""
        return all(holds(s.Divides(each.right, each.left, span=each.span), point) is not False for each in quotients)

    yielded = 0
    for values in candidates:
        point = dict(zip(names, values, strict=True))
        if all(holds(fact, point) is not False for fact in facts) and all(rule(point) for rule in (*implied, divides)):
            yield point
            yielded += 1
            if yielded == MAX_POINTS:
                return


def _assumed(algorithm: s.Algorithm) -> list[s.Fact]:
    """What every run must satisfy beside the `where`: the body's own `assume`, not those under a branch or loop."""
    return [fact for statement in algorithm.body if isinstance(statement, s.Assume) for fact in statement.facts]


def _quotients(node: object) -> Iterator[s.Binary]:
    """Every division with `/` in a body."""
    if isinstance(node, s.Binary) and node.op == "/":
        yield node
    parts = node if isinstance(node, tuple) else ()
    if is_dataclass(node):
        parts = tuple(getattr(node, part.name) for part in fields(node))
    for part in parts:
        yield from _quotients(part)


def _names(node: object) -> set[str]:
    """Every name in a fact."""
    if isinstance(node, s.Name):
        return {node.id}
    if isinstance(node, tuple):
        return set().union(*(_names(each) for each in node))
    return set().union(*(_names(getattr(node, f.name)) for f in fields(node))) if is_dataclass(node) else set()


def _offsets_rules(scope: Scope) -> list[Callable[[Mapping[str, int]], bool]]:
    """Longest <= total <= count*longest for every offsets array, and no entries without segments to hold them."""

    def rule(low: Poly, high: Poly) -> Callable[[Mapping[str, int]], bool]:
        def check(point: Mapping[str, int]) -> bool:
            values: dict[str, int | Fraction] = dict(point)
            try:
                return evaluate(scope.facts.restore(low), values) <= evaluate(scope.facts.restore(high), values)
            except EvaluationError:
                return True

        return check

    rules = []
    for known in scope.segments.values():
        if known.longest is not None:
            rules.append(rule(known.total, known.count * known.longest))
            if known.attained:
                rules.append(rule(known.longest, known.total))
        else:
            rules.append(rule(known.total, known.count * known.total))
    return rules


def verdict_text(verdict: Verdict) -> str:
    """One line: the outcome, why, and at which sizes it fails."""
    place = ""
    if verdict.point:
        place = " at " + ", ".join(f"{name}={value}" for name, value in verdict.point.items())
    return f"{verdict.outcome}{place}: {verdict.reason}"
