"""A change has one answer, whether the older version is a revision, a folder, or a baseline."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

import archline as al
from archline.changes import results as r
from cli_support import cli
from effort import long, some

SOLVE = """algorithm f(T: real[n, n], x: inout real[n]):
    for i in 0..n:
        for j in 0..i:
            x[i] -= T[i, j]*x[j]
        x[i] /= T[i, i]
"""
STENCIL = """algorithm f(u: real[n, m], v: inout real[n, m]):
    where n >= 3
    for i in 1..n - 1:
        for j in 0..m:
            v[i, j] = u[i - 1, j] + u[i + 1, j]
"""
TRANSPOSE = """algorithm f(A: real[n, m], B: inout real[m, n]):
    for i in 0..n:
        for j in 0..m:
            B[j, i] = A[i, j]
"""


def swapped(text: str) -> str:
    """A nest of two loops in the other order."""
    return re.sub(r"( {4}for i .*\n)    ( {4}for j .*\n)", lambda found: f"{found[2]}    {found[1]}", text)


def by_columns(text: str, array: str) -> str:
    """A program that has an array by columns."""
    return re.sub(rf"\b({array}: (?:inout )?real\[\w, \w\])", r"\1 colmajor", text)


CHANGES = [
    (TRANSPOSE, TRANSPOSE.replace("n, m]", "n, k]").replace("m, n]", "k, n]").replace("0..m", "0..k")),
    (SOLVE, by_columns(SOLVE, "T")),
    (swapped(STENCIL), STENCIL),
]


def git(folder: Path, *arguments: str) -> None:
    options = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(["git", *options, *arguments], cwd=folder, check=True, capture_output=True)


def versions(folder: Path, old: str, new: str) -> None:
    """A repository with a version and a baseline of it, the newer one in the work tree, and the older one in `old`."""
    (folder / "old").mkdir()
    for place in (folder, folder / "old"):
        (place / "f.algo").write_text(old, encoding="utf-8")
    (folder / ".gitignore").write_text("old\n", encoding="utf-8")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "old")
    assert cli("check", "f.algo", "--write-baseline", "costs").code == 0
    (folder / "f.algo").write_text(new, encoding="utf-8")


def rows(document: dict[str, Any]) -> Any:
    """What a diff says, but for the place of the newer version."""
    return document["summary"], [{**row, "algorithm": "f", "file": None} for row in document["changes"]]


@pytest.mark.parametrize(("old", "new"), some(CHANGES))
def test_a_change_has_one_answer(tmp_path: Path, old: str, new: str) -> None:
    with contextlib.chdir(tmp_path):
        versions(tmp_path, old, new)
        shown = [al.diff(base, "f.algo", jobs=1) for base in ("HEAD", "old/f.algo", "costs")]
        answers = [rows(each.document) for each in shown]
        assert answers[0] == answers[1] == answers[2]
        # What a check finds are the changes that fail a strict comparison.
        found = json.loads(cli("check", "f.algo", "--baseline", "costs", "--format", "json").out)["findings"]
        strict = al.diff("HEAD", "f.algo", strict=True, jobs=1)
        assert {(each["code"], each["message"].split()[1]) for each in found} == {
            (each.rule.code, each.metric) for each in strict.findings
        }
        errors = {each["message"].split()[1] for each in found if each["level"] == "error"}
        assert errors == {each.metric for each in shown[0].findings}


@long
def test_a_cost_that_shrank_is_no_bound_that_fell(tmp_path: Path) -> None:
    with contextlib.chdir(tmp_path):
        versions(tmp_path, swapped(STENCIL), STENCIL)
        found = al.diff("costs", "f.algo", at=[{"n": 64, "m": 64, "Z": 520, "L": 8}], jobs=1).shown
    (row,) = [each for each in found if each.metric == "io"]
    whole = al.loads(swapped(STENCIL))["f"].cost()["io"].at(n=64, m=64, Z=520, L=8)
    assert (row.verdict, row.values["old"]) == (r.SHRANK, " to ".join(map(str, whole)))


def moved_and_new(folder: Path) -> None:
    """A baseline of two files, one of which moves, and a third one."""
    versions(folder, SOLVE, SOLVE)
    (folder / "f.algo").rename(folder / "solve.algo")
    (folder / "g.algo").write_text(TRANSPOSE.replace(" f(", " g(") + "\n" + STENCIL.replace(" f(", " h("), "utf-8")


@pytest.mark.parametrize("first", some([False, True]))
def test_an_algorithm_that_moved_keeps_its_entry(tmp_path: Path, first: bool) -> None:
    """Of the first format, too, where no other one has its name."""
    with contextlib.chdir(tmp_path):
        moved_and_new(tmp_path)
        if not first:
            lines = Path("costs").read_text("utf-8").splitlines(keepends=True)
            Path("costs").write_text("".join(x for x in lines[1:] if '  "' not in x), "utf-8")
        ran = cli("check", "solve.algo", "g.algo", "--baseline", "costs", "--strict")
        assert (ran.code, "AL605" in ran.out) == (0, False)
        assert "costs: note: an older name for 1 algorithm (f.algo::f -> solve.algo::f); `archline check" in ran.out
        Path("solve.algo").write_text(SOLVE.replace("x[j]", "x[j]*2.0"), "utf-8")
        ran = cli("check", "solve.algo", "g.algo", "--baseline", "costs")
        assert ran.code == 1
        assert "solve.algo:1: error: f: flops grew" in ran.out


@long
def test_new_algorithms_are_counted(tmp_path: Path) -> None:
    with contextlib.chdir(tmp_path):
        moved_and_new(tmp_path)
        ran = cli("check", "g.algo", "solve.algo", "--baseline", "costs")
        assert "costs: note: no entry for 2 algorithms (g.algo::g, g.algo::h); `archline check" in ran.out
        assert "--write-baseline costs` updates it" in ran.out
        ran = cli("check", "g.algo", "solve.algo", "--baseline", "costs", "--format", "json")
        assert "note: no entry for 2 algorithms" in ran.err
        assert "note" not in cli("check", "g.algo", "solve.algo", "--baseline", "costs", "-q").out
        assert cli("check", "g.algo", "solve.algo", "--write-baseline", "costs").code == 0
        ran = cli("check", "g.algo", "solve.algo", "--baseline", "costs", "--strict")
        assert (ran.code, "note" in ran.out) == (0, False)


def test_the_first_format_is_read_and_later_ones_are_refused(tmp_path: Path) -> None:
    with contextlib.chdir(tmp_path):
        versions(tmp_path, SOLVE, SOLVE.replace("x[j]", "x[j]*2.0"))
        text = Path("costs").read_text("utf-8")
        lines = text.splitlines(keepends=True)
        Path("costs").write_text("".join(x for x in lines[1:] if '  "' not in x), "utf-8")
        ran = cli("check", "f.algo", "--baseline", "costs")
        assert (ran.code, ran.out.count("AL603")) == (1, 3)
        assert "costs: note: costs without a program for 1 algorithm (f.algo::f)" in ran.out
        Path("costs").write_text(text.replace("format 2", "format 3"), "utf-8")
        ran = cli("check", "f.algo", "--baseline", "costs")
        assert (ran.code, "costs:1:1: AL442" in ran.err, "format 3" in ran.err) == (2, True, True)


def test_costs_that_are_written_count_where_the_program_has_others(tmp_path: Path) -> None:
    with contextlib.chdir(tmp_path):
        versions(tmp_path, SOLVE, SOLVE)
        text = Path("costs").read_text("utf-8")
        Path("costs").write_text(text.replace("flops == n^2", "flops == n^2 - n"), "utf-8")
        ran = cli("check", "f.algo", "--baseline", "costs")
        assert (ran.code, "f: flops grew at all sizes: n^2 - n -> n^2" in ran.out) == (1, True)


CALLS = """use blas

