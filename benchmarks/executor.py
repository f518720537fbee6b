"""The compiled executor, with trace and optimal simulation, against pycachesim simulating the same trace.

    python benchmarks/executor.py                           # matmul of n = 256: 6.7e7 accesses

Ours: a call of `execute` that runs the i, j, k matrix multiplication of the standard library on data, counts flops,
work and span, records every access, and counts io and write-backs under optimal replacement. pycachesim: the bare
simulation, under LRU, of the first accesses of that trace, prepared as Python lists; its rate is taken for the whole.
Its counts on these accesses must be those of our LRU. Times are processor time of the fastest of `--repeat` runs;
compiling the program and the simulators, in a first run, is reported apart. Needs the extra `bench`.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from common import Peer, machine, parsed

from archline.execution.results import Cache, Run
from archline.execution.run import execute
from archline.language.loader import load_target

TARGET = "dense.matmul::matmul_ijk"


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
    report(parsed(parser, n=8, repeat=1, prefix=400))


if __name__ == "__main__":
    main()
