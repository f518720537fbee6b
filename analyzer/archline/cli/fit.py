"""Fit a machine's parameters to measured energies, with their standard errors, if the runs determine all parameters.

FILE is CSV with a header: flops, bytes, seconds, joules and optionally precision; for ice work, span, io, joules.
"""

from __future__ import annotations

import argparse
import sys

from archline.cli import options as shared


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("file", metavar="FILE", help="measurements in SI units, one run per row")
    parser.add_argument("--model", metavar="MODEL", default="roofline", help="roofline or ice (default: roofline)")
    parser.add_argument("--out", metavar="FILE", help="write the fitted machine to a new `.toml` file")
    shared.add_options(parser, "--format", choices=("text", "json"))


def execute(options: argparse.Namespace) -> int:
    """Print the fitted parameters, and write a machine file with `--out`; return the exit status 0."""
    from archline.api.fitting import fit
    from archline.report import json, machines

    fitted = fit(options.file, options.model)
    if options.out is not None:
        fitted.write(options.out)
    sys.stdout.write(json.render(machines.make_fit_document(fitted)) if options.format == "json" else str(fitted))
    return 0
