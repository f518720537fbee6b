"""Run an algorithm on generated data or on a matrix, and compare the counts with the derived bounds.

Exits with 1 if a count lies outside its derived bounds, which is a defect in archline.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from archline.cli import options as shared
from archline.costs import rules
from archline.language.diagnostics import error
from archline.records import replace
from archline.report.layout import terminal_width

if TYPE_CHECKING:
    from archline.api.running import Run
    from archline.energy.caches import Processors, Settings
    from archline.energy.machines import Machine

PATH_METRICS = ("words", "messages", "node_words", "node_messages", "flops", "work", "time")

CONFIGURED = {"cache": "cache"}
"""The options that the project's configuration fills in, by its keys."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("target", metavar="TARGET", help=shared.TARGET_HELP)
    shared.add_options(parser, "--at", "--where", *shared.EXECUTION_OPTIONS)
    parser.add_argument(
        "--procs", type=shared.parse_positive_number, metavar="P", help="simulate P processors with private caches"
    )
    parser.add_argument(
        "--schedule", metavar="S", help="static, chunked:C or stealing[:SEED], with --procs (default: static)"
    )
    parser.add_argument(
        "--engine",
        choices=("simulated", "mpi"),
        default="simulated",
        help="engine for grid algorithms: simulated processors, or one MPI rank each (default: simulated)",
    )
    parser.add_argument(
        "--timeout",
        type=shared.parse_seconds,
        default=5.0,
        metavar="SECONDS",
        help="seconds an MPI rank waits before it checks for deadlock (default: 5)",
    )
    parser.add_argument(
        "--explain", action="store_true", help="show the critical path of words, or of time with --machine"
    )
    parser.add_argument("--metric", choices=PATH_METRICS, help="with --explain, show the critical path of this metric")
    parser.add_argument(
        "--time-limit",
        type=shared.parse_whole_number,
        metavar="SECONDS",
        help="seconds after which loops without a bound are stopped; 0 = no limit (default: 10)",
    )
    shared.add_options(parser, *shared.MACHINE_OPTIONS, "--format", choices=("text", "json"))


def execute(options: argparse.Namespace) -> int:
    """Run and print the counts; return the exit status: 1 if a count is outside of its bounds, else 0."""
    from archline.api.algorithms import algorithm
    from archline.api.running import run_at

    path = _read_path_metric(options)
    if options.engine == "mpi":
        _silence_other_ranks()
    # Read first, so that a mistyped schedule is reported before the target is read.
    processors = _read_processors(options)
    subject = algorithm(options.target).assuming(options.where)
    at, settings = shared.read_at(options), shared.read_energy_settings(options)
    machine = shared.read_only_machine(options) if options.machines else None
    if machine is not None and not subject.node.grid:
        settings = _add_level_caches(machine, settings, processors)
    settings = replace(
        settings,
        chosen_cache=settings.chosen_cache or settings.of_machine,
        machine=machine,
        processors=processors,
        engine=options.engine,
        timeout=options.timeout,
        path=path,
        seconds=options.time_limit,
    )
    done = run_at(subject, at, settings.cache, settings)
    sys.stdout.write(_render(options.format, done))
    return 1 if done.outside else 0


def _add_level_caches(machine: Machine, settings: Settings, processors: Processors | None) -> Settings:
    """Add the caches of a machine's levels, which are counted separately, to settings. Raises ArchlineError (AL411)."""
    from archline.energy.caches import list_level_caches

    levels = [] if processors and settings.chosen_cache else [name for name, _ in list_level_caches(machine)]
    if processors and levels:
        message = f"with `--procs` each processor has one cache, but machine `{machine.name}` has several levels"
        raise error(rules.OPTIONS_CLASH, message, hint="use --cache Z=..,L=.. instead of --machine")
    return settings.with_machine_caches(machine, levels)


def _read_path_metric(options: argparse.Namespace) -> str | None:
    """Return the metric whose critical path is shown; None if `--explain` is missing. Raises ArchlineError (AL411)."""
    if not options.explain:
        if options.metric is not None:
            raise error(rules.OPTIONS_CLASH, "`--metric` needs `--explain`")
        return None
    if options.engine == "mpi":
        message = "`--explain` follows simulated processors, whose costs are identical; omit `--engine mpi`"
        raise error(rules.OPTIONS_CLASH, message)
    if options.metric == "time" and not options.machines:
        raise error(rules.OPTIONS_CLASH, "`--metric time` needs a `--machine`")
    return options.metric or ("time" if options.machines else "words")


def _silence_other_ranks() -> None:
    """Silence all ranks under `mpiexec` but rank 0."""
    from archline.execution.mpiexec import read_rank

    if read_rank() not in (0, None):
        sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115


def _read_processors(options: argparse.Namespace) -> Processors | None:
    """Return the processors of `--procs` and `--schedule`; None if they are not given. Raises ArchlineError."""
    from archline.energy.running import read_schedule

    if options.procs is None:
        if options.schedule is not None:
            raise error(rules.WRONG_SCHEDULE, "`--schedule` needs `--procs`")
        return None
    return read_schedule(options.schedule or "static", options.procs, options.seed)


def _render(form: str, done: Run) -> str:
    from archline.report import json, runs

    return (
        json.render(runs.make_json_document(done.view))
        if form == "json"
        else runs.render_run(done.view, terminal_width())
    )
