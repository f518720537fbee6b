"""Sums, minima and maxima are parallel loops that combine values in a register, in a tree."""

from __future__ import annotations

from math import ceil, log2
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archline.analysis.analyse import derive
from archline.analysis.checks.races import find_certain_races
from archline.execution.results import Run
from archline.language.diagnostics import ArchlineError
from archline.language.loader import load_text
from archline.language.printer import format_program
from derived_counts import assert_agreement
from effort import long
from executor_programs import run

HEAD = "algorithm f(x: real[n], y: real[n], k: int[n], A: real[n, m], z: out real[m]) -> real:\n"
DATA: dict[str, Any] = {
    "x": [3.0, -1.0, 2.0, 0.5, 4.0],
    "y": [1.0, 2.0, 3.0, 4.0, 5.0],
    "k": [3, 1, 4, 1, 5],
    "A": [[float(i * j) for j in range(3)] for i in range(5)],
    "z": [0.0] * 3,
}


def agreed(text: str, arguments: dict[str, Any] = DATA) -> Run:
    """The run of a program, whose counts are those that are derived."""
    module = load_text(text)
    algorithm = list(module.algorithms.values())[-1]
    result = run(text, arguments)
    assert_agreement(derive(module, algorithm), result, text)
    return result


def depth(trips: int) -> int:
    """The span of starting iterations and combining their values."""
    return 2 * ceil(log2(trips)) if trips else 0


@pytest.mark.parametrize(
    ("expr", "value", "flops", "work", "span"),
    [
        ("sum(x)", 8.5, 5, 10, depth(5) + 2),
        ("min(x)", -1.0, 5, 10, depth(5) + 2),
        ("max(x)", 4.0, 5, 10, depth(5) + 2),
        ("sum(x)/n", 1.7, 6, 11, depth(5) + 3),
        ("dot(x, y)", 29.0, 10, 15, depth(5) + 3),
        ("norm(y)", 55.0**0.5, 11, 16, depth(5) + 4),
        ("sum(x - y)", -6.5, 10, 15, depth(5) + 3),
        ("max(abs(x))", 4.0, 10, 15, depth(5) + 3),
        ("sum(x[1..4])", 1.5, 3, 6, depth(3) + 2),
        ("sum(A[:, 2])", 20.0, 5, 10, depth(5) + 2),
        ("sum(A[3, :])", 9.0, 3, 6, depth(3) + 2),
        ("sum(x[i]*y[i] for i in 1..n)", 26.0, 8, 12, depth(4) + 3),
        ("sum(x[i] for i in 0..n step 2)", 9.0, 3, 6, depth(3) + 2),
        ("sum(x[i] for i in 0..0)", 0.0, 0, 0, 0),
        ("min(x[i] for i in 0..0)", float("inf"), 0, 0, 0),
        ("sum(1/i for i in 1..n + 1)", 137 / 60, 10, 15, depth(5) + 3),
        ("sum(x[i] for i in 0..n if y[i] > 3)", 4.5, 7, 17, depth(5) + 4),
        ("sum(k)", 14.0, 0, 10, depth(5) + 2),
        ("max(k[i] - i for i in 0..n)", 3.0, 0, 15, depth(5) + 3),
        ("sum(i for i in 0..n)", 10.0, 0, 10, depth(5) + 2),
        ("sum(k[i] == 1 for i in 0..n)", 2.0, 0, 17, depth(5) + 4),
        ("sum(sum(A[i, j] for j in 0..m) for i in 0..n)", 30.0, 20, 40, depth(5) + depth(3) + 4),
        ("sum(A)", 30.0, 20, 40, depth(5) + depth(3) + 4),
        ("max(A[1..5, 1..3])", 8.0, 12, 24, depth(4) + depth(2) + 4),
        ("norm(A[1..3, :])", 25.0**0.5, 15, 23, depth(2) + depth(3) + 6),
        ("max(sum(x), sum(y))", 15.0, 11, 21, 2*depth(5) + 5),
        ("maximum(x) - amin(x)", 5.0, 11, 21, 2*depth(5) + 5),
        ("mean(x)", 1.7, 6, 11, depth(5) + 3),
        ("mean(A)", 2.0, 21, 41, depth(5) + depth(3) + 5),
        ("mean(k)", 2.8, 1, 11, depth(5) + 3),
        ("argmax(x)", 4.0, 5, 15, 15),
        ("argmin(x)", 1.0, 5, 15, 15),
        ("argmax(k[1..4])", 1.0, 0, 9, 9),
        ("argmin(k)", 1.0, 0, 15, 15),
        ("argmax(A[2, :])", 2.0, 3, 9, 9),
        ("argmax(abs(x - y))", 3.0, 15, 25, 25),
        ("argmin(k[i]*i for i in 1..n step 2)", 1.0, 0, 8, 8),
        ("argmax(x[i] for i in 0..n if k[i] > 1)", 4.0, 3, 21, 21),
        ("argmax(x[0..0])", 0.0, 0, 0, 0),
        ("sum(diag(A[1..4, :]))", 1*0 + 2*1 + 3*2, 3, 6, depth(3) + 2),
    ],
)  # fmt: skip
def test_values_and_counts(expr: str, value: float, flops: int, work: int, span: int) -> None:
    result = agreed(HEAD + f"    return {expr}\n")
    assert result.value == pytest.approx(value)
    assert (result.counts.flops, result.counts.work, result.counts.span) == (flops, work + 1, span + 1)


