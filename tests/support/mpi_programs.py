"""Programs for ranks of MPI with their sizes for P processors, and programs that fail; run here by each rank.

`mpiexec -n P python mpi_programs.py JOBS FOUND` runs pickled jobs, and writes what came of each into a file on rank 0.
"""

from __future__ import annotations

import math
import os
import pickle
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from archline.execution import distributed
from archline.execution.data import generate_arguments
from archline.execution.mpiexec import read_rank
from archline.execution.run import execute
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError
from archline.language.loader import load_text
from archline.language.model import Module

PLAIN_STEPS = 1000
"""So many steps all processors do in plain Python before they are compiled, here and there."""
Sizes = Callable[[int], Mapping[str, int] | None]


@dataclass(frozen=True)
class Case:
    """An algorithm; its sizes for P processors, None where it does not run on as many; how it is run."""

    algorithm: str
    sizes: Sizes = lambda _: {}
    options: Mapping[str, Any] = field(default_factory=dict)


def rows(p: int) -> int:
    """The largest divisor of p up to its root."""
    return max(each for each in range(1, math.isqrt(p) + 1) if p % each == 0)


def _25d(g: int, c: int) -> Mapping[str, int]:
    return {"n": 4 * g, "g": g, "c": c}


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
PROGRAM = (
    """use dense.matmul
use distributed.fft
use distributed.matmul
use distributed.nbody
use distributed.qr
use distributed.sort
use distributed.stencil

algorithm torus(X: int[a*5, b*3], Y: out int[a*5, b*3], a: size, b: size) on grid(i: a, j: b):
    local x: int[5, 3] = X[i*5 ..+ 5, j*3 ..+ 3]
    shift x[0..2, :] along i by j
    shift x[:, 1..3] along j by -i
    output Y[i*5 ..+ 5, j*3 ..+ 3] = x

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

algorithm tree(X: real[a*4, b*6], Y: out real[a*4, b*6], a: size, b: size) on grid(i: a, j: b):
    local x: real[4, 6] = X[i*4 ..+ 4, j*6 ..+ 6]
    broadcast x[:, 2] along j from b - 1 using tree
    reduce x[1..3, :] along i onto 0 with max using tree
    reduce x along i, j onto a*b//2 with + using tree
    output Y[i*4 ..+ 4, j*6 ..+ 6] = x

algorithm total(x: inout local int[w], y: out local real[w, 2], e: index) on grid(t: P):
    for u in 0..w:
        y[u, 0] = real_of(x[u])
        y[u, 1] = 0.5
    shift y along t by e
    shift x along t by -e

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

algorithm nothing(X: real[P], Y: out real[P]) on grid(t: P):
    local x: real = 0
    input x = X[t]
    exchange to ((t + 1)%P) from ((t - 1)%P)
    local y: real[0]
    shift y along t by 1
    shift x along t by P
    x += 1.0
    output Y[t] = x

algorithm nodes(X: real[P*4], Y: out real[P*4], a: size, b: size) on grid(i: a, u: b within node):
    let t = i*b + u
    local x: real[4] = X[t*4 ..+ 4]
    shift x along u by 1
    shift x[1..4] along i by 1
    output Y[t*4 ..+ 4] = x

algorithm unequal(X: real[P, m], Y: out real[P, P*m], m: size) on grid(t: P):
    local x: real[m] = X[t, :]
    local c: int[P] = 0
    c[(t + 1)%P] = 1
    c[t//2] += m - 1
    local y: real[P*m] = 0.0
    alltoall x along t into y counts c
    output Y[t, :] = y

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

algorithm long(x: inout local real[w], y: inout local int[w]) on grid(t: P):
    shift x along t by 1
    shift y along t by -1

extern smooth(a: real) -> real costs 3 flops

algorithm same(X: real[n], Y: out real[P]) on grid(t: P):
    local x: real[n] = X
    local s: real = 0
    for u in 0..n*(t + 1):
        s += smooth(x[u//(t + 1)])
    output Y[t] = s

algorithm double(x: inout real[n]):
    for u in 0..n:
        x[u] += x[u]

algorithm doubled(x: inout local real[w], y: inout local int[2]) on grid(t: P):
    double(x)
    shift x along t by 1
    shift y along t by 1
    double(x[0..2])
"""
    + RING
)
FAILURES = """
algorithm other_sizes(X: real[P]) on grid(t: P):
    local x: real[t + 1] = 0
    local y: real[3] = 0
    exchange x to ((t + 1)%P) into y from ((t - 1)%P)

algorithm all_wait(X: real[P]) on grid(t: P):
    local x: real = 0
    for k in 0..2:
        shift x along t by 1
    if t > 0:
        receive x from (t - 1)
    if t < P - 1 and t > 0:
        send x to (t + 1)

algorithm lost(X: real[P]) on grid(t: P):
    local x: real = 0
    if t == 2:
        send x to (0)
    if t > P:
        receive x from (0)

algorithm outside(X: real[P]) on grid(t: P):
    local x: real[2] = 0
    shift x along t by 1
    x[t] += 1.0
    shift x along t by 1

algorithm no_partner(X: real[P]) on grid(t: P):
    local x: real[2] = 0
    exchange x to (t + 1) into x from (t - 1)

algorithm not_set(X: real[P]) on grid(t: P):
    local x: real[2]
    shift x along t by 1

algorithm output_twice(X: out real[P]) on grid(t: P):
    local x: real = 0
    output X[t//2] = x

algorithm output_again(X: out real[P]) on grid(t: P):
    local x: real = 0
    output X[t] = x
    shift x along t by 1
    output X[t] = x
"""


