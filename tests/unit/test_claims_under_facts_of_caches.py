"""Claims under facts that relate sizes, blocks, lines and caches: sizes that satisfy these are found."""

import pytest

import archline as al
from effort import some

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


CLAIMS = (
    ("io(h) <= n/L", "Z >= 3*b^2, b >= L, L >= 2", "fails"),
    ("io(h) <= n/L", "Z - 3*b^2 >= 0, b >= L, L >= 2", "fails"),
    ("io(h) <= n/b", "b >= L, Z >= b^2, n >= b^3", "fails"),
    ("flops(h) <= b", "b^2 <= n, b >= L, L >= 8", "fails"),
    ("io(h) <= 9", "n*b <= Z, n >= 8*L, L is square, b is power of 3, b >= 3", "fails"),
    ("io(h) <= n", "Z >= 3*b^2, b >= L, L >= 2", "holds"),
    ("flops(h) == n", "b divides n, 2*b <= n, Z >= 2*b, L*b <= Z", "holds"),
    ("io(h) <= n/L", "n >= 10^20", "fails"),
    ("flops(h) <= n - 1", "n >= 2^64", "fails"),
    ("io(h) <= 5", "n >= 2^64, Z >= 4*L", "fails"),
    ("flops(h) == n", "n >= 10^20, n <= 10^21", "holds"),
    ("flops(h) == n + 1", "n >= 10^20, n <= 10^21", "fails"),
)


@pytest.mark.parametrize(("claim", "facts", "outcome"), CLAIMS)
def test_claims_of_every_shape_are_decided(claim: str, facts: str, outcome: str) -> None:
    (verdict,) = al.loads(PROGRAM.format(claim=claim, facts=facts)).claims()
    assert verdict.outcome == outcome


def test_a_counterexample_has_realistic_sizes() -> None:
    (verdict,) = al.loads(PROGRAM.format(claim="io(h) <= 0", facts=FACTS[0])).claims()
    assert verdict.point == {"L": 8, "b": 16, "n": 16, "Z": 1024}


TWICE = """\
algorithm twice(x: real[n]) -> real:
    local s: real = 0
    for i in 0..n:
        s += x[i]
    for i in 0..n:
        s += x[i]
    return s
"""
WHOLE = """\
algorithm whole(A: real[n, n]) -> real:
    local s: real = 0
    for i in 0..n:
        for j in 0..n:
            s += A[i, j]
    return s
"""
BLOCKED = """\
algorithm blocked(b: size, A: real[n, n], B: real[n, n], C: inout real[n, n]):
    where b divides n
    for i in 0..n step b:
        for j in 0..n step b:
            for k in 0..n step b:
                for ii in i..i + b:
                    for jj in j..j + b:
                        for kk in k..k + b:
                            C[ii, jj] += A[ii, kk]*B[kk, jj]
"""
OUTER = """\
algorithm outer(x: real[n], y: real[m], A: inout real[n, m]):
    for i in 0..n:
        for j in 0..m:
            A[i, j] += x[i]*y[j]
"""
MATMUL = """\
algorithm matmul(A: real[n, m], B: real[m, p], C: inout real[n, p]):
    where n >= 10^20
    for i in 0..n:
        for j in 0..p:
            for k in 0..m:
                C[i, j] += A[i, k]*B[k, j]
"""
ENSURES = (
    (TWICE, "io <= n/L when Z >= 3*n^2, n >= L", "fails"),
    (WHOLE, "io <= n/L when Z >= 3*n^2, n >= L", "fails"),
    (BLOCKED, "io <= n^2 when Z >= 3*b^2, b >= L, L >= 2", "fails"),
    (BLOCKED, "io <= 3*n*n/L when 3*b*b <= Z, L <= b, L > 1, 2*b <= n", "fails"),
    (BLOCKED, "io <= 2*n^2 when Z - 3*b^2 >= 0, b >= 2*L, L >= 4", "fails"),
    (BLOCKED, "flops <= 2*n^2*b when Z >= 3*b^2, b >= L, L >= 2", "fails"),
    (BLOCKED, "flops == 2*n^3 when Z >= 3*b^2, b >= L, L >= 2", "holds"),
    (BLOCKED, "io >= 3*n^2/L when Z >= 3*b^2, b >= L, L >= 2", "holds"),
    (OUTER, "io <= n + m when n*m <= Z, L*8 <= Z, n >= L", "fails"),
    (OUTER, "io <= n*m when n*m <= Z, L >= 2, m >= 2*L", "fails"),
    (OUTER, "flops == 2*n*m when n*m <= Z, L*n <= Z", "holds"),
    (MATMUL, "work <= n^2*m", "fails"),
    (MATMUL, "io >= n*p/L + m*p/L", "holds"),
)


@pytest.mark.parametrize(("program", "claim", "outcome"), some([*ENSURES]))
def test_contracts_of_blocked_algorithms_are_decided(program: str, claim: str, outcome: str) -> None:
    first, line = program.index("    "), f"    ensures {claim}\n"
    where = program.index("\n", first) + 1 if program[first:].startswith("    where") else first
    name = program[len("algorithm ") : program.index("(")]
    (verdict,) = al.loads(program[:where] + line + program[where:])[name].cost().ensures
    assert verdict.outcome == outcome


def test_what_the_solver_refuses_is_not_a_failure_of_the_solver() -> None:
    """A linear program of numbers that are too large for it is one without a solution that it finds."""
    text = "algorithm f(x: inout real[n]):\n    where n >= 10^20\n    ensures work <= n^2\n    if n > 1:\n"
    text += "        let m = n // 2\n        f(x[0..m])\n        f(x[m..n])\n        x[0] += 1.0\n"
    (verdict,) = al.loads(text)["f"].cost().ensures
    assert "solver" not in verdict.reason
