"""Lower bounds of sums with an addend that has no closed form: the others keep theirs."""

import pytest

import archline as al

LEVELS = """\
algorithm f(x: inout real[n], y: inout real[n]):
    where n >= 1
    for l in 0..ceil(log2(n)):
        parallel for i in 0..n:
            y[i] = x[i]
        parallel for i in 2^l..n:
            x[i] = y[i] + y[i - 2^l]
"""
COPY_IN_STEPS = LEVELS.replace("parallel for i in 0..n", "for i in 0..n")
AHEAD = LEVELS.replace("2^l..n", "0..n - 2^l").replace("y[i - 2^l]", "y[i + 2^l]")
SQUARES = LEVELS.replace("ceil(log2(n))", "n").replace("2^l", "l*l").replace("l*l..n:", "min(n, l*l)..n:")
FAR = LEVELS.replace("2^l..n", "0..max(0, n - 3*2^l)").replace(" + y[i - 2^l]", " + 1.0")


@pytest.mark.parametrize("text", [LEVELS, COPY_IN_STEPS, AHEAD, SQUARES, FAR])
def test_span_lies_between_its_bounds(text: str) -> None:
    algorithm = al.loads(text)["f"]
    span = algorithm.cost().span
    for n in (*range(1, 10), 16, 33, 64):
        derived = span.at(n=n)
        low, high = derived if isinstance(derived, tuple) else (derived, derived)
        assert low <= algorithm.run(n=n).counts.span <= high


@pytest.mark.parametrize(("text", "least"), [(LEVELS, 49), (AHEAD, 49), (FAR, 43)])
def test_a_copy_at_each_level_counts(text: str, least: int) -> None:
    low, high = al.loads(text)["f"].cost().span.at(n=64)
    assert low >= least
    assert high == 97
