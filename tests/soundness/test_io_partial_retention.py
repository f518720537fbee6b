"""What plans fetch whose spare lines hold a part of what other units would: never less than optimal replacement."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archline.algebra.polynomial import total
from archline.analysis.cache.footprint.references import references
from archline.analysis.cache.samples import samples
from archline.analysis.cache.upper.allocation import Planner
from archline.analysis.cache.upper.evaluate import ByRow, Upper, WithSpare
from archline.execution.cache import optimal
from archline.ir.lower import Lowering
from archline.ir.tree import accesses
from effort import drawn, long
from io_points import Subject, arguments, subject
from io_programs import ArrayProgram
from nest_programs import triangle_program_from_seed
from stdlib_cases import load
from walk_programs import walk_program_from_seed


def assert_each_plan_holds(program: Subject, sizes: dict[str, int], line: int, lines: int) -> int:
    """With each plan that fits, and with each retention by itself and all lines; how many of them are by relative rows."""
    scope, nodes = Lowering(program.module).trace(program.algorithm)
    found = references(accesses(nodes), scope.facts)
    plans = Planner(found, scope.facts, list(samples(program.algorithm, scope))).plans() if found else []
    upper = Upper(plans, scope.facts)
    point = upper.point({**sizes, "Z": lines * line, "L": line})
    trace = program.trace(arguments(program.algorithm, sizes, random.Random(1)), line)[1]
    least = optimal(trace, lines).io if trace.accesses else 0
    plenty = optimal(trace, trace.distinct).io if trace.accesses else 0
    relative = 0
    for plan, bound, spare in upper.fitting(point):
        for rows in (False, True):
            assert WithSpare.of(point, plan, bound, spare).at(point, rows) >= least, (sizes, line, lines, program.text)
        for retention in (each for of_array in plan.retentions for each in of_array):
            # No more than the units fetch that hold its references, however many lines there are.
            saving = retention.saving(point, [10**6] * len(spare))
            own = {unit for unit in plan.units if not retention.references.isdisjoint(unit.references)}
            (fetched,) = point.at(frozenset(own), (total(unit.misses for unit in own),))
            assert saving.saved <= fetched, (sizes, line, program.text)
            assert bound - saving.saved >= plenty, (sizes, line, program.text)
            relative += isinstance(retention, ByRow) and bool(saving.saved)
    return relative


@long
@pytest.mark.parametrize("draw", [triangle_program_from_seed, walk_program_from_seed])
@given(number=st.integers(0, 10**6), n=st.integers(2, 9), line=st.sampled_from((1, 2, 4)), lines=st.integers(1, 40))
@settings(max_examples=drawn(4), deadline=None)
def test_generated_programs(draw: Callable[[int], ArrayProgram], number: int, n: int, line: int, lines: int) -> None:
    program = draw(number)
    assert_each_plan_holds(subject(program.text), dict.fromkeys(program.sizes, n), line, lines)


@pytest.mark.parametrize(("n", "line", "lines"), [(12, 4, 7)])
def test_columns_of_a_trailing_triangle(n: int, line: int, lines: int) -> None:
    """Of the column that each iteration reads, the first entries below the diagonal stay while rows are updated."""
    module, algorithm = load("dense.cholesky::cholesky_parallel")
    program = Subject("cholesky_parallel", module, algorithm, "cholesky_parallel", lambda _: {})
    assert assert_each_plan_holds(program, {"n": n}, line, lines) > 20
