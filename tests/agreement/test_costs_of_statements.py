"""The statements of an algorithm cost in all what a call costs, and each what an interpreter counts at its line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import archline as al
from archline.algebra.polynomial import Poly
from archline.analysis.cost import enclose_count
from archline.analysis.metrics.recursion import RecursionSolver
from draft_programs import arguments_of, draft_from_seed
from effort import long, some
from line_interpreter import COUNTED, LineInterpreter
from stdlib_targets import TRIED

Interval = tuple[float, float]
ON_CALL = {"flops": 0, "work": 1}
"""What a call costs besides its statements."""
SIZES = (1, 2, 3, 5, 8)
BETWEEN = {
    "dijkstra", "kruskal", "fmm_u", "merge", "mergesort", "transpose_co", "quadrant_split", "lower_bound", "insertion_sort", "merge_runs", "merge_by", "merge_order", "sort_places", "binary_search",
    "lcs", "heap.decrease_key", "union_find.union", "select", "prefix_sum_pairs", "csb_block",
}  # fmt: skip
"""Algorithms some of whose statements data chooses between, so that the bounds of their sum are wider than the sum's."""


def enclose_lines(costs: Mapping[Any, Mapping[str, Any]], point: Mapping[str, Any]) -> dict[int, dict[str, Interval]]:
    """Return the bounds of what each line costs at a point."""
    lines: dict[int, dict[str, Interval]] = defaultdict(lambda: dict.fromkeys(COUNTED, (0, 0)))
    for place, metrics in costs.items():
        for metric, cost in metrics.items():
            low, high = lines[place.line][metric]
            interval = enclose_count(cost, point)
            lines[place.line][metric] = (low + interval.lower, high + interval.upper)
    return lines


def check_lines(text: str, name: str, arguments: dict[str, Any]) -> None:
    """Check that what an interpreter counts at each line lies in the bounds of the line."""
    algorithm, interpreter = al.loads(text)[name], LineInterpreter(text, name)
    interpreter.run(name, arguments)
    bounds = enclose_lines(algorithm.cost().statements, algorithm.run(dict(arguments)).at)
    for line, counts in interpreter.by_line.items():
        for metric in COUNTED if line else ():
            low, high = bounds[line][metric] if line in bounds else (0, 0)
            assert low <= counts[metric] <= high, f"{text}\n{metric} of line {line}: {counts} outside {low}..{high}"


def check_draft(seed: int, depth: int | None = None) -> None:
    text = draft_from_seed(seed, depth)
    for n in SIZES:
        check_lines(text, "f", arguments_of(text, seed, n))


@pytest.mark.parametrize("seed", some(range(24), 6))
def test_a_line_of_a_small_draft_costs_what_an_interpreter_counts(seed: int) -> None:
    check_draft(seed, 1 + seed % 2)


@long
@pytest.mark.parametrize("seed", range(1000, 1060))
def test_a_line_of_a_draft_costs_what_an_interpreter_counts(seed: int) -> None:
    check_draft(seed)


RECURSIONS = {
    "sum_halves": """
algorithm sum_halves(a: real[n]) -> real:
    where n >= 1
    if n == 1:
        return a[0]
    let h = n//2
    left = sum_halves(a[0..h])
    right = sum_halves(a[h..n])
    return left + right
""",
    "sort": """
algorithm sort(a: inout real[n]):
    if n > 1:
        let h = n//2
        sort(a[0..h])
        sort(a[h..n])
        local b: real[n]
        i = 0
        j = h
        for k in 0..n:
            if j >= n or (i < h and a[i] <= a[j]):
                b[k] = a[i]
                i += 1
            else:
                b[k] = a[j]
                j += 1
        a = b
""",
    "falling": """
algorithm falling(a: inout real[n]):
    if n >= 1:
        for i in 0..n:
            a[i] *= 2.0
        falling(a[0..n-1])
""",
    "two": """
algorithm two(a: inout real[n]):
    if n >= 2:
        two(a[0..n-1])
        a[0] += 1.0
        two(a[0..n-2])
""",
}  # fmt: skip


@pytest.mark.parametrize("name", RECURSIONS)
@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 13])
def test_a_line_of_a_recursion_costs_what_all_calls_execute(name: str, n: int) -> None:
    check_lines(RECURSIONS[name], name, {"a": list(np.random.default_rng(n).random(n))})


