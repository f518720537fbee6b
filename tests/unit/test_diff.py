"""`archline diff`: which costs changed between two versions of programs."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
from fractions import Fraction
from pathlib import Path
from textwrap import indent
from typing import Any

import numpy as np
import pytest

import archline as al
from archline.api.modules import loads
from archline.language.canonical import make_canonical, write_program
from archline.records import replace
from archline.report.changes import as_markdown
from cli_support import Result, cli
from draft_programs import arguments_of, draft_from_seed
from effort import long, some

GEMV = """algorithm gemv(A: real[n, m], x: real[m], y: inout real[n]):
    for i in 0..n:
        for j in 0..m:
            y[i] += A[i, j]*x[j]
"""


def written(folder: Path, **programs: str) -> Path:
    """A folder with programs."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in programs.items():
        (folder / f"{name}.algo").write_text(text, encoding="utf-8")
    return folder


def changes(tmp_path: Path, old: str, new: str, **options: Any) -> list[dict[str, Any]]:
    """What changed between two versions of a program, as JSON has it."""
    return document(tmp_path, old, new, **options)["changes"]


def document(tmp_path: Path, old: str, new: str, **options: Any) -> dict[str, Any]:
    one, other = written(tmp_path / "old", kernel=old), written(tmp_path / "new", kernel=new)
    return al.diff(one, other, cached=False, jobs=1, **options).document


def of(found: list[dict[str, Any]], metric: str) -> list[tuple[str, str | None]]:
    return [(each["verdict"], each["extent"]) for each in found if each["metric"] == metric]


def test_a_cost_that_grew_at_all_sizes(tmp_path: Path) -> None:
    found = document(tmp_path, GEMV, GEMV.replace("*x[j]", "*x[j] + 1.0"))
    assert found["summary"] == {"grew": 3, "equal": 1}
    flops = found["changes"][0]
    assert flops["algorithm"] == "kernel.algo::gemv"
    assert (flops["metric"], flops["verdict"], flops["extent"]) == ("flops", "grew", "at all sizes")
    assert (flops["old"], flops["new"], flops["when"]) == ("2*n*m", "3*n*m", None)
    assert flops["growth"] == {"old": "Theta(n*m)", "new": "Theta(n*m)"}
    assert (flops["at"], flops["values"]) == ({"n": "64", "m": "64"}, {"old": "8192", "new": "12288"})


def test_a_cost_that_became_unknown_says_why_and_where(tmp_path: Path) -> None:
    new = GEMV.replace("    for i in 0..n:\n", "    for i in 0..m^n:\n")
    (flops,) = [each for each in changes(tmp_path, GEMV, new) if each["metric"] == "flops"]
    assert flops["verdict"] == "became unknown"
    assert flops["new"] == "unknown"
    assert ":2:" in flops["place"]
    assert "a power with" in flops["reason"]


def test_documents_have_the_keys_of_the_contract(tmp_path: Path) -> None:
    found = document(tmp_path, GEMV, GEMV.replace("*x[j]", ""))
    assert found["version"] == 2
    keys = {"algorithm", "metric", "verdict", "old", "new", "when", "growth", "at", "tolerance"}
    assert all(keys <= each.keys() and each["growth"].keys() == {"old", "new"} for each in found["changes"])
    # Cache misses have an entry for each regime.
    assert len({each["when"] for each in found["changes"] if each["metric"] == "io"}) > 1
    assert json.loads(json.dumps(found)) == found


@long
def test_a_table_has_room_in_a_comment(tmp_path: Path) -> None:
    names = [f"{'k' * 60}{number}" for number in range(60)]
    old, new = tmp_path / "old", tmp_path / "new"
    for name in names:
        written(old, **{name: GEMV})
        written(new, **{name: GEMV.replace("*x[j]", "*x[j] + 1.0 + 2.0")})
    ran = cli("diff", str(old), str(new), "--format", "markdown")
    assert ran.code == 1
    assert ran.out.startswith("**180 costs grew, 60 are the same**\n\n| algorithm |")
    assert len(ran.out) <= 60_000
    many = al.diff(old, new)
    longer = replace(
        many,
        changes=tuple(
            replace(each, algorithm=f"{number}{each.algorithm}") for number in range(10) for each in many.changes
        ),
    )
    text = as_markdown(longer, 100)
    assert 55_000 < len(text) <= 60_000
    assert text.endswith(" more, which `archline diff` prints\n")


