"""Races found from the text: certain ones are reported, and nothing else is."""

import pytest
from hypothesis import HealthCheck, given, settings

from archline.analysis.checks.races import certain_races
from archline.language.loader import load_target, load_text, stdlib_modules
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
    "an ascending loop of unknown length": "for k in 1..n:\n            t[k] = x[i]",
    "every other element": "for k in 0..n step 2:\n            t[k] = x[i]",
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


def found(body: str) -> list[str]:
    module = load_text(FRAME.format(body))
    return [each.rule.code for each in certain_races(module, module.algorithms["f"])]


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
    races = certain_races(module, module.algorithms["f"])
    assert [race.span.line for race in races] == [3, 7, 10, 14]


def test_the_message_names_both_places() -> None:
    for body, other in (
        ("x[i] = x[i + 1]", ": another iteration reads what this one writes (line 4)"),
        ("x[i] = 1.0\n        x[i + 1] = 2.0", ": another iteration writes what this one writes (line 5)"),
        ("t[0] = x[i]", ""),
    ):
        module = load_text(FRAME.format(body))
        (race,) = certain_races(module, module.algorithms["f"])
        name = body[0]
        assert race.message == f"iterations of `parallel for i` race on `{name}`{other}"
        assert race.span.line == 4


@pytest.mark.parametrize("body", CLEAN.values(), ids=CLEAN)
def test_others_are_left_to_the_execution(body: str) -> None:
    assert found(body) == []


def test_the_standard_library_has_none() -> None:
    for name in stdlib_modules():
        module, _ = load_target(name)
        assert not any(certain_races(module, algorithm) for algorithm in module.algorithms.values())


@settings(max_examples=drawn(100), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(programs())
def test_race_free_programs_have_none(program: GeneratedProgram) -> None:
    module = load_text(program.text)
    assert not any(certain_races(module, algorithm) for algorithm in module.algorithms.values())
