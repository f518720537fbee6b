"""Derive flops, work, span and io of algorithms, exact or between two bounds, in their sizes."""

from __future__ import annotations

import argparse
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from archline.cli import options as shared
from archline.costs import rules
from archline.energy import caches
from archline.language.diagnostics import ArchlineError, error, suggest_closest
from archline.language.metrics import DERIVABLE, ON_GRID
from archline.report.layout import terminal_width

if TYPE_CHECKING:
    from archline.api.algorithms import Algorithm
    from archline.api.costs import CostReport
    from archline.costs.sizes import Given, Point
    from archline.expr.tree import Span

FORMATS = ("text", "json", "latex", "markdown")
CONFIGURED = {"where": "project_facts", "cache": "project_cache"}
"""The options that the project's configuration fills in, by its keys: neither is on the command line."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.set_defaults(project_facts=None, project_cache=None)
    parser.add_argument("targets", nargs="+", metavar="TARGET", help=shared.TARGET_HELP)
    shared.add_options(parser, "--at", "--where")
    shared.add_options(parser, "--cache", help="words of fast memory and of a line, for io at `--at`")
    parser.add_argument("--all", action="store_true", help="print all forms in full, with regimes and lower bounds")
    parser.add_argument("--explain", action="store_true", help="show the derivation, statement by statement")
    parser.add_argument(
        "--metric",
        type=_parse_metrics,
        metavar="METRIC,..",
        help="show these metrics alone; with --explain, derive them (default: work; on a grid words, messages and "
        f"flops): {', '.join((*DERIVABLE, *ON_GRID))}",
    )
    parser.add_argument(
        "--procs",
        type=parse_processors,
        metavar="P",
        help="also print the running time on this many shared-memory processors: a number, P, or the name of a size",
    )
    parser.add_argument(
        "--lru",
        type=shared.parse_positive_number,
        metavar="L",
        help="count the misses of LRU caches with lines of L words exactly (requires the extra `isl`)",
    )
    parser.add_argument(
        "--limit",
        type=shared.parse_positive_number,
        default=60,
        metavar="SECONDS",
        help="time limit for --lru (default: 60)",
    )
    parser.add_argument(
        "--problem",
        metavar="NAME(..)",
        help="problem that the grid algorithm solves, for lower bounds: matmul(n, m, p), nbody(n, f), fft(n), "
        "strassen(n), lu(n)",
    )
    shared.add_options(parser, *shared.PRINTING_OPTIONS, choices=FORMATS)


def parse_processors(text: str) -> int | str:
    """Parse a number of processors, or a name for it."""
    return text if text.isidentifier() else shared.parse_positive_number(text)


@shared.print_cached_text
def execute(options: argparse.Namespace) -> str:
    """Return the text that the command prints; its decorator prints it and returns the exit status 0."""
    if options.explain and options.format not in ("text", "json"):
        raise error(rules.OPTIONS_CLASH, "`--explain` requires `--format text` or `--format json`")
    if options.lru is not None and options.format not in ("text", "json"):
        raise error(rules.OPTIONS_CLASH, "`--lru` requires `--format text` or `--format json`")
    return shared.make_text_despite_defects(partial(_make_text, options), _read_subjects(options))


def _make_text(options: argparse.Namespace, subjects: list[Algorithm]) -> str:
    reports = [subject.cost(problem=options.problem) for subject in subjects]
    for report in reports:
        if options.procs is not None and report.on_grid:
            message = f"the number of processors is set by the grid of `{report.name}`"
            raise error(rules.OPTIONS_CLASH, message, hint="give its sizes, or P: `--at P=8`")
    for metric in options.metric or ():
        reports = _include_metric_in_reports(reports, metric)
    values = _read_values(options)
    points = _check_points(options, reports, values)
    assumed = values is not None and _has_no_cache(values) and options.project_cache is None
    return _render(options, reports, points, assumed)


def _read_subjects(options: argparse.Namespace) -> list[Algorithm]:
    """Return the algorithms of the targets, under the facts of `--where`, else the project's facts on their sizes."""
    from archline.api import checks
    from archline.api.algorithms import Algorithm
    from archline.costs.algorithms import select_facts

    subjects = [algorithm for target in options.targets for algorithm in Algorithm.every(target, options.where)]
    if options.where is not None or not options.project_facts:
        return subjects
    project = options.configuration
    try:
        checks.require_sizes_of_project(project, [algorithm.node.span.source.path for algorithm in subjects])
        return [algorithm.assuming(select_facts(algorithm, project.facts)) for algorithm in subjects]
    except ArchlineError as problem:
        raise ArchlineError(list(map(project.locate_diagnostic, problem.diagnostics))) from None


def _parse_metrics(text: str) -> tuple[str, ...]:
    """Parse a list of metrics, as `flops,work`."""
    names, choices = tuple(part.strip() for part in text.split(",")), (*DERIVABLE, *ON_GRID)
    for name in names:
        if name not in choices:
            hint = suggest_closest(name, choices) or f"choose from {', '.join(choices)}"
            raise argparse.ArgumentTypeError(f"there is no metric `{name}`: {hint}")
    return names


def _include_metric_in_reports(reports: list[CostReport], metric: str) -> list[CostReport]:
    """Add a metric to the algorithms that have it. Raises ArchlineError (AL411) if none has."""
    having = [
        report for report in reports if metric in report.metrics or (metric not in ON_GRID and not report.on_grid)
    ]
    return [_include_metric(report, metric) for report in having or reports]


