"""Spellings of other languages are read, and formatted in one canonical form that costs the same."""

from __future__ import annotations

import textwrap

import pytest

import archline as al
from archline.api.texts import format_source
from archline.expr.tree import Source

# In each row, what people write and the canonical form; both are bodies, or whole algorithms where they begin with a word
# of their own. `x` and `y` are real arrays of n elements, `A` a matrix of n by m, `k` an index, `v` and `w` ints.
HEADER = "algorithm f(x: inout real[n], y: real[n], A: inout real[n, m], k: index, v: int, w: int):\n    where k >= 0\n"
ROWS = (
    # Words and operators.
    (
        "if v > 1:\n    x[0] = 1\nelse if v > 2:\n    x[0] = 2\nelseif v > 3:\n    x[0] = 3",
        "if v > 1:\n    x[0] = 1\nelif v > 2:\n    x[0] = 2\nelif v > 3:\n    x[0] = 3",
    ),
    ("for i in 0..n mod 5:\n    x[i] += 1", "for i in 0..n%5:\n    x[i] += 1"),
    ("for i in 0..n div 5:\n    x[i] += 1", "for i in 0..n//5:\n    x[i] += 1"),
    ("x[0] = y[0]**2", "x[0] = y[0]^2"),
    ("if v > 1 && w > 1 || !(v > 2):\n    x[0] = 1", "if v > 1 and w > 1 or not v > 2:\n    x[0] = 1"),
    ("if v ≤ 1 and w ≥ 1 and v ≠ w:\n    x[0] = 1", "if v <= 1 and w >= 1 and v != w:\n    x[0] = 1"),
    ("x[0] := 1\nx[0] ← 2\nx[0] <- 3", "x[0] = 1\nx[0] = 2\nx[0] = 3"),
    ("local c: int = 0\nc++\nc--", "local c: int = 0\nc += 1\nc -= 1"),
    ("if 0 <= v < w:\n    x[0] = 1", "if 0 <= v and v < w:\n    x[0] = 1"),
    # Headers of blocks.
    ("if v > 1\n    x[0] = 1", "if v > 1:\n    x[0] = 1"),
    ("if v > 1 then\n    x[0] = 1", "if v > 1:\n    x[0] = 1"),
    ("for i in 0..n do\n    x[i] = 1", "for i in 0..n:\n    x[i] = 1"),
    ("for i in 0..n: x[i] = 1", "for i in 0..n:\n    x[i] = 1"),
    # Ranges.
    ("for i in 0 to n - 1:\n    x[i] = 1", "for i in 0..n:\n    x[i] = 1"),
    ("for i = 1 to n-1:\n    x[i] = 1", "for i in 1..n:\n    x[i] = 1"),
    ("for i from 0 to n-2:\n    x[i] = 1", "for i in 0..n-1:\n    x[i] = 1"),
    ("for i in 0..=n-1:\n    x[i] = 1", "for i in 0..n:\n    x[i] = 1"),
    ("for i in range(n):\n    x[i] = 1", "for i in 0..n:\n    x[i] = 1"),
    ("for i in range(1, n):\n    x[i] = 1", "for i in 1..n:\n    x[i] = 1"),
    ("for i in range(1, n, 2):\n    x[i] = 1", "for i in 1..n step 2:\n    x[i] = 1"),
    ("for i in range(n-1, -1, -1):\n    x[i] = 1", "for i in n-1 downto 0:\n    x[i] = 1"),
    ("for i in n-1..-1 step -1:\n    x[i] = 1", "for i in n-1 downto 0:\n    x[i] = 1"),
    ("for each i in 0..n:\n    x[i] = 1", "for i in 0..n:\n    x[i] = 1"),
    ("for all i in 0..n:\n    x[i] = 1", "for i in 0..n:\n    x[i] = 1"),
    ("foreach i in 0..n:\n    x[i] = 1", "for i in 0..n:\n    x[i] = 1"),
    ("for i in {0, 1}:\n    x[0] += 1", "for i in 0..2:\n    x[0] += 1"),
    # Elements and slices.
    ("for i in 0..n: A[i][0] = 1", "for i in 0..n:\n    A[i, 0] = 1"),
    ("x[0:n] = 1", "x[0..n] = 1"),
    # Shifts, bits and characters.
    ("local c: int = v << 3", "local c: int = v*2^3"),
    ("local c: int = v >> 3", "local c: int = v//2^3"),
    ("if v & (1 << k):\n    x[0] = 1", "if v//2^k%2 == 1:\n    x[0] = 1"),
    ("if v & 1:\n    x[0] = 1", "if v%2 == 1:\n    x[0] = 1"),
    ("if v == 'a':\n    x[0] = 1", "if v == 97:\n    x[0] = 1"),
    # Names without a declaration.
    ("h = n//2\nfor i in 0..h:\n    x[i] = 1", "let h = n//2\nfor i in 0..h:\n    x[i] = 1"),
    ("t = 0\nfor i in 0..n:\n    t += y[i]\nx[0] = t", "local t: real = 0\nfor i in 0..n:\n    t += y[i]\nx[0] = t"),
    ("c = 0\nfor i in 0..n:\n    c += 1\nx[0] = c", "local c: int = 0\nfor i in 0..n:\n    c += 1\nx[0] = c"),
    ("for i in 0..n:\n    t = y[i]\n    x[i] = t", "for i in 0..n:\n    local t: real = y[i]\n    x[i] = t"),
    (
        "if v > 1:\n    t = 1.5\nelse:\n    t = 2\nx[0] = t",
        "local t: real\nif v > 1:\n    t = 1.5\nelse:\n    t = 2\nx[0] = t",
    ),
    ("B = y[0..n]\nx[0] = B[0]", "let B = y[0..n]\nx[0] = B[0]"),
    ("B = y[0..n]\nB[0] = 1\nx[0] = B[0]", "local B: real[n] = y[0..n]\nB[0] = 1\nx[0] = B[0]"),
    # Subscripts that are left out, or count from the end; other names of constants.
    ("A[:] = 0\nA[0] = 1", "A[:, :] = 0\nA[0, :] = 1"),
    ("x[-1] = y[-2]\nx[-3:] = 2", "x[n - 1] = y[n - 2]\nx[n-3:] = 2"),
    ("d[:] = y\nd[0] = 1.0\nx = d", "local d: real[n] = y\nd[0] = 1.0\nx = d"),
    (
        "ok = True\nx[0] = INF\nx[0] = -math.inf\nx[0] = 2*PI",
        "local ok: bool = true\nx[0] = inf\nx[0] = -inf\nx[0] = 2*pi",
    ),
    ("local ok: bool = v > 1\nok |= w > 1\nok &= k > 1", "local ok: bool = v > 1\nok = ok or w > 1\nok = ok and k > 1"),
    # Several values at once.
    ("x[0], x[n-1] = x[n-1], x[0]", "x[0], x[n - 1] = x[n - 1], x[0]"),
)
WHOLE = (
    ("def f(x: inout real[n]):\n    x[0] = 1", "algorithm f(x: inout real[n]):\n    x[0] = 1"),
    ("function f(x: inout real[n])\n    x[0] = 1", "algorithm f(x: inout real[n]):\n    x[0] = 1"),
    ("procedure f(A: inout real[n][m]):\n    A[0][0] = 1", "algorithm f(A: inout real[n, m]):\n    A[0, 0] = 1"),
    ("algorithm f(out: inout real[n]):\n    out[0] = 1", "algorithm f(out: inout real[n]):\n    out[0] = 1"),
    (
        "const K = 3\nalgorithm f(x: inout real[n]):\n    for i in 0..K: x[0] += 1",
        "let K = 3\n\nalgorithm f(x: inout real[n]):\n    for i in 0..K:\n        x[0] += 1",
    ),
    (
        "algorithm f(n: int, x: inout real[n]):\n    for i in 0..n: x[i] += 1",
        "algorithm f(n: size, x: inout real[n]):\n    for i in 0..n:\n        x[i] += 1",
    ),
)


