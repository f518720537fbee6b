"""Theta of one function that calls itself alone, by the way in which its sizes shrink."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from archline.algebra.asymptotic.constants import OutOfReachError
from archline.numbers import fmpq
from archline.recurrences.asymptotic.akra_bazzi import Parts, contribution, excess, exponent_of, gathered
from archline.recurrences.asymptotic.exponents import ZERO, Exponent, compare, rational
from archline.recurrences.asymptotic.initial_values import Bases
from archline.recurrences.asymptotic.inline import matrix_of
from archline.recurrences.asymptotic.normal_form import Branches, CallSum, WeightedCall
from archline.recurrences.asymptotic.perron import Spectrum
from archline.recurrences.asymptotic.terms import Term, dominates, leading, nonnegative_from

Terms = tuple[Term, ...]


@dataclass(frozen=True)
class Grown:
    """Theta of a function, and what the solution went by: its exponent and the parts that gave it."""

    terms: Terms
    exponent: Exponent
    parts: Parts
    scale: Exponent = ZERO


def check_terms(branches: tuple[CallSum, ...], least: fmpq) -> None:
    """Raise OutOfReachError unless what stands beside the calls is at least 0 from `least` on."""
    for branch in branches:
        if not nonnegative_from(branch.terms, least):
            raise OutOfReachError("the terms without calls may be negative")


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
    top = _index_of_highest(exponents)
    p = exponents[top]
    assert p is not None
    everything = tuple(term for each in terms for term in each)
    above = leading(_solution(everything, tuple(term for each in growing for term in each), parts[top], p))
    below: list[Term] = []
    for own, shares, exponent, start in zip(terms, parts, exponents, growing, strict=True):
        below.extend(own if exponent is None else _solution(own, start, shares, exponent))
    if not all(any(dominates(low, high) for low in below) for high in above):
        raise OutOfReachError("a maximum whose branches differ in what they call and in what they add")
    return Grown(above, p, parts[top])


def _index_of_highest(exponents: list[Exponent | None]) -> int:
    top, best = -1, None
    for at, each in enumerate(exponents):
        if each is not None and (best is None or compare(each, best) > 0):
            top, best = at, each
    assert best is not None
    return top


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
