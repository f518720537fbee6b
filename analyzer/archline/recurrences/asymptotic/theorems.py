"""The theorems that give Theta: that of Akra and Bazzi, and the characteristic equation.

The one is for T(n) = sum a_i*T(r_i*n) + f(n), with an exact exponent p, sum a_i*r_i^p = 1; the other for sizes that
shrink by constants, T(n) = sum a_i*T(n - c_i) + f(n).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from functools import reduce

from archline.algebra.reals import OutOfReachError, sign_of
from archline.numbers import arb, ctx, fmpq, fmpq_poly, fmpz_poly
from archline.records import record, replace
from archline.recurrences.asymptotic.normal_form import Bases, CallSum, WeightedCall, check_terms
from archline.recurrences.asymptotic.terms import (
    ONE,
    ZERO,
    Exponent,
    Root,
    Term,
    compare,
    dominates,
    leading,
    log_ratio,
    primitive,
    rational,
)

Parts = tuple[tuple[fmpq, fmpq], ...]
"""Pairs (a, r): a > 0 calls at the share r of the size, 0 < r < 1, no share twice."""
_DENOMINATORS = 12
_DEGREE = 64
_MARGIN = fmpq(1, 1 << 40)


@record
class Grown:
    """Theta of a function, and what the solution went by: its exponent and the parts that gave it."""

    terms: tuple[Term, ...]
    exponent: Exponent
    parts: Parts
    scale: Exponent = ZERO


def gathered(parts: Iterable[tuple[fmpq, fmpq]]) -> Parts:
    """The parts, those of one share added."""
    found: dict[fmpq, fmpq] = {}
    for weight, share in parts:
        found[share] = found.get(share, fmpq(0)) + weight
    return tuple((weight, share) for share, weight in found.items())


def exponent_of(parts: Parts) -> Exponent:
    """The p with sum a*r^p = 1."""
    if len(parts) == 1:
        ((weight, share),) = parts
        return log_ratio(weight, 1 / share)
    near = newton([(math.log(float(weight)), -math.log(float(share))) for weight, share in parts])
    for bottom in range(1, _DENOMINATORS + 1):
        top = round(near * bottom)
        if abs(near - top / bottom) < 1e-9 and excess(parts, rational(fmpq(top, bottom))) == 0:
            return rational(fmpq(top, bottom))
    return _by_common_share(parts) or _enclosed(parts, near)


def newton(parts: Sequence[tuple[float, float]]) -> float:
    """The p with sum exp(w - r*p) = 1 over pairs (w, r), in floats.

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


def _by_common_share(parts: Parts) -> Exponent | None:
    """log(x)/log(c) where all shares are powers of 1/c, and x = c^p is rational."""
    bases = [primitive(1 / share) for _, share in parts]
    common, *others = {base for base, _ in bases}
    if others or max(power for _, power in bases) > _DEGREE:
        return None
    whole = polynomial(tuple((weight, power) for (weight, _), (_, power) in zip(parts, bases, strict=True)))
    root = next((each for each in rational_roots(whole) if each > 0), None)
    return None if root is None else log_ratio(root, common)


def _enclosed(parts: Parts, near: float) -> Exponent:
    """An irrational exponent by its equation: the sum is above 1 left of it and below 1 right of it."""
    centre = fmpq(*near.as_integer_ratio())

    def enclose() -> arb:
        return bisected(lambda p: _sum(parts, p) - 1, centre - _MARGIN, centre + _MARGIN)

    enclose()
    return Exponent(fmpq(0), root=Root(nine_digits(near), enclose))


def bisected(function: Callable[[arb], arb], left: fmpq, right: fmpq) -> arb:
    """The root of a function that is positive left of it and negative right of it; every step is certain.

    Raises OutOfReachError where the ends do not have these signs for certain.
    """
    before = ctx.prec
    # Near the root values are small against what they are made of.
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
                # The precision is used up.
                break
        return lo.union(hi)


def nine_digits(value: float) -> str:
    """The number with nine significant digits."""
    text = f"{value:.9g}"
    return text if "e" not in text else f"{value:.20f}".rstrip("0")


def around(digits: str) -> tuple[str, str]:
    """Numbers below and above one that is known to nine digits, one unit of the last of them away."""
    value = Decimal(digits)
    unit = Decimal(1).scaleb(value.adjusted() - 8)
    return f"{value - unit:f}", f"{value + unit:f}"


def rounded(term: Term, upper: bool) -> Term:
    """A term with a power that is no less, or no more, where the power is known to nine digits."""
    root = term.power.root
    if root is None:
        return term
    return replace(term, power=Exponent(fmpq(0), root=Root(around(root.text)[upper], root.enclose)))


