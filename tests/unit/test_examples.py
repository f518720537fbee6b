"""The walkthroughs in examples/, followed as a reader does: each command is run from the top of the checkout.

A fenced block ```` ```archline PATH ```` shows a file of the checkout. A ```` ```console ```` block holds
commands (`$ archline ...`, `$ echo $?`), each followed by all that it prints. Output is compared as it stands,
so a walkthrough shows only commands whose output is the same on every machine and every day.
`python tests/unit/test_examples.py` writes what the commands print now into the walkthroughs, for a reader to judge.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WALKTHROUGHS = sorted((ROOT / "examples").glob("*.md"))
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"^```archline (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ (.*)$", re.MULTILINE)
LAUNCH = "import sys; from archline.cli.main import main; sys.argv[0] = 'archline'; sys.exit(main())"


def run(command: str) -> tuple[str, int]:
    """What a command prints on both its streams, and its exit code."""
    program, *arguments = shlex.split(command)
    assert program == "archline", f"a walkthrough runs archline only, not {command!r}"
    ran = subprocess.run(
        [sys.executable, "-c", LAUNCH, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "analyzer"), "COLUMNS": "100", "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
    )
    return ran.stdout, ran.returncode


def rerun(text: str) -> str:
    """The walkthrough with what its commands print now."""
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


@pytest.mark.parametrize("path", WALKTHROUGHS, ids=lambda path: path.stem)
def test_files_are_shown_as_they_are(path: Path) -> None:
    for name, shown in FILE.findall(path.read_text(encoding="utf-8")):
        assert (ROOT / name).read_text(encoding="utf-8") == shown


@pytest.mark.parametrize("path", WALKTHROUGHS, ids=lambda path: path.stem)
def test_commands_print_what_is_shown(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert rerun(text) == text


def test_there_is_a_first_walkthrough() -> None:
    text = (ROOT / "examples" / "first_walkthrough.md").read_text(encoding="utf-8")
    used = {command.split()[1] for command in COMMAND.findall(text)}
    assert {"cost", "run", "check", "energy"} <= used


def test_exit_codes_and_text_between_blocks() -> None:
    text = "Do\n```console\n$ echo $?\n1\n```\nand\n```text\n$ archline no\n```\n"
    assert rerun(text) == text.replace("\n1\n", "\n0\n")


if __name__ == "__main__":
    for each in WALKTHROUGHS:
        each.write_text(rerun(each.read_text(encoding="utf-8")), encoding="utf-8")
