"""Loops without a bound: their iterations are a size of the costs, which a run binds; two witnesses agree."""

from __future__ import annotations

import json
import random
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import archline as al
from archline.algebra.effort import TooComplexError
from archline.analysis.cache import analyse as cache_analysis
from archline.api.algorithms import Algorithm
from archline.execution import slots
from archline.language import loader
from archline.language.diagnostics import ArchlineError
from cli_support import Result, cli
from effort import MODES, all_of
from while_programs import while_program_from_seed


def subject(text: str, name: str | None = None) -> Algorithm:
    module = loader.load_text(text)
    return Algorithm(module, module.algorithms[name] if name else list(module.algorithms.values())[-1])


def formulas(of: Algorithm, *metrics: str) -> list[str]:
    """Return the forms of costs: one if a cost is exact, else its lower and its upper bound."""
    report = of.report()
    costs = [report.cost(metric) for metric in metrics]
    return [
        str(report.write(bound))
        for cost in costs
        for bound in dict.fromkeys((cost.lower, cost.upper))
        if bound is not None
    ]


def check_run(of: Algorithm, arguments, cache: str | None = "Z=64,L=4", compiled: bool | None = False):
    """Run, and check that every count lies in its derived bounds at the iterations of the run; return the run."""
    run = of.run(arguments, cache=cache, compiled=compiled)
    counts = run.view.counts
    assert counts.outside == (), str(run)
    for metric, values in counts.derived.items():
        if counts.statuses[metric] == "exact" and metric in ("flops", "work", "span", "accesses"):
            assert values.lower == values.upper == counts.executed[metric]
    assert not {"flops", "work", "span", "accesses"} & run.view.unchecked.keys(), run.view.unchecked
    return run


GCD = """
algorithm gcd(x: int, y: int) -> int:
    local a: int = x
    local b: int = y
    while b != 0:
        local r: int = a % b
        a = b
        b = r
    return a
"""
COLLATZ = """
algorithm collatz(n: size, A: out int[n]):
    for i in 0..n:
        local a: int = i + 1
        local c: int = 0
        while a != 1 iterations S:
            if a % 2 == 0:
                a = a // 2
            else:
                a = 3*a + 1
            c += 1
        A[i] = c
"""
HALVE = """
algorithm halve(x: int) -> int:
    local a: int = x
    repeat iterations T:
        a = a // 2
    until a <= 0
    return a
"""
CG = """
algorithm cg(A: real[n, n], b: real[n], x: inout real[n], tol: real):
    local r: real[n]
    local p: real[n]
    local q: real[n]
    local rr: real = 0.0
    for i in 0..n:
        local t: real = 0.0
        for j in 0..n:
            t += A[i, j]*x[j]
        r[i] = b[i] - t
        p[i] = r[i]
        rr += r[i]*r[i]
    while sqrt(rr) > tol iterations T:
        local pq: real = 0.0
        for i in 0..n:
            local t: real = 0.0
            for j in 0..n:
                t += A[i, j]*p[j]
            q[i] = t
            pq += p[i]*t
        local alpha: real = rr/pq
        local new: real = 0.0
        for i in 0..n:
            x[i] += alpha*p[i]
            r[i] -= alpha*q[i]
            new += r[i]*r[i]
        local beta: real = new/rr
        for i in 0..n:
            p[i] = r[i] + beta*p[i]
        rr = new
"""


def test_the_iterations_of_a_loop_are_a_size_of_the_costs() -> None:
    gcd = subject(GCD)
    assert formulas(gcd, "work", "span") == ["4*T1 + 3", "4*T1 + 3"]
    assert gcd.report().growth(gcd.report().cost("work")) == "Theta(T1)"
    for x, y in ((1, 1), (12, 18), (89, 55), (7, 0), (2**40, 3**20)):
        run = check_run(gcd, {"x": x, "y": y})
        assert run.at == run.execution.iterations
        assert run.counts.work == 4 * run.at["T1"] + 3
    assert "T1 = 3 (iterations of the while in line 5)" in str(check_run(gcd, {"x": 12, "y": 18}))


def test_iterations_that_cost_differently_have_bounds() -> None:
    collatz = subject(COLLATZ)
    assert formulas(collatz, "work") == ["3*n + 8*S + 1", "3*n + 9*S + 1"]
    for n in range(1, 12):
        check_run(collatz, {"n": n})


@pytest.mark.parametrize("compiled", MODES)
def test_the_test_of_a_repeat_follows_each_iteration(compiled: bool) -> None:
    halve = subject(HALVE)
    assert formulas(halve, "work") == ["4*T + 1"]
    for x in (0, 1, 5, 1000):
        run = check_run(halve, {"x": x}, compiled=compiled)
        assert run.at["T"] == max(1, x.bit_length())


def test_conjugate_gradients_need_no_made_up_number_of_iterations() -> None:
    cg = subject(CG)
    assert formulas(cg, "flops") == ["2*n^2*T + 2*n^2 + 10*n*T + 3*n + 4*T + 2"]
    for n in (2, 3, 5, 8):
        matrix = np.diag(np.arange(1.0, n + 1)) + 0.1
        run = check_run(cg, {"A": matrix, "b": np.ones(n), "x": np.zeros(n), "tol": 1e-8})
        assert 1 < run.at["T"] <= n + 2


@settings(max_examples=all_of(12, 1), deadline=None)
@given(st.integers(0, 10_000))
def test_bounds_of_random_programs_enclose_their_runs(seed: int) -> None:
    program = subject(while_program_from_seed(seed))
    source = random.Random(seed)
    for n in (1, 2, 3, 4, 5, 6, 7, 8, 11, 16):
        data = {"k": [source.randrange(12) for _ in range(n)], "x": np.ones(n), "y": np.ones(n)}
        check_run(program, data, cache="Z=16,L=2" if n < 6 else None)


BESIDE_A_RECURSION = """
algorithm halve(x: inout real[n]):
    if n > 1:
        halve(x[0..n//2])
    x[0] = 1.0

algorithm f(x: inout real[n], c: int):
    local a: int = c
    if n > n:
        halve(x)
    while a > 0 iterations T:
        a -= 1
        x[a % n] = 1.0
"""


def test_the_lines_of_iterations_beside_a_recursion_count() -> None:
    """What calls of a recursion divide says nothing of a loop beside them."""
    for c in (0, 1, 5):
        check_run(subject(BESIDE_A_RECURSION), {"x": np.ones(8), "c": c}, cache="Z=16,L=2")


DOWN = """
algorithm down(x: int) -> int:
    local a: int = x
    while a > 0:
        a = a // 2
    return a
"""


