"""Loops without a bound, and exits, on grids: all processors of a group leave those with messages together."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import archline as al
from archline.language.loader import load_text
from archline.language.lockstep import find_progress
from cli_support import cli
from effort import drawn
from executor_programs import message

PROCESSORS = (1, 2, 3, 4, 7)
JACOBI = """
algorithm jacobi(b: local real[m], x: inout local real[m], eps: real) on grid(r: P):
    local y: real[m]
    local error: real = eps + 1.0
    while error > eps iterations T:
        local left: real = 0.0
        local right: real = 0.0
        exchange x[m - 1 ..+ 1] to (r + 1) when r + 1 < P into left from (r - 1) when r > 0
        exchange x[0 ..+ 1] to (r - 1) when r > 0 into right from (r + 1) when r + 1 < P
        error = 0.0
        for i in 0..m:
            local before: real = left
            local after: real = right
            if i > 0:
                before = x[i - 1]
            if i < m - 1:
                after = x[i + 1]
            y[i] = (b[i] + before + after)/4.0
            error max= abs(y[i] - x[i])
        x[:] = y
        allreduce error with max
"""
CONJUGATE_GRADIENTS = """
algorithm dot(x: local real[m], y: local real[m], s: out local real[1]) on grid(r: P):
    s[0] = 0.0
    for i in 0..m:
        s[0] += x[i]*y[i]
    allreduce s with +

algorithm cg(A: local real[m, n], b: local real[m], x: out local real[m], eps: real) on grid(r: P):
    where n == m*P
    local p: real[m] = b
    local left: real[m] = b
    local q: real[m]
    local whole: real[n]
    local new: real[1]
    local pq: real[1]
    x[:] = 0.0
    dot(left, left, new)
    while new[0] > eps iterations T:
        allgather p into whole
        for i in 0..m:
            local sum: real = 0.0
            for j in 0..n:
                sum += A[i, j]*whole[j]
            q[i] = sum
        dot(p, q, pq)
        local old: real = new[0]
        for i in 0..m:
            x[i] += old/pq[0]*p[i]
            left[i] -= old/pq[0]*q[i]
        dot(left, left, new)
        for i in 0..m:
            p[i] = left[i] + new[0]/old*p[i]
"""


def ran(text: str, name: str, **data: Any) -> Any:
    """Run, and check that all counts lie within their derived bounds."""
    run = al.loads(text)[name].run(**data)
    assert run.outside == (), str(run)
    return run


@pytest.mark.parametrize("count", PROCESSORS)
def test_jacobi_iterates_until_the_error_of_all_processors_is_small(count: int) -> None:
    m = 3
    run = ran(JACOBI, "jacobi", b=np.ones((count, m)), x=np.zeros((count, m)), eps=1e-6, P=count)
    n = count * m
    matrix = 4 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    assert np.allclose(matrix @ run.outputs["x"].reshape(-1), np.ones(n), atol=1e-5)
    counts = run.view.counts
    iterations = run.execution.iterations["T"]
    neighbours = min(count - 1, 2)
    assert counts.executed["messages"] <= iterations * (neighbours + (count - 1).bit_length() + 1)
    assert counts.derived["flops"].upper == counts.executed["flops"]


@pytest.mark.parametrize("count", PROCESSORS)
def test_conjugate_gradients_solve_a_system(count: int) -> None:
    m, random = 2, np.random.default_rng(count)
    n = m * count
    part = random.standard_normal((n, n))
    matrix, b = part @ part.T + n * np.eye(n), random.standard_normal(n)
    rows = matrix.reshape(count, m, n)
    data = {"A": rows, "b": b.reshape(count, m), "x": np.zeros((count, m)), "eps": 1e-18, "P": count}
    run = ran(CONJUGATE_GRADIENTS, "cg", **data)
    assert np.allclose(matrix @ run.outputs["x"].reshape(-1), b)
    assert run.view.counts.derived["flops"].upper == run.view.counts.executed["flops"]


def costs(text: str, name: str) -> dict[str, list[str]]:
    report = al.loads(text)[name].report()
    found = {metric: report.cost(metric) for metric in ("work", "words", "messages")}
    return {
        metric: [str(report.write(bound)) for bound in dict.fromkeys((cost.lower, cost.upper)) if bound is not None]
        for metric, cost in found.items()
    }


def test_costs_are_linear_in_the_iterations() -> None:
    text = """
