"""Recursions on an exponent, n = 2^k, that call others: their values where k < 16, and the induction from there on.

What others cost has a form of its own at small sizes: a transposition of 2^k elements, down to leaves of 16 by 16,
costs about 2^k for k <= 8 and little more than that from there on. Bounds without maxima charge a whole leaf at every
size; where k is at least 16 the maxima are decided, and nothing is lost. Below that each k is a leaf of the induction,
with the recurrence's own value. max(0, k - c) bends a bound there: it is 0 at small k, and where all parts of k are at
least c, as those of k >= 2*c, their sum is c less.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from archline.algebra import atoms as a
from archline.algebra.polynomial import Poly, rational, total
from archline.recurrences.exact.basis import Element, distinct, sided, times
from archline.recurrences.exact.transitions import Foreign, Transition
from archline.recurrences.model import Equation, Function, by_call, calls

START = 16
"""The least exponent of the induction."""
BENDS = START // 4, START // 2

Steps = Callable[[Equation], Sequence[Transition]]
Value = Callable[[int], Fraction | None]


def apart(equation: Equation, function: Function, foreign: Foreign, steps: Steps, value: Value) -> list[Transition]:
    """The steps of an equation, with the exponents below START apart where others are called.

    `value` is the function where the exponent is a number, None where that is not known.
    """
    exponent = _exponent(equation, function, foreign)
    low = None if exponent is None else equation.facts.bounds[exponent].least
    if exponent is None or low is None or low >= START:
        return list(steps(equation))
    symbol = Poly.symbol(exponent)
    found = []
    for number in range(low, START):
        known = value(number)
        if known is None:
            return list(steps(equation))
        facts = equation.facts.with_nonnegative(symbol - number).with_nonnegative(number - symbol)
        found.append(Transition(equation, facts, Poly.constant(rational(known)), ()))
    above = replace(equation, facts=equation.facts.with_nonnegative(symbol - START))
    return [*found, *(replace(step, equation=equation) for step in steps(above))]


def _exponent(equation: Equation, function: Function, foreign: Foreign) -> str | None:
    """The exponent that is shared out, where others are called and as many calls are made at all sizes."""
    if len(function.shared_exponents) != 1 or len(function.parameters) != 1 or not equation.recursive:
        return None
    factors = {call: factor for call, factor in by_call(equation.value)[1].items() if call.function == function.name}
    if not factors or not total(factors.values()).is_constant:
        return None
    others = any(call.function in foreign for call in calls(equation.value))
    return function.shared_exponents[0] if others else None


def families(function: Function, steps: Sequence[Transition]) -> Iterator[tuple[Element, ...]]:
    """Sets of elements with the bends, where exponents are taken apart; none for other functions."""
    exponents = function.shared_exponents
    inductive = [step for step in steps if step.calls]
    if len(exponents) != 1 or not inductive:
        return
    (exponent,) = exponents
    if any(step.facts.bounds[exponent].least != START for step in inductive):
        return
    size = Element(Poly.symbol(exponent))
    logs = list(sided(function))
    bends = [Element(a.positive_part(size.value - bend)) for bend in BENDS]
    yield distinct([Element(Poly.constant(1)), *logs, *(times(size, each) for each in logs if each.sign), *bends])
