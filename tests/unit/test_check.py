"""`archline check`: what it takes, what it prints in each format, and its exit codes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import junitparser
import pytest

import archline as al
from archline.costs.trials import find_stopping_run
from archline.report import list_formats
from cli_support import ROOT, Result, cli
from effort import some

# The inner loop runs n*(n - 1)/2 times and each iteration adds and multiplies: flops are 0 at n = 1 alone.
PAIRS = """algorithm pairs(x: real[n], y: inout real[n], z: real[k]):
    ensures {}
    for i in 0..n:
        for j in 0..i:
            y[i] += x[j]*x[i]
"""
UNKNOWN = """algorithm chosen(x: inout real[n]):
    ensures flops == n
    for i in 0..n:
        if x[i] < 0.0:
            x[i] += 1.0
"""
RACE = """algorithm total(x: real[n], t: inout real[1]):
    parallel for i in 0..n:
        t[0] += x[i]
"""
QUICKSORT = """algorithm quicksort(a: inout real[n]):
    ensures flops <= n^2
    if n > 1:
        local p: int = 0
        for i in 1..n:
            if a[i] < a[0]:
                p += 1
                local s: real = a[p]
                a[p] = a[i]
                a[i] = s
        local t: real = a[p]
        a[p] = a[0]
        a[0] = t
        assume p >= 0, p < n
        quicksort(a[0..p])
        quicksort(a[p+1..n])
"""
STOPS = QUICKSORT.replace("    if n > 1", "    where n >= 1\n    if n > 1")
"""Its parts may be empty, which it says they are not."""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: Path, text: str) -> str:
    """A program in a file; the path from the current folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path.relative_to(Path.cwd()).as_posix()


def checked(path: str, *options: str) -> Any:
    """The first contract of the first algorithm, as JSON."""
    return json.loads(cli("check", path, "--format", "json", *options).out)["targets"][0]["algorithms"][0]["ensures"][0]


# What it takes, and exit codes
def test_every_verdict_has_its_place_in_front(here: Path) -> None:
    path = write(here / "p.algo", PAIRS.format("flops == n*(n - 1)\n    ensures flops == n^2"))
    lines = cli("check", path).out.splitlines()
    assert f"{path}:2: holds  flops == n*(n - 1)" in lines
    assert f"{path}:3: fails  flops == n^2  [AL601]" in lines
    assert lines[-1] == "1 claim holds, 1 fails"


def test_places_inside_the_current_folder_are_relative(here: Path) -> None:
    path = write(here / "p.algo", PAIRS.format("flops >= 0"))
    assert f"\n{path}:2: holds" in cli("check", str(here / path)).out


def test_a_folder_is_all_its_programs(here: Path) -> None:
    write(here / "all" / "b.algo", PAIRS.format("flops >= 0"))
    write(here / "all" / "in" / "a.algo", PAIRS.format("flops >= 1"))
    write(here / "all" / "no.txt", "no program")
    result = cli("check", "all", "all/b.algo")
    assert re.findall(r"^all\S*", result.out, re.MULTILINE) == ["all/b.algo:2:", "all/in/a.algo:2:"]
    assert result.code == 1


def test_a_folder_without_programs_is_refused(here: Path) -> None:
    (here / "empty").mkdir()
    assert cli("check", "empty").refused("AL002")


def test_a_broken_program_in_a_folder_does_not_hide_the_others(here: Path) -> None:
    write(here / "a.algo", "use b\n\nalgorithm f(x: inout real[n]):\n    x[0] = 1.0\n")
    write(here / "b.algo", "algorithm g(x: inout real[n]):\n    x[0] = y\n")
    write(here / "c.algo", PAIRS.format("flops >= 0"))
    result = cli("check", ".")
    assert result.code == 2
    assert "c.algo:2: holds" in result.out
    assert result.err.count("AL201") == 1


def test_unknown_is_counted_apart_and_fails_a_strict_check(here: Path) -> None:
    path = write(here / "u.algo", UNKNOWN)
    result = cli("check", path)
    assert (result.code, result.out.splitlines()[-1]) == (0, "1 claim is unknown")
    assert cli("check", path, "--strict").code == 1
    held = write(here / "h.algo", PAIRS.format("flops >= 0"))
    assert cli("check", held, "--strict").code == 0


def test_certificates_are_for_text_and_json(here: Path) -> None:
    path = write(here / "h.algo", PAIRS.format("flops >= 0"))
    assert cli("check", path, "--certificates", "--format", "sarif").refused("AL411")


# Counterexamples
def test_a_counterexample_names_the_sizes_that_matter_and_the_derived_form(here: Path) -> None:
    path = write(here / "p.algo", PAIRS.format("flops == n^2"))
    found = checked(path)
    assert found["at"] == {"n": "1"}
    assert al.load(Path(path))["pairs"].cost().flops.text == found["derived"] == "n^2 - n"
    assert "    derived: n^2 - n\n    at n = 1: derived 0, claimed == 1\n" in cli("check", path).out