algorithm f(x: inout local real[m], k: size) on grid(r: P):
    local step: int = 0
    while step < 2*k iterations T:
        step += 1
        shift x along r by 1
"""
    assert costs(text, "f")["words"] == ["m*T*min(P, 2) - m*T"]
    assert costs(text, "f")["work"] == ["5*T + 3"]


LOCAL = """
algorithm halve(k: local int[1], y: inout local int[1], n: size) on grid(r: P):
    for i in 0..n:
        local v: int = k[0] + i
        while v > 1 iterations T:
            v = v//2
            y[0] += 1
"""


def test_iterations_are_the_largest_number_of_a_processor() -> None:
    assert costs(LOCAL, "halve")["work"] == ["4*n + 5*T + 1"]
    run = ran(LOCAL, "halve", k=[[1], [9], [3]], y=[[0], [0], [0]], n=1, P=3)
    assert (run.execution.iterations["T"], run.outputs["y"].tolist()) == (3, [[0], [3], [1]])


def test_a_path_may_iterate_on_several_processors() -> None:
    text = LOCAL.replace("            y[0] += 1", "            y[0] += 1\n        allreduce v with max")
    lower, upper = costs(text, "halve")["work"]
    assert (lower, "5*T*P" in upper) == ("7*n + 5*T + 1", True)
    run = ran(text, "halve", k=[[1], [7]], y=[[0], [0]], n=2, P=2)
    assert run.execution.iterations["T"] == 5


def test_of_a_loop_that_all_go_through_alike_one_processor_has_all_iterations() -> None:
    text = """
algorithm f(y: inout local int[1], n: size) on grid(r: P):
    for i in 0..n:
        local v: int = i
        while v > 1 iterations T:
            v = v//2
        allreduce y with max
"""
    module = load_text(text)
    (progress,) = find_progress(module, module.algorithms["f"]).values()
    assert progress.is_aligned
    assert costs(text, "f")["work"] == ["3*n*ceil(log2(P)) + 6*n + 4*T + 1"]


LINE = "algorithm f(x: inout local real[m], y: inout local real[m], k: size) on grid(r: P):\n"
SQUARE = "algorithm f(x: inout local real[m], y: inout local real[m], g: size, k: size) on grid(i: g, j: g):\n"
HELPER = """
algorithm h(x: inout local real[m], s: out local real[1], all: int) on grid(q: P):
    s[0] = x[0]
    x[0] = x[0]/2.0
    if all > 0:
        allreduce s along q with max
    else:
        s[0] = real_of(all)
