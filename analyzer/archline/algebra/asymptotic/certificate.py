"""Proofs as plain data: strings, lists and dictionaries, in the format of docs/reference/certificates.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from archline.algebra.asymptotic import normal_form as e
from archline.algebra.asymptotic.bounds import DifferenceStep
from archline.algebra.asymptotic.direction_lp import Inequality, Product, Proof
from archline.algebra.asymptotic.dominance_differences import DominanceBound, Share
from archline.algebra.asymptotic.prove import Tree
from archline.algebra.asymptotic.tropical import Monomial
from archline.language import syntax as s
from archline.language.format_expressions import format_expression, format_fact

FORMAT = 1
Data = dict[str, object]


def document(
    f: s.Expr, g: s.Expr, facts: Sequence[s.Fact], trees: Sequence[Tree], steps: Mapping[str, DifferenceStep]
) -> Data:
    """The certificate of a proof."""
    bounds: list[Data] = []
    for tree in trees:
        bound = _bound(tree)
        if bound not in bounds:
            bounds.append(bound)
    return {
        "format": FORMAT,
        "f": format_expression(f),
        "g": format_expression(g),
        "facts": [format_fact(fact) for fact in facts],
        "differences": [_difference(step) for step in steps.values()],
        "bounds": bounds,
    }


def _bound(tree: Tree) -> Data:
    left: dict[Monomial, None] = {}
    right: dict[Monomial, None] = {}
    waiting = [tree]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Proof):
            left.update((each, None) for each, _ in part.left)
            right.update((each, None) for each, _ in part.right)
        else:
            waiting.extend(case.proof for case in part.cases)
    return {
        "smallest_of": [each.document() for each in sorted(left, key=str)],
        "largest_of": [each.document() for each in sorted(right, key=str)],
        "proof": _proof(tree),
    }


def _proof(tree: Tree) -> Data:
    if isinstance(tree, Proof):
        return {
            "left": [[each.document(), str(weight)] for each, weight in tree.left],
            "right": [[each.document(), str(weight)] for each, weight in tree.right],
            "uses": _uses(tree.uses),
        }
    cases = [{"assume": [_sides(each) for each in case.assumed], "proof": _proof(case.proof)} for case in tree.cases]
    return {"split": dict(tree.document), "cases": cases}


def _sides(inequality: Inequality) -> Data:
    return {"small": inequality.small.document(), "large": inequality.large.document()}


def _uses(product: Product) -> list[Data]:
    return [_use(inequality, str(times)) for inequality, times in product]


def _use(inequality: Inequality, times: str) -> Data:
    own = {**_sides(inequality), "times": times, "because": dict(inequality.because)}
    if inequality.because["rule"] in ("log below power", "log of bounded", "order of logs"):
        own["uses"] = _uses(inequality.uses)
    return own


def _difference(step: DifferenceStep) -> Data:
    found: Data = {"of": step.of, "keeps": [_term(term) for term in step.left]}
    if step.share is None:
        return {**found, "covers": [_cover(share) for share in step.shares]}
    # Terms are sets: their order would change from run to run.
    least = sorted((_exact(bound) for bound in step.least), key=str)
    return {**found, "share": str(step.share), "least": least}


def _term(term: e.Term) -> dict[str, str]:
    return {factor.key: str(power) for factor, power in sorted(term, key=lambda pair: pair[0].key)}


def _cover(share: Share) -> Data:
    return {
        "term": _term(share.term),
        "amount": str(share.amount),
        "into": _term(share.into),
        "factor": str(share.factor),
        "uses": [{**_exact(bound), "times": str(times)} for bound, times in share.uses],
    }


def _exact(bound: DominanceBound) -> Data:
    sides = {"small": _term(bound.small), "large": _term(bound.large)}
    return {**sides, "factor": str(bound.factor), "because": dict(bound.because)}
