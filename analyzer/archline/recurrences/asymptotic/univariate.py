"""One function that calls itself: which theorem applies, its growth, closed form and the lines of the solution."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

from archline.algebra.asymptotic.constants import OutOfReachError
from archline.numbers import fmpq
from archline.recurrences.asymptotic import explain
from archline.recurrences.asymptotic.akra_bazzi import around
from archline.recurrences.asymptotic.decrease import Summed, by_steps
from archline.recurrences.asymptotic.dispatch import by_roots, by_splits, check_terms
from archline.recurrences.asymptotic.exponents import ZERO, Exponent, primitive
from archline.recurrences.asymptotic.initial_values import Bases
from archline.recurrences.asymptotic.normal_form import Branches, WeightedCall
from archline.recurrences.asymptotic.terms import Term, leading, order
from archline.recurrences.asymptotic.text import growth_text
from archline.recurrences.closed.geometric import closed_by_roots, closed_by_splits
from archline.recurrences.closed.linear import closed_by_steps

SPLITS, ROOTS, STEPS = "splits", "roots", "steps"
SUPERPOLYNOMIAL = "it grows faster than every polynomial"
_CONSTANT = Term(fmpq(1))
_DIGITS = re.compile(r"\d+\.\d+")


@dataclass(frozen=True)
class Found:
    """What was found of a function: Theta as terms, or the text of an exponential growth (None: it has no name).

    `shrinking` says how sizes shrink, `exponent` is that of the calls alone, `stride` the step between sizes, `start`
    the greatest size of a base. All shares are powers of 1/factor, if there is such a number. `gap` is the least
    difference of that exponent from those of what is added. `places` are some sizes of the closed form's domain,
    `between` bounds on a growth with rounded numbers.
    """

    method: str
    steps: tuple[str, ...]
    terms: tuple[Term, ...] = ()
    beyond: str | None = None
    growth: str | None = None
    exact: str | None = None
    domain: str | None = None
    shrinking: str = SPLITS
    exponent: Exponent = ZERO
    stride: fmpq = _CONSTANT.coefficient
    start: fmpq = _CONSTANT.coefficient
    factor: fmpq | None = None
    gap: float = math.inf
    places: tuple[Fraction, ...] = ()
    between: tuple[str, str] | None = None


def solve_one(name: str, size: str, branches: Branches, bases: Bases) -> Found:
    """Solve a function whose calls are all its own. Raises OutOfReachError."""
    stated = explain.statement(name, size, branches, bases)
    calls = [call for branch in branches for call in branch.calls]
    if not calls:
        check_terms(branches, bases.threshold)
        terms = leading(term for branch in branches for term in branch.terms)
        if not terms:
            raise OutOfReachError("the function is 0 wherever the recurrence leads")
        return Found("no recursion", stated, terms)
    for call in calls:
        _check_call(name, call)
    beyond = _superpolynomial(branches, bases)
    if beyond is not None:
        return Found("growth beyond polynomials", (*stated, beyond), beyond=beyond, shrinking=_shrinking(calls))
    for call in calls:
        if call.weight.varies and not call.argument.is_root:
            raise OutOfReachError("a weight that shrinks as the size grows")
    if all(call.argument.is_split for call in calls):
        return _by_splits(size, branches, bases, stated)
    if all(call.argument.is_root for call in calls):
        return _by_roots(name, size, branches, bases, stated)
    if all(call.argument.is_step for call in calls):
        return _by_steps(size, branches, bases, stated)
    raise OutOfReachError("sizes that shrink in different ways in one recurrence")


def _check_call(name: str, call: WeightedCall) -> None:
    if call.argument.is_same:
        raise OutOfReachError(f"{name} calls itself at the same size")
    if call.weight.symbols:
        raise OutOfReachError("a symbol in the number of calls")
    if not call.weight.exact:
        raise OutOfReachError("a number of calls that is no rational number")
    if call.weight.coefficient < 0:
        raise OutOfReachError("a recursive call is subtracted")


def _shrinking(calls: list[WeightedCall]) -> str:
    if any(call.argument.is_step for call in calls):
        return STEPS
    return ROOTS if all(call.argument.is_root for call in calls) else SPLITS


def _superpolynomial(branches: Branches, bases: Bases) -> str | None:
    """Why a function outgrows every polynomial, if it is seen to: it takes that what is added is at least 0."""
    for branch in branches:
        positive = bases.growing or any(term.coefficient > 0 for term in branch.terms)
        steps = [call for call in branch.calls if call.argument.is_step and call.argument.offset < 0]
        splits = [call for call in branch.calls if call.argument.is_split and call.argument.ratio < 1]
        growing = [call for call in (*steps, *splits) if order(call.weight, _CONSTANT) > 0]
        total = sum((call.weight.coefficient for call in steps if not call.weight.varies), fmpq(0))
        mixed = total >= 1 and any(order(call.weight, _CONSTANT) >= 0 for call in splits)
        if not positive or not (growing or mixed):
            continue
        check_terms(branches, bases.threshold if bases.threshold > 0 else fmpq(1))
        if growing:
            return f"the number of calls grows with the size: {SUPERPOLYNOMIAL}"
        return f"besides calls at the size less a constant there are calls at a part of it: {SUPERPOLYNOMIAL}"
    return None


def _by_splits(size: str, branches: Branches, bases: Bases, stated: tuple[str, ...]) -> Found:
    found = by_splits(branches, bases)
    lines = (*stated, *explain.split_lines(branches, found, size))
    plain = len(branches) == 1 and len(found.parts) == 1
    method = "master theorem" if plain and branches[0].calls[0].argument.offset == 0 else "Akra-Bazzi theorem"
    closed = closed_by_splits(branches[0], bases, size) if len(branches) == 1 else None
    return Found(
        method,
        lines,
        found.terms,
        exact=closed.text if closed else None,
        domain=closed.domain if closed else None,
        exponent=found.exponent,
        factor=common_factor(call.argument.ratio for branch in branches for call in branch.calls),
        gap=gap_of((term.power for branch in branches for term in branch.terms), found.exponent),
        places=_places(closed.size(k) for k in range(6)) if closed else (),
    )


def common_factor(shares: Iterable[fmpq]) -> fmpq | None:
    """The number of which all 1/share are powers."""
    roots = {primitive(1 / share)[0] for share in shares}
    return roots.pop() if len(roots) == 1 else None


def gap_of(powers: Iterable[Exponent], p: Exponent) -> float:
    """The least difference that is not 0 between powers and the exponent."""
    gaps = [abs(float((power.ball() - p.ball()).mid())) for power in powers]
    return min((gap for gap in gaps if gap > 1e-12), default=math.inf)


def _places(sizes: Iterable[fmpq]) -> tuple[Fraction, ...]:
    return tuple(Fraction(int(size.p), int(size.q)) for size in sizes)


def _by_roots(name: str, size: str, branches: Branches, bases: Bases, stated: tuple[str, ...]) -> Found:
    found = by_roots(branches, bases)
    closed = closed_by_roots(branches[0], bases, size, found.scale) if len(branches) == 1 else None
    return Found(
        "change of variable to log2(n)".replace("(n)", f"({size})"),
        (*stated, *explain.root_lines(name, branches, found, size)),
        found.terms,
        exact=closed.text if closed else None,
        domain=closed.domain if closed else None,
        shrinking=ROOTS,
        exponent=found.exponent,
        factor=common_factor(call.argument.root for branch in branches for call in branch.calls),
        gap=gap_of(
            (term.log for branch in branches for term in branch.terms if term.power == found.scale), found.exponent
        ),
        places=_places(closed.size(k) for k in range(6)) if closed else (),
    )


def _by_steps(size: str, branches: Branches, bases: Bases, stated: tuple[str, ...]) -> Found:
    found = by_steps(branches, bases)
    closed = closed_by_steps(branches[0], bases, size, found.stride) if len(branches) == 1 else None
    exact, domain = closed if closed else (None, None)
    lines = (*stated, *explain.step_lines(branches, found, size))
    places = _places(bases.threshold + found.stride * k for k in (0, 1, 2, 5, 12, 31)) if closed else ()
    known = Found("summation", lines, found.terms, None, None, exact, domain, STEPS, stride=found.stride, places=places)
    if found.base is None:
        return known
    growth = _times(found, size, found.base)
    between = None
    if _DIGITS.fullmatch(found.base):
        lower, upper = (_times(found, size, base) for base in around(found.base))
        between = lower, upper
    reason = f"it grows exponentially, as {growth}"
    return replace(known, method="characteristic equation", beyond=reason, growth=growth, between=between)


def _times(found: Summed, size: str, base: str) -> str:
    """A power of the size with the terms in front of it, in which there is no size."""
    power = f"{base}^{_strides_text(size, found.stride)}"
    if all(term.is_constant for term in found.terms):
        return power
    text = growth_text(found.terms, size)
    return f"{text}*{power}" if len(found.terms) == 1 else f"({text})*{power}"


def _strides_text(size: str, stride: fmpq) -> str:
    """How many strides a size has."""
    if stride == 1:
        return size
    top = size if stride.q == 1 else f"{stride.q}*{size}"
    return f"({top})" if stride.p == 1 else f"({top}/{stride.p})"