def test_findings_annotate_the_headers_of_algorithms(tmp_path: Path) -> None:
    old = written(tmp_path / "old", kernel="\n\n" + GEMV)
    new = written(tmp_path / "new", kernel="\n\n" + GEMV.replace("*x[j]", "*x[j] + 1.0"))
    lines = cli("diff", str(old), str(new), "--format", "github").out.splitlines()
    assert len(lines) == 4
    assert all(line.startswith("::error file=") and "kernel.algo,line=3,title=AL603%3A" in line for line in lines[:3])


def test_new_and_removed_algorithms(tmp_path: Path) -> None:
    found = document(tmp_path, GEMV, GEMV.replace("gemv", "other").replace("*x[j]", ""))
    assert found["summary"] == {"new": 4, "removed": 4}


@long
def test_tolerance_passes_what_stays_within_it_everywhere(tmp_path: Path) -> None:
    new = GEMV + "    for i in 0..n:\n        y[i] += 1.0\n"
    old, other = written(tmp_path / "old", kernel=GEMV), written(tmp_path / "new", kernel=new)
    # 2*n*m + n is at most 150 % of 2*n*m, and reaches that for m = 1.
    assert "tolerance of 50%" in cli("diff", str(old), str(other), "--tolerance", "50%", "--no-cache").out
    found = al.diff(old, other, tolerance="1/2", cached=False)
    assert [each.tolerance for each in found.changes if each.metric == "flops"] == ["50%"]
    found = al.diff(old, other, tolerance="49/100", cached=False)
    assert [each.tolerance for each in found.changes if each.metric == "flops"] == [None]


@long
def test_costs_within_the_tolerance_are_told_apart(tmp_path: Path) -> None:
    grown = GEMV + "    for i in 0..n:\n        y[i] += 1.0\n"
    old = written(tmp_path / "old", kernel=GEMV, other=GEMV)
    new = written(tmp_path / "new", kernel=grown, other=GEMV.replace("*x[j]", "*x[j]*2.0*3.0*4.0*5.0"))
    # 2*n*m + n against 2*n*m, and the like of work and span.
    assert cli("diff", str(old), str(new), "--tolerance", "80%").out.startswith(
        "3 costs grew, 3 grew within the tolerance of 80%, "
    )
    ran = cli("diff", str(old / "kernel.algo"), str(new / "kernel.algo"), "--tolerance", "80%")
    assert ran.code == 0
    assert ran.out.startswith("3 costs grew within the tolerance of 80%, ")


@pytest.mark.parametrize("share", ["2", "1", "3/2", "1.0", "-1", "x"])
def test_a_share_without_a_sign_is_below_one(tmp_path: Path, share: str) -> None:
    old = str(written(tmp_path / "old", kernel=GEMV))
    assert cli("diff", old, old, f"--tolerance={share}").refused("AL404")
    assert cli("diff", old, old, "--tolerance=200%").code == 0


def test_sizes_of_interest_are_those_of_some_algorithm(tmp_path: Path) -> None:
    old, new = (str(written(tmp_path / name, kernel=GEMV)) for name in ("old", "new"))
    assert cli("diff", old, new, "--at", "n=2,P=4").code == 0
    written(tmp_path / "new", other=GEMV.replace("[n,", "[rows,").replace("[n]", "[rows]").replace("..n", "..rows"))
    assert cli("diff", old, new, "--at", "rows=2", "--at", "n=2").code == 0
    ran = cli("diff", old, new, "--at", "nn=1000")
    assert ran.refused("AL401")
    assert "did you mean `n`?" in ran.err


def test_comments_at_a_header_ignore_what_grew(tmp_path: Path) -> None:
    old = written(tmp_path / "old", kernel=GEMV)
    grown = GEMV.replace("*x[j]", "*x[j] + 1.0")
    for code, fails in (("AL603", False), ("AL604", True)):
        new = written(tmp_path / "new", kernel=grown.replace("):\n", f"):  # archline: ignore {code}\n", 1))
        ran = cli("diff", str(old), str(new))
        assert ran.code == fails
        assert ran.out.startswith("3 costs grew, " if fails else "3 costs are ignored, ")
    unknown = GEMV.replace("    for i in 0..n:", "    local k: int = 0\n    k += 1\n    parallel for i in 0..n - k:", 1)
    new = written(tmp_path / "new", kernel=unknown.replace("):\n", "):  # archline: ignore AL604\n", 1))
    assert cli("diff", str(old), str(new)).code == 0


