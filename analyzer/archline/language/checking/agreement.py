"""Whether two extents agree: as written, or at sample points of the path to the statement at hand."""

from __future__ import annotations

from collections.abc import Mapping

from archline.expr.intervals import EvaluationError
from archline.expr.values import evaluate_static
from archline.language import syntax as s
from archline.language import type_rules as rules
from archline.language.checking.context import BodyContext, leaves
from archline.language.checking.extents import same, shown
from archline.language.model import Kind

Bindings = Mapping[str, s.Expr | None]


def agree(body: BodyContext, expected: s.Expr, actual: s.Expr, at: s.Expr, message: str) -> None:
    """Report two extents in the names in sight that differ at every sample point.

    `message` says what they are, with the places {0} and {1} for them.
    """
    if body.facts.types.get(expected) is Kind.STATIC:
        difference = disagreement(body, expected, actual, {})
        if difference is not None:
            text = message.format(f"`{shown(expected)}`", f"`{shown(actual)}`")
            body.report(rules.SHAPE, f"{text}: {difference}", at.span)


def disagreement(body: BodyContext, expected: s.Expr, actual: s.Expr, bindings: Bindings) -> str | None:
    """How two extents differ at a sample point, if they do at every one.

    `bindings` gives the names of the first extent where it stands in a callee's names.
    """
    if same(expected, actual, bindings) or body.facts.types.get(actual) is not Kind.STATIC:
        return None
    if any(isinstance(leaf, s.Name) and bindings.get(leaf.id, leaf) is None for leaf in leaves(expected)):
        return None

    def difference(point: Mapping[str, int]) -> str | None:
        try:
            wanted = evaluate_static(expected, _inside(bindings, point))
            found = evaluate_static(actual, point)
        except EvaluationError:
            return None
        return None if wanted == found else f"{wanted} and {found}{_at(point, actual, expected, bindings)}"

    told = [difference(point) for point in body.points()]
    if not told or None in told:
        return None
    # One processor, and large sizes, tell less.
    small = sorted(body.sampler.small(body.path), key=lambda each: (each.get("P") == 1, sum(each.values())))
    return next(filter(None, map(difference, small)), told[0])


def _inside(bindings: Bindings, point: Mapping[str, int]) -> Mapping[str, int]:
    """The callee's names at a point of the caller; P is the same in both."""
    if not bindings:
        return point
    inner = {"P": point["P"]} if "P" in point else {}
    for name, value in bindings.items():
        if value is not None:
            inner[name] = evaluate_static(value, point)
    return inner


def _at(point: Mapping[str, int], actual: s.Expr, expected: s.Expr, bindings: Bindings) -> str:
    names = {leaf.id for leaf in leaves(actual) if isinstance(leaf, s.Name)}
    for leaf in leaves(expected):
        if isinstance(leaf, s.Name):
            value = bindings.get(leaf.id, leaf)
            names |= {each.id for each in leaves(value or leaf) if isinstance(each, s.Name)}
    settings = ", ".join(f"{name} = {value}" for name, value in point.items() if name in names)
    return f" at {settings}" if settings else ""
