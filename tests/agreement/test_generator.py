"""The generator of programs: what it makes is well formed, stays in bounds, has no race, and covers the language."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archline.expr.tree import Source, structure
from archline.language.loader import load_text
from archline.language.parser import parse_program
from archline.language.printer import format_program
from effort import drawn
from programs import program_from_seed, programs
from programs.choice import Seeded
from programs.features import features_of
from programs.interpreter import IllFormedError, Interpreter

FEATURES = (
    "triangular", "strided", "guard", "parallel", "spawn", "segment", "call", "data_branch", "while", "int_data",
    "local_array",
)  # fmt: skip
COUNT = drawn(1_000)


@settings(max_examples=drawn(60), deadline=None)
@given(program=programs())
def test_programs_check_and_round_trip(program) -> None:
    checked = load_text(program.text).program
    printed = format_program(checked)
    again = parse_program(Source("printed.algo", printed))
    assert structure(again.items) == structure(checked.items)
    assert format_program(again) == printed


@settings(max_examples=drawn(60), deadline=None)
@given(program=programs(), data=st.data())
def test_programs_run_in_bounds_and_without_races(program, data) -> None:
    sizes = data.draw(program.sizes())
    arguments = program.arguments(sizes, seed=data.draw(st.integers(0, 9)))
    counts = Interpreter(parse_program(Source("generated.algo", program.text))).run(program.entry, arguments)
    assert 1 <= counts.span <= counts.work
    assert sum(counts.flops.values()) <= counts.work
    arrays = [value for value in arguments.values() if isinstance(value, np.ndarray)]
    assert all(np.isfinite(array).all() for array in arrays)


def test_feature_report(capsys: pytest.CaptureFixture[str]) -> None:
    found: Counter[str] = Counter()
    exact = closed = 0
    for seed in range(COUNT):
        program = program_from_seed(seed)
        found.update(program.features)
        exact += not program.has_data_branch
        closed += program.closes
    with capsys.disabled():
        print(f"\n{COUNT} programs, {exact} without data branches, {closed} of them to be closed exactly; features:")
        print(", ".join(f"{feature} {count}" for feature, count in found.most_common()))
    assert {feature: found[feature] for feature in FEATURES if found[feature] < COUNT // 20} == {}
    assert closed >= 0.9 * exact


@pytest.mark.parametrize("part", range(4))
def test_features_are_in_the_program(part: int) -> None:
    """What the report counts, read off the statements that the entry reaches."""
    for seed in range(part, drawn(200), 4):
        program = program_from_seed(seed)
        tree = parse_program(Source("generated.algo", program.text))
        assert program.features & set(FEATURES) <= features_of(tree, program.entry), program.text


def test_sizes_satisfy_the_facts() -> None:
    for seed in range(drawn(200)):
        program = program_from_seed(seed)
        sizes = program.choose_sizes(Seeded(seed))
        assert all(sizes[name] >= program.facts.least.get(name, 1) for name in sizes)
        assert all(sizes[name].bit_count() == 1 for name in program.facts.powers)
        assert all(sizes[multiple] % sizes[divisor] == 0 for divisor, multiple in program.facts.divisors)
        arguments = program.arguments(sizes)
        for parameter in program.parameters:
            if parameter.kind == "offsets":
                offsets = np.asarray(arguments[parameter.name])
                assert offsets[0] == 0
                assert offsets[-1] == parameter.below.value(sizes)
                assert (np.diff(offsets) >= 0).all()


HEAD = "algorithm main(y: inout real[n], x: real[n]):\n"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("y[n] = 0", "subscript"),
        ("y[0..n+1] = 0", "slice"),
        ("local W: real[n]\n    y[0] = W[0]", "not set"),
        ("parallel for i in 0..n:\n        y[0] += x[i]", "race"),
        ("parallel for i in 0..n:\n        y[i] = y[0]", "race"),
        ("spawn part(y)\n    y[0] = 1", "race"),
        ("spawn part(y)\n    spawn part(y)", "race"),
        ("local t: int = 0\n    while t < n at most n - 1 times:\n        t += 1", "at most"),
    ],
)
def test_interpreter_finds_what_no_program_may_do(body: str, message: str) -> None:
    text = f"{HEAD}    {body}\n\nalgorithm part(z: inout real[n]):\n    z[0] += 1.0\n"
    with pytest.raises(IllFormedError, match=message):
        Interpreter(parse_program(Source("bad.algo", text))).run("main", {"y": np.ones(3), "x": np.ones(3)})


@pytest.mark.parametrize(
    "body",
    [
        "parallel for i in 0..n:\n        atomic y[0] += x[i]",
        "parallel for i in 0..n:\n        y[i] = x[0]",
        "spawn part(y)\n    sync\n    y[0] = 1",
        "spawn part(y[0..1])\n    spawn part(y[1..n])",
        "for i in 0..n:\n        spawn part(y[i..i+1])\n    sync\n    y[0] = 2",
        "parallel for i in 0..n:\n        part(y[i..n-1+1-n+i+1])",
    ],
)
def test_interpreter_lets_disjoint_strands_be(body: str) -> None:
    text = f"{HEAD}    {body}\n\nalgorithm part(z: inout real[n]):\n    z[0] += 1.0\n"
    Interpreter(parse_program(Source("good.algo", text))).run("main", {"y": np.ones(3), "x": np.ones(3)})


def test_interpreter_counts_by_the_table() -> None:
    """Two iterations of a parallel loop over a triangle, by hand: docs/reference/cost-rules.md."""
    text = (
        "algorithm main(y: inout real[n], x: real[n]):\n    parallel for i in 0..n:\n"
        "        for j in 0..i:\n            y[i] += x[j]*2.0\n"
    )
    counts = Interpreter(parse_program(Source("table.algo", text))).run("main", {"y": np.ones(3), "x": np.ones(3)})
    # Three updates of two flops, each in an iteration that costs 1; three outer iterations; the outermost call.
    assert dict(counts.flops) == {"*": 3, "+": 3}
    assert counts.work == 3 * (2 + 1) + 3 + 1
    # The last iteration is the longest: 1 + 2*(1 + 2); the fork of three takes ceil(log2 3) = 2.
    assert counts.span == 2 + (1 + 2 * 3) + 1