SIZES = {
    # What changes in the signature, and the expected changes of sizes with the facts of the comparison.
    "a size is new": ("x: inout real[n]", "x: inout real[n], b: size", [("now takes", None, "b", None)]),
    "and comes first": ("x: inout real[n]", "b: size, x: inout real[n]", [("now takes", None, "b", None)]),
    "and others have other names": ("x: inout real[k]", "x: inout real[n], b: size", [("now takes", None, "b", None)]),
    "two are one": (
        "x: inout real[n], y: real[m]",
        "x: inout real[n], y: real[n]",
        [("no longer takes", "m", None, "compared where m == n")],
    ),
    "one is two": (
        "x: inout real[n], y: real[n]",
        "x: inout real[n], y: real[m]",
        [("now takes", None, "m", "compared where m == n")],
    ),
    "a number is a size": ("x: inout real[8]", "x: inout real[n]", [("now takes", None, "n", "compared where n == 8")]),
    "parameters change places": ("x: inout real[n], y: real[m]", "y: real[m], x: inout real[n]", []),
    "names change places": ("x: inout real[n], y: real[m]", "x: inout real[m], y: real[n]", []),
}


@pytest.mark.parametrize("name", SIZES)
def test_costs_are_compared_where_both_versions_take_the_same_arrays(tmp_path: Path, name: str) -> None:
    *signatures, wanted = SIZES[name]
    texts = []
    for given in signatures:
        size = given.partition("x: inout real[")[2].partition("]")[0]
        texts.append(f"algorithm f({given}):\n    for i in 0..{size}:\n        x[i] = 2.0*x[i]\n")
    found = changes(tmp_path, *texts)
    # All versions double each element of x, which costs the same.
    assert [(each["verdict"], each["old"], each["new"], each["reason"]) for each in found] == wanted
    grown = changes(tmp_path, texts[0], texts[1].replace("2.0*x", "2.0*x[i]*x"))
    assert of(grown, "flops")[0][0] == "grew"
    assert {each["verdict"] for each in grown if each["metric"] == "flops"} == {"grew"}


def test_versions_without_a_size_in_common_are_not_compared(tmp_path: Path) -> None:
    new = LOOP.replace("x: inout real[n]", "y: inout real[r, s]").replace("0..n", "0..r").replace("x[i]", "y[i, 0]")
    both = [str(written(tmp_path / each, f=text)) for each, text in (("old", LOOP), ("new", new))]
    ran = cli("diff", *both, "--no-cache")
    assert (ran.code, "AL441" in ran.err, "nothing is compared" in ran.out) == (2, True, True)


@long
def test_only_growth(tmp_path: Path) -> None:
    old, new = written(tmp_path / "old", kernel=GEMV), written(tmp_path / "new", kernel=GEMV.replace("*x[j]", ""))
    assert cli("diff", str(new), str(old), "--only", "growth").code == 0
    cubic = written(tmp_path / "cubic", kernel=GEMV.replace("y[i] +=", "for k in 0..n:\n                y[i] +="))
    assert cli("diff", str(old), str(cubic), "--only", "growth").code == 1


def test_one_line_where_nothing_changed(tmp_path: Path) -> None:
    old = written(tmp_path / "old", kernel=GEMV)
    for form in ("text", "markdown", "github"):
        assert cli("diff", str(old), str(old), "--format", form).out == "4 costs are the same\n"


@long
def test_files_with_mistakes_are_reported_and_the_rest_is_compared(tmp_path: Path) -> None:
    old = written(tmp_path / "old", kernel=GEMV, other=GEMV)
    new = written(tmp_path / "new", kernel=GEMV.replace("*x[j]", ""), other=GEMV.replace("0..m", "0..q"))
    ran = cli("diff", str(old), str(new))
    assert ran.code == 2
    assert ran.out.startswith("4 costs shrank")
    assert f"{new}/other.algo:3:" in ran.err
    where = [f"1 file cannot be compared: {new}/other.algo"]
    for form in ("text", "markdown", "github"):
        lines = cli("diff", str(old), str(new), "--format", form).out.splitlines()
        assert [line for line in lines if "other.algo" in line and not line.startswith("::")] == where
        assert any(line.startswith("::error file=") and "AL201" in line for line in lines) == (form == "github")
    problem = {"code": "AL201", "message": "unknown name `q`", "path": f"{new}/other.algo", "line": 3}
    (found,) = json.loads(cli("diff", str(old), str(new), "--format", "json").out)["problems"]
    assert {**found, "message": found["message"].partition("\n")[0]} == problem


