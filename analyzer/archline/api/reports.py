"""A report shows the costs of an algorithm, or of two side by side, in one HTML file."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import cached_property
from itertools import combinations, islice, product
from pathlib import Path
from typing import Any

from archline.algebra.effort import Clock
from archline.api.algorithms import Algorithm
from archline.api.comparisons import compare
from archline.api.costs import CostReport
from archline.api.written_files import write_file_atomically
from archline.costs import rules
from archline.costs.sizes import Given, Point, convert_python_values, merge_sizes, require_known_names
from archline.energy import rules as energy_rules
from archline.energy.caches import DEFAULT_CACHE
from archline.energy.machine_files import adjust_machine
from archline.energy.machines import Machine
from archline.execution.results import Cache
from archline.expr.intervals import Number
from archline.expr.tree import iterate_defined_sizes
from archline.expr.values import find_sizes_given_by_facts
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError, error
from archline.language.iterations import list_iterations
from archline.report.comparisons import list_comparison_sentences
from archline.report.cost_view import CostRow, CostView
from archline.report.html.page import make_head, make_page
from archline.report.html.targets import MAX_SCALE, TargetData, convert_number

BASES = (256, 64, 16, 1024, 4)
"""Values of sizes that are tried where none are given."""
PROCESSORS, PROCESSORS_ALONG_AXIS = 16, 4
"""The number of processors where none is given, a square and a power of two, and that along each of several axes."""
MAX_TRIED = 512
"""The maximum number of points tried to find one that headers allow."""
LARGEST_SIZE, LARGEST_CACHE, LONGEST_LINE = 2**20, 2**26, 2**7
"""The largest values of the page's sliders."""
MACHINE_QUANTITIES = ("peak", "bandwidth", "word")
ENERGY_QUANTITIES = {"flop": "eps_flop", "byte": "eps_mem", "constant": "pi0"}


