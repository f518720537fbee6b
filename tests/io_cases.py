"""Small programs of every kind that io is derived for, and those in which something moves that seems to stay.

Each has the sizes to run it at; data are drawn. `# line` comments count from the program's first line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Sizes = Mapping[str, int]


def _case(text: str, *sizes: Sizes) -> tuple[str, Sequence[Sizes]]:
    lines = text.strip("\n").splitlines()
    margin = len(lines[0]) - len(lines[0].lstrip())
    return "\n".join(line[margin:] for line in lines) + "\n", sizes


KINDS = {
    "unaligned slices": _case(
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
    "strided views": _case(
        """
        algorithm main(x: inout real[n], y: real[n]):
            let a = x[0..n step 2]
            for t in 0..3:
                for i in 0..n//2:
                    a[i] += y[n - 1 - i]
        """,
        {"n": 1}, {"n": 2}, {"n": 19}, {"n": 40},
    ),
    "column-major": _case(
        """
        algorithm main(A: inout real[n, m] colmajor, B: real[n, m]):
            for i in 0..n:
                for j in 0..m:
                    A[i, j] += B[i, j] + A[0, j]
        """,
        {"n": 1, "m": 1}, {"n": 7, "m": 4}, {"n": 4, "m": 9},
    ),
    "Z-Morton": _case(
        """
        algorithm main(A: inout real[n, n] zmorton):
            for t in 0..2:
                for i in 1..n:
                    for j in 0..n:
                        A[i, j] += A[i - 1, j] + A[j, i]
        """,
        {"n": 1}, {"n": 4}, {"n": 7},
    ),
    "stack reuse": _case(
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
    "a stack that varies": _case(
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
    "rows whose length varies": _case(
        """
        algorithm main(y: inout real[n]):
            for i in 0..n:
                local W: real[3, i + 1]
                W[2, 0] = 1.0
                y[i] = W[2, 0]
        """,
        {"n": 3}, {"n": 12}, {"n": 27},
    ),
    "empty ranges": _case(
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
    "triangles": _case(
        """
        algorithm main(A: inout real[n, n]):
            for k in 0..n:
                for i in k + 1..n:
                    for j in k + 1..i + 1:
                        A[i, j] += A[i, k]*A[j, k]
        """,
        {"n": 1}, {"n": 2}, {"n": 9},
    ),
    "trapezoids": _case(
        """
        algorithm main(A: inout real[n, n]):
            for k in 0..n:
                for q in 0..n - k:
                    for r in k + q..n:
                        A[r, k] += 1.0
        """,
        {"n": 1}, {"n": 5}, {"n": 8},
    ),
    "downto and steps": _case(
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
    "guards and data": _case(
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
    "while": _case(
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
    "index arrays": _case(
        """
        algorithm main(I: index[n] below m, x: inout real[m], y: inout real[n]):
            for t in 0..2:
                for i in 0..n:
                    y[i] += x[I[i]]
                    x[I[n - 1 - i]] += y[i]
        """,
        {"n": 1, "m": 1}, {"n": 9, "m": 30}, {"n": 30, "m": 9},
    ),
    "offsets with empty segments": _case(
        """
        algorithm main(R: offsets[n] into nz, v: real[nz], y: inout real[n]):
            for t in 0..2:
                for i in 0..n:
                    for k in R[i]..R[i + 1]:
                        y[i] += v[k]*v[nz - 1 - k]
        """,
        {"n": 9, "nz": 3}, {"n": 4, "nz": 25}, {"n": 1, "nz": 1},
    ),
    "several nests": _case(
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
    "calls with views": _case(
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
    "three dimensions": _case(
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
    "subscripts that share a counter": _case(
        """
        algorithm main(A: inout real[2*n, 2*n], n: size):
            for i in 0..n:
                for j in 0..n:
                    A[i, i] += A[i + j, j] + A[i, i + 1]
                    A[n - 1 - i, j] += A[j, 2*i]
        """,
        {"n": 1}, {"n": 4}, {"n": 7},
    ),
    "windows that come back": _case(
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
    "gaps between neighbours": _case(
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

MOVING = {
    "rows two apart": _case(
        """
        algorithm main(A: real[n + 9, p], n: size) -> real:
            local s: real = 0
            for k in 0..n:
                for i in 0..3:
                    for j in 0..p:
                        s += A[8 - 4*i + k, j]
            return s
        """,
        {"n": 16, "p": 1}, {"n": 12, "p": 3},
    ),
    "counters that others shift": _case(
        """
        algorithm main(x: real[4*n], n: size) -> real:
            local s: real = 0
            for t in 0..3:
                for q in 0..n:
                    for k in q..q + 1:
                        s += x[3*k]
            return s
        """,
        {"n": 5}, {"n": 20},
    ),
    "counters that the data shifts": _case(
        """
        algorithm main(I: index[n] below u, x: real[3*u], y: inout real[1], u: size):
            for t in 0..2:
                for i in 0..n:
                    for k in I[i]..I[i] + 1:
                        y[0] += x[3*k]
        """,
        {"n": 12, "u": 9}, {"n": 20, "u": 30},
    ),
    "down to what the data says": _case(
        """
        algorithm main(I: index[n] below n, x: real[n + 1]) -> real:
            local s: real = 0
            for i in I[0] downto 0:
                s += x[i] + x[i + 1]
            return s
        """,
        {"n": 20}, {"n": 60},
    ),
    "sizes that the data gives": _case(
        """
        algorithm last(x: real[q], y: inout real[1]):
            where q >= 0
            for t in 0..3:
                if q > 2:
                    y[0] += x[q - 1] + x[q - 3]

        algorithm main(I: index[n] below u, x: real[u], y: inout real[1]):
            for i in 0..n:
                last(x[0..I[i]], y)
        """,
        {"n": 12, "u": 12}, {"n": 20, "u": 40},
    ),
    "segments picked by the data": _case(
        """
        algorithm last(x: real[q], y: inout real[1]):
            where q >= 0
            if q > 0:
                y[0] += x[q - 1]

        algorithm main(R: offsets[n] into nz, I: index[n] below n, x: real[nz], y: inout real[1]):
            for i in 0..n:
                last(x[0..R[I[i] + 1] - R[I[i]]], y)
        """,
        {"n": 4, "nz": 12}, {"n": 9, "nz": 30},
    ),
    "a view in which rows take turns": _case(
        """
        algorithm main(A: real[2, m], y: inout real[n]):
            local k: int = 0
            for i in 0..n:
                let r = A[i % 2, :]
                y[i] += r[k]
                if y[i] > 0.9:
                    if k < m - 1:
                        k += 1
        """,
        {"n": 8, "m": 2}, {"n": 24, "m": 9},
    ),
    "a view that begins where the data says": _case(
        """
        algorithm main(I: index[n] below m, x: real[2*m], y: inout real[n], m: size):
            local k: int = 0
            for i in 0..n:
                let v = x[I[i]..2*m]
                y[i] += v[k]
                if y[i] > 0.9:
                    if k < m - 1:
                        k += 1
        """,
        {"n": 29, "m": 20}, {"n": 60, "m": 30},
    ),
    "there and back": _case(
        """
        algorithm main(x: real[2*n], y: inout real[n], n: size):
            local k: int = 7
            for i in 0..n:
                y[i] += x[k - i]
                if i % 2 == 0:
                    k += 2
        """,
        {"n": 16}, {"n": 32},
    ),
    "recursion on a vector as a matrix": _case(
        """
        algorithm main(x: inout real[n*q], n: size, q: size):
            where n is power of 2
            sub(x as [n, q])

        algorithm sub(M: inout real[n, q]):
            where n is power of 2
            if n == 1:
                for t in 0..3:
                    for j in 0..q:
                        M[0, j] += 1.0
            else:
                let h = n//2
                sub(M[0..h, :])
                sub(M[h..n, :])
                for t in 0..3:
                    for j in 0..q:
                        M[n - 1, j] += 1.0
        """,
        {"n": 16, "q": 6}, {"n": 8, "q": 9}, {"n": 2, "q": 8},
    ),
    "recursion on strides": _case(
        """
        algorithm main(x: inout real[n]):
            where n is power of 2
            if n <= 1:
                x[0] += 1.0
            else:
                let h = n//2
                main(x[0..n step 2])
                main(x[1..n step 2])
                for t in 0..2:
                    for i in 0..h:
                        x[i] += x[i + h]
                        x[i + h] += x[i]
        """,
        {"n": 1}, {"n": 16}, {"n": 64},
    ),
    "recursion inside a Z-Morton square": _case(
        """
        algorithm main(A: inout real[n, n] zmorton):
            if n <= 3:
                for t in 0..20:
                    for i in 0..n:
                        for j in 0..n:
                            A[i, j] += 1.0
            else:
                main(A[1..n - 1, 1..n - 1])
        """,
        {"n": 1}, {"n": 4}, {"n": 11},
    ),
    "recursion on a row of a Z-Morton square": _case(
        """
        algorithm main(A: inout real[n, n] zmorton):
            rows(A[1, :])

        algorithm rows(x: inout real[m]):
            if m <= 8:
                for t in 0..20:
                    for i in 0..m:
                        x[i] += 1.0
            else:
                rows(x[0..m//2])
        """,
        {"n": 2}, {"n": 8}, {"n": 16},
    ),
    "one array passed twice": _case(
        """
        algorithm main(x: inout real[n]):
            two(x, x)

        algorithm two(x: inout real[n], y: inout real[n]):
            if n <= 2:
                for i in 0..n:
                    x[i] += y[n - 1 - i]
            else:
                let h = n//2
                two(x[0..h], y[0..h])
                two(y[0..n - h], x[h..n])
                for t in 0..2:
                    for i in 0..n:
                        x[i] += y[i]
        """,
        {"n": 1}, {"n": 9}, {"n": 30},
    ),
    "local arrays of recursion": _case(
        """
        algorithm main(x: inout real[n]):
            if n <= 3:
                for i in 0..n:
                    x[i] += 1.0
            else:
                let h = n//2
                local W: real[n] = 0
                main(x[0..h])
                for i in 0..n:
                    W[i] += x[i]
                main(W[1..n])
                local V: real[3, h] = 0
                for k in 0..3:
                    main(V[k, :])
                for i in 0..n:
                    x[i] += W[i]
        """,
        {"n": 3}, {"n": 7}, {"n": 12},
    ),
    "a circle of three": _case(
        """
        algorithm main(x: inout real[n]):
            if n <= 2:
                for i in 0..n:
                    x[i] += 1.0
            else:
                let h = n//2
                second(x[1..n], x[0..h])
                for i in 0..n:
                    x[i] += 1.0

        algorithm second(x: inout real[n], y: inout real[m]):
            where n >= m
            if m <= 1 or n <= 2:
                for i in 0..m:
                    y[i] += x[i]
            else:
                let h = n//2
                third(x[0..h], 2)
                main(y[0..m - 1])
                for i in 0..m:
                    y[i] += x[i]

        algorithm third(x: inout real[n], k: size):
            if n <= 2:
                x[0] += 1.0
            else:
                for t in 0..k:
                    main(x[n//2..n])
                for i in 1..n:
                    x[i] += x[n - i]
        """,
        {"n": 3}, {"n": 17}, {"n": 40},
    ),
}  # fmt: skip
"""Where a bound that follows subscripts alone would be too low, and recursion, whose views and stack move."""
