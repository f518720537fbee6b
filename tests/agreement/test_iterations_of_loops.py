"""Iterations that registers bound over a whole call, against runs counted by an interpreter of the tests."""

from __future__ import annotations

import json
import os
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
from loop_programs import EndlessError, LoopProgram, loop_program_from_seed, nest_program_from_seed

LOOPS: list[dict[str, Any]] = json.loads((Path(__file__).parent.parent / "data" / "loops.json").read_text())
SEEDS = range(100, 500) if os.environ.get("ARCHLINE_TESTS") == "full" else range(100, 130)
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


@pytest.mark.parametrize("generate", [loop_program_from_seed, nest_program_from_seed])
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


@pytest.mark.parametrize("text", [MERGE, BISECTION])
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
