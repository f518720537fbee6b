"""Recursions by two indices that data may end early: what is derived against runs at all small indices.

A run may end before a call whose indices `where` does not allow, so that no induction speaks of that call.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import product
from pathlib import Path
from random import Random

import numpy as np
import pytest

from archline.analysis.analyse import derive
from archline.analysis.cost import Costs
from archline.execution.codegen import program
from archline.execution.run import execute
from archline.language.diagnostics import ArchlineError
from archline.language.loader import load_text
from archline.language.model import Module
from cli_support import cli
from effort import drawn
from recursive_programs.agreement import disagreements, executed

LENGTH = 4
INDICES = range(-1, LENGTH + 1)
DATA = [(0, 0, 0, 0), (1, 1, 1, 1), (2, 2, 2, 2), (0, 1, 2, 1), (2, 1, 0, 0), (1, 2, 1, 0)]

WHERE = ["", "lo <= hi", "0 <= lo, lo <= hi, hi <= n", "lo <= hi + 1", "lo < hi"]
TESTS = ["", "lo == hi", "lo >= hi", "lo > hi", "hi - lo <= 1", "lo == hi - 1"]
CALLS = [
    ["lo, hi - 1"],
    ["lo + 1, hi"],
    ["lo + 1, hi - 1"],
    ["lo, hi - 2"],
    ["lo, m"],
    ["m + 1, hi"],
    ["lo, m - 1", "m + 1, hi"],
    ["lo, m", "m + 1, hi"],
    ["lo, m", "m, hi"],
    ["lo, hi - 1", "lo + 1, hi"],
]
EXITS = ["", "a[0] == 0", "a[m % n] == 0", "a[m % n] == 1", "a[0] < a[n - 1]"]
INDEXED = "def f(a: int[n], lo: index, hi: index) -> int:", "(lo + hi)//2", WHERE, TESTS, CALLS, EXITS
SLICED = (
    "def f(a: int[n]) -> int:",
    "n//2",
    ["n >= 0", "n >= 1", "n >= 2", "n >= 3"],
    ["", "n == 0", "n == 1", "n <= 1", "n == 2", "n < 2"],
    [["1..n"], ["0..n - 1"], ["2..n"], ["0..m"], ["m..n"], ["m + 1..n"], ["0..m", "m..n"], ["p..n"], ["0..p", "p..n"]],
    ["", "a[0] == 0", "a[0] == 1", "a[n - 1] == 0"],
)
PART = ["    int p = 1", "    if a[0] > 1:", "        p = 2"]


def write_program(draw: Random) -> str:
    """Write a recursion with an exit by data, a test of the sizes, and one or two calls, of which data may choose."""
    header, middle, wheres, tests, calls_of, exits = draw.choice((INDEXED, SLICED))
    where, test, calls, leave = map(draw.choice, (wheres, tests, calls_of, exits))
    first = [f"    if {test}:", "        return 1"] if test else []
    early = [f"    if {leave}:", "        return 2"] if leave else []
    lines = [header, *([f"    where {where}"] if where else []), f"    let m = {middle}"]
    lines += draw.choice([first + early, early + first]) + (PART if "p" in "".join(calls) else [])
    recursive = [f"f(a, {call})" if header is INDEXED[0] else f"f(a[{call}])" for call in calls]
    if len(calls) == 1 and draw.random() < 0.2:
        lines += ["    if a[0] == 2:", f"        return {recursive[0]}", "    return 3"]
    elif len(calls) == 2 and draw.random() < 0.5:
        lines += ["    if a[0] > 1:", f"        return {recursive[0]}", f"    return {recursive[1]}"]
    else:
        lines += [f"    return {' + '.join([*recursive, '1'])}"]
    return "\n".join(lines) + "\n"


def list_inputs(module: Module) -> Iterator[tuple[dict[str, int], dict[str, object]]]:
    """Iterate over small sizes with the data of a run."""
    if not module.signatures[module.algorithms["f"]].indices:
        for length, numbers in product(range(LENGTH + 3), DATA):
            yield {"n": length}, {"a": np.array((*numbers, *numbers)[:length], dtype=np.int64)}
        return
    for lo, hi, numbers in product(INDICES, INDICES, DATA):
        yield {"n": LENGTH, "lo": lo, "hi": hi}, {"a": np.array(numbers), "lo": lo, "hi": hi}


def iterate_runs(module: Module) -> Iterator[tuple[dict[str, int], dict[str, int]]]:
    """Iterate over the sizes and the counts of all runs at small sizes that end."""
    for sizes, data in list_inputs(module):
        with suppress(ArchlineError):
            run = execute(module, module.algorithms["f"], data, compiled=False, races=False)
            yield sizes, executed(run.counts)


def check_program(text: str) -> tuple[Costs, list[str]]:
    """Derive the costs of a program, and compare them with all runs that end."""
    module = load_text(text)
    costs = derive(module, module.algorithms["f"])
    return costs, [x for sizes, counts in iterate_runs(module) for x in disagreements(costs, counts, sizes)]


@pytest.fixture(autouse=True)
def _shallow_recursion(monkeypatch: pytest.MonkeyPatch) -> None:
    """A recursion that does not end is stopped before it takes long."""
    monkeypatch.setattr(program, "MAX_DEPTH", 60)


@pytest.mark.parametrize("seed", range(drawn(200, 20)))
def test_bounds_hold_runs_that_exit(seed: int) -> None:
    text = write_program(Random(seed))
    _, wrong = check_program(text)
    assert not wrong, text


SEARCH = """
def search(a: int[n], x: int, lo: index, hi: index) -> int:
    where {where}
    {test}
        return -1
    m = (lo + hi)//2
    if a[m % n] == x:
        return m
    if a[m % n] > x:
        return search(a, x, lo, m - 1)
    return search(a, x, m + 1, hi)
