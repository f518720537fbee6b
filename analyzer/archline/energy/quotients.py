"""Bound the quotient of two formulas that rise with the same amounts, as energy and time do with the misses.

For each choice of the argument that a max or min takes, both sides are sums of products of powers. An amount along
which the quotient only rises or only falls is at one of its ends. In the other amounts both sides have to be linear:
x/bottom(x) makes the quotient linear, and a box a polytope (Charnes and Cooper, Naval Research Logistics Quarterly
9(3-4), 1962).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product

from archline.algebra.lp.exact import Optimum, maximise
from archline.algebra.polynomial import Poly, Symbol, sum_polynomials, to_rational
from archline.expr import tree as s
from archline.expr.intervals import EvaluationError, Interval
from archline.expr.values import ARITHMETIC, evaluate, fold
from archline.numbers import fmpq
from archline.records import record

FormulaPiece = tuple[Poly, frozenset[Poly]]
"""A formula without max and min, and the forms that are at least 0 where it is valid."""


def bound_quotient(top: s.Expr, bottom: s.Expr, box: Mapping[str, Interval]) -> Interval:
    """Return the range of top/bottom over a box of amounts. Raises EvaluationError for forms that are not supported."""
    evaluate(top, box)
    if Interval.of(evaluate(bottom, box)).lower <= 0 or any(
        box[name].lower < 0 for name in s.find_names((top, bottom))
    ):
        raise EvaluationError("a side may be 0 or less")
    sides: list[list[FormulaPiece]] = [fold(side, _PieceEvaluator(box)) for side in (top, bottom)]
    pieces = [(numerator, denominator, *where | there) for (numerator, where), (denominator, there) in product(*sides)
              if not any(-form in there for form in where)]  # fmt: skip
    names = sorted({name for piece in pieces for form in piece for name in form.names})
    rises = {
        name: {rise for piece in pieces for rise in _compute_slope_signs(piece[0], piece[1], name)} for name in names
    }
    free = {name: box[name] for name in names if len(rises[name]) > 1}
    ends: list[fmpq] = []
    for sign in (-1, 1):
        at = {name: box[name].upper if (True in rises[name]) == (sign > 0) else box[name].lower for name in names}
        values = {name: Poly.constant(end) for name, end in at.items() if name not in free}
        rows = ([_read_coefficients(form.substitute(values), free) for form in piece] for piece in pieces)
        maxima = (_maximise_quotient(sign, forms, free) for forms in rows)
        ends.append(sign * max(end for end in maxima if end is not None))
    return Interval(*(Fraction(int(end.p), int(end.q)) for end in ends))


def _compute_slope_signs(top: Poly, bottom: Poly, name: str) -> set[bool]:
    """Return the signs, True if positive, of the terms of the derivative of a quotient along an amount."""
    parts = product(*(side.coefficients(Symbol(name)).items() for side in (top, bottom)))
    slope = sum_polynomials((a * b * Poly.of_atom(Symbol(name), i + j)).scaled(i - j) for (i, a), (j, b) in parts)
    return {number > 0 for number in slope.terms.values()}


def _read_coefficients(form: Poly, free: Mapping[str, Interval]) -> list[fmpq]:
    """Return the coefficients of the `free` amounts, and the constant. Raises EvaluationError for a nonlinear form."""
    row = [*(form.terms.get(((Symbol(name), 1),), fmpq(0)) for name in free), form.constant_term]
    if len(form.terms) > sum(map(bool, row)):
        raise EvaluationError("the formula is not linear")
    return row


def _maximise_quotient(sign: int, forms: Sequence[list[fmpq]], free: Mapping[str, Interval]) -> fmpq | None:
    """Return the maximum of `sign` times a quotient subject to constraints; None if no point satisfies them.

    The `forms` are rows of coefficients: numerator, denominator, and the constraints, which must be at least 0.
    """
    top, bottom, *constraints = forms
    for index, ends in enumerate(free.values()):
        for end, side in ((ends.lower, 1), (ends.upper, -1)):
            constraints.append(
                [*(fmpq(side * (index == column)) for column in range(len(free))), to_rational(-side * end)]
            )
    rows = [bottom, *([-number for number in row] for row in (bottom, *constraints))]
    optimum = maximise([sign * number for number in top], rows, [1, -1, *[0] * len(constraints)])
    return optimum.value if isinstance(optimum, Optimum) else None


@record
class _PieceEvaluator:
    """Evaluates a formula over a box to its pieces, one for each choice of the arguments of max and min."""

    box: Mapping[str, Interval]

    def number(self, value: int | Fraction, expr: s.Expr) -> list[FormulaPiece]:
        return [(Poly.constant(value), frozenset())]

    def name(self, name: s.Name) -> list[FormulaPiece]:
        ends = self.box[name.id]
        return [(Poly.constant(ends.lower) if ends.exact else Poly.symbol(name.id), frozenset())]

    def negated(self, value: list[FormulaPiece], expr: s.Unary) -> list[FormulaPiece]:
        return [(-form, where) for form, where in value]

    def binary(
        self, op: str, left: list[FormulaPiece], right: list[FormulaPiece], expr: s.Binary
    ) -> list[FormulaPiece]:
        pieces: list[FormulaPiece] = []
        for (a, where), (b, there) in product(left, right):
            if op == "^" or (op == "/" and len(b.terms) != 1):
                raise EvaluationError("the formula is not a sum of products", expr)
            if not any(-form in there for form in where):
                pieces.append((a * b**-1 if op == "/" else ARITHMETIC[op](a, b), where | there))
        return pieces

    def call(self, function: str, values: Sequence[list[FormulaPiece]], expr: s.Call) -> list[FormulaPiece]:
        if function not in ("max", "min"):
            raise EvaluationError("the formula is not a sum of products", expr)
        direction, pieces = 1 if function == "max" else -1, list[FormulaPiece]()
        for arguments in product(*values):
            conditions = frozenset[Poly]().union(*(where for _, where in arguments))
            for form, _ in arguments:
                selection = frozenset(
                    (form - argument).scaled(direction) for argument, _ in arguments if argument != form
                )
                pieces.append((form, selection | conditions))
        return pieces
