"""Iterations that registers bound over a whole call, against runs counted by an interpreter of the tests."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from math import log2
from pathlib import Path
from typing import Any

import pytest

import archline as al
from archline.analysis.cost import enclose_count
from archline.ir.amortised import proofs, totals
from archline.language import syntax as s
from archline.language.loader import load_text
from archline.records import replace
from effort import drawn
from loop_programs import (
    EndlessError,
    LoopProgram,
    amortised_program_from_seed,
    loop_program_from_seed,
    make_program,
    nest_program_from_seed,
)

LOOPS: list[dict[str, Any]] = json.loads((Path(__file__).parent.parent / "data" / "loops.json").read_text())
SEEDS = range(100, 100 + drawn(250))
# Potentials by cases, data that two tests share, rows that data picks.
WEAK = {"grow_and_shrink", "manacher", "bfs"}


def _count_iterations(text: str) -> str:
    """Return a program that adds 1 to an element in each iteration of each loop, and nothing else."""
    header, *lines = text.split("\n")
    counted = [header[: header.rindex(")")] + ", tt: inout real[1]):"]
    for line in lines:
        if line.strip() != "t[0] += 1.0":
            counted.append(line)
        if re.match(r"\s*(for|while)\b.*:$", line):
            counted.append(" " * (len(line) - len(line.lstrip()) + 4) + "tt[0] += 1.0")
    return "\n".join(counted) + "\n"


@pytest.mark.parametrize("loop", [pytest.param(loop, id=loop["name"]) for loop in LOOPS])
def test_iterations_of_loops_that_people_write(loop: dict[str, Any]) -> None:
    """The bounds enclose the iterations of runs; their growth is the known one, apart from a few weak bounds."""
    algorithm = al.loads(_count_iterations(loop["text"]))[loop["name"]]
    costs = algorithm.report().costs
    cost = costs.flops_by_kind["add"] if "add" in costs.flops_by_kind else costs["flops"]
    counted = [name for name in cost.upper.names if name.startswith("T")] if cost.upper is not None else ["T"]
    assert not counted
    for value in loop["values"]:
        lower, upper = enclose_count(cost, value["at"]).ends
        assert lower <= value["rounds"] <= upper
    if loop["name"] not in WEAK:
        # Growth, by values: between 2^8 and 2^12 the bounds grow as the known growth does, within a factor.
        ratios = []
        for size in (2**8, 2**12):
            at = dict.fromkeys((name for name in algorithm.sizes if name != "tt"), size)
            ratios.append(float(enclose_count(cost, at).upper) / _evaluate_growth(loop["theta_upper"], at))
        assert ratios[1] <= 2 * ratios[0]


def _evaluate_growth(text: str, at: dict[str, int]) -> float:
    """Evaluate a growth of `loops.json` at sizes."""
    expression = text.replace("^", "**")
    return float(eval(expression, {"log2": log2, "min": min, "max": max, **at}))


@pytest.mark.parametrize("generate", [loop_program_from_seed, nest_program_from_seed, amortised_program_from_seed])
@pytest.mark.parametrize("seed", SEEDS)
def test_iterations_of_generated_loops_lie_in_their_bounds(generate: Callable[[int], LoopProgram], seed: int) -> None:
    program = generate(seed)
    algorithm = al.loads(program.text)["loops"]
    cost = algorithm.report().costs.flops_by_kind["add"]
    for draw in range(12):
        source = random.Random(1000 * seed + draw)
        sizes = {name: source.randrange(1, 25) for name in ("n", "m")}
        try:
            count = program.count(sizes, source.random)
        except (EndlessError, OverflowError):
            continue
        if any(re.fullmatch(r"T\d+", name) for name in cost.upper.names):
            # Iterations that nothing bounds are sizes of their own.
            return
        lower, upper = enclose_count(cost, sizes).ends
        assert lower <= count <= upper, (sizes, program.text)


MOVES = {
    "minimum": ("n", ["i: int = 0"], "i < n", ["i = min(i + 4, n)"]),
    "maximum": ("n", ["i: int = n"], "i > 0", ["i = max(i - 3, 0)"]),
    "least of two ends": ("min(n, m)", ["i: int = 0"], "i < min(n, m)", ["i = min(i + 2, n)"]),
    "alternatives": ("n + m", ["i: int = 0", "j: int = 0"], "i < n or j < m", ["i += 2", "j += 3"]),
    "remainder": ("1", ["i: int = n"], "i % 7 != 0", ["i += 1"]),
    "odd and even": ("log2(n)", ["e: int = n"], "e > 0", ["if e % 2 == 1:", "    e -= 1", "else:", "    e = e//2"]),
    "halves rounded up": ("log2(n)", ["i: int = n"], "i > 1", ["i = (i + 1)//2"]),
    "Fibonacci": ("log2(n)", ["p: int = 0", "q: int = 1", "r: int = 0"], "q < n", ["r = p + q", "p = q", "q = r"]),
    "Euclid": ("log2(m)", ["p: int = n", "q: int = m", "r: int = 0"], "q != 0", ["r = p % q", "p = q", "q = r"]),
    "Euclid by quotients": (
        "log2(m)", ["p: int = n", "q: int = m", "u: int = 0", "r: int = 0"], "q > 0",
        ["u = p//q", "r = p - u*q", "p = q", "q = r"],
    ),
    "sum of a counter": ("n^0.5", ["s: int = 0", "i: int = 1"], "s < n", ["s += i", "i += 1"]),
    "odd numbers": ("n^0.5", ["x: int = n", "d: int = 1"], "x >= d", ["x -= d", "d += 2"]),
    "Newton": ("n", ["x: int = n", "y: int = (n + 1)//2"], "y < x", ["x = y", "y = (x + n//x)//2"]),
    "thirds": (
        "log2(n)", ["lo: int = 0", "hi: int = n - 1", "x: int = 0", "y: int = 0"], "lo <= hi",
        [
            "x = lo + (hi - lo)//3", "y = hi - (hi - lo)//3", "if draw < 0.3:", "    lo = y + 1",
            "elif draw < 0.5:", "    hi = x - 1", "else:", "    lo = x + 1", "    hi = y - 1",
        ],
    ),
    "trial division": ("n", ["i: int = 2", "x: int = n"], "i*i <= x", ["if x % i == 0:", "    x = x//i", "else:", "    i += 1"]),
}  # fmt: skip
INSERTION = [
    "k: int = 0", "lo: int = 0", "hi: int = 0", "for i in 0..n:", "    lo = 0", "    hi = k", "    while lo < hi:",
    "        tick", "        if draw < 0.5:", "            lo = (lo + hi)//2 + 1", "        else:",
    "            hi = (lo + hi)//2", "    if draw < 0.5:", "        k += 1",
]  # fmt: skip


@pytest.mark.parametrize("name", MOVES)
def test_iterations_of_registers_in_cases(name: str) -> None:
    """Cases, remainders, two iterations at once: bounds enclose runs, and grow as the known bound does."""
    growth, start, test, body = MOVES[name]
    program = make_program([*start, f"while {test}:", *(f"    {line}" for line in ("tick", *body))])
    _check_program(program, growth)


def test_ranges_of_registers_bound_inner_loops() -> None:
    """What outer loops know of a register bounds a search in it."""
    _check_program(make_program(INSERTION), "n*log2(n)")


def _check_program(program: LoopProgram, growth: str) -> None:
    cost = al.loads(program.text)["loops"].report().costs.flops_by_kind["add"]
    assert not any(name.startswith("T") for name in cost.upper.names)
    source = random.Random(program.text)
    for draw in range(40):
        sizes = {"n": 1 + draw, "m": 1 + draw * 7 % 11}
        lower, upper = enclose_count(cost, sizes).ends
        assert lower <= program.count(sizes, source.random) <= upper, sizes
    ratios = [
        float(enclose_count(cost, dict.fromkeys("nm", size)).upper)
        / _evaluate_growth(growth, dict.fromkeys("nm", size))
        for size in (2**8, 2**12)
    ]
    assert ratios[1] <= 2 * ratios[0]


def test_a_search_that_uses_up_its_effort_keeps_what_it_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loops that are left say so."""
    text = MERGE + "    k = 0\n    while k < n and a[k] > 0.0:\n        k += 2\n"
    module = load_text(text)
    (algorithm,) = module.algorithms.values()
    loops = list(s.find_nodes(algorithm.body, s.While))
    every = totals.bound_totals(module, algorithm, loops)
    assert set(every.loops) == set(loops)
    monkeypatch.setattr(totals, "MAX_EFFORT", 30_000)
    some = totals.bound_totals(module, algorithm, loops)
    assert some.loops.keys() | some.reasons.keys() == set(loops)
    assert set(some.reasons.values()) == {totals.OUT_OF_EFFORT}


