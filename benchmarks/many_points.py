"""Upper bounds on io at many points (sizes, Z, L) at once, beside exact evaluation of one after the other.

    python benchmarks/many_points.py                        # 10^6 points; target: 1 s

Points are random: sizes up to 2000 (of all magnitudes, 10^12 with `--huge`), L from 1 to 64, Z from a line to 10^6
lines. The peer is our own evaluation in rationals, point by point, of the same regimes; it takes some of the points,
and both must agree on them. Times are processor time, the best of three runs.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from common import machine, parsed, seconds

from archline.algebra.evaluate.exact import evaluate
from archline.analysis.cost import Cost
from archline.api.algorithms import algorithm

TARGETS = ("dense.matmul::matmul_basic", "stencil.jacobi_2d::jacobi_2d", "sparse.csr::spmv_csr", "dense.lu::lu")
FEW = 300


def random_points(sizes: dict[str, int], count: int, largest: float) -> dict[str, Any]:
    """Sizes from their least, of all magnitudes."""
    generator = np.random.default_rng(0)
    points = {name: least + (largest ** generator.random(count)).astype(np.int64) for name, least in sizes.items()}
    points["L"] = 2 ** generator.integers(0, 7, count)
    points["Z"] = points["L"] * generator.integers(1, 10**6, count)
    return points


def one_by_one(cost: Cost, points: dict[str, Any]) -> list[int]:
    """The least regime at each of a few points."""
    rows = [{name: int(values[place]) for name, values in points.items()} for place in range(FEW)]
    return [
        min(evaluate(plan.value, row) for plan in cost.plans if plan.where.contains(row)).__floor__() for row in rows
    ]


def main() -> None:
    """Read the options and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", default=TARGETS, metavar="TARGET", help="algorithms with derived io")
    parser.add_argument("--points", type=int, default=10**6, help="how many points")
    parser.add_argument("--huge", action="store_true", help="sizes up to 10^12")
    options = parsed(parser, targets=TARGETS[:1], points=1000)
    print(machine())
    print(f"{options.points} points: seconds; microseconds a point; one by one; ratio")
    for target in options.targets:
        report = algorithm(target).cost()
        cost = report.costs["io"]
        points = random_points(dict(report.names.sizes), options.points, 10.0**12 if options.huge else 2000.0)
        found = report.io.upper_at(points)
        if found[:FEW].tolist() != one_by_one(cost, points):
            raise SystemExit(f"{target}: the arrays and exact evaluation disagree")
        ours = seconds(lambda measured=report.io, given=points: measured.upper_at(given), 3)
        each = seconds(lambda regimes=cost, given=points: one_by_one(regimes, given), 1) / FEW
        micro = ours / options.points * 1e6
        regimes = f"{len(cost.plans)} regimes"
        print(
            f"  {target:32} {regimes:>10} {ours:7.2f} s {micro:6.2f} us {each * 1e6:6.0f} us {each * 1e6 / micro:6.0f}"
        )


if __name__ == "__main__":
    main()
