"""Loops that work at multiples of a size only, each with another amount of work: counted exactly."""

import pytest

import archline as al

PROGRAM = """\
algorithm f(n: size, t: inout real[1]):
    where n >= 0
    for i in 1..n + 1:
        for j in {range}:
            if {condition}:
                for k in 0..{count}:
                    t[0] += 1.0
"""


@pytest.mark.parametrize(
    ("range_", "condition", "count"),
    [
        ("1..i*i + 1", "j % i == 0", "j"),
        ("0..i*i", "j % i == 0", "j"),
        ("1..n + 1", "j % i == 0", "j"),
        ("0..n*i", "j % i == 0", "j*j"),
        ("0..i*i", "(j + 1) % i == 0", "j"),
        ("i..i*i + i", "j % i == 0", "j - i"),
        ("0..i*i*i", "j % (i*i) == 0", "j"),
        ("0..i*i", "j % i != 0", "j"),
        ("0..2*i", "j % i == 0", "i + j"),
        ("0..i*n", "(j + n) % i == 0", "j"),
        ("1..i*i + 1", "j % i == 0", "5"),
    ],
)
def test_multiples(range_: str, condition: str, count: str) -> None:
    algorithm = al.loads(PROGRAM.format(range=range_, condition=condition, count=count))["f"]
    costs = algorithm.cost()
    for n in range(8):
        run = algorithm.run(n=n).counts
        for metric in ("flops", "work", "span"):
            derived = getattr(costs, metric).at(n=n)
            low, high = derived if isinstance(derived, tuple) else (derived, derived)
            assert low <= getattr(run, metric) <= high


def test_blocks_up_to_a_square() -> None:
    algorithm = al.loads(PROGRAM.format(range="1..i*i + 1", condition="j % i == 0", count="j"))["f"]
    flops = algorithm.cost().flops
    assert (flops.status, flops.at(n=12), flops.growth) == ("exact", 3367, "Theta(n^4)")
