"""What a recipe finds: the derived form, the verdict, the reason, and a witness that a second function evaluates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from archline.energy.formulas import names_in
from archline.energy.intervals import Interval
from archline.language import syntax as s
from archline.language.evaluate import Enclosure, Value, evaluate
from archline.language.format_expressions import format_expression, format_fact
from archline.papers import forms, rules
from archline.papers.rows import RELATIONS, PrintedRow
from archline.records import field, record

INEQUALITIES = ("<=", ">=", "<", ">")
EQUAL, DIFFERS, UNDECIDED = "equal", "differs", "undecided"


@record
class Witness:
    """Numbers at which the printed form and the derived one are apart by more than `apart`."""

    printed: s.Expr
    derived: s.Expr
    at: Mapping[str, Fraction]
    apart: Fraction = Fraction(0)

    def holds(self) -> bool:
        """Whether they are, by the language's own evaluation, which shares nothing with what found them."""
        (low, high), (least, most) = (self._ends(each) for each in (self.printed, self.derived))
        return least - high > self.apart or low - most > self.apart

    def _ends(self, expr: s.Expr) -> tuple[Fraction, Fraction]:
        value: Value = evaluate(expr, dict(self.at))
        return (value.lo, value.hi) if isinstance(value, Enclosure) else (Fraction(value), Fraction(value))

    def __str__(self) -> str:
        named = names_in(self.printed) | names_in(self.derived)
        at = ", ".join(f"{name} = {short(self.at[name])}" for name in sorted(named))
        middles = [sum(self._ends(each), Fraction(0)) / 2 for each in (self.printed, self.derived)]
        digits = next((d for d in range(4, 17) if len({f"{float(each):.{d}g}" for each in middles}) > 1), 17)
        printed, derived = (short(each, digits) for each in middles)
        return f"printed {printed}, derived {derived}" + (f" at {at}" if at else "")


@record
class Finding:
    """The verdict on a row, `equal`, `differs` or `undecided`, what is derived, why, and how."""

    row: PrintedRow
    verdict: str
    derived: str
    reason: str = ""
    steps: tuple[str, ...] = ()
    within_rounding: bool = False
    witness: Witness | None = None
    subject: str = ""
    printed: str = ""
    unchanged: str = field(default="")
    """Why no change of the printed form is possible, where none is."""


def short(value: Fraction, digits: int = 4) -> str:
    """A number in a few digits."""
    return str(value.numerator) if value.denominator == 1 and abs(value) < 10**6 else f"{float(value):.{digits}g}"


def compared(row: PrintedRow, derived: s.Expr, steps: Sequence[str], *, sided: bool = False) -> Finding:
    """The printed form, or that of a `sided` relation, against a derived one, for all values of their names."""
    relation, printed = row.relation, row.expr
    if isinstance(derived, s.Binary) and derived.op in INEQUALITIES:
        return _relations(row, relation, derived, steps)
    if isinstance(relation, s.Binary) and relation.op in INEQUALITIES and not sided:
        raise row.wrong(rules.ROW_FORM, "an inequality is printed, and what is derived is none", "printed")
    own = {**row.numbers}
    shown = forms.text(form := forms.form(derived))
    point = forms.apart(printed, derived, own)
    if point is not None:
        witness = Witness(printed, derived, point)
        reason = forms.difference(forms.form(printed), form) or str(witness)
        return Finding(row, DIFFERS, shown, reason, tuple(steps), witness=witness)
    if forms.vanishes(forms.form(printed) - form):
        return Finding(row, EQUAL, shown, "", (*steps, "the difference of printed and derived form is 0"))
    return Finding(
        row, UNDECIDED, shown, "equal at every point tried, and their difference was not seen to be 0", tuple(steps)
    )


def _relations(row: PrintedRow, printed: s.Expr, derived: s.Binary, steps: Sequence[str]) -> Finding:
    """Two inequalities: they are one if the sides of one are the same multiple of the other's."""
    shown = f"{forms.text(forms.form(derived.left))} {derived.op} {forms.text(forms.form(derived.right))}"
    if not isinstance(printed, s.Binary) or printed.op not in INEQUALITIES:
        raise row.wrong(rules.ROW_FORM, "an inequality follows, and none is printed", "printed")
    (a, b), (c, d) = ((forms.form(low), forms.form(high)) for low, high in (_ordered(printed), _ordered(derived)))
    if printed.op[1:] == derived.op[1:] and _multiples(a, b, c, d):
        ratio = forms.text(forms.factored(a / c if c != 0 else b / d))
        return Finding(row, EQUAL, shown, "", (*steps, f"both sides are multiplied by {ratio}, which is positive"))
    left, right = (s.Binary("-", *_ordered(each), span=each.span) for each in (printed, derived))
    for point in forms.points_around(names_in(left) | names_in(right), row.numbers):
        if {_sign(forms.value_at(each, point)) for each in (left, right)} == {1, -1}:
            reason = f"one holds and the other does not: {(witness := Witness(left, right, point))}"
            if b * c * d != 0:
                reason = f"left over right is {forms.text(forms.factored(a * d / (b * c)))} times what follows"
            return Finding(row, DIFFERS, shown, reason, tuple(steps), witness=witness)
    return Finding(row, UNDECIDED, shown, "no point that tells them apart was met", tuple(steps))


def _ordered(relation: s.Binary) -> tuple[s.Expr, s.Expr]:
    """The side that is to be the smaller, and the other."""
    return (relation.left, relation.right) if relation.op[0] == "<" else (relation.right, relation.left)


def _multiples(a: Any, b: Any, c: Any, d: Any) -> bool:
    """Whether a <= b and c <= d are one inequality, multiplied by what is positive."""
    if all(forms.signs(each) == {1} for each in (a, b, c, d)):
        return forms.vanishes(a * d - b * c)
    return forms.sign(forms.factored((a - b) / (c - d))) == 1


def _sign(value: Interval | None) -> int:
    return 0 if value is None or value.lower <= 0 <= value.upper else 1 if value.lower > 0 else -1


def shown_relation(expr: s.Expr) -> str:
    """A form or a relation as text."""
    return format_fact(expr) if isinstance(expr, s.Binary) and expr.op in RELATIONS else format_expression(expr)
