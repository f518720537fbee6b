"""Counterexamples for people and programs: the curve written out, and sizes on it with the values there."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from archline.algebra.asymptotic.along_curve import Curve
from archline.algebra.asymptotic.constants import UNITY, Constant, OutOfReachError
from archline.algebra.asymptotic.counterexample import Divergence, Point
from archline.algebra.asymptotic.hardy_field import Scale
from archline.algebra.asymptotic.log_domain import Domain
from archline.algebra.evaluate.balls import digits, exact_text, value_at
from archline.algebra.product_text import quotient_text
from archline.language import syntax as s
from archline.language.evaluate import holds
from archline.numbers import arb, ctx, fmpq
from archline.records import record

LEVELS = ("2^T", "T", "log2(T)", "log2(log2(T))", "log2(log2(log2(T)))")
TIMES = (4, 16, 256, 65536)
MAX_BITS = 1 << 19
MOST = 4
Data = dict[str, object]


def counterexample(f: s.Expr, g: s.Expr, domain: Domain, found: Divergence | Point) -> Data:
    """The counterexample as plain data."""
    if isinstance(found, Point):
        at = {name: str(value) for name, value in found.sizes.items()}
        values = (digits(value_at(each, found.sizes)) for each in (f, g))
        return {"kind": "point", "at": at, **dict(zip(("f", "g"), values, strict=True))}
    curve = {name: curve_text(found.curve, name) for name in sorted(found.curve.scales)}
    ratio = "infinite" if found.ratio is None else scale_text(found.ratio)
    samples = [each.document for each in _samples(f, g, domain, found.curve)]
    return {"kind": "curve", "curve": curve, "ratio": ratio, "samples": samples}


def curve_text(curve: Curve, name: str) -> str:
    """A size as a function of T, in the language's syntax."""
    powers = tuple(Constant(each) for each in curve.scales.get(name, ()))
    text = scale_text(powers)
    coefficient = curve.coefficients.get(name, fmpq(1))
    if coefficient == 1:
        return text
    return str(coefficient) if text == "1" else f"{coefficient}*{text}"


def scale_text(scale: Scale) -> str:
    """A product of powers of 2^T, T, log2(T), ... in the language's syntax."""
    above: list[str] = []
    below: list[str] = []
    for level, power in enumerate(scale):
        sign = power.sign()
        if sign:
            (above if sign > 0 else below).append(_power_text(level, power if sign > 0 else -power))
    return quotient_text(above, below)


def _power_text(level: int, power: Constant) -> str:
    text = str(power)
    if power == UNITY:
        return LEVELS[level]
    if level == 0:
        return f"2^(({text})*T)" if " " in text else f"2^({text}*T)"
    return f"{LEVELS[level]}^{text}" if text.isdigit() else f"{LEVELS[level]}^({text})"


@record
class _Sample:
    """Sizes as shown, and the values of f and g there."""

    at: dict[str, str]
    f: arb
    g: arb

    @property
    def document(self) -> Data:
        ratio = digits(self.f / self.g) if self.g > 0 else "infinite"
        return {"at": self.at, "f": digits(self.f), "g": digits(self.g), "ratio": ratio}


def _samples(f: s.Expr, g: s.Expr, domain: Domain, curve: Curve) -> list[_Sample]:
    """Sizes on the curve, from where on the quotient rises."""
    found = [*_near(f, g, domain, curve), *_far(f, g, domain, curve)]
    while (
        len(found) > 1 and found[0].g > 0 and found[1].g > 0 and not found[0].f / found[0].g < found[1].f / found[1].g
    ):
        del found[0]
    return found[:MOST]


def _near(f: s.Expr, g: s.Expr, domain: Domain, curve: Curve) -> Iterator[_Sample]:
    """Integer sizes near the curve that satisfy the facts, where the facts can be evaluated there."""
    step = math.lcm(*(int(powers[0].q) for powers in curve.scales.values() if powers))
    for time in TIMES:
        point = _point(curve, time * step)
        if point is not None and _inside(domain, point):
            at = {name: exact_text(value) for name, value in sorted(point.items())}
            yield from _valued(f, g, at, point)


def _far(f: s.Expr, g: s.Expr, domain: Domain, curve: Curve) -> Iterator[_Sample]:
    """Sizes too long to be written in digits, which are powers of 2 all the same."""
    if domain.facts or domain.has_cache(curve.scales):
        return
    for exponent in (64, 256):
        point = {name: _real(curve, name, exponent) for name in curve.scales}
        at = {name: curve_text(curve, name).replace("T", f"(2^{exponent})") for name in sorted(curve.scales)}
        whole = f"(2^{exponent})"
        at = {name: whole[1:-1] if text == whole else text.replace(f"({whole})", whole) for name, text in at.items()}
        yield from _valued(f, g, at, point)


def _valued(f: s.Expr, g: s.Expr, at: dict[str, str], point: Mapping[str, int | arb]) -> Iterator[_Sample]:
    try:
        above, below = value_at(f, point), value_at(g, point)
    except OutOfReachError:
        return
    yield _Sample(at, above, below)


def _real(curve: Curve, name: str, exponent: int) -> arb:
    """A size at T = 2^exponent."""
    with ctx.workprec(1024):
        level, product = arb(2) ** exponent, arb(curve.coefficients.get(name, fmpq(1)))
        for index, power in enumerate(curve.scales[name]):
            product *= (arb(2) ** (level * power)) if index == 0 else level**power
            if index:
                level = level.log() / arb.const_log2()
        return product


def _inside(domain: Domain, point: Mapping[str, int]) -> bool:
    return all(holds(fact, point) for fact in domain.facts)


def _point(curve: Curve, time: int) -> dict[str, int] | None:
    found = {}
    for name, powers in curve.scales.items():
        value = _value(powers, time)
        if value is None:
            return None
        found[name] = max(1, int(value * curve.coefficients.get(name, fmpq(1))))
    return found


def _value(powers: tuple[fmpq, ...], time: int) -> fmpq | None:
    """The integer below the product of powers of the levels at T = time; None where it is too long."""
    if not powers:
        return fmpq(1)
    if powers[0] * time > MAX_BITS:
        return None
    with ctx.workprec(128 + int((powers[0] * time).ceil())):
        level, product = arb(time), arb(1)
        for power in powers[1:]:
            if not level > 0:
                return None
            product *= level**power
            level = level.log() / arb.const_log2()
        product *= arb(2) ** (powers[0] * time)
        near = product.floor().unique_fmpz()
        # A product that is an integer exactly is enclosed on both sides of it.
        whole = near if near is not None else (product + fmpq(1, 2)).floor().unique_fmpz()
        return None if whole is None else fmpq(whole)
