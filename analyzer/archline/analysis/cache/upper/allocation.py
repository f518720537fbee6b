"""Plan which references hold lines and for how long: the choices with fewest misses for some capacity and sizes.

The misses of every choice are an upper bound on io if its lines fit; comparison at a few sizes selects the plans.

References to one array form clusters, which are held jointly or part by part, by one of several residencies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial, reduce
from itertools import chain
from typing import TYPE_CHECKING

from archline.algebra.effort import TooComplexError, limit_effort
from archline.algebra.evaluate.compiled import Compiler
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Poly, sum_polynomials
from archline.analysis.cache.footprint.upper import Reference
from archline.analysis.cache.residency import group as groups
from archline.analysis.cache.residency import row_split, stencil
from archline.analysis.cache.residency.base import Resident
from archline.analysis.cache.residency.single import (
    derive_monotone_walk_residency,
    iterate_reloaded_residencies,
    iterate_single_reference_residencies,
    iterate_window_residencies,
    make_walk_key,
)
from archline.analysis.cache.upper.evaluate import AllocationPlan, RetainClasses, RetainRows, Retention, Retentions
from archline.analysis.cache.upper.pareto import ParetoChoices, ResidencyChoice, concatenate_choices
from archline.expr.intervals import EvaluationError, Number
from archline.ir.factored import UnboundedError
from archline.ir.layout import LINE, WORDS
from archline.ir.tree import Array, Chain, Loop, contiguous_dimension
from archline.records import memoised, record

if TYPE_CHECKING:
    from archline.analysis.cache.residency.row_split import RowSplitSearch


@record(eq=False)
class ReferenceCluster:
    """References to one array that a plan holds jointly, by one residency of `units`, or separately, as `parts`.

    A cluster of one reference has no parts.
    """

    references: tuple[Reference, ...]
    units: tuple[Resident, ...]
    parts: tuple[ReferenceCluster, ...] = ()

    @cached_property
    def pins(self) -> tuple[tuple[Loop | None, Poly, Poly], ...]:
        """The windows in which lines may be pinned: a loop (None: the run), the lines and the number of windows."""
        return tuple(groups.iterate_pinned_windows(self.references))

    @property
    def all_parts(self) -> Iterator[ReferenceCluster]:
        """The cluster itself and, recursively, its parts."""
        yield self
        for part in self.parts:
            yield from part.all_parts


def enumerate_clusterings(
    references: Sequence[Reference], own: Mapping[Reference, tuple[Resident, ...]]
) -> Iterator[list[ReferenceCluster]]:
    """Yield the divisions of references to one array into clusters; `own` has the residencies of each reference."""
    cache: dict[frozenset[Reference], ReferenceCluster] = {}
    yielded: set[frozenset[frozenset[Reference]]] = set()
    for parts in partition_references(references):
        key = frozenset(map(frozenset, parts))
        if key not in yielded:
            yielded.add(key)
            yield [_build_cluster(part, own, cache) for part in parts]


def _build_cluster(
    references: Sequence[Reference],
    own: Mapping[Reference, tuple[Resident, ...]],
    cache: dict[frozenset[Reference], ReferenceCluster],
) -> ReferenceCluster:
    """Build the cluster of references; each part has equal subscripts, or is a single reference if all are equal."""
    key = frozenset(references)
    if key not in cache:
        if len(references) == 1:
            cache[key] = ReferenceCluster(tuple(references), own[references[0]])
        else:
            same_subscripts = _group_references_by_key((reference.place, reference) for reference in references)
            parts = same_subscripts if len(same_subscripts) > 1 else [[reference] for reference in references]
            clusters = tuple(_build_cluster(part, own, cache) for part in parts)
            cache[key] = ReferenceCluster(
                tuple(references), tuple(filter(None, iterate_joint_residencies(references))), clusters
            )
    return cache[key]


def iterate_joint_residencies(references: Sequence[Reference]) -> Iterator[Resident | None]:
    """Yield residencies that hold references to one array jointly, or None for one without a closed form."""
    if len(references) > 1:
        yield from iterate_window_residencies(tuple(references))
        yield from stencil.iterate_stencil_residencies(references)
        for derive_residency in (
            groups.derive_row_with_next_element_residency,
            derive_monotone_walk_residency,
            groups.derive_interleaved_residency,
            groups.derive_interleaved_line_residency,
            stencil.derive_pinned_row_residency,
            stencil.derive_row_prefix_residency,
        ):
            yield derive_residency(references)


def group_references_by_array(references: Sequence[Reference]) -> list[list[Reference]]:
    """Group references by array."""
    result: dict[int, list[Reference]] = {}
    for reference in references:
        result.setdefault(id(reference.array), []).append(reference)
    return list(result.values())


def partition_references(references: Sequence[Reference]) -> Iterator[list[list[Reference]]]:
    """Yield partitions of the references to one array into parts that may be held jointly.

    Parts are single references, all references, references that advance together along a row, and references whose
    row subscripts are equal or depend on the inner loops in the same dimensions.
    """
    yield [[reference] for reference in references]
    if len(references) == 1:
        return
    yield [list(references)]
    yield _group_references_by_key((make_walk_key(reference), reference) for reference in references)
    for depth in range(max(len(reference.chain) for reference in references) + 1):
        # Movement one loop further out counts too: a row and the element after it move together in the loop around.
        for key_of, inner in (
            (_mark_moving_dimensions, depth),
            (_make_row_key, depth),
            (_mark_moving_dimensions, max(0, depth - 1)),
        ):
            yield _group_references_by_key(
                (
                    (*map(id, reference.chain[:depth]), *key_of(reference, inner))
                    if len(reference.chain) >= depth
                    else id(reference),
                    reference,
                )
                for reference in references
            )


def _group_references_by_key(keyed: Iterable[tuple[object, Reference]]) -> list[list[Reference]]:
    parts: dict[object, list[Reference]] = {}
    for key, reference in keyed:
        parts.setdefault(key, []).append(reference)
    return list(parts.values())


def _mark_moving_dimensions(reference: Reference, depth: int) -> tuple[object, ...]:
    """Test for each dimension whether its subscript depends on loops from `depth` on."""
    inner = {loop.variable for loop in reference.chain[depth:]}
    return tuple(interval is None or bool(inner & interval[0].names) for interval in reference.place)


def _make_row_key(reference: Reference, depth: int) -> tuple[object, ...]:
    """Return for each dimension but the contiguous one its subscript, or True if loops from `depth` on change it."""
    along = contiguous_dimension(reference.array)
    pairs = zip(reference.place, _mark_moving_dimensions(reference, depth), strict=True)
    return tuple(
        moving or (interval[0] if interval else None)
        for dimension, (interval, moving) in enumerate(pairs)
        if dimension != along
    )


MAX_PLAN_CHOICES, MAX_ARRAY_CHOICES = 32, 12
"""The maximum number of choices that are kept at each sample: for several arrays together, and for one array."""
MAX_RETENTION_PRODUCTS = 100_000
"""The maximum number of term products for the retentions of one plan."""
SMALL_CAPACITIES, LARGE_SAMPLE_COUNT = (1, 2, 3, 4), 3
"""Cache sizes in lines that are filled greedily, and the number of largest samples at which they are."""
NEGLIGIBLE_SAVING_DIVISOR = 50
"""A saving of at most one part in this number of all misses is ignored."""
MAX_FLOAT_VALUE = 10**300
"""Larger values at samples are replaced by this one, as comparisons use floats."""
SampleValues = Mapping[Resident, tuple[int, int]]
"""The lines and the misses of residencies at a sample."""
LoopSet = frozenset[int]
"""The loops around some accesses, by identity."""


@dataclass(eq=False)
class AllocationPlanner:
    """Finds allocation plans for references; `points` are the sample sizes at which choices are compared."""

    references: Sequence[Reference]
    facts: Facts
    points: Sequence[Mapping[str, int]]
    _exact: list[dict[Resident, tuple[Number, Number]]] = field(default_factory=list)
    _clusters: list[list[ReferenceCluster]] = field(default_factory=list)
    _alone: dict[Reference, tuple[Resident, ...]] = field(default_factory=dict)

    def derive_plans(self) -> list[AllocationPlan]:
        """Derive the plans that are best for some capacity at a sample; a plan that holds no lines comes first.

        Also sets the residencies, clusters and values at samples that the other methods use.
        """
        for reference in self.references:
            units = tuple(iterate_single_reference_residencies(reference))
            self._alone[reference] = (
                *units,
                *filter(None, iterate_reloaded_residencies(reference, units, self.references)),
            )
        own = {reference: _drop_equivalent_residencies(units) for reference, units in self._alone.items()}
        arrays = [list(enumerate_clusterings(group, own)) for group in group_references_by_array(self.references)]
        self._clusters = [
            list(dict.fromkeys(part for clusters in clusterings for cluster in clusters for part in cluster.all_parts))
            for clusterings in arrays
        ]
        self._evaluate_residencies(unit for cluster in chain.from_iterable(self._clusters) for unit in cluster.units)
        result: dict[frozenset[Resident], AllocationPlan] = {}
        nothing = tuple(unit for reference in self.references for unit in self._alone[reference] if unit.scratch)
        can_hold_nothing = len(nothing) == len(self.references)
        if can_hold_nothing:
            result[frozenset()] = self._build_plan(nothing)
        small_choices = self._fill_small_capacities(nothing) if can_hold_nothing else ()
        for units in chain(self._iterate_pareto_choices(arrays), small_choices):
            key = frozenset(units)
            if key not in result:
                result[key] = self._build_plan(units)
        return list(result.values())

    def evaluate_at_sample(self, plan: AllocationPlan, sample: int) -> tuple[Number, Number] | None:
        """Evaluate the lines and the misses of a plan at a sample; None if a residency has no value there."""
        exact = self._exact[sample]
        if not all(unit in exact for unit in plan.units):
            return None
        lines: list[Number] = [int(has_scratch) for has_scratch in self._mark_scratch_regions(plan.units)]
        for unit in plan.units:
            for region in self._find_held_regions(unit)[0]:
                lines[region] += exact[unit][0]
        return max(lines), sum(exact[unit][1] for unit in plan.units)

    def iterate_single_line_variants(self, plans: Iterable[AllocationPlan]) -> Iterator[AllocationPlan]:
        """Yield variants of plans in which residencies that save few misses are replaced by ones of at most a line.

        The best plans for some capacity use up all lines, which may be too many at another L.
        """
        large = [numbers for point, numbers in zip(self.points, self._float_safe_values, strict=True) if point["L"] > 1]
        if not large:
            return
        numbers = large[-1]
        for plan in plans:
            if all(unit in numbers for unit in plan.units):
                max_rise = sum(numbers[unit][1] for unit in plan.units) // NEGLIGIBLE_SAVING_DIVISOR
                units = tuple(
                    chain.from_iterable(
                        self._replace_unit_by_single_lines(unit, max_rise, numbers) for unit in plan.units
                    )
                )
                if units != plan.units:
                    yield self._build_plan(units)

    def _replace_unit_by_single_lines(
        self, unit: Resident, max_rise: int, numbers: SampleValues
    ) -> tuple[Resident, ...]:
        """Replace a residency by ones of at most a line, unless misses rise by more than `max_rise`."""
        if unit.scratch:
            return (unit,)
        result = []
        for reference in unit.references:
            small = [alt for alt in self._alone[reference] if alt in numbers and (alt.scratch or numbers[alt][0] <= 1)]
            max_misses = min((numbers[alt][1] for alt in small), default=0) + max_rise
            near_best = [alt for alt in small if numbers[alt][1] <= max_misses]
            if not near_best:
                return (unit,)
            result.append(next((alt for alt in near_best if alt.scratch), near_best[0]))
        return tuple(result) if sum(numbers[alt][1] for alt in result) <= numbers[unit][1] + max_rise else (unit,)

    # Numbers
    def _evaluate_residencies(self, units: Iterable[Resident]) -> None:
        """Evaluate the lines and misses of all residencies at every sample."""
        units = dict.fromkeys(units)
        restored = {value: self.facts.restore(value) for unit in units for value in (unit.space, unit.misses)}
        names = sorted({name for value in restored.values() for name in value.names})
        compiler = Compiler(names)
        functions = {value: compiler.compile_expression(in_sizes) for value, in_sizes in restored.items()}
        compiled = [(unit, functions[unit.space], functions[unit.misses]) for unit in units]
        self._exact = []
        for point in self.points:
            environment = compiler.make_environment([point.get(name, 0) for name in names])
            values: dict[Resident, tuple[Number, Number]] = {}
            for unit, space, misses in compiled:
                with suppress(EvaluationError):
                    values[unit] = space(environment), misses(environment)
            self._exact.append(values)

    @cached_property
    def _float_safe_values(self) -> list[SampleValues]:
        """The lines and misses at each sample as integers that floats can represent."""
        return [
            {unit: (min(round(x), MAX_FLOAT_VALUE), min(round(y), MAX_FLOAT_VALUE)) for unit, (x, y) in values.items()}
            for values in self._exact
        ]

    @cached_property
    def _regions(self) -> list[LoopSet]:
        """The regions: sets of loops around references, by identity, those with most loops first."""
        # Regions of equal depth keep the order of the text, so that reports are reproducible.
        regions = dict.fromkeys(frozenset(map(id, reference.chain)) for reference in self.references)
        return sorted(regions, key=len, reverse=True)

    # Best choices at samples
    def _iterate_pareto_choices(
        self, arrays: Sequence[Sequence[Sequence[ReferenceCluster]]]
    ) -> Iterator[tuple[Resident, ...]]:
        """Yield the choices with fewest misses for some number of lines at each sample, as their residencies."""
        by_clustering = ([self._combine_clusters(clusters) for clusters in clusterings] for clusterings in arrays)
        by_array = (concatenate_choices(choices).select_best(MAX_ARRAY_CHOICES) for choices in by_clustering)
        together = reduce(lambda one, other: one.combine(other, MAX_PLAN_CHOICES), by_array)
        return (choice.units for choices in together.samples for choice in choices)

    def _combine_clusters(self, clusters: Sequence[ReferenceCluster]) -> ParetoChoices:
        first, *others = map(self._build_cluster_choices, clusters)
        return reduce(
            lambda one, other: one.combine(other, MAX_ARRAY_CHOICES), others, first.select_best(MAX_ARRAY_CHOICES)
        )

    def _fill_small_capacities(self, nothing: Sequence[Resident]) -> Iterator[tuple[Resident, ...]]:
        """Yield the choices that fill a few lines greedily with the residencies that save most and fit.

        The Pareto search may miss these plans, as it compares choices by the region with the largest need.
        """
        units = [unit for first in nothing for unit in _drop_equivalent_residencies(self._alone[first.references[0]])]
        choices = self._build_residency_choices(units)
        samples = range(len(self.points))
        # The benefit of giving up lines depends on the lengths of segments, which differ between samples.
        for sample in samples if any(unit.given_up for unit in units) else samples[-LARGE_SAMPLE_COUNT:]:
            if all(unit in self._float_safe_values[sample] for unit in nothing):
                yield from choices.fill_greedily(sample, SMALL_CAPACITIES)

    @memoised
    def _build_cluster_choices(self, cluster: ReferenceCluster) -> ParetoChoices:
        """Find the choices of residencies for a cluster, jointly or by parts; cached, as clusterings share clusters."""
        whole = self._build_residency_choices(cluster.units)
        return concatenate_choices([self._combine_clusters(cluster.parts), whole]) if cluster.parts else whole

    def _build_residency_choices(self, units: Sequence[Resident]) -> ParetoChoices:
        """Make each residency a choice by itself, at the samples where it has values."""
        return ParetoChoices(
            tuple(
                [
                    [self._make_choice(unit, *values[unit]) for unit in units if unit in values]
                    for values in self._float_safe_values
                ]
            )
        )

    def _make_choice(self, unit: Resident, lines: int, misses: int) -> ResidencyChoice:
        held, fetching = self._find_held_regions(unit)
        regions = range(len(self._regions))
        scratch = tuple([region == fetching for region in regions])
        needs = tuple([float(lines if region in held else scratch[region]) for region in regions])
        return ResidencyChoice((unit,), float(misses), lines * float(len(held)), needs, scratch, fetching is not None)

    @memoised
    def _find_held_regions(self, unit: Resident) -> tuple[tuple[int, ...], int | None]:
        """Find the regions in which a residency holds lines, and the region in which it fetches at every access.

        The first is empty, or the second None.
        """
        if unit.scratch:
            return (), self._regions.index(frozenset(map(id, unit.references[0].chain)))
        return self._find_regions_inside(unit.loop, unit.given_up), None

    def _mark_scratch_regions(self, units: Sequence[Resident]) -> list[bool]:
        """Test for each region whether some residency fetches at every access."""
        uncached = {self._find_held_regions(unit)[1] for unit in units}
        return [region in uncached for region in range(len(self._regions))]

    def _build_plan(self, units: tuple[Resident, ...]) -> AllocationPlan:
        held: list[list[Resident]] = [[] for _ in self._regions]
        for unit in units:
            for region in self._find_held_regions(unit)[0]:
                held[region].append(unit)
        needs = tuple(map(self._sum_region_lines, map(tuple, held), self._mark_scratch_regions(units)))
        return AllocationPlan(
            units, needs, sum_polynomials(unit.misses for unit in units), partial(self._find_retentions, units)
        )

    @memoised
    def _sum_region_lines(self, held: tuple[Resident, ...], anew: bool) -> Poly:
        """Add up the lines of the residencies `held` in a region; one more if some residency fetches at every access.

        Memoised, as plans share most regions.
        """
        return sum_polynomials(unit.space for unit in held) + int(anew)

    @memoised
    def spare_words(self, lines: Poly) -> Poly:
        """Return Z - L*lines, the words of the cache that remain besides `lines`, in the sizes of the program."""
        return self.facts.restore(WORDS - LINE * lines)

    def bound_unrounded_needs_and_misses(self, plan: AllocationPlan) -> tuple[list[list[Poly]], Poly]:
        """Bound the lines that a plan needs in each region, and its misses, without rounding to whole lines.

        The needs have two alternative forms: `FactoredProduct.value` and `FactoredProduct.uncapped`. Raises
        UnboundedError.
        """
        needs: list[list[Poly]] = [[], []]
        for region, has_scratch in enumerate(self._mark_scratch_regions(plan.units)):
            held = [unit.unrounded_bounds[0] for unit in plan.units if region in self._find_held_regions(unit)[0]]
            needs[0].append(sum((lines.value for lines in held), ZERO) + int(has_scratch))
            needs[1].append(sum((lines.uncapped for lines in held), ZERO) + int(has_scratch))
        return needs, sum((unit.unrounded_bounds[1].value for unit in plan.units), ZERO)

    def list_unrounded_misses(self, plans: Iterable[AllocationPlan], facts: Facts) -> list[Poly]:
        """List the misses, without rounding, of the plans that fit under the facts."""
        result = []
        for plan in plans:
            with suppress(UnboundedError, TooComplexError):
                needs, misses = self.bound_unrounded_needs_and_misses(plan)
                if any(all(facts.nonnegative(WORDS - LINE * lines) for lines in form) for form in needs):
                    result.append(misses)
        return result

    def _find_regions_inside(self, loop: Loop | None, given_up: Chain = ()) -> tuple[int, ...]:
        """Find the numbers of the regions inside a loop (None: all), except those inside the loops `given_up`."""
        inside = ((number, region) for number, region in enumerate(self._regions) if loop is None or id(loop) in region)
        return tuple(number for number, region in inside if not any(id(outer) in region for outer in given_up))

    def _find_retentions(self, units: tuple[Resident, ...]) -> tuple[Retentions, ...]:
        """Find for each array retentions that use lines a plan leaves over; empty if that takes too much effort."""
        owner = {id(reference): unit for unit in units for reference in unit.references}
        try:
            with limit_effort(MAX_RETENTION_PRODUCTS, own=True):
                return tuple(tuple(self._iterate_array_retentions(clusters, owner)) for clusters in self._clusters)
        except (TooComplexError, UnboundedError):
            return ()

    def _iterate_array_retentions(
        self, clusters: Iterable[ReferenceCluster], owner: Mapping[int, Resident]
    ) -> Iterator[tuple[Retention, ...]]:
        """Yield retentions for clusters whose residencies in the plan hold no other references."""
        for cluster in clusters:
            units = tuple(dict.fromkeys(owner[id(reference)] for reference in cluster.references))
            if sum(len(unit.references) for unit in units) == len(cluster.references):
                yield self._list_retentions(units, cluster)

    @memoised
    def _row_split_search(self, _: Array) -> RowSplitSearch:
        return row_split.RowSplitSearch(self._alone)

    @memoised
    def _list_retentions(self, units: tuple[Resident, ...], cluster: ReferenceCluster) -> tuple[Retention, ...]:
        """List the retentions of a cluster that a plan holds by the residencies `units`."""
        return tuple(self._derive_retentions(units, cluster))

    def _derive_retentions(self, units: tuple[Resident, ...], cluster: ReferenceCluster) -> Iterator[Retention]:
        """Yield retentions of classes of lines or of rows by other residencies of the cluster, and of pinned lines."""
        references = frozenset(cluster.references)
        fetched, held = (
            sum_polynomials(values) for values in zip(*((unit.misses, unit.space) for unit in units), strict=True)
        )
        splits = self._row_split_search(cluster.references[0].array)
        for unit in cluster.units:
            if unit in units or unit.scratch:
                continue
            misses = fetched, unit.misses
            totals = *misses, held, unit.space
            for classes in unit.classes:
                regions = self._find_regions_inside(unit.loop, unit.given_up)
                yield RetainClasses(references, misses, classes, regions)
            for side in splits.iterate_sides(unit, units) if not unit.given_up else ():
                find = partial(splits.derive_split, unit, units, side)
                yield RetainRows(references, totals, unit.loop, find, self._find_regions_inside)
        for loop, lines, windows in cluster.pins:
            line_moves = lines * windows * max(reference.moves for reference in cluster.references)
            regions = self._find_regions_inside(loop)
            yield RetainClasses(references, (fetched, line_moves), (ONE, ZERO, lines), regions)


def select_pareto_plans(
    planners: Mapping[AllocationPlan, AllocationPlanner], points: Sequence[Mapping[str, int]]
) -> list[AllocationPlan]:
    """Select the plans that are best for some capacity at the largest sample with values, fewest lines first."""
    for sample in reversed([number for number, point in enumerate(points) if point["L"] > 1]):
        numbers = {
            plan: values for plan, planner in planners.items() if (values := planner.evaluate_at_sample(plan, sample))
        }
        if len(numbers) == len(planners):
            best: list[AllocationPlan] = []
            for plan in sorted(numbers, key=numbers.__getitem__):
                if not best or numbers[plan][1] < numbers[best[-1]][1]:
                    best.append(plan)
            return best
    return [next(iter(planners))]


def _drop_equivalent_residencies(units: Iterable[Resident]) -> tuple[Resident, ...]:
    """Drop residencies with equal lines and misses, except for the last, which holds lines for the shortest time."""
    return tuple({(unit.space, unit.misses, unit.scratch): unit for unit in units}.values())
