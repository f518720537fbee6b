"""Find where time and energy scale perfectly: a fixed problem on more and more processors, and what ends the range.

A target is an algorithm on a grid, whose costs are derived, or formulas in P. Sizes that --vary names grow together:
--at n=4096,g=8 --vary c=1..8, or --vary P=16..256 --vary c=1..16. Time scales perfectly while time*P stays within a
factor of its value on the fewest processors, energy while the energy itself does.
"""

from __future__ import annotations

import argparse
from fractions import Fraction

from archline.cli import options as shared
from archline.report.layout import terminal_width

CONFIGURED = {"machine": "machines"}
"""The options that the project's configuration fills in, by its keys."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "target", metavar="TARGET", help="an algorithm on a grid, or formulas such as linear:F=n^3/P,..."
    )
    parser.set_defaults(required="machines")
    shared.add_options(parser, *shared.MACHINE_OPTIONS)
    parser.add_argument(
        "--model", metavar="MODEL", help="linear or two_level, also with +overlap (default: by the grid)"
    )
    shared.add_options(parser, "--at", "--where")
    text = "sizes to sweep: c=1..8, P=8..64 step 8"
    parser.add_argument("--vary", action="append", default=[], metavar="SIZES", help=text, required=True)
    parser.add_argument(
        "--factor", type=_parse_factor, default=Fraction(3, 2), metavar="F", help="tolerance factor (default: 1.5)"
    )
    parser.add_argument(
        "--measured", action="store_true", help="use counts of runs on simulated processors instead of derived bounds"
    )
    shared.add_options(parser, *shared.PRINTING_OPTIONS, choices=("text", "json"))


@shared.print_cached_text
def execute(options: argparse.Namespace) -> str:
    """Return the text that the command prints; its decorator prints it and returns the exit status 0."""
    from archline.energy.caches import Settings
    from archline.energy.strong_scaling import derive_scaling
    from archline.energy.subjects import make_subject
    from archline.report import scaling

    machine = shared.read_only_machine(options)
    chosen = make_subject(options.target, options.where)
    settings = Settings(measured=options.measured, option="--at")
    result = derive_scaling(
        chosen, machine, options.vary, shared.read_at(options), options.model, options.factor, settings
    )
    return scaling.render_json(result) if options.format == "json" else scaling.render_scaling(result, terminal_width())


def _parse_factor(text: str) -> Fraction:
    """Parse a number above 1."""
    try:
        value = Fraction(text)
    except (ValueError, ZeroDivisionError):
        value = Fraction(0)
    if not 1 < value < 10**6:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a number above 1")
    return value