def test_a_sum_of_integers_is_one() -> None:
    assert (
        agreed("algorithm f(k: int[n]) -> int:\n    total = sum(k)\n    return total//2\n", {"k": [1, 2, 4]}).value == 3
    )


def test_sums_stand_where_they_are_evaluated() -> None:
    text = """algorithm f(x: real[n], z: out real[n]) -> real:
    z[:] = 0
    for i in 0..n:
        z[i] += sum(x[j] for j in 0..i)
    if sum(x) < 1:
        best = 1.0
    elif max(x) > 3:
        best = norm(z)
    else:
        best = 2.0
    for i in 0..sum(1 for i in 0..n):
        best += 1
    return best
"""
    result = agreed(text, {"x": [3.0, 1.0, 2.0], "z": [0.0] * 3})
    assert list(result.outputs["z"]) == [0.0, 3.0, 4.0]
    assert result.value == 5.0
    # The maximum of the second condition is only computed where the first is false.
    assert agreed(text, {"x": [0.0, 0.25], "z": [0.0] * 2}).counts.flops == 1 + 2 + 2 + 1 + 2


def test_a_while_evaluates_its_sums_before_each_test() -> None:
    text = """algorithm f(x: inout real[n]) -> int:
    local steps: int = 0
    while norm(x) > 1 at most 20 times:
        steps += 1
        for i in 0..n:
            x[i] /= 2
    return steps
"""
    result = agreed(text, {"x": [3.0, 4.0]})
    assert result.value == 3
    assert result.counts.flops == 4*(4 + 1 + 1) + 3*2  # fmt: skip
    assert result.counts.work == 1 + 4*(2*3 + 1 + 1 + 1) + 3*(1 + 1 + 2*2)  # fmt: skip


def test_a_name_of_the_author_goes_first() -> None:
    text = (
        "algorithm sum(x: real[n]) -> real:\n    return x[0]\n\nalgorithm f(x: real[n]) -> real:\n    return sum(x)\n"
    )
    assert agreed(text, {"x": [3.0, 1.0]}).value == 3.0


def test_a_sum_that_has_to_be_named() -> None:
    with pytest.raises(ArchlineError, match="cannot stand") as problem:
        load_text(HEAD + "    assume sum(x) > 1\n    return 1\n")
    assert "`value = sum(x)`" in (problem.value.diagnostics[0].hint or "")


