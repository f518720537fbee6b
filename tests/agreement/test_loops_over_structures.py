"""Loops whose counters are in records, in algorithms that they call, or in arrays: derived counts against runs."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from math import log2
from typing import Any

import pytest

import archline as al
from archline.analysis.cost import enclose_count
from effort import drawn

CHANGES = drawn(120)
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
    "failure_table": Structured(
        """
algorithm failure_table(n: size, p: int[n], fail: out int[n]):
    fail[0] = 0
    k = 0
    for i in 1..n:
        while k > 0 and p[k] != p[i]:
            k = fail[k - 1]
        if p[k] == p[i]:
            k += 1
        fail[i] = k
""",
        _integers(p=(0, 1), fail=(0, 0)),
    ),
    "matches": Structured(
        """
algorithm matches(n: size, t: int[n], p: int[n]) -> int:
    local fail: int[n]
    fail[0] = 0
    k = 0
    for i in 1..n:
        while k > 0 and p[k] != p[i]:
            k = fail[k - 1]
        if p[k] == p[i]:
            k += 1
        fail[i] = k
    k = 0
    count = 0
    for i in 0..n:
        while k > 0 and (k == n or p[k] != t[i]):
            k = fail[k - 1]
        if p[k] == t[i]:
            k += 1
        if k == n:
            count += 1
    return count
""",
        _integers(t=(0, 1), p=(0, 1)),
        least=2,
    ),
    "matches_by_call": Structured(
        """
algorithm failure(n: size, p: int[n], fail: out int[n]):
    fail[0] = 0
    k = 0
    for i in 1..n:
        while k > 0 and p[k] != p[i]:
            k = fail[k - 1]
        if p[k] == p[i]:
            k += 1
        fail[i] = k

algorithm matches_by_call(n: size, t: int[n], p: int[n]) -> int:
    local fail: int[n]
    failure(n, p, fail)
    k = 0
    count = 0
    for i in 0..n:
        while k > 0 and p[k] != t[i]:
            k = fail[k - 1]
        if p[k] == t[i]:
            k += 1
        if k == n:
            count += 1
            k = fail[k - 1]
    return count
""",
        _integers(t=(0, 1), p=(0, 1)),
        least=2,
    ),
    "matches_by_assumption": Structured(
        """
algorithm matches_by_assumption(n: size, t: int[n], p: int[n], fail: int[n]) -> int:
    k = 0
    count = 0
    for i in 0..n:
        while k > 0 and p[k] != t[i]:
            assume fail[k - 1] < k
            k = fail[k - 1]
        if p[k] == t[i]:
            k += 1
        if k == n:
            count += 1
            k = 0
    return count
""",
        _integers(t=(0, 1), p=(0, 1), fail=(0, 0)),
    ),
    "skip_list": Structured(
        """
algorithm skip_list(n: size, a: int[n], next: out int[n]) -> int:
    i = n
    while i > 0:
        i -= 1
        j = i + 1
        while j < n and a[j] <= a[i]:
            j = next[j]
        next[i] = j
    count = 0
    k = 0
    while k < n:
        k = next[k]
        count += 1
    return count
""",
        _integers(a=(0, 5), next=(0, 0)),
        growth=lambda n: n * n,
    ),
    "parents": Structured(
        """
algorithm parents(n: size, a: int[n]) -> int:
    local parent: int[n]
    total = 0
    for i in 0..n:
        parent[i] = i
        if i > 0 and a[i] > 0:
            parent[i] = i - 1
        x = i
        while parent[x] != x:
            x = parent[x]
            total += 1
    return total
""",
        _integers(a=(0, 3)),
        growth=lambda n: n * n,
    ),
    "heapsort": Structured(
        """