EXITS = {
    "returns": """
algorithm returns(x: inout real[n]):
    for i in 0..n:
        if i == 3:
            return
        x[i] += 1.0
    x[0] *= 2.0
    x[0] += 1.0
""",
    "found": """
algorithm found(x: real[n]) -> int:
    for i in 0..n:
        if x[i] > 0.5:
            return i
    return n
""",
    "breaks": """
algorithm breaks(x: inout real[n]):
    for i in 0..n:
        if x[i] > 0.7:
            break
        x[i] += 1.0
        if x[i] > 1.5: continue
        x[i] *= 2.0
    x[0] = 0.0
""",
    "leaves_rows": """
algorithm leaves_rows(x: inout real[n]):
    for i in 0..n:
        for j in 0..n:
            if x[j] > 0.7:
                break
            x[j] += 0.125
        x[i] *= 0.5
        for j in 0..n:
            if x[j] > 0.6:
                return
        if x[i] > 0.25:
            if x[i] > 0.4:
                break
        x[i] += 0.25
""",
    "ends": """
algorithm ends(x: inout real[n]):
    for i in 0..n:
        if x[i] > 0.7:
            x[i] = 0.5
            continue
        if x[i] > 0.5:
            continue
        else:
            x[i] += 0.25
            pass
    if x[0] > 0.5:
        x[0] = 0.0
        return
    elif n > 3:
        return
    x[0] = 1.0
    return
""",
}


@pytest.mark.parametrize("name", EXITS)
@pytest.mark.parametrize("n", [1, 3, 4, 9])
def test_a_line_behind_an_exit_costs_what_is_executed(name: str, n: int) -> None:
    for seed in range(4):
        check_lines(EXITS[name], name, {"x": list(np.random.default_rng(seed).random(n))})


BRANCHES = {
    "sizes": """
algorithm sizes(x: inout real[n]) -> int:
    c = 0
    for i in 0..n:
        if i%4 == 0: c += 1
        elif i%4 == 1: c += 2
        elif i%4 == 2:
            x[i] += 1.0
            c += 3
        else: pass
    return c
""",
    "data": """
algorithm data(x: inout real[n]):
    for i in 0..n:
        if x[i] < 0.25: x[i] += 1.0
        elif x[i] < 0.5: x[i] *= 2.0
        elif x[i] < 0.625 and x[i]*x[i] > 0.375:
            x[i] -= 1.0
        else:
            if x[i] < 0.75: x[i] /= 2.0
            elif x[i] < 0.875: pass
            else: x[i] = 0.0
""",
    "sums": """
algorithm sums(x: inout real[n]):
    for i in 0..n:
        if x[i] < 0.25:
            x[i] += 1.0
        elif sum(x) < 0.5*n or x[i] < 0.5:
            x[i] *= 2.0
        elif x[i] < 0.75 and sum(x) < 0.6*n:
            x[i] *= 0.5
        elif sum(x[0..i]) < 0.75*n:
            x[i] -= 1.0
        else:
            x[i] = 0.0
""",
    "arrays": """
algorithm total(x: real[n]) -> real:
    return sum(x)

algorithm arrays(x: inout real[n]):
    for i in 0..n:
        if i%4 == 0:
            x[i] += 1.0
        elif i%4 == 1:
            x[i] *= 2.0
        elif total(2.0*x) > 1.5*n:
            x[i] += 0.125
        elif max(2.0*x) > 1.5 and x[i] < 0.75:
            x[i] -= 0.5
        elif sum(x*x) < 1.0:
            x[i] *= 0.5
""",
    "values": """
algorithm values(x: inout real[n]):
    for i in 0..n:
        x[i] = 1.0 if i%4 == 0 else 2.0*x[i] if i%4 == 1 else 0.5
""",
    "exits": """
algorithm exits(x: inout real[n]) -> int:
    for i in 0..n:
        if x[i] < 0.25:
            continue
        elif x[i] < 0.5: x[i] *= 2.0
        elif x[i] < 0.75:
            return i
        elif x[i] < 0.875:
            break
        x[i] += 1.0
    return n
""",
    "recursion": """
algorithm recursion(x: inout real[n]):
    if n <= 1:
        x[0] += 1.0
    elif n%2 == 0:
        recursion(x[0..n//2])
        recursion(x[n//2..n])
    elif x[0] < 0.5:
        recursion(x[1..n])
    else:
        recursion(x[0..n-1])
""",
}


@pytest.mark.parametrize("name", BRANCHES)
@pytest.mark.parametrize("n", [1, 3, 4, 10])
def test_the_test_of_an_elif_costs_what_is_executed_at_its_line(name: str, n: int) -> None:
    for seed in range(4):
        check_lines(BRANCHES[name], name, {"x": list(np.random.default_rng(seed).random(n))})


