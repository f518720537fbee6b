"""How tight closed bounds of recursions are: the worst upper/lower over sizes, for each algorithm and metric.

    python benchmarks/tightness.py                          # the standard library, as a table
    python benchmarks/tightness.py --generated 200          # generated programs: unknown, exact and factors by kind

An exact closed form has the factor 1. Sizes are above those of the leaves: powers of 2, their neighbours, odd ones and
unequal ones; of two or three sizes also ones of 1 beside ones of 2^60. Beside upper/lower stand upper/count and
count/lower where the recurrence gives the count itself. A lower bound of 0 under a count or an upper bound above 0 has
no factor.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import inf

from common import ROOT, machine, parsed

sys.path.insert(0, str(ROOT / "tests" / "support"))

from archline.algebra.evaluate.exact import evaluate
from archline.analysis.analyse import derive
from archline.analysis.cost import Cost
from archline.cli.main import reduce_garbage_collection
from archline.expr.intervals import EvaluationError
from archline.expr.values import evaluate_fact
from archline.language import syntax as s
from archline.language.call_graph import has_recursion
from archline.language.loader import load_path, load_text
from archline.language.model import Module

SIZES = (17, 18, 24, 31, 32, 33, 47, 63, 64, 65, 96, 100, 127, 128, 129, 255, 256, 257, 500, 1000, 1024, 1025)
RATIOS = ((1, 1, 1), (1, 2, 1), (4, 1, 1), (1, 1, 8), (1, 3, 5))
UNEQUAL = (1, 2, 4, 16, 17, 31, 33, 1 << 10, (1 << 40) + 1, 1 << 60)
"""Two and three sizes take these in every combination with one above those of leaves."""
LEAF = 16
SLOW = 3.0
"""Seconds; a derivation that takes longer is named."""
Sizes = Mapping[str, int]


@dataclass(frozen=True)
class Factors:
    """The worst factors over the sizes: between the bounds, and of each bound to the count where that is known."""

    between: float
    upper: float | None
    lower: float | None

    def __str__(self) -> str:
        parts = [_shown(self.between), *(_shown(each) for each in (self.upper, self.lower) if each is not None)]
        return " ".join(f"{part:>9}" for part in parts)


def factors(cost: Cost, points: Sequence[Sizes]) -> Factors | None:
    """The worst factors at the points; None where none can be evaluated."""
    assert cost.lower is not None
    assert cost.upper is not None
    between, upper, lower = [], [], []
    for point in points:
        try:
            low, high = evaluate(cost.lower, point), evaluate(cost.upper, point)
        except EvaluationError:
            continue
        between.append(_factor(high, low))
        if (counts := _counts(cost, point)) is not None:
            lower.append(_factor(counts[0], low))
            upper.append(_factor(high, counts[1]))
    if not between:
        return None
    return Factors(max(between), max(upper, default=None), max(lower, default=None))


def _counts(cost: Cost, point: Sizes) -> tuple[Fraction, Fraction] | None:
    """The least and the greatest count; None where the recurrence does not give it, or takes too many steps."""
    try:
        return None if cost.interval_at is None else cost.interval_at(point).ends
    except EvaluationError:
        return None


def _factor(large: Fraction, small: Fraction) -> float:
    if large == small:
        return 1.0
    return float(large / small) if small > 0 else inf


def _shown(factor: float) -> str:
    return "-" if factor == inf else f"{factor:.4g}"


def points(module: Module, algorithm: s.Algorithm) -> list[Sizes]:
    """Sizes of an algorithm that its declaration allows."""
    signature = module.signatures[algorithm]
    if signature.indices:
        return []
    names = signature.size_names
    found = [
        dict(zip(names, (size * ratio for ratio in (*ratios, *(1 for _ in names))), strict=False))
        for size in SIZES
        for ratios in (RATIOS if len(names) > 1 else RATIOS[:1])
    ]
    if len(names) in (2, 3):
        found += [
            dict(zip(names, sizes, strict=True)) for sizes in product(UNEQUAL, repeat=len(names)) if max(sizes) > LEAF
        ]
    return [point for point in found if all(evaluate_fact(fact, point) for fact in algorithm.where)]


def library() -> Iterator[tuple[str, Module, s.Algorithm]]:
    """The recursive part of the standard library, by name; algorithms of other files come with those that use them."""
    for path in sorted((ROOT / "stdlib").rglob("*.algo")):
        module = load_path(path)
        for algorithm in module.algorithms.values():
            if has_recursion(module, algorithm):
                yield algorithm.name, module, algorithm


def table(leave_out: Sequence[str]) -> None:
    """The factors of every algorithm and metric."""
    print(f"{'algorithm':32} {'metric':6} {'':8} {'up/low':>9} {'up/count':>9} {'count/low':>9}")
    done: set[str] = set()
    for name, module, algorithm in library():
        if name in done or name in leave_out:
            continue
        done.add(name)
        start = time.process_time()
        costs = derive(module, algorithm)
        spent = time.process_time() - start
        at = points(module, algorithm)
        for cost in costs:
            found = None if cost.lower is None else factors(cost, at)
            slow = f"   {spent:.1f} s" if spent > SLOW and cost.metric == "flops" else ""
            text = (cost.reason or "")[:70] if cost.lower is None else str(found or "no sizes to evaluate at")
            print(f"{name:32} {cost.metric:6} {cost.status:8} {text}{slow}", flush=True)


def generated(count: int) -> None:
    """By kind of program: how many metrics are unknown and exact, the median and worst factor, and the slowest."""
    from recursive_programs import recursive_program_from_seed

    seen: dict[str, list[Cost]] = defaultdict(list)
    ratios: dict[str, list[float]] = defaultdict(list)
    spent: dict[str, list[float]] = defaultdict(list)
    for number in range(count):
        program = recursive_program_from_seed(number)
        module = load_text(program.text)
        start = time.process_time()
        costs = derive(module, module.algorithms[program.entry])
        spent[program.kind].append(time.process_time() - start)
        for cost in costs:
            seen[program.kind].append(cost)
            at = [] if cost.lower is None else points(module, module.algorithms[program.entry])
            found = factors(cost, at[:40]) if at else None
            ratios[program.kind] += [] if found is None else [found.between]
    print(f"{'kind':12} {'metrics':>8} {'unknown':>8} {'exact':>6} {'up/low: median':>15} {'worst':>9} {'slowest':>9}")
    for kind, known in sorted(seen.items()):
        unknown, exact = (sum(each.status == status for each in known) for status in ("unknown", "exact"))
        middle = _shown(statistics.median(ratios[kind])) if ratios[kind] else ""
        worst = _shown(max(ratios[kind], default=1.0))
        print(f"{kind:12} {len(known):8} {unknown:8} {exact:6} {middle:>15} {worst:>9} {max(spent[kind]):7.1f} s")
    everything = [cost for known in seen.values() for cost in known]
    unknown = sum(cost.status == "unknown" for cost in everything)
    print(f"{unknown} of {len(everything)} metrics of {count} programs are unknown")


def main() -> None:
    """Read the options and print the report."""
    reduce_garbage_collection()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--generated", type=int, metavar="PROGRAMS", help="this many generated programs instead")
    parser.add_argument("--without", action="append", default=[], metavar="NAME", help="leave an algorithm out")
    options = parsed(parser, generated=1)
    print(machine())
    if options.generated:
        generated(options.generated)
    else:
        table(options.without)


if __name__ == "__main__":
    main()
