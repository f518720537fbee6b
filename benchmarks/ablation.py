"""What each mechanism of the upper bounds on io is worth: the library's loops with each switched off in turn.

    python benchmarks/ablation.py                           # every algorithm of the library without recursion
    python benchmarks/ablation.py --every 3                 # every third one
    python benchmarks/ablation.py --only polybench

A kernel is worse, or better, where its upper bound is larger, or smaller, at some capacity of the cache. The factor is
the largest by which a bound grows. The search for plans is cut off, so that switching a mechanism off may help. Time is
processor time of all derivations and values together, once each; it is what the run without the mechanism saves.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import patch

from common import ROOT, machine, parsed

from archline.analysis.cache import analyse as derive
from archline.analysis.cache.analyse import derive_io_cost
from archline.analysis.cache.residency import group, single, stencil
from archline.analysis.cache.upper import allocation as clusters
from archline.analysis.cache.upper.allocation import AllocationPlanner
from archline.analysis.cache.upper.evaluate import RetainClasses, RetainRows
from archline.analysis.cache.upper.split_outer import SplitLoopBound
from archline.analysis.cost import enclose_cost
from archline.cli.main import reduce_garbage_collection
from archline.expr.intervals import EvaluationError
from archline.expr.values import evaluate_fact
from archline.language import syntax as s
from archline.language.call_graph import has_recursion
from archline.language.loader import load_path

SIZES = (40, 41, 32, 36)
"""All sizes of a kernel are the first of these that its facts allow."""
LINE, CAPACITIES = 8, (4, 8, 16, 32, 64, 128, 256, 512, 1024)
"""Words of a line, and lines of the cache."""
Patch = tuple[object, str, Callable[..., Any]]
Bounds = Mapping[int, Fraction]


def _none(*_: object) -> None:
    return None


def _nothing(*_: object) -> tuple[()]:
    return ()


def _no_potential(*_: object) -> tuple[float, None]:
    return 0.0, None


def _unparted(_phases: object, _point: object, _least: int, most: int) -> int:
    return most


BY_CLASS: Patch = (RetainClasses, "estimate_potential", _no_potential)
BY_ROW: Patch = (RetainRows, "estimate_potential", _no_potential)
PHASES: Patch = (SplitLoopBound, "at", _unparted)
MECHANISMS: Mapping[str, tuple[Patch, ...]] = {
    "everything: all that is touched fits": ((derive, "derive_total_footprint", _none),),
    "one_line: the line of the last access": ((single, "derive_last_line_residency", _nothing),),
    "walks: rows picked by the data, read in order": (
        (single, "derive_pointer_line_residency", _nothing),
        (clusters, "derive_monotone_walk_residency", _none),
    ),
    "in_windows: joint windows of references": ((clusters, "iterate_window_residencies", _nothing),),
    "sweeping: windows that move across rows": ((stencil, "iterate_stencil_residencies", _nothing),),
    "continued: from one loop to the next": ((group, "derive_row_with_next_element_residency", _none),),
    "turns: loops that read rows in turn": (
        (group, "derive_interleaved_residency", _none),
        (group, "derive_interleaved_line_residency", _none),
    ),
    "beside, up_to: elements next to a row": (
        (stencil, "derive_pinned_row_residency", _none),
        (stencil, "derive_row_prefix_residency", _none),
    ),
    "narrow: plans for a few lines": ((AllocationPlanner, "_fill_small_capacities", _nothing),),
    "phases: an outer loop in two parts": (PHASES,),
    "pins: spare lines hold part of a window": ((group, "iterate_pinned_windows", _nothing),),
    "by class: spare lines for classes of lines": (BY_CLASS,),
    "by row: spare lines for some rows": (BY_ROW,),
    "by class, by row and phases": (BY_CLASS, BY_ROW, PHASES),
}


@dataclass(frozen=True)
class Kernel:
    """An algorithm of the library, and sizes that it allows."""

    path: Path
    name: str
    sizes: Mapping[str, int]

    def bounds(self) -> Bounds:
        """The upper bound for each number of lines, of a new derivation."""
        module = load_path(self.path)
        cost = derive_io_cost(module, module.algorithms[self.name])
        found: dict[int, Fraction] = {}
        for lines in CAPACITIES if cost.upper is not None else ():
            try:
                found[lines] = enclose_cost(cost, {**self.sizes, "Z": lines * LINE, "L": LINE}).upper
            except EvaluationError:
                continue
        return found


def kernels(only: str, every: int) -> Iterator[Kernel]:
    """Each `every`-th algorithm without recursion that has sizes for its bounds, in files with `only` in their path."""
    found = []
    for path in sorted((ROOT / "stdlib").rglob("*.algo")):
        module = load_path(path)
        for each in module.algorithms.values() if only in str(path) else ():
            names = module.signatures[each].size_names
            sizes = next((sizes for size in SIZES if _allowed(each.where, sizes := dict.fromkeys(names, size))), None)
            if sizes is not None and not each.grid and not has_recursion(module, each):
                found.append(Kernel(path, each.name, sizes))
    yield from found[::every]


def _allowed(facts: Sequence[s.Fact], sizes: Mapping[str, int]) -> bool:
    """Whether no fact is false at the sizes."""
    return all(evaluate_fact(fact, sizes) is not False for fact in facts)


def measured(chosen: Sequence[Kernel], patches: Sequence[Patch] = ()) -> tuple[list[Bounds], float]:
    """The bounds of each kernel with some functions replaced, and the processor time of all."""
    with ExitStack() as stack:
        for where, name, instead in patches:
            stack.enter_context(patch.object(where, name, instead))
        start = time.process_time()
        return [each.bounds() for each in chosen], time.process_time() - start


def grown(before: Bounds, after: Bounds) -> list[Fraction]:
    """By what factor the bound grows at each capacity; 0 where none is left."""
    return [after[lines] / bound if lines in after else Fraction(0) for lines, bound in before.items() if bound]


def main() -> None:
    """Read the options and print the table."""
    reduce_garbage_collection()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="files with this in their path")
    parser.add_argument("--every", type=int, default=1, help="take each so many-th algorithm")
    options = parsed(parser, only="scan/reduce", every=5)
    chosen = list(kernels(options.only, options.every))
    measured(chosen)  # What is imported and compiled on first use counts for none.
    whole, spent = measured(chosen)
    print(machine())
    print(f"{len(chosen)} kernels, {len(CAPACITIES)} capacities, {spent:.1f} s")
    print(f"{'switched off':48} {'worse':>6} {'factor':>7} {'better':>7} {'no bound':>9} {'time saved':>11}")
    for name, patches in MECHANISMS.items():
        found, needed = measured(chosen, patches)
        factors = [grown(*each) for each in zip(whole, found, strict=True)]
        worse = sum(any(each > 1 for each in own) for own in factors)
        better = sum(any(0 < each < 1 for each in own) for own in factors)
        lost = sum(0 in own for own in factors)
        worst = float(max((each for own in factors for each in own), default=1))
        print(f"{name:48} {worse:6} {max(worst, 1):7.2f} {better:7} {lost:9} {1 - needed / spent:11.0%}", flush=True)


if __name__ == "__main__":
    main()
