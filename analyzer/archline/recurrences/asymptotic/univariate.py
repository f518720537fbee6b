"""One function that calls itself: Theta by the way in which its sizes shrink, and its closed form."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from functools import cmp_to_key

from archline.algebra.reals import OutOfReachError, sign_of
from archline.numbers import arb, arb_poly, fmpq, fmpq_mat, fmpq_poly
from archline.records import record, replace
from archline.recurrences.asymptotic.normal_form import Bases, Branches, CallSum, WeightedCall, check_terms, matrix_of
from archline.recurrences.asymptotic.terms import (
    ZERO,
    Exponent,
    Root,
    Term,
    compare,
    leading,
    log_ratio,
    order,
    primitive,
    rational,
)
from archline.recurrences.asymptotic.text import growth_text, root_lines, split_lines, statement, step_lines
from archline.recurrences.asymptotic.theorems import (
    Grown,
    Parts,
    Summed,
    around,
    bisected,
    by_steps,
    contribution,
    excess,
    exponent_of,
    gathered,
    nine_digits,
    of_maximum,
    rational_roots,
)
from archline.recurrences.closed.geometric import Closed, closed_by_roots, closed_by_splits, closed_by_steps

_BITS = 48


class Spectrum:
    """The spectral radius of an irreducible nonnegative matrix M, and the exponent log(radius)/log(1/r).

    It is that of systems x(n) = M*x(r*n) + f(n) in which all functions lead to each other.
    """

    def __init__(self, rows: list[list[fmpq]], share: fmpq) -> None:
        self._matrix = fmpq_mat(rows)
        self._factor = 1 / share
        self._polynomial: fmpq_poly = self._matrix.charpoly()
        self.exponent = self._exponent(max(sum(row, fmpq(0)) for row in rows))

    def _exponent(self, above: fmpq) -> Exponent:
        for root in rational_roots(self._polynomial):
            if self._is_radius(root):
                return log_ratio(root, self._factor)
        # To the right of all roots the polynomial is positive; to its left, down to the next, negative: Perron's root
        # is simple.
        lo, hi = fmpq(0), above + 1
        for _ in range(_BITS + int(above.p).bit_length()):
            middle = (lo + hi) / 2
            lo, hi = (lo, middle) if self._is_above(middle) else (middle, hi)

        def enclose() -> arb:
            root = bisected(arb_poly(-self._polynomial), lo, hi)
            return root.log() / arb(self._factor).log()

        near = float(enclose().mid())
        return Exponent(fmpq(0), root=Root(nine_digits(near), enclose))

    def _is_above(self, value: fmpq) -> bool:
        """Whether a number is above the radius: value*I - M is then a matrix with positive leading minors."""
        return all(minor > 0 for minor in self._minors(value))

    def _is_radius(self, value: fmpq) -> bool:
        *leading, last = self._minors(value)
        return last == 0 and all(minor > 0 for minor in leading)

    def _minors(self, value: fmpq) -> list[fmpq]:
        size = self._matrix.nrows()
        rows = [[(value if i == j else fmpq(0)) - self._matrix[i, j] for j in range(size)] for i in range(size)]
        return [fmpq_mat([row[:count] for row in rows[:count]]).det() for count in range(1, size + 1)]

    def excess(self, at: Exponent) -> int:
        """The sign of the exponent minus another. Raises OutOfReachError where it cannot be told."""
        value = at.power_of(self._factor)
        if value is not None:
            return -1 if self._is_above(value) else 0 if self._is_radius(value) else 1
        sign = sign_of(lambda: self.exponent.ball() - at.ball())
        if sign is None:
            raise OutOfReachError(f"whether the exponent of the recurrence is {at.text()} is not decided")
        return sign


Terms = tuple[Term, ...]


def by_splits(branches: tuple[CallSum, ...], bases: Bases) -> Grown:
    """T(n) = max over branches of sum a*T(r*n + d) + f(n): Akra and Bazzi."""
    for branch in branches:
        for call in branch.calls:
            _check_split(call, bases.threshold)
    if bases.threshold == 0 and any(compare(term.power, ZERO) < 0 for each in branches for term in each.terms):
        raise OutOfReachError("amounts without bound at sizes near 0: give a value at a greater size")
    check_terms(branches, bases.threshold)
    parts = [gathered((call.weight.coefficient, call.argument.ratio) for call in each.calls) for each in branches]
    found = _highest([each.terms for each in branches], parts, [bases.growing] * len(branches))
    return _not_nothing(found)


def _check_split(call: WeightedCall, threshold: fmpq) -> None:
    ratio, offset = call.argument.ratio, call.argument.offset
    if ratio >= 1:
        raise OutOfReachError("a size that does not shrink")
    if offset / (1 - ratio) >= threshold:
        raise OutOfReachError("sizes that never reach the base: give a value at a greater size")
    if threshold < 0:
        raise OutOfReachError("a base value at a negative size")


def _not_nothing(found: Grown) -> Grown:
    if not found.terms:
        raise OutOfReachError("the function is 0 wherever the recurrence leads")
    return found


def _highest(terms: list[Terms], parts: list[Parts], growing: list[Terms]) -> Grown:
    """The growth of a maximum of branches: that of the highest exponent p bounds all, and each bounds from below.

    Above: with sum a*r^p <= 1 in every branch, induction gives n^p*(1 + integral of the largest f/u^(p+1)). `growing`
    is what each branch makes grow as n^p, its base values above all.
    """
    exponents = [exponent_of(each) if each else None for each in parts]
    known = [(each, own) for each, own in zip(exponents, parts, strict=True) if each is not None]
    p, top = max(known, key=lambda pair: cmp_to_key(compare)(pair[0]))
    everything = tuple(term for each in terms for term in each)
    above = leading(_solution(everything, tuple(term for each in growing for term in each), top, p))
    below: list[Term] = []
    for own, shares, exponent, start in zip(terms, parts, exponents, growing, strict=True):
        below.extend(own if exponent is None else _solution(own, start, shares, exponent))
    return Grown(of_maximum(above, below), p, top)


def _solution(terms: Terms, growing: Terms, parts: Parts, p: Exponent) -> list[Term]:
    found = [replace(each, power=p) for each in growing]
    return found + [contribution(term, excess(parts, term.power), p) for term in terms if term.coefficient > 0]


def by_matrix(system: Mapping[str, Branches], bases: Bases) -> Grown:
    """Functions that call each other at one share of the size: as one function whose weight is the spectral radius.

    All lead to each other, so that they grow alike, and an amount beside the calls of one counts for all.
    """
    rows, share = matrix_of(system)
    if bases.threshold <= 0:
        raise OutOfReachError("sizes that never reach the base: give a value at a greater size")
    spectrum = Spectrum(rows, share)
    terms = [term for branches in system.values() for branch in branches for term in branch.terms]
    found = [replace(each, power=spectrum.exponent) for each in bases.growing]
    found += [contribution(term, spectrum.excess(term.power), spectrum.exponent) for term in terms]
    return _not_nothing(Grown(leading(found), spectrum.exponent, ()))


def by_roots(branches: tuple[CallSum, ...], bases: Bases) -> Grown:
    """T(n) = sum a*n^w*T(n^c) + f(n): with mu = log2(n), T/n^s is a recurrence by splits of mu.

    Where f grows faster than n^s by a power of n, it is exponential in mu, and the topmost call outweighs all others;
    where it grows slower, the calls at the base outweigh it, and it counts as they do.
    """
    if bases.threshold <= 1:
        raise OutOfReachError("roots of sizes above 1 never reach 1: give a value at 2")
    check_terms(branches, bases.threshold)
    scales = {_scale(call) for branch in branches for call in branch.calls}
    if len(scales) > 1:
        raise OutOfReachError("calls at roots with weights that do not go together")
    (scale,) = scales
    parts = [gathered((call.weight.coefficient, call.argument.root) for call in each.calls) for each in branches]
    high: list[Term] = []
    level: list[Terms] = []
    growing: list[Terms] = []
    for branch in branches:
        signs = [(compare(term.power, scale), term) for term in branch.terms if term.coefficient > 0]
        high += [term for sign, term in signs if sign > 0]
        level.append(tuple(_in_logs(term) for sign, term in signs if sign == 0))
        low = tuple(Term(fmpq(1), symbols=term.symbols) for sign, term in signs if sign < 0)
        growing.append(bases.growing + low)
    found = _highest(level, parts, growing)
    terms = leading([*(_out_of_logs(term, scale) for term in found.terms), *high])
    return _not_nothing(Grown(terms, found.exponent, found.parts, scale))


def _scale(call: WeightedCall) -> Exponent:
    """The s with n^w*(n^c)^s = n^s."""
    root = call.argument.root
    if root >= 1:
        raise OutOfReachError("a size that does not shrink")
    if not call.weight.log.is_zero or call.weight.loglog:
        raise OutOfReachError("a weight with a logarithm on a call at a root")
    return call.weight.power.times(1 / (1 - root))


def _in_logs(term: Term) -> Term:
    """log2(n)^k*log2(log2(n))^j as a term in mu = log2(n)."""
    return Term(term.coefficient, term.log, rational(term.loglog), symbols=term.symbols)


def _out_of_logs(term: Term, scale: Exponent) -> Term:
    if term.loglog or not term.log.is_rational:
        raise OutOfReachError("its growth has a logarithm of a logarithm of a logarithm")
    return Term(fmpq(1), scale, term.power, term.log.rational, term.symbols)


SPLITS, ROOTS, STEPS = "splits", "roots", "steps"
SUPERPOLYNOMIAL = "it grows faster than every polynomial"
_CONSTANT = Term(fmpq(1))
_DIGITS = re.compile(r"\d+\.\d+")


@record
class Found:
    """What was found of a function: Theta as terms, or the text of an exponential growth (None: it has no name).

    `shrinking` says how sizes shrink, `exponent` is that of the calls alone, `stride` the step between sizes, `start`
    the greatest size of a base. All shares are powers of 1/factor, if there is such a number. `gap` is the least
    difference of that exponent from those of what is added, `between` has bounds on a growth with rounded numbers.
    """

    method: str
    steps: tuple[str, ...]
    terms: tuple[Term, ...] = ()
    beyond: str | None = None
    growth: str | None = None
    closed: Closed | None = None
    shrinking: str = SPLITS
    exponent: Exponent = ZERO
    stride: fmpq = _CONSTANT.coefficient
    start: fmpq = _CONSTANT.coefficient
    factor: fmpq | None = None
    gap: float = math.inf
    between: tuple[str, str] | None = None


def solve_one(name: str, size: str, branches: Branches, bases: Bases) -> Found:
    """Solve a function whose calls are all its own. Raises OutOfReachError."""
    stated = statement(name, size, branches, bases)
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
    lines = (*stated, *split_lines(branches, found, size))
    plain = len(branches) == 1 and len(found.parts) == 1
    method = "master theorem" if plain and branches[0].calls[0].argument.offset == 0 else "Akra-Bazzi theorem"
    return Found(
        method,
        lines,
        found.terms,
        closed=closed_by_splits(branches[0], bases, size) if len(branches) == 1 else None,
        exponent=found.exponent,
        factor=common_factor(call.argument.ratio for branch in branches for call in branch.calls),
        gap=gap_of((term.power for branch in branches for term in branch.terms), found.exponent),
    )


def common_factor(shares: Iterable[fmpq]) -> fmpq | None:
    """The number of which all 1/share are powers."""
    roots = {primitive(1 / share)[0] for share in shares}
    return roots.pop() if len(roots) == 1 else None


def gap_of(powers: Iterable[Exponent], p: Exponent) -> float:
    """The least difference that is not 0 between powers and the exponent."""
    gaps = [abs(float((power.ball() - p.ball()).mid())) for power in powers]
    return min((gap for gap in gaps if gap > 1e-12), default=math.inf)


def _by_roots(name: str, size: str, branches: Branches, bases: Bases, stated: tuple[str, ...]) -> Found:
    found = by_roots(branches, bases)
    return Found(
        "change of variable to log2(n)".replace("(n)", f"({size})"),
        (*stated, *root_lines(name, branches, found, size)),
        found.terms,
        closed=closed_by_roots(branches[0], bases, size, found.scale) if len(branches) == 1 else None,
        shrinking=ROOTS,
        exponent=found.exponent,
        factor=common_factor(call.argument.root for branch in branches for call in branch.calls),
        gap=gap_of(
            (term.log for branch in branches for term in branch.terms if term.power == found.scale), found.exponent
        ),
    )


def _by_steps(size: str, branches: Branches, bases: Bases, stated: tuple[str, ...]) -> Found:
    found = by_steps(branches, bases)
    closed = closed_by_steps(branches[0], bases, size, found.stride) if len(branches) == 1 else None
    lines = (*stated, *step_lines(branches, found, size))
    known = Found("summation", lines, found.terms, closed=closed, shrinking=STEPS, stride=found.stride)
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
