"""Evaluate upper bounds on io under optimal replacement: the minimum over the plans that fit.

Spare lines of a plan retain a part of the lines that a larger residency would hold. Any part of the accesses that
some residencies of a plan serve may be served by another residency instead, and the rest as before: that is another
schedule of the cache. It needs the lines of both parts, less the lines that the plan's residencies held; the size
of the part follows from the spare lines at a point.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import chain, groupby
from math import ceil, floor, inf, isfinite
from operator import attrgetter

from archline.algebra.effort import is_out_of_time
from archline.algebra.evaluate.compiled import Compiler, Compute, Environment
from archline.algebra.facts import Facts
from archline.algebra.polynomial import Poly
from archline.analysis.cache.footprint.upper import Reference
from archline.analysis.cache.residency.base import Resident
from archline.analysis.cache.residency.row_split import SPLIT_ROW, RowSplit
from archline.expr.intervals import EvaluationError, Number
from archline.ir.tree import Loop
from archline.records import memoised, record

NEGLIGIBLE_SAVING_DIVISOR = 10
"""A residency is not tried for a part of the rows if, for all rows, it saves less than a tenth of the misses."""
MAX_DENSITY_RATIO = 4
"""The best rows save, for each line, at most about this multiple of the average saving."""
TakenLines = tuple[tuple[Number, tuple[int, ...]], ...]
"""Numbers of lines, each with the regions in which they are held."""
MAX_SPLIT_PLANS = 8
"""The number of plans in which a part of the rows is tried with other residencies."""
MAX_KEPT_POINTS = 8
"""The number of points at which values are kept for other Z: those of the splits that are tried of one loop."""


@record(eq=False)
class CompiledBounds:
    """Compiles expressions in sizes and in the split symbol `SPLIT_ROW` to functions, each expression once."""

    names: tuple[str, ...]
    restore: Callable[[Poly], Poly]
    _by_owner: dict[Hashable, tuple[Compute, ...]] = field(default_factory=dict, repr=False)

    @cached_property
    def compiler(self) -> Compiler:
        """A compiler that computes subexpressions common to all expressions once per point."""
        return Compiler((*self.names, SPLIT_ROW))

    def compile_values(self, owner: Hashable, values: Iterable[Poly]) -> tuple[Compute, ...]:
        """Compile the expressions of an owner to functions; the owner is the key under which they are cached."""
        if owner not in self._by_owner:
            self._by_owner[owner] = tuple(map(self._compile_value, values))
        return self._by_owner[owner]

    @memoised
    def _compile_value(self, value: Poly) -> Compute:
        return self.compiler.compile_expression(self.restore(value))


@record
class Saving:
    """The effect of a retention: lines that it takes, with the regions in which it holds them, and misses saved."""

    taken: TakenLines
    saved: Number

    @property
    def lines(self) -> Number:
        """The maximum number of lines in a region, at least 1."""
        return max([1, *(lines for lines, _ in self.taken)])


NO_SAVING = Saving((), 0)


def subtract_taken(spare: Sequence[Number], taken: TakenLines) -> list[Number]:
    """Subtract the lines that are taken from the lines that a plan leaves over in each region (`spare`)."""
    remaining = list(spare)
    for lines, regions in taken:
        for region in regions:
            remaining[region] -= lines
    return remaining


@dataclass(eq=False)
class PointCache:
    """Caches values of expressions, and savings derived from them, at one point of sizes and L, for every Z."""

    compiled: CompiledBounds
    sizes: Mapping[str, int]
    known: dict[Hashable, tuple[Number, ...]] = field(default_factory=dict)
    taken: dict[tuple[RetainRows, Number], tuple[Number, ...]] = field(default_factory=dict)
    savings: dict[tuple[RetainRows, tuple[Number, ...]], Saving] = field(default_factory=dict)
    potentials: dict[int, list[tuple[Potential, int, Sequence[Retention]]]] = field(default_factory=dict)
    _evaluated: dict[Number, tuple[Environment, dict[Compute, Number]]] = field(default_factory=dict)

    def evaluate_once(self, owner: Hashable, values: Iterable[Poly]) -> tuple[Number, ...]:
        """Evaluate the expressions of an owner at the point, and cache the values. Raises EvaluationError."""
        numbers = self.known.get(owner)
        if numbers is None:
            numbers = self.known[owner] = tuple(self.at(owner, values))
        return numbers

    def at(self, owner: Hashable, values: Iterable[Poly], cut: Number = 0) -> list[Number]:
        """Evaluate the expressions of an owner with the row `cut` as the split. Raises EvaluationError."""
        functions = self.compiled.compile_values(owner, values)
        if cut not in self._evaluated:
            numbers = [self.sizes[name] for name in self.compiled.names]
            self._evaluated[cut] = self.compiled.compiler.make_environment([*numbers, cut]), {}
        environment, evaluated = self._evaluated[cut]
        self.compiled.compiler.extend_environment(environment)
        # Owners share most of their expressions.
        for compute in functions:
            if compute not in evaluated:
                evaluated[compute] = compute(environment)
        return [evaluated[compute] for compute in functions]

    def list_candidates(self, plan: AllocationPlan, spare: Sequence[Number]) -> list[list[Candidates]]:
        """List the retentions for each array that may save misses in `spare` lines, with estimates of their savings."""
        rooms: dict[tuple[int, ...], Number] = {}
        result = []
        for group in plan.retentions:
            candidates, first = [], 0
            for retentions in group:
                for (estimate, limit), position, run in self._find_potentials(retentions):
                    if limit is not None:
                        regions, held, lines = limit
                        room = rooms.get(regions)
                        if room is None:
                            room = rooms[regions] = min([spare[region] for region in regions])
                        estimate *= min(1.0, MAX_DENSITY_RATIO * (to_float(room + held) / lines))
                    if estimate > 0:
                        candidates.append((estimate, first + position, run))
                first += len(retentions)
            result.append(candidates)
        return result

    def _find_potentials(self, retentions: tuple[Retention, ...]) -> list[tuple[Potential, int, Sequence[Retention]]]:
        """Find runs of retentions that may save misses in some number of lines, each with the position of its first."""
        # Plans share tuples, whose hashes are those of all elements.
        result = self.potentials.get(id(retentions))
        if result is None:
            result, position = [], 0
            for _, run in groupby(retentions, key=lambda retention: id(retention.totals)):
                members = tuple(run)
                potential = members[0].estimate_potential(self)
                if potential[0] > 0:
                    result.append((potential, position, members))
                position += len(members)
            self.potentials[id(retentions)] = result
        return result


@record(eq=False)
class RetainClasses:
    """A retention of some classes of lines, held as another residency would; other classes are fetched as before.

    `totals` are the misses before and the misses of the other residency; `amounts` the lines of each class, the lines
    common to all classes, and the number n of classes. The best t classes save at least t/n of the saving of all.
    """

    references: frozenset[Reference]
    totals: tuple[Poly, ...]
    amounts: tuple[Poly, Poly, Poly]
    regions: tuple[int, ...]

    @cached_property
    def values(self) -> tuple[Poly, ...]:
        """The expressions that the saving depends on."""
        return *self.totals, *self.amounts

    def estimate_potential(self, point: PointCache) -> Potential:
        """Estimate the saving of all classes, as a few lines may hold each class."""
        fetched, instead, *_ = point.evaluate_once((self, "totals"), self.totals)
        return to_float(fetched - instead), None

    def compute_saving(self, point: PointCache, spare: Sequence[Number]) -> Saving:
        """Compute the saving of as many classes as fit."""
        fetched, instead, lines, once, classes = point.evaluate_once(self, self.values)
        retained = self._count_fitting(spare, lines, once, classes)
        if not retained:
            return NO_SAVING
        return Saving(((retained * lines + once, self.regions),), Fraction(fetched - instead) * retained / classes)

    def estimate_saving(self, point: PointCache, spare: Sequence[Number]) -> float:
        """Estimate as a float the saving of as many classes as fit, as exact fractions are slow."""
        fetched, instead, lines, once, classes = point.evaluate_once(self, self.values)
        retained = self._count_fitting(spare, lines, once, classes)
        return to_float(fetched - instead) * to_float(retained) / to_float(classes) if retained else 0.0

    def _count_fitting(self, spare: Sequence[Number], lines: Number, once: Number, classes: Number) -> Number:
        """Count the classes of the retention that fit in the `spare` lines, which the rest of the plan leaves free."""
        room = min([spare[region] for region in self.regions]) - once
        return max(0, min(classes, room // lines if lines else classes if room >= 0 else 0))


@record(eq=False)
class RetainRows:
    """A retention of some rows of an array by another residency; the plan's residencies hold the other rows.

    `find` derives the split. `totals` are, for all rows, the misses before and the misses of the other residency,
    and the lines held before and the lines that the other one holds while its `loop` runs; `regions` maps a loop to
    the regions inside it.
    """

    references: frozenset[Reference]
    totals: tuple[Poly, ...]
    loop: Loop | None
    find: Callable[[], RowSplit | None]
    regions: Callable[[Loop | None], tuple[int, ...]]

    @cached_property
    def split(self) -> RowSplit | None:
        """The closed forms of the lines and misses of both parts of the rows; None if rows cannot be split."""
        return self.find()

    @property
    def values(self) -> tuple[Poly, ...]:
        """The expressions that the saving depends on."""
        return self.totals if self.split is None else (*self.totals, *self.split.values)

    @cached_property
    def _loop_regions(self) -> tuple[int, ...]:
        return self.regions(self.loop)

    @cached_property
    def _regions_of_halves(self) -> list[tuple[int, ...]]:
        return [] if self.split is None else [self.regions(half.loop) for half in self.split.halves]

    @cached_property
    def _halves_by_region(self) -> list[tuple[int, list[int]]]:
        """The numbers of the halves that hold lines in each region, for regions in which some half does."""
        numbers = sorted({region for regions in self._regions_of_halves for region in regions})
        return [
            (number, [half for half, regions in enumerate(self._regions_of_halves) if number in regions])
            for number in numbers
        ]

    def estimate_potential(self, point: PointCache) -> Potential:
        """Estimate the saving of all rows, 0 if it is negligible; some save up to MAX_DENSITY_RATIO times average."""
        fetched, instead, held, lines = point.evaluate_once((self, "totals"), self.totals)
        saved = fetched - instead
        if saved * NEGLIGIBLE_SAVING_DIVISOR < fetched:
            return 0.0, None
        return to_float(saved), (self._loop_regions, held, max(1.0, to_float(lines)))

    def compute_saving(self, point: PointCache, spare: Sequence[Number]) -> Saving:
        """Compute the saving of as many rows as fit."""
        if self.split is None:
            return NO_SAVING
        key = self, tuple([spare[region] for region, _ in self._halves_by_region])
        if key not in point.savings:
            point.savings[key] = self._retain_most_rows(self.split, point, spare)
        return point.savings[key]

    def estimate_saving(self, point: PointCache, spare: Sequence[Number]) -> float:
        """Estimate as a float the saving of as many rows as fit."""
        return to_float(self.compute_saving(point, spare).saved)

    def _retain_most_rows(self, split: RowSplit, point: PointCache, spare: Sequence[Number]) -> Saving:
        """Find the largest number of rows that fit in the spare lines, and their saving; NO_SAVING if not positive."""
        step, last, *_ = point.evaluate_once(split, (split.step, split.last, *(half.instead for half in split.halves)))
        max_rows = -(-last // step)

        def split_row(rows: int) -> Number:
            return min(last, (rows if split.before else max_rows - rows) * step)

        def rows_fit(rows: int) -> bool:
            lines = self._count_extra_lines(split, point, split_row(rows))
            return all(
                sum([lines[half] for half in halves]) <= spare[region] for region, halves in self._halves_by_region
            )

        rows = find_largest_satisfying(max_rows, rows_fit)
        if not rows or not rows_fit(rows):
            return NO_SAVING
        # Misses are evaluated once, lines at each step of the search.
        misses = (split.fetched, *(half.misses for half in split.halves))
        fetched, *halves = point.at((split, "misses"), misses, split_row(rows))
        saved = fetched - sum(max(0, value) for value in halves)
        taken = tuple(zip(self._count_extra_lines(split, point, split_row(rows)), self._regions_of_halves, strict=True))
        return Saving(taken, saved) if saved > 0 else NO_SAVING

    def _count_extra_lines(self, split: RowSplit, point: PointCache, cut: Number) -> tuple[Number, ...]:
        """Count the lines that each half needs in addition to those held before, if rows are split at `cut`."""
        key = self, cut
        if key not in point.taken:
            held = point.at((split, "lines"), (half.lines for half in split.halves), cut)
            instead = point.known[split][2:]
            # A half without rows holds and fetches nothing, even if the closed forms are not 0 there.
            point.taken[key] = tuple(
                [max(0, ceil(lines)) - before for lines, before in zip(held, instead, strict=True)]
            )
        return point.taken[key]


Retention = RetainClasses | RetainRows
Retentions = tuple[tuple[Retention, ...], ...]
"""The retentions of the clusters of an array."""
Potential = tuple[float, tuple[tuple[int, ...], Number, float] | None]
"""An estimate of the saving in any number of lines. If it is in proportion to the lines: the regions that have them,
the lines held before, and those that save so much."""
Candidates = tuple[float, int, Sequence[Retention]]
"""Retentions for the same references with one estimate of their savings, and the position of the first in the list."""
RankedRetention = tuple[float, int, Retention]
"""The negated estimate of the maximum saving, the position in the unsorted list, and the retention."""


def find_largest_satisfying(most: int, holds: Callable[[int], bool]) -> int:
    """Find the largest n <= `most` for which `holds` is true; 0 if there is none. `holds` is monotone."""
    low = 0
    while low < most:
        middle = (low + most + 1) // 2
        low, most = (middle, most) if holds(middle) else (low, middle - 1)
    return low


def to_float(value: Number) -> float:
    """Convert a number to a float; infinity if it is too large."""
    try:
        return float(value)
    except OverflowError:
        return inf


def select_best_retention(
    ranked: Sequence[RankedRetention], point: PointCache, spare: Sequence[Number]
) -> tuple[Retention, Saving] | None:
    """Select the retention that saves most with all `spare` lines, the first of equal ones; None if none saves."""
    max_saving, best_position, best = 0.0, 0, None
    for negated, position, retention in ranked:
        if -negated < max_saving:
            # This retention and the following ones save less.
            break
        estimate = retention.estimate_saving(point, spare)
        if estimate > max_saving or (best is not None and estimate == max_saving and position < best_position):
            max_saving, best_position, best = estimate, position, retention
    if best is None:
        return None
    saving = best.compute_saving(point, spare)
    return (best, saving) if saving.saved > 0 else None


@record(eq=False)
class AllocationPlan:
    """One residency for each reference; if the lines that each region needs fit in the cache, io is at most `misses`.

    A region is the set of loops around some references: lines held in a region compete for the cache. `find` derives
    for each array the retentions in lines that the plan does not need, which are needed only for values at sizes; those
    of one cluster of references are one tuple for all plans that hold it alike.
    """

    units: tuple[Resident, ...]
    needs: tuple[Poly, ...]
    misses: Poly
    find: Callable[[], tuple[Retentions, ...]] = tuple

    @property
    def values(self) -> tuple[Poly, ...]:
        """The misses and the needs."""
        return self.misses, *self.needs

    @cached_property
    def retentions(self) -> tuple[Retentions, ...]:
        """The retentions in lines that the plan does not need, for each array, by cluster."""
        return self.find()


@record(eq=False)
class PlanUpperBound:
    """An upper bound on io: the minimum misses over plans that need at most Z // L lines."""

    plans: Sequence[AllocationPlan]
    facts: Facts
    _points: dict[frozenset[tuple[str, int]], PointCache] = field(default_factory=dict, repr=False)

    def at(self, sizes: Mapping[str, int], spare: bool = True) -> int:
        """Evaluate the bound at sizes, Z and L; Z >= L. Raises EvaluationError.

        With `spare`, lines of the cache that a plan does not need retain parts of arrays.
        """
        point = self.find_point_cache(sizes)
        fitting = list(self.fitting_plans(point, sizes["Z"] // sizes["L"]))
        if not fitting:
            raise EvaluationError("no upper bound is known for so small a cache")
        fewest = min(bound for _, bound, _ in fitting)
        if not spare:
            return floor(fewest)
        with_spare = [PlanWithSpareLines.of(point, *entry) for entry in fitting]
        values: dict[PlanWithSpareLines, Number] = {}
        for plan in sorted(with_spare, key=attrgetter("hope")):
            if plan.hope < fewest:
                values[plan] = plan.at(point, rows=False)
                fewest = min(fewest, values[plan])
        # Rows are split only in plans that are near the best one without splits, as that takes far longer.
        for plan in sorted((plan for plan in with_spare if plan in values), key=values.__getitem__)[:MAX_SPLIT_PLANS]:
            if plan.hope < fewest and not is_out_of_time():
                fewest = min(fewest, plan.at(point, rows=True))
        return floor(fewest)

    def find_point_cache(self, sizes: Mapping[str, int]) -> PointCache:
        """Find or make the cache of values at `sizes`, at any Z if that only decides whether plans fit."""
        key = frozenset(item for item in sizes.items() if self._has_capacity or item[0] != "Z")
        if key not in self._points:
            if len(self._points) >= MAX_KEPT_POINTS:
                del self._points[next(iter(self._points))]
            compiled = self._compiled_bounds(frozenset(name for name, _ in key))
            self._points[key] = PointCache(compiled, dict(key))
        return self._points[key]

    @cached_property
    def _has_capacity(self) -> bool:
        """True if Z may occur in lines and misses: programs cannot compute with it, but facts may bound sizes by it."""
        others = (bounds for name, bounds in self.facts.bounds.items() if name != "Z")
        return any("Z" in end.names for bounds in others for end in (*bounds.lower, *bounds.upper))

    @memoised
    def _compiled_bounds(self, names: frozenset[str]) -> CompiledBounds:
        return CompiledBounds(tuple(sorted(names)), self.facts.restore)

    def fitting_plans(self, point: PointCache, capacity: int) -> Iterator[tuple[AllocationPlan, Number, list[Number]]]:
        """Yield the plans that fit, with their misses and the lines that they leave over in each region."""
        for plan in self.plans:
            spare = [capacity - need for need in point.evaluate_once(plan, plan.needs)]
            if min(spare, default=0) >= 0:
                yield plan, point.evaluate_once((plan, "misses"), (plan.misses,))[0], spare

    @cached_property
    def names(self) -> frozenset[str]:
        """The symbols on which the bound depends, other than Z."""
        values = {value for plan in self.plans for value in plan.values}
        values |= {
            value
            for plan in self.plans
            for retention in chain.from_iterable(chain.from_iterable(plan.retentions))
            for value in retention.values
        }
        return frozenset({"L"}.union(*(self.facts.restore(value).names for value in values)) - {SPLIT_ROW})


@record(eq=False)
class PlanWithSpareLines:
    """A plan that fits at a point: its misses, the lines left over by region, and retentions by array.

    `hope` estimates the fewest misses that retentions can achieve.
    """

    bound: Number
    spare: list[Number]
    groups: Sequence[Sequence[Candidates]]
    hope: float

    @classmethod
    def of(cls, point: PointCache, plan: AllocationPlan, bound: Number, spare: list[Number]) -> PlanWithSpareLines:
        """Find the retentions of a plan for the lines that it leaves over (`spare`); `bound` are its misses."""
        groups = point.list_candidates(plan, spare) if any(spare) else []
        # The saving of a retention is divided equally among its references.
        shares: dict[Reference, float] = {}
        for estimate, _, (retention, *_) in chain.from_iterable(groups):
            for reference in retention.references:
                shares[reference] = max(shares.get(reference, 0.0), estimate / len(retention.references))
        hope = to_float(bound) - sum(shares.values())
        return cls(bound, spare, groups, hope if isfinite(hope) else -inf)

    def at(self, point: PointCache, rows: bool) -> Number:
        """Evaluate the plan's misses less the savings of retentions, chosen greedily by saving per spare line.

        Without `rows`, only retentions of classes are used.
        """
        bound, spare = self.bound, self.spare
        groups = [_rank_retentions(group, rows) for group in self.groups]
        # Lines go to the retention that saves most for each line; the rest goes to other arrays or references.
        while groups:
            before = spare
            found = ((select_best_retention(ranked, point, spare), ranked) for ranked in groups)
            candidates = [(best, ranked) for best, ranked in found if best is not None]
            groups = []
            for best, ranked in sorted(candidates, key=lambda entry: -entry[0][1].saved / entry[0][1].lines):
                chosen = best if spare is before else select_best_retention(ranked, point, spare)
                if chosen is not None:
                    retention, saving = chosen
                    bound -= saving.saved
                    spare = subtract_taken(spare, saving.taken)
                    groups.append([entry for entry in ranked if entry[2].references.isdisjoint(retention.references)])
        return bound


def _rank_retentions(candidates: Sequence[Candidates], rows: bool) -> list[RankedRetention]:
    """Sort the retentions of an array by their estimated maximum saving, largest first; without `rows`, of classes."""
    return sorted(
        (-estimate, position, retention)
        for estimate, first, run in candidates
        if rows or isinstance(run[0], RetainClasses)
        for position, retention in enumerate(run, first)
    )
