"""No proved verdict is contradicted by runs: random pairs, sizes, caches and machines, under several models."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import archline as al
from archline.compare.verdicts import DEPENDS, EXECUTED, OPEN, PROVED, THIN, PointVerdict, judge_estimates
from archline.costs.sizes import convert_python_values
from archline.energy.answers import derive_numeric
from archline.energy.caches import Settings
from archline.energy.estimates import Estimate, estimate_amounts
from archline.energy.machine_files import machine, machine_names
from archline.energy.machines import Machine, read_parameter
from archline.energy.models import find_model
from archline.energy.subjects import AlgorithmSubject
from archline.execution.cache import CompactTrace, compact, optimal
from archline.execution.data import generate_arguments
from archline.execution.results import Cache, RunCounts
from archline.execution.run import execute
from archline.expr.intervals import Interval
from effort import drawn
from energy_support import exact
from stdlib_csb_cases import by_quadrants

PER_TEST = 30
CASES = drawn(150, least=PER_TEST)
ASKED = 300
Sizes = Mapping[str, int]


@dataclass(frozen=True)
class Family:
    """Algorithms that are worth comparing, and the most that their sizes are; `orders` of data beside random data."""

    targets: tuple[str, ...]
    sizes: Mapping[str, int]
    orders: tuple[str, ...] = ()
    regular: bool = False


def _of(module: str, names: str) -> tuple[str, ...]:
    return tuple(f"{module}::{name}" for name in names.split())


FAMILIES = (
    Family(
        _of("dense.matmul", "matmul_basic matmul_ijk matmul_ikj matmul_parallel matmul_blocked matmul_co")
        + _of("dense.matmul_recursive", "matmul_co_serial"),
        {"n": 12, "m": 12, "p": 12, "b": 5},
    ),
    Family(
        (*_of("dense.transpose", "transpose transpose_blocked"), "dense.transpose_recursive::transpose_co"),
        {"n": 30, "m": 30, "b": 6},
    ),
    Family(("sparse.csr::spmv_csr", "sparse.csc::spmv_csc", "sparse.csb::spmv_csb", "sparse.block::spmv_block"), {}),
    Family(
        ("sort.insertion_sort::insertion_sort", *_of("sort.mergesort", "mergesort mergesort_parallel")),
        {"n": 30},
        ("rising", "falling"),
    ),
    Family((*_of("dense.lu", "lu lu_parallel"), "dense.lu_recursive::lu_co"), {"n": 10}, regular=True),
    Family(
        ("scan.prefix_sum::prefix_sum", "scan.prefix_sum::prefix_sum_blocked", "scan.recursive::prefix_sum_halves"),
        {"n": 90, "b": 9},
    ),
    Family(
        ("scan.reduce::sum", "scan.recursive::sum_tree", "scan.recursive::sum_pairwise", "scan.reduce::dot"), {"n": 90}
    ),
    Family(("dense.gemv::gemv", "dense.gemv::gemv_transposed", "dense.transpose::transpose"), {"n": 25, "m": 25}),
    Family(("string.lcs::lcs", "string.lcs::lcs_co"), {"n": 18, "m": 18}),
)


@cache
def subject(target: str) -> AlgorithmSubject:
    return AlgorithmSubject(al.algorithm(target))


@dataclass(frozen=True)
class Case:
    """A question: two algorithms at sizes, under a cache, on a machine by a model."""

    number: int
    family: Family
    targets: tuple[str, str]
    sizes: tuple[dict[str, int], dict[str, int]]
    cache: Cache
    machine: Machine
    model: str

    def __str__(self) -> str:
        return f"{self.number}: {self.targets} at {self.sizes}, {self.cache}, {self.machine.name}, {self.model}"

    def estimates(self) -> tuple[Estimate, Estimate]:
        """Those of the derived bounds."""
        settings = Settings(self.cache, chosen_cache=True)
        first, second = (
            derive_numeric(
                subject(target), self.machine, find_model(self.model), convert_python_values(at), settings
            ).estimate
            for target, at in zip(self.targets, self.sizes, strict=True)
        )
        assert first is not None
        assert second is not None
        return first, second

    def executed(self, which: int) -> list[Estimate]:
        """Those of counts, on each kind of data."""
        words = {"Z": self.cache.Z, "L": self.cache.L}
        found = []
        sizes = tuple(self.sizes[which].items())
        for counts, trace in runs(self.targets[which], sizes, self.cache.L, self.family, self.number):
            amounts = {name: getattr(counts, name) for name in ("flops", "work", "span", "accesses")}
            ran = optimal(trace, self.cache.Z // self.cache.L)
            amounts |= {"io": ran.io, "bytes": (ran.io + ran.writebacks) * self.cache.L * 8}
            found.append(estimate_amounts(find_model(self.model), self.machine, {**amounts, **words}))
        return found


@cache
def matrix(number: int) -> Any:
    """A sparse matrix of a seed, of 16 by 16 entries of which some are not 0."""
    source = np.random.default_rng(number)
    dense = source.uniform(0.5, 1.5, (16, 16))
    dense[source.random((16, 16)) < source.choice([0.5, 0.8, 0.95])] = 0
    dense[3, 5] = 1
    return dense


def stored(number: int, target: str) -> tuple[dict[str, Any], dict[str, int]]:
    """A sparse matrix as an algorithm takes it, with vectors, and its sizes in that storage."""
    dense, x = matrix(number), {"x": np.ones(16), "y": np.zeros(16)}
    nz, n = np.count_nonzero(dense), len(dense)
    longest = int(np.count_nonzero(dense, axis=1).max()), int(np.count_nonzero(dense, axis=0).max())
    if target.endswith("csr"):
        a = scipy.sparse.csr_array(dense)
        parts = {"rowptr": a.indptr, "col": a.indices, "val": a.data}
        return {**parts, **x}, {"n": n, "m": n, "nz": nz, "nr": longest[0]}
    if target.endswith("csc"):
        b = scipy.sparse.csc_array(dense)
        parts = {"colptr": b.indptr, "row": b.indices, "val": b.data}
        return {**parts, **x}, {"n": n, "m": n, "nz": nz, "nc": longest[1]}
    side = (2, 4, 8)[number % 3]
    blocks = [dense[i : i + side, j : j + side].ravel() for i in range(0, n, side) for j in range(0, n, side)]
    places = [by_quadrants(np.flatnonzero(each), side) for each in blocks]
    place = np.concatenate(places)
    values = np.concatenate([each[where] for each, where in zip(blocks, places, strict=True)])
    sizes = {"nb": n // side, "b": side, "nz": nz, "nmax": max(map(len, places))}
    offsets = np.cumsum([0, *map(len, places)])
    entries = {"blk": offsets, "row": place // side, "col": place % side, "val": values}
    return {**entries, **x, "nb": n // side, "b": side}, sizes


def arguments(target: str, sizes: dict[str, int], order: str, seed: int, regular: bool) -> dict[str, Any]:
    """Data of these sizes."""
    if order == "stored":
        values, found = stored(seed, target)
        assert found == sizes
        return values
    values = generate_arguments(*subject(target).algorithm.executed, sizes, seed)
    if order:
        values["a"] = np.sort(values["a"])[:: 1 if order == "rising" else -1].copy()
    if regular:
        values["A"] = values["A"] + 3 * len(values["A"]) * np.eye(len(values["A"]))
    return values


@cache
def _runs(target: str, sizes: tuple[tuple[str, int], ...], line: int, order: str, seed: int, regular: bool) -> Any:
    module, algorithm = subject(target).algorithm.executed
    values = arguments(target, dict(sizes), order, seed, regular)
    ran = execute(module, algorithm, values, line=line, trace=True, compiled=False, progress=False)
    return ran.counts, compact(ran.trace.lines, ran.trace.writes)


def runs(
    target: str, sizes: tuple[tuple[str, int], ...], line: int, family: Family, number: int
) -> Iterator[tuple[RunCounts, CompactTrace]]:
    """The counts and the trace of runs on random data, and in the orders that matter."""
    kinds = [("", 0), ("", 1), *((order, 0) for order in family.orders)]
    if not family.sizes:
        # Blocks that are drawn at random would hold places twice.
        kinds = [("stored", number), *(kinds if target.endswith(("csr", "csc")) else [])]
    for order, seed in kinds:
        yield _runs(target, sizes, line, order, seed, family.regular)


ICE = tuple(name for name in machine_names() if name.startswith("ice/"))


def on(name: str) -> Machine:
    """A machine; where its static power is not known, one that ratios do not depend on."""
    found = machine(name)
    return found if "pi0" in found.quantities else found.with_parameters({"pi0": read_parameter("pi0", "1")})


def case(number: int) -> Case:
    """The question of a number."""
    source = random.Random(number)
    # Each family in turn.
    family = FAMILIES[number % len(FAMILIES)]
    # Bounds of recursion over a matrix take a second each.
    rare = [each for each in family.targets if not each.endswith("_csb") or number % 4 == 0]
    first, second = source.sample(rare, 2)
    drawn = {name: source.randint(2, most) for name, most in family.sizes.items()}
    at = []
    for target in (first, second):
        if not family.sizes:
            at.append(stored(number, target)[1])
            continue
        held = subject(target).report.names.sizes
        at.append({name: drawn[name] for name in held})
    line = source.choice((1, 2, 4, 8))
    words = line * round(2 ** source.uniform(2, 9)) + source.randrange(line)
    name, chosen = source.choice(
        [
            (source.choice(ICE), "ice"),
            ("gtx-580", "roofline"),
            ("i7-950", "roofline"),
            ("gtx-580", "linear"),
            ("i7-950", "ice"),
        ]
    )
    return Case(number, family, (first, second), (at[0], at[1]), Cache(words, line), on(name), chosen)


def contradicted(verdict: PointVerdict, one: Fraction, other: Fraction) -> bool:
    """Whether amounts that were executed contradict what the bounds prove."""
    if verdict.decided:
        found = "A" if one < other else "B" if other < one else None
        if found != verdict.less:
            return True
    return verdict.ratio is not None and not verdict.ratio.lower <= one / other <= verdict.ratio.upper


@pytest.mark.parametrize("start", range(0, CASES, PER_TEST))
def test_verdicts_are_not_contradicted_by_runs(start: int) -> None:
    decided = 0
    for number in range(start, start + PER_TEST):
        question = case(number)
        estimates = question.estimates()
        for by in ("energy", "time"):
            verdict = judge_estimates(*estimates, by)
            assert verdict.verdict in (PROVED, THIN, OPEN)
            decided += verdict.decided
            for one in question.executed(0):
                for other in question.executed(1):
                    values = exact(one.by(by)), exact(other.by(by))
                    assert not contradicted(verdict, *values), f"{question}, by {by}: {verdict}, executed {values}"
    # Most can be decided, so that the test says something.
    assert decided > PER_TEST // 2


def test_most_kinds_of_questions_are_asked() -> None:
    asked = [case(number) for number in range(ASKED)]
    assert {target for each in asked for target in each.targets} == {t for each in FAMILIES for t in each.targets}
    assert {each.model for each in asked} == {"ice", "roofline", "linear"}
    assert len({each.machine.name for each in asked}) >= 10


def test_a_planted_verdict_is_noticed() -> None:
    """Runs contradict a verdict that is turned round, a ratio that is moved, and a tie that is none."""
    noticed = 0
    for number in range(27):
        question = case(number)
        verdict = judge_estimates(*question.estimates(), "energy")
        one, other = (exact(question.executed(which)[0].energy) for which in (0, 1))
        assert not contradicted(verdict, one, other)
        if not verdict.decided:
            continue
        turned = replace(verdict, less={"A": "B", "B": "A", None: "A"}[verdict.less])
        assert contradicted(turned, one, other)
        assert contradicted(replace(verdict, less=None), one, other) == (one != other)
        if verdict.ratio is not None:
            low, high = verdict.ratio.upper * Fraction(1001, 1000), verdict.ratio.upper * 2
            assert contradicted(replace(verdict, ratio=Interval(low, high)), one, other)
        noticed += 1
    assert noticed > 10


def test_what_was_executed_proves_nothing() -> None:
    """Verdicts of runs are of their data: others do not contradict them."""
    for verdict in (EXECUTED, DEPENDS, OPEN):
        assert not contradicted(PointVerdict(verdict, "A", None, ""), Fraction(2), Fraction(1))
    assert contradicted(PointVerdict(PROVED, "A", None, ""), Fraction(2), Fraction(1))
    assert contradicted(PointVerdict(THIN, "A", None, ""), Fraction(1), Fraction(1))
    assert contradicted(PointVerdict(OPEN, None, Interval.of((3, 4)), ""), Fraction(2), Fraction(1))
