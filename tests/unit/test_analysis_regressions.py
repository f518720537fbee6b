"""Programs whose derived costs or verdicts were once wrong, each reduced to what made them so."""

from __future__ import annotations

import pytest

import archline as al
from archline.algebra.evaluate.exact import evaluate
from archline.analysis.analyse import derive
from archline.claims.decide import decide_claims
from archline.execution.data import generate_arguments
from archline.execution.run import execute
from archline.language.loader import load_text
from effort import long

BIG = """algorithm big(y: inout real[n]):
    for i in 0..n:
        y[i] += 1

"""
PAIRED = """algorithm paired(x: inout real[n], b: size):
    where b divides n
    for i in 0..n/b step 2:
        x[i] += 1

"""
PROGRAMS = {
    "two segments at once, in parallel": (
        "algorithm f(p: offsets[n] into nz longest nr, x: inout real[nz]):\n    where nz >= 0, nr >= 0\n"
        "    for i in 0..n-1:\n        parallel for k in p[i]..p[i+2]:\n            x[k] += 1\n",
        [{"n": n, "nz": nz, "nr": nz} for n in (1, 2, 5) for nz in (0, 1, 7)],
    ),
    "sizes no offsets can have": (
        "algorithm f(p: offsets[n] into nz longest nr, x: inout real[nz]):\n    where nr >= 64, nz >= 0\n"
        "    parallel for i in 0..n:\n        for k in p[i]..p[i+1]:\n            x[k] += 1\n",
        [{"n": n, "nz": 64 * n, "nr": 64} for n in (1, 2, 5)],
    ),
    "exact quotient of either sign": (
        "algorithm f(x: inout real[n], t: index):\n    for i in 0..n/t:\n        x[0] += 1\n",
        [{"n": n, "t": t} for n, t in ((1, -1), (4, -2), (4, 2))],
    ),
    "divisor of either sign": (
        "algorithm f(x: inout real[n], t: index):\n    where t divides n\n    for i in 0..n/t:\n        x[0] += 1\n",
        [{"n": 4, "t": t} for t in (-4, -1, 1, 2)],
    ),
    "data loop from below zero": (
        "algorithm f(c: index[n] below m, x: inout real[n], m: size):\n    for k in -3..c[0]:\n        if k < 0:\n"
        "            x[0] += 1\n",
        [{"n": 1, "m": m} for m in (1, 4)],
    ),
    "sync in a while waits for an earlier spawn": (
        BIG + "algorithm f(y: inout real[n], z: inout real[m]):\n    spawn big(y)\n    local t: int = 0\n"
        "    while t < 1 at most 1 times:\n        sync\n        t += 1\n    big(z)\n",
        [{"n": n, "m": m} for n in (1, 5) for m in (1, 4)],
    ),
    "a local array in a segment waits for an earlier spawn": (
        BIG + "algorithm f(y: inout real[n], z: inout real[m], rp: offsets[1] into nz):\n    spawn big(y)\n"
        "    for k in rp[0]..rp[1]:\n        local w: real[2] = 0\n    big(z)\n",
        [{"n": n, "m": 3, "nz": nz} for n in (1, 9) for nz in (1, 3)],
    ),
    "spawns of a segment run side by side": (
        BIG + "algorithm f(y: inout real[m, m], rp: offsets[1] into nz, m: size):\n    where nz <= m\n"
        "    for k in rp[0]..rp[1]:\n        spawn big(y[k, :])\n",
        [{"m": 4, "nz": nz} for nz in (1, 4)],
    ),
    "sync that only one iteration reaches": (
        BIG + "algorithm f(y: inout real[n], z: inout real[m], k: index):\n    spawn big(y)\n    for i in 0..m:\n"
        "        if i == k:\n            sync\n    big(z)\n",
        [{"n": n, "m": 2, "k": k} for n in (2, 6) for k in (-1, 0, 5)],
    ),
    "where compares fractions": (
        "algorithm f(x: inout real[n], m: size):\n    where n/2 < m\n    for i in 2*m - 2..n:\n        x[0] += 1\n",
        [{"n": n, "m": m} for n, m in ((1, 1), (3, 2), (2, 2))],
    ),
    "quotient split by a call": (
        PAIRED + "algorithm f(y: inout real[3*p + q], p: size, q: size, b: size):\n    paired(y, b)\n",
        [{"p": p, "q": q, "b": b} for p, q, b in ((1, 1, 2), (1, 3, 2), (2, 3, 3))],
    ),
    "divisor that is a sum at the call": (
        PAIRED + "algorithm f(y: inout real[3*p + q], p: size, q: size, k: size):\n    paired(y, k + 1)\n",
        [{"p": p, "q": q, "k": k} for p, q, k in ((1, 1, 1), (1, 3, 1), (2, 3, 2))],
    ),
    "index whose sign only the data gives": (
        "algorithm g(x: inout real[n], k: index):\n    for i in 0..-k:\n        x[0] += 1\n\n"
        "algorithm f(y: inout real[n]):\n    for i in 0..3:\n        g(y, (-1)^i)\n",
        [{"n": 2}],
    ),
    "root in a bound": (
        "algorithm f(x: inout real[n]):\n    local t: int = 0\n    while t < n at most n^2/3 + sqrt(n) times:\n"
        "        t += 1\n    for j in 0..ceil(sqrt(n)):\n        x[0] += 1\n",
        [{"n": n} for n in (1, 4, 9)],
    ),
    "division that a guard keeps from zero": (
        "algorithm f(x: inout real[n], m: size):\n    where m >= 0\n    if m > 0:\n        for i in 0..n//m:\n"
        "            x[i] += 1\n",
        [{"n": 3, "m": m} for m in (0, 1, 2)],
    ),
    "division by nothing in a dead branch": (
        "algorithm f(x: inout real[n], k: size):\n    if k > n:\n        for i in 0..n/(k - k):\n"
        "            x[i] += 1\n",
        [{"n": 3, "k": 2}],
    ),
    "callee that refuses small sizes": (
        "algorithm g(x: real[m], k: size) -> real:\n    local t: real = 0\n    for i in 0..k:\n        t += 1\n"
        "    return t\n\nalgorithm f(y: inout real[n]):\n    y[0] = g(y, n - 5)\n",
        [{"n": n} for n in (6, 8)],
    ),
    "fractions beside a floor that repeats": (
        "algorithm g(x: real[1], k: index):\n    pass\n\nalgorithm f(x: real[1], m: size):\n"
        "    for i in 2^max(0, min(m, 3)) downto 4:\n        local w: int = 0\n"
        "        while w < 2 at most 2 + i % 3 times:\n            w += 1\n",
        [{"m": m} for m in (1, 2, 5)],
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_derived_agrees_with_executed(name: str) -> None:
    text, points = PROGRAMS[name]
    module = load_text(text)
    algorithm = module.algorithms["f"]
    costs = derive(module, algorithm)
    for point in points:
        run = execute(module, algorithm, generate_arguments(module, algorithm, point), compiled=False)
        for cost in costs:
            if cost.lower is None or cost.upper is None:
                continue
            count = getattr(run.counts, cost.metric)
            assert evaluate(cost.lower, run.sizes) <= count <= evaluate(cost.upper, run.sizes), (cost.metric, point)


HALF = "for i in 0..n/2:\n        pass"
VERDICTS = [
    ("ensures work >= 100 when n >= P, P >= 100", "pass", "holds"),
    ("ensures work >= 11", "assume n >= 10", "unknown"),
    (
        "ensures work == 1 + 2*(n//2) + 2*n",
        "for i in 0..n/2:\n        pass\n    for i in 0..n/2:\n        pass",
        "holds",
    ),
    ("ensures work == 2*n + 2", "pass", "fails"),
]


CALLEE = """algorithm large(x: inout real[n]):
    where n >= 4, 2 divides n
    for i in 0..n:
        x[i] += 1

"""


def test_sizes_that_a_callee_refuses_are_no_counterexamples() -> None:
    text = (
        CALLEE
        + "algorithm f(x: inout real[n]):\n    ensures work >= 10\n    ensures work >= 11\n    large(x[0..n//2])\n"
    )
    module = load_text(text)
    algorithm = module.algorithms["f"]
    verdicts = decide_claims(module, algorithm, derive(module, algorithm))
    # The least size that runs is 8: its call costs 1 and 2 for each of 4 elements, beside the 1 of f.
    assert [verdict.outcome for verdict in verdicts] == ["holds", "fails"]
    assert verdicts[1].point == {"n": 8}


@pytest.mark.parametrize(("claim", "statement", "outcome"), VERDICTS)
def test_counterexamples_are_sizes_that_run(claim: str, statement: str, outcome: str) -> None:
    text = f"algorithm f(x: inout real[n]):\n    {claim}\n    {statement}\n    for i in 0..n:\n        x[i] += 1\n"
    module = load_text(text)
    algorithm = module.algorithms["f"]
    (verdict,) = decide_claims(module, algorithm, derive(module, algorithm))
    assert verdict.outcome == outcome


def test_unknown_costs_under_guards_in_a_recursion_are_unknown() -> None:
    """The guard is bounded where it cannot be counted, in a recursion too, which once ended in a TypeError."""
    module = load_text(
        "algorithm main(x: inout real[n], m: size):\n    if n > 1:\n        for i in 0..n:\n            if i*i > 5 + n:\n"
        "                for j in 0..n step m - 1:\n                    atomic x[i] += 1.0\n        main(x[0..n//2], m)\n"
    )
    costs = derive(module, module.algorithms["main"])
    assert {cost.status for cost in costs} == {"unknown"}


# The call graph of a module, and derivations of long chains of calls


@long
def test_a_chain_of_a_thousand_calls_is_derived() -> None:
    count = 1000
    body = "algorithm a{}(x: inout real[n]):\n    for i in 0..n:\n        x[i] += 1.0\n"
    text = "\n".join(body.format(each) + (f"    a{each + 1}(x)\n" if each + 1 < count else "") for each in range(count))
    found = al.loads(text)["a0"].cost()
    assert found.flops.text == f"{count}*n"
    # A loop takes n iterations of two steps, and every call one.
    assert found.work.text == f"{2 * count}*n + {count}"


def test_forty_calls_in_a_row_fetch_what_one_call_does_where_all_fits() -> None:
    text = (
        "algorithm sweep(A: inout real[n, n]):\n"
        "    for i in 0..n:\n        for j in 0..n:\n            A[i, j] *= 2.0\n\n"
        "algorithm many(A: inout real[n, n]):\n" + "    sweep(A)\n" * 40
    )
    io = al.loads(text)["many"].cost().io
    assert io.at(n=16, Z=256, L=8) == (32, 32)
    # The least cache keeps nothing from one call to the next but one line.
    assert io.at(n=16, Z=8, L=8)[1] <= 40 * 32


def test_guards_on_sums_and_differences_beside_data_have_bounds() -> None:
    """The cases of the sum of both guards were listed one by one, which took all memory."""
    text = """
algorithm main(x: inout real[n], y: real[m]):
    for i in 0..n:
        for j in 0..m:
            if i + j == 4 and y[j] > 0.0:
                x[i] += y[j]
            elif i - j > 1 or x[i] > y[j]:
                x[i] *= 2.0
"""
    algorithm = al.loads(text)["main"]
    cost = algorithm.cost()
    for n, m in ((1, 1), (3, 7), (8, 5), (13, 13)):
        run = algorithm.run(n=n, m=m)
        low, high = cost.work.at(n=n, m=m)
        assert low <= run.counts.work <= high