@long
def test_a_version_that_certainly_fails_is_reported(tmp_path: Path) -> None:
    old = written(tmp_path / "old", kernel=GEMV)
    new = written(tmp_path / "new", kernel=GEMV.replace("0..n", "0..n + 1"))
    ran = cli("diff", str(old), str(new), "--no-cache")
    assert ran.code == 2
    assert "AL303" in ran.err
    assert f"{new}/kernel.algo" in ran.err


LOOP = "algorithm f(x: inout real[n]):\n    for i in 0..n:\n        x[i] += 1.0\n"


@pytest.mark.parametrize(
    ("fact", "point"),
    [("n == 50", {"n": 50}), ("n == 3*37", {"n": 111}), ("n == 41*41 - 1", {"n": 1680}), ("n == 2*67 + 1", {"n": 135})],
)
def test_constants_of_the_program_are_tried(tmp_path: Path, fact: str, point: dict[str, int]) -> None:
    found = document(tmp_path, LOOP, f"{LOOP}    if {fact}:\n        x[0] += 1.0\n")
    (flops,) = [each for each in found["changes"] if each["metric"] == "flops"]
    (size,) = point.values()
    assert (flops["verdict"], flops["at"]) == ("grew", {"n": str(size)})
    assert flops["values"] == {"old": str(size), "new": str(size + 1)}


MATMUL = """algorithm f(A: real[n, m], B: real[m, p], C: inout real[n, p]):
    for i in 0..n:
        for j in 0..p:
            for k in 0..m:
                C[i, j] += A[i, k]*B[k, j]
"""


@long
def test_regimes_are_matched_by_their_conditions(tmp_path: Path) -> None:
    new = MATMUL.replace("*B[k, j]", "*B[k, j]*A[i, 0]")
    rows = [each for each in changes(tmp_path, MATMUL, new) if each["metric"] == "io"]
    assert len({(each["when"], each["verdict"]) for each in rows}) == len(rows) > 2
    for each in rows:
        # The bounds that are shown are those that moved.
        before, after = (int(each["values"][version].split()[-1]) for version in ("old", "new"))
        assert (before < after) if each["verdict"] == "bound rose" else (before > after)
    both = written(tmp_path / "both", kernel=MATMUL)
    assert cli("check", str(both), "--write-baseline", str(both / "costs")).code == 0
    written(both, kernel=new)
    same = ("algorithm", "metric", "verdict", "old", "new", "when", "extent", "at", "values", "growth")
    first, other = (al.diff(base, both, jobs=1).document for base in (tmp_path / "old", both / "costs"))
    assert first["summary"] == other["summary"]
    of_versions, of_baseline = ([[row[name] for name in same] for row in x["changes"]] for x in (first, other))
    assert len(of_baseline) > 4
    assert of_versions == of_baseline


STENCIL = """algorithm stencil(u: real[n, m], v: out real[n, m]):
    where n >= 3
    for i in 1..n - 1:
        for j in 0..m:
            v[i, j] = u[i - 1, j] + u[i + 1, j]
"""
SWAPPED = STENCIL.replace(
    "    for i in 1..n - 1:\n        for j in 0..m:\n", "    for j in 0..m:\n        for i in 1..n - 1:\n"
)


@long
def test_values_of_regimes_are_those_of_the_whole_cost(tmp_path: Path) -> None:
    """One row and one verdict of each cost; what is asked for has the values of `cost --at`."""
    at = {"n": 64, "m": 64}
    old, new = written(tmp_path / "old", f=STENCIL), written(tmp_path / "new", f=SWAPPED)
    found = al.diff(old, new, at=[at], jobs=1)
    # Along columns lines are lost before they are used again: at n = m = 64, Z = 520 a run has four times the misses.
    assert found.summary == {"grew": 1, "differs": 2, "equal": 1}
    rows = [each for each in found.changes if each.metric == "io"]
    assert {each.verdict for each in rows} == {"grew", "bound fell"}
    costs = [al.loads(text)["stencil"].cost()["io"] for text in (STENCIL, SWAPPED)]
    for each in rows:
        point = {name: int(value) for name, value in each.at.items()}
        ends = [cost.at(**point) for cost in costs]
        assert [each.values[side] for side in ("old", "new")] == [
            " to ".join(dict.fromkeys(map(str, pair))) for pair in ends
        ]
        assert (ends[0][1] < ends[1][1]) == (each.verdict != "bound fell")
        assert (ends[0][1] < ends[1][0]) == (each.verdict == "grew")
        assert each.asked == {"at": {**dict.fromkeys(at, "64"), "L": "8", "Z": "32768"}, **SAME}
    page = str(found)
    metrics = [line.split()[0] for line in page.splitlines() if re.match(r"  \w", line)]
    assert [each for each in metrics if each in ("flops", "work", "span", "io")] == ["work", "span", "io"]
    assert "7999 -> 8001 at n=64,m=64" in page
    assert "992 to 1008 as before at n=64,m=64,L=8,Z=32768" in " ".join(page.split())
    assert "8064" not in page


