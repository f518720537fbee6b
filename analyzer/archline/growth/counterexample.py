"""Find counterexamples: curves along which f/g passes every constant, verified exactly; points where g is not positive.

For people and programs the curve is written out, with sizes on it and the values there.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TypeAlias

from archline.algebra.effort import is_out_of_time
from archline.algebra.lp.exact import Optimum, maximise
from archline.algebra.reals import ONE, ZERO, Constant, OutOfReachError
from archline.expr import build as b
from archline.expr import values as points
from archline.expr.intervals import EvaluationError, Interval
from archline.expr.text import format_expression
from archline.expr.values import evaluate
from archline.growth import hardy_field
from archline.growth import normal_form as e
from archline.growth.balls import enclose_value_at, format_digits, format_integer
from archline.growth.dominance_differences import DominanceBound
from archline.growth.hardy_field import Curve, Scale, evaluate_along, is_true_along
from archline.growth.lattices import GrowthAtom
from archline.growth.log_domain import CACHE_NAMES, Domain
from archline.growth.monomials import Monomial
from archline.language import syntax as s
from archline.numbers import arb, ctx, fmpq
from archline.records import record

MAX_DENOMINATOR = 1 << 12
MAX_DIGIT = 1 << 16
SMALL_SIZES = (1, 2, 3, 4)
MAX_POINTS = 1500


@record
class Divergence:
    """A curve on which f/g is unbounded; `ratio` is its growth as text, `infinite` where g is 0 and f is not.

    If `rough`, the growth is 2^x, where only the leading term of the logarithm of f/g is known to be x.
    """

    curve: Curve
    ratio: str
    rough: bool = False


@record
class Point:
    """A point of sizes at which g is not positive and f is."""

    sizes: Mapping[str, int]


class Refuter:
    """The search for a counterexample to f = O(g)."""

    def __init__(self, f: s.Expr, g: s.Expr, domain: Domain, names: frozenset[str], *shown: s.Expr) -> None:
        self._f, self._g, self._domain, self._names = f, g, domain, names
        self._cache = domain.has_cache(names)
        self._shown = shown or (f, g)
        self.steep = any(map(e.has_steep_power, self._shown))
        self._tried: set[tuple[tuple[str, tuple[fmpq, ...]], ...]] = set()

    def refute_along_direction(self, values: Mapping[GrowthAtom, fmpq], slow: fmpq) -> Divergence | None:
        """Follow the direction that a linear program proposes. None if f/g is not shown to grow along it."""
        sizes = {atom.key: value for atom, value in values.items() if atom.key.isidentifier()}
        # The simplest curve first: leading powers alone.
        for count in (1, 2, 3):
            divergence = self._test_powers(_compute_level_powers(sizes, slow, count))
            if divergence is not None:
                return divergence
        return None

    def refute_by_trials(self, most: int) -> Divergence | None:
        """Try curves on which a few sizes grow like log2(T), T, T^2, 2^T, 4^T or 8^T, and the rest are constant.

        None if f/g is not shown to grow along any of the first `most` curves.
        """
        for powers in itertools.islice(_iterate_simple_curves(sorted(self._names)), most):
            divergence = self._test_powers(powers)
            if divergence is not None:
                return divergence
        return None

    def refute_at_point(self) -> Point | None:
        """Find small sizes at which g is not positive and f is.

        None if none are found, or if a fact contains a call.
        """
        if any(isinstance(node, s.Call) for fact in self._domain.facts for node in s.iterate_nodes(fact)):
            return None
        names = sorted(self._names)
        for values in itertools.islice(itertools.product(SMALL_SIZES, repeat=len(names)), MAX_POINTS):
            point = dict(zip(names, values, strict=True))
            try:
                if self._is_counterexample(point):
                    return Point(point)
            except OutOfReachError:
                continue
        return None

    def _is_counterexample(self, point: Mapping[str, int]) -> bool:
        if self._cache and point["Z"] < point["L"]:
            return False
        if not all(points.evaluate_fact(fact, point) for fact in self._domain.facts):
            return False
        return enclose_value_at(self._f, point) > 0 and _is_not_positive(self._g, point)

    def _test_powers(self, powers: Mapping[str, tuple[fmpq, ...]]) -> Divergence | None:
        key = tuple(sorted((name, exponents) for name, exponents in powers.items() if any(exponents)))
        if key in self._tried or not key or is_out_of_time():
            return None
        self._tried.add(key)
        # Values such as n^n can be computed on curves on which sizes grow slowly.
        for slower, coefficients in itertools.product(
            range(3 if self.steep else 1), self._propose_coefficients(powers)
        ):
            scales = {name: (*(ZERO,) * slower, *exponents) for name, exponents in powers.items()}
            curve = Curve({name: scales.get(name, ()) for name in sorted(self._names)}, coefficients)
            divergence = self._verify_curve(curve)
            if divergence is not None:
                return divergence
        return None

    def _propose_coefficients(self, powers: Mapping[str, tuple[fmpq, ...]]) -> Iterator[dict[str, fmpq]]:
        """Yield coefficients of the sizes: all 1, then powers of 2 that satisfy facts whose two sides grow alike."""
        yield {}
        if self._domain.bounds:
            constants = _find_constants(self._domain.bounds, Curve(powers, {}), sorted(self._names))
            if constants:
                yield constants

    def _verify_curve(self, curve: Curve) -> Divergence | None:
        try:
            if not (self._has_valid_sizes(curve) and all(is_true_along(fact, curve) for fact in self._domain.facts)):
                return None
            if self.steep:
                return self._compare_logarithms(curve)
            f, g = evaluate_along(self._f, curve), evaluate_along(self._g, curve)
            if f.sign <= 0:
                return None
            if g.sign <= 0:
                return Divergence(curve, "infinite")
            ratio = tuple(a - b for a, b in zip(f.leading.scale, g.leading.scale, strict=True))
            return (
                Divergence(curve, format_scale(ratio))
                if hardy_field.compare_scales(ratio, hardy_field.CONSTANT_SCALE) > 0
                else None
            )
        except OutOfReachError:
            return None

    def _compare_logarithms(self, curve: Curve) -> Divergence | None:
        """Return a divergence if log(f) - log(g) is unbounded; None also if the log of a shown expression has 2^T."""
        log_f, log_g, *shown = (
            hardy_field.evaluate_log_along(expr, curve) for expr in (self._f, self._g, *self._shown)
        )
        gap = hardy_field.add_values(log_f, hardy_field.negate_value(log_g))
        far = any(log.terms and log.leading.scale[0].sign() > 0 for log in shown)
        if far or gap.sign <= 0 or hardy_field.compare_scales(gap.leading.scale, hardy_field.CONSTANT_SCALE) <= 0:
            return None
        power = Monomial(_make_level_powers(gap.leading.scale)).tree(coefficient=gap.leading.coefficient)
        rest = gap.terms[1:]
        rough = not gap.exact or any(hardy_field.compare_scales(x.scale, hardy_field.CONSTANT_SCALE) > 0 for x in rest)
        return Divergence(curve, format_expression(b.power(b.number(2), power)), rough)

    def _has_valid_sizes(self, curve: Curve) -> bool:
        """Whether all sizes are at least 1, and Z is at least L."""
        one = hardy_field.make_number(fmpq(1))
        if any(hardy_field.compare_values(curve.value(name), one) < 0 for name in self._names):
            return False
        if not self._cache:
            return True
        line, words = (curve.value(name) for name in reversed(CACHE_NAMES))
        return hardy_field.compare_values(line, words) <= 0


def _iterate_simple_curves(names: Sequence[str]) -> Iterator[dict[str, tuple[fmpq, ...]]]:
    zero, unit, two, three = map(fmpq, range(4))
    plain: tuple[tuple[fmpq, ...], ...] = ((unit,), (two,), (zero, unit), (zero, zero, unit))
    rare: tuple[tuple[fmpq, ...], ...] = ((three,), (zero, two))

    def iterate_curves(
        kinds: Sequence[tuple[fmpq, ...]], counts: Iterable[int]
    ) -> Iterator[dict[str, tuple[fmpq, ...]]]:
        for count in counts:
            for growing in itertools.combinations(names, count):
                for powers in itertools.product(kinds, repeat=count):
                    yield dict(zip(growing, powers, strict=True))

    several = range(2, len(names) + 1)
    yield from iterate_curves(plain + rare, (1,))
    yield from iterate_curves(plain, several)
    # The rest: curves of plain kinds alone are not counted as trials again.
    yield from (curve for curve in iterate_curves(plain + rare, several) if not set(curve.values()).isdisjoint(rare))


def _compute_level_powers(sizes: Mapping[str, fmpq], slow: fmpq, digits: int) -> dict[str, tuple[fmpq, ...]]:
    """Return powers of 2^T, T and log2(T) for sizes whose logarithms are in the given proportion.

    The logarithm of each level counts as `slow` times that of the level before.
    """
    top = max(sizes.values(), default=fmpq(0))
    if not top:
        return {}
    return {name: _compute_leading_digits(value / top, slow, digits) for name, value in sizes.items() if value}


def _compute_leading_digits(value: fmpq, slow: fmpq, count: int) -> tuple[fmpq, ...]:
    """Return the leading digits of a number in base `slow`; digits are simple fractions of any sign.

    There are at most three, and at most `count` are not 0.
    """
    result = []
    for _ in range(3):
        near = Fraction(int(value.p), int(value.q)).limit_denominator(MAX_DENOMINATOR)
        digit = fmpq(near.numerator, near.denominator)
        count -= bool(digit)
        result.append(digit)
        value = (value - digit) / slow
        if not count or abs(value) > MAX_DIGIT:
            break
    return tuple(result)


def _is_not_positive(expr: s.Expr, point: Mapping[str, int]) -> bool:
    value = enclose_value_at(expr, point)
    if value <= 0 or value > 0:
        return bool(value <= 0)
    # Too close to zero for an enclosure; without logarithms it may be rational, and computed exactly.
    if any(isinstance(node, s.Call) and node.function in ("log2", "log") for node in s.iterate_nodes(expr)):
        return False
    try:
        exact = evaluate(expr, point)
    except EvaluationError:
        return False
    return not isinstance(exact, Interval) and exact <= 0


def _find_constants(bounds: Sequence[DominanceBound], curve: Curve, names: Sequence[str]) -> dict[str, fmpq] | None:
    """Find coefficients of the sizes, powers of 2, that satisfy the bounds whose two sides grow alike on a curve.

    None if there are none.
    """
    rows, limits = [], []
    for bound in bounds:
        try:
            need = _bound_log2_of_ratio_above(bound, curve)
        except OutOfReachError:
            continue
        if need is None:
            continue
        same = sum(another.because == bound.because for another in bounds)
        gap = {factor.key: power.rational for factor, power in (bound.large / bound.small).powers.items()}
        rows.append([-gap.get(name, fmpq(0)) for name in names])
        limits.append(-(need + _bound_log2_above(same / bound.factor)))
    solution = maximise([fmpq(-1)] * len(names), rows, limits)
    if not isinstance(solution, Optimum):
        return None
    return {name: fmpq(1 << int(value.ceil())) for name, value in zip(names, solution.point, strict=True) if value > 0}


def _bound_log2_of_ratio_above(bound: DominanceBound, curve: Curve) -> fmpq | None:
    """Bound log2(small/large) on the curve with all coefficients 1 from above; None if one side grows faster."""
    need = fmpq(0)
    scale = hardy_field.CONSTANT_SCALE
    for factor, power in (bound.small / bound.large).powers.items():
        value = evaluate_along(factor.expr, curve)
        if not value.terms:
            return None
        scale = tuple(a + b * power for a, b in zip(scale, value.leading.scale, strict=True))
        if not isinstance(factor.expr, s.Name):
            # The leading term is near enough for large T; a factor of 2 covers the error.
            part = (
                (value.leading.coefficient.enclosure().log() / arb.const_log2() * power.enclosure())
                .upper()
                .ceil()
                .unique_fmpz()
            )
            need += 1 + (0 if part is None else int(part))
    return None if hardy_field.compare_scales(scale, hardy_field.CONSTANT_SCALE) else need


def _bound_log2_above(value: fmpq) -> fmpq:
    """Return an integer that is at least the logarithm of a positive rational."""
    return fmpq(int(value.ceil() - 1).bit_length() if value >= 1 else 1 - int((1 / value).floor()).bit_length())


CURVE_VARIABLES = ("T", "t", "s", "u")
"""The names of the variable on a curve; the first that no size has is shown."""
LEVELS = ("2^T", "T", "log2(T)", "log2(log2(T))", "log2(log2(log2(T)))")
SAMPLE_TIMES = (4, 16, 256, 65536)
MAX_BITS = 1 << 19
SHOWN_BITS = 24
MAX_SAMPLES = 4
Data = dict[str, object]


def encode_counterexample(f: s.Expr, g: s.Expr, refutation: Divergence | Point, samples: Sequence[Sample]) -> Data:
    """Encode a counterexample as plain data, with samples of the curve."""
    if isinstance(refutation, Point):
        at = {name: str(value) for name, value in refutation.sizes.items()}
        values = (format_digits(enclose_value_at(expr, refutation.sizes)) for expr in (f, g))
        return {"kind": "point", "at": at, **dict(zip(("f", "g"), values, strict=True))}
    return {
        "kind": "curve",
        "curve": format_curve(refutation.curve),
        "ratio": _with_free_variable(refutation.ratio, refutation.curve),
        "samples": [sample.document for sample in samples],
    }


def format_curve(curve: Curve) -> dict[str, str]:
    """Format the sizes as functions of T, or of another variable if a size is called T."""
    return {name: _with_free_variable(format_curve_size(curve, name), curve) for name in sorted(curve.scales)}


def _with_free_variable(text: str, curve: Curve) -> str:
    """Replace T in a text by a variable that is not the name of a size."""
    used = {name.rpartition(".")[2] for name in curve.scales}
    names = itertools.chain(CURVE_VARIABLES, (f"t{number}" for number in itertools.count(1)))
    return re.sub(r"\bT\b", next(name for name in names if name not in used), text)


def format_curve_size(curve: Curve, name: str) -> str:
    """Format a size as a function of T, in the language's syntax."""
    return format_scale(tuple(map(Constant, curve.scales.get(name, ()))), curve.coefficients.get(name, ONE))