MERGE = """
algorithm merge(n: size, m: size, a: real[n], b: real[m]):
    i = 0
    j = 0
    while i < n and j < m:
        if a[i] < b[j]:
            i += 1
        else:
            j += 1
    while i < n:
        i += 1
    while j < m:
        j += 1
"""
BISECTION = """
algorithm search(n: size, a: real[n], key: real):
    lo = 0
    hi = n
    while lo < hi:
        mid = (lo + hi) // 2
        if a[mid] < key:
            lo = mid + 1
        else:
            hi = mid
"""


EUCLID = """
algorithm euclid(n: size, m: size):
    p = n
    q = m
    while q != 0:
        r = p % q
        p = q
        q = r
"""


@pytest.mark.parametrize("text", [MERGE, BISECTION, EUCLID])
def test_a_proof_with_another_multiplier_is_refused(text: str) -> None:
    module = load_text(text)
    (algorithm,) = module.algorithms.values()
    loops = list(s.find_nodes(algorithm.body, s.While))
    derived = totals.bound_totals(module, algorithm, loops)
    assert derived.balances

    def is_whole(_: object) -> bool:
        return True

    changed = 0
    for balance in derived.balances:
        assert balance.check(is_whole)
        for place, proof in enumerate(balance.steps):
            for index in proof.multipliers:
                other = proofs.Proof({**proof.multipliers, index: proof.multipliers[index] + 1}, proof.rest)
                steps = (*balance.steps[:place], other, *balance.steps[place + 1 :])
                assert not replace(balance, steps=steps).check(is_whole)
                changed += 1
    assert changed > 5