def test_calls_of_one_callee_share_its_iterations() -> None:
    text = (
        DOWN
        + """
algorithm twice(n: size, x: int[n], y: out int[n]):
    for i in 0..n:
        y[i] = down(x[i])
    y[0] = down(x[0])
    y[0] = down(x[n - 1])
"""
    )
    twice = subject(text)
    assert formulas(twice, "work") == ["4*n + 4*down.T1 + 7"]
    run = check_run(twice, {"n": 3, "x": [4, 0, 9], "y": [0, 0, 0]})
    assert run.at == {"n": 3, "down.T1": 3 + 0 + 4 + 3 + 4}


RECURSIVE = """
algorithm tree(x: inout real[n], k: int):
    local a: int = k
    while a > 0 iterations T:
        {step}
        a -= 1
    if n > 1:
        let h = n//2
        tree(x[0..h], k)
        tree(x[h..n], k)
"""


@pytest.mark.parametrize(
    ("step", "flops"), [("x[0] += 1.0", ["T"]), ("for i in 0..n:\n            x[i] += 1.0", ["T", "n*T"])]
)
def test_iterations_in_a_recursion_are_added_to_its_solution(step: str, flops: list[str]) -> None:
    tree = subject(RECURSIVE.format(step=step))
    assert formulas(tree, "flops") == flops
    for n in (1, 2, 5, 8, 13):
        run = check_run(tree, {"x": np.ones(n), "k": 3})
        assert run.at["T"] == 3 * (2 * n - 1)


def test_a_recursive_call_in_a_loop_that_data_decides_is_unknown() -> None:
    text = """
algorithm f(n: size, x: inout real[n], k: int):
    local a: int = k
    while a > 0 iterations T:
        a -= 1
        if n > 1:
            f(n - 1, x[0..n - 1], a)
"""
    cost = subject(text).report().cost("work")
    assert cost.upper is None
    assert "recursive calls" in str(cost.reason)


def test_iterations_side_by_side_delay_by_at_most_their_sum() -> None:
    text = """
algorithm f(k: int[n], x: inout real[n]):
    parallel for i in 0..n:
        local a: int = k[i]
        while a > 0 iterations A:
            x[i] += 1.0
            a -= 1
"""
    parallel = subject(text)
    assert formulas(parallel, "work") == ["3*n + 5*A + 1"]
    assert formulas(parallel, "span") == ["ceil(log2(n)) + 4", "5*A + ceil(log2(n)) + 4"]
    for data in ([0], [3], [1, 2, 3], [5, 0, 0, 0, 1]):
        check_run(parallel, {"k": data, "x": np.ones(len(data))})


def test_a_sync_in_a_loop_without_iterations_does_not_wait() -> None:
    text = (
        DOWN
        + """
algorithm work(n: size, y: inout real[n]):
    for i in 0..n:
        y[i] += 1.0

algorithm f(k: int, y: inout real[n], z: inout real[n]):
    spawn work(n, y)
    local a: int = k
    while a > 0 iterations A:
        sync
        a -= 1
    work(n, z)
    sync
"""
    )
    program = subject(text)
    for k in (0, 1, 2, 7):
        for n in (1, 4, 9):
            check_run(program, {"k": k, "y": np.ones(n), "z": np.ones(n)})


def test_names_of_iterations_are_new() -> None:
    taken = "algorithm f(n: size, x: inout real[n]):\n    while x[0] > 1.0 iterations n:\n        x[0] /= 2.0\n"
    with pytest.raises(ArchlineError, match=r"`n` has a meaning in `f` already"):
        loader.load_text(taken)
    twice = taken.replace("iterations n", "iterations T") + "    while x[0] > 9.0 iterations T:\n        x[0] = 0.0\n"
    with pytest.raises(ArchlineError, match=r"`T` has a meaning in `f` already"):
        loader.load_text(twice)
    free = "algorithm f(T1: size, x: inout real[T1]):\n    while x[0] > 1.0:\n        x[0] /= 2.0\n"
    assert formulas(subject(free), "flops") == ["2*T2 + 1"]


def test_claims_name_iterations_that_the_program_names(tmp_path) -> None:
    file = tmp_path / "down.algo"
    text = """
algorithm down(x: int) -> int
    ensures work == 4*T + 3
    ensures work is Theta(T)
    local a: int = x
    while a > 0 iterations T:
        a = a // 2
    return a

algorithm both(x: int[n], y: out int[n])
    ensures work <= 5*n + 4*down.T + 2
    for i in 0..n:
        y[i] = down(x[i])

claim work(both) <= 40*n + 20*down.T
claim work(both, n = 3, down.T = 5) <= 400
claim work(both) <= work(down) + 40*n*down.T at T = 4, down.T = 3
"""
    file.write_text(text)
    done = cli("check", str(file))
    assert done.code == 0, done.out + done.err
    assert "6 claims hold" in done.out
    unnamed = text.replace(" iterations T", "").replace("4*T + 3", "4*T1 + 3")
    file.write_text(unnamed.replace("    ensures work is Theta(T)\n", "")[: unnamed.index("algorithm both")])
    done = cli("check", str(file))
    assert done.refused("AL201")
    assert "name it in line 5: `while a > 0 iterations T1:`" in done.err


def test_a_run_stops_a_loop_that_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots, "MAX_ITERATIONS", 1000)
    endless = subject("algorithm f(k: int):\n    while k > 0:\n        pass\n")
    check_run(endless, {"k": 0})
    with pytest.raises(ArchlineError, match=r"AL508: the run stops in this loop, .* after 1,001 iterations"):
        endless.run({"k": 1})


NESTED_ENDLESS = """algorithm f(n: size) -> int:
    local i: int = 1
    local z: int = 0
    while i > 0:
        local j: int = 5
        while j > 0:
            j -= 1
            for k in 0..1000:
                z = (z*7 + k + j) % 1000003
        i = i % 5 + 1
    return z
"""


@pytest.mark.parametrize("options", [(), ("--plain",), ("--cache", "Z=64,L=8")])
def test_a_run_stops_an_endless_loop_after_some_seconds(tmp_path, options: tuple[str, ...]) -> None:
    file = tmp_path / "endless.algo"
    file.write_text(NESTED_ENDLESS)
    started = time.perf_counter()
    done = cli("run", str(file), "--at", "n=1", "--time-limit", "1", *options)
    assert done.refused("AL508")
    # The loop around the short one is named, and how to give it more time.
    assert f"{file}:4:5" in done.err
    assert "the generated data may never make its condition false: pass data from Python" in done.err
    assert "--time-limit 60" in done.err
    assert time.perf_counter() - started < 60


