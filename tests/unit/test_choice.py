"""Short coefficients: the same choice as with a proof of each in turn, with fewer proofs."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import numpy as np
import pytest
from flint import fmpq

from archline.algebra.polynomial import ONE
from archline.recurrences.exact.coefficient_lp import Coefficients
from archline.recurrences.exact.constraints import Bound
from archline.recurrences.exact.synthesis import best_proved

FACTORS = tuple(Fraction(each, 8) for each in range(8, 40))


def in_turn(bounds: list[Bound], proved: list[bool], wanted: Fraction) -> Bound | None:
    """Each that is proved is looked at, up to the first that is near enough."""
    best: Bound | None = None
    for bound, known in zip(bounds, proved, strict=True):
        if known:
            best = bound if bound.better(best) else best
            if bound.factor <= wanted and bound.steady:
                break
    return best


@pytest.mark.parametrize("seed", range(300))
def test_the_choice_is_the_same(seed: int) -> None:
    random = Random(seed)
    count = random.randint(1, 12)
    bounds = [Bound(ONE, random.choice(FACTORS), random.choice(FACTORS), random.random() < 0.7) for _ in range(count)]
    proved = [random.random() < 0.6 for _ in range(count)]
    wanted = random.choice(FACTORS)
    asked: list[int] = []

    def prove(coefficients: Coefficients) -> bool:
        index = int(coefficients[0].p)
        asked.append(index)
        return proved[index]

    found = best_proved(
        [(fmpq(index),) for index in range(count)],
        np.array([float(each.factor) for each in bounds]),
        lambda coefficients: bounds[int(coefficients[0].p)],
        prove,
        lambda bound: bound.factor <= wanted and bound.steady,
        wanted,
    )
    assert found is in_turn(bounds, proved, wanted)
    assert len(asked) == len(set(asked))


def test_what_is_near_enough_needs_no_other_proof() -> None:
    bounds = [Bound(ONE, factor, Fraction(1), True) for factor in (Fraction(9), Fraction(5), Fraction(2))]
    asked: list[int] = []

    def prove(coefficients: Coefficients) -> bool:
        asked.append(int(coefficients[0].p))
        return True

    short, factors = [(fmpq(index),) for index in range(3)], np.array([9.0, 5.0, 2.0])
    value = lambda each: bounds[int(each[0].p)]  # noqa: E731
    assert best_proved(short, factors, value, prove, lambda bound: bound.factor <= 2, Fraction(2)) is bounds[2]
    assert asked == [2]
