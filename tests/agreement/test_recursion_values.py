"""Values of recurrences that are followed place by place, against their equations evaluated one in another."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest

from archline.algebra.evaluate.exact import evaluate
from archline.algebra.polynomial import rational
from archline.analysis.metrics.recursion import Derivation
from archline.expr.intervals import EvaluationError
from archline.language.loader import load_text
from archline.numbers import fmpq
from archline.recurrences.evaluate import ValueTable
from archline.recurrences.model import SizeFunction
from stdlib_cases import load

TARGETS = (
    ("dense.matmul_recursive::matmul_temporary", "span"),
    ("dense.cholesky_recursive::cholesky_co", "work"),
    ("arithmetic.karatsuba::karatsuba", "work"),
    ("string.lcs::lcs_co", "span"),
    ("scan.recursive::prefix_sum_pairs", "span"),
)


def functions(target: str, metric: str) -> dict[str, SizeFunction]:
    module, algorithm = load(target)
    recursions = Derivation(module, False).recursions
    assert recursions.extracted(algorithm)
    return recursions._extraction.systems(metric)


def followed(known: dict[str, SizeFunction], name: str, points: list[dict[str, int]]) -> list[Fraction | str]:
    values = ValueTable(known)

    def at(sizes: dict[str, int]) -> Fraction | str:
        try:
            return values.at(name, sizes, 20_000)
        except EvaluationError as problem:
            return str(problem)

    return [at(sizes) for sizes in points]


class Naive:
    """The same by substitution: the first equation whose decisions come out as it says, its calls evaluated in it."""

    def __init__(self, functions: dict[str, SizeFunction]) -> None:
        self._functions = functions
        self._known: dict[object, fmpq] = {}

    def at(self, name: str, arguments: tuple[fmpq, ...]) -> fmpq:
        if (name, arguments) not in self._known:
            self._known[name, arguments] = self._value(self._functions[name], arguments)
        return self._known[name, arguments]

    def _value(self, function: SizeFunction, arguments: tuple[fmpq, ...]) -> fmpq:
        point = dict(zip(function.parameters, arguments, strict=True))
        if any(each.q != 1 for each in arguments) or any(point[name] < least for name, least in function.least.items()):
            raise EvaluationError("a call at no sizes")
        for label, quotient in function.facts.quotients.items():
            point[label] = rational(evaluate(quotient, point))
        for equation in function.equations:
            if all((evaluate(each.indicator, point) == 1) == each.taken for each in equation.decisions):
                return rational(evaluate(equation.value, point, self.at))
        raise EvaluationError("no case")


@pytest.mark.parametrize(("target", "metric"), TARGETS)
def test_both_have_the_same_values(target: str, metric: str) -> None:
    known = functions(target, metric)
    random = Random(1)
    for name, function in known.items():
        drawn = [random.choice((0, 1, 2, 16, 17, 33, random.randint(1, 300), 2**40 + 3)) for _ in range(60)]
        points = [dict(zip(function.parameters, drawn[at:], strict=False)) for at in range(50)]
        naive, found = Naive(known), followed(known, name, points)
        values = 0
        for point, value in zip(points, found, strict=True):
            arguments = tuple(fmpq(point[each]) for each in function.parameters)
            if isinstance(value, str):
                with pytest.raises(EvaluationError):
                    naive.at(name, arguments)
            else:
                assert naive.at(name, arguments) == fmpq(value.numerator, value.denominator)
                values += 1
        assert values > 5


def test_calls_that_nest_deeply_are_followed() -> None:
    """f(n) = f(n - 1) + 1 down to 0: far more calls within each other than Python allows."""
    module = load_text(
        """
algorithm f(x: inout real[n]):
    if n > 1:
        x[0] += 1.0
        f(x[1..n])
"""
    )
    recursions = Derivation(module, False).recursions
    assert recursions.extracted(module.algorithms["f"])
    known = recursions._extraction.systems("flops.add")
    (name,) = known
    values = ValueTable(known)
    assert [values.at(name, {"n": n}) for n in (50, 20_000, 60)] == [49, 19_999, 59]
    with pytest.raises(EvaluationError, match="too many steps"):
        values.at(name, {"n": 30_000}, 100)
