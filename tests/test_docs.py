"""The pages of docs/ that show commands: each command is run, and prints what is shown (see `test_examples`).

`python tests/test_docs.py` writes what the commands print now into the pages, for a reader to judge.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from test_examples import ROOT, rerun

PAGES = sorted(path for path in (ROOT / "docs").glob("*.md") if "```console" in path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_commands_print_what_is_shown(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert rerun(text) == text


def test_the_command_line_is_documented() -> None:
    assert {"command-line", "json"} <= {path.stem for path in PAGES}


if __name__ == "__main__":
    for each in PAGES:
        each.write_text(rerun(each.read_text(encoding="utf-8")), encoding="utf-8")
