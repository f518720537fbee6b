"""Options that several commands share."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from archline.api import rules
from archline.language import input_rules
from archline.language.diagnostics import ArchlineError, did_you_mean, error
from archline.language.syntax_rules import UNEXPECTED
from archline.report.layout import terminal_width

if TYPE_CHECKING:
    from pathlib import Path

    from archline.api.caches import Settings
    from archline.api.settings import Given
    from archline.energy.machines import Machine
    from archline.energy.model import Model
    from archline.execution.results import Cache
    from archline.expr.tree import Source

MODELS = "ice, roofline (+cap, +cache, +levels, +tdp), linear (+overlap) or balance"
USUAL = "the first of roofline+levels, ice and roofline that the machine can feed"


def require(parser: argparse.ArgumentParser, *options: str) -> None:
    """Options that the command line gives, or the project's configuration."""
    parser.set_defaults(required=(*(parser.get_default("required") or ()), *options))


def add_target(parser: argparse.ArgumentParser, *, many: bool, required: bool = True) -> None:
    """TARGET, or TARGET...; where none is `required`, the project's configuration may name them."""
    text = "`path.algo`, `path.algo::name`, `dense.matmul` or `dense.matmul::name`"
    if many:
        require(parser, *([] if required else ["targets"]))
        parser.add_argument("targets", nargs="+" if required else "*", metavar="TARGET", help=text)
    else:
        parser.add_argument("target", metavar="TARGET", help=text)


def add_several(
    parser: argparse.ArgumentParser,
    option: str,
    metavar: str,
    text: str,
    dest: str | None = None,
    required: bool = False,
) -> None:
    """An option that may be repeated: a list of what is given."""
    name = dest or option.removeprefix("--")
    parser.add_argument(option, action="append", default=[], dest=name, metavar=metavar, help=text, required=required)


def add_printing(parser: argparse.ArgumentParser, formats: tuple[str, ...]) -> None:
    """--time-limit, --no-cache and --format."""
    add_time_limit(parser)
    add_no_cache(parser)
    add_format(parser, formats)


def add_energy_targets(parser: argparse.ArgumentParser, more: str = "") -> None:
    """TARGET..., algorithms or formulas."""
    text = f'an algorithm (`dense.matmul::name`, `path.algo::name`) or formulas ("ice:work=...,span=...,io=..."){more}'
    parser.add_argument("targets", nargs="+", metavar="TARGET", help=text)


def add_machines(parser: argparse.ArgumentParser, *, required: bool) -> None:
    """--machine NAME, which may be given several times, and --parameter NAME=VALUE."""
    require(parser, *(["machines"] if required else []))
    text = "a machine (`archline machines` lists them), NAME@VARIANT, or a `.toml` file; may be repeated"
    add_several(parser, "--machine", "NAME", text, "machines")
    text = 'set a quantity of the machines, in its base unit or with a unit ("gamma_t=2.5 ps/flop"); may be repeated'
    add_several(parser, "--parameter", "NAME=VALUE", text, "parameters")
    parser.add_argument("--year", type=natural, metavar="YEAR", help="carry the machines' trends on to a year")


def add_model(parser: argparse.ArgumentParser, default: str) -> None:
    """--model MODEL and --power tdp."""
    parser.add_argument("--model", metavar="MODEL", help=f"{MODELS} (default: {default})")
    parser.add_argument(
        "--power", choices=("tdp",), help="the energy at most, by the thermal design power (model roofline+tdp)"
    )


def read_model(options: argparse.Namespace) -> Model | None:
    """The model that is named; None for the default one. Raises ArchlineError (AL459)."""
    from archline.energy.models import model

    name = options.model
    if options.power is not None:
        name = f"{name or 'roofline'}+{options.power}"
    return None if name is None else model(name)


def read_machines(options: argparse.Namespace) -> list[Machine]:
    """The machines that are named, with the parameters given. Raises ArchlineError."""
    from archline.energy.machine_files import machine
    from archline.energy.machines import read_parameters

    given = read_parameters(options.parameters)
    found = [machine(name).with_parameters(given) for name in options.machines]
    return found if options.year is None else [each.in_year(options.year) for each in found]


def only_machine(options: argparse.Namespace) -> Machine:
    """The one machine that is named, with the parameters given. Raises ArchlineError (AL411 for several)."""
    if len(options.machines) > 1:
        raise error(rules.OPTIONS_CLASH, f"`{options.machines[1]}` is a second machine; give one")
    return read_machines(options)[0]


def energy_settings(options: argparse.Namespace) -> Settings:
    """How the inputs of an energy are found. Raises ArchlineError (AL408, AL411)."""
    from archline.api.caches import Settings

    if options.block is not None and options.matrix is None:
        raise error(rules.OPTIONS_CLASH, "`--block` says how a matrix is cut; it needs `--matrix`")
    cache, chosen = read_cache(options)
    return Settings(
        cache,
        chosen,
        getattr(options, "measured", False),
        options.procs,
        options.seed,
        None if options.matrix is None else Path(options.matrix),
        options.block,
        False if options.plain else None,
        "--at",
    )


