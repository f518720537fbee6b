"""Records: what they mean and cost, how their operations are found, and what is refused with which words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from archline.analysis.analyse import derive
from archline.execution.data import generate_arguments
from archline.execution.results import Run
from archline.language.diagnostics import ArchlineError
from archline.language.loader import load_path, load_target, load_text
from cli_support import cli
from derived_counts import assert_agreement
from effort import long
from executor_programs import run

PAIR = """type pair[n]:
    left: queue[n]
    right: queue[n]
    total: int

algorithm move(P: inout pair[n]):
    P.right.push(P.left.pop())
    P.total += 1

"""
POINT = """type point:
    x: real
    y: real

"""


def execute(text: str, **arguments: Any) -> Run:
    """The run of `f`, whose derived costs enclose its counts."""
    module = load_text(text)
    result = run(text, arguments, compiled=False)
    assert_agreement(derive(module, module.algorithms["f"]), result, text)
    return result


# What records mean
@pytest.mark.parametrize(
    ("text", "value", "work"),
    [
        # With their calls `push` and `pop` of a queue count 2 and 3, those of a stack 2.
        (
            "def f(n: size):\n    Q = queue(n)\n    Q.push(4)\n    Q.push(5)\n    return Q.pop() + Q.pop()\n",
            9,
            1 + 2 + 2 + 3 + 3 + 1,
        ),
        ("def f(n: size):\n    local Q: queue[n]\n    push(Q, 4)\n    return pop(Q)\n", 4, 1 + 2 + 3),
        (
            "def f(n: size):\n    local S: stack[2*n]\n    S.items[0] = 7\n    S.count = 1\n    return S.pop()\n",
            7,
            1 + 2,
        ),
        ("def f(n: size):\n    Q = queue(n)\n    Q.push(1)\n    return Q.length()\n", 1, 1 + 2 + 2),
        (
            "def f(n: size):\n    t = 0\n    for i in range(n):\n        Q = queue(n)\n        Q.push(i)\n"
            "        t += Q.pop()\n    return t\n",
            6,
            1 + 4 * (1 + 2 + 3 + 1),
        ),
        (
            "def f(n: size):\n    A = stack(n)\n    B = stack(n)\n    A.push(1)\n    B.push(2)\n    B.push(A.pop())\n"
            "    return B.pop()\n",
            1,
            1 + 2 + 2 + 2 + 2 + 2,
        ),
        (
            PAIR + "def f(n: size):\n    P = pair(n)\n    P.left.push(7)\n    P.move()\n"
            "    return P.right.pop() + P.total\n",
            8,
            # `push`, then `move` of `pop`, `push` and an update, then `pop` and a sum
            1 + 2 + (1 + 3 + 2 + 1) + 3 + 1,
        ),
        (
            POINT + "def set(P: out point, x: real):\n    P.x = x\n    P.y = x*x\n\n"
            "algorithm f(n: size) -> real:\n    local P: point\n    P.set(3)\n    return P.y\n",
            9,
            1 + 1 + 1,
        ),
        (
            "type grid[n]:\n    a: real[n, n]\n    t: int\n\ndef f(n: size):\n    local G: grid[n]\n"
            "    G.a[:, :] = 1\n    G.a += G.a\n    G.t += 1\n    return sum(G.a[0, :]) + G.t\n",
            9,
            None,
        ),
        # A new union_find is set by its `start`.
        (
            "def f(n: size):\n    local U: union_find[n]\n    U.union(0, 1)\n    U.union(1, 2)\n    t = 0\n"
            "    for v in range(n):\n        if U.find(v) == U.find(0):\n            t += 1\n    return t\n",
            3,
            None,
        ),
        (
            "def f(n: size):\n    H = heap(n)\n    H.insert(0, 5)\n    H.insert(1, 3)\n    H.insert(2, 4)\n"
            "    H.decrease_key(0, 1)\n    return 100*H.extract_min() + 10*H.extract_min() + H.peek()\n",
            12,
            None,
        ),
        (
            "def f(n: size):\n    M = map(n)\n    M.put(5, 1)\n    M.put(9, 2)\n    M.put(5, 3)\n"
            "    if M.contains(9) and not M.contains(1):\n        return 10*M.get(5) + M.length()\n    return 0\n",
            32,
            None,
        ),
    ],
)
def test_programs_with_records(text: str, value: float, work: int | None) -> None:
    result = execute(text, n=4)
    assert result.value == value
    assert work is None or result.counts.work == work


@long
def test_a_compiled_run_has_the_same_counts() -> None:
    text = (
        PAIR
        + "def f(n: size):\n    P = pair(n)\n    P.left.push(7)\n    P.move()\n    return P.right.pop() + P.total\n"
    )
    plain, compiled = (run(text, {"n": 4}, compiled=compiled) for compiled in (False, True))
    assert (plain.value, plain.counts) == (compiled.value, compiled.counts)


PTR = {"G.ptr": [0, 2, 2, 3], "G.adj": [1, 2, 0]}


@pytest.mark.parametrize(
    "header",
    ["G: graph[V, E], seen: inout int[V]", "G: graph, seen: inout int[V]", "G: graph[n, m], seen: inout int[n]"],
)
def test_a_record_parameter_names_its_sizes_or_has_those_of_its_type(header: str) -> None:
    text = f"""algorithm mark(G: graph, u: vertex, seen: inout int[V]):
    for v in G.neighbors(u):
        seen[v] += 1

