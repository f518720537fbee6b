"""Points at which bounds on io are compared with optimal replacement: programs, arguments, lines and capacities."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from math import ceil, floor
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from archline.algebra.evaluate.exact import evaluate
from archline.algebra.polynomial import Poly
from archline.analysis.cache.analyse import derive_io_cost
from archline.analysis.cache.lower.recursive_hbl import derive_call_tree_bound
from archline.analysis.cache.lower.recursive_segments import RecursiveSegmentBound
from archline.analysis.cache.recursive.evaluate import RecursiveMissBounds
from archline.analysis.cache.summaries.must_access import derive_must_access
from archline.analysis.cost import Cost, enclose_cost
from archline.execution.cache import CompactTrace, compact, optimal
from archline.execution.run import execute
from archline.expr.intervals import EvaluationError
from archline.expr.values import evaluate_static
from archline.ir.factored import UnboundedError
from archline.ir.tree import UntracedError
from archline.language import syntax as s
from archline.language.call_graph import has_recursion
from archline.language.loader import load_text
from archline.language.model import Module
from stdlib_cases import CASES, Case, load
from stdlib_recursive_cases import RECURSIVE

LINES = (1, 2, 4, 8, 16)
Sizes = Mapping[str, int]
Arguments = dict[str, Any]


@dataclass(frozen=True)
class Bounds:
    """Bounds on io at sizes, Z and L, and the lines from which on something more fits into the cache."""

    ends: Callable[[Sizes], tuple[int, int]]
    edges: Callable[[Sizes], set[int]]
    lowers: Sequence[Poly] = ()
    """Closed forms that bound from below everywhere."""
    uppers: Sequence[tuple[Sequence[Poly], Poly]] = ()
    """Closed forms that bound from above where what each needs is not negative."""

    def closed(self, point: Sizes) -> tuple[int, int]:
        """The bounds together with every closed form that applies."""
        lower, upper = self.ends(point)
        applying = (form for needs, form in self.uppers if all(evaluate(need, point) >= 0 for need in needs))
        least, most = (evaluate(form, point) for form in self.lowers), (evaluate(form, point) for form in applying)
        return max([lower, *map(int, map(ceil, least))]), min([upper, *map(int, map(floor, most))])


def bounds(module: Module, algorithm: s.Algorithm) -> Bounds | str:
    """Bounds on the io of an algorithm, or why there are none."""
    if has_recursion(module, algorithm) and (known := _of_recursion(module, algorithm)) is not None:
        return known
    cost = io_of(module, algorithm)
    if cost.interval_at is not None:
        ends = cost.interval_at
        rooms = [room for plan in cost.plans for room in plan.where.needs]

        def edges(point: Sizes) -> set[int]:
            # Of the words that are left, Z - L*lines, at Z = 0.
            return {int(-evaluate(room, {**point, "Z": 0}) / point["L"]) for room in rooms}

        lowers = [form for form in (cost.lower, *(bound.value for bound in cost.by_loop)) if form is not None]
        uppers = [(plan.where.needs, plan.value) for plan in cost.plans]
        uppers += [((), cost.upper)] if cost.upper is not None else []
        return Bounds(lambda point: (int(ends(point).lower), int(ends(point).upper)), edges, lowers, uppers)
    if cost.status != "unknown":
        return Bounds(lambda point: (0, int(enclose_cost(cost, point).upper)), lambda _: set())
    assert cost.reason
    return f"{cost.reason} (line {cost.span.line if cost.span else '?'})"


def io_of(module: Module, algorithm: s.Algorithm) -> Cost:
    """The derived io."""
    return derive_io_cost(module, algorithm)


def _of_recursion(module: Module, algorithm: s.Algorithm) -> Bounds | None:
    """What the cost gives at sizes, without its closed form, which takes longer to find."""
    recursions = RecursiveMissBounds(module, algorithm)
    try:
        recursions.prepare_bodies()
    except (UntracedError, UnboundedError):
        return None
    solved = recursions.body_of(algorithm)
    touched = derive_must_access(module, algorithm)
    below, windows = derive_call_tree_bound(module, solved.body, touched), RecursiveSegmentBound(touched, algorithm)
    return Bounds(
        lambda point: (max(below.at(point), windows.at(point)), recursions.at(point)),
        lambda point: {solved.evaluate_rounded_up(solved.given, point)},
        [touched.bound_lines_below(algorithm)],
    )


@dataclass(frozen=True)
class Point:
    """The three numbers at sizes, Z and L."""

    sizes: Sizes
    words: int
    line: int
    lower: int
    optimal: int
    upper: int

    @property
    def holds(self) -> bool:
        """Whether the bounds hold what optimal replacement fetches."""
        return self.lower <= self.optimal <= self.upper

    def __str__(self) -> str:
        where = ", ".join(f"{name}={size}" for name, size in self.sizes.items())
        return f"{where}, Z={self.words}, L={self.line}: {self.lower} <= {self.optimal} <= {self.upper}"


@dataclass(frozen=True)
class Subject:
    """An algorithm, and how its arguments are drawn; `larger` makes them about twice as large with each step."""

    name: str
    module: Module
    algorithm: s.Algorithm
    text: str
    draw: Callable[[random.Random], Arguments]
    larger: Callable[[random.Random, int], Arguments] | None = field(default=None)

    @cached_property
    def bounds(self) -> Bounds | str:
        """Bounds on its io."""
        return bounds(self.module, self.algorithm)

    @property
    def recursive(self) -> bool:
        """Whether it calls itself, or an algorithm that does."""
        return has_recursion(self.module, self.algorithm)

    def trace(self, arguments: Arguments, line: int, compiled: bool | None = False) -> tuple[Sizes, CompactTrace]:
        """The sizes of a run and the lines that it accesses."""
        run = execute(
            self.module,
            self.algorithm,
            arguments,
            line=line,
            trace=True,
            races=False,
            compiled=compiled,
            progress=False,
        )
        return dict(run.sizes), compact(run.trace.lines)

    def points(
        self,
        arguments: Arguments,
        source: random.Random,
        count: int,
        compiled: bool | None = False,
        closed: bool = False,
    ) -> Iterator[Point]:
        """Points of one run, at most about `count`; none where nothing is accessed, or the bound is refused.

        The bounds are those that the cost gives at sizes, or, `closed`, the sharpest of these and of its closed forms.
        """
        known = self.bounds
        if isinstance(known, str):
            return
        line = source.choice(LINES)
        sizes, trace = self.trace(arguments, line, compiled)
        if not trace.accesses:
            assert known.ends({**sizes, "Z": line, "L": line})[0] == 0
            return
        edges = known.edges({**sizes, "Z": line, "L": line})
        for capacity in capacities(trace.distinct, edges, source, count):
            words = capacity * line + source.randrange(line)
            try:
                lower, upper = (known.closed if closed else known.ends)({**sizes, "Z": words, "L": line})
            except EvaluationError:
                return
            yield Point(sizes, words, line, lower, optimal(trace, capacity).io, upper)


def subject(text: str) -> Subject:
    """A program's entry `main`."""
    module = load_text(text)
    return Subject("main", module, module.algorithms["main"], text, lambda _: {})


