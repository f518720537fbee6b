"""Faults of communication: each planted program is refused with its own code on its own line, and none of the library.

What the text tells is an error of the checker; what runs on small grids show is one of `cost` and `check`.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import archline as al
from archline.language.diagnostics import ArchlineError
from archline.resources import find_resource
from cli_support import cli
from effort import long, some

LINE = "algorithm f(x: inout local real[n]) on grid(r: P):\n"
SQUARE = "algorithm f(x: inout local real[n], g: size) on grid(i: g, j: g):\n"
CALLEE = "algorithm s(x: inout local real[n], e: index) on grid(q: P):\n"

# The texts of a fault have its code on the line where it is to be reported.
STATIC = {
    "root": LINE + "    broadcast x along r from r #! AL275\n",
    "root through lets": LINE + "    let a = r + 1\n    let b = a//2\n    broadcast x along r from b #! AL275\n",
    "root of another axis's name": SQUARE
    + "    let j1 = i\n    broadcast x along j from j1\n    broadcast x along i from j1 #! AL275\n",
    "root of a called collective": "use distributed.collectives\n" + LINE + "    broadcast_tree(x, r) #! AL275\n",
    "root through a callee": CALLEE
    + "    for t in 0..2:\n        broadcast x along q from e\n"
    + SQUARE
    + "    s(x, i) along j\n    s(x, i) along i #! AL275\n",
    "shift": SQUARE + "    shift x along j by i\n    shift x along j by -j #! AL273\n",
    "shift through a register": LINE
    + "    for t in 0..n:\n        let d = t + r\n        shift x along r by d #! AL273\n",
    "shift through a callee": CALLEE + "    let d = 2*e\n    shift x along q by d\n" + LINE + "    s(x, r) #! AL273\n",
    "shift through two callees": CALLEE
    + "    shift x along q by e\n"
    + "algorithm m(x: inout local real[n], e: index) on grid(q: P):\n    s(x, e + 1)\n"
    + SQUARE
    + "    m(x, i) along j\n    m(x, j) along i, j #! AL273\n",
    "guard": LINE + "    if r > 0:\n        broadcast x along r from 0 #! AL276\n",
    "guard on a register": LINE + "    local k: int = r\n    if k == 0:\n        allreduce x along r with + #! AL276\n",
    "guard of a call": CALLEE
    + "    exchange x to ((q + 1)%P) into x from ((q - 1)%P)\n"
    + SQUARE
    + "    if i == 0:\n        s(x, 1) along j\n        s(x, 1) along i #! AL276\n",
    "guard through a callee": CALLEE
    + "    if e > 0:\n        allreduce x along q with +\n"
    + LINE
    + "    s(x, r) #! AL276\n    s(x, n)\n",
    "loop bound": LINE + "    for t in 0..r:\n        barrier #! AL276\n",
    "loop variable": LINE + "    for t in r..P:\n        broadcast x along r from t #! AL276\n",
    "loop bound through a callee": CALLEE
    + "    for t in 0..e:\n        allreduce x along q with +\n"
    + LINE
    + "    s(x, r//2) #! AL276\n",
    "size": LINE + "    broadcast x[0..min(r, n)] along r from 0 #! AL277\n",
    "size of a local array": LINE
    + "    let m = r + 1\n    local y: real[m] = 0\n    reduce y along r onto 0 with + #! AL277\n",
    "size through a callee": CALLEE
    + "    allreduce x along q with +\n"
    + LINE
    + "    s(x[0..min(r, n)], 0) #! AL277\n",
    "a message of another collective": LINE
    + "    local y: real[n] = 0\n    if r == 0:\n        broadcast x along r from 0 #! AL278\n"
    + "    else:\n        broadcast y along r from 0 #! AL278\n",
}

RUNS = {
    "missing receive": LINE + "    exchange x to (r + 1) when r < P - 1 into x from (r - 1) when r > 1 #! AL534\n",
    "missing send": LINE + "    exchange x to (r + 1) when r < P - 2 into x from (r - 1) when r > 0 #! AL533\n",
    "send without receive": LINE + "    if r == 0 and P > 1:\n        send x to (P - 1) #! AL534\n",
    "dead ring": LINE + "    local y: real[n]\n    receive y from ((r - 1)%P) #! AL533\n    send x to ((r + 1)%P)\n",
    "partner": LINE + "    exchange x to (r + 1) into x from (r - 1) when r > 0 #! AL531\n",
    "size": LINE + "    exchange x[0..r//2] to ((r + 1)%P) into x[0..r//2] from ((r - 1)%P) #! AL532\n",
    "unset": LINE + "    local y: real[n]\n    exchange y to ((r + 1)%P) into x from ((r - 1)%P) #! AL503\n",
    "output": "algorithm f(X: out real[n]) on grid(r: P):\n    local y: real[n] = 0\n    barrier\n    output X = y #! AL535\n",
    "counted guard": LINE
    + "    local k: int = 0\n    for t in 0..r:\n        k += 1\n    if k > 1:\n        barrier\n",
    "only on many processors": LINE
    + "    where P >= 20\n    exchange x to (r + 1) when r < P - 1 into x from (r - 1) when r > 1 #! AL534\n",
}

FINE = {
    "guard that all pass": LINE + "    if r >= 0:\n        broadcast x along r from 0\n",
    "guard of another axis": SQUARE + "    if i == 0:\n        broadcast x along j from i\n",
    "guard through a callee that all pass": CALLEE
    + "    if e > 0:\n        allreduce x along q with +\n"
    + LINE
    + "    s(x, r + 1)\n",
    "iterations that all have": LINE + "    for t in 0..r+P:\n        if t < P:\n            barrier\n",
    "size that is the same": LINE + "    where P divides n\n    broadcast x[r*n//P..(r + 1)*n//P] along r from 0\n",
    "register of another axis": SQUARE + "    local k: int = i\n    if k > 0:\n        broadcast x along j from 0\n",
    "guard of a call along another axis": "algorithm rows(x: inout local real[n], c: size) on grid(i: P/c, j: c):\n"
    + "    broadcast x along j from 0\n"
    + SQUARE
    + "    if i == 0:\n        rows(x, g)\n",
    "half of a grid": LINE
    + "    where 2 divides P\n    if P > 2:\n        split r by 2 as h:\n            if h == 0:\n"
    + "                broadcast x along r from 0\n",
}


def found(text: str) -> list[tuple[int, str]]:
    """The lines and codes of what is reported, by the checker or else by `check`."""
    try:
        messages = al.loads(text)["f"].messages(32)
    except ArchlineError as problem:
        return [(each.span.line, each.rule.code) for each in problem.diagnostics if each.span is not None]
    if messages is None or messages.failure is None or messages.failure.span is None:
        return []
    return [(messages.failure.span.line, messages.failure.rule.code)]


def planted(text: str) -> list[tuple[int, str]]:
    lines = enumerate(text.split("\n"), 1)
    return [(number, code) for number, line in lines for code in re.findall(r"#! (AL\d+)", line)]


@pytest.mark.parametrize("name", STATIC)
def test_faults_in_the_text(name: str) -> None:
    with pytest.raises(ArchlineError) as error:
        al.loads(STATIC[name])
    diagnostics = error.value.diagnostics
    assert [(each.span.line, each.rule.code) for each in diagnostics if each.span] == planted(STATIC[name])


@pytest.mark.parametrize("name", [name for name in RUNS if "#!" in RUNS[name]])
def test_faults_in_runs(name: str) -> None:
    assert found(RUNS[name]) == planted(RUNS[name])


def test_a_register_that_is_counted_is_followed_by_runs() -> None:
    ((_, code),) = found(RUNS["counted guard"])
    assert code in ("AL533", "AL534")


@pytest.mark.parametrize("name", some(list(FINE)))
def test_no_false_alarm(name: str) -> None:
    assert found(FINE[name]) == []
    messages = al.loads(FINE[name])["f"].messages(8)
    assert messages.processors == 8, messages.text


def test_messages_that_data_decides_are_left_out() -> None:
    text = LINE + "    if x[0] > 0.0:\n        exchange x to ((r + 1)%P) into x from ((r - 1)%P)\n"
    messages = al.loads(text)["f"].messages(32)
    assert messages.text == "not checked: the messages of line 3 depend on data"


@pytest.mark.parametrize("around", ["if x[0] > 0.0", "while x[0] > 0.0 at most 3 times"])
def test_data_around_a_split_decides_too(around: str) -> None:
    text = LINE + f"    {around}:\n        split r by 1 as h:\n            barrier\n"
    messages = al.loads(text)["f"].messages(4)
    assert messages.text == "not checked: the messages of line 4 depend on data"


def test_an_index_that_callers_restrict_is_left_out() -> None:
    text = CALLEE.replace(" s(", " f(") + "    exchange x to (e) when q == 1 into x from (1) when q == e\n"
    messages = al.loads(text)["f"].messages(32)
    assert messages.text == "not checked: no `where` restricts `e`"
    # There is no processor that the text could mean by 1 at P = 1; with two the roles are the wrong way round.
    restricted = text.replace("    exchange", "    where e >= 0, e < P\n    exchange")
    assert found(restricted) == [(3, "AL531")]


@long
@pytest.mark.parametrize(
    "path", some(sorted((find_resource("stdlib") / "distributed").glob("*.algo")), 3), ids=lambda path: path.stem
)
def test_the_library_has_no_faults(path: Path) -> None:
    module = al.load(f"distributed.{path.stem}")
    for name in module:
        messages = module[name].messages(7)
        if messages is not None:
            assert messages.failure is None, name
            # CAPS in its layout takes sizes that no fact tells.
            assert messages.processors >= 6 or "depend on data" in messages.text, (name, messages.text)


def test_a_failure_is_reported_with_its_sizes(tmp_path: Path) -> None:
    file = tmp_path / "ring.algo"
    file.write_text(RUNS["missing receive"])
    for command in ("check", "cost"):
        outcome = cli(command, str(file))
        assert outcome.code == 2
        assert "2:5: AL534: processor 0 sends to processor 1, which never receives, at P = 2" in outcome.err


# What a failure says
TOLD = {
    "two processors rather than one": (
        LINE + "    exchange x to (r + 1) into x from (r - 1)\n", "AL531", "at P = 2, n = 1",
    ),
    "one processor where no others fail": (LINE + "    exchange x to (0) when P == 1 into x from (0) when P > 99\n", "AL534", "at P = 1, n = 1"),
    "three where two are fine": (LINE + "    if r == 2:\n        send x to (0)\n    if r == 7:\n        receive x from (0)\n", "AL534", "at P = 3, n = 1"),
    "an output of all": (
        "algorithm f(X: out real[n]) on grid(r: P):\n    local y: real[n] = 0\n    output X = y\n", "AL535", "at P = 2, n = 1",
    ),
    "an output of all at larger sizes": (
        "algorithm f(X: out real[n]) on grid(r: P):\n    local y: real[n] = 0\n    output X = y when r == 0 or n > 1\n",
        "AL535", "at P = 2, n = 2",
    ),
    "an output by a call": (
        "algorithm s(X: out real[n]) on grid(q: P):\n    local y: real[n] = 0\n    output X = y\n"
        "algorithm f(X: out real[n]) on grid(r: P):\n    s(X)\n", "AL535", "in the call on line 5, at P = 2, n = 1",
    ),
    "sends without a receive": (
        LINE + "    if r == 0 and P > 1:\n        send x to (1)\n        send x to (1)\n    if r == 1:\n        receive x from (0)\n",
        "AL534", "this `send` has no `receive`: the text of `f` has 2 sends and 1 receive; processor 0 sends",
    ),
    "receives without a send": (
        LINE + "    if r == 1:\n        receive x from (0)\n", "AL533", "this `receive` has no `send`: the text of `f` has 0 sends and 1 receive; every",
    ),
    "sends that data decides": (
        LINE + "    if x[0] > 0.0:\n        send x to (0)\n", "AL534", "this `send` has no `receive`: the text of `f` has 1 send and 0 receives",
    ),
    "a message of a collective": (
        LINE + "    local y: real[n]\n    if r == 0:\n        y[0] = 1.0\n    broadcast y along r from 1 % P\n", "AL503",
        "(on processor 1), on line 44 of collectives.algo, at P = 2",
    ),
    "a message of a call": (
        CALLEE + "    exchange x to (q + e) into x from (q - e)\n" + LINE + "    s(x, 1)\n", "AL531", "in the call on line 4, at P = 2, n = 1",
    ),
    "sizes of a callee": (
        CALLEE + "    where 2 divides n\n    shift x along q by 1\n"
        + "algorithm f(x: inout local real[2*m], m: size) on grid(r: P):\n    s(x[1..2*m], 1)\n",
        "AL506", "with n = 2*m - 1, e = 1, at P = 2, m = 1 and all other sizes tried",
    ),
}  # fmt: skip
QUIET = {
    "an output of each": "algorithm f(X: out real[P]) on grid(r: P):\n    local y: real[1] = 0\n    output X[r ..+ 1] = y\n",
    "an output that data decides": (
        "algorithm f(X: out real[P], Y: real[P]) on grid(r: P):\n    local y: real[1] = Y[r ..+ 1]\n"
        "    output X[0 ..+ 1] = y when y[0] > 1.4\n"
    ),
    "an output in a branch of data": (
        "algorithm f(X: out real[P], Y: real[P]) on grid(r: P):\n    local y: real[1] = Y[r ..+ 1]\n"
        "    if y[0] > 0.6:\n        output X[0 ..+ 1] = y\n"
    ),
    "a send that no run makes": LINE + "    if P < 1:\n        send x to (0)\n    barrier\n",
}


@pytest.mark.parametrize("name", TOLD)
def test_a_failure_tells_the_smallest_grid_and_the_users_sizes(name: str) -> None:
    text, code, said = TOLD[name]
    messages = al.loads(text)["f"].messages(8)
    assert messages.failure.rule.code == code
    assert said in messages.failure.message


def test_a_failure_in_the_library_is_shown_at_the_users_statement() -> None:
    messages = al.loads(TOLD["a message of a collective"][0])["f"].messages(8)
    assert (messages.failure.span.source.path, messages.failure.span.line) == ("<text>", 5)


@pytest.mark.parametrize("name", QUIET)
def test_no_failure_that_is_not_certain(name: str) -> None:
    messages = al.loads(QUIET[name])["f"].messages(8)
    assert messages is None or messages.failure is None


def test_faults_in_the_text_tell_small_sizes() -> None:
    for text, said in (
        (LINE + "    local k: int = r\n    if k < 2:\n        allreduce x along r with +\n", "(at P = 3, n = "),
        (
            LINE + "    local y: real[n] = 0\n    allgather x along r into y\n",
            "is `P*n`; the argument's is `n`: 2 and 1 at P = 2, n = 1",
        ),
    ):
        with pytest.raises(ArchlineError) as error:
            al.loads(text)
        assert said in error.value.diagnostics[0].message


def test_check_looks_at_larger_grids_than_cost(tmp_path: Path) -> None:
    file = tmp_path / "ring.algo"
    file.write_text(RUNS["only on many processors"])
    assert cli("cost", str(file)).code == 0
    outcome = cli("check", str(file))
    assert outcome.code == 2
    assert "AL534" in outcome.err
    assert "at P = 20" in outcome.err


def test_success_is_a_line_of_the_report(tmp_path: Path) -> None:
    file = tmp_path / "ring.algo"
    file.write_text(LINE + "    ensures words <= n\n    shift x along r by 1\n")
    outcome = cli("check", str(file))
    assert outcome.code == 0
    assert "  messages: checked up to P = 32\n" in outcome.out
    # The second time it comes from the cache.
    assert cli("check", str(file)).out == outcome.out


def test_sizes_are_tried_that_the_assumptions_allow(tmp_path: Path) -> None:
    """An eighth of n goes at multiples of 8 only."""
    path = tmp_path / "eighths.algo"
    path.write_text(
        "algorithm f(x: inout local real[n]) on grid(r: P):\n"
        "    local a: real[n/8] = 0\n"
        "    local b: real[n/8] = 1\n"
        "    exchange a to ((r + 1)%P) into b from ((r + P - 1)%P)\n"
        "    x[0] += b[0]\n"
    )
    outcome = cli("check", str(path))
    assert "assuming 8 divides n" in outcome.out
    assert "messages: checked up to P = 32\n" in outcome.out
