"""`archline check` as a gate of a build: codes, ignored findings, the project's configuration, fingerprints."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import archline as al
from archline.language.diagnostics import ArchlineError
from archline.records import replace
from archline.report.checks.sarif import render
from archline.report.findings import CheckReport
from cli_support import Result, cli

PROGRAM = """algorithm scale(x: inout real[n]):{header}
    ensures work == n{first}
    ensures flops >= n{second}
    for i in 0..n:
        x[i] = 2.0*x[i]

algorithm chosen(x: inout real[n]):{other}
    ensures flops == n{third}
    for i in 0..n:
        if x[i] < 0.0:
            x[i] += 1.0
"""
"""work is 3*n + 1 (n multiplications, n assignments, a loop), so the first claim fails; the third depends on the data."""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: Path, **comments: str) -> Path:
    """The program, with comments behind lines of its headers and claims."""
    names = ("header", "first", "second", "other", "third")
    text = PROGRAM.format(**{name: f"  {comments[name]}" if name in comments else "" for name in names})
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def configure(folder: Path, text: str) -> None:
    """A configuration."""
    (folder / "pyproject.toml").write_text(f"[project]\nname = 'sketches'\n\n[tool.archline]\n{text}\n", "utf-8")


def findings(result: Result) -> list[tuple[str, str, int]]:
    """Code, level and line of each finding, of JSON."""
    return [(each["code"], each["level"], each["line"]) for each in json.loads(result.out)["findings"]]


def checked(*arguments: str) -> tuple[int, list[tuple[str, str, int]]]:
    """The exit code, and the findings."""
    result = cli("check", *arguments, "--format", "json")
    return result.code, findings(result)


FAILS = ("AL601", "error", 2)
UNKNOWN = ("AL602", "warning", 8)


# Codes, and comments that ignore them
@pytest.mark.parametrize(
    ("comments", "strict", "code", "found"),
    [
        ({}, False, 1, [FAILS, UNKNOWN]),
        ({"first": "# archline: ignore AL601"}, False, 0, [UNKNOWN]),
        ({"first": "# archline: ignore AL601"}, True, 1, [UNKNOWN]),
        ({"header": "# archline: ignore AL601", "other": "#archline: ignore al602"}, True, 0, []),
        ({"first": "# archline: ignore AL602, AL601", "third": "# archline: ignore AL602"}, False, 0, [("AL605", "warning", 2)]),
        ({"second": "# archline: ignore AL601", "third": "# archline: ignore AL602"}, False, 1, [FAILS, ("AL605", "warning", 3)]),
        ({"other": "# archline: ignore AL601", "third": "# archline: ignore AL602"}, False, 1, [FAILS, ("AL605", "warning", 7)]),
        ({"first": "# archline: ignore", "third": "# archline: ignore AL201"}, False, 1, [FAILS, UNKNOWN, ("AL605", "warning", 2), ("AL605", "warning", 8)]),
        # Entries of a baseline are judged where there is one.
        ({"header": "# archline: ignore AL603"}, False, 1, [FAILS, UNKNOWN]),
    ],
)  # fmt: skip
def test_findings_and_what_comments_ignore(
    here: Path, comments: dict[str, str], strict: bool, code: int, found: list[tuple[str, str, int]]
) -> None:
    write(here / "p.algo", **comments)
    assert checked("p.algo", *(["--strict"] if strict else [])) == (code, found)


def test_a_comment_on_a_line_of_its_own_or_in_the_body_ignores_nothing(here: Path) -> None:
    text = write(here / "p.algo").read_text("utf-8")
    text = text.replace("    for i", "    # archline: ignore AL601\n    for i", 1)
    text = text.replace("x[i] = 2.0*x[i]", "x[i] = 2.0*x[i]  # archline: ignore AL601")
    (here / "p.algo").write_text(text, "utf-8")
    assert [line for code, _, line in checked("p.algo")[1] if code == "AL605"] == [4, 6]


@pytest.mark.parametrize(("code", "end"), [("AL60", ": did you mean"), ("al9x99", ": remove the comment")])
def test_a_comment_with_a_code_of_no_finding_may_name_a_near_one(here: Path, code: str, end: str) -> None:
    write(here / "p.algo", first=f"# archline: ignore {code}")
    assert f"`{code.upper()}` is not the code of a finding that a comment can ignore{end}" in " ".join(
        cli("check", "p.algo").out.split()
    )


@pytest.mark.parametrize("prose", [" -- the last is set later", ": all of it", " (see 5.2)", ", as AL601 and others"])
def test_what_follows_the_codes_of_a_comment_is_prose(here: Path, prose: str) -> None:
    write(here / "p.algo", first=f"# archline: ignore AL601{prose}", third="# archline: ignore AL602")
    assert checked("p.algo") == (0, [])


@pytest.mark.parametrize(("above", "first"), [("", "# archline: ignore AL606"), ("# archline: ignore AL606\n", "")])
def test_a_comment_about_an_output_belongs_to_the_header(here: Path, above: str, first: str) -> None:
    text = write(here / "p.algo", first=first).read_text("utf-8")
    (here / "p.algo").write_text(above + text, "utf-8")
    assert "move it to the header of the algorithm" in " ".join(cli("check", "p.algo").out.split())


def test_one_algorithm_is_judged_without_the_comments_of_others(here: Path) -> None:
    write(here / "p.algo", header="# archline: ignore AL602")
    assert checked("p.algo::chosen")[1] == [UNKNOWN]
    assert ("AL605", "warning", 1) in checked("p.algo::scale")[1]


def test_formatting_keeps_comments_where_they_ignore(here: Path) -> None:
    path = write(here / "p.algo", header="# archline: ignore AL601", third="#  archline: ignore AL602")
    longer = path.read_text("utf-8").replace("(x: inout real[n])", f"(x: inout real[n], {'y' * 90}: real[n])")
    path.write_text(
        longer.replace("ensures flops == n  ", f"ensures flops == n + {' + '.join(['0*n'] * 30)} "), "utf-8"
    )
    before = checked("p.algo")
    assert before == (0, [])
    assert cli("fmt", "p.algo").code == 0
    assert path.read_text("utf-8") != longer
    assert checked("p.algo") == before
    assert cli("fmt", "--check", "p.algo").code == 0


def test_every_code_is_explained() -> None:
    for number in range(601, 606):
        assert cli("explain", f"AL{number}").out.startswith(f"# AL{number}: ")


@pytest.mark.parametrize(
    ("options", "code", "codes"),
    [
        (["--ignore", "AL601"], 0, ["AL602"]),
        (["--ignore", "AL601,AL602", "--strict"], 0, []),
        (["--select", "AL602"], 0, ["AL602"]),
        (["--select", "AL60", "--ignore", "AL602"], 1, ["AL601"]),
    ],
)
def test_select_and_ignore(here: Path, options: list[str], code: int, codes: list[str]) -> None:
    write(here / "p.algo")
    result = checked("p.algo", *options)
    assert (result[0], [each[0] for each in result[1]]) == (code, codes)


def test_codes_that_no_finding_has_are_refused(here: Path) -> None:
    write(here / "p.algo")
    assert cli("check", "p.algo", "--ignore", "AL7").refused("AL411")
    # An error of the program is no finding that could be ignored.
    assert cli("check", "p.algo", "--ignore", "AL101").refused("AL411")


# The formats
def test_warnings_and_errors_on_github(here: Path) -> None:
    write(here / "p.algo")
    (here / ".git").mkdir()
    lines = cli("check", "p.algo", "--format", "github").out.splitlines()
    assert [re.split(r",col|title", line)[0] for line in lines] == [
        "::error file=p.algo,line=2",
        "::warning file=p.algo,line=8",
    ]


def test_paths_for_tools_start_at_the_root_of_the_project(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(here / "sketches" / "p.algo")
    configure(here, "")
    monkeypatch.chdir(here / "sketches")
    assert "file=sketches/p.algo,line=2" in cli("check", "p.algo", "--format", "github").out
    (location, *_) = sarif("p.algo")[0]["locations"]
    assert location["physicalLocation"]["artifactLocation"] == {"uri": "sketches/p.algo", "uriBaseId": "%SRCROOT%"}


def sarif(*arguments: str) -> list[dict[str, Any]]:
    """The results of a check in SARIF."""
    document = json.loads(cli("check", *arguments, "--format", "sarif").out)
    results: list[dict[str, Any]] = document["runs"][0]["results"]
    return results


def fingerprints(*arguments: str, version: int = 2) -> dict[str, str]:
    """The fingerprint of each finding, by its message."""
    name = f"archlineFinding/v{version}"
    return {each["message"]["text"]: each["partialFingerprints"][name] for each in sarif(*arguments)}


def test_fingerprints_survive_lines_above_and_spaces_and_the_current_folder(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(here, "")
    path = write(here / "sub" / "p.algo")
    before = fingerprints("sub/p.algo")
    assert len(set(before.values())) == 2
    text = path.read_text("utf-8").replace("ensures work == n", "ensures work==n ")
    path.write_text("# A comment.\n" * 50 + text, "utf-8")
    assert fingerprints("sub/p.algo") == before
    monkeypatch.chdir(here / "sub")
    assert fingerprints("p.algo") == before


def test_equal_claims_have_fingerprints_of_their_own_and_others_differ(here: Path) -> None:
    path = write(here / "p.algo")
    path.write_text(path.read_text("utf-8").replace("    ensures work == n\n", "    ensures work == n\n" * 2), "utf-8")
    marks = [each["partialFingerprints"]["archlineFinding/v2"] for each in sarif("p.algo")]
    assert len(set(marks)) == len(marks) == 3
    write(here / "q.algo")
    assert not set(fingerprints("q.algo").values()) & set(marks)


def test_fingerprints_of_errors_survive_lines_above_and_another_message(here: Path) -> None:
    path = here / "broken.algo"
    path.write_text("algorithm f(x: inout real[2]):\n    for i in 0..2:\n        x[i] += y\n", "utf-8")
    before = fingerprints("broken.algo")
    path.write_text("# Moved.\n\n" + path.read_text("utf-8").replace("x[i] += y", "x[i]  +=  y"), "utf-8")
    assert fingerprints("broken.algo") == before
    with pytest.raises(ArchlineError) as raised:
        al.load(path)
    marks = set()
    for message in ("one wording", "another wording"):
        problems = tuple(replace(problem, message=message) for problem in raised.value.diagnostics)
        (result,) = json.loads(render(CheckReport((), problems, root=here), 80))["runs"][0]["results"]
        marks.add(result["partialFingerprints"]["archlineFinding/v2"])
    assert marks == set(before.values())


def test_ignored_findings_are_left_out_of_sarif(here: Path) -> None:
    write(here / "p.algo", first="# archline: ignore AL601")
    assert [each["ruleId"] for each in sarif("p.algo")] == ["AL602"]


# The configuration
def test_the_configuration_names_targets_and_what_is_left_out(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(here, 'paths = ["sketches"]\nexclude = ["drafts", "old_*.algo", "sketches/deep/x.algo"]')
    for name in ("a.algo", "drafts/b.algo", "old_c.algo", "deep/x.algo", "deep/y.algo"):
        write(here / "sketches" / name)
    expected = ["sketches/a.algo", "sketches/deep/y.algo"]
    assert [each["target"] for each in json.loads(cli("check", "--format", "json").out)["targets"]] == expected
    # The nearest one above the current folder counts, and a file that is named is taken.
    monkeypatch.chdir(here / "sketches" / "deep")
    names = [each["target"] for each in json.loads(cli("check", "x.algo", ".", "--format", "json").out)["targets"]]
    assert names == ["x.algo", "y.algo"]
    result = cli("check", "--isolated")
    assert result.code == 2
    assert "required: TARGET" in result.err


def test_the_command_line_counts_before_the_configuration(here: Path) -> None:
    write(here / "p.algo")
    configure(here, 'ignore = ["AL601"]\nselect = ["AL6"]')
    assert checked("p.algo") == (0, [UNKNOWN])
    assert checked("p.algo", "--ignore", "AL602") == (1, [FAILS])
    assert checked("p.algo", "--isolated") == (1, [FAILS, UNKNOWN])
    (here / "other.toml").write_text('[tool.archline]\nignore = ["AL602"]\n', "utf-8")
    assert checked("p.algo", "--config", "other.toml") == (1, [FAILS])


def test_facts_of_the_configuration_are_assumed_where_they_fit_and_said(here: Path) -> None:
    (here / "p.algo").write_text(
        "algorithm one(x: inout real[n]):\n    ensures flops >= 2\n    for i in 0..n:\n        x[i] += 1.0\n"
        "algorithm two(y: inout real[m]):\n    ensures flops >= 2\n    for i in 0..m:\n        y[i] += 1.0\n",
        "utf-8",
    )
    configure(here, 'where = "n >= 2"')
    (target,) = json.loads(cli("check", "p.algo", "--format", "json").out)["targets"]
    outcomes = [(each["ensures"][0]["outcome"], each["assumptions"]) for each in target["algorithms"]]
    assert outcomes == [("holds", ["n >= 2"]), ("fails", [])]
    # So are those of the command line, each of which is about some algorithm.
    assert json.loads(cli("check", "p.algo", "--isolated", "--where", "n >= 2", "--format", "json").out)["targets"] == [
        target
    ]
    assert cli("check", "p.algo", "--where", "n >= 2, k >= 2").refused("AL201")
    assert cli("check", "p.algo::two", "--where", "n >= 2").refused("AL201")


def test_machine_model_and_cache_of_the_configuration(here: Path) -> None:
    write(here / "p.algo")
    asked = ("energy", "p.algo::scale", "--at", "n=64", "--format", "json")
    assert "required: --machine" in cli(*asked).err
    configure(here, 'machine = "xeon-e5-2650l-v3"\ncache = "Z=512,L=8"')
    explicit = cli(*asked, "--isolated", "--machine", "xeon-e5-2650l-v3", "--cache", "Z=512,L=8")
    assert explicit.code == 0
    assert cli(*asked).out == explicit.out
    assert cli(*asked, "--cache", "Z=1024,L=8").out != explicit.out


@pytest.mark.parametrize(
    ("text", "line", "said", "code"),
    [
        ('exlude = ["x"]', 5, "there is no key `exlude`", "AL440"),
        ("paths = 3", 5, "`paths` must be a string, or a list of strings", "AL440"),
        ('where = "n >= 1"\nselect = ["AL1"]', 6, "starts with `AL1`", "AL440"),
        ("ignore = [", None, "is not TOML", "AL440"),
        ('where = [\n  "n >= 1",\n  "n >="\n]', 7, "expected an expression", "AL101"),
        ('where = ["n >= 2", "n <= 1"]', 5, "no `n` is at least 2 and at most 1", "AL483"),
    ],
)
def test_a_configuration_that_cannot_be_used(here: Path, text: str, line: int | None, said: str, code: str) -> None:
    write(here / "p.algo")
    configure(here, text)
    result = cli("check", "p.algo")
    assert result.refused(code)
    assert said in result.err
    if line is not None:
        assert f"pyproject.toml:{line}:" in result.err
    assert cli("check", "p.algo", "--isolated").code == 1


def test_a_configuration_that_is_missing_or_not_text(here: Path) -> None:
    write(here / "p.algo")
    assert cli("check", "p.algo", "--config", "no.toml").refused("AL440")
    (here / "bad.toml").write_bytes(b"\xff\xfe")
    assert cli("check", "p.algo", "--config", "bad.toml").refused("AL440")
    (here / "pyproject.toml").write_text("[tool]\narchline = 3\n", "utf-8")
    assert cli("check", "p.algo").refused("AL440")


# Baselines
LOOP = """algorithm scale(x: inout real[n]):
    for i in 0..n:
        x[i] = 2.0*x[i]
