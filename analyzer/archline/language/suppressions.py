"""Comments `# archline: ignore AL602`: which findings of a check its author has seen and accepts."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator

from archline.language import syntax as s
from archline.records import record

# What follows the codes is prose.
_COMMENT = re.compile(r"#\s*archline:\s*ignore\b((?:[,\s]*\bAL\w*\d\w*)*).*", re.IGNORECASE)


@record
class Suppression:
    """What the comment at a line and column ignores: findings of `codes` in claims that start at the lines `claims`.

    Behind the header of an algorithm it ignores those of the whole `algorithm`, which is else empty.
    """

    codes: tuple[str, ...]
    line: int
    column: int
    claims: tuple[int, ...] = ()
    algorithm: str = ""
    alone: bool = False
    """Whether it has a line of its own, where it ignores nothing."""

    def covers(self, code: str, algorithm: str, line: int) -> bool:
        """Whether a finding in an algorithm, empty for claims of the file, at a line is ignored."""
        return code in self.codes and (line in self.claims or (self.algorithm != "" and self.algorithm == algorithm))


def suppressions(program: s.Program, algorithms: Container[str], *, whole: bool) -> tuple[Suppression, ...]:
    """Those of a program, in order; without `whole` only those that stand in one of the `algorithms`."""
    return tuple(_found(program, algorithms, whole))


def _found(program: s.Program, algorithms: Container[str], whole: bool) -> Iterator[Suppression]:
    for comment in program.comments:
        match = _COMMENT.fullmatch(comment.text)
        item = next((each for each in reversed(program.items) if each.span.line <= comment.line), None)
        inside = isinstance(item, s.Algorithm) and item.name in algorithms
        if match is not None and (whole or inside):
            codes = tuple(re.findall(r"\w+", match[1].upper()))
            claims, algorithm = ((), "") if comment.alone or item is None else _about(comment.line, item)
            yield Suppression(codes, comment.line, comment.column, claims, algorithm, comment.alone)


def _about(line: int, item: s.Item) -> tuple[tuple[int, ...], str]:
    """The first lines of the claims of an item that a line belongs to, and the algorithm whose header it belongs to."""
    match item:
        case s.Algorithm(name=name, ensures=ensures):
            # All that follows the header stands on lines of its own.
            first = min(each.span.line for each in (*item.where, *ensures, *item.decreases, *item.body))
            return _at(line, ensures), name if line < first else ""
        case s.Claim():
            return _at(line, (item,)), ""
        case _:
            return (), ""


def _at(line: int, claims: Iterable[s.Ensures | s.Claim]) -> tuple[int, ...]:
    """The first lines of those that a line belongs to: a claim ends with its last formula, before the next line."""
    return tuple(
        each.span.line
        for each in claims
        if each.span.line <= line <= max(part.span.end_line for part in s.nodes(each) if part is not each)
    )
