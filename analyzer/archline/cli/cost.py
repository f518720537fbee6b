"""Derive flops, work, span and io of algorithms, exact or between two bounds, in their sizes."""

from __future__ import annotations

import argparse
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from archline.cli import options as shared
from archline.costs import rules
from archline.language.diagnostics import ArchlineError, did_you_mean, error
from archline.language.metrics import DERIVABLE, ON_GRID
from archline.report.layout import terminal_width

if TYPE_CHECKING:
    from archline.api.algorithms import Algorithm
    from archline.api.costs import CostReport
    from archline.costs.sizes import Given, Point
    from archline.expr.tree import Span

FORMATS = ("text", "json", "latex", "markdown")
CONFIGURED = {"where": "project_facts", "cache": "project_cache"}
"""Which options the project's configuration fills in, by its keys: none of these two is on the command line."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.set_defaults(project_facts=None, project_cache=None)
    parser.add_argument("targets", nargs="+", metavar="TARGET", help=shared.TARGET)
    shared.add(parser, "--at", "--where")
    shared.add(parser, "--cache", help="words of fast memory and of a line, for io at `--at`")
    parser.add_argument("--all", action="store_true", help="print all forms in full, with regimes and lower bounds")
    parser.add_argument("--explain", action="store_true", help="show the derivation, statement by statement")
    parser.add_argument(
        "--metric",
        type=_metrics,
        metavar="METRIC,..",
        help="show these metrics alone; with --explain, derive them (default: work; on a grid words, messages and "
        f"flops): {', '.join((*DERIVABLE, *ON_GRID))}",
    )
    parser.add_argument(
        "--procs",
        type=processors,
        metavar="P",
        help="also print the running time on this many shared-memory processors: a number, P, or the name of a size",
    )
    parser.add_argument(
        "--lru",
        type=shared.positive,
        metavar="L",
        help="count the misses of LRU caches with lines of L words exactly (requires the extra `isl`)",
    )
    parser.add_argument(
        "--limit", type=shared.positive, default=60, metavar="SECONDS", help="time limit for --lru (default: 60)"
    )
    parser.add_argument(
        "--problem",
        metavar="NAME(..)",
        help="problem that the grid algorithm solves, for lower bounds: matmul(n, m, p), nbody(n, f), fft(n), "
        "strassen(n), lu(n)",
    )
    shared.add(parser, *shared.PRINTING, choices=FORMATS)


def processors(text: str) -> int | str:
    """A number of processors, or the name of one."""
    return text if text.isidentifier() else shared.positive(text)


@shared.prints
def execute(options: argparse.Namespace) -> str:
    """Run the command."""
    if options.explain and options.format != "text":
        raise error(rules.OPTIONS_CLASH, "`--explain` is text; leave `--format` out")
    if options.lru is not None and options.format not in ("text", "json"):
        raise error(rules.OPTIONS_CLASH, "`--lru` is reported as text or JSON")
    return shared.make_apart(partial(_make_page, options), _subjects(options))


def _make_page(options: argparse.Namespace, subjects: list[Algorithm]) -> str:
    reports = [each.cost(problem=options.problem) for each in subjects]
    for each in reports:
        if options.procs is not None and each.on_grid:
            message = f"the number of processors is set by the grid of `{each.name}`"
            raise error(rules.OPTIONS_CLASH, message, hint="give its sizes, or P: `--at P=8`")
    for metric in options.metric or ():
        reports = _with_metric(reports, metric)
    given = _given(options)
    points = _points(options, reports, given)
    assumed = given is not None and _without_cache(given) and options.project_cache is None
    return _rendered(options, reports, points, assumed)


def _subjects(options: argparse.Namespace) -> list[Algorithm]:
    """The algorithms of the targets, under the facts of `--where`, or else under those of the project that fit."""
    from archline.api.algorithms import Algorithm
    from archline.api.checks import require_sizes_of_project
    from archline.energy.subjects import select_facts

    subjects = [each for target in options.targets for each in Algorithm.every(target, options.where)]
    if options.where is not None or not options.project_facts:
        return subjects
    project = options.configuration
    try:
        require_sizes_of_project(project, [each.node.span.source.path for each in subjects])
        return [each.assuming(select_facts(each, project.facts)) for each in subjects]
    except ArchlineError as problem:
        raise ArchlineError(list(map(project.placed, problem.diagnostics))) from None


def _metrics(text: str) -> tuple[str, ...]:
    """The metrics of a list, `flops,work`."""
    names, known = tuple(each.strip() for each in text.split(",")), (*DERIVABLE, *ON_GRID)
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known) or f"choose from {', '.join(known)}"
            raise argparse.ArgumentTypeError(f"there is no metric `{name}`: {hint}")
    return names


def _with_metric(reports: list[CostReport], metric: str) -> list[CostReport]:
    """The costs of those algorithms that have a metric. Raises ArchlineError (AL411) where none has."""
    found = [each for each in reports if metric in each.metrics or (metric not in ON_GRID and not each.on_grid)]
    return [_including(each, metric) for each in found or reports]


def _including(report: CostReport, metric: str) -> CostReport:
    """The costs with a metric. Raises ArchlineError (AL411) where it is not one of such an algorithm."""
    if report.on_grid and metric not in report.metrics:
        message = f"`{metric}` cannot be derived for `{report.name}`, which runs on a grid"
        raise error(rules.OPTIONS_CLASH, message, hint=f"derived are {', '.join(report.metrics)}")
    if metric in ON_GRID and not report.on_grid:
        message = f"`{report.name}` runs on one processor: there are no {metric.replace('_', ' ')} to derive"
        raise error(rules.OPTIONS_CLASH, message, hint=f"{', '.join(ON_GRID)} are those of algorithms `on grid(...)`")
    return report.including(metric)


def _given(options: argparse.Namespace) -> Given | None:
    """The values of `--at` and `--cache` together; None without `--at`."""
    from archline.costs.sizes import read_settings
    from archline.energy.caches import read_words

    if options.at is None:
        if options.cache is not None:
            raise error(rules.OPTIONS_CLASH, "`--cache` is for io at sizes; give them by `--at`")
        return None
    given: Given = read_settings(options.at, "--at")
    if options.cache is not None:
        words: dict[str, tuple[object, Span | None]] = {
            name: (value, None) for name, value in read_words(options.cache).items()
        }
        twice = next((name for name in words if name in given), None)
        if twice is not None:
            raise error(rules.OPTIONS_CLASH, f"{twice} is given by both `--cache` and `--at`")
        given = {**words, **given}
    return given


def _without_cache(given: Given) -> bool:
    """Whether io is that of the default cache, as in `run`."""
    return not {"Z", "L"} & given.keys()


def _points(options: argparse.Namespace, reports: list[CostReport], given: Given | None) -> list[Point] | list[None]:
    """The point of each algorithm; with several, a name need only belong to one of them."""
    from archline.costs.sizes import check_known

    if given is None:
        return [None for _ in reports]
    of_machine = all("P" not in (*report.names.sizes, *report.names.indices) for report in reports)
    if isinstance(options.procs, int) and of_machine and given.get("P", (options.procs, None))[0] != options.procs:
        raise error(rules.OPTIONS_CLASH, f"`--procs {options.procs}` contradicts the P given by `--at`")
    if len(reports) == 1:
        return [_point(given, reports[0], options)]
    check_known(given, [report.names for report in reports])
    return [
        _point({name: each for name, each in given.items() if name in report.names.all}, report, options)
        for report in reports
    ]


def _point(given: Given, report: CostReport, options: argparse.Namespace) -> Point:
    """The values checked; P has to have one where the time on P processors is asked for."""
    needed = report.names.needed
    if _without_cache(given) and not report.on_grid:
        from archline.energy.caches import DEFAULT_CACHE, read_words

        default = {"Z": DEFAULT_CACHE.Z, "L": DEFAULT_CACHE.L}
        if options.project_cache is not None:
            default = read_words(options.project_cache)
        given = {**given, **{name: (value, None) for name, value in default.items() if name in report.names.all}}
    return report.point_of_run(given, (*needed, "P") if options.procs == "P" else needed, "--at")


def _rendered(
    options: argparse.Namespace, reports: list[CostReport], points: list[Point] | list[None], assumed: bool
) -> str:
    # A page of another metric shows nothing of io.
    shown = options.all or options.lru or "io" in (options.metric or ("io",))
    without_io = options.format == "text" and not shown
    views = [report.view(point, options.procs, without_io) for report, point in zip(reports, points, strict=True)]
    if options.lru is not None:
        from archline.api.metrics import with_lru

        counts = [report.lru(options.lru, point, options.limit) for report, point in zip(reports, points, strict=True)]
        views = [with_lru(view, lru) for view, lru in zip(views, counts, strict=True)]
    assumed = assumed and not without_io
    views = [replace(each, cache_assumed=assumed and "Z" in (each.at or {})) for each in views]
    from archline.report import derivation, documents, json
    from archline.report.costs import full
    from archline.report.costs.page import document, first_page
    from archline.report.paths import steps_text

    match options.format:
        case "json":
            single = len(views) == 1 and "::" in options.targets[0]
            found = [full.as_document(view.only(options.metric)) for view in views]
            return json.render(found[0] if single else found)
        case "latex" | "markdown":
            written = getattr(documents, options.format)
            metrics = options.metric
            pages = [full.document(x.only(metrics)) if options.all else document(x, metrics) for x in views]
            return "\n".join(map(written, pages))
        case _:
            pass
    width = terminal_width()
    parts = []
    for report, point, view in zip(reports, points, views, strict=True):
        whole = documents.text(full.document(view.only(options.metric)), width) if options.all else None
        parts.append(first_page(view, width, options.metric) if whole is None else whole)
        if options.explain and report.on_grid:
            steps = report.path_table(point, everywhere=options.all)
            metrics = options.metric or ("words", "messages", "node_words", "node_messages", "flops")
            parts.append(steps_text(steps, metrics, width, options.all))
        elif options.explain:
            parts += [derivation.text(view, metric, width) for metric in options.metric or ("work",)]
    return "\n".join(parts)