# Guards
@pytest.mark.parametrize(
    ("claim", "least"), [("flops is Theta(n^2)", 2), ("flops is Omega(n^2)", 2), ("flops is Omega(n^2) when k >= 3", 2)]
)
def test_growth_that_fails_at_small_sizes_only(here: Path, claim: str, least: int) -> None:
    """n*(n - 1) >= n^2/2 from n = 2 on, and 0 at n = 1."""
    found = checked(write(here / "p.algo", PAIRS.format(claim)))
    assert (found["outcome"], found["fails_where"]) == ("fails", f"n < {least}")
    assert found["suggestion"].startswith(claim)
    assert found["suggestion"].endswith(f"n >= {least}")
    guarded = checked(write(here / "q.algo", PAIRS.format(found["suggestion"])))
    assert guarded["outcome"] == "holds"


def test_a_guard_of_all_sizes(here: Path) -> None:
    """The cost is (n - 1)*(m - 1), which is 0 where either is 1."""
    text = (
        "algorithm f(x: inout real[n, m]):\n    ensures flops is Theta(n*m)\n"
        "    for i in 1..n:\n        for j in 1..m:\n            x[i, j] += 1.0\n"
    )
    found = checked(write(here / "f.algo", text))
    assert (found["fails_where"], found["suggestion"]) == ("n < 2 or m < 2", "flops is Theta(n*m) when n >= 2, m >= 2")


# Runs that stop
def test_a_program_that_cannot_run_is_noted(here: Path) -> None:
    path = write(here / "q.algo", STOPS)
    result = cli("check", path)
    assert result.code == 0
    assert "note: a run at n = 2 on generated data stops here: AL504" in " ".join(result.out.split())
    ran = cli("run", path, "--at", "n=2", "--plain")
    assert ran.code == 2
    place = json.loads(cli("check", path, "--format", "json").out)["targets"][0]["algorithms"][0]["stops"]["place"]
    assert ran.err.startswith(f"{place}:")
    allowed = write(here / "r.algo", QUICKSORT)
    assert "note" not in cli("check", allowed).out


@pytest.mark.parametrize(
    "target", some(["sort.mergesort", "sort.select", "dense.matmul_recursive", "stencil.trapezoid"])
)
def test_nothing_of_the_library_stops(target: str) -> None:
    module = al.load(target)
    found = {name: find_stopping_run(*module[name].executed, module[name].cost().without_io["work"]) for name in module}
    assert not any(found.values())


# Formats
def all_kinds(here: Path, form: str, *options: str) -> Result:
    """A target of each kind of finding."""
    write(here / "a%b.algo", PAIRS.format("flops == n^2\n    ensures flops >= 0"))
    write(here / "b.algo", UNKNOWN)
    write(here / "c.algo", RACE)
    write(here / "d.algo", STOPS)
    return cli("check", ".", "--format", form, "-j", "1", *options)


def test_the_formats_are_those_of_the_folder() -> None:
    assert list_formats("checks") == ("github", "html", "json", "junit", "sarif", "text")


def test_github(here: Path) -> None:
    result = all_kinds(here, "github", "--strict")
    assert result.code == 2
    lines = result.out.splitlines()
    assert [line.split("::")[1].partition(",title")[0] for line in lines] == [
        "error file=a%25b.algo,line=2,col=5",
        "warning file=b.algo,line=2,col=5",
        "notice file=d.algo,line=17,col=9",
        "error file=c.algo,line=3,col=9",
    ]
    assert lines[0].endswith("::pairs: fails: flops == n^2%0Aderived: n^2 - n%0Aat n = 1: derived 0, claimed == 1")
    assert "title=AL301%3A race between" in lines[-1]
    assert "warning file=b.algo" in all_kinds(here, "github").out


SHAPES: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "log": ({"version": "text", "runs": "run[]"}, {"$schema": "text"}),
    "run": ({"tool": "tool"}, {"results": "result[]", "columnKind": "text"}),
    "tool": ({"driver": "component"}, {}),
    "component": ({"name": "text"}, {"version": "text", "rules": "rule[]"}),
    "rule": ({"id": "text"}, {"shortDescription": "message", "helpUri": "text"}),
    "message": ({"text": "text"}, {}),
    "result": (
        {"message": "message"},
        {"ruleId": "text", "ruleIndex": "number", "level": "text", "locations": "location[]", "partialFingerprints": "texts", "fixes": "fix[]", "relatedLocations": "location[]"},
    ),
    "fix": ({"artifactChanges": "change[]"}, {"description": "message"}),
    "change": ({"artifactLocation": "artifact", "replacements": "replacement[]"}, {}),
    "replacement": ({"deletedRegion": "region"}, {"insertedContent": "message"}),
    "location": ({}, {"physicalLocation": "place", "message": "message"}),
    "place": ({"artifactLocation": "artifact"}, {"region": "region"}),
    "artifact": ({}, {"uri": "text", "uriBaseId": "text"}),
    "region": ({}, dict.fromkeys(("startLine", "startColumn", "endLine", "endColumn"), "number")),
}  # fmt: skip
"""What objects of SARIF 2.1.0 (OASIS, appendix C) must have, and what else this program may write in them."""


