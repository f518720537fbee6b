"""What the benchmarks share: timing, the machine's description, and pycachesim as the peer of the simulators."""

from __future__ import annotations

import argparse
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "analyzer"))

from archline.execution.cache import CacheResult, lru  # noqa: E402

LINE_BYTES = 64


def machine() -> str:
    """Processor, number of logical processors and Python, in one line."""
    model = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.exists():
        lines = information.read_text(encoding="utf-8").splitlines()
        models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
        model = f"{len(models)} x {models[0]}" if models else model
    return f"{model}, {platform.system()}, Python {platform.python_version()}"


def times(run: Callable[[], Any], repeat: int, clock: Callable[[], float] = time.process_time) -> list[float]:
    """The seconds of each of `repeat` runs, in increasing order.

    They are of processor time, all threads of this process together, which other load on the machine disturbs less.
    """
    found = []
    for _ in range(repeat):
        start = clock()
        run()
        found.append(clock() - start)
    return sorted(found)


def seconds(run: Callable[[], Any], repeat: int) -> float:
    """The processor time of the fastest of `repeat` runs."""
    return times(run, repeat)[0]


def parsed(parser: argparse.ArgumentParser, **smallest: Any) -> argparse.Namespace:
    """The options; with `--smallest` those given here have these values, and `smallest` says so."""
    parser.add_argument("--smallest", action="store_true", help="the smallest input, to see that all of it runs")
    options = parser.parse_args()
    if options.smallest:
        vars(options).update(smallest)
    return options


class Peer:
    """pycachesim, fully associative under LRU, on a prefix of a trace with four accesses an iteration.

    It takes prepared Python lists, whose preparation is not timed, in two forms: one access an item, and all four
    accesses of an iteration an item, which only a trace with such a pattern allows.
    """

    def __init__(self, lines: np.ndarray, writes: np.ndarray, repeat: int) -> None:
        self._lines, self._writes, self._repeat = lines, writes, repeat
        addresses = (lines.astype(np.int64) * LINE_BYTES).tolist()
        self._ones = [
            ((), (address,)) if write else ((address,), ())
            for address, write in zip(addresses, writes.tolist(), strict=True)
        ]
        self._fours = [((a, b, c), (d,)) for a, b, c, d in np.array(addresses).reshape(-1, 4).tolist()]

    def rates(self, capacity: int) -> tuple[float, float]:
        """Millions of accesses a second with one access an item, and with four.

        The counts of both must be those of our own LRU on the prefix; else the process ends.
        """
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