extern weight(a: real) -> real costs n flops

algorithm f(x: inout real[n]):
    "Its docstring."
    ensures flops >= n
    scale(x)
    x[0] = weight(x[0])
"""


def test_a_program_has_all_that_it_calls(tmp_path: Path) -> None:
    scale = "algorithm scale(y: inout real[m]):\n    for i in 0..m:\n        y[i] *= 2.0\n"
    (tmp_path / "blas.algo").write_text(scale, "utf-8")
    with contextlib.chdir(tmp_path):
        Path("f.algo").write_text(CALLS.replace("costs n", "costs 2"), "utf-8")
        assert cli("check", "f.algo", "--write-baseline", "costs").code == 0
        Path("blas.algo").write_text(scale.replace("2.0", "2.0*2.0"), "utf-8")
        ran = cli("check", "f.algo", "--baseline", "costs")
        assert (ran.code, "f: flops" in ran.out, "note" in ran.out) == (1, True, False)


HALO = "algorithm jacobi(x: real[n], y: inout real[n]):\n    for i in 0..n:\n        y[i] += x[i]\n"


def project(folder: Path) -> None:
    """A project with a baseline of two files, one of which moves, as its algorithm is renamed."""
    for name in ("sketches", "dist"):
        (folder / name).mkdir()
    settings = '[tool.archline]\npaths = ["sketches", "dist"]\nbaseline = "costs"\n'
    (folder / "pyproject.toml").write_text(settings, "utf-8")
    (folder / "sketches" / "halo.algo").write_text(HALO, "utf-8")
    (folder / "sketches" / "solve.algo").write_text(SOLVE, "utf-8")
    (folder / "dist" / "g.algo").write_text(STENCIL.replace(" f(", " g("), "utf-8")
    assert cli("check", "--write-baseline", "costs").code == 0
    (folder / "sketches" / "halo.algo").unlink()
    (folder / "dist" / "halo1d.algo").write_text(HALO.replace("jacobi", "halo_jacobi"), "utf-8")


@long
def test_a_check_of_a_part_says_nothing_of_files_that_are_no_more(tmp_path: Path) -> None:
    with contextlib.chdir(tmp_path):
        project(tmp_path)
        for targets in (["sketches/solve.algo"], ["sketches"], ["dist"], []):
            ran = cli("check", *targets, "--strict")
            assert (ran.code, "AL605" in ran.out) == (0, False)
        # The algorithm of a file that is checked may have moved to another one.
        Path("sketches/solve.algo").write_text(STENCIL.replace(" f(", " h("), "utf-8")
        told = " ".join(cli("check", "sketches/solve.algo").out.split())
        assert "remove it unless the algorithm moved to a file that is not checked here [AL605]" in told
        Path("dist/halo1d.algo").unlink()
        assert "AL605" in cli("check", "dist", "sketches").out


@long
def test_a_baseline_is_written_in_steps(tmp_path: Path) -> None:
    with contextlib.chdir(tmp_path):
        project(tmp_path)
        Path("costs").unlink()
        broken = Path("sketches/broken.algo")
        broken.write_text("algorithm f(", "utf-8")
        ran = cli("check")
        assert (ran.code, "AL442" in ran.err, "--write-baseline costs` writes it" in ran.err) == (2, True, True)
        ran = cli("check", "--write-baseline", "costs")
        said = "wrote costs; the entries of programs that cannot be checked are unchanged: sketches/broken.algo\n"
        assert (ran.code, said in ran.err, "sketches/broken.algo:1" in ran.err) == (2, True, True)
        assert "sketches/solve.algo::f(n)  flops == n^2\n" in Path("costs").read_text("utf-8")
        assert cli("check", "sketches/solve.algo", "--strict").code == 0
        broken.write_text(TRANSPOSE, "utf-8")
        assert cli("check", "--write-baseline", "costs").code == 0
        before = Path("costs").read_text("utf-8")
        assert "sketches/broken.algo::f(n, m)" in before
        # A mistake in a file does not lose its entries.
        broken.write_text("algorithm f(", "utf-8")
        assert cli("check", "--write-baseline", "costs").code == 2
        assert Path("costs").read_text("utf-8") == before
