"""Determinacy races: planted ones are found, with both places; programs without one are not accused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import MODES, TRIED_MODES, drawn, long, some
from executor_programs import codes, message, run

HELPERS = """
algorithm add(x: inout real[n], v: real):
    for i in 0..n:
        x[i] += v

algorithm total(x: real[n], s: inout real[m]):
    for i in 0..n:
        s[0] += x[i]

algorithm atomically(x: inout real[n]):
    atomic x[0] += 1

algorithm fork(x: inout real[n]):
    spawn add(x[0..1], 1)
    add(x[1..n], 1)

algorithm work_on(x: inout real[n]):
    local W: real[n] = 0
    for i in 0..n:
        W[i] += x[i]
    x[0..n] = W
"""


def program(body: str) -> str:
    lines = "\n".join("    " + line for line in body.split("\n"))
    return f"{HELPERS}\nalgorithm f(x: inout real[n], y: inout real[n], k: inout int[n]):\n{lines}\n"


DATA = {"x": np.ones(6), "y": np.ones(6), "k": np.array([0, 1, 2, 3, 4, 2])}

RACES = [
    "parallel for i in 0..n:\n    x[0] = 1",
    "parallel for i in 0..n:\n    x[0] += y[i]",
    "parallel for i in 0..n - 1:\n    x[i] = x[i + 1]",
    "parallel for i in 1..n:\n    x[i] = x[i - 1]",
    "parallel for i in 0..n:\n    x[k[i]] = 1",
    "parallel for i in 0..n:\n    atomic x[0] += 1\n    y[i] = x[0]",
    "parallel for i in 0..n:\n    if i == 3:\n        x[0] = 1\n    else:\n        atomic x[0] += 1",
    "parallel for i in 0..n:\n    parallel for j in 0..n:\n        x[i] = 1",
    "parallel for i in 0..n:\n    parallel for j in 0..n:\n        x[j] = 1",
    "parallel for i in 0..2:\n    x[0..n] = y[0]",
    "parallel for i in 0..2:\n    x[i..i + 2] = y[0..2]",
    "spawn add(x, 1)\nadd(x, 2)",
    "spawn add(x, 1)\nspawn add(x[5..6], 2)",
    "spawn add(x[0..3], 1)\nspawn add(x[2..6], 2)",
    "spawn add(x, 1)\ny[0] = x[0]",
    "spawn total(x, y)\nx[5] = 1",
    "spawn total(x, y)\nspawn total(x, y)",
    "spawn add(x[0..2], 1)\nspawn add(x[2..4], 1)\nsync\nspawn add(x[0..2], 1)\nx[1] = 1",
    "spawn fork(x)\nx[0] = 1",
    "spawn fork(x)\nx[5] = 1",
    "spawn add(x, 1)\nif n > 2:\n    sync\n    spawn add(x[0..1], 1)\nx[0] = 1",
    "spawn atomically(x)\nx[0] += 1",
    "local s: real = 0\nparallel for i in 0..n:\n    s += x[i]",
    "local s: real = 0\nparallel for i in 0..n:\n    if x[i] > s + 2:\n        y[i] = s\n    else:\n        s = x[i]",
    "local W: real[n] = 0\nparallel for i in 0..n:\n    W[i//2] = 1",
    "local W: real[n] = 0\nspawn add(W, 1)\nW[0] = 1",
    "let v = x[0..n step 2]\nlet w = x[4..6]\nspawn add(v, 1)\nadd(w, 1)",
    "parallel for i in 0..n:\n    k[0] max= i",
]

LEGAL = [
    "parallel for i in 0..n:\n    x[i] += y[0]",
    "parallel for i in 0..n:\n    atomic x[0] += y[i]",
    "parallel for i in 0..n:\n    atomic x[k[i]] += 1\nx[0] = 1",
    "parallel for i in 0..1:\n    x[0] = 1",
    "for i in 0..n:\n    x[0] = 1",
    "x[0] = 1\nparallel for i in 0..n:\n    y[i] = x[0]\nx[0] = y[0]",
    "parallel for i in 0..n:\n    x[i] = 1\nparallel for i in 0..n:\n    x[n - 1 - i] = 1",
    "parallel for i in 0..n:\n    local W: real[2]\n    W[0] = x[i]\n    x[i] = W[0]",
    "parallel for i in 0..n:\n    local s: real = 0\n    s += x[i]\n    x[i] = s",
    "parallel for i in 0..n:\n    parallel for j in 0..i:\n        atomic x[j] += 1",
    "parallel for i in 0..n:\n    work_on(x[i..i + 1])",
    "spawn work_on(x[0..3])\nwork_on(x[3..6])",
    "spawn add(x[0..3], 1)\nspawn add(x[3..6], 2)\nsync\nadd(x, 1)",
    "spawn add(x, 1)\nsync\nspawn add(x, 1)",
    "spawn total(x, y[0..1])\nspawn total(x, y[1..2])\ny[2] = x[0]",
    "spawn add(x[0..n step 2], 1)\nspawn add(x[1..n step 2], 1)",
    "spawn fork(x[0..3])\nfork(x[3..6])\nsync\nfork(x)",
    "fork(x)\nfork(x)",
    "spawn fork(y)\nfork(x)\nx[0] = 1\nx[5] = 1",
    "spawn atomically(x)\nspawn atomically(x)\natomic x[0] += 1",
    "if n > 2:\n    local W: real[1]\n    spawn add(x, 1)\nx[0] = 1",
    "for i in 0..2:\n    local W: real[1]\n    spawn add(x, 1)",
    "local s: real = 0\nparallel for i in 0..n:\n    x[i] += s\ns = x[0]",
    "local s: real = 0\nparallel for i in 0..1:\n    s += x[i]",
    "parallel for i in 0..n:\n    assume x[0] > 0\n    y[i] = 1",
]


@pytest.mark.parametrize("body", RACES)
def test_races_are_found(body: str) -> None:
    assert codes(program(body), DATA) == ["AL516"]
    assert codes(program(body), DATA, races=False) == []


@pytest.mark.parametrize("body", LEGAL)
def test_legal_programs_are_not_accused(body: str) -> None:
    assert codes(program(body), DATA) == []


def on_grid(body: str) -> str:
    lines = "\n".join("    " + line for line in body.split("\n"))
    return f"{HELPERS}\nalgorithm f(x: inout local real[n], y: inout local real[n]) on grid(t: P):\n{lines}\n"


ON_GRID = {
    "parallel for i in 0..n:\n    x[0] += y[i]": True,
    "parallel for i in 0..n:\n    x[i] += y[0]\nx[0] = 1": False,
    "spawn add(x, 1)\ny[0] = x[0]": True,
    "spawn add(x, 1)\nsync\ny[0] = x[0]": False,
    "kernel(x)": True,
    "x[0] = 1\nfork(x)\nx[0] = y[0]\nshift x along t by 1\nfork(x)\nx[5] = 1": False,
}
KERNEL = "\nalgorithm kernel(x: inout real[n]):\n    parallel for i in 0..n:\n        x[0] += 1\n"


@pytest.mark.parametrize("body", some(list(ON_GRID)))
@pytest.mark.parametrize("compiled", MODES)
def test_races_on_processors_of_a_grid(body: str, compiled: bool) -> None:
    """In their own program, and in what it calls, which has joined when the call returns."""
    data = {"x": np.ones((2, 6)), "y": np.ones((2, 6)), "P": 2}
    text = KERNEL + on_grid(body)
    assert codes(text, data, "f", compiled=compiled) == (["AL516"] if ON_GRID[body] else [])


@long
def test_compiled_code_finds_the_same() -> None:
    branches = []
    bodies = [*RACES[1:28:7], *LEGAL[2:25:9]]
    for number, body in enumerate(bodies):
        inner = "\n".join("    " + line for line in body.split("\n"))
        branches.append(f"if which == {number + 1}:\n{inner}")
    text = program("\n".join(branches)).replace("k: inout int[n])", "k: inout int[n], which: size)")
    for number, body in enumerate(bodies):
        expected = ["AL516"] if body in RACES else []
        assert codes(text, {**DATA, "which": number + 1}, compiled=True) == expected, body


def test_both_places_are_reported() -> None:
    report = message(program("spawn add(x, 1)\ny[0] = 3*x[0]"), DATA)
    head = report.splitlines()[0]
    lines = program("spawn add(x, 1)\ny[0] = 3*x[0]").splitlines()
    read, write = lines.index("    y[0] = 3*x[0]") + 1, lines.index("        x[i] += v") + 1
    assert head.startswith(f"<text>:{read}:14: AL516: ")
    assert "`x[0]` is read" in head
    assert f"on line {write} `x[i]` is updated in a parallel strand" in head


def test_views_may_overlap_where_elements_do_not() -> None:
    text = """
