"""Runs that fail whatever the data are refused with a place; no correct program is, and none gets numbers without end."""

from itertools import product
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import archline as al
from archline.analysis.checks.failures import find_common_failures, find_endless_recursion, find_exceeded_while_bounds
from archline.analysis.metrics.derivation import Derivation
from archline.api.algorithms import Algorithm
from archline.api.modules import loads
from archline.execution.data import generate_arguments
from archline.execution.run import execute
from archline.language.diagnostics import ArchlineError, Diagnostic
from archline.language.loader import list_stdlib_modules, load_target, load_text
from archline.recurrences.exact.base_cases import always_terminates
from cli_support import cli
from effort import drawn
from programs import GeneratedProgram, programs
from recursive_programs import RecursiveProgram, recursive_programs

X = "x: inout real[n]"
ENDLESS = {
    "itself": (f"algorithm f({X}):\n    f(x)\n", 2),
    "in a circle": (f"algorithm f({X}):\n    g(x)\n\nalgorithm g({X}):\n    f(x)\n", 2),
    "growing": (f"algorithm f({X}):\n    local y: real[2*n] = 0\n    f(y)\n", 3),
    "smaller without a last case": ("algorithm f(n: size):\n    f(n - 1)\n", 2),
    "halves without a last case": (f"algorithm f({X}):\n    f(x[0..n//2])\n    f(x[n//2..n])\n", 2),
    "in both branches": (f"algorithm f({X}):\n    if x[0] > 0.0:\n        f(x)\n    else:\n        f(x)\n", 3),
    "a result": (f"algorithm f({X}) -> int:\n    local k: int = f(x)\n    return k\n", 2),
    "called": (f"algorithm g({X}):\n    g(x)\n\nalgorithm f({X}):\n    x[0] = 1.0\n    g(x)\n", 2),
    "under a condition on sizes": (f"algorithm f({X}):\n    if n > 1:\n        f(x)\n", 3),
    "above a leaf": (f"algorithm f({X}):\n    if n > 16:\n        f(x)\n    else:\n        x[0] = 1.0\n", 3),
    "in a loop": (f"algorithm f({X}):\n    for i in 0..n:\n        f(x)\n", 3),
    "growing under a condition": ("algorithm f(n: size):\n    if n > 1:\n        f(n + 1)\n", 3),
    "in a circle under a condition": (
        "algorithm f(n: size, m: size):\n    if n > 1:\n        g(n, m)\n\n"
        "algorithm g(n: size, m: size):\n    f(n, m + 1)\n", 6,
    ),
    "another measure": ("algorithm f(n: size, m: size):\n    decreases m\n    if n > 1:\n        f(n - 1, m)\n", 4),
    "called at sizes without end": (
        f"algorithm g({X}):\n    if n > 4:\n        g(x)\n\nalgorithm f({X}):\n    g(x)\n", 3,
    ),
}  # fmt: skip
ENDING = {
    "halves": f"algorithm f({X}):\n    if n > 1:\n        f(x[0..n//2])\n        f(x[n//2..n])\n",
    "by one": f"algorithm f({X}):\n    if n > 1:\n        f(x[1..n])\n",
    "sizes that no run has": f"algorithm f({X}):\n    where n >= 9\n    if n < 9:\n        f(x)\n",
    "a condition that the data decides": f"algorithm f({X}):\n    if x[0] > 9.0:\n        f(x)\n",
    "an int": f"algorithm f({X}, k: int):\n    if k > 0:\n        f(x, k - 1)\n",
    "an index": f"algorithm f({X}, k: index):\n    if k > 0:\n        f(x, k - 1)\n",
    "a loop without iterations": f"algorithm f({X}):\n    for i in n..n:\n        f(x)\n",
    "a declared measure": (
        "algorithm f(n: size, m: size):\n    decreases n + m, max(0, m - n)\n    if n < m:\n        f(m, n)\n"
        "    elif n > 1:\n        f(n - 1, m)\n"
    ),
    "called at sizes that end": (
        f"algorithm g({X}):\n    if n > 4:\n        g(x)\n\nalgorithm f({X}):\n    if n < 4:\n        g(x)\n"
    ),
    "the data decides a part": (
        f"algorithm f({X}):\n    local p: int = 1\n    if n > 1:\n        assume p < n\n        f(x[0..p])\n"
    ),
}
UNPROVED = {
    "the data decides": ENDING["a condition that the data decides"],
    "an int": ENDING["an int"],
    "back and forth": (
        "algorithm f(n: size, m: size):\n    if n > m:\n        f(n - 1, m + 2)\n    elif m > 3:\n        f(n + 2, m - 1)\n"
    ),
}
LEXICOGRAPHIC = (
    "algorithm f(n: size, m: size):\n    if m > 1:\n        f(n, m - 1)\n    elif n > 1:\n        f(n - 1, m + 3)\n"
)