SAME = {"old": "992 to 1008", "new": "992 to 1008"}


def test_further_facts_are_about_sizes_of_some_algorithm(tmp_path: Path) -> None:
    old, new = (str(written(tmp_path / name, kernel=text)) for name, text in (("old", LOOP), ("new", GEMV)))
    assert cli("diff", old, new, "--where", "m >= 2").code == 0
    assert cli("diff", old, new, "--where", "q >= 2").refused("AL401")


def test_an_algorithm_that_moved_and_changed_is_one(tmp_path: Path) -> None:
    old, new = written(tmp_path / "old", kernel=GEMV, one=LOOP), written(tmp_path / "new", other=LOOP)
    written(new, moved=GEMV.replace("*x[j]", "*x[j] + 1.0"))
    found = al.diff(old, new, jobs=1)
    assert found.summary == {"grew": 3, "equal": 5}
    assert {each.moved_from for each in found.changes} == {"kernel.algo::gemv"}
    assert dict(found.renames) == {"kernel.algo::gemv": "moved.algo::gemv", "one.algo::f": "other.algo::f"}
    assert "moved from kernel.algo::gemv" in " ".join(str(found).split())
    assert "2 algorithms were moved" in str(found)
    # Of two that may have moved neither is known to be the one.
    written(new, again=GEMV.replace("*x[j]", "*x[j] + 3.0 + 1.0"))
    assert al.diff(old, new, jobs=1).summary == {"new": 8, "removed": 4, "equal": 4}


@pytest.mark.parametrize(
    ("old", "new", "verdicts"),
    [
        ("n >= 1", "2 divides n", {"now requires": "2 divides n"}),
        ("4 divides n", "2 divides n", {"no longer requires": "4 divides n"}),
        ("n % 2 == 0", "2 divides n", {}),
        ("n >= 100", "n >= 90, n <= 5000", {"no longer requires": "n >= 100", "now requires": "n <= 5000"}),
    ],
)
def test_facts_about_sizes_are_part_of_the_interface(
    tmp_path: Path, old: str, new: str, verdicts: dict[str, str]
) -> None:
    one, other = (LOOP.replace("):\n", f"):\n    where {each}\n", 1) for each in (old, new))
    found = [each for each in changes(tmp_path, one, other) if each["verdict"] != "equal, other form"]
    assert {each["verdict"]: each["new"] or each["old"] for each in found} == verdicts
    assert {each["metric"] for each in found} <= {"where"}
    ran = cli("diff", str(tmp_path / "old"), str(tmp_path / "new"), "--strict")
    assert ran.code == 0
    assert all(each in ran.out for each in verdicts)


@long
def test_what_is_beyond_the_tolerance_is_shown_where_it_is(tmp_path: Path) -> None:
    new = GEMV + "    for i in 0..n:\n        y[i] += 1.0\n"
    (flops,) = [each for each in changes(tmp_path, GEMV, new, tolerance="2%") if each["metric"] == "flops"]
    n, m = (int(flops["at"][name]) for name in "nm")
    assert flops["values"] == {"old": str(2 * n * m), "new": str(2 * n * m + n)}
    assert Fraction(2 * n * m + n, 2 * n * m) > Fraction(102, 100)
    assert flops["tolerance"] is None
    assert flops["reason"] == "exceeds the tolerance of 2%"
    # Nothing is within a share of no cost, and nothing unknown within any.
    halves = (
        "\nalgorithm half(x: inout real[n], k: int):\n    if k > 1:\n        half(x, k - 3)\n        half(x, k//2)\n"
    )
    nothing = "algorithm f(x: inout real[n]):\n    pass\n"
    assert cli("diff", *_two(tmp_path, nothing, LOOP), "--tolerance", "1000%").code == 1
    unknown = LOOP.replace("    for", "    half(x, 5)\n    for") + halves
    assert cli("diff", *_two(tmp_path, LOOP, unknown), "--tolerance", "1000%").code == 1