def test_the_variable_of_the_time_limit_stops_runs_from_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARCHLINE_TIME_LIMIT", "1")
    with pytest.raises(ArchlineError, match="AL508") as caught:
        subject(NESTED_ENDLESS).run({"n": 1}, compiled=False)
    assert "generated" not in str(caught.value.diagnostics[0].hint)


def test_commands_ask_for_iterations_and_runs_count_them(tmp_path) -> None:
    file = tmp_path / "collatz.algo"
    file.write_text(COLLATZ)
    target, machine = f"{file}::collatz", ("--machine", "gtx-580@double")
    for command in (
        ("cost", target, "--at", "n=5"),
        ("energy", target, *machine, "--at", "n=5"),
        ("compare", target, target, *machine, "--at", "n=5"),
        ("optimise", target, *machine, "--minimise", "energy", "--over", "n=1..9"),
    ):
        done = cli(*command)
        assert done.refused("AL402"), command
        assert "S=..." in done.err
    assert cli("energy", target, *machine, "--at", "n=5,S=20").code == 0
    assert "176 .. 196" in cli("cost", target, "--at", "n=5,S=20").out
    assert cli("run", target, "--at", "n=5,S=20").refused("AL411")
    document = json.loads(cli("cost", target, "--format", "json").out)
    place = f"{file}:6"
    assert document["iterations"] == [{"name": "S", "place": place, "algorithm": "collatz", "lower": 0, "upper": None}]
    ran = json.loads(cli("run", target, "--at", "n=5", "--format", "json").out)
    steps = 0 + 1 + 7 + 2 + 5
    assert ran["iterations"] == [{"name": "S", "place": place, "algorithm": "collatz", "lower": steps, "upper": steps}]
    checked = json.loads(cli("check", target, "--format", "json").out)
    (algorithm,) = checked["targets"][0]["algorithms"]
    assert algorithm["iterations"] == document["iterations"]
    assert ran["checked"]


COUNTDOWN = """
algorithm f(x: inout real[n], k: int):
    local a: int = k
    while a > 0:
        for i in 0..n:
            x[i] += 1.0
        a -= 1
"""


def diff_texts(tmp_path, old: str, new: str, *options: str):
    before, after = tmp_path / "old.algo", tmp_path / "new.algo"
    before.write_text(old)
    after.write_text(new)
    return cli("diff", str(before), str(after), *options)


def test_diff_matches_loops_of_the_same_text_under_an_assumption(tmp_path) -> None:
    first = "    local b: int = k\n    while b > 0:\n        b = b // 2\n    local a"
    done = diff_texts(tmp_path, COUNTDOWN, COUNTDOWN.replace("    local a", first))
    # T1 is the loop in front of the one that both versions have.
    assert "2*n*T2 + 4*T2 + 3 -> 2*n*T2 + 4*T1 + 4*T2 + 5" in done.out
    assert "work    grew at all sizes" in done.out
    assert "flops" not in done.out
    assert "\nassuming that loops of the same text have as many iterations as before:\n" in done.out
    shown = json.loads(diff_texts(tmp_path, COUNTDOWN, COUNTDOWN.replace("    local a", first), "--format", "json").out)
    (work,) = [change for change in shown["changes"] if change["metric"] == "work"]
    assert work["assumptions"] == [f"T2 of the loop in {tmp_path}/new.algo:7"]
    loops = {loop["name"]: (loop["place"], loop["version"]) for loop in work["iterations"]}
    assert loops == {"T1": (f"{tmp_path}/new.algo:4", "new"), "T2": (f"{tmp_path}/new.algo:7", "new")}


def test_diff_of_versions_that_differ_in_names_needs_no_assumption(tmp_path) -> None:
    for new in (COUNTDOWN.replace("a > 0:", "a > 0 iterations T:"), COUNTDOWN.replace("a:", "z:").replace("a ", "z ")):
        done = diff_texts(tmp_path, COUNTDOWN, new)
        assert "4 costs are the same" in done.out
        assert "assuming" not in done.out


def test_iterations_of_loops_that_differ_are_not_comparable(tmp_path) -> None:
    name = " iterations T"
    bisection = f"""
algorithm search(A: real[n], key: real) -> int:
    local lo: int = 0
    local hi: int = n
    local mid: int = 0
    while lo < hi{name}:
        mid = (lo + hi)//2
        if A[mid] < key:
            lo = mid + 1
        else:
            hi = mid
    return lo
"""
    linear = f"""
algorithm search(A: real[n], key: real) -> int:
    local i: int = 0
    while i < n and A[i] < key{name}:
        i += 1
    return i
"""
    done = diff_texts(tmp_path, bisection, linear)
    assert done.code == 1
    assert done.out.startswith("4 costs are not decided\n")
    assert " count iterations of different loops" in " ".join(done.out.split())
    assert "same" not in done.out
    growth = json.loads(diff_texts(tmp_path, bisection, linear, "--only", "growth", "--format", "json").out)
    assert growth["summary"] == {"not decided": 4}
    ignored = linear.replace("-> int:", "-> int:  # archline: ignore AL604")
    assert diff_texts(tmp_path, bisection, ignored).code == 0
    unnamed = [text.replace(name, "") for text in (bisection, linear)]
    assert "growth Theta(log2(n)) where n >= 2 -> O(n)" in " ".join(diff_texts(tmp_path, *unnamed).out.split())


def test_a_changed_loop_is_compared_iteration_by_iteration_in_the_reason(tmp_path) -> None:
    done = diff_texts(tmp_path, COUNTDOWN, COUNTDOWN.replace("x[i] += 1.0", "x[i] += 2.0*x[i]"))
    assert "3 costs are not decided" in done.out or "4 costs are not decided" in done.out
    assert "with as many iterations as before it grew" in " ".join(done.out.split())


def test_a_change_that_holds_for_any_iterations_is_decided(tmp_path) -> None:
    loop = COUNTDOWN[COUNTDOWN.index("    while") :]
    done = diff_texts(tmp_path, COUNTDOWN, COUNTDOWN.replace(loop, "    x[0] = 0.0\n"))
    assert done.out.startswith("1 cost is not decided, 3 shrank\n")  # io, of which only bounds are known
    assert "span    shrank at all sizes: 8451 -> 1 at n=64,T1=64" in done.out
    done = diff_texts(tmp_path, COUNTDOWN.replace(loop, "    x[0] = 0.0\n"), COUNTDOWN)
    assert "span    grew at all sizes: 1 -> 8451 at n=64,T1=64" in done.out
    assert done.code == 1