class Joined(argparse.Action):
    """An option that may be given several times: the texts with commas between them."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: object, option: str | None = None
    ) -> None:
        before = getattr(namespace, self.dest)
        setattr(namespace, self.dest, values if before is None else f"{before}, {values}")


def add_where(parser: argparse.ArgumentParser) -> None:
    """--where FACTS."""
    parser.add_argument(
        "--where", action=Joined, metavar="FACTS", help='further facts about sizes, such as "nz >= n, b divides n"'
    )


def add_at(parser: argparse.ArgumentParser) -> None:
    """--at SIZES."""
    parser.add_argument("--at", action=Joined, metavar="SIZES", help="exact sizes, such as n=64,m=p=2^20")


def add_format(parser: argparse.ArgumentParser, formats: tuple[str, ...]) -> None:
    """--format."""
    parser.add_argument("--format", choices=formats, default="text", help="how to print the result (default: text)")


def add_jobs(parser: argparse.ArgumentParser) -> None:
    """--jobs N."""
    parser.add_argument(
        "-j",
        "--jobs",
        type=positive,
        metavar="N",
        help="check so many targets at a time (default: one for each processor)",
    )


def add_no_cache(parser: argparse.ArgumentParser) -> None:
    """--no-cache."""
    parser.set_defaults(command=parser.prog)
    parser.add_argument("--no-cache", action="store_true", help="neither read nor write the cache of earlier results")


def add_configuration(parser: argparse.ArgumentParser) -> None:
    """--config FILE and --isolated."""
    either = parser.add_mutually_exclusive_group()
    either.add_argument(
        "--config", metavar="FILE", help="read `[tool.archline]` of this file, not of the nearest pyproject.toml"
    )
    either.add_argument("--isolated", action="store_true", help="read no pyproject.toml")


def configure(parser: argparse.ArgumentParser, options: argparse.Namespace, taken: Mapping[str, str]) -> None:
    """Fill in what the command line does not say with what the project's configuration says: options by its keys.

    Raises ArchlineError (AL440).
    """
    from archline.api.configuration import read

    try:
        options.configuration = read(options.config, isolated=options.isolated)
    except ArchlineError as problem:
        # A command that reports findings reports this one too.
        if not hasattr(options, "problems"):
            raise
        options.configuration, options.problems = read(isolated=True), problem.diagnostics
        return
    for key, option in taken.items():
        value = getattr(options.configuration, key)
        if value and not getattr(options, option):
            setattr(options, option, list(value) if isinstance(value, tuple) else value)
    for option, shown in (("machines", "--machine"), ("targets", "TARGET")):
        if option in taken.values() and option in parser.get_default("required") and not getattr(options, option):
            parser.error(f"the following arguments are required: {shown}")


def add_time_limit(parser: argparse.ArgumentParser) -> None:
    """--time-limit SECONDS."""
    parser.add_argument(
        "--time-limit",
        type=natural,
        default=os.environ.get("ARCHLINE_TIME_LIMIT", "10"),
        metavar="SECONDS",
        help="processor time after which bounds are no longer sharpened, which is said; 0 for none (default: 10)",
    )


def prints(
    make: Callable[[argparse.Namespace], str | tuple[str, int]],
) -> Callable[[argparse.Namespace], int]:
    """A command that prints a text: the one that it made before of the same options and files, if that is kept.

    Nothing is kept of what a matrix, a time limit or a folder decides, nor where a file is written. The exit code is
    0, or made with the text.
    """

    def made(options: argparse.Namespace) -> tuple[str, int]:
        found = make(options)
        return (found, 0) if isinstance(found, str) else found

    def execute(options: argparse.Namespace) -> int:
        from archline.algebra.effort import Clock, allow

        allow(getattr(options, "time_limit", 0))
        targets = getattr(options, "targets", None) or [getattr(options, "target", "")]
        others = any(getattr(options, name, None) is not None for name in ("lru", "matrix", "out"))
        try:
            if options.no_cache or others or any(map(os.path.isdir, targets)):
                text, code = made(options)
            else:
                from archline.api import result_cache

                said = {name: value for name, value in vars(options).items() if name != "configuration"}
                asked = sorted(said.items()), terminal_width()
                text, code = result_cache.kept(asked, targets, lambda: made(options))
            reached = Clock.late
        finally:
            allow(0)
        sys.stdout.write(text)
        if reached:
            note = f"the time limit of {options.time_limit} s was reached: `--time-limit` may give sharper answers"
            print(note, file=sys.stdout if options.format == "text" else sys.stderr)
        return code

    return execute


def listed(text: str) -> list[str]:
    """Names with commas between them."""
    return [each.strip() for each in text.split(",") if each.strip()]


def natural(text: str) -> int:
    """A whole number, 0 or more, below 10^18."""
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a whole number below 10^18")
    return int(text)


def positive(text: str) -> int:
    """A whole number, 1 or more."""
    if natural(text) < 1:
        raise argparse.ArgumentTypeError("expected a number that is at least 1")
    return int(text)


def seconds(text: str) -> float:
    """A number of seconds above 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a number of seconds above 0")
    return value


