"""Compare algorithms: the growth of their metrics and energies, and which one takes less on a machine.

Verdicts: `proved` by the bounds; `proved, thin` if the margin is below the model's stated error, or details of the
model decide; `depends on the data` if runs on different data decide it differently; `executed`: decided by a run on the
stated data; `open`.
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
    text = f"{shared.ENERGY_TARGET_HELP}; two or more"
    parser.add_argument("targets", nargs="+", metavar="TARGET", help=text)
    shared.add_options(parser, *shared.MACHINE_OPTIONS)
    default = f"that of the formulas, else {shared.DEFAULT_MODEL_HELP}; for --by time or power roofline before ice"
    shared.add_options(parser, "--model", help=f"{shared.MODELS_HELP} (default: {default})")
    shared.add_options(parser, "--power")
    parser.add_argument(
        "--by",
        type=lambda text: text.replace("-", "_"),
        choices=("energy", "time", "power", "energy_delay", "bytes"),
        help="quantity to compare (default: energy; time if the machine has no energy for the model)",
    )
    shared.add_options(parser, "--at")
    parser.add_argument(
        "--sweep", metavar="SIZES", help="sizes to sweep: n=64..8192 (doubling), n=m=p=64..8192, n=10..90 step 20"
    )
    shared.add_options(parser, "--where", *shared.EXECUTION_OPTIONS, "--procs")
    parser.add_argument("--execute", action="store_true", help="run on generated data if the bounds do not decide")
    parser.add_argument("--growth", action="store_true", help="also print the growth table")
    parser.add_argument("--all", action="store_true", help="print growth with one processor along an axis too")
    parser.add_argument("--certificates", action="store_true", help="show how growth is proved (text and JSON)")
    shared.add_options(parser, "--out", *shared.PRINTING_OPTIONS, choices=FORMATS)


@shared.print_cached_text
def execute(options: argparse.Namespace) -> str:
    """Return the text that the command prints; its decorator prints it and returns the exit status 0."""
    from archline.compare.comparisons import compare_subjects
    from archline.energy.subjects import make_subject
    from archline.energy.sweeps import SizeSweep
    from archline.report import comparisons

    machines = shared.read_machines(options)
    subjects = [make_subject(target, options.where) for target in options.targets]
    at = None if options.at is None else shared.read_at(options)
    sweep = None if options.sweep is None else SizeSweep.read(options.sweep)
    if options.out is not None:
        from archline.api.plots import check_picture_format

        check_picture_format(options.out)
    chosen = shared.read_model(options)
    settings = shared.read_energy_settings(options)
    comparison = compare_subjects(
        subjects,
        machines,
        chosen,
        options.by,
        at,
        sweep,
        settings,
        options.execute,
        options.where,
        everywhere=options.all,
    )
    if options.out is not None:
        from archline.api.pictures import save_comparison

        save_comparison(comparison, options.out)
    written = getattr(comparisons, f"as_{options.format}")
    page = written(comparison, terminal_width(), certificates=options.certificates, growth=options.growth)
    return str(page)