def test_a_baseline_keeps_unnamed_iterations_by_the_text_of_their_loop(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.algo").write_text(DOWN)
    assert cli("check", "d.algo", "--write-baseline", "base.txt").code == 0
    assert cli("check", "d.algo", "--baseline", "base.txt").code == 0
    more = DOWN.replace("    while", "    while a > 90:\n        a -= 1\n    while")
    (tmp_path / "d.algo").write_text(more)
    done = cli("check", "d.algo", "--baseline", "base.txt")
    # Behind the first loop a <= 90, so that the second one takes at most 90 iterations.
    assert "4*T2 + 3 -> at least 4*T1 + 5, at most 4*T1 + 365" in " ".join(done.out.split())


def test_iterations_on_a_grid_are_the_largest_number_of_a_processor_in_a_callee_too() -> None:
    text = (
        DOWN
        + """
algorithm f(k: local int[1], y: out local int[1]) on grid(r: P):
    y[0] = down(k[0])
"""
    )
    on_grid = subject(text)
    assert formulas(on_grid, "work") == ["4*down.T1 + 4"]
    run = on_grid.run({"k": [[5], [2]], "y": [[0], [0]], "P": 2})
    assert run.execution.iterations == {"down.T1": 3}
    assert run.view.counts.executed["work"] == 16


STEPS = (
    # A sieve: the step is a register.
    "i = 2\nwhile i*i < n:\n    if x[i] > 0:\n        for j in i*i..n step i:\n            x[j] = 0\n    i += 1",
    "for i in 0..n step k:\n    x[i] += 1\nfor i in n-1 downto 0 step k + 1:\n    x[i] += 1",
    "for i in 0..n:\n    for j in i..n step x[i] % 3 + 1:\n        x[0] += 3",
)


@pytest.mark.parametrize("body", STEPS)
def test_data_may_be_the_step_of_a_loop(body: str) -> None:
    of = subject("algorithm f(x: inout int[n], k: int):\n" + textwrap.indent(body, "    ") + "\n")
    for n in (1, 2, 5, 12):
        for step in (1, 2, 7):
            check_run(of, {"x": [3] * n, "k": step})


def test_a_step_that_is_not_positive_stops_a_run() -> None:
    of = subject("algorithm f(x: inout int[n], k: int):\n    for i in 0..n step k:\n        x[i] += 1\n")
    with pytest.raises(ArchlineError) as caught:
        check_run(of, {"x": [3] * 4, "k": 0})
    assert "the step `k` is 0" in str(caught.value)


LOOP_NAMES = (
    # A register, then a loop.
    "i = 0\nwhile i < n:\n    x[i] = 1\n    i += 1\nfor i in 0..n:\n    x[i] += 1",
    "local i: int = 2\nx[i % n] = 1\nfor i in 0..n:\n    x[i] += 1\n    x[0] = sum(x[i] for i in 0..n)\ni = 1\nx[i % n] = 5",
    # A `let`, and a parameter.
    "h = n - 1\nx[h] = 2\nfor h in 0..n:\n    x[h] += 1",
    "for k in 0..n:\n    x[k] += k",
    # Loops over elements, and inside of loops that set the register again.
    "v = x[0] + 1\nx[0] = v\nfor v in x:\n    x[0] += v",
    "i = n\nwhile i > 0:\n    j = 0\n    while j < i:\n        j += 1\n    for j in 0..n:\n        x[j] += i\n    i -= 1",
    "i = 0\nwhile i < n:\n    x[i] = 0\n    i += 1\n    for k in 0..n:\n        if x[k] == 7:\n            break\n        x[k] += 1",
)


@pytest.mark.parametrize("body", LOOP_NAMES)
def test_the_variable_of_a_loop_may_have_the_name_of_a_register(body: str) -> None:
    of = subject("algorithm f(x: inout int[n], k: int):\n" + textwrap.indent(body, "    ") + "\n")
    for n in (1, 2, 5):
        check_run(of, {"x": [3] * n, "k": 1})


@pytest.mark.parametrize(
    "body",
    [
        "i = 0\nfor i in 0..n:\n    x[i] = 1\nx[0] = i",
        "i = 0\nwhile i < n:\n    for i in 0..n:\n        x[i] = 1",
        "i = 0\nfor i in 0..n:\n    if x[i] == 0:\n        break\nx[0] = i",
        "i = 0\nwhile x[0] < n:\n    for i in 0..n:\n        x[i] += 1\n    if x[0] == 3:\n        i = 1\n    x[0] += i",
    ],
)
def test_a_register_that_is_read_behind_a_loop_keeps_its_name(body: str) -> None:
    with pytest.raises(ArchlineError) as caught:
        subject("algorithm f(x: inout int[n]):\n" + textwrap.indent(body, "    ") + "\n")
    (found,) = caught.value.diagnostics
    assert found.rule.code == "AL203"
    assert "statements behind it read `i`" in str(found.hint)


NESTED = """
def f(A: inout real[n, n]):
    i = 0
    while i < n iterations T1:
        j = 0
        while j < n and A[i, j] > 0.0 iterations T2:
            A[i, j] -= 1.0
            j += 1
        i += 1
"""


def test_misses_in_nested_loops_are_no_products_of_iterations(tmp_path) -> None:
    """The iterations of the inner loop are those over all iterations of the outer one."""
    (tmp_path / "f.algo").write_text(NESTED)
    page = cli("cost", str(tmp_path / "f.algo")).out
    assert "T1*T2" not in page
    assert "O(T1 + T2)" in page
    for n in (1, 3, 6):
        check_run(subject(NESTED), {"A": [[(i + j) % 3 for j in range(n)] for i in range(n)]})


def test_misses_keep_their_bound_where_accesses_are_too_complex_to_count(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise TooComplexError

    text = "def f(x: inout real[n]):\n    while x[0] > 0.0:\n        for i in 0..n:\n            x[i] -= 1.0\n"
    expected = formulas(subject(text), "io")
    monkeypatch.setattr(cache_analysis, "bound_accesses", refuse)
    # Another name makes a program whose costs are not derived already.
    of = subject(text.replace("def f", "def g"))
    assert of.report().cost("io").status == "bounded"
    assert formulas(of, "io") == expected


SEGMENTS = """
def f(first: offsets[V] into E, y: inout real[E], x: inout real[V]):
    for u in 0..V:
        for k in first[u]..first[u + 1]:
            y[k] += 1.0
    while x[0] > 0.0:
        u = 0
        x[u] -= 1.0
"""


def test_a_loop_variable_hides_a_register_of_its_name_that_is_data() -> None:
    assert formulas(subject(SEGMENTS), "flops") == ["E + 2*T1 + 1"]


def test_a_loop_with_a_name_of_its_own_gives_the_values_of_the_renamed_program() -> None:
    text = "algorithm f(x: inout int[n]) -> int:\n    i = 3\n    s = i\n    for {0} in 0..n:\n        s += {0}*x[{0}]\n    return s\n"
    same, apart = (subject(text.format(name)) for name in "ij")
    runs = [check_run(of, {"x": [4, 5, 6]}) for of in (same, apart)]
    assert runs[0].value == runs[1].value == 3 + 5 + 12
    assert runs[0].counts == runs[1].counts


SOLVERS = """
algorithm jacobi(A: real[n, n], x: inout real[n], eps: real):
    s = 1.0
    while s > eps iterations T:
        q = A @ x
        s = dot(q, x)
        x -= q

algorithm seidel(A: real[n, n], x: inout real[n], eps: real):
    s = 1.0
    while s > eps iterations T:
        q = A @ x
        w = A @ q
        s = dot(w, x)
        x -= w

algorithm jacobi_twice(B: real[n, n], y: inout real[n], eps: real):
    delta = 1.0
    y += y
    while delta > eps iterations T:
        q = B @ y
        delta = dot(q, y)
        y -= q
"""


def compare_solvers(tmp_path, *names: str, options: tuple[str, ...] = ()):
    (tmp_path / "s.algo").write_text(SOLVERS)
    done = cli("compare", *(f"{tmp_path / 's.algo'}::{name}" for name in names), "--format", "json", *options)
    return json.loads(done.out) if done.out else done


def test_comparisons_keep_iterations_of_different_loops_apart(tmp_path) -> None:
    found = compare_solvers(tmp_path, "jacobi", "seidel")
    work = found["growth"]["work"]
    assert (work["relation"], work["first"], work["second"]) == (
        "unknown",
        "Theta(n^2*jacobi.T)",
        "Theta(n^2*seidel.T)",
    )
    assert found["assumptions"] == []
    place = tmp_path / "s.algo"
    assert found["iterations"] == [
        {"name": f"{name}.T", "place": f"{place}:{line}", "algorithm": name, "lower": 0, "upper": None, "subject": name}
        for name, line in (("jacobi", 4), ("seidel", 11))
    ]
    on = ("--machine", "i7-950", "--at")
    asked = cli("compare", f"{place}::jacobi", f"{place}::seidel", *on, "n=100")
    assert asked.code == 2
    assert "no value is given for `jacobi.T`, `seidel.T`" in asked.err
    assert "--at n=...,jacobi.T=...,seidel.T=..." in asked.err
    at = compare_solvers(tmp_path, "jacobi", "seidel", options=(*on, "n=100,jacobi.T=100,seidel.T=10"))
    assert at["points"][0]["less"] == "B"
    assert at["assumptions"] == []
    both = compare_solvers(tmp_path, "jacobi", "seidel", options=(*on, "n=100,T=10"))
    assert both["points"][0]["less"] == "A"
    assert both["assumptions"] == ["as many iterations T in line 4 of jacobi as in line 11 of seidel"]


def test_loops_of_the_same_text_are_compared_under_an_assumption(tmp_path) -> None:
    found = compare_solvers(tmp_path, "jacobi", "jacobi_twice")
    work = found["growth"]["work"]
    assert (work["relation"], work["first"], work["second"]) == ("same", "Theta(n^2*T)", "Theta(n^2*T)")
    assert found["assumptions"] == ["as many iterations T in line 4 of jacobi as in line 20 of jacobi_twice"]


def test_claims_keep_iterations_of_several_runs_apart(tmp_path) -> None:
    claims = """
claim work(jacobi, n = 2*n) <= 8*work(jacobi)
claim work(jacobi) <= work(seidel)
claim work(jacobi, T = 3) <= work(seidel, T = 3)
claim work(jacobi) <= work(seidel) where T >= 1
"""
    (tmp_path / "s.algo").write_text(SOLVERS + claims)
    done = json.loads(cli("check", str(tmp_path / "s.algo"), "--format", "json").out)
    found = [claim for target in done["targets"] for claim in target.get("claims", ())]
    assert [claim["outcome"] for claim in found] == ["unknown", "unknown", "holds", "holds"]
    assert [claim.get("assumptions", []) for claim in found[2:]] == [
        [],
        ["as many iterations T in jacobi as in seidel"],
    ]


LOOPS_WITHOUT_NAMES = [
    ("    while (a > {}0)  # go on\n        a -= 1\n", "    while (a > {}0) iterations T  # go on\n        a -= 1\n"),
    ("    while a > {}0: a -= 1\n", "    while a > {}0 iterations T: a -= 1\n"),
    (
        "    repeat:\n        a -= 1\n    until a <= {}0\n",
        "    repeat iterations T:\n        a -= 1\n    until a <= {}0\n",
    ),
    ("    for i in {}0..p[m]:\n        x[0] += 1.0\n", "    for i in {}0..p[m] iterations T:\n        x[0] += 1.0\n"),
]


@pytest.mark.parametrize(("loop", "named"), LOOPS_WITHOUT_NAMES)
def test_the_edit_names_the_loop_that_a_claim_is_about(tmp_path, loop: str, named: str) -> None:
    head = "algorithm f(x: inout real[n], k: int, p: int[m + 1]):\n    ensures work <= 9*T + 9\n    local a: int = k\n"
    (tmp_path / "f.algo").write_text(head + loop.format(""))
    done = cli("check", "--fix", str(tmp_path / "f.algo"))
    assert (tmp_path / "f.algo").read_text() == head + named.format("")
    assert "holds  work <= 9*T + 9" in done.out
    # Of two loops the name may mean either.
    (tmp_path / "f.algo").write_text(head + loop.format("") + loop.format("1 + "))
    done = cli("check", "--fix", str(tmp_path / "f.algo"))
    assert "name the iterations of the" in done.err
    assert "in line 4 or of the" in done.err


def test_no_caller_promises_a_number_of_iterations(tmp_path) -> None:
    promised = DOWN.replace("    local", "    where T <= 5*n\n    local", 1).replace(
        "while a > 0", "while a > 0 iterations T"
    )
    (tmp_path / "d.algo").write_text(promised)
    done = cli("check", str(tmp_path / "d.algo"))
    assert done.code == 2
    assert "AL207: `T` counts the iterations of the while in line" in done.err
    assert "bound the loop, `while a > 0 at most 5*n times:`" in done.err


def test_a_comparison_on_a_matrix_counts_the_iterations_of_each(tmp_path) -> None:
    text = """
algorithm NAME(ptr: offsets[n] into nz, col: index[nz] below n, val: real[nz], x: inout real[n], y: inout real[n]):
    local s: real = 9.0
    while s > 1.0 iterations T:
        for i in 0..n:
            y[i] = 0.0
            for e in ptr[i]..ptr[i + 1]:
                y[i] += val[e]*x[col[e]]
        s = s/DIVISOR
"""
    for name, divisor in (("slow", "2.0"), ("quick", "4.0")):
        (tmp_path / f"{name}.algo").write_text(text.replace("NAME", name).replace("DIVISOR", divisor))
    (tmp_path / "m.mtx").write_text("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1.0\n2 2 2.0\n")
    targets = [str(tmp_path / f"{name}.algo") for name in ("slow", "quick")]
    options = ("--machine", "i7-950", "--matrix", str(tmp_path / "m.mtx"), "--format", "json")
    (point,) = json.loads(cli("compare", *targets, *options).out)["points"]
    assert (point["at"]["slow.T"], point["at"]["quick.T"], point["less"]) == ("4", "2", "B")


def test_a_sweep_may_be_over_the_iterations_of_one_algorithm(tmp_path) -> None:
    options = ("--machine", "i7-950", "--at", "n=100,seidel.T=5", "--sweep", "jacobi.T=1..64")
    found = compare_solvers(tmp_path, "jacobi", "seidel", options=options)
    (crossover,) = found["crossovers"]
    assert crossover["variable"] == "jacobi.T"
    assert int(crossover["from"]) < 10 <= int(crossover["to"])


STEPS = """
algorithm stepped(x: inout real[n], T: size):
    for t in 0..T:
        for i in 0..n:
            x[i] += 1.0
"""
UNTIL = """
algorithm stepped(x: inout real[n]):
    while x[0] < 9.0 iterations T:
        for i in 0..n:
            x[i] += 1.0
"""


def test_a_size_of_the_same_name_is_no_number_of_iterations(tmp_path) -> None:
    done = diff_texts(tmp_path, STEPS, UNTIL)
    assert "2*n*old.T + old.T + 1 -> 2*n*T + 3*T + 3" in done.out
    assert "work        not decided" in done.out
    files = str(tmp_path / "old.algo"), str(tmp_path / "new.algo")
    found = json.loads(cli("compare", *files, "--format", "json").out)
    work = found["growth"]["work"]
    assert (work["relation"], work["first"], work["second"]) == ("unknown", "Theta(n*T)", "Theta(n*stepped_2.T)")
    at = ("--machine", "i7-950", "--at", "n=10,T=5", "--format", "json")
    assumed = json.loads(cli("compare", *files, *at).out)["assumptions"]
    assert assumed == ["as many iterations T in line 3 of stepped_2 as the T of stepped_1"]
    claims = (
        UNTIL.replace("stepped", "until")
        + "\nclaim work(stepped) <= work(until)\n"
        + ("claim work(stepped) <= work(until) where T >= 1\nclaim work(stepped, T = m) <= work(until, T = m)\n")
    )
    (tmp_path / "claims.algo").write_text(STEPS + claims)
    checked = json.loads(cli("check", str(tmp_path / "claims.algo"), "--format", "json").out)["targets"][0]["claims"]
    assert [claim["outcome"] for claim in checked] == ["unknown", "holds", "holds"]
    assert checked[1]["assumptions"] == ["as many iterations T in stepped as in until"]


SLICES = "algorithm f(a: inout real[n], b: real[n], A: inout real[n, n], B: real[n, n], p: int[n], lo: int, hi: int) -> real:\n"


@pytest.mark.parametrize(
    ("line", "work", "accesses"),
    [
        ("a[lo..hi] = 0", "T1 + 1", "T1"),
        ("a[lo..hi] = 2*b[0]", "T1 + 2", "T1 + 1"),
        ("a[lo..hi] = b[lo..hi]", "T1 + 1", "2*T1"),
        ("a[p[0]..p[1]] = 1", "T1 + 1", "T1 + 2"),
        ("a[lo + 1..hi] = 1", "T1 + 2", "T1"),
        ("A[p[2], lo..hi] = 2", "T1 + 1", "T1 + 1"),
        ("A[lo..hi, :] = B[lo..hi, :]", "n*T1 + T1 + 1", "2*n*T1"),
        ("A[1..n, lo..hi] = B[0..n - 1, lo..hi]", "n + T1", "2*T1"),
        ("a[lo..hi] += 2*b[lo..hi]", "5*T1 + 2", "3*T1"),
        ("a[0] = sum(b[lo..hi])", "3*T1 + 2", "T1 + 1"),
        ("parallel for i in lo..hi:\n        a[i] = b[i]", "T1 + 1", "2*T1"),
        ("for k in 0..n:\n        parallel for i in lo..hi:\n            A[k, i] = 0", "n + T1 + 1", "T1"),
        (
            "parallel for k in 0..n:\n        parallel for i in p[k]..hi:\n            A[k, i] = 0",
            "n + T1 + 1",
            "n + T1",
        ),
    ],
)
def test_slices_and_parallel_loops_between_data_count_their_iterations(line: str, work: str, accesses: str) -> None:
    of = subject(f"{SLICES}    {line}\n    return 0.0\n")
    assert formulas(of, "work") == [work]
    assert formulas(of, "accesses") == [accesses]
    rng = np.random.default_rng(3)
    for n, lo, hi in ((4, 1, 3), (4, 0, 4), (5, 2, 2), (9, 0, 8), (4, 3, 1)):
        if "lo + 1" in line and hi == lo:
            continue
        if hi < lo and "sum" not in line and "+=" not in line and "parallel" not in line:
            continue
        data = {"a": rng.random(n), "b": rng.random(n), "A": rng.random((n, n)), "B": rng.random((n, n))}
        for compiled in (False, True) if n == 9 and line == "a[lo..hi] = b[lo..hi]" else (False,):
            check_run(of, {**data, "p": [0, 2, 1, *[0] * (n - 3)], "lo": lo, "hi": hi}, compiled=compiled)


def test_a_reduction_between_data_takes_at_most_the_span_of_a_serial_loop() -> None:
    of = subject(
        "algorithm f(b: real[n], lo: int, hi: int) -> real:\n    local s: real = 0\n"
        "    parallel for i in lo..hi with + on s:\n        s += b[i]\n    return s\n"
    )
    for trips in range(18):
        check_run(of, {"b": np.ones(20), "lo": 1, "hi": 1 + trips})


def test_pages_say_what_a_statement_on_a_slice_counts() -> None:
    of = subject("algorithm f(a: inout real[n], lo: int, hi: int):\n    a[lo..hi] = 0\n")
    assert "T1: elements that line 2 goes through" in str(of.report())
    values = of.run({"a": [1.0, 2.0, 3.0, 4.0], "lo": 1, "hi": 3}).outputs["a"]
    assert list(values) == [1.0, 0.0, 0.0, 4.0]


def test_copies_between_different_places_cost_what_they_did() -> None:
    head = "algorithm f(a: inout real[n], b: real[n], lo: int, hi: int):\n"
    for line in ("a[0..hi - lo] = b[lo..hi]", "a[lo + 1..hi + 1] = b[lo + 1..hi + 1]"):
        run = subject(f"{head}    {line}\n").run({"a": [0.0] * 5, "b": [1.0, 2.0, 3.0, 4.0, 5.0], "lo": 1, "hi": 3})
        assert run.counts.accesses == 4
        assert sorted(run.outputs["a"])[:3] == [0.0] * 3


SEARCH = """algorithm bfs(G: graph, s: vertex, seen: inout bool[V]):
    ensures CLAIM
    Q = queue(V)
    Q.push(s)
    seen[s] = true
    while not Q.empty() iterations T:
        u = Q.pop()
        for v in G.neighbors(u)ITERATIONS:
            if not seen[v]:
                seen[v] = true
                Q.push(v)
"""


def check_search(folder: Path, claim: str, clause: str = " iterations T1", *options: str) -> Result:
    (folder / "bfs.algo").write_text(SEARCH.replace("CLAIM", claim).replace("ITERATIONS", clause))
    return cli("check", str(folder / "bfs.algo"), *options)


def test_hints_quote_the_headers_of_loops_as_they_are_written(tmp_path: Path) -> None:
    done = check_search(tmp_path, "work <= 8*T + 6*T1 + 6", "")
    assert "hint: name it in line 8: `for v in G.neighbors(u) iterations T1:`" in done.err
    done = check_search(tmp_path, "work <= 8*T + 6*T1 + 6", "", "--fix")
    assert "for v in G.neighbors(u) iterations T1:\n" in (tmp_path / "bfs.algo").read_text()
    assert "holds  work <= 8*T + 6*T1 + 6" in done.out
    done = check_search(tmp_path, "work is O(T + T1)", " iterations T1", "--where", "T <= V")
    assert "bound the loop, `while not Q.empty() at most V times:`" in done.err


def test_the_textbook_claim_about_a_search_holds_under_facts_about_its_iterations(tmp_path: Path) -> None:
    assert "unknown  work is O(V + E)" in check_search(tmp_path, "work is O(V + E)").out
    holds = "holds  work is O(V + E) when T <= V, T1 <= E"
    assert holds in check_search(tmp_path, "work is O(V + E) when T <= V, T1 <= E").out
    assert "holds  work is O(V + T1) when T <= V" in check_search(tmp_path, "work is O(V + T1) when T <= V").out


def test_a_for_between_data_is_not_bounded_but_named(tmp_path: Path) -> None:
    done = " ".join(check_search(tmp_path, "work is O(V + E) when T <= V").out.split())
    assert "name its iterations in the claim, or add a fact about them, `when T1 <= ...`" in done
    assert "bound the loop" not in done
    done = check_search(tmp_path, "work is O(T)", " at most E times")
    assert "a `for` takes no bound: name its iterations, `for v in G.neighbors(u) iterations T:`" in done.err


def test_a_loop_with_a_bound_and_a_name_is_the_only_mistake(tmp_path: Path) -> None:
    text = SEARCH.replace("iterations T:", "at most V times iterations T:").replace("ITERATIONS", "")
    (tmp_path / "bfs.algo").write_text(text.replace("CLAIM", "work <= 8*T + 6*V"))
    done = cli("check", str(tmp_path / "bfs.algo"))
    assert done.refused("AL203")
    assert "AL201" not in done.err
    assert "bfs.algo:6:5" in done.err


def test_a_caller_names_the_iterations_of_a_loop_by_its_algorithm(tmp_path: Path) -> None:
    text = "algorithm g(k: int)\n    a = k\n    while a > 0 iterations T:\n        a -= 1\n\n"
    file = tmp_path / "g.algo"
    file.write_text(f"{text}algorithm f(k: int)\n    ensures work <= 4*T + 4\n    g(k)\n")
    assert "hint: did you mean `g.T`?" in cli("check", str(file)).err
    assert "holds  work <= 4*g.T + 4" in cli("check", "--fix", str(file)).out


def test_a_machine_symbol_names_no_iterations(tmp_path: Path) -> None:
    file = tmp_path / "f.algo"
    file.write_text("algorithm f(k: int)\n    a = k\n    while a > 0 iterations K:\n        a -= 1\n")
    assert "AL203: `K` is a machine symbol (P, Z, L, K) in every formula" in cli("check", str(file)).err


def test_every_claim_on_a_cost_with_free_iterations_says_so(tmp_path: Path) -> None:
    file = tmp_path / "sort.algo"
    file.write_text(
        "algorithm sort(x: inout real[n])\n    ensures flops <= n*(n-1)/2\n    ensures work <= 6*n^2\n    for i in 1..n:\n"
        "        key = x[i]\n        j = i - 1\n        while j >= 0 and x[j] > key iterations T:\n            x[j+1] = x[j]\n"
        "            j -= 1\n        x[j+1] = key\n"
    )
    done = " ".join(cli("check", str(file)).out.split())
    assert done.count("nothing bounds in the sizes: bound the loop, `while ... at most e times`") == 2


# Bounds of all iterations in a call
TOTALS = {
    "two_pointer": """
algorithm f(a: real[n], t: inout real[1]):
    local j: int = 0
    for i in 0..n:
        while j < n and a[i] < a[min(j, n - 1)] at most n times in total:
            j += 1
            t[0] += 1.0
""",
    "stack": """
algorithm f(a: real[n], t: inout real[1]):
    local st: int[n]
    local sp: int = 0
    for i in 0..n:
        while sp > 0 and a[st[max(0, sp - 1)]] < a[i] at most len(a) times in total:
            sp -= 1
            t[0] += 1.0
        st[sp] = i
        sp += 1
""",
    "counter": """
algorithm f(a: real[n], t: inout real[1]):
    local bit: int[n] = 0
    for i in 0..n:
        local b: int = 0
        while b < n and bit[b] == 1 at most 2*n times in total:
            bit[b] = 0
            b += 1
        if b < n:
            bit[b] = 1
""",
    "with an exit, and a loop over the counter": """
algorithm f(a: real[n], t: inout real[1]):
    for i in 0..n:
        local b: int = 0
        while b < i and a[b] > 0.9 at most n*n times in total:
            for j in 0..b:
                t[0] += 1.0
            b += 1
            if t[0] > 9.0: break
""",
    "in parallel": """
algorithm f(a: real[n], t: inout real[1]):
    local x: real[n] = 0.0
    parallel for i in 0..n:
        local j: int = i
        while j > 0 and a[j] > 0.3 at most n*n times in total:
            x[i] += 1.0
            j = j//3
""",
    "in a called algorithm": """
algorithm g(a: real[n], t: inout real[1]):
    local j: int = 0
    for i in 0..n:
        while a[j] > 0.5 and t[0] < 40.0 at most 50 + n times in total:
            j = (j + 1)%n
            t[0] += 1.0

algorithm f(a: real[n], t: inout real[1]):
    for i in 0..n:
        g(a[0..i + 1], t)
""",
    "in a recursion": """
algorithm f(a: real[n], t: inout real[1]):
    decreases n
    local j: int = 0
    while j < n and a[j] > 0.4 at most n times in total:
        t[0] += 1.0
        j += 1
    if n > 1:
        f(a[0..n//2], t)
        f(a[n//2..n], t)
""",
}


@pytest.mark.parametrize("text", TOTALS.values(), ids=TOTALS)
@pytest.mark.parametrize("n", [1, 2, 7, 16, 33])
def test_costs_with_a_bound_in_total_are_in_sizes(text: str, n: int) -> None:
    algorithm = subject(text)
    for metric in ("flops", "work", "span"):
        cost = algorithm.report().cost(metric)
        assert cost.upper is not None
        assert cost.upper.names <= {"n"}, cost.upper
    generator = np.random.default_rng(n)
    for share in (0.0, 0.5, 1.0):
        check_run(algorithm, {"a": generator.random(n) * (1 - share) + share, "t": np.zeros(1)})


def test_a_bound_in_total_is_one_for_the_whole_call() -> None:
    work = formulas(subject(TOTALS["two_pointer"]), "work")
    # Registers give one iteration fewer than is declared: j never passes i, as no element is less than itself.
    assert work == ["3*n + 1", "12*n - 6"]
    once = formulas(subject(TOTALS["two_pointer"].replace(" in total", "")), "work")
    assert once[1] == "7*n^2 + 5*n + 1"


def test_iterations_with_a_name_stay_a_size() -> None:
    named = subject(TOTALS["two_pointer"].replace("in total", "in total iterations T"))
    assert formulas(named, "work") == ["3*n + 5*T + 1", "5*n + 7*T + 1"]


@pytest.mark.parametrize("compiled", MODES)
def test_runs_count_the_iterations_of_a_call(compiled: bool) -> None:
    algorithm = subject(TOTALS["counter"].replace("2*n", "n//2"))
    with pytest.raises(ArchlineError, match="iteration 5 of this call begins, but `at most n//2 times in total`"):
        algorithm.run({"a": np.zeros(8), "t": np.zeros(1)}, compiled=compiled)
    # Each of the calls counts from 0.
    called = subject(TOTALS["in a called algorithm"])
    called.run({"a": np.ones(9), "t": np.zeros(1)}, compiled=compiled)


@pytest.mark.parametrize(
    ("bound", "said"),
    [
        ("i", "`in total` counts from the beginning of `f`, where `i` has no value"),
        ("r", "a bound `in total` is an expression in sizes, and `r` is a `let` name"),
        ("j", "the bound after `at most` is an integer known to the analysis, and `j` is int data"),
    ],
)
def test_a_bound_in_total_is_in_sizes(bound: str, said: str) -> None:
    text = (
        TOTALS["two_pointer"]
        .replace("    local j", "    let r = n + 1\n    local j")
        .replace("n times", f"{bound} times")
    )
    with pytest.raises(ArchlineError) as caught:
        loader.load_text(text)
    assert said in str(caught.value)
    assert "AL226" in str(caught.value)


def test_check_finds_a_bound_in_total_that_sizes_exceed(tmp_path: Path) -> None:
    program = tmp_path / "f.algo"
    program.write_text(
        "algorithm f(n: size, t: inout real[1]):\n    for i in 0..n:\n        local j: int = 0\n"
        "        while j < i at most 3*n times in total:\n            j += 1\n"
    )
    done = cli("check", str(program))
    assert done.code == 2
    assert "iteration 25 begins, but `at most 3*n times in total` allows fewer, at n = 8" in done.err


def test_a_bound_in_total_on_a_grid() -> None:
    algorithm = subject(
        "algorithm f(n: size) on grid(i: P):\n    local x: real[1] = 3.0\n    local y: real[1]\n"
        "    while x[0] > 0.5 at most 2*P times in total:\n"
        "        exchange x to ((i + 1) % P) into y from ((i - 1) % P)\n        x[0] -= 1.0\n"
    )
    cost = algorithm.report().cost("messages")
    assert cost.upper is not None
    assert cost.upper.names <= {"P"}
    run = algorithm.run({"n": 1, "P": 4})
    assert run.view.counts.outside == ()


@pytest.mark.parametrize(
    "value",
    ["h(a, k, h(a, k, w))", "plain(plain(h(a, k, h(a, k, w))))", "min(h(a, k, w), 3) + h(a, k, plain(h(a, k, w)))"],
)
def test_loops_of_calls_in_arguments_of_calls_count(value: str) -> None:
    text = f"""
algorithm h(a: real[n], k: int[n], v: int) -> int:
    c = k[0] mod 3
    while c > 0 and a[0] < 2.0:
        c -= 1
        s = sum(a[u] > 1.0 for u in 0..n)
    return v

algorithm plain(v: int) -> int:
    return v + 1

algorithm main(a: real[n], k: int[n], w: int) -> int:
    t = 0
    for i in 0..n:
        for j in 0..n:
            t = {value}
    return t
"""
    algorithm = al.loads(text)["main"]
    for n in (1, 2, 5):
        run = algorithm.run(a=[0.0] * n, k=[2] * n, w=1)
        assert run.outside == ()
        # Two iterations of each call, with two tests of reals.
        low, high = algorithm.cost().flops.at({"n": n} | {name: value for name, value in run.at.items() if name != "n"})
        assert low <= run.counts.flops == value.count("h(") * n * n * (2 * n + 2) <= high
