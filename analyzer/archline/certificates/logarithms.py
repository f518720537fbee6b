"""Checks answers that compare the logarithms of f and g, by computing these at distant sizes n = 2^(1.001*2^k)."""

from __future__ import annotations

from archline.certificates.constants import RejectedError, require
from archline.certificates.counterexamples import convert_to_ball, evaluate
from archline.language import syntax as s
from archline.numbers import arb, ctx

_POWERS = (1, 2, 3, 4, 8, 16, 65536, (1001 << 65536) // 1000)
"""The numbers k; most functions are too large to compute at the last, but not iterated logarithms.

No iterated logarithm of n is an integer, which would leave log_star(n) undetermined.
"""
_PRECISION = 1 << 12
_LAST_SIZES = 3
_MAX_CHANGE = 8
_MAX_EXPONENT = arb(2) ** (1 << 20)
BOUNDED, ABOVE, BELOW = (
    "log2(f) - log2(g) is bounded",
    "log2(f) - log2(g) exceeds every bound",
    "log2(g) - log2(f) exceeds every bound",
)


def check_gap(f: s.Expr, g: s.Expr, claim: str) -> None:
    """Raise RejectedError unless log2(f) - log2(g) changes at distant sizes as claimed."""
    names = s.find_names((f, g)) - {"pi"}
    require(len(names) == 1, "this is not about a single size")
    gaps: list[arb] = []
    with ctx.workprec(_PRECISION):
        for power in _POWERS:
            reader = _LogReader(min(names), arb((1001, power)) / 1000)
            try:
                gap = reader.enclose_log2(f) - reader.enclose_log2(g)
            except RejectedError:
                continue
            if gap.is_finite() and gap.rad() < (1 + abs(gap)) * arb(2) ** -20:
                gaps.append(gap)
    require(len(gaps) >= _LAST_SIZES, "the logarithms cannot be computed at enough sizes")
    first, second, third = gaps[-_LAST_SIZES:]
    if claim == BOUNDED:
        require(abs(third - second) < _MAX_CHANGE, "the difference of the logarithms changes too much")
    else:
        rise = 1 if claim == ABOVE else -1
        require(claim in (ABOVE, BELOW), "the claim is unknown")
        # Where log_star(n) does not change from one size to the next, the difference may fall a little.
        grows = all((third - before) * rise > 0 for before in (first, second))
        require(grows, "the difference of the logarithms does not grow as claimed")


class _LogReader:
    """Encloses expressions and their binary logarithms at a size whose logarithm is `log_size`."""

    def __init__(self, name: str, log_size: arb) -> None:
        self._name, self._log_size = name, log_size

    def enclose_value(self, expr: s.Expr) -> arb:
        """Enclose a value."""
        match expr:
            case s.Binary(op="+", left=left, right=right):
                return self.enclose_value(left) + self.enclose_value(right)
            case s.Binary(op="-", left=left, right=right):
                return self.enclose_value(left) - self.enclose_value(right)
            case s.Unary(op="-", operand=operand):
                return -self.enclose_value(operand)
            case s.Call(function="log2" | "log" as function, arguments=(inner,)) if s.find_names(inner) - {"pi"}:
                value = _add_logarithms(self.enclose_log2(inner), arb(1))
                return value * arb.const_log2() if function == "log" else value
            case s.Call(function="max" | "min" as function, arguments=arguments):
                first, *rest = map(self.enclose_value, arguments)
                for value in rest:
                    first = first.max(value) if function == "max" else first.min(value)
                return first
            case s.Call(function="floor" | "ceil" | "abs" as function, arguments=(inner,)):
                value = self.enclose_value(inner)
                return abs(value) if function == "abs" else value.floor() if function == "floor" else value.ceil()
            case s.Call(function="log_star", arguments=(inner,)):
                return self._count_logarithms(inner)
            case _ if not s.find_names(expr) - {"pi"}:
                return convert_to_ball(evaluate(expr, {"pi": arb.pi()}))
            case _:
                logarithm = self.enclose_log2(expr)
                require(abs(logarithm) < _MAX_EXPONENT, "a value is too large")
                return arb(2) ** logarithm

    def enclose_log2(self, expr: s.Expr) -> arb:
        """Enclose the binary logarithm of a positive value."""
        match expr:
            case s.Name(id=name) if name == self._name:
                return self._log_size
            case s.Binary(op="*", left=left, right=right):
                return self.enclose_log2(left) + self.enclose_log2(right)
            case s.Binary(op="/", left=left, right=right):
                return self.enclose_log2(left) - self.enclose_log2(right)
            case s.Binary(op="^", left=left, right=right):
                return self.enclose_value(right) * self.enclose_log2(left)
            case s.Binary(op="+", left=left, right=right):
                return _add_logarithms(self.enclose_log2(left), self.enclose_log2(right))
            case s.Call(function="sqrt", arguments=(inner,)):
                return self.enclose_log2(inner) / 2
            case s.Call(function="exp", arguments=(inner,)):
                return self.enclose_value(inner) / arb.const_log2()
            case s.Call(function="factorial", arguments=(inner,)):
                return (self.enclose_value(inner) + 1).lgamma() / arb.const_log2()
            case s.Binary(op="-") | s.Call() | s.Integer() | s.Real() | s.Name():
                value = self.enclose_value(expr)
                require(value > 0, "a logarithm of what is not positive")
                return value.log() / arb.const_log2()
            case _:
                raise RejectedError("an operation without a logarithm")

    def _count_logarithms(self, inner: s.Expr) -> arb:
        value, count = self.enclose_log2(inner), 0
        while value > 0:
            value, count = value.log() / arb.const_log2(), count + 1
        require(value <= 0, "the number of logarithms is not determined")
        return arb(count)


def _add_logarithms(left: arb, right: arb) -> arb:
    """Return log2(2^left + 2^right)."""
    above, below = (left, right) if left >= right else (right, left)
    gap = below - above
    if gap < -_PRECISION:
        return above + arb(0, 1) * arb(2) ** -_PRECISION
    return above + (1 + arb(2) ** gap).log() / arb.const_log2()