def _include_metric(report: CostReport, metric: str) -> CostReport:
    """Add a metric to the costs. Raises ArchlineError (AL411) if algorithms of this kind do not have it."""
    if report.on_grid and metric not in report.metrics:
        message = f"`{metric}` cannot be derived for `{report.name}`, which runs on a grid"
        raise error(rules.OPTIONS_CLASH, message, hint=f"the derived metrics are {', '.join(report.metrics)}")
    if metric in ON_GRID and not report.on_grid:
        message = f"`{report.name}` runs on one processor: there are no {metric.replace('_', ' ')} to derive"
        raise error(rules.OPTIONS_CLASH, message, hint=f"only algorithms `on grid(...)` have {', '.join(ON_GRID)}")
    return report.including(metric)


def _read_values(options: argparse.Namespace) -> Given | None:
    """Return the values of `--at` and `--cache` together; None if `--at` is missing."""
    from archline.costs.sizes import read_settings

    if options.at is None:
        if options.cache is not None:
            raise error(rules.OPTIONS_CLASH, "`--cache` needs sizes; give them by `--at`")
        return None
    values: Given = read_settings(options.at, "--at")
    if options.cache is not None:
        words: dict[str, tuple[object, Span | None]] = {
            name: (value, None) for name, value in caches.read_cache_words(options.cache).items()
        }
        repeated = next((name for name in words if name in values), None)
        if repeated is not None:
            raise error(rules.OPTIONS_CLASH, f"{repeated} is given by both `--cache` and `--at`")
        values = {**words, **values}
    return values


def _has_no_cache(values: Given) -> bool:
    """Test whether the values have neither Z nor L, so that io is for the default cache."""
    return not {"Z", "L"} & values.keys()


def _check_points(
    options: argparse.Namespace, reports: list[CostReport], values: Given | None
) -> list[Point] | list[None]:
    """Return the checked values for each algorithm; None for each if `values` is None.

    Each name must be a size of at least one of the algorithms.
    """
    from archline.costs.sizes import require_known_names

    if values is None:
        return [None for _ in reports]
    is_processors = all("P" not in (*report.names.sizes, *report.names.indices) for report in reports)
    if isinstance(options.procs, int) and is_processors and values.get("P", (options.procs, None))[0] != options.procs:
        raise error(rules.OPTIONS_CLASH, f"`--procs {options.procs}` contradicts the P given by `--at`")
    if len(reports) == 1:
        return [_check_point(values, reports[0], options)]
    require_known_names(values, [report.names for report in reports])
    return [
        _check_point({name: setting for name, setting in values.items() if name in report.names.all}, report, options)
        for report in reports
    ]


def _check_point(values: Given, report: CostReport, options: argparse.Namespace) -> Point:
    """Return the checked values for one algorithm, with the default cache if none is given.

    P needs a value if the time on P processors is asked for.
    """
    needed = report.names.needed
    if _has_no_cache(values) and not report.on_grid:
        default = {"Z": caches.DEFAULT_CACHE.Z, "L": caches.DEFAULT_CACHE.L}
        if options.project_cache is not None:
            default = caches.read_cache_words(options.project_cache)
        values = {**values, **{name: (value, None) for name, value in default.items() if name in report.names.all}}
    return report.point_of_run(values, (*needed, "P") if options.procs == "P" else needed, "--at")


def _render(
    options: argparse.Namespace, reports: list[CostReport], points: list[Point] | list[None], assumed: bool
) -> str:
    # A page of other metrics does not show io.
    shows_io = options.all or options.lru or "io" in (options.metric or ("io",))
    without_io = options.format == "text" and not shows_io
    views = [report.view(point, options.procs, without_io) for report, point in zip(reports, points, strict=True)]
    if options.lru is not None:
        from archline.api.metrics import add_lru_counts

        counts = [report.lru(options.lru, point, options.limit) for report, point in zip(reports, points, strict=True)]
        views = [add_lru_counts(view, lru) for view, lru in zip(views, counts, strict=True)]
    assumed = assumed and not without_io
    views = [replace(view, cache_assumed=assumed and "Z" in (view.at or {})) for view in views]
    from archline.report import derivation, documents, json, paths
    from archline.report.costs import full
    from archline.report.costs.page import make_page, render_first_page

    match options.format:
        case "json":
            single = len(views) == 1 and "::" in options.targets[0]
            page_documents = [
                full.make_json_document(view.select_metrics(options.metric), options.explain) for view in views
            ]
            return json.render(page_documents[0] if single else page_documents)
        case "latex" | "markdown":
            write = getattr(documents, options.format)
            metrics = options.metric
            pages = [
                full.make_page(view.select_metrics(metrics)) if options.all else make_page(view, metrics)
                for view in views
            ]
            return "\n".join(map(write, pages))
        case _:
            pass
    width = terminal_width()
    parts = []
    for report, point, view in zip(reports, points, views, strict=True):
        whole = documents.text(full.make_page(view.select_metrics(options.metric)), width) if options.all else None
        parts.append(render_first_page(view, width, options.metric) if whole is None else whole)
        if options.explain and report.on_grid:
            steps = report.path_table(point, everywhere=options.all)
            metrics = options.metric or ("words", "messages", "node_words", "node_messages", "flops")
            parts.append(paths.format_path_tables(steps, metrics, width, options.all))
        elif options.explain:
            parts += [derivation.render_derivation(view, metric, width) for metric in options.metric or ("work",)]
    return "\n".join(parts)
