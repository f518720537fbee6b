"""Decide the growth order of expressions under facts: proved, refuted or undecided.

f = O(g) under facts: some constant C has f <= C*g at every real point at which all sizes are at least 1 (Z at least L,
where both occur) and the facts hold. log2(w) is read as log2(2 + w), so that no logarithm vanishes. No size is held
constant unless a fact bounds it. Omega is O with the sides exchanged, and Theta both.

A proof has a certificate of plain data, strings, lists and dictionaries, in the format of
docs/reference/certificates.md; a refutation has a counterexample.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TypeAlias

from archline.algebra.reals import Constant, OutOfReachError
from archline.expr import build as b
from archline.expr.intervals import MAX_BITS
from archline.expr.text import format_expression, format_fact
from archline.growth import normal_form as e
from archline.growth import rules
from archline.growth.bounds import DifferenceStep, Envelope, EnvelopeReader
from archline.growth.counterexample import (
    Divergence,
    Point,
    Refuter,
    Sample,
    encode_counterexample,
    format_curve,
    sample_curve,
)
from archline.growth.direction_lp import ENCLOSURE_BITS, Inequality, Product, Proof
from archline.growth.dominance_differences import DominanceBound, MeanShare, Share
from archline.growth.lattices import (
    ONE,
    Clause,
    Lattice,
    Powers,
    multiply_lattices,
    to_maximum_of_minima,
    to_minimum_of_maxima,
)
from archline.growth.log_domain import Domain, find_sizes
from archline.growth.monomials import Monomial
from archline.growth.normal_form import find_exponent_sizes
from archline.growth.prove import SLOW, ProofSearch, Tree, uses_log_bounds
from archline.growth.scales import LogarithmGap, compare_logarithms, is_surely_positive
from archline.growth.sequences import replace_sequences
from archline.language import syntax as s
from archline.language.diagnostics import error
from archline.language.parser import parse_expression
from archline.numbers import fmpq
from archline.records import record

FORMAT = 1
Data = dict[str, object]


def encode_certificate(
    f: s.Expr, g: s.Expr, facts: Sequence[s.Fact], trees: Sequence[Tree], steps: Mapping[str, DifferenceStep]
) -> Data:
    """Encode the certificate of a proof as plain data."""
    bounds: list[Data] = []
    for tree in trees:
        bound = _encode_bound(tree)
        if bound not in bounds:
            bounds.append(bound)
    return {
        "format": FORMAT,
        "f": format_expression(f),
        "g": format_expression(g),
        "facts": [format_fact(fact) for fact in facts],
        "differences": [_encode_difference(step) for step in steps.values()],
        "bounds": bounds,
    }


def _encode_bound(tree: Tree) -> Data:
    left: dict[Powers, None] = {}
    right: dict[Powers, None] = {}
    waiting = [tree]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Proof):
            left.update((monomial, None) for monomial, _ in part.left)
            right.update((monomial, None) for monomial, _ in part.right)
        else:
            waiting.extend(case.proof for case in part.cases)
    return {
        "smallest_of": [monomial.encode_powers() for monomial in sorted(left, key=str)],
        "largest_of": [monomial.encode_powers() for monomial in sorted(right, key=str)],
        "proof": _encode_proof(tree),
    }


def _encode_proof(tree: Tree) -> Data:
    if isinstance(tree, Proof):
        return {
            "left": [[monomial.encode_powers(), str(weight)] for monomial, weight in tree.left],
            "right": [[monomial.encode_powers(), str(weight)] for monomial, weight in tree.right],
            "uses": _encode_uses(tree.uses),
        }
    cases = [
        {"assume": [_encode_sides(fact) for fact in case.assumed], "proof": _encode_proof(case.proof)}
        for case in tree.cases
    ]
    return {"split": dict(tree.document), "cases": cases}


def _encode_sides(inequality: Inequality) -> Data:
    return {"small": inequality.small.encode_powers(), "large": inequality.large.encode_powers()}


def _encode_uses(product: Product) -> list[Data]:
    return [_encode_use(inequality, str(times)) for inequality, times in product]


def _encode_use(inequality: Inequality, times: str) -> Data:
    data = {**_encode_sides(inequality), "times": times, "because": dict(inequality.because)}
    if inequality.because["rule"] in ("log below power", "log of bounded", "order of logs"):
        data["uses"] = _encode_uses(inequality.uses)
    return data


def _encode_difference(step: DifferenceStep) -> Data:
    data: Data = {"of": step.of, "keeps": [term.encode_powers() for term in step.left]}
    if step.share is None:
        return {**data, "covers": [_encode_cover(share) for share in step.shares]}
    # Terms are sets: their order would change from run to run.
    least = sorted((_encode_exact_bound(bound) for bound in step.least), key=str)
    return {**data, "share": str(step.share), "least": least}


def _encode_cover(share: Share | MeanShare) -> Data:
    if isinstance(share, MeanShare):
        parts = [{"into": x.encode_powers(), "part": str(part), "weight": str(by)} for x, part, by in share.parts]
        return {"term": share.term.encode_powers(), "amount": str(share.amount), "mean": parts}
    return {
        "term": share.term.encode_powers(),
        "amount": str(share.amount),
        "into": share.into.encode_powers(),
        "factor": str(share.factor),
        "uses": [{**_encode_exact_bound(bound), "times": str(times)} for bound, times in share.uses],
    }


def _encode_exact_bound(bound: DominanceBound) -> Data:
    sides = {"small": bound.small.encode_powers(), "large": bound.large.encode_powers()}
    return {**sides, "factor": str(bound.factor), "because": dict(bound.because)}


INITIAL_ACCURACY, FINER_ACCURACY = (SLOW, ENCLOSURE_BITS), (fmpq(1, 1 << 200), 600)
"""The small power that bounds logarithms, and the bits of enclosures of irrationals: at first, and if that fails."""
DEFAULT_TRIALS = 400
READABLE_EXPONENTS = tuple(fmpq(1, denominator) for denominator in (1, 2, 4, 8, 64, 1024, 1 << 20))


@record(eq=False)
class Question:
    """The question whether f = O(g) in a domain; `names` are the sizes that occur in f, g or the facts.

    Sequences are replaced in f and g, but not in `asked`, the two as they were asked for.
    """

    f: s.Expr
    g: s.Expr
    domain: Domain
    names: frozenset[str]
    asked: tuple[s.Expr, s.Expr]


@record(eq=False)
class Proved:
    """A proof that f = O(g)."""

    question: Question
    clauses: tuple[list[Clause], list[Clause]]
    trees: Sequence[Tree]
    reader: EnvelopeReader
    multiple: Constant | None = None
    """The factor c where f is c*g term by term, whatever the sign of g."""
    logarithms: LogarithmGap | None = None
    """The logarithms of f and g, from whose difference the answer follows."""

    @cached_property
    def certificate(self) -> dict[str, object]:
        """The proof as plain data, which docs/reference/certificates.md describes."""
        question = self.question
        if self.logarithms is not None:
            return {
                **encode_certificate(question.f, question.g, question.domain.facts, (), {}),
                "logarithms": self.logarithms.encode(*question.names),
            }
        if self.multiple is not None:
            return {
                **encode_certificate(question.f, question.g, question.domain.facts, (), {}),
                "multiple": str(self.multiple),
            }
        return encode_certificate(
            question.f, question.g, question.domain.facts, self._find_readable_trees(), self.reader.steps
        )

    def _find_readable_trees(self) -> Sequence[Tree]:
        """Repeat the proof with bounds of logarithms by powers that are not needlessly small."""
        if not any(map(uses_log_bounds, self.trees)):
            return self.trees
        for slow in READABLE_EXPONENTS:
            again = ProofSearch(self.question.domain, self.question.names, None, slow).prove(*self.clauses)
            if again is not None:
                return again
        return self.trees


@record(eq=False)
class Refuted:
    """A refutation of f = O(g): a curve along which f/g is unbounded, a point, or logarithms that drift apart."""

    question: Question
    found: Divergence | Point | LogarithmGap

    @cached_property
    def counterexample(self) -> dict[str, object]:
        if isinstance(self.found, LogarithmGap):
            return {"kind": "logarithms", **self.found.encode(*self.question.names)}
        return encode_counterexample(self.question.f, self.question.g, self.found, self._samples)

    @property
    def is_rough(self) -> bool:
        """Whether the growth of f/g along the curve is stated up to factors of lower order."""
        return isinstance(self.found, Divergence) and self.found.rough

    @property
    def curve(self) -> Mapping[str, str]:
        """The sizes on the curve as functions of T; empty without a curve."""
        return format_curve(self.found.curve) if isinstance(self.found, Divergence) else {}

    @cached_property
    def points(self) -> list[Mapping[str, int]]:
        """The sizes of the counterexample that are small enough to compute with."""
        if isinstance(self.found, Point):
            return [self.found.sizes]
        points = (sample.point for sample in self._samples if sample.point is not None)
        return [point for point in points if max(size.bit_length() for size in point.values()) <= MAX_BITS]

    @property
    def table(self) -> list[Mapping[str, object]]:
        """Samples of the curve with the values of f and g as they were asked for."""
        if not isinstance(self.found, Divergence):
            return []
        rows = sample_curve(*self.question.asked, self.question.domain, self.found.curve, exact_logs=True)
        return [row.document for row in rows]

    @cached_property
    def _samples(self) -> list[Sample]:
        if not isinstance(self.found, Divergence):
            return []
        asked = self.question
        return sample_curve(asked.f, asked.g, asked.domain, self.found.curve)


@record
class Undecided:
    """No proof and no counterexample was found; `reason` says why."""

    reason: str


Verdict: TypeAlias = Proved | Refuted | Undecided


def is_O(  # noqa: N802
    f: s.Expr,
    g: s.Expr,
    facts: Sequence[s.Fact] | Domain = (),
    trials: int = DEFAULT_TRIALS,
    *,
    eventually: bool = False,
) -> Verdict:
    """Decide whether f = O(g) under the facts; a `Domain` answers many questions under the same facts faster.

    `trials` is the number of curves that are tried where neither a proof nor a counterexample is found; 0 tries none.
    If `eventually`, a question about a single size is about all sizes from some size on, and no question is refuted by
    a point. Raises ArchlineError (AL481) where a side is nowhere positive.
    """
    domain = facts if isinstance(facts, Domain) else Domain(facts)
    verdict = _decide_by_monomials(f, g, domain, trials)
    vanishes = isinstance(verdict, Refuted) and isinstance(verdict.found, Point)
    if trials and (isinstance(verdict, Undecided) or (eventually and vanishes)):
        verdict = _decide_by_logarithms(f, g, domain, verdict, eventually)
    if eventually and isinstance(verdict, Refuted) and isinstance(verdict.found, Point):
        at = ", ".join(f"{name} = {size}" for name, size in verdict.found.sizes.items())
        return Undecided(f"{format_expression(g)} is not positive at {at}, which says nothing about large sizes")
    return verdict


def _decide_by_logarithms(f: s.Expr, g: s.Expr, domain: Domain, verdict: Verdict, eventually: bool) -> Verdict:
    """Decide a question about a single size that monomials leave open; return their `verdict` if that fails.

    The orders from some size on are those at all sizes where both sides are positive and bounded before.
    """
    names = find_sizes(f) | find_sizes(g) | domain.names
    if len(names) != 1 or not all(map(_is_unbounded_above, domain.facts)):
        return verdict
    question = Question(replace_sequences(f, upper=True), replace_sequences(g), domain, names, (f, g))
    try:
        gap = compare_logarithms(f, g)
    except OutOfReachError as problem:
        return Undecided(str(problem)) if isinstance(verdict, Undecided) else verdict
    if gap.order > 0:
        return Refuted(question, gap)
    if eventually or (is_surely_positive(f) and is_surely_positive(g)):
        return Proved(question, ([], []), (), domain.make_reader(names), logarithms=gap)
    return verdict


def _is_unbounded_above(fact: s.Fact) -> bool:
    """Whether a fact about a single size only bounds it from below, or holds for powers or squares."""
    match fact:
        case s.Binary(op=">=" | ">", left=s.Name(), right=s.Integer()) | s.IsPower(value=s.Name(), base=s.Integer()):
            return True
        case s.Binary(op="<=" | "<", left=s.Integer(), right=s.Name()) | s.IsSquare(value=s.Name()):
            return True
        case _:
            return False


def _decide_by_monomials(f: s.Expr, g: s.Expr, domain: Domain, trials: int) -> Verdict:
    asked = f, g
    f, g = replace_sequences(f, upper=True), replace_sequences(g)
    names = find_sizes(f) | find_sizes(g) | domain.names
    question = Question(f, g, domain, names, asked)
    reader = domain.make_reader(names, find_exponent_sizes(f) | find_exponent_sizes(g))
    refuter = Refuter(f, g, domain, names)
    try:
        above, below = reader.read(f), reader.read(g)
    except OutOfReachError as problem:
        return Undecided(str(problem))
    upper, lower = _require_upper(f, above), below.lower
    _require_upper(g, below)
    exact = upper == above.lower and lower == below.upper
    if refuter.steep and exact and isinstance(upper, Monomial) and isinstance(lower, Monomial):
        # Factors of both cancel: (2*n)^n/n^n grows as 2^n does.
        refuter = Refuter(parse_expression(str(upper / lower)), b.number(1), domain, names, f, g)
    if lower is None:
        point = refuter.refute_at_point() if trials else None
        if point is not None:
            return Refuted(question, point)
        reason = "neither a lower bound on the right side nor a counterexample is found"
        return _decide_by_multiple_or_trial(question, reader, refuter, reason, trials)
    try:
        return _decide_by_search(question, reader, refuter, (upper, lower), trials)
    except OutOfReachError as problem:
        return _decide_by_multiple_or_trial(question, reader, refuter, str(problem), trials)


def can_prove_big_o(f: s.Expr, g: s.Expr, domain: Domain, factor: s.Expr | None = None) -> bool:
    """Whether f = O(g), or O(factor*g), is proved; cheaper than `is_O`, as a failed proof ends the search."""
    f, g = replace_sequences(f, upper=True), replace_sequences(g)
    both = (f, g) if factor is None else (f, g, factor)
    names = domain.names.union(*map(find_sizes, both))
    reader = domain.get_shared_reader(names, frozenset[str]().union(*map(find_exponent_sizes, both)))
    try:
        upper, lower = _require_upper(f, reader.read(f)), reader.read(g).lower
        times = ONE if factor is None else reader.read(factor).lower
        if lower is not None and times is not None:
            sides = to_maximum_of_minima(upper), to_minimum_of_maxima(multiply_lattices(lower, times))
            if ProofSearch(domain, names, None, *INITIAL_ACCURACY).prove(*sides) is not None:
                return True
        return factor is None and e.find_constant_multiple(f, g) is not None
    except OutOfReachError:
        return False


def _require_upper(expr: s.Expr, value: Envelope) -> Lattice:
    if value.upper is None:
        text = format_expression(expr)
        raise error(rules.NOT_POSITIVE, f"`{text}` is nowhere positive", span=expr.span)
    return value.upper


def _decide_by_search(
    question: Question, reader: EnvelopeReader, refuter: Refuter, sides: tuple[Lattice, Lattice], trials: int
) -> Verdict:
    left, right = to_maximum_of_minima(sides[0]), to_minimum_of_maxima(sides[1])
    for slow, bits in (INITIAL_ACCURACY, FINER_ACCURACY):
        search = ProofSearch(question.domain, question.names, refuter, slow, bits)
        trees = search.prove(left, right)
        if trees is not None:
            return Proved(question, (left, right), trees, reader)
        if search.divergence is not None:
            return Refuted(question, search.divergence)
    return _decide_by_multiple_or_trial(
        question, reader, refuter, "neither a proof nor a counterexample is found", trials
    )


def _decide_by_multiple_or_trial(
    question: Question, reader: EnvelopeReader, refuter: Refuter, reason: str, trials: int
) -> Verdict:
    with suppress(OutOfReachError):
        times = e.find_constant_multiple(question.f, question.g)
        if times is not None:
            return Proved(question, ([], []), (), reader, times)
    divergence = refuter.refute_by_trials(trials)
    return Undecided(reason) if divergence is None else Refuted(question, divergence)