def add_execution(parser: argparse.ArgumentParser) -> None:
    """What says how a run is done: --cache, --policy, --matrix, --block, --seed, --plain."""
    parser.add_argument("--matrix", metavar="FILE", help="a Matrix Market file (.mtx or .mtx.gz) for a sparse kernel")
    parser.add_argument("--block", type=positive, metavar="B", help="the block size, where the kernel takes blocks")
    add_cache(parser)
    parser.add_argument(
        "--policy", choices=("optimal", "lru"), default="optimal", help="replacement (default: optimal)"
    )
    parser.add_argument("--seed", type=natural, default=0, metavar="N", help="seed of the generated data (default: 0)")
    parser.add_argument("--plain", action="store_true", help="run as plain Python, never compiled")


def add_cache(parser: argparse.ArgumentParser) -> None:
    """--cache Z=..,L=.."""
    parser.add_argument(
        "--cache",
        action=Joined,
        metavar="Z=..,L=..",
        help="words of fast memory and of a line (default: the machine's, else Z=32768,L=8)",
    )


def read_at(options: argparse.Namespace) -> Given:
    """The values of `--at`, read but not yet held against an algorithm. Raises ArchlineError."""
    from archline.api.settings import read_settings

    if options.at is None:
        return {}
    return read_settings(options.at, "--at")


def read_cache(options: argparse.Namespace) -> tuple[Cache, bool]:
    """The cache to use, and whether it was asked for. Raises ArchlineError (AL408)."""
    from archline.api.caches import DEFAULT_CACHE

    policy = getattr(options, "policy", DEFAULT_CACHE.policy)
    if options.cache is None:
        return replace(DEFAULT_CACHE, policy=policy), False
    from archline.execution.results import Cache

    words = read_words(options.cache)
    return Cache(words["Z"], words["L"], policy), True


def read_words(text: str) -> dict[str, int]:
    """Z and L as `--cache` gives them. Raises ArchlineError (AL408)."""
    from archline.api.settings import NO_ROOM, read_settings

    try:
        given = read_settings(text, "--cache")
    except ArchlineError as problem:
        hint = "write --cache Z=32768,L=8: the words of fast memory and of a line"
        problems = [replace(each, hint=hint) if each.rule is UNEXPECTED else each for each in problem.diagnostics]
        raise ArchlineError(problems) from None
    words: dict[str, int] = {}
    for name, (value, span) in given.items():
        if name not in ("Z", "L"):
            hint = did_you_mean(name.upper(), ("Z", "L")) or "write --cache Z=32768,L=8"
            raise error(rules.WRONG_CACHE, f"a cache has Z and L, not `{name}`", span=span, hint=hint)
        if not isinstance(value, int) or value < 1:
            raise error(rules.WRONG_CACHE, f"`{name}` is a whole number of words, 1 at least", span=span)
        words[name] = value
    missing = [name for name in ("Z", "L") if name not in words]
    if missing:
        hint = "write both: --cache Z=32768,L=8"
        raise error(rules.WRONG_CACHE, f"no value is given for `{missing[0]}`", hint=hint)
    if words["Z"] < words["L"]:
        raise error(rules.WRONG_CACHE, NO_ROOM)
    return words


def programs(target: str, excluded: Callable[[Path], bool] = lambda path: False) -> list[str]:
    """The programs of a folder and of those inside, sorted, without those excluded; any other target is one itself."""
    if not os.path.isdir(target):
        return [target]
    found = sorted(str(path) for path in Path(target).rglob("*.algo") if path.is_file() and not excluded(path))
    if not found and any(Path(target).rglob("*.algo")):
        message = f"every `.algo` file in the folder `{target}` is excluded"
        raise error(input_rules.DIRECTORY, message, path=target, hint="`--isolated` reads no configuration")
    # A folder without programs is reported as one that is read.
    return found or [target]


def standard_input() -> Source:
    """The program on standard input. Raises ArchlineError (AL004 to AL006)."""
    from archline.language.source import MAX_BYTES, decode_source

    return decode_source("<stdin>", sys.stdin.buffer.read(MAX_BYTES + 1))


def write_whole(path: Path, text: str) -> None:
    """Write beside a file, then take its place, so that no moment leaves it lost or half written.

    Raises ArchlineError (AL413).
    """
    import tempfile

    # The file a link points to is replaced, not the link.
    target = path.resolve()
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, target.stat().st_mode & 0o7777 if target.exists() else 0o666 & ~_mask())
        os.replace(temporary, target)
    except OSError as problem:
        if temporary is not None and os.path.exists(temporary):
            os.unlink(temporary)
        message = f"`{path}` cannot be written: {problem.strerror}"
        raise error(rules.NOT_WRITTEN, message, path=str(path)) from None


def _mask() -> int:
    """The permissions that new files do not get, which can be read by setting them alone."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
