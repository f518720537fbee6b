"""Small programs in which something moves that seems to stay, or does not hold where it seems to: bounds that were wrong once."""

from __future__ import annotations

from io_cases import case

MOVING = {
    "rows two apart": case(
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
    "places that take turns, far apart": case(
        """
        algorithm main(a: inout real[n], k: size):
            where n >= 4*k
            for i in 0..n//k - 3:
                a[i*k] += a[(i + 3)*k]
        """,
        {"n": 256, "k": 8}, {"n": 128, "k": 4}, {"n": 12, "k": 3},
    ),
    "places that take turns, as far apart as two iterations": case(
        """
        algorithm main(a: inout real[n]):
            where n is power of 2, n >= 8
            for d in 0..log2(n) - 2:
                for i in 0..n/2^(d + 2):
                    a[(2*i + 1)*2^(d + 1) - 1] += a[4*i*2^d]
        """,
        {"n": 64}, {"n": 256}, {"n": 8},
    ),
    "a counter that falls while the data says so": case(
        """
        algorithm main(a: inout real[n]):
            for i in 1..n:
                local j: int = i
                while j > 0 and a[j - 1] > 0.2 at most i times:
                    a[j] = a[j - 1]*0.9
                    j -= 1
        """,
        {"n": 24}, {"n": 60}, {"n": 1},
    ),
    "an entry beside a row that is passed to and fro": case(
        """
        algorithm main(A: inout real[n, m]):
            for i in 0..n:
                for k in 0..m:
                    for j in 0..m:
                        A[i, min(j, m - 1 - j)] += A[i, k]
        """,
        {"n": 4, "m": 15}, {"n": 2, "m": 30},
    ),
    "a counter that begins behind the end": case(
        """
        algorithm main(a: inout real[n], b: inout real[n]):
            b[0] = 1
            for t in 0..3:
                local j: int = t//2
                for k in 0..n:
                    if j + 3 < n and a[j + 3] > 0.5:
                        b[j + 3] = 1
                        j += 1
        """,
        {"n": 1}, {"n": 2}, {"n": 30},
    ),
    "counters that others shift": case(
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
    "counters that the data shifts": case(
        """
        algorithm main(I: index[n] below u, x: real[3*u], y: inout real[1], u: size):
            for t in 0..2:
                for i in 0..n:
                    for k in I[i]..I[i] + 1:
                        y[0] += x[3*k]
        """,
        {"n": 12, "u": 9}, {"n": 20, "u": 30},
    ),
    "down to what the data says": case(
        """
        algorithm main(I: index[n] below n, x: real[n + 1]) -> real:
            local s: real = 0
            for i in I[0] downto 0:
                s += x[i] + x[i + 1]
            return s
        """,
        {"n": 20}, {"n": 60},
    ),
    "sizes that the data gives": case(
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
    "segments picked by the data": case(
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
    "a view in which rows take turns": case(
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
    "a view that begins where the data says": case(
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
    "there and back": case(
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
    "recursion on a vector as a matrix": case(
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
    "recursion on strides": case(
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
    "recursion inside a Z-Morton square": case(
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
    "recursion on a row of a Z-Morton square": case(
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
    "one array passed twice": case(
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
    "local arrays of recursion": case(
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
    "a circle of three": case(
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
    "loops under a condition that seldom holds": case(
        """
        algorithm main(x: inout real[m], n: size):
            for i in 0..n:
                if i < m:
                    for j in i..m:
                        x[j] += 1.0
        """,
        {"n": 30, "m": 5}, {"n": 5, "m": 30}, {"n": 1, "m": 1},
    ),
    "either of two loops": case(
        """
        algorithm main(x: inout real[m], n: size):
            for i in 0..n:
                if i <= m:
                    assume i <= m
                    for j in 0..m - i:
                        x[j] += 1.0
                else:
                    for j in 0..i - m:
                        x[j % m] += 1.0
        """,
        {"n": 30, "m": 5}, {"n": 5, "m": 30}, {"n": 20, "m": 9},
    ),
    "facts where nothing is run": case(
        """
        algorithm main(x: inout real[m], n: size, k: size):
            where k >= 0
            for t in 0..k:
                assume n >= m
                for j in 0..n - m:
                    x[j % m] += 1.0
            for t in 0..2:
                for j in 0..m:
                    x[j] += 1.0
        """,
        {"n": 3, "m": 20, "k": 0}, {"n": 20, "m": 5, "k": 2},
    ),
    "loops that are never entered": case(
        """
        algorithm main(x: inout real[3*n], y: inout real[m], n: size):
            for i in 0..n - m:
                for j in 0..n - m:
                    x[3*j] += 1.0
            for t in 0..3:
                for i in 0..m:
                    y[i] += 1.0
        """,
        {"n": 2, "m": 9}, {"n": 9, "m": 2}, {"n": 4, "m": 20},
    ),
    "no size where there is no call": case(
        """
        algorithm first(x: real[q], y: inout real[1]):
            for i in 1..q:
                y[0] += x[i - 1]

        algorithm main(I: index[n] below m, x: real[m], y: inout real[1], z: inout real[u]):
            where n >= 0, m >= 0
            if n > 9:
                first(x[0..I[0]], y)
            for t in 0..2:
                for i in 0..u:
                    z[i] += 1.0
        """,
        {"n": 0, "m": 0, "u": 20}, {"n": 0, "m": 9, "u": 3},
    ),
    "remainders of what other loops move": case(
        """
        algorithm main(x: inout real[n*n], n: size, m: size):
            for v in 0..n:
                for u in m..n:
                    for w in u*(n - m)..(u + 1)*(n - m):
                        x[w % (n*n)] += 1.0
        """,
        {"n": 9, "m": 2}, {"n": 6, "m": 5},
    ),
    "the data and the sizes decide": case(
        """
        algorithm main(x: inout real[n]):
            if n > 8 and x[0] > 0.4:
                for j in 8..n:
                    x[j] += x[j - 8]
                main(x[0..n//2])
            elif n > 5:
                main(x[n//2..n])
                for j in 5..n:
                    x[j] += 1.0
            else:
                for i in n - 1 downto 0:
                    x[i] += 1.0
        """,
        {"n": 1}, {"n": 7}, {"n": 40},
    ),
    "rows of a local array that is never made": case(
        """
        algorithm main(x: inout real[n], m: size):
            for i in 1..m:
                local W: real[i, m - i] = 0
                x[0] = W[i - 1, 0]
        """,
        {"n": 1, "m": 1}, {"n": 1, "m": 5}, {"n": 1, "m": 8},
    ),
    "blocks that are nowhere split": case(
        """
        algorithm main(A: inout real[b*q, b*q], b: size, q: size):
            for I in 0..q:
                for J in I..q:
                    for i in 0..b:
                        for j in i..b:
                            A[I*b + i, J*b + j] += 1.0
                            if I == J and i != j:
                                A[J*b + j, I*b + i] = 1.0
        """,
        {"q": 1, "b": 2}, {"q": 2, "b": 2}, {"q": 2, "b": 3},
    ),
    "local arrays that grow": case(
        """
        algorithm main(n: size):
            for i in 1..n:
                local t: real[i] = 0
                local u: real[n] = 0
        """,
        {"n": 2}, {"n": 9},
    ),
    "a slice as long as the data says": case(
        """
        algorithm main(start: index[m] below n, y: inout real[n]):
            y[0..start[0]] = 1
        """,
        {"n": 50, "m": 1}, {"n": 3, "m": 2},
    ),
}  # fmt: skip
"""Where a bound that follows subscripts alone would be too low, and recursion, whose views and stack move."""
