"""The examples of the documentation, followed as a reader does: each command is run from the top of the checkout.

A fenced block ```` ```archline PATH ```` or ```` ```toml PATH ```` shows a file of the checkout. A ```` ```console ````
block holds commands (`$ archline ...`, `$ echo $?`), each followed by all that it prints. Output is compared as it
stands, so a page shows only commands whose output is the same on every machine and every day.
`python tests/unit/test_examples.py [PAGE...]` writes what the commands print now into the pages, for a reader to judge.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from archline.analysis.cache.lru.client import is_installed
from archline.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"^```(?:archline|toml) ([^\s=]+\.\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ (.*)$", re.MULTILINE)
MPI = find_spec("mpi4py") is not None and Path(sys.executable).with_name("mpiexec").exists()


@cache
def run(command: str) -> tuple[str, int]:
    """What a command prints on both its streams, and its exit code. Several pages show the same command."""
    program, *arguments = shlex.split(command)
    assert program in ("archline", "python"), f"a page runs archline and its examples only, not {command!r}"
    printed = io.StringIO()
    with contextlib.chdir(ROOT), contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        code = main(arguments) if program == "archline" else run_script(*arguments)
    return printed.getvalue(), code


def run_script(*arguments: str) -> int:
    """Run a script of the examples in a process of its own: what this one has derived before is not derived again."""
    ran = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=600, check=False)
    print(ran.stdout + ran.stderr, end="")
    return ran.returncode


def rerun(text: str) -> str:
    """The page with what its commands print now."""
    code = 0

    def block(found: re.Match[str]) -> str:
        nonlocal code
        lines = ["```console\n"]
        for command in COMMAND.findall(found[1]):
            if command == "echo $?":
                output = f"{code}\n"
            else:
                output, code = run(command)
            lines += [f"$ {command}\n", output]
        return "".join([*lines, "```"])

    return CONSOLE.sub(block, text)


def named(path: Path) -> str:
    """A page as tests call it: `docs/reference/json`."""
    return path.relative_to(ROOT).with_suffix("").as_posix()


FILES = [path for path in PAGES if FILE.search(path.read_text(encoding="utf-8"))]
SESSIONS = [path for path in PAGES if CONSOLE.search(path.read_text(encoding="utf-8"))]
# Some print what takes long to derive. What a reader meets first is tried by every run.
SHOWN = [
    path if path.name in ("README.md", "CONTRIBUTING.md") else pytest.param(path, marks=pytest.mark.long)
    for path in SESSIONS
]


@pytest.mark.parametrize("path", FILES, ids=named)
def test_files_are_shown_as_they_are(path: Path) -> None:
    for name, shown in FILE.findall(path.read_text(encoding="utf-8")):
        assert (ROOT / name).read_text(encoding="utf-8") == shown


@pytest.mark.parametrize("path", SHOWN, ids=named)
def test_commands_print_what_is_shown(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    if "--lru" in "".join(COMMAND.findall(text)) and not is_installed():
        pytest.skip("the extra `isl` (islpy-barvinok) is not installed")
    if "--engine mpi" in "".join(COMMAND.findall(text)) and not MPI:
        pytest.skip("the extra `mpi` (mpi4py, mpich) is not installed")
    assert rerun(text) == text


def test_pages_that_show_the_same_command_show_the_same_output() -> None:
    """No command is run, so this is tried also where those of most pages are left out."""
    found: dict[str, tuple[str, str]] = {}
    for path in SESSIONS:
        for block in CONSOLE.findall(path.read_text(encoding="utf-8")):
            for shown in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                command, output = shown.split("\n", 1)
                if command != "echo $?":
                    first = found.setdefault(command, (named(path), output))
                    assert output == first[1], f"{named(path)} and {first[0]} differ in what `{command}` prints"


def test_the_first_tutorial_uses_the_main_commands() -> None:
    text = (ROOT / "docs" / "tutorial" / "first-algorithm.md").read_text(encoding="utf-8")
    used = {command.split()[1] for command in COMMAND.findall(text)}
    assert {"cost", "run", "check", "energy", "compare"} <= used


def test_exit_codes_and_text_between_blocks() -> None:
    text = "Do\n```console\n$ echo $?\n1\n```\nand\n```text\n$ archline no\n```\n"
    assert rerun(text) == text.replace("\n1\n", "\n0\n")


if __name__ == "__main__":
    for each in [Path(argument).resolve() for argument in sys.argv[1:]] or SESSIONS:
        each.write_text(rerun(each.read_text(encoding="utf-8")), encoding="utf-8")
