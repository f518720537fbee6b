"""Programs for ranks of MPI, each with its sizes for P processors, and programs that fail; run here by each rank.

`mpiexec -n P python mpi_programs.py PATH` runs those for P, and writes what came of each into the file on rank 0.
"""

from __future__ import annotations

import math
import os
import pickle
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from archline.execution import distributed
from archline.execution.data import generate
from archline.execution.mpiexec import started_rank
from archline.execution.run import execute
from archline.language.diagnostics import ArchlineError
from archline.language.loader import load_text

PLAIN_STEPS = 1000
"""So many steps all processors do in plain Python before they are compiled, here and there."""
Sizes = Callable[[int], Mapping[str, int] | None]


@dataclass(frozen=True)
class Case:
    """A program; its sizes for P processors, None where it does not run on as many; how it is run."""

    text: str
    sizes: Sizes = lambda _: {}
    options: Mapping[str, Any] = field(default_factory=dict)


def rows(p: int) -> int:
    """The largest divisor of p up to its root."""
    return max(each for each in range(1, math.isqrt(p) + 1) if p % each == 0)


def square(p: int) -> Mapping[str, int] | None:
    g = math.isqrt(p)
    return {"g": g, "n": 3 * g} if g * g == p else None


RING = """
algorithm ring(X: real[n], R: out real[P]) on grid(t: P):
    where P divides n
    local mine: real[n/P] = X[t*(n/P) ..+ n/P]
    local total: real = 0
    for r in 0..P:
        for u in 0..n/P:
            total += mine[u]
        shift mine along t by 1
    output R[t] = total
"""
PROGRAMS = {
    "ring": Case(RING, lambda p: {"n": 5 * p}),
    "torus": Case(
        """
algorithm torus(X: int[a*5, b*3], Y: out int[a*5, b*3], a: size, b: size) on grid(i: a, j: b):
    local x: int[5, 3] = X[i*5 ..+ 5, j*3 ..+ 3]
    shift x[0..2, :] along i by j
    shift x[:, 1..3] along j by -i
    output Y[i*5 ..+ 5, j*3 ..+ 3] = x
""",
        lambda p: {"a": rows(p), "b": p // rows(p)},
    ),
    "halo": Case(
        """
algorithm halo(X: real[n*P], Y: out real[n*P], n: size, s: size) on grid(t: P):
    local x: real[n + 2] = 0
    input x[1..n+1] = X[t*n ..+ n]
    for k in 0..s:
        exchange x[n..n+1] to (t + 1) when t + 1 < P into x[0..1] from (t - 1) when t > 0
        exchange x[1..2] to (t - 1) when t > 0 into x[n+1..n+2] from (t + 1) when t + 1 < P
        local y: real[n] = 0
        for u in 0..n:
            y[u] = (x[u] + x[u + 1] + x[u + 2])/3
        x[1..n+1] = y
    output Y[t*n ..+ n] = x[1..n+1]
""",
        lambda _: {"n": 4, "s": 5},
    ),
    "registers": Case(
        """
algorithm registers(X: int[P], Y: out int[P], W: out real[P]) on grid(t: P):
    local k: int = 0
    input k = X[t]
    local got: int
    exchange k to ((t + 1)%P) into got from ((t - 1)%P)
    local z: real = 0.5
    shift z along t by 2
    if got > 4:
        z += 1.0
    output Y[t] = got
    output W[t] = z
"""
    ),
    "tree": Case(
        """
algorithm tree(X: real[a*4, b*6], Y: out real[a*4, b*6], a: size, b: size) on grid(i: a, j: b):
    local x: real[4, 6] = X[i*4 ..+ 4, j*6 ..+ 6]
    broadcast x[:, 2] along j from b - 1 using tree
    reduce x[1..3, :] along i onto 0 with max using tree
    reduce x along i, j onto a*b//2 with + using tree
    output Y[i*4 ..+ 4, j*6 ..+ 6] = x
""",
        lambda p: {"a": rows(p), "b": p // rows(p)},
    ),
    "pipeline": Case(
        """
algorithm pipeline(X: real[n*P], Y: out real[n*P], n: size) on grid(t: P):
    local x: real[n] = X[t*n ..+ n]
    for u in 0..n:
        local before: real = 0
        if t > 0:
            receive before from (t - 1)
        x[u] += before
        if t + 1 < P:
            send x[u..u+1] to (t + 1)
    output Y[t*n ..+ n] = x
""",
        lambda _: {"n": 7},
    ),
    "wavefront": Case(
        """
algorithm wavefront(X: int[a, b], Y: out int[a, b], a: size, b: size) on grid(i: a, j: b):
    local x: int = 0
    input x = X[i, j]
    local up: int = 0
    local left: int = 0
    if i > 0:
        receive up from (i - 1, j)
    if j > 0:
        receive left from (i, j - 1)
    x += max(up, left)
    if i + 1 < a:
        send x to (i + 1, j)
    if j + 1 < b:
        send x to (i, j + 1)
    output Y[i, j] = x
""",
        lambda p: {"a": rows(p), "b": p // rows(p)},
    ),
    "cannon": Case(
        """
use dense.matmul

algorithm cannon(A: real[n, n], B: real[n, n], C: out real[n, n], g: size) on grid(i: g, j: g):
    where g divides n
    let b = n/g
    local x: real[b, b] = A[i*b ..+ b, j*b ..+ b]
    local y: real[b, b] = B[i*b ..+ b, j*b ..+ b]
    local z: real[b, b] = 0
    shift x along j by -i
    shift y along i by -j
    for t in 0..g:
        matmul_basic(x, y, z)
        shift x along j by -1
        shift y along i by -1
    output C[i*b ..+ b, j*b ..+ b] = z
""",
        square,
    ),
    "own parameters": Case(
        """
algorithm total(x: inout local int[w], y: out local real[w, 2], e: index) on grid(t: P):
    for u in 0..w:
        y[u, 0] = real_of(x[u])
        y[u, 1] = 0.5
    shift y along t by e
    shift x along t by -e
""",
        lambda _: {"w": 3, "e": 3},
    ),
    "out of order": Case(
        """
algorithm crossed(X: int[P], Y: out int[P, 2]) on grid(t: P):
    local a: int = 0
    input a = X[t]
    local b: int = a + 100
    send a to ((t + 1)%P)
    send b to ((t + 1)%P)
    local c: int = 0
    local d: int = 0
    for k in 0..2:
        if k == 1:
            receive c from ((t - 1)%P)
        if k == 0:
            receive d from ((t - 1)%P)
    output Y[t, 0] = c
    output Y[t, 1] = d
"""
    ),
    "nothing": Case(
        """
algorithm nothing(X: real[P], Y: out real[P]) on grid(t: P):
    local x: real = 0
    input x = X[t]
    exchange to ((t + 1)%P) from ((t - 1)%P)
    local y: real[0]
    shift y along t by 1
    shift x along t by P
    x += 1.0
    output Y[t] = x
"""
    ),
    "nodes": Case(
        """
algorithm nodes(X: real[P*4], Y: out real[P*4], a: size, b: size) on grid(i: a, u: b within node):
    let t = i*b + u
    local x: real[4] = X[t*4 ..+ 4]
    shift x along u by 1
    shift x[1..4] along i by 1
    output Y[t*4 ..+ 4] = x
""",
        lambda p: {"a": rows(p), "b": p // rows(p)},
    ),
    "halves": Case(
        """
algorithm halves(x: inout local real[w]) on grid(r: P):
    where P is power of 2
    decreases P
    if P > 1:
        split r by 2 as g:
            local y: real[w]
            y = x
            shift y along g by 1
            for u in 0..w:
                x[u] += y[u]
            halves(x)
""",
        lambda p: {"w": 3} if p & (p - 1) == 0 else None,
    ),
    "long": Case(
        """
algorithm long(x: inout local real[w], y: inout local int[w]) on grid(t: P):
    shift x along t by 1
    shift y along t by -1
""",
        lambda _: {"w": 30_000},
    ),
    "same input": Case(
        """
extern f(a: real) -> real costs 3 flops

algorithm same(X: real[n], Y: out real[P]) on grid(t: P):
    local x: real[n] = X
    local s: real = 0
    for u in 0..n*(t + 1):
        s += f(x[u//(t + 1)])
    output Y[t] = s
""",
        lambda _: {"n": 4},
    ),
    "small messages": Case(RING.replace("ring(", "cut("), lambda p: {"n": 5 * p, "K": 2}),
    "compiled": Case(
        """
algorithm double(x: inout real[n]):
    for u in 0..n:
        x[u] += x[u]

algorithm doubled(x: inout local real[w], y: inout local int[2]) on grid(t: P):
    double(x)
    shift x along t by 1
    shift y along t by 1
    double(x[0..2])
""",
        lambda p: {"w": 3} if p == 3 else None,
        {"compiled": True},
    ),
    "compiled late": Case(
        RING.replace("ring(", "late("), lambda p: {"n": 900 * p} if p == 3 else None, {"compiled": None}
    ),
}

FAILURES = {
    "sizes": """
algorithm f(X: real[P]) on grid(t: P):
    local x: real[t + 1] = 0
    local y: real[3] = 0
    exchange x to ((t + 1)%P) into y from ((t - 1)%P)
""",
    "deadlock": """
algorithm f(X: real[P]) on grid(t: P):
    local x: real = 0
    for k in 0..2:
        shift x along t by 1
    if t > 0:
        receive x from (t - 1)
    if t < P - 1 and t > 0:
        send x to (t + 1)
""",
    "lost": """
algorithm f(X: real[P]) on grid(t: P):
    local x: real = 0
    if t == 2:
        send x to (0)
    if t > P:
        receive x from (0)
""",
    "subscript": """
algorithm f(X: real[P]) on grid(t: P):
    local x: real[2] = 0
    shift x along t by 1
    x[t] += 1.0
    shift x along t by 1
""",
    "partner": """
algorithm f(X: real[P]) on grid(t: P):
    local x: real[2] = 0
    exchange x to (t + 1) into x from (t - 1)
""",
    "unset": """
algorithm f(X: real[P]) on grid(t: P):
    local x: real[2]
    shift x along t by 1
""",
    "twice": """
algorithm f(X: out real[P]) on grid(t: P):
    local x: real = 0
    output X[t//2] = x
""",
    "twice by itself": """
algorithm f(X: out real[P]) on grid(t: P):
    local x: real = 0
    output X[t] = x
    shift x along t by 1
    output X[t] = x
""",
}


def outcome(text: str, sizes: Mapping[str, int], options: Mapping[str, Any]) -> tuple[Any, ...]:
    """Outputs and counts of the last algorithm of a program on generated data, or the error as it is printed."""
    module = load_text(text)
    algorithm = list(module.algorithms.values())[-1]
    symbols = {"K": sizes["K"]} if "K" in sizes else {}
    own = {name: value for name, value in sizes.items() if name not in symbols}
    try:
        data = generate(module, algorithm, own, seed=1)
        run = execute(module, algorithm, {**data, **symbols}, **{"compiled": False, **options})
    except ArchlineError as problem:
        return (str(problem),)
    outputs = {name: (array.dtype.str, array.tolist()) for name, array in run.outputs.items()}
    return outputs, run.counts, run.sizes, run.compiled


def outcomes(p: int, **options: Any) -> dict[str, tuple[Any, ...]]:
    """What comes of each program on p processors; of those that fail too, for 4."""
    found = {}
    for name, case in PROGRAMS.items():
        sizes = case.sizes(p)
        if sizes is not None:
            found[name] = outcome(case.text, {**sizes, "P": p}, {**case.options, **options})
    for name, text in FAILURES.items() if p == 4 else ():
        found[name] = outcome(text, {"P": p}, options)
    return found


def plus_a_half(a: float) -> float:
    return a + 0.5


def fails_on_one(a: float) -> float:
    return 1.0 / (1.0 - a)


def dies_on_one(a: float) -> float:
    if a == 1.0:
        os._exit(5)
    return a


if __name__ == "__main__":
    distributed.PLAIN_STEPS = PLAIN_STEPS
    found = outcomes(int(sys.argv[2]), engine="mpi", timeout=0.2)
    if started_rank() == 0:
        Path(sys.argv[1]).write_bytes(pickle.dumps(found))