def shaped(value: Any, shape: str) -> None:
    """Assert that a value of SARIF has the properties that its kind has, and no others."""
    if shape.endswith("[]"):
        assert isinstance(value, list)
        for each in value:
            shaped(each, shape[:-2])
    elif shape in SHAPES:
        required, allowed = SHAPES[shape]
        assert required.keys() <= value.keys() <= required.keys() | allowed.keys(), (shape, value)
        for name, each in value.items():
            shaped(each, (required | allowed)[name])
    elif shape == "texts":
        assert all(isinstance(each, str) for each in value.values())
    else:
        assert isinstance(value, {"text": str, "number": int}[shape]), (shape, value)


def test_sarif(here: Path) -> None:
    document = json.loads(all_kinds(here, "sarif", "--strict").out)
    assert document["version"] == "2.1.0"
    shaped(document, "log")
    (run,) = document["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "archline"
    ids = [rule["id"] for rule in driver["rules"]]
    assert len(set(ids)) == len(ids)
    found = []
    for result in run["results"]:
        assert result["message"]["text"]
        assert result["level"] in ("error", "warning", "note")
        assert ids[result["ruleIndex"]] == result["ruleId"]
        (location,) = result["locations"]
        physical = location["physicalLocation"]
        region = physical["region"]
        assert region["startLine"] >= 1
        assert region["startColumn"] >= 1
        assert region.get("endColumn", 99) > region["startColumn"]
        found.append((result["level"], result["ruleId"], physical["artifactLocation"]["uri"]))
    assert found == [
        ("error", "AL601", "a%25b.algo"),
        ("warning", "AL602", "b.algo"),
        ("note", "AL504", "d.algo"),
        ("error", "AL301", "c.algo"),
    ]


def test_sarif_without_findings_or_without_a_file(here: Path) -> None:
    held = write(here / "h.algo", PAIRS.format("flops >= 0"))
    (run,) = json.loads(cli("check", held, "--format", "sarif").out)["runs"]
    assert run["results"] == []
    (run,) = json.loads(cli("check", str(ROOT / "no.algo"), "--format", "sarif").out)["runs"]
    (result,) = run["results"]
    assert result["locations"][0]["physicalLocation"] == {"artifactLocation": {"uri": (ROOT / "no.algo").as_uri()}}


def test_junit_loads_in_a_reader(here: Path) -> None:
    write(here / "p.algo", PAIRS.format("flops == n^2\n    ensures flops >= 0"))
    write(here / "u.algo", UNKNOWN)
    (here / "found.xml").write_text(cli("check", ".", "--format", "junit").out, "utf-8")
    cases = [case for suite in junitparser.JUnitXml.fromfile("found.xml") for case in suite]
    assert [(case.classname, case.name, [type(each) for each in case.result]) for case in cases] == [
        ("pairs", "flops == n^2", [junitparser.Failure]),
        ("pairs", "flops >= 0", []),
        ("chosen", "flops == n", [junitparser.Skipped]),
    ]


def test_junit(here: Path) -> None:
    def outcomes(*options: str) -> list[tuple[str, list[str]]]:
        root = ElementTree.fromstring(all_kinds(here, "junit", *options).out)
        for each in (root, *root):
            for name, tag in (
                ("tests", "testcase"),
                ("failures", "failure"),
                ("errors", "error"),
                ("skipped", "skipped"),
            ):
                assert int(each.get(name, "-1")) == len(list(each.iter(tag)))
        return [(case.get("name", ""), [each.tag for each in case]) for case in root.iter("testcase")]

    assert outcomes() == [
        ("flops == n^2", ["failure"]),
        ("flops >= 0", []),
        ("flops == n", ["skipped"]),
        ("flops <= n^2", []),
        ("AL301: race between iterations of a parallel loop", ["error"]),
    ]
    assert outcomes("--strict")[2] == ("flops == n", ["failure"])


def test_junit_is_xml_whatever_a_program_says(here: Path) -> None:
    text = 'algorithm f(x: inout real[n]):\n    x[0] = 1.0\n\nclaim "<\x01&": work(f) <= n\n'
    (case,) = ElementTree.fromstring(cli("check", write(here / "f.algo", text), "--format", "junit").out).iter(
        "testcase"
    )
    assert case.get("name", "").startswith('claim "<')


def test_a_long_path_does_not_break_a_short_claim(here: Path) -> None:
    path = write(here / ("folder" * 20) / "p.algo", PAIRS.format("flops == n*(n - 1)"))
    assert f"{path}:2: holds  flops == n*(n - 1)" in cli("check", path).out.splitlines()