def _sum(parts: Parts, p: arb) -> arb:
    total = arb(0)
    for weight, share in parts:
        total += arb(weight) * arb(share) ** p
    return total


def excess(parts: Parts, at: Exponent) -> int:
    """The sign of sum a*r^at - 1, which is that of p - at. Raises OutOfReachError where it is undecided."""
    balls = sign_of(lambda: _sum(parts, at.ball()) - 1, quick=True)
    if balls is not None:
        return balls
    powers = [(weight, at.power_of(share)) for weight, share in parts]
    if all(power is not None for _, power in powers):
        total = sum((weight * power for weight, power in powers if power is not None), fmpq(0))
        return (total > 1) - (total < 1)
    # Positive radicals whose ratios are irrational are independent over the rationals (Besicovitch): with one of them
    # in it the sum is not 1, and enclosures tell on which side it is.
    sign = sign_of(lambda: _sum(parts, at.ball()) - 1)
    if sign is None:
        raise OutOfReachError(f"whether the exponent of the recurrence is {at.text()} is not decided")
    return sign


def of_maximum(above: tuple[Term, ...], below: Iterable[Term]) -> tuple[Term, ...]:
    """The growth of a maximum of branches: what bounds all of them, if that is no more than what each adds from below.

    Raises OutOfReachError.
    """
    known = list(below)
    if not all(any(dominates(low, high) for low in known) for high in above):
        raise OutOfReachError("a maximum whose branches differ in what they call and in what they add")
    return above


def contribution(term: Term, side: int, p: Exponent) -> Term:
    """What a term of f adds to the growth: n^p*(1 + the integral of f(u)/u^(p+1) from 1 to n).

    `side` is the sign of p minus the term's power of n.
    """
    if side < 0:
        return term
    if side > 0:
        return replace(term, power=p, log=ZERO, loglog=fmpq(0))
    return integrated(replace(term, power=p))


def integrated(term: Term) -> Term:
    """n^p times the integral of log2(u)^k*log2(log2(u))^j du/u: the case where every level costs alike."""
    side = compare(term.log, rational(-1))
    if side > 0:
        return replace(term, log=term.log.plus(ONE))
    if side < 0:
        return replace(term, log=ZERO, loglog=fmpq(0))
    if term.loglog > -1:
        return replace(term, log=ZERO, loglog=term.loglog + 1)
    if term.loglog < -1:
        return replace(term, log=ZERO, loglog=fmpq(0))
    raise OutOfReachError("its growth has a logarithm of a logarithm of a logarithm")


Terms = tuple[Term, ...]
Strides = tuple[tuple[fmpq, int], ...]
"""Pairs (a, e): a calls at n - e*g, where g is the largest common part of all steps."""
MAX_STRIDES = 200
MAX_REDUCED = 10**6
"""Up to which number the squares that divide it are taken out of its root."""


@record
class Summed:
    """Growth as a sum over the sizes; or, where `base` is given, as base^(n/stride) times terms of symbols."""

    terms: Terms
    stride: fmpq
    base: str | None = None
    value: float = 1.0


def stride_of(calls: Iterable[WeightedCall]) -> fmpq:
    """The largest number of which all steps are multiples."""
    steps = [-call.argument.offset for call in calls]
    if any(step <= 0 for step in steps):
        raise OutOfReachError("a size that does not shrink")
    return reduce(fmpq.gcd, steps)


def strides(branch: CallSum, stride: fmpq) -> Strides:
    """The calls of a branch by multiples of the stride."""
    pairs = gathered((call.weight.coefficient, -call.argument.offset / stride) for call in branch.calls)
    return tuple((weight, int(step.p)) for weight, step in pairs)


def by_steps(branches: tuple[CallSum, ...], bases: Bases) -> Summed:
    """The growth where weights add up to 1 (a sum over sizes), to less (f itself) or to more (exponential)."""
    stride = stride_of(call for branch in branches for call in branch.calls)
    if bases.threshold < 0 and any(term.varies for each in branches for term in each.terms):
        raise OutOfReachError("amounts at sizes that are not positive: give a value at 0 or above")
    check_terms(branches, bases.threshold + stride)
    totals = [sum((call.weight.coefficient for call in each.calls), fmpq(0)) for each in branches]
    highest = max(totals)
    everything = tuple(term for each in branches for term in each.terms if term.coefficient > 0)
    growing = _growing(branches, bases)
    if not everything and not growing:
        raise OutOfReachError("the function may be 0 wherever the recurrence leads")
    if highest > 1:
        found = [characteristic(strides(each, stride)) for each in branches if each.calls]
        text, value = max(found, key=lambda pair: pair[1])
        return Summed(_of_symbols(branches, (*growing, *everything)), stride, text, value)
    if highest < 1:
        if not everything:
            raise OutOfReachError("the function vanishes as the size grows")
        return Summed(leading(everything), stride)
    below: list[Term] = []
    for branch, total in zip(branches, totals, strict=True):
        positive = [term for term in branch.terms if term.coefficient > 0]
        below += [*growing, *map(summed_up, positive)] if total == 1 else positive
    return Summed(of_maximum(leading((*growing, *map(summed_up, everything))), below), stride)


