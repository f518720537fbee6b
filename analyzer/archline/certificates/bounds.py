"""Upper and lower bounds of expressions up to constant factors, at every point that facts and DIFFERENCES allow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from archline.certificates import forms as fm
from archline.certificates import terms as t
from archline.certificates.constants import Number, RejectedError, constant, log2, rational, require
from archline.certificates.forms import Form
from archline.language import syntax as s
from archline.language.format_expressions import format_expression

_UNIT = fm.form(fm.ONE)
_NEVER_POSITIVE: Form = frozenset()


class Bounds:
    """Bounds of expressions; `difference` gives what is left of a sum with negative terms, or None: not shown.

    What is being looked at counts as not shown, so that no proof leads back to itself.
    """

    def __init__(self, difference: Callable[[t.Sum], Sequence[t.Term] | None]) -> None:
        self._difference = difference
        self._uppers: dict[s.Expr, Form | None] = {}
        self._lowers: dict[s.Expr, Form | None] = {}
        self._signs: dict[s.Expr, bool] = {}

    def upper(self, expr: s.Expr) -> Form:
        """Largest of smallest; empty for what is never positive."""
        if expr not in self._uppers:
            self._uppers[expr] = None
            self._uppers[expr] = self._upper(expr)
        found = self._uppers[expr]
        if found is None:
            raise RejectedError(f"the bound of `{format_expression(expr)}` is defined by itself")
        return found

    def lower(self, expr: s.Expr) -> Form | None:
        """Smallest of largest; with one, the expression is positive."""
        if expr not in self._lowers:
            self._lowers[expr] = None
            self._lowers[expr] = self._lower(expr)
        return self._lowers[expr]

    def nonnegative(self, expr: s.Expr) -> bool:
        """Whether it is seen never to be negative."""
        if expr not in self._signs:
            self._signs[expr] = False
            self._signs[expr] = self.lower(expr) is not None or self._nonnegative(expr)
        return self._signs[expr]

    def defined(self, expr: s.Expr) -> None:
        """Reject what may have no value: a division by zero, a root or a logarithm of what may be negative."""
        for part in s.nodes(expr):
            match part:
                case s.Binary(op="/" | "//" | "%", right=right) if self.lower(right) is None:
                    raise RejectedError(f"the divisor `{format_expression(right)}` is not shown to be positive")
                case s.Binary(op="^", left=left, right=right):
                    self._power_defined(left, right)
                case s.Call(function="sqrt" | "log2" | "log", arguments=(inner,)) if not self.nonnegative(inner):
                    raise RejectedError(f"`{format_expression(inner)}` may be negative")
                case _:
                    pass

    def _power_defined(self, base: s.Expr, exponent: s.Expr) -> None:
        by = None if s.names(exponent) else constant(exponent)
        whole = by is not None and by.fraction is not None and by.fraction.denominator == 1
        if not (whole or self.nonnegative(base)) or ((by is None or by.sign <= 0) and self.lower(base) is None):
            raise RejectedError(f"`{format_expression(base)}` is not shown to allow its power")

    # Sums and products of factors
    def term_upper(self, term: t.Term) -> Form:
        """An upper bound of a product of factors."""
        self.require_nonnegative(term)
        parts = [self._power(factor.expr, by, upper=True) for factor, by in term.powers]
        return reduce(fm.times, (part for part in parts if part is not None), _UNIT)

    def term_lower(self, term: t.Term) -> Form | None:
        """A lower bound of a product of factors."""
        parts = [self._power(factor.expr, by, upper=False) for factor, by in term.powers]
        present = [part for part in parts if part is not None]
        return reduce(fm.times, present, _UNIT) if len(present) == len(parts) else None

    def require_nonnegative(self, term: t.Term) -> None:
        """Reject a product with a factor that may be negative, or is divided by and may be zero."""
        for factor, by in term.powers:
            shown = self.nonnegative(factor.expr) if by.sign > 0 else self.lower(factor.expr) is not None
            require(shown, f"the factor `{format_expression(factor.expr)}` may be negative or zero")

    def sum_upper(self, terms: t.Sum) -> Form:
        """An upper bound of a sum of terms with coefficients: that of its positive terms."""
        for term in terms:
            self.require_nonnegative(term)
        return fm.outer(*(self.term_upper(term) for term, value in terms.items() if value.sign > 0))

    def sum_lower(self, terms: t.Sum) -> Form | None:
        """A lower bound of a sum of terms; of what a DIFFERENCE leaves where some are negative."""
        left = self.remaining(terms)
        found = [bound for bound in map(self.term_lower, left or ()) if bound is not None]
        return fm.inner(*found) if found else None

    def remaining(self, terms: t.Sum) -> Sequence[t.Term] | None:
        """The terms that a sum is bounded by from below; None: it may be negative."""
        if any(value.sign < 0 for value in terms.values()):
            return self._difference(terms)
        for term in terms:
            self.require_nonnegative(term)
        return list(terms)

    def _power(self, base: s.Expr, by: Number, *, upper: bool) -> Form | None:
        """base^by, for a base that is not negative, and positive if the power is negative."""
        bound = self.upper(base) if upper == (by.sign > 0) else self.lower(base)
        return None if bound is None else fm.to_power(bound, by)

    # Expressions
    def _upper(self, expr: s.Expr) -> Form:
        if (value := _constant(expr)) is not None:
            return _UNIT if value.sign > 0 else _NEVER_POSITIVE
        if self._expands(expr):
            return self.sum_upper(t.expand(expr))
        match expr:
            case s.Name(id=name):
                return fm.form(fm.size(name))
            case s.Binary(op="+", left=left, right=right):
                return fm.outer(self.upper(left), self.upper(right))
            case s.Binary(op="*", left=left, right=right):
                self._require_signs(left, right)
                return fm.times(self.upper(left), self.upper(right))
            case s.Binary(op="/", left=left, right=right):
                self._require_signs(left)
                return fm.times(self.upper(left), fm.to_power(_shown(self.lower(right), right), rational(-1)))
            case s.Binary(op="%", left=left, right=right):
                self._require_signs(left, right)
                return fm.inner(self.upper(left), self.upper(right))
            case s.Call(function="max", arguments=parts):
                return fm.outer(*map(self.upper, parts))
            case s.Call(function="min", arguments=parts):
                return fm.inner(*map(self.upper, parts))
            case s.Call(function="floor", arguments=(inner,)):
                return self.upper(inner)
            case s.Binary(op="//"):
                return self.upper(self._quotient(expr))
            case s.Call(function="ceil", arguments=(inner,)):
                return fm.outer(self.upper(inner), _UNIT)
            case s.Call(function="abs", arguments=(inner,)):
                return fm.outer(self.upper(inner), *([] if self.nonnegative(inner) else [self.upper(_minus(inner))]))
            case s.Call(function="log2" | "log", arguments=(inner,)):
                return fm.upper_log(self.upper(inner))
            case _:
                return _shown(self._of_power(expr, upper=True), expr)

    def _lower(self, expr: s.Expr) -> Form | None:
        if (value := _constant(expr)) is not None:
            return _UNIT if value.sign > 0 else None
        if self._expands(expr):
            return self.sum_lower(t.expand(expr))
        match expr:
            case s.Name(id=name):
                return fm.form(fm.size(name))
            case s.Binary(op="+", left=left, right=right):
                return self._largest(left, right) if self.nonnegative(left) and self.nonnegative(right) else None
            case s.Binary(op="*" | "/" as op, left=left, right=right):
                return self._product_lower(left, right, 1 if op == "*" else -1)
            case s.Call(function="max", arguments=parts):
                return self._largest(*parts)
            case s.Call(function="min", arguments=parts):
                found = self._lowers_of(parts)
                return fm.outer(*found) if len(found) == len(parts) else None
            case s.Call(function="floor", arguments=(inner,)):
                return self.lower(inner) if self._above_one(inner) else None
            case s.Binary(op="//"):
                inner = self._quotient(expr)
                return self.lower(inner) if self._above_one(inner) else None
            case s.Call(function="ceil", arguments=(inner,)):
                bound = self.lower(inner)
                return None if bound is None else fm.inner(bound, _UNIT)
            case s.Call(function="abs", arguments=(inner,)):
                return self.lower(inner)
            case s.Call(function="log2" | "log", arguments=(inner,)):
                bound = self.lower(inner)
                return fm.lower_log(bound) if bound is not None else _UNIT if self.nonnegative(inner) else None
            case _:
                return self._of_power(expr, upper=False)

    def _nonnegative(self, expr: s.Expr) -> bool:
        """Where there is no lower bound."""
        if (value := _constant(expr)) is not None:
            return value.sign >= 0
        if self._expands(expr):
            return self.remaining(t.expand(expr)) is not None
        match expr:
            case s.Binary(op="+" | "*" | "/", left=left, right=right):
                return self.nonnegative(left) and self.nonnegative(right)
            case s.Binary(op="^", left=left):
                return self.nonnegative(left)
            case s.Call(function="min", arguments=parts):
                return all(map(self.nonnegative, parts))
            case s.Call(function="max", arguments=parts):
                return any(map(self.nonnegative, parts))
            case s.Call(function="floor" | "ceil" | "sqrt", arguments=(inner,)):
                return self.nonnegative(inner)
            case s.Binary(op="//", left=left):
                return self.nonnegative(left)
            case s.Binary(op="%") | s.Call(function="abs"):
                return True
            case _:
                return False

    def _expands(self, expr: s.Expr) -> bool:
        """Whether it is arithmetic that holds a minus, or a whole power of what may be negative."""
        match expr:
            case s.Unary(op="-") | s.Binary(op="-"):
                return True
            case s.Binary(op="+" | "*" | "/", left=left, right=right):
                return self._expands(left) or (self._expands(right) and expr.op != "/")
            case s.Binary(op="^", left=left, right=right) if not s.names(right):
                by = constant(right).fraction
                whole = by is not None and by.denominator == 1 and by > 0
                return whole and self._expands(left) and not self.nonnegative(left)
            case _:
                return False

    def _of_power(self, expr: s.Expr, *, upper: bool) -> Form | None:
        match expr:
            case s.Call(function="sqrt", arguments=(inner,)):
                return self._power(inner, t.HALF, upper=upper) if self.nonnegative(inner) else None
            case s.Binary(op="^", left=left, right=right) if not s.names(right):
                by = constant(right)
                if by.is_zero:
                    return _UNIT
                allowed = self.nonnegative(left) if by.sign > 0 else self.lower(left) is not None
                return self._power(left, by, upper=upper) if allowed else None
            case s.Binary(op="^", left=left, right=right) if not s.names(left):
                return self._exponential(log2(constant(left)), t.expand(right), upper=upper)
            case _:
                return None

    def _exponential(self, base: Number, exponent: t.Sum, *, upper: bool) -> Form | None:
        """2^(base*exponent) for a sum of sizes and logarithms: a product of powers of 2^n and 2 + w."""
        result = _UNIT
        for term, value in exponent.items():
            match term.alone:
                case s.Call(function="log2", arguments=(inner,)) if self.nonnegative(inner):
                    by = value * base
                    bound = self.upper(inner) if upper == (by.sign > 0) else self.lower(inner) or _UNIT
                    result = fm.times(result, fm.to_power(_with_two(bound, upper == (by.sign > 0)), by))
                case s.Name(id=name):
                    result = fm.times(result, fm.to_power(fm.form(fm.exponential(name)), value * base))
                case _ if term.powers:
                    raise RejectedError("an exponent is no sum of multiples of sizes and logarithms")
                case _:
                    pass
        return result

    def _product_lower(self, left: s.Expr, right: s.Expr, by: int) -> Form | None:
        first, second = self.lower(left), self.lower(right)
        if first is None or second is None:
            return None
        return fm.times(first, second if by > 0 else fm.to_power(self.upper(right), rational(-1)))

    def _largest(self, *parts: s.Expr) -> Form | None:
        found = self._lowers_of(parts)
        return fm.inner(*found) if found else None

    def _lowers_of(self, parts: Sequence[s.Expr]) -> list[Form]:
        return [bound for bound in map(self.lower, parts) if bound is not None]

    def _above_one(self, expr: s.Expr) -> bool:
        return self.remaining(t.plus(t.expand(expr), {t.Term(): t.ONE}, -1)) is not None

    def _quotient(self, expr: s.Binary) -> s.Expr:
        return t.quotient(expr)

    def _require_signs(self, *parts: s.Expr) -> None:
        for part in parts:
            require(self.nonnegative(part), f"`{format_expression(part)}` may be negative")


def _constant(expr: s.Expr) -> Number | None:
    return None if s.names(expr) else constant(expr)


def _with_two(bound: Form, upper: bool) -> Form:
    """2 + w from bounds of w."""
    if bound and all(each.at_least_one for clause in bound for each in clause):
        return bound
    return fm.outer(bound, _UNIT) if upper else fm.inner(bound, _UNIT)


def _minus(expr: s.Expr) -> s.Expr:
    return s.Unary("-", expr, span=expr.span)


def _shown(bound: Form | None, expr: s.Expr) -> Form:
    if bound is None:
        raise RejectedError(f"`{format_expression(expr)}` is not bounded as it has to be")
    return bound
