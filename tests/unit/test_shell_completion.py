"""`archline completion`: scripts with which shells complete."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from archline.cli.main import COMMANDS
from cli_support import cli

ASK = """
source /dev/stdin
COMP_WORDS=({words}); COMP_CWORD={last}
_shtab_archline archline "{word}" "{before}"
echo "${{COMPREPLY[@]}}"
"""


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_scripts_name_every_command(shell: str) -> None:
    pytest.importorskip("shtab", reason="scripts for shells need the extra completion")
    ran = cli("completion", shell)
    assert (ran.code, ran.err) == (0, "")
    assert [name for name in COMMANDS if name not in ran.out] == []


@pytest.mark.parametrize(
    ("words", "completed"),
    [(["archline", "comp"], "compare completion"), (["archline", "order", "--rel"], "--relation")],
)
def test_bash_completes_commands_and_options(words: list[str], completed: str) -> None:
    pytest.importorskip("shtab", reason="scripts for shells need the extra completion")
    if shutil.which("bash") is None:
        pytest.skip("bash is not installed")
    question = ASK.format(words=" ".join(words), last=len(words) - 1, word=words[-1], before=words[-2])
    ran = subprocess.run(["bash", "-c", question], input=cli("completion", "bash").out, capture_output=True, text=True)
    assert (ran.stdout.strip(), ran.stderr) == (completed, "")


def test_without_the_extra_there_is_a_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    ran = cli("completion", "bash")
    assert ran.refused("AL417")
    assert "hint: pip install 'archline[completion]'" in ran.err