def format_scale(scale: Scale, coefficient: fmpq = ONE) -> str:
    """Format a multiple of a product of powers of 2^T, T, log2(T), ... in the language's syntax."""
    return Monomial(_make_level_powers(scale)).text(coefficient=Constant(coefficient))


def _make_level_powers(scale: Scale) -> dict[str, Constant]:
    return {level: power for level, power in zip(LEVELS, scale, strict=False) if power}


@record
class Sample:
    """A point on a curve: the sizes as text, as integers unless they are too long, and the values of f and g."""

    at: dict[str, str]
    point: Mapping[str, int] | None
    f: arb
    g: arb

    @property
    def document(self) -> Data:
        ratio = format_digits(self.f / self.g) if self.g > 0 else "infinite"
        return {"at": self.at, "f": format_digits(self.f), "g": format_digits(self.g), "ratio": ratio}


Place: TypeAlias = tuple[dict[str, str], Mapping[str, int | arb], Mapping[str, int] | None]
"""Sizes as text, as numbers, and as integers if they are not too long."""


def sample_curve(f: s.Expr, g: s.Expr, domain: Domain, curve: Curve, *, exact_logs: bool = False) -> list[Sample]:
    """Return samples on the curve, from where the quotient f/g begins to rise; log2(w) is log2(2 + w) by default."""
    places: tuple[Place, ...] = (*_list_integer_points(domain, curve), *_list_huge_points(domain, curve))
    rows = [row for place in places for row in _evaluate_sample(f, g, place, exact_logs=exact_logs)]
    while len(rows) > 1 and rows[0].g > 0 and rows[1].g > 0 and not rows[0].f / rows[0].g < rows[1].f / rows[1].g:
        del rows[0]
    return rows[:MAX_SAMPLES]