def subject(text: str) -> Algorithm:
    return loads(text)["f"]


def refused(text: str) -> Diagnostic:
    with pytest.raises(ArchlineError) as caught:
        subject(text).cost()
    (found,) = caught.value.diagnostics
    assert found.hint
    return found


# Recursion
@pytest.mark.parametrize(("text", "line"), ENDLESS.values(), ids=ENDLESS)
def test_recursion_that_cannot_end_is_refused(text: str, line: int) -> None:
    found = refused(text)
    assert (found.rule.code, found.span and found.span.line) == ("AL302", line)


@pytest.mark.parametrize(("text", "line"), ENDLESS.values(), ids=ENDLESS)
def test_no_run_of_it_at_the_sizes_named_ends(text: str, line: int) -> None:
    message = refused(text).message
    places = message.rpartition(" at ")[2] if " at " in message else "n = 3"
    sizes = {name: int(value) for name, value in (each.split(" = ") for each in places.split(", "))}
    found = subject(text)
    module, node = found.module, found.node
    with pytest.raises(ArchlineError) as caught:
        execute(module, node, generate_arguments(module, node, sizes), compiled=False)
    # Sizes that shrink for ever come to an empty array, which is no argument.
    assert caught.value.diagnostics[0].rule.code in ("AL504", "AL510", "AL511")


@pytest.mark.parametrize("command", [("check",), ("cost",), ("run", "--at", "n=4")])
def test_all_commands_refuse_it(tmp_path: Path, command: tuple[str, ...]) -> None:
    path = tmp_path / "f.algo"
    for text, line in (ENDLESS["itself"], ENDLESS["under a condition on sizes"]):
        path.write_text(text)
        done = cli(command[0], str(path), *command[1:])
        assert done.code == 2
        assert f"f.algo:{line}:" in done.err
        assert "AL302" in done.err
        assert "hint:" in done.err


@pytest.mark.parametrize("text", ENDING.values(), ids=ENDING)
def test_recursion_that_may_end_is_not_refused(text: str) -> None:
    subject(text).cost()


@pytest.mark.parametrize("text", UNPROVED.values(), ids=UNPROVED)
def test_what_is_not_proved_to_end_has_no_numbers(text: str) -> None:
    report = subject(text).cost()
    for cost in (report.flops, report.work, report.span, report.io):
        assert (cost.status, cost.lower, cost.upper) == ("unknown", None, None)
        assert "not proved to end" in (cost.reason or "")
        assert cost.place == "<text>:1:1"


def test_neither_have_its_callers() -> None:
    report = subject(UNPROVED["an int"].replace(" f(", " g(") + f"\nalgorithm f({X}):\n    g(x, 3)\n").cost()
    assert {report.flops.status, report.work.status, report.span.status, report.io.status} == {"unknown"}


def test_one_size_shrinks_where_the_sum_does_not() -> None:
    text = "algorithm f(n: size, m: size, x: inout real[1]):\n    if n > 1:\n        x[0] += 1.0\n        f(n - 1, m + 5, x)\n"
    found = subject(text)
    for n in (1, 2, 7):
        run = execute(
            found.module, found.node, generate_arguments(found.module, found.node, {"n": n, "m": 2}), compiled=False
        )
        assert found.cost().flops.at(n=n, m=2) == run.counts.flops == n - 1


def test_sizes_shrink_in_lexicographic_order() -> None:
    for text, expected in ((LEXICOGRAPHIC, True), (UNPROVED["back and forth"], False)):
        module = load_text(text)
        extracted = Derivation(module, False).recursions.extract_systems(module.algorithms["f"])
        function = extracted.get_function("work", True)
        assert function is not None
        assert always_terminates(function, ()) is expected


