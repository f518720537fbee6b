"""Algorithms that tests make claims about."""

PROGRAM = """
algorithm line(x: inout real[n]):
    for i in 0..n:
        x[i] += 1

algorithm some(x: inout real[n]):
    for i in 0..n:
        if x[i] > 0:
            x[i] *= 2

algorithm table(A: inout real[n, m]):
    parallel for i in 0..n:
        for j in 0..m:
            A[i, j] += 1

algorithm halves(x: inout real[n]):
    if n > 1:
        halves(x[0..n//2])
        halves(x[n//2..n])
        x[0] += 1
"""
