"""What is read by hand is what the grammar says, at the same places."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archline.expr.tree import Source, Span
from archline.language import parser, plain
from archline.language import syntax as s
from archline.language.builder import RESERVED

NAMES = st.sampled_from(["n", "m", "x1", "pi", "log2", "max", "stepped", "Z"])
ATOMS = st.one_of(NAMES, st.integers(0, 999).map(str))


def _larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    operators = st.sampled_from(["+", " - ", "*", " * ", "/", "//", "%", "^", " ^  "])
    return st.one_of(
        st.tuples(inner, operators, inner).map("".join),
        inner.map("({})".format),
        inner.map("- {}".format),
        st.tuples(NAMES, st.lists(inner, min_size=1, max_size=3)).map(lambda each: f"{each[0]} ({', '.join(each[1])})"),
    )


TEXTS = st.recursive(ATOMS, _larger, max_leaves=12)
COMPARED = st.tuples(TEXTS, st.sampled_from(["<", "<=", " == ", " != ", " >= ", ">"]), TEXTS).map("".join)


def _told(node: Any) -> Any:
    """A tree with its places."""
    if isinstance(node, tuple):
        return tuple(map(_told, node))
    if isinstance(node, Span):
        return node.line, node.column, node.end_line, node.end_column, node.source
    if not isinstance(node, s.Node):
        return node
    return type(node), *(_told(getattr(node, each.name)) for each in fields(node))


def _by_grammar(source: Source, start: str) -> Any:
    return parser._attempt(source, 1, source.text + "\n", start)


@given(TEXTS)
def test_expressions(text: str) -> None:
    source = Source("<expression>", text)
    found = plain.expression(source)
    assert found is not None
    assert _told(found) == _told(_by_grammar(source, "expression"))


@given(st.lists(COMPARED, min_size=1, max_size=3).map(", ".join))
def test_facts(text: str) -> None:
    source = Source("<facts>", text)
    found = plain.facts(source)
    assert found is not None
    assert _told(found) == _told(_by_grammar(source, "fact_list"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "(",
        "n +",
        "2n",
        "1.5",
        "1e5",
        "n m",
        "n # more",
        "f()",
        "a[1]",
        "(n < 2)",
        "n == m",
        "+n",
        "n\n+ 1",
        "n,",
        '"n"',
    ],
)
def test_others_are_left_to_the_grammar(text: str) -> None:
    assert plain.expression(Source("<expression>", text)) is None


@pytest.mark.parametrize("text", ["n", "n < m < p", "n <= 2,", "n is power of 2", "not n < 2", "n < 2 and m < 2"])
def test_other_facts_are_left_to_the_grammar(text: str) -> None:
    assert plain.facts(Source("<facts>", text)) is None


@pytest.mark.parametrize("word", sorted(RESERVED - {"pi"} - plain.INTRINSICS.keys()))
def test_words_of_the_language_are_no_names(word: str) -> None:
    assert plain.expression(Source("<expression>", f"{word} + 1")) is None


def test_deep_and_long_ones_are_left_to_the_grammar() -> None:
    assert plain.expression(Source("<expression>", "-" * 300 + "n")) is None
    assert plain.expression(Source("<expression>", "1" * 2_000)) is None
