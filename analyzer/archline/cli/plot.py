"""Plot io against Z at sizes, or the roofline of a machine, its greenup, or its balance over the years.

io (the default): derived bounds, and the misses of optimal replacement in a run on generated data. Exits with 1 if a
simulated point lies outside the bounds, which is a defect in archline. `--kind roofline`: shares of peak flop/s and
flop/J and power of a machine, with the intensities of TARGETs; `--kind greenup` with `--intensity I`: for which f and m
a run of f*W flops and Q/m bytes takes less time and energy than one of W and Q, which has that intensity;
`--kind balance`: for a machine with trends. Without `--out` the points are printed.
"""

from __future__ import annotations

import argparse
import re
import sys
from fractions import Fraction
from typing import TYPE_CHECKING

from archline.cli import options as shared
from archline.costs import rules
from archline.language.diagnostics import error
from archline.report.layout import terminal_width

if TYPE_CHECKING:
    from archline.api.pictures import Picture
    from archline.api.plots import IoPlot
    from archline.report.pictures import PictureView

CONFIGURED = {"machine": "project_machines"}
"""The options that the project's configuration fills in, by its keys: a plot of io has no machine."""
MACHINE_OPTIONS = ("machines", "parameters")
OPTIONS_BY_KIND = {
    "io": ("targets", "at", "where", "cache", "metric", "seed", "plain"),
    "roofline": (*MACHINE_OPTIONS, "targets", "at", "where", "cache"),
    "greenup": (*MACHINE_OPTIONS, "intensity"),
    "balance": (*MACHINE_OPTIONS, "years"),
}
"""The options of each kind of plot, in addition to --out and --format."""
OPTION_NAMES = {"targets": "TARGET", "machines": "--machine", "parameters": "--parameter"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    text = "`path.algo`, `path.algo::name`, `dense.matmul` or `dense.matmul::name`; for a roofline any number of these"
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=text)
    parser.add_argument("--kind", choices=tuple(OPTIONS_BY_KIND), default="io", help="what to plot (default: io)")
    parser.set_defaults(project_machines=[])
    shared.add_options(parser, *shared.MACHINE_OPTIONS, "--at", "--where")
    parser.add_argument("--cache", metavar="L=..", help="io: words of a line (default: L=8); roofline: Z=..,L=..")
    parser.add_argument(
        "--intensity", type=_parse_intensity, metavar="I", help="intensity in flop/B; required by greenup"
    )
    parser.add_argument("--years", type=_parse_years, metavar="FROM..TO", help="for balance (default: 15 years)")
    parser.add_argument("--metric", choices=("io",), help="the metric to plot (default: io)")
    shared.add_options(parser, "--out")
    shared.add_options(parser, "--seed", default=None)
    shared.add_options(parser, "--plain")
    text = "print the points (default: text, or nothing with --out)"
    shared.add_options(parser, "--format", choices=("text", "json", "csv"), default=None, help=text)


def execute(options: argparse.Namespace) -> int:
    """Print or save the picture; return the exit status: 1 if simulated io is outside of its bounds, else 0."""
    from archline.api.plots import IoPlot, check_picture_format

    options.machines = options.machines or (options.project_machines if options.kind != "io" else [])
    _check_options_of_kind(options)
    if options.out is not None:
        # Checked first, so that a wrong name is reported before the run.
        check_picture_format(options.out)
    picture = _make_io_plot(options) if options.kind == "io" else _make_picture(options)
    if options.out is not None:
        picture.save(options.out)
    sys.stdout.write(
        _format_picture(picture.view, options.format or ("text" if options.out is None else "path"), options.out)
    )
    return 1 if isinstance(picture, IoPlot) and picture.outside else 0


def _make_io_plot(options: argparse.Namespace) -> IoPlot:
    from archline.api.algorithms import algorithm
    from archline.api.plots import make_io_plot

    subject = algorithm(options.targets[0]).assuming(options.where)
    line, compiled = _read_line_length(options), False if options.plain else None
    at, seed = shared.read_at(options), options.seed or 0
    return make_io_plot(subject, at, line=line, seed=seed, option="--at", compiled=compiled)


