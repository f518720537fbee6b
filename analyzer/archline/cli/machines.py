"""List the machines that come with archline, or the quantities of one machine, with their units, kinds and sources.

`machines new NAME --from lscpu FILE` (or nvidia-smi) drafts a machine file from the output of that command in FILE.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from archline.cli import options as shared
from archline.costs import rules
from archline.language.diagnostics import error
from archline.report.layout import terminal_width


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "name", nargs="?", metavar="NAME", help="a machine, NAME@VARIANT, or the path of a machine's `.toml` file"
    )
    parser.add_argument("draft", nargs="?", metavar="NEW", help="after `new`: name of the machine to draft")
    parser.add_argument(
        "--from", dest="listing", nargs=2, metavar=("COMMAND", "FILE"), help="output of lscpu or nvidia-smi"
    )
    parser.add_argument("-o", "--out", metavar="FILE", help="write the draft to a new `.toml` file")
    parser.add_argument(
        "--year",
        type=shared.parse_whole_number,
        metavar="YEAR",
        help="extrapolate the machine's trends to a year (Czechowski et al., Table 1)",
    )
    shared.add_options(parser, "--no-cache", "--format", choices=("text", "json"))


@shared.print_cached_text
def execute(options: argparse.Namespace) -> str:
    """Return the text that the command prints; its decorator prints it and returns the exit status 0."""
    from archline.api.fitting import write_machine
    from archline.energy.drafts import read_draft
    from archline.energy.machine_files import machine, machines
    from archline.energy.models import load_models
    from archline.report import json
    from archline.report import machines as report

    if options.draft is not None or options.listing is not None or options.out is not None:
        if options.name != "new" or options.draft is None or options.listing is None:
            hint = "archline machines new server --from lscpu listing.txt"
            raise error(rules.OPTIONS_CLASH, "a draft needs `new`, a name and `--from`", hint=hint)
        command, path = options.listing
        text = report.render_draft(read_draft(Path(path), command), options.draft)
        if options.out is None:
            return text
        write_machine(options.out, text)
        return ""
    if options.name is not None:
        chosen = machine(options.name)
        if options.year is not None:
            chosen = chosen.in_year(options.year)
        if options.format == "json":
            return json.render(report.make_json_document(chosen, load_models()))
        return report.render_machine_page(chosen, load_models(), terminal_width())
    if options.year is not None:
        raise error(
            rules.OPTIONS_CLASH, "`--year` needs a machine's name", hint="archline machines fermi-c2050 --year 2020"
        )
    listed_machines = machines()
    if options.format == "json":
        return json.render([report.make_json_document(each_machine, load_models()) for each_machine in listed_machines])
    return report.format_machine_list(listed_machines, load_models(), terminal_width())
