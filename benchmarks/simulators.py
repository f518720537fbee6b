"""The cache simulators against pycachesim, on the trace of the i, j, k matrix multiplication.

    python benchmarks/simulators.py                         # 1.006e8 accesses, 8 words a line
    python benchmarks/simulators.py --line 1 --capacities 4096

The trace is that of C[i, j] += A[i, k] * B[k, j]: four accesses an iteration, the last one a write. Our
simulators take all of it, as a numpy array, with its writes for the optimum and LRU. pycachesim, fully
associative under LRU, takes a prefix as prepared Python lists, whose preparation is not timed, in two forms:
one access an item, and all four accesses of an iteration an item, which only a trace with such a pattern
allows. The counts of both on the prefix must agree. Rates are millions of accesses a second of processor
time, of the fastest of `--repeat` runs; compilation is timed apart. Needs the extra `bench`.
"""

from __future__ import annotations

import argparse
import resource

import numpy as np
from common import Peer, machine, parsed, seconds

from archline.execution.cache import lru, optimal, stack_distances


def matmul_trace(n: int, words: int) -> tuple[np.ndarray, np.ndarray]:
    """The lines (int32) and the writes (bool) of 4*n^3 accesses; rows start on line boundaries."""
    row = -(-n // words)
    index = np.arange(n, dtype=np.int32)
    line = index[:, None] * row + index[None, :] // words
    lines = np.empty((n, n, n, 4), np.int32)
    lines[..., 0] = line[:, None, :]
    lines[..., 1] = n * row + line.T[None, :, :]
    lines[..., 2] = lines[..., 3] = 2 * n * row + line[:, :, None]
    writes = np.zeros((n, n, n, 4), bool)
    writes[..., 3] = True
    return lines.reshape(-1), writes.reshape(-1)


def report(options: argparse.Namespace) -> None:
    """Measure, and print one row a capacity."""
    few, flags = matmul_trace(4, options.line)
    print(machine())
    compilation = seconds(lambda: (optimal(few, 1, flags), lru(few, 1, flags), stack_distances(few)), 1)
    print(f"compilation, or loading what was compiled before: {compilation:.2f} s")
    lines, writes = matmul_trace(options.n, options.line)
    millions = len(lines) / 1e6
    prefix = min(options.prefix // 4 * 4, len(lines))
    peer = Peer(lines[:prefix], writes[:prefix], options.repeat)
    distances = millions / seconds(lambda: stack_distances(lines), options.repeat)
    print(f"{len(lines)} accesses, {options.line} words a line; pycachesim on the first {prefix}")
    print(f"LRU stack distances, every size in one pass: {distances:.0f} million accesses a second")
    print("ratios: to pycachesim with one access an item / with four")
    print(f"{'lines':>6} {'pycachesim':>14} {'LRU':>5} {'optimal':>8} {'':8}", end="")
    print(f"{'LRU':>10} {'optimal':>12} {'distances':>12}")
    for capacity in options.capacities:
        one, four = peer.rates(capacity)
        recent = millions / seconds(lambda size=capacity: lru(lines, size, writes), options.repeat)
        best = millions / seconds(lambda size=capacity: optimal(lines, size, writes), options.repeat)
        print(f"{capacity:6} {one:6.2f} /{four:6.2f} {recent:5.0f} {best:8.0f} {'ratios:':>8}", end="")
        for ours in (recent, best, distances):
            print(f"{ours / one:6.0f} /{ours / four:4.0f}", end="")
        print(flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"peak memory of the process, trace and lists included: {peak:.2f} GiB")


def main() -> None:
    """Read the options and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=293, help="rows and columns; 4*n^3 accesses")
    parser.add_argument("--line", type=int, default=8, help="words a line")
    parser.add_argument("--capacities", type=int, nargs="+", default=[512, 4096, 32768], help="lines")
    parser.add_argument("--prefix", type=int, default=1_000_000, help="accesses for pycachesim")
    parser.add_argument("--repeat", type=int, default=3, help="runs, of which the fastest counts")
    report(parsed(parser, n=8, repeat=1, prefix=400, capacities=[16]))


if __name__ == "__main__":
    main()
