"""Loading: targets, `use`, cycles, bad files, and what is reported together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

from archline.expr.tree import Source
from archline.language.builder import TreeBuilder
from archline.language.diagnostics import ArchlineError
from archline.language.lark_parser import make_parser, parse_with_lark
from archline.language.loader import list_stdlib_modules, load_path, load_target, load_text
from archline.language.parser import split_items
from archline.language.source import read_source
from archline.language.tables import load_tables
from archline.resources import find_resource
from effort import long

ONE = """
algorithm one(x: inout real[n]):
    x[0] = 1
"""


def codes(error: pytest.ExceptionInfo[ArchlineError]) -> list[str]:
    return [diagnostic.rule.code for diagnostic in error.value.diagnostics]


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_a_path_with_and_without_an_algorithm(tmp_path: Path) -> None:
    path = write(tmp_path, "a.algo", ONE)
    module, algorithm = load_target(f"{path}::one")
    assert algorithm is module.algorithms["one"]
    assert load_target(str(path))[1] is None


@long
def test_every_module_of_the_standard_library_loads() -> None:
    assert "dense.matmul" in list_stdlib_modules()
    for name in list_stdlib_modules():
        module, _ = load_target(name)
        assert module.algorithms or module.records


def test_an_unknown_algorithm_of_a_file_is_hinted_at(tmp_path: Path) -> None:
    path = write(tmp_path, "a.algo", ONE)
    with pytest.raises(ArchlineError, match="did you mean `one`") as error:
        load_target(f"{path}::onee")
    assert codes(error) == ["AL211"]


@pytest.mark.parametrize(("target", "hint"), [("dense.matmull", "dense.matmul"), ("matmul", "dense.matmul")])
def test_an_unknown_module_is_hinted_at(target: str, hint: str) -> None:
    with pytest.raises(ArchlineError, match=f"did you mean `{hint}`") as error:
        load_target(target)
    assert codes(error) == ["AL001"]


def test_the_members_of_a_family_of_modules_are_named() -> None:
    with pytest.raises(ArchlineError, match=r"modules: `sort\.insertion_sort`, `sort\.lower_bound`") as error:
        load_target("sort")
    assert codes(error) == ["AL001"]


@pytest.mark.parametrize("target", ["", ".", "/", "no/such/file.algo", "a\0b.algo", "a\0b", "::", "::x", "x" * 5000])
def test_odd_targets_are_diagnosed(target: str) -> None:
    with pytest.raises(ArchlineError):
        load_target(target)


def test_use_looks_beside_the_file_and_in_the_standard_library(tmp_path: Path) -> None:
    write(tmp_path, "parts/one.algo", ONE)
    path = write(
        tmp_path,
        "main.algo",
        """
use parts.one
use dense.matmul

algorithm main(x: inout real[n], A: real[n, n], C: inout real[n, n]):
    one(x)
    matmul_basic(A, A, C)