class HtmlReport:
    """A report on one algorithm or two: `str()` is the HTML page, `save` writes it to a file."""

    def __init__(
        self,
        algorithms: Sequence[Algorithm],
        at: Given | None = None,
        machines: Sequence[Machine] = (),
        command: str = "",
    ) -> None:
        """Make the report at sizes, or at some that the algorithms allow.

        Raises ArchlineError: AL401 to AL407 for wrong or missing sizes, AL411 for more than two algorithms, AL458 for
        a machine without a peak or a bandwidth.
        """
        if not 0 < len(algorithms) <= 2:
            message = f"a report is on one algorithm, or on two that it compares; these are {len(algorithms)}"
            raise error(rules.OPTIONS_CLASH, message, hint="name one by `path.algo::name`")
        self.described_machines = list(map(_describe_machine, machines))
        self.reports = [algorithm.cost() for algorithm in algorithms]
        self.algorithms, self.machines, self.command = algorithms, machines, command
        self.points = _choose_points(self.reports, at)

    @cached_property
    def data(self) -> dict[str, Any]:
        """The data from which the page is drawn."""
        # Costs of lines take the longest: what a time limit leaves out is theirs, not the verdict's.
        comparison = self._compare() if len(self.reports) == 2 else None
        targets = [
            TargetData(report, view, scale, moved).build()
            for report, view, scale, moved in zip(
                self.reports, self.views, self._choose_scales(), self._iterate_moved_bytes(), strict=True
            )
        ]
        point = {name: convert_number(value) for values in self.points for name, value in values.items()}
        cached = {"Z": DEFAULT_CACHE.Z, "L": DEFAULT_CACHE.L} if any(target["io"] for target in targets) else {}
        kind = "cost" if len(targets) == 1 else "comparison"
        return {
            **make_head(kind, " and ".join(report.name for report in self.reports), self.command),
            "point": {**cached, **point},
            "sliders": list(self._iterate_sliders({**point, **cached})),
            "targets": targets,
            "machines": self.described_machines,
            "comparison": comparison,
            "notes": list(self._iterate_notes()),
        }

    @cached_property
    def views(self) -> list[CostView]:
        """The views of the costs."""
        return [report.view() for report in self.reports]

    def _iterate_moved_bytes(self) -> Iterator[CostRow | None]:
        """Yield the bytes that each algorithm fetches and writes back, if there are machines."""
        for report in self.reports:
            rows = report.including("bytes").view().rows if self.machines and not report.on_grid else ()
            yield next((row for row in rows if row.metric == "bytes"), None)

    def _choose_scales(self) -> list[Sequence[Point]]:
        """Choose points at which the sizes of each algorithm grow, the same for both so that their curves end alike."""
        shared = list(islice(_iterate_scales(self.reports, self.points), MAX_SCALE))
        if len(shared) > 1:
            return list(zip(*shared, strict=True))
        alone = (_iterate_scales([report], [point]) for report, point in zip(self.reports, self.points, strict=True))
        return [[point for (point,) in islice(scale, MAX_SCALE)] for scale in alone]

    def _iterate_sliders(self, point: Mapping[str, float]) -> Iterator[dict[str, Any]]:
        meanings = {"Z": "words of the cache", "L": "words of a line", "P": "processors"}
        for costs in self.reports:
            meanings |= {counted.name: counted.described for counted in list_iterations(costs.module, costs.node)}
            for axis in costs.node.grid:
                if isinstance(axis.extent, s.Name) and axis.extent.id not in meanings:
                    meanings[axis.extent.id] = f"processors along {axis.name}"
        for name in point:
            largest = {"Z": LARGEST_CACHE, "L": LONGEST_LINE}.get(name, max(LARGEST_SIZE, point[name]))
            least = min(point[name], max(report.names.get_minimum(name) or 0 for report in self.reports))
            yield {"name": name, "least": least, "most": largest, "meaning": meanings.get(name, "a size")}

    def _iterate_notes(self) -> Iterator[str]:
        if any(report.recursive and not report.on_grid for report in self.reports):
            yield "lines of a recursive algorithm have the costs of all of its calls together"
        if Clock.late:
            yield "a time limit was reached: some bounds may be wider than they need be"

    def _compare(self) -> list[dict[str, str]]:
        if not self.machines and any(costs.on_grid for costs in self.reports):
            return list_comparison_sentences(compare(*self.algorithms).result)
        at = {name: value for point in self.points for name, value in point.items()}
        cache = Cache(int(at.pop("Z", DEFAULT_CACHE.Z)), int(at.pop("L", DEFAULT_CACHE.L)))
        machines = self.machines[:1]
        try:
            compared = compare(
                *self.algorithms,
                machine=machines,
                model="roofline" if machines else None,
                by=None if machines else "bytes",
                at=at,
                cache=cache,
            )
        except ArchlineError as problem:
            return [{"metric": "", "text": problem.diagnostics[0].message, "certainty": ""}]
        return list_comparison_sentences(compared.result)

    def __str__(self) -> str:
        return make_page(self.data)

    def save(self, path: str | Path) -> None:
        """Write the page to a file `.html`, which is never half written. Raises ArchlineError (AL413)."""
        require_page_name(path)
        write_file_atomically(Path(path), str(self))


def report(
    *targets: str | Algorithm,
    at: Mapping[str, Number] | str | None = None,
    machine: str | Machine | Sequence[str | Machine] = (),
    where: str | None = None,
    **sizes: Number,
) -> HtmlReport:
    """Make a report on one algorithm, or on two that it compares, as one HTML file: `report(...).save("lu.html")`.

    Sizes are keywords (`n=1000`), or `at`. A machine has a roofline, and energies if it has their quantities. Raises
    ArchlineError as `cost` does, and AL458 for a machine without a peak or a bandwidth.
    """
    named = [machine] if isinstance(machine, str | Machine) else machine
    algorithms: list[Algorithm] = []
    for target in targets:
        algorithms += [target.assuming(where)] if isinstance(target, Algorithm) else Algorithm.every(target, where)
    return HtmlReport(algorithms, merge_sizes(at, sizes), [adjust_machine(name) for name in named])


def require_page_name(path: str | Path) -> None:
    """Raise ArchlineError (AL413) for a file whose name is not that of a page, such as the program of a report."""
    if Path(path).suffix.lower() not in (".html", ".htm") and str(path) != os.devnull:
        message = f"a page is not written to `{path}`"
        raise error(rules.NOT_WRITTEN, message, path=str(path), hint="name a file that ends with `.html`")


