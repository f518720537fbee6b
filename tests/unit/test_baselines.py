"""Baselines of costs: written once, compared with what is derived later."""

from __future__ import annotations

import contextlib
import subprocess
from fractions import Fraction
from pathlib import Path

import pytest

import archline as al
from archline.api import changes
from archline.api.baselines import build_baseline, compare_with_baseline
from archline.changes.git import NO_VERSION
from archline.cli.main import main
from archline.language.diagnostics import ArchlineError, error
from archline.report.findings import CheckReport
from cli_support import cli
from effort import long

SERVED = """algorithm scale(x: inout real[n]):
    for i in 0..n:
        x[i] *= 2.0
"""
SUM = """extern weight(a: real) -> real costs f flops

algorithm total(x: real[n, m]) -> real:
    local s: real = 0
    for i in 0..n:
        for j in 0..m:
            if x[i, j] > 0.0:
                s += weight(x[i, j])
    return s
"""
BOTH = {"scale.algo": SERVED, "deep/total.algo": SUM}


def written(folder: Path, **programs: str) -> str:
    """The baseline of programs that are put into a folder."""
    for name, text in (programs or BOTH).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    with contextlib.chdir(folder):
        return build_baseline("costs.baseline", targets(), CheckReport(()), 1, cached=False)


def targets() -> list[str]:
    return sorted(map(str, Path().rglob("*.algo")))


def changed(folder: Path, tolerance: Fraction = Fraction(0), whole: bool = False) -> list[tuple[str, str, int, str]]:
    """The findings of a comparison with a folder's baseline."""
    with contextlib.chdir(folder):
        terms = changes.Terms(tolerance)
        found, _ = compare_with_baseline("costs.baseline", targets(), terms, 1, cached=False, whole=lambda: whole)
    return [(each.code, each.path, each.line, each.algorithm) for each in found]


def test_a_line_for_each_cost_in_the_syntax_of_claims(tmp_path: Path) -> None:
    text = written(tmp_path)
    lines = [line for line in text.splitlines()[1:] if line]
    assert lines == sorted(lines)
    assert "scale.algo::scale(n)  work == 2*n + 1" in lines
    assert any(line.startswith("deep/total.algo::total(n, m)  flops >= ") and ", flops <= " in line for line in lines)
    assert [line for line in lines if line.startswith("scale.algo::scale(n)  io")] == [
        "scale.algo::scale(n)  io == ceil(n/L) when Z >= L"
    ]
    assert written(tmp_path) == text


def test_one_change_of_a_cost_changes_its_line_and_that_of_the_program(tmp_path: Path) -> None:
    before = written(tmp_path).splitlines()
    after = written(tmp_path, **{"scale.algo": SERVED.replace("*= 2.0", "*= 2.0*3.0")}).splitlines()
    changed = {line.split()[1] for line in set(before) ^ set(after)}
    assert changed == {'"algorithm', "flops", "work", "span"}
    assert len(before) == len(after)


def test_nothing_is_found_where_nothing_changed(tmp_path: Path) -> None:
    (tmp_path / "costs.baseline").write_text(written(tmp_path), encoding="utf-8")
    assert changed(tmp_path) == []
    # Names are no part of it, nor is an algorithm that it does not have.
    renamed = SUM.replace("n,", "rows,").replace("..n", "..rows").replace(" i ", " k ").replace("[i", "[k")
    (tmp_path / "deep" / "total.algo").write_text(renamed + "\n" + SERVED, encoding="utf-8")
    assert changed(tmp_path) == []


def test_what_grew_or_became_unknown_is_found(tmp_path: Path) -> None:
    (tmp_path / "costs.baseline").write_text(written(tmp_path), encoding="utf-8")
    written(tmp_path, **{"scale.algo": SERVED.replace("*= 2.0", "*= 2.0*3.0")})
    assert set(changed(tmp_path)) == {("AL603", "scale.algo", 1, "scale")}
    assert changed(tmp_path, Fraction(1)) == []
    endless = (
        "\nalgorithm half(x: inout real[n], k: int):\n    if k > 1:\n        half(x, k - 3)\n        half(x, k//2)\n"
    )
    unknown = SERVED.replace("    for i in 0..n:", "    half(x, 5)\n    for i in 0..n:") + endless
    written(tmp_path, **{"scale.algo": unknown})
    assert set(changed(tmp_path)) == {("AL604", "scale.algo", 1, "scale")}


