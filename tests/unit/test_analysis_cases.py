"""Derived costs of small programs, worked out by hand from the cost table (docs/reference/cost-rules.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from math import ceil, isqrt

import pytest

from archline.algebra.evaluate.exact import evaluate
from archline.algebra.polynomial import Poly
from archline.analysis.analyse import InvariantError, derive
from archline.analysis.analyse import _assert_invariants as assert_invariants
from archline.analysis.analyse import _assert_ordered as assert_ordered
from archline.analysis.cost import Cost, Costs
from archline.ir.declarations import declared
from archline.language.loader import load_text
from effort import long

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
    lines = "\n".join("    " + line for line in ([where] if where else []) + body.split("\n"))
    module = load_text(f"{CALLEES}algorithm f({header}):\n{lines}\n")
    return derive(module, module.algorithms["f"])


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
    # Whole arrays: the loop nest over their elements.
    "local W: real[m] = 0": free(lambda n, m: m),
    "local W: real[m]": free(lambda n, m: 0),
    "local W: real[2, m] = 0": free(lambda n, m: 2 + 2 * m),
    "local W: real[m, 2] = 0": free(lambda n, m: m + 2 * m),
    # A scalar right side is evaluated once.
    "local W: real[m] = x[0]*x[1]": (lambda n, m: 1, lambda n, m: 1 + m, lambda n, m: 1 + m),
    "local W: real[n] = x": free(lambda n, m: n),
    "x[0..n] = x[0] + 1.0": (lambda n, m: 1, lambda n, m: 1 + n, lambda n, m: 1 + n),
    "x[m..n] = 1.5": free(lambda n, m: max(0, n - m)),
    "x[0..n step 2] = 1.5": free(lambda n, m: ceil(n / 2)),
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


def nested(inner: Count) -> tuple[Count, Count, Count]:
    """n outer iterations, `inner` inner ones together, each one flop."""
    return inner, *(2 * [lambda **sizes: sizes["n"] + 2 * inner(**sizes)])


NESTS = {
    "for i in 0..n:\n    for j in 0..i:\n        x[0] += 1.0": nested(lambda n, m: n * (n - 1) // 2),
    "for i in 0..n:\n    for j in i..n:\n        x[0] += 1.0": nested(lambda n, m: n * (n + 1) // 2),
    "for i in n downto 1:\n    for j in 0..i:\n        x[0] += 1.0": nested(lambda n, m: n * (n + 1) // 2),
    "for i in 0..n:\n    for j in i downto 0:\n        x[0] += 1.0": nested(lambda n, m: n * (n + 1) // 2),
    "for i in 0..n:\n    for j in 0..m:\n        x[0] += 1.0": nested(lambda n, m: n * m),
    "for i in 0..n:\n    for j in m..i:\n        x[0] += 1.0": nested(
        lambda n, m: sum(max(0, i - m) for i in range(n))
    ),
    "for i in 0..n:\n    for j in 0..i step 2:\n        x[0] += 1.0": nested(
        lambda n, m: sum((i + 1) // 2 for i in range(n))
    ),
    "for i in 0..2*n step 2:\n    for j in 0..i:\n        x[0] += 1.0": nested(lambda n, m: n * (n - 1)),
    "for i in 2*n downto 1 step 2:\n    for j in 0..i:\n        x[0] += 1.0": nested(lambda n, m: n * (n + 1)),
    "for i in 0..n:\n    let q = i + 1\n    for j in 0..q:\n        x[0] += 1.0": nested(lambda n, m: n * (n + 1) // 2),
    # The longest iteration is the last, of 1 + 2(n - 1).
    "parallel for i in 0..n:\n    for j in 0..i:\n        x[0] += 1.0": (
        lambda n, m: n * (n - 1) // 2, lambda n, m: n * n, lambda n, m: clog(n) + 1 + 2 * (n - 1),
    ),
    # The first is: 1 + 2n.
    "parallel for i in 0..n:\n    for j in i..n:\n        x[0] += 1.0": (
        lambda n, m: n * (n + 1) // 2, lambda n, m: n + n * (n + 1), lambda n, m: clog(n) + 1 + 2 * n,
    ),
    "parallel for i in 0..n:\n    parallel for j in 0..m:\n        x[0] += 1.0": (
        lambda n, m: n * m, lambda n, m: n + 2 * n * m, lambda n, m: clog(n) + 1 + clog(m) + 2,
    ),
    "for i in 0..n:\n    parallel for j in 0..m:\n        x[0] += 1.0": (
        lambda n, m: n * m, lambda n, m: n + 2 * n * m, lambda n, m: n * (1 + clog(m) + 2),
    ),
    # In the body there is one iteration at least, and no more is known.
    "for i in m..n:\n    if n > m + 1:\n        x[0] += 1.0": (
        lambda n, m: n - m if n > m + 1 else 0,
        *(2 * [lambda n, m: 3 * (n - m) if n > m + 1 else 2 * max(0, n - m)]),
    ),
    # Nor is there more here: of m - 1 iterations none at m = 1, one at m = 2.
    "for i in 0..m - 1:\n    if m > 2:\n        x[0] += 1.0": (
        lambda n, m: m - 1 if m > 2 else 0, *(2 * [lambda n, m: (3 if m > 2 else 2) * (m - 1)]),
    ),
    # Two loops at one level: the second variable of the same name starts afresh.
    "for i in 0..n:\n    x[0] += 1.0\nfor i in 0..m:\n    x[0] += 1.0": trips(lambda n, m: n + m),
}  # fmt: skip


@pytest.mark.parametrize("body", NESTS)
def test_nests(body: str) -> None:
    assert_exact(derived(body), NESTS[body], SIZES)


def guarded(held: Callable[[int, int, int], bool]) -> tuple[Count, Count, Count]:
    """n iterations with one test each, and one flop where the guard holds."""

    def flops(n: int, m: int) -> int:
        return sum(held(i, n, m) for i in range(n))

    return flops, *(2 * [lambda n, m: 2 * n + flops(n, m)])


GUARDS = {
    "i < m": guarded(lambda i, n, m: i < m),
    "i <= m": guarded(lambda i, n, m: i <= m),
    "i > m": guarded(lambda i, n, m: i > m),
    "i >= m": guarded(lambda i, n, m: i >= m),
    "i == m": guarded(lambda i, n, m: i == m),
    "i != m": guarded(lambda i, n, m: i != m),
    "m - i > 1": guarded(lambda i, n, m: m - i > 1),
    "not (i < m)": guarded(lambda i, n, m: i >= m),
    "not i == 1": guarded(lambda i, n, m: i != 1),
    "i >= 1 and i < m": guarded(lambda i, n, m: 1 <= i < m),
    "i < 1 or i >= m": guarded(lambda i, n, m: i < 1 or i >= m),
    "i < 3 or i < m": guarded(lambda i, n, m: i < 3 or i < m),
    "i < floor(sqrt(n))": guarded(lambda i, n, m: i < isqrt(n)),
    "i < ceil(log2(m))": guarded(lambda i, n, m: i < clog(m)),
    "i % 2 == 0": guarded(lambda i, n, m: i % 2 == 0),
    "2*i < n": guarded(lambda i, n, m: 2 * i < n),
    "n > 3": guarded(lambda i, n, m: n > 3),
    "i < n": guarded(lambda i, n, m: True),
    "i < 0": guarded(lambda i, n, m: False),
}


@pytest.mark.parametrize("guard", GUARDS)
def test_guards_on_indices(guard: str) -> None:
    assert_exact(derived(f"for i in 0..n:\n    if {guard}:\n        x[0] += 1.0"), GUARDS[guard], SIZES)


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
    "local i: int = 0\nwhile i < m at most m times:\n    i += 1": (
        bounded(lambda n, m: 0, lambda n, m: 0),
        *(2 * [bounded(lambda n, m: 2, lambda n, m: 2 + 4 * m)]),
    ),
    # A bound that is not whole counts as its floor.
    "while x[0] < 1.0 at most log2(m) times:\n    x[0] += 1.0": (
        bounded(lambda n, m: 1, lambda n, m: 1 + 2 * (m.bit_length() - 1)),
        *(2 * [bounded(lambda n, m: 2, lambda n, m: 2 + 4 * (m.bit_length() - 1))]),
    ),
    "while x[0] < 1.0 at most log2(m) + n times:\n    x[0] += 1.0": (
        bounded(lambda n, m: 1, lambda n, m: 1 + 2 * (m.bit_length() - 1 + n)),
        *(2 * [bounded(lambda n, m: 2, lambda n, m: 2 + 4 * (m.bit_length() - 1 + n))]),
    ),
    "while x[0] < 1.0 at most sqrt(m) + 1 times:\n    x[0] += 1.0": (
        bounded(lambda n, m: 1, lambda n, m: 1 + 2 * (isqrt(m) + 1)),
        *(2 * [bounded(lambda n, m: 2, lambda n, m: 2 + 4 * (isqrt(m) + 1))]),
    ),
    # Roots and logs that do not stand alone are rounded up one by one, those of 2 and 3 to 2.
    "while x[0] < 1.0 at most 3*sqrt(m) + n times:\n    x[0] += 1.0": (
        bounded(lambda n, m: 1, lambda n, m: 1 + 2 * (3 * (isqrt(m - 1) + 1) + n)),
        *(2 * [bounded(lambda n, m: 2, lambda n, m: 2 + 4 * (3 * (isqrt(m - 1) + 1) + n))]),
    ),
    "while x[0] < 1.0 at most n + sqrt(m)/2 times:\n    x[0] += 1.0": (
        bounded(lambda n, m: 1, lambda n, m: 1 + 2 * n + isqrt(m - 1) + 1),
        *(2 * [bounded(lambda n, m: 2, lambda n, m: 2 + 4 * n + 2 * (isqrt(m - 1) + 1))]),
    ),
    "while x[0] < 1.0 at most n - 3*sqrt(m) times:\n    x[0] += 1.0": (
        bounded(lambda n, m: 1, lambda n, m: 1 + 2 * max(0, n - 3 * isqrt(m))),
        *(2 * [bounded(lambda n, m: 2, lambda n, m: 2 + 4 * max(0, n - 3 * isqrt(m)))]),
    ),
    "while x[0] < 1.0 at most n - sqrt(m)/2 times:\n    x[0] += 1.0": (
        bounded(lambda n, m: 1, lambda n, m: 1 + 2 * n - isqrt(m)),
        *(2 * [bounded(lambda n, m: 2, lambda n, m: 2 + 4 * n - 2 * isqrt(m))]),
    ),
    "while x[0] < 1.0 at most n - log2(m)/2 times:\n    x[0] += 1.0": (
        bounded(lambda n, m: 1, lambda n, m: 1 + 2 * n - (m.bit_length() - 1)),
        *(2 * [bounded(lambda n, m: 2, lambda n, m: 2 + 4 * n - 2 * (m.bit_length() - 1))]),
    ),
    "while x[0] < 1.0 at most n - 2*log2(m) times:\n    x[0] += 1.0": (
        bounded(lambda n, m: 1, lambda n, m: 1 + 2 * max(0, n - 2 * (m.bit_length() - 1))),
        *(2 * [bounded(lambda n, m: 2, lambda n, m: 2 + 4 * max(0, n - 2 * (m.bit_length() - 1)))]),
    ),
    "while x[0] < 1.0 at most 3*log2(m) times:\n    x[0] += 1.0": (
        bounded(lambda n, m: 1, lambda n, m: 1 + 6 * clog(m)),
        *(2 * [bounded(lambda n, m: 2, lambda n, m: 2 + 12 * clog(m))]),
    ),
    "while x[0] < 1.0 at most n - m times:\n    x[0] += 1.0": (
        bounded(lambda n, m: 1, lambda n, m: 1 + 2 * max(0, n - m)),
        *(2 * [bounded(lambda n, m: 2, lambda n, m: 2 + 4 * max(0, n - m))]),
    ),
}  # fmt: skip


def assert_bounds(costs: Costs, expected: tuple[tuple[Count, Count], ...], sizes: list[dict[str, int]]) -> None:
    for metric, (low, high), start in zip(METRICS, expected, (0, 1, 1), strict=True):
        for each in sizes:
            assert bounds(costs[metric], each) == (low(**each) + start, high(**each) + start), (metric, each)


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
# A call of `leaf` on p elements: 1, then 2p beside what follows; flops p.
SPAWNS = {
    "leaf(x[0..m])": (lambda n, m: m, lambda n, m: 1 + 2 * m, lambda n, m: 1 + 2 * m),
    "count(x, n*m)": (lambda n, m: n * m, lambda n, m: 1 + 2 * n * m, lambda n, m: 1 + 2 * n * m),
    "for i in 0..n:\n    count(x, i + 1)": (lambda n, m: n * (n + 1) // 2, *(2 * [lambda n, m: 2 * n + n * (n + 1)])),
    "x[0] = total(x)": (lambda n, m: n, lambda n, m: 1 + 2 * n, lambda n, m: 1 + 2 * n),
    "leaf(x[0..m])\nsync\nleaf(x)": (lambda n, m: n + m, *(2 * [lambda n, m: 2 + 2 * m + 2 * n])),
    "spawn leaf(x[0..m])": (lambda n, m: m, lambda n, m: 1 + 2 * m, lambda n, m: 1 + 2 * m),
    f"spawn leaf(x[0..m])\n{LOOP}": (
        lambda n, m: n + m, lambda n, m: 1 + 2 * m + 2 * n, lambda n, m: 1 + 2 * max(m, n),
    ),
    f"spawn leaf(x[0..m])\nsync\n{LOOP}": (lambda n, m: n + m, *(2 * [lambda n, m: 1 + 2 * m + 2 * n])),
    f"{LOOP}\nspawn leaf(x[0..m])\nsync": (lambda n, m: n + m, *(2 * [lambda n, m: 1 + 2 * m + 2 * n])),
    "spawn leaf(x[0..m])\nspawn leaf(x)": (
        lambda n, m: n + m, lambda n, m: 2 + 2 * m + 2 * n, lambda n, m: max(1 + 2 * m, 2 + 2 * n),
    ),
    # The sync waits for the longer of the two; what follows starts there.
    f"spawn leaf(x[0..m])\nspawn leaf(x)\nsync\n{LOOP}": (
        lambda n, m: 2 * n + m, lambda n, m: 2 + 2 * m + 4 * n, lambda n, m: max(1 + 2 * m, 2 + 2 * n) + 2 * n,
    ),
    # Scalar arguments are evaluated before the fork.
    f"spawn scale(x[0..m], x[0] + x[1])\n{LOOP}": (
        lambda n, m: 1 + n + m, lambda n, m: 2 + 2 * m + 2 * n, lambda n, m: 2 + 2 * max(m, n),
    ),
    # Each iteration: 1, the call's 1, and its body's 1 beside what follows; the last one's body ends after the loop.
    "for i in 0..n:\n    spawn unit(x)": (lambda n, m: n, lambda n, m: 3 * n, lambda n, m: 2 * n + 1),
    # What is still running is joined behind the loop, then m iterations of 2.
    "for i in 0..n:\n    spawn unit(x)\nsync\nfor i in 0..m:\n    x[0] += 1.0": (
        lambda n, m: n + m, lambda n, m: 3 * n + 2 * m, lambda n, m: 2 * n + 1 + 2 * m,
    ),
    # Iteration i forks at 2(i + 1) and runs 2(i + 1): the last ends at 4n.
    "for i in 0..n:\n    spawn leaf(x[0..i + 1])": (
        lambda n, m: n * (n + 1) // 2, lambda n, m: 2 * n + n * (n + 1), lambda n, m: 4 * n,
    ),
    # It forks at 2(i + 1) and runs 2(n - i): all end at 2n + 2.
    "for i in 0..n:\n    spawn leaf(x[i..n])": (
        lambda n, m: n * (n + 1) // 2, lambda n, m: 2 * n + n * (n + 1), lambda n, m: 2 * n + 2,
    ),
    # It forks at 2(i + 1) and runs 4(n - i): the first ends last, at 2 + 4n.
    "for i in 0..n:\n    spawn leaf(x[2*i..2*n])": (
        lambda n, m: n * (n + 1), lambda n, m: 2 * n + 2 * n * (n + 1), lambda n, m: 2 + 4 * n,
    ),
    # An iteration forks at once, then does m iterations of 2 itself.
    "for i in 0..n:\n    spawn leaf(x)\n    for j in 0..m:\n        x[0] += 1.0": (
        lambda n, m: n * (n + m),
        lambda n, m: n * (2 + 2 * n + 2 * m),
        lambda n, m: (n - 1) * (2 + 2 * m) + 2 + max(2 * m, 2 * n),
    ),
    # Pending calls of an inner loop, then of the outer one.
    "for i in 0..n:\n    for j in 0..m:\n        spawn unit(x)": (
        lambda n, m: n * m, lambda n, m: n * (1 + 3 * m), lambda n, m: n * (1 + 2 * m) + 1,
    ),
    # Inner iteration j of outer i forks at i*(1 + 2m) + 1 + 2(j + 1) and runs 2n.
    "for i in 0..n:\n    for j in 0..m:\n        spawn leaf(x)": (
        lambda n, m: n * m * n, lambda n, m: n * (1 + m * (2 + 2 * n)), lambda n, m: n * (1 + 2 * m) + 2 * n,
    ),
    # A sync in every iteration leaves nothing pending.
    "for i in 0..n:\n    spawn leaf(x[0..m])\n    sync": (lambda n, m: n * m, *(2 * [lambda n, m: n * (2 + 2 * m)])),
    # So does the end of a block that holds a local array; a local scalar waits for nothing.
    "for i in 0..n:\n    local W: real[m]\n    spawn leaf(x[0..m])": (
        lambda n, m: n * m, *(2 * [lambda n, m: n * (2 + 2 * m)]),
    ),
    "for i in 0..n:\n    local t: real = 0\n    spawn unit(x)": (
        lambda n, m: n, lambda n, m: 3 * n, lambda n, m: 2 * n + 1,
    ),
    # An iteration of a parallel loop waits for what it spawned.
    "parallel for i in 0..n:\n    spawn leaf(x[0..m])": (
        lambda n, m: n * m, lambda n, m: n * (2 + 2 * m), lambda n, m: clog(n) + 2 + 2 * m,
    ),
    "parallel for i in 0..n:\n    spawn leaf(x[0..m])\n    leaf(x)": (
        lambda n, m: n * (n + m),
        lambda n, m: n * (3 + 2 * m + 2 * n),
        lambda n, m: clog(n) + 2 + max(2 * m, 1 + 2 * n),
    ),
    # A guard on a spawn: one test, then with the call beside the loop or without.
    f"if n > 3:\n    spawn leaf(x[0..m])\n{LOOP}": (
        lambda n, m: n + (n > 3) * m,
        lambda n, m: 1 + 2 * n + (n > 3) * (1 + 2 * m),
        lambda n, m: 2 + 2 * max(m, n) if n > 3 else 1 + 2 * n,
    ),
    # Both branches wait: the call of 2m beside the test, then 1 or 2 flops.
    "spawn leaf(x[0..m])\nif n > 3:\n    sync\n    x[0] += 1.0\nelse:\n    sync\n    x[0] += 1.0": (
        lambda n, m: m + 1, lambda n, m: 3 + 2 * m, lambda n, m: 1 + max(1, 2 * m) + 1,
    ),
    # A parallel loop beside a call.
    "spawn leaf(x[0..m])\nparallel for i in 0..n:\n    x[i] += 1.0": (
        lambda n, m: m + n, lambda n, m: 1 + 2 * m + 2 * n, lambda n, m: 1 + max(2 * m, clog(n) + 2),
    ),
    # A fill beside a call.
    "spawn leaf(x[0..m])\nx[0..n] = 0.0": (
        lambda n, m: m, lambda n, m: 1 + 2 * m + n, lambda n, m: 1 + max(2 * m, n),
    ),
}  # fmt: skip


@pytest.mark.parametrize("body", SPAWNS)
def test_calls_and_spawns(body: str) -> None:
    assert_exact(derived(body), SPAWNS[body], SIZES)


# True spans; where the analysis only bounds them, the bounds hold them, and lie no further off than said.
UNCERTAIN = {
    # The first iteration's sync waits for the call: the loop's other iterations follow.
    "spawn leaf(x[0..m])\nfor i in 0..n:\n    sync\n    x[i] += 1.0": (
        lambda n, m: max(2, 1 + 2 * m) + 1 + 2 * (n - 1), lambda n, m: 1 + 2 * m + 2 * n,
    ),
    # The same where the loop may be empty: then the call is joined at the end.
    "spawn leaf(x[0..m])\nfor i in 3..n:\n    sync\n    x[i] += 1.0": (
        lambda n, m: max(2, 1 + 2 * m) + 1 + 2 * (n - 4) if n > 3 else 1 + 2 * m,
        lambda n, m: 1 + 2 * m + 2 * max(0, n - 3),
    ),
    f"spawn leaf(x[0..m])\nif n > 3:\n    sync\n{LOOP}": (
        lambda n, m: 1 + 2 * m + 2 * n if n > 3 else 1 + max(2 * m, 1 + 2 * n), lambda n, m: 2 + 2 * m + 2 * n,
    ),
    # Each iteration joins what the one before left running, and leaves a call running itself.
    "for i in 0..n:\n    sync\n    spawn leaf(x[0..m])": (
        lambda n, m: 2 + 2 * m + (n - 1) * max(2, 1 + 2 * m), lambda n, m: n * (2 + 2 * m),
    ),
}  # fmt: skip


@pytest.mark.parametrize("body", UNCERTAIN)
def test_a_sync_at_an_unknown_distance(body: str) -> None:
    span, most = UNCERTAIN[body]
    for each in SIZES:
        low, high = bounds(derived(body)["span"], each)
        assert low - 1 <= span(**each) <= high - 1 <= most(**each), each
        assert low > 1


# Sparse structure: n, nz, nr, m given freely as the declarations allow.
SPARSE_SIZES = [
    {"n": n, "nz": nz, "nr": nr, "m": m}
    for n, nz, nr, m in product((1, 2, 4), (2, 4), (1, 2, 4), (1, 3))
    if nr <= nz <= n * nr
]
SEGMENTS = {
    "for i in 0..n:\n    for e in ptr[i]..ptr[i + 1]:\n        x[i] += 1.0": (
        lambda n, nz, nr, m: nz, *(2 * [lambda n, nz, nr, m: n + 2 * nz]),
    ),
    "parallel for i in 0..n:\n    for e in ptr[i]..ptr[i + 1]:\n        x[i] += 1.0": (
        lambda n, nz, nr, m: nz, lambda n, nz, nr, m: n + 2 * nz, lambda n, nz, nr, m: clog(n) + 1 + 2 * nr,
    ),
    "for e in ptr[0]..ptr[n]:\n    x[0] += 1.0": (lambda n, nz, nr, m: nz, *(2 * [lambda n, nz, nr, m: 2 * nz])),
    # An empty segment still costs its row's iteration; the body's inner loop runs m times for each entry.
    "for i in 0..n:\n    for e in ptr[i]..ptr[i + 1]:\n        for j in 0..m:\n            x[i] += 1.0": (
        lambda n, nz, nr, m: nz * m, *(2 * [lambda n, nz, nr, m: n + nz * (1 + 2 * m)]),
    ),
    "parallel for i in 0..n:\n    for e in ptr[i]..ptr[i + 1]:\n        parallel for j in 0..m:\n"
    "            x[i] += 1.0": (
        lambda n, nz, nr, m: nz * m,
        lambda n, nz, nr, m: n + nz * (1 + 2 * m),
        lambda n, nz, nr, m: clog(n) + 1 + nr * (1 + clog(m) + 2),
    ),
}  # fmt: skip


@pytest.mark.parametrize("body", SEGMENTS)
def test_segments(body: str) -> None:
    assert_exact(derived(body, SPARSE), SEGMENTS[body], SPARSE_SIZES)


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
    assert "a size of `leaf` that only the data gives" in (costs["work"].reason or "")


HILLIS_STEELE = """for l in 0..log2(n):
    let s = 2^l
    parallel for i in 0..n:
        if i >= s:
            x[i] += z[i - s]"""


def test_a_scan_by_doubling() -> None:
    """Round l adds at the n - 2^l places from 2^l on: n*log2(n) - (n - 1) flops (Hillis and Steele, CACM 29(12))."""
    costs = derived(HILLIS_STEELE, "x: inout real[n], z: real[n], m: size", "where n is power of 2")
    expected = (
        lambda n, m: n * clog(n) - n + 1,
        lambda n, m: clog(n) + 2 * n * clog(n) + n * clog(n) - n + 1,
        lambda n, m: clog(n) * (clog(n) + 1 + 1 + 1 + 1),
    )
    assert_exact(costs, expected, [{"n": 2**k, "m": 1} for k in range(9)])


@pytest.mark.parametrize(("base", "root"), [(4, "sqrt(n)"), (8, "2^(log2(n)/3)")])
def test_sizes_that_are_powers_are_written_as_such(base: int, root: str) -> None:
    costs = derived(
        f"for i in 0..n:\n    for j in 0..{root}:" + ONE.replace("    ", "        "),
        where=f"where n is power of {base}",
    )
    for k in range(4):
        n = base**k
        side = 2**k
        assert bounds(costs["flops"], {"n": n, "m": 1}) == (n * side, n * side)
    plain = derived("for i in 0..n:" + ONE, where=f"where n is power of {base}")
    assert plain["flops"].lower == Poly.symbol("n")


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


def test_every_name_of_a_declared_cost_is_a_symbol() -> None:
    text = "extern h(a: real) -> real costs 2*c + d flops\nalgorithm f(x: inout real[n]):\n    x[0] = h(x[0])\n"
    module = load_text(text)
    costs = derive(module, module.algorithms["f"])
    assert bounds(costs["flops"], {"n": 1, "c": 3, "d": 5}) == (11, 11)


def test_flops_by_kind() -> None:
    costs = derived("x[0] = (x[1] + x[2])*x[3] - 1\nx[1] max= x[2]\nif x[0] >= x[1]:\n    x[2] = sqrt(x[2])")
    found = {kind: bounds(cost, {"n": 4, "m": 1}) for kind, cost in costs.flops_by_kind.items()}
    assert found == {
        "add": (1, 1), "compare": (1, 1), "max": (1, 1), "mul": (1, 1), "sqrt": (0, 1), "sub": (1, 1),
    }  # fmt: skip


UNKNOWN = {
    "for i in 0..k[0]:\n    x[i] += 1.0": ("known only from the data|depends on the data", 19),
    "x[0] = 1\nfor i in 0..n step m - 1:\n    x[0] += 1.0": ("step is not known to be positive", 20),
    "x[0] = 1\n\nx[0..k[0]] = 0.0": ("extent of a whole-array assignment", 21),
    "while x[0] < 1.0 at most n//(m - 1) times:\n    pass": ("the bound of this while", 19),
    "for i in 0..n//(m - 1):\n    pass": ("not known to be positive", 19),
    "for i in 0..floor(n/(m - 1)):\n    pass": ("not known to be positive", 19),
    "x[0] = 1\nfor i in 0..n % (m - 1):\n    pass": ("not known to be positive", 20),
    "parallel for i in m..n:\n    for j in 0..k[0]:\n        x[0] += 1.0": ("depends on the data", 20),
    "if x[0] > 0.0:\n    for j in 0..k[0]:\n        x[0] += 1.0": ("depends on the data", 20),
    "if n > m:\n    pass\nelse:\n    for j in 0..k[0]:\n        x[0] += 1.0": ("depends on the data", 22),
    "while x[0] < 1.0 at most n times:\n    for j in 0..k[0]:\n        x[0] += 1.0": ("depends on the data", 20),
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


def test_an_unknown_part_leaves_no_kind_known() -> None:
    """The unknown loop may hold flops of any kind."""
    costs = derived("x[0] = x[1] + x[2]\nfor i in 0..k[0]:\n    x[i] += x[i]*x[i]")
    assert {cost.status for cost in costs.flops_by_kind.values()} == {"unknown"}


def test_what_is_too_large_is_unknown_with_a_reason() -> None:
    costs = derived("for i in 0..n:\n    for j in 0..i^50:\n        pass")
    assert {cost.status for cost in costs} == {"unknown"}
    assert "large" in (costs["work"].reason or "") or "degree" in (costs["work"].reason or "")


def test_a_count_without_a_closed_form_leaves_the_others_known() -> None:
    costs = derived("x[0] += 1.0\nfor i in 0..n:\n    costs i^60 work")
    assert bounds(costs["flops"], {"n": 4, "m": 1}) == (1, 1)
    assert costs["work"].status == "unknown"
    assert "degree" in (costs["work"].reason or "")
    assert costs["work"].span.line == 20


@long
def test_recursion_that_does_not_shrink_by_its_sizes_is_unknown_with_a_reason() -> None:
    text = "algorithm f(x: inout real[n], k: index):\n    where k >= 0\n    decreases k\n    if k > 0:\n        f(x, k - 1)\n"
    module = load_text(text + "        f(x, k//2)\n")
    costs = derive(module, module.algorithms["f"])
    assert {costs[metric].status for metric in ("work", "span")} == {"unknown"}
    assert "recursion of `f`" in (costs["work"].reason or "")


def test_assumptions_are_listed() -> None:
    body = "assume n >= m\nfor i in 0..n:\n    assume n <= 9\n    if i > 2:\n        assume m <= 7"
    assert derived(body, where="where n >= 1").assumptions == (
        "n >= 1",
        "n >= m (assumed at line 20)",
        "n <= 9 (assumed at line 22)",
        "m <= 7 (assumed at line 24)",
    )
    assert derived(body, where="where n >= 1").parameters == ("n", "m")


def test_invariants_are_asserted_at_small_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the least sizes and above them, where the `where` holds; nowhere if something else may refuse the sizes."""
    points: list[dict[str, int]] = []
    monkeypatch.setattr("archline.analysis.analyse._assert_ordered", lambda costs, point: points.append(dict(point)))

    def asserted(text: str) -> list[dict[str, int]]:
        points.clear()
        module = load_text(text)
        derive(module, module.algorithms["f"])
        return list(points)

    start = "algorithm f(x: inout real[n], m: size):\n"
    least, *more = asserted(start + "    where m >= 2\n    x[0] = 1\n")
    assert least == {"n": 1, "m": 2}
    assert more
    assert all(point["n"] > 1 and point["m"] > 2 for point in more)
    assert asserted(start + "    where m <= 1\n    x[0] = 1\n") == [{"n": 1, "m": 1}]
    assert asserted(start + "    x[0] = sqrt(x[0])\n")
    for refusing in ("assume n >= 1", "f2(x)", "for i in 0..n/2:\n        pass"):
        callee = "algorithm f2(x: inout real[n]):\n    pass\n"
        assert asserted(callee + start + f"    {refusing}\n") == []


