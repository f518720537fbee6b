"""io on several processors: what is derived from io on one, beside simulated private caches."""

from __future__ import annotations

import json

import numpy as np
import pytest

import archline as al
from archline.api.caches import Settings
from archline.api.running import Processors, run
from archline.execution.cache import StaticSchedule, WorkStealing
from archline.execution.results import Cache
from cli_support import cli

PARALLEL = "dense.matmul::matmul_parallel"


def test_regimes_of_the_sizes_are_those_of_one_processor_times_processors() -> None:
    rows = {row.metric: row for row in al.load("sort.merge_parallel")["merge_parallel"].cost().view(processors=4).rows}
    one, four = rows["io"], rows["io(4)"]
    assert one.regimes
    assert [each.upper for each in four.regimes] == [each.upper.scaled(4) for each in one.regimes]
    assert four.upper == one.upper.scaled(4)


def test_what_is_touched_is_fetched_by_some_processor() -> None:
    cost = al.load("dense.gemv")["gemv"].cost()
    sizes = {"n": 6, "m": 9, "Z": 64, "L": 4}
    # The rows of A, x and y.
    assert cost.io_on(4).at(**sizes)[0] == 6 * 3 + 3 + 2


@pytest.mark.parametrize("schedule", [StaticSchedule(), WorkStealing(0), WorkStealing(1), WorkStealing(2)])
def test_simulated_processors_beside_the_bounds(schedule: StaticSchedule | WorkStealing) -> None:
    """P times the bound of one in serial order; of work stealing's bound the constant is below 1 here."""
    algorithm = al.load("dense.matmul")["matmul_parallel"]
    sizes, cache = {"n": 12, "m": 10, "p": 8}, Cache(64, 4)
    data = {name: np.ones(shape) for name, shape in (("A", (12, 10)), ("B", (10, 8)), ("C", (12, 8)))}
    settings = Settings(processors=Processors(4, schedule, "a schedule"))
    found = run(algorithm, data, cache, settings)
    cost = algorithm.cost()
    at = {**sizes, "Z": cache.Z, "L": cache.L}
    fetched = sum(each.io for each in found.private.caches)
    if isinstance(schedule, StaticSchedule):
        assert fetched <= cost.io_on(4).at(**at)[1]
    else:
        span = cost.span.at(**sizes)
        assert fetched <= cost.io.at(**at)[1] + 4 * span * cache.Z / cache.L


def test_schedules_are_told_with_the_span_and_their_source() -> None:
    text = " ".join(cli("cost", PARALLEL, "--procs", "P").out.split())
    assert "work stealing: O(io + P*Z/L*(m + log2(n) + log2(p))) expected" in text
    assert "Acar, Blelloch, Blumofe" in text
    known = json.loads(cli("cost", PARALLEL, "--procs", "4", "--format", "json").out)["schedules"]
    assert [each["schedule"] for each in known] == ["work stealing", "depth first"]


def test_nothing_is_said_of_local_arrays_on_other_stacks() -> None:
    assert "work stealing" not in cli("cost", "dense.strassen::strassen", "--procs", "4").out
