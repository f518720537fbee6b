"""Closed forms of functions on the sizes that their calls reach from the base, n = n0*b^k and the like."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import comb

from archline.numbers import fmpq
from archline.recurrences.asymptotic.arithmetic import EXACT, NoValueError
from archline.recurrences.asymptotic.exponents import Exponent, log_ratio, primitive, rational
from archline.recurrences.asymptotic.initial_values import Bases
from archline.recurrences.asymptotic.normal_form import CallSum
from archline.recurrences.asymptotic.terms import Symbols, Term
from archline.recurrences.asymptotic.text import sum_text
from archline.recurrences.closed.c_finite import solve_sequence
from archline.recurrences.closed.text import Clock, Sums, merged, written


@dataclass(frozen=True)
class Closed:
    """An expression and where it holds. `size` is that of its k-th place, for every k from 0 on."""

    text: str
    domain: str
    start: fmpq
    factor: fmpq
    exponential: bool = False

    def size(self, k: int) -> fmpq:
        """n0*b^k; or n0^(b^k)."""
        return self.start ** int(self.factor**k) if self.exponential else self.start * self.factor**k


Starts = dict[Symbols, fmpq]
Forcings = dict[Symbols, dict[int, dict[fmpq, list[fmpq]]]]


def closed_by_splits(branch: CallSum, bases: Bases, size: str) -> Closed | None:
    """T on n0*b^k, where all shares are powers of 1/b."""
    if any(call.argument.offset != 0 for call in branch.calls) or any(term.loglog for term in branch.terms):
        return None
    parts = [(call.weight.coefficient, call.argument.ratio) for call in branch.calls]
    clock = _clock(size, bases.threshold, parts)
    starts = _starts(bases, fmpq(1))
    if clock is None or starts is None:
        return None
    found = _solved(clock, branch.terms, starts)
    if found is None:
        return None
    text = sum_text(merged(found, (size, clock.log)))
    return Closed(text, f"{size} = {_powers_of(clock)}", clock.start, clock.factor)


def _powers_of(clock: Clock) -> str:
    factor = str(clock.factor) if clock.factor.q == 1 else f"({clock.factor})"
    return f"{factor}^k" if clock.start == 1 else f"{clock.start}*{factor}^k"


def closed_by_roots(branch: CallSum, bases: Bases, size: str, scale: Exponent) -> Closed | None:
    """T on n0^(b^k): with mu = log2(n), T/n^s is a function of mu on log2(n0)*b^k."""
    if any(term.power != scale for term in branch.terms):
        return None
    try:
        start = fmpq(EXACT.log2(bases.threshold))
        starts = _starts(bases, fmpq(EXACT.power(bases.threshold, scale.rational))) if scale.is_rational else None
    except NoValueError:
        return None
    mu = f"log2({size})"
    clock = _clock(mu, start, [(call.weight.coefficient, call.argument.root) for call in branch.calls])
    if clock is None or starts is None or clock.factor.q != 1:
        return None
    terms = [replace(t, power=t.log, log=rational(t.loglog), loglog=fmpq(0)) for t in branch.terms]
    found = _solved(clock, terms, starts)
    if found is None:
        return None
    scaled: Sums = [(coefficient, [(size, scale), *factors]) for coefficient, factors in found]
    text = sum_text(merged(scaled, (size, mu, clock.log)))
    return Closed(text, f"{size} = {bases.threshold}^({clock.factor}^k)", bases.threshold, clock.factor, True)


def _starts(bases: Bases, divisor: fmpq) -> Starts | None:
    """The base value by products of symbols."""
    (_, terms), *others = bases.values
    if others or any(not term.exact or term.varies for term in terms):
        return None
    return {term.symbols: term.coefficient / divisor for term in terms}


def _clock(size: str, start: fmpq, parts: Sequence[tuple[fmpq, fmpq]]) -> Clock | None:
    """The clock on which all calls are, where their shares are powers of one number."""
    bases = [primitive(1 / share) for _, share in parts]
    root, *others = {base for base, _ in bases}
    if start <= 0 or others:
        return None
    shared = math.gcd(*(power for _, power in bases))
    calls = tuple((weight, power // shared) for (weight, _), (_, power) in zip(parts, bases, strict=True))
    factor = root**shared
    shift = log_ratio(start, factor)
    integer = shift.is_rational and shift.rational.q == 1
    return Clock(size, start, factor, calls, int(shift.rational.p) if integer else None)


def _solved(clock: Clock, terms: Sequence[Term], starts: Starts) -> Sums | None:
    """The solution: by linearity, that of each product of symbols and each power of log2(b) by itself."""
    forcings: Forcings = {symbols: {0: {}} for symbols in starts}
    if not all(_force(clock, term, forcings) for term in terms):
        return None
    found: Sums = []
    for symbols, by_logs in forcings.items():
        named = [(name, rational(power)) for name, power in symbols]
        for logs, forcing in by_logs.items():
            start = starts.get(symbols, fmpq(0)) if logs == 0 else fmpq(0)
            pieces = solve_sequence(clock.calls, lambda _, start=start: start, forcing)  # type: ignore[misc]
            if pieces is None:
                return None
            found += written(clock, pieces, logs, named)
    return found


def _force(clock: Clock, term: Term, forcings: Forcings) -> bool:
    """Add c*n^a*log2(n)^m = c*n0^a*(b^a)^k * (s + k)^m*log2(b)^m; False where that is no such sum."""
    ratio, at_start = _power(clock.factor, term.power), _power(clock.start, term.power)
    if ratio is None or at_start is None or not term.exact or not term.log.is_rational:
        return False
    degree = term.log.rational
    if degree.q != 1 or degree < 0 or (degree > 0 and clock.shift is None):
        return False
    power, shift = int(degree.p), fmpq(clock.shift or 0)
    place = forcings.setdefault(term.symbols, {0: {}}).setdefault(power, {}).setdefault(ratio, [])
    place += [fmpq(0)] * (power + 1 - len(place))
    for i in range(power + 1):
        place[i] += term.coefficient * at_start * comb(power, i) * shift ** (power - i)
    return True


def _power(base: fmpq, exponent: Exponent) -> fmpq | None:
    """base^exponent where it is rational."""
    if exponent.root is not None:
        return None
    root, up = primitive(base)
    try:
        plain = fmpq(EXACT.power(base, exponent.rational))
        if exponent.factor == 0 or base == 1:
            return plain
        # base = root^u, so that base^(r*log(of)/log(root)) = of^(r*u).
        return fmpq(plain * EXACT.power(exponent.of, exponent.factor * up)) if root == exponent.to else None
    except NoValueError:
        return None