def capacities(distinct: int, edges: set[int], source: random.Random, count: int) -> Sequence[int]:
    """One line, all, where something begins to fit and one line less, and others on a logarithmic scale."""
    most = distinct + 2
    inside = sorted({each for edge in edges for each in (edge - 1, edge) if 1 <= each <= most})
    spread = [round(most ** source.random()) for _ in range(max(1, count // 2))]
    return sorted({1, most, *spread, *source.sample(inside, min(len(inside), max(1, count // 2 - 1)))})


def arguments(algorithm: s.Algorithm, sizes: Sizes, source: random.Random) -> Arguments:
    """Data for an algorithm's parameters."""
    data = np.random.default_rng(source.randrange(2**32))
    found: Arguments = {}
    for each in algorithm.parameters:
        match each.type:
            case s.ArrayType(shape=shape):
                found[each.name] = data.uniform(0.1, 1.0, [evaluate_static(extent, sizes) for extent in shape])
            case s.IndexArrayType(shape=shape, below=below):
                count = [evaluate_static(extent, sizes) for extent in shape]
                found[each.name] = data.integers(0, evaluate_static(below, sizes), count)
            case s.OffsetsType(count=count_, into=into):
                total = evaluate_static(into, sizes)
                cuts = np.sort(data.integers(0, total, int(evaluate_static(count_, sizes)) - 1, endpoint=True))
                found[each.name] = np.concatenate([[0], cuts, [total]]).astype(np.int64)
            case _:
                found[each.name] = sizes[each.name]
    return found


# The standard library.
def of_library(target: str, point: Sizes) -> Fraction:
    """The upper bound of an algorithm of the library."""
    module, algorithm = load(target)
    cost = io_of(module, algorithm)
    return cost.interval_at(point).upper


def least_of_library(target: str, point: Sizes) -> int:
    """What optimal replacement fetches in a run of it, with data of the sizes alone."""
    module, algorithm = load(target)
    sizes = {name: size for name, size in point.items() if name not in "ZL"}
    found = Subject(target, module, algorithm, target, lambda _: {})
    trace = found.trace(arguments(algorithm, sizes, random.Random(1)), point["L"])[1]
    return optimal(trace, point["Z"] // point["L"]).io


def _falling(found: Arguments) -> Arguments:
    """Keys each less than the one before: every one moves to the first place."""
    return {"a": np.arange(len(found["a"]), 0.0, -1.0)}


def _interleaved(found: Arguments) -> Arguments:
    """Keys of both arrays in turns, so that both have some left until the end."""
    return {**found, **{name: np.linspace(1.0, 0.0, len(found[name]))[::-1] for name in "ab"}}


def _full(found: Arguments) -> Arguments:
    """As many points in every leaf, each of which meets all: the longest leaves and lists that sizes allow."""
    count = len(found["leaf"]) - 1
    each = int(np.diff(found["leaf"]).max(initial=1))
    points = np.resize(found["x"], (count * each, 4)) if len(found["x"]) else np.ones((count * each, 4))
    return {
        "leaf": np.arange(count + 1) * each,
        "uptr": np.arange(count + 1) * count,
        "ulist": np.tile(np.arange(count), count),
        "x": points,
        "phi": np.empty(count * each),
    }


HARDEST: dict[str, tuple[str, Callable[[Arguments], Arguments]]] = {
    "sort.insertion_sort::insertion_sort": ("falling keys", _falling),
    "sort.merge::merge": ("interleaved keys", _interleaved),
    "sort.mergesort::merge_runs": ("interleaved keys", _interleaved),
    "nbody.fmm_u::fmm_u": ("full leaves", _full),
}
"""Data of which an algorithm accesses most, where others let it do far less than its sizes allow."""


def kernels() -> Iterator[Subject]:
    """Every algorithm of the standard library that has arguments."""
    for target, case in sorted({**CASES, **RECURSIVE}.items()):
        yield kernel(target, case)
        if target in HARDEST:
            name, change = HARDEST[target]
            known = kernel(target, case)
            assert known.larger is not None
            draw, larger = _changed(known.draw, change), _changed(known.larger, change)
            yield replace(known, name=f"{target} on {name}", draw=draw, larger=larger)


def _changed(drawing: Callable[..., Arguments], change: Callable[[Arguments], Arguments]) -> Callable[..., Arguments]:
    return lambda *given: change(drawing(*given))


def kernel(target: str, case: Case) -> Subject:
    """One algorithm of the standard library."""
    module, algorithm = load(target)

    def with_outputs(arguments: Arguments) -> Arguments:
        results = case.results(arguments)
        unset = {
            each.name: np.empty(np.shape(results[each.name])) for each in algorithm.parameters if each.mode == "out"
        }
        return {**arguments, **unset}

    def at(source: random.Random, sizes: Sizes) -> Arguments:
        return with_outputs(case.at(source.randrange(2**32), **sizes))

    def draw(source: random.Random) -> Arguments:
        return at(source, sample(case.sizes, source))

    def larger(source: random.Random, step: int) -> Arguments:
        base = {name: max(2, size) for name, size in sample(case.sizes, random.Random(step % 2)).items()}
        return at(source, {name: size << step for name, size in base.items()})

    return Subject(target, module, algorithm, target, draw, larger)


def sample(strategies: Mapping[str, st.SearchStrategy[int]], source: random.Random) -> dict[str, int]:
    """A value of each strategy, drawn by Hypothesis from a seed."""
    found: list[dict[str, int]] = []

    @seed(source.randrange(2**32))
    @settings(
        max_examples=4, database=None, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
    )
    @given(st.fixed_dictionaries(dict(strategies)))
    def note(values: dict[str, int]) -> None:
        found.append(values)

    note()
    return found[-1]
