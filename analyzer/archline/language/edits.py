"""The edits that diagnostics propose are applied to a text here."""

from __future__ import annotations

from collections.abc import Iterable

from archline.expr.tree import Source, Span
from archline.language.diagnostics import Diagnostic, Edit


def choose_edits(diagnostics: Iterable[Diagnostic], source: Source) -> tuple[Edit, ...]:
    """Return edits of a source that do not overlap; each diagnostic contributes all of its edits or none."""
    chosen: dict[Edit, None] = {}
    for diagnostic in diagnostics:
        edits = select_edits(edit for edit in diagnostic.edits if edit.span.source == source)
        new = [edit for edit in edits if edit not in chosen]
        if not any(_is_overlapping(edit, other) for edit in new for other in chosen):
            chosen |= dict.fromkeys(new)
    return tuple(sorted(chosen, key=_get_ends))


def select_edits(edits: Iterable[Edit]) -> tuple[Edit, ...]:
    """Return edits that do not overlap, in the order of the text; of overlapping ones the first is taken."""
    chosen: list[Edit] = []
    for edit in edits:
        if not any(_is_overlapping(edit, other) for other in chosen):
            chosen.append(edit)
    return tuple(sorted(chosen, key=_get_ends))


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Return the text with the edits made; lines may end in any way, and new ones end as the first line does."""
    starts, end = [0], "\n"
    # A range may end behind the last line, at the beginning of one that would follow.
    for at, character in enumerate(text):
        if character == "\n" or (character == "\r" and text[at + 1 : at + 2] != "\n"):
            starts.append(at + 1)
    if len(starts) > 1:
        end = "\r\n" if text[: starts[1]].endswith("\r\n") else text[starts[1] - 1]
    for edit in reversed(select_edits(edits)):
        ends = _get_ends(edit)
        first, last = (starts[line - 1] + column - 1 if line <= len(starts) else len(text) for line, column in ends)
        text = text[:first] + edit.text.replace("\n", end) + text[last:]
    return text


def _is_overlapping(edit: Edit, other: Edit) -> bool:
    """Whether two edits replace common text, or insert at the same place, so that their order would be arbitrary."""
    (start, end), (first, last) = _get_ends(edit), _get_ends(other)
    return (start, end) == (first, last) or (start < last and first < end)


def _get_ends(edit: Edit) -> tuple[tuple[int, int], tuple[int, int]]:
    span: Span = edit.span
    return (span.line, span.column), (span.end_line, span.end_column)
