"""Derived costs of small programs, worked out by hand from the cost table (docs/reference/cost-rules.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from itertools import product
from math import ceil, isqrt

import numpy as np
import pytest

from archline.algebra.evaluate.exact import evaluate
from archline.analysis.analyse import derive
from archline.analysis.cost import Cost, Costs
from archline.execution.run import execute
from archline.language.loader import load_text
from derived_counts import assert_agreement

HEADER = "x: inout real[n], k: inout int[n], m: size"
SPARSE = "x: inout real[n], z: real[m], k: int, ptr: offsets[n] into nz longest nr, col: index[n] below m"
CALLEES = """extern g(a: real) -> real costs c flops
algorithm leaf(y: inout real[p]):
    for i in 0..p:
        y[i] += 1.0
algorithm scale(y: inout real[p], a: real):
    for i in 0..p:
        y[i] *= a
algorithm unit(y: inout real[p]):
    y[0] += 1.0
algorithm total(y: real[p]) -> real:
    local s: real = 0
    for i in 0..p:
        s += y[i]
    return s
algorithm count(y: inout real[p], q: size):
    for i in 0..q:
        y[0] += 1.0
"""

Count = Callable[..., int | Fraction]
METRICS = ("flops", "work", "span")


def clog(value: int) -> int:
    """ceil(log2(value)) of a positive integer."""
    return (value - 1).bit_length()


@cache
def derived(body: str, header: str = HEADER, where: str = "") -> Costs:
    module = load_text(text_of(body, header, where))
    return derive(module, module.algorithms["f"])


def text_of(body: str, header: str = HEADER, where: str = "") -> str:
    lines = "\n".join("    " + line for line in ([where] if where else []) + body.split("\n"))
    return f"{CALLEES}algorithm f({header}):\n{lines}\n"


def bounds(cost: Cost, sizes: Mapping[str, int]) -> tuple[int | Fraction, int | Fraction]:
    assert cost.lower is not None, cost.reason
    return evaluate(cost.lower, sizes), evaluate(cost.upper, sizes)


SIZES = [{"n": n, "m": m} for n, m in product(range(1, 7), range(1, 6))]


def assert_exact(costs: Costs, expected: tuple[Count, Count, Count], sizes: list[dict[str, int]]) -> None:
    """`expected` is what the body adds to the 1 of the outermost call."""
    for metric, count, start in zip(METRICS, expected, (0, 1, 1), strict=True):
        assert costs[metric].exact, metric
        for each in sizes:
            wanted = count(**each) + start
            assert bounds(costs[metric], each) == (wanted, wanted), (metric, each)


def same(count: Count) -> tuple[Count, Count, Count]:
    """Where flops, work and span are equal."""
    return count, count, count


def free(work: Count, span: Count | None = None) -> tuple[Count, Count, Count]:
    """Where there are no flops."""
    return lambda n, m: 0, work, span or work


def nest_span(*extents: int) -> int:
    """The span of nested parallel loops with these extents, without the body."""
    if not extents or extents[0] == 0:
        return 0
    return (extents[0] - 1).bit_length() + 1 + nest_span(*extents[1:])


TABLE = {
    "pass": free(lambda n, m: 0),
    "x[0] = x[1] + x[2]": same(lambda n, m: 1),
    "x[0] = -x[1]": free(lambda n, m: 0),
    "x[0] = 2*x[1] - x[2]/x[3]": same(lambda n, m: 3),
    "x[0] = x[1]^2": same(lambda n, m: 1),
    "x[0] = real_of(m + 1)*pi": same(lambda n, m: 1),
    "x[0] = max(x[1], x[2], 3.5)": same(lambda n, m: 2),
    "x[0] = sqrt(abs(x[1])) + exp(x[1])": same(lambda n, m: 4),
    "x[0] += x[1]": same(lambda n, m: 1),
    "x[0] min= x[1]\nx[0] *= x[1]\nx[0] -= 1\nx[0] /= x[1]\nx[0] max= 2.0": same(lambda n, m: 5),
    "atomic x[0] += x[1]": same(lambda n, m: 1),
    # Operators on ints are work only, on sizes and indices nothing.
    "k[0] = (k[1]*k[2] - k[3])//2 % 5": free(lambda n, m: 4),
    "k[0] = max(k[1], m, 3)": free(lambda n, m: 2),
    "k[0] += 1": free(lambda n, m: 1),
    "k[0] = m*m + 1": free(lambda n, m: 0),
    "x[k[1] + 1] = x[k[2]]": free(lambda n, m: 1),
    "let a = m//2\nlet b = a^2 + 3\nx[0] = 1": free(lambda n, m: 0),
    "local t: real = x[0]\nx[1] = t*t": same(lambda n, m: 1),
    "local t: real = x[0]*x[1]": same(lambda n, m: 1),
    # Tests: 1 each, however many are passed over.
    "if x[0] < x[1]:\n    pass": (lambda n, m: 1, lambda n, m: 2, lambda n, m: 2),
    "if not (x[0] > 9.0):\n    pass": (lambda n, m: 1, lambda n, m: 2, lambda n, m: 2),
    "if k[0] < 3:\n    pass\nelse:\n    pass": free(lambda n, m: 2),
    "if m > 2:\n    x[0] += 1": (lambda n, m: m > 2, lambda n, m: 1 + (m > 2), lambda n, m: 1 + (m > 2)),
    "if m > 2:\n    pass\nelse:\n    x[0] += 1": (
        lambda n, m: m <= 2, lambda n, m: 1 + (m <= 2), lambda n, m: 1 + (m <= 2),
    ),
    "if m < 1:\n    x[0] += 1": free(lambda n, m: 1),
    "if m >= 1:\n    x[0] += 1\nelif m >= 2:\n    pass": (lambda n, m: 1, lambda n, m: 2, lambda n, m: 2),
    # Three tests before the last branch, which has three flops.
    "if m < 2:\n    pass\nelif m < 3:\n    x[0] += 1\nelif m == 3:\n    pass\nelse:\n    x[0] = x[0]*x[0]*x[0]*x[0]": (
        lambda n, m: (0, 1, 0, 3, 3)[m - 1],
        lambda n, m: (1, 3, 3, 6, 6)[m - 1],
        lambda n, m: (1, 3, 3, 6, 6)[m - 1],
    ),
    # Whole arrays: the nest of parallel loops over their elements.
    "local W: real[m] = 0": free(lambda n, m: m, lambda n, m: nest_span(m)),
    "local W: real[m]": free(lambda n, m: 0),
    "local W: real[2, m] = 0": free(lambda n, m: 2 + 2 * m, lambda n, m: nest_span(2, m)),
    "local W: real[m, 2] = 0": free(lambda n, m: m + 2 * m, lambda n, m: nest_span(m, 2)),
    "local W: real[m - 1, 2] = 0": free(lambda n, m: 3 * (m - 1), lambda n, m: nest_span(m - 1, 2)),
    "local W: real[2, m - 1] = 0": free(lambda n, m: 2 + 2 * (m - 1), lambda n, m: nest_span(2, m - 1)),
    # A scalar right side is evaluated once.
    "local W: real[m] = x[0]*x[1]": (lambda n, m: 1, lambda n, m: 1 + m, lambda n, m: 1 + nest_span(m)),
    "local W: real[n] = x": free(lambda n, m: n, lambda n, m: nest_span(n)),
    "x[0..n] = x[0] + 1.0": (lambda n, m: 1, lambda n, m: 1 + n, lambda n, m: 1 + nest_span(n)),
    "x[m..n] = 1.5": free(lambda n, m: max(0, n - m), lambda n, m: nest_span(max(0, n - m))),
    "x[0..n step 2] = 1.5": free(lambda n, m: ceil(n / 2), lambda n, m: nest_span(ceil(n / 2))),
}  # fmt: skip


@pytest.mark.parametrize("body", TABLE)
def test_rows_of_the_cost_table(body: str) -> None:
    assert_exact(derived(body), TABLE[body], SIZES)


ONE = "\n    x[0] += 1.0"


def trips(count: Count) -> tuple[Count, Count, Count]:
    """A serial loop whose body is one flop."""
    return count, lambda **sizes: 2 * count(**sizes), lambda **sizes: 2 * count(**sizes)


RANGES = {
    "for i in 0..n": trips(lambda n, m: n),
    "for i in m..n": trips(lambda n, m: max(0, n - m)),
    "for i in 2..n + 1": trips(lambda n, m: n - 1),
    "for i in n..0": trips(lambda n, m: 0),
    "for i in 0..n step 3": trips(lambda n, m: ceil(n / 3)),
    "for i in 1..n step 2": trips(lambda n, m: n // 2),
    "for i in 0..n step m": trips(lambda n, m: -(-n // m)),
    "for i in n downto 1": trips(lambda n, m: n),
    "for i in n downto m": trips(lambda n, m: max(0, n - m + 1)),
    "for i in n downto 0 step 2": trips(lambda n, m: n // 2 + 1),
    "for i in 0..n*m - 1": trips(lambda n, m: n * m - 1),
    "for i in 0..n//m": trips(lambda n, m: n // m),
    "for i in 0..n % m": trips(lambda n, m: n % m),
    "for i in 0..(n + m) % 3": trips(lambda n, m: (n + m) % 3),
    "for i in 0..n^2": trips(lambda n, m: n * n),
    "for i in 0..2^m": trips(lambda n, m: 2**m),
    "for i in 0..1^m": trips(lambda n, m: 1),
    "for i in 0..m^0": trips(lambda n, m: 1),
    "for i in -m..n": trips(lambda n, m: n + m),
    "for i in 0..floor(n)": trips(lambda n, m: n),
    "for i in 0..max(n - m, m - n)": trips(lambda n, m: abs(n - m)),
    "for i in 0..ceil(n/2)": trips(lambda n, m: ceil(n / 2)),
    "for i in 0..floor(n/m)": trips(lambda n, m: n // m),
    "for i in 0..ceil(n/m)": trips(lambda n, m: -(-n // m)),
    "for i in 0..min(n, m)": trips(lambda n, m: min(n, m)),
    "for i in 0..max(n, m, 3)": trips(lambda n, m: max(n, m, 3)),
    "for i in 0..abs(n - m)": trips(lambda n, m: abs(n - m)),
    "for i in 0..floor(log2(n))": trips(lambda n, m: n.bit_length() - 1),
    "for i in 0..ceil(log2(n))": trips(lambda n, m: clog(n)),
    "for i in 0..floor(sqrt(n))": trips(lambda n, m: isqrt(n)),
    "for i in 0..ceil(sqrt(n))": trips(lambda n, m: isqrt(n - 1) + 1),
    "for i in 0..floor(log2(64))": trips(lambda n, m: 6),
    "for i in 0..ceil(sqrt(64))": trips(lambda n, m: 8),
    "let q = n//2\nfor i in 0..q": trips(lambda n, m: n // 2),
    "assume n >= m\nfor i in 0..n": trips(lambda n, m: n),
    # t iterations side by side: ceil(log2 t) and the longest, nothing if there is none.
    "parallel for i in 0..n": (lambda n, m: n, lambda n, m: 2 * n, lambda n, m: clog(n) + 2),
    "parallel for i in m..n": (
        lambda n, m: max(0, n - m),
        lambda n, m: 2 * max(0, n - m),
        lambda n, m: clog(n - m) + 2 if n > m else 0,
    ),
    "parallel for i in 0..0": trips(lambda n, m: 0),
    "parallel for i in 0..n step 2": (
        lambda n, m: -(-n // 2), lambda n, m: 2 * -(-n // 2), lambda n, m: clog(-(-n // 2)) + 2,
    ),
}  # fmt: skip


@pytest.mark.parametrize("head", RANGES)
def test_ranges(head: str) -> None:
    assert_exact(derived(head + ":" + ONE), RANGES[head], SIZES)


def test_the_right_side_is_evaluated_where_the_left_does_not_decide() -> None:
    for condition in ("i > 0 and x[i - 1] > 9.0", "i == 0 or x[i - 1] > 9.0"):
        costs = derived(f"for i in 0..n:\n    if {condition}:\n        pass")
        assert_exact(costs, (lambda n, m: n - 1, *(2 * [lambda n, m: 2 * n + n - 1])), SIZES)


def bounded(low: Count, high: Count) -> tuple[Count, Count]:
    """Bounds on one metric."""
    return low, high


# Each entry: bounds on flops, work and span, the 1 of the outermost call left out.
DATA = {
    # 1 comparison, then 0 or 1 flop, n times.
    "for i in 0..n:\n    if x[i] < 0.0:\n        x[i] += 1.0": (
        bounded(lambda n, m: n, lambda n, m: 2 * n),
        *(2 * [bounded(lambda n, m: 3 * n, lambda n, m: 4 * n)]),
    ),
    # The cheaper and the dearer of two branches: 1 and 2 flops.
    "if x[0] < 0.0:\n    x[0] += 1.0\nelse:\n    x[0] += x[0]*x[0]": (
        bounded(lambda n, m: 2, lambda n, m: 3),
        *(2 * [bounded(lambda n, m: 3, lambda n, m: 4)]),
    ),
    # First branch: 2 flops. Else a second comparison with its test, and 3 flops or none: 1 to 2 or 1 to 4.
    "if x[0] < 0.0:\n    x[0] = x[0] + 1.0 + 1.0\nelif x[0] < 1.0:\n    x[0] += x[0] + x[0] + 1.0": (
        bounded(lambda n, m: 2, lambda n, m: 5),
        *(2 * [bounded(lambda n, m: 4, lambda n, m: 7)]),
    ),
    # The second comparison and the branch may both be passed over.
    "if x[0] > 9.0 and x[1] > 9.0:\n    x[0] += 1.0": (
        bounded(lambda n, m: 1, lambda n, m: 3),
        *(2 * [bounded(lambda n, m: 2, lambda n, m: 4)]),
    ),
    # A test on int data: 1 for the operator, 1 for the test, no flop; n or m iterations.
    "if k[0] == 0:\n    for i in 0..n:\n        x[0] += 1.0\nelse:\n    for i in 0..m:\n        x[0] += 1.0": (
        bounded(lambda n, m: min(n, m), lambda n, m: max(n, m)),
        *(2 * [bounded(lambda n, m: 2 + 2 * min(n, m), lambda n, m: 2 + 2 * max(n, m))]),
    ),
    # An empty loop has no span at all; an iteration takes 1, a test and a comparison, then 0 or 1.
    "parallel for i in m..n:\n    if x[i] < 0.0:\n        x[i] += 1.0": (
        bounded(lambda n, m: max(0, n - m), lambda n, m: 2 * max(0, n - m)),
        bounded(lambda n, m: 3 * max(0, n - m), lambda n, m: 4 * max(0, n - m)),
        bounded(lambda n, m: clog(n - m) + 3 if n > m else 0, lambda n, m: clog(n - m) + 4 if n > m else 0),
    ),
    # A while: one test at least; at most m times iteration, body and test again: 1 + 1 + 2.
    "local i: int = k[0]\nwhile i < m at most m times:\n    i += 1": (
        bounded(lambda n, m: 0, lambda n, m: 0),
        *(2 * [bounded(lambda n, m: 2, lambda n, m: 2 + 4 * m)]),
    ),
}  # fmt: skip


def assert_bounds(costs: Costs, expected: tuple[tuple[Count, Count], ...], sizes: list[dict[str, int]]) -> None:
    for metric, (low, high), start in zip(METRICS, expected, (0, 1, 1), strict=True):
        for each in sizes:
            assert bounds(costs[metric], each) == (low(**each) + start, high(**each) + start), (metric, each)


# How often a while is entered at most: a bound that is not whole counts as its floor; roots and logarithms that do not
# stand alone are rounded one by one, those of 2 and 3 to 2.
WHILES: dict[str, Count] = {
    "log2(m)": lambda n, m: m.bit_length() - 1,
    "log2(m) + n": lambda n, m: m.bit_length() - 1 + n,
    "sqrt(m) + 1": lambda n, m: isqrt(m) + 1,
    "3*sqrt(m) + n": lambda n, m: 3 * (isqrt(m - 1) + 1) + n,
    "n + sqrt(m)/2": lambda n, m: n + Fraction(isqrt(m - 1) + 1, 2),
    "n - 3*sqrt(m)": lambda n, m: max(0, n - 3 * isqrt(m)),
    "n - sqrt(m)/2": lambda n, m: n - Fraction(isqrt(m), 2),
    "n - log2(m)/2": lambda n, m: n - Fraction(m.bit_length() - 1, 2),
    "n - 2*log2(m)": lambda n, m: max(0, n - 2 * (m.bit_length() - 1)),
    "3*log2(m)": lambda n, m: 3 * clog(m),
    "n - m": lambda n, m: max(0, n - m),
}


@pytest.mark.parametrize("most", WHILES)
def test_a_while_is_entered_so_often_at_most(most: str) -> None:
    """At least its test, of a comparison; each time an iteration, a flop, and the test again."""
    times = WHILES[most]
    expected = (
        bounded(lambda n, m: 1, lambda n, m: 1 + 2 * times(n, m)),
        *(2 * [bounded(lambda n, m: 2, lambda n, m: 2 + 4 * times(n, m))]),
    )
    assert_bounds(derived(f"while x[0] < 1.0 at most {most} times:" + ONE), expected, SIZES)


# A division by m - 1 is derived where m >= 2 is known there, and only there.
KNOWS = [
    "if m > 1:\n    {}", "if m >= 2:\n    {}", "if m == 3:\n    {}", "if n >= 1 and m > 1:\n    {}",
    "if m > 1 and n > 1:\n    {}", "if not (m <= 1):\n    {}", "if not (m < 2):\n    {}", "if 1 < m:\n    {}",
    "if m < 2:\n    pass\nelse:\n    {}", "if m <= 1:\n    pass\nelse:\n    {}", "if m != 2:\n    pass\nelse:\n    {}",
    "if not (m > 1):\n    pass\nelse:\n    {}", "if m < 2 or n < 2:\n    pass\nelse:\n    {}",
    "if n < 2 or m < 2:\n    pass\nelse:\n    {}", "if n > 3:\n    pass\nelif m > 1:\n    {}", "if 2*m > 3:\n    {}",
    "assume m >= 2\n{}", "assume n >= 1, m >= 2\n{}", "for i in 2..m:\n    {}", "for i in 1..m:\n    {}",
    "for i in m downto 2:\n    {}", "assume m >= 2\nlet q = m - 1\nfor j in 0..n//q:\n    pass",
]  # fmt: skip
KNOWS_NOT = [
    "{}", "if m >= 1:\n    {}", "if m > 0:\n    {}", "if m <= 2:\n    {}", "if m < 2:\n    {}", "if m != 1:\n    {}",
    "if not (m > 1):\n    {}", "if n > 1:\n    {}", "if n > 1 or m > 1:\n    {}", "if m > 1:\n    pass\nelse:\n    {}",
    "if m < 2 and n < 2:\n    pass\nelse:\n    {}", "if m > 1:\n    pass\n{}", "for i in 0..m:\n    {}",
    "assume m >= 1\n{}", "if 2*m >= 2:\n    {}", "if m > 1:\n    assume n > 1\n{}",
]  # fmt: skip


@pytest.mark.parametrize("frame", [*KNOWS, *KNOWS_NOT])
def test_what_is_known_where(frame: str) -> None:
    indent = " " * (len(frame.rsplit("\n", 1)[-1]) - 2)
    costs = derived(frame.format(f"for j in 0..n//(m - 1):\n{indent}    pass"))
    assert (costs["work"].status != "unknown") == (frame in KNOWS)


@pytest.mark.parametrize("body", DATA)
def test_what_the_data_decides_lies_between_bounds(body: str) -> None:
    assert_bounds(derived(body), DATA[body], SIZES)
    assert derived(body)["work"].status == "bounded"


LOOP = "for i in 0..n:\n    x[i] += 1.0"
# What is spawned runs beside what follows, up to a sync, the end of an iteration of a parallel loop or of a block with a
# local array; scalar arguments are evaluated before.
SPAWNS = [
    "leaf(x[0..m])",
    "count(x, n*m)",
    "for i in 0..n:\n    count(x, i + 1)",
    "x[0] = total(x)",
    "leaf(x[0..m])\nsync\nleaf(x)",
    "spawn leaf(x[0..m])",
    f"spawn leaf(x[0..m])\n{LOOP}",
    f"spawn leaf(x[0..m])\nsync\n{LOOP}",
    f"{LOOP}\nspawn leaf(x[0..m])\nsync",
    "spawn leaf(x[0..m])\nspawn leaf(x)",
    f"spawn leaf(x[0..m])\nspawn leaf(x)\nsync\n{LOOP}",
    f"spawn scale(x[0..m], x[0] + x[1])\n{LOOP}",
    "for i in 0..n:\n    spawn unit(x)",
    "for i in 0..n:\n    spawn unit(x)\nsync\nfor i in 0..m:\n    x[0] += 1.0",
    "for i in 0..n:\n    spawn leaf(x[0..i + 1])",
    "for i in 0..n:\n    spawn leaf(x[i..n])",
    "for i in 0..n:\n    spawn leaf(x)\n    for j in 0..m:\n        x[0] += 1.0",
    "for i in 0..n:\n    for j in 0..m:\n        spawn unit(x)",
    "for i in 0..n:\n    for j in 0..m:\n        spawn leaf(x)",
    "for i in 0..n:\n    spawn leaf(x[0..m])\n    sync",
    "for i in 0..n:\n    local W: real[m]\n    spawn leaf(x[0..m])",
    "for i in 0..n:\n    local t: real = 0\n    spawn unit(x)",
    "parallel for i in 0..n:\n    spawn leaf(x[0..m])",
    "parallel for i in 0..n:\n    spawn leaf(x[0..m])\n    leaf(x)",
    f"if n > 3:\n    spawn leaf(x[0..m])\n{LOOP}",
    "spawn leaf(x[0..m])\nif n > 3:\n    sync\n    x[0] += 1.0\nelse:\n    sync\n    x[0] += 1.0",
    f"spawn leaf(x[0..m])\nparallel {LOOP}",
    "spawn leaf(x[0..m])\nx[0..n] = 0.0",
]
UNCERTAIN = [
    "spawn leaf(x[0..m])\nfor i in 0..n:\n    sync\n    x[i] += 1.0",
    "spawn leaf(x[0..m])\nfor i in 3..n:\n    sync\n    x[i] += 1.0",
    f"spawn leaf(x[0..m])\nif n > 3:\n    sync\n{LOOP}",
    "for i in 0..n:\n    sync\n    spawn leaf(x[0..m])",
]
"""A sync that may come at once or later: bounds."""


@pytest.mark.parametrize("body", [*SPAWNS, *UNCERTAIN])
def test_calls_and_spawns(body: str) -> None:
    """What runs count, exactly but where a sync is at an unknown distance."""
    costs = derived(body)
    module = load_text(text_of(body))
    algorithm = module.algorithms["f"]
    assert body in UNCERTAIN or all(cost.exact for cost in costs)
    for n, m in ((2, 1), (3, 2), (3, 3), (4, 2), (6, 5), (9, 9)):
        arguments = {"x": np.ones(n), "k": np.ones(n, int), "m": m}
        assert_agreement(costs, execute(module, algorithm, arguments, compiled=False, races=False), body)


# Sparse structure: n, nz, nr, m given freely as the declarations allow.
SPARSE_SIZES = [
    {"n": n, "nz": nz, "nr": nr, "m": m}
    for n, nz, nr, m in product((1, 2, 4), (2, 4), (1, 2, 4), (1, 3))
    if nr <= nz <= n * nr
]


# Iterations by the data, each one flop: from `low` to `high`.
BY_DATA = {
    "for e in ptr[k]..ptr[k + 1]": (lambda n, nz, nr, m: 0, lambda n, nz, nr, m: min(nr, nz)),
    "for e in ptr[k]..ptr[k + 2]": (lambda n, nz, nr, m: 0, lambda n, nz, nr, m: nz),
    "for e in ptr[1]..ptr[3]": (lambda n, nz, nr, m: 0, lambda n, nz, nr, m: min(2 * nr, nz)),
    "for e in ptr[m]..ptr[m + 2]": (lambda n, nz, nr, m: 0, lambda n, nz, nr, m: min(2 * nr, nz)),
    # A segment between sizes of which either may be the larger.
    "for e in ptr[m]..ptr[n]": (lambda n, nz, nr, m: 0, lambda n, nz, nr, m: nz),
    "for e in ptr[col[0]]..ptr[col[0] + 1]": (lambda n, nz, nr, m: 0, lambda n, nz, nr, m: min(nr, nz)),
    "for j in 0..col[0]": (lambda n, nz, nr, m: 0, lambda n, nz, nr, m: m - 1),
    "for j in col[0]..m": (lambda n, nz, nr, m: 1, lambda n, nz, nr, m: m),
    "for j in col[0] downto 0": (lambda n, nz, nr, m: 1, lambda n, nz, nr, m: m),
    "for j in col[0] downto 1": (lambda n, nz, nr, m: 0, lambda n, nz, nr, m: m - 1),
    "for j in m downto col[0]": (lambda n, nz, nr, m: 2, lambda n, nz, nr, m: m + 1),
    "for j in col[0]..col[1]": (lambda n, nz, nr, m: 0, lambda n, nz, nr, m: m - 1),
    "for j in 0..ptr[1]": (lambda n, nz, nr, m: 0, lambda n, nz, nr, m: nz),
    # Offsets begin with 0.
    "for j in ptr[0]..nz + 2": (lambda n, nz, nr, m: nz + 2, lambda n, nz, nr, m: nz + 2),
}


@pytest.mark.parametrize("head", BY_DATA)
def test_iterations_that_the_data_gives(head: str) -> None:
    low, high = BY_DATA[head]
    costs = derived(head + ":" + ONE, SPARSE)
    # Bounds read from the arrays cost an int operator each where they have one.
    operators = head.count("k + ") + head.count("] + 1]")
    for each in SPARSE_SIZES:
        assert bounds(costs["flops"], each) == (low(**each), high(**each)), each
        least, most = bounds(costs["work"], each)
        assert (least, most) == (1 + operators + 2 * low(**each), 1 + operators + 2 * high(**each)), each


def test_calls_at_sizes_that_only_the_data_gives() -> None:
    costs = derived("leaf(x[0..k[0]])", "x: inout real[n], k: int[1]")
    assert {cost.status for cost in costs} == {"unknown"}
    assert "a data-dependent size of `leaf`" in (costs["work"].reason or "")


def test_zero_sizes() -> None:
    """Sizes from 0 on: a parallel loop of no iterations costs nothing."""
    costs = derived("parallel for i in 0..n:" + ONE, "x: inout real[n + 1], n: size, m: size", "where n >= 0")
    expected = (lambda n, m: n, lambda n, m: 2 * n, lambda n, m: clog(n) + 2 if n else 0)
    assert_exact(costs, expected, [{"n": n, "m": 1} for n in range(6)])
    even = derived("parallel for i in 0..n:" + ONE, "x: inout real[n + 1], n: size", "where n >= 0, 2 divides n")
    assert_exact(even, expected, [{"n": n, "m": 1} for n in range(0, 8, 2)])


def test_declared_costs() -> None:
    costs = derived("costs 3*n flops, m work, 2 span, 5 io")
    assert_exact(costs, (lambda n, m: 3 * n, lambda n, m: 3 * n + m, lambda n, m: 3 * n + 2), SIZES)
    assert {cost.status for cost in costs} == {"declared"}
    assert costs["work"].declared == ("costs at line 19",)
    assert [cost.metric for cost in costs.flops_by_kind.values()] == ["flops.declared"]


def test_what_is_taken_on_trust_in_a_branch() -> None:
    for body in ("if n > 3:\n    costs 2 flops\nelse:\n    x[0] += 1.0", "if x[0] > 3.0:\n    costs 2 flops"):
        assert derived(body)["flops"].declared == ("costs at line 20",)
        assert derived(body + "\nx[0] += 1.0")["work"].status == "declared"
        assert derived(f"x[0] += 1.0\nfor i in 0..n:\n    pass\n{body}")["work"].declared == ("costs at line 23",)


def test_declared_costs_of_externs() -> None:
    costs = derived("for i in 0..n:\n    x[i] = g(x[i]) + 1.0")
    sizes = [{**each, "c": c} for each in SIZES for c in (1, 7)]
    assert_exact(costs, (lambda n, m, c: n * (c + 1), *(2 * [lambda n, m, c: n * (c + 2)])), sizes)
    assert costs["flops"].status == "declared"
    assert costs["flops"].declared == ("extern g",)


UNKNOWN = {
    "parallel for i in 0..n step m - 1:\n    x[i] += 1.0": ("step is not known to be positive", 19),
    "x[0] = 1\nfor i in 0..n step m - 1:\n    x[0] += 1.0": ("step is not known to be positive", 20),
    "x[0] = 1\n\nx[0..m^n] = 0.0": ("extent of this assignment", 21),
    "while x[0] < 1.0 at most n//(m - 1) times:\n    pass": ("the bound of this while", 19),
    "for i in 0..n//(m - 1):\n    pass": ("not known to be positive", 19),
    "for i in 0..floor(n/(m - 1)):\n    pass": ("not known to be positive", 19),
    "x[0] = 1\nfor i in 0..n % (m - 1):\n    pass": ("not known to be positive", 20),
    "parallel for i in m..n:\n    parallel for j in 0..n//(m - 1):\n        atomic x[0] += 1.0": (
        "not known to be positive",
        20,
    ),
    "if x[0] > 0.0:\n    parallel for j in 0..n//(m - 1):\n        atomic x[0] += 1.0": (
        "not known to be positive",
        20,
    ),
    "if n > m:\n    pass\nelse:\n    parallel for j in 0..n//(m - 1):\n        atomic x[0] += 1.0": (
        "not known to be positive",
        22,
    ),
    "while x[0] < 1.0 at most n times:\n    parallel for j in 0..n//(m - 1):\n        atomic x[0] += 1.0": (
        "not known to be positive",
        20,
    ),
    "for i in 0..m^n:\n    pass": ("a power with a symbolic base and exponent", 19),
    "for i in 0..m^(-1):\n    pass": ("a power", 19),
    "for i in 0..0^m:\n    pass": ("a power with a symbolic base and exponent", 19),
    "for i in 0..1 + (-1)^m:\n    pass": ("a power with a symbolic base and exponent", 19),
}


@pytest.mark.parametrize("body", UNKNOWN)
def test_what_cannot_be_derived_is_unknown_with_a_reason_and_a_line(body: str) -> None:
    reason, line = UNKNOWN[body]
    for cost in derived(body):
        assert cost.status == "unknown"
        assert cost.lower is None
        assert cost.upper is None
        assert any(part in (cost.reason or "") for part in reason.split("|")), cost.reason
        assert cost.span.line == line


def test_assumptions_are_listed() -> None:
    body = "assume n >= m\nfor i in 0..n:\n    assume n <= 9\n    if i > 2:\n        assume m <= 7"
    assert derived(body, where="where n >= 1").assumptions == (
        "n >= 1",
        "n >= m (assumed at line 20)",
        "n <= 9 (assumed at line 22)",
        "m <= 7 (assumed at line 24)",
    )
    assert derived(body, where="where n >= 1").parameters == ("n", "m")
