"""The walkthroughs in examples/, followed as a reader does: each command is run from the top of the checkout.

A fenced block ```` ```archline PATH ```` shows a file of the checkout. A ```` ```console ```` block holds
commands (`$ archline ...`, `$ echo $?`), each followed by all that it prints. Output is compared as it stands,
so a walkthrough shows only commands whose output is the same on every machine and every day.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
WALKTHROUGHS = sorted((ROOT / "examples").glob("*.md"))
BLOCK = re.compile(r"^```(?P<kind>\w+)(?: (?P<path>\S+))?\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
LAUNCH = "import sys; from archline.cli.main import main; sys.argv[0] = 'archline'; sys.exit(main())"


@dataclass(frozen=True)
class Step:
    """A command of a walkthrough, what it is shown to print, and the line it stands on."""

    line: int
    command: str
    output: str


def steps(text: str) -> Iterator[Step]:
    """The commands of the console blocks, in order."""
    for block in BLOCK.finditer(text):
        if block["kind"] != "console":
            continue
        start = text.count("\n", 0, block.start("body")) + 1
        pieces = re.split(r"^\$ ", block["body"], flags=re.MULTILINE)
        assert not pieces[0], f"line {start}: the block does not begin with a command"
        for piece in pieces[1:]:
            command, _, output = piece.partition("\n")
            yield Step(start, command, output)
            start += piece.count("\n")


def archline(command: str) -> tuple[str, int]:
    """Run a command line: what it prints on both streams, and its exit code."""
    program, *arguments = shlex.split(command)
    assert program == "archline", f"a walkthrough runs archline only, not {command!r}"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "analyzer"), "COLUMNS": "100", "NO_COLOR": "1"}
    ran = subprocess.run(
        [sys.executable, "-c", LAUNCH, *arguments],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
    )
    return ran.stdout, ran.returncode


@pytest.mark.parametrize("path", WALKTHROUGHS, ids=lambda path: path.stem)
def test_files_are_shown_as_they_are(path: Path) -> None:
    shown = [block for block in BLOCK.finditer(path.read_text(encoding="utf-8")) if block["path"]]
    for block in shown:
        assert (ROOT / block["path"]).read_text(encoding="utf-8") == block["body"]


@pytest.mark.parametrize("path", WALKTHROUGHS, ids=lambda path: path.stem)
def test_commands_print_what_is_shown(path: Path) -> None:
    code = 0
    for step in steps(path.read_text(encoding="utf-8")):
        if step.command == "echo $?":
            printed = f"{code}\n"
        else:
            printed, code = archline(step.command)
        assert printed == step.output, f"{path.name}, line {step.line}: $ {step.command}"


def test_there_is_a_first_walkthrough() -> None:
    text = (ROOT / "examples" / "first_walkthrough.md").read_text(encoding="utf-8")
    used = {step.command.split()[1] for step in steps(text) if step.command.startswith("archline ")}
    assert {"cost", "run", "check", "energy"} <= used


def test_steps_are_read_in_order() -> None:
    text = "Do\n```console\n$ archline a\nout\n\nmore\n$ echo $?\n0\n```\n\n```text\n$ archline no\n```\n"
    assert list(steps(text)) == [Step(3, "archline a", "out\n\nmore\n"), Step(7, "echo $?", "0\n")]
