"""The longest path of a run on a grid: what each statement adds, then the processors that it goes through."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import groupby
from typing import Any

from archline.energy.units import format_si
from archline.execution.traced_paths import TIME, PathPiece
from archline.records import record
from archline.report.layout import table, wrap
from archline.report.numbers import exact
from archline.report.view import Place

MOST = 20
"""Pieces of the path that are listed."""


@record(slots=True)
class ExecutedPath:
    """The longest path of a run in a metric, or in the time."""

    metric: str
    pieces: tuple[PathPiece, ...]

    @property
    def total(self) -> int | Fraction:
        """What the pieces add up to: what the run counts."""
        return sum(each.amount for each in self.pieces)


def text(path: ExecutedPath, width: int) -> list[str]:
    """How much each statement adds, and the pieces in order, those that are equal and follow on each other as one."""
    total = path.total
    if not total:
        return [f"critical path of the {path.metric}: nothing"]
    count = f"{len(path.pieces)} step{'s' * (len(path.pieces) != 1)}"
    lines = wrap(f"critical path of the {path.metric}: {_amount(path, total)} in {count}", width)
    lines += ["", *table([["line", "statement", "steps", path.metric, "share"], *_shares(path)], width, right=RIGHT)]
    rows = list(_steps(path))
    head = ["processor", "", "line", "statement", path.metric, ""]
    lines += ["", *table([head, *rows[:MOST]], width, right=frozenset((2, 4)))]
    if len(rows) > MOST:
        lines.append(f"and {len(rows) - MOST} more rows: --format json has all")
    if any(each.called for each in path.pieces):
        lines += ["", *wrap(INSIDE, width)]
    return lines


INSIDE = "steps inside a call or a collective operation stand at its line; --format json has theirs"
RIGHT = frozenset((0, 2, 3, 4))


def _shares(path: ExecutedPath) -> Iterator[list[str]]:
    """The statements by what they add in all."""
    found: dict[tuple[str, str], list[PathPiece]] = {}
    for each in path.pieces:
        found.setdefault(_statement(each), []).append(each)
    sums = {key: sum(each.amount for each in pieces) for key, pieces in found.items()}
    for key in sorted(found, key=lambda key: -sums[key]):
        share = f"{float(Fraction(sums[key]) / Fraction(path.total)):.1%}"
        yield [*key, str(len(found[key])), _amount(path, sums[key]), share]


def _steps(path: ExecutedPath) -> Iterator[list[str]]:
    """The pieces in order."""
    for (at, partners, statement, amount), equal in groupby(
        path.pieces, lambda each: (each.coordinates, _partners(each), _statement(each), each.amount)
    ):
        times = len(list(equal))
        yield [_at(at), partners, *statement, _amount(path, amount), f"x {times}" if times > 1 else ""]


def _partners(piece: PathPiece) -> str:
    """Where its words come from and go to, the larger of both."""
    source = [] if piece.source is None else [f"from {_at(piece.source)}"]
    return " ".join([*source, *([] if piece.to is None else [f"to {_at(piece.to)}"])])


def _at(coordinates: Sequence[int]) -> str:
    return f"({', '.join(map(str, coordinates))})" if len(coordinates) > 1 else str(coordinates[0])


def _statement(piece: PathPiece) -> tuple[str, str]:
    """The line, and the statement of the algorithm that ran."""
    span = piece.called or piece.span
    if span is None:
        return "", "computing, after the last step"
    source = span.source.lines[span.line - 1].strip()
    before = "in or before" if piece.called else "before"
    return str(span.line), f"computing, {before} {source}" if piece.computed else source


def _amount(path: ExecutedPath, amount: int | Fraction) -> str:
    return format_si(Fraction(amount), "s") if path.metric == TIME else exact(amount)


def document(path: ExecutedPath) -> dict[str, Any]:
    """The path for programs: every piece."""
    return {"metric": path.metric, "total": _number(path.total), "pieces": list(_documents(path.pieces))}


def _documents(pieces: Sequence[PathPiece]) -> Iterator[dict[str, Any]]:
    for each in pieces:
        yield {
            "processor": list(each.coordinates),
            "place": None if each.span is None else str(Place.of(each.span)),
            "called": None if each.called is None else str(Place.of(each.called)),
            "computed": each.computed,
            "from": None if each.source is None else list(each.source),
            "to": None if each.to is None else list(each.to),
            "amount": _number(each.amount),
        }


def _number(value: int | Fraction) -> int | str:
    return value if isinstance(value, int) else exact(value)