def test_a_cost_that_shrank_is_no_finding(tmp_path: Path) -> None:
    (tmp_path / "costs.baseline").write_text(written(tmp_path), encoding="utf-8")
    written(tmp_path, **{"scale.algo": SERVED.replace("*= 2.0", "= 2.0")})
    assert changed(tmp_path) == []


@long
def test_a_bound_that_rose_is_a_warning_as_in_a_diff(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A run may take any of the elements, so that no more misses are certain along a column than along a row.
    rows = "algorithm total(x: real[n, n], y: inout real[n]):\n    for i in 0..n:\n        if y[i] > 0.0:\n"
    rows += "            y[i] = x[0, i]\n"
    (tmp_path / "costs.baseline").write_text(written(tmp_path, **{"total.algo": rows}), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    quiet = ["check", "total.algo", "--baseline", "costs.baseline", "-q", "--jobs", "1", "--no-cache"]
    assert main([*quiet, "--strict"]) == 0
    written(tmp_path, **{"total.algo": rows.replace("x[0, i]", "x[i, 0]")})
    found, _ = compare_with_baseline("costs.baseline", ["total.algo"], changes.Terms(), 1, cached=False)
    assert {(each.code, each.severity, each.algorithm) for each in found} == {("AL603", "warning", "total")}
    diff = ["diff", "costs.baseline", "total.algo", "--jobs", "1", "--no-cache"]
    for strict in ([], ["--strict"]):
        assert main([*quiet, *strict]) == main([*diff, *strict]) == len(strict)


def test_entries_that_nothing_needs(tmp_path: Path) -> None:
    text = written(tmp_path)
    (tmp_path / "costs.baseline").write_text(text, encoding="utf-8")
    other = SERVED.replace("scale(x: inout real[n])", "other(x: inout real[n, m])").replace("x[i]", "x[i, 0]")
    (tmp_path / "scale.algo").write_text(other, encoding="utf-8")
    (tmp_path / "deep" / "total.algo").unlink()
    lines = text.splitlines()
    first = {
        key: next(number for number, line in enumerate(lines, 1) if line.startswith(key)) for key in ("scale", "deep")
    }
    scale = ("AL605", "costs.baseline", first["scale"], "scale")
    assert changed(tmp_path, whole=True) == [("AL605", "costs.baseline", first["deep"], "total"), scale]
    # What was in a file that is no more may be in one that is not checked.
    assert changed(tmp_path) == [scale]


def test_other_targets_are_not_judged(tmp_path: Path) -> None:
    (tmp_path / "costs.baseline").write_text(written(tmp_path), encoding="utf-8")
    with contextlib.chdir(tmp_path):
        assert compare_with_baseline("costs.baseline", ["scale.algo"], cached=False) == ((), ())


RECORDS = """
algorithm count(x: int[n], counts: inout map[2*n]) -> int:
    met = 0
    for i in 0..n:
        if not counts.contains(x[i]):
            met += 1
        counts.put(x[i], i)
    return met
"""


def test_algorithms_of_records_have_entries(tmp_path: Path) -> None:
    library = al.algorithm("structures.map::map.put").module.program.source.text + RECORDS
    text = written(tmp_path, **{"map.algo": library})
    assert "map.algo::map.put(cap)  work >= 5*map_place.probes + 7" in text
    (tmp_path / "costs.baseline").write_text(text, encoding="utf-8")
    assert changed(tmp_path) == []
    (tmp_path / "map.algo").write_text(library.replace("M.value[h] = x", "M.value[h] = x + 1"), encoding="utf-8")
    assert {(path, name) for _, path, _, name in changed(tmp_path)} == {("map.algo", "map.put"), ("map.algo", "count")}


def test_accepted_findings_come_back(tmp_path: Path) -> None:
    (tmp_path / "costs.baseline").write_text("accept AL602 scale.algo::scale  ensures work == n\n", encoding="utf-8")
    with contextlib.chdir(tmp_path):
        _, (accepted,) = compare_with_baseline("costs.baseline", [], cached=False)
    assert (accepted.code, accepted.path, accepted.algorithm) == ("AL602", "scale.algo", "scale")
    assert (accepted.claim, accepted.line) == ("ensures work == n", 1)


@pytest.mark.parametrize("text", ["<<<<<<< main\n", "scale.algo::scale(n) work == n\n", "\0"])
def test_what_is_no_baseline_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "costs.baseline"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ArchlineError, match="AL442"):
        compare_with_baseline(str(file), [])


def test_what_is_no_baseline_is_refused_before_anything_is_derived(tmp_path: Path) -> None:
    program = tmp_path / "scale.algo"
    program.write_text("algorithm scale(x: inout real[n]):\n    x[0] *= 2.0\n", encoding="utf-8")
    found = cli("check", str(program), "--baseline", str(program))
    assert (found.code, found.err.count("AL442")) == (2, 1)
    assert "scale\n" not in found.out


def test_an_entry_with_an_unknown_size_is_refused_at_its_line(tmp_path: Path) -> None:
    text = written(tmp_path).replace("work == 2*n + 1", "work == 2*nn + 1")
    (tmp_path / "costs.baseline").write_text(text, encoding="utf-8")
    line = next(number for number, each in enumerate(text.splitlines(), 1) if "2*nn" in each)
    with pytest.raises(ArchlineError, match="`nn`") as raised:
        changed(tmp_path)
    assert [(each.code, each.line) for each in raised.value.diagnostics] == [("AL442", line)]


def test_what_cannot_be_compared_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> list[object]:
        raise error(NO_VERSION, "no size is `n1_`")

    (tmp_path / "costs.baseline").write_text(written(tmp_path), encoding="utf-8")
    written(tmp_path, **{name: text.replace("0", "1") for name, text in BOTH.items()})
    monkeypatch.setattr(changes, "compare_versions", refuse)
    with pytest.raises(ArchlineError, match=r"costs of `scale.algo::scale` cannot be compared: no size is `n`"):
        changed(tmp_path)
    with contextlib.chdir(tmp_path):
        found = al.diff("costs.baseline", cached=False, jobs=1)
    assert {(each.code, each.span and each.span.source.path) for each in found.problems} == {
        ("AL441", "scale.algo"),
        ("AL441", "deep/total.algo"),
    }


def test_a_baseline_is_a_version(tmp_path: Path) -> None:
    (tmp_path / "costs.baseline").write_text(written(tmp_path), encoding="utf-8")
    written(tmp_path, **{"scale.algo": SERVED.replace("*= 2.0", "*= 2.0*3.0")})
    with contextlib.chdir(tmp_path):
        found = al.diff("costs.baseline", cached=False, jobs=1)
    assert found.summary == {"grew": 3, "equal": 5}
    assert found.changes[0].old == "n"


def test_branches_that_touch_different_algorithms_merge(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        options = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", *options, *arguments], cwd=tmp_path, check=True, capture_output=True)

    def commit(name: str, text: str) -> None:
        (tmp_path / "costs.baseline").write_text(written(tmp_path, **{**BOTH, name: text}), encoding="utf-8")
        git("add", ".")
        git("commit", "-qm", name)

    git("init", "-q", "-b", "main")
    commit("scale.algo", SERVED)
    git("checkout", "-qb", "one")
    commit("scale.algo", SERVED.replace("*= 2.0", "*= 2.0*3.0"))
    git("checkout", "-q", "main")
    commit("deep/total.algo", SUM.replace("s += ", "s += 2.0*"))
    git("merge", "-q", "one")
    assert changed(tmp_path) == []


@long
def test_a_cost_that_grew_under_conditions_has_one_row(tmp_path: Path) -> None:
    """What else changed is said in the same row; values are those of the whole cost."""
    loops = "    for i in 1..n - 1:\n        for j in 0..m:\n", "    for j in 0..m:\n        for i in 1..n - 1:\n"
    body = "algorithm f(u: real[n, m], v: out real[n, m]):\n    where n >= 3\n"
    step = "            v[i, j] = u[i - 1, j] + u[i + 1, j]\n"
    (tmp_path / "costs.baseline").write_text(written(tmp_path, **{"f.algo": body + loops[0] + step}), encoding="utf-8")
    written(tmp_path, **{"f.algo": body + loops[1] + step})
    with contextlib.chdir(tmp_path):
        found, _ = compare_with_baseline("costs.baseline", targets(), changes.Terms(), 1, cached=False)
    (grew,) = [each.message for each in found if each.key == "io"]
    assert grew.startswith("f: io grew; 992 to 1008 -> 3841 to 4480 at n=64,m=64,L=8,Z=520; under 3 more conditions")
    assert not any(" -> ;" in each.message for each in found)


def test_a_configured_baseline_is_written_where_there_is_none(tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / "pyproject.toml").write_text('[tool.archline]\nbaseline = "costs.baseline"\n', encoding="utf-8")
    with contextlib.chdir(tmp_path):
        assert cli("check", "scale.algo").refused("AL442")
        assert cli("check", "scale.algo", "--write-baseline", "costs.baseline").code == 0
        assert cli("check", "scale.algo").code == 0
