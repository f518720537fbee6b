"""Bounds on io against optimal replacement: lower <= optimal <= upper at thousands of points, and how tight they are.

    python benchmarks/soundness.py                              # 5,000 points or more: the library, 500 programs
    python benchmarks/soundness.py --only matmul --points 500   # what has this in its name
    python benchmarks/soundness.py --large 100000000            # a few kernels at up to so many accesses

A point is a program, sizes, Z and L. Each trace is simulated at capacities from one line to all, and where a plan
begins to fit and one line less. Every kernel is also run at sizes that double for as long as a run has at most
`--accesses` of them. How near bounds are is told of caches of two lines or more. Exit code 1 where a bound does not
hold; such points are told in full.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from common import ROOT, machine, parsed

sys.path.insert(0, str(ROOT / "tests" / "support"))

from archline.language.diagnostics import ArchlineError
from io_generated import (
    around,
    arrays,
    divided,
    indices,
    loops,
    parities,
    recursion,
    stencils,
    strides,
    tiles,
    triangles,
    walks,
)
from io_points import HARDEST, Point, Subject, kernels

GENERATED = {
    loops: 250,
    arrays: 200,
    recursion: 50,
    walks: 100,
    strides: 40,
    stencils: 60,
    parities: 60,
    triangles: 60,
    tiles: 60,
    indices: 40,
    divided: 40,
    around: 40,
}
COUNT = 8
"""Capacities a trace, about."""
MOST_DATA = 10_000_000
"""The most words of arguments that are expected when they are doubled once more."""
SHORT = 50_000
"""Runs that are expected to have more accesses are compiled."""
LARGE = ("matmul_basic", "transpose::", "spmv_csr", "jacobi", "matmul_co", "mergesort::", "floyd", "gemv::")


@dataclass
class Row:
    """What was found about one kernel, or about generated programs of one kind."""

    name: str
    kind: str = "generated programs"
    points: list[Point] = field(default_factory=list)
    seconds: float = 0.0
    unknown: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        shown = f"{self.name:46} {len(self.points):6} "
        several = [each for each in self.points if each.words >= 2 * each.line]
        if several:
            upper = [each.upper / max(1, each.optimal) for each in several]
            lower = [each.optimal / each.lower for each in several if each.lower]
            middle = f"{statistics.median(lower):9.2f}" if lower else f"{'-':>9}"
            shown += f"{statistics.median(upper):7.2f} {quantile(upper, 0.9):7.2f} {max(upper):8.2f} {middle}"
            shown += f" {self.seconds * 1e3:9.0f} ms" if self.seconds else ""
        elif self.unknown:
            shown += f"unknown: {self.unknown[0]}"
        return shown


def quantile(values: Sequence[float], share: float) -> float:
    """The value that a share of all is no larger than."""
    ranked = sorted(values)
    return ranked[min(len(ranked) - 1, int(share * len(ranked)))]


class Examination:
    """Collects points by kernel and kind, and tells each violation once it is found."""

    def __init__(self, source: random.Random) -> None:
        self._source = source
        self.rows: dict[str, Row] = {}
        self.violations = 0

    def bound(self, row: str, subject: Subject) -> bool:
        """Derive the bounds; whether there are any."""
        kind = "generated programs" if row != subject.name else "recursion" if subject.recursive else "loops"
        found = self.rows.setdefault(row, Row(row, kind))
        start = time.process_time()
        known = subject.bounds
        found.seconds = max(found.seconds, time.process_time() - start)
        if isinstance(known, str):
            found.unknown.append(f"{subject.name}: {known}" if row != subject.name else known)
        return not isinstance(known, str)

    def small(self, row: str, subject: Subject, count: int = COUNT) -> None:
        """Points at drawn sizes."""
        self._record_problem(row, subject, subject.points(subject.draw(self._source), self._source, count))

    def growing(self, row: str, subject: Subject, most: int) -> None:
        """Points at sizes that double, as long as runs are expected to have no more accesses than allowed."""
        assert subject.larger is not None
        spent, growth, data = 1, 8, 0
        for step in range(1, 14):
            try:
                arguments = subject.larger(self._source, step)
                if spent * growth > most:
                    return
                # Compiling takes longer than a short run.
                way = False if spent * growth <= SHORT else None
                accesses = subject.trace(arguments, 16, way)[1].accesses
                points = subject.points(arguments, self._source, COUNT, way)
                self._record_problem(row, subject, points)
            except (ArchlineError, ValueError, AssertionError, ZeroDivisionError):
                # Some sizes belong together, and do not when doubled.
                return
            data, before = sum(map(np.size, arguments.values())), data
            if data * max(2, data // before if before else 0) ** 2 > MOST_DATA:
                # Some algorithms access little of their data, as a search does; of some the exponents are doubled.
                return
            growth = max(2, -(-accesses // spent)) if spent > 1 else 8
            spent = accesses

    def _record_problem(self, row: str, subject: Subject, points: Iterator[Point]) -> None:
        for point in points:
            self.rows[row].points.append(point)
            if not point.holds:
                self.violations += 1
                print(f"VIOLATION {subject.name} at {point}\n{subject.text}", flush=True)

    @property
    def points(self) -> int:
        """How many points there are."""
        return sum(len(row.points) for row in self.rows.values())


def examine(found: Examination, options: argparse.Namespace) -> None:
    """All points."""
    library = [each for each in kernels() if options.only in each.name]
    known = [each for each in library if found.bound(each.name, each)]
    generated = [kind(number) for kind, share in GENERATED.items() for number in range(share)]
    programs = [(each.name.split()[0], each) for each in generated if options.only in each.name]
    ready = [(row, each) for row, each in programs if found.bound(row, each)]
    for each in known:
        found.growing(each.name, each, options.accesses)
    for row, program in ready:
        found.small(row, program, 4)
    while found.points < options.points and (known or ready):
        for each in known:
            found.small(each.name, each)
        for row, program in ready:
            found.small(row, program, 2)
    if options.large:
        for each in known:
            if any(name in each.name for name in LARGE):
                found.growing(each.name, each, options.large)


def report(found: Examination) -> None:
    """Print the table."""
    print(f"{'':46} {'points':>6} {'upper / optimal':^23} {'opt/lower':>9} {'derived in':>12}")
    print(f"{'':53} {'median':>7} {'90 %':>7} {'worst':>8} {'median':>9}")
    for row in found.rows.values():
        print(row)
    for kind in ("loops", "recursion", "generated programs"):
        print(_joint(f"all {kind}", [row for row in found.rows.values() if row.kind == kind]))
    # No bound in sizes is near what an algorithm does of which the data decides: sorting sorted keys is a scan.
    rows = [row for row in found.rows.values() if row.kind == "loops" and row.name not in HARDEST]
    print(_joint("all loops, the data at its hardest", rows))
    for row in found.rows.values():
        if row.points and row.unknown:
            print(f"{row.name}: {len(row.unknown)} programs unknown, such as {row.unknown[0]}")
    print(f"{found.points} points, {found.violations} violations")


def _joint(name: str, rows: Sequence[Row]) -> Row:
    return Row(name, points=[point for row in rows for point in row.points])


def main() -> None:
    """Read the options and print the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=5_000, help="at least so many points")
    parser.add_argument("--seed", type=int, default=0, help="of sizes, data, lines and capacities")
    parser.add_argument("--accesses", type=int, default=1_000_000, help="the most of a run at sizes that double")
    parser.add_argument("--large", type=int, default=0, help="the most of a run of a few kernels, compiled")
    parser.add_argument("--only", default="", help="subjects with this in their names")
    options = parsed(parser, points=10, only="reduce", accesses=1000)
    print(machine(), flush=True)
    found = Examination(random.Random(options.seed))
    try:
        examine(found, options)
    except KeyboardInterrupt:
        print("interrupted: what was found until then")
    report(found)
    raise SystemExit(1 if found.violations else 0)


if __name__ == "__main__":
    main()
