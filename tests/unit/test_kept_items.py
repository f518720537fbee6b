"""What did not change is not parsed or checked again: the results are those of a fresh load, wherever an item is."""

from __future__ import annotations

import random
import re
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import archline as al
from archline.expr.tree import Node, Source, Span, iterate_nodes
from archline.language.checking import programs
from archline.language.diagnostics import ArchlineError
from archline.language.incremental import LoadCache, use_load_cache
from archline.language.loader import load_text
from archline.language.model import Module
from archline.language.parser import ParseResult, clear_parsed_texts, parse
from archline.language.tables import ParseTables
from archline.records import fields
from archline.resources import find_resource
from archline.server.names import list_declarations
from effort import drawn

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


# Results of checks
def describe_value(value: Any, source: Source, numbers: dict[Node, int]) -> object:
    """Describe a fact as plain values: nodes of the program by their numbers, others by all that is in them."""
    match value:
        case Node() if value in numbers:
            return numbers[value]
        case Span():
            ends = value.line, value.column, value.end_line, value.end_column
            return value.source is source, value.source.path, ends, describe_value(value.header, source, numbers)
        case Node(span=span) if span.source is not source and type(value).__name__ in ("Algorithm", "Extern"):
            return span.source.path, value.name  # type: ignore[attr-defined]
        case dict():
            return [describe_value(item, source, numbers) for item in value.items()]
        case tuple():
            return [describe_value(part, source, numbers) for part in value]
        case frozenset():
            return sorted(map(str, value))
        case str() | int() | Enum() | None:
            return value
        case _:
            parts = (getattr(value, field.name) for field in fields(type(value)))
            return type(value).__name__, [describe_value(part, source, numbers) for part in parts]


FACTS = "types", "targets", "shapes", "bindings", "collectives", "agreements", "shortfalls", "signatures"


def describe_module(module: Module) -> object:
    """Describe the elaborated items with all spans, the facts about them, and what hovers say of names."""
    source = module.program.source
    numbers = {node: number for number, node in enumerate(iterate_nodes(module.program.items))}
    facts = [
        sorted(
            str(describe_value(entry, source, numbers))
            for entry in getattr(module, name).items()
            if entry[0].span.source is source
        )
        for name in FACTS
    ]
    names = [list_declarations(module, algorithm) for algorithm in module.algorithms.values()]
    sizes = [len(getattr(module, name)) for name in FACTS]
    return flatten(module.program.items, source), facts, sizes, describe_value(tuple(names), source, {})


def describe_load(text: str, path: Path) -> object:
    """Load a text, and describe the module or all findings."""
    try:
        return describe_module(al.loads(text, path=path).module)
    except ArchlineError as problem:
        return [
            (finding.render(), finding.safe, [(str(edit.span), edit.text) for edit in finding.edits])
            for finding in problem.diagnostics
        ]


def edit_text(text: str, source: random.Random) -> str:
    """Make a random edit, as authors do: of a line, a word, a number, a name, a header, or the order of algorithms."""
    lines, words = text.split("\n"), re.findall(r"\w+|[^\w\s]", text)
    number = source.randrange(len(lines))
    heads = [place for place, line in enumerate(lines) if line.startswith("algorithm ")]
    match source.choice(("add", "delete", "double", "type", "replace", "count", "rename", "claim", "move")):
        case "add":
            lines.insert(number, source.choice(("", "# a note", "    # a note")))
        case "delete":
            del lines[number]
        case "double":
            lines.insert(number, lines[number])
        case "type":
            column = source.randrange(len(lines[number]) + 1)
            end = column + source.randrange(2)
            lines[number] = lines[number][:column] + source.choice((" ", "1", *words)) + lines[number][end:]
        case "replace":
            lines[number] = re.sub(
                r"\w+", lambda word: source.choice(words) if source.random() < 0.2 else word[0], lines[number]
            )
        case "count":
            lines[number] = re.sub(r"\d+", lambda digits: str(int(digits[0]) + 1), lines[number])
        case "rename" if heads:
            names = [lines[head].split("(")[0].split()[1] for head in heads]
            name, new = source.choice(names), source.choice((*names, "renamed"))
            return re.sub(rf"\b{name}\b", new, text, count=source.randrange(2))
        case "claim" if heads:
            clause = source.choice(("where n >= 0", "where P >= 2", "ensures work <= 9*n", "ensures io <= n/L + Z"))
            lines.insert(source.choice(heads) + 1, f"    {clause}")
        case "move" if len(heads) > 1:
            first = source.randrange(len(heads) - 1)
            start, middle, end = (*heads, len(lines))[first : first + 3]
            lines[start:end] = lines[middle:end] + lines[start:middle]
    return "\n".join(lines)


