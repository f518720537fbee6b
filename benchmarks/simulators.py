"""The cache simulators against pycachesim, on the trace of the i, j, k matrix multiplication.

    python benchmarks/simulators.py                         # 1.006e8 accesses, 8 words a line
    python benchmarks/simulators.py --line 1 --capacities 4096

The trace is that of C[i, j] += A[i, k] * B[k, j]: four accesses an iteration, the last one a write. Our
simulators take all of it, as a numpy array, with its writes for the optimum and LRU. pycachesim, fully
associative under LRU, takes a prefix as prepared Python lists, whose preparation is not timed, in two forms:
one access an item, and all four accesses of an iteration an item, which only a trace with such a pattern
allows. The counts of both on the prefix must agree. Rates are millions of accesses a second, of the fastest
of `--repeat` runs; compilation is timed apart. Needs the extra `bench`.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "analyzer"))

from archline.execution.cache import CacheResult, lru, optimal, stack_distances

LINE_BYTES = 64


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


def seconds(run: Callable[[], Any], repeat: int) -> float:
    """The time of the fastest of `repeat` runs."""
    fastest = float("inf")
    for _ in range(repeat):
        start = time.perf_counter()
        run()
        fastest = min(fastest, time.perf_counter() - start)
    return fastest


class Peer:
    """pycachesim on a prefix of the trace."""

    def __init__(self, lines: np.ndarray, writes: np.ndarray, repeat: int) -> None:
        self._lines, self._writes, self._repeat = lines, writes, repeat
        addresses = (lines.astype(np.int64) * LINE_BYTES).tolist()
        self._ones = [
            ((), (address,)) if write else ((address,), ())
            for address, write in zip(addresses, writes.tolist(), strict=True)
        ]
        self._fours = [((a, b, c), (d,)) for a, b, c, d in np.array(addresses).reshape(-1, 4).tolist()]

    def rates(self, capacity: int) -> tuple[float, float]:
        """Millions of accesses a second with one access an item, and with four."""
        expected = lru(self._lines, capacity, self._writes)
        return self._rate(self._ones, capacity, expected), self._rate(self._fours, capacity, expected)

    def _rate(self, items: list[Any], capacity: int, expected: CacheResult) -> float:
        import cachesim

        fastest = float("inf")
        for _ in range(self._repeat):
            memory = cachesim.MainMemory()
            cache = cachesim.Cache("cache", 1, capacity, LINE_BYTES, "LRU")
            memory.load_to(cache)
            memory.store_from(cache)
            simulator = cachesim.CacheSimulator(cache, memory)
            fastest = min(fastest, seconds(lambda ready=simulator: ready.loadstore(items, length=8), 1))
            simulator.force_write_back()
            first, last = simulator.stats()
            counts = CacheResult(first["MISS_count"], last["STORE_count"])
            if counts != expected:
                raise SystemExit(f"{capacity} lines: pycachesim counts {counts}, archline {expected}")
        return len(self._lines) / fastest / 1e6


def report(options: argparse.Namespace) -> None:
    """Measure, and print one row a capacity."""
    few, flags = matmul_trace(4, options.line)
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
    report(parser.parse_args())


if __name__ == "__main__":
    main()
