"""Regimes of io beside kerncraft's layer conditions, on the five-point stencil in two dimensions.

    python benchmarks/layer_conditions.py

kerncraft (J. Hammer, J. Eitzinger, G. Hager, G. Wellein, Kerncraft: a tool for analytic performance modeling of loop
kernels, 2017) reads the stencil in C; `five_point.algo` is the same loop, swept many times. Its conditions compare
numbers of elements with a cache under LRU in the steady state, ours numbers of lines with one under optimal
replacement, from an empty start. So each condition of kerncraft is printed beside the first of our regimes that
fetches as many lines for L iterations of the inner loop, to leading order; and beside both what simulated caches
fetch that have just the room which each asks for. The process ends with an error where one has no partner, or where
optimal replacement fetches more than the regime says. Times are processor time, reading the source included, nothing
kept from one run to the next but what importing left. Needs the extra `bench`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from math import ceil
from typing import Any

from common import ROOT, machine, parsed, times

from archline.algebra.evaluate.exact import evaluate
from archline.analysis.bounds import Bound
from archline.api.costs import CostReport
from archline.api.modules import loads
from archline.execution.cache import CacheResult, lru, optimal
from archline.execution.data import generate_arguments
from archline.execution.results import Trace
from archline.execution.run import execute

SOURCE = (ROOT / "benchmarks" / "five_point.algo").read_text(encoding="utf-8")
STENCIL_IN_C = """
double a[M][N];
double b[M][N];
double s;

for(int j = 1; j < M - 1; ++j) {
    for(int i = 1; i < N - 1; ++i) {
        b[j][i] = s * (a[j][i] + a[j][i - 1] + a[j][i + 1] + a[j - 1][i] + a[j + 1][i]);
    }
}
"""
LINE, WORD_BYTES = 8, 8
LARGE = {"rows": 10**6, "cols": 10**6, "sweeps": 10**6}
SMALL = {"rows": 48, "cols": 400, "sweeps": 4}


@dataclass(frozen=True)
class Layer:
    """A condition, the lines of cache that it asks for at `SMALL`, and those fetched for L iterations."""

    condition: str
    lines: int
    misses: int


def ours() -> CostReport:
    """The io of the stencil, derived anew."""
    report = loads(SOURCE, "five_point.algo")["five_point"].cost()
    assert report.io.status == "bounded"
    return report


def kerncraft_machine(lines: int) -> Any:
    """One cache, described as kerncraft's machine files do."""
    import kerncraft
    from kerncraft.machinemodel import MachineModel

    cache = {"sets": 1, "ways": lines, "cl_size": LINE * WORD_BYTES, "replacement_policy": "LRU"}
    cache |= {"write_allocate": True, "write_back": True}
    levels = [{"level": "L1", "cores per group": 1, "cache per group": cache}, {"level": "MEM", "cores per group": 1}]
    return MachineModel(machine_yaml={"kerncraft version": kerncraft.__version__, "memory hierarchy": levels,
                                      "cores per NUMA domain": 1})  # fmt: skip


def theirs(chosen: Any) -> Any:
    """The layer conditions of kerncraft for the first cache."""
    from kerncraft.cacheprediction import LayerConditionPredictor
    from kerncraft.kernel import KernelCode
    from sympy.core.cache import clear_cache

    clear_cache()
    return LayerConditionPredictor(KernelCode(STENCIL_IN_C, chosen), chosen, symbolic=True).results["cache"][0]


def layers() -> list[Layer]:
    """The conditions, each with the least cache for which it holds at `SMALL`."""
    known: dict[int, Any] = {}

    def holds(place: int, lines: int) -> bool:
        if lines not in known:
            known[lines] = theirs(kerncraft_machine(lines))
        condition = known[lines][place]["condition"]
        sizes = {"M": SMALL["rows"], "N": SMALL["cols"]}
        return bool(condition.subs([(each, sizes[each.name]) for each in condition.free_symbols]))

    found = []
    for place, option in enumerate(theirs(kerncraft_machine(512))):
        low, high = 0, 2**16
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if holds(place, middle) else (middle, high)
        found.append(Layer(str(option["condition"]), high, int(option["misses"])))
    return found


