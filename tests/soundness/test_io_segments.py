"""Lines that are given up while loops of the data run: bounds of programs over segments, most of them empty or long."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archline.algebra.evaluate.exact import evaluate
from archline.execution.cache import optimal
from effort import drawn
from io_points import Arguments, io_of, of_library, subject
from stdlib_cases import load

HEAD = """algorithm main(p: offsets[n] into m longest k, q: offsets[n] into w, v: real[m], u: real[w],
               y: inout real[n + 1], z: inout real[n + 1]):
    where m >= 0, w >= 0, k >= 0
    for i in 0..n:
        local s: real = 0
"""
PARTS = (
    "y[i] = s",
    "s += y[i] + y[i + 1]",
    "z[i] += s",
    "z[n - i] = y[i]",
    "for j in p[i]..p[i + 1]:\n            s += v[j]",
    "for j in p[i]..p[i + 1]:\n            s += v[j]*y[i]",
    "for j in q[i]..q[i + 1]:\n            s += u[j]",
    "for j in q[i]..q[i + 1]:\n            for h in p[i]..p[i + 1]:\n                s += v[h] + u[j]",
    "for j in q[i]..q[i + 1]:\n            s += u[j]\n            for h in 0..3:\n                s += z[h]",
    "if s > 0:\n            for j in p[i]..p[i + 1]:\n                s += v[j]",
)


def segments(lengths: Sequence[int]) -> np.ndarray:
    """Where segments of such lengths begin and end."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def data(first: Sequence[int], second: Sequence[int]) -> Arguments:
    """Segments of two vectors, and entries."""
    p, q = segments(first), segments(second)
    n = len(first)
    return {"p": p, "q": q, "v": np.ones(p[-1]), "u": np.ones(q[-1]), "y": np.ones(n + 1), "z": np.ones(n + 1)}


def checked(text: str, drawn: Arguments, line: int, most: int = 8) -> None:
    """Bounds hold what optimal replacement fetches, in caches of few lines."""
    found = subject(text)
    known = found.bounds
    assert not isinstance(known, str), known
    sizes, trace = found.trace(drawn, line)
    for lines in range(1, most + 1):
        lower, upper = known.ends({**sizes, "Z": lines * line, "L": line})
        fetched = optimal(trace, lines).io if trace.accesses else 0
        assert lower <= fetched <= upper, (
            f"{sizes}, {lines} lines of {line}: {lower} <= {fetched} <= {upper} in\n{text}"
        )


LENGTHS = st.integers(1, 12).flatmap(
    lambda n: st.tuples(*(st.lists(st.sampled_from([0, 0, 0, 1, 2, 7]), min_size=n, max_size=n) for _ in range(2)))
)


@settings(max_examples=drawn(40), deadline=None)
@given(st.lists(st.sampled_from(PARTS), min_size=2, max_size=4), LENGTHS, st.sampled_from([1, 2, 4, 16]))
def test_programs_over_segments(parts: list[str], lengths: tuple[list[int], list[int]], line: int) -> None:
    checked(HEAD + "".join(f"        {part}\n" for part in parts), data(*lengths), line)


CSR, CSC = "sparse.csr::spmv_csr", "sparse.csc::spmv_csc"


@pytest.mark.parametrize("line", [1, 4, 16])
@pytest.mark.parametrize("n", [1, 7, 48, 200])
def test_without_entries_two_lines_are_enough(n: int, line: int) -> None:
    # The offsets and y, one after the other.
    assert of_library(CSR, {"n": n, "nz": 0, "nr": 0, "m": 9, "Z": 2 * line, "L": line}) == -(-(n + 1) // line) + -(
        -n // line
    )


@pytest.mark.parametrize("entries", [1, 3])
def test_few_entries_cost_a_line_of_y_each(entries: int) -> None:
    # The line of y behind each row with an entry, or the next offset instead; and the three accesses to an entry.
    most = -(-49 // 16) + -(-48 // 16) + (1 + 3) * entries
    assert of_library(CSR, {"n": 48, "nz": entries, "nr": entries, "m": 9, "Z": 32, "L": 16}) == most


def test_long_columns_leave_their_lines_to_the_entries() -> None:
    # Four lines: of values, rows, x and y in the loop of entries; the offsets are fetched once or twice per column.
    n, nz, line = 8, 1000, 16
    streams = 2 * -(-nz // line) + -(-n // line)
    found = of_library(CSC, {"m": n, "nz": nz, "nc": 200, "n": 32, "Z": 4 * line, "L": line})
    assert streams + nz < found <= streams + nz + 2 * n


def test_reports_name_the_reuse_that_is_given_up() -> None:
    module, algorithm = load("sparse.block::spmv_block")
    partial = [
        resident for each in io_of(module, algorithm).alternatives for resident in each.kept if resident.given_up
    ]
    assert ("blk", "`for j` (line 17)", ("`for k` (line 19)",)) in {
        (resident.array, resident.loop, resident.given_up) for resident in partial
    }
    for resident in partial:
        # No more than a line for each access.
        assert (
            evaluate(resident.fetched, {"nb": 5, "nz": 10**6, "nmax": 10**5, "b": 9, "L": 4, "Z": 64}) <= 2 * 5**2 + 5
        )
