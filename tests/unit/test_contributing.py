"""The examples of CONTRIBUTING are followed in a copy of the checkout, and its lists of folders are complete."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from effort import long
from test_examples import ROOT

LAUNCH = "import sys; from archline.cli.main import main; sys.argv[0] = 'archline'; sys.exit(main())"
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PACKAGE = ROOT / "analyzer" / "archline"
NEW = re.compile(r"^```\w+ new=(\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CHANGE = re.compile(r"^```diff in=(\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^archline (.*)$", re.MULTILINE)
FOLDER = re.compile(r"^\| `([\w/]+)/` \|", re.MULTILINE)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what archline needs to run, with the files that CONTRIBUTING adds, and its changes."""
    place = tmp_path_factory.mktemp("checkout")
    without = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, place / "analyzer" / "archline", ignore=without)
    for folder in ("machines", "grammar", "stdlib", "bounds", "papers", "examples"):
        shutil.copytree(ROOT / folder, place / folder, ignore=without)
    for name, text in NEW.findall(CONTRIBUTING):
        new = place / name
        assert not new.exists(), name
        new.parent.mkdir(exist_ok=True)
        new.write_text(text, encoding="utf-8")
    for name, hunks in CHANGE.findall(CONTRIBUTING):
        changed = place / name
        text = changed.read_text(encoding="utf-8")
        for hunk in hunks.split("@@\n"):
            before, after = side(hunk, "-"), side(hunk, "+")
            assert text.count(before) == 1, (name, before)
            text = text.replace(before, after)
        changed.write_text(text, encoding="utf-8")
    return place


def side(hunk: str, sign: str) -> str:
    """The lines of a change as they are before it (`-`) or after it (`+`)."""
    return "".join(line[1:] for line in hunk.splitlines(keepends=True) if line[0] in (" ", sign))


def printed(copy: Path, command: str) -> str:
    """What a command prints."""
    return output(copy, LAUNCH, *shlex.split(command))


def output(copy: Path, program: str, *arguments: str) -> str:
    """What a Python program prints in the copy."""
    ran = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": str(copy / "analyzer"), "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, ""), arguments
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


@long
def test_a_row_of_a_paper_is_data(copy: Path) -> None:
    """24.8 W over 2^34 words are 1.4435e-9 J a word and second; 2^(t/2) is 30 at t = 2*log2(30) = 9.81."""
    out = printed(copy, command("papers"))
    assert "8 rows: 2 do not hold, 6 hold" in out
    assert re.search(r"^    Table 1 delta_e: .*1\.4435e-09 J/word/s follows", out, re.MULTILINE)
    assert re.search(r"^    Table 1 energy balance: [^:]*in\s+flop/B", out, re.MULTILINE)
    assert "doubling every two years" in printed(copy, "papers desk --figure 1")


@long
def test_an_output_format_is_one_file(copy: Path) -> None:
    lines = printed(copy, command("check")).splitlines()
    assert lines[0].split("\t") == ["examples/distances.algo:3", "holds", "flops == 3*n^2*m"]
    assert len(lines) == 2


SWAPS = """algorithm by_data(x: inout real[n], y: inout real[n], key: index[n] below n):
    for i in 0..n:
        swap x[key[i]], y[i]

algorithm side_by_side(x: inout real[n], y: inout real[n]):
    parallel for i in 0..n:
        swap x[i], y[i]

algorithm inwards(x: inout real[n]):
    if n > 1:
        swap x[0], x[n - 1]
        if n > 2:
            inwards(x[1..n - 1])
"""
RUNS = """
import json, sys
import archline as al
from archline.analysis.analyse import derive, derive_metric
from archline.analysis.cache.analyse import derive_io_cost
from archline.analysis.cost import enclose_cost
from archline.execution.run import execute
from archline.language.loader import load_text

module = load_text(sys.argv[1])
for algorithm in module.algorithms.values():
    metrics = {**derive(module, algorithm).metrics, **derive_metric(module, algorithm, "accesses").metrics}
    derived = [metrics["work"], metrics["span"], metrics["accesses"], derive_io_cost(module, algorithm)]
    for n in range(1, 12):
        data = {"x": [float(i) for i in range(n)], "y": [-1.0 - i for i in range(n)], "key": [3*i % n for i in range(n)]}
        given = {each.name: data[each.name] for each in algorithm.parameters}
        for Z, L in ((1, 1), (2, 1), (4, 4), (8, 4), (36, 4)):
            run = execute(module, algorithm, given, cache=al.Cache(Z=Z, L=L), compiled=False)
            counts = [run.counts.work, run.counts.span, run.counts.accesses, run.counts.io]
            ends = [tuple(map(float, enclose_cost(each, {"n": n, "Z": Z, "L": L}).ends)) for each in derived]
            print(json.dumps([algorithm.name, given, {name: list(each) for name, each in run.outputs.items()}, ends, counts]))
"""


def exchanged(name: str, given: dict[str, list[float]]) -> dict[str, list[float]]:
    """What a program of swaps leaves behind."""
    x, y = list(given["x"]), list(given.get("y", ()))
    match name:
        case "by_data":
            for i, place in enumerate(given["key"]):
                x[int(place)], y[i] = y[i], x[int(place)]
        case "side_by_side":
            x, y = y, x
        case _:
            x.reverse()
    return {"x": x, "y": y} if y else {"x": x}


@long
def test_a_statement_is_a_few_lines_in_five_files(copy: Path) -> None:
    assert len({name for name, _ in CHANGE.findall(CONTRIBUTING)}) == 5
    out = printed(copy, command("cost"))
    # 1 for the call, and 1 for each iteration.
    assert re.search(r"^  work +ceil\(\(n \+ 1\)/2\) +exact", out, re.MULTILINE)
    programs = (copy / "examples" / "reverse.algo").read_text(encoding="utf-8") + "\n" + SWAPS
    runs = [json.loads(line) for line in output(copy, RUNS, programs).splitlines()]
    assert len(runs) == 4 * 11 * 5
    for name, given, left, ends, counts in runs:
        assert left == exchanged(name, given)
        within = [low <= count <= high for (low, high), count in zip(ends, counts, strict=True)]
        assert all(within), (name, given, ends, counts)


def test_every_example_is_followed() -> None:
    assert [name.split("/")[0] for name, _ in NEW.findall(CONTRIBUTING)] == [
        "machines",
        "analyzer",
        "papers",
        "analyzer",
        "examples",
    ]
    assert sorted(each.split()[0] for each in COMMAND.findall(CONTRIBUTING)) == [
        "check",
        "cost",
        "energy",
        "machines",
        "papers",
    ]


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
