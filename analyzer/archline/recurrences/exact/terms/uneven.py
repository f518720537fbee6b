"""Terms for calls that keep an uneven part of their sizes, such as 3/4 of a sum that the data splits.

A rounded logarithm falls by 1 or not at all there, so that it proves nothing; the real one falls by log2(4/3). Proofs
are written with real logarithms, for which bounds are known at every call, and with indicators of conditions, which pay
for calls that keep the sizes, as one that swaps them. What is reported is the sum with each of these rounded to the
side on which the bound stays one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from archline.algebra import atoms as a
from archline.algebra.polynomial import ONE, Poly, total
from archline.algebra.prove.log_enclosures import least_fall, most_fall
from archline.numbers import fmpq
from archline.recurrences.exact.at_call import Logarithm, sizes_of_call
from archline.recurrences.exact.basis import Element, split_by_data
from archline.recurrences.exact.surrogate import Inner
from archline.recurrences.exact.transitions import Transition
from archline.recurrences.model import Function

SHIFTS = (1, 2, 3)
MAX_POWER = 3
ROUNDING = 2
"""How much more than its half a call's size may be to count as a half."""


def shrinking(function: Function, steps: Sequence[Transition], upper: bool) -> Iterator[tuple[Element, ...]]:
    """Sets of terms, from the plain to the rich; none where all calls halve the sizes, or a step makes several."""
    calling = [step for step in steps if step.calls]
    plain = len(function.sizes) == len(function.parameters) and not function.facts.powers
    if not plain or not on_a_path(calling) or (len(function.sizes) > 1 and not split_by_data(function)):
        return
    size = total(map(Poly.symbol, function.sizes))
    if all(_halves(size, function, step) for step in calling):
        return
    log = _logarithm(size, function, calling, upper)
    if log is None:
        return
    value = Poly.of_atom(log) if isinstance(log, a.CeilLog2) else _rounded(log, upper)
    sign = 1 if upper else -1
    logs = [Element(value**k, sign=sign, inner=Inner(logs=(log,) * k)) for k in range(1, MAX_POWER + 1)]
    swaps = list(_swaps(calling)) if upper else []
    for power in range(1, MAX_POWER + 1):
        yield (Element(ONE), *swaps, *logs[:power])


def on_a_path(calling: Sequence[Transition]) -> bool:
    """Whether each step makes one call: what it adds then adds up along a path, and logarithms may do."""
    return bool(calling) and all(len(step.calls) == 1 and step.calls[0][0] == ONE for step in calling)


def _rounded(log: a.RealFunction, upper: bool) -> Poly:
    """An integer that the logarithm of an integer is at most, or at least."""
    return a.ceil_log2(log.argument) if upper else a.ceil_log2(log.argument + 1) - 1


def _swaps(steps: Sequence[Transition]) -> Iterator[Element]:
    """Indicators of the conditions under which calls are made, in place of a 1."""
    found = {
        each.indicator if each.taken else ONE - each.indicator: None
        for step in steps
        for each in step.equation.decisions
    }
    yield from (Element(ONE, sign=1, inner=Inner(indicator=each)) for each in found)


def _parts(size: Poly, function: Function, step: Transition) -> Iterator[Poly]:
    for _, call in step.calls:
        yield step.facts.simplify(size.substitute(sizes_of_call(function, call.arguments)))


def _halves(size: Poly, function: Function, step: Transition) -> bool:
    """Whether the calls' sizes are about half the caller's at most."""
    parts = _parts(size, function, step)
    return all(step.facts.nonnegative(size + 2 * ROUNDING - each.scaled(2)) for each in parts)


def _logarithm(size: Poly, function: Function, steps: Sequence[Transition], upper: bool) -> Logarithm | None:
    """The logarithm of the size and a number that falls most at the calls (least, for a lower bound).

    Rounded, where it falls by an integer: nothing is lost then.
    """
    best: tuple[fmpq, Logarithm] | None = None
    for shift in SHIFTS:
        whole = size + shift
        falls = _falls(whole, function, steps, upper)
        if not falls:
            continue
        rank = min(falls) if upper else -max(falls)
        if (rank > 0 or not upper) and (best is None or rank > best[0]):
            even = all(each.q == 1 for each in falls)
            best = rank, a.CeilLog2(whole) if even else a.RealFunction("log2", whole)
    return None if best is None else best[1]


def _falls(whole: Poly, function: Function, steps: Sequence[Transition], upper: bool) -> list[fmpq]:
    """How much the logarithm falls at each call that does not keep the size; none where that is not known of all."""
    found = []
    for step in steps:
        for each in _parts(whole, function, step):
            if each == whole:
                continue
            fall = (least_fall if upper else most_fall)(whole, each, step.facts)
            if fall is None:
                return []
            found.append(fall)
    return found
