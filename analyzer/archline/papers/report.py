"""The papers re-derived: `archline.papers`, what `archline papers` prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from archline.language.diagnostics import did_you_mean, error
from archline.papers import rules
from archline.papers.findings import DIFFERS, EQUAL, UNDECIDED, RowVerdict
from archline.papers.page import page, tally
from archline.papers.recipes import INPUTS, derive
from archline.papers.rows import PAPERS, Paper, PrintedRow, read_paper
from archline.papers.tables import column
from archline.records import record, replace
from archline.report.json import VERSION
from archline.report.layout import terminal_width, wrap
from archline.resources import resource

VERDICTS = (DIFFERS, UNDECIDED, EQUAL)
LABEL = 15
"""Columns that the name of a part of an explanation takes."""
LEAST_SUBJECT = 24
"""Columns of a subject where its reason is long."""


@record
class Rederived:
    """The papers that were asked for, with a finding for each row, those that do not hold first."""

    papers: tuple[Paper, ...]
    rows: tuple[RowVerdict, ...]
    whole: bool = False
    place: str | None = None

    @property
    def document(self) -> dict[str, Any]:
        """As JSON has it: what is printed at several places is a row for each of them."""
        rows = [row_document(each, place) for each in self.rows for place in each.row.places if self._asked(place)]
        return {"version": VERSION, "rows": rows}

    def _asked(self, place: str) -> bool:
        return self.place is None or _within(self.place, place)

    def explain(self, width: int | None = None) -> str:
        """As text, with the derivation of each row."""
        return "\n".join(line for each in self.papers for line in _paper(self, each, width or terminal_width(), True))

    def markdown(self) -> str:
        """The findings as a page of Markdown, by paper."""
        return page(self.papers, self.rows)

    def __str__(self) -> str:
        return "\n".join(line for each in self.papers for line in _paper(self, each, terminal_width(), False))


def papers(*names: str, only: str | None = None, place: str | None = None) -> Rederived:
    """Re-derive what papers print: `papers("scaling")`, or all four. `only` takes a verdict, `place` a place.

    Raises ArchlineError (AL610 to AL614) for what cannot be read.
    """
    known = [name for name in PAPERS if (resource("papers") / f"{name}.toml").is_file()]
    read = tuple(read_paper(name, INPUTS) for name in names or known)
    asked = [
        row for paper in read for row in paper.rows if place is None or any(_within(place, each) for each in row.places)
    ]
    if place is not None and not asked:
        places = list(dict.fromkeys(each for paper in read for row in paper.rows for each in row.places))
        alike = [each for each in places if each.split()[0] == place.split(" ")[0]] or [*places[:6], "and others"]
        hint = did_you_mean(place, places) or f"places are {', '.join(alike)}"
        raise error(rules.NO_ROW, f"no row has the place `{place}`", hint=hint)
    found = [each for row in asked for each in derived(row) if only in (None, each.verdict)]
    # Sorting keeps the order of what is equal: that of the papers, and in each that of its rows.
    found.sort(key=lambda each: (VERDICTS.index(each.verdict), each.within_rounding))
    return Rederived(read, tuple(found), only is not None or place is not None, place)


def _within(asked: str, place: str) -> bool:
    """Whether a place is the one asked for, or a section inside it."""
    return place == asked or place.startswith(f"{asked}.")


def derived(row: PrintedRow) -> list[RowVerdict]:
    """The findings of a row: one, or one for each cell of its column, which names the others that differ."""
    found = [derive(each) for each in column(row)]
    wrong = [
        each.row.text("machines").rpartition("/")[2] for each in found if each.verdict == DIFFERS and len(found) > 1
    ]
    said = f" ({len(wrong)} of {len(found)} in this column: {', '.join(wrong)})"
    said = (said if wrong else "") + (f"; {row.text('reading')}" if row.has("reading") else "")
    return [replace(each, reason=each.reason + said) if each.verdict == DIFFERS else each for each in found]


def row_document(found: RowVerdict, place: str) -> dict[str, Any]:
    """A row at one of its places as JSON has it."""
    row = found.row
    own = {key: getattr(row, key) for key in ("subject", "kind", "quote", "printed")}
    return {
        "paper": row.paper.name,
        "place": place,
        **own,
        "derived": found.derived,
        "verdict": found.verdict,
        "reason": found.reason,
        "assumes": list(row.assumes),
        "within_rounding": found.within_rounding,
        "witness": None if found.witness is None else str(found.witness),
        "steps": list(found.steps),
    }


def _paper(result: Rederived, paper: Paper, width: int, explain: bool) -> Iterator[str]:
    """What does not hold first, a line each; to `explain`, each row's derivation."""
    rows = [each for each in result.rows if each.row.paper is paper]
    if not rows and result.place is not None:
        return
    yield from wrap(f"{paper.name}: {paper.citation or paper.title}", width)
    yield f"  {tally(rows)}"
    for verdict in VERDICTS:
        shown = [each for each in rows if each.verdict == verdict]
        if verdict == EQUAL and not explain and shown:
            lines = wrap(f"equal: {', '.join(_equal_places(rows))}", width - 2, "  ")
            yield from ("", *(f"  {each}" for each in lines))
        elif shown:
            yield from (
                "",
                f"  {verdict}",
                *(line for each in shown for line in _row(each, width, explain, result.whole)),
            )
    if not (explain or result.whole or all(each.verdict == EQUAL for each in rows)):
        yield from ("", "  --place PLACE has whole reasons, --explain derivations")
    yield ""


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else f"{text[: room - 3]}..."


def _equal_places(rows: Sequence[RowVerdict]) -> Iterator[str]:
    """The places of rows that hold, with how many of them do where others of that place do not."""
    counts = Counter((place, each.verdict == EQUAL) for each in rows for place in each.row.places)
    for place in dict.fromkeys(place for place, equal in counts if equal):
        holding, others = counts[place, True], counts[place, False]
        yield f"{place} ({holding} of {holding + others})" if others else place


def _row(found: RowVerdict, width: int, explain: bool, whole: bool) -> Iterator[str]:
    row = found.row
    reason = f"{'within rounding: ' if found.within_rounding else ''}{found.reason or row.printed}"
    room, subject = width - 4, row.subject
    if not (explain or whole):
        # The reason has the line, and the subject what is left of it.
        subject = _cut(subject, max(LEAST_SUBJECT, room - len(f"{row.place} :  {reason}")))
    line = f"{row.place} {subject}:  {reason}" if subject else f"{row.place}  {reason}"
    yield from (f"    {each}" for each in (wrap(line, room) if explain or whole else [_cut(line, room)]))
    if not explain:
        return
    said = [("quote", row.quote and f'"{row.quote}"'), ("printed", row.printed), ("derived", found.derived)]
    said += [("defined", f"{name} = {each}") for name, each in row.table("define").items()]
    said += [("step", each) for each in found.steps] + [("assumes", each) for each in row.assumes]
    said += [("witness", str(found.witness or ""))] if row.kind != "units" else []
    for name, each in said:
        for position, part in enumerate(wrap(each, width - LABEL) if each else ()):
            yield f"      {'' if position else name:<8} {part}"
    yield ""