def read_row(body: str) -> str:
    return HEADER + textwrap.indent(body, "    ") + "\n"


def derive_costs(text: str) -> list[str]:
    costs = al.loads(text)["f"].cost()
    return [costs.flops.text, costs.work.text, costs.span.text, costs.io.text]


@pytest.mark.parametrize(("written", "canonical"), ROWS, ids=[row[0] for row in ROWS])
def test_a_spelling_has_one_canonical_form_of_the_same_cost(written: str, canonical: str) -> None:
    assert format_source(Source("f.algo", read_row(written))) == read_row(canonical)
    assert derive_costs(read_row(written)) == derive_costs(read_row(canonical))


@pytest.mark.parametrize(("written", "canonical"), WHOLE, ids=[row[0] for row in WHOLE])
def test_headers_and_abbreviations_have_one_canonical_form(written: str, canonical: str) -> None:
    assert format_source(Source("f.algo", written + "\n")) == canonical + "\n"
    assert derive_costs(written + "\n") == derive_costs(canonical + "\n")


@pytest.mark.parametrize("canonical", [row[1] for row in ROWS])
def test_canonical_forms_stay_as_they_are(canonical: str) -> None:
    assert format_source(Source("f.algo", read_row(canonical))) == read_row(canonical)


def test_the_values_of_several_targets_are_read_before_any_is_stored() -> None:
    text = """
    algorithm f(a: inout int[3]):
        a[0], a[1], a[2] = a[1], a[2], a[0]
    algorithm g(a: inout int[3]):
        swap(a[0], a[2])
    """
    module = al.loads(textwrap.dedent(text))
    assert list(module["f"].run(a=[1, 2, 3]).outputs["a"]) == [2, 3, 1]
    assert list(module["g"].run(a=[1, 2, 3]).outputs["a"]) == [3, 2, 1]
    assert module["f"].run(a=[1, 2, 3]).outside == ()


def test_a_loop_over_an_array_has_each_element_in_turn() -> None:
    text = """
    algorithm f(x: real[n], s: out real[1]):
        t = 0
        for e in x:
            t += e
        for e in x[1..n]: t += e
        s[0] = t
    """
    run = al.loads(textwrap.dedent(text))["f"].run(x=[1.0, 2.0, 4.0], s=[0.0])
    assert run.outputs["s"][0] == 13.0
    assert run.outside == ()
    assert run.counts.work == 1 + 2 * 3 + 2 * 2
