"""The compiled executor, with trace and optimal simulation, against pycachesim simulating the same trace.

    python benchmarks/executor.py                           # matmul of n = 256: 6.7e7 accesses

Ours: a call of `execute` that runs the i, j, k matrix multiplication of the standard library on data, counts flops,
work and span, records every access, and counts io and write-backs under optimal replacement. pycachesim: the bare
simulation, under LRU, of the first accesses of that trace, prepared as Python lists; its rate is taken for the whole.
Its counts on these accesses must be those of our LRU. Then the same program with LRU beside it, which keeps no trace,
and a loop written by hand that multiplies and simulates LRU at once, compiled by numba. Times are processor time of
the fastest of `--repeat` runs;
compiling the program and the simulators, in a first run, is reported apart. Needs the extra `bench`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from common import Peer, machine, parsed, seconds

from archline.execution.results import Cache, Run
from archline.execution.run import execute
from archline.language.loader import load_target

TARGET = "dense.matmul::matmul_ijk"


def by_hand() -> Callable[..., tuple[int, int]]:
    """A loop that multiplies n x n matrices, rows of which are on lines of their own, and counts what LRU fetches."""
    import numba

    @numba.njit(error_model="numpy")
    def multiply(
        a: Any, b: Any, c: Any, n: int, row: int, shift: int, latest: Any, ring: Any, capacity: int
    ) -> tuple[int, int]:
        io = written = held = oldest = now = 0
        last = -1
        for i in range(n):
            for j in range(n):
                for k in range(n):
                    c[i * row + j] += a[i * row + k] * b[k * row + j]
                    for array in range(3):
                        line = i * row + k
                        if array == 1:
                            line = (n + k) * row + j
                        elif array == 2:
                            line = (2 * n + i) * row + j
                        line >>= shift
                        if line == last:
                            continue
                        last = line
                        known = latest[line]
                        if known == 0:
                            io += 1
                            if held < capacity:
                                held += 1
                            else:
                                while latest[ring[oldest]] >> 1 != oldest + 1:
                                    oldest += 1
                                written += latest[ring[oldest]] & 1
                                latest[ring[oldest]] = 0
                                oldest += 1
                        if now == len(ring):
                            now = 0
                            for place in range(oldest, len(ring)):
                                kept = ring[place]
                                if latest[kept] >> 1 == place + 1:
                                    ring[now] = kept
                                    now += 1
                                    latest[kept] = 2 * now + (latest[kept] & 1)
                            oldest = 0
                        ring[now] = line
                        now += 1
                        latest[line] = 2 * now + ((known & 1) | (array == 2))
        return io, written

    return multiply


def beside(options: argparse.Namespace) -> None:
    """The program with LRU beside it, and the loop by hand: both count the same lines."""
    module, algorithm = load_target(TARGET)
    assert algorithm is not None
    n, line, capacity = options.n, options.line, options.capacity
    cache = Cache(Z=capacity * line, L=line, policy="lru")
    arguments = {name: np.ones((n, n)) for name in "ABC"}
    row, counted, multiply = -(-n // line) * line, set(), by_hand()
    matrices = [np.ones(n * row) for _ in range(3)]

    def ours() -> None:
        counted.add(execute(module, algorithm, arguments, cache=cache, compiled=True, progress=False).counts.io)

    def theirs() -> None:
        latest, ring = np.zeros(3 * n * row // line + 1, np.int32), np.empty(4 * capacity + 4096, np.int32)
        counted.add(multiply(*matrices, n, row, line.bit_length() - 1, latest, ring, capacity)[0])

    taken = [(seconds(run, 1), seconds(run, options.repeat))[1] for run in (ours, theirs)]
    if len(counted) > 1:
        raise SystemExit(f"LRU fetches {counted} lines")
    rates = [4e-6 * n**3 / each for each in taken]
    print(f"with LRU beside it: {rates[0]:.0f} million accesses a second, by hand {rates[1]:.0f}; ", end="")
    print(f"ratio {rates[0] / rates[1]:.2f}")


def report(options: argparse.Namespace) -> None:
    """Measure, and print the rates and their ratio."""
    module, algorithm = load_target(TARGET)
    assert algorithm is not None
    n, cache = options.n, Cache(Z=options.capacity * options.line, L=options.line)
    rng = np.random.default_rng(0)
    arguments = {name: rng.random((n, n)) for name in "ABC"}

    def timed(trace: bool = False) -> tuple[float, Run]:
        start = time.process_time()
        run = execute(module, algorithm, arguments, cache=cache, trace=trace, compiled=True, progress=False)
        return time.process_time() - start, run

    print(machine())
    first, _ = timed()
    ours, run = min((timed() for _ in range(options.repeat)), key=lambda pair: pair[0])
    accesses = run.counts.accesses
    print(f"{TARGET}, n = {n}: {accesses} accesses; {options.capacity} lines of {options.line} words, optimal")
    print(f"compilation, or loading what was compiled before, in the first run: {max(0.0, first - ours):.2f} s")
    print(f"executed, traced and simulated: {ours:.2f} s, {accesses / ours / 1e6:.1f} million accesses a second")
    print(f"  on the wall: execution with trace {run.seconds:.2f} s, simulation {run.cache_seconds:.2f} s")
    np.testing.assert_allclose(run.outputs["C"], arguments["C"] + arguments["A"] @ arguments["B"])

    trace = timed(trace=True)[1].trace
    assert trace is not None
    prefix = min(options.prefix // 4 * 4, accesses)
    peer = Peer(trace.lines[:prefix].copy(), trace.writes[:prefix].astype(bool), options.repeat)
    one, four = peer.rates(options.capacity)
    print(f"pycachesim on the first {prefix}: {one:.2f} million accesses a second, {four:.2f} with four an item")
    rate = accesses / ours / 1e6
    print(f"ratio: {rate / one:.1f} and {rate / four:.1f}")


def main() -> None:
    """Read the options and print the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=256, help="rows and columns; 4*n^3 accesses")
    parser.add_argument("--line", type=int, default=8, help="words a line")
    parser.add_argument("--capacity", type=int, default=4096, help="lines")
    parser.add_argument("--prefix", type=int, default=1_000_000, help="accesses for pycachesim")
    parser.add_argument("--repeat", type=int, default=3, help="runs, of which the fastest counts")
    options = parsed(parser, n=8, repeat=1, prefix=400)
    beside(options)
    report(options)


if __name__ == "__main__":
    main()