def _two(folder: Path, old: str, new: str) -> tuple[str, str]:
    return str(written(folder / "old", kernel=old)), str(written(folder / "new", kernel=new))


# Revisions
def git(folder: Path, *arguments: str) -> str:
    ran = subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *arguments],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    )
    return ran.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository whose branch `main` has a commit more than the work tree's branch, and a change not committed."""
    folder = written(tmp_path / "repository" / "kernels", gemv=GEMV, uses="use gemv\n\n" + GEMV.replace("gemv", "same"))
    top = folder.parent
    git(top, "init", "-q", "-b", "main")
    git(top, "add", ".")
    git(top, "commit", "-qm", "first")
    git(top, "checkout", "-qb", "work")
    written(folder, gemv=GEMV.replace("*x[j]", "*x[j] + 1.0"))
    return top


def ran_in(folder: Path, *arguments: str) -> Result:
    """What `archline diff` prints in a folder."""
    with contextlib.chdir(folder):
        return cli("diff", *arguments)


def run(folder: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    """The exit code and the document."""
    ran = ran_in(folder, *arguments, "--format", "json", "--jobs", "1")
    return ran.code, json.loads(ran.out)


@long
def test_a_revision_is_compared_with_the_work_tree(repository: Path) -> None:
    before = git(repository, "status", "--porcelain=v2", "--branch")
    code, found = run(repository, "main")
    assert code == 1
    assert found["summary"] == {"grew": 3, "equal": 5}
    assert {each["algorithm"] for each in found["changes"]} == {"kernels/gemv.algo::gemv"}
    assert run(repository, "main", "kernels/gemv.algo")[1]["summary"] == {"grew": 3, "equal": 1}
    assert run(repository, "main", "kernels")[1]["changes"][0]["algorithm"] == "gemv.algo::gemv"
    assert run(repository / "kernels", "HEAD")[1]["changes"][0]["algorithm"] == "gemv.algo::gemv"
    assert git(repository, "status", "--porcelain=v2", "--branch") == before


def test_the_project_says_what_is_compared_and_how(repository: Path) -> None:
    (repository / "pyproject.toml").write_text(
        '[tool.archline]\npaths = ["kernels"]\nexclude = ["uses.algo"]\nsizes = ["n=8, m=2"]\ntolerance = "50%"\n',
        encoding="utf-8",
    )
    written(repository / "drafts", more=GEMV)
    code, found = run(repository, "main")
    assert code == 0
    assert found["summary"] == {"grew": 3, "equal": 1}
    assert found["changes"][0]["values"] == {"old": "32", "new": "48"}
    assert found["changes"][0]["tolerance"] == "50%"
    assert run(repository, "main", "--isolated")[1]["summary"] == {"grew": 3, "new": 4, "equal": 5}


@pytest.mark.parametrize("folder", ["", "kernels", "docs"])
def test_paths_that_neither_version_has_are_refused(repository: Path, folder: str) -> None:
    project = repository / "pyproject.toml"
    (repository / "docs").mkdir()
    project.write_text('[tool.archline]\npaths = ["kernels", "kernls"]\n', encoding="utf-8")
    ran = ran_in(repository / folder, "main")
    assert ran.refused("AL441")
    assert "kernls" in ran.err
    assert ("did you mean `kernels`?" in ran.err) == (folder == "")
    project.write_text('[tool.archline]\npaths = ["kernels"]\n', encoding="utf-8")
    ran = ran_in(repository / folder, "main")
    assert ran.refused("AL441") if folder == "docs" else ran.code == 1
    # A file is compared with itself alone, wherever it is named from.
    path = os.path.relpath(repository / "kernels" / "gemv.algo", repository / folder)
    assert run(repository / folder, "HEAD", path)[1]["summary"] == {"grew": 3, "equal": 1}


def test_paths_of_the_project_are_those_of_the_work_tree(repository: Path) -> None:
    (repository / "pyproject.toml").write_text('[tool.archline]\npaths = ["kernels"]\n', encoding="utf-8")
    written(repository / "earlier" / "kernels", gemv=GEMV)
    assert run(repository, "earlier")[1]["summary"] == {"grew": 3, "new": 4, "equal": 1}


@long
def test_the_merge_base_leaves_out_what_the_other_branch_changed(repository: Path) -> None:
    git(repository, "commit", "-qam", "second")
    git(repository, "checkout", "-q", "main")
    written(repository / "kernels", more=GEMV)
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "third")
    git(repository, "checkout", "-q", "work")
    assert run(repository, "main")[1]["summary"] == {"grew": 3, "removed": 4, "equal": 5}
    assert run(repository, "main...")[1]["summary"] == {"grew": 3, "equal": 5}
    assert run(repository, "main...work")[1]["summary"] == {"grew": 3, "equal": 5}
    assert run(repository, "work", "main")[1]["summary"] == {"shrank": 3, "new": 4, "equal": 5}


