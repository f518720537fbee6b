"""Whether the quotes of papers/*.toml stand in the texts of the papers, of which the repository holds no more.

    python benchmarks/quotes.py FOLDER [PAPER...]        # FOLDER has the papers as .txt files

Spaces, ligatures, hyphens at ends of lines, citations and LaTeX's marks do not count, and some letters may be misread;
digits and operators must be there, in order. `...` in a quote stands for what it leaves out. Exits with 1 where a quote
is in no text, and prints what is nearest to it.
"""

from __future__ import annotations

import argparse
import re
import unicodedata
from functools import cache
from pathlib import Path

import numpy as np
from common import ROOT

from archline.papers.recipes import RECIPE_INPUTS
from archline.papers.rows import read_paper

MISREAD = 0.25
"""The share of a quote's characters that may be misread."""
GROUP = r"\s*\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}"
FRACTION = re.compile(rf"\\d?frac{GROUP}{GROUP}")
CITATION = re.compile(r"\[\d+\](?:,\s*\[\d+\])*|\[\d+(?:,\s*\d+)*\]")
WORDS = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "varepsilon": "ε", "eta": "η", "pi": "π",
    "tau": "τ", "omega": "ω", "Omega": "ω", "Theta": "θ", "Delta": "δ", "sum": "∑", "log": "log", "max": "max",
    "min": "min", "leq": "<=", "le": "<=", "geq": ">=", "ge": ">=", "approx": "≈", "gg": ">>",
}  # fmt: skip
"""What LaTeX calls signs and functions; its other commands do not count."""
SAME = str.maketrans({
    "≤": "<=", "≥": ">=", "×": "*", "·": "*", "∗": "*", "−": "-", "–": "-", "—": "-", "ϵ": "ε", "˜": None,
    "‘": "'", "’": "'", "“": '"', "”": '"',
})  # fmt: skip


@cache
def plain(text: str) -> str:
    """A text without what does not count."""
    text = unicodedata.normalize("NFKC", text.translate(SAME)).translate(SAME)
    text = CITATION.sub("", re.sub(r"-\s*\n\s*", "", text))
    while FRACTION.search(text):
        text = FRACTION.sub(r"\1/\2", text)
    text = re.sub(r"(\\?)([A-Za-z]+)", lambda found: WORDS.get(found[2], "" if found[1] else found[2]), text)
    return re.sub(r"[\s\\${}_^\[\]()*]", "", text).casefold()


def signs(text: str) -> str:
    """The digits and operators of a plain text."""
    return re.sub(r"[^\d+/<>=%]", "", text)


def nearest(part: str, text: str) -> tuple[str, int]:
    """The piece of a text that is nearest to a part, and how many characters are other ones there."""
    stop, apart = end(part, text)
    before = text[max(0, stop - 2 * len(part)) : stop]
    return before[len(before) - end(part[::-1], before[::-1])[0] :], apart


def end(part: str, text: str) -> tuple[int, int]:
    """Where the piece of a text ends that is nearest to a part, and the distance: edits of single characters."""
    codes, places = np.array([ord(each) for each in text]), np.arange(len(text) + 1)
    row = np.zeros(len(text) + 1, dtype=int)
    for count, each in enumerate(part, 1):
        above = np.minimum(row[1:] + 1, row[:-1] + (codes != ord(each)))
        row = np.minimum.accumulate(np.concatenate(([count], above)) - places) + places
    return int(row.argmin()), int(row.min())


def missing(quote: str, text: str) -> tuple[float, str] | None:
    """How far the first part that a text lacks is from what is nearest to it, and that; None: all are there."""
    for part in filter(None, map(plain, quote.split("..."))):
        if part not in text:
            found, apart = nearest(part, text)
            if apart > MISREAD * len(part) or signs(found) != signs(part):
                return apart / len(part), f"nearest to {part}: {found}"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", help="the folder of the texts, each a .txt file")
    parser.add_argument("papers", nargs="*", default=sorted(path.stem for path in (ROOT / "papers").glob("*.toml")))
    parser.add_argument("--smallest", action="store_true", help="one short text of its own, to see that all of it runs")
    options = parser.parse_args()
    if options.smallest:
        assert missing("E = W ... (1)", plain("E = W + Q (1)")) is None
        assert missing("E = W (2)", plain("E = W + Q (1)")) is not None
        return 0
    if options.folder is None:
        parser.error("the folder of the texts is missing")
    texts = [plain(path.read_text(encoding="utf-8")) for path in sorted(options.folder.glob("*.txt"))]
    absent = 0
    for name in options.papers:
        rows = read_paper(name, RECIPE_INPUTS).rows
        quotes = dict.fromkeys((row.place, row.quote) for row in rows if row.quote)
        lost = {each: near for each in quotes if None not in (near := [missing(each[1], text) for text in texts])}
        absent += len(lost)
        bare = sum(not row.quote for row in rows)
        print(f"{name}: {len(quotes)} quotes, {len(lost)} not found; {bare} of {len(rows)} rows have none")
        for (place, quote), near in lost.items():
            print(f"  {place}: {quote}\n    {min(filter(None, near))[1]}")
    return 1 if absent else 0


if __name__ == "__main__":
    raise SystemExit(main())
