"""Recursions on an exponent: small exponents by themselves, so that bounds are near at small sizes as at large ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from archline.algebra.evaluate.exact import evaluate
from archline.algebra.polynomial import Poly
from archline.analysis.analyse import derive
from archline.analysis.metrics.recursion import Derivation
from archline.execution.run import execute
from archline.ir.amounts import Unknown
from archline.language.loader import load_path, load_text
from archline.recurrences.evaluate import ValueTable
from archline.recurrences.exact.constraints import START, Context

STDLIB = Path(__file__).parents[2] / "stdlib"
FFT = load_path(STDLIB / "fft" / "fft.algo")
EXPONENTS = (*range(2, 70), 100, 127, 128, 129, 255, 256, 257, 400, 512, 1000)

# Square roots of n elements, each with a sum over halves whose leaves have 8 elements.
ROOTS = """
algorithm halves(x: inout real[n]):
    if n <= 8:
        for i in 0..n:
            x[i] += 1.0
    else:
        spawn halves(x[0..n//2])
        spawn halves(x[n//2..n])
        sync

algorithm roots(x: inout real[n]):
    where n is power of 2
    if n <= LEAF:
        x[0] += 1.0
    else:
        let p = 2^(log2(n)//2)
        halves(x)
        roots(x[0..p])
        halves(x[0..p])
        roots(x[0..n/p])
"""


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_span_of_the_six_step_transform_is_near(exponent: int) -> None:
    cost = derive(FFT, FFT.algorithms["fft_co"])["span"]
    assert cost.lower is not None
    at = {"n": 1 << exponent}
    low, high, (count, same) = evaluate(cost.lower, at), evaluate(cost.upper, at), cost.ends(at)
    assert count == same
    assert low <= count <= high <= 2.1 * float(low)


@pytest.mark.parametrize("exponent", range(7))
def test_bounds_hold_of_runs(exponent: int) -> None:
    cost = derive(FFT, FFT.algorithms["fft_co"])["span"]
    n = 1 << exponent
    ran = execute(FFT, FFT.algorithms["fft_co"], {"xr": [1.0] * n, "xi": [0.5] * n}, compiled=False).counts.span
    assert evaluate(cost.lower, {"n": n}) <= ran <= evaluate(cost.upper, {"n": n})


def test_small_exponents_have_the_values_of_the_recurrence() -> None:
    module = load_text(ROOTS.replace("LEAF", "2"))
    recursions = Derivation(module, False).recursions
    systems = [recursions.extracted(each).systems["span"] for each in module.algorithms.values()]
    assert not any(isinstance(each, Unknown) for each in systems)
    functions = {name: each for system in systems for name, each in system.functions.items()}
    roots = functions["span of roots"]
    values = ValueTable(functions)
    foreign = {"span of halves": lambda arguments, facts: facts.simplify(arguments[0])}
    found = {}
    for step in Context(roots, True, foreign, values).steps:
        known = step.facts.bounds["log2(n)"]
        if step.calls:
            assert known.least == START
        elif step.equation.recursive:
            assert known.least == known.most
            found[known.least] = step.forcing
    assert found == {k: Poly.constant(values.at(roots.name, {"n": 1 << k})) for k in range(2, START)}
    # Nothing is taken apart where values are not known.
    whole = Context(roots, True, foreign, None).steps
    assert [step.facts.bounds["log2(n)"].least for step in whole if step.equation.recursive] == [2]