# Accesses
FRAME = "algorithm f(x: inout real[n], y: inout real[m], A: inout real[n, m]):\n    {}\n"
CALLEE = "\nalgorithm g(v: real[k], w: real[k]):\n    pass\n\nalgorithm whole(B: real[k, k]):\n    pass\n"
OUTSIDE = {
    "behind the end": ("x[n] = 1.0", "x[n]"),
    "read": ("x[0] = x[n]", "x[n]"),
    "before the start": ("x[0] = x[0 - 1]", "x[0 - 1]"),
    "the last iteration": ("for i in 0..n:\n        x[i] = x[i + 1]", "x[i + 1]"),
    "the first iteration": ("for i in 0..n:\n        x[i - 1] = 1.0", "x[i - 1]"),
    "downwards": ("for i in n downto 0:\n        x[i] = 1.0", "x[i]"),
    "the other extent": ("for j in 0..m:\n        A[0, j + 1] = 1.0", "A[0, j + 1]"),
    "in a branch of sizes": ("if n >= 1:\n        x[n] = 1.0", "x[n]"),
    "in a condition": ("if x[n] > 0.0:\n        x[0] = 1.0", "x[n]"),
    "a named subscript": ("let last = n\n    x[last] = 1.0", "x[last]"),
    "a view": ("let v = x[0..n + 1]\n    v[0] = 1.0", "x[0..n+1]"),
    "of a view": ("let v = x[0..n]\n    v[n] = 1.0", "v[n]"),
    "of a local": ("local w: real[n] = 0\n    w[n] = 1.0", "w[n]"),
    "a slice by length": ("let v = x[1..+ n]\n    pass", "x[1 ..+ n]"),
    "in a while": ("while x[n] > 0.0 at most 3 times:\n        pass", "x[n]"),
    "in a function": ("x[0] = max(x[0], -x[n])", "x[n]"),
    "at large sizes": ("if n > 4:\n        x[n] = 1.0", "x[n]"),
}
INSIDE = {
    "the last": "x[n - 1] = 1.0",
    "its own": "for i in 0..n:\n        x[i] = 1.0",
    "an empty loop": "for i in n..n:\n        x[i] = 1.0",
    "a neighbour": "for i in 1..n:\n        x[i] = x[i - 1]",
    "a branch that no sizes take": "if n < 1:\n        x[n] = 1.0",
    "the data decides": "if x[0] > 9.0:\n        x[n] = 1.0",
    "not evaluated": "if x[0] > 9.0 and x[n] > 0.0:\n        x[0] = 1.0",
    "at small sizes only": "x[2] = 1.0",
    "at some sizes only": "x[m - 1] = 1.0",
    "the empty end": "let v = x[n..n]\n    pass",
    "in a body that the data may skip": "while x[0] > 9.0 at most 3 times:\n        x[n] = 1.0",
    "a subscript of the data": "local k: int = 0\n    x[k] = 1.0",
    "behind a broken promise": "assume n > m, m > n\n    x[n] = 1.0",
    "two registers of one name": (
        "if n > 0:\n        let k = n\n        pass\n    if m > 0:\n        local k: int = 0\n        x[k] = 1.0"
    ),
}


@pytest.mark.parametrize(("body", "access"), OUTSIDE.values(), ids=OUTSIDE)
def test_accesses_outside_are_refused(body: str, access: str) -> None:
    found = refused(FRAME.format(body))
    assert found.rule.code == "AL303"
    assert found.message.startswith(f"`{access}` is outside ")
    assert " at n = " in found.message


def test_the_message_names_the_array_and_the_smallest_sizes() -> None:
    assert refused("algorithm f(x: real[n], y: out real[n]):\n    y[0] = x[n]\n").message == (
        "`x[n]` is outside `x: real[n]` (index 1, extent 1), at n = 1"
    )
    assert refused("algorithm f(x: real[n]):\n    where 3 divides n\n    let v = x[1..n + 1]\n    pass\n").message == (
        "`x[1..n+1]` is outside `x: real[n]` (1..4, extent 3), at n = 3"
    )
    inner = (
        "algorithm g(x: inout real[n], k: size):\n    x[k] = 1.0\n\nalgorithm f(x: inout real[n]):\n    g(x, n + 1)\n"
    )
    assert refused(inner).message == ("`x[k]` is outside `x: real[n]` (index 2, extent 1), in a run of `f` at n = 1")


def test_without_sizes_the_one_run_counts() -> None:
    found = refused("algorithm f():\n    local w: real[2] = 0\n    w[2] = 1.0\n")
    assert found.message == "`w[2]` is outside `w` (index 2, extent 2)"


@pytest.mark.parametrize("body", INSIDE.values(), ids=INSIDE)
def test_others_are_left_to_the_execution(body: str) -> None:
    subject(FRAME.format(body)).cost()