def _list_integer_points(domain: Domain, curve: Curve) -> Iterator[Place]:
    """Yield integer sizes near the curve that satisfy the facts, where the facts can be evaluated."""
    step = math.lcm(*(int(powers[0].q) for powers in curve.scales.values() if powers))
    for time in SAMPLE_TIMES:
        point = _find_integer_point(curve, time * step)
        if point is not None and _satisfies_facts(domain, point):
            at = {name: format_integer(value) for name, value in sorted(point.items())}
            yield at, point, point


def _list_huge_points(domain: Domain, curve: Curve) -> Iterator[Place]:
    """Yield sizes on the curve that are too long for digits, written in powers of 2."""
    if domain.facts or domain.has_cache(curve.scales):
        return
    for exponent in (64, 256):
        point = {name: _evaluate_size(curve, name, exponent) for name in curve.scales}
        at = {name: format_curve_size(curve, name).replace("T", f"(2^{exponent})") for name in sorted(curve.scales)}
        whole = f"(2^{exponent})"
        at = {name: whole[1:-1] if text == whole else text.replace(f"({whole})", whole) for name, text in at.items()}
        yield at, point, None


def _evaluate_sample(f: s.Expr, g: s.Expr, place: Place, *, exact_logs: bool) -> Iterator[Sample]:
    """Yield the sample at a point, if both sides have values there, that of f above 0."""
    at, point, whole = place
    try:
        above, below = (enclose_value_at(side, point, exact_logs=exact_logs) for side in (f, g))
    except OutOfReachError:
        return
    if min(above.rel_accuracy_bits(), below.rel_accuracy_bits()) >= SHOWN_BITS and above > 0:
        yield Sample(at, whole, above, below)


