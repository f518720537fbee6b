"""The edits that diagnostics propose are applied to a text here."""

from __future__ import annotations

from collections.abc import Iterable

from archline.expr.tree import Source, Span
from archline.language.diagnostics import Diagnostic, Edit


def collect_safe_edits(diagnostics: Iterable[Diagnostic], source: Source) -> tuple[Edit, ...]:
    """Return the edits of a source that can be applied without a question, each once."""
    edits = (edit for diagnostic in diagnostics if diagnostic.safe for edit in diagnostic.edits)
    return tuple(dict.fromkeys(edit for edit in edits if edit.span.source == source))


def select_edits(edits: Iterable[Edit]) -> tuple[Edit, ...]:
    """Return the edits that can be applied together: of those that overlap the first, in the order of the text."""
    chosen: list[Edit] = []
    for edit in edits:
        start, end = _get_ends(edit.span)
        taken = (_get_ends(other.span) for other in chosen)
        # Two insertions at one place overlap too.
        if all(end <= first or last <= start for first, last in taken if (first, last) != (start, end)) and not any(
            _get_ends(other.span) == (start, end) for other in chosen
        ):
            chosen.append(edit)
    return tuple(sorted(chosen, key=lambda edit: _get_ends(edit.span)))


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Return the text with the edits made; lines may end in any way, and new ones end as the first line does."""
    starts, end = [0], "\n"
    for at, character in enumerate(text):
        if character == "\n" or (character == "\r" and text[at + 1 : at + 2] != "\n"):
            starts.append(at + 1)
    if len(starts) > 1:
        end = "\r\n" if text[: starts[1]].endswith("\r\n") else text[starts[1] - 1]
    for edit in reversed(select_edits(edits)):
        first, last = (starts[line - 1] + column - 1 for line, column in _get_ends(edit.span))
        text = text[:first] + edit.text.replace("\n", end) + text[last:]
    return text


def _get_ends(span: Span) -> tuple[tuple[int, int], tuple[int, int]]:
    return (span.line, span.column), (span.end_line, span.end_column)
