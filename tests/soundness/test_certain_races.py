"""Races found from the text: certain ones are reported, and nothing else is."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from archline.analysis.checks.races import find_certain_races
from archline.execution.data import generate_arguments
from archline.execution.run import execute
from archline.language.diagnostics import ArchlineError
from archline.language.loader import list_stdlib_modules, load_target, load_text
from archline.language.model import Module
from effort import drawn
from programs import GeneratedProgram, programs

RACY = {
    "one element": "t[0] += x[i]",
    "a neighbour read": "x[i] = x[i + 1]",
    "a neighbour written": "x[i + 1] = x[i]",
    "half atomic": "t[0] += x[i]\n        atomic t[0] += 1.0",
    "the same row by inner loops": "for k in 0..n:\n            t[k] = x[i]",
    "one element by a descending loop": "for k in 0 downto 0:\n            t[k] = x[i]",
    "two elements by a descending loop": "for k in 3 downto 2:\n            t[k] = x[i]",
    "a register": "s += x[i]",
    "a neighbour four away": "x[i + 4] = x[i]",
    "a neighbour four back": "x[i + 4] = 1.0\n        t[i] = x[i + 8]",
    "a named subscript": "let j = i + 1\n        x[j] = x[i]",
    "behind a power without a closed form": "let q = n^i\n        t[0] += x[i]",
    "read by a register's value": "local r: real = x[i + 1]\n        x[i] = r",
    "read under a sign": "x[i] = -x[i + 1]",
    "read by a function": "x[i] = max(1.0, x[i + 1])",
    "read left of an operator": "x[i] = x[i + 1]*2.0",
    "read as an argument": "x[i] = 1.0\n        g(x[i + 1])",
    "an inner loop of unknown length": "for k in 1..n:\n            t[k] = x[i]",
    "every other element": "for k in 0..n step 2:\n            t[k] = x[i]",
    "two inner loops": "x[i] = 1.0\n        for k in 0..3:\n            t[i] = x[i + k]",
    "a guard that several pass": "if i >= 1 and i < 4:\n            t[0] = x[i]",
    "a sum of two variables": "for k in 0..n:\n            x[i + k] = 1.0",
    "a remainder": "x[i % 3] = 1.0",
    "a count": "local k: int = 1\n        k += 1\n        if k > 1:\n            t[0] = x[i]",
    "an inner loop that an assume lets run": "assume n > 1\n        for k in 1..n:\n            t[k] = x[i]",
}
CLEAN = {
    "its own element": "x[i] = x[i] + 1.0",
    "atomic": "atomic t[0] += x[i]",
    "even and odd": "x[2*i] = x[2*i + 1]",
    "a guard": "if i == 0:\n            t[0] = x[i]",
    "an inner loop that differs": "for k in i..i+1:\n            t[k] = x[i]",
    "a descending loop without iterations": "for k in 0 downto 1:\n            t[k] = x[i]",
    "an ascending loop without iterations": "for k in n..n:\n            t[k] = x[i]",
    "a guard of two parts": "if i >= 1 and i < 2:\n            t[0] = x[i]",
    "a guard of data around a loop": "if x[i] > 1.0:\n            parallel for k in 0..1:\n                t[0] = 1.0",
    "a guard of data": "if x[i] > 1.0:\n            t[0] = 1.0",
    "inner loops of one name": (
        "for k in 1..2:\n            t[i] = x[2*i + k]\n        for k in 0..1:\n            x[2*i + k] = 0.0"
    ),
    "a count that the guard excludes": "local k: int = 0\n        if k > 1:\n            t[0] = x[i]",
    "its own register": "local r: real = x[i]\n        r += 1.0\n        x[i] = r",
    "its own array": "local w: real[4] = 0\n        w[0] = x[i]\n        x[i] = w[0]",
    "a view of its own": "let v = x[2*i ..+ 2]\n        v[0] = t[i]",
    "by data": "t[key[i]] = x[i]",
}
FRAME = """algorithm f(x: inout real[2*n + 2], t: inout real[n], key: index[n] below n):
    local s: real = 0
    parallel for i in 0..n:
        {}
    t[0] = s

algorithm g(v: real):
    pass