def _choose_points(reports: Sequence[CostReport], at: Given | None) -> list[Point]:
    """Return the given sizes of each algorithm, or sizes that its header allows. Raises ArchlineError."""
    if at:
        require_known_names(at, [costs.names for costs in reports])
        return [
            costs.point_of_run({name: at[name] for name in at if name in costs.names.all}, option="--at")
            for costs in reports
        ]
    needed = dict.fromkeys(name for costs in reports for name in costs.names.needed)
    along_axes = set[str]().union(*map(_collect_names_along_axes, reports))
    free = [name for name in needed if name not in along_axes]
    # Blocks and panels often have to be smaller than what they divide.
    reduced = (chosen for count in range(len(free) + 1) for chosen in combinations(free, count))
    for chosen, base in islice(product(reduced, BASES), MAX_TRIED):
        points = [_propose_point(costs, base, {*along_axes, *chosen}) for costs in reports]
        if all(point is not None for point in points):
            return [point for point in points if point is not None]
    hint = "give " + ",".join(f"{name}=.." for name in sorted(needed)) + " by `--at`"
    raise error(rules.MISSING_SIZE, "no sizes were found that the header allows", hint=hint)


def _propose_point(costs: CostReport, base: int, small: Collection[str]) -> Point | None:
    """Return a point at which sizes are `base`, or as small as the names `small` say; None if it is not allowed."""
    names = costs.names
    usual = dict.fromkeys(small, PROCESSORS_ALONG_AXIS)
    values = {
        name: PROCESSORS if name == "P" else 0 if names.get_minimum(name) is None else usual.get(name, base)
        for name in (*names.needed, *(("P",) if "P" in costs.parameters else ()))
        if name not in ("Z", "L", "K")
    }
    defined = {name for name, _ in iterate_defined_sizes(costs.where)}
    free = {name: value for name, value in values.items() if name not in defined}
    try:
        return costs.point(convert_python_values({**values, **find_sizes_given_by_facts(costs.where, free)}))
    except ArchlineError:
        return None


def _collect_names_along_axes(costs: CostReport) -> set[str]:
    """Collect the names in the extents of the axes of a grid."""
    return {name for axis in costs.node.grid for name in s.find_names(axis.extent)}


def _iterate_scales(reports: Sequence[CostReport], points: Sequence[Point]) -> Iterator[tuple[Point, ...]]:
    """Yield points, one for each algorithm, at which all sizes are a power of two times the given ones, least first."""
    for exponent in range(-4, 6):
        with suppress(ArchlineError):
            scaled = [_scale_point(*pair, Fraction(2) ** exponent) for pair in zip(reports, points, strict=True)]
            allowed = tuple(point for point in scaled if point is not None)
            if len(allowed) == len(reports):
                yield allowed


def _scale_point(costs: CostReport, point: Point, factor: Fraction) -> Point | None:
    """Return the point with all sizes times a factor; None if these are fractions. Raises ArchlineError.

    On a grid, the number of processors stays if other sizes can grow.
    """
    sizes = [name for name in point if name in costs.names.sizes or name in costs.names.iterations]
    along_axes = _collect_names_along_axes(costs)
    sizes = [name for name in sizes if name not in along_axes] or sizes
    scaled = {name: value * factor if name in sizes else value for name, value in point.items()}
    given = {name: value for name, value in scaled.items() if name not in ("Z", "L")}
    whole = all(scaled[name] == int(scaled[name]) for name in sizes)
    return costs.point(convert_python_values(given)) if whole else None


def _describe_machine(machine: Machine) -> dict[str, Any]:
    """Return the quantities of the roofline and of energies. Raises ArchlineError (AL458)."""
    values = machine.values
    if missing := [name for name in MACHINE_QUANTITIES if name not in values]:
        message = f"`{machine.name}` has no {' and no '.join(missing)}, so it has no roofline"
        raise error(energy_rules.UNSUITED_MACHINE, message, hint=f"`--parameter {missing[0]}=VALUE` gives it")
    energies = {name: float(values[key]) for name, key in ENERGY_QUANTITIES.items() if key in values}
    cited = [machine.quantities[name].source.citation for name in MACHINE_QUANTITIES if name in machine.quantities]
    return {
        "name": machine.name,
        "title": machine.title,
        **{name: float(values[name]) for name in MACHINE_QUANTITIES},
        "energy": energies if len(energies) == len(ENERGY_QUANTITIES) else None,
        "source": "; ".join(dict.fromkeys(filter(None, cited))),
    }