""",
    )
    module = load_path(path)
    assert list(module.algorithms) == ["main"]
    assert {"main", "one", "matmul_basic"} <= set(module.visible)
    called = {target.name for target in module.targets.values()}
    assert {"one", "matmul_basic"} <= called
    assert all(target in module.signatures for target in module.targets.values())


def test_a_file_used_twice_is_loaded_once(tmp_path: Path) -> None:
    write(tmp_path, "base.algo", ONE)
    for side in ("left", "right"):
        write(tmp_path, f"{side}.algo", f"use base\n\nalgorithm {side}(x: inout real[n]):\n    one(x)\n")
    text = "use left\nuse right\n\nalgorithm top(x: inout real[n]):\n    left(x)\n    right(x)\n"
    module = load_path(write(tmp_path, "top.algo", text))
    assert len({target for target in module.targets.values() if target.name == "one"}) == 1
    assert "one" not in module.visible


def test_files_that_use_each_other(tmp_path: Path) -> None:
    write(tmp_path, "b.algo", "use a\n\nalgorithm g(x: real[n]):\n    pass\n")
    path = write(tmp_path, "a.algo", "use b\n\nalgorithm f(x: real[n]):\n    g(x)\n")
    with pytest.raises(ArchlineError, match=r"`a\.algo` uses `b\.algo` uses `a\.algo`") as error:
        load_path(path)
    assert codes(error) == ["AL210"]


def test_an_unknown_use_hides_no_other_finding_and_adds_none() -> None:
    text = "use dense.matmul_\n\nalgorithm f(x: real[n]):\n    unknown(x)\n    x[0] = 1\n"
    with pytest.raises(ArchlineError, match=r"did you mean `dense\.matmul`") as error:
        load_text(text)
    assert codes(error) == ["AL209", "AL240"]


def test_errors_in_a_used_file_are_reported_with_their_place(tmp_path: Path) -> None:
    write(tmp_path, "bad.algo", "algorithm g(x: real[n]):\n    x[0] = 1\n")
    path = write(tmp_path, "a.algo", "use bad\n\nalgorithm f(x: real[n]):\n    g(x)\n")
    with pytest.raises(ArchlineError) as error:
        load_path(path)
    assert codes(error) == ["AL240"]
    assert "bad.algo:2:5" in str(error.value)


def test_two_definitions_of_one_name(tmp_path: Path) -> None:
    write(tmp_path, "p.algo", ONE)
    write(tmp_path, "q.algo", ONE)
    for text in ("use p\n" + ONE, "use p\nuse q\n\nalgorithm f(x: real[n]):\n    pass\n", ONE + ONE):
        with pytest.raises(ArchlineError) as error:
            load_path(write(tmp_path, "a.algo", text))
        assert codes(error) == ["AL204"]


def test_a_file_without_an_algorithm() -> None:
    for text in ("", "# nothing\n", "extern g(a: real) -> real costs f flops\n"):
        with pytest.raises(ArchlineError) as error:
            load_text(text)
        assert codes(error) == ["AL109"]


def test_syntax_errors_and_findings_of_other_algorithms_come_together() -> None:
    text = """
algorithm broken(x: inout real[n]):
    x[0] = = 1
    y = 2

