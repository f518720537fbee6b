"""How long derivations take: each algorithm without recursion of the library once imported, and cold processes.

    python benchmarks/derivation.py       # targets: 10 ms each; 0.1 s for --help, 0.15 s for what is kept, 0.4 s for LU

A derivation takes a checked program to flops, work and span, nothing kept from one to the next but what importing
left. The same sum (the work of LU decomposition, a triangular triple sum) is given to `sympy.summation`, term by
term and expanded, and both results must agree. A cold process is `python -m archline` started anew, its bytecode
compiled; its time is that of a clock on the wall and includes starting Python, which is shown apart. Other times
are processor time.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import time
from typing import Any

from common import ROOT, machine, parsed, times

from archline.analysis.analyse import derive
from archline.api.algorithms import Algorithm, algorithm
from archline.cli.main import reduce_garbage_collection
from archline.language.call_graph import has_recursion
from archline.language.loader import load_path

WARM_TARGET, HELP_TARGET, COST_TARGET, KEPT_TARGET, GRID_TARGET = 0.010, 0.1, 0.4, 0.15, 2
LU = "dense.lu::lu"


def library() -> dict[str, Algorithm]:
    """Every algorithm of the standard library that neither is recursive nor calls one that is, by target."""
    found = {}
    for path in sorted((ROOT / "stdlib").rglob("*.algo")):
        module = load_path(path)
        name = ".".join(path.relative_to(ROOT / "stdlib").with_suffix("").parts)
        plain = (each for each in module.algorithms.values() if not has_recursion(module, each))
        found |= {f"{name}::{each.name}": Algorithm(module, each) for each in plain}
    return found


def derivations(repeat: int, only: str) -> None:
    """Time each derivation; print those above the target, and the slowest."""
    spent = {}
    for target, each in library().items():
        if only in target:
            spent[target] = times(lambda subject=each: derive(subject.module, subject.node), repeat)[0]
    ranked = sorted(spent.items(), key=lambda pair: -pair[1])
    slow = [pair for pair in ranked if pair[1] >= WARM_TARGET]
    print(f"derivation of flops, work and span, {len(spent)} algorithms, best of {repeat}, target {WARM_TARGET:.3f} s:")
    print(f"  median {statistics.median(spent.values()) * 1e3:.2f} ms, {len(slow)} above the target")
    for target, best in slow or ranked[:3]:
        print(f"  {target:45} {best * 1e3:7.2f} ms")


def lu_work(sympy: Any) -> Any:
    """The work of stdlib/dense/lu.algo, row by row: an update costs 3 with its iteration, a division 2 with its own."""
    n, k, i, j = sympy.symbols("n k i j", integer=True)
    left = sympy.summation(2 + sympy.summation(3, (k, 0, j - 1)), (j, 0, i - 1))
    right = sympy.summation(1 + sympy.summation(3, (k, 0, i - 1)), (j, i, n - 1))
    return sympy.expand(1 + sympy.summation(1 + left + right, (i, 0, n - 1)))


def against_sympy(repeat: int) -> None:
    """Time the triangular sum of LU in sympy beside the whole derivation of LU."""
    import sympy
    from sympy.core.cache import clear_cache

    def fresh() -> Any:
        clear_cache()
        return lu_work(sympy)

    subject = algorithm(LU)
    derived = subject.cost().work
    summed = lu_work(sympy)
    for n in (1, 2, 7, 64):
        if summed.subs(sympy.Symbol("n", integer=True), n) != derived.at(n=n):
            raise SystemExit(f"sympy and archline disagree about the work of LU at n = {n}")
    ours = times(lambda: derive(subject.module, subject.node), repeat)[0]
    theirs = times(fresh, repeat)[0]
    print(f"triangular sum, the work of LU: sympy.summation {theirs * 1e3:.1f} ms")
    print(f"  flops, work and span of {LU}: {ours * 1e3:.2f} ms, ratio {theirs / ours:.0f}")


def children() -> float:
    """The processor time of processes started and ended so far."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def cold(arguments: list[str], repeat: int) -> tuple[list[float], float]:
    """Seconds of processes started anew, in increasing order, and their mean processor time.

    One is started before them, and may compile bytecode.
    """
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "analyzer")}

    def start() -> None:
        subprocess.run([sys.executable, *arguments], env=environment, stdout=subprocess.DEVNULL, check=True)

    start()
    before = children()
    elapsed = times(start, repeat, time.perf_counter)
    return elapsed, (children() - before) / repeat


def cold_processes(repeat: int, *, grids: bool) -> None:
    """Time cold starts; those of long derivations on `grids` too, or not."""
    rows = (
        ("python, doing nothing", ["-c", "pass"], None),
        ("archline --help", ["-m", "archline", "--help"], HELP_TARGET),
        *(
            (f"archline {command}", ["-m", "archline", *command.split()], target)
            for command, target in (
                ("list", KEPT_TARGET),
                ("machines", KEPT_TARGET),
                ("check stdlib/dense/lu.algo", KEPT_TARGET),
                (f"cost {LU}", KEPT_TARGET),
                (f"cost {LU} --no-cache", COST_TARGET),
                ("cost distributed.matmul::matmul_25d --no-cache", GRID_TARGET),
                ("cost distributed.lu::lu_25d --no-cache", GRID_TARGET),
            )
        ),
    )
    print(f"cold processes, best and median of {repeat}, mean processor time:")
    for name, arguments, target in rows:
        if target == GRID_TARGET and not grids:
            continue
        spent, busy = cold(arguments, repeat)
        wanted = "" if target is None else f"; target {target} s"
        print(f"  {name:45} {spent[0]:.3f} s, {statistics.median(spent):.3f} s, {busy:.3f} s{wanted}")


def main() -> None:
    """Read the options and print the report."""
    reduce_garbage_collection()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=5, help="runs, of which the fastest counts")
    parser.add_argument("--only", default="", help="algorithms with this in their names")
    options = parsed(parser, repeat=1, only="scan")
    print(machine())
    derivations(options.repeat, options.only)
    against_sympy(options.repeat)
    cold_processes(options.repeat, grids=not options.smallest)


if __name__ == "__main__":
    main()