"""


HEADERS = {
    "pairs": ("parallel for i in 0..n - 1 step 2:\n        x[i] = x[i + 1]", False),
    "every third, two further": ("parallel for i in 0..n - 2 step 3:\n        x[i + 2] = x[i]", False),
    "every third, three further": ("parallel for i in 0..n - 3 step 3:\n        x[i + 3] = x[i]", True),
    "two iterations": ("parallel for i in 0..2:\n        x[i + 2] = x[i]", False),
    "three iterations": ("parallel for i in 0..3:\n        x[i + 2] = x[i]", True),
    "one iteration": ("parallel for i in 0..1:\n        x[0] = 0.0", False),
    "one iteration of a step": ("parallel for i in 0..n step n:\n        x[0] = 0.0", False),
    "one iteration downwards": ("parallel for i in n downto n:\n        x[0] = 0.0", False),
    "starts that change": (
        "for r in 0..n:\n        parallel for i in r % 2..n - 1 step 2:\n            x[i] = x[i + 1]",
        False,
    ),
    "starts that change, all": (
        "for r in 0..n:\n        parallel for i in r % 2..n - 1:\n            x[i] = x[i + 1]",
        True,
    ),
    "a guard around it": ("if n < 2:\n        parallel for i in 0..n:\n            x[0] = 1.0", False),
    "a guard that large sizes pass": ("if n > 5:\n        parallel for i in 0..n:\n            x[0] = 1.0", True),
    "a guard of data around it": ("if x[0] > 1.0:\n        parallel for i in 0..n:\n            x[0] = 1.0", True),
    "a count around it": (
        "local k: int = 0\n    if k > 0:\n        parallel for i in 0..n:\n            x[0] = 1.0",
        False,
    ),
    "a branch of sizes behind one of data": (
        "if x[0] > 1.0:\n        pass\n    elif n > 99:\n        parallel for i in 0..n:\n            x[0] = 1.0",
        False,
    ),
    "a branch behind one that sizes take": (
        "if x[0] > 1.0:\n        pass\n    elif n > 0:\n        pass\n    else:\n        parallel for i in 0..n:\n            x[0] = 1.0",
        False,
    ),
    "a count that data changes around it": (
        "local k: int = 0\n    if x[0] > 1.0:\n        k = 1\n    if k > 0:\n        parallel for i in 0..n:\n            x[0] = 1.0",
        True,
    ),
    "a count that data changes inside": (
        "parallel for i in 0..n:\n        local k: int = 0\n        if x[i + 1] > 1.0:\n            k = 1\n        if k == 0:\n            y[0] = 1.0",
        False,
    ),
    "one segment of several entries": ("parallel for i in rows[0]..rows[1]:\n        x[0] = 1.0", True),
    "a range of data": ("local k: int = key[0]\n    parallel for i in 0..k:\n        x[0] = 1.0", False),
    "an index in the way": ("parallel for i in 0..n:\n        x[i % q] = 1.0", False),
    "an index that may be 0": ("parallel for i in 0..n:\n        x[i*q] = 1.0", False),
    "whatever the index is": ("parallel for i in 0..n:\n        x[0] = real_of(q)", True),
}
"""Loops, and whether they race."""


def found(body: str) -> list[str]:
    module = load_text(FRAME.format(body))
    return [each.rule.code for each in find_certain_races(module, module.algorithms["f"])]


@pytest.mark.parametrize(("body", "races"), HEADERS.values(), ids=HEADERS)
def test_ranges_steps_and_guards_count(body: str, races: bool) -> None:
    types = (
        "x: inout real[2*n + 8], key: index[n] below n, rows: offsets[n] into nz longest nr, q: index, y: inout real[1]"
    )
    module = load_text(f"algorithm f({types}):\n    where nz >= n\n    {body}\n")
    assert bool(find_certain_races(module, module.algorithms["f"])) is races


SIZES = range(1, 9)
ARRAY = "real[6*n + 40]"


@st.composite
def looping_programs(draw: st.DrawFn) -> str:
    """A program of nested loops with ranges, steps and guards that sizes and coordinates decide; some race."""
    grid = draw(st.booleans())
    lines = ["local s: real = 0"]

    def chosen(*options: str) -> str:
        return draw(st.sampled_from(options))

    def place(names: tuple[str, ...]) -> str:
        terms = [f"{draw(st.integers(0, 3))}*{name}" for name in names] + [str(draw(st.integers(0, 5)))]
        return chosen(" + ".join(terms), f"({' + '.join(terms)}) % {draw(st.integers(1, 9))}")

    def guard(names: tuple[str, ...]) -> str:
        sizes = ("n", *(("P", "r") if grid else ()))
        sides = (*names, *sizes, str(draw(st.integers(0, 4))))
        parts = [
            f"{chosen(*sides)}{chosen('', ' + 1', ' % 2', '*2')} {chosen('<', '<=', '==', '!=', '>')} {chosen(*sides)}"
            for _ in range(draw(st.integers(1, 3)))
        ]
        return f" {chosen('and', 'or')} ".join(parts)

    def statements(names: tuple[str, ...], depth: int, inside: bool) -> None:
        indent = "    " * depth
        for _ in range(draw(st.integers(1, 2))):
            kind = chosen("loop", "loop", "guard", "access") if depth < 4 else "access"
            if kind == "loop":
                variable = chosen("i", "j", "k")
                if variable in names:
                    kind = "access"
                else:
                    lo = chosen("0", "0", "1", "n % 2", *names)
                    hi = chosen("n", "n", "n - 1", "2", "1", f"{lo} + 2", f"{lo} + 1")
                    step = chosen("", "", " step 2", " step 3")
                    parallel = draw(st.booleans()) or depth == 0
                    range_ = f"{lo}..{hi}{step}" if draw(st.booleans()) else f"{hi} downto {lo}{step}"
                    lines.append(f"{indent}{'parallel ' if parallel else ''}for {variable} in {range_}:")
                    statements((*names, variable), depth + 1, inside or parallel)
            if kind == "guard":
                lines.append(f"{indent}if {guard(names)}:")
                statements(names, depth + 1, inside)
            if kind == "access":
                one, other = (f"{chosen('x', 'y')}[{place(names)}]" for _ in range(2))
                texts = (f"{one} = {other}", f"{one} = 1.0", f"{one} += {other}", f"atomic {one} += 1.0", "s += 1.0")
                lines.append(indent + chosen(*texts, *texts[:3]))

    statements((), 0, False)
    body = "\n    ".join(lines)
    if not grid:
        return f"algorithm f(n: size, x: inout {ARRAY}, y: inout {ARRAY}):\n    {body}\n"
    arrays = f"    local x: {ARRAY} = 0\n    local y: {ARRAY} = 0\n"
    return f"algorithm f(n: size) on grid(r: P):\n{arrays}    {body}\n"


def races_when_run(module: Module, sizes: dict[str, int]) -> bool:
    algorithm = module.algorithms["f"]
    try:
        execute(module, algorithm, generate_arguments(module, algorithm, sizes), compiled=False)
    except ArchlineError as stopped:
        return stopped.diagnostics[0].rule.code == "AL516"
    return False


@settings(max_examples=drawn(300), deadline=None, suppress_health_check=list(HealthCheck))
@given(looping_programs())
def test_refused_programs_race_in_a_run_and_others_run_without(text: str) -> None:
    module = load_text(text)
    found = find_certain_races(module, module.algorithms["f"])
    for race in found:
        at = dict(each.split(" = ") for each in race.message.rpartition(", at ")[2].split(", "))
        assert races_when_run(module, {name: int(value) for name, value in at.items()}), (text, race)
    if not found:
        for n in SIZES:
            sizes = {"n": n, "P": n % 3 + 1} if "grid" in text else {"n": n}
            assert not races_when_run(module, sizes), (text, n)


def test_coordinates_count() -> None:
    text = (
        "algorithm f(n: size, Y: out real[P]) on grid(r: P):\n    local x: real[n] = 0\n    {}:\n"
        "        parallel for i in 0..n:\n            x[0] = 1.0\n    output Y[r] = x[0]\n"
    )
    for guard, sizes in (
        ("if r > 0 and r + 1 < P", "n = 3, P = 3"),
        ("if r == P", ""),
        ("if n < 2 or r + 2 < P", "n = 3, P = 3"),
    ):
        module = load_text(text.format(guard))
        races = find_certain_races(module, module.algorithms["f"])
        assert [each.message.endswith(f", at {sizes}") for each in races] == [True][: len(sizes)]


@pytest.mark.parametrize("body", RACY.values(), ids=RACY)
def test_certain_races_are_reported(body: str) -> None:
    assert found(body) == ["AL301"]


def test_every_racing_loop_is_reported_once() -> None:
    text = (
        "algorithm f(x: inout real[n], t: inout real[n]):\n    parallel for i in 0..n:\n        t[0] = x[i]\n"
        "        x[0] = t[i]\n    for k in 0..n:\n        parallel for i in 0..n:\n            t[0] += x[i]\n"
        "    if n > 1:\n        parallel for i in 0..n:\n            t[1] += x[i]\n    while x[0] < 1.0 at most n times:\n"
        "        parallel for i in 0..n:\n            parallel for k in 0..n:\n                t[i] += x[k]\n"
    )
    module = load_text(text)
    races = find_certain_races(module, module.algorithms["f"])
    assert [race.span.line for race in races] == [3, 7, 10, 14]


def test_the_message_names_both_places() -> None:
    for body, expected in (
        ("x[i] = x[i + 1]", "`x[1]`: i = 1 writes it, i = 0 reads it on line 4"),
        ("x[i] = 1.0\n        x[i + 1] = 2.0", "`x[1]`: i = 1 writes it, i = 0 writes it on line 5"),
        ("t[0] = x[i]", "`t[0]`: i = 0 and i = 1 write it"),
    ):
        module = load_text(FRAME.format(body))
        (race,) = find_certain_races(module, module.algorithms["f"])
        assert race.message == f"iterations of `parallel for i` race on {expected}, at n = 2"
        assert race.span.line == 4


@pytest.mark.parametrize("body", CLEAN.values(), ids=CLEAN)
def test_others_are_left_to_the_execution(body: str) -> None:
    assert found(body) == []


def test_the_standard_library_has_none() -> None:
    for name in list_stdlib_modules():
        module, _ = load_target(name)
        assert not any(find_certain_races(module, algorithm) for algorithm in module.algorithms.values())


@settings(max_examples=drawn(100), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(programs())
def test_race_free_programs_have_none(program: GeneratedProgram) -> None:
    module = load_text(program.text)
    assert not any(find_certain_races(module, algorithm) for algorithm in module.algorithms.values())


CALLED = """
algorithm fill(y: inout real[k]):
    for e in 0..k:
        y[e] += 1.0