algorithm headless(x: real[n):
    pass

algorithm fine(x: inout real[n]):
    broken(x)
    headless(x)
    x[0] = z
"""
    with pytest.raises(ArchlineError) as error:
        load_text(text)
    assert codes(error) == ["AL101", "AL101", "AL201"]


def test_findings_are_capped() -> None:
    body = "".join(f"    x[0] = unknown{k}\n" for k in range(100))
    with pytest.raises(ArchlineError) as error:
        load_text("algorithm f(x: inout real[n]):\n" + body)
    assert len(error.value.diagnostics) == 20


def test_text_that_no_file_can_hold() -> None:
    with pytest.raises(ArchlineError) as error:
        load_text("algorithm f\ud800")
    assert codes(error) == ["AL006"]


def test_views_of_views_have_a_limit() -> None:
    lets = "".join(f"    let x{k + 1} = x{k}[: step 2]\n" for k in range(3000))
    with pytest.raises(ArchlineError) as error:
        load_text("algorithm f(x0: inout real[n]):\n" + lets)
    assert set(codes(error)) == {"AL105"}


@long
def test_sizes_that_double_do_not_double_the_work() -> None:
    lets = "".join(f"    let e{k + 1} = e{k} + e{k}\n" for k in range(60))
    text = "algorithm f(x: inout local real[n]) on grid(r: P):\n    let e0 = n\n" + lets
    load_text(text + "    shift x along r by e60\n")


def test_deep_programs_load() -> None:
    loops = "".join(" " * (k + 1) + f"for i{k} in 0..n:\n" for k in range(300))
    load_text("algorithm f(x: inout real[n]):\n" + loops + " " * 301 + "x[0] += 1\n")
    load_text("algorithm f(x: inout real[n]):\n    x[0] = " + "max(" * 190 + "x[0]" + ", 1)" * 190 + "\n")
    load_text("algorithm f(x: inout real[n]):\n    x[0] = " + "(" * 10_000 + "1" + ")" * 10_000 + "\n")


# Tables of the grammar are kept between processes, and nothing depends on whether they are


GRAMMAR = 'start: "a" [NAME] "b"\nNAME: /x+/\n'
OTHER = 'start: "a" [NAME] "c"\nNAME: /x+/\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where tables are kept."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "archline"


def test_tables_are_read_back(folder: Path) -> None:
    first = make_parser(GRAMMAR, parser="lalr", maybe_placeholders=True)
    (kept,) = folder.iterdir()
    written = kept.stat().st_mtime_ns
    again = make_parser(GRAMMAR, parser="lalr", maybe_placeholders=True)
    assert first.parse("axxb") == again.parse("axxb")
    assert first.parse("ab") == again.parse("ab")
    assert [each.stat().st_mtime_ns for each in folder.iterdir()] == [written]
    assert folder.stat().st_mode & 0o077 == 0


def test_other_grammars_and_options_have_other_tables(folder: Path) -> None:
    kept = make_parser(GRAMMAR, parser="lalr", maybe_placeholders=True)
    other = make_parser(OTHER, parser="lalr", maybe_placeholders=True)
    assert other.parse("axc") == kept.parse("axb")
    assert make_parser(GRAMMAR, parser="lalr", maybe_placeholders=False).parse("ab") != kept.parse("ab")
    assert len(list(folder.iterdir())) == 3


@pytest.mark.parametrize("text", [b"", b"no tables", None])
def test_a_file_that_is_damaged_is_written_anew(folder: Path, text: bytes | None) -> None:
    whole = make_parser(GRAMMAR, parser="lalr").parse("axb")
    (kept,) = folder.iterdir()
    good = kept.read_bytes()
    damaged = good[: len(good) // 2] if text is None else text
    kept.write_bytes(damaged)
    assert make_parser(GRAMMAR, parser="lalr").parse("axb") == whole
    assert kept.read_bytes() != damaged
    assert make_parser(GRAMMAR, parser="lalr").parse("axb") == whole


def test_nothing_is_kept_where_nothing_can_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("", encoding="utf-8")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    assert make_parser(GRAMMAR, parser="lalr").parse("axb").children == ["x"]
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", _nobody)
    assert make_parser(GRAMMAR, parser="lalr").parse("axb").children == ["x"]


@pytest.mark.parametrize("damage", [b"", b"no tables", None])
def test_tables_that_are_damaged_are_made_anew(folder: Path, damage: bytes | None) -> None:
    tables = load_tables.__wrapped__()
    (kept,) = folder.glob("tables-*")
    good = kept.read_bytes()
    kept.write_bytes(good[: len(good) // 2] if damage is None else damage)
    again = load_tables.__wrapped__()
    assert again.rows == tables.rows
    assert kept.read_bytes() == good


@pytest.mark.parametrize("module", list_stdlib_modules()[::6])
def test_texts_are_parsed_by_tables_as_with_lark(module: str) -> None:
    source = read_source(find_resource("stdlib") / f"{module.replace('.', '/')}.algo")
    for first, lines in split_items(source):
        text = "\n".join(lines) + "\n"
        by_tables = load_tables().parse(text, "start", TreeBuilder(source, first - 1))
        assert _show(by_tables) == _show(parse_with_lark(source, first, text))


def _show(value: object) -> object:
    """Show a node with its places."""
    if isinstance(value, tuple):
        return [_show(part) for part in value]
    if isinstance(value, Source) or not is_dataclass(value):
        return str(value)
    return type(value).__name__, [_show(getattr(value, part.name)) for part in fields(value)]


def _nobody() -> Path:
    raise RuntimeError("nobody is at home")
