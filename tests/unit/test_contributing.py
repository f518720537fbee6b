"""The examples of CONTRIBUTING are followed in a copy of the checkout, and its lists of folders are complete."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from test_examples import LAUNCH, ROOT

CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PACKAGE = ROOT / "analyzer" / "archline"
NEW = re.compile(r"^```\w+ new=(\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^archline (.*)$", re.MULTILINE)
FOLDER = re.compile(r"^\| `([\w/]+)/` \|", re.MULTILINE)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what archline needs to run, with the files that CONTRIBUTING adds."""
    place = tmp_path_factory.mktemp("checkout")
    without = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, place / "analyzer" / "archline", ignore=without)
    for folder in ("machines", "grammar", "stdlib", "bounds", "examples"):
        shutil.copytree(ROOT / folder, place / folder, ignore=without)
    for name, text in NEW.findall(CONTRIBUTING):
        new = place / name
        assert not new.exists(), name
        new.parent.mkdir(exist_ok=True)
        new.write_text(text, encoding="utf-8")
    return place


def printed(copy: Path, command: str) -> str:
    ran = subprocess.run(
        [sys.executable, "-c", LAUNCH, *shlex.split(command)],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": str(copy / "analyzer"), "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, ""), command
    return ran.stdout


def command(word: str) -> str:
    """The command of CONTRIBUTING that begins with a word."""
    (found,) = [each for each in COMMAND.findall(CONTRIBUTING) if each.split()[0] == word]
    return str(found)


def test_a_machine_is_one_file(copy: Path) -> None:
    out = printed(copy, command("machines"))
    assert "A desktop" in out
    assert re.search(r"^  eps_flop +200 pJ/flop +fitted", out, re.MULTILINE)


def test_a_model_is_one_file(copy: Path) -> None:
    """2*100^3 flops at 10^11 a second take 20 us; they cost 2*10^6*200 pJ + 20 W*20 us = 0.4 mJ + 0.4 mJ."""
    out = printed(copy, command("energy"))
    assert re.search(r"^  energy +800\.0 uJ", out, re.MULTILINE)
    assert re.search(r"^  time +20\.00 us", out, re.MULTILINE)


def test_an_output_format_is_one_file(copy: Path) -> None:
    lines = printed(copy, command("check")).splitlines()
    assert lines[0].split("\t") == ["examples/distances.algo:3", "holds", "flops == 3*n^2*m"]
    assert len(lines) == 2


def test_every_example_is_followed() -> None:
    assert [name.split("/")[0] for name, _ in NEW.findall(CONTRIBUTING)] == ["machines", "analyzer", "analyzer"]
    assert sorted(each.split()[0] for each in COMMAND.findall(CONTRIBUTING)) == ["check", "energy", "machines"]


def packages(folder: Path) -> set[str]:
    return {path.parent.relative_to(PACKAGE).as_posix() for path in folder.glob("*/__init__.py")}


def test_the_layout_lists_every_folder() -> None:
    assert set(FOLDER.findall(CONTRIBUTING)) == packages(PACKAGE)


def test_the_architecture_lists_every_folder() -> None:
    text = (ROOT / "docs" / "developers" / "architecture.md").read_text(encoding="utf-8")
    below = {inner for outer in packages(PACKAGE) for inner in packages(PACKAGE / outer)}
    deepest = {inner for outer in below for inner in packages(PACKAGE / outer)}
    assert set(FOLDER.findall(text)) == below | deepest


def test_imports_go_up_the_table() -> None:
    """The order of the table is that of the import contract, which lists the layers from the last to the first."""
    contract = (ROOT / "pyproject.toml").read_text(encoding="utf-8").partition("layers = [")[2].partition("]")[0]
    layers = [set(re.findall(r"archline\.(\w+)", line)) for line in reversed(contract.splitlines())]
    depth = {name: position for position, names in enumerate(layers) for name in names}
    listed = FOLDER.findall(CONTRIBUTING)
    assert [depth[name] for name in listed] == sorted(depth[name] for name in listed)
