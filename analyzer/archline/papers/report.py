"""Report the forms of papers that are derived again: `archline.papers`, which the command `archline papers` prints."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from archline.language.diagnostics import error, format_count, suggest_closest
from archline.papers import rules
from archline.papers.findings import DIFFERS, EQUAL, READING, UNDECIDED, RowVerdict
from archline.papers.recipes import RECIPE_INPUTS, derive_verdict
from archline.papers.rows import PAPERS, Paper, PrintedRow, read_paper
from archline.papers.tables import expand_column
from archline.records import record, replace
from archline.report.json import VERSION, pick
from archline.report.layout import terminal_width, wrap
from archline.resources import find_resource

INTRODUCTION = """# What the papers print, and what follows

What `archline papers --format markdown` prints: equations, cells of tables and sentences of papers, each derived again
from its definitions: first those that do not hold, slips of the pen last, then those that hold under one reading of the
text and not word for word. No verdict is written by hand: [they are
computed](reference/command-papers.md), and `archline papers --place PLACE --explain` shows each derivation.
"""

TALLY_PHRASES = {DIFFERS: "do not hold", READING: "hold under a reading", UNDECIDED: "undecided", EQUAL: "hold"}
SINGULAR_PHRASES = {DIFFERS: "does not hold", READING: "holds under a reading", EQUAL: "holds"}
BEFORE_ROUNDING = "its numbers are taken as they may have been before they were rounded"


def render_page(papers: Sequence[Paper], found: Sequence[RowVerdict]) -> str:
    """Render the page of the papers, with the findings on their rows."""
    parts = [
        INTRODUCTION,
        *(
            "\n".join(_iterate_section_lines(paper, [verdict for verdict in found if verdict.row.paper is paper]))
            for paper in papers
        ),
    ]
    return "\n".join(parts) + "\n"


def _iterate_section_lines(paper: Paper, found: Sequence[RowVerdict]) -> Iterator[str]:
    wrong, by_reading, left, equal = ([item for item in found if item.verdict == verdict] for verdict in VERDICTS)
    yield from (f"## {paper.title}", "")
    if paper.citation:
        yield from (f"{paper.citation}.", "")
    yield from (f"{format_tally(found)}.", "")
    for title, rows in (
        ("What does not hold", [verdict for verdict in wrong if not verdict.is_slip]),
        ("Slips of the pen", [verdict for verdict in wrong if verdict.is_slip]),
        ("What holds under a reading, and not word for word", by_reading),
    ):
        if rows:
            yield from (f"### {title}", "", *(line for verdict in rows for line in iterate_entry_lines(verdict)))
    if equal:
        yield from ("### What holds", "", *(line for line in _iterate_holding_rows(equal)), "")
    if left:
        yield from (
            "### Undecided",
            "",
            *(f"- {describe_place(verdict)}: {format_code(verdict.row.printed)}; {verdict.reason}" for verdict in left),
            "",
        )
    if paper.left_out:
        yield from (
            "### What is not a row, and why",
            "",
            *(f"- {place}: {reason}" for place, reason in paper.left_out),
            "",
        )


def format_tally(found: Sequence[RowVerdict]) -> str:
    """Count the rows that do not hold, hold under a reading, are undecided, and hold."""
    kinds = Counter(verdict.verdict for verdict in found)
    parts = [
        f"{n} {SINGULAR_PHRASES.get(kind, what) if n == 1 else what}"
        for kind, what in TALLY_PHRASES.items()
        if (n := kinds[kind])
    ]
    return ": ".join(filter(None, (format_count(len(found), "row"), ", ".join(parts))))


def describe_place(finding: RowVerdict) -> str:
    """Return the section of the paper that a row is from and its subject, in Markdown."""
    return ", ".join(filter(None, (f"**{finding.row.place}**", finding.row.subject)))


def iterate_entry_lines(finding: RowVerdict) -> Iterator[str]:
    """Explain a form that does not hold word for word: both forms, the reason, the reading, and a witness."""
    row = finding.row
    facts = ", ".join(map(format_code, row.texts("where")))
    sentence = row.kind in ("claim", "run")
    yield from (f"{describe_place(finding)}" + (f": {format_code(row.quote)}" if row.quote else ""), "")
    label = "taken as" if sentence else "printed"
    yield f"- {label}: {format_code(row.printed)}" + (f" for {facts}" if facts else "") + _format_definitions(finding)
    if not sentence:
        # From a claim the same claim follows with another quantifier, as the reason says.
        yield f"- follows: {format_code(finding.derived)}"
    yield f"- {'because' if finding.verdict == DIFFERS else 'word for word'} {finding.reason}"
    if finding.verdict == READING:
        yield f"- holds where {_describe_reading(finding)}"
    witness = finding.witness
    if witness and row.kind != "units" and str(witness) not in finding.reason:
        yield f"- at {witness.values}" if witness.sides in finding.reason else f"- witness: {witness}"
    if row.assumes:
        yield f"- assuming: {'; '.join(row.assumes)}"
    yield ""


def _describe_reading(finding: RowVerdict) -> str:
    """Describe the reading of the text under which the printed form holds."""
    return BEFORE_ROUNDING if finding.within_rounding else str(finding.row.table("reading")["says"])


def _format_definitions(finding: RowVerdict) -> str:
    """Format the definitions of names that a printed form uses, as `, where NAME = FORM`; empty if there are none."""
    row = finding.row
    used = set(re.findall(r"\w+", " ".join((row.printed, *row.texts("where")))))
    definitions = [
        format_code(f"{name} = {definition}") for name, definition in row.table("define").items() if name in used
    ]
    return f", where {', '.join(definitions)}" if definitions else ""


def _iterate_holding_rows(found: Sequence[RowVerdict]) -> Iterator[str]:
    """Yield a Markdown list item for each section of a paper, with the printed results that were confirmed there."""
    for place, rows in groupby(found, key=lambda verdict: verdict.row.place):
        subjects = dict.fromkeys(verdict.row.subject or format_code(verdict.row.printed) for verdict in rows)
        yield f"- **{place}**: {'; '.join(subjects)}"


def format_code(text: str) -> str:
    """Format a text as code, with backquotes escaped by doubled marks."""
    marks = "``" if "`" in text else "`"
    return f"{marks}{' '.join(text.split())}{marks}"


VERDICTS = (DIFFERS, READING, UNDECIDED, EQUAL)
LABEL_WIDTH = 15
"""The width of the labels in an explanation."""


@record
class Rederived:
    """The requested papers, with a finding for each row, failing rows first."""

    papers: tuple[Paper, ...]
    rows: tuple[RowVerdict, ...]
    place: str | None = None

    @property
    def document(self) -> dict[str, Any]:
        """The findings as JSON; a form that is printed at several places has a row for each place."""
        rows = [encode_row(row, place) for row in self.rows for place in row.row.places if self._is_asked(place)]
        return {"version": VERSION, "rows": rows}

    def _is_asked(self, place: str) -> bool:
        return self.place is None or _is_within(self.place, place)

    def explain(self, width: int | None = None) -> str:
        """Return the text with the derivation of each row."""
        return "\n".join(
            line for paper in self.papers for line in _iterate_paper_lines(self, paper, width or terminal_width(), True)
        )

    def markdown(self) -> str:
        """Return the findings as a page of Markdown, by paper."""
        return render_page(self.papers, self.rows)

    def __str__(self) -> str:
        return "\n".join(
            line for paper in self.papers for line in _iterate_paper_lines(self, paper, terminal_width(), False)
        )


def papers(*names: str, only: str | None = None, place: str | None = None) -> Rederived:
    """Derive again what papers print: `papers("scaling")`, or all four. `only` takes a verdict, `place` a place.

    Raises ArchlineError (AL610 to AL614) for papers, rows and places that cannot be read.
    """
    available = [name for name in PAPERS if (find_resource("papers") / f"{name}.toml").is_file()]
    read = tuple(read_paper(name, RECIPE_INPUTS) for name in names or available)
    requested = [
        row for paper in read for row in paper.rows if place is None or any(_is_within(place, at) for at in row.places)
    ]
    if place is not None and not requested:
        places = list(dict.fromkeys(at for paper in read for row in paper.rows for at in row.places))
        alike = [name for name in places if name.split()[0] == place.split(" ")[0]] or [
            *places[:6],
            "and others",
        ]
        hint = suggest_closest(place, places) or f"places are {', '.join(alike)}"
        raise error(rules.NO_ROW, f"no row has the place `{place}`", hint=hint)
    findings = [verdict for row in requested for verdict in derive_row_verdicts(row) if only in (None, verdict.verdict)]
    # Sorting is stable: findings of equal keys stay in the order of papers and rows.
    findings.sort(key=lambda verdict: (VERDICTS.index(verdict.verdict), verdict.is_slip, verdict.within_rounding))
    return Rederived(read, tuple(findings), place)


def _is_within(asked: str, place: str) -> bool:
    """Whether a place is the requested one, or a section inside it."""
    return place == asked or place.startswith(f"{asked}.")


def derive_row_verdicts(row: PrintedRow) -> list[RowVerdict]:
    """Return the findings of a row: one, or one per cell of a column, whose reasons list the cells that differ."""
    findings = [derive_verdict(cell_row) for cell_row in expand_column(row)]
    wrong = [
        cell.row.text("machines").rpartition("/")[2] for cell in findings if cell.verdict != EQUAL and len(findings) > 1
    ]
    summary = f" ({len(wrong)} of {len(findings)} in this column: {', '.join(wrong)})"
    before, after = (f"{row.text('remark')} (", ")") if row.has("remark") else ("", "")
    after += summary if wrong else ""
    return [cell if cell.verdict == EQUAL else replace(cell, reason=before + cell.reason + after) for cell in findings]


def encode_row(finding: RowVerdict, place: str) -> dict[str, Any]:
    """Encode a row at one of its places as JSON."""
    row = finding.row
    return {
        "paper": row.paper.name,
        "place": place,
        **pick(row, "subject", "kind", "quote", "printed"),
        **pick(finding, "derived", "verdict", "reason", "assumes=row.assumes", "within_rounding"),
        "reading": _describe_reading(finding) if finding.verdict == READING else None,
        "witness": None if finding.witness is None else str(finding.witness),
        "steps": finding.steps,
    }


def _iterate_paper_lines(result: Rederived, paper: Paper, width: int, explain: bool) -> Iterator[str]:
    """Yield the lines of a paper, rows that do not hold first; with `explain`, the derivation of each row."""
    rows = [finding for finding in result.rows if finding.row.paper is paper]
    if not rows and result.place is not None:
        return
    yield from wrap(f"{paper.name}: {paper.citation or paper.title}", width)
    yield f"  {format_tally(rows)}"
    for verdict in VERDICTS:
        shown = [finding for finding in rows if finding.verdict == verdict]
        if verdict == EQUAL and not explain and shown:
            lines = wrap(f"equal: {', '.join(_iterate_equal_places(rows))}", width - 2, "  ")
            yield from ("", *(f"  {line}" for line in lines))
        elif shown:
            yield from (
                "",
                f"  {verdict}",
                *(line for finding in shown for line in _iterate_row_lines(finding, width, explain)),
            )
    if not (explain or result.place or all(finding.verdict == EQUAL for finding in rows)):
        yield from ("", "  --explain has the derivations")
    yield ""


def _iterate_equal_places(rows: Sequence[RowVerdict]) -> Iterator[str]:
    """Yield the sections with rows that hold, with a count if some rows of the section do not."""
    counts = Counter((place, finding.verdict == EQUAL) for finding in rows for place in finding.row.places)
    for place in dict.fromkeys(place for place, equal in counts if equal):
        holding, failing = counts[place, True], counts[place, False]
        yield f"{place} ({holding} of {holding + failing})" if failing else place


def _iterate_row_lines(finding: RowVerdict, width: int, explain: bool) -> Iterator[str]:
    row = finding.row
    reason = finding.reason or row.printed
    if finding.verdict == READING:
        reason = f"holds where {_describe_reading(finding)}; word for word {reason}"
    line = f"{' '.join(filter(None, (row.place, row.subject)))}: {reason}"
    yield from (f"    {part_line}" for part_line in wrap(line, width - 4))
    if not explain:
        return
    parts = [("quote", row.quote and f'"{row.quote}"'), ("printed", row.printed), ("derived", finding.derived)]
    parts += [("defined", f"{name} = {definition}") for name, definition in row.table("define").items()]
    parts += [("step", step) for step in finding.steps] + [("assumes", assumption) for assumption in row.assumes]
    parts += [("witness", str(finding.witness or ""))] if row.kind != "units" else []
    for name, text in parts:
        for position, part in enumerate(wrap(text, width - LABEL_WIDTH) if text else ()):
            yield f"      {'' if position else name:<8} {part}"
    yield ""