"""
TOGETHER = {
    "a sum of all": LINE + "    local s: real = x[0]\n    allreduce s with +\n    while s > 1.0:\n        s = s/2.0\n"
    "        shift x along r by 1\n",
    "a maximum in the loop": LINE + "    local s: real = 2.0\n    while s > 1.0:\n        x[0] = x[0]/2.0\n"
    "        s = x[0]\n        allreduce s with max\n",
    "repeat": LINE + "    local s: real = 2.0\n    repeat:\n        x[0] = x[0]/2.0\n        s = x[0]\n"
    "        allreduce s with max\n    until s < 1.0\n",
    "break": LINE + "    for t in 0..k:\n        local s: real = x[0] - real_of(t)\n        allreduce s with max\n"
    "        if s < 1.0:\n            break\n        shift x along r by 1\n",
    "return in a loop": LINE + "    for t in 0..k:\n        local s: real = x[0] - real_of(t)\n"
    "        broadcast s from 0\n        if s < 1.0:\n            return\n        shift x along r by 1\n"
    "    allreduce x with +\n",
    "a sum along one axis": SQUARE + "    local s: real = x[0]\n    allreduce s along i with max\n"
    "    while s > 1.0:\n        s = s/2.0\n        shift x along i by 1\n",
    "both axes": SQUARE
    + "    local s: real = x[0]\n    allreduce s along i with max\n    allreduce s along j with max\n"
    "    while s > 1.0:\n        s = s/2.0\n        shift x along i by 1\n        shift x along j by 1\n",
    "a helper": HELPER + LINE + "    local s: real[1] = 4.0\n    while s[0] > 1.0:\n        h(x, s, 1)\n",
    "a branch that all take": LINE + "    local s: real = x[0]\n    allreduce s with max\n    local t: real = 0.0\n"
    "    if s > 2.0:\n        t = s\n    while t > 1.0:\n        t = t/2.0\n        shift x along r by 1\n",
}
"""Programs whose processors leave a loop together."""


@pytest.mark.parametrize("text", TOGETHER.values(), ids=TOGETHER)
def test_processors_may_communicate_in_a_loop_that_they_leave_together(text: str) -> None:
    square = "i: g" in text
    for count in (1, 4) if square else PROCESSORS:
        values = np.random.default_rng(count).uniform(0, 9, (2, count, 2))
        shape = (1, 1, 2) if count == 1 else (2, 2, 2)
        x, y = values.reshape(2, *shape) if square and "P" not in text else values
        sizes = {"g": 1 if count == 1 else 2} if square else {"P": count}
        ran(text, "f", x=x.reshape(count, 2), y=y.reshape(count, 2), k=5, **sizes)


APART = {
    "its own data": LINE + "    while x[0] > 1.0: #!\n        x[0] = x[0]/2.0\n        shift x along r by 1\n",
    "a received value": LINE + "    local s: real = 2.0\n    while s > 1.0: #!\n"
    "        exchange s to ((r + 1)%P) into s from ((r - 1)%P)\n",
    "a reduction onto one": LINE + "    local s: real = x[0]\n    reduce s onto 0 with +\n    while s > 1.0: #!\n"
    "        s = s/2.0\n        shift x along r by 1\n",
    "the coordinate": LINE + "    local s: real = real_of(r)\n    while s > 1.0: #!\n        s = s/2.0\n"
    "        shift x along r by 1\n",
    "break": LINE + "    for t in 0..k: #!\n        shift x along r by 1\n        if x[0] > 1.0:\n            break\n",
    "a break that some come to": LINE + "    local s: real = x[0]\n    allreduce s with max\n    for t in 0..k: #!\n"
    "        shift x along r by 1\n        if r > 0 and s > 1.0:\n            break\n",
    "return": LINE + "    while true: #!\n        local s: real = x[0]\n        allreduce s with max\n"
    "        if s > 1.0:\n            if x[0] > 0.5:\n                return\n            else:\n                x[0] += 1.0\n",
    "another axis": SQUARE + "    local s: real = x[0]\n    allreduce s along i with max\n    while s > 1.0: #!\n"
    "        s = s/2.0\n        shift x along j by 1\n",
    "assigned where processors differ": LINE + "    local s: real = 2.0\n    if x[0] > 1.0:\n        s = 3.0\n"
    "    while s > 1.0: #!\n        s = s/2.0\n        shift x along r by 1\n",
    "assigned as often as data says": LINE + "    local s: real = 2.0\n    local t: real = x[0]\n    while t > 1.0:\n"
    "        t = t/2.0\n        s += 1.0\n    while s > 1.0: #!\n        s = s/2.0\n        shift x along r by 1\n",
    "written through a view": LINE + "    local s: real[2] = 2.0\n    let v = s[0..1]\n    v[0] = x[0]\n"
    "    while s[0] > 1.0: #!\n        s[0] = s[0]/2.0\n        shift x along r by 1\n",
    "a helper that may not sum": HELPER + LINE + "    local s: real[1] = 4.0\n    local n: int = r\n"
    "    while s[0] > 1.0: #!\n        h(x, s, n)\n        shift x along r by 1\n",
    "a callee": LINE.replace("f(", "c(").replace("k: size", "t: real")
    + "    local s: real = t\n    while s > 1.0:\n        s = s/2.0\n        shift x along r by 1\n"
    + LINE + "    c(x, y, x[0]) #!\n",
}  # fmt: skip
"""Programs some of whose processors may leave a loop, at the marked line, in which others wait for them."""


@pytest.mark.parametrize("text", APART.values(), ids=APART)
def test_processors_that_may_leave_a_loop_apart_do_not_communicate_in_it(text: str) -> None:
    line = 1 + next(number for number, line in enumerate(text.splitlines()) if "#!" in line)
    found = message(text.replace(" #!", ""), {})
    assert f"<text>:{line}:" in found
    assert "AL279: processors communicate along" in found


NO_SUM = """
algorithm allreduce_none(x: inout local any[w], op: operator) on grid(r: P):
    where w >= 0
    pass
