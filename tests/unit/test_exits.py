"""Exits from loops and algorithms: a small interpreter runs random programs, and bounds enclose what they cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import archline as al
from archline.algebra.evaluate.exact import evaluate
from archline.analysis.analyse import derive, derive_statement_costs
from archline.analysis.cost import Cost
from archline.language.loader import load_text
from derived_counts import assert_agreement
from effort import MODES, TRIED_MODES, all_of, some
from executor_programs import codes, message, run

SIZES = (0, 1, 2, 5)
CACHE = "Z=8,L=2"
MAX_DEPTH = 3

# A statement is its kind and what it needs; blocks are lists of statements.
Statement = tuple[Any, ...]


def blocks(depth: int, loops: tuple[str, ...]) -> st.SearchStrategy[list[Statement]]:
    """Blocks whose last statement may be an exit; `loops` has the variables of loops around, "" for a `while`."""
    simple = st.sampled_from([("add",), ("store",), ("fill",)])
    exits = ["return", *(["break", "continue"] if loops else [])]
    end = st.sampled_from([*[(kind,) for kind in exits], ("add",), ("add",)])
    statement = simple if depth == 0 else simple | compound(depth, loops)
    return st.tuples(st.lists(statement, min_size=1, max_size=3), end).map(lambda parts: [*parts[0], parts[1]])


def compound(depth: int, loops: tuple[str, ...]) -> st.SearchStrategy[Statement]:
    """Loops and branches; the condition of a branch depends on data, on a size or on a loop variable."""
    name = f"i{len(loops)}"
    inner, repeated = blocks(depth - 1, (*loops, name)), blocks(depth - 1, (*loops, ""))
    body = blocks(depth - 1, loops)
    known = [loop for loop in loops if loop]
    first = st.sampled_from(["0", *known])
    conditions = ["a[{0}] % 3 == 1", "a[{0}] > 4", "n > 2", *[f"{loop} >= 2" for loop in known]]
    otherwise = st.none() | body
    return st.one_of(
        st.tuples(st.just("for"), st.just(name), first, inner),
        st.tuples(st.just("while"), repeated),
        st.tuples(st.just("if"), st.sampled_from(conditions), body, otherwise),
    )


def is_left(block: list[Statement]) -> bool:
    """Whether no run comes to the end of a block."""
    match block[-1]:
        case ("break" | "continue" | "return",):
            return True
        case ("if", _, first, otherwise):
            return otherwise is not None and is_left(first) and is_left(otherwise)
        case _:
            return False


def reachable(block: list[Statement]) -> list[Statement]:
    """The block without the statements that no run comes to."""
    kept: list[Statement] = []
    for statement in block:
        kept.append(tuple(reachable(part) if isinstance(part, list) else part for part in statement))
        if is_left(kept):
            break
    return kept


def lines(block: list[Statement], indent: str, variable: str) -> Iterator[str]:
    """The lines of a block, in which `variable` is the innermost loop variable."""
    for number, statement in enumerate(block):
        match statement:
            case ("add",):
                yield f"{indent}t += a[{variable}]"
            case ("store",):
                yield f"{indent}b[{variable}] += 1"
            case ("fill",):
                yield f"{indent}local w{len(indent)}_{number}: int[2] = 0"
            case ("return",):
                yield f"{indent}return t"
            case (str(kind),):
                yield f"{indent}{kind}"
            case ("for", name, first, body):
                yield f"{indent}for {name} in {first}..n:"
                yield from lines(body, indent + "    ", name)
            case ("while", body):
                yield f"{indent}local k{len(indent)}_{number}: int = 0"
                yield f"{indent}while k{len(indent)}_{number} < 3 at most 3 times:"
                yield f"{indent}    k{len(indent)}_{number} += 1"
                yield from lines(body, indent + "    ", variable)
            case ("if", condition, first, otherwise):
                yield f"{indent}if {condition.format(variable)}:"
                yield from lines(first, indent + "    ", variable)
                if otherwise is not None:
                    yield f"{indent}else:"
                    yield from lines(otherwise, indent + "    ", variable)


def write(block: list[Statement]) -> str:
    """The text of a program."""
    head = (
        "algorithm f(a: int[m], b: inout int[m], n: size) -> int:\n    where n >= 0, m >= n + 1\n    local t: int = 0\n"
    )
    return head + "\n".join((*lines(block, "    ", "0"), *([] if is_left(block) else ["    return t"]))) + "\n"


class LeftError(Exception):
    """An exit of some kind is on its way."""


@dataclass
class Interpreter:
    """Runs blocks on data by the cost rules; `work` counts, `t` is the register."""

    a: list[int]
    b: list[int]
    n: int
    t: int = 0
    work: int = 1
    counters: dict[str, int] = field(default_factory=dict)

    def run(self, block: list[Statement]) -> int:
        try:
            self.block(block, {}, 0)
        except LeftError as left:
            if left.args != ("return",):
                raise
        return self.t

    def block(self, block: list[Statement], names: dict[str, int], at: int) -> None:
        for statement in block:
            match statement:
                case ("add",):
                    self.t += self.a[at]
                    self.work += 1
                case ("store",):
                    self.b[at] += 1
                    self.work += 1
                case ("fill",):
                    self.work += 2
                case ("for", name, first, body):
                    for value in range(names.get(first, 0), self.n):
                        self.work += 1
                        if not self.iterate(body, {**names, name: value}, value):
                            break
                case ("while", body):
                    for turn in range(4):
                        # The test compares a register, and the body begins with an addition to it.
                        self.work += 2
                        if turn == 3:
                            break
                        self.work += 2
                        if not self.iterate(body, names, at):
                            break
                case ("if", condition, first, otherwise):
                    self.work += 1 + condition.startswith("a") + ("%" in condition)
                    value = eval(condition.format(at), {"a": self.a, "n": self.n, **names})
                    if value or otherwise is not None:
                        self.block(first if value else otherwise, names, at)
                case (kind,):
                    raise LeftError(kind)

    def iterate(self, body: list[Statement], names: dict[str, int], at: int) -> bool:
        """Run an iteration; whether the loop goes on."""
        try:
            self.block(body, names, at)
        except LeftError as left:
            if left.args == ("return",):
                raise
            return left.args == ("continue",)
        return True


# A program that fails is short as it is, and to shrink it takes minutes.
@settings(max_examples=all_of(18, 2), deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(blocks(MAX_DEPTH, ()).map(reachable), st.integers(0, 9), st.integers(1, 4), st.integers(1, 6))
def test_random_programs_cost_what_they_execute_and_lie_in_their_bounds(
    block: list[Statement], seed: int, line: int, lines_held: int
) -> None:
    text = write(block)
    module = load_text(text)
    costs = derive(module, module.algorithms["f"])
    algorithm = al.loads(text)["f"]
    for n in SIZES:
        data = np.random.default_rng(seed + n).integers(0, 8, n + 1)
        executed = run(text, {"a": data, "b": np.zeros(n + 1, np.int64), "n": n})
        own = Interpreter(data.tolist(), [0] * (n + 1), n)
        assert own.run(block) == executed.value, text
        assert (own.b, own.work) == (executed.outputs["b"].tolist(), executed.counts.work), text
        assert_agreement(costs, executed, text)
        ran = algorithm.run(
            a=data, b=np.zeros(n + 1, np.int64), n=n, cache=f"Z={line * lines_held},L={line}", compiled=False
        )
        assert not ran.outside, f"{ran}\n{text}"


NESTS = {
    "a triangle of triangles": (
        "def f(g: real[n], s: inout real[1]) -> int:\n    for j in 0..n:\n        if g[j] <= 0.0:\n            return j\n"
        "        for i in j+1..n:\n            for k in 0..j:\n                s[0] -= g[k]\n    return n\n",
        lambda n: sum(1 + (n - 1 - j) * j for j in range(n)),
    ),
    "cholesky with a pivot that is not positive": (
        "def f(A: inout real[n, n]) -> int:\n    for j in 0..n:\n        for k in 0..j:\n            A[j, j] -= A[j, k]*A[j, k]\n"
        "        if A[j, j] <= 0.0:\n            return j\n        A[j, j] = sqrt(A[j, j])\n        for i in j+1..n:\n"
        "            for k in 0..j:\n                A[i, j] -= A[i, k]*A[j, k]\n            A[i, j] /= A[j, j]\n    return n\n",
        lambda n: sum(2 * j + 2 + (n - 1 - j) * (2 * j + 1) for j in range(n)),
    ),
    "binomials, which are integers and not above 0 between 0 and 1": (
        "def f(x: inout real[n]):\n    for j in 0..n:\n        if x[j] < 0.0:\n            break\n        for i in 0..j:\n"
        "            for k in 0..i:\n                x[k] += 1.0\n",
        lambda n: sum(1 + j * (j - 1) // 2 for j in range(n)),
    ),
    "calls behind the exit": (
        "def g(y: inout real[m]):\n    for i in 0..m:\n        for k in 0..i:\n            y[i] += y[k]\n\n"
        "def f(A: inout real[n, n]):\n    for j in 0..n:\n        if A[j, j] <= 0.0:\n            return\n        g(A[j, 0..j])\n",
        lambda n: sum(1 + j * (j - 1) // 2 for j in range(n)),
    ),
    "an exit with costs, which is taken once": (
        "def f(x: inout real[n]):\n    for j in 0..n:\n        if x[j] < 0.0:\n            x[j] = x[j]*x[j] + 1.0\n            break\n"
        "        for i in 0..j:\n            x[i] += 1.0\n",
        lambda n: sum(1 + j for j in range(n)) + 2,
    ),
    "an exit of an inner loop, which has iterations or none": (
        "def f(x: inout real[n]):\n    for j in 0..n:\n        for i in 0..j:\n            if x[i] < 0.0:\n"
        "                x[i] += 1.0\n                break\n",
        lambda n: sum(j + min(j, 1) for j in range(n)),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "most"), NESTS.values(), ids=NESTS)
def test_a_loop_that_may_be_left_costs_at_most_all_its_iterations(text: str, most: Callable[[int], int]) -> None:
    module = load_text(text)
    algorithm = module.algorithms["f"]
    flops = derive(module, algorithm)["flops"]
    parts = [costs["flops"] for costs in derive_statement_costs(module, algorithm).values() if "flops" in costs]
    for n in range(1, 9):
        assert upper_at(flops, n) == most(n)
        assert sum(upper_at(part, n) for part in parts) == most(n)


def upper_at(cost: Cost, n: int) -> Fraction | int:
    assert cost.upper is not None
    return evaluate(cost.upper, {"n": n})


LEFT_WHILES = """
def once(x: inout real[n]) -> int:
    i = 0
    while i < n:
        if x[i] > 0.5:
            x[0] += 1.0
            x[0] *= 2.0
            x[0] *= 3.0
            return i
        i += 1
    return n