algorithm f({header}):
    mark(G, 0, seen)
    seen[1] += 10*G.degree(0)
"""
    result = execute(text, **PTR, seen=[0, 0, 0])
    assert result.outputs["seen"].tolist() == [0, 21, 1]


def test_a_type_of_the_file_goes_before_the_librarys() -> None:
    text = """type queue[n]:
    last: real[n]

def push(Q: inout queue[n], x: real):
    Q.last[0] = x

algorithm f(n: size) -> real:
    local Q: queue[n]
    Q.push(2.5)
    return Q.last[0]
"""
    assert execute(text, n=3).value == 2.5
    refused(text.replace("    return Q", "    Q.pop()\n    return Q"), "AL202: `queue` has no operation `pop`")


def test_types_of_a_used_file(tmp_path: Path) -> None:
    (tmp_path / "pairs.algo").write_text(PAIR)
    (tmp_path / "main.algo").write_text(
        "use pairs\n\ndef f(n: size):\n    P = pair(n)\n    P.left.push(3)\n    P.move()\n    return P.right.pop()\n"
    )
    assert cli("run", f"{tmp_path / 'main.algo'}::f", "--at", "n=2").code == 0
    (tmp_path / "wrong.algo").write_text("use pairs\n\ndef f(n: size):\n    P = queue(n)\n    move(P)\n")
    with pytest.raises(ArchlineError, match="`queue` has no operation `move`"):
        load_path(tmp_path / "wrong.algo")
    (tmp_path / "four.algo").write_text(
        "use pairs\n\ntype four[n]:\n    P: pair[n]\n\ndef g(F: inout four[n]):\n    F.P.move()\n"
    )
    (tmp_path / "last.algo").write_text("use four\n\ndef f(F: inout four[n]):\n    F.g()\n")
    with pytest.raises(ArchlineError, match="a `four` contains a `pair`, which is not known here"):
        load_path(tmp_path / "last.algo")
    (tmp_path / "last.algo").write_text("use four\nuse pairs\n\ndef f(F: inout four[n]):\n    F.g()\n")
    load_path(tmp_path / "last.algo")


@pytest.mark.parametrize(
    ("target", "name"), [("structures.queue::push", "queue.push"), ("structures.queue::queue.push", "queue.push")]
)
def test_an_operation_is_found_with_and_without_its_type(target: str, name: str) -> None:
    _, algorithm = load_target(target)
    assert algorithm is not None
    assert algorithm.name == name
    assert f"{name}(Q: inout queue[cap], x: int)" in cli("list", target).out


def test_an_operation_that_two_types_have_needs_its_type(tmp_path: Path) -> None:
    place = tmp_path / "two.algo"
    place.write_text(
        "type a:\n    n: int\n\ntype b:\n    n: int\n\ndef f(A: a):\n    return A.n\n\ndef f(B: b):\n    return 2*B.n\n"
    )
    with pytest.raises(ArchlineError, match="has no algorithm `f`"):
        load_target(f"{place}::f")
    assert cli("cost", f"{place}::b.f").code == 0


# Generated data
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("count", [1, 2, 5])
def test_generated_vertices_lie_in_their_graph(count: int, seed: int) -> None:
    text = "algorithm f(G: graph, s: vertex, t: vertex, seen: inout int[V]):\n    seen[s] += G.degree(t)\n"
    module = load_text(text)
    arguments = generate_arguments(module, module.algorithms["f"], {"V": count, "E": 3}, seed)
    assert 0 <= arguments["s"] < count
    assert 0 <= arguments["t"] < count


@pytest.mark.parametrize("target", ["graph.bfs::bfs", pytest.param("graph.dijkstra::dijkstra", marks=long)])
def test_generated_runs_of_graphs_end(target: str) -> None:
    for seed in range(5):
        assert cli("run", target, "--at", "V=3,E=6", "--seed", str(seed)).code == 0


def test_generated_numbers_satisfy_what_is_assumed_at_the_start() -> None:
    text = "algorithm f(a: int, b: int, x: inout int[n]):\n    assume a > b, b > n\n    b += 1\n    x[0] = b\n"
    module = load_text(text)
    for seed in range(5):
        arguments = generate_arguments(module, module.algorithms["f"], {"n": 3}, seed)
        assert arguments["a"] > arguments["b"] > 3
    # What cannot hold is left to the run, which reports it.
    impossible = load_text(text.replace("b > n", "a < b"))
    assert generate_arguments(impossible, impossible.algorithms["f"], {"n": 3}, 0)


# Failures of runs
@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("Q = queue(n)\nQ.push(1)\nx = Q.pop()\ny = Q.pop()", "AL509: `assume Q.head < Q.tail` is false here"),
        ("S = stack(n)\nx = S.pop()", "AL509: `assume S.count > 0` is false here"),
        ("H = heap(n)\nx = H.extract_min()", "AL509: `assume H.count > 0` is false here"),
        ("H = heap(n)\nH.insert(1, 2)\nH.insert(1, 3)", "AL509: `assume H.place[v] == 0` is false here"),
        ("H = heap(n)\nH.insert(n, 2)", "AL501: the subscript of `H.place[v]` is 3"),
        ("M = map(n)\nM.put(-1, 2)", "AL509: `assume k >= 0` is false here"),
        ("M = map(n)\nx = M.get(4)", "AL509: `assume M.key[h] != 0` is false here"),
        ("M = map(n)\nfor i in 0..n:\n    M.put(i, i)", "AL509: `assume M.count < cap` is false here"),
        ("Q = queue(n)\nfor i in 0..n+1:\n    Q.push(i)", "AL501: the subscript of `Q.items[Q.tail]` is 3"),
    ],
)
def test_failures_name_the_field(lines: str, message: str) -> None:
    text = "def f(n: size):\n" + "".join(f"    {line}\n" for line in lines.split("\n"))
    with pytest.raises(ArchlineError) as caught:
        run(text, {"n": 3}, compiled=False)
    assert message in str(caught.value)


# Mistakes
def refused(text: str, *messages: str, hint: str = "") -> None:
    """Each of the findings, and no other, is in the error of a program."""
    with pytest.raises(ArchlineError) as caught:
        load_text(text)
    found = [f"{each.rule.code}: {each.message}" for each in caught.value.diagnostics]
    assert len(found) == len(messages), found
    for line, message in zip(found, messages, strict=True):
        assert message in line
    assert hint in "\n".join(each.hint or "" for each in caught.value.diagnostics)


@pytest.mark.parametrize(
    ("line", "message", "hint"),
    [
        ("return Q.hed", "AL201: `queue` has no field `hed`", "did you mean `Q.head`?"),
        ("return Q.items[0] + Q.itms[0]", "AL201: `queue` has no field `itms`", "did you mean `Q.items`?"),
        ("Q.hed = 3", "AL201: `queue` has no field `hed`", "did you mean `Q.head`?"),
        ("x = Q.length", "AL201: `queue` has no field `length`", "write `Q.length()`"),
        ("x = Q.weight", "AL201: `queue` has no field `weight`", "it has the fields `Q.items`, `Q.head`, `Q.tail`"),
        ("Q.pushh(3)", "AL202: `queue` has no operation `pushh`", "did you mean `push`?"),
        ("Q.append(3)", "AL202: `queue` has no operation `append`", "write `push`"),
        ("x = Q.size()", "AL202: `queue` has no operation `size`", "write `length`"),
        ("x = Q.head()", "AL202: `queue` has no operation `head`", "write `peek`"),
        ("x = Q.tail()", "AL202: `queue` has no operation `tail`", "write `Q.tail`"),
        ("Q.rotate(3)", "AL202: `queue` has no operation `rotate`", "it has push, pop, peek, length, empty"),
        ("Q.push(1, 2)", "AL251: `push` takes 2 arguments, not 3", "it is `push(Q, x)`"),
        ("R = Q", "AL212: `R` cannot be a copy of a record", "pass on the record itself"),
        ("local R: queue[n] = Q", "AL212: `R` cannot be a copy of a record", "pass on the record itself"),
        ("local R: queue[n] = 0", "AL212: a record has no value of its own", "leave out the value"),
        ("Q = queue(n)", "AL212: `Q` is a record, which cannot be assigned", "assign its fields"),
        ("return Q", "AL212: `Q` is a record, which cannot be returned", "make it a parameter, `Q: out queue[...]`"),
        ("x = Q + 1", "AL212: `Q` is a record, where a number or an array is expected", "`Q.items`"),
        ("if Q == 1: return 1", "AL212: `Q` is a record, where a number or an array is expected", "`Q.items`"),
        ("while Q: n -= 1", "AL212: `Q` is a record, where a number or an array is expected", "write `not Q.empty()`"),
        ("if n > 1 and not Q: return 1", "AL212: `Q` is a record, where a number", "write `Q.empty()`"),
        ("x = Q.pop(0)", "AL251: `pop` takes 1 argument, not 2", "write `Q.pop()`"),
        ("x = sqrt(Q)", "AL202: `queue` has no operation `sqrt`", "it has push"),
        ("Q[0] = 1", "AL212: `Q` is a record, which has no elements", "it has the fields `Q.items`"),
        ("local R: queue[n, n]", "AL206: `queue` has 1 size, not 2", "it is `queue[cap]`"),
        ("R = queue()", "AL206: `queue` needs its sizes: cap", "write `R = queue(n)`"),
        ("local R: queu[n]", "AL201: unknown type `queu`", "did you mean `queue`?"),
        ("g(Q, Q)", "AL212: `Q` is passed twice, and `g` sets `A`", "pass two different records"),
        ("g(Q, 3)", "AL252: `B` of `g` is a `queue`, and this is no record", ""),
        ("S = stack(n)\n    g(S, Q)", "AL252: `A` of `g` is a `queue`, and this is a `stack`", ""),
        ("h(Q)", "AL252: `x` of `h` is no record, and this is a `queue`", ""),
    ],
)
def test_mistakes_in_the_use_of_records(line: str, message: str, hint: str) -> None:
    text = f"""algorithm g(A: inout queue[n], B: inout queue[n]):
    A.push(B.pop())