def test_an_index_may_be_restricted_by_callers() -> None:
    subject("algorithm f(x: inout real[n], i: index):\n    x[i + n] = 1.0\n").cost()


@pytest.mark.parametrize("call", ["g(x, y)", "whole(A)"])
def test_arguments_of_other_shapes_are_refused(call: str) -> None:
    with pytest.raises(ArchlineError) as caught:
        load_text(FRAME.format(f"if n <= 2*m:\n        {call}") + CALLEE)
    assert caught.value.diagnostics[0].rule.code == "AL232"


def test_arguments_that_fit_where_the_header_says_so() -> None:
    header = FRAME.format("{}").replace(":\n", ":\n    where n == m\n")
    subject(header.format("whole(A)\n    g(x, y)") + CALLEE).cost()


@pytest.mark.parametrize("command", [("check",), ("cost",), ("run", "--at", "n=4,m=3")])
def test_commands_refuse_them(tmp_path: Path, command: tuple[str, ...]) -> None:
    path = tmp_path / "f.algo"
    path.write_text(FRAME.format("x[n] = 1.0"))
    done = cli(command[0], str(path), *command[1:])
    assert done.code == 2
    assert "f.algo:2:7: AL303: " in done.err


# Bounds of loops
WHILE = "algorithm f(n: size, x: inout real[n], k: int, q: index, t: inout int[1], eps: real):\n    local i: int = 0\n    {}\n"
PASSED = {
    "too few": ("while i < n at most 3 times:\n        i += 1", "n = 4"),
    "without end": ("while i < n at most n times:\n        t[0] += 1", "n = 1"),
    "one too few": ("while i <= n at most n times:\n        i += 1", "n = 1"),
    "doubling": ("i = 1\n    while i < n at most log2(n) - 1 times:\n        i *= 2", "n = 2"),
    "downwards": ("i = n\n    while i > 0 at most n//2 times:\n        i -= 1", "n = 1"),
    "squares": ("while i*i < n at most 2 times:\n        i += 1", "n = 5"),
    "two at a time": ("while i < n at most n//2 times:\n        i += 2", "n = 1"),
    "in a loop": (
        "for j in 0..n:\n        i = j\n        while i < n at most n - 1 times:\n            i += 1",
        "n = 1",
    ),
    "in the last iteration": (
        "for j in 0..n:\n        i = 0\n        while i < j at most 4 times:\n            i += 1",
        "n = 6",
    ),
    "after a loop": ("for j in 0..n:\n        i += 1\n    while i > 0 at most 3 times:\n        i -= 1", "n = 4"),
    "in a branch of sizes": ("if n > 2:\n        while i < n at most 1 times:\n            i += 1", "n = 3"),
    "after a branch of data": (
        "if x[0] > 0.0:\n        t[0] = 1\n    while i < n at most 3 times:\n        i += 1",
        "n = 4",
    ),
    "by another loop": (
        "while i < 4 at most 4 times:\n        local j: int = 0\n        while j < i at most 2 times:\n            j += 1\n        i += 1",
        "n = 1",
    ),
    "in a call": ("g(x)", "n = 4"),
    "whatever is behind and": ("while i < n and n > 2 at most n - 1 times:\n        i += 1", "n = 3"),
    "halves of a real": ("local r: real = 1.0\n    while r > 0.1 at most 3 times:\n        r = r/2", "n = 1"),
    "tenths": ("local r: real = 0.0\n    while r < 1.0 at most 10 times:\n        r += 0.1", "n = 1"),
    "a real of a size": ("local r: real = real_of(n)\n    while r > 1.0 at most 2 times:\n        r -= 1.0", "n = 4"),
    "a root": ("local r: real = sqrt(2.0)\n    while r < 4.5 at most 2 times:\n        r *= r", "n = 1"),
    "min and max": ("while i < n at most 3 times:\n        i max= min(i + 1, n)", "n = 4"),
}
KEPT = {
    "enough": "while i < n at most n times:\n        i += 1",
    "doubling": "i = 1\n    while i < n at most ceil(log2(n)) times:\n        i *= 2",
    "data decides": "while i < n and x[min(i, n - 1)] < 9.0 at most 2 times:\n        i += 1",
    "an int of the data": "while i < k at most 2 times:\n        i += 1",
    "an element": "t[0] = 0\n    while t[0] < n and t[0] < 3 at most 3 times:\n        t[0] += 1",
    "a step by the data": "while i < n at most 2 times:\n        i += k + 1",
    "a branch by the data": "while i < n at most 2 times:\n        if x[0] > 0.0:\n            i = n\n        i += 1",
    "an index": "while i < q at most 2 times:\n        i += 1",
    "reached by the data": "if x[0] > 9.0:\n        while i < n at most 3 times:\n            i += 1",
    "behind a broken promise": "assume n < 4\n    while i < n at most 3 times:\n        i += 1",
    "set by a loop of data": "while x[0] > 0.0 at most 3 times:\n        i = n\n        x[0] -= 1.0\n    while i < n at most 3 times:\n        i += 1",
    "tenths and one more for what is rounded": (
        "local r: real = 0.0\n    while r < 1.0 at most 11 times:\n        r += 0.1"
    ),
    "a real of the data": "local r: real = x[0]\n    while r > 0.1 at most 3 times:\n        r = r/2",
    "a real parameter": "local r: real = 1.0\n    while r > eps at most 3 times:\n        r = r/2",
    "a sum that is rounded": "local r: real = 0.1\n    while r + 0.2 == 0.3 at most 0 times:\n        r = 0.0",
    "a literal that is rounded": "local r: real = 0.1\n    while r > 0.1 at most 0 times:\n        r = 0.0",
    "counted by a long loop": (
        "for j in 0..4*n:\n        i += 1\n    if n > 2:\n        while i < 12 at most 1 times:\n            i += 1"
    ),
    "counted by a loop that is too long to follow": (
        "for j in 0..n^4:\n        i += 1\n    if n > 6:\n        while i < 100 at most 1 times:\n            i += 1"
    ),
    "never entered": "while i > n at most 0 times:\n        i += 1",
}
BOUNDED = "\nalgorithm g(y: real[m]):\n    local j: int = 0\n    while j < m at most 3 times:\n        j += 1\n"