def test_edited_texts_have_the_results_of_a_fresh_load(tmp_path: Path) -> None:
    source, cache, path = random.Random(3), LoadCache(), tmp_path / "edited.algo"
    for _ in range(drawn(150)):
        texts = [
            "\n\n".join(file.read_text(encoding="utf-8") for file in source.choices(FILES, k=source.choice((1, 2))))
        ]
        for _ in range(6):
            texts.append(edit_text(source.choice(texts[-3:]), source))
            clear_parsed_texts()
            expected = describe_load(texts[-1], path)
            with use_load_cache(cache):
                assert describe_load(texts[-1], path) == expected, texts[-1]


CALLED = "algorithm called(x: inout real[n]):\n    for i in 0..n:\n        x[i] = 7.0\n"
CALLS = "algorithm caller(y: inout real[m]):\n    called(y)\n"


def test_one_algorithm_and_its_callers_are_checked_after_an_edit(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    checked: list[str] = []
    whole = programs._check_algorithm

    def note_name(body: Any) -> None:
        checked.append(body.algorithm.name)
        whole(body)

    monkeypatch.setattr(programs, "_check_algorithm", note_name)
    text = f"use dense.gemv\n\n{FIRST}{CALLED}\n{CALLS}"
    with use_load_cache(LoadCache()):
        for edited, expected in (
            (text, ["first", "called", "caller"]),
            (f"# a note\n{text}", []),
            (text.replace("called(y)", "called(y)\n    called(y)"), ["caller"]),
            (text.replace("1.0", "2.0"), ["first"]),
            (text.replace("7.0", "8.0"), ["called", "caller"]),
            (text, []),
        ):
            checked.clear()
            al.loads(edited, path=tmp_path / "edited.algo")
            assert [name for name in checked if name in ("first", "called", "caller")] == expected
            assert edited is text or "gemv" not in checked


def test_a_call_is_reported_when_the_broken_header_of_its_callee_is_gone(tmp_path: Path) -> None:
    broken = CALLED.replace("(x: inout real[n])", "(x: inout")
    with use_load_cache(LoadCache()):
        found = []
        for text in (f"{CALLS}\n{broken}", CALLS):
            with pytest.raises(ArchlineError) as problem:
                al.loads(text, path=tmp_path / "edited.algo")
            found.append([diagnostic.code for diagnostic in problem.value.diagnostics])
    assert found == [["AL101"], ["AL202"]]


def test_files_that_are_used_are_read_again_if_they_changed(tmp_path: Path) -> None:
    for name, text in (("low", CALLED), ("high", f"use low\n\n{CALLS}"), ("side", "use high\nuse low\n" + FIRST)):
        (tmp_path / f"{name}.algo").write_text(text, encoding="utf-8")
    main = "use side\nuse high\n\nalgorithm main(z: inout real[k]):\n    caller(z)\n"
    with use_load_cache(LoadCache()):
        modules = [al.loads(main, path=tmp_path / "main.algo").module for _ in range(2)]
        assert modules[0].visible["caller"] is modules[1].visible["caller"]
        (tmp_path / "low.algo").write_text(
            CALLED.replace("x: inout real[n]", "x: inout real[n], k: size"), encoding="utf-8"
        )
        with pytest.raises(ArchlineError, match="takes 2 arguments"):
            al.loads(main, path=tmp_path / "main.algo")
        (tmp_path / "low.algo").write_text("use main\n" + CALLED, encoding="utf-8")
        (tmp_path / "main.algo").write_text(main, encoding="utf-8")
        with pytest.raises(ArchlineError, match="use each other"):
            al.load(tmp_path / "main.algo")
