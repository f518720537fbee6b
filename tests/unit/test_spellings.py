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
    ("for i in n-1..=0 by -1:\n    x[i] = 1", "for i in n-1 downto 0:\n    x[i] = 1"),
    ("for i in 0..n by 2:\n    x[i] = 1", "for i in 0..n step 2:\n    x[i] = 1"),
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
    ("if v & k:\n    x[0] = 1", "if bit_and(v, k) != 0:\n    x[0] = 1"),
    ("x[v & 1] = v & 6", "x[v%2] = bit_and(v, 6)"),
    (
        "t = v\nt &= t - 1\nt |= 1 << 3\nx[0] = t ^ 0xF",
        "local t: int = v\nt = bit_and(t, t - 1)\nt = bit_or(t, 1*2^3)\nx[0] = xor(t, 15)",
    ),
    (
        "q = [False] * n\nq[0] = v > 1\nif not q[0]:\n    x[0] = 1",
        "local q: bool[n] = false\nq[0] = v > 1\nif not q[0]:\n    x[0] = 1",
    ),
    # Several names at once.
    ("x[0] = x[1] = v + 1", "local value: int = v + 1\nx[0] = value\nx[1] = value"),
    (
        "a = b = 0\nfor i in 0..n:\n    a += 1\n    b += 2\nx[0] = a - b",
        "local a: int = 0\nlocal b: int = 0\nfor i in 0..n:\n    a += 1\n    b += 2\nx[0] = a - b",
    ),
    ("q, r: real[n]\nq[0] = 1\nr[0] = 2", "local q: real[n]\nlocal r: real[n]\nq[0] = 1\nr[0] = 2"),
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
    ("(x[0], x[n-1]) = (x[n-1], x[0])", "x[0], x[n - 1] = x[n - 1], x[0]"),
    ("x[0] = 1, x[1] = 2", "x[0] = 1\nx[1] = 2"),
    # Comments of other languages, and `//` that divides.
    ("// to the first\nx[0] = 1  // one of them", "# to the first\nx[0] = 1  # one of them"),
    ("/* to the\n   first */\nx[0] = 1", "# to the\n# first\nx[0] = 1"),
    (
        "-- first\nx[0] = 1\n% second\nx[1] = 1\n! third\nx[2] = 1",
        "# first\nx[0] = 1\n# second\nx[1] = 1\n# third\nx[2] = 1",
    ),
    ("for i in 0..n:  // all\n    x[i] = 1", "for i in 0..n:  # all\n    x[i] = 1"),
    ("for i in 0..n // 2:\n    x[i] = 1", "for i in 0..n//2:\n    x[i] = 1"),
    ("// the middle\nlocal c: int = (v + w) // 2", "# the middle\nlocal c: int = (v + w)//2"),
    ("// the middle\nx[0] = y[0]  // middle", "# the middle\nx[0] = y[0]  # middle"),
    # Blocks.
    ("if (v > 1) {\n    x[0] = 1;\n} else {\n    x[0] = 2;\n}", "if v > 1:\n    x[0] = 1\nelse:\n    x[0] = 2"),
    ("if (v > 1) x[0] = 1", "if v > 1:\n    x[0] = 1"),
    ("if (v > 1) or (w > 1):\n    x[0] = 1", "if v > 1 or w > 1:\n    x[0] = 1"),
    ("for i in 0..n do\n    x[i] = 1\nend do", "for i in 0..n:\n    x[i] = 1"),
    ("if v > 1 then\n    x[0] = 1\nend if\nx[1] = 1", "if v > 1:\n    x[0] = 1\n\nx[1] = 1"),
    (
        "if (v > 1)\n{\n    x[0] = 1;\n}\nelse\n{\n    x[0] = 2;\n}",
        "if v > 1:\n    x[0] = 1\nelse:\n    x[0] = 2",
    ),
    (
        "if (v > 1) x[0] = 1;\nelse if (w > 1) x[0] = 2;\nelse x[0] = 3;",
        "if v > 1:\n    x[0] = 1\nelif w > 1:\n    x[0] = 2\nelse:\n    x[0] = 3",
    ),
    ("if (v > 1) { x[0] = 1; x[1] = 2; }", "if v > 1:\n    x[0] = 1\n    x[1] = 2"),
    ("if v > 1:\n    x[0] = 1\notherwise:\n    x[0] = 2", "if v > 1:\n    x[0] = 1\nelse:\n    x[0] = 2"),
    # Loops with a test at their end.
    (
        "int c = 0;\ndo {\n    x[c] = 1;\n    c++;\n} while (c < n);",
        "local c: int = 0\nrepeat:\n    x[c] = 1\n    c += 1\nuntil not c < n",
    ),
    (
        "c = 0\ndo:\n    x[c] = 1\n    c += 1\nuntil c == n",
        "local c: int = 0\nrepeat:\n    x[c] = 1\n    c += 1\nuntil c == n",
    ),
    # Loops over elements with their positions, and over several arrays.
    (
        "for i, e in enumerate(y):\n    x[i] = 2*e",
        "for i in 0..len(y):\n    local e: real = y[i]\n    x[i] = 2*e",
    ),
    (
        "for a, b in zip(y, x):\n    x[0] += a*b",
        "for i in 0..min(len(y), len(x)):\n    local a: real = y[i]\n    local b: real = x[i]\n    x[0] += a*b",
    ),
    # Sizes of arrays, integer division and transposed matrices.
    ("c = y.size\nfor i in 0..c:\n    x[i] = 1", "let c = y.size\nfor i in 0..c:\n    x[i] = 1"),
    ("for i in 0..n ÷ 2:\n    x[i] = 1", "for i in 0..n//2:\n    x[i] = 1"),
    (
        "c = div(v, 2)\nc = mod(c + 1, 3) + rem(w, 2)\nx[0] = c",
        "local c: int = v//2\nc = (c + 1)%3 + w%2\nx[0] = c",
    ),
    ("local z: real[m]\nz = A' @ y\nx[0] = z[0]", "local z: real[m]\nz = A.T @ y\nx[0] = z[0]"),
    # Loops in three parts.
    ("for (i = 0; i < n; i++) {\n    x[i] = 1\n}", "for i in 0..n:\n    x[i] = 1"),
    ("for (int i = 1; i <= n - 1; i += 2)\n    x[i] = 1", "for i in 1..n step 2:\n    x[i] = 1"),
    ("for i = n-1; i >= 0; i--:\n    x[i] = 1", "for i in n-1 downto 0:\n    x[i] = 1"),
    (
        "for (i = 1; i < n; i = 2*i + 1):\n    if y[i] > 0: continue\n    x[i] = 1",
        "local i: int = 1\nwhile i < n:\n    if y[i] > 0:\n        i = 2*i + 1\n        continue\n    x[i] = 1\n"
        "    i = 2*i + 1",
    ),
    (
        "for (i = 1; i < n; i *= 2):\n    if y[i] > 0: continue\n    x[i] = 1",
        "for i in 1..n step *2:\n    if y[i] > 0:\n        continue\n    x[i] = 1",
    ),
    ("for (int i = 1; i < n; i <<= 1)\n    x[i] = 1", "for i in 1..n step *2:\n    x[i] = 1"),
    ("for (i = n - 1; i > 0; i /= 2)\n    x[i] = 1", "for i in n-1 downto 1 step /2:\n    x[i] = 1"),
    ("for (i = n - 1; i >= 1; i = i//4)\n    x[i] = 1", "for i in n-1 downto 1 step /4:\n    x[i] = 1"),
    ("for i in n - 1 downto 1 step //2:\n    x[i] = 1", "for i in n-1 downto 1 step /2:\n    x[i] = 1"),
    ("for i in 1..=n - 1 by *3:\n    x[i] = 1", "for i in 1..n step *3:\n    x[i] = 1"),
    (
        "for (i = 0; i < n; i++):\n    if y[i] > 0: break\nx[0] = i",
        "local i: int = 0\nwhile i < n:\n    if y[i] > 0:\n        break\n    i += 1\nx[0] = i",
    ),
    ("parallel for (i = 0; i < n; i++):\n    x[i] = 1", "parallel for i in 0..n:\n    x[i] = 1"),
    ("do i = 1, n - 1\n    x[i] = 1\nend do", "for i in 1..n:\n    x[i] = 1"),
    ("for i in n-1:-1:0\n    x[i] = 1", "for i in n-1 downto 0:\n    x[i] = 1"),
    ("for i in reversed(0..n):\n    x[i] = 1", "for i in n-1 downto 0:\n    x[i] = 1"),
    ("for i in reversed(range(n)):\n    x[i] = 1", "for i in n-1 downto 0:\n    x[i] = 1"),
    ("for i in 0..n, j in 0..m:\n    A[i, j] = 1", "for i in 0..n:\n    for j in 0..m:\n        A[i, j] = 1"),
    ("for each element i in 0..n:\n    x[i] = 1", "for i in 0..n:\n    x[i] = 1"),
    (
        "for i in 0..n:\n    if y[i] > 0: next\n    x[i] = 1",
        "for i in 0..n:\n    if y[i] > 0:\n        continue\n    x[i] = 1",
    ),
    # Declarations.
    ("const a = 2.5, b = 3\nx[0] = a*b", "local a: real = 2.5\nlet b = 3\nx[0] = a*b"),
    ("let mut c: int = 0\nc += v\nx[0] = c", "local c: int = 0\nc += v\nx[0] = c"),
    ("let a = y[0]*2\nx[0] = a", "local a: real = y[0]*2\nx[0] = a"),
    ("let (a, b) = (y[0], y[1])\nx[0] = a*b", "local a: real\nlocal b: real\na, b = y[0], y[1]\nx[0] = a*b"),
    ("int h = n/2;\nreal s[n];\ns[h] = x[0]", "let h = n/2\nlocal s: real[n]\ns[h] = x[0]"),
    # Arrays by their elements.
    ("d = [1, -1, 2.5]\nx[0] = d[1]", "local d: real[3]\nd[0] = 1\nd[1] = -1\nd[2] = 2.5\nx[0] = d[1]"),
    ("d = {1, 2}\nx[0] = d[1]", "local d: int[2]\nd[0] = 1\nd[1] = 2\nx[0] = d[1]"),
    (
        "d = [[v, 2], [3, w]]\nx[0] = d[1, 0]",
        "local d: int[2, 2]\nd[0, 0] = v\nd[0, 1] = 2\nd[1, 0] = 3\nd[1, 1] = w\nx[0] = d[1, 0]",
    ),
    (
        "d = [v, 2; 3, w]\nx[0] = d[1, 0]",
        "local d: int[2, 2]\nd[0, 0] = v\nd[0, 1] = 2\nd[1, 0] = 3\nd[1, 1] = w\nx[0] = d[1, 0]",
    ),
    (
        "d = [2*j for j in range(n)]\nx[0] = d[1]",
        "local d: int[n]\nparallel for j in 0..n:\n    d[j] = 2*j\nx[0] = d[1]",
    ),
    ("A[0, :] = [y[j] for j in 0..m]", "parallel for j in 0..m:\n    A[0, j] = y[j]"),
    ("A[0, 1..3] = [v, w]", "A[0, 1 + 0] = v\nA[0, 1 + 1] = w"),
    # Operators.
    ("if v <> w or v ~= 2 or v /= 3:\n    x[0] = 1", "if v != w or v != 2 or v != 3:\n    x[0] = 1"),
    ("x = 2.*y./y", "x = 2*y/y"),
    ("x = exp.(y)", "x = exp(y)"),
    (
        "local B: real[n, n] = 0\nlocal C: real[n, m]\nC = B %*% A",
        "local B: real[n, n] = 0\nlocal C: real[n, m]\nC = B @ A",
    ),
    ("x[0] = sum(A[i, j] for i in 0..n, j in 0..m)", "x[0] = sum(sum(A[i, j] for j in 0..m) for i in 0..n)"),
    (
        "local s: real = 0\nparallel for i in 0..n reduce(+: s):\n    s += y[i]\nx[0] = s",
        "local s: real = 0\nparallel for i in 0..n with + on s:\n    s += y[i]\nx[0] = s",
    ),
    (
        "s = 0\nparallel for i in 0..n with max on s:\n    s = max(s, y[i])\nx[0] = s",
        "local s: real = 0\nparallel for i in 0..n with max on s:\n    s max= y[i]\nx[0] = s",
    ),
    ("parallel for i in 0..n:\n    atomic x[0] = y[i] + x[0]", "parallel for i in 0..n:\n    atomic x[0] += y[i]"),
    ("local a: real[n], b: real = 2\nx[0] = b*0x1F", "local a: real[n]\nlocal b: real = 2\nx[0] = b*31"),
    # Names of functions.
    (
        "min = 0\nfor i in 0..n:\n    if y[i] < y[min]: min = i\nx[0] = min(y[min], 2)",
        "local min_: int = 0\nfor i in 0..n:\n    if y[i] < y[min_]:\n        min_ = i\nx[0] = min(y[min_], 2)",
    ),
    ("local pi: int[n] = 0\npi[0] = 1\nx[0] = pi[0]", "local pi_: int[n] = 0\npi_[0] = 1\nx[0] = pi_[0]"),
    # Counters in subscripts.
    ("c = 0\nx[c++] = 1\nx[--c] = 2", "local c: int = 0\nx[c] = 1\nc += 1\nc -= 1\nx[c] = 2"),
)
WHOLE = (
    (
        "algorithm f(x: inout real[n]):\n    ensures work == O(1)\n    ensures span <= O(n^2) when n >= 2\n"
        "    ensures work >= Omega(1)\n    ensures flops == Theta(1)\n    x[0] += 1",
        "algorithm f(x: inout real[n]):\n    ensures work is O(1)\n    ensures span is O(n^2) when n >= 2\n"
        "    ensures work is Omega(1)\n    ensures flops is Theta(1)\n    x[0] += 1",
    ),
    (
        "algorithm f(input: real[n], output: out real[n]):\n    output[0] = input[0]",
        "algorithm f(input: real[n], output: out real[n]):\n    output[0] = input[0]",
    ),
    (
        "struct pair: a: real, b: real\nalgorithm f(x: out real[n]):\n    local p: pair\n    p.a = 1\n    x[0] = p.a",
        "type pair:\n    a: real\n    b: real\n\nalgorithm f(x: out real[n]):\n    local p: pair\n    p.a = 1\n    x[0] = p.a",
    ),
    (
        "algorithm g(x: out real[n]):\n    x[0] = 1\nalgorithm f(x: out real[n]):\n    call g(x)",
        "algorithm g(x: out real[n]):\n    x[0] = 1\n\nalgorithm f(x: out real[n]):\n    g(x)",
    ),
    (
        'def f(x: inout real[n],\n      y: real[n]):\n    """Sets x.\n\n    No "y" is read.\n    """\n    x[0] = 1',
        'algorithm f(x: inout real[n], y: real[n]):\n    "Sets x."\n\n    # No "y" is read.\n\n    x[0] = 1',
    ),
    (
        "algorithm f(x: inout real[n])\n{\n    x[0] = 1;\n}",
        "algorithm f(x: inout real[n]):\n    x[0] = 1",
    ),
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


@pytest.mark.parametrize(
    "line",
    ["x[v++] = v", "while x[v++] > 0: pass", "for i in 0..n, j in 0..m: break", "d = [[1, 2], [3]]", "x[0] += [1, 2]"],
)
def test_what_has_several_readings_is_refused(line: str) -> None:
    with pytest.raises(al.ArchlineError) as raised:
        al.loads(read_row(line))
    assert raised.value.diagnostics[0].code == "AL101"
    assert raised.value.diagnostics[0].hint


def test_an_array_that_is_made_again_is_set_again() -> None:
    text = """
    algorithm f(x: inout real[n]):
        d = [x[0], 2]
        for i in 0..3:
            d = [d[1], d[0] + 1]
        x[0] = d[0]
        x[1] = d[1]
    """
    run = al.loads(textwrap.dedent(text))["f"].run(x=[1.0, 0.0])
    assert list(run.outputs["x"]) == [3.0, 3.0]
    assert run.outside == ()


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


def test_what_counts_positions_costs_what_it_executes() -> None:
    text = """
    algorithm f(x: real[n], y: real[m]) -> real:
        where n >= 0, m >= 0
        s = 0.0
        for a, b in zip(x, y):
            s += a*b
        for i, v in enumerate(x):
            s += v
        k = x.len
        for i in 0..k:
            s += 1.0
        return s
    """
    algorithm = al.loads(textwrap.dedent(text))["f"]
    assert algorithm.cost().flops.text == "2*n + 2*min(m, n)"
    for n, m in ((0, 3), (3, 2), (2, 3)):
        run = algorithm.run(x=[1.0] * n, y=[2.0] * m)
        assert (run.value, run.counts.flops) == (2.0 * min(n, m) + 2 * n, 2 * n + 2 * min(n, m))
        assert run.outside == ()


def test_a_loop_tests_after_each_iteration() -> None:
    text = """
    algorithm f(x: inout int[1], m: int) {
        int k = m;
        do {
            x[0] += 1;
            k -= 1;
        } while (k > 0);
    }
    """
    algorithm = al.loads(textwrap.dedent(text))["f"]
    assert [algorithm.run(x=[0], m=m).outputs["x"][0] for m in (0, 1, 3)] == [1, 1, 3]


def test_functions_that_the_author_defines_keep_their_names() -> None:
    text = "algorithm div(a: int, b: int) -> int:\n    return a - b\nalgorithm f() -> int:\n    return div(7, 2)\n"
    assert al.loads(text)["f"].run().value == 5


@pytest.mark.parametrize("text", ['"""One\nx[0] = 1', '"""One""" + x[0]'])
def test_quotes_that_do_not_close_hide_no_code(text: str) -> None:
    with pytest.raises(al.ArchlineError):
        al.loads(read_row(text))
