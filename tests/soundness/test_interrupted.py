"""Derivations whose time is up, wherever that is: bounds hold what runs count, and no claim is decided otherwise."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import archline as al
from archline.algebra import effort
from archline.analysis.analyse import derive
from archline.analysis.cost import enclose_cost
from archline.claims.decide import decide_claims
from archline.execution.cache import optimal
from archline.execution.data import generate_arguments
from archline.execution.run import execute
from archline.expr.text import format_expression
from archline.language.loader import load_text
from derived_counts import assert_agreement
from effort import drawn, some
from guard_programs import guarded_program_from_seed
from io_generated import loops, recursion, tiles, triangles
from io_points import Subject, io_of, subject
from stdlib_targets import TRIED

AFTER = st.one_of(st.integers(0, 50), st.integers(0, 3_000))
"""How often the clock is read before the time is up."""


@contextmanager
def up_after(readings: int) -> Iterator[None]:
    """Time of which each reading of the clock takes one second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(effort, "process_time", count().__next__)
        patch.setattr(effort.Clock, "until", readings)
        patch.setattr(effort.Clock, "late", False)
        yield


@settings(max_examples=drawn(60), deadline=None)
@given(st.integers(0, 1_000_000), AFTER)
def test_counts_of_guarded_programs(seed, readings):
    program = guarded_program_from_seed(seed)
    # A text of its own: nothing is shared that was derived in full.
    text = f"{program.guarded}# {readings} readings\n"
    module = load_text(text)
    (algorithm,) = module.algorithms.values()
    with up_after(readings):
        costs = derive(module, algorithm)
    for values in ((1, 1, 1), (3, 2, 1), (5, 5, 1), (7, 8, 2)):
        at = dict(zip(program.sizes, values, strict=False))
        run = execute(module, algorithm, generate_arguments(module, algorithm, at, seed=1), compiled=False)
        if not program.on_grid:
            assert_agreement(costs, run, text)
        for metric in ("flops", "work", "words", "messages") if program.on_grid else ():
            if costs[metric].upper is None:
                continue
            least, most = enclose_cost(costs[metric], run.sizes).ends
            assert least <= getattr(run.counts, metric) <= most, (metric, at, text)


@settings(max_examples=drawn(60), deadline=None)
@given(st.sampled_from([loops, recursion, tiles, triangles]), st.integers(0, 1_000), AFTER)
def test_misses_of_programs(kind: Callable[[int], Subject], number: int, readings: int):
    known = kind(number)
    given_ = subject(f"{known.text}# {readings} readings\n")
    with up_after(readings):
        cost = io_of(given_.module, given_.algorithm)
    source = random.Random(number)
    for line in (1, 4):
        bound, trace = given_.trace(known.draw(source), line)
        for capacity in (2, 5, 17):
            point = {**bound, "Z": capacity * line, "L": line}
            fetched = optimal(trace, capacity).io if trace.accesses else 0
            with up_after(readings):
                found = None if cost.upper is None else enclose_cost(cost, point).ends
            assert found is None or found[0] <= fetched <= found[1], (point, found, fetched, given_.text)


@pytest.mark.parametrize("target", some(TRIED, 8))
@settings(max_examples=drawn(4, 1), deadline=None)
@given(readings=AFTER)
def test_claims_of_the_library(target, readings):
    """Those that it makes hold, so none fails; those that are one too many do not hold."""
    algorithm = al.algorithm(target)
    text = re.sub(
        r"^( *)ensures (\w+) == (.*)$",
        r"\1ensures \2 == \3\n\1ensures \2 >= \3 + 1",
        Path(algorithm.module.program.source.path).read_text(encoding="utf-8"),
        flags=re.MULTILINE,
    )
    module = load_text(f"{text}# {readings} readings\n")
    node = module.algorithms[algorithm.name]
    with up_after(readings):
        verdicts = decide_claims(module, node, derive(module, node))
    for verdict in verdicts:
        raised = verdict.ensures.relation == ">=" and format_expression(verdict.ensures.bound).endswith(" + 1")
        assert verdict.outcome != ("holds" if raised else "fails"), (verdict, readings)