@pytest.mark.parametrize(("body", "sizes"), PASSED.values(), ids=PASSED)
def test_bounds_that_the_sizes_break_are_refused(body: str, sizes: str) -> None:
    found = refused(WHILE.format(body) + BOUNDED)
    assert found.rule.code == "AL508"
    assert found.message.endswith(f"at {sizes}")


@pytest.mark.parametrize("body", KEPT.values(), ids=KEPT)
def test_bounds_that_some_data_breaks_are_not(body: str) -> None:
    found = subject(WHILE.format(body))
    found.cost()
    assert not list(find_exceeded_while_bounds(found.module, found.node))


def test_bounds_on_grids() -> None:
    text = (
        "algorithm f(n: size) on grid(r: P):\n    where {}\n    local i: int = 0\n    local x: int = 0\n"
        "    shift x along r by 1\n    while {} at most 3 times:\n        i += 1\n"
    )
    for facts, condition, sizes in (
        ("n >= 1", "i < n", "n = 4, P = 4"),
        ("P >= 5", "i < P", "n = 5, P = 5"),
        ("n >= 1", "i < r", "n = 5, P = 5"),
    ):
        found = refused(text.format(facts, condition))
        assert (found.rule.code, found.message.rpartition(" at ")[2]) == ("AL508", sizes)
    subject(text.format("n >= 1", "i < x")).cost()


def test_an_extern_does_not_hide_a_failure() -> None:
    text = "extern e(a: real) -> real costs c flops\n\nalgorithm f(x: inout real[n]):\n    x[0] = e(x[0])\n    x[n] = 1.0\n"
    assert refused(text).rule.code == "AL303"