def rows(x: inout real[n]) -> int:
    for i in 0..n:
        j = i
        while j > 0:
            if x[j] > 0.5:
                x[0] += 1.0
                x[0] *= 2.0
                break
            j -= 1
    return n
"""


@pytest.mark.parametrize("n", [1, 2, 5, 9])
def test_branches_that_leave_a_while_add_once_for_each_of_its_runs(n: int) -> None:
    module = al.loads(LEFT_WHILES)
    for name, most in (("once", n + 3), ("rows", n * (n - 1) // 2 + 2 * n)):
        bound = module[name].cost().costs["flops"]
        assert upper_at(bound, n) == most
        for place in range(n + 1):
            x = [0.0] * n
            x[place:] = [1.0] * (n - place)
            assert module[name].run(x=np.array(x)).counts.flops <= most
    # A run that leaves at the last element makes all tests and what the branch does.
    assert module["once"].run(x=np.array([0.0] * (n - 1) + [1.0])).counts.flops == n + 3


def triangular_nest(source: Random, exits: bool) -> tuple[str, list[tuple[str, int]]]:
    """A nest of triangular loops, with exits or `pass` in their place, and its loops as headers and costs of exits."""
    text = "def f(g: real[n], s: inout real[1]):\n"
    loops: list[tuple[str, int]] = []
    for depth, name in enumerate("jik"):
        outer = source.choice("jik"[:depth]) if depth else "0"
        bounds = source.choice([f"{outer}..n", f"0..{outer}", f"{outer} + 1..n"] if depth else ["0..n"])
        indent = "    " * (depth + 1)
        cost, leaves, guarded = source.choice([0, 0, 1, 3]), source.choice(["break", "return"]), source.random() < 0.7
        text += f"{indent}for {name} in {bounds}:\n"
        if guarded:
            text += f"{indent}    if g[{name}] < 0.0:\n" + f"{indent}        s[0] += 1.0\n" * (cost * exits)
            text += f"{indent}        {leaves if exits else 'pass'}\n"
        text += f"{indent}    s[0] += 1.0\n" * (depth == 2 or source.random() < 0.3)
        loops.append((f"for {name} in range({bounds.replace('..', ', ')}):", cost * guarded))
    return text, loops


def exit_costs(loops: list[tuple[str, int]], n: int) -> int:
    """The cost of one exit for each time that a loop of a nest is come to and has an iteration."""
    code, indent = "total = 0\n", ""
    for header, cost in loops:
        values = header.removeprefix("for ").rstrip(":").split(" in ")[1]
        code += f"{indent}total += {cost}*min(len({values}), 1)\n{indent}{header}\n"
        indent += "    "
    names = {"n": n}
    exec(code + f"{indent}pass\n", names)
    return names["total"]


@pytest.mark.parametrize("seed", range(all_of(40, 12)))
def test_random_nests_cost_at_most_all_their_iterations_and_their_exits(seed: int) -> None:
    text, loops = triangular_nest(Random(seed), True)
    without, _ = triangular_nest(Random(seed), False)
    module = load_text(text)
    costs = derive(module, module.algorithms["f"])
    for n in (1, 2, 3, 5, 8):
        never = {"g": np.ones(n), "s": np.zeros(1)}
        whole = run(without, never).counts.flops
        assert run(text, never).counts.flops == whole
        assert upper_at(costs["flops"], n) <= whole + exit_costs(loops, n), text
        for draw in range(3):
            g = np.random.default_rng(100 * seed + draw).normal(0.5 + draw, 1.0, n)
            assert_agreement(costs, run(text, {"g": g, "s": np.zeros(1)}), text)


@pytest.mark.parametrize(
    "branch",
    [
        "assume n >= m\n        for i in m..n:\n            s[0] += 1.0",
        "g(x[m..n], s)",
        "local w: real[n - m] = 1.0\n        s[0] += w[0]",
        "costs n - m flops",
        "x[m..n] = 1.0",
    ],
)
def test_code_that_needs_more_than_the_sizes_around_it_costs_nothing_where_it_is_skipped(branch: str) -> None:
    text = (
        "def g(y: real[q], s: inout real[1]):\n    for i in 0..q:\n        s[0] += y[i]\n\n"
        f"def f(x: inout real[n], z: real[m], s: inout real[1]):\n    if s[0] > 0.0:\n        {branch}\n"
    )
    module = load_text(text)
    counts = run(text, {"x": np.ones(1), "z": np.ones(6), "s": np.zeros(1)}).counts
    costs = derive(module, module.algorithms["f"])
    for metric in ("flops", "work", "span"):
        upper = costs[metric].upper
        assert upper is not None
        assert evaluate(upper, {"n": 1, "m": 6}) >= getattr(counts, metric)


IO_FROM_BELOW = {
    "what an exit follows": (
        "def f(a: real[n], b: real[n, m], key: real):\n    for i in 0..n:\n        local s: real = 0.0\n"
        "        for j in 0..m:\n            s += b[i, j]\n        if a[i] == s + key:\n            break\n",
        "ceil(m/L) + 1",
    ),
    "not what follows an exit": (
        "def f(a: inout real[n], b: real[n, m], key: real):\n    for i in 0..n:\n        if a[i] == key:\n            return\n"
        "        for j in 0..m:\n            a[i] += b[i, j]\n",
        "1",
    ),
    "what follows a loop with a break": (
        "def f(a: real[n], b: inout real[n, m], key: real):\n    for i in 0..n:\n        if a[i] == key:\n            break\n"
        "    for i in 0..n:\n        for j in 0..m:\n            b[i, j] += 1.0\n",
        "n*ceil(m/L) + 1",
    ),
    "a loop that descends": (
        "def f(a: inout real[n], b: real[n, m], key: real):\n    for i in n - 1 downto 0:\n        for j in 0..m:\n"
        "            a[i] += b[i, j]\n        if a[i] > key:\n            break\n",
        "ceil(m/L) + 1",
    ),
    "the first test": (
        "def f(a: inout real[n], b: real[n, m], key: real):\n    local i: int = 0\n"
        "    while a[0] < key iterations T:\n        a[0] += b[0, 0]\n        a[n - 1] += 1.0\n",
        "1",
    ),
    "the first iteration of a repeat": (
        "def f(a: inout real[n], b: real[n, m], key: real):\n    repeat iterations T:\n        for j in 0..m:\n"
        "            a[0] += b[0, j]\n    until a[0] > key\n",
        "ceil(m/L) + 1",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "least"), IO_FROM_BELOW.values(), ids=IO_FROM_BELOW)
def test_of_a_loop_that_may_be_left_the_first_iteration_has_misses(text: str, least: str) -> None:
    algorithm = al.loads(text)["f"]
    report = algorithm.report()
    lower = report.cost("io").lower
    assert lower is not None
    assert str(report.write(lower)) == least
    random = np.random.default_rng(len(text))
    for _ in range(8):
        line, lines_held, n, m = (int(random.integers(1, most)) for most in (5, 8, 6, 6))
        data = {"a": random.integers(0, 4, n) * 1.0, "b": random.integers(1, 3, (n, m)) * 1.0, "key": 2.0}
        ran = algorithm.run(**data, cache=f"Z={line * lines_held},L={line}")
        assert not ran.outside, f"{ran}\n{text}"


def test_a_first_iteration_that_exceeds_the_cache_misses_again_and_again() -> None:
    product = al.loads("""
