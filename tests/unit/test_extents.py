"""The span of a block covers its header and its body; its head is the header, which messages show."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import archline as al
from archline.expr.tree import Source, Span
from archline.language import surface
from archline.language import syntax as s
from archline.language.loader import load_text
from archline.language.parser import parse_program
from archline.language.source import read_source
from archline.report.view import SourcePlace
from archline.resources import find_resource

TEXT = """\
algorithm f(a: inout int[n], b: int[n]) -> int:  # a comment
    ensures work <= 100*n  # another
    local c: int = 0
    for i in 0..n:
        if a[i] == 0:
            c += 1  # counted

        elif b[i] == 1:
            c += 2
        else:
            a[i] = min(c,
                       2)
    # after the loop

    repeat:
        c -= 1
    until (c < 1)

    return c

# below
type t: x: int, y: real
algorithm g(x: inout real[n]) on grid (p: 4):
    split p by 2 as h:
        for v in x:
            pass; pass
"""
BLOCKS = s.Algorithm | s.Loop | s.While | s.If | s.Branch | s.Split | surface.LoopOver | surface.RecordDefinition


def list_ends(span: Span) -> tuple[int, int, int, int]:
    return span.line, span.column, span.end_line, span.end_column


def find_blocks(text: str) -> list[tuple[str, tuple[int, int, int, int], tuple[int, int, int, int]]]:
    program = parse_program(Source("f.algo", text))
    return [
        (type(node).__name__, list_ends(node.span), list_ends(node.head))
        for node in s.iterate_nodes(program.items)
        if isinstance(node, BLOCKS)
    ]


def test_blocks_end_with_their_last_statements() -> None:
    assert find_blocks(TEXT) == [
        ("Algorithm", (1, 1, 19, 13), (1, 1, 1, 61)),
        ("Loop", (4, 5, 12, 26), (4, 5, 4, 19)),
        ("If", (5, 9, 12, 26), (5, 9, 5, 22)),
        ("Branch", (5, 9, 6, 19), (5, 9, 5, 22)),
        ("Branch", (8, 9, 9, 19), (8, 9, 8, 24)),
        ("Branch", (10, 9, 12, 26), (10, 9, 10, 14)),
        ("While", (15, 5, 17, 18), (15, 5, 15, 12)),
        ("RecordDefinition", (22, 1, 22, 24), (22, 1, 22, 24)),
        ("Algorithm", (23, 1, 26, 23), (23, 1, 23, 46)),
        ("Split", (24, 5, 26, 23), (24, 5, 24, 23)),
        ("LoopOver", (25, 9, 26, 23), (25, 9, 25, 20)),
    ]


def test_a_contract_ends_with_its_formula() -> None:
    (ensures,) = s.find_nodes(parse_program(Source("f.algo", TEXT)).items, s.Ensures)
    assert list_ends(ensures.span) == (2, 5, 2, 26) == list_ends(ensures.head)


def test_places_of_blocks_are_those_of_headers() -> None:
    loop = next(s.find_nodes(parse_program(Source("f.algo", TEXT)).items, s.Loop))
    assert SourcePlace.of(loop.span) == SourcePlace("f.algo", 4, 5, 4, 19)
    assert loop.span.text == "for i in 0..n:"


def test_messages_underline_headers_alone() -> None:
    text = "algorithm f(x: inout real[n], i: size):\n    for i in 0..n:\n        x[i] = 1\n"
    with pytest.raises(al.ArchlineError) as problem:
        load_text(text)
    (diagnostic,) = problem.value.diagnostics
    assert diagnostic.render().split("\n")[1:3] == ["    2 |     for i in 0..n:", "      |     ^^^^^^^^^^^^^^"]
    assert diagnostic.span is not None
    assert list_ends(diagnostic.span) == (2, 5, 2, 19)


def test_rewritten_blocks_keep_their_extents() -> None:
    text = """\
algorithm first(x: int[n], y: int) -> int:
    for v in x:
        if v == y:
            return 1
        y += 1
    return 0
"""
    (algorithm,) = load_text(text).algorithms.values()
    (loop,) = s.find_nodes(algorithm.body, s.Loop)
    element = loop.body[0]
    assert list_ends(loop.span) == (2, 5, 5, 15)
    assert isinstance(element, s.Local)
    assert list_ends(element.span) == (2, 5, 2, 16)
    # What follows an exit is in a branch of its own.
    branches = [list_ends(branch.span) for branch in s.find_nodes(algorithm.body, s.Branch)]
    assert branches == [(3, 9, 4, 21), (5, 9, 5, 15), (6, 5, 6, 13)]


FILES = sorted(
    path
    for folder in ("stdlib", "textbook")
    for path in find_resource("stdlib").parent.joinpath(folder).rglob("*.algo")
)


@given(st.sampled_from(FILES), st.data())
def test_blocks_of_the_library(path: object, data: st.DataObject) -> None:
    source = read_source(path)  # type: ignore[arg-type]
    blocks = [node for node in s.iterate_nodes(parse_program(source).items) if isinstance(node, BLOCKS)]
    if not blocks:
        return
    block = data.draw(st.sampled_from(blocks))
    line, column, end_line, end_column = list_ends(block.span)
    for node in s.iterate_nodes(block):
        first, start, last, end = list_ends(node.span)
        assert (line, column) <= (first, start)
        assert (last, end) <= (end_line, end_column)
    match block:
        case s.If(branches=parts) | surface.RecordDefinition(fields=parts):
            ending: s.Node = parts[-1]
        case s.While(condition=s.Unary(operand=ending), tests_last=True) | s.While(condition=ending, tests_last=True):
            pass
        case _:
            ending = block.body[-1]
    # Brackets around a condition are outside of its span.
    behind = source.lines[ending.span.end_line - 1][ending.span.end_column - 1 : end_column - 1]
    assert (ending.span.end_line, behind.strip(") ")) == (end_line, "")
    header = source.lines[line - 1].rstrip()
    assert list_ends(block.head) == (line, column, line, len(header) + 1)