algorithm h(x: real) -> real:
    return x

algorithm f(n: size, Q: inout queue[n]):
    {line}
"""
    refused(text, message, hint=hint)


@pytest.mark.parametrize(
    ("definition", "message", "hint"),
    [
        ("type box[n]:\n    a: itn[n]", "AL201: unknown type `itn`", "did you mean `int`?"),
        ("type box[n]:\n    a: int[m]", "AL206: `box` has no size `m`", "`type box[n, m]:`"),
        ("type box[n]:\n    a: int\n    a: real", "AL204: `box` has two fields called `a`", ""),
        (
            "type box[n]:\n    a: int\n\ntype box[n]:\n    b: int",
            "AL204: the type `box` is already defined on line 1",
            "",
        ),
        ("type box[n]:\n    a: queue", "AL206: `queue` has 1 size, not 0", "it is `queue[cap]`"),
        ("type box[n]:\n    next: box[n]", "AL212: a `box` cannot contain a `box`", "`next: int[n]`"),
        ("type box:\n    a: int", "AL206: `box` has no sizes, and there are no arrays of records", "`type box[n]:`"),
    ],
)
def test_mistakes_in_types(definition: str, message: str, hint: str) -> None:
    refused(f"{definition}\n\nalgorithm f(B: inout box[n], x: inout int[n]):\n    x[0] = 1\n", message, hint=hint)


def test_types_that_contain_each_other() -> None:
    text = "type a[n]:\n    x: b[n]\n\ntype b[n]:\n    y: a[n]\n\ndef f(A: a[n]):\n    return 1\n"
    refused(text, "AL212: a `a` cannot contain a `a`", "AL212: a `b` cannot contain a `b`")


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (
            "algorithm f(n: size) -> queue[n]:\n    return 1\n",
            "AL101: unexpected `queue`",
            "an array or a record is a parameter",
        ),
        (
            POINT + "algorithm f(x: inout real[n]):\n    x[0] = x[1].y\n",
            "AL101: unexpected `.`",
            "there are no arrays of records",
        ),
        (
            POINT + "algorithm f(P: point):\n    P.x = 1\n",
            "AL240: `P` is an `in` record, whose fields cannot be written",
            "`P: inout point`",
        ),
        (
            POINT + "def set(P: out point):\n    P.x = 1\n    P.y = 1\n\ndef f(P: point):\n    P.set()\n",
            "AL240: `P` is an `in` record",
            "`P: inout point`",
        ),
        ("def f(Q: queue[n]):\n    Q.push(1)\n", "AL240: `Q` is an `in` record", "`Q: inout queue[n]`"),
        ("def f(Q: queue[n]):\n    Q.head += 1\n", "AL240: `Q` is an `in` record", "`Q: inout queue[n]`"),
    ],
)
def test_mistakes_around_records(text: str, message: str, hint: str) -> None:
    refused(text, message, hint=hint)


def test_arguments_beside_a_record_of_the_library_keep_their_meaning() -> None:
    # The item stands where the fields of the heap are passed: it is not set by the call.
    text = "def f(n: size):\n    H = heap(n)\n    v = n - 1\n    H.insert(v, 2)\n    local x: real[v + 1]\n    x[:] = 1\n    return x[v]\n"
    assert execute(text, n=4).value == 1
