"""Compare a printed with a derived form: a finding has the verdict, its reason, and a witness that can be evaluated."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from archline.energy.formulas import names_in
from archline.expr.text import format_expression, format_fact
from archline.expr.values import bounds_of_value, evaluate
from archline.language import syntax as s
from archline.papers import forms, rules
from archline.papers.rows import RELATIONS, PrintedRow, map_sides
from archline.records import record

RELATION_SIGNS = {"<=": {-1, 0}, ">=": {1, 0}, "==": {0}, "<": {-1}, ">": {1}}
"""For each relation the signs of left - right with which it holds."""
INEQUALITIES = ("<=", ">=", "<", ">")
EQUAL, DIFFERS, UNDECIDED, READING = "equal", "differs", "undecided", "reading"


@record
class SeparatingPoint:
    """Numbers at which the printed and the derived form differ by more than `apart`.

    If the forms are sides of relations, or differences of sides, `relations` has the relations, each with a label.
    """

    printed: s.Expr
    derived: s.Expr
    at: Mapping[str, Fraction]
    apart: Fraction = Fraction(0)
    relations: tuple[tuple[str, s.Binary], ...] = ()

    def is_confirmed(self) -> bool:
        """Whether the printed and the derived form differ at the point when evaluated in exact intervals.

        Sides of one inequality may also be equal.
        """
        (printed_low, printed_high), (derived_low, derived_high) = (
            self._evaluate_ends(form) for form in (self.printed, self.derived)
        )
        inequality = [relation.op in INEQUALITIES for _, relation in self.relations] == [True]
        equal = inequality and printed_low == printed_high == derived_low == derived_high
        return equal or derived_low - printed_high > self.apart or printed_low - derived_high > self.apart

    def _evaluate_ends(self, expr: s.Expr) -> tuple[Fraction, Fraction]:
        return bounds_of_value(evaluate(expr, dict(self.at)))

    @property
    def sides(self) -> str:
        """The values of both forms, or of the sides of each relation and whether it holds."""
        texts: list[str] = []
        for name, claim in self.relations:
            left, right = format_distinct((claim.left, claim.right), self.at)
            texts.append(
                f"{name} {left} {claim.op} {right} {'holds' if is_relation_true(claim, self.at) else 'fails'}".strip()
            )
        printed, derived = format_distinct((self.printed, self.derived), self.at)
        return ", ".join(texts) or f"printed {printed}, derived {derived}"

    @property
    def values(self) -> str:
        """The numbers of the names, `n = 4096, p = 448`."""
        used = names_in(self.printed) | names_in(self.derived)
        return ", ".join(f"{name} = {format_short(self.at[name])}" for name in sorted(used))

    def __str__(self) -> str:
        return self.sides + (f" at {self.values}" if self.values else "")


@record
class RowVerdict:
    """The verdict on a printed row of a paper, the derived form, the reason, and the steps of the derivation.

    The verdict is `reading` if the row differs word for word, but is equal under another reading of the text.
    """

    row: PrintedRow
    verdict: str
    derived: str
    reason: str = ""
    steps: Sequence[str] = ()
    within_rounding: bool = False
    witness: SeparatingPoint | None = None

    @property
    def is_slip(self) -> bool:
        """Whether the reason is a wrong name, exponent or list, or exchanged digits."""
        exchanged = re.search(r" stands where |\blists |two digits exchanged", self.reason)
        return self.verdict == DIFFERS and exchanged is not None and "the factor " not in self.reason


def format_short(value: Fraction, digits: int = 4) -> str:
    """Format a number with a few digits."""
    return str(value.numerator) if value.denominator == 1 and abs(value) < 10**6 else f"{float(value):.{digits}g}"


def format_distinct(exprs: Iterable[s.Expr], at: Mapping[str, Fraction]) -> list[str]:
    """Format the values of forms with enough digits to distinguish values that differ."""
    values = [forms.evaluate_at(expr, at) for expr in exprs]
    middles = [value.middle for value in values if value is not None]
    digits = next((d for d in range(4, 17) if len({f"{float(mid):.{d}g}" for mid in middles}) == len({*middles})), 17)
    return ["undefined" if value is None else format_short(value.middle, digits) for value in values]


def compare_forms(row: PrintedRow, derived: s.Expr, steps: Sequence[str], *, sided: bool = False) -> RowVerdict:
    """Compare the printed form with a derived one, for all values of their names.

    If `sided`, the printed form may be a side of an inequality whose relation is checked elsewhere.
    """
    relation, printed = row.relation, row.expr
    if isinstance(derived, s.Binary) and derived.op in INEQUALITIES:
        return _compare_relations(row, relation, derived, steps)
    if isinstance(relation, s.Binary) and relation.op in INEQUALITIES and not sided:
        raise row.make_error(rules.ROW_FORM, "an inequality is printed, but an equation is derived", "printed")
    form, origin = forms.build_form(derived), forms.build_form(printed)
    shown = forms.format_form(form)
    derived = forms.parse_form(shown)  # Factors are cancelled, so that a witness has the relevant names only.
    point = forms.find_separating_point(printed, derived, row.numbers)
    if point is not None:
        difference, *parts = forms.describe_difference(origin, form)
        shown = min(shown, forms.format_form(forms.multiply_out(form)), key=len)
        printed, derived = (forms.parse_form(forms.format_form(part)) for part in parts)
        witness = SeparatingPoint(printed, derived, point)
        return RowVerdict(row, DIFFERS, shown, difference or str(witness), steps, witness=witness)
    if forms.is_zero(origin - form):
        return RowVerdict(row, EQUAL, shown, "", (*steps, "the difference of printed and derived form is 0"))
    points = forms.sample_points(names_in(printed) | names_in(derived), row.numbers)
    if not any(forms.evaluate_at(printed, at) and forms.evaluate_at(derived, at) for at in points):
        return RowVerdict(row, UNDECIDED, shown, "no point was found at which both have a value", steps)
    return RowVerdict(row, UNDECIDED, shown, "equal at all points tried, but not proved equal", steps)


def _compare_relations(row: PrintedRow, printed: s.Expr, derived: s.Binary, steps: Sequence[str]) -> RowVerdict:
    """Compare two inequalities: equivalent if both sides of one are the same multiple of the sides of the other."""
    if not isinstance(printed, s.Binary) or printed.op not in INEQUALITIES:
        raise row.make_error(rules.ROW_FORM, "an equation is printed, but an inequality is derived", "printed")
    a, b, c, d = (forms.build_form(side) for relation in (printed, derived) for side in _order_sides(relation))
    positive = all(forms.compute_term_signs(form) == {1} for form in (a, b, c, d))
    same = forms.is_zero(b - d)
    if positive and not same and not forms.is_zero(a * d - b * c):
        # Scaled to the printed smaller side, so that only the larger remains to be compared.
        smaller, larger = (forms.parse_form(forms.format_form(forms.factor_form(form))) for form in (a, d * a / c))
        derived = s.Binary(f"<{derived.op[1:]}", smaller, larger, span=derived.span)
    shown = format_relation(
        map_sides(derived, lambda side: forms.parse_form(forms.format_form(forms.build_form(side))))
    )
    if printed.op[1:] == derived.op[1:] and _are_multiples(a, b, c, d):
        return RowVerdict(row, EQUAL, shown, "", (*steps, "both are the same inequality up to a positive factor"))
    left, right = (s.Binary("-", *_order_sides(relation), span=relation.span) for relation in (printed, derived))
    for point in forms.iterate_points_around(names_in(left) | names_in(right), row.numbers):
        if {is_relation_true(printed, point), is_relation_true(derived, point)} == {True, False}:
            witness = SeparatingPoint(left, right, point, relations=(("printed", printed), ("derived", derived)))
            reason = f"one holds and the other does not: {witness}"
            if positive:
                side = "left" if same is (printed.op[0] == "<") else "right"
                ratio = forms.format_form(forms.factor_form(a / c if same else b * c / (a * d)))
                exchange = forms.describe_exchange([a], [c]) or forms.describe_exchange([b], [d])
                reason = exchange or f"the {side} side is {ratio} times what follows"
            return RowVerdict(row, DIFFERS, shown, reason, steps, witness=witness)
    return RowVerdict(row, UNDECIDED, shown, "no point was found that distinguishes them", steps)


def _order_sides(relation: s.Binary) -> tuple[s.Expr, s.Expr]:
    """Return the side that the relation states to be smaller, then the larger one."""
    return (relation.left, relation.right) if relation.op[0] == "<" else (relation.right, relation.left)


def _are_multiples(a: Any, b: Any, c: Any, d: Any) -> bool:
    """Whether a <= b and c <= d are one inequality up to a positive factor."""
    if all(forms.compute_term_signs(form) == {1} for form in (a, b, c, d)):
        return forms.is_zero(a * d - b * c)
    return forms.compute_sign(forms.factor_form((a - b) / (c - d))) == 1


def is_relation_true(relation: s.Binary, point: Mapping[str, Fraction]) -> bool | None:
    """Whether a relation is true at a point; None if a side has no value there, or intervals do not decide."""
    left, right = forms.evaluate_at(relation.left, point), forms.evaluate_at(relation.right, point)
    if left is None or right is None:
        return None
    observed = {-1} if left.upper < right.lower else {1} if left.lower > right.upper else {0}
    signs = observed if observed != {0} or (left.exact and right.exact) else {-1, 0, 1}
    return True if signs <= RELATION_SIGNS[relation.op] else None if signs & RELATION_SIGNS[relation.op] else False


def format_relation(expr: s.Expr) -> str:
    """Format a form, or a relation of two forms."""
    return format_fact(expr) if isinstance(expr, s.Binary) and expr.op in RELATIONS else format_expression(expr)
