"""Comments `# archline: ignore AL602` are suppressions: findings of a check that its author has seen and accepts."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator

from archline.language import syntax as s
from archline.records import record

# Text after the codes is prose.
_COMMENT = re.compile(r"#\s*archline:\s*ignore\b((?:[,\s]*\bAL\w*\d\w*)*).*", re.IGNORECASE)


@record
class Suppression:
    """A comment that suppresses findings: those with `codes` in claims that start at the lines `claims`.

    On the header of an algorithm it suppresses those in the whole `algorithm`, which is empty otherwise.
    """

    codes: tuple[str, ...]
    line: int
    column: int
    claims: tuple[int, ...] = ()
    algorithm: str = ""
    alone: bool = False
    """Whether the comment has a line of its own, where it suppresses nothing."""

    def covers_finding(self, code: str, algorithm: str, line: int) -> bool:
        """Whether a finding with `code` at a line of an algorithm (empty for claims of the file) is suppressed."""
        return code in self.codes and (line in self.claims or (self.algorithm != "" and self.algorithm == algorithm))


def list_suppressions(program: s.Program, algorithms: Container[str], *, whole: bool) -> tuple[Suppression, ...]:
    """Return the suppressions of a program, in order: all of the file if `whole`, else those in `algorithms`."""
    return tuple(_iterate_suppressions(program, algorithms, whole))


def _iterate_suppressions(program: s.Program, algorithms: Container[str], whole: bool) -> Iterator[Suppression]:
    for comment in program.comments:
        match = _COMMENT.fullmatch(comment.text)
        item = next((candidate for candidate in reversed(program.items) if candidate.span.line <= comment.line), None)
        inside = isinstance(item, s.Algorithm) and item.name in algorithms
        if match is not None and (whole or inside):
            codes = tuple(re.findall(r"\w+", match[1].upper()))
            claims, algorithm = ((), "") if comment.alone or item is None else _find_targets(comment.line, item)
            yield Suppression(codes, comment.line, comment.column, claims, algorithm, comment.alone)


def _find_targets(line: int, item: s.Item) -> tuple[tuple[int, ...], str]:
    """Return the first lines of the claims in an item that cover a line, and its name if the line is in its header."""
    match item:
        case s.Algorithm(name=name, ensures=ensures):
            # All lines after the header are separate from it.
            first = min(node.span.line for node in (*item.where, *ensures, *item.decreases, *item.body))
            return _find_claim_lines(line, ensures), name if line < first else ""
        case s.Claim():
            return _find_claim_lines(line, (item,)), ""
        case _:
            return (), ""


def _find_claim_lines(line: int, claims: Iterable[s.Ensures | s.Claim]) -> tuple[int, ...]:
    """Return the first lines of the claims that cover a line."""
    return tuple(claim.span.line for claim in claims if claim.span.line <= line <= claim.span.end_line)
