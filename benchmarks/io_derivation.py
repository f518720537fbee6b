"""How long it takes to bound io, upper and lower bounds with all regimes, for each algorithm of the library.

    python benchmarks/io_derivation.py                      # targets: 150 ms for loops, 600 ms for recursion
    python benchmarks/io_derivation.py --only polybench

Processor time, the best of several runs once all is imported. Each run reads the program anew, which is not counted,
so that nothing is left from the one before.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

from common import ROOT, machine

from archline.analysis.io.derive import io_cost
from archline.analysis.recursion.graph import recurses
from archline.cli.main import collect_seldom
from archline.language.loader import load_path

TARGETS = {"loops": 0.150, "recursion": 0.600}


def algorithms() -> Iterator[tuple[str, Path, str]]:
    """The kind, file and name of every algorithm, alone or calling others."""
    for path in sorted((ROOT / "stdlib").rglob("*.algo")):
        module = load_path(path)
        for each in module.algorithms.values():
            yield "recursion" if recurses(module, each) else "loops", path, each.name


def seconds(path: Path, name: str, repeat: int) -> float:
    """The least time of several derivations."""
    found = []
    for _ in range(repeat):
        module = load_path(path)
        start = time.process_time()
        io_cost(module, module.algorithms[name])
        found.append(time.process_time() - start)
    return min(found)


def main() -> None:
    """Read the options and print the report."""
    collect_seldom()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=3, help="runs, of which the fastest counts")
    parser.add_argument("--only", default="", help="files with this in their path")
    options = parser.parse_args()
    print(machine())
    spent: dict[str, list[tuple[float, str]]] = {kind: [] for kind in TARGETS}
    for kind, path, name in algorithms():
        if options.only in str(path):
            spent[kind].append((seconds(path, name, options.repeat), f"{path.stem}::{name}"))
    for kind, found in spent.items():
        above = sorted(each for each in found if each[0] > TARGETS[kind])
        if found:
            middle = statistics.median(each for each, _ in found) * 1e3
            print(f"{kind}: {len(found)}, median {middle:.0f} ms, {len(above)} above {TARGETS[kind] * 1e3:.0f} ms")
        for each, name in reversed(above):
            print(f"  {name:40} {each * 1e3:7.0f} ms")


if __name__ == "__main__":
    main()
