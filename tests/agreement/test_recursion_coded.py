"""Recurrences written in Python against the same ones followed piece by piece."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from archline.algebra import atoms as a
from archline.algebra.evaluate.exact import EvaluationError, evaluate
from archline.algebra.polynomial import Poly
from archline.algebra.prove.residues import first
from archline.analysis.metrics.recursion import Derivation
from archline.language.loader import load_text
from archline.recurrences.evaluate.codegen import HELPERS, EquationWriter
from archline.recurrences.evaluate.memoised import Directly
from archline.recurrences.evaluate.values import Values
from archline.recurrences.model import Function
from stdlib_cases import load

TARGETS = (
    ("dense.matmul_recursive::matmul_temporary", "span"),
    ("dense.cholesky_recursive::cholesky_co", "work"),
    ("arithmetic.karatsuba::karatsuba", "work"),
    ("string.lcs::lcs_co", "span"),
    ("scan.recursive::prefix_sum_pairs", "span"),
)
GUARDED = """
algorithm f(x: inout real[n]):
    if n > 3 and n != 8:
        for i in 0..n:
            for j in 0..i:
                x[j] += 1.0
        f(x[0..n//3])
        f(x[n//3..n])
    elif n == 8:
        f(x[0..5])
"""


def functions(target: str, metric: str) -> dict[str, Function]:
    module, algorithm = load(target)
    recursions = Derivation(module, False).recursions
    assert recursions.extracted(algorithm)
    return recursions._extraction.systems(metric)


def followed(known: dict[str, Function], name: str, points: list[dict[str, int]]) -> list[object]:
    values = Values(known)

    def at(sizes: dict[str, int]) -> object:
        try:
            return values.at(name, sizes, 20_000)
        except EvaluationError as problem:
            return str(problem)

    return [at(sizes) for sizes in points]


@pytest.mark.parametrize(("target", "metric"), TARGETS)
def test_both_have_the_same_values(target: str, metric: str, monkeypatch: pytest.MonkeyPatch) -> None:
    known = functions(target, metric)
    random = Random(1)
    for name, function in known.items():
        drawn = [random.choice((0, 1, 2, 16, 17, 33, random.randint(1, 300), 2**40 + 3)) for _ in range(60)]
        points = [dict(zip(function.parameters, drawn[at:], strict=False)) for at in range(50)]
        directly = followed(known, name, points)
        with monkeypatch.context() as patched:
            patched.setattr(Values, "_directly", lambda *_: None)
            expected = followed(known, name, points)
        assert directly == expected
        assert len({each for each in expected if not isinstance(each, str)}) > 5


def test_conditions_on_maxima() -> None:
    n, m, k = map(Poly.symbol, "nmk")
    writer = EquationWriter({"n": "n", "m": "m", "k": "k"})
    largest = a.maximum(n, a.maximum(m, k))
    values = (n, largest - 16, 20 - largest, a.minimum(n, m) - 4, a.positive_part(n - m) * k - 3)
    values += (largest + a.maximum(n, 2 * m) - 30, largest.scaled(2) - a.maximum(m, k) - 9, n / 2 - m / 3)
    for value in values:
        text = writer.condition(a.at_least_zero(value - 1)), writer.text(value)
        for point in product((1, 2, 9, 16, 17, 21), repeat=3):
            sizes = dict(zip("nmk", point, strict=True))
            there = evaluate(value, sizes)
            found = tuple(eval(each, {**HELPERS, **sizes}) for each in text)
            assert found == (there >= 1, there)


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
    values = Values(known)
    assert [values.at(name, {"n": n}) for n in (50, 20_000, 60)] == [49, 19_999, 59]
    with pytest.raises(EvaluationError, match="too many steps"):
        values.at(name, {"n": 30_000}, 100)


def test_steps_are_counted() -> None:
    known = functions("scan.recursive::prefix_sum_pairs", "span")
    (name,) = known
    values = Values(known)
    with pytest.raises(EvaluationError, match="too many steps"):
        values.at(name, {"n": 2**20}, 10)
    assert values.at(name, {"n": 2**20}, 100) > 20
    with pytest.raises(EvaluationError, match="a call"):
        values.at(name, {"n": -1})


def test_fractions_are_whole_where_counts_are() -> None:
    """n*(n - 1)/2 inner iterations, by conditions that are no comparison with a sum."""
    module = load_text(GUARDED)
    recursions = Derivation(module, False).recursions
    assert recursions.extracted(module.algorithms["f"])
    known = recursions._extraction.systems("flops.add")
    (name,) = known
    written = Directly(known, {})

    def additions(n: int) -> int:
        if n == 8:
            return additions(5)
        return n * (n - 1) // 2 + additions(n // 3) + additions(n - n // 3) if n > 3 else 0

    for n in range(1, 40):
        found = written.at(name, (n,), 1_000)
        assert type(found) is int
        assert found == additions(n)


def test_exponents_are_left_to_expressions() -> None:
    known = functions("fft.fft::fft", "work")
    written = Directly(known, {})
    assert all(written.at(name, (8,) * len(each.parameters), 100) is None for name, each in known.items())


@pytest.mark.parametrize("end", [1, 2, 7, 16])
def test_the_first_of_what_holds_from_there_on(end: int) -> None:
    for start in range(end + 1):
        asked: list[int] = []

        def holds(number: int, start: int = start, asked: list[int] = asked) -> bool:
            asked.append(number)
            return number >= start

        assert first(end, holds) == (start if start < end else None)
        assert asked == [end - 1] if start == end else len(asked) <= 1 + end.bit_length()
