"""Conditions as amounts that are at least 0 where they hold: against their evaluation at all small values."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from archline.algebra import atoms as a
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.polynomial import Poly
from archline.expr.values import holds
from archline.ir.conditions import negated, required
from archline.ir.declarations import declared
from archline.language.loader import load_text
from archline.language.parser import parse_expression
from effort import drawn

PROGRAM = "algorithm f(i: size, j: size, k: size):\n    pass\n"
PLACES = [dict(zip("ijk", values, strict=True)) for values in product(range(1, 5), repeat=3)]


def _condition(source: Random, depth: int) -> str:
    if not depth or source.random() < 0.2:
        left, right = source.choice(("i", "j", "i + k", "2*i", "j - k")), source.choice(("k", "j", "1", "2", "k + 1"))
        return f"{left} {source.choice(('==', '!=', '!=', '<', '<=', '>', '>='))} {right}"
    if source.random() < 0.3:
        return f"not ({_condition(source, depth - 1)})"
    return f"({_condition(source, depth - 1)}) {source.choice(('and', 'or'))} ({_condition(source, depth - 1)})"


@pytest.mark.parametrize("seed", range(drawn(80)))
def test_amounts_are_at_least_zero_where_a_condition_holds(seed: int) -> None:
    module = load_text(PROGRAM)
    scope = declared(module, module.algorithms["f"])
    text = _condition(Random(seed), 3)
    condition = parse_expression(text)
    for expression, right in ((condition, True), (negated(condition), False)):
        needs = required(expression, scope)
        assert needs is not None, text
        for place in PLACES:
            found = all(evaluate(scope.facts.restore(each), place) >= 0 for each in needs)
            assert found == (holds(condition, place) is right), (text, place)


def test_the_values_of_which_one_is_the_greatest() -> None:
    x, y, z = map(Poly.symbol, "xyz")
    value = a.maximum(a.maximum(x, y.scaled(2)), z + 1)
    for place in product(range(4), repeat=3):
        at = dict(zip("xyz", place, strict=True))
        assert evaluate(value, at) == max(evaluate(each, at) for each in a.options(value, True))
        least = a.minimum(a.minimum(x, y - 3), z.scaled(3))
        assert evaluate(least, at) == min(evaluate(each, at) for each in a.options(least, False))
    assert a.options(value, False) == (value,)
