"""Colours and control characters: terminals get escape sequences of archline alone, and everything else gets none."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from archline.changes import results
from archline.claims.verdicts import Outcome
from archline.cli import terminal
from cli_support import ROOT, cli

pty = pytest.importorskip("pty", reason="there are no terminals to ask on this system")

PROGRAM = """algorithm first(A: real[n]) -> real:
    "Sums."
    ensures flops == n
    ensures work <= n
    s = 0
    unused = 3
    for i in 0..n:
        s += A[i]
    return s
"""
SGR = re.compile(r"\x1b\[[0-9;]*m")
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE")},
    "PYTHONPATH": str(ROOT / "analyzer"),
    "COLUMNS": "100",
    "TERM": "xterm",
}
CHARACTERS = "\x1b[31m\x9b31m\x1b]0;x\x07x\rx\u202e"
LINE = CHARACTERS.replace("\r", "")
"""A colour in two spellings, a title of the window, a return to the start of the line, and text from right to left."""


def show(*arguments: str, cwd: Path, **environment: str) -> str:
    """Return what a command sends to a terminal that is its standard output and standard error."""
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "archline", *arguments]
    process = subprocess.Popen(command, stdout=slave, stderr=slave, cwd=cwd, env={**ENVIRONMENT, **environment})
    os.close(slave)
    sent = b""
    try:
        while part := os.read(master, 65536):
            sent += part
    except OSError:
        # Linux reports the closed end of the terminal as an error.
        pass
    os.close(master)
    process.wait()
    return sent.decode().replace("\r\n", "\n")


def pipe(*arguments: str, cwd: Path, **environment: str) -> str:
    """Return what a command writes to a pipe, on both streams."""
    return subprocess.run(
        [sys.executable, "-m", "archline", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=cwd,
        env={**ENVIRONMENT, **environment},
        text=True,
        check=False,
    ).stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in (("old", PROGRAM), ("new", PROGRAM.replace("+= A[i]", "+= 2*A[i]"))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.algo").write_text(text)
    (tmp_path / "wrong.algo").write_text(PROGRAM.replace("s += A[i]", "s += B[i]"))
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "coloured"),
    [
        (
            ("check", "old/x.algo"),
            {"32": ["holds", "holds"], "1;31": ["fails", "fails"], "33": ["warning"], "1": ["first", "AL607"]},
        ),
        (("cost", "wrong.algo"), {"1;31": ["AL201", "^^^^"]}),
        (("cost", "dense.matmull"), {"1;31": ["AL001"], "36": ["hint"]}),
        (("diff", "old", "new"), {"1;31": ["grew"] * 4, "1": ["x.algo::first"]}),
        (("order", "n^2", "n"), {"1;31": ["fails"]}),
        (("cost", "old/x.algo", "--all"), {"1": ["first: Sums.", "metric  status          cost"]}),
    ],
)
def test_a_terminal_gets_the_text_of_a_pipe_in_colour(
    folder: Path, arguments: tuple[str, ...], coloured: dict[str, list[str]]
) -> None:
    shown, piped = show(*arguments, cwd=folder), pipe(*arguments, cwd=folder)
    assert "\x1b" not in piped
    # The words are where they are without colours, so that columns stay aligned.
    assert sorted(SGR.sub("", shown).splitlines()) == sorted(piped.splitlines())
    for role, words in coloured.items():
        found = re.findall(rf"\x1b\[{role}m(.*?)\x1b\[0m", shown)
        assert [word for word in found if word in words] == words, shown
    assert show(*arguments, cwd=folder, NO_COLOR="1") == SGR.sub("", shown)
    assert show(*arguments, "--color", "never", cwd=folder, FORCE_COLOR="1") == SGR.sub("", shown)


@pytest.mark.parametrize(
    ("environment", "is_terminal", "choice", "expected"),
    [
        ({}, True, "auto", True),
        ({}, False, "auto", False),
        ({"TERM": "dumb"}, True, "auto", False),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, "auto", False),
        ({"NO_COLOR": ""}, True, "auto", True),
        ({"FORCE_COLOR": "1"}, False, "auto", True),
        ({"CLICOLOR_FORCE": "1", "TERM": "dumb"}, False, "auto", True),
        ({"FORCE_COLOR": "0", "CLICOLOR_FORCE": "0"}, False, "auto", False),
        ({"NO_COLOR": "1"}, False, "always", True),
        ({"FORCE_COLOR": "1"}, True, "never", False),
    ],
)
def test_colours_are_chosen(environment: dict[str, str], is_terminal: bool, choice: str, expected: bool) -> None:
    class Stream(io.StringIO):
        def isatty(self) -> bool:
            return is_terminal

    assert terminal.is_coloured(Stream(), choice, environment) is expected


@pytest.mark.parametrize("where", ["docstring", "comment", "claim", "name", "option"])
def test_users_send_no_escapes_to_a_terminal(tmp_path: Path, where: str) -> None:
    text, name = PROGRAM, "x.algo"
    match where:
        case "docstring":
            text = text.replace("Sums.", f"Su{LINE}ms.")
        case "comment":
            text = text.replace("work <= n", f"work <= n # {LINE}")
        case "claim":
            text = text.replace("work <= n", f"work <= n{CHARACTERS}")
        case "name":
            name = f"x{CHARACTERS}.algo"
    (tmp_path / name).write_bytes(text.encode())
    target = f"{name}::{CHARACTERS}" if where == "option" else name
    for arguments in (("cost", target), ("check", target), ("fmt", "--diff", name)):
        for environment in ({}, {"NO_COLOR": "1"}):
            shown = show(*arguments, cwd=tmp_path, **environment).replace("\x1b[31m", "planted")
            assert "planted" not in shown
            left = SGR.sub("", shown)
            assert not [character for character in left if character != "\n" and not character.isprintable()], left


def test_formats_of_programs_have_no_colours(folder: Path) -> None:
    for name in ("json", "sarif", "junit", "github", "html"):
        shown = show("check", "old/x.algo", "--format", name, "--color", "always", cwd=folder, FORCE_COLOR="1")
        assert "\x1b" not in shown, name
    document = json.loads(show("cost", "old/x.algo::first", "--format", "json", cwd=folder, FORCE_COLOR="1"))
    assert document["algorithm"] == "first"
    pipe("report", "old/x.algo", "--out", "page.html", cwd=folder, FORCE_COLOR="1")
    assert "\x1b" not in (folder / "page.html").read_text()
    assert "\x1b" not in pipe("fmt", "--diff", "old/x.algo", cwd=folder, FORCE_COLOR="1")


def test_colours_are_asked_for_and_streams_restored(folder: Path) -> None:
    before = sys.stdout, sys.stderr
    shown = cli("check", str(folder / "old" / "x.algo"), "--color", "always")
    assert "\x1b[32mholds\x1b[0m" in shown.out
    assert (sys.stdout, sys.stderr) == before
    # A result from the cache is coloured as the option of this call says.
    assert "\x1b" in cli("cost", str(folder / "old" / "x.algo"), "--color", "always").out
    assert "\x1b" not in cli("cost", str(folder / "old" / "x.algo")).out


def test_all_verdicts_have_roles() -> None:
    assert {word for words in terminal.CLAIM_VERDICTS.values() for word in words} == set(get_args(Outcome))
    neutral = {results.NEW_METRIC, results.REMOVED, results.NOW_TAKES, results.NO_LONGER_TAKES, results.NOW_REQUIRES}
    neutral |= {results.NO_LONGER_REQUIRES, results.OTHER_BOUNDS, results.OTHER_FORM, results.EQUAL, results.UNKNOWN}
    coloured = {word for words in terminal.CHANGE_VERDICTS.values() for word in words}
    assert coloured == set(results.VERDICTS) - neutral
