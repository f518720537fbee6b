"""An item whose text did not change is not parsed again: the tree is that of a fresh parse, wherever the item stands."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import archline as al
from archline.expr.tree import Node, Source, Span, iterate_nodes
from archline.language.loader import load_text
from archline.language.parser import ParseResult, clear_parsed_texts, parse
from archline.language.tables import ParseTables
from archline.resources import find_resource

LIBRARY = find_resource("stdlib")
FILES = sorted((*LIBRARY.rglob("*.algo"), *(LIBRARY.parent / "textbook").glob("*.algo")))
EDITS = (" ", "1", "x", "(", "\n", "\n\n", "# a\n", ":", "=", "\t", '"', "{", "//", "use a\n", "algorithm ")


def parse_afresh(source: Source) -> ParseResult:
    """Parse a text without what other texts have left."""
    clear_parsed_texts()
    return parse(source)


def flatten(value: object, source: Source) -> object:
    """Return a part of a program as text and numbers: all fields of all nodes, and the ends and the source of spans."""
    if isinstance(value, Span):
        ends = value.line, value.column, value.end_line, value.end_column
        return value.source is source, ends, flatten(value.header, source)
    if isinstance(value, Node):
        fields = [getattr(value, name) for name in type(value).__match_args__]
        return type(value).__name__, flatten(value.span, source), flatten(tuple(fields), source)
    if isinstance(value, tuple):
        return tuple(flatten(part, source) for part in value)
    return value


def describe(text: str, *, afresh: bool) -> object:
    """Parse a text, and describe the items, the comments and the diagnostics."""
    source = Source("f.algo", text)
    result = (parse_afresh if afresh else parse)(source)
    program = result.program
    items = flatten(program.items, program.source)
    return items, program.comments, program.broken, [problem.render() for problem in result.diagnostics]


@given(st.sampled_from(FILES), st.data())
def test_edited_texts_have_the_trees_of_a_fresh_parse(path: Path, data: st.DataObject) -> None:
    text = path.read_text(encoding="utf-8")
    edited = text
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(edited)))
        end = min(len(edited), start + data.draw(st.integers(0, 3)))
        edited = edited[:start] + data.draw(st.sampled_from(EDITS)) + edited[end:]
    expected = describe(edited, afresh=True)
    describe(text, afresh=True)
    assert describe(edited, afresh=False) == expected
    # And the other way round: what the edited text has left is no part of the original.
    assert describe(text, afresh=False) == describe(text, afresh=True)


FIRST = "algorithm first(x: inout real[n]):\n    for i in 0..n:\n        x[i] = 1.0\n\n"
SECOND = "algorithm second(x: inout real[n]):\n    repeat 3 times:\n        x[0] = 2.0\n"


def test_one_item_is_parsed_after_an_edit(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    whole = ParseTables.parse

    def note_text(self: ParseTables, text: str, *arguments: object) -> object:
        parsed.append(text)
        return whole(self, text, *arguments)  # type: ignore[arg-type]

    parse_afresh(Source("a.algo", FIRST + FIRST.replace("first", "other")))
    monkeypatch.setattr(ParseTables, "parse", note_text)
    edited = FIRST.replace("first", "other").replace("1.0", "1.5")
    program = parse(Source("b.algo", f"# above\n\n{FIRST}{edited}")).program
    assert [text.rstrip() for text in parsed] == [edited.rstrip()]
    first, other = program.algorithms
    assert (str(first.span), first.span.end_line, str(first.body[0].head)) == ("b.algo:3:1", 5, "b.algo:4:5")
    assert str(other.span) == "b.algo:7:1"


def test_programs_with_equal_items_share_no_nodes() -> None:
    one, two = (parse(Source("f.algo", FIRST)).program for _ in range(2))
    assert not set(iterate_nodes(one.items)) & set(iterate_nodes(two.items))


def test_names_that_are_free_in_the_file_are_chosen_anew() -> None:
    # The variable of `repeat` is no word of the file.
    assert load_text(SECOND).algorithms["second"].body[0].variable == "i"  # type: ignore[union-attr]
    assert load_text(FIRST + SECOND).algorithms["second"].body[0].variable == "j"  # type: ignore[union-attr]


def test_mistakes_are_found_each_time() -> None:
    text = FIRST + "algorithm wrong(n: size):\n    x = = 3\n"
    found = []
    for above in ("", "# a comment\n"):
        with pytest.raises(al.ArchlineError) as problem:
            al.loads(above + text)
        found.append([diagnostic.place for diagnostic in problem.value.diagnostics])
    assert found == [["<text>:6:9"], ["<text>:7:9"]]