def _evaluate_size(curve: Curve, name: str, exponent: int) -> arb:
    """Return a size at T = 2^exponent."""
    with ctx.workprec(1024):
        return _multiply_levels(curve.scales[name], arb(2) ** exponent) * curve.coefficients.get(name, fmpq(1))


def _multiply_levels(powers: tuple[fmpq, ...], time: arb) -> arb:
    """Return the product of powers of 2^T, T, log2(T), ... at T = `time`; no logarithm among these may be negative."""
    level, product = time, arb(2) ** (time * powers[0]) if powers else arb(1)
    for power in powers[1:]:
        product *= level**power
        level = level.log() / arb.const_log2()
    return product


def _satisfies_facts(domain: Domain, point: Mapping[str, int]) -> bool:
    return all(points.evaluate_fact(fact, point) for fact in domain.facts)


def _find_integer_point(curve: Curve, time: int) -> dict[str, int] | None:
    point = {}
    for name, powers in curve.scales.items():
        value = _floor_levels(powers, time)
        if value is None:
            return None
        point[name] = max(1, int(value * curve.coefficients.get(name, ONE)))
    return point


def _floor_levels(powers: tuple[fmpq, ...], time: int) -> fmpq | None:
    """Return the integer part of a product of powers of 2^T, T, log2(T), ... at T = `time`; None if too long."""
    if not powers:
        return fmpq(1)
    if powers[0] * time > MAX_BITS:
        return None
    with ctx.workprec(128 + int((powers[0] * time).ceil())):
        product = _multiply_levels(powers, arb(time))
        near = product.floor().unique_fmpz()
        # The enclosure of an exact integer contains numbers on both sides of it.
        whole = near if near is not None else (product + fmpq(1, 2)).floor().unique_fmpz()
        return None if whole is None else fmpq(whole)