@pytest.mark.parametrize(
    ("condition", "holds", "flops"),
    [
        ("n > 6 and sum(x) > 8", False, 0),
        ("n > 2 and sum(x) > 8", True, 5 + 1),
        ("n > 2 or sum(x) > 8", True, 0),
        ("k[0] > 3 or sum(x) > 8 and not sum(y) > 8", False, 2*5 + 2),
        ("not (n > 6 or max(x) > 8)", True, 5 + 1),
    ],
)  # fmt: skip
def test_a_sum_on_the_right_is_taken_where_the_left_does_not_decide(condition: str, holds: bool, flops: int) -> None:
    result = agreed(HEAD + f"    if {condition}:\n        return 1\n    return 0\n")
    assert (result.value, result.counts.flops) == (holds, flops)
    times = agreed(HEAD + f"    T = 0\n    while T < 3 and ({condition}):\n        T += 1\n    return T\n")
    assert (times.value, times.counts.flops) == (3*holds, flops*(3 if holds else 1))  # fmt: skip


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("all(x[i] > -2 for i in 0..n)", True),
        ("all(x[i] > 0 for i in 0..n)", False),
        ("all(x[i] > 0 for i in 0..n if k[i] > 1)", True),
        ("any(k[i] == 4 and x[i] == 2 for i in 0..n)", True),
        ("any(x[i] > y[i] for i in 1..4)", False),
        ("count(x[i] > 0 for i in 0..n) == 4", True),
        ("not any(x[i] > 9 for i in 0..n) and all(k[i] < 6 for i in 0..n)", True),
        ("(x[0] > 0) != (x[1] > 0)", True),
        ("(x[0] > 0) == (x[1] > 0)", False),
        ("(x[0] > 0) == true", True),
        ("n > 9 and ((x[n] > 0) != (x[1] > 0))", False),
        ("((x[0] > 0) != (x[1] > 0)) == (x[2] > 0 and y[2] > 0)", True),
        ("count((x[i] > 2) == (y[i] > 2) for i in 0..n) == 2", True),
        ("count(x[i] > 0 and ((x[i] > 3) != (y[i] > 3)) for i in 0..n) == 1", True),
        ("count(i > 0 and x[i - 1] < sum(y) for i in 0..n) == 4", True),
        ("x[argmax(x)] == 4 and y[argmin(k)] == 2", True),
        ("positive(k[0]) == (x[1] < 0)", True),
        ("positive(k[0]) != positive(k[1])", False),
    ],
)
def test_conditions_are_counted_and_compared(condition: str, holds: bool) -> None:
    positive = "algorithm positive(k: int) -> bool:\n    return k > 0\n\n"
    assert agreed(positive + HEAD + f"    if {condition}:\n        return 1\n    return 0\n").value == holds
    assert agreed(positive + HEAD + f"    ok = {condition}\n    if not ok: return 0\n    return 1\n").value == holds
    text = positive + HEAD + f"    T = 0\n    while T < 2 and ({condition}):\n        T += 1\n    return T\n"
    assert agreed(text).value == 2*holds  # fmt: skip
    text = (
        positive + HEAD + f"    if k[0] > 5:\n        return 2\n    elif {condition}:\n        return 1\n    return 0\n"
    )
    assert agreed(text).value == holds


def test_all_elements_of_arrays_of_conditions() -> None:
    text = """algorithm f(a: bool[n], ok: out bool[n]) -> int:
    for i in 0..n:
        ok[i] = not a[i]
        ok[i] |= i == 1
        ok[i] &= i != 2
    if all(a): return 1
    if any(ok): return 2
    return count(ok)
"""
    result = agreed(text, {"a": [1, 1, 0], "ok": [0, 0, 0]})
    assert (result.value, list(result.outputs["ok"])) == (2, [0, 1, 0])
    assert agreed(text, {"a": [1], "ok": [0]}).value == 1


LOOP = """algorithm f(x: real[n], m: size) -> real:
    local s: real = 1
    parallel for i in 0..n with OP on s:
        BODY
    return s
"""


def loop(body: str, op: str = "+") -> str:
    """An algorithm with a loop that combines values in s."""
    return LOOP.replace("OP", op).replace("BODY", body.replace("\n", "\n        "))


@pytest.mark.parametrize(
    ("op", "body", "value"),
    [
        ("+", "s += x[i]", 7.0),
        ("*", "s *= x[i]", 6.0),
        ("min", "s min= x[i]", 1.0),
        ("max", "if x[i] > 1:\n    s max= x[i]", 3.0),
        ("+", "for j in 0..m:\n    s += x[i]", 13.0),
        ("+", "parallel for j in 0..m with + on s:\n    s += x[i]", 13.0),
    ],
)
def test_loops_that_combine_values(op: str, body: str, value: float) -> None:
    text = loop(body, op)
    assert agreed(text, {"x": [1.0, 2.0, 3.0], "m": 2}).value == value
    assert run(text, {"x": [1.0, 2.0, 3.0], "m": 2}, races=True).value == value
    assert f"parallel for i in 0..n with {op} on s:" in format_program(load_text(text).program)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("s -= x[i]", "AL272"),
        ("s = x[i]", "AL272"),
        ("s += s*x[i]", "AL272"),
        ("if s > 0:\n    s += x[i]", "AL272"),
    ],
)
def test_the_register_is_only_updated(body: str, code: str) -> None:
    with pytest.raises(ArchlineError) as problem:
        load_text(loop(body))
    assert problem.value.diagnostics[0].rule.code == code


