"""How long it takes to bound io, upper and lower bounds with all regimes, for each algorithm of the library.

    python benchmarks/io_derivation.py                      # targets: 150 ms for loops, 600 ms for recursion
    python benchmarks/io_derivation.py --only polybench

Processor time, the best of several runs once all is imported. Each run reads the program anew, which is not counted,
so that nothing is left from the one before. What spare lines could do is found when both bounds are first asked for at
sizes; that takes the time behind.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from common import ROOT, machine, parsed

from archline.analysis.cache.analyse import derive_io_cost
from archline.analysis.cache.samples import choose_sample_points
from archline.analysis.cost import enclose_cost
from archline.cli.main import reduce_garbage_collection
from archline.expr.intervals import EvaluationError
from archline.ir.declarations import declared_scope
from archline.language.call_graph import has_recursion
from archline.language.loader import load_path

LINES = 64
TARGETS = {"loops": 0.150, "recursion": 0.600}


def algorithms() -> Iterator[tuple[str, Path, str]]:
    """The kind, file and name of every algorithm, alone or calling others."""
    for path in sorted((ROOT / "stdlib").rglob("*.algo")):
        module = load_path(path)
        for each in module.algorithms.values():
            yield "recursion" if has_recursion(module, each) else "loops", path, each.name


def seconds(path: Path, name: str, repeat: int) -> tuple[float, float]:
    """The least time of several derivations, and of the first values at sizes."""
    derived, valued = [], []
    for _ in range(repeat):
        module = load_path(path)
        algorithm = module.algorithms[name]
        *_, point = {"L": 1}, *choose_sample_points(algorithm, declared_scope(module, algorithm))
        start = time.process_time()
        cost = derive_io_cost(module, algorithm)
        derived.append(time.process_time() - start)
        with suppress(EvaluationError):
            enclose_cost(cost, {**point, "Z": LINES * point["L"]})
        valued.append(time.process_time() - start - derived[-1])
    return min(derived), min(valued)


def main() -> None:
    """Read the options and print the report."""
    reduce_garbage_collection()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=3, help="runs, of which the fastest counts")
    parser.add_argument("--only", default="", help="files with this in their path")
    options = parsed(parser, repeat=1, only="scan")
    print(machine())
    spent: dict[str, list[tuple[float, str, float]]] = {kind: [] for kind in TARGETS}
    for kind, path, name in algorithms():
        if options.only in str(path):
            derived, valued = seconds(path, name, options.repeat)
            spent[kind].append((derived, f"{path.stem}::{name}", valued))
    for kind, found in spent.items():
        above = sorted(each for each in found if each[0] > TARGETS[kind])
        if found:
            middle, first = (statistics.median(each[place] for each in found) * 1e3 for place in (0, 2))
            print(f"{kind}: {len(found)}, median {middle:.0f} ms, {len(above)} above {TARGETS[kind] * 1e3:.0f} ms;")
            print(f"  first values {first:.0f} ms, at most {max(each[2] for each in found) * 1e3:.0f} ms")
        for each, name, valued in reversed(above):
            print(f"  {name:40} {each * 1e3:7.0f} ms {valued * 1e3:7.0f} ms")


if __name__ == "__main__":
    main()