"""
PROMISES = "n >= 1", "n >= 1, lo <= hi", "n >= 1, 0 <= lo, lo <= hi, hi < n", "n >= 1, lo <= hi + 1"


@pytest.mark.parametrize("where", PROMISES)
@pytest.mark.parametrize("test", ["if lo == hi:", "if lo >= hi:", "if lo > hi:"])
def test_binary_search_holds_runs(where: str, test: str) -> None:
    module = load_text(SEARCH.format(where=where, test=test))
    costs = derive(module, module.algorithms["search"])
    tried = 0
    for lo, hi, x in product(INDICES, INDICES, range(-1, 2 * LENGTH)):
        data = {"a": np.arange(0, 2 * LENGTH, 2), "x": x, "lo": lo, "hi": hi}
        with suppress(ArchlineError):
            run = execute(module, module.algorithms["search"], data, compiled=False, races=False)
            tried += 1
            assert not list(disagreements(costs, executed(run.counts), {"n": LENGTH, "lo": lo, "hi": hi}))
    assert tried
    # Where calls may leave an empty range behind, a test for one element need not end them.
    endless = test == "if lo == hi:" and where in ("n >= 1", "n >= 1, lo <= hi + 1")
    assert costs["work"].status == ("unknown" if endless else "bounded")


def test_values_at_sizes_end_where_the_indices_do(tmp_path: Path) -> None:
    """Neither the page nor the values follow calls whose indices the header does not allow."""
    path = tmp_path / "f.algo"
    path.write_text(
        "def f(a: int[n], lo: index, hi: index) -> int:\n"
        "    where lo <= hi\n    if a[0] == 0:\n        return 0\n    return f(a, lo, hi - 1)\n"
    )
    assert "<= 3*(hi - lo) + 4" in cli("cost", str(path)).out
    assert "3 .. 13" in cli("cost", str(path), "--at", "lo=2,hi=5,n=3").out