def f(A: real[n, n], B: real[n, n], C: inout real[n, n], key: real, k: size):
    for t in 0..k:
        for i in 0..n:
            for j in 0..n:
                for l in 0..n:
                    C[i, j] += A[i, l]*B[l, j]
        if C[0, 0] > key:
            break
""")["f"]
    lower, upper = product.report().cost("io").interval_at({"n": 16, "k": 4, "Z": 64, "L": 4}).ends
    assert 3 * 16 * 4 < lower < upper
    ran = product.run(A=np.ones((8, 8)), B=np.ones((8, 8)), C=np.zeros((8, 8)), key=1.0, k=3, cache="Z=16,L=2")
    assert not ran.outside


SEARCH = """
def find(a: int[n], x: int):
    for i in 0..n:
        if a[i] == x:
            return i
    return -1
"""


def test_a_linear_search_ends_where_it_finds() -> None:
    data = {"a": np.arange(6) * 2}
    missing, found = (run(SEARCH, {**data, "x": x}) for x in (7, 4))
    assert (missing.value, missing.counts.work) == (-1, 3 * 6 + 1)
    assert (found.value, found.counts.work) == (2, 3 * 3 + 1)
    work = al.loads(SEARCH)["find"].cost()["work"]
    assert (str(work.lower), str(work.upper)) == ("4", "3*n + 1")


EXACT = {
    "fib": """