def test_the_spelling_of_openmp_is_read() -> None:
    text = (
        loop("s += x[i]")
        .replace("with + on s", "reduction(+: s)")
        .replace("x[i]", "reduction[i]")
        .replace("x:", "reduction:")
    )
    assert agreed(text, {"reduction": [1.0, 2.0], "m": 1}).value == 4.0
    assert "with + on s" in format_program(load_text(text).program)


def test_only_parallel_loops_combine_values() -> None:
    with pytest.raises(ArchlineError, match="parallel"):
        load_text(loop("s += x[i]").replace("parallel ", ""))


RACY = """algorithm f(x: real[n]) -> real:
    local s: real = 0
    parallel for i in 0..n:
        parallel for j in 0..n with + on s:
            s += x[j]
    return s
"""


@long
def test_compiled_code_counts_the_same() -> None:
    text = HEAD + "    return sum(x) + max(k[i] for i in 0..n if x[i] > 1)\n"
    plain, compiled = run(text, DATA), run(text, DATA, compiled=True)
    assert (compiled.value, compiled.counts.span) == (plain.value, plain.counts.span)


def test_iterations_around_the_loop_do_race() -> None:
    module = load_text(RACY)
    assert [race.rule.code for race in find_certain_races(module, module.algorithms["f"])] == ["AL301"]
    with pytest.raises(ArchlineError, match="AL516"):
        run(RACY, {"x": [1.0, 2.0]}, races=True)


@st.composite
def programs(draw: st.DrawFn) -> str:
    values = st.sampled_from(
        ["x[i]", "x[i]*y[i]", "i*x[i]", "k[i]", "i", "x[i]/n", "sum(A[i, j] for j in 0..m)", "x[i] > 1"]
    )
    bounds = st.sampled_from(["0..n", "1..n", "0..n step 2", "0..n//2", "0..k[0] % n"])
    tests = st.sampled_from(["", " if x[i] > 1", " if i % 2 == 0", " if k[i] != 1 and x[i] < 2"])
    names = st.sampled_from(["sum", "min", "max"])
    ranges = st.builds(
        "{}({} for i in {}{})".format, names, values.filter(lambda value: ">" not in value), bounds, tests
    )
    counts = st.builds("sum({} for i in {}{})".format, values, bounds, tests)
    views = st.builds(
        "{}({})".format, st.sampled_from(["sum", "min", "max", "norm"]), st.sampled_from(["x", "y[1..n]", "x - y"])
    )
    one = st.one_of(ranges, counts, views)
    body = []
    for number in range(draw(st.integers(1, 3))):
        form = draw(
            st.sampled_from(
                [
                    "v{} = {} + {}",
                    "v{} = max({}, {})",
                    "if {1} > 1:\n        z[0] = {2}",
                    "for i in 0..m:\n        z[i] = {1}*{2}",
                ]
            )
        )
        body.append(form.format(number, draw(one), draw(one)))
    return HEAD + "".join(f"    {line}\n" for line in body) + "    return 1\n"


@settings(max_examples=15, deadline=None)
@given(programs(), st.integers(2, 6))
def test_generated_reductions(text: str, n: int) -> None:
    arguments = {**DATA, **{name: [*DATA[name], DATA[name][0]][:n] for name in ("x", "y", "k", "A")}}
    module = load_text(text)
    assert_agreement(derive(module, module.algorithms["f"]), run(text, arguments), text)


def test_an_unknown_name_in_a_sum_is_one_mistake() -> None:
    with pytest.raises(ArchlineError) as problem:
        load_text(HEAD + "    return dot(x, unknown) + sum(unknown)\n")
    assert [diagnostic.rule.code for diagnostic in problem.value.diagnostics] == ["AL201"]
    with pytest.raises(ArchlineError, match="it takes arrays"):
        load_text(HEAD + "    return sum(3.0)\n")


def test_sums_in_every_place_of_an_expression() -> None:
    text = """algorithm g(v: real, x: real[n]) -> real:
    return v*max(x)

algorithm f(A: real[n, n], y: out real[n], k: int[n]) -> real:
    i = sum(k[i] for i in 0..n)
    parallel for r in 0..n:
        y[r] = sum(A[r, c]*A[c, r] for c in 0..n) + norm(A[r, :])
    y[sum(k) % n] = g(sum(y), A[0, :])
    for j in 0..n:
        if max(A[j, :]) > 8:
            return sum(y) + i
    repeat:
        y[:] = y/2
    until max(y) < 10
    while norm(y) > 1:
        y[:] = y/2
        if y[0] > 100:
            continue
        if sum(y) < 0.1: break
    return min(y)
"""
    for size in (1, 2, 3):
        for scale in (0.25, 4.0):
            matrix = [[scale * (i + j) for j in range(size)] for i in range(size)]
            agreed(text, {"A": matrix, "y": [0.0] * size, "k": [1] * size})


