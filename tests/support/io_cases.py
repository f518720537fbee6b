"""Small programs of every kind that io is derived for.

Each has the sizes to run it at; data are drawn. `# line` comments count from the program's first line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Sizes = Mapping[str, int]


def case(text: str, *sizes: Sizes) -> tuple[str, Sequence[Sizes]]:
    """A program without the margin of its text, and its sizes."""
    lines = text.strip("\n").splitlines()
    margin = len(lines[0]) - len(lines[0].lstrip())
    return "\n".join(line[margin:] for line in lines) + "\n", sizes


KINDS = {
    "unaligned slices": case(
        """
        algorithm main(x: real[n], y: inout real[n]):
            let a = x[1..n]
            let b = y[3..n]
            for t in 0..2:
                for i in 0..n - 3:
                    b[i] += a[i]*a[i + 1]
        """,
        {"n": 3}, {"n": 4}, {"n": 20}, {"n": 37},
    ),
    "strided views": case(
        """
        algorithm main(x: inout real[n], y: real[n]):
            let a = x[0..n step 2]
            for t in 0..3:
                for i in 0..n//2:
                    a[i] += y[n - 1 - i]
        """,
        {"n": 1}, {"n": 2}, {"n": 19}, {"n": 40},
    ),
    "column-major": case(
        """
        algorithm main(A: inout real[n, m] colmajor, B: real[n, m]):
            for i in 0..n:
                for j in 0..m:
                    A[i, j] += B[i, j] + A[0, j]
        """,
        {"n": 1, "m": 1}, {"n": 7, "m": 4}, {"n": 4, "m": 9},
    ),
    "Z-Morton": case(
        """
        algorithm main(A: inout real[n, n] zmorton):
            for t in 0..2:
                for i in 1..n:
                    for j in 0..n:
                        A[i, j] += A[i - 1, j] + A[j, i]
        """,
        {"n": 1}, {"n": 4}, {"n": 7},
    ),
    "stack reuse": case(
        """
        algorithm main(y: inout real[n]):
            for i in 0..n:
                local V: real[3] = 0
                for k in 0..3:
                    V[k] += y[i]
                if i > 2:
                    local W: real[n] = 0
                    W[i] += V[0]
                local U: real[2] = 0
                y[i] += U[1] + V[2]
        """,
        {"n": 1}, {"n": 4}, {"n": 11},
    ),
    "a stack that varies": case(
        """
        algorithm main(y: inout real[n]):
            for i in 0..n:
                local W: real[i + 1] = 0
                local V: real[4] = 0
                for k in 0..i + 1:
                    V[k % 4] += W[k]
                y[i] += V[0]
        """,
        {"n": 1}, {"n": 5}, {"n": 14},
    ),
    "rows whose length varies": case(
        """
        algorithm main(y: inout real[n]):
            for i in 0..n:
                local W: real[3, i + 1]
                W[2, 0] = 1.0
                y[i] = W[2, 0]
        """,
        {"n": 3}, {"n": 12}, {"n": 27},
    ),
    "empty ranges": case(
        """
        algorithm main(x: inout real[n], y: inout real[m]):
            where n >= 0
            for i in 0..n:
                for j in i + 1..n:
                    x[i] += x[j]
            for i in 4..m:
                for j in 2..n - 3:
                    y[i] += x[j]
        """,
        {"n": 0, "m": 1}, {"n": 1, "m": 3}, {"n": 9, "m": 9},
    ),
    "triangles": case(
        """
        algorithm main(A: inout real[n, n]):
            for k in 0..n:
                for i in k + 1..n:
                    for j in k + 1..i + 1:
                        A[i, j] += A[i, k]*A[j, k]
        """,
        {"n": 1}, {"n": 2}, {"n": 9},
    ),
    "trapezoids": case(
        """
        algorithm main(A: inout real[n, n]):
            for k in 0..n:
                for q in 0..n - k:
                    for r in k + q..n:
                        A[r, k] += 1.0
        """,
        {"n": 1}, {"n": 5}, {"n": 8},
    ),
    "downto and steps": case(
        """
        algorithm main(x: inout real[n], s: size):
            for t in 0..2:
                for i in n - 2 downto 0:
                    x[i] += x[i + 1]
                for i in 0..n - 1 step s:
                    x[i] += x[i + 1]
                for i in n - 1 downto 1 step 3:
                    x[i] += x[i - 1] + x[i]
        """,
        {"n": 1, "s": 1}, {"n": 12, "s": 2}, {"n": 33, "s": 5},
    ),
    "guards and data": case(
        """
        algorithm main(A: inout real[n, m], x: inout real[m]):
            for i in 0..n:
                for j in 0..m:
                    if (i + j) % 3 == 0:
                        A[i, j] += x[j]
                    elif A[i, j] > 0.5:
                        x[m - 1 - j] += A[i, 0]
                    else:
                        x[0] += 1.0
        """,
        {"n": 1, "m": 1}, {"n": 5, "m": 9}, {"n": 9, "m": 4},
    ),
    "while": case(
        """
        algorithm main(x: inout real[n], y: real[n]):
            local s: real = 0
            while s < 3.0 at most 3 times:
                s += x[0] + 1.0
                for i in 0..n:
                    x[i] += y[i]
        """,
        {"n": 1}, {"n": 4}, {"n": 18},
    ),
    "index arrays": case(
        """
        algorithm main(I: index[n] below m, x: inout real[m], y: inout real[n]):
            for t in 0..2:
                for i in 0..n:
                    y[i] += x[I[i]]
                    x[I[n - 1 - i]] += y[i]
        """,
        {"n": 1, "m": 1}, {"n": 9, "m": 30}, {"n": 30, "m": 9},
    ),
    "offsets with empty segments": case(
        """
        algorithm main(R: offsets[n] into nz, v: real[nz], y: inout real[n]):
            for t in 0..2:
                for i in 0..n:
                    for k in R[i]..R[i + 1]:
                        y[i] += v[k]*v[nz - 1 - k]
        """,
        {"n": 9, "nz": 3}, {"n": 4, "nz": 25}, {"n": 1, "nz": 1},
    ),
    "parts in which the data picks entries": case(
        """
        algorithm main(A: inout real[n*b, n*b], col: index[m] below b, n: size, b: size):
            for i in 0..n:
                for j in 0..i + 1:
                    let block = A[i*b ..+ b, j*b ..+ b]
                    let edge = A[(n - 1 - j)*b, i*b ..+ b]
                    for e in 0..m:
                        block[col[e], 0] += edge[col[e]]
                        block[col[m - 1 - e], col[e]] += edge[0]
        """,
        {"n": 1, "b": 1, "m": 2}, {"n": 2, "b": 3, "m": 5}, {"n": 3, "b": 5, "m": 4},
    ),
    "segments from the second on": case(
        """
        algorithm main(seg: offsets[n] into nz, x: real[nz], y: inout real[n, n]):
            for i in 1..n:
                for j in 1..n:
                    for e in seg[i]..seg[i + 1]:
                        y[i, j] += x[e]
        """,
        {"n": 1, "nz": 3}, {"n": 4, "nz": 9}, {"n": 6, "nz": 30},
    ),
    "several nests": case(
        """
        algorithm main(x: inout real[n], A: inout real[n, n]):
            for i in 0..n:
                x[i] += 1.0
            for i in 0..n:
                for j in 0..n:
                    A[i, j] += x[j]
            for j in 0..n:
                for i in 0..n:
                    x[i] += A[i, j]
            for i in n - 1 downto 0:
                x[i] += x[0]
        """,
        {"n": 1}, {"n": 5}, {"n": 9},
    ),
    "calls with views": case(
        """
        algorithm main(x: inout real[p*q], y: inout real[p], p: size, q: size):
            let M = x as [p, q]
            for t in 0..2:
                add(M, y)
            add(M, M[:, q - 1])
            add(x as [p, q], x[0..p])

        algorithm add(A: inout real[n, m], c: inout real[n]):
            for i in 0..n:
                for j in 0..m:
                    c[i] += A[i, j]
        """,
        {"p": 1, "q": 1}, {"p": 4, "q": 7}, {"p": 9, "q": 3},
    ),
    "three dimensions": case(
        """
        algorithm main(T: inout real[n, m, q], y: inout real[m]):
            for k in 0..q:
                for i in 0..n:
                    for j in 0..m:
                        T[i, j, k] += y[j]
            for i in 0..n:
                for j in 1..m:
                    for k in 0..q:
                        T[i, j, k] += T[i, j - 1, k] + T[0, j, q - 1 - k]
        """,
        {"n": 1, "m": 1, "q": 1}, {"n": 3, "m": 4, "q": 5}, {"n": 5, "m": 2, "q": 9},
    ),
    "subscripts that share a counter": case(
        """
        algorithm main(A: inout real[2*n, 2*n], n: size):
            for i in 0..n:
                for j in 0..n:
                    A[i, i] += A[i + j, j] + A[i, i + 1]
                    A[n - 1 - i, j] += A[j, 2*i]
        """,
        {"n": 1}, {"n": 4}, {"n": 7},
    ),
    "windows that come back": case(
        """
        algorithm main(x: real[80], n: size) -> real:
            local s: real = 0
            for i in 0..n:
                for j in 0..4:
                    s += x[16*(i % 3) + j] + x[16*(i % 3) + j + 12]
            for i in 0..9:
                for j in 0..4:
                    s += x[3*i*(8 - i) + 24 + j] + x[3*i*(8 - i) + j]
            return s
        """,
        {"n": 1}, {"n": 40},
    ),
    "gaps between neighbours": case(
        """
        algorithm main(A: inout real[n, 3*n], n: size):
            for i in 0..n:
                for j in 0..n:
                    A[i, 3*j] += A[i, 3*j + 2] + A[n - 1 - i, 3*j + 1]
        """,
        {"n": 1}, {"n": 4}, {"n": 7},
    ),
}  # fmt: skip
"""What the analysis covers."""