def grid(p: int) -> Mapping[str, int]:
    return {"a": rows(p), "b": p // rows(p)}


CASES = [
    Case("ring", lambda p: {"n": 5 * p}),
    # In messages of two words at most; plain until the steps are used up; compiled, which counts the same.
    Case("ring", lambda p: {"n": 5 * p, "K": 2}),
    Case("ring", lambda p: {"n": 900 * p} if p == 3 else None, {"compiled": None}),
    Case("doubled", lambda p: {"w": 3} if p == 3 else None, {"compiled": True}),
    Case("torus", grid),
    Case("registers"),
    Case("tree", grid),
    Case("total", lambda _: {"w": 3, "e": 3}),
    Case("crossed"),
    Case("nothing"),
    Case("nodes", grid),
    Case("unequal", lambda _: {"m": 4}),
    Case("halves", lambda p: {"w": 3} if p & (p - 1) == 0 else None),
    Case("long", lambda _: {"w": 30_000}),
    Case("same", lambda _: {"n": 4}),
    Case("matmul_25d", lambda p: {1: _25d(1, 1), 4: _25d(2, 1), 8: _25d(2, 2), 16: _25d(4, 1)}.get(p)),
    Case("samplesort", lambda p: {"n": 4 * p * p, "v": 2}),
    Case("fft_bruck", lambda p: {"n": 4 * p * p} if p & (p - 1) == 0 else None),
    Case(
        "jacobi_torus", lambda p: {"n": 2 * rows(p), "m": 3 * p // rows(p), "g": rows(p), "h": p // rows(p), "steps": 3}
    ),
    Case("tsqr", lambda p: {"n": 4 * p, "m": 2}),
    Case("nbody_replicated", lambda p: {"n": 2 * p, "c": 2 if p % 4 == 0 else 1, "f": 5}),
]


Job = tuple[Module, s.Algorithm, dict[str, Any], dict[str, Any]]
"""A checked program, its algorithm, the arguments, the options of the run."""


def jobs(p: int) -> list[Job]:
    """What is run on p processors, on generated data; the programs that fail too on 4."""
    program = load_text(PROGRAM)
    found = [_job(program, case, sizes, p) for case in CASES if (sizes := case.sizes(p)) is not None]
    if p == 4:
        failing = load_text(FAILURES)
        found += [_job(failing, Case(name), {}, p) for name in failing.algorithms]
    return found


def _job(module: Module, case: Case, sizes: Mapping[str, int], p: int) -> Job:
    algorithm = module.visible[case.algorithm]
    symbols = {symbol: sizes[symbol] for symbol in ("K", "f") if symbol in sizes}
    own = {size: value for size, value in sizes.items() if size not in symbols}
    data = generate_arguments(module, algorithm, {**own, "P": p}, seed=1)
    return module, algorithm, {**data, **symbols}, {"compiled": False, **case.options}


def outcomes(some: Sequence[Job], **options: Any) -> list[tuple[Any, ...]]:
    """The name, outputs and counts of each, or the name and the error as it is printed."""
    return [(job[1].name, *_outcome(*job[:3], {**job[3], **options})) for job in some]


def _outcome(module: Module, algorithm: s.Algorithm, data: dict[str, Any], options: dict[str, Any]) -> tuple[Any, ...]:
    try:
        run = execute(module, algorithm, data, **options)
    except ArchlineError as problem:
        return (str(problem),)
    outputs = {name: (array.dtype.str, array.tolist()) for name, array in run.outputs.items()}
    return outputs, run.counts, run.sizes, run.compiled


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
    found = outcomes(pickle.loads(Path(sys.argv[1]).read_bytes()), engine="mpi", timeout=0.2)
    if read_rank() == 0:
        Path(sys.argv[2]).write_bytes(pickle.dumps(found))