"""


@pytest.mark.parametrize("inside", ["", "        allreduce x with +\n"])
def test_a_run_checks_that_processors_leave_a_loop_together(inside: str) -> None:
    text = NO_SUM + LINE + "    local s: real = x[0]\n    allreduce s with max using none\n    while s > 1.0:\n"
    text += "        s = s/2.0\n" + inside
    data = {"y": np.zeros((2, 1)), "k": 1, "P": 2}
    ran(text, "f", x=np.array([[5.0], [5.0]]), **data)
    found = message(text, {"x": np.array([[1.0], [5.0]]), **data})
    after = "goes on" if inside else "leaves it after 3"
    assert f"AL540: processor 0 leaves the loop after 0 iterations, and processor 1 {after}" in found


NUMBERS = """
algorithm dot(x: local real[m], y: local real[m], s: out real) on grid(r: P):
    s = 0.0
    for i in 0..m:
        s += x[i]*y[i]
    allreduce s with +

algorithm raise(k: inout int, square: out int) on grid(r: P):
    k += r
    if r > 0:
        square = k*k

algorithm shrink(x: inout local real[m], z: out local real[P]) on grid(r: P):
    local s: real = 2.0
    z[:] = 0.0
    while s > 1.0 iterations T:
        for i in 0..m:
            x[i] = x[i]/2.0
        dot(x, x, s)
    dot(x, x, z[P - 1 - r])
