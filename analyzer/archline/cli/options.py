"""Declare the options that several commands share, and read them."""

from __future__ import annotations

import argparse
import difflib
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from archline.costs import rules
from archline.language import syntax_rules
from archline.language.diagnostics import ArchlineError, Diagnostic, error, note_defects
from archline.report.layout import terminal_width

if TYPE_CHECKING:
    from pathlib import Path

    from archline.api.algorithms import Algorithm
    from archline.costs.sizes import Given
    from archline.energy.caches import Settings
    from archline.energy.machines import Machine
    from archline.energy.model import Model
    from archline.execution.results import Cache
    from archline.expr.tree import Source


class _ModelName:
    """An argparse type for the name of a model; `str` of it lists all models, which are loaded for the help alone."""

    def __call__(self, text: str) -> str:
        return text

    def __str__(self) -> str:
        from archline.energy.models import load_models

        names = [
            f"{model.name} ({', '.join(f'+{option}' for option in model.options)})" if model.options else model.name
            for model in load_models()
        ]
        return f"{', '.join(names[:-1])} or {names[-1]}"


MODEL_NAME = _ModelName()
MODELS_HELP = "%(type)s"
"""The list of models, in the help of an option whose type is MODEL_NAME."""
DEFAULT_MODEL_HELP = "the first of roofline+levels, ice and roofline for which the machine has all quantities"


def read_model(options: argparse.Namespace) -> Model | None:
    """Return the model of `--model` and `--power`; None for the default model. Raises ArchlineError (AL459)."""
    from archline.energy.models import find_model

    name = options.model
    if options.power is not None:
        name = f"{name or 'roofline'}+{options.power}"
    return None if name is None else find_model(name)


def read_machines(options: argparse.Namespace) -> list[Machine]:
    """Return the machines of `--machine`, with `--parameter` and `--year` applied. Raises ArchlineError."""
    from archline.energy.machine_files import machine
    from archline.energy.machines import read_parameters

    machine_parameters = read_parameters(options.parameters)
    machines = [machine(name).with_parameters(machine_parameters) for name in options.machines]
    return machines if options.year is None else [item.in_year(options.year) for item in machines]


def read_only_machine(options: argparse.Namespace) -> Machine:
    """Return the machine of `--machine`, with `--parameter` and `--year`. Raises ArchlineError (AL411 for several)."""
    if len(options.machines) > 1:
        raise error(rules.OPTIONS_CLASH, f"only one `--machine` can be given; `{options.machines[1]}` is a second one")
    return read_machines(options)[0]


def read_energy_settings(options: argparse.Namespace) -> Settings:
    """Return the settings of an energy's inputs, such as the cache. Raises ArchlineError (AL408, AL411)."""
    from archline.energy.caches import Settings

    if options.block is not None and options.matrix is None:
        raise error(rules.OPTIONS_CLASH, "`--block` is the block size of a matrix; it requires `--matrix`")
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


