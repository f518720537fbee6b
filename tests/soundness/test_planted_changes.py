"""Changes of layout, order, blocking and statements: the verdict on io against runs with optimal replacement."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import archline as al
from archline.changes import results as r
from effort import long, some
from planted_changes import CACHES, CHANGES, PlantedChange, executed

CLEAR = 1.5
"""A ratio of misses that no verdict may be silent about."""


def _check(change: PlantedChange, folder: Path) -> None:
    both = folder / "old", folder / "new"
    for side, text in zip(both, (change.old, change.new), strict=True):
        side.mkdir()
        (side / "f.algo").write_text(text, encoding="utf-8")
    at = [{**dict(change.sizes), "Z": words, "L": line} for words, line in CACHES]
    found = al.diff(*both, at=at, cached=False, jobs=1)
    assert found.problems == ()
    rows = [each for each in found.changes if each.metric == "io"]
    verdicts = {each.verdict for each in rows}
    for words, line in CACHES:
        before, after = (executed(text, change.sizes, words, line) for text in (change.old, change.new))
        # What a run shows to be clear is decided, and not the other way alone.
        assert after < CLEAR * before or r.GREW in verdicts, (change.name, words, before, after)
        assert before < CLEAR * after or r.SHRANK in verdicts, (change.name, words, before, after)
    for row in rows:
        if row.verdict not in (r.GREW, r.SHRANK) or row.at is None or int(row.at["n"]) > 16:
            continue
        # Values bound runs at the sizes that are shown, and so do directions.
        sizes, cache = (("n", int(row.at["n"])),), (int(row.at["Z"]), int(row.at["L"]))
        misses = [executed(text, sizes, *cache) for text in (change.old, change.new)]
        assert (misses[0] < misses[1]) == (row.verdict == r.GREW)
        for side, count in zip(("old", "new"), misses, strict=True):
            low, *_, high = re.findall(r"\d+", row.values[side])[:1] + re.findall(r"\d+", row.values[side])[-1:]
            assert int(low) <= count <= int(high)


QUICK = ("forward substitution, colmajor", "gemv swapped", "a statement dropped", "gemv of half, reversed")


@pytest.mark.parametrize("change", [each for each in CHANGES if each.name in QUICK], ids=lambda each: each.name)
def test_planted_changes(change: PlantedChange, tmp_path: Path) -> None:
    _check(change, tmp_path)


@long
@pytest.mark.parametrize(
    "change", some([each for each in CHANGES if each.name not in QUICK], full=2), ids=lambda each: each.name
)
def test_all_planted_changes(change: PlantedChange, tmp_path: Path) -> None:
    _check(change, tmp_path)


def test_all_changes_are_there() -> None:
    assert len({each.name for each in CHANGES}) == len(CHANGES) == 60
