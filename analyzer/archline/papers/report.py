"""The papers re-derived: `archline.papers`, what `archline papers` prints."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from archline.language.diagnostics import counted, did_you_mean, error
from archline.papers import rules
from archline.papers.findings import DIFFERS, EQUAL, READING, UNDECIDED, RowVerdict
from archline.papers.recipes import INPUTS, derive
from archline.papers.rows import PAPERS, Paper, PrintedRow, read_paper
from archline.papers.tables import column
from archline.records import record, replace
from archline.report.json import VERSION, pick
from archline.report.layout import terminal_width, wrap
from archline.resources import resource

INTRODUCTION = """# What the papers print, and what follows

What `archline papers --format markdown` prints: equations, cells of tables and sentences of papers, each derived again
from its definitions: first those that do not hold, slips of the pen last, then those that hold under one reading of the
text and not word for word. No verdict is written by hand: [they are
computed](reference/command-papers.md), and `archline papers --place PLACE --explain` shows each derivation.
"""

TALLIED = {DIFFERS: "do not hold", READING: "hold under a reading", UNDECIDED: "undecided", EQUAL: "hold"}
OF_ONE = {DIFFERS: "does not hold", READING: "holds under a reading", EQUAL: "holds"}
BEFORE_ROUNDING = "its numbers are taken as they may have been before they were rounded"


def page(papers: Sequence[Paper], found: Sequence[RowVerdict]) -> str:
    """The page of these papers, with the findings on their rows."""
    parts = [
        INTRODUCTION,
        *("\n".join(_section(each, [row for row in found if row.row.paper is each])) for each in papers),
    ]
    return "\n".join(parts) + "\n"


def _section(paper: Paper, found: Sequence[RowVerdict]) -> Iterator[str]:
    wrong, read, left, equal = ([each for each in found if each.verdict == verdict] for verdict in VERDICTS)
    yield from (f"## {paper.title}", "")
    if paper.citation:
        yield from (f"{paper.citation}.", "")
    yield from (f"{tally(found)}.", "")
    for title, rows in (
        ("What does not hold", [each for each in wrong if not each.is_slip]),
        ("Slips of the pen", [each for each in wrong if each.is_slip]),
        ("What holds under a reading, and not word for word", read),
    ):
        if rows:
            yield from (f"### {title}", "", *(line for each in rows for line in entry(each)))
    if equal:
        yield from ("### What holds", "", *(line for line in _held(equal)), "")
    if left:
        yield from (
            "### Undecided",
            "",
            *(f"- {about(each)}: {code(each.row.printed)}; {each.reason}" for each in left),
            "",
        )
    if paper.left_out:
        yield from (
            "### What is no row, and why",
            "",
            *(f"- {place}: {reason}" for place, reason in paper.left_out),
            "",
        )


def tally(found: Sequence[RowVerdict]) -> str:
    """How many rows do not hold, hold under a reading, are undecided, and hold."""
    kinds = Counter(each.verdict for each in found)
    said = [f"{n} {OF_ONE.get(kind, what) if n == 1 else what}" for kind, what in TALLIED.items() if (n := kinds[kind])]
    return ": ".join(filter(None, (counted(len(found), "row"), ", ".join(said))))


def about(found: RowVerdict) -> str:
    """The place of a row and what it is about."""
    return ", ".join(filter(None, (f"**{found.row.place}**", found.row.subject)))


def entry(found: RowVerdict) -> Iterator[str]:
    """What explains a form that does not hold word for word: both forms, the reason, the reading, and a witness."""
    row = found.row
    facts = ", ".join(map(code, row.listed("where")))
    sentence = row.kind in ("claim", "run")
    yield from (f"{about(found)}" + (f": {code(row.quote)}" if row.quote else ""), "")
    label = "taken as" if sentence else "printed"
    yield f"- {label}: {code(row.printed)}" + (f" for {facts}" if facts else "") + _defined(found)
    if not sentence:
        # What follows of a claim is the claim with another quantifier, as the reason says.
        yield f"- follows: {code(found.derived)}"
    yield f"- {'because' if found.verdict == DIFFERS else 'word for word'} {found.reason}"
    if found.verdict == READING:
        yield f"- holds where {_say_reading(found)}"
    witness = found.witness
    if witness and row.kind != "units" and str(witness) not in found.reason:
        yield f"- at {witness.values}" if witness.sides in found.reason else f"- witness: {witness}"
    if row.assumes:
        yield f"- assuming: {'; '.join(row.assumes)}"
    yield ""


def _say_reading(found: RowVerdict) -> str:
    """Say how the print is taken where it holds."""
    return BEFORE_ROUNDING if found.within_rounding else str(found.row.table("reading")["says"])


def _defined(found: RowVerdict) -> str:
    """What the names mean that the paper gives to parts of the form."""
    row = found.row
    used = set(re.findall(r"\w+", " ".join((row.printed, *row.listed("where")))))
    named = [code(f"{name} = {each}") for name, each in row.table("define").items() if name in used]
    return f", where {', '.join(named)}" if named else ""


def _held(found: Sequence[RowVerdict]) -> Iterator[str]:
    """What holds, a line a place."""
    for place, rows in groupby(found, key=lambda each: each.row.place):
        said = dict.fromkeys(each.row.subject or code(each.row.printed) for each in rows)
        yield f"- **{place}**: {'; '.join(said)}"


def code(text: str) -> str:
    """A text as code, with what it holds of marks."""
    marks = "``" if "`" in text else "`"
    return f"{marks}{' '.join(text.split())}{marks}"


VERDICTS = (DIFFERS, READING, UNDECIDED, EQUAL)
LABEL = 15
"""Columns that the name of a part of an explanation takes."""


@record
class Rederived:
    """The papers that were asked for, with a finding for each row, those that do not hold first."""

    papers: tuple[Paper, ...]
    rows: tuple[RowVerdict, ...]
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
    found.sort(key=lambda each: (VERDICTS.index(each.verdict), each.is_slip, each.within_rounding))
    return Rederived(read, tuple(found), place)


def _within(asked: str, place: str) -> bool:
    """Whether a place is the one asked for, or a section inside it."""
    return place == asked or place.startswith(f"{asked}.")


def derived(row: PrintedRow) -> list[RowVerdict]:
    """The findings of a row: one, or one for each cell of its column, which names the others that do not hold so."""
    found = [derive(each) for each in column(row)]
    wrong = [each.row.text("machines").rpartition("/")[2] for each in found if each.verdict != EQUAL and len(found) > 1]
    said = f" ({len(wrong)} of {len(found)} in this column: {', '.join(wrong)})"
    before, after = (f"{row.text('remark')} (", ")") if row.has("remark") else ("", "")
    after += said if wrong else ""
    return [each if each.verdict == EQUAL else replace(each, reason=before + each.reason + after) for each in found]


def row_document(found: RowVerdict, place: str) -> dict[str, Any]:
    """A row at one of its places as JSON has it."""
    row = found.row
    return {
        "paper": row.paper.name,
        "place": place,
        **pick(row, "subject", "kind", "quote", "printed"),
        **pick(found, "derived", "verdict", "reason", "assumes=row.assumes", "within_rounding"),
        "reading": _say_reading(found) if found.verdict == READING else None,
        "witness": None if found.witness is None else str(found.witness),
        "steps": found.steps,
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
            yield from ("", f"  {verdict}", *(line for each in shown for line in _row(each, width, explain)))
    if not (explain or result.place or all(each.verdict == EQUAL for each in rows)):
        yield from ("", "  --explain has the derivations")
    yield ""


def _equal_places(rows: Sequence[RowVerdict]) -> Iterator[str]:
    """The places of rows that hold, with how many of them do where others of that place do not."""
    counts = Counter((place, each.verdict == EQUAL) for each in rows for place in each.row.places)
    for place in dict.fromkeys(place for place, equal in counts if equal):
        holding, others = counts[place, True], counts[place, False]
        yield f"{place} ({holding} of {holding + others})" if others else place


def _row(found: RowVerdict, width: int, explain: bool) -> Iterator[str]:
    row = found.row
    reason = found.reason or row.printed
    if found.verdict == READING:
        reason = f"holds where {_say_reading(found)}; word for word {reason}"
    line = f"{' '.join(filter(None, (row.place, row.subject)))}: {reason}"
    yield from (f"    {each}" for each in wrap(line, width - 4))
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
