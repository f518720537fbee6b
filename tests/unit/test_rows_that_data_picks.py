"""Misses of rows that the data picks: a row is read through its lines, and bounds hold in simulated caches."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import archline as al
from effort import all_of, some

HEADER = "col: index[k] below m, y: inout real[b]"
SHAPES = {
    "a row": f"""algorithm f(x: real[m, b], {HEADER}):
    for i in 0..k:
        for c in 0..b:
            y[c] += x[col[i], c]
""",
    "part of a row, backwards": f"""algorithm f(x: real[m, 2*b], {HEADER}):
    for i in 0..k:
        for c in 0..b:
            y[c] += x[col[i], 2*b - 1 - c]
""",
    "a row that is written": f"""algorithm f(x: inout real[m, b], {HEADER}):
    for i in 0..k:
        for c in 0..b:
            x[col[i], c] += y[c]
""",
    "two loops inside": f"""algorithm f(x: real[m, b, b], {HEADER}):
    for i in 0..k:
        for c in 0..b:
            for d in 0..b:
                y[c] += x[col[i], c, d]
""",
    "a row of a plane": f"""algorithm f(x: real[b, m, b], {HEADER}):
    for i in 0..k:
        for c in 0..b:
            for d in 0..b:
                y[c] += x[c, col[i], d]
""",
    "not along the line": f"""algorithm f(x: real[m, b] colmajor, {HEADER}):
    for i in 0..k:
        for c in 0..b:
            y[c] += x[col[i], c]
""",
    "a column": f"""algorithm f(x: real[b, m], {HEADER}):
    for i in 0..k:
        for c in 0..b:
            y[c] += x[c, col[i]]
""",
    "the row changes inside": f"""algorithm f(x: real[m, b], {HEADER}):
    for c in 0..b:
        for i in 0..k:
            y[c] += x[col[i], c]
""",
    "the same row again": f"""algorithm f(x: real[m, b], {HEADER}):
    for i in 0..k:
        for r in 0..3:
            for c in 0..b:
                y[c] += x[col[i], c]
""",
    "neighbours": f"""algorithm f(x: real[m, b + 2], {HEADER}):
    for i in 0..k:
        for c in 0..b:
            y[c] += x[col[i], c] + x[col[i], c + 1] - 2.0*x[col[i], c + 2]
""",
    "a stride": f"""algorithm f(x: real[m, 3*b], {HEADER}):
    for i in 0..k:
        for c in 0..b:
            y[c] += x[col[i], 3*c]
""",
    "a register": f"""algorithm f(x: real[m, b], {HEADER}):
    for i in 0..k:
        local j: int = col[i]
        for c in 0..b:
            y[c] += x[j, c]
            j = col[(i + c) % k]
""",
    "a register that stays": f"""algorithm f(x: real[m, b], {HEADER}):
    for i in 0..k:
        local j: int = col[i]
        for c in 0..b:
            y[c] += x[j, c]
""",
    "a view": f"""algorithm f(x: real[m, b], {HEADER}):
    for i in 0..k:
        let row = x[col[i], :]
        for c in 0..b:
            y[c] += row[c]
""",
    "a view made anew": f"""algorithm f(x: real[m, b], {HEADER}):
    for i in 0..k:
        for c in 0..b:
            let row = x[col[(i + c) % k], :]
            y[c] += row[c]
""",
    "a call": f"""algorithm add(row: real[b], y: inout real[b]):
    for c in 0..b:
        y[c] += row[c]

algorithm f(x: real[m, b], {HEADER}):
    for i in 0..k:
        add(x[col[i], :], y)
""",
    "a copy": f"""algorithm f(x: real[m, b], {HEADER}):
    for i in 0..k:
        y[:] = x[col[i], :]
""",
    "part of one row": f"""algorithm f(x: real[m*b], m: size, {HEADER}):
    for i in 0..k:
        for c in 0..b:
            y[c] += x[col[i]*b + c]
""",
    "a view of one row": f"""algorithm f(x: real[m*b], m: size, {HEADER}):
    for i in 0..k:
        let row = x[col[i]*b ..+ b]
        for c in 0..b:
            y[c] += row[c]
""",
    "a copy of one row": f"""algorithm f(x: real[m*b], m: size, {HEADER}):
    for i in 0..k:
        y[:] = x[col[i]*b ..+ b]
""",
    "a view that begins anywhere": f"""algorithm f(x: real[m + b, b], m: size, {HEADER}):
    for i in 0..k:
        let rows = x[col[i] ..+ b, :]
        for c in 0..b:
            for d in 0..b:
                y[c] += rows[d, c]
""",
    "a copy of columns": f"""algorithm f(x: real[b, m], {HEADER}):
    for i in 0..k:
        y[:] = x[:, col[i]]
""",
    "by blocks": """algorithm f(ptr: offsets[n] into k longest kr, x: real[m, b], v: real[k, b, b], col: index[k] below m,
            y: inout real[n, b]):
    for i in 0..n:
        for e in ptr[i]..ptr[i + 1]:
            for r in 0..b:
                for c in 0..b:
                    y[i, r] += v[e, r, c]*x[col[e], c]
""",
}


@cache
def program(name: str) -> al.Algorithm:
    return al.loads(SHAPES[name])["f"]


@pytest.mark.parametrize("name", some([*SHAPES], 2))
@settings(max_examples=all_of(5, 2), deadline=None)
@given(k=st.integers(1, 12), m=st.integers(1, 9), b=st.integers(1, 9), line=st.sampled_from([1, 2, 4, 8]),
       lines=st.integers(1, 40), seed=st.integers(0, 9))  # fmt: skip
def test_bounds_hold_in_simulated_caches(name: str, k: int, m: int, b: int, line: int, lines: int, seed: int) -> None:
    sizes = {"k": k, "m": m, "b": b, **({"n": 4, "kr": k} if name == "by blocks" else {})}
    run = program(name).run(sizes, cache=al.Cache(line * lines, line), seed=seed, compiled=False)
    assert not run.outside


@pytest.mark.parametrize(("words", "most"), [(256, 1000 * 4 + 125 + 4), (32, 2 * 1000 * 4 + 125)])
def test_a_row_is_read_through_its_lines(words: int, most: int) -> None:
    """Four lines of each row, one of `col` for eight rows, and y, once where it fits and for each row where not."""
    run = program("a row").run({"k": 1000, "m": 400, "b": 32}, cache=al.Cache(words, 8))
    assert not run.outside
    assert run.costs.io.at(k=1000, m=400, b=32, Z=words, L=8)[1] <= most


ROWS = """algorithm f(ptr: offsets[n] into k longest kr, col: index[k] below m, v: real[k], x: real[m, b],
            y: inout real[n, b]):
    for i in 0..n:
        for e in ptr[i]..ptr[i + 1]:
            for c in 0..b:
                y[i, c] += v[e]*x[col[e], c]
"""


@pytest.mark.parametrize(("text", "b"), [(SHAPES["by blocks"], 16), (ROWS, 32)])
def test_sparse_products_are_near_a_run(text: str, b: int) -> None:
    """A blocked matrix times a vector, and a matrix times several vectors: a run within a fifth of the upper bound."""
    sizes = {"n": 200, "m": 200, "k": 1000, "kr": 12, "b": b}
    run = al.loads(text)["f"].run(sizes, cache=al.Cache(256, 8))
    assert not run.outside
    assert run.counts.io is not None
    assert run.costs.io.at({**sizes, "Z": 256, "L": 8})[1] <= 1.2 * run.counts.io