@st.composite
def counting_programs(draw: st.DrawFn) -> tuple[str, bool]:
    """A program that counts in registers, and whether the sizes alone decide what it does."""
    lines: list[str] = ["local i: int = 0", "local j: int = 1", "local r: real = 1.0"]
    by_data = False

    def chosen(*options: str) -> str:
        return draw(st.sampled_from(options))

    def test(names: tuple[str, ...]) -> str:
        nonlocal by_data
        kind = draw(st.integers(0, 9))
        if kind == 0:
            by_data = True
            return "x[0] > 1.0"
        if kind == 9:
            return chosen("r < 3.0", "r*0.1 > 0.05", "r != 0.5", "r >= real_of(n)")
        first = f"{chosen('i', 'j', *names)} {chosen('<', '<=', '!=')} {chosen('n', 'n - 1', 'm', '3', *names)}"
        if kind > 2:
            return first
        by_data |= kind == 1
        return f"{first} {chosen('and', 'or')} {'x[n - 1] > 1.0' if kind == 1 else 'j < 4'}"

    def statements(depth: int, names: tuple[str, ...]) -> None:
        nonlocal by_data
        indent = "    " * depth
        for _ in range(draw(st.integers(1, 2))):
            kind = chosen("while", "while", "for", "if", "set", "set") if depth < 3 else "set"
            if kind == "while":
                limit = chosen("n", "2", "3", "n + m", "n//2 + 1", "n*m", "10")
                lines.append(f"{indent}while {test(names)} at most {limit} times:")
                statements(depth + 1, names)
                lines.append(
                    f"{'    ' * (depth + 1)}{chosen('i += 1', 'j += 1', 'i += j', 'j *= 2', 'i += 2', 'r += 0.1', 'r = r/2')}"
                )
            elif kind == "for" and depth < 2:
                variable = "k" if "k" not in names else "l"
                lines.append(f"{indent}for {variable} in {chosen('0..n', '1..m', '0..3', 'n downto 1')}:")
                statements(depth + 1, (*names, variable))
            elif kind == "if":
                lines.append(f"{indent}if {test(names)}:")
                statements(depth + 1, names)
            elif draw(st.integers(0, 3)) == 0:
                lines.append(f"{indent}r {chosen('= r*3', '-= 0.3', '= real_of(i)', 'min= 2.0', '= abs(r - 0.7)')}")
            else:
                value = chosen("0", "1", "n", "i + 1", "j - 1", "min(i, j)", "t[0]", *names)
                by_data |= value == "t[0]"
                lines.append(f"{indent}{chosen('i', 'j')} = {value}")

    statements(0, ())
    body = "\n    ".join(lines)
    return f"algorithm f(x: real[n], t: int[1], m: size):\n    {body}\n", by_data


def stopped_by(found: Algorithm, sizes: dict[str, int], seed: int) -> str | None:
    module, node = found.module, found.node
    try:
        execute(module, node, generate_arguments(module, node, sizes, seed), compiled=False, steps=100_000)
    except ArchlineError as caught:
        return caught.diagnostics[0].rule.code
    return None


@settings(max_examples=drawn(300), deadline=None, suppress_health_check=list(HealthCheck))
@given(counting_programs())
def test_refused_bounds_are_broken_by_all_data_and_others_by_none_that_sizes_decide(
    drawn_program: tuple[str, bool],
) -> None:
    text, by_data = drawn_program
    found = subject(text)
    failure = next(find_exceeded_while_bounds(found.module, found.node), None)
    if failure is not None:
        assert {stopped_by(found, dict(failure.sizes), seed) for seed in range(6)} == {"AL508"}, text
    elif not by_data:
        for n, m in product((1, 2, 4), (1, 3)):
            assert stopped_by(found, {"n": n, "m": m}, 0) != "AL508", (text, n, m)


# No false alarms
def test_the_standard_library_has_none() -> None:
    for name in list_stdlib_modules():
        module, _ = load_target(name)
        for algorithm in module.algorithms.values():
            assert find_endless_recursion(module, algorithm) is None
            assert find_common_failures(module, algorithm) == ()
            assert not list(find_exceeded_while_bounds(module, algorithm))


@settings(max_examples=drawn(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(recursive_programs())
def test_recursion_that_ends_is_never_refused(program: RecursiveProgram) -> None:
    module = load_text(program.text)
    for algorithm in module.algorithms.values():
        assert find_endless_recursion(module, algorithm) is None
        assert find_common_failures(module, algorithm) == ()


@settings(max_examples=drawn(100), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(programs())
def test_programs_that_run_have_none(program: GeneratedProgram) -> None:
    module = load_text(program.text)
    assert not any(find_common_failures(module, algorithm) for algorithm in module.algorithms.values())
    assert not any(list(find_exceeded_while_bounds(module, algorithm)) for algorithm in module.algorithms.values())


def test_bounds_that_contradict_each_other_are_none() -> None:
    """Each call halves a range by a `where` that fails at its end: no run satisfies what the calls assume."""
    text = (
        "algorithm f(lo: index, hi: index, t: inout real[1]):\n"
        "    where lo < hi\n"
        "    ensures flops <= -3\n"
        "    if hi - lo >= 1:\n"
        "        t[0] += 1.0\n"
        "        f(lo, (lo + hi)//2, t)\n"
        "        f((lo + hi)//2 + 1, hi, t)\n"
    )
    cost = al.loads(text)["f"].cost()
    assert cost.flops.status == cost.work.status == "unknown"
    assert [verdict.outcome for verdict in cost.ensures] == ["unknown"]