def _check_options_of_kind(options: argparse.Namespace) -> None:
    """Raise ArchlineError (AL411) for options that do not belong to the kind of plot, and for missing ones."""
    kind = options.kind
    allowed = OPTIONS_BY_KIND[kind] if kind != "roofline" or options.targets else (*MACHINE_OPTIONS, "targets")
    for name in dict.fromkeys(name for names in OPTIONS_BY_KIND.values() for name in names):
        if getattr(options, name) not in (None, [], False) and name not in allowed:
            written = ", ".join(OPTION_NAMES.get(option, f"--{option}") for option in allowed)
            without = " without a TARGET" if kind == "roofline" else ""
            message = f"`--kind {kind}`{without} does not accept `{OPTION_NAMES.get(name, f'--{name}')}`"
            raise error(rules.OPTIONS_CLASH, message, hint=f"it accepts {written}, --out and --format")
    if kind == "io" and len(options.targets) != 1:
        raise error(rules.OPTIONS_CLASH, "a plot of io needs one TARGET", hint="such as dense.gemv::gemv --at n=6,m=20")
    if kind != "io" and len(options.machines) != 1:
        raise error(rules.OPTIONS_CLASH, f"`--kind {kind}` needs one machine", hint="give --machine NAME once")
    if kind == "greenup" and options.intensity is None:
        raise error(rules.OPTIONS_CLASH, "`--kind greenup` needs `--intensity`, in flop/B", hint="--intensity 4")


def _make_picture(options: argparse.Namespace) -> Picture:
    from archline.api import pictures
    from archline.energy.caches import DEFAULT_CACHE, Settings, read_cache_words
    from archline.energy.subjects import make_subject
    from archline.execution.results import Cache

    (machine,) = shared.read_machines(options)
    if options.kind == "greenup":
        return pictures.greenup(machine, options.intensity)
    if options.kind == "balance":
        return pictures.balance(machine, options.years)
    subjects = [make_subject(target, options.where) for target in options.targets]
    words = None if options.cache is None else read_cache_words(options.cache)
    cache = DEFAULT_CACHE if words is None else Cache(words["Z"], words["L"])
    settings = Settings(cache, words is not None, option="--at")
    return pictures.draw_roofline(machine, subjects, shared.read_at(options), settings, options.where)


def _parse_intensity(text: str) -> Fraction:
    """Parse a number above 0, as 4, 0.5 or 1/3."""
    if not re.fullmatch(r"\d{1,15}(\.\d{1,15}|/\d{1,15})?", text) or not re.search(r"[1-9]", text) or "/0" in text:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a number above 0, such as 4, 0.5 or 1/3")
    return Fraction(text)


def _parse_years(text: str) -> tuple[int, int]:
    """Parse a range of years, as 2010..2025."""
    years = re.fullmatch(r"(\d{4})\.\.(\d{4})", text)
    if years is None:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a range of years, such as 2010..2025")
    return int(years[1]), int(years[2])


def _read_line_length(options: argparse.Namespace) -> int:
    """Return the words of a cache line, L, from `--cache` or by default. Raises ArchlineError (AL408)."""
    from archline.costs.sizes import read_settings
    from archline.energy.caches import DEFAULT_CACHE

    if options.cache is None:
        return DEFAULT_CACHE.L
    settings = read_settings(options.cache, "--cache")
    value, span = settings.get("L", (None, None))
    span_of_other = next((place for name, (_, place) in settings.items() if name != "L"), None)
    if span_of_other is not None:
        raise error(rules.WRONG_CACHE, "Z is the x axis; give only L", span=span_of_other, hint="--cache L=8")
    if not isinstance(value, int) or value < 1:
        message = "`L` must be a positive whole number of words"
        raise error(rules.WRONG_CACHE, message, span=span, hint="--cache L=8")
    return value


def _format_picture(view: PictureView, form: str, path: str | None) -> str:
    match form:
        case "json":
            return view.json()
        case "csv":
            return view.csv()
        case "path":
            return f"{path}: {view.caption}\n"
        case _:
            return view.text(terminal_width())
