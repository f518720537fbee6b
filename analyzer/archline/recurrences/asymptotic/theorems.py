"""Derive the Theta growth of recurrences by the theorem of Akra and Bazzi and by the characteristic equation.

T(n) = sum a_i*T(r_i*n) + f(n) has an exact exponent p with sum a_i*r_i^p = 1. A change of variable reduces recurrences
of other kinds to this one. With n = log2(m), T(n - c) becomes U(m/2^c): sums over sizes and exponential growth become
powers of log2(m) and of m, and the equation of p is the characteristic one, for 2^p. With n = 2^m, T(sqrt(n)) becomes
U(m/2).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from functools import reduce
from typing import Any

from archline.algebra.reals import (
    ONE_CONSTANT,
    ZERO_CONSTANT,
    Constant,
    OutOfReachError,
    determine_sign,
    enclosed_constant,
)
from archline.expr import build
from archline.expr import tree as s
from archline.numbers import arb, arb_poly, ctx, fmpq, fmpq_poly, fmpz_poly
from archline.records import record, replace
from archline.recurrences.asymptotic.normal_form import WeightedCall
from archline.recurrences.asymptotic.terms import (
    GrowthTerm,
    compute_exact_logarithm,
    compute_rational_power,
    dominates,
    find_leading_terms,
    make_powers,
    split_perfect_power,
)

Parts = tuple[tuple[Constant, fmpq], ...]
"""Pairs (a, r): a > 0 calls at the share r of the size, 0 < r < 1; shares are distinct."""
Terms = tuple[GrowthTerm, ...]
_MAX_DENOMINATOR = 12
_MAX_DEGREE = 64
_ROOT_MARGIN = fmpq(1, 1 << 40)
DECIMAL_PATTERN = re.compile(r"\d+\.\d+")


class NoContributionError(OutOfReachError):
    """No term and no base value adds to the growth of a function."""


@record
class GrowthResult:
    """The Theta growth of a function, with the exponent and the parts from which it is derived."""

    terms: Terms
    exponent: Constant
    parts: Parts


def merge_shares(parts: Iterable[tuple[Constant, fmpq]]) -> Parts:
    """Add up the weights of calls at equal shares of the size; `parts` are pairs of a weight and a share."""
    weights: dict[fmpq, Constant] = {}
    for weight, share in parts:
        weights[share] = weights.get(share, ZERO_CONSTANT) + weight
    return tuple((weight, share) for share, weight in weights.items())


def find_exponent(parts: Parts) -> Constant:
    """Return the characteristic exponent: the p with sum a*r^p = 1 over the pairs (a, r) in `parts`."""
    if len(parts) == 1:
        ((weight, share),) = parts
        if not weight.is_rational:
            return weight.log2() / Constant(1 / share).log2()
        return compute_exact_logarithm(weight.rational, 1 / share)
    near = find_exponent_by_newton([(_log_of_constant(weight), -_log_of_rational(share)) for weight, share in parts])
    for bottom in range(1, _MAX_DENOMINATOR + 1):
        top = round(near * bottom)
        if abs(near - top / bottom) < 1e-9 and compare_exponent(parts, Constant(fmpq(top, bottom))) == 0:
            return Constant(fmpq(top, bottom))
    common = _find_exponent_by_polynomial(parts)
    return _enclose_exponent(parts, near) if common is None else common


def _log_of_constant(value: Constant) -> float:
    return _log_of_rational(value.rational) if value.is_rational else float(value.enclosure().log().mid())


def _log_of_rational(value: fmpq) -> float:
    """Return the logarithm of a positive number of any magnitude."""
    return math.log(int(value.p)) - math.log(int(value.q))


def find_exponent_by_newton(parts: Sequence[tuple[float, float]]) -> float:
    """Return the p with sum exp(w - r*p) = 1 over pairs (w, r), in floats, by Newton's method.

    The sum is convex and falls, so that steps from its left never pass the root.
    """
    p = max(weight / rate for weight, rate in parts)
    for _ in range(200):
        values = [(math.exp(weight - rate * p), rate) for weight, rate in parts]
        step = (sum(value for value, _ in values) - 1) / sum(value * rate for value, rate in values)
        if p + step <= p:
            break
        p += step
    return p


def _find_exponent_by_polynomial(parts: Parts) -> Constant | None:
    """Return the exponent p = log(x)/log(c), x a root of a polynomial, if all shares are powers of 1/c; else None."""
    bases = [split_perfect_power(1 / share) for _, share in parts]
    common, *rest = {base for base, _ in bases}
    if rest or max(power for _, power in bases) > _MAX_DEGREE or not all(weight.is_rational for weight, _ in parts):
        return None
    calls = tuple((weight.rational, power) for (weight, _), (_, power) in zip(parts, bases, strict=True))
    return compute_log_of_greatest_root(build_characteristic_polynomial(calls), common)


def compute_greatest_root(polynomial: fmpq_poly) -> arb:
    """Return the root with the greatest real part, at flint's current precision.

    For a characteristic polynomial of numbers of calls it is real and simple (Perron, Frobenius).
    """
    roots: Any = _clear_denominators(polynomial).complex_roots()
    greatest: arb = max((root.real for root, _ in roots), key=lambda centre: float(centre.mid()))
    return greatest


def compute_log_of_greatest_root(polynomial: fmpq_poly, base: fmpq) -> Constant:
    """Return the logarithm to `base` of the greatest root, exact if a rational root is in the enclosure of the root."""
    near = compute_greatest_root(polynomial)
    rational = next((root for root in iterate_rational_roots(polynomial) if near.contains(arb(root))), None)
    if rational is not None:
        return compute_exact_logarithm(rational, base)

    def enclose_logarithm() -> arb:
        return compute_greatest_root(polynomial).log() / arb(base).log()

    return enclosed_constant(format_nine_digits(float(enclose_logarithm().mid())), enclose_logarithm)


def _enclose_exponent(parts: Parts, near: float) -> Constant:
    """Enclose an irrational exponent close to `near`; the sum of its equation falls there from above 1 to below 1."""
    centre = fmpq(*near.as_integer_ratio())

    def enclose_root() -> arb:
        return bisect_root(lambda p: _sum_weighted_powers(parts, p) - 1, centre - _ROOT_MARGIN, centre + _ROOT_MARGIN)

    enclose_root()
    return enclosed_constant(format_nine_digits(near), enclose_root)


def bisect_root(function: Callable[[arb], arb], left: fmpq, right: fmpq) -> arb:
    """Return a proved enclosure of the root of a function that is positive at `left` and negative at `right`.

    Raises OutOfReachError unless these signs are certain.
    """
    before = ctx.prec
    # Near the root values are far smaller than the terms of which they are sums.
    with ctx.workprec(2 * before + 64):
        lo, hi = arb(left), arb(right)
        if not (function(lo) > 0 and function(hi) < 0):
            raise OutOfReachError("a root could not be enclosed")
        for _ in range(before):
            middle = ((lo + hi) / 2).mid()
            value = function(middle)
            if value > 0:
                lo = middle
            elif value < 0:
                hi = middle
            else:
                # The sign is undecided at this precision.
                break
        return lo.union(hi)


def format_nine_digits(value: float) -> str:
    """Return the text of a number with nine significant digits."""
    text = f"{value:.9g}"
    return text if "e" not in text else f"{value:.20f}".rstrip("0")


def bracket_nine_digits(digits: str) -> tuple[str, str]:
    """Return the numbers one unit of the last of nine digits below and above a number, as texts."""
    value = Decimal(digits)
    unit = Decimal(1).scaleb(value.adjusted() - 8)
    return f"{value - unit:f}", f"{value + unit:f}"


def round_powers(term: GrowthTerm, upper: bool) -> GrowthTerm:
    """Round the exponents of a term that are known to nine digits only, up if `upper`, else down."""
    return term.with_powers(_round_constant(exponent, upper) for exponent in term.powers)


def _round_constant(value: Constant, upper: bool) -> Constant:
    total = Constant(value.rational)
    for basis, coefficient in value.terms.items():
        (unit, _), *rest = basis
        if not rest and DECIMAL_PATTERN.fullmatch(unit.key):
            digits = bracket_nine_digits(unit.key)[upper == (coefficient > 0)]
            basis = ((replace(unit, key=digits), 1),)
        total = total + Constant(fmpq(0), {basis: coefficient})
    return total


def _sum_weighted_powers(parts: Parts, p: arb) -> arb:
    total = arb(0)
    for weight, share in parts:
        total += weight.enclosure() * arb(share) ** p
    return total


def compare_exponent(parts: Parts, at: Constant) -> int:
    """Return the sign of p - `at`, which is that of sum a*r^at - 1. Raises OutOfReachError if it is undecided."""
    balls = determine_sign(lambda: _sum_weighted_powers(parts, at.enclosure()) - 1, quick=True)
    if balls is not None:
        return balls
    powers = [
        (weight.rational, compute_rational_power(share, at))
        if weight.is_rational
        # A weight such as sqrt(2) may make an irrational power rational.
        else (fmpq(1), (weight.log2() + Constant(share).log2() * at).exp2())
        for weight, share in parts
    ]
    if all(value is not None for _, value in powers):
        total = sum((weight * value for weight, value in powers if value is not None), fmpq(0))
        return (total > 1) - (total < 1)
    # Positive radicals whose ratios are irrational are independent over the rationals (Besicovitch): a sum that
    # contains one is not 1, and enclosures decide on which side of 1 it is.
    sign = determine_sign(lambda: _sum_weighted_powers(parts, at.enclosure()) - 1)
    if sign is None:
        raise OutOfReachError(f"it is not decided whether the exponent of the recurrence is {at}")
    return sign


ExponentComparison = Callable[[Constant], int]
"""Returns the sign of the exponent less another number."""


def derive_growth_of_maximum(
    branches: Sequence[Terms], parts: Sequence[Parts], growing: Terms, log_depth: int = 0
) -> GrowthResult:
    """Return the growth of a maximum of branches, if its upper and lower bound agree. Raises OutOfReachError.

    Calls are at shares of the size (`log_depth` 0), or of its logarithm (1). Each branch is a lower bound. The upper
    bound is that of the highest exponent p: with sum a*r^p <= 1 in every branch, induction gives n^p*(1 + integral of
    the largest f/u^(p+1)). In each branch, base values and a cost that another branch adds once grow to n^p.
    """
    exponents = [find_exponent(shares) if shares else None for shares in parts]
    exponent_parts = [(q, shares) for q, shares in zip(exponents, parts, strict=True) if q is not None]
    p, top = reduce(lambda x, y: y if (y[0] - x[0]).sign() > 0 else x, exponent_parts)
    added = [tuple(term for term in branch if term.coefficient > 0) for branch in branches]
    all_terms = tuple(term for terms in added for term in terms)
    below: list[GrowthTerm] = []
    for terms, shares, exponent in zip(added, parts, exponents, strict=True):
        below += (
            terms
            if exponent is None
            else collect_contributions(terms, (*growing, *all_terms), shares, exponent, log_depth)
        )
    above = find_leading_terms(collect_contributions(all_terms, growing, top, p, log_depth))
    if not all(any(dominates(low, high) for low in below) for high in above):
        raise OutOfReachError("a maximum whose branches differ both in their recursive calls and in their costs")
    if not above:
        raise NoContributionError
    return GrowthResult(above, p, top)


def collect_contributions(terms: Terms, once: Terms, parts: Parts, p: Constant, log_depth: int) -> list[GrowthTerm]:
    """Return the contributions to growth of terms that every call adds, and of terms that are added `once`."""
    contributions = [term.with_powers(make_powers(log_depth, p)) for term in once]
    return contributions + [
        compute_contribution(term, p, lambda at: compare_exponent(parts, at), log_depth) for term in terms
    ]


def compute_contribution(term: GrowthTerm, p: Constant, excess: ExponentComparison, log_depth: int = 0) -> GrowthTerm:
    """Return the contribution of a term of f to the growth: n^p*(1 + the integral of f(u)/u^(p+1) from 1 to n).

    At `log_depth` 1 the calls are at shares of log2(n): a power of n in f is exponential in that, so that the root of
    the recursion tree dominates, or its leaves if the power is negative.
    """
    above = term.side or next((sign for exponent in term.powers[:log_depth] if (sign := exponent.sign())), 0)
    side = -above or excess(term.get_power(log_depth))
    if side < 0:
        return term
    if side > 0:
        return term.with_powers(make_powers(log_depth, p))
    return integrate_term(term.with_powers((*[ZERO_CONSTANT] * log_depth, p, *term.powers[log_depth + 1 :])), log_depth)


def integrate_term(term: GrowthTerm, log_depth: int = 0) -> GrowthTerm:
    """Return the power times the integral of log2(u)^k*log2(log2(u))^j*... du/u, the sum over levels of similar cost.

    With v = log2(u) it is the integral of v^k*log2(v)^j*... dv, and for k = -1 with w = log2(v) that of w^j*... dw.
    """
    logs = [*term.powers[log_depth + 1 :], ZERO_CONSTANT]
    first = next(index for index, exponent in enumerate(logs) if (exponent + ONE_CONSTANT).sign())
    flat = (*map(term.get_power, range(log_depth + 1)), *[ZERO_CONSTANT] * first)
    more = logs[first] + ONE_CONSTANT
    return term.with_powers((*flat, more, *logs[first + 1 :]) if more.sign() > 0 else flat)


Strides = tuple[tuple[fmpq, int], ...]
"""Pairs (a, e): a calls at n - e*g, where the stride g is the greatest common divisor of all steps."""
MAX_STRIDES = 200
MAX_REDUCED_RADICAND = 10**6
"""The largest number whose square factors are moved out of its root."""


def compute_stride(calls: Iterable[WeightedCall]) -> fmpq:
    """Return the greatest common divisor of all steps. Raises OutOfReachError if a size does not shrink."""
    steps = [-call.argument.offset for call in calls]
    if any(step <= 0 for step in steps):
        raise OutOfReachError("a call whose size does not shrink")
    return reduce(fmpq.gcd, steps)


def write_calls_in_strides(calls: Iterable[WeightedCall], stride: fmpq) -> Strides:
    """Return the calls with their steps as multiples of the stride. Raises OutOfReachError if one is too large."""
    pairs = merge_shares((call.number, -call.argument.offset / stride) for call in calls)
    if any(step > MAX_STRIDES**2 for _, step in pairs):
        raise OutOfReachError("steps of very different lengths")
    if any(not weight.is_rational for weight, _ in pairs):
        raise OutOfReachError("a number of calls that is not a rational number")
    return tuple((weight.rational, int(step.p)) for weight, step in pairs)


def build_characteristic_polynomial(calls: Strides) -> fmpq_poly:
    """Return x^d - sum a*x^(d - e), whose greatest root is the growth factor of a stride. Raises OutOfReachError."""
    degree = max(step for _, step in calls)
    if degree > MAX_STRIDES:
        raise OutOfReachError("steps of very different lengths")
    coefficients = [fmpq(0)] * (degree + 1)
    coefficients[degree] = fmpq(1)
    for weight, step in calls:
        coefficients[degree - step] -= weight
    return fmpq_poly(coefficients)


def factor_polynomial(polynomial: fmpq_poly) -> list[tuple[fmpz_poly, int]]:
    """Return the factors of a polynomial over the integers, each with its multiplicity."""
    factors: list[tuple[fmpz_poly, int]] = _clear_denominators(polynomial).factor()[1]
    return factors


def _clear_denominators(polynomial: fmpq_poly) -> fmpz_poly:
    return (polynomial * polynomial.denom()).numer()


def iterate_rational_roots(polynomial: fmpq_poly) -> Iterator[fmpq]:
    """Iterate over the rational roots of a polynomial, each once."""
    return (fmpq(-factor[0], factor[1]) for factor, _ in factor_polynomial(polynomial) if factor.degree() == 1)


def compute_positive_root(calls: Strides) -> s.Expr:
    """Return the positive root of the characteristic polynomial, exact if of degree 1 or 2. Raises OutOfReachError."""
    polynomial = build_characteristic_polynomial(calls)
    root = compute_greatest_root(polynomial)
    for factor, _ in factor_polynomial(polynomial):
        if factor.degree() > 2 or not arb_poly(factor)(root).contains(0):
            continue
        c, b, *rest = (int(coefficient) for coefficient in factor)
        if not rest:
            return build.number(fmpq(-c, b))
        return _build_surd(rest[0], b, c)
    if not math.isfinite(near := float(root.mid())):
        raise OutOfReachError("it grows too fast to be evaluated")
    return s.Real(format_nine_digits(near), span=build.DERIVED)


def _build_surd(a: int, b: int, c: int) -> s.Expr:
    """Return the greater of the roots (-b +- sqrt(b^2 - 4*a*c))/(2*a)."""
    inner = b * b - 4 * a * c
    short = inner <= MAX_REDUCED_RADICAND
    square = max(k for k in range(1, math.isqrt(inner) + 1) if inner % (k * k) == 0) if short else 1
    rest = inner // (square * square)
    sign = 1 if a > 0 else -1
    shared = math.gcd(b, square, 2 * a)
    first, factor, below = -b // shared, square // shared * sign, 2 * a // shared
    root = build.rational_multiple(fmpq(abs(factor)), [build.call("sqrt", build.number(rest))], [])
    parts = [(first < 0, build.number(abs(first)))] * bool(first) + [(factor < 0, root)]
    whole = build.sum_terms(sorted(parts, key=lambda signed: signed[0]))
    return whole if below == 1 else build.divide_products([whole], [build.number(below)])