def f(n: size):
    if n < 2:
        return n
    a = f(n - 1)
    b = f(n - 2)
    return a + b
""",
    "merge sort": """
def f(a: inout int[n], t: inout int[n]):
    if n <= 1:
        return
    h = n//2
    f(a[0..h], t[0..h])
    f(a[h..n], t[h..n])
    for i in 0..n:
        t[i] = a[i]
    a[:] = t
""",
    "cases": """
def f(n: size):
    if n == 3:
        return 1
    elif n > 5:
        if n > 7:
            return 2
        t = 1
    else:
        return 3
    t += n
    return t
""",
    "names": """
def f(a: inout int[n]):
    for i in 0..n:
        if i < 2:
            local w: int[2] = 1
            t = w[0]
            for j in 0..n:
                if j > 1:
                    break
            a[i] = t
        else:
            continue
        if a[i] > 0:
            local w: int[3] = 2
            t = w[1]
            a[i] = t
""",
    "continue": """
def f(a: inout int[n]):
    for i in 0..n:
        if i % 2 == 0:
            continue
        a[i] = 1
        if i > 4:
            a[i] += 1
            continue
        a[i] += 2
""",
}


@pytest.mark.parametrize("name", some([*EXACT], 3))
def test_exits_that_sizes_decide_keep_costs_exact(name: str) -> None:
    algorithm = al.loads(EXACT[name])["f"]
    module = load_text(EXACT[name])
    work = derive(module, module.algorithms["f"])["work"]
    assert work.exact or name in ("fib", "names")
    for n in (1, 2, 3, 4, 6, 8, 13):
        ran = algorithm.run(n=n, cache=CACHE)
        assert not ran.outside
        if work.interval_at is not None:
            ends = work.interval_at({"n": Fraction(n)})
            assert ends.lower == ends.upper == ran.execution.counts.work


SPAWNED = """
def add(x: inout real[1]):
    x[0] += 1.0