algorithm copied(a: inout real[k], y: inout real[k]):
    for e in 0..k:
        y[e] = a[k - 1 - e]

algorithm summed(a: real[k]) -> real:
    local s: real = 0
    for e in 0..k:
        s += a[e]
    return s

algorithm reversed(a: real[k], y: inout real[k]):
    parallel for e in 0..k:
        y[e] = a[k - 1 - e]

algorithm sometimes(a: real[k], y: inout real[k], flag: int):
    if flag > 0:
        parallel for e in 0..k:
            y[e] = a[k - 1 - e]

algorithm shaped(A: inout real[p, q]):
    parallel for e in 0..p:
        A[e, :] = 1.0
"""
THROUGH = {
    "a slice": ("parallel for i in 0..n:\n        x[i ..+ 2] = 1.0", 3),
    "slices that do not meet": ("parallel for i in 0..n:\n        x[2*i ..+ 2] = 1.0", 0),
    "slices with a step": ("parallel for i in 0..2:\n        x[i..2*n step 2] = 1.0", 0),
    "slices with a step that meet": ("parallel for i in 0..3:\n        x[i..2*n step 2] = 1.0", 3),
    "copied slices": ("parallel for i in 0..n:\n        x[i ..+ 1] = x[i + 1 ..+ 1]", 3),
    "a call": ("parallel for i in 0..n:\n        fill(x[3*i ..+ 4])", 3),
    "calls that do not meet": ("parallel for i in 0..n:\n        fill(x[3*i ..+ 3])", 0),
    "a call with a result": ("parallel for i in 0..n:\n        x[i] = summed(x[0..i + 1])", 3),
    "a call of a view of a view": (
        "let v = x[2..2*n + 2]\n    parallel for i in 0..n:\n        let w = v[i ..+ 2]\n        fill(w)",
        5,
    ),
    "a view and its base": ("let v = x[1 ..+ n]\n    parallel for i in 0..n:\n        v[i] = x[i]", 4),
    "a view and its base, each its own": ("let v = x[n ..+ n]\n    parallel for i in 0..n:\n        v[i] = x[i]", 0),
    "rows and their base": (
        "let A = x[0..4*n] as [n, 4]\n    parallel for i in 0..n:\n        A[i, 3] = x[4*i + 4]\n        x[4*i] = 1.0",
        5,
    ),
    "rows of their base alone": (
        "let A = x[0..4*n] as [n, 4]\n    parallel for i in 0..n:\n        A[i, 3] = x[4*i]",
        0,
    ),
    "columns of every other element": (
        "let A = x[0..4*n step 2] as [n, 2]\n    parallel for i in 0..n:\n        A[i, 1] = x[4*i + 6]",
        4,
    ),
    "arguments that are one array": ("parallel for i in 0..n:\n        copied(x[0..n], x[0..n])", 3),
    "a loop that is called with one array": ("reversed(x, x)", 20),
    "a loop that is called with parts": ("reversed(x[0..n], x[n..2*n])", 0),
    "a loop that is called with rows": ("shaped(x[0..4*n] as [2, 2*n])", 0),
    "a local array and a view of it": (
        "local w: real[n + 1] = 0\n    let v = w[1..n + 1]\n    parallel for i in 0..n:\n        v[i] = w[i]",
        5,
    ),
    "an array of each iteration": (
        "parallel for i in 0..n:\n        local w: real[4] = 0\n        fill(w)\n        x[i] = summed(w)",
        0,
    ),
    "a loop that the argument of the call excludes": ("sometimes(x, x, 0)", 0),
    "a part that the data decides": (
        "local k: int = 0\n    if x[0] > 9.0:\n        k = 1\n    parallel for i in 0..n:\n        x[k*i ..+ 2] = 1.0",
        0,
    ),
}
"""What iterations touch other than by a subscript, and the line of the race; 0 for none that is certain."""


@pytest.mark.parametrize(("body", "line"), THROUGH.values(), ids=THROUGH)
def test_what_is_touched_through_views_and_calls_counts(body: str, line: int) -> None:
    module = load_text(f"algorithm f(n: size, x: inout real[6*n + 8]):\n    {body}\n{CALLED}")
    races = find_certain_races(module, module.algorithms["f"])
    assert [race.span.line for race in races if race.span is not None] == [line or 1][: line > 0]
    assert line == 0 or races_when_run(module, {"n": int(races[0].message.rpartition("n = ")[2])})


def test_a_race_in_what_is_called_says_of_which_run() -> None:
    text = "algorithm f(x: inout real[n]):\n    back(x, x)\n\nalgorithm back(a: real[n], y: inout real[n]):\n"
    module = load_text(text + "    parallel for i in 0..n:\n        y[i] = a[n - 1 - i]\n")
    (race,) = find_certain_races(module, module.algorithms["f"])
    expected = "race on `x[0]`: i = 0 writes it, i = 1 reads it on line 6, in a run of `f` at n = 2"
    assert race.message == f"iterations of `parallel for i` {expected}"
    assert find_certain_races(module, module.algorithms["back"]) == ()


@st.composite
def programs_of_views(draw: st.DrawFn) -> str:
    """A program whose parallel loop touches one array by elements, slices, views, rows and calls; some race."""

    def chosen(*options: str) -> str:
        return draw(st.sampled_from(options))

    def start(variable: str) -> str:
        return f"{draw(st.integers(0, 4))}*{variable} + {draw(st.integers(0, 6))}"

    def part(variable: str, length: int) -> str:
        begun = start(variable)
        step = draw(st.integers(1, 2))
        whole = chosen("x", "x", "v")
        if step == 1 or draw(st.booleans()):
            return f"{whole}[{begun} ..+ {length}]"
        return f"{whole}[{begun}..{begun} + {2 * length - 1} step 2]"

    lines = [
        f"let v = x[{draw(st.integers(0, 5))}..8*n + 40]",
        f"let A = x[{draw(st.integers(0, 5))} ..+ 4*n] as [n, 4]",
    ]
    lines.append("parallel for i in 0..n:")
    for _ in range(draw(st.integers(1, 3))):
        length = draw(st.integers(1, 4))
        one, other = part("i", length), part("i", length)
        lines.append(
            "    "
            + chosen(
                f"{one} = {other}",
                f"{one} = 1.0",
                f"fill({one})",
                f"copied({one}, {other})",
                f"reversed({one}, {other})",
                f"v[{start('i')}] = summed({other})",
                f"A[i, {draw(st.integers(0, 3))}] = x[{start('i')}]",
                "A[i, :] = 2.0",
                f"shaped({part('i', 4)} as [2, 2])",
                f"atomic x[{start('i')}] += 1.0",
                f"if i > {draw(st.integers(0, 3))}:\n            fill({one})",
            )
        )
    body = "\n    ".join(lines)
    return f"algorithm f(n: size, x: inout real[8*n + 60]):\n    {body}\n{CALLED}"


@settings(max_examples=drawn(200), deadline=None, suppress_health_check=list(HealthCheck))
@given(programs_of_views())
def test_races_through_views_and_calls_are_those_of_runs(text: str) -> None:
    module = load_text(text)
    found = find_certain_races(module, module.algorithms["f"])
    for race in found:
        assert races_when_run(module, {"n": int(race.message.rpartition("n = ")[2])}), (text, race)
    if not found:
        assert not any(races_when_run(module, {"n": n}) for n in range(1, 7)), text