algorithm diagonal(A: inout real[n, n]):
    for i in 0..n:
        A[i, i] += 1

algorithm f(A: inout real[n, n], m: size):
    spawn diagonal(A[0..m, 0..m])
    diagonal(A[0..m, 1..m + 1])
"""
    assert codes(text, {"A": np.zeros((4, 4)), "m": 3}) == []


def test_many_tasks() -> None:
    text = """
algorithm tree(x: inout real[n]):
    if n == 1:
        x[0] += 1
    else:
        spawn tree(x[0..n//2])
        spawn tree(x[n//2..n])
        sync
        x[0] += x[n - 1]
"""
    for compiled in TRIED_MODES:
        result = run(text, {"x": np.zeros(1500)}, compiled=compiled)
        assert result.outputs["x"][1499] == 1
    assert codes(text.replace("        sync\n", ""), {"x": np.zeros(64)}) == ["AL516"]


@settings(max_examples=drawn(60), deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.booleans()), min_size=1, max_size=5))
def test_iterations_race_iff_their_accesses_meet(touched: list[tuple[int, int, bool]]) -> None:
    """Iteration i reads one element and updates another, atomically or not: any two of them are parallel."""
    text = """
algorithm f(x: inout real[m], r: int[n], w: int[n], a: int[n]):
    parallel for i in 0..n:
        local t: real = x[r[i]]
        if a[i] == 1:
            atomic x[w[i]] += 1
        else:
            x[w[i]] = t
"""
    columns = [list(column) for column in zip(*touched, strict=True)]
    arguments = {"x": np.ones(4), "r": columns[0], "w": columns[1], "a": [int(each) for each in columns[2]]}
    pairs = [(one, other) for k, one in enumerate(touched) for other in touched[:k]]
    meet = any(
        (w1 in (r2, w2) and not (w1 == w2 and w1 != r2 and a1 and a2)) or w2 in (r1,)
        for (r1, w1, a1), (r2, w2, a2) in pairs
    )
    assert codes(text, arguments) == (["AL516"] if meet else [])