def _growing(branches: tuple[CallSum, ...], bases: Bases) -> Terms:
    """What the base values add: one that is not 0, among those from which a single sum starts, grows as all would.

    Its steps have no common part, so that the matrix of the recurrence is primitive.
    """
    if not bases.growing and len(branches) == 1 and bases.values[-1][1]:
        return (Term(fmpq(1)),)
    return bases.growing


def _of_symbols(branches: tuple[CallSum, ...], terms: Iterable[Term]) -> Terms:
    """What an exponential is multiplied with: each amount, wherever it is added, grows as the exponential does."""
    found = leading(replace(term, power=ZERO, log=ZERO, loglog=fmpq(0)) for term in terms)
    if len(branches) > 1 and any(term.symbols for term in found):
        raise OutOfReachError("a maximum whose branches add different symbols")
    return found


def summed_up(term: Term) -> Term:
    """What the sum of a term over the sizes grows as."""
    higher = replace(term, power=term.power.plus(ONE))
    return contribution(higher, compare(ZERO, higher.power), ZERO)


def polynomial(calls: Strides) -> fmpq_poly:
    """x^d - sum a*x^(d - e): its greatest root is the growth in one stride."""
    degree = max(step for _, step in calls)
    if degree > MAX_STRIDES:
        raise OutOfReachError("steps of very different lengths")
    coefficients = [fmpq(0)] * (degree + 1)
    coefficients[degree] = fmpq(1)
    for weight, step in calls:
        coefficients[degree - step] -= weight
    return fmpq_poly(coefficients)


def factored(of: fmpq_poly) -> list[tuple[fmpz_poly, int]]:
    """The factors of a polynomial over the integers, with how often each divides it."""
    found: list[tuple[fmpz_poly, int]] = (of * of.denom()).numer().factor()[1]
    return found


def rational_roots(of: fmpq_poly) -> Iterator[fmpq]:
    """The rational roots of a polynomial, each once."""
    return (fmpq(-factor[0], factor[1]) for factor, _ in factored(of) if factor.degree() == 1)


def characteristic(calls: Strides) -> tuple[str, float]:
    """The positive root of the characteristic polynomial, as text and as a float."""
    whole = polynomial(calls)
    # Of y = log(x), sum a*x^-e = 1 is such an equation.
    near = math.exp(newton([(math.log(float(weight)), step) for weight, step in calls]))
    for factor, _ in factored(whole):
        if factor.degree() > 2 or not _holds_root(factor, near):
            continue
        c, b, *rest = (int(each) for each in factor)
        if not rest:
            root = fmpq(-c, b)
            return (str(root) if root.q == 1 else f"({root})"), near
        return _surd(rest[0], b, c, near), near
    # Nine digits of it are right.
    ends = (fmpq(*(near + side * 2.0**-40 * near).as_integer_ratio()) for side in (-1, 1))
    bisected(lambda x: sum((arb(weight) * x**-step for weight, step in calls), arb(-1)), *ends)
    return nine_digits(near), near


def _holds_root(factor: fmpz_poly, near: float) -> bool:
    lo, hi = fmpq(*(near * (1 - 1e-9)).as_integer_ratio()), fmpq(*(near * (1 + 1e-9)).as_integer_ratio())
    return bool(fmpq_poly(factor)(lo) * fmpq_poly(factor)(hi) < 0)


def _surd(a: int, b: int, c: int, near: float) -> str:
    """The root (-b +- sqrt(b^2 - 4*a*c))/(2*a) that is near."""
    inner = b * b - 4 * a * c
    short = inner <= MAX_REDUCED
    square = max(k for k in range(1, math.isqrt(inner) + 1) if inner % (k * k) == 0) if short else 1
    rest = inner // (square * square)
    sign = 1 if abs((-b + math.sqrt(inner)) / (2 * a) - near) < 1e-6 * near else -1
    shared = math.gcd(b, square, 2 * a)
    first, factor, below = -b // shared, square // shared * sign, 2 * a // shared
    root = f"sqrt({rest})" if abs(factor) == 1 else f"{abs(factor)}*sqrt({rest})"
    plus = "+" if factor > 0 else "-"
    text = f"{first}{plus}{root}" if first else root
    if first < 0:
        text = f"{root}{first}" if factor > 0 else f"-{-first}-{root}"
    return text if below == 1 and not first else f"({text})" if below == 1 else f"(({text})/{below})"
