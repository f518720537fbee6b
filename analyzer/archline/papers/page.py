"""What papers print beside what follows, as a page in Markdown: by paper, first what does not hold."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

from archline.language.diagnostics import counted
from archline.papers.findings import DIFFERS, EQUAL, UNDECIDED, RowVerdict
from archline.papers.rows import Paper

INTRODUCTION = """# What the papers print, and what follows

What `archline papers --format markdown` prints: equations, cells of tables and sentences of papers, each derived again
from its definitions, first those that do not hold. No verdict is written by hand: [they are
computed](reference/command-papers.md), and `archline papers --place PLACE --explain` shows each derivation.
"""

TALLIED = {DIFFERS: "do not hold", "rounded": "more within rounding", UNDECIDED: "undecided", EQUAL: "hold"}
OF_ONE = {DIFFERS: "does not hold", EQUAL: "holds"}


def page(papers: Sequence[Paper], found: Sequence[RowVerdict]) -> str:
    """The page of these papers, with the findings on their rows."""
    parts = [
        INTRODUCTION,
        *("\n".join(_paper(each, [row for row in found if row.row.paper is each])) for each in papers),
    ]
    return "\n".join(parts) + "\n"


def _paper(paper: Paper, found: Sequence[RowVerdict]) -> Iterator[str]:
    wrong, equal, left = ([e for e in found if e.verdict == verdict] for verdict in (DIFFERS, EQUAL, UNDECIDED))
    rounded = [each for each in wrong if each.within_rounding]
    yield from (f"## {paper.title}", "")
    if paper.citation:
        yield from (f"{paper.citation}.", "")
    yield from (f"{tally(found)}.", "")
    for title, rows in (
        ("What does not hold", [each for each in wrong if not each.within_rounding]),
        ("What does not hold as printed, but could before its numbers were rounded", rounded),
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
    """How many rows do not hold, those within rounding by themselves, are undecided, and hold."""
    kinds = Counter("rounded" if each.within_rounding else each.verdict for each in found)
    said = [f"{n} {OF_ONE.get(kind, what) if n == 1 else what}" for kind, what in TALLIED.items() if (n := kinds[kind])]
    return ": ".join(filter(None, (counted(len(found), "row"), ", ".join(said))))


def about(found: RowVerdict) -> str:
    """The place of a row and what it is about."""
    return ", ".join(filter(None, (f"**{found.row.place}**", found.row.subject)))


def entry(found: RowVerdict) -> Iterator[str]:
    """What a reader wants beside a form that does not hold: the print, what follows, why, and numbers that show it."""
    row = found.row
    facts = ", ".join(map(code, row.listed("where")))
    sentence = row.kind in ("claim", "run")
    yield from (f"{about(found)}" + (f": {code(row.quote)}" if row.quote else ""), "")
    label = "taken as" if sentence else "printed"
    yield f"- {label}: {code(row.printed)}" + (f" for {facts}" if facts else "") + _defined(found)
    if not sentence:
        # What follows of a claim is the claim with another quantifier, as the reason says.
        yield f"- follows: {code(found.derived)}"
    yield f"- because {found.reason}"
    witness = found.witness
    if witness and row.kind != "units" and str(witness) not in found.reason:
        yield f"- at {witness.values}" if witness.sides in found.reason else f"- witness: {witness}"
    if row.assumes:
        yield f"- assuming: {'; '.join(row.assumes)}"
    yield ""


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