def test_a_line_of_an_elif_is_executed_where_no_branch_before_it_is_taken() -> None:
    for n in (0, 1, 4, 7, 16):
        lines = enclose_lines(al.loads(BRANCHES["sizes"])["sizes"].cost().statements, {"n": n})
        for line, tests in ((5, n), (6, n - -(-n // 4)), (7, n - -(-n // 4) - -(-max(0, n - 1) // 4))):
            taken = -(-max(0, n + 5 - line) // 4) if line < 7 else 0
            assert lines[line]["executions"] == (tests, tests)
            assert lines[line]["work"] == (tests + taken, tests + taken)


CALLS = """
algorithm halve(x: inout real[n]) -> int:
    steps = 0
    while x[0] > 1.0:
        x[0] /= 2.0
        steps += 1
    return steps

algorithm calls(x: inout real[n]) -> int:
    total = 0
    for i in 0..n:
        x[0] += 8.0
        total += halve(x)
    return total
"""


@pytest.mark.parametrize("n", [1, 3, 6])
def test_a_line_of_a_call_has_the_iterations_that_data_decides_in_it(n: int) -> None:
    check_lines(CALLS, "calls", {"x": [5.0] * n})


@pytest.mark.parametrize("name", EXITS)
def test_a_loop_that_holds_exits_is_executed_once(name: str) -> None:
    """The code behind an exit of its body is no other execution of the loop."""
    lines = enclose_lines(al.loads(EXITS[name])[name].cost().statements, {"n": 8})
    assert lines[3]["executions"] == (1, 1)


def test_costs_of_lines_of_a_recursion_are_solved() -> None:
    statements = al.loads(RECURSIONS["falling"])["falling"].cost().statements
    costs = al.loads(RECURSIONS["falling"])["falling"].cost().costs
    by_line = {
        place.line: {name: costs.text(cost.upper) for name, cost in of.items()} for place, of in statements.items()
    }
    assert by_line[3]["executions"] == "n + 1"
    assert by_line[5] == {"executions": "1/2*n^2 + 1/2*n", "flops": "1/2*n^2 + 1/2*n", "work": "1/2*n^2 + 1/2*n"}


def test_lines_of_a_sparse_product_have_the_nonzeros() -> None:
    algorithm = al.algorithm("sparse.csr::spmv_csr")
    first = algorithm.node.span.line
    lines = enclose_lines(algorithm.cost().statements, {"n": 1000, "nz": 5000, "nr": 40, "m": 1000})
    totals = {line - first: (values["executions"], values["work"]) for line, values in lines.items()}
    assert {(5000, 5000)} <= {ends for _, ends in totals.values()}
    assert sum(high for _, (_, high) in totals.values()) + 1 == algorithm.cost().work.at(n=1000, nz=5000, nr=40, m=1000)


@pytest.mark.parametrize("target", some(TRIED, 9))
def test_lines_sum_to_the_costs_of_a_call(target: str) -> None:
    """Where all lines are exact their sum is the cost, else it encloses the cost of each run."""
    report = al.algorithm(target).cost()
    name = target.partition("::")[2]
    for metric, more in ON_CALL.items():
        whole = report.costs[metric]
        parts = [costs[metric] for costs in report.statements.values() if metric in costs]
        low, high = (sum((getattr(part, end) for part in parts), Poly.constant(more)) for end in ("lower", "upper"))
        if all(part.exact for part in parts):
            assert (low, high) == (whole.lower, whole.upper)
        else:
            assert name in BETWEEN


def test_a_grid_has_no_costs_of_statements() -> None:
    assert al.algorithm("distributed.collectives::broadcast_tree").cost().statements == {}


def test_partners_of_a_mutual_recursion_have_their_lines() -> None:
    text = """algorithm even(x: inout real[n]):
    if n >= 1:
        x[0] += 1.0
        odd(x[0..n-1])

algorithm odd(x: inout real[n]):
    if n >= 1:
        for i in 0..n:
            x[i] *= 2.0
        even(x[0..n-1])
"""
    report = al.loads(text)["even"].cost()
    # odd is called with n - 1, n - 3, ...; its loop takes as many iterations.
    for n in (0, 1, 2, 7, 12):
        work = sum(range(n - 1, 0, -2))
        lines = enclose_lines(report.statements, {"n": n})
        assert lines[9]["work"] == (work, work)
        assert sum(high for line in lines.values() for high in line["work"][1:]) + 1 == report.work.at(n=n)


CALLER = """algorithm halve(x: inout real[n]):
    if n > 1:
        for i in 0..n:
            x[i] *= 2.0
        halve(x[0..n//2])

algorithm f(x: inout real[n], k: size):
    for i in 0..k:
        halve(x)
"""


def test_recurrences_of_statements_are_solved_for_their_own_recursion_only(monkeypatch: pytest.MonkeyPatch) -> None:
    solved, solve = [], RecursionSolver.solve_metric
    monkeypatch.setattr(RecursionSolver, "solve_metric", lambda *which: [solved.append(which[2]), solve(*which)][1])
    for name, lines in (("f", {8, 9}), ("halve", {2, 3, 4, 5})):
        assert {place.line for place in al.loads(CALLER)[name].cost().statements} == lines
        assert any(":" in metric for metric in solved) == (name == "halve")
