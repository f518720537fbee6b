"""Extents of views are built, compared and shown here as expressions."""

from __future__ import annotations

from collections.abc import Mapping

from archline.expr.intervals import EvaluationError
from archline.expr.text import format_expression
from archline.expr.tree import Span, has_same_structure, substitute_names
from archline.expr.values import evaluate_static
from archline.language import syntax as s
from archline.language import type_rules as rules
from archline.language.checking.context import BodyContext, CheckedFacts, iterate_leaves
from archline.language.model import Kind


def build_slice_length(facts: CheckedFacts, piece: s.Slice, extent: s.Expr) -> s.Expr:
    """Return the number of entries that a slice keeps of a dimension of the given extent."""
    if piece.lo is None or piece.hi is None:
        count = extent
    elif piece.by_length:
        count = piece.hi
    else:
        count = combine_extents(facts, "-", piece.hi, piece.lo, piece.span)
    if piece.step is None:
        return count
    one = make_integer(facts, 1, piece.span)
    above = combine_extents(facts, "-", combine_extents(facts, "+", count, piece.step, piece.span), one, piece.span)
    # `lo ..+ length step k` is `lo..lo + length step k`.
    return combine_extents(facts, "//", above, piece.step, piece.span)


def make_integer(facts: CheckedFacts, value: int, span: Span) -> s.Expr:
    """Make an integer literal, and record its kind as static."""
    node = s.Integer(value, span=span)
    facts.types[node] = Kind.STATIC
    return node


def combine_extents(facts: CheckedFacts, op: str, left: s.Expr, right: s.Expr, span: Span) -> s.Expr:
    """Return `left op right` for an op of + - * //, simplified: n + 0 -> n, 1*n -> n, 3 - 1 -> 2."""
    match op, left, right:
        case "+" | "-", _, s.Integer(value=0):
            return left
        case "*" | "//", _, s.Integer(value=1):
            return left
        case "*", s.Integer(value=1), _:
            return right
        case "-", s.Integer(value=a), s.Integer(value=b):
            return make_integer(facts, a - b, span)
        case "+", s.Integer(value=a), s.Integer(value=b):
            return make_integer(facts, a + b, span)
        case _:
            pass
    node = s.Binary(op, left, right, span=span)
    facts.depth[node] = 1 + max(facts.depth.get(left, 0), facts.depth.get(right, 0))
    kinds = (facts.types.get(left), facts.types.get(right))
    facts.types[node] = Kind.INT if Kind.INT in kinds else Kind.STATIC
    return node


_MAX_SHOWN = 72


def format_short(expr: s.Expr) -> str:
    """Format an expression for messages, cut to 72 characters."""
    text = format_expression(expr)
    return text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 3] + "..."


Bindings = Mapping[str, s.Expr | None]


def require_agreement(body: BodyContext, expected: s.Expr, actual: s.Expr, at: s.Expr, message: str) -> None:
    """Report two extents, both in names in scope, that differ at every sample point of the path.

    `message` describes them, with {0} and {1} in the place of their texts.
    """
    if body.facts.types.get(expected) is Kind.STATIC:
        difference = describe_disagreement(body, expected, actual, {})
        if difference is not None:
            text = message.format(f"`{format_short(expected)}`", f"`{format_short(actual)}`")
            body.report(rules.SHAPE, f"{text}: {difference}", at.span)


def describe_disagreement(body: BodyContext, expected: s.Expr, actual: s.Expr, bindings: Bindings) -> str | None:
    """Describe the difference of two extents at a sample point, if they differ at all sample points; else None.

    If `expected` is in a callee's names, `bindings` has their values in the caller.
    """
    bound_values = {name: value for name, value in bindings.items() if value is not None}
    if (
        has_same_structure(substitute_names(expected, bound_values), actual)
        or body.facts.types.get(actual) is not Kind.STATIC
    ):
        return None
    if any(isinstance(leaf, s.Name) and bindings.get(leaf.id, leaf) is None for leaf in iterate_leaves(expected)):
        return None

    def describe_difference(point: Mapping[str, int]) -> str | None:
        try:
            needed = evaluate_static(expected, _evaluate_bindings(bindings, point))
            got = evaluate_static(actual, point)
        except EvaluationError:
            return None
        return None if needed == got else f"{needed} and {got}{_format_point(point, actual, expected, bindings)}"

    differences = [describe_difference(point) for point in body.sample_points()]
    if not differences or None in differences:
        return None
    # An example with several processors and small sizes is the clearest.
    small = sorted(
        body.sampler.sample_small_points(body.path), key=lambda point: (point.get("P") == 1, sum(point.values()))
    )
    return next(filter(None, map(describe_difference, small)), differences[0])


def _evaluate_bindings(bindings: Bindings, point: Mapping[str, int]) -> Mapping[str, int]:
    """Return the values of the callee's names at a point of the caller; P is the same in both."""
    if not bindings:
        return point
    inner = {"P": point["P"]} if "P" in point else {}
    for name, value in bindings.items():
        if value is not None:
            inner[name] = evaluate_static(value, point)
    return inner


def _format_point(point: Mapping[str, int], actual: s.Expr, expected: s.Expr, bindings: Bindings) -> str:
    names = {leaf.id for leaf in iterate_leaves(actual) if isinstance(leaf, s.Name)}
    for leaf in iterate_leaves(expected):
        if isinstance(leaf, s.Name):
            value = bindings.get(leaf.id, leaf)
            names |= {leaf.id for leaf in iterate_leaves(value or leaf) if isinstance(leaf, s.Name)}
    settings = ", ".join(f"{name} = {value}" for name, value in point.items() if name in names)
    return f" at {settings}" if settings else ""
