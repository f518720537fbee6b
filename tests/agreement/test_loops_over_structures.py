"""Loops whose counters are in records, in algorithms that they call, or in arrays: derived counts against runs."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

import archline as al
from archline.analysis.cost import enclose_count

Data = Callable[[random.Random, int], dict[str, Any]]


def _integers(**ends: tuple[int, int]) -> Data:
    """Return a generator of arrays of n integers, each between two ends."""
    return lambda source, n: {name: [source.randint(*end) for _ in range(n)] for name, end in ends.items()}


@dataclass(frozen=True)
class Structured:
    """A program, its data for a size n, and how its work grows at most in n."""

    text: str
    data: Data
    growth: Callable[[int], float] = float
    least: int = 1


PROGRAMS = {
    "next_greater": Structured(
        """
use structures.stack

algorithm next_greater(n: size, x: real[n], g: out int[n]):
    local S: stack[n]
    for i in 0..n:
        while not S.empty() and x[S.peek()] < x[i]:
            g[S.pop()] = i
        S.push(i)
    while not S.empty():
        g[S.pop()] = n
""",
        _integers(x=(0, 9), g=(0, 0)),
    ),
    "multipop": Structured(
        """
use structures.stack

algorithm multipop(n: size, o: int[n]) -> int:
    local S: stack[n]
    total = 0
    for i in 0..n:
        if o[i] == 0:
            S.push(i)
        else:
            k = o[i]
            while k > 0 and not S.empty():
                total += S.pop()
                k -= 1
    return total
""",
        _integers(o=(0, 3)),
    ),
    "shrink_to_length": Structured(
        """
use structures.stack

algorithm shrink_to_length(n: size, o: int[n]) -> int:
    local S: stack[n]
    total = 0
    for i in 0..n:
        S.push(i)
        while S.length() > o[i]:
            total += S.pop()
    return total
""",
        _integers(o=(0, 5)),
    ),
    "queue_of_stacks": Structured(
        """
use structures.stack

algorithm queue_of_stacks(n: size, o: int[n]) -> int:
    local A: stack[n]
    local B: stack[n]
    total = 0
    for i in 0..n:
        if o[i] > 0:
            A.push(o[i])
        else:
            if B.empty():
                while not A.empty():
                    B.push(A.pop())
            if not B.empty():
                total += B.pop()
    return total
""",
        _integers(o=(0, 2)),
    ),
    "parentheses": Structured(
        """
use structures.stack

algorithm parentheses(n: size, s: int[n]) -> bool:
    local S: stack[n]
    last = 0
    for i in 0..n:
        if s[i] == 1:
            S.push(i)
        else:
            if S.empty():
                return false
            last = S.pop()
    return S.empty()
""",
        _integers(s=(0, 1)),
    ),
    "drain": Structured(
        """
use structures.queue

algorithm drain(n: size, o: int[n]) -> int:
    local Q: queue[n]
    total = 0
    for i in 0..n:
        Q.push(o[i])
        if o[i] == 0:
            while not Q.empty():
                total += Q.pop()
    return total
""",
        _integers(o=(0, 2)),
    ),
    "runs_by_call": Structured(
        """
algorithm advance(n: size, a: int[n], i: int) -> int:
    j = i
    while j < n and a[j] == 0:
        j += 1
    return j

algorithm runs_by_call(n: size, a: int[n]) -> int:
    i = 0
    count = 0
    while i < n:
        i = advance(n, a, i)
        i += 1
        count += 1
    return count
""",
        _integers(a=(0, 1)),
    ),
    "runs_by_output": Structured(
        """
algorithm skip(n: size, a: int[n], i: inout int):
    while i < n and a[i] == 0:
        i += 1

algorithm runs_by_output(n: size, a: int[n]) -> int:
    local i: int = 0
    count = 0
    while i < n:
        skip(n, a, i)
        i += 1
        count += 1
    return count
""",
        _integers(a=(0, 1)),
    ),
    "hops": Structured(
        """
algorithm next(n: size, a: int[n], i: int) -> int:
    if a[i] == 0:
        return i + 1
    return i + 2

algorithm hops(n: size, a: int[n]) -> int:
    i = 0
    count = 0
    while i < n:
        i = next(n, a, i)
        count += 1
    return count
""",
        _integers(a=(0, 1)),
    ),
    "skip_twice": Structured(
        """
algorithm find(n: size, a: int[n], x: int, i: int) -> int:
    j = i
    while j < n:
        if a[j] == x:
            return j
        j += 1
    return n

algorithm skip_twice(n: size, a: int[n]) -> int:
    i = 0
    count = 0
    while i < n:
        i = find(n, a, 0, i)
        i = find(n, a, 1, i)
        i += 1
        count += 1
    return count
""",
        _integers(a=(0, 1)),
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_counts_of_runs_lie_in_bounds_over_the_whole_call(name: str) -> None:
    program = PROGRAMS[name]
    algorithm = al.loads(program.text)[name]
    costs = algorithm.report().costs
    assert not any(re.search(r"\bT\d+$", size) for size in costs["work"].upper.names)
    ratios = [float(enclose_count(costs["work"], {"n": n}).upper) / program.growth(n) for n in (2**8, 2**12)]
    assert ratios[1] <= 2 * ratios[0]
    source = random.Random(name)
    for _ in range(60):
        n = source.randrange(program.least, 15)
        counts = algorithm.run(**{"n": n, **program.data(source, n)}).counts
        for metric in ("work", "flops"):
            lower, upper = enclose_count(costs[metric], {"n": n}).ends
            assert lower <= getattr(counts, metric) <= upper, (metric, n)
