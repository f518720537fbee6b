"""Minimise time, energy or power over sizes, processors, copies, blocks, memory and parameters of the machine.

A target is an algorithm, whose sizes take the values that its facts allow, or formulas typed by hand, whose symbols
are real numbers unless --integer names them:

    archline optimise distributed.matmul::matmul_25d --machine jaketown --at n=4096 --over g,c --subject "time <= 1 ms"
"""

from __future__ import annotations

import argparse

from archline.cli import options as shared
from archline.report.layout import terminal_width

CONFIGURED = {"machine": "machines", "model": "model", "cache": "cache"}
"""The options that the project's configuration fills in, by its keys."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("target", metavar="TARGET", help="an algorithm, or formulas such as linear:F=n^3/P,...")
    shared.add_options(parser, *shared.MACHINE_OPTIONS)
    shared.add_options(parser, "--model", help=f"{shared.MODELS_HELP} (default: by the target)")
    parser.add_argument(
        "--minimise",
        choices=("energy", "time", "power", "energy_delay", "bytes"),
        default="energy",
        help="quantity to minimise (default: energy)",
    )
    text = "variables: sizes, symbols, machine quantities; with a range if no fact gives one: P=1..64,M"
    parser.add_argument("--over", action="append", default=[], metavar="NAMES", help=text)
    text = 'constraint: "time <= 2 ms", "power/P <= 20 W", "memory <= memory_max"; may be repeated'
    parser.add_argument("--subject", action="append", default=[], metavar="BOUND", help=text)
    text = "instead of --over: quantities to halve as few times as meets --subject; together: gamma_e=delta_e"
    parser.add_argument("--halve", action="append", default=[], metavar="NAMES", help=text)
    parser.add_argument("--integer", default="", metavar="NAMES", help="symbols that take integer values")
    shared.add_options(parser, "--at", "--where", "--cache")
    parser.add_argument(
        "--bound",
        choices=("upper", "lower"),
        default="upper",
        help="which bound to use for costs that are not exact (default: upper)",
    )
    shared.add_options(parser, *shared.PRINTING_OPTIONS, choices=("text", "json"))


@shared.print_cached_text
def execute(options: argparse.Namespace) -> tuple[str, int]:
    """Return the text of the optimum and the exit status: 1 if no point satisfies the constraints, else 0."""
    from archline.api.optimising import NO_MACHINE, optimise
    from archline.energy.machines import read_parameters
    from archline.energy.optimise.problem import INFEASIBLE
    from archline.report.optima import render_json, render_optimum

    machine_parameters = read_parameters(options.parameters)
    machine = shared.read_only_machine(options) if options.machines else NO_MACHINE.with_parameters(machine_parameters)
    cache, chosen = shared.read_cache(options)
    optimum = optimise(
        options.target,
        over=options.over,
        halve=options.halve,
        minimise=options.minimise,
        machine=machine,
        model=options.model,
        at=options.at,
        where=options.where,
        subject=options.subject,
        integer=shared.split_list(options.integer),
        cache=cache if chosen else None,
        bound=options.bound,
    )
    shown = (
        render_json(optimum.answer) if options.format == "json" else render_optimum(optimum.answer, terminal_width())
    )
    return shown, int(optimum.status == INFEASIBLE)