class JoinTexts(argparse.Action):
    """An argparse action for an option that may be repeated: its texts are joined with commas."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: object, option: str | None = None
    ) -> None:
        before = getattr(namespace, self.dest)
        setattr(namespace, self.dest, values if before is None else f"{before}, {values}")


def parse_whole_number(text: str) -> int:
    """Parse a whole number from 0 to 10^18 - 1."""
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a whole number below 10^18")
    return int(text)


def parse_positive_number(text: str) -> int:
    """Parse a whole number of at least 1."""
    if parse_whole_number(text) < 1:
        raise argparse.ArgumentTypeError("expected a number >= 1")
    return int(text)


_REPEATED_OPTION = {"action": "append", "default": []}
_FLAG_OPTION = {"action": "store_true"}
TARGET_HELP = "`path.algo`, `path.algo::name`, `dense.matmul` or `dense.matmul::name`"
ENERGY_TARGET_HELP = (
    'an algorithm (`dense.matmul::name`, `path.algo::name`) or formulas ("ice:work=...,span=...,io=...")'
)
OPTIONS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "--machine": (
        "a machine (`archline machines` lists them), NAME@VARIANT, or a `.toml` file; may be repeated",
        {"metavar": "NAME", "dest": "machines", **_REPEATED_OPTION},
    ),
    "--parameter": (
        'set a quantity of the machines, in its base unit or with a unit ("gamma_t=2.5 ps/flop"); may be repeated',
        {"metavar": "NAME=VALUE", "dest": "parameters", **_REPEATED_OPTION},
    ),
    "--year": ("extrapolate the machines' trends to a year", {"type": parse_whole_number, "metavar": "YEAR"}),
    "--model": (f"{MODELS_HELP} (default: {DEFAULT_MODEL_HELP})", {"metavar": "MODEL", "type": MODEL_NAME}),
    "--power": ("upper bound on energy from the thermal design power (model roofline+tdp)", {"choices": ("tdp",)}),
    "--at": ("exact sizes, such as n=64,m=p=2^20", {"action": JoinTexts, "metavar": "SIZES"}),
    "--where": ('further facts about sizes, such as "nz >= n, b divides n"', {"action": JoinTexts, "metavar": "FACTS"}),
    "--matrix": ("a Matrix Market file (.mtx or .mtx.gz) for a sparse kernel", {"metavar": "FILE"}),
    "--block": ("block size, for kernels on blocks", {"type": parse_positive_number, "metavar": "B"}),
    "--cache": (
        "capacity of fast memory and line length in words (default: the machine's, else Z=32768,L=8)",
        {"action": JoinTexts, "metavar": "Z=..,L=.."},
    ),
    "--policy": ("replacement (default: optimal)", {"choices": ("optimal", "lru"), "default": "optimal"}),
    "--seed": ("seed of the generated data (default: 0)", {"type": parse_whole_number, "default": 0, "metavar": "N"}),
    "--plain": ("run as plain Python without compiling", _FLAG_OPTION),
    "--procs": ("number of processors, for models that use it", {"type": parse_positive_number, "metavar": "P"}),
    "--measured": ("use inputs counted by a run instead of derived bounds", _FLAG_OPTION),
    "--tolerance": ("accept increases proved to be at most this share at all sizes, e.g. 2%%", {"metavar": "SHARE"}),
    "--out": ("write a picture, .svg, .png or .pdf (needs the extra `plots`)", {"metavar": "FILE"}),
    "--jobs": (
        "number of targets to check in parallel (default: one per processor)",
        {"type": parse_positive_number, "metavar": "N"},
    ),
    "--time-limit": (
        "CPU time limit for tightening bounds (a note is printed if it is reached); 0 = no limit (default: 10)",
        {"type": parse_whole_number, "metavar": "SECONDS"},
    ),
    "--no-cache": ("do not use the result cache", _FLAG_OPTION),
    "--format": ("output format (default: text)", {"default": "text"}),
    "--color": (
        "colour text: always, never, or on terminals (default: auto)",
        {"choices": ("auto", "always", "never"), "default": "auto"},
    ),
}
"""The options that commands share: the help and the argparse arguments of each."""
MACHINE_OPTIONS = ("--machine", "--parameter", "--year")
EXECUTION_OPTIONS = ("--matrix", "--block", "--cache", "--policy", "--seed", "--plain")
PRINTING_OPTIONS = ("--time-limit", "--no-cache", "--format")


def add_options(parser: argparse.ArgumentParser, *options: str, choices: tuple[str, ...] = (), **more: Any) -> None:
    """Add options of the table OPTIONS, with `more` arguments for argparse; `choices` are those of --format."""
    for option in options:
        text, arguments = OPTIONS[option]
        additions: dict[str, Any] = {"choices": choices} if option == "--format" else {}
        if option == "--time-limit":
            # The variable may change after this module is loaded.
            additions = {"default": os.environ.get("ARCHLINE_TIME_LIMIT", "10")}
        names = ("-j", option) if option == "--jobs" else (option,)
        parser.add_argument(*names, **{"help": text, **arguments, **additions, **more})
        if option == "--format":
            add_options(parser, "--color")
    parser.set_defaults(command=parser.prog)


def add_configuration_options(parser: argparse.ArgumentParser) -> None:
    """Add --config FILE and --isolated."""
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--config", metavar="FILE", help="read `[tool.archline]` of this file instead of the nearest pyproject.toml"
    )
    source.add_argument("--isolated", action="store_true", help="read no pyproject.toml")


def apply_configuration(
    parser: argparse.ArgumentParser, options: argparse.Namespace, filled: Mapping[str, str]
) -> None:
    """Fill in options that are not on the command line from the project's configuration.

    `filled` maps keys of the configuration to names of options. Raises ArchlineError (AL440).
    """
    from archline.api.configuration import read_configuration

    try:
        options.configuration = read_configuration(options.config, isolated=options.isolated)
        targets = filled.get("paths")
        if targets and not getattr(options, targets):
            options.configuration.require_paths()
    except ArchlineError as problem:
        # A command that reports findings reports this error among them.
        if not hasattr(options, "problems"):
            raise
        options.configuration, options.problems = read_configuration(isolated=True), problem.diagnostics
        return
    for key, option in filled.items():
        value = getattr(options.configuration, key)
        if value and not getattr(options, option) and not (option == "cache" and _is_cache_given(options)):
            setattr(options, option, list(value) if isinstance(value, tuple) else value)
    for option, name in (("machines", "--machine"), ("targets", "TARGET")):
        if option in filled.values() and parser.get_default("required") == option and not getattr(options, option):
            parser.error(f"the following arguments are required: {name}")


def _is_cache_given(options: argparse.Namespace) -> bool:
    """Test whether `--at` or one of the machines gives the cache, so that the default is not used."""
    from archline.energy.caches import select_machine_cache

    machines = read_machines(options) if getattr(options, "machines", None) else []
    return bool(re.search(r"\b[ZL]\s*=", getattr(options, "at", None) or "")) or any(
        map(select_machine_cache, machines)
    )


def make_text_despite_defects(make: Callable[[list[Algorithm]], str], subjects: list[Algorithm]) -> str:
    """Return the text that `make` returns for some algorithms.

    If a defect of archline occurs, print the text for the algorithms without one, and raise ArchlineError.
    """
    defects, sound = list[str](), list["Algorithm"]()
    with note_defects(defects, "all"):
        return make(subjects)
    defects.clear()
    for subject in subjects:
        with note_defects(defects, f"`{subject.name}`"):
            make([subject])
            sound.append(subject)
    sys.stdout.write(make(sound) if sound else "")
    raise ArchlineError([Diagnostic(rules.DEFECT, defect) for defect in defects])


def print_cached_text(
    make: Callable[[argparse.Namespace], str | tuple[str, int]],
) -> Callable[[argparse.Namespace], int]:
    """Decorate the function of a command that makes a text: the command prints it, from the result cache if possible.

    The function may return an exit code with the text; it is 0 by default. Results of LRU counts, a matrix or a folder,
    and those of commands that write a file, are not cached.
    """

    def make_text_and_code(options: argparse.Namespace) -> tuple[str, int]:
        result = make(options)
        return (result, 0) if isinstance(result, str) else result

    def execute(options: argparse.Namespace) -> int:
        from archline.algebra.effort import Clock, set_time_limit

        set_time_limit(getattr(options, "time_limit", 0))
        targets = getattr(options, "targets", None) or [getattr(options, "target", "")]
        is_uncached = any(getattr(options, name, None) is not None for name in ("lru", "matrix", "out"))
        try:
            if options.no_cache or is_uncached or any(map(os.path.isdir, targets)):
                text, code = make_text_and_code(options)
            else:
                from archline.api import result_cache

                without = {"configuration", "color"}
                asked = sorted((key, value) for key, value in vars(options).items() if key not in without)
                text, code = result_cache.find_or_make(
                    (asked, terminal_width()), targets, lambda: make_text_and_code(options)
                )
            reached = Clock.late
        finally:
            set_time_limit(0)
        sys.stdout.write(text)
        if reached:
            note = f"the time limit of {options.time_limit} s was reached: a larger `--time-limit` may tighten bounds"
            print(note, file=sys.stdout if options.format == "text" else sys.stderr)
        return code

    return execute


def split_list(text: str) -> list[str]:
    """Split a list of names at commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def parse_seconds(text: str) -> float:
    """Parse a number of seconds above 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a positive number of seconds")
    return value


def read_at(options: argparse.Namespace) -> Given:
    """Return the values of `--at`, not yet checked against an algorithm. Raises ArchlineError."""
    from archline.costs.sizes import read_settings

    if options.at is None:
        return {}
    return read_settings(options.at, "--at")


def read_cache(options: argparse.Namespace) -> tuple[Cache, bool]:
    """Return the cache of `--cache`, or the default one, and whether it was given. Raises ArchlineError (AL408)."""
    from archline.energy.caches import DEFAULT_CACHE

    policy = getattr(options, "policy", DEFAULT_CACHE.policy)
    if options.cache is None:
        return replace(DEFAULT_CACHE, policy=policy), False
    from archline.energy.caches import read_cache_words
    from archline.execution.results import Cache

    words = read_cache_words(options.cache)
    return Cache(words["Z"], words["L"], policy), True


def list_programs(target: str, excluded: Callable[[Path], bool] = lambda path: False) -> list[str]:
    """List the programs of a folder and its subfolders, sorted, without excluded ones; for other targets the target."""
    if not os.path.isdir(target):
        return [target]
    paths = sorted(str(path) for path in Path(target).rglob("*.algo") if path.is_file() and not excluded(path))
    if not paths and any(Path(target).rglob("*.algo")):
        message = f"every `.algo` file in the folder `{target}` is excluded"
        raise error(syntax_rules.DIRECTORY, message, path=target, hint="`--isolated` ignores the configuration")
    # A folder without programs is listed too: it is reported when it is read.
    return paths or [target]


def read_standard_input() -> Source:
    """Read the program on standard input. Raises ArchlineError (AL004 to AL006)."""
    from archline.language.source import MAX_BYTES, decode_source

    return decode_source("<stdin>", sys.stdin.buffer.read(MAX_BYTES + 1))


def format_difference(source: Source, text: str, what: str) -> str:
    """Return the unified diff from a source to its new text, which is labelled by `what` (`fixed`, `formatted`)."""
    before, after = source.text.splitlines(keepends=True), text.splitlines(keepends=True)
    lines = difflib.unified_diff(before, after, source.path, f"{source.path} ({what})")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