HOLDS = "algorithm f(x: real[n], t: real, k: int) -> int:\n    {}\n        return 1\n    return 0\n"


@pytest.mark.parametrize(
    ("test", "k", "value", "work"),
    [
        # The test of k, one of the register, the sum and its comparison, and one of the register again.
        ("if k > 1 and sum(x) > t:", 2, 1, 1 + 1 + (2 * 3 + 1) + 1),
        ("if k > 1 and sum(x) > t:", 1, 0, 1 + 1 + 1),
        ("if k > 1 or sum(x) > t:", 2, 1, 1 + 1 + 1),
        ("if k > 1 or sum(x) > t:", 1, 1, 1 + 1 + (2 * 3 + 1) + 1),
        ("if not (k > 1 or sum(x) < t):", 1, 1, 1 + 1 + (2 * 3 + 1) + 1),
        ("if k == 1 and k < 3 and sum(x) > t:", 2, 0, 1 + 1 + 1),
        ("if k == 2 and max(x) > t and min(x) > t:", 2, 0, 1 + 1 + (2 * 3 + 1) + 1 + (2 * 3 + 1) + 1),
        ("if k == 2 and max(x) < t and min(x) > t:", 2, 0, 1 + 1 + (2 * 3 + 1) + 1 + 1),
        ("if k == 2 and (max(x) < t or norm(x - x) < t):", 2, 1, 1 + 1 + (7 + 1 + 3 * 5 + 1 + 1) + 1),
    ],
)
def test_what_is_not_reached_behind_and_or_or_is_not_done(test: str, k: int, value: int, work: int) -> None:
    result = agreed(HOLDS.format(test), {"x": [3.0, -1.0, 2.0], "t": 1.0, "k": k})
    assert (result.value, result.counts.work) == (value, 1 + work)


def test_conditions_of_loops_with_sums_are_evaluated_at_each_test() -> None:
    head = "algorithm f(x: inout real[n], t: real) -> int:\n    k = 0\n    hits = 0\n"
    body = "    {}\n        k += 1\n        x[0] -= 1\n        if k == 2:\n            continue\n        hits += 1\n"
    for test, least, hits in (
        ("while k < 5 and sum(x) > t:", [1.0, 1.0], 2),
        ("while k < 2 and sum(x) > t:", [2.0, 1.0], 1),
        ("while k < 2 or sum(x) > t:", [1.0, 1.0], 2),
    ):
        result = agreed(head + body.format(test) + "    return hits\n", {"x": [4.0, 1.0], "t": 2.0})
        assert (list(result.outputs["x"]), result.value) == (least, hits)
    text = head + "    repeat:\n        k += 1\n        x[0] -= 1\n    until k > 1 and sum(x) < t\n    return k\n"
    assert agreed(text, {"x": [4.0, 1.0], "t": 3.5}).value == 2
    assert agreed(text, {"x": [4.0, 1.0], "t": 1.5}).value == 4
    # A product of arrays in the test of a loop, and a call behind it.
    text = (
        "algorithm first(x: real[n]) -> real:\n    return x[0]\n\n"
        "algorithm f(A: real[n, n], x: inout real[n], b: real[n], t: real) -> int:\n    k = 0\n"
        "    while k < 9 and norm(b - A @ x) > t and first(b - x) > t:\n        x += (b - A @ x)/2\n        k += 1\n"
        "    return k\n"
    )
    data = {"A": [[1.0, 0.0], [0.0, 1.0]], "x": [0.0, 0.0], "b": [1.0, 1.0], "t": 0.2}
    assert agreed(text, data).value == 3


def test_branches_behind_a_sum_are_tested_in_order() -> None:
    text = (
        "algorithm f(x: real[n], k: int) -> int:\n    if k == 0:\n        return 5\n"
        "    elif k > 1 and sum(x) > 3:\n        return 6\n    elif k > 1:\n        return 7\n    else:\n        return 8\n"
    )
    found = [agreed(text, {"x": [total], "k": k}).value for total, k in ((9.0, 0), (9.0, 2), (1.0, 2), (9.0, 1))]
    assert found == [5, 6, 7, 8]
