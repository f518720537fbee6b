"""Upper and lower bounds of expressions up to constant factors, at every point that facts and DIFFERENCES allow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from archline.certificates import forms as fm
from archline.certificates import terms as t
from archline.certificates.forms import Form
from archline.certificates.numbers import Number, constant, log2, rational
from archline.certificates.places import Rejected, require
from archline.language import syntax as s
from archline.language.format_expressions import format_expression

_UNIT = fm.form(fm.ONE)
_NEVER_POSITIVE: Form = frozenset()


class Bounds:
    """Bounds of expressions; `difference` gives what is left of a sum with negative terms, or None: not shown.

    Whatever is being looked at counts as not shown, so that no proof leads back to itself.
    """

    def __init__(self, difference: Callable[[t.Sum], list[t.Term] | None]) -> None:
        self._difference = difference
        self._known: dict[tuple[str, s.Expr], Any] = {}

    def upper(self, expr: s.Expr) -> Form:
        """Largest of smallest."""
        return self._once("upper", expr, self._upper, _NEVER_POSITIVE)  # type: ignore[no-any-return]

    def lower(self, expr: s.Expr) -> Form | None:
        """Smallest of largest; with one, the expression is positive."""
        return self._once("lower", expr, self._lower, None)  # type: ignore[no-any-return]

    def nonnegative(self, expr: s.Expr) -> bool:
        """Whether it is seen never to be negative."""
        return self.lower(expr) is not None or bool(self._once("nonnegative", expr, self._nonnegative, False))