def regimes(report: CostReport) -> list[Layer]:
    """Our regimes, the first of those that fetch as many lines for L iterations."""
    found: dict[int, Layer] = {}
    for bound in sorted(report.costs["io"].by_cache, key=needed):
        iterations = LARGE["rows"] * LARGE["cols"] * LARGE["sweeps"]
        misses = round(evaluate(bound.value, {**LARGE, "L": LINE}) * LINE / iterations)
        found.setdefault(misses, Layer(bound.where.when, needed(bound), misses))
    return list(found.values())


def needed(bound: Bound) -> int:
    """The least lines with which a regime holds at `SMALL`."""
    return max(ceil(-evaluate(need, {**SMALL, "Z": 0, "L": LINE}) / LINE) for need in bound.where.needs)


class Simulated:
    """What a cache of so many lines fetches for L iterations, from one sweep to the next."""

    def __init__(self) -> None:
        self._traces = [self._trace(SMALL["sweeps"] - 1), self._trace(SMALL["sweeps"])]

    @staticmethod
    def _trace(sweeps: int) -> Trace:
        subject = loads(SOURCE, "five_point.algo")["five_point"]
        arguments = generate_arguments(subject.module, subject.node, {**SMALL, "sweeps": sweeps}, 0)
        trace = execute(subject.module, subject.node, arguments, line=LINE, trace=True).trace
        assert trace is not None
        return trace

    def under(self, simulate: Callable[..., CacheResult], lines: int) -> float:
        """Lines for L iterations."""
        before, after = (simulate(each.lines, lines).io for each in self._traces)
        return (after - before) * LINE / ((SMALL["rows"] - 2) * (SMALL["cols"] - 2))

    def check(self, report: CostReport, lines: int) -> None:
        """End the process where optimal replacement is outside the bounds."""
        lower, upper = report.io.at({**SMALL, "Z": lines * LINE, "L": LINE})
        found = optimal(self._traces[1].lines, lines).io
        if not lower <= found <= upper:
            raise SystemExit(f"{lines} lines: optimal replacement fetches {found}, the bounds are {lower} and {upper}")

    def row(self, name: str, layer: Layer) -> str:
        """A condition, the words that it asks for, and what caches of these fetch."""
        cells = f"{self.under(lru, layer.lines):6.2f} {self.under(optimal, layer.lines):8.2f}"
        return f"  {name:10} {layer.condition:64} {layer.lines * LINE:7} {cells}"


def compare() -> None:
    """Print the conditions beside each other."""
    report, simulated = ours(), Simulated()
    own = {each.misses: each for each in regimes(report)}
    sizes = ", ".join(f"{name} = {size}" for name, size in SMALL.items())
    print(f"lines for L = {LINE} iterations; words of cache and lines fetched are those at {sizes}")
    print(f"  {'':10} {'condition':64} {'words':>7} {'LRU':>6} {'optimal':>8}")
    for layer in sorted(layers(), key=lambda each: -each.misses):
        if layer.misses not in own:
            raise SystemExit(f"kerncraft's `{layer.condition}`, {layer.misses} lines, has no partner among our regimes")
        regime = own.pop(layer.misses)
        simulated.check(report, regime.lines)
        print(f"{layer.misses} lines")
        print(simulated.row("kerncraft", layer))
        print(simulated.row("archline", regime))
    print("regimes that kerncraft does not tell apart")
    for regime in own.values():
        simulated.check(report, regime.lines)
        print(simulated.row(f"{regime.misses} lines", regime))


def clock(repeat: int) -> None:
    """Print the times of both."""
    chosen = kerncraft_machine(512)
    mine, other = times(ours, repeat), times(lambda: theirs(chosen), repeat)
    print(
        f"reading and deriving, best of {repeat}: archline {mine[0] * 1e3:.0f} ms, flops, work and span included;",
        end="",
    )
    print(f" kerncraft {other[0] * 1e3:.0f} ms; ratio {other[0] / mine[0]:.2f}")


def main() -> None:
    """Read the options and print the comparison, or why there is none."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=5, help="runs, of which the fastest counts")
    options = parsed(parser, repeat=1)
    if find_spec("kerncraft") is None:
        raise SystemExit("kerncraft is not installed; the extra `bench` has it: pip install -e '.[fast,bench]'")
    print(machine())
    compare()
    clock(options.repeat)


if __name__ == "__main__":
    main()
