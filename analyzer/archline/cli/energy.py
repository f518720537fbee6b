"""Estimate the energy of an algorithm on a machine: work, span and io derived, or io as a run counts it."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from archline.cli import options as shared

if TYPE_CHECKING:
    from archline.api.energies import Energy
    from archline.energy.machines import Machine
    from archline.energy.model import Model


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
    result = _energy(options, chosen, estimator)
    if options.format == "json":
        from archline.report import json

        sys.stdout.write(json.render(json.energy(result.view)))
        return 0
    from archline.report import text
    from archline.report.layout import terminal_width

    sys.stdout.write(text.energy(result.view, terminal_width()))
    return 0


def _energy(options: argparse.Namespace, machine: Machine, model: Model) -> Energy:
    """Of what is derived, where that is all that the model takes; of a run otherwise."""
    from archline.api.energies import Basis, derived_basis, energy_on

    subject = shared.subject_of(options)
    if options.matrix is None and options.block is None and not options.measured:
        cache, chosen = shared.read_cache(options)
        at = shared.read_at(options)
        basis = derived_basis(subject, at, model, cache=cache, chosen_cache=chosen, option="--at")
        if basis is not None:
            return energy_on(subject, basis, machine, model)
    done = shared.executed(subject, options)
    return energy_on(subject, Basis.of_run(done), machine, model, options.measured)
