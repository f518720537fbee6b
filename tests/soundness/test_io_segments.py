"""Bounds of programs over segments, most of them empty or long, in caches of few lines."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from archline.execution.cache import optimal
from effort import drawn
from io_points import Arguments, subject

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
