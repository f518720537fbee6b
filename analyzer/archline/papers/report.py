"""The papers re-derived: `archline.papers`, what `archline papers` prints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from archline.language.diagnostics import did_you_mean, error
from archline.papers import rules
from archline.papers.findings import DIFFERS, EQUAL, UNDECIDED, Finding
from archline.papers.recipes import INPUTS, derive
from archline.papers.rows import PAPERS, Paper, PrintedRow, read_paper
from archline.papers.tables import column
from archline.records import record, replace
from archline.report.layout import terminal_width, wrap
from archline.resources import resource

VERSION = 1
VERDICTS = (DIFFERS, UNDECIDED, EQUAL)


@record
class Rederived:
    """The papers that were asked for, with a finding for each row, those that do not hold first."""

    papers: tuple[Paper, ...]
    rows: tuple[Finding, ...]

    @property
    def document(self) -> dict[str, Any]:
        """As JSON has it."""
        return {"version": VERSION, "rows": [row_document(each) for each in self.rows]}

    def explain(self, width: int | None = None) -> str:
        """As text, with the derivation of each row."""
        return text(self, width or terminal_width(), explain=True)

    def markdown(self) -> str:
        """As Markdown, a table for each paper."""
        return markdown(self)

    def __str__(self) -> str:
        return text(self, terminal_width(), explain=False)


def papers(*names: str, only: str | None = None, place: str | None = None) -> Rederived:
    """Re-derive what papers print: `papers("scaling")`, or all four. `only` takes a verdict, `place` a place.

    Raises ArchlineError (AL610 to AL614) for what cannot be read.
    """
    known = [name for name in PAPERS if (resource("papers") / f"{name}.toml").is_file()]
    read = tuple(read_paper(name, INPUTS) for name in names or known)
    asked = [row for paper in read for row in paper.rows if place is None or row.place == place]
    if place is not None and not asked:
        places = list(dict.fromkeys(row.place for paper in read for row in paper.rows))
        hint = did_you_mean(place, places) or f"places are {', '.join(f'`{each}`' for each in places[:6])} and others"
        raise error(rules.NO_ROW, f"no row has the place `{place}`", hint=hint)
    found = [each for row in asked for each in derived(row) if only in (None, each.verdict)]
    order = {paper.name: position for position, paper in enumerate(read)}
    found.sort(key=lambda each: (order[each.row.paper.name], VERDICTS.index(each.verdict), each.within_rounding))
    return Rederived(read, tuple(found))


def derived(row: PrintedRow) -> list[Finding]:
    """The findings of a row: one, or one for each cell of its column."""
    found = [derive(each) for each in column(row)]
    if row.has("quantity") and row.kind == "cell":
        wrong = [each.row.text("machines").rpartition("/")[2] for each in found if each.verdict == DIFFERS]
        said = f" (of {len(found)} cells of the column, {len(wrong)}: {', '.join(wrong)})"
        return [replace(each, reason=each.reason + said) if each.verdict == DIFFERS else each for each in found]
    return found


def row_document(found: Finding) -> dict[str, Any]:
    """A row as JSON has it."""
    row = found.row
    return {
        "paper": row.paper.name,
        "place": row.place,
        "subject": row.subject,
        "kind": row.kind,
        "quote": row.quote,
        "printed": row.printed,
        "derived": found.derived,
        "verdict": found.verdict,
        "reason": found.reason,
        "assumes": list(row.assumes),
        "within_rounding": found.within_rounding,
        "witness": None if found.witness is None else str(found.witness),
        "steps": list(found.steps),
    }


def text(result: Rederived, width: int, *, explain: bool) -> str:
    """What does not hold first, a line each; with `explain` each row's derivation."""
    return "\n".join(line for paper in result.papers for line in _paper(result, paper, width, explain))


def _paper(result: Rederived, paper: Paper, width: int, explain: bool) -> Iterator[str]:
    rows = [each for each in result.rows if each.row.paper is paper]
    counts = ", ".join(f"{sum(each.verdict == verdict for each in rows)} {verdict}" for verdict in VERDICTS)
    yield from wrap(f"{paper.name}: {paper.citation or paper.title}", width)
    yield f"  {len(rows)} rows: {counts}"
    yield ""
    last = ""
    for each in rows:
        if each.verdict == EQUAL and not explain:
            continue
        if each.verdict != last:
            last = each.verdict
            yield f"  {last}"
        yield from _row(each, width, explain)
    held = list(dict.fromkeys(each.row.place for each in rows if each.verdict == EQUAL))
    if held and not explain:
        yield from wrap(f"  equal: {', '.join(held)}", width, "    ")
    yield ""


def _row(found: Finding, width: int, explain: bool) -> Iterator[str]:
    row = found.row
    about = " ".join(filter(None, [row.place, f"{row.subject}:" if row.subject else ""]))
    marked = " [within rounding]" if found.within_rounding else ""
    line = f"    {about}  {found.reason or row.printed}{marked}"
    if not explain:
        yield line if len(line) <= width else line[: width - 3] + "..."
        return
    yield from (f"    {each}" for each in wrap(line.strip(), width - 4))
    said = [("quote", f'"{row.quote}"' if row.quote else ""), ("printed", row.printed), ("derived", found.derived)]
    said += [("defined", ", ".join(f"{name} = {each}" for name, each in row.table("define").items()))]
    said += [("step", each) for each in found.steps] + [("assumes", each) for each in row.assumes]
    said += [("witness", str(found.witness) if found.witness else "")]
    for name, each in said:
        if each:
            for position, line in enumerate(wrap(each, width - 15)):
                yield f"      {'' if position else name:<8} {line}"
    yield ""


def markdown(result: Rederived) -> str:
    """A table for each paper, what does not hold first."""
    lines: list[str] = []
    for paper in result.papers:
        lines += [
            f"## {paper.title}",
            "",
            f"{paper.citation}",
            "",
            "| place | verdict | printed | derived | reason |",
            "|---|---|---|---|---|",
        ]
        for each in result.rows:
            if each.row.paper is paper:
                about = f"{each.row.place}{', ' if each.row.subject else ''}{each.row.subject}"
                cells = [about, each.verdict, f"`{each.row.printed}`", f"`{each.derived}`", each.reason]
                lines.append(f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |")
        lines += ["", *(f"- not a row: {place}: {reason}" for place, reason in paper.left_out), ""]
    return "\n".join(lines)
