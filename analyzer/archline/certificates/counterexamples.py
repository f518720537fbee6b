"""Counterexamples: the values they give, and the growth of f/g along their curves, computed again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, TypeAlias

from archline.certificates.places import RejectedError, at, require
from archline.certificates.terms import names
from archline.certificates.values import Point, Value, at_most, ball, evaluate, holds
from archline.language import syntax as s
from archline.language.parser import parse_expression, parse_facts
from archline.numbers import arb, ctx

Data: TypeAlias = Mapping[str, Any]
_PRECISION = 4000
# T of the points on a curve that are looked at besides the samples; the nearer ones where what is far out cancels.
_FAR = tuple(Fraction(1 << each) for each in (256, 512, 1024))
_NEAR = tuple(map(Fraction, (256, 1024, 2048)))
_ZERO = Fraction(0)
# Values are given to six digits.
_SLACK = Fraction(1, 10_000)
_MAX_TEXT = 2000
# What the logarithms of growth that is found and growth that is claimed may differ by.
_LEAST = arb(3) / 4


class _CancelledError(RejectedError):
    """A value far out is too close to 0 to be known."""


class Counterexample:
    """A question and what is held against it. A curve is checked at points far out, which is no proof for all."""

    def __init__(self, f: str, g: str, facts: Sequence[str]) -> None:
        self._f, self._g = parse_expression(f), parse_expression(g)
        self._facts: list[s.Fact] = [fact for text in facts for fact in parse_facts(text)]
        parts = (self._f, self._g, *self._facts)
        self._names = {each.id for part in parts for each in s.nodes(part) if isinstance(each, s.Name)}

    def check(self, data: Data) -> None:
        """Reject what does not show that f is not O(g)."""
        before, ctx.prec = ctx.prec, _PRECISION
        try:
            if data["kind"] == "point":
                with at("at"):
                    f, g = self._values(self._point(data["at"]))
                self._same(data, {"f": f, "g": g})
                require(_above_zero(f) and at_most(g, _ZERO) is True, "f > 0 >= g does not hold there")
            else:
                self._curve(data)
        finally:
            ctx.prec = before

    def _curve(self, data: Data) -> None:
        ratios: list[Value] = []
        for index, sample in enumerate(data["samples"]):
            with at("samples", index):
                f, g = self._values(self._point(sample["at"]))
                require(_above_zero(f), "f is not positive")
                if at_most(g, _ZERO) is True:
                    # A point that is a counterexample by itself.
                    self._same(sample, {"f": f, "g": g})
                    return
                ratio = ball(f) / ball(g)
                self._same(sample, {"f": f, "g": g, "ratio": ratio})
                ratios.append(ratio)
        require(_rises(ratios), "f/g does not grow from sample to sample")
        with at("curve"):
            try:
                self._along(data, _FAR, certain=len(ratios) < 2)
            except _CancelledError:
                self._along(data, _NEAR, certain=True)

    def _along(self, data: Data, times: Sequence[Fraction], *, certain: bool) -> None:
        """On the curve itself f/g grows about as `ratio` does, which grows, or f > 0 >= g."""
        curve = {name: parse_expression(text) for name, text in data["curve"].items()}
        growth = parse_expression(data["ratio"])
        found, expected = [], []
        for time in times:
            point = {name: evaluate(size, {"T": time}, shift=0) for name, size in curve.items()}
            self._allowed(point, certain=certain)
            values = self._values(point)
            signs = tuple(map(_sign, values))
            if certain and signs == (1, 0):
                return
            if None in signs:
                raise _CancelledError("f or g cannot be evaluated on the curve")
            require(signs == (1, 1), "f or g is not positive on the curve")
            found.append(ball(values[0]) / ball(values[1]))
            expected.append(evaluate(growth, {"T": time}, shift=0))
        require(_rises(expected), "the growth that is claimed is none")
        for index in (1, 2):
            claimed = (ball(expected[index]) / ball(expected[index - 1])).log()
            share = (found[index] / found[index - 1]).log() / claimed
            require(share > _LEAST and share < 1 / _LEAST, "f/g does not grow as it is said to")

    def _point(self, sizes: Mapping[str, str]) -> Point:
        require(all(len(text) < _MAX_TEXT for text in sizes.values()), "a size is too long")
        exprs = {name: parse_expression(text) for name, text in sizes.items()}
        require(not any(names(each) for each in exprs.values()), "a size is not a number")
        point = {name: evaluate(each, {}, shift=0) for name, each in exprs.items()}
        self._allowed(point, certain=True)
        return point

    def _allowed(self, point: Point, *, certain: bool) -> None:
        """Reject sizes that are missing or below 1, or break a fact; if `certain`, also those that may break one."""
        require(point.keys() >= self._names, "a size is missing")
        claims = [at_most(Fraction(1), each) for each in point.values()]
        if {"L", "Z"} <= self._names:
            claims.append(at_most(point["L"], point["Z"]))
        allowed = (True,) if certain else (True, None)
        require(all(each in allowed for each in claims), "a size is less than 1, or Z less than L")
        require(all(holds(fact, point) in allowed for fact in self._facts), "a fact does not hold")

    def _values(self, point: Point) -> tuple[Value, Value]:
        return evaluate(self._f, point), evaluate(self._g, point)

    def _same(self, data: Data, values: Mapping[str, Value]) -> None:
        for name, value in values.items():
            require(_close(data[name], value), f"the value of {name} is not {data[name]}")


def _rises(values: Sequence[Value]) -> bool:
    return all(at_most(later, earlier) is False for earlier, later in pairwise(values))


def _sign(value: Value) -> int | None:
    """1, 0 for what is not positive, None: not decided."""
    below = at_most(value, _ZERO)
    return None if below is None else int(not below)


def _above_zero(value: Value) -> bool:
    return _sign(value) == 1


def _close(text: str, value: Value) -> bool:
    """Whether a number as it is shown, such as `1.5e+20` or `2^1.5e+20`, is that value."""
    if len(text) > _MAX_TEXT:
        raise RejectedError("a value is too long")
    if text.startswith("2^"):
        return _above_zero(value) and _near(Fraction(text[2:]), ball(value).log() / arb(2).log())
    return _near(Fraction(text), value)


def _near(shown: Fraction, value: Value) -> bool:
    gap = ball(value) - ball(shown)
    return at_most(abs(gap), ball(abs(shown) * _SLACK)) is True if shown else at_most(value, _ZERO) is True
