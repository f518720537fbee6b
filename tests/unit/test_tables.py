"""Tables of the grammar are kept between processes, and nothing depends on whether they are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from archline.language.tables import parser_of

GRAMMAR = 'start: "a" [NAME] "b"\nNAME: /x+/\n'
OTHER = 'start: "a" [NAME] "c"\nNAME: /x+/\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where tables are kept."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "archline"


def test_tables_are_read_back(folder: Path) -> None:
    first = parser_of(GRAMMAR, parser="lalr", maybe_placeholders=True)
    (kept,) = folder.iterdir()
    written = kept.stat().st_mtime_ns
    again = parser_of(GRAMMAR, parser="lalr", maybe_placeholders=True)
    assert first.parse("axxb") == again.parse("axxb")
    assert first.parse("ab") == again.parse("ab")
    assert [each.stat().st_mtime_ns for each in folder.iterdir()] == [written]
    assert folder.stat().st_mode & 0o077 == 0


def test_other_grammars_and_options_have_other_tables(folder: Path) -> None:
    kept = parser_of(GRAMMAR, parser="lalr", maybe_placeholders=True)
    other = parser_of(OTHER, parser="lalr", maybe_placeholders=True)
    assert other.parse("axc") == kept.parse("axb")
    assert parser_of(GRAMMAR, parser="lalr", maybe_placeholders=False).parse("ab") != kept.parse("ab")
    assert len(list(folder.iterdir())) == 3


@pytest.mark.parametrize("text", [b"", b"no tables", None])
def test_a_file_that_is_damaged_is_written_anew(folder: Path, text: bytes | None) -> None:
    whole = parser_of(GRAMMAR, parser="lalr").parse("axb")
    (kept,) = folder.iterdir()
    good = kept.read_bytes()
    damaged = good[: len(good) // 2] if text is None else text
    kept.write_bytes(damaged)
    assert parser_of(GRAMMAR, parser="lalr").parse("axb") == whole
    assert kept.read_bytes() != damaged
    assert parser_of(GRAMMAR, parser="lalr").parse("axb") == whole


def test_nothing_is_kept_where_nothing_can_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("", encoding="utf-8")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    assert parser_of(GRAMMAR, parser="lalr").parse("axb").children == ["x"]
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", _nobody)
    assert parser_of(GRAMMAR, parser="lalr").parse("axb").children == ["x"]


def _nobody() -> Path:
    raise RuntimeError("nobody is at home")