"""


@pytest.mark.parametrize("count", PROCESSORS)
def test_algorithms_on_grids_hand_back_numbers(count: int) -> None:
    ones = np.ones((count, 3))
    assert ran(NUMBERS, "dot", x=ones, y=2 * ones, P=count).outputs["s"].tolist() == [6.0 * count] * count
    run = ran(NUMBERS, "raise", k=2, P=count)
    assert run.outputs["k"].tolist() == [2 + rank for rank in range(count)]
    assert run.outputs["square"].tolist()[1:] == [(2 + rank) ** 2 for rank in range(1, count)]
    assert "square is not set" in str(run) if count == 1 else "square = unset, 9" in str(run)
    run = ran(NUMBERS, "shrink", x=ones, z=np.zeros((count, count)), P=count)
    halvings = next(t for t in range(1, 9) if 3 * count / 4**t <= 1)
    assert run.execution.iterations == {"T": halvings}
    last = np.fliplr(np.eye(count)) * 3 * count / 4**halvings
    assert run.outputs["z"].tolist() == last.tolist()


def test_a_number_that_a_call_may_not_set_keeps_its_value() -> None:
    callee = "algorithm c(s: out real, k: int) on grid(q: P):\n    if k > 0:\n        s = 1.0\n    barrier\n"
    body = (
        "    local s: real = x[0]\n    c(s, k)\n    while s > 1.0:\n        s = s/2.0\n        shift x along r by 1\n"
    )
    assert "AL279" in message(callee + LINE + body, {})
    always = callee.replace("    if k", "    s = 2.0\n    if k")
    ran(always + LINE + body, "f", x=np.ones((2, 2)), y=np.ones((2, 2)), k=1, P=2)


# Random programs: processors have data of their own, and agree on some of it.
Statement = tuple[Any, ...]


def blocks(depth: int, loops: int) -> st.SearchStrategy[list[Statement]]:
    simple = st.sampled_from(["add", "shift", "count", "agree", *(["break", "return"] if loops else [])]).map(
        lambda kind: (kind,)
    )
    if depth == 0:
        return st.lists(simple, min_size=1, max_size=2)
    inner = blocks(depth - 1, loops + 1)
    nested = st.tuples(st.sampled_from(["for", "while", "own", "at most"]), inner)
    return st.lists(simple | nested | st.tuples(st.just("call"), st.booleans()), min_size=1, max_size=3)


class Text:
    """Writes a random program; processors communicate only where they come together."""

    def __init__(self) -> None:
        self.names = 0

    def name(self, stem: str) -> str:
        self.names += 1
        return f"{stem}{self.names}"

    def lines(self, block: list[Statement], indent: str, together: bool, left: bool) -> Iterator[str]:
        for kind, *rest in block:
            name = self.name("v")
            own = f"{indent}local {name}: int = (k[0] + {self.names}) % 3"
            agreed = f"{indent}allreduce {name} with max" if together else ""
            match kind:
                case "add":
                    yield f"{indent}x[0] += 1.0"
                case "shift" if together:
                    yield f"{indent}shift x along r by 1"
                case "agree" if together:
                    yield f"{indent}allreduce k with max"
                case "count":
                    yield from (own, f"{indent}while {name} > 0:", f"{indent}    {name} -= 1")
                case "break" | "return" if left:
                    yield from filter(None, (own, agreed, f"{indent}if {name} == 0:", f"{indent}    {kind}"))
                case "for":
                    yield f"{indent}for {name} in 0..n:"
                    yield from self.lines(rest[0], f"{indent}    ", together, together)
                case "while" | "at most":
                    limit = " at most 2 times" if kind == "at most" else ""
                    yield from filter(None, (own, agreed, f"{indent}while {name} > 0{limit}:"))
                    yield f"{indent}    {name} -= 1"
                    yield from self.lines(rest[0], f"{indent}    ", together, together)
                case "own":
                    yield from (own, f"{indent}while {name} > 0:", f"{indent}    {name} -= 1")
                    yield from self.lines(rest[0], f"{indent}    ", False, False)
                case "call" if together:
                    yield f"{indent}g(x, k)" if rest[0] else f"{indent}x[0] += real_of(own(k[0]))"
                case _:
                    yield f"{indent}x[0] += 2.0"


CALLED = """
algorithm own(k: int) -> int:
    local v: int = k % 4
    while v > 0:
        v -= 1
    return v

algorithm g(x: inout local real[1], k: local int[1]) on grid(q: P):
    local v: int = k[0] % 3
    while v > 0:
        v -= 1
        x[0] += 1.0
    allreduce v with +
    local w: int = k[0] % 2
    allreduce w with max
    while w > 0:
        w -= 1
        shift x along q by 1

algorithm f(x: inout local real[1], k: inout local int[1], n: size) on grid(r: P):
"""


@given(block=blocks(2, 0), data=st.lists(st.integers(0, 9), min_size=4, max_size=4))
@settings(max_examples=drawn(60), deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
def test_bounds_enclose_the_counts_of_random_programs(block: list[Statement], data: list[int]) -> None:
    text = CALLED + "\n".join(Text().lines(block, "    ", True, False)) + "\n"
    for count in (1, 2, 3, 4):
        keys = np.array(data[:count]).reshape(count, 1)
        run = al.loads(text)["f"].run(x=np.zeros((count, 1)), k=keys, n=2, P=count)
        assert run.outside == (), f"{text}\n{run}"


def test_explained_paths_show_the_iterations(tmp_path) -> None:
    file = tmp_path / "cg.algo"
    file.write_text(CONJUGATE_GRADIENTS)
    shown = cli("cost", f"{file}::cg", "--explain", "--metric", "flops").out
    assert re.search(r"for i in 0\.\.m: +T +2\*m\^2\*P +2\*m\^2\*T\*P", shown)
    file.write_text(LOCAL.replace("            y[0] += 1", "            y[0] += 1\n        shift v along r by 1"))
    shown = cli("cost", f"{file}::halve", "--explain").out
    assert re.search(r"shift v along r by 1 +n +1 +n", shown)
