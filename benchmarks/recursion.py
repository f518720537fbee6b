"""How long recursive algorithms take: recurrences, bounds with their proofs, and the decisions on what is ensured.

    python benchmarks/recursion.py                          # target: 0.3 s for matmul_co; --all: the whole library

Nothing is kept from one derivation to the next but what importing left. `sympy.rsolve` is given a part of the same
question ready-made: the work of matmul_co on cubes of side 2^k alone, as a sequence in k, whose closed form must have
the recurrence's values. Times are processor time.
"""

from __future__ import annotations

import argparse
from typing import Any

from common import machine, parsed, times

from archline.analysis.analyse import clear_cost_caches, derive
from archline.api.algorithms import Algorithm, algorithm
from archline.claims.decide import decide_claims
from archline.cli.main import reduce_garbage_collection
from archline.language.call_graph import find_recursive_component
from archline.language.loader import list_stdlib_modules, load_target

TARGET = 0.3
CUBES = "dense.matmul::matmul_co"
SHOWN = (
    CUBES,
    "sort.mergesort::mergesort",
    "arithmetic.karatsuba::karatsuba",
    "fft.fft::fft",
    "scan.recursive::sum_tree",
)


def library() -> list[str]:
    """The recursive algorithms of the standard library."""
    found = []
    for name in list_stdlib_modules():
        module, _ = load_target(name)
        found += [
            f"{name}::{each.name}" for each in module.algorithms.values() if find_recursive_component(module, each)
        ]
    return found


def whole(subject: Algorithm) -> Any:
    """Flops, work and span derived anew, and the verdicts on what is ensured of them."""
    clear_cost_caches()
    return decide_claims(subject.module, subject.node, derive(subject.module, subject.node))


def derivations(targets: list[str], repeat: int) -> None:
    """Time each derivation with its decisions."""
    print(f"flops, work, span and what is ensured of them, best of {repeat}; target for matmul_co {TARGET} s")
    for target in targets:
        subject = algorithm(target)
        print(f"  {target:50} {times(lambda each=subject: whole(each), repeat)[0] * 1e3:9.1f} ms")


def against_sympy(repeat: int) -> None:
    """Time rsolve on the work of matmul_co on cubes beside the derivation for all sizes."""
    import sympy
    from sympy.core.cache import clear_cache

    subject = algorithm(CUBES)
    work = derive(subject.module, subject.node)["work"]
    assert work.interval_at is not None
    values = [int(work.interval_at({"n": 2**k, "m": 2**k, "p": 2**k}).lower) for k in range(4, 9)]
    k, f = sympy.Symbol("k", integer=True), sympy.Function("f")
    added = values[1] - 8 * values[0]

    def ask() -> Any:
        clear_cache()
        return sympy.rsolve(f(k) - 8 * f(k - 1) - added, f(k), {f(4): values[0]})

    if [ask().subs(k, at) for at in range(4, 9)] != values:
        raise SystemExit("sympy and archline disagree about the work of matmul_co on cubes")
    ours, theirs = times(lambda: whole(subject), repeat)[0], times(ask, repeat)[0]
    print(f"matmul_co: all sizes and metrics {ours * 1e3:.0f} ms; sympy.rsolve on the work of cubes of side 2^k")
    print(f"  {theirs * 1e3:.1f} ms, ratio {theirs / ours:.2f}")


def main() -> None:
    """Read the options and print the report."""
    reduce_garbage_collection()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=3, help="runs, of which the fastest counts")
    parser.add_argument("--all", action="store_true", help="every recursive algorithm of the library")
    options = parsed(parser, repeat=1)
    print(machine())
    derivations(library() if options.all else list(SHOWN), options.repeat)
    against_sympy(options.repeat)


if __name__ == "__main__":
    main()
