"""Sizes with several divisors: what each of them leaves is an integer."""

import pytest

import archline as al
from effort import some

ROWS = "for i in 0..n step b:\n        for j in 0..n step c:\n            for k in i..i + b:\n                for m in j..j + c:\n                    x[k] += x[m]"
TWO = f"algorithm f(b: size, c: size, x: inout real[n]):\n    where b divides n, c divides n\n    ensures flops == n^2\n    {ROWS}\n"
THREE = """\
algorithm f(p: size, q: size, r: size, x: inout real[n]):
    where p divides n, q divides n, r divides n
    ensures flops == n^3
    for i in 0..n step p:
        for j in 0..n step q:
            for k in 0..n step r:
                for u in i..i + p:
                    for v in j..j + q:
                        for w in k..k + r:
                            x[u] += x[w]
"""
NESTED = (
    TWO.replace("c divides n", "c divides b").replace("j in 0..n step c", "j in i..i + b step c").replace("n^2", "n*b")
)
EVEN = TWO.replace("b divides n", "4 divides n, b divides n")
NUMBER = (
    TWO.replace("c divides n", "4 divides n")
    .replace("step c", "step 4")
    .replace("j + c", "j + 4")
    .replace("c: size, ", "")
)
DIAMOND = TWO.replace("c divides n", "c divides n, d divides b, d divides c").replace("c: size", "c: size, d: size")
HALVES = TWO.replace("n^2", "n^2/c").replace("for m in j..j + c", "for m in 0..1")
PRODUCT = TWO.replace("b divides n, c divides n", "n == p*q, b divides n, c divides n").replace(
    "b: size", "p: size, q: size, b: size"
)
DOWN = TWO.replace("for j in 0..n step c:", "for j in n - c downto 0 step c:")
TALL = (
    TWO.replace("c: size", "c: size, t: inout real[m]")
    .replace("c divides n", "c divides n, c divides m")
    .replace("for j in 0..n", "for j in 0..m")
    .replace("for m in j..j + c", "for l in j..j + c")
    .replace("x[k] += x[m]", "x[k] += t[l]")
    .replace("n^2", "n*m")
)


@pytest.mark.parametrize(
    ("text", "sizes"),
    some(
        [
            (TWO, {"n": 12, "b": 4, "c": 6}),
            (TWO, {"n": 12, "b": 12, "c": 1}),
            (THREE, {"n": 12, "p": 4, "q": 6, "r": 3}),
            (EVEN, {"n": 24, "b": 6, "c": 8}),
            (NUMBER, {"n": 12, "b": 6}),
            (DIAMOND, {"n": 24, "b": 4, "c": 6, "d": 2}),
            (HALVES, {"n": 12, "b": 4, "c": 6}),
            (PRODUCT, {"n": 12, "p": 3, "q": 4, "b": 6, "c": 2}),
            (DOWN, {"n": 12, "b": 4, "c": 6}),
            (TALL, {"n": 12, "m": 18, "b": 4, "c": 6}),
        ]
    ),
)
def test_flops_in_blocks_of_several_divisors(text: str, sizes: dict[str, int]) -> None:
    algorithm = al.loads(text)["f"]
    costs, run = algorithm.cost(), algorithm.run(**sizes)
    assert [each.outcome for each in costs.ensures] == ["holds"]
    assert costs.flops.status == "exact"
    for metric in ("flops", "work", "span"):
        assert getattr(costs, metric).at(**sizes) == getattr(run.counts, metric)


def test_the_divided_size_may_be_0() -> None:
    algorithm = al.loads(
        TWO.replace("n, c divides n", "n, c divides n, n >= 0").replace("    ensures flops == n^2\n", "")
    )["f"]
    for sizes in ({"n": 0, "b": 2, "c": 3}, {"n": 6, "b": 2, "c": 3}):
        derived = algorithm.cost().work.at(**sizes)
        assert derived == algorithm.run(**sizes).counts.work