def test_a_cost_in_something_else_than_its_sizes_is_a_defect() -> None:
    module = load_text("algorithm f(x: inout real[n]):\n    x[0] = 1\n")
    costs = derive(module, module.algorithms["f"])
    scope = declared(module, module.algorithms["f"])
    assert_invariants(costs, module, module.algorithms["f"], scope)
    stray = replace(costs["flops"], lower=Poly.symbol("stray"))
    with pytest.raises(InvariantError, match="stray"):
        assert_invariants(
            replace(costs, metrics={**costs.metrics, "flops": stray}), module, module.algorithms["f"], scope
        )


def test_a_cost_without_a_value_at_some_sizes_is_derived() -> None:
    """There is no logarithm at n = 0, which the `where` allows."""
    costs = derived("costs log2(n) + 1 flops", "x: inout real[n + 1], n: size", "where n >= 0")
    assert bounds(costs["flops"], {"n": 8}) == (4, 4)


# What the invariants refuse, for `for i in 0..n: x[i] += 1.0`: flops n, work and span 1 + 2n.
BROKEN = {
    "negative": {"flops": (-1, 5)},
    "crossed": {"flops": (5, 4)},
    "no span": {"span": (0, 0)},
    "no least span": {"span": (0, 5)},
    "span beyond work": {"work": (7, 7), "span": (8, 8)},
}


def altered(changes: Mapping[str, tuple[int, int]]) -> Costs:
    costs = derived(LOOP)
    metrics = {
        metric: replace(cost, lower=Poly.constant(changes[metric][0]), upper=Poly.constant(changes[metric][1]))
        if metric in changes
        else cost
        for metric, cost in costs.metrics.items()
    }
    return replace(costs, metrics=metrics)


@pytest.mark.parametrize("changes", BROKEN.values(), ids=BROKEN)
def test_invariants_refuse(changes: Mapping[str, tuple[int, int]]) -> None:
    with pytest.raises(InvariantError):
        assert_ordered(altered(changes), {"n": 3, "m": 1})