def test_what_git_ignores_is_no_part_of_the_work_tree(repository: Path) -> None:
    (repository / ".gitignore").write_text("built/\n", encoding="utf-8")
    written(repository / "built", copy=GEMV)
    assert run(repository, "main")[1]["summary"] == {"grew": 3, "equal": 5}


def test_mistakes_in_a_revision_have_its_name(repository: Path) -> None:
    written(repository / "kernels", gemv=GEMV.replace("0..m", "0..q"))
    git(repository, "commit", "-qam", "broken")
    written(repository / "kernels", gemv=GEMV)
    ran = ran_in(repository, "HEAD")
    assert ran.code == 2
    assert "HEAD:./kernels/gemv.algo:3:" in ran.err


def test_a_shallow_clone_is_told_to_fetch_more(repository: Path, tmp_path: Path) -> None:
    git(repository, "commit", "-qam", "second")
    git(tmp_path, "clone", "-q", "--depth=1", "--branch=work", f"file://{repository}", "clone")
    for base in ("main", "main...", "HEAD~1"):
        ran = ran_in(tmp_path / "clone", base)
        assert ran.refused("AL441")
        assert "fetch-depth: 0" in ran.err


@pytest.mark.parametrize("base", ["nonsense", "--output=x", "-", "", "main...nonsense", "HEAD^{tree}"])
def test_what_is_no_version_is_refused(repository: Path, base: str) -> None:
    ran = ran_in(repository, "--", base)
    assert ran.code == 2
    assert "AL441" in ran.err


def test_without_a_repository_or_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ran_in(tmp_path, "main").refused("AL441")
    monkeypatch.setenv("PATH", str(tmp_path))
    ran = ran_in(tmp_path, "main")
    assert ran.refused("AL441")
    assert "not found" in ran.err


# Canonical forms
def form(text: str, name: str | None = None) -> str:
    module = loads(text)
    return make_canonical(module.module, module[name or next(iter(module))].node).text


def check_written_programs(text: str, name: str, arguments: dict[str, Any]) -> None:
    """Check that both programs that are written for an algorithm count and compute what it does."""
    module = loads(text)
    algorithm = module[name]
    ran = algorithm.run(arguments)
    for program in (form(text, name), write_program(module.module, algorithm.node).text):
        again = loads(program)
        other = again[next(iter(again))]
        by_position = dict(zip(other.parameters, map(arguments.get, algorithm.parameters), strict=True))
        copy = other.run({name: value for name, value in by_position.items() if value is not None})
        for metric in ("flops", "work", "span", "io"):
            assert getattr(copy.counts, metric) == getattr(ran.counts, metric), f"{metric}\n{text}\n{program}"
        for one, two in zip(ran.outputs.values(), copy.outputs.values(), strict=True):
            np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("seed", some(range(40), 10, full=2))
def test_what_is_compared_counts_what_the_algorithm_counts(seed: int) -> None:
    text = draft_from_seed(seed)
    for n in (1, 4, 7):
        check_written_programs(text, "f", arguments_of(text, seed, n))


OUTPUTS = """
algorithm halve(x: inout real[n], out: out int, steps: inout int, scale: real) -> real:
    scale *= 0.5
    out = n//2
    steps += 1
    if steps > 2: return 0.0
    return scale

algorithm uses(x: inout real[n], step: inout int) -> real:
    Q = queue(n)
    local half: int
    total = 0.0
    for i in 0..n step 2:
        total = halve(x, half, step, 1.5)
        Q.push(half)
    while not Q.empty():
        v = Q.pop()
        for j in 0..v:
            x[j] += total
    return total
"""


