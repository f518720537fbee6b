"""The pages of docs/ that show commands: each is run, and prints what is shown (see `test_examples`)."""

from __future__ import annotations

from pathlib import Path

import pytest

from test_examples import ROOT, archline, steps

PAGES = sorted(path for path in (ROOT / "docs").glob("*.md") if "```console" in path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_commands_print_what_is_shown(path: Path) -> None:
    code = 0
    for step in steps(path.read_text(encoding="utf-8")):
        if step.command == "echo $?":
            printed = f"{code}\n"
        else:
            printed, code = archline(step.command)
        assert printed == step.output, f"{path.name}, line {step.line}: $ {step.command}"


def test_the_command_line_is_documented() -> None:
    assert {"command-line", "json"} <= {path.stem for path in PAGES}