def f(x: inout real[n], c: int) -> int:
    where n >= 3
    for i in 0..n:
        spawn add(x[0..1])
        local w: real[n] = 0.0
        if c == i:
            for j in 0..n:
                if j == 2:
                    return i + j
        spawn add(x[1..2])
    return 0
"""


@pytest.mark.parametrize("compiled", MODES)
def test_an_exit_waits_for_spawned_calls_and_releases_local_arrays(compiled: bool) -> None:
    algorithm = al.loads(SPAWNED)["f"]
    for c in (0, 1, 7):
        ran = algorithm.run(x=[0.0, 0.0, 0.0], c=c, cache=CACHE, compiled=compiled)
        calls = min(c, 3) + (c < 3)
        assert ran.outputs["x"].tolist() == [calls, min(c, 3), 0]
        assert ran.value == (c + 2 if c < 3 else 0)
        assert not ran.outside


def test_iterations_of_a_parallel_loop_can_end_early_but_not_the_loop() -> None:
    text = """
def f(a: int[n, m], b: inout int[n]):
    parallel for i in 0..n:
        if a[i, 0] > 1:
            if a[i, m - 1] > 1:
                continue
            b[i] = 7
        for j in 0..m:
            if a[i, j] == 1:
                b[i] += j
                break
"""
    data = np.array([[2, 1, 2], [2, 1, 0], [0, 0, 1]])
    for compiled in TRIED_MODES:
        ran = al.loads(text)["f"].run(a=data, b=[0, 0, 0], cache=CACHE, compiled=compiled)
        assert ran.outputs["b"].tolist() == [0, 8, 2]
        assert not ran.outside
    assert "cannot leave the `parallel for` of line 3" in message(text.replace("continue", "return"), {})


REPEATED = """
def f(a: int[n], x: int) -> int:
    local i: int = 0
    local t: int = 0
    for turn in 0..2:
        i = 0
        repeat iterations T:
            if a[i] > 4:
                if a[i] > 6:
                    i += 1
                    continue
                elif a[i] == x:
                    break
                t += 10
            elif a[i] == x:
                return t
            t += 1
            i += 1
        until i == n
        t += 100
    return t