"""
LONGER = LOOP.replace("2.0*x[i]", "2.0*x[i] + 1.0")
"""A flop more in each of n iterations."""


def test_a_cost_that_grew_since_the_baseline_fails_the_check(here: Path) -> None:
    program = here / "p.algo"
    program.write_text(LOOP, "utf-8")
    assert cli("check", "p.algo", "--write-baseline", "costs.baseline").code == 0
    before = (here / "costs.baseline").read_text("utf-8")
    assert "p.algo::scale(n)  flops == n\n" in before
    assert checked("p.algo", "--baseline", "costs.baseline") == (0, [])
    program.write_text("# Another line.\n" + LONGER, "utf-8")
    code, found = checked("p.algo", "--baseline", "costs.baseline")
    assert (code, set(found)) == (1, {("AL603", "error", 2)})
    # n becomes 2*n flops, work 2*n + 1 becomes 3*n + 1: both within twice what they were.
    assert checked("p.algo", "--baseline", "costs.baseline", "--tolerance", "100%") == (0, [])
    assert checked("p.algo", "--baseline", "costs.baseline", "--tolerance", "99%")[0] == 1
    program.write_text("\n" + LONGER.replace("real[n]):", "real[n]):  # archline: ignore AL603"), "utf-8")
    assert checked("p.algo", "--baseline", "costs.baseline") == (0, [])
    configure(here, 'baseline = "costs.baseline"')
    program.write_text(LONGER, "utf-8")
    assert checked("p.algo")[0] == 1
    assert cli("check", "p.algo", "--write-baseline", "costs.baseline").code == 0
    assert checked("p.algo") == (0, [])


def test_a_baseline_takes_findings_over_and_says_what_it_no_longer_needs(here: Path) -> None:
    path = write(here / "p.algo")
    assert cli("check", "p.algo", "--write-baseline", "costs.baseline", "--strict").code == 0
    text = (here / "costs.baseline").read_text("utf-8")
    assert [line.split("  ")[0] for line in text.splitlines() if line.startswith("accept")] == [
        "accept AL602 p.algo::chosen",
        "accept AL601 p.algo::scale",
    ]
    assert checked("p.algo", "--baseline", "costs.baseline", "--strict") == (0, [])
    # The claim holds now, and an algorithm is no more.
    source = path.read_text("utf-8").replace("work == n", "work == 2*n + 1").partition("algorithm chosen")[0]
    path.write_text(source, "utf-8")
    code, found = checked("p.algo", "--baseline", "costs.baseline")
    assert code == 0
    lines = text.splitlines()
    unneeded = {lines[line - 1].split("  ")[0] for code, _, line in found if code == "AL605"}
    assert unneeded >= {"accept AL602 p.algo::chosen", "accept AL601 p.algo::scale"}
    assert {code for code, _, _ in found} == {"AL605"}


def test_what_is_not_asked_about_stays_in_a_baseline(here: Path) -> None:
    for name in ("p.algo", "q.algo", "r.algo"):
        (here / name).write_text(LOOP, "utf-8")
    assert cli("check", ".", "--write-baseline", "costs.baseline").code == 0
    before = (here / "costs.baseline").read_text("utf-8")
    assert cli("check", "p.algo", "--write-baseline", "costs.baseline").code == 0
    assert (here / "costs.baseline").read_text("utf-8") == before
    # A file that is no more is forgotten, and so is an algorithm of a file that is asked about.
    (here / "r.algo").unlink()
    (here / "p.algo").write_text(LOOP.replace("scale", "other"), "utf-8")
    assert cli("check", "p.algo", "--write-baseline", "costs.baseline").code == 0
    lines = (here / "costs.baseline").read_text("utf-8").splitlines()
    assert {line.partition("(")[0] for line in lines[1:] if line} == {"p.algo::other", "q.algo::scale"}


def test_a_metric_that_is_not_derived_is_not_decided_everywhere(here: Path) -> None:
    (here / "p.algo").write_text(LOOP.replace("    for", "    ensures words <= 1\n    for"), "utf-8")
    assert checked("p.algo", "--strict") == (1, [("AL602", "warning", 2)])


def test_only_what_does_not_hold_is_shown_if_asked(here: Path) -> None:
    write(here / "p.algo")
    out = cli("check", "p.algo", "--quiet").out
    assert "work == n" in out
    assert "flops >= n" not in out
    assert out.splitlines()[-1] == "1 claim holds, 1 fails, 1 is unknown"


def test_of_many_claims_that_hold_files_are_counted_unless_asked(here: Path) -> None:
    path = write(here / "p.algo")
    (here / "q.algo").write_text(
        path.read_text("utf-8")
        .replace("n >= n", "n >= 0")
        .replace("flops >= n", "\n    ".join(["flops >= n"] + ["ensures flops >= n"] * 20)),
        "utf-8",
    )
    out = cli("check", "p.algo", "q.algo").out
    assert out.count("work == n") == out.count("flops == n") == 2
    assert "flops >= n" not in out
    assert out.splitlines()[-4:] == [
        "p.algo: 1 claim holds",
        "q.algo: 21 claims hold",
        "",
        "22 claims hold, 2 fail, 2 are unknown; `--verbose` lists all",
    ]
    assert cli("check", "p.algo", "q.algo", "-v").out.count("flops >= n") == 22
    assert "claims hold\n" not in cli("check", "p.algo", "q.algo", "-q").out


def test_named_files_are_excluded_if_asked(here: Path) -> None:
    write(here / "drafts" / "p.algo")
    configure(here, 'exclude = ["drafts"]')
    assert cli("check", "drafts/p.algo").code == 1
    assert cli("check", "drafts/p.algo", "--force-exclude").code == 0
    refused = cli("check", "drafts")
    assert refused.refused("AL002")
    assert "every `.algo` file in the folder `drafts` is excluded" in refused.err


def test_a_configuration_that_is_wrong_is_a_finding_for_tools(here: Path) -> None:
    write(here / "p.algo")
    configure(here, 'exlude = ["x"]')
    result = cli("check", "--format", "sarif")
    assert result.code == 2
    assert [each["ruleId"] for each in json.loads(result.out)["runs"][0]["results"]] == ["AL440"]


def test_facts_of_the_project_hold_where_costs_are_compared(here: Path) -> None:
    """One flop more is 1 % of 100 and more; at n = 1 it is as much again."""
    program = here / "p.algo"
    program.write_text(LOOP, "utf-8")
    assert cli("check", "p.algo", "--write-baseline", "costs.baseline").code == 0
    (here / "other.algo").write_text("algorithm f(other: size):\n    pass\n", "utf-8")
    program.write_text(LOOP + "    local s: real = 2.0\n    s += 1.0\n", "utf-8")
    configure(here, 'baseline = "costs.baseline"\ntolerance = "10%"\nwhere = "n >= 100, other >= 2"')
    assert checked("p.algo") == (0, [])
    assert cli("diff", "costs.baseline", "p.algo").code == 0
    for facts in ("--isolated", "--where=n >= 5"):
        tolerance = ("--tolerance", "10%")
        assert checked("p.algo", "--baseline", "costs.baseline", *tolerance, facts)[0] == 1
        assert cli("diff", "costs.baseline", "p.algo", *tolerance, facts).code == 1
    configure(here, 'where = "n >= 100, n >"')
    assert "pyproject.toml:5:23: AL101" in cli("diff", "costs.baseline", "p.algo").err


@pytest.mark.parametrize(
    ("text", "found"),
    [
        # The file has no algorithm any more, or a cost changed that cannot be read back.
        ("use q\n\nclaim work(scale) >= 1\n", {"AL605"}),
        (LONGER, {"AL603", "AL604"}),
    ],
)
def test_every_line_of_a_baseline_is_compared(here: Path, text: str, found: set[str]) -> None:
    program, file = here / "p.algo", here / "costs.baseline"
    (here / "q.algo").write_text(LOOP, "utf-8")
    program.write_text(LOOP, "utf-8")
    assert cli("check", "p.algo", "--write-baseline", "costs.baseline").code == 0
    file.write_text(file.read_text("utf-8").replace("work == 2*n + 1", "work == x[n]"), "utf-8")
    program.write_text(text, "utf-8")
    code, findings = checked("p.algo", "--baseline", "costs.baseline")
    assert (code, {each[0] for each in findings}) == (0 if found == {"AL605"} else 1, found)


def test_a_cost_that_became_unknown_fails_the_check(here: Path) -> None:
    program = here / "p.algo"
    program.write_text(LOOP, "utf-8")
    assert cli("check", "p.algo", "--write-baseline", "costs.baseline").code == 0
    recursion = "algorithm scale(x: inout real[n]):\n    if x[0] > 0.0:\n        x[0] = x[0] - 1.0\n        scale(x)\n"
    program.write_text(recursion, "utf-8")
    code, found = checked("p.algo", "--baseline", "costs.baseline")
    assert code == 1
    assert "AL604" in {each[0] for each in found}


def test_a_baseline_that_is_not_there_or_cannot_be_written(here: Path) -> None:
    program = here / "p.algo"
    program.write_text(LOOP, "utf-8")
    missing = cli("check", "p.algo", "--baseline", "no.baseline", "--format", "sarif")
    assert missing.code == 2
    assert [each["ruleId"] for each in json.loads(missing.out)["runs"][0]["results"]] == ["AL442"]
    assert "--write-baseline no.baseline" in missing.err
    assert cli("check", "p.algo", "--write-baseline", "no/costs.baseline").refused("AL413")
    (here / "kept").write_text("mine\n", "utf-8")
    program.write_text("algorithm f(", "utf-8")
    assert cli("check", "p.algo", "--write-baseline", "kept").code == 2
    assert (here / "kept").read_text("utf-8") == "mine\n"
