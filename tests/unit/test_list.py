"""`archline list`: every algorithm of the library, files and folders, by their headers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from archline.language.loader import load_path
from archline.language.parser import parse_headers, parse_program
from archline.language.source import read_source
from archline.resources import find_resource
from cli_support import cli

FILES = sorted(find_resource("stdlib").rglob("*.algo"))


def targets(*arguments: str) -> list[str]:
    ran = cli("list", *arguments, "--format", "json")
    assert (ran.code, ran.err) == (0, "")
    return [each["target"] for each in json.loads(ran.out)["algorithms"]]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_headers_are_those_of_the_whole_file(file: Path) -> None:
    source = read_source(file)
    found = parse_headers(source)
    whole = parse_program(source).algorithms
    assert [(each.name, each.doc) for each in found] == [(each.name, each.doc) for each in whole]
    assert [[p.span.line for p in each.parameters] for each in found] == [
        [p.span.line for p in each.parameters] for each in whole
    ]


def test_the_library_is_listed_once_and_grouped() -> None:
    expected = [
        f"{'.'.join(file.relative_to(find_resource('stdlib')).with_suffix('').parts)}::{name}"
        for file in FILES
        for name in load_path(file).algorithms
    ]
    found = targets()
    assert sorted(found) == sorted(expected)
    modules = [each.partition("::")[0] for each in found]
    assert modules == sorted(modules)


def test_a_family_a_module_or_an_algorithm_narrows_the_list() -> None:
    everything = targets()
    assert targets("dense") == [each for each in everything if each.startswith("dense.")]
    assert targets("dense.lu") == ["dense.lu::lu", "dense.lu::lu_parallel"]
    assert targets("dense.lu::lu", "scan.reduce::dot") == ["dense.lu::lu", "scan.reduce::dot"]


def test_files_and_folders(tmp_path: Path) -> None:
    program = (
        "# algorithm none(x: real[n]):\nalgorithm f(x: inout real[n],  # first\n            k: size):\n"
        '    # a remark\n    "Adds a: b. Then more."\n    where k >= 2\n    x[0] = 1\n\n\n'
        'extern g(a: real) -> real costs c flops\nalgorithm h(x: real[n]): # "no docstring"\n    pass\n'
    )
    (tmp_path / "inner").mkdir()
    file = tmp_path / "inner" / "one.algo"
    file.write_text(program, encoding="utf-8")
    for target in (str(file), str(tmp_path)):
        assert targets(target) == [f"{file}::f", f"{file}::h"]
    (first, second) = json.loads(cli("list", str(file), "--format", "json").out)["algorithms"]
    assert first["parameters"] == ["x: inout real[n]", "k: size"]
    assert (first["summary"], first["doc"]) == ("Adds a: b.", "Adds a: b. Then more.")
    assert (second["summary"], second["doc"]) == ("", None)
    assert cli("cost", f"{file}::f").code == 0
    empty = tmp_path / "empty"
    empty.mkdir()
    assert cli("list", str(empty)).out == "no algorithms\n"


@pytest.mark.parametrize(
    ("target", "code", "hint"),
    [
        ("dens", "AL001", "did you mean `dense`?"),
        ("dense.luu", "AL001", "did you mean `dense.lu`?"),
        ("dense.lu::lux", "AL211", "did you mean `lu`?"),
        ("none/there.algo", "AL001", ""),
    ],
)
def test_unknown_targets_are_refused(target: str, code: str, hint: str) -> None:
    ran = cli("list", target)
    assert ran.refused(code)
    assert hint in ran.err


def test_mistakes_in_headers_have_their_place(tmp_path: Path) -> None:
    file = tmp_path / "wrong.algo"
    file.write_text("algorithm f(x: real[n]):\n    pass\n\nalgorithm g(x real[n]):\n    pass\n", encoding="utf-8")
    ran = cli("list", str(file))
    assert ran.code == 2
    assert f"{file}:4:15" in ran.err


@pytest.mark.parametrize("columns", ["60", "80", "100"])
def test_text_fits_the_terminal_with_each_parameter_whole(monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    shown = cli("list").out
    assert all(len(line) <= int(columns) for line in shown.splitlines())
    for each in json.loads(cli("list", "--format", "json").out)["algorithms"]:
        block = shown.split(f"{each['module']}\n  ", 1)[1].split("\n\n")[0]
        assert f"{each['name']}(" in block
        assert all(parameter in block for parameter in each["parameters"])


def test_headers_of_drafts_are_listed_with_the_types_of_their_results() -> None:
    algorithms = json.loads(cli("list", "examples/drafts.algo", "--format", "json").out)["algorithms"]
    whole = load_path(Path("examples/drafts.algo")).algorithms
    assert [each["name"] for each in algorithms] == list(whole)
    assert [each["result"] for each in algorithms] == [each.result for each in whole.values()]
    assert "  find(a: real[n], x: real) -> int\n" in cli("list", "examples/drafts.algo").out
    assert "examples/drafts.algo\n" in cli("list", "examples").out


def test_headers_in_the_form_of_other_languages(tmp_path: Path) -> None:
    file = tmp_path / "drafts.algo"
    file.write_text(
        "function f(x: real[n],\n           y: real) {\n    return y*x[0]\n}\n\nprocedure g(n: size)\n    y = 1\n"
        "end procedure\n\ndef h(n: size) -> int: # one\n    return n\n"
    )
    assert (
        cli("list", str(file)).out == f"{file}\n  f(x: real[n], y: real) -> real\n  g(n: size)\n  h(n: size) -> int\n"
    )


def test_a_file_with_mistakes_leaves_the_others_listed(tmp_path: Path) -> None:
    (tmp_path / "a.algo").write_text("algorithm f(x real):\n    pass\n\nalgorithm g(n: size):\n    pass\n")
    (tmp_path / "b.algo").write_text("def h(n: size):\n    pass\n")
    ran = cli("list", str(tmp_path))
    assert ran.code == 2
    assert ran.out == f"{tmp_path}/a.algo\n  g(n: size)\n\n{tmp_path}/b.algo\n  h(n: size)\n"
    assert f"{tmp_path}/a.algo:1:15" in ran.err
    (tmp_path / "b.algo").unlink()
    ran = cli("list", str(tmp_path / "a.algo"), "--format", "json")
    assert (ran.code, len(json.loads(ran.out)["algorithms"])) == (2, 1)


def test_modules_have_a_header(tmp_path: Path) -> None:
    file = tmp_path / "two.algo"
    file.write_text(
        'algorithm f(x: real[n], k: size):\n    "Does it. And more."\n    y = x[0]\n\nalgorithm g():\n    y = 1\n'
    )
    assert cli("list", str(file)).out == f"{file}\n  f(x: real[n], k: size)\n      Does it.\n  g()\n"