"""


@pytest.mark.parametrize("compiled", MODES)
def test_the_test_of_repeat_follows_an_iteration_that_continue_ends(compiled: bool) -> None:
    for x in (1, 2, 5, 6, 9):
        ran = al.loads(REPEATED)["f"].run(a=[7, 6, 2, 7], x=x, cache=CACHE, compiled=compiled)
        assert not ran.outside, x
        own, i = 0, 0
        for _ in range(2):
            i = 0
            while True:
                item = [7, 6, 2, 7][i]
                if item > 6:
                    i += 1
                elif item > 4 and item == x:
                    break
                elif item == x:
                    assert ran.value == own
                    break
                else:
                    own += 11 if item > 4 else 1
                    i += 1
                if i == 4:
                    break
            else:
                continue
            if i < 4 and item == x and item <= 4:
                break
            own += 100
        assert ran.value == own


MISTAKES = {
    "    for i in 0..n:\n        if n > 2:\n            return 1\n": "the path that ends here returns none",
    "    if n > 2:\n        return\n    return 1\n": "this `return` has none",
    "    return 1\n    n += 1\n    return 2\n": "no run comes to this statement",
    "    break\n": "`break` is outside of any loop",
}


@pytest.mark.parametrize("body", MISTAKES)
def test_an_exit_out_of_place_is_reported(body: str) -> None:
    found = message(f"def f(n: size):\n{body}", {"n": 1})
    assert MISTAKES[body] in found
    assert codes(f"def f(n: size):\n{body}", {"n": 1}) == ["AL255"]


ON_GRID = """
algorithm f(local x: inout real[n]) on grid(k: P):
    for i in 0..n:
        BODY
"""


def test_processors_leave_loops_with_messages_only_together() -> None:
    local = "x[i] += 1.0\n        if x[i] > 3.0:\n            break"
    text = ON_GRID.replace("local x: inout", "x: inout local").replace("BODY", local)
    ran = al.loads(text)["f"].run(x=np.array([[0.0, 3.0, 0.0], [0.0, 0.0, 0.0]]), P=2)
    assert ran.outputs["x"].tolist() == [[1, 4, 0], [1, 1, 1]]
    assert not ran.outside
    shifted = local + "\n        allreduce x with +"
    text = text.replace(local, shifted)
    assert (
        "processors communicate along `k` in the loop, which processors may leave after different iterations"
        in message(text, {})
    )
