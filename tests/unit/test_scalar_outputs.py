"""Scalar parameters that hand numbers back, and those that an algorithm assigns."""

from __future__ import annotations

import numpy as np
import pytest

import archline as al
from effort import MODES
from executor_programs import codes, message, run

MATCH = """
def find(a: int[n], x: int, place: out int, tries: inout int):
    for i in 0..n:
        tries += 1
        if a[i] == x:
            place = i
            return

def f(a: int[n], h: inout int[2]):
    local p: int = 7
    find(a, 3, p, h[0])
    h[1] = p
    return p
"""


@pytest.mark.parametrize("compiled", MODES)
def test_a_call_stores_what_the_callee_has_set(compiled: bool) -> None:
    found, missing = (
        run(MATCH, {"a": np.array(a), "h": np.array([10, 0])}, compiled=compiled) for a in ([1, 3, 3], [1, 2, 4])
    )
    assert (found.value, found.outputs["h"].tolist()) == (1, [12, 1])
    # An output that is not set leaves the place as it was.
    assert (missing.value, missing.outputs["h"].tolist()) == (7, [13, 7])
    # The search counts 4 for an iteration, and its call 1; the element is read and written, and written once more.
    assert (found.counts.work, found.counts.accesses) == (1 + 1 + 2 * 4, 2 + 2 + 1)


def test_outputs_of_the_outermost_call_are_results_of_the_run() -> None:
    find = al.loads(MATCH)["find"]
    found, missing = (find.run(a=a, x=3, tries=1) for a in ([3], [1]))
    assert (found.outputs["place"], found.outputs["tries"]) == (0, 2)
    assert "place = 0, tries = 2" in str(found)
    assert "place is not set, tries = 2" in str(missing)
    assert not found.outside


def test_a_value_for_a_number_that_is_handed_back_is_refused() -> None:
    find = al.loads(MATCH)["find"]
    for given in ({"a": [3], "x": 3, "tries": 1, "place": 0}, {"n": 1, "place": 0}):
        with pytest.raises(al.ArchlineError) as problem:
            find.run(**given)
        assert "`place` of `find` is an output, which takes no value" in str(problem.value)
        assert "leave out `place`: the run sets it" in str(problem.value)


RECURSIVE = """
def count(n: size, total: inout int, depth: out real):
    depth = 1.0
    if n <= 1:
        total += 1
        return
    local left: real
    count(n//2, total, left)
    count(n - n//2, total, depth)
    depth = max(left, depth) + 1.0

def f(n: size) -> int:
    t = 0
    local d: real
    count(n, t, d)
    return t
"""


@pytest.mark.parametrize("compiled", MODES)
def test_recursive_calls_hand_numbers_back(compiled: bool) -> None:
    module = al.loads(RECURSIVE)
    for n in (1, 2, 7):
        ran = module["f"].run(n=n, compiled=compiled)
        assert ran.value == n
        assert not ran.outside
        assert module["count"].run(n=n, total=0, compiled=compiled).outputs["depth"] == 1 + int(np.ceil(np.log2(n)))
    work = module["f"].run(n=9).view.counts.derived["work"]
    assert work.lower == work.upper


ASSIGNED = """
def bits(n: size, a: inout int[n]) -> int:
    a[:] = 1
    k = 0
    while n > 0 at most n times:
        n = n//2
        k += 1
    return k

def steps(x: int, y: real) -> int:
    t = 0
    while x != 1 iterations T:
        t += 1
        y = y/2.0
        x = x//2
    return t
"""


def test_an_assigned_parameter_is_data_from_then_on() -> None:
    for n in (1, 5, 8):
        ran = al.loads(ASSIGNED)["bits"].run(n=n, cache="Z=8,L=2")
        assert ran.value == n.bit_length()
        assert not ran.outside
    assert run(ASSIGNED, {"x": 9, "y": 1.0}, "steps").value == 3
    found = message("def f(n: size):\n    n = n + 1\n    local w: int[n] = 0\n", {"n": 2})
    assert "`n` is int data" in found


EXPRESSIONS = """
def next(x: inout int) -> int:
    x += 1
    return x

def f(a: inout int[n], n: size) -> int:
    where n >= 8
    x = 0
    a[next(x)] = 5
    x = next(x) + 0*x - 1
    if next(x) == 2:
        a[0] = next(x) + next(x)
    for i in next(x)..8:
        a[i] = 1
    return next(x)*10 + x
"""


def test_calls_that_set_their_arguments_are_made_from_left_to_right_before_the_statement() -> None:
    ran = run(EXPRESSIONS, {"a": np.zeros(8, np.int64), "n": 8})
    assert (ran.outputs["a"].tolist(), ran.value) == ([7, 5, 0, 0, 0, 1, 1, 1], 66)


MISTAKES = {
    "g(n + 1)": ("AL252", "and this is no place"),
    "g()": ("AL251", "`g` takes 1 argument, not 0"),
    "spawn g(k)": ("AL253", "so it cannot be spawned"),
    "g(r)": ("AL252", "`x` of `g` is int, `r` is not"),
    "while h(k) > 1 at most 3 times:\n        pass": ("AL253", "each test would set them again"),
    "if n > 2 and h(k) > 1:\n        pass": ("AL253", "the right side may not be evaluated"),
    "k = 1 + g(k)": ("AL254", "returns no result"),
    "k = k - 10*h(k)": ("AL253", "`h(k)` is made before `k`, and one changes `k`"),
    "k += 2*h(k)": ("AL253", "`h(k)` is made before `k`"),
    "r = max(r, k, h(k))": ("AL253", "`h(k)` is made before `k`"),
    "for i in k..h(k):\n        pass": ("AL253", "`h(k)` is made before `k`"),
    "g(a[0])": ("AL240", "cannot be written"),
}


@pytest.mark.parametrize("statement", MISTAKES)
def test_a_wrong_call_with_outputs_is_reported(statement: str) -> None:
    text = f"""
def g(x: inout int):
    x += 1
def h(x: inout int) -> int:
    return x
def f(n: size, a: int[n]):
    local k: int = 0
    local r: real = 0.0
    {statement}
"""
    code, words = MISTAKES[statement]
    assert words in message(text, {"n": 1, "a": np.zeros(1, np.int64)})
    assert code in codes(text, {"n": 1, "a": np.zeros(1, np.int64)})
