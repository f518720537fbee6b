"""Claims under facts that relate sizes, blocks, lines and caches: sizes that satisfy these are found."""

import pytest

import archline as al

PROGRAM = """\
algorithm h(b: size, x: real[n]) -> real:
    local s: real = 0
    for i in 0..n:
        s += x[i]
    return s

claim {claim} where {facts}
"""
FACTS = (
    "b >= 4, Z >= 4*b, L >= 4",
    "Z >= 3*b^2, b >= L, L >= 2",
    "Z >= 3*b^2 + 2*L, b >= L, L >= 2",
    "3*b*b <= Z, L <= b, L > 1, b divides n",
    "Z - 3*b^2 >= 0, b >= L, L >= 2",
    "Z >= b^2, b >= 100, b divides n",
    "b <= L, Z >= L^2, L >= 16, n >= 2*b",
    "Z == 4*L, L is power of 2, L >= 4, n > Z",
    "Z >= 8*L and b >= 2*L and L >= 3",
    "n >= 1000*b, b >= 30",
    "4 divides n, 6 divides n, Z >= n, n >= 100, b divides n",
)


@pytest.mark.parametrize("facts", FACTS)
@pytest.mark.parametrize("claim", ["io(h) <= 0", "flops(h) <= 0", "io(h) <= n/L/2"])
def test_false_claims_are_refuted(facts: str, claim: str) -> None:
    (verdict,) = al.loads(PROGRAM.format(claim=claim, facts=facts)).claims()
    assert verdict.outcome == "fails"
