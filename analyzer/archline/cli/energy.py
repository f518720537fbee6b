"""Time, energy and power of algorithms on machines: as formulas in their sizes, or with --at as numbers.

A target is an algorithm, whose inputs are derived (executed with --measured or --matrix), or formulas typed by hand:
"linear:F=f*n^2/P,W=n^2/(P*M),S=n^2/(P*M*m)".
"""

from __future__ import annotations

import argparse

from archline.cli import options as shared
from archline.report.layout import terminal_width

FORMATS = ("text", "json", "latex", "markdown", "csv")

CONFIGURED = {"machine": "machines", "model": "model", "cache": "cache"}
"""The options that the project's configuration fills in, by its keys."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.set_defaults(required="machines")
    parser.add_argument("targets", nargs="+", metavar="TARGET", help=shared.ENERGY_TARGET_HELP)
    shared.add_options(
        parser, *shared.MACHINE_OPTIONS, "--model", "--power", "--at", "--where", *shared.EXECUTION_OPTIONS, "--procs"
    )
    parser.add_argument("--sweep", metavar="SIZES", help="sizes to sweep, one row each: P=1..64, n=m=64..8192")
    shared.add_options(parser, "--measured")
    parser.add_argument("--all", action="store_true", help="on a grid: print all symbolic forms in full")
    shared.add_options(parser, *shared.PRINTING_OPTIONS, choices=FORMATS)


@shared.print_cached_text
def execute(options: argparse.Namespace) -> str:
    """Return the text that the command prints; its decorator prints it and returns the exit status 0."""
    from archline.energy.answers import derive_energies
    from archline.energy.subjects import make_subject
    from archline.energy.sweeps import SizeSweep
    from archline.report.energies import formats

    # Names are read first, so that a mistyped one is reported before a run.
    machines = shared.read_machines(options)
    chosen = shared.read_model(options)
    subjects = [make_subject(target, options.where) for target in options.targets]
    at = shared.read_at(options) if options.at is not None or options.matrix is not None else None
    settings = shared.read_energy_settings(options)
    points = [at] if options.sweep is None else SizeSweep.read(options.sweep).combine_with(at or {})
    everywhere = options.all or options.format in ("json", "csv")
    rows = [
        derive_energies(subjects, machines, chosen, point, settings, options.where, everywhere=everywhere)
        for point in points
    ]
    results = [result for row in rows for result in row]
    return str(getattr(formats, f"as_{options.format}")(results, terminal_width()))
