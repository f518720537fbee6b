"""Theta of functions whose sizes shrink by constants: T(n) = sum a_i*T(n - c_i) + f(n)."""

from __future__ import annotations

import math
from collections.abc import Iterable

from archline.algebra.asymptotic.constants import OutOfReachError
from archline.numbers import arb, fmpq, fmpq_poly, fmpz_poly
from archline.records import record, replace
from archline.recurrences.asymptotic.akra_bazzi import bisected, gathered, integrated, newton, nine_digits
from archline.recurrences.asymptotic.normal_form import Bases, CallSum, WeightedCall, check_terms
from archline.recurrences.asymptotic.terms import ONE, ZERO, Term, compare, dominates, leading, rational

Terms = tuple[Term, ...]
Strides = tuple[tuple[fmpq, int], ...]
"""Pairs (a, e): a calls at n - e*g, where g is the largest common part of all steps."""
_DEGREE = 200
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
    top, bottom = 0, 1
    for call in calls:
        step = -call.argument.offset
        if step <= 0:
            raise OutOfReachError("a size that does not shrink")
        bottom_here = bottom * int(step.q) // math.gcd(bottom, int(step.q))
        top = math.gcd(top * (bottom_here // bottom), int(step.p) * (bottom_here // int(step.q)))
        bottom = bottom_here
    return fmpq(top, bottom)


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
    above = leading((*growing, *(summed_up(term) for term in everything)))
    below: list[Term] = []
    for branch, total in zip(branches, totals, strict=True):
        positive = [term for term in branch.terms if term.coefficient > 0]
        below += [*growing, *map(summed_up, positive)] if total == 1 else positive
    if not all(any(dominates(low, high) for low in below) for high in above):
        raise OutOfReachError("a maximum whose branches differ in what they call and in what they add")
    return Summed(above, stride)


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
    side = compare(term.power, rational(-1))
    if side > 0:
        return replace(term, power=term.power.plus(ONE))
    if side < 0:
        return replace(term, power=ZERO, log=ZERO, loglog=fmpq(0))
    return integrated(replace(term, power=ZERO))


def polynomial(calls: Strides) -> fmpq_poly:
    """x^d - sum a*x^(d - e): its greatest root is the growth in one stride."""
    degree = max(step for _, step in calls)
    if degree > _DEGREE:
        raise OutOfReachError("steps of very different lengths")
    coefficients = [fmpq(0)] * (degree + 1)
    coefficients[degree] = fmpq(1)
    for weight, step in calls:
        coefficients[degree - step] -= weight
    return fmpq_poly(coefficients)


def characteristic(calls: Strides) -> tuple[str, float]:
    """The positive root of the characteristic polynomial, as text and as a float."""
    whole = polynomial(calls)
    # Of y = log(x), sum a*x^-e = 1 is such an equation.
    near = math.exp(newton([(math.log(float(weight)), step) for weight, step in calls]))
    for factor, _ in (whole * whole.denom()).numer().factor()[1]:
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
