"""Plot io against Z at sizes: the derived bounds, and the misses of optimal replacement in a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import TypeAlias

from archline.algebra.evaluate.exact import evaluate
from archline.analysis.bounds import Bound
from archline.analysis.cost import Cost, enclose_cost
from archline.api.algorithms import Algorithm
from archline.api.costs import CostReport
from archline.costs import rules
from archline.costs.sizes import Given, Point, merge_sizes
from archline.energy.caches import DEFAULT_CACHE
from archline.energy.running import split_arguments
from archline.execution.cache import optimal
from archline.execution.data import generate_arguments
from archline.execution.jit import are_kernels_compiled
from archline.execution.results import Trace
from archline.execution.run import execute
from archline.expr.intervals import EvaluationError, Number
from archline.expr.values import evaluate_fact
from archline.language.diagnostics import error
from archline.numbers import format_point, format_readable
from archline.records import record
from archline.report.pictures import PictureView
from archline.report.pictures.io import COLUMNS, IoCurves, IoPoint, IoRegime

Ends: TypeAlias = dict[int, tuple[Number, Number]]
"""The bounds on io by lines of cache."""
PICTURE_FORMATS = ("svg", "png", "pdf")
MAX_DOUBLINGS, MIN_PLOTTED_LINES = 200, 4
MAX_WORK, MAX_PLAIN_WORK = 10**7, 10**5
"""Runs of more work are not simulated: compiled ones, and those of plain Python."""
MAX_DRAWN_NUMBER = 10**300
"""The largest number that the axes of a picture can show."""


@record(eq=False)
class Drawn:
    """A picture: `str()` is a table of its data, `save` writes it to a file."""

    view: PictureView

    def save(self, path: str | Path) -> None:
        """Write a picture, .svg, .png or .pdf. Raises ArchlineError (AL413, AL417, AL418)."""
        picture = self._draw(check_picture_format(path))
        try:
            Path(path).write_bytes(picture)
        except OSError as problem:
            raise _make_write_error(path, problem.strerror or str(problem)) from None

    def _draw(self, form: str) -> bytes:
        from archline.report.pictures.drawing import render_picture

        if any(isinstance(cell, int | Fraction) and cell > MAX_DRAWN_NUMBER for row in self.view.rows for cell in row):
            raise error(rules.NO_PICTURE, "numbers above 10^300 cannot be drawn")
        return render_picture(self.view, form)

    def __repr__(self) -> str:
        return f"<{self.view.title}, {len(self.view.rows)} points>"

    def __str__(self) -> str:
        return self.view.text(100)

    def _repr_svg_(self) -> str | None:
        try:
            return self._draw("svg").decode()
        except ImportError:
            return None


class IoPlot(Drawn):
    """A plot of io against Z, the words of the cache, at given sizes."""

    view: IoCurves

    @property
    def points(self) -> tuple[IoPoint, ...]:
        """The drawn points, with `words`, `lower`, `upper`, and `simulated`, which is None if there was no run."""
        return self.view.rows

    @property
    def outside(self) -> tuple[int, ...]:
        """The values of Z at which the run is outside the bounds, which is a defect of archline."""
        return tuple(io_point.words for io_point in self.points if io_point.outside)


def check_picture_format(path: str | Path) -> str:
    """Return the format of a picture by its path: svg, png or pdf. Raises ArchlineError (AL413, AL417, AL418)."""
    target = Path(path)
    form = target.suffix.removeprefix(".").lower()
    if form not in PICTURE_FORMATS:
        listed = ", ".join(f".{suffix}" for suffix in PICTURE_FORMATS)
        raise error(rules.NO_PICTURE, f"`{path}` is not a picture file: its name must end in one of {listed}")
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        hint = "install it: pip install 'archline[plots]'; `--format` prints the points without it"
        raise error(rules.NEEDS_EXTRA, "pictures need matplotlib, the extra `plots`", hint=hint) from None
    if target.is_dir():
        raise _make_write_error(path, "it is a folder")
    if not target.absolute().parent.is_dir():
        raise _make_write_error(path, "there is no such folder")
    return form


def _make_write_error(path: str | Path, reason: str) -> Exception:
    return error(rules.NOT_WRITTEN, f"cannot write the picture: {reason}", path=str(path))


def plot_io(
    algorithm: Algorithm,
    sizes: Mapping[str, Number] | str | None = None,
    /,
    *,
    L: int = DEFAULT_CACHE.L,  # noqa: N803
    seed: int = 0,
    **named: Number,
) -> IoPlot:
    """Plot io against Z with lines of L words: bounds, and points of a run on data of `seed`, if it is short enough.

    Raises ArchlineError for wrong or missing sizes, an io that is unknown (AL414), and as a run does.
    """
    return make_io_plot(algorithm, merge_sizes(sizes, named) or {}, line=L, seed=seed)


def make_io_plot(
    algorithm: Algorithm, at: Given, *, line: int, seed: int = 0, option: str = "", compiled: bool | None = None
) -> IoPlot:
    """Plot io at sizes, which are from the command-line option `option` if that is given. Raises ArchlineError.

    The run is compiled if `compiled` is True, never if it is False, and once it proves long if it is None.
    """
    if line < 1:
        message, hint = f"L is {line}; a line must have at least 1 word", "give a positive number, such as L=8"
        raise error(rules.WRONG_CACHE, message, hint=hint)
    report = algorithm.cost()
    if "Z" in at or "L" in at:
        raise error(rules.WRONG_CACHE, "Z is the x axis of the plot, and L is given by `--cache`", hint="--cache L=8")
    cost = report.costs["io"]
    point = report.point_of_run(at, (*report.names.data_names, *_list_iteration_counts(report, cost)), option)
    if cost.upper is None:
        raise error(rules.NEEDS_BOUND, f"the io of `{report.name}` is unknown: {cost.reason}")
    return IoPlot(_make_curves(algorithm, report, cost, point, line, seed, compiled))


def _make_curves(
    algorithm: Algorithm, report: CostReport, cost: Cost, point: Point, line: int, seed: int, compiled: bool | None
) -> IoCurves:
    starts = [start for regime in cost.by_cache if (start := _compute_regime_start(regime, point, line)) is not None]
    bounds = _IoBounds(report, cost, point, line)
    ends = bounds.evaluate_plotted_caches([start.lines for start in starts])
    if not ends:
        raise error(rules.FACT_FAILS, "no Z satisfies the facts at these sizes")
    counted = _list_iteration_counts(report, cost)
    skipped = (
        f"nothing is simulated: a run has iterations of its own, not the given {', '.join(counted)}"
        if counted
        else _explain_skipped_run(report, point, compiled)
    )
    runs: dict[int, int] = {}
    if skipped is None:
        trace = _trace_run(algorithm, point, line, seed, compiled)
        runs = {lines: optimal(trace.lines, lines).io for lines in ends}
    points = tuple(IoPoint(lines * line, ends[lines][0], runs.get(lines), ends[lines][1]) for lines in sorted(ends))
    data = f"the data was generated (seed {seed})"
    return IoCurves(
        title=f"io of {report.name} at {format_point({**point, 'L': line})}",
        notes=(f"simulated under optimal replacement; {data}" if skipped is None else skipped,),
        columns=COLUMNS,
        rows=points,
        algorithm=report.name,
        at=point,
        line=line,
        regimes=tuple(_iterate_regimes(report, starts, line, max(ends))),
        data=data,
        skipped=skipped,
    )


def _list_iteration_counts(report: CostReport, cost: Cost) -> tuple[str, ...]:
    """List the iteration counts, of loops without a bound, that occur in the bounds on io."""
    bounds = (cost.upper, *(bound.value for bound in cost.bounds))
    return tuple(name for name in report.names.iterations if any(b is not None and name in b.names for b in bounds))


@record(eq=False)
class _IoBounds:
    """Evaluates the derived bounds on io at fixed sizes, for caches of different numbers of lines."""

    report: CostReport
    cost: Cost
    point: Point
    line: int

    def evaluate_plotted_caches(self, marks: list[int]) -> Ends:
        """Return the bounds for caches of 1 line up to where they are constant, and near the numbers of lines `marks`.

        Caches that the facts exclude are left out.
        """
        settled = self._evaluate(2**MAX_DOUBLINGS)
        result: Ends = {}
        for power in range(MAX_DOUBLINGS):
            result[2**power] = self._evaluate(2**power)
            if result[2**power] == settled:
                break
        between = (quarters * lines // 4 for lines in list(result) for quarters in (5, 6, 7))
        # A point at one line less than a regime needs shows the step.
        near = (lines - less for lines in marks for less in (0, 1))
        last = max(MIN_PLOTTED_LINES, 3 * max(result) // 2)
        for lines in {*between, *near, *range(1, MIN_PLOTTED_LINES + 1)}:
            if 0 < lines <= last:
                result[lines] = self._evaluate(lines)
        return {lines: ends for lines, ends in result.items() if self._is_allowed(lines)}

    def _evaluate(self, lines: int) -> tuple[Number, Number]:
        try:
            return enclose_cost(self.cost, self._make_point(lines)).ends
        except EvaluationError as problem:
            raise error(rules.NO_VALUE, f"the io of `{self.report.name}`: {problem}") from None

    def _make_point(self, lines: int) -> Point:
        return {**self.point, "Z": lines * self.line, "L": self.line}

    def _is_allowed(self, lines: int) -> bool:
        whole = {name: value for name, value in self._make_point(lines).items() if isinstance(value, int)}
        return all(evaluate_fact(fact, whole) is not False for fact in self.report.where)


@record(eq=False)
class _RegimeStart:
    """The minimum number of lines at which a regime holds, and the value of its bound there."""

    lines: int
    bound: Number
    regime: Bound


def _compute_regime_start(regime: Bound, point: Point, line: int) -> _RegimeStart | None:
    """Return the minimum lines, of `line` words, with which a regime holds at a point; None if it has no value."""
    try:
        # Every condition is that Z - L*lines is at least 0.
        needs = [-evaluate(need, {**point, "Z": 0, "L": line}) / line for need in regime.where.needs]
        lines = max(1, *map(ceil, needs))
        return _RegimeStart(lines, evaluate(regime.value, {**point, "Z": lines * line, "L": line}), regime)
    except EvaluationError:
        return None


def _iterate_regimes(report: CostReport, starts: list[_RegimeStart], line: int, last: int) -> Iterator[IoRegime]:
    """Yield the regimes up to `last` lines of cache, by increasing lines, whose bound is less than all earlier ones."""
    least: Number | None = None
    for start in sorted(starts, key=lambda start: (start.lines, start.bound)):
        if start.lines <= last and (least is None or start.bound < least):
            least = start.bound
            yield IoRegime(start.lines * line, start.regime.where.when, report.write(start.regime.value))


def _explain_skipped_run(report: CostReport, point: Point, compiled: bool | None) -> str | None:
    """Return the reason why the run at a point is not simulated; None if it is short enough.

    The limit on its work is smaller if it is not compiled: if `compiled` is false, or numba is missing.
    """
    limit = MAX_WORK if compiled is not False and are_kernels_compiled() else MAX_PLAIN_WORK
    cost = report.costs["work"]
    if cost.upper is None:
        return f"not simulated: the work of a run is unknown, {cost.reason}"
    try:
        work = enclose_cost(cost, {**dict.fromkeys(report.names.counted_iterations, 0), **point}).upper
    except EvaluationError as problem:
        return f"not simulated: the work of a run is unknown, {problem}"
    if work > limit:
        return f"not simulated: a run takes up to {format_readable(ceil(work))} work, above {limit}"
    return None


def _trace_run(algorithm: Algorithm, point: Point, line: int, seed: int, compiled: bool | None) -> Trace:
    sizes, symbols = split_arguments(algorithm, point)
    module, node = algorithm.executed
    arguments = generate_arguments(module, node, sizes, seed)
    ran = execute(module, node, {**arguments, **symbols}, line=line, trace=True, compiled=compiled)
    assert ran.trace is not None
    return ran.trace
