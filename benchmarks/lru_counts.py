"""How long exact LRU counts take (extra `isl`): Haystack's matrix product, and the library's kernels in sizes.

    python benchmarks/lru_counts.py --limit 60

The product is that of T. Gysi et al. (PLDI 2019): 1024^3 floats in lines of 64 bytes, with the figures they publish.
The same accesses one by one would take our simulator of LRU stack distances 19 s, at its 223 million a second
(docs/developers/performance.md). Times are those of a clock on the wall, the process that counts included.
"""

from __future__ import annotations

import argparse
import time

from common import parsed
from derivation import library

import archline as al
from archline.analysis.cache.lru.client import LruUnavailable, derive_lru_counts
from archline.analysis.cache.lru.distribution import LruCounts


def gemm() -> None:
    algorithm = al.load("polybench.gemm")["gemm"]
    start = time.perf_counter()
    counts = derive_lru_counts(algorithm.module, algorithm.node, {"ni": 1024, "nj": 1024, "nk": 1024, "L": 16})
    spent = time.perf_counter() - start
    assert isinstance(counts, LruCounts)
    curve = counts.at({})
    capacity = [(curve.misses(lines) or 0) - curve.first for lines in (512, 8192)]
    print(f"gemm, 1024^3: {curve.accesses} accesses, {curve.first} compulsory misses, {capacity} more")
    print(f"  with 512 and 8192 lines, in {spent:.2f} s")


def kernels(line: int, limit: float, only: str) -> None:
    print(f"in sizes, L = {line}:")
    for target, each in library().items():
        if only not in target:
            continue
        start = time.perf_counter()
        found = derive_lru_counts(each.module, each.node, {"L": line}, limit)
        spent = time.perf_counter() - start
        if not isinstance(found, LruUnavailable):
            rows = len(found.settled) + len(found.ranged)
            print(f"  {target:45} {spent:6.2f} s, {rows} distances, {len(found.open)} not affine")
        elif spent > 1:
            print(f"  {target:45} {spent:6.2f} s, {found.reason}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=float, default=60, help="seconds for each kernel (default: 60)")
    parser.add_argument("--only", default="", help="algorithms with this in their names")
    options = parsed(parser, only="gemv")
    gemm()
    for line in (1, 8):
        kernels(line, options.limit, options.only)


if __name__ == "__main__":
    main()
