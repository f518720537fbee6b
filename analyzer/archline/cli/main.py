"""Run the command line: choose the command, and turn errors into a message and an exit code.

Nothing heavy is imported here, so that `--help` and mistyped commands answer quickly.
"""

from __future__ import annotations

import argparse
import atexit
import contextlib
import gc
import io
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any, TextIO, TypeVar

from archline import __version__

Result = TypeVar("Result")
SUCCESS, FINDINGS, BAD_INPUT, DEFECT, INTERRUPTED = 0, 1, 2, 3, 130

COMMANDS = {
    "list": "list the algorithms of the library, a file or a folder",
    "cost": "derive flops, work, span and io (cache misses)",
    "run": "run on data, count, and compare with the derived bounds",
    "report": "write an HTML page of costs, with sliders for sizes",
    "check": "check the `ensures` clauses and claims of algorithms",
    "diff": "show which costs changed between two versions",
    "fmt": "rewrite programs in canonical form",
    "explain": "explain the code of a diagnostic",
    "recurrence": "solve a recurrence",
    "machines": "list machines and their numbers",
    "papers": "re-derive the results of papers, and show which of them are wrong",
    "plot": "plot io against the size of the cache",
    "energy": "time, energy and power on machines, by models from the literature",
    "compare": "compare algorithms by growth, time or energy",
    "fit": "fit a machine's parameters to measured energies",
    "scale": "find the range of perfect strong scaling of time and energy",
    "optimise": "minimise time, energy or power over sizes, processors and machine parameters",
    "order": "compare the growth of two expressions",
    "lsp": "serve editors: findings, costs and completion while you type",
    "completion": "print a script with which a shell completes commands and options",
}
COLLECTION_THRESHOLD = 1_000_000
"""The number of new objects after which unreachable cycles are collected.

With Python's default of 700, collections take 8 % of the time of derivations, with 10 000 3 % and at the start 5 %;
with 100 000 8 % of that of a report, whose caches live long. With this number most commands need none, and take up to
15 MB more. Objects that survived two collections contain next to no garbage.
"""
TARGETS_HELP = "A target is `path.algo`, `path.algo::name`, `dense.matmul` or `dense.matmul::name`."
EXIT_CODES_HELP = "Exit codes: 0 success, 1 findings, 2 usage or input error, 3 defect in archline."


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command of the arguments `argv`, by default those of this process, and return the exit status.

    It is one of EXIT_CODES_HELP, or 130 after an interrupt.
    """
    if argv is None:
        reduce_garbage_collection()
        _open_closed_streams()
    arguments = list(sys.argv[1:] if argv is None else argv)
    if argv is None and isinstance(sys.stdout, io.TextIOWrapper):
        # A docstring may contain characters that the terminal cannot encode.
        sys.stdout.reconfigure(errors="backslashreplace")
    streams = sys.stdout, sys.stderr
    try:
        code = call_in_large_stack_chunk(_run_command, arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        _print_error("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of the output has ended.
        _discard_output(sys.stdout)
        return SUCCESS
    except OSError as problem:
        _print_error(f"archline: {problem.strerror or problem}")
        _discard_output(sys.stdout)
        return BAD_INPUT
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else BAD_INPUT
    except Exception as problem:
        return _report_failure(problem, arguments)
    finally:
        _flush_standard_error()
        sys.stdout, sys.stderr = streams
    return code


def _open_closed_streams() -> None:
    """Open closed standard streams on the null device; else the next file that is opened gets their descriptor."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115


def reduce_garbage_collection() -> None:
    """Collect unreachable cycles seldom; only for processes that archline starts, as the setting is global."""
    gc.set_threshold(COLLECTION_THRESHOLD, 10, 1_000)
    # At exit all memory is freed anyway: a last collection would take a tenth of the time or more.
    atexit.register(gc.freeze)


def call_in_large_stack_chunk(function: Callable[..., Result], *arguments: Any, **named: Any) -> Result:
    """Call a function with its arguments in a large stack chunk, so that calls do not ask the system for memory.

    CPython keeps frames in chunks of 16 KiB. A call that needs a new chunk takes it from the system, and gives it back
    at its return; a loop at the end of a chunk does so in every iteration. That took a twentieth of the time of some
    derivations, and a quarter of some tests. The frame of this function, of 2.4 MB, gets a chunk of 4 MB, and all
    calls inside it use the rest.
    """
    return function(*arguments, **named)


call_in_large_stack_chunk.__code__ = call_in_large_stack_chunk.__code__.replace(co_stacksize=300_000)


def _run_command(arguments: list[str]) -> int:
    """Parse the arguments, run the command, and return its exit code. Raises SystemExit for wrong arguments."""
    parser = _make_parser()
    if not arguments:
        parser.print_help()
        return BAD_INPUT
    name = arguments[0]
    if not name.startswith("-") and name not in COMMANDS:
        parser.error(_describe_unknown_command(name))
    options, rest = parser.parse_known_args([name])
    assert not rest
    command = import_module(f"archline.cli.{options.command}")
    chosen = argparse.ArgumentParser(
        prog=f"archline {options.command}",
        description=command.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    configure_command(command, chosen)
    options = chosen.parse_args(arguments[1:])
    from archline.cli.terminal import replace_streams

    replace_streams(options)
    if hasattr(command, "CONFIGURED"):
        from archline.cli.options import apply_configuration

        apply_configuration(chosen, options, command.CONFIGURED)
    result = command.execute(options)
    assert isinstance(result, int)
    return result


def configure_command(command: ModuleType, parser: argparse.ArgumentParser) -> None:
    """Add the options of a command, given by its module, to a parser."""
    command.configure(parser)
    if hasattr(command, "CONFIGURED"):
        from archline.cli.options import add_configuration_options

        add_configuration_options(parser)


def _discard_output(stream: TextIO) -> None:
    """Discard all further output to a standard stream, also what Python flushes at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _make_parser() -> argparse.ArgumentParser:
    listed = "\n".join(f"  {name:<12}{purpose}" for name, purpose in COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog="archline",
        usage="archline [-h] [--version] COMMAND ...",
        description="Derive the costs of algorithm sketches, run them, and compare derived and measured counts.",
        epilog=f"commands:\n{listed}\n\n`archline COMMAND --help` has more. {TARGETS_HELP}\n{EXIT_CODES_HELP}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"archline {__version__}")
    parser.add_argument("command", metavar="COMMAND", help=argparse.SUPPRESS)
    return parser


def _describe_unknown_command(name: str) -> str:
    from archline.language.diagnostics import suggest_closest

    near = suggest_closest(name, COMMANDS) or f"commands are {', '.join(COMMANDS)}"
    return f"there is no command `{name[:40]}` ({near})"


def _report_failure(problem: Exception, arguments: list[str]) -> int:
    """Print the diagnostics of an ArchlineError, or a defect for other exceptions, and return the exit code."""
    from archline.language.diagnostics import ArchlineError, describe_defect

    if isinstance(problem, ArchlineError):
        for diagnostic in problem.diagnostics:
            _print_error(diagnostic.render())
        return DEFECT if "AL999" in [diagnostic.code for diagnostic in problem.diagnostics] else BAD_INPUT
    command = " ".join(arguments)[:200]
    _print_error(f"AL999: defect in archline: {describe_defect(problem)} (command: archline {command})")
    return DEFECT


def _print_error(text: str) -> None:
    """Print to standard error, which may be full or closed."""
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr)


def _flush_standard_error() -> None:
    """Flush standard error; if it is full or closed, discard the rest, on which Python would fail at exit."""
    try:
        sys.stderr.flush()
    except OSError:
        _discard_output(sys.stderr)
