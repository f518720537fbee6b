"""Estimate the energy of a run on a machine: work, span and io derived, or io as it was counted."""

from __future__ import annotations

import argparse
import sys

from archline.cli import options as shared


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    shared.add_target(parser, many=False)
    parser.add_argument(
        "--machine", required=True, metavar="NAME", help="a machine (see `archline machines`) or a file"
    )
    parser.add_argument("--model", default="ice", metavar="MODEL", help="the energy model (default: ice)")
    shared.add_at(parser)
    shared.add_where(parser)
    shared.add_execution(parser)
    parser.add_argument("--measured", action="store_true", help="io as the run counts it, instead of its bounds")
    shared.add_format(parser, ("text", "json"))


def execute(options: argparse.Namespace) -> int:
    """Run the command."""
    from archline.energy.machines import machine
    from archline.energy.models import model

    # A mistyped name is told before the run, not after it.
    chosen, estimator = machine(options.machine), model(options.model)
    done = shared.executed(options)
    from archline.api.energies import energy_of_run

    result = energy_of_run(done, chosen, estimator, options.measured)
    if options.format == "json":
        from archline.report import json

        sys.stdout.write(json.render(json.energy(result.view)))
        return 0
    from archline.report import text
    from archline.report.layout import terminal_width

    sys.stdout.write(text.energy(result.view, terminal_width()))
    return 0
