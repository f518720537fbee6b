"""Completions of a line are words and snippets of the language, names in scope, and algorithms of the library."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from lsprotocol import types as t

from archline.api.texts import list_library_entries
from archline.language.highlighting import TYPES
from archline.language.lark_parser import ITEM_WORDS, STATEMENT_WORDS
from archline.language.loader import list_stdlib_modules
from archline.language.metrics import CLAIMABLE
from archline.language.parser import CLAUSE_WORDS
from archline.language.words import INTRINSICS
from archline.report.library import LibraryEntry
from archline.server.documents import Analysis
from archline.server.names import format_signature, list_callees, list_declarations

SNIPPETS = {
    "algorithm": 'algorithm ${1:name}(${2:x}: ${3:inout} real[${4:n}]):\n    "${5:What it does.}"\n    $0',
    "extern": "extern ${1:name}(${2:x}: real) -> ${3:real} costs ${4:1} ${5:flops}",
    "for": "for ${1:i} in ${2:0}..${3:n}:\n    $0",
    "parallel": "parallel for ${1:i} in ${2:0}..${3:n}:\n    $0",
    "while": "while ${1:condition} at most ${2:n} times:\n    $0",
    "if": "if ${1:condition}:\n    $0",
    "local": "local ${1:s}: ${2:real} = ${3:0}",
}
_ITEMS = (*ITEM_WORDS, "use")
_STATEMENTS = tuple(dict.fromkeys((*CLAUSE_WORDS, *(word for word in STATEMENT_WORDS if word not in _ITEMS))))


def list_completions(analysis: Analysis, line: int, before: str) -> list[t.CompletionItem]:
    """Return the completions behind a text, that of a line, from 1, up to the cursor."""
    kind = t.CompletionItemKind
    if re.match(r"use\s+[\w.]*$", before):
        folder = sorted(file.stem for file in Path(analysis.path).absolute().parent.glob("*.algo"))
        return [t.CompletionItem(name, kind=kind.Module) for name in (*list_stdlib_modules(), *folder)]
    if re.match(r"\s+ensures\s+\w*$", before):
        return [t.CompletionItem(name, kind=kind.Property) for name in CLAIMABLE]
    if re.match(r"\w*$", before):
        return list(_iterate_words(_ITEMS))
    if re.search(r"\w\s*:\s*\w*$", before):
        return list(_iterate_words(TYPES))
    begins = re.match(r"\s*\w*$", before) is not None
    return [
        *_iterate_words(_STATEMENTS if begins else ()),
        *_iterate_names(analysis, line),
        *_iterate_library(analysis),
    ]


def _iterate_words(words: tuple[str, ...]) -> Iterator[t.CompletionItem]:
    """Yield the words, with a snippet where there is one."""
    for word in words:
        kind = t.CompletionItemKind.Snippet if word in SNIPPETS else t.CompletionItemKind.Keyword
        form = t.InsertTextFormat.Snippet if word in SNIPPETS else None
        yield t.CompletionItem(word, kind=kind, insert_text=SNIPPETS.get(word), insert_text_format=form)


def _iterate_names(analysis: Analysis, line: int) -> Iterator[t.CompletionItem]:
    """Yield the names of the algorithm around a line, what the file defines and uses, and intrinsic functions."""
    module, kind = analysis.latest, t.CompletionItemKind
    if module is not None:
        for name, declaration in list_declarations(module, analysis.find_algorithm(line)).items():
            yield t.CompletionItem(name, kind=kind.Variable, detail=declaration.text)
        for name, callee in list_callees(module).items():
            yield t.CompletionItem(name, kind=kind.Function, detail=format_signature(callee))
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
            detail, kind = f"{entry.module}: {format_signature(entry.algorithm)}", t.CompletionItemKind.Function
            yield t.CompletionItem(
                entry.name, kind=kind, detail=detail, documentation=entry.summary, additional_text_edits=[edit]
            )