def test_programs_with_outputs_records_and_words_as_names_are_compared(tmp_path: Path) -> None:
    for n in (1, 2, 5, 8):
        check_written_programs(OUTPUTS, "uses", {"x": np.ones(n), "step": 0})
    changed = OUTPUTS.replace("x[j] += total", "x[j] += 2.0*total")
    rows = changes(tmp_path, OUTPUTS, changed)
    assert {row["algorithm"] for row in rows} == {"kernel.algo::uses"}
    assert [row["new"] != row["old"] for row in rows if row["metric"] == "flops"] == [True]
    assert document(tmp_path, OUTPUTS, OUTPUTS.replace("half", "middle"))["changes"] == []


@pytest.mark.parametrize(
    ("condition", "size"), some([("n % 97 == 5 and n > 1000", 1072), ("n % 4099 == 77 and n > 4200", 8275)])
)
def test_a_rise_at_few_remainders_beyond_a_number_is_found(condition: str, size: int, tmp_path: Path) -> None:
    # 1072 = 11*97 + 5 and 8275 = 2*4099 + 77 are the first sizes at which the condition holds.
    text = "algorithm e(x: inout real[n], m: size):\n    if {}:\n        x[0] += {}\n"
    for name, added in (("old", "1.0"), ("new", "1.0*2.0")):
        (tmp_path / f"{name}.algo").write_text(text.format(condition, added))
    result = cli("diff", str(tmp_path / "old.algo"), str(tmp_path / "new.algo"))
    assert result.code == 1
    assert f"grew: 1 -> 2 at n={size}" in result.out


def test_a_file_with_mistakes_that_did_not_change(tmp_path: Path) -> None:
    old, new = (written(tmp_path / name, f=GEMV.replace("x[j]", "z[j]")) / "f.algo" for name in ("a", "b"))
    ran = cli("diff", str(old), str(new))
    assert ran.code == 2
    assert f"{new}:4:" in ran.err
    assert "nothing is compared" in ran.out
    new.write_text(GEMV.replace("A: real[n, m],", "A: real[n, m]"))
    assert cli("diff", str(new), str(new)).code == 2


def test_costs_that_are_not_decided_have_values_at_the_iterations_asked_for(tmp_path: Path) -> None:
    text = """algorithm f(n: size, k: int) -> real:
    local a: int = k
    local t: real = 1.0
    while a > 0 iterations T:
        a -= 1
        for i in 0..n:
            t += 1.5
    return t
"""
    old, new = (
        written(tmp_path / name, f=text.replace("1.5", value)) / "f.algo"
        for name, value in (("a", "1.5"), ("b", "1.5*t"))
    )
    ran = cli("diff", str(old), str(new), "--at", "n=100,T=30")
    assert "flops   not decided: 3000 -> 6000 at n=100,T=30,old.T=30" in ran.out
    assert " at n=" not in cli("diff", str(old), str(new)).out


EARLY = {
    "search": ("for i in range(n):\n    if A[i] == x:\n        return i\nreturn -1", "range(n)", "range(n - 1)"),
    "halves": (
        "low = 0\nhigh = n - 1\nwhile low <= high:\n    mid = (low + high)//2\n    if A[mid] == x:\n        return mid\n"
        "    if A[mid] < x:\n        low = mid + 1\n    else:\n        high = mid - 1\nreturn -1",
        "low = mid + 1",
        "low = low + 1",
    ),
    "left": (
        "s: int = 0\nfor i in 0..n:\n    if A[i] == x:\n        break\n    s += 1\nreturn s",
        "s += 1",
        "s += A[i]*x",
    ),
}


@pytest.mark.parametrize("name", EARLY)
def test_algorithms_with_exits_are_compared(name: str, tmp_path: Path) -> None:
    body, old, new = EARLY[name]
    text = "def f(A: int[n], x: int):\n" + indent(body, "    ") + "\n"
    (tmp_path / "a.algo").write_text(text)
    (tmp_path / "b.algo").write_text(text.replace(old, new))
    assert cli("diff", str(tmp_path / "a.algo"), str(tmp_path / "a.algo")).out == "4 costs are the same\n"
    ran = cli("diff", str(tmp_path / "a.algo"), str(tmp_path / "b.algo"))
    assert ran.code in (0, 1)
    assert "b.algo::f\n" in ran.out
