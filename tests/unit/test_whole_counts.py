"""Bounds of a count at sizes are whole numbers, on every page alike; what is no count is a decimal number."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from cli_support import cli

FRACTION = re.compile(r"(?<![\w./])\d+/\d+(?![\w/])")
HALVES = """algorithm f(x: inout real[n]):
    parallel for i in 0..n:
        for j in i..n step {step}:
            if x[j] > 0.0:
                x[i] += 1.0
"""


def values(page: str) -> dict[str, list[str]]:
    """The rows of a page at sizes: the numbers of each metric."""
    rows = (re.split(r"  +", line.strip()) for line in page.splitlines() if line.startswith("  "))
    return {row[0]: row[1].split(" .. ") for row in rows if len(row) > 1}


@pytest.mark.parametrize("processors", [3, 7])
def test_time_on_processors_is_a_number_of_steps(tmp_path: Path, processors: int) -> None:
    source = tmp_path / "f.algo"
    source.write_text(HALVES.format(step=3))
    page = cli("cost", str(source), "--at", "n=7", "--procs", str(processors)).out
    shown = values(page)
    names = (f"time({processors})", "work", "span")
    (least, most), (work, more), (span, longest) = ([*map(int, shown[each])] for each in names)
    assert (least, most) == (max(-(-work // processors), span), longest + more // processors)


@pytest.mark.parametrize(("step", "n", "processors"), [(2, 5, 2), (2, 8, 3), (3, 7, 5)])
def test_no_page_at_sizes_has_fractions(tmp_path: Path, step: int, n: int, processors: int) -> None:
    source = tmp_path / "f.algo"
    source.write_text(HALVES.format(step=step))
    asked = ("cost", f"{source}::f", "--at", f"n={n}", "--procs", str(processors))
    page = cli(*asked, "--metric", "flops,work,span,comparisons,additions,calls,accesses").out
    full = cli(*asked, "--all").out
    table = full[full.index(f"  at n = {n}") :].partition("up to constants")[0]
    assert not FRACTION.search(page + table), page + table
    shown = values(cli(*asked).out)
    for name, cost in json.loads(cli(*asked, "--format", "json").out)["costs"].items():
        found = cost["value"]
        ends = found.values() if isinstance(found, dict) else [found]
        assert {*map(int, ends)} == {*map(int, shown["io (cache misses)" if name == "io" else name])}, name


def test_a_declared_cost_is_a_decimal_number(tmp_path: Path) -> None:
    source = tmp_path / "f.algo"
    source.write_text(
        "extern kernel(a: real) -> real costs c flops\n"
        "algorithm f(x: inout real[n]):\n    for i in 0..n:\n        x[i] = kernel(x[i])\n"
    )
    ran = cli("cost", str(source), "--at", "n=5,c=1/2")
    assert values(ran.out)["flops"] == ["2.5"], (ran.out, ran.err)