algorithm heapsort(n: size, h: inout int[n]):
    for k in 0..n:
        i = k
        while i > 0 and h[(i - 1)//2] < h[i]:
            j = (i - 1)//2
            t = h[j]
            h[j] = h[i]
            h[i] = t
            i = j
    m = n
    while m > 1:
        m -= 1
        t = h[0]
        h[0] = h[m]
        h[m] = t
        i = 0
        c = 1
        while c < m:
            if c + 1 < m and h[c + 1] > h[c]:
                c += 1
            if h[c] <= h[i]:
                break
            t = h[c]
            h[c] = h[i]
            h[i] = t
            i = c
            c = 2*i + 1
""",
        _integers(h=(0, 9)),
        growth=lambda n: n * log2(n),
    ),
    "insert_all": Structured(
        """
algorithm insert_all(n: size, x: int[n], h: out int[n]):
    local count: int = 0
    for k in 0..n:
        h[count] = x[k]
        i = count
        count += 1
        while i > 0 and h[(i - 1)//2] > h[i]:
            j = (i - 1)//2
            t = h[j]
            h[j] = h[i]
            h[i] = t
            i = j
""",
        _integers(x=(0, 9), h=(0, 0)),
        growth=lambda n: n * log2(n),
    ),
    "through_two_calls": Structured(
        """
algorithm skip_zeros(n: size, a: int[n], i: int) -> int:
    j = i
    while j < n and a[j] == 0:
        j += 1
    return j

algorithm skip_run(n: size, a: int[n], i: int) -> int:
    j = skip_zeros(n, a, i)
    while j < n and a[j] == 1:
        j += 1
    return j

algorithm through_two_calls(n: size, a: int[n]) -> int:
    i = 0
    count = 0
    while i < n:
        i = skip_run(n, a, i) + 1
        count += 1
    return count
""",
        _integers(a=(0, 2)),
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


GRAPHS = {
    "reachable": """
use structures.queue
use structures.graph

algorithm reachable(G: graph[V, E], s: int, seen: inout bool[V]):
    assume 0 <= s, s < V
    local Q: queue[V + 1]
    Q.push(s)
    seen[s] = true
    while not Q.empty():
        u = Q.pop()
        for v in G.neighbors(u):
            if not seen[v]:
                seen[v] = true
                Q.push(v)
""",
    "depth_first": """
use structures.stack
use structures.graph

algorithm depth_first(G: graph[V, E], s: int, seen: out int[V]) -> int:
    assume 0 <= s, s < V
    seen[:] = 0
    local S: stack[E + 1]
    S.push(s)
    count = 0
    while not S.empty():
        u = S.pop()
        if seen[u] == 0:
            seen[u] = 1
            count += 1
            for v in G.neighbors(u):
                if seen[v] == 0:
                    S.push(v)
    return count
""",
    "breadth_first": """
use structures.queue
use structures.graph

algorithm breadth_first(G: graph[V, E], s: int, seen: out int[V]):
    assume 0 <= s, s < V
    seen[:] = -1
    local Q: queue[V]
    Q.push(s)
    seen[s] = 0
    while not Q.empty():
        u = Q.pop()
        for v in G.neighbors(u):
            if seen[v] == -1:
                seen[v] = seen[u] + 1
                Q.push(v)
""",
    "breadth_first_from_arrays": """
use structures.graph

algorithm breadth_first_from_arrays(G: graph[V, E], s: int, seen: out int[V]) -> int:
    assume 0 <= s, s < V
    for v in 0..V:
        seen[v] = 0
    local queue: int[V]
    head = 0
    tail = 1
    queue[0] = s
    seen[s] = 1
    while head < tail:
        u = queue[head]
        head += 1
        for k in G.ptr[u]..G.ptr[u + 1]:
            if seen[G.adj[k]] == 0:
                seen[G.adj[k]] = 1
                queue[tail] = G.adj[k]
                tail += 1
    return tail
""",
    "components": """
use structures.stack
use structures.graph

algorithm components(G: graph[V, E], s: int, seen: out int[V]) -> int:
    seen[:] = 0
    local S: stack[V]
    count = 0
    for r in 0..V:
        if seen[r] == 0:
            count += 1
            seen[r] = 1
            S.push(r)
            while not S.empty():
                u = S.pop()
                for v in G.neighbors(u):
                    if seen[v] == 0:
                        seen[v] = 1
                        S.push(v)
    return count
""",
    "reach_twice": """
use structures.stack
use structures.graph

algorithm reach(G: graph[V, E], s: int, seen: inout int[V]):
    local S: stack[V]
    if seen[s] == 0:
        seen[s] = 1
        S.push(s)
    while not S.empty():
        u = S.pop()
        for v in G.neighbors(u):
            if seen[v] == 0:
                seen[v] = 1
                S.push(v)

algorithm reach_twice(G: graph[V, E], s: int, seen: out int[V]):
    assume 0 <= s, s < V
    seen[:] = 0
    for r in 0..V:
        reach(G, r, seen)
""",
}


def _draw_graph(source: random.Random, vertices: int, edges: int) -> dict[str, Any]:
    ends = sorted(source.randint(0, edges) for _ in range(vertices - 1))
    return {"G.ptr": [0, *ends, edges], "G.adj": [source.randrange(vertices) for _ in range(edges)]}


@pytest.mark.parametrize("name", GRAPHS)
def test_searches_of_graphs_take_linear_time(name: str) -> None:
    algorithm = al.loads(GRAPHS[name])[name]
    costs = algorithm.report().costs
    assert costs["work"].upper.names <= {"V", "E"}
    for point in ({"V": 100, "E": 10_000}, {"V": 10_000, "E": 100}):
        assert enclose_count(costs["work"], point).upper <= 40 * sum(point.values())
    source = random.Random(name)
    for _ in range(80):
        vertices, edges = source.randint(1, 7), source.randint(1, 14)
        graph = _draw_graph(source, vertices, edges)
        run = algorithm.run(**graph, s=source.randrange(vertices), seen=[0] * vertices)
        lower, upper = enclose_count(costs["work"], {"V": vertices, "E": edges}).ends
        assert lower <= run.counts.work <= upper, (graph, run.counts.work)


ROWS_AGAIN = """
use structures.graph

algorithm rows_again(G: graph[V, E], s: int, w: int[V], seen: out int[V]) -> int:
    assume 0 <= s, s < V
    seen[:] = 0
    local queue: int[V]
    head = 0
    tail = 1
    queue[0] = s
    step = 0
    while head < tail and step < V:
        step += 1
        u = queue[head]
        head += 1
        for k in G.ptr[u]..G.ptr[u + 1]:
            if seen[G.adj[k]] == 0:
                seen[G.adj[k]] = 1
                queue[tail] = G.adj[k]
                tail += 1
        head = w[head - 1]
    return tail
"""


def test_items_that_are_taken_again_are_counted_again() -> None:
    """The register at which a queue begins goes back to where data says."""
    algorithm = al.loads(ROWS_AGAIN)["rows_again"]
    cost = algorithm.report().costs["work"]
    vertices, edges = 12, 40
    graph = {"G.ptr": [0, *[edges] * vertices], "G.adj": [0] * edges}
    run = algorithm.run(**graph, s=0, w=[0] * vertices, seen=[0] * vertices)
    lower, upper = enclose_count(cost, {"V": vertices, "E": edges}).ends
    assert lower <= run.counts.work <= upper


ONE_NAME = {
    "integer and real": """
algorithm loops(n: size, m: size, x: real[1]) -> int:
    t = 0
    for i in 0..n:
        local b: int = i
        t += b
    j = 0
    k = 0
    while j < n and k < m:
        k += 1
        local b: real = x[0]
        if b <= 0 or b >= 1:
            j += 1
    return k
""",
    "arrays of two extents": """
algorithm loops(n: size, m: size, x: real[1]) -> int:
    i = 0
    k = 0
    for r in 0..1:
        local b: int[m]
        while i < m and x[0] > 0:
            b[i] = 1
            i += 1
            k += 1
    for r in 0..1:
        local b: int[n]
        b[0] = 1
    return k
""",
}


@pytest.mark.parametrize("name", ONE_NAME)
def test_names_that_stand_for_several_things_are_told_apart(name: str) -> None:
    algorithm = al.loads(ONE_NAME[name])["loops"]
    cost = algorithm.report().costs["work"]
    for n, m in ((1, 20), (20, 1), (5, 5)):
        run = algorithm.run(n=n, m=m, x=[0.5])
        lower, upper = enclose_count(cost, {"n": n, "m": m}).ends
        assert lower <= run.counts.work <= upper, (n, m)


@pytest.mark.parametrize("seed", range(CHANGES))
def test_bounds_hold_for_changed_programs(seed: int) -> None:
    """Lines are moved, repeated or changed, so that marks are set again, and facts about elements fail."""
    source = random.Random(seed)
    name = source.choice([*PROGRAMS, *GRAPHS])
    program = PROGRAMS.get(name)
    text = _change_lines(GRAPHS[name] if program is None else program.text, source)
    try:
        algorithm = al.loads(text)[name]
        cost = algorithm.report().costs["work"]
    except al.ArchlineError:
        return
    if cost.upper is None or any(re.search(r"\bT\d*$", size) for size in cost.upper.names):
        return
    for _ in range(12):
        n, edges = source.randint(2, 8), source.randint(1, 8)
        at = {"V": n, "E": edges} if program is None else {"n": n}
        data = (
            {**_draw_graph(source, n, edges), "s": source.randrange(n), "seen": [0] * n}
            if program is None
            else {"n": n, **program.data(source, n)}
        )
        try:
            counts = algorithm.run(**data).counts
        except al.ArchlineError:
            # The run stops at an assumption or a subscript.
            continue
        lower, upper = enclose_count(cost, at).ends
        assert lower <= counts.work <= upper, (text, data)


def _change_lines(text: str, source: random.Random) -> str:
    """Return a program with one or two statements that are changed."""
    lines = text.strip().split("\n")
    for _ in range(source.randint(1, 2)):
        inner = [place for place, line in enumerate(lines) if line.startswith("    ")]
        place = source.choice(inner)
        line = lines[place]
        margin = line[: len(line) - len(line.lstrip())]
        match source.randrange(5):
            case 0 if not line.endswith(":"):
                lines[place] = f"{margin}pass"
            case 1:
                lines[place] = re.sub(r"\b[01]\b", lambda _: str(source.randint(0, 2)), line)
            case 2:
                lines[place] = line.replace("==", "!=") if "==" in line else line.replace("!=", "==")
            case 3 if not (other := lines[source.choice(inner)]).endswith(":"):
                lines.insert(place, margin + other.strip())
            case _:
                lines[place] = line.replace("+ 1", "- 1").replace("<", "<=")
    return "\n".join(lines) + "\n"
