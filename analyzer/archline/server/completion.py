"""Completions of a line are found here: words and snippets of the language, names in scope, and the library."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from lsprotocol import types as t

from archline.api.texts import list_library_entries
from archline.language import syntax as s
from archline.language.lark_parser import ITEM_WORDS, STATEMENT_WORDS
from archline.language.loader import list_stdlib_modules
from archline.language.metrics import CLAIMABLE
from archline.language.parser import CLAUSE_WORDS
from archline.language.words import INTRINSICS
from archline.report.library import LibraryEntry
from archline.server.documents import Analysis
from archline.server.names import format_signature, list_declarations

ITEM_SNIPPETS = {
    "algorithm": 'algorithm ${1:name}(${2:x}: ${3:inout} real[${4:n}]):\n    "${5:What it does.}"\n    $0',
    "extern": "extern ${1:name}(${2:x}: real) -> ${3:real} costs ${4:1} ${5:flops}",
}
STATEMENT_SNIPPETS = {
    "for": "for ${1:i} in ${2:0}..${3:n}:\n    $0",
    "parallel": "parallel for ${1:i} in ${2:0}..${3:n}:\n    $0",
    "while": "while ${1:condition} at most ${2:n} times:\n    $0",
    "if": "if ${1:condition}:\n    $0",
    "local": "local ${1:s}: ${2:real} = ${3:0}",
}
_TYPES = ("real", "int", "size", "index", "offsets", "in", "out", "inout")


def list_completions(analysis: Analysis, line: int, before: str) -> list[t.CompletionItem]:
    """Return the completions behind a text, that of a line, from 1, up to the cursor."""
    kind = t.CompletionItemKind
    if re.match(r"\s*use\s+[\w.]*$", before):
        folder = sorted(file.stem for file in Path(analysis.path).absolute().parent.glob("*.algo"))
        return [t.CompletionItem(name, kind=kind.Module) for name in dict.fromkeys((*list_stdlib_modules(), *folder))]
    if re.match(r"\s*ensures\s+\w*$", before):
        return [t.CompletionItem(name, kind=kind.Property) for name in CLAIMABLE]
    if re.match(r"\w*$", before):
        return list(_iterate_words((*ITEM_WORDS, "use"), ITEM_SNIPPETS))
    if re.search(r":\s*\w*$", before):
        return [t.CompletionItem(name, kind=kind.Keyword) for name in _TYPES]
    begins = re.match(r"\s*(spawn\s+)?\w*$", before) is not None
    words = _iterate_words((*CLAUSE_WORDS, *STATEMENT_WORDS), STATEMENT_SNIPPETS) if begins else ()
    return [*words, *_iterate_names(analysis, line), *_iterate_library(analysis)]


def _iterate_words(words: tuple[str, ...], snippets: dict[str, str]) -> Iterator[t.CompletionItem]:
    """Yield the words, those that begin a block with a snippet."""
    for word in dict.fromkeys(words):
        snippet = snippets.get(word)
        kind = t.CompletionItemKind.Snippet if snippet else t.CompletionItemKind.Keyword
        form = t.InsertTextFormat.Snippet if snippet else None
        yield t.CompletionItem(word, kind=kind, insert_text=snippet, insert_text_format=form)


def _iterate_names(analysis: Analysis, line: int) -> Iterator[t.CompletionItem]:
    """Yield the names of the algorithm around a line, what the file defines and uses, and intrinsic functions."""
    module, algorithm, kind = analysis.latest, analysis.find_algorithm(line), t.CompletionItemKind
    if module is not None:
        for name, declaration in list_declarations(module, algorithm).items() if algorithm is not None else ():
            yield t.CompletionItem(name, kind=kind.Variable, detail=declaration.text)
        callees: list[s.Algorithm | s.Extern] = [*module.visible.values(), *module.externs.values()]
        for node in callees:
            yield t.CompletionItem(node.name, kind=kind.Function, detail=format_signature(node))
    for name in INTRINSICS:
        yield t.CompletionItem(name, kind=kind.Function, detail="intrinsic function")


@cache
def _list_library() -> tuple[LibraryEntry, ...]:
    return list_library_entries(()).entries


def _iterate_library(analysis: Analysis) -> Iterator[t.CompletionItem]:
    """Yield the algorithms of the library that the file does not use, each with the edit that uses its module."""
    visible = {} if analysis.latest is None else analysis.latest.visible
    for entry in _list_library():
        if entry.name not in visible and "." not in entry.name:
            edit = t.TextEdit(t.Range(t.Position(0, 0), t.Position(0, 0)), f"use {entry.module}\n")
            yield t.CompletionItem(
                entry.name,
                kind=t.CompletionItemKind.Function,
                detail=f"{entry.module}: {format_signature(entry.algorithm)}",
                documentation=entry.summary or None,
                additional_text_edits=[edit],
            )
