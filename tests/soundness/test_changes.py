"""Changes of costs against what is known of them: edits that change nothing, and edits that are counted by hand."""

from __future__ import annotations

import contextlib
import random
import re
from itertools import product
from pathlib import Path

import pytest

import archline as al
from archline.api.baselines import build_baseline, compare_with_baseline
from archline.changes import results as r
from archline.report.findings import CheckReport
from changed_programs import Nests, library, one_more_flop, unchanged
from effort import EFFORT, all_of
from stdlib_recursive_cases import RECURSIVE

ROUNDS, FILES, EDITS = (1, 12, 12) if EFFORT == "quick" else (2, 36, 24)
"""In full, every algorithm of the library is edited twice, which is more than 350 edits."""
SIZES = [*product(range(1, 5), range(1, 5)), (9, 2), (2, 9)]


DIVIDED = """algorithm row(X: real[n, n], Y: out real[n, n], p: size) on grid(r: p, c: p):
    where p divides n
    let s = n/p
    local x: real[s, s] = X[r*s ..+ s, c*s ..+ s]
    parallel for i in 0..s:
        x[i, 0] *= 2.0
    shift x along c by 1
    output Y[r*s ..+ s, c*s ..+ s] = x

algorithm tiles(x: inout real[n], b: size):
    where b divides n
    parallel for i in 0..n/b:
        for j in 0..b:
            x[i*b + j] *= 2.0

algorithm halves(x: inout real[n]):
    where n is power of 2
    if n > 1:
        halves(x[0..n//2])
    x[0] *= 2.0
"""
"""Costs in quotients and logarithms, on a grid and off it."""


def put(folder: Path, **programs: str) -> Path:
    for name, text in programs.items():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.algo").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_edits_that_change_nothing_are_no_changes(tmp_path: Path, seed: int) -> None:
    """Names, order, comments, spaces and files are others; an edit of each algorithm of the files that are drawn."""
    draw = random.Random(seed)
    files = draw.sample(library(), min(FILES, len(library())))
    texts = {f"{path.parent.name}_{path.stem}": path.read_text(encoding="utf-8") for path in files}
    old = put(tmp_path / "old", **texts)
    moved = {f"{name}{'_moved' * (draw.random() < 0.2)}": unchanged(text, draw) for name, text in texts.items()}
    found = al.diff(old, put(tmp_path / "new", **moved), cached=False, jobs=1)
    assert found.problems == ()
    assert found.changes == ()
    assert set(found.summary) <= {r.EQUAL}


def test_edits_of_loops_have_the_verdicts_that_counts_show(tmp_path: Path) -> None:
    draw = random.Random(1)
    old, new = (put(tmp_path / name) for name in ("old", "new"))
    pairs = {}
    for number in range(EDITS):
        before = Nests.drawn(draw)
        pairs[f"p{number}"] = before, before.edited(draw)
    put(old, **{name: before.text for name, (before, _) in pairs.items()})
    put(new, **{name: after.text for name, (_, after) in pairs.items()})
    found = al.diff(old, new, cached=False)
    assert found.problems == ()
    decided = 0
    for name, (before, after) in pairs.items():
        single = [(each.only, m) for each in after.nests if each.only is not None for m in (1, 3)]
        counts = [(before.counted(*size), after.counted(*size)) for size in (*SIZES, *single)]
        for metric in ("flops", "work", "span"):
            rows = [each for each in found.changes if each.algorithm == f"{name}.algo::f" and each.metric == metric]
            values = [(one[metric], other[metric]) for one, other in counts]
            same = all(one == other for one, other in values)
            assert same == (not rows or rows[0].verdict == r.OTHER_FORM), (before, after, metric)
            for row in rows:
                _check(row, before, after, metric, values)
            decided += {each.verdict for each in rows} <= {r.GREW, r.SHRANK, r.OTHER_FORM}
    # All are exact, so that each is decided.
    assert decided == 3 * EDITS


def _check(row: r.CostChange, before: Nests, after: Nests, metric: str, values: list[tuple[int, int]]) -> None:
    """A row against the counts at its own sizes, and at others."""
    if row.verdict not in (r.GREW, r.SHRANK):
        return
    sign = 1 if row.verdict == r.GREW else -1
    assert row.values is not None
    size = int(row.at["n"]), int(row.at["m"])
    shown = tuple(each.counted(*size)[metric] for each in (before, after))
    assert row.values == {"old": str(shown[0]), "new": str(shown[1])}
    assert sign * (shown[1] - shown[0]) > 0
    if row.extent != r.AT_SHOWN_SIZES:
        least = 1 if row.extent == r.EVERYWHERE else 0
        assert all(sign * (other - one) >= least for one, other in values)


def test_one_more_flop_is_found_by_a_baseline(tmp_path: Path) -> None:
    """On grids and off them, in every algorithm whose flops were written as exact; no line goes without a verdict."""
    # Cache misses of recursions, which this is not about, are evaluated call by call; baselines do not read records.
    left_out = {target.partition("::")[0] for target in RECURSIVE}
    plain = [
        path
        for path in library()
        if f"{path.parent.name}.{path.stem}" not in left_out and path.parent.name not in ("structures", "graph")
    ]
    files = random.Random(2).sample(plain, all_of(3, 0))
    texts = {f"{path.parent.name}_{path.stem}": path.read_text(encoding="utf-8") for path in files}
    texts["divided"] = DIVIDED
    put(tmp_path, **texts)
    with contextlib.chdir(tmp_path):
        targets = sorted(f"{name}.algo" for name in texts)
        text = build_baseline("costs.baseline", targets, CheckReport(()), 1, cached=False)
        Path("costs.baseline").write_text(text, encoding="utf-8")
        assert compare_with_baseline("costs.baseline", targets, jobs=1, cached=False)[0] == ()
        put(Path(), **{name: one_more_flop(each) for name, each in texts.items()})
        findings, _ = compare_with_baseline("costs.baseline", targets, jobs=1, cached=False)
        found = al.diff("costs.baseline", cached=False, jobs=1)
    exact = set(re.findall(r"^(\S+)\(.*\)  flops ==", text, re.MULTILINE))
    checked = {f"{each.path}::{each.algorithm}" for each in findings if ": flops grew" in each.message}
    assert len(exact) >= 3
    assert exact <= checked
    assert exact <= {each.algorithm for each in found.changes if (each.metric, each.verdict) == ("flops", r.GREW)}
    lines = re.findall(r"^(\S+)\(.*\)  (\w+) ", text, re.MULTILINE)
    assert sum(found.summary.values()) >= len({*lines})
    assert found.problems == ()
